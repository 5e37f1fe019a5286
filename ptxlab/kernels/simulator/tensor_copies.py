"""Boxes of tensor maps between an array and shared memory, as TMA copies them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...memory import TensorMap
from ...numerics.scalar import operation
from ..ptx import Instruction
from .memory import RANK_SHIFT, Memory
from .threads import UNSIGNED, Threads

__all__ = ["load_box", "store_box"]

_TYPES = {
    "UINT8": "u32", "UINT16": "u32", "UINT32": "u32", "INT32": "s32", "UINT64": "u64", "INT64": "s64",
    "FLOAT16": "f16", "BFLOAT16": "bf16", "FLOAT32": "f32", "FLOAT64": "f64",
}  # fmt: skip


def load_box(
    memory: Memory,
    instruction: Instruction,
    thread: Threads,
    tensor: TensorMap,
    start: tuple[int, ...],
    address: int,
) -> None:
    """A box into the shared memory of the thread's block; `start` is in the array's order of axes."""
    inside = address & (1 << RANK_SHIFT) - 1
    content = tensor.load(*start, address=inside)
    offsets = tensor.offset(*np.ogrid[tuple(slice(size) for size in tensor.copied)], address=inside)
    bytes_ = (offsets.reshape(-1, 1) + np.arange(tensor.array.itemsize)).reshape(-1)
    places = memory.shared_offsets(
        instruction, thread, np.array([address]), tensor.size, "write", alignment=128
    )
    memory.shared[places[0] + bytes_] = content[bytes_]
    for observer in memory.observers:
        observer.copied(instruction, tensor, start, "read")


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
    if reduction in ("and", "or", "xor"):
        function = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[reduction]
        return np.asarray(function(old, values))
    type_name = _TYPES[tensor.data_type]
    rounding = "rn." if "f" in type_name and reduction == "add" else ""
    scalar = operation(f"{reduction}.{rounding}{type_name}")
    if scalar is None or reduction in ("inc", "dec"):
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} is not simulated yet")
    return np.asarray(scalar.function(old, values))
