"""One SM over time: what each warp does or waits for, and how busy the units are."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_flag, as_int
from ..errors import PtxlabError, lines_of, quoted
from . import palette
from .charts import svg_text, ticks
from .drawing import PAGE, SANS
from .picture import require_plotly
from .predicted_time import reason_words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from ..simulator.timing.launch_profile import LaunchProfile

_LEFT, _TRACK = 112, 26
_LINE, _LETTER = 14, 7  # height of a line of text, and width of a digit
_BINS = 340  # of a drawing
_FINE = 1500  # of a figure that is zoomed
_MAX_STRIPES = 6_000  # of a figure; a browser draws no more at once
_MAX_HOVERED = 3_000  # of a picture in a notebook, with what pointing at them says
_SCRIPT = Path(__file__).parent / "over_time.js"
_STYLE = f"""\
.ptx-over-time {{ overflow-x: auto; color: {palette.PAGE_INK}; }}
.ptx-over-time > svg {{ display: block; cursor: crosshair; user-select: none; }}
.ptx-over-time > svg:focus-visible {{ outline: 2px solid currentColor; }}
.ptx-over-time > .line {{ min-height: 1.4em; padding-left: {_LEFT}px; }}
.ptx-over-time > .line {{ font: 12px/1.4 var(--jp-code-font-family, monospace); white-space: pre; }}
.ptx-over-time-tip {{ position: fixed; z-index: 10; max-width: 440px; pointer-events: none; }}
.ptx-over-time-tip {{ font: 12px/1.45 {SANS}; color: {palette.PAGE_INK}; background: {palette.PAGE_PAPER}; }}
.ptx-over-time-tip {{ border: 1px solid {palette.RULE}; border-radius: 4px; padding: 6px 10px; }}
"""
_WARPS = 64
#: Units with a track of their own, if they are used; the number of them on an SM.
_TRACKS = {"tensor core": 4, "FMA": 4, "ALU": 4, "XU": 4, "FP64": 4, "shared memory": 1, "L1": 1, "TMA": 1}
_TRACK_NAMES = {"L1": "global memory"}
_COUNTED = frozenset({"shared memory", "L1", "TMA"})  # what is known of these is when instructions issue


def _reasons() -> tuple[str, ...]:
    """Why warps wait; imported late, since a browser's tab has no simulator."""
    from ..simulator.timing.stalls import REASONS

    return REASONS


class Stripe(NamedTuple):
    """What a warp does from one cycle to another, and the row of the code at which it is."""

    warp: int
    start: float
    end: float
    reason: str
    row: int


