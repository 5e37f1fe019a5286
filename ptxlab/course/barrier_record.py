"""What happens at the mbarriers of a simulated kernel, step by step, and timelines of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..simulator import Observer
from ..simulator.events import Access, Inspection, Synchronisation
from ..simulator.instructions.mbarrier_builders import BarrierState
from ..views import Cell, Grid, Header
from ..views.grid import State, named_headers
from .spans import Span, over_time

# -- the record ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BarrierStep:
    """What threads or a copy do at one mbarrier; mbarriers are numbered in the order of their initialisation.

    `kind` is the instruction, `complete_tx` for a copy; a wait "waits" or "passes". `amount` counts arrivals,
    or bytes. `pending`, `bytes` and `phase` (0, 1, 2, ...) are those of the mbarrier afterwards.
    """

    kind: str
    barrier: int
    threads: int
    warp: int
    amount: int
    pending: int
    bytes: int
    phase: int

    @property
    def parity(self) -> int:
        """The parity that a wait asked for; for other steps, that of the phase."""
        return (self.phase + (self.kind == "passes")) % 2


class _UnfinishedStep(NamedTuple):
    """A step whose effect on the mbarrier is not known yet."""

    kind: str
    threads: NDArray[Any]  # indices into the batch
    place: int  # of the mbarrier


class BarrierRecord(Observer):
    """Keeps what threads and copies do at the mbarriers of a launch of one block, in order."""

    def __init__(self) -> None:
        self.steps: list[BarrierStep] = []
        self._machine: Inspection | None = None
        self._unfinished: list[_UnfinishedStep] = []  # at different mbarriers
        self._barriers: dict[int, int] = {}  # by address
        self._last: dict[int, BarrierStep] = {}  # by barrier
        self._waiting: set[tuple[int, int]] = set()  # first threads, and where they wait

    def attach(self, machine: Inspection) -> None:
        """Remember whose shared memory this is."""
        self._machine = machine

    def synchronised(self, event: Synchronisation) -> None:
        """Threads arrive, or pass a wait."""
        name, _, kind = event.kind.partition(".")
        parts = event.instruction.parts
        if name != "mbarrier" or kind == "phase" or (kind == "expect_tx" and "arrive" in parts):
            return
        if kind == "arrive" and "expect_tx" in parts:
            kind = "arrive.expect_tx"
        if kind == "wait":
            self._unfinished = []  # it was recorded as a wait
            kind = "passes"
        self._begin(kind, event.threads, event.key)

    def accessed(self, access: Access) -> None:
        """A copy brings bytes, or threads check whether a phase has ended."""
        if access.kind == "mbarrier" and access.instruction.parts[0] == "cp":
            self._begin("complete_tx", access.threads, access.addresses)
        elif access.proxy == "mbarrier":
            self._begin("waits", access.threads, access.addresses)

    def end(self) -> None:
        """Keep the last steps; a simulation that stops does not get here by itself."""
        unfinished, self._unfinished = self._unfinished, []
        for step in unfinished:
            self._keep(step)

    def _keep(self, unfinished: _UnfinishedStep) -> None:
        if self._machine is None:
            return
        words = self._machine.shared_of(0)[unfinished.place : unfinished.place + 8].view(np.uint64)
        pending, _, tx, parity = (int(field[0]) for field in BarrierState.of(words))
        barrier = self._barriers.setdefault(unfinished.place, len(self._barriers))
        first, threads = int(unfinished.threads[0]), len(unfinished.threads)
        if unfinished.kind == "waits" and (first, barrier) in self._waiting:
            return  # it was woken up, and waits again
        if unfinished.kind == "waits":
            self._waiting.add((first, barrier))
        elif unfinished.kind == "passes":
            self._waiting.discard((first, barrier))
        before = self._last.get(barrier)
        phase, amount = 0, threads
        if before is not None:
            phase = before.phase + (before.phase % 2 != parity)
            amount = abs(tx - before.bytes) if unfinished.kind.endswith("_tx") else threads
        step = BarrierStep(unfinished.kind, barrier, threads, first // 32, amount, pending, tx, phase)
        self._last[barrier] = step
        self.steps.append(step)

    def _begin(self, kind: str, threads: NDArray[Any], places: int | NDArray[Any]) -> None:
        """Note a step at each of the mbarriers that the threads use."""
        self.end()
        each = np.broadcast_to(places, len(threads))
        for place in dict.fromkeys(each.tolist()):
            self._unfinished.append(_UnfinishedStep(kind, threads[each == place], place))


# -- timelines -----------------------------------------------------------------------------------------------

PARITY_LANES = (8, 25)  # the lane whose colour a phase has, by its parity
_COPIES = {2048: "A", 256: "B"}


def _words(step: BarrierStep) -> tuple[str, ...]:
    """Who does what, in a narrow column."""
    who = f"thread {32 * step.warp}" if step.threads == 1 else f"all {step.threads}"
    if step.kind == "init":
        return who, f"init {step.pending}", "", ""
    if step.kind == "arrive.expect_tx":
        return who, "arrive.", "expect_tx", str(step.amount)
    if step.kind == "complete_tx":
        return f"TMA: {_COPIES.get(step.amount, '')}", "complete_", "tx", str(step.amount)
    if step.kind == "arrive":
        return who, "arrive", "", ""
    return who, f"wait({step.parity})", step.kind, ""


def barrier_grid(steps: Sequence[BarrierStep], shown: int) -> Grid:
    """The steps at one mbarrier from left to right, and what it holds after each of the first `shown`."""
    shape = (3, len(steps))
    hover = np.full(shape, "", dtype=object)
    cells = []
    for column, step in enumerate(steps[:shown]):
        hover[:, column] = (
            f"{' '.join(_words(step))}\nafterwards {step.pending} arrivals and {step.bytes} bytes are "
            f"pending in phase {step.phase}"
        )
        for row, number in enumerate((step.pending, step.bytes)):
            heat = None if number == 0 else -0.35
            cells.append(
                Cell(row, column, 1, 1, (str(number),), heat=heat, state="plain" if number else "dim")
            )
    column = 0
    for phase, same in groupby(step.phase for step in steps[:shown]):
        width = len(list(same))
        text = f"phase {phase}" if width == 1 else f"phase {phase}: parity {phase % 2}"
        cells.append(Cell(2, column, 1, width, (text,), PARITY_LANES[phase % 2]))
        column += width
    for row in range(3):
        cells += [Cell(row, column, 1, 1, (), role="blank") for column in range(shown, len(steps))]
    names = named_headers(("arrivals pending", "bytes pending", "phase"))
    heads = tuple(Header(at, 1, (str(at + 1), *_words(step))) for at, step in enumerate(steps))
    return Grid(shape, tuple(cells), hover, names, heads, axes=("", "step"))


def ring_grid(steps: Sequence[BarrierStep], stages: int) -> Grid:
    """Steps at the mbarriers of a ring: who is busy, what is in each stage, the phases of its mbarriers."""
    phases = [0] * 2 * stages
    shown = []  # the steps with their barrier's phase before
    for step in steps:
        if step.kind not in ("init", "complete_tx") or step.phase > phases[step.barrier]:
            shown.append((step, phases[step.barrier]))
        phases[step.barrier] = step.phase
    names = [
        name for stage in range(stages) for name in (f"stage {stage}", f"full[{stage}]", f"empty[{stage}]")
    ]
    names = ["producer loads", *names, "consumers read"]
    time = -(-len(shown) // 6) * 6
    spans: list[Span] = []
    begun: dict[int, Span] = {}  # by row; each lasts until the next

    def begin(row: int, at: int, text: str, lane: int, tooltip: str, state: State = "plain") -> None:
        end(row, at)
        begun[row] = Span(row, at, time, text, lane, tooltip, state)

    def end(row: int, at: int) -> None:
        if row in begun:
            span = begun.pop(row)
            text = span.text if at - span.start > 3 else span.text.removeprefix("tile ")
            spans.append(span._replace(stop=at, text=text))

    def show_phase(row: int, at: int, phase: int) -> None:
        begin(row, at, str(phase % 2), PARITY_LANES[phase % 2], f"phase {phase}: parity {phase % 2}")

    for row, name in enumerate(names):
        if name.startswith(("full", "empty")):
            show_phase(row, 0, 0)
    loads = reads = -1  # the tile that was last begun
    last = len(names) - 1
    for at, (step, phase) in enumerate(shown):
        stage, is_empty = divmod(step.barrier, 2)
        row = 1 + 3 * stage
        asked_for = f"{names[row + 1 + is_empty]}, parity {step.parity}"
        if step.kind == "waits":
            begin(last if step.warp else 0, at, "", 1, f"waits for {asked_for}", "dim")
        elif step.kind == "passes" and is_empty:
            loads += 1
            begin(0, at, str(loads), _tile_lane(loads), f"has passed {asked_for}: loads tile {loads}")
        elif step.kind == "passes":
            reads += 1
            begin(last, at, f"× {reads}", _tile_lane(reads), f"have passed {asked_for}: read tile {reads}")
        elif step.kind == "arrive.expect_tx":
            begin(row, at, "", _tile_lane(loads), f"tile {loads} is on its way", "dim")
        elif step.kind == "arrive" and is_empty:
            end(last, at + 1)
        if step.phase > phase:
            show_phase(row + 1 + is_empty, at + 1, step.phase)
            if is_empty:
                end(row, at + 1)
            else:
                begin(row, at + 1, f"tile {loads}", _tile_lane(loads), f"tile {loads} is there")
                end(0, at + 1)
    for row in list(begun):
        end(row, time)
    idle = {name: "free" if name.startswith("stage") else "has nothing to do" for name in names}
    grid = over_time(spans, idle, [str(first) for first in range(0, time, 6)], 6)
    rules = tuple(row for row, name in enumerate(names) if name.startswith(("stage", "consumers")))
    return replace(grid, axes=("", "step"), row_rules=rules)


def _tile_lane(tile: int) -> int:
    """The lane whose colour a tile has."""
    return 4 * (tile % 8) + 2
