"""Every hazard has a kernel that has it, and one that just avoids it; those of test_simulator have none."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.adapters.host_arrays import HostMemory, launch_arguments
from ptxlab.simulator import HazardError
from ptxlab.simulator.checks import release_acquire
from ptxlab.simulator.checks.uniform_blocks import UniformBlocks
from ptxlab.simulator.hazard import KINDS, PROBES, Hazard
from ptxlab.simulator.kernel import build_kernel
from tests.cases import each
from tests.sampling import one_in
from tests.texts import filled, replaced
from tools.probe_hazards import KIND_OF, arguments, left_out
from tools.probe_hazards import kernel as probe_kernel

from . import hazard_cases
from .hazard_cases import HAZARDS, launch_of, variant

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "hazards.md"


def _hazards(
    name: str, fixed: bool = False, check: bool | str = True, blocks: int | None = None
) -> list[Hazard]:
    grid, block, arguments, shared = launch_of(name)
    grid = blocks or grid
    kernel = variant(name, fixed)
    try:
        result = kernel.simulate(grid, block, *arguments, shared=shared, check=check)
        return [*result.hazards, *result.notes]
    except HazardError as error:
        return [] if error.hazard is None else [error.hazard]


@each("name", HAZARDS)
@pytest.mark.slow
def test_the_broken_kernel_has_its_hazard_and_the_fixed_one_none(name: str) -> None:
    """The broken kernel has this hazard, with the sentence of the docs; the fixed one has none."""
    hazards = _hazards(name)
    assert {hazard.kind for hazard in hazards} == {HAZARDS[name].kind}
    page = PAGE.read_text(encoding="utf-8")
    for hazard in hazards:
        assert hazard.sentence in page, "python -m tools.hazards writes the page"
        assert hazard.text and hazard.count and hazard.lanes and hazard.remedy
        assert hazard.block == (name == "last_block", 0, 0)
    assert _hazards(name, True) == []
    (first,) = _hazards(name, check="error")
    assert first.sentence in {hazard.sentence for hazard in hazards}


@each("name", one_in(6, list(HAZARDS)))
@pytest.mark.needs("ziglang")
@pytest.mark.slow
def test_found_in_what_clang_makes_of_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hazard_cases, "_compiled", _compiled_by_clang)
    assert {hazard.kind for hazard in _hazards(name)} == {HAZARDS[name].kind}
    assert _hazards(name, True) == []


@cache
def _compiled_by_clang(fixed: bool, target: str) -> Any:
    source = hazard_cases.FILE.read_text(encoding="utf-8")
    return ptxlab.kernel(source, "reverse", target, ["-DFIXED"] if fixed else [], compiler="clang")


@each("name", [name for name, case in HAZARDS.items() if case.kind in ("race", "uninitialised memory")])
@pytest.mark.slow
def test_blocks_that_do_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are looked at one by one where there is something to report, and it is the same."""
    found = [_hazards(name, fixed, blocks=3) for fixed in (False, True)]
    monkeypatch.setattr(UniformBlocks, "_checked_first", lambda *_: False)
    assert [_hazards(name, fixed, blocks=3) for fixed in (False, True)] == found
    assert found[0]


_SAME_IN_THE_FIRST_BLOCK = """extern "C" __global__ void k(int* out) {
  __shared__ int s;
  s = threadIdx.x * blockIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s;
}"""


def test_threads_of_a_later_block_write_different_values_at_once() -> None:
    """In the first block all write 0."""
    result = ptxlab.kernel(_SAME_IN_THE_FIRST_BLOCK).simulate(2, 32, np.zeros(64, np.int32), show=False)
    (hazard,) = result.hazards
    assert hazard.kind == "race" and hazard.block == (1, 0, 0) and "write different values" in hazard.sentence


def test_every_kind_has_a_kernel() -> None:
    assert {case.kind for case in HAZARDS.values()} == set(KINDS)
    assert _hazards("reverse", check=False) == []
    with pytest.raises(PtxlabError, match="check='maybe': it is True, False or 'error'"):
        _hazards("reverse", check="maybe")


def test_kinds_are_found_where_their_rows_say() -> None:
    """The modules name the kind, and no other module makes a violation of it."""
    folder = Path(ptxlab.simulator.__file__).parent
    for kind in KINDS.values():
        assert kind.found_in
        for module in kind.found_in:
            assert kind.name in (folder / module).read_text(encoding="utf-8"), (kind.name, module)
    for path in folder.rglob("*.py"):
        module = path.relative_to(folder).as_posix()
        if module == "checks/access_reports.py":  # it words what others find
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Violation" and node.args:
                for literal in ast.walk(node.args[0]):
                    if isinstance(literal, ast.Constant) and literal.value in KINDS:
                        assert module in KINDS[literal.value].found_in, (literal.value, module)


def test_notes_have_evidence() -> None:
    """They are listed apart from hazards, are no errors, and are printed with what is known."""
    grid, block, arguments, shared = launch_of("wgmma_copied")
    result = variant("wgmma_copied", False).simulate(grid, block, *arguments, shared=shared, check="error")
    assert result.hazards == [] and "1 note>" in repr(result)
    (note,) = result.notes
    assert (
        note.grade == "note"
        and "without it 0 of 4.4e12 results wrong" in note.evidence
        and note.evidence in str(result)
    )
    page = PAGE.read_text(encoding="utf-8")
    for kind in KINDS.values():
        assert kind.evidence.startswith(("measured: ", "published: "))
        assert ("not measured" in kind.evidence) == kind.evidence.startswith(
            "published: "
        ) or kind.grade == "note"
        assert f"| {kind.name} | {kind.grade} |" in page.replace(r"\_", "_")


@each("probe", KIND_OF)
def test_probes_have_the_hazard_that_they_count(probe: str) -> None:
    """`tools.probe_hazards` runs them on a GPU: what it leaves out is what is reported."""
    for fixed, kinds in ((False, {KIND_OF[probe]}), (True, set())):
        given = arguments(2, 2)
        result = probe_kernel(probe, fixed).simulate(2, 128, *given, show=False)
        assert {finding.kind for finding in (*result.hazards, *result.notes)} == kinds
        loses = probe == "volatile_update" and not fixed  # all threads load before one of them stores
        assert bool(given[0][0]) == loses and given[0][1] > 0


def test_evidence_is_what_probes_counted() -> None:
    rows = json.loads(PROBES.read_text(encoding="utf-8"))
    for probe, row in rows.items():
        assert (row["kind"], row["left out"]) == (KIND_OF[probe], left_out(probe))
        assert row["wrong with it"] == 0, "what is right must be right"
        assert row["left out"] in KINDS[row["kind"]].evidence


_ONE_WAITS = """
extern "C" __global__ void one_waits(volatile int* flags, int* out) {
  __shared__ int from_before;
  if (threadIdx.x == 33) {                       // one thread of a warp waits, for the block before,
    while (blockIdx.x && flags[blockIdx.x - 1] == 0) {}
    from_before = blockIdx.x ? out[blockIdx.x - 1] : 0;
    __threadfence();
  }
  if (blockIdx.x % 2) __syncthreads();           // and the others wait for it, at one barrier
  else asm volatile("bar.sync 1, 64;" ::: "memory");  // or another
  if (threadIdx.x == 0) {
    out[blockIdx.x] = from_before + 1;
    __threadfence();
    flags[blockIdx.x] = 1;
  }
}
"""


