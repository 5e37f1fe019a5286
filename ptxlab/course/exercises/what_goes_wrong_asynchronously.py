"""Lesson 11: kernels with a mistake each, in which copies and products run while the threads go on."""

from __future__ import annotations

import numpy as np

from ...errors import listing, quoted
from ...gemm.matmul import matmul
from ...instruction import mma_instruction
from ...memory import tensor_map
from ...simulator import HazardError
from ...views import Picture
from ...views.charts import table
from .. import timeline
from ..answers import WrongForm, whole_numbers
from ..checking import Sentences, checks, correct, otherwise, when
from ..reader_kernels import normal_numbers, reported, same
from .what_goes_wrong import (
    BrokenKernel,
    ExpectedLaunch,
    broken_kernels,
    chosen,
    is_right,
    launches,
    line_verdict,
    product,
    repair_verdict,
    repaired,
    wrong_in,
)
from .your_first_tensor_core_kernel import INS

WGMMA = mma_instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")

# -- the kernels ---------------------------------------------------------------------------------------------


def _warpgroup(halves: int = 0) -> ExpectedLaunch:
    """A B by a warpgroup; each of `halves` halves the sum and adds A B to it."""
    A, B = normal_numbers((64, 16), 9), normal_numbers((16, 8), 59)
    D, expected = np.full((64, 8), np.nan, np.float32), WGMMA(A, B)
    for _ in range(halves):
        expected = WGMMA(A, B, expected * np.float32(0.5))
    return ExpectedLaunch(1, 128, (A, np.ascontiguousarray(B.T), D), D, expected)


def _boxes() -> ExpectedLaunch:
    A, B = normal_numbers((16, 16), 4), normal_numbers((16, 8), 54)
    D = np.full((16, 8), np.nan, np.float32)
    maps = tensor_map(A, (16, 16)), tensor_map(np.ascontiguousarray(B.T), (8, 16))
    return ExpectedLaunch(1, 32, (*maps, D), D, INS(A, B))


def _pieces(n: int) -> ExpectedLaunch:
    x, y = normal_numbers((n,), 5).astype(np.float32), np.full(n, np.nan, np.float32)
    return ExpectedLaunch(1, 64, (x, y, n), y, 2 * x, f"n = {n}")


def _tiles(threads: int, seed: int, K: int) -> ExpectedLaunch:
    """K / 16 tiles of A by TMA."""
    A, B = normal_numbers((16, K), seed), normal_numbers((K, 8), seed + 50)
    D = np.full((16, 8), np.nan, np.float32)
    arguments = tensor_map(A, (16, 16)), np.ascontiguousarray(B.T), D, K
    return ExpectedLaunch(1, threads, arguments, D, matmul(A, B, instruction=INS), f"K = {K}")


_KERNELS = broken_kernels(
    "asynchronous_kernels.cu",
    (
        [lambda: product(32, 8, 16, 8)],
        [_warpgroup],
        [lambda: _warpgroup(halves=1)],
        [_boxes],
        launches(_pieces, (160,), (64,), (100,), (4,)),
        launches(_tiles, (32, 6, 64), (32, 6, 112), (32, 6, 16)),
        launches(_tiles, (64, 7, 64), (64, 7, 112), (64, 7, 16)),
    ),
)


def broken(number: int) -> BrokenKernel:
    """Kernel 1 to 7 of the lesson.

    >>> broken(1).simulate().hazards[0].kind
    'missing proxy fence'
    """
    return chosen(number, _KERNELS)


def sources() -> list[str]:
    """The sources of the kernels, for the record of their PTX."""
    return [kernel.source for kernel in _KERNELS]


# -- what the lesson shows -----------------------------------------------------------------------------------

_SHADES = {"goes on too early": 0.7, "waits for ever": 0.7, "goes on: all is there": -0.4}
_COPIES = {"A": 512, "B": 256}  # bytes
_ALL = sum(_COPIES.values())


def phase(announced: int) -> Picture:
    """What an mbarrier counts while two copies arrive, if `announced` bytes were announced.

    >>> phase(768).notes[0]
    'the thread that waits for phase 0: goes on: all is there'
    """
    arrivals, pending, number, received, received_at_end = 1, 0, 0, 0, 0
    steps = [("init: one arrival", 0, 0, 0), (f"arrive, expect {announced} bytes", 1, announced, 0)]
    steps += [(f"{name} comes: {count} bytes", 0, 0, count) for name, count in _COPIES.items()]
    rows: dict[str, list[str]] = {}
    for step, arrived, expected, count in steps:
        arrivals, pending, received = arrivals - arrived, pending + expected - count, received + count
        if arrivals == pending == 0:  # the phase ends
            arrivals, number, received_at_end = 1, number + 1, received
        if number:
            waiting = "goes on: all is there" if received_at_end == _ALL else "goes on too early"
        else:
            waiting = "waits for ever" if received == _ALL else "waits"
        rows[step] = [str(number), str(arrivals), str(pending), waiting]
    title = f"{announced} bytes announced, {_ALL} copied"
    note = f"the thread that waits for phase 0: {rows[step][3]}"
    return table(
        rows,
        ["phase", "arrivals pending", "bytes pending", "who waits for phase 0"],
        title,
        [note],
        shades=_SHADES,
    )


