"""What other compilers hand over: spellings and launches of Triton, Numba, CuTe DSL and newer NVRTCs."""

from __future__ import annotations

import math
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gpu
from ptxlab.gpu.compiler import link_modules
from ptxlab.simulator import Result
from ptxlab.simulator import kernel as kernel_module
from tests.texts import filled, replaced

from .kernel_cases import CASES, Case, digest, recorded

_HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"


# -- parameters ----------------------------------------------------------------------------------------------

#: As Triton and NVRTC for sm_100a write them: the alignment behind .ptr is that of what is pointed to.
_POINTERS = (
    _HEAD
    + """
.visible .entry add(
  .param .u32 add_param_0,
  .param .u64 .ptr .global .align 1 add_param_1,
  .param .u8 add_param_2,
  .param .u64 .ptr .align 1 add_param_3
) {
  .reg .b32 %r<6>; .reg .b64 %rd<6>;
  ld.param.u32 %r1, [add_param_0];
  ld.param.u64 %rd1, [add_param_1];
  ld.param.u8 %r2, [add_param_2];
  ld.param.u64 %rd2, [add_param_3];
  mov.u32 %r3, %tid.x;
  mul.wide.u32 %rd3, %r3, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r4, [%rd4];
  add.u32 %r4, %r4, %r1;
  add.u32 %r4, %r4, %r2;
  st.global.u32 [%rd5], %r4;
  ret;
}
"""
)

#: Addresses of parameters have 32 bits in their own space; `cvta.param` makes generic ones of them.
_ADDRESSES = (
    _HEAD
    + """
.visible .entry read(.param .u64 out, .param .align 16 .b8 k_param_1[32]) {
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [out];
  mov.b32 %r1, k_param_1;
  cvt.u64.u32 %rd2, %r1;
  cvta.param.u64 %rd3, %rd2;
  ld.u32 %r2, [%rd3+4];
  mov.u64 %rd4, k_param_1;
  ld.param.u32 %r3, [%rd4+8];
  cvta.to.param.u64 %rd5, %rd3;
  ld.param.u32 %r4, [%rd5+12];
  ld.param.u32 %r5, [k_param_1+16];
  isspacep.param %p1, %rd3;
  isspacep.global %p2, %rd3;
  selp.u32 %r6, 1, 0, %p1;
  @%p2 add.u32 %r6, %r6, 2;
  st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};
  st.global.u32 [%rd1+16], %r6;
  ret;
}
"""
)


def _with_pointers(run: str) -> None:
    x, y = np.arange(32, dtype=np.uint32), np.zeros(32, dtype=np.uint32)
    getattr(ptxlab.kernel(_POINTERS), run)(1, 32, 1000, x, 7, y)
    assert np.array_equal(y, x + 1007)


def _with_addresses(run: str) -> None:
    out = np.zeros(5, dtype=np.uint32)
    getattr(ptxlab.kernel(_ADDRESSES), run)(1, 1, out, np.arange(100, 108, dtype=np.uint32))
    assert out.tolist() == [101, 102, 103, 104, 3]  # in param, and in global, as an H200 has it


@pytest.mark.needs("cuda.core")
def test_alignment_behind_ptr_is_that_of_the_pointee() -> None:
    _with_pointers("simulate")
    source = 'extern "C" __global__ void k(int a, float* x) { *x = a; }'
    x = np.zeros(1, dtype=np.float32)
    for target in ("sm_90a", "sm_100a", "sm_120a"):
        ptxlab.kernel(source, target=target).simulate(1, 1, len(target), x)
        assert x[0] == len(target)


def test_addresses_of_parameters_fit_32_bits() -> None:
    _with_addresses("simulate")
    direct = replaced(_ADDRESSES, "cvta.param.u64 %rd3, %rd2", "mov.u64 %rd3, %rd2")
    with pytest.raises(PtxlabError, match="the address of a parameter in its own space; cvta.param makes it"):
        ptxlab.kernel(direct).simulate(1, 1, np.zeros(5, np.uint32), bytes(32))


@pytest.mark.gpu
def test_parameters_on_a_gpu() -> None:
    _with_pointers("launch")
    _with_addresses("launch")


# -- tensor maps that the kernel makes of zeros, as `tl.make_tensor_descriptor` does ------------------------

