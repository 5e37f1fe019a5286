"""Lesson 11: what each rung of the GEMM ladder gains, and what bounds it; its pictures."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import counted
from ..gemm import Rung, SparseRung, ladder, rung
from ..gemm.matmul import matmul
from ..gemm.source import source_files
from ..instruction import mma_instruction
from ..simulation import Simulation
from ..views import Header, Picture
from ..views.charts import bars
from ..views.grid import Entry, uniform_grid
from ..views.kernel_profile import profile_html
from .answers import number_of, numbers, whole_numbers, whole_result_of
from .checking import Sentences, checks, correct, otherwise, when
from .how_fast import Span, over_time
from .reader_kernels import compiled, first_hazard, kernel, normal_numbers, simulated, where

MMA = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")

#: TFLOP/s of each rung on an H200: f16 with f32 accumulators, 4096 in each direction.
RATES = {1: 20, 2: 51, 3: 178, 4: 237, 5: 386, 6: 598, 7: 606, 8: 610, 9: 663, 10: 754, 11: 760, 12: 761}
CUBLAS = 769

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
    12: "left to do: little; cuBLAS is here, too",
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


@dataclass(frozen=True)
class Climb:
    """A rung that was simulated: D, what the simulator saw, and the source with it."""

    number: int
    D: NDArray[Any]
    result: Simulation
    first_line: int  # of the rung's own file, below the headers

    def _repr_html_(self) -> str:
        return profile_html(self.result, first=self.first_line)


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
    for each in climbs:
        result = each.result
        amounts = {
            "global read": result.bytes["global read"] / 1024,
            "wavefronts": sum(line.wavefronts for line in result.by_line().values()),
            "instructions": sum(result.counts.values()),
        }
        values[f"{each.number} {rows[each.number].title}"] = float(amounts[what])
    return bars(values, titles[what], (), text="{:,.0f}".format)


_COPY, _MULTIPLY, _TIME = 10, 4, 64  # units of 100 cycles


def pipeline(stages: int) -> Picture:
    """Copies of tiles and their products over time, with `stages` stages in shared memory.

    >>> pipeline(1).notes[0], pipeline(4).notes[0]
    ('the tensor cores are busy for 16 of 64 units', 'the tensor cores are busy for 54 of 64 units')
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
    grid = over_time(spans, idle, [str(100 * first) for first in range(0, _TIME, 8)], 8, 100)
    notes = (
        f"the tensor cores are busy for {busy} of {_TIME} units",
        f"suppose a tile arrives {100 * _COPY} cycles after it was requested, and is multiplied in "
        f"{100 * _MULTIPLY}",
    )
    plural = "s" if stages > 1 else ""
    return Picture(f"A ring of {stages} stage{plural} in shared memory", notes, (grid,))


