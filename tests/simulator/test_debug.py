"""A session that steps through a launch: the same state however one comes to a position."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.simulator.debug import DebugSession
from ptxlab.simulator.debug import debug_session as session_module
from ptxlab.simulator.debug.origins import Origin

from .kernel_cases import CASES, digest

_SOURCE = r"""
#include <cooperative_groups.h>
extern "C" __global__ void rounds(float* x, int* n) {
  __shared__ float s[64];
  float v = x[threadIdx.x];
  for (int i = 0; i < 4; ++i) {
    s[threadIdx.x] = v * 2 + threadIdx.x;
    __syncthreads();
    v = s[63 - threadIdx.x] + v;
    __syncthreads();
  }
  if (threadIdx.x % 2) atomicAdd(n, 1); else v = v / 3;
  x[threadIdx.x] = v;
}
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void calls(float* x, int* n) {
  int* p = (int*)malloc(16);
  p[1] = fibonacci(threadIdx.x % 7);
  if (threadIdx.x == 3) printf("three\n");
  atomicAdd(n, p[1] + blockIdx.x);
  if (threadIdx.x % 3) free(p);
  x[threadIdx.x] = sinf(p[1]);
}
extern "C" __global__ void lock(float* x, int* n) {
  if (threadIdx.x == 0) while (atomicCAS(n, 0, 1) != 0);
  __syncthreads();
  x[threadIdx.x] += blockIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); atomicExch(n, 0); }
}
extern "C" __global__ void product(float* x, int* n) {
  float d[4] = {0, 0, 0, 0};
  unsigned a = threadIdx.x * 0x01000100u;
  for (int i = 0; i < 5; ++i)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, "
                 "{%4, %4}, {%0, %1, %2, %3};" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a + i));
  x[threadIdx.x] = d[0] + d[3];
}
extern "C" __global__ void synchronised(float* x, int* n) {
  __shared__ unsigned long long full;
  __shared__ alignas(16) float tile[64];
  unsigned b = __cvta_generic_to_shared(&full), t = __cvta_generic_to_shared(tile);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(b) : "memory");
  __syncthreads();
  for (int i = 0; i < 3; ++i) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 256;" :: "r"(b) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
                   :: "r"(t), "l"(x), "r"(b) : "memory");
    }
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra L; }"
                 :: "r"(b), "r"(i & 1) : "memory");
    float v = tile[threadIdx.x ^ 5];
    __syncthreads();
    x[threadIdx.x] = v + 1;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
  }
  cooperative_groups::this_grid().sync();
  atomicAdd(n, 1);
}
extern "C" __global__ void ends_badly(float* x, int* n) {
  for (int i = 0; i < 4; ++i) x[threadIdx.x] += i;
  if (threadIdx.x == 40) x[1 << 20] = 0;
}
extern "C" __global__ void born(float* x, int* n) {
  float v = x[threadIdx.x];
  v = __shfl_xor_sync(~0u, v, 1);
  v = v - x[threadIdx.x];
  x[threadIdx.x + 64] = 1 / v - 1 / v;
}
"""
_NAMES = ("rounds", "calls", "lock", "product", "synchronised")


def _session(name: str, blocks: int = 3) -> tuple[DebugSession, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    x, n = np.arange(128, dtype=np.float32), np.zeros(1, dtype=np.int32)
    return ptxlab.kernel(_SOURCE, name).debug(blocks, 64, x, n), x, n


def _state(session: DebugSession) -> dict[str, Any]:
    """All that one can ask for, as bytes."""
    state: dict[str, Any] = {name: array.tobytes() for name, array in session.arrays.items()}
    state["warps"], state["output"], state["next"] = session.warps, session.output, session.next_warps
    for warp in {state.warp for state in session.warps}:
        registers = session.registers(warp)
        state[f"registers {warp}"] = {name: values.tobytes() for name, values in registers.items()}
    for block in session._machine.batch.numbers.tolist():
        state[f"shared {block}"] = session.shared(block).tobytes(), tuple(session.mbarriers(block))
    return state


@pytest.mark.parametrize("name", _NAMES)
def test_the_same_state_however_one_comes_to_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_SPACING", 1e9)  # no snapshots but the first
    straight, *_ = _session(name)
    end = straight.run().position
    expected = straight.arrays["1"].copy()
    rng = np.random.default_rng(1)
    positions = [0, end, *rng.integers(0, end, 10).tolist()]
    states = {}
    for position in sorted(set(positions)):
        fresh, *_ = _session(name)
        states[position] = _state(fresh.go(position))
    monkeypatch.setattr(session_module, "_SPACING", 1e-4)
    jumping, x, _ = _session(name)
    for position in positions:
        assert jumping.go(position).position == position
        assert _state(jumping) == states[position], position
    for position in sorted(set(positions), reverse=True):
        assert _state(jumping.go(position)) == states[position], position
    jumping.run()
    assert np.array_equal(x, expected), "the arrays are the launch's memory"
    plain, count = np.arange(128, dtype=np.float32), np.zeros(1, dtype=np.int32)
    ptxlab.kernel(_SOURCE, name).simulate(3, 64, plain, count, show=False)
    assert np.array_equal(plain, expected), "and at the end what a simulation gives"
    assert len(jumping._snapshots) > 3


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_SPACING", 1e-5)
    session, *_ = _session("rounds")
    session._most_bytes = 60_000
    end = session.run().position
    assert session.memory < 1.5 * session._most_bytes
    kept = [snapshot.position for snapshot in session._snapshots]
    assert kept[0] == 0 and kept == sorted(kept)
    before = _state(session.go(end // 2))
    session.go(end).go(0)
    assert _state(session.go(end // 2)) == before


def test_steps_breakpoints_and_watches() -> None:
    session, x, n = _session("rounds")
    lines = _SOURCE.splitlines()
    assert session.step().position == 1 and session.back().position == 0
    assert "v = x[threadIdx.x]" in lines[session.step(line=True).line - 1]
    assert "__syncthreads" in lines[session.step_barrier().line - 1] and session.stopped == "barrier"
    sync = session.line
    first = session.position
    assert session.run_to(sync, warp=3).position > first and session.back_to(sync).position == first
    assert session.step_barrier().back_barrier().position == first
    session.breakpoint(sync, when=lambda session: session.position > first + 10)
    hits = []
    while not session.run().ended:
        hits.append(session.position)
    assert len(hits) == 2 and session.stopped == "the end" and int(n[0]) == 96
    back = []
    while session.run_back().position:
        back.append(session.position)
    assert back == hits[::-1] and session.stopped == "begin"
    session.breakpoints.clear()
    session.watch(x, 5)
    session.run()
    assert session.stopped == "element 5 has changed" and x[5] != 5
    changed = session.position
    assert session.back().position == changed - 1 and x[5] == 5
    assert session.run().position == changed
    session.watches.clear()
    names = list(session.registers(0))
    session.go(0).watch(register=names[-1], warp=1)
    assert session.run().stopped == f"{names[-1]} of warp 1 has changed"


def test_a_breakpoint_in_a_loop_whose_line_begins_before_it() -> None:
    """Its address is computed before the loop, in the same line; the loop has its own first instruction."""
    source = (
        "__global__ void f(volatile int* x) {\n  for (int i = 0; i < 1024; ++i)\n    x[threadIdx.x] += 1;\n}"
    )
    x = np.zeros(32, np.int32)
    session = ptxlab.kernel(source).debug(1, 32, x)
    session.breakpoint(3, "arrays['1'][0] > 20")
    slices = list(session.in_slices("run"))
    assert session.stopped == "breakpoint at line 3" and 20 < x[0] <= 64
    assert len(slices) > 1, "a condition that does not hold is a place to leave the motion"


def test_steps_over_and_out_of_calls() -> None:
    session, *_ = _session("calls")
    lines = _SOURCE.splitlines()
    call = next(number for number, text in enumerate(lines, 1) if "p[1] = fibonacci" in text)
    session.run_to(call)
    while len(session.calls(0)) == 1:
        session.step()
    assert [function.name for function, _ in session.calls(0)] == ["_Z9fibonaccii", "calls"]
    session.step_out(warp=0)
    assert session.stopped == "return" and len(session.calls(0)) == 1
    session.back_to(call).step(line=True, warp=0, over=True)
    assert len(session.calls(0)) == 1 and session.line > call
    session.back(line=True, warp=0, over=True)
    assert session.line == call
    inside = session.back_to(call).step(line=True, warp=0)
    assert "fibonacci(n - 1)" in lines[inside.line - 1] and len(session.calls(0)) == 2
    assert session.evaluate("r", warp=1, names={"r": 7}) == 7


def test_state_that_one_can_ask_for() -> None:
    session, *_ = _session("synchronised")
    session.run_to(next(i for i, text in enumerate(_SOURCE.splitlines(), 1) if "(i & 1)" in text))
    assert {warp.state for warp in session.warps} <= {"next", "ready", "waits", "ended"}
    (barrier,) = session.mbarriers(0)
    assert (barrier.expected, barrier.valid) == (1, True) and barrier.address < 1024
    product, *_ = _session("product")
    while "mma" not in (product.instruction.opcode if product.instruction else ""):
        product.step()
    position = product.position
    operands = product.operands(1)
    assert product.position == position
    register = next(iter(product.instruction.operands[1].items)).name  # type: ignore[union-attr]
    assert np.array_equal(operands.a[:, 0], product.registers(1)[register].view(np.uint32))
    with pytest.raises(PtxlabError, match="is no matrix instruction"):
        product.go(0).operands(0)
    assert not product.arrays["1"].flags.writeable


def test_a_launch_that_ends_with_an_error() -> None:
    session, x, _ = _session("ends_badly", 1)
    session.run()
    assert session.ended and session.error is not None and "st.global" in str(session.error)
    assert session.stopped.startswith("error: ") and session.instruction is not None
    end = session.position
    assert session.back().position == end - 1 and session.step().ended
    assert session.go(0).position == 0 and x[1] == 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda session: session.go(-1), "position=-1: positions are counted from 0 on"),
        (lambda session: session.go("a"), "position: found 'a'; it takes a whole number"),
        (lambda session: session.step(0), "count=0: it is 1 or more"),
        (lambda session: session.breakpoint(1), "line=1: it has no instructions; lines .* have"),
        (lambda session: session.breakpoint(5, "1 +"), r"when='1 \+': it is no expression of Python"),
        (lambda session: session.breakpoint(5, 3), "when=3: it takes a function or an expression as text"),
        (lambda session: session.registers(6), "warp=6: the launch has 6 warps, from 0 on"),
        (lambda session: session.shared(3), "block=3: the launch has 3 blocks, from 0 on"),
        (lambda session: session.watch(9), "array=9: it is no array of this launch; arguments 1, 2 are"),
        (lambda session: session.watch("1", 500), r"index=500: the array is float32\[128\]"),
        (lambda session: session.watch(register="%q9"), "register='%q9': there are"),
        (lambda session: session.evaluate("nothing"), "'nothing' cannot be computed here"),
        (lambda session: session.tensor_memory(), "no instruction has used tensor memory so far"),
        (lambda session: session.operands(0), "is no matrix instruction"),
    ],
)
def test_refusals(call: Any, sentence: str) -> None:
    session, *_ = _session("rounds")
    with pytest.raises(PtxlabError, match=sentence):
        call(session)
    assert session.position == 0


@pytest.mark.parametrize("name", ["gemm_wgmma_tma", "bulk_reduce", "gemm_mma_swizzled"])
def test_kernels_with_asynchronous_copies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They give what a simulation gives, also after motion back and forth."""
    monkeypatch.setattr(session_module, "_SPACING", 2e-3)
    case = CASES[name]
    kernel, plain, arguments = case.compiled(), case.inputs(), case.inputs()
    kernel.simulate(case.grid, case.block, *plain, shared=case.shared, show=False)
    session = kernel.debug(case.grid, case.block, *arguments, shared=case.shared)
    before = digest(arguments)
    end = session.run().position
    assert digest(arguments) == digest(plain) != before
    session.go(end // 2)
    middle = _state(session)
    session.go(0)
    assert digest(arguments) == before
    assert _state(session.go(end // 2)) == middle
    session.run()
    assert digest(arguments) == digest(plain)


def _lines_behind(origin: Origin) -> set[str]:
    lines = _SOURCE.splitlines()
    return {lines[part.line - 1].strip() for part in origin.walk() if part.line}


def test_who_wrote_through_shared_memory_and_shuffles() -> None:
    session, x, n = _session("rounds", 1)
    session.run()
    origin = session.who_wrote(x, 5, most=500)
    assert session.position == session.length
    assert (origin.opcode, origin.warp, origin.lane) == ("st.global.f32", 0, 5)
    read = [part for part in origin.walk() if "argument 1" in part.note]
    # Element 5 is made from itself and from element 58, its mirror, alone.
    assert {part.what.split(" of ")[0] for part in read} == {"bytes 20 to 23", "bytes 232 to 235"}
    assert {(part.warp, part.lane) for part in origin.walk() if part.opcode == "st.shared.f32"} >= {(1, 26)}
    assert "s[threadIdx.x] = v * 2 + threadIdx.x;" in _lines_behind(origin)
    assert json.loads(json.dumps(origin.json()))["sources"][0]["position"] < origin.position
    assert str(origin).splitlines()[0] == origin.sentence
    assert session.who_wrote(n, 0).opcode.startswith("atom") or "red" in session.who_wrote(n, 0).opcode
    assert session.go(0).who_wrote(x, 5).note.endswith("as it was at the beginning")
    assert any("not followed" in part.note for part in session.run().who_wrote(x, 5, most=2).walk())

    shuffled, y, _ = _session("born", 1)
    shuffled.run()
    lanes = [part.lane for part in shuffled.who_wrote(y, 69).walk() if part.opcode == "ld.global.u32"]
    assert lanes == [4], "shfl.bfly by 1: lane 5 has the value of lane 4"


def test_who_wrote_through_copies_and_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "_SPACING", 1e-4)  # several pieces are executed again
    session, x, _ = _session("synchronised", 1)
    session.run()
    origin = session.who_wrote(x, 5)
    chain = [part.what for part in origin.walk() if part.opcode.startswith("cp.async.bulk")]
    assert [int(what.split()[-1]) % 256 for what in chain] == [4 * (5 ^ 5) + 16 * 0, 20, 0] or len(chain) == 3
    product, y, _ = _session("product", 1)
    product.run()
    origin = product.who_wrote(y, 5, most=1000)
    products = [part for part in origin.walk() if part.opcode.startswith("mma")]
    assert len(products) == 10, "two registers of D, through five products each"
    sources = {part.what for part in products[0].sources}
    assert any(what.startswith("C: ") for what in sources)
    # d[3] of lane 5 is row 9, column 3: A's row is in lanes 4 to 7, B's column in lanes 12 to 15.
    lanes = {part.lane for top in products[:1] for part in top.sources if part.what.startswith("B")}
    assert lanes <= set(range(8, 16)) and lanes
    assert not any("not followed" in part.note for part in origin.walk())


def test_where_a_nan_is_born() -> None:
    session, x, _ = _session("born", 1)
    x[:] = 0
    x[40] = 7
    session = ptxlab.kernel(_SOURCE, "born").debug(1, 64, x, np.zeros(1, np.int32))
    assert session.first_infinity() is not None
    origin = session.first_nan()
    assert origin is not None and origin.opcode == "sub.f32" and origin.lane == 0
    assert origin.position == session.position - 1
    reference = np.zeros(128, np.float32)
    reference[40] = 7
    first = session.first_difference(x, reference)
    assert first is not None and first.what == "element (64,)"
    clean, *_ = _session("rounds", 1)
    assert clean.first_nan() is None and clean.position == 0
    assert clean.first_difference("2", clean.run().arrays["2"]) is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda session: session.who_wrote("1", 500), r"index=500: it names one element of float32\[128\]"),
        (lambda session: session.who_wrote(register="%f1", lane=40), "lane=40: lanes are 0 to 31"),
        (lambda session: session.who_wrote("1", 0, most=0), "most=0: it is 1 or more"),
        (lambda session: session.first_difference("1", 3), r"reference: found the shape \[\]"),
    ],
)
def test_refused_questions(call: Any, sentence: str) -> None:
    session, *_ = _session("rounds")
    with pytest.raises(PtxlabError, match=sentence):
        call(session)
