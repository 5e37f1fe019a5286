"""Matrices on the GPU as the kernels read them: packed rows, tensor maps, and checks of their types."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..gpu.arrays import GpuArray, GpuArrays, ResultArray
from ..gpu.compiler import compile_kernel
from ..gpu.cuda_python import check, load
from ..gpu.device import device_target
from ..gpu.driver_tensor_maps import encode_tensor_map
from ..isa.mma import Instruction
from ..isa.operand import MatrixOperand, Operand
from ..memory import TensorMap, tensor_map
from ..memory.array_interface import gpu_layout
from .source import source_files

_CHUNK = 16  # bytes: rows begin at multiples of it
_SIDE = 64  # rows and columns of the tiles of pack.cu
_WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int"}


@dataclass(frozen=True)
class Rows:
    """Rows in the GPU's memory: their number, length and pitch in bytes; of bytes, or of 4-byte words."""

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


def lies_by_rows(array: GpuArray) -> bool:
    """Whether TMA can read the rows of a matrix in place."""
    columns, rows = array.strides[1], array.strides[0]
    return columns == array.itemsize and rows % _CHUNK == 0 and array.pointer % _CHUNK == 0 and rows > columns


@lru_cache(maxsize=1024)  # programs mostly multiply the same matrices again
def map_bytes(rows: Rows, box: tuple[int, int], *, tf32: bool = False) -> bytes:
    """The tensor map of rows, as a kernel's argument."""
    return encode_tensor_map(operand_map(rows, box, tf32=tf32)).tobytes()


