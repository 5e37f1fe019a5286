"""Exercises of lesson 12: numerics."""

from __future__ import annotations
