"""Exercises of lesson 11: block-scaling."""

from __future__ import annotations
