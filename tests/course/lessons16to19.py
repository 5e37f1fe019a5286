"""Answers to the exercises of lessons 16 to 19.

Lesson 16: worked out by hand from the ISA's address arithmetic.
Lesson 17: kernels, right in several ways and wrong in the typical ones.
Lesson 18: lines of broken kernels, and edits that repair them or do not.
Lesson 19: worked out by hand from cycles, bytes and clocks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ptxlab import lessons

_PATTERN = {32: 1, 64: 3, 128: 7}


def by_bits(offset: int, width: int) -> int:
    """The swizzle, bit by bit as PTX ISA, "Shared Memory Matrix Layout", draws its patterns."""
    for bit in range(3):
        if _PATTERN[width] >> bit & 1 and offset >> 7 + bit & 1:
            offset ^= 16 << bit
    return offset


def _answer(name: str, body: str) -> str:
    """The text that the cell holds once the reader has written `body` in the place of the `...`."""
    starter = lessons.exercise(name).starter
    return starter.split('"""')[1].replace("...", body)


_I = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
_STACKED = (
    "int row = blockIdx.y * 64 + threadIdx.x / 32 * 16, column = blockIdx.x * 8; "
    "unsigned a[4], b[2]; float d[4] = {0, 0, 0, 0}; "
    "for (int k = 0; k < K; k += 16) { "
    "load_a(a, A + row * K + k, K); load_b(b, B + column * K + k, K); mma(d, a, b); } "
    "store_d(d, D + row * N + column, N);"
)
_LOAD_B = (
    "for (int r = 0; r < 2; r++) { const f16* at = B + (thread() * 2 + r * 8) * 8 + group(); "
    "b[r] = at[0] | (unsigned)at[8] << 16; }"
)
_START = "for (int r = 0; r < 4; r++) d[r] = bias[thread() * 2 + r % 2];"
_STAGED = _STACKED.replace(
    "store_d(d, D + row * N + column, N);",
    "__shared__ float tile[64 * 8]; store_d(d, tile + threadIdx.x / 32 * 128, 8); "
    "for (int i = threadIdx.x; i < 512; i += 128) "
    "D[(blockIdx.y * 64 + i / 8) * N + column + i % 8] = tile[i];",
)
_EVERY_WARP = _STACKED.replace("threadIdx.x / 32 * 16", "w * 16").join(
    ["for (int w = 0; w < 4; w++) { ", " }"]
)
_WRONG_KERNELS = [
    ("17.1", f"{_I}y[i] += a * x[i];", "beyond the last element"),
    ("17.1", "int i = threadIdx.x; if (i < n) y[i] += a * x[i];", "which block this is"),
    ("17.1", "for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] += a * x[i];", "only by luck"),
    ("17.1", f"{_I}if (i < n) y[i] = a * x[i];", "replaced"),
    ("17.1", f"{_I}if (i < n) y[i] += x[i];", "factor"),
    ("17.1", f"{_I}if (i < n - 1) y[i] += a * x[i];", "n or n - 1"),
    ("17.1", "int i = blockIdx.x * 128 + threadIdx.x; if (i < n) y[i] += a * x[i];", "ask for their size"),
    ("17.1", ";", "No element"),
    ("17.1", f"{_I}if (i < n) y[i] += 3 * x[i];", "`a` is an argument"),
    ("17.1", f"{_I}if (i == 0) for (int j = 0; j < n; j++) y[j] += a * x[j];", "some threads do the work"),
    ("17.1", f"{_I}while (i < n) y[i] += a * x[i];", "does a loop never end"),
    ("17.1", f"{_I}if (i < n) y[i] += a * x[i]", "expected a"),
    ("17.1", f"{_I}if (i < n) y[i] += a * x[n - 1 - i];", "thread 1 of block 1"),
    ("17.2", _LOAD_B.replace("at[0] | (unsigned)at[8] << 16", "at[8] | (unsigned)at[0] << 16"), "halves"),
    ("17.2", _LOAD_B.replace("b[r] =", "b[1 - r] ="), "Registers 0 and 1 are swapped"),
    (
        "17.2",
        "for (int r = 0; r < 2; r++) b[r] = *(const unsigned*)(B + group() * 16 + thread() * 2 + r * 8);",
        "by columns",
    ),
    ("17.2", _LOAD_B.replace("at[0] | (unsigned)at[8] << 16", "at[0]"), "shift the second"),
    ("17.2", _LOAD_B.replace("+ r * 8", ""), "same elements"),
    ("17.2", _LOAD_B.replace("at[8]", "at[1]"), "neighbours in a column"),
    ("17.2", _LOAD_B.replace("thread() * 2", "thread()"), "holds B["),
    ("17.2", _LOAD_B.replace("<< 16", "<< 8"), "not an element of B"),
    ("17.2", _LOAD_B.replace("thread()", "group()"), "which row and column does each lane read"),
    ("17.2", _LOAD_B.replace("at[0]", "(short)at[0]"), "negative"),
    ("17.3", "for (int r = 0; r < 4; r++) d[r] = 0;", "still 0"),
    ("17.3", "for (int r = 0; r < 4; r++) d[r] = bias[group()];", "Which of group() and thread()"),
    ("17.3", "for (int r = 0; r < 4; r++) d[r] = bias[r];", "lanes hold different columns"),
    ("17.3", "for (int r = 0; r < 2; r++) d[r] = bias[thread() * 2 + r];", "rows 8 to 15 are not"),
    ("17.3", _START.replace("+ r % 2", ""), "odd ones are not"),
    ("17.3", _START.replace("r % 2", "1 - r % 2"), "swapped"),
    ("17.3", _START.replace("thread() * 2 + r % 2", "threadIdx.x"), "8 numbers"),
    ("17.3", _START.replace("thread() * 2", "thread()"), "starts with"),
    ("17.3", _START.replace("bias[thread() * 2 + r % 2]", "thread() * 2 + r % 2 + 1"), "starts with"),
    ("17.4", ";", "Nothing was stored"),
    ("17.4", _STACKED.replace(" + threadIdx.x / 32 * 16", ""), "all four warps"),
    ("17.4", _STACKED.replace("blockIdx.y * 64 + ", ""), "blocks along y"),
    ("17.4", _STACKED.replace("blockIdx.x * 8", "0"), "first 8 columns"),
    ("17.4", _STACKED.replace("k < K", "k < 16"), "first 16 along K"),
    ("17.4", _STACKED.replace("mma(d", "d[0] = d[1] = d[2] = d[3] = 0; mma(d"), "start at 0 again"),
    ("17.4", _STACKED.replace("int k = 0; k < K; k += 16", "int k = K - 16; k >= 0; k -= 16"), "rounding"),
    ("17.4", _STACKED.replace("row * K", "row * N"), "multiplied by the right one"),
    ("17.4", _STACKED.replace("* 64", "* 128"), "last warp of the last block"),
    ("17.4", _STACKED.replace(" = {0, 0, 0, 0}", ""), "never written"),
    ("17.4", _STAGED, "D is right, but"),
    ("17.4", _EVERY_WARP, "would do"),
]
_COLUMNS = "for (int column = 0; column < N; column += 8) {"
_ZERO = "float d[4] = {0, 0, 0, 0};"
_LOAD = "fmaxf(D[row * 8 + thread * 2], D[row * 8 + thread * 2 + 1])"
_OUTSIDE = {3: f"float m = row < M ? {_LOAD} : 0;", 4: "", 7: "if (row < M && thread == 0)", 9: ""}
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
}


