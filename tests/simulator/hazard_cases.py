"""Kernels with a hazard each, broken and fixed: for the tests, and for `tools.hazards`."""

from __future__ import annotations

from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab
from ptxlab import PtxlabError

FILE = Path(__file__).parents[1] / "kernels" / "hazards" / "hazards.cu"

#: Kernel -> the kind of its hazard.
HAZARDS = {
    "reverse": "race",
    "next_turn": "race",
    "warp_reverse": "race",
    "count_all": "race",
    "named": "race",
    "neighbours": "race",
    "unpublished": "race",
    "half_filled": "uninitialised memory",
    "stack": "uninitialised memory",
    "copy_unwaited": "missing wait",
    "copy_uncommitted": "missing wait",
    "copy_order": "race",
    "bulk_unwaited": "missing wait",
    "bulk_unfenced": "missing proxy fence",
    "bulk_reused": "missing wait",
    "bulk_left": "missing wait",
    "early_arrival": "race",
    "divided": "divergent barrier",
    "half_warps": "divergent barrier",
    "waiting_apart": "deadlock",
    "outside_mask": "not in the mask",
    "half_a_warp": "lanes missing",
    "never_full": "deadlock",
    "too_many_bytes": "deadlock",
    "not_everyone": "deadlock",
    "past_the_end": "out of bounds",
    "past_shared": "out of bounds",
    "odd_address": "misaligned",
    "no_value": "uninitialised register",
    "ended": "absent block",
    "not_started": "absent block",
    "wgmma_proxy": "missing proxy fence",
    "wgmma_unfenced": "missing wgmma.fence",
    "wgmma_uncommitted": "wgmma registers",
    "wgmma_unwaited": "wgmma registers",
    "too_few_bytes": "missing wait",
    "one_by_one": "race",
    "wide_maximum": "not atomic",
    "some_lanes": "divergent barrier",
    "some_shuffle": "lanes missing",
    "in_place": "race",
    "wgmma_copied": "cp.async without proxy fence",
    "one_fence": "missing proxy fence",
    "own_scope": "race",
    "remote_arrival": "narrow scope",
    "remote_default": "default scope",
    "fence_before": "missing proxy fence",
    "result_read": "missing wait",
    "init_unfenced": "mbarrier.init without fence",
    "columns_kept": "tensor memory kept",
    "remote_data": "narrow scope",
    "bulk_over_loads": "missing proxy fence",
    "loaded_late": "tcgen05.ld without wait",
    "first_lanes": "lanes of warp 0",
    "wgmma_own_rows": "own rows of A",
    "wgmma_other_rows": "race",
    "last_block": "flag without acquire",
    "held_in_cache": "race",
    "wrong_flag": "race",
    "volatile_reverse": "race",
    "volatile_count": "race",
    "volatile_lanes": "warp-synchronous code",
    "either_half": "race",
    "third_reader": "race",
    "other_scope": "race",
    "read_only": "written constants",
    "module_result": "race",
    "bulk_over_shared_loads": "missing proxy fence",
    "bulk_over_a_barrier": "mbarrier.init without fence",
    "init_by_warps": "mbarrier",
    "init_again": "mbarrier",
    "barrier_as_data": "mbarrier",
    "never_initialised": "mbarrier",
    "next_array": "out of bounds",
    "one_warp_resized": "lanes missing",
    "too_many_blocks": "deadlock",
    "null_pointer": "undefined behaviour",
    "no_function": "undefined behaviour",
    "rotated": "the assembler's code",
    "freed_early": "heap memory",
    "past_malloc": "heap memory",
    "freed_twice": "invalid free",
    "freed_inside": "invalid free",
    "never_freed": "heap memory kept",
}


_TWO_BLOCKS = {
    "neighbours", "ended", "not_started", "wide_maximum", "own_scope", "remote_arrival", "remote_default",
    "remote_data", "last_block", "held_in_cache", "other_scope",
}  # fmt: skip


_TENSOR_MEMORY = {"columns_kept", "loaded_late", "first_lanes"}


@cache
def _compiled(fixed: bool, target: str) -> Any:
    options = ["-DFIXED"] if fixed else []
    return ptxlab.kernel(FILE.read_text(encoding="utf-8"), "reverse", target, options)


def variant(name: str, fixed: bool) -> Any:
    """A kernel of the file; all of a target are compiled at once."""
    kernel = copy(_compiled(fixed, "sm_100a" if name in _TENSOR_MEMORY else "sm_90a"))
    kernel.function = kernel.module.functions[name]
    kernel._image = None
    return kernel


def launch_of(name: str) -> tuple[int, int, list[Any], int]:
    """Blocks, threads, arguments, dynamic shared memory."""
    count = len(variant(name, False).parameters)
    values = np.arange(512, dtype=np.int32)
    if name == "unpublished":
        values[:] = 0
    if name.startswith("wgmma"):
        values = np.zeros(1024, dtype=np.float32)
    threads = 128 if name.startswith("wgmma") or name == "one_warp_resized" else 64
    threads = 192 if name == "third_reader" else threads
    shared = {"past_shared": 256, "too_many_blocks": 200 << 10}.get(name, 0)
    grid = 2 if name in _TWO_BLOCKS else 1
    if name == "too_many_blocks":
        grid = 140
    return grid, threads, [values.copy() for _ in range(count)], shared


def hazards_of(name: str, fixed: bool = False, check: bool | str = True) -> list[str]:
    """The sentences about a kernel: its hazards, or the error that ends it."""
    grid, block, arguments, shared = launch_of(name)
    try:
        result = variant(name, fixed).simulate(grid, block, *arguments, shared=shared, check=check)
    except PtxlabError as error:
        return [str(error)]
    return [finding.sentence for finding in (*result.hazards, *result.notes)]
