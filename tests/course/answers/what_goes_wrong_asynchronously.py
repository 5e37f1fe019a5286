"""Answers to the exercises of lesson 11: lines of broken kernels, and edits that repair them or do not."""

from __future__ import annotations

from typing import Any

_WGMMA = "wgmma(d, descriptor(tile_a), descriptor(tile_b));"
_BOX = "tma_load(tile_b, B, 0, 0, &full);"
_EDITS: dict[str, list[dict[int, str]]] = {
    "11.1": [
        {8: "store_d(d, tile, 8); fence_proxy_async();"},
        {9: "fence_proxy_async();\n__syncwarp();"},
        {10: "if (threadIdx.x == 0) { fence_proxy_async();"},
    ],
    "11.3": [
        {16: "wgmma_fence(); wgmma(d, descriptor(tile_a), descriptor(tile_b));"},
        {15: "d[r] *= 0.5f;\nwgmma_fence();"},
        {10: "", 11: f"wgmma_fence(); {_WGMMA}", 16: f"wgmma_fence(); {_WGMMA}"},
    ],
    "11.4": [
        {10: "mbarrier_arrive_expect_tx(&full, sizeof(tile_a) + sizeof(tile_b));"},
        {10: "mbarrier_arrive_expect_tx(&full, 768);"},
        {8: "mbarrier_init(&full, 2);", 12: f"mbarrier_arrive_expect_tx(&full, sizeof(tile_b)); {_BOX}"},
    ],
    "11.5": [
        {12: "mbarrier_arrive_expect_tx(&full, count * 4);"},
        {12: "mbarrier_arrive_expect_tx(&full, count * sizeof(float));"},
    ],
    "11.6": [
        {16: "mbarrier_wait(&full, k / 16 % 2);"},
        {5: "float d[4] = {0, 0, 0, 0}; int parity = 0;", 16: "mbarrier_wait(&full, parity); parity ^= 1;"},
    ],
    "11.7": [
        {15: "mbarrier_wait(&empty[s], i / 2 % 2 ^ 1);"},
        {15: "if (i >= 2) mbarrier_wait(&empty[s], (i / 2 + 1) % 2);"},
        {20: "unsigned a[4], b[2]; mbarrier_arrive(&empty[0]); mbarrier_arrive(&empty[1]);"},
    ],
}

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "11.1": repr(_EDITS["11.1"][0])[1:-1],
    "11.2": "13",
    **{name: repr(edits[0])[1:-1] for name, edits in _EDITS.items() if name > "11.2"},
    "11.8": "24, 15, 32",
    "11.9": '"warp 0", "copy 1", "warp 0", "copy 2"',
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    *[(name, edit) for name, edits in _EDITS.items() for edit in edits[1:]],
    ("11.9", ["warp 0", "copy 1", "warp 0"]),
    ("11.9", ("Warp 0", "Copy 1", "Warp  0", "Copy 2")),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("11.1", {7: "mma(d, a, b); fence_proxy_async();"}, "have they stored"),
    ("11.1", {11: "cp_async_bulk(D, tile, sizeof(tile)); fence_proxy_async();"}, "Which threads"),
    ("11.1", {9: "fence_proxy_async();"}, "does not wait"),
    ("11.1", {8: "fence_proxy_async();"}, "nobody"),
    ("11.1", {11: "fence_proxy_async();"}, "still needed"),
    ("11.1", {9: "fence_async();"}, "undefined"),
    ("11.2", 14, "too late"),
    ("11.2", 11, "may start"),
    ("11.2", 12, "closes the group"),
    ("11.2", 10, "orders"),
    ("11.2", 8, "kernel 1"),
    ("11.2", 3, "asynchronous"),
    ("11.3", {13: "wgmma_wait_group(); wgmma_fence();"}, "where is yours"),
    ("11.3", {15: "d[r] *= 0.5f; __syncthreads();"}, "where is yours"),
    ("11.3", {13: "", 16: f"wgmma_fence(); {_WGMMA}"}, "its wait is needed"),
    ("11.3", {14: "", 15: ""}, "the halving are needed"),
    ("11.3", {16: "wgmma_fence();"}, "Both products"),
    ("11.3", {16: f"wgmma_fence() {_WGMMA}"}, "expected a"),
    ("11.4", {10: "mbarrier_arrive_expect_tx(&full, 1024);"}, "bring together"),
    ("11.4", {10: "mbarrier_arrive_expect_tx(&full, sizeof(tile_b));"}, "bring together"),
    ("11.4", {10: "mbarrier_arrive_expect_tx(&full, 16 * 16 + 8 * 16);"}, "bring together"),
    ("11.4", {12: f"mbarrier_arrive_expect_tx(&full, sizeof(tile_b)); {_BOX}"}, "counts has arrived"),
    ("11.4", {12: ""}, "no thread copies B"),
    ("11.4", {15: ""}, "Which bytes"),
    ("11.4", {18: "", 10: "mbarrier_arrive_expect_tx(&full, 768);"}, "only the announcement"),
    ("11.5", {12: "mbarrier_arrive_expect_tx(&full, count);"}, "in each iteration"),
    ("11.5", {12: "mbarrier_arrive_expect_tx(&full, (n - i) * 4);"}, "in each iteration"),
    ("11.5", {13: "cp_async_bulk(piece, x + i, sizeof(piece), &full);"}, "in each iteration"),
    ("11.5", {15: ""}, "before its copy"),
    ("11.5", {9: "for (int i = 0; i + 64 <= n; i += 64) {"}, "behind them"),
    ("11.5", {10: "int count = 32;", 12: "mbarrier_arrive_expect_tx(&full, 128);"}, "copied once"),
    ("11.6", {16: "mbarrier_wait(&full, 1);"}, "Which parity"),
    ("11.6", {16: "mbarrier_wait(&full, k % 2);"}, "Which parity"),
    ("11.6", {16: "mbarrier_wait(&full, (k / 16 + 1) % 2);"}, "Which parity"),
    ("11.6", {16: ""}, "Nothing waits"),
    ("11.6", {16: "mbarrier_wait(&full, k / 16 % 2);", 20: ""}, "still read this one"),
    ("11.6", {11: "for (int k = 0; k < 16; k += 16) {"}, "products were right"),
    ("11.7", {15: ""}, "who waits for whom"),
    ("11.7", {15: "mbarrier_wait(&empty[s], i % 2);"}, "who waits for whom"),
    ("11.7", {15: "mbarrier_wait(&empty[s], 1);"}, "who waits for whom"),
    ("11.7", {24: "mbarrier_wait(&full[s], i / 2 % 2 ^ 1);"}, "no copy has filled"),
    (
        "11.7",
        {7: "mbarrier_init(&empty[s], 1);", 15: "mbarrier_wait(&empty[s], i / 2 % 2 ^ 1);"},
        "who waits for whom",
    ),
    ("11.7", {15: "mbarrier_wait(&empty[s], i / 2 % 2 ^ 1);", 27: ""}, "only the order of the waits"),
    ("11.8", (15, 24, 32), "other way round"),
    ("11.8", (24, 15, 31), "has it got"),
    ("11.8", (16, 28, 1), "box beside"),
    ("11.8", (24, 15), "count"),
    ("11.9", ["warp 0", "copy 1", "copy 2", "warp 0"], "may be late"),
    ("11.9", ["warp 0"], "may be late"),
    ("11.9", ["warp 0", "copy 2", "copy 1", "warp 0"], "hangs"),
    ("11.9", ["copy 1", "warp 0", "copy 2"], "goes first"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "11.1": r"after line 8",
    "11.2": r"\bline 13\b",
    "11.3": r"after line 15|\bbefore line 16",
    "11.4": r"\b768\b|sizeof\(tile_a\) \+",
    "11.5": r"count \*",
    "11.6": r"k / 16|0, 1, 0",
    "11.7": r"\^ 1|behind",
    "11.8": r"\bline 24\b|\b32\b",
    "11.9": r"copy 2 (comes|goes) last|\bB is late",
}
