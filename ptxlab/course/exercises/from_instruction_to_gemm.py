"""Lesson 13: what each rung of the GEMM ladder gains, and what bounds it; its pictures."""

from __future__ import annotations

import base64
import bz2
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import counted
from ...gemm import Rung, SparseRung, ladder, rung
from ...gemm.matmul import matmul
from ...gemm.source import source_files
from ...instruction import mma_instruction
from ...simulation import Profile, Simulation
from ...simulator.launch_threads import LaunchGrid
from ...simulator.peaks import Work
from ...simulator.timing.launch_profile import CodeRow, LaunchProfile, Occupancy
from ...simulator.timing.stalls import REASONS
from ...views import Header, Picture
from ...views.annotated_source import annotated_html
from ...views.charts import LineChart, bars, table
from ...views.grid import Entry, uniform_grid
from ...views.roofline import roofline
from ...views.timeline_picture import Timeline, timeline
from ..answers import close_to, number_of, numbers, whole_numbers, whole_result_of
from ..checking import Sentences, checks, correct, otherwise, when
from ..reader_kernels import (
    compiled,
    kernel,
    normal_numbers,
    read_record,
    reported,
    simulated,
    waits,
    where,
)
from ..spans import Span
from ..spans import over_time as spans_over_time

MMA = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")

SIZE = 8192
#: TFLOP/s of each rung on an H200: f16 with f32 accumulators, 8192 in each direction.
RATES = {1: 20, 2: 53, 3: 194, 4: 237, 5: 374, 6: 519, 7: 573, 8: 608, 9: 652, 10: 680, 11: 719, 12: 756}
#: The same for rung 9 with fewer stages than its 4.
STAGE_RATES = {2: 528, 3: 662}
CUBLAS = 750

_HEADERS = re.compile(r"(?:^#include .*\n)+", re.MULTILINE)

#: What each rung leaves for the next one to do.
_LEFT = {
    1: "left to do: every warp fetches all of its own operands",
    2: "left to do: eight rows are in the same banks, and have to wait for each other",
    3: "left to do: tiles of 32 x 32 need more than shared memory delivers",
    4: "left to do: while tiles are being copied, nothing is multiplied",
    5: "left to do: mma itself reaches only two thirds of the speed of wgmma",
    6: "left to do: all threads compute an address for every 16 bytes they copy",
    7: "left to do: L2 delivers 256 rows of A and B for every 128 x 128 of D",
    8: "left to do: the same warps load, multiply and wait, one after the other",
    9: "left to do: between two tiles of D, and while D is stored, nothing is multiplied",
    10: "left to do: neighbouring blocks read the same columns of B from L2, each for itself",
    11: "left to do: blocks at work read more rows and columns than L2 can hold",
    12: "left to do: little; cuBLAS is about as fast",
}

_SMS = 132
_LARGEST = 227 << 10  # bytes of shared memory that a block can have


# -- what the lesson shows -----------------------------------------------------------------------------------


def step(rung: int) -> Picture:
    """The ladder up to a rung: what an H200 reached, and what is left to do there.

    >>> step(1).notes[1]
    'left to do: every warp fetches all of its own operands'
    """
    rows = {row.number: row for row in ladder()}
    reached = {f"{number} {rows[number].title}": float(RATES[number]) for number in range(1, rung + 1)}
    reached["cuBLAS"] = float(CUBLAS)
    share = f"{RATES[rung] / CUBLAS:.0%} of cuBLAS's {CUBLAS}"
    return bars(
        reached,
        f"Rung {rung}: {RATES[rung]} TFLOP/s, {share}",
        (rows[rung].idea, _LEFT[rung]),
        text="{:.0f}".format,
    )


#: Predicted times of the rungs: `python -m tools.record gemm_profiles`.
PROFILES_FILE = "gemm_profiles.json.bz2"
SHOWN = (4096, 2048, 1024)  # rows, columns and K of the product in the timelines
CYCLES = 40_000  # of them
STAGES = (2, 3)  # with which rung 9 was profiled beside its own number