@dataclass(frozen=True, eq=False)
class Timeline:
    """Warps of an SM over time; a notebook shows it as SVG, `figure` makes it a Plotly figure to zoom."""

    profile: LaunchProfile
    start: float
    end: float
    titled: bool = True

    @property
    def title(self) -> str:
        """The heading."""
        return f"One SM of {self.profile.chip} over time: {self.profile.name or 'kernel'}"

    @property
    def subtitle(self) -> str:
        """Below the heading."""
        time = (self.end - self.start) / self.profile.clock
        words = f"{self.end - self.start:,.0f} cycles, {time:.2f} µs at {self.profile.clock:,.0f} MHz"
        return f"{words}; colours: what each warp does or waits for (Nsight Compute's stall reasons)"

    def with_title(self, title: bool) -> Timeline:
        """The picture with its title, or without it."""
        return replace(self, titled=as_flag(title, "title"))

    @property
    def _holder(self) -> str:
        """What a group of rows is: a block, or the place of several that follow each other."""
        return "block" if self.profile.waves <= 1 else "block slot"

    @property
    def _named(self) -> int:
        """One block of so many has its name beside it: names need room."""
        return math.ceil(_LINE / (self.profile.grid.warps * _row_height(self.warps)))

    @property
    def warps(self) -> int:
        """Warps that the SM holds."""
        history = self.profile.timeline
        return min(int(history[:, 0].max()) + 1, _WARPS) if len(history) else 0

    def bins(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[warps, bins]: the reason that takes most of each, -1 for none, and the row of the code there."""
        edges = np.linspace(self.start, self.end, count + 1)
        reasons = np.full((self.warps, count), -1)
        rows = np.full((self.warps, count), -1)
        history = self.profile.timeline
        for warp in range(self.warps):
            steps = history[history[:, 0] == warp]
            if not len(steps):
                continue
            covered = np.zeros((len(_reasons()), count))
            since, eligible, now = steps[:, 2], np.maximum(steps[:, 3], steps[:, 2]), steps[:, 4]
            kinds = steps[:, 5].astype(int)
            for reason in range(len(_reasons())):
                chosen = kinds == reason
                covered[reason] += _cover(since[chosen], eligible[chosen], edges)
            covered[_reasons().index("not selected")] += _cover(eligible, now, edges)
            covered[_reasons().index("selected")] += _cover(now, now + 1, edges)
            some = covered.sum(axis=0) > 1e-3 * (edges[1] - edges[0])  # sums are not exact
            reasons[warp, some] = covered.argmax(axis=0)[some]
            middle = (edges[:-1] + edges[1:]) / 2
            place = np.minimum(np.searchsorted(now, middle), len(steps) - 1)
            rows[warp, some] = steps[place, 1].astype(int)[some]
        return reasons, rows

    def stripes(self, count: int) -> Iterator[Stripe]:
        """Neighbouring bins of a warp with the same reason at the same line, joined."""
        reasons, rows = self.bins(count)
        width = (self.end - self.start) / count
        lines = np.array([instruction.line for instruction in self.profile.code] + [-1])
        for warp in range(len(reasons)):
            changes = (np.diff(reasons[warp]) != 0) | (np.diff(lines[rows[warp]]) != 0)
            firsts = [0, *(np.flatnonzero(changes) + 1).tolist()]
            for first, last in zip(firsts, [*firsts[1:], count], strict=True):
                reason = int(reasons[warp, first])
                if reason >= 0:
                    begin = self.start + first * width
                    end = self.start + last * width
                    yield Stripe(warp, begin, end, _reasons()[reason], int(rows[warp, first]))

    def busy(self, count: int) -> dict[str, NDArray[np.float64]]:
        """How busy each unit is in each bin, from 0 to 1; of memory and TMA, when instructions are issued."""
        edges = np.linspace(self.start, self.end, count + 1)
        history, code = self.profile.timeline, self.profile.code
        names = np.array([instruction.unit for instruction in code])[history[:, 1].astype(int)]
        intervals = np.array([instruction.interval for instruction in code])[history[:, 1].astype(int)]
        tracks = {}
        for name, units in _TRACKS.items():
            issued = history[names == name, 4]
            if not len(issued):
                continue
            if name in _COUNTED:
                amount = np.histogram(issued, edges)[0].astype(float)
                tracks[name] = amount / max(amount.max(), 1.0)
            else:
                ends = issued + intervals[names == name]
                tracks[name] = np.minimum(_cover(issued, ends, edges) / (units * np.diff(edges)), 1.0)
        return {name: part for name, part in tracks.items() if name in _COUNTED or part.mean() > 0.01}

    def tip(self, stripe: Stripe) -> str:
        """What pointing at a stripe shows."""
        row = self.profile.code[stripe.row]
        source = lines_of(self.profile.source)
        text = f": {escape(source[row.line - 1].strip()[:70])}" if 0 < row.line <= len(source) else ""
        words = reason_words(stripe.reason)
        return (
            f"<b>{stripe.reason}</b>: {words}<br>warp {stripe.warp}, cycles {stripe.start:,.0f} to "
            f"{stripe.end:,.0f}<br>{escape(row.opcode)}, of {escape(row.ptx or 'no PTX instruction')}"
            f"<br>line {row.line}{text}"
        )

    def svg(self, *, themed: bool = False) -> str:
        """One SVG document on white paper or, `themed`, on the page, whose text colour it takes."""
        ink = "currentColor" if themed else palette.INK
        top = 52 if self.titled else 8
        height = _row_height(self.warps)
        right = PAGE - 12
        width = (right - _LEFT) / (self.end - self.start)
        parts: list[str] = []
        if self.titled:
            parts.append(svg_text(4, 18, self.title, 'font-size="15" font-weight="bold"'))
            parts.append(svg_text(4, 38, self.subtitle, 'opacity="0.75"'))
        parts.append('<g class="stripes">')
        paths: dict[str, list[str]] = {}
        for stripe in self.stripes(_BINS):
            x = _LEFT + (stripe.start - self.start) * width
            y = top + stripe.warp * height
            run = (stripe.end - stripe.start) * width
            paths.setdefault(stripe.reason, []).append(
                f"M{x:.1f} {y:.1f}h{run:.1f}v{height - 1:.1f}h-{run:.1f}z"
            )
        for reason in sorted(paths, key=_reasons().index):
            words = f"<title>{reason}: {reason_words(reason)}</title>"
            parts.append(f'<path d="{"".join(paths[reason])}" fill="{palette.stall(reason)}">{words}</path>')
        parts.append("</g>")
        per_block = self.profile.grid.warps
        for first in range(0, self.warps, per_block):
            last = min(first + per_block, self.warps)
            y = top + (first + last) / 2 * height
            if first // per_block % self._named == 0:
                name = f"{self._holder} {first // per_block}"
                parts.append(svg_text(_LEFT - 10, y + 4, name, 'text-anchor="end"'))
            edge = f"M{_LEFT - 4} {top + first * height + 1:.1f}V{top + last * height - 2:.1f}"
            parts.append(f'<path d="{edge}" stroke="{ink}" stroke-opacity="0.5"/>')
        y = top + self.warps * height + 6
        tracks = self.busy(_BINS)
        areas = []
        for name, part in tracks.items():
            parts.append(
                svg_text(_LEFT - 10, y + _TRACK - 8, _TRACK_NAMES.get(name, name), 'text-anchor="end"')
            )
            areas.append(_area(part, y, ink, right))
            y += _TRACK
        if areas:  # in a picture of their own, which can be stretched
            deep = len(areas) * _TRACK
            box = f"{_LEFT} {y - deep:g} {right - _LEFT} {deep}"
            place = 'x="{}" y="{}" width="{}" height="{}"'.format(*box.split())
            head = f'<svg class="tracks" {place} viewBox="{box}" preserveAspectRatio="none">'
            parts += [head, *areas, "</svg>"]
        y += 4
        parts.append(f'<path d="M{_LEFT} {y}H{right}" stroke="{ink}" stroke-opacity="0.6"/>')
        parts.append('<g class="ticks">')
        for value in ticks(self.end - self.start):
            x = _LEFT + value * width
            text = f"{self.start + value:,.0f}"
            fits = x + _LETTER / 2 * len(text) <= PAGE
            if x <= right + 1:
                at, anchor = (x, "middle") if fits else (PAGE, "end")
                parts.append(svg_text(at, y + 16, text, f'text-anchor="{anchor}"'))
        parts.append("</g>")
        parts.append(svg_text(_LEFT - 10, y + 16, "cycle", 'text-anchor="end"'))
        brush = f'y="{top}" height="{y - top:g}" width="0" fill="{ink}" fill-opacity="0.15"'
        parts.append(f'<rect class="brush" {brush}/>')
        legend, y = _legend(sorted(paths, key=_reasons().index), y + 36, right)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{PAGE}" height="{y:g}" '
            f'viewBox="0 0 {PAGE} {y:g}" '
            f'role="img" aria-label="{escape(self.title)}">'
        )
        paper = "" if themed else f'<rect width="100%" height="100%" fill="{palette.PAPER}"/>'
        body = "\n".join([*parts, *legend])
        return f'{head}{paper}<g font-family="{SANS}" font-size="12" fill="{ink}">\n{body}\n</g></svg>\n'

    def figure(self) -> Figure:
        """The timeline as a Plotly figure: drag to zoom; pointing at a stripe shows line and instruction."""
        require_plotly()
        from plotly.graph_objects import Bar, Scatter

        from .plotly_figure import Chart, heading

        count = _FINE
        stripes = list(self.stripes(count))
        while len(stripes) > _MAX_STRIPES and count > _BINS:
            count = count * 2 // 3
            stripes = list(self.stripes(count))
        figure = Chart()
        for reason in _reasons():
            chosen = [stripe for stripe in stripes if stripe.reason == reason]
            if chosen:
                figure.add_trace(
                    Bar(
                        base=[round(stripe.start, 1) for stripe in chosen],
                        x=[round(stripe.end - stripe.start, 1) for stripe in chosen],
                        y=[stripe.warp for stripe in chosen],
                        width=0.9,
                        orientation="h",
                        name=reason,
                        marker={"color": palette.stall(reason), "line": {"width": 0}},
                        customdata=[self.tip(stripe) for stripe in chosen],
                        hovertemplate="%{customdata}<extra></extra>",
                    )
                )
        tracks = self.busy(_BINS)
        middle = np.linspace(self.start, self.end, 2 * _BINS + 1)[1::2]
        base = self.warps + 0.5
        step = max(self.warps / 10, 1.5)
        places = {}
        for name, part in tracks.items():
            base += step
            places[base] = _TRACK_NAMES.get(name, name)
            figure.add_trace(
                Scatter(
                    x=[*middle.tolist(), *middle[::-1].tolist()],
                    y=[*(base - 0.9 * step * part).tolist(), *[base] * len(part)],
                    fill="toself",
                    mode="lines",
                    line={"width": 0.5, "color": palette.HUES["grey"]},
                    name=places[base],
                    showlegend=False,
                    hoverinfo="skip",
                )
            )
        per_block = self.profile.grid.warps
        names = {
            first + (per_block - 1) / 2: f"{self._holder} {first // per_block}"
            for first in range(0, self.warps, per_block * self._named)
        }
        names |= {place - 0.4 * step: name for place, name in places.items()}
        above = 56 if self.titled else 24
        figure.update_layout(
            barmode="overlay",
            title=heading(self.title, [self.subtitle]) if self.titled else heading(""),
            width=PAGE,
            height=int(self.warps * _row_height(self.warps) + 30 * len(tracks) + above + 150),
            margin={"l": 100, "r": 12, "t": above, "b": 100},
            modebar={"remove": ["select2d", "lasso2d", "autoScale2d"]},
            dragmode="zoom",
            hovermode="closest",
            legend={"orientation": "h", "y": -0.14, "traceorder": "normal"},
            paper_bgcolor=palette.PAPER,
            plot_bgcolor=palette.PAPER,
            font={"family": SANS, "size": 12, "color": palette.INK},
            meta={"title": self.title if self.titled else "", "subtitle": self.subtitle},
            xaxis={"title": "cycle", "range": [self.start, self.end], "showgrid": False, "zeroline": False},
            yaxis={
                "range": [base + 0.5, -0.7],
                "fixedrange": True,
                "showgrid": False,
                "zeroline": False,
                "tickvals": list(names),
                "ticktext": list(names.values()),
            },
        )
        figure.source = self
        return figure

    def hover_data(self) -> dict[str, Any]:
        """What over_time.js needs: where warps and cycles are in the picture, and what each stripe is."""
        count = _FINE
        stripes = list(self.stripes(count))
        while len(stripes) > _MAX_HOVERED and count > _BINS:
            count = count * 2 // 3
            stripes = list(self.stripes(count))
        reasons = [name for name in _reasons() if any(stripe.reason == name for stripe in stripes)]
        source = lines_of(self.profile.source)
        code = {}
        for row in sorted({stripe.row for stripe in stripes}):
            at = self.profile.code[row]
            text = source[at.line - 1].strip()[:90] if 0 < at.line <= len(source) else ""
            code[str(row)] = [at.opcode, at.ptx, at.line, text]
        top, height = 52 if self.titled else 8, _row_height(self.warps)
        tracks = len(self.busy(_BINS)) * _TRACK
        return {
            "start": self.start,
            "end": self.end,
            "left": _LEFT,
            "right": PAGE - 12,
            "top": top,
            "height": height,
            "bottom": top + self.warps * height + 6 + tracks + 20,
            "reasons": [[name, reason_words(name), palette.stall(name)] for name in reasons],
            "stripes": [
                [
                    stripe.warp,
                    round(stripe.start),
                    round(stripe.end),
                    reasons.index(stripe.reason),
                    stripe.row,
                ]
                for stripe in stripes
            ],
            "code": code,
        }

    def _repr_html_(self) -> str:
        """The picture, and what follows the pointer there: without scripts it is a picture all the same."""
        data = json.dumps(self.hover_data(), separators=(",", ":")).replace("</", "<\\/")
        svg = self.svg(themed=True).replace("<svg ", '<svg tabindex="0" ', 1)
        return (
            f'<style>{_STYLE}</style><div class="ptx-over-time">{svg}<div class="line" role="status"></div>'
            f'<script type="application/json">{data}</script></div>{timeline_script()}'
        )


@cache
def timeline_script() -> str:
    """What follows the pointer on timelines of a page, as an element of HTML: always the same text."""
    function = _SCRIPT.read_text(encoding="utf-8").replace("export default ", "").strip()
    return f"<script>({function})()</script>"


def timeline(
    profile: LaunchProfile, start: int = 0, cycles: int | None = None, *, title: bool = True
) -> Timeline:
    """One SM over time, from `k.profile(...)`: warps coloured by what they wait for, units beneath.

    It shows `cycles` cycles from `start` on; without them everything that the profile has replayed.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    >>> picture = timeline(ptxlab.kernel(source).profile(1, 64, np.ones(64, np.float32)))
    >>> max(picture.stripes(100), key=lambda stripe: stripe.end - stripe.start).reason
    'long scoreboard'
    """
    from ..simulator.timing.launch_profile import LaunchProfile

    if not isinstance(profile, LaunchProfile):
        raise PtxlabError(f"found {quoted(profile)} where a profile belongs; k.profile(...) makes one")
    history = profile.timeline
    first = as_int(start, "start")
    last = float(history[:, 4].max()) + 1 if len(history) else 1.0
    if not 0 <= first < last:
        raise PtxlabError(f"start={quoted(first)}: the profile has cycles 0 to {last:.0f}")
    end = last
    if cycles is not None:
        count = as_int(cycles, "cycles")
        if count < 1:
            raise PtxlabError(f"cycles={quoted(count)}: it is 1 or more")
        end = min(last, float(first + count))
    return Timeline(profile, float(first), end).with_title(title)


def _cover(
    starts: NDArray[np.float64], ends: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """How much of each bin the intervals cover together."""
    if not len(starts):
        return np.zeros(len(edges) - 1)
    began, ended = np.sort(starts), np.sort(ends)

    def passed(times: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each edge, the sum of (edge - time) over earlier times."""
        count = np.searchsorted(times, edges)
        return np.asarray(count * edges - np.append(0.0, np.cumsum(times))[count])

    return np.asarray(np.diff(passed(began) - passed(ended)))


def _row_height(warps: int) -> float:
    return float(min(14, max(5, 320 // max(warps, 1))))


def _area(part: NDArray[np.float64], y: float, ink: str, right: float) -> str:
    """A track: the busier, the higher."""
    width, base = (right - _LEFT) / len(part), y + _TRACK - 5
    heights = part * (_TRACK - 8)
    steps = "".join(f"V{base - high:.1f}h{width:.2f}" for high in heights.tolist())
    return (
        f'<path d="M{_LEFT} {base:.1f}{steps}V{base:.1f}z" fill="{ink}" fill-opacity="0.55"/>'
        f'<path d="M{_LEFT} {base:.1f}H{right}" stroke="{ink}" stroke-opacity="0.25"/>'
    )


def _legend(reasons: list[str], y: float, right: float) -> tuple[list[str], float]:
    parts, x = [], float(_LEFT)
    for reason in reasons:
        room = 26 + 6.6 * len(reason)
        if x + room > right:
            x, y = float(_LEFT), y + 20
        parts.append(
            f'<rect x="{x:g}" y="{y - 10:g}" width="12" height="12" fill="{palette.stall(reason)}"/>'
        )
        parts.append(svg_text(x + 17, y, reason))
        x += room + 10
    return parts, y + 14
