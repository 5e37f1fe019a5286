"""Answers to the exercises of lesson 08: worked out by hand from the ISA's formulas and figures."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "08.1": "(32, 1)",
    "08.2": "[32, 64, 128]",
    "08.3": "(14, 13)",
    "08.4": "(88, 40)",
    "08.5": "128 - 2 * popc",
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "08.1": [(32, 1)],
    "08.2": [[32, 64, 128], {128, 64, 32}, np.array([32, 64, 128])],
    "08.3": [(14, 13)],
    "08.4": [(88, 40)],
    "08.5": [lambda popc: 128 - 2 * popc, lambda popc: np.int64(128) - popc - popc],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "08.1": [
        ((1024, 32), "whole matrix"),
        ((1, 32), "order"),
        ((32, 32), "one by one"),
        ((32, 4), "one `unsigned`"),
        ((8, 1), "s4"),
        ((3, 3), "32 lanes"),
    ],
    "08.2": [
        ([16, 32, 48, 64, 128], "bytes"),
        ([128], "b1"),
        ([32, 64], "not they alone"),
        ([16, 32, 48, 64, 100, 128], "Not all"),
        ([256], "Choose"),
        ([48], "16 bytes"),
    ],
    "08.3": [((14, 18), "from the top"), ((14, 77), "bits 0 to 31"), ((14, 0), "lane is right"), ((3, 13), "bit is right"), ((0, 0), "share a row")],
    "08.4": [
        ((40, 88), "other way round"),
        ((128, 40), "XOR counts"),
        ((88, 128), "AND counts"),
        ((200, 200), "at most 128"),
        ((1, 2), "count the ones"),
    ],
    "08.5": [
        (lambda popc: 2 * popc - 128, "sign"),
        (lambda popc: popc, "differ"),
        (lambda popc: 128 - popc, "contribute 0"),
        (lambda popc: 100 - popc, "popc = 64"),
        (lambda popc: 64 - popc, "popc = 0"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "08.3": r"\b14\b|\b13\b",
    "08.4": r"\b88\b|\b40\b",
}
