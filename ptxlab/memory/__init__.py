"""Shared memory: tiles of matrices, their swizzles, and the descriptors by which wgmma finds them."""

from __future__ import annotations

from .descriptors import SWIZZLES, encode_descriptor
from .tile import Modes, Tile

__all__ = ["SWIZZLES", "Modes", "Tile", "encode_descriptor"]
