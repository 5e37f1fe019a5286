"""Lesson 16: structured sparsity, pruning and compression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import quoted
from ...isa.catalog import mma_forms
from ...isa.dtypes import dtype
from ...isa.sparsity import STRUCTURES, Structure
from ...views import Picture
from ...views.charts import bars, table
from ..answers import WrongForm, numbers, result_of, whole_number_set, whole_numbers
from ..checking import Sentences, checks, correct, otherwise, when

TWO_OF_FOUR, ONE_OF_TWO, FOUR_OF_EIGHT = STRUCTURES["2:4"], STRUCTURES["1:2"], STRUCTURES["4:8"]
ROW = (1, 0, 2, 0, 0, 0, 3, 4, 5, 6, 0, 0, 7, 1, 0, 2, 0, 0, 0, 8, 1, 2, 3, 4)
ROWS = (
    (1, 0, 0, 2, 3, 0, 0, 4),
    (0, 0, 5, 6, 0, 0, 7, 8),
    (1, 2, 3, 4, 0, 0, 0, 0),
    (0, 5, 0, 0, 6, 0, 0, 0),
    (1, 2, 0, 3, 0, 0, 0, 4),
)
CHUNK = (3, -1, 2, 2, 0, 3, -2, 1)
SPARSE = (0, 5, 0, 7, 0, 0, 0, 3, 0, 0, 0, 0, 2, 0, 0, -1)
#: The structure of each type in the lesson.
_TYPES = {"tf32": ONE_OF_TWO, "f16": TWO_OF_FOUR, "s8": TWO_OF_FOUR, "s4": FOUR_OF_EIGHT}


# -- what the lesson shows -----------------------------------------------------------------------------------


def losses(A: NDArray[Any], B: NDArray[Any], pruned: Mapping[str, NDArray[Any]]) -> Picture:
    """What pruning A costs: the share of the sum of its squares that is lost, and the error of A B.

    >>> A = np.array([[4.0, 3.0]])
    >>> picture = losses(A, np.eye(2), {"one of two": np.array([[4.0, 0.0]])})
    >>> [cell.text for cell in picture.grids[0].cells if cell.lines]
    ['36.0%', '60.0%']
    """
    product = A @ B
    shares = {
        name: {
            "squares lost": 1 - (matrix**2).sum() / (A**2).sum(),
            "error of A B": np.linalg.norm(matrix @ B - product) / np.linalg.norm(product),
        }
        for name, matrix in pruned.items()
    }
    return bars(shares, "What pruning costs", text="{:.1%}".format)


def pruned_rows(row: NDArray[Any], rules: Sequence[Structure]) -> Picture:
    """A row of a matrix, and what each structure keeps of it, with a line where a chunk ends.

    >>> picture = pruned_rows(np.array([[3, -7, 1, 5]]), [TWO_OF_FOUR, ONE_OF_TWO])
    >>> [cell.text for cell in picture.grids[0].cells]
    ['3', '-7', '1', '5', '0', '-7', '0', '5', '0', '-7', '0', '5']
    """
    kept = {"dense": row[0]} | {rule.title: rule.prune(row)[0] for rule in rules}
    texts = {name: [str(number) for number in numbers] for name, numbers in kept.items()}
    shades = {text: -0.5 for numbers in texts.values() for text in numbers if text != "0"}
    columns = range(row.shape[1])
    notes = ("in colour: what is kept", "thick line: a chunk ends")
    picture = table(texts, [str(k) for k in columns], "One row, pruned", notes, shades=shades, axes=("", "k"))
    ends = [
        (end, at, at + 1) for at, rule in enumerate(rules, 1) for end in columns[rule.chunk :: rule.chunk]
    ]
    return replace(picture, grids=(replace(picture.grids[0], column_rules=tuple(ends)),))


def freedom() -> Picture:
    """How many patterns each structure allows in eight columns if half of the elements are kept.

    >>> [cell.text for cell in freedom().grids[0].cells if cell.lines]
    ['70', '36', '16', '6']
    """
    counts = {"no structure": comb(8, 4)}
    for rule in (TWO_OF_FOUR, ONE_OF_TWO, FOUR_OF_EIGHT):
        counts[rule.title] = comb(rule.groups, rule.keep) ** (8 // rule.chunk)
    return bars(counts, "Patterns in eight columns")


def space() -> Picture:
    """The space of compressed A and its metadata, as a share of dense A.

    >>> [cell.text for cell in space().grids[0].cells if cell.lines][-1]
    '62.5%'
    """
    shares = {}
    for name, rule in _TYPES.items():
        dense = rule.chunk * dtype(name).bits
        shares[f"{name}, {rule.title}"] = (dense / 2 + 4) / dense
    notes = ("compressed A and four bits of metadata for each chunk", "dense A is 100 %")
    return bars(shares, "Space that a chunk takes", notes, text="{:.1%}".format, most=1.0)


def registers() -> Picture:
    """Registers of A, B and E in each lane, for the longest dense and the longest sparse shape of a type.

    >>> [cell.text for cell in registers().grids[0].cells[:8]]
    ['m16n8k8', '4', '2', '', 'm16n8k16', '4', '4', '1']
    """
    rows = {}
    for name in _TYPES:
        for family in ("mma", "mma.sp"):
            forms = [
                candidate for candidate in mma_forms(family) if candidate.a_type == name and candidate.m == 16
            ]
            form = max(forms, key=lambda candidate: candidate.k)
            counts = [
                str(form.operands[letter].registers) if letter in form.operands else "" for letter in "ABE"
            ]
            rows[f"{name} {family}"] = [form.shape, *counts]
    return table(rows, ["shape", "A", "B", "E"], "Registers in each lane")


def types_by_structure() -> Picture:
    """The types that each structure is used with, in all sparse instructions.

    >>> types_by_structure().grids[0].rows[0].text
    '1:2'
    """
    forms = [*mma_forms("mma.sp"), *mma_forms("wgmma.sp")]
    rows = {}
    for rule in (ONE_OF_TWO, TWO_OF_FOUR, FOUR_OF_EIGHT):
        for kinds in (("",), ("f8f6f4", "mxf8f6f4"), ("mxf4", "mxf4nvf4")):
            members = [form for form in forms if form.structure is rule and (form.kind or "") in kinds]
            if members:
                types = ", ".join(dict.fromkeys(member.a_type for member in members))
                families = ", ".join(dict.fromkeys(member.family for member in members))
                rows[" ".join([rule.title, *filter(None, kinds)])] = [types, families]
    return table(rows, ["types of A", "families"], "Which structure goes with which type")


# -- its exercises -------------------------------------------------------------------------------------------


@checks("16.1")
def broken(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of chunk numbers")
    row = np.array([ROW])
    expected = frozenset(np.flatnonzero(TWO_OF_FOUR.violations(row)[0]).tolist())
    few = frozenset(np.flatnonzero((row.reshape(-1, 4) != 0).sum(axis=1) < 2).tolist())
    full = frozenset(np.flatnonzero((row.reshape(-1, 4) != 0).sum(axis=1) == 4).tolist())
    across = frozenset((1, 2))  # a run of four non-zeros, two on each side
    return {
        correct(submitted == expected): "Three or four non-zeros in a chunk are too many. One or none is "
        "fine, and so is a run of four across the border between two chunks.",
        when(submitted == expected | few): "You also named a chunk with fewer than two non-zeros. *At most* "
        "two are allowed; fewer are fine.",
        when(submitted & across): "Chunks begin at columns 0, 4, 8 and so on. A run of non-zeros across "
        "such a border is fine if each side has at most two of them.",
        when(submitted == frozenset(chunk + 1 for chunk in expected)): "Those are the right ones, counted "
        "from 1. Chunks are numbered from 0, like everything here.",
        when(submitted == frozenset(4 * chunk for chunk in expected)): "Those are the columns where the "
        "chunks begin. Give the numbers of the chunks.",
        when(submitted == full): "That one is full. But three non-zeros are too many as well.",
        when(bool(submitted) and submitted < expected): "Those chunks break it, but others do, too.",
        when(any(not 0 <= chunk < len(ROW) // 4 for chunk in submitted)): "There are chunks 0 to "
        f"{len(ROW) // 4 - 1}.",
        otherwise: "Divide the row into fours, and count the non-zeros in each. More than two break the "
        "structure.",
    }


def _fits(answer: object) -> dict[str, frozenset[int]]:
    """Rows by structure, from a dict or from three lists."""
    form = '`{"1:2": [rows], "2:4": [rows], "4:8": [rows]}`'
    names = [ONE_OF_TWO.name, TWO_OF_FOUR.name, FOUR_OF_EIGHT.name]
    lists: list[object] = []
    if isinstance(answer, dict):
        by_name = {
            name.split()[0]: rows for name, rows in answer.items() if isinstance(name, str) and name.strip()
        }
        if set(by_name) == set(names):
            lists = [by_name[name] for name in names]
    elif isinstance(answer, (list, tuple)) and not any(
        isinstance(rows, (str, int, float)) for rows in answer
    ):
        lists = list(answer)
    if len(lists) != len(names):
        raise WrongForm(f"the answer has a list of rows for each of {', '.join(names)}: {form}.")
    return {name: whole_number_set(rows, form) for name, rows in zip(names, lists, strict=True)}


@checks("16.2")
def structures(answer: object) -> Sentences:
    submitted = _fits(answer)
    expected = {
        structure.name: frozenset(np.flatnonzero(~structure.violations(np.array(ROWS)).any(axis=1)).tolist())
        for structure in (ONE_OF_TWO, TWO_OF_FOUR, FOUR_OF_EIGHT)
    }
    zeros = 3
    right = [name for name in expected if submitted[name] == expected[name]]
    return {
        correct(submitted == expected): "A row that is 1:2 is also 2:4: one of every two makes at most two "
        "of four. 4:8 is different: it allows four adjacent non-zeros, which 2:4 does not, but not a "
        "non-zero in each of the four pairs, which 1:2 does.",
        when(any(zeros in expected[name] - submitted[name] for name in expected)): f"Row {zeros} has only "
        "two non-zeros. Fewer than the limit is allowed: check this row again for each structure.",
        when(submitted[FOUR_OF_EIGHT.name] - expected[FOUR_OF_EIGHT.name]): "4:8 counts *pairs*: columns 0 "
        "and 1, 2 and 3, and so on. A pair with one non-zero counts as non-zero, and two pairs may be "
        "non-zero.",
        when(submitted[TWO_OF_FOUR.name] - expected[TWO_OF_FOUR.name]): "For 2:4, divide the eight columns "
        "into two fours. Each of them may have at most two non-zeros.",
        when(submitted[ONE_OF_TWO.name] - expected[ONE_OF_TWO.name]): "For 1:2, divide the eight columns "
        "into four twos. Each of them may have at most one non-zero.",
        otherwise: f"Right so far: {', '.join(right) or 'none'}. In the others, rows are missing: a "
        "structure sets an *upper limit*, and the positions of the non-zeros within a chunk do not matter.",
    }


@checks("16.3")
def _prune_pairs(answer: object) -> Sentences:
    submitted = list(numbers(answer, "eight numbers"))
    if len(submitted) != len(CHUNK):
        hint = ""
        if len(submitted) == 4:
            hint = " A pruned chunk keeps its zeros; only a compressed one has four numbers."
        raise WrongForm(f"found {len(submitted)} numbers; the pruned chunk has eight.{hint}")
    expected = FOUR_OF_EIGHT.prune([CHUNK])[0].tolist()
    pairs = np.reshape(CHUNK, (4, 2))
    by_sum = np.argsort(-np.abs(pairs).sum(axis=1), kind="stable")[:2]
    summed = np.where(np.isin(np.arange(4), by_sum)[:, None], pairs, 0).ravel().tolist()
    changed = [a for a, b in zip(submitted, CHUNK, strict=True) if a not in (0, b)]
    split = any(
        (a == 0) != (b == 0) and x != 0 != y
        for a, b, x, y in zip(submitted[::2], submitted[1::2], CHUNK[::2], CHUNK[1::2], strict=True)
    )
    return {
        correct(submitted == expected): "The sums of squares of the pairs are 10, 8, 9 and 5. The two pairs "
        "with the largest sums stay, each as a whole.",
        when(changed): "Pruning only sets numbers to 0; "
        f"{', '.join(f'{number:g}' for number in changed[:1])} is new.",
        when(submitted == list(map(float, summed))): "You added up the magnitudes. The squares count: (3, "
        "-1) has the sum 9 + 1.",
        when(submitted == TWO_OF_FOUR.prune([CHUNK])[0].tolist()): "That is 2:4: two of every four. Here "
        "whole *pairs* stay or go.",
        when(split): "You took a pair apart. In 4:8 a pair stays or goes as a whole.",
        when(FOUR_OF_EIGHT.violations([submitted]).any()): "More than two pairs are left. Two of the four "
        "may stay.",
        otherwise: "That has the structure, but loses more than it must. Compare the pairs by the sum of "
        "their two squares.",
    }


@checks("16.4")
def _stored_half(answer: object) -> Sentences:
    submitted = list(numbers(answer, "eight numbers"))
    row = np.array([SPARSE])
    expected = TWO_OF_FOUR.compress(row)[0][0].tolist()
    chunks = row.reshape(-1, 4)
    front = [number for chunk in chunks.tolist() for number in ([n for n in chunk if n] + [0, 0])[:2]]
    return {
        correct(submitted == expected): "Each chunk stores two values, needed or not. In the second chunk a "
        "zero is stored before the 3: the 3 is in the last column of its four, so nothing can come after it.",
        when(submitted == [n for n in SPARSE if n]): "Those are only the non-zeros; then there would be no "
        "telling where a chunk begins. Every chunk stores *two* values, zeros if need be.",
        when(submitted == front): "The zero of the second chunk is on the wrong side. The stored pair keeps "
        "the order of columns: can any column come after the last one?",
        when(submitted == list(SPARSE)): "That is the row itself. Compressed, it has eight numbers.",
        when(len(submitted) != len(expected)): f"Found {len(submitted)} numbers. Four chunks with two "
        "values each make eight.",
        when(submitted == chunks[:, :2].ravel().tolist()): "Those are the first two of every four, and "
        "non-zeros got lost. Store the two that are *needed*.",
        when(submitted == list(SPARSE[::2]) or submitted == list(SPARSE[1::2])): "You took every other "
        "column. Take the two columns of each chunk that are needed.",
        when(sorted(submitted) == sorted(expected)): "Those are the right numbers, but in another order. Go "
        "chunk by chunk, and keep the order of the columns in each.",
        otherwise: "Go from chunk to chunk, and take two columns from each: the non-zero ones, and zeros if "
        "there are fewer than two.",
    }


@checks("16.5")
def bits(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(dense, compressed, metadata)`")
    width = dtype("s4").bits
    expected = (FOUR_OF_EIGHT.chunk * width, FOUR_OF_EIGHT.keep * FOUR_OF_EIGHT.group * width, 4)
    return {
        correct(submitted == expected): "Two of four pairs are kept, and each of their two indices takes "
        f"two bits. Together that is {sum(expected[1:])} of {expected[0]} bits, "
        f"{100 * sum(expected[1:]) / expected[0]:g} %: a little more than half.",
        when(submitted[:2] == (FOUR_OF_EIGHT.chunk, FOUR_OF_EIGHT.keep * FOUR_OF_EIGHT.group)): "Your first "
        "two numbers count elements; an `s4` element has four bits.",
        when(submitted[:2] == expected[:2] and submitted[2] == 8): "The first two are right. An index names "
        "a *pair*, not an element, and two pairs are kept.",
        when(submitted[:2] == expected[:2] and submitted[2] == 2): "The first two are right. Naming one of "
        "four pairs takes two bits, and two pairs are named.",
        when(submitted[:2] == expected[:2]): "The first two are right. How many bits does a number from 0 "
        "to 3 take, and how many such numbers are needed?",
        when(submitted[0] == expected[0]): "The first is right. The compressed chunk is two pairs: how many "
        "elements, and how many bits?",
        otherwise: "Dense: eight elements of four bits. Compressed: two pairs. Metadata: two numbers from 0 "
        "to 3.",
    }


@checks("16.6")
def _twice_listed(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(K with 2:4, K with 4:8)`")
    forms = [ins for ins in mma_forms("mma.sp") if ins.a_type == "e2m1" and ins.structure is not None]
    expected = tuple(
        next(ins.k for ins in forms if ins.structure == rule) for rule in (TWO_OF_FOUR, FOUR_OF_EIGHT)
    )
    return {
        correct(submitted == expected): "With `kind::f8f6f4` and `kind::mxf8f6f4` each element has its own "
        "byte, so it is treated like any other 8-bit element: 2:4. With `kind::mxf4` two elements share a "
        "byte, and that byte stays or goes as a whole: twice the K, and pairs.",
        when(submitted == expected[::-1]): "It is the other way round. Which of the two packs more elements "
        "into a register?",
        when(submitted == tuple(k // 2 for k in expected)): "Those are the values of K for the dense forms. "
        "Look at `mma.sp`.",
        when(submitted[0] == expected[0]): "The first is right. Look at the forms with `kind::mxf4`.",
        when(submitted[1] == expected[1]): "The second is right. Look at the forms with `kind::f8f6f4`.",
        otherwise: 'Try `{(i.kind, i.k, i.structure.name) for i in ptxlab.catalog("mma.sp") if i.a_type == '
        '"e2m1"}`.',
    }


#: Chunks that a pruner must get right: signs, ties, zeros, fewer than two non-zeros.
_CHUNKS = (
    (1, 5, 2, 7),
    (-5, 1, 2, -7),
    (3, -4, 0, 0),
    (0, 0, 0, 9),
    (0, 0, 0, 0),
    (2, 2, 2, 2),
    (-1, -2, -3, -4),
    (0.5, -0.25, 8, 0.125),
    (6, -6, 1, 6),
)


@checks("16.7")
def pruner(answer: object) -> Sentences:
    form = "`prune(chunk)` returns four numbers"
    for chunk in _CHUNKS:
        submitted = list(
            numbers(result_of(answer, list(chunk), form=form, about=f"called with {list(chunk)}"), form)
        )
        best = float(np.square(np.sort(np.abs(chunk))[2:]).sum())
        fits = len(submitted) == 4 and all(a in (0, b) for a, b in zip(submitted, chunk, strict=True))
        if fits and not TWO_OF_FOUR.violations([submitted]).any() and sum(np.square(submitted)) == best:
            continue
        shown = quoted([int(n) if n == int(n) else n for n in submitted])
        where = f"For `{list(chunk)}` your function returned `{shown}`"
        if len(submitted) != 4:
            stored = (
                "those are the stored values. A pruned chunk still has four numbers, at least two of them 0."
            )
            raise WrongForm(
                f"{where}: "
                f"{stored if len(submitted) == 2 else 'four numbers are needed, one for each column.'}"
            )
        upwards = np.argsort(chunk, kind="stable")
        return {
            when(not fits and set(submitted) <= {0.0, *map(float, chunk)}): f"{where}: each number stays in "
            "its own place or becomes 0.",
            when(not fits): f"{where}: a number stays as it is, including its sign, or becomes 0.",
            when(TWO_OF_FOUR.violations([submitted]).any()): f"{where}: more than two are left. Think of "
            "ties: several numbers may be as large as the second largest.",
            when(submitted == [n if i in upwards[2:] else 0 for i, n in enumerate(chunk)]): f"{where}: a "
            "large negative number counts as much as a positive one.",
            when(submitted == [*chunk[:2], 0, 0]): f"{where}: the first two are not always the largest two.",
            when(np.count_nonzero(submitted) == 1 < np.count_nonzero(chunk)): f"{where}: only one is left. "
            "Two may stay.",
            otherwise: f"{where}: larger numbers were lost than necessary. Rank the four by absolute value.",
        }
    return {
        correct(True): "That is all `ins.prune` does for 2:4, chunk by chunk. Which of two equal numbers "
        "stays does not matter: the loss is the same."
    }
