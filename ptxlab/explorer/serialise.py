"""Matrices, registers and pictures as the page gets them: matrices as bytes, whole, then by what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_index
from ..isa.dtypes import DType
from ..isa.tcgen05 import Tcgen05Mma
from ..views import Grid, Picture
from .parse_cell import format_values
from .state import Comparison, ExplorerState

#: Whatever an instruction may have.
MATRICES = ("A", "stored", "B", "C", "D", "E", "SFA", "SFB")

# -- matrices --------------------------------------------------------------------------------------------


def matrix_bytes(state: ExplorerState, name: str, codes: NDArray[Any] | None = None) -> dict[str, Any]:
    """A matrix as bytes: values (float32 or int32) and codes (uint32); float64 and uint64 for f64.

    For sparse A also where each element is in the other form: dense A in the compressed one, and back.
    """
    operand = state.ins.matrices.get(name)
    if operand is None:
        return {}
    if codes is None:
        data = code_bytes(operand.dtype, state.operation.codes(name), state.operation.matrix(name))
    else:
        data = code_bytes(operand.dtype, codes)
    if state.ins.sparse and name in ("A", "stored"):
        columns = state.operation.stored_columns()
        if name == "stored":
            data["counterpart"] = columns.astype(np.int32).tobytes()
        else:
            indices = np.full(operand.shape, -1, dtype=np.int32)
            np.put_along_axis(indices, columns, np.arange(columns.size).reshape(columns.shape), axis=1)
            data["counterpart"] = indices.tobytes()
    return data


def code_bytes(dtype: DType, codes: NDArray[Any], values: NDArray[Any] | None = None) -> dict[str, Any]:
    """Codes and what they mean, as the page reads them."""
    values = dtype.decode_array(codes) if values is None else values
    value_type: type[np.generic] = np.int32
    if dtype.is_float:
        value_type = np.float64 if dtype.bits == 64 else np.float32
    code_type = np.uint64 if dtype.bits == 64 else np.uint32
    return {"values": values.astype(value_type).tobytes(), "codes": codes.astype(code_type).tobytes()}


def comparison_bytes(state: ExplorerState, comparison: Comparison) -> dict[str, Any]:
    """D as bytes; where it is compared, also the other's values and codes, and which cells differ."""
    data = matrix_bytes(state, "D", comparison.codes)
    if comparison.other is None:
        return data
    other = matrix_bytes(state, "D", comparison.other)
    return {
        **data,
        "other_values": other["values"],
        "other_codes": other["codes"],
        "chips": [state.chip_choice.chip, state.chip_choice.against],
        "differ": comparison.differ.astype(np.uint8).tobytes(),
        "differ_count": int(comparison.differ.sum()),
    }


def delta(old: Any, new: Any) -> dict[str, Any] | None:
    """How to make the new from the old; None where most of it changed.

    Parts by their name; 32-bit words of bytes and items of lists by their index.

    >>> delta({"codes": bytes(64), "count": 1}, {"codes": bytes(60) + b"\\7\\0\\0\\0", "count": 2})
    {'parts': {'codes': {'at': b'\\x0f\\x00\\x00\\x00', 'to': b'\\x07\\x00\\x00\\x00'}, 'count': {'new': 2}}}
    >>> delta({"A": ["a", "b", "c"]}, {"A": ["a", "x", "c"]})
    {'parts': {'A': {'at': [1], 'to': ['x']}}}
    """
    if type(old) is not type(new):
        return None
    if isinstance(new, dict):
        if old.keys() != new.keys():
            return None
        changed = {name: part for name, part in new.items() if old[name] != part}
        return {"parts": {name: delta(old[name], part) or {"new": part} for name, part in changed.items()}}
    if not isinstance(new, bytes | list) or len(old) != len(new) or (isinstance(new, bytes) and len(new) % 4):
        return None
    if isinstance(new, list):
        indices = [
            index for index, (before, after) in enumerate(zip(old, new, strict=True)) if before != after
        ]
        return {"at": indices, "to": [new[index] for index in indices]}
    words = np.frombuffer(new, np.uint32)
    at = np.flatnonzero(words != np.frombuffer(old, np.uint32))
    if 2 * at.size >= words.size:
        return None
    return {"at": at.astype(np.uint32).tobytes(), "to": words[at].tobytes()}


def sources(state: ExplorerState, comparison: Comparison | None) -> dict[str, tuple[Any, ...]]:
    """The objects that each part of the screen is computed from: where they are the same, nothing changed.

    Arrays of operands are never written, so the same array has the same content.
    """
    if state.transfer is not None or comparison is None:
        words = {name: (state.shown.arrays.get(name),) for name in MATRICES}
        return {**words, "D": (state.transfer,), "instruction": state.shown.settings}
    arrays, modifiers = state.operation.arrays, state.operation.modifiers
    sparse = (arrays["A"], arrays.get("E"), modifiers)
    return {
        "A": sparse,
        "stored": sparse,
        "B": (arrays["B"],),
        "C": (arrays["C"],),
        "D": (comparison.codes, comparison.other, state.chip_choice.against),
        "E": (arrays.get("E"), modifiers),
        "SFA": (arrays.get("SFA"), modifiers),
        "SFB": (arrays.get("SFB"), modifiers),
        "instruction": (state.ins, modifiers, state.chip_choice.is_known),
    }


