"""Lesson 09: mbarriers, seen step by step in simulated kernels; the reader's producers and consumers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, counted
from ...gemm.matmul import matmul
from ...memory.tensor_maps import TensorMap, tensor_map
from ...question import with_code
from ...simulation import Simulation
from ...simulator import HazardError
from ...simulator.hazard import Hazard, TooManyArrivalsError
from ...simulator.kernel import Kernel
from ...views import Grid, Picture
from ...views.annotated_source import source_html
from ...views.grid import Entry, uniform_grid
from ..answers import readers_time, result_of, whole_numbers
from ..barrier_record import PARITY_LANES, BarrierRecord, BarrierStep, barrier_grid, ring_grid
from ..checking import Sentences, checks, correct, otherwise, when
from ..reader_kernels import (
    ExplainedPart,
    compiled,
    explained_part,
    kernel,
    normal_numbers,
    shortened,
    source_parts,
    where,
)
from .your_first_tensor_core_kernel import INS, LOAD, MMA, STORE

# -- the kernels ---------------------------------------------------------------------------------------------

#: What the kernels call, an instruction each; a kernel with one stage; the parts of one with a ring.
_FUNCTIONS, TWO_TILES, PRODUCE, CONSUME, RING = source_parts("mbarriers.cu")
WHOLE_RING = "\n\n".join((PRODUCE, CONSUME, RING))
_LINES = '\n#line 1 "kernel"\n'  # inlined code belongs to the line that calls it


def _before(stages: int) -> str:
    """What comes before a kernel of the lesson, or of the reader."""
    return f"#define STAGES {stages}\n{MMA}{LOAD}{STORE}\n{_FUNCTIONS}\n"


def source(text: str, stages: int = 2) -> str:
    """A kernel of the lesson with all that it calls: `ptxlab.kernel` takes it.

    >>> source(TWO_TILES).count("mbarrier_wait(&full, i)")
    1
    """
    return f"{_before(stages)}{_LINES}{text}"


class TiledProduct(NamedTuple):
    """A of 64 x K and B of K x 8, as the kernels take them: a tile is 16 of K."""

    A: TensorMap
    B: TensorMap
    D: NDArray[np.float32]
    expected: NDArray[Any]


def product(tiles: int) -> TiledProduct:
    """Tensor maps of random matrices, room for D, and what D should be.

    >>> product(3).A.box, product(3).B.box
    ((64, 16), (8, 16))
    """
    A, B = normal_numbers((64, 16 * tiles), 25), normal_numbers((16 * tiles, 8), 75)
    maps = tensor_map(A, (64, 16)), tensor_map(np.ascontiguousarray(B.T), (8, 16))
    D = np.full((64, 8), np.nan, np.float32)
    return TiledProduct(*maps, D, matmul(A, B, instruction=INS, show=False))


@dataclass(frozen=True)
class Recorded:
    """A kernel that was simulated: the steps at its mbarriers, and what the simulator says."""

    steps: tuple[BarrierStep, ...]
    hazards: tuple[Hazard, ...]
    error: PtxlabError | None  # what ended the simulation, if something did
    wrong: NDArray[np.bool_]  # elements of D
    result: Simulation | None  # of one that came to its end

    @property
    def complaint(self) -> str:
        """What ended the simulation, in words; "" if nothing did."""
        return "" if self.error is None else str(self.error)

    @property
    def right_numbers(self) -> bool:
        """Whether it came to its end, and D is right."""
        return self.result is not None and not self.wrong.any()

    @property
    def right(self) -> bool:
        """Whether D is right and the simulator found nothing."""
        return self.right_numbers and not self.hazards


def run(built: Kernel, tiles: int, limit: int | None = None) -> Recorded:
    """One launch of a kernel of this lesson: 128 threads; with a producer's warp 160, if it takes `tiles`."""
    data, record = product(tiles), BarrierRecord()
    arguments: list[Any] = [data.A, data.B, data.D]
    threads = 128
    if len(built.parameters) > len(arguments):
        arguments.append(tiles)
        threads += 32
    result, hazards, ended_by = None, [], None
    try:
        result = built.simulate(1, threads, *arguments, observers=[record], show=False, limit=limit)
        hazards = result.hazards
    except PtxlabError as error:
        hazards = error.hazards if isinstance(error, HazardError) else []
        ended_by = error
    record.end()
    return Recorded(tuple(record.steps), tuple(hazards), ended_by, data.expected != data.D, result)


