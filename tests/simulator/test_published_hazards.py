"""Patterns of published bugs, each with a right twin: what is wrong is reported, and what is right is not."""

from __future__ import annotations

from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import ptxlab
from ptxlab.simulator import HazardError
from ptxlab.simulator.hazard import Hazard
from tests.cases import each

FILE = Path(__file__).parents[1] / "kernels" / "hazards" / "published.cu"


class Case(NamedTuple):
    """What is reported about a kernel, and its launch: blocks, threads, dynamic shared memory.

    `kind` has several with a bar between, and is "" of a kernel that is right as it stands.
    """

    kind: str
    grid: int = 1
    block: int = 64
    shared: int = 0
    fixed_grid: int = 0  # if it is another


CASES = {
    "lock_without_fences": Case("race", 2, 1),
    "lock_release_unfenced": Case("race", 2, 1),
    "lock_acquire_unfenced": Case("race|flag without acquire", 2, 1),
    "lock_fences_of_block": Case("race", 2, 1),
    "lock_of_block": Case("race", 2, 1),
    "lock_left_early": Case("race", 2, 1),
    "lock_not_taken": Case("race", 2, 1),
    "lock_in_a_block": Case("race", 1, 96),
    "flag_taken_back": Case("race"),
    "two_locks": Case("deadlock", 2, 1),
    "message_unfenced": Case("race", 2, 1),
    "message_read_early": Case("race", 2, 1),
    "relaxed_flag": Case("race", 2, 1),
    "acquire_of_block": Case("race", 2, 1),
    "release_of_block": Case("race", 2, 1),
    "other_flag": Case("race", 3, 1),
    "one_flag_for_all": Case("race", 3, 1),
    "last_block": Case("race", 4, 1),
    "last_block_ticket": Case("race", 4, 1),
    "look_back": Case("race", 4, 32),
    "grid_barrier": Case("race", 3, 1),
    "grid_barrier_leader": Case("race", 2, 64),
    "too_many_blocks": Case("deadlock", 140, 1, 200_000, fixed_grid=132),
    "reset_between": Case("race", 3, 1),
    "guarded_maximum": Case("race", 2),
    "histogram": Case("race"),
    "scope_then_wider": Case("race", 2, 1),
    "scope_then_narrower": Case("race", 2, 1),
    "written_and_read_only": Case("written constants"),
    "volatile_exchange": Case("race"),
    "volatile_counter": Case("race"),
    "volatile_and_atomic": Case("race"),
    "warp_synchronous": Case("warp-synchronous code"),
    "volatile_flag": Case("race", 2, 1),
    "tile_read_early": Case("race"),
    "tile_overwritten": Case("race"),
    "tree_sum": Case("race", 1, 128),
    "scan_in_place": Case("race"),
    "sum_not_ready": Case("race"),
    "broadcast": Case("race"),
    "broadcast_again": Case("race"),
    "two_buffers": Case("race"),
    "stencil_in_place": Case("race"),
    "neighbour_block": Case("race", 2),
    "sort_by_lanes": Case("race", 1, 32),
    "halves_of_a_warp": Case("race", 1, 32),
    "named_for_some": Case("race", 1, 192),
    "named_for_the_third": Case("race", 1, 192),
    "other_barrier": Case("deadlock"),
    "barrier_in_a_branch": Case("divergent barrier"),
    "barriers_in_a_loop": Case("divergent barrier"),
    "lanes_elsewhere": Case("lanes missing", 1, 32),
    "tail_not_zeroed": Case("uninitialised memory"),
    "sums_not_zeroed": Case("uninitialised memory"),
    "into_a_variable": Case("race"),
    "unset_into_a_variable": Case("uninitialised memory"),
    "one_too_far": Case("out of bounds"),
    "next_array": Case("out of bounds"),
    "odd_vector": Case("misaligned"),
    "copies_one_group_short": Case("missing wait"),
    "copies_without_barrier": Case("race"),
    "copies_over_a_tile": Case("race"),
    "copies_in_a_ring": Case("missing wait"),
    "copies_and_an_mbarrier": Case("missing wait"),
    "bulk_without_wait": Case("missing wait"),
    "bulk_other_parity": Case("missing wait|deadlock"),
    "bulk_fewer_bytes": Case("missing wait"),
    "bulk_more_bytes": Case("deadlock"),
    "ring": Case("deadlock", 1, 96),
    "ring_not_waiting": Case("missing wait|race|deadlock", 1, 96),
    "ring_one_lane": Case("race", 1, 96),
    "ring_never_full": Case("deadlock"),
    "filled_after_loads": Case("missing proxy fence"),
    "filled_after_a_sum": Case("missing proxy fence"),
    "filled_after_stores": Case("missing proxy fence"),
    "stored_unfenced": Case("missing proxy fence"),
    "stored_and_reused": Case("missing wait"),
    "initialised_by_two": Case("mbarrier"),
    "initialised_again": Case("mbarrier"),
    "mbarrier_as_data": Case("mbarrier"),
    "never_initialised": Case("mbarrier"),
    "registers_of_one_warp": Case("lanes missing", 1, 128),
    "ended_early": Case("absent block", 2),
    "relaxed_barrier": Case("race|narrow scope", 2),
    "pushed_without_barrier": Case("race", 2),
    "overwritten_elsewhere": Case("race", 2),
    "signal_of_block": Case("narrow scope", 2),
    "clean_used_before_the_copy": Case(""),
    "clean_equal_values": Case(""),
    "clean_half_ended": Case(""),
    "clean_lanes_ended": Case("", 1, 32),
    "clean_lock_of_lanes": Case("", 2, 32),
    "clean_chain_of_flags": Case("", 3, 1),
    "clean_leader_acquires": Case("", 2),
    "clean_release_sequence": Case("", 3, 1),
    "clean_volatile_spin": Case("", 2, 1),
    "clean_halves_apart": Case("", 1, 32),
    "clean_system_scope": Case("", 2, 1),
    "clean_own_read_only": Case(""),
    "clean_relaxed_counter": Case("", 4, 32),
    "clean_stages_of_mbarriers": Case(""),
    "clean_last_block_of_the_guide": Case("", 3, 32),
    "clean_semaphore": Case("", 3),
    "clean_arrivals": Case("", 3),
    "clean_lock_by_instructions": Case("", 3, 1),
    "clean_leader_fences": Case("", 2),
    "clean_flag_for_the_system": Case("", 2, 1),
    "clean_flag_in_the_block": Case("", 1, 64),
    "clean_scopes_in_turn": Case("", 2, 1),
    "clean_read_only_beside": Case(""),
    "clean_data_then_mbarrier": Case(""),
    "clean_many_readers": Case("", 1, 192),
    "clean_volatile_in_turn": Case(""),
    "clean_volatile_own": Case(""),
    "clean_shuffled_halves": Case("", 1, 32),
    "clean_registers_by_role": Case("", 1, 256),
    "clean_fence_by_the_leader": Case(""),
    "clean_variable_not_written": Case(""),
    "clean_flags_by_lane": Case("", 4, 32),
    "clean_flag_in_turn": Case("", 2, 1),
    "clean_value_with_its_flag": Case("", 2, 1),
    "clean_look_back_in_a_word": Case("", 4, 1),
    "clean_rows_of_one_array": Case(""),
    "clean_addition_by_cas": Case("", 2),
}


