"""The picture of a launch that hangs: who waits for what, who has not come there, and the ring, if any."""

from __future__ import annotations

import html
from collections.abc import Sequence

from ..simulator.waiting import Missing, Waiting, WaitingWarp, warps_text
from .annotated_source import annotated_css

_NODE = (176, 44)  # pixels of a box in the ring
_GAP = 44


def waiting_html(waiting: Waiting, *, styled: bool = False) -> str:
    """Boxes for the warps that wait, what they wait for, and the warps that have not come; empty without any.

    >>> waiting_html(Waiting())
    ''
    """
    if not waiting:
        return ""
    groups: dict[int, list[WaitingWarp]] = {}
    for warp in waiting.warps:
        groups.setdefault(warp.group, []).append(warp)
    names = {
        number: warps_text([(warp.block, warp.warp) for warp in warps]) for number, warps in groups.items()
    }
    numbers = {group: place for place, group in enumerate(groups, 1)}
    rows = "".join(_group(numbers[group], names[group], warps[0]) for group, warps in groups.items())
    ring = [(numbers[group], names[group], groups[group][0].where) for group in waiting.cycle]
    more = (
        f"<p>and {waiting.more} more warps of other blocks at these instructions</p>" if waiting.more else ""
    )
    style = f"<style>{annotated_css()}</style>" if styled else ""
    head = "a ring: each waits for the next" if len(ring) > 1 else "who waits for whom"
    return (
        f'{style}<div class="ptx-profile ptx-waiting"><header><b>The launch hangs</b> <span>{head}</span>'
        f"</header>{_ring(ring)}"
        f'<div class="groups">{rows}</div>{more}</div>'
    )


def _group(number: int, names: str, first: WaitingWarp) -> str:
    awaited = first.awaited
    bar = ""
    if awaited.expected:
        share = 100 * min((awaited.arrived or 0) / awaited.expected, 1)
        bar = f'<span class="share"><span style="width: {share:.0f}%"></span></span>'
    state = f"<small>{html.escape(awaited.state)}</small>" if awaited.state else ""
    missing = "".join(_missing(row) for row in first.missing) or '<div class="box">nobody who could</div>'
    return (
        f'<section><div class="box waits"><b class="badge">{number}</b> {html.escape(names)}'
        f"<small>{html.escape(first.where)} <code>{html.escape(first.opcode)}</code></small></div>"
        f'<span class="leads">waits for →</span>'
        f'<div class="box">{html.escape(awaited.name)}{state}{bar}</div>'
        f'<span class="leads">which lacks →</span><div class="missing">{missing}</div></section>'
    )


def _missing(row: Missing) -> str:
    names = html.escape(warps_text(row.warps, row.count))
    return (
        f'<div class="box {row.state.replace(" ", "-")}">{names}<small>{html.escape(row.why)}</small></div>'
    )


def _ring(nodes: Sequence[tuple[int, str, str]]) -> str:
    """The warps that wait for each other, each with an arrow to the next, the last to the first."""
    if not nodes:
        return ""
    wide, high = _NODE
    width, height = len(nodes) * (wide + _GAP) - _GAP + 4, high + 36
    parts = []
    for place, (number, names, where) in enumerate(nodes):
        left = place * (wide + _GAP) + 2
        parts.append(
            f'<rect x="{left}" y="2" width="{wide}" height="{high}" rx="6"/>'
            f'<text x="{left + wide / 2}" y="20">{number}: {html.escape(_short(names))}</text>'
            f'<text class="dim" x="{left + wide / 2}" y="36">{html.escape(_short(where))}</text>'
        )
        if place + 1 < len(nodes):
            begin = left + wide
            parts.append(
                f'<path d="M{begin} {2 + high / 2}h{_GAP - 8}"/>{_head(begin + _GAP - 2, 2 + high / 2, 0)}'
            )
    last, first = (len(nodes) - 1) * (wide + _GAP) + 2 + wide / 2, 2 + wide / 2
    if len(nodes) == 1:
        last, first = first + 30, first - 30
    low = high + 26
    parts.append(f'<path d="M{last:g} {high + 2}V{low}H{first:g}V{high + 10}"/>{_head(first, high + 3, 1)}')
    words = "; ".join(f"{names} at {where}" for _, names, where in nodes)
    label = html.escape(f"a ring: {words}", quote=True)
    return (
        f'<div class="ring" tabindex="0" role="group" aria-label="ring"><svg role="img" aria-label="{label}" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">{"".join(parts)}</svg></div>'
    )


def _head(x: float, y: float, up: int) -> str:
    """The head of an arrow, to the right or upwards."""
    move = "l-5 9h10z" if up else "l-9 -5v10z"
    return f'<path class="head" d="M{x:g} {y:g}{move}"/>'


def _short(text: str, most: int = 25) -> str:
    text = text.replace("block ", "").replace(", warps ", " w").replace(", warp ", " w")
    return text if len(text) <= most else f"{text[: most - 1]}…"


def error_html(error: object) -> str | None:
    """An error with the picture of who waits, for a notebook."""
    waiting = getattr(error, "waiting", None)
    return waiting_html(waiting, styled=True) if waiting else None


def traceback_lines(error: BaseException) -> list[str]:
    """The lines of a traceback as IPython shows them; a notebook gets the picture before them."""
    from IPython.core.getipython import get_ipython
    from IPython.display import HTML, display

    shell, page = get_ipython(), error_html(error)
    assert shell is not None, "IPython asks for them"
    if page and getattr(shell, "kernel", None) is not None:
        display(HTML(page))
    lines: list[str] = shell.InteractiveTB.structured_traceback(
        type(error), error, error.__traceback__, tb_offset=1
    )
    return lines
