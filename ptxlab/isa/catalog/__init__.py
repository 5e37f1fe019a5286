"""Every legal form of every matrix instruction, by family, with the targets that the assembler takes it for.

`catalog` finds them; the rows are in `mma_rows.py`, `transfer_rows.py` and `tcgen05_rows.py`.

PTX ISA 9.4 (CUDA 13.4), sections "Warp-level matrix instructions", "Asynchronous warpgroup-level matrix
instructions" and "TensorCore 5th Generation Family Instructions".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from ..._util.arguments import is_name
from ...errors import PtxlabError, listing, quoted
from ..mma import Instruction
from ..targets import check_target
from ..tcgen05 import FAMILIES as TCGEN05_FAMILIES
from ..tcgen05 import AnyTcgen05
from ..transfer import FAMILIES as TRANSFER_FAMILIES
from ..transfer import Transfer
from ..verbs import MatrixInstruction
from . import mma_rows, transfer_rows

if TYPE_CHECKING:
    from ..tcgen05 import TensorInstruction, TensorTransfer

__all__ = [
    "FAMILIES", "MMA_FAMILIES", "REGISTER_FAMILIES", "TCGEN05_FAMILIES", "AnyForm", "Product", "catalog",
    "mma_forms", "register_forms", "tcgen05_forms", "tcgen05_products", "tcgen05_transfers", "transfer_forms",
]  # fmt: skip

#: A row of the catalogue.
AnyForm: TypeAlias = "Instruction | Transfer | AnyTcgen05"
#: A row that multiplies matrices, with D in registers or in tensor memory.
if TYPE_CHECKING:
    Product: TypeAlias = Instruction | TensorInstruction
else:
    Product = MatrixInstruction


_MMA_ROWS: dict[str, Callable[[], Iterable[Instruction]]] = {
    "mma": mma_rows.dense, "mma.sp": mma_rows.sparse, "wmma": mma_rows.wmma_rows,
    "wgmma": mma_rows.wgmma_dense, "wgmma.sp": mma_rows.wgmma_sparse,
}  # fmt: skip


@lru_cache(maxsize=None)
def _mma_forms(family: str) -> tuple[Instruction, ...]:
    return tuple(_MMA_ROWS[family]())


@lru_cache(maxsize=None)
def _transfer_forms() -> tuple[Transfer, ...]:
    return (*transfer_rows.rows(), *transfer_rows.wmma_rows(_mma_forms("wmma")))


MMA_FAMILIES: tuple[str, ...] = tuple(_MMA_ROWS)
#: Families with matrices in registers: those that multiply, then those that move matrices.
REGISTER_FAMILIES: tuple[str, ...] = (*MMA_FAMILIES, *TRANSFER_FAMILIES)
FAMILIES: tuple[str, ...] = (*REGISTER_FAMILIES, *TCGEN05_FAMILIES)


def catalog(family: str | None = None, target: str | None = None) -> tuple[AnyForm, ...]:
    """Every legal instruction, or those of one family and those that one target has.

    ``"tcgen05"`` stands for all of its families. A row of tcgen05.mma stands for its mnemonic and has the
    plainest descriptor; `shapes` has the others, `collectors` its hints.

    >>> [ins.mnemonic for ins in catalog("wmma", "sm_75")][-1]
    'wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32'
    >>> catalog("movmatrix")
    (<movmatrix.sync.aligned.m8n8.trans.b16>,)
    >>> len(catalog(family="tcgen05.mma", target="sm_100a"))
    36
    """
    if is_name(family, ("tcgen05",)):
        return tcgen05_forms(None, target)
    return (*register_forms(family, target), *tcgen05_forms(family, target))


def _check(family: str | None, target: str | None) -> None:
    if family is not None and not is_name(family, FAMILIES):
        raise PtxlabError(
            f"unknown family {quoted(family)}; there are {listing(REGISTER_FAMILIES)}, and tcgen05 with "
            f"{listing((name.removeprefix('tcgen05') for name in TCGEN05_FAMILIES), 20)}"
        )
    if target is not None:
        check_target(target)


def register_forms(
    family: str | None = None, target: str | None = None
) -> tuple[Instruction | Transfer, ...]:
    """The forms with matrices in registers: all but tcgen05.

    >>> {form.lanes for form in register_forms()}   # a warp, a warpgroup
    {32, 128}
    """
    return (*mma_forms(family, target), *transfer_forms(family, target))


def mma_forms(family: str | None = None, target: str | None = None) -> tuple[Instruction, ...]:
    """The forms that multiply matrices in registers: mma, wmma and wgmma, not loads, stores or transposes.

    >>> {len(i.operands) for i in mma_forms("mma")}   # A, B, C, D, and two block scales
    {4, 6}
    """
    _check(family, target)
    rows = [row for name in _MMA_ROWS if family in (None, name) for row in _mma_forms(name)]
    return tuple(row for row in rows if target is None or row.supports(target))


def transfer_forms(family: str | None = None, target: str | None = None) -> tuple[Transfer, ...]:
    """The forms that transfer matrices between memory and registers, or between lanes.

    >>> len(transfer_forms("ldmatrix", "sm_80"))
    6
    """
    _check(family, target)
    rows = [row for row in _transfer_forms() if family in (None, row.family)]
    return tuple(row for row in rows if target is None or row.supports(target))


def tcgen05_forms(family: str | None = None, target: str | None = None) -> tuple[AnyTcgen05, ...]:
    """The forms of tcgen05, without collector hints; those of tcgen05.mma with their plainest descriptor.

    >>> len(tcgen05_forms("tcgen05.mma", "sm_100a")), tcgen05_forms("tcgen05.mma", "sm_120a")
    (36, ())
    """
    _check(family, target)
    families = [name for name in TCGEN05_FAMILIES if family in (None, name)]
    if not families:
        return ()
    from .tcgen05_rows import forms

    return tuple(row for name in families for row in forms(name, target))


def tcgen05_products(family: str | None = None) -> tuple[TensorInstruction, ...]:
    """The forms of tcgen05 that multiply matrices.

    >>> len(tcgen05_products("tcgen05.mma"))
    46
    """
    from ..tcgen05 import TensorInstruction

    return tuple(form for form in tcgen05_forms(family) if isinstance(form, TensorInstruction))


def tcgen05_transfers(family: str | None = None) -> tuple[TensorTransfer, ...]:
    """The forms of tcgen05 that move data: tcgen05.ld, .st, .cp and .shift.

    >>> [form.mnemonic for form in tcgen05_transfers("tcgen05.shift")]
    ['tcgen05.shift.cta_group::1.down', 'tcgen05.shift.cta_group::2.down']
    """
    from ..tcgen05 import TensorTransfer

    return tuple(form for form in tcgen05_forms(family) if isinstance(form, TensorTransfer))
