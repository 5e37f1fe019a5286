"""Answers to the exercises of lessons 24 to 27.

Lesson 24: layouts in CuTe's and Triton's words, worked out by hand.
Lesson 27: attention: device functions, right in several ways and wrong in the typical ones; tiles and cycles.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from ptxlab import lessons

Modes = list[tuple[int, int]]


def by_halving(modes: Modes) -> list[int]:
    """Bit by bit, until nothing is left of a digit."""
    found = []
    for size, stride in modes:
        step = 1
        while step < size:
            found.append(step * stride)
            step *= 2
    return found


def _answer(name: str, body: str) -> str:
    """The text that the cell holds once the reader has written `body` in the place of the `...`."""
    return lessons.exercise(name).starter.split('"""')[1].replace("...", body)


_REPACK = "for (int r = 0; r < 4; r++) a[r] = f16x2(s[2 * r], s[2 * r + 1]);"
_SHUFFLES = "for (int k = 1; k < 4; k *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, k)); "
_FACTOR = "float factor = power((m[row] - top) * scale); "
_RESCALE = (
    "float top = m[row]; for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) top = fmaxf(top, s[i]); "
    f"{_SHUFFLES}{_FACTOR}m[row] = top; l[row] *= factor; "
    "for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) { "
    "o[i] *= factor; s[i] = power((s[i] - top) * scale); l[row] += s[i]; }"
)
_MASK = (
    "for (int i = 0; i < 8; i++) "
    "if (key + i / 4 * 8 + thread() * 2 + i % 2 > query + group() + i / 2 % 2 * 8) s[i] = NONE;"
)


