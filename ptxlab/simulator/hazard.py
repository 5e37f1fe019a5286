"""What is wrong with a kernel that ran: a hazard, with its place, its threads and what would be right.

A new kind of hazard is a row of `_KINDS`; a module of `checks/` finds it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._util.display import display
from ..errors import PtxlabError, lines_of
from .launch_threads import Batch
from .ptx.syntax import PtxInstruction
from .waiting import Waiting

#: A hazard can give wrong results; a note is a rule of PTX that hardware has not been seen to need, or PTX
#: of which some assemblers make wrong code.
Grade = Literal["hazard", "note"]
#: The barrier that a remedy asks for: for the lanes of a warp, for the threads of a block, or none.
Barrier = Literal["", "warp", "block"]


@dataclass(frozen=True)
class Hazard:
    """Something that is wrong in a kernel, at one line; `count` is how often it was seen there.

    `line` is a line of the source, or of the PTX if the kernel is PTX text; `text` is its content. Block,
    warp, lanes and addresses (first and last byte, in the memory that `space` names) are those of the first
    time. `other_line` is the line of the other access if two conflict.
    """

    kind: str
    sentence: str
    line: int
    text: str
    ptx_line: int
    opcode: str
    block: tuple[int, int, int]
    warp: int
    lanes: tuple[int, ...]
    remedy: str
    space: str = ""
    addresses: tuple[int, int] | None = None
    other_line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        return self.sentence

    @property
    def grade(self) -> Grade:
        """ "hazard": it can give wrong results; "note": PTX requires it, hardware was not seen to need it."""
        return KINDS[self.kind].grade

    @property
    def evidence(self) -> str:
        """How the grade is known."""
        return KINDS[self.kind].evidence


class HazardError(PtxlabError):
    """A hazard that ends the simulation; `hazard` is its record, `hazards` has those before it as well.

    `waiting` says who waits for whom, where a launch cannot go on.
    """

    def __init__(self, sentence: str, hazard: Hazard | None = None, waiting: Waiting | None = None) -> None:
        super().__init__(sentence)
        self.hazard = hazard
        self.hazards: list[Hazard] = [] if hazard is None else [hazard]
        self.waiting = Waiting()
        if waiting is not None:
            self.wait(waiting)

    def wait(self, waiting: Waiting) -> None:
        """Say who waits for whom; a traceback shows it."""
        self.waiting = waiting
        if waiting:
            self.add_note(str(waiting))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the traceback, in a notebook below the picture of who waits."""
        lines: list[str] = display(self, "traceback")
        return lines

    def __reduce__(self) -> tuple[type[HazardError], tuple[str], dict[str, Any]]:
        # keeps the records and the notes on the way from another process
        return type(self), (str(self),), self.__dict__


class TooManyArrivalsError(HazardError):
    """An mbarrier gets more arrivals than its phase expects."""


def lanes_text(lanes: Sequence[int]) -> str:
    """Lanes for a sentence.

    >>> lanes_text([0, 1, 2, 3, 8])
    'lanes 0-3, 8'
    """
    ordered = sorted({int(lane) for lane in lanes})
    runs: list[list[int]] = []
    for lane in ordered:
        if runs and lane == runs[-1][-1] + 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    shown = ", ".join(texts[:4]) + (", ..." if len(texts) > 4 else "")
    return f"lane {shown}" if len(ordered) == 1 else f"lanes {shown}"