_FIELDS = """
  tensormap.replace.tile.global_address.SPACE.b1024.b64 [MAP], %rd2;
  tensormap.replace.tile.rank.SPACE.b1024.b32 [MAP], 1;
  tensormap.replace.tile.box_dim.SPACE.b1024.b32 [MAP], 0, 32;
  tensormap.replace.tile.box_dim.SPACE.b1024.b32 [MAP], 1, 4;
  tensormap.replace.tile.global_dim.SPACE.b1024.b32 [MAP], 0, %r2;
  tensormap.replace.tile.global_dim.SPACE.b1024.b32 [MAP], 1, 6;
  tensormap.replace.tile.global_stride.SPACE.b1024.b64 [MAP], 0, 128;
  tensormap.replace.tile.element_stride.SPACE.b1024.b32 [MAP], 0, 1;
  tensormap.replace.tile.element_stride.SPACE.b1024.b32 [MAP], 1, 1;
  tensormap.replace.tile.elemtype.SPACE.b1024.b32 [MAP], 6;
  tensormap.replace.tile.interleave_layout.SPACE.b1024.b32 [MAP], 0;
  tensormap.replace.tile.swizzle_mode.SPACE.b1024.b32 [MAP], 2;
  tensormap.replace.tile.fill_mode.SPACE.b1024.b32 [MAP], 0;
"""
#: One warp makes a map of 6 rows of 40 f16, 128 bytes apart, and copies the box at (2, 16) to `to`.
_MAKE_MAP = (
    _HEAD
    + """
.visible .entry make(.param .u64 .ptr .global .align 1 from, .param .u64 .ptr .global .align 1 scratch,
                     .param .u64 .ptr .global .align 1 to) {
  .shared .align 1024 .b8 box[512];
  .shared .align 128 .b8 map[128];
  .shared .align 8 .b64 full;
  .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<3>;
  ld.param.u64 %rd2, [from]; ld.param.u64 %rd3, [scratch]; ld.param.u64 %rd4, [to];
  mov.u32 %r1, %tid.x; mov.u32 %r2, 40; mov.u32 %r3, map; mov.u32 %r4, full; mov.u32 %r5, box;
  shl.b32 %r6, %r1, 2; cvt.u64.u32 %rd5, %r6;
  setp.eq.u32 %p1, %r1, 0;
  ZERO
  bar.warp.sync -1;
  @!%p1 bra BUILT;
  FIELDS
BUILT:
  bar.warp.sync -1;
  PUBLISH
  fence.proxy.tensormap::generic.acquire.gpu [%rd3], 128;
  @!%p1 bra ISSUED;
  mbarrier.init.shared::cta.b64 [%r4], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 256;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd3, {16, 2}], [%r4];
ISSUED:
  bar.warp.sync -1;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r4], 0;
  @!%p2 bra WAIT;
  add.u32 %r7, %r5, %r6; add.s64 %rd6, %rd4, %rd5;
  ld.shared.u32 %r8, [%r7]; ld.shared.u32 %r9, [%r7+128];
  st.global.u32 [%rd6], %r8; st.global.u32 [%rd6+128], %r9;
  ret;
}
"""
)
_IN_SHARED = {
    "ZERO": "add.u32 %r7, %r3, %r6; st.shared.b32 [%r7], 0;",
    "FIELDS": filled(_FIELDS, SPACE="shared::cta", MAP="%r3"),
    "PUBLISH": "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
    "[%rd3], [%r3], 128;",
}
_IN_GLOBAL = {
    "ZERO": "add.s64 %rd6, %rd3, %rd5; st.global.b32 [%rd6], 0;",
    "FIELDS": filled(_FIELDS, SPACE="global", MAP="%rd3"),
    "PUBLISH": "fence.proxy.tensormap::generic.release.gpu;",
}
#: Nothing counts behind 64 bytes: CuTe DSL copies no more of a map that it then changes.
_IN_HALF = _IN_GLOBAL | {
    "ZERO": "setp.lt.u32 %p2, %r1, 16; add.s64 %rd6, %rd3, %rd5; @%p2 st.global.b32 [%rd6], 0;"
}
_PLACES = pytest.mark.parametrize(
    "parts", [_IN_SHARED, _IN_GLOBAL, _IN_HALF], ids=["shared", "global", "half"]
)


def _made_map(run: str, parts: dict[str, str], leave_out: str = "") -> object:
    if leave_out:
        parts = {name: re.sub(f"(?m)^.*({leave_out}).*$", "", content) for name, content in parts.items()}
    text = filled(_MAKE_MAP, **parts)
    rng = np.random.default_rng(3)
    source = rng.integers(0, 1 << 15, (6, 64), dtype=np.uint16)
    to = np.zeros(128, dtype=np.uint16)
    result = getattr(ptxlab.kernel(text), run)(1, 32, source, np.full(128, 255, np.uint8), to)
    # Rows 2 to 5, columns 16 to 47 of which 40 to 47 are outside; rows of 64 bytes, swizzled by 64 bytes:
    # 16-byte chunk c of row r is at chunk c ^ (r >> 1 & 3).
    box = np.where(np.arange(16, 48) < 40, source[2:6, 16:48], 0).reshape(4, 4, 8)
    swizzled = np.stack([row[np.arange(4) ^ (number >> 1)] for number, row in enumerate(box)])
    assert np.array_equal(to, swizzled.reshape(-1))
    return result


@_PLACES
def test_tensor_maps_made_of_zeros(parts: dict[str, str]) -> None:
    result = _made_map("simulate", parts)
    assert isinstance(result, Result) and result.hazards == []
    needed = ["global_address", "rank", "elemtype"]
    needed += [f"{name}.*, {axis}," for name in ("box_dim", "global_dim", "element_stride") for axis in "01"]
    for field in (*needed, "global_stride"):
        name = field.replace(".*,", "").rstrip(",") + (" 0" if field == "global_stride" else "")
        with pytest.raises(PtxlabError, match=f"made of zeros lacks {name}: tensormap.replace sets it$"):
            _made_map("simulate", parts, field)
    for field in ("interleave_layout", "fill_mode"):  # which are none, and zeros, if nobody sets them
        _made_map("simulate", parts, field)
    with pytest.raises(PtxlabError, match="lacks box_dim 0, box_dim 1: tensormap.replace sets them"):
        _made_map("simulate", parts, "box_dim")
    with pytest.raises(PtxlabError, match="there is no tensor map at"):
        _made_map("simulate", parts, "tensormap.replace")