@lru_cache(maxsize=32)
def recorded(text: str, stages: int = 2, tiles: int = 2) -> Recorded:
    """A kernel of the lesson on `tiles` tiles, simulated.

    >>> [step.kind for step in recorded(TWO_TILES).steps[:3]], recorded(TWO_TILES).right
    (['init', 'arrive.expect_tx', 'complete_tx'], True)
    """
    return run(kernel(source(text, stages)), tiles)


# -- what the lesson shows -----------------------------------------------------------------------------------


def step(step: int) -> Picture:
    """The mbarrier of the lesson's first kernel after a step.

    >>> step(4).notes[0]
    'step 4: B has arrived, nothing is pending any more: phase 0 ends, and phase 1 expects 1 arrival'
    """
    steps = recorded(TWO_TILES).steps
    return Picture(
        "full, an mbarrier in shared memory",
        (f"step {step}: {_STEPS[step - 1]}",),
        (barrier_grid(steps, step),),
    )


_STEPS = (
    "it is initialised: every phase expects 1 arrival",
    "thread 0 arrives, and says that 2304 bytes will come",
    "A has arrived; no arrivals are pending any more, but bytes are",
    "B has arrived, nothing is pending any more: phase 0 ends, and phase 1 expects 1 arrival",
    "phase 0 has ended, so all threads pass, and multiply",
    "the next tiles: thread 0 arrives again, now in phase 1",
    "A has arrived",
    "B has arrived: phase 1 ends",
    "phase 1 has ended, so all threads pass",
)
STEPS = range(1, len(_STEPS) + 1)


PHASES = range(5)


def asked(phase: int) -> Picture:
    """Which phase `wait(0)` and `wait(1)` ask about while an mbarrier is in a phase.

    >>> asked(0).notes
    ('wait(0) asks about phase 0, in progress: it waits', 'wait(1) asks about the phase before: it passes')
    """
    asks = [phase if phase % 2 == parity else phase - 1 for parity in (0, 1)]

    def entry(row: int, column: int) -> Entry:
        number = column - 1
        parity = number % 2
        if row == 0 and number > phase:
            return Entry((str(parity),), None, f"phase {number}, still to come", "dim")
        if row == 0 and number == phase:
            return Entry((str(parity), "now"), PARITY_LANES[parity], f"phase {number} is in progress", "mark")
        if row == 0:
            lane = PARITY_LANES[parity] if number >= 0 else None
            return Entry((str(parity), "ended" if number >= 0 else "before the first"), lane, "it has ended")
        if number != asks[row - 1]:
            return Entry(role="blank")
        return Entry(
            ("waits" if number == phase else "passes",), PARITY_LANES[parity], "it asks about this phase"
        )

    names = ["", *(f"phase {number}" for number in PHASES)]
    grid = uniform_grid((3, len(names)), entry, ["parity", "wait(0)", "wait(1)"], names, row_rules=(1,))
    notes = [f"wait({phase % 2}) asks about phase {phase}, in progress: it waits"]
    before = f"phase {phase - 1}, which has ended" if phase else "the phase before"
    notes.insert(1 - phase % 2, f"wait({1 - phase % 2}) asks about {before}: it passes")
    return Picture(f"An mbarrier in phase {phase}", tuple(notes), (grid,))


def ring(stages: int) -> Picture:
    """Six tiles through a ring of stages: who waits, what is in each stage, and the phases of its mbarriers.

    >>> ring(2).notes[0]
    'the producer or the consumers have to wait 4 times'
    """
    steps = recorded(WHOLE_RING, stages, 6).steps
    waits = sum(step.kind == "waits" for step in steps)
    notes = (
        f"the producer or the consumers have to wait {waits} times",
        "full and empty: the parity of the phase",
        "faint: on its way, or waiting",
    )
    title = f"Six tiles through a ring of {counted(stages, 'stage')}"
    return Picture(title, notes, (ring_grid(steps, stages),))


