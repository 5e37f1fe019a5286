"""Kernels with a hazard each, broken and fixed: for the tests, and for `tools.hazards`."""

from __future__ import annotations

from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import ptxlab
from ptxlab import PtxlabError

FILE = Path(__file__).parents[1] / "kernels" / "hazards" / "hazards.cu"

_NUMBERS = np.arange(512, dtype=np.int32)
_ZEROS = np.zeros(512, dtype=np.int32)
_FLOATS = np.zeros(1024, dtype=np.float32)


class HazardCase(NamedTuple):
    """The kind of a kernel's hazard, and how it is launched; each of its arrays begins with `values`."""

    kind: str
    blocks: int = 1
    threads: int = 64
    shared: int = 0  # bytes, dynamic
    target: str = "sm_90a"
    values: NDArray[Any] = _NUMBERS


#: By the name of the kernel.
HAZARDS = {
    "reverse": HazardCase("race"),
    "next_turn": HazardCase("race"),
    "warp_reverse": HazardCase("race"),
    "count_all": HazardCase("race"),
    "named": HazardCase("race"),
    "neighbours": HazardCase("race", blocks=2),
    "unpublished": HazardCase("race", values=_ZEROS),
    "half_filled": HazardCase("uninitialised memory"),
    "stack": HazardCase("uninitialised memory"),
    "copy_unwaited": HazardCase("missing wait"),
    "copy_uncommitted": HazardCase("missing wait"),
    "copy_order": HazardCase("race"),
    "bulk_unwaited": HazardCase("missing wait"),
    "bulk_unfenced": HazardCase("missing proxy fence"),
    "bulk_reused": HazardCase("missing wait"),
    "bulk_left": HazardCase("missing wait"),
    "early_arrival": HazardCase("race"),
    "divided": HazardCase("divergent barrier"),
    "half_warps": HazardCase("divergent barrier"),
    "waiting_apart": HazardCase("deadlock"),
    "outside_mask": HazardCase("not in the mask"),
    "half_a_warp": HazardCase("lanes missing"),
    "never_full": HazardCase("deadlock"),
    "too_many_bytes": HazardCase("deadlock"),
    "not_everyone": HazardCase("deadlock"),
    "past_the_end": HazardCase("out of bounds"),
    "past_shared": HazardCase("out of bounds", shared=256),
    "odd_address": HazardCase("misaligned"),
    "no_value": HazardCase("uninitialised register"),
    "ended": HazardCase("absent block", blocks=2),
    "not_started": HazardCase("absent block", blocks=2),
    "wgmma_proxy": HazardCase("missing proxy fence", threads=128, values=_FLOATS),
    "wgmma_unfenced": HazardCase("missing wgmma.fence", threads=128, values=_FLOATS),
    "wgmma_uncommitted": HazardCase("wgmma registers", threads=128, values=_FLOATS),
    "wgmma_unwaited": HazardCase("wgmma registers", threads=128, values=_FLOATS),
    "too_few_bytes": HazardCase("missing wait"),
    "one_by_one": HazardCase("race"),
    "wide_maximum": HazardCase("not atomic", blocks=2),
    "some_lanes": HazardCase("divergent barrier"),
    "some_shuffle": HazardCase("lanes missing"),
    "in_place": HazardCase("race"),
    "wgmma_copied": HazardCase("cp.async without proxy fence", threads=128, values=_FLOATS),
    "one_fence": HazardCase("missing proxy fence"),
    "own_scope": HazardCase("race", blocks=2),
    "remote_arrival": HazardCase("narrow scope", blocks=2),
    "remote_default": HazardCase("default scope", blocks=2),
    "fence_before": HazardCase("missing proxy fence"),
    "result_read": HazardCase("missing wait"),
    "init_unfenced": HazardCase("mbarrier.init without fence"),
    "columns_kept": HazardCase("tensor memory kept", target="sm_100a"),
    "remote_data": HazardCase("narrow scope", blocks=2),
    "bulk_over_loads": HazardCase("missing proxy fence"),
    "loaded_late": HazardCase("tcgen05.ld without wait", target="sm_100a"),
    "first_lanes": HazardCase("lanes of warp 0", target="sm_100a"),
    "wgmma_own_rows": HazardCase("own rows of A", threads=128, values=_FLOATS),
    "wgmma_other_rows": HazardCase("race", threads=128, values=_FLOATS),
    "last_block": HazardCase("flag without acquire", blocks=2),
    "held_in_cache": HazardCase("race", blocks=2),
    "wrong_flag": HazardCase("race"),
    "volatile_reverse": HazardCase("race"),
    "volatile_count": HazardCase("race"),
    "volatile_lanes": HazardCase("warp-synchronous code"),
    "either_half": HazardCase("race"),
    "third_reader": HazardCase("race", threads=192),
    "other_scope": HazardCase("race", blocks=2),
    "read_only": HazardCase("written constants"),
    "module_result": HazardCase("race"),
    "bulk_over_shared_loads": HazardCase("missing proxy fence"),
    "bulk_over_a_barrier": HazardCase("mbarrier.init without fence"),
    "init_by_warps": HazardCase("mbarrier"),
    "init_again": HazardCase("mbarrier"),
    "barrier_as_data": HazardCase("mbarrier"),
    "never_initialised": HazardCase("mbarrier"),
    "next_array": HazardCase("out of bounds"),
    "one_warp_resized": HazardCase("lanes missing", threads=128),
    "too_many_blocks": HazardCase("deadlock", blocks=140, shared=200 << 10),
    "null_pointer": HazardCase("undefined behaviour"),
    "no_function": HazardCase("undefined behaviour"),
    "rotated": HazardCase("the assembler's code"),
    "freed_early": HazardCase("heap memory"),
    "past_malloc": HazardCase("heap memory"),
    "freed_twice": HazardCase("invalid free"),
    "freed_inside": HazardCase("invalid free"),
    "never_freed": HazardCase("heap memory kept"),
}


@cache
def _compiled(fixed: bool, target: str) -> Any:
    options = ["-DFIXED"] if fixed else []
    return ptxlab.kernel(FILE.read_text(encoding="utf-8"), "reverse", target, options)


def variant(name: str, fixed: bool) -> Any:
    """A kernel of the file; all of a target are compiled at once."""
    kernel = copy(_compiled(fixed, HAZARDS[name].target))
    kernel.function = kernel.module.functions[name]
    kernel._image = None
    return kernel


def launch_of(name: str) -> tuple[int, int, list[Any], int]:
    """Blocks, threads, arguments, dynamic shared memory."""
    case = HAZARDS[name]
    count = len(variant(name, False).parameters)
    return case.blocks, case.threads, [case.values.copy() for _ in range(count)], case.shared


def hazards_of(name: str, fixed: bool = False, check: bool | str = True) -> list[str]:
    """The sentences about a kernel: its hazards, or the error that ends it."""
    grid, block, arguments, shared = launch_of(name)
    try:
        result = variant(name, fixed).simulate(grid, block, *arguments, shared=shared, check=check)
    except PtxlabError as error:
        return [str(error)]
    return [finding.sentence for finding in (*result.hazards, *result.notes)]