def operand_map(rows: Rows | NDArray[np.uint8], box: tuple[int, int], *, tf32: bool) -> TensorMap:
    """The tensor map of rows of bytes, or of tf32 (in float32), which TMA rounds on the way."""
    height, length = box
    if not tf32:
        return tensor_map(rows, box, swizzle=128, l2_promotion=256)
    words = replace(rows, words=True) if isinstance(rows, Rows) else rows.view(np.float32)
    return tensor_map(words, (height, length // 4), swizzle=128, l2_promotion=256, data_type="TFLOAT32")


def address_bytes(pointer: int) -> bytes:
    """An address, as a kernel's argument."""
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
    """The rows as a kernel reads them: in place, or a packed copy.

    TMA takes rows of any length that begin at multiples of 16 bytes (`gaps`), and can round to tf32
    (`rounded`); other kernels need contiguous rows of rounded elements.
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
    """Packed rows of elements of 1 or 4 bits; the array has one element per byte."""
    count, elements = shape
    pitch = -(-elements * bits // (8 * _CHUNK)) * _CHUNK
    copy = call.scratch(count * pitch)
    words = pitch // 4
    arguments: list[np.generic | bytes] = [
        address_bytes(pointer),
        *(np.int64(stride) for stride in strides),
        np.int32(count),
        np.int32(elements),
        address_bytes(copy),
        np.int32(words),
    ]
    code, name = template_code("pack_bits.cu", f"pack_bits<{bits}>", device_target())
    call.launch(code, name, arguments, grid=-(-count * words // 256), block=256)
    return Rows(copy, count, pitch, pitch)


@lru_cache(maxsize=32)
def template_code(file: str, name: str, target: str) -> tuple[bytes, str]:
    """The machine code of a template with its arguments, and the mangled name."""
    code, lowered = compile_kernel(source_files()[file], target, (), name)
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
        address_bytes(pointer),
        *(np.int64(stride // size) for stride in strides),
        address_bytes(target),
        *(np.int32(number) for number in (count, elements, pitch)),
    ]
    call.launch(pack_source(size, rounded), "pack", arguments, grid=tiles, block=256)


def pack_source(size: int, rounded: bool = False) -> str:
    """The kernel that packs rows of elements of `size` bytes; tf32 is rounded on the way."""
    constants = [f"typedef {_WORDS[size]} Word;", f"constexpr bool ROUND_TO_TF32 = {str(rounded).lower()};"]
    return "\n".join([*constants, source_files()["pack.cu"]])


# -- operands ------------------------------------------------------------------------------------------------

_STREAM = 0  # the default one

#: Array types for types that NumPy lacks: those of fewer than 8 bits take a byte each, tf32 a float32.
_ARRAY_TYPES = {"s4": "int8", "u4": "uint8", "b1": "uint8", "tf32": "float32"}


def element_types(operand: MatrixOperand) -> str:
    """The element type, by NumPy's or ml_dtypes' name, of a matrix for this operand.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32")
    >>> element_types(ins.a), element_types(ins.b), element_types(ins.d)
    ('float8_e4m3fn', 'float8_e5m2', 'float32')
    """
    name = operand.dtype.name
    return _ARRAY_TYPES[name] if name in _ARRAY_TYPES else np.dtype(operand.dtype.numpy_type).name


def operands_by_name(ins: Instruction) -> dict[str, Operand | None]:
    """The operands under the names of `matmul`'s arguments."""
    return {"A": ins.a, "B": ins.b, "C": ins.c, "scale_a": ins.scale_a, "scale_b": ins.scale_b}


def check_elements(ins: Instruction, call: GpuArrays) -> None:
    """Refuse arrays that are not matrices, and elements of another type: on the GPU nothing is converted."""
    operands = operands_by_name(ins)
    for name, array in call.arrays.items():
        if name not in operands:
            continue
        operand = operands[name]
        if operand is None:
            raise PtxlabError(f"{name}: {ins.mnemonic} has no block scales")
        if len(array.shape) != 2:
            raise PtxlabError(f"{name}: found shape {array.shape}; it takes a matrix [rows, columns]")
        type_name = element_types(operand)
        if array.type_name != type_name:
            hint = ""
            if call.library == "cupy" and not hasattr(np, type_name):
                view = f"torch.from_dlpack({name}).view(torch.{type_name})"
                hint = f"; CuPy lacks it, and {view} copies nothing"
            raise PtxlabError(
                f"{name}: found {array.type_name}; {operand.dtype} takes {type_name}, since nothing is "
                f"converted on the GPU{hint}"
            )


def check_matrices(ins: Instruction, call: GpuArrays) -> tuple[int, int, int]:
    """M, N and K of matrices that must fit the instruction and each other."""
    check_elements(ins, call)
    a, b, c = (call.arrays.get(name) for name in "ABC")
    if a is None or b is None:
        raise PtxlabError("A and B: both are needed")
    (m, k), (b_rows, n) = a.shape, b.shape
    if b_rows != k:
        raise PtxlabError(f"A {m}x{k} and B {b_rows}x{n}: A needs as many columns as B has rows")
    if c is not None and c.shape != (m, n):
        raise PtxlabError(f"C is {c.shape[0]}x{c.shape[1]}; A {m}x{k} times B {k}x{n} needs {m}x{n}")
    return m, n, k


def copy_to_gpu(ins: Instruction, codes: Mapping[str, NDArray[Any]]) -> GpuArrays:
    """Matrices of element codes, under the names of `matmul`'s arguments, as arrays on the GPU."""
    driver = load("cuda.bindings.driver")
    load("cuda.core").Device(0).set_current()  # contexts belong to threads, and this thread may be new
    operands = operands_by_name(ins)
    arrays = {}
    for name, matrix in codes.items():
        operand = operands[name]
        assert operand is not None
        content = np.ascontiguousarray(matrix)
        copy = ResultArray(content.shape, content.dtype.name, _STREAM)
        layout = gpu_layout(copy)
        assert layout is not None
        if content.nbytes:
            check(
                driver.cuMemcpyHtoD(layout.pointer, content.ctypes.data, content.nbytes),
                "copying to the GPU",
            )
        arrays[name] = GpuArray.of(copy, "other", layout._replace(type_name=element_types(operand)))
    return GpuArrays(arrays, "other", _STREAM)


def copy_from_gpu(array: object, element: type[np.generic]) -> NDArray[Any]:
    """The elements of an array on the GPU, as this type of the same size."""
    layout = gpu_layout(array)
    assert layout is not None
    result = np.empty(layout.shape, dtype=element)
    if result.nbytes:
        driver = load("cuda.bindings.driver")
        check(driver.cuMemcpyDtoH(result.ctypes.data, layout.pointer, result.nbytes), "copying from the GPU")
    return result