#: The ring, part by part: a name, a text that the first line has, and what to notice there.
_STOPS = {
    ("producer", "PART void produce"): "One thread of warp 0 does all of it. It waits until the stage is "
    "empty, says how many bytes will come, and starts two copies. It never waits for them: when the ring has "
    "room, it goes on to the next stage.",
    ("consumers", "PART void consume"): "128 threads, warps 1 to 4. They wait until the stage is full, read "
    'it, and arrive at its `empty` barrier: each thread says "I have read it".',
    ("set-up", "extern"): "One thread initialises the barriers: `full` expects 1 arrival, that of the "
    "producer; `empty` expects those of all 128 consumers. The fence is for TMA, and for the other blocks of "
    "a cluster; `__syncthreads()` keeps the threads of this block from using barriers too early.",
}
PARTS = [name for name, _ in _STOPS]


def part(part: str) -> ExplainedPart:
    """A part of the ring, with its explanation.

    >>> len(part("consumers").lines)
    8
    """
    return explained_part(WHOLE_RING, part, _STOPS)


class BarrierMistake(NamedTuple):
    """One line of a kernel that is wrong, and what follows from it."""

    kernel: str
    right: str
    wrong: str
    why: str

    @property
    def text(self) -> str:
        """The kernel with the mistake."""
        return self.kernel.replace(self.right, self.wrong)


_READ = "        multiply(d, stages[s], threadIdx.x / 32 - 1);\n"
_RELEASE = "        mbarrier_arrive(&empty[s]);\n"
MISTAKES = {
    "bytes of A only": BarrierMistake(
        TWO_TILES,
        "2048 + 256",
        "2048",
        "Phase 0 ends as soon as A is there, so the threads may multiply a B that has not come yet. The "
        "bytes of B, when they come, count in phase 1, for which they were not announced: it never ends.",
    ),
    "too many bytes": BarrierMistake(
        TWO_TILES,
        "2048 + 256",
        "2048 + 512",
        "256 bytes never come, and phase 0 never ends. On a GPU the kernel hangs, without any message.",
    ),
    "128 arrivals": BarrierMistake(
        TWO_TILES,
        "mbarrier_init(&full, 1)",
        "mbarrier_init(&full, 128)",
        "All bytes are there, but 127 arrivals are pending. A wait is not an arrival.",
    ),
    "same parity again": BarrierMistake(
        TWO_TILES,
        "mbarrier_wait(&full, i)",
        "mbarrier_wait(&full, 0)",
        "The second wait(0) comes at the end of phase 1, or before it. The simulator copies immediately: "
        "phase 2 has begun, and wait(0) waits for its end. On a GPU the copies take longer: then phase 1 "
        "goes on, wait(0) asks about phase 0 and passes, and the old tiles are multiplied again.",
    ),
    "consumers' parity": BarrierMistake(
        WHOLE_RING,
        "% 2 ^ 1",
        "% 2",
        "At first every stage is empty, but no phase of `empty` has ended. wait(0) waits for consumers, and "
        "they wait for the producer. wait(1) would ask about the phase before, and pass.",
    ),
    "parity i % 2": BarrierMistake(
        WHOLE_RING,
        "mbarrier_wait(&full[s], i / STAGES % 2)",
        "mbarrier_wait(&full[s], i % 2)",
        "A barrier's parity changes after each round of the ring, not with every tile. The first wait at "
        "stage 1 is already wait(1). If tile 1 is there, as here, wait(1) waits for the phase that has "
        "just begun. If not, it asks about the phase before, and passes: too early.",
    ),
    "no release": BarrierMistake(
        WHOLE_RING, _RELEASE, "", "The producer fills every stage once, and then waits for ever."
    ),
    "early release": BarrierMistake(
        WHOLE_RING,
        _READ + _RELEASE,
        _RELEASE + _READ,
        "D is right by luck: the next tile may come while threads still read this one.",
    ),
}  # fmt: skip


class Consequence(NamedTuple):
    """What follows from a mistake, to be shown."""

    mistake: BarrierMistake
    record: Recorded

    def _repr_html_(self) -> str:
        mistake, record = self.mistake, self.record
        functions = mistake.text.rpartition("\nextern")[0]  # of a ring: its set-up is right
        lines = range(1, functions.count("\n") + 1) if functions else None
        title = "What happened" if record.result else "What happened until the simulation stopped"
        picture = Picture(title, ("D is right",) if record.right_numbers else (), (self._grid(),))
        return (
            f"{source_html(mistake.text, record.hazards, lines)}{picture._repr_html_()}"
            f'<p style="max-width: 60em; line-height: 1.5">{with_code(mistake.why)}</p>'
        )

    def _grid(self) -> Grid:
        if self.mistake.kernel is TWO_TILES:
            return barrier_grid(self.record.steps, len(self.record.steps))
        return ring_grid(self.record.steps, 2)


