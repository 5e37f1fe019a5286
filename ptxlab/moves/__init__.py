"""The instructions that move matrices: `ldmatrix`, `stmatrix`, `movmatrix`, `wmma.load`, `wmma.store`."""

from __future__ import annotations

from .move import FAMILIES, SPACES, Move, Speaker

__all__ = ["FAMILIES", "SPACES", "Move", "Speaker"]
