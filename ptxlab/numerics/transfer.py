"""What the moving instructions do, on arrays: bytes of memory and addresses <-> registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError, listing
from ..isa.transfer import ROW_BYTES, TransferForm

__all__ = ["Given", "check", "emulate"]


@dataclass
class Given:
    """Checked inputs, their batch axes made one: instruction i works on registers[i], addresses[i] and memory[of[i]]."""

    batch: tuple[int, ...]
    registers: NDArray[Any]
    addresses: NDArray[np.int64]
    memory: NDArray[np.uint8]
    of: NDArray[np.int64]
    memory_type: np.dtype[Any]
    stride: int

    @property
    def count(self) -> int:
        return len(self.of)

    def rows(self, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Index of every byte of every row in memory, [count, rows, width]."""
        return np.arange(self.count)[:, None, None], self.addresses[:, :, None] + np.arange(width)

    def stored(self, memory: NDArray[np.uint8]) -> NDArray[Any]:
        """Memory [count, size] in the shape and type in which it was given."""
        return (
            np.ascontiguousarray(memory)
            .view(self.memory_type)
            .reshape(*self.batch, memory.shape[-1] // self.memory_type.itemsize)
        )


def emulate(move: TransferForm, arrays: Sequence[ArrayLike], stride: int | None, offset: int) -> NDArray[Any]:
    """The instruction on arrays; see `TransferForm.emulate`."""
    given = check(move, arrays, stride, offset)
    operand = move.carried
    if move.family == "movmatrix":
        turned = np.swapaxes(operand.unpack_codes(given.registers), -1, -2)
        return move.operand("D").pack_codes(turned).reshape(*given.batch, *given.registers.shape[1:])
    turn = move.layout == "col"
    shape = operand.shape[::-1] if turn else operand.shape
    width = shape[1] * operand.dtype.bits // 8
    if move.inputs[0] == "memory":
        where, at = given.rows(width)
        codes = _open(given.memory[given.of[where], at], operand.dtype.bits, shape[1])
        registers = operand.pack_codes(
            (np.swapaxes(codes, -1, -2) if turn else codes).astype(operand.dtype.code_type)
        )
        return registers.reshape(*given.batch, *registers.shape[1:])
    codes = operand.unpack_codes(given.registers)
    memory = given.memory[given.of]
    memory[given.rows(width)] = _close(np.swapaxes(codes, -1, -2) if turn else codes, operand.dtype.bits)
    return given.stored(memory)


def _open(data: NDArray[np.uint8], bits: int, count: int) -> NDArray[Any]:
    """The first `count` elements of rows of bytes; the first is in the lowest bits."""
    if bits >= 8:
        return np.ascontiguousarray(data).view(f"<u{bits // 8}")[..., :count]
    single = np.unpackbits(data, axis=-1, bitorder="little")[..., : count * bits]
    return np.asarray(single.reshape(*data.shape[:-1], count, bits) @ (1 << np.arange(bits)).astype(np.uint8))


def _close(codes: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """The inverse of `_open`, for elements that fill whole bytes each or together."""
    if bits >= 8:
        return np.ascontiguousarray(codes.astype(f"<u{bits // 8}")).view(np.uint8)
    single = codes[..., None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(single.reshape(*codes.shape[:-1], -1), axis=-1, bitorder="little")


# -- checks -----------------------------------------------------------------------------------------------------------


def check(move: TransferForm, arrays: Sequence[ArrayLike], stride: int | None, offset: int) -> Given:
    """The inputs of one of these instructions in a common form, or an error that says what is wrong with them."""
    if len(arrays) != len(move.inputs):
        raise PtxlabError(
            f"{move.mnemonic} takes {listing(move.inputs)}, found {len(arrays)} array{'s' * (len(arrays) != 1)}"
        )
    if not move.wmma and (stride is not None or offset):
        raise PtxlabError(
            f"{move.mnemonic} has no stride and no offset: those belong to wmma.load and wmma.store"
        )
    parts = dict(zip(move.inputs, arrays, strict=True))
    registers = (
        move.carried.check_registers(parts["registers"])
        if "registers" in parts
        else np.zeros((0, 0), dtype=np.uint32)
    )
    data, kind = (
        _memory(move, parts["memory"])
        if "memory" in parts
        else (np.zeros(0, dtype=np.uint8), np.dtype(np.uint8))
    )
    rows = (
        _addresses(move, parts["addresses"], data.shape[-1])
        if "addresses" in parts
        else np.zeros(0, dtype=np.int64)
    )
    if move.wmma:
        rows = move.addresses(offset, stride)
        _check_lines(move, rows, data.shape[-1])
    axes = [registers.shape[:-2], rows.shape[:-1], data.shape[:-1]]
    try:
        batch = np.broadcast_shapes(*axes)
    except ValueError:
        raise PtxlabError(
            f"{listing(move.inputs)} have batches {listing(axes)}, which do not broadcast"
        ) from None
    count, memories = (int(np.prod(shape, dtype=np.int64)) for shape in (batch, data.shape[:-1]))
    return Given(
        batch,
        np.broadcast_to(registers, batch + registers.shape[-2:]).reshape(count, *registers.shape[-2:]),
        np.broadcast_to(rows, batch + rows.shape[-1:]).reshape(count, rows.shape[-1]),
        data.reshape(memories, data.shape[-1]),
        np.broadcast_to(np.arange(memories).reshape(data.shape[:-1]), batch).reshape(count),
        kind,
        (move.lines[1] if stride is None else stride) if move.wmma else 0,
    )


def _memory(move: TransferForm, memory: ArrayLike) -> tuple[NDArray[np.uint8], np.dtype[Any]]:
    """Memory as bytes [..., size], and the type in which it was given."""
    found = np.asarray(memory)
    bits = move.carried.dtype.bits
    if found.ndim == 0 or found.dtype.names or found.dtype.kind not in ("iu" if bits < 8 else "iufV"):
        right = (
            f"elements of {bits} bits are packed into whole numbers"
            if bits < 8
            else "bytes, or elements as they lie there"
        )
        raise PtxlabError(
            f"memory: found {found.dtype} of shape {found.shape}; it takes an array [..., size] of {right}"
        )
    return np.ascontiguousarray(found).view(np.uint8), found.dtype


def _addresses(move: TransferForm, addresses: ArrayLike, size: int) -> NDArray[np.int64]:
    """The addresses of the lanes that are heard, [..., rows]."""
    found = np.asarray(addresses)
    if found.dtype.kind not in "iu" or found.shape[-1:] != (move.lanes,):
        raise PtxlabError(
            f"addresses: found {found.dtype} of shape {found.shape}; it takes whole numbers [..., {move.lanes} lanes]"
        )
    heard = found[..., : len(move.address_lanes)].astype(np.int64)
    for wrong, right in (
        (heard % ROW_BYTES != 0, f"it must be a multiple of {ROW_BYTES}"),
        (
            (heard < 0) | (heard + ROW_BYTES > size),
            f"its row of {ROW_BYTES} bytes lies outside of the memory of {size} bytes",
        ),
    ):
        if wrong.any():
            lane = np.argwhere(wrong)[0][-1]
            raise PtxlabError(f"address {heard[wrong][0]} of lane {lane}: {right}")
    if move.family == "stmatrix":
        _check_apart(heard)
    return heard


def _check_apart(heard: NDArray[np.int64]) -> None:
    """Two rows stored to one place: the ISA does not say which stays."""
    order = np.argsort(heard, axis=-1, kind="stable")
    same = np.diff(np.take_along_axis(heard, order, axis=-1), axis=-1) == 0
    if same.any():
        at = tuple(np.argwhere(same)[0])
        lanes = sorted(order[at[:-1]][at[-1] : at[-1] + 2].tolist())
        place = heard[at[:-1]][lanes[0]]
        raise PtxlabError(
            f"lanes {lanes[0]} and {lanes[1]} store to the same address {place}: which row stays there is undefined"
        )


def _check_lines(move: TransferForm, starts: NDArray[np.int64], size: int) -> None:
    needed = int(starts[-1]) + move.lines[1] * move.carried.dtype.bits // 8
    if needed > size:
        line = "row" if move.layout == "row" else "column"
        raise PtxlabError(
            f"{move.mnemonic}: {line} {len(starts) - 1} ends at byte {needed}; the memory has {size}"
        )
