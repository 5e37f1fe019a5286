"""Lesson 31: Triton kernels as Triton 3.6.0 compiled them for an H200, their layouts, and a race."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, quoted
from ...memory import TritonLayout
from ...simulation import Simulation
from ...simulator.debug import DebugSession
from ...simulator.kernel import Kernel, build_kernel
from ...views import Picture
from ...views.charts import table
from ..answers import WrongForm, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when
from ..reader_kernels import read_record, source_text

PTX_FILE = "triton_kernels.json.bz2"  # python -m tools.record triton_kernels
SOURCE = source_text("triton_kernels.py")
_LINES = SOURCE.splitlines()


def line_of(text: str) -> int:
    """The first line of the source with this text.

    >>> line_of("acc = tl.dot")
    15
    """
    return next(number for number, line in enumerate(_LINES, 1) if text in line)


DOT, STORE, SEEN = line_of("acc = tl.dot"), line_of("tl.store(c"), line_of("seen = ")
_TILE, _DEPTH = 64, 192  # of the product that the lesson runs; its depth
_PROGRAMS, _BLOCK = 4, 256  # of `add_up`
#: Lines of `add_up` after which a barrier can be put.
STATEMENTS = (*range(SEEN - 4, SEEN - 2), *range(SEEN - 1, SEEN + 3), SEEN + 4, SEEN + 5)


# -- kernels, as Triton compiled them ------------------------------------------------------------------------


def _record() -> dict[str, Any]:
    return read_record(PTX_FILE)


def layouts() -> dict[str, str]:
    """The layouts that the compiler's dump (TTGIR) of `matmul` names.

    >>> layouts()["mma"]
    '#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>'
    """
    texts: dict[str, str] = _record()["layouts"]
    return texts


def with_barrier(line: int) -> str:
    """The source with `tl.debug_barrier()` after a line; 0 adds none.

    >>> with_barrier(26).splitlines()[26]
    '        tl.debug_barrier()'
    """
    if not line:
        return SOURCE
    before = _LINES[line - 1]
    indent = len(before) - len(before.lstrip())
    if before.endswith(":"):
        indent += 4
    elif before.strip() == "pass":  # after the loop
        indent -= 4
    return "\n".join([*_LINES[:line], " " * indent + "tl.debug_barrier()", *_LINES[line:]]) + "\n"


def barrier_name(line: int) -> str:
    """The record's name of `add_up` with a barrier after a line."""
    return f"add_up_{line}" if line else "add_up"


def kernel(name: str) -> Kernel:
    """A kernel of the lesson as it was recorded; its lines are those of the Triton source.

    >>> kernel("matmul")
    <kernel matmul(u64, u64, u64, u32, u32, u64, u64) for sm_90a>
    """
    entry = _record()["kernels"][name]
    line = int(name.removeprefix("add_up_")) if name.startswith("add_up_") else 0
    origin = with_barrier(line)
    return build_kernel(entry["ptx"], origin=origin, language="Triton")


def matmul_arguments() -> tuple[Any, ...]:
    """A, B, C, N and K; small whole numbers, whose sums are exact in any order."""
    rng = np.random.default_rng(31)
    A, B = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((_TILE, _DEPTH), (_DEPTH, _TILE)))
    return A, B, np.zeros((_TILE, _TILE), np.float32), _TILE, _DEPTH


def add_up_arguments() -> tuple[Any, ...]:
    """Parts, their total, the lock and the count."""
    parts = np.random.default_rng(31).integers(-9, 10, (_PROGRAMS, _BLOCK)).astype(np.float32)
    return parts, np.zeros(_BLOCK, np.float32), np.zeros(1, np.int32), np.zeros(1, np.int32)


def run(name: str, **options: Any) -> Simulation:
    """A kernel with the lesson's arguments, simulated; its numbers are asserted.

    >>> run("matmul").counts["wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"]
    48
    """
    sizes, arguments, shared = _launch(name)
    result = kernel(name).simulate(*sizes, *arguments, shared=shared, **{"show": False, **options})
    if name == "matmul":
        A, B, C, *_ = arguments
        assert (A.astype(np.float32) @ B.astype(np.float32) == C).all()
    else:
        assert (arguments[1] == arguments[0].sum(axis=0)).all()
    return result


