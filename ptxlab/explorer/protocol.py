"""What travels between Python and the page: messages from it, matrices and everything it draws to it.

Matrices travel as bytes, whole once and then by what changed. `MESSAGES` is the one list of messages;
front/messages.d.ts is written from it (`python -m tools.explorer_messages`), and a test holds the two equal.
"""

from __future__ import annotations

import re
import types
import typing
from dataclasses import Field, dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import gpu
from .._util.arguments import is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.dtypes import DType
from ..isa.layout import Layout
from ..isa.operand import Operand
from ..isa.targets import GENERATIONS
from ..isa.tcgen05 import Tcgen05Mma
from ..isa.tensor_memory import LANES, TensorOperand
from ..views import Grid, Picture, palette
from ..views.colours import bank_key, bank_tint, colour_key, colour_keys, core_matrix_tint
from ..views.labels import layout_note
from ..views.places import copies_note, selected_by
from . import edits
from .fills import patterns
from .masks import disabled_lanes, mask_text, zero_columns
from .matrices import Product
from .memory_descriptor import shared_tile
from .memory_view import has_memory_view, is_transposed
from .parse_cell import format_value
from .results import GPU, NOBODY, Comparison
from .state import ExplorerState
from .tensor_view import descriptor_info, tensor_info

__all__ = [
    "DISPLAY_CONTROLS", "MESSAGES", "AnswerQuestion", "Export", "FindDifference", "HideMemory",
    "NextQuestion", "RegisterField", "Request", "RequestPickerIndex", "ResendMatrices", "RunOnGpu",
    "SetMemoryField", "ShowLoad", "ShowMemory", "SkipQuestion", "StartQuiz", "StopQuiz", "bit_parts",
    "comparison_bytes", "decode_message", "delta", "instruction_info", "is_same", "lane_colours",
    "lane_registers", "matrix_bytes", "picture_data", "register_fields", "sources", "threads", "toolbar",
    "typescript",
]  # fmt: skip


# -- messages from the page ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """What the page asks the widget for; it changes no operands."""


@dataclass(frozen=True)
class RequestPickerIndex(Request):
    """Send the instructions that the picker lists."""


@dataclass(frozen=True)
class RunOnGpu(Request):
    """Run the instruction on the GPU and compare D with the model."""


@dataclass(frozen=True)
class FindDifference(Request):
    """Take operands on which the two chips that are compared differ, and select the first cell that does."""


@dataclass(frozen=True)
class Export(Request):
    """Send the state as Python code, as a link, or as a page."""

    format: Literal["code", "link", "page"]


@dataclass(frozen=True)
class ResendMatrices(Request):
    """Send matrices and registers whole: the page missed a change."""


@dataclass(frozen=True)
class ShowMemory(Request):
    """Show a matrix in shared memory, laid out and moved like this; what is left out is as usual."""

    name: edits.MatrixName
    by: str | None = None
    major: str | None = None
    pitch: int | None = None
    swizzle: int | None = None
    descriptor: str | None = None


@dataclass(frozen=True)
class SetMemoryField(Request):
    """Write one field of the matrix descriptor of the tile that is shown, as the field shows its value."""

    name: str
    text: str


@dataclass(frozen=True)
class HideMemory(Request):
    """Show no memory."""


@dataclass(frozen=True)
class ShowLoad(Request):
    """Show the registers of a thread after this tcgen05.ld; what is left out is as usual."""

    shape: str
    count: int | None = None
    lane: int | None = None
    column: int | None = None
    pack: bool | None = None


@dataclass(frozen=True)
class StartQuiz(Request):
    """Ask random questions about the instruction."""


@dataclass(frozen=True)
class AnswerQuestion(Request):
    """An answer to the question of the quiz: what was typed, or the name of what was clicked."""

    text: str


@dataclass(frozen=True)
class SkipQuestion(Request):
    """Show the answer; the question does not count."""


@dataclass(frozen=True)
class NextQuestion(Request):
    """Ask the next question."""


@dataclass(frozen=True)
class StopQuiz(Request):
    """End the quiz; its score stays."""