def recorded() -> dict[str, Any]:
    """What `tools.record` kept: profiles, rates predicted for the measured size, digests of the sources."""
    return read_record(PROFILES_FILE)


def profile(number: int) -> Profile:
    """The recorded profile of a rung, as `rung.kernel.profile` gives it, with the beginning of its timeline.

    >>> profile(7).occupancy.blocks
    2
    """
    chosen = rung(number, None, result="f16")
    record = dict(recorded()["profiles"][str(number)])
    columns = np.frombuffer(bz2.decompress(base64.b64decode(record["timeline"])), dtype=np.int64)
    steps = np.cumsum(columns.reshape(6, -1).T, axis=0).astype(np.float64)
    steps[:, 2:4] = steps[:, 4:5] - steps[:, 2:4]
    numbers_now = np.array([REASONS.index(reason) for reason in recorded()["reasons"]])
    steps[:, 5] = numbers_now[steps[:, 5].astype(int)]
    grid: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in record["grid"].items()
    }
    record |= {
        "name": f"rung {number}, {chosen.row.title}",
        "source": chosen.source,
        "timeline": steps[np.argsort(steps[:, 4], kind="stable")],
        "occupancy": Occupancy(**record["occupancy"]),
        "grid": LaunchGrid(**grid),
        "code": tuple(CodeRow(*row) for row in record["code"]),
        "reasons": Counter(record["reasons"]),
        "stalls": {int(line): Counter(reasons) for line, reasons in record["stalls"].items()},
        "issued": Counter({int(line): count for line, count in record["issued"].items()}),
        "work": Work(
            **record["work"] | {"tensor": {(a, d): count for a, d, count in record["work"]["tensor"]}}
        ),
    }
    return Profile(**record)


@dataclass(frozen=True)
class RungTimeline(Timeline):
    """One SM with a rung of the ladder; the line below the title says when its tensor cores have work."""

    @property
    def subtitle(self) -> str:
        """Below the heading."""
        starts = tensor_core_starts(self.profile)
        gap = int(np.diff(starts).argmax())
        return (
            f"{super().subtitle.partition(';')[0]}; the tensor cores get products from cycle "
            f"{starts[0]:,.0f} to {starts[gap]:,.0f} and again from {starts[gap + 1]:,.0f} on"
        )


def over_time(rung: int) -> Timeline:
    """One SM with a rung, from its first cycle on, as `k.profile` predicts it.

    >>> over_time(5).title
    'One SM of H200 over time: rung 5, cp.async'
    >>> over_time(9).subtitle.partition("; the ")[2]
    'tensor cores get products from cycle 2,130 to 18,128 and again from 35,264 on'
    """
    picture = timeline(profile(rung), 0, CYCLES)
    return RungTimeline(picture.profile, picture.start, picture.end) if rung in (9, 10) else picture


def below_roofs(rung: int) -> LineChart:
    """A rung below the roofs of an H200, as predicted.

    >>> below_roofs(1).lines[-1].name
    'rung 1, bytes of L2'
    """
    return roofline(replace(profile(rung), name=f"rung {rung}"))


def between_tiles(number: int) -> float:
    """For how many cycles the tensor cores of a rung idle after their first tile, as predicted.

    >>> between_tiles(10) < between_tiles(9)
    True
    """
    return float(np.diff(tensor_core_starts(profile(number))).max())


def tensor_core_starts(predicted: LaunchProfile) -> NDArray[np.float64]:
    """The cycles at which an SM's tensor cores get their products, in order.

    >>> tensor_core_starts(profile(9))[0]
    np.float64(2130.0)
    """
    by_row = np.array([row.unit == "tensor core" for row in predicted.code])
    products = predicted.timeline[by_row[predicted.timeline[:, 1].astype(int)]]
    return np.sort(products[:, 4])


