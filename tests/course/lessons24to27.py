"""Answers to the exercises of lessons 24 to 27.

Lesson 24: layouts in CuTe's and Triton's words, worked out by hand.
Lesson 25: kernels around mbarriers, right in several ways and wrong in the typical ones.
Lesson 26: parts of an epilogue, right in several ways and wrong in the typical ones.
Lesson 27: attention: device functions, right in several ways and wrong in the typical ones; tiles and cycles.
"""

from __future__ import annotations

from math import ceil
from typing import Any

from ptxlab import lessons

Modes = list[tuple[int, int]]


def by_halving(modes: Modes) -> list[int]:
    """Bit by bit, until nothing is left of a digit."""
    found = []
    for size, stride in modes:
        step = 1
        while step < size:
            found.append(step * stride)
            step *= 2
    return found


def _answer(name: str, body: str) -> str:
    """The text that the cell holds once the reader has written `body` in the place of the `...`."""
    return lessons.exercise(name).starter.split('"""')[1].replace("...", body)


_EXPECT = "mbarrier_arrive_expect_tx(full, 2 * (2048 + 256)); "
_COPIES = (
    "for (int s = 0; s < 2; s++) { int t = 2 * i + s; "
    "tma_load(stages[s].a, A, 16 * t, 0, full); tma_load(stages[s].b, B, 16 * t, 0, full); } "
)
_LOAD = f"if (threadIdx.x == 0) {{ {_EXPECT}{_COPIES}}}"
_CONSUME = (
    "int s = i % STAGES; mbarrier_wait(&full[s], i / STAGES % 2); "
    "multiply(d, stages[s], threadIdx.x / 32 - 1); mbarrier_arrive(&empty[s]);"
)
_RELEASE = " mbarrier_arrive(&empty[s]);"
_PRODUCE = (
    "if (threadIdx.x == 0) for (int i = 0; i < tiles; i++) { int s = i % STAGES; "
    "mbarrier_wait(&empty[s], i / STAGES % 2 ^ 1); mbarrier_arrive_expect_tx(&full[s], sizeof(Stage)); "
    "tma_load(stages[s].a, A, 16 * i, 0, &full[s]); tma_load(stages[s].b, B, 16 * i, 0, &full[s]); }"
)
_WAIT_EMPTY = "mbarrier_wait(&empty[s], i / STAGES % 2 ^ 1); "
_FLIPPED = (
    "if (threadIdx.x % 32) return; int s = 0, parity = 1; for (int i = 0; i < tiles; i++) { "
    "mbarrier_wait(&empty[s], parity); tma_load(stages[s].a, A, 16 * i, 0, &full[s]); "
    "tma_load(stages[s].b, B, 16 * i, 0, &full[s]); mbarrier_arrive_expect_tx(&full[s], 2304); "
    "if (++s == STAGES) { s = 0; parity ^= 1; } }"
)
_INIT = (
    "if (threadIdx.x == 0) { for (int s = 0; s < STAGES; s++) { mbarrier_init(&full[s], 1); "
    "mbarrier_init(&empty[s], 4); } fence_mbarrier_init(); } "
)
_ROLES = (
    "if (threadIdx.x < 32) produce(stages, full, empty, A, B, tiles); else { float d[4] = {0, 0, 0, 0}; "
    "consume(stages, full, empty, d, tiles); store_d(d, D + 128 * (threadIdx.x / 32 - 1), 8); }"
)
_RING = f"{_INIT}__syncthreads(); {_ROLES}"
_WRONG_KERNELS = [
    ("25.2", f"{_EXPECT}{_COPIES}", "All 128 threads"),
    ("25.2", _COPIES, "All 128 threads"),
    ("25.2", f"if (threadIdx.x == 0) {{ {_COPIES}}}", "stays pending"),
    ("25.2", f"if (threadIdx.x == 0) {{ {_EXPECT}}}", "Nothing is copied"),
    ("25.2", f"if (threadIdx.x == 0) {{ mbarrier_arrive(full); {_COPIES}}}", "announces bytes"),
    ("25.2", _LOAD.replace("2048 + 256", "2048"), "those of A"),
    ("25.2", _LOAD.replace("2048 + 256", "256"), "those of B"),
    ("25.2", _LOAD.replace("2 * (2048 + 256)", "2048 + 256"), "one tile of A and B"),
    ("25.2", _LOAD.replace("2 * (2048 + 256)", "1024 + 128"), "number of elements"),
    ("25.2", _LOAD.replace("2048 + 256", "4096"), "You announce 8192"),
    ("25.2", _LOAD.replace(_EXPECT, _EXPECT + _EXPECT), "gets more"),
    ("25.2", _LOAD.replace("tma_load(stages[s].b, B, 16 * t, 0, full);", ""), "two tiles of A and two"),
    ("25.2", _LOAD.replace("16 * t, 0, full); tma", "0, 0, full); tma"), "begins at column 16 t"),
    ("25.2", _LOAD.replace("16 * t, 0", "t, 0"), "The simulator says"),
    ("25.2", f"{_LOAD} mbarrier_wait(full, 1);", "The simulator says"),
    ("25.4", _CONSUME.replace("mbarrier_wait(&full[s], i / STAGES % 2); ", ""), "Nobody waits"),
    ("25.4", _CONSUME.replace("(&full[s], i", "(&empty[s], i"), "Nobody waits"),
    (
        "25.4",
        _CONSUME.replace("multiply", "mbarrier_wait(&empty[s], i / STAGES % 2); multiply"),
        "wait at `empty`",
    ),
    ("25.4", _CONSUME.replace("i / STAGES % 2", "0"), "same in every round"),
    ("25.4", _CONSUME.replace("i / STAGES % 2", "i % 2"), "with every tile"),
    ("25.4", _CONSUME.replace("i / STAGES % 2", "i / STAGES % 2 ^ 1"), "opposite"),
    ("25.4", _CONSUME.replace("i / STAGES % 2", "(i / STAGES + 1) / 2 % 2"), "tile by tile"),
    ("25.4", _CONSUME.replace(_RELEASE, ""), "never learns"),
    ("25.4", _CONSUME.replace(_RELEASE, f" if (threadIdx.x == 32){_RELEASE}"), "for itself"),
    ("25.4", _CONSUME.replace(_RELEASE, f" if (threadIdx.x % 32 == 0){_RELEASE}"), "expects 128"),
    ("25.4", _CONSUME.replace("empty[s]);", "full[s]);"), "arrive at `full`"),
    ("25.4", _CONSUME.replace(_RELEASE, "").replace("multiply", f"{_RELEASE} multiply"), "before it is read"),
    ("25.4", _CONSUME.replace(" - 1", ""), "The simulator says"),
    ("25.4", _CONSUME.replace(" - 1", " % 4"), "which rows"),
    ("25.4", _CONSUME.replace("multiply(d, stages[s]", "multiply(d, stages[0]"), "The simulator says"),
    ("25.6", _PRODUCE.replace("if (threadIdx.x == 0) ", ""), "All 32 lanes"),
    ("25.6", _PRODUCE.replace(_WAIT_EMPTY, ""), "Nobody waits"),
    ("25.6", _PRODUCE.replace("% 2 ^ 1", "% 2"), "opposite"),
    ("25.6", _PRODUCE.replace("i / STAGES % 2 ^ 1", "1"), "same in every round"),
    ("25.6", _PRODUCE.replace("i / STAGES % 2 ^ 1", "i % 2 ^ 1"), "with every tile"),
    ("25.6", _PRODUCE.replace("sizeof(Stage)", "2048"), "those of A"),
    ("25.6", _PRODUCE.replace("sizeof(Stage)", "2 * sizeof(Stage)"), "You announce 4608"),
    ("25.6", _PRODUCE.replace("mbarrier_arrive_expect_tx(&full[s], sizeof(Stage));", ""), "Nobody announces"),
    (
        "25.6",
        _PRODUCE.replace("tma_load(stages", "mbarrier_arrive_expect_tx(&full[s], 0); tma_load(stages", 1),
        "gets two",
    ),
    ("25.6", _PRODUCE.replace("; }", "; mbarrier_wait(&full[s], i / STAGES % 2); }"), "its own copies"),
    ("25.6", _PRODUCE.replace("stages[s].b, B, 16 * i", "stages[s].b, B, 0"), "begins at column 16 i"),
    ("25.7", f"{_ROLES}", "No mbarrier"),
    ("25.7", _RING.replace("s < STAGES", "s < 1"), "mbarriers are initialised"),
    ("25.7", f"{_INIT}{_ROLES}", "may not be initialised"),
    ("25.7", _RING.replace("if (threadIdx.x == 0) {", "{"), "One thread does it"),
    ("25.7", _RING.replace("fence_mbarrier_init(); ", ""), "one thing is missing"),
    ("25.7", _RING.replace("&empty[s], 4", "&empty[s], 128"), "expects 128"),
    ("25.7", _RING.replace("&empty[s], 4", "&empty[s], 1"), "in how many warps"),
    ("25.7", _RING.replace("&empty[s], 4", "&empty[s], 5"), "in how many warps"),
    ("25.7", _RING.replace("&full[s], 1", "&full[s], 2"), "Who arrives there"),
    ("25.7", _RING.replace("&full[s], 1", "&full[s], 4").replace("&empty[s], 4", "&empty[s], 1"), "swapped"),
    ("25.7", _RING.replace("threadIdx.x / 32 - 1", "0"), "The simulator says"),
    ("25.7", _RING.replace("{0, 0, 0, 0}", "{0, 0, 0, 1}"), "begin with 0"),
    ("25.7", _RING.replace("threadIdx.x < 32", "threadIdx.x >= 128"), "Does warp 0"),
]


