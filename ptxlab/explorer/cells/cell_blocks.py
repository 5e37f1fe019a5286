"""Blocks of cells edited as in a spreadsheet: pasted over a range, or continued from one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, quoted
from ...isa.dtypes import DType
from ...isa.operation import Operation
from .parse_cell import format_value, parse, range_words, value_range
from .refused_edit import RefusedEdit


class CellRange(NamedTuple):
    """A rectangle of cells, its last row and column included."""

    top: int
    left: int
    bottom: int
    right: int

    @property
    def slices(self) -> tuple[slice, slice]:
        return slice(self.top, self.bottom + 1), slice(self.left, self.right + 1)


class EditedCells(NamedTuple):
    """The codes of a matrix after an edit, and which of them the edit wrote."""

    codes: NDArray[Any]
    written: NDArray[np.bool_]


def check_writable(name: str) -> None:
    """Refuse to edit the result."""
    if name == "D":
        raise PtxlabError("D is the result and cannot be changed; change A, B or C")


def unedited(operation: Operation, name: str) -> EditedCells:
    """A copy of the codes of a matrix, to be edited."""
    codes = operation.codes(name).copy()
    return EditedCells(codes, np.zeros(codes.shape, dtype=np.bool_))


def cell_range(
    operation: Operation,
    name: str,
    row: int,
    column: int,
    row2: int | None = None,
    column2: int | None = None,
) -> CellRange:
    """The rectangle between two cells, which must exist; one cell without a second."""
    rows, columns = operation.operand(name).shape
    row2 = row if row2 is None else row2
    column2 = column if column2 is None else column2
    for corner_row, corner_column in ((row, column), (row2, column2)):
        if not (0 <= corner_row < rows and 0 <= corner_column < columns):
            raise PtxlabError(
                f"{name}[{quoted(corner_row)}][{quoted(corner_column)}] does not exist; "
                f"{name} is {rows}x{columns}"
            )
    return CellRange(min(row, row2), min(column, column2), max(row, row2), max(column, column2))


def _repeats(size: int, block_size: int) -> int:
    return size // block_size if size % block_size == 0 else 1


def paste_cells(
    operation: Operation, name: str, target: CellRange, words: list[list[str]], text: str
) -> EditedCells:
    """A block of words from the first cell of a range on, repeated if the range is a multiple of it in size.

    `text` is what the words were read from.
    """
    height, width = len(words), max(len(line) for line in words)
    top, left, bottom, right = target
    down, across = _repeats(bottom - top + 1, height), _repeats(right - left + 1, width)
    operand = operation.operand(name)
    rows, columns = operand.shape
    if top + height > rows or left + width > columns:
        raise PtxlabError(
            f"a block of {height}x{width} cells does not fit at {name}[{top}][{left}]; "
            f"{name} is {rows}x{columns}"
        )
    check_writable(name)
    edited = unedited(operation, name)
    for line_index, line in enumerate(words):
        for word_index, word in enumerate(line):
            if not word.strip():
                continue
            row, column = top + line_index, left + word_index
            cells = slice(row, top + down * height, height), slice(column, left + across * width, width)
            try:
                is_nibble = name == "E" and re.fullmatch(r"\s*[01]{4}\s*", word)  # as cells show it
                edited.codes[cells] = parse(operand.dtype, f"0b{word.strip()}" if is_nibble else word)
            except PtxlabError as error:
                sentence = f"{'metadata' if name == 'E' else name}[{row}][{column}]: {error}"
                is_spreadsheet = "\t" in text  # its cells show where the error is; other texts need words
                if (height > 1 or width > 1) and not is_spreadsheet:
                    sentence += f" (row {line_index + 1}, column {word_index + 1} of the text)"
                raise RefusedEdit(sentence, name, [(row, column, column)]) from None
            edited.written[cells] = True
    return edited


def extend_cells(
    operation: Operation, name: str, source: CellRange, to_row: int, to_column: int, series: bool
) -> EditedCells:
    """A range continued to a row above or below it, or to a column beside it, as a series or by copies."""
    top, left, bottom, right = source
    cell_range(operation, name, to_row, to_column)
    vertical = not top <= to_row <= bottom
    if vertical == (not left <= to_column <= right):
        raise PtxlabError(
            f"{name}[{to_row}][{to_column}]: fill up, down, left or right "
            f"from {name}[{top}..{bottom}][{left}..{right}]"
        )
    dtype, edited = operation.operand(name).dtype, unedited(operation, name)
    # Written along the first axis, forwards: the matrix is transposed or reversed for the other directions.
    codes, written = (edited.codes, edited.written) if vertical else (edited.codes.T, edited.written.T)
    first, last, end = (top, bottom, to_row) if vertical else (left, right, to_column)
    forward, size = end > last, codes.shape[0]
    if not forward:
        codes, written = codes[::-1], written[::-1]
        first, last, end = size - 1 - last, size - 1 - first, size - 1 - end
    for line in range(left, right + 1) if vertical else range(top, bottom + 1):
        position = last
        start = codes[first : last + 1, line]
        try:
            for code in continue_cells(dtype, start, end - last, series, 1 if forward else -1):
                position += 1
                codes[position, line] = code
        except PtxlabError as error:
            along = position + 1 if forward else size - 2 - position
            row, column = (along, line) if vertical else (line, along)
            raise RefusedEdit(f"{name}[{row}][{column}]: {error}", name, [(row, column, column)]) from None
        written[last + 1 : end + 1, line] = True
    return edited


def continue_cells(
    dtype: DType, codes: Sequence[int] | NDArray[Any], count: int, series: bool, step_of_one: int = 1
) -> Iterator[int]:
    """The codes that follow: a series continues in equal steps, or codes repeat. A single number steps by 1.

    >>> from ptxlab import dtype
    >>> s8 = dtype("s8")
    >>> list(continue_cells(s8, [1, 3], 3, True)), list(continue_cells(s8, [1, 3], 3, False))
    ([5, 7, 9], [1, 3, 1])
    """
    values = dtype.decode(np.asarray(codes))
    numbers: list[Fraction] = []
    if series and np.isfinite(values).all():
        numbers = [Fraction(format_value(value)) for value in values]
    steps = {after - before for before, after in pairwise(numbers)} or {Fraction(step_of_one)}
    step = steps.pop() if numbers and len(steps) == 1 else Fraction(0)
    exact = all(number == Fraction(float(value)) for number, value in zip(numbers, values, strict=False))
    for index in range(count):
        if step:
            yield _series_code(dtype, numbers[-1] + (index + 1) * step, exact)
        else:
            yield int(codes[index % len(codes)])


def _series_code(dtype: DType, number: Fraction, exact: bool) -> int:
    """The code of the next number of a series; an exact series refuses a number that the type would round."""
    least, most, *_ = value_range(dtype)
    decimal = (Decimal(number.numerator) / number.denominator).normalize()  # may be more than a float holds
    is_short = number.denominator == 1 and abs(number) < 10**12
    shown = str(number) if is_short else f"{decimal:.9g}"
    if not least <= number <= most:
        raise PtxlabError(f"the series reaches {shown}; {dtype} holds {range_words(dtype)}")
    code = int(dtype.encode(float(number)))
    nearest = dtype.decode(code)
    if exact and Fraction(float(nearest)) != number:
        raise PtxlabError(
            f"the series reaches {shown}, which {dtype} does not have; the nearest is {format_value(nearest)}"
        )
    return code
