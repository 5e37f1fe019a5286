"""One asynchronous product as a timeline: what each fence is for, and what is undefined without it.

PTX ISA, "Async Proxy" and "Asynchronous wgmma Proxy Operations". A program is a tuple of steps in order; the
synchronising ones can be moved and left out. `timeline_widget` lets readers do that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy as np

from ..errors import PtxlabError, listing, quoted
from ..views import Cell, Grid, Header, Picture


@dataclass(frozen=True)
class ProgramStep:
    """One line of the program; `movable` ones only synchronise."""

    name: str
    lines: tuple[str, ...]  # as it is written in a narrow column
    purpose: str
    movable: bool = False


#: The steps in the order of a correct kernel.
STEPS: dict[str, ProgramStep] = {
    step.name: step
    for step in (
        ProgramStep("st.shared B", ("st.shared", "B"), "every thread writes its part of B to shared memory"),
        ProgramStep(
            "fence.proxy.async",
            ("fence.", "proxy.", "async"),
            "makes a thread's ordinary writes visible to the async proxy, through which wgmma reads",
            movable=True,
        ),
        ProgramStep(
            "bar.sync",
            ("bar.sync",),
            "__syncthreads(): waits until all threads have come this far",
            movable=True,
        ),
        ProgramStep("mov d", ("mov d",), "every thread sets its registers of D"),
        ProgramStep(
            "wgmma.fence",
            ("wgmma.", "fence"),
            "orders earlier accesses to the registers of A and D before those of wgmma",
            movable=True,
        ),
        ProgramStep("wgmma.mma_async", ("wgmma.", "mma_async"), "starts D = A B + D, and returns at once"),
        ProgramStep(
            "wgmma.commit_group",
            ("wgmma.", "commit_", "group"),
            "puts the products started so far into a group",
            movable=True,
        ),
        ProgramStep("other work", ("other", "work"), "for example, load the next tile", movable=True),
        ProgramStep(
            "wgmma.wait_group 0",
            ("wgmma.", "wait_", "group 0"),
            "waits until all groups are complete",
            movable=True,
        ),
        ProgramStep(
            "wgmma.wait_group 1",
            ("wgmma.", "wait_", "group 1"),
            "waits until at most the most recent group is still pending",
            movable=True,
        ),
        ProgramStep("read d", ("read d",), "the threads use the result"),
    )
}
_WAITS = ("wgmma.wait_group 0", "wgmma.wait_group 1")
#: What a correct kernel does.
PROGRAM: tuple[str, ...] = tuple(name for name in STEPS if name != "wgmma.wait_group 1")
_WORK = tuple(name for name in PROGRAM if not STEPS[name].movable)

#: What a resource is at a step: not used yet, the threads' own, handed over to the tensor core, in use by it,
#: the threads' again, or undefined from here on.
State = Literal["", "threads", "handed over", "in use", "result", "undefined"]
_ROWS = ("tensor core", "B in shared memory", "registers of D")


@dataclass(frozen=True)
class Problem:
    """What is undefined, at which step, and why."""

    step: str
    resource: str
    reason: str


class Timeline:
    """A program with the state of every resource at every step, and what is undefined.

    >>> Timeline().problems
    ()
    >>> without_fence = [step for step in PROGRAM if step != "wgmma.fence"]
    >>> [(problem.step, problem.resource) for problem in Timeline(without_fence).problems]
    [('wgmma.mma_async', 'registers of D')]
    """

    def __init__(self, program: Sequence[str] = PROGRAM) -> None:
        self.program = _checked(program)
        self.problems: tuple[Problem, ...] = (
            *self._unordered_b(),
            *self._unordered_registers(),
            *self._early_read(),
        )

    def _at(self, step: str) -> int | None:
        return self.program.index(step) if step in self.program else None

    def _between(self, step: str, first: str, last: str) -> bool:
        """Whether a step comes after one and before another."""
        at = self._at(step)
        return at is not None and self.program.index(first) < at < self.program.index(last)

    @property
    def end(self) -> int | None:
        """The wait after which the product is complete; None if none waits for it."""
        start, commit, wait = self._at("wgmma.mma_async"), self._at("wgmma.commit_group"), self._wait()
        if start is None or commit is None or wait is None or self.program[wait] != _WAITS[0]:
            return None
        return wait if start < commit < wait else None

    def _wait(self) -> int | None:
        return next((at for at, step in enumerate(self.program) if step in _WAITS), None)

    # -- what is undefined -------------------------------------------------------------------------------

    def _unordered_b(self) -> list[Problem]:
        span = "st.shared B", "wgmma.mma_async"
        fenced, met = (self._between(step, *span) for step in ("fence.proxy.async", "bar.sync"))
        reasons = []
        if not fenced:
            reasons.append(
                "No fence.proxy.async between the writes and the product: wgmma reads shared memory through "
                "the async proxy, and may see what was there before."
            )
        if not met:
            reasons.append(
                "No bar.sync between the writes and the product: other threads may not have written their "
                "part of B yet."
            )
        if fenced and met and self.program.index("bar.sync") < self.program.index("fence.proxy.async"):
            reasons.append(
                "bar.sync comes before fence.proxy.async: a warp may start the product while another has "
                "not reached its fence. Each thread fences its own writes first; then all of them meet."
            )
        return [Problem("wgmma.mma_async", "B in shared memory", reason) for reason in reasons]

    def _unordered_registers(self) -> list[Problem]:
        if self._between("wgmma.fence", "mov d", "wgmma.mma_async"):
            return []
        reason = (
            "No wgmma.fence between mov and the product: it is not defined whether wgmma finds the old or "
            "the new registers of D."
        )
        return [Problem("wgmma.mma_async", "registers of D", reason)]

    def _early_read(self) -> list[Problem]:
        start, end, read = (self.program.index("wgmma.mma_async"), self.end, self.program.index("read d"))
        if end is not None and end < read:
            return []
        commit, wait = self._at("wgmma.commit_group"), self._wait()
        if wait is None:
            reason = "Nothing waits for the product: it may still be running when d is read."
        elif wait > read:
            reason = "The wait comes after the read: the product may still be running when d is read."
        elif wait < start:
            reason = "The wait comes before the product, and so waits for nothing."
        elif commit is None:
            reason = "wait_group waits for groups only, and nothing puts the product into a group."
        elif commit < start:
            reason = (
                "commit_group comes before the product, and makes an empty group: the product is in none, "
                "and wait_group waits for groups only."
            )
        elif commit > wait:
            reason = "The wait comes before commit_group: at that time the product is not in a group yet."
        else:
            reason = (
                "wait_group 1 lets the most recent group go on, and the product is in the most recent one."
            )
        return [Problem("read d", "registers of D", reason)]

    # -- other programs ----------------------------------------------------------------------------------

    def moved(self, step: str, to: int) -> Timeline:
        """With a step before the one that is number `to` now; work keeps its order.

        >>> Timeline().moved("wgmma.commit_group", 0).problems[0].reason[:44]
        'commit_group comes before the product, and m'
        """
        at = self._movable(step)
        rest = [*self.program[:at], *self.program[at + 1 :]]
        rest.insert(to - 1 if to > at else to, step)
        return Timeline(rest)

    def without(self, step: str) -> Timeline:
        """With a step left out."""
        at = self._movable(step)
        return Timeline([*self.program[:at], *self.program[at + 1 :]])

    def put_back(self, step: str) -> Timeline:
        """With a step that was left out where a correct kernel has it."""
        if step not in self.left_out:
            raise PtxlabError(f"{quoted(step)} is not left out; {listing(self.left_out) or 'no step'} is")
        later = PROGRAM[PROGRAM.index(step) + 1 :]
        at = next(at for at, other in enumerate(self.program) if other in later)
        return Timeline([*self.program[:at], step, *self.program[at:]])

    def other_wait(self) -> Timeline:
        """With wait_group 1 instead of 0, or the other way round."""
        swapped = dict(zip(_WAITS, _WAITS[::-1], strict=True))
        return Timeline([swapped.get(step, step) for step in self.program])

    @property
    def left_out(self) -> tuple[str, ...]:
        """The steps of a correct kernel that are not in the program."""
        waits = self._wait() is not None
        return tuple(step for step in PROGRAM if step not in self.program and not (waits and step in _WAITS))

    def _movable(self, step: str) -> int:
        movable = [each for each in self.program if STEPS[each].movable]
        if step not in movable:
            raise PtxlabError(f"{quoted(step)} cannot be moved; {listing(movable)} can")
        return self.program.index(step)

    # -- what is seen ------------------------------------------------------------------------------------

    @property
    def rows(self) -> dict[str, tuple[State, ...]]:
        """The state of every resource at every step."""
        steps = range(len(self.program))
        return {
            "tensor core": tuple("in use" if self._running(at) else "" for at in steps),
            "B in shared memory": tuple(self._state_of_b(at) for at in steps),
            "registers of D": tuple(self._state_of_d(at) for at in steps),
        }

    def _running(self, at: int) -> bool:
        """Whether the tensor core may be at work."""
        end = self.end
        return self.program.index("wgmma.mma_async") <= at and (end is None or at <= end)

    def _undefined(self, at: int, resource: str) -> bool:
        return any(each.resource == resource and self.program[at] == each.step for each in self.problems)

    def _state_of_b(self, at: int) -> State:
        if at < self.program.index("st.shared B"):
            return ""
        if self._undefined(at, "B in shared memory"):
            return "undefined"
        if self._running(at):
            return "in use"
        if at > self.program.index("wgmma.mma_async"):
            return "result"
        handed = [self._at(step) for step in ("fence.proxy.async", "bar.sync")]
        first = self.program.index("st.shared B")
        return "handed over" if all(h is not None and first < h <= at for h in handed) else "threads"

    def _state_of_d(self, at: int) -> State:
        if at < self.program.index("mov d"):
            return ""
        if self._undefined(at, "registers of D") or (self.program[at] == "read d" and self.problems):
            return "undefined"
        if self._running(at):
            return "in use"
        if at > self.program.index("wgmma.mma_async"):
            return "result"
        fence = self._at("wgmma.fence")
        handed = fence is not None and self.program.index("mov d") < fence <= at
        return "handed over" if handed else "threads"

    @property
    def verdict(self) -> str:
        """What becomes of the program, in one sentence."""
        if self.problems:
            count = len(self.problems)
            return f"Undefined behaviour, for {count} reason{'s' if count > 1 else ''}."
        end, other = self.end, self._at("other work")
        start = self.program.index("wgmma.mma_async")
        if other is not None and end is not None and start < other < end:
            return "Defined: every access is ordered, and the other work runs beside the product."
        return "Defined: every access is ordered. But the threads do no work while the product runs."


def _checked(program: Sequence[str]) -> tuple[str, ...]:
    steps = tuple(program)
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        raise PtxlabError(f"program: found {quoted(unknown[0])}; its steps are {listing(STEPS)}")
    if tuple(step for step in steps if step in _WORK) != _WORK:
        raise PtxlabError(f"program: {listing(_WORK)} must be there once each, in this order")
    if len(set(steps)) != len(steps) or len([step for step in steps if step in _WAITS]) > 1:
        raise PtxlabError("program: found a step twice; each is there at most once")
    return steps


_TEXTS: dict[State, str] = {
    "": "",
    "threads": "threads",
    "handed over": "handed over",
    "in use": "tensor core",
    "result": "threads",
    "undefined": "✗ undefined",
}


def _text(resource: str, state: State) -> str:
    """What is written on a resource in this state: whose it is."""
    if resource == "tensor core" and state == "in use":
        return "may be running"
    if resource == "B in shared memory" and state == "result":
        return "was read"  # by this warp: others may still need it
    return _TEXTS[state]


#: The lane whose colour a state has.
_HUES: dict[str, int] = {"threads": 8, "handed over": 25, "in use": 29, "result": 8, "undefined": 14}


def lane_of_state(state: str) -> int:
    """The lane whose colour a state has."""
    return _HUES[state]


def picture(program: Sequence[str] = PROGRAM) -> Picture:
    """The timeline as a figure: steps from left to right, and below them who may use what.

    >>> [cell.text for cell in picture().grids[0].cells if cell.row == 3][-2:]
    ['tensor core', 'threads']
    """
    timeline = Timeline(program)
    count = len(timeline.program)
    shape = (1 + len(_ROWS), count)
    hover = np.full(shape, "", dtype=object)
    cells = []
    for column, name in enumerate(timeline.program):
        step = STEPS[name]
        cells.append(Cell(0, column, 1, 1, step.lines, None if step.movable else 1, role="other"))
        hover[0, column] = f"{name}\n{step.purpose}"
    for row, (resource, states) in enumerate(timeline.rows.items(), start=1):
        for start, width, state, text in runs_of(resource, states):
            lines = tuple(text.split()) if width == 1 else tuple(filter(None, (text,)))
            cells.append(Cell(row, start, 1, width, lines, _HUES.get(state)))
            hover[row, start : start + width] = f"{resource}: {text or 'not in use'}"
    grid = Grid(
        shape,
        tuple(cells),
        hover,
        tuple(Header(row, 1, (name,)) for row, name in enumerate(("program", *_ROWS))),
        tuple(Header(column, 1, (str(column),)) for column in range(count)),
        axes=("", "time"),
        row_rules=(1,),
    )
    sentences = [timeline.verdict, *(problem.reason for problem in timeline.problems)]
    notes = tuple(sentence.removesuffix(".") for sentence in sentences)
    return Picture("One wgmma, step by step: who may use what", notes, (grid,))


def runs_of(resource: str, states: Sequence[State]) -> list[tuple[int, int, State, str]]:
    """Start, length, state and text of every run of equal states."""
    runs: list[tuple[int, int, State, str]] = []
    for at, state in enumerate(states):
        if runs and runs[-1][2] == state:
            start, width, _, text = runs[-1]
            runs[-1] = (start, width + 1, state, text)
        else:
            runs.append((at, 1, state, _text(resource, state)))
    return runs


def static_html() -> str:
    """What a page without a kernel shows: the correct program, and what is undefined without each step."""
    rows = []
    for name in PROGRAM:
        problems = Timeline([step for step in PROGRAM if step != name]).problems if _is_fence(name) else ()
        for problem in problems:
            rows.append(f"<tr><td><code>{name}</code></td><td>{escape(problem.reason)}</td></tr>")
    head = "<tr><th>left out</th><th>what is undefined then</th></tr>"
    return f"{picture()._repr_html_()}<table>{head}{''.join(rows)}</table>"


def _is_fence(name: str) -> bool:
    return STEPS[name].movable and name != "other work"
