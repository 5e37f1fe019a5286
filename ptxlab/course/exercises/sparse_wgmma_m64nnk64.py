"""Lesson 19: sparse wgmma.mma_async.m64nNk64."""

from __future__ import annotations

import numpy as np

from ...instruction import mma_instruction
from ...isa.catalog import mma_forms
from ...isa.sparsity import STRUCTURES
from ...views import Picture
from ...views.charts import table
from ..answers import first_wrong, function_table, whole_number_set, whole_numbers
from ..checking import Sentences, checks, correct, otherwise, when

INS = mma_instruction("wgmma.mma_async.sp.sync.aligned.m64n16k64.f32.e4m3.e4m3")
QUADS = STRUCTURES["2:4"]
A_ROW, A_COL, NIBBLE = 37, 42, 0b1110
_N_ASKED = (8, 24, 40, 48, 56, 256)
_SPARE = 100


# -- what the lesson shows -----------------------------------------------------------------------------------


def sizes() -> Picture:
    """The legal N of every 8-bit type.

    >>> [cell.text for cell in sizes().grids[0].cells if cell.row == 2][:6]
    ['✓', '✓', '✓', '✓', '', '✓']
    """
    forms = mma_forms("wgmma.sp")
    every = range(8, 257, 8)
    texts = {}
    for kind in ("e4m3", "e5m2", "s8", "u8"):
        legal = {form.n for form in forms if form.a_type == kind}
        texts[kind] = ["✓" if n in legal else "" for n in every]
    title = "Legal values of N"
    return table(texts, [str(n) for n in every], title, shades={"✓": -0.375}, axes=("type", "N"))


def values_of_k() -> Picture:
    """Every K of sparse wgmma with its structure and types.

    >>> [cell.text for cell in values_of_k().grids[0].cells][:3]
    ['1:2', '0, 1', 'tf32']
    """
    forms: dict[tuple[int, str, tuple[int, ...]], set[str]] = {}
    for form in mma_forms("wgmma.sp"):
        if form.structure is not None:
            key = (form.k, form.structure.name, tuple(form.selectors))
            forms.setdefault(key, set()).add(form.a_type)
    texts = {
        f"m64nNk{k}": [structure, ", ".join(map(str, selectors)), ", ".join(sorted(kinds))]
        for (k, structure, selectors), kinds in sorted(forms.items())
    }
    notes = ("in all of them, A takes 4 registers in every thread",)
    return table(texts, ["structure", "selectors", "types of A"], "Sparse wgmma by K", notes)


# -- exercises ---------------------------------------------------------------------------------------------


