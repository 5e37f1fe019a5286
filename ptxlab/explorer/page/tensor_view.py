"""The view of tensor memory: the matrices of tcgen05.mma there, its descriptor, and a tcgen05.ld.

The instruction defines the layout of each matrix from its address on; which columns to allocate is the
kernel's choice. Here they are consecutive: D first, then A, metadata and scale factors. The page gets places;
it has the content of tensor memory from the matrices themselves.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import is_name
from ...errors import PtxlabError, counted, error_of, listing, quoted
from ...isa.catalog import tcgen05_transfers
from ...isa.instruction_descriptor import BitField, InstructionDescriptor
from ...isa.tcgen05 import TensorInstruction, TensorTransfer
from ...isa.tcgen05.tcgen05_transfer import LOAD_SHAPES
from ...isa.tensor_operand import COLUMNS, LANES
from ...views.labels import index_range
from ..cells.parse_cell import parse_descriptor_bits
from ..state import ExplorerState, LoadRequest

_ORDER = ("D", "A", "E", "SFA", "SFB")
_ALIGNMENT = 4  # columns: each matrix begins at a multiple
_MIN_COLUMNS = 32  # the least that tcgen05.alloc allocates
_MAX_DEFAULT_REGISTERS = 32  # of a thread that the default load fills


# -- where the matrices are ------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _first_columns(ins: TensorInstruction) -> Mapping[str, int]:
    """The column at which each matrix begins."""
    first: dict[str, int] = {}
    at = 0
    for name in (name for name in _ORDER if name in ins.tensors):
        first[name] = -(-at // _ALIGNMENT) * _ALIGNMENT
        at = first[name] + ins.tensors[name].columns
    return first


def _used_columns(ins: TensorInstruction) -> int:
    return max(first + ins.tensors[name].columns for name, first in _first_columns(ins).items())


def _allocated_columns(ins: TensorInstruction) -> int:
    """The columns that a kernel would allocate: a power of two."""
    return max(_MIN_COLUMNS, 1 << (_used_columns(ins) - 1).bit_length())


def tensor_info(ins: TensorInstruction) -> dict[str, Any]:
    """What the page draws of tensor memory: how large it is, and where each matrix is in it.

    The place of an element is the sum of three, for its copy, its row and its column; each is a lane and a
    bit along the lane.

    >>> import ptxlab
    >>> info = tensor_info(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32))
    >>> info["columns"], info["summary"]
    (32, 'layout F: D in 16 of every 32 lanes, 32 columns')
    """
    ctas = max(operand.ctas for operand in ins.tensors.values())
    return {
        "ctas": ctas,
        "lanes": LANES,
        "columns": _used_columns(ins),
        "allocated": _allocated_columns(ins),
        "path": ins.path.name,
        "summary": _summary(ins),
        "note": _note(ins),
        "places": {name: _place_info(ins, name) for name in _first_columns(ins)},
    }


def _place_info(ins: TensorInstruction, name: str) -> dict[str, Any]:
    operand = ins.tensors[name]
    (row, column), (rows, columns) = operand.start, operand.shape
    places = operand.layout.coords()[:, row : row + rows, column : column + columns]
    bits = places * (1, operand.width)
    origin = bits[0, 0, 0]
    first = _first_columns(ins)[name]
    return {
        "first": first,
        "columns": operand.columns,
        "width": operand.width,
        "copy": _packed_pairs(bits[:, 0, 0] + (0, 32 * first + operand.padding)),
        "row": _packed_pairs(bits[0, :, 0] - origin),
        "column": _packed_pairs(bits[0, 0, :] - origin),
        "source": operand.source,
        "text": f"{name}: {_column_words(first, operand.columns)}",
    }


def _packed_pairs(places: NDArray[np.int64]) -> bytes:
    return places.astype(np.int32).tobytes()


def _column_words(first: int, count: int) -> str:
    return f"column{'' if count == 1 else 's'} {index_range(first, count)}"


def _summary(ins: TensorInstruction) -> str:
    path, columns = ins.path, ins.d.columns
    if path.halves:
        lanes = "in 16 of every 32 lanes"
    elif path.wide > 1:
        lanes = f"in {path.wide} groups of {LANES // path.wide} lanes, each with a part of its columns"
    else:
        lanes = "row by row in 128 lanes"
    pair = " of both CTAs" if path.ctas == 2 else ""
    return f"layout {path.name}: D {lanes}{pair}, {columns} columns"


def _note(ins: TensorInstruction) -> str:
    used, allocated = _used_columns(ins), _allocated_columns(ins)
    return (
        f"{used} columns are used; tcgen05.alloc gives powers of two, here {allocated} of {COLUMNS}. "
        "The order of the matrices is a kernel's choice"
    )


# -- tcgen05.ld ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Load:
    """A tcgen05.ld that all four warps execute, and where it begins."""

    form: TensorTransfer
    lane: int
    column: int


@lru_cache(maxsize=64)
def find_load(ins: TensorInstruction, request: LoadRequest) -> Load:
    """The requested load; refused if it does not exist or does not fit."""
    if not is_name(request.shape, LOAD_SHAPES):
        raise PtxlabError(f"shape={quoted(request.shape)}: tcgen05.ld has {listing(LOAD_SHAPES)}")
    counts = _counts(request.shape, request.pack)
    columns = _allocated_columns(ins)
    count = request.count
    if count is None:
        fitting = [times for times, form in counts.items() if _fits(form, request.column, _used_columns(ins))]
        count = max(
            (times for times in fitting if counts[times].registers <= _MAX_DEFAULT_REGISTERS), default=1
        )
    if count not in counts:
        raise PtxlabError(f"x{quoted(count)}: {request.shape} is loaded {listing(counts, 8)} times")
    form = counts[count]
    if request.lane not in _lanes(request.shape):
        raise PtxlabError(
            f"lane={quoted(request.lane)}: {request.shape} begins in lane "
            f"{' or '.join(map(str, _lanes(request.shape)))} of each warp's 32"
        )
    if form.columns > columns:
        raise PtxlabError(f"x{count}: {form.mnemonic} reads {form.columns} columns; {columns} are allocated")
    if not _fits(form, request.column, columns):
        raise PtxlabError(
            f"column={quoted(request.column)}: {form.mnemonic} reads {form.columns} columns; "
            f"{columns} are allocated, so it begins in column 0 to {columns - form.columns}"
        )
    return Load(form, request.lane, request.column)


def _fits(form: TensorTransfer, column: int, allocated: int) -> bool:
    return 0 <= column <= allocated - form.columns


def _lanes(shape: str) -> tuple[int, ...]:
    return (0,) if shape == "32x32b" else (0, 16)


@lru_cache(maxsize=16)
def _counts(shape: str, pack: bool) -> Mapping[int, TensorTransfer]:
    """The plain loads of a shape, by their .num."""
    return {
        form.count: form
        for form in tcgen05_transfers("tcgen05.ld")
        if form.shape == shape and form.pack == pack and not (form.reduction or form.compresses)
    }


def thread_of(state: ExplorerState, name: str, row: int, column: int) -> int | None:
    """The thread that the load gives a cell of C or D; None if the load does not read it.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", n=16))
    >>> thread_of(state, "D", 37, 3)
    37
    """
    ins = state.ins
    if ins.d.space != "tensor" or name not in ("C", "D"):
        return None
    slot = slot_of(ins, find_load(ins, state.load), row, column)
    return slot[0] if slot else None


def slot_of(ins: TensorInstruction, load: Load, row: int, column: int) -> tuple[int, int] | None:
    """The thread and register that a load gives an element of D, or None."""
    place = ins.d.where(row, column)[0]
    slots = load.form.slots(place.lane, place.column, load.lane << 16 | load.column)
    return (LANES * place.cta + slots[0].thread, slots[0].register) if slots else None


def load_data(ins: TensorInstruction, load: Load) -> dict[str, Any]:
    """What the page draws: the lane and column of tensor memory that each register of a warp comes from.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", n=16)
    >>> data = load_data(ins, find_load(ins, LoadRequest()))
    >>> data["mnemonic"], data["registers"]
    ('tcgen05.ld.sync.aligned.32x32b.x16.b32', 16)
    """
    form, allocated = load.form, _allocated_columns(ins)
    coords = form.layout.coords() + np.array((load.lane, load.column))
    return {
        "mnemonic": form.mnemonic,
        "shape": form.shape,
        "count": form.count,
        "lane": load.lane,
        "column": load.column,
        "pack": form.pack,
        "registers": form.registers,
        "parts": 2 if form.pack else 1,  # columns that a register holds
        "lanes": coords[..., 0].astype(np.int16).tobytes(),
        "columns": coords[..., 1].astype(np.int16).tobytes(),
        "summary": _load_summary(load),
        "controls": _load_controls(load, allocated),
    }


def _load_controls(load: Load, allocated: int) -> list[dict[str, Any]]:
    form = load.form
    too_many = f"{allocated} columns are allocated"
    shapes = [[f".{shape}", shape, _why_no_shape(shape, load, allocated)] for shape in LOAD_SHAPES]
    counts = [
        [f".x{count}", count, "" if candidate.columns <= allocated else too_many]
        for count, candidate in _counts(form.shape, form.pack).items()
    ]
    lanes = [[f"lane {lane}", lane] for lane in _lanes(form.shape)]
    controls: list[dict[str, Any]] = [
        {"name": "shape", "hint": "shape of the load", "choices": shapes, "value": form.shape},
        {"name": "count", "hint": "number of repetitions", "choices": counts, "value": form.count},
    ]
    if len(lanes) > 1:
        hint = "first of each warp's 32 lanes"
        controls.append({"name": "lane", "hint": hint, "choices": lanes, "value": load.lane})
    columns = {"min": 0, "max": allocated - form.columns, "step": 1}
    first = {"name": "column", "label": "column", "hint": "first column", "range": columns}
    return [*controls, {**first, "value": load.column}]


def _why_no_shape(shape: str, load: Load, allocated: int) -> str:
    least = min(_counts(shape, load.form.pack).values(), key=lambda form: form.columns, default=None)
    if least is None:
        return "it has no .pack::16b"
    return "" if least.columns <= allocated else f"{allocated} columns are allocated"


def _load_summary(load: Load) -> str:
    form = load.form
    lanes = 32 if form.shape == "32x32b" else 16
    registers = counted(form.registers, "register")
    where = "32 lanes" if lanes == 32 else f"lanes {load.lane} to {load.lane + 15} of its 32"
    return f"each warp reads {where}, {_column_words(load.column, form.columns)}: {registers} a thread"


# -- the instruction descriptor --------------------------------------------------------------------------

#: The meaning of each field of the instruction descriptor, without a full stop.
FIELD_MEANINGS = {
    "selector": "Sparsity selector: which of four columns of metadata is read",
    "sparse": "Whether A is sparse: the mnemonic says so, too",
    "saturate": "Whether integer sums stop at the largest and the smallest s32",
    "d": "Type of D, and of the accumulator that it adds to",
    "a": "Type of A",
    "b": "Type of B",
    "negate_a": "Whether A is negated",
    "negate_b": "Whether B is negated",
    "transpose_a": "Whether A lies in shared memory with m, not k, contiguous",
    "transpose_b": "Whether B lies in shared memory with n, not k, contiguous",
    "n": "Columns of B and D, in eights",
    "m": "Rows of A and D",
    "k": "Which of the depths of its kind K is",
    "k_high": "The upper bit of which depth K is",
    "max_shift": "Columns by which .ws may shift B",
    "scale_a_id": "Which byte of a word of scale factors is the first that A uses",
    "scale_b_id": "Which byte of a word of scale factors is the first that B uses",
    "scale": "Type of the scale factors",
    "scale_a_lanes": "Lanes from which the scale factors of A are read",
    "sparsity_version": "Version of 4-bit sparsity: 1 for sm_107a",
}
_FLAGS = ("sparse", "saturate", "negate_a", "negate_b", "transpose_a", "transpose_b")


def instruction_descriptor_info(ins: TensorInstruction) -> dict[str, Any]:
    """The instruction descriptor for the page: its bits, and its fields with their choices.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=24)
    >>> info = instruction_descriptor_info(ins)
    >>> info["hex"], [field["text"] for field in info["fields"] if field["name"] in ("n", "d")]
    ('0x04060010', ['f32', '24'])
    """
    descriptor = ins.descriptor
    return {
        "hex": f"0x{descriptor.code:08x}",
        "sentence": str(descriptor),
        # bit 29 of kind::f16 and its like is reserved: only where K can differ does a bit state it
        "fields": [
            _field_info(ins, field)
            for field in descriptor.bit_fields
            if field.name != "k" or len(descriptor.depths) > 1
        ],
    }


def _field_info(ins: TensorInstruction, field: BitField) -> dict[str, Any]:
    choices = _choices(ins.descriptor, field)
    return {
        "name": field.name,
        "low": field.low,
        "bits": field.bits,
        "code": field.code,
        "text": field_text(field.value),
        "meaning": FIELD_MEANINGS[field.name],
        "choices": [[text, _obstacle(ins, field, text)] for text in choices],
        # m and n are typed: they have many values, and a refusal says which are legal
        "typed": field.name in ("m", "n"),
    }


def field_of(descriptor: InstructionDescriptor, name: str) -> BitField:
    """The field of that name, or a refusal."""
    fields = {field.name: field for field in descriptor.bit_fields}
    if not is_name(name, fields):
        raise PtxlabError(
            f"the descriptor of kind::{descriptor.kind} has no field {quoted(name)}; it has "
            f"{listing(fields, 20)}"
        )
    return fields[name]


def field_text(value: object) -> str:
    """The value of a field as typed; flags are 0 and 1."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _choices(descriptor: InstructionDescriptor, field: BitField) -> list[str]:
    named = descriptor.traits.codes
    numbers: dict[str, tuple[int, ...]] = {
        "k": descriptor.depths,
        "k_high": descriptor.depths,
        "max_shift": (0, 8, 16, 32),
        "scale_a_lanes": (32, 128),
        "m": (),
        "n": (),
    }
    if field.name in named:
        return list(named[field.name])
    return [str(value) for value in numbers.get(field.name, tuple(range(1 << field.bits)))]