def by_stages() -> Picture:
    """Rung 9 with rings of other sizes: predicted, and on an H200.

    >>> by_stages().title
    'Rung 9 with 2, 3 and 4 stages: TFLOP/s, predicted and on an H200'
    """
    predicted = recorded()["rates"]
    names = {f"{stages} stages": f"9, {stages} stages" for stages in STAGES} | {"4 stages": "9"}
    values = {}
    for name, key in names.items():
        values[f"{name}, predicted"] = float(predicted[key])
        values[f"{name}, H200"] = float(RATES[9] if key == "9" else STAGE_RATES[int(name[0])])
    title = "Rung 9 with 2, 3 and 4 stages: TFLOP/s, predicted and on an H200"
    notes = (
        f"f16, {SIZE} x {SIZE} x {SIZE}",
        "with 4 stages an H200 takes the predicted 2.3 million cycles, at 1.4 GHz instead of 1.6",
    )
    return bars(values, title, notes, text="{:.0f}".format)


def gains() -> Picture:
    """Every rung: TFLOP/s predicted and on an H200, and what it gained there over the one before.

    >>> gains().grids[0].at(11, 2).text
    '+5%'
    """
    rows = {}
    for row in ladder():
        number = row.number
        gain = "" if number == 1 else f"{RATES[number] / RATES[number - 1] - 1:+.0%}"
        rows[f"{number} {row.title}"] = [f"{recorded()['rates'][str(number)]}", f"{RATES[number]}", gain]
    notes = (f"f16, {SIZE} x {SIZE} x {SIZE}", "the gain is that on the H200, over the rung before")
    return table(rows, ["predicted", "H200", "gain"], "TFLOP/s", notes)


@dataclass(frozen=True)
class Climb:
    """A rung that was simulated: D, what the simulator saw, and the source with it."""

    number: int
    D: NDArray[Any]
    result: Simulation
    first_line: int  # of the rung's own file, below the headers

    def _repr_html_(self) -> str:
        return annotated_html(self.result, first=self.first_line)


def climb(number: int, A: NDArray[Any], B: NDArray[Any], **constants: int) -> Climb:
    """A rung on A and B, simulated; where NVRTC is missing, with the PTX that comes with the lesson.

    >>> ones = np.ones((16, 16))
    >>> climb(1, ones, ones).D[0, 0]
    np.float32(16.0)
    """
    return simulated_rung(rung(number, None, result=None, **constants), A, B)


def simulated_rung(chosen: Rung | SparseRung, A: Any, B: NDArray[Any]) -> Climb:
    """A kernel on A and B, simulated; a sparse one also takes an A that is compressed.

    >>> ones = np.ones((16, 16))
    >>> simulated_rung(rung(1, result=None), ones, ones).D[0, 0]
    np.float32(16.0)
    """
    call = chosen.call(A, B)
    result = call.simulate(kernel(chosen.source), show=False)
    return Climb(chosen.row.number, call.D, result, first_own_line(chosen.source, chosen.row.file))


def first_own_line(source: str, file: str) -> int:
    """The first line of a kernel's own file, below its headers."""
    _, *own = _HEADERS.split(source_files()[file])
    return source[: source.index(own[0])].count("\n") + 1


def by_rung(climbs: list[Climb], what: str) -> Picture:
    """One number of every simulated rung as bars: "global read", "wavefronts", "instructions".

    >>> ones = np.ones((16, 16))
    >>> by_rung([climb(1, ones, ones)], "instructions").title
    'Instructions executed by warps'
    """
    rows = {row.number: row for row in ladder()}
    titles = {
        "global read": "KB read from global memory (or L2)",
        "wavefronts": "Wavefronts of shared memory, those of wgmma and TMA not counted",
        "instructions": "Instructions executed by warps",
    }
    values = {}
    for variant in climbs:
        result = variant.result
        amounts = {
            "global read": result.bytes["global read"] / 1024,
            "wavefronts": sum(line.wavefronts for line in result.by_line().values()),
            "instructions": sum(result.counts.values()),
        }
        values[f"{variant.number} {rows[variant.number].title}"] = float(amounts[what])
    return bars(values, titles[what], (), text="{:,.0f}".format)


