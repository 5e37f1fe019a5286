"""Answers to the exercises of lesson 17: kernels, right in several ways and wrong in the typical ones."""

from __future__ import annotations

from typing import Any

from ptxlab import lessons


def _answer(name: str, body: str) -> str:
    """The text that the cell holds once the reader has written `body` in the place of the `...`."""
    starter = lessons.exercise(name).starter
    return starter.split('"""')[1].replace("...", body)


_I = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
_COPY = "for (int i = threadIdx.x; i < 256; i += 128) tile[i] = A[(row + i / 16) * K + k + i % 16]; "
_MULTIPLY = "load_a(a, tile, 16); load_b(b, B + column * K + k, K); mma(d, a, b); "
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

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "17.1": f"{_I}if (i < n) y[i] += a * x[i];",
    "17.2": _LOAD_B,
    "17.3": _START,
    "17.4": "return row * 128 + (piece ^ row % 8) * 16;",
    "17.5": _STACKED,
    "17.6": f"{_COPY}__syncthreads(); {_MULTIPLY}__syncthreads();",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    (name, _answer(name, body))
    for name, body in [
        (
            "17.1",
            "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) "
            "y[i] = y[i] + a * x[i];",
        ),
        ("17.4", "return row * 128 + (piece + row) % 8 * 16;"),
        ("17.6", f"__syncthreads(); {_COPY}__syncthreads(); {_MULTIPLY}"),
    ]
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    (name, _answer(name, body), words)
    for name, body, words in [
        ("17.1", f"{_I}y[i] += a * x[i];", "beyond the last element"),
        ("17.1", "int i = threadIdx.x; if (i < n) y[i] += a * x[i];", "which block this is"),
        ("17.1", f"{_I}if (i < n) y[i] = a * x[i];", "replaced"),
        ("17.1", f"{_I}if (i < n) y[i] += x[i];", "factor"),
        ("17.1", f"{_I}if (i < n - 1) y[i] += a * x[i];", "n or n - 1"),
        (
            "17.1",
            "int i = blockIdx.x * 128 + threadIdx.x; if (i < n) y[i] += a * x[i];",
            "ask for their size",
        ),
        ("17.1", ";", "No element"),
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
        ("17.2", _LOAD_B.replace("thread()", "group()"), "which row and column does each lane read"),
        ("17.3", "for (int r = 0; r < 4; r++) d[r] = 0;", "still 0"),
        ("17.3", "for (int r = 0; r < 4; r++) d[r] = bias[group()];", "Which of group() and thread()"),
        ("17.3", "for (int r = 0; r < 4; r++) d[r] = bias[r];", "lanes hold different columns"),
        ("17.3", "for (int r = 0; r < 2; r++) d[r] = bias[thread() * 2 + r];", "rows 8 to 15 are not"),
        ("17.3", _START.replace("+ r % 2", ""), "odd ones are not"),
        ("17.3", _START.replace("r % 2", "1 - r % 2"), "swapped"),
        ("17.3", _START.replace("thread() * 2 + r % 2", "threadIdx.x"), "8 numbers"),
        ("17.3", _START.replace("thread() * 2", "thread()"), "starts with"),
        ("17.4", "return row * 128 + piece * 16;", "nothing is gained"),
        ("17.4", "return row * 144 + piece * 16;", "no room to pad"),
        ("17.4", "return row * 128 + (piece ^ row % 4) * 16;", "at the same place in their row"),
        ("17.4", "return row * 128 + (piece ^ row % 2) * 16;", "some rows of every eight"),
        ("17.4", "return row * 128 + (piece | row % 8) * 16;", "needs its own"),
        ("17.4", "return row * 128 + (piece ^ row % 8);", "multiple of 16"),
        ("17.5", ";", "Nothing was stored"),
        ("17.5", _STACKED.replace(" + threadIdx.x / 32 * 16", ""), "all four warps"),
        ("17.5", _STACKED.replace("blockIdx.y * 64 + ", ""), "blocks along y"),
        ("17.5", _STACKED.replace("blockIdx.x * 8", "0"), "first 8 columns"),
        ("17.5", _STACKED.replace("k < K", "k < 16"), "first 16 along K"),
        ("17.5", _STACKED.replace("mma(d", "d[0] = d[1] = d[2] = d[3] = 0; mma(d"), "start at 0 again"),
        (
            "17.5",
            _STACKED.replace("int k = 0; k < K; k += 16", "int k = K - 16; k >= 0; k -= 16"),
            "rounding",
        ),
        ("17.5", _STACKED.replace("row * K", "row * N"), "multiplied by the right one"),
        ("17.5", _STACKED.replace("* 64", "* 128"), "last warp of the last block"),
        ("17.5", _STACKED.replace(" = {0, 0, 0, 0}", ""), "never written"),
        ("17.6", f"{_COPY}{_MULTIPLY}", "may not have written"),
        ("17.6", f"{_COPY}__syncthreads(); {_MULTIPLY}", "second wait"),
        ("17.6", f"{_COPY}{_MULTIPLY}__syncthreads();", "may not have written"),
        ("17.6", f"{_COPY}__syncthreads(); load_a(a, tile, 16); __syncthreads();", "too few"),
        (
            "17.6",
            "load_a(a, A + row * K + k, K); load_b(b, B + column * K + k, K); mma(d, a, b);",
            "never read",
        ),
        (
            "17.6",
            f"{_COPY}__syncthreads(); {_MULTIPLY.replace('tile, 16', 'tile, 8')}__syncthreads();",
            "how long its rows are",
        ),
        (
            "17.6",
            f"{_COPY.replace('i += 128', 'i += 32').replace('= threadIdx.x', '= threadIdx.x % 32')}"
            f"__syncthreads(); {_MULTIPLY}__syncthreads();",
            "does every warp copy the whole tile",
        ),
    ]
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "17.1": r"blockIdx\.x \* blockDim\.x",
    "17.2": r"thread\(\) \* 2",
    "17.3": r"thread\(\) \* 2",
    "17.4": r"piece \^|XOR",
    "17.5": r"threadIdx\.x / 32",
    "17.6": r"__syncthreads",
}
