"""Answers to the exercises of lesson 24: layouts in CuTe's and Triton's words, worked out by hand."""

from __future__ import annotations

from typing import Any

Modes = list[tuple[int, int]]


def by_halving(modes: Modes) -> list[int]:
    """Bit by bit, until nothing is left of a digit."""
    found = []
    for size, stride in modes:
        step = 1
        while step < size:
            found.append(step * stride)
            step *= 2
    return found


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "24.1": "(93, 13, 5)",
    "24.2": '"((4,8),(2,2)):((16,1),(8,64))"',
    "24.3": "(10, 3)",
    "24.4": '"((4,8),(2,2)):((2,256),(1,2048))"',
    "24.5": "(7, 5)",
    "24.6": "(133, 6)",
    "24.7": '"((2,32),8):((256,1),32)"',
    "24.8": "[stride << bit for size, stride in modes for bit in range(size.bit_length() - 1)]",
    "24.9": '"((4,8),(4,2,2)):((64,1),(16,8,256))"',
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("24.2", "((_4,_8),(_2,_2)):((_16,_1),(_8,_64))"),
    ("24.2", " ((2, 2, 8), (2, 2)) : ((16, 32, 1), (8, 64)) "),
    ("24.4", "((4,8),(2,2)):((2,256),(1,2048))"),
    ("24.7", "((2,32),(2,4)):((256,1),(32,64))"),
    ("24.8", by_halving),
    ("24.8", lambda modes: tuple(by_halving(modes))),
    ("24.9", "((2,2,2,2,2),(2,2,2,2)):((64,128,1,2,4),(16,32,8,256))"),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("24.1", (93, 5, 13), "row comes before"),
    ("24.1", (93, 11, 5), "divided by the 8 columns"),
    ("24.1", (93, 12, 5), "how far down"),
    ("24.1", (69, 5, 4), "index of value 0"),
    ("24.1", (94, 14, 5), "leftmost digit is the fastest"),
    ("24.1", (85, 5, 5), "two digits"),
    ("24.1", (22, 3, 1), "Multiply each of the four digits"),
    ("24.2", "((4,8),(2,2)):((32,1),(16,8))", "That is C"),
    ("24.2", "((4,8),(2,2)):((16,1),(64,8))", "right before"),
    ("24.2", "((4,8),(2,2)):((1,8),(64,4))", "down the columns"),
    ("24.2", "((8,4),(2,2)):((1,16),(8,64))", "lanes 0 to 7"),
    ("24.2", "((4,8),(2,2)):((8,1),(8,32))", "columns of 8"),
    ("24.2", "((4,8),(2,2)):((16,1),(8,16))", "Value 0 is right"),
    ("24.2", "((4,8),(2,2)):((32,1),(8,64))", "Lane 0 is right"),
    ("24.2", "((4,8),(2,2)):((1,1),(1,1))", "how many rows and columns"),
    ("24.2", "((2,2),(4,8)):((8,64),(16,1))", "lane comes first"),
    ("24.2", "((4,8),2):((16,1),8)", "2 values each"),
    ("24.2", "(4,8,2,2):(16,1,8,64)", "4 outermost modes"),
    ("24.2", "((4,8),(2,2))", "shape:stride"),
    ("24.2", "((4,8),(2,2)):(16,1,8,64)", "different forms"),
    ("24.2", ((4, 8), (2, 2)), "no text"),
    ("24.3", (3, 10), "k first"),
    ("24.3", (5, 3), "as for A with 16 rows"),
    ("24.3", (10, 2), "First the index"),
    ("24.3", (13, 2), "First the index"),
    ("24.4", "((4,8),(2,2)):((32,1),(16,8))", "before the composition"),
    ("24.4", "((4,8),(2,2)):((2,8),(1,64))", "8 columns"),
    ("24.4", "((4,8),(2,2)):((8,1024),(4,8192))", "counted bytes"),
    ("24.4", "((4,8),(2,2)):((512,1),(256,8))", "column-major"),
    ("24.4", "((4,8),(2,2)):((2,256),(1,256))", "eight"),
    ("24.4", "((4,8),(2,2)):((2,256),(2048,1))", "lanes are right"),
    ("24.4", "((4,8),(2,2)):((1,1),(1,1))", "rows + columns"),
    ("24.5", (5, 7), "lane comes first"),
    ("24.5", (6, 7), "not move at all"),
    ("24.5", (7, 7), "lane is right"),
    ("24.5", (4, 5), "value is right"),
    ("24.5", (7, 10), "lane is right"),
    ("24.5", (0, 0), "four digits"),
    ("24.6", (6, 133), "thread comes first"),
    ("24.6", (69, 6), "along n first"),
    ("24.6", (101, 6), "neighbouring rows"),
    ("24.6", (5, 6), "lane in its warp"),
    ("24.6", (133, 10), "Triton's order"),
    ("24.6", (133, 2), "come before"),
    ("24.6", (133, 7), "takes four values"),
    ("24.6", (128, 6), "32 * warp + lane"),
    ("24.6", (0, 0), "modulo 4"),
    ("24.7", "(64,8):(8,1)", "row-major"),
    ("24.7", "((32,2),8):((1,256),32)", "share row 0"),
    ("24.7", "((2,32),8):((32,1),64)", "every second column"),
    ("24.7", "((2,32),8):((128,1),16)", "for 16 rows"),
    ("24.7", "((2,32),8):((256,2),32)", "Where does thread 2"),
    ("24.7", "((2,32),8):((8,1),32)", "Where does thread 1"),
    ("24.7", "(64,8):(1,64)", "neighbours in a row"),
    ("24.7", "((8,16),8):((128,1),16)", "there are 64"),
    ("24.8", lambda modes: [stride for _, stride in modes], "one number for each mode"),
    ("24.8", lambda modes: [stride * i for size, stride in modes for i in range(1, size)], "one bit"),
    (
        "24.8",
        lambda modes: [stride * (i + 1) for size, stride in modes for i in range(size.bit_length() - 1)],
        "four steps",
    ),
    ("24.8", lambda modes: by_halving(modes)[::-1], "lowest"),
    ("24.8", lambda modes: sorted(by_halving(modes)), "not in this order"),
    ("24.8", lambda modes: [1, 2, 4], "How many bits"),
    ("24.8", 7, "is a function"),
    ("24.9", "((4,8),(4,2,2)):((4,32),(1,256,16))", "row-major"),
    ("24.9", "((4,8),(4,2,2)):((4,1),(1,8,16))", "as they are"),
    ("24.9", "((4,8),(2,2,2,2)):((64,1),(16,8,32,256))", "keep their order"),
    ("24.9", "((4,8),(4,2,2)):((64,1),(16,256,8))", "lanes are right"),
    ("24.9", "((8,4),(4,2,2)):((1,64),(16,8,256))", "values are right"),
    ("24.9", "((4,8),(4,2,2)):((1,1),(1,1,1))", "join into one mode"),
    ("24.9", "((4,2,2),(4,8)):((16,8,256),(64,1))", "lane comes first"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "24.1": r"\b93\b|\b13\b",
    "24.2": r"\(16,1\)|\(8,64\)",
    "24.3": r"\b10\b",
    "24.4": r"2048|\(2,256\)",
    "24.5": r"\(7, 5\)|\b167\b",
    "24.6": r"\b133\b",
    "24.7": r"\(256,1\)|\(2,32\)",
    "24.8": r"bit_length|<<",
    "24.9": r"\(64,1\)|\b256\b",
}
