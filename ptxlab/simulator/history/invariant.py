"""Whether a result depends on how it is computed with others: batch invariance, and determinism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._util.arguments import is_a
from ...errors import PtxlabError, counted, listing, quoted
from .compare import first_other
from .element_tree import ElementTree
from .run import Reduction, Run, checked_rows

_Place = tuple[str, Any, int]  # of a row: parameter, its value, and the row


@dataclass(frozen=True)
class Invariance:
    """Whether the tree of every row is the same for all values of a parameter; true if it is.

    `scope` is that of `Reduction`: what the same tree proves. `parts` are the first two rows whose trees
    differ, each as (parameter, value, row), in `column`, and `where` is the line of the first operation that
    the second row has not.
    """

    parameter: str
    values: tuple[object, ...]
    rows: int
    scope: str
    reasons: tuple[str, ...] = ()
    parts: tuple[_Place, _Place] | None = None
    column: int = 0
    where: str = ""

    def __bool__(self) -> bool:
        return self.parts is None and self.scope != "no run"

    def __repr__(self) -> str:
        runs = f"{self.parameter} = {', '.join(map(str, self.values))}"
        if self.parts is not None:
            (name, first, row), (_, second, other) = self.parts
            place = f" at {self.where}" if self.where else ""
            rows = f"row {row} with {name} = {first} and row {other} with {name} = {second}"
            return f"not invariant{place}: {rows} have other trees (column {self.column})"
        if self.scope == "no run":
            return f"not deterministic: {listing(self.reasons, 3)}"
        text = f"invariant: the tree of every row is the same for {runs} ({counted(self.rows, 'row')})"
        if self.scope == "this path":
            text += f"; on the path of these inputs: {listing(self.reasons, 3)}"
        return text


def invariant(
    launch: Callable[[Any], Run], over: Mapping[str, Sequence[Any]], *, rows: Mapping[int, int] | None = None
) -> Invariance:
    """Whether each row is computed by the same tree, whatever else is in the launch.

    `launch` returns a run, of `Kernel.run`, for a value of the parameter in `over`. Arrays whose size is a
    multiple of the value, the same for all values, are taken to have that many rows; `rows` says otherwise:
    ``{number of an argument: length of its rows}``. An output without rows is compared as a whole.

    >>> import numpy as np, ptxlab
    >>> text = '''__global__ void sum(const float* x, float* y) {
    ...     float total = 0;
    ...     for (int k = 0; k < 8; ++k) total += x[threadIdx.x * 8 + k];
    ...     y[threadIdx.x] = total;
    ... }'''
    >>> kernel = ptxlab.kernel(text)
    >>> def launch(batch):
    ...     return kernel.run(1, batch, np.zeros((batch, 8), np.float32), np.zeros(batch, np.float32))
    >>> ptxlab.invariant(launch, over={"batch": [1, 2, 7]})
    invariant: the tree of every row is the same for batch = 1, 2, 7 (10 rows)
    """
    if not callable(launch):
        raise PtxlabError(f"launch={quoted(launch)}: it is a function that returns kernel.run(...)")
    if not is_a(over, Mapping) or len(over) != 1:
        example = '{"batch": [1, 7]}'
        raise PtxlabError(f"over={quoted(over)}: it is one parameter and its values, such as {example}")
    ((parameter, values),) = over.items()
    if not is_a(values, list, tuple, range) or not len(values):
        raise PtxlabError(f"over={quoted(over)}: {quoted(parameter)} has a list of values")
    runs = [launch(value) for value in values]
    for run in runs:
        if not isinstance(run, Run):
            raise PtxlabError(f"launch returns {quoted(run)}: it returns kernel.run(...)")
    lengths = checked_rows(rows)
    for name in runs[0].arrays:
        sizes = {_row_length(run, name, value) for run, value in zip(runs, values, strict=True)}
        if name.isdecimal() and len(sizes) == 1 and len(values) > 1 and (length := sizes.pop()):
            lengths.setdefault(int(name), length)
    first: dict[int, tuple[np.uint64, _Place, Run]] = {}
    reasons: dict[str, None] = {}
    scopes: set[str] = set()
    parts, column, count, where = None, 0, 0, ""
    for run, value in zip(runs, values, strict=True):
        run.rows |= {number: length for number, length in lengths.items() if number not in run.rows}
        run.check_rows()
        reduction = run.reduction()
        scopes.add(reduction.scope)
        reasons |= dict.fromkeys(_reasons(reduction))
        prints = reduction.fingerprints.reshape(-1)
        number = int(reduction.output) if reduction.output.isdecimal() else 0
        table = prints.reshape(-1, lengths.get(number, prints.size))
        count += len(table)
        for row, trees in enumerate(table):
            place = (parameter, value, row)
            for number_in_row, tree in enumerate(trees.tolist()):
                known, other, before = first.setdefault(number_in_row, (tree, place, run))
                if known != tree and parts is None:
                    column, parts = number_in_row, (place, other)
                    where = _first_line(ElementTree(run, tree), ElementTree(before, int(known)))
    scope = next(name for name in ("no run", "this path", "all inputs") if name in scopes)
    return Invariance(parameter, tuple(values), count, scope, tuple(reasons), parts, column, where)


def _row_length(run: Run, name: str, value: object) -> int:
    """The elements of a row, if an array has as many rows as the value says; otherwise 0."""
    size = run.arrays[name].size if name in run.arrays else 0
    if not isinstance(value, int | np.integer) or value < 1 or size % int(value):
        return 0
    return size // int(value)


def _reasons(reduction: Reduction) -> list[str]:
    return [note.text for note in reduction.notes] + [str(hazard) for hazard in reduction.hazards]


def _first_line(tree: ElementTree, other: ElementTree) -> str:
    """The line of the first operation that another tree has not."""
    start = first_other(tree, other)
    return tree.nodes[start].where if start in tree.nodes else ""