@each("how, size, first, sentences", [("ca", 8, 64, 1), ("cg", 16, 64, 0)])
def test_a_copy_through_l1_may_read_what_was_there_before_a_flag(
    how: str, size: int, first: int, sentences: int
) -> None:
    """As a load may: the line is in L1 since x[66] was read. cp.async.cg asks L2."""
    text = f"""extern "C" __global__ void k(unsigned* x) {{
  __shared__ unsigned s[4];
  if (threadIdx.x) return;
  if (blockIdx.x == 1) {{
    while (atomicAdd(&x[0], 0) == 0) {{}}
    x[65] = 42;
    __threadfence();
    atomicExch(&x[32], 1);
  }} else {{
    const unsigned before = x[66];
    atomicExch(&x[0], 1 + before);
    while (atomicAdd(&x[32], 0) != 1) {{}}
    asm volatile("cp.async.{how}.shared.global [%0], [%1], {size};\\ncp.async.wait_all;"
                 :: "r"((unsigned)__cvta_generic_to_shared(s)), "l"(&x[{first}]) : "memory");
    x[128] = s[1];
  }}
}}"""
    result = ptxlab.kernel(text).simulate(2, 32, np.zeros(512, np.uint32))
    assert ["nothing acquires it" in hazard.sentence for hazard in result.hazards] == [True] * sentences


def test_lanes_wait_for_their_warp_at_a_barrier() -> None:
    """A warp comes to a barrier whole, however long one of its lanes takes."""
    flags, out = np.zeros((2, 5), dtype=np.int32)
    result = ptxlab.kernel(_ONE_WAITS).simulate(5, 64, flags, out)
    assert out.tolist() == [1, 2, 3, 4, 5]
    assert "divergent barrier" not in {hazard.kind for hazard in result.hazards}


def test_a_warp_may_come_to_a_barrier_twice() -> None:
    """Whole warps give themselves the first turn with bar.arrive; half a warp may not."""
    source = """extern "C" __global__ void k(int* out, int first) {
      if (threadIdx.x % 32 < first) asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 1, 64;" ::: "memory");
      out[threadIdx.x] = 1;
    }"""
    for first, kinds in ((32, []), (16, ["divergent barrier"])):
        out = np.zeros(32, dtype=np.int32)
        try:
            hazards = list(ptxlab.kernel(source).simulate(1, 32, out, first, show=False).hazards)
        except HazardError as error:  # the count is never complete
            hazards = error.hazards
        assert [hazard.kind for hazard in hazards if hazard.kind != "deadlock"] == kinds


def test_an_early_return_that_ends_as_the_kernel_does() -> None:
    """NVRTC makes one store of the two, behind the barrier, which the early ones do not pass by."""
    source = """extern "C" __global__ void k(int* out, int n) {
      __shared__ int s[64];
      int t = threadIdx.x;
      if (t >= n) { s[t] = 7; return; }
      s[t] = t;
      __syncthreads();
      int x = s[63 - t];
      __syncthreads();
      out[t] = x;
      s[t] = 7;
    }"""
    assert not ptxlab.kernel(source).simulate(1, 64, np.zeros(64, np.int32), 40).hazards


_PTX = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry turn()
{
    .reg .b32 %r<5>;
    .reg .b16 %h;
    .reg .pred %p;
    .shared .align 4 .b32 tile[32];
    mov.u32 %r0, %tid.x;
    shl.b32 %r0, %r0, 2;
    mov.u32 %r1, tile;
    add.u32 %r1, %r1, %r0;
    st.shared.u32 [%r1], %r0;
    xor.b32 %r1, %r1, 4;
    ld.shared.u32 %r3, [%r1];
    add.u32 %r4, %r2, 1;
    setp.eq.u32 %p, %r4, 1;
    @%p bra NEXT;
NEXT:
    setp.eq.u32 %p, %r3, 0;
    @!%p bra END;
END:
    ret;
}
"""


_CHOICE = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry choice(.param .u64 out, .param .u32 written)
{
    .reg .b32 %r<7>;
    .reg .b64 %rd<3>;
    .reg .pred %p<3>;
    .shared .align 4 .b32 tile[32];
    ld.param.u32 %r6, [written];
    mov.u32 %r0, %tid.x;
    shl.b32 %r1, %r0, 2;
    mov.u32 %r2, tile;
    add.u32 %r2, %r2, %r1;
    setp.lt.u32 %p0, %r0, 16;
    @%p0 st.shared.u32 [%r2], %r0;
    ld.shared.u32 %r3, [%r2];
    setp.eq.u32 %p1, %r3, 0;
    mov.u32 %r4, 5;
    @%p1 bra ZERO;
    mov.u32 %r4, 6;
    bra MET;
ZERO:
    mov.u32 %r4, 7;
MET:
    setp.lt.u32 %p2, %r0, %r6;
    ld.param.u64 %rd0, [out];
    mul.wide.u32 %rd1, %r0, 4;
    add.u64 %rd1, %rd0, %rd1;
    @%p2 st.global.u32 [%rd1], %r4;
    ret;
}
"""


def test_a_branch_that_only_computes() -> None:
    """A doubtful value may choose between values, in lanes whose choice nobody stores."""
    out = np.zeros(32, dtype=np.int32)
    assert ptxlab.kernel(_CHOICE).simulate(1, 32, out, 16, show=False).hazards == []
    assert out.tolist() == [7] + [6] * 15 + [0] * 16
    (unwritten,) = ptxlab.kernel(_CHOICE).simulate(1, 32, out, 17, show=False).hazards
    assert unwritten.kind == "uninitialised memory" and unwritten.lanes[0] == 16
    assert "which nobody has written, and PTX line 31 hands it back in global memory" in unwritten.sentence