_COPY, _MULTIPLY, _TIME = 10, 4, 64  # units of 100 cycles


def pipeline(stages: int) -> Picture:
    """Copies of tiles and their products over time, with `stages` stages in shared memory.

    >>> pipeline(1).notes[0], pipeline(4).notes[0]
    ('the tensor cores are busy for 1600 of 6400 cycles', 'the tensor cores are busy for 5400 of 6400 cycles')
    """
    spans: list[Span] = []
    free_at = [0] * stages  # when a stage may be overwritten
    done = busy = tile = 0
    while free_at[tile % stages] < _TIME:
        stage, lane = tile % stages, 4 * (tile % 8) + 2
        arrived = free_at[stage] + _COPY
        begin = max(arrived, done)
        done = begin + _MULTIPLY
        spans.append(Span(stage + 1, free_at[stage], arrived, "copy", lane, f"copy {tile}", "dim"))
        spans.append(Span(0, begin, done, "×", lane, f"× {tile}"))
        busy += max(min(done, _TIME) - begin, 0)
        free_at[stage] = done
        tile += 1
    idle = {"multiply": "nothing to multiply"}
    idle |= {f"stage {stage}": "waits for the product" for stage in range(stages)}
    grid = spans_over_time(spans, idle, [str(100 * first) for first in range(0, _TIME, 8)], 8, 100)
    notes = (
        f"the tensor cores are busy for {100 * busy} of {100 * _TIME} cycles",
        f"suppose a tile arrives {100 * _COPY} cycles after it was requested, and is multiplied in "
        f"{100 * _MULTIPLY}",
    )
    return Picture(f"A ring of {counted(stages, 'stage')} in shared memory", notes, (grid,))


