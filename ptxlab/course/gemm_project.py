"""The project `project-gemm`: five steps of a GEMM that readers write, from `mma.sync` to a ring of TMA.

`check` simulates a reader's kernel with several sizes and predicts its time; the verdict shows it below the
roofline and in the ladder beside the rungs of `ptxlab.gemm`. `record` keeps times in a file, and
`leaderboard` makes one table of a class's files.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int, as_path, as_text
from ..errors import PtxlabError, counted, lines_of, quoted
from ..gemm import ladder
from ..gemm.source import instruction_header, source_files
from ..isa.parse import parse_mma
from ..memory import tensor_map
from ..question import Unanswered, Verdict, with_code
from ..simulation import Profile, Simulation
from ..simulator.kernel import Kernel
from ..views import Picture
from ..views.annotated_source import source_html
from ..views.charts import LineChart, bars, table
from ..views.predicted_time import reason_words
from ..views.roofline import roofline
from ..views.verdict_panel import verdict_html
from .answers import WrongForm, within_time_limit
from .checking import Sentences, correct, otherwise, when
from .exercises.from_instruction_to_gemm import CUBLAS, SIZE
from .exercises.your_first_tensor_core_kernel import LOAD, MMA, STORE
from .reader_kernels import compiled, first_hazard, simulated, waits, where

__all__ = ["SIZES", "STEPS", "ProjectStep", "StepVerdict", "check", "given", "leaderboard", "record"]

#: M, N and K of the product whose time is predicted.
SIZES = (2048, 2048, 512)
#: Microseconds predicted for the rungs of `ptxlab.gemm` with it: `python -m tools.record gemm_project`.
RUNGS_FILE = "gemm_project.json"

_WGMMA = replace(parse_mma("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"), a_space="shared")
_GIVEN_LINE = 1000  # lines of what is given are counted from here, those of the reader from 1
_PER_WARP = 20_000  # instructions that each warp may execute with the small sizes
_MANY = 6  # times the instructions of a good answer: its time is not worth predicting

_TYPES = """\
#include <stdint.h>
typedef unsigned short f16;  // its 16 bits"""
_PLACES = LOAD.strip().partition("\n__device__ void load_a")[0]  # group() and thread_in_group()
_HALVES = """\
__device__ __forceinline__ uint32_t halves(float first, float second) {  // the first in the low half
    uint32_t both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}"""
_STORE_PAIRS = """\
__device__ void store_d(const float* d, float* D, int N) {  // D by rows of N elements, two at a time
    for (int r = 0; r < 4; r += 2)
        *(float2*)(D + (group() + r / 2 * 8) * N + thread_in_group() * 2) = make_float2(d[r], d[r + 1]);
}"""
_COPIES = ("cp_async_16", "cp_async_commit", "cp_async_wait")
_WARPGROUP = ("wgmma_fence", "wgmma_commit", "wgmma_wait", "fence_async_proxy")
_RING = (
    *("mbarrier_init", "mbarrier_init_fence", "mbarrier_arrive", "mbarrier_expect", "mbarrier_wait"),
    *("TensorMap", "tma_load", "tma_store", "tma_store_commit", "tma_store_wait_read", "named_barrier"),
)


@dataclass(frozen=True)
class ProjectStep:
    """One step: what is launched, what is given, what the kernel must execute, and how long it may take."""

    number: int
    title: str
    rung: int  # of `ptxlab.gemm`, with the same idea
    block: tuple[int, int]  # rows and columns of D that a block computes
    threads: int
    shared: int  # bytes of dynamic shared memory
    functions: tuple[str, ...]  # of the ladder's headers, which the reader gets
    idea: str  # the instruction that the step is about
    shapes: tuple[tuple[int, int, int], ...]  # M, N, K: the first is in the notebook, the others are hidden
    reads: tuple[int, int]  # rows of A and columns of B that a warp or a block reads together
    instructions: int  # that all warps execute with the first shape, in a good answer
    budget: float  # predicted microseconds with `SIZES`
    praise: str
    advice: str  # where the kernel is too slow for no other reason
    own: str = field(default="", repr=False)  # what is given beside these functions
    tma: bool = False

    @property
    def given(self) -> str:
        """CUDA C++ that stands above the reader's."""
        return "\n\n".join([_TYPES, self.own, *_functions(self.functions)]) + "\n"

    def grid(self, m: int, n: int) -> tuple[int, int]:
        """Blocks along x, for columns of D, and along y, for rows."""
        return n // self.block[1], m // self.block[0]