#: Every message that the page may send, by the type it carries.
MESSAGES: dict[str, type[edits.Edit | Request]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", message.__name__).lower(): message
    for message in (
        edits.SetCell, edits.Paste, edits.ClearCells, edits.ExtendCells, edits.FillMatrix, edits.PruneChunks,
        edits.DismissRefusal, edits.SetRegister, edits.FlipBit, edits.SetWord, edits.SetOption,
        edits.SetMask, edits.SetChips, edits.ChooseInstruction, edits.SetDescriptor, edits.SetDescriptorField,
        edits.SetMove, edits.Undo, edits.Redo,
        RequestPickerIndex, RunOnGpu, FindDifference, Export, ResendMatrices, ShowMemory, SetMemoryField,
        HideMemory, ShowLoad,
        StartQuiz, AnswerQuestion, SkipQuestion, NextQuestion, StopQuiz,
    )
}  # fmt: skip

_LONGEST_TEXT = 1 << 21  # letters of what was typed or pasted: several times the largest matrix
_LONGEST_NAME = 1 << 12  # letters of everything else
_LARGEST_NUMBER = 1 << 31


def decode_message(message: object) -> edits.Edit | Request:
    """The edit or request that a page sent, or a `PtxlabError` that says what is wrong with it.

    >>> decode_message({"type": "flip_bit", "name": "A", "lane": 4, "register": 3, "bit": 20})
    FlipBit(name='A', lane=4, register=3, bit=20)
    >>> decode_message({"type": "flip_bit", "name": "A", "lane": "4", "register": 3, "bit": 20})
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: message flip_bit: lane is '4', not an integer
    """
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise PtxlabError("the page sent no message: a message is an object with a type")
    kind = message["type"]
    if kind not in MESSAGES:
        raise PtxlabError(f"unknown message {quoted(kind)}; the page sends {listing(MESSAGES, 30)}")
    known = {field.name: field for field in fields(MESSAGES[kind])}
    content = {name: value for name, value in message.items() if name != "type"}
    unknown = [name for name in content if name not in known]
    if unknown:
        allowed = listing(known) or "no fields"
        raise PtxlabError(f"message {kind}: unknown field {quoted(unknown[0])}; it takes {allowed}")
    hints = typing.get_type_hints(MESSAGES[kind])
    missing = [
        name for name, field in known.items() if name not in content and not _is_optional(field, hints)
    ]
    if missing:
        raise PtxlabError(f"message {kind}: {missing[0]} is missing")
    for name, value in content.items():
        if not _has_type(value, hints[name]):
            raise PtxlabError(f"message {kind}: {name} is {quoted(value)}, not {_type_words(hints[name])}")
        longest = _LONGEST_TEXT if name == "text" else _LONGEST_NAME
        if isinstance(value, str) and len(value) > longest:
            raise PtxlabError(f"message {kind}: {name} has {len(value)} letters; it takes {longest}")
        if isinstance(value, str) and not value.isascii() and re.search(r"[\ud800-\udfff]", value):
            raise PtxlabError(f"message {kind}: {name} is not valid text: it has half a surrogate pair")
    return MESSAGES[kind](**content)


def _is_optional(field: Field[Any], hints: dict[str, Any]) -> bool:
    """Whether a message may leave a field out: only what has None as its default."""
    return field.default is None and types.NoneType in typing.get_args(hints[field.name])


def _has_type(value: object, hint: Any) -> bool:
    """Whether a decoded JSON value is of a type, within the limits of a sensible message."""
    if typing.get_origin(hint) is Literal:
        return type(value) is str and value in typing.get_args(hint)
    allowed = typing.get_args(hint) or (hint,)
    if type(value) not in allowed:
        return False
    return not isinstance(value, int) or abs(value) <= _LARGEST_NUMBER


_TYPE_WORDS = {int: "an integer", str: "a text", bool: "true or false", types.NoneType: "null"}
_TYPESCRIPT = {int: "number", str: "string", bool: "boolean", types.NoneType: "null"}


def _type_words(hint: Any) -> str:
    if typing.get_origin(hint) is Literal:
        return " or ".join(repr(value) for value in typing.get_args(hint))
    return " or ".join(_TYPE_WORDS[each] for each in typing.get_args(hint) or (hint,))


