"""Lesson 32: the order of a sum decides its bits; where two launches part, and how to make them agree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, listing, quoted
from ...simulator.history.compare import Comparison, compare
from ...simulator.history.invariant import invariant
from ...simulator.history.orders import in_pairs, kahan, one_after_another
from ...simulator.history.run import Run
from ...simulator.kernel import Kernel
from ...views import Picture
from ...views.annotated_source import source_html
from ...views.charts import bars, table
from ..answers import WrongForm, whole_number_set, whole_result_of
from ..checking import Sentences, checks, correct, otherwise, when
from ..reader_kernels import compiled, first_hazard, kernel, never_written, simulated, source_parts

PRODUCT, ATTEND, *_TOTALS, ROW_SUM = source_parts("same_bits.cu")
_N, _K = 32, 256  # columns of w, and elements of a row
#: Microseconds on an H200 as `k.profile` predicts them, of the product by the warps that share K and the rows
#: of x; 1024 columns, rows of 1024.
PREDICTED: dict[int, dict[int, float]] = {1: {1: 49.07, 8: 49.07}, 8: {1: 7.69, 8: 7.76}}


def sources() -> list[str]:
    """The kernels of the lesson."""
    pairs = (text for pair in PAIRS.values() for text in pair.sources)
    return list(dict.fromkeys([PRODUCT, ATTEND, *_TOTALS, ROW_SUM, *pairs]))


# -- what the lesson shows -----------------------------------------------------------------------------------


def parts(batch: int) -> int:
    """How many warps share K, as a library may choose: few rows leave most of the chip idle.

    >>> parts(1), parts(8)
    (8, 1)
    """
    return 8 if batch < 4 else 1


@lru_cache(maxsize=1)
def _numbers() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.default_rng(32)
    return rng.standard_normal((8, _K), np.float32), rng.standard_normal((_K, _N), np.float32)


def product(batch: int, split: int | None = None) -> Run:
    """The product of the first rows of x with w, to compare with others; `split` warps share K.

    >>> product(1).reduction().scope
    'all inputs'
    """
    x, w = _numbers()
    y = np.zeros((batch, _N), np.float32)
    return kernel(PRODUCT).run((batch, 1), 32 * (split or parts(batch)), x[:batch].copy(), w, y, _N, _K)


def attention(batch: int, split: int | None = None) -> Run:
    """Attention of the first queries to 64 keys; `split` warps share the keys."""
    x, w = _numbers()
    out = np.zeros((batch, 32), np.float32)
    queries, keys, values = x[:batch, :32].copy(), w[:64].copy(), w[64:128].copy()
    return kernel(ATTEND).run(batch, 32 * (split or parts(batch)), queries, keys, values, out, 64, output=4)


def opening() -> Picture:
    """The first six elements of row 0, computed alone and in a batch of eight, as bits.

    >>> [cell.text for cell in opening().grids[0].cells][:2]
    ['0xc101336b', '0x41708b28']
    """
    rows = {f"in a batch of {batch}": product(batch).reduction().values[0, :6] for batch in (1, 8)}
    texts = {name: [f"0x{word:08x}" for word in row.view(np.uint32)] for name, row in rows.items()}
    alone, together = texts.values()
    shades = {
        text: 0.375
        for one, other in zip(alone, together, strict=True)
        if one != other
        for text in (one, other)
    }
    headings = [f"y[0][{column}]" for column in range(6)]
    notes = ("orange: other bits, although row 0 of x and w are the same",)
    return table(texts, headings, "One row, twice", notes, shades=shades)


def parted(first: int = 1, second: int = 8) -> Comparison:
    """Row 0 of two batches: where their sums part.

    >>> parted().causes, parted(1, 3).other_trees
    (('grouping',), 0)
    """
    return compare(product(first), product(second))


def errors(terms: int) -> Picture:
    """The error of a sum of normal numbers in float32, by the order in which it is added.

    >>> len([cell for cell in errors(64).grids[0].cells if cell.lines])
    4
    """
    numbers = np.random.default_rng(terms).standard_normal(terms).astype(np.float32)
    exact = [Fraction(float(number)) for number in numbers]
    total = sum(exact, Fraction(0))
    quarters = [one_after_another(exact[first::4]) for first in range(4)]
    sums = {
        "one after another": one_after_another(exact),
        "4 parts": one_after_another(quarters),
        "in pairs": in_pairs(exact),
        "Kahan": kahan(exact),
    }
    unit = Fraction(float(np.spacing(np.float32(abs(float(total))))))
    units = {name: abs(float((value - total) / unit)) for name, value in sums.items()}
    return bars(
        units, f"The error of a sum of {terms:,} numbers, in units in the last place", text="{:.2f}".format
    )


def costs() -> Picture:
    """Predicted times on an H200 of y = x w, 1024 columns, rows of 1024.

    >>> [cell.text for cell in costs().grids[0].cells]
    ['49.1 µs', '49.1 µs', '7.7 µs', '7.8 µs', '7.7 µs', '49.1 µs']
    """
    times = {
        "always one warp": PREDICTED[1],
        "always eight warps": PREDICTED[8],
        "as the batch decides": {batch: PREDICTED[parts(batch)][batch] for batch in PREDICTED[1]},
    }
    texts = {name: [f"{time:.1f} µs" for time in row.values()] for name, row in times.items()}
    headings = [f"{batch} row{'s' if batch > 1 else ''}" for batch in PREDICTED[1]]
    return table(texts, headings, "What a fixed order costs, as predicted for an H200")


# -- two launches, and why they differ -----------------------------------------------------------------------

_HEAD = 'extern "C" __global__ void sum(const float* x, float* y) {{ *y = {}; }}'
_MMA = """#include <cuda_fp16.h>
extern "C" __global__ void sum(const float* x, float* y) {
    __half2 pair = __floats2half2_rn(x[threadIdx.x], x[31 - threadIdx.x]);
    unsigned a = *reinterpret_cast<unsigned*>(&pair);
    float d[4] = {0, 0, 0, 0};
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a));
    if (threadIdx.x == 0)
        *y = d[0];
}"""


@dataclass(frozen=True)
class Pair:
    """Two launches of exercise 32.2: their kernels, and the chips whose arithmetic counts."""

    sources: tuple[str, str]
    words: tuple[str, str]
    models: tuple[str, str] = ("sm_90", "sm_90")

    def compare(self) -> Comparison:
        """The comparison of both."""
        x = np.random.default_rng(7).standard_normal(32).astype(np.float32)
        one, two = (
            kernel(text).run(1, 32, x, np.zeros(1, np.float32), model=model)
            for text, model in zip(self.sources, self.models, strict=True)
        )
        return compare(one, two)

    @property
    def cause(self) -> str:
        """The word for it: one of those of the exercise."""
        found = self.compare()
        return _WORDS[found.causes[0]] if found.other_trees else "nothing"

    def _repr_html_(self) -> str:
        shown = "".join(
            source_html(text, title=words) for text, words in zip(self.sources, self.words, strict=True)
        )
        summary = "What tells them apart? Decide first; then open this."
        return (
            f'{shown}<details style="margin: 6px 0 12px"><summary style="cursor: pointer">{summary}</summary>'
            f"{self.compare()._repr_html_()}</details>"
        )


def _pair(one: str, other: str) -> Pair:
    return Pair((_HEAD.format(one), _HEAD.format(other)), ("one", "the other"))


_WORDS = {
    "contraction": "contraction",
    "grouping": "grouping",
    "order of terms": "order",
    "steps of the tensor core": "steps",
}
PAIRS = {
    "a": _pair("(x[0] + x[1]) + (x[2] + x[3])", "((x[0] + x[1]) + x[2]) + x[3]"),
    "b": _pair("x[0] + x[1]", "x[1] + x[0]"),
    "c": _pair("x[0] * x[1] + x[2]", "__fadd_rn(__fmul_rn(x[0], x[1]), x[2])"),
    "d": Pair((_MMA, _MMA), ("on an A100 (sm_80)", "on an H200 (sm_90)"), ("sm_80", "sm_90")),
    "e": _pair("(x[0] + x[1]) + x[2]", "(x[2] + x[1]) + x[0]"),
    "f": _pair("fmaxf(fmaxf(x[0], x[1]), x[2])", "fmaxf(x[0], fmaxf(x[1], x[2]))"),
}


def total(number: int) -> Kernel:
    """One of the four kernels of exercise 32.3.

    >>> total(3).name
    'total_3'
    """
    if number not in range(1, 5):
        raise PtxlabError(f"number={quoted(number)}: there are kernels 1 to 4")
    return kernel(_TOTALS[number - 1])


def runs_differ() -> frozenset[int]:
    """The kernels of exercise 32.3 whose next run may give other bits."""
    x, y = np.ones(256, np.float32), np.zeros(1, np.float32)
    counts = np.ones(256, np.int32), np.zeros(1, np.int32)
    launches = {1: (8, 1, x, y, 32), 2: (8, 1, *counts, 32), 3: (1, 256, x, y, 32), 4: (1, 256, x, y, 1)}
    scopes = {number: total(number).reduction(*launch).scope for number, launch in launches.items()}
    return frozenset(number for number, scope in scopes.items() if scope == "no run")


# -- exercises -----------------------------------------------------------------------------------------------


@checks("32.1")
def _first_other(answer: object) -> Sentences:
    form = "a function of K and the number of parts, which returns the number k of an element"
    sizes = ((256, 8), (96, 4), (1024, 2))
    submitted = [whole_result_of(answer, *size, form=form) for size in sizes]
    lengths = [K // count for K, count in sizes]
    return {
        correct(submitted == lengths): "The first part ends there. The one warp adds x[K / parts] "
        "w[K / parts] to all that came before; with several warps that product begins a sum of its own. "
        "From there on, no sum of the one warp is a sum of the others.",
        when(
            submitted == [length - 1 for length in lengths]
        ): "That is the last element of the first part: both launches add it to the same sum.",
        when(submitted == [count for _, count in sizes]): "That is the number of parts. How long is one?",
        when(set(submitted) <= {0, 1}): "Both launches begin with x[0] w[0], and add x[1] w[1] to it.",
        when(
            submitted == [K - length for (K, _), length in zip(sizes, lengths, strict=True)]
        ): "That is where the *last* part begins. The sums part earlier.",
        otherwise: f"With K = {sizes[0][0]} and {sizes[0][1]} parts you return {submitted[0]}. How far does "
        "the first of several warps go, before it leaves its sum in shared memory?",
    }


@checks("32.2")
def _causes(answer: object) -> Sentences:
    choices = (*_WORDS.values(), "nothing")
    if (
        not isinstance(answer, list | tuple)
        or len(answer) != 6
        or not all(isinstance(word, str) for word in answer)
    ):
        raise WrongForm(
            f"found {quoted(answer)}; the answer is six words for a to f, out of {listing(choices)}"
        )
    words = [str(word).strip().lower() for word in answer]
    unknown = [word for word in words if word not in choices]
    expected = [pair.cause for pair in PAIRS.values()]
    wrong = [name for name, word, right in zip(PAIRS, words, expected, strict=True) if word != right]
    hints = {
        "a": "In a, how many additions follow each other on each side?",
        "b": "In b, does the order of two operands change a rounded sum?",
        "c": "In c, how often is each side rounded?",
        "d": "In d, both sides execute one and the same instruction. How many products does each chip add at "
        "once (lesson 21)?",
        "e": "In e, each side has two additions, one after another. Which two numbers meet first?",
        "f": "In f, is anything rounded at all?",
    }
    return {
        when(unknown): f"{quoted(unknown[:1])[1:-1]} is none of the words; they are {listing(choices)}.",
        correct(not wrong): "Two of the six can never differ: `a + b` is `b + a`, and a maximum rounds "
        "nothing. The other four give other bits for some inputs.",
        otherwise: hints[wrong[0] if wrong else "a"],
    }


@checks("32.3")
def _runs(answer: object) -> Sentences:
    chosen = whole_number_set(answer, "the numbers of the kernels, out of 1 to 4")
    expected = runs_differ()
    return {
        when(not chosen <= {1, 2, 3, 4}): "The kernels have the numbers 1 to 4.",
        correct(chosen == expected): "Atomic additions of floats happen in the order in which blocks, or "
        "warps, arrive. Whole numbers have no rounding, so any order gives the same sum; and kernel 3 adds "
        "in an order that is written down.",
        when(2 in chosen): "Kernel 2 adds whole numbers. Can their order change a bit of the sum?",
        when(3 in chosen): "In kernel 3, who adds the sums of the warps, and in which order?",
        when(1 not in chosen): "In kernel 1, which block adds first? Does anything say so?",
        otherwise: "In kernel 4 there is one block. In which order do its 256 threads add to shared memory?",
    }


def _row_sums(built: Kernel, batch: int, K: int) -> Run:
    x = np.random.default_rng(K).standard_normal((batch, K)).astype(np.float32)
    return built.run(
        batch, 256 if batch < 4 else 64, x, np.full(batch, np.nan, np.float32), K, rows={1: K, 2: 1}
    )


@checks("32.4")
def _invariant_sum(answer: object) -> Sentences:
    built = compiled(answer, "row_sum")
    advice = "x has K elements in a row, y one for each row, and a block has 256 threads or 64."
    wrong: list[str] = []
    for K in (96, 300):
        for batch in (1, 5):
            threads = 256 if batch < 4 else 64
            x = np.random.default_rng(K).standard_normal((batch, K)).astype(np.float32)
            y = np.full(batch, np.nan, np.float32)
            result = simulated(built, (batch, 1), threads, (x, y, K), advice, per_warp=40 * K)
            exact, size = x.astype(np.float64).sum(axis=1), np.abs(x).astype(np.float64).sum(axis=1)
            off = ~(np.abs(y - exact) <= K * 2.0**-24 * size)
            if off.any():
                wrong.append(
                    f"With {threads} threads and K = {K}, y[{int(np.argmax(off))}] is not the sum of its row."
                )
            if result.hazards:
                return {otherwise: f"The simulator reports: {first_hazard(result)}."} | never_written(result)
    if wrong:
        return {otherwise: f"{wrong[0]} Which elements does nobody add, or somebody twice?"}
    proven = invariant(partial(_row_sums, built, K=300), over={"batch": [1, 5]})
    line = proven.where.rpartition(":")[2]
    return {
        correct(proven): "Certified: a row has the same tree with 256 threads as with 64, for every input. "
        "How many partial sums there are, and how they are added, no longer depends on the launch.",
        when(proven.scope == "no run"): "The sums are right, and another run may give other bits: atomic "
        "additions of floats have no fixed order.",
        otherwise: "The sums are right, but a row has one tree with 256 threads and another with 64; they "
        f"part in line {line} of your kernel. How many partial sums are there, and what decides that?",
    }