#: An elected lane of each warp changes the same map, as in CuTe DSL's `dense_gemm_ptr_array`.
_CHANGED_BY_ALL = (
    _HEAD
    + """
.visible .entry change(.param .u64 scratch) {
  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [scratch]; mov.u64 %rd2, 4096;
  mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;
  elect.sync _|%p2, -1;
  @!%p1 bra LATER;
  @%p2 tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;
LATER:
  BETWEEN
  @%p1 bra DONE;
  @%p2 tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd2;
DONE:
  ret;
}
"""
)


@pytest.mark.parametrize(("between", "kinds"), [("", ["race"]), ("bar.sync 0;", [])], ids=["none", "barrier"])
def test_warps_that_change_the_same_tensor_map_need_a_barrier(between: str, kinds: list[str]) -> None:
    """`tensormap.replace` reads and writes the map as ordinary loads and stores do, the same value or not."""
    kernel = ptxlab.kernel(filled(_CHANGED_BY_ALL, BETWEEN=between))
    result = kernel.simulate(1, 64, np.zeros(128, np.uint8))
    assert [hazard.kind for hazard in result.hazards] == kinds


@pytest.mark.gpu
def test_shared_memory_beyond_48_kib_of_both_kinds_on_a_gpu() -> None:
    """32 KiB that a kernel declares and 32 at launch: only together are they too much to have unasked."""
    source = """extern "C" __global__ void sizes(int* out) {
        __shared__ volatile int mine[8192];
        extern __shared__ volatile int theirs[];
        for (int i = threadIdx.x; i < 8192; i += 32) { mine[i] = i; theirs[i] = -i; }
        __syncwarp();
        out[threadIdx.x] = mine[8191 - threadIdx.x] + theirs[8191 - threadIdx.x];
    }"""
    out = np.ones(32, dtype=np.int32)
    ptxlab.kernel(source).launch(1, 32, out, shared=32 << 10)
    assert not out.any()


@pytest.mark.gpu
@_PLACES
def test_tensor_maps_made_of_zeros_on_a_gpu(parts: dict[str, str]) -> None:
    _made_map("launch", parts)


# -- clusterlaunchcontrol (sm_100a): a block takes over the work of one that has not begun -------------------

_TAKE_OVER = """
.version 8.7
.target sm_100a
.address_size 64
.visible .entry take(.param .u64 done, .param .u64 by) {
  .shared .align 16 .b8 response[16];
  .shared .align 8 .b64 full;
  .reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .b128 %q; .reg .pred %p<6>;
  ld.param.u64 %rd1, [done]; ld.param.u64 %rd2, [by];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %cluster_ctarank;
  mad.lo.u32 %r5, %r2, %r3, %r1; add.u32 %r5, %r5, 1;
  mov.u32 %r6, response; mov.u32 %r7, full; mov.u32 %r8, 0;
  setp.eq.u32 %p1, %r4, 0; setp.eq.u32 %p2, %r3, 1;
  mbarrier.init.shared::cta.b64 [%r7], 1;
  fence.mbarrier_init.release.cluster;
WORK:
  mad.lo.u32 %r9, %r2, %r3, %r1; mul.wide.u32 %rd3, %r9, 4;
  add.s64 %rd4, %rd1, %rd3; red.global.add.u32 [%rd4], 1;
  add.s64 %rd4, %rd2, %rd3; st.global.u32 [%rd4], %r5;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], 16;
  MEET
  ASK
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r7], %r8;
  @!%p4 bra WAIT;
  xor.b32 %r8, %r8, 1;
  ld.shared.b128 %q, [%r6];
  fence.proxy.async.shared::cta;
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p5, %q;
  AGAIN
  @!%p5 bra DONE;
  clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r2, %q;
  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r10, %r11, _}, %q;
  add.u32 %r1, %r1, %r4;
  bra WORK;
DONE:
  MEET
  ret;
}
"""
_ASK = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
_ALONE = {"MEET": "", "ASK": f"{_ASK}.b128 [%r6], [%r7];", "AGAIN": ""}
_IN_PAIRS = {
    "MEET": "barrier.cluster.arrive; barrier.cluster.wait;",
    "ASK": f"@%p1 {_ASK}.multicast::cluster::all.b128 [%r6], [%r7];",
    "AGAIN": "",
}


