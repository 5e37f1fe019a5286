"""Lesson 09: kernels around mbarriers, right in several ways and wrong in typical ones."""

from __future__ import annotations

from typing import Any

from tests.course.answers import completed
from tests.texts import replaced

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
    ("09.2", f"{_EXPECT}{_COPIES}", "All 128 threads"),
    ("09.2", _COPIES, "All 128 threads"),
    ("09.2", f"if (threadIdx.x == 0) {{ {_COPIES}}}", "stays pending"),
    ("09.2", f"if (threadIdx.x == 0) {{ {_EXPECT}}}", "Nothing is copied"),
    ("09.2", f"if (threadIdx.x == 0) {{ mbarrier_arrive(full); {_COPIES}}}", "announces bytes"),
    ("09.2", replaced(_LOAD, "2048 + 256", "2048"), "those of A"),
    ("09.2", replaced(_LOAD, "2048 + 256", "256"), "those of B"),
    ("09.2", replaced(_LOAD, "2 * (2048 + 256)", "2048 + 256"), "one tile of A and B"),
    ("09.2", replaced(_LOAD, "2 * (2048 + 256)", "1024 + 128"), "number of elements"),
    ("09.2", replaced(_LOAD, "2048 + 256", "4096"), "You announce 8192"),
    ("09.2", replaced(_LOAD, _EXPECT, _EXPECT + _EXPECT), "gets more"),
    ("09.2", replaced(_LOAD, "tma_load(stages[s].b, B, 16 * t, 0, full);", ""), "two tiles of A and two"),
    ("09.2", replaced(_LOAD, "16 * t, 0, full); tma", "0, 0, full); tma"), "begins at column 16 t"),
    ("09.2", replaced(_LOAD, "16 * t, 0", "t, 0", 2), "The simulator says"),
    ("09.2", f"{_LOAD} mbarrier_wait(full, 1);", "The simulator says"),
    ("09.4", replaced(_CONSUME, "mbarrier_wait(&full[s], i / STAGES % 2); ", ""), "No thread waits"),
    ("09.4", replaced(_CONSUME, "(&full[s], i", "(&empty[s], i"), "No thread waits"),
    (
        "09.4",
        replaced(_CONSUME, "multiply", "mbarrier_wait(&empty[s], i / STAGES % 2); multiply"),
        "wait at `empty`",
    ),
    ("09.4", replaced(_CONSUME, "i / STAGES % 2", "0"), "same in every round"),
    ("09.4", replaced(_CONSUME, "i / STAGES % 2", "i % 2"), "with every tile"),
    ("09.4", replaced(_CONSUME, "i / STAGES % 2", "i / STAGES % 2 ^ 1"), "opposite"),
    ("09.4", replaced(_CONSUME, "i / STAGES % 2", "(i / STAGES + 1) / 2 % 2"), "tile by tile"),
    ("09.4", replaced(_CONSUME, _RELEASE, ""), "never learns"),
    ("09.4", replaced(_CONSUME, _RELEASE, f" if (threadIdx.x == 32){_RELEASE}"), "for itself"),
    ("09.4", replaced(_CONSUME, _RELEASE, f" if (threadIdx.x % 32 == 0){_RELEASE}"), "expects 128"),
    ("09.4", replaced(_CONSUME, "empty[s]);", "full[s]);"), "arrive at `full`"),
    (
        "09.4",
        replaced(replaced(_CONSUME, _RELEASE, ""), "multiply", f"{_RELEASE} multiply"),
        "before it is read",
    ),
    ("09.4", replaced(_CONSUME, " - 1", ""), "The simulator says"),
    ("09.4", replaced(_CONSUME, " - 1", " % 4"), "which rows"),
    ("09.4", replaced(_CONSUME, "multiply(d, stages[s]", "multiply(d, stages[0]"), "The simulator says"),
    ("09.6", replaced(_PRODUCE, "if (threadIdx.x == 0) ", ""), "All 32 lanes"),
    ("09.6", replaced(_PRODUCE, _WAIT_EMPTY, ""), "No thread waits"),
    ("09.6", replaced(_PRODUCE, "% 2 ^ 1", "% 2"), "opposite"),
    ("09.6", replaced(_PRODUCE, "i / STAGES % 2 ^ 1", "1"), "same in every round"),
    ("09.6", replaced(_PRODUCE, "i / STAGES % 2 ^ 1", "i % 2 ^ 1"), "with every tile"),
    ("09.6", replaced(_PRODUCE, "sizeof(Stage)", "2048"), "those of A"),
    ("09.6", replaced(_PRODUCE, "sizeof(Stage)", "2 * sizeof(Stage)"), "You announce 4608"),
    (
        "09.6",
        replaced(_PRODUCE, "mbarrier_arrive_expect_tx(&full[s], sizeof(Stage));", ""),
        "No thread announces",
    ),
    (
        "09.6",
        replaced(
            _PRODUCE, "tma_load(stages[s].a", "mbarrier_arrive_expect_tx(&full[s], 0); tma_load(stages[s].a"
        ),
        "gets two",
    ),
    ("09.6", replaced(_PRODUCE, "; }", "; mbarrier_wait(&full[s], i / STAGES % 2); }"), "its own copies"),
    ("09.6", replaced(_PRODUCE, "stages[s].b, B, 16 * i", "stages[s].b, B, 0"), "begins at column 16 i"),
    ("09.7", f"{_ROLES}", "No mbarrier"),
    ("09.7", replaced(_RING, "s < STAGES", "s < 1"), "mbarriers are initialised"),
    ("09.7", f"{_INIT}{_ROLES}", "may not be initialised"),
    ("09.7", replaced(_RING, "if (threadIdx.x == 0) {", "{"), "One thread does it"),
    ("09.7", replaced(_RING, "fence_mbarrier_init(); ", ""), "one thing is missing"),
    ("09.7", replaced(_RING, "&empty[s], 4", "&empty[s], 128"), "expects 128"),
    ("09.7", replaced(_RING, "&empty[s], 4", "&empty[s], 1"), "in how many warps"),
    ("09.7", replaced(_RING, "&empty[s], 4", "&empty[s], 5"), "in how many warps"),
    ("09.7", replaced(_RING, "&full[s], 1", "&full[s], 2"), "Which threads arrive there"),
    (
        "09.7",
        replaced(replaced(_RING, "&full[s], 1", "&full[s], 4"), "&empty[s], 4", "&empty[s], 1"),
        "swapped",
    ),
    ("09.7", replaced(_RING, "threadIdx.x / 32 - 1", "0"), "The simulator says"),
    ("09.7", replaced(_RING, "{0, 0, 0, 0}", "{0, 0, 0, 1}"), "begin with 0"),
    ("09.7", replaced(_RING, "threadIdx.x < 32", "threadIdx.x >= 128"), "Does warp 0"),
]


