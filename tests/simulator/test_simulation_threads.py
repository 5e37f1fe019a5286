"""One kernel in several threads, executors whose workers die, and what a simulation leaves behind."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from typing import Any, NoReturn

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.simulator import distributed

from .bare_ptx import PUT, ptx

#: out[8 * block + i] = first[i] + sum of the block's numbers: a parameter of another place for each launch,
#: shared memory, a barrier, an atomic.
_SHARED_SUM = ptx(
    ".shared .align 4 .b8 s[4]; ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; mov.u32 %r1, %tid.x;"
    "mov.u32 %r2, %ctaid.x; mul.wide.u32 %d3, %r1, 4; add.u64 %d2, %d2, %d3; ld.global.u32 %r3, [%d2];"
    "setp.ne.u32 %p1, %r1, 0; mov.u32 %r4, s; @%p1 bra L; st.shared.u32 [%r4], %r2; L: bar.sync 0;"
    "red.shared.add.u32 [%r4], %r3; bar.sync 0; ld.shared.u32 %r5, [%r4]; add.u32 %r5, %r5, %r3;"
    "shl.b32 %r2, %r2, 5; add.u32 %r2, %r2, %r1; mul.wide.u32 %d3, %r2, 4; add.u64 %d1, %d1, %d3;"
    "st.global.u32 [%d1], %r5;",
    ".param .u64 a, .param .u64 b",
)


def test_one_kernel_in_several_threads() -> None:
    """State of a run belongs to the run: threads change places after every few instructions of Python."""
    kernel = ptxlab.kernel(_SHARED_SUM)

    def run(number: int) -> bool:
        longer = np.arange(32 << number % 8, dtype=np.uint32) * number  # later arrays have another address
        numbers = longer[:32]
        out = np.zeros((2 + number % 3, 32), np.uint32)
        result = kernel.simulate(len(out), 32, out, longer, show=False)
        blocks = np.arange(len(out), dtype=np.uint32)[:, None]
        return not result.hazards and bool((out == numbers + numbers.sum() + blocks).all())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(run, range(40)))
        with ThreadPoolExecutor(4) as pool:
            out = np.zeros((64, 32), np.uint32)
            ones = np.ones(32, np.uint32)
            kernel.simulate(64, 32, out, ones, show=False, executor=pool)
            assert (out == 33 + np.arange(64, dtype=np.uint32)[:, None]).all()
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.slow
def test_a_worker_that_dies_leaves_arrays_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    work = distributed._run_task

    def second_fails(task: Any) -> Any:
        done.append(task.first)
        if task.first:
            raise BrokenExecutor("it is gone")
        return work(task)

    monkeypatch.setattr(distributed, "_run_task", second_fails)
    out = np.zeros(64, np.uint32)
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(PtxlabError, match="executor: a worker ended before its task was done"):
            ptxlab.kernel(PUT).simulate(8, 32, out, executor=pool)
        assert len(done) > 1 and not out.any()
    with pytest.raises(PtxlabError, match="executor: it takes no tasks any more"):
        ptxlab.kernel(PUT).simulate(8, 32, out, executor=pool)


def test_a_simulation_that_has_ended_leaves_no_garbage() -> None:
    """Its memory would stay until Python collects: a notebook's kernel would grow to twice its size."""
    kernel = ptxlab.kernel(PUT)
    out = np.zeros(32, np.uint32)
    kernel.simulate(1, 32, out, show=False)
    gc.collect()
    gc.disable()
    try:
        kernel.simulate(1, 32, out, show=False)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_memory_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr("ptxlab.simulator.simulate.Machine", refuse)
    with pytest.raises(PtxlabError, match="k: the simulation needs more memory than there is"):
        ptxlab.kernel(PUT).simulate(1, 32, np.zeros(32, np.uint32))