def _wrong_kernels(exercise: str) -> list[tuple[str, str, str]]:
    """The wrong kernels of one exercise, with a word of their hint."""
    return [(name, _answer(name, body), words) for name, body, words in _WRONG_KERNELS if name == exercise]


def by_rounds(i: int, stages: int) -> tuple[int, int]:
    """Go through the ring, tile by tile."""
    parity, stage = 0, 0
    for _ in range(i):
        stage += 1
        if stage == stages:
            stage, parity = 0, 1 - parity
    return parity, 1 - parity


_STORE = (
    "for (int j = 0; j < 8; j++) for (int h = 0; h < 2; h++) { "
    "int row = group() + 8 * h, column = 8 * j + 2 * thread(); const float* x = d + 4 * j + 2 * h; "
    "D[(row * N + column) / 2] = pack(max(x[0] + bias[column], 0.0f), max(x[1] + bias[column + 1], 0.0f)); }"
)
_PACKED = "pack(max(x[0] + bias[column], 0.0f), max(x[1] + bias[column + 1], 0.0f))"
_PUT = (
    "int lane = threadIdx.x % 32, row = lane % 16; for (int i = 0; i < 4; i++) { "
    "int chunk = 2 * i + lane / 16; stmatrix(tile + row * 128 + (chunk ^ row % 8) * 16, p + 4 * i); }"
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
    ("26.2", ";", "Nothing was stored"),
    ("26.2", _STORE.replace("[column]", "[row]").replace("[column + 1]", "[row]"), "Every *row* has its own"),
    ("26.2", _STORE.replace("[column", "[column % 8"), "begins again"),
    (
        "26.2",
        _STORE.replace(_PACKED, "pack(max(x[0], 0.0f) + bias[column], max(x[1], 0.0f) + bias[column + 1])"),
        "ReLU comes first",
    ),
    (
        "26.2",
        "auto half = [](float f) { float g; unsigned w = pack(f, f); "
        'asm("{ .reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l; }" : "=f"(g) : "r"(w)); return g; }; '
        + _STORE.replace("x[0]", "half(x[0])").replace("x[1]", "half(x[1])"),
        "before the bias",
    ),
    ("26.2", _STORE.replace("max(", "(").replace(", 0.0f)", ")"), "Where is ReLU"),
    ("26.2", _STORE.replace(" + bias[column]", "").replace(" + bias[column + 1]", ""), "without its bias"),
    (
        "26.2",
        _STORE.replace("x[0] + bias[column]", "_")
        .replace("x[1] + bias[column + 1]", "x[0] + bias[column]")
        .replace("_", "x[1] + bias[column + 1]", 1),
        "swapped",
    ),
    ("26.2", _STORE.replace("h < 2", "h < 1"), "Rows 8 to 15"),
    ("26.2", _STORE.replace("j < 8", "j < 1"), "first 8 columns"),
    ("26.2", _STORE.replace("row * N", "row * 64"), "follow from"),
    ("26.2", _STORE.replace("/ 2]", "]"), "which word holds"),
    (
        "26.2",
        _STORE.replace(
            f"D[(row * N + column) / 2] = {_PACKED}",
            "f16* at = (f16*)D + row * N + column; at[0] = pack(max(x[0] + bias[column], 0.0f), 0); "
            "at[1] = pack(max(x[1] + bias[column + 1], 0.0f), 0)",
        ),
        "more often than it has to",
    ),
    ("26.3", ";", "elements are wrong"),
    ("26.3", _PUT.replace("(chunk ^ row % 8)", "chunk"), "rows as they are"),
    (
        "26.3",
        _PUT.replace("row = lane % 16", "row = lane % 8 + lane / 16 * 8").replace(
            "lane / 16;", "lane / 8 % 2;"
        ),
        "Blocks of 8 x 8",
    ),
    ("26.3", _PUT.replace("tile +", "tile + threadIdx.x / 32 * 2048 +"), "The simulation stopped"),
    ("26.3", _PUT.replace("2 * i + ", ""), "where do p[4]"),
    ("26.3", _PUT.replace("row % 8", "row / 8"), "XORed"),
    (
        "26.3",
        _PUT.replace("row * 128 + (chunk ^ row % 8) * 16", "group() * 128 + thread() * 4"),
        "multiple of 16",
    ),
    ("26.3", _PUT.replace("p + 4 * i", "p"), "where do p[4]"),
    (
        "26.3",
        "for (int i = 0; i < 16; i++) { int row = group() + i % 2 * 8; "
        "*(unsigned*)(tile + row * 128 + (i / 2 ^ row % 8) * 16 + thread() * 4) = p[i]; }",
        "no `stmatrix` was executed",
    ),
    (
        "26.3",
        f"{_PUT} {_PUT.replace('int lane = threadIdx.x % 32, row = lane % 16; ', '')}",
        "more than it takes",
    ),
    ("26.3", _PUT.replace("lane % 16;", "lane % 8;"), "Lane i supplies"),
    ("26.4", ";", "Nothing was stored"),
    ("26.4", f"__syncthreads(); {_ISSUE}", "missing proxy fence"),
    ("26.4", f"fence_proxy_async(); {_ISSUE}", "it waits for nobody"),
    ("26.4", f"if (threadIdx.x == 0) fence_proxy_async(); __syncthreads(); {_ISSUE}", "Not all threads"),
    ("26.4", _LEAVE.replace("commit_group(); ", ""), "ends with a commit"),
    ("26.4", _LEAVE.replace("<0>", "<1>"), "who executes your wait"),
    (
        "26.4",
        _LEAVE.replace(" wait_group_read<0>();", "") + " else wait_group_read<0>();",
        "who executes your wait",
    ),
    ("26.4", _LEAVE.replace(" wait_group_read<0>();", ""), "The block may end"),
    ("26.4", _LEAVE.replace("if (threadIdx.x == 0) ", ""), "stored 128 times"),
    ("26.4", _LEAVE.replace("== 0", "% 32 == 0"), "stored 4 times"),
    ("26.4", _LEAVE.replace("column, 0", "0, column"), "column before the row"),
    ("26.4", _LEAVE.replace("column, 0", "0, 0"), "column before the row"),
    ("26.4", _LEAVE.replace("column, 0", "column + 8, 0"), "elements are wrong"),
]
_SENDS = [
    ("26.6", ";", "Nothing was stored"),
    ("26.6", _SEND.replace("read<1>", "read<0>"), "nothing overlaps"),
    ("26.6", _SEND.replace("_read<1>", "<1>"), "in global memory"),
    ("26.6", _SEND.replace("read<1>", "read<2>"), "at most *one*"),
    ("26.6", _SEND.replace(_WAIT, "__syncthreads(); "), "Who waits"),
    ("26.6", _SEND.replace(_WAIT, "if (threadIdx.x == 0) wait_group_read<1>(); "), "at most *one*"),
    ("26.6", _SEND.replace("== 0) wait", "== 32) wait"), "at most *one*"),
    ("26.6", _SEND.replace("i % 2", "0"), "at most *one*"),
    ("26.6", _SEND.replace("fence_proxy_async(); ", ""), "proxy fence is missing"),
    ("26.6", _SEND.replace("fence_proxy_async(); __syncthreads();", "fence_proxy_async();"), "a race"),
    ("26.6", _SEND.replace("64 * i", "0"), "Only the first 64 columns"),
    ("26.6", _SEND.replace("* 2048", "* 1024"), "nobody has written"),
]
_REPACK = "for (int r = 0; r < 4; r++) a[r] = f16x2(s[2 * r], s[2 * r + 1]);"
_SHUFFLES = "for (int k = 1; k < 4; k *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, k)); "
_FACTOR = "float factor = power((m[row] - top) * scale); "
_RESCALE = (
    "float top = m[row]; for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) top = fmaxf(top, s[i]); "
    f"{_SHUFFLES}{_FACTOR}m[row] = top; l[row] *= factor; "
    "for (int i = 0; i < 8; i++) if (i / 2 % 2 == row) { "
    "o[i] *= factor; s[i] = power((s[i] - top) * scale); l[row] += s[i]; }"
)
_MASK = (
    "for (int i = 0; i < 8; i++) "
    "if (key + i / 4 * 8 + thread() * 2 + i % 2 > query + group() + i / 2 % 2 * 8) s[i] = NONE;"
)


