"""What the page needs to know of an instruction once: sizes, types, where each cell is, colours."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.catalog import Product
from ...isa.dtypes import DType
from ...isa.layout import Layout
from ...isa.operand import Operand
from ...numerics.emulate import model_of
from ...numerics.rules import Fused
from ...numerics.rules.base import negated, zero_columns
from ...views import Grid, palette
from ...views.bit_field_pictures import bit_fields
from ...views.colour_keys import WARP_TINTS, bank_key, bank_tint, colour_key, colour_keys, core_matrix_tint
from ...views.labels import layout_note
from ...views.location_tables import copies_note
from ..documents.masks import disabled_lanes
from ..documents.matrix_transfer import register_maps
from ..state import ExplorerState
from .memory_descriptor import shown_tile
from .memory_view import has_memory_view, is_transposed
from .tensor_view import instruction_descriptor_info, tensor_info


def instruction_info(state: ExplorerState) -> dict[str, Any]:
    """What is fixed for an instruction: sizes, types, the lane, register and bits of each cell, colours."""
    ins, structure = state.ins, state.ins.structure
    return {
        **_tensor_parts(state, ins),
        "mnemonic": ins.mnemonic,
        "m": ins.m,
        "n": ins.n,
        "k": ins.k,
        "lanes": state.threads,
        "mma_count": ins.mma_count,
        "chunk": structure.chunk if structure else 0,
        "kept": structure.keep * structure.group if structure else 0,
        "scale_blocks": ins.scale_vec or 0,
        "product_sign": -1 if negated(state.operation) else 1,
        "scale_of_c": _scale_of_c(state),
        **_accumulator(state),
        **_stacked_products(state),
        "matrices": {name: _matrix_info(state, name) for name in state.operation.names},
        "registers": {name: operand.registers for name, operand in ins.operands.items() if operand.registers},
        "colours": lane_colours(),
    }


def _accumulates_in_place(ins: Product) -> bool:
    """Whether D is also the accumulator: wgmma and tcgen05.mma have no operand C."""
    return ins.family.startswith(("wgmma", "tcgen05"))


def accumulator_label(ins: Product) -> str:
    """The name of the accumulator."""
    return "D before" if _accumulates_in_place(ins) else "C"


def _accumulator(state: ExplorerState) -> dict[str, str]:
    modifiers = state.operation.modifiers
    adds = modifiers.scale_d and modifiers.enable_input_d
    return {"accumulator": "D" if adds else ""} if _accumulates_in_place(state.ins) else {}


def _scale_of_c(state: ExplorerState) -> float:
    """What C is multiplied by before products are added to it."""
    modifiers = state.operation.modifiers
    return 2.0**-modifiers.scale_input_d if modifiers.scale_d and modifiers.enable_input_d else 0.0


@cache
def lane_colours() -> dict[str, Any]:
    """Background and text of each lane's colour, for a light and a dark page; the lanes that warps borrow."""
    light = palette.lane_shades(palette.PAPER, palette.INK, palette.MIN_ON_LIGHT)
    dark = palette.lane_shades(palette.DARK.paper, palette.BLACK, palette.MIN_ON_DARK)
    return {
        "light": [list(pair) for pair in light],
        "dark": [list(pair) for pair in dark],
        "warps": list(WARP_TINTS),
    }


def adder(ins: Product, chip: str) -> dict[str, Any]:
    """How a chip adds the products of an element of D, for pages that add as it does (front/products)."""
    rule = model_of(ins, chip).rule
    assert isinstance(rule, Fused), f"{ins.mnemonic} on {chip} does not add as the page does"
    return {
        "code": chip,
        "fraction_bits": rule.fraction_bits,
        "result_bits": rule.result_bits,
        "depth": rule.depth or ins.k,
    }


def _tensor_parts(state: ExplorerState, ins: Product) -> dict[str, Any]:
    """For tcgen05.mma: shape and types, the places of its matrices, masks and the descriptor."""
    if ins.d.space != "tensor":
        return {}
    modifiers = state.operation.modifiers
    a_space = ", A in tensor memory" if ins.a_space == "tensor" else ""
    zeros = zero_columns(state.operation)
    return {
        "shape": f"{ins.shape}.{ins.d_type}.{ins.a_type}.{ins.b_type}{a_space}",
        "tensor": tensor_info(ins),
        "disabled_lanes": disabled_lanes(modifiers.disable_output_lane),
        "zero_columns": [] if zeros is None else np.flatnonzero(zeros).tolist(),
        "column_shift": modifiers.column_shift,
        "descriptor": instruction_descriptor_info(ins),
    }


def _matrix_info(state: ExplorerState, name: str) -> dict[str, Any]:
    ins, operand = state.ins, state.operation.operand(name)
    label = {"stored": "compressed A", "E": "metadata", "C": accumulator_label(ins)}.get(name, name)
    letter = "a" if name == "stored" else name.lower()
    info = matrix_info(name, label, operand.shape, operand.dtype, letter, has_memory_view(ins, name))
    if name == "D" and not state.chip_choice.has_result:
        info["unknown"] = f"D is empty: {state.chip_choice.why_no_model}"
    if operand.space == "tensor":
        info["note"] = f"layout by {operand.source}" if "assumed" in operand.source else ""
        return info
    if ins.mma_count > 1:
        info["products"] = {"count": ins.mma_count, "along": "columns" if name == "B" else "rows"}
    if operand.layout is not None:
        return info | _register_info(state, name, operand, operand.layout)
    info["note"] = "in shared memory, held by no lane"
    is_dense_a = name == "A" and ins.sparse  # only its compressed half is stored
    return info if is_dense_a else info | _shared_memory_info(state, operand)