def _functions(names: tuple[str, ...]) -> list[str]:
    """The definitions of these names in the header of the ladder, each with its comment."""
    parts = source_files()["ptx.cuh"].split("\n\n")
    return [
        part
        for part in parts
        if any(re.search(rf"^[^/\n]*\b{name}\b[ (]", part, re.MULTILINE) for name in names)
    ]


def _wgmma_header() -> str:
    return instruction_header(_WGMMA, {}).replace("#pragma once\n#include <stdint.h>\n", "").strip()


_SMALL = ((64, 64, 64), (128, 192, 192), (192, 64, 128))
_LARGE = ((128, 128, 256), (128, 256, 64), (256, 128, 320))
_RING_BYTES = 3 * 2 * 128 * 128

STEPS: tuple[ProjectStep, ...] = (
    ProjectStep(
        1,
        "mma.sync from global memory",
        rung=1,
        block=(64, 64),
        threads=128,
        shared=0,
        functions=(),
        idea="mma.sync",
        shapes=((64, 64, 64), (128, 192, 48), (64, 128, 16)),
        reads=(32, 32),
        instructions=1200,
        budget=110,
        praise="Each fragment is used by several `mma`, so that registers save most of the reads.",
        advice="Does each fragment that a warp loads serve as many `mma` as it can? A warp with 32 x 32 of D "
        "needs two fragments of A and four of B for eight `mma`.",
        own=f"{MMA.strip()}\n\n{LOAD.strip()}\n\n{STORE.strip()}",
    ),
    ProjectStep(
        2,
        "shared memory, ldmatrix, a swizzle",
        rung=3,
        block=(64, 64),
        threads=128,
        shared=2 * 64 * 128,
        functions=("shared_address", "ldmatrix_x4"),
        idea="ldmatrix",
        shapes=_SMALL,
        reads=(64, 64),
        instructions=2500,
        budget=45,
        praise="A block reads each row once for all of its warps, and no two rows of a matrix meet "
        "in a bank.",
        advice="Copies of 16 bytes and `ldmatrix` with four matrices take the fewest instructions.",
        own=f"{MMA.strip()}\n\n{_PLACES}\n\n{_STORE_PAIRS}",
    ),
    ProjectStep(
        3,
        "cp.async in stages",
        rung=5,
        block=(128, 128),
        threads=128,
        shared=_RING_BYTES,
        functions=("shared_address", "ldmatrix_x4", *_COPIES),
        idea="cp.async",
        shapes=_LARGE,
        reads=(128, 128),
        instructions=15_600,
        budget=22,
        praise="Tiles arrive while others are multiplied: the latency of memory is hidden.",
        advice="Are copies of later tiles on their way while one is multiplied?",
        own=f"{MMA.strip()}\n\n{_PLACES}\n\n{_STORE_PAIRS}",
    ),
    ProjectStep(
        4,
        "wgmma with descriptors",
        rung=6,
        block=(128, 128),
        threads=256,
        shared=_RING_BYTES,
        functions=("shared_address", *_COPIES, *_WARPGROUP),
        idea="wgmma.mma_async",
        shapes=_LARGE,
        reads=(128, 128),
        instructions=12_500,
        budget=18,
        praise="Four warps multiply straight from shared memory: no fragments, no `ldmatrix`.",
        advice="Are copies on their way while `wgmma` runs, and is there one commit and one wait for a tile?",
        own=_wgmma_header(),
    ),
    ProjectStep(
        5,
        "a ring of TMA, and an epilogue",
        rung=7,
        block=(128, 128),
        threads=256,
        shared=_RING_BYTES + 1024,
        functions=("shared_address", "descriptor", *_WARPGROUP, *_RING),
        idea="cp.async.bulk.tensor",
        shapes=_LARGE,
        reads=(128, 128),
        instructions=5400,
        budget=17,
        praise="One thread asks for tiles, mbarriers say when they are there, and D is finished "
        "in registers.",
        advice="Are loads of later tiles on their way while one is multiplied?",
        own=f"{_wgmma_header()}\n\n{_HALVES}",
        tma=True,
    ),
)


