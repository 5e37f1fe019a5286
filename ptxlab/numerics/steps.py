"""How one element of D came about, as data: terms, steps, and the whole trace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

import numpy as np

from .._util.display import Displayed, display
from ..isa.dtypes import DType, dtype
from ..isa.tcgen05.tcgen05_form import element_type
from .fused_numpy import convert_codes

Number = Fraction | float  #: exact, or an infinity or NaN

#: What a term is: C, the zero that a sum starts from, the sum so far, a product of A and B, the scaled sum of
#: a block of products, or the sum of a group of products that is computed separately.
Role = Literal["C", "zero", "sum", "product", "block", "group"]
#: What a step does.
StepKind = Literal["integer sum", "fused sum", "multiply", "fma", "add", "convert"]
#: PTX's rounding modifiers, and what happens to integers: they wrap, or .satfinite clamps them.
Rounding = Literal["rn", "rz", "rm", "rp", "wrap", "satfinite"]


@dataclass(frozen=True)
class Term:
    """One summand of a step.

    `value` is exact. `exponent` is the one it is aligned by: for a product the sum of its factors' exponents,
    which is not normalised; None for terms that take no part in the alignment (a zero, an infinity, NaN).
    `kept` is what truncation leaves of it. A product has its `factors`, its `k`, and the `row` of A and
    `column` of B it comes from; `places` is the number of fraction bits of its significand. Blocks and groups
    have the `k` of all their products.

    >>> term = Term("product", Fraction(-11, 4), 1, kept=Fraction(-5, 2), k=(3,), row=0, column=5)
    >>> term.sign, term.significand, term.exponent, term.lost
    (-1, Fraction(11, 8), 1, Fraction(-1, 4))
    """

    role: Role
    value: Number
    exponent: int | None
    kept: Number
    factors: tuple[Number, Number] | None = None
    places: int | None = None
    k: tuple[int, ...] = ()
    row: int | None = None
    column: int | None = None

    @classmethod
    def whole(cls, role: Role, value: Number, exponent: int | None, **rest: Any) -> Term:
        """A term of which nothing is cut off."""
        return cls(role, value, exponent, value, **rest)

    def times(self, scale: Number, exponent: int | None, places: int = 0) -> Term:
        """The whole term times a scale with this exponent and this number of fraction bits."""
        value = multiply(self.value, scale)
        summed = None if self.exponent is None or exponent is None else self.exponent + exponent
        return replace(self, value=value, exponent=summed, kept=value, places=(self.places or 0) + places)

    @property
    def lost(self) -> Fraction:
        """What truncation cuts off."""
        if isinstance(self.value, Fraction) and isinstance(self.kept, Fraction):
            return self.value - self.kept
        return Fraction(0)

    @property
    def sign(self) -> int:
        """-1, 0 or 1; 0 for NaN as well."""
        return int(self.value > 0) - int(self.value < 0)

    @property
    def significand(self) -> Fraction | None:
        """|value| over 2^exponent: below 2 for C, below 4 for a product."""
        if isinstance(self.value, Fraction) and self.exponent is not None:
            return abs(self.value) / Fraction(2) ** self.exponent
        return None


@dataclass(frozen=True)
class Step:
    """One operation of the hardware: its terms, the exponent they are aligned to, the sum, and the result.

    `top` is the exponent that terms are aligned to and `grain` that of the last bit kept of them; None where
    nothing is aligned. `last` is the exponent of the last bit that the result keeps of the sum, None for
    integers and for a sum that is zero or not finite; `result_bits` says how many fraction bits a fused sum
    keeps. `converted_to` names the type that the factors were converted to first.

    >>> step = Step("fused sum", (), 3, -22, Fraction(9), "rz", 0x41100000, "f32", last=-20, result_bits=23)
    >>> step.grain, step.value, step.change
    (-22, Fraction(9, 1), Fraction(0, 1))
    """

    operation: StepKind
    terms: tuple[Term, ...]
    top: int | None
    grain: int | None
    total: Number
    rounding: Rounding
    code: int
    dtype: str
    last: int | None = None
    result_bits: int | None = None
    converted_to: str | None = None

    @property
    def k(self) -> tuple[int, ...]:
        """The k of all products that go into this step."""
        return tuple(k for term in self.terms for k in term.k)

    @property
    def value(self) -> Number:
        """What the code stands for."""
        return number(self.code, self.dtype)

    @property
    def code_text(self) -> str:
        """The code in hexadecimal."""
        return f"0x{self.code:0{dtype(self.dtype).bits // 4}x}"

    @property
    def change(self) -> Fraction | None:
        """What rounding, the wrap or the clamp adds to the sum; None where that is not a number."""
        value, total = self.value, self.total
        return value - total if isinstance(value, Fraction) and isinstance(total, Fraction) else None

    @property
    def lost(self) -> Fraction | None:
        """What the step's result lacks of the exact sum of its terms: what is cut off and rounded off."""
        change = self.change
        return None if change is None else sum((term.lost for term in self.terms), Fraction(0)) - change

    @property
    def bound(self) -> Fraction:
        """What the step can lose at most, whatever the bits of terms with these exponents.

        Truncation cuts off less than one unit of the last bit that is kept of each term, and rounding a unit
        of the result's last place, or half of it to nearest.
        """
        cut = Fraction(0)
        if self.grain is not None:
            cut = sum(term.exponent is not None for term in self.terms) * Fraction(2) ** self.grain
        if self.last is None:
            return cut
        return cut + Fraction(2) ** self.last / (2 if self.rounding == "rn" else 1)

    @property
    def partial_sums(self) -> tuple[Number, ...]:
        """Sums of what is kept, after each term."""
        return tuple(accumulate((term.kept for term in self.terms), _add))

    def bits(self, term: Term) -> tuple[str, str]:
        """The magnitude of a term in binary: the bits kept, from 2^(top + 1) down, and the bits lost.

        >>> term = Term("C", Fraction(21, 8), 1, kept=Fraction(5, 2))
        >>> Step("fused sum", (term,), 1, -1, Fraction(5, 2), "rz", 0x40200000, "f32").bits(term)
        ('0101', '01')
        """
        if not isinstance(term.value, Fraction) or self.top is None or self.grain is None:
            return "", ""
        units = abs(term.value) / Fraction(2) ** self.grain
        lost_bits = units.denominator.bit_length() - 1
        lost = f"{units.numerator & ((1 << lost_bits) - 1):0{lost_bits}b}" if lost_bits else ""
        return f"{int(units):0{self.top + 2 - self.grain}b}", lost