def counted_tiles(block: int, queries: int, block_n: int) -> tuple[int, int]:
    """Tile by tile, as long as the last query sees its first key."""
    computed = masked = key = 0
    while key <= (block + 1) * queries - 1:
        computed += 1
        masked += key + block_n - 1 > block * queries
        key += block_n
    return computed, masked


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "24.1": "(93, 13, 5)",
    "24.2": '"((4,8),(2,2)):((16,1),(8,64))"',
    "24.3": "(10, 3)",
    "24.4": '"((4,8),(2,2)):((2,256),(1,2048))"',
    "24.5": "(7, 5)",
    "24.6": "(133, 6)",
    "24.7": '"((2,32),8):((256,1),32)"',
    "24.8": "[stride << bit for size, stride in modes for bit in range(size.bit_length() - 1)]",
    "24.9": '"((4,8),(4,2,2)):((64,1),(16,8,256))"',
    "25.1": "(1, 512, 1)",
    "25.2": _LOAD,
    "25.3": "i // stages % 2, 1 - i // stages % 2",
    "25.4": _CONSUME,
    "25.5": "(1, 8, 49152)",
    "25.6": _PRODUCE,
    "25.7": _RING,
    "26.1": "(16, 8, 128, 64)",
    "26.2": _STORE,
    "26.3": _PUT,
    "26.4": _LEAVE,
    "26.5": "(1, 0, 2, 1)",
    "26.6": _SEND,
    "26.7": "size * tflops / (2 * tbs)",
    "27.1": "(12, 15, 16, 1, 2)",
    "27.2": _REPACK,
    "27.3": "(1 / 4, 2.5 / 4 + 2, 1.75 / 4 + 4)",
    "27.4": _RESCALE,
    "27.5": "(n := -(-(block + 1) * queries // block_n), n - block * queries // block_n)",
    "27.6": _MASK,
    "27.7": "(1024, 512, 512, 512)",
    "27.8": "{1, 3, 5}",
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("24.2", "((_4,_8),(_2,_2)):((_16,_1),(_8,_64))"),
    ("24.2", " ((2, 2, 8), (2, 2)) : ((16, 32, 1), (8, 64)) "),
    ("24.4", "((4,8),(2,2)):((2,256),(1,2048))"),
    ("24.7", "((2,32),(2,4)):((256,1),(32,64))"),
    ("24.8", by_halving),
    ("24.8", lambda modes: tuple(by_halving(modes))),
    ("24.9", "((2,2,2,2,2),(2,2,2,2)):((64,128,1,2,4),(16,32,8,256))"),
    ("25.2", _answer("25.2", f"if (threadIdx.x > 0) return; {_COPIES}{_EXPECT}")),
    ("25.3", by_rounds),
    ("25.4", _answer("25.4", _CONSUME.replace("i / STAGES % 2", "i / STAGES"))),
    ("25.5", [1, 8, 48 * 1024]),
    ("25.6", _answer("25.6", _FLIPPED)),
    (
        "25.7",
        _answer(
            "25.7",
            _RING.replace("fence_mbarrier_init();", 'asm volatile("fence.proxy.async;" ::: "memory");'),
        ),
    ),
    (
        "26.2",
        _answer(
            "26.2",
            "for (int i = 0; i < 32; i += 2) { int row = group() + i % 4 / 2 * 8; "
            "int column = i / 4 * 8 + 2 * thread(); "
            "float2 b = *(float2*)(bias + column); "
            "D[row * N / 2 + column / 2] = pack(fmaxf(0, d[i] + b.x), fmaxf(0, d[i + 1] + b.y)); }",
        ),
    ),
    (
        "26.3",
        _answer(
            "26.3",
            _PUT.replace("row * 128 + (chunk ^ row % 8) * 16", "(row * 128 + chunk * 16 ^ row % 8 << 4)"),
        ),
    ),
    (
        "26.3",
        _answer(
            "26.3",
            "for (int i = 3; i >= 0; i--) stmatrix(tile + threadIdx.x % 16 * 128 "
            "+ ((2 * i + threadIdx.x / 16 % 2) ^ threadIdx.x & 7) * 16, p + 4 * i);",
        ),
    ),
    ("26.4", _answer("26.4", _LEAVE.replace("wait_group_read", "wait_group"))),
    ("26.4", _answer("26.4", f"__syncthreads(); {_ISSUE.replace('{', '{ fence_proxy_async();')}")),
    ("26.4", _answer("26.4", _LEAVE.replace("== 0", "== 77"))),
    ("26.6", _answer("26.6", _SEND.replace("i % 2 * 8192", "(i & 1) * 8192"))),
    (
        "26.6",
        _answer(
            "26.6", _SEND.replace(_WAIT, "") + " if (threadIdx.x == 0) wait_group_read<1>(); __syncthreads();"
        ),
    ),
    ("26.7", lambda size, tflops, tbs: size / (tbs * 1e12) / (2 / (tflops * 1e12))),
    ("26.7", lambda size, tflops, tbs: round(size * tflops / tbs / 2)),
    ("27.1", (12, 15, 16, 2, 1)),
    (
        "27.2",
        _answer(
            "27.2",
            "a[0] = f16x2(s[0], s[1]); a[1] = f16x2(s[2], s[3]); "
            "a[2] = f16x2(s[4], s[5]); a[3] = f16x2(s[6], s[7]);",
        ),
    ),
    (
        "27.4",  # the difference of the scaled numbers, in one FMA each
        _answer("27.4", _RESCALE.replace("(s[i] - top) * scale", "fmaf(s[i], scale, -top * scale)")),
    ),
    ("27.5", counted_tiles),
    ("27.5", lambda b, q, n: [ceil((b + 1) * q / n), ceil((b + 1) * q / n) - b * q // n]),
    (
        "27.6",
        _answer(
            "27.6",
            "int row = query + group(), column = key + thread() * 2; "
            "for (int j = 0; j < 2; j++) for (int r = 0; r < 2; r++) for (int c = 0; c < 2; c++) "
            "s[4 * j + 2 * r + c] = column + 8 * j + c <= row + 8 * r ? s[4 * j + 2 * r + c] : NONE;",
        ),
    ),
    ("27.8", [5, 1, 3]),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("24.1", (93, 5, 13), "row comes before"),
    ("24.1", (93, 11, 5), "divided by the 8 columns"),
    ("24.1", (93, 12, 5), "how far down"),
    ("24.1", (69, 5, 4), "index of value 0"),
    ("24.1", (94, 14, 5), "leftmost digit is the fastest"),
    ("24.1", (85, 5, 5), "two digits"),
    ("24.1", (22, 3, 1), "Multiply each of the four digits"),
    ("24.2", "((4,8),(2,2)):((32,1),(16,8))", "That is C"),
    ("24.2", "((4,8),(2,2)):((16,1),(64,8))", "right before"),
    ("24.2", "((4,8),(2,2)):((1,8),(64,4))", "down the columns"),
    ("24.2", "((8,4),(2,2)):((1,16),(8,64))", "lanes 0 to 7"),
    ("24.2", "((4,8),(2,2)):((8,1),(8,32))", "columns of 8"),
    ("24.2", "((4,8),(2,2)):((16,1),(8,16))", "Value 0 is right"),
    ("24.2", "((4,8),(2,2)):((32,1),(8,64))", "Lane 0 is right"),
    ("24.2", "((4,8),(2,2)):((1,1),(1,1))", "how many rows and columns"),
    ("24.2", "((2,2),(4,8)):((8,64),(16,1))", "lane comes first"),
    ("24.2", "((4,8),2):((16,1),8)", "2 values each"),
    ("24.2", "(4,8,2,2):(16,1,8,64)", "4 outermost modes"),
    ("24.2", "((4,8),(2,2))", "shape:stride"),
    ("24.2", "((4,8),(2,2)):(16,1,8,64)", "different forms"),
    ("24.2", ((4, 8), (2, 2)), "no text"),
    ("24.3", (3, 10), "k first"),
    ("24.3", (5, 3), "as for A with 16 rows"),
    ("24.3", (10, 2), "First the index"),
    ("24.3", (13, 2), "First the index"),
    ("24.4", "((4,8),(2,2)):((32,1),(16,8))", "before the composition"),
    ("24.4", "((4,8),(2,2)):((2,8),(1,64))", "8 columns"),
    ("24.4", "((4,8),(2,2)):((8,1024),(4,8192))", "counted bytes"),
    ("24.4", "((4,8),(2,2)):((512,1),(256,8))", "column-major"),
    ("24.4", "((4,8),(2,2)):((2,256),(1,256))", "eight"),
    ("24.4", "((4,8),(2,2)):((2,256),(2048,1))", "lanes are right"),
    ("24.4", "((4,8),(2,2)):((1,1),(1,1))", "rows + columns"),
    ("24.5", (5, 7), "lane comes first"),
    ("24.5", (6, 7), "not move at all"),
    ("24.5", (7, 7), "lane is right"),
    ("24.5", (4, 5), "value is right"),
    ("24.5", (7, 10), "lane is right"),
    ("24.5", (0, 0), "four digits"),
    ("24.6", (6, 133), "thread comes first"),
    ("24.6", (69, 6), "along n first"),
    ("24.6", (101, 6), "neighbouring rows"),
    ("24.6", (5, 6), "lane in its warp"),
    ("24.6", (133, 10), "Triton's order"),
    ("24.6", (133, 2), "come before"),
    ("24.6", (133, 7), "takes four values"),
    ("24.6", (128, 6), "32 * warp + lane"),
    ("24.6", (0, 0), "modulo 4"),
    ("24.7", "(64,8):(8,1)", "row-major"),
    ("24.7", "((32,2),8):((1,256),32)", "share row 0"),
    ("24.7", "((2,32),8):((32,1),64)", "every second column"),
    ("24.7", "((2,32),8):((128,1),16)", "for 16 rows"),
    ("24.7", "((2,32),8):((256,2),32)", "Where does thread 2"),
    ("24.7", "((2,32),8):((8,1),32)", "Where does thread 1"),
    ("24.7", "(64,8):(1,64)", "neighbours in a row"),
    ("24.7", "((8,16),8):((128,1),16)", "there are 64"),
    ("24.8", lambda modes: [stride for _, stride in modes], "one number for each mode"),
    ("24.8", lambda modes: [stride * i for size, stride in modes for i in range(1, size)], "one bit"),
    (
        "24.8",
        lambda modes: [stride * (i + 1) for size, stride in modes for i in range(size.bit_length() - 1)],
        "four steps",
    ),
    ("24.8", lambda modes: by_halving(modes)[::-1], "lowest"),
    ("24.8", lambda modes: sorted(by_halving(modes)), "not in this order"),
    ("24.8", lambda modes: [1, 2, 4], "How many bits"),
    ("24.8", 7, "is a function"),
    ("24.9", "((4,8),(4,2,2)):((4,32),(1,256,16))", "row-major"),
    ("24.9", "((4,8),(4,2,2)):((4,1),(1,8,16))", "as they are"),
    ("24.9", "((4,8),(2,2,2,2)):((64,1),(16,8,32,256))", "keep their order"),
    ("24.9", "((4,8),(4,2,2)):((64,1),(16,256,8))", "lanes are right"),
    ("24.9", "((8,4),(4,2,2)):((1,64),(16,8,256))", "values are right"),
    ("24.9", "((4,8),(4,2,2)):((1,1),(1,1,1))", "join into one mode"),
    ("24.9", "((4,2,2),(4,8)):((16,8,256),(64,1))", "lane comes first"),
    ("25.1", (0, 512, 1), "all arrivals again"),
    ("25.1", (-1, 512, 1), "all arrivals again"),
    ("25.1", (1, 512, 0), "What happens when they come"),
    ("25.1", (0, 3584, 0), "What happens when they come"),
    ("25.1", (1, 512, 3), "0 or 1"),
    ("25.1", (1, 4608, 1), "have come"),
    ("25.1", (1, 0, 1), "announces bytes"),
    ("25.1", (2, 512, 1), "*and* arrives"),
    ("25.1", (1, 7, 1), "Write down"),
    *_wrong_kernels("25.2"),
    ("25.3", lambda i, stages: (i % 2, 1 - i % 2), "with every tile"),
    ("25.3", lambda i, stages: (1 - i // stages % 2, i // stages % 2), "other way round"),
    ("25.3", lambda i, stages: (i // stages % 2, i // stages % 2), "pass at once"),
    ("25.3", lambda i, stages: (i // stages, 1 - i // stages), "0 or 1"),
    ("25.3", lambda i, stages: (i // stages % 2, 1), "second time"),
    ("25.3", lambda i, stages: (0, 1), "Count rounds"),
    ("25.3", lambda i, stages: 1, "two numbers"),
    *_wrong_kernels("25.4"),
    ("25.5", (2, 8, 49152), "one thread announces"),
    ("25.5", (128, 8, 49152), "do not arrive"),
    ("25.5", (1, 256, 49152), "how many of them"),
    ("25.5", (1, 2, 49152), "each warpgroup"),
    ("25.5", (1, 9, 49152), "does the producer"),
    ("25.5", (1, 8, 24576), "elements"),
    ("25.5", (1, 8, 16384), "Add the elements"),
    *_wrong_kernels("25.6"),
    *_wrong_kernels("25.7"),
    ("26.1", (32, 8, 256, 64), "fit into a register"),
    ("26.1", (512, 8, 4096, 64), "for the whole warp"),
    ("26.1", (8, 8, 64, 64), "32 accumulators"),
    ("26.1", (16, 4, 64, 64), "different rows"),
    ("26.1", (16, 16, 256, 64), "different rows"),
    ("26.1", (16, 32, 512, 64), "sectors of its own"),
    ("26.1", (16, 8, 64, 64), "multiply them"),
    ("26.1", (16, 8, 128, 32), "2 bytes"),
    *((name, _answer(name, body), word) for name, body, word in _EPILOGUES),
    ("26.5", (2, 0, 2, 1), "may be overwritten"),
    ("26.5", (1, 1, 2, 1), "Who touches the second"),
    ("26.5", (1, 0, 1, 1), "is it there"),
    ("26.5", (1, 0, 2, 2), "goes away"),
    ("26.5", (1, 0, 2, 0), "goes away"),
    ("26.5", (1, 0, 3, 1), "0, 1 and 2"),
    *((name, _answer(name, body), word) for name, body, word in _SENDS),
    ("26.7", lambda size, tflops, tbs: size * tflops / tbs, "as *two*"),
    ("26.7", lambda size, tflops, tbs: size * tflops / tbs / 4, "wrong side"),
    ("26.7", lambda size, tflops, tbs: 2 * size * tflops / tbs, "solve for K"),
    ("26.7", lambda size, tflops, tbs: tflops / tbs / 2, "How many bytes"),
    ("26.7", lambda size, tflops, tbs: size * tbs, "How long does each"),
    ("26.7", 157, "is a function"),
    ("27.1", (0, 31, 16, 1, 2), "one group of four"),
    ("27.1", (44, 47, 16, 1, 2), "only 32 lanes"),
    ("27.1", (8, 11, 16, 1, 2), "Which groupID"),
    ("27.1", (12, 15, 32, 1, 2), "both rows"),
    ("27.1", (12, 15, 2, 1, 2), "eight tiles"),
    ("27.1", (12, 15, 8, 1, 2), "evenly"),
    ("27.1", (12, 15, 16, 8, 16), "other rows"),
    ("27.1", (12, 15, 16, 1, 3), "Which two bits"),
    *(
        ("27.2", _answer("27.2", body), words)
        for body, words in (
            (_REPACK.replace("s[2 * r], s[2 * r + 1]", "s[2 * r + 1], s[2 * r]"), "halves"),
            (_REPACK.replace("a[r]", "a[r / 2 + r % 2 * 2]"), "Registers 1 and 2 are swapped"),
            ("for (int r = 0; r < 4; r++) a[r] = __float_as_uint(s[r]);", "bits of"),
            (
                "for (int r = 0; r < 4; r++) "
                "a[r] = __float_as_uint(s[2 * r + 1]) & 0xffff0000 | __float_as_uint(s[2 * r]) >> 16;",
                "bf16",
            ),
            ("a[0] = f16x2(s[0], s[1]); a[1] = f16x2(s[2], s[3]); a[2] = a[0]; a[3] = a[1];", "second tile"),
            ("for (int r = 0; r < 4; r++) a[r] = f16x2(s[r], s[r + 4]);", "neighbours in a row"),
            ("for (int r = 0; r < 4; r++) a[r] = f16x2(s[r], s[r + 1]);", "eight rows down"),
            ("a[0] = f16x2(s[0], s[1])", "expected a"),
        )
    ),
    ("27.3", (4, 12, 11), "Do they grow"),
    ("27.3", (0.25, 4.5, 5.75), "l was not rescaled"),
    ("27.3", (0.25, 2.625, 5.75), "O was not rescaled"),
    ("27.3", (0.25, 10.625, 4), "reference now"),
    ("27.3", (0.25, 2.625, 1.6904761904761905), "division comes"),
    ("27.3", (0.25, 2.625, 4), "weight times value"),
    ("27.3", (0.25, 2, 4), "factor is right"),
    ("27.3", (0.6, 2, 4), "new maximum is 5"),
    *(
        ("27.4", _answer("27.4", body), words)
        for body, words in (
            (_RESCALE.replace("l[row] *= factor; ", ""), "l was not rescaled"),
            (_RESCALE.replace("o[i] *= factor; ", ""), "O was not rescaled"),
            (_RESCALE.replace("l[row] *= factor; ", "").replace("o[i] *= factor; ", ""), "neither"),
            (_RESCALE.replace("k < 4", "k < 32"), "all 32 lanes"),
            (_RESCALE.replace(_SHUFFLES, ""), "this lane's scores only"),
            (_RESCALE.replace("k < 4", "k < 2"), "one more shuffle"),
            (_RESCALE.replace("m[row] - top", "top - m[row]"), "its inverse"),
            (_RESCALE.replace("m[row] = top; ", ""), "still -inf"),
            (_RESCALE.replace("(m[row] - top) * scale", "m[row] - top"), "without `scale`"),
            (_RESCALE.replace("(s[i] - top) * scale", "(s[i] - top) * scale * scale"), "applied twice"),
            (_RESCALE.replace(" * scale", ""), "never applied"),
            (_RESCALE.replace("i / 2 % 2 == row", "i / 4 == row"), "not the maximum"),
            (_RESCALE.replace("i / 2 % 2 == row", "i / 2 % 2 != row"), "two rows are swapped"),
            (
                f"{_RESCALE} for (int k = 1; k < 4; k *= 2) l[row] += __shfl_xor_sync(~0u, l[row], k);",
                "O / l is not",
            ),
            (_RESCALE.replace("l[row] += s[i]", "l[row] += 4 * s[i]"), "four times"),
            (_RESCALE.replace("float top = m[row];", "float top;"), "never written"),
        )
    ),
    ("27.5", lambda b, q, n: (counted_tiles(b, q, n)[0], 1), "64 queries and tiles of 32"),
    ("27.5", lambda b, q, n: (counted_tiles(b, q, n)[0], b * q // n), "*not* masked"),
    ("27.5", lambda b, q, n: (b * q // n, 1), "last* query"),
    ("27.5", lambda b, q, n: ((b + 1) * q // n, 1), "Round up"),
    ("27.5", lambda b, q, n: (counted_tiles(b, q, n)[0], q // n), "masked if its last key"),
    ("27.5", lambda b, q, n: (b + 1, 1), "is the first that is wrong"),
    ("27.5", 3, "is a function"),
    *(
        ("27.6", _answer("27.6", body), words)
        for body, words in (
            (_MASK.replace("NONE", "0"), "like any other"),
            (_MASK.replace(" > query", " >= query"), "diagonal itself"),
            (_MASK.replace(" > query", " < query"), "*before* the query"),
            (_MASK.replace("key + ", "").replace("query + ", ""), "on the diagonal only"),
            (_MASK.replace(" + i / 2 % 2 * 8", ""), "eight rows further"),
            (_MASK.replace(" + i / 4 * 8", ""), "eight keys further"),
            (_MASK.replace(" + i % 2", ""), "one key further"),
            (_MASK.replace("i < 8", "i < 0"), "No score"),
            (_MASK.replace("thread()", "group()"), "does `s[i]` have in this lane"),
        )
    ),
    ("27.7", (512, 512, 256, 512), "one product"),
    ("27.7", (2048, 512, 1024, 512), "counts once"),
    ("27.7", (100, 512, 512, 512), "multiply-adds"),
    ("27.7", (1024, 4, 512, 512), "One exponential"),
    ("27.7", (1024, 512, 1024, 512), "proportional"),
    ("27.7", (1024, 512, 512, 256), "How many scores"),
    ("27.8", {1, 2, 3, 5}, "*when* data arrives"),
    ("27.8", {1, 3, 4, 5}, "Rows do not mix"),
    ("27.8", {1, 3, 5, 6}, "Heads are independent"),
    ("27.8", {3, 5}, "cell above"),
    ("27.8", {1, 5}, "other times"),
    ("27.8", {1, 3}, "one rounding"),
    ("27.8", {1, 7}, "six changes"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "24.1": r"\b93\b|\b13\b",
    "24.2": r"\(16,1\)|\(8,64\)",
    "24.3": r"\b10\b",
    "24.4": r"2048|\(2,256\)",
    "24.5": r"\(7, 5\)|\b167\b",
    "24.6": r"\b133\b",
    "24.7": r"\(256,1\)|\(2,32\)",
    "24.8": r"bit_length|<<",
    "24.9": r"\(64,1\)|\b256\b",
    "25.1": r"\b1, 512\b",
    "25.2": r"\b4608\b|threadIdx",
    "25.3": r"% 2|\^",
    "25.4": r"i / STAGES|threadIdx",
    "25.5": r"\b8\b|49152",
    "25.6": r"i / STAGES|\b2304\b|threadIdx",
    "25.7": r"\b4 arrivals|__syncthreads\(\);",
    "26.1": r"\b128 sectors\b|\b16 stores\b",
    "26.2": r"thread\(\) \* 2|2 \* thread\(\)",
    "26.3": r"\^|% 16|row % 8",
    "26.7": r"tflops /|\* tflops",
    "27.1": r"\b12\b",
    "27.3": r"2\.625|4\.4375",
    "27.7": r"\b1024\b",
}
