"""Random programs are replayed as by the plain form: every warp issues in the same cycles."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ptxlab.simulator.timing import replay
from ptxlab.simulator.timing.replay import (
    BULK,
    BULK_STORE,
    COMMIT,
    COPY,
    EVENT,
    EXIT,
    LOAD,
    MEMORY,
    NO_SCOREBOARD,
    PLAIN,
    SHARED,
    STORE,
    TENSOR,
    UNITS,
    WAIT,
    WGMMA,
    Instructions,
    Rates,
    ReplayOutcome,
    SampleSteps,
    Shape,
    TimedInstruction,
    Touches,
    columns,
    run_program,
)
from ptxlab.simulator.timing.replay_plain import PlainTouch, Replay
from ptxlab.simulator.timing.stalls import BARRIER, MBARRIER
from tests.sampling import EXHAUSTIVE, covered_by

COUNT = 2000 if EXHAUSTIVE else 60
_ACCESSES = (SHARED, LOAD, STORE, COPY, BULK, BULK_STORE)
Steps = list[tuple[TimedInstruction, int]]


def random_instruction(rng: random.Random) -> TimedInstruction:
    """Of any kind; instructions that touch memory mostly do so through its unit."""
    kind = rng.choice((PLAIN, PLAIN, *_ACCESSES, WGMMA, COMMIT, WAIT))
    unit = rng.randrange(len(UNITS))
    if kind in _ACCESSES and rng.random() < 0.9:
        unit = MEMORY
    if kind == WGMMA:
        unit = TENSOR
    group = rng.randrange(3)
    amount = {WAIT: rng.randrange(-1, 4), WGMMA: rng.choice((8, 20.5))}.get(kind, 0)
    boards = [rng.choice((*range(6), NO_SCOREBOARD, NO_SCOREBOARD)) for _ in range(2)]
    return TimedInstruction(
        kind, unit, rng.choice((0, 1, 2, 8, 128)), rng.choice((0, 4, 23, 190)), rng.choice((0, 1, 2, 5, 13)),
        *boards, rng.choice((0, 0, 1, 2, 5, 63)), group, amount, rng.random() < 0.5,
    )  # fmt: skip


def random_touch(rng: random.Random, number: int) -> PlainTouch:
    sectors = rng.choice((0.0, 1.0, 4.0, 32.0, 512.0))
    l2 = rng.choice((0.0, sectors * 0.7))
    dram = rng.choice((0.0, sectors)) if l2 else 0.0
    return PlainTouch(rng.choice((1.0, 2.0, 32.0)), sectors, l2, dram, rng.randrange(-1, number))


class Launch:
    """A random launch: what its warps issue, and how many signals its events take."""

    def __init__(self, rng: random.Random) -> None:
        warps, sms, resident = rng.randrange(1, 10), rng.choice((1, 1, 1, 2)), rng.randrange(1, 4)
        self.shape = Shape(warps, sms, resident, rng.randrange(1, 3), rng.randrange(1, 9))
        self.touches: list[PlainTouch] = []
        self.instructions = [random_instruction(rng) for _ in range(rng.randrange(2, 12))]
        spread = rng.choice((0.0, 0.3))
        self.rates = Rates(
            285, 690, 380, rng.choice((0.2, 1.0)), 17.7, 12, 20, rng.choice((0, 160)), 400,
            rng.choice((1, 6)), 64, rng.choice((0, 256)), 2, spread, spread / 2, 0.25, 1, rng.choice((0, 1)),
        )  # fmt: skip
        self.sample = [
            [[self.run_of_warp(rng) for _ in range(warps)] for _ in range(sms)]
            for _ in range(self.shape.samples)
        ]
        self.events: list[int] = []
        for _ in range(rng.randrange(4)):
            self.add_event(rng)
        last = TimedInstruction(EXIT, interval=1, latency=1, stall=1), -1
        for cluster in self.sample:
            for block in cluster:
                for steps in block:
                    if rng.random() < 0.9 or not steps:
                        steps.append(last)

    def run_of_warp(self, rng: random.Random) -> Steps:
        steps: Steps = []
        for _ in range(rng.randrange(12)):
            instruction, number = rng.choice(self.instructions), -1
            if instruction.kind in _ACCESSES and rng.random() < 0.9:
                number = len(self.touches)
                self.touches.append(random_touch(rng, number))
            steps.append((instruction, number))
        return steps

    def add_event(self, rng: random.Random) -> None:
        """A barrier of a block, or an mbarrier at which some warps or their copies arrive and others wait."""
        event, rank = len(self.events), rng.randrange(self.shape.cluster)
        signals = 0
        kind = rng.choice((BARRIER, MBARRIER))
        arriving = {warp for warp in range(self.shape.warps) if kind == BARRIER or rng.random() < 0.5}
        waiting = {warp for warp in range(self.shape.warps) if kind == BARRIER or rng.random() < 0.5}
        late = kind == MBARRIER and rng.random() < 0.3
        for number, cluster in enumerate(self.sample):
            for warp, steps in enumerate(cluster[rank]):
                added: list[PlainTouch] = []
                if kind == BARRIER:
                    added = [PlainTouch(signals=(event,), waits=(event,))]
                else:
                    added += [PlainTouch(signals=(event,))] * (warp in arriving)
                    added += [PlainTouch(waits=(event,))] * (warp in waiting)
                place = len(steps)  # events in the same order in all warps, so that most launches end
                for touch in added:
                    amount = 1.0 if late and touch.signals else 0.0
                    event_step = TimedInstruction(EVENT, MEMORY, 1, 12, 2, group=kind, amount=amount)
                    steps.insert(place, (event_step, len(self.touches)))
                    self.touches.append(touch)
                    place += 1
                    signals += len(touch.signals) if number == 0 else 0
                steps += self.run_of_warp(rng)[:3]
        self.events.append(signals + (rng.random() < 0.03))  # one that nobody signals

    def plainly(self) -> tuple[float, list[tuple[float, int]]]:
        """By the plain form: cycles, and time and slot of what the first SM issues."""
        shape = self.shape
        plain = Replay(self.sample, self.touches, self.events, self.rates, shape.resident, shape.total)
        cycles, issued = plain.run()
        return cycles, [(time, slot) for time, sm, slot in issued if sm == 0]

    def fast(self) -> tuple[float, list[tuple[float, int]]]:
        """By `replay`."""
        rows: list[TimedInstruction] = []
        stream: list[tuple[int, int]] = []
        bounds: list[tuple[int, int]] = []
        for cluster in self.sample:
            for block in cluster:
                for steps in block:
                    bounds.append((len(stream), len(stream) + len(steps)))
                    for instruction, touch in steps:
                        stream.append((len(rows), touch))
                        rows.append(instruction)
        linked: list[int] = []
        links: list[tuple[int, int, int]] = []
        for record in self.touches:
            middle = len(linked) + len(record.signals)
            links.append((len(linked), middle, middle + len(record.waits)))
            linked += [*record.signals, *record.waits]
        touches = Touches(
            *columns([record[:5] for record in self.touches], float, float, float, float, int),
            *columns(links, int, int, int),
            np.array(linked, dtype=np.int64),
        )
        events = np.array([self.events] * self.shape.samples, dtype=np.int64).reshape(self.shape.samples, -1)
        program = SampleSteps(*columns(stream, int, int), *columns(bounds, int, int), events)
        issued = np.zeros((len(stream) * self.shape.total, 6))
        outcome = ReplayOutcome(
            np.zeros((len(rows), 14)), np.zeros(len(rows)), np.zeros(13), issued, np.zeros(self.shape.total)
        )
        cycles = run_program(self.shape, self.rates, program, Instructions.of(rows), touches, outcome)
        shown = issued[: int(issued[:, replay.WARP :].any(axis=1).nonzero()[0][-1]) + 1]  # the rest is zeros
        return cycles, [(float(row[replay.ISSUED]), int(row[replay.WARP])) for row in shown]


@pytest.mark.parametrize("library", ["python", pytest.param("numba", marks=covered_by("test_timing.py"))])
def test_random_programs_take_the_cycles_of_the_plain_form(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if library == "numba":
        pytest.importorskip("numba")
        monkeypatch.setattr(replay, "_MIN_COMPILED", 0)
    monkeypatch.setattr(replay, "_compiled", [])
    stuck = 0
    for seed in range(COUNT):
        launch = Launch(random.Random(seed))
        cycles, issued = launch.plainly()
        assert launch.fast() == (cycles, issued), seed
        stuck += cycles < 0
    assert 0 < stuck < COUNT / 5
