"""Edits of cells as spreadsheets know them: what a paste, a fill handle or Delete makes of the codes of a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..isa.dtypes import DType
from .parse_cell import cells, holds, parse, reach, written
from .refusals import Refused

if TYPE_CHECKING:
    from .state import Bench

__all__ = ["cleared", "continued", "extended", "pasted"]

Edit = tuple[NDArray[Any], NDArray[np.bool_]]  # the codes of the matrix, and which of them the edit wrote


def pasted(
    bench: Bench,
    name: str,
    row: int,
    column: int,
    text: str,
    row2: int | None = None,
    column2: int | None = None,
) -> Edit:
    """A block of text from a cell on; over a range that it fits several times it is repeated. Empty cells stay as they are."""
    words = cells(text)
    high, wide = len(words), max(len(line) for line in words)
    top, left, bottom, right = _block(bench, name, row, column, row2, column2)
    down, along = (
        (size // own if size % own == 0 else 1)
        for size, own in ((bottom - top + 1, high), (right - left + 1, wide))
    )
    rows, columns = bench.operand(name).shape
    if top + high > rows or left + wide > columns:
        raise PtxlabError(
            f"a block of {high}x{wide} cells at {name}[{top}][{left}] reaches over the edge; {name} is {rows}x{columns}"
        )
    codes, wrote = _fresh(bench, name)
    for inner, line in enumerate(words):
        for across, word in enumerate(line):
            if word.strip():
                here = (
                    slice(top + inner, top + down * high, high),
                    slice(left + across, left + along * wide, wide),
                )
                try:
                    codes[here] = parse(bench.operand(name).dtype, word)
                except PtxlabError as error:
                    at = top + inner, left + across
                    raise Refused(f"{name}[{at[0]}][{at[1]}]: {error}", name, [(*at, at[1])]) from None
                wrote[here] = True
    return codes, wrote


def cleared(bench: Bench, name: str, row: int, column: int, row2: int, column2: int) -> Edit:
    """A range with what its cells had at the start: 0; 1 for block scales; 0b0100 for metadata, which has no 0."""
    top, left, bottom, right = _block(bench, name, row, column, row2, column2)
    codes, wrote = _fresh(bench, name)
    start = 0b0100 if name == "E" else int(bench.operand(name).dtype.encode(float(name in ("SFA", "SFB"))))
    codes[top : bottom + 1, left : right + 1] = start
    wrote[top : bottom + 1, left : right + 1] = True
    return codes, wrote


def extended(
    bench: Bench,
    name: str,
    row: int,
    column: int,
    row2: int,
    column2: int,
    to_row: int,
    to_column: int,
    series: bool,
) -> Edit:
    """A range continued up to a row above or below it, or to a column beside it, as a fill handle does."""
    top, left, bottom, right = _block(bench, name, row, column, row2, column2)
    _block(bench, name, to_row, to_column)
    upright, level = not top <= to_row <= bottom, not left <= to_column <= right
    if upright == level:
        raise PtxlabError(
            f"{name}[{to_row}][{to_column}]: a fill goes up, down, left or right from {name}[{top}..{bottom}][{left}..{right}]"
        )
    codes, wrote = _fresh(bench, name)
    first, last, to = (top, bottom, to_row) if upright else (left, right, to_column)
    forward, size = to > last, codes.shape[0 if upright else 1]
    grid, mask = (codes, wrote) if upright else (codes.T, wrote.T)
    if not forward:
        grid, mask = grid[::-1], mask[::-1]
        first, last, to = size - 1 - last, size - 1 - first, size - 1 - to
    for line in range(left, right + 1) if upright else range(top, bottom + 1):
        at = last
        try:
            for code in continued(
                bench.operand(name).dtype,
                grid[first : last + 1, line],
                to - last,
                series,
                1 if forward else -1,
            ):
                at += 1
                grid[at, line] = code
        except PtxlabError as error:
            along = at + 1 if forward else size - 2 - at
            where = (along, line) if upright else (line, along)
            raise Refused(f"{name}[{where[0]}][{where[1]}]: {error}", name, [(*where, where[1])]) from None
        mask[last + 1 : to + 1, line] = True
    return codes, wrote


def continued(
    kind: DType, codes: Sequence[int] | NDArray[Any], count: int, series: bool, alone: int = 1
) -> Iterator[int]:
    """What follows some codes: numbers in equal steps go on if a series is wanted, anything else repeats. A single number steps by `alone`.

    >>> from ptxlab import dtype
    >>> s8 = dtype("s8")
    >>> list(continued(s8, [1, 3], 3, True)), list(continued(s8, [1, 3], 3, False)), list(continued(s8, [1, 3, 4], 4, True))
    ([5, 7, 9], [1, 3, 1], [1, 3, 4, 1])
    """
    values = kind.decode(np.asarray(codes))
    numbers = [Fraction(written(value)) for value in values] if series and np.isfinite(values).all() else []
    steps = {after - before for before, after in pairwise(numbers)} or {Fraction(alone)}
    step = steps.pop() if numbers and len(steps) == 1 else Fraction(0)
    exact = all(number == Fraction(float(value)) for number, value in zip(numbers, values, strict=False))
    for place in range(count):
        yield _held(kind, numbers[-1] + (place + 1) * step, exact) if step else int(codes[place % len(codes)])


def _held(kind: DType, number: Fraction, exact: bool) -> int:
    """The code of a number of a series; of an exact one, it must be that very number."""
    least, most, *_ = reach(kind)
    shown = str(number) if number.denominator == 1 else f"{float(number):.9g}"
    if not least <= number <= most:
        raise PtxlabError(f"the series comes to {shown}; {kind} holds {holds(kind)}")
    code = int(kind.encode(float(number)))
    near = kind.decode(code)
    if exact and Fraction(float(near)) != number:
        raise PtxlabError(
            f"the series comes to {shown}, which {kind} does not have; the nearest is {written(near)}"
        )
    return code


def _fresh(bench: Bench, name: str) -> Edit:
    codes = bench.codes(name).copy()
    return codes, np.zeros(codes.shape, dtype=np.bool_)


def _block(
    bench: Bench, name: str, row: int, column: int, row2: int | None = None, column2: int | None = None
) -> tuple[int, int, int, int]:
    """Top, left, bottom and right of a range, which must be there."""
    rows, columns = bench.operand(name).shape
    row2, column2 = row if row2 is None else row2, column if column2 is None else column2
    for down, right in ((row, column), (row2, column2)):
        if not (0 <= down < rows and 0 <= right < columns):
            raise PtxlabError(f"{name}[{down}][{right}] does not exist; {name} is {rows}x{columns}")
    return min(row, row2), min(column, column2), max(row, row2), max(column, column2)
