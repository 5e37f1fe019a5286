"""Exercises of lesson 10: sparse wgmma.mma_async.m64nNk64."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..instruction import mma_instruction
from ..isa.catalog import mma_forms
from ..isa.sparsity import STRUCTURES
from ..memory import Tile
from .core import exercise, function_table, judge, whole, whole_set

INS = mma_instruction("wgmma.mma_async.sp.sync.aligned.m64n16k64.f32.e4m3.e4m3")
QUADS = STRUCTURES["2:4"]
D_ROW, D_COL = 37, 9
A_ROW, A_COL, NIBBLE = 37, 42, 0b1110
E_ROW, E_CHUNK = 45, 10
B_ROW, B_COL = 20, 11
N_ASKED = (8, 24, 40, 48, 56, 256)
SPARE = 100


@exercise(
    "10.1",
    f"**Which of N = {', '.join(map(str, N_ASKED[:-1]))} and {N_ASKED[-1]} are legal for s8?**",
    "legal = ...  # a list",
)
def legal_n(answer: Any) -> tuple[bool, str]:
    found = whole_set(answer, "a list of numbers")
    rows = mma_forms("wgmma.sp")
    legal = {
        kind: frozenset(n for n in N_ASKED if any(r.n == n and r.a_type == kind for r in rows))
        for kind in ("s8", "e4m3")
    }
    return judge(
        found == legal["s8"],
        "Integers take 8, 16, 24, 32 and then multiples of 16; FP8 takes every multiple of 8.",
        (
            found == legal["e4m3"],
            "All of them are legal for FP8. The integer forms have fewer: ask `ptxlab.catalog`.",
        ),
        (
            found == frozenset(n for n in N_ASKED if n % 16 == 0),
            "Multiples of 16 are legal, but among the small N there is one more kind.",
        ),
        (not found <= frozenset(N_ASKED), "Choose from the numbers of the task."),
        (bool(found) and found < legal["s8"], "Those are legal, but there are more."),
        otherwise="Look at `{i.n for i in ptxlab.catalog('wgmma.sp') if i.a_type == 's8'}`.",
    )


@exercise(
    "10.2",
    f"**Which of the 128 lanes holds `D[{D_ROW}][{D_COL}]` of m64n16k64 with f32, and as which element?**",
    "place = ...  # (lane, element)",
)
def where_d(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(lane, element)`")
    right = INS.d.where(D_ROW, D_COL)[0]
    warp = D_ROW // 16
    return judge(
        found == (right.lane, right.element),
        f"Warp {warp} has rows {warp * 16} to {warp * 16 + 15}; inside it the row is {D_ROW % 16}, and columns 8 to 15 come after all elements of columns 0 to 7.",
        (
            found == (right.lane % 32, right.element),
            "That is the lane inside its warp. In the warpgroup lanes count from 0 to 127: which warp has this row?",
        ),
        (found == (right.lane, right.element + 2), "The lane is right. Your element lies eight rows lower."),
        (
            found == (right.lane, right.element - 4),
            "The lane is right. Your element lies eight columns to the left.",
        ),
        (
            found[0] == right.lane,
            "The lane is right. Four elements cover 16 rows and 8 columns, as in mma; the next four lie 8 columns further right.",
        ),
        (
            found[0] // 32 != warp,
            "Another warp: warp 0 has rows 0 to 15, warp 1 rows 16 to 31, and so on; warp w has lanes 32 w to 32 w + 31.",
        ),
        (
            found[0] // 4 == right.lane // 4,
            "The warp and the group of four are right. Columns go two to a lane, and begin again after eight.",
        ),
        otherwise="Find the warp (row // 16), then proceed as for the accumulator of an m16n8 mma with row % 16.",
    )


@exercise(
    "10.3",
    f"A kernel can spare {SPARE} registers of every lane for D, with elements of 32 bits. **What is the largest N it can take for `e4m3`, and for `s8`?**",
    "largest = ...  # (N for e4m3, N for s8)",
)
def largest_n(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(N for e4m3, N for s8)`")
    rows = [row for row in mma_forms("wgmma.sp") if row.k == INS.k and row.d.dtype.bits == 32]
    legal = {kind: {row.n for row in rows if row.a_type == kind} for kind in ("e4m3", "s8")}
    fit = {
        kind: max(row.n for row in rows if row.a_type == kind and row.d.registers <= SPARE) for kind in legal
    }
    expected = fit["e4m3"], fit["s8"]
    return judge(
        found == expected,
        f"64 x N elements over 128 lanes are N/2 registers: N may be {2 * SPARE}. FP8 takes every multiple of 8, the integers beyond 32 only multiples of 16.",
        (found == expected[::-1], "The other way round: which of the two types is the choosy one?"),
        (
            found == (expected[0], expected[0]),
            "Right for `e4m3`. The integers do not take every multiple of 8.",
        ),
        (
            found[0] > expected[0] and found[0] in legal["e4m3"],
            f"With that N, D takes {found[0] // 2} registers of every lane.",
        ),
        (found[0] not in legal["e4m3"], "Not every number is an N: FP8 takes multiples of 8, up to 256."),
        (
            found[0] < expected[0],
            "For `e4m3` N may be larger. D has 64 x N elements, and 128 lanes share them: how many are in one lane?",
        ),
        (
            found[1] not in legal["s8"],
            "Right for `e4m3`. But `s8` does not take that N: look at exercise 10.1.",
        ),
        otherwise="Right for `e4m3`. Which N of `s8` are near it? Look at exercise 10.1.",
    )


@exercise(
    "10.4",
    f"`A[{A_ROW}][{A_COL}]` is not zero, and the nibble of its chunk is `0b{NIBBLE:04b}`. **In which stored column is it kept, and by which of the 128 lanes?**",
    "place = ...  # (stored column, lane)",
)
def where_a(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(stored column, lane)`")
    columns = QUADS.positions(np.full((1, INS.k // 4), NIBBLE))[0]
    stored = int(np.flatnonzero(columns == A_COL)[0])
    right = INS.a.where(A_ROW, stored)[0]
    other = INS.a.where(A_ROW, A_COL // 2)[0]
    return judge(
        found == (stored, right.lane),
        f"Chunk {A_COL // 4} keeps its elements 2 and 3, and this is the first of them; a lane stores four neighbouring columns.",
        (
            found[0] == A_COL // 2,
            "Half the column is a fair guess, but the nibble decides: is it the first or the second one kept of its chunk?",
        ),
        (found[0] == A_COL, "That is the column of the full A. Only half of the columns are stored."),
        (
            found[0] == stored and found[1] == right.lane % 32,
            "The stored column is right. The lane is right inside its warp: which warp has this row?",
        ),
        (
            found[0] == stored and found[1] // 4 == right.lane // 4,
            "The stored column is right, and so is the group of four. Four stored columns to a lane, and after 16 it begins again.",
        ),
        (
            found[0] == stored,
            "The stored column is right. Which warp has this row, and which of its lanes this column?",
        ),
        (
            found[1] in (right.lane, other.lane),
            "The lane is right. The chunk has two stored columns; which of them does the nibble give to this element?",
        ),
        otherwise="A chunk is four columns wide and keeps two. Find the chunk, then its two stored columns, then ask the nibble which one it is.",
    )


@exercise(
    "10.5",
    f"**Which lane's metadata register holds the nibble of row {E_ROW}, chunk {E_CHUNK}, and in which bits?**",
    "place = ...  # (lane, lowest bit, highest bit)",
)
def nibble_place(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 3, "`(lane, lowest bit, highest bit)`")
    metadata = INS.operand("E")
    right, above, left = (
        metadata.where(row, chunk)[0]
        for row, chunk in ((E_ROW, E_CHUNK), (E_ROW - 8, E_CHUNK), (E_ROW, E_CHUNK - 8))
    )
    expected = (right.lane, right.low, right.high)
    return judge(
        found == expected,
        f"Warp {E_ROW // 16}; inside it row {E_ROW % 16} is groupID {E_ROW % 8} plus 8: an odd lane; chunks 8 to 15: the upper pair of the four.",
        (
            found == (right.lane % 32, right.low, right.high),
            "That is the lane inside its warp: add the lanes of the warps before it.",
        ),
        (
            found == (above.lane, above.low, above.high),
            "Everything fits, but for the row eight higher: neighbouring lanes share the two rows.",
        ),
        (
            found == (left.lane, left.low, left.high),
            "Everything fits, but for the chunk eight to the left: the lower pair of lanes has columns 0 to 31, the upper pair the rest.",
        ),
        (
            found[0] == right.lane,
            "The lane is right. Its register holds eight nibbles of one row, its own first chunk in the lowest bits.",
        ),
        (
            found[1:] == expected[1:],
            "The bits are right. Warp from the row, group of four from row % 8, then the row half and the column half.",
        ),
        otherwise="Find the warp that has the row, then the four lanes of its groupID: they share two rows and two halves of the columns.",
    )


@exercise(
    "10.6",
    "**Write the function** that finds the lane whose metadata register describes that chunk of that row, for any of the 64 rows and 16 chunks.",
    "def speaker(row, chunk):\n    return ...",
)
def speaker(answer: Any) -> tuple[bool, str]:
    table = function_table(
        answer, INS.m, INS.k // QUADS.chunk, form="`speaker(row, chunk)` gives a lane from 0 to 127"
    )
    metadata = INS.operand("E")
    expected = np.array([metadata.where(*at)[0].lane for at in np.ndindex(*table.shape)]).reshape(table.shape)
    row, chunk = np.indices(table.shape)
    group, lower, right = row // 16 * 32 + row % 8 * 4, row % 16 // 8, chunk // 8
    wrong = np.argwhere(table != expected)
    first = "row {}, chunk {}".format(*wrong[0]) if len(wrong) else ""
    return judge(
        not len(wrong),
        "The warp gives 32 lanes, the row modulo 8 four of them; bit 0 of the lane says which of the two rows, bit 1 which half of the row.",
        (
            not (table != expected % 32).any(),
            "Right inside each warp. The lanes of the warpgroup count on from warp to warp.",
        ),
        (
            not (table != group + 2 * lower + right).any(),
            "The two bits have changed places: the first and second lane of a group have the two *rows*, the third and fourth the other half of them.",
        ),
        (
            not (table != group + lower).any(),
            f"Look at {first}: the right half of a row, from chunk 8 on, is with the other two lanes of the four.",
        ),
        (not (table != group + 2 * right).any(), f"Look at {first}: row groupID + 8 is with the odd lanes."),
        (
            not (table // 4 != expected // 4).any(),
            f"The group of four is always right. Look at {first}: which of the two rows, and which half of it?",
        ),
        (
            not (table[:16] != expected[:16]).any(),
            f"Right for the first warp. Look at {first}: count rows and lanes from the beginning of the warp.",
        ),
        (not (table[:8] != expected[:8]).any(), f"Right for the first eight rows. Look at {first}."),
        otherwise=f"Look at {first}. First the warp (row // 16), then groupID (row modulo 8), then two bits: lower row or not, right half or not.",
    )


@exercise(
    "10.7",
    f"B lies in shared memory without swizzle, K-major: core matrices of 8 columns (n) by 16 bytes (k), one after the other along k, then along n. **At which byte offset is the byte of `B[{B_ROW}][{B_COL}]`** (k = {B_ROW}, n = {B_COL})?",
    "offset = ...",
)
def shared_b(answer: Any) -> tuple[bool, str]:
    (found,) = whole(answer, 1, "a byte offset")
    tile = Tile.of(INS.b)
    expected = int(tile.offset(B_COL, B_ROW))
    return judge(
        found == expected,
        f"{tile.stride} bytes to the second group of eight columns, {tile.leading} to the second core matrix along k, then 16 bytes for each column inside it, then the byte.",
        (
            found == B_ROW * INS.n + B_COL,
            "That is row-major, as NumPy keeps it. wgmma wants core matrices of 128 bytes.",
        ),
        (
            found == B_COL * INS.k + B_ROW,
            "That is K-major, but in one piece: here a column is cut into pieces of 16 bytes, and eight columns' pieces lie together.",
        ),
        (
            found == int(tile.offset(B_COL % 8, B_ROW)),
            "Right inside the first eight columns; this one is in the second eight.",
        ),
        (
            found == expected - tile.leading,
            "The place inside the core matrix is right; along k it is in the second one.",
        ),
        (found == B_ROW % 8 * 16 + B_ROW // 8 * tile.stride + B_COL, "You exchanged k and n."),
        (
            found % 128 == expected % 128,
            "The place inside the core matrix is right. How many core matrices come before it?",
        ),
        (found // 128 == expected // 128, "The core matrix is right. Inside it, each column has 16 bytes."),
        otherwise="Which core matrix is it (n // 8, k // 16), and where inside it (n % 8, k % 16)? A core matrix takes 128 bytes, and k has four of them.",
    )