def mistake(mistake: str) -> Consequence:
    """A kernel with one mistake, and what the simulator says.

    >>> [hazard.kind for hazard in mistake("too many bytes").record.hazards]
    ['deadlock']
    """
    row = MISTAKES[mistake]
    return Consequence(row, recorded(row.text, 2, 2 if row.kernel is TWO_TILES else 4))


def sources() -> list[str]:
    """The sources of the lesson's kernels, for the record of their PTX."""
    rings = [source(WHOLE_RING, stages) for stages in STAGES]
    return [source(TWO_TILES), *rings, *(source(row.text) for row in MISTAKES.values())]


STAGES = range(1, 5)


# -- the reader's kernels ------------------------------------------------------------------------------------

_CASES = ((2, 5), (3, 7))  # stages and tiles
_LIMIT = 10_000  # instructions that warps may execute: a right answer takes a fraction
_TILE_BYTES = 2048 + 256


def _tried(
    answer: object, name: str, before: str, after: str, cases: Sequence[tuple[int, int]] = _CASES
) -> tuple[Recorded, int]:
    """The reader's part in a kernel: the first case that goes wrong, or the last one, and its stages."""
    for stages, tiles in cases:
        built = compiled(answer, name, _before(stages) + before, after)
        with readers_time():
            record = run(built, tiles, _LIMIT)
        if not record.right:
            break
    return record, stages


def _stopped(record: Recorded) -> str:
    """What the simulator says, shortened."""
    hazards = [hazard.sentence for hazard in record.hazards]
    text = record.complaint or "".join(hazards[:1])
    return f"The simulator says: {shortened(text)}."


def _is_stuck(record: Recorded) -> bool:
    """Whether threads wait for each other, or for bytes that never come."""
    error = record.error
    return isinstance(error, HazardError) and error.hazard is not None and error.hazard.kind == "deadlock"


def _is_crowded(record: Recorded) -> bool:
    """Whether a barrier got more arrivals than it expects."""
    return isinstance(record.error, TooManyArrivalsError)


def _all_arrive(record: Recorded, answer: object) -> bool:
    """Whether a barrier got too many arrivals because the answer does not choose a thread."""
    return _is_crowded(record) and "threadIdx" not in str(answer)


def _asked_for(record: Recorded, consumers: bool, empty: int) -> list[int]:
    """The parities that a role has asked the `full` or `empty` barriers for, one for each wait.

    What threads do that have left the others is not counted.
    """
    steps = [
        step
        for step in record.steps
        if step.kind in ("waits", "passes") and (step.warp > 0) == consumers and step.barrier % 2 == empty
    ]
    parities: list[int] = []
    waiting = -1  # for which barrier
    for step in steps:
        if step.threads != steps[0].threads:
            continue
        if step.barrier != waiting:
            parities.append(step.parity)
        waiting = step.barrier if step.kind == "waits" else -1
    return parities