#: Steps around a wgmma that only synchronise.
STEPS = ("nothing", *(step for step in timeline.PROGRAM if step not in (*timeline.WORK, "other work")))


def without(left_out: str) -> Picture:
    """One wgmma as a timeline, with a step left out.

    >>> without("wgmma.wait_group 0").grids[0].shape
    (4, 9)
    """
    return timeline.picture([step for step in timeline.PROGRAM if step != left_out])


# -- exercises -----------------------------------------------------------------------------------------------


@checks("11.1")
def _proxy_fence(answer: object) -> Sentences:
    return repair_verdict(
        answer,
        broken(1),
        "The usual order is store, fence, barrier, copy: each thread makes its own stores visible to the "
        "async proxy, then all meet, and one thread starts the copy. (On an H200 a fence by that one thread, "
        "after the barrier, works as well.) The same order is needed before a `wgmma` that reads a tile "
        "written by threads.",
        {
            "race": "The fence does not wait for other lanes: the barrier is needed as well.",
            "missing proxy fence": "The copy still reads what the stores wrote through the other proxy. "
            "Which threads execute your fence, and have they stored already?",
        },
        "Every line that was there is still needed.",
    )


@checks("11.2")
def _too_early(answer: object) -> Sentences:
    return line_verdict(
        answer,
        broken(2),
        13,
        "`wgmma` is still running while the threads go on; its accumulators belong to it until the wait. "
        "The simulator computes immediately, so its numbers are right; on a chip, what is in d at that "
        "point is undefined.",
        {
            14: "The wait is right, and comes too late rather than too early. What should come after it?",
            12: "It closes the group that the wait is for, right after the `wgmma`.",
            11: "Tiles are written, fenced and waited for: it may start.",
            10: "It orders the registers that were set to 0 before the `wgmma`: right.",
            8: "It belongs between the stores and the barrier, as in kernel 1.",
        },
        "What is asynchronous here, and what belongs to it until a thread waits?",
    )


@checks("11.3")
def _fence_again(answer: object) -> Sentences:
    return repair_verdict(
        answer,
        broken(3),
        "Whenever threads have touched registers of a `wgmma`, a `wgmma.fence` comes before the next one: "
        "`wgmma` does not wait for the multiplications of the threads by itself. Attention rescales its "
        "accumulators in this way, tile by tile.",
        {
            "wgmma registers": "Now threads touch the accumulators while the first `wgmma` may still write "
            "them: its wait is needed.",
            "missing wgmma.fence": "The second `wgmma` may still use accumulators from before they were "
            "halved. A fence orders what came *before* it: where is yours?",
        },
        "Both products and the halving are needed; only their order was not safe.",
    )


@checks("11.4")
def _too_few_bytes(answer: object) -> Sentences:
    return repair_verdict(
        answer,
        broken(4),
        "Nothing is read now before the bytes of *both* copies have come. With too few announced, a phase "
        "ends early: the kernel is right only as long as the second copy is fast, and what comes later "
        "counts in the next phase.",
        {
            # Clang sees that nothing writes the tile, and reads registers that nothing writes instead
            **dict.fromkeys(
                ("uninitialised memory", "uninitialised register"),
                "Now no thread copies B: both tiles are needed.",
            ),
            "missing wait": "A tile is still read before its copy is known to be complete. Which bytes does "
            "the wait cover?",
        },
        "The tiles and the product were right; only the announcement was not.",
        "How many bytes do the two copies bring together? A phase ends when exactly as many have come as "
        "were announced, and every thread that `mbarrier_init` counts has arrived.",
    )


