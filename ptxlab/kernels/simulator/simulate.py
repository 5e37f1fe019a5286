"""A launch, block by block in batches, without a GPU."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.progress import bar
from ...errors import PtxlabError
from ...gpu.kernel_launch import MapPointer
from ...memory import TensorMap
from .arguments import Array, KernelArgument
from .decode import Image
from .events import Observer
from .machine import Launch, Machine
from .memory import HEAP_BYTES, HEAP_START, Buffer, Memory
from .result import Counts, Products, Result
from .threads import Batch, Grid

__all__ = ["simulate"]

_MOST_LANES = 1 << 15  # of a batch: registers of that many threads stay in the cache's reach
_REGISTER_BYTES = 1 << 29  # of all registers of a batch
_KEPT_BYTES = 1 << 27  # of what matrix instructions read
_MAP_MAGIC = b"ptxlab tensor map"


def simulate(
    image: Image,
    grid: Grid,
    arguments: Sequence[KernelArgument],
    *,
    model: str | None = None,
    observers: Sequence[Observer] = (),
    show: bool | None = None,
) -> Result:
    """Run a kernel; arrays are written in place."""
    maps: list[TensorMap] = []
    buffers = [*image.variables(), *_memory_of(image, arguments, maps)]
    buffers.append(Buffer("the heap of malloc", HEAP_START, np.zeros(HEAP_BYTES, dtype=np.uint8)))
    counts = Counts()
    products = Products(_KEPT_BYTES)
    listeners = (counts, products, *observers)
    size = image.static_shared + grid.shared
    memory = Memory(buffers, size, observers, grid.cluster_size)
    texts: list[str] = []

    def output(text: str) -> None:
        texts.append(text)
        sys.stdout.write(text)

    entry = image.program(image.entry.name)
    launch = Launch(
        entry, image.program, image.functions, image.symbols, memory, listeners, maps, output, model
    )
    step = _batch_blocks(grid, len(entry.types), size)
    numbers = grid.block_order()
    with bar(grid.block_count, "blocks", show=show) as tick:
        for first in range(0, grid.block_count, step):
            batch = Batch(grid, numbers[first : first + step])
            with np.errstate(all="ignore"):
                Machine(launch, batch).run()
            tick(batch.count)
    return Result.of(counts, products, "".join(texts))


def _batch_blocks(grid: Grid, registers: int, shared: int) -> int:
    """Blocks that run together."""
    lanes = grid.warps * 32
    by_registers = _REGISTER_BYTES // (4 * max(registers, 1) * lanes)
    by_shared = _REGISTER_BYTES // max(shared, 1)
    most = max(1, min(_MOST_LANES // lanes, by_registers, by_shared, grid.block_count))
    return max(1, most // grid.cluster_size) * grid.cluster_size


def _memory_of(image: Image, arguments: Sequence[KernelArgument], maps: list[TensorMap]) -> list[Buffer]:
    """The buffers of the arguments, and the kernel's parameters as the threads read them."""
    parameters = np.zeros(image.parameter_size, dtype=np.uint8)
    buffers = [Buffer("the kernel's parameters", image.parameter_start, parameters, False, "param")]
    placed: dict[int, int] = {}
    next_free = image.next_free
    for number, (argument, name) in enumerate(zip(arguments, image.parameters, strict=True), 1):
        if isinstance(argument, Array):
            values = argument.values
            key = id(values)
            if key not in placed:
                title = f"argument {number} ({name_of(values)})"
                buffers.append(Buffer(title, image.next_free, as_bytes(values), values.flags.writeable))
                placed[key] = image.reserve(values.nbytes)
            content = placed[key].to_bytes(8, "little")
        elif isinstance(argument, TensorMap | MapPointer):
            maps.append(argument if isinstance(argument, TensorMap) else argument.tensor)
            content = _MAP_MAGIC.ljust(120, b"\0") + len(maps).to_bytes(8, "little")
            if isinstance(argument, MapPointer):
                handle = np.frombuffer(content, dtype=np.uint8)
                buffers.append(Buffer(f"the tensor map of argument {number}", image.next_free, handle, False))
                content = image.reserve(len(handle)).to_bytes(8, "little")
        else:
            content = argument
        offset = image.parameters[name]
        parameters[offset : offset + len(content)] = np.frombuffer(content, dtype=np.uint8)
    image.next_free = next_free
    return buffers


def name_of(values: NDArray[Any]) -> str:
    """An array for a message."""
    return f"{values.dtype}{list(values.shape)}"


def as_bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """The memory of a contiguous array, as bytes."""
    try:
        return values.reshape(-1).view(np.uint8)
    except (TypeError, ValueError):
        raise PtxlabError(f"an array of {values.dtype} has no bytes that a kernel could read") from None