def test_all_registers_that_nobody_wrote_are_named_and_fit_the_page() -> None:
    ptx = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry sum(.param .u64 out) {
    .reg .b32 %r<5>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r4, 1;
    mad.lo.u32 %r3, %r1, %r4, %r2;
    st.global.u32 [%rd1], %r3;
    ret;
}"""
    result = ptxlab.kernel(ptx).simulate(1, 1, np.zeros(1, np.uint32), show=False)
    (hazard,) = result.hazards
    assert "mad.lo.u32 with registers %r1, %r2, never written" in hazard.sentence
    assert f"<i>{hazard.sentence}</i>" in result._repr_html_(), "wraps, however long the lines of the source"
    assert ".sentence i {\n  display: block;\n  max-width" in result._repr_html_()


def test_ptx_text() -> None:
    """Lines are those of the PTX where there is no other source."""
    race, unwritten = ptxlab.kernel(_PTX).simulate(1, 32).hazards
    assert unwritten.kind == "uninitialised register" and unwritten.text == "add.u32 %r4, %r2, 1;"
    assert "add.u32 with register %r2, never written, and PTX line 20 branches on it" in unwritten.sentence
    assert race.kind == "race" and race.sentence.startswith("PTX line 17: lanes of warp 0 of block (0, 0, 0)")
    assert (race.line, race.other_line, race.text) == (17, 15, "ld.shared.u32 %r3, [%r1];")
    assert "PTX line 23 branches on it; put bar.warp.sync 0xffffffff between PTX line 15" in race.sentence


def test_what_nobody_wrote_matters_where_it_is_used() -> None:
    """It may be copied and computed with; a branch, an address, or what is handed back shows it."""
    head = """.version 8.0
    .target sm_90a
    .address_size 64
    .visible .entry k(.param .u64 out) {
    .reg .u64 %o, %a; .reg .u32 %u, %t, %v, %w; .reg .pred %p, %q; .shared .u32 s[64];
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    setp.eq.u32 %p, %t, 9;
    mul.wide.u32 %a, %t, 4;
    add.u64 %a, %a, %o;
    @%p mov.u32 %u, 5;
    add.u32 %v, %u, 1;
    """
    cases = {
        "": 0,
        "@%p st.global.u32 [%o], %v;": 0,  # lane 9 wrote it
        "st.global.u32 [%a], %v;": 31,
        "st.global.u32 [%a], %v; st.global.u32 [%a], %t;": 0,  # it is overwritten
        "selp.u32 %w, %v, 0, %p; st.global.u32 [%a], %w;": 0,
        "selp.u32 %w, %v, 0, %q; st.global.u32 [%a], %w;": 1,  # %q is not written, either
        "shfl.sync.idx.b32 %w, %v, 9, 31, -1; st.global.u32 [%a], %w;": 0,
        "shfl.sync.bfly.b32 %w, %v, 1, 31, -1; st.global.u32 [%a], %w;": 31,
        "and.b32 %w, %v, 0; st.global.u32 [%a], %w;": 31,
        "setp.eq.u32 %q, %v, 7; @%q st.global.u32 [%a], %t;": 31,
        "setp.eq.u32 %q, %v, 7; and.pred %q, %q, %p; @%q st.global.u32 [%a], %t;": 0,
        "setp.eq.u32 %q, %v, 7; @%q bra END;": 31,
        "mul.wide.u32 %a, %v, 0; add.u64 %a, %a, %o; ld.global.u32 %w, [%a];": 31,
        "mul.lo.u32 %t, %t, 4; st.shared.u32 [%t+1024], %v; ld.shared.u32 %w, [%t+1024];": 0,
        "mul.lo.u32 %t, %t, 4; st.shared.u32 [%t+1024], %v; ld.shared.u32 %w, [%t+1024];"
        "st.global.u32 [%a], %w;": 31,
        "atom.global.add.u32 %w, [%a], %v;": 31,
    }
    for code, lanes in cases.items():
        result = ptxlab.kernel(f"{head}\n{code}\nEND: ret;\n}}").simulate(1, 32, np.zeros(64, np.uint32))
        kinds = {hazard.kind for hazard in result.hazards}
        assert kinds == ({"uninitialised register"} if lanes else set()), code
        if lanes > 1:
            assert len(result.hazards[0].lanes) == lanes and 9 not in result.hazards[0].lanes, code


def test_what_was_found_before_an_error() -> None:
    text = replaced(_PTX, "ret;", "ld.shared.u32 %r3, [%r1+4096];\n    ret;")
    with pytest.raises(HazardError, match="is byte 4100 of shared memory, 128 bytes long") as caught:
        ptxlab.kernel(text).simulate(1, 32)
    kinds = [hazard.kind for hazard in caught.value.hazards]
    assert kinds == ["race", "uninitialised register", "out of bounds"]
    assert [note[:27] for note in caught.value.__notes__] == ["a hazard before: PTX line 1"] * 2


_MASKS = """
extern "C" __global__ void sum(int* x, unsigned mask) {
    if (threadIdx.x < 16)
        x[threadIdx.x] = __shfl_xor_sync(mask, x[threadIdx.x], 1);
    x[16 + threadIdx.x] = __any_sync(__activemask(), 1);
}
"""


def test_masks_that_are_computed() -> None:
    """They are read where the instruction is executed."""
    kernel = ptxlab.kernel(_MASKS)
    assert kernel.simulate(1, 32, np.zeros(64, np.int32), 0xFFFF).hazards == []
    (hazard,) = kernel.simulate(1, 32, np.zeros(64, np.int32), 0xFF).hazards
    assert (hazard.kind, hazard.line, hazard.lanes) == ("not in the mask", 4, tuple(range(8, 16)))
    assert "with a mask that names lanes 0-7" in hazard.sentence


_INIT = """
extern "C" __global__ void copy(const int* x, int* y) {
    __shared__ __align__(128) int tile[64];
    __shared__ unsigned long long bar;
    unsigned b = (unsigned)__cvta_generic_to_shared(&bar), t = (unsigned)__cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
        // fence
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(b) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], 256, [%2];" :: "r"(t), "l"(x), "r"(b) : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }"
                 :: "r"(b) : "memory");
    y[threadIdx.x] = tile[threadIdx.x];
}
"""


def test_a_copy_completes_at_an_mbarrier_without_a_fence() -> None:
    """As libcu++ counts on: a note, where the fence is missing; a race if another thread copies at once."""
    x, y = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    result = ptxlab.kernel(_INIT).simulate(1, 64, x, y)
    assert result.hazards == [] and (x == y).all()
    assert [(note.kind, note.other_line) for note in result.notes] == [("mbarrier.init without fence", 7)]
    for fence in ("fence.mbarrier_init.release.cluster", "fence.proxy.async.shared::cta"):
        fenced = replaced(_INIT, "// fence", f'asm volatile("{fence};" ::: "memory");')
        assert ptxlab.kernel(fenced).simulate(1, 64, x, y).notes == []
    by_another = replaced(_INIT, "// fence", "}\n    if (threadIdx.x == 32) {")
    hazards = ptxlab.kernel(by_another).simulate(1, 64, x, y).hazards
    assert [(hazard.kind, hazard.other_line) for hazard in hazards] == [("race", 7)] * 2


_SAME_BYTES = """
struct alignas(64) Map { char bytes[128]; };
extern "C" __global__ void copy(const __grid_constant__ Map x, int* y) {
    __shared__ __align__(128) int tile[64];
    __shared__ unsigned long long bars[2];
    unsigned b = (unsigned)__cvta_generic_to_shared(&bars[1]), t = (unsigned)__cvta_generic_to_shared(tile);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
    __syncwarp();
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %2}], [%3];" :: "r"(t), "l"(&x), "r"(0), "r"(b) : "memory");
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }"
                 :: "r"(b) : "memory");
    y[threadIdx.x] = tile[threadIdx.x];
}
"""


def test_lanes_that_copy_to_the_same_bytes_and_announce_none() -> None:
    """When the second lane meets what the first writes, the mbarrier of that copy is not known yet."""
    tensor = ptxlab.tensor_map(np.arange(64, dtype=np.int32).reshape(1, 64), box=(1, 64))
    sentence = r"bars \+ 8 bytes at .* 1 of 1 arrivals and the announcement of 8192 bytes that have come"
    with pytest.raises(HazardError, match=sentence) as error:
        ptxlab.kernel(_SAME_BYTES).simulate(1, 32, tensor, np.zeros(64, np.int32))
    assert [hazard.kind for hazard in error.value.hazards] == ["missing wait", "deadlock"]


_CHOSEN = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
    .reg .u64 %o; .reg .u32 %a, %t; .reg .pred %p; .shared .u32 s[2];
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    setp.eq.u32 %p, %t, 9;
    ld.shared.u32 %a, [s];
    USE
    st.global.u32 [%o], %t;
    ret;
}
"""


def test_loads_that_a_select_drops() -> None:
    """Compilers load what they may not need; what is computed with counts."""
    for use, kinds in (("selp.u32 %t, %a, 0, %p;", []), ("add.u32 %t, %a, 1;", ["uninitialised memory"])):
        result = ptxlab.kernel(filled(_CHOSEN, USE=use)).simulate(1, 1, np.zeros(1, dtype=np.uint32))
        assert [hazard.kind for hazard in result.hazards] == kinds


