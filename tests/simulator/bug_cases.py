"""Bugs of other people's kernels, in tests/kernels/bugs/: how each is launched, and what finds the bug.

An action is a line that a reader types, with the kernel `k` and its arguments `x` and `f`. What is said are
the values of those that are no assignment and no motion.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ptxlab.simulator.kernel import build_kernel

FILE = Path(__file__).parents[1] / "kernels" / "bugs" / "bugs.cu"
_COMMENT = re.compile(
    r"^// (?P<url>https://\S+): (?P<what>.*)\n(?:.*?)(?P<name>\w+)(?:\(int\* x, int\* f\)|\)) \{",
    re.MULTILINE,
)

_END = ("session = k.debug(LAUNCH)", "session.run()", "session.error")
_HAZARD = ("found = k.check(LAUNCH)", "found.hazards[0]")
_RACE = (*_HAZARD, "found.witness.outcome")
_ORDER = ("found = k.check(LAUNCH)", "found.witness.outcome")
_ORDER_HANGS = (
    "found = k.check(LAUNCH)",
    "session = k.debug(LAUNCH, schedule=found.witness)",
    "session.run()",
    "session.error",
)


class Bug(NamedTuple):
    """What finds a bug, and its launch: blocks, threads."""

    actions: tuple[str, ...]
    grid: int = 1
    block: int = 64

    @property
    def typed(self) -> tuple[str, ...]:
        """The actions with the launch in its place."""
        return tuple(action.replace("LAUNCH", f"{self.grid}, {self.block}, x, f") for action in self.actions)


BUGS = {
    "registers_oversubscribed": Bug(_END, 1, 512),
    "expected_without_arrival": Bug(_END),
    "first_parity": Bug(_END),
    "grid_sync_per_step": Bug(_END, 2, 32),
    "barrier_in_one_role": Bug(_END, 1, 128),
    "continue_before_barrier": Bug(_HAZARD),
    "barrier_for_even_lanes": Bug(_HAZARD, 1, 32),
    "announced_before_init": Bug(_END),
    "grid_barrier_again": Bug(_ORDER_HANGS, 3, 1),
    "same_barrier_number": Bug(_ORDER_HANGS, 1, 128),
    "arrival_before_init": Bug(_ORDER),
    "next_row_too_early": Bug(_RACE),
    "sum_read_by_all": Bug(_RACE),
    "skipped_tile": Bug(_RACE),
    "semaphore_without_fence": Bug(_HAZARD, 2, 64),
    "counted_before_done": Bug(_ORDER, 2, 64),
    "lock_given_early": Bug(_RACE, 2, 64),
    "committed_after_the_wait": Bug(_RACE),
    "stale_parity": Bug(_END),
    "store_without_proxy_fence": Bug(_HAZARD),
    "store_into_absent_block": Bug(_RACE, 2, 32),
    "read_of_ended_block": Bug(_HAZARD, 2, 32),
    "scope_of_one_block": Bug(_HAZARD, 2, 32),
    "mask_of_the_other_half": Bug(_HAZARD, 1, 32),
}


def sources() -> dict[str, tuple[str, str]]:
    """Where each bug was seen, and what it was, from the comments of the kernels."""
    text = FILE.read_text(encoding="utf-8")
    return {match["name"]: (match["url"], match["what"]) for match in _COMMENT.finditer(text)}


def said(name: str) -> list[str]:
    """What the actions of a bug say, in their order."""
    names: dict[str, Any] = {
        "k": build_kernel(FILE.read_text(encoding="utf-8"), name, file=FILE.name),
        "x": np.arange(256, dtype=np.int32),
        "f": np.zeros(256, dtype=np.int32),
    }
    texts = []
    for action in BUGS[name].typed:
        if isinstance(ast.parse(action).body[0], ast.Assign):
            exec(action, names)
            continue
        value = eval(action, names)
        if not action.endswith(")"):
            texts.append(str(value))
    return texts
