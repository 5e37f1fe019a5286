"""A trace as a picture of aligned bits: terms as rows, powers of two as columns, what is lost behind the cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby

import numpy as np

from ..isa.dtypes import DType, dtype
from ..numerics.steps import Number, Step, Term, Trace, leading
from .picture import Cell, Grid, Header, Picture, Role
from .trace import comparison, decimal, rounding_words, step_name, term_name

__all__ = ["trace"]

_MAIN, _TAIL, _FRONT = 56, 8, 12  # columns down to the cut, behind it, and before a gap where there are more
_ROWS = 32  # integer products that have a row each; more of them share one
_MINUS = "\N{MINUS SIGN}"


def trace(found: Trace, note: str = "") -> Picture:
    """The trace as a picture: a grid for each step, and the code of D; a `note` stands below its title.

    The last step ends with D, the exact result and what a chain of float32 FMAs gives; bits that differ from the exact ones are marked.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    >>> A, B = np.zeros((16, 8)), np.ones((8, 8))
    >>> A[0, :2] = 1024, 2.0**-16
    >>> picture = trace(ins.trace(A, B, None, 0, 0))
    >>> [(cell.text, cell.role) for cell in picture.grids[0].cells if cell.role == "lost"][0]   # 2^-16 is the first place behind the cut
    ('1', 'lost')
    """
    many = len(found.steps) > 1
    final = found.steps[-1]
    grids = []
    for number, step in enumerate(found.steps, 1):
        title = f"{f'{number}. ' * many}{_title(step, found)}"
        grids.append(
            _integers(step, title)
            if step.dtype == "s32"
            else _floats(step, title, found if step is final else None)
        )
    if final.dtype != "s32":
        grids.append(_code(final.code, dtype(final.dtype), final.code_text))
    said_of = {"exact": "exact", "error": f"error of D[{found.row}][{found.col}]", "float32": "float32"}
    parts = [f"{said_of[name]}: {what.replace('   (a', ' (a')}" for name, what in comparison(found)]
    return Picture(
        f"D[{found.row}][{found.col}] = {decimal(found.value)} of {found.instruction}",
        "; ".join([f"{found.chip}, {final.code_text}", *parts, *([note] if note else []), _legend(found)]),
        _in_line(grids),
    )


def _legend(found: Trace) -> str:
    if found.steps[-1].dtype == "s32":
        return "orange: the sum after each row, in two's complement, green: D"
    marked = ", framed: not as in the exact result" if found.error else ""
    return f"blue: kept, grey: lost behind the cut or rounded off, orange: sum, green: result{marked}"


def _in_line(grids: list[Grid]) -> tuple[Grid, ...]:
    """The grids below each other, with row headings of one width, so that their columns start at one place."""
    wide = max(len(head.text) for grid in grids for head in grid.rows)

    def padded(grid: Grid) -> tuple[Header, ...]:
        room = 0 if grid.shape == (1, 64) else wide  # a register of 64 bits needs the page
        return tuple(
            replace(head, lines=(head.text.ljust(room, "\N{NO-BREAK SPACE}"),)) for head in grid.rows
        )

    return tuple(replace(grid, below=True, rows=padded(grid)) for grid in grids)


def _title(step: Step, found: Trace) -> str:
    if step.dtype == "s32":
        return f"sum = {decimal(step.total)}, {f'{rounding_words(step)}: {decimal(step.value)}' if step.change else 'fits s32'}"
    if step.top is None or step.grain is None:
        return f"{step_name(step, found)}: sum {rounding_words(step)}"
    return f"{step_name(step, found)}: aligned to 2^{step.top}, cut below 2^{step.grain}, sum {rounding_words(step)}"


# -- lines of bits ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Line:
    """One row: a number, the powers of two from `high` to `low` that are drawn of it, and from where on they are cut off."""

    name: str
    value: Number
    role: Role
    high: int = 0
    low: int = 0
    cut: int | None = None
    after: Role = "lost"
    about: str = ""
    exponent: int | None = None

    @property
    def drawn(self) -> bool:
        return isinstance(self.value, Fraction) and (self.value != 0 or self.high > self.low)

    def bit(self, power: int) -> str:
        return str(int(abs(Fraction(self.value)) / Fraction(2) ** power) & 1)

    def role_at(self, power: int) -> Role:
        return self.role if self.cut is None or power >= self.cut else self.after


def _lowest(value: Fraction) -> int:
    """The power of two of the last bit that is set."""
    whole = value.numerator & -value.numerator
    return whole.bit_length() - value.denominator.bit_length()


def _term(term: Term, step: Step) -> _Line:
    if not isinstance(term.value, Fraction) or not term.value:
        return _Line(term_name(term), term.value, "kept", about=_about(term))
    first = leading(term.value) if term.exponent is None else max(term.exponent, leading(term.value))
    last = _lowest(term.value)
    if term.exponent is not None and term.places is not None:
        last = min(last, term.exponent - term.places)
    return _Line(
        term_name(term),
        term.value,
        "kept",
        first,
        last,
        step.grain,
        about=_about(term),
        exponent=term.exponent,
    )


def _about(term: Term) -> str:
    """All about a term, for the pointer."""
    factors = "" if term.factors is None else f" = {decimal(term.factors[0])} * {decimal(term.factors[1])}"
    parts = [f"{term_name(term)}{factors} = {decimal(term.value)}"]
    if term.significand is not None:
        parts.append(f"exponent {term.exponent}, significand {decimal(term.significand)}")
    if term.lost:
        parts.append(f"kept {decimal(term.kept)}, lost {decimal(term.lost)}")
    return "\n".join(parts)


def _zeros(terms: Sequence[Term]) -> list[list[Term]]:
    """Terms one by one, and runs of three or more zeros together."""
    found = []
    for zero, group in groupby(terms, lambda term: term.value == 0 and term.factors is not None):
        run = list(group)
        found += [run] if zero and len(run) > 2 else [[term] for term in run]
    return found


def _results(step: Step, found: Trace | None) -> list[_Line]:
    """The sum, the result, and after the last step what it is compared with."""
    lines = [_whole("sum", step.total, "sum", step.grain, step.last)]
    kind, value = dtype(step.dtype), step.value
    least = _last_place(value, kind) if isinstance(value, Fraction) and value else step.last
    lines.append(_whole(f"D {step.code_text}" if found else "result", value, "result", least, None))
    if found is None:
        return lines
    lines.append(_whole("exact", found.exact, "exact", least, None, longer=True))
    if found.fma32 is not None:
        chain = Fraction(found.fma32) if np.isfinite(found.fma32) else found.fma32
        place = _last_place(chain, dtype("f32")) if isinstance(chain, Fraction) and chain else None
        lines.append(
            _whole("float32 FMAs", chain, "other", place if kind.name != "f16" else least, None, longer=True)
        )
    return lines


def _whole(
    name: str, value: Number, role: Role, low: int | None, cut: int | None, longer: bool = False
) -> _Line:
    """A number with its own bits, down to the power `low` at least; further where it goes on."""
    about = f"{name} = {decimal(value)}"
    if not isinstance(value, Fraction) or not value:
        return _Line(name, value, role, about=about)
    last = _lowest(value)
    low = last if low is None else min(low, last) if longer or role == "sum" else low
    return _Line(name, value, role, max(leading(value), low), low, cut, "rounded", about)


def _last_place(value: Fraction, kind: DType) -> int:
    return max(leading(value), 1 - kind.bias) - kind.fraction_bits


# -- floats -----------------------------------------------------------------------------------------------------------


def _floats(step: Step, title: str, found: Trace | None) -> Grid:
    groups = _zeros(step.terms)
    terms = [
        _term(group[0], step)
        if len(group) == 1
        else _Line(f"{len(group)} products of 0", Fraction(0), "kept")
        for group in groups
    ]
    lines = [*terms, *_results(step, found)]
    columns, cut = _columns(lines, step)
    cells: list[Cell] = []
    hover = np.full((len(lines), len(columns)), "", dtype=object)
    exact = next((line for line in lines if line.role == "exact"), None)
    for row, line in enumerate(lines):
        compared = (
            exact
            if exact is not None and line.role in ("result", "other") and isinstance(line.value, Fraction)
            else None
        )
        drawn = _row(row, line, columns, cut, compared)
        for cell in drawn:
            hover[row, cell.column : cell.column + cell.width] = _hover(line, columns, cell)
        cells += drawn
    above = len(terms)
    rules = [(cut, 0, above + 1)] if step.grain is not None else []
    if step.last is not None and step.last in columns:
        rules.append((columns.index(step.last) + 1, above, above + 2))
    return Grid(
        (len(lines), len(columns)), tuple(cells), hover, _labels(lines), _headings(columns, cut, step.grain is not None), ("", "power of two"), title,
        row_rules=(above, above + 1, *((above + 2,) if found else ())), column_rules=tuple(dict.fromkeys(rules)), tight=True,
    )  # fmt: skip


Columns = list[int | str]  # powers of two; "sign", a "gap" in the middle, "more" behind the last


def _columns(lines: list[_Line], step: Step) -> tuple[Columns, int]:
    """The columns of a step, and the one at which the cut is: behind the last place of alignment, or of the result."""
    drawn = [line for line in lines if line.drawn and line.value]
    least = [_lowest(Fraction(line.value)) for line in drawn]
    low = step.grain if step.grain is not None else step.last
    if low is None:  # nothing is left to round
        low = min(least, default=0)
    high = max([low, *(line.high for line in drawn), *([step.top] if step.top is not None else [])])
    powers: Columns = list(range(high, low - 1, -1))
    if len(powers) > _MAIN:
        powers = [*powers[:_FRONT], "gap", *powers[_FRONT + 1 - _MAIN :]]
    behind = max((low - at for at in least), default=0)
    tail: Columns = list(range(low - 1, low - 1 - min(max(behind, 0), _TAIL), -1))
    return ["sign", *powers, *tail, *(["more"] if behind > _TAIL else [])], 1 + len(powers)


def _row(row: int, line: _Line, columns: Columns, cut: int, exact: _Line | None) -> list[Cell]:
    """The cells of a line: its sign, its bits, and blanks between that part at the cut."""
    wide = len(columns)
    if not isinstance(line.value, Fraction):
        word = "NaN" if line.value != line.value else "infinity"
        return [_sign(row, line.value), Cell(row, 1, 1, wide - 1, (word,), role="odd")]
    found = {0: _sign(row, line.value)}
    high = line.high if exact is None or not exact.drawn else max(line.high, exact.high)
    powers = [power for power in columns if isinstance(power, int)]
    for column, power in enumerate(columns):
        text: str | None = None
        role, state = line.role, "plain"
        if not line.drawn or power == "sign":
            continue
        if isinstance(power, int) and line.low <= power <= high:
            text, role = line.bit(power), line.role_at(power)
            state = "mark" if exact is not None and exact.drawn and text != exact.bit(power) else "plain"
        elif power == "gap" and line.high >= _after(columns, column) and line.low <= _before(columns, column):
            text = "…"
        elif power == "more" and _lowest(line.value) < powers[-1]:
            text, role = "…", line.role_at(powers[-1] - 1)
        if text is not None:
            found[column] = Cell(
                row, column, 1, 1, (text,), state="mark" if state == "mark" else "plain", role=role
            )
    if (
        line.drawn and line.value and columns[-1] == "more" and line.high < powers[-1]
    ):  # all of it lies behind what is shown
        found = {
            0: found[0],
            cut: Cell(row, cut, 1, wide - cut, (f"from 2^{line.high}",), role=line.role_at(line.high)),
        }
    return [*found.values(), *_blanks(row, found, wide, cut)]


def _after(columns: Columns, gap: int) -> int:
    after = columns[gap + 1]
    return after if isinstance(after, int) else 0


def _before(columns: Columns, gap: int) -> int:
    before = columns[gap - 1]
    return before if isinstance(before, int) else 0


def _sign(row: int, value: Number) -> Cell:
    return Cell(row, 0, 1, 1, (_MINUS,) if value < 0 else ("+",) if value > 0 else (), role="sign")


def _blanks(row: int, found: dict[int, Cell], wide: int, cut: int) -> list[Cell]:
    taken = {at for cell in found.values() for at in range(cell.column, cell.column + cell.width)}
    free = [at for at in range(wide) if at not in taken]
    blanks = []
    for _, run in groupby(enumerate(free), lambda pair: (pair[1] - pair[0], pair[1] < cut)):
        places = [at for _, at in run]
        blanks.append(Cell(row, places[0], 1, len(places), (), role="blank"))
    return blanks


def _hover(line: _Line, columns: Columns, cell: Cell) -> str:
    power = columns[cell.column]
    if cell.role == "blank" or (not line.about and not isinstance(power, int)):
        return ""
    if power == "sign" or cell.width > 1 or not isinstance(power, int):
        return line.about
    how = {"lost": ", lost", "rounded": ", rounded off"}.get(cell.role, "")
    return (
        f"{line.name}: 2^{power} is {cell.text}{how}{', not as in the exact result' * (cell.state == 'mark')}"
    )


def _labels(lines: Sequence[_Line]) -> tuple[Header, ...]:
    """Name, value and exponent of every row, as columns of a fixed-width font."""
    rows = [
        (
            line.name,
            decimal(line.value, 7 if line.role == "kept" else 9),
            "" if line.exponent is None else f"2^{line.exponent}",
        )
        for line in lines
    ]
    return _padded(rows)


def _padded(rows: Sequence[tuple[str, str, str]]) -> tuple[Header, ...]:
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    texts = (
        f"{name:<{widths[0]}} {value:>{widths[1] + 1}} {rest:>{widths[2] + 1}}" for name, value, rest in rows
    )
    return tuple(Header(i, 1, (text.replace(" ", "\N{NO-BREAK SPACE}"),)) for i, text in enumerate(texts))


def _headings(columns: Columns, cut: int, aligned: bool) -> tuple[Header, ...]:
    """Powers of two in fours, or eights where there are many, counted from the cut upwards; behind it only that it is lost."""
    long = max((len(str(power)) for power in columns if isinstance(power, int)), default=0)
    found, each = [], 4 if cut < 42 and long < 4 else 8
    groups = groupby(range(1, cut), lambda at: None if columns[at] == "gap" else (cut - 1 - at) // each)
    for group, run in groups:
        places = list(run)
        first, last = columns[places[0]], columns[places[-1]]
        text = "…" if group is None else str(first) if first == last else f"{first}..{last}"
        if len(text) <= 2 * len(places):
            found.append(Header(places[0], len(places), (text,)))
    behind = len(columns) - cut
    if behind:
        text = "lost" if aligned else "rounded off"
        found.append(Header(cut, behind, (text if len(text) < 2 * behind else "",)))
    return tuple(found) or (Header(0, 1, ("",)),)


# -- integers ---------------------------------------------------------------------------------------------------------


def _integers(step: Step, title: str) -> Grid:
    """Sums after each term, or after each few of them, in decimal and in two's complement; below them what D keeps."""
    first, products, sums = step.terms[0], step.terms[1:], [int(each) for each in step.partial_sums]
    each = 1
    while len(products) > each * _ROWS:
        each *= 2
    top = max(31, *((~each if each < 0 else each).bit_length() for each in sums))
    rows, abouts = [(term_name(first), decimal(first.value), decimal(first.value))], [_about(first)]
    for at in range(0, len(products), each):
        group = products[at : at + each]
        name = term_name(group[0]) if each == 1 else f"{term_name(group[0])} ..{group[-1].k[0]}"
        rows.append(
            (
                name,
                decimal(sum((Fraction(term.value) for term in group), Fraction(0))),
                decimal(step.partial_sums[at + each]),
            )
        )
        abouts.append(
            _about(group[0]) if each == 1 else f"{rows[-1][0]}: {each} products, {rows[-1][1]} in all"
        )
    shown = [sums[0], *sums[each::each]]
    clamped = step.rounding == "satfinite"
    columns: Columns = list(range(top, -1, -1))
    cells = [
        Cell(
            row,
            top - power,
            1,
            1,
            (str(value >> power & 1),),
            role="lost" if power > 31 and not clamped else "sum",
        )
        for row, value in enumerate(shown)
        for power in range(top, -1, -1)
    ]
    down = len(rows)
    rows.append((f"D {step.code_text}", "", decimal(step.value)))
    abouts.append(f"D = {decimal(step.value)}")
    cells += [
        Cell(down, top - power, 1, 1, (str(step.code >> power & 1),), role="result")
        for power in range(31, -1, -1)
    ]
    if top > 31:
        cells.append(Cell(down, 0, 1, top - 31, (), role="blank"))
    hover = np.array([[about] * len(columns) for about in abouts], dtype=object)
    widths = [max(len(row[i]) for row in rows) for i in (1, 2)]
    axis = f"{'term':>{widths[0]}} {'sum':>{widths[1] - 1}}".replace(" ", "\N{NO-BREAK SPACE}")
    heads = [Header(top - group * 4 - 3, 4, (f"{group * 4 + 3}..{group * 4}",)) for group in range(7, -1, -1)]
    return Grid(
        (down + 1, len(columns)), tuple(cells), hover, _padded(rows), tuple(heads), (axis, "bit"), title,
        row_rules=(down,), column_rules=((top - 31, 0, down),) if top > 31 else (), tight=True,
    )  # fmt: skip