# -- what a verdict shows ------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def rung_times() -> dict[int, float]:
    """Predicted microseconds of the rungs of `ptxlab.gemm` with `SIZES`, as they were recorded."""
    text = resources.files(__package__).joinpath(RUNGS_FILE).read_text(encoding="utf-8")
    return {int(number): time for number, time in json.loads(text)["microseconds"].items()}


def _rate(microseconds: float) -> float:
    """TFLOP/s of the product.

    >>> round(_rate(10))
    429
    """
    m, n, k = SIZES
    return 2e-6 * m * n * k / microseconds


@dataclass(frozen=True)
class StepVerdict(Verdict):
    """The verdict on a step; with a kernel whose time could be predicted, its place among others."""

    step: int = 0
    source: str = field(default="", repr=False)
    profile: Profile | None = field(default=None, repr=False, compare=False)

    __repr__ = Verdict.__repr__

    @property
    def microseconds(self) -> float | None:
        """Predicted time of the product with `SIZES`; None if it was not predicted."""
        return None if self.profile is None else self.profile.microseconds

    @property
    def roofline(self) -> LineChart | None:
        """The kernel below the roofs of an H200."""
        return None if self.profile is None else roofline(self.profile)

    @property
    def ladder(self) -> Picture | None:
        """The kernel among the rungs of `ptxlab.gemm`, and cuBLAS."""
        if self.profile is None:
            return None
        rows = {row.number: f"rung {row.number} {row.title}" for row in ladder()}
        times = {rows[number]: time for number, time in rung_times().items()}
        times[f"▶ your step {self.step}"] = self.profile.microseconds
        rates = {name: _rate(time) for name, time in sorted(times.items(), key=lambda item: -item[1])}
        rates["cuBLAS on an H200"] = float(CUBLAS)
        m, n, k = SIZES
        notes = (
            f"predicted for {m} x {n} x {k}; the rungs store D as f16, steps 1 to 4 as f32",
            f"cuBLAS: measured with {SIZE} x {SIZE} x {SIZE}",
        )
        return bars(rates, f"Step {self.step} in the ladder: TFLOP/s", notes, text="{:.0f}".format)

    def _repr_html_(self) -> str:
        pictures = [picture._repr_html_() for picture in (self.roofline, self.ladder) if picture is not None]
        return "\n".join([verdict_html(self), *pictures])


class GivenSource(NamedTuple):
    """What a step gives: functions, and how the kernel is launched."""

    text: str
    source: str

    def _repr_html_(self) -> str:
        style = "max-width: 60em; line-height: 1.5; margin: 4px 0 10px"
        return f'<p style="{style}">{with_code(self.text)}</p>{source_html(self.source)}'


def _step(number: object) -> ProjectStep:
    chosen = as_int(number, "step")
    if not 1 <= chosen <= len(STEPS):
        raise PtxlabError(f"step={quoted(chosen)}: there are steps 1 to {len(STEPS)}")
    return STEPS[chosen - 1]


