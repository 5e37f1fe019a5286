"""A launch that cannot go on says who waits for whom."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ptxlab
from ptxlab.simulator import HazardError
from ptxlab.simulator.waiting import Waiting, WaitingWarp

_SOURCE = r"""
#include <cooperative_groups.h>
typedef unsigned long long barrier_t;
#define P(x) unsigned(__cvta_generic_to_shared(&x))
__device__ void init(unsigned b, int n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory");
}
__device__ void wait(unsigned b, int parity) {
  asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra L; }"
               :: "r"(b), "r"(parity) : "memory");
}
__device__ void arrive(unsigned b) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" :: "r"(b) : "memory");
}
__device__ void expect(unsigned b, int n) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(b), "r"(n) : "memory");
}
__device__ void copy(unsigned to, int* from, int n, unsigned b) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(to), "l"(from), "r"(n), "r"(b) : "memory");
}
extern "C" __global__ void wrong_parity(int* x) {
  __shared__ barrier_t full;
  if (threadIdx.x == 0) init(P(full), 32);
  __syncthreads();
  if (threadIdx.x < 32) arrive(P(full)); else wait(P(full), 1);
  x[threadIdx.x] = 1;
}
extern "C" __global__ void wrong_bytes(int* x) {
  __shared__ barrier_t full;
  __shared__ alignas(16) int tile[64];
  if (threadIdx.x == 0) init(P(full), 1);
  __syncthreads();
  if (threadIdx.x == 0) { expect(P(full), 256); copy(P(tile), x, 128, P(full)); }
  wait(P(full), 0);
  x[threadIdx.x] = tile[threadIdx.x];
}
extern "C" __global__ void missing_arrival(int* x) {
  __shared__ barrier_t full;
  if (threadIdx.x == 0) init(P(full), 64);
  __syncthreads();
  if (threadIdx.x < 32) arrive(P(full));
  wait(P(full), 0);
  if (threadIdx.x >= 32) arrive(P(full));
  x[threadIdx.x] = 1;
}
extern "C" __global__ void ended_before(int* x) {
  if (threadIdx.x < 32) return;
  asm volatile("barrier.sync 1, 64;" ::: "memory");
  x[threadIdx.x] = 1;
}
extern "C" __global__ void swapped(int* x) {
  __shared__ barrier_t full, empty;
  if (threadIdx.x == 0) { init(P(full), 32); init(P(empty), 32); }
  __syncthreads();
  if (threadIdx.x < 32) { wait(P(empty), 0); arrive(P(full)); }
  else { wait(P(full), 0); arrive(P(empty)); }
  x[threadIdx.x] = 1;
}
extern "C" __global__ __cluster_dims__(2) void peers(int* x) {
  __shared__ barrier_t full;
  if (threadIdx.x == 0) init(P(full), 1);
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  if (blockIdx.x == 0) wait(P(full), 0);
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
  x[threadIdx.x] = 1;
}
extern "C" __global__ void lock(int* x) {
  if (threadIdx.x == 0) while (atomicCAS(x, 0, 1) != 0);
  __syncthreads();
  x[1] += 1;
  if (x[1] > 1000 && threadIdx.x == 0) atomicExch(x, 0);
}
extern "C" __global__ void grid(int* x) {
  __shared__ int tile[11 * 1024];
  tile[threadIdx.x] = x[threadIdx.x];
  cooperative_groups::this_grid().sync();
  x[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ __maxnreg__(128) void resized(int* x) {
  if (threadIdx.x < 128) asm volatile("setmaxnreg.inc.sync.aligned.u32 LIMIT;");
  else asm volatile("setmaxnreg.dec.sync.aligned.u32 64;");
  asm volatile("bar.sync 0;");
  x[threadIdx.x] = 1;
}
extern "C" __global__ void uninitialised(int* x) {
  __shared__ barrier_t full, ready;
  __shared__ alignas(16) int tile[64];
  if (threadIdx.x == 0) init(P(ready), 1);
  __syncthreads();
  if (threadIdx.x < 32) wait(P(ready), 0);
  if (threadIdx.x == 32) { expect(P(full), 128); copy(P(tile), x, 128, P(full)); }
  x[threadIdx.x] = tile[threadIdx.x];
}
"""


def _hang(name: str, blocks: int = 1, threads: int = 64, source: str = _SOURCE) -> HazardError:
    kernel = ptxlab.kernel(source, name)
    with pytest.raises(HazardError) as caught:
        kernel.simulate(blocks, threads, np.zeros(max(threads, 64), np.int32), show=False)
    return caught.value


def _line(text: str) -> int:
    return next(number for number, line in enumerate(_SOURCE.splitlines(), 1) if text in line)


def _states(warp: WaitingWarp) -> set[tuple[str, bool, tuple[int, ...]]]:
    return {(row.state, row.arrives, tuple(number for _, number in row.warps)) for row in warp.missing}


def _wrong_parity(waiting: Waiting) -> None:
    (warp,) = waiting
    awaited = warp.awaited
    assert (warp.warp, awaited.kind, awaited.phase, awaited.parity) == (1, "mbarrier", 1, 1)
    assert (awaited.arrived, awaited.expected) == (0, 32)
    assert _states(warp) == {("ended", False, (0,))}


def _wrong_bytes(waiting: Waiting) -> None:
    first, second = waiting
    awaited = first.awaited
    assert awaited == second.awaited
    assert (awaited.bytes_arrived, awaited.bytes_expected) == (128, 256)
    assert (awaited.arrived, awaited.expected, awaited.phase) == (1, 1, 0)
    assert first.missing == () and waiting.cycle == ()
    assert "128 of 256 bytes" in str(waiting)


def _missing_arrival(waiting: Waiting) -> None:
    first, second = waiting
    assert (first.awaited.arrived, first.awaited.expected) == (32, 64)
    assert _states(second) == {("waits", True, (0, 1))}, "they arrive only behind the wait"
    assert waiting.cycle == (0,)


def _ended_before(waiting: Waiting) -> None:
    (warp,) = waiting
    assert (warp.warp, warp.awaited.kind, warp.awaited.name) == (1, "barrier", "barrier 1")
    assert (warp.awaited.arrived, warp.awaited.expected) == (32, 64)
    assert _states(warp) == {("ended", False, (0,))}
    assert warp.line == _line("barrier.sync 1, 64")
    assert "have ended at " in str(waiting)


def _swapped(waiting: Waiting) -> None:
    producer, consumer = waiting
    assert "empty" in producer.awaited.name and "full" in consumer.awaited.name
    assert _states(producer) == {("waits", True, (1,))} and _states(consumer) == {("waits", True, (0,))}
    assert waiting.cycle == (0, 1)
    assert str(waiting).count(" -> ") == 2


def _peers(waiting: Waiting) -> None:
    kinds = {(warp.block, warp.awaited.kind) for warp in waiting}
    assert kinds == {((0, 0, 0), "mbarrier"), ((1, 0, 0), "cluster barrier")}
    peer = next(warp for warp in waiting if warp.block == (1, 0, 0))
    assert (peer.awaited.arrived, peer.awaited.expected) == (64, 128)
    assert [row.warps[0] for row in peer.missing] == [((0, 0, 0), 0)] and peer.missing[0].arrives
    own = next(warp for warp in waiting if warp.block == (0, 0, 0))
    assert not any(row.arrives for row in own.missing), "no instruction arrives at it"


def _lock(waiting: Waiting) -> None:
    holders = [warp for warp in waiting if warp.awaited.kind == "value"]
    assert {warp.block for warp in holders} == {(1, 0, 0)}
    assert "another value than 1 at byte 0 of argument 1" in holders[0].awaited.name
    ended = [row for row in holders[0].missing if row.state == "ended"]
    assert ((0, 0, 0), 0) in ended[0].warps


def _uninitialised(waiting: Waiting) -> None:
    (warp,) = waiting
    assert (warp.warp, warp.awaited.kind) == (0, "mbarrier") and "ready" in warp.awaited.name


@pytest.mark.parametrize(
    ("blocks", "check"),
    [
        (1, _wrong_parity), (1, _wrong_bytes), (1, _missing_arrival), (1, _ended_before), (1, _swapped),
        (2, _peers), (2, _lock), (1, _uninitialised),
    ],
)  # fmt: skip
def test_who_waits_for_whom(blocks: int, check: Callable[[Waiting], None]) -> None:
    error = _hang(check.__name__[1:], blocks)
    check(error.waiting)
    assert str(error.waiting) in error.__notes__
    copy = pickle.loads(pickle.dumps(error))
    assert copy.waiting == error.waiting and copy.__notes__ == error.__notes__
    facts = json.loads(json.dumps(error.waiting.json()))
    assert len(facts["warps"]) == len(error.waiting)
    assert facts["warps"][0]["awaited"]["name"] == error.waiting[0].awaited.name


def test_blocks_that_wait_for_blocks_that_have_not_begun() -> None:
    error = _hang("grid", 132 * 5 + 1, 64)
    later = [row for row in error.waiting[0].missing if row.state == "not begun"]
    assert later[0].count >= 2 and "begin only when others have ended" in str(error.waiting)
    assert any(warp.awaited.kind == "value" for warp in error.waiting)


def test_registers_of_warps_that_have_ended() -> None:
    """Four warps need more than the other four give back at first, and get them when those have ended."""
    source = _SOURCE.replace("LIMIT", "200").replace('  asm volatile("bar.sync 0;");\n  x[thr', "  x[thr")
    assert source.count("bar.sync 0;") < _SOURCE.count("bar.sync 0;")
    x = np.zeros(256, np.int32)
    ptxlab.kernel(source, "resized").simulate(1, 256, x)
    assert x.all()


@pytest.mark.parametrize(("limit", "hangs"), [(192, False), (200, True)])
def test_registers_that_cannot_be_granted(limit: int, hangs: bool) -> None:
    """128 threads give back 64 registers each; PTX ISA, "setmaxnreg": `.inc` waits until there are enough."""
    source = _SOURCE.replace("LIMIT", str(limit))
    if not hangs:
        x = np.zeros(256, np.int32)
        ptxlab.kernel(source, "resized").simulate(1, 256, x)
        assert x.all()
        return
    waiting = _hang("resized", 1, 256, source).waiting
    warp = next(warp for warp in waiting if warp.awaited.kind == "registers")
    assert (warp.awaited.arrived, warp.awaited.expected) == (2048 * 4 - 3 * 72 * 32, 72 * 32)
    assert {row.awaited.kind for row in waiting} == {"registers", "barrier"}


def test_check_draws_who_waits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from ptxlab.cli import main

    script = tmp_path / "hang.py"
    script.write_text(
        f"import numpy, ptxlab\nptxlab.kernel({_SOURCE!r}, 'swapped').simulate(1, 64, "
        "numpy.zeros(64, numpy.int32))\n",
        encoding="utf-8",
    )
    assert main(["check", str(script)]) == 1
    assert "  who waits for whom:\n" in capsys.readouterr().out
    assert main(["check", "--json", str(script)]) == 1
    (launch,) = json.loads(capsys.readouterr().out)["launches"]
    assert launch["waiting"]["cycle"] == [0, 1]
