"""Answers to the exercises of lesson 22: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "22.1": "column * K + k, K",
    "22.2": "(32, 1)",
    "22.3": "0xD21807F3",
    "22.4": "(128, 48)",
    "22.5": "(14, 13)",
    "22.6": "(88, 40)",
    "22.7": "128 - 2 * popc",
    "22.8": "ones_a + ones_b - 2 * both",
    "22.9": "(1, 4, 8)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("22.1", lambda k, column, N, K: [k + K * column, K]),
    ("22.1", lambda k, column, N, K: np.array([k + K * column, K])),
    ("22.3", np.array(0xD21807F3, dtype=np.uint32).view(np.int32)),
    ("22.7", lambda popc: 128 - 2 * popc),
    ("22.7", lambda popc: np.int64(128) - popc - popc),
    ("22.8", lambda ones_a, ones_b, both: ones_a + ones_b - 2 * both),
    ("22.8", lambda ones_a, ones_b, both: (ones_a - both) + (ones_b - both)),
    ("22.8", lambda ones_a, ones_b, both: np.int64(ones_a) + ones_b - both - both),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("22.1", lambda k, column, N, K: (k * N + column, N), "B by rows"),
    ("22.1", lambda k, column, N, K: (K, column * K + k), "offset comes first"),
    ("22.1", lambda k, column, N, K: (2 * (column * K + k), 2 * K), "bytes"),
    ("22.1", lambda k, column, N, K: (column * N + k, N), "N counts the columns"),
    ("22.1", lambda k, column, N, K: (k, K), "leading dimension is right"),
    ("22.1", lambda k, column, N, K: (column * K + k, 16), "offset is right"),
    ("22.1", lambda k, column, N, K: (0, 0), "whole columns and k"),
    ("22.2", (1024, 32), "whole matrix"),
    ("22.2", (1, 32), "order"),
    ("22.2", (32, 32), "one by one"),
    ("22.2", (32, 4), "one `unsigned`"),
    ("22.2", (8, 1), "s4"),
    ("22.2", (128, 4), "whole row"),
    ("22.2", (1024, 1), "That many elements"),
    ("22.2", (3, 3), "32 lanes"),
    ("22.3", 0x3F70812D, "order is not"),
    ("22.3", 0xF30718D2, "memory order"),
    ("22.3", 0x2D81703F, "low half"),
    ("22.3", 0xB2180793, "two's complement"),
    ("22.3", 0x1D21807F3, "eight hexadecimal digits"),
    ("22.3", 0xD21807F1, "right-hand end"),
    ("22.3", 0xD2180713, "which four bits"),
    ("22.3", 0xF3, "Continue to the left"),
    ("22.4", (48, 128), "order"),
    ("22.4", (100, 37), "middle of a block of 16 bytes"),
    ("22.4", (256, 96), "not the smallest"),
    ("22.4", (96, 36), "overlap"),
    ("22.4", (112, 42), "16 *elements*"),
    ("22.4", (104, 39), "whole words"),
    ("22.4", (101, 38), "multiple of 32"),
    ("22.4", (128, 384), "in elements"),
    ("22.4", (128, 192), "in bytes"),
    ("22.4", (128, 32), "neighbouring row"),
    ("22.4", (128, 3), "How many words"),
    ("22.5", (14, 18), "from the top"),
    ("22.5", (14, 77), "bits 0 to 31"),
    ("22.5", (14, 0), "lane is right"),
    ("22.5", (3, 13), "not one of this row"),
    ("22.5", (15, 13), "Which of the four"),
    ("22.5", (13, 14), "order"),
    ("22.5", (0, 0), "share a row"),
    ("22.6", (40, 88), "other way round"),
    ("22.6", (128, 40), "XOR counts"),
    ("22.6", (88, 128), "AND counts"),
    ("22.6", (200, 200), "at most 128"),
    ("22.6", (1, 2), "count the ones"),
    ("22.7", lambda popc: 2 * popc - 128, "sign"),
    ("22.7", lambda popc: popc, "differ"),
    ("22.7", lambda popc: 128 - popc, "contribute 0"),
    ("22.7", lambda popc: 100 - popc, "popc = 64"),
    ("22.7", lambda popc: 64 - popc, "how many agree"),
    ("22.8", lambda ones_a, ones_b, both: ones_a + ones_b - both, "OR"),
    ("22.8", lambda ones_a, ones_b, both: 128 - both, "neither"),
    ("22.8", lambda ones_a, ones_b, both: ones_a + ones_b, "twice"),
    ("22.8", lambda ones_a, ones_b, both: abs(ones_a - ones_b), "equally many"),
    ("22.8", lambda ones_a, ones_b, both: both, "two equal vectors"),
    ("22.8", lambda ones_a, ones_b, both: 0, "without ones"),
    (
        "22.8",
        lambda ones_a, ones_b, both: ones_a + ones_b - 2 * both if both == 0 or ones_a == both else 1,
        "in a but not in b",
    ),
    ("22.9", (4, 1, 8), "exchanged"),
    ("22.9", (2, 2, 8), "m16n16k16"),
    ("22.9", (4, 16, 8), "share a register"),
    ("22.9", (1, 4, 2), "A and B are right"),
    ("22.9", (1, 2, 8), "A and D are right"),
    ("22.9", (2, 4, 8), "B and D are right"),
    ("22.9", (128, 512, 256), "whole matrices"),
    ("22.9", (0, 0, 0), "32 lanes"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "22.3": r"(?i)d21807f3",
    "22.4": r"\b48\b|\b128\b",
    "22.5": r"\b14\b|\b13\b",
    "22.6": r"\b88\b|\b40\b",
    "22.8": r"2 \*|- both",
    "22.9": r"\b1, 4\b",
}