_ONE_IS_EARLY = """
extern "C" __global__ void early(const int* in, int* out, int block, int with_groups) {
  __shared__ __align__(16) int s[64];
  __shared__ unsigned long long bar;
  const unsigned b = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(s);
  if (with_groups) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                 :: "r"(to + threadIdx.x * 4), "l"(in + threadIdx.x));
    if (blockIdx.x != block) asm volatile("cp.async.commit_group; cp.async.wait_group 0;" ::: "memory");
  } else {
    if (threadIdx.x == 0)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(b));
    __syncthreads();
    if (threadIdx.x == 0)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;"
                   "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], 256, [%0];"
                   :: "r"(b), "r"(to), "l"(in) : "memory");
    if (blockIdx.x != block)
      asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }"
                   :: "r"(b) : "memory");
  }
  out[blockIdx.x * 64 + threadIdx.x] = s[threadIdx.x];
}
"""


def test_one_block_does_not_wait() -> None:
    """Blocks are looked at together as long as they do the same; the one that does not is still found."""
    kernel = ptxlab.kernel(_ONE_IS_EARLY)
    values, out = np.arange(64, dtype=np.int32), np.zeros(256, dtype=np.int32)
    for with_groups in (0, 1):
        assert kernel.simulate(4, 64, values, out, 4, with_groups).hazards == []
        for block in (0, 2):
            (hazard,) = kernel.simulate(4, 64, values, out, block, with_groups).hazards
            assert (hazard.kind, hazard.block) == ("missing wait", (block, 0, 0))


_UNUSED = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 out) {
    .reg .u64 %x, %o, %a; .reg .u32 %b, %t, %v, %w, %z; .reg .pred %first, %warp1, %p;
    ld.param.u64 %x, [x];
    ld.param.u64 %o, [out];
    mov.u32 %b, %ctaid.x;  mov.u32 %t, %tid.x;
    mad.wide.u32 %x, %b, 4, %x;
    mad.wide.u32 %o, %b, 256, %o;
    mad.wide.u32 %a, %t, 4, %o;
    setp.eq.u32 %first, %t, 0;
    setp.ge.u32 %warp1, %t, 32;
    ld.global.u32 %v, [%x];
    BEFORE
    add.u32 %w, %v, 1;
    @%first st.global.u32 [%x], %w;
    AFTER
END:
    ret;
}
"""


def test_a_load_that_another_thread_overtakes_counts_where_its_value_matters() -> None:
    """Triton lets all warps load what thread 0 changes, under a lock: that harms nobody."""
    second = "ld.global.u32 %z, [%x]; @%first st.global.u32 [%a], %z;"
    cases = {
        ("", ""): 0,
        ("bar.sync 0;", "st.global.u32 [%a], %w;"): 0,
        ("", "@%first st.global.u32 [%a], %w;"): 0,
        ("", "mov.u32 %w, 0; st.global.u32 [%a], %w;"): 0,
        ("", "ld.global.u32 %v, [%o]; @%warp1 st.global.u32 [%a], %v;"): 0,
        ("@%warp1 st.global.u32 [%a], %v;", ""): 1,
        ("", "@%warp1 st.global.u32 [%a], %w;"): 1,
        ("", "@%warp1 st.global.u32 [%a], %w; st.global.u32 [%a], %t;"): 0,  # it is overwritten
        ("setp.ne.u32 %p, %v, 0; @%p bra END;", ""): 1,
        ("", "setp.eq.u32 %p, %v, 0; @%p bra END;"): 1,
        ("shfl.sync.idx.b32 %z, %v, 0, 31, -1;", ""): 1,
        (f"@%warp1 st.global.u32 [%a], %v; {second}", ""): 1,  # another load does not make up for it
        (second, ""): 0,
    }
    for (before, after), count in cases.items():
        kernel = ptxlab.kernel(filled(_UNUSED, BEFORE=before, AFTER=after))
        for blocks in (1, 100):
            x, out = np.zeros(blocks, np.uint32), np.zeros((blocks, 64), np.uint32)
            hazards = kernel.simulate(blocks, 64, x, out).hazards
            assert [hazard.kind for hazard in hazards] == ["race"] * count, (before, after, blocks)
            if count:
                assert "warp 0, lane 0 overwrites what warp 1 reads in PTX line 15" in hazards[0].sentence
                assert "bar.sync 0" in hazards[0].remedy


def test_a_load_of_another_block_of_the_cluster_that_was_used() -> None:
    """A wait for an mbarrier of its own block tells a thread nothing of what another block has read."""
    text = replaced(_UNUSED, "mad.wide.u32 %x, %b, 4, %x;", ".shared .align 8 .b64 own; or.b32 %z, %t, %b;")
    text = replaced(replaced(text, "%first, %t, 0", "%first, %z, 0"), "%warp1, %t, 32", "%warp1, %b, 1")
    wait = """@!%first bra DONE;
    mbarrier.init.shared::cta.b64 [own], 1;
    mbarrier.arrive.shared::cta.b64 _, [own];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p, [own], 0;
    @!%p bra WAIT;
DONE:"""
    both = "barrier.cluster.arrive; barrier.cluster.wait;"
    for before, count in ((f"@%warp1 st.global.u32 [%a], %v; {wait}", 1), (wait, 0), (f"{both} {wait}", 0)):
        kernel = ptxlab.kernel(filled(text, BEFORE=before, AFTER=""))
        hazards = kernel.simulate(2, 64, np.zeros(1, np.uint32), np.zeros(128, np.uint32), cluster=2).hazards
        assert [hazard.kind for hazard in hazards] == ["race"] * count, before


#: A block writes a word and initialises an mbarrier, both blocks meet, and each uses the other's.
_NEIGHBOURS = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out) {
    .shared .align 8 .b32 word; .shared .align 8 .b64 full;
    .reg .u64 %o; .reg .u32 %b, %r, %n, %v; .reg .pred %p;
    ld.param.u64 %o, [out];
    mov.u32 %b, %cluster_ctarank;  xor.b32 %n, %b, 1;
    mad.wide.u32 %o, %b, 4, %o;
    WRITE
    MEET
    USE
    barrier.cluster.arrive; barrier.cluster.wait;
    ret;
}
"""
_WORD = (
    "st.shared.u32 [word], %b;",
    "mov.u32 %r, word; mapa.shared::cluster.u32 %r, %r, %n; ld.shared::cluster.u32 %v, [%r]; "
    "st.global.u32 [%o], %v;",
)
_ARRIVAL = (
    "mbarrier.init.shared::cta.b64 [full], 1;",
    "mov.u32 %r, full; mapa.shared::cluster.u32 %r, %r, %n; "
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r];",
)


@pytest.mark.parametrize(
    ("pair", "before", "meet", "count"),
    [
        (_WORD, "", "barrier.cluster.arrive;", 0),
        (_WORD, "", "barrier.cluster.arrive.release;", 0),
        (_WORD, "", "barrier.cluster.arrive.relaxed;", 1),
        (_WORD, "", "fence.acq_rel.cluster; barrier.cluster.arrive.relaxed;", 0),
        (_WORD, "", "fence.acq_rel.cta; barrier.cluster.arrive.relaxed;", 1),
        (_WORD, "fence.acq_rel.cluster;", "barrier.cluster.arrive.relaxed;", 1),
        (_ARRIVAL, "", "fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed;", 0),
        (_ARRIVAL, "", "barrier.cluster.arrive.relaxed;", 1),
    ],
)
def test_a_relaxed_arrival_at_the_barrier_of_the_cluster_vouches_for_what_was_fenced(
    pair: tuple[str, str], before: str, meet: str, count: int
) -> None:
    text = filled(_NEIGHBOURS, WRITE=before + pair[0], USE=pair[1])
    kernel = ptxlab.kernel(filled(text, MEET=f"{meet} barrier.cluster.wait;"))
    hazards = kernel.simulate(2, 1, np.zeros(2, np.uint32), cluster=2).hazards
    assert [hazard.kind for hazard in hazards] == ["race"] * count
    for hazard in hazards:
        assert "PTX line 12 arrives with .relaxed" in hazard.sentence
        assert hazard.remedy == "state .release instead of .relaxed in PTX line 12"