def given(step: int) -> GivenSource:
    """The functions that a step gives, and how its kernel is launched.

    >>> given(1).text
    'A block of 128 threads computes 64 x 64 of D; there are N / 64 blocks along x and M / 64 along y.'
    """
    chosen = _step(step)
    rows, columns = chosen.block
    memory = f" It has {chosen.shared:,} bytes of dynamic shared memory." if chosen.shared else ""
    text = (
        f"A block of {chosen.threads} threads computes {rows} x {columns} of D; there are N / {columns} "
        f"blocks "
        f"along x and M / {rows} along y.{memory}"
    )
    return GivenSource(text, chosen.given)


# -- the check -----------------------------------------------------------------------------------------------


class _Run(NamedTuple):
    """A simulated launch with small whole numbers, whose sums are exact in any order."""

    A: NDArray[np.float16]
    B: NDArray[np.float16]  # [N, K]
    bias: NDArray[np.float32]
    D: NDArray[Any]
    result: Simulation

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, N, K."""
        return len(self.A), len(self.B), self.A.shape[1]

    def sums(self, part: slice = slice(None)) -> NDArray[np.float32]:
        """A B, or the sums over a part of K."""
        sums: NDArray[np.float32] = self.A[:, part].astype(np.float32) @ self.B[:, part].astype(np.float32).T
        return sums

    @property
    def expected(self) -> NDArray[Any]:
        """D as it should be."""
        if self.D.dtype == np.float32:
            return self.sums()
        finished: NDArray[Any] = np.maximum(self.sums() + self.bias, 0).astype(np.float16)
        return finished

    @property
    def wrong(self) -> NDArray[np.bool_]:
        """Which elements of D are wrong."""
        return np.asarray(self.expected != self.D)


def _arguments(
    step: ProjectStep, A: NDArray[Any], B: NDArray[Any], bias: NDArray[Any], D: NDArray[Any]
) -> list[Any]:
    """The arguments of a launch; B is [N, K]."""
    sizes = [D.shape[0], D.shape[1], A.shape[1]]
    if not step.tma:
        return [A, B, D, *sizes]
    box = (128, 64)
    return [tensor_map(A, box, swizzle=128), tensor_map(B, box, swizzle=128), bias, D, *sizes]


def _simulate(step: ProjectStep, kernel: Kernel, shape: tuple[int, int, int]) -> _Run:
    m, n, k = shape
    rng = np.random.default_rng(sum(shape))
    A, B = (rng.integers(-4, 5, (rows, k)).astype(np.float16) for rows in (m, n))
    bias = rng.integers(-40, 41, n).astype(np.float32)
    D = np.full((m, n), np.nan, np.float16 if step.tma else np.float32)
    arguments = _arguments(step, A, B, bias, D)
    result = simulated(
        kernel, step.grid(m, n), step.threads, arguments, _STOPPED, step.shared, per_warp=_PER_WARP
    )
    return _Run(A, B, bias, D, result)


_STOPPED = {
    "deadlock": "Which thread waits for what nobody signals? Count the arrivals, the bytes that are "
    "announced "
    "and those that come, and the parity of each phase.",
    "misaligned": "Copies of 16 bytes begin at multiples of 16 bytes.",
    "argument": "Which rows, columns and steps along K does the last block have?",
    "": "Where does each tile begin, and how much shared memory is there?",
}


def check(step: int, answer: object) -> StepVerdict:
    """The verdict on a kernel: all elements right with several sizes, no hazards, and within its budget.

    >>> check(1, ...)
    … GEMM step 1 not yet: Replace the ... in this cell and run it again.
    """
    chosen = _step(step)
    name = f"GEMM step {chosen.number}"
    if answer is ...:
        return StepVerdict(name, "not yet", str(Unanswered()))
    try:
        verdict = within_time_limit(lambda: _judged(chosen, name, answer))
    except Unanswered as unread:
        return StepVerdict(name, "not yet", str(unread), chosen.number)
    except WrongForm as error:
        text = _readable(str(error))
        return StepVerdict(name, "wrong", text[:1].upper() + text[1:], chosen.number)
    return verdict


def _judged(step: ProjectStep, name: str, answer: object) -> StepVerdict:
    before = f'#line {_GIVEN_LINE + 1} "what is given"\n{step.given}'
    kernel = compiled(answer, "gemm", before)
    source = str(answer)

    def verdict(sentences: Sentences, profile: Profile | None = None) -> StepVerdict:
        fitting = next(condition for condition in sentences if condition.fits)
        state: Literal["right", "wrong"] = "right" if fitting.right else "wrong"
        return StepVerdict(name, state, sentences[fitting], step.number, source, profile)

    runs = []
    for shape in step.shapes:
        runs.append(_simulate(step, kernel, shape))
        if runs[-1].wrong.any() or runs[-1].result.hazards:
            return verdict(_wrong(step, runs))
    first = runs[0].result
    if not any(opcode.startswith(step.idea) for opcode in first.counts):
        return verdict({otherwise: f"D is right, and there are no hazards. But this step is about "
        f"`{step.idea}`, "
                        "and the kernel executes none."})  # fmt: skip
    groups = waits(runs[-1].result, "cp.async.wait_group")
    groups[0] += runs[-1].result.counts["cp.async.wait_all"]
    if step.number == 3 and groups[0] > groups.total() / 2:
        return verdict({otherwise: "D is right, and there are no hazards. But most iterations wait for all "
        "copies: "
                        "none is left in flight. This step asks for a ring: how many groups may stay "
                        "pending?"})  # fmt: skip
    slow = _slow(step, runs[0])
    executed = sum(first.counts.values())
    if executed > _MANY * step.instructions:
        return verdict({otherwise: f"D is right, but the warps execute {executed:,} instructions, where "
                        f"{step.instructions:,} would do. {slow or step.advice}"})  # fmt: skip
    noted = _readable("".join(f" But a note: {note.sentence}." for note in first.notes[:1]))
    m, n, k = SIZES
    A, B = (np.zeros((rows, k), np.float16) for rows in (m, n))
    D = np.zeros((m, n), np.float16 if step.tma else np.float32)
    arguments = _arguments(step, A, B, np.zeros(n, np.float32), D)
    try:
        profile = kernel.profile(step.grid(m, n), step.threads, *arguments, shared=step.shared)
    except PtxlabError as error:
        return verdict({
            when(slow): f"D is right, and there are no hazards. {slow}",
            correct(True): f"{step.praise} Its time cannot be predicted here, so that its budget of "
            f"{step.budget:g} µs is not judged: {error}.{noted}",
        })  # fmt: skip
    profile.name = f"your step {step.number}"
    profile.source = source
    time = f"{profile.microseconds:.1f} µs"
    within = f"{step.budget:g} µs"
    return verdict({
        correct(profile.microseconds <= step.budget): f"{step.praise} Predicted: {time} of {within}, "
        f"{_rate(profile.microseconds):.0f} TFLOP/s; rung {step.rung} of `ptxlab.gemm` takes "
        f"{rung_times()[step.rung]:.1f} µs.{noted}",
        when(slow): f"D is right, and there are no hazards, but it takes {time}, and its budget is "
        f"{within}. {slow}",
        otherwise: f"D is right, and there are no hazards, but it takes {time}, and its budget is {within}. "
        f"{_stall(profile, step)} {step.advice}",
    }, profile)  # fmt: skip


#: What to ask about a hazard, by its kind and by words of the sentence; the first that fits.
_CURES = (
    ("uninitialised register", "", "Is every accumulator 0 before the first product, and every register of a "
     "fragment loaded?"),
    ("uninitialised memory", "", "Is that part of shared memory copied before it is read, in the first "
    "iteration as "
     "in the last?"),
    ("missing proxy fence", "", "`wgmma` and TMA reach shared memory through the async proxy: each thread "
    "fences what "
     "it wrote, then comes the barrier."),
    ("cp.async without proxy fence", "", "`wgmma` reads shared memory through the async proxy: each thread "
    "waits for "
     "its copies, fences them, then comes the barrier."),
    ("missing wgmma.fence", "", "Registers that were written before belong to `wgmma` after "
    "`wgmma_fence()`."),
    ("mbarrier.init without fence", "", "TMA sees the initialised barriers after `mbarrier_init_fence()`."),
    ("missing wait", "mbarrier", "A stage is there when both of its boxes are: does the mbarrier expect the "
    "bytes of "
     "both, and does everybody wait for its phase?"),
    ("missing wait", "with that warpgroup", "Tiles belong to `wgmma` until every warpgroup has waited for "
    "it: what "
     "stands between that and the next copy to their stage?"),
    ("missing wait", "wgmma", "Accumulators and tiles of a `wgmma` are its own until it was committed and "
    "waited "
     "for."),
    ("missing wait", "", "A copy is under way until it was waited for: how many groups were committed after "
    "it? So "
     "many may stay pending, with a K of one tile as with a long one."),
    ("race", "different values", "Does every warp, and every warpgroup, have its own rows and columns of D?"),
    ("race", "", "Between what one thread writes to shared memory and what another reads there, and before "
    "it is "
     "written again, stands a barrier for all of them."),
)  # fmt: skip


def _readable(text: str) -> str:
    """A sentence of the simulator, with lines of what is given under their own numbers.

    >>> _readable("line 3: a race with line 1012")
    'line 3: a race with line 12 of what is given'
    """
    return re.sub(
        r"\bline 1(\d{3})\b( of what is given)?", lambda found: f"line {int(found[1])} of what is given", text
    )


def _wrong(step: ProjectStep, runs: list[_Run]) -> Sentences:
    """What may be wrong with the last of these launches, whose elements or order are not right."""
    run = runs[-1]
    (m, n, k), wrong, hazards, D = run.shape, run.wrong, run.result.hazards, run.D
    launch = f"M = {m}, N = {n}, K = {k}"
    reported = _readable(first_hazard(run.result))
    cures = [
        text
        for kind, words, text in _CURES
        if hazards and hazards[0].kind == kind and words in hazards[0].sentence
    ]
    cure = cures[0] if cures else ""
    depth = 16 if step.number == 1 else 64  # along K of what is multiplied in one iteration
    rows, columns = step.block
    inside = np.zeros_like(wrong)
    inside[:rows, :columns] = True
    sums = run.sums()

    def wrong_are(values: NDArray[np.float32]) -> bool:
        return bool(step.tma and wrong.any() and (D[wrong] == values.astype(np.float16)[wrong]).all())

    by_rows = np.maximum(sums + np.resize(run.bias, m)[:, None], 0)

    def is_sum_over(part: slice) -> bool:
        only = run.sums(part)
        only = np.maximum(only + run.bias, 0).astype(np.float16) if step.tma else only
        return k > depth and bool((only == D).all())

    return {
        when(hazards and not wrong.any()): f"D is right ({launch}), but only by luck: {reported}. "
        f"{cure}".rstrip(),
        when(hazards): f"The simulator reports ({launch}): {reported}. {cure}".rstrip(),
        when(np.isnan(D).all()): f"Nothing was stored in D ({launch}).",
        when(wrong_are(sums)): "Elements are those of A B: where are the bias and the maximum with 0?",
        when(wrong_are(np.maximum(sums, 0))): "The bias is missing: element n of it belongs to column n of "
        "D.",
        when(wrong_are(sums + run.bias)): "The bias is there, but negative numbers are left: D is max(A B + "
        "bias, 0).",
        when(wrong_are(by_rows)): "The bias is added by rows; element n of it belongs to *column* n.",
        when(not wrong[inside].any() and np.isnan(D[~inside]).all()): f"Only the block at the top left is "
        f"stored "
        f"({launch}): what counts blocks along x and y?",
        when(np.isnan(D).any()): f"Some elements are not stored: {where(np.isnan(D) & wrong)} ({launch}). "
        f"Which warp "
        "has it?",
        when(is_sum_over(slice(16))): f"Only the first 16 along K are in the sums ({launch}).",
        when(is_sum_over(slice(depth))): f"Only the first {depth} along K are in the sums ({launch}).",
        when(is_sum_over(slice(-depth, None))): f"Only the last {depth} along K are in the sums ({launch}): "
        f"do the "
        "accumulators start at 0 in every iteration?",
        when(is_sum_over(slice(-depth))): f"The last {depth} along K are missing ({launch}).",
        when(D.dtype == sums.dtype and m == n and (sums.T == D).all()): "That is the transpose of D.",
        when(len(runs) > 1): f"{where(wrong)} with {launch}, though other sizes are right. Does the kernel "
        f"assume "
        f"a size, or more than {counted(k // depth, 'iteration')} along K? {_ELEMENTS[step.number]}",
        otherwise: f"{where(wrong)} ({launch}). {_ELEMENTS[step.number]}",
    }  # fmt: skip


#: Where elements go wrong in each step.
_ELEMENTS = {
    1: "Do tiles of A begin every 16 rows, those of B every 8 columns, and does each have its own "
    "accumulators?",
    2: "Does `ldmatrix` read where the copy wrote: the same swizzle, the rows of this warp, and of B two "
    "tiles of "
    "8 columns at a time?",
    3: "Does every tile have its own stage, and does `ldmatrix` read from the stage of tile i?",
    4: "Does the descriptor name what lies there: 8 rows 1,024 bytes apart, a swizzle of 128 bytes, and 32 "
    "bytes "
    "further on for each step of 16 along K? And do accumulators go to the rows of their warpgroup?",
    5: "Which box is where: rows and columns of `tma_load`, 128 rows of B behind those of A, and the rows "
    "of a "
    "warpgroup?",
}


def _slow(step: ProjectStep, run: _Run) -> str:
    """Why a kernel is slow, from what it moved in a launch; "" if nothing stands out."""
    result, (m, n, k) = run.result, run.shape
    lines = result.by_line()
    worst = max(lines.values(), key=lambda line: line.conflicts, default=None)
    waves = sum(line.wavefronts for line in lines.values())
    conflicts = sum(line.conflicts for line in lines.values())
    if worst is not None and conflicts > 0.3 * waves:
        return _readable(
            f"Bank conflicts: in line {worst.line}, shared memory takes {worst.wavefronts:,} wavefronts "
            f"where "
            f"{worst.least:,} would do. Rows of 128 bytes begin in the same bank; XOR the vector of 16 bytes "
            f"with "
            "the row % 8, where it is written and where it is read."
        )
    rows, columns = step.reads
    needed = 2 * k * (m // rows) * (n // columns) * (rows + columns)
    read = result.bytes["global read"]
    if read > 1.6 * needed:
        return (
            f"Warps read {read / needed:.1f} times the bytes of A and B that they need, {rows} rows and "
            f"{columns} "
            "columns for each tile: load each fragment once, and use it for several `mma`."
            if step.number == 1
            else f"The blocks read {read / needed:.1f} times the bytes that they need: {rows} rows of A and "
            f"{columns} columns of B, each once."
        )
    scattered = max(
        (line for line in lines.values() if line.sectors > 0),
        key=lambda line: line.sectors_per_request,
        default=None,
    )
    if step.number > 1 and scattered is not None and scattered.sectors_per_request > 20:
        return _readable(
            f"Not coalesced: in line {scattered.line}, a warp touches {scattered.sectors_per_request:.0f} "
            f"sectors "
            "of 32 bytes at once. Neighbouring lanes should copy neighbouring 16 bytes of a row."
        )
    if step.number == 2 and sum(result.counts.values()) > 1.5 * step.instructions:
        return (
            f"The warps execute {sum(result.counts.values()):,} instructions, where {step.instructions:,} "
            f"would do: "
            f"{step.advice}"
        )
    return ""


def _stall(profile: Profile, step: ProjectStep) -> str:
    """Where most of the time goes."""
    spent = {line: sum(reasons.values()) for line, reasons in profile.stalls.items()}
    if not spent:
        return ""
    line = max(spent, key=lambda number: spent[number])
    reason = next((name for name, _ in profile.stalls[line].most_common() if name != "selected"), "selected")
    theirs = line > _GIVEN_LINE
    texts = lines_of(step.given if theirs else profile.source)
    number = line - _GIVEN_LINE if theirs else line
    text = texts[number - 1].strip() if 0 < number <= len(texts) else ""
    share = spent[line] / (sum(profile.reasons.values()) or 1.0)
    place = f"line {number}{' of what is given' if theirs else ''}"
    words = reason_words(reason)
    why = f"{reason} ({words})" if words else reason
    return f"Its warps spend {share:.0%} of their time at {place}, `{text}`: {why}."


# -- a class's times -----------------------------------------------------------------------------------------

_ENDING = ".gemm.jsonl"


def record(name: str, verdict: StepVerdict, folder: str | Path = ".") -> Path:
    """Add the predicted time of a right kernel to a reader's file, ``NAME.gemm.jsonl``, and return the file.

    Each line has name, step, microseconds, date and the kernel's source.
    """
    who = as_text(name, "name").strip()
    if not re.fullmatch(r"[\w .-]*\w", who):
        raise PtxlabError(f"name={quoted(name)}: it has letters, digits, spaces, `.`, `-` and `_`")
    if not verdict or verdict.microseconds is None:
        raise PtxlabError(
            "verdict: only a right kernel with a predicted time is recorded; gemm_project.check(...) "
            "returns it"
        )
    path = as_path(folder, "folder") / f"{who}{_ENDING}"
    entry = {
        "name": who,
        "step": verdict.step,
        "microseconds": round(verdict.microseconds, 2),
        "date": date.today().isoformat(),
        "source": verdict.source,
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry, ensure_ascii=False) + "\n")
    return path


class RecordedTime(NamedTuple):
    """One recorded time."""

    name: str
    step: int
    microseconds: float
    date: str
    source: str


def entries(folder: str | Path = ".") -> list[RecordedTime]:
    """The best time of each reader at each step, from the files in a folder."""
    best: dict[tuple[str, int], RecordedTime] = {}
    for path in sorted(as_path(folder, "folder").glob(f"*{_ENDING}")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                entry = RecordedTime(**json.loads(line))
                valid = 1 <= entry.step <= len(STEPS) and entry.microseconds > 0
            except (ValueError, TypeError):
                valid = False
            if not valid:
                raise PtxlabError(f"{path.name}, line {number}: it is no time that gemm_project.record wrote")
            key = entry.name, entry.step
            if key not in best or entry.microseconds < best[key].microseconds:
                best[key] = entry
    return list(best.values())


def leaderboard(folder: str | Path = ".") -> Picture:
    """The best times of a class in microseconds, from the files that `record` wrote into a folder.

    Those with the most steps come first, and among them the fastest in their last step.
    """
    times: dict[str, dict[int, float]] = {}
    for entry in entries(folder):
        times.setdefault(entry.name, {})[entry.step] = entry.microseconds
    if not times:
        raise PtxlabError(
            f"folder: {quoted(str(folder))} has no file *{_ENDING}; gemm_project.record writes them"
        )
    order = sorted(times, key=lambda name: (-len(times[name]), times[name][max(times[name])], name))
    rows = {
        f"{place} {name}": [
            f"{times[name][step.number]:.1f}" if step.number in times[name] else "" for step in STEPS
        ]
        for place, name in enumerate(order, 1)
    }
    rows["budget"] = [f"{step.budget:g}" for step in STEPS]
    rows["ptxlab.gemm"] = [f"{rung_times()[step.rung]:.1f}" for step in STEPS]
    m, n, k = SIZES
    notes = (f"f16, {m} x {n} x {k}; microseconds predicted for an H200",)
    return table(rows, [f"{step.number} {step.title}" for step in STEPS], "A GEMM in five steps", notes)
