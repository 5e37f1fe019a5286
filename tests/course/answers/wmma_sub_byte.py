"""Answers to the exercises of lesson 22: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "22.1": "(32, 1)",
    "22.2": "0xD21807F3",
    "22.3": "(128, 48)",
    "22.4": "(14, 13)",
    "22.5": "(88, 40)",
    "22.6": "128 - 2 * popc",
    "22.7": "ones_a + ones_b - 2 * both",
    "22.8": "(1, 4, 8)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("22.2", np.array(0xD21807F3, dtype=np.uint32).view(np.int32)),
    ("22.6", lambda popc: 128 - 2 * popc),
    ("22.6", lambda popc: np.int64(128) - popc - popc),
    ("22.7", lambda ones_a, ones_b, both: ones_a + ones_b - 2 * both),
    ("22.7", lambda ones_a, ones_b, both: (ones_a - both) + (ones_b - both)),
    ("22.7", lambda ones_a, ones_b, both: np.int64(ones_a) + ones_b - both - both),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("22.1", (1024, 32), "whole matrix"),
    ("22.1", (1, 32), "order"),
    ("22.1", (32, 32), "one by one"),
    ("22.1", (32, 4), "one `unsigned`"),
    ("22.1", (8, 1), "s4"),
    ("22.1", (128, 4), "whole row"),
    ("22.1", (1024, 1), "That many elements"),
    ("22.1", (3, 3), "32 lanes"),
    ("22.2", 0x3F70812D, "order is not"),
    ("22.2", 0xF30718D2, "memory order"),
    ("22.2", 0x2D81703F, "low half"),
    ("22.2", 0xB2180793, "two's complement"),
    ("22.2", 0x1D21807F3, "eight hexadecimal digits"),
    ("22.2", 0xD21807F1, "right-hand end"),
    ("22.2", 0xD2180713, "which four bits"),
    ("22.2", 0xF3, "Continue to the left"),
    ("22.3", (48, 128), "order"),
    ("22.3", (100, 37), "middle of a block of 16 bytes"),
    ("22.3", (256, 96), "not the smallest"),
    ("22.3", (96, 36), "overlap"),
    ("22.3", (112, 42), "16 *elements*"),
    ("22.3", (104, 39), "whole words"),
    ("22.3", (101, 38), "multiple of 32"),
    ("22.3", (128, 384), "in elements"),
    ("22.3", (128, 192), "in bytes"),
    ("22.3", (128, 32), "neighbouring row"),
    ("22.3", (128, 3), "How many words"),
    ("22.4", (14, 18), "from the top"),
    ("22.4", (14, 77), "bits 0 to 31"),
    ("22.4", (14, 0), "lane is right"),
    ("22.4", (3, 13), "not one of this row"),
    ("22.4", (15, 13), "Which of the four"),
    ("22.4", (13, 14), "order"),
    ("22.4", (0, 0), "share a row"),
    ("22.5", (40, 88), "other way round"),
    ("22.5", (128, 40), "XOR counts"),
    ("22.5", (88, 128), "AND counts"),
    ("22.5", (200, 200), "at most 128"),
    ("22.5", (1, 2), "count the ones"),
    ("22.6", lambda popc: 2 * popc - 128, "sign"),
    ("22.6", lambda popc: popc, "differ"),
    ("22.6", lambda popc: 128 - popc, "contribute 0"),
    ("22.6", lambda popc: 100 - popc, "popc = 64"),
    ("22.6", lambda popc: 64 - popc, "how many agree"),
    ("22.7", lambda ones_a, ones_b, both: ones_a + ones_b - both, "OR"),
    ("22.7", lambda ones_a, ones_b, both: 128 - both, "neither"),
    ("22.7", lambda ones_a, ones_b, both: ones_a + ones_b, "twice"),
    ("22.7", lambda ones_a, ones_b, both: abs(ones_a - ones_b), "equally many"),
    ("22.7", lambda ones_a, ones_b, both: both, "two equal vectors"),
    ("22.7", lambda ones_a, ones_b, both: 0, "without ones"),
    (
        "22.7",
        lambda ones_a, ones_b, both: ones_a + ones_b - 2 * both if both == 0 or ones_a == both else 1,
        "in a but not in b",
    ),
    ("22.8", (4, 1, 8), "exchanged"),
    ("22.8", (2, 2, 8), "m16n16k16"),
    ("22.8", (4, 16, 8), "share a register"),
    ("22.8", (1, 4, 2), "A and B are right"),
    ("22.8", (1, 2, 8), "A and D are right"),
    ("22.8", (2, 4, 8), "B and D are right"),
    ("22.8", (128, 512, 256), "whole matrices"),
    ("22.8", (0, 0, 0), "32 lanes"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "22.2": r"(?i)d21807f3",
    "22.3": r"\b48\b|\b128\b",
    "22.4": r"\b14\b|\b13\b",
    "22.5": r"\b88\b|\b40\b",
    "22.7": r"2 \*|- both",
    "22.8": r"\b1, 4\b",
}