@cache
def _compiled(fixed: bool) -> Any:
    return ptxlab.kernel(
        FILE.read_text(encoding="utf-8"), "histogram", "sm_90a", ["-DFIXED"] if fixed else []
    )


def simulated(name: str, fixed: bool) -> Any:
    """The launch; all kernels are compiled at once."""
    case, kernel = CASES[name], copy(_compiled(fixed))
    kernel.function, kernel._image = kernel.module.functions[name], None
    arguments = [np.arange(1024, dtype=np.int32), *np.zeros((2, 1024), np.int32)]
    grid = case.fixed_grid if fixed and case.fixed_grid else case.grid
    return kernel.simulate(grid, case.block, *arguments, shared=case.shared, show=False)


def _findings(name: str, fixed: bool) -> list[Hazard]:
    try:
        result = simulated(name, fixed)
    except HazardError as error:
        return error.hazards
    return [*result.hazards, *result.notes]


@each("name", CASES)
@pytest.mark.slow
def test_published_patterns(name: str) -> None:
    """The broken kernel has a finding of its kind; the right one has none."""
    kind = CASES[name].kind
    assert _findings(name, True) == []
    if not kind:
        return
    found = {finding.kind for finding in _findings(name, False)}
    assert found & set(kind.split("|")), found


def test_every_kernel_has_a_case() -> None:
    assert set(_compiled(True).module.entries) == set(CASES)
