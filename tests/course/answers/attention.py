"""Lesson 15: parts of the kernels, right in several ways and wrong in typical ones; tiles and cycles."""

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
    "15.1": "(12, 15, 16, 1, 2)",
    "15.2": _REPACK,
    "15.3": "[12, 13]",
    "15.4": "(1 / 4, 2.5 / 4 + 2, 1.75 / 4 + 4)",
    "15.5": _RESCALE,
    "15.6": "(n := -(-(block + 1) * queries // block_n), n - block * queries // block_n)",
    "15.7": _MASK,
    "15.8": "(1024, 512, 512, 512)",
    "15.9": "{1, 3, 5}",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("15.1", (12, 15, 16, 2, 1)),
    (
        "15.2",
        completed(
            "15.2",
            "a[0] = f16x2(s[0], s[1]); a[1] = f16x2(s[2], s[3]); "
            "a[2] = f16x2(s[4], s[5]); a[3] = f16x2(s[6], s[7]);",
        ),
    ),
    ("15.3", {12, 13}),
    ("15.3", (13, 12)),
    (
        "15.5",  # the difference of the scaled numbers, in one FMA each
        completed("15.5", replaced(_RESCALE, "(s[i] - top) * scale", "fmaf(s[i], scale, -top * scale)")),
    ),
    ("15.6", counted_tiles),
    ("15.6", lambda b, q, n: [ceil((b + 1) * q / n), ceil((b + 1) * q / n) - b * q // n]),
    (
        "15.7",
        completed(
            "15.7",
            "int row = query + group(), column = key + thread_in_group() * 2; "
            "for (int j = 0; j < 2; j++) for (int r = 0; r < 2; r++) for (int c = 0; c < 2; c++) "
            "s[4 * j + 2 * r + c] = column + 8 * j + c <= row + 8 * r ? s[4 * j + 2 * r + c] : NONE;",
        ),
    ),
    ("15.9", [5, 1, 3]),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("15.1", (0, 31, 16, 1, 2), "one group of four"),
    ("15.1", (44, 47, 16, 1, 2), "only 32 lanes"),
    ("15.1", (8, 11, 16, 1, 2), "Which groupID"),
    ("15.1", (12, 15, 32, 1, 2), "both rows"),
    ("15.1", (12, 15, 2, 1, 2), "eight tiles"),
    ("15.1", (12, 15, 8, 1, 2), "evenly"),
    ("15.1", (12, 15, 16, 8, 16), "other rows"),
    ("15.1", (12, 15, 16, 1, 3), "Which two bits"),
    *(
        ("15.2", completed("15.2", body), words)
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
    ("15.3", [14], "no shuffles"),
    ("15.3", [14, 15], "12 to 15"),
    ("15.3", [12], "two lanes"),
    ("15.3", [8, 9], "group of four"),
    ("15.3", [12, 15], "upper half"),
    ("15.4", (4, 12, 11), "Do they grow"),
    ("15.4", (0.25, 4.5, 5.75), "l was not rescaled"),
    ("15.4", (0.25, 2.625, 5.75), "O was not rescaled"),
    ("15.4", (0.25, 10.625, 4), "reference now"),
    ("15.4", (0.25, 2.625, 1.6904761904761905), "division comes"),
    ("15.4", (0.25, 2.625, 4), "weight times value"),
    ("15.4", (0.25, 2, 4), "factor is right"),
    ("15.4", (0.6, 2, 4), "new maximum is 5"),
    *(
        ("15.5", completed("15.5", body), words)
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
    ("15.6", lambda b, q, n: (counted_tiles(b, q, n)[0], 1), "64 queries and tiles of 32"),
    ("15.6", lambda b, q, n: (counted_tiles(b, q, n)[0], b * q // n), "*not* masked"),
    ("15.6", lambda b, q, n: (b * q // n, 1), "last* query"),
    ("15.6", lambda b, q, n: ((b + 1) * q // n, 1), "Round up"),
    ("15.6", lambda b, q, n: (counted_tiles(b, q, n)[0], q // n), "masked if its last key"),
    ("15.6", lambda b, q, n: (ceil((b + 1) * q / n), ceil(q / n)), "one of the two sizes divides"),
    ("15.6", lambda b, q, n: (b + 1, 1), "is the first that is wrong"),
    ("15.6", 3, "is a function"),
    *(
        ("15.7", completed("15.7", body), words)
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
    ("15.8", (512, 512, 256, 512), "one product"),
    ("15.8", (2048, 512, 1024, 512), "counts once"),
    ("15.8", (100, 512, 512, 512), "multiply-adds"),
    ("15.8", (1024, 4, 512, 512), "One exponential"),
    ("15.8", (1024, 512, 1024, 512), "proportional"),
    ("15.8", (1024, 512, 512, 256), "How many scores"),
    ("15.9", {1, 2, 3, 5}, "*when* data arrives"),
    ("15.9", {1, 3, 4, 5}, "Rows do not mix"),
    ("15.9", {1, 3, 5, 6}, "Heads are independent"),
    ("15.9", {3, 5}, "cell above"),
    ("15.9", {1, 5}, "other times"),
    ("15.9", {1, 3}, "one rounding"),
    ("15.9", {1, 7}, "six changes"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "15.1": r"\b12\b",
    "15.3": r"\b12 and 13\b|\b13\b",
    "15.4": r"2\.625|4\.4375",
    "15.8": r"\b1024\b",
}
