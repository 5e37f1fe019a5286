"""Lesson 02: kernels that the reader writes, judged by simulating them; its own kernels."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, counted
from ...gemm.matmul import matmul
from ...instruction import mma_instruction
from ...simulation import Simulation
from ...views import Picture
from ...views.colour_keys import warp_tint
from ...views.grid import Entry, uniform_grid
from ..answers import WrongForm
from ..checking import Sentences, checks, correct, otherwise, when
from ..reader_kernels import (
    compiled,
    first_hazard,
    judged,
    never_written,
    normal_numbers,
    same,
    simulated,
    source_parts,
    where,
)

INS = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")

# -- the parts that the lesson writes, cell by cell ----------------------------------------------------------

#: Functions of the lesson, and `ldmatrix` of lesson 04; kernels that call functions of the reader: `load_b`
#: or `start`, and `place` of lesson 04.
MMA, LOAD, STORE, LDMATRIX, _ONE, TILED = (f"\n{part}" for part in source_parts("first_kernel.cu"))


# -- what the lesson shows -----------------------------------------------------------------------------------


class FragmentMistake(NamedTuple):
    """What a kernel does wrong with fragments: in words, and its line beside that of a right kernel."""

    words: str
    wrong: str
    right: str


#: By the number of the kernel, from 1 on.
MISTAKES = {
    1: FragmentMistake(
        "d[3] does not start at 0", "float d[4] = {0, 0, 0, 1};", "float d[4] = {0, 0, 0, 0};"
    ),
    2: FragmentMistake(
        "The last group of four lanes loads the B of the first",
        "b[r] = *(const unsigned*)(B + group() % 7 * K + thread_in_group() * 2 + r * 8);",
        "b[r] = *(const unsigned*)(B + group() * K + thread_in_group() * 2 + r * 8);",
    ),
    3: FragmentMistake(
        "d[2] and d[3] are stored one row too far down, and those of the last group in row 8",
        "D[((group() + r / 2) % 8 + r / 2 * 8) * N + thread_in_group() * 2 + r % 2] = d[r];",
        "D[(group() + r / 2 * 8) * N + thread_in_group() * 2 + r % 2] = d[r];",
    ),
    4: FragmentMistake(
        "The last group of four lanes swaps registers 1 and 2 of A",
        "a[group() == 7 ? r % 2 * 2 + r / 2 : r] = *(const unsigned*)(A + (group() + r % 2 * 8) * K + "
        "thread_in_group() * 2 + r / 2 * 8);",
        "a[r] = *(const unsigned*)(A + (group() + r % 2 * 8) * K + thread_in_group() * 2 + r / 2 * 8);",
    ),
    5: FragmentMistake(
        "The two halves of every register of B are swapped",
        "b[r] = B[at + 1] | B[at] << 16;",
        "b[r] = B[at] | B[at + 1] << 16;",
    ),
}


#: A and B of the kernels with mistakes.
SMALL_NUMBERS = (
    (np.arange(256).reshape(16, 16) % 7 - 3).astype(np.float16),
    (np.arange(128).reshape(16, 8) % 5 - 2).astype(np.float16),
)


class Puzzle(NamedTuple):
    """A picture, and below it what it shows, folded."""

    picture: Picture
    answer: FragmentMistake

    def _repr_html_(self) -> str:
        words, wrong, right = (html.escape(text, quote=False) for text in self.answer)
        lines = f'<pre style="white-space: pre-wrap">wrong:  {wrong}\nright:  {right}</pre>'
        folded = f"<details><summary>The mistake</summary>{words}.{lines}</details>"
        return f'{self.picture._repr_html_()}<div style="margin-left: 20px">{folded}</div>'


def mistake(kernel: int) -> Puzzle:
    """D of one mma whose kernel has one mistake, outlined where it is wrong.

    >>> mistake(1).picture.subtitle
    '32 of 128 elements are wrong'
    """
    a, b = INS.a.pack(SMALL_NUMBERS[0]), INS.b.pack(SMALL_NUMBERS[1])
    c = np.zeros((32, 4), np.uint32)
    d = INS.emulate(a, b, c)
    expected = INS.d.unpack(d)
    if kernel == 1:
        c[:, 3] = np.float32(1).view(np.uint32)
        d = INS.emulate(a, b, c)
    elif kernel == 2:
        d = INS.emulate(a, b[np.arange(32) % 28], c)
    elif kernel == 3:
        d[:, 2:] = np.roll(d[:, 2:], 4, axis=0)
    elif kernel == 4:
        a[28:] = a[28:, [0, 2, 1, 3]]
        d = INS.emulate(a, b, c)
    elif kernel == 5:
        d = INS.emulate(a, b << 16 | b >> 16, c)
    D = INS.d.unpack(d)
    wrong = expected != D

    def entry(row: int, column: int) -> Entry:
        number = f"{D[row, column]:g}"
        tooltip = f"D[{row}][{column}] = {number}, should be {expected[row, column]:g}"
        return judged(number, tooltip, wrong[row, column])

    grid = uniform_grid((16, 8), entry, 1, 1, ("m", "n"))
    notes = (f"{wrong.sum()} of {wrong.size} elements are wrong",)
    return Puzzle(Picture(f"D of kernel {kernel}", notes, (grid,)), MISTAKES[kernel])


_NUMBERS = 100  # that the threads of the picture share out


def launched(block: int) -> Picture:
    """Which of 128 threads takes which of 100 numbers, in blocks of that many threads.

    >>> launched(64).notes[0]
    '2 blocks of 64 threads: 2 x 2 warps'
    """
    blocks, warps = 128 // block, block // 32

    def entry(row: int, lane: int) -> Entry:
        number, thread = 32 * row + lane, row % warps * 32 + lane
        who = f"block {row // warps}, thread {thread} (lane {lane} of warp {row % warps})"
        if number >= _NUMBERS:
            return judged("", f"{who}\nnumber {number} does not exist: nothing to do", True)
        return Entry((str(number),), warp_tint(row // warps), f"{who}\ntakes number {number}")

    rows = [f"block {row // warps}, warp {row % warps}" for row in range(4)]
    grid = uniform_grid((4, 32), entry, rows, [str(lane) for lane in range(32)], ("", "lane"))
    words = f"{counted(blocks, 'block')} of {block} threads: {blocks} x {counted(warps, 'warp')}"
    return Picture("Who takes which number", (words, "outlined: threads without a number"), (grid,))


# -- the reader's kernels ------------------------------------------------------------------------------------


def _integers(count: int, seed: int) -> NDArray[np.float32]:
    """Small whole numbers, so that sums are exact in any order."""
    return np.random.default_rng(seed).integers(-8, 9, count).astype(np.float32)


#: Blocks, threads of a block, n, a; in the last launch, whole blocks have nothing to do.
_AXPY = ((8, 128, 1000, 3), (3, 64, 130, -2), (1, 32, 5, 5), (11, 192, 2049, -3), (9, 32, 70, 7))
_BEYOND = "Threads beyond the last element must do nothing: is there an element for each of them?"


@checks("02.1")
def _axpy(answer: object) -> Sentences:
    kernel = compiled(answer, "axpy")
    for case, (blocks, threads, n, a) in enumerate(_AXPY):
        x, before = _integers(n, case), _integers(n, case + 9)
        y = before.copy()
        result = simulated(kernel, (blocks, 1), threads, (float(a), x, y, n), _BEYOND)
        expected = before + a * x
        stores = sum(count for opcode, count in result.counts.items() if opcode.startswith("st."))
        blocks_meet = any("blocks" in hazard.sentence for hazard in result.hazards)
        once = stores <= -(-n // 32)  # a warp stores for all of its threads in one instruction
        if same(y, expected) and not result.hazards and once:
            continue
        wrong = y != expected
        launch = f"with {blocks} blocks of {threads} threads, n = {n}"
        return {
            when(not wrong.any() and blocks_meet): "y is right, but only by luck: several blocks add to the "
            f"same elements, and on a GPU each might be added up to {blocks} times. Every element must "
            "belong to one thread of the whole grid.",
            when(not wrong.any() and result.hazards): "y is right, but only by luck: "
            f"{first_hazard(result)}.",
            when(not wrong.any()): f"y is right, but {stores} warps had to store one after the other, where "
            f"{-(-n // 32)} would do: some threads do the work of others. One element each is enough.",
            when(same(y, before)): f"No element of y has changed ({launch}).",
            when(not wrong[:threads].any() and same(y[threads:], before[threads:])): "Only the first "
            "elements are right, as many as a block has threads: every block does the same ones. Which "
            "built-in variable says which block this is?",
            when(same(y, a * x)): "y is replaced: the task is to *add* to it.",
            when(same(y, before + x)): "y has changed by x: where is the factor `a`?",
            when(wrong.sum() == 1 and bool(wrong[-1])): "Everything is right except the last element "
            f"({launch}): which one is the last, n or n - 1?",
            when(case > 0 and same(y, before + _AXPY[0][3] * x)): "y has changed by 3 * x in every launch, "
            "but `a` is an argument: the check also launches with others.",
            when(
                not wrong[:1000].any()
            ): f"The first 1000 elements are right, the others are not ({launch}): "
            "only n says how many there are.",
            when(case > 0): f"The first launch is right, but not the one {launch}: does your kernel assume "
            "blocks of 128 threads? It can ask for their size.",
            otherwise: f"{where(wrong, 'y')} ({launch}). Which elements does thread 1 of block 1 take?",
        }
    return {
        correct(True): "The number of a thread in the grid is `blockIdx.x * blockDim.x + threadIdx.x`. The "
        "last block has threads to spare, and the comparison with n keeps them away from memory that is not "
        "theirs."
    }


def _one(load_b: str = "load_b(b, B, 16);", start: str = "") -> str:
    return _ONE.replace("LOAD_B", load_b).replace("START", start)


@checks("02.2")
def _load_b(answer: object) -> Sentences:
    try:
        kernel = compiled(answer, "load_b", MMA + LOAD + STORE, _one("load_b(b, B);"))
    except WrongForm as error:
        if not re.search(r"\bB\s*\[[^][]*\]\s*\[", str(answer)):
            raise
        raise WrongForm(f"{error} B is one long array: element (k, n) is B[k * 8 + n].") from None
    B = np.arange(1, 129, dtype=np.float16).reshape(16, 8)  # no code is 0, as that of an empty half is
    D, bias = np.full((16, 8), np.nan, np.float32), np.zeros(8, np.float32)
    advice = {
        "not a multiple of": "Two rows are not adjacent in memory: load two 16-bit elements and join them.",
        "": "B has 16 rows of 8 elements: which row and column does each lane read?",
    }
    result = simulated(kernel, (1, 1), 32, (np.eye(16, dtype=np.float16), B, D, bias), advice)
    registers = result.operands(warp=0).b
    right = INS.b.pack(B)
    lower, upper = registers & 0xFFFF, registers >> 16
    if not same(registers, right):
        lane, register = (int(index) for index in np.argwhere(registers != right)[0])
        elements = " and ".join(_element(half[lane, register], B) for half in (lower, upper))
        return {
            **never_written(result),
            when(same(registers, right << 16 | right >> 16)): "The two halves of every register are "
            "swapped: the lower row belongs in bits 0 to 15.",
            when(same(registers[:, ::-1], right)): "Registers 0 and 1 are swapped.",
            when(same(registers, INS.b.pack(B.reshape(8, 16).T))): "You read B as if it were stored by "
            "columns. How many elements further on in memory is the next *row*?",
            when((lower == 0).all()): "The lower halves of all registers are 0: `<<` must apply to the "
            "second element only. Where do its brackets belong?",
            when((upper == 0).all()): "The upper halves of all registers are 0. A register holds two "
            "elements; shift the second one to its place.",
            when(same(registers[:, 0], right[:, 0]) and same(registers[:, 1], right[:, 0])): "Register 0 is "
            "right, and register 1 has the same elements. Where does the picture of B show the second "
            "register of a lane?",
            when(same(lower, right & 0xFFFF)): "The lower halves are right, the upper ones are not: "
            f"register {register} of lane {lane} holds {elements}. Its two elements are neighbours in a "
            "column.",
            otherwise: f"Register {register} of lane {lane} holds {elements}. What does the picture of B "
            "say about this lane?",
        }
    A, B = normal_numbers((16, 16), 1), normal_numbers((16, 8), 2)
    result = simulated(kernel, (1, 1), 32, (A, B, D, bias), advice)
    return {
        correct(same(D, INS(A, B)) and not result.hazards): "All 64 registers are as `mma` expects them. "
        "Each took two 16-bit loads, where B by columns takes one 32-bit load; `ldmatrix` with `.trans`, in "
        "lesson 04, does without them.",
        when(same(D, INS(A, B))): f"The registers are right, but {first_hazard(result)}.",
        otherwise: "B of 1, 2, 3, ... is right, random numbers are not: what does a negative number do to "
        "the other half of its register?",
    }


def _element(code: np.uint32, B: NDArray[np.float16]) -> str:
    """The element of B = 1, 2, 3, ... that has this code."""
    places = np.argwhere(B.view(np.uint16) == code)
    if not len(places):
        return f"{code:#06x} (not an element of B)"
    row, column = places[0]
    return f"B[{row}][{column}]"


_GARBAGE = 1000  # what the accumulators hold before `start`


@checks("02.3")
def _start(answer: object) -> Sentences:
    called = f"for (int r = 0; r < 4; r++) d[r] = {_GARBAGE}; start(d, bias);"
    kernel = compiled(answer, "start", MMA + LOAD + STORE, _one(start=called))
    bias = np.array([5, 2, 8, 3, 7, 1, 6, 4], np.float32)  # in no order that a formula could replace
    A, B, D = normal_numbers((16, 16), 3), normal_numbers((16, 8), 4), np.full((16, 8), np.nan, np.float32)
    by_columns = np.ascontiguousarray(B.T)
    advice = "There are 8 columns and 8 numbers: which of them does a lane need?"
    result = simulated(kernel, (1, 1), 32, (A, by_columns, D, bias), advice)
    registers = result.operands(warp=0).c
    C = INS.c.unpack(registers)
    right = np.broadcast_to(bias, (16, 8))
    wrong = right != C
    row, column = np.argwhere(wrong)[0] if wrong.any() else (0, 0)
    taken = np.flatnonzero(bias == C[row, column])
    (place,) = INS.c.where(int(row), int(column))
    start = f"D[{row}][{column}] starts with {C[row, column]:g}"
    whose = f"D[{row}][{column}] is d[{place.element}] of lane {place.lane}."
    swapped = (right[:, ::-1] == C).all() or (right.reshape(16, 4, 2)[:, :, ::-1].reshape(16, 8) == C).all()
    return {
        correct(not wrong.any() and same(D, INS(A, B, right)) and not result.hazards): "Column 2 * "
        "thread_in_group() and the next one, in both halves of D. The bias costs nothing: `mma` adds C "
        "anyway.",
        **never_written(result),
        when(
            not wrong.any() and result.hazards
        ): f"The accumulators start right, but {first_hazard(result)}.",
        when(
            not wrong.any()
        ): "The accumulators start right, but D is wrong: does `start` write anything else?",
        when((C == _GARBAGE).all()): "No accumulator has been written.",
        when(((C > _GARBAGE / 2) & (C != _GARBAGE)).any()): "You add to registers that no instruction has "
        "written; use =.",
        when((C == 0).all()): "All accumulators are 0: where is the bias?",
        when(same(C, np.broadcast_to(np.tile(bias, 2)[:, None], (16, 8)))): "Every *row* of D starts with "
        "its own number. Which of group() and thread_in_group() counts the columns?",
        when(same(registers, np.broadcast_to(bias[:4].view(np.uint32), (32, 4)))): "Every lane starts with "
        "bias[0] to bias[3]. But lanes hold different columns, and `d[2]` is not two columns right of "
        "`d[0]`.",
        when(not wrong[:8].any()): "Rows 0 to 7 are right, rows 8 to 15 are not: which columns do `d[2]` "
        "and `d[3]` belong to?",
        when(not wrong[:, ::2].any()): "The even columns are right, the odd ones are not: a lane holds two "
        "columns.",
        when(swapped): "All eight numbers are there, but columns are swapped.",
        when(taken.size > 0): f"{start}, which is bias[{taken[0] if taken.size else 0}]; it should start "
        f"with bias[{column}]. {whose}",
        otherwise: f"{start}, which is no number of the bias; it should start with bias[{column}], here "
        f"{bias[column]:g}. {whose}",
    }


_STACKED = ((1, 1, 16), (3, 2, 48))  # blocks along x and y, K
_BY_LANE = re.compile(r"threadIdx\.x\s*(%\s*32|\*)|\*\s*threadIdx\.x\s*/")  # a row for each lane
_ONE_ROW = "All 32 lanes of a warp need the same row; what is the warp's number?"


def _first_rows(result: Simulation, A: NDArray[np.float16]) -> list[list[int]]:
    """For each warp of block 0 and each lane: the first row of A that its first mma multiplies, or -1.

    Nothing if a warp has no mma.
    """
    windows = np.stack([INS.a.pack(A[row : row + 16, :16]) for row in range(len(A) - 15)])
    rows = []
    for warp in range(4):
        try:
            registers = result.operands(warp=warp).a
        except PtxlabError:
            return []
        matches = (windows == registers).all(axis=2)
        rows.append(np.where(matches.any(axis=0), matches.argmax(axis=0), -1).tolist())
    return rows


def _disagreement(kind: str, rows: Sequence[int]) -> str:
    """Where lane or warp 0 and the first that differs from it load A from; "" if none differs.

    >>> _disagreement("lane", [0, 0, 16])
    'lane 0 loads A from row 0 on, lane 2 from row 16'
    """
    other = next((number for number, row in enumerate(rows) if row != rows[0]), None)
    if other is None:
        return ""
    return f"{kind} 0 loads A from row {rows[0]} on, {kind} {other} from row {rows[other]}"


@checks("02.4")
def _stacked(answer: object) -> Sentences:
    kernel = compiled(answer, "stacked", MMA + LOAD + STORE)
    by_lane = bool(_BY_LANE.search(str(answer)))
    advice = {
        "argument 2": "That is past the end of B: how many columns does a block have, and how many elements "
        "a column?",
        "": _ONE_ROW if by_lane else "Which rows and columns does the last warp of the last block have?",
    }
    for case, (x, y, K) in enumerate(_STACKED):
        A, B = normal_numbers((64 * y, K), case), normal_numbers((K, 8 * x), case + 5)
        D = np.full((64 * y, 8 * x), np.nan, np.float32)
        result = simulated(kernel, (x, y), 128, (A, np.ascontiguousarray(B.T), D, 8 * x, K), advice)
        expected = matmul(A, B, instruction=INS)
        products, needed = result.counts[INS.mnemonic], 4 * x * y * K // 16
        if same(D, expected) and not result.hazards and products == needed:
            continue
        wrong, missing = expected != D, np.isnan(D)
        launch = f"D of {64 * y} x {8 * x}, K = {K}"
        rows = _first_rows(result, A) if products else []
        starts = [lanes[0] for lanes in rows]
        differ = _disagreement("lane", rows[1]) if rows and -1 not in rows[1] else ""
        too_close = -1 not in starts and any(0 < abs(one - other) < 16 for one, other in pairwise(starts))
        overlap = _disagreement("warp", starts) if too_close else ""
        first, last = (matmul(A[:, part], B[part], instruction=INS) for part in (slice(16), slice(-16, None)))
        return {
            **never_written(result),
            when(not wrong.any() and result.hazards): f"D is right, but {first_hazard(result)}.",
            when(not wrong.any()): f"D is right, but it took {counted(products, 'mma')} where {needed} "
            "would do: do warps also compute tiles of others?",
            when(missing.all()): f"Nothing was stored, or it was added to what D had ({launch}).",
            when(
                products > 0 and not rows
            ): "Some of the four warps of block 0 execute no `mma`: each of them computes 16 rows.",
            when(differ): f"The lanes of warp 1 disagree about the row: {differ}. {_ONE_ROW}",
            when(starts == [0] * 4): "Only rows 0 to 15 of every 64 are computed: all four warps load the "
            "same ones. Which of them a thread belongs to follows from threadIdx.x.",
            when(starts == [0, 16, 32, 48] and missing[16:64].all()): "The warps load different rows of A, "
            "but all store to the same 16 rows of D: does `store_d` start at the row and the column of the "
            "warp?",
            when(overlap): f"Warps overlap: {overlap}. Each computes 16 rows, and a row of A has K elements.",
            when(
                bool(missing[64:].any()) and not missing[:64].any()
            ): "All rows after row 63 are missing: what counts blocks along y?",
            when(bool(missing[:, 8:].any()) and not missing[:, :8].any()): "Only the first 8 columns are "
            "stored: what counts blocks along x?",
            when(same(D, first)): f"Only the first 16 along K are in the sum ({launch}).",
            when(same(D, last)): f"Only the last 16 along K are in the sum ({launch}): do the accumulators "
            "start at 0 again in every step?",
            when(np.allclose(D, expected, atol=1e-2)): "D is right except for the rounding: `mma` must take "
            "the steps along K in order, with the D of one as the C of the next.",
            when(by_lane): _ONE_ROW,
            otherwise: f"{where(wrong)} ({launch}). A row of A begins every K elements, a column of B begins "
            "every K elements, a row of D every N: is each offset multiplied by the right one?",
        }
    return {
        correct(True): "Four warps, four tiles, no communication: the warps of a block are independent "
        "until they share memory. Every bit matches `ptxlab.matmul`, because the steps along K are the same."
    }
