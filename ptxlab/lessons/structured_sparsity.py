"""Exercises of lesson 03: structured-sparsity."""

from __future__ import annotations
