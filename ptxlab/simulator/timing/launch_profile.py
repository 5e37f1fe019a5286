"""The predicted time of a launch, as data: what `k.profile(...)` returns, and `predict.py` computes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_path, as_text
from ..._util.display import Displayed, display
from ..._util.files import write_atomically
from ...errors import PtxlabError, listing, quoted
from ..launch_threads import LaunchGrid
from ..peaks import Work
from .stalls import REASONS

_SHORT = 5  # microseconds of a short launch


@dataclass(frozen=True)
class Occupancy:
    """How many blocks fit on an SM, and what limits that: registers, shared memory, threads, blocks."""

    blocks: int
    warps: int
    limit: str
    registers: int  # of a thread
    shared: int  # bytes of a block

    def __str__(self) -> str:
        return f"{self.blocks} blocks of an SM, {self.warps} warps of 64 (bound by {self.limit})"


class CodeRow(NamedTuple):
    """A machine instruction: its opcode and origin, the unit that executes it, and for how many cycles."""

    opcode: str
    ptx: str  # the PTX instruction that it comes from; empty for none
    line: int  # of the source; 0 for none
    unit: str
    interval: float


@dataclass
class LaunchProfile(Displayed):
    """The predicted time of a launch; a notebook shows the source with cycles and stalls in its margin.

    `stalls` are cycles of warps by line of the source and by reason, in Nsight Compute's words; `units` how
    busy each unit is, as a fraction of the time; `work` is what the launch moves and multiplies. `timeline`
    has what an SM issues, in order: slot of the warp, row of `code`, cycle from which the warp waits, cycle
    from which it could issue, cycle in which it does, number of the reason in `REASONS`.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    >>> profile = ptxlab.kernel(source).profile(2, 32, np.ones(64, np.float32))
    >>> str(profile).splitlines()[0].endswith("µs on an H200, predicted")
    True
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
    instructions: int  # machine instructions that all warps together issue
    timeline: NDArray[np.float64] = field(repr=False)
    code: tuple[CodeRow, ...] = field(repr=False)
    issued: Counter[int] = field(repr=False)  # instructions, by line of the source
    work: Work
    grid: LaunchGrid
    simulated: int = 0  # blocks, which stand for all
    #: Lines with branches, and with addresses, that depend on values in memory: "branches", "addresses".
    by_values: dict[str, tuple[int, ...]] = field(default_factory=dict)
    name: str = ""
    source: str = field(default="", repr=False)
    again: Callable[[str], LaunchProfile] | None = field(default=None, repr=False, compare=False)
    errors: dict[str, tuple[float, float]] = field(default_factory=dict, repr=False)  # by kind: least, most

    def without(self, unit: str) -> LaunchProfile:
        """The profile if one unit took no time, by its name in `units`; latencies stay.

        What that saves is what the unit costs. A unit that is half as busy as another may still be the one
        that everything waits for. A launch may even take longer: warps that never wait for a unit run in
        step, and all need the next one at once.
        """
        names = {name.lower(): name for name in self.units}
        name = names.get(as_text(unit, "unit").lower())
        if name is None or self.again is None:
            raise PtxlabError(f"unit: found {quoted(unit)}; there are {listing(self.units)}")
        return replace(self.again(name), source=self.source)

    @property
    def kind(self) -> str:
        """The kind of launch, by which errors of predictions differ: short, product, memory or other."""
        if self.microseconds < _SHORT:
            return "short"
        if self.units["tensor core"] >= 0.2:
            return "product"
        return "memory" if max(self.units["DRAM"], self.units["L2"]) >= 0.5 else "other"

    @property
    def range(self) -> tuple[float, float]:
        """The least and most microseconds, from measurements of eight in ten launches of its kind."""
        low, high = self.errors[self.kind]
        return low * self.microseconds, high * self.microseconds

    @property
    def opcodes(self) -> tuple[str, ...]:
        """The opcode of each row of `code`."""
        return tuple(instruction.opcode for instruction in self.code)

    def __str__(self) -> str:
        text: str = display(self, "text")
        return text

    def __repr__(self) -> str:
        busiest = max(self.units, key=lambda name: self.units[name])
        time = f"{self.name or 'kernel'} on {self.chip}: {self.microseconds:.1f} us"
        return f"<{time}; {busiest} {self.units[busiest]:.0%} busy>"

    def perfetto(self, path: str | Path) -> Path:
        """Write the timeline of an SM as a trace for https://ui.perfetto.dev and chrome://tracing.

        Each warp has a track with what it issues and waits for, each unit of each sub-partition one with the
        instructions that keep it busy; arguments name the line and the PTX instruction.
        """
        file = as_path(path, "path")
        content = {"displayTimeUnit": "ns", "traceEvents": list(self._events())}
        try:
            write_atomically(file, json.dumps(content, separators=(",", ":")))
        except OSError:
            raise PtxlabError(f"{quoted(str(file))}: the trace cannot be written") from None
        return file

    def _events(self) -> Iterator[dict[str, Any]]:
        """Trace events as Chrome defines them; times are microseconds at the assumed clock."""
        for process, name in enumerate(("warps of an SM", "units of its sub-partitions")):
            yield _named("process_name", name, process, 0)
        tracks: dict[tuple[str, int], int] = {}
        warps: set[int] = set()
        for slot, row, since, eligible, now, reason in self.timeline.tolist():
            warp, code = int(slot), self.code[int(row)]
            if warp not in warps:
                warps.add(warp)
                place = f"block slot {warp // self.grid.warps}, warp {warp % self.grid.warps}"
                yield _named("thread_name", place, 0, warp)
            about = {"line": code.line, "ptx": code.ptx, "instruction": code.opcode}
            waits = ((REASONS[int(reason)], since, eligible), ("not selected", eligible, now))
            for name, start, end in waits:
                if end > start:
                    yield self._span(name, "stall", 0, warp, start, end - start, about)
            yield self._span(code.opcode, "issue", 0, warp, now, 1, about)
            if code.interval > 0:
                key = code.unit, warp % 4
                if key not in tracks:
                    tracks[key] = len(tracks)
                    yield _named("thread_name", f"{code.unit} {warp % 4}", 1, tracks[key])
                yield self._span(code.opcode, "unit", 1, tracks[key], now, code.interval, about)

    def _span(
        self,
        name: str,
        kind: str,
        process: int,
        track: int,
        start: float,
        cycles: float,
        about: dict[str, Any],
    ) -> dict[str, Any]:
        times = {"ts": round(start / self.clock, 5), "dur": round(cycles / self.clock, 5)}
        return {"name": name, "cat": kind, "ph": "X", "pid": process, "tid": track, **times, "args": about}


def _named(what: str, name: str, process: int, track: int) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": process, "tid": track, "args": {"name": name}}
