"""Lesson 14: parts of an epilogue, right in several ways and wrong in typical ones."""

from __future__ import annotations

from typing import Any

from tests.course.answers import completed
from tests.texts import replaced

_STORE = (
    "for (int j = 0; j < 8; j++) for (int h = 0; h < 2; h++) { "
    "int row = group() + 8 * h, column = 8 * j + 2 * thread_in_group(); const float* x = d + 4 * j + 2 * h; "
    "D[(row * N + column) / 2] = pack(max(x[0] + bias[column], 0.0f), max(x[1] + bias[column + 1], 0.0f)); }"
)
_PACKED = "pack(max(x[0] + bias[column], 0.0f), max(x[1] + bias[column + 1], 0.0f))"
_PUT = (
    "int lane = threadIdx.x % 32, row = lane % 16; for (int i = 0; i < 4; i++) { "
    "int vector = 2 * i + lane / 16; stmatrix(tile + row * 128 + (vector ^ row % 8) * 16, p + 4 * i); }"
)
_ISSUE = "if (threadIdx.x == 0) { tma_store(D, column, 0, tile); commit_group(); wait_group_read<0>(); }"
_LEAVE = f"fence_proxy_async(); __syncthreads(); {_ISSUE}"
_SEND = (
    "char* tile = buffers + i % 2 * 8192; "
    "if (threadIdx.x == 0) wait_group_read<1>(); __syncthreads(); "
    "put(tile + threadIdx.x / 32 * 2048, p); fence_proxy_async(); __syncthreads(); "
    "if (threadIdx.x == 0) { tma_store(D, 64 * i, 0, tile); commit_group(); }"
)
_WAIT = "if (threadIdx.x == 0) wait_group_read<1>(); __syncthreads(); "
_EPILOGUES = [
    ("14.2", ";", "Nothing was stored"),
    (
        "14.2",
        replaced(replaced(_STORE, "[column]", "[row]"), "[column + 1]", "[row]"),
        "Every *row* has its own",
    ),
    ("14.2", replaced(_STORE, "[column", "[column % 8", 2), "begins again"),
    (
        "14.2",
        replaced(_STORE, _PACKED, "pack(max(x[0], 0.0f) + bias[column], max(x[1], 0.0f) + bias[column + 1])"),
        "ReLU comes first",
    ),
    (
        "14.2",
        "auto half = [](float f) { float g; unsigned w = pack(f, f); "
        'asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l; }" : "=f"(g) : "r"(w)); return g; }; '
        + replaced(replaced(_STORE, "x[0]", "half(x[0])"), "x[1]", "half(x[1])"),
        "before the bias",
    ),
    ("14.2", replaced(replaced(_STORE, "max(", "(", 2), ", 0.0f)", ")", 2), "Where is ReLU"),
    (
        "14.2",
        replaced(replaced(_STORE, " + bias[column]", ""), " + bias[column + 1]", ""),
        "without its bias",
    ),
    (
        "14.2",
        replaced(
            replaced(
                replaced(_STORE, "x[0] + bias[column]", "@"), "x[1] + bias[column + 1]", "x[0] + bias[column]"
            ),
            "@",
            "x[1] + bias[column + 1]",
        ),
        "swapped",
    ),
    ("14.2", replaced(_STORE, "h < 2", "h < 1"), "Rows 8 to 15"),
    ("14.2", replaced(_STORE, "j < 8", "j < 1"), "first 8 columns"),
    ("14.2", replaced(_STORE, "row * N", "row * 64"), "follow from"),
    ("14.2", replaced(_STORE, "/ 2]", "]"), "which word holds"),
    (
        "14.2",
        replaced(
            _STORE,
            f"D[(row * N + column) / 2] = {_PACKED}",
            "f16* at = (f16*)D + row * N + column; at[0] = pack(max(x[0] + bias[column], 0.0f), 0); "
            "at[1] = pack(max(x[1] + bias[column + 1], 0.0f), 0)",
        ),
        "more often than it has to",
    ),
    ("14.3", ";", "elements are wrong"),
    ("14.3", replaced(_PUT, "(vector ^ row % 8)", "vector"), "rows as they are"),
    (
        "14.3",
        replaced(
            replaced(_PUT, "row = lane % 16", "row = lane % 8 + lane / 16 * 8"), "lane / 16;", "lane / 8 % 2;"
        ),
        "Blocks of 8 x 8",
    ),
    ("14.3", replaced(_PUT, "tile +", "tile + threadIdx.x / 32 * 2048 +"), "The simulation stopped"),
    ("14.3", replaced(_PUT, "2 * i + ", ""), "where do p[4]"),
    ("14.3", replaced(_PUT, "row % 8", "row / 8"), "XORed"),
    (
        "14.3",
        replaced(_PUT, "row * 128 + (vector ^ row % 8) * 16", "group() * 128 + thread_in_group() * 4"),
        "multiple of 16",
    ),
    ("14.3", replaced(_PUT, "p + 4 * i", "p"), "where do p[4]"),
    (
        "14.3",
        "for (int i = 0; i < 16; i++) { int row = group() + i % 2 * 8; "
        "*(unsigned*)(tile + row * 128 + (i / 2 ^ row % 8) * 16 + thread_in_group() * 4) = p[i]; }",
        "no `stmatrix` was executed",
    ),
    (
        "14.3",
        f"{_PUT} {replaced(_PUT, 'int lane = threadIdx.x % 32, row = lane % 16; ', '')}",
        "more than it takes",
    ),
    ("14.3", replaced(_PUT, "lane % 16;", "lane % 8;"), "Lane i supplies"),
    ("14.4", ";", "Nothing was stored"),
    ("14.4", f"__syncthreads(); {_ISSUE}", "missing proxy fence"),
    ("14.4", f"fence_proxy_async(); {_ISSUE}", "it does not wait for others"),
    ("14.4", f"if (threadIdx.x == 0) fence_proxy_async(); __syncthreads(); {_ISSUE}", "does not cover all"),
    ("14.4", replaced(_LEAVE, "commit_group(); ", ""), "ends with a commit"),
    ("14.4", replaced(_LEAVE, "<0>", "<1>"), "who executes your wait"),
    (
        "14.4",
        replaced(_LEAVE, " wait_group_read<0>();", "") + " else wait_group_read<0>();",
        "who executes your wait",
    ),
    ("14.4", replaced(_LEAVE, " wait_group_read<0>();", ""), "The block may end"),
    ("14.4", replaced(_LEAVE, "if (threadIdx.x == 0) ", ""), "stored 128 times"),
    ("14.4", replaced(_LEAVE, "== 0", "% 32 == 0"), "stored 4 times"),
    ("14.4", replaced(_LEAVE, "column, 0", "0, column"), "column before the row"),
    ("14.4", replaced(_LEAVE, "column, 0", "0, 0"), "column before the row"),
    ("14.4", replaced(_LEAVE, "column, 0", "column + 8, 0"), "elements are wrong"),
]
_SENDS = [
    ("14.6", ";", "Nothing was stored"),
    ("14.6", replaced(_SEND, "read<1>", "read<0>"), "nothing overlaps"),
    ("14.6", replaced(_SEND, "_read<1>", "<1>"), "in global memory"),
    ("14.6", replaced(_SEND, "read<1>", "read<2>"), "at most *one*"),
    ("14.6", replaced(_SEND, _WAIT, "__syncthreads(); "), "Who waits"),
    ("14.6", replaced(_SEND, _WAIT, "if (threadIdx.x == 0) wait_group_read<1>(); "), "at most *one*"),
    ("14.6", replaced(_SEND, "== 0) wait", "== 32) wait"), "at most *one*"),
    ("14.6", replaced(_SEND, "i % 2", "0"), "at most *one*"),
    ("14.6", replaced(_SEND, "fence_proxy_async(); ", ""), "proxy fence is missing"),
    ("14.6", replaced(_SEND, "fence_proxy_async(); __syncthreads();", "fence_proxy_async();"), "a race"),
    ("14.6", replaced(_SEND, "64 * i", "0"), "Only the first 64 columns"),
    ("14.6", replaced(_SEND, "* 2048", "* 1024"), "nobody has written"),
]

