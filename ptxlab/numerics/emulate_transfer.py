"""What ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store do to arrays of memory and registers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, check_room
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.transfer import Transfer


@dataclass(frozen=True)
class TransferInputs:
    """What a transfer, or a batch of them, reads: checked, and with its batch axes flattened into one.

    Transfer i reads registers[i] and the rows at row_addresses[i] of memory[memory_index[i]]. Memory that all
    transfers share is stored once. Arrays that an instruction does not take are empty.
    """

    batch: tuple[int, ...]
    registers: NDArray[Any]
    row_addresses: NDArray[np.int64]
    memory: NDArray[np.uint8]
    memory_index: NDArray[np.int64]
    memory_dtype: np.dtype[Any]  # of the elements in which the memory was passed
    stride: int  # of wmma, in elements

    @classmethod
    def of(
        cls, form: Transfer, arrays: Sequence[ArrayLike], stride: int | None = None, offset: int = 0
    ) -> TransferInputs:
        """Check the arrays that `form.inputs` names, in their order."""
        if not isinstance(arrays, tuple | list):
            raise PtxlabError(f"{form.mnemonic} takes {listing(form.inputs)}, found {quoted(arrays)}")
        if len(arrays) != len(form.inputs):
            number = counted(len(arrays), "array")
            raise PtxlabError(f"{form.mnemonic} takes {listing(form.inputs)}, found {number}")
        offset = as_int(offset, f"{form.mnemonic}: offset")
        if not form.wmma and (stride is not None or offset):
            raise PtxlabError(
                f"{form.mnemonic} has no stride and no offset: those belong to wmma.load and wmma.store"
            )
        by_name = dict(zip(form.inputs, arrays, strict=True))
        registers: NDArray[Any] = np.zeros((0, 0), dtype=np.uint32)
        memory = np.zeros(0, dtype=np.uint8)
        memory_dtype: np.dtype[Any] = memory.dtype
        row_addresses = np.zeros(0, dtype=np.int64)
        if "registers" in by_name:
            registers = form.register_operand.check_registers(by_name["registers"])
        if "memory" in by_name:
            memory, memory_dtype = _memory_bytes(form, by_name["memory"])
        if "addresses" in by_name:
            row_addresses = _row_addresses(form, by_name["addresses"], memory.shape[-1])
        if form.wmma:
            row_addresses = form.addresses(offset, stride)
            _check_last_row(form, row_addresses, memory.shape[-1])
            stride = form.lines[1] if stride is None else stride
        batches = [registers.shape[:-2], row_addresses.shape[:-1], memory.shape[:-1]]
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            raise PtxlabError(
                f"{listing(form.inputs)} have batches {listing(map(quoted, batches))}, which do not broadcast"
            ) from None
        count, memories = (math.prod(shape) for shape in (batch, memory.shape[:-1]))
        check_room(count * max(memory.shape[-1], form.lanes * form.register_operand.registers), "batch")
        return cls(
            batch=batch,
            registers=_flattened(registers, batch, count, 2),
            row_addresses=_flattened(row_addresses, batch, count, 1),
            memory=memory.reshape(memories, memory.shape[-1]),
            memory_index=_flattened(np.arange(memories).reshape(memory.shape[:-1]), batch, count, 0),
            memory_dtype=memory_dtype,
            stride=stride or 0,
        )

    @property
    def count(self) -> int:
        """How many transfers the batch holds."""
        return len(self.memory_index)

    @property
    def memory_size(self) -> int:
        """Bytes of the memory that one transfer reads or writes."""
        return int(self.memory.shape[-1])

    def row_bytes(self, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Indices of the first `width` bytes of every row: (transfer, byte), as [count, rows, width]."""
        return np.arange(self.count)[:, None, None], self.row_addresses[:, :, None] + np.arange(width)

    def registers_result(self, registers: NDArray[Any]) -> NDArray[Any]:
        """Registers [count, lanes, registers] with the batch axes of the inputs."""
        return registers.reshape(*self.batch, *registers.shape[1:])

    def memory_result(self, memory: NDArray[np.uint8]) -> NDArray[Any]:
        """Bytes [count, size] with the batch axes and the element type of the memory that was passed."""
        elements = memory.shape[-1] // self.memory_dtype.itemsize
        return np.ascontiguousarray(memory).view(self.memory_dtype).reshape(*self.batch, elements)


