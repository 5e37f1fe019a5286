"""A simulated kernel to look at: its source with what happened in the margin, or beside its PTX and SASS."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import PtxlabError, counted, listing
from ..gpu.compiler import SOURCE_NAME
from ..simulator import Hazard, Result
from ..simulator.kernel import Kernel
from ..simulator.peaks import Bound, find_chip
from ..simulator.result import LineProfile
from .highlight import cell_script, highlighted_lines, language_of, token_css
from .palette import DARK, DARK_PAGES, HUES, LIGHT, Theme, mix
from .table import Table

_MAX_LINES = 400  # of a source that are shown; the others only if something happened there
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
    hazards: dict[int, list[str]] = {}
    notes: dict[int, list[str]] = {}
    for hazard in result.hazards:
        hazards.setdefault(hazard.ptx_line if ptx else hazard.line, []).append(hazard.sentence)
    for note in result.notes:
        notes.setdefault(note.ptx_line if ptx else note.line, []).append(
            f"note: {note.sentence} ({note.evidence})"
        )
    lines = []
    for number, text in enumerate((result.ptx if ptx else result.source).splitlines(), 1):
        profile = profiles.get(number, LineProfile(number))
        share = profile.warps / max(most, 1)
        sentences = tuple(hazards.get(number, ())), tuple(notes.get(number, ()))
        lines.append(MarginLine(number, text, profile, share, *sentences))
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
    tokens = token_css(".ptx-profile")
    return f".ptx-profile {{ {_colours(LIGHT)} }}\n{dark} {{ {_colours(DARK)} }}\n{tokens}\n{sheet}"


def profile_html(result: Result, chip: str = "H200", styled: bool = True, first: int = 1) -> str:
    """The source with its margin, from line `first` on, and what binds the kernel on a chip."""
    style = f"<style>{profile_css()}</style>{cell_script()}" if styled else ""
    part = kernel_lines(result.source, result.lines.keys())
    code = _code([line for line in margin(result)[first - 1 :] if line.number in part], result.source)
    parts = [_header(result), code, _bounds(result, chip)]
    return f'{style}<div class="ptx-profile">{"".join(parts)}</div>'


def kernel_lines(source: str, executed: Collection[int]) -> Collection[int]:
    """The lines of a source that show a kernel: of Python the functions with lines that it executes.

    >>> kernel_lines("import triton\\n\\n@triton.jit\\ndef one(x):\\n    pass\\n\\none[(1,)](x)", [5])
    [3, 4, 5]
    """
    every = range(1, len(source.splitlines()) + 1)
    if language_of(source) != "python":
        return every
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # e.g. what a notebook's magic made of it
        return every
    functions: list[range] = []  # those inside of others follow them
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            functions.append(range(first, (node.end_lineno or first) + 1))
    shown: set[int] = set()
    for number in executed:
        shown.update(next((each for each in reversed(functions) if number in each), ()))
    return sorted(shown) or every


def source_html(
    source: str, hazards: Sequence[Hazard] = (), part: Collection[int] | None = None, title: str = ""
) -> str:
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
    head = f"<header><b>{html.escape(title)}</b></header>" if title else ""
    style = f"<style>{profile_css()}</style>{cell_script()}"
    return f'{style}<div class="ptx-profile">{head}{_code(lines, source)}</div>'


def _header(result: Result) -> str:
    grid = result.grid
    total = sum(result.counts.values())
    lost = sum(result.conflicts.values())
    blocks = "×".join(str(size) for size in _trimmed(grid.blocks))
    threads = "×".join(str(size) for size in _trimmed(grid.threads))
    facts = [
        f"<b>{total:,} instructions executed by warps</b>",
        f"<span>grid {blocks}, block {threads}</span>",
    ]
    if lost:
        facts.append(f'<span class="bad">{lost:,} wavefronts lost to bank conflicts</span>')
    elif any(each.moved.accesses for each in result.profile):
        facts.append("<span>no bank conflicts</span>")
    count = len(result.hazards)
    if count:
        lines = sorted({hazard.line for hazard in result.hazards})
        where = f"{'line' if len(lines) == 1 else 'lines'} {listing(lines, 8)}"
        facts.append(f'<span class="bad">{counted(count, "hazard")}, {where}</span>')
    if result.notes:
        lines = sorted({note.line for note in result.notes})
        where = f"{'line' if len(lines) == 1 else 'lines'} {listing(lines, 8)}"
        facts.append(f"<span>{counted(len(result.notes), 'note')}, {where}</span>")
    return f"<header>{' '.join(facts)}</header>"


def _trimmed(sizes: tuple[int, int, int]) -> list[int]:
    """Without the ones at the end."""
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return kept


def _code(lines: Sequence[MarginLine], source: str) -> str:
    shown = _shown(lines)
    texts = highlighted_lines(source)
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
    rows = []
    empty = "<span></span> " * len(heads)
    for line in shown:
        parts = [_row(line, texts[line.number - 1], counts, banks, sectors)]
        parts += [
            f'<div class="row hazard sentence">{empty}<span><i>{html.escape(sentence)}</i></span></div>'
            for sentence in line.hazards
        ]
        parts += [
            f'<div class="row sentence">{empty}<span><i>{html.escape(sentence)}</i></span></div>'
            for sentence in line.notes
        ]
        rows.append((line.number, "".join(parts)))
    return code_html([(head, titles.get(head, "")) for head in heads], rows, headed=counts)


def code_html(
    heads: Sequence[tuple[str, str]], rows: Sequence[tuple[int, str]], *, headed: bool = True
) -> str:
    """Lines of a source, each with its number and its row, under columns with their explanations."""
    cells = " ".join(f'<span title="{words}">{head}</span>' for head, words in heads)
    parts = [f'<div class="row head">{cells} <span></span></div>'] if headed else []
    empty = "<span></span> " * len(heads)
    before = 0
    for number, row in rows:
        if number != before + 1:
            parts.append(f'<div class="row cut">{empty}<span>⋯</span></div>')
        before = number
        parts.append(row)
    region = 'class="code" tabindex="0" role="group" aria-label="source"'  # scrolls, also by keyboard
    return f'<div {region}><div class="rows">{"".join(parts)}</div></div>'


def _row(line: MarginLine, text: str, counts: bool, banks: bool, sectors: bool) -> str:
    profile = line.profile
    tip = html.escape("\n".join(line_notes(line)), quote=True)
    count = f"{profile.warps:,}" if profile.warps else ""
    cells = [f'<span class="number">{line.number}</span>']
    if counts:
        cells.append(f'<span class="heat" style="--share: {100 * line.share:.0f}%">{count}</span>')
    if banks:
        css_class = ' class="conflict"' if profile.conflicts else ""
        cells.append(f"<span{css_class}>{f'+{profile.conflicts:,}' if profile.conflicts else ''}</span>")
    if sectors:
        css_class = ' class="wide"' if profile.sectors_per_request > _FEW_SECTORS else ""
        number = f"{profile.sectors_per_request:.3g}" if profile.requests else ""
        cells.append(f"<span{css_class}>{number}</span>")
    cells.append(f'<span class="text">{text}</span>')
    name = "row hazard" if line.hazards else "row"
    return f'<div class="{name}" data-line="{line.number}" title="{tip}">{" ".join(cells)}</div>'


def _shown(lines: Sequence[MarginLine]) -> list[MarginLine]:
    by_number = {line.number: line for line in lines}
    busy = [line.number for line in lines if line.profile.warps or line.hazards]
    return [by_number[number] for number in lines_near(list(by_number), busy)]


def lines_near(numbers: Sequence[int], busy: Collection[int]) -> Sequence[int]:
    """All lines, or those of a long source around which something happened.

    >>> lines_near(range(1, 1001), [7])
    [5, 6, 7, 8, 9]
    """
    if len(numbers) <= _MAX_LINES:
        return numbers
    near = {number + step for number in busy for step in range(-_AROUND, _AROUND + 1)}
    return [number for number in numbers if number in near][: 2 * _MAX_LINES]


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
            f'<div class="row"><span>{bound.resource}</span> '
            f'<span class="time">{time_text(bound.seconds)}</span> '
            f'<span class="{css_class}"><b style="width: {share:.1f}%"></b></span> '
            f"<span>{amount_text(bound)}</span></div>"
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


# -- the source of a kernel beside its PTX and its machine code ----------------------------------------------

_SASS_LINE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')


@dataclass(frozen=True)
class Listing:
    """A text, and for each of its lines the line of the kernel's source that it belongs to, or 0."""

    name: str
    text: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class KernelListings:
    """A kernel as CUDA C++, PTX and SASS; a notebook shows them side by side. `note` says what is missing."""

    title: str
    columns: tuple[Listing, ...]
    note: str = ""

    def __repr__(self) -> str:
        texts = [f"// {column.name}\n{column.text}" for column in self.columns if column.name != "source"]
        return "\n\n".join([*texts, *([f"// {self.note}"] if self.note else [])])

    def _repr_html_(self) -> str:
        return _listings_html(self)


