"""A simulated kernel in a notebook: its source with counts, conflicts and hazards in the margin."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import counted, listing
from ..simulator import Hazard, Result
from ..simulator.chips import Bound, find_chip
from ..simulator.result import LineProfile
from .palette import DARK, HUES, LIGHT, Theme, mix
from .svg import DARK_PAGES
from .table import Table

_MOST_LINES = 400  # of a source that are shown; the others only if something happened there
_AROUND = 2  # lines shown around one that was executed, in a long source
_FEW_SECTORS = 16  # a warp's 16 bytes a lane, side by side


@dataclass(frozen=True)
class MarginLine:
    """A line of the source and what happened there."""

    number: int
    text: str
    profile: LineProfile
    share: float = 0.0  # of the line with the most
    hazards: tuple[str, ...] = ()


def margin(result: Result, ptx: bool = False) -> tuple[MarginLine, ...]:
    """Every line of the source, or of the PTX, with its counts.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void twice(float* x) {\\n  x[threadIdx.x] *= 2;\\n}'
    >>> lines = margin(ptxlab.kernel(source).simulate(1, 32, np.ones(32, np.float32)))
    >>> lines[1].text.strip(), lines[1].profile.sectors_per_request
    ('x[threadIdx.x] *= 2;', 4.0)
    """
    profiles = result.by_line(ptx)
    most = max([profile.warps for profile in profiles.values()], default=0)
    hazards: dict[int, list[str]] = {}
    for hazard in result.hazards:
        number = hazard.ptx_line if ptx else hazard.line
        hazards.setdefault(number, []).append(hazard.sentence)
    lines = []
    for number, text in enumerate((result.ptx if ptx else result.source).splitlines(), 1):
        profile = profiles.get(number, LineProfile(number))
        share = profile.warps / max(most, 1)
        lines.append(MarginLine(number, text, profile, share, tuple(hazards.get(number, ()))))
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
    return [*notes, *line.hazards]


def profile_table(result: Result, ptx: bool = False) -> Table:
    """The lines where something happened, for a terminal."""
    rows = []
    for line in margin(result, ptx):
        profile, count = line.profile, len(line.hazards)
        if profile.warps or count:
            sectors = f"{profile.sectors_per_request:.3g}" if profile.requests else ""
            counts = (profile.warps, profile.conflicts or "", sectors, count or "")
            rows.append((line.number, *counts, line.text.strip()))
    return Table(("line", "executed", "conflicts", "sectors/request", "hazards", "source"), tuple(rows))


def bounds_table(bounds: Sequence[Bound]) -> Table:
    """The least time on each resource, for a terminal."""
    rows = [(bound.resource, time_text(bound.seconds), amount_text(bound)) for bound in bounds]
    return Table(("bound by", "at least", "for"), tuple(rows))


def time_text(seconds: float) -> str:
    """A time with its unit.

    >>> time_text(1.5e-6), time_text(0)
    ('1.5 µs', '0 ns')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def amount_text(bound: Bound) -> str:
    """What takes that time.

    >>> amount_text(Bound("DRAM", 1.0, 4_800_000, "bytes", 4.8e6))
    '4.8 MB'
    """
    steps = (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
    prefix, size = next(((name, size) for name, size in steps if bound.amount >= size), ("", 1.0))
    if bound.unit == "bytes":
        return f"{bound.amount / size:.3g} {prefix}B"
    return f"{bound.amount / size:.3g}{prefix} {bound.unit}"


# -- HTML ----------------------------------------------------------------------------------------------------


def _colours(theme: Theme) -> str:
    hues = dict(HUES)
    paper = theme.paper
    rules = {
        "heat": mix(hues["sky"], 0.42, paper),
        "conflict": mix(hues["orange"], 0.5 if theme is LIGHT else 0.4, paper),
        "hazard": mix(hues["vermilion"], 0.3 if theme is LIGHT else 0.42, paper),
        "hazard-edge": hues["vermilion"],
        "bound": mix(hues["blue"], 0.35 if theme is LIGHT else 0.6, paper),
        "bound-first": mix(hues["orange"], 0.75 if theme is LIGHT else 0.6, paper),
        "ink": theme.ink,
        "dim": theme.dim,
        "rule": mix(theme.ink, 0.16, paper),
        "hover": mix(theme.ink, 0.06, paper),
        "paper": paper,
        "accent": hues["blue"] if theme is LIGHT else hues["sky"],
        "scheme": "light" if theme is LIGHT else "dark",
    }
    return " ".join(f"--{name}: {colour};" for name, colour in rules.items())


def profile_css() -> str:
    """The style sheet of the profile, for light and dark pages."""
    sheet = (Path(__file__).parent / "kernel_profile.css").read_text(encoding="utf-8")
    dark = f":is({DARK_PAGES}) .ptx-profile"
    return f".ptx-profile {{ {_colours(LIGHT)} }}\n{dark} {{ {_colours(DARK)} }}\n{sheet}"


def profile_html(result: Result, chip: str = "H200", styled: bool = True, first: int = 1) -> str:
    """The source with its margin, from line `first` on, and what binds the kernel on a chip."""
    style = f"<style>{profile_css()}</style>" if styled else ""
    parts = [_header(result), _code(margin(result)[first - 1 :]), _bounds(result, chip)]
    return f'{style}<div class="ptx-profile">{"".join(parts)}</div>'


def source_html(source: str, hazards: Sequence[Hazard] = (), part: range | None = None) -> str:
    """A source that has not run, or not to its end: its lines with their numbers, and hazards below theirs.

    `part` has the numbers of the lines to show, by default all of them.

    >>> "<header>" in source_html("int i;")
    False
    """
    sentences: dict[int, list[str]] = {}
    for hazard in hazards:
        sentences.setdefault(hazard.line, []).append(hazard.sentence)
    lines = [
        MarginLine(number, text, LineProfile(number), hazards=tuple(sentences.get(number, ())))
        for number, text in enumerate(source.splitlines(), 1)
        if part is None or number in part
    ]
    return f'<style>{profile_css()}</style><div class="ptx-profile">{_code(lines)}</div>'


def _header(result: Result) -> str:
    grid = result.grid
    total = sum(result.counts.values())
    conflicts = sum(result.conflicts.values())
    blocks = "×".join(str(size) for size in _trimmed(grid.blocks))
    threads = "×".join(str(size) for size in _trimmed(grid.threads))
    facts = [
        f"<b>{total:,} instructions executed by warps</b>",
        f"<span>grid {blocks}, block {threads}</span>",
    ]
    if conflicts:
        facts.append(f'<span class="bad">{conflicts:,} wavefronts lost to bank conflicts</span>')
    elif any(each.moved.accesses for each in result.profile):
        facts.append("<span>no bank conflicts</span>")
    count = len(result.hazards)
    if count:
        lines = sorted({hazard.line for hazard in result.hazards})
        where = f"{'line' if len(lines) == 1 else 'lines'} {listing(lines, 8)}"
        facts.append(f'<span class="bad">{counted(count, "hazard")}, {where}</span>')
    return f"<header>{''.join(facts)}</header>"


def _trimmed(sizes: tuple[int, int, int]) -> list[int]:
    """Without the ones at the end."""
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return kept


def _code(lines: Sequence[MarginLine]) -> str:
    shown = _shown(lines)
    banks = any(line.profile.conflicts for line in lines)
    sectors = any(line.profile.requests for line in lines)
    counts = any(line.profile.warps for line in lines)
    heads = [""]
    heads += ["executed"] if counts else []
    heads += ["conflicts"] if banks else []
    heads += ["sectors"] if sectors else []
    titles = {
        "executed": "instructions, once for each warp",
        "conflicts": "wavefronts of shared memory beyond the least",
        "sectors": "32-byte sectors of global memory per request of a warp",
    }
    cells = "".join(f'<i title="{titles.get(head, "")}">{head}</i>' for head in heads)
    rows = [f'<div class="row head">{cells}<i></i></div>'] if counts else []
    empty = "<i></i>" * len(heads)
    before = 0
    for line in shown:
        if line.number != before + 1:
            rows.append(f'<div class="row cut">{empty}<i>⋯</i></div>')
        before = line.number
        rows.append(_row(line, counts, banks, sectors))
        rows += [
            f'<div class="row hazard sentence">{empty}<i>{html.escape(sentence)}</i></div>'
            for sentence in line.hazards
        ]
    region = 'class="code" tabindex="0" role="group" aria-label="source"'  # scrolls, also by keyboard
    return f'<div {region}><div class="rows">{"".join(rows)}</div></div>'


def _row(line: MarginLine, counts: bool, banks: bool, sectors: bool) -> str:
    profile = line.profile
    tip = html.escape("\n".join(line_notes(line)), quote=True)
    count = f"{profile.warps:,}" if profile.warps else ""
    cells = [f'<i class="number">{line.number}</i>']
    if counts:
        cells.append(f'<i class="heat" style="--share: {100 * line.share:.0f}%">{count}</i>')
    if banks:
        css_class = ' class="conflict"' if profile.conflicts else ""
        cells.append(f"<i{css_class}>{f'+{profile.conflicts:,}' if profile.conflicts else ''}</i>")
    if sectors:
        css_class = ' class="wide"' if profile.sectors_per_request > _FEW_SECTORS else ""
        cells.append(f"<i{css_class}>{f'{profile.sectors_per_request:.3g}' if profile.requests else ''}</i>")
    cells.append(f'<i class="text">{html.escape(line.text)}</i>')
    name = "row hazard" if line.hazards else "row"
    return f'<div class="{name}" data-line="{line.number}" title="{tip}">{"".join(cells)}</div>'


def _shown(lines: Sequence[MarginLine]) -> list[MarginLine]:
    """All lines, or those of a long source around which something happened."""
    if len(lines) <= _MOST_LINES:
        return list(lines)
    busy = [index for index, line in enumerate(lines) if line.profile.warps or line.hazards]
    near = {index + step for index in busy for step in range(-_AROUND, _AROUND + 1)}
    return [line for index, line in enumerate(lines) if index in near][: 2 * _MOST_LINES]


def _bounds(result: Result, chip: str) -> str:
    bounds = result.bounds(chip)
    if not bounds:
        return ""
    longest = bounds[0].seconds
    rows = []
    for number, bound in enumerate(bounds):
        css_class = "bar first" if number == 0 else "bar"
        share = 100 * bound.seconds / longest if longest else 0
        rows.append(
            f'<div class="row"><i>{bound.resource}</i><i class="time">{time_text(bound.seconds)}</i>'
            f'<i class="{css_class}"><b style="width: {share:.1f}%"></b></i><i>{amount_text(bound)}</i></div>'
        )
    peaks = find_chip(chip)
    note = f"Published peaks ({html.escape(peaks.source)}); no launch is faster, most are slower."
    if result.grid.block_count < peaks.sms:
        note = f"{result.grid.block_count} of {peaks.sms} SMs have a block. {note}"
    return (
        f"<footer>On an {peaks.name} at least <b>{time_text(longest)}</b>, bound by "
        f'<b>{bounds[0].resource}</b>:<div class="rows">{"".join(rows)}</div>'
        f'<div class="note">{note}</div></footer>'
    )
