"""Shared memory: tiles of matrices, swizzles, matrix descriptors."""

from .tile import SWIZZLES, Digits, Tile

__all__ = ["SWIZZLES", "Digits", "Tile"]