_SIZE = 8192
_TILES = (_SIZE // 128, _SIZE // 256)


def tile_order(rows: int) -> Picture:
    """Which tiles of D 132 blocks compute first, if tiles are taken in groups of `rows` rows.

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
        f"they need {of_a} rows of A and {of_b} columns of B: {(of_a + of_b) * _SIZE * 2 / 1e6:.0f} MB",
        f"tiles of 128 x 256; A, B and D are {_SIZE} x {_SIZE}; {_SMS} blocks run at once; L2 has 50 MB",
    )
    grid = replace(
        uniform_grid(_TILES, entry, [], [], ("row", "column"), density="tight"),
        rows=tuple(Header(first, 8, (f"{128 * first}",)) for first in range(0, high, 8)),
        columns=tuple(Header(first, 4, (f"{256 * first}",)) for first in range(0, wide, 4)),
    )
    return Picture(
        f"The first 132 tiles of D, rasterised in groups of {counted(rows, 'row')}", notes, (grid,)
    )


#: The rungs that the lesson simulates, with the constants that make them small.
CLIMBED: dict[int, dict[str, int]] = {
    1: {}, 2: {}, 3: {}, 4: {}, 5: {}, 6: {}, 7: {}, 12: {"block_n": 64, "stages": 3},
}  # fmt: skip


def sources() -> list[str]:
    """The sources of the rungs that the lesson simulates."""
    return [rung(number, None, result=None, **constants).source for number, constants in CLIMBED.items()]


# -- exercises -----------------------------------------------------------------------------------------------


@checks("11.1")
def _traffic(answer: object) -> Sentences:
    cases = (
        (4096, 4096, 4096, 16, 8),
        (4096, 4096, 4096, 64, 64),
        (256, 128, 96, 128, 64),
        (64, 512, 32, 64, 256),
    )
    results = [whole_result_of(answer, *case, form="a number of bytes") for case in cases]
    expected = [m // bm * (n // bn) * (bm + bn) * k * 2 for m, n, k, bm, bn in cases]

    def everywhere(values: list[int]) -> bool:
        return results == values

    return {
        correct(everywhere(expected)): "So 4096 x 4096 x 4096 reads 51.5 GB with tiles of 16 x 8, and 4.3 "
        "GB with 64 x 64. A and B together take 0.067 GB: a larger tile uses each byte more often.",
        when(everywhere([value // 2 for value in expected])): "Those are elements. Each has 2 bytes.",
        when(everywhere([(bm + bn) * k * 2 for _, _, k, bm, bn in cases])): "That is what one block reads. "
        "How many blocks are there?",
        when(everywhere([(m + n) * k * 2 for m, n, k, _, _ in cases])): "That is A and B once. Every block "
        "reads its rows and columns again.",
        when(everywhere([m // bm * (n // bn) * bm * bn * k * 2 for m, n, k, bm, bn in cases])): "A block "
        "reads `block_m` rows and `block_n` columns: that is a sum, not a product.",
        otherwise: "Count the blocks, (M / block_m) (N / block_n), and multiply by what each reads: its "
        "rows of A and its columns of B, K elements of 2 bytes each.",
    }


@checks("11.2")
def _wavefronts(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 4, "four numbers")
    expected = (16, 128, 4, 16)
    return {
        correct(submitted == expected): "An eighth of the wavefronts, all thanks to the places where the "
        "rows are stored; `ldmatrix` saves instructions as well. Rung 3 is 3.5 times as fast as rung 2.",
        when(submitted[0] == 6): "That is 4 + 2. A warp has 2 tiles of A and 4 of B.",
        when(submitted[0] != expected[0]): "2 tiles of A with 4 words each, and 4 tiles of B with 2 words "
        "each.",
        when(submitted[1] == submitted[0]): "One wavefront each would need 32 different banks. Rows are 128 "
        "bytes apart, which is once around all banks: in which banks are the words of the 8 rows?",
        when(submitted[1] != expected[1]): "The 8 rows of a load begin in the same bank, so their words "
        "come one after the other: 8 wavefronts for each load.",
        when(submitted[2] != expected[2]): "The first two are right. `ldmatrix.x4` does what 4 loads did.",
        otherwise: "The first three are right. `ldmatrix.x4` reads four matrices of 8 rows of 16 bytes: 128 "
        "bytes each, one wavefront each at best.",
    }


@checks("11.3")
def _warp_tiles(answer: object) -> Sentences:
    submitted = numbers(answer, "four numbers of cycles", 4)
    expected = (12.0, 16.0, 48.0, 32.0)
    close = [abs(one - other) < 0.4 for one, other in zip(submitted, expected, strict=True)]
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


@checks("11.4")
def _stages(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "three whole numbers")
    size = (128 + 128) * 128
    expected = (4, size, _LARGEST // size)
    return {
        correct(submitted == expected): "Little's law again: a stage is occupied for 1400 cycles, and one "
        "is used up every 400 cycles.",
        when(submitted[0] == ceil(10 / 4)): "That many copies are in flight. The stage that is being "
        "multiplied is occupied, too.",
        when(submitted[0] == 2): "Two stages hide 400 of the 1000 cycles: move the slider.",
        when(submitted[0] != expected[0]): "A stage is occupied for 1000 + 400 cycles, and every 400 cycles "
        "another one must be ready. Round up.",
        when(submitted[1] in (size // 2, 128 * 128)): "The first is right. A stage has rows of A and "
        "columns of B.",
        when(submitted[1] != expected[1]): "The first is right. 128 + 128 rows, 128 bytes each.",
        otherwise: "The first two are right. How often does a stage fit into 232,448 bytes?",
    }


_LOOP = """\
    for (int i = 0; i < count; ++i) {
        cp_async_wait<STAGES - 2>();  // this thread's part of tile i is there
        __syncthreads();              // everybody's is, and everybody has done with tile i - 1
        load(i + STAGES - 1);         // into the place of tile i - 1
"""
_SMALL = {"block_m": 32, "block_n": 32, "warps_m": 1, "warps_n": 2, "stages": 3}


@checks("11.5")
def _iteration(answer: object) -> Sentences:
    chosen = rung(5, None, result=None, **_SMALL)
    before, after = chosen.source.split(_LOOP)
    head = "    for (int i = 0; i < count; ++i) {\n"
    made = compiled(answer, "gemm", before + head, after)
    A, B = normal_numbers((32, 384), 11), normal_numbers((384, 32), 12)
    call = chosen.call(A, B)
    call.padded.fill(np.nan)
    advice = "Every stage has its place; `load` knows it."
    result = simulated(made, (call.grid, 1), call.block, call.arguments, advice, shared=call.shared)
    expected = matmul(A, B, instruction=MMA, show=False)
    wrong = expected != call.D
    kinds = {hazard.kind for hazard in result.hazards}
    text = "".join(str(answer).split())
    return {
        correct(not wrong.any() and not result.hazards and "cp_async_wait<0>" not in text): "One wait, one "
        "barrier, one load. The barrier does two jobs: tile i has arrived for all threads, and no thread "
        "reads tile i - 1 any more, so its stage can be refilled.",
        when(not wrong.any() and not result.hazards): "It is right, but `cp_async_wait<0>` waits for the "
        "copies of later tiles, too: nothing is left in flight. How many groups may still be?",
        when("cp_async_wait" not in text): f"Nobody waits for a copy. {first_hazard(result)}.",
        when("__syncthreads" not in text): "`cp_async_wait` waits for the copies of this thread only. What "
        "about those of the others?",
        when("load(" not in text): "Tiles 0 and 1 were requested before the loop. Where are the others "
        "requested?",
        when(kinds): f"The simulator found a hazard: {first_hazard(result)}.",
        otherwise: f"{where(wrong)}. Which tile belongs in the stage that has become free?",
    }


@checks("11.6")
def _cluster(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "three numbers of bytes")
    alone, shared = (128 + 256) * 128, (128 + 128) * 128
    return {
        correct(submitted == (alone, shared, alone)): "A third less is read from L2, and the same amount "
        "arrives. With bf16 and 8192 x 8192 x 8192 that took an H200 from 773 to 796 TFLOP/s.",
        when(submitted[0] != alone): "128 rows of A and 256 columns of B, 128 bytes each.",
        when(submitted[1] == alone // 2): "The first is right. They share B only: the rows of A are "
        "different.",
        when(submitted[1] != shared): "The first is right. Each loads its own 128 rows of A, and half of "
        "B's columns.",
        otherwise: "The first two are right. A block multiplies the whole stage, whoever loaded it: how "
        "many bytes must have arrived in its shared memory?",
    }


@checks("11.7")
def _waves(answer: object) -> Sentences:
    cases = (
        (2048, 2048, 128, 256),
        (4096, 4096, 128, 256),
        (1024, 1024, 128, 128),
        (4096, 4224, 128, 256),
        (300, 300, 128, 256),
    )
    results = [number_of(answer, *case, form="a number from 0 to 1") for case in cases]
    tiles = [ceil(m / bm) * ceil(n / bn) for m, n, bm, bn in cases]
    right = [count / (ceil(count / _SMS) * _SMS) for count in tiles]
    exact = [m * n / (bm * bn) for m, n, bm, bn in cases]

    def near(values: list[float]) -> bool:
        return all(abs(one - other) < 0.004 for one, other in zip(results, values, strict=True))

    return {
        correct(near(right)): "97 percent for 2048 and for 4096: tiles of 128 x 256 happen to fit an H200 "
        "well. But 4096 x 4224, a little more, falls to 82 percent: five waves instead of four, the last "
        "with 16 tiles.",
        when(near([count / _SMS for count in tiles])): "That is the number of waves. How many waves does it "
        "take, rounded up?",
        when(near([count / (ceil(count / _SMS) * _SMS) for count in exact])): "Right except at the edges: a "
        "tile that is only partly in D counts as a whole one.",
        when(near([1 - value for value in right])): "That is the fraction that was lost.",
        when(near([100 * value for value in right])): "Right, but give it as a number from 0 to 1.",
        otherwise: "Count the tiles (rounded up in both directions) and the waves (tiles / sms, rounded "
        "up). In each wave `sms` tiles could have been computed.",
    }
