"""Lesson 20: a product with a pruned, compressed A; what it gains and what it loses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...gemm import Rung, SparseRung, rung, sparse_rung
from ...instruction import mma_instruction
from ...isa.sparsity import STRUCTURES
from ...memory import pack_metadata
from ...views import Picture
from ...views.charts import bars
from ...views.grid import Entry, uniform_grid
from ..answers import WrongForm, close_to, number_of, numbers, whole_numbers, whole_result_of
from ..checking import Sentences, checks, correct, otherwise, when
from .from_instruction_to_gemm import Climb, simulated_rung

MMA = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
WGMMA = mma_instruction("wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16")
TWO = STRUCTURES["2:4"]

#: Constants that make the kernels of the lesson small: of rung 5 and mma.sp, and of wgmma.sp.
SMALL = {"block_m": 64, "block_n": 64, "warps_m": 2, "warps_n": 2, "stages": 2}
_SMALL_WGMMA = {"block_m": 64, "tiles_m": 1, "block_n": 64, "stages": 3, "cluster": 2}

#: TFLOP/s on an H200, M = N = K: dense, and sparse (benchmarks/results.json).
RATES: dict[str, dict[int, tuple[float, float]]] = {
    "f16": {8192: (775, 1216), 4096: (752, 1126), 2048: (617, 887)},
    "e4m3": {8192: (1535, 2352), 4096: (1435, 2064)},
    "s8": {8192: (1611, 2354), 4096: (1437, 1835)},
}
#: The same for cuSPARSELt, with f16.
LIBRARY = {8192: 1149, 4096: 963, 2048: 410}
#: TFLOP/s of the sparse kernel on an H200 by its tile, f16, 8192 in each direction.
TILES = {(128, 128): 846, (128, 256): 1097, (256, 192): 1175, (256, 256): 1296}
_PEAK = 132 * 8192 * 1.98e9 / 1e12  # TFLOP/s: SMs, operations per cycle of wgmma.sp, clock

#: Distributions of random weights, from uniform ones to those with many outliers.
WEIGHTS: dict[str, Callable[[np.random.Generator], NDArray[np.float64]]] = {
    "uniform": lambda rng: rng.uniform(-1, 1, (256, 512)),
    "normal": lambda rng: rng.normal(size=(256, 512)),
    "Laplace": lambda rng: rng.laplace(size=(256, 512)),
    "Student's t": lambda rng: rng.standard_t(3, size=(256, 512)),
}


# -- what the lesson shows -----------------------------------------------------------------------------------


@lru_cache(maxsize=8)
def random_weights(name: str) -> NDArray[np.float64]:
    """A matrix of random weights, 256 x 512.

    >>> random_weights("normal").shape
    (256, 512)
    """
    return WEIGHTS[name](np.random.default_rng(21))


def kept(weights: str) -> Picture:
    """The share of all squares that stays if half of the weights go, by who may choose which.

    >>> [cell.text for cell in kept("normal").grids[0].cells if cell.lines]
    ['92.8%', '86.7%', '79.2%', '50.0%']
    """
    squares = random_weights(weights) ** 2
    total = squares.sum()
    anywhere = np.sort(squares, axis=None)[squares.size // 2 :].sum() / total
    shares = {
        "half, anywhere": float(anywhere),
        "2:4": float((TWO.prune(random_weights(weights)) ** 2).sum() / total),
        "4:8, in pairs": float((STRUCTURES["4:8"].prune(random_weights(weights)) ** 2).sum() / total),
        "half, blindly": 0.5,
    }
    title = f"What remains of the squares of {weights} weights if half of the weights go"
    notes = (
        "kept: the largest half of the whole matrix; the largest two of every 4; the largest two of 4 pairs",
    )
    return bars(shares, title, notes, text="{:.1%}".format, most=1.0)


def patterns() -> Picture:
    """Which weights stay: the largest half anywhere, and 2:4.

    >>> [grid.name for grid in patterns().grids]
    ['half, anywhere', '2:4']
    """
    part = np.round(random_weights("Laplace")[:6, :16], 1) + 0.0  # no -0.0
    limit = np.sort(np.abs(part), axis=None)[part.size // 2]
    masks = {"half, anywhere": np.abs(part) >= limit, "2:4": TWO.prune(part) != 0}
    grids = []
    for name, mask in masks.items():

        def entry(row: int, column: int, mask: NDArray[np.bool_] = mask) -> Entry:
            stays = bool(mask[row, column])
            value = f"{part[row, column]:.1f}"
            tooltip = f"row {row}, column {column}: {value} {'stays' if stays else 'goes'}"
            heat = float(np.clip(part[row, column] / 4, -1, 1)) if stays else None
            return Entry((value,), tooltip=tooltip, state="plain" if stays else "dim", heat=heat)

        grid = replace(
            uniform_grid((6, 16), entry, 1, 4, ("row", "column"), name=name, title=name),
            column_rules=tuple((first, 0, 6) for first in range(0, 17, 4)),
        )
        grids.append(grid)
    lost = {name: 1 - (part[mask] ** 2).sum() / (part**2).sum() for name, mask in masks.items()}
    notes = tuple(f"{name}: {share:.1%} of the squares go" for name, share in lost.items())
    return Picture("Six rows of Laplace weights, pruned in two ways", notes, tuple(grids))


def words(lane: int) -> Picture:
    """The chunks whose nibbles are in one lane's word of metadata, f16: 16 rows of a warp, 16 chunks.

    >>> words(5).notes[0]
    'lane 5: chunks 4 to 7 of rows 1 and 9, with selector 0'
    """

    def entry(row: int, chunk: int) -> Entry:
        owner, low = 4 * (row % 8) + chunk // 4, 4 * (chunk % 4 + 4 * (row // 8))
        tooltip = f"row {row}, chunk {chunk}: lane {owner}, bits {low} to {low + 3}"
        if owner == lane:
            return Entry((str(low),), owner, tooltip, "mark")
        return Entry(("",), owner, tooltip, "dim")

    grid = uniform_grid((16, 16), entry, 1, 1, ("row", "chunk"), density="close")
    grid = replace(grid, column_rules=((8, 0, 16),))
    first, quarter = divmod(lane, 4)
    notes = (
        f"lane {lane}: chunks {4 * quarter} to {4 * quarter + 3} of rows {first} and {first + 8}, "
        f"with selector {quarter // 2}",
        "numbers are the lowest bit of a nibble; a colour is a lane: point at any chunk for its number",
    )
    return Picture(f"The word of metadata of lane {lane}", notes, (grid,))


def _chosen(family: str) -> Rung | SparseRung:
    if family == "mma":
        return rung(5, None, result=None, **SMALL)
    if family == "mma.sp":
        return sparse_rung(MMA, result=None, **SMALL)
    return sparse_rung(WGMMA, result=None, **_SMALL_WGMMA)


def multiply(family: str, A: Any, B: NDArray[Any]) -> Climb:
    """A B with a small kernel of "mma", "mma.sp" or "wgmma.sp", simulated; a sparse A may be compressed.

    >>> A = np.tile([1, 0, 0, 2], (64, 8))
    >>> multiply("mma.sp", A, np.ones((32, 64))).D[0, 0]
    np.float32(24.0)
    """
    return simulated_rung(_chosen(family), A, B)


def compared(dense: Climb, sparse: Climb) -> Picture:
    """What the sparse kernel does, as a share of what the dense one does.

    >>> A, B = np.zeros((64, 64)), np.zeros((64, 64))
    >>> picture = compared(multiply("mma", A, B), multiply("mma.sp", A, B))
    >>> [cell.text for cell in picture.grids[0].cells if cell.lines][0]
    '50%'
    """
    amounts = [
        {
            "matrix instructions": variant.result.kinds["mma"],
            "bytes from global memory": variant.result.bytes["global read"],
            "bytes from shared memory": variant.result.bytes["shared read"],
        }
        for variant in (dense, sparse)
    ]
    shares = {name: amounts[1][name] / amounts[0][name] for name in amounts[0]}
    notes = ("the dense kernel of the same tiles is 100%",)
    return bars(shares, "What mma.sp needs, compared with mma", notes, text="{:.0%}".format, most=1.0)


def busy(m: int, n: int, sparse: bool) -> float:
    """The share of time in which shared memory lets the tensor cores work, for a tile of m x n.

    >>> busy(128, 256, sparse=False), round(busy(256, 192, sparse=True), 2)
    (1.0, 0.63)
    """
    return min(1.0, _share(m // 64, n, 64 if sparse else 32))


def _share(rows: int, n: int, column: int) -> float:
    """Bytes that shared memory could move during `rows` instructions, over those that it has to move."""
    return rows * n * 64 / (rows * (2048 + n * column) + rows * 2048 + n * column)


def tiles() -> Picture:
    """The sparse kernel by its tile: the bound by shared memory, and what an H200 reached.

    >>> tiles().grids[0].row_groups[2].text
    '256 x 192'
    """
    groups = {
        f"{m} x {n}": {"shared memory": busy(m, n, True), "reached": reached / _PEAK}
        for (m, n), reached in TILES.items()
    }
    notes = (
        f"100%: what the tensor cores alone would do at 1.98 GHz, {_PEAK:,.0f} TFLOP/s",
        "measured with f16 and 8192 x 8192 x 8192",
        "256 x 256 with sums of f16: sums of f32 would not fit into registers",
    )
    return bars(groups, "Which tile is best?", notes, text="{:.0%}".format, most=1.0)


def rates(size: int) -> Picture:
    """Dense and sparse products of one size on an H200, in TFLOP/s (s8: TOP/s).

    >>> rates(4096).notes[0]
    'sparse is 1.50 times as fast with f16, 1.44 with e4m3, 1.28 with s8'
    """
    groups = {}
    gains: list[str] = []
    for name, by_size in RATES.items():
        if size in by_size:
            dense, sparse = by_size[size]
            groups[name] = {"dense": dense, "sparse": sparse}
            gains.append(f"{sparse / dense:.2f}{'' if gains else ' times as fast'} with {name}")
    notes = (
        f"sparse is {', '.join(gains)}",
        f"cuSPARSELt, NVIDIA's library, reached {LIBRARY[size]:,} with f16",
        "TFLOP/s (s8: TOP/s); the zeros of A count as operations; A was compressed beforehand",
    )
    return bars(groups, f"{size} x {size} x {size} on an H200", notes, text="{:,.0f}".format, most=2354)


def sources() -> list[str]:
    """The sources of the kernels that the lesson simulates."""
    return [_chosen(family).source for family in ("mma", "mma.sp", "wgmma.sp")]


# -- exercises -----------------------------------------------------------------------------------------------


@checks("20.1")
def _error(answer: object) -> Sentences:
    cases = np.array([0.87, 0.92, 0.5, 0.99])
    results = [number_of(answer, case, form="a number from 0 to 1") for case in cases.tolist()]

    def near(values: NDArray[np.float64]) -> bool:
        return bool(np.allclose(results, values, atol=2e-3))

    return {
        correct(near(np.sqrt(1 - cases))): "That is 36 percent for normally distributed weights, although "
        "87 percent of the squares remain: this is not rounding, it is a different network. It has to be "
        "trained further before it works again.",
        when(near(1 - cases)): "That is the share of squares that is lost. The error is a length, not a "
        "square.",
        when(near(np.sqrt(cases))): "That is the length of what remains. What is the length of what is lost?",
        when(near(1 - np.sqrt(cases))): "Lengths at right angles do not add up; their squares do.",
        when(near(100 * np.sqrt(1 - cases))): "Right, but give it as a share, not in percent.",
        otherwise: "E has the share 1 - kept of A's squares. The relative error is the square root of that "
        "share.",
    }


MIXED = np.array(
    [
        [7, 5, 8, 6, 0, 0, 0, 0],
        [9, 0, 0, 0, 6, 8, 0, 7],
        [0, 0, 5, 8, 7, 0, 9, 0],
        [0, 6, 0, 0, 0, 7, 5, 9],
    ]
)


@checks("20.2")
def _order(answer: object) -> Sentences:
    order = whole_numbers(answer, 8, "a list of eight columns")
    if sorted(order) != list(range(8)):
        raise WrongForm(f"{list(order)}: every column from 0 to 7 appears once in an order.")
    counts = (MIXED[:, order] != 0).reshape(4, 2, 4).sum(axis=2)
    too_many = counts > 2
    row, half = divmod(int(too_many.argmax()), 2)
    return {
        correct(not too_many.any()): "Only which four columns share a chunk matters, not their order. For "
        "large matrices you have to search for the best order, and libraries do; it is done once, and costs "
        "nothing in the product, since the previous layer can deliver B's rows in that order.",
        when(order == tuple(range(8))): "That is the original order. Row 0 has four non-zeros in its first "
        "chunk.",
        otherwise: f"In this order row {row} has {counts[row, half]} non-zeros in its "
        f"{('last' if half else 'first')} four columns. Begin with row 0: two of its four columns go into "
        "each half.",
    }


@checks("20.3")
def _size(answer: object) -> Sentences:
    cases = ((8192, 8192, 16), (128, 256, 8), (64, 64, 16))
    results = [whole_result_of(answer, *case, form="a number of bytes") for case in cases]

    def everywhere(bits: Callable[[int, int], float]) -> bool:
        return results == [m * k * bits(b, 8) for m, k, b in cases]

    return {
        correct(everywhere(lambda bits, byte: (bits / 2 + 1) / byte)): "9/16 of the dense A with f16, 5/8 "
        "with FP8 and s8. A product with few columns of B spends its time waiting for A to arrive from "
        "memory: there the gain is 16/9 or 8/5 at best, not 2.",
        when(everywhere(lambda bits, byte: bits / 2 / byte)): "Those are the elements. Metadata is missing.",
        when(everywhere(lambda bits, byte: (bits / 2 + 2) / byte)): "2 bits for each *stored* element, and "
        "only half of the elements are.",
        when(everywhere(lambda bits, byte: (bits / 2 + 0.5) / byte)): "That is one nibble for every eight "
        "elements. A chunk of four has two stored elements, so 4 bits.",
        when(everywhere(lambda bits, byte: bits / 2 + 1)): "Those are bits. A byte has 8 of them.",
        when(everywhere(lambda bits, byte: bits / byte)): "That is the dense A.",
        otherwise: "M K / 2 elements are stored; each takes its own bits and 2 bits of metadata; 8 bits "
        "make a byte.",
    }


_ROW, _COLUMN = 93, 102


def _place() -> tuple[int, ...]:
    """Block, word, lane and lowest bit of the nibble of the exercise, in the words of `pack_metadata`."""
    nibbles = np.full((128, 32), 0b0100)
    before = pack_metadata(MMA, nibbles)
    nibbles[_ROW, _COLUMN // 4] = 0b1110
    changed = before ^ pack_metadata(MMA, nibbles)
    (place,) = np.argwhere(changed).tolist()
    return *place, (int(changed[*place]) & 0xFFFFFFFF).bit_length() - 4


@checks("20.4")
def _find_word(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 4, "`(block, word, 32 warp + lane, lowest bit)`")
    expected = _place()
    block, word, lane, _bit = submitted
    return {
        correct(submitted == expected): "A warp reads its 32 words with one load of 128 bytes, and every "
        "lane then has what `mma.sp` needs from it. In A's own order, row by row, the eight nibbles of a "
        "lane would be in two rows, far apart.",
        when(block != expected[0]): "64 rows make a block, and the first block is number 0.",
        when(word in (_COLUMN // 16, _COLUMN // 64 + 1) and word != expected[1]): "A chunk has 4 columns: "
        f"column {_COLUMN} is in chunk {_COLUMN // 4} of its row. 16 chunks make a word.",
        when(word != expected[1]): "16 chunks of 4 columns make a word.",
        when(lane < 32): f"The first two are right. Row {_ROW % 64} of the block is not in warp 0: a warp "
        "has 16 rows.",
        when(lane // 32 != expected[2] // 32): f"The first two are right. Row {_ROW % 64} of the block: in "
        "which warp is it, if each has 16 rows?",
        when(lane != expected[2]): f"The warp is right. It is row {_ROW % 16} and chunk {_COLUMN // 4 % 16} "
        "of the warp: set the slider to a lane, and point at that chunk.",
        otherwise: "The word is right. Its low 16 bits are four chunks of the upper row, its high 16 bits "
        "four chunks of the row 8 further down.",
    }


@checks("20.5")
def _busy(answer: object) -> Sentences:
    cases = ((128, 256, False), (256, 192, True), (128, 256, True), (128, 128, True), (64, 256, False),
             (256, 256, False))  # fmt: skip
    results = [number_of(answer, *case, form="a number from 0 to 1") for case in cases]

    def near(share: Callable[[int, int, int], float], most: float = 1.0) -> bool:
        expected = [min(most, share(m // 64, n, 64 if sparse else 32)) for m, n, sparse in cases]
        return bool(np.allclose(results, expected, atol=4e-3))

    how_many_times = near(lambda rows, n, column: max(1.0, 1 / _share(rows, n, column)), 9.0)
    return {
        correct(near(_share)): "Dense 128 x 256: exactly 1. Sparse: 57 percent with the same tile, 63 with "
        "256 x 192, whose sums are as many as the registers can hold. By this count, twice the speed "
        "shrinks to 1.26 times. An H200 reaches 1.57 times, we think because tensor cores that wait take "
        "less power, so the clock stays higher (lesson 12).",
        when(near(_share, 9.0)): "Right, except that nothing can be busy for more than all of the time.",
        when(near(lambda rows, n, column: rows * n * 64 / (rows * (2048 + n * column)))): "Those are the "
        "reads. TMA writes the tile into the same memory.",
        when(near(lambda rows, n, column: rows * n * 64 / (2 * (rows * 2048 + n * column)))): "Every 64 "
        "rows need an instruction of their own, and each reads all of B.",
        when(near(lambda rows, n, column: _share(rows, n, 32))): "That is the dense kernel. A sparse "
        "instruction takes 64 bytes of each column of B.",
        when(how_many_times): "That is how many times as long it takes. For what fraction of the time are "
        "the tensor cores busy?",
        otherwise: "Tensor cores: (m / 64) n / 2 cycles. Shared memory: (m / 64) (64 · 32 + n b) bytes read "
        "and 32 m + n b bytes written, at 128 per cycle, with b = 64 or 32. Divide, and take at most 1.",
    }


@checks("20.6")
def _pays(answer: object) -> Sentences:
    submitted = numbers(answer, "two numbers: (with 8192, with 2048)", 2)

    def gain(size: int, parts: float) -> float:
        dense, sparse = (2 * size**3 / (rate * 1e12) for rate in RATES["f16"][size])
        return dense / (sparse + parts * 2 * size**2 / 4e12)

    def near(parts: float, invert: bool = False, within: float = 0.008) -> bool:
        values = [gain(size, parts) for size in (8192, 2048)]
        if invert:
            values = [1 / value for value in values]
        return all(close_to(submitted, values, within))

    return {
        correct(near(3 + 9 / 16, within=0.015)): "With 8192 it still pays off, since the product takes n³ "
        "operations and the preparation moves n² bytes. With 2048 almost nothing is left of the 1.44 times, "
        "and that does not even count the launch of two more kernels.",
        when(near(0)): "That is without pruning and compressing.",
        when(near(1 + 9 / 16)): "That is compressing alone. Pruning comes before, with a read and a write.",
        when(near(2)): "That is pruning alone. Compressing comes after it.",
        when(near((3 + 9 / 16) / 2)): "An element of f16 has 2 bytes.",
        when(near(3 + 9 / 16, invert=True)): "That is how many times as long it takes.",
        otherwise: "A has 2 n² bytes, and is moved 2 + 1 + 9/16 times. Add that time to the sparse "
        "product's, 2 n³ operations at its rate, and compare with the dense one's.",
    }
