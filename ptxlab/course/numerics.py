"""Exercises of lesson 12: what a tensor core's sum keeps, cuts and rounds, and where two chips differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import PtxlabError
from ..instruction import Instruction, mma_instruction
from ..isa.dtypes import dtype
from ..numerics import Fused, model_for
from .core import Unanswered, Unreadable, exercise, judge, whole

SHORT = mma_instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
LONG = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
HALF = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
LARGE, ONES = 2.0**24, 3
TINY, TIMES = -24, 3


def _d(ins: Instruction, a: Any, b: Any, c: float, model: str = "sm_90") -> float:
    """D[0][0] for a row of A, a column of B and C[0][0]."""
    A, B, C = np.zeros(ins.a.shape), np.zeros(ins.b.shape), np.zeros(ins.c.shape)
    A[0, : len(a)], B[: len(b), 0], C[0, 0] = a, b, c
    return float(ins(A, B, C, model=model)[0, 0])


def _chain(terms: list[float]) -> float:
    """A sum in float32, one after the other."""
    total = np.float32(0)
    for term in terms:
        total = total + np.float32(term)
    return float(total)


@exercise(
    "12.1",
    "C is 2^24 = 16777216, and three products are 1. **What is the sum in a chain of float32 additions that begins with C, and what is it on the tensor core** (sm_90)? From 2^24 to 2^25 the float32 numbers are the even numbers.",
    "sums = ...  # (chain of float32, tensor core)",
)
def large_and_small(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(chain of float32, tensor core)`")
    exact = int(LARGE) + ONES
    expected = int(_chain([LARGE] + [1.0] * ONES)), int(_d(SHORT, [1.0] * ONES, [1.0] * ONES, LARGE))
    return judge(
        found == expected,
        "Every addition of the chain is a tie and goes back to 2^24. The tensor core adds all four terms exactly, and cuts the odd sum once, down.",
        (found == expected[::-1], "Right numbers, but in the other order."),
        (exact in found, f"{exact} is the exact sum, but it is odd: float32 has no odd numbers up there."),
        (
            found == (expected[0], exact + 1),
            "The chain is right. You rounded the tensor core's sum to nearest even; its result is *cut*, toward zero.",
        ),
        (
            found == (exact + 1, expected[1]),
            "The tensor core is right. The chain rounds after every addition, not once at the end.",
        ),
        (
            found[0] == expected[0],
            "The chain is right. The tensor core adds all terms before it makes the result a float32.",
        ),
        (
            found[1] == expected[1],
            "The tensor core is right. In the chain, what is 2^24 + 1 after rounding to nearest even?",
        ),
        otherwise="The chain rounds to nearest even after every addition. The tensor core adds everything first, and cuts once.",
    )


@exercise(
    "12.2",
    "C is 1, and three products are 2^-24: each is *half* of the last bit of 1 in float32. **Which bits has D** on sm_90? 1.0 is `0x3F800000`.",
    "bits = ...  # in hexadecimal",
)
def last_bits(answer: Any) -> tuple[bool, str]:
    (found,) = whole(answer, 1, "a number of 32 bits such as `0x3F800000`")
    expected = int(
        np.float32(_d(SHORT, [2.0 ** (TINY // 2)] * TIMES, [2.0 ** (TINY // 2)] * TIMES, 1.0)).view(np.uint32)
    )
    one = int(np.float32(1).view(np.uint32))
    return judge(
        found == expected,
        "2^-24 lies within the 25 places that are kept below 2^0, so nothing is lost before the sum. The sum is 1 plus one and a half last bits; the half is cut.",
        (
            found == one,
            "None is lost: 25 places below the largest exponent are kept, and 2^-24 is one of them. What is three times a half?",
        ),
        (
            found == one + 2,
            "You rounded: one and a half to the nearest even is two. The tensor core cuts instead.",
        ),
        (found == one + 3, "Each product is half of the last bit, not a whole one."),
        (found in (0x33800000, 0x34400000), "Those are the bits of what is added. D is about 1."),
        (not 0 <= found < 1 << 32, "D has 32 bits."),
        (
            one < found < one + 64,
            "The sum is only a little above 1. Count in units of the last bit: how many halves are added?",
        ),
        otherwise="Add exactly: 1 + 3 * 2^-24. The last bit of 1.0 in float32 is worth 2^-23; what does not fill a whole one is cut.",
    )


def _smallest_lost(chip: str) -> int:
    """The smallest j for which 1 - 1 + 2^-j gives 0."""
    return next(
        j
        for j in range(1, 48)
        if _d(SHORT, [1.0, -1.0, 2.0 ** -(j // 2)], [1.0, 1.0, 2.0 ** -(j - j // 2)], 0.0, chip) == 0
    )


@exercise(
    "12.3",
    "Three products are 1, -1 and 2^-j. The exact sum is 2^-j, but from some j on **D is 0**: the small product was cut away before 1 and -1 met. **What is the smallest such j on sm_90 (25 places kept below the largest exponent), and on sm_80 (24 places)?**",
    "lost = ...  # (j on sm_90, j on sm_80)",
)
def smallest_lost(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(j on sm_90, j on sm_80)`")
    expected = _smallest_lost("sm_90"), _smallest_lost("sm_80")
    kept = tuple(_fused_of(chip).fraction_bits for chip in ("sm_90", "sm_80"))
    return judge(
        found == expected,
        f"The largest exponent is 0, so the last place that is kept is 2^-{kept[0]} on sm_90 and 2^-{kept[1]} on sm_80. The next one is lost, though the sum itself would fit.",
        (found == kept, "Those places are still kept. The first that is lost lies one lower."),
        (
            found == expected[::-1],
            "The other way round: Hopper keeps one place more than Ampere, so it loses later.",
        ),
        (
            found == (expected[0] + 1, expected[1] + 1),
            "One too far: those are lost, but they are not the first.",
        ),
        (
            24 in found and 23 in found,
            "That would be float32's own 23 bits of fraction. The tensor core keeps a little more while it adds.",
        ),
        (abs(found[0] - found[1]) != 1, "The two chips differ by one place."),
        (
            all(j > 100 for j in found),
            "Smallness alone is no problem: alone, 2^-j would be kept. It is the 1 beside it that pushes it out.",
        ),
        otherwise="The places are counted from the largest exponent, here that of 1 = 2^0: with n places kept, which power of two is the last?",
    )


def _fused_of(chip: str) -> Fused:
    rule = model_for(SHORT, chip).rule
    if not isinstance(rule, Fused):
        raise PtxlabError(f"{SHORT.mnemonic} is no fused sum on {chip}")
    return rule


@exercise(
    "12.4",
    "`mma.m16n8k16` with f16: one product, at k = 0, is 2^24; two others, at **k = 3 and k = 12**, are 1; the rest and C are 0. **What is D on sm_90 and on sm_80?** sm_90 adds all 16 products in one step, sm_80 takes k 0 to 7 first and then k 8 to 15.",
    "sums = ...  # (sm_90, sm_80)",
)
def in_steps(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(sm_90, sm_80)`")
    a, b = [0.0] * 16, [1.0] * 16
    a[0] = b[0] = 4096.0
    a[3] = a[12] = 1.0
    one, two = (int(_d(LONG, a, b, 0.0, chip)) for chip in ("sm_90", "sm_80"))
    exact = int(LARGE) + 2
    return judge(
        found == (one, two),
        "In one step the two ones make a two, which float32 can hold. In two steps each one meets 2^24 alone, makes an odd sum, and is cut at the end of its step.",
        (found == (two, one), "The other way round: one step sees both ones together."),
        (
            found == (exact, exact),
            "On sm_80 the result of the first step is a float32 number before the second step begins.",
        ),
        (found == (two, two), "On sm_90 both ones are in the same step. Is their sum cut, too?"),
        (
            any(value % 2 for value in found),
            "Above 2^24 float32 has only even numbers; results of steps are float32 numbers.",
        ),
        (
            found[0] == one,
            "sm_90 is right. For sm_80 do it in two steps, and cut the result of each to a float32.",
        ),
        (found[1] == two, "sm_80 is right. sm_90 adds everything before it cuts."),
        otherwise="Add what is in one step exactly, cut it to a float32 (even numbers up there), and carry that into the next step.",
    )


@exercise(
    "12.5",
    "**Make an input on which sm_80 and sm_90 differ, and neither gives 0**, for `mma.m16n8k8` with f16. There K is one step on both, so only the 24 and 25 places are left. Give a row of A and a column of B, eight numbers each (fewer are filled up with zeros), and C. Any that works is right.",
    "inputs = ...  # (row of A, column of B, C), e.g. ([1, 2], [3, 4], 0)",
)
def two_chips(answer: Any) -> tuple[bool, str]:
    form = "`(row of A, column of B, C)`, e.g. `([1, 2], [3, 4], 0)`"
    if not isinstance(answer, (tuple, list)) or len(answer) != 3:
        raise Unreadable(f"the answer has three parts: {form}.")
    try:
        a, b, c = (np.asarray(part, dtype=np.float64) for part in answer)
    except (TypeError, ValueError):
        raise Unreadable(f"that has parts that are no numbers; the answer takes the form {form}.") from None
    if a.ndim != 1 or b.ndim != 1 or c.size != 1 or max(a.size, b.size) > SHORT.k:
        raise Unreadable(
            f"a row of A and a column of B have at most {SHORT.k} numbers, and C is one: {form}."
        )
    if not all(np.isfinite(part).all() for part in (a, b, c)):
        raise Unreadable("finite numbers, please: with infinities and NaN the two chips agree.")
    size, uneven = max(a.size, b.size), a.size != b.size
    a, b = (np.pad(part, (0, size - part.size)) for part in (a, b))
    with np.errstate(over="ignore"):
        kept = [np.float64(part.astype(np.float16)) for part in (a, b)]
    over = [part for part in kept if not np.isfinite(part).all()]
    if over:
        return (
            False,
            "One of those numbers is too large for f16, which ends at 65504. Large products come from two factors.",
        )
    new, old = (_d(SHORT, a, b, float(c.item()), chip) for chip in ("sm_90", "sm_80"))
    lost = bool(((np.array(kept[0]) == 0) & (a != 0)).any() or ((np.array(kept[1]) == 0) & (b != 0)).any())
    terms = [(x * y, _exponent(x) + _exponent(y)) for x, y in zip(*kept, strict=True) if x * y]
    terms += [(float(c.item()), _exponent(float(c.item())))] * bool(c.item())
    tops = [place for _, place in terms] or [0]
    ours, theirs = (
        [_placed(value, max(tops) - _fused_of(chip).fraction_bits, "cut") for value, _ in terms]
        for chip in ("sm_90", "sm_80")
    )
    return judge(
        new != old and bool(new) and bool(old),
        f"sm_90 gives {new!r}, sm_80 gives {old!r}: a term reaches down to the one place that Hopper keeps and Ampere cuts, and what is left of the sum shows it.",
        (
            new != old,
            "They differ, but one of them is 0, as in the table. Let something of middle size be left when the large terms have cancelled.",
        ),
        (
            lost,
            "f16 is not that small: one of your numbers became 0. Below 2^-24 it has nothing; a tiny product comes from two small factors.",
        ),
        (
            uneven,
            "They agree. Your row and your column are not equally long: the missing numbers are zeros, and so are their products.",
        ),
        (
            len(terms) < 2,
            "With a single term nothing is aligned to anything: a difference needs a large term and a small one.",
        ),
        (
            theirs == [value for value, _ in terms],
            "Both chips keep every bit of all your terms. Put more places between the largest and the smallest.",
        ),
        (
            ours == theirs,
            "The smallest term is lost on both chips. Come closer: there is exactly one place that one keeps and the other cuts.",
        ),
        otherwise="The places are right, but it does not show in D: the result is cut to 24 significant bits. Let the large terms cancel, or cross a power of two downward.",
    )


@exercise(
    "12.6",
    "All elements of A and B are 1, and a kernel calls `mma.m16n8k16` with f16 accumulators again and again, D of one call being C of the next: every call adds 16. **At which value does the sum stop growing?** An f16 number has 11 significant bits; the result is rounded to nearest even.",
    "last = ...",
)
def stuck(answer: Any) -> tuple[bool, str]:
    (found,) = whole(answer, 1, "a whole number")
    kind = dtype("f16")
    expected = next(
        value
        for value in (2.0**e for e in range(5, 16))
        if float(HALF(np.ones((16, 16)), np.ones((16, 8)), np.full((16, 8), value))[0, 0]) == value
    )
    significant = kind.fraction_bits + 1
    return judge(
        found == expected,
        f"From there on neighbours are 32 apart. Adding 16 makes a tie, and the tie goes to the even one: back. So the sum of ones is stuck, however long the loop runs. (f32 accumulators have {24 - significant} bits more.)",
        (
            found == 2**significant,
            "There a single 1 would be lost. But every call adds 16 at once, and adds them exactly.",
        ),
        (
            found in (2**16, 65504, 65520),
            "It never comes near the largest f16. At which size are neighbouring numbers so far apart that 16 is only half a step?",
        ),
        (
            found in (expected / 2, expected / 4),
            "There neighbours are at most 16 apart, so 16 more is still a number.",
        ),
        (found == expected - 16, "16 more is still an f16 number: the loop goes on from there."),
        (
            found == 2**24,
            "That is where float32 would get stuck with ones added singly. Here the result is f16.",
        ),
        (found == expected + 16, "That sum is no f16 number: it is a tie between two of them."),
        otherwise="Between 2^e and 2^(e+1) the f16 numbers are 2^(e-10) apart. For which e is 16 only half of that?",
    )


# -- the fused sum as a function ------------------------------------------------------------------------------------------


def _exponent(x: float) -> int:
    return math.frexp(x)[1] - 1


def _fused(
    c: float,
    a: list[float],
    b: list[float],
    *,
    bits: int = 25,
    how: str = "cut",
    last: str = "cut",
    normal: bool = False,
    with_c: bool = True,
    whole_c: bool = False,
    zeros: bool = False,
    fraction: int = 23,
    from_top: bool = False,
) -> float:
    """The fused step, and the variants of it that one may take it for: `how` the terms are cut, `last` how the result is, and where."""
    products = [x * y for x, y in zip(a, b, strict=True)]
    tops = [
        _exponent(p) if normal else _exponent(x) + _exponent(y)
        for x, y, p in zip(a, b, products, strict=True)
        if p or zeros
    ]
    tops += [_exponent(c)] if (c or zeros) and (with_c or not tops) else []
    if not tops:
        return 0.0
    total = math.fsum(
        [
            c if whole_c else _placed(c, max(tops) - bits, how),
            *(_placed(term, max(tops) - bits, how) for term in products),
        ]
    )
    return _placed(total, (max(tops) if from_top else _exponent(total)) - fraction, last) if total else 0.0


def _placed(x: float, place: int, how: str) -> float:
    """A number cut or rounded at a place."""
    unit = math.ldexp(1.0, place)
    units = x / unit
    return {"cut": math.trunc(units), "floor": math.floor(units), "nearest": round(units)}.get(
        how, units
    ) * unit


#: Misconceptions, by the hint that goes with them.
_VARIANTS: dict[str, dict[str, Any]] = {
    "You add exactly and cut once at the end. The terms themselves are cut first, each of them, 25 places below the largest exponent.": {
        "how": "exact"
    },
    "You round every term to nearest. They are cut: what lies below the last place is dropped.": {
        "how": "nearest"
    },
    "Negative terms come out too far from zero: `floor` goes down, but the cut goes *toward zero*, for both signs.": {
        "how": "floor"
    },
    "The result is rounded to nearest. On a tensor core an f32 result is cut toward zero, too.": {
        "last": "nearest"
    },
    "The sum of the cut terms is right, but it has too many bits: D is a float32, cut to 23 bits of fraction.": {
        "last": "exact"
    },
    "You add exactly and round to nearest. First the terms are cut, each of them; and at the end the sum is cut, too.": {
        "how": "exact",
        "last": "nearest",
    },
    "You keep 24 bits of fraction at the end. A float32 has 23, and the 1 before them.": {"fraction": 24},
    "The last cut is counted from the exponent of the *sum*. It may be smaller than the largest of the terms, or larger.": {
        "from_top": True
    },
    "C is a term like the others: it is cut, too.": {"whole_c": True},
    "That is the sum of Ampere: 24 places. sm_90 keeps one more.": {"bits": 24},
    "You keep 23 places, as float32 does. The alignment of sm_90 keeps 25.": {"bits": 23},
    "You normalised the products: 1.5 * 1.5 = 2.25 counts with exponent 0 + 0, the sum of its *factors'* exponents, not with 1.": {
        "normal": True
    },
    "C takes part in the alignment: its exponent may be the largest.": {"with_c": False},
    "A zero must not take part in the alignment: `exponent(0)` says -1, which may be the largest though nothing is there.": {
        "zeros": True
    },
}


def _cases() -> list[tuple[float, list[float], list[float]]]:
    """C and four factors on each side, all normal f16 numbers or zero: near and far, both signs, with and without C."""
    rng = np.random.default_rng(127)
    found: list[tuple[float, list[float], list[float]]] = [
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
        if i % 5 == 0:  # what is left after cancelling shows the last places
            a[1], b[1] = -a[0], b[0]
        found.append((float(c), [float(x) for x in a], [float(x) for x in b]))
    return found


@exercise(
    "12.7",
    "**Write the tensor core:** `fused_sum(c, a, b)` for a float `c` and two lists of four floats gives D of one step on sm_90. With `cut` and `exponent` from above: find the largest exponent (of `c`, and for each product the *sum of its factors' exponents*; zeros do not count), cut every term 25 places below it, add, and cut the sum 23 places below its own exponent. A sum of 0 is 0.",
    "def fused_sum(c, a, b):\n    return ...",
)
def fused_sum(answer: Any) -> tuple[bool, str]:
    if not callable(answer):
        raise Unreadable("this one asks for a function: `fused_sum(c, a, b)` gives a number.")
    cases = _cases()
    expected = _emulated(cases)
    given = [_ask(answer, *case) for case in cases]
    wrong = [i for i, (mine, right) in enumerate(zip(given, expected, strict=True)) if mine != right]
    if not wrong:
        return (
            True,
            f"The same bits as the emulator on {len(cases)} inputs, which gives those of an H200. You have written a tensor core.",
        )
    first = wrong[0]
    c, a, b = cases[first]
    about = f"{len(wrong)} of {len(cases)} differ; the first is `fused_sum({c!r}, {a}, {b})`"
    return judge(
        False,
        "",
        *(
            (given == [_fused(*case, **variant) for case in cases], f"{hint} ({about}.)")  # type: ignore[misc, unused-ignore]
            for hint, variant in _VARIANTS.items()
        ),
        (
            all(mine == -right for mine, right in zip(given, expected, strict=True)),
            f"The sign is exchanged. ({about}.)",
        ),
        (
            given == [_chain_of(*case) for case in cases],
            f"That is a chain of float32 additions. A tensor core adds all terms at once. ({about}.)",
        ),
        (given[0] != 0, "With nothing but zeros the sum is 0."),
        (
            bool(
                np.allclose(
                    given, [_fused(*case, how="exact", last="exact") for case in cases], rtol=1e-12, atol=0
                )
            ),
            f"That is the exact sum. The tensor core cuts: first each term, 25 places below the largest exponent, then the sum. ({about}.)",
        ),
        otherwise=f"{about}; print the terms, the largest exponent and what each cut leaves, and compare with `ins.trace`.",
    )


def _ask(function: Any, c: float, a: list[float], b: list[float]) -> float:
    shown = f"called with ({c!r}, {a}, {b}) the function"
    try:
        value = function(c, list(a), list(b))
    except Exception as error:  # the reader's own code may raise anything
        zeros = (
            " Zeros do not count for the largest exponent; here nothing else is left."
            if not any(a) and not c
            else ""
        )
        raise Unreadable(f"{shown} raised {type(error).__name__}: {error}.{zeros}") from None
    if value is ...:
        raise Unanswered
    if value is None:
        raise Unreadable(f"{shown} returned nothing; is the `return` missing?")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise Unreadable(f"{shown} gave {value!r}, which is no number.") from None


def _chain_of(c: float, a: list[float], b: list[float]) -> float:
    return _chain([c, *(x * y for x, y in zip(a, b, strict=True))])


def _emulated(cases: list[tuple[float, list[float], list[float]]]) -> list[float]:
    """D[0][0] of the emulator for every case, in one batch."""
    A, B, C = (np.zeros((len(cases), *operand.shape)) for operand in (SHORT.a, SHORT.b, SHORT.c))
    for i, (c, a, b) in enumerate(cases):
        A[i, 0, : len(a)], B[i, : len(b), 0], C[i, 0, 0] = a, b, c
    return [float(d) for d in SHORT(A, B, C, model="sm_90")[:, 0, 0]]
