"""The predicted time of a launch: where the cycles go, unit by unit and line by line."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..errors import counted, lines_of
from .highlight import cell_script, highlighted_lines
from .palette import DARK, DARK_PAGES, LIGHT, OTHER_STALL, STALLS, Theme, mix
from .table import Table

if TYPE_CHECKING:  # else imported at use: a browser tab has no simulator
    from ..simulator.timing.launch_profile import LaunchProfile

_MIN_SHARE = 0.005  # of the time; smaller shares are not shown


def reason_words(reason: str) -> str:
    """What a warp does or waits for then; empty for a reason without words."""
    from ..simulator.timing.stalls import MEANINGS  # at use: a browser tab has no simulator

    return MEANINGS.get(reason, "")


def waves_text(waves: float) -> str:
    """How often the blocks fill the SMs, and how full they are the last time.

    >>> waves_text(3.25), waves_text(0.5), waves_text(2)
    ('4 waves, the last 25 % full', '1 wave, 50 % full', '2 waves')
    """
    count = max(math.ceil(waves - 1e-9), 1)
    last = waves - (count - 1)
    if last > 0.995:
        return counted(count, "wave")
    return f"{counted(count, 'wave')}, {'the last ' if count > 1 else ''}{_percent(last)} full"


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %" if part >= 0.095 else f"{100 * part:.1f} %"


def _facts(profile: LaunchProfile) -> list[str]:
    """The heading, and the facts below it."""
    fits = profile.occupancy
    blocks = "×".join(str(size) for size in profile.grid.blocks if size > 1) or "1"
    threads = "×".join(str(size) for size in profile.grid.threads if size > 1) or "1"
    return [
        f"{profile.name or 'kernel'}: {profile.microseconds:,.1f} µs on an {profile.chip}, predicted",
        f"{profile.cycles:,.0f} cycles at {profile.clock:,.0f} MHz; by the errors of such launches "
        f"{profile.range[0]:,.3g} to {profile.range[1]:,.3g} µs",
        f"grid {blocks}, block {threads}",
        f"{counted(fits.blocks, 'block')} and {fits.warps} of 64 warps fit on an SM, limited by {fits.limit} "
        f"({fits.registers} registers, {fits.shared:,} bytes of shared memory)",
        waves_text(profile.waves),
        *_on_values(profile),
    ]


#: What depends on values in memory, in words.
_DEPENDING = {"branches": "Which instructions run", "addresses": "Which addresses are accessed"}


def _on_values(profile: LaunchProfile) -> list[str]:
    """That the work depends on values, of which the prediction knows some."""
    texts = []
    for what, lines in profile.by_values.items():
        where = (
            f" ({'line' if len(lines) == 1 else 'lines'} {', '.join(map(str, lines[:5]))}" if lines else ""
        )
        where += ", ..." if len(lines) > 5 else ""
        texts.append(f"{_DEPENDING[what]} depends on values in memory{where}{')' if lines else ''}")
    if not texts:
        return []
    blocks = f"{profile.simulated} of {counted(profile.grid.block_count, 'block')}"
    return [*texts, f"the time is for the arrays as they were passed, and {blocks} stand for all"]


def _evidence(profile: LaunchProfile) -> str:
    from ..simulator.timing.chip_timings import find_timing

    timing = find_timing(profile.chip)
    assumed = f" An {timing.name} is assumed to be the same but for its memory, whose rate is published: "
    assumed += "no launch on one was compared."
    return (
        f"A prediction, not a measurement. Units, caches and memory: measured on an {timing.measured}, and "
        f"fitted to half of the launches of benchmarks.predict.{assumed if timing.same_as else ''} "
        f"Instructions and dependences: the machine code for {timing.target}. "
        f"Assumed: a clock of {profile.clock:,.0f} MHz, {timing.launch:g} µs for the launch "
        "itself, and data that fits into L2 is there from an earlier one."
    )


def _busy(profile: LaunchProfile) -> list[tuple[str, float]]:
    units = sorted(profile.units.items(), key=lambda item: -item[1])
    return [(name, part) for name, part in units if part >= _MIN_SHARE] or units[:1]


def _shares(reasons: Mapping[str, float]) -> list[tuple[str, float]]:
    """The reasons by how much of the warps' cycles each takes, the largest first."""
    total = sum(reasons.values()) or 1.0
    return [(name, amount / total) for name, amount in Counter(reasons).most_common() if amount]


def _stalls(reasons: Mapping[str, float], most: int) -> list[tuple[str, float]]:
    """The main reasons for not issuing."""
    return [(name, part) for name, part in _shares(reasons) if name != "selected" and part >= 0.1][:most]


# -- text ----------------------------------------------------------------------------------------------------


