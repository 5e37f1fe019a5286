"""TMA: boxes of tensor maps between an array and shared memory, and tensor maps in the memory of a kernel.

A map is opaque to programs: 128 bytes that they copy, and that `tensormap.replace` changes. Here these bytes
hold the number of the launch's map and every field that may be replaced. A kernel may also begin with 128
zero bytes and replace all fields. PTX ISA, "tensormap.replace", "tensormap.cp_fenceproxy".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.typing import NDArray

from ...errors import PtxlabError, listing
from ...memory import Im2colMap, TensorMap, tensor_map
from ...memory.swizzle import swizzled
from ...memory.tensor_maps import FILLS, INTERLEAVES, MAX_AXES, as_stored, converted, places_of
from ..device_memory import CHUNK, RANK_SHIFT, Memory, cluster_places, rounds
from ..launch_threads import UNSIGNED, Threads
from ..machine import Frame, Launch, Machine, MachineStep
from ..ptx.syntax import Immediate, PtxInstruction
from .builders import Context, builds, unsupported
from .loads import combination, space_of
from .operands import address, reader

_TYPES = {
    "UINT8": "u32", "UINT16": "u32", "UINT32": "u32", "INT32": "s32", "UINT64": "u64", "INT64": "s64",
    "FLOAT16": "f16", "BFLOAT16": "bf16", "FLOAT32": "f32", "FLOAT64": "f64",
}  # fmt: skip
#: Reductions of an H200 by the type of the map's elements; all others are an illegal instruction there.
_REDUCTIONS = {
    "UINT32": ("add", "min", "max", "inc", "dec", "and", "or", "xor"),
    "INT32": ("add", "min", "max", "and", "or", "xor"),
    "UINT64": ("add", "min", "max", "and", "or", "xor"),
    "INT64": ("min", "max"),
    "FLOAT16": ("add", "min", "max"),
    "BFLOAT16": ("add", "min", "max"),
    "FLOAT32": ("add",),
    "FLOAT64": ("add",),
}


@dataclass(frozen=True)
class Boxes:
    """Boxes that threads copy, one each: tensor map, start in its array, address in shared memory.

    `starts` [boxes, axes] are in the array's order of axes, after the offsets of im2col; `addresses` are
    those of the instruction. With `rows`, a start consists of that many rows, the last one first, and a
    column.
    """

    tensors: Sequence[TensorMap]
    which: NDArray[np.intp]
    starts: NDArray[np.int64]
    addresses: NDArray[np.int64]
    rows: int = 0

    def select(self, index: NDArray[np.intp]) -> Boxes:
        """The boxes at these positions; a position may occur several times."""
        return replace(
            self, which=self.which[index], starts=self.starts[index], addresses=self.addresses[index]
        )

    @property
    def inside(self) -> NDArray[np.int64]:
        """The addresses within their blocks."""
        return self.addresses & (1 << RANK_SHIFT) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Bytes of shared memory of each."""
        sizes = [tensor.size * max(self.rows, 1) for tensor in self.tensors]
        return np.array(sizes, dtype=np.int64)[self.which]

    def reach_outside(self) -> NDArray[np.bool_]:
        """Which boxes reach beyond the last element along an axis of their array."""
        outside = np.zeros(len(self.which), dtype=np.bool_)
        for number, tensor in enumerate(self.tensors):
            if not self.rows and not isinstance(tensor, Im2colMap):
                last_starts = np.array(tensor.array.shape) - np.array(tensor.box)
                outside |= (self.which == number) & (self.starts > last_starts).any(axis=1)
        return outside

    def check(self) -> None:
        """Refuse boxes with a start or an address that TMA does not allow."""
        for number, tensor in enumerate(self.tensors):
            of_tensor = self.which == number
            starts = self.starts[of_tensor]
            wrong = np.flatnonzero(starts[:, -1] % tensor.start_unit)
            for row in (0, *wrong[:1].tolist()):
                tensor.check_start(tuple(starts[row, -2 if self.rows else 0 :].tolist()))
            for place in np.unique(self.inside[of_tensor]).tolist():
                tensor.as_address(place)

    def groups(self, threads: Threads) -> Iterator[NDArray[np.intp]]:
        """Positions of boxes that form one access: boxes of one size in different blocks."""
        blocks, _ = cluster_places(self.addresses, threads.blocks, threads.batch.grid.cluster_size)
        sizes = self.sizes
        for positions in rounds(blocks):
            for size in np.unique(sizes[positions]):
                yield positions[sizes[positions] == size]

    def placed(
        self, memory: Memory, instruction: PtxInstruction, threads: Threads, kind: str
    ) -> Iterator[_PlacedBoxes]:
        """The boxes grouped by access and tensor map, with their places in shared memory."""
        for group in self.groups(threads):
            boxes = self.select(group)
            copying = Threads.listed(threads.batch, threads.indices[group])
            addresses = boxes.addresses if kind == "write" else boxes.inside  # a block reads its own
            size = int(boxes.sizes[0])
            places = memory.shared_offsets(instruction, copying, addresses, size, kind, alignment=128)
            for number in np.unique(boxes.which).tolist():
                chosen = np.flatnonzero(boxes.which == number)
                yield _PlacedBoxes(
                    boxes.tensors[number], boxes.starts[chosen], boxes.inside[chosen], places[chosen]
                )


