"""Boxes of tensor maps between an array and shared memory, as TMA copies them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, listing
from ...memory import TensorMap
from ...memory.descriptors import swizzled
from ...numerics.scalar import operation
from ..ptx import Instruction
from .memory import RANK_SHIFT, Memory
from .threads import UNSIGNED, Threads

__all__ = ["load_boxes", "store_box"]

_TYPES = {
    "UINT8": "u32", "UINT16": "u32", "UINT32": "u32", "INT32": "s32", "UINT64": "u64", "INT64": "s64",
    "FLOAT16": "f16", "BFLOAT16": "bf16", "FLOAT32": "f32", "FLOAT64": "f64",
}  # fmt: skip
_BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
#: What an H200 reduces, by the type of the map's elements; all else is an illegal instruction there.
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


def load_boxes(
    memory: Memory,
    instruction: Instruction,
    threads: Threads,
    tensors: Sequence[TensorMap],
    starts: Sequence[tuple[int, ...]],
    addresses: NDArray[np.int64],
) -> None:
    """A box for each thread into shared memory; `starts` are in the array's order of axes.

    Boxes of one size in different blocks are one access.
    """
    corners = [tensor.check_start(start) for tensor, start in zip(tensors, starts, strict=True)]
    for tensor, address in zip(tensors, addresses.tolist(), strict=True):
        tensor.as_address(address & (1 << RANK_SHIFT) - 1)
    sizes = {tensor.size for tensor in tensors}
    apart = len(np.unique(threads.blocks)) < threads.count or (addresses >> RANK_SHIFT).any()
    groups = [slice(0, threads.count)]
    if apart or len(sizes) > 1:
        groups = [slice(number, number + 1) for number in range(threads.count)]
    for group in groups:
        those = Threads.listed(threads.batch, threads.indices[group])
        size = tensors[group.start].size
        places = memory.shared_offsets(instruction, those, addresses[group], size, "write", alignment=128)
        for number, place in enumerate(places.tolist(), group.start):
            inside = int(addresses[number]) & (1 << RANK_SHIFT) - 1
            _load_box(memory, tensors[number], corners[number], inside, place)
            for observer in memory.observers:
                observer.copied(instruction, tensors[number], starts[number], "read")


def _load_box(memory: Memory, tensor: TensorMap, start: tuple[int, ...], inside: int, place: int) -> None:
    """A box to a place of `memory.shared`, which is at the address `inside` in its block."""
    if _is_plain(tensor, start):
        corner = tuple(slice(first, first + size) for first, size in zip(start, tensor.box, strict=True))
        chunks = np.ascontiguousarray(tensor.array[corner]).reshape(-1).view(np.uint64).reshape(-1, 2)
        row = tensor.box[-1] * tensor.array.itemsize
        offsets = _chunks(len(chunks) * 16 // row, row, tensor.pitch, tensor.swizzle, inside % 1024)
        memory.shared.view(np.uint64).reshape(-1, 2)[(place >> 4) + offsets] = chunks
    else:
        content, written = tensor.image(*start, address=inside)
        memory.shared[place + np.flatnonzero(written)] = content[written]


def _is_plain(tensor: TensorMap, start: tuple[int, ...]) -> bool:
    """Whether a box lies inside of a NumPy array and is copied as it is, in chunks of 16 bytes."""
    return (
        isinstance(tensor.array, np.ndarray)
        and tensor.data_type in _TYPES
        and not tensor.interleave
        and isinstance(tensor.swizzle_mode, int)
        and set(tensor.element_strides) == {1}
        and min(start) >= 0
        and all(
            first + size <= length
            for first, size, length in zip(start, tensor.box, tensor.shape, strict=True)
        )
    )


@lru_cache(maxsize=256)
def _chunks(rows: int, row_bytes: int, pitch: int, swizzle: int, address: int) -> NDArray[np.int64]:
    """Where the chunks of 16 bytes of a box go, counted in chunks from its start."""
    plain = (np.arange(rows)[:, None] * pitch + np.arange(0, row_bytes, 16)).reshape(-1)
    return (swizzled(plain + address, swizzle) - address) >> 4


def store_box(
    memory: Memory,
    instruction: Instruction,
    thread: Threads,
    tensor: TensorMap,
    start: tuple[int, ...],
    address: int,
    reduction: str,
) -> None:
    """A box from shared memory into the array; what lies outside of the array is left out."""
    if not tensor.array.flags.writeable:
        raise PtxlabError("the array of the tensor map is read-only")
    if min(start) < 0:
        raise PtxlabError(
            f"the box starts at {start}: a store that begins before the array is an illegal instruction "
            "on an H200, while a load is not"
        )
    start = tensor.check_start(start)
    address = tensor.as_address(address)
    offsets = tensor.offset(*np.ogrid[tuple(slice(size) for size in tensor.copied)], address=address)
    places = memory.shared_offsets(
        instruction, thread, np.array([address]), tensor.size, "read", alignment=128
    )
    item = tensor.array.itemsize
    content = memory.shared[places[0] + offsets.reshape(-1, 1) + np.arange(item)]
    elements = np.ascontiguousarray(content).view(UNSIGNED[8 * item]).reshape(tensor.copied)
    indices, chosen = [], []
    for first, count, step, length in zip(
        start, tensor.copied, tensor.element_strides, tensor.array.shape, strict=True
    ):
        positions = first + np.arange(count) * step
        inside = (positions >= 0) & (positions < length)
        indices.append(positions[inside])
        chosen.append(np.flatnonzero(inside))
    values = elements[np.ix_(*chosen)]
    view: NDArray[Any] = tensor.array.view(UNSIGNED[8 * item])
    where = np.ix_(*indices)
    if reduction:
        values = _reduced(instruction, tensor, reduction, view[where], values)
    view[where] = values
    for observer in memory.observers:
        observer.copied(instruction, tensor, start, "write")


def _reduced(
    instruction: Instruction, tensor: TensorMap, reduction: str, old: NDArray[Any], values: NDArray[Any]
) -> NDArray[Any]:
    if reduction not in _REDUCTIONS.get(tensor.data_type, ()):
        types = [each for each, known in _REDUCTIONS.items() if reduction in known]
        raise PtxlabError(
            f"{instruction.where}: {instruction.opcode} is an illegal instruction with elements of type "
            f"{tensor.data_type}; .{reduction} takes {listing(types, 8)}"
        )
    if reduction in _BITWISE:
        return np.asarray(_BITWISE[reduction](old, values))
    if reduction == "inc":
        return np.where(old >= values, np.uint32(0), old + np.uint32(1))
    if reduction == "dec":
        return np.where((old == 0) | (old > values), values, old - np.uint32(1))
    type_name = _TYPES[tensor.data_type]
    rounding = "rn." if "f" in type_name and reduction == "add" else ""
    scalar = operation(f"{reduction}.{rounding}{type_name}")
    if scalar is None:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} is not simulated yet")
    return np.asarray(scalar.function(old, values))
