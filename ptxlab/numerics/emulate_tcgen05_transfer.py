"""What tcgen05.ld, .st, .cp and .shift do: words between tensor memory, registers and shared memory.

Tensor memory is an array [..., 128 lanes, columns] of 32-bit words from column 0 on. The PTX ISA 9.4 leaves
some of it open; `assumptions` of the form says what is assumed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int
from ..errors import PtxlabError
from ..isa.tcgen05 import UNPACKED, TensorTransfer
from ..isa.tcgen05.tcgen05_transfer import check_inputs
from ..isa.tensor_operand import COLUMNS, LANES, TensorOperand, split_address
from ..memory.descriptors import Descriptor, descriptor
from . import scalar


def emulate(
    form: TensorTransfer, arguments: Sequence[Any], address: int = 0, split: int | None = None
) -> NDArray[np.uint32] | tuple[NDArray[np.uint32], ...]:
    """The instruction applied to arrays, which `form.inputs` names; see `TensorTransfer.emulate`.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    >>> emulate(form, [np.arange(256, dtype=np.uint32).reshape(128, 2)])[3]
    array([6, 7], dtype=uint32)
    """
    check_inputs(form, arguments)
    if form.family == "tcgen05.ld":
        return load(form, arguments[0], address, split)
    if form.family == "tcgen05.shift":
        return shift(form, arguments[0], address)
    if form.family == "tcgen05.st":
        registers, words = arguments
        return store(form, registers, words, address, split)
    memory, code, words = arguments
    return copy(form, memory, code, words, address)


def load(
    form: TensorTransfer, words: ArrayLike, address: int = 0, split: int | None = None
) -> NDArray[np.uint32] | tuple[NDArray[np.uint32], ...]:
    """Registers [..., 128 threads, registers] that tcgen05.ld fills when all warps of a warpgroup execute it.

    With .red, also the smallest or largest value of each thread. With .spcompress, metadata comes first; of
    every four columns the two largest or smallest are kept, NaN first, and their indices have two bits each.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x2.b32")
    >>> load(form, np.arange(128 * 4, dtype=np.uint32).reshape(128, 4), address=1)[3]
    array([13, 14], dtype=uint32)
    >>> form = ptxlab.instruction("tcgen05.ld.red.sync.aligned.32x32b.x2.max.abs.f32")
    >>> load(form, np.full((128, 2), -2, dtype=np.float32).view(np.uint32))[1].view(np.float32)[5]
    np.float32(2.0)
    >>> form = ptxlab.instruction("tcgen05.ld.spcompress.sync.aligned.32x32b.x4.max.sp::2:4.f32.b2")
    >>> memory = np.tile(np.array([1, 5, -9, 3], dtype=np.float32), (128, 1)).view(np.uint32)
    >>> metadata, kept = load(form, memory)
    >>> bin(metadata[0, 0]), kept.view(np.float32)[0]   # columns 1 and 3
    ('0b1101', array([5., 3.], dtype=float32))
    """
    if form.compresses:
        plain = replace(
            form, reduces=False, compresses=False, reduction="", absolute=False, nan=False, type="b32"
        )
        registers = _registers(plain, words, address, None)
        parts = _compressed(form, registers)
        return (*parts, _reduced(form, registers)) if form.reduces else parts
    registers = _registers(form, words, address, split)
    return (registers, _reduced(form, registers)) if form.reduces else registers


def _registers(form: TensorTransfer, words: ArrayLike, address: int, split: int | None) -> NDArray[np.uint32]:
    memory = as_words(words, form.mnemonic)
    lanes, columns = places(form, address, split, memory.shape[-1])
    values = memory[..., lanes, columns]
    if not form.pack:
        return np.asarray(values)
    halves = values.reshape(*values.shape[:-1], form.registers, 2) & np.uint32(0xFFFF)
    return np.asarray(halves[..., 0] | halves[..., 1] << np.uint32(16))


def _reduced(form: TensorTransfer, registers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The smallest or largest register of each thread, as PTX's min and max compare."""
    values = registers & np.uint32(0x7FFFFFFF) if form.absolute else registers
    opcode = f"{form.reduction}{'.NaN' if form.nan else ''}.{form.type}"
    operation = scalar.operation(opcode)
    assert operation is not None
    result = values[..., 0]
    for number in range(1, values.shape[-1]):
        result = operation(result, values[..., number])
    return np.asarray(result, dtype=np.uint32)


