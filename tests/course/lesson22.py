"""Answers to the exercises of lesson 22: lanes, columns and bits, counted by hand."""

from __future__ import annotations

from typing import Any

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "22.1": "(224, 256, 2)",
    "22.2": "[2, 6, 10]",
    "22.3": "1 << 4 | 1 << 7 | 1 << 10 | 160 // 8 << 17 | 128 // 16 << 24",
    "22.4": "(37, 100, 85, 36, 117, 4)",
    "22.5": "0x08300490",
    "22.6": "(77, 13, 86, 7)",
    "22.7": "(88, 38, 24)",
    "22.8": "[2, 8, 3, 6, 1, 5, 9, 0, 7, 4]",
    "22.9": "(77, 37, 22, 53, 6, 75)",
}

#: Right answers, in all forms that a reader might give them.
RIGHT: dict[str, list[Any]] = {
    "22.1": [[224, "0x100", 2]],
    "22.2": [{10, 2, 6}],
    "22.3": ["0x08280490", 0x8280490],
    "22.4": [((37, 100), (85, 36), (117, 4))],
    "22.5": ["0x8300490", 0x4300490 ^ 0xC000000],
    "22.6": [((77, 13), (86, 7))],
    "22.7": [[32 * 2 + 8 + 16, 0x20 + 27 // 4, 8 * (27 % 4)]],
    "22.8": [[8, 3, 2, 6, 1, 5, 9, 0, 7, 4], [8, 2, 3, 6, 1, 5, 9, 0, 7, 4]],
    "22.9": [[[77, 37], [22, 53], [6, 75]]],
}

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "22.1": [
        ((128, 128, 4), "two accumulators"),
        ((256, 256, 2), "share a word"),
        ((192, 256, 2), "A is there too"),
        ((100, 128, 4), "one for each f32"),
        ((224, 224, 2), "powers of two"),
        ((224, 512, 1), "next power"),
        ((224, 256, 4), "How many times"),
    ],
    "22.2": [
        ([], "Some warps"),
        ([2, 14], "not all warps of the block"),
        (range(12), "No warp reaches all"),
        ([2], "in common"),
        ([1, 5, 9], "hexadecimal"),
        ([2, 6], "Not all of them"),
        ([0, 3], "Divide it by 32"),
    ],
    "22.3": [
        (0x490 | 160 << 17 | 128 << 24, "not stored as they are"),
        (0x490 | 20 << 17 | 8 << 23, "begins at bit 24"),
        (0x490 | 20 << 17 | 16 << 24, "only N counts"),
        (0x490 | 10 << 17 | 8 << 24, "only M counts"),
        (0x4D0 | 20 << 17 | 8 << 24, "bit 6 is 1"),
        (0x490 | 20 << 17 | 7 << 24, "M = 112"),
        (0x490 | 32 << 17 | 8 << 24, "N = 256"),
        (0x010 | 20 << 17 | 8 << 24, "code of bf16"),
        (0x480 | 20 << 17 | 8 << 24, "D would be f16"),
        (0x8490 | 20 << 17 | 8 << 24, "some other bit"),
    ],
    "22.4": [
        ((21, 100, 85, 36, 117, 4), "row r is not in lane r"),
        ((42, 100, 85, 36, 117, 4), "every second lane"),
        ((53, 100, 85, 36, 117, 4), "number 5 of its 16"),
        ((37, 100, 37, 100, 117, 4), "no lane is left free"),
        ((37, 100, 21, 100, 117, 4), "in lanes 64 and on"),
        ((37, 100, 85, 100, 117, 4), "begin at column 0"),
        ((37, 100, 64, 0, 117, 4), "rows in lanes 0 to 63"),
        ((37, 100, 85, 36, 85, 36), "four groups"),
        ((37, 100, 85, 36, 117, 100), "All lanes are right"),
        ((37, 100, 85, 36, 21, 4), "which quarter"),
    ],
    "22.5": [
        (0x04300490, "that the kernel has"),
        (0xFFFFFFFF, "not a descriptor"),
        (0x04300010, "still 64"),
        (0x10300490, "two CTAs"),
        (0x0C300490, "M = 192"),
        (0x08400490, "N = 256"),
        (0x08300010, "lower 16 bits"),
    ],
    "22.6": [
        ((13, 13, 86, 7), "all four warps"),
        ((13, 77, 86, 7), "not the other way"),
        ((76, 13, 86, 7), "a lane of its own"),
        ((77, 13, 22, 7), "64 to 95"),
        ((77, 13, 100, 7), "no other warp"),
        ((77, 13, 85, 7), "row 13 of 16"),
        ((77, 13, 86, 3), "next four registers"),
        ((77, 13, 86, 5), "row 13, column 5"),
    ],
    "22.7": [
        ((72, 38, 24), "upper half of the address"),
        ((40, 38, 24), "not r lanes"),
        ((56, 38, 24), "not r lanes"),
        ((80, 38, 24), "32 lanes further"),
        ((88, 6, 24), "not at 0"),
        ((88, 59, 24), "share a column"),
        ((88, 45, 24), "share a column"),
        ((88, 38, 0), "bits 0 to 7"),
    ],
    "22.8": [
        (list(range(10)), "in the list"),
        ([0] * 10, "appears once"),
        ([8, 3, 6, 2, 1, 5, 9, 0, 7, 4], "D needs a place"),
        ([2, 3, 8, 6, 1, 5, 9, 0, 7, 4], "makes the stores"),
        ([2, 8, 6, 3, 1, 5, 9, 0, 7, 4], "in shared memory before"),
        ([2, 8, 3, 6, 5, 1, 9, 0, 7, 4], "nothing arrives"),
        ([2, 8, 3, 6, 1, 5, 0, 9, 7, 4], "asynchronous"),
        ([2, 8, 3, 6, 1, 5, 9, 7, 0, 4], "already been issued"),
        ([2, 8, 3, 6, 1, 5, 9, 0, 4, 7], "has been loaded"),
    ],
    "22.9": [
        ((77, 5, 22, 53, 6, 75), "0x20 columns after the start"),
        ((77, 101, 22, 53, 6, 75), "begins at column 0x40"),
        ((13, 37, 22, 53, 6, 75), "threads are lanes"),
        ((77, 37, 54, 53, 6, 75), "that is the lane"),
        ((77, 37, 38, 53, 6, 75), "subtract the 16"),
        ((77, 37, 22, 21, 6, 75), "after the start of D"),
        ((77, 37, 22, 41, 6, 75), "four registers"),
        ((77, 37, 22, 53, 70, 11), "no row 70"),
        ((77, 37, 22, 53, 7, 75), "has all rows"),
        ((77, 37, 22, 53, 6, 11), "group of columns"),
        ((77, 37, 22, 53, 6, 27), "N = 128"),
    ],
}

#: What a hint must not give away.
SECRET: dict[str, str] = {
    "22.3": r"(?i)8280490",
    "22.5": r"(?i)8300490",
}
