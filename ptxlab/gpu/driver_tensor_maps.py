"""Tensor maps on the GPU: encoded by the driver, and boxes that TMA copies into shared memory."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int, as_integers
from ..errors import PtxlabError, quoted
from ..isa.targets import chip_number
from ..memory.im2col import Im2colMap
from ..memory.tensor_maps import TensorMap
from .cuda_python import load
from .device import check_device
from .launcher import Argument, DeviceArrays, Out, launch

#: Shared memory of the kernel, without the barrier: with it, less than the 48 KiB of static shared memory.
_SHARED_BYTES = 40 << 10
_FILL = 0xA5  # every byte of shared memory before the copy
_MAP_BYTES = 128
_FILLS = {"zero": "NONE", "nan": "NAN_REQUEST_ZERO_FMA"}
_SWIZZLES: dict[int | str, str] = {0: "NONE", 32: "32B", 64: "64B", 128: "128B"}

_KERNEL = """\
// One box into shared memory and from there out, with what was there before around it.
extern "C" __global__ void tma_load(
    const unsigned char* map, const int* starts, unsigned char* out,
    int address, int box_bytes, int out_bytes, int count)
{{
    __shared__ __align__(1024) unsigned char memory[{shared}];
    __shared__ __align__(8) unsigned long long barrier;
    const unsigned int bar = (unsigned int)__cvta_generic_to_shared(&barrier);
    const unsigned int box = (unsigned int)__cvta_generic_to_shared(memory) + address;
    for (int i = blockIdx.x; i < count; i += gridDim.x) {{
        for (int j = threadIdx.x; j < {shared}; j += blockDim.x) memory[j] = {fill};
        if (threadIdx.x == 0) {{
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(bar) : "memory");
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        }}
        __syncthreads();
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {{
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                :: "r"(bar), "r"(box_bytes) : "memory");
            const int* at = starts + i * {rank};
            asm volatile(
                "cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                "[%0], [%1, {{{coordinates}}}], [%2];"
                :: "r"(box), "l"(map), "r"(bar), {values} : "memory");
        }}
        unsigned int done = 0;
        while (!done) {{
            asm volatile(
                "{{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\\n"
                "selp.u32 %0, 1, 0, p; }}"
                : "=r"(done) : "r"(bar) : "memory");
        }}
        __syncthreads();
        for (int j = threadIdx.x; j < out_bytes; j += blockDim.x) {{
            out[(long long)i * out_bytes + j] = memory[j];
        }}
        __syncthreads();
        if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(bar) : "memory");
        __syncthreads();
    }}
}}
"""


def encode_tensor_map(tensor: TensorMap, pointer: int | None = None) -> NDArray[np.uint8]:
    """The 128 bytes of the CUtensorMap for an array at this address of the GPU's memory.

    An array that is on the GPU already needs no `pointer`. A kernel takes the bytes as a `const
    __grid_constant__ CUtensorMap`, or from memory.

    >>> import ptxlab
    >>> tensor = ptxlab.tensor_map(np.zeros((64, 64), dtype=np.float16), box=(64, 64), swizzle=128)
    >>> encode_tensor_map(tensor, pointer=1 << 32).shape   # doctest: +SKIP
    (128,)
    """
    _check_tensor(tensor)
    if pointer is None:
        pointer = tensor.pointer
    if pointer is None:
        raise PtxlabError("pointer: the array is in the host's memory; give the address of a copy on the GPU")
    pointer = as_int(pointer, "pointer")
    if pointer % tensor.global_alignment or not 0 <= pointer < 1 << 64:
        raise PtxlabError(
            f"pointer {quoted(pointer)}: TMA takes arrays at multiples of {tensor.global_alignment} bytes"
        )
    _check_tma(tensor)
    driver = load("cuda.bindings.driver")
    types, swizzles = driver.CUtensorMapDataType, driver.CUtensorMapSwizzle
    strides = [driver.cuuint64_t(stride) for stride in tensor.strides or (16,)]  # 1D: unused, but not NULL
    interleave = f"{tensor.interleave}B" if tensor.interleave else "NONE"
    promotion = f"L2_{tensor.l2_promotion}B" if tensor.l2_promotion else "NONE"
    array = (
        getattr(types, f"CU_TENSOR_MAP_DATA_TYPE_{tensor.data_type}"),
        tensor.rank,
        pointer,
        [driver.cuuint64_t(size) for size in tensor.dimensions],
        strides,
    )
    modes = (
        [driver.cuuint32_t(step) for step in tensor.element_stride_dimensions],
        getattr(driver.CUtensorMapInterleave, f"CU_TENSOR_MAP_INTERLEAVE_{interleave}"),
        getattr(swizzles, f"CU_TENSOR_MAP_SWIZZLE_{_SWIZZLES.get(tensor.swizzle_mode, tensor.swizzle_mode)}"),
        getattr(driver.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_{promotion}"),
        getattr(driver.CUtensorMapFloatOOBfill, f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{_FILLS[tensor.fill]}"),
    )
    if isinstance(tensor, Im2colMap):
        pixels, channels = tensor.box
        corners = [list(corner[::-1]) for corner in (tensor.lower, tensor.upper)]
        code, encoded = driver.cuTensorMapEncodeIm2col(*array, *corners, channels, pixels, *modes)
    else:
        box = [driver.cuuint32_t(size) for size in tensor.box_dimensions]
        code, encoded = driver.cuTensorMapEncodeTiled(*array, box, *modes)
    if int(code) != 0:
        raise PtxlabError(f"the driver does not encode this tensor map ({code.name})")
    words = np.array([int(word) for word in encoded.opaque], dtype="<u8")
    return words.view(np.uint8)


def run_tensor_map(
    tensor: TensorMap, starts: Sequence[Sequence[int]], *, address: int = 0, extra: int = 0
) -> NDArray[np.uint8]:
    """What TMA writes for boxes that start at these elements, [boxes, bytes]; `TensorMap.load` on the GPU.

    `address` is the offset of the box in shared memory; the bytes begin there. Bytes that TMA did not write
    are 0xA5; `extra` of them follow the box.
    """
    _check_tensor(tensor)
    if isinstance(tensor, Im2colMap):
        raise PtxlabError("tensor: found a map of im2col; boxes are copied here, of a ptxlab.tensor_map")
    coordinates = as_integers(starts, "starts")
    if coordinates.ndim != 2 or coordinates.shape[1] != tensor.axes:
        raise PtxlabError(f"starts of shape {coordinates.shape}: this array takes [boxes, {tensor.axes}]")
    if not len(coordinates):
        raise PtxlabError("starts: there is at least one")
    wrong = (coordinates != coordinates.astype(np.int32)).any(axis=1)
    wrong |= coordinates[:, -1] % tensor.start_unit != 0
    if wrong.any():
        tensor.check_start(tuple(coordinates[wrong][0].tolist()))
    address, extra = tensor.as_address(address), as_int(extra, "extra")
    end = address + tensor.size + extra
    if extra < 0 or end > _SHARED_BYTES:
        raise PtxlabError(
            f"a box that ends at byte {quoted(end)}: the kernel has {_SHARED_BYTES} of shared memory"
        )
    _check_tma(tensor)
    source = _KERNEL.format(
        shared=_SHARED_BYTES,
        fill=_FILL,
        rank=tensor.rank,
        coordinates=", ".join(f"%{3 + axis}" for axis in range(tensor.rank)),
        values=", ".join(f'"r"(at[{axis}])' for axis in range(tensor.rank)),
    )
    out = np.empty((len(coordinates), end), dtype=np.uint8)
    with contextlib.closing(DeviceArrays()) as arrays:
        pointer = tensor.pointer
        if pointer is None:
            pointer = arrays.address(_with_gaps(tensor.array))
        encoded = encode_tensor_map(tensor, pointer)
        places = np.ascontiguousarray(coordinates[:, : tensor.rank][:, ::-1], dtype=np.int32)
        arguments: list[Argument] = [encoded, places, Out(out)]
        arguments += [np.int32(number) for number in (address, tensor.expect_tx, end, len(out))]
        launch(source, "tma_load", arguments, grid=min(len(out), 1024), block=128)
    return out[:, address:]


def _with_gaps(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of an array from its first element to its last, including the gaps between rows."""
    size = sum((count - 1) * step for count, step in zip(array.shape, array.strides, strict=True))
    content = np.zeros(size + array.itemsize, dtype=np.uint8)
    view = np.lib.stride_tricks.as_strided(
        content[: array.itemsize].view(array.dtype), array.shape, array.strides
    )
    view[...] = array
    return content


def _check_tensor(tensor: object) -> None:
    if not isinstance(tensor, TensorMap):
        raise PtxlabError(f"found {quoted(tensor)}; ptxlab.tensor_map makes a tensor map")


def _check_tma(tensor: TensorMap) -> None:
    """Refuse a GPU without TMA, or whose TMA does not support the map."""
    gpu = check_device()
    if chip_number(gpu.target) < 90:
        raise PtxlabError(f"{gpu.name} is {gpu.target}, which has no TMA: sm_90 and later have it")
    if not tensor.supports(gpu.target):
        raise PtxlabError(
            f"{gpu.name} is {gpu.target}, whose TMA loads no {tensor.data_type} with swizzle "
            f"{quoted(tensor.swizzle_mode)}: elements of 4 and 6 bits and swizzled chunks of 32 and 64 bytes "
            "came with sm_100"
        )