@dataclass(frozen=True)
class _PlacedBoxes:
    """Boxes of one tensor map, and where they are in shared memory."""

    tensor: TensorMap
    starts: NDArray[np.int64]  # [boxes, axes]
    addresses: NDArray[np.int64]  # within their blocks
    places: NDArray[np.int64]  # in the shared memory of all blocks

    def __iter__(self) -> Iterator[tuple[list[int], int, int]]:
        return zip(self.starts.tolist(), self.addresses.tolist(), self.places.tolist(), strict=True)


def _notify(
    memory: Memory,
    instruction: PtxInstruction,
    tensor: TensorMap,
    starts: NDArray[np.int64],
    kind: str,
    rows: int,
) -> None:
    """Tell the observers of every box; each gathered row is one."""
    memory.writes += kind == "write"
    if rows:
        starts = np.stack([starts[:, :-1].reshape(-1), np.repeat(starts[:, -1], rows)], axis=-1)
    for observer in memory.observers:
        observer.copied(instruction, tensor, starts, kind)


def _row_places(tensor: TensorMap, row: int, address: int) -> NDArray[np.int64]:
    """Offsets of the bytes of the `row`th gathered row or pixel from the address."""
    row_bytes = tensor.expect_tx // tensor.copied[0]
    return places_of(tensor, row * tensor.pitch + np.arange(row_bytes), address)


# -- loads ---------------------------------------------------------------------------------------------------


def load_boxes(memory: Memory, instruction: PtxInstruction, threads: Threads, boxes: Boxes) -> None:
    """Copy a box for each thread into shared memory."""
    boxes.check()
    for placed in boxes.placed(memory, instruction, threads, "write"):
        if boxes.rows:
            _load_rows(memory, placed)
        else:
            _load(memory, placed)
        _notify(memory, instruction, placed.tensor, placed.starts, "read", boxes.rows)


def _load_rows(memory: Memory, boxes: _PlacedBoxes) -> None:
    """`tile::gather4`: four arbitrary rows of an array as one box of four rows."""
    tensor = boxes.tensor
    for (*rows, column), within_block, place in boxes:
        for number, row in enumerate(reversed(rows)):
            content = tensor.load(row, column)[: tensor.expect_tx]  # a single row is not swizzled
            memory.shared[place + _row_places(tensor, number, within_block)] = content


def _load(memory: Memory, boxes: _PlacedBoxes) -> None:
    """Boxes of an array, or columns of pixels; elements outside of the array get the fill value."""
    tensor, starts, places = boxes.tensor, boxes.starts, boxes.places
    plain = _are_plain(tensor, starts)
    for number in np.flatnonzero(~plain).tolist():
        content, written = tensor.image(*starts[number].tolist(), address=int(boxes.addresses[number]))
        memory.shared[places[number] + np.flatnonzero(written)] = content[written]
    for chosen, offsets in _by_offsets(tensor, boxes.addresses, plain):
        windows, index = _windows(tensor, starts[chosen])
        elements = windows[index].reshape(len(chosen), -1).view(tensor.array.dtype)
        chunks = converted(tensor.data_type, elements).view(CHUNK)
        memory.shared.view(CHUNK)[(places[chosen] >> 4)[:, None] + offsets] = chunks