def listings(kernel: Kernel[Any]) -> KernelListings:
    """The source of a kernel, its PTX and, where NVRTC and nvdisasm are, its SASS.

    >>> import ptxlab
    >>> source = '__global__ void one(float* x) {\\n  *x = 1;\\n}'
    >>> [column.name for column in listings(ptxlab.kernel(source)).columns]
    ['source', 'PTX', 'SASS']
    """
    columns, note = [ptx_listing(kernel)], ""
    if kernel.source is not kernel.ptx:
        numbers = tuple(kernel_lines(kernel.source, kernel.source_lines))
        texts = kernel.source.splitlines()
        columns.insert(0, Listing("source", "\n".join(texts[at - 1] for at in numbers), numbers))
    try:
        columns.append(sass_listing(kernel))
    except PtxlabError as error:
        note = f"SASS is missing: {error}"
    return KernelListings(repr(kernel)[1:-1], tuple(columns), note)


def ptx_listing(kernel: Kernel[Any]) -> Listing:
    """The PTX of one kernel of a module, without directives for debuggers."""
    source_lines = {
        each.line: 0 if each.source is None else each.source.line for each in kernel.function.instructions
    }
    texts = kernel.ptx.splitlines()
    head = re.compile(rf"\.entry\s+{re.escape(kernel.name)}(?![\w$])")
    first = next(number for number, text in enumerate(texts, 1) if head.search(text))
    last = max(source_lines, default=first)
    last = next((number for number in range(last, len(texts)) if texts[number].strip() == "}"), last) + 1
    numbers = [
        number
        for number in range(first, last + 1)
        if texts[number - 1].strip() and not texts[number - 1].lstrip().startswith((".loc", "//"))
    ]
    shown = "\n".join(re.sub(r"(?<=\S)\s*\t", " ", texts[number - 1]).expandtabs(4) for number in numbers)
    return Listing("PTX", shown, tuple(source_lines.get(number, 0) for number in numbers))


