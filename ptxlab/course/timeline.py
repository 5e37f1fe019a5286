"""One asynchronous product as a timeline: what each fence is for, and what is undefined without it.

PTX ISA, "Async Proxy" and "Asynchronous wgmma Proxy Operations". A program is a tuple of steps in order; the
synchronising ones can be moved and left out. `timeline_widget` lets readers do that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Literal

import numpy as np

from ..errors import PtxlabError, counted, listing, quoted
from ..views import Cell, Grid, Picture
from ..views.grid import headers, named_headers

#: What each step is for, in the order of a correct kernel.
STEPS = {
    "st.shared B": "every thread writes its part of B to shared memory",
    "fence.proxy.async": "makes a thread's ordinary writes visible to the async proxy, through which wgmma "
    "reads",
    "bar.sync": "__syncthreads(): waits until all threads have come this far",
    "mov d": "every thread sets its registers of D",
    "wgmma.fence": "orders earlier accesses to the registers of A and D before those of wgmma",
    "wgmma.mma_async": "starts D = A B + D, and returns immediately",
    "wgmma.commit_group": "puts the products started so far into a group",
    "other work": "for example, load the next tile",
    "wgmma.wait_group 0": "waits until all groups are complete",
    "wgmma.wait_group 1": "waits until at most the most recent group is still pending",
    "read d": "the threads use the result",
}
_WAITS = ("wgmma.wait_group 0", "wgmma.wait_group 1")
#: What a correct kernel does.
PROGRAM: tuple[str, ...] = tuple(name for name in STEPS if name != _WAITS[1])
#: The steps that stay where they are; the others only synchronise.
WORK = ("st.shared B", "mov d", "wgmma.mma_async", "read d")

#: What a resource is at a step: not used yet, the threads' own, handed over to the tensor core, in use by it,
#: the threads' again, or undefined from here on.
State = Literal["", "threads", "handed over", "in use", "result", "undefined"]
_CORE, _B, _D = "tensor core", "B in shared memory", "registers of D"


def narrow_lines(step: str) -> tuple[str, ...]:
    """The name of a step as it is written in a narrow column.

    >>> narrow_lines("wgmma.wait_group 0")
    ('wgmma.', 'wait_', 'group 0')
    """
    lines = [""]
    for part in re.findall(r"[^._ ]+[._ ]?", step):
        if len(lines[-1] + part.rstrip()) > 8:
            lines.append("")
        lines[-1] += part
    return tuple(line.rstrip() for line in lines)


@dataclass(frozen=True)
class Problem:
    """What is undefined, at which step, and why."""

    step: str
    resource: str
    reason: str


class ProgramTimeline:
    """A program with the state of every resource at every step, and what is undefined.

    >>> ProgramTimeline().problems
    ()
    >>> [(problem.step, problem.resource) for problem in ProgramTimeline().without("wgmma.fence").problems]
    [('wgmma.mma_async', 'registers of D')]
    """

    def __init__(self, program: Sequence[str] = PROGRAM) -> None:
        self.program = _checked(program)
        self._at = {step: at for at, step in enumerate(self.program)}
        self._start, self._read = self._at["wgmma.mma_async"], self._at["read d"]
        self._wait = next((at for step, at in self._at.items() if step in _WAITS), None)
        self.problems: tuple[Problem, ...] = tuple(self._found_problems())

    def _orders(self, step: str, first: str) -> bool:
        """Whether a step comes between one that prepares and the product."""
        return step in self._at and self._at[first] < self._at[step] < self._start

    @property
    def end(self) -> int | None:
        """The wait after which the product is complete; None if none waits for it."""
        commit = self._at.get("wgmma.commit_group")
        if commit is None or self._wait is None or self.program[self._wait] != _WAITS[0]:
            return None
        return self._wait if self._start < commit < self._wait else None

    # -- what is undefined -------------------------------------------------------------------------------

    def _found_problems(self) -> Iterator[Problem]:
        fenced, met = (self._orders(step, "st.shared B") for step in ("fence.proxy.async", "bar.sync"))
        met_first = fenced and met and self._at["bar.sync"] < self._at["fence.proxy.async"]
        undefined = {
            "No fence.proxy.async between the writes and the product: wgmma reads shared memory through "
            "the async proxy, and may see what was there before.": (_B, not fenced),
            "No bar.sync between the writes and the product: other threads may not have written their "
            "part of B yet.": (_B, not met),
            "bar.sync comes before fence.proxy.async: a warp may start the product while another has "
            "not reached its fence. Each thread fences its own writes first; then all of "
            "them meet.": (_B, met_first),
            "No wgmma.fence between mov and the product: it is not defined whether wgmma finds the old "
            "or the new registers of D.": (_D, not self._orders("wgmma.fence", "mov d")),
        }
        for reason, (what, is_undefined) in undefined.items():
            if is_undefined:
                yield Problem("wgmma.mma_async", what, reason)
        if self.end is None or self.end > self._read:
            yield Problem("read d", _D, self._why_too_early())

    def _why_too_early(self) -> str:
        """Why d may be read before the product is complete."""
        commit, wait = self._at.get("wgmma.commit_group"), self._wait
        if wait is None:
            return "Nothing waits for the product: it may still be running when d is read."
        if wait > self._read:
            return "The wait comes after the read: the product may still be running when d is read."
        if wait < self._start:
            return "The wait comes before the product, and so waits for nothing."
        if commit is None:
            return "wait_group waits for groups only, and nothing puts the product into a group."
        if commit < self._start:
            return (
                "commit_group comes before the product, and makes an empty group: the product is in none, "
                "and wait_group waits for groups only."
            )
        if commit > wait:
            return "The wait comes before commit_group: at that time the product is not in a group yet."
        return "wait_group 1 lets the most recent group go on, and the product is in the most recent one."

    # -- other programs ----------------------------------------------------------------------------------

    def moved(self, step: str, to: int) -> ProgramTimeline:
        """With a step before the one that is number `to` now; work keeps its order.

        >>> ProgramTimeline().moved("wgmma.commit_group", 0).problems[0].reason[:44]
        'commit_group comes before the product, and m'
        """
        before, after = (
            [other for other in part if other != step] for part in (self.program[:to], self.program[to:])
        )
        return ProgramTimeline([*before, step, *after])

    def without(self, step: str) -> ProgramTimeline:
        """With a step left out."""
        return ProgramTimeline([other for other in self.program if other != step])

    def put_back(self, step: str) -> ProgramTimeline:
        """With a step that was left out where a correct kernel has it."""
        later = PROGRAM[PROGRAM.index(step) + 1 :]
        return self.moved(step, next(at for at, other in enumerate(self.program) if other in later))

    def other_wait(self) -> ProgramTimeline:
        """With wait_group 1 instead of 0, or the other way round."""
        swapped = dict(zip(_WAITS, _WAITS[::-1], strict=True))
        return ProgramTimeline([swapped.get(step, step) for step in self.program])

    @property
    def left_out(self) -> tuple[str, ...]:
        """The steps of a correct kernel that are not in the program."""
        there = (*self.program, *_WAITS) if self._wait is not None else self.program
        return tuple(step for step in PROGRAM if step not in there)

    # -- what is seen ------------------------------------------------------------------------------------

    @property
    def rows(self) -> dict[str, tuple[State, ...]]:
        """The state of every resource at every step."""
        steps = range(len(self.program))
        fences = ("fence.proxy.async", "bar.sync")
        return {
            _CORE: tuple("in use" if self._running(at) else "" for at in steps),
            _B: tuple(self._state(at, _B, "st.shared B", fences) for at in steps),
            _D: tuple(self._state(at, _D, "mov d", ("wgmma.fence",)) for at in steps),
        }

    def _running(self, at: int) -> bool:
        """Whether the tensor core may be at work."""
        return self._start <= at and (self.end is None or at <= self.end)

    def _state(self, at: int, resource: str, first: str, handovers: tuple[str, ...]) -> State:
        """Whose a resource is at a step, if threads set it in step `first` and hand it over by others."""
        if at < self._at[first]:
            return ""
        here = [problem for problem in self.problems if problem.step == self.program[at]]
        read_anyway = resource == _D and at == self._read and self.problems
        if read_anyway or any(problem.resource == resource for problem in here):
            return "undefined"
        if self._running(at):
            return "in use"
        if at > self._start:
            return "result"
        handed_over = all(self._at[first] < self._at.get(step, at + 1) <= at for step in handovers)
        return "handed over" if handed_over else "threads"

    @property
    def verdict(self) -> str:
        """What becomes of the program, in one sentence."""
        if self.problems:
            return f"Undefined behaviour, for {counted(len(self.problems), 'reason')}."
        other = self._at.get("other work", -1)
        if self.end is not None and self._start < other < self.end:
            return "Defined: every access is ordered, and the other work runs beside the product."
        return "Defined: every access is ordered. But the threads do no work while the product runs."


def _checked(program: Sequence[str]) -> tuple[str, ...]:
    steps = tuple(program)
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        raise PtxlabError(f"program: found {quoted(unknown[0])}; its steps are {listing(STEPS)}")
    if tuple(step for step in steps if step in WORK) != WORK:
        raise PtxlabError(f"program: {listing(WORK)} must be there once each, in this order")
    if len(set(steps)) != len(steps) or len([step for step in steps if step in _WAITS]) > 1:
        raise PtxlabError("program: found a step twice; each is there at most once")
    return steps


#: What is written on a resource in a state: whose it is.
_TEXTS: dict[State, str] = {
    "": "",
    "threads": "threads",
    "handed over": "handed over",
    "in use": "tensor core",
    "result": "threads",
    "undefined": "✗ undefined",
}
_SPECIAL_TEXTS = {
    (_CORE, "in use"): "may be running",
    (_B, "result"): "was read",  # by this warp: others may still need it
}
#: The lane whose colour a state has.
STATE_LANES = {"threads": 8, "handed over": 25, "in use": 29, "result": 8, "undefined": 14}


def picture(program: Sequence[str] = PROGRAM) -> Picture:
    """The timeline as a figure: steps from left to right, and below them who may use what.

    >>> [cell.text for cell in picture().grids[0].cells if cell.row == 3][-2:]
    ['tensor core', 'threads']
    """
    timeline = ProgramTimeline(program)
    shape = (4, len(timeline.program))
    hover = np.full(shape, "", dtype=object)
    cells = []
    for column, name in enumerate(timeline.program):
        lane = 1 if name in WORK else None
        cells.append(Cell(0, column, 1, 1, narrow_lines(name), lane, role="other"))
        hover[0, column] = f"{name}\n{STEPS[name]}"
    for row, (resource, states) in enumerate(timeline.rows.items(), start=1):
        for start, width, state, text in runs_of(resource, states):
            lines = tuple(text.split()) if width == 1 else tuple(filter(None, (text,)))
            cells.append(Cell(row, start, 1, width, lines, STATE_LANES.get(state)))
            hover[row, start : start + width] = f"{resource}: {text or 'not in use'}"
    names, numbers = named_headers(("program", *timeline.rows)), headers(shape[1], 1)
    grid = Grid(shape, tuple(cells), hover, names, numbers, axes=("", "time"), row_rules=(1,))
    sentences = [timeline.verdict, *(problem.reason for problem in timeline.problems)]
    notes = tuple(sentence.removesuffix(".") for sentence in sentences)
    return Picture("One wgmma, step by step: who may use what", notes, (grid,))


def runs_of(resource: str, states: Sequence[State]) -> list[tuple[int, int, State, str]]:
    """Start, length, state and text of every run of equal states."""
    runs: list[tuple[int, int, State, str]] = []
    start = 0
    for state, equal in groupby(states):
        width = len(list(equal))
        runs.append((start, width, state, _SPECIAL_TEXTS.get((resource, state), _TEXTS[state])))
        start += width
    return runs


def static_html() -> str:
    """What a page without a kernel shows: the correct program, and what is undefined without each step."""
    rows = [
        f"<tr><td><code>{step}</code></td><td>{escape(problem.reason)}</td></tr>"
        for step in PROGRAM
        if step not in WORK
        for problem in ProgramTimeline().without(step).problems
    ]
    head = "<tr><th>left out</th><th>what is undefined then</th></tr>"
    return f"{picture()._repr_html_()}<table>{head}{''.join(rows)}</table>"
