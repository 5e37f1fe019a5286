"""Answers to the exercises of lesson 20: shares, bytes and cycles, counted by hand."""

from __future__ import annotations

from math import sqrt
from typing import Any


def share(m: int, n: int, sparse: bool) -> float:
    """Cycles of the tensor cores by cycles of shared memory, instruction by instruction."""
    column = 64 if sparse else 32
    tensor = memory = 0.0
    for _rows in range(0, m, 64):
        tensor += n / 2
        memory += (64 * 32 + column * n) / 128
    memory += (32 * m + column * n) / 128
    return min(1, tensor / memory)


def _uncapped(m: int, n: int, sparse: bool) -> float:
    column = 64 if sparse else 32
    return m / 64 * n / 2 / ((m / 64 * (2048 + column * n) + 32 * m + column * n) / 128)


def _reads_only(m: int, n: int, sparse: bool) -> float:
    column = 64 if sparse else 32
    return min(1, m / 64 * n / 2 / (m / 64 * (2048 + column * n) / 128))


def _b_once(m: int, n: int, sparse: bool) -> float:
    column = 64 if sparse else 32
    return min(1, m / 64 * n / 2 / (2 * (32 * m + column * n) / 128))


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "20.1": "(1 - kept) ** 0.5",
    "20.2": "[0, 3, 5, 6, 1, 2, 4, 7]",
    "20.3": "M * K * (bits + 2) // 16",
    "20.4": "(1, 1, 54, 20)",
    "20.5": (
        "min(1, m * n / 128 / ((m // 64 * (2048 + n * (64 if sparse else 32))"
        " + 32 * m + n * (64 if sparse else 32)) / 128))"
    ),
    "20.6": "(1.39, 1.04)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("20.1", lambda kept: sqrt(1 - kept)),
    ("20.2", [1, 2, 4, 7, 6, 5, 3, 0]),
    ("20.3", lambda m, k, bits: m * k * bits / 16 + m * k / 8),
    ("20.5", share),
    ("20.6", (1.386, 1.037)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("20.1", lambda kept: 1 - kept, "a length"),
    ("20.1", lambda kept: sqrt(kept), "what remains"),
    ("20.1", lambda kept: 1 - sqrt(kept), "right angles"),
    ("20.1", lambda kept: 100 * sqrt(1 - kept), "not in percent"),
    ("20.1", lambda kept: 0.5, "The relative error is"),
    ("20.2", [0, 1, 2, 3, 4, 5, 6, 7], "original order"),
    ("20.2", [0, 0, 2, 3, 4, 5, 6, 7], "appears once"),
    ("20.2", [0, 1, 5, 4, 2, 3, 6, 7], "row 1 has 3"),
    ("20.3", lambda m, k, bits: m * k * bits // 16, "Metadata is missing"),
    ("20.3", lambda m, k, bits: m * k * bits // 16 + m * k // 4, "stored"),
    ("20.3", lambda m, k, bits: m * k * bits // 16 + m * k // 16, "one nibble"),
    ("20.3", lambda m, k, bits: m * k * bits // 2 + m * k, "Those are bits"),
    ("20.3", lambda m, k, bits: m * k * bits // 8, "dense A"),
    ("20.3", lambda m, k, bits: 7, "M K / 2"),
    ("20.4", (0, 1, 54, 20), "64 rows"),
    ("20.4", (1, 6, 54, 20), "A chunk has 4 columns"),
    ("20.4", (1, 0, 54, 20), "16 chunks"),
    ("20.4", (1, 1, 22, 20), "not in warp 0"),
    ("20.4", (1, 1, 86, 20), "in which warp"),
    ("20.4", (1, 1, 53, 20), "set the slider"),
    ("20.4", (1, 1, 54, 4), "low 16 bits"),
    ("20.5", _uncapped, "all of the time"),
    ("20.5", _reads_only, "TMA writes"),
    ("20.5", _b_once, "each reads all of B"),
    ("20.5", lambda m, n, sparse: share(m, n, False), "That is the dense kernel"),
    ("20.5", lambda m, n, sparse: 1 / share(m, n, sparse), "as long"),
    ("20.5", lambda m, n, sparse: 0.5, "at most 1"),
    ("20.6", (1.57, 1.44), "without pruning"),
    ("20.6", (1.48, 1.23), "compressing alone"),
    ("20.6", (1.46, 1.18), "pruning alone"),
    ("20.6", (1.472, 1.205), "2 bytes"),
    ("20.6", (0.72, 0.96), "as long"),
    ("20.6", (3, 3), "moved 2 + 1"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {}
