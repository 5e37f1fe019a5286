"""The rows: every legal form of every instruction, by family, with the targets that the assembler takes it for.

PTX ISA 9.0 (CUDA 13.0), sections "Warp-level matrix instructions" and "Asynchronous warpgroup-level matrix instructions".
"""

from __future__ import annotations

from functools import lru_cache

from ..errors import PtxlabError, listing
from ..instruction import TARGETS, Instruction
from . import mma, wgmma, wmma

__all__ = ["FAMILIES", "catalog"]

_ROWS = {"mma": mma.dense, "mma.sp": mma.sparse, "wmma": wmma.rows, "wgmma": wgmma.dense, "wgmma.sp": wgmma.sparse}

FAMILIES: tuple[str, ...] = tuple(_ROWS)


@lru_cache(maxsize=None)
def _rows(family: str) -> tuple[Instruction, ...]:
    return tuple(_ROWS[family]())


def catalog(family: str | None = None, target: str | None = None) -> tuple[Instruction, ...]:
    """Every legal instruction, or those of one family and those that one target has.

    >>> [i.mnemonic for i in catalog("wmma", "sm_75")][-1]
    'wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32'
    """
    if family is not None and family not in _ROWS:
        raise PtxlabError(f"unknown family {family!r}; there are {listing(FAMILIES)}")
    if target is not None and target not in TARGETS:
        raise PtxlabError(f"unknown target {target!r}; known are {listing(TARGETS, 30)}")
    rows = [row for name in FAMILIES if family in (None, name) for row in _rows(name)]
    return tuple(row for row in rows if target is None or row.supports(target))