@dataclass(frozen=True)
class Trace(Displayed):
    """How one element of D came about, beside what exact arithmetic and a chain of float32 FMAs would give.

    Printed it is a table, at the end of a notebook cell a picture of aligned bits.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    >>> A, B = np.zeros((16, 8)), np.ones((8, 8))
    >>> A[0, :2] = 1024, 2.0**-16
    >>> trace = ins.trace(A, B, None, 0, 0)
    >>> float(trace.value), float(trace.exact), float(trace.error)   # 2^-16 lies 26 places below 2^10
    (1024.0, 1024.000015258789, -1.52587890625e-05)
    >>> print(str(trace).splitlines()[-2])
    error    -1.52587891e-05 = -0.125 units in the last place of D
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
    def accumulator(self) -> str:
        """What products are added to: C, or D as it was before wgmma or tcgen05.mma, which have no C.

        >>> Trace("wgmma.mma_async ...", "sm_90", 0, 0, (), 0, 0.0, 0.0, None).accumulator
        'D before'
        """
        return "D before" if self.instruction.startswith(("wgmma", "tcgen05")) else "C"

    @property
    def error(self) -> Fraction | None:
        """D minus the exact result; None where one of them is not finite."""
        return (
            self.value - self.exact
            if isinstance(self.value, Fraction) and isinstance(self.exact, Fraction)
            else None
        )

    @property
    def losses(self) -> tuple[Fraction | None, ...]:
        """What each step loses, in units in the last place of D; None where that is not a number.

        >>> import numpy as np, ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
        >>> A, B = np.zeros((16, 8)), np.ones((8, 8))
        >>> A[0, :2] = 1024, 2.0**-16
        >>> trace = ins.trace(A, B, None, 0, 0)
        >>> [float(lost) for lost in trace.losses], float(trace.bound)
        ([0.125], 1.5)
        """
        unit = self.last_place
        return tuple(None if step.lost is None or unit is None else step.lost / unit for step in self.steps)

    @property
    def bound(self) -> Fraction | None:
        """The largest error that the chip's model allows with these exponents, in units in the last place."""
        unit = self.last_place
        return None if unit is None else sum((step.bound for step in self.steps), Fraction(0)) / unit

    @property
    def fma32_error(self) -> Fraction | None:
        """The same for the chain of float32 FMAs."""
        finite = self.fma32 is not None and np.isfinite(self.fma32) and isinstance(self.exact, Fraction)
        return Fraction(self.fma32 or 0.0) - Fraction(self.exact) if finite else None

    @property
    def last_place(self) -> Fraction | None:
        """The value of D's last bit, the unit in which errors are given; None if D is 0 or not finite."""
        result = dtype(self.steps[-1].dtype)
        if not isinstance(self.value, Fraction) or not self.value or not result.is_float:
            return None
        field = self.code >> result.fraction_bits & ((1 << result.exponent_bits) - 1)
        return Fraction(2) ** (max(field, 1) - result.bias - result.fraction_bits)

    def __str__(self) -> str:
        table: str = display(self, "text")
        return table

    def figure(self, *, title: bool = True) -> Any:
        """The picture of aligned bits as a Plotly figure; see `ptxlab.figures.trace`."""
        return display(self, "picture", title=title).figure()

    def svg(self, *, title: bool = True) -> str:
        """The same picture as SVG text, which needs no Plotly."""
        drawn: str = display(self, "picture", title=title).svg()
        return drawn

    def as_dict(self) -> dict[str, Any]:
        """The trace as plain data for JSON: exact numbers as text, ``-11/4``, codes in hexadecimal.

        >>> import ptxlab
        >>> ins = ptxlab.instruction("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")
        >>> trace = ins.trace([[2] * 16] * 8, [[3] * 8] * 16, None, 0, 0).as_dict()
        >>> trace["code"], trace["steps"][0]["partial_sums"][-1]
        ('0x00000060', '96')
        """
        return {
            "instruction": self.instruction,
            "chip": self.chip,
            "row": self.row,
            "col": self.col,
            "code": self.steps[-1].code_text,
            "value": str(self.value),
            "exact": str(self.exact),
            "error": None if self.error is None else str(self.error),
            "fma32": None if self.fma32 is None else str(self.fma32),
            "steps": [_step(step) for step in self.steps],
        }