@checks("19.1")
def _legal_n(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of numbers")
    rows = mma_forms("wgmma.sp")
    legal = {
        kind: frozenset(n for n in _N_ASKED if any(r.n == n and r.a_type == kind for r in rows))
        for kind in ("s8", "e4m3")
    }
    return {
        correct(submitted == legal["s8"]): "Integers accept 8, 16, 24, 32 and then multiples of 16; FP8 "
        "accepts every multiple of 8.",
        when(submitted == legal["e4m3"]): "All of them are legal for FP8. The integer forms have fewer: "
        "look at `ptxlab.catalog`.",
        when(submitted == frozenset(n for n in _N_ASKED if n % 16 == 0)): "Multiples of 16 are legal, but "
        "there are more among the small values of N.",
        when(not submitted <= frozenset(_N_ASKED)): "Choose from the numbers in the task.",
        when(bool(submitted) and submitted < legal["s8"]): "Those are legal, but there are more.",
        otherwise: "Look at `{i.n for i in ptxlab.catalog('wgmma.sp') if i.a_type == 's8'}`.",
    }


@checks("19.2")
def _largest_n(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(N for e4m3, N for s8)`")
    rows = [row for row in mma_forms("wgmma.sp") if row.k == INS.k and row.d.dtype.bits == 32]
    legal = {kind: {row.n for row in rows if row.a_type == kind} for kind in ("e4m3", "s8")}
    fit = {
        kind: max(row.n for row in rows if row.a_type == kind and row.d.registers <= _SPARE) for kind in legal
    }
    expected = fit["e4m3"], fit["s8"]
    return {
        correct(submitted == expected): "64 x N elements in 128 threads take N/2 registers, so N can be at "
        f"most {2 * _SPARE}. FP8 accepts every multiple of 8; above 32, the integers accept only multiples "
        "of 16.",
        when(submitted == expected[::-1]): "It is the other way round: which of the two types accepts fewer "
        "values of N?",
        when(submitted == (expected[0], expected[0])): "Right for `e4m3`. The integers do not accept every "
        "multiple of 8.",
        when(submitted[0] > expected[0] and submitted[0] in legal["e4m3"]): "With that N, D takes "
        f"{submitted[0] // 2} registers in every thread.",
        when(submitted[0] not in legal["e4m3"]): "Not every number is a legal N: FP8 accepts multiples of "
        "8, up to 256.",
        when(submitted[0] < expected[0]): "For `e4m3`, N may be larger. D has 64 x N elements, and 128 "
        "threads share them: how many are in one thread?",
        when(submitted[1] not in legal["s8"]): "Right for `e4m3`. But `s8` does not accept that N: see "
        "exercise 19.1.",
        otherwise: "Right for `e4m3`. Which legal N of `s8` are near it? See exercise 19.1.",
    }


@checks("19.3")
def where_a(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(column of compressed A, thread)`")
    columns = QUADS.positions(np.full((1, INS.k // 4), NIBBLE))[0]
    stored = int(np.flatnonzero(columns == A_COL)[0])
    right = INS.a.where(A_ROW, stored)[0]
    other = INS.a.where(A_ROW, A_COL // 2)[0]
    return {
        correct(submitted == (stored, right.lane)): f"Chunk {A_COL // 4} keeps its elements 2 and 3, and "
        "this is the first of them; a thread stores four adjacent columns.",
        when(submitted[0] == A_COL // 2): "Half the column is a fair guess, but the nibble decides: is it "
        "the first or the second element kept in its chunk?",
        when(submitted[0] == A_COL): "That is the column of logical A. Compressed A has only half as many "
        "columns.",
        when(submitted[0] == stored and submitted[1] == right.lane % 32): "The column is right, and the "
        "lane is right, inside its warp: which warp has this row?",
        when(submitted[0] == stored and submitted[1] // 4 == right.lane // 4): "The column is right, and so "
        "is the group of four. Each thread has four columns of compressed A; after 16 the pattern repeats.",
        when(submitted[0] == stored): "The column is right. Which warp has this row, and which of its lanes "
        "has this column?",
        when(submitted[1] in (right.lane, other.lane)): "The thread is right. Two columns of compressed A "
        "belong to the chunk; which of them does the nibble assign to this element?",
        otherwise: "A chunk is four columns wide and keeps two. Find the chunk and its two columns of "
        "compressed A, then use the nibble to choose between them.",
    }


@checks("19.4")
def metadata_lane(answer: object) -> Sentences:
    table = function_table(
        answer, INS.m, INS.k // QUADS.chunk, form="`metadata_thread(row, chunk)` returns a thread, 0 to 127"
    )
    metadata = INS.operand("E")
    expected = np.array([metadata.where(*at)[0].lane for at in np.ndindex(*table.shape)]).reshape(table.shape)
    row, chunk = np.indices(table.shape)
    group, lower, right = row // 16 * 32 + row % 8 * 4, row % 16 // 8, chunk // 8
    first = first_wrong(table, expected, "row {}, chunk {}")
    return {
        correct(not first): "The warp gives 32 threads, and the row modulo 8 gives four of them; bit 0 "
        "of the thread tells which of the two rows it has, bit 1 which half of the row.",
        when(not (table != expected % 32).any()): "That is right inside each warp. The numbers of the "
        "threads continue from warp to warp.",
        when(not (table != group + 2 * lower + right).any()): "The two bits are exchanged: the first and "
        "second lane of a group have the two *rows*, the third and fourth have the other half of these rows.",
        when(not (table != group + lower).any()): f"Look at {first}: the other two lanes of the four have "
        "the right half of a row, which begins at chunk 8.",
        when(not (table != group + 2 * right).any()): f"Look at {first}: the odd lanes have row groupID + 8.",
        when(not (table // 4 != expected // 4).any()): "The group of four is always right. Look at "
        f"{first}: which of the two rows, and which half of it?",
        when(not (table[:16] != expected[:16]).any()): f"Right for the first warp. Look at {first}: count "
        "rows and threads from the beginning of the warp.",
        when(not (table[:8] != expected[:8]).any()): f"Right for the first eight rows. Look at {first}.",
        otherwise: f"Look at {first}. First find the warp (row // 16), then groupID (row modulo 8), then "
        "two bits: lower row or not, right half or not.",
    }
