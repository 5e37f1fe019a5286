"""Each wait, fence and barrier is deleted in turn from kernels that are right: a hazard or a note says so.

What is not needed, and so not missed, is in a table with the reason.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gemm
from ptxlab.simulator.events import Observer
from ptxlab.simulator.launch_threads import Threads
from ptxlab.simulator.ptx.syntax import PtxInstruction
from tests.adapters.test_recorded import CASES as RECORDED
from tests.adapters.test_recorded import FOLDER
from tests.cases import each
from tests.gemm.test_attention import problem as attention_problem
from tests.gemm.test_gemm import problem as gemm_problem
from tests.sampling import one_in

from .kernel_cases import CASES as KERNELS

_SYNCHRONISING = re.compile(
    r"(bar|barrier)(\.warp)?\.sync|bar\.arrive|barrier\.cluster|fence|membar"
    r"|(cp\.async|cp\.async\.bulk)\.(commit_group|wait_group|wait_all)|cp\.async\.mbarrier"
    r"|wgmma\.(fence|commit_group|wait_group)|mbarrier\.(try_wait|test_wait)|tcgen05\.(wait|commit|fence)"
)


class _Executed(Observer):
    """Which lines of the PTX are executed."""

    def __init__(self) -> None:
        self.lines: set[int] = set()

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        self.lines.add(instruction.line)


class Launch(NamedTuple):
    """A kernel that is right, as PTX, and how it is launched."""

    ptx: str
    name: str
    grid: Any
    block: Any
    arguments: list[Any]
    shared: int = 0

    def findings(self, ptx: str, *observers: Observer) -> set[tuple[str, int]]:
        """Kinds and lines of what is reported about the kernel, or a variant; an error is one."""
        kernel = ptxlab.kernel(ptx, self.name)
        arguments = copy.deepcopy(self.arguments)
        try:
            result = kernel.simulate(
                self.grid, self.block, *arguments, shared=self.shared, show=False, observers=observers
            )
        except PtxlabError:
            return {("error", 0)}
        return {(report.kind, report.ptx_line) for report in (*result.hazards, *result.notes)}


def _recorded(name: str) -> Launch:
    case = RECORDED[name]
    arguments, grid = case.arguments(), case.grid
    if name == "matmul":  # so many tiles along K that every stage comes again
        a, b = (np.ones(shape, np.float16) for shape in ((64, 320), (320, 64)))
        arguments = [a, b, arguments[2], 64, 320, None, None]
    if name == "locked_sum":
        grid = (2,)
    ptx = (FOLDER / f"{name}.ptx").read_text(encoding="utf-8")
    entry = ptxlab.kernel(ptx).name
    return Launch(ptx, entry, grid, case.block, arguments, case.shared)


def _kernel(name: str) -> Launch:
    case = KERNELS[name]
    compiled = case.compiled()
    arguments = case.arguments(np.random.default_rng(1))
    return Launch(compiled.ptx, compiled.name, case.grid, case.block, arguments, case.shared)


def _rung(number: int, m: int, n: int, k: int, **constants: int) -> Launch:
    rung = gemm.rung(number, None, **constants)
    A, B, _ = gemm_problem(rung.form, m, n, k)
    call = rung.call(A, B, processors=2)
    return Launch(rung.kernel.ptx, rung.kernel.name, call.grid, call.block, list(call.arguments), call.shared)


def _attention(number: int, **constants: int) -> Launch:
    made = gemm.attention(number, **constants)
    grid, arguments, _ = made._call(*attention_problem(1, 128, made.head))
    return Launch(made.kernel.ptx, made.kernel.name, grid, made.threads, list(arguments), made.shared)


LAUNCHES: dict[str, Callable[[], Launch]] = {}
for _name in ("softmax", "matmul", "locked_sum", "cute_copy", "tilelang_product"):
    LAUNCHES[_name] = lambda name=_name: _recorded(name)  # type: ignore[misc]
for _name in (
    "flag_between_warps", "last_block", "spin_lock", "neighbours", "ring", "multicast", "async_pipeline",
    "zero_fill", "bulk_copy", "bulk_reduce", "mbarrier_pipeline", "gemm_wgmma_tma", "gemm_mma_swizzled",
    "tma_transform", "grouped_maps",
):  # fmt: skip
    LAUNCHES[_name] = lambda name=_name: _kernel(name)  # type: ignore[misc]
LAUNCHES["rung 5"] = lambda: _rung(5, 30, 34, 140, block_m=32, block_n=32, stages=2)
LAUNCHES["rung 12"] = lambda: _rung(12, 150, 37, 150, block_m=64, block_n=32, stages=2)
LAUNCHES["attention 4"] = lambda: _attention(4, head=64, block_n=32, stages=2)

_FIRST_TIME = "the stages are free when they are filled for the first time"
_SAME_ACCUMULATORS = "nothing but wgmma of the same shape has touched the accumulators since the last one"
#: PTX asks for the fence; an H200 was not seen to need it (hazards.md): 0 of 3.0e10 and of 1.1e11 wrong.
_VOLATILE = "the data are volatile as well: no race, and the order of such accesses is not followed"
#: Kernel -> beginnings of opcodes that are not missed, how many of them at most, and why.
NOT_NEEDED: dict[str, dict[str, tuple[int, str]]] = {
    "matmul": {
        "cp.async.commit_group": (1, "its copies join the next group, for which the same instruction waits"),
        "bar.sync": (
            2,
            "before the first loads; after wgmma.wait_group, which is for all of the only warpgroup",
        ),
    },
    "locked_sum": {"bar.sync": (2, "only thread 0 uses what all load, and it wrote that itself")},
    "flag_between_warps": {"membar": (2, _VOLATILE), "bar.warp.sync": (1, _VOLATILE)},
    "last_block": {"bar.sync": (1, "there is one warp, and only the thread that wrote the value uses it")},
    "spin_lock": {"membar": (2, _VOLATILE)},
    "ring": {"barrier.cluster": (1, "at the end: each block has waited for all that is sent to it")},
    "multicast": {"barrier.cluster": (1, "at the end: each block has waited for all that is sent to it")},
    "async_pipeline": {"cp.async.commit_group": (1, "the last group, for which nobody waits")},
    "mbarrier_pipeline": {"mbarrier.try_wait": (2, _FIRST_TIME)},
    "gemm_wgmma_tma": {
        "mbarrier.try_wait": (2, _FIRST_TIME),
        "wgmma.fence": (1, _SAME_ACCUMULATORS),
    },
    "tilelang_product": {
        "mbarrier.try_wait": (2, _FIRST_TIME),
        "wgmma.fence": (2, _SAME_ACCUMULATORS),
        "wgmma.commit_group": (
            1,
            "of the second step: its stage is not filled again, and the next waits for it",
        ),
        "wgmma.wait_group": (
            1,
            "of the second step: its stage is not filled again, and the next waits for it",
        ),
    },
    "grouped_maps": {"bar.warp.sync": (2, "tensormap.cp_fenceproxy waits for all lanes; at the end")},
    "rung 12": {
        "wgmma.fence": (1, _SAME_ACCUMULATORS),
        "bar.warp.sync": (1, "lanes of a warp come to a barrier together"),
    },
}


def deletions(launch: Launch, lines: set[int]) -> Iterator[tuple[str, str]]:
    """Opcodes in these lines that order or wait, and the PTX without each; waits become predicates that hold.

    Both halves of a barrier of a cluster go together.
    """
    text = launch.ptx.splitlines()
    function = ptxlab.kernel(launch.ptx, launch.name).function
    chosen = [one for one in function.instructions if _SYNCHRONISING.match(one.opcode) and one.line in lines]
    for number, instruction in enumerate(chosen):
        deleted = [instruction]
        if instruction.opcode.startswith("barrier.cluster"):
            if "wait" in instruction.opcode:
                continue
            deleted.append(next(later for later in chosen[number:] if "wait" in later.opcode))
        changed = list(text)
        for unwanted in deleted:
            line = changed[unwanted.line - 1]
            match = re.search(rf"(@!?%?\w+\s+)?{re.escape(unwanted.opcode)}\b\s*([^;]*);", line)
            assert match is not None, line
            instead = ""
            if unwanted.opcode.startswith("mbarrier"):
                instead = f"setp.eq.u32 {match[2].split(',')[0]}, 0, 0;"
            changed[unwanted.line - 1] = line[: match.start()] + instead + line[match.end() :]
        yield instruction.opcode, "\n".join(changed)


@pytest.mark.slow
@each("name", LAUNCHES)
def test_what_is_deleted_is_missed(name: str) -> None:
    launch, run = LAUNCHES[name](), _Executed()
    before = launch.findings(launch.ptx, run)
    cases = list(deletions(launch, run.lines))
    unnoticed = [
        opcode for opcode, ptx in one_in(1 + len(cases) // 2, cases) if not launch.findings(ptx) - before
    ]
    assert cases
    for beginning, (most, _) in NOT_NEEDED.get(name, {}).items():
        ours = [opcode for opcode in unnoticed if opcode.startswith(beginning)]
        assert len(ours) <= most, ours
        unnoticed = [opcode for opcode in unnoticed if opcode not in ours]
    assert unnoticed == []
