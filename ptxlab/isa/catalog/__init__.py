"""The rows.

Every legal form of every instruction, by family, with the targets that the assembler takes it for.

PTX ISA 9.4 (CUDA 13.4), sections "Warp-level matrix instructions" and "Asynchronous warpgroup-level matrix
instructions".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from ..._util.arguments import is_name
from ...errors import PtxlabError, listing, quoted
from ..mma import MmaForm
from ..targets import check_target
from ..transfer import FAMILIES as TRANSFER_FAMILIES
from ..transfer import TransferForm
from . import mma, transfer, wgmma, wmma

__all__ = ["FAMILIES", "MMA_FAMILIES", "catalog", "mma_forms", "transfer_forms"]

_MMA_ROWS: dict[str, Callable[[], Iterable[MmaForm]]] = {
    "mma": mma.dense, "mma.sp": mma.sparse, "wmma": wmma.rows, "wgmma": wgmma.dense, "wgmma.sp": wgmma.sparse,
}  # fmt: skip


@lru_cache(maxsize=None)
def _mma_forms(family: str) -> tuple[MmaForm, ...]:
    return tuple(_MMA_ROWS[family]())


@lru_cache(maxsize=None)
def _transfer_forms() -> tuple[TransferForm, ...]:
    return (*transfer.rows(), *transfer.wmma_rows(_mma_forms("wmma")))


MMA_FAMILIES: tuple[str, ...] = tuple(_MMA_ROWS)
#: First those that multiply, then those that move matrices between memory and registers.
FAMILIES: tuple[str, ...] = (*MMA_FAMILIES, *TRANSFER_FAMILIES)


def catalog(family: str | None = None, target: str | None = None) -> tuple[MmaForm | TransferForm, ...]:
    """Every legal instruction, or those of one family and those that one target has.

    >>> [i.mnemonic for i in catalog("wmma", "sm_75")][-1]
    'wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32'
    >>> catalog("movmatrix")
    (<movmatrix.sync.aligned.m8n8.trans.b16>,)
    """
    if family is not None and not is_name(family, FAMILIES):
        raise PtxlabError(f"unknown family {quoted(family)}; there are {listing(FAMILIES, 12)}")
    return (*mma_forms(family, target), *transfer_forms(family, target))


def mma_forms(family: str | None = None, target: str | None = None) -> tuple[MmaForm, ...]:
    """Those of the catalogue that multiply matrices: all families but the loads, stores and transposes.

    >>> {len(i.operands) for i in mma_forms("mma")}   # A, B, C, D, and two block scales
    {4, 6}
    """
    if target is not None:
        check_target(target)
    rows = [row for name in _MMA_ROWS if family in (None, name) for row in _mma_forms(name)]
    return tuple(row for row in rows if target is None or row.supports(target))


def transfer_forms(family: str | None = None, target: str | None = None) -> tuple[TransferForm, ...]:
    """The forms that transfer matrices between memory and registers, or between lanes.

    >>> len(transfer_forms("ldmatrix", "sm_80"))
    6
    """
    rows = [row for row in _transfer_forms() if family in (None, row.family)]
    return tuple(row for row in rows if target is None or row.supports(target))
