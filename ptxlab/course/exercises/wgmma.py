"""Lesson 05: wgmma, its warpgroup, its operands, and when to wait."""

from __future__ import annotations

import numpy as np

from ...instruction import mma_instruction
from ...isa.catalog import mma_forms
from ...views import Picture
from ...views.charts import bars, table
from ..answers import first_wrong, function_table, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when

INS = mma_instruction("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16")
LANE = drawn("05.1", "thread {} hold", 77, 90, 45, 110, 53, 70)
A_TYPES = ("tf32", "bf16", "e5m2", "b1")
#: A program, line by line: two products, each in its own group, then a wait for all groups but the most
#: recent one, and a wait for all groups.
_PROGRAM = ("fence", "mma_async", "commit_group", "mma_async", "commit_group", "wait_group 1", "wait_group 0")


# -- what the lesson shows -----------------------------------------------------------------------------------


def registers_of_d() -> Picture:
    """How many registers D takes in each thread, by N.

    >>> [cell.text for cell in registers_of_d().grids[0].cells if cell.lines][-2:]
    ['128', '64']
    """
    counts = {
        f"N = {n}": {
            kind: mma_instruction(f"wgmma.mma_async.sync.aligned.m64n{n}k16.{kind}.f16.f16").d.registers
            for kind in ("f32", "f16")
        }
        for n in (8, 16, 64, 128, 256)
    }
    return bars(counts, "Registers of D in every thread", ("by the type of D",))


def types() -> Picture:
    """K and the types of D for every type of A.

    >>> types().grids[0].at(0, 0).text
    'k16'
    """
    forms: dict[str, tuple[int, set[str]]] = {}
    for form in mma_forms("wgmma"):
        forms.setdefault(form.a_type, (form.k, set()))[1].add(form.d_type)
    texts = {
        kind: [f"k{k}", " or ".join(sorted(results, reverse=True))] for kind, (k, results) in forms.items()
    }
    title = "What wgmma multiplies: m64nNkK"
    return table(texts, ["K", "D"], title, ("each row of A has 32 bytes, and A takes 4 registers",))


_SYNCHRONISING = ("fence", "wgmma.", "__syncthreads", "b_tile + at", "D[(i")


def kernel_lines() -> str:
    """The lines of the lesson's kernel that have to stay in order.

    >>> kernel_lines().splitlines()[2]
    '__syncthreads();'
    """
    loop = INS.kernel.split("count; i +=")[1].splitlines()[2:]
    lines = [line for line in loop if any(word in line for word in _SYNCHRONISING)]
    return "\n".join(_without_quotes(line.strip()) for line in lines)


def _without_quotes(line: str) -> str:
    """A line of PTX as the assembler reads it, without its operands; a line of C++ as it is."""
    if not line.startswith('"'):
        return line
    mnemonic, operands, _ = line.strip('"').removesuffix("\\n").partition(" {")
    return f"{mnemonic} ..." if operands else mnemonic


# -- exercises ---------------------------------------------------------------------------------------------


