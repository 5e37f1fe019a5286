"""Lesson 22: WMMA with f16, why kernels leave it, and its sub-byte types s4, u4 and b1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ... import wmma
from ...instruction import mma_instruction
from ...isa.catalog import mma_forms
from ...memory import weight_order
from ...views import Header, Picture
from ...views.charts import table
from ...views.grid import Entry, uniform_grid
from ...views.labels import index_range
from ..answers import result_of, whole_numbers, whole_result_of
from ..checking import Sentences, checks, correct, drawn, otherwise, when

_F16 = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
S4 = mma_instruction("wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32")
XOR = mma_instruction("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32")
AND = mma_instruction("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32")
S8 = mma_instruction("wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32")
WIDTH, LINE = 100, 3  # elements of a row, and the row: 22.4
ROW, COL = 3, 77  # of a bit: 22.5
ONES = drawn("22.6", "has {} ones", 40, 48, 36, 52, 44, 28)
_WORD = drawn(
    "22.3",
    "[{}, {}, {}, {}, {}, {}, {}, {}]",
    (3, -1, 7, 0, -8, 1, 2, -3),
    (5, -1, 2, -7, 0, 6, -4, 1),
    (2, -1, -6, 4, 7, 0, 3, -5),
    (6, -1, 0, 5, -2, 3, -8, 4),
    (7, -1, 1, -4, 6, -3, 0, 2),
)


# -- what the lesson shows -----------------------------------------------------------------------------------


def loads(lanes: int = 8) -> Picture:
    """The elements that the first lanes get from one 128-bit load of f16 weights stored in `weight_order`.

    >>> loads().grids[0].at(1, 0).text
    'B[2][0]'
    """
    order = weight_order(_F16.b, (16, 32))

    def entry(lane: int, at: int) -> Entry:
        k, n = divmod(int(order.loads[0, lane, at]), 32)
        span = index_range(2 * at, 2)
        tooltip = f"lane {lane}, bytes {span} of its load: row k = {k}, column n = {n}"
        return Entry((f"B[{k}][{n}]",), lane, tooltip)

    grid = replace(
        uniform_grid((lanes, order.per_load), entry, [f"lane {lane}" for lane in range(lanes)], []),
        columns=tuple(Header(4 * at, 4, (f"fragment {at}: b0..b3",)) for at in range(2)),
    )
    notes = ("a row is 16 bytes of memory, and the next row follows it", f"{lanes} of 32 lanes")
    return Picture("One 128-bit load brings two fragments of B", notes, (grid,))


def fragment_counts() -> Picture:
    """Elements and storage elements of the 4-bit fragments.

    >>> [cell.text for cell in fragment_counts().grids[0].cells][:3]
    ['8', '1', 'unsigned']
    """
    fragments = {
        "matrix_a of u4": wmma.fragment(wmma.matrix_a, 8, 8, 32, wmma.precision.u4, wmma.row_major),
        "matrix_a of s4": wmma.fragment(wmma.matrix_a, 8, 8, 32, wmma.precision.s4, wmma.row_major),
        "accumulator of int": wmma.fragment(wmma.accumulator, 8, 8, 32, int),
    }
    texts = {
        name: [str(frag.num_elements), str(frag.num_storage_elements), frag.storage_element_type.cpp]
        for name, frag in fragments.items()
    }
    columns = ["num_elements", "num_storage_elements", "storage type"]
    return table(texts, columns, "Fragments of one lane, 8 x 8 x 32")


def sub_byte_chips() -> Picture:
    """What the sub-byte operations become on Ampere and on Hopper.

    >>> sub_byte_chips().grids[0].at(3, 1).lines
    ('1 BMMA',)
    """
    texts: dict[str, list[str]] = {}
    shades: dict[str, float] = {}
    for form in (("u4",), ("s4",), ("b1", "xor"), ("b1", "and")):
        support = wmma.deprecation(*form)
        runs = [f"{chip.count} {chip.opcode.partition('.')[0]}" for chip in (support.before, support.instead)]
        if support.deprecated:
            runs[1] = f"{support.instead.count} {support.instead.opcode}\nand other instructions"
        texts[" ".join(form)] = ["deprecated" if support.deprecated else "stays", *runs]
        shades |= {runs[0]: -0.375, runs[1]: 0.375 if support.deprecated else -0.375}
    columns = ["the guide says", "sm_80 runs", "sm_90 runs"]
    return table(texts, columns, "Sub-byte operations on Ampere and Hopper", shades=shades)


def registers_by_shape() -> Picture:
    """The registers of a lane for every shape and type of WMMA.

    >>> [cell.text for cell in registers_by_shape().grids[0].cells][:3]
    ['8', '8', '4 f16']
    """
    texts: dict[str, list[str]] = {}
    for form in mma_forms("wmma"):
        counts = [str(form.a.registers), str(form.b.registers), f"{form.d.registers} {form.d.dtype}"]
        texts.setdefault(f"{form.shape} {form.a_type}", [*counts, form.targets[0]])
    return table(texts, ["A", "B", "D", "from"], "Registers of a lane, by shape and type of A")


# -- exercises ---------------------------------------------------------------------------------------------


@checks("22.1")
def _by_columns(answer: object) -> Sentences:
    form = "`arguments(k, column, N, K)` returns `(offset, ldm)`"
    cases = [
        (k, column, n, depth) for k in (0, 16, 48) for column in (0, 32) for n, depth in ((64, 96), (80, 64))
    ]
    submitted = [whole_numbers(result_of(answer, *case, form=form), 2, form) for case in cases]
    right = [(column * depth + k, depth) for k, column, _, depth in cases]
    offsets, pitches = zip(*submitted, strict=True)
    wrong = next((index for index, pair in enumerate(submitted) if pair != right[index]), 0)
    k, column, n, depth = cases[wrong]
    where = f"`arguments({k}, {column}, {n}, {depth})` returns {submitted[wrong]}, which is not right."
    return {
        correct(submitted == right): "Two columns begin K elements apart, so that is the leading dimension. "
        "`col_major` says along which axis the elements are contiguous; the fragment that comes out is the "
        "same.",
        when(submitted == [(k * n + column, n) for k, column, n, _ in cases]): "That is B by rows, as in the "
        "kernel above.",
        when(submitted == [(pitch, offset) for offset, pitch in right]): "Both are right, but the offset "
        "comes first.",
        when(submitted == [(2 * offset, 2 * pitch) for offset, pitch in right]): "Those are bytes. WMMA "
        "counts elements.",
        when(submitted == [(column * n + k, n) for k, column, n, _ in cases]): "The order is right. But a "
        "column has K elements; N counts the columns.",
        when(list(pitches) == [pitch for _, pitch in right]): f"{where} The leading dimension is right. How "
        "many whole columns lie before the tile, and how many elements of its own column?",
        when(list(offsets) == [offset for offset, _ in right]): f"{where} The offset is right. How many "
        "elements lie between the beginnings of two columns?",
        otherwise: f"{where} Element [k][column] of B by columns is behind `column` whole columns and k "
        "elements.",
    }


@checks("22.2")
def storage(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(num_elements, num_storage_elements)`")
    expected = (XOR.a.registers * XOR.a.elements_per_register, XOR.a.registers)
    total = XOR.m * XOR.k
    return {
        correct(submitted == expected): f"8 x 128 bits divided by 32 lanes; {XOR.a.elements_per_register} "
        "bits fill one `unsigned`.",
        when(submitted == (total, total // 32)): "That is the whole matrix. A fragment is what one of the "
        "32 lanes holds.",
        when(submitted == expected[::-1]): "The numbers are right, but in the wrong order: elements are the "
        "single bits.",
        when(submitted == (XOR.k, XOR.k // 32)): "That is a whole row of A. How many lanes share a row?",
        when(submitted == (expected[0], expected[0])): "`num_elements` is right. But bits are not stored "
        "one by one: many of them share a storage element.",
        when(submitted[0] == total): "That many elements are the whole matrix. A fragment is what one of "
        "the 32 lanes holds.",
        when(submitted[0] == expected[0]): "`num_elements` is right. How many bits fit into one `unsigned`?",
        when(submitted == (S4.a.elements_per_register, S4.a.registers)): "Those are the counts of the s4 "
        "fragment, 8 x 32 elements of four bits.",
        otherwise: "Divide the 8 x 128 bits of A among 32 lanes, then divide by the bits of one storage "
        "element.",
    }


@checks("22.3")
def packed(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "`0x...`, one number of 32 bits")
    codes = [value & 15 for value in _WORD]
    expected = sum(code << 4 * at for at, code in enumerate(codes))
    magnitude = sum((abs(v) & 7 | (8 if v < 0 else 0)) << 4 * at for at, v in enumerate(_WORD))
    swapped = sum(code << 4 * (at ^ 1) for at, code in enumerate(codes))
    return {
        correct(submitted % 2**32 == expected and -(2**31) <= submitted < 2**32): "The first element takes "
        "the lowest four bits, so in hexadecimal you read the row from right to left; the code of a "
        "negative number is that number plus 16.",
        when(submitted == sum(code << 28 - 4 * at for at, code in enumerate(codes))): "Every digit is "
        "right, but the order is not: the first element takes the *lowest* bits.",
        when(submitted == int.from_bytes(expected.to_bytes(4, "little"), "big")): "Those are the bytes in "
        "memory order. In the 32-bit number, the first byte is the lowest.",
        when(submitted == swapped): "The bytes are in order. Within a byte, the first of the two elements "
        "takes the low half.",
        when(submitted == magnitude): "The order is right. Negative numbers are in two's complement, not "
        "sign and magnitude: -1 is all ones.",
        when(submitted < 0 or submitted >= 2**32): "Eight elements of four bits make 32 bits: eight "
        "hexadecimal digits.",
        when(submitted & 15 != codes[0]): "Start at the right-hand end: the last digit is the first element.",
        when(submitted & 0xFF != codes[0] | codes[1] << 4): "The last digit is right. Next comes -1: which "
        "four bits is that in two's complement?",
        otherwise: "The last two digits are right. Continue to the left, one hexadecimal digit for each "
        "element; the code of a negative number is that number plus 16.",
    }


@checks("22.4")
def leading(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(ldm, word)`")
    step, share = 128 // S4.a.dtype.bits, S4.a.elements_per_register
    ldm = -(-WIDTH // step) * step
    expected = ldm, LINE * ldm // share
    return {
        correct(submitted == expected): f"{step} elements of four bits take 16 bytes, and {ldm} is the next "
        f"multiple of {step}. {LINE} rows of {ldm // share} words come before row {LINE}.",
        when(submitted == expected[::-1]): "The numbers are right, but in the wrong order: `ldm` comes "
        "first.",
        when(submitted[0] == WIDTH): "Then the next row would begin in the middle of a block of 16 bytes. "
        "What must `ldm` be a multiple of?",
        when(submitted[0] % step == 0 and submitted[0] > ldm): "That is legal, but not the smallest.",
        when(submitted[0] % step == 0 and submitted[0] < WIDTH): "Then rows would overlap: they have "
        f"{WIDTH} elements.",
        when(submitted[0] % 16 == 0 and submitted[0] != ldm): "That is a multiple of 16 *elements*. With "
        "four bits per element, 16 *bytes* hold more than that.",
        when(submitted[0] % share == 0 and submitted[0] != ldm): "With that `ldm`, rows begin at whole "
        "words. They must begin at multiples of 16 bytes.",
        when(submitted[0] != ldm): f"`ldm` for `s4` must be a multiple of {step}: rows begin at multiples "
        "of 16 bytes.",
        when(submitted[1] == LINE * ldm): f"`ldm` is right. You counted the start of row {LINE} in elements; "
        "how many of them share a word?",
        when(
            submitted[1] == LINE * ldm // 2
        ): f"`ldm` is right. You counted the start of row {LINE} in bytes; a word has four bytes.",
        when(submitted[1] in (expected[1] + ldm // share, expected[1] - ldm // share)): "`ldm` is right. A "
        "neighbouring row begins at that word: row 0 begins at word 0.",
        otherwise: "`ldm` is right. How many words does a row take, and how many rows come before this one?",
    }


@checks("22.5")
def _where_bit(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, bit)`")
    right = XOR.a.where(ROW, COL)[0]
    return {
        correct(submitted == (right.lane, right.low)): f"Four lanes share row {ROW}, each with 32 columns; "
        f"column {COL} is bit {right.low} of the third of them.",
        when(submitted == (right.low, right.lane)): "The numbers are right, but in the wrong order: the "
        "lane comes first.",
        when(submitted == (right.lane, 31 - right.low)): "The lane is right. You counted bits from the top; "
        "the first column is the lowest bit.",
        when(submitted == (right.lane, COL)): "The lane is right. A register has bits 0 to 31: count from "
        "the lane's own first column.",
        when(submitted[0] == right.lane): "The lane is right. Count from the lane's own first column, which "
        "is bit 0.",
        when(submitted[1] == right.low and submitted[0] // 4 == ROW): "The bit is right, and so are the "
        "four lanes of the row. Which of the four has this column?",
        when(submitted[1] == right.low): "The bit is right. But that lane is not one of this row's lanes: "
        "four lanes share each row, starting with lanes 0 to 3.",
        otherwise: "A lane holds 32 adjacent bits of a row, so four lanes share a row: lanes 0 to 3 hold "
        "row 0, lanes 4 to 7 row 1.",
    }


@checks("22.6")
def bits(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(XOR, AND)`")
    A, B = np.ones(XOR.a.shape, dtype=np.uint8), np.zeros(XOR.b.shape, dtype=np.uint8)
    B[:ONES] = 1
    expected = (int(np.count_nonzero(A[0] ^ B[:, 0])), int(np.count_nonzero(A[0] & B[:, 0])))
    return {
        correct(submitted == expected): "XOR counts the positions where the two differ, AND those where "
        "both are 1.",
        when(submitted == expected[::-1]): "It is the other way round: XOR is 1 where the two bits *differ*.",
        when(submitted[1] == expected[1]): "AND is right. XOR counts the positions where row and column "
        "differ.",
        when(submitted[0] == expected[0]): "XOR is right. AND counts the positions where both are 1.",
        when(max(submitted) > XOR.k): "A popcount of 128 bits is at most 128.",
        otherwise: "Write the first few bits of both below each other, apply the operation bit by bit, and "
        "count the ones in the result.",
    }


@checks("22.7")
def signs(answer: object) -> Sentences:
    form = "`dot(popc)` returns a whole number"
    submitted = {p: whole_result_of(answer, p, form=form) for p in (0, 1, 64, 100, 128)}
    right = {p: (XOR.k - p) - p for p in submitted}
    return {
        correct(submitted == right): "Each position that agrees contributes +1, each one that differs -1: "
        "there are 128 - popc of the first kind and popc of the second.",
        when(submitted == {p: -v for p, v in right.items()}): "The sign is wrong: equal vectors have popc 0 "
        "and the largest possible dot product.",
        when(submitted == {p: p for p in submitted}): "popc counts the positions that differ; a position "
        "that differs contributes -1, and one that agrees +1.",
        when(submitted == {p: XOR.k - p for p in submitted}): "That counts the positions that agree. The "
        "others do not contribute 0; they contribute -1.",
        when(submitted[64] != 0): "Try popc = 64: half agree, half differ. What must the dot product be?",
        otherwise: "If popc positions differ, how many agree? Each position that agrees contributes +1, "
        "each other one -1.",
    }


@checks("22.8")
def _xor_from_and(answer: object) -> Sentences:
    form = "`differences(ones_a, ones_b, both)` returns a whole number"
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 2, (2, 16, XOR.k))
    b[0], b[1], a[2] = a[0], 1 - a[1], 0
    counts = [
        (int(x.sum()), int(y.sum()), int((x & y).sum()), int((x ^ y).sum()))
        for x, y in zip(a, b, strict=True)
    ]
    results = [whole_result_of(answer, x, y, both, form=form) for x, y, both, _ in counts]
    right = [count for *_, count in counts]
    return {
        correct(results == right): "A bit that is set in both is counted twice in ones_a + ones_b, but must "
        "not be counted at all.",
        when(results == [x + y - both for x, y, both, _ in counts]): "That is OR: the positions where at "
        "least one bit is set. Where both are set, XOR is 0.",
        when(results == [XOR.k - both for *_, both, _ in counts]): "Positions where neither bit is set do "
        "not differ either.",
        when(results == [x + y for x, y, *_ in counts]): "That counts bits that are set in both vectors "
        "twice, although they do not differ.",
        when(results == [abs(x - y) for x, y, *_ in counts]): "Two vectors can have equally many ones and "
        "still differ in every position.",
        when(results[0] != right[0]): "Try two equal vectors: ones_a, ones_b and both are the same number, "
        "and nothing differs.",
        when(results[2] != right[2]): "Try a vector a without ones: both is 0, and the two differ wherever "
        "b is set.",
        otherwise: "How many bits are set in a but not in b? And the other way round?",
    }


@checks("22.9")
def _other_shape(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(A, B, D)`")
    expected = S8.a.registers, S8.b.registers, S8.d.registers
    return {
        correct(submitted == expected): "The 128 elements of A fill one register of four bytes in each "
        "lane, the 512 elements of B fill four, and the 256 32-bit sums fill eight.",
        when(submitted == (expected[1], expected[0], expected[2])): "A and B are exchanged: m8n32k16 has a "
        "*short* A and a *wide* B.",
        when(submitted == (2, 2, 8)): "That is m16n16k16. Here A has 8 rows and B 32 columns.",
        when(submitted == tuple(4 * n for n in expected[:2]) + expected[2:]): "Those are elements. Four "
        "8-bit elements share a register.",
        when(submitted == tuple(op.shape[0] * op.shape[1] for op in (S8.a, S8.b, S8.d))): "Those are the "
        "elements of the whole matrices. 32 lanes share them.",
        when(submitted[:2] == expected[:2]): "A and B are right. Elements of D have 32 bits, so each one "
        "fills a register.",
        when(submitted[::2] == expected[::2]): "A and D are right. B has 16 x 32 elements: how many of them "
        "does a lane hold, and how many of those share a register?",
        when(submitted[1:] == expected[1:]): "B and D are right. A has 8 x 16 elements: how many of them "
        "does a lane hold, and how many of those share a register?",
        otherwise: "Divide the elements of the matrix by 32 lanes, then by the elements per register: four "
        "for `s8`, one for `s32`.",
    }
