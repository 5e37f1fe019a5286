"""What happens at the mbarriers of a simulated kernel, step by step, and timelines of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, NamedTuple

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
    address: int  # of the mbarrier


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
        words = self._machine.shared_of(0)[unfinished.address : unfinished.address + 8].view(np.uint64)
        pending, _, tx, parity = (int(field[0]) for field in BarrierState.of(words))
        barrier = self._barriers.setdefault(unfinished.address, len(self._barriers))
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
        step = BarrierStep(
            unfinished.kind,
            barrier,
            threads=threads,
            warp=first // 32,
            amount=amount,
            pending=pending,
            bytes=tx,
            phase=phase,
        )
        self._last[barrier] = step
        self.steps.append(step)

    def _begin(self, kind: str, threads: NDArray[Any], addresses: int | NDArray[Any]) -> None:
        """Note a step at each of the mbarriers that the threads use."""
        self.end()
        by_thread = np.broadcast_to(addresses, len(threads))
        for address in dict.fromkeys(by_thread.tolist()):
            self._unfinished.append(_UnfinishedStep(kind, threads[by_thread == address], address))


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


class _Row(NamedTuple):
    """A row of the picture of a ring; the producer and the consumers have one each, as if at stage 0."""

    kind: Literal["producer", "stage", "full", "empty", "consumers"]
    stage: int
    name: str


class _Begun(NamedTuple):
    """A span that has not ended, with its text for where it turns out short."""

    span: Span
    short: str


def ring_grid(steps: Sequence[BarrierStep], stages: int) -> Grid:
    """Steps at the mbarriers of a ring: who is busy, what is in each stage, the phases of its mbarriers.

    The mbarriers are initialised in the order full[0], empty[0], full[1], empty[1], ...
    """
    phases = [0] * 2 * stages
    shown = []  # the steps with their barrier's phase before
    for step in steps:
        if step.kind not in ("init", "complete_tx") or step.phase > phases[step.barrier]:
            shown.append((step, phases[step.barrier]))
        phases[step.barrier] = step.phase
    rows = [_Row("producer", 0, "producer loads")]
    for stage in range(stages):
        rows.append(_Row("stage", stage, f"stage {stage}"))
        rows.append(_Row("full", stage, f"full[{stage}]"))
        rows.append(_Row("empty", stage, f"empty[{stage}]"))
    rows.append(_Row("consumers", 0, "consumers read"))
    row_of = {(row.kind, row.stage): number for number, row in enumerate(rows)}
    producer, consumers = row_of["producer", 0], row_of["consumers", 0]
    time = -(-len(shown) // 6) * 6
    spans: list[Span] = []
    begun: dict[int, _Begun] = {}  # by row; each lasts until the next

    def begin(
        row: int, at: int, text: str, lane: int, tooltip: str, state: State = "plain", short: str = ""
    ) -> None:
        end(row, at)
        begun[row] = _Begun(Span(row, at, time, text, lane, tooltip, state), short or text)

    def end(row: int, at: int) -> None:
        if row in begun:
            span, short = begun.pop(row)
            text = span.text if at - span.start > 3 else short
            spans.append(span._replace(stop=at, text=text))

    def show_phase(row: int, at: int, phase: int) -> None:
        begin(row, at, str(phase % 2), PARITY_LANES[phase % 2], f"phase {phase}: parity {phase % 2}")

    for number, row in enumerate(rows):
        if row.kind in ("full", "empty"):
            show_phase(number, 0, 0)
    loads = reads = -1  # the tile that was last begun
    for at, (step, phase) in enumerate(shown):
        stage, remainder = divmod(step.barrier, 2)
        is_empty = remainder == 1
        stage_row = row_of["stage", stage]
        barrier_row = row_of["empty" if is_empty else "full", stage]
        asked_for = f"{rows[barrier_row].name}, parity {step.parity}"
        if step.kind == "waits":
            begin(consumers if step.warp else producer, at, "", 1, f"waits for {asked_for}", "dim")
        elif step.kind == "passes" and is_empty:
            loads += 1
            tooltip = f"has passed {asked_for}: loads tile {loads}"
            begin(producer, at, str(loads), _tile_lane(loads), tooltip)
        elif step.kind == "passes":
            reads += 1
            tooltip = f"have passed {asked_for}: read tile {reads}"
            begin(consumers, at, f"× {reads}", _tile_lane(reads), tooltip)
        elif step.kind == "arrive.expect_tx":
            begin(stage_row, at, "", _tile_lane(loads), f"tile {loads} is on its way", "dim")
        elif step.kind == "arrive" and is_empty:
            end(consumers, at + 1)
        if step.phase > phase:
            show_phase(barrier_row, at + 1, step.phase)
            if is_empty:
                end(stage_row, at + 1)
            else:
                text, tooltip = f"tile {loads}", f"tile {loads} is there"
                begin(stage_row, at + 1, text, _tile_lane(loads), tooltip, short=str(loads))
                end(producer, at + 1)
    for number in list(begun):
        end(number, time)
    idle = {row.name: "free" if row.kind == "stage" else "has nothing to do" for row in rows}
    grid = over_time(spans, idle, [str(first) for first in range(0, time, 6)], 6)
    rules = tuple(number for number, row in enumerate(rows) if row.kind in ("stage", "consumers"))
    return replace(grid, axes=("", "step"), row_rules=rules)


def _tile_lane(tile: int) -> int:
    """The lane whose colour a tile has."""
    return 4 * (tile % 8) + 2