def typescript() -> str:
    """front/messages.d.ts: a type for every message, for the checker of the JavaScript.

    >>> print(typescript().splitlines()[-1])
      | { type: "stop_quiz" };
    """
    lines = [
        "// Messages from the page to Python. Written from ptxlab/explorer/protocol.py (MESSAGES) by",
        "// python -m tools.explorer_messages; do not edit.",
        "",
        "type Message =",
    ]
    for kind, message in MESSAGES.items():
        hints = typing.get_type_hints(message, include_extras=True)
        members = [f'type: "{kind}"', *(_member(field, hints) for field in fields(message))]
        line = f"  | {{ {'; '.join(members)} }}"
        if len(line) > 108:
            line = "\n".join(["  | {", *(f"      {member};" for member in members), "    }"])
        lines.append(line)
    return "\n".join(lines) + ";\n"


def _member(field: Field[Any], hints: dict[str, Any]) -> str:
    name, hint = field.name, hints[field.name]
    if _is_optional(field, hints):
        name += "?"
    if typing.get_origin(hint) is typing.Annotated:
        return f"{name}: {hint.__metadata__[0]}"
    if typing.get_origin(hint) is Literal:
        return f"{name}: " + " | ".join(f'"{value}"' for value in typing.get_args(hint))
    return f"{name}: " + " | ".join(_TYPESCRIPT[each] for each in typing.get_args(hint) or (hint,))


# -- matrices --------------------------------------------------------------------------------------------


def matrix_bytes(state: ExplorerState, name: str, codes: NDArray[Any] | None = None) -> dict[str, Any]:
    """A matrix as bytes: values (float32 or int32) and codes (uint32); float64 and uint64 for f64.

    For sparse A also where each element is in the other form: dense A in the compressed one, and back.
    """
    if not is_name(name, state.matrices.names):
        return {}
    operand = state.matrices.operand(name)
    codes = state.codes(name) if codes is None else codes
    value_type: type[np.generic] = np.int32
    if operand.dtype.is_float:
        value_type = np.float64 if operand.dtype.bits == 64 else np.float32
    code_type = np.uint64 if operand.dtype.bits == 64 else np.uint32
    data: dict[str, Any] = {
        "values": operand.dtype.decode(codes).astype(value_type).tobytes(),
        "codes": codes.astype(code_type).tobytes(),
    }
    if state.ins.sparse and name in ("A", "stored"):
        columns = state.matrices.stored_columns()
        if name == "stored":
            data["counterpart"] = columns.astype(np.int32).tobytes()
        else:
            indices = np.full(operand.shape, -1, dtype=np.int32)
            np.put_along_axis(indices, columns, np.arange(columns.size).reshape(columns.shape), axis=1)
            data["counterpart"] = indices.tobytes()
    return data


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
        "chips": [state.results.chip, state.results.against],
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


def sources(state: ExplorerState, comparison: Comparison) -> dict[str, tuple[Any, ...]]:
    """The objects that each part of the screen is computed from: where they are the same, nothing changed.

    Arrays of operands are never written, so the same array has the same content.
    """
    arrays, modifiers = state.operands.arrays, state.operands.modifiers
    sparse = (arrays["A"], arrays.get("E"), modifiers)
    return {
        "A": sparse,
        "stored": sparse,
        "B": (arrays["B"],),
        "C": (arrays["C"],),
        "D": (comparison.codes, comparison.other, state.results.against),
        "E": (arrays.get("E"), modifiers),
        "SFA": (arrays.get("SFA"), modifiers),
        "SFB": (arrays.get("SFB"), modifiers),
        "instruction": (state.ins, modifiers, state.results.is_known),
    }


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
    >>> edits.SetCell("A", 9, 37, "-3").apply(state)
    >>> register_fields(state, "A", lane=4)[3][1][2]   # the third field from the top of register 3
    RegisterField(element=29, row=9, column=37, low=20, bits='1101', text='-3')
    """
    if isinstance(state.ins, Tcgen05Mma):
        return []  # no thread holds anything before tcgen05.ld
    operand = state.ins.operand(name)
    if operand.layout is None:
        return []
    operand.place(lane, 0)
    registers = state.registers(name)[lane]
    codes = operand.split(registers[None])[0]
    values = operand.dtype.decode(codes)
    rows: list[tuple[str, list[RegisterField]]] = [
        (f"0x{int(register):0{operand.register_bits // 4}x}", []) for register in registers
    ]
    for (place, row, column), code, value in zip(operand.holds(lane), codes, values, strict=True):
        bits = f"{int(code):0{operand.dtype.bits}b}"
        field = RegisterField(place.element, row, column, place.low, bits, format_value(value))
        rows[place.register][1].insert(0, field)
    return rows


def lane_registers(state: ExplorerState, lane: int) -> dict[str, Any]:
    """Registers of a lane by operand, each in hexadecimal and with the elements in it."""
    if isinstance(state.ins, Tcgen05Mma):
        return {}
    return {
        name: [
            {"hex": text, "fields": [dict(vars(field)) for field in elements]}
            for text, elements in register_fields(state, name, lane)
        ]
        for name in state.ins.operands
    }


# -- the instruction -------------------------------------------------------------------------------------


def instruction_info(state: ExplorerState) -> dict[str, Any]:
    """What is fixed for an instruction: sizes, types, the lane, register and bits of each cell, colours."""
    ins, structure = state.ins, state.ins.structure
    return {
        **_tensor_parts(state, ins),
        "mnemonic": ins.mnemonic,
        "m": ins.m,
        "n": ins.n,
        "k": ins.k,
        "lanes": threads(ins),
        "mma_count": ins.mma_count,
        "chunk": structure.chunk if structure else 0,
        "kept": structure.keep * structure.group if structure else 0,
        "scale_blocks": ins.scale_vec or 0,
        **_stacked_products(state),
        "matrices": {name: _matrix_info(state, name) for name in state.matrices.names},
        "registers": {name: operand.registers for name, operand in ins.operands.items() if operand.registers},
        "colours": lane_colours(),
    }


def lane_colours() -> dict[str, list[list[str]]]:
    """Background and text of each lane's colour, for a light and for a dark page."""
    return {
        "light": [list(pair) for pair in palette.lane_shades(palette.PAPER, palette.INK, 4.5)],
        "dark": [list(pair) for pair in palette.lane_shades(palette.DARK.paper, "#000000", 5)],
    }


