"""Exercises of lesson 04: metadata-and-selector."""

from __future__ import annotations
