"""Why D has these bits.

The products, their alignment, what is cut off, the sum and its rounding, as plain data.
"""

from __future__ import annotations

from .._util.arguments import as_int
from ..errors import PtxlabError, quoted
from ..isa.operation import Operation
from ..isa.tcgen05 import Tcgen05Mma
from ..isa.tensor_memory import LANES
from .element import Element
from .emulate import model_of
from .steps import Trace, add_up, number


def disabled_lane(operands: Operation, row: int, col: int) -> int | None:
    """The lane of D[row][col], if disable-output-lane leaves it as it was; those of CTA 1 from 128 on."""
    ins, mask = operands.ins, operands.modifiers.disable_output_lane
    if not mask or not isinstance(ins, Tcgen05Mma):
        return None
    place = ins.d.where(row, col)[0]
    lane = LANES * place.cta + place.lane
    return lane if mask >> lane & 1 else None


def trace(operands: Operation, row: int, col: int, *, model: str | None = None) -> Trace:
    """How D[row][col] of one instruction came about, bit for bit as `emulate` computes it.

    See `Instruction.trace`.

    >>> import numpy as np
    >>> from ptxlab.isa.parse import parse_mma
    >>> ins = parse_mma("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
    >>> operands = Operation.from_matrices(ins, np.full((16, 32), -3), np.full((32, 8), 2))
    >>> trace(operands, 4, 5).value
    Fraction(-192, 1)
    """
    ins = operands.ins
    rows, columns = ins.d.shape
    row, col = as_int(row, "row"), as_int(col, "col")
    for name, index, size in (("row", row, rows), ("col", col, columns)):
        if not 0 <= index < size:
            raise PtxlabError(
                f"{name}={quoted(index)}: D of {ins.mnemonic} is {rows}x{columns}, "
                f"so it goes from 0 to {size - 1}"
            )
    disabled = disabled_lane(operands, row, col)
    if disabled is not None:
        raise PtxlabError(
            f"D[{row}][{col}] is in lane {disabled}, which disable_output_lane names: it stays as it was"
        )
    chip_model = model_of(ins, model)
    element = Element.of(operands, row, col)
    steps = tuple(chip_model.rule.trace(element))
    exact = add_up([element.c, *(product.value for product in element.products)])
    code = steps[-1].code
    return Trace(
        ins.mnemonic, chip_model.chip, row, col, steps, code, number(code, ins.d_type), exact, element.fma32()
    )