def threads(ins: Product) -> int:
    """The threads whose registers are shown: a warp, a warpgroup; of tcgen05 a warpgroup in each CTA.

    >>> import ptxlab
    >>> threads(ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16"))
    256
    """
    return LANES * ins.cta_group if isinstance(ins, Tcgen05Mma) else ins.lanes


def _tensor_parts(state: ExplorerState, ins: Product) -> dict[str, Any]:
    """Of tcgen05: what its mnemonic does not say, where its matrices are, its descriptor."""
    if not isinstance(ins, Tcgen05Mma):
        return {}
    modifiers = state.operands.modifiers
    a_space = ", A in tensor memory" if ins.a_space == "tensor" else ""
    return {
        "shape": f"{ins.shape}.{ins.d_type}.{ins.a_type}.{ins.b_type}{a_space}",
        "tensor": tensor_info(ins),
        "disabled_lanes": disabled_lanes(modifiers.disable_output_lane),
        "zero_columns": zero_columns(ins, modifiers.zero_column_mask),
        "column_shift": modifiers.column_shift,
        "descriptor": descriptor_info(ins),
    }


def _matrix_info(state: ExplorerState, name: str) -> dict[str, Any]:
    ins, operand = state.ins, state.matrices.operand(name)
    info: dict[str, Any] = {
        "label": {"stored": "compressed A", "E": "metadata"}.get(name, name),
        "rows": operand.shape[0],
        "columns": operand.shape[1],
        "type": operand.dtype.name,
        "kind": operand.dtype.kind,
        "bits": operand.dtype.bits,
        "element": "a" if name == "stored" else name.lower(),
        "operand": "A" if name == "stored" else name,
        "editable": name != "D",
        "parts": bit_parts(operand.dtype),
        "note": "",
        "in_memory": has_memory_view(ins, name),
    }
    if name == "D" and not state.results.is_known:
        info["unknown"] = f"D is empty: {state.results.unknown}"
    if isinstance(operand, TensorOperand):
        info["note"] = f"layout by {operand.source}" if "assumed" in operand.source else ""
        return info
    if ins.mma_count > 1:
        info["products"] = {"count": ins.mma_count, "along": "columns" if name == "B" else "rows"}
    if operand.layout is None:
        info["note"] = "in shared memory, held by no lane"
        is_dense_a = name == "A" and ins.sparse  # only its compressed half is anywhere
        return info if is_dense_a else info | _shared_memory_info(state, operand)
    info["note"] = _note(state, name, operand)
    info["legends"] = {
        colour: _legend(key)
        for colour in ("register", "warp")
        for key in colour_keys(colour, operand.registers, operand.lanes)
    }
    elements = operand.layout.elements
    lane, element = np.divmod(operand.layout.scatter(state.matrices.copy_index(name)), elements)
    places = [operand.place(0, index) for index in range(elements)]
    maps = {
        "lane": lane,
        "element_map": element,
        "register_map": np.array([place.register for place in places])[element],
        "low": np.array([place.low for place in places])[element],
    }
    return info | {key: array.astype(np.int16).tobytes() for key, array in maps.items()}


