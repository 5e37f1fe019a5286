"""Answers to the exercises of lesson 11: bytes, cycles and waves, counted by hand."""

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
    "11.1": "(M // block_m) * (N // block_n) * (block_m + block_n) * K * 2",
    "11.2": "(12, 16, 48, 32)",
    "11.3": "cp_async_wait<STAGES - 2>(); __syncthreads(); load(i + STAGES - 1);",
    "11.4": "(3, 49152, 4)",
    "11.5": f"({GAP}, {GAP} / (16 * 1024 + {GAP}) * 100, {GAP} / (16 * 8192 + {GAP}) * 100)",
    "11.6": "(49152, 32768, 49152)",
    "11.7": "(t := -(-M // block_m) * -(-N // block_n)) / (-(-t // sms) * sms)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("11.1", blocks_times_reads),
    ("11.3", replaced(_TURN, "STAGES - 2", "1")),
    ("11.5", (GAP + 1000, lost(GAP + 1000, 1024), round(lost(GAP + 1000, 8192)))),
    ("11.7", waves),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("11.1", lambda m, n, k, p, q: blocks_times_reads(m, n, k, p, q) // 2, "Those are elements"),
    ("11.1", lambda m, n, k, p, q: 2 * k * (p + q), "one block"),
    ("11.1", lambda m, n, k, p, q: 2 * k * (m + n), "A and B once"),
    ("11.1", lambda m, n, k, p, q: 2 * k * m * n, "not a product"),
    ("11.1", lambda m, n, k, p, q: 7, "Count the blocks"),
    ("11.2", (12, 8, 48, 16), "w rows of A"),
    ("11.2", (8, 16, 32, 32), "Each takes 1.5 cycles"),
    ("11.2", (16, 16, 64, 32), "Count the"),
    ("11.2", (12, 32, 48, 64), "128 bytes per cycle"),
    ("11.3", replaced(_TURN, "STAGES - 2", "0"), "nothing is left in flight"),
    ("11.3", replaced(_TURN, "cp_async_wait<STAGES - 2>();", ""), "No thread waits"),
    ("11.3", replaced(_TURN, "__syncthreads();", ""), "those of the others"),
    ("11.3", replaced(_TURN, "load(i + STAGES - 1);", ""), "Where are the others"),
    ("11.3", replaced(_TURN, "i + STAGES - 1", "i + STAGES"), "on its way"),
    ("11.3", replaced(_TURN, "i + STAGES - 1", "i - 1"), "`load` knows it"),
    ("11.3", replaced(_TURN, "i + STAGES - 1", "(i + STAGES - 1) % STAGES"), "become free"),
    ("11.4", (2, 49152, 4), "no longer than a product"),
    ("11.4", (4, 49152, 4), "Eight `wgmma`"),
    ("11.4", (9, 49152, 4), "Round up"),
    ("11.4", (3, 32768, 7), "rows of A and columns of B"),
    ("11.4", (3, 1000, 4), "128 + 256 rows"),
    ("11.4", (3, 49152, 5), "How often"),
    ("11.5", (500, 3, 0.4), "Look for the gap"),
    ("11.5", (GAP, 100 * GAP / 16384, 100 * GAP / 131072), "both together"),
    ("11.5", (GAP, lost(GAP, 1024), lost(GAP, 1024) / 8), "eight times as long"),
    ("11.5", (GAP, 1, 2), "The cycles are right"),
    ("11.6", (98304, 32768, 49152), "128 rows of A"),
    ("11.6", (49152, 24576, 49152), "They share B only"),
    ("11.6", (49152, 40960, 49152), "half of B's columns"),
    ("11.6", (49152, 32768, 32768), "whoever loaded it"),
    ("11.7", lambda m, n, p, q, sms=132: ceil(m / p) * ceil(n / q) / sms, "number of waves"),
    (
        "11.7",
        lambda m, n, p, q, sms=132: m * n / p / q / (sms * ceil(m * n / p / q / sms)),
        "Right except at the edges",
    ),
    ("11.7", lambda m, n, p, q, sms=132: 1 - waves(m, n, p, q, sms), "was lost"),
    ("11.7", lambda m, n, p, q, sms=132: 100 * waves(m, n, p, q, sms), "from 0 to 1"),
    ("11.7", lambda m, n, p, q, sms=132: waves(m, n, p, q, 132), "An A100 has 108"),
    ("11.7", lambda m, n, p, q, sms=132: 0.5, "Count the tiles"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {}
