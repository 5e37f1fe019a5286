"""Answers to the exercises of lesson 18: lines of broken kernels, and edits that repair them or do not."""

from __future__ import annotations

from typing import Any

_COLUMNS = "for (int column = 0; column < N; column += 8) {"
_ZERO = "float d[4] = {0, 0, 0, 0};"
_LOAD = "fmaxf(D[row * 8 + thread * 2], D[row * 8 + thread * 2 + 1])"
_OUTSIDE = {
    3: f"float m = row < M ? {_LOAD} : 0;",
    4: "",
    7: "if (row < M && thread == 0)",
    9: "",
}
_TWENTY = {
    5: "m = fmaxf(m, __shfl_xor_sync(0xfffff, m, 1));",
    6: "m = fmaxf(m, __shfl_xor_sync(0xfffff, m, 2));",
}
_TEN = {line: text.replace("0xfffff", "0x3ff") for line, text in _TWENTY.items()}

_EDITS: dict[str, list[dict[int, str]]] = {
    "18.1": [
        {12: "mma(d, a, b); __syncthreads();"},
        {6: "for (int k = 0; k < K; k += 16) { __syncthreads();"},
        {10: "ldmatrix(a, tile + threadIdx.x % 16 * 24 + threadIdx.x % 32 / 16 * 8);\n__syncthreads();"},
    ],
    "18.4": [
        {3: "", 4: f"{_COLUMNS} {_ZERO}"},
        {10: "store_d(d, D + column, N); d[0] = d[1] = d[2] = d[3] = 0;"},
    ],
    "18.5": [_OUTSIDE, _TWENTY],
    "18.8": [
        {8: "store_d(d, tile, 8); fence_proxy_async();"},
        {9: "fence_proxy_async();\n__syncwarp();"},
        {10: "if (threadIdx.x == 0) { fence_proxy_async();"},
    ],
}
_LINES = {"18.2": 4, "18.3": 6, "18.6": 9, "18.7": 14, "18.9": 13}
_NAMES = sorted(_EDITS.keys() | _LINES.keys())

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    name: str(_LINES[name]) if name in _LINES else repr(_EDITS[name][0])[1:-1] for name in _NAMES
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [(name, edit) for name, edits in _EDITS.items() for edit in edits[1:]]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("18.1", {9: ""}, "as well"),
    ("18.1", {11: "__syncwarp(); load_b(b, B + column * K + k, K);"}, "the `ldmatrix` of one turn"),
    ("18.1", {13: "}\n__syncthreads();"}, "in *every* turn"),
    ("18.1", {12: "mma(d, a, b); if (threadIdx.x < 64) __syncthreads();"}, "slow one"),
    ("18.1", {12: "mma(d, a, b)"}, "expected a"),
    ("18.1", {12: "mma(d, a, b);"}, "as it was"),
    ("18.1", {16: "__syncthreads();"}, "1 to 15"),
    ("18.1", {12: 5}, "into quotes"),
    ("18.1", 12, "which lines change"),
    ("18.1", {10: "__syncthreads();"}, "never written"),
    ("18.2", 6, "goes wrong"),
    ("18.2", 7, "goes wrong"),
    ("18.2", 3, "Which rows"),
    ("18.2", 5, "threads leave"),
    ("18.2", 8, "Follow it"),
    ("18.2", 9, "8 lines"),
    ("18.3", 7, "before it"),
    ("18.3", 10, "The pictures show A"),
    ("18.3", 15, "d2 and d3"),
    ("18.3", 13, "told"),
    ("18.3", 4, "quarters"),
    ("18.4", {5: "for (int k = 0; k < K; k += 16) { for (int r = 0; r < 4; r++) d[r] = 0;"}, "too often"),
    ("18.4", {3: "float d[4];"}, "nobody has written"),
    ("18.4", {4: f"{_COLUMNS} if (column == 0) d[0] = 0;"}, "still start"),
    ("18.4", {6: "load_a(a, A, K);"}, "start with"),
    ("18.5", {7: "if (thread == 1)"}, "do not come"),
    ("18.5", _TEN, "name them"),
    ("18.5", {4: "float m = 0;", **_TWENTY}, "largest"),
    ("18.5", {6: "", 5: _TWENTY[5]}, "all four lanes"),
    ("18.6", 13, "fewer are impossible"),
    ("18.6", 7, "sectors"),
    ("18.6", 8, "registers"),
    ("18.6", 2, "cost"),
    ("18.6", 5, "by line"),
    ("18.7", 16, "made sure"),
    ("18.7", 12, "A group for every tile"),
    ("18.7", 10, "beyond"),
    ("18.7", 15, "visible"),
    ("18.7", 9, "last turn"),
    ("18.8", {7: "mma(d, a, b); fence_proxy_async();"}, "have they stored"),
    ("18.8", {11: "cp_async_bulk(D, tile, sizeof(tile)); fence_proxy_async();"}, "Which threads"),
    ("18.8", {9: "fence_proxy_async();"}, "does not wait"),
    ("18.8", {8: "fence_proxy_async();"}, "nobody"),
    ("18.8", {9: "fence_async();"}, "undefined"),
    ("18.9", 14, "too late"),
    ("18.9", 11, "may start"),
    ("18.9", 10, "orders"),
    ("18.9", 8, "kernel 8"),
    ("18.9", 3, "asynchronous"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "18.1": r"__syncthreads\(\);",
    "18.2": r">=|\bline 4\b",
    "18.3": r"a1 and a2|\bline 6\b",
    "18.4": r"= 0",
    "18.5": r"0xfffff\b|__activemask",
    "18.6": r"\bline 9\b",
    "18.7": r"\bline 14\b",
    "18.8": r"after line 8",
    "18.9": r"\bline 13\b",
}