@pytest.mark.parametrize(
    ("parts", "grid", "cluster"), [(_ALONE, (3, 3), None), (_IN_PAIRS, (4, 5), (2, 1))], ids=["one", "pairs"]
)
def test_blocks_that_have_not_begun_are_taken_over(
    parts: dict[str, str], grid: tuple[int, int], cluster: tuple[int, int] | None
) -> None:
    """Half of the clusters begin; the requests of some are granted, and each block's work is done once."""
    text = filled(_TAKE_OVER, **parts)
    done, by = (np.zeros(grid[::-1], dtype=np.uint32) for _ in range(2))
    result = ptxlab.kernel(text).simulate(grid, 1, done, by, cluster=cluster)
    assert (done == 1).all() and result.hazards == []
    size = 1 if cluster is None else 2
    began = -(-done.size // size // 2) * size
    assert len(np.unique(by)) == began
    if cluster is not None:  # ranks stay
        assert ((by - 1) % 2 == np.arange(grid[0]) % 2).all()


def test_asking_again_after_a_refusal_is_undefined() -> None:
    text = filled(_TAKE_OVER, **_ALONE | {"AGAIN": f"@!%p5 {_ASK}.b128 [%r6], [%r7];"})
    with pytest.raises(PtxlabError, match="asks again after its block has seen a request fail"):
        ptxlab.kernel(text).simulate(2, 1, np.zeros(2, np.uint32), np.zeros(2, np.uint32))


# -- redux.sync of floats (sm_100a) --------------------------------------------------------------------------

_REDUX = (
    ".version 9.0\n.target sm_100a\n.address_size 64\n"
    + """
.visible .entry reduce(.param .u64 .ptr .global .align 1 x) {
  .reg .f32 %f<3>; .reg .b32 %r<3>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3];
  .reg .pred %p1; mov.u32 %r2, 0x0000FFFF; setp.ge.u32 %p1, %r1, 16; @%p1 not.b32 %r2, %r2;
  OPCODE %f2, %f1, %r2;
  st.global.f32 [%rd3], %f2;
  ret;
}
"""
)


def _reduced_by_hand(values: list[float], opcode: str) -> int:
    """PTX ISA, "redux.sync", word for word."""
    if ".abs" in opcode:
        values = [abs(value) for value in values]
    numbers = [value for value in values if not math.isnan(value)]
    if not numbers or (".NaN" in opcode and len(numbers) < len(values)):
        return 0x7FFFFFFF
    choose = min if ".min" in opcode else max
    chosen = choose(numbers, key=lambda value: (value, math.copysign(1, value)))
    return int(np.float32(chosen).view(np.uint32))


def test_redux_of_floats() -> None:
    """Two halves of a warp with masks of their own; NaN, both zeros, infinities, subnormal numbers."""
    rng = np.random.default_rng(7)
    special = [math.nan, -math.nan, 0.0, -0.0, math.inf, -math.inf, 1e-42, -1e-42, 1.5, -2.5]
    for kind in ("min", "max"):
        for qualifiers in ("", ".abs", ".NaN", ".abs.NaN"):
            opcode = f"redux.sync.{kind}{qualifiers}.f32"
            kernel = ptxlab.kernel(filled(_REDUX, OPCODE=opcode))
            for choice in (special, special[2:], special[2:4], special[:2], special[6:8]):
                x = rng.choice(choice, 32).astype(np.float32)
                halves = [_reduced_by_hand(half.tolist(), opcode) for half in (x[:16], x[16:])]
                kernel.simulate(1, 32, x, show=False)
                assert x.view(np.uint32).tolist() == [halves[0]] * 16 + [halves[1]] * 16, (opcode, choice)
    kernel = ptxlab.kernel(replaced(_REDUX, "OPCODE %f2, %f1, %r2", "redux.sync.max.f32 %f2, %f1, -1"))
    x = rng.standard_normal(32).astype(np.float32)
    largest = x.max()
    kernel.simulate(1, 32, x, show=False)
    assert (x == largest).all()
    for operands in ("1, -1", "%f1, 1.0"):  # the assembler does not take them either
        kernel = ptxlab.kernel(
            replaced(_REDUX, "OPCODE %f2, %f1, %r2", f"redux.sync.max.f32 %f2, {operands}")
        )
        with pytest.raises(PtxlabError, match="redux.sync.max.f32: found a"):
            kernel.simulate(1, 32, x, show=False)
    wrong = replaced(filled(_REDUX, OPCODE="redux.sync.min.f32"), "sm_100a", "sm_90a")
    with pytest.raises(PtxlabError, match="the kernel is for sm_90a, which lacks redux.sync.min.f32"):
        ptxlab.kernel(wrong).simulate(1, 32, np.zeros(32, np.float32))


# -- clusters of a launch ------------------------------------------------------------------------------------


def _without_cluster_dims(name: str) -> tuple[Case, ptxlab.simulator.kernel.Kernel, tuple[int, ...]]:
    """A recorded kernel of clusters that does not state their size, and that size."""
    case = CASES[name]
    source, stated = case.source(), case.compiled().cluster
    return case, ptxlab.kernel(re.sub(r"__cluster_dims__\(.*?\)", "", source), name), stated


def _with_clusters(run: str) -> None:
    for name in ("neighbours", "ring", "counters", "multicast"):
        case, kernel, cluster = _without_cluster_dims(name)
        arguments = case.inputs()
        getattr(kernel, run)(case.grid, case.block, *arguments, shared=case.shared, cluster=cluster)
        assert digest(arguments) == recorded()[name]["outputs"], name


@pytest.mark.needs("cuda.core")
def test_clusters_of_the_launch() -> None:
    """Kernels that do not state their clusters give what those gave on an H200 that do."""
    _with_clusters("simulate")
    for name, sentence in (
        (
            "neighbours",
            "which is that of another block of a cluster; this launch has no clusters: pass cluster=",
        ),
        (
            "multicast",
            r"the mask 0x3 names blocks that are not there; the cluster has 1 block: pass cluster=",
        ),
    ):
        case, kernel, _ = _without_cluster_dims(name)
        with pytest.raises(PtxlabError, match=sentence):
            kernel.simulate(case.grid, case.block, *case.inputs())
    case, kernel, _ = _without_cluster_dims("ring")
    source = replaced(kernel.source, "+ 1) % 4", "+ 1) % 4 & 0")
    alone = ptxlab.kernel(replaced(source, ", 512;", ", 1024;", 2), "ring")
    with pytest.raises(
        PtxlabError, match=r"deadlock.*\(mapa.*\) is for clusters, and .* none: pass cluster="
    ):
        alone.simulate(case.grid, case.block, *case.inputs())


@pytest.mark.needs("cuda.core")
def test_clusters_that_a_kernel_does_not_take() -> None:
    stated = CASES["neighbours"]
    for text, cluster, sentence in (
        ("", (2, 2), ""),
        ("", 2, r"cluster=2: the kernel states clusters of \(2, 2, 1\) itself"),
        ("", (4, 4, 2), r"cluster=\(4, 4, 2\): 32 blocks; a cluster of this kernel has at most 16"),
        (".maxclusterrank 2", (2, 2), "4 blocks; a cluster of this kernel has at most 2"),
        (".explicitcluster", None, "takes the size of its clusters from the launch .*: pass cluster="),
        (" ", 3, r"grid=\(4, 2\): the kernel has clusters of \(3, 1, 1\), which do not divide it"),
        (" ", "2", "cluster"),
    ):
        ptx = stated.compiled().ptx
        if text:
            ptx = re.sub(r"\.reqnctapercluster [\d, ]+|\.explicitcluster", text, ptx)
        kernel = ptxlab.kernel(ptx, "neighbours")
        if sentence:
            with pytest.raises(PtxlabError, match=sentence):
                kernel.simulate(stated.grid, stated.block, *stated.inputs(), cluster=cluster)
        else:
            kernel.simulate(stated.grid, stated.block, *stated.inputs(), cluster=cluster)


_SHAPE = """
.visible .entry shape(.param .u64 x) DIRECTIVES {
  .shared .b8 kept[40000]; .reg .b32 %r<3>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [x]; mov.u32 %r1, %nctaid.x; mov.u32 %r2, %cluster_nctaid.x;
  st.global.v2.u32 [%rd1], {%r1, %r2}; ret;
}
"""


@pytest.mark.parametrize(
    ("directives", "block", "shared", "sentence"),
    [
        (
            ".reqntid 64",
            (8, 8),
            0,
            r"block=\(8, 8\): the kernel is for blocks of \(64, 1, 1\) threads \(.reqntid",
        ),
        (".reqntid 8, 8", 64, 0, r"block=64: the kernel is for blocks of \(8, 8, 1\) threads"),
        (".reqntid 8, 8", (8, 8), 0, ""),
        (".maxntid 64", (33, 2), 0, r"block=\(33, 2\): 66 threads; the kernel is for at most 64 .*.maxntid"),
        (".maxntid 8, 8", 64, 0, ""),  # their product counts
        ("", 64, (227 << 10) - 40000, ""),
        ("", 64, (227 << 10) - 39999, "shape declares 40000 bytes as well, and a block has at most 232448"),
    ],
)
def test_blocks_that_cuda_refuses(directives: str, block: Any, shared: int, sentence: str) -> None:
    kernel, x = ptxlab.kernel(_HEAD + filled(_SHAPE, DIRECTIVES=directives)), np.zeros(2, np.uint32)
    if not sentence:
        kernel.simulate(2, block, x, shared=shared, show=False)
        return
    with pytest.raises(PtxlabError, match=sentence):
        kernel.simulate(2, block, x, shared=shared)
    if not shared:  # otherwise the driver refuses
        with pytest.raises(PtxlabError, match=sentence):
            kernel.launch(2, block, x)


def test_a_grid_of_clusters() -> None:
    """``__block_size__`` makes the grid of a launch one of clusters."""
    directives = ".blocksareclusters .reqntid 32 .reqnctapercluster 4"
    x = np.zeros(2, np.uint32)
    ptxlab.kernel(_HEAD + filled(_SHAPE, DIRECTIVES=directives)).simulate(3, 32, x, show=False)
    assert x.tolist() == [12, 4]


@pytest.mark.gpu
def test_clusters_of_the_launch_on_a_gpu() -> None:
    if gpu.device_target() != "sm_90a":
        pytest.skip("what is recorded is of sm_90a")
    _with_clusters("launch")


# -- functions and variables of other modules ----------------------------------------------------------------

_CALLER = (
    _HEAD
    + """
.extern .func (.param .b32 result) scaled(.param .b32 value);
.extern .global .align 4 .u32 offset;
.global .align 4 .u32 factor = 7;
.weak .func (.param .b32 result) common(.param .b32 value) {
  .reg .b32 %r<2>; ld.param.b32 %r1, [value]; add.u32 %r1, %r1, 1; st.param.b32 [result], %r1; ret;
}
.visible .entry call(.param .u64 .ptr .global .align 1 x) {
  .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r2, [%rd3];
  { .param .b32 in; .param .b32 out; st.param.b32 [in], %r2; call.uni (out), scaled, (in);
    ld.param.b32 %r3, [out]; }
  { .param .b32 in; .param .b32 out; st.param.b32 [in], %r3; call.uni (out), common, (in);
    ld.param.b32 %r3, [out]; }
  ld.global.u32 %r4, [offset]; add.u32 %r3, %r3, %r4;
  ld.global.u32 %r5, [factor]; add.u32 %r3, %r3, %r5;
  st.global.u32 [%rd3], %r3;
  ret;
}
"""
)
#: Its own `factor` and `helper` are not those of other modules; its weak `common` is not the first.
_SCALED = (
    _HEAD
    + """
.global .align 4 .u32 factor = 3;
.extern .func (.param .b32 result) square(.param .b32 value);
.func (.param .b32 result) helper(.param .b32 value) {
  .reg .b32 %r<3>; ld.param.b32 %r1, [value]; ld.global.u32 %r2, [factor]; mul.lo.u32 %r1, %r1, %r2;
  st.param.b32 [result], %r1; ret;
}
.weak .func (.param .b32 result) common(.param .b32 value) { trap; ret; }
.visible .func (.param .b32 result) scaled(.param .b32 value) {
  .reg .b32 %r<4>; ld.param.b32 %r1, [value];
  { .param .b32 in; .param .b32 out; st.param.b32 [in], %r1; call.uni (out), square, (in);
    ld.param.b32 %r2, [out]; }
  { .param .b32 in; .param .b32 out; st.param.b32 [in], %r2; call.uni (out), helper, (in);
    ld.param.b32 %r3, [out]; }
  st.param.b32 [result], %r3; ret;
}
"""
)
_SQUARE = (
    replaced(replaced(_HEAD, "sm_90a", "sm_80"), "9.0", "7.0")
    + """
.visible .global .align 4 .u32 offset = 1000;
.func (.param .b32 result) helper(.param .b32 value) {
  .reg .b32 %r<2>; ld.param.b32 %r1, [value]; mul.lo.u32 %r1, %r1, %r1; st.param.b32 [result], %r1; ret;
}
.visible .func (.param .b32 result) square(.param .b32 value) {
  .reg .b32 %r<3>; ld.param.b32 %r1, [value];
  { .param .b32 in; .param .b32 out; st.param.b32 [in], %r1; call.uni (out), helper, (in);
    ld.param.b32 %r2, [out]; }
  st.param.b32 [result], %r2; ret;
}
"""
)
_CALLER_IN_CPP = """
extern "C" __device__ unsigned scaled(unsigned);
extern "C" __device__ unsigned offset;
extern "C" __global__ void call(unsigned* x) { x[threadIdx.x] = scaled(x[threadIdx.x]) + offset + 8; }
"""


def _with_modules(run: str) -> None:
    for source in (_CALLER, _CALLER_IN_CPP):
        x = np.arange(32, dtype=np.uint32)
        getattr(ptxlab.kernel(source, link=[_SCALED, _SQUARE]), run)(1, 32, x)
        assert x.tolist() == [3 * i * i + 1 + 1000 + 7 for i in range(32)]


_KERNELS = """
.version 8.0
.target sm_90a
.address_size 64
.shared .align 16 .b8 theirs[40000];
.shared .align 16 .b8 ours[40000];
.extern .shared .align 16 .b8 rest[];
.visible .entry other() { .reg .b32 %r; mov.u32 %r, theirs; st.shared.u32 [theirs], %r; ret; }
.visible .entry k(.param .u64 out) {
    .reg .u64 %o; .reg .b32 %r<3>;
    ld.param.u64 %o, [out];
    mov.u32 %r0, ours;
    mov.u32 %r1, rest;
    sub.u32 %r2, %r1, %r0;
    st.shared.u32 [rest], %r2;
    ld.shared.u32 %r2, [rest];
    st.global.u32 [%o], %r2;
    ret;
}
"""


@pytest.mark.needs("cuda.core")
def test_shared_memory_that_other_kernels_name_is_theirs() -> None:
    """nvcc puts the kernels of a file, with the shared memory that each declares, into one module."""
    out = np.zeros(1, np.uint32)
    kernel = ptxlab.kernel(_KERNELS, "k")
    kernel.simulate(1, 1, out, shared=180000)
    assert out[0] == 40000
    assert kernel.profile(1, 1, out, shared=180000).occupancy.blocks == 1


@pytest.mark.needs("cuda.core")
def test_functions_of_other_modules() -> None:
    """nvJitLink takes them, too; each module has its own `factor` and `helper`."""
    _with_modules("simulate")
    assert link_modules([_CALLER, _SCALED, _SQUARE], "sm_90a").startswith(b"\x7fELF")
    compiled = ptxlab.kernel(_CALLER_IN_CPP).ptx
    assert link_modules([compiled, _SCALED, _SQUARE], "sm_90a").startswith(b"\x7fELF")


@pytest.mark.needs("cuda.core")
def test_linked_kernels_run_in_several_threads_and_know_their_lines() -> None:
    kernel = ptxlab.kernel(_CALLER, link=[_SCALED, _SQUARE])
    x = np.arange(64, dtype=np.uint32).reshape(2, 32)
    with ThreadPoolExecutor(2) as pool:
        kernel.simulate(1, 32, x[1], executor=pool, show=False)
    assert x[1, 0] == 3 * 32 * 32 + 1008
    lines = kernel.ptx.splitlines()
    for function in kernel.module.functions.values():
        for instruction in function.instructions:
            assert instruction.opcode in lines[instruction.line - 1]


def test_modules_that_do_not_fit() -> None:
    for link, sentence in (
        ([_SCALED], "no module defines offset, square: link= takes the PTX modules that do"),
        ([_SQUARE], "no module defines scaled: link="),
        (
            [_SCALED, _SQUARE, _SQUARE],
            r"offset is defined twice: in link\[1\] and in link\[2\]|square is defined",
        ),
        ([_SCALED, _CALLER_IN_CPP], r"link\[1\]: found .* takes a PTX module as text"),
        (_SCALED, "link=.*: it is a list of PTX modules, as texts"),
        ([_SCALED, replaced(_SQUARE, "ret;", "ret", 2)], r"link\[1\]: PTX line \d+: found"),
        (
            [replaced(_SCALED, "sm_90a", "sm_100a"), _SQUARE],
            r"link\[0\] says .target sm_100a, .* the kernel's, sm_90a",
        ),
    ):
        with pytest.raises(PtxlabError, match=sentence):
            ptxlab.kernel(_CALLER, link=link)
    with pytest.raises(PtxlabError, match=r"scaled is called, but .* pass that as link=\[...\]"):
        ptxlab.kernel(_CALLER).simulate(1, 32, np.zeros(32, np.uint32))


@pytest.mark.gpu
def test_functions_of_other_modules_on_a_gpu() -> None:
    _with_modules("launch")


# -- structs with pointers -----------------------------------------------------------------------------------

_STRUCTS = """
struct View { const float* data; int rows; short columns; };
struct Params { char tag; View from; double scale; struct { float* data; unsigned char last; } to; };
extern "C" __global__ void copy(int before, Params p, View more) {
  int i = threadIdx.x;
  if (i < p.from.rows * p.from.columns)
    p.to.data[i] = p.scale * p.from.data[i] + before + p.tag + p.to.last + more.data[0] + more.rows;
}
"""


def _with_structs(run: str) -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, dtype=np.float32)
    more = np.full(4, 1024, dtype=np.float32)
    view = (x, np.int32(5), np.int16(6))
    params = (np.int8(1), view, np.float64(0.5), (y, b"\x02"))
    getattr(ptxlab.kernel(_STRUCTS), run)(1, 32, 512, params, (more, np.int32(64), np.int16(0)))
    assert y.tolist() == [i / 2 + 512 + 1 + 2 + 1024 + 64 if i < 30 else 0 for i in range(32)]


