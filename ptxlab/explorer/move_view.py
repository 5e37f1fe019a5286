"""What the page draws of tcgen05.ld, .st, .cp and .shift: two grids of words, and which word goes where.

The page shows both in its view of tensor memory, as it shows the two CTAs of a pair: A in rows 0 to 127, D in
rows 128 to 255.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..isa.tcgen05 import UNPACKED
from ..isa.tensor_memory import LANES
from .moves import (
    ELEMENTS,
    PATTERNS,
    Move,
    MoveState,
    choices,
    first_lanes,
    most_column,
    part_of,
)
from .protocol import bit_parts, lane_colours

__all__ = ["move_bytes", "move_info", "move_toolbar"]

_WARP = 32

#: What can be chosen: a label, and what it means.
_CONTROLS: dict[str, tuple[str, str]] = {
    "cta_group": ("", "How many CTAs take part; each of a pair does the same with its own memory"),
    "shape": ("shape", "Lanes and bits of a lane that are moved at a time"),
    "count": ("", "How often the shape is repeated, along the columns"),
    "pack": ("", ".pack::16b: the lower halves of two columns go into one register"),
    "unpack": ("", ".unpack::16b: each half of a register goes into the lower half of a column of its own"),
    "operation": (
        "operation",
        "What tcgen05.ld does besides loading: reduce, or keep two of every four columns",
    ),
    "multicast": ("multicast", "Which warps' lanes get copies of the same rows"),
    "source": ("unpack", "Elements of 6 or 4 bits that become bytes on the way"),
    "lane": ("lane", "The lane of taddr, in which it begins"),
    "column": ("column", "The column of taddr, in which it begins"),
    "split": ("split", "immHalfSplitoff: how many columns behind the first half the second one is"),
    "element": ("words as", "The type that words are read as; it changes no bit"),
}
_LEFT_OUT = {
    "pack": "no pack",
    "unpack": "no unpack",
    "operation": "load only",
    "multicast": "none",
    "source": "no",
}


def move_info(state: MoveState) -> dict[str, Any]:
    """What is fixed for an instruction and its address: sizes, places, what can be chosen.

    >>> import ptxlab
    >>> from ptxlab.explorer.moves import first_move
    >>> info = move_info(MoveState(first_move(ptxlab.instruction("tcgen05.cp.cta_group::1.4x256b"))))
    >>> info["tensor"]["summary"]
    '4 rows of 256 bits go to lanes 0, 32, 64 and 96, columns 0..7'
    """
    move = state.move
    (rows, columns), (source_rows, source_columns) = move.result.shape, move.a.shape
    return {
        "mnemonic": move.form.mnemonic,
        "shape": _operands(move),
        "m": rows,
        "n": columns,
        "k": source_rows * source_columns,
        "lanes": LANES,
        "mma_count": 1,
        "chunk": 0,
        "kept": 0,
        "scale_blocks": 0,
        "matrices": {name: _matrix_info(move, name) for name in move.names},
        "registers": {},
        "colours": lane_colours(),
        "tensor": {
            "ctas": 2,
            "lanes": LANES,
            "columns": max(columns, source_columns),
            "allocated": move.tensor_columns,
            "path": "",
            "summary": _summary(move),
            "note": _note(move),
            "places": {"A": _place(move, "A", 0), "D": _place(move, "D", 1)},
            "blocks": [_block(move, name) for name in ("A", "D")],
        },
        "move": {
            "family": move.form.family,
            "registers": move.registers,
            "halves": move.form.pack,
            "element_bits": UNPACKED.get(move.form.source, 0),
            "by": "D" if move.registers == "D" else "A",  # whose rows and columns the colours are
            "controls": _controls(move),
        },
    }


def _operands(move: Move) -> str:
    """What the mnemonic does not say: the address, and how shared memory is read."""
    descriptor = "" if move.descriptor is None else f", s-desc 0x{move.descriptor.code:016x}"
    return f"taddr 0x{move.address:08x}{descriptor}"


def _matrix_info(move: Move, name: str) -> dict[str, Any]:
    side, dtype = move.sides[name], move.dtype
    rows, columns = move.words(name).shape
    info: dict[str, Any] = {
        "label": side.label,
        "rows": rows,
        "columns": columns,
        "type": dtype.name,
        "kind": dtype.kind,
        "bits": 32,
        "element": "r",
        "operand": name,
        "editable": name != "D",
        "parts": bit_parts(dtype),
        "note": "",
        "in_memory": False,
        "axes": list(side.axes),
        "column_names": move.column_names if name == "D" else [],
    }
    if name == "A" and move.descriptor is not None:
        return info | {"byte_map": move.byte_addresses.astype(np.int16).tobytes()}
    if not move.registers:
        return info
    maps = _thread_maps(move, name)
    return info | {key: array.astype(np.int16).tobytes() for key, array in maps.items()}


def _thread_maps(move: Move, name: str) -> dict[str, NDArray[np.int64]]:
    """Of each word: the thread and the register that go with it; -1 for none."""
    rows, columns = move.words(name).shape
    if name == move.registers:
        thread, register = np.divmod(np.arange(rows * columns), columns)
    else:
        thread, register = np.full(rows * columns, -1), np.full(rows * columns, -1)
        slots = move.slots
        thread[slots] = np.arange(LANES)[:, None, None]
        register[slots] = np.arange(slots.shape[1])[:, None]
    return {
        "lane": thread,
        "element_map": register,
        "register_map": register,
        "low": np.zeros(rows * columns),
    }


def _place(move: Move, name: str, block: int) -> dict[str, Any]:
    rows, columns = move.words(name).shape
    side = move.sides[name]
    zeros = np.zeros
    return {
        "first": 0,
        "columns": columns,
        "width": 32,
        "block": block,
        "copy": np.array([[LANES * block, 0]], dtype=np.int32).tobytes(),
        "row": np.stack([np.arange(rows), zeros(rows)], axis=-1).astype(np.int32).tobytes(),
        "column": np.stack([zeros(columns), 32 * np.arange(columns)], axis=-1).astype(np.int32).tobytes(),
        "source": "",
        "text": f"{side.label}: {side.title.lower()}",
    }


def _block(move: Move, name: str) -> dict[str, Any]:
    rows, columns = move.words(name).shape
    side = move.sides[name]
    return {
        "title": " ".join(word for word in (side.title, side.label, side.when) if word),
        "label": side.label,
        "axes": list(side.axes),
        "rows": rows,
        "columns": columns,
        "warps": rows == LANES,
        "names": move.column_names if name == "D" else [],
    }


def _controls(move: Move) -> list[dict[str, Any]]:
    form = move.form
    controls = []
    for name, texts in choices(form).items():
        if len(texts) > 1:
            value = part_of(form, name)
            options = [(text or _LEFT_OUT.get(name, "none"), text) for text in texts]
            controls.append(_select(name, options, value))
    lanes = first_lanes(form)
    if len(lanes) > 1:
        controls.append(_select("lane", [(str(lane), str(lane)) for lane in lanes], str(move.lane)))
    controls.append(_number("column", most_column(form, move.split), move.column))
    if form.shape == "16x32bx2":
        half = form.columns // 2
        split = half if move.split is None else move.split
        controls.append(_number("split", move.tensor_columns - move.column - half, split))
    if not form.reduction:
        controls.append(_select("element", [(each, each) for each in ELEMENTS], move.element))
    return controls


def _select(name: str, options: list[tuple[str, str]], value: str) -> dict[str, Any]:
    label, hint = _CONTROLS[name]
    return {
        "name": name,
        "label": label,
        "hint": hint,
        "options": [list(each) for each in options],
        "value": value,
    }


def _number(name: str, most: int, value: int) -> dict[str, Any]:
    label, hint = _CONTROLS[name]
    return {"name": name, "label": label, "hint": hint, "most": most, "value": str(value)}


def _range(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}..{first + count - 1}"


def _columns(move: Move) -> str:
    form = move.form
    half = form.columns // 2
    if move.split is not None:
        return f"columns {_range(move.column, half)} and {_range(move.column + move.split, half)}"
    return f"column{'s' if form.columns > 1 else ''} {_range(move.column, form.columns)}"


def _summary(move: Move) -> str:
    form = move.form
    if form.family == "tcgen05.shift":
        return (
            f"lanes {move.lane}..{move.lane + 30} take the words of the next, {_columns(move)}; "
            f"lane {move.lane + 31} keeps its own"
        )
    if form.family == "tcgen05.cp":
        rows, bits = form.shape.removesuffix("b").split("x")
        return f"{rows} rows of {bits} bits go to {_target_lanes(move)}, {_columns(move)}"
    reads = form.family == "tcgen05.ld"
    lanes = "its 32 lanes" if form.shape == "32x32b" else f"lanes {move.lane}..{move.lane + 15} of its 32"
    count = f"{form.registers} register{'s' if form.registers > 1 else ''} a thread"
    return f"each warp {'reads' if reads else 'writes'} {lanes}, {_columns(move)}: {count}"


def _target_lanes(move: Move) -> str:
    if move.form.shape == "4x256b":
        return "lanes 0, 32, 64 and 96"
    copies = {
        "warpx2::02_13": "lanes 0..63 and again to lanes 64..127",
        "warpx2::01_23": "lanes 0..31 and 64..95 and again to lanes 32..63 and 96..127",
        "warpx4": "the 32 lanes of each of four warps",
    }
    return copies.get(move.form.multicast, "all 128 lanes")


def _note(move: Move) -> str:
    form = move.form
    notes = []
    if form.threads == 32:
        notes.append("all four warps of a warpgroup execute it, each on its own 32 lanes")
    if form.cta_group == 2:
        notes.append("the other CTA of the pair does the same with its own memory")
    if form.family == "tcgen05.cp":
        notes.append(
            "rows are in core matrices of 8 rows of 16 bytes, one after the other, without a swizzle"
        )
    notes += [f"assumed: {assumption}" for assumption in form.assumptions]
    return "; ".join(notes)


# -- what changes --------------------------------------------------------------------------------------------


def move_bytes(move: Move, name: str) -> dict[str, Any]:
    """The words of A, C or D, and with D the words of A that each comes from."""
    if name not in move.names:
        return {}
    words = move.words(name)
    value_type = np.float32 if move.dtype.is_float else np.int32
    data: dict[str, Any] = {"values": words.view(value_type).tobytes(), "codes": words.tobytes()}
    if name == "D":
        data["counterpart"] = move.links.tobytes()
    return data


def move_toolbar(state: MoveState, can_undo: bool) -> dict[str, Any]:
    """Undo and fills; chips, a GPU and the display of matrices belong to instructions that multiply."""
    return {
        "controls": [],
        "chips": [],
        "chip": "",
        "against": None,
        "patterns": {name: list(PATTERNS) for name in state.move.names if name != "D"},
        "options": [],
        "undo": can_undo,
        "redo": bool(state.future),
        "gpu": {"available": False, "status": "", "busy": False},
    }
