"""`matmul` of matrices that are on the GPU already: nothing goes through the host, and nothing waits."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from ..errors import PtxlabError, listing
from ..gpu.arrays import GpuArray, GpuArrays, gpu_arrays
from ..gpu.codegen.product import PRODUCT, product_source
from ..gpu.device import check_device, device_target
from ..isa.mma import MmaForm
from .choose import best_rung
from .compressed import CompressedMatrix, compress_arrays
from .device import lies_by_rows, multiply_arrays
from .device_operands import check_elements, check_matrices, copy_from_gpu, copy_to_gpu, element_types
from .sparse import has_kernel, multiply_compressed

_MOST_BLOCKS = 1 << 16
_BLOCK = 128


def matmul_codes(ins: MmaForm, codes: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """The same for element codes on the host, which are copied there; gives the codes of D."""
    check_device(ins)
    with copy_to_gpu(ins, codes) as call:
        product = matmul_arrays(ins, call)
    return copy_from_gpu(product, ins.d.dtype.code_type)


def matmul_arrays(ins: MmaForm, call: GpuArrays) -> Any:
    """A B + C of the arrays A, B, C, scale_a, scale_b of a call; D is of the same library, on its stream."""
    m, n, k = check_matrices(ins, call)
    a, b, c = (call.arrays.get(name) for name in "ABC")
    check_device(ins)
    if ins.sparse:
        if not has_kernel(ins):
            raise PtxlabError(
                f"{ins.mnemonic} on arrays on the GPU: there is no sparse kernel for it; pass NumPy arrays"
            )
        return multiply_compressed(ins, call, compress_arrays(ins, call), call.arrays["B"], c)
    d = call.empty((m, n), element_types(ins.d))
    rung = None
    if d.size and k:
        rung = best_rung(ins, device_target(), m, n, b_by_rows=lies_by_rows(call.arrays["B"]))
    if rung is not None:
        multiply_arrays(rung, call, d)
    elif d.size:
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
    call = gpu_arrays({"stored": A.stored, "B": B, "C": C}, stream)
    assert call is not None
    with call:
        check_elements(ins, call)
        return multiply_compressed(ins, call, A, call.arrays["B"], call.arrays.get("C"))


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