def _compressed(
    form: TensorTransfer, registers: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Metadata and kept values."""
    groups = registers.reshape(*registers.shape[:-1], -1, 4)
    indices = np.sort(_ranked(form, groups)[..., :2], axis=-1)
    kept = np.take_along_axis(groups, indices, axis=-1).reshape(*registers.shape[:-1], -1)
    count = kept.shape[-1]
    codes = np.zeros((*registers.shape[:-1], 16 * -(-count // 16)), dtype=np.uint32)
    codes[..., :count] = indices.reshape(*registers.shape[:-1], -1)
    shifts = 2 * np.arange(16, dtype=np.uint32)
    metadata = np.bitwise_or.reduce(codes.reshape(*codes.shape[:-1], -1, 16) << shifts, axis=-1)
    return metadata, kept


def _ranked(form: TensorTransfer, groups: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Indices of the values of each group, from the first to keep on; NaN comes first, and -0 is below +0."""
    values = groups & np.uint32(0x7FFFFFFF) if form.absolute else groups
    signed = values.view(np.int32).astype(np.int64)
    order = np.where(signed < 0, -(signed & 0x7FFFFFFF) - 1, signed)  # bits in the order of their values
    if form.reduction == "max":
        order = -order
    order[(groups & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)] = -(1 << 40)
    return np.argsort(order, axis=-1, kind="stable")


def shift(form: TensorTransfer, words: ArrayLike, address: int = 0) -> NDArray[np.uint32]:
    """Tensor memory after tcgen05.shift: 31 of a warp's lanes take the words of the next, in 8 columns.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.shift.cta_group::1.down")
    >>> memory = np.repeat(np.arange(128, dtype=np.uint32), 8).reshape(128, 8)
    >>> shift(form, memory, address=32 << 16)[[31, 32, 33, 63, 64], 0]
    array([31, 33, 34, 63, 64], dtype=uint32)
    """
    after = as_words(words, form.mnemonic).copy()
    at = as_int(address, "address")
    lane, column = split_address(at)
    if lane % 32 or lane >= LANES:
        raise PtxlabError(
            f"address 0x{at:08x}: it begins in lane {lane}; {form.mnemonic} begins in lane 0, 32, 64 or 96"
        )
    if column + form.columns > after.shape[-1]:
        raise PtxlabError(
            f"address 0x{at:08x}: {form.mnemonic} reaches column {column + form.columns - 1}; there are "
            f"{after.shape[-1]}"
        )
    after[..., lane : lane + 32, :] = shift_rows(after[..., lane : lane + 32, :], column, form.columns)
    return after


def shift_rows(words: NDArray[np.uint32], column: int, columns: int) -> NDArray[np.uint32]:
    """Words [..., lanes, columns] after a shift of `columns` columns; the last lane of each 32 stays.

    So CUTLASS describes .ashift of tcgen05.mma, which shifts A after it has been multiplied.

    >>> shift_rows(np.arange(64, dtype=np.uint32)[:, None], 0, 1)[[0, 30, 31, 32, 63], 0]
    array([ 1, 31, 31, 33, 63], dtype=uint32)
    """
    after = words.copy()
    lanes = np.arange(words.shape[-2])
    following = np.where(lanes % 32 < 31, lanes + 1, lanes)
    after[..., column : column + columns] = words[..., following, column : column + columns]
    return after


def store(
    form: TensorTransfer, registers: ArrayLike, words: ArrayLike, address: int = 0, split: int | None = None
) -> NDArray[np.uint32]:
    """Tensor memory after tcgen05.st by all warps of a warpgroup, from registers [..., 128, registers].

    With .unpack::16b a column gets half of a register in its lower 16 bits; the upper become 0.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.st.sync.aligned.32x32b.x1.b32")
    >>> store(form, np.full((128, 1), 7), np.zeros((128, 2), dtype=np.uint32), address=1)[5]
    array([0, 7], dtype=uint32)
    """
    memory = as_words(words, form.mnemonic)
    values = as_registers(registers, form)
    lanes, columns = places(form, address, split, memory.shape[-1])
    if form.pack:
        halves = np.stack([values & np.uint32(0xFFFF), values >> np.uint32(16)], axis=-1)
        values = halves.reshape(*values.shape[:-1], 2 * form.registers)
    batch = np.broadcast_shapes(values.shape[:-2], memory.shape[:-2])
    result = np.broadcast_to(memory, (*batch, *memory.shape[-2:])).copy()
    result[..., lanes, columns] = values
    return result


def copy(
    form: TensorTransfer, memory: ArrayLike, code: int | Descriptor, words: ArrayLike, address: int = 0
) -> NDArray[np.uint32]:
    """Tensor memory after tcgen05.cp, from shared memory [bytes] through a shared-memory descriptor.

    With cta_group::2 both CTAs copy from their own shared memory; this is one of them. From b6x16_p32 and
    b4x16_p64, 16 elements of 6 or 4 bits at the start of every 16 bytes become bytes.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.cp.cta_group::1.32x128b.warpx4")
    >>> scales = ptxlab.memory.tile_scales(np.arange(128 * 4).reshape(128, 4) % 256)
    >>> tile = ptxlab.memory.Tcgen05Descriptor(address=0, leading=16, stride=128)
    >>> hex(copy(form, scales, tile, np.zeros((128, 4), dtype=np.uint32))[37, 2])   # row 69: lane 5, column 2
    '0x17161514'
    """
    fields = code.tcgen05() if isinstance(code, Descriptor) else descriptor(code, family="tcgen05")
    rows, count = _copied_words(form).shape
    return copy_rows(form, fields.load(memory, rows, count, bits=32), words, address)


def copy_rows(
    form: TensorTransfer, source: ArrayLike, words: ArrayLike, address: int = 0
) -> NDArray[np.uint32]:
    """Tensor memory after tcgen05.cp of these rows of 32-bit words, wherever they are in shared memory.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.cp.cta_group::1.4x256b")
    >>> rows = np.arange(32).reshape(4, 8)
    >>> copy_rows(form, rows, np.zeros((128, 8), dtype=np.uint32))[[0, 32, 33], 1]
    array([1, 9, 0], dtype=uint32)
    """
    after = as_words(words, form.mnemonic).copy()
    target = _copied_words(form)
    rows, count = target.shape
    copied = as_array(source, f"{form.mnemonic}: rows")
    if copied.shape != (rows, count):
        raise PtxlabError(f"{form.mnemonic}: found rows of shape {copied.shape}; it copies ({rows}, {count})")
    copied = _unsigned(copied, f"{form.mnemonic}: rows")
    if form.source:
        copied = _unpacked(copied, UNPACKED[form.source])
    at = as_int(address, "address")
    lane, column = split_address(at)
    coords = target.layout.coords().reshape(-1, rows, count, 2)
    inside = coords[..., 0] < LANES
    lanes, columns = coords[..., 0][inside] + lane, coords[..., 1][inside] + column
    if lanes.max() >= LANES or columns.max() >= after.shape[-1]:
        raise PtxlabError(
            f"address 0x{at:08x}: {form.mnemonic} would write up to lane {lanes.max()}, column "
            f"{columns.max()}"
        )
    after[..., lanes, columns] = np.broadcast_to(copied, coords.shape[:-1])[inside]
    return after


def _copied_words(form: TensorTransfer) -> TensorOperand:
    """What tcgen05.cp writes, in words even where it unpacks bytes."""
    return replace(form, source="").tensor("T")


def _unpacked(words: NDArray[Any], bits: int) -> NDArray[np.uint32]:
    """Words [rows, words], 16 elements of 6 or 4 bits in every four of them -> the same elements as bytes.

    An element is in the middle of its byte, where kind::mxf8f6f4 reads A: CUTLASS,
    cp_narrow_a_to_tmem_mma.py.
    """
    data = np.ascontiguousarray(words, dtype="<u4").view(np.uint8).reshape(len(words), -1, 16)
    single_bits = np.unpackbits(data, axis=-1, bitorder="little")[..., : 16 * bits].reshape(*data.shape, bits)
    padding = (8 - bits) // 2
    padded = np.pad(single_bits, [(0, 0)] * (single_bits.ndim - 1) + [(padding, padding)])
    elements = np.packbits(padded, axis=-1, bitorder="little")
    return np.ascontiguousarray(elements.reshape(len(words), -1)).view("<u4").astype(np.uint32)


def as_words(words: ArrayLike, name: str) -> NDArray[np.uint32]:
    """Tensor memory as words [..., 128, columns], or an error that says what is wrong with them."""
    array = as_array(words, f"{name}: words")
    if array.ndim < 2 or array.shape[-2] != LANES or not 1 <= array.shape[-1] <= COLUMNS:
        raise PtxlabError(
            f"{name}: found words of shape {array.shape}; tensor memory is [..., 128, 1 to 512]"
        )
    return _unsigned(array, f"{name}: words")


def as_registers(registers: ArrayLike, form: TensorTransfer) -> NDArray[np.uint32]:
    """Registers of 128 threads that tcgen05.st stores, or an error that says what is wrong with them."""
    array = as_array(registers, f"{form.mnemonic}: registers")
    if array.shape[-2:] != (LANES, form.registers):
        raise PtxlabError(
            f"{form.mnemonic}: found registers of shape {array.shape}; it takes [..., 128, {form.registers}]"
        )
    return _unsigned(array, f"{form.mnemonic}: registers")


def _unsigned(array: NDArray[Any], what: str) -> NDArray[np.uint32]:
    if array.dtype.kind not in "iu" or (
        array.size and not -(1 << 31) <= int(array.min()) <= int(array.max()) < 1 << 32
    ):
        raise PtxlabError(f"{what}: found {array.dtype}; they are 32-bit unsigned integers")
    return array.astype(np.uint32)


def places(
    form: TensorTransfer, address: int, split: int | None, width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lane and column of every element of every thread: [128, elements] each; an element is a register.

    With .pack::16b or .unpack::16b it is half of one. `width` is how many columns there are.

    >>> import ptxlab
    >>> form = ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")
    >>> lanes, columns = places(form, address=0, split=None, width=8)
    >>> lanes[37].tolist(), columns[37].tolist()
    ([33, 33, 41, 41], [2, 3, 2, 3])
    """
    at = as_int(address, "address")
    lane, column = form.first_lane(at)
    form.check_split(split)
    coords = form.layout.coords()
    along = coords[..., 1]
    if split is not None:
        half = form.columns // 2
        along = np.where(along < half, along, along - half + split)
    columns = along + column
    if columns.min() < 0 or columns.max() >= width:
        raise PtxlabError(
            f"address 0x{at:08x}: {form.mnemonic} reaches columns {columns.min()} to "
            f"{columns.max()}; there are {width}"
        )
    warp = 32 * np.arange(4)[:, None, None]
    lanes = (coords[..., 0] + lane)[None] + warp
    return lanes.reshape(LANES, -1), np.broadcast_to(columns, (4, *columns.shape)).reshape(LANES, -1)
