"""The data of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from ...isa.dtypes import dtype

__all__ = ["Number", "Step", "Term", "Trace", "leading", "number", "said", "summed"]

Number = Fraction | float  # exact, or an infinity or NaN


@dataclass(frozen=True)
class Term:
    """One summand: C, the sum so far, or a product.

    `value` is exact; `exponent` is the one it is aligned by (for a product the sum of its factors' exponents, which is not normalised;
    None for what takes no part in the alignment: a zero, an infinity, NaN); `kept` is what the cut leaves of it. `factors` are those of
    a product, `places` how many places of its significand stand behind the point.

    >>> term = Term("A[0][3] B[3][5]", Fraction(-11, 4), 1, kept=Fraction(-5, 2))
    >>> term.sign, term.significand, term.exponent, term.lost
    (-1, Fraction(11, 8), 1, Fraction(-1, 4))
    """

    name: str
    value: Number
    exponent: int | None
    kept: Number
    factors: tuple[Number, Number] | None = None
    places: int | None = None

    @property
    def lost(self) -> Fraction:
        """What alignment cuts off."""
        return (
            self.value - self.kept
            if isinstance(self.value, Fraction) and isinstance(self.kept, Fraction)
            else Fraction(0)
        )

    @property
    def sign(self) -> int:
        """-1, 0 or 1; 0 for NaN as well."""
        return int(self.value > 0) - int(self.value < 0)

    @property
    def significand(self) -> Fraction | None:
        """|value| over 2^exponent: below 2 for C, below 4 for a product."""
        return (
            abs(self.value) / Fraction(2) ** self.exponent
            if isinstance(self.value, Fraction) and self.exponent is not None
            else None
        )


@dataclass(frozen=True)
class Step:
    """One operation of the hardware: its summands, the exponent they are aligned to, the last place that is kept, the sum, the result.

    `top` and `grain` are None where nothing is aligned; `last` is the last place that the result keeps of the sum, None for integers
    and for a sum that is zero or not finite.

    >>> step = Step("sum", (), 3, -22, Fraction(9), "cut toward zero to 23 bits of fraction", 0x41100000, "f32", last=-20)
    >>> step.grain, step.value, step.change
    (-22, Fraction(9, 1), Fraction(0, 1))
    """

    name: str
    terms: tuple[Term, ...]
    top: int | None
    grain: int | None
    total: Number
    rounding: str
    code: int
    kind: str
    last: int | None = None

    @property
    def value(self) -> Number:
        """What the code stands for."""
        return number(self.code, self.kind)

    @property
    def code_text(self) -> str:
        """The code in hexadecimal."""
        return f"0x{self.code:0{dtype(self.kind).bits // 4}x}"

    @property
    def change(self) -> Fraction | None:
        """What rounding, the wrap or the clamp adds to the sum; None where that is no number."""
        value, total = self.value, self.total
        return value - total if isinstance(value, Fraction) and isinstance(total, Fraction) else None

    @property
    def partial_sums(self) -> tuple[Number, ...]:
        """Sums of what is kept, after each term."""
        return tuple(
            accumulate((term.kept for term in self.terms), lambda so_far, kept: summed((so_far, kept)))
        )

    def bits(self, term: Term) -> tuple[str, str]:
        """Its size in binary, one digit a place: what is kept, from 2^(top + 1) down to the last place, and all that is lost.

        >>> term = Term("C", Fraction(21, 8), 1, kept=Fraction(5, 2))
        >>> Step("sum", (term,), 1, -1, Fraction(5, 2), "", 0x40200000, "f32").bits(term)
        ('0101', '01')
        """
        if not isinstance(term.value, Fraction) or self.top is None or self.grain is None:
            return "", ""
        units = abs(term.value) / Fraction(2) ** self.grain
        behind = units.denominator.bit_length() - 1
        lost = f"{units.numerator & ((1 << behind) - 1):0{behind}b}" if behind else ""
        return f"{int(units):0{self.top + 2 - self.grain}b}", lost


@dataclass(frozen=True)
class Trace:
    """How one element of D came about, step by step, beside what exact arithmetic and a chain of float32 FMAs would have given.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    >>> A, B = np.zeros((16, 8)), np.ones((8, 8))
    >>> A[0, :2] = 1024, 2.0**-16
    >>> found = ins.trace(A, B, None, 0, 0)
    >>> float(found.value), float(found.exact), float(found.error)   # 2^-16 lies 26 places below 2^10
    (1024.0, 1024.000015258789, -1.52587890625e-05)
    """

    instruction: str
    chip: str
    row: int
    col: int
    steps: tuple[Step, ...]
    code: int
    value: Number
    exact: Number
    fma32: float | None

    @property
    def error(self) -> Fraction | None:
        """D minus the exact result; None where one of them is not finite."""
        return (
            self.value - self.exact
            if isinstance(self.value, Fraction) and isinstance(self.exact, Fraction)
            else None
        )

    @property
    def fma32_error(self) -> Fraction | None:
        """The same for the chain of float32 FMAs."""
        finite = self.fma32 is not None and np.isfinite(self.fma32) and isinstance(self.exact, Fraction)
        return Fraction(self.fma32 or 0.0) - Fraction(self.exact) if finite else None

    @property
    def last_place(self) -> Fraction | None:
        """The worth of the last bit of D's format, in which errors are told; None where D is zero or not finite."""
        kind = dtype(self.steps[-1].kind)
        if not isinstance(self.value, Fraction) or not self.value or not kind.is_float:
            return None
        field = self.code >> kind.fraction_bits & ((1 << kind.exponent_bits) - 1)
        return Fraction(2) ** (max(field, 1) - kind.bias - kind.fraction_bits)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data for JSON: exact numbers as text, ``-11/4``, codes in hexadecimal.

        >>> import ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")
        >>> found = ins.trace([[2] * 16] * 8, [[3] * 8] * 16, None, 0, 0).as_dict()
        >>> found["code"], found["steps"][0]["partial_sums"][-1]
        ('0x00000060', '96')
        """
        return {
            "instruction": self.instruction, "chip": self.chip, "row": self.row, "col": self.col,
            "code": self.steps[-1].code_text, "value": str(self.value), "exact": str(self.exact),
            "error": None if self.error is None else str(self.error), "fma32": None if self.fma32 is None else str(self.fma32),
            "steps": [_step(step) for step in self.steps],
        }  # fmt: skip


def _step(step: Step) -> dict[str, Any]:
    terms = []
    for term in step.terms:
        kept, lost = step.bits(term)
        factors = None if term.factors is None else [str(factor) for factor in term.factors]
        said = {
            "name": term.name,
            "factors": factors,
            "value": str(term.value),
            "sign": term.sign,
            "exponent": term.exponent,
        }
        significand = None if term.significand is None else str(term.significand)
        terms.append(
            {
                **said,
                "significand": significand,
                "kept": str(term.kept),
                "kept_bits": kept,
                "lost": str(term.lost),
                "lost_bits": lost,
            }
        )
    given = {
        "name": step.name,
        "top": step.top,
        "grain": step.grain,
        "terms": terms,
        "partial_sums": [str(each) for each in step.partial_sums],
    }
    return {
        **given,
        "sum": str(step.total),
        "rounding": step.rounding,
        "last": step.last,
        "code": step.code_text,
        "type": step.kind,
    }


# -- numbers ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def number(code: int, kind: str) -> Number:
    """Exact value of a code."""
    with np.errstate(invalid="ignore"):
        value = dtype(kind).decode([code])[0]
    return (
        Fraction(int(value))
        if not dtype(kind).is_float
        else Fraction(float(value))
        if np.isfinite(value)
        else float(value)
    )


def summed(values: Any) -> Number:
    """The exact sum; an infinity or NaN where one of them is none."""
    odd = [value for value in values if isinstance(value, float)]
    return (
        float(sum(odd))
        if odd
        else sum((value for value in values if isinstance(value, Fraction)), Fraction(0))
    )


def leading(value: Fraction) -> int:
    """The power of two of the highest bit of a number that is not zero.

    >>> leading(Fraction(-11, 4)), leading(Fraction(1, 3))
    (1, -2)
    """
    size = abs(value)
    guess = size.numerator.bit_length() - size.denominator.bit_length()
    return guess if size >= Fraction(2) ** guess else guess - 1


def said(value: Number, digits: int = 9) -> str:
    """A number in decimal, whole where it is whole and not too long.

    >>> said(Fraction(-6)), said(Fraction(1, 3)), said(float("inf"))
    ('-6', '0.333333333', 'inf')
    """
    if (
        isinstance(value, Fraction)
        and value.denominator == 1
        and abs(value) < 1 << 53
        and (digits >= 9 or abs(value) < 10**digits)
    ):
        return str(value.numerator)
    if not isinstance(value, Fraction) or 2**-1022 < abs(value) < 2**1023:
        return f"{float(value):.{digits}g}"
    return f"{'-' if value < 0 else ''}1.. 2^{leading(value)}"  # out of the range of float64
