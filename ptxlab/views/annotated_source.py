"""The source of a kernel as HTML, with what each line did in the margin, and hazards below their lines."""

from __future__ import annotations

import ast
import html
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import counted, lines_of, listing
from ..simulator import Hazard, Result
from ..simulator.peaks import find_card
from ..simulator.result import LineProfile
from .highlight import cell_script, highlighted_lines, language_of, token_css
from .labels import amount_text, time_text
from .palette import DARK, DARK_PAGES, HUES, LIGHT, Theme, mix
from .roofline import least_time
from .source_margin import MarginLine, line_notes, margin

if TYPE_CHECKING:
    from ..simulator.debug import DebugSession
    from ..simulator.kernel import Kernel

_CHIP = "H200"  # whose peaks bound the time
_MAX_LINES = 400  # a longer source shows only the lines near those where something happened
_AROUND = 2  # lines shown before and after an executed one in a long source
_FEW_SECTORS = 16  # per request when the 32 lanes of a warp access 16 adjacent bytes each


def _colours(theme: Theme) -> str:
    paper = theme.paper
    rules = {
        "heat": mix(HUES["sky"], 0.42, paper),
        "conflict": mix(HUES["orange"], 0.5 if theme is LIGHT else 0.4, paper),
        "hazard": mix(HUES["vermilion"], 0.3 if theme is LIGHT else 0.42, paper),
        "hazard-edge": HUES["vermilion"],
        "bound": mix(HUES["blue"], 0.35 if theme is LIGHT else 0.6, paper),
        "bound-first": mix(HUES["orange"], 0.75 if theme is LIGHT else 0.6, paper),
        "ink": theme.ink,
        "dim": theme.dim,
        "rule": mix(theme.ink, 0.16, paper),
        "hover": mix(theme.ink, 0.06, paper),
        "paper": paper,
        "accent": HUES["blue"] if theme is LIGHT else HUES["sky"],
        "scheme": "light" if theme is LIGHT else "dark",
    }
    return " ".join(f"--{name}: {colour};" for name, colour in rules.items())


def annotated_css() -> str:
    """The style sheet of the profile, for light and dark pages."""
    sheet = (Path(__file__).parent / "annotated_source.css").read_text(encoding="utf-8")
    dark = f":is({DARK_PAGES}) .ptx-profile"
    tokens = token_css(".ptx-profile")
    return f".ptx-profile {{ {_colours(LIGHT)} }}\n{dark} {{ {_colours(DARK)} }}\n{tokens}\n{sheet}"


def annotated_html(result: Result, *, styled: bool = True, first: int = 1) -> str:
    """The source with its margin, from line `first` on, and what bounds the kernel's time on an H200."""
    style = f"<style>{annotated_css()}</style>{cell_script()}" if styled else ""
    shown = kernel_lines(result.source, result.lines.keys())
    code = _code([line for line in margin(result)[first - 1 :] if line.number in shown], result.source)
    return f'{style}<div class="ptx-profile">{_header(result)}{code}{_bounds(result)}</div>'


def kernel_html(kernel: Kernel) -> str:
    """A kernel in a notebook: its source with line numbers."""
    part = kernel_lines(kernel.source, kernel.source_lines)
    return source_html(kernel.source, title=repr(kernel)[1:-1], part=part)


def session_html(session: DebugSession) -> str:
    """Where a session of a debugger is, in words and in the source; for a saved notebook."""
    kernel = session.kernel
    part = kernel_lines(kernel.source, kernel.source_lines)
    return source_html(kernel.source, title=f"{session.title}, {session.where}", part=part, now=session.line)


def kernel_lines(source: str, executed: Collection[int]) -> Collection[int]:
    """The lines of a source to show for a kernel: all, or in Python the functions that hold executed lines.

    >>> kernel_lines("import triton\\n\\n@triton.jit\\ndef one(x):\\n    pass\\n\\none[(1,)](x)", [5])
    [3, 4, 5]
    """
    all_lines = range(1, len(lines_of(source)) + 1)
    if language_of(source) != "python":
        return all_lines
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:  # such as a notebook's magic
        return all_lines
    functions: list[range] = []  # outer functions before those inside them
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            functions.append(range(first, (node.end_lineno or first) + 1))
    shown: set[int] = set()
    for number in executed:
        shown.update(next((function for function in reversed(functions) if number in function), ()))
    return sorted(shown) or all_lines


def source_html(
    source: str,
    hazards: Sequence[Hazard] = (),
    part: Collection[int] | None = None,
    title: str = "",
    now: int = 0,
) -> str:
    """A source that has not run, or not to its end: numbered lines, with hazards below those they concern.

    `part` has the numbers of the lines to show, by default all; `now` is that of a line to mark.

    >>> "<header>" in source_html("int i;")
    False
    """
    sentences: dict[int, list[str]] = {}
    for hazard in hazards:
        sentences.setdefault(hazard.line, []).append(hazard.sentence)
    lines = [
        MarginLine(number, text, LineProfile(number), hazards=tuple(sentences.get(number, ())))
        for number, text in enumerate(lines_of(source), 1)
        if part is None or number in part
    ]
    head = f"<header><b>{html.escape(title)}</b></header>" if title else ""
    style = f"<style>{annotated_css()}</style>{cell_script()}"
    code = _code(lines, source).replace(f'"row" data-line="{now}"', f'"row now" data-line="{now}"')
    return f'{style}<div class="ptx-profile">{head}{code}</div>'


