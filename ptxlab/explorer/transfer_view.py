"""What the page draws of tcgen05.ld, .st, .cp and .shift: two grids of words, and which word goes where.

The page shows both in its view of tensor memory, as it shows the two CTAs of a pair: A in rows 0 to 127, D in
rows 128 to 255.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import counted
from ..isa.tcgen05 import UNPACKED
from ..isa.tensor_memory import LANES
from ..views.labels import index_range
from .instruction_info import bit_parts, lane_colours
from .state import History
from .word_transfer import (
    ELEMENTS,
    PATTERNS,
    CopyTransfer,
    LoadTransfer,
    RegisterTransfer,
    ShiftTransfer,
    WordTransfer,
    choices,
    first_lanes,
    most_column,
    part_of,
)

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


def transfer_info(transfer: WordTransfer) -> dict[str, Any]:
    """What is fixed for an instruction and its address: sizes, places, what can be chosen.

    >>> import ptxlab
    >>> from ptxlab.explorer.word_transfer import first_transfer
    >>> transfer = first_transfer(ptxlab.instruction("tcgen05.cp.cta_group::1.4x256b"))
    >>> transfer_info(transfer)["tensor"]["summary"]
    '4 rows of 256 bits go to lanes 0, 32, 64 and 96, columns 0..7'
    """
    (rows, columns), (source_rows, source_columns) = transfer.result.shape, transfer.a.shape
    return {
        "mnemonic": transfer.form.mnemonic,
        "shape": _operands(transfer),
        "m": rows,
        "n": columns,
        "k": source_rows * source_columns,
        "lanes": LANES,
        "mma_count": 1,
        "chunk": 0,
        "kept": 0,
        "scale_blocks": 0,
        "matrices": {name: _matrix_info(transfer, name) for name in transfer.names},
        "registers": {},
        "colours": lane_colours(),
        "tensor": {
            "ctas": 2,
            "lanes": LANES,
            "columns": max(columns, source_columns),
            "allocated": transfer.tensor_columns,
            "path": "",
            "summary": _summary(transfer),
            "note": _note(transfer),
            "places": {"A": _place(transfer, "A", 0), "D": _place(transfer, "D", 1)},
            "blocks": [_block(transfer, name) for name in ("A", "D")],
        },
        "move": {
            "family": transfer.form.family,
            "registers": transfer.registers,
            "halves": transfer.form.pack,
            "element_bits": UNPACKED.get(transfer.form.source, 0),
            "by": "D" if transfer.registers == "D" else "A",  # whose rows and columns the colours are
            "controls": _controls(transfer),
        },
    }


def _operands(transfer: WordTransfer) -> str:
    """What the mnemonic does not say: the address, and how shared memory is read."""
    address = f"taddr 0x{transfer.address:08x}"
    if isinstance(transfer, CopyTransfer):
        return f"{address}, s-desc 0x{transfer.descriptor.code:016x}"
    return address


def _matrix_info(transfer: WordTransfer, name: str) -> dict[str, Any]:
    side, dtype = transfer.sides[name], transfer.dtype
    rows, columns = transfer.words(name).shape
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
        "column_names": transfer.column_names if name == "D" else [],
    }
    maps: dict[str, NDArray[np.int64]] = {}
    if isinstance(transfer, RegisterTransfer):
        maps = _thread_maps(transfer, name)
    elif isinstance(transfer, CopyTransfer) and name == "A":
        maps = {"byte_map": transfer.byte_addresses}
    return info | {key: array.astype(np.int16).tobytes() for key, array in maps.items()}


def _thread_maps(transfer: RegisterTransfer, name: str) -> dict[str, NDArray[np.int64]]:
    """Of each word: the thread and the register that go with it; -1 for none."""
    rows, columns = transfer.words(name).shape
    if name == transfer.registers:
        thread, register = np.divmod(np.arange(rows * columns), columns)
    else:
        thread, register = np.full(rows * columns, -1), np.full(rows * columns, -1)
        slots = transfer.slots
        thread[slots] = np.arange(LANES)[:, None, None]
        register[slots] = np.arange(slots.shape[1])[:, None]
    return {
        "lane": thread,
        "element_map": register,
        "register_map": register,
        "low": np.zeros(rows * columns),
    }


def _place(transfer: WordTransfer, name: str, block: int) -> dict[str, Any]:
    rows, columns = transfer.words(name).shape
    side = transfer.sides[name]
    lanes = np.stack([np.arange(rows), np.zeros(rows)], axis=-1)
    bits = np.stack([np.zeros(columns), 32 * np.arange(columns)], axis=-1)
    return {
        "first": 0,
        "columns": columns,
        "width": 32,
        "block": block,
        "copy": np.array([[LANES * block, 0]], dtype=np.int32).tobytes(),
        "row": lanes.astype(np.int32).tobytes(),
        "column": bits.astype(np.int32).tobytes(),
        "source": "",
        "text": f"{side.label}: {side.title.lower()}",
    }


def _block(transfer: WordTransfer, name: str) -> dict[str, Any]:
    rows, columns = transfer.words(name).shape
    side = transfer.sides[name]
    return {
        "title": " ".join(word for word in (side.title, side.label, side.when) if word),
        "label": side.label,
        "axes": list(side.axes),
        "rows": rows,
        "columns": columns,
        "warps": rows == LANES,
        "names": transfer.column_names if name == "D" else [],
    }


def _controls(transfer: WordTransfer) -> list[dict[str, Any]]:
    form = transfer.form
    controls = []
    for name, texts in choices(form).items():
        if len(texts) > 1:
            value = part_of(form, name)
            options = [(text or _LEFT_OUT.get(name, "none"), text) for text in texts]
            controls.append(_select(name, options, value))
    lanes = first_lanes(form)
    if len(lanes) > 1:
        controls.append(_select("lane", [(str(lane), str(lane)) for lane in lanes], str(transfer.lane)))
    controls.append(_number("column", most_column(form, transfer.split), transfer.column))
    if form.shape == "16x32bx2":
        half = form.columns // 2
        split = half if transfer.split is None else transfer.split
        controls.append(_number("split", transfer.tensor_columns - transfer.column - half, split))
    if not form.reduction:
        controls.append(_select("element", [(each, each) for each in ELEMENTS], transfer.element))
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


def _columns(transfer: WordTransfer) -> str:
    first, count, split = transfer.column, transfer.form.columns, transfer.split
    if split is not None:
        half = count // 2
        return f"columns {index_range(first, half)} and {index_range(first + split, half)}"
    return f"column{'' if count == 1 else 's'} {index_range(first, count)}"


def _summary(transfer: WordTransfer) -> str:
    form, first = transfer.form, transfer.lane
    if isinstance(transfer, ShiftTransfer):
        return (
            f"lanes {first}..{first + 30} take the words of the next, {_columns(transfer)}; "
            f"lane {first + 31} keeps its own"
        )
    if isinstance(transfer, CopyTransfer):
        rows, words = transfer.a.shape
        return f"{rows} rows of {32 * words} bits go to {_target_lanes(transfer)}, {_columns(transfer)}"
    verb = "reads" if isinstance(transfer, LoadTransfer) else "writes"
    lanes = "its 32 lanes" if form.shape == "32x32b" else f"lanes {first}..{first + 15} of its 32"
    return f"each warp {verb} {lanes}, {_columns(transfer)}: {counted(form.registers, 'register')} a thread"


def _target_lanes(transfer: WordTransfer) -> str:
    if transfer.form.shape == "4x256b":
        return "lanes 0, 32, 64 and 96"
    copies = {
        "warpx2::02_13": "lanes 0..63 and again to lanes 64..127",
        "warpx2::01_23": "lanes 0..31 and 64..95 and again to lanes 32..63 and 96..127",
        "warpx4": "the 32 lanes of each of four warps",
    }
    return copies.get(transfer.form.multicast, "all 128 lanes")


def _note(transfer: WordTransfer) -> str:
    form = transfer.form
    notes = []
    if form.threads == 32:
        notes.append("all four warps of a warpgroup execute it, each on its own 32 lanes")
    if form.cta_group == 2:
        notes.append("the other CTA of the pair does the same with its own memory")
    if isinstance(transfer, CopyTransfer):
        notes.append(
            "rows are in core matrices of 8 rows of 16 bytes, one after the other, without a swizzle"
        )
    notes += [f"assumed: {assumption}" for assumption in form.assumptions]
    return "; ".join(notes)


# -- what changes --------------------------------------------------------------------------------------------


def transfer_bytes(transfer: WordTransfer, name: str) -> dict[str, Any]:
    """The words of A, C or D, and with D the words of A that each comes from."""
    if name not in transfer.names:
        return {}
    words = transfer.words(name)
    value_type = np.float32 if transfer.dtype.is_float else np.int32
    data: dict[str, Any] = {"values": words.view(value_type).tobytes(), "codes": words.tobytes()}
    if name == "D":
        data["counterpart"] = transfer.links.tobytes()
    return data


def transfer_toolbar(transfer: WordTransfer, history: History) -> dict[str, Any]:
    """Undo and fills; chips, a GPU and the display of matrices belong to instructions that multiply."""
    return {
        "controls": [],
        "chips": [],
        "chip": "",
        "against": None,
        "patterns": {name: list(PATTERNS) for name in transfer.inputs},
        "options": [],
        "undo": bool(history.past_steps),
        "redo": bool(history.future_steps),
        "gpu": {"available": False, "status": "", "busy": False},
    }
