"""From an MMA on which the two sides disagree to the smallest one on which they still do.

All candidates of a round share one launch. A candidate is kept if the two sides still disagree, in any way,
about the element in question.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ..isa.mma import Instruction
from ..isa.modifiers import Modifiers
from .case import (
    Case,
    Cell,
    Comparator,
    Configuration,
    FloatParts,
    OutOfTime,
    complexity,
    is_normal,
    simpler_codes,
)

_ROUNDS = 200  # of simplification, at most; a few dozen suffice
_MAX_TERMS = 10  # of which one or two are tried in place of all
_TRIES = 24  # random changes of each choice
_PER_CELL = 1 << 40  # complexity of one more element: more than any code can have

#: New codes for some places of a case.
Change = dict[Cell, int]


def shrink(case: Case, comparator: Comparator, *, keep_modifiers: bool = False) -> Case:
    """The smallest case found; an interrupt, or the end of the time, returns the smallest so far.

    Modifiers take their defaults if those still show the difference, unless `keep_modifiers`.
    """
    with contextlib.suppress(KeyboardInterrupt, OutOfTime):
        if not keep_modifiers:
            case = _default_configuration(case, comparator)
        for smaller in _smaller(case, comparator):
            case = smaller
    return case


def _smaller(case: Case, comparator: Comparator) -> Iterator[Case]:
    """Ever smaller cases."""
    yield (case := _one_element(case, comparator))
    yield (case := _drop(case, comparator))
    if case.in_registers:
        return
    before = None
    while before is None or _total_complexity(case) < before:
        for _ in range(_ROUNDS):
            simpler = _simplify(case, comparator)
            if simpler is None:
                break
            yield (case := simpler)
        yield (case := _drop(case, comparator))
        before = _total_complexity(case)
        yield (case := _drop(_few_terms(case, comparator), comparator))
    yield (case := _first_positions(case, comparator))
    yield _move_to_origin(case, comparator)


# -- how the instruction is issued -----------------------------------------------------------------------


def _default_configuration(case: Case, comparator: Comparator) -> Case:
    """Set modifiers that are not needed to their defaults, and A to registers."""
    defaults = Modifiers()
    modifiers = case.configuration.modifiers
    for name in ("swizzle", *vars(defaults)):
        if getattr(modifiers, name) == getattr(defaults, name):
            continue
        if name == "selector" and case.in_registers:
            continue  # lanes of other selectors hold arbitrary bits
        changed = replace(case.configuration.modifiers, **{name: getattr(defaults, name)})
        case = _reconfigured(case, comparator, case.configuration._replace(modifiers=changed))
    ins = case.ins
    if isinstance(ins, Instruction) and ins.a_space == "shared" and not case.in_registers:
        in_registers = Configuration(
            ins.a_from("register"), replace(case.configuration.modifiers, imm_trans_a=0)
        )
        case = _reconfigured(case, comparator, in_registers)
    return case


def _reconfigured(case: Case, comparator: Comparator, configuration: Configuration) -> Case:
    """The case with another configuration, if that is legal and still shows the difference."""
    if configuration == case.configuration or not configuration.legal:
        return case
    return _if_it_differs(replace(case, configuration=configuration), case, comparator)


def _if_it_differs(trial: Case, otherwise: Case, comparator: Comparator) -> Case:
    return trial if comparator.differs(trial) else otherwise


def _one_element(case: Case, comparator: Comparator) -> Case:
    """Keep only what goes into the element: its row of A, its column of B, its C; defaults elsewhere."""
    if case.in_registers:
        return case
    codes = {}
    for argument in case.ins.inputs:
        array = np.full_like(case.codes[argument], case.default(argument))
        used = _used_part(case, argument)
        array[used] = case.codes[argument][used]
        codes[argument] = array
    return _if_it_differs(replace(case, codes=codes), case, comparator)


def _used_part(case: Case, argument: str) -> tuple[int | slice, int | slice]:
    """Rows and columns of an input that go into the element."""
    if argument in ("b", "scale_b"):
        return slice(None), case.b_column
    if argument == "c":
        return case.row, case.col
    return case.row, slice(None)


def _first_positions(case: Case, comparator: Comparator) -> Case:
    """Move products to the first k, if the difference allows it."""
    column, positions = case.b_column, case.positions().tolist()

    def cells(stored: int) -> tuple[Cell, Cell]:
        return ("a", case.row, stored), ("b", positions[stored], column)

    def factors(stored: int) -> tuple[int, int]:
        a_cell, b_cell = cells(stored)
        return case.code(a_cell), case.code(b_cell)

    for stored in range(len(positions)):
        free = next((place for place in range(stored) if factors(place) == (0, 0)), None)
        if free is None or factors(stored) == (0, 0):
            continue
        move = dict.fromkeys(cells(stored), 0)
        move |= dict(zip(cells(free), factors(stored), strict=True))
        case, _ = _apply(case, comparator, [move])
    return case


def _move_to_origin(case: Case, comparator: Comparator) -> Case:
    """Move the case to D[0][0], if that still shows the difference."""
    trial = replace(
        case, row=0, col=0, codes={argument: array.copy() for argument, array in case.codes.items()}
    )
    for argument, array in trial.codes.items():
        source, target = _used_part(case, argument), _used_part(trial, argument)
        moved = np.copy(array[source])
        array[source] = array[target]
        array[target] = moved
    return _if_it_differs(trial, case, comparator)


# -- leaving out elements --------------------------------------------------------------------------------


def _cells(case: Case) -> list[Cell]:
    """Places that differ from their default; for matrices only those of A, B and C, ordered by k."""
    if case.in_registers:
        return [cell for argument in case.codes for cell in case.changed_cells(argument)]
    positions = case.positions()

    def k_of(cell: Cell) -> int:
        argument, row, col = cell
        if argument == "c":
            return -1
        return int(positions[col]) if argument == "a" else row

    return sorted((cell for argument in ("a", "b", "c") for cell in case.changed_cells(argument)), key=k_of)


def _drop(case: Case, comparator: Comparator) -> Case:
    """Set every place that is not needed to its default: halves first, then quarters, at last one by one."""
    cells = _cells(case)
    defaults = {argument: case.default(argument) for argument in case.codes}
    size = max(len(cells) // 2, 1)
    while cells:
        blocks = [cells[first : first + size] for first in range(0, len(cells), size)]
        changes = [{cell: defaults[cell[0]] for cell in block} for block in blocks]
        case, applied = _apply(case, comparator, changes)
        if applied:
            cells = [cell for cell in cells if case.code(cell) != defaults[cell[0]]]
            size = min(size, max(len(cells), 1))
        elif size == 1:
            break
        else:
            size = (size + 1) // 2
    return case


def _apply(case: Case, comparator: Comparator, changes: Sequence[Change]) -> tuple[Case, int]:
    """Apply as many changes as together keep the difference; the case, and how many were applied."""
    keep = comparator.which_differ([case.with_codes(change) for change in changes])
    chosen: list[Change] = []
    for change, still_differs in zip(changes, keep, strict=True):
        overlaps = any(change.keys() & other.keys() for other in chosen)
        if still_differs and not overlaps:
            chosen.append(change)
    if not chosen:
        return case, 0
    together = [
        {cell: code for change in chosen[:count] for cell, code in change.items()}
        for count in range(2, len(chosen) + 1)
    ]
    keep = comparator.which_differ([case.with_codes(change) for change in together])
    working = [index for index, still_differs in enumerate(keep) if still_differs]
    if not working:
        return case.with_codes(chosen[0]), 1
    return case.with_codes(together[working[-1]]), working[-1] + 2


def _few_terms(case: Case, comparator: Comparator) -> Case:
    """Try one or two terms in place of many, with other signs, exponents and fractions.

    A difference that needed many random terms may need only two chosen ones.
    """
    cells = _cells(case)
    terms: list[tuple[Cell, ...]] = [
        (("a", case.row, stored), ("b", k, case.b_column))
        for stored, k in enumerate(case.positions().tolist())
    ]
    terms.append((("c", case.row, case.col),))
    used = [term for term in terms if all(cell in cells for cell in term)][-_MAX_TERMS:]
    if len(used) < 3 or not case.ins.a.dtype.is_float:
        return case
    random = np.random.Generator(np.random.SFC64(len(used)))
    trials = []
    for kept_terms in [*combinations(used, 1), *combinations(used, 2)]:
        kept_cells = sorted({cell for term in kept_terms for cell in term})
        for _ in range(_TRIES):
            change: Change = dict.fromkeys(cells, 0)
            change |= {cell: _random_neighbour(case, cell, random) for cell in kept_cells}
            trials.append(case.with_codes(change))
    keep = comparator.which_differ(trials)
    differing = [trial for trial, still_differs in zip(trials, keep, strict=True) if still_differs]
    return min(differing, key=_total_complexity) if differing else case


def _random_neighbour(case: Case, cell: Cell, random: np.random.Generator) -> int:
    """A code near that of a place: a random sign, flipped bits of the fraction, a nearby exponent."""
    dtype = case.ins.inputs[cell[0]].dtype
    parts = FloatParts.of(dtype, case.code(cell))
    flip, shift = int(random.integers(2)), int(random.integers(-3, 4))
    masks = [int(random.integers(1 << dtype.fraction_bits)) for _ in range(2)]
    exponent = parts.exponent
    if is_normal(dtype, exponent, exponent + shift):
        exponent += shift
    return FloatParts(parts.sign ^ flip, exponent, parts.fraction ^ (masks[0] & masks[1])).code(dtype)


# -- simpler codes ---------------------------------------------------------------------------------------


def _complexity(case: Case, cell: Cell, code: int) -> int:
    argument = cell[0]
    if argument in ("e", "scale_a", "scale_b"):
        return int(code != case.default(argument))
    return complexity(case.ins.inputs[argument].dtype, code)


def _total_complexity(case: Case) -> int:
    total = _PER_CELL * len(_cells(case))
    for argument, array in case.codes.items():
        for row, col in np.argwhere(array).tolist():
            total += _complexity(case, (argument, row, col), int(array[row, col]))
    return total


def _simplify(case: Case, comparator: Comparator) -> Case | None:
    """One round of simpler codes; None if none of them shows the difference."""
    changes = [*_single_changes(case), *_factor_changes(case), *_scaling_changes(case)]
    gains = [
        sum(
            _complexity(case, cell, case.code(cell)) - _complexity(case, cell, code)
            for cell, code in change.items()
        )
        for change in changes
    ]
    useful = [index for index, gain in enumerate(gains) if gain > 0]
    useful.sort(key=lambda index: -gains[index])
    simpler, applied = _apply(case, comparator, [changes[index] for index in useful])
    return simpler if applied else None


def _single_changes(case: Case) -> list[Change]:
    """One place at a time."""
    changes: list[Change] = []
    for cell in _cells(case):
        changes += [{cell: code} for code in simpler_codes(case.ins.inputs[cell[0]].dtype, case.code(cell))]
    for argument in ("e", "scale_a", "scale_b"):
        if argument in case.codes:
            default = case.default(argument)
            changes += [{cell: default} for cell in case.changed_cells(argument)]
    return changes


def _factor_changes(case: Case) -> list[Change]:
    """Both factors of a product at once: drop both signs, or move a power of two between them."""
    a_dtype, b_dtype = case.ins.a.dtype, case.ins.b.dtype
    if not a_dtype.is_float:
        return []
    changes: list[Change] = []
    for stored, k in enumerate(case.positions().tolist()):
        a_cell, b_cell = ("a", case.row, stored), ("b", k, case.b_column)
        if not case.code(a_cell) or not case.code(b_cell):
            continue
        a, b = FloatParts.of(a_dtype, case.code(a_cell)), FloatParts.of(b_dtype, case.code(b_cell))
        if a.sign and b.sign:
            changes.append(
                {a_cell: a._replace(sign=0).code(a_dtype), b_cell: b._replace(sign=0).code(b_dtype)}
            )
        a_excess = a.exponent - a_dtype.bias
        for step in {a_excess, b_dtype.bias - b.exponent, 1, -1, a_excess // 2}:
            less, more = a.exponent - step, b.exponent + step
            if is_normal(a_dtype, a.exponent, less) and is_normal(b_dtype, b.exponent, more):
                changes.append(
                    {
                        a_cell: a._replace(exponent=less).code(a_dtype),
                        b_cell: b._replace(exponent=more).code(b_dtype),
                    }
                )
    return changes


def _scaling_changes(case: Case) -> list[Change]:
    """Divide all of A and C, or all of B and C, by a power of two."""
    if not case.ins.a.dtype.is_float:
        return []
    changes: list[Change] = []
    cells = _cells(case)
    for scaled in ("a", "b"):
        floats = {}
        for cell in cells:
            if cell[0] in (scaled, "c"):
                dtype = case.ins.inputs[cell[0]].dtype
                floats[cell] = dtype, FloatParts.of(dtype, case.code(cell))
        excesses = [parts.exponent - dtype.bias for dtype, parts in floats.values()]
        for step in {*excesses, *(excess // 2 for excess in excesses), 1, -1}:
            if floats and all(
                is_normal(dtype, parts.exponent, parts.exponent - step) for dtype, parts in floats.values()
            ):
                changes.append(
                    {
                        cell: parts._replace(exponent=parts.exponent - step).code(dtype)
                        for cell, (dtype, parts) in floats.items()
                    }
                )
    return changes
