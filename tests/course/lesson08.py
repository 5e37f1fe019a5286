"""Answers to the exercises of lesson 08: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "08.1": "(32, 1)",
    "08.2": "0xD21807F3",
    "08.3": "(128, 48)",
    "08.4": "(14, 13)",
    "08.5": "(88, 40)",
    "08.6": "128 - 2 * popc",
    "08.7": "ones_a + ones_b - 2 * both",
    "08.8": "(1, 4, 8)",
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "08.1": [(32, 1)],
    "08.2": [
        0xD21807F3,
        "0xd21807f3",
        np.uint32(0xD21807F3),
        np.array(0xD21807F3, dtype=np.uint32).view(np.int32),
    ],
    "08.3": [(128, 48), [128, 48], np.array([128, 48])],
    "08.4": [(14, 13)],
    "08.5": [(88, 40)],
    "08.6": [lambda popc: 128 - 2 * popc, lambda popc: np.int64(128) - popc - popc],
    "08.7": [
        lambda ones_a, ones_b, both: ones_a + ones_b - 2 * both,
        lambda ones_a, ones_b, both: (ones_a - both) + (ones_b - both),
        lambda ones_a, ones_b, both: np.int64(ones_a) + ones_b - both - both,
    ],
    "08.8": [(1, 4, 8), [1, 4, 8]],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "08.1": [
        ((1024, 32), "whole matrix"),
        ((1, 32), "order"),
        ((32, 32), "one by one"),
        ((32, 4), "one `unsigned`"),
        ((8, 1), "s4"),
        ((128, 4), "whole row"),
        ((1024, 1), "That many elements"),
        ((3, 3), "32 lanes"),
    ],
    "08.2": [
        (0x3F70812D, "order is not"),
        (0xF30718D2, "memory order"),
        (0x2D81703F, "low half"),
        (0xB2180793, "two's complement"),
        (0x1D21807F3, "eight hexadecimal digits"),
        (0xD21807F1, "right-hand end"),
        (0xD2180713, "which four bits"),
        (0xF3, "Continue to the left"),
    ],
    "08.3": [
        ((48, 128), "order"),
        ((100, 37), "middle of a block of 16 bytes"),
        ((256, 96), "`b1`"),
        ((160, 60), "not the smallest"),
        ((96, 36), "overlap"),
        ((112, 42), "16 *elements*"),
        ((104, 39), "whole words"),
        ((101, 38), "multiple of 32"),
        ((128, 384), "in elements"),
        ((128, 192), "in bytes"),
        ((128, 32), "neighbouring row"),
        ((128, 3), "How many words"),
    ],
    "08.4": [
        ((14, 18), "from the top"),
        ((14, 77), "bits 0 to 31"),
        ((14, 0), "lane is right"),
        ((3, 13), "not one of this row"),
        ((15, 13), "Which of the four"),
        ((13, 14), "order"),
        ((0, 0), "share a row"),
    ],
    "08.5": [
        ((40, 88), "other way round"),
        ((128, 40), "XOR counts"),
        ((88, 128), "AND counts"),
        ((200, 200), "at most 128"),
        ((1, 2), "count the ones"),
    ],
    "08.6": [
        (lambda popc: 2 * popc - 128, "sign"),
        (lambda popc: popc, "differ"),
        (lambda popc: 128 - popc, "contribute 0"),
        (lambda popc: 100 - popc, "popc = 64"),
        (lambda popc: 64 - popc, "popc = 0"),
    ],
    "08.7": [
        (lambda ones_a, ones_b, both: ones_a + ones_b - both, "OR"),
        (lambda ones_a, ones_b, both: 128 - both, "neither"),
        (lambda ones_a, ones_b, both: ones_a + ones_b, "twice"),
        (lambda ones_a, ones_b, both: abs(ones_a - ones_b), "equally many"),
        (lambda ones_a, ones_b, both: both, "two equal vectors"),
        (lambda ones_a, ones_b, both: 0, "without ones"),
        (
            lambda ones_a, ones_b, both: ones_a + ones_b - 2 * both if both == 0 or ones_a == both else 1,
            "in a but not in b",
        ),
    ],
    "08.8": [
        ((4, 1, 8), "exchanged"),
        ((2, 2, 8), "m16n16k16"),
        ((4, 16, 8), "share a register"),
        ((1, 4, 2), "A and B are right"),
        ((1, 2, 8), "A and D are right"),
        ((2, 4, 8), "B and D are right"),
        ((128, 512, 256), "whole matrices"),
        ((0, 0, 0), "32 lanes"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "08.2": r"(?i)d21807f3",
    "08.3": r"\b48\b|\b128\b",
    "08.4": r"\b14\b|\b13\b",
    "08.5": r"\b88\b|\b40\b",
    "08.7": r"2 \*|- both",
    "08.8": r"\b1, 4\b",
}
