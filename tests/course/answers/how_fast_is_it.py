"""Answers to the exercises of lesson 12: worked out by hand from cycles, bytes and clocks."""

from __future__ import annotations

from typing import Any


def by_cases(n: int, sparse: bool, in_memory: bool) -> float:
    """Tensor cores and shared memory, each case for itself."""
    if sparse:
        return n / 2 + 16 if in_memory else n / 2
    return max(n / 2, n / 4 + 16) if in_memory else n / 2


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "12.1": "2 * 16 * 8 * 16 / 24 * 4 * 132 * 1.75e9 / 1e12",
    "12.2": "(4, 2, 1)",
    "12.3": "(2731, 4096, 67)",
    "12.4": "max(n / 2, n * (64 if sparse else 32) / 128 + (16 if in_memory else 0))",
    "12.5": "(4 / 3, 224)",
    "12.6": "24",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("12.1", 158),
    ("12.1", 157.7),
    ("12.1", "160"),
    ("12.3", [2730.67, 4096.0, 66.7]),
    ("12.4", by_cases),
    ("12.5", (1.33, 224)),
    ("12.5", [1.333, 224]),
    ("12.6", 24.4),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("12.1", 79, "counts each pair once"),
    ("12.1", 39.4, "on an SM at once"),
    ("12.1", 19.7, "four sub-partitions to an SM"),
    ("12.1", 1.19, "one SM"),
    ("12.1", 157_696, "other units"),
    ("12.1", 90, "1 GHz"),
    ("12.1", 631, "never waits"),
    ("12.1", 7, "multiply by the number of sub-partitions"),
    ("12.2", (24, 12, 6), "in every cycle"),
    ("12.2", (6, 3, 2), "Those are cycles"),
    ("12.2", (16, 2, 1), "whole SM"),
    ("12.2", (3, 2, 1), "can start"),
    ("12.2", (4, 4, 2), "in each sub-partition"),
    ("12.2", (4, 1, 1), "warps in a sub-partition"),
    ("12.2", (4, 2, 2), "With 16 warps"),
    ("12.3", (1365, 2048, 67), "multiply-adds"),
    ("12.3", (10923, 4096, 267), "already include"),
    ("12.3", (683, 4096, 17), "already include"),
    ("12.3", (2000, 4096, 49), "every 1.5 cycles"),
    ("12.3", (2731, 8192, 33), "how often"),
    ("12.3", (2731, 4096, 150), "which the whole"),
    ("12.3", (2731, 4096, 0.67), "In percent"),
    ("12.3", (2731, 4096, 50), "What percentage"),
    ("12.4", lambda n, sparse, in_memory: n / 2 + n / 4 * (1 + sparse) + 16 * in_memory, "hides the other"),
    ("12.4", lambda n, sparse, in_memory: n / 2, "for A and B"),
    ("12.4", lambda n, sparse, in_memory: n / 4 * (1 + sparse) + 16 * in_memory, "tensor cores take longer"),
    ("12.4", lambda n, sparse, in_memory: max(n / 2, n / 4 * (1 + sparse) + 16), "need not be read"),
    ("12.4", lambda n, sparse, in_memory: max(n / 2, n / 4 + 16 * in_memory), "how many bytes of B"),
    ("12.4", lambda n, sparse, in_memory: n, "Begin with dense"),
    ("12.4", lambda n, sparse, in_memory: n / 2 + 3 * in_memory, "adds 64 x 32"),
    (
        "12.4",
        lambda n, sparse, in_memory: 2 * n if sparse else by_cases(n, sparse, in_memory),
        "Dense is right",
    ),
    (
        "12.4",
        lambda n, sparse, in_memory: by_cases(n, sparse, in_memory) + 9 * (sparse and in_memory),
        "sparse with A in memory",
    ),
    ("12.5", (1.5, 224), "the work of two"),
    ("12.5", (0.667, 224), "the work of two"),
    ("12.5", (2, 224), "promises"),
    ("12.5", (1.1, 224), "divided by cycles"),
    ("12.5", (1.33, 256), "a smaller N"),
    ("12.5", (1.33, 128), "not there yet"),
    ("12.6", 48.8, "half the K"),
    ("12.6", 97.6, "k32"),
    ("12.6", 0.041, "other way round"),
    ("12.6", 3, "Take k64"),
    ("12.6", 25, "Take k64"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "12.1": r"\b15[78]\b",
    "12.2": r"\b4, 2\b|\b2, 1\b",
    "12.3": r"\b2731\b|\b4096\b|\b67\b|\b66",
    "12.4": r"\bmax\b|N / 4",
    "12.5": r"\b224\b|1\.3",
    "12.6": r"\b24\b",
}
