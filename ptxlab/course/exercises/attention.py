"""Lesson 15: attention, from two chained products to specialised warps; its kernels and pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, counted
from ...gemm import attention
from ...gemm.attention_kernel import KERNELS, Attention
from ...instruction import mma_instruction
from ...isa.layout import fragment, tiled
from ...question import with_code
from ...simulation import Simulation
from ...simulator import HazardError
from ...views import Picture
from ...views.annotated_source import annotated_html, source_html
from ...views.charts import bars
from ...views.grid import Entry, uniform_grid
from ..answers import close_to, numbers, result_of, whole_number_set, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when
from ..reader_kernels import (
    ExplainedPart,
    compiled,
    explained_part,
    kernel,
    never_written,
    normal_numbers,
    reported,
    same,
    simulated,
    source_parts,
)
from ..spans import Span, over_time
from .from_instruction_to_gemm import first_own_line
from .your_first_tensor_core_kernel import INS, LOAD, MMA

_Floats = NDArray[np.float64]
_Halves = NDArray[np.float16]

#: TFLOP/s on an H200, by sequence: 16 heads of 128, 16,384 tokens in all (`benchmarks/attention.py`).
ALL_KEYS: dict[int, dict[str, float]] = {
    1024: {"2": 225.2, "4": 281.2, "5": 566.0, "flash": 337.5, "cudnn": 591.7},
    2048: {"2": 240.8, "4": 297.8, "5": 621.4, "flash": 351.2, "cudnn": 625.8},
    4096: {"2": 248.9, "4": 306.8, "5": 647.2, "flash": 358.2, "cudnn": 638.1},
    8192: {"2": 256.5, "4": 311.7, "5": 660.1, "flash": 362.3, "cudnn": 645.2},
    16384: {"2": 258.3, "4": 314.4, "5": 664.6, "flash": 361.6, "cudnn": 648.8},
}
#: The same with a causal mask, which halves the operations that count.
CAUSAL: dict[int, dict[str, float]] = {
    1024: {"3": 161.5, "4": 206.1, "5": 418.0, "flash": 253.8, "cudnn": 429.8},
    2048: {"3": 182.6, "4": 232.2, "5": 513.4, "flash": 289.8, "cudnn": 503.3},
    4096: {"3": 201.9, "4": 248.2, "5": 580.7, "flash": 311.0, "cudnn": 551.0},
    8192: {"3": 212.8, "4": 255.3, "5": 625.0, "flash": 325.3, "cudnn": 584.6},
    16384: {"3": 217.4, "4": 262.0, "5": 666.0, "flash": 336.3, "cudnn": 605.5},
}
_NAMES = {
    **{str(row.number): f"{row.number} {row.title}" for row in KERNELS},
    "flash": "FlashAttention 2",
    "cudnn": "cuDNN",
}
_LEFT = {
    1: "left to do: it takes 64 keys, because all of S has to fit into registers",
    2: "left to do: with a causal mask, half of its work would be for nothing",
    3: "left to do: while K and V are being copied, nothing is multiplied",
    4: "left to do: mma is slower than wgmma, and waits for every softmax",
    5: "left to do: little; cuDNN is about as fast",
}
#: The kernels that the lesson simulates, with the constants that make them small.
SMALL: dict[int, dict[str, int]] = {
    1: {"head": 64, "keys": 64},
    2: {"head": 64, "block_n": 32},
    3: {"head": 64, "block_n": 32},
    4: {"head": 64, "block_n": 32},
    5: {"head": 64, "block_n": 32, "causal": 0, "stages": 2},
}


# -- the kernels, simulated ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SimulatedAttention:
    """A kernel that was simulated: O, what the simulator saw, and the source with it."""

    number: int
    O: _Halves  # noqa: E741  # as in every paper
    result: Simulation
    first_line: int  # of the kernel's own file, below the headers

    def _repr_html_(self) -> str:
        return annotated_html(self.result, first=self.first_line)


def simulate(number: int, Q: _Halves, K: _Halves, V: _Halves, **constants: int) -> SimulatedAttention:
    """One of the five kernels on a head, simulated; where NVRTC is missing, with the PTX of the lesson.

    >>> simulate(1, *(np.ones((64, 64), np.float16) for _ in range(3))).O[0, 0]
    np.float16(1.0)
    """
    variant = attention(number, **{**SMALL[number], **constants})
    output, result = launched(variant, variant.source, Q, K, V)
    return SimulatedAttention(number, output, result, first_own_line(variant.source, variant.row.file))


def launched(
    variant: Attention, source: str, Q: _Halves, K: _Halves, V: _Halves
) -> tuple[_Halves, Simulation]:
    """O of one head, computed by a kernel with the given source, and what the simulator saw."""
    q, k, v = (np.ascontiguousarray(array, np.float16)[None] for array in (Q, K, V))
    output = np.full(q.shape, np.nan, np.float16)
    arguments = variant.arguments(q, k, v, output)
    grid = variant.grid(1, len(Q))
    result = kernel(source).simulate(
        grid, variant.threads, *arguments, shared=variant.shared, show=False, limit=200_000
    )
    return output[0], result


def problem() -> tuple[_Halves, _Halves, _Halves]:
    """Q, K and V of one head: 128 tokens, 64 dimensions."""
    rng = np.random.default_rng(27)
    q, k, v = (rng.normal(size=(128, 64)).astype(np.float16) for _ in range(3))
    return q, k, v


def exact(Q: _Halves, K: _Halves, V: _Halves, causal: bool = False, window: int | None = None) -> _Floats:
    """Attention in float64; with a window, a query sees only that many keys up to its own.

    >>> float(exact(*(np.ones((2, 4), np.float16) for _ in range(3)))[0, 0])
    1.0
    """
    q, k, v = (array.astype(np.float64) for array in (Q, K, V))
    scores = q @ k.T / math.sqrt(q.shape[1])
    if causal or window:
        before = np.arange(len(q))[:, None] - np.arange(len(k))
        scores = np.where((before >= 0) & (before < (window or len(k))), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True) @ v)


def reordered(X: _Halves, blocks: list[int]) -> _Halves:
    """Keys or values with their blocks in another order.

    >>> reordered(np.arange(4, dtype=np.float16)[:, None], [1, 0]).ravel().tolist()
    [2.0, 3.0, 0.0, 1.0]
    """
    return np.concatenate([np.split(X, len(blocks))[block] for block in blocks])


# -- kernels with one line changed ---------------------------------------------------------------------------


class SourceChange(NamedTuple):
    """What is changed in which kernel, in words and in its source."""

    number: int
    words: str
    before: str
    after: str = ""


#: One line of a kernel left out or changed.
BROKEN = {
    "4: no cp_async_wait": SourceChange(
        4,
        "`cp_async_wait<STAGES - 2>();` is left out.",
        "        cp_async_wait<STAGES - 2>();  // this thread's part of block i is there\n",
    ),
    "5: no wait for V": SourceChange(5, "`values.wait();` is left out.", "        values.wait();\n"),
    "5: V released early": SourceChange(
        5,
        "`values.release();` comes before `wgmma_wait<0>(o);`, not after it.",
        "        wgmma_wait<0>(o);  // P is free as well\n        values.release();\n",
        "        values.release();\n        wgmma_wait<0>(o);\n",
    ),
    "5: no proxy fence": SourceChange(
        5,
        "`fence_async_proxy();` is left out where O goes to shared memory, to be stored by TMA.",
        "    fence_async_proxy();\n    named_barrier(1",
        "    named_barrier(1",
    ),
    "5: producer's parity": SourceChange(
        5,
        "The producer waits for `tile.parity`, not for `tile.parity ^ 1`.",
        "tile.parity ^ 1",
        "tile.parity",
    ),
    "5: O not rescaled": SourceChange(
        5,
        "`scale_rows(o, softmax.factor);` is left out in the loop.",
        "        scale_rows(o, softmax.factor);\n        softmax.add",
        "        softmax.add",
    ),
    "3: mask with >=": SourceChange(
        3, "`mask_causal` compares with `>=`, not with `>`.", "i % 2 > query", "i % 2 >= query"
    ),
}


@dataclass(frozen=True)
class ChangedKernel:
    """What became of a kernel with one change, and the lines around it."""

    source: str
    lines: range
    change: str
    numbers: str
    hazard: str

    def _repr_html_(self) -> str:
        texts = {"Changed": self.change, "O": self.numbers, "Simulator": self.hazard}
        style = "max-width: 62em; line-height: 1.5; margin: 6px 0"
        paragraphs = "".join(
            f'<p style="{style}"><b>{name}:</b> {with_code(text)}</p>' for name, text in texts.items()
        )
        return f"{paragraphs}{source_html(self.source, part=self.lines)}"


@lru_cache(maxsize=None)
def unchanged(number: int) -> _Halves:
    """O of `problem()` by one of the kernels, unchanged."""
    return simulate(number, *problem()).O


@lru_cache(maxsize=None)
def broken(change: str) -> ChangedKernel:
    """A kernel with one of the changes, simulated on `problem()`.

    >>> broken("5: O not rescaled").hazard
    'no hazards: every access is ordered.'
    """
    chosen = BROKEN[change]
    source = _broken_source(chosen)
    variant = attention(chosen.number, **SMALL[chosen.number])
    at = variant.source[: variant.source.index(chosen.before)].count("\n") + 1
    lines = range(at - 4, at + 6)

    def report(numbers: str, hazard: str) -> ChangedKernel:
        return ChangedKernel(source, lines, chosen.words, numbers, hazard)

    right = unchanged(chosen.number)
    try:
        output, result = launched(variant, source, *problem())
    except HazardError as error:
        return report("nothing was stored.", f"it stops: {_shortened(str(error))}.")
    wrong = output.view(np.uint16) != right.view(np.uint16)
    numbers = f"{wrong.sum():,} of {wrong.size:,} elements are wrong" if wrong.any() else "every bit is right"
    if np.isnan(output).any():
        numbers += f", {np.isnan(output).sum()} of them NaN"
    hazards = "no hazards: every access is ordered."
    if result.hazards:
        first, count = result.hazards[0], len(result.hazards)
        several = f"{counted(count, 'hazard')}, the first: " if count > 1 else ""
        hazards = f"{several}{first.kind}, {_shortened(first.sentence)}."
    return report(f"{numbers}.", hazards)


def _broken_source(change: SourceChange) -> str:
    source = attention(change.number, **SMALL[change.number]).source
    if source.count(change.before) != 1:
        raise PtxlabError(f"attention {change.number} has no single {change.before!r}")
    return source.replace(change.before, change.after)


def _shortened(text: str) -> str:
    return text if len(text) < 420 else f"{text[:400].rsplit(' ', 1)[0]} .."


def sources() -> list[str]:
    """The sources of the kernels that the lesson simulates, for the record of their PTX."""
    plain = [attention(number, **constants).source for number, constants in SMALL.items()]
    more = [
        attention(4, **{**SMALL[4], **constants}).source for constants in ({"stages": 3}, {"block_n": 64})
    ]
    return [*plain, *more, *(_broken_source(change) for change in BROKEN.values())]


# -- kernel 5, part by part ----------------------------------------------------------------------------------

_STOPS = {
    ("the producer", "__device__ __forceinline__ void produce("): "One thread of one warpgroup. K and V of a "
    "block are two tiles of the ring, K first. `empty` is waited for with the parity of the round before, so "
    "that the first round passes at once; blocks come in descending order.",
    ("two products", "// Issues S = Q K^T"): "Neither function waits. S takes both operands from shared "
    "memory; O takes P from registers, and reads V along N, because its rows are keys: the sum runs over "
    "them.",
    ("turns", "// One consumer at a time"): "Two named barriers of 256 threads: 128 wait (`bar.sync`), the "
    "other 128 only arrive (`bar.arrive`). That is a token which the two warpgroups pass to each other.",
    ("first block", "    OnlineSoftmax softmax;"): "There is no P yet, so the first scores are computed "
    "alone. With a causal mask this is the block on the diagonal: the only one that is masked, and the one "
    "in which every query sees a key.",
    ("the loop", "    for (int i = 1; i < count; ++i) {"): "Scores of block i are issued, then P V of block "
    "i - 1. `wgmma_wait<1>` waits for the scores alone; the maximum is found while P V runs. O may be "
    "rescaled after `wgmma_wait<0>`, and so may V's stage be released.",
    ("the end", "    if (consumer == 0) my_turn(consumer);"): "The last P V, then one division for each row. "
    "O leaves through Q's shared memory: a proxy fence, a barrier of this warpgroup, and one TMA store.",
}  # fmt: skip
PARTS = [name for name, _ in _STOPS]


def part(part: str) -> ExplainedPart:
    """A part of kernel 5, with its explanation.

    >>> part("turns").source[:2]
    '//'
    """
    source = attention(5, **SMALL[5]).source
    body = source[: source.index('extern "C"')]
    return explained_part(body, part, _STOPS)


# -- pictures ------------------------------------------------------------------------------------------------


def step(kernel: int) -> Picture:
    """The kernels up to one: what an H200 reached with 16,384 keys, and what is left to do.

    >>> step(5).title
    'Kernel 5, warp specialisation: 665 TFLOP/s, 102% of cuDNN'
    """
    row = next(row for row in KERNELS if row.number == kernel)
    rates, causal = ALL_KEYS[16384], CAUSAL[16384]
    reached = {_NAMES[name]: rates[name] for name in ("2", "4", "5") if int(name) <= kernel}
    if kernel >= 3:
        reached = {**reached, f"{_NAMES['3']} *": causal["3"]}
    reached = dict(sorted(reached.items()))
    reached |= {_NAMES[name]: rates[name] for name in ("flash", "cudnn")}
    title = f"Kernel {kernel}, {row.title}"
    if str(kernel) in rates:
        rate = rates[str(kernel)]
        title += f": {rate:.0f} TFLOP/s, {rate / rates['cudnn']:.0%} of cuDNN"
    starred = ("* causal: half of the operations count",) if kernel >= 3 else ()
    notes = (row.idea, _LEFT[kernel], "TFLOP/s on an H200 with 16,384 keys", *starred)
    return bars(reached, title, notes, text="{:.0f}".format)


def rates(sequence: int) -> Picture:
    """TFLOP/s of the kernels and of two libraries with sequences of this length.

    >>> rates(1024).title
    'Sequences of 1,024 tokens, TFLOP/s on an H200'
    """
    values = {}
    for name, title in _NAMES.items():
        at = {"all keys": ALL_KEYS[sequence].get(name), "causal": CAUSAL[sequence].get(name)}
        group = {label: rate for label, rate in at.items() if rate is not None}
        if group:
            values[title] = group
    notes = ("16 heads of 128, 16,384 tokens in all", "causal: half of the operations count")
    return bars(values, f"Sequences of {sequence:,} tokens, TFLOP/s on an H200", notes, text="{:.0f}".format)


_SCORES = (1, 0, -1, 2, 0, 2, 1, -2, 5, 3, 4, 2, 4, 1, 5, 0)
_VALUES = (2, 4, 4, 1, 2, 1, 2, 4, 1, 2, 0, 4, 2, 4, 1, 8)
_BLOCK = 4


def _after(blocks: int) -> tuple[int, Fraction, Fraction]:
    """m, l and O of the row of the picture after some blocks."""
    scores, values = _SCORES[: blocks * _BLOCK], _VALUES[: blocks * _BLOCK]
    m = max(scores)
    weights = [Fraction(2) ** (score - m) for score in scores]
    return m, sum(weights, Fraction()), sum((w * v for w, v in zip(weights, values, strict=True)), Fraction())


def online(block: int) -> Picture:
    """One row of S that comes in blocks of four keys: m, l and O before and after a block.

    >>> online(2).notes[1]
    'the factor is 2^(2 - 5) = 1/8'
    """
    m, total, output = _after(block + 1)
    seen = (block + 1) * _BLOCK
    rows = {"score": _SCORES, "V": _VALUES, "weight": tuple(Fraction(2) ** (s - m) for s in _SCORES)}
    names = list(rows)

    def entry(row: int, key: int) -> Entry:
        if key >= seen:
            return Entry((), None, f"key {key}: not read yet", "dim")
        value = rows[names[row]][key]
        now = key >= seen - _BLOCK
        is_new = row == 2 and (now or (block > 0 and m > _after(block)[0]))
        tooltip = f"key {key}: {names[row]} {value}"
        heat = 0.35 if is_new else 0.0
        return Entry((str(value),), None, tooltip, "plain" if now or row == 2 else "dim", heat)

    grid = uniform_grid((3, len(_SCORES)), entry, names, 1, ("", "key"))
    if block == 0:
        notes = [f"m was -inf, and is {m} now", "the factor is 2^-inf = 0; there is nothing to rescale"]
        notes += [f"l = {total}", f"O = {output}"]
    else:
        before, old, out = _after(block)
        factor = Fraction(2) ** (before - m)
        grown = f"m was {before}, and is {m} now" if m > before else f"m stays {m}"
        notes = [grown, f"the factor is 2^({before} - {m}) = {factor}"]
        notes += [f"l = {factor} * {old} + {total - factor * old} = {total}"]
        notes += [f"O = {factor} * {out} + {output - factor * out} = {output}"]
    if seen == len(_SCORES):
        notes.append(f"at the end, O / l = {float(output / total):.4g}")
    return Picture(f"Block {block}: keys {seen - _BLOCK} to {seen - 1}", tuple(notes), (grid,))


_SEQUENCE, _QUERIES = 512, 64


def causal_tiles(block_n: int) -> Picture:
    """Tiles of S with a causal mask: which are skipped, which are masked, for blocks of 64 queries.

    >>> causal_tiles(64).notes[0]
    '36 of 64 tiles are computed, 8 of them masked'
    """
    shape = _SEQUENCE // _QUERIES, _SEQUENCE // block_n
    count = {"skipped": 0, "masked": 0, "whole": 0}

    def entry(row: int, column: int) -> Entry:
        first, last = row * _QUERIES, (row + 1) * _QUERIES - 1
        key, end = column * block_n, (column + 1) * block_n - 1
        kind = "whole" if end <= first else "masked"
        if key > last:
            kind = "skipped"
        count[kind] += 1
        tooltip = f"queries {first} to {last}, keys {key} to {end}: {kind}"
        if kind == "skipped":
            return Entry((), None, tooltip, "dim")
        return Entry(("mask" if kind == "masked" else "",), 14 if kind == "masked" else 2, tooltip)

    rows = [f"{first}..{first + _QUERIES - 1}" for first in range(0, _SEQUENCE, _QUERIES)]
    columns = [str(first) for first in range(0, _SEQUENCE, block_n)]
    grid = uniform_grid(shape, entry, rows, columns, ("queries", "first key"))
    computed = count["masked"] + count["whole"]
    counted_scores = _SEQUENCE * (_SEQUENCE + 1) // 2
    notes = (
        f"{computed} of {shape[0] * shape[1]} tiles are computed, {count['masked']} of them masked",
        f"{computed * _QUERIES * block_n / counted_scores:.2f} times the scores that count",
    )
    return Picture(f"S of {_SEQUENCE} queries and keys, blocks of {block_n} keys", notes, (grid,))


def diagonal(lane: int) -> Picture:
    """A tile of 16 x 16 on the diagonal, in the registers of a warp; one lane is outlined.

    >>> [diagonal(5).grids[0].at(row, 2).text for row in (1, 9)]
    ['-inf', 's2']
    """
    layout = tiled(fragment(16, 8, 2), (), (16, 16))
    place = layout.scatter()

    def entry(row: int, column: int) -> Entry:
        owner, element = divmod(int(place[row, column]), layout.elements)
        tooltip = f"S[{row}][{column}]: lane {owner}, s[{element}]"
        if column <= row:
            return Entry((f"s{element}",), owner, tooltip, "mark" if owner == lane else "plain")
        if owner == lane:
            return Entry(("-inf",), None, f"{tooltip}, masked", "mark")
        return Entry((f"s{element}",), None, f"{tooltip}, masked", "dim")

    notes = (f"outlined: lane {lane}", "grey: the key comes after the query")
    grid = uniform_grid(layout.shape, entry, 1, 1, ("query", "key"), density="close")
    return Picture("S of 16 queries and 16 keys on the diagonal", notes, (grid,))


_PART = 4  # units of 128 cycles that S, P V and the exponentials of a block take, for one warpgroup
_UNITS = 48
#: How the products and exponentials of one or two warpgroups may be arranged.
SCHEDULES = ("one warpgroup", "two, in step", "two, in turn", "two, scores first")


def schedule(order: str) -> Picture:
    """Tensor cores and exponentials over time, for blocks of 64 queries and 128 keys, 128 dimensions.

    >>> schedule("one warpgroup").notes[0], schedule("two, in turn").notes[0]
    ('the tensor cores are busy for 67% of the time', 'the tensor cores are busy for 100% of the time')
    """
    spans: list[Span] = []

    def add(row: int, start: int, stop: int, group: int, text: str, block: int) -> None:
        names = {
            "S": f"scores of block {block}",
            "PV": f"P V of block {block}",
            "exp": f"softmax of block {block}",
        }
        letters = text if stop - start == _PART else text[0]
        spans.append(Span(row, start, stop, letters, (2, 25)[group], f"warpgroup {group}: {names[text]}"))

    if order == "one warpgroup":
        for block, start in enumerate(range(0, _UNITS, 3 * _PART)):
            add(0, start, start + _PART, 0, "S", block)
            add(1, start + _PART, start + 2 * _PART, 0, "exp", block)
            add(0, start + 2 * _PART, start + 3 * _PART, 0, "PV", block)
    elif order == "two, in step":
        for block, start in enumerate(range(0, _UNITS, 6 * _PART)):
            for at in range(0, 2 * _PART, 2):  # each warpgroup gets a part of the time
                for offset, row, text in ((0, 0, "S"), (2 * _PART, 1, "exp"), (4 * _PART, 0, "PV")):
                    first = start + offset + at
                    add(row, first, first + 2, at // 2 % 2, text, block)
    else:
        scores_first = order == "two, scores first"
        add(0, 0, _PART, 0, "S", 0)
        add(0, _PART, 2 * _PART, 1, "S", 0)
        add(1, _PART, 2 * _PART, 0, "exp", 0)
        add(1, 2 * _PART, 3 * _PART, 1, "exp", 0)
        for index, start in enumerate(range(2 * _PART, _UNITS, 2 * _PART)):
            block, group = divmod(index, 2)
            middle, end = start + _PART, start + 2 * _PART
            add(0, start, middle, group, "S" if scores_first else "PV", block + scores_first)
            add(0, middle, end, group, "PV" if scores_first else "S", block + (not scores_first))
            begin = middle if scores_first else end
            add(1, begin, begin + _PART, group, "exp", block + 1)
    busy = sum(min(span.stop, _UNITS) - span.start for span in spans if span.row == 0 and span.start < _UNITS)
    idle = {"tensor cores": "nothing to multiply", "exponentials": "nothing to exponentiate"}
    grid = over_time(spans, idle, [str(128 * first) for first in range(0, _UNITS, 8)], 8, 128)
    room = {
        "one warpgroup": "the softmax stops everything",
        "two, in step": "both want the same unit at the same time",
        "two, in turn": "a softmax may take 1024 cycles before the tensor cores wait for it",
        "two, scores first": "a softmax may take 1536 cycles before the tensor cores wait for it",
    }
    notes = (
        f"the tensor cores are busy for {busy / _UNITS:.0%} of the time",
        room[order],
        "a model: 2048 multiply-adds and 16 exponentials per cycle, nothing else counted",
        "colours: warpgroups",
    )
    return Picture(f"Products and exponentials: {order}", notes, (grid,))


def two_orders(first: SimulatedAttention, second: SimulatedAttention) -> Picture:
    """One element of O by two runs, bit by bit, where they differ in the last bit.

    >>> q, k, v = problem()
    >>> two_orders(simulate(2, q, k, v), simulate(5, q, k, v)).notes[0]
    '3,296 of 8,192 elements differ'
    """
    codes = [run.O.view(np.uint16).astype(np.int64) for run in (first, second)]
    differ = codes[0] != codes[1]
    ordinary = (np.abs(codes[0] - codes[1]) == 1) & (np.abs(first.O) > 0.1)
    at = tuple(np.argwhere(ordinary if ordinary.any() else differ)[0])
    bits = [f"{code[at]:016b}" for code in codes]

    def entry(row: int, column: int) -> Entry:
        changed = bits[0][column] != bits[1][column]
        return Entry((bits[row][column],), None, f"bit {15 - column}", "mark" if changed else "plain", 0.0)

    names = [f"kernel {run.number}: {float(run.O[at]):.7f}" for run in (first, second)]
    columns = [str(bit) for bit in range(15, -1, -1)]
    grid = uniform_grid((2, 16), entry, names, columns, ("", "bit"))
    error = float(np.abs(first.O.astype(np.float64) - second.O.astype(np.float64)).max())
    notes = (
        f"{differ.sum():,} of {differ.size:,} elements differ",
        f"by {error:.1g} at most",
        f"below: O[{at[0]}][{at[1]}]",
    )
    return Picture("One element of O, two orders", notes, (grid,))


# -- exercises -----------------------------------------------------------------------------------------------

_HELPERS, _REPACKED, _ONLINE, _MASKED = (f"\n{text}" for text in source_parts("attention.cu"))
_BEFORE = MMA + LOAD + _HELPERS
_ROW, _KEYS = 11, 64


@checks("15.1")
def _quad(answer: object) -> Sentences:
    form = "`(first lane, last lane, scores in each, first mask, second mask)`"
    submitted = whole_numbers(answer, 5, form)
    first = _ROW % 8 * 4
    expected = (first, first + 3, _KEYS // 4, 1, 2)
    lanes, count, masks = submitted[:2], submitted[2], set(submitted[3:])
    return {
        correct(submitted[:3] == expected[:3] and masks == {1, 2}): "Four lanes, a *quad*, hold a row, so "
        "two shuffles do: after XOR 1 each pair agrees, after XOR 2 all four do. The same lanes also hold "
        "row 3, in other registers, and need two more shuffles for it.",
        when(lanes == (0, 31)): "All 32 lanes hold *some* of S. Row 11 is in one group of four lanes: look "
        "at D's fragment again.",
        when(lanes == (4 * _ROW, 4 * _ROW + 3)): "There are only 32 lanes: rows 8 to 15 are in the lanes of "
        "rows 0 to 7, in other registers.",
        when(lanes != expected[:2]): "Which groupID holds row 11? Rows 8 to 15 are those of rows 0 to 7 "
        "again. A group is four neighbouring lanes.",
        when(count == _KEYS // 2): "That counts both rows of a lane. How many scores of row 11 does it hold?",
        when(count == 2): "That is one tile of 8 keys. There are eight tiles.",
        when(count != expected[2]): "Four lanes share the 64 scores of the row evenly.",
        when(masks & {4, 8, 16}): "The lanes are right. XOR with 4, 8 or 16 leaves the group of four: the "
        "maximum of other rows would be mixed in.",
        otherwise: "The lanes are right. Each of the two shuffles exchanges values with the lane whose "
        "number differs in one bit. Which two bits differ among the four lanes?",
    }


@checks("15.2")
def _repack(answer: object) -> Sentences:
    built = compiled(answer, "repack", _BEFORE, _REPACKED)
    S = np.arange(256, dtype=np.float32).reshape(16, 16) + np.float32(0.0625)
    registers = np.zeros((32, 4), np.uint32)
    result = simulated(built, (1, 1), 32, (S, registers), "`s` has 8 elements, and `a` has 4.")
    right = INS.a.pack(S.astype(np.float16))
    f32 = INS.d.pack(S[:, :8])
    wrong = registers != right
    lane, register = np.argwhere(wrong)[0] if wrong.any() else (0, 0)
    truncated = f32[:, 0] >> 16
    low = np.isin(registers, S.view(np.uint32)).all()
    return {
        correct(not wrong.any() and not result.hazards): "Four conversions and no shuffle. In f16 the "
        "accumulators of two neighbouring tiles are the four registers of A, in their order: the softmax may "
        "change the numbers, never their lanes.",
        **never_written(result),
        when(same(registers, right << 16 | right >> 16)): "The two halves of every register are swapped: "
        "the lower column is in bits 0 to 15, and is the *first* argument of `f16x2`.",
        when(same(registers[:, [0, 2, 1, 3]], right)): "Registers 1 and 2 are swapped. In A, register 1 is "
        "eight rows down and register 2 is eight columns to the right; in `s`, which comes first?",
        when(low): "Those are the bits of `float`s. Each register of A takes two numbers in f16.",
        when(same(registers[:, 0] & 0xFFFF, truncated)): "You cut the upper 16 bits off a `float`: that is "
        "bf16, and f16 has other fields. `f16x2` converts and rounds.",
        when(same(registers[:, :2], right[:, :2])): "The first two registers are right. The other two are "
        "the second tile, `s[4]` to `s[7]`.",
        when(same(registers[:, 0], right[:, 0])): "Register 0 is right. Register 1 is eight rows down: which "
        "two of `s` are there?",
        otherwise: f"Register {register} of lane {lane} is wrong. `s[0]` and `s[1]` are neighbours in a row, "
        "and so are the two elements of a register of A.",
    }


_FP8 = mma_instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
_TO_LANE = drawn("15.3", "lane {} holds", 14, 10, 18, 22, 26, 6)


@checks("15.3")
def _from_lanes(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of lanes, each from 0 to 31")
    cells = [(row, column) for place, row, column in _FP8.a.holds(_TO_LANE) if place.register == 0]
    row, first = cells[0]
    expected = frozenset(_FP8.d.where(r, c % 8)[0].lane for r, c in cells)
    return {
        correct(submitted == expected): f"They are columns {first} to {first + 3} of row {row}. As "
        "accumulators two neighbours are in one lane, so the four are in two lanes, and the lane itself had "
        "none of them.",
        when(submitted == {_TO_LANE}): "If they had stayed in their lane, FP8 would need no shuffles. A "
        "lane of D holds two neighbours.",
        when(submitted == {lane + 2 for lane in expected}): "You read off columns 12 to 15. The register "
        "has the four that begin with column 8: which are these?",
        when(len(submitted) != 2): "Four neighbours of a row, two in each lane: that makes two lanes.",
        when({lane // 4 for lane in submitted} != {_TO_LANE // 4}): "Rows stay in their group of four "
        "lanes: the row is lane // 4 before and after.",
        otherwise: "Find the four columns in the lower half of the picture, then the same cells in the "
        "upper half.",
    }


@checks("15.4")
def _by_hand(answer: object) -> Sentences:
    submitted = numbers(answer, "`(factor, l, O)`", 3)
    factor, total, output = 0.25, 2.625, 4.4375

    def near(*values: float) -> bool:
        return all(close_to(submitted[: len(values)], values, 1e-6))

    return {
        correct(near(factor, total, output)): "Everything that was summed with m = 3 shrinks to a quarter, "
        "because each of its weights is now 2^(score - 5). The division by l can wait until the end.",
        when(near(4.0)): "The factor corrects *old* weights, 2^(score - 3), to 2^(score - 5). Do they grow?",
        when(near(factor, 4.5)): "l was not rescaled: its 2.5 was summed with m = 3.",
        when(near(factor, total, 5.75)): "l is right. O was not rescaled: it is also a sum of old weights.",
        when(near(factor, 10.625)): "You multiplied the new weights with 2^(score - 3). The block's own "
        "maximum, 5, is the reference now.",
        when(near(factor, total, 4.4375 / 2.625)): "Nearly: that is O / l. The division comes at the very "
        "end, once for each row.",
        when(near(factor, total)): "l is right. O = factor * 1.75 + the sum of weight times value.",
        when(near(factor)): "The factor is right. The new weights are 2^0, 2^-1, 2^-2 and 2^-2.",
        otherwise: "The new maximum is 5. The factor is 2^(old maximum - new maximum).",
    }


_TOLERANCE = 4e-3  # of a result whose P is rounded to f16


def _small_problem() -> tuple[_Halves, _Halves, _Halves]:
    q, k, v = normal_numbers((16, 16), 31), normal_numbers((48, 16), 32), normal_numbers((48, 16), 33)
    return q, k, v


class _StepFlags(NamedTuple):
    """A model of the reader's step: which parts of it are done."""

    sum_rescaled: bool = True
    output_rescaled: bool = True
    factor_scaled: bool = True
    scale_power: int = 1