def profile_text(profile: LaunchProfile) -> str:
    """The profile for a terminal."""
    head, *facts = _facts(profile)
    texts = [head, *(f"  {fact}" for fact in facts), "", "how busy each unit is"]
    for name, part in _busy(profile):
        texts.append(f"  {name:15} {100 * part:4.0f} %  {'█' * round(30 * part)}")
    texts += ["", "what warps do, of all their cycles on an SM"]
    for name, part in _shares(profile.reasons):
        if part >= _MIN_SHARE:
            texts.append(f"  {name:19} {100 * part:4.0f} %  {reason_words(name)}".rstrip())
    rows = line_table(profile)
    texts += ["", *_aligned(rows)] if rows.rows else []
    return "\n".join([*texts, "", _evidence(profile)])


def profile_facts(profile: LaunchProfile) -> dict[str, object]:
    """The profile as plain data."""
    return {
        "kernel": profile.name,
        "chip": profile.chip,
        "microseconds": profile.microseconds,
        "range": list(profile.range),
        "cycles": profile.cycles,
        "clock": profile.clock,
        "occupancy": asdict(profile.occupancy),
        "waves": profile.waves,
        "instructions": profile.instructions,
        "simulated": profile.simulated,
        "by_values": {what: list(lines) for what, lines in profile.by_values.items()},
        "units": dict(profile.units),
        "reasons": {name: float(amount) for name, amount in profile.reasons.items()},
        "lines": {
            str(line): {name: float(amount) for name, amount in reasons.items()}
            for line, reasons in sorted(profile.stalls.items())
        },
    }


def line_table(profile: LaunchProfile) -> Table:
    """The lines on which cycles are spent."""
    source = lines_of(profile.source)
    total = sum(profile.reasons.values()) or 1.0
    rows = []
    for line in sorted(profile.stalls):
        reasons = profile.stalls[line]
        part = sum(reasons.values()) / total
        main = ", ".join(f"{name} {100 * share:.0f} %" for name, share in _stalls(reasons, 2))
        text = source[line - 1].strip() if 0 < line <= len(source) else ""
        rows.append((line, f"{100 * part:.1f} %", profile.issued[line], main, text))
    return Table(("line", "cycles", "instructions", "main stall reasons", "source"), tuple(rows))


def _aligned(table: Table) -> list[str]:
    rows = [table.columns, *(tuple(str(value) for value in row) for row in table.rows)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(table.columns))]
    numbers = len(table.columns) - 2  # the others are words
    return [
        "  "
        + "  ".join(
            text.rjust(widths[at]) if at < numbers else text.ljust(widths[at]) for at, text in enumerate(row)
        ).rstrip()
        for row in rows
    ]


def comparison(one: LaunchProfile, two: LaunchProfile, names: tuple[str, str]) -> Table:
    """Two profiles side by side, and what changed: time, occupancy, units, and cycles of warps by reason."""
    rows: list[tuple[str, str, str, str]] = []

    def add(title: str, left: float, right: float, form: str) -> None:
        change = f"{right / left - 1:+.0%}" if left else ""
        rows.append(
            (title, form.format(left), form.format(right), "" if change in ("+0%", "-0%") else change)
        )

    add("predicted µs", one.microseconds, two.microseconds, "{:,.2f}")
    add("cycles", one.cycles, two.cycles, "{:,.0f}")
    add("clock, MHz", one.clock, two.clock, "{:,.0f}")
    add("instructions of an SM", one.instructions, two.instructions, "{:,.0f}")
    add("registers of a thread", one.occupancy.registers, two.occupancy.registers, "{:,}")
    add("shared bytes of a block", one.occupancy.shared, two.occupancy.shared, "{:,}")
    add("warps that fit on an SM", one.occupancy.warps, two.occupancy.warps, "{:,}")
    add("waves", one.waves, two.waves, "{:.2f}")
    for unit in dict(sorted((one.units | two.units).items(), key=lambda item: -item[1])):
        left, right = one.units.get(unit, 0.0), two.units.get(unit, 0.0)
        if max(left, right) >= _MIN_SHARE:
            points = round(100 * right) - round(100 * left)
            rows.append(
                (f"{unit} busy", f"{left:.0%}", f"{right:.0%}", f"{points:+} points" if points else "")
            )
    for reason, _ in (one.reasons + two.reasons).most_common():
        left, right = one.reasons[reason], two.reasons[reason]
        if max(left, right) >= _MIN_SHARE * max(sum(one.reasons.values()), sum(two.reasons.values())):
            add(f"{reason}, cycles of warps", left, right, "{:,.0f}")
    return Table(("", *names, "change"), tuple(rows))


# -- HTML ----------------------------------------------------------------------------------------------------


def _variables(theme: Theme) -> list[str]:
    strength = 1.0 if theme is LIGHT else 0.85
    return [f"--{_name(reason)}: {mix(colour, strength, theme.paper)};" for reason, colour in STALLS.items()]


