"""Answers to the exercises of lessons 20 to 23.

Lesson 20: bytes, cycles and waves, counted by hand.
Lesson 21: shares, bytes and cycles, counted by hand.
Lesson 22: lanes, columns and registers, counted by hand.
Lesson 23: bytes, lanes and columns of scale factors, counted by hand.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any

_TURN = "{\n    cp_async_wait<STAGES - 2>();\n    __syncthreads();\n    load(i + STAGES - 1);\n}"


def blocks_times_reads(m: int, n: int, k: int, block_m: int, block_n: int) -> int:
    """Every block's rows and columns, one block after the other."""
    total = 0
    for _row in range(0, m, block_m):
        for _column in range(0, n, block_n):
            total += 2 * k * block_m + 2 * k * block_n
    return total


def waves(m: int, n: int, block_m: int, block_n: int, sms: int = 132) -> float:
    """Tiles by tiles of all waves."""
    tiles = ceil(m / block_m) * ceil(n / block_n)
    return tiles / (sms * ceil(tiles / sms))


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


def _scale_byte(row: int, k: int, K: int) -> int:
    tile = row // 128 * (K // 64) + k // 64
    return tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + k // 16 % 4


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "20.1": "(M // block_m) * (N // block_n) * (block_m + block_n) * K * 2",
    "20.2": "(16, 128, 4, 16)",
    "20.3": "(12, 16, 48, 32)",
    "20.4": "(4, 32768, 7)",
    "20.5": "cp_async_wait<STAGES - 2>(); __syncthreads(); load(i + STAGES - 1);",
    "20.6": "(49152, 32768, 49152)",
    "20.7": "(t := -(-M // block_m) * -(-N // block_n)) / (-(-t // sms) * sms)",
    "21.1": "(1 - kept) ** 0.5",
    "21.2": "[0, 3, 5, 6, 1, 2, 4, 7]",
    "21.3": "M * K * (bits + 2) // 16",
    "21.4": "(1, 1, 54, 20)",
    "21.5": (
        "min(1, m * n / 128 / ((m // 64 * (2048 + n * (64 if sparse else 32))"
        " + 32 * m + n * (64 if sparse else 32)) / 128))"
    ),
    "21.6": "(1.39, 1.04)",
    "22.1": "(224, 256, 2)",
    "22.2": "[2, 6, 10]",
    "22.3": "(37, 100, 85, 36, 117, 4)",
    "22.4": "(77, 13, 86, 7)",
    "22.5": "(88, 38, 24)",
    "23.1": "(4096 * 14336 // 2, 4096 * 14336 // 16, (128 + 192) * 4)",
    "23.2": "(row // 128 * (K // 64) + k // 64) * 512 + row % 32 * 16 + row % 128 // 32 * 4 + k // 16 % 4",
    "23.3": "(2, 3, 13, 45, 77, 109)",
    "23.4": "(1, 2, 6, 2)",
    "23.5": "(32, 0, 32, 2, 40, 0, 40, 2)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("20.1", blocks_times_reads),
    ("20.5", _TURN.replace("STAGES - 2", "1")),
    ("20.7", waves),
    ("21.1", lambda kept: sqrt(1 - kept)),
    ("21.2", [1, 2, 4, 7, 6, 5, 3, 0]),
    ("21.3", lambda m, k, bits: m * k * bits / 16 + m * k / 8),
    ("21.5", share),
    ("21.6", (1.386, 1.037)),
    ("22.2", {10, 2, 6}),
    ("23.2", _scale_byte),
    ("23.3", ((2, 3), [109, 77, 45, 13])),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("20.1", lambda m, n, k, p, q: blocks_times_reads(m, n, k, p, q) // 2, "Those are elements"),
    ("20.1", lambda m, n, k, p, q: 2 * k * (p + q), "one block"),
    ("20.1", lambda m, n, k, p, q: 2 * k * (m + n), "A and B once"),
    ("20.1", lambda m, n, k, p, q: 2 * k * m * n, "not a product"),
    ("20.1", lambda m, n, k, p, q: 7, "Count the blocks"),
    ("20.2", (6, 48, 4, 16), "4 + 2"),
    ("20.2", (12, 96, 4, 16), "2 tiles of A with 4 words each"),
    ("20.2", (16, 16, 4, 16), "once around all banks"),
    ("20.2", (16, 32, 4, 16), "one after the other"),
    ("20.2", (16, 128, 16, 16), "what 4 loads did"),
    ("20.2", (16, 128, 4, 4), "four matrices"),
    ("20.3", (12, 8, 48, 16), "w rows of A"),
    ("20.3", (8, 16, 32, 32), "Each takes 1.5 cycles"),
    ("20.3", (16, 16, 64, 32), "Count the"),
    ("20.3", (12, 32, 48, 64), "128 bytes per cycle"),
    ("20.4", (3, 32768, 7), "is occupied, too"),
    ("20.4", (2, 32768, 7), "move the slider"),
    ("20.4", (9, 32768, 7), "Round up"),
    ("20.4", (4, 16384, 14), "rows of A and columns of B"),
    ("20.4", (4, 1000, 7), "128 + 128 rows"),
    ("20.4", (4, 32768, 8), "How often"),
    ("20.5", _TURN.replace("STAGES - 2", "0"), "nothing is left in flight"),
    ("20.5", _TURN.replace("cp_async_wait<STAGES - 2>();", ""), "Nobody waits"),
    ("20.5", _TURN.replace("__syncthreads();", ""), "those of the others"),
    ("20.5", _TURN.replace("load(i + STAGES - 1);", ""), "Where are the others"),
    ("20.5", _TURN.replace("i + STAGES - 1", "i + STAGES"), "hazard"),
    ("20.5", _TURN.replace("i + STAGES - 1", "i - 1"), "`load` knows it"),
    ("20.5", _TURN.replace("i + STAGES - 1", "(i + STAGES - 1) % STAGES"), "become free"),
    ("20.6", (98304, 32768, 49152), "128 rows of A"),
    ("20.6", (49152, 24576, 49152), "They share B only"),
    ("20.6", (49152, 40960, 49152), "half of B's columns"),
    ("20.6", (49152, 32768, 32768), "whoever loaded it"),
    ("20.7", lambda m, n, p, q, sms=132: ceil(m / p) * ceil(n / q) / sms, "number of waves"),
    (
        "20.7",
        lambda m, n, p, q, sms=132: m * n / p / q / (sms * ceil(m * n / p / q / sms)),
        "Right except at the edges",
    ),
    ("20.7", lambda m, n, p, q, sms=132: 1 - waves(m, n, p, q, sms), "was lost"),
    ("20.7", lambda m, n, p, q, sms=132: 100 * waves(m, n, p, q, sms), "from 0 to 1"),
    ("20.7", lambda m, n, p, q, sms=132: 0.5, "Count the tiles"),
    ("21.1", lambda kept: 1 - kept, "a length"),
    ("21.1", lambda kept: sqrt(kept), "what remains"),
    ("21.1", lambda kept: 1 - sqrt(kept), "right angles"),
    ("21.1", lambda kept: 100 * sqrt(1 - kept), "not in percent"),
    ("21.1", lambda kept: 0.5, "The relative error is"),
    ("21.2", [0, 1, 2, 3, 4, 5, 6, 7], "original order"),
    ("21.2", [0, 0, 2, 3, 4, 5, 6, 7], "appears once"),
    ("21.2", [0, 1, 5, 4, 2, 3, 6, 7], "row 1 has 3"),
    ("21.3", lambda m, k, bits: m * k * bits // 16, "Metadata is missing"),
    ("21.3", lambda m, k, bits: m * k * bits // 16 + m * k // 4, "stored"),
    ("21.3", lambda m, k, bits: m * k * bits // 16 + m * k // 16, "one nibble"),
    ("21.3", lambda m, k, bits: m * k * bits // 2 + m * k, "Those are bits"),
    ("21.3", lambda m, k, bits: m * k * bits // 8, "dense A"),
    ("21.3", lambda m, k, bits: 7, "M K / 2"),
    ("21.4", (0, 1, 54, 20), "64 rows"),
    ("21.4", (1, 6, 54, 20), "A chunk has 4 columns"),
    ("21.4", (1, 0, 54, 20), "16 chunks"),
    ("21.4", (1, 1, 22, 20), "not in warp 0"),
    ("21.4", (1, 1, 86, 20), "in which warp"),
    ("21.4", (1, 1, 53, 20), "set the slider"),
    ("21.4", (1, 1, 54, 4), "low 16 bits"),
    ("21.5", _uncapped, "all of the time"),
    ("21.5", _reads_only, "TMA writes"),
    ("21.5", _b_once, "each reads all of B"),
    ("21.5", lambda m, n, sparse: share(m, n, False), "That is the dense kernel"),
    ("21.5", lambda m, n, sparse: 1 / share(m, n, sparse), "as long"),
    ("21.5", lambda m, n, sparse: 0.5, "at most 1"),
    ("21.6", (1.57, 1.44), "without pruning"),
    ("21.6", (1.48, 1.23), "compressing alone"),
    ("21.6", (1.46, 1.18), "pruning alone"),
    ("21.6", (1.472, 1.205), "2 bytes"),
    ("21.6", (0.72, 0.96), "as long"),
    ("21.6", (3, 3), "moved 2 + 1"),
    ("22.1", (128, 128, 4), "two accumulators"),
    ("22.1", (256, 256, 2), "share a word"),
    ("22.1", (192, 256, 2), "A is there too"),
    ("22.1", (100, 128, 4), "one for each f32"),
    ("22.1", (224, 224, 2), "powers of two"),
    ("22.1", (224, 512, 1), "next power"),
    ("22.1", (224, 256, 4), "How many times"),
    ("22.2", [], "Some warps"),
    ("22.2", [2, 14], "the block has warps 0 to 11"),
    ("22.2", range(12), "No warp reaches all"),
    ("22.2", [2], "in common"),
    ("22.2", [1, 5, 9], "hexadecimal"),
    ("22.2", [2, 6], "Not all of them"),
    ("22.2", [0, 3], "Divide it by 32"),
    ("22.3", (21, 100, 85, 36, 117, 4), "row r is not in lane r. Each 32 lanes"),
    ("22.3", (42, 100, 85, 36, 117, 4), "every second lane"),
    ("22.3", (53, 100, 85, 36, 117, 4), "number 5 of its 16"),
    ("22.3", (37, 100, 37, 100, 117, 4), "no lane is left free"),
    ("22.3", (37, 100, 21, 100, 117, 4), "in lanes 64 and on"),
    ("22.3", (37, 100, 85, 100, 117, 4), "begin at column 0"),
    ("22.3", (37, 100, 64, 0, 117, 4), "rows in lanes 0 to 63"),
    ("22.3", (37, 100, 85, 36, 85, 36), "four groups"),
    ("22.3", (37, 100, 85, 36, 117, 100), "All lanes are right"),
    ("22.3", (37, 100, 85, 36, 21, 4), "which quarter"),
    ("22.4", (13, 13, 86, 7), "all four warps"),
    ("22.4", (13, 77, 86, 7), "not the other way"),
    ("22.4", (76, 13, 86, 7), "a lane of its own"),
    ("22.4", (77, 13, 22, 7), "64 to 95"),
    ("22.4", (77, 13, 100, 7), "no other warp"),
    ("22.4", (77, 13, 85, 7), "row 13 of 16"),
    ("22.4", (77, 13, 86, 3), "next four registers"),
    ("22.4", (77, 13, 86, 5), "row 13, column 5"),
    ("22.5", (72, 38, 24), "upper half of the address"),
    ("22.5", (40, 38, 24), "not r lanes"),
    ("22.5", (56, 38, 24), "not r lanes"),
    ("22.5", (80, 38, 24), "32 lanes further"),
    ("22.5", (88, 6, 24), "not at 0"),
    ("22.5", (88, 59, 24), "share a column"),
    ("22.5", (88, 45, 24), "share a column"),
    ("22.5", (88, 38, 0), "bits 0 to 7"),
    ("23.1", (4096 * 14336, 3670016, 1280), "one byte for each element"),
    ("23.1", (7, 3670016, 1280), "share a byte"),
    ("23.1", (29360128, 1835008, 1280), "mx formats"),
    ("23.1", (29360128, 58720256, 1280), "scale of its own"),
    ("23.1", (29360128, 7340032, 1280), "16 elements share it"),
    ("23.1", (29360128, 5, 1280), "One byte"),
    ("23.1", (29360128, 3670016, 512), "B has its own"),
    ("23.1", (29360128, 3670016, 768), "A has its own"),
    ("23.1", (29360128, 3670016, 128 * 192 * 4), "for each element of D"),
    ("23.1", (29360128, 3670016, 320), "more than one block"),
    ("23.1", (29360128, 3670016, 20480), "How many blocks"),
    ("23.2", lambda row, k, K: row * (K // 16) + k // 16, "row by row"),
    ("23.2", lambda row, k, K: _scale_byte(row, k // 2, K), "not 32"),
    (
        "23.2",
        lambda row, k, K: _scale_byte(row, k, K) // 512 * 512 + row % 128 * 4 + k // 16 % 4,
        "within the tile",
    ),
    ("23.2", lambda row, k, K: _scale_byte(row % 128, k, K), "another tile"),
    ("23.2", lambda row, k, K: _scale_byte(row, k, K) // 512 * 512 + row % 4, "in the right tile"),
    ("23.2", lambda row, k, K: 3 * _scale_byte(row, k, K) + 1000, "how many are before it"),
    ("23.2", 7, "is a function"),
    ("23.3", (3, 3, 13, 45, 77, 109), "number of the scale"),
    ("23.3", (2, 3, 77, 109, 45, 14), "as it would be in D"),
    ("23.3", (1, 3, 13, 45, 77, 109), "32 rows"),
    ("23.3", (2, 24, 13, 45, 77, 109), "lowest bit"),
    ("23.3", (2, 1, 13, 45, 77, 109), "16 elements"),
    ("23.3", (2, 0, 13, 45, 77, 109), "block of 16"),
    ("23.3", (2, 3, 13, 13, 13, 13), "one lane"),
    ("23.3", (2, 3, 13, 14, 15, 16), "each warp's"),
    ("23.4", (0, 6, 6, 1), "rows 0 to 127"),
    ("23.4", (2, 2, 6, 2), "CTA 0 and CTA 1"),
    ("23.4", (1, 6, 6, 2), "all 256 rows"),
    ("23.4", (1, 3, 6, 2), "its row 72"),
    ("23.4", (1, 2, 2, 1), "like SFA"),
    ("23.4", (1, 2, 5, 2), "32 columns of B"),
    ("23.4", (1, 2, 6, 1), "half of the rows"),
    ("23.5", (32, 0, 32, 1, 40, 0, 40, 1), "first byte"),
    ("23.5", (32, 0, 32, 1, 32, 2, 32, 3), "first byte"),
    ("23.5", (32, 0, 32, 0, 40, 0, 40, 0), "bytes 2 and 3"),
    ("23.5", (32, 2, 32, 2, 40, 2, 40, 2), "byte 0 or from byte 2"),
    ("23.5", (32, 0, 32, 2, 36, 0, 36, 2), "There are 256"),
    ("23.5", (0, 0, 0, 2, 8, 0, 8, 2), "begins at column 32"),
    ("23.5", (32, 0, 32, 2, 33, 0, 33, 2), "next 32 columns"),
    ("23.5", (32, 0, 40, 2, 48, 0, 56, 2), "serve two"),
    ("23.5", (40, 0, 40, 2, 32, 0, 32, 2), "How many columns"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {}