def _header(result: Result) -> str:
    total = sum(result.counts.values())
    lost = sum(result.conflicts.values())
    facts = [
        f"<b>{total:,} instructions executed by warps</b>",
        f"<span>grid {_size_text(result.grid.blocks)}, block {_size_text(result.grid.threads)}</span>",
    ]
    if lost:
        facts.append(f'<span class="bad">{lost:,} wavefronts lost to bank conflicts</span>')
    elif any(profile.moved.accesses for profile in result.profile):
        facts.append("<span>no bank conflicts</span>")
    if result.hazards:
        lines = _lines_text({hazard.line for hazard in result.hazards})
        facts.append(f'<span class="bad">{counted(len(result.hazards), "hazard")}, {lines}</span>')
    if result.notes:
        lines = _lines_text({note.line for note in result.notes})
        facts.append(f"<span>{counted(len(result.notes), 'note')}, {lines}</span>")
    return f"<header>{' '.join(facts)}</header>"


def _size_text(sizes: tuple[int, int, int]) -> str:
    """``8×4``: the sizes along x, y and z, without ones at the end."""
    texts = [str(size) for size in sizes]
    while len(texts) > 1 and texts[-1] == "1":
        texts.pop()
    return "×".join(texts)


def _lines_text(numbers: Collection[int]) -> str:
    return f"{'line' if len(numbers) == 1 else 'lines'} {listing(sorted(numbers), 8)}"


def _code(lines: Sequence[MarginLine], source: str) -> str:
    texts = highlighted_lines(source)
    has_counts = any(line.profile.warps for line in lines)
    has_conflicts = any(line.profile.conflicts for line in lines)
    has_sectors = any(line.profile.requests for line in lines)
    heads = [("", "")]
    if has_counts:
        heads.append(("executed", "instructions, once for each warp"))
    if has_conflicts:
        heads.append(("conflicts", "wavefronts of shared memory beyond the least"))
    if has_sectors:
        heads.append(("sectors", "32-byte sectors of global memory per request of a warp"))
    rows = []
    empty = "<span></span> " * len(heads)
    by_number = {line.number: line for line in lines}
    busy = [line.number for line in lines if line.profile.warps or line.hazards]
    for number in lines_near(list(by_number), busy):
        line = by_number[number]
        parts = [_row(line, texts[number - 1], has_counts, has_conflicts, has_sectors)]
        parts += [
            f'<div class="row hazard sentence">{empty}<span><i>{html.escape(sentence)}</i></span></div>'
            for sentence in line.hazards
        ]
        parts += [
            f'<div class="row sentence">{empty}<span><i>{html.escape(sentence)}</i></span></div>'
            for sentence in line.notes
        ]
        rows.append((number, "".join(parts)))
    return code_html(heads, rows, headed=has_counts)


def code_html(
    heads: Sequence[tuple[str, str]], rows: Sequence[tuple[int, str]], *, headed: bool = True
) -> str:
    """Rows of a listing by line number, dots where lines are missing, under headings with their tooltips."""
    cells = " ".join(f'<span title="{tooltip}">{head}</span>' for head, tooltip in heads)
    parts = [f'<div class="row head">{cells} <span></span></div>'] if headed else []
    empty = "<span></span> " * len(heads)
    previous = 0
    for number, row in rows:
        if number != previous + 1:
            parts.append(f'<div class="row cut">{empty}<span>⋯</span></div>')
        previous = number
        parts.append(row)
    region = 'class="code" tabindex="0" role="group" aria-label="source"'  # scrolls, also by keyboard
    return f'<div {region}><div class="rows">{"".join(parts)}</div></div>'


def _row(line: MarginLine, text: str, has_counts: bool, has_conflicts: bool, has_sectors: bool) -> str:
    profile = line.profile
    tooltip = html.escape("\n".join(line_notes(line)), quote=True)
    count = f"{profile.warps:,}" if profile.warps else ""
    cells = [f'<span class="number">{line.number}</span>']
    if has_counts:
        cells.append(f'<span class="heat" style="--share: {100 * line.share:.0f}%">{count}</span>')
    if has_conflicts:
        css_class = ' class="conflict"' if profile.conflicts else ""
        cells.append(f"<span{css_class}>{f'+{profile.conflicts:,}' if profile.conflicts else ''}</span>")
    if has_sectors:
        css_class = ' class="wide"' if profile.sectors_per_request > _FEW_SECTORS else ""
        number = f"{profile.sectors_per_request:.3g}" if profile.requests else ""
        cells.append(f"<span{css_class}>{number}</span>")
    cells.append(f'<span class="text">{text}</span>')
    name = "row hazard" if line.hazards else "row"
    return f'<div class="{name}" data-line="{line.number}" title="{tooltip}">{" ".join(cells)}</div>'


def lines_near(numbers: Sequence[int], busy: Collection[int]) -> Sequence[int]:
    """All lines; of a source of more than 400 those near a busy one, at most 800; the first 800 if none is.

    >>> lines_near(range(1, 1001), [7])
    [5, 6, 7, 8, 9]
    """
    if len(numbers) <= _MAX_LINES or not busy:
        return numbers[: 2 * _MAX_LINES]
    shown = {number + offset for number in busy for offset in range(-_AROUND, _AROUND + 1)}
    return [number for number in numbers if number in shown][: 2 * _MAX_LINES]


def _bounds(result: Result) -> str:
    bounds = result.bounds(_CHIP)
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
            f"<span>{amount_text(bound.amount, bound.unit)}</span></div>"
        )
    peaks = find_card(_CHIP)
    least, reason = least_time(bounds, peaks.name)
    note = f"Published peaks ({html.escape(peaks.source)}); no launch is faster, most are slower."
    if result.grid.block_count < peaks.sms:
        note = f"{result.grid.block_count} of {peaks.sms} SMs have a block. {note}"
    return (
        f"<footer>On an {peaks.name} at least <b>{time_text(least)}</b>, {reason}:"
        f'<div class="rows">{"".join(rows)}</div>'
        f'<div class="note">{note}</div></footer>'
    )
