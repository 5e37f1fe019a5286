"""The data of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Step", "Term", "Trace"]

Number = Fraction | float  # exact, or an infinity or NaN


@dataclass(frozen=True)
class Term:
    """One summand: C, the sum so far, or a product.

    `value` is exact; `exponent` is the one it is aligned by (for a product the sum of its factors' exponents, which is not normalised;
    None for what takes no part in the alignment: a zero, an infinity, NaN); `kept` is what the cut leaves of it.

    >>> Term("A[0][3] B[3][5]", Fraction(11, 4), 1, kept=Fraction(5, 2)).lost
    Fraction(1, 4)
    """

    name: str
    value: Number
    exponent: int | None
    kept: Number

    @property
    def lost(self) -> Fraction:
        """What alignment cuts off."""
        return self.value - self.kept if isinstance(self.value, Fraction) and isinstance(self.kept, Fraction) else Fraction(0)

    @property
    def significand(self) -> Fraction | None:
        """|value| over 2^exponent: below 2 for C, below 4 for a product."""
        return abs(self.value) / Fraction(2) ** self.exponent if isinstance(self.value, Fraction) and self.exponent is not None else None


@dataclass(frozen=True)
class Step:
    """One operation of the hardware: its summands, the exponent they are aligned to, the last place that is kept, the sum, the result.

    >>> Step("sum", (), 3, -22, Fraction(9), "cut toward zero to 23 bits of fraction", 0x41100000, "f32").grain
    -22
    """

    name: str
    terms: tuple[Term, ...]
    top: int | None
    grain: int | None
    total: Number
    rounding: str
    code: int
    kind: str


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
        return self.value - self.exact if isinstance(self.value, Fraction) and isinstance(self.exact, Fraction) else None

    def __str__(self) -> str:
        from .text import text

        return text(self)