def _obstacle(ins: TensorInstruction, field: BitField, text: str) -> str:
    """Why a field cannot have a value, or ""."""
    return error_of(parse_field, ins, field.name, text).removeprefix(f"{ins.mnemonic}: ")


def parse_field(ins: TensorInstruction, name: str, text: str) -> TensorInstruction:
    """The instruction with a field of its descriptor set to a typed value.

    >>> import ptxlab
    >>> parse_field(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16"), "n", "24").shape
    'm128n24k16'
    """
    field_of(ins.descriptor, name)
    word = text.strip().lower()
    if name == "sparse":
        if word in ("0", "1") and bool(int(word)) != ins.sparse:
            raise PtxlabError(
                f"sparse is {int(ins.sparse)}: {ins.family} says so; choose another instruction"
            )
        return ins
    part = "k" if name == "k_high" else name
    if name in ("a", "b", "d", "scale"):
        return ins.with_descriptor(None, **{part: word})
    try:
        number = int(word, 0)
    except ValueError:
        raise PtxlabError(
            f"{name} of the descriptor: found {quoted(text)}; it takes a whole number"
        ) from None
    if name in _FLAGS and number not in (0, 1):
        raise PtxlabError(f"{name} of the descriptor: found {quoted(text)}; it takes 0 or 1")
    return ins.with_descriptor(None, **{part: bool(number) if name in _FLAGS else number})


def keep_descriptor(old: TensorInstruction, new: TensorInstruction) -> TensorInstruction:
    """The new mnemonic with as much of the old shape and types as it takes.

    >>> import ptxlab
    >>> small = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=24)
    >>> keep_descriptor(small, ptxlab.instruction("tcgen05.mma.cta_group::1.kind::tf32")).shape
    'm64n24k8'
    """
    for name in ("m", "n", "a", "b", "d"):
        with contextlib.suppress(PtxlabError):
            new = new.with_descriptor(None, **{name: getattr(old.descriptor, name)})
    return new


def parse_descriptor(ins: TensorInstruction, text: str) -> TensorInstruction:
    """The instruction with a descriptor typed as 32 bits in hexadecimal.

    >>> import ptxlab
    >>> parse_descriptor(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16"), "0x4060010").shape
    'm64n24k16'
    """
    return ins.with_descriptor(parse_descriptor_bits(text, "the descriptor", 32, ins.descriptor.code))
