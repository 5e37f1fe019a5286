"""Answers to the exercises of lesson 10: lines of broken kernels, and edits that repair them or do not."""

from __future__ import annotations

from typing import Any

from tests.texts import replaced

_COLUMNS = "for (int column = 0; column < N; column += 8) {"
_ZERO = "float d[4] = {0, 0, 0, 0};"
_LOAD = "fmaxf(D[row * 8 + thread * 2], D[row * 8 + thread * 2 + 1])"
_OUTSIDE = {3: f"float m = row < M ? {_LOAD} : 0;", 4: "", 7: "if (row < M && thread == 0)", 9: ""}
_TWENTY = {
    5: "m = fmaxf(m, __shfl_xor_sync(0xfffff, m, 1));",
    6: "m = fmaxf(m, __shfl_xor_sync(0xfffff, m, 2));",
}
_TEN = {line: replaced(text, "0xfffff", "0x3ff") for line, text in _TWENTY.items()}
_ACTIVE = {line: replaced(text, "0xfffff", "__activemask()") for line, text in _TWENTY.items()}
_EDITS: dict[str, list[dict[int, str]]] = {
    "10.1": [
        {12: "mma(d, a, b); __syncthreads();"},
        {6: "for (int k = 0; k < K; k += 16) { __syncthreads();"},
        {10: "ldmatrix(a, tile + threadIdx.x % 16 * 24 + threadIdx.x % 32 / 16 * 8);\n__syncthreads();"},
    ],
    "10.4": [
        {3: "", 4: f"{_COLUMNS} {_ZERO}"},
        {10: "store_d(d, D + column, N); d[0] = d[1] = d[2] = d[3] = 0;"},
    ],
    #: Rows that nobody stores may be shuffled without a value.
    "10.5": [_OUTSIDE, {3: "", 4: f"float m; if (row < M) m = {_LOAD};", 7: _OUTSIDE[7], 9: ""}],
}
_LINES = {"10.2": 4, "10.3": 6, "10.6": 9, "10.7": 14}
#: Who stored D[9][20] into shared memory: line and lane.
_WRITER = "9, 6"
_NAMES = sorted(_EDITS.keys() | _LINES.keys())

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    **{name: str(_LINES[name]) if name in _LINES else repr(_EDITS[name][0])[1:-1] for name in _NAMES},
    "10.8": _WRITER,
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    *[(name, edit) for name, edits in _EDITS.items() for edit in edits[1:]],
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("10.1", {9: ""}, "as well"),
    ("10.1", {11: "__syncwarp(); load_b(b, B + column * K + k, K);"}, "the `ldmatrix` of one iteration"),
    ("10.1", {13: "}\n__syncthreads();"}, "in *every* iteration"),
    ("10.1", {12: "mma(d, a, b); if (threadIdx.x < 64) __syncthreads();"}, "slow one"),
    ("10.1", {12: "mma(d, a, b); if (threadIdx.x == 0) __syncthreads();"}, "have to reach"),
    ("10.1", {12: "__syncthreads();"}, "arithmetic was right"),
    ("10.1", {12: "mma(d, a, b)"}, "expected a"),
    ("10.1", {12: "mma(d, a, b);"}, "as it was"),
    ("10.1", {16: "__syncthreads();"}, "1 to 15"),
    ("10.1", {12: 5}, "into quotes"),
    ("10.1", 12, "which lines change"),
    ("10.1", {10: "__syncthreads();"}, "never written"),
    ("10.2", 6, "goes wrong"),
    ("10.2", 7, "goes wrong"),
    ("10.2", 2, "More threads"),
    ("10.2", 3, "Which rows"),
    ("10.2", 5, "threads leave"),
    ("10.2", 8, "Follow it"),
    ("10.2", 9, "8 lines"),
    ("10.3", 7, "before it"),
    ("10.3", 2, "Groups of four"),
    ("10.3", 10, "The pictures show A"),
    ("10.3", 15, "d2 and d3"),
    ("10.3", 13, "told"),
    ("10.3", 4, "quarters"),
    ("10.4", {5: "for (int k = 0; k < K; k += 16) { for (int r = 0; r < 4; r++) d[r] = 0;"}, "too often"),
    ("10.4", {3: "float d[4];"}, "no instruction has written"),
    ("10.4", {4: f"{_COLUMNS} if (column == 0) d[0] = 0;"}, "still start"),
    ("10.4", {6: "load_a(a, A, K);"}, "start with"),
    ("10.5", {7: "if (thread == 1)"}, "do not come"),
    ("10.5", _TEN, "name them"),
    ("10.5", _TWENTY, "name them"),
    ("10.5", _ACTIVE, "take part"),
    ("10.5", {4: "float m = 0;", **_TWENTY}, "largest"),
    ("10.5", {6: "", 5: _TWENTY[5]}, "all four lanes"),
    ("10.6", 13, "fewer are impossible"),
    ("10.6", 7, "sectors"),
    ("10.6", 8, "registers"),
    ("10.6", 2, "cost"),
    ("10.6", 5, "by line"),
    ("10.7", 16, "made sure"),
    ("10.7", 11, "the point"),
    ("10.7", 19, "keeps threads from overwriting"),
    ("10.7", 12, "A group for every tile"),
    ("10.7", 10, "beyond"),
    ("10.7", 15, "visible"),
    ("10.7", 9, "last iteration"),
    ("10.8", (13, 13), "next node"),
    ("10.8", (9, 13), "Which lane"),
    ("10.8", (8, 6), "in a register"),
    ("10.8", (4, 0), "row 9, column 20"),
    ("10.8", 9, "lane"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "10.1": r"__syncthreads\(\);",
    "10.2": r">=|\bline 4\b",
    "10.3": r"a1 and a2|\bline 6\b",
    "10.4": r"= 0",
    "10.5": r"0xfffff\b|__activemask",
    "10.6": r"\bline 9\b",
    "10.7": r"\bline 14\b",
    "10.8": r"\blane 6\b|\bline 9\b",
}
