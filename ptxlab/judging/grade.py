"""Points for a submission, as grading services take them: what an autograder of `ptxlab grader` runs.

    python -m ptxlab.judging.grade gradescope SUBMISSION TASK RESULTS.json --points 10
    python -m ptxlab.judging.grade classroom SUBMISSION TASK --part hidden

A submission that is wrong at hidden sizes only has the points for the public ones. A verdict that asks for a
person ("review") gives the points and says so. No text names a hidden size.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._util.files import write_atomically
from ..errors import PtxlabError, listing, quoted
from .judgement import judge
from .task import Task
from .verdict import Verdict

HIDDEN_SIZES = "PTXLAB_HIDDEN_SIZES"  # in the environment: JSON, for services that show students the task
_SUFFIXES = (".cu", ".ptx", ".py")


@dataclass(frozen=True)
class Part:
    """One row of a grade: the public or the hidden sizes, with its points and the feedback."""

    title: str
    points: float
    score: float
    feedback: str
    verdict: Verdict | None = None


def parts_of(task: Task, points: float) -> dict[str, float]:
    """The points of each part: all for the public sizes, or half where there are hidden ones."""
    return {"public": points / 2, "hidden": points / 2} if task.hidden_sizes else {"public": points}


def graded(candidate: str | Path, task: Task, points: float, seconds: float = 60) -> list[Part]:
    """The parts of a submission's grade.

    >>> import numpy as np
    >>> def arguments(size, seed):
    ...     return {"x": np.arange(size, dtype="f4"), "y": np.zeros(size, "f4")}
    >>> task = Task("double", lambda x: 2 * x, arguments, sizes=(32,), hidden_sizes=(64,))
    >>> source = "__global__ void twice(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }"
    >>> [(part.title, part.score, part.points) for part in graded(source, task, 10)]
    [('public sizes', 0.0, 5.0), ('hidden sizes', 0.0, 5.0)]
    """
    verdict = judge(candidate, task=task, seconds=seconds)
    passed = verdict.status in ("clean", "review")
    feedback = f"{verdict.status}: {verdict.public().reason}"
    if verdict.status == "review":
        feedback += " (it has the points; a person will look at it)"
    parts = []
    for name, worth in parts_of(task, points).items():
        has_points, text = passed, feedback
        if name == "public" and verdict.only_hidden:
            has_points, text = True, "right at the public sizes"
        if name == "hidden" and not passed and not verdict.only_hidden:
            text = "first make it right at the public sizes"
        parts.append(Part(f"{name} sizes", worth, worth if has_points else 0.0, text, verdict))
    return parts


def submitted(folder: str | Path, name: str | None = None) -> Path:
    """The file of a submission: the one of this name, or the only one that can be judged."""
    files = sorted(file for file in Path(folder).rglob("*") if file.suffix in _SUFFIXES and file.is_file())
    found = [file for file in files if name is None or file.name == name]
    if len(found) != 1:
        have = listing([str(file.relative_to(folder)) for file in files], 8) if files else "no such file"
        wanted = f"a file {name}" if name else f"one file {' or '.join(_SUFFIXES)}"
        raise PtxlabError(f"the submission should have {wanted}; it has {have}")
    return found[0]


def gradescope(folder: Path, task: Task, points: float, name: str | None, seconds: float) -> dict[str, Any]:
    """The results of a submission in the form that Gradescope reads from results.json."""
    began = time.monotonic()
    try:
        parts = graded(submitted(folder, name), task, points, seconds)
    except PtxlabError as error:
        parts = [Part("submission", points, 0.0, str(error))]
    last = parts[-1].verdict
    results: dict[str, Any] = {
        "execution_time": round(time.monotonic() - began),
        "stdout_visibility": "hidden",
        "tests": [
            {
                "name": part.title, "score": part.score, "max_score": part.points, "output": part.feedback,
                "status": "passed" if part.score else "failed", "visibility": "visible",
            }
            for part in parts
        ],
    }  # fmt: skip
    if last is not None and last.correct and last.evidence.microseconds is not None:
        time_on = f"predicted µs on {task.chip}"
        row = {"name": time_on, "value": round(last.evidence.microseconds, 2), "order": "asc"}
        results["leaderboard"] = [row]
    return results


def with_hidden_sizes(task: Task) -> Task:
    """The task with the hidden sizes that the environment has."""
    text = os.environ.get(HIDDEN_SIZES)
    if not text:
        return task
    try:
        sizes = json.loads(text)
        assert isinstance(sizes, list)
    except (ValueError, AssertionError):
        raise PtxlabError(
            f"{HIDDEN_SIZES}={quoted(text)}: it is a list in JSON, such as [257, 1031]"
        ) from None
    return replace(task, hidden_sizes=tuple(sizes))


def main(words: list[str] | None = None) -> int:
    """Grade a submission; the exit status says whether a part of it has its points."""
    parser = argparse.ArgumentParser(prog="python -m ptxlab.judging.grade", description=__doc__)
    parser.add_argument("service", choices=["gradescope", "classroom"])
    parser.add_argument("submission", type=Path)
    parser.add_argument("task", type=Path)
    parser.add_argument("results", type=Path, nargs="?")
    parser.add_argument("--points", type=float, default=10.0)
    parser.add_argument("--file", help="name of the file that students hand in")
    parser.add_argument("--part", choices=["public", "hidden"], default="public")
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args(words)
    try:
        task = with_hidden_sizes(Task.read(arguments.task))
        if arguments.service == "gradescope":
            file, points = arguments.file, arguments.points
            results = gradescope(arguments.submission, task, points, file, arguments.seconds)
            write_atomically(arguments.results, json.dumps(results, indent=1))
            return 0
        if arguments.part == "hidden" and not task.hidden_sizes:
            raise PtxlabError(f"{HIDDEN_SIZES} is not set: the hidden sizes were not judged")
        if arguments.part == "public":
            task = replace(task, hidden_sizes=())
        part = graded(submitted(arguments.submission, arguments.file), task, 1, arguments.seconds)[-1]
    except PtxlabError as error:
        print(error, file=sys.stderr)
        return 1
    print(part.feedback)
    return 0 if part.score else 1


if __name__ == "__main__":
    sys.exit(main())
