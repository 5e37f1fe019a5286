"""Every schedule of a launch: a proof, a witness, or an honest bound."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab.simulator import HazardError
from ptxlab.simulator.kernel import Kernel
from ptxlab.simulator.schedule import in_order
from ptxlab.simulator.schedules.explore import Schedules
from tests.cases import each, refuses
from tests.sampling import one_in

from .kernel_cases import CASES as KERNELS
from .kernel_cases import digest
from .random_schedules import explored, interleaved, program
from .schedule_cases import CLEAN, HANGING, SOURCE, Case

_SMALL = [name for name, case in KERNELS.items() if np.prod(case.grid) * np.prod(case.block) <= 512]
_SEEDS = int(os.environ.get("PTXLAB_FUZZ", "8"))


def _check(case: Case) -> tuple[Kernel, np.ndarray[Any, Any], Schedules]:
    kernel, x = ptxlab.kernel(SOURCE, case.name), np.zeros(32 * 24, np.int32)
    return kernel, x, kernel.check(case.grid, case.block, x, cluster=case.cluster)


@each("case", one_in(8, HANGING, 1), ids=lambda case: f"{case.name} {case.grid}")
def test_a_launch_that_hangs_in_some_order_has_a_witness(case: Case) -> None:
    kernel, x, result = _check(case)
    assert result.witness is not None and "the launch hangs" in result.witness.outcome
    assert ("already in the usual order" in result.witness.outcome) == (case.hangs == "always")
    assert not x.any() and not result
    with pytest.raises(HazardError) as caught:
        kernel.simulate(case.grid, case.block, x, cluster=case.cluster, schedule=result.witness)
    assert caught.value.waiting


@each("case", one_in(8, CLEAN, 2), ids=lambda case: f"{case.name} {case.grid}")
def test_a_launch_that_never_hangs_has_a_proof(case: Case) -> None:
    _, _, result = _check(case)
    assert result.proof and result and result.witness is None and not result.bound


@each("name", one_in(12, _SMALL), ids=str)
def test_kernels_run_warp_by_warp_with_the_same_bits(name: str) -> None:
    case = KERNELS[name]
    kernel, together, alone = case.compiled(), case.inputs(), case.inputs()
    options: dict[str, Any] = {"shared": case.shared, "check": False, "show": False}
    kernel.simulate(case.grid, case.block, *together, **options)
    kernel.simulate(case.grid, case.block, *alone, schedule=in_order((0,)), **options)
    assert digest(alone) == digest(together)


def test_there_are_48_kernels_that_hang_and_30_that_do_not() -> None:
    assert (len(HANGING), len(CLEAN)) == (48, 30)


@each("seed", range(_SEEDS))
def test_random_programs_end_as_all_their_interleavings_do(seed: int) -> None:
    threads = program(seed)
    ends, _ = explored(threads)
    assert ends == interleaved(threads)


_LAST = (
    "__global__ void last(int* x) { if (threadIdx.x % 32 == 0) x[atomicAdd(x + 7, 1)] = threadIdx.x / 32; }"
)
_FLOATS = (
    "__global__ void total(float* x) { if (threadIdx.x % 32 == 0) atomicAdd(x, x[1 + threadIdx.x / 32]); }"
)
#: ScoR's none-lock_rtraw: block 1 writes after it has given the lock back.
_AFTER_LOCK = """__global__ void late(int* x, int* lock) {
  if (threadIdx.x) return;
  while (atomicCAS(lock, 0, 1) != 0);
  __threadfence();
  x[1 + blockIdx.x] = x[0];
  __threadfence();
  atomicExch(lock, 0);
  if (blockIdx.x == 1) x[0] = 5;
}"""
_BRANCH = """__global__ void branch(int* x) {
  if (threadIdx.x % 32) return;
  if (atomicAdd(x, 1) == 0) x[1 + threadIdx.x / 32] = 7;
}"""


@each(
    "source, block, grid, count",
    [(_LAST, 64, 1, 8), (_BRANCH, 64, 1, 8), (_AFTER_LOCK, 32, 2, 8)],
    ids=["last arriver", "another branch", "write after the lock"],
)
def test_a_witness_ends_as_it_says(source: str, block: int, grid: int, count: int) -> None:
    kernel, x = ptxlab.kernel(source), np.zeros(count, np.int32)
    arguments = [x, np.zeros(1, np.int32)][: len(kernel.parameters)]
    result = kernel.check(grid, block, *arguments)
    assert result.witness is not None and not x.any()
    usual = [array.copy() for array in arguments]
    kernel.simulate(grid, block, *usual)
    kernel.simulate(grid, block, *arguments, schedule=result.witness)
    assert not np.array_equal(x, usual[0])
    session = kernel.debug(
        grid, block, *[np.zeros_like(array) for array in arguments], schedule=result.witness
    )
    end = session.run().position
    assert np.array_equal(session.arrays["1"], x)
    session.go(0).go(end // 2).go(end)
    assert np.array_equal(session.arrays["1"], x)


def test_float_additions_in_another_order_are_a_witness() -> None:
    x = np.array([0, 1e8, 1, -1e8], np.float32)
    result = ptxlab.kernel(_FLOATS).check(1, 96, x)
    assert result.witness is not None and "argument 1[0]" in result.witness.outcome
    assert result.json()["witness"]["steps"] and json.dumps(result.json())


def test_integer_sums_commute() -> None:
    text = "__global__ void count(int* x) { atomicAdd(x + threadIdx.x % 2, threadIdx.x); }"
    result = ptxlab.kernel(text).check(2, 128, np.zeros(2, np.int32))
    assert result.proof and result.classes == 1


def test_barriers_alone_leave_one_class() -> None:
    text = """__global__ void turn(int* x) {
      __shared__ int s[128];
      s[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      x[threadIdx.x] = s[127 - threadIdx.x];
    }"""
    result = ptxlab.kernel(text).check(1, 128, np.arange(128, dtype=np.int32))
    assert result.classes == 1 and result.proof.startswith("all schedules of this launch are one class")


def test_a_copy_without_a_wait_is_a_witness() -> None:
    text = r"""__global__ void copied(const int* in, int* out) {
      __shared__ alignas(16) int s[128];
      const unsigned to = unsigned(__cvta_generic_to_shared(s + 4 * threadIdx.x));
      in += 4 * threadIdx.x;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in) : "memory");
      asm volatile("cp.async.commit_group;" ::: "memory");
      WAIT
      out[threadIdx.x] = s[4 * threadIdx.x];
    }"""
    arrays = np.arange(1, 129, dtype=np.int32), np.zeros(32, np.int32)
    wait = 'asm volatile("cp.async.wait_group 0;" ::: "memory");'
    assert ptxlab.kernel(text.replace("WAIT", wait)).check(1, 32, *arrays).proof
    kernel = ptxlab.kernel(text.replace("WAIT", ""))
    result = kernel.check(1, 32, *arrays)
    assert result.witness is not None and any(len(step.agent) > 1 for step in result.witness.steps)
    kernel.simulate(1, 32, *arrays, schedule=result.witness)
    assert not arrays[1].any()


def test_a_stage_that_is_handed_back_too_early_is_a_witness() -> None:
    x = np.arange(32 * 24, dtype=np.int32)
    result = ptxlab.kernel(SOURCE, "pipeline<2, 1, 4, EARLY>").check(1, 64, x)
    assert result.witness is not None and "differ" in result.witness.outcome


def test_where_the_time_is_over_the_rest_is_named() -> None:
    text = "__global__ void tickets(int* x) { if (threadIdx.x % 32 == 0 && atomicAdd(x, 1) > 99) x[1] = 1; }"
    result = ptxlab.kernel(text).check(1, 256, np.zeros(2, np.int32), seconds=0.5)
    assert result.bound and not result.proof and "left" in result.bound


def test_a_launch_that_is_too_large_is_not_explored() -> None:
    text = "__global__ void nothing(int* x) {}"
    result = ptxlab.kernel(text).check(1025, 32, np.zeros(1, np.int32))
    assert "1,025 warps" in result.bound and not result


def test_a_hazard_leaves_no_proof() -> None:
    text = "__global__ void same(int* x) { x[0] = threadIdx.x / 64; }"
    result = ptxlab.kernel(text).check(1, 64, np.zeros(1, np.int32))
    assert bool(result.proof) == (not result.hazards)


def test_what_is_no_schedule_is_refused() -> None:
    kernel, x = ptxlab.kernel(_LAST), np.zeros(8, np.int32)
    refuses("'all'", kernel.check, 1, 64, x, schedules="some")
    refuses("a number above 0", kernel.check, 1, 64, x, seconds=0)
    refuses("witness of Kernel.check", kernel.simulate, 1, 64, x, schedule=3)
