"""A trace as a picture of aligned bits: terms as rows, powers of two as columns, lost bits below the cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import Literal

import numpy as np

from .._util.arguments import as_text
from ..errors import PtxlabError, quoted
from ..isa.dtypes import DType, dtype
from ..numerics.steps import Number, Step, Term, Trace, leading
from ..numerics.trace import DivergencePlace
from .grid import Cell, Grid, Header, Role, State
from .picture import Picture
from .trace_text import (
    comparisons,
    decimal,
    not_finite,
    rounding_words,
    step_name,
    term_name,
    trace_title,
)

_MAX_COLUMNS, _MAX_LOST_COLUMNS = 56, 8  # left of the cut, and right of it
_COLUMNS_BEFORE_GAP = 12  # where there are more of them than _MAX_COLUMNS
_ROWS = 32  # integer terms that have a row each; more of them share rows
_MINUS = "\N{MINUS SIGN}"
_NOBREAK = "\N{NO-BREAK SPACE}"


def trace_html(trace_of_d: Trace) -> str:
    """What a notebook shows for a trace."""
    return trace(trace_of_d)._repr_html_()


def trace(trace: Trace, note: str = "", *, title: bool = True) -> Picture:
    """The trace as a picture: a grid for each step, and the register of D; a `note` stands below its title.

    The last step ends with D, the exact result and what a chain of float32 FMAs gives; bits that differ from
    the exact ones are marked.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    >>> A, B = np.zeros((16, 8)), np.ones((8, 8))
    >>> A[0, :2] = 1024, 2.0**-16
    >>> cells = trace(ins.trace(A, B, None, 0, 0)).grids[0].cells
    >>> [cell.text for cell in cells if cell.role == "lost"][0]   # 2^-16 is the first place below the cut
    '1'
    """
    if not isinstance(trace, Trace):
        raise PtxlabError(
            f"found {quoted(trace)} where a trace belongs; ins.trace(A, B, C, row, col) gives one"
        )
    note = as_text(note, "note")
    final = trace.steps[-1]
    grids = []
    for number, step in enumerate(trace.steps, 1):
        heading = _step_title(trace, step)
        if len(trace.steps) > 1:
            heading = f"{number}. {heading}"
        if step.dtype == "s32":
            grids.append(_integer_grid(trace, step, heading))
        else:
            grids.append(_float_grid(trace, step, heading, final=step is final))
    if final.dtype != "s32":
        grids.append(_register_grid(final))
    notes = [f"{trace.chip}, {final.code_text}"]
    for name, value, remark in comparisons(trace):
        what = f"error of D[{trace.row}][{trace.col}]" if name == "error" else name
        notes.append(f"{what}: {value} ({remark})" if remark else f"{what}: {value}")
    if note:
        notes.append(note)
    notes.append(_legend(trace, grids))
    return Picture(trace_title(trace), tuple(notes), _below_each_other(grids)).with_title(title)


def _legend(trace: Trace, grids: list[Grid]) -> str:
    if trace.steps[-1].dtype == "s32":
        return "orange: the sum after each row, in two's complement, green: D"
    legend = "blue: kept, grey: lost below the cut or rounded off, orange: sum, green: result"
    if any(term.role == "product" and term.exponent is not None for term in trace.steps[0].terms):
        legend += "; the exponent of a product is the sum of its factors' exponents"
    framed = any(cell.state == "mark" for grid in grids for cell in grid.cells)
    return f"{legend}; framed: differs from the exact result" if framed else legend


def _below_each_other(grids: list[Grid]) -> tuple[Grid, ...]:
    """The grids on lines of their own, with row headings of one width, so that their columns line up."""
    width = max(len(head.text) for grid in grids for head in grid.rows)
    lines = []
    for grid in grids:
        room = 0 if grid.shape[1] == 64 else width  # a register of 64 bits needs the page
        rows = tuple(replace(head, lines=(head.text.ljust(room, _NOBREAK),)) for head in grid.rows)
        lines.append(replace(grid, new_line=True, rows=rows))
    return tuple(lines)


def _step_title(trace: Trace, step: Step) -> str:
    if step.dtype == "s32":
        outcome = f"{rounding_words(step)}: {decimal(step.value)}" if step.change else "fits s32"
        return f"sum = {decimal(step.total)}, {outcome}"
    name, rounding = step_name(trace, step), f"sum {rounding_words(step)}"
    if not_finite(step):
        return f"{name}: {not_finite(step)}"
    if step.top is None or step.grain is None:
        return f"{name}: {rounding}"
    return f"{name}: aligned to 2^{step.top}, cut below 2^{step.grain}, {rounding}"


# -- rows of bits ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _BitRow:
    """A number, the powers of two from `highest_bit` to `lowest_bit` that are drawn, and where the cut is."""

    name: str
    value: Number
    role: Role
    highest_bit: int = 0
    lowest_bit: int = 0
    cut: int | None = None
    role_below_cut: Role = "lost"
    tooltip: str = ""
    exponent: int | None = None
    terms: tuple[int, ...] = ()  # that it stands for
    names: tuple[str, ...] = ()  # of these

    @property
    def drawn(self) -> bool:
        return isinstance(self.value, Fraction) and (self.value != 0 or self.highest_bit > self.lowest_bit)

    def bit(self, power: int) -> str:
        return str(int(abs(Fraction(self.value)) / Fraction(2) ** power) & 1)

    def role_at(self, power: int) -> Role:
        return self.role if self.cut is None or power >= self.cut else self.role_below_cut


def _lowest_set_bit(value: Fraction) -> int:
    """The power of two of the last bit that is set."""
    whole = value.numerator & -value.numerator
    return whole.bit_length() - value.denominator.bit_length()


def _lowest_bit(value: Fraction, d_type: DType) -> int:
    """The power of two of the last bit that the type has for a number of this size."""
    return max(leading(value), 1 - d_type.bias) - d_type.fraction_bits


def _term_rows(trace: Trace, step: Step) -> list[_BitRow]:
    """A row for every term; runs of three or more zero terms share one."""
    bit_rows = []
    numbered = [
        (term.value == 0 and term.factors is not None, index) for index, term in enumerate(step.terms)
    ]
    for zero, group in groupby(numbered, key=itemgetter(0)):
        run = {index: step.terms[index] for _, index in group}
        if zero and len(run) > 2:
            names = tuple(term_name(trace, term) for term in run.values())
            title = f"{len(run)} terms of 0"
            bit_rows.append(_BitRow(title, Fraction(0), "kept", terms=tuple(run), names=names))
            continue
        for index, term in run.items():
            names = (term_name(trace, term),)
            bit_rows.append(replace(_term_row(trace, step, term), terms=(index,), names=names))
    return bit_rows


def row_of(trace: Trace, place: DivergencePlace) -> int | None:
    """The row of a place in the grid of its step; None where the whole step is meant."""
    bit_rows = _term_rows(trace, trace.steps[place.step])
    if place.result:
        return len(bit_rows) + 1
    return next((row for row, bit_row in enumerate(bit_rows) if place.term in bit_row.terms), None)


def _term_row(trace: Trace, step: Step, term: Term) -> _BitRow:
    bit_row = _BitRow(term_name(trace, term), term.value, "kept", tooltip=_tooltip(trace, term))
    if not isinstance(term.value, Fraction) or not term.value:
        return bit_row
    highest_bit, lowest_bit = leading(term.value), _lowest_set_bit(term.value)
    if term.exponent is not None:
        highest_bit = max(highest_bit, term.exponent)
        if term.places is not None:
            lowest_bit = min(lowest_bit, term.exponent - term.places)
    return replace(
        bit_row, highest_bit=highest_bit, lowest_bit=lowest_bit, cut=step.grain, exponent=term.exponent
    )


def _tooltip(trace: Trace, term: Term) -> str:
    product = "" if term.factors is None else f" = {decimal(term.factors[0])} * {decimal(term.factors[1])}"
    lines = [f"{term_name(trace, term)}{product} = {decimal(term.value)}"]
    if term.significand is not None:
        lines.append(f"exponent {term.exponent}, significand {decimal(term.significand)}")
    if term.lost:
        lines.append(f"kept {decimal(term.kept)}, lost {decimal(term.lost)}")
    return "\n".join(lines)


def _result_rows(trace: Trace, step: Step, final: bool) -> list[_BitRow]:
    """The sum, the result, and after the last step what it is compared with."""
    d_type, value = dtype(step.dtype), step.value
    lowest_bit = step.last
    if isinstance(value, Fraction) and value:
        lowest_bit = _lowest_bit(value, d_type)
    bit_rows = [
        _number_row("sum", step.total, "sum", step.grain, cut=step.last, all_bits=True),
        _number_row(f"D {step.code_text}" if final else "result", value, "result", lowest_bit),
    ]
    if not final:
        return bit_rows
    bit_rows[-1] = replace(bit_rows[-1], names=("D",))
    bit_rows.append(_number_row("exact", trace.exact, "exact", lowest_bit, all_bits=True))
    if trace.fma32 is not None:
        chain = Fraction(trace.fma32) if np.isfinite(trace.fma32) else trace.fma32
        if d_type.name != "f16":
            lowest_bit = None
            if isinstance(chain, Fraction) and chain:
                lowest_bit = _lowest_bit(chain, dtype("f32"))
        bit_rows.append(_number_row("float32 FMAs", chain, "other", lowest_bit, all_bits=True))
    return bit_rows


def _number_row(
    name: str,
    value: Number,
    role: Role,
    lowest_bit: int | None,
    *,
    cut: int | None = None,
    all_bits: bool = False,
) -> _BitRow:
    """A number, down to its `lowest_bit`; `all_bits`: also draw bits below that if the value has any."""
    bit_row = _BitRow(name, value, role, tooltip=f"{name} = {decimal(value)}")
    if not isinstance(value, Fraction) or not value:
        return bit_row
    lowest_set_bit = _lowest_set_bit(value)
    if lowest_bit is None or (all_bits and lowest_set_bit < lowest_bit):
        lowest_bit = lowest_set_bit
    highest_bit = max(leading(value), lowest_bit)
    return replace(bit_row, highest_bit=highest_bit, lowest_bit=lowest_bit, cut=cut, role_below_cut="rounded")


# -- floats ----------------------------------------------------------------------------------------------


def _float_grid(trace: Trace, step: Step, title: str, *, final: bool) -> Grid:
    terms = _term_rows(trace, step)
    bit_rows = [*terms, *_result_rows(trace, step, final)]
    columns, cut = _columns(bit_rows, step)
    exact = next((bit_row for bit_row in bit_rows if bit_row.role == "exact" and bit_row.drawn), None)
    cells: list[Cell] = []
    hover = np.full((len(bit_rows), len(columns)), "", dtype=object)
    for row, bit_row in enumerate(bit_rows):
        compared = (
            exact if bit_row.role in ("result", "other") and isinstance(bit_row.value, Fraction) else None
        )
        drawn = _row_cells(row, bit_row, columns, cut, compared)
        for cell in drawn:
            hover[row, cell.column : cell.column + cell.width] = _bit_hover(bit_row, columns, cell)
        cells += drawn
    above = len(terms)
    row_rules = [above, above + 1]
    if final:
        row_rules.append(above + 2)
    rules = []
    if step.grain is not None:
        rules.append((cut, 0, above + 1))
    if step.last is not None and step.last in columns:
        rules.append((columns.index(step.last) + 1, above, above + 2))
    return Grid(
        shape=(len(bit_rows), len(columns)),
        cells=tuple(cells),
        hover=hover,
        rows=_row_headers(bit_rows),
        columns=_power_headers(columns, cut, step.grain is not None),
        axes=("", "power of two"),
        title=title,
        name="step",
        density="tight",
        row_rules=tuple(row_rules),
        column_rules=tuple(dict.fromkeys(rules)),
    )


#: Powers of two, the sign, a gap in the middle, and "more" after the last.
_Column = int | Literal["sign", "gap", "more"]


def _columns(bit_rows: list[_BitRow], step: Step) -> tuple[list[_Column], int]:
    """The columns of a step, and the first right of the cut, which follows the last place that is kept."""
    drawn = [bit_row for bit_row in bit_rows if bit_row.drawn and bit_row.value]
    lowest_set_bits = [_lowest_set_bit(Fraction(bit_row.value)) for bit_row in drawn]
    lowest_bit = step.grain if step.grain is not None else step.last
    if lowest_bit is None:  # nothing is left to round
        lowest_bit = min(lowest_set_bits, default=0)
    highest_bit = max([lowest_bit, *(bit_row.highest_bit for bit_row in drawn)])
    if step.top is not None:
        highest_bit = max(highest_bit, step.top)
    columns: list[_Column] = ["sign", *range(highest_bit, lowest_bit - 1, -1)]
    if highest_bit - lowest_bit + 1 > _MAX_COLUMNS:
        before_gap = range(highest_bit, highest_bit - _COLUMNS_BEFORE_GAP, -1)
        after_gap = range(lowest_bit + _MAX_COLUMNS - _COLUMNS_BEFORE_GAP - 2, lowest_bit - 1, -1)
        columns = ["sign", *before_gap, "gap", *after_gap]
    cut = len(columns)
    lost = max((lowest_bit - power for power in lowest_set_bits), default=0)
    columns += range(lowest_bit - 1, lowest_bit - 1 - min(max(lost, 0), _MAX_LOST_COLUMNS), -1)
    if lost > _MAX_LOST_COLUMNS:
        columns.append("more")
    return columns, cut


def _row_cells(
    row: int, bit_row: _BitRow, columns: list[_Column], cut: int, exact: _BitRow | None
) -> list[Cell]:
    """The sign, the bits, and blank cells elsewhere, split at the cut."""
    width = len(columns)
    if not isinstance(bit_row.value, Fraction):
        word = "NaN" if bit_row.value != bit_row.value else "infinity"
        return [_sign_cell(row, bit_row.value), Cell(row, 1, 1, width - 1, (word,), role="odd")]
    cells = {0: _sign_cell(row, bit_row.value)}
    powers = [power for power in columns if isinstance(power, int)]
    is_right_of_all = columns[-1] == "more" and bit_row.highest_bit < powers[-1]
    if bit_row.drawn and bit_row.value and is_right_of_all:
        label = (f"from 2^{bit_row.highest_bit}",)
        cells[cut] = Cell(row, cut, 1, width - cut, label, role=bit_row.role_at(bit_row.highest_bit))
    elif bit_row.drawn:
        for column in range(1, width):
            cell = _bit_cell(row, bit_row, columns, column, exact)
            if cell is not None:
                cells[column] = cell
    return [*cells.values(), *_blanks(row, cells, width, cut)]


def _bit_cell(
    row: int, bit_row: _BitRow, columns: list[_Column], column: int, exact: _BitRow | None
) -> Cell | None:
    """The bit in a column, or dots for what is left out; None where the number has nothing."""
    power = columns[column]
    if isinstance(power, int):
        highest_bit = bit_row.highest_bit if exact is None else max(bit_row.highest_bit, exact.highest_bit)
        if not bit_row.lowest_bit <= power <= highest_bit:
            return None
        digit = bit_row.bit(power)
        differs = exact is not None and digit != exact.bit(power)
        state: State = "mark" if differs else "plain"
        return Cell(row, column, 1, 1, (digit,), state=state, role=bit_row.role_at(power))
    if power == "gap":
        before, after = columns[column - 1], columns[column + 1]
        if (
            isinstance(before, int)
            and isinstance(after, int)
            and bit_row.highest_bit >= after
            and bit_row.lowest_bit <= before
        ):
            return Cell(row, column, 1, 1, ("…",), role=bit_row.role)
        return None
    last = columns[column - 1]
    if power == "more" and isinstance(last, int) and _lowest_set_bit(Fraction(bit_row.value)) < last:
        return Cell(row, column, 1, 1, ("…",), role=bit_row.role_at(last - 1))
    return None


def _sign_cell(row: int, value: Number) -> Cell:
    sign: tuple[str, ...] = ()
    if value < 0:
        sign = (_MINUS,)
    elif value > 0:
        sign = ("+",)
    return Cell(row, 0, 1, 1, sign, role="sign")


def _blanks(row: int, cells: dict[int, Cell], width: int, cut: int) -> list[Cell]:
    taken = {column for cell in cells.values() for column in range(cell.column, cell.column + cell.width)}
    free = [column for column in range(width) if column not in taken]
    blanks = []
    for _, run in groupby(enumerate(free), lambda pair: (pair[1] - pair[0], pair[1] < cut)):
        columns = [column for _, column in run]
        blanks.append(Cell(row, columns[0], 1, len(columns), (), role="blank"))
    return blanks


def _bit_hover(bit_row: _BitRow, columns: list[_Column], cell: Cell) -> str:
    power = columns[cell.column]
    if cell.role == "blank":
        return ""
    if cell.width > 1 or not isinstance(power, int):
        return bit_row.tooltip
    words = [f"{bit_row.name}: 2^{power} is {cell.text}"]
    if cell.role == "lost":
        words.append("lost")
    if cell.role == "rounded":
        words.append("rounded off")
    if cell.state == "mark":
        words.append("differs from the exact result")
    return ", ".join(words)


def _row_headers(bit_rows: Sequence[_BitRow]) -> tuple[Header, ...]:
    """Name, value and exponent of every row, as columns of a fixed-width font."""
    rows = []
    for bit_row in bit_rows:
        exponent = "" if bit_row.exponent is None else f"2^{bit_row.exponent}"
        rows.append((bit_row.name, decimal(bit_row.value, 7 if bit_row.role == "kept" else 9), exponent))
    return _table_headers(rows, [bit_row.names for bit_row in bit_rows])


def _table_headers(
    rows: Sequence[tuple[str, str, str]], names: Sequence[tuple[str, ...]]
) -> tuple[Header, ...]:
    """Row headings in three columns, the first flush left."""
    first, second, third = (max(len(row[i]) for row in rows) for i in range(3))
    texts = [f"{name:<{first}} {value:>{second + 1}} {rest:>{third}}" for name, value, rest in rows]
    return tuple(Header(i, 1, (text.replace(" ", _NOBREAK),), names=names[i]) for i, text in enumerate(texts))


def _power_headers(columns: list[_Column], cut: int, aligned: bool) -> tuple[Header, ...]:
    """Powers of two in fours, or eights where there are many, counted from the cut; "lost" right of it."""
    longest = max((len(str(power)) for power in columns if isinstance(power, int)), default=0)
    per_group = 4 if cut < 42 and longest < 4 else 8
    heads = []
    for group, run in groupby(
        range(1, cut), lambda at: None if columns[at] == "gap" else (cut - 1 - at) // per_group
    ):
        places = list(run)
        first, last = columns[places[0]], columns[places[-1]]
        text = "…"
        if group is not None:
            text = str(first) if first == last else f"{first}..{last}"
        lonely = group is not None and len(places) == 1 < cut - 1  # "8" before "7..0" would read 87
        if len(text) <= 2 * len(places) and not lonely:
            heads.append(Header(places[0], len(places), (text,)))
    lost = len(columns) - cut
    if lost:
        text = "lost" if aligned else "rounded off"
        heads.append(Header(cut, lost, (text if len(text) < 2 * lost else "",)))
    return tuple(heads) or (Header(0, 1, ("",)),)


# -- integers --------------------------------------------------------------------------------------------


def _integer_grid(trace: Trace, step: Step, title: str) -> Grid:
    """Sums after each term, or after several, in decimal and in two's complement; below them what D keeps."""
    first, products = step.terms[0], step.terms[1:]
    sums = [int(so_far) for so_far in step.partial_sums]
    per_row = 1
    while len(products) > per_row * _ROWS:
        per_row *= 2
    top = max(31, *((~total if total < 0 else total).bit_length() for total in sums))
    rows = [(term_name(trace, first), decimal(first.value), decimal(first.value))]
    tooltips = [_tooltip(trace, first)]
    names: list[tuple[str, ...]] = [(term_name(trace, first),)]
    for start in range(0, len(products), per_row):
        group = products[start : start + per_row]
        part = decimal(sum((Fraction(term.value) for term in group), Fraction(0)))
        name, tooltip = term_name(trace, group[0]), _tooltip(trace, group[0])
        if per_row > 1:
            k = f"{group[0].k[0]}..{group[-1].k[0]}"
            name = f"A[{group[0].row}][{k}] B[{k}][{group[0].column}]"
            tooltip = f"{name}: {per_row} terms, {part} in all"
        names.append(tuple(term_name(trace, term) for term in group))
        rows.append((name, part, decimal(step.partial_sums[start + per_row])))
        tooltips.append(tooltip)
    rows.append((f"D {step.code_text}", "", decimal(step.value)))
    tooltips.append(f"D = {decimal(step.value)}")
    names.append(("D",))
    beyond: Role = "sum" if step.rounding == "satfinite" else "lost"  # bits that a wrap drops
    cells = []
    for row, total in enumerate([sums[0], *sums[per_row::per_row]]):
        for power in range(top, -1, -1):
            role: Role = beyond if power > 31 else "sum"
            cells.append(Cell(row, top - power, 1, 1, (str(total >> power & 1),), role=role))
    last = len(rows) - 1
    for power in range(31, -1, -1):
        cells.append(Cell(last, top - power, 1, 1, (str(step.code >> power & 1),), role="result"))
    if top > 31:
        cells.append(Cell(last, 0, 1, top - 31, (), role="blank"))
    terms, totals = (max(len(row[i]) for row in rows) for i in (1, 2))
    axis = f"{'term':>{terms}} {'sum':>{totals - 1}}".replace(" ", _NOBREAK)
    return Grid(
        shape=(len(rows), top + 1),
        cells=tuple(cells),
        hover=np.array([[tooltip] * (top + 1) for tooltip in tooltips], dtype=object),
        rows=_table_headers(rows, names),
        columns=tuple(Header(top - high, 4, (f"{high}..{high - 3}",)) for high in range(31, -1, -4)),
        axes=(axis, "bit"),
        title=title,
        name="step",
        density="tight",
        row_rules=(last,),
        column_rules=((top - 31, 0, last),) if top > 31 else (),
    )


