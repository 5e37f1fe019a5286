"""Answers to the exercises of lesson 13: bytes, cycles and waves, counted by hand."""

from __future__ import annotations

from math import ceil
from typing import Any

from tests.texts import replaced

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


GAP = 14_000  # cycles, as read from the picture


def lost(idle: int, k: int) -> float:
    """Percent of the tensor cores' time."""
    return 100 * idle / (idle + 16 * k)


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "13.1": "(M // block_m) * (N // block_n) * (block_m + block_n) * K * 2",
    "13.2": "(12, 16, 48, 32)",
    "13.3": "cp_async_wait<STAGES - 2>(); __syncthreads(); load(i + STAGES - 1);",
    "13.4": "(3, 49152, 4)",
    "13.5": f"({GAP}, {GAP} / (16 * 1024 + {GAP}) * 100, {GAP} / (16 * 8192 + {GAP}) * 100)",
    "13.6": "(49152, 32768, 49152)",
    "13.7": "(t := -(-M // block_m) * -(-N // block_n)) / (-(-t // sms) * sms)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("13.1", blocks_times_reads),
    ("13.3", replaced(_TURN, "STAGES - 2", "1")),
    ("13.5", (GAP + 1000, lost(GAP + 1000, 1024), round(lost(GAP + 1000, 8192)))),
    ("13.7", waves),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("13.1", lambda m, n, k, p, q: blocks_times_reads(m, n, k, p, q) // 2, "Those are elements"),
    ("13.1", lambda m, n, k, p, q: 2 * k * (p + q), "one block"),
    ("13.1", lambda m, n, k, p, q: 2 * k * (m + n), "A and B once"),
    ("13.1", lambda m, n, k, p, q: 2 * k * m * n, "not a product"),
    ("13.1", lambda m, n, k, p, q: 7, "Count the blocks"),
    ("13.2", (12, 8, 48, 16), "w rows of A"),
    ("13.2", (8, 16, 32, 32), "Each takes 1.5 cycles"),
    ("13.2", (16, 16, 64, 32), "Count the"),
    ("13.2", (12, 32, 48, 64), "128 bytes per cycle"),
    ("13.3", replaced(_TURN, "STAGES - 2", "0"), "nothing is left in flight"),
    ("13.3", replaced(_TURN, "cp_async_wait<STAGES - 2>();", ""), "No thread waits"),
    ("13.3", replaced(_TURN, "__syncthreads();", ""), "those of the others"),
    ("13.3", replaced(_TURN, "load(i + STAGES - 1);", ""), "Where are the others"),
    ("13.3", replaced(_TURN, "i + STAGES - 1", "i + STAGES"), "on its way"),
    ("13.3", replaced(_TURN, "i + STAGES - 1", "i - 1"), "`load` knows it"),
    ("13.3", replaced(_TURN, "i + STAGES - 1", "(i + STAGES - 1) % STAGES"), "become free"),
    ("13.4", (2, 49152, 4), "no longer than a product"),
    ("13.4", (4, 49152, 4), "Eight `wgmma`"),
    ("13.4", (9, 49152, 4), "Round up"),
    ("13.4", (3, 32768, 7), "rows of A and columns of B"),
    ("13.4", (3, 1000, 4), "128 + 256 rows"),
    ("13.4", (3, 49152, 5), "How often"),
    ("13.5", (500, 3, 0.4), "Look for the gap"),
    ("13.5", (GAP, 100 * GAP / 16384, 100 * GAP / 131072), "both together"),
    ("13.5", (GAP, lost(GAP, 1024), lost(GAP, 1024) / 8), "eight times as long"),
    ("13.5", (GAP, 1, 2), "The cycles are right"),
    ("13.6", (98304, 32768, 49152), "128 rows of A"),
    ("13.6", (49152, 24576, 49152), "They share B only"),
    ("13.6", (49152, 40960, 49152), "half of B's columns"),
    ("13.6", (49152, 32768, 32768), "whoever loaded it"),
    ("13.7", lambda m, n, p, q, sms=132: ceil(m / p) * ceil(n / q) / sms, "number of waves"),
    (
        "13.7",
        lambda m, n, p, q, sms=132: m * n / p / q / (sms * ceil(m * n / p / q / sms)),
        "Right except at the edges",
    ),
    ("13.7", lambda m, n, p, q, sms=132: 1 - waves(m, n, p, q, sms), "was lost"),
    ("13.7", lambda m, n, p, q, sms=132: 100 * waves(m, n, p, q, sms), "from 0 to 1"),
    ("13.7", lambda m, n, p, q, sms=132: waves(m, n, p, q, 132), "An A100 has 108"),
    ("13.7", lambda m, n, p, q, sms=132: 0.5, "Count the tiles"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {}
