"""Shared memory: tiles of matrices, swizzles, matrix descriptors."""

from __future__ import annotations

from .tile import *  # noqa: F403
from .tile import __all__ as __all__