# -- the register of D -----------------------------------------------------------------------------------


def _register_grid(step: Step) -> Grid:
    """The bits of D as they stand in its register: sign, exponent and fraction."""
    d_type = dtype(step.dtype)
    # role, bits, heading, tooltip
    parts: list[tuple[Role, int, str, str]] = [
        ("sign", 1, "s", "sign"),
        ("exponent", d_type.exponent_bits, _exponent_meaning(step.code, d_type), "exponent"),
        ("result", d_type.fraction_bits, "fraction", "fraction"),
    ]
    cells, heads, start = [], [], 0
    hover = np.full((1, d_type.bits), "", dtype=object)
    for role, size, heading, tooltip in parts:
        for column in range(start, start + size):
            digit = str(step.code >> (d_type.bits - 1 - column) & 1)
            cells.append(Cell(0, column, 1, 1, (digit,), role=role))
        hover[0, start : start + size] = tooltip
        heads.append(Header(start, size, (heading if len(heading) <= 2 * size else "",)))
        start += size
    rows = (Header(0, 1, (f"D {step.code_text}".replace(" ", _NOBREAK),), names=("D",)),)
    title = f"the bits of D: {d_type}"
    return Grid(
        shape=(1, d_type.bits),
        cells=tuple(cells),
        hover=hover,
        rows=rows,
        columns=tuple(heads),
        title=title,
        name="register",
        density="tight",
    )


def _exponent_meaning(code: int, d_type: DType) -> str:
    """The exponent of a code, as the field and the bias."""
    field = code >> d_type.fraction_bits & ((1 << d_type.exponent_bits) - 1)
    fraction = code & ((1 << d_type.fraction_bits) - 1)
    if field == (1 << d_type.exponent_bits) - 1:
        return "infinity or NaN"
    if field:
        return f"{field} - {d_type.bias}"
    return "0: subnormal" if fraction else "0"
