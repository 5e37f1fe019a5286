"""What the page gets of a product: its matrices as bytes, and the registers of a lane with their elements."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_index
from ...isa.dtypes import DType
from ..cells.parse_cell import format_values
from ..documents.product_document import ChipComparison, ProductDocument
from ..state import ExplorerState

# -- matrices --------------------------------------------------------------------------------------------


def matrix_bytes(document: ProductDocument, name: str, codes: NDArray[Any] | None = None) -> dict[str, Any]:
    """A matrix as bytes: values (float32 or int32) and codes (uint32); float64 and uint64 for f64.

    For sparse A also the counterpart of each element: of dense A in the compressed one, and back.
    """
    operation = document.operation
    operand = document.ins.matrices.get(name)
    if operand is None:
        return {}
    if codes is None:
        data = code_bytes(operand.dtype, operation.codes(name), operation.matrix(name))
    else:
        data = code_bytes(operand.dtype, codes)
    if document.ins.sparse and name in ("A", "stored"):
        columns = operation.stored_columns()
        if name == "stored":
            data["counterpart"] = columns.astype(np.int32).tobytes()
        else:
            indices = np.full(operand.shape, -1, dtype=np.int32)
            np.put_along_axis(indices, columns, np.arange(columns.size).reshape(columns.shape), axis=1)
            data["counterpart"] = indices.tobytes()
    return data


def code_bytes(dtype: DType, codes: NDArray[Any], values: NDArray[Any] | None = None) -> dict[str, Any]:
    """Codes and their values as bytes."""
    values = dtype.decode_array(codes) if values is None else values
    value_type: type[np.generic] = np.int32
    if dtype.is_float:
        value_type = np.float64 if dtype.bits == 64 else np.float32
    code_type = np.uint64 if dtype.bits == 64 else np.uint32
    return {"values": values.astype(value_type).tobytes(), "codes": codes.astype(code_type).tobytes()}


def comparison_bytes(document: ProductDocument, comparison: ChipComparison) -> dict[str, Any]:
    """D as bytes and, if it is compared, those of the other chip and which cells differ."""
    data = matrix_bytes(document, "D", comparison.codes)
    if comparison.other is None:
        return data
    other = matrix_bytes(document, "D", comparison.other)
    return {
        **data,
        "other_values": other["values"],
        "other_codes": other["codes"],
        "chips": list(document.chips),
        "differ": comparison.differ.astype(np.uint8).tobytes(),
        "differ_count": int(comparison.differ.sum()),
    }


# -- registers -------------------------------------------------------------------------------------------


def register_fields(document: ProductDocument, name: str, lane: int) -> list[dict[str, Any]]:
    """The registers of a lane, each in hexadecimal and with its elements from the highest bits down.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> from ptxlab.explorer.edits import SetCell
    >>> SetCell("A", 9, 37, "-3").apply(state)
    >>> fields = register_fields(state.product, "A", lane=4)[3]["fields"]
    >>> fields[2]   # the third from the top of register 3
    {'element': 29, 'row': 9, 'column': 37, 'low': 20, 'bits': '1101', 'text': '-3'}
    """
    if document.ins.tensors:
        return []  # threads hold nothing before tcgen05.ld
    operand = document.ins.operand(name)
    if operand.layout is None:
        return []
    registers = document.registers(name)[as_index(lane, operand.holder, operand.lanes, f"operand {name}: ")]
    codes = operand.split(registers[None])[0]
    texts, coords = format_values(operand.dtype.decode_array(codes)), operand.layout.coords()[lane].tolist()
    digits = operand.register_bits // 4
    rows: list[dict[str, Any]] = [
        {"hex": f"0x{int(register):0{digits}x}", "fields": []} for register in registers
    ]
    for element, (code, text) in enumerate(zip(codes.tolist(), texts, strict=True)):
        register, slot = divmod(element, operand.elements_per_register)
        (row, column), low = coords[element], slot * operand.width + operand.padding
        bits = f"{code:0{operand.dtype.bits}b}"
        field = {"element": element, "row": row, "column": column, "low": low, "bits": bits, "text": text}
        rows[register]["fields"].insert(0, field)
    return rows


#: For an operand and a lane: the array that its registers were read from, and what the page gets.
KnownRegisters = dict[tuple[str, int], tuple[NDArray[Any], list[dict[str, Any]]]]


def lane_registers(state: ExplorerState, lane: int, cache: KnownRegisters | None = None) -> dict[str, Any]:
    """Registers of a lane by operand, each in hexadecimal and with the elements in it.

    They are taken from the `cache` as long as the array is the same.
    """
    document = state.product
    if document.ins.tensors:
        return {}
    cache, operands = {} if cache is None else cache, document.ins.operands
    for name in operands:
        array = document.result() if name == "D" else document.operation.arrays[name]
        if (name, lane) not in cache or cache[name, lane][0] is not array:
            cache[name, lane] = array, register_fields(document, name, lane)
    return {name: cache[name, lane][1] for name in operands}
