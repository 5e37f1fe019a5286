"""Matrices on the GPU as operands: which element types they have, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..gpu.arrays import GpuArray, GpuArrays, ResultArray
from ..gpu.cuda_python import check, load
from ..isa.matrix_operand import MatrixOperand
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..memory.gpu_arrays import ArrayLayout, gpu_layout

_STREAM = 0  # the default one

#: Types of fewer than 8 bits as others hold their values, one in a byte; tf32 is in a float32.
_HELD_AS = {"s4": "int8", "u4": "uint8", "b1": "uint8", "tf32": "float32"}


def element_types(operand: MatrixOperand) -> str:
    """The element type, by NumPy's or ml_dtypes' name, of a matrix for this operand.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32")
    >>> element_types(ins.a), element_types(ins.b), element_types(ins.d)
    ('float8_e4m3fn', 'float8_e5m2', 'float32')
    """
    known = _HELD_AS.get(operand.dtype.name)
    return known if known is not None else np.dtype(operand.dtype.numpy_type).name


def operands_by_name(ins: MmaForm) -> dict[str, Operand | None]:
    """The operands under the names of `matmul`'s arguments."""
    return {"A": ins.a, "B": ins.b, "C": ins.c, "scale_a": ins.scale_a, "scale_b": ins.scale_b}


def check_elements(ins: MmaForm, call: GpuArrays) -> None:
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
        right = element_types(operand)
        if array.type_name != right:
            hint = ""
            if call.library == "cupy" and not hasattr(np, right):
                hint = f"; CuPy lacks it, and torch.from_dlpack({name}).view(torch.{right}) copies nothing"
            raise PtxlabError(
                f"{name}: found {array.type_name}; {operand.dtype} takes {right}, since nothing is converted "
                f"on the GPU{hint}"
            )


def check_matrices(ins: MmaForm, call: GpuArrays) -> tuple[int, int, int]:
    """M, N and K; refuses matrices that do not fit the instruction or each other."""
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


def copy_to_gpu(ins: MmaForm, codes: Mapping[str, NDArray[Any]]) -> GpuArrays:
    """Matrices of element codes, under the names of `matmul`'s arguments, as arrays on the GPU."""
    driver = load("cuda.bindings.driver")
    load("cuda.core").Device(0).set_current()  # a context belongs to a thread, and this one may be new
    operands = operands_by_name(ins)
    arrays = {}
    for name, matrix in codes.items():
        operand = operands[name]
        if operand is None:
            raise PtxlabError(f"{name}: {ins.mnemonic} has no block scales")
        content = np.ascontiguousarray(matrix)
        copy = ResultArray(content.shape, content.dtype.name, _STREAM)
        allocated = gpu_layout(copy)
        assert allocated is not None
        layout = ArrayLayout(
            allocated.shape, allocated.strides, allocated.itemsize, element_types(operand), allocated.pointer
        )
        if content.nbytes:
            check(
                driver.cuMemcpyHtoD(allocated.pointer, content.ctypes.data, content.nbytes),
                "copying to the GPU",
            )
        arrays[name] = GpuArray(copy, "other", layout)
    return GpuArrays(arrays, "other", _STREAM)


def copy_from_gpu(array: object, element: type[np.generic]) -> NDArray[Any]:
    """The elements of an array on the GPU, whose bits are those of this type."""
    layout = gpu_layout(array)
    assert layout is not None
    result = np.empty(layout.shape, dtype=element)
    if result.nbytes:
        driver = load("cuda.bindings.driver")
        check(driver.cuMemcpyDtoH(result.ctypes.data, layout.pointer, result.nbytes), "copying from the GPU")
    return result