_LINES = {"18.2": 4, "18.3": 6, "18.6": 9, "18.7": 14}
_NAMES = sorted(_EDITS.keys() | _LINES.keys())


def by_cases(n: int, sparse: bool, in_memory: bool) -> float:
    """Tensor cores and shared memory, each case for itself."""
    if sparse:
        return n / 2 + 16 if in_memory else n / 2
    return max(n / 2, n / 4 + 16) if in_memory else n / 2


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "16.1": "11 * 128 + (5 ^ 3) * 16 + 4",
    "16.2": "offset ^ (offset >> 7 & width // 16 - 1) << 4",
    "16.3": "0x40000040000102C4",
    "16.4": "(8 * 1024 - 96, 1024 - 96)",
    "16.5": "0x4000004000010180",
    "16.6": "(64, 2, 128 * 128 * 2)",
    "16.7": "[12, 13]",
    "17.1": f"{_I}if (i < n) y[i] += a * x[i];",
    "17.2": _LOAD_B,
    "17.3": _START,
    "17.4": _STACKED,
    **{name: str(_LINES[name]) if name in _LINES else repr(_EDITS[name][0])[1:-1] for name in _NAMES},
    "19.1": "2 * 16 * 8 * 16 / 24 * 4 * 132 * 1.75e9 / 1e12",
    "19.2": "(4, 2, 1)",
    "19.3": "(2731, 4096, 67)",
    "19.4": "max(n / 2, n * (64 if sparse else 32) / 128 + (16 if in_memory else 0))",
    "19.5": "(4 / 3, 224)",
    "19.6": "24",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("16.2", by_bits),
    ("16.2", lambda offset, width: np.int64(by_bits(offset, width))),
    ("16.3", "0x40000040000002c4"),
    ("16.5", 0x4000004000000180),
    ("16.7", {12, 13}),
    ("16.7", (13, 12)),
    *[
        (name, _answer(name, body))
        for name, body in [
            (
                "17.1",
                "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) "
                "y[i] = y[i] + a * x[i];",
            ),
        ]
    ],
    *[(name, edit) for name, edits in _EDITS.items() for edit in edits[1:]],
    ("19.1", 158),
    ("19.1", 157.7),
    ("19.1", "160"),
    ("19.3", [2730.67, 4096.0, 66.7]),
    ("19.4", by_cases),
    ("19.5", (1.33, 224)),
    ("19.5", [1.333, 224]),
    ("19.6", 24.4),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("16.1", 1492, "without the swizzle"),
    ("16.1", 1412, "rotated"),
    ("16.1", 1636, "three bits"),
    ("16.1", 1504, "in the chunk"),
    ("16.1", 1434, "two"),
    ("16.1", 754, "elements"),
    ("16.1", 84, "row first"),
    ("16.1", 1410, "in binary"),
    ("16.2", lambda offset, width: offset, "changes nothing"),
    ("16.2", lambda offset, width: by_bits(offset, 128), "every width"),
    ("16.2", lambda offset, width: offset ^ (offset // width % (width // 16)) * 16, "from bit 7 on"),
    (
        "16.2",
        lambda offset, width: offset // width * width + (offset % width + (offset >> 7) * 16) % width,
        "rotated",
    ),
    ("16.2", lambda offset, width: offset ^ offset >> 7 & 7, "never change"),
    ("16.2", lambda offset, width: by_bits(offset, width) if width == 128 else offset, "128 bytes are right"),
    ("16.2", lambda offset, width: offset ^ 16, "XOR them into"),
    ("16.3", 0x40000040000102C0, "still the first"),
    ("16.3", 0x4000004000010300, "units of 16"),
    ("16.3", 0x40000040000102C8, "two bytes"),
    ("16.3", 0x40000040000102C2, "k = 32"),
    ("16.3", 0x40000020000102C4, "upper fields"),
    ("16.3", 0x4000004000010340, "How many bytes"),
    ("16.3", 0x4000004000014000, "not a descriptor"),
    ("16.4", (928, 8096), "wrong order"),
    ("16.4", (8192, 1024), "k = 48 already"),
    ("16.4", (32, 32), "leaves the atom"),
    ("16.4", (506, 58), "units of 16"),
    ("16.4", (8096, 32), "Rows first is right"),
    ("16.4", (32, 928), "K first is right"),
    ("16.4", (0, 0), "Find where"),
    ("16.5", 0x8000002000010180, "unchanged"),
    ("16.5", 0x4000004000010181, "lowest 14 bits"),
    ("16.5", 0x4002004000010180, "base offset"),
    ("16.5", 0xC000004000010180, "do not grow"),
    ("16.5", 0x4000002000010180, "Now SBO"),
    ("16.5", 0x8000004000010180, "SBO is right"),
    ("16.5", 0x4000008000010180, "units of 16"),
    ("16.5", 0x8000001000010180, "Two fields"),
    ("16.6", (128, 1, 32768), "at most as wide"),
    ("16.6", (32, 4, 32768), "fit into 128 bytes"),
    ("16.6", (64, 4, 32768), "The box is right"),
    ("16.6", (64, 2, 16384), "one copy"),
    ("16.6", (64, 2, 8192), "two copies"),
    ("16.6", (64, 2, 128), "Multiply"),
    ("16.7", [14], "no shuffles"),
    ("16.7", [14, 15], "12 to 15"),
    ("16.7", [12], "two lanes"),
    ("16.7", [8, 9], "group of four"),
    ("16.7", [12, 15], "upper half"),
    *((name, _answer(name, body), words) for name, body, words in _WRONG_KERNELS),
    ("18.1", {9: ""}, "as well"),
    ("18.1", {11: "__syncwarp(); load_b(b, B + column * K + k, K);"}, "the `ldmatrix` of one iteration"),
    ("18.1", {13: "}\n__syncthreads();"}, "in *every* iteration"),
    ("18.1", {12: "mma(d, a, b); if (threadIdx.x < 64) __syncthreads();"}, "slow one"),
    ("18.1", {12: "mma(d, a, b); if (threadIdx.x == 0) __syncthreads();"}, "have to reach"),
    ("18.1", {12: "__syncthreads();"}, "arithmetic was right"),
    ("18.1", {12: "mma(d, a, b)"}, "expected a"),
    ("18.1", {12: "mma(d, a, b);"}, "as it was"),
    ("18.1", {16: "__syncthreads();"}, "1 to 15"),
    ("18.1", {12: 5}, "into quotes"),
    ("18.1", 12, "which lines change"),
    ("18.1", {10: "__syncthreads();"}, "never written"),
    ("18.2", 6, "goes wrong"),
    ("18.2", 7, "goes wrong"),
    ("18.2", 2, "More threads"),
    ("18.2", 3, "Which rows"),
    ("18.2", 5, "threads leave"),
    ("18.2", 8, "Follow it"),
    ("18.2", 9, "8 lines"),
    ("18.3", 7, "before it"),
    ("18.3", 2, "Groups of four"),
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
    ("18.5", {3: "", 4: f"float m; if (row < M) m = {_LOAD};", 7: _OUTSIDE[7], 9: ""}, "every path"),
    ("18.5", {4: "float m = 0;", **_TWENTY}, "largest"),
    ("18.5", {6: "", 5: _TWENTY[5]}, "all four lanes"),
    ("18.6", 13, "fewer are impossible"),
    ("18.6", 7, "sectors"),
    ("18.6", 8, "registers"),
    ("18.6", 2, "cost"),
    ("18.6", 5, "by line"),
    ("18.7", 16, "made sure"),
    ("18.7", 11, "the point"),
    ("18.7", 19, "Nobody overwrites"),
    ("18.7", 12, "A group for every tile"),
    ("18.7", 10, "beyond"),
    ("18.7", 15, "visible"),
    ("18.7", 9, "last iteration"),
    ("19.1", 79, "counts each pair once"),
    ("19.1", 39.4, "on an SM at once"),
    ("19.1", 19.7, "four sub-partitions to an SM"),
    ("19.1", 1.19, "one SM"),
    ("19.1", 157_696, "other units"),
    ("19.1", 90, "1 GHz"),
    ("19.1", 631, "never waits"),
    ("19.1", 7, "multiply by the number of sub-partitions"),
    ("19.2", (24, 12, 6), "in every cycle"),
    ("19.2", (6, 3, 2), "Those are cycles"),
    ("19.2", (16, 2, 1), "whole SM"),
    ("19.2", (3, 2, 1), "can start"),
    ("19.2", (4, 4, 2), "in each sub-partition"),
    ("19.2", (4, 1, 1), "warps of a sub-partition"),
    ("19.2", (4, 2, 2), "With 16 warps"),
    ("19.3", (1365, 2048, 67), "multiply-adds"),
    ("19.3", (10923, 4096, 267), "already include"),
    ("19.3", (683, 4096, 17), "already include"),
    ("19.3", (2000, 4096, 49), "every 1.5 cycles"),
    ("19.3", (2731, 8192, 33), "how often"),
    ("19.3", (2731, 4096, 150), "which the whole"),
    ("19.3", (2731, 4096, 0.67), "In percent"),
    ("19.3", (2731, 4096, 50), "What percentage"),
    ("19.4", lambda n, sparse, in_memory: n / 2 + n / 4 * (1 + sparse) + 16 * in_memory, "hides the other"),
    ("19.4", lambda n, sparse, in_memory: n / 2, "for A and B"),
    ("19.4", lambda n, sparse, in_memory: n / 4 * (1 + sparse) + 16 * in_memory, "tensor cores take longer"),
    ("19.4", lambda n, sparse, in_memory: max(n / 2, n / 4 * (1 + sparse) + 16), "need not be read"),
    ("19.4", lambda n, sparse, in_memory: max(n / 2, n / 4 + 16 * in_memory), "how many bytes of B"),
    ("19.4", lambda n, sparse, in_memory: n, "Begin with dense"),
    ("19.4", lambda n, sparse, in_memory: n / 2 + 3 * in_memory, "adds 64 x 32"),
    (
        "19.4",
        lambda n, sparse, in_memory: 2 * n if sparse else by_cases(n, sparse, in_memory),
        "Dense is right",
    ),
    (
        "19.4",
        lambda n, sparse, in_memory: by_cases(n, sparse, in_memory) + 9 * (sparse and in_memory),
        "sparse with A in memory",
    ),
    ("19.5", (1.5, 224), "the work of two"),
    ("19.5", (0.667, 224), "the work of two"),
    ("19.5", (2, 224), "promises"),
    ("19.5", (1.1, 224), "divided by cycles"),
    ("19.5", (1.33, 256), "a smaller N"),
    ("19.5", (1.33, 128), "not there yet"),
    ("19.6", 48.8, "half the K"),
    ("19.6", 97.6, "k32"),
    ("19.6", 0.041, "other way round"),
    ("19.6", 3, "Take k64"),
    ("19.6", 25, "Take k64"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "16.1": r"\b1508\b|0x5e4|\b6\b",
    "16.3": r"(?i)2c4",
    "16.4": r"\b8096\b|\b928\b",
    "16.5": r"(?i)0x40000040|0x40\b",
    "16.6": r"\b32768\b|\b64, 2\b",
    "16.7": r"\b12 and 13\b|\b13\b",
    "17.1": r"blockIdx\.x \* blockDim\.x",
    "17.2": r"thread\(\) \* 2",
    "17.3": r"thread\(\) \* 2",
    "17.4": r"threadIdx\.x / 32",
    "18.1": r"__syncthreads\(\);",
    "18.2": r">=|\bline 4\b",
    "18.3": r"a1 and a2|\bline 6\b",
    "18.4": r"= 0",
    "18.5": r"0xfffff\b|__activemask",
    "18.6": r"\bline 9\b",
    "18.7": r"\bline 14\b",
    "19.1": r"\b15[78]\b",
    "19.2": r"\b4, 2\b|\b2, 1\b",
    "19.3": r"\b2731\b|\b4096\b|\b67\b|\b66",
    "19.4": r"\bmax\b|N / 4",
    "19.5": r"\b224\b|1\.3",
    "19.6": r"\b24\b",
}