def debug(name: str) -> DebugSession:
    """A kernel with the lesson's arguments, to step through."""
    sizes, arguments, shared = _launch(name)
    return kernel(name).debug(*sizes, *arguments, shared=shared)


def _launch(name: str) -> tuple[tuple[Any, ...], tuple[Any, ...], int]:
    """Grid and block, arguments and shared memory of a kernel's launch."""
    entry = _record()["kernels"][name]
    is_product = name == "matmul"
    arguments = matmul_arguments() if is_product else add_up_arguments()
    hidden = (None, None)  # Triton's pointers to scratch memory
    grid = (1, 1) if is_product else (_PROGRAMS,)
    return (grid, entry["block"]), (*arguments, *hidden), entry["shared"]


def right_on_gpu() -> bool:
    """Whether the recorded product, launched on the GPU of this machine, gives the simulator's numbers."""
    entry, (A, B, C, *sizes) = _record()["kernels"]["matmul"], matmul_arguments()
    kernel("matmul").launch((1, 1), entry["block"], A, B, C, *sizes, None, None, shared=entry["shared"])
    return bool((A.astype(np.float32) @ B.astype(np.float32) == C).all())


def compiled_here() -> str:
    """What a Triton that is installed makes of the same source, in one sentence.

    >>> compiled_here().split()[0]
    'Triton'
    """
    recorded = _record()
    if find_spec("triton") is None:
        return f"Triton is not installed here; {recorded['compiler']} compiled what you saw."
    import sys
    from importlib.util import module_from_spec, spec_from_file_location

    from ...simulation import simulating

    with resources.as_file(resources.files("ptxlab.course").joinpath("sources", "triton_kernels.py")) as path:
        spec = spec_from_file_location("ptxlab_lesson_31", path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[spec.name] = module_from_spec(spec)
        spec.loader.exec_module(module)
        with simulating(show=False) as session:
            module.matmul[(1, 1)](*matmul_arguments(), _TILE, _TILE, _TILE)
    version, result = sys.modules["triton"].__version__, session.results[0]
    ours, theirs = result.counts, run("matmul").counts
    same = "the same instructions" if ours == theirs else "other instructions"
    count = f"{sum(ours.values()):,}"
    return f"Triton {version} compiled it here: {same} as {recorded['compiler']}, {count} executed."


_SHOWN = ("cp", "wgmma", "st", "ld", "bar", "fence", "atom")  # what moves, multiplies and waits


def instructions(result: Simulation) -> Picture:
    """For each line of the source, what moves, multiplies and waits there; counted once for each warp.

    >>> instructions(run("matmul")).grids[0].at(4, 0).lines[0]
    '32 st.shared.v4.b32'
    """
    rows: dict[str, list[str]] = {}
    for line, profile in result.by_line().items():
        names = [
            f"{count} {name.replace('.sync.aligned', '')}"
            for name, count in profile.by_opcode.items()
            if name.split(".")[0] in _SHOWN and ".param" not in name
        ]
        if line and names:
            source = result.source.splitlines()[line - 1].strip()
            rows[f"{line}  {source.partition('(')[0].partition(' in ')[0]}"] = ["\n".join(names)]
    return table(rows, ["executed by warps"], "What moves, multiplies and waits")


def first_copy(result: Simulation) -> NDArray[np.int64]:
    """Bytes of shared memory that the lanes of the traced warp fill with their first `cp.async`."""
    if result.trace is None:
        raise PtxlabError("nothing was traced: run(..., trace=True) follows the first warp")
    for step in result.trace.steps:
        for access in step.accesses:
            if step.instruction.opcode.startswith("cp.async") and access.space == "shared":
                return access.addresses
    raise PtxlabError("the warp executed no cp.async")


# -- exercises -----------------------------------------------------------------------------------------------

_BIG = (128, 128, 64, 4096)  # BM, BN, BK and K of the first exercise
_SHARED_LIMIT = 232448  # bytes that a block of an H200 may have
_ROW, _COLUMN = drawn("31.3", "`x[{}][{}]`", (5, 17), (3, 41), (6, 26), (7, 33), (2, 59))
_AT = drawn("31.4", "`acc[{}][{}]`", (37, 21), (53, 11), (22, 45), (60, 27), (45, 50))


@checks("31.1")
def _instructions(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(n, count)`")
    rows, columns, depth, k = _BIG
    count = rows // 64 * (depth // 16) * (k // depth)
    n, number = submitted
    return {
        correct(submitted == (columns, count)): "Two `wgmma` of 64 rows for each 16 of k: 2 * 4 in an "
        f"iteration, and {k // depth} iterations. Triton has chosen the widest n that the tile allows.",
        when(n == columns and number == count // 2): f"`m64` is fixed: {rows} rows take two `wgmma`.",
        when(n == columns and number == k // depth): "That is the number of iterations. How many 16 does "
        "one of them take of k, and how many 64 of the rows?",
        when(n == columns and number == 4 * count): "All four warps execute one `wgmma` together: the margin "
        "counts it four times, the tensor core once.",
        when(n == columns and number == count // (k // depth)): "That is one iteration.",
        when(n == 64 and number == 2 * count): "As many `m64n64k16` would also do. But n goes up to 256, and "
        "Triton takes all columns of the tile in one instruction.",
        when(n != columns): f"n is the number of columns of one `wgmma`. The tile has {columns}, and `wgmma` "
        "can have up to 256.",
        otherwise: "Divide: rows by 64, BK by 16, K by BK. Then multiply.",
    }


@checks("31.2")
def _stages(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(size, stages)`")
    rows, columns, depth, _ = _BIG
    stage = 2 * (rows + columns) * depth
    size, stages = 4 * stage, _SHARED_LIMIT // stage
    return {
        correct(submitted == (size, stages)): f"{stage:,} bytes a stage; {stages} of them are "
        f"{stages * stage:,}. More stages hide more latency, until nothing else fits beside the block.",
        when(submitted[0] == size // 2): "An `f16` has 2 bytes, and each stage holds a tile of A *and* one "
        "of B.",
        when(submitted[0] == stage): "That is one stage. `num_stages=4` keeps four of them.",
        when(submitted[0] == size and submitted[1] > stages): f"Too many: {submitted[1]} stages are "
        f"{submitted[1] * stage:,} bytes, and a block may have {_SHARED_LIMIT:,}.",
        when(submitted[0] == size): f"The size is right. How many times do {stage:,} bytes fit into "
        f"{_SHARED_LIMIT:,}?",
        when(submitted[0] == 2 * size): "Twice too much: A's tile is 128 x 64, B's is 64 x 128.",
        otherwise: "A stage is a tile of A and a tile of B, `BM * BK + BK * BN` elements of 2 bytes.",
    }


@checks("31.3")
def _place_of_x(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one byte offset")
    tile = TritonLayout.read(layouts()["shared"]).shared((_TILE, _TILE))
    expected = int(tile.address(_ROW, _COLUMN))
    vector, rest = divmod(2 * _COLUMN, 16)
    plain = 128 * _ROW + 2 * _COLUMN
    return {
        correct(submitted == expected): f"Row {_ROW} begins at byte {128 * _ROW}; vector {vector} moves to "
        f"{vector} ^ {_ROW % 8} = {vector ^ _ROW % 8}, and inside it nothing changes: {rest} more bytes.",
        when(submitted == plain): "That is the place without a swizzle. Which of the eight 16-byte vectors "
        "of its row is it in, and where does the swizzle move that vector?",
        when(2 * submitted in (expected, plain)): "Those are elements. An `f16` has two bytes.",
        when(submitted == expected - rest): "That is where its 16-byte vector begins. Where in the vector is "
        "the element?",
        when(submitted == 128 * _ROW + 16 * ((_COLUMN // 16) ^ _ROW % 8) + rest): "A vector is 16 *bytes*: "
        "8 elements.",
        when(submitted // 128 == _ROW): "The row is right. Vector = byte in the row // 16; the swizzle XORs "
        "it with row % 8.",
        otherwise: "A row of 64 `f16` has 128 bytes. Find the 16-byte vector in the row, XOR its number with "
        "row % 8, and add what is left.",
    }


@checks("31.4")
def _holder(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(thread, register)`")
    row, column = _AT
    thread, register = TritonLayout.read(layouts()["mma"]).registers((_TILE, _TILE)).locate(row, column)
    lane, low = thread % 32, register % 4
    return {
        correct(submitted == (thread, register)): f"Warp {row // 16} has rows {row // 16 * 16} to "
        f"{row // 16 * 16 + 15}, lane {lane} its row {row % 8} of eight; column {column} is in the "
        f"group {column // 8} of eight columns, four registers each.",
        when(submitted == (lane, register)): "That is the lane in its warp. Threads are counted through the "
        "four warps of the warpgroup.",
        when(submitted == (thread, low)): "The thread is right. The eight columns that C of `mma` has repeat "
        "along n, and each repetition adds four registers.",
        when(submitted == (thread, register ^ 2)): "Nearly: is it in the upper or in the lower eight rows of "
        "the warp's 16? The lower have registers 2 and 3 of each four.",
        when(submitted == (thread, register ^ 1)): "Nearly: an even column is the first of two neighbours.",
        when(submitted[0] == thread): "The thread is right. Its registers: bases (0,1), (8,0), then (0,8), "
        "(0,16), (0,32). Which bits of row and column set which?",
        when(submitted[1] == register): "The register is right. The thread: 16 rows a warp, then lane = "
        "4 * (row % 8) + column % 8 // 2.",
        when(submitted == (row, column)): "Those are row and column. The answer is a thread and one of its "
        "32 registers.",
        otherwise: "Rows: 16 for each warp, 8 for the lanes. Columns: 2 in a thread, 8 in a quad of lanes, "
        "then the next four registers.",
    }


@lru_cache(maxsize=len(STATEMENTS))
def _race_with_barrier(line: int) -> str:
    """The race that is left in `add_up` with a barrier after this line, without its cure; "" if none is.

    Lines are named by their text: with the barrier they have other numbers than on the screen.

    >>> _race_with_barrier(30)
    'a warp executes `tl.atomic_xchg(count, 1)` before another has executed `seen = tl.load(count)`'
    """
    hazards = run(barrier_name(line)).hazards
    if not hazards:
        return ""
    first, lines = hazards[0], with_barrier(line).splitlines()
    early, late = (lines[number - 1].strip() for number in (first.line, first.other_line) if number)
    return f"a warp executes `{early}` before another has executed `{late}`"


@checks("31.5")
def _barrier(answer: object) -> Sentences:
    (line,) = whole_numbers(answer, 1, "the number of a line")
    if line not in STATEMENTS:
        raise WrongForm(
            f"After line {quoted(line)} no barrier can stand that changes anything; choose one of the lines "
            f"{STATEMENTS[0]} to {STATEMENTS[-1]} that ends a statement of `add_up`."
        )
    race = _race_with_barrier(line)
    xchg = line_of("tl.atomic_xchg(count")
    return {
        correct(not race and line == SEEN): "Now every warp has loaded `count` before thread 0 changes it. "
        "The barrier belongs between the last read and the write.",
        correct(not race): "That also works: all warps have loaded the same `count`, so they all come "
        "to this barrier, and only then does thread 0 change it.",
        when(line == xchg): "Too late: thread 0 may have changed `count` before another warp loads it.",
        when(line < SEEN): "Before the load it separates nothing: the load and the exchange both come after "
        f"the barrier. In the simulation {race}.",
        otherwise: f"The exchange comes earlier. In the simulation {race}.",
    }