def _flattened(array: NDArray[Any], batch: tuple[int, ...], count: int, item_axes: int) -> NDArray[Any]:
    """Broadcast the batch axes of an array and flatten them into one; its last `item_axes` axes are kept."""
    item_shape = array.shape[array.ndim - item_axes :]
    return np.broadcast_to(array, batch + item_shape).reshape(count, *item_shape)


def emulate(form: Transfer, arrays: Sequence[ArrayLike], stride: int | None, offset: int) -> NDArray[Any]:
    """The instruction on arrays; see `Transfer.emulate`."""
    inputs = TransferInputs.of(form, arrays, stride, offset)
    if form.family == "movmatrix":
        transposed = np.swapaxes(form.register_operand.unpack_codes(inputs.registers), -1, -2)
        return inputs.registers_result(form.operand("D").pack_codes(transposed))
    return _store(form, inputs) if "registers" in form.inputs else _load(form, inputs)


def _load(form: Transfer, inputs: TransferInputs) -> NDArray[Any]:
    """Memory -> registers."""
    transfer, byte = inputs.row_bytes(form.lines[1] * form.memory_bits // 8)
    rows = inputs.memory[inputs.memory_index[transfer], byte]
    return inputs.registers_result(loaded_registers(form, rows))


def _store(form: Transfer, inputs: TransferInputs) -> NDArray[Any]:
    """Registers -> a copy of the memory with the rows written."""
    memory = inputs.memory[inputs.memory_index]
    width = form.lines[1] * form.register_operand.dtype.bits // 8
    memory[inputs.row_bytes(width)] = stored_rows(form, inputs.registers)
    return inputs.memory_result(memory)


def loaded_registers(form: Transfer, rows: NDArray[np.uint8]) -> NDArray[Any]:
    """Registers [..., lanes, registers] from the bytes of rows of memory [..., rows, bytes]."""
    operand = form.register_operand
    codes = unpack_row(rows, form.memory_bits, form.lines[1])
    codes = _by_rows(form, codes).astype(operand.dtype.code_type)
    if form.signed:
        codes |= (codes >> (form.memory_bits - 1)) * 0xF0  # the sign of 4 bits fills the byte
    return operand.pack_codes(codes)


def stored_rows(form: Transfer, registers: NDArray[Any]) -> NDArray[np.uint8]:
    """Bytes of rows of memory [..., rows, bytes] from registers [..., lanes, registers]."""
    operand = form.register_operand
    return pack_row(_by_rows(form, operand.unpack_codes(registers)), operand.dtype.bits)


def _by_rows(form: Transfer, codes: NDArray[Any]) -> NDArray[Any]:
    """A matrix as it lies in memory <-> the matrix of the operand: transposed if wmma's layout is .col."""
    return np.swapaxes(codes, -1, -2) if form.layout == "col" else codes


def unpack_row(data: NDArray[np.uint8], bits: int, count: int) -> NDArray[Any]:
    """The first `count` elements of rows of bytes; the first is in the lowest bits."""
    if bits >= 8:
        return np.ascontiguousarray(data).view(f"<u{bits // 8}")[..., :count]
    single_bits = np.unpackbits(data, axis=-1, bitorder="little")[..., : count * bits]
    return np.asarray(
        single_bits.reshape(*data.shape[:-1], count, bits) @ (1 << np.arange(bits)).astype(np.uint8)
    )


def pack_row(codes: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """The inverse of `unpack_row`, for rows of whole bytes."""
    if bits >= 8:
        return np.ascontiguousarray(codes.astype(f"<u{bits // 8}")).view(np.uint8)
    single_bits = codes[..., None] >> np.arange(bits, dtype=np.uint8) & 1
    return np.packbits(single_bits.reshape(*codes.shape[:-1], -1), axis=-1, bitorder="little")


# -- checks --------------------------------------------------------------------------------------------------


def _memory_bytes(form: Transfer, memory: ArrayLike) -> tuple[NDArray[np.uint8], np.dtype[Any]]:
    """Memory as bytes [..., size], and the type of the elements in which it was passed."""
    array = _as_memory(memory)
    bits = form.memory_bits
    kinds = "iu" if bits < 8 else "iufV"
    if array.ndim == 0 or array.dtype.names or array.dtype.kind not in kinds:
        elements = "bytes, or elements as they lie there"
        if bits < 8:
            elements = f"whole numbers, into which elements of {bits} bits are packed"
        raise PtxlabError(
            f"memory: found {array.dtype} of shape {array.shape}; it takes an array [..., size] of {elements}"
        )
    return np.ascontiguousarray(array).view(np.uint8), array.dtype


def _as_memory(memory: ArrayLike) -> NDArray[Any]:
    """Memory as numbers in the machine's byte order, or as raw bytes."""
    if (
        isinstance(memory, np.ndarray)
        and memory.dtype.kind == "V"
        and not isinstance(memory, np.ma.MaskedArray)
    ):
        check_room(memory.size * max(memory.itemsize, 1), "memory")
        return memory
    return as_array(memory, "memory")


def _row_addresses(form: Transfer, addresses: ArrayLike, size: int) -> NDArray[np.int64]:
    """The addresses of the lanes that supply one, [..., rows]."""
    array = as_array(addresses, "addresses")
    if array.dtype.kind not in "iu" or array.shape[-1:] != (form.lanes,):
        raise PtxlabError(
            f"addresses: found {array.dtype} of shape {array.shape}; "
            f"it takes whole numbers [..., {form.lanes} lanes]"
        )
    rows = array[..., : len(form.address_lanes)]
    if rows.dtype == np.uint64 and (rows > np.iinfo(np.int64).max).any():
        raise PtxlabError(f"address {rows.max()}: the memory has {size} bytes")
    rows = rows.astype(np.int64)
    outside = f"its row of {form.row_bytes} bytes lies outside of the memory of {size} bytes"
    for wrong, sentence in (
        (rows % form.alignment != 0, f"it must be a multiple of {form.alignment}"),
        ((rows < 0) | (rows > size - form.row_bytes), outside),
    ):
        if wrong.any():
            lane = np.argwhere(wrong)[0][-1]
            raise PtxlabError(f"address {rows[wrong][0]} of lane {lane}: {sentence}")
    if form.family == "stmatrix":
        _check_distinct(rows)
    return rows


def _check_distinct(rows: NDArray[np.int64]) -> None:
    """If two rows are stored to one address, the ISA does not say which stays."""
    order = np.argsort(rows, axis=-1, kind="stable")
    same = np.diff(np.take_along_axis(rows, order, axis=-1), axis=-1) == 0
    if same.any():
        *transfer, position = np.argwhere(same)[0]
        at = tuple(transfer)
        first, second = sorted(order[at][position : position + 2].tolist())
        raise PtxlabError(
            f"lanes {first} and {second} store to the same address {rows[at][first]}: "
            "which row stays there is undefined"
        )


def _check_last_row(form: Transfer, starts: NDArray[np.int64], size: int) -> None:
    end = int(starts[-1]) + form.lines[1] * form.register_operand.dtype.bits // 8
    if end > size:
        line = "row" if form.layout == "row" else "column"
        raise PtxlabError(
            f"{form.mnemonic}: {line} {len(starts) - 1} ends at byte {end}; the memory has {size}"
        )
