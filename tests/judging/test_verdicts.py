"""Kernels with known faults, cheats among them, and correct ones: each gets the verdict in its first line.

The cheats are those that harnesses have been taken in by: results left in memory and constants for the one
size (Sakana AI's AI CUDA Engineer, 2025), lower precision and stale memory (KernelBench's, as
anthony-chaudhary/dos-kernel#107 lists them), cached results, lazy outputs and patched timers
(gpu-mode/reference-kernels#162).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ptxlab
from ptxlab.judging import candidate, judgement, launches
from ptxlab.judging.sandbox import Ended

from ..cases import each
from .tasks import TASKS

pytestmark = pytest.mark.needs("cuda.core")
KERNELS = sorted((Path(__file__).parent / "kernels").glob("*.cu"))


def here(
    folder: Path, settings: dict[str, Any], *_: Any, watch: Callable[[], None] = lambda: None, **__: Any
) -> Ended:
    """The candidate's part in this process, which saves three seconds for each kernel."""
    plain = json.loads(json.dumps(settings | {"profile": None}))
    candidate.main({**plain, "folder": str(folder), "confined": []})
    return Ended(0, "", "")


@each("path", lambda: KERNELS, ids=lambda path: path.stem)
def test_verdict(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, status, words = (path.read_text().splitlines()[0].removeprefix("// ") + ": ").split(": ")[:3]
    monkeypatch.setattr(judgement, "run_confined", here)
    verdict = ptxlab.judge(path, task=TASKS[task])
    assert verdict.status == status, verdict
    assert words in verdict.reason
    assert bool(verdict) == (status == "clean")


def test_a_kernel_as_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs are the arrays that it writes; a difference has no bound, so nobody says that it is wrong."""
    monkeypatch.setattr(judgement, "run_confined", here)
    source = (KERNELS[0].parent / "saxpy.cu").read_text()
    task = replace(TASKS["saxpy"], reference=ptxlab.kernel(source))
    assert ptxlab.judge(source.replace("a * x[i] + y[i]", "y[i] + x[i] * a"), task=task)
    verdict = ptxlab.judge(source.replace("a * x", "a * x[0] + x"), task=task)
    assert verdict.status == "incomplete" and "z[0] is " in verdict.reason and "tolerance" in verdict.reason
    verdict = ptxlab.judge(source, task=replace(task, tolerance=1e-6))
    assert verdict
    assert "saxpy is clean" in str(verdict._repr_html_()) and "launched: 16 times" in str(
        verdict._repr_html_()
    )


@each(
    "what, status, words",
    [
        ("y[i] = fmaxf(x[i], 0)", "wrong", "should be nan"),
        ("y[i] = x[i] > 0 || x[i] != x[i] ? x[i] : 0", "clean", ""),
        ("y[i] = 1 / (x[i] - x[i])", "wrong", "should be"),
    ],
)
def test_nan_where_the_reference_defines_it(
    what: str, status: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """np.maximum keeps NaN, and fmaxf drops it."""
    monkeypatch.setattr(judgement, "run_confined", here)
    task = replace(TASKS["relu"], nan=True)
    source = f"__global__ void relu(const float* x, float* y) {{ int i = threadIdx.x; {what}; }}"
    verdict = ptxlab.judge(source, task=task)
    assert verdict.status == status and words in verdict.reason, verdict


def test_a_quotient_by_what_may_be_zero_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgement, "run_confined", here)
    task = replace(TASKS["relu"], reference=lambda x: 1 / (x * 3 - x * (3 - 2.0**-24)), inputs="given")
    source = "__global__ void f(const float* x, float* y) { int i = threadIdx.x; y[i] = x[i]; }"
    verdict = ptxlab.judge(source, task=task)
    assert verdict.status == "incomplete" and "may be 0" in verdict.reason


_MMA = """__global__ void decide(const unsigned* x, float* y) {
    float d[4];
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4}, {%4}, {%5, %5, %5, %5};"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(x[threadIdx.x]), "f"(0.0f));
    WHAT
}"""


@each(
    "what, words",
    [
        ("if (d[0] > 1) while (y[0] < 5) y[0] += 1;", "decides the branch"),
        ("y[static_cast<int>(d[0])] = 1;", "makes the address"),
        ("y[threadIdx.x] = d[0] > 1 ? d[1] : d[2];", ""),
    ],
)
def test_assumed_arithmetic_that_decides(what: str, words: str) -> None:
    kernel = ptxlab.kernel(_MMA.replace("WHAT", what))
    opcode = next(ins.opcode for ins in kernel.module.instructions if ins.opcode.startswith("mma"))
    assert not launches.decided_by_assumed(kernel, {opcode: "measured"})
    found = launches.decided_by_assumed(kernel, {opcode: "assumed"})
    assert words in " ".join(found) and bool(found) == bool(words)


def test_there_are_enough() -> None:
    first = [path.read_text().splitlines()[0] for path in KERNELS]
    assert sum(": clean" in line for line in first) >= 10
    assert sum(": clean" not in line for line in first) >= 30
    assert sum(path.stem.startswith("cheat") for path in KERNELS) >= 6