def sass_listing(kernel: Kernel[Any]) -> Listing:
    """The machine code of one kernel; needs NVRTC, and nvdisasm to read it."""
    instructions = kernel.function.instructions
    own = {each.source.file.split("/")[-1] for each in instructions if each.source is not None}
    own.add(SOURCE_NAME)  # when it is compiled to machine code
    texts: list[str] = []
    numbers: list[int] = []
    current, fresh = 0, True  # the first line of several is that of the innermost call
    for text in kernel.sass().splitlines():
        place = _SASS_LINE.match(text)
        if place is None:
            texts.append(text.strip())
            numbers.append(current)
            fresh = True
        elif place[1].split("/")[-1] in own and fresh:
            current, fresh = int(place[2]), False
    return Listing("SASS", "\n".join(texts), tuple(numbers))


def _listings_html(listings: KernelListings) -> str:
    """Side by side; what comes from one line of the source has its colour, and lights up with it."""
    coded = sorted({number for column in listings.columns[1:] for number in column.lines} - {0})
    shade = {number: f" shade{at % len(_SHADED)}" for at, number in enumerate(coded)}
    same = ", ".join(
        f'.ptx-profile .columns:has([data-line="{number}"]:hover) [data-line="{number}"] > span'
        for number in coded
    )
    hover = f"{same} {{ background-color: var(--heat); }}" if same else ""
    parts = []
    for column in listings.columns:
        rows = [
            f'<div class="row{shade.get(number, "")}" data-line="{number}">'
            f'<span class="number">{number or ""}</span> <span class="text">{text}</span></div>'
            for number, text in zip(column.lines, highlighted_lines(column.text), strict=True)
        ]
        region = f'class="code" tabindex="0" role="group" aria-label="{column.name}"'
        table = f'<div {region}><div class="rows">{"".join(rows)}</div></div>'
        parts.append(f"<section><h4>{column.name}</h4>{table}</section>")
    style = f"<style>{profile_css()}\n{_shade_css()}\n{hover}</style>{cell_script()}"
    head = f"<header><b>{html.escape(listings.title)}</b></header>"
    body = f'<div class="columns">{"".join(parts)}</div>'
    foot = f'<footer class="note">{html.escape(listings.note)}</footer>' if listings.note else ""
    return f'{style}<div class="ptx-profile wide">{head}{body}{foot}</div>'


_SHADED = ("sky", "orange", "green", "purple", "yellow")


def _shade_css() -> str:
    hues = dict(HUES)
    return "\n".join(
        f"{where} .shade{at} > span {{ background-color: {mix(hues[name], part, theme.paper)}; }}"
        for theme, where, part in (
            (LIGHT, ".ptx-profile", 0.16),
            (DARK, f":is({DARK_PAGES}) .ptx-profile", 0.2),
        )
        for at, name in enumerate(_SHADED)
    )
