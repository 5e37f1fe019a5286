"""The rows of ldmatrix, stmatrix and movmatrix, and those of wmma.load and wmma.store, which follow from wmma.mma.

PTX ISA 9.0, sections "Warp-level matrix load / store / transpose instruction" and "wmma.load", "wmma.store". The state space is no
part of a row: `TransferForm.in_space` gives the variants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, cast

from ...errors import PtxlabError
from ..mma import MmaForm
from ..operand import Operand
from ..targets import SM_75, SM_90, SM_100A, TARGETS
from ..transfer import TransferForm

__all__ = ["rows", "spellings", "wmma_rows"]

COUNTS = (1, 2, 4)
PACKED = ("b6x16_p32", "b4x16_p64")


def rows() -> Iterator[TransferForm]:
    """Every form of ldmatrix, stmatrix and movmatrix."""
    for count, trans in product(COUNTS, (False, True)):
        yield TransferForm("ldmatrix", "m8n8", "b16", SM_75, count, trans)
    # SM_100A: "sm_100f, sm_110f, sm_120f or higher in the same family"
    for count, source in product((1, 2), (None, *PACKED)):  # .trans is mandatory
        yield TransferForm("ldmatrix", "m16n16", "b8", SM_100A, count, True, source)
    for count, source in product(COUNTS, PACKED):
        yield TransferForm("ldmatrix", "m8n16", "b8", SM_100A, count, False, source)
    for count, trans in product(COUNTS, (False, True)):
        yield TransferForm("stmatrix", "m8n8", "b16", SM_90, count, trans)
    for count in COUNTS:  # .trans is mandatory, though one example of the manual lacks it
        yield TransferForm("stmatrix", "m16n8", "b8", SM_100A, count, True)
    yield TransferForm("movmatrix", "m8n8", "b16", SM_75, trans=True)


def wmma_rows(wmma: Iterable[MmaForm]) -> Iterator[TransferForm]:
    """Loads of A, B and C and the store of D for these wmma.mma, each once; targets are those of all that share the matrix."""
    found: dict[tuple[str, str, str, str], tuple[Operand, set[str]]] = {}
    for ins in wmma:
        for matrix, layout, operand in _matrices(ins):
            key = matrix, layout, ins.shape, operand.dtype.name
            known, targets = found.setdefault(key, (operand, set()))
            if known != operand:
                raise PtxlabError(
                    f"{ins.mnemonic} spreads {operand.name} otherwise than another wmma.mma of the same shape and type"
                )
            targets.update(ins.targets)
    for (matrix, layout, shape, kind), (operand, targets) in sorted(
        found.items(), key=lambda item: item[0][0]
    ):
        family: Any = "wmma.store" if matrix == "d" else "wmma.load"
        named = tuple(target for target in TARGETS if target in targets)
        yield TransferForm(
            family, shape, kind, named, matrix=cast(Any, matrix), layout=cast(Any, layout), fragment=operand
        )


def _matrices(ins: MmaForm) -> Iterator[tuple[str, str, Operand]]:
    """(matrix, layout in memory, operand); accumulators come in either layout."""
    yield "a", ins.a_layout, ins.a
    yield "b", ins.b_layout, ins.b
    for layout in ("row", "col"):
        yield "c", layout, ins.c
        yield "d", layout, ins.d


def spellings(move: TransferForm) -> Iterator[tuple[str, TransferForm]]:
    """Every legal spelling of a row, with each state space; the examples of the manual write wmma's shape before its layout."""
    for space in (None, *move.spaces):
        variant = move.in_space(space)
        yield variant.mnemonic, variant
        if move.wmma:
            yield (
                variant.mnemonic.replace(f".{move.layout}.{move.shape}", f".{move.shape}.{move.layout}"),
                variant,
            )
