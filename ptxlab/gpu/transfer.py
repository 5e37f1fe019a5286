"""ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store on the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError
from ..isa.transfer import ROW_BYTES, TransferForm
from ..numerics.transfer import Given, check
from . import device
from .codegen.transfer import IMAGE_BYTES, in_shared, name, source, stores

__all__ = ["run"]

_UNIT = 32  # bytes to which memory is filled up, so that every instruction's begins aligned
_CHUNK_BYTES = 1 << 28


def run(
    move: TransferForm, arrays: Sequence[ArrayLike], stride: int | None, offset: int, code: str | None
) -> NDArray[Any]:
    """The instruction on the GPU; see `TransferForm.run`."""
    if device.device_target() not in move.targets:
        raise PtxlabError(device.status(move))
    given = check(move, arrays, stride, offset)
    size = -(-given.memory.shape[-1] // _UNIT) * _UNIT
    if in_shared(move) and size > IMAGE_BYTES:
        raise PtxlabError(
            f"memory of {given.memory.shape[-1]} bytes: the kernel of {move.mnemonic} has {IMAGE_BYTES} bytes of shared memory"
        )
    operand = move.carried
    addresses = (
        _lane_addresses(move, given, arrays[1])
        if move.address_lanes
        else np.zeros((given.count, 0), dtype=np.uint32)
    )
    stored = stores(move)
    out = (
        np.empty((given.count, size), dtype=np.uint8)
        if stored
        else np.empty((given.count, 32, operand.registers), dtype=operand.register_type)
    )
    step = max(1, _CHUNK_BYTES // max(size, out[:1].nbytes, 1))
    for first in range(0, given.count, step):
        part = slice(first, min(first + step, given.count))
        arguments = _arguments(move, given, addresses, part, device.Out(out[part]), size)
        if move.wmma:
            arguments += [np.uint32(given.stride), np.uint32(offset)]
        count = part.stop - part.start
        device.launch(
            code or source([move]), name(move), [*arguments, np.int32(count)], grid=min(count, 4096), block=32
        )
    return (
        given.stored(out[:, : given.memory.shape[-1]])
        if stored
        else out.reshape(*given.batch, *out.shape[1:])
    )


def _lane_addresses(move: TransferForm, given: Given, addresses: ArrayLike) -> NDArray[np.uint32]:
    """What every lane supplies: lanes that are not heard keep an address that is one, the others repeat a lower lane's (sm_75 looks there)."""
    whole = np.broadcast_to(addresses, (*given.batch, move.lanes)).reshape(given.count, move.lanes)
    lower = whole[:, np.arange(move.lanes) % len(move.address_lanes)]
    valid = (whole >= 0) & (whole % ROW_BYTES == 0) & (whole + ROW_BYTES <= given.memory.shape[-1])
    return np.where(valid, whole, lower).astype(np.uint32)


def _arguments(
    move: TransferForm, given: Given, addresses: NDArray[Any], part: slice, out: Any, size: int
) -> list[Any]:
    """The arrays of one launch, in the order of the kernel's parameters, and the size of a memory in units of 16 bytes."""
    if move.family == "movmatrix":
        return [given.registers[part], out]
    memory = np.zeros((part.stop - part.start, size), dtype=np.uint8)
    memory[:, : given.memory.shape[-1]] = given.memory[given.of[part]]
    lanes = [] if move.wmma else [addresses[part]]
    results = [given.registers[part], out] if stores(move) else [out]
    return [memory, *lanes, *results, np.int32(size // 16)]