_STORE = "__device__ inline void store(int* s, int i) { *s = i; }\n"
_HEADER = """#include "store.h"
__device__ inline void put(int* s, int i) { store(s + i, i); }
__device__ __noinline__ int take(const int* s, int i) {
  return s[i];
}
"""
_INCLUDES = """#include "helpers.h"
__device__ inline void put_both(int* s, int i) {
  put(s, i);
  put(s + 64, i);
}
extern "C" __global__ void k(int* out) {
  __shared__ int s[128];
  int i = threadIdx.x;
  put_both(s, i);
  out[i] = take(s, 63 - i);
}
"""


def test_code_of_a_header_is_named_with_its_own_line_and_the_kernels(tmp_path: Path) -> None:
    """Whether it was inlined or is called; a value that a function hands over counts as used."""
    (tmp_path / "helpers.h").write_text(_HEADER, encoding="utf-8")
    (tmp_path / "store.h").write_text(_STORE, encoding="utf-8")
    kernel = ptxlab.kernel(_INCLUDES, options=[f"-I{tmp_path}"])
    (race,) = kernel.simulate(1, 64, np.zeros(64, np.int32), show=False).hazards
    assert (race.line, race.other_line, race.text) == (10, 3, "out[i] = take(s, 63 - i);")
    assert race.sentence.startswith("line 10 (from line 4 of helpers.h): warps 0 and 1")
    assert (
        "wrote in line 3 (from line 1 of store.h, in line 2 of helpers.h, called in line 9)" in race.sentence
    )
    assert race.remedy == "put __syncthreads() between line 3 (called in line 9) and line 10"
    with pytest.raises(PtxlabError, match=r"^ptxlab.cu:10, from line 4 of helpers.h: ld.shared.u32: "):
        ptxlab.kernel(replaced(_INCLUDES, "63 - i", "1 << 20"), options=[f"-I{tmp_path}"]).simulate(
            1, 64, np.zeros(64, np.int32), show=False
        )


def test_a_remark_about_lines() -> None:
    ptx = ptxlab.kernel(
        replaced(_INCLUDES, '#include "helpers.h"', replaced(_HEADER, '#include "store.h"', _STORE))
    ).ptx
    kernel = build_kernel(ptx, remark="lines are others")
    (race,) = kernel.simulate(1, 64, np.zeros(64, np.int32), show=False).hazards
    assert race.sentence.endswith(" (lines are others)")


_REDUCTION = """
__global__ void total(float* x, int first) {
  __shared__ float s[128];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  LOOP
    if (threadIdx.x < n) s[threadIdx.x] += s[threadIdx.x + n];
  if (threadIdx.x == 0) x[0] = s[0];
}
"""


@pytest.mark.parametrize("loop", ["for (int n = 64; n; n /= 2)", "for (int n = first; n; n /= 2)"])
def test_a_race_between_warps_is_named_before_one_of_lanes(loop: str) -> None:
    """The last steps of a reduction are within a warp, where __syncwarp() would be enough."""
    kernel = ptxlab.kernel(filled(_REDUCTION, LOOP=loop))
    (race,) = kernel.simulate(1, 128, np.ones(128, np.float32), 64, show=False).hazards
    remedy = "put __syncthreads() between one execution of line 7 and the next"
    outside = ", where all threads of the block come" if "first" in loop else ""  # otherwise it is unrolled
    assert race.remedy == remedy + outside


_IN_PLACE = """
__global__ void normalise(float* x, float* y, int rows, int used) {
  int i = threadIdx.x % N;
  for (int row = 0; row < rows; row++) {
    float v;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(x + row * N + i));
    float sum = v;
    #pragma unroll
    for (int step = 1; step < N && step < 32; step *= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x < N) x[row * N + i] = v / sum;
    if (threadIdx.x >= N && used) y[row * N + i] = sum;
  }
}
"""


@pytest.mark.parametrize("used", [0, 1])
@pytest.mark.parametrize(("count", "rows"), [(64, 1), (32, 3), (16, 3)])
def test_loads_in_vain_of_what_others_load_and_overwrite(count: int, rows: int, used: int) -> None:
    """Triton's kernels have them, with fewer elements than threads; who uses what was loaded has a race."""
    kernel = ptxlab.kernel(filled(_IN_PLACE, N=str(count)))
    x, y = np.ones((rows, count), np.float32), np.zeros((rows, count), np.float32)
    hazards = kernel.simulate(1, 128, x, y, rows, used, show=False).hazards
    assert [hazard.kind for hazard in hazards] == ["race"] * used and (x == 1 / min(count, 32)).all()


_UNROLLED = """
__global__ void halve(float* x, float* y, int n, int used) {
  for (int i = threadIdx.x; i < n; i += 2 * blockDim.x) {
    int j = i + blockDim.x;
    float a = x[min(n - 1, i)], b = x[min(n - 1, j)];
    if (i < n) x[i] = a / 2;
    if (j < n) x[j] = b / 2;
    else if (used) y[threadIdx.x] = b;
  }
}
"""


@pytest.mark.parametrize("used", [0, 1])
def test_a_load_in_vain_behind_others_that_were_used(used: int) -> None:
    """All loads of the first iteration are used; in the second some threads load the last element in vain."""
    x, y = np.ones(200, np.float32), np.zeros(64, np.float32)
    hazards = ptxlab.kernel(_UNROLLED).simulate(1, 64, x, y, 200, used, show=False).hazards
    assert [hazard.kind for hazard in hazards] == ["race"] * used and (x == 0.5).all()


_IN_ONE_BLOCK = r"""
__global__ void reverse(int* x, const int* used) {
  __shared__ int s[64];
  int value, place = blockIdx.x * 64 + threadIdx.x;
  s[threadIdx.x] = x[place];
  int source = (int)__cvta_generic_to_shared(&s[63 - threadIdx.x]);
  asm volatile("ld.shared.b32 %0, [%1];" : "=r"(value) : "r"(source));
  OVERWRITE
  if (used[blockIdx.x] && threadIdx.x >= 32) x[place] = value;
}
"""


@pytest.mark.parametrize("overwrite", ["", "s[threadIdx.x] = 7;"])
def test_a_race_is_that_of_the_block_and_warp_in_which_it_matters(overwrite: str) -> None:
    """All blocks load in a race; one of the four uses what it has loaded."""
    kernel = ptxlab.kernel(filled(_IN_ONE_BLOCK, OVERWRITE=overwrite))
    x, used = np.arange(256, dtype=np.int32), np.int32([0, 0, 0, 1])
    (race,) = kernel.simulate(4, 64, x, used, show=False).hazards
    assert race.kind == "race" and race.block == (3, 0, 0) and race.count == 32
    assert race.warp == (0 if overwrite else 1)  # who overwrites it, or reads it too early
    assert "warps 0 and 1 of block (3, 0, 0) both touch shared bytes 0..127 of s" in race.sentence


_NARROWER_LATER = r"""
__global__ void reverse(int4* x, char* y) {
  __shared__ int4 s[64];
  __shared__ char narrow[64];
  s[threadIdx.x] = x[threadIdx.x];
  int4 value = s[63 - threadIdx.x];
  narrow[threadIdx.x] = y[threadIdx.x];
  x[threadIdx.x] = value;
  y[threadIdx.x] = narrow[threadIdx.x];
}
"""


