"""Lesson 21: what a tensor core keeps, truncates and rounds, and where two chips differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import quoted
from ...instruction import Instruction, mma_instruction
from ...isa.dtypes import dtype
from ...isa.targets import GENERATIONS
from ...numerics import Fused, model_for, models
from ...views import Picture
from ...views.charts import bars, table
from ..answers import WrongForm, result_of, whole_numbers
from ..checking import Sentences, checks, correct, otherwise, when

SHORT = mma_instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
_LONG = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
HALF = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
LARGE, ONES = 2.0**24, 3


# -- what the lesson shows -----------------------------------------------------------------------------------

_Numbers = Sequence[float] | NDArray[np.float64]
_SYNC = mma_instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
_GROUP = mma_instruction("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3")
_BF16 = mma_instruction("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
_RIGHT, _WRONG = -0.375, 0.375  # shades


def case(
    ins: Instruction, a: _Numbers, b: _Numbers, c: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """A, B and C with row a, column b and element c at index 0, and zeros elsewhere.

    >>> A, B, C = case(SHORT, [2, 3], [5, 7], 1)
    >>> float(SHORT(A, B, C)[0, 0])   # 2 * 5 + 3 * 7 + 1
    32.0
    """
    A, B, C = np.zeros(ins.a.shape), np.zeros(ins.b.shape), np.zeros(ins.c.shape)
    A[0, : len(a)], B[: len(b), 0], C[0, 0] = a, b, c
    return A, B, C


def chain(terms: _Numbers) -> float:
    """A sum in float32, one addition after another.

    >>> chain([2**24, 1, 1])   # each 1 is rounded away
    16777216.0
    """
    total = np.float32(0)
    for term in terms:
        total = total + np.float32(term)
    return float(total)


def _d(ins: Instruction, a: _Numbers, b: _Numbers, c: float, model: str = "sm_90") -> float:
    """D[0][0] for a row of A, a column of B and C[0][0]."""
    return float(ins(*case(ins, a, b, c), model=model)[0, 0])


def surprises() -> Picture:
    """Two sums, as a chain of float32 additions and as the tensor core computes them.

    >>> [cell.text for cell in surprises().grids[0].cells][:3]
    ['16777216', '16777232', '16777232']
    """
    ones, tiny = [1.0] * 16, [1.0] + 15 * [2.0**-13]
    sums = {
        "2^24, then sixteen times 1": (chain([2.0**24, *ones]), _d(_LONG, ones, ones, 2.0**24), 2.0**24 + 16),
        "fifteen times 2^-26, then 1": (
            chain([2.0**-26] * 15 + [1]),
            _d(_LONG, tiny, tiny, 0.0),
            1 + 15 * 2.0**-26,
        ),
    }
    texts = {name: [f"{value:.10g}" for value in values] for name, values in sums.items()}
    nearest = {name: float(np.float32(values[-1])) for name, values in sums.items()}
    shades = {
        text: _RIGHT if value == nearest[name] else _WRONG
        for name, values in sums.items()
        for text, value in zip(texts[name][:2], values, strict=False)
    }
    columns = ["chain of float32", "tensor core, sm_90", "exact"]
    notes = ("blue: the float32 nearest to the exact sum",)
    return table(texts, columns, "Two sums, twice", notes, shades=shades)


def _with_small_term(ins: Instruction, terms: list[float], j: int, chip: str = "sm_90") -> float:
    """The sum of some terms and 2^-j, a product of two factors that f16 has."""
    a, b = [*terms, 2.0 ** -(j // 2)], [*(1.0 for _ in terms), 2.0 ** -(j - j // 2)]
    return _d(ins, a, b, 0.0, chip)


def kept_bits() -> Picture:
    """Which chips still have 2^-j after 1 - 1 + 2^-j.

    >>> [cell.text for cell in kept_bits().grids[0].cells][-6:]
    ['lost', 'lost', 'lost', 'lost', 'lost', 'lost']
    """
    chips = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120")
    texts = {}
    for j in range(22, 28):
        results = [_with_small_term(SHORT, [1, -1], j, chip) for chip in chips]
        texts[f"2^-{j}"] = ["kept" if result == 2.0**-j else "lost" for result in results]
    headings = [f"{chip}\n{GENERATIONS[chip]}" for chip in chips]
    shades = {"kept": _RIGHT, "lost": _WRONG}
    return table(texts, headings, "Is 2^-j still there after 1 - 1 + 2^-j?", shades=shades)


def orders(count: int = 200) -> Picture:
    """How many of `count` shuffled orders of sixteen products give each sum.

    >>> [group.text for group in orders(10).grids[0].row_groups]
    ['chain of float32', 'tensor core']
    """
    rng = np.random.default_rng(4)
    a, b = (np.float16(rng.normal(0, 1, 16)).astype(float) for _ in range(2))
    shuffled = [rng.permutation(16) for _ in range(count)]
    chains = Counter(chain(a[order] * b[order]) for order in shuffled)
    cores = Counter(_d(_LONG, a[order], b[order], 0.0) for order in shuffled)
    sums = {
        name: {f"{value:.9g}": float(found) for value, found in sorted(counter.items())}
        for name, counter in (("chain of float32", chains), ("tensor core", cores))
    }
    return bars(sums, f"The sums of {count} orders", ("how often each sum came out",))


def half_sums() -> Picture:
    """What becomes of 2048 plus a little in f16.

    >>> [cell.text for cell in half_sums().grids[0].cells][:4]
    ['2048.5', '2048', '2049', '2048']
    """
    texts = {}
    for small in (0.5, 1, 1.5, 3):
        texts[f"2048 + {small:g}"] = [f"{2048 + small:g}", f"{_d(HALF, [small], [1], 2048.0):g}"]
    notes = ("the f16 numbers here are even; a tie goes to the multiple of 4",)
    return table(texts, ["exact", "D, f16"], "f16 results are rounded to nearest even", notes)


def fp8_sums() -> Picture:
    """1 plus a small power of two by the two ways to multiply FP8 on Hopper.

    >>> [cell.text for cell in fp8_sums().grids[0].cells][-2:]
    ['kept', 'lost']
    """
    texts = {}
    for j in (12, 13, 14):
        results = [_with_small_term(ins, [1], j) for ins in (_SYNC, _GROUP)]
        texts[f"1 + 2^-{j}"] = ["kept" if result == 1 + 2.0**-j else "lost" for result in results]
    shades = {"kept": _RIGHT, "lost": _WRONG}
    return table(texts, ["mma.sync", "wgmma"], "FP8 on Hopper: is the small term kept?", shades=shades)


def in_steps(X: NDArray[np.float64], Y: NDArray[np.float64], restart: int) -> NDArray[np.float32]:
    """X Y by wgmma with FP8, which starts from zero after every `restart` products; f32 adds the parts.

    >>> in_steps(np.ones((64, 64)), np.ones((64, 8)), 32)[0, 0]
    np.float32(64.0)
    """
    total, D = np.zeros((64, 8), dtype=np.float32), np.zeros((64, 8))
    for k in range(0, X.shape[1], _GROUP.k):
        D = _GROUP(X[:, k : k + _GROUP.k], Y[k : k + _GROUP.k], D)
        if (k + _GROUP.k) % restart == 0:
            total, D = total + np.float32(D), np.zeros((64, 8))
    return total


def loop_errors(K: int = 2048) -> Picture:
    """The error of a long FP8 product, by how often it starts again.

    >>> loop_errors(256).title
    'Error of an FP8 product with K = 256'
    """
    e4m3, rng = dtype("e4m3"), np.random.default_rng(6)
    codes = (e4m3.encode(rng.normal(0, 1, size)) for size in ((64, K), (K, 8)))
    X, Y = (e4m3.decode(code).astype(float) for code in codes)
    exact = X @ Y
    errors = {}
    for restart in (K, K // 4, K // 16):
        off = in_steps(X, Y, restart) - exact
        name = "never starts again" if restart == K else f"starts again after {restart} products"
        errors[name] = float(np.sqrt((off**2).mean() / (exact**2).mean()))
    notes = ("root mean square, relative to the exact product",)
    return bars(errors, f"Error of an FP8 product with K = {K}", notes, text="{:.1e}".format)


def special_results() -> Picture:
    """What becomes of infinities, NaN, zeros and subnormal numbers.

    >>> [cell.text for cell in special_results().grids[0].cells][:2]
    ['nan', '0x7fffffff']
    """
    inf, nan = math.inf, math.nan
    cases: dict[str, tuple[list[float], list[float], float]] = {
        "inf - inf": ([inf, -inf], [1, 1], 0),
        "0 * inf": ([0], [inf], 0),
        "5 - inf": ([5], [1], -inf),
        "NaN with a sign": ([-nan], [1], 0),
        "all terms -0": ([-0.0] * 8, [1] * 8, -0.0),
        "2^-70 * 2^-70": ([2.0**-70], [2.0**-70], 0),
    }
    texts = {}
    for name, parts in cases.items():
        result = np.float32(_d(_BF16, *parts))
        texts[name] = [f"{result:.6g}", f"{result.view(np.uint32):#010x}"]
    return table(texts, ["D", "its bits"], "Special values on sm_90")


def models_of(ins: Instruction) -> Picture:
    """How every chip that has an instruction adds for it, and how that is known.

    >>> (grid,) = models_of(_LONG).grids
    >>> bits = {head.text: grid.at(head.start, 0).text for head in grid.rows}
    >>> bits["sm_90 Hopper"], "sm_75 Turing" in bits
    ('25', False)
    """
    texts: dict[str, list[str]] = {}
    chips = {target.rstrip("af") for target in ins.targets}
    for model in models():
        if model.chip in chips and model.fits(ins) and isinstance(model.rule, Fused):
            steps = f"steps of {model.rule.depth}" if model.rule.depth else "one step"
            name = f"{model.chip} {model.generation}"
            texts.setdefault(name, [str(model.rule.fraction_bits), steps, model.evidence])
    columns = ["bits kept below\nthe largest exponent", "K", "evidence"]
    return table(texts, columns, f"Models for {ins.shape} with {ins.a_type} and {ins.d_type} results")


# -- exercises ---------------------------------------------------------------------------------------------


@checks("21.1")
def _large_and_small(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(chain of float32, tensor core)`")
    exact = int(LARGE) + ONES
    expected = int(chain([LARGE] + [1.0] * ONES)), int(_d(SHORT, [1.0] * ONES, [1.0] * ONES, LARGE))
    return {
        correct(submitted == expected): "Every addition in the chain is a tie and goes back to 2^24. The "
        "tensor core adds all four terms exactly, and truncates the odd sum once.",
        when(submitted == expected[::-1]): "The numbers are right, but in the wrong order.",
        when(exact in submitted): f"{exact} is the exact sum, but it is odd: float32 has no odd numbers in "
        "that range.",
        when(submitted == (expected[0], exact + 1)): "The chain is right. You rounded the tensor core's sum "
        "to nearest even; its result is *truncated*, toward zero.",
        when(submitted == (exact + 1, expected[1])): "The tensor core is right. The chain rounds after "
        "every addition, not once at the end.",
        when(submitted[0] == expected[0]): "The chain is right. The tensor core adds all terms before it "
        "converts the result to float32.",
        when(submitted[1] == expected[1]): "The tensor core is right. In the chain, what is 2^24 + 1 after "
        "rounding to nearest even?",
        otherwise: "The chain rounds to nearest even after every addition. The tensor core adds everything "
        "first, and truncates once.",
    }


@checks("21.2")
def _last_bits(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a number of 32 bits such as `0x3F800000`")
    factors = [2.0**-12] * 3  # three products of 2^-24
    expected = int(np.float32(_d(SHORT, factors, factors, 1.0)).view(np.uint32))
    one = int(np.float32(1).view(np.uint32))
    return {
        correct(submitted == expected): "2^-24 is within the 25 bits that are kept below 2^0, so nothing is "
        "lost before the sum. The sum is 1 plus one and a half times the last bit; the half is truncated.",
        when(submitted == one): "None is lost: 25 bits below the largest exponent are kept, and 2^-24 is "
        "one of them. What is three times a half?",
        when(submitted == one + 2): "You rounded: one and a half to nearest even is two. The tensor core "
        "truncates instead.",
        when(submitted == one + 3): "Each product is half of the last bit, not a whole one.",
        when(submitted in (0x33800000, 0x34400000)): "Those are the bits of the number that is added. D is "
        "about 1.",
        when(not 0 <= submitted < 1 << 32): "D has 32 bits.",
        when(one < submitted < one + 64): "The sum is only a little above 1. Count in units of the last "
        "bit: how many halves are added?",
        otherwise: "Add exactly: 1 + 3 * 2^-24. The last bit of 1.0 in float32 is worth 2^-23; anything "
        "less than that is truncated.",
    }


def _smallest_lost(chip: str) -> int:
    """The smallest j for which 1 - 1 + 2^-j gives 0."""
    return next(j for j in range(1, 48) if _with_small_term(SHORT, [1, -1], j, chip) == 0)


@checks("21.3")
def smallest_lost(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(j on sm_90, j on sm_80)`")
    expected = _smallest_lost("sm_90"), _smallest_lost("sm_80")
    kept = tuple(_fused_of(chip).fraction_bits for chip in ("sm_90", "sm_80"))
    return {
        correct(submitted == expected): "The largest exponent is 0, so the last bit that is kept is "
        f"2^-{kept[0]} on sm_90 and 2^-{kept[1]} on sm_80. The next one is lost, although the sum itself "
        "would fit.",
        when(submitted == kept): "Those bits are still kept. The first that is lost is one lower.",
        when(submitted == expected[::-1]): "It is the other way round: Hopper keeps one bit more than "
        "Ampere, so it loses the product later.",
        when(submitted == (expected[0] + 1, expected[1] + 1)): "One too far: those are lost, but they are "
        "not the first.",
        when(24 in submitted and 23 in submitted): "That would be the 23 fraction bits of float32. The "
        "tensor core keeps a little more while it adds.",
        when(abs(submitted[0] - submitted[1]) != 1): "The two chips differ by one bit.",
        when(all(j > 100 for j in submitted)): "A small product by itself is no problem: alone, 2^-j would "
        "be kept. It is lost because of the 1 beside it.",
        otherwise: "Bits are counted from the largest exponent, here 0, since 1 = 2^0: if n bits are kept, "
        "which power of two is the last?",
    }


def _fused_of(chip: str) -> Fused:
    rule = model_for(SHORT, chip).rule
    assert isinstance(rule, Fused)
    return rule


@checks("21.4")
def _in_steps(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(sm_90, sm_80)`")
    a, b = [0.0] * 16, [1.0] * 16
    a[0] = b[0] = 4096.0
    a[3] = a[12] = 1.0
    one, two = (int(_d(_LONG, a, b, 0.0, chip)) for chip in ("sm_90", "sm_80"))
    exact = int(LARGE) + 2
    return {
        correct(submitted == (one, two)): "In one step the two ones make 2, which float32 can hold up "
        "there. In two steps each 1 is added to 2^24 alone; the sum is odd and is truncated at the end of "
        "its step.",
        when(submitted == (two, one)): "It is the other way round: one step adds both ones together.",
        when(submitted == (exact, exact)): "On sm_80 the result of the first step is converted to float32 "
        "before the second step begins.",
        when(submitted == (two, two)): "On sm_90 both ones are in the same step. Is their sum also "
        "truncated?",
        when(any(value % 2 for value in submitted)): "Above 2^24 float32 has only even numbers, and the "
        "result of each step is a float32 number.",
        when(submitted[0] == one): "sm_90 is right. For sm_80 do it in two steps, and truncate the result "
        "of each to float32.",
        when(submitted[1] == two): "sm_80 is right. sm_90 adds everything before it truncates.",
        otherwise: "Add the terms of one step exactly, truncate the sum to float32 (even numbers in that "
        "range), and carry it into the next step.",
    }


def _row_column_and_c(answer: object) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """The answer to 21.5 as a row of A, a column of B and C; its form is checked."""
    form = "`(row of A, column of B, C)`, e.g. `([1, 2], [3, 4], 0)`"
    if not isinstance(answer, (tuple, list)) or len(answer) != 3:
        raise WrongForm(f"the answer has three parts: {form}.")
    try:
        a, b, c = (np.asarray(part, dtype=np.float64) for part in answer)
    except (TypeError, ValueError, OverflowError):
        raise WrongForm(f"some parts are not numbers; expected {form}.") from None
    if a.ndim != 1 or b.ndim != 1 or c.size != 1 or max(a.size, b.size) > SHORT.k:
        raise WrongForm(f"a row of A and a column of B have at most {SHORT.k} numbers, and C is one: {form}.")
    if not all(np.isfinite(part).all() for part in (a, b, c)):
        raise WrongForm("use finite numbers: with infinities and NaN the two chips agree.")
    return a, b, float(c.item())


@checks("21.5")
def _two_chips(answer: object) -> Sentences:
    a, b, c = _row_column_and_c(answer)
    size, uneven = max(a.size, b.size), a.size != b.size
    a, b = (np.pad(part, (0, size - part.size)) for part in (a, b))
    with np.errstate(over="ignore"):
        as_f16 = [part.astype(np.float16).astype(np.float64) for part in (a, b)]
    if not all(np.isfinite(part).all() for part in as_f16):
        raise WrongForm(
            "One of those numbers is too large for f16, whose largest number is 65504. A large product can "
            "come from two smaller factors."
        )
    new, old = (_d(SHORT, a, b, c, chip) for chip in ("sm_90", "sm_80"))
    lost = any(((kept == 0) & (part != 0)).any() for kept, part in zip(as_f16, (a, b), strict=True))
    terms = [(x * y, _exponent(x) + _exponent(y)) for x, y in zip(*as_f16, strict=True) if x * y]
    if c:
        terms.append((c, _exponent(c)))
    largest = max((exponent for _, exponent in terms), default=0)
    on_sm90, on_sm80 = (
        [_rounded(value, largest - _fused_of(chip).fraction_bits, "truncate") for value, _ in terms]
        for chip in ("sm_90", "sm_80")
    )
    return {
        correct(new != old and bool(new) and bool(old)): f"sm_90 gives {new!r}, sm_80 gives {old!r}: a term "
        "reaches down to the one bit that Hopper keeps and Ampere truncates, and the rest of the sum is "
        "small enough to show it.",
        when(new != old): "They differ, but one of them is 0, as in the table. Add a term of medium size "
        "that is left after the large terms cancel.",
        when(lost): "f16 does not go that low: one of your numbers became 0. Its smallest number is 2^-24; "
        "a tiny product can come from two small factors.",
        when(uneven): "They agree. Your row and your column are not equally long: the missing numbers are "
        "zeros, so their products are also zero.",
        when(len(terms) < 2): "With a single term nothing needs to be aligned: you need a large term and a "
        "small one.",
        when(on_sm80 == [value for value, _ in terms]): "Both chips keep every bit of all your terms. "
        "Increase the distance between the largest and the smallest.",
        when(on_sm90 == on_sm80): "The smallest term is lost on both chips. Move it closer: there is "
        "exactly one bit that one chip keeps and the other truncates.",
        otherwise: "The bits are right, but the difference does not show in D: the result is truncated to "
        "24 significant bits. Let the large terms cancel, or let the sum fall just below a power of two.",
    }


@checks("21.6")
def _stuck(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a whole number")
    kind = dtype("f16")
    expected = next(
        value
        for value in (2.0**e for e in range(5, 16))
        if float(HALF(np.ones((16, 16)), np.ones((16, 8)), np.full((16, 8), value))[0, 0]) == value
    )
    significant = kind.fraction_bits + 1
    return {
        correct(submitted == expected): "From there on, adjacent f16 numbers are 32 apart. Adding 16 makes "
        "a tie, and the tie goes back to the even one. So the sum is stuck, however long the loop runs. "
        f"(f32 accumulators have {24 - significant} more bits.)",
        when(submitted == 2**significant): "There a single 1 would be lost. But every call adds 16 ones at "
        "once, and adds them exactly.",
        when(submitted in (2**16, 65504, 65520)): "It never comes near the largest f16. For which numbers "
        "are adjacent f16 values so far apart that 16 is only half a step?",
        when(submitted in (expected / 2, expected / 4)): "There adjacent f16 numbers are at most 16 apart, "
        "so adding 16 gives another f16 number.",
        when(submitted == expected - 16): "Adding 16 still gives an f16 number: the loop goes on from there.",
        when(submitted == 2**24): "That is where float32 would get stuck if ones were added one at a time. "
        "Here the result is f16.",
        when(submitted == expected + 16): "That is not an f16 number: it is a tie between two of them.",
        otherwise: "Between 2^e and 2^(e+1) the f16 numbers are 2^(e-10) apart. For which e is 16 only half "
        "of that?",
    }


# -- the fused sum as a function -----------------------------------------------------------------------------


def _exponent(x: float) -> int:
    return math.frexp(x)[1] - 1


Rounding = Literal["truncate", "floor", "nearest", "exact"]


def _rounded(x: float, place: int, how: Rounding) -> float:
    """A number without the bits below 2^place."""
    unit = math.ldexp(1.0, place)
    units = x / unit
    match how:
        case "truncate":
            return math.trunc(units) * unit
        case "floor":
            return math.floor(units) * unit
        case "nearest":
            return round(units) * unit
        case "exact":
            return x


@dataclass(frozen=True)
class _StepModel:
    """The fused step of sm_90, and with other values the mistakes that readers make about it."""

    terms: Rounding = "truncate"
    result: Rounding = "truncate"
    aligned_bits: int = 25
    fraction_bits: int = 23
    normalise_products: bool = False
    align_to_c: bool = True
    truncate_c: bool = True
    align_to_zeros: bool = False
    result_below_terms: bool = False  # the result is rounded relative to the largest term, not to the sum

    def __call__(self, c: float, a: list[float], b: list[float]) -> float:
        products = [x * y for x, y in zip(a, b, strict=True)]
        exponents = [
            _exponent(product) if self.normalise_products else _exponent(x) + _exponent(y)
            for x, y, product in zip(a, b, products, strict=True)
            if product or self.align_to_zeros
        ]
        if (c or self.align_to_zeros) and (self.align_to_c or not exponents):
            exponents.append(_exponent(c))
        if not exponents:
            return 0.0
        largest = max(exponents)
        last = largest - self.aligned_bits
        total = math.fsum(_rounded(product, last, self.terms) for product in products)
        total += _rounded(c, last, self.terms) if self.truncate_c else c
        if not total:
            return 0.0
        top = largest if self.result_below_terms else _exponent(total)
        return _rounded(total, top - self.fraction_bits, self.result)


#: Misconceptions and the hints for them.
_MISTAKES: dict[_StepModel, str] = {
    _StepModel(terms="exact"): "You add exactly and truncate once at the end. The terms themselves are "
    "truncated first, each of them, 25 bits below the largest exponent.",
    _StepModel(terms="nearest"): "You round every term to nearest. They are truncated: what is below the "
    "last bit is dropped.",
    _StepModel(terms="floor"): "Negative terms come out too far from zero: `floor` rounds down, but "
    "truncation goes *toward zero*, for both signs.",
    _StepModel(result="nearest"): "You round the result to nearest. On a tensor core an f32 result is "
    "also truncated toward zero.",
    _StepModel(result="exact"): "The sum of the truncated terms is right, but it has too many bits: D is a "
    "float32, truncated to 23 fraction bits.",
    _StepModel(terms="exact", result="nearest"): "You add exactly and round to nearest. First each term is "
    "truncated, and at the end the sum is also truncated.",
    _StepModel(fraction_bits=24): "You keep 24 fraction bits at the end. A float32 has 23, and the 1 in "
    "front of them.",
    _StepModel(result_below_terms=True): "The final truncation is counted from the exponent of the *sum*. It "
    "may be smaller or larger than the largest exponent of the terms.",
    _StepModel(truncate_c=False): "C is a term like the others, so it is also truncated.",
    _StepModel(aligned_bits=24): "That is the sum of Ampere: 24 bits. sm_90 keeps one more.",
    _StepModel(aligned_bits=23): "You keep 23 bits, as float32 does. The alignment of sm_90 keeps 25.",
    _StepModel(normalise_products=True): "You normalised the products: 1.5 * 1.5 = 2.25 has exponent 0 + 0 "
    "here, the sum of its *factors'* exponents, not 1.",
    _StepModel(align_to_c=False): "C takes part in the alignment: its exponent may be the largest.",
    _StepModel(align_to_zeros=True): "A zero must not take part in the alignment: `exponent(0)` returns -1, "
    "which may be the largest although the term is zero.",
}


def _cases() -> list[tuple[float, list[float], list[float]]]:
    """C and four factors on each side, normal f16 numbers or zeros: near and far, of both signs."""
    rng = np.random.default_rng(127)
    cases: list[tuple[float, list[float], list[float]]] = [
        (0.0, [0.0] * 4, [0.0] * 4),
        (1.0, [0.0] * 4, [1.0] * 4),
    ]
    for i in range(120):
        spread = (1, 4, 7)[i % 3]
        a, b = (
            np.float16(rng.normal(0, 1, 4) * 2.0 ** rng.integers(-spread, spread + 1, 4)).astype(float)
            for _ in range(2)
        )
        a[rng.random(4) < 0.1] = 0
        c = np.float32(rng.normal(0, 1) * 2.0 ** rng.integers(-10, 12)) if i % 4 else np.float32(0)
        if i % 5 == 0:  # what is left after cancellation shows the last bits
            a[1], b[1] = -a[0], b[0]
        cases.append((float(c), [float(x) for x in a], [float(x) for x in b]))
    return cases


@checks("21.7")
def fused_sum(answer: object) -> Sentences:
    cases = _cases()
    expected = _emulated(cases)
    results = [_sum_of(answer, *case) for case in cases]
    wrong = [i for i, (mine, right) in enumerate(zip(results, expected, strict=True)) if mine != right]
    if not wrong:
        return {
            correct(True): f"Your function gives the same bits as the emulator on {len(cases)} inputs, and "
            "the emulator gives the same bits as an H200. You have written a tensor core."
        }
    first = wrong[0]
    c, a, b = cases[first]
    about = f"{len(wrong)} of {len(cases)} differ; the first is `fused_sum({c!r}, {a}, {b})`"
    exact = _StepModel(terms="exact", result="exact")
    chains = [chain([c, *(x * y for x, y in zip(a, b, strict=True))]) for c, a, b in cases]
    return {
        **{
            when(results == [step(*case) for case in cases]): f"{hint} ({about}.)"
            for step, hint in _MISTAKES.items()
        },
        when(all(mine == -right for mine, right in zip(results, expected, strict=True))): "The sign is "
        f"wrong. ({about}.)",
        when(results == chains): "That is a chain of float32 additions. A "
        f"tensor core adds all terms at once. ({about}.)",
        when(results[0] != 0): "If all terms are zeros, the sum is 0.",
        when(np.allclose(results, [exact(*case) for case in cases], rtol=1e-12, atol=0)): "That is the "
        "exact sum. The tensor core truncates: first each term, 25 bits below the largest exponent, then "
        f"the sum. ({about}.)",
        otherwise: f"{about}. Print the terms, the largest exponent and the result of each truncation, and "
        "compare with `ins.trace`.",
    }


def _sum_of(function: object, c: float, a: list[float], b: list[float]) -> float:
    """What a reader's `fused_sum` returns."""
    form, about = "`fused_sum(c, a, b)` returns a number", f"called with ({c!r}, {a}, {b})"
    try:
        value = result_of(function, c, list(a), list(b), form=form, about=about)
    except WrongForm as error:
        if not callable(function) or any(a) or c:
            raise
        advice = "Zeros do not count for the largest exponent, and here there is nothing else."
        raise WrongForm(f"{error} {advice}") from None
    try:
        return float(value)  # type: ignore[arg-type]  # anything else raises
    except (TypeError, ValueError, ArithmeticError):
        raise WrongForm(f"{about} the function returned {quoted(value)}, which is not a number.") from None


def _emulated(cases: list[tuple[float, list[float], list[float]]]) -> list[float]:
    """D[0][0] of the emulator for every case, in one batch."""
    A, B, C = (np.zeros((len(cases), *operand.shape)) for operand in (SHORT.a, SHORT.b, SHORT.c))
    for i, (c, a, b) in enumerate(cases):
        A[i, 0, : len(a)], B[i, : len(b), 0], C[i, 0, 0] = a, b, c
    return [float(d) for d in SHORT(A, B, C, model="sm_90")[:, 0, 0]]
