"""Exercises of lesson 13: what-the-chip-runs."""

from __future__ import annotations