def test_the_bytes_of_a_race_that_matters_after_narrower_accesses() -> None:
    """The load is of 16 bytes; those behind it, before its value is stored, are of single bytes."""
    x, y = np.arange(256, dtype=np.int32), np.zeros(64, np.int8)
    (race,) = ptxlab.kernel(_NARROWER_LATER).simulate(1, 64, x, y, show=False).hazards
    assert "warps 0 and 1 of block (0, 0, 0) both touch shared bytes 512..1023 of s " in race.sentence
    assert race.addresses is not None and race.addresses[1] - race.addresses[0] == 511


_MOVED_LOAD = r"""
__global__ void add(float* x) {
  __shared__ float first;
  float value = x[threadIdx.x];
  if (threadIdx.x == 0)
    first = value;
  for (int i = 0; i < 4; i++)
    x[64 * i + threadIdx.x] = first + i;
}
"""


def test_a_load_that_the_compiler_moved_is_in_the_line_that_uses_it() -> None:
    """NVRTC loads where thread 0 does not store, and says that this is line 0."""
    kernel = ptxlab.kernel(_MOVED_LOAD)
    assert ".loc\t1 0 " in kernel.ptx
    (race,) = kernel.simulate(1, 64, np.ones(256, np.float32), show=False).hazards
    assert (race.line, race.other_line) == (6, 8)
    assert race.remedy == "put __syncthreads() between line 8 and line 6"


_MERGED_STORE = r"""
__global__ void choose(float* x) {
  float value = x[threadIdx.x];
  if (value > 3)
    x[0] = value;
  else
    x[0] = value + 1;
}
"""


def test_a_store_that_the_compiler_merged_from_two_lines_is_named_by_its_line_in_the_ptx() -> None:
    """NVRTC stores once, behind both branches, and says that this is line 0."""
    kernel = ptxlab.kernel(_MERGED_STORE)
    (store,) = (instruction for instruction in kernel.function.instructions if instruction.parts[0] == "st")
    hazards = kernel.simulate(1, 32, np.arange(32, dtype=np.float32), show=False).hazards
    assert hazards and all(hazard.sentence.startswith(f"PTX line {store.line}: ") for hazard in hazards)
    assert store.where == f"PTX line {store.line}"


_FLAG = r"""
__global__ void tell(int* x, volatile int* flag, int* y) {
  if (blockIdx.x == 0) {
    x[threadIdx.x] = threadIdx.x + 1;
    AFTER
    if (threadIdx.x == 0) { BEFORE *flag = 1; }
  } else {
    WAIT
    y[threadIdx.x] = x[threadIdx.x];
  }
}
"""
_WAIT = "while (*flag == 0) {} __threadfence();"
_ALONE = "if (threadIdx.x == 0) { while (*flag == 0) {} __threadfence(); }"


@pytest.mark.parametrize(
    ("after", "before", "wait", "remedy"),
    [
        ("__threadfence(); __syncthreads();", "", _WAIT, None),
        ("__syncthreads();", "__threadfence();", _WAIT, None),
        ("__syncthreads();", "__threadfence();", _ALONE + "__syncthreads();", None),
        ("__syncthreads();", 'asm volatile("fence.gpu;");', _WAIT, None),
        ("__syncthreads();", 'asm volatile("fence.cta.acq_rel;");', _WAIT, "is for one block"),
        ('__threadfence(); asm volatile("bar.sync 1, 64;");', "", _WAIT, None),
        ("__threadfence();", "", _WAIT, "put __syncthreads() between line 4 and the flag"),
        ("__syncthreads();", "__threadfence();", _ALONE, "use an atomic operation"),
        ("__syncthreads();", "__threadfence_block();", _WAIT, "is for one block"),
        ("__syncthreads();", "__threadfence();", "__threadfence();", "use an atomic operation"),
    ],
)
def test_blocks_tell_each_other_by_flags(after: str, before: str, wait: str, remedy: str | None) -> None:
    """A fence alone tells nobody: it takes a flag that comes after it, and somebody who looks."""
    text = filled(_FLAG, AFTER=after, BEFORE=before, WAIT=wait)
    x, flag, y = (np.zeros(size, np.int32) for size in (64, 1, 64))
    hazards = ptxlab.kernel(text).simulate(2, 64, x, flag, y, show=False).hazards
    if remedy is None:
        assert not hazards and y[63] == 64
    else:
        assert [hazard.kind for hazard in hazards] == ["race"] and remedy in hazards[0].remedy


@pytest.mark.parametrize("fence", ["__threadfence_block();", "__threadfence();"])
def test_a_fence_is_no_barrier(fence: str) -> None:
    kernel = ptxlab.kernel(
        f"__global__ void reverse(int* x) {{ __shared__ int s[64]; s[threadIdx.x] = 1; {fence}\n"
        "x[threadIdx.x] = s[63 - threadIdx.x]; }"
    )
    (race,) = kernel.simulate(2, 64, np.zeros(64, np.int32), show=False).hazards
    assert race.kind == "race" and race.remedy == "put __syncthreads() between line 1 and line 2"


_SUMS = """__global__ void last_block_reads(int* sums, int* tickets, int* out) {
    __shared__ bool is_last;
    atomicAdd(&sums[threadIdx.x], 1);
    FENCE __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd(tickets, 1) == gridDim.x - 1;
    __syncthreads();
    if (is_last) { AGAIN out[threadIdx.x] = sums[threadIdx.x]; }
}"""


@pytest.mark.parametrize(
    ("fence", "again", "races"),
    [("", "", [7]), ("__threadfence();", "__threadfence();", []), ("", "__threadfence();", [7])],
)
def test_who_updates_last_need_not_know_of_the_updates_before(
    fence: str, again: str, races: list[int]
) -> None:
    """As in llm.c's layernorm_backward_kernel6: the last block's own update hides no others."""
    kernel = ptxlab.kernel(filled(_SUMS, FENCE=fence, AGAIN=again))
    sums, out = np.zeros(64, np.int32), np.zeros(64, np.int32)
    hazards = kernel.simulate(4, 64, sums, np.zeros(1, np.int32), out, show=False).hazards
    assert [hazard.line for hazard in hazards if hazard.kind == "race"] == races and (out == 4).all()
    assert all(hazard.other_line == 3 for hazard in hazards)


@pytest.mark.parametrize(("barrier", "count"), [("", 1), ("__syncthreads();", 0)])
def test_updates_of_other_warps_are_waited_for(barrier: str, count: int) -> None:
    kernel = ptxlab.kernel(
        "__global__ void total(int* x) { __shared__ int sum; sum = 0; __syncthreads();\n"
        f"atomicAdd(&sum, 1); {barrier}\n"
        "if (threadIdx.x == 63) x[blockIdx.x] = sum; }"
    )
    hazards = kernel.simulate(3, 64, np.zeros(3, np.int32), show=False).hazards
    assert [(hazard.kind, hazard.line, hazard.other_line) for hazard in hazards] == [("race", 3, 2)] * count