def _step(step: Step) -> dict[str, Any]:
    return {
        "operation": step.operation,
        "top": step.top,
        "grain": step.grain,
        "terms": [_term(step, term) for term in step.terms],
        "partial_sums": [str(partial_sum) for partial_sum in step.partial_sums],
        "sum": str(step.total),
        "rounding": step.rounding,
        "result_bits": step.result_bits,
        "converted_to": step.converted_to,
        "last": step.last,
        "code": step.code_text,
        "type": step.dtype,
    }


def _term(step: Step, term: Term) -> dict[str, Any]:
    kept_bits, lost_bits = step.bits(term)
    return {
        "role": term.role, "k": list(term.k), "row": term.row, "column": term.column,
        "factors": None if term.factors is None else [str(factor) for factor in term.factors],
        "value": str(term.value), "sign": term.sign, "exponent": term.exponent,
        "significand": None if term.significand is None else str(term.significand),
        "kept": str(term.kept), "kept_bits": kept_bits, "lost": str(term.lost), "lost_bits": lost_bits,
    }  # fmt: skip


# -- parts of a trace ----------------------------------------------------------------------------------------


def stored_term(role: Role, code: int, float_type: DType, k: tuple[int, ...] = ()) -> Term:
    """A number from a register as a term of which nothing is cut off."""
    return Term.whole(role, *aligned_number(code, float_type), places=float_type.fraction_bits, k=k)