def _stepped(flags: _StepFlags) -> tuple[_Floats, _Floats]:
    """O before the division and l, if the step does what the flags say."""
    q, k, v = (array.astype(np.float64) for array in _small_problem())
    scale = math.log2(math.e) / 4
    m, total, output = np.full(16, -np.inf), np.zeros(16), np.zeros((16, 16))
    for first in range(0, 48, 16):
        scores = q @ k[first : first + 16].T
        new = np.maximum(m, scores.max(axis=1))
        factor = 2.0 ** ((m - new) * (scale if flags.factor_scaled else 1.0))
        weights = 2.0 ** ((scores - new[:, None]) * scale**flags.scale_power)
        total = total * (factor if flags.sum_rescaled else 1) + weights.sum(axis=1)
        output = output * (factor[:, None] if flags.output_rescaled else 1) + weights @ v[first : first + 16]
        m = new
    return output, total


@checks("15.5")
def _rescale(answer: object) -> Sentences:
    built = compiled(answer, "rescale", _BEFORE, _ONLINE)
    q, k, v = _small_problem()
    output = np.full((16, 16), np.nan, np.float32)
    M, L = np.zeros((2, 32, 2), np.float32)
    sizes = np.int32(48), np.float32(math.log2(math.e) / 4)
    arguments = (q, k, np.ascontiguousarray(v.T), output, M, L, *sizes)
    result = simulated(built, (1, 1), 32, arguments, "`s` and `o` have 8 elements, `m` and `l` have 2.")
    rows = np.arange(32)[:, None] // 4 + np.array([0, 8])
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    keys = np.arange(48)
    own = np.stack([scores[rows[lane]][:, keys % 8 // 2 == lane % 4].max(axis=1) for lane in range(32)])
    right_m = scores.max(axis=1)[rows]
    pair = np.maximum(own, own[np.arange(32) ^ 1])
    across = np.maximum(own, own[np.arange(32) ^ 2])
    lower, upper = right_m[:, 0].max(), right_m[:, 1].max()
    total = L.reshape(8, 4, 2).sum(axis=1).T.ravel().astype(np.float64)  # rows 0 to 7, then 8 to 15

    def near(one: Any, other: Any) -> bool:
        return bool(np.allclose(one, other, rtol=_TOLERANCE, atol=_TOLERANCE))

    def is_like(flags: _StepFlags) -> bool:
        outputs, sums = _stepped(flags)
        return near(total, sums) and near(output, outputs)

    is_right = near(M, right_m) and is_like(_StepFlags())
    nothing_rescaled = is_like(_StepFlags(sum_rescaled=False, output_rescaled=False))
    sum_not_rescaled = is_like(_StepFlags(sum_rescaled=False))
    output_not_rescaled = is_like(_StepFlags(output_rescaled=False))
    factor_not_scaled = is_like(_StepFlags(factor_scaled=False))
    by_activity = any(opcode.startswith("activemask") for opcode in result.counts)
    return {
        when(is_right and not result.hazards and by_activity): "The numbers are right, but the mask is not: "
        "`__activemask()` names the lanes that happen to be together at that point, and nothing promises "
        "that they are all 32. Name the lanes that must take part.",
        correct(is_right and not result.hazards): "Two shuffles, one factor, three things rescaled with it "
        "or made with the new m: l, O and the weights. It is the heart of FlashAttention, and it needs no "
        "more registers than m and l.",
        **never_written(result),
        **reported(result),
        when(np.isnan(output).any() or np.isnan(L).any()): "There are NaNs. m starts at -inf: is the factor "
        "2^(old - new), which is then 0, or its inverse, which makes 0 * inf? And -inf minus -inf is NaN.",
        when(not np.isfinite(M).all()): "m is still -inf in some lanes: the new maximum has to be kept "
        "in `m[row]`.",
        when(near(M, np.broadcast_to([lower, upper], (32, 2)))): "m is the maximum of eight rows: you "
        "exchanged it among all 32 lanes. Only the four lanes of a row have its scores.",
        when(near(M, own)): "m is the maximum of this lane's scores only. The other three lanes of the row "
        "have to agree on it, or they weigh their scores differently.",
        when(near(M, pair) or near(M, across)): "Two of the four lanes agree on m. It takes one more "
        "shuffle.",
        when(near(M, right_m[:, ::-1])): "The two rows are swapped: `s[0]`, `s[1]`, `s[4]`, `s[5]` are row "
        "0.",
        when(not near(M, right_m)): "m is not the maximum of the row. Row 0 has `s[0]`, `s[1]`, `s[4]`, "
        "`s[5]`, row 1 the others; m is compared with them *before* the scale.",
        when(nothing_rescaled): "m is right, but neither l nor O was rescaled: both were summed with a "
        "smaller m.",
        when(sum_not_rescaled): "m and O are right, but l was not rescaled. It is a sum of old weights, as O "
        "is.",
        when(output_not_rescaled): "m and l are right, but O was not rescaled.",
        when(factor_not_scaled): "m is right, but the factor was made without `scale`. Weights are "
        "2^((score - m) * scale), so the factor is 2^((old - new) * scale).",
        when(is_like(_StepFlags(scale_power=2))): "The scale is applied twice to the weights.",
        when(is_like(_StepFlags(scale_power=0, factor_scaled=False))): "The scale is never applied: it turns "
        "e to the power of x into 2 to the power of x, and divides by the root of the head's dimension.",
        when(near(total, 4 * _stepped(_StepFlags())[1])): "l is four times too large: each lane sums its own "
        "scores, and the kernel adds the four lanes once, at the end.",
        otherwise: "m is right, but O / l is not. In this order: the factor from the old and the new m; l "
        "and O times the factor; each score becomes its weight, 2^((score - m) * scale), and is added to l.",
    }


@checks("15.6")
def _tiles(answer: object) -> Sentences:
    cases = (
        *((0, 64, 64), (3, 64, 64), (3, 64, 32), (1, 128, 64), (4, 64, 128), (5, 64, 128), (2, 128, 128)),
        *((1, 32, 48), (3, 48, 32), (2, 80, 64), (4, 16, 40), (6, 14, 10)),  # neither size divides the other
    )
    form = "`(computed, masked)`"
    submitted = [whole_numbers(result_of(answer, *case, form=form), 2, form) for case in cases]

    def everywhere(computed: Any, masked: Any) -> bool:
        return submitted == [(computed(*case), masked(*case)) for case in cases]

    def seen(block: int, queries: int, block_n: int) -> int:
        return -(-(block + 1) * queries // block_n)

    def whole(block: int, queries: int, block_n: int) -> int:
        return block * queries // block_n  # sizes are even: the first query never sees one key more than this

    def masked(block: int, queries: int, block_n: int) -> int:
        return seen(block, queries, block_n) - whole(block, queries, block_n)

    first = [one for one, _ in submitted]
    pairs = zip(cases, submitted, strict=True)
    where = next((case for case, one in pairs if one != (seen(*case), masked(*case))), cases[0])
    return {
        correct(everywhere(seen, masked)): "So kernel 3 loads half of K "
        "and V, and masks one or two tiles for each block of queries. Kernel 5 has as many keys in a block "
        "as queries: one masked tile, and it comes first.",
        when(everywhere(seen, lambda *case: 1)): "The tiles are right. But one masked tile is "
        "enough only if it has at least as many keys as the block has queries: think of 64 queries and tiles "
        "of 32 keys.",
        when(everywhere(seen, whole)): "The first is right; the second counts the tiles that are *not* "
        "masked.",
        when(
            everywhere(seen, lambda block, queries, block_n: -(-queries // block_n))
        ): "The tiles are right, and so are the masked ones where one of the two sizes divides the other. In "
        f"block {where[0]} with {where[1]} queries and tiles of {where[2]} keys they do not.",
        when(first == [whole(*case) for case in cases]): "Those are the tiles before the first query. The "
        "*last* query of the block sees more.",
        when(first == [(block + 1) * queries // block_n for block, queries, block_n in cases]): "Round up: a "
        "tile of which only a part is seen has to be computed.",
        when(first == [seen(*case) for case in cases]): "The tiles that are computed are right. A tile is "
        "masked if its last key comes after the *first* query of the block.",
        otherwise: f"Block {where[0]} with {where[1]} queries and tiles of {where[2]} keys is the first "
        "that is wrong. Its queries go from block * queries to (block + 1) * queries - 1, and each sees "
        "the keys up to its own number.",
    }


_MASK_CASES = ((0, 0), (16, 16), (16, 0), (32, 24), (8, 16))  # first query, first key


@checks("15.7")
def _mask(answer: object) -> Sentences:
    built = compiled(answer, "mask", _BEFORE, _MASKED)
    scores = np.arange(1, 257, dtype=np.float32).reshape(16, 16)
    row, column = np.ogrid[:16, :16]
    masked = {}
    for query, key in _MASK_CASES:
        S = scores.copy()
        result = simulated(built, (1, 1), 32, (S, np.int32(query), np.int32(key)), "`s` has 8 elements.")
        masked[query, key] = S
        if result.hazards:
            return reported(result)

    def is_like(hidden: Any, value: float = -np.inf) -> bool:
        return all(
            same(S, np.where(hidden(query, key), np.float32(value), scores))
            for (query, key), S in masked.items()
        )

    def right(query: int, key: int) -> Any:
        return key + column > query + row

    changed = {case: scores != S for case, S in masked.items()}
    case = next((tile for tile in masked if (changed[tile] != right(*tile)).any()), _MASK_CASES[0])
    at = np.argwhere(changed[case] != right(*case))
    spot = f"S[{at[0][0]}][{at[0][1]}]" if len(at) else "the first"
    return {
        correct(is_like(right)): "The diagonal itself stays, everything right of it becomes -inf, and "
        "2^-inf is 0: the masked keys add nothing to l or to O. No branch is needed beyond one selection "
        "per score.",
        when(is_like(right, 0.0)): "The places are right. But a score of 0 is a score like any other: its "
        "weight is 2^(0 - m). Which score has the weight 0?",
        when(is_like(lambda query, key: key + column >= query + row)): "The diagonal itself is masked, too. "
        "A query sees its own key; without it row 0 sees nothing, and -inf minus -inf makes it NaN.",
        when(is_like(lambda query, key: key + column < query + row)): "You hid the keys *before* the query. "
        "A query sees those, and itself.",
        when(is_like(lambda query, key: column > row)): "That is right for tiles on the diagonal only: "
        "compare the numbers of key and query in the sequence, `key` + column with `query` + row.",
        when(is_like(lambda query, key: key + column > query + row % 8)): "Rows 0 to 7 are right. `s[2]`, "
        "`s[3]`, `s[6]`, `s[7]` are eight rows further down.",
        when(is_like(lambda query, key: key + column % 8 > query + row)): "The first tile is right. `s[4]` "
        "to `s[7]` are eight keys further on.",
        when(is_like(lambda query, key: key + column - column % 2 > query + row)): "Odd keys are treated as "
        "the even ones beside them: `s[1]` is one key further than `s[0]`.",
        when(not any(difference.any() for difference in changed.values())): "No score has changed.",
        otherwise: f"With query = {case[0]} and key = {case[1]}, the first that is wrong is {spot}. Which "
        "row and which column does `s[i]` have in this lane?",
    }


@checks("15.8")
def _cycles(answer: object) -> Sentences:
    form = "`(products, exponentials, products, exponentials)`"
    submitted = numbers(answer, form, 4)
    expected = (1024.0, 512.0, 512.0, 512.0)
    close = close_to(submitted, expected, 1e-6)
    return {
        correct(all(close)): "With 128 dimensions, a softmax that runs beside the products is hidden; one "
        "after the other, the tensor cores would work for two thirds of the time. With 64 dimensions the "
        "two take equally long, and the exponentials become the limit.",
        when(abs(submitted[0] - 512) < 1): "That is one product. There are two: Q K^T, and P V.",
        when(abs(submitted[0] - 2048) < 1): "A multiply-add counts once here, not as two operations.",
        when(not close[0]): "Each of the two products has 64 * 128 * 128 multiply-adds.",
        when(not close[1]): "One exponential for each score: 64 * 128 of them, 16 in a cycle.",
        when(not close[2]): "The first two are right. Both products are proportional to the head's "
        "dimension: one sums over it, the other has it as its N.",
        otherwise: "The first three are right. How many scores are there with 64 dimensions?",
    }


_CHANGING = {1, 3, 5}


@checks("15.9")
def _changes(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a set of numbers, such as {1, 2}")
    return {
        correct(submitted == _CHANGING): "What changes is the order or the rounding of the sums of one row. "
        "When data arrives, who computes a row, and beside whom, leaves no trace in the bits.",
        when(submitted - set(range(1, 7))): "There are six changes, 1 to 6.",
        when(2 in submitted): "A ring changes *when* data arrives (2). Which sums are formed, and in which "
        "order, stays.",
        when(4 in submitted): "Rows do not mix (4): each query has its own m, l and sums, whichever block it "
        "is in.",
        when(6 in submitted): "Heads are independent (6): another order of blocks on the GPU changes no sum.",
        when(1 not in submitted): "One is missing: the cell above has just shown it.",
        when(3 not in submitted): "One is missing. With blocks of another size m is updated at other times, "
        "and sums are made in other groups.",
        otherwise: "One is missing. 2^(s * scale - m * scale) with one rounding in the FMA, or e^x of a "
        "rounded x: is that the same number in every bit?",
    }