@checks("05.1")
def _rows_of_lane(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(upper, lower)`, two row numbers")
    upper, lower = sorted({row for _, row, _ in INS.d.holds(LANE)})
    inside = LANE % 32 // 4
    return {
        correct(sorted(submitted) == [upper, lower]): f"Thread {LANE} is lane {LANE % 32} of warp "
        f"{LANE // 32}, which begins at row {LANE // 32 * 16}; its groupID is {inside}, and the other row "
        "is eight lower.",
        when(sorted(submitted) == [inside, inside + 8]): "That is right inside a warp. But which of the "
        "four warps is this thread in, and at which row does that warp begin?",
        when(sorted(submitted) == [LANE // 4, LANE // 4 + 8]): "You divided the thread number by four across "
        "all warps. But a warp has 16 rows and only eight groups of four lanes.",
        when(upper in submitted and submitted[0] != submitted[1] and upper + 1 in submitted): "The upper "
        "row is right. The other one is not the next row: the pattern of mma repeats further down.",
        when(upper in submitted): "The upper row is right. In mma, how far below is a lane's second row?",
        when(lower in submitted): "The lower row is right. How far above it is the other one?",
        when(LANE // 32 * 16 + LANE % 32 in submitted): "The warp is right. But inside it you used the lane "
        "as the row: four lanes share a row.",
        when(any(row > 63 for row in submitted)): "D has 64 rows; which of the four warps has this thread?",
        otherwise: "First find the warp (thread // 32) and its 16 rows, then the groupID inside that "
        "warp, then the row eight below.",
    }


@checks("05.2")
def lane_of(answer: object) -> Sentences:
    table = function_table(answer, INS.m, INS.n, form="`thread(row, col)` returns a thread from 0 to 127")
    expected = np.array([[INS.d.where(r, c)[0].lane for c in range(INS.n)] for r in range(INS.m)])
    first = first_wrong(table, expected, "D[{}][{}]")
    return {
        correct(not first): "There are 32 threads for every 16 rows, four for each row, and one for "
        "every two columns; after eight rows or eight columns the pattern repeats.",
        when(not (table != expected % 32).any()): "That is right inside each warp. The threads of a "
        "warpgroup are numbered through: 32 to 63 belong to the second warp.",
        when(not (table[:16] != expected[:16]).any()): f"Right for the first warp. Look at {first}: which "
        "warp has that row?",
        when(not (table[:8] != expected[:8]).any()): f"Right for the first eight rows. Look at {first}: "
        "eight rows lower, the same threads appear again.",
        when(not (table[:8, :8] != expected[:8, :8]).any()): "Right for the first eight columns. Look at "
        f"{first}: eight columns further, the same threads appear again.",
        when(table[0, :4].tolist() == [0, 1, 2, 3]): f"Look at {first}: a thread holds two adjacent columns.",
        otherwise: f"Look at {first}. Inside 16 rows and 8 columns it is the accumulator of `mma.m16n8`: "
        "groupID is the row modulo 8, and each thread has two columns.",
    }


@checks("05.3")
def depth(answer: object) -> Sentences:
    submitted = whole_numbers(answer, len(A_TYPES), f"`({', '.join(A_TYPES)})`")
    rows = {name: next(row for row in mma_forms("wgmma") if row.a_type == name) for name in A_TYPES}
    expected = tuple(row.k for row in rows.values())
    sizes = {name: row.a.dtype.bits for name, row in rows.items()}
    return {
        correct(submitted == expected): "Each row has 32 bytes, whatever the type: half the bits per "
        "element, twice the K.",
        when(submitted == expected[::-1]): "It is the other way round: the wider the element, the fewer fit "
        "into 32 bytes.",
        when(submitted == tuple(k * 2 for k in expected)): "The *sparse* form has twice the K, because it "
        "stores only half of A.",
        when(submitted[:-1] == expected[:-1]): "All but b1 are right: how many single bits are in 32 bytes?",
        when(submitted == tuple(k // 2 for k in expected)): "That is 16 bytes, half a row.",
        when(submitted[1:] == expected[1:]): "All but tf32 are right: it uses only 19 bits, but takes 32 in "
        "memory and in registers.",
        when(submitted == tuple(32 // b for b in sizes.values())): "You divided 32 *bits*. A row of A has "
        "32 bytes.",
        otherwise: "Divide the 32 bytes of a row by the size of an element. How many bits are in 32 bytes?",
    }


@checks("05.4")
def _waited(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "two line numbers")
    expected = _PROGRAM.index("wait_group 1"), _PROGRAM.index("wait_group 0")
    issued = tuple(number for number, line in enumerate(_PROGRAM) if line == "mma_async")
    return {
        correct(submitted == expected): "`wait_group 1` allows the most recent group to be pending and "
        "waits for all older ones; `wait_group 0` waits for every group.",
        when(submitted == expected[::-1]): "It is the other way round: groups are waited for in the order "
        "in which they were committed, the oldest first.",
        when(submitted == issued): "That is when the work is *issued*. The instruction is asynchronous: it "
        "returns immediately.",
        when(submitted == tuple(n + 1 for n in issued)): "`commit_group` closes a group; it does not wait "
        "for it.",
        when(submitted == (expected[1], expected[1])): "Safe, but for one of them that is not the earliest: "
        "how many groups may be pending after `wait_group 1`?",
        when(submitted == (expected[0], expected[0])): "After `wait_group 1` one group may still be "
        "pending. Which?",
        when(any(not 0 <= line < len(_PROGRAM) for line in submitted)): "The lines are numbered 0 to "
        f"{len(_PROGRAM) - 1}.",
        otherwise: "Only a `wait_group` waits. Starting a product or committing a group returns immediately.",
    }
