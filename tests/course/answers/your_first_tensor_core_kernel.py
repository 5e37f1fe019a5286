"""Answers to the exercises of lesson 02: kernels, right in several ways and wrong in the typical ones."""

from __future__ import annotations

from typing import Any

from ptxlab.course.exercises.your_first_tensor_core_kernel import LOAD, MMA, STORE
from tests.course.answers import completed
from tests.texts import replaced

_I = "int i = blockIdx.x * blockDim.x + threadIdx.x; "
_STACKED = (
    "int row = blockIdx.y * 64 + threadIdx.x / 32 * 16, column = blockIdx.x * 8; "
    "unsigned a[4], b[2]; float d[4] = {0, 0, 0, 0}; "
    "for (int k = 0; k < K; k += 16) { "
    "load_a(a, A + row * K + k, K); load_b(b, B + column * K + k, K); mma(d, a, b); } "
    "store_d(d, D + row * N + column, N);"
)
_LOAD_B = (
    "for (int r = 0; r < 2; r++) { const f16* at = B + (thread_in_group() * 2 + r * 8) * 8 + group(); "
    "b[r] = at[0] | (unsigned)at[8] << 16; }"
)
_START = "for (int r = 0; r < 4; r++) d[r] = bias[thread_in_group() * 2 + r % 2];"
_SHARED_START = (
    "__shared__ float all[8]; all[threadIdx.x % 8] = bias[threadIdx.x % 8]; "
    "for (int r = 0; r < 4; r++) d[r] = all[thread_in_group() * 2 + r % 2];"
)
_STAGED = replaced(
    _STACKED,
    "store_d(d, D + row * N + column, N);",
    "__shared__ float tile[64 * 8]; store_d(d, tile + threadIdx.x / 32 * 128, 8); "
    "for (int i = threadIdx.x; i < 512; i += 128) "
    "D[(blockIdx.y * 64 + i / 8) * N + column + i % 8] = tile[i];",
)
_EVERY_WARP = replaced(_STACKED, "threadIdx.x / 32 * 16", "w * 16").join(
    ["for (int w = 0; w < 4; w++) { ", " }"]
)
_WRONG_KERNELS = [
    ("02.1", f"{_I}y[i] += a * x[i];", "reads x[1000]; x has 1000 elements. Threads beyond the last element"),
    ("02.1", "int i = threadIdx.x; if (i < n) y[i] += a * x[i];", "which block this is"),
    ("02.1", "for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] += a * x[i];", "up to 8 times"),
    ("02.1", f"{_I}if (i < n) y[i] = a * x[i];", "replaced"),
    ("02.1", f"{_I}if (i < n) y[i] += x[i];", "factor"),
    ("02.1", f"{_I}if (i < n - 1) y[i] += a * x[i];", "n or n - 1"),
    ("02.1", "int i = blockIdx.x * 128 + threadIdx.x; if (i < n) y[i] += a * x[i];", "ask for their size"),
    ("02.1", ";", "No element"),
    ("02.1", f"{_I}if (i < n) y[i] += 3 * x[i];", "`a` is an argument"),
    ("02.1", f"{_I}if (i == 0) for (int j = 0; j < n; j++) y[j] += a * x[j];", "some threads do the work"),
    ("02.1", f"{_I}while (i < n) y[i] += a * x[i];", "does a loop never end"),
    ("02.1", f"{_I}if (i < n) y[i] += a * x[i]", "expected a"),
    ("02.1", f"{_I}if (i < n) y[i] += a * x[n - 1 - i];", "thread 1 of block 1"),
    ("02.2", replaced(_LOAD_B, "at[0] | (unsigned)at[8] << 16", "at[8] | (unsigned)at[0] << 16"), "halves"),
    ("02.2", replaced(_LOAD_B, "b[r] =", "b[1 - r] ="), "Registers 0 and 1 are swapped"),
    (
        "02.2",
        "for (int r = 0; r < 2; r++) "
        "b[r] = *(const unsigned*)(B + group() * 16 + thread_in_group() * 2 + r * 8);",
        "by columns",
    ),
    ("02.2", replaced(_LOAD_B, "at[0] | (unsigned)at[8] << 16", "at[0]"), "shift the second"),
    (
        "02.2",
        replaced(_LOAD_B, "at[0] | (unsigned)at[8]", "((unsigned)at[0] | at[8])"),
        "lower halves of all",
    ),
    ("02.2", replaced(_LOAD_B, "+ r * 8", ""), "same elements"),
    ("02.2", replaced(_LOAD_B, "at[8]", "at[1]"), "neighbours in a column"),
    ("02.2", replaced(_LOAD_B, "thread_in_group() * 2", "thread_in_group()"), "holds B["),
    ("02.2", replaced(_LOAD_B, "<< 16", "<< 8"), "not an element of B"),
    ("02.2", replaced(_LOAD_B, "thread_in_group()", "group()"), "reads B[132]; B has 128 elements"),
    ("02.2", replaced(_LOAD_B, "at[0]", "(short)at[0]"), "negative"),
    (
        "02.2",
        "for (int r = 0; r < 2; r++) "
        "b[r] = *(const unsigned*)(B + (thread_in_group() * 2 + r * 8) * 8 + group());",
        "load two 16-bit elements and join them",
    ),
    (
        "02.2",
        "for (int r = 0, k = thread_in_group() * 2; r < 2; r++, k += 8) "
        "b[r] = B[k][group()] | (unsigned)B[k + 1][group()] << 16;",
        "one long array",
    ),
    ("02.3", "for (int r = 0; r < 4; r++) d[r] = 0;", "where is the bias"),
    ("02.3", ";", "No accumulator"),
    ("02.3", replaced(_START, "] =", "] +="), "no instruction has written; use ="),
    ("02.3", "for (int r = 0; r < 4; r++) d[r] = bias[group()];", "Which of group() and thread_in_group()"),
    ("02.3", "for (int r = 0; r < 4; r++) d[r] = bias[r];", "lanes hold different columns"),
    ("02.3", "for (int r = 0; r < 2; r++) d[r] = bias[thread_in_group() * 2 + r];", "rows 8 to 15 are not"),
    ("02.3", replaced(_START, "+ r % 2", ""), "odd ones are not"),
    ("02.3", replaced(_START, "r % 2", "1 - r % 2"), "swapped"),
    ("02.3", replaced(_START, "thread_in_group() * 2 + r % 2", "threadIdx.x"), "8 numbers"),
    (
        "02.3",
        replaced(_START, "thread_in_group() * 2", "thread_in_group()"),
        "2, which is bias[1]; it should",
    ),
    (
        "02.3",
        replaced(_START, "thread_in_group() * 2 + r % 2", "r / 2"),
        "bias[1]. D[0][1] is d[1] of lane 0",
    ),
    (
        "02.3",
        replaced(_START, "bias[thread_in_group() * 2 + r % 2]", "thread_in_group() * 2 + r % 2 + 9"),
        "no number of the bias",
    ),
    ("02.3", _SHARED_START, "start right, but"),
    ("02.4", ";", "Nothing was stored"),
    ("02.4", f"if (threadIdx.x >= 32) return; {_STACKED}", "execute no `mma`"),
    ("02.4", replaced(_STACKED, " + threadIdx.x / 32 * 16", ""), "all four warps load the same"),
    ("02.4", replaced(_STACKED, "D + row * N + column", "D"), "does `store_d` start at the row"),
    ("02.4", replaced(_STACKED, "threadIdx.x / 32 * 16", "threadIdx.x / 32"), "warp 1 from row 1"),
    ("02.4", replaced(_STACKED, "threadIdx.x / 32", "threadIdx.x % 4"), "lanes of warp 1 disagree"),
    ("02.4", replaced(_STACKED, "blockIdx.y * 64 + ", ""), "blocks along y"),
    ("02.4", replaced(_STACKED, "blockIdx.x * 8", "0"), "first 8 columns"),
    ("02.4", replaced(_STACKED, "k < K", "k < 16"), "first 16 along K"),
    ("02.4", replaced(_STACKED, "mma(d", "d[0] = d[1] = d[2] = d[3] = 0; mma(d"), "start at 0 again"),
    ("02.4", replaced(_STACKED, "int k = 0; k < K; k += 16", "int k = K - 16; k >= 0; k -= 16"), "rounding"),
    ("02.4", replaced(_STACKED, "row * K", "row * N"), "a row of A has K elements"),
    ("02.4", replaced(_STACKED, "column * K + k", "column + k * N"), "a column of B begins every K elements"),
    ("02.4", replaced(_STACKED, "threadIdx.x / 32 * 16", "threadIdx.x % 32 * 16"), "the warp's number"),
    ("02.4", replaced(_STACKED, "threadIdx.x / 32 * 16", "16 * threadIdx.x / 32"), "the warp's number"),
    ("02.4", replaced(_STACKED, "blockIdx.x * 8", "blockIdx.x * 16"), "past the end of B"),
    ("02.4", replaced(_STACKED, "* 64", "* 128"), "last warp of the last block"),
    ("02.4", replaced(_STACKED, " = {0, 0, 0, 0}", ""), "never written"),
    ("02.4", _STAGED, "D is right, but"),
    ("02.4", _EVERY_WARP, "would do"),
]

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "02.1": f"{_I}if (i < n) y[i] += a * x[i];",
    "02.2": _LOAD_B,
    "02.3": _START,
    "02.4": _STACKED,
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    *[
        (name, completed(name, body))
        for name, body in [
            (
                "02.1",
                "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) "
                "y[i] = y[i] + a * x[i];",
            ),
        ]
    ],
    ("02.4", f"{MMA}{LOAD}{STORE}{completed('02.4', _STACKED)}"),  # as the lesson builds its own kernels
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    *((name, completed(name, body), words) for name, body, words in _WRONG_KERNELS),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "02.1": r"blockIdx\.x \* blockDim\.x",
    "02.2": r"thread_in_group\(\) \* 2",
    "02.3": r"thread_in_group\(\) \* 2",
    "02.4": r"threadIdx\.x / 32",
}