@pytest.mark.parametrize(
    ("blocks", "remedy"),
    [(1, "put __threadfence() between line 4"), (2, "put __threadfence() between line 4")],
)
def test_a_lock_without_a_fence(blocks: int, remedy: str) -> None:
    """As in Warp's example_spin_lock.py: the remedy is a fence, which no barrier can stand in for."""
    kernel = ptxlab.kernel(
        "__global__ void count(int* lock, int* total) { if (threadIdx.x % 32 == 0) {\n"
        "while (atomicCAS(lock, 0, 1) != 0) {}\n"
        "int before = *(volatile int*)total;\n"
        "*total = before + 1;\n"
        "atomicExch(lock, 0); } }"
    )
    total = np.zeros(1, np.int32)
    hazards = kernel.simulate(blocks, 64 // blocks, np.zeros(1, np.int32), total, show=False).hazards
    assert total == 2 and hazards[0].remedy.startswith(remedy)
    assert "__threadfence() between line 4 and the lock or flag" in hazards[0].remedy


_CLUSTERS = """
__device__ void meet() {
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
extern "C" __global__ void __cluster_dims__(2) copy(int* x, volatile int* flag, int* y) {
    int at = blockIdx.x % 2 * 64 + threadIdx.x;
    if (blockIdx.x < 2) {
        x[at] = at + 1;
        TELL if (at == 0) { __threadfence(); *flag = 1; }
    } else {
        if (at == 0) { while (*flag == 0) {} __threadfence(); }
        HEAR y[at] = x[at];
    }
}
"""


@pytest.mark.parametrize(
    ("tell", "hear", "count"), [("meet();", "meet();", 0), ("", "meet();", 1), ("meet();", "", 1)]
)
def test_a_flag_is_for_all_blocks_that_meet_in_a_cluster(tell: str, hear: str, count: int) -> None:
    """One block tells of what others of its cluster did, and one hears of it for others."""
    x, flag, y = (np.zeros(size, np.int32) for size in (128, 1, 128))
    kernel = ptxlab.kernel(filled(_CLUSTERS, TELL=tell, HEAR=hear))
    result = kernel.simulate(4, 64, x, flag, y, show=False)
    places = [(hazard.kind, hazard.line, hazard.other_line) for hazard in result.hazards]
    assert places == [("race", 12, 8)] * count


def test_who_takes_the_last_ticket_may_put_it_back() -> None:
    """As in NVIDIA's sample threadFenceReduction: the result of its own update tells of the others."""
    kernel = ptxlab.kernel(
        "__global__ void count(int* tickets, int* x) { if (threadIdx.x == 0) {\n"
        "if (atomicAdd(tickets, 1) == gridDim.x - 1) { *tickets = 0; x[0] = 1; } } }"
    )
    x = np.zeros(1, np.int32)
    assert kernel.simulate(4, 64, np.zeros(1, np.int32), x, show=False).hazards == [] and x == 1


_IN_TURN = r"""
__global__ void add_in_turn(int* lock, int* sum) {
  if (threadIdx.x == 0) {
    int turn;
    do asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(turn) : "l"(lock));
    while (turn != blockIdx.x);
  }
  BARRIER
  if (threadIdx.x == WHO) {
    *sum += blockIdx.x;
    if (blockIdx.x == gridDim.x - 1) { lock[0] = 0; return; }
    FENCE
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], 1;" :: "l"(lock));
  }
}
"""


@pytest.mark.parametrize(
    ("fence", "barrier", "who", "lines"),
    [
        ("__threadfence();", "", 0, set()),
        ("__threadfence();", "__syncthreads();", 40, set()),
        ("", "", 0, {10, 11}),
    ],
)
def test_who_has_waited_for_a_lock_may_put_it_back(
    fence: str, barrier: str, who: int, lines: set[int]
) -> None:
    """As in Marlin: the last block has read what the updates of all others made of the lock."""
    source = filled(_IN_TURN, FENCE=fence, BARRIER=barrier, WHO=str(who))
    result = ptxlab.kernel(source).simulate(3, 64, np.zeros(1, np.int32), np.zeros(1, np.int32), show=False)
    assert {hazard.line for hazard in result.hazards} == lines


_AHEAD = r"""
#define LOAD(turn) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(value) \
  : "r"((unsigned)__cvta_generic_to_shared(&tile[turn][threadIdx.x % 8 * 4])))
__global__ void load_ahead(int* out, int turns) {
  __shared__ __align__(16) int tile[4][32];
  int value;
  for (int i = threadIdx.x; i < 128; i += 64) tile[i / 32][i % 32] = i;
  __syncthreads();
  LOAD(0);
  for (int turn = 0; turn < turns; turn++) {
    out[turn * 64 + threadIdx.x] = value;
    LOAD(turn + 1);
  }
  BEFORE
  if (threadIdx.x < 32) tile[turns][threadIdx.x] = 7;
  AFTER
}
"""


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ("", "", 0),
        ("", "out[turns * 64 + threadIdx.x] = value;", 1),
        ("__syncthreads();", "out[turns * 64 + threadIdx.x] = value;", 0),
        ("out[turns * 64 + threadIdx.x] = value;", "", 1),
    ],
)
def test_a_matrix_that_is_loaded_in_vain(before: str, after: str, count: int) -> None:
    """As in Marlin: what is loaded ahead in the last turn is overwritten, and may not be used."""
    kernel = ptxlab.kernel(filled(_AHEAD, BEFORE=before, AFTER=after))
    hazards = kernel.simulate(1, 64, np.zeros((4, 64), np.int32), 3, show=False).hazards
    assert [(hazard.kind, hazard.warp) for hazard in hazards] == [("race", 0)] * count


_COPIED_PAIR = r"""
__global__ void pair(const int* a, const int* b, int* out) {
  __shared__ int s[64], t[64];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
    :: "r"((unsigned)__cvta_generic_to_shared(s + threadIdx.x)), "l"(a + threadIdx.x) : "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
    :: "r"((unsigned)__cvta_generic_to_shared(t + threadIdx.x)), "l"(b + threadIdx.x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  out[threadIdx.x] = s[63 - threadIdx.x];
  out[64 + threadIdx.x] = t[63 - threadIdx.x];
}
"""


def test_copies_of_one_group_keep_their_lines() -> None:
    """A wait completes both copies; each race is with the copy that wrote these bytes."""
    a, b, out = np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(128, np.int32)
    hazards = ptxlab.kernel(_COPIED_PAIR).simulate(1, 64, a, b, out, show=False).hazards
    assert {(hazard.line, hazard.other_line) for hazard in hazards} == {(9, 5), (10, 7)}


def test_what_is_printed_matters() -> None:
    source = r"""extern "C" __global__ void neighbour() {
      __shared__ int s[64];
      s[threadIdx.x] = threadIdx.x;
      BARRIER
      int value = s[63 - threadIdx.x];
      if (threadIdx.x == 0)
        printf("%d %d\n", blockIdx.x, value);
    }"""
    (race,) = ptxlab.kernel(filled(source, BARRIER="")).simulate(2, 64, show=False).hazards
    assert race.line == 5 and ", and line 7 prints it" in str(race)
    fixed = ptxlab.kernel(filled(source, BARRIER="__syncthreads();"))
    assert fixed.simulate(2, 64, show=False).hazards == []