def _wrong_kernels(exercise: str) -> list[tuple[str, str, str]]:
    """The wrong kernels of one exercise, with a word of their hint."""
    return [(name, completed(name, body), words) for name, body, words in _WRONG_KERNELS if name == exercise]


def by_rounds(i: int, stages: int) -> tuple[int, int]:
    """Go through the ring, tile by tile."""
    parity, stage = 0, 0
    for _ in range(i):
        stage += 1
        if stage == stages:
            stage, parity = 0, 1 - parity
    return parity, 1 - parity


#: What a reader would write in the place of the `...`.
SOLUTIONS: dict[str, str] = {
    "09.1": "(1, 512, 1)",
    "09.2": _LOAD,
    "09.3": "i // stages % 2, 1 - i // stages % 2",
    "09.4": _CONSUME,
    "09.5": "(1, 8, 49152)",
    "09.6": _PRODUCE,
    "09.7": _RING,
}

#: Right answers beside the model solution.
RIGHT: list[tuple[str, Any]] = [
    ("09.2", completed("09.2", f"if (threadIdx.x > 0) return; {_COPIES}{_EXPECT}")),
    ("09.3", by_rounds),
    ("09.4", completed("09.4", replaced(_CONSUME, "i / STAGES % 2", "i / STAGES"))),
    ("09.5", [1, 8, 48 * 1024]),
    ("09.6", completed("09.6", _FLIPPED)),
    (
        "09.7",
        completed(
            "09.7",
            replaced(_RING, "fence_mbarrier_init();", 'asm volatile("fence.proxy.async;" ::: "memory");'),
        ),
    ),
]

#: Wrong answers, with a word of the hint that fits the misconception.
WRONG: list[tuple[str, Any, str]] = [
    ("09.1", (0, 512, 1), "all arrivals again"),
    ("09.1", (-1, 512, 1), "all arrivals again"),
    ("09.1", (1, 512, 0), "What happens when they come"),
    ("09.1", (0, 3584, 0), "What happens when they come"),
    ("09.1", (1, 512, 3), "0 or 1"),
    ("09.1", (1, 4608, 1), "have come"),
    ("09.1", (1, 0, 1), "announces bytes"),
    ("09.1", (2, 512, 1), "*and* arrives"),
    ("09.1", (1, 7, 1), "Write down"),
    *_wrong_kernels("09.2"),
    ("09.3", lambda i, stages: (i % 2, 1 - i % 2), "with every tile"),
    ("09.3", lambda i, stages: (1 - i // stages % 2, i // stages % 2), "other way round"),
    ("09.3", lambda i, stages: (i // stages % 2, i // stages % 2), "pass at once"),
    ("09.3", lambda i, stages: (i // stages, 1 - i // stages), "0 or 1"),
    ("09.3", lambda i, stages: (i // stages % 2, 1), "second time"),
    ("09.3", lambda i, stages: (0, 1), "Count rounds"),
    ("09.3", lambda i, stages: 1, "two numbers"),
    *_wrong_kernels("09.4"),
    ("09.5", (2, 8, 49152), "one thread announces"),
    ("09.5", (128, 8, 49152), "do not arrive"),
    ("09.5", (1, 256, 49152), "how many of them"),
    ("09.5", (1, 2, 49152), "each warpgroup"),
    ("09.5", (1, 9, 49152), "does the producer"),
    ("09.5", (1, 8, 24576), "elements"),
    ("09.5", (1, 8, 16384), "Add the elements"),
    *_wrong_kernels("09.6"),
    *_wrong_kernels("09.7"),
]

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET: dict[str, str] = {
    "09.1": r"\b1, 512\b",
    "09.2": r"\b4608\b|threadIdx",
    "09.3": r"% 2|\^",
    "09.4": r"i / STAGES|threadIdx",
    "09.5": r"\b8\b|49152",
    "09.6": r"i / STAGES|\b2304\b|threadIdx",
    "09.7": r"\b4 arrivals|__syncthreads\(\);",
}