@pytest.mark.needs("cuda.core")
def test_tuples_are_structs() -> None:
    _with_structs("simulate")
    kernel = ptxlab.kernel(_STRUCTS)
    x = np.zeros(32, dtype=np.float32)
    view = (x, np.int32(32), np.int16(1))
    good = (np.int8(1), view, np.float64(0.5), (x, b"\x02"))
    for params, sentence in (
        (good[:3], r"argument 2 of copy: found a struct of 32 bytes \(\[0\] at 0, \[1\]\[0\] at 8, "
         r"\[1\]\[1\] at 16, \[1\]\[2\] at 20, \[2\] at 24\); the kernel takes 48"),
        ((1, *good[1:]), r"argument 2 of copy: its element \[0\] is 1; a struct takes arrays, NumPy scalars"),
        ((*good[:3], (x[::2], b"\2")), r"its element \[3\]\[0\]: found an array that is not contiguous"),
        ((*good[:3], (x[4:], b"\2")), r"arguments 2\[3\]\[0\] and 3\[0\] of copy: the arrays share"),
        ((), "found a struct of 0 bytes"),
        (x, "found 128 bytes; the kernel takes 48, a struct: a tuple of its members, in which an array"),
    ):  # fmt: skip
        with pytest.raises(PtxlabError, match=sentence):
            kernel.simulate(1, 32, 512, params, view)
    beyond = ptxlab.kernel(replaced(_STRUCTS, "more.data[0]", "more.data[4]"))
    short = (np.zeros(4, dtype=np.float32), *view[1:])
    with pytest.raises(PtxlabError, match=r"is byte 16 of argument 3\[0\] \(float32\[4\]\), 16 bytes long"):
        beyond.simulate(1, 32, 512, good, short)