_TILES = (SIZE // 128, SIZE // 256)


def tile_order(rows: int) -> Picture:
    """Which tiles of D 132 blocks compute first, if tiles are taken in bands of `rows` rows.

    >>> tile_order(1).notes[0]
    'they need 640 rows of A and 8192 columns of B: 145 MB'
    """
    high, wide = _TILES
    indices = np.zeros(_TILES, dtype=np.int64)  # when a tile is taken
    for index in range(high * wide):
        group, inside = divmod(index, rows * wide)
        height = min(rows, high - group * rows)
        indices[group * rows + inside % height, inside // height] = index
    at_once = indices < _SMS

    def entry(row: int, column: int) -> Entry:
        if at_once[row, column]:
            return Entry((), 2, f"tile {indices[row, column]}, at once")
        return Entry((), None, f"tile {indices[row, column]}, later", "dim")

    of_a, of_b = 128 * int(at_once.any(axis=1).sum()), 256 * int(at_once.any(axis=0).sum())
    notes = (
        f"they need {of_a} rows of A and {of_b} columns of B: {(of_a + of_b) * SIZE * 2 / 1e6:.0f} MB",
        f"tiles of 128 x 256; A, B and D are {SIZE} x {SIZE}; {_SMS} blocks run at once; L2 has 50 MB",
    )
    grid = replace(
        uniform_grid(_TILES, entry, [], [], ("row", "column"), density="tight"),
        rows=tuple(Header(first, 8, (f"{128 * first}",)) for first in range(0, high, 8)),
        columns=tuple(Header(first, 4, (f"{256 * first}",)) for first in range(0, wide, 4)),
    )
    return Picture(f"The first 132 tiles of D, rasterised in bands of {counted(rows, 'row')}", notes, (grid,))


#: The rungs that the lesson simulates, with the constants that make them small.
CLIMBED: dict[int, dict[str, int]] = {
    1: {}, 2: {}, 3: {}, 4: {}, 5: {}, 6: {}, 7: {}, 12: {"block_n": 64, "stages": 3},
}  # fmt: skip


def sources() -> list[str]:
    """The sources of the rungs that the lesson simulates."""
    return [rung(number, None, result=None, **constants).source for number, constants in CLIMBED.items()]


# -- exercises -----------------------------------------------------------------------------------------------


@checks("13.1")
def _traffic(answer: object) -> Sentences:
    cases = (
        (4096, 4096, 4096, 16, 8),
        (4096, 4096, 4096, 64, 64),
        (256, 128, 96, 128, 64),
        (64, 512, 32, 64, 256),
    )
    results = [whole_result_of(answer, *case, form="a number of bytes") for case in cases]
    expected = [m // bm * (n // bn) * (bm + bn) * k * 2 for m, n, k, bm, bn in cases]

    return {
        correct(results == expected): "So 4096 x 4096 x 4096 reads 51.5 GB with tiles of 16 x 8, and 4.3 "
        "GB with 64 x 64. A and B together take 0.067 GB: a larger tile uses each byte more often.",
        when(results == [value // 2 for value in expected]): "Those are elements. Each has 2 bytes.",
        when(results == [(bm + bn) * k * 2 for _, _, k, bm, bn in cases]): "That is what one block reads. "
        "How many blocks are there?",
        when(results == [(m + n) * k * 2 for m, n, k, _, _ in cases]): "That is A and B once. Every block "
        "reads its rows and columns again.",
        when(results == [m // bm * (n // bn) * bm * bn * k * 2 for m, n, k, bm, bn in cases]): "A block "
        "reads `block_m` rows and `block_n` columns: that is a sum, not a product.",
        otherwise: "Count the blocks, (M / block_m) (N / block_n), and multiply by what each reads: its "
        "rows of A and its columns of B, K elements of 2 bytes each.",
    }


@checks("13.2")
def _warp_tiles(answer: object) -> Sentences:
    submitted = numbers(answer, "four numbers of cycles", 4)
    expected = (12.0, 16.0, 48.0, 32.0)
    close = close_to(submitted, expected, 0.4)
    return {
        correct(all(close)): "With 32 x 32, shared memory takes longer than the tensor cores; with 64 x 64 "
        "it has time to spare. That is rung 4. (128 x 64 would be better still, but needs 256 registers for "
        "accumulators, and a thread has 255.)",
        when(abs(submitted[1] - 8) <= 0.5 or abs(submitted[3] - 16) <= 0.5): "w rows of A *and* w columns "
        "of B.",
        when(abs(submitted[0] - 8) <= 0.5 or abs(submitted[2] - 32) <= 0.5): "Those are the `mma`s. Each "
        "takes 1.5 cycles.",
        when(not (close[0] and close[2])): "Count the `mma`s, (w / 16) (w / 8), and multiply by 1.5 cycles.",
        otherwise: "The `mma`s are right. Shared memory delivers 2 w rows of 32 bytes, at 128 bytes per "
        "cycle.",
    }


_LOOP = """\
    for (int i = 0; i < count; ++i) {
        cp_async_wait<STAGES - 2>();  // this thread's part of tile i is there
        __syncthreads();              // everybody's is, and everybody has done with tile i - 1
        load(i + STAGES - 1);         // into the place of tile i - 1
"""
_SMALL = {"block_m": 32, "block_n": 32, "warps_m": 1, "warps_n": 2, "stages": 3}

_DEPTHS = (320, 64)  # K: more tiles than stages, and one


@checks("13.3")
def _iteration(answer: object) -> Sentences:
    chosen = rung(5, None, result=None, **_SMALL)
    before, after = chosen.source.split(_LOOP)
    head = "    for (int i = 0; i < count; ++i) {\n"
    built = compiled(answer, "gemm", before + head, after)
    advice = "Every stage has its place; `load` knows it."
    for K in _DEPTHS:
        A, B = normal_numbers((32, K), 11), normal_numbers((K, 32), 12)
        call = chosen.call(A, B)
        call.padded.fill(np.nan)
        result = simulated(built, (call.grid, 1), call.block, call.arguments, advice, shared=call.shared)
        wrong = matmul(A, B, instruction=MMA, show=False) != call.D
        groups = waits(result, "cp.async.wait_group")
        drained = _DEPTHS[0] == K and groups[0] > groups.total() / 2  # the last iterations may wait for all
        if wrong.any() or result.hazards or drained:
            break
    counts = result.counts
    found = {(hazard.kind, hazard.opcode.startswith("cp.async")) for hazard in result.hazards}
    return {
        correct(not wrong.any() and not result.hazards and not drained): "A wait for this thread's part of "
        "tile i, a barrier for all other parts, and the request. After the same barrier no thread reads "
        "tile i - 1 any more, so that its stage can be refilled: one barrier in each iteration is enough.",
        when(
            not wrong.any() and not result.hazards
        ): "It is right, but every iteration waits for all copies, "
        "also for those of later tiles: nothing is left in flight. How many commit groups may still be?",
        when(not groups): "No thread waits for a copy: the warps multiply what may not have arrived.",
        when(not counts["bar.sync"]): "`cp_async_wait` waits for the copies of this thread only. What about "
        "those of the others?",
        when(
            counts["cp.async.commit_group"] == 2 * (_SMALL["stages"] - 1)
        ): "Tiles 0 and 1 were requested before the loop. Where are the others requested?",
        when(
            ("race", True) in found
        ): "A thread requests a tile while another warp may still multiply what is "
        "in that stage. Which tile was there, and after which of your lines have all warps done with it?",
        when(("race", False) in found): "A warp reads a part of tile i that a thread of the other one has "
        "copied. That thread has waited for it; but how does this warp know?",
        when(("missing wait", True) in found): "A copy goes into a stage that an earlier copy may still be "
        "filling: which tile belongs there, and who has waited for the one before?",
        when(
            ("missing wait", False) in found
        ): f"The warps multiply a tile that may still be on its way (K = "
        f"{K}, {K // 64} tiles). Was it requested in time, and how many groups were committed after it? So "
        "many may stay in flight, in the first iteration as in the last ones.",
        **reported(result),
        otherwise: f"{where(wrong)}. Which tile belongs in the stage that has become free?",
    }


@checks("13.4")
def _stages(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "three whole numbers")
    size = (128 + 256) * 128
    expected = (3, size, _LARGEST // size)
    rates = {stages: recorded()["rates"][f"9, {stages} stages"] for stages in STAGES}
    return {
        correct(submitted == expected): "Little's law again: a stage is occupied for 1500 + 1024 cycles, and "
        f"one is used up every 1024. With 2 stages the profile predicts {rates[2]} TFLOP/s, with 3 "
        f"{rates[3]}; the fourth is there for loads that take longer. An H200 reached {STAGE_RATES[2]} with "
        f"2 stages, {STAGE_RATES[3]} with 3 and {RATES[9]} with 4: here the third is worth most, the fourth "
        "nothing.",
        when(submitted[0] == 2): "Two stages are enough only if a load takes no longer than a product.",
        when(submitted[0] in (4, 5)): "Eight `wgmma` of 128 cycles follow each other on the same tensor "
        "cores: 1024 cycles for a stage.",
        when(submitted[0] != expected[0]): "A stage is occupied for 1500 + 1024 cycles, and every 1024 "
        "cycles another one must be ready. Round up.",
        when(submitted[1] in (size // 2, 128 * 256)): "The first is right. A stage has rows of A and "
        "columns of B.",
        when(submitted[1] != expected[1]): "The first is right. 128 + 256 rows, 128 bytes each.",
        otherwise: "The first two are right. How often does a stage fit into 232,448 bytes?",
    }


@checks("13.5")
def _lost(answer: object) -> Sentences:
    idle, short, long = numbers(answer, "three numbers", 3)
    gap = between_tiles(9)
    percents = [100 * idle / (idle + 16 * k) for k in (1024, SIZE)]
    close = close_to((short, long), percents, 1.5)
    gained = [RATES[10] / RATES[9] - 1, recorded()["rates"]["10"] / recorded()["rates"]["9"] - 1]
    return {
        when(not 0.75 * gap < idle < 1.25 * gap): "Look for the gap in the row of the tensor cores: at "
        "which cycle does the first tile end, and at which does the next one begin? (What comes before the "
        "first `wgmma` is not between two tiles.)",
        correct(all(close)): f"In rung 10 it is only {between_tiles(10):,.0f} cycles. For 8192 the profile "
        f"predicts {gained[1]:.0%} more speed from that; an H200 gained {gained[0]:.0%}.",
        when(abs(short - 100 * idle / (16 * 1024)) < 1.5): "That is the idle time by the busy time. Of all "
        "their time, which is both together?",
        when(close[0]): "The first two are right. With K = 8192 a tile takes eight times as long, and the "
        "time between two tiles is the same.",
        otherwise: "The cycles are right. A tile with K = 1024 is multiplied in 16 x 1024 cycles: idle / "
        "(idle + busy), in percent.",
    }


@checks("13.6")
def _cluster(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "three numbers of bytes")
    alone, shared = (128 + 256) * 128, (128 + 128) * 128
    return {
        correct(submitted == (alone, shared, alone)): "A third less is read from L2, and the same amount "
        f"arrives. With {SIZE} x {SIZE} x {SIZE} that took an H200 from {RATES[10]} to {RATES[11]} TFLOP/s.",
        when(submitted[0] != alone): "128 rows of A and 256 columns of B, 128 bytes each.",
        when(submitted[1] == alone // 2): "The first is right. They share B only: the rows of A are "
        "different.",
        when(submitted[1] != shared): "The first is right. Each loads its own 128 rows of A, and half of "
        "B's columns.",
        otherwise: "The first two are right. A block multiplies the whole stage, whoever loaded it: how "
        "many bytes must have arrived in its shared memory?",
    }


@checks("13.7")
def _waves(answer: object) -> Sentences:
    cases = (
        *((2048, 2048, 128, 256, 132), (4096, 4096, 128, 256, 132), (1024, 1024, 128, 128, 132)),
        *((4096, 4224, 128, 256, 132), (300, 300, 128, 256, 132), (4096, 4096, 128, 256, 108)),
    )
    results = [number_of(answer, *case, form="a number from 0 to 1") for case in cases]
    tiles = [ceil(m / bm) * ceil(n / bn) for m, n, bm, bn, _ in cases]
    sms = [case[-1] for case in cases]

    def busy(counts: Sequence[float], sms: Sequence[int]) -> list[float]:
        return [count / (ceil(count / at_once) * at_once) for count, at_once in zip(counts, sms, strict=True)]

    right = busy(tiles, sms)
    exact = [m * n / (bm * bn) for m, n, bm, bn, _ in cases]

    def near(values: list[float]) -> bool:
        return all(close_to(results, values, 0.004))

    return {
        correct(near(right)): "97 percent for 2048 and for 4096: tiles of 128 x 256 happen to fit an H200 "
        "well. But 4096 x 4224, a little more, falls to 82 percent: five waves instead of four, the last "
        "with 16 tiles.",
        when(
            near(busy(tiles, [_SMS] * len(tiles)))
        ): "Right for the 132 SMs of an H200. An A100 has 108: `sms` says how many blocks run at once.",
        when(
            near([count / at_once for count, at_once in zip(tiles, sms, strict=True)])
        ): "That is the number of waves. How many waves does it take, rounded up?",
        when(near(busy(exact, sms))): "Right except at the edges: a "
        "tile that is only partly in D counts as a whole one.",
        when(near([1 - value for value in right])): "That is the fraction that was lost.",
        when(near([100 * value for value in right])): "Right, but give it as a number from 0 to 1.",
        otherwise: "Count the tiles (rounded up in both directions) and the waves (tiles / sms, rounded "
        "up). In each wave `sms` tiles could have been computed.",
    }
