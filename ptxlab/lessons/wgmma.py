"""Exercises of lesson 09: wgmma."""

from __future__ import annotations