def _code(code: int, kind: DType, text: str) -> Grid:
    """The bits of D as they stand in its register: sign, exponent, fraction, or all of an integer."""
    parts: list[tuple[Role, int, str]] = [("result", kind.bits, "two's complement")]
    if kind.is_float:
        field = code >> kind.fraction_bits & ((1 << kind.exponent_bits) - 1)
        meaning = (
            f"{field} - {kind.bias}"
            if field
            else "0: subnormal"
            if code << 1 & ((1 << kind.bits) - 1)
            else "0"
        )
        if field == (1 << kind.exponent_bits) - 1:
            meaning = "infinity or NaN"
        parts = [
            ("sign", 1, "s"),
            ("exponent", kind.exponent_bits, meaning),
            ("result", kind.fraction_bits, "fraction"),
        ]
    cells, heads, at = [], [], 0
    hover = np.full((1, kind.bits), "", dtype=object)
    for role, size, about in parts:
        cells += [
            Cell(0, column, 1, 1, (str(code >> (kind.bits - 1 - column) & 1),), role=role)
            for column in range(at, at + size)
        ]
        hover[0, at : at + size] = f"{role if kind.is_float and role != 'result' else about}"
        heads.append(Header(at, size, (about if len(about) <= 2 * size else "",)))
        at += size
    rows = (Header(0, 1, (f"D {text}".replace(" ", "\N{NO-BREAK SPACE}"),)),)
    return Grid(
        (1, kind.bits), tuple(cells), hover, rows, tuple(heads), title=f"the register: {kind}", tight=True
    )