@checks("11.5")
def _too_many_bytes(answer: object) -> Sentences:
    advice = "Here {sizes}: how many bytes does the copy bring in each iteration, and how many are announced?"
    result, wrong, launch = repaired(answer, broken(5), advice)
    return {
        correct(is_right(result, wrong)): "What is announced is what is copied, also in the last "
        "iteration. (TMA is different: a box that leaves the array is filled with zeros, and counts in "
        "full.)",
        when(any(hazard.kind == "missing wait" for hazard in result.hazards)): "Now the piece is read "
        "before its copy is known to be complete. The wait is right; what it waits for was not.",
        **reported(result),
        when(
            not wrong[: launch.output.size // 64 * 64].any()
        ): f"All full pieces are right ({launch.sizes}). The numbers behind them are needed as well.",
        otherwise: f"{wrong_in(wrong, launch, 'y')}. Every number has to be copied once.",
    }


_PHASES = (
    "In iteration 0 the copy ends phase 0, in iteration 1 phase 1, and so on. Which parity has each of them?"
)


@checks("11.6")
def _wrong_parity(answer: object) -> Sentences:
    return repair_verdict(
        answer,
        broken(6),
        "Now every iteration waits for its own copy. With the same parity in every iteration, each second "
        "wait asks for a phase that has ended already: while the copy is under way it returns at "
        "once, and the loads find the old tile, or half of the new one.",
        {
            "missing wait": "Nothing waits for the copy now: the loads may find the tile of the iteration "
            "before.",
            "race": "The parity is right. But now TMA may write the next tile while lanes still read this "
            "one.",
        },
        f"The tiles and the products were right. {_PHASES}",
        _PHASES,
    )


@checks("11.7")
def _empty_at_first(answer: object) -> Sentences:
    overwritten = (
        "Now the producer does not wait for the consumers: a stage may be overwritten while it is read."
    )
    return repair_verdict(
        answer,
        broken(7),
        "At first all stages are empty, although no thread has arrived at `empty`, and now the producer's "
        "first round does not wait for that. CUTLASS's producers begin with the phase *before* the "
        "first, which counts as ended, and are one phase behind the consumers after that.",
        {
            "uninitialised memory": "Now the consumers read a stage that no copy has filled: their wait was "
            "right.",
            "race": overwritten,
            "missing wait": overwritten,
        },
        "The tiles and the products were right; only the order of the waits was not.",
        "Go through the first iteration of both: who waits for whom? No thread can free a stage "
        "that has never been filled.",
    )


@checks("11.8")
def _wait_graph(answer: object) -> Sentences:
    consumer, producer, missing = whole_numbers(answer, 3, "two lines and a count, such as 4, 9, 1")
    lines = consumer, producer
    return {
        correct((*lines, missing) == (24, 15, 32)): "Warp 0 waits for bytes that warp 1 would request, and "
        "warp 1 for the arrivals of warp 0: a ring. No warp outside of it could come. To break a ring, let "
        "one of its waits return: the first one of the producer.",
        when(
            lines == (15, 24)
        ): "These are the lines, but the other way round. Warp 1 is the producer, and it has line 15.",
        when(lines == (24, 15)): "The lines are right. How many arrivals does the picture say that `empty` "
        "expects, and how many has it got?",
        otherwise: "In the picture, each box on the left says which warp waits and at which line; the box "
        "beside it has the arrivals.",
    }


_AGENTS = {"warp 0": (0,), "copy 1": (0, 0), "copy 2": (0, 1)}


@checks("11.9")
def _schedule(answer: object) -> Sentences:
    form = 'a list such as ["warp 0", "copy 1", "copy 2", "warp 0"]'
    if not isinstance(answer, list | tuple) or not all(isinstance(name, str) for name in answer):
        raise WrongForm(f"{quoted(answer)} is no order; the answer takes the form {form}.")
    order = [" ".join(name.lower().split()) for name in answer]
    unknown = [name for name in order if name not in _AGENTS]
    if unknown or not order:
        raise WrongForm(f"{quoted(unknown[0]) if unknown else 'Nobody'} goes; there are {listing(_AGENTS)}.")
    kernel, hangs = broken(4), False
    launch = kernel.launches[0]()
    try:
        launch = kernel.in_order(*(_AGENTS[name] for name in order))
    except HazardError:
        hangs = True
    return {
        when(order[0] != "warp 0"): "A copy cannot come before warp 0 has started it: warp 0 goes first.",
        when(hangs): "In this order the launch hangs: fewer bytes came first than were announced, then too "
        "many, and the phase never ends. That breaks the kernel as well, but we look for a wrong D, which "
        "nobody notices.",
        correct(not same(launch.output, launch.expected)): "The phase ends with the 512 bytes that were "
        "announced, whoever brings them. Warp 0 goes on and multiplies by a tile that is not there. No run of"
        " the simulator shows this order by itself, and a chip shows it on a bad day.",
        otherwise: "In this order D is right: all that warp 0 reads has come before. Which copy may be late "
        "without warp 0 noticing?",
    }
