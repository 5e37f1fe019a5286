"""Lesson 14: from accumulators to global memory: bias, activation, conversion, stmatrix and a TMA store."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...errors import counted
from ...gemm.matmul import matmul
from ...memory import Conflicts, Tile, conflicts, tensor_map
from ...simulation import Simulation
from ...simulator.peaks import find_card
from ...views import Header, Picture, banks
from ...views.annotated_source import annotated_html
from ...views.charts import Line, LineChart, table
from ...views.grid import Entry, uniform_grid
from ..answers import number_of, whole_numbers
from ..checking import Sentences, checks, correct, otherwise, when
from ..reader_kernels import (
    compiled,
    first_hazard,
    judged,
    kernel,
    normal_numbers,
    reported,
    same,
    simulated,
    source_parts,
    waits,
    where,
)
from ..spans import Span, over_time
from .from_instruction_to_gemm import RATES
from .shared_memory_and_banks import transfer
from .your_first_tensor_core_kernel import INS, LOAD, MMA

# -- sources: parts that the lesson shows, its kernels, and the parts of a whole epilogue --------------------

_PARTS = [f"\n{part}" for part in source_parts("epilogue.cu")]
PRODUCT, GELU, PACK, STMATRIX, TMA = _PARTS[:5]
_WORDS, _PAIRS, _STAGED, _WIDE = _PARTS[5:9]
_FINISH, _STORE, _PUT, _LEAVE = _PARTS[9:]
_BEFORE = MMA + LOAD + PRODUCT + PACK
_SHARED = _BEFORE + STMATRIX + TMA + _FINISH

#: The kernel that the lesson begins with: f32, one element at a time.
WORDS = MMA + LOAD + PRODUCT + GELU + _WORDS
PAIRS = _BEFORE + _FINISH + _STORE + _PAIRS
STAGED = _SHARED + _PUT + _LEAVE + _STAGED


def sources() -> list[str]:
    """The sources of the lesson's kernels, for the record of their PTX."""
    return [WORDS, PAIRS, STAGED]


# -- what the lesson shows -----------------------------------------------------------------------------------

_SECTOR, _ROW = 32, 128  # bytes
_LANE = np.arange(32)
_GROUP, _THREAD = _LANE // 4, _LANE % 4

