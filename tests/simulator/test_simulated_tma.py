"""Simulated TMA beyond tiles: columns of pixels, gathered rows, maps that kernels change; reserved memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.memory import im2col_map
from tests.simulator.kernel_cases import CASES
from tests.texts import replaced

GOLDEN = Path(__file__).parents[1] / "golden"
_TYPES = {"UINT8": np.uint8, "FLOAT16": np.float16, "FLOAT32": np.float32, "TFLOAT32": np.float32,
          "UINT64": np.uint64}  # fmt: skip


def _pictures(column: dict[str, Any]) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(column["seed"])
    kind = np.dtype(_TYPES[column["type"]])
    size = int(np.prod(column["shape"]))
    if column["type"] == "TFLOAT32":
        return rng.standard_normal(size).astype(np.float32).reshape(column["shape"])
    return rng.integers(0, 256, size * kind.itemsize, dtype=np.uint8).view(kind).reshape(column["shape"])


def test_columns_of_pixels_are_those_of_an_h200() -> None:
    recorded = json.loads((GOLDEN / "im2col.json").read_text(encoding="ascii"))["columns"]
    different = []
    for number, column in enumerate(recorded):
        tensor = im2col_map(
            _pictures(column), column["pixels"], column["channels"], column["lower"], column["upper"],
            column["swizzle"], element_strides=column["element_strides"], fill=column["fill"],
            data_type=column["type"],
        )  # fmt: skip
        for start, digest in zip(column["starts"], column["digest"], strict=True):
            content, written = tensor.image(*start)
            memory = np.full(column["room"], 0xA5, dtype=np.uint8)
            memory[: len(content)][written] = content[written]
            if hashlib.sha256(memory.tobytes()).hexdigest()[:10] != digest:
                different.append((number, start))
    assert different == []
    assert sum(len(column["starts"]) for column in recorded) == 640


_FOUR_ROWS = """
struct __align__(64) TensorMap { unsigned char bytes[128]; };
extern "C" __global__ void rows(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to,
                                const int* index) {
    __shared__ __align__(1024) unsigned char tile[4 * 128];
    __shared__ unsigned long long bar;
    unsigned b = (unsigned)__cvta_generic_to_shared(&bar), t = (unsigned)__cvta_generic_to_shared(tile);
    if (threadIdx.x) return;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];"
        :: "r"(t), "l"(&from), "r"(16), "r"(index[0]), "r"(index[1]), "r"(index[2]), "r"(index[3]), "r"(b)
        : "memory");
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }"
        :: "r"(b) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
        "[%0, {%1, %2, %3, %4, %5}], [%6];"
        :: "l"(&to), "r"(0), "r"(index[4]), "r"(index[5]), "r"(index[6]), "r"(index[7]), "r"(t) : "memory");
    asm volatile("cp.async.bulk.commit_group;\\ncp.async.bulk.wait_group 0;" ::: "memory");
}
"""


@pytest.mark.parametrize("swizzle", [0, 64, 128])
def test_four_rows_are_gathered_and_scattered(swizzle: int) -> None:
    """PTX ISA, "tile::gather4": no H200 has it."""
    rng = np.random.default_rng(swizzle)
    source = rng.standard_normal((40, 64)).astype(ml_dtypes.bfloat16)
    target = np.zeros((20, 32), dtype=ml_dtypes.bfloat16)
    index = np.array([7, 39, -1, 7, 3, 19, 0, 25], dtype=np.int32)
    maps = [ptxlab.tensor_map(array, (1, 32), swizzle) for array in (source, target)]
    result = ptxlab.kernel(_FOUR_ROWS, target="sm_100a").simulate(1, 32, *maps, index)
    expected = np.zeros_like(target)
    for row, to in zip(index[:4], index[4:], strict=True):
        if to < 20:
            expected[to] = source[row, 16:48] if 0 <= row < 40 else 0
    assert (target.view(np.uint16) == expected.view(np.uint16)).all() and result.hazards == []


_ACQUIRE = (
    'asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" '
    ':: "l"(maps + 2 * g + i) : "memory");'
)
_RELEASE = 'asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");'


def test_changed_maps_are_fenced() -> None:
    case = CASES["grouped_maps"]
    source = case.source()
    assert _ACQUIRE in source
    in_place = "tensormap.replace.tile.global_dim.global.b1024.b32 [%0], 1, %1;"
    again = f'asm volatile("{in_place}" :: "l"(maps + 2 * g + i), "r"(rows) : "memory");'
    for change, remedy in (
        (_ACQUIRE, ""),
        (";", "execute fence.proxy.tensormap::generic.acquire on the map's address before"),
        (f"{{ {again} {_ACQUIRE} }}", "execute fence.proxy.tensormap::generic.release after line 40"),
        (f"{{ {again} {_RELEASE} {_ACQUIRE} }}", ""),
    ):
        kernel = ptxlab.kernel(replaced(source, _ACQUIRE, change), "grouped_maps")
        hazards = kernel.simulate(case.grid, case.block, *case.inputs()).hazards
        fences = [hazard for hazard in hazards if hazard.kind == "missing proxy fence"]
        assert [hazard.remedy for hazard in fences] == ([remedy] * 2 if remedy else [])


_RESERVED = ("reserved_smem_offset_begin", "reserved_smem_offset_end", "reserved_smem_offset_cap",
             "total_smem_size", "dynamic_smem_size", "aggr_smem_size")  # fmt: skip


@pytest.mark.parametrize(
    ("static", "dynamic", "expected"),
    [
        (16, 0, [0, 288, 1024, 128, 0, 1040]),
        (4096, 0, [0, 288, 1024, 4096, 0, 5120]),
        (16, 100000, [0, 288, 1024, 100096, 100000, 101040]),
    ],
)
def test_sizes_of_shared_memory_are_those_of_an_h200(static: int, dynamic: int, expected: list[int]) -> None:
    lines = "\n".join(
        f"mov.b32 %r0, %{name}; st.global.b32 [%d0+{4 * i}], %r0;" for i, name in enumerate(_RESERVED)
    )
    text = f""".version 8.1
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {{
.reg .b32 %r<2>; .reg .b64 %d<2>; .shared .align 16 .b8 s[{static}];
ld.param.u64 %d0, [out];
{lines}
mov.u32 %r1, s;
ret; }}"""
    out = np.zeros(len(_RESERVED), dtype=np.uint32)
    ptxlab.kernel(text).simulate(1, 1, out, shared=dynamic)
    assert out.tolist() == expected


def test_maps_that_do_not_fit_are_refused() -> None:
    pictures = np.zeros((2, 6, 7, 8), dtype=np.uint32)
    column = im2col_map(pictures, 24, 8, (0, -1), (-2, 0))
    tiled = ptxlab.tensor_map(np.zeros((20, 64), np.float16), (4, 32))
    rows = ptxlab.tensor_map(np.zeros((20, 64), np.float16), (1, 32))
    kernel, index = ptxlab.kernel(_FOUR_ROWS, target="sm_100a"), np.zeros(8, np.int32)
    refusals: dict[str, Callable[[], object]] = {
        "start 7 of axis 2: the bounding box has -1 to 6": lambda: column.image(0, 0, 0, 0, 7, 0),
        "offsets .0, 300.: an array of 4 axes has 0 to 255": lambda: column.image(0, 300, 0, 0, 0, 0),
        "lower=.0, 9., upper=.0, 0.: the bounding box has no pixel along axis 2":
            lambda: im2col_map(pictures, 24, 8, (0, 9), (0, 0)),
        r"the tensor map has a box of \(4, 32\); tile::gather4 and tile::scat":
            lambda: kernel.simulate(1, 32, tiled, tiled, index),
        "the tensor map is of im2col, and the instruction takes one that is tile":
            lambda: kernel.simulate(1, 32, column, rows, index),
    }  # fmt: skip
    for sentence, ask in refusals.items():
        with pytest.raises(PtxlabError, match=sentence):
            ask()


_PADDED = """
struct __align__(64) TensorMap { unsigned char bytes[128]; };
extern "C" __global__ void padded(const __grid_constant__ TensorMap map, int written) {
    __shared__ __align__(128) unsigned short tile[16 * 16];
    for (int i = threadIdx.x; i < 16 * 16; i += 32)
        if (i % 16 < written) tile[i] = i;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x) return;
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {0, 4}], [%1];"
                 :: "l"(&map), "r"((unsigned)__cvta_generic_to_shared(tile)) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
"""


def test_a_store_reads_only_what_its_array_takes() -> None:
    """A box that is wider than the array keeps rows apart in shared memory; nobody writes between them."""
    kernel = ptxlab.kernel(_PADDED)
    array = np.zeros((16, 16), dtype=np.uint16)
    tensor = ptxlab.tensor_map(array[:, :12], (16, 16))
    assert kernel.simulate(1, 32, tensor, 12).hazards == []
    assert (array[4:, :12] == np.arange(192).reshape(12, 16)[:, :12]).all()
    assert not array[:4].any() and not array[:, 12:].any()
    (hazard,) = kernel.simulate(1, 32, tensor, 11).hazards
    assert hazard.kind == "uninitialised memory" and "22..23 of tile" in hazard.sentence