def _note(state: ExplorerState, name: str, operand: Operand) -> str:
    """Which of several copies is read, or where the others are."""
    copies = operand.layout.copies if operand.layout else 1
    selector = selected_by(state.ins, operand, state.matrices.copy_index(name))
    if selector:
        return f"one of {copies} copies, read with {selector}" if copies > 1 else f"read with {selector}"
    return "; ".join(note for note in (copies_note(operand), layout_note(state.ins, operand)) if note)


def _shared_memory_info(state: ExplorerState, operand: Operand) -> dict[str, Any]:
    """Where every element of a tile in shared memory is without a swizzle: byte, core matrix, row in it."""
    if operand.space != "shared":
        return {}
    try:
        tile = shared_tile(state.ins, operand, transposed=is_transposed(state, operand.name))
    except PtxlabError:  # elements narrower than a byte, which lie in parts of 16 bytes
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
    """The lane whose colour each core matrix has, as in figures: a hue along m or n, a shade along k."""
    first = np.unique(cores, return_index=True)[1]
    outer, along_k = np.unravel_index(first, cores.shape)
    groups, pieces = (np.unique(starts, return_inverse=True)[1] for starts in (outer, along_k))
    return [core_matrix_tint(int(group), int(piece)) for group, piece in zip(groups, pieces, strict=True)]


def _core_key(tints: list[int]) -> Grid:
    """The key to the first core matrices."""
    shown = tints[:8]
    title = "core matrices" if len(tints) <= 8 else f"core matrices 0..7 of {len(tints)}"
    texts = [str(number) for number in range(len(shown))]
    tooltips = [f"core matrix {text}: 8 rows of 16 bytes" for text in texts]
    return colour_key(title, texts, shown, tooltips)


def _legend(key: Grid) -> dict[str, Any]:
    """A key to colours as plain data: a text, the lane whose colour it has, and a tip for each."""
    cells = [[cell.text, cell.lane, str(key.hover[cell.row, cell.column])] for cell in key.cells]
    return {"title": key.title, "cells": cells}


def _stacked_products(state: ExplorerState) -> dict[str, Any]:
    """The column of B behind each cell of D, if it has another number; lanes of several stacked products."""
    ins, layout = state.ins, state.ins.d.layout
    shift = state.operands.modifiers.column_shift
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
    """What the bits of a code are, from the highest down: role and count."""
    if not dtype.is_float:
        return [("value", dtype.bits)]
    parts = [
        ("sign", int(dtype.signed)),
        ("exponent", dtype.exponent_bits),
        ("fraction", dtype.fraction_bits),
    ]
    ignored = ("ignored", dtype.bits - sum(length for _, length in parts))
    parts = [*parts, ignored] if dtype.ignored_bits else [ignored, *parts]
    return [part for part in parts if part[1]]


# -- the toolbar -----------------------------------------------------------------------------------------

#: How things are shown, which changes no number: the view's trait, and the control that sets it.
DISPLAY_CONTROLS: dict[str, dict[str, Any]] = {
    "label": {
        "label": "Show",
        "hint": "What each cell shows: its value, its code, or the lane and element that hold it",
        "options": [["value", "value"], ["hex code", "hex"], ["binary", "binary"], ["lane·element", "lane"]],
    },
    "colour_by": {
        "label": "Colour by",
        "hint": "What the colours mean; operands in shared memory are coloured by core matrix, or by bank",
        "options": [
            ["lane", "lane"],
            ["register", "register"],
            ["warp", "warp"],
            ["bank", "bank"],
            ["value", "value"],
            ["none", "nothing"],
        ],
    },
    "show_c": {
        "label": "Show C",
        "hint": "Show the matrix C, which is added to the product, and its registers",
    },
    "zoom": {
        "label": "Zoom",
        "hint": "Size of the cells (Ctrl + mouse wheel, two fingers, or Alt + and Alt -)",
        "range": {"min": 50, "max": 400, "step": 25},
    },
}


