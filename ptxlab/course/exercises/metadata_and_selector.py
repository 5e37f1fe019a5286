"""Lesson 17: the metadata of sparse A, and the sparsity selector."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from ...instruction import mma_instruction
from ...isa.operand import Operand
from ...isa.sparsity import STRUCTURES
from ...views import Picture
from ...views.charts import table
from ..answers import result_of, whole_number_set, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, place_hints, when

#: One instruction for each way of distributing the nibbles over the lanes.
ONE = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
_TWO_WIDE = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
_TWO_NARROW = mma_instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
FOURS, PAIRS = STRUCTURES["2:4"], STRUCTURES["4:8"]

KEPT_NIBBLE, KEPT_CHUNK = drawn(
    "17.1", "`0b{:04b}` in chunk {}", (0b1001, 2), (0b1100, 3), (0b1110, 2), (0b1101, 3), (0b1000, 1)
)
ROW = drawn(
    "17.2",
    "[{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}]",
    (0, 5, 0, 7, 1, 0, 0, 2, 0, 0, 3, 4, 6, 8, 0, 0),
    (3, 0, 0, 1, 0, 2, 5, 0, 7, 0, 4, 0, 0, 6, 0, 8),
    (0, 4, 2, 0, 6, 0, 0, 3, 0, 0, 8, 1, 5, 0, 7, 0),
    (2, 7, 0, 0, 0, 0, 1, 6, 0, 3, 0, 5, 4, 0, 0, 8),
    (0, 0, 9, 2, 0, 4, 0, 1, 3, 8, 0, 0, 0, 5, 6, 0),
)
PAIR_NIBBLE, PAIR_CHUNK = drawn(
    "17.3",
    "chunk {1} of a row has the nibble `0b{0:04b}`",
    *((0b1100, 2), (0b1000, 3), (0b1101, 1), (0b1001, 3), (0b1110, 2)),
)
AT, CHUNK, SELECTOR = drawn(
    "17.4",
    "row {}, chunk {}, and in which bits**, when the sparsity selector is **{}**",
    *((12, 1, 3), (10, 2, 1), (13, 3, 2), (9, 1, 2), (14, 2, 3)),
)
LANE, LOW, _HIGH = drawn(
    "17.5",
    "lane {0}: **which chunk does the nibble in bits {2} to {1}",
    *((5, 8, 11), (9, 12, 15), (13, 20, 23), (21, 16, 19), (25, 12, 15)),
)


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


def where_ones(results: Mapping[int, NDArray[np.int64]]) -> Picture:
    """Where rows 0 and 8 of A have their ones, read off D by word of metadata: row k of B is 2^k.

    >>> D = np.full((16, 8), 0b1100)
    >>> [cell.text for cell in where_ones({0x44444444: D}).grids[0].cells][:4]
    ['0', '0', '1', '1']
    """
    rows = {
        f"0x{word:08X}, row {row}": [str(D[row, 0] >> k & 1) for k in range(ONE.k)]
        for word, D in results.items()
        for row in (0, 8)
    }
    title = "Where A is 1, for three values of E"
    return table(rows, [str(k) for k in range(ONE.k)], title, shades={"1": -0.75}, axes=("E, row", "k"))


def _word(nibbles: list[int]) -> int:
    return sum(nibble << 4 * at for at, nibble in enumerate(nibbles))


@checks("17.1")
def _kept_columns(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of two columns")
    first = FOURS.nibbles[KEPT_NIBBLE]
    start = KEPT_CHUNK * FOURS.chunk
    expected = frozenset(start + part for part in first)
    marked = [bit for bit in range(4) if KEPT_NIBBLE >> bit & 1]
    masks = ([start + bit for bit in marked], [start + 3 - bit for bit in marked], marked)
    as_mask = submitted in map(frozenset, masks)
    return {
        correct(submitted == expected): f"The low two bits are {first[0]}, the high two are {first[1]}, and "
        f"chunk {KEPT_CHUNK} begins at column {start}.",
        when(submitted == frozenset(first)): "Those are the two indices. They count columns inside the "
        "chunk: where in the row does this chunk begin?",
        when(as_mask): "You read each of the four bits as one column. A nibble is not a mask: it holds two "
        "numbers of two bits.",
        when(submitted == frozenset(start - 4 + part for part in first)): "That is the chunk before it: "
        "chunks are numbered from 0.",
        when(len(submitted) != 2): "A nibble of 2:4 keeps two columns.",
        when(all(start <= col < start + 4 for col in submitted)): "That is the right chunk. Split the "
        "nibble into the low two bits and the high two, and read each as a number.",
        otherwise: "A chunk is four columns wide. Split the nibble into two numbers of two bits: they count "
        "columns inside the chunk.",
    }


@checks("17.2")
def _row_of_nibbles(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a number of 16 bits, such as `0x1234`")
    nibbles = [int(nibble) for nibble in FOURS.compress([ROW])[1][0]]
    indices = [FOURS.nibbles[nibble] for nibble in nibbles]
    masks = [sum(1 << part for part in kept) for kept in indices]
    return {
        correct(submitted == _word(nibbles)): "One hexadecimal digit for each chunk, and chunk 0 is the "
        "last digit.",
        when(submitted == _word(nibbles[::-1])): "Every nibble is right, but they are the other way round: "
        "chunk 0 has the lowest bits, the last digit.",
        when(submitted == _word([high | low << 2 for low, high in indices])): "In every nibble the two "
        "indices are swapped: the index of the first kept element is in the low two bits.",
        when(submitted in (_word(masks), _word([int(f"{mask:04b}"[::-1], 2) for mask in masks]))): "That "
        "marks the kept columns with one bit each. A nibble holds two *indices* of two bits.",
        when(submitted >= 1 << 16): "Four chunks of four bits make 16 bits; you gave more.",
        when(any((submitted >> 4 * at & 15) in (0, 5, 10, 15) for at in range(4))): "The nibble of chunk "
        f"{next((at for at in range(4) if submitted >> 4 * at & 15 in (0, 5, 10, 15)), 0)} names one column "
        "twice.",
        otherwise: f"Chunk {next((at for at in range(4) if submitted >> 4 * at & 15 != nibbles[at]), 0)} is "
        "the first with a wrong nibble. Number its four columns 0 to 3: which two are kept?",
    }


@checks("17.3")
def _kept_pairs(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of columns")
    start = PAIR_CHUNK * PAIRS.chunk
    parts = PAIRS.nibbles[PAIR_NIBBLE]
    expected = frozenset(start + 2 * part + i for part in parts for i in range(2))
    return {
        correct(submitted == expected): f"The indices {parts[0]} and {parts[1]} count *pairs*, and the "
        f"chunk of eight begins at column {start}.",
        when(submitted == frozenset(start + part for part in parts)): "Here the indices count pairs, not "
        "single columns, and a pair is kept as a whole.",
        when(submitted == frozenset(start + 2 * part for part in parts)): "Those are the first columns of "
        "the two pairs. A pair is kept as a whole.",
        when(submitted == frozenset(2 * part + i for part in parts for i in range(2))): "That is right "
        "inside the chunk. But where does this chunk begin?",
        when(submitted == frozenset(4 * PAIR_CHUNK + 2 * part + i for part in parts for i in range(2))): "A "
        "chunk of 4:8 is eight columns wide, not four.",
        when(len(submitted) != len(expected)): "Half of the eight columns are kept.",
        otherwise: "A chunk has eight columns and a part has two. The nibble names two of the four parts.",
    }


@checks("17.4")
def _find_nibble(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(lane, lowest bit, highest bit)`")
    copies = ONE.operand("E").where(AT, CHUNK)
    right = copies[SELECTOR]
    above = ONE.operand("E").where(AT - 8, CHUNK)[SELECTOR]
    expected = (right.lane, right.low, right.high)
    return {
        correct(submitted == expected): f"groupID is {AT % 8}, and selector {SELECTOR} chooses T{SELECTOR} "
        f"of its four lanes. Row {AT} is groupID + 8: the upper half of the register.",
        when(submitted[0] in [place.lane for place in copies if place != right]): "That lane is in the "
        "right group of four, but it supplies the metadata with another selector.",
        **place_hints(submitted, right),
        when(submitted == (above.lane, above.low, above.high)): "The lane is right, but those bits belong "
        "to the row eight higher up.",
        when(submitted[0] == right.lane): "The lane is right. First come the four nibbles of row groupID, "
        "then the four of row groupID + 8.",
        when(submitted[1:] == expected[1:]): "The bits are right. groupID = row % 8, a group is four lanes, "
        "and the selector is the number of the lane within the group.",
        otherwise: "groupID = row % 8 gives four lanes, and the selector chooses one of them. The chunk and "
        "the half of the rows give the bits.",
    }


@checks("17.5")
def _what_is_described(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(row, first column)`")
    row, chunk = (int(at) for at in _TWO_NARROW.operand("E").coords()[LANE, LOW // 4])
    expected = (row, chunk * FOURS.chunk)
    wide_row, wide_chunk = (int(at) for at in _TWO_WIDE.operand("E").coords()[LANE, LOW // 4])
    return {
        correct(submitted == expected): f"Lane {LANE} is T1 of group {LANE // 4}: row groupID + 8. Its "
        f"register holds the nibbles of all eight chunks of that row, and bits {LOW + 3} to {LOW} are the "
        f"{_ORDINALS[chunk]}.",
        when(submitted == (wide_row, wide_chunk * FOURS.chunk)): "That is the layout for f16. With narrower "
        "elements a lane has all chunks of *one* row.",
        when(submitted == (row - 8, chunk * FOURS.chunk)): "The chunk is right. But this lane is the second "
        "of its pair: which of the two rows does it have?",
        when(submitted == (row, chunk)): "The row is right, but that is the number of the chunk. Give its "
        "first *column*: a chunk is four columns wide.",
        when(submitted == (row, chunk * 8)): "The row is right. A chunk of 2:4 is four columns wide.",
        when(submitted[0] == row): "The row is right. Each chunk has four bits, with chunk 0 in the lowest: "
        "which chunk begins at that bit?",
        otherwise: "With selector 0, in each group of four lanes T0 has row groupID and T1 has row groupID "
        "+ 8. A register holds eight nibbles, with chunk 0 in the lowest bits.",
    }


def _lane_and_bit(operand: Operand, row: int, chunk: int, selector: int) -> tuple[int, int]:
    """Lane and lowest bit of a nibble."""
    place = operand.where(row, chunk)[selector]
    return place.lane, place.low


@checks("17.6")
def _write_layout(answer: object) -> Sentences:
    form = "`place(row, chunk, selector)` returns `(lane, lowest bit)`"
    e, narrow = _TWO_WIDE.operand("E"), _TWO_NARROW.operand("E")
    cases = list(np.ndindex(*e.shape, len(_TWO_WIDE.selectors)))
    submitted = [whole_numbers(result_of(answer, *at, form=form), 2, form) for at in cases]

    def is_layout(layout: Callable[[int, int, int], tuple[int, int]]) -> bool:
        return all(result == layout(*at) for result, at in zip(submitted, cases, strict=True))

    def right(row: int, chunk: int, selector: int) -> tuple[int, int]:
        return _lane_and_bit(e, row, chunk, selector)

    wrong = [(at, result) for at, result in zip(cases, submitted, strict=True) if result != right(*at)]
    (row, chunk, selector), result = wrong[0] if wrong else ((0, 0, 0), (0, 0))
    where = f"`place({row}, {chunk}, {selector})` returns {result}, which is not right."
    lanes_right = all(result[0] == right(*at)[0] for at, result in zip(cases, submitted, strict=True))
    bits_right = all(result[1] == right(*at)[1] for at, result in zip(cases, submitted, strict=True))
    return {
        correct(not wrong): "The row gives the group and the half of the register, the selector gives the "
        "pair of lanes, and the chunk gives the lane within the pair: all 256 are right.",
        when(is_layout(lambda r, c, s: _lane_and_bit(narrow, r, c, s))): "That is the layout for s8, where "
        "each lane of the pair has one row. With f16 each lane has four chunks of *both* rows.",
        when(is_layout(lambda r, c, s: (right(r, c, 1 - s)[0], right(r, c, s)[1]))): "The bits are right, "
        "but the selector chooses the other pair of lanes.",
        when(is_layout(lambda r, c, s: (right(r, c, s)[0], right((r + 8) % 16, c, s)[1]))): "The lanes are "
        "right, but the halves of the register are swapped.",
        when(is_layout(lambda r, c, s: (right(r, c, s)[0], right(r, c, s)[1] % 16))): f"{where} The lanes "
        "are right, but rows 8 to 15 go to the upper half.",
        when(is_layout(lambda r, c, s: (r % 8 * 4 + 2 * (c // 4) + s, right(r, c, s)[1]))): f"{where} The "
        "two metadata lanes are neighbours: T0 and T1, or T2 and T3.",
        when(is_layout(lambda r, c, s: (r % 8 * 4 + 2 * s + c % 2, c // 2 * 4 + r // 8 * 16))): f"{where} "
        "Chunks do not alternate between the lanes: the first lane of the pair has chunks 0 to 3, the "
        "second chunks 4 to 7.",
        when(is_layout(lambda r, c, s: (r // 2 * 4 + 2 * s + c // 4, c % 4 * 4 + r % 2 * 16))): f"{where} "
        "The two rows of a lane are not adjacent: they are eight apart.",
        when(is_layout(lambda r, c, s: (right(r, c, s)[0], right(r, c, s)[1] // 4))): f"{where} You counted "
        "nibbles; give the bit, and a nibble has four bits.",
        when(lanes_right): f"{where} Every lane is right. The register holds four nibbles of row groupID, "
        "then four of row groupID + 8.",
        when(bits_right): f"{where} Every bit is right. The lane is four times groupID, plus two for the "
        "second pair if the selector chooses it, plus the chunk's lane within the pair.",
        otherwise: f"{where} Look it up in the figure, and work it out by hand first.",
    }
