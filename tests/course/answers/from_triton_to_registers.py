"""Answers to the exercises of lesson 31: what became of a Triton kernel, and where a barrier belongs."""

from __future__ import annotations

from typing import Any

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "31.1": "(128, 512)",
    "31.2": "(131072, 7)",
    "31.3": "754",
    "31.4": "(86, 9)",
    "31.5": "25",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("31.3", 128 * 5 + 16 * (2 ^ 5) + 2),
    ("31.4", (2 * 32 + 4 * 5 + 2, 4 * 2 + 1)),
    ("31.5", 26),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("31.1", (128, 256), "take two"),
    ("31.1", (128, 64), "number of iterations"),
    ("31.1", (128, 2048), "execute one `wgmma` together"),
    ("31.1", (128, 8), "one iteration"),
    ("31.1", (64, 1024), "goes up to 256"),
    ("31.1", (256, 256), "number of columns"),
    ("31.1", (128, 1), "Divide"),
    ("31.1", 512, "2 whole numbers"),
    ("31.2", (65536, 7), "has 2 bytes"),
    ("31.2", (32768, 7), "one stage"),
    ("31.2", (131072, 8), "Too many"),
    ("31.2", (131072, 4), "How many times"),
    ("31.2", (262144, 7), "Twice too much"),
    ("31.2", (49152, 3), "A stage is a tile"),
    ("31.3", 674, "without a swizzle"),
    ("31.3", 337, "Those are elements"),
    ("31.3", 752, "where its 16-byte vector begins"),
    ("31.3", 706, "16 *bytes*"),
    ("31.3", 640, "The row is right"),
    ("31.3", 34, "A row of 64"),
    ("31.4", (22, 9), "lane in its warp"),
    ("31.4", (86, 1), "repeat"),
    ("31.4", (86, 11), "lower eight rows"),
    ("31.4", (86, 8), "even column"),
    ("31.4", (86, 20), "Which bits"),
    ("31.4", (85, 9), "The register is right"),
    ("31.4", (37, 21), "row and column"),
    ("31.4", (0, 0), "16 for each warp"),
    ("31.5", 27, "Too late"),
    ("31.5", 24, "separates nothing"),
    ("31.5", 30, "comes earlier"),
    ("31.5", 12, "choose one of the lines"),
]

#: What no hint may say: the answer.
SECRET: dict[str, str] = {
    "31.1": r"\b512\b",
    "31.2": r"\b7\b",
    "31.3": r"\b754\b",
    "31.4": r"\b86\b",
}