def _through_views(x: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """`Params` in which two views are of the same bytes."""
    return (np.int8(0), (x, np.int32(1), np.int16(32)), np.float64(1), (x[:].view(np.int32), b"\0"))


@pytest.mark.needs("cuda.core")
def test_views_of_the_same_bytes_in_a_struct_are_one_array() -> None:
    """Blocks in other threads write it."""
    x = np.arange(64, dtype=np.float32)
    params = _through_views(x)
    with ThreadPoolExecutor(2) as pool:
        view = (np.zeros(1, np.float32), np.int32(1), np.int16(0))
        ptxlab.kernel(_STRUCTS).simulate(1, 32, 0, params, view, executor=pool, show=False)
    assert x.tolist() == [i + (i < 32) for i in range(64)]


@pytest.mark.needs("cuda.core")
def test_a_launch_gets_the_addresses_of_arrays_in_structs(
    monkeypatch: pytest.MonkeyPatch, array_on_gpu: Any, passed: list[Any]
) -> None:
    names: list[str] = []
    monkeypatch.setattr(kernel_module, "launch_stream", lambda arrays, stream: names.extend(arrays))
    params = _through_views(np.arange(64, dtype=np.float32))
    kernel = ptxlab.kernel(ptxlab.kernel(_STRUCTS).ptx)  # of PTX, which needs no device to be compiled for
    kernel.launch(1, 32, 0, params, (array_on_gpu, np.int32(1), np.int16(0)))
    _, _, _, _, _, (_, struct, other), *_ = passed
    assert names == ["argument 3[0]"] and struct.size == 48
    assert [offset for offset, _ in struct.values] == [0, 8, 16, 20, 24, 32, 40]
    assert struct.values[1][1] is struct.values[5][1]
    assert other.values[0] == (0, array_on_gpu.ADDRESS.to_bytes(8, "little"))


@pytest.mark.gpu
def test_tuples_are_structs_on_a_gpu() -> None:
    _with_structs("launch")


# -- tcgen05 -------------------------------------------------------------------------------------------------


@pytest.mark.needs("cuda.core")
def test_a_commit_takes_the_lower_half_of_an_address() -> None:
    """Triton's commits have no state space, and an address of shared memory that is extended with zeros.

    That hardware takes it so is assumed from Triton's code; it was not run on Blackwell.
    """
    ins: Any = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=16)
    ptx = ptxlab.kernel(ins.kernel, target="sm_100a").ptx
    commit = re.compile(r"(tcgen05\.commit[\w.:]*)\.shared::cluster\.b64 \[(%r\d+)\];")
    ptx = replaced(ptx, commit, r"{ .reg .b64 %wide; cvt.u64.u32 %wide, \2; \1.b64 [%wide]; }")
    d = np.zeros(ins.d.stored_shape, dtype=np.uint32)
    a, b, c = (ins.a.pack(np.ones((64, 16))), ins.b.pack(np.ones((16, 16))), ins.c.pack(np.ones((64, 16))))
    result = ptxlab.kernel(ptx).simulate(1, 128, a, b, c, d, 1)
    assert (ins.d.unpack(d) == 17).all() and not result.hazards


