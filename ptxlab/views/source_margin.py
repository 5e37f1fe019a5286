"""What happened on each line of a simulated kernel's source."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ..errors import lines_of
from ..simulator import Result
from ..simulator.result import LineProfile
from .table import Table


@dataclass(frozen=True)
class MarginLine:
    """A line of the source and what happened there."""

    number: int
    text: str
    profile: LineProfile
    share: float = 0.0  # of the count of the busiest line
    hazards: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def margin(result: Result, ptx: bool = False) -> tuple[MarginLine, ...]:
    """Every line of the source, or of the PTX, with its counts.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void twice(float* x) {\\n  x[threadIdx.x] *= 2;\\n}'
    >>> lines = margin(ptxlab.kernel(source).simulate(1, 32, np.ones(32, np.float32)))
    >>> lines[1].text.strip(), lines[1].profile.sectors_per_request
    ('x[threadIdx.x] *= 2;', 4.0)
    """
    ptx = ptx or result.source == result.ptx
    profiles = result.by_line(ptx)
    most = max([profile.warps for profile in profiles.values()], default=0)
    hazards: dict[int, list[str]] = defaultdict(list)
    notes: dict[int, list[str]] = defaultdict(list)
    for hazard in result.hazards:
        hazards[hazard.ptx_line if ptx else hazard.line].append(hazard.sentence)
    for note in result.notes:
        notes[note.ptx_line if ptx else note.line].append(f"note: {note.sentence} ({note.evidence})")
    lines = []
    for number, text in enumerate(lines_of(result.ptx if ptx else result.source), 1):
        profile = profiles.get(number, LineProfile(number))
        share = profile.warps / max(most, 1)
        lines.append(MarginLine(number, text, profile, share, tuple(hazards[number]), tuple(notes[number])))
    return tuple(lines)


def line_notes(line: MarginLine) -> list[str]:
    """What is worth knowing about a line, one sentence each."""
    notes, profile = [], line.profile
    if profile.by_opcode:
        notes.append(", ".join(f"{count:,} {name}" for name, count in profile.by_opcode.most_common(6)))
    if profile.conflicts:
        notes.append(f"bank conflicts: {profile.wavefronts:,} wavefronts where {profile.least:,} would do")
    if profile.requests:
        notes.append(f"{profile.sectors_per_request:.3g} sectors of 32 bytes per request to global memory")
    if profile.multiply_adds:
        notes.append(f"{profile.multiply_adds:,} multiply-adds")
    return [*notes, *line.hazards, *line.notes]


def counts_table(result: Result, ptx: bool = False) -> Table:
    """The lines where something happened, for a terminal."""
    rows = []
    for line in margin(result, ptx):
        profile, count = line.profile, len(line.hazards)
        if profile.warps or count:
            sectors = f"{profile.sectors_per_request:.3g}" if profile.requests else ""
            counts = (profile.warps, profile.conflicts or "", sectors, count or "")
            rows.append((line.number, *counts, line.text.strip()))
    return Table(("line", "executed", "conflicts", "sectors/request", "hazards", "source"), tuple(rows))
