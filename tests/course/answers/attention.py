"""Lesson 13: parts of the kernels, right in several ways and wrong in typical ones; tiles and cycles."""

from __future__ import annotations

from math import ceil
from typing import Any

from tests.course.answers import completed
from tests.texts import filled, replaced

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
    "if (key + i / 4 * 8 + thread_in_group() * 2 + i % 2 > query + group() + i / 2 % 2 * 8) s[i] = NONE;"
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
    "13.1": "(12, 15, 16, 1, 2)",
    "13.2": _REPACK,
    "13.3": "(1 / 4, 2.5 / 4 + 2, 1.75 / 4 + 4)",
    "13.4": _RESCALE,
    "13.5": "(n := -(-(block + 1) * queries // block_n), n - block * queries // block_n)",
    "13.6": _MASK,
    "13.7": "(1024, 512, 512, 512)",
    "13.8": "{1, 3, 5}",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("13.1", (12, 15, 16, 2, 1)),
    (
        "13.2",
        completed(
            "13.2",
            "a[0] = f16x2(s[0], s[1]); a[1] = f16x2(s[2], s[3]); "
            "a[2] = f16x2(s[4], s[5]); a[3] = f16x2(s[6], s[7]);",
        ),
    ),
    (
        "13.4",  # the difference of the scaled numbers, in one FMA each
        completed("13.4", replaced(_RESCALE, "(s[i] - top) * scale", "fmaf(s[i], scale, -top * scale)")),
    ),
    ("13.5", counted_tiles),
    ("13.5", lambda b, q, n: [ceil((b + 1) * q / n), ceil((b + 1) * q / n) - b * q // n]),
    (
        "13.6",
        completed(
            "13.6",
            "int row = query + group(), column = key + thread_in_group() * 2; "
            "for (int j = 0; j < 2; j++) for (int r = 0; r < 2; r++) for (int c = 0; c < 2; c++) "
            "s[4 * j + 2 * r + c] = column + 8 * j + c <= row + 8 * r ? s[4 * j + 2 * r + c] : NONE;",
        ),
    ),
    ("13.8", [5, 1, 3]),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("13.1", (0, 31, 16, 1, 2), "one group of four"),
    ("13.1", (44, 47, 16, 1, 2), "only 32 lanes"),
    ("13.1", (8, 11, 16, 1, 2), "Which groupID"),
    ("13.1", (12, 15, 32, 1, 2), "both rows"),
    ("13.1", (12, 15, 2, 1, 2), "eight tiles"),
    ("13.1", (12, 15, 8, 1, 2), "evenly"),
    ("13.1", (12, 15, 16, 8, 16), "other rows"),
    ("13.1", (12, 15, 16, 1, 3), "Which two bits"),
    *(
        ("13.2", completed("13.2", body), words)
        for body, words in (
            (replaced(_REPACK, "s[2 * r], s[2 * r + 1]", "s[2 * r + 1], s[2 * r]"), "halves"),
            (replaced(_REPACK, "a[r]", "a[r / 2 + r % 2 * 2]"), "Registers 1 and 2 are swapped"),
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
    ("13.3", (4, 12, 11), "Do they grow"),
    ("13.3", (0.25, 4.5, 5.75), "l was not rescaled"),
    ("13.3", (0.25, 2.625, 5.75), "O was not rescaled"),
    ("13.3", (0.25, 10.625, 4), "reference now"),
    ("13.3", (0.25, 2.625, 1.6904761904761905), "division comes"),
    ("13.3", (0.25, 2.625, 4), "weight times value"),
    ("13.3", (0.25, 2, 4), "factor is right"),
    ("13.3", (0.6, 2, 4), "new maximum is 5"),
    *(
        ("13.4", completed("13.4", body), words)
        for body, words in (
            (replaced(_RESCALE, "l[row] *= factor; ", ""), "l was not rescaled"),
            (replaced(_RESCALE, "o[i] *= factor; ", ""), "O was not rescaled"),
            (replaced(replaced(_RESCALE, "l[row] *= factor; ", ""), "o[i] *= factor; ", ""), "neither"),
            (replaced(_RESCALE, "k < 4", "k < 32"), "all 32 lanes"),
            (replaced(_RESCALE, _SHUFFLES, ""), "this lane's scores only"),
            (replaced(_RESCALE, "k < 4", "k < 2"), "one more shuffle"),
            (replaced(_RESCALE, "m[row] - top", "top - m[row]"), "its inverse"),
            (replaced(_RESCALE, "m[row] = top; ", ""), "still -inf"),
            (replaced(_RESCALE, "(m[row] - top) * scale", "m[row] - top"), "without `scale`"),
            (replaced(_RESCALE, "(s[i] - top) * scale", "(s[i] - top) * scale * scale"), "applied twice"),
            (replaced(_RESCALE, " * scale", "", 2), "never applied"),
            (replaced(_RESCALE, "i / 2 % 2 == row", "i / 4 == row", 2), "not the maximum"),
            (replaced(_RESCALE, "i / 2 % 2 == row", "i / 2 % 2 != row", 2), "two rows are swapped"),
            (
                f"{_RESCALE} for (int k = 1; k < 4; k *= 2) l[row] += __shfl_xor_sync(~0u, l[row], k);",
                "O / l is not",
            ),
            (replaced(_RESCALE, "l[row] += s[i]", "l[row] += 4 * s[i]"), "four times"),
            (replaced(_RESCALE, "float top = m[row];", "float top;"), "never written"),
        )
    ),
    ("13.5", lambda b, q, n: (counted_tiles(b, q, n)[0], 1), "64 queries and tiles of 32"),
    ("13.5", lambda b, q, n: (counted_tiles(b, q, n)[0], b * q // n), "*not* masked"),
    ("13.5", lambda b, q, n: (b * q // n, 1), "last* query"),
    ("13.5", lambda b, q, n: ((b + 1) * q // n, 1), "Round up"),
    ("13.5", lambda b, q, n: (counted_tiles(b, q, n)[0], q // n), "masked if its last key"),
    ("13.5", lambda b, q, n: (ceil((b + 1) * q / n), ceil(q / n)), "one of the two sizes divides"),
    ("13.5", lambda b, q, n: (b + 1, 1), "is the first that is wrong"),
    ("13.5", 3, "is a function"),
    *(
        ("13.6", completed("13.6", body), words)
        for body, words in (
            (filled(_MASK, NONE="0"), "like any other"),
            (replaced(_MASK, " > query", " >= query"), "diagonal itself"),
            (replaced(_MASK, " > query", " < query"), "*before* the query"),
            (replaced(replaced(_MASK, "key + ", ""), "query + ", ""), "on the diagonal only"),
            (replaced(_MASK, " + i / 2 % 2 * 8", ""), "eight rows further"),
            (replaced(_MASK, " + i / 4 * 8", ""), "eight keys further"),
            (replaced(_MASK, " + i % 2", ""), "one key further"),
            (replaced(_MASK, "i < 8", "i < 0"), "No score"),
            (replaced(_MASK, "thread_in_group()", "group()"), "does `s[i]` have in this lane"),
        )
    ),
    ("13.7", (512, 512, 256, 512), "one product"),
    ("13.7", (2048, 512, 1024, 512), "counts once"),
    ("13.7", (100, 512, 512, 512), "multiply-adds"),
    ("13.7", (1024, 4, 512, 512), "One exponential"),
    ("13.7", (1024, 512, 1024, 512), "proportional"),
    ("13.7", (1024, 512, 512, 256), "How many scores"),
    ("13.8", {1, 2, 3, 5}, "*when* data arrives"),
    ("13.8", {1, 3, 4, 5}, "Rows do not mix"),
    ("13.8", {1, 3, 5, 6}, "Heads are independent"),
    ("13.8", {3, 5}, "cell above"),
    ("13.8", {1, 5}, "other times"),
    ("13.8", {1, 3}, "one rounding"),
    ("13.8", {1, 7}, "six changes"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "13.1": r"\b12\b",
    "13.3": r"2\.625|4\.4375",
    "13.7": r"\b1024\b",
}
