"""Exercises of lesson 05: sparse mma.m16n8k64 with s4 and u4."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ..instruction import mma_instruction
from ..isa.sparsity import STRUCTURES
from .core import Unreadable, call, exercise, judge, whole, whole_set

INS = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
PAIRS = STRUCTURES["4:8"]
CHUNK = (0, 0, 3, 1, 0, 0, -2, 5)
STORED, NIBBLE = 13, 0b1110
META_ROW, META_CHUNK = 11, 6


def _binary_digits(number: int) -> bool:
    """Whether four bits were typed without their `0b`."""
    return 15 < number < 10000 and set(str(number)) <= {"0", "1"}


@exercise(
    "05.1",
    f"A chunk of eight is `{list(CHUNK)}`. **Which nibble describes it?** (Write it in binary if you like: `0b....`)",
    "nibble = ...",
)
def one_nibble(answer: Any) -> tuple[bool, str]:
    (found,) = whole(answer, 1, "a number from 0 to 15")
    expected = int(PAIRS.compress([CHUNK])[1][0, 0])
    first, second = PAIRS.nibbles[expected]
    mask = sum(1 << pair for pair in (first, second))
    return judge(
        found == expected,
        f"Pairs {first} and {second} are kept; the first index goes into the low two bits, the second into the high two.",
        (
            found == first << 2 | second,
            "Both indices are right, but the first index belongs into the *low* two bits: low bits first, as everywhere.",
        ),
        (
            found == mask or found == int(f"{mask:04b}"[::-1], 2),
            "That marks the kept pairs with one bit each. A nibble holds two *indices* of two bits.",
        ),
        (
            _binary_digits(found),
            "Python reads that as a decimal number. Begin it with `0b`: then the digits are bits.",
        ),
        (found > 15, "A nibble has four bits: 0 to 15. Count pairs (0 to 3), not elements (0 to 7)."),
        (
            found in (0, 5, 10, 15),
            "Both indices of that nibble are equal: that keeps one pair twice, and the ISA calls it undefined.",
        ),
        (
            found in PAIRS.nibbles,
            "A legal nibble, but it keeps other pairs. Number the four pairs 0 to 3 from the left: which two are not all zero?",
        ),
        otherwise="Cut the chunk into four pairs, number them 0 to 3, and write the numbers of the two kept pairs as two bits each.",
    )


@exercise(
    "05.2",
    f"Of another A: **stored column {STORED}** of some row belongs to a chunk whose nibble is `0b{NIBBLE:04b}`. "
    "**Which column of the full A did it come from?**",
    "column = ...",
)
def logical_column(answer: Any) -> tuple[bool, str]:
    (found,) = whole(answer, 1, "a column from 0 to 63")
    kept = PAIRS.keep * PAIRS.group
    chunk = STORED // kept
    columns = PAIRS.positions(np.full((1, 8), NIBBLE))[0]
    expected = int(columns[STORED])
    return judge(
        found == expected,
        f"Stored columns {chunk * kept} to {chunk * kept + kept - 1} are chunk {chunk}, columns {chunk * 8} to "
        f"{chunk * 8 + 7} of A; the nibble keeps its pairs 2 and 3.",
        (
            found == STORED,
            "That is the stored column. The stored half is half as wide, so the full A must be found through the nibble.",
        ),
        (
            found == 2 * STORED,
            "Twice the stored column is in the right chunk, but the nibble decides where in the chunk it was.",
        ),
        (
            found == int(columns[STORED + 2]),
            "That is the second pair of the nibble. This stored column is in the first pair, and the first index is in the low bits.",
        ),
        (
            found in (chunk * 8 + NIBBLE % 4, chunk * 8 + NIBBLE % 4 + STORED % 2),
            "The chunk is right. But you counted columns with the index: an index counts *pairs*, and a pair has two columns.",
        ),
        (
            found == expected - STORED % 2,
            "The pair is right. A pair has two columns: is this stored column the first of them or the second?",
        ),
        (
            found // 8 == chunk,
            "The chunk is right. Four stored columns belong to it: two for the first index, two for the second.",
        ),
        otherwise="Four stored columns make a chunk of eight. Which chunk is it, and is it the first or the second pair that was kept?",
    )


@exercise(
    "05.3",
    "With **selector 1**, the metadata of some lanes is never looked at. **Which of lanes 0 to 7 are read?**",
    "lanes = ...  # a list of lane numbers below 8",
)
def address_lanes(answer: Any) -> tuple[bool, str]:
    found = whole_set(answer, "a list of lane numbers")
    expected = frozenset(INS.operand("E").where(row, 0)[1].lane for row in range(INS.m)) & frozenset(range(8))
    return judge(
        found == expected,
        "In every four lanes the upper two speak. The lower two may hold anything at all.",
        (found == frozenset(range(8)) - expected, "Those are read with selector 0."),
        (
            found in ({lane for lane in expected if lane % 2 == 0}, {lane for lane in expected if lane % 2}),
            "Those are read, but there are more. One lane holds one row, and four lanes share *two* rows: two of every four must speak.",
        ),
        (
            found < expected and bool(found),
            "Those are read, but not they alone: every group of four lanes has its own rows and its own address_lanes.",
        ),
        (
            found == frozenset(range(4, 8)),
            "The selector does not choose a group of four, it chooses a pair within every group of four.",
        ),
        (
            found == frozenset(range(1, 8, 2)),
            "Not the odd ones: the selector picks two neighbouring lanes of every four.",
        ),
        (any(lane > 7 for lane in found), "Only lanes 0 to 7 are asked for."),
        otherwise="In every group of four lanes the selector chooses a pair: 0 the threads T0 and T1, 1 the threads T2 and T3.",
    )


@exercise(
    "05.4",
    f"**Which lane's metadata register holds the nibble of row {META_ROW}, chunk {META_CHUNK} (columns 48 to 55), and in which bits**, "
    "when the sparsity selector is **1**?",
    "place = ...  # (lane, lowest bit, highest bit)",
)
def nibble_place(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 3, "`(lane, lowest bit, highest bit)`")
    other, right = INS.operand("E").where(META_ROW, META_CHUNK)
    above = INS.operand("E").where(META_ROW - 8, META_CHUNK)[1]
    expected = (right.lane, right.low, right.high)
    return judge(
        found == expected,
        f"groupID is {META_ROW % 8}; selector 1 lets T2 and T3 of its four lanes speak, the second of them for row groupID + 8. "
        f"Its register holds the eight nibbles of that row, and chunk {META_CHUNK} has {META_CHUNK} before it.",
        (
            found == (right.lane, right.high, right.low),
            "Lane and bits are right; write the lowest bit before the highest.",
        ),
        (
            found == (other.lane, right.low, right.high),
            "The bits are right, but that lane speaks when the selector is 0.",
        ),
        (
            found == (above.lane, above.low, above.high),
            "Everything fits, but for the row eight higher: the two lanes of the pair share the two rows.",
        ),
        (
            found == (right.lane, 31 - right.high, 31 - right.low),
            "The lane is right. You counted from the top; chunk 0 is in the lowest bits.",
        ),
        (
            found[0] == right.lane,
            "The lane is right. Its register holds the eight nibbles of one row, chunk 0 in the lowest bits, four bits each.",
        ),
        (found[0] > 31, "There are 32 lanes; rows 8 to 15 share those of rows 0 to 7."),
        (
            found[1:] == expected[1:],
            "The bits are right. Which pair of lanes does the selector choose, and which of the two has row groupID + 8?",
        ),
        otherwise="groupID = row % 8 gives four lanes, the selector two of them, and the row (groupID or groupID + 8) one of those two.",
    )


@exercise(
    "05.5",
    "**Write the encoder:** `metadata(row)` gets a row of A, 64 numbers, in which at most two pairs of each chunk are not all zero. It gives "
    "the register E that describes this row: eight nibbles in 32 bits. A pair such as `(0, 5)` is kept whole. Where a chunk needs fewer than two "
    "pairs, keep any other with it. (Begin with a function for one chunk, and call it eight times.)",
    "def metadata(row):\n    return ...",
)
def encode(answer: Any) -> tuple[bool, str]:
    form = "`metadata(row)` gives a number of 32 bits"
    for kept, pattern in _ROWS:
        row = np.zeros((len(kept), 4, 2), dtype=np.int64)
        for chunk, pairs in enumerate(kept):
            row[chunk, list(pairs)] = pattern
        try:
            found = call(answer, row.ravel(), form=form)
        except Unreadable as said:
            fewer = any(len(pairs) < 2 for pairs in kept)
            raise Unreadable(
                f"{said} Here are chunks that need fewer than two pairs." if fewer else str(said)
            ) from None
        found += 2**32 * (-(2**31) <= found < 0)  # the same bits, read as a signed number
        nibbles = [found >> 4 * chunk & 15 for chunk in range(len(kept))]
        good = [_keeps(nibble, pairs) for nibble, pairs in zip(nibbles, kept, strict=True)]
        if found < 2**32 and all(good):
            continue
        chunk = good.index(False) if False in good else 0
        nibble, shown = nibbles[chunk], row[chunk].ravel().tolist()
        return judge(
            False,
            "",
            (
                not 0 <= found < 2**32,
                f"That gave {found:,}, which does not fit into 32 bits. Eight nibbles of four bits: are you counting elements, not pairs?",
            ),
            (
                all(map(_keeps, reversed(nibbles), kept)),
                "The nibbles are right, but their order is turned round: chunk 0 belongs in the lowest four bits.",
            ),
            (
                good[0] and not any(nibbles[1:]),
                "The nibble of chunk 0 is right, and nothing else is there. Each chunk has its own four bits, above those of the chunk before it.",
            ),
            (
                nibble in (0, 5, 10, 15),
                f"Chunk {chunk} is `{shown}` and got 0b{nibble:04b}, with two equal indices. Two different pairs must be named, even if they are all zero.",
            ),
            (
                nibble in PAIRS.unordered and nibble not in PAIRS.nibbles,
                f"Chunk {chunk} is `{shown}`, and the indices of 0b{nibble:04b} descend. The smaller index goes into the low bits (ordered metadata).",
            ),
            (
                0 in pattern,
                f"Chunk {chunk} is `{shown}`, and 0b{nibble:04b} drops a pair with one zero in it: a pair is dropped only when both are zero.",
            ),
            otherwise=f"Chunk {chunk} is `{shown}`, and 0b{nibble:04b} does not keep all that is not zero.",
        )
    return (
        True,
        "Every row is kept. Where a pair was free you may have chosen another one than `ins.compress` does: both expand to the same A.",
    )


_TWO = tuple(combinations(range(4), 2))
_FEWER: tuple[tuple[int, ...], ...] = (*((pair,) for pair in range(4)), ())
#: Rows that try the encoder: the pairs that each of eight chunks must keep, and what stands in those pairs.
_ROWS = [
    *(((*_TWO[2:], *_TWO[:4]), pattern) for pattern in ((3, 1), (0, 5), (-2, 0))),
    *((tuple(_FEWER[(at + step) % len(_FEWER)] for at in range(8)), (3, 1)) for step in range(3)),
    (((),) * 8, (3, 1)),
]


def _keeps(nibble: int, pairs: tuple[int, ...]) -> bool:
    """Whether a nibble is legal and names all these pairs."""
    return nibble in PAIRS.nibbles and set(pairs) <= set(PAIRS.nibbles[nibble])