def threads_text(batch: Batch, threads: NDArray[Any], most: int = 4) -> str:
    """Threads of the batch for a sentence, warp by warp."""
    texts = []
    warps = np.unique(threads >> 5)
    for warp in warps[:most]:
        block = batch.grid.block_of(int(batch.numbers[warp * 32 // batch.block_lanes]))
        lanes = lanes_text((threads[threads >> 5 == warp] & 31).tolist())
        texts.append(f"block {block}, warp {warp * 32 % batch.block_lanes // 32}, {lanes}")
    more = f" and {len(warps) - most} more warps" if len(warps) > most else ""
    return " and ".join(texts) + more


@dataclass(frozen=True)
class Violation:
    """What a check finds wrong in some threads (indices into their batch); `what` is a sentence.

    In `what`, `{who}` stands for block, warp and lanes of the first warp affected, `{lanes}` for warp and
    lanes, `{s}` and `{es}` for the ending of a verb. The default remedy is that of the kind; `barrier` is the
    barrier that this remedy asks for.
    """

    kind: str
    instruction: PtxInstruction
    threads: NDArray[Any]
    what: str
    remedy: str = ""
    other: PtxInstruction | None = None
    space: str = ""
    addresses: tuple[int, int] | None = None
    barrier: Barrier = ""


def hazard_of(batch: Batch, violation: Violation) -> Hazard:
    """A violation as a hazard; block, warp and lanes are those of the first warp."""
    instruction, threads, other = violation.instruction, violation.threads, violation.other
    first = int(threads[0])
    return Hazard(
        kind=violation.kind,
        sentence=violation.what,
        line=instruction.source_line,
        text="",
        ptx_line=instruction.line,
        opcode=instruction.opcode,
        block=batch.grid.block_of(int(batch.numbers[first // batch.block_lanes])),
        warp=first % batch.block_lanes // 32,
        lanes=tuple(int(lane) for lane in np.unique(threads[threads // 32 == first // 32] % 32)),
        remedy=violation.remedy or KINDS[violation.kind].remedy,
        space=violation.space,
        addresses=violation.addresses,
        other_line=None if other is None else other.source_line,
        count=len(threads),
    )


# -- kinds of hazards, and the report that collects them -----------------------------------------------------


#: What `python -m tools.probe_hazards` counted on a GPU: kernels with and without a wait, fence or barrier.
PROBES = Path(__file__).with_name("hazard_probes.json")


@dataclass(frozen=True)
class HazardKind:
    """A class of hazards: what it means, its remedy, and the tool of compute-sanitizer that looks for it.

    `published` is the source that calls it wrong or, for a note, the code that relies on its being harmless;
    `seen` is what a GPU did where results cannot be counted. `found_in` are the modules that find it, below
    `ptxlab/simulator`.
    """

    name: str
    meaning: str
    remedy: str
    tool: str = ""
    grade: Grade = "hazard"
    published: str = "the PTX ISA leaves the result undefined"
    seen: str = ""
    found_in: tuple[str, ...] = ()

    @property
    def evidence(self) -> str:
        """How the grade is known: measured (where, how often), published (by whom)."""
        rows = [row for row in _probes().values() if row["kind"] == self.name]
        if not rows and self.seen:
            return f"measured: {self.seen}"
        if not rows:
            return f"published: {self.published}; not measured"
        counts = "; ".join(
            f"{row['left out']}: without it {_count(row['wrong'])} of {_count(row['total'])} results wrong, "
            f"with it {_count(row['wrong with it'])} of {_count(row['total with it'])}"
            for row in rows
        )
        return f"measured: {rows[0]['on'].removeprefix('NVIDIA ')}, {counts}. Published: {self.published}"


@cache
def _probes() -> dict[str, dict[str, Any]]:
    """The counts of `PROBES`, by probe."""
    rows: dict[str, dict[str, Any]] = json.loads(PROBES.read_text(encoding="utf-8"))
    return rows


def _count(number: int) -> str:
    """A number for a sentence.

    >>> _count(832), _count(54_000_000_000)
    ('832', '5.4e10')
    """
    return str(number) if number < 10_000 else f"{number:.1e}".replace("e+0", "e").replace("e+", "e")


_KINDS = (
    HazardKind(
        "out of bounds",
        "A thread reads or writes outside of an array, shared or local memory; this ends the simulation. Or "
        "it leaves one array in shared memory for another, and its address comes from the name of the first",
        "an index inside, or a larger array",
        "memcheck",
        published="the CUDA programming guide; a GPU ends such kernels, or other memory changes",
        found_in=("device_memory.py", "checks/shared_arrays.py"),
    ),
    HazardKind(
        "undefined behaviour",
        "A thread comes to a trap that the compiler put in place of code without defined behaviour, or to "
        "where it left out such code, or calls an address where no function begins, or writes to "
        "__constant__ memory, or passes a number of bytes that an asynchronous copy does not take; this ends "
        "the simulation",
        "a pointer to memory that may be accessed so, or to a function; a size that the copy takes",
        "memcheck",
        published="the C++ standard; a GPU ends such kernels. For numbers of bytes the PTX ISA, "
        '"cp.async", "cp.async.bulk", "cp.reduce.async.bulk"',
        found_in=("device_memory.py", "machine.py", "instructions/control.py"),
    ),
    HazardKind(
        "heap memory",
        "A thread reads or writes memory that malloc gave out and free took back, or bytes of the heap that "
        "malloc did not give out",
        "free memory after its last use; use an index inside",
        "memcheck",
        published="the CUDA programming guide, dynamic global memory allocation; a GPU does not notice",
        found_in=("checks/heap_memory.py",),
    ),
    HazardKind(
        "invalid free",
        "free is called with an address that malloc did not return, or that was freed before",
        "free once what malloc returned",
        "memcheck",
        published="the CUDA programming guide: the behaviour is undefined",
        found_in=("checks/heap_memory.py",),
    ),
    HazardKind(
        "heap memory kept",
        "Memory that malloc gave out is not freed by the end of the launch",
        "free it: a GPU keeps it for later launches",
        "memcheck, with --leak-check full",
        grade="note",
        published="the CUDA programming guide: it lives as long as the context, and later launches may use "
        "and free it",
        found_in=("checks/heap_memory.py",),
    ),
    HazardKind(
        "misaligned",
        "An address is not a multiple of what the access takes; this ends the simulation",
        "an address that is a multiple",
        "memcheck",
        published='the PTX ISA, "Addresses as Operands"; a GPU ends such kernels, but an H200 carries on '
        "after a cp.async with a src-size, and copies other bytes",
        found_in=("device_memory.py",),
    ),
    HazardKind(
        "race",
        "Two threads touch the same bytes of shared or global memory, at least one of them writes, and no "
        "barrier orders them; a load counts if its value matters",
        "__syncthreads(), __syncwarp(), a named barrier, an mbarrier, or atomic operations",
        "racecheck",
        published='the PTX ISA, "Memory Consistency Model", leaves the value undefined',
        found_in=("checks/race_detector.py",),
    ),
    HazardKind(
        "flag without acquire",
        "A thread reads a flag, and then what was written before the flag was raised, without a fence or "
        ".acquire between; it is a race instead where the cache of the SM may hold what was there before",
        "__threadfence() after the read of the flag, or ld.acquire",
        grade="note",
        published='the PTX ISA, "Causality order", asks for it; reductions often leave it out in the block '
        "that adds up last",
        found_in=("checks/race_detector.py",),
    ),
    HazardKind(
        "warp-synchronous code",
        "Lanes of a warp pass values through volatile memory without __syncwarp(): nothing says that they "
        "execute together",
        "__syncwarp() between the store and the load",
        "racecheck",
        grade="note",
        published="the CUDA programming guide, since Volta; reductions of before rely on it",
        found_in=("checks/race_detector.py",),
    ),
    HazardKind(
        "written constants",
        "ld.global.nc, which `__ldg()` and `const ... __restrict__` become, reads what the launch has "
        "written, and its cache need not see that",
        "an ordinary load: no __ldg(), and no const __restrict__ for an array that the kernel writes",
        published='the PTX ISA, "ld.global.nc": the memory must be read-only while the kernel runs',
        found_in=("checks/access_check.py",),
    ),
    HazardKind(
        "uninitialised memory",
        "A thread reads bytes of shared or local memory that nobody has written, and they matter",
        "write them first",
        "initcheck, for global memory",
        published="shared and local memory have no values at first",
        found_in=("checks/access_check.py", "checks/memory_spaces.py"),
    ),
    HazardKind(
        "uninitialised register",
        "An instruction computes with a register that the thread has not written, and the result matters",
        "write it on every path",
        published="registers have no values at first",
        found_in=("checks/doubtful_values.py",),
    ),
    HazardKind(
        "missing wait",
        "Data of cp.async, of a bulk copy or of TMA is touched before the copy is known to be complete, or "
        "tensor memory while tcgen05 may still be at work there",
        "cp.async.wait_group after cp.async.commit_group, or a wait for the mbarrier of the copy or of "
        "tcgen05.commit",
        "racecheck",
        published='the PTX ISA, "Asynchronous Operations"',
        found_in=("checks/race_detector.py", "checks/access_check.py", "checks/memory_spaces.py"),
    ),
    HazardKind(
        "missing proxy fence",
        "A bulk copy, TMA or wgmma reads shared memory that ordinary stores wrote, or a bulk copy overwrites "
        "global memory while ordinary loads of it may be under way, or TMA uses a tensor map that the kernel "
        "changed, without a fence between the proxies",
        "fence.proxy.async after the stores or loads: by every thread before the barrier, or after it by the "
        "thread that starts the copy; fence.proxy.tensormap after tensormap.replace",
        published='the PTX ISA, "Async proxy", asks for it, of bulk copies as well',
        found_in=("checks/proxy_fences.py", "checks/memory_spaces.py"),
    ),
    HazardKind(
        "cp.async without proxy fence",
        "wgmma or tcgen05.mma reads shared memory that cp.async wrote, after its wait and a barrier, without "
        "fence.proxy.async: PTX counts cp.async to the generic proxy",
        "fence.proxy.async after cp.async.wait_group, before the barrier",
        grade="note",
        published="Triton 3.6 leaves it out, for sm_90 and sm_100, Triton 3.8 puts it in; on "
        "Blackwell it is not measured",
        found_in=("checks/proxy_fences.py",),
    ),
    HazardKind(
        "own rows of A",
        "A warp writes its 16 rows of A in shared memory, and the warpgroup multiplies with no barrier of "
        "its warps between: PTX does not say which warp reads what",
        "a barrier of the warpgroup between the stores, with their fence.proxy.async, and wgmma",
        grade="note",
        published="flash-attention 3 has __syncwarp() alone there, since each warp uses its own rows",
        found_in=("checks/race_detector.py",),
    ),
    HazardKind(
        "mbarrier",
        "An mbarrier is used that was never initialised, or was invalidated, or gets more arrivals than its "
        "phase expects, which end the simulation; or it is initialised again, or by several warps, or its "
        "bytes are read or written as data, without mbarrier.inval",
        "mbarrier.init by one thread, once, and mbarrier.inval before its bytes are used otherwise",
        published='the PTX ISA, "Contents of the mbarrier object", "Lifecycle of the mbarrier object"',
        found_in=("checks/mbarrier_lives.py", "instructions/mbarrier_builders.py"),
    ),
    HazardKind(
        "mbarrier.init without fence",
        "A bulk copy or tcgen05.commit arrives at an mbarrier, and no fence came after its mbarrier.init; or "
        "a bulk copy overwrites what was an mbarrier, and none came after its mbarrier.inval",
        "fence.mbarrier_init.release.cluster, or fence.proxy.async, after mbarrier.init; fence.proxy.async "
        "after mbarrier.inval",
        grade="note",
        published="CUTLASS and the CUDA programming guide have the fence; cuda::memcpy_async of libcu++ and "
        "Triton 3.6 leave it out",
        found_in=("checks/proxy_fences.py",),
    ),
    HazardKind(
        "tcgen05.ld without wait",
        "Tensor memory is overwritten that a tcgen05.ld reads, and its warp has not executed "
        "tcgen05.wait::ld; that the same thread uses what was loaded needs no wait, and is none",
        "tcgen05.wait::ld after tcgen05.ld, before its columns are written again",
        grade="note",
        published='the PTX ISA, "Register dependencies, same thread", asks for it; CuTe DSL 4.8.1 and cuTile '
        "1.7 leave out the wait before the registers are used",
        found_in=("checks/memory_spaces.py",),
    ),
    HazardKind(
        "lanes of warp 0",
        "tcgen05.ld or tcgen05.st of another warp names lanes 0 to 31 of tensor memory; here each warp of a "
        "warpgroup has its own 32 lanes then",
        "the lanes of the warp in the address: add (warp % 4 * 32) << 16",
        grade="note",
        published='the PTX ISA, "Access restrictions", asks for it; DeepGEMM leaves it out for all warps',
        found_in=("checks/memory_spaces.py",),
    ),
    HazardKind(
        "the assembler's code",
        "Some assemblers make code of an instruction that computes another value than PTX says: a rotate of "
        "x << n minus x >> 64 - n, or of their sum with a signed right shift, in 64 bits; -1 of bfe.s32 at a "
        "constant position beyond 31",
        "another assembler, or -O0; the simulation has PTX's value, and the chip's with assembled=True",
        grade="note",
        published="github.com/garrick99/openptxas and github.com/SemiAnalysisAI/FuzzX",
        seen="H200, 19,311 of 28,224 sums wrong with ptxas 12.9, 13.0 and 13.2, none with 13.3, 13.4 or -O0; "
        "bfe.s32 with 13.0, 13.2 and 13.4",
        found_in=("checks/assembler_faults.py",),
    ),
    HazardKind(
        "tensor memory kept",
        "A block ends and has not freed all of the tensor memory that it allocated",
        "tcgen05.dealloc of every tcgen05.alloc, before the block ends",
        published='the PTX ISA, "tcgen05.alloc": all must be deallocated before the kernel exits',
        found_in=("checks/memory_spaces.py",),
    ),
    HazardKind(
        "wgmma registers",
        "Registers of a wgmma are touched while it may still run",
        "wgmma.commit_group and wgmma.wait_group first",
        published='the PTX ISA, "wgmma.wait_group"; an H200 reads the metadata late, too',
        found_in=("checks/register_check.py",),
    ),
    HazardKind(
        "missing wgmma.fence",
        "A wgmma uses registers that were computed after the last wgmma.fence, or there was none",
        "wgmma.fence before the first wgmma, and whenever other instructions have written its registers",
        published='the PTX ISA, "wgmma.fence"',
        found_in=("checks/register_check.py",),
    ),
    HazardKind(
        "absent block",
        "A thread uses shared memory of another block of its cluster, which may not have started, or may "
        "have ended",
        "barriers of the cluster before the first use and after the last",
        "racecheck",
        published="the CUDA programming guide, distributed shared memory",
        found_in=("checks/clusters.py",),
    ),
    HazardKind(
        "not atomic",
        "An atomic operation that an H200 does not have in shared memory of another block, where it loses "
        "updates: min, max, and, or, xor of 64 bits, add of f16x2 and bf16x2",
        "an operation of 32 bits, add of 64 bits, or a loop with atom.cas",
        published="ptxas makes a load and a store of it",
        seen="H200, updates are lost",
        found_in=("checks/clusters.py",),
    ),
    HazardKind(
        "narrow scope",
        "Blocks of a cluster synchronise through an mbarrier with scope .cta, which is for one block, or an "
        "arrival there names no scope, for which PTX takes .cta, and what was written before is read, or "
        "global memory that was read before is overwritten",
        ".release.cluster for the arrival, .acquire.cluster for the wait",
        published='the PTX ISA, "Scope": other threads need not see what was written before',
        found_in=("checks/race_detector.py", "checks/clusters.py"),
    ),
    HazardKind(
        "default scope",
        "A thread arrives at an mbarrier of another block and names no scope: PTX takes .cta; nothing is "
        "done behind it but to overwrite shared memory that was read before",
        ".release.cluster in the instruction",
        grade="note",
        published="CUTLASS's ClusterBarrier arrives so, to hand stages back, where nothing is read",
        found_in=("checks/clusters.py",),
    ),
    HazardKind(
        "divergent barrier",
        "Lanes of a warp reach a barrier for the whole warp at different places or times, or pass it by",
        "let all lanes of the warp reach the same barrier, or use barrier.sync without .aligned",
        "synccheck",
        published='the PTX ISA, "bar.sync", leaves the behaviour undefined',
        found_in=("checks/happens_before.py", "checks/register_check.py"),
    ),
    HazardKind(
        "deadlock",
        "Threads wait for a barrier, an mbarrier, lanes that never come, or a value that nobody writes; this "
        "ends the simulation",
        "let all arrive that are expected, and announce as many bytes as are copied",
        seen="H200, such kernels hang",
        found_in=("machine.py",),
    ),
    HazardKind(
        "lanes missing",
        "An .aligned instruction is executed without all lanes of its warp, a .sync one without lanes that "
        "its mask names, or setmaxnreg without all warps of its warpgroup",
        "let all lanes of the warp execute it; end the kernel for none of them before",
        published='the PTX ISA: .aligned and .sync ask for all lanes; "setmaxnreg" for all warps',
        found_in=("checks/register_check.py",),
    ),
    HazardKind(
        "not in the mask",
        "A lane executes a .sync instruction whose mask does not name it",
        "a mask with the bits of all lanes that execute the instruction",
        published="the PTX ISA leaves the behaviour undefined",
        found_in=("checks/register_check.py",),
    ),
)
#: The kinds of hazards, by name.
KINDS: dict[str, HazardKind] = {kind.name: kind for kind in _KINDS}

#: How a language spells what remedies name in CUDA C++ and PTX, where it has a name of its own.
SPELLINGS: dict[str, dict[str, str]] = {
    "CUDA C++": {},
    "PTX": {"__syncthreads()": "bar.sync 0", "__syncwarp()": "bar.warp.sync 0xffffffff"},
    "Triton": {"__syncthreads()": "tl.debug_barrier()", "__syncwarp()": "tl.debug_barrier()"},
    "Gluon": {
        "__syncthreads()": "gl.thread_barrier()",
        "__syncwarp()": "gl.thread_barrier()",
        "fence.proxy.async": "fence_async_shared()",
        "cp.async.commit_group": "async_copy.commit_group()",
        "cp.async.wait_group": "async_copy.wait_group()",
        "cp.async.bulk.commit_group and cp.async.bulk.wait_group.read": "tma.store_wait()",
        "cp.async.bulk.wait_group": "tma.store_wait()",
        "mbarrier.arrive.expect_tx": "mbarrier.expect()",
        "mbarrier.try_wait": "mbarrier.wait()",
        "wgmma.wait_group": "warpgroup_mma_wait()",
    },
    "Numba": {"__syncthreads()": "cuda.syncthreads()", "__syncwarp()": "cuda.syncwarp()"},
    "CuTe DSL": {
        "__syncthreads()": "cute.arch.sync_threads()",
        "__syncwarp()": "cute.arch.sync_warp()",
        "fence.proxy.async": "cute.arch.fence_view_async_shared()",
        "fence.mbarrier_init.release.cluster": "cute.arch.mbarrier_init_fence()",
        "cp.async.commit_group": "cute.arch.cp_async_commit_group()",
        "cp.async.wait_group": "cute.arch.cp_async_wait_group()",
        "cp.async.bulk.commit_group": "cute.arch.cp_async_bulk_commit_group()",
        "cp.async.bulk.wait_group": "cute.arch.cp_async_bulk_wait_group()",
        "cp.async.bulk.wait_group.read": "cute.arch.cp_async_bulk_wait_group(read=True)",
        "mbarrier.arrive.expect_tx": "cute.arch.mbarrier_arrive_and_expect_tx()",
        "mbarrier.try_wait": "cute.arch.mbarrier_wait()",
        "wgmma.fence": "warpgroup.fence()",
        "wgmma.commit_group": "warpgroup.commit_group()",
        "wgmma.wait_group": "warpgroup.wait_group()",
        "tcgen05.wait::ld.sync.aligned": "cute.arch.fence_view_async_tmem_load()",
    },
    "TileLang": {
        "__syncthreads()": "T.sync_threads()",
        "__syncwarp()": "T.sync_warp()",
        "fence.proxy.async": "T.fence_proxy_async()",
        "mbarrier.try_wait": "T.mbarrier_wait_parity()",
        "wgmma.wait_group": "T.wait_wgmma()",
    },
    "Warp": {
        "__syncthreads()": "__syncthreads() in a wp.func_native",
        "__syncwarp()": "__syncwarp() in a wp.func_native",
    },
}


def spelled(remedy: str, language: str) -> str:
    """A remedy in the words of a language.

    >>> spelled("put __syncthreads() between line 3 and line 4", "Numba")
    'put cuda.syncthreads() between line 3 and line 4'
    """
    for word, spelling in sorted(SPELLINGS[language].items(), key=lambda item: -len(item[0])):
        remedy = remedy.replace(word, spelling)
    return remedy


def line_text(instruction: PtxInstruction) -> str:
    """The line for a sentence, with the header or function that was inlined there."""
    if not instruction.has_line:
        return f"PTX line {instruction.line}"
    inlining = f" ({instruction.inlining})" if instruction.inlining else ""
    return f"line {instruction.source_line}{inlining}"


def line_name(instruction: PtxInstruction) -> str:
    """The line for a remedy, in the kernel's own file: with the line of the call instead of the header."""
    called = "" if instruction.call_line is None else f" (called in line {instruction.call_line})"
    return f"line {instruction.source_line}{called}" if instruction.has_line else line_text(instruction)


class HazardLog:
    """Collects hazards: one for each kind and pair of lines, with a count; or raises the first."""

    def __init__(
        self,
        source: str,
        raises: bool = False,
        shared: Sequence[tuple[str, int, int]] = (),
        is_ptx: bool = False,
        language: str = "CUDA C++",
        remark: str = "",
    ) -> None:
        self._remark = f" ({remark})" if remark else ""
        self._lines = lines_of(source)
        self._language = language  # of `SPELLINGS`
        self._is_ptx = is_ptx
        self._shared = shared  # names, addresses and sizes of variables
        self._raises = raises
        self._hazards: dict[tuple[Any, ...], Hazard] = {}
        self._barriers: dict[tuple[Any, ...], Barrier] = {}  # that the remedies of hazards ask for so far

    @property
    def findings(self) -> list[Hazard]:
        """Hazards and notes, by line."""
        return sorted(self._hazards.values(), key=lambda hazard: (hazard.line, hazard.ptx_line, hazard.kind))

    @property
    def hazards(self) -> list[Hazard]:
        """What can give wrong results, by line."""
        return [finding for finding in self.findings if finding.grade == "hazard"]

    @property
    def notes(self) -> list[Hazard]:
        """What PTX requires and hardware has not been seen to need, by line."""
        return [finding for finding in self.findings if finding.grade == "note"]

    def extend(self, findings: Sequence[Hazard]) -> None:
        """Add findings of other processes; those of the same kind and lines count together."""
        for hazard in findings:
            key = (hazard.kind, hazard.line, hazard.other_line)
            earlier = self._hazards.get(key)
            if earlier is not None:
                hazard = replace(earlier, count=earlier.count + hazard.count)
            self._hazards[key] = hazard

    def with_text(self, hazard: Hazard) -> Hazard:
        """The hazard with the text of its line, in the source or, for a kernel in PTX, in the PTX."""
        number = hazard.ptx_line if self._is_ptx else hazard.line
        if 0 < number <= len(self._lines):
            return replace(hazard, text=self._lines[number - 1].strip())
        return hazard

    def shared_bytes(self, first: int, last: int) -> str:
        """Bytes of shared memory for a sentence, with the name of their variable."""
        for name, start, size in self._shared:
            if start <= first and last < start + size:
                return f"shared bytes {first - start}..{last - start} of {name}"
        return f"shared bytes {first}..{last}"

    def add(self, batch: Batch, violation: Violation) -> None:
        """Add a violation in a batch; those of one kind and one pair of lines are one hazard."""
        kind, instruction = violation.kind, violation.instruction
        pair = (instruction, violation.other)
        key = (
            kind,
            tuple((involved.source_line, involved.call_line) for involved in pair if involved is not None),
        )
        earlier = self._hazards.get(key)
        if earlier is not None:
            earlier = replace(earlier, count=earlier.count + len(violation.threads))
            if not (self._barriers.get(key) == "warp" and violation.barrier == "block"):
                self._hazards[key] = earlier
                return  # otherwise it now concerns several warps: replace sentence and remedy
        self._barriers[key] = violation.barrier
        remedy = spelled(violation.remedy or KINDS[kind].remedy, self._language)
        hazard = hazard_of(batch, replace(violation, remedy=remedy))
        words = {"{lanes}": f"warp {hazard.warp}, {lanes_text(hazard.lanes)}", "{s}": "", "{es}": ""}
        words["{who}"] = f"block {hazard.block}, {words['{lanes}']}"
        if len(hazard.lanes) == 1:
            words |= {"{s}": "s", "{es}": "es"}
        what = violation.what
        for word, text in words.items():
            what = what.replace(word, text)
        sentence = f"{line_text(instruction)}: {what}; {hazard.remedy}{self._remark}"
        hazard = replace(self.with_text(hazard), sentence=sentence)
        if earlier is not None:
            hazard = replace(hazard, count=earlier.count)
        self._hazards[key] = hazard
        if self._raises and hazard.grade == "hazard":
            raise HazardError(sentence, hazard)