def changed_parts(new: dict[str, tuple[Any, ...]], sent: dict[str, tuple[Any, ...]]) -> list[str]:
    """The parts of the screen that are computed from other objects than when they were sent."""
    return [
        name
        for name, parts in new.items()
        if name not in sent or any(mine is not yours for mine, yours in zip(parts, sent[name], strict=True))
    ]


def is_same(one: tuple[Any, ...], other: tuple[Any, ...] | None) -> bool:
    """Whether two things are computed from the same objects."""
    if other is None or len(one) != len(other):
        return False
    return all(mine is yours for mine, yours in zip(one, other, strict=True))


# -- registers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RegisterField:
    """One element inside a register of a lane."""

    element: int
    row: int
    column: int
    low: int
    bits: str
    text: str


def register_fields(state: ExplorerState, name: str, lane: int) -> list[tuple[str, list[RegisterField]]]:
    """The registers of a lane in hexadecimal, each with its elements from the highest bits down.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> from ptxlab.explorer.edits import SetCell
    >>> SetCell("A", 9, 37, "-3").apply(state)
    >>> register_fields(state, "A", lane=4)[3][1][2]   # the third field from the top of register 3
    RegisterField(element=29, row=9, column=37, low=20, bits='1101', text='-3')
    """
    if isinstance(state.ins, Tcgen05Mma):
        return []  # no thread holds anything before tcgen05.ld
    operand = state.ins.operand(name)
    if operand.layout is None:
        return []
    registers = state.registers(name)[as_index(lane, operand.holder, operand.lanes, f"operand {name}: ")]
    codes = operand.split(registers[None])[0]
    texts, coords = format_values(operand.dtype.decode_array(codes)), operand.layout.coords()[lane].tolist()
    rows: list[tuple[str, list[RegisterField]]] = [
        (f"0x{int(register):0{operand.register_bits // 4}x}", []) for register in registers
    ]
    for element, (code, text) in enumerate(zip(codes.tolist(), texts, strict=True)):
        register, slot = divmod(element, operand.elements_per_register)
        (row, column), low = coords[element], slot * operand.width + operand.padding
        bits = f"{code:0{operand.dtype.bits}b}"
        rows[register][1].insert(0, RegisterField(element, row, column, low, bits, text))
    return rows


#: The array that the registers of an operand in a lane were read from, and what the page gets of them.
KnownRegisters = dict[tuple[str, int], tuple[NDArray[Any], list[dict[str, Any]]]]


def lane_registers(state: ExplorerState, lane: int, known: KnownRegisters | None = None) -> dict[str, Any]:
    """Registers of a lane by operand, each in hexadecimal and with the elements in it.

    Those whose array is the same as before are taken from `known`, which remembers the others.
    """
    if isinstance(state.ins, Tcgen05Mma):
        return {}
    known = {} if known is None else known
    for name in state.ins.operands:
        array = state.result() if name == "D" else state.operation.arrays[name]
        if (name, lane) not in known or known[name, lane][0] is not array:
            known[name, lane] = (
                array,
                [
                    {"hex": text, "fields": [dict(vars(field)) for field in elements]}
                    for text, elements in register_fields(state, name, lane)
                ],
            )
    return {name: known[name, lane][1] for name in state.ins.operands}


# -- the trace -------------------------------------------------------------------------------------------


def picture_data(picture: Picture) -> dict[str, Any]:
    """A picture of bits as plain lists: its notes, and for every grid the headings, cells and rules."""
    grids = [_grid_data(grid) for grid in picture.grids]
    return {"title": picture.title, "notes": list(picture.notes), "grids": grids}


def _grid_data(grid: Grid) -> dict[str, Any]:
    cells = [
        [
            cell.row,
            cell.column,
            cell.width,
            cell.text,
            f"{cell.role} {cell.state}",
            str(grid.hover[cell.row, cell.column]),
        ]
        for cell in grid.cells
        if cell.role != "blank" and cell.text
    ]
    return {
        "title": grid.title,
        "size": list(grid.shape),
        "axes": list(grid.axes),
        "rows": [[head.start, head.text] for head in grid.rows],
        "columns": [[head.start, head.size, head.text] for head in grid.columns],
        "cells": cells,
        "row_rules": list(grid.row_rules),
        "column_rules": [list(rule) for rule in grid.column_rules],
    }
