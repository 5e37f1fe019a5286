"""What the page draws of a transfer: two grids, and which cell goes where.

The page shows both in its view of tensor memory, like the two CTAs of a pair: A in rows 0 to 127, D in rows
128 to 255. Each cell is drawn as one word, whatever its number of bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import counted
from ...isa.tcgen05 import UNPACKED
from ...isa.tensor_operand import LANES
from ...memory.banks import transfer_conflicts
from ...views.labels import index_range
from ..documents.matrix_transfer import MatrixTransfer
from ..documents.tensor_transfer import CopyTransfer, LoadTransfer, ShiftTransfer, TensorMemoryTransfer
from ..documents.transfer_document import TransferDocument
from ..documents.transfer_parts import PARTS, choices
from .instruction_info import lane_colours, matrix_info
from .page_values import code_bytes

#: The controls: a label, and a hint.
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
    "matrix": ("", "The matrix whose fragment it is"),
    "layout": ("", "Whether the rows or the columns of the matrix are contiguous in memory"),
    "type": ("type", "The type of the elements in memory, or in registers and in memory"),
    "trans": ("", ".trans: each 8x8 matrix is transposed on the way"),
    "stride": ("stride", "From one row in memory to the next: bytes, or elements of wmma"),
    "multicast": ("multicast", "Which warps' lanes get copies of the same rows"),
    "source": ("unpack", "Elements of 6 or 4 bits that become bytes on the way"),
    "lane": ("lane", "The lane of taddr, in which it begins"),
    "column": ("column", "The column of taddr, in which it begins"),
    "split": ("split", "immHalfSplitoff: how many columns behind the first half the second one is"),
    "element": ("words as", "The type that words are read as; it changes no bit"),
}
_LEFT_OUT = {
    "pack": "no pack",
    "trans": "no trans",
    "unpack": "no unpack",
    "operation": "load only",
    "multicast": "none",
    "source": "no",
}


def transfer_info(transfer: TransferDocument) -> dict[str, Any]:
    """What is fixed for an instruction and its location: sizes, places and controls.

    >>> import ptxlab
    >>> from ptxlab.explorer.documents.start import first_transfer
    >>> transfer = first_transfer(ptxlab.instruction("tcgen05.cp.cta_group::1.4x256b"))
    >>> transfer_info(transfer)["tensor"]["summary"]
    '4 rows of 256 bits go to lanes 0, 32, 64 and 96, columns 0..7'
    """
    (rows, columns), (source_rows, source_columns) = transfer.result.shape, transfer.a.shape
    form = transfer.ins
    tensor = transfer if isinstance(transfer, TensorMemoryTransfer) else None
    return {
        "mnemonic": form.mnemonic,
        "shape": _operands(transfer),
        "m": rows,
        "n": columns,
        "k": source_rows * source_columns,
        "lanes": transfer.threads,
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
            "allocated": tensor.tensor_columns if tensor else 0,
            "path": "",
            "summary": _summary(transfer),
            "note": _note(transfer),
            "places": {"A": _place(transfer, "A", 0), "D": _place(transfer, "D", 1)},
            "blocks": [_block(transfer, name) for name in ("A", "D")],
        },
        "transfer": {
            "family": form.family,
            "registers": transfer.matrix_in_registers,
            "halves": bool(tensor and tensor.ins.pack),
            "element_bits": UNPACKED.get(tensor.ins.source, 0) if tensor else 0,
            # the matrix whose rows and columns the colours show
            "by": "D" if transfer.matrix_in_registers == "D" else "A",
            "controls": _controls(transfer),
        },
    }


def _operands(transfer: TransferDocument) -> str:
    """The operands beside the mnemonic: the address, and the descriptor of shared memory."""
    if not isinstance(transfer, TensorMemoryTransfer):
        return ""
    address = f"taddr 0x{transfer.address:08x}"
    if isinstance(transfer, CopyTransfer):
        return f"{address}, s-desc 0x{transfer.descriptor.code:016x}"
    return address


def _matrix_info(transfer: TransferDocument, name: str) -> dict[str, Any]:
    side = transfer.sides[name]
    info = matrix_info(name, side.label, transfer.codes(name).shape, transfer.dtype(name), "r", False)
    info |= {"axes": list(side.axes), "column_names": transfer.column_names(name)}
    maps: dict[str, NDArray[np.int64]] = transfer.thread_maps(name)
    is_in_memory = name == ("D" if transfer.matrix_in_registers == "A" else "A")
    if isinstance(transfer, CopyTransfer | MatrixTransfer) and is_in_memory and not side.in_registers:
        maps = {**maps, "byte_map": transfer.byte_addresses}
        if isinstance(transfer, MatrixTransfer) and transfer.ins.address_lanes:
            info["address_lanes"] = True
    return info | {key: array.astype(np.int16).tobytes() for key, array in maps.items()}


def _place(transfer: TransferDocument, name: str, block: int) -> dict[str, Any]:
    rows, columns = transfer.codes(name).shape
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


def _block(transfer: TransferDocument, name: str) -> dict[str, Any]:
    rows, columns = transfer.codes(name).shape
    side = transfer.sides[name]
    return {
        "title": " ".join(word for word in (side.title, side.label, side.when) if word),
        "label": side.label,
        "axes": list(side.axes),
        "rows": rows,
        "columns": columns,
        "warps": rows == LANES,
        "names": transfer.column_names(name),
        **transfer.groups(name),
    }


def _controls(transfer: TransferDocument) -> list[dict[str, Any]]:
    form = transfer.ins
    controls = []
    for name, texts in choices(form).items():
        if len(texts) > 1:
            value = PARTS[form.family][name](form)
            options = [(text or _LEFT_OUT.get(name, "none"), text) for text in texts]
            controls.append(_select(name, options, value))
    if isinstance(transfer, MatrixTransfer):
        if transfer.has_memory:
            strides = sorted({*transfer.offered_strides, transfer.stride})
            controls.append(
                _select("stride", [(str(stride), str(stride)) for stride in strides], str(transfer.stride))
            )
    elif isinstance(transfer, TensorMemoryTransfer):
        controls += _address_controls(transfer)
    if len(transfer.elements) > 1:
        options = [(element, element) for element in transfer.elements]
        controls.append(_select("element", options, transfer.element))
    return controls


def _address_controls(transfer: TensorMemoryTransfer) -> Iterator[dict[str, Any]]:
    lanes = [str(lane) for lane in transfer.first_lanes]
    if len(lanes) > 1:
        yield _select("lane", [(lane, lane) for lane in lanes], str(transfer.lane))
    yield _number("column", transfer.last_column(transfer.split), transfer.column)
    if transfer.ins.shape == "16x32bx2":
        half = transfer.ins.columns // 2
        split = half if transfer.split is None else transfer.split
        yield _number("split", transfer.tensor_columns - transfer.column - half, split)


def _select(name: str, options: list[tuple[str, str]], value: str) -> dict[str, Any]:
    label, hint = _CONTROLS[name]
    return {
        "name": name,
        "label": label,
        "hint": hint,
        "choices": [list(option) for option in options],
        "value": value,
    }


def _number(name: str, most: int, value: int) -> dict[str, Any]:
    label, hint = _CONTROLS[name]
    return {"name": name, "label": label, "hint": hint, "range": {"min": 0, "max": most}, "value": str(value)}


def _columns(transfer: TensorMemoryTransfer) -> str:
    first, count, split = transfer.column, transfer.ins.columns, transfer.split
    if split is not None:
        half = count // 2
        return f"columns {index_range(first, half)} and {index_range(first + split, half)}"
    return f"column{'' if count == 1 else 's'} {index_range(first, count)}"


def _summary(transfer: TransferDocument) -> str:
    if isinstance(transfer, MatrixTransfer):
        return _matrix_summary(transfer)
    assert isinstance(transfer, TensorMemoryTransfer)
    form, first = transfer.ins, transfer.lane
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


def _matrix_summary(transfer: MatrixTransfer) -> str:
    form = transfer.ins
    registers = f"{counted(form.register_operand.registers, 'register')} a lane"
    if not transfer.has_memory:
        return f"element [r][c] of the 8x8 matrix goes to [c][r]: {registers}"
    (rows, length), way = form.lines, "from registers" if transfer.stores else "to registers"
    if form.wmma:
        lines = "columns" if form.layout == "col" else "rows"
        return f"{rows} {lines} of {length} elements of {form.type}, {way}: {registers}"
    conflicts = transfer_conflicts(form, form.addresses(stride=transfer.stride))
    wavefronts = counted(int(conflicts.wavefronts), "wavefront")
    return f"{rows} rows of {form.row_bytes} bytes, row r at the address of lane r; {registers}; {wavefronts}"


def _target_lanes(transfer: CopyTransfer) -> str:
    if transfer.ins.shape == "4x256b":
        return "lanes 0, 32, 64 and 96"
    copies = {
        "warpx2::02_13": "lanes 0..63 and again to lanes 64..127",
        "warpx2::01_23": "lanes 0..31 and 64..95 and again to lanes 32..63 and 96..127",
        "warpx4": "the 32 lanes of each of four warps",
    }
    return copies.get(transfer.ins.multicast, "all 128 lanes")


def _note(transfer: TransferDocument) -> str:
    if not isinstance(transfer, TensorMemoryTransfer):
        return ""
    form = transfer.ins
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


def transfer_bytes(transfer: TransferDocument, name: str) -> dict[str, Any]:
    """The words of A, C or D and, for D, the words of A that each comes from."""
    if name not in transfer.names:
        return {}
    data = code_bytes(transfer.dtype(name), transfer.codes(name))
    if name == "D":
        data["counterpart"] = transfer.source_cells.tobytes()
    return data
