"""Answers to the exercises of lesson 30: layouts in CuTe's and Triton's words, worked out by hand."""

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
    "30.1": "(93, 13, 5)",
    "30.2": '"((4,8),(2,2)):((16,1),(8,64))"',
    "30.3": "(10, 3)",
    "30.4": '"((4,8),(2,2)):((2,256),(1,2048))"',
    "30.5": "(7, 5)",
    "30.6": "(133, 6)",
    "30.7": '"((2,32),8):((256,1),32)"',
    "30.8": "[stride << bit for size, stride in modes for bit in range(size.bit_length() - 1)]",
    "30.9": '"((4,8),(4,2,2)):((64,1),(16,8,256))"',
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("30.2", "((_4,_8),(_2,_2)):((_16,_1),(_8,_64))"),
    ("30.2", " ((2, 2, 8), (2, 2)) : ((16, 32, 1), (8, 64)) "),
    ("30.4", "((4,8),(2,2)):((2,256),(1,2048))"),
    ("30.7", "((2,32),(2,4)):((256,1),(32,64))"),
    ("30.8", by_halving),
    ("30.8", lambda modes: tuple(by_halving(modes))),
    ("30.9", "((2,2,2,2,2),(2,2,2,2)):((64,128,1,2,4),(16,32,8,256))"),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("30.1", (93, 5, 13), "row comes before"),
    ("30.1", (93, 11, 5), "divided by the 8 columns"),
    ("30.1", (93, 12, 5), "how far down"),
    ("30.1", (69, 5, 4), "index of value 0"),
    ("30.1", (94, 14, 5), "leftmost digit is the fastest"),
    ("30.1", (85, 5, 5), "two digits"),
    ("30.1", (22, 3, 1), "Multiply each of the four digits"),
    ("30.2", "((4,8),(2,2)):((32,1),(16,8))", "That is C"),
    ("30.2", "((4,8),(2,2)):((16,1),(64,8))", "right before"),
    ("30.2", "((4,8),(2,2)):((1,8),(64,4))", "down the columns"),
    ("30.2", "((8,4),(2,2)):((1,16),(8,64))", "lanes 0 to 7"),
    ("30.2", "((4,8),(2,2)):((8,1),(8,32))", "columns of 8"),
    ("30.2", "((4,8),(2,2)):((16,1),(8,16))", "Value 0 is right"),
    ("30.2", "((4,8),(2,2)):((32,1),(8,64))", "Lane 0 is right"),
    ("30.2", "((4,8),(2,2)):((1,1),(1,1))", "how many rows and columns"),
    ("30.2", "((2,2),(4,8)):((8,64),(16,1))", "lane comes first"),
    ("30.2", "((4,8),2):((16,1),8)", "2 values each"),
    ("30.2", "(4,8,2,2):(16,1,8,64)", "4 outermost modes"),
    ("30.2", "((4,8),(2,2))", "shape:stride"),
    ("30.2", "((4,8),(2,2)):(16,1,8,64)", "different forms"),
    ("30.2", ((4, 8), (2, 2)), "no text"),
    ("30.3", (3, 10), "k first"),
    ("30.3", (5, 3), "as for A with 16 rows"),
    ("30.3", (10, 2), "First the index"),
    ("30.3", (13, 2), "First the index"),
    ("30.4", "((4,8),(2,2)):((32,1),(16,8))", "before the composition"),
    ("30.4", "((4,8),(2,2)):((2,8),(1,64))", "8 columns"),
    ("30.4", "((4,8),(2,2)):((8,1024),(4,8192))", "counted bytes"),
    ("30.4", "((4,8),(2,2)):((512,1),(256,8))", "column-major"),
    ("30.4", "((4,8),(2,2)):((2,256),(1,256))", "eight"),
    ("30.4", "((4,8),(2,2)):((2,256),(2048,1))", "lanes are right"),
    ("30.4", "((4,8),(2,2)):((1,1),(1,1))", "rows + columns"),
    ("30.5", (5, 7), "lane comes first"),
    ("30.5", (6, 7), "not move at all"),
    ("30.5", (7, 7), "lane is right"),
    ("30.5", (4, 5), "value is right"),
    ("30.5", (7, 10), "lane is right"),
    ("30.5", (0, 0), "four digits"),
    ("30.6", (6, 133), "thread comes first"),
    ("30.6", (69, 6), "along n first"),
    ("30.6", (101, 6), "neighbouring rows"),
    ("30.6", (5, 6), "lane in its warp"),
    ("30.6", (133, 10), "Triton's order"),
    ("30.6", (133, 2), "come before"),
    ("30.6", (133, 7), "takes four values"),
    ("30.6", (128, 6), "32 * warp + lane"),
    ("30.6", (0, 0), "modulo 4"),
    ("30.7", "(64,8):(8,1)", "row-major"),
    ("30.7", "((32,2),8):((1,256),32)", "share row 0"),
    ("30.7", "((2,32),8):((32,1),64)", "every second column"),
    ("30.7", "((2,32),8):((128,1),16)", "for 16 rows"),
    ("30.7", "((2,32),8):((256,2),32)", "Where does thread 2"),
    ("30.7", "((2,32),8):((8,1),32)", "Where does thread 1"),
    ("30.7", "(64,8):(1,64)", "neighbours in a row"),
    ("30.7", "((8,16),8):((128,1),16)", "there are 64"),
    ("30.8", lambda modes: [stride for _, stride in modes], "one number for each mode"),
    ("30.8", lambda modes: [stride * i for size, stride in modes for i in range(1, size)], "one bit"),
    (
        "30.8",
        lambda modes: [stride * (i + 1) for size, stride in modes for i in range(size.bit_length() - 1)],
        "four steps",
    ),
    ("30.8", lambda modes: by_halving(modes)[::-1], "lowest"),
    ("30.8", lambda modes: sorted(by_halving(modes)), "not in this order"),
    ("30.8", lambda modes: [1, 2, 4], "How many bits"),
    ("30.8", 7, "is a function"),
    ("30.9", "((4,8),(4,2,2)):((4,32),(1,256,16))", "row-major"),
    ("30.9", "((4,8),(4,2,2)):((4,1),(1,8,16))", "as they are"),
    ("30.9", "((4,8),(2,2,2,2)):((64,1),(16,8,32,256))", "keep their order"),
    ("30.9", "((4,8),(4,2,2)):((64,1),(16,256,8))", "lanes are right"),
    ("30.9", "((8,4),(4,2,2)):((1,64),(16,8,256))", "values are right"),
    ("30.9", "((4,8),(4,2,2)):((1,1),(1,1,1))", "join into one mode"),
    ("30.9", "((4,2,2),(4,8)):((16,8,256),(64,1))", "lane comes first"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "30.1": r"\b93\b|\b13\b",
    "30.2": r"\(16,1\)|\(8,64\)",
    "30.3": r"\b10\b",
    "30.4": r"2048|\(2,256\)",
    "30.5": r"\(7, 5\)|\b167\b",
    "30.6": r"\b133\b",
    "30.7": r"\(256,1\)|\(2,32\)",
    "30.8": r"bit_length|<<",
    "30.9": r"\(64,1\)|\b256\b",
}
