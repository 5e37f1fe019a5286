"""`matmul` of matrices that are on the GPU already: nothing goes through the host, and nothing waits."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ..errors import PtxlabError, listing
from ..gpu.arrays import GpuArray, GpuArrays, gpu_arrays
from ..gpu.codegen.product import PRODUCT, product_source
from ..gpu.device import check_device
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from .gemm.sparse import CompressedMatrix, compress_arrays, has_kernel, multiply_compressed

__all__ = ["element_types", "matmul_arrays", "matmul_compressed"]

#: Types of fewer than 8 bits as others hold their values, one in a byte; tf32 is in a float32.
_HELD_AS = {"s4": "int8", "u4": "uint8", "b1": "uint8", "tf32": "float32"}
_MOST_BLOCKS = 1 << 16
_BLOCK = 128


def element_types(operand: Operand) -> str:
    """The element type, by NumPy's or ml_dtypes' name, of a matrix for this operand.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32")
    >>> element_types(ins.a), element_types(ins.b), element_types(ins.d)
    ('float8_e4m3fn', 'float8_e5m2', 'float32')
    """
    known = _HELD_AS.get(operand.dtype.name)
    return known if known is not None else np.dtype(operand.dtype.numpy_type).name


def matmul_arrays(ins: MmaForm, call: GpuArrays) -> Any:
    """A B + C of the arrays A, B, C, scale_a, scale_b of a call; D is of the same library, on its stream."""
    a, b, c = (call.arrays.get(name) for name in "ABC")
    if a is None or b is None:
        raise PtxlabError("A and B: both are needed")
    _check(ins, call)
    (m, k), (b_rows, n) = a.shape, b.shape
    if b_rows != k:
        raise PtxlabError(f"A {m}x{k} and B {b_rows}x{n}: A needs as many columns as B has rows")
    if c is not None and c.shape != (m, n):
        raise PtxlabError(f"C is {c.shape[0]}x{c.shape[1]}; A {m}x{k} times B {k}x{n} needs {m}x{n}")
    check_device(ins)
    if ins.sparse:
        if not has_kernel(ins):
            raise PtxlabError(
                f"{ins.mnemonic} on arrays on the GPU: there is no sparse kernel of it, so pass NumPy arrays"
            )
        return multiply_compressed(ins, call, compress_arrays(ins, call), b, c)
    d = call.empty((m, n), element_types(ins.d))
    if d.size:
        tiles = -(-m // ins.d.shape[0]) * -(-n // ins.n)
        matrices = [_struct(array) for array in (a, b, c, *_scales(ins, call, m, k, n))]
        blocks = -(-tiles // (_BLOCK // ins.lanes))
        call.launch(
            product_source(ins), PRODUCT, [*matrices, d], grid=min(blocks, _MOST_BLOCKS), block=_BLOCK
        )
    return d.owner


def matmul_compressed(
    ins: MmaForm, A: CompressedMatrix, B: object, C: object = None, stream: object = None
) -> Any:
    """A B + C with an A that was compressed on the GPU; D is of the library of A's arrays."""
    call = gpu_arrays({"A": A.stored, "B": B, "C": C}, stream)
    assert call is not None
    with call:
        _check(ins, call)
        b, c = call.arrays["B"], call.arrays.get("C")
        shape = (A.shape[0], b.shape[1])
        if c is not None and c.shape != shape:
            raise PtxlabError(f"C is {c.shape[0]}x{c.shape[1]}; the product is {shape[0]}x{shape[1]}")
        return multiply_compressed(ins, call, A, b, c)


def _check(ins: MmaForm, call: GpuArrays) -> None:
    """Refuse what is no matrix, and elements of another type: on the GPU nothing is converted."""
    operands = {"A": ins.a, "B": ins.b, "C": ins.c, "scale_a": ins.scale_a, "scale_b": ins.scale_b}
    for name, array in call.arrays.items():
        operand = operands[name]
        if operand is None:
            raise PtxlabError(f"{name}: {ins.mnemonic} has no block scales")
        if len(array.shape) != 2:
            raise PtxlabError(f"{name}: found shape {array.shape}; it takes a matrix [rows, columns]")
        right = element_types(operand)
        if array.type_name != right:
            hint = ""
            if call.library == "cupy" and not hasattr(np, right):
                hint = f"; CuPy lacks it, and torch.from_dlpack({name}).view(torch.{right}) copies nothing"
            raise PtxlabError(
                f"{name}: found {array.type_name}; {operand.dtype} takes {right}, since nothing is converted "
                f"on the GPU{hint}"
            )


def _scales(ins: MmaForm, call: GpuArrays, m: int, k: int, n: int) -> list[GpuArray | None]:
    """Block scales, None for all 1."""
    scales = []
    for name, operand in (("scale_a", ins.scale_a), ("scale_b", ins.scale_b)):
        if operand is None:
            continue
        array = call.arrays.get(name)
        along = operand.shape[1] if name == "scale_a" else operand.shape[0]
        block = ins.k // along
        blocks = -(-k // block)
        shape = (m, blocks) if name == "scale_a" else (blocks, n)
        if array is not None and array.shape != shape:
            raise PtxlabError(
                f"{name} is {listing(array.shape)}; one scale for every {block} of K makes it "
                f"{shape[0]}x{shape[1]}"
            )
        scales.append(array)
    return scales


def _struct(array: GpuArray | None) -> bytes:
    """The bytes of the kernel's struct Matrix."""
    if array is None:
        return bytes(32)
    steps = [stride // array.itemsize for stride in array.strides]
    return struct.pack("<QqqII", array.pointer, *steps, *array.shape)