def _parity_hints(asked_for: list[int], stages: int, first: int) -> Sentences:
    """For waits whose parity is not that of the round; `first` is the parity of the first round."""
    rounds = range(len(asked_for))
    right = [index // stages % 2 ^ first for index in rounds]

    def are(parities: list[int]) -> bool:
        return asked_for == parities != right

    return {
        when(are([first for _ in rounds])): "The parity is the same in every round. When the ring comes "
        "back to a stage, its barrier is in the next phase.",
        when(are([index % 2 ^ first for index in rounds])): "Your parity changes with every tile. A barrier "
        "belongs to one stage: how often has that stage been used before tile i?",
        when(are([1 - parity for parity in right])): "Your parity is the opposite of what it should be, in "
        "every round. "
        + (
            "At first no thread has released a stage, and yet each of them is free: which wait passes at a "
            "fresh barrier?"
            if first
            else "At a fresh barrier, which of `wait(0)` and `wait(1)` waits for its first phase to end?"
        ),
        when(asked_for != right): f"The parities that you wait for are {asked_for}, tile by tile, in a ring "
        f"of {stages} stages. When does the parity of a stage change?",
    }


def _byte_hints(record: Recorded, tiles: int = 1) -> Sentences:
    """For bytes that are not announced, or not all of those of so many tiles."""
    announced = [step.amount for step in record.steps if step.kind == "arrive.expect_tx"]
    first = announced[0] if announced else 0
    return {
        when(not announced): "No thread announces bytes. The phase must not end before they have come: "
        "`mbarrier_arrive_expect_tx`.",
        when(first == 2048 * tiles): f"You announce {first} bytes, those of A. B comes at the same barrier.",
        when(first == 256 * tiles): f"You announce {first} bytes, those of B. A comes at the same barrier.",
        when(tiles > 1 and first == _TILE_BYTES): "You announce the bytes of one tile of A and B, or the "
        "elements of two: all four copies end in the same phase.",
        when(first == _TILE_BYTES // 2): f"You announce {first}: that is the number of elements. TMA counts "
        "bytes.",
        when(first != _TILE_BYTES * tiles): f"You announce {first} bytes. How many do the copies bring?",
    }


@checks("09.1")
def _counting(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "three whole numbers")
    pending, bytes_, parity = submitted
    expected = (1, 512, 1)
    return {
        correct(submitted == expected): "The phase ended with the last 3072 bytes, not with the second "
        "arrival. From then on 2 arrivals were pending again, and one has arrived.",
        when(parity > 1): "A parity is 0 or 1: the number of the phase, modulo 2.",
        when(parity == 0): "When thread 32 has arrived, no arrivals are pending, but 3072 bytes are. What "
        "happens when they come?",
        when(bytes_ in (4608, 3584)): "Bytes that have come are not pending any more.",
        when(bytes_ == 0): "The last arrival announces bytes, and none of them have come.",
        when(pending in (0, -1)): "Bytes and parity are right. When a phase ends, the next one expects all "
        "arrivals again.",
        when(pending == 2 and bytes_ == 512): "`arrive.expect_tx` announces bytes, *and* arrives.",
        otherwise: "Write down arrivals and bytes after each step. A phase ends when both are 0; then the "
        "arrivals start again at 2.",
    }


_BLOCK = TWO_TILES.index("        if (threadIdx.x == 0) {\n            mbarrier_arrive_expect_tx")
#: The first kernel with two stages, which the reader's function fills at once.
_LOADED = (
    TWO_TILES[:_BLOCK]
    + "        load(stages, &full, A, B, i);\n        mbarrier_wait(&full, i);\n"
    + "        for (int s = 0; s < 2; s++)\n            multiply(d, stages[s], threadIdx.x / 32);\n"
    + TWO_TILES[TWO_TILES.index("        __syncthreads();  //") :]
).replace("Stage stage;", "Stage stages[2];")


@checks("09.2")
def _load(answer: object) -> Sentences:
    record, _ = _tried(answer, "load", "", f"\n{_LOADED}", ((1, 4),))
    copies = [step for step in record.steps if step.kind == "complete_tx"]
    arrivals = [step for step in record.steps if step.kind.startswith("arrive")]
    crowd = any(step.threads > 1 for step in (*copies, *arrivals)) or _all_arrive(record, answer)
    return {
        correct(
            record.right
        ): "One arrival, the bytes of four copies, four copies: that is a phase of `full`. "
        "No other thread arrives, and all threads wait.",
        when(crowd): "All 128 threads call `load`, and all of them do this. `full` expects one arrival, and "
        "each tile should be copied once.",
        when(_is_crowded(record)): "`full` expects one arrival in a phase, and gets more: announce the bytes "
        "of all copies at once.",
        when(not copies): "Nothing is copied: no bytes ever come.",
        when(not arrivals): "No thread arrives at `full`: its one arrival stays pending.",
        **_byte_hints(record, 2),
        when(len(copies) % 4 and _is_stuck(record)): f"In all, {len(copies)} copies bring "
        "bytes. Each iteration has four, two tiles of A and two of B.",
        when(record.complaint or record.hazards): _stopped(record),
        otherwise: f"All threads pass, but {where(record.wrong)}. Tile t begins at column 16 t of A and of "
        "B; all rows, starting at row 0. `tma_load` takes the column first.",
    }


@checks("09.3")
def _parities(answer: object) -> Sentences:
    cases = ((0, 4), (3, 4), (4, 4), (9, 4), (5, 2), (7, 3), (6, 1), (11, 3))
    form = "two numbers, each 0 or 1"
    results = [whole_numbers(result_of(answer, *case, form=form), 2, form) for case in cases]
    rounds = [i // stages for i, stages in cases]

    def are(full: Sequence[int], empty: Sequence[int]) -> bool:
        return results == list(zip(full, empty, strict=True))

    even, odd = [turn % 2 for turn in rounds], [1 - turn % 2 for turn in rounds]
    by_tile = [i % 2 for i, _ in cases]
    return {
        correct(are(even, odd)): "In round r of the ring, consumers wait for phase r of `full`, and the "
        "producer for phase r - 1 of `empty`: one round earlier, the opposite parity.",
        when(are(odd, even)): "The other way round: at first `full` has to end a phase, and `empty` need "
        "not.",
        when(are(even, even)): "The consumers' parity is right. The producer's first wait must pass at "
        "once, at a barrier of which no phase has ended.",
        when(are(by_tile, [1 - parity for parity in by_tile]) or are(by_tile, by_tile)): "That changes with "
        "every tile. Each stage has barriers of its own: how often has this stage been used before?",
        when(any(value not in (0, 1) for result in results for value in result)): "A parity is 0 or 1.",
        when([result[0] for result in results] == even): "The consumers' parity is right. When the producer "
        "comes to a stage for the second time, which phase of `empty` must have ended?",
        otherwise: "Count rounds: tile i uses its stage for the (i / stages)th time, counted from 0. Which "
        "phase of `full` do consumers wait for then, and what is its parity?",
    }


@checks("09.4")
def _consume(answer: object) -> Sentences:
    record, stages = _tried(answer, "consume", f"{PRODUCE}\n", f"\n{RING}")
    asked_for = _asked_for(record, consumers=True, empty=0)
    released = [step for step in record.steps if step.warp and step.kind == "arrive" and step.barrier % 2]
    misled = [step for step in record.steps if step.warp and step.kind == "arrive" and step.barrier % 2 == 0]
    races = [hazard for hazard in record.hazards if hazard.kind == "race"]
    return {
        correct(record.right): "Wait, read, release: with the parity of the round. The consumers never ask "
        "how far the producer is; two barriers per stage are all that the two know of each other.",
        when(not asked_for): "No thread waits for `full[s]`: the tile may not be there.",
        when(_asked_for(record, consumers=True, empty=1)): "The consumers wait at `empty`. That is where "
        "the producer waits, for them.",
        **_parity_hints(asked_for, stages, 0),
        when(misled): "The consumers arrive at `full`. Its only arrival is that of the producer.",
        when(not released): "No thread arrives at `empty[s]`: the producer never learns that the stage has "
        f"been read. {_stopped(record)}",
        when(_is_crowded(record)): "`empty[s]` gets more arrivals than it expects: one from each of the 128 "
        "threads, for each tile.",
        when(released[:1] and released[0].amount < 128): "`empty[s]` gets "
        f"{counted(sum(step.amount for step in released[:1]), 'arrival')} from a warp, and it expects 128 in "
        "all: every thread says for itself that it has read.",
        when(races): "The stage is released before it is read: the producer may overwrite it meanwhile. "
        f"{_stopped(record)}",
        when(record.complaint or record.hazards): _stopped(record),
        otherwise: f"Nothing hangs, but {where(record.wrong)}. Which stage does tile i lie in, and which "
        "rows of A does warp 1 of the block take?",
    }


@checks("09.5")
def _counts(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "three whole numbers")
    full, empty, bytes_ = submitted
    expected = (1, 8, (128 + 256) * 64 * 2)
    return {
        correct(submitted == expected): "CUTLASS does the same: `full` counts producers, `empty` counts "
        "consumers, and the bytes are those of a stage.",
        when(full == 2): "Two copies, but one thread announces both with one arrival.",
        when(full != expected[0]): "Who arrives at `full`? Copies bring bytes; they do not arrive.",
        when(empty == 256): "The first is right. 256 threads read, but how many of them arrive?",
        when(empty == 2): "The first is right. That would be one thread of each warpgroup; here it is one "
        "of each warp.",
        when(empty != expected[1]): "The first is right. Two warpgroups of 4 warps, one arrival each: does "
        "the producer arrive at `empty`?",
        when(bytes_ == expected[2] // 2): "The first two are right. Those are elements.",
        otherwise: "The first two are right. Add the elements of A and B in a stage, 2 bytes each.",
    }


@checks("09.6")
def _produce(answer: object) -> Sentences:
    record, stages = _tried(answer, "produce", "", f"\n{CONSUME}\n\n{RING}")
    asked_for = _asked_for(record, consumers=False, empty=1)
    crowd = [step for step in record.steps if step.warp == 0 and step.kind != "init" and step.threads > 1]
    serial = _asked_for(record, consumers=False, empty=0)
    return {
        correct(record.right and not serial): "This is the producer of every fast kernel for Hopper: wait "
        "for a free stage, announce, copy, and on to the next, without ever waiting for data.",
        when(record.right): "D is right, but the producer waits for its own copies at `full`: no two tiles "
        "are ever on their way at the same time. Only the consumers wait there.",
        when(crowd or _all_arrive(record, answer)): "All 32 lanes of the warp call `produce`, and all of "
        "them do this. `full` expects one arrival for each tile.",
        when(not asked_for): "No thread waits for `empty[s]`: a stage is overwritten while consumers may "
        "still read it.",
        **_parity_hints(asked_for, stages, 1),
        when(_is_crowded(record)): "`full[s]` expects one arrival for each tile, and gets two: announce the "
        "bytes of both copies at once.",
        **_byte_hints(record),
        when(record.complaint or record.hazards): _stopped(record),
        otherwise: f"Nothing hangs, but {where(record.wrong)}. Tile i begins at column 16 i of A and of B, "
        "and goes to stage i % STAGES.",
    }


#: The consumers of the last exercise: one lane of each warp releases a stage.
CONSUME_BY_WARPS = CONSUME.replace(
    _RELEASE, f"        __syncwarp();\n        if (threadIdx.x % 32 == 0)\n    {_RELEASE}"
)


@checks("09.7")
def _whole(answer: object) -> Sentences:
    record, stages = _tried(answer, "ring", f"{PRODUCE}\n\n{CONSUME_BY_WARPS}\n", "")
    counts = {step.barrier: step.pending for step in record.steps if step.kind == "init"}
    fulls = {step.barrier for step in record.steps if step.kind == "arrive.expect_tx"}
    empties = {step.barrier for step in record.steps if step.kind == "arrive"}
    empties |= {step.barrier for step in record.steps if not step.warp and step.kind in ("waits", "passes")}
    by_full = {counts.get(barrier) for barrier in fulls}
    by_empty = {counts.get(barrier) for barrier in empties}
    most_full, most_empty = (max((value or 0 for value in some), default=0) for some in (by_full, by_empty))
    executed = record.result.counts if record.result else {}
    fenced = any(opcode.startswith(("fence.mbarrier_init", "fence.proxy.async")) for opcode in executed)
    races = [hazard for hazard in record.hazards if hazard.kind == "race" and hazard.space == "shared"]
    again = any(hazard.opcode.startswith("mbarrier.init") for hazard in record.hazards)
    return {
        correct(record.right and fenced): "That is a whole warp-specialised kernel. A GEMM "
        "for Hopper has larger tiles, a swizzle, and `wgmma` in the place of `multiply`; its barriers are "
        "these.",
        when(again): "Several warps initialise the same barrier, or one does so again, and a barrier that is "
        "in use may not be initialised again. One thread does it, once.",
        when(record.right): "D is right, and the simulator found nothing, but one thing is missing: the "
        "fence after `mbarrier.init`, for TMA and for other blocks of a cluster. `fence_mbarrier_init()` is "
        "it.",
        when(not counts): "No mbarrier is initialised.",
        when(len(counts) < 2 * stages): f"{len(counts)} mbarriers are initialised; {stages} stages have "
        f"{2 * stages}.",
        when(races): "Threads use barriers that may not be initialised yet. What keeps them from it? "
        f"{_stopped(record)}",
        when(not fulls): "No thread announces bytes. Does warp 0, and no other, call `produce`?",
        when(by_full == {4} and by_empty == {1}): "The counts are swapped: `full` is for the producer, "
        "`empty` for the consumers.",
        when(by_full - {1}): f"`full` expects {most_full} arrivals. Which threads arrive there, and how "
        "often for each tile?",
        when(128 in by_empty): "`empty` expects 128 arrivals. Look at `consume`: how many threads arrive?",
        when(by_empty and by_empty != {4}): f"`empty` expects {most_empty} arrivals. Look at `consume`: "
        "which threads arrive, in how many warps?",
        when(record.complaint or record.hazards): _stopped(record),
        otherwise: f"Nothing hangs, but {where(record.wrong)}. Do the accumulators begin with 0, and does "
        "each warp store its own 16 rows of D?",
    }
