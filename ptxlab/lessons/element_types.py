"""Exercises of lesson 02: element-types."""

from __future__ import annotations