def toolbar(
    state: ExplorerState, chips: tuple[str, ...], working: str = "", gpu_time: str = ""
) -> dict[str, Any]:
    """Everything in the toolbar: chips, fill patterns, modifiers, undo, and what is chosen.

    `working` is what the GPU is doing now, `gpu_time` how long its last run took.
    """
    results, ins = state.results, state.ins
    fill_patterns = {
        name: list(patterns(name, state.matrices.operand(name).dtype)) for name in state.matrices.names
    }
    gpu_available = GPU in chips
    gpu_status = working or (gpu_time if gpu_available else "") or gpu.status(ins)
    return {
        "controls": [{"trait": trait, **control} for trait, control in DISPLAY_CONTROLS.items()],
        "chips": [[_chip_label(chip), chip] for chip in chips or (NOBODY,)],
        "chip": results.chip,
        "against": results.against,
        "patterns": {name: allowed for name, allowed in fill_patterns.items() if allowed},
        "options": [
            _option(name, ins.modifiers.get(name, ()), value)
            for name, value in state.matrices.options.items()
        ],
        "undo": bool(state.history.past_steps),
        "redo": bool(state.history.future_steps),
        "gpu": {"available": gpu_available, "status": gpu_status, "busy": bool(working)},
    }


def _chip_label(chip: str) -> str:
    generation = GENERATIONS.get(chip)
    return f"{chip} {generation}" if generation else chip or "no model"


_OPTION_HINTS = {
    "selector": "Sparsity selector: which lanes of each group of four supply the metadata",
    "scale_d": "scale-d: false leaves out what D held before, so that D = A * B",
    "imm_scale_a": "imm-scale-a: -1 negates A",
    "imm_scale_b": "imm-scale-b: -1 negates B",
    "imm_trans_a": "imm-trans-a: 1 if A is stored in shared memory with m, not k, contiguous",
    "imm_trans_b": "imm-trans-b: 1 if B is stored in shared memory with n, not k, contiguous",
    "byte_id_a": "byte-id-a: which byte of a register holds the scale factors of A",
    "byte_id_b": "byte-id-b: which byte of a register holds the scale factors of B",
    "thread_id_a": "thread-id-a: which lanes of each group of four hold the scale factors of A",
    "enable_input_d": "enable-input-d: false leaves out what D held before, so that D = A * B",
    "scale_input_d": "scale-input-d: what D held before is divided by 2 to the power of this",
    "disable_output_lane": "disable-output-lane: lanes of D that stay as they were, such as 0..15, 32",
    "zero_column_mask": "zero-column-mask-desc: columns of B that count as zeros, such as use 4, skip 3",
    "thread_id_b": "thread-id-b: which lanes of each group of four hold the scale factors of B",
}


def _option(name: str, legal: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """A modifier with its legal values; a mask, which has none to choose from, as a text."""
    return {
        "name": name,
        "label": name.replace("_", "-"),
        "hint": _OPTION_HINTS.get(name, f"The instruction's {name.replace('_', '-')}"),
        "options": [[str(each).lower(), each] for each in legal],
        "value": value if legal else 0,
        "text": "" if legal else mask_text(name, value),
    }


# -- the trace -------------------------------------------------------------------------------------------


def picture_data(picture: Picture) -> dict[str, Any]:
    """A picture of bits as plain lists: its notes, and for every grid the headings, cells and rules."""
    grids = []
    for grid in picture.grids:
        cells = [cell for cell in grid.cells if cell.role != "blank" and cell.text]
        grids.append(
            {
                "title": grid.title,
                "size": list(grid.shape),
                "axes": list(grid.axes),
                "rows": [[head.start, head.text] for head in grid.rows],
                "columns": [[head.start, head.size, head.text] for head in grid.columns],
                "cells": [
                    [
                        cell.row,
                        cell.column,
                        cell.width,
                        cell.text,
                        f"{cell.role} {cell.state}",
                        str(grid.hover[cell.row, cell.column]),
                    ]
                    for cell in cells
                ],
                "row_rules": list(grid.row_rules),
                "column_rules": [list(rule) for rule in grid.column_rules],
            }
        )
    return {"title": picture.title, "notes": list(picture.notes), "grids": grids}
