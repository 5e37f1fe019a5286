"""Answers to the exercises of lesson 32: where a sum begins anew, what rounds, kernels with a fixed order."""

from __future__ import annotations

from typing import Any

_KERNEL = """extern "C" __global__ void row_sum(const float* x, float* y, int K)
{
    __shared__ float sums[256];
    %s
}
"""
_REST = """
    __syncthreads();
    for (int half = %s; half > 0; half /= 2) {
        if (threadIdx.x < half)
            sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = sums[0];"""
_FIXED = """if (threadIdx.x < 64) {
        float sum = 0;
        for (int k = threadIdx.x; k < K; k += 64)
            sum += x[blockIdx.x * K + k];
        sums[threadIdx.x] = sum;
    }"""
_BY_BLOCK = """float sum = 0;
    for (int k = threadIdx.x; k < K; k += blockDim.x)
        sum += x[blockIdx.x * K + k];
    sums[threadIdx.x] = sum;"""

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "32.1": "K // parts",
    "32.2": '("grouping", "nothing", "contraction", "steps", "order", "nothing")',
    "32.3": "{1, 4}",
    "32.4": _FIXED + _REST % "32",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("32.1", lambda K, parts: K / parts),
    ("32.2", ["Grouping", "nothing", "contraction", " steps", "order", "nothing"]),
    ("32.3", [4, 1]),
    ("32.4", _KERNEL % (_FIXED + _REST % "32")),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("32.1", lambda K, parts: K // parts - 1, "last element of the"),
    ("32.1", lambda K, parts: parts, "number of parts"),
    ("32.1", lambda K, parts: 1, "Both launches begin"),
    ("32.1", lambda K, parts: K - K // parts, "*last* part begins"),
    ("32.1", lambda K, parts: K // 2 + 7, "How far does"),
    ("32.2", ("order", "nothing", "contraction", "steps", "order", "nothing"), "In a,"),
    ("32.2", ("grouping", "order", "contraction", "steps", "order", "nothing"), "In b,"),
    ("32.2", ("grouping", "nothing", "grouping", "steps", "order", "nothing"), "In c,"),
    ("32.2", ("grouping", "nothing", "contraction", "nothing", "order", "nothing"), "In d,"),
    ("32.2", ("grouping", "nothing", "contraction", "steps", "nothing", "nothing"), "In e,"),
    ("32.2", ("grouping", "nothing", "contraction", "steps", "order", "order"), "In f,"),
    ("32.2", ("grouping", "none", "contraction", "steps", "order", "order"), "none of the words"),
    ("32.2", 3, "six words"),
    ("32.3", {1, 2, 4}, "whole numbers"),
    ("32.3", {1, 3, 4}, "sums of the warps"),
    ("32.3", {4}, "which block adds first"),
    ("32.3", {1}, "256 threads"),
    ("32.3", {0, 1}, "numbers 1 to 4"),
    ("32.4", _KERNEL % (_BY_BLOCK + _REST % "blockDim.x / 2"), "How many partial sums"),
    ("32.4", _KERNEL % (_BY_BLOCK + _REST % "32"), "is not the sum of its row"),
    (
        "32.4",
        _KERNEL % (_FIXED + _REST.replace("    __syncthreads();\n", "", 1) % "32"),
        "The simulator reports",
    ),
]

#: What a hint may not give away, as patterns.
SECRET: dict[str, str] = {"32.1": r"K */+ *parts|K / parts", "32.4": r"< 64"}