_TILES_OF_WARPS = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void in_pairs(int* out) {
  __shared__ cg::block_tile_memory<128> scratch;
  __shared__ int s[128];
  auto tile = cg::tiled_partition<64>(cg::this_thread_block(scratch));
  s[threadIdx.x] = threadIdx.x;
  SYNC
  out[blockIdx.x * 128 + threadIdx.x] = s[threadIdx.x ^ 63];
}
"""


def test_tiles_of_several_warps_meet_in_reserved_shared_memory() -> None:
    for sync, lines in (("tile.sync();", []), ("", [9])):
        out = np.zeros((2, 128), dtype=np.int32)
        result = ptxlab.kernel(filled(_TILES_OF_WARPS, SYNC=sync)).simulate(2, 128, out, show=False)
        assert [hazard.line for hazard in result.hazards] == lines
        assert lines or (out == np.arange(128) ^ 63).all()


@pytest.mark.parametrize(("lane", "count"), [(0, 1), (4, 0)])
def test_a_doubtful_column_of_b_is_that_of_its_own_product(lane: int, count: int) -> None:
    """m8n8k4 is four products: those of lanes 4 to 7 do not read what lane 0 loads."""
    zeros = " ".join(f"mov.f32 %d{i}, 0f00000000;" for i in range(8))
    accumulators = ", ".join(f"%d{i}" for i in range(8))
    stores = " ".join(f"@%q st.global.f32 [%out+{4 * i}], %d{i};" for i in range(8))
    ptx = f""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {{
  .reg .pred %p, %q; .reg .b32 %tid, %a<2>, %b<2>; .reg .f32 %d<8>; .reg .b64 %out;
  .shared .align 4 .b8 s[8];
  ld.param.u64 %out, [out]; mov.u32 %tid, %tid.x;
  setp.eq.u32 %p, %tid, 0; setp.eq.u32 %q, %tid, {lane};
  mov.b32 %a0, 0; mov.b32 %a1, 0; mov.b32 %b0, 0; mov.b32 %b1, 0; {zeros}
  @%p ld.shared.b32 %b0, [s];
  mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32
    {{{accumulators}}}, {{%a0, %a1}}, {{%b0, %b1}}, {{{accumulators}}};
  {stores} ret; }}"""
    result = ptxlab.kernel(ptx).simulate(1, 32, np.zeros(8, np.float32))
    assert [hazard.kind for hazard in result.hazards] == count * ["uninitialised memory"]


def test_an_array_behind_a_table_of_addresses_is_handed_back_too() -> None:
    """As one that is an argument itself; a variable of the module stays on the device."""
    source = """extern "C" __global__ void k(float** table) {
        __shared__ float s[32];
        table[0][threadIdx.x] = s[threadIdx.x];
    }"""
    kernel = ptxlab.kernel(source)
    out = np.zeros(32, np.float32)
    table = np.array([out.ctypes.data], np.uint64)
    address = table.ctypes.data.to_bytes(8, "little")
    arguments = HostMemory([out], search=True).arguments(kernel.function, [address])
    result = kernel.simulate(1, 32, *launch_arguments(arguments))
    assert [hazard.kind for hazard in result.hazards] == ["uninitialised memory"]


_LOCKED = (
    "for (bool done = false; !done;)\nif (atomicCAS(x + 1, 0, 1) == 0) {{\n{0} = {0} + 1;\n"
    "atomicExch(x + 1, 0); done = true; }}"
)


@pytest.mark.parametrize(
    ("body", "remedy"),
    [
        ("x[0] += 1;", "use an atomic operation"),
        ("x[t % 2] = min(x[t % 2], x[t + 64]);", "use an atomic operation"),
        ("if (t < 32) {" + _LOCKED.format("x[0]") + "}", "put __threadfence() between line 4 and the lock"),
        (
            "s[0] = 0; __syncthreads();" + _LOCKED.format("s[0]") + "__syncthreads(); x[0] = s[0];",
            "put __threadfence() between line 4 and the lock",
        ),
        (
            "if (t < 48) {\ns[t] = x[t];\nx[t] = s[47 - t]; }",
            "put __syncthreads() between line 3 and line 4, where all threads of the block come",
        ),
        (
            "if (t < 16) {\ns[t] = x[t];\nx[t] = s[15 - t]; }",
            "put __syncwarp() between line 3 and line 4, with the mask of the lanes that come there",
        ),
        ("s[t] = x[t];\nif (t < 32)\nx[t] = s[63 - t];", "put __syncthreads() between line 2 and line 4"),
        (
            "s[t] = x[t]; __syncthreads();\nfor (int d = 32; d; d /= 2)\nif (t < d) s[t] += s[t + d];\n"
            "__syncthreads(); x[t] = s[0];",
            "put __syncwarp() between one execution of line 4 and the next",
        ),
        ("s[t] = x[t]; tile.sync(); x[t] = s[t ^ 16];", "put __syncwarp()"),
        ("s[t] = x[t]; tile.sync(); x[t] = s[t ^ 8];", ""),
    ],
)
def test_no_remedy_would_hang(body: str, remedy: str) -> None:
    """An update wants an atomic operation, a lock its fence; a barrier is not for a branch that some take."""
    kernel = ptxlab.kernel(
        "#include <cooperative_groups.h>\n#line 1\n"
        "__global__ void k(int* x) { const int t = threadIdx.x; __shared__ int s[64]; "
        "auto tile = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());\n"
        + body
        + "}"
    )
    hazards = kernel.simulate(1, 64, np.zeros(256, np.int32), show=False).hazards
    assert [hazard.remedy.startswith(remedy) for hazard in hazards[:1]] == [True] * bool(remedy)


def test_the_flag_that_nobody_acquires_is_named_and_not_what_is_volatile_in_shared_memory() -> None:
    """As in threadFenceReduction of cuda-samples, whose last block adds up in volatile shared memory."""
    kernel = ptxlab.kernel(
        "__global__ void k(const int* x, int* o, unsigned* n) {\n"
        "__shared__ volatile int s[32]; __shared__ bool last;\n"
        "o[1 + blockIdx.x] = x[blockIdx.x]; __threadfence();\n"
        "if (threadIdx.x == 0) last = atomicInc(n, gridDim.x) == gridDim.x - 1;\n"
        "__syncthreads(); if (!last) return;\n"
        "s[threadIdx.x] = threadIdx.x < gridDim.x ? o[1 + threadIdx.x] : 0; __syncthreads();\n"
        "int sum = 0; for (int i = 0; i < 32; ++i) sum += s[i];\n"
        "o[0] = sum; }"
    )
    x, o = np.arange(4, dtype=np.int32), np.zeros(8, np.int32)
    result = kernel.simulate(4, 32, x, o, np.zeros(1, np.uint32), show=False)
    assert result.hazards == [] and o[0] == 6
    assert [(note.line, note.kind) for note in result.notes] == [(6, "flag without acquire")]
    assert "after the read of the flag in line 4" in result.notes[0].remedy


@pytest.mark.parametrize("warps", [1, 4096])
def test_what_flags_hand_over_takes_little_memory(warps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that nobody needs are dropped; of very many warps those of a block share one."""
    dropped = []
    keep = release_acquire._Times.keep
    monkeypatch.setattr(release_acquire, "_ROW_BYTES", 4096)
    monkeypatch.setattr(release_acquire, "_MAX_WARPS", warps)
    monkeypatch.setattr(release_acquire._Times, "keep", lambda *args: (dropped.append(args), keep(*args)))
    ordered = (
        "__global__ void k(int* x, volatile int* flags) {\n"
        "if (threadIdx.x == 0 && blockIdx.x) { while (!flags[blockIdx.x - 1]) {} ACQUIRE }\n"
        "__syncthreads();\n"
        "x[32 * blockIdx.x + threadIdx.x] = blockIdx.x ? x[32 * blockIdx.x + threadIdx.x - 32] + 1 : 1;\n"
        "__syncthreads(); if (threadIdx.x == 0) { __threadfence(); flags[blockIdx.x] = 1; } }"
    )
    for acquire, kinds in (("__threadfence();", set()), ("", {"flag without acquire"})):
        x = np.zeros(2048, np.int32)
        text = filled(ordered, ACQUIRE=acquire)
        result = ptxlab.kernel(text).simulate(64, 32, x, np.zeros(64, np.int32), show=False)
        assert {finding.kind for finding in (*result.hazards, *result.notes)} == kinds and x[-1] == 64
    assert dropped