#: How a warp may store its part of D: bytes that a lane stores at once, and the row and byte of each lane.
_STORES: dict[str, tuple[int, NDArray[np.int64], NDArray[np.int64]]] = {
    "f32, one element": (4, _GROUP, 8 * _THREAD),
    "f32, two elements": (8, _GROUP, 8 * _THREAD),
    "f16, two elements": (4, _GROUP, 4 * _THREAD),
    "f16, eight elements": (16, _LANE // 8, _LANE % 8 * 16),
}
STORES = tuple(_STORES)


def stores(store: str) -> Picture:
    """The sectors of global memory that one store of a warp touches, and the bytes that it writes there.

    >>> stores("f16, two elements").notes[0]
    'it writes 128 bytes and touches 8 sectors: 16 bytes of 32 in each'
    """
    width, rows, first = _STORES[store]
    writer = {(int(row), int(byte + at) // 4): lane
              for lane, (row, byte) in enumerate(zip(rows, first, strict=True))
              for at in range(0, width, 4)}  # fmt: skip
    touched = {(row, 4 * word // _SECTOR) for row, word in writer}

    def entry(row: int, word: int) -> Entry:
        place = f"row {row}, bytes {4 * word} to {4 * word + 3}"
        lane = writer.get((row, word))
        if lane is not None:
            return Entry((str(lane),), lane, f"{place}: lane {lane}")
        if (row, 4 * word // _SECTOR) in touched:
            return Entry((), None, f"{place}: in a sector that is touched, but not written", heat=0.35)
        return Entry((), None, f"{place}: not touched", "dim")

    words = _ROW // 4
    sectors = tuple(Header(8 * at, 8, (f"sector {at}",)) for at in range(_ROW // _SECTOR))
    grid = replace(uniform_grid((8, words), entry, 1, [], ("row of D", ""), density="close"), columns=sectors)
    size = 32 * width
    notes = (
        f"it writes {size} bytes and touches {len(touched)} sectors: {size // len(touched)} bytes of "
        f"{_SECTOR} in each",
        "a number is the lane that writes these four bytes; coloured without a number: touched, not written",
    )
    return Picture(f"One store of a warp: {store} per lane", notes, (grid,))


_SUMS = ((2049.0, -2048.0), (70000.0, -10000.0), (-3.0, 1.0))


def orders() -> Picture:
    """What comes out if bias, ReLU and the conversion to f16 change places.

    >>> [cell.text for cell in orders().grids[0].cells if cell.state == "mark"]
    ['0', 'inf', '1']
    """
    names = ["bias\nReLU\nf16", "f16\nbias\nReLU", "ReLU\nbias\nf16"]
    results = []
    with np.errstate(over="ignore"):
        for total, bias in _SUMS:
            right = np.float16(max(np.float32(total + bias), np.float32(0)))
            converted = np.float16(max(np.float16(np.float16(total) + np.float16(bias)), np.float16(0)))
            cut = np.float16(max(total, 0.0) + bias)
            results.append((right, converted, cut))

    def entry(row: int, column: int) -> Entry:
        value = results[row][column]
        text = f"{value:g}"
        return judged(text, f"{', '.join(names[column].split())}: {text}", bool(value != results[row][0]))

    rows = [f"{total:g} {'-' if bias < 0 else '+'} {abs(bias):g}" for total, bias in _SUMS]
    grid = uniform_grid((len(rows), len(names)), entry, rows, names, ("sum + bias", ""))
    return Picture("Three steps, in three orders", ("outlined: wrong",), (grid,))


FOUR = transfer("stmatrix.sync.aligned.m8n8.x4.shared.b16")
TILE = Tile(bits=16, rows=16, k=64, swizzle=128)  # of one warp
#: How the packed accumulators of a warp may go to shared memory.
WAYS = ("st.shared", "st.shared, swizzled", "stmatrix", "stmatrix, swizzled")


def _to_shared(way: str) -> Conflicts:
    if way.startswith("st.shared"):
        row, column = _GROUP, 2 * _THREAD
    else:
        row, column = _LANE % 16, _LANE // 16 * 8
    addresses = TILE.offset(row, column) if way.endswith("swizzled") else row * _ROW + column * 2
    return conflicts(addresses) if way.startswith("st.shared") else FOUR.conflicts(addresses)


def to_shared(way: str) -> Picture:
    """One store of packed accumulators on the banks of shared memory: rows of 128 bytes.

    >>> [_to_shared(way).wavefronts for way in WAYS]
    [8, 1, 32, 4]
    """
    return replace(banks(_to_shared(way), "wavefront", counts=True), title=f"One {way}")


_WRITE, _READ, _TRAVEL, _TIME = 12, 12, 16, 128  # units of 50 cycles
#: Which wait comes before a tile is written, with how many buffers.
WAITS = {"wait_group 0": 1, "wait_group.read 0": 1, "wait_group.read 1": 2}


def waiting(wait: str) -> Picture:
    """Tiles of D on their way through shared memory, by the wait that comes before each is written.

    >>> [waiting(wait).notes[0] for wait in WAITS]
    ['3 tiles have left the registers', '5 tiles have left the registers', '10 tiles have left the registers']
    """
    buffers = WAITS[wait]
    spans: list[Span] = []
    read, done = [0] * buffers, 0  # when a buffer has been read, and when the last tile is in global memory
    end = tile = 0
    while True:
        buffer, lane = tile % buffers, 4 * (tile % 8) + 2
        start = max(end, read[buffer] if ".read" in wait else done)
        end = start + _WRITE
        if end > _TIME:
            break
        read[buffer] = end + _READ
        done = read[buffer] + _TRAVEL
        spans.append(Span(0, start, end, str(tile), lane, f"tile {tile} to shared memory"))
        spans.append(Span(1 + buffer, end, read[buffer], str(tile), lane, f"TMA reads tile {tile}", "dim"))
        travels = Span(
            1 + buffers + tile % 2, read[buffer], done, str(tile), lane, f"tile {tile} on its way", "dim"
        )
        spans.append(travels)
        tile += 1
    idle = {"threads": "waiting"}
    idle |= {f"TMA reads buffer {index}": "nothing to read" for index in range(buffers)}
    idle |= {f"{parity} tiles to D": "nothing on its way" for parity in ("even", "odd")}
    grid = over_time(spans, idle, [str(50 * first) for first in range(0, _TIME, 16)], 16, 50)
    notes = (
        f"{tile} tiles have left the registers",
        f"suppose that writing a tile takes {50 * _WRITE} cycles, reading it {50 * _READ}, and the way to "
        f"global memory {50 * _TRAVEL}",
    )
    return Picture(f"cp.async.bulk.{wait}, {counted(buffers, 'buffer')}", notes, (grid,))


_H200 = find_card("H200")
_SIZE = 8192
#: Bytes that cross DRAM for each element of D, by what becomes of it.
BYTES = {"f16": 2, "f32": 4, "f32 + second kernel": 10}


def costs() -> LineChart:
    """Time of a product and of storing its D, by K.

    >>> [line.name for line in costs().lines]
    ['product', 'f16', 'f32', 'f32 + second kernel']
    """
    elements = _SIZE * _SIZE
    ks = tuple(range(0, 1001, 40))
    seconds = [2e6 * elements * k / (RATES[12] * 1e12) for k in ks]
    lines = [
        Line(
            "product",
            ks,
            tuple(seconds),
            tuple(f"K = {k}: {s:.0f} µs" for k, s in zip(ks, seconds, strict=True)),
        )
    ]
    for name, size in BYTES.items():
        time = 1e6 * elements * size / _H200.dram
        lines.append(Line(name, (ks[0], ks[-1]), (time, time), (f"{name}: {time:.0f} µs",) * 2, dashed=True))
    notes = (
        f"D of {_SIZE} x {_SIZE}; a product at {RATES[12]} TFLOP/s (rung 12, measured on an H200)",
        f"stores at {_H200.dram / 1e12:g} TB/s (the H200's DRAM as published)",
    )
    return LineChart("The product, and D on its way to DRAM", notes, tuple(lines), "K", "µs")


def _launch_data(
    columns: int,
) -> tuple[NDArray[np.float16], NDArray[np.float16], NDArray[np.float32], NDArray[np.float32]]:
    """A, B by columns, a bias, and A B in f32."""
    A, B = normal_numbers((64, 16), 26), normal_numbers((16, columns), 27)
    bias = (4 * np.random.default_rng(28).normal(size=columns)).astype(np.float32)
    return A, np.ascontiguousarray(B.T), bias, matmul(A, B, instruction=INS, show=False)


@dataclass(frozen=True)
class FromKernel:
    """A simulated launch that a notebook shows from the kernel on, below the functions that it calls."""

    result: Simulation

    def _repr_html_(self) -> str:
        source = self.result.source
        return annotated_html(self.result, first=source[: source.index("__global__")].count("\n") + 1)


def compared() -> Picture:
    """Three epilogues of the same 64 x 64 of D, simulated: what each stores, and how.

    >>> compared().grids[0].at(2, 1).text
    '256'
    """
    A, B, bias, _ = _launch_data(64)
    half, single = np.zeros((64, 64), np.float16), np.zeros((64, 64), np.float32)
    box = tensor_map(half, box=(64, 64), swizzle=128)
    results = {
        "f32, one element": kernel(WORDS).simulate(1, 128, A, B, single, 64, 16, show=False),
        "f16, two elements": kernel(PAIRS).simulate(1, 128, A, B, bias, half, 64, 16, show=False),
        "f16, stmatrix and TMA": kernel(STAGED).simulate(1, 128, A, B, bias, box, 16, show=False),
    }
    texts = {}
    for name, result in results.items():
        size, sectors = result.bytes["global write"], _sectors_written(result)
        texts[name] = [f"{size:,}", f"{sectors:,}", f"{size // sectors} of 32", _instructions(result)]
    columns = ["bytes of D", "sectors", "bytes of each", "instructions that store"]
    shades = {"16 of 32": 0.5, "32 of 32": -0.4}
    return table(texts, columns, "64 x 64 of D, four warps", ("from the simulator",), shades=shades)


def _sectors_written(result: Simulation) -> int:
    total = 0
    for executed in result.profile:
        written = executed.moved.bytes["global", "write"]
        if written:  # TMA writes whole rows of a box
            total += executed.moved.sectors or written // _SECTOR
    return total


def _stored_by(result: Simulation, opcode: str, space: str) -> int:
    """How many warps executed a store to a space."""
    return sum(
        executed.warps
        for executed in result.profile
        if executed.instruction.parts[0] == opcode and executed.moved.bytes[space, "write"]
    )


def _instructions(result: Simulation) -> str:
    counts = {
        "st.global": _stored_by(result, "st", "global"),
        "stmatrix": _stored_by(result, "stmatrix", "shared"),
        "TMA": _stored_by(result, "cp", "global"),
    }
    return " + ".join(f"{count} {name}" for name, count in counts.items() if count)


# -- exercises -----------------------------------------------------------------------------------------------


@checks("14.1")
def _sectors(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 4, "four whole numbers")
    expected = (16, 8, 128, 64)
    return {
        correct(submitted == expected): "Half of every sector stays empty, and the next store fills the "
        "other half. With 16 bytes per lane, 64 sectors would do: the lanes would have to exchange elements "
        "first, and shared memory is the way to do that.",
        when(submitted[0] == 32): "That is one store for each accumulator. Two of them fit into a register.",
        when(submitted[0] == 512): "Those are the registers of all lanes. A store is one instruction for the "
        "whole warp.",
        when(submitted[0] != expected[0]): "A lane has 32 accumulators, and a store takes two of them.",
        when(submitted[1] in (4, 16)): "The number of stores is right. 128 bytes would *fit* into 4 sectors; "
        "but in how many different rows are the lanes of a warp, and how far apart are the rows?",
        when(submitted[1] != expected[1]): "The number of stores is right. Groups of four lanes are in "
        "different rows of D, and every row has sectors of its own.",
        when(submitted[2] != expected[2]): "The first two are right: multiply them.",
        otherwise: "The first three are right. The tile has 16 rows of 64 elements of 2 bytes; how many "
        "sectors of 32 bytes is that?",
    }


_RIGHT_COLUMNS = (
    "Which columns does a lane hold? Row and column of `d[i]` follow from `group()`, `thread_in_group()` and "
    "i."
)


@checks("14.2")
def _store(answer: object) -> Sentences:
    built = compiled(answer, "store", _BEFORE, _PAIRS)
    advice = "D has N elements in a row, two in each word: which word holds the elements of a lane?"
    for blocks in (2, 1, 3):
        columns = 64 * blocks
        A, B, bias, total = _launch_data(columns)
        D = np.full((64, columns), np.nan, np.float16)
        result = simulated(built, (blocks, 1), 128, (A, B, bias, D, columns, 16), advice)
        biased = total + bias
        right = np.maximum(biased, 0).astype(np.float16)
        wrong = right != D
        count = _stored_by(result, "st", "global")
        if wrong.any() or result.hazards or count > 64 * blocks:
            break
    tiles = D.reshape(4, 16, columns)
    of_row = np.repeat(np.tile(bias.reshape(blocks, 64)[:, :16], (1, 4)).T, 64, axis=1)
    repeated = bias.reshape(blocks, 8, 8)[:, :1].repeat(8, axis=1).reshape(columns)
    half = total.astype(np.float16)
    rounded = [np.maximum(half + addend, 0).astype(np.float16) for addend in (bias, bias.astype(np.float16))]
    swapped = right.reshape(64, -1, 2)[:, :, ::-1].reshape(right.shape)
    return {
        correct(
            not wrong.any() and not result.hazards and count <= 64 * blocks
        ): "Bias and ReLU in f32, then one "
        "conversion: D is rounded once. The two bias values of a lane serve its rows `group()` and "
        "`group() + 8`: two loads are enough for four accumulators.",
        when(
            not wrong.any() and count > 64 * blocks
        ): "D is right, but a warp stores more often than it has to: two "
        "neighbours go into one word with `pack`, and that word is stored at once.",
        when(not wrong.any()): f"D is right, but {first_hazard(result)}.",
        when(np.isnan(D).all()): "Nothing was stored.",
        when(np.isnan(tiles[:, 8:]).all() and not np.isnan(tiles[:, :8]).any()): "Rows 8 to 15 of every warp "
        "are missing: a lane holds elements of two rows.",
        when(
            np.isnan(D.reshape(64, blocks, 64)[:, :, 8:]).all()
        ): "Only the first 8 columns are stored. A lane holds two columns of each of 8 blocks.",
        when(same(D, np.maximum(total + of_row, 0).astype(np.float16))): "Every *row* has its own bias. In "
        "A B + bias it belongs to the column: which of `group()` and `thread_in_group()` counts columns?",
        when(same(D, np.maximum(total + repeated, 0).astype(np.float16))): "The first 8 columns are right, "
        "and the bias begins again with every 8 columns: which block is this?",
        when(same(D, (np.maximum(total, 0) + bias).astype(np.float16))): "ReLU comes first here, so that "
        "negative numbers appear again. It belongs after the bias.",
        when(any(same(D, tile) for tile in rounded)): "Almost: some elements differ in their last bits. "
        "You convert to f16 before the bias is added, so D is rounded twice. Convert last.",
        when(same(D, biased.astype(np.float16))): "The bias is right. Where is ReLU?",
        when(same(D, np.maximum(total, 0).astype(np.float16))): "That is D without its bias.",
        when(same(D, swapped)): "Neighbouring columns are swapped: the first argument of `pack` "
        "goes to the lower half, which comes first in memory.",
        otherwise: f"{where(wrong)}. {_RIGHT_COLUMNS}",
    }


def _staged(
    answer: object, name: str, before: str, after: str
) -> tuple[Simulation, NDArray[np.float16], NDArray[np.float16]]:
    """A kernel with one part by the reader: result, D, and what D should be."""
    built = compiled(answer, name, before, after)
    A, B, bias, total = _launch_data(128)
    D = np.full((64, 128), np.nan, np.float16)
    box = tensor_map(D, box=(64, 64), swizzle=128)
    advice = {
        "put": "A row of `stmatrix` begins at a multiple of 16, and a warp has 16 rows of 128 bytes.",
        "leave": "The tile begins at `tile`; columns of D are counted in elements.",
    }[name]
    result = simulated(built, (2, 1), 128, (A, B, bias, box, 16), advice)
    return result, D, np.maximum(total + bias, 0).astype(np.float16)


@checks("14.3")
def _put(answer: object) -> Sentences:
    result, D, right = _staged(answer, "put", _SHARED, _LEAVE + _STAGED)
    wrong = right != D
    vectors = right.reshape(64, 2, 8, 8)
    rows, places = np.ogrid[:64, :8]
    moved = vectors[rows, :, places ^ rows % 8].transpose(0, 2, 1, 3).reshape(64, 128)
    matrices = right.reshape(4, 2, 8, 8, 2, 8)  # warp, half, row, 16 columns, half, column
    crossed = matrices.transpose(0, 4, 2, 3, 1, 5).reshape(64, 128)
    count = _stored_by(result, "stmatrix", "shared")
    excess = sum(result.conflicts.values())
    return {
        correct(not wrong.any() and not result.hazards and count == 32 and not excess): "Four instructions "
        "per warp, 16 wavefronts, no conflicts. Lane i supplies the address of row i % 8 of matrix i / 8, "
        "whatever its own registers hold; the XOR is the one that TMA undoes.",
        when(not wrong.any() and not count): "D is right, but no `stmatrix` was executed: this exercise is "
        "about it. (With a swizzle, 16 plain stores take as many wavefronts; they need four times as many "
        "instructions.)",
        when(not wrong.any() and result.hazards): f"D is right, but {first_hazard(result)}.",
        when(not wrong.any()): f"D is right, but {count} `stmatrix` and {excess} excess wavefronts are more "
        "than it takes.",
        when(same(D, moved)): "In every row of D, vectors of 8 elements have changed places: TMA reads a "
        "swizzled tile, and you stored rows as they are.",
        when(same(D, crossed)): "Blocks of 8 x 8 have changed places: the upper right one of every 16 x 16 "
        "is where the lower left one belongs. Lanes 8 to 15 supply the rows of matrix 1, which is p[1], "
        "p[5], ...: which rows of D does that register hold?",
        when(not wrong[:16].any()): "Warp 0 is right, the others are not: `tile` is where *this warp's* rows "
        "begin, and `threadIdx.x` goes up to 127.",
        when(not wrong.reshape(64, 2, 4, 16)[:, :, 0].any()): "The first 16 columns are right: where do "
        "p[4] to p[7] go?",
        when(
            same(D.reshape(64, 2, 4, 16)[:, :, 0], right.reshape(64, 2, 4, 16)[:, :, 3])
        ): "All four `stmatrix` store to the same place: where do p[4] to p[7] go?",
        when(not wrong[::16].any()): "Rows 0, 16, 32 and 48 are right, most others are not: by which number "
        "is the vector XORed?",
        otherwise: f"{where(wrong)}. Lane i supplies the address of row i % 8 of matrix i / 8: which row and "
        "which vector of the tile is that?",
    }


@checks("14.4")
def _leave(answer: object) -> Sentences:
    result, D, right = _staged(answer, "leave", _SHARED + _PUT, _STAGED)
    wrong = right != D
    kinds = {hazard.kind for hazard in result.hazards}
    size = result.bytes.get("global write", 0)
    fenced = any(opcode.startswith("fence.proxy") for opcode in result.counts)
    is_right = not wrong.any() and not result.hazards and size == right.nbytes
    waits = result.counts["cp.async.bulk.wait_group"] + result.counts["cp.async.bulk.wait_group.read"]
    commits = result.counts["cp.async.bulk.commit_group"]
    return {
        correct(is_right and not result.counts["cp.async.bulk.wait_group"]): "What all threads wrote is "
        "fenced when one of them issues one instruction; then it commits and waits. The usual order is a "
        "fence by every thread, then the barrier; PTX also lets a thread behind the barrier fence for all. "
        "The other threads have nothing more to do: in a persistent kernel they go on to the next tile.",
        correct(is_right): "It is right. `wait_group_read` would be enough: only the shared memory must not "
        "disappear while TMA reads it, and a kernel that ends makes its writes visible anyway.",
        when(size == 0): "Nothing was stored.",
        when("race" in kinds): "The simulator found a race: TMA reads rows that other lanes or warps may not "
        "have written yet. A fence makes a thread's own writes visible; it does not wait for others.",
        when("missing proxy fence" in kinds and fenced): "Your fence does not cover all that was written. "
        "Before the barrier it makes visible what *the thread that executes it* has written, not what the "
        "others have: who executes it, and when?",
        when("missing proxy fence" in kinds): "The simulator found a missing proxy fence: TMA reads through "
        "the async proxy what `stmatrix` wrote through the generic one. The barrier does not order the two.",
        when("missing wait" in kinds and not commits): "A group ends with a commit. Without one, the wait "
        "has nothing to wait for.",
        when("missing wait" in kinds and waits): "The thread that issued the store does not wait for it: who "
        "executes your wait, and how many groups may still be in flight after it?",
        when("missing wait" in kinds): "The block may end, and its shared memory with it, while TMA still "
        "reads the tile.",
        **reported(result),
        when(size > right.nbytes): f"D is stored {size // right.nbytes} times over: every thread that calls "
        "`tma_store` stores the whole tile.",
        when(np.isnan(D).any() and not np.isnan(D[:, :64]).any()): "Only the first block's tile has arrived. "
        "`tma_store` takes the column before the row.",
        otherwise: f"{where(wrong)}. The tile goes to row 0 and the column that `leave` gets.",
    }


@checks("14.5")
def _which_wait(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 4, "four numbers out of 0, 1 and 2")
    expected = (1, 0, 2, 1)
    return {
        correct(submitted == expected): "`.read` is about the source, shared memory; without it the wait is "
        "also about the destination. A kernel that only stores needs `.read` alone: what it wrote is visible "
        "to the next kernel.",
        when(max(submitted) > 2): "The answers are 0, 1 and 2.",
        when(submitted[0] != 1): "First case: what must TMA have done before the buffer may be "
        "overwritten? Is it necessary that D has arrived in global memory?",
        when(submitted[1] != 0): "Second case: TMA reads the first buffer. Who touches the second?",
        when(submitted[2] != 2): "Third case: the other block will read D from global memory. After "
        "`.read`, is it there?",
        otherwise: "Fourth case: shared memory belongs to the block, and global memory does not. Which "
        "of them goes away when the block ends?",
    }


@checks("14.6")
def _send(answer: object) -> Sentences:
    built = compiled(answer, "send", _SHARED + _PUT, _WIDE)
    A, B, bias, total = _launch_data(256)
    D = np.full((64, 256), np.nan, np.float16)
    box = tensor_map(D, box=(64, 64), swizzle=128)
    advice = "There are two buffers of 8192 bytes; a warp has 2048 of them."
    result = simulated(built, (1, 1), 128, (A, B, bias, box, 16), advice)
    right = np.maximum(total + bias, 0).astype(np.float16)
    wrong = right != D
    kinds = {hazard.kind for hazard in result.hazards}
    first, *others = np.split(np.isnan(D).all(axis=0), 4)
    of_source = waits(result, "cp.async.bulk.wait_group.read")
    of_source[0] -= 1  # the kernel's own, at its end
    of_both = waits(result, "cp.async.bulk.wait_group")
    idle = of_source[0] + of_both[0] > 1
    reused = any("overwrit" in hazard.sentence for hazard in result.hazards)
    return {
        correct(not wrong.any() and not result.hazards and not idle and not of_both): "While TMA "
        "reads one buffer, the threads fill the other. The thread that issues the stores waits until at most "
        "one of them is still reading, and a barrier tells all others.",
        when(not wrong.any() and not result.hazards and idle): "It is right, but nothing overlaps: it waits "
        "for *all* stores, also for the one that reads the other buffer. How many may still be in flight?",
        when(not wrong.any() and not result.hazards): "It is right, but `wait_group` also waits until D is "
        "in global memory. Here only the buffer matters.",
        when("missing proxy fence" in kinds): "A proxy fence is missing: every tile is written through the "
        "generic proxy and read through the async one.",
        when(
            reused and not of_source.total() and not of_both
        ): "The third tile overwrites the first, which TMA may still be reading. Who waits for that?",
        when(reused): "A buffer is overwritten while TMA may still be reading it. Only the thread that "
        "issued a store can wait for it, the others learn of it at a barrier; and after the wait, at most "
        "*one* store may still be reading.",
        when("race" in kinds): "The simulator found a race: TMA reads a tile that other warps may not have "
        "written yet, or they have not met since.",
        **reported(result),
        when(first.all() and all(tile.all() for tile in others)): "Nothing was stored.",
        when(not first.any() and all(tile.all() for tile in others)): "Only the first 64 columns are stored: "
        "tile i goes to column 64 * i.",
        otherwise: f"{where(wrong)}. Every warp puts its 16 rows 2048 bytes after those of the warp before.",
    }


@checks("14.7")
def _least_k(answer: object) -> Sentences:
    cases = ((2, 752, 4.8), (4, 752, 4.8), (10, 752, 4.8), (2, 312, 2.0), (4, 1500, 8.0))
    form = "`least_k(size, tflops, tbs)` returns a number"
    submitted = [number_of(answer, *case, form=form) for case in cases]
    expected = np.array([size * tera / (2 * rate) for size, tera, rate in cases])

    def everywhere(values: NDArray[np.float64]) -> bool:
        return bool(np.allclose(submitted, values, rtol=0.01, atol=1))

    return {
        correct(everywhere(expected)): "On the H200 that is K = 157 for f16 and 313 for f32. M and N do not "
        "matter: both times grow with M N. A second kernel for bias and activation moves 10 bytes per "
        "element and needs K = 783.",
        when(everywhere(2 * expected)): "A multiply-add counts as *two* operations in TFLOP/s.",
        when(everywhere(expected / 2)): "The 2 is on the wrong side: each of the K products is a "
        "multiplication and an addition.",
        when(everywhere(1 / expected) or everywhere(4 * expected)): "Set 2 K / tflops equal to bytes / tbs, "
        "and solve for K.",
        when(everywhere(expected / np.array([case[0] for case in cases]))): "How many bytes has an element "
        "of D?",
        otherwise: "For one element of D: the product takes 2 K operations, the store moves `size` bytes. "
        "How long does each take?",
    }
