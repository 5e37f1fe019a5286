"""Exercises of lesson 14: on-a-real-gpu."""

from __future__ import annotations