def _name(reason: str) -> str:
    return f"reason-{reason.replace(' ', '-')}"


def _swatch(reason: str) -> str:
    return f'<i class="swatch" style="background: var(--{_name(reason)}, {OTHER_STALL})"></i>'


def launch_html(profile: LaunchProfile) -> str:
    """What a notebook shows: head line, units, stall reasons, and the source with both in its margin."""
    from .annotated_source import annotated_css

    light, dark = (" ".join(_variables(theme)) for theme in (LIGHT, DARK))
    colours = f".ptx-launch {{ {light} }}\n:is({DARK_PAGES}) .ptx-launch {{ {dark} }}"
    style = f"<style>{annotated_css()}\n{colours}</style>{cell_script()}"
    head, *facts = (html.escape(fact) for fact in _facts(profile))
    header = f"<header><b>{head}</b> {' '.join(f'<span>{fact}</span>' for fact in facts)}</header>"
    panels = f'<div class="panels">{_units_html(profile)}{_reasons_html(profile)}</div>'
    foot = f'<footer class="note">{html.escape(_evidence(profile))}</footer>'
    return f'{style}<div class="ptx-profile ptx-launch">{header}{panels}{_source_html(profile)}{foot}</div>'


def _units_html(profile: LaunchProfile) -> str:
    rows = []
    for number, (name, part) in enumerate(_busy(profile)):
        css_class = "bar first" if number == 0 else "bar"
        rows.append(
            f'<div class="row"><span>{html.escape(name)}</span> <span class="time">{_percent(part)}</span> '
            f'<span class="{css_class}"><b style="width: {min(100 * part, 100):.1f}%"></b></span></div>'
        )
    return f'<section><h4>How busy each unit is</h4><div class="rows">{"".join(rows)}</div></section>'


def _reasons_html(profile: LaunchProfile) -> str:
    rows = []
    for name, part in _shares(profile.reasons):
        if part >= _MIN_SHARE:
            words = html.escape(reason_words(name))
            rows.append(
                f'<div class="row"><span>{_swatch(name)}{html.escape(name)}</span> '
                f'<span class="time">{_percent(part)}</span> <span class="words">{words}</span></div>'
            )
    title = "What warps do, of all their cycles on an SM"
    return (
        f'<section><h4>{title}</h4>{_stack(profile.reasons)}<div class="rows">{"".join(rows)}</div></section>'
    )


def _stack(reasons: Mapping[str, float]) -> str:
    """One bar with all reasons."""
    parts = [
        f'<i style="width: {100 * part:.2f}%; background: var(--{_name(name)}, {OTHER_STALL})" '
        f'title="{html.escape(name)} {_percent(part)}"></i>'
        for name, part in _shares(reasons)
    ]
    return f'<div class="stack">{"".join(parts)}</div>'


def _source_html(profile: LaunchProfile) -> str:
    """The lines of the source with their share of the cycles and their main stall reasons."""
    from .annotated_source import code_html, kernel_lines, lines_near

    source = profile.source
    if not source:
        return ""
    texts = highlighted_lines(source)
    total = sum(profile.reasons.values()) or 1.0
    cycles = {line: sum(reasons.values()) for line, reasons in profile.stalls.items()}
    most = max(cycles.values(), default=0) or 1.0
    part = [number for number in kernel_lines(source, cycles.keys()) if number <= len(texts)]
    rows = []
    for number in lines_near(part, cycles.keys()):
        spent, reasons = cycles.get(number, 0.0), profile.stalls.get(number, Counter())
        tip = "\n".join(f"{name}: {amount:,.0f} cycles of warps" for name, amount in reasons.most_common())
        stalls = " ".join(
            f"{_swatch(name)}{html.escape(name)} {100 * share:.0f}%" for name, share in _stalls(reasons, 2)
        )
        count = f"{profile.issued[number]:,}" if profile.issued[number] else ""
        amount = f"{100 * spent / total:.1f}%" if spent else ""
        cells = (
            f'<span class="number">{number}</span> '
            f'<span class="heat" style="--share: {100 * spent / most:.0f}%">{amount}</span> '
            f'<span>{count}</span> <span class="stalls">{stalls}</span> '
            f'<span class="text">{texts[number - 1]}</span>'
        )
        rows.append(
            (
                number,
                f'<div class="row" data-line="{number}" title="{html.escape(tip, quote=True)}">{cells}</div>',
            )
        )
    heads = (
        ("", ""),
        ("cycles", "of all cycles that the warps of an SM spend, those spent on this line"),
        ("instructions", "machine instructions that the warps of an SM issue"),
        ("main stall reasons", "why warps on this line do not issue, in Nsight Compute's words"),
    )
    return code_html(heads, rows)