# -- whole boxes in chunks of 16 bytes -----------------------------------------------------------------------


def _are_plain(tensor: TensorMap, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which boxes lie inside of a NumPy array and can be copied in chunks of 16 bytes."""
    if isinstance(tensor, Im2colMap):
        return np.zeros(len(starts), dtype=np.bool_)
    plain = (
        isinstance(tensor.array, np.ndarray)
        and (tensor.data_type in _TYPES or tensor.data_type.startswith("TFLOAT32"))
        and not tensor.interleave
        and isinstance(tensor.swizzle_mode, int)
        and set(tensor.element_strides) == {1}
    )
    ends = starts + np.array(tensor.box)
    return np.asarray(plain & ((starts >= 0) & (ends <= np.array(tensor.shape))).all(axis=1))


def _windows(
    tensor: TensorMap, starts: NDArray[np.int64]
) -> tuple[NDArray[Any], tuple[NDArray[np.int64], ...]]:
    """All boxes of an array as a view in chunks of 16 bytes, and the index of those with these starts."""
    per_chunk = CHUNK.itemsize // tensor.array.itemsize
    *outer, last = tensor.box
    length = tensor.array.shape[-1] // per_chunk * per_chunk
    chunks = tensor.array[..., :length].view(CHUNK)
    windows = sliding_window_view(chunks, (*outer, last // per_chunk), writeable=tensor.array.flags.writeable)
    return windows, (*starts[:, :-1].T, starts[:, -1] // per_chunk)


def _by_offsets(
    tensor: TensorMap, inside: NDArray[np.int64], plain: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.int64]]]:
    """Plain boxes grouped by the offsets of their chunks, since the swizzle depends on the address."""
    row_bytes = tensor.box[-1] * tensor.array.itemsize
    rows = math.prod(tensor.box[:-1])
    for start in np.unique(inside[plain] % 1024).tolist():
        chosen = np.flatnonzero(plain & (inside % 1024 == start))
        yield chosen, _chunks(rows, row_bytes, tensor.pitch, tensor.swizzle, start)


@lru_cache(maxsize=256)
def _chunks(rows: int, row_bytes: int, pitch: int, swizzle: int, address: int) -> NDArray[np.int64]:
    """Offsets of the chunks of a box from its start, in chunks of 16 bytes."""
    plain = (np.arange(rows)[:, None] * pitch + np.arange(0, row_bytes, 16)).reshape(-1)
    return (swizzled(plain + address, swizzle) - address) >> 4


# -- stores --------------------------------------------------------------------------------------------------


def store_boxes(
    memory: Memory, instruction: PtxInstruction, threads: Threads, boxes: Boxes, reduction: str
) -> None:
    """Copy each thread's box from shared memory into its array; elements outside of it are left out."""
    _check_stores(boxes)
    boxes.check()
    outside = boxes.reach_outside()
    for box in np.flatnonzero(outside).tolist():
        thread = Threads.listed(threads.batch, threads.indices[box : box + 1])
        _store_part(memory, instruction, thread, boxes.select(np.array([box])), reduction)
    whole = np.flatnonzero(~outside)
    boxes, threads = boxes.select(whole), Threads.listed(threads.batch, threads.indices[whole])
    for placed in boxes.placed(memory, instruction, threads, "read"):
        if boxes.rows or isinstance(placed.tensor, Im2colMap):
            _store_rows(memory, placed)
        else:
            _store(memory, instruction, placed, reduction)
        _notify(memory, instruction, placed.tensor, placed.starts, "write", boxes.rows)


def _check_stores(boxes: Boxes) -> None:
    """Refuse stores that an H200 does not execute."""
    for number, tensor in enumerate(boxes.tensors):
        if not tensor.array.flags.writeable:
            raise PtxlabError("the array of the tensor map is read-only")
        if isinstance(tensor, Im2colMap) and (min(tensor.lower) < 0 or max(tensor.upper) > 0):
            raise PtxlabError(
                f"the bounding box from {tensor.lower} to {tensor.upper} is larger than the array: a store "
                "into it is an illegal instruction on an H200, while a load is not"
            )
        if boxes.rows or isinstance(tensor, Im2colMap):
            continue
        starts = boxes.starts[boxes.which == number]
        before = starts[starts.min(axis=1) < 0]
        if len(before):
            raise PtxlabError(
                f"the box starts at {tuple(before[0].tolist())}: a store that begins before the array is an "
                "illegal instruction on an H200, while a load is not"
            )


def _store_rows(memory: Memory, boxes: _PlacedBoxes) -> None:
    """Store the rows of `tile::scatter4`, or columns of pixels; those outside of the array are left out."""
    tensor = boxes.tensor
    unsigned = UNSIGNED[8 * tensor.array.itemsize]
    view: NDArray[Any] = tensor.array.view(unsigned)
    for start, within_block, place in boxes:
        along = start[-1] + np.arange(tensor.box[-1])
        within = (along >= 0) & (along < tensor.array.shape[-1])
        if isinstance(tensor, Im2colMap):
            rows, inside = tensor.pixels(tuple(start))
        else:
            rows = np.array(start[-2::-1])[:, None]
            inside = ((rows >= 0) & (rows < tensor.array.shape[0]))[:, 0]
        for number in np.flatnonzero(inside).tolist():
            content = memory.shared[place + _row_places(tensor, number, within_block)]
            view[(*rows[number], along[within])] = content.view(unsigned)[within]


def _store(memory: Memory, instruction: PtxInstruction, boxes: _PlacedBoxes, reduction: str) -> None:
    """Store boxes that lie inside of an array, or reduce them into it."""
    tensor, starts, places = boxes.tensor, boxes.starts, boxes.places
    plain = _are_plain(tensor, starts) & (not reduction)
    for box in np.flatnonzero(~plain).tolist():
        index, offsets = elements_inside(tensor, starts[box].tolist(), int(boxes.addresses[box]))
        _store_elements(memory, instruction, tensor, index, places[box] + offsets, reduction)
    for chosen, offsets in _by_offsets(tensor, boxes.addresses, plain):
        chunks = memory.shared.view(CHUNK)[(places[chosen] >> 4)[:, None] + offsets]
        windows, index = _windows(tensor, starts[chosen])
        windows[index] = chunks.reshape(len(chosen), *windows.shape[tensor.axes :])


def _store_part(
    memory: Memory, instruction: PtxInstruction, thread: Threads, box: Boxes, reduction: str
) -> None:
    """A box that reaches beyond its array: the rest of it is not even read from shared memory."""
    tensor, address = box.tensors[int(box.which[0])], int(box.inside[0])
    index, offsets = elements_inside(tensor, box.starts[0].tolist(), address)
    if not offsets.size:
        return
    readers = Threads.listed(thread.batch, np.repeat(thread.indices, offsets.size))
    addresses = address + offsets.reshape(-1)
    places = memory.shared_offsets(instruction, readers, addresses, tensor.array.itemsize, "read")
    _store_elements(memory, instruction, tensor, index, places.reshape(offsets.shape), reduction)
    _notify(memory, instruction, tensor, box.starts, "write", 0)


def elements_inside(
    tensor: TensorMap, start: list[int], address: int
) -> tuple[tuple[NDArray[Any], ...], NDArray[np.int64]]:
    """The index of the elements of a box inside of its array, and their offsets in shared memory."""
    positions, chosen = [], []
    for first, count, step, length in zip(
        start, tensor.copied, tensor.element_strides, tensor.array.shape, strict=True
    ):
        along = first + np.arange(count) * step
        within = (along >= 0) & (along < length)
        positions.append(along[within])
        chosen.append(np.flatnonzero(within))
    return np.ix_(*positions), tensor.offset(*np.ix_(*chosen), address=address)


def _store_elements(
    memory: Memory,
    instruction: PtxInstruction,
    tensor: TensorMap,
    index: tuple[NDArray[Any], ...],
    places: NDArray[np.int64],
    reduction: str,
) -> None:
    """Store elements from these places in shared memory into an array."""
    unsigned = UNSIGNED[8 * tensor.array.itemsize]
    content = memory.shared[places.reshape(-1, 1) + np.arange(tensor.array.itemsize)]
    values = np.ascontiguousarray(content).view(unsigned).reshape(places.shape)
    view: NDArray[Any] = tensor.array.view(unsigned)
    if reduction:
        values = _reduced(instruction, tensor, reduction, view[index], values)
    view[index] = values


def _reduced(
    instruction: PtxInstruction, tensor: TensorMap, reduction: str, old: NDArray[Any], values: NDArray[Any]
) -> NDArray[Any]:
    if reduction not in _REDUCTIONS.get(tensor.data_type, ()):
        types = [operand_type for operand_type, reductions in _REDUCTIONS.items() if reduction in reductions]
        raise PtxlabError(
            f"{instruction.where}: {instruction.opcode} is an illegal instruction with elements of type "
            f"{tensor.data_type}; .{reduction} takes {listing(types, 8)}"
        )
    combine = combination(instruction, reduction, _TYPES[tensor.data_type], "shared")  # without flushing
    return combine(old, values)


# -- tensor maps in the memory of a kernel, and the instructions that change them there ----------------------

MAP_BYTES = 128


class _MapField(NamedTuple):
    """Where a field is: the 64-bit word, and the first bit in it, for each axis.

    Stored is its value in units, plus `bias`: with a bias of 1, a field that was not set differs from 0.
    """

    bits: int
    places: tuple[tuple[int, int], ...]
    unit: int = 1
    bias: int = 0


#: A map uses 64 bytes, as the driver's does: CuTe DSL copies no more. Axes are in the driver's order; an
#: address of 0 means that of the launch's array.
_USED_BYTES = 64
_FIELDS = {
    "global_address": _MapField(64, ((0, 0),)),
    "global_dim": _MapField(32, ((1, 0), (1, 32), (2, 0), (2, 32), (3, 0))),
    "number": _MapField(32, ((3, 32),)),  # of the launch's map, from 1 on; 0 if the kernel began with zeros
    "global_stride": _MapField(36, ((4, 0), (5, 0), (6, 0), (7, 0)), unit=16),
    "box_dim": _MapField(9, ((4, 36), (4, 45), (4, 54), (5, 36), (5, 45))),
    "rank": _MapField(3, ((5, 54),), bias=1),
    "elemtype": _MapField(5, ((5, 57),), bias=1),
    "element_stride": _MapField(4, ((6, 36), (6, 40), (6, 44), (6, 48), (6, 52))),
    "swizzle_mode": _MapField(2, ((6, 56),)),
    "swizzle_atomicity": _MapField(2, ((6, 58),)),
    "fill_mode": _MapField(1, ((6, 60),)),
    "interleave_layout": _MapField(2, ((6, 61),)),
    "magic": _MapField(28, ((7, 36),)),
}
_MAGIC = 0x7A3B10C  # marks maps that come from the launch

# The values that the numbers in fields stand for (PTX ISA, "tensormap.replace").
_ELEMENTS = (
    "UINT8", "UINT16", "UINT32", "INT32", "UINT64", "INT64", "FLOAT16", "FLOAT32", "FLOAT32_FTZ", "FLOAT64",
    "BFLOAT16", "TFLOAT32", "TFLOAT32_FTZ", "16U4_ALIGN8B", "16U4_ALIGN16B", "16U6_ALIGN16B",
)  # fmt: skip
_WIDTHS = (0, 32, 64, 128)
_ATOMS = ("", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B")
_LIMITS = {
    "elemtype": len(_ELEMENTS), "interleave_layout": len(INTERLEAVES), "swizzle_mode": len(_WIDTHS),
    "swizzle_atomicity": len(_ATOMS), "fill_mode": len(FILLS), "rank": MAX_AXES,
    "box_dim": 257, "element_stride": 9, "global_stride": 1 << 40,
}  # fmt: skip


def encoded(tensor: TensorMap, number: int) -> bytes:
    """The bytes of map number `number` of the launch, counted from 1."""
    values: dict[str, Sequence[int]] = {
        "magic": [_MAGIC],
        "number": [number],
        "rank": [tensor.rank - 1],
        "global_dim": [size & 0xFFFFFFFF for size in tensor.dimensions],
        "global_stride": tensor.strides,
        "box_dim": (1,) * tensor.rank if isinstance(tensor, Im2colMap) else tensor.box_dimensions,
        "element_stride": tensor.element_stride_dimensions,
        "elemtype": [_ELEMENTS.index(tensor.data_type)],
        "interleave_layout": [INTERLEAVES.index(tensor.interleave)],
        "swizzle_mode": [_WIDTHS.index(tensor.swizzle)],
        "fill_mode": [FILLS.index(tensor.fill)],
    }
    if isinstance(tensor.swizzle_mode, str):
        values["swizzle_atomicity"] = [_ATOMS.index(tensor.swizzle_mode)]
    words = [0] * (_USED_BYTES // 8)
    for name, numbers in values.items():
        field = _FIELDS[name]
        for (word, bit), value in zip(field.places, numbers, strict=False):
            words[word] |= value // field.unit + field.bias << bit
    return np.array(words, dtype=np.uint64).tobytes().ljust(MAP_BYTES, b"\0")


def _fields(content: bytes) -> dict[str, list[int]]:
    """The fields of a map, one number for each axis."""
    words = np.frombuffer(content, dtype=np.uint64).tolist()
    return {
        name: [
            ((words[word] >> bit & (1 << field.bits) - 1) - field.bias) * field.unit
            for word, bit in field.places
        ]
        for name, field in _FIELDS.items()
    }


def map_at(launch: Launch, place: int) -> TensorMap:
    """The tensor map whose bytes are at an address."""
    content = launch.memory.bytes_at(place, MAP_BYTES)
    key = b"" if content is None else content[:_USED_BYTES].tobytes()
    tensor = launch.maps_by_content.get(key)
    if tensor is not None:
        return tensor
    fields = _fields(key) if any(key) else None
    if fields is None or fields["magic"][0] not in (0, _MAGIC):
        remedy = "pass ptxlab.tensor_map(...) as an argument"
        if launch.memory.is_parameter(place):
            remedy = "cvta.param makes a generic address of that of a parameter"
        raise PtxlabError(f"there is no tensor map at 0x{place:x}; {remedy}")
    launch.maps_by_content[key] = tensor = _decoded(launch, key, fields)
    return tensor


def _decoded(launch: Launch, content: bytes, fields: dict[str, list[int]]) -> TensorMap:
    """A map as the kernel has changed it, or one of the launch's if it has not."""
    number, rank = fields["number"][0], fields["rank"][0] + 1
    original = None
    if not fields["magic"][0]:
        _check_complete(fields)
    elif number > len(launch.tensor_maps):
        raise PtxlabError("the tensor map is one of another launch: pass it to this one, too")
    else:
        original = launch.tensor_maps[number - 1]
        if content == encoded(original, number)[:_USED_BYTES]:
            return original
    interleaved = fields["interleave_layout"][0] or (original is not None and original.interleave)
    if interleaved or isinstance(original, Im2colMap):
        raise PtxlabError("tensormap.replace of a map for im2col or interleaved layouts is not simulated yet")
    name = _ELEMENTS[fields["elemtype"][0]]
    kind, shape = as_stored(name, tuple(fields["global_dim"][:rank])[::-1])
    strides = (*fields["global_stride"][: rank - 1][::-1], kind.itemsize)
    data, writable = _memory_from(launch.memory, fields["global_address"][0], original)
    extent = 1 + sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) + kind.itemsize - 1
    if 0 in shape or extent > data.size:
        raise PtxlabError(
            f"the tensor map describes {math.prod(shape)} elements, {extent} bytes from its address on, and "
            f"the memory ends after {data.size}"
        )
    whole = data[: data.size // kind.itemsize * kind.itemsize].view(kind)
    array = as_strided(whole, shape, strides, writeable=writable)
    swizzle: int | str = _WIDTHS[fields["swizzle_mode"][0]]
    if fields["swizzle_atomicity"][0]:
        swizzle = _ATOMS[fields["swizzle_atomicity"][0]]
    changed = tensor_map(
        array,
        tuple(fields["box_dim"][:rank])[::-1],
        swizzle,
        element_strides=tuple(fields["element_stride"][:rank])[::-1],
        fill=FILLS[fields["fill_mode"][0]],
        data_type=name,
    )
    launch.tensor_maps.append(changed)
    return changed


def _check_complete(fields: dict[str, list[int]]) -> None:
    """Refuse a map that began with zeros and lacks a field that has no default."""
    missing = [name for name in ("rank", "elemtype") if fields[name][0] < 0]
    if not fields["global_address"][0]:
        missing.append("global_address")
    rank = fields["rank"][0] + 1 or np.count_nonzero(fields["box_dim"])
    axes = {"global_dim": rank, "global_stride": rank - 1, "box_dim": rank, "element_stride": rank}
    for name, count in axes.items():
        missing += [f"{name} {axis}" for axis, value in enumerate(fields[name][:count]) if not value]
    if missing:
        raise PtxlabError(
            f"the tensor map that the kernel made of zeros lacks {listing(missing, 20)}: tensormap.replace "
            f"sets {'it' if len(missing) == 1 else 'them'}"
        )


def _memory_from(memory: Memory, place: int, original: TensorMap | None) -> tuple[NDArray[np.uint8], bool]:
    """The bytes from an address on, or those of the original map's array; and whether they are writable."""
    if original is not None and not place:
        array = original.array
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            raise PtxlabError(
                "tensormap.replace of a map whose array is not contiguous: replace its global_address, too"
            )
        return array.reshape(-1).view(np.uint8), bool(array.flags.writeable)
    buffer = memory.buffer_at(place)
    if buffer is None:
        raise PtxlabError(f"the tensor map has the global_address 0x{place:x}, where there is no memory")
    if place % 16:
        raise PtxlabError(f"the tensor map has the global_address 0x{place:x}; TMA takes multiples of 16")
    return buffer.data[place - buffer.start :], buffer.writable


# -- instructions --------------------------------------------------------------------------------------------


@builds("tensormap.replace")
def _replace(instruction: PtxInstruction, context: Context) -> MachineStep:
    """tensormap.replace: writes one field of a tensor map in memory."""
    target, *numbers = instruction.operands
    name = next((part for part in instruction.parts if part in _FIELDS), "")
    if not name:
        raise unsupported(instruction)
    field, axis = _FIELDS[name], 0
    count = len(field.places)
    if count > 1:
        ordinal = numbers.pop(0)
        if not isinstance(ordinal, Immediate) or not 0 <= ordinal.value < count:
            raise PtxlabError(
                f"{instruction.where}: {instruction.opcode}: its ordinal is a constant from 0 to {count - 1}"
            )
        axis = ordinal.value
    word, first = field.places[axis]
    bit, kept = np.uint64(first), np.uint64(((1 << field.bits) - 1 << first) ^ (1 << 64) - 1)
    bits = 64 if instruction.parts[-1] == "b64" else 32
    place, value = address(target, instruction, context), reader(numbers[0], bits, instruction, context)
    space = space_of(instruction)
    limit = _LIMITS.get(name, 1 << field.bits)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = value(machine, frame, threads).astype(np.uint64)
        wrong = values[values >= limit] if limit < 1 << 64 else values[:0]
        if len(wrong):
            raise PtxlabError(f"{int(wrong[0])}: {name} of a tensor map is 0 to {limit - 1}")
        wrong = values[values % np.uint64(field.unit) != 0]
        if len(wrong):
            raise PtxlabError(f"{int(wrong[0])}: {name} of a tensor map is a multiple of {field.unit}")
        places = place(machine, frame, threads)
        (old,) = machine.memory.load(instruction, space, threads, places + 8 * word, 64)
        new = old & kept | values // np.uint64(field.unit) + np.uint64(field.bias) << bit
        machine.memory.store(instruction, space, threads, places + 8 * word, [new])
        if space != "shared" and machine.memory.buffer_at(int(places[0])) is not None:
            machine.launch.changes_maps = True
            machine.synchronised(instruction, "tensormap.replace", threads, places)

    return MachineStep(instruction, execute)


@builds("tensormap.cp_fenceproxy")
def _copy(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`tensormap.cp_fenceproxy`: a warp copies a map from shared to global memory."""
    target, source, size = instruction.operands
    if not isinstance(size, Immediate) or size.value != MAP_BYTES:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} copies {MAP_BYTES} bytes")
    place, origin = address(target, instruction, context), address(source, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        _, first = np.unique(threads.indices >> 5, return_index=True)
        leaders = Threads.listed(threads.batch, threads.indices[first])
        places, sources = place(machine, frame, leaders), origin(machine, frame, leaders)
        for chunk in range(0, MAP_BYTES, 16):
            words = machine.memory.load(instruction, "shared", leaders, sources + chunk, 32, 4)
            machine.memory.store(instruction, "global", leaders, places + chunk, words)
        machine.launch.changes_maps = True
        machine.synchronised(instruction, "tensormap.cp_fenceproxy", leaders, places)

    return MachineStep(instruction, execute, convergent_lanes=32)
