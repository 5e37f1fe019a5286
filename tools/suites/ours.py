"""The kernels of this project that are right: nothing may be reported about them.

Those of tests/kernels, the fixed hazards and probes, PTX of other compilers, the GEMM kernels, attention,
sparse products, and what the lessons and right answers to them simulate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

import ptxlab
from ptxlab import PtxlabError, gemm, lessons
from ptxlab.course.exercises import attention as attention_lesson
from ptxlab.course.exercises import epilogue, mbarriers
from ptxlab.gemm.sparse import sparse_rung
from ptxlab.simulator import HazardError
from ptxlab.simulator.kernel import Kernel
from tests.adapters.test_recorded import CASES as RECORDED
from tests.adapters.test_recorded import FOLDER
from tests.course import RIGHT
from tests.gemm.test_attention import problem as attention_problem
from tests.gemm.test_gemm import CASES as RUNGS
from tests.gemm.test_gemm import problem as gemm_problem
from tests.simulator import hazard_cases, test_published_hazards
from tests.simulator.kernel_cases import CASES as KERNELS
from tools import probe_hazards

from .runs import Run

SUITE = "ptxlab"
_SPARSE = {
    "mma.sp": ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", {"stages": 2}),
    "wgmma.sp": (
        "wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16",
        {"tiles_m": 1, "stages": 3, "cluster": 2},
    ),
}


def runs(words: str = "") -> Iterator[Run]:
    """One for each launch, so that a program with several has several."""
    for name, program in _programs():
        if words in name:
            yield from _launches(name, program)


def _launches(name: str, program: Callable[[], Any]) -> list[Run]:
    """What is said of every launch of a program."""
    launched: list[Run] = []
    simulate = Kernel.simulate

    def recorded(kernel: Any, *arguments: Any, **options: Any) -> Any:
        outcome: list[Any] = []

        def run() -> Any:
            try:
                outcome.append(simulate(kernel, *arguments, **options))
            except PtxlabError as error:
                outcome.append(error)
                raise
            return outcome[0]

        launched.append(Run(SUITE, f"{name}: {kernel.title}", "").do(run))
        if isinstance(outcome[0], PtxlabError):
            raise outcome[0]
        return outcome[0]

    with mock.patch.object(Kernel, "simulate", recorded):
        try:
            program()
        except PtxlabError as error:
            if not isinstance(error, HazardError) and not (launched and launched[-1].refusal):
                launched.append(Run(SUITE, name, "", refusal=str(error)))
    return launched


def _programs() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in KERNELS:
        yield f"tests/kernels {name}", partial(_kernel, name)
    for name in hazard_cases.HAZARDS:
        yield f"hazards, fixed {name}", partial(_fixed, name)
    for name in test_published_hazards.CASES:
        yield f"published, fixed {name}", partial(test_published_hazards.simulated, name, True)
    for name in probe_hazards.KIND_OF:
        yield f"probes, fixed {name}", partial(_probe, name)
    for name in sorted(RECORDED):
        yield f"tests/adapters {name}", partial(_recorded, name)
    for number, form, constants, size in RUNGS:
        yield f"gemm {number} {form or ''}", partial(_rung, number, form, constants, size)
    for name, (form, constants) in _SPARSE.items():
        yield f"sparse {name}", partial(_sparse, form, constants)
    for number, constants in attention_lesson.SMALL.items():
        yield f"attention {number}", partial(_attention, number, constants)
    yield "lesson epilogue", epilogue.compared
    for stages, tiles in ((1, 3), (2, 5), (3, 7)):
        whole = partial(mbarriers.recorded, mbarriers.WHOLE_RING, stages, tiles)
        yield f"lesson mbarriers {stages} {tiles}", whole
    for name, answers in RIGHT.items():
        for number, answer in enumerate(answers):
            if isinstance(answer, str) and ";" in answer:
                yield f"answer {name} {number}", partial(lessons.exercise(name).check, answer)


def _kernel(name: str) -> Any:
    case = KERNELS[name]
    return case.compiled().simulate(case.grid, case.block, *case.inputs(), shared=case.shared, show=False)


def _fixed(name: str) -> Any:
    grid, block, arguments, shared = hazard_cases.launch_of(name)
    return hazard_cases.variant(name, True).simulate(grid, block, *arguments, shared=shared, show=False)


def _probe(name: str) -> Any:
    return probe_hazards.kernel(name, True).simulate(2, 128, *probe_hazards.arguments(2, 2), show=False)


def _recorded(name: str) -> Any:
    case = RECORDED[name]
    kernel = ptxlab.kernel((FOLDER / f"{name}.ptx").read_text(encoding="utf-8"))
    return kernel.simulate(case.grid, case.block, *case.arguments(), shared=case.shared, show=False)


def _rung(number: int, form: str | None, constants: dict[str, Any], size: tuple[int, int, int]) -> Any:
    rung = gemm.rung(number, form, **constants)
    a, b, _ = gemm_problem(rung.form, *size)
    return rung.simulate(a, b, processors=4)


def _sparse(form: str, constants: dict[str, Any]) -> Any:
    rng = np.random.default_rng(3)
    left, right = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((70, 160), (160, 70)))
    left[:, ::2] = 0  # 2:4
    rung = sparse_rung(form, block_m=64, block_n=64, **constants)
    return rung.simulate(left, right, processors=2, show=False)


def _attention(number: int, constants: dict[str, int]) -> Any:
    made = gemm.attention(number, **constants)
    return made.simulate(*attention_problem(1, 64 if number == 1 else 128, made.head))