#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "14.1": "(16, 8, 128, 64)",
    "14.2": _STORE,
    "14.3": _PUT,
    "14.4": _LEAVE,
    "14.5": "(1, 0, 2, 1)",
    "14.6": _SEND,
    "14.7": "size * tflops / (2 * tbs)",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    (
        "14.2",
        completed(
            "14.2",
            "for (int i = 0; i < 32; i += 2) { int row = group() + i % 4 / 2 * 8; "
            "int column = i / 4 * 8 + 2 * thread_in_group(); "
            "float2 b = *(float2*)(bias + column); "
            "D[row * N / 2 + column / 2] = pack(fmaxf(0, d[i] + b.x), fmaxf(0, d[i + 1] + b.y)); }",
        ),
    ),
    (
        "14.3",
        completed(
            "14.3",
            replaced(_PUT, "row * 128 + (vector ^ row % 8) * 16", "(row * 128 + vector * 16 ^ row % 8 << 4)"),
        ),
    ),
    (
        "14.3",
        completed(
            "14.3",
            "for (int i = 3; i >= 0; i--) stmatrix(tile + threadIdx.x % 16 * 128 "
            "+ ((2 * i + threadIdx.x / 16 % 2) ^ threadIdx.x & 7) * 16, p + 4 * i);",
        ),
    ),
    ("14.4", completed("14.4", replaced(_LEAVE, "wait_group_read", "wait_group"))),
    ("14.4", completed("14.4", f"__syncthreads(); {replaced(_ISSUE, '{', '{ fence_proxy_async();')}")),
    ("14.4", completed("14.4", replaced(_LEAVE, "== 0", "== 77"))),
    ("14.6", completed("14.6", replaced(_SEND, "i % 2 * 8192", "(i & 1) * 8192"))),
    (
        "14.6",
        completed(
            "14.6",
            replaced(_SEND, _WAIT, "") + " if (threadIdx.x == 0) wait_group_read<1>(); __syncthreads();",
        ),
    ),
    ("14.7", lambda size, tflops, tbs: size / (tbs * 1e12) / (2 / (tflops * 1e12))),
    ("14.7", lambda size, tflops, tbs: round(size * tflops / tbs / 2)),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("14.1", (32, 8, 256, 64), "fit into a register"),
    ("14.1", (512, 8, 4096, 64), "for the whole warp"),
    ("14.1", (8, 8, 64, 64), "32 accumulators"),
    ("14.1", (16, 4, 64, 64), "different rows"),
    ("14.1", (16, 16, 256, 64), "different rows"),
    ("14.1", (16, 32, 512, 64), "sectors of its own"),
    ("14.1", (16, 8, 64, 64), "multiply them"),
    ("14.1", (16, 8, 128, 32), "2 bytes"),
    *((name, completed(name, body), word) for name, body, word in _EPILOGUES),
    ("14.5", (2, 0, 2, 1), "may be overwritten"),
    ("14.5", (1, 1, 2, 1), "Who touches the second"),
    ("14.5", (1, 0, 1, 1), "is it there"),
    ("14.5", (1, 0, 2, 2), "goes away"),
    ("14.5", (1, 0, 2, 0), "goes away"),
    ("14.5", (1, 0, 3, 1), "0, 1 and 2"),
    *((name, completed(name, body), word) for name, body, word in _SENDS),
    ("14.7", lambda size, tflops, tbs: size * tflops / tbs, "as *two*"),
    ("14.7", lambda size, tflops, tbs: size * tflops / tbs / 4, "wrong side"),
    ("14.7", lambda size, tflops, tbs: 2 * size * tflops / tbs, "solve for K"),
    ("14.7", lambda size, tflops, tbs: tflops / tbs / 2, "How many bytes"),
    ("14.7", lambda size, tflops, tbs: size * tbs, "How long does each"),
    ("14.7", 157, "is a function"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "14.1": r"\b128 sectors\b|\b16 stores\b",
    "14.2": r"thread_in_group\(\) \* 2|2 \* thread_in_group\(\)",
    "14.3": r"\^|% 16|row % 8",
    "14.7": r"tflops /|\* tflops",
}