def matrix_info(
    name: str, label: str, shape: tuple[int, ...], dtype: DType, letter: str, in_memory: bool
) -> dict[str, Any]:
    """What the page knows of any matrix; `letter` names its elements."""
    rows, columns = shape
    return {
        "label": label,
        "rows": rows,
        "columns": columns,
        "type": dtype.name,
        "kind": dtype.kind,
        "bits": dtype.bits,
        "element": letter,
        "operand": "A" if name == "stored" else name,
        "editable": name != "D",
        "parts": bit_parts(dtype),
        "note": "",
        "in_memory": in_memory,
    }


def _register_info(state: ExplorerState, name: str, operand: Operand, layout: Layout) -> dict[str, Any]:
    """The lane that holds each element, its register, and its lowest bit there."""
    lane, element = np.divmod(layout.scatter(state.operation.copy_index(name)), layout.elements)
    maps = register_maps(operand, lane, element)
    return {
        "note": _note(state, name, operand),
        "legends": {
            colour: _legend(key)
            for colour in ("register", "warp")
            for key in colour_keys(colour, operand.registers, operand.lanes)
        },
        **{key: array.astype(np.int16).tobytes() for key, array in maps.items()},
    }


def _note(state: ExplorerState, name: str, operand: Operand) -> str:
    """Which copy the instruction reads, or where other copies are."""
    copies = operand.layout.copies if operand.layout else 1
    selector = operand.read_with(state.operation.copy_index(name))
    if selector:
        return f"one of {copies} copies, read with {selector}" if copies > 1 else f"read with {selector}"
    return "; ".join(note for note in (copies_note(operand), layout_note(state.ins, operand)) if note)


def _shared_memory_info(state: ExplorerState, operand: Operand) -> dict[str, Any]:
    """The byte, core matrix and row of each element of a tile in shared memory without a swizzle."""
    if operand.space != "shared":
        return {}
    try:
        tile = shown_tile(state.ins, operand, transposed=is_transposed(state, operand.name))
    except PtxlabError:  # narrow elements, padded to 16 bytes
        return {}
    m_first = operand.axes[0] == "m"
    byte = tile.offsets if m_first else tile.offsets.T
    maps = {"byte": byte, "core": byte // 128, "line": byte % 128 // 16}
    if tile.bits < 8:
        low = np.arange(tile.k) * tile.bits % 8
        maps["low"] = np.broadcast_to(low if m_first else low[:, None], operand.shape)
    core_tints = _core_tints(tile.offsets // 128)
    return {
        "memory": f"{tile.major}-major, no swizzle",
        "core_tints": core_tints,
        "bank_tints": [bank_tint(offset) for offset in range(0, 128, 16)],
        "legends": {"core matrix": _legend(_core_key(core_tints)), "bank": _legend(bank_key())},
        **{key: array.astype(np.int16).tobytes() for key, array in maps.items()},
    }


def _core_tints(cores: NDArray[Any]) -> list[int]:
    """The lane whose colour each core matrix borrows, as in figures: hues along m or n, shades along k."""
    first = np.unique(cores, return_index=True)[1]
    outer, along_k = np.unravel_index(first, cores.shape)
    groups, vectors = (np.unique(starts, return_inverse=True)[1] for starts in (outer, along_k))
    return [core_matrix_tint(int(group), int(vector)) for group, vector in zip(groups, vectors, strict=True)]


def _core_key(tints: list[int]) -> Grid:
    """The key to the first core matrices."""
    shown = tints[:8]
    title = "core matrices" if len(tints) <= 8 else f"core matrices 0..7 of {len(tints)}"
    texts = [str(number) for number in range(len(shown))]
    tooltips = [f"core matrix {text}: 8 rows of 16 bytes" for text in texts]
    return colour_key(title, texts, shown, tooltips)


def _legend(key: Grid) -> dict[str, Any]:
    """A key to colours as plain data: for each colour a text, the lane that has it, and a tooltip."""
    cells = [[cell.text, cell.lane, str(key.hover[cell.row, cell.column])] for cell in key.cells]
    return {"title": key.title, "cells": cells}


def _stacked_products(state: ExplorerState) -> dict[str, Any]:
    """The column of B for each cell of D, if its number differs; the lanes of each stacked product."""
    ins, layout = state.ins, state.ins.d.layout
    shift = state.operation.modifiers.column_shift
    if shift:
        columns_of_b = np.broadcast_to(np.arange(ins.n, dtype=np.int16) + np.int16(shift), ins.d.shape)
        return {"column_of_b": columns_of_b.tobytes()}
    if ins.mma_count == 1 or not isinstance(layout, Layout):
        return {}
    rows, columns = ins.d.shape
    column_of_b = [[ins.column_of_b(row, column) for column in range(columns)] for row in range(rows)]
    lanes = layout.scatter() // layout.elements
    return {
        "column_of_b": np.array(column_of_b, dtype=np.int16).tobytes(),
        "lanes_of_product": [np.unique(part).tolist() for part in np.split(lanes, ins.mma_count)],
    }


def bit_parts(dtype: DType) -> list[tuple[str, int]]:
    """The fields of a code from the highest bit down: role and number of bits."""
    if not dtype.is_float:
        return [("value", dtype.bits)]
    return [(field.role, field.bits) for field in bit_fields(dtype)]
