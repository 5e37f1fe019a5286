"""Kernels with known faults, cheats among them, and correct ones: each gets the verdict in its first line.

The cheats are those that harnesses have been taken in by: results left in memory and constants for the one
size (Sakana AI's AI CUDA Engineer, 2025), lower precision and stale memory (KernelBench's, as
anthony-chaudhary/dos-kernel#107 lists them), cached results, lazy outputs and patched timers
(gpu-mode/reference-kernels#162).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ptxlab
from ptxlab.judging import candidate, judgement
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


def test_there_are_enough() -> None:
    first = [path.read_text().splitlines()[0] for path in KERNELS]
    assert sum(": clean" in line for line in first) >= 10
    assert sum(": clean" not in line for line in first) >= 30
    assert sum(path.stem.startswith("cheat") for path in KERNELS) >= 6
