"""Lesson 12: latency, throughput, Little's law, what bounds wgmma, sparsity; its pictures."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import counted
from ...instruction import mma_instruction
from ...views import Picture
from ...views.charts import bars, table
from ..answers import number_of, numbers, whole_numbers
from ..checking import Sentences, checks, correct, otherwise, when
from ..spans import Span, over_time

MMA = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
WGMMA = mma_instruction("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16")

_LATENCY = 24  # cycles of MMA on an H200, which the record has as 24.1
_INTERVAL = 6  # cycles from one MMA to the next in an SM sub-partition: four times 1.5
_SHOWN = 96  # cycles of a timeline
_SUB_PARTITIONS = 4  # of an SM
_SMS = 132
_GHZ = 1.75
_WIDTHS = range(40, 257, 8)  # N for which the rule holds to within half a cycle

#: TFLOP/s of MMA on an H200, by warps on each SM and by chains in each warp.
BY_WARPS = {
    1: {1: 37, 2: 76, 4: 130, 8: 143},
    2: {1: 77, 2: 152, 4: 259, 8: 286},
    4: {1: 155, 2: 304, 4: 518, 8: 572},
    8: {1: 310, 2: 557, 4: 626, 8: 626},
    16: {1: 616, 2: 618, 4: 603, 8: 611},
}

#: TFLOP/s of an H200 that has been busy for half a second, and the power that it took.
BY_CONTENTS = {
    "mma f16": {"random, 719 W": 584, "zeros, 292 W": 629},
    "wgmma f16": {"random, 694 W": 772, "zeros, 244 W": 842},
    "sparse wgmma e4m3": {"random, 630 W": 2946, "zeros, 242 W": 3149},
}


# -- what the lesson shows -----------------------------------------------------------------------------------


def queue(chains: int) -> Picture:
    """A tensor core and `chains` chains of mma, in which each mma waits for the one before it.

    >>> queue(1).notes[0], queue(4).notes[0]
    ('the tensor core is busy in 24 of 96 cycles', 'the tensor core is busy in 96 of 96 cycles')
    """
    spans: list[Span] = []
    ready = [0] * chains
    free = busy = start = 0
    while start < _SHOWN:
        chain = min(
            range(chains), key=lambda candidate: (max(ready[candidate], free), ready[candidate], candidate)
        )
        start = max(ready[chain], free)
        free, ready[chain] = start + _INTERVAL, start + _LATENCY
        busy += max(min(free, _SHOWN) - start, 0)
        lane = 4 * (chain % 8) + 2
        spans.append(Span(chain, start, free, "mma", lane, "enters the tensor core"))
        waiting = "in flight: the next of this chain waits"
        spans.append(Span(chain, free, ready[chain], "", lane, waiting, "dim"))
    idle = {f"chain {row}": "ready, but the tensor core is busy" for row in range(chains)}
    grid = over_time(spans, idle, [str(first) for first in range(0, _SHOWN, 6)], 6)
    notes = (
        f"the tensor core is busy in {busy} of {_SHOWN} cycles",
        f"an mma enters it for {_INTERVAL} cycles, and its result comes {_LATENCY} cycles after it began",
    )
    title = (
        "One chain of mma in an SM sub-partition"
        if chains == 1
        else f"{chains} chains in an SM sub-partition"
    )
    return Picture(title, notes, (grid,))


def warps_and_chains() -> Picture:
    """What an H200 reached with mma, by warps on each SM and chains in each warp.

    >>> warps_and_chains().grids[0].at(0, 0).text
    '37'
    """
    columns = sorted({chains for row in BY_WARPS.values() for chains in row})
    texts = {
        counted(warps, "warp"): [str(row.get(chains, "")) for chains in columns]
        for warps, row in BY_WARPS.items()
    }
    most = max(max(row.values()) for row in BY_WARPS.values())
    shades = {text: -0.75 * int(text) / most for row in texts.values() for text in row if text}
    names = [counted(chains, "chain") for chains in columns]
    notes = (
        "mma m16n8k16 with f16, random operands, on an H200",
        "warps are those on each SM",
        "another run than the record above, which has 630 for 16 warps with 4 chains",
    )
    return table(texts, names, "TFLOP/s", notes, shades=shades)


def random_and_zeros() -> Picture:
    """What an H200 reached on random operands and on zeros.

    >>> random_and_zeros().title
    'TFLOP/s, after half a second'
    """
    notes = ("on an H200, which may draw 700 W", "random operands make wires switch, and that takes power")
    return bars(BY_CONTENTS, "TFLOP/s, after half a second", notes, text="{:.0f}".format)


# -- exercises ---------------------------------------------------------------------------------------------

_WORK = 2 * MMA.m * MMA.n * MMA.k
_ONE_CHAIN = _WORK / _LATENCY * _SUB_PARTITIONS * _SMS * _GHZ / 1000  # TFLOP/s


@checks("12.1")
def _one_chain(answer: object) -> Sentences:
    (rate,) = numbers(answer, "one number of TFLOP/s", 1)

    def near(value: float) -> bool:
        return abs(rate - value) <= 0.03 * value

    return {
        correct(near(_ONE_CHAIN)): f"16 x 8 x 16 multiplications and as many additions are {_WORK} "
        f"operations, in {_LATENCY} cycles, {_SUB_PARTITIONS * _SMS} times at once. We measured "
        f"{BY_WARPS[4][1]} on an H200, a quarter of what `mma` reaches there.",
        when(near(_ONE_CHAIN / 2)): "Multiply and add are two operations: m x n x k counts each pair once.",
        when(near(_ONE_CHAIN / 4)): "There is one warp in each sub-partition. How many chains run on an SM "
        "at once?",
        when(near(_ONE_CHAIN / 8)): "Multiply and add are two operations, and there are four sub-partitions "
        "to an SM.",
        when(near(_ONE_CHAIN / _SMS)): f"That is one SM. There are {_SMS}.",
        when(near(_ONE_CHAIN * 1e12) or near(_ONE_CHAIN * 1000)): "Right, but in other units: the answer is "
        "in TFLOP/s, that is, 10¹² per second.",
        when(near(_ONE_CHAIN / _GHZ)): "That is for a clock of 1 GHz.",
        when(near(_ONE_CHAIN * _LATENCY / _INTERVAL)): "That would be a tensor core that never waits. In "
        f"one chain an `mma` starts every {_LATENCY} cycles.",
        otherwise: f"Count the operations of one `mma` (2 m n k), divide by {_LATENCY} cycles, and multiply "
        "by the number of sub-partitions in the whole GPU and by the cycles per second.",
    }


@checks("12.2")
def _little(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "three numbers of chains")
    expected = (_LATENCY // _INTERVAL, 2, 1)
    return {
        correct(submitted == expected): "That is Little's law: the number in flight = rate x latency. Look "
        "at the table above: from 4 warps on, twice the warps with half the chains give about the same; with "
        "fewer, some sub-partitions have no warp.",
        when(submitted[0] == _LATENCY): "That would be right if the tensor core started one in every cycle. "
        "How often does it start one?",
        when(submitted[0] == _INTERVAL): f"Those are cycles. How often do {_INTERVAL} cycles fit into "
        f"{_LATENCY}?",
        when(submitted[0] == 4 * expected[0]): "Those are the chains of a whole SM. The question is about a "
        "sub-partition.",
        when(submitted[0] != expected[0]): f"While one `mma` is in flight for {_LATENCY} cycles, how many "
        f"can start, one every {_INTERVAL} cycles?",
        when(submitted[1] == expected[0]): "The first is right. 8 warps on an SM are how many in each "
        "sub-partition?",
        when(submitted[1] != expected[1]): "The first is right. Divide it by the number of warps in a "
        "sub-partition; an SM has four sub-partitions.",
        otherwise: "The first two are right. With 16 warps, how many are in a sub-partition?",
    }


_MMA_RATE = _WORK / 1.5
_WGMMA_CYCLES = 64
_WGMMA_WORK = 2 * WGMMA.m * WGMMA.n * WGMMA.k


@checks("12.3")
def _two_thirds(answer: object) -> Sentences:
    mma, wgmma, percent = numbers(answer, "three numbers: (operations with mma, with wgmma, percent)", 3)
    rate = _WGMMA_WORK / _WGMMA_CYCLES
    share = 100 * _MMA_RATE / rate
    return {
        correct(abs(mma - _MMA_RATE) < 0.45 and abs(wgmma - rate) < 0.4 and abs(percent - share) < 0.4): "So "
        "`mma` cannot do better than two thirds on Hopper, whatever a kernel does around it. (The "
        "datasheet's 989 TFLOP/s are what `wgmma` does per cycle, at 1.83 GHz.)",
        when(abs(mma - _MMA_RATE / 2) <= 1.5 or abs(wgmma - rate / 2) <= 1.5): "Those are multiply-adds: "
        "each is two operations.",
        when(abs(mma - _MMA_RATE * 4) <= 6 or abs(mma - _WORK / _INTERVAL) <= 1.5): "For `mma`, the 1.5 "
        "cycles are for the whole SM; they already include its four sub-partitions.",
        when(abs(mma - _MMA_RATE) > 1.5): "For `mma`: 2 x 16 x 8 x 16 operations every 1.5 cycles.",
        when(abs(wgmma - rate) > 1.5): "The first is right. For `wgmma`: 2 x 64 x 128 x 16 operations, but "
        "how often?",
        when(abs(percent - 100 * rate / _MMA_RATE) <= 1): "The rates are right. Which is the part, which "
        "the whole?",
        when(abs(percent - share / 100) <= 0.02): "The rates are right. In percent, please.",
        otherwise: "The rates are right. What percentage of the second is the first?",
    }


def least_cycles(n: int, sparse: bool, in_memory: bool) -> float:
    """Cycles from one wgmma to the next: of the tensor cores, or of shared memory, whichever takes longer.

    >>> least_cycles(128, False, True), least_cycles(128, True, True)
    (64.0, 80.0)
    """
    return max(n / 2, _memory_cycles(n, sparse, in_memory))


def _memory_cycles(n: int, sparse: bool, in_memory: bool) -> float:
    """Cycles in which shared memory is read for one wgmma."""
    return (n / 2 if sparse else n / 4) + (16 if in_memory else 0)


@checks("12.4")
def _cycles(answer: object) -> Sentences:
    form = "a number of cycles"
    rows = [(n, sparse, memory) for n in _WIDTHS for sparse in (False, True) for memory in (False, True)]
    values = {row: number_of(answer, *row, form=form, about=f"cycles{row}") for row in rows}

    def wrong(where: list[tuple[int, bool, bool]]) -> bool:
        return any(abs(values[row] - least_cycles(*row)) > 0.5 for row in where)

    def everywhere(rule: Callable[[int, bool, bool], float]) -> bool:
        return all(abs(values[row] - rule(*row)) < 0.5 for row in rows)

    return {
        correct(not wrong(rows)): "This is what an H200 does: of the 910 forms that we measured with N of at "
        "least 40, your function gives all but 7 to within half a cycle. So with A in memory a sparse "
        "`wgmma` always waits for A.",
        when(everywhere(lambda n, sparse, memory: n / 2 + _memory_cycles(n, sparse, memory))): "They work in "
        "parallel. The one that takes longer hides the other.",
        when(everywhere(lambda n, sparse, memory: n / 2)): "Those are the tensor cores. How long does shared "
        "memory take for A and B?",
        when(everywhere(_memory_cycles)): "That is shared memory. Where N is large, the tensor cores take "
        "longer.",
        when(everywhere(lambda n, sparse, memory: least_cycles(n, sparse, True))): "A in registers need not "
        "be read from shared memory.",
        when(everywhere(lambda n, sparse, memory: least_cycles(n, False, memory))): "A sparse `wgmma` covers "
        "twice as much K, and B is dense: how many bytes of B?",
        when(wrong([row for row in rows if not row[1] and not row[2]])): "Begin with dense and A in "
        "registers: B takes N x 32 bytes at 128 bytes per cycle, in parallel with N / 2 cycles.",
        when(wrong([row for row in rows if not row[1]])): "Dense with A in registers is right. From shared "
        "memory, A adds 64 x 32 bytes.",
        when(wrong([row for row in rows if not row[2]])): "Dense is right. Sparse with A in registers: B "
        "takes N x 64 bytes, in parallel with N / 2 cycles.",
        otherwise: "Only sparse with A in memory is wrong: A of 64 x 32 bytes and B of N x 64 bytes.",
    }


def _gain(n: int) -> float:
    return 2 * least_cycles(n, False, True) / least_cycles(n, True, True)


_WANTED = 1.75


@checks("12.5")
def _sparsity(answer: object) -> Sentences:
    at_64, smallest = numbers(answer, "two numbers: (times as fast, N)", 2)
    expected = next(n for n in _WIDTHS if _gain(n) >= _WANTED)
    ratio = least_cycles(64, True, True) / least_cycles(64, False, True)
    return {
        correct(abs(at_64 - _gain(64)) < 0.02 and smallest == expected): "64 is the worst N of all: the "
        "dense `wgmma` is already at its best there, and the sparse one waits for memory half as long as it "
        "computes. With A in registers it would be twice as fast from N = 40 on.",
        when(abs(at_64 - ratio) < 0.02 or abs(at_64 - 1 / ratio) < 0.02): "Those are the cycles of one over "
        "the other. But one sparse `wgmma` does the work of two dense ones.",
        when(abs(at_64 - 2) < 0.02): "That is what sparsity promises. How many cycles does each take with N "
        "= 64?",
        when(abs(at_64 - _gain(64)) >= 0.02): "With N = 64: cycles of two dense ones, divided by cycles of "
        "one sparse one.",
        when(smallest > expected): "The first is right. The second is fast enough, but a smaller N is, too.",
        otherwise: "The first is right. Two times the dense cycles over the sparse cycles: that N is not "
        "there yet.",
    }


_S4_CYCLES = 73.4
_S8_CYCLES = 1.5


@checks("12.6")
def _emulated(answer: object) -> Sentences:
    (times,) = numbers(answer, "one number", 1)
    expected = _S4_CYCLES / (2 * _S8_CYCLES)
    return {
        correct(abs(times - expected) <= 0.5): "Two `mma` with s8 do the work of one with s4. The bytes of "
        "A and B double, though: where memory limits a kernel, it is better to keep s4 in memory and "
        "convert on the way to the registers.",
        when(abs(times - 2 * expected) <= 1.2): "One `mma` with s8 has half the K. How many of them do the "
        "work of one with s4?",
        when(abs(times - 4 * expected) <= 2.4): "How many `mma` with k32 do the work of one with k64?",
        when(abs(times - 1 / expected) <= 0.01): "The other way round: how many times as fast?",
        otherwise: f"Take k64 of work: one `mma` with s4, {_S4_CYCLES} cycles, or the two with s8 that "
        "cover the same K.",
    }
