"""The forms of ldmatrix, stmatrix and movmatrix, and of wmma.load and wmma.store, which follow from wmma.mma.

PTX ISA, "Warp-level matrix load / store / transpose instruction", "wmma.load" and "wmma.store". The state
space is not part of a row: `Transfer.in_space` gives the variants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Literal, NamedTuple

from ..mma import Instruction
from ..operand import Operand
from ..targets import SM_75, SM_90, SM_90A, SM_100A, TARGETS
from ..transfer import Transfer
from .mma_rows import LAYOUTS

_COUNTS = (1, 2, 4)
_PACKED = ("b6x16_p32", "b4x16_p64")


def rows() -> Iterator[Transfer]:
    """Every form of ldmatrix, stmatrix and movmatrix."""
    for count, trans in product(_COUNTS, (False, True)):
        yield Transfer("ldmatrix", "m8n8", "b16", SM_75, count, trans)
    # SM_100A: "sm_100f, sm_110f, sm_120f or higher in the same family"
    for count, source in product((1, 2), (None, *_PACKED)):  # .trans is mandatory
        yield Transfer("ldmatrix", "m16n16", "b8", SM_100A, count, True, source)
    for count, source in product(_COUNTS, _PACKED):
        yield Transfer("ldmatrix", "m8n16", "b8", SM_100A, count, False, source)
    for count in _COUNTS:  # never .trans
        yield Transfer("ldmatrix", "m8n16", "s8", (*SM_90A, *SM_100A), count, False, "s4")
    for count, trans in product(_COUNTS, (False, True)):
        yield Transfer("stmatrix", "m8n8", "b16", SM_90, count, trans)
    for count in _COUNTS:  # .trans is mandatory, though one example of the manual lacks it
        yield Transfer("stmatrix", "m16n8", "b8", SM_100A, count, True)
    yield Transfer("movmatrix", "m8n8", "b16", SM_75, trans=True)


def wmma_rows(wmma: Iterable[Instruction]) -> Iterator[Transfer]:
    """Loads of A, B and C and the store of D for these wmma.mma, each once.

    A target has a load or store if it has any wmma.mma that uses the matrix.
    """
    fragments: dict[_Fragment, tuple[Operand, set[str]]] = {}
    for ins in wmma:
        for matrix, layout, operand in _matrices(ins):
            fragment = _Fragment(matrix, layout, ins.shape, operand.dtype.name)
            _, targets = fragments.setdefault(fragment, (operand, set()))
            targets.update(ins.targets)
    for fragment, (operand, targets) in sorted(fragments.items(), key=lambda item: item[0].matrix):
        yield Transfer(
            "wmma.store" if fragment.matrix == "d" else "wmma.load",
            fragment.shape,
            fragment.type,
            tuple(target for target in TARGETS if target in targets),
            matrix=fragment.matrix,
            layout=fragment.layout,
            fragment=operand,
        )


class _Fragment(NamedTuple):
    """What a wmma.load or wmma.store names."""

    matrix: Literal["a", "b", "c", "d"]
    layout: Literal["row", "col"]
    shape: str
    type: str


def _matrices(
    ins: Instruction,
) -> Iterator[tuple[Literal["a", "b", "c", "d"], Literal["row", "col"], Operand]]:
    """(matrix, layout in memory, operand); accumulators come in either layout."""
    yield "a", ins.a_layout, ins.a
    yield "b", ins.b_layout, ins.b
    for layout in LAYOUTS:
        yield "c", layout, ins.c
        yield "d", layout, ins.d
