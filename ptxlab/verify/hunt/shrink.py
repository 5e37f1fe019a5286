"""From a multiplication on which two disagree to the smallest on which they still do.

Every trial is a batch: all candidates of a round go through one launch. A candidate stays if the two still disagree about the
element that is looked at, in whatever way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ...isa.modifiers import Modifiers
from .case import Case, Judge
from .simpler import joined, parts, simpler, weight

__all__ = ["shrink"]

_ROUNDS = 200  # at most, of simplification; a few dozen do
_TERMS, _TRIES = 10, 24  # of those that one or two terms are picked from, and how often each choice is tried
_MANY = 1 << 40  # one element more is worse than any code

Cell = tuple[str, int, int]
TransferForm = dict[Cell, int]


def shrink(case: Case, judge: Judge) -> Case:
    """The smallest case that could be found; an interrupt gives the smallest so far."""
    best = [case]
    with contextlib.suppress(KeyboardInterrupt):
        _shrink(best, judge)
    return best[0]


def _shrink(best: list[Case], judge: Judge) -> None:
    """Leaves every improvement in `best`, so that nothing is lost when it is stopped."""
    for step in (_plain_setting, _alone, _drop):
        best[0] = step(best[0], judge)
    if best[0].packed:
        return
    before = None
    while before is None or _total(best[0]) < before:
        for _ in range(_ROUNDS):
            found = _simplify(best[0], judge)
            if found is None:
                break
            best[0] = found
        best[0] = _drop(best[0], judge)
        before = _total(best[0])
        best[0] = _drop(_fewer(best[0], judge), judge)
    for step in (_first_places, _at_the_origin):
        best[0] = step(best[0], judge)


# -- how it is run ------------------------------------------------------------------------------------------------------


def _plain_setting(case: Case, judge: Judge) -> Case:
    """Modifiers that are not needed become what they are when left out; A goes back to registers."""
    usual = Modifiers()
    names = [
        name
        for name in ("swizzle", *vars(usual))
        if getattr(case.setting.modifiers, name) != getattr(usual, name)
    ]
    if case.packed:  # the lanes that another selector would ask hold anything
        names = [name for name in names if name != "selector"]
    for name in [*names, "a_space"]:
        ins, modifiers = case.setting
        if name == "a_space":
            plain = replace(modifiers, imm_trans_a=0)
            setting = (
                case.setting._replace(ins=ins.a_from("register"), modifiers=plain)
                if ins.a_space == "shared" and not case.packed
                else case.setting
            )
        else:
            setting = case.setting._replace(modifiers=replace(modifiers, **{name: getattr(usual, name)}))
        if setting != case.setting and setting.legal:
            trial = replace(case, setting=setting)
            case = trial if judge.any_of([trial])[0] else case
    return case


def _alone(case: Case, judge: Judge) -> Case:
    """Only what goes into the element: its row of A, its column of B, its C; the rest zero, ordinary nibbles, scales of 1."""
    if case.packed:
        return case
    ins = case.setting.ins
    cells = {}
    for name in ins.inputs:
        kept = np.full_like(case.cells[name], case.usual(name))
        at = _line(case, name)
        kept[at] = case.cells[name][at]
        cells[name] = kept
    trial = replace(case, cells=cells)
    return trial if judge.any_of([trial])[0] else case


def _line(case: Case, name: str) -> tuple[int | slice, int | slice]:
    """The part of an operand that goes into the element."""
    if name in ("b", "scale_b"):
        return slice(None), case.column_of_b()
    return case.row, case.col if name == "c" else slice(None)


def _first_places(case: Case, judge: Judge) -> Case:
    """Products one after the other from k = 0 on, where they differ there too."""
    column, meets = case.column_of_b(), case.positions().tolist()

    def pair(stored: int) -> tuple[int, int]:
        return int(case.cells["a"][case.row, stored]), int(case.cells["b"][meets[stored], column])

    for stored in range(len(meets)):
        free = next((place for place in range(stored) if pair(place) == (0, 0)), None)
        if free is None or pair(stored) == (0, 0):
            continue
        a, b = pair(stored)
        move = {
            ("a", case.row, stored): 0,
            ("b", meets[stored], column): 0,
            ("a", case.row, free): a,
            ("b", meets[free], column): b,
        }
        case, _ = _apply(case, judge, [move])
    return case


def _at_the_origin(case: Case, judge: Judge) -> Case:
    """The same in D[0][0], if it differs there too and nothing else is needed."""
    trial = replace(case, row=0, col=0, cells={name: array.copy() for name, array in case.cells.items()})
    for name, array in trial.cells.items():
        here, there = _line(case, name), _line(trial, name)
        moved = array[here].copy() if isinstance(array[here], np.ndarray) else array[here]
        array[here] = array[there]
        array[there] = moved
    return trial if judge.any_of([trial])[0] else case


# -- leaving out --------------------------------------------------------------------------------------------------------


def _cells(case: Case) -> list[Cell]:
    """Places of A, B and C that are not zero, those of one k side by side."""
    names = (
        tuple(case.cells) if case.packed else ("a", "b", "c")
    )  # metadata and scales as matrices have their own moves
    places = [
        (name, int(row), int(col))
        for name in names
        for row, col in np.argwhere(case.cells[name] != case.usual(name))
    ]
    if case.packed:
        return places
    meets = case.positions()
    return sorted(
        places, key=lambda cell: -1 if cell[0] == "c" else int(meets[cell[2]]) if cell[0] == "a" else cell[1]
    )


def _drop(case: Case, judge: Judge) -> Case:
    """The usual in every place that is not needed: halves, quarters and so on, at last one by one."""
    cells = _cells(case)
    usual = {name: case.usual(name) for name in case.cells}
    size = max(len(cells) // 2, 1)
    while cells:
        blocks = [cells[first : first + size] for first in range(0, len(cells), size)]
        case, applied = _apply(case, judge, [{cell: usual[cell[0]] for cell in block} for block in blocks])
        if applied:
            cells = [cell for cell in cells if case.cells[cell[0]][cell[1:]] != usual[cell[0]]]
            size = min(size, max(len(cells), 1))
        elif size == 1:
            break
        else:
            size = (size + 1) // 2
    return case


def _apply(case: Case, judge: Judge, moves: Sequence[TransferForm]) -> tuple[Case, int]:
    """All moves that work, as many of them together as still work; (the case, how many)."""
    works = [
        move
        for move, good in zip(moves, judge.any_of([case.with_cells(move) for move in moves]), strict=True)
        if good
    ]
    chosen: list[TransferForm] = []
    for move in works:  # one move for a place
        if not any(move.keys() & other.keys() for other in chosen):
            chosen.append(move)
    if len(chosen) <= 1:
        return (case.with_cells(chosen[0]), 1) if chosen else (case, 0)
    together = [
        {cell: code for move in chosen[:count] for cell, code in move.items()}
        for count in range(2, len(chosen) + 1)
    ]
    good = judge.any_of([case.with_cells(move) for move in together])
    most = max((count for count, works_too in enumerate(good) if works_too), default=None)
    return (case.with_cells(chosen[0]), 1) if most is None else (case.with_cells(together[most]), most + 2)


def _fewer(case: Case, judge: Judge) -> Case:
    """One or two terms instead of many, with other signs, exponents and fractions: what takes many terms by chance may take two by choice."""
    column, operands = case.column_of_b(), case.setting.ins.inputs
    cells = _cells(case)
    terms = [
        [("a", case.row, stored), ("b", k, column)] for stored, k in enumerate(case.positions().tolist())
    ] + [[("c", case.row, case.col)]]
    used = [term for term in terms if all(cell in cells for cell in term)][-_TERMS:]
    if len(used) < 3 or not case.setting.ins.a.dtype.is_float:
        return case
    random = np.random.Generator(np.random.SFC64(len(used)))
    trials = []
    for kept in [*combinations(used, 1), *combinations(used, 2)]:
        places = {cell for term in kept for cell in term}
        for _ in range(_TRIES):
            move: TransferForm = dict.fromkeys(cells, 0)
            for name, row, col in sorted(places):
                kind = operands[name].dtype
                sign, field, fraction, _ = parts(kind, int(case.cells[name][row, col]))
                flip, shift = int(random.integers(2)), int(random.integers(-3, 4))
                noise = int(random.integers(1 << kind.fraction_bits)) & int(
                    random.integers(1 << kind.fraction_bits)
                )
                field = field + shift if _normal(kind.exponent_bits, field, field + shift) else field
                move[name, row, col] = joined(kind, sign ^ flip, field, fraction ^ noise)
            trials.append(case.with_cells(move))
    good = [trial for trial, works in zip(trials, judge.any_of(trials), strict=True) if works]
    return min(good, key=_total) if good else case


# -- simpler codes ------------------------------------------------------------------------------------------------------


def _weight(case: Case, cell: Cell, code: int) -> int:
    if cell[0] in ("e", "scale_a", "scale_b"):
        return int(code != case.usual(cell[0]))
    return weight(case.setting.ins.inputs[cell[0]].dtype, code)


def _total(case: Case) -> int:
    every = (
        (name, int(row), int(col)) for name, array in case.cells.items() for row, col in np.argwhere(array)
    )
    return sum(_weight(case, cell, int(case.cells[cell[0]][cell[1:]])) for cell in every) + _MANY * len(
        _cells(case)
    )


def _simplify(case: Case, judge: Judge) -> Case | None:
    """One round of simpler codes; None where nothing simpler differs."""
    moves = [*_single(case), *_paired(case), *_shifted(case)]
    gains = [
        sum(
            _weight(case, cell, int(case.cells[cell[0]][cell[1:]])) - _weight(case, cell, code)
            for cell, code in move.items()
        )
        for move in moves
    ]
    order = sorted((index for index, gain in enumerate(gains) if gain > 0), key=lambda index: -gains[index])
    found, applied = _apply(case, judge, [moves[index] for index in order])
    return found if applied else None


def _single(case: Case) -> list[TransferForm]:
    """One place at a time."""
    ins = case.setting.ins
    operands = ins.inputs
    moves: list[TransferForm] = []
    for cell in _cells(case):
        moves += [
            {cell: code} for code in simpler(operands[cell[0]].dtype, int(case.cells[cell[0]][cell[1:]]))
        ]
    for name in ("e", "scale_a", "scale_b"):
        if name in case.cells:
            plain = case.usual(name)
            moves += [
                {(name, int(row), int(col)): plain} for row, col in np.argwhere(case.cells[name] != plain)
            ]
    return moves


def _paired(case: Case) -> list[TransferForm]:
    """The two factors of a product at once: both signs off, or a power of two from one to the other."""
    ins, moves = case.setting.ins, []
    a, b = ins.a.dtype, ins.b.dtype
    column = case.column_of_b()
    for stored, k in enumerate(case.positions().tolist()):
        left, right = ("a", case.row, stored), ("b", k, column)
        x, y = int(case.cells["a"][left[1:]]), int(case.cells["b"][right[1:]])
        if not x or not y or not a.is_float:
            continue
        (sx, fx, mx, ix), (sy, fy, my, iy) = parts(a, x), parts(b, y)
        if sx and sy:
            moves.append({left: joined(a, 0, fx, mx, ix), right: joined(b, 0, fy, my, iy)})
        for step in {fx - a.bias, b.bias - fy, 1, -1, (fx - a.bias) // 2}:
            if _normal(a.exponent_bits, fx, fx - step) and _normal(b.exponent_bits, fy, fy + step):
                moves.append(
                    {left: joined(a, sx, fx - step, mx, ix), right: joined(b, sy, fy + step, my, iy)}
                )
    return moves


def _shifted(case: Case) -> list[TransferForm]:
    """All of A, or all of B, and C with them, by a power of two."""
    ins, moves = case.setting.ins, []
    if not ins.a.dtype.is_float:
        return []
    operands, cells = ins.inputs, _cells(case)
    for name in ("a", "b"):
        kind = operands[name].dtype
        chosen = [cell for cell in cells if cell[0] in (name, "c")]
        codes = [(cell, operands[cell[0]].dtype, int(case.cells[cell[0]][cell[1:]])) for cell in chosen]
        gaps = [parts(kind, code)[1] - kind.bias for cell, _, code in codes if cell[0] == name]
        gaps += [parts(ins.c.dtype, code)[1] - ins.c.dtype.bias for cell, _, code in codes if cell[0] == "c"]
        for step in {*gaps, *(gap // 2 for gap in gaps), 1, -1}:
            move: TransferForm = {}
            for cell, type_, code in codes:
                sign, field, fraction, ignored = parts(type_, code)
                if not _normal(type_.exponent_bits, field, field - step):
                    break
                move[cell] = joined(type_, sign, field - step, fraction, ignored)
            else:
                moves.append(move)
    return [move for move in moves if move]


def _normal(exponent_bits: int, *fields: int) -> bool:
    return all(0 < field < (1 << exponent_bits) - 1 for field in fields)