def unaligned_step(
    operation: StepKind, terms: tuple[Term, ...], rounding: Rounding, code: int, result: DType
) -> Step:
    """A step that rounds the exact sum once."""
    total = add_up(term.value for term in terms)
    last = result_lsb(total, result, result.fraction_bits)
    return Step(
        operation,
        terms,
        None,
        grain=None,
        total=total,
        rounding=rounding,
        code=code,
        dtype=result.name,
        last=last,
    )


def add_step(terms: tuple[Term, Term], codes: tuple[int, int], result: DType) -> Step:
    """An ordinary addition of two codes, rounded to nearest even."""
    with np.errstate(invalid="ignore", over="ignore"):
        first, second = (np.asarray(result.decode([code])) for code in codes)
        total = np.asarray(first + second)
    nan = (1 << result.bits - 1) - 1
    code = nan if np.isnan(total[0]) else int(total.view(result.code_type)[0])
    return unaligned_step("add", terms, "rn", code, result)


def convert_step(code: int, float_type: DType, to: DType) -> Step:
    """A conversion of the sum to another type."""
    return unaligned_step(
        "convert", (stored_term("sum", code, float_type),), "rn", convert(code, float_type, to), to
    )


def convert(code: int, float_type: DType, to: DType) -> int:
    """One code of a float type as a code of another, rounded to nearest even."""
    return code if float_type.name == to.name else int(convert_codes(np.array([code]), float_type, to)[0])


def result_lsb(total: Number, float_type: DType, bits: int) -> int | None:
    """The exponent of the last bit of a sum that a result with `bits` fraction bits keeps."""
    if not isinstance(total, Fraction) or not total:
        return None
    return max(leading(total), 1 - float_type.bias) - bits


# -- numbers -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def number(code: int, type_name: str) -> Number:
    """The exact value of a code."""
    element = element_type(type_name)
    with np.errstate(invalid="ignore"):
        value = element.decode([code])[0]
    if not element.is_float:
        return Fraction(int(value))
    return Fraction(float(value)) if np.isfinite(value) else float(value)


def aligned_number(code: int, float_type: DType) -> tuple[Number, int | None]:
    """Exact value, and the exponent that it is aligned by: None for integers, zeros, infinities and NaN."""
    value = number(code, float_type.name)
    if not float_type.is_float or not isinstance(value, Fraction) or value == 0:
        return value, None
    field = code >> (float_type.fraction_bits + float_type.ignored_bits) & (
        (1 << float_type.exponent_bits) - 1
    )
    lowest = 0 if float_type.fraction_bits == 0 else 1  # ue8m0 has no subnormals
    return value, max(field, lowest) - float_type.bias


def multiply(x: Number, y: Number) -> Number:
    """The exact product; an infinity or NaN where a factor is not finite."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return x * y
    signs = [float((v > 0) - (v < 0)) if v == v else np.nan for v in (x, y)]
    return float(signs[0] * signs[1] * np.inf)


def add_up(values: Iterable[Number]) -> Number:
    """The exact sum; an infinity or NaN where one of them is not finite."""
    values = list(values)
    not_finite = [value for value in values if isinstance(value, float)]
    if not_finite:
        return float(sum(not_finite))
    return sum((value for value in values if isinstance(value, Fraction)), Fraction(0))


def _add(x: Number, y: Number) -> Number:
    """Like `add_up`, for two numbers."""
    return x + y if isinstance(x, Fraction) and isinstance(y, Fraction) else add_up((x, y))


def leading(value: Fraction) -> int:
    """The power of two of the highest bit of a number that is not zero.

    >>> leading(Fraction(-11, 4)), leading(Fraction(1, 3))
    (1, -2)
    """
    magnitude = abs(value)
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if magnitude >= Fraction(2) ** guess else guess - 1
