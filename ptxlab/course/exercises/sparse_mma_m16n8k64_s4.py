"""Lesson 16: sparse mma.m16n8k64 with s4 and u4."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ...instruction import mma_instruction
from ...isa.sparsity import STRUCTURES
from ..answers import WrongForm, whole_number_set, whole_numbers, whole_result_of
from ..checking import Sentences, binary_hint, checks, correct, drawn, otherwise, place_hints, when

INS = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
PAIRS = STRUCTURES["4:8"]
CHUNK = drawn(
    "16.1",
    "[{}, {}, {}, {}, {}, {}, {}, {}]",
    (0, 0, 3, 1, 0, 0, -2, 5),
    (2, 5, 0, 0, 0, 0, 1, -3),
    (0, 0, 1, 2, -4, 3, 0, 0),
    (3, -1, 0, 0, 2, 6, 0, 0),
    (0, 0, 0, 0, 7, 1, -5, 2),
)
STORED, NIBBLE = drawn(
    "16.2",
    "column {} of compressed A** belongs, in some row, to a chunk whose nibble is `0b{:04b}`",
    *((13, 0b1110), (9, 0b1101), (17, 0b1110), (21, 0b1001), (5, 0b1100)),
)
META_ROW, META_CHUNK, *_ = drawn(
    "16.4",
    "row {}, chunk {} (columns {} to {})",
    *((11, 6, 48, 55), (13, 5, 40, 47), (10, 3, 24, 31), (14, 6, 48, 55), (9, 5, 40, 47)),
)


@checks("16.1")
def _one_nibble(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a number from 0 to 15")
    expected = int(PAIRS.compress([CHUNK])[1][0, 0])
    first, second = PAIRS.nibbles[expected]
    mask = sum(1 << pair for pair in (first, second))
    return {
        correct(submitted == expected): f"Pairs {first} and {second} are kept; the first index goes into "
        "the low two bits, the second into the high two.",
        when(submitted == first << 2 | second): "Both indices are right, but the first index goes into the "
        "*low* two bits, as always.",
        when(submitted == mask or submitted == int(f"{mask:04b}"[::-1], 2)): "That marks the kept pairs "
        "with one bit each. A nibble holds two *indices* of two bits.",
        **binary_hint(submitted, 4),
        when(submitted > 15): "A nibble has four bits: 0 to 15. Count pairs (0 to 3), not elements (0 to 7).",
        when(submitted in (0, 5, 10, 15)): "The indices of that nibble are equal: it names one pair twice, "
        "which the PTX ISA calls undefined.",
        when(submitted in PAIRS.nibbles): "That is a legal nibble, but it keeps other pairs. Number the "
        "four pairs 0 to 3 from the left: which two are non-zero?",
        otherwise: "Divide the chunk into four pairs, number them 0 to 3, and write the numbers of the two "
        "kept pairs as two bits each.",
    }


@checks("16.2")
def _logical_column(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a column from 0 to 63")
    kept = PAIRS.keep * PAIRS.group
    chunk = STORED // kept
    columns = PAIRS.positions(np.full((1, 8), NIBBLE))[0]
    expected = int(columns[STORED])
    return {
        correct(submitted == expected): f"Columns {chunk * kept} to {chunk * kept + kept - 1} of compressed "
        f"A are chunk {chunk}, which is columns {chunk * 8} to {chunk * 8 + 7} of logical A; the nibble "
        f"keeps pairs {NIBBLE & 3} and {NIBBLE >> 2} of it.",
        when(submitted == STORED): "That is the column of compressed A, which is half as wide. The nibble "
        "tells you the column of logical A.",
        when(submitted == 2 * STORED): "Doubling the column gives the right chunk, but the nibble decides "
        "the position within the chunk.",
        when(submitted == int(columns[STORED + 2])): "That is the second pair of the nibble. This column "
        "belongs to the first pair, and the first index is in the low bits.",
        when(submitted in (chunk * 8 + NIBBLE % 4, chunk * 8 + NIBBLE % 4 + STORED % 2)): "The chunk is "
        "right, but you used the index to count columns: an index counts *pairs*, and a pair has two "
        "columns.",
        when(submitted == expected - STORED % 2): "The pair is right. A pair has two columns: is this the "
        "first of them or the second?",
        when(submitted // 8 == chunk): "The chunk is right. Four columns of compressed A belong to it: two "
        "for the first index, two for the second.",
        otherwise: "Four columns of compressed A come from each chunk of eight. Which chunk is it, and does "
        "this column belong to the first or the second kept pair?",
    }


@checks("16.3")
def address_lanes(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of lane numbers")
    expected = frozenset(INS.operand("E").where(row, 0)[1].lane for row in range(INS.m)) & frozenset(range(8))
    every_other = submitted in (
        {lane for lane in expected if lane % 2 == 0},
        {lane for lane in expected if lane % 2},
    )
    return {
        correct(submitted == expected): "In every group of four lanes, the upper two supply metadata. The "
        "lower two may hold anything.",
        when(submitted == frozenset(range(8)) - expected): "Those supply metadata with selector 0.",
        when(every_other): "Those do, but there are more. A metadata lane holds one row, and each group of "
        "four lanes has *two* rows: two of every four lanes are needed.",
        when(submitted < expected and bool(submitted)): "Those do, but there are more: every group of four "
        "lanes has its own rows and its own metadata lanes.",
        when(submitted == frozenset(range(4, 8))): "The selector does not choose a group of four; it "
        "chooses a pair within every group of four.",
        when(submitted == frozenset(range(1, 8, 2))): "It is not the odd ones: the selector chooses two "
        "adjacent lanes in every group of four.",
        when(any(lane > 7 for lane in submitted)): "Give only lanes 0 to 7.",
        otherwise: "In every group of four lanes the selector chooses a pair: 0 means T0 and T1, 1 means T2 "
        "and T3.",
    }


@checks("16.4")
def nibble_place(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(lane, lowest bit, highest bit)`")
    other, right = INS.operand("E").where(META_ROW, META_CHUNK)
    above = INS.operand("E").where(META_ROW - 8, META_CHUNK)[1]
    expected = (right.lane, right.low, right.high)
    return {
        correct(submitted == expected): f"groupID is {META_ROW % 8}. Selector 1 chooses T2 and T3 of its "
        "four lanes, and the second of them has row groupID + 8. Its register holds the eight nibbles of "
        f"that row, and {META_CHUNK} of them come before chunk {META_CHUNK}.",
        **place_hints(submitted, right),
        when(submitted == (other.lane, right.low, right.high)): "The bits are right, but that lane supplies "
        "the nibble when the selector is 0.",
        when(submitted == (above.lane, above.low, above.high)): "That is the right place for the row eight "
        "higher up: each of the two lanes has one of the two rows.",
        when(submitted[0] == right.lane): "The lane is right. Its register holds the eight nibbles of one "
        "row, four bits each, with chunk 0 in the lowest bits.",
        when(submitted[1:] == expected[1:]): "The bits are right. Which pair of lanes does the selector "
        "choose, and which of the two has row groupID + 8?",
        otherwise: "groupID = row % 8 gives four lanes, the selector chooses two of them, and the row "
        "(groupID or groupID + 8) decides between these two.",
    }


@checks("16.5")
def encode(answer: object) -> Sentences:
    form = "`metadata(row)` returns a 32-bit number"
    for kept, pattern in _ROWS:
        row = np.zeros((len(kept), 4, 2), dtype=np.int64)
        for chunk, pairs in enumerate(kept):
            row[chunk, list(pairs)] = pattern
        try:
            submitted = whole_result_of(answer, row.ravel(), form=form)
        except WrongForm as error:
            if all(len(pairs) == 2 for pairs in kept):
                raise
            raise WrongForm(f"{error} This row has chunks with fewer than two non-zero pairs.") from None
        if -(2**31) <= submitted < 0:  # the same bits, read as a signed number
            submitted += 2**32
        nibbles = [submitted >> 4 * chunk & 15 for chunk in range(len(kept))]
        good = [_keeps(nibble, pairs) for nibble, pairs in zip(nibbles, kept, strict=True)]
        if submitted < 2**32 and all(good):
            continue
        chunk = good.index(False) if False in good else 0
        nibble, shown = nibbles[chunk], row[chunk].ravel().tolist()
        return {
            when(not 0 <= submitted < 2**32): f"Your function returned {submitted:,}, which does not fit "
            "into 32 bits. Eight nibbles have 32 bits: are you counting elements instead of pairs?",
            when(all(map(_keeps, reversed(nibbles), kept))): "The nibbles are right, but in reverse order: "
            "chunk 0 belongs in the lowest four bits.",
            when(good[0] and not any(nibbles[1:])): "The nibble of chunk 0 is right, but nothing else is "
            "there. Each chunk has its own four bits, above the four bits of the chunk before.",
            when(nibble in (0, 5, 10, 15)): f"Chunk {chunk} is `{shown}` and got 0b{nibble:04b}, with two "
            "equal indices. A nibble must name two different pairs, even if they are all zero.",
            when(nibble in PAIRS.unordered and nibble not in PAIRS.nibbles): f"Chunk {chunk} is `{shown}`, "
            f"and the indices of 0b{nibble:04b} descend. The smaller index goes into the low bits (ordered "
            "metadata).",
            when(0 in pattern): f"Chunk {chunk} is `{shown}`, and 0b{nibble:04b} drops a pair with one zero "
            "in it: a pair may be dropped only if both of its elements are zero.",
            otherwise: f"Chunk {chunk} is `{shown}`, and 0b{nibble:04b} does not keep all non-zero pairs.",
        }
    return {
        correct(True): "Your encoder keeps every non-zero pair. Where there was a choice, `ins.compress` "
        "may choose another pair than you do: both expand to the same A."
    }


_TWO = tuple(combinations(range(4), 2))
_FEWER: tuple[tuple[int, ...], ...] = (*((pair,) for pair in range(4)), ())
#: Rows that test the encoder: the pairs that each of eight chunks must keep, and the values of those pairs.
_ROWS = [
    *(((*_TWO[2:], *_TWO[:4]), pattern) for pattern in ((3, 1), (0, 5), (-2, 0))),
    *((tuple(_FEWER[(at + step) % len(_FEWER)] for at in range(8)), (3, 1)) for step in range(3)),
    (((),) * 8, (3, 1)),
]


def _keeps(nibble: int, pairs: tuple[int, ...]) -> bool:
    """Whether a nibble is legal and names all these pairs."""
    return nibble in PAIRS.nibbles and set(pairs) <= set(PAIRS.nibbles[nibble])
