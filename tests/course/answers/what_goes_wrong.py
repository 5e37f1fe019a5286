"""Answers to the exercises of lesson 08: lines of broken kernels, and edits that repair them or do not."""

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
    "08.1": [
        {12: "mma(d, a, b); __syncthreads();"},
        {6: "for (int k = 0; k < K; k += 16) { __syncthreads();"},
        {10: "ldmatrix(a, tile + threadIdx.x % 16 * 24 + threadIdx.x % 32 / 16 * 8);\n__syncthreads();"},
    ],
    "08.4": [
        {3: "", 4: f"{_COLUMNS} {_ZERO}"},
        {10: "store_d(d, D + column, N); d[0] = d[1] = d[2] = d[3] = 0;"},
    ],
    #: Rows that nobody stores may be shuffled without a value.
    "08.5": [_OUTSIDE, {3: "", 4: f"float m; if (row < M) m = {_LOAD};", 7: _OUTSIDE[7], 9: ""}],
}
_LINES = {"08.2": 4, "08.3": 6, "08.6": 9, "08.7": 14}
_NAMES = sorted(_EDITS.keys() | _LINES.keys())

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    **{name: str(_LINES[name]) if name in _LINES else repr(_EDITS[name][0])[1:-1] for name in _NAMES},
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    *[(name, edit) for name, edits in _EDITS.items() for edit in edits[1:]],
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("08.1", {9: ""}, "as well"),
    ("08.1", {11: "__syncwarp(); load_b(b, B + column * K + k, K);"}, "the `ldmatrix` of one iteration"),
    ("08.1", {13: "}\n__syncthreads();"}, "in *every* iteration"),
    ("08.1", {12: "mma(d, a, b); if (threadIdx.x < 64) __syncthreads();"}, "slow one"),
    ("08.1", {12: "mma(d, a, b); if (threadIdx.x == 0) __syncthreads();"}, "have to reach"),
    ("08.1", {12: "__syncthreads();"}, "arithmetic was right"),
    ("08.1", {12: "mma(d, a, b)"}, "expected a"),
    ("08.1", {12: "mma(d, a, b);"}, "as it was"),
    ("08.1", {16: "__syncthreads();"}, "1 to 15"),
    ("08.1", {12: 5}, "into quotes"),
    ("08.1", 12, "which lines change"),
    ("08.1", {10: "__syncthreads();"}, "never written"),
    ("08.2", 6, "goes wrong"),
    ("08.2", 7, "goes wrong"),
    ("08.2", 2, "More threads"),
    ("08.2", 3, "Which rows"),
    ("08.2", 5, "threads leave"),
    ("08.2", 8, "Follow it"),
    ("08.2", 9, "8 lines"),
    ("08.3", 7, "before it"),
    ("08.3", 2, "Groups of four"),
    ("08.3", 10, "The pictures show A"),
    ("08.3", 15, "d2 and d3"),
    ("08.3", 13, "told"),
    ("08.3", 4, "quarters"),
    ("08.4", {5: "for (int k = 0; k < K; k += 16) { for (int r = 0; r < 4; r++) d[r] = 0;"}, "too often"),
    ("08.4", {3: "float d[4];"}, "no instruction has written"),
    ("08.4", {4: f"{_COLUMNS} if (column == 0) d[0] = 0;"}, "still start"),
    ("08.4", {6: "load_a(a, A, K);"}, "start with"),
    ("08.5", {7: "if (thread == 1)"}, "do not come"),
    ("08.5", _TEN, "name them"),
    ("08.5", _TWENTY, "name them"),
    ("08.5", _ACTIVE, "take part"),
    ("08.5", {4: "float m = 0;", **_TWENTY}, "largest"),
    ("08.5", {6: "", 5: _TWENTY[5]}, "all four lanes"),
    ("08.6", 13, "fewer are impossible"),
    ("08.6", 7, "sectors"),
    ("08.6", 8, "registers"),
    ("08.6", 2, "cost"),
    ("08.6", 5, "by line"),
    ("08.7", 16, "made sure"),
    ("08.7", 11, "the point"),
    ("08.7", 19, "keeps threads from overwriting"),
    ("08.7", 12, "A group for every tile"),
    ("08.7", 10, "beyond"),
    ("08.7", 15, "visible"),
    ("08.7", 9, "last iteration"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "08.1": r"__syncthreads\(\);",
    "08.2": r">=|\bline 4\b",
    "08.3": r"a1 and a2|\bline 6\b",
    "08.4": r"= 0",
    "08.5": r"0xfffff\b|__activemask",
    "08.6": r"\bline 9\b",
    "08.7": r"\bline 14\b",
}
