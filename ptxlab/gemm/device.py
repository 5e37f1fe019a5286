"""A rung on matrices that are on the GPU: where rows lie as the kernel wants them, nothing is copied."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..gpu.arrays import GpuArray, GpuArrays
from ..gpu.compiler import compile_kernel
from ..gpu.device import device_target, processors
from ..gpu.tensor_maps import encode_tensor_map
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..memory import TensorMap, tensor_map
from .catalog import Row
from .source import source_files

_CHUNK = 16  # bytes: where rows begin
_SIDE = 64  # of the tiles of pack.cu
_MOST = 1 << 31
_WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int"}


class _Rung(Protocol):
    """What a launch asks of a `Rung`."""

    @property
    def row(self) -> Row: ...

    @property
    def form(self) -> MmaForm: ...

    @property
    def code(self) -> bytes: ...

    @property
    def threads(self) -> int: ...

    @property
    def shared(self) -> int: ...

    @property
    def b_by_rows(self) -> bool: ...

    @property
    def box_a(self) -> tuple[int, int]: ...

    @property
    def box_b(self) -> tuple[int, int]: ...

    @property
    def box_d(self) -> tuple[int, int]: ...

    def grid(self, M: int, N: int, processors: int) -> int: ...


@dataclass(frozen=True)
class Rows:
    """Rows in the GPU's memory: how many, how many bytes long, how far apart; bytes, or words of 4 bytes."""

    pointer: int
    count: int
    length: int
    pitch: int
    words: bool = field(default=False, kw_only=True)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        size = 4 if self.words else 1
        return {
            "shape": (self.count, self.length // size),
            "strides": (self.pitch, size),
            "typestr": "<f4" if self.words else "|u1",
            "data": (self.pointer, False),
            "version": 3,
        }


def multiply_arrays(rung: _Rung, call: GpuArrays, d: GpuArray) -> None:
    """Queue D = A B + C, of the arrays A, B and perhaps C of a call; D lies without gaps."""
    a, b = call.arrays["A"], call.arrays["B"]
    (m, _), n = a.shape, b.shape[1]
    maps = rung.row.tensor_maps
    left = packed_rows(call, rung.form.a, a.pointer, a.shape, a.strides, gaps=maps, rounded=maps)
    turned = slice(None) if rung.b_by_rows else slice(None, None, -1)
    b_shape, b_strides = b.shape[turned], b.strides[turned]
    right = packed_rows(call, rung.form.b, b.pointer, b_shape, b_strides, gaps=maps, rounded=maps)
    if max(m, n, left.length) >= _MOST:
        raise PtxlabError(
            f"A {m}x{a.shape[1]} and B {b.shape[0]}x{n}: the kernels count rows, columns and bytes of a row "
            "below 2^31"
        )
    pitch = n * d.itemsize
    target = d.pointer
    if rung.row.stores_with_tma and pitch % _CHUNK:  # TMA stores rows that begin at multiples of 16 bytes
        pitch = -(-pitch // _CHUNK) * _CHUNK
        target = call.scratch(m * pitch)
    c = call.arrays.get("C")
    start = 0 if c is None else call.contiguous(c).pointer
    arguments: list[np.generic | bytes] = [
        _argument(rung, left, rung.box_a),
        _argument(rung, right, rung.box_b),
        _address(start),
        _map(Rows(target, m, pitch, pitch), rung.box_d) if rung.row.stores_with_tma else _address(target),
        np.int32(m),
        np.int32(n),
        np.int32(left.length),
    ]
    grid = rung.grid(m, n, processors())
    call.launch(rung.code, "gemm", arguments, grid=grid, block=rung.threads, shared=rung.shared)
    if target != d.pointer:
        pack(call, d.itemsize, target, (m, n), (pitch, d.itemsize), d.pointer, n)


def lies_by_rows(array: GpuArray) -> bool:
    """Whether TMA can take the rows of a matrix as they are."""
    columns, rows = array.strides[1], array.strides[0]
    return columns == array.itemsize and rows % _CHUNK == 0 and array.pointer % _CHUNK == 0 and rows > columns


def _argument(rung: _Rung, rows: Rows, box: tuple[int, int]) -> bytes:
    if not rung.row.tensor_maps:
        return _address(rows.pointer)
    return _map(rows, box, tf32=rung.form.a_type == "tf32")


@lru_cache(maxsize=1024)  # the same matrices come again and again
def _map(rows: Rows, box: tuple[int, int], *, tf32: bool = False) -> bytes:
    return encode_tensor_map(operand_map(rows, box, tf32=tf32)).tobytes()


def operand_map(rows: Rows | NDArray[np.uint8], box: tuple[int, int], *, tf32: bool) -> TensorMap:
    """The tensor map of rows of bytes, or of tf32 (in float32), which TMA rounds on the way."""
    height, length = box
    if not tf32:
        return tensor_map(rows, box, swizzle=128, l2_promotion=256)
    words = replace(rows, words=True) if isinstance(rows, Rows) else rows.view(np.float32)
    return tensor_map(words, (height, length // 4), swizzle=128, l2_promotion=256, data_type="TFLOAT32")


def _address(pointer: int) -> bytes:
    return pointer.to_bytes(8, sys.byteorder)


def packed_rows(
    call: GpuArrays,
    operand: Operand,
    pointer: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    *,
    gaps: bool,
    rounded: bool = False,
) -> Rows:
    """The rows as a kernel reads them: themselves, or a packed copy.

    TMA takes rows of any length that begin at multiples of 16 bytes (`gaps`), and rounds tf32 if it is told
    of it (`rounded`); other kernels want rows without gaps, of rounded elements.
    """
    if operand.dtype.bits < 8:
        return _packed_bits(call, operand.dtype.bits, pointer, shape, strides)
    (count, elements), size = shape, operand.dtype.bits // 8
    length, pitch = elements * size, strides[0]
    fits = strides[1] == size and pitch % _CHUNK == 0 and pitch >= length and pointer % _CHUNK == 0
    if fits and (rounded or operand.dtype.name != "tf32") and (gaps or pitch == length):
        return Rows(pointer, count, length, pitch)
    pitch = -(-length // _CHUNK) * _CHUNK
    copy = call.scratch(count * pitch)
    pack(call, size, pointer, (count, elements), strides, copy, pitch // size, operand.dtype.name == "tf32")
    return Rows(copy, count, pitch, pitch)


def _packed_bits(
    call: GpuArrays, bits: int, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> Rows:
    """Rows of elements of 1 or 4 bits, of which the array has one in a byte."""
    count, elements = shape
    pitch = -(-elements * bits // (8 * _CHUNK)) * _CHUNK
    copy = call.scratch(count * pitch)
    words = pitch // 4
    arguments: list[np.generic | bytes] = [
        _address(pointer),
        *(np.int64(stride) for stride in strides),
        np.int32(count),
        np.int32(elements),
        _address(copy),
        np.int32(words),
    ]
    code, name = _bits_code(bits, device_target())
    call.launch(code, name, arguments, grid=-(-count * words // 256), block=256)
    return Rows(copy, count, pitch, pitch)


@lru_cache(maxsize=4)
def _bits_code(bits: int, target: str) -> tuple[bytes, str]:
    name = f"pack_bits<{bits}>"
    code, lowered = compile_kernel(source_files()["pack_bits.cu"], target, (), name)
    return code, lowered or name


def pack(
    call: GpuArrays,
    size: int,
    pointer: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    target: int,
    pitch: int,
    rounded: bool = False,
) -> None:
    """Copy elements of `size` bytes into rows that are `pitch` elements long."""
    (count, elements) = shape
    tiles = -(-count // _SIDE) * -(-pitch // _SIDE)
    arguments: list[np.generic | bytes] = [
        _address(pointer),
        *(np.int64(stride // size) for stride in strides),
        _address(target),
        *(np.int32(number) for number in (count, elements, pitch)),
    ]
    call.launch(pack_source(size, rounded), "pack", arguments, grid=tiles, block=256)


def pack_source(size: int, rounded: bool = False) -> str:
    """The kernel that packs rows of elements of `size` bytes; tf32 is rounded on the way."""
    constants = [f"typedef {_WORDS[size]} Word;", f"constexpr bool ROUND_TO_TF32 = {str(rounded).lower()};"]
    return "\n".join([*constants, source_files()["pack.cu"]])
