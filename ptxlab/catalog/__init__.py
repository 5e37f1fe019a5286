"""The rows: every legal form of every instruction, by family, with the targets that the assembler takes it for.

PTX ISA 9.0 (CUDA 13.0), sections "Warp-level matrix instructions" and "Asynchronous warpgroup-level matrix instructions".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from ..errors import PtxlabError, listing
from ..instruction import Instruction
from ..moves import FAMILIES as MOVES
from ..moves import Move
from ..row import check_target
from . import mma, moves, wgmma, wmma

__all__ = ["FAMILIES", "PRODUCTS", "catalog", "products"]

_PRODUCTS: dict[str, Callable[[], Iterable[Instruction]]] = {
    "mma": mma.dense, "mma.sp": mma.sparse, "wmma": wmma.rows, "wgmma": wgmma.dense, "wgmma.sp": wgmma.sparse,
}  # fmt: skip


@lru_cache(maxsize=None)
def _products(family: str) -> tuple[Instruction, ...]:
    return tuple(_PRODUCTS[family]())


@lru_cache(maxsize=None)
def _moves() -> tuple[Move, ...]:
    return (*moves.rows(), *moves.wmma_rows(_products("wmma")))


PRODUCTS: tuple[str, ...] = tuple(_PRODUCTS)
#: First those that multiply, then those that move matrices between memory and registers.
FAMILIES: tuple[str, ...] = (*PRODUCTS, *MOVES)


def catalog(family: str | None = None, target: str | None = None) -> tuple[Instruction | Move, ...]:
    """Every legal instruction, or those of one family and those that one target has.

    >>> [i.mnemonic for i in catalog("wmma", "sm_75")][-1]
    'wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32'
    >>> catalog("movmatrix")
    (<movmatrix.sync.aligned.m8n8.trans.b16>,)
    """
    if family is not None and family not in FAMILIES:
        raise PtxlabError(f"unknown family {family!r}; there are {listing(FAMILIES, 12)}")
    moved = (row for row in _moves() if family in (None, row.family) and (target is None or row.supports(target)))
    return (*products(family, target), *moved)


def products(family: str | None = None, target: str | None = None) -> tuple[Instruction, ...]:
    """Those of the catalogue that multiply matrices: all families but the loads, stores and transposes.

    >>> {len(i.operands) for i in products("mma")}   # A, B, C, D, and two block scales
    {4, 6}
    """
    if target is not None:
        check_target(target)
    rows = [row for name in _PRODUCTS if family in (None, name) for row in _products(name)]
    return tuple(row for row in rows if target is None or row.supports(target))
