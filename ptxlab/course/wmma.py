"""Exercises of lesson 08: sub-byte WMMA with s4, u4 and b1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..instruction import mma_instruction
from .core import call, exercise, judge, whole

S4 = mma_instruction("wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32")
XOR = mma_instruction("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32")
AND = mma_instruction("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32")
WIDTH, LINE = 100, 3
ROW, COL = 3, 77
ONES = 40
WORD = (3, -1, 7, 0, -8, 1, 2, -3)
S8 = mma_instruction("wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32")


@exercise(
    "08.1",
    "A fragment is **one lane's** share, and `num_storage_elements` counts the 32-bit words it is kept in. **What are `num_elements` and `num_storage_elements` of a `matrix_a` fragment of type `b1` with shape 8 x 8 x 128?**",
    "counts = ...  # (num_elements, num_storage_elements)",
)
def storage(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(num_elements, num_storage_elements)`")
    expected = (XOR.a.registers * XOR.a.elements_per_register, XOR.a.registers)
    total = XOR.m * XOR.k
    return judge(
        found == expected,
        f"8 x 128 bits over 32 lanes; {XOR.a.elements_per_register} of them make one `unsigned`.",
        (
            found == (total, total // 32),
            "That is the whole matrix. A fragment is what one of the 32 lanes holds.",
        ),
        (found == expected[::-1], "Right numbers, wrong order: elements are the single bits."),
        (found == (XOR.k, XOR.k // 32), "That is a whole row of A. How many lanes share a row?"),
        (
            found == (expected[0], expected[0]),
            "`num_elements` is right. But bits are not stored one by one: many share a storage element.",
        ),
        (
            found[0] == total,
            "All those elements are the whole matrix. A fragment is what one of the 32 lanes holds.",
        ),
        (found[0] == expected[0], "`num_elements` is right. How many bits fit into one `unsigned`?"),
        (
            found == (S4.a.elements_per_register, S4.a.registers),
            "Those are the counts of the s4 fragment, 8 x 32 elements of four bits.",
        ),
        otherwise="Divide the 8 x 128 bits of A among 32 lanes, then by the bits of one storage element.",
    )


@exercise(
    "08.2",
    f"Eight neighbouring `s4` elements of a row of A are `{list(WORD)}`. **Which 32-bit word holds them in memory?** (Write it in hexadecimal: `0x...`)",
    "word = ...",
)
def packed(answer: Any) -> tuple[bool, str]:
    (found,) = whole(answer, 1, "`0x...`, one number of 32 bits")
    codes = [value & 15 for value in WORD]
    expected = sum(code << 4 * at for at, code in enumerate(codes))
    magnitude = sum((abs(v) & 7 | (8 if v < 0 else 0)) << 4 * at for at, v in enumerate(WORD))
    swapped = sum(code << 4 * (at ^ 1) for at, code in enumerate(codes))
    return judge(
        found % 2**32 == expected and -(2**31) <= found < 2**32,
        "The first element takes the lowest four bits, so in hexadecimal the row reads from right to left; a negative number is 16 plus itself.",
        (
            found == sum(code << 28 - 4 * at for at, code in enumerate(codes)),
            "Every digit is right, but the order is not: the first element takes the *lowest* bits.",
        ),
        (
            found == int.from_bytes(expected.to_bytes(4, "little"), "big"),
            "Those are the bytes in the order in which memory has them. As a number, the first byte is the lowest.",
        ),
        (
            found == swapped,
            "The bytes are in order. Inside a byte, the first of the two elements takes the low half.",
        ),
        (
            found == magnitude,
            "The order is right. Negative numbers are in two's complement, not sign and magnitude: -1 is all ones.",
        ),
        (found < 0 or found >= 2**32, "Eight elements of four bits are 32 bits: eight hexadecimal digits."),
        (found & 15 != codes[0], "Begin at the right-hand end: the last digit is the first element."),
        (
            found & 0xFF != codes[0] | codes[1] << 4,
            "The last digit is right. Then comes -1: which four bits are that in two's complement?",
        ),
        otherwise="The last two digits are right. Go on to the left, one hexadecimal digit for each element; a negative number is 16 plus itself.",
    )


@exercise(
    "08.3",
    f"A matrix of `s4` has rows of {WIDTH} elements. You may leave room at the end of each row. **What is the smallest legal `ldm`, and at which 32-bit word of the buffer does row {LINE} then begin?** (Rows and words count from 0.)",
    "padded = ...  # (ldm, word)",
)
def leading(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(ldm, word)`")
    step, share = 128 // S4.a.dtype.bits, S4.a.elements_per_register
    ldm = -(-WIDTH // step) * step
    expected = ldm, LINE * ldm // share
    return judge(
        found == expected,
        f"{step} elements of four bits are 16 bytes, and {ldm} is the next multiple of {step}; {LINE} rows of {ldm // share} words come before row {LINE}.",
        (found == expected[::-1], "Right numbers, wrong order: `ldm` first."),
        (
            found[0] == WIDTH,
            "Then the next row would begin in the middle of 16 bytes. Which multiple must `ldm` be?",
        ),
        (
            found[0] % 128 == 0 and found[0] > ldm,
            "That is legal, but not the smallest: did you take the rule of `b1`?",
        ),
        (found[0] % step == 0 and found[0] > ldm, "That is legal, but not the smallest."),
        (found[0] % step == 0 and found[0] < WIDTH, f"Then rows would overlap: they have {WIDTH} elements."),
        (
            found[0] % 16 == 0 and found[0] != ldm,
            "That is a multiple of 16 *elements*. 16 *bytes* are more elements than that when an element has four bits.",
        ),
        (
            found[0] % share == 0 and found[0] != ldm,
            "With that, rows begin at whole words. They must begin at multiples of 16 bytes.",
        ),
        (
            found[0] != ldm,
            f"`ldm` for `s4` must be a multiple of {step}: rows begin at multiples of 16 bytes.",
        ),
        (
            found[1] == LINE * ldm,
            "`ldm` is right. Where row 3 begins you counted in elements; how many of them share a word?",
        ),
        (
            found[1] == LINE * ldm // 2,
            "`ldm` is right. Where row 3 begins you counted in bytes; a word has four.",
        ),
        (
            found[1] in (expected[1] + ldm // share, expected[1] - ldm // share),
            "`ldm` is right. The word is that of a neighbouring row: row 0 begins at word 0.",
        ),
        otherwise="`ldm` is right. How many words does a row take, and how many rows come before this one?",
    )


@exercise(
    "08.4",
    f"b1 fragments lie as in the picture. **Which lane holds bit `A[{ROW}][{COL}]`, and as which bit of its register?**",
    "place = ...  # (lane, bit)",
)
def where_bit(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(lane, bit)`")
    right = XOR.a.where(ROW, COL)[0]
    return judge(
        found == (right.lane, right.low),
        f"Four lanes share row {ROW}, each with 32 columns; column {COL} is bit {right.low} of the third of them.",
        (found == (right.low, right.lane), "Right numbers, wrong order: the lane first."),
        (
            found == (right.lane, 31 - right.low),
            "The lane is right. You counted bits from the top; the first column is the lowest bit.",
        ),
        (
            found == (right.lane, COL),
            "The lane is right. A register has bits 0 to 31: count from the lane's own first column.",
        ),
        (
            found[0] == right.lane,
            "The lane is right. Count from the lane's own first column; the first is bit 0.",
        ),
        (
            found[1] == right.low and found[0] // 4 == ROW,
            "The bit is right, and so are the four lanes of the row. Which of the four has this column?",
        ),
        (
            found[1] == right.low,
            "The bit is right. But the lane is not one of this row: four lanes share each row, beginning with lanes 0 to 3.",
        ),
        otherwise="A lane holds 32 neighbouring bits of a row, so four lanes share a row: lanes 0 to 3 row 0, lanes 4 to 7 row 1.",
    )


@exercise(
    "08.5",
    f"All 128 bits of row 0 of A are 1. Column 0 of B has {ONES} ones. C is 0. **What is `D[0][0]` with `bmmaBitOpXOR`, and what with `bmmaBitOpAND`?**",
    "results = ...  # (XOR, AND)",
)
def bits(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 2, "`(XOR, AND)`")
    A, B = np.ones(XOR.a.shape, dtype=np.uint8), np.zeros(XOR.b.shape, dtype=np.uint8)
    B[:ONES] = 1
    expected = (int(np.count_nonzero(A[0] ^ B[:, 0])), int(np.count_nonzero(A[0] & B[:, 0])))
    return judge(
        found == expected,
        "XOR counts the places where the two differ, AND those where both are 1.",
        (found == expected[::-1], "The other way round: XOR is 1 where the two bits *differ*."),
        (found[1] == expected[1], "AND is right. XOR counts the places where row and column differ."),
        (found[0] == expected[0], "XOR is right. AND counts the places where both are 1."),
        (max(found) > XOR.k, "A popcount of 128 bits is at most 128."),
        otherwise="Write the first few bits of both below each other, do the operation bit by bit, and count the ones that come out.",
    )


@exercise(
    "08.6",
    "Let bit 1 stand for the weight +1 and bit 0 for -1. The tensor core gives `popc`, the number of places where two vectors of 128 bits differ. **Complete the function that turns it into the dot product of the two +1/-1 vectors.**",
    "def dot(popc):\n    return ...",
)
def signs(answer: Any) -> tuple[bool, str]:
    form = "`dot(popc)` gives a whole number"
    found = {p: call(answer, p, form=form) for p in (0, 1, 64, 100, 128)}
    right = {p: (XOR.k - p) - p for p in found}
    return judge(
        found == right,
        "Equal places give +1, different ones -1: 128 - popc of the first kind, popc of the second.",
        (
            found == {p: -v for p, v in right.items()},
            "The sign is wrong: equal vectors have popc 0 and the largest dot product there is.",
        ),
        (
            found == {p: p for p in found},
            "popc counts the places that differ; a place that differs contributes -1, and one that agrees +1.",
        ),
        (
            found == {p: XOR.k - p for p in found},
            "That counts the places that agree. The others do not contribute 0, they contribute -1.",
        ),
        (found[64] != 0, "Try popc = 64: half agree, half differ. What must the dot product be?"),
        (found[0] != right[0], "Try popc = 0: all 128 places agree. What must the dot product be?"),
        otherwise="How many places agree when popc differ? Each agreeing place gives +1, each other one -1.",
    )


@exercise(
    "08.7",
    "A chip that has AND but no XOR can still count differences. You are given three counts of two vectors of 128 bits: `ones_a` and `ones_b`, the set bits of each, and `both`, what AND and popc give. **Write the function that gives popc of their XOR.**",
    "def differences(ones_a, ones_b, both):\n    return ...",
)
def xor_from_and(answer: Any) -> tuple[bool, str]:
    form = "`differences(ones_a, ones_b, both)` gives a whole number"
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 2, (2, 16, XOR.k))
    b[0], b[1], a[2] = a[0], 1 - a[1], 0
    counts = [
        (int(x.sum()), int(y.sum()), int((x & y).sum()), int((x ^ y).sum()))
        for x, y in zip(a, b, strict=True)
    ]
    given = [call(answer, x, y, both, form=form) for x, y, both, _ in counts]
    right = [count for *_, count in counts]
    return judge(
        given == right,
        "A bit that is set in both was counted twice in ones_a + ones_b, and must not be counted at all.",
        (
            given == [x + y - both for x, y, both, _ in counts],
            "That is OR: the places where at least one is set. Where both are set, XOR is 0.",
        ),
        (
            given == [XOR.k - both for *_, both, _ in counts],
            "Places where neither is set do not differ either.",
        ),
        (
            given == [x + y for x, y, *_ in counts],
            "That counts the bits that are set in both twice, although they do not differ.",
        ),
        (
            given == [abs(x - y) for x, y, *_ in counts],
            "Two vectors can have equally many ones and still differ everywhere.",
        ),
        (
            given[0] != right[0],
            "Try two equal vectors: ones_a, ones_b and both are the same number, and nothing differs.",
        ),
        (given[2] != right[2], "Try an a without ones: both is 0, and the two differ wherever b is set."),
        otherwise="How many bits are set in a but not in b? And the other way round?",
    )


@exercise(
    "08.8",
    f"`{S8.mnemonic}` multiplies 8 x 16 by 16 x 32. **How many 32-bit registers of A, of B and of D does every lane hold?** (No element is held twice here.)",
    "registers = ...  # (A, B, D)",
)
def other_shape(answer: Any) -> tuple[bool, str]:
    found = whole(answer, 3, "`(A, B, D)`")
    expected = S8.a.registers, S8.b.registers, S8.d.registers
    return judge(
        found == expected,
        "128 elements of A are one register of four bytes in each lane, 512 of B four, and the 256 sums of 32 bits eight.",
        (
            found == (expected[1], expected[0], expected[2]),
            "A and B have changed places: m8n32k16 has a *low* A and a *wide* B.",
        ),
        (found == (2, 2, 8), "That is m16n16k16. Here A has 8 rows and B 32 columns."),
        (
            found == tuple(4 * n for n in expected[:2]) + expected[2:],
            "Those are elements. Four elements of 8 bits share a register.",
        ),
        (
            found == tuple(op.shape[0] * op.shape[1] for op in (S8.a, S8.b, S8.d)),
            "Those are the elements of the whole matrices. 32 lanes share them.",
        ),
        (found[:2] == expected[:2], "A and B are right. Elements of D have 32 bits, one to a register."),
        (
            found[::2] == expected[::2],
            "A and D are right. B has 16 x 32 elements: how many of them are a lane's, and how many of those share a register?",
        ),
        (
            found[1:] == expected[1:],
            "B and D are right. A has 8 x 16 elements: how many of them are a lane's, and how many of those share a register?",
        ),
        otherwise="Elements of the matrix, divided by 32 lanes, divided by the elements in one register: four of `s8`, one of `s32`.",
    )
