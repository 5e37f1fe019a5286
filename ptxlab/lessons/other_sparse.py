"""Exercises of lesson 07: other-sparse-shapes."""

from __future__ import annotations