@pytest.mark.needs("cuda.core")
def test_what_a_tensor_load_gives_may_be_used_at_once() -> None:
    """PTX ISA, "Register dependencies, same thread": a true one is respected without tcgen05.wait::ld."""
    ins: Any = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=16)
    ptx = ptxlab.kernel(ins.kernel, target="sm_100a").ptx
    without = replaced(ptx, "tcgen05.wait::ld.sync.aligned;", "", ins.n)
    a, b, c = (ins.a.pack(np.ones((64, 16))), ins.b.pack(np.ones((16, 16))), ins.c.pack(np.ones((64, 16))))
    for text in (ptx, without):
        d = np.zeros(ins.d.stored_shape, dtype=np.uint32)
        result = ptxlab.kernel(text).simulate(1, 128, a, b, c, d, 1)
        assert (ins.d.unpack(d) == 17).all() and result.notes == [] and result.hazards == []


def test_prefetches_change_nothing() -> None:
    """`cp.async.bulk.prefetch`, as CuTe DSL's primitives write it: L2 is no part of what is simulated."""
    text = """
.visible .entry copy(.param .u64 x, .param .align 64 .b8 map[128]) {
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [x];
  mov.b64 %rd2, map;
  cvta.param.u64 %rd2, %rd2;
  cp.async.bulk.prefetch.L2.global [%rd1], 128;
  cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd2, {0, 0}];
  prefetch.tensormap [%rd2];
  ld.global.u32 %r1, [%rd1];
  st.global.u32 [%rd1+4], %r1;
  ret;
}
"""
    x = np.arange(32, dtype=np.uint32)
    tensor = ptxlab.tensor_map(np.zeros((8, 16), np.float32), (8, 16))
    result = ptxlab.kernel(_HEAD + text).simulate(1, 1, x, tensor, show=False)
    assert x[1] == 0 and not result.hazards and not result.notes