def counted_tiles(block: int, queries: int, block_n: int) -> tuple[int, int]:
    """Tile by tile, as long as the last query sees its first key."""
    computed = masked = key = 0
    while key <= (block + 1) * queries - 1:
        computed += 1
        masked += key + block_n - 1 > block * queries
        key += block_n
    return computed, masked


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "24.1": "(93, 13, 5)",
    "24.2": '"((4,8),(2,2)):((16,1),(8,64))"',
    "24.3": "(10, 3)",
    "24.4": '"((4,8),(2,2)):((2,256),(1,2048))"',
    "24.5": "(7, 5)",
    "24.6": "(133, 6)",
    "24.7": '"((2,32),8):((256,1),32)"',
    "24.8": "[stride << bit for size, stride in modes for bit in range(size.bit_length() - 1)]",
    "24.9": '"((4,8),(4,2,2)):((64,1),(16,8,256))"',
    "27.1": "(12, 15, 16, 1, 2)",
    "27.2": _REPACK,
    "27.3": "(1 / 4, 2.5 / 4 + 2, 1.75 / 4 + 4)",
    "27.4": _RESCALE,
    "27.5": "(n := -(-(block + 1) * queries // block_n), n - block * queries // block_n)",
    "27.6": _MASK,
    "27.7": "(1024, 512, 512, 512)",
    "27.8": "{1, 3, 5}",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("24.2", "((_4,_8),(_2,_2)):((_16,_1),(_8,_64))"),
    ("24.2", " ((2, 2, 8), (2, 2)) : ((16, 32, 1), (8, 64)) "),
    ("24.4", "((4,8),(2,2)):((2,256),(1,2048))"),
    ("24.7", "((2,32),(2,4)):((256,1),(32,64))"),
    ("24.8", by_halving),
    ("24.8", lambda modes: tuple(by_halving(modes))),
    ("24.9", "((2,2,2,2,2),(2,2,2,2)):((64,128,1,2,4),(16,32,8,256))"),
    ("27.1", (12, 15, 16, 2, 1)),
    (
        "27.2",
        _answer(
            "27.2",
            "a[0] = f16x2(s[0], s[1]); a[1] = f16x2(s[2], s[3]); "
            "a[2] = f16x2(s[4], s[5]); a[3] = f16x2(s[6], s[7]);",
        ),
    ),
    (
        "27.4",  # the difference of the scaled numbers, in one FMA each
        _answer("27.4", _RESCALE.replace("(s[i] - top) * scale", "fmaf(s[i], scale, -top * scale)")),
    ),
    ("27.5", counted_tiles),
    ("27.5", lambda b, q, n: [ceil((b + 1) * q / n), ceil((b + 1) * q / n) - b * q // n]),
    (
        "27.6",
        _answer(
            "27.6",
            "int row = query + group(), column = key + thread() * 2; "
            "for (int j = 0; j < 2; j++) for (int r = 0; r < 2; r++) for (int c = 0; c < 2; c++) "
            "s[4 * j + 2 * r + c] = column + 8 * j + c <= row + 8 * r ? s[4 * j + 2 * r + c] : NONE;",
        ),
    ),
    ("27.8", [5, 1, 3]),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("24.1", (93, 5, 13), "row comes before"),
    ("24.1", (93, 11, 5), "divided by the 8 columns"),
    ("24.1", (93, 12, 5), "how far down"),
    ("24.1", (69, 5, 4), "index of value 0"),
    ("24.1", (94, 14, 5), "leftmost digit is the fastest"),
    ("24.1", (85, 5, 5), "two digits"),
    ("24.1", (22, 3, 1), "Multiply each of the four digits"),
    ("24.2", "((4,8),(2,2)):((32,1),(16,8))", "That is C"),
    ("24.2", "((4,8),(2,2)):((16,1),(64,8))", "right before"),
    ("24.2", "((4,8),(2,2)):((1,8),(64,4))", "down the columns"),
    ("24.2", "((8,4),(2,2)):((1,16),(8,64))", "lanes 0 to 7"),
    ("24.2", "((4,8),(2,2)):((8,1),(8,32))", "columns of 8"),
    ("24.2", "((4,8),(2,2)):((16,1),(8,16))", "Value 0 is right"),
    ("24.2", "((4,8),(2,2)):((32,1),(8,64))", "Lane 0 is right"),
    ("24.2", "((4,8),(2,2)):((1,1),(1,1))", "how many rows and columns"),
    ("24.2", "((2,2),(4,8)):((8,64),(16,1))", "lane comes first"),
    ("24.2", "((4,8),2):((16,1),8)", "2 values each"),
    ("24.2", "(4,8,2,2):(16,1,8,64)", "4 outermost modes"),
    ("24.2", "((4,8),(2,2))", "shape:stride"),
    ("24.2", "((4,8),(2,2)):(16,1,8,64)", "different forms"),
    ("24.2", ((4, 8), (2, 2)), "no text"),
    ("24.3", (3, 10), "k first"),
    ("24.3", (5, 3), "as for A with 16 rows"),
    ("24.3", (10, 2), "First the index"),
    ("24.3", (13, 2), "First the index"),
    ("24.4", "((4,8),(2,2)):((32,1),(16,8))", "before the composition"),
    ("24.4", "((4,8),(2,2)):((2,8),(1,64))", "8 columns"),
    ("24.4", "((4,8),(2,2)):((8,1024),(4,8192))", "counted bytes"),
    ("24.4", "((4,8),(2,2)):((512,1),(256,8))", "column-major"),
    ("24.4", "((4,8),(2,2)):((2,256),(1,256))", "eight"),
    ("24.4", "((4,8),(2,2)):((2,256),(2048,1))", "lanes are right"),
    ("24.4", "((4,8),(2,2)):((1,1),(1,1))", "rows + columns"),
    ("24.5", (5, 7), "lane comes first"),
    ("24.5", (6, 7), "not move at all"),
    ("24.5", (7, 7), "lane is right"),
    ("24.5", (4, 5), "value is right"),
    ("24.5", (7, 10), "lane is right"),
    ("24.5", (0, 0), "four digits"),
    ("24.6", (6, 133), "thread comes first"),
    ("24.6", (69, 6), "along n first"),
    ("24.6", (101, 6), "neighbouring rows"),
    ("24.6", (5, 6), "lane in its warp"),
    ("24.6", (133, 10), "Triton's order"),
    ("24.6", (133, 2), "come before"),
    ("24.6", (133, 7), "takes four values"),
    ("24.6", (128, 6), "32 * warp + lane"),
    ("24.6", (0, 0), "modulo 4"),
    ("24.7", "(64,8):(8,1)", "row-major"),
    ("24.7", "((32,2),8):((1,256),32)", "share row 0"),
    ("24.7", "((2,32),8):((32,1),64)", "every second column"),
    ("24.7", "((2,32),8):((128,1),16)", "for 16 rows"),
    ("24.7", "((2,32),8):((256,2),32)", "Where does thread 2"),
    ("24.7", "((2,32),8):((8,1),32)", "Where does thread 1"),
    ("24.7", "(64,8):(1,64)", "neighbours in a row"),
    ("24.7", "((8,16),8):((128,1),16)", "there are 64"),
    ("24.8", lambda modes: [stride for _, stride in modes], "one number for each mode"),
    ("24.8", lambda modes: [stride * i for size, stride in modes for i in range(1, size)], "one bit"),
    (
        "24.8",
        lambda modes: [stride * (i + 1) for size, stride in modes for i in range(size.bit_length() - 1)],
        "four steps",
    ),
    ("24.8", lambda modes: by_halving(modes)[::-1], "lowest"),
    ("24.8", lambda modes: sorted(by_halving(modes)), "not in this order"),
    ("24.8", lambda modes: [1, 2, 4], "How many bits"),
    ("24.8", 7, "is a function"),
    ("24.9", "((4,8),(4,2,2)):((4,32),(1,256,16))", "row-major"),
    ("24.9", "((4,8),(4,2,2)):((4,1),(1,8,16))", "as they are"),
    ("24.9", "((4,8),(2,2,2,2)):((64,1),(16,8,32,256))", "keep their order"),
    ("24.9", "((4,8),(4,2,2)):((64,1),(16,256,8))", "lanes are right"),
    ("24.9", "((8,4),(4,2,2)):((1,64),(16,8,256))", "values are right"),
    ("24.9", "((4,8),(4,2,2)):((1,1),(1,1,1))", "join into one mode"),
    ("24.9", "((4,2,2),(4,8)):((16,8,256),(64,1))", "lane comes first"),
    ("27.1", (0, 31, 16, 1, 2), "one group of four"),
    ("27.1", (44, 47, 16, 1, 2), "only 32 lanes"),
    ("27.1", (8, 11, 16, 1, 2), "Which groupID"),
    ("27.1", (12, 15, 32, 1, 2), "both rows"),
    ("27.1", (12, 15, 2, 1, 2), "eight tiles"),
    ("27.1", (12, 15, 8, 1, 2), "evenly"),
    ("27.1", (12, 15, 16, 8, 16), "other rows"),
    ("27.1", (12, 15, 16, 1, 3), "Which two bits"),
    *(
        ("27.2", _answer("27.2", body), words)
        for body, words in (
            (_REPACK.replace("s[2 * r], s[2 * r + 1]", "s[2 * r + 1], s[2 * r]"), "halves"),
            (_REPACK.replace("a[r]", "a[r / 2 + r % 2 * 2]"), "Registers 1 and 2 are swapped"),
            ("for (int r = 0; r < 4; r++) a[r] = __float_as_uint(s[r]);", "bits of"),
            (
                "for (int r = 0; r < 4; r++) "
                "a[r] = __float_as_uint(s[2 * r + 1]) & 0xffff0000 | __float_as_uint(s[2 * r]) >> 16;",
                "bf16",
            ),
            ("a[0] = f16x2(s[0], s[1]); a[1] = f16x2(s[2], s[3]); a[2] = a[0]; a[3] = a[1];", "second tile"),
            ("for (int r = 0; r < 4; r++) a[r] = f16x2(s[r], s[r + 4]);", "neighbours in a row"),
            ("for (int r = 0; r < 4; r++) a[r] = f16x2(s[r], s[r + 1]);", "eight rows down"),
            ("a[0] = f16x2(s[0], s[1])", "expected a"),
        )
    ),
    ("27.3", (4, 12, 11), "Do they grow"),
    ("27.3", (0.25, 4.5, 5.75), "l was not rescaled"),
    ("27.3", (0.25, 2.625, 5.75), "O was not rescaled"),
    ("27.3", (0.25, 10.625, 4), "reference now"),
    ("27.3", (0.25, 2.625, 1.6904761904761905), "division comes"),
    ("27.3", (0.25, 2.625, 4), "weight times value"),
    ("27.3", (0.25, 2, 4), "factor is right"),
    ("27.3", (0.6, 2, 4), "new maximum is 5"),
    *(
        ("27.4", _answer("27.4", body), words)
        for body, words in (
            (_RESCALE.replace("l[row] *= factor; ", ""), "l was not rescaled"),
            (_RESCALE.replace("o[i] *= factor; ", ""), "O was not rescaled"),
            (_RESCALE.replace("l[row] *= factor; ", "").replace("o[i] *= factor; ", ""), "neither"),
            (_RESCALE.replace("k < 4", "k < 32"), "all 32 lanes"),
            (_RESCALE.replace(_SHUFFLES, ""), "this lane's scores only"),
            (_RESCALE.replace("k < 4", "k < 2"), "one more shuffle"),
            (_RESCALE.replace("m[row] - top", "top - m[row]"), "its inverse"),
            (_RESCALE.replace("m[row] = top; ", ""), "still -inf"),
            (_RESCALE.replace("(m[row] - top) * scale", "m[row] - top"), "without `scale`"),
            (_RESCALE.replace("(s[i] - top) * scale", "(s[i] - top) * scale * scale"), "applied twice"),
            (_RESCALE.replace(" * scale", ""), "never applied"),
            (_RESCALE.replace("i / 2 % 2 == row", "i / 4 == row"), "not the maximum"),
            (_RESCALE.replace("i / 2 % 2 == row", "i / 2 % 2 != row"), "two rows are swapped"),
            (
                f"{_RESCALE} for (int k = 1; k < 4; k *= 2) l[row] += __shfl_xor_sync(~0u, l[row], k);",
                "O / l is not",
            ),
            (_RESCALE.replace("l[row] += s[i]", "l[row] += 4 * s[i]"), "four times"),
            (_RESCALE.replace("float top = m[row];", "float top;"), "never written"),
        )
    ),
    ("27.5", lambda b, q, n: (counted_tiles(b, q, n)[0], 1), "64 queries and tiles of 32"),
    ("27.5", lambda b, q, n: (counted_tiles(b, q, n)[0], b * q // n), "*not* masked"),
    ("27.5", lambda b, q, n: (b * q // n, 1), "last* query"),
    ("27.5", lambda b, q, n: ((b + 1) * q // n, 1), "Round up"),
    ("27.5", lambda b, q, n: (counted_tiles(b, q, n)[0], q // n), "masked if its last key"),
    ("27.5", lambda b, q, n: (b + 1, 1), "is the first that is wrong"),
    ("27.5", 3, "is a function"),
    *(
        ("27.6", _answer("27.6", body), words)
        for body, words in (
            (_MASK.replace("NONE", "0"), "like any other"),
            (_MASK.replace(" > query", " >= query"), "diagonal itself"),
            (_MASK.replace(" > query", " < query"), "*before* the query"),
            (_MASK.replace("key + ", "").replace("query + ", ""), "on the diagonal only"),
            (_MASK.replace(" + i / 2 % 2 * 8", ""), "eight rows further"),
            (_MASK.replace(" + i / 4 * 8", ""), "eight keys further"),
            (_MASK.replace(" + i % 2", ""), "one key further"),
            (_MASK.replace("i < 8", "i < 0"), "No score"),
            (_MASK.replace("thread()", "group()"), "does `s[i]` have in this lane"),
        )
    ),
    ("27.7", (512, 512, 256, 512), "one product"),
    ("27.7", (2048, 512, 1024, 512), "counts once"),
    ("27.7", (100, 512, 512, 512), "multiply-adds"),
    ("27.7", (1024, 4, 512, 512), "One exponential"),
    ("27.7", (1024, 512, 1024, 512), "proportional"),
    ("27.7", (1024, 512, 512, 256), "How many scores"),
    ("27.8", {1, 2, 3, 5}, "*when* data arrives"),
    ("27.8", {1, 3, 4, 5}, "Rows do not mix"),
    ("27.8", {1, 3, 5, 6}, "Heads are independent"),
    ("27.8", {3, 5}, "cell above"),
    ("27.8", {1, 5}, "other times"),
    ("27.8", {1, 3}, "one rounding"),
    ("27.8", {1, 7}, "six changes"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "24.1": r"\b93\b|\b13\b",
    "24.2": r"\(16,1\)|\(8,64\)",
    "24.3": r"\b10\b",
    "24.4": r"2048|\(2,256\)",
    "24.5": r"\(7, 5\)|\b167\b",
    "24.6": r"\b133\b",
    "24.7": r"\(256,1\)|\(2,32\)",
    "24.8": r"bit_length|<<",
    "24.9": r"\(64,1\)|\b256\b",
    "27.1": r"\b12\b",
    "27.3": r"2\.625|4\.4375",
    "27.7": r"\b1024\b",
}
