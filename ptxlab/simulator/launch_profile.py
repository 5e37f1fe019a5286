"""The predicted time of a launch, as data: what `k.profile(...)` gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .peaks import Work
from .threads import Grid


@dataclass(frozen=True)
class Occupancy:
    """How many blocks an SM holds, and what bounds it: registers, shared memory, threads, blocks."""

    blocks: int
    warps: int
    limit: str
    registers: int  # of a thread
    shared: int  # bytes of a block

    def __str__(self) -> str:
        return f"{self.blocks} blocks of an SM, {self.warps} warps of 64 (bound by {self.limit})"


class CodeRow(NamedTuple):
    """A machine instruction: its opcode, where it comes from, the unit it goes to and for how many cycles."""

    opcode: str
    ptx: str  # the PTX instruction that it comes from; empty for none
    line: int  # of the source; 0 for none
    unit: str
    interval: float


@dataclass
class LaunchProfile:
    """The predicted time of a launch.

    `stalls` are cycles of warps by line of the source and by reason, in Nsight Compute's words; `units` how
    busy each unit is, as a fraction of the time; `work` is what the launch moves and multiplies. `timeline`
    has what an SM issues, in order: slot of the warp, row of `code`, cycle from which the warp waits, cycle
    from which it could issue, cycle in which it does, number of the reason in `timing.replay.REASONS`.
    """

    chip: str
    microseconds: float
    cycles: float
    clock: float  # MHz
    occupancy: Occupancy
    waves: float
    units: dict[str, float]
    stalls: dict[int, Counter[str]]
    reasons: Counter[str]
    instructions: int  # that a warp of the machine code issues, all warps together
    timeline: NDArray[np.float64] = field(repr=False)
    code: tuple[CodeRow, ...] = field(repr=False)
    issued: Counter[int] = field(repr=False)  # instructions, by line of the source
    work: Work
    grid: Grid
    name: str = ""
    source: str = field(default="", repr=False)

    @property
    def opcodes(self) -> tuple[str, ...]:
        """The opcode of each row of `code`."""
        return tuple(each.opcode for each in self.code)

    def __repr__(self) -> str:
        busiest = max(self.units, key=lambda name: self.units[name])
        time = f"{self.name or 'kernel'} on {self.chip}: {self.microseconds:.1f} us"
        return f"<{time}; {busiest} {self.units[busiest]:.0%} busy>"