def test_the_even_block_of_a_pair_is_told_by_an_address_without_its_bit() -> None:
    """CUTLASS clears bit 24 of an mbarrier's address for .cta_group::2, in one mask with its alignment."""
    text = """.version 9.0
.target sm_100a
.address_size 64
.visible .entry tell(.param .u64 out) .reqnctapercluster 2 {
  .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p<2>; .shared .align 8 .b64 bar;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, bar;
  mbarrier.init.shared::cta.b64 [%r1], 2;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  and.b32 %r2, %r1, -16777224;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
  mov.u32 %r3, %cluster_ctarank;
  setp.ne.u32 %p1, %r3, 0;
  @%p1 bra END;
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0;
  @!%p1 bra WAIT;
  st.global.u32 [%rd1], 7;
  @%p1 bra END;
  tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;
END:
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ret;
}
"""
    out = np.zeros(1, np.uint32)
    result = ptxlab.kernel(text).simulate(2, 1, out, cluster=2, show=False)
    assert out[0] == 7 and not result.hazards


def test_a_register_that_widens_another_need_not_be_written() -> None:
    """LLVM packs a value with one that nobody writes, and stores the lower byte; alone it is a hazard."""
    text = """
.visible .entry widen(.param .u64 out) {
  .reg .b16 %rs<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u16 %rs1, 7;
  mov.b32 %r1, {LOW, %rs2};
  st.global.b8 [%rd1], %r1;
  ret;
}
"""
    for low, kinds in (("%rs1", []), ("%rs3", ["uninitialised register"])):
        out = np.zeros(4, np.uint8)
        result = ptxlab.kernel(_HEAD + filled(text, LOW=low)).simulate(1, 1, out, show=False)
        assert [hazard.kind for hazard in result.hazards] == kinds
