"""The command `grader`: what Gradescope, GitHub Classroom, Otter or nbgrader need to grade a task.

Hidden sizes stand only in files that students never get: of `task.toml`, they get a copy without them.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from .._util.arguments import as_path
from .._util.files import write_atomically
from ..errors import PtxlabError, quoted
from ..judging import Task
from ..judging.grade import HIDDEN_SIZES, parts_of
from . import output
from .output import Style

_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "*.pyc")


def grader(
    style: Style,
    task: Annotated[str, "the folder of a task"],
    *,
    service: Annotated[
        Literal["gradescope", "classroom", "otter", "nbgrader"], "what grades", "SERVICE", "--for"
    ] = "gradescope",
    folder: Annotated[str, "where it is written (default: grader)", "FOLDER", "-o"] = "grader",
    points: Annotated[int, "for a clean submission (default: 10)", "N"] = 10,
    file: Annotated[str | None, "name of the file that students hand in", "NAME"] = None,
) -> int:
    """Write an autograder. Where there are hidden sizes, half of the points are for the public ones.

    examples:
      ptxlab grader saxpy --for gradescope -o saxpy-grader
      ptxlab grader saxpy --for classroom -o assignment --points 20 --file saxpy.cu
    """
    read = Task.read(task)
    least = len(parts_of(read, points))
    if points < least:
        raise PtxlabError(f"--points {points}: {read.name} takes at least {least}, one for each part of it")
    if file is not None and (not re.fullmatch(r"[\w.-]+\.(cu|ptx|py)", file) or file.startswith("-")):
        raise PtxlabError(f"--file {quoted(file)}: it is a name such as kernel.cu or submission.py")
    name = file or ("submission.py" if read.language == "python" else "kernel.cu")
    order = Order(read, as_path(task, "task"), as_path(folder, "-o"), points, name)
    output.write("\n".join(WRITERS[service](order)))
    return 0


@dataclass(frozen=True)
class Order:
    """What is asked for: the task and its files, where the grader goes, points, the submission's name."""

    task: Task
    source: Path
    folder: Path
    points: int
    file: str

    @property
    def slug(self) -> str:
        return re.sub(r"\W+", "_", self.task.name).strip("_").lower() or "kernel"

    def copy_task(self, to: Path, *, hidden: bool) -> None:
        """Copy the task's files; without `hidden`, nothing of the hidden sizes."""
        if to.exists():
            shutil.rmtree(to)
        if self.source.is_file():
            to.mkdir(parents=True)
            shutil.copy(self.source, to)
        else:
            shutil.copytree(self.source, to, ignore=_LEFT_OUT)
        settings = to / "task.toml"
        if not hidden and settings.is_file():
            write_atomically(settings, without_key(settings.read_text(encoding="utf-8"), "hidden_sizes"))


def without_key(text: str, key: str) -> str:
    """TOML without a key of its first table, whatever lines its value has.

    >>> without_key("sizes = [1]\\nhidden_sizes = [\\n  2,\\n  3,\\n]\\nbudget_us = 4.0\\n", "hidden_sizes")
    'sizes = [1]\\nbudget_us = 4.0\\n'
    """
    lines = text.splitlines(keepends=True)
    wanted = {name: value for name, value in tomllib.loads(text).items() if name != key}
    for start, line in enumerate(lines):
        if re.match(rf"\s*[\"']?{key}[\"']?\s*=", line):
            for end in range(start + 1, len(lines) + 1):
                rest = "".join(lines[:start] + lines[end:])
                try:
                    if tomllib.loads(rest) == wanted:
                        return rest
                except tomllib.TOMLDecodeError:
                    continue
    if key in tomllib.loads(text):
        raise PtxlabError(
            f"task.toml: write {key} on lines of its own, so that students' copy can be without"
        )
    return text


# -- Gradescope --------------------------------------------------------------------------------------------

_SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, as root, when the autograder is built.
set -e
apt-get update && apt-get install -y --no-install-recommends python3-pip
pip3 install uv
uv venv --python 3.12 /autograder/venv
# a wheel of ptxlab beside this file is taken in place of the package index
wheel=$(ls /autograder/source/ptxlab-*.whl 2>/dev/null | head -1)
uv pip install --python /autograder/venv/bin/python "${wheel:-ptxlab}[clang]"
"""
_RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for every submission.
root="${{AUTOGRADER_ROOT:-/autograder}}"
"${{PTXLAB_PYTHON:-$root/venv/bin/python}}" -m ptxlab.judging.grade gradescope \\
  "$root/submission" "$root/source/{task}" "$root/results/results.json" --points {points} --file {file}
"""


def _gradescope(order: Order) -> list[str]:
    """A zip: setup.sh, run_autograder and the task. Students see neither."""
    staged = order.folder / f"{order.slug}-autograder"
    order.copy_task(staged / "task", hidden=True)
    name = f"task/{order.source.name}" if order.source.is_file() else "task"
    write_atomically(staged / "setup.sh", _SETUP)
    write_atomically(staged / "run_autograder", _RUN.format(task=name, points=order.points, file=order.file))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(staged.rglob("*")):
            if path.is_file():
                row = zipfile.ZipInfo(path.relative_to(staged).as_posix(), (1980, 1, 1, 0, 0, 0))
                row.external_attr = (0o755 if path.name in ("setup.sh", "run_autograder") else 0o644) << 16
                archive.writestr(row, path.read_bytes(), zipfile.ZIP_DEFLATED)
    shutil.rmtree(staged)
    file = order.folder / f"{order.slug}-autograder.zip"
    write_atomically(file, content.getvalue())
    return [f"{file}: upload it as the assignment's autograder; students hand in {order.file}"]


# -- GitHub Classroom --------------------------------------------------------------------------------------

_WORKFLOW = """\
name: Autograding Tests
on: [push, repository_dispatch]
permissions:
  checks: write
  actions: read
  contents: read
jobs:
  run-autograding-tests:
    runs-on: ubuntu-latest
    if: github.actor != 'github-classroom[bot]'
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install "ptxlab[clang]"
{steps}      - name: Autograding Reporter
        uses: classroom-resources/autograding-grading-reporter@v1
        env:
{results}        with:
          runners: {runners}
"""
_STEP = """\
      - name: {part} sizes
        id: {part}
        uses: classroom-resources/autograding-command-grader@v1
{environment}        with:
          test-name: {part} sizes
          setup-command: ""
          command: python -m ptxlab.judging.grade classroom . {task} --file {file} --part {part}
          timeout: 10
          max-score: {points}
"""


def _classroom(order: Order) -> list[str]:
    """The files of the assignment's repository, and the secret that has the hidden sizes."""
    repository = order.folder / "repository"
    order.copy_task(repository / "task", hidden=False)
    name = f"task/{order.source.name}" if order.source.is_file() else "task"
    parts = parts_of(order.task, order.points)
    secret = f"        env:\n          {HIDDEN_SIZES}: ${{{{ secrets.{HIDDEN_SIZES} }}}}\n"
    steps = [
        _STEP.format(
            part=part, task=name, file=order.file, points=f"{points:g}",
            environment=secret if part == "hidden" else "",
        )
        for part, points in parts.items()
    ]  # fmt: skip
    results = [
        f'          {part.upper()}_RESULTS: "${{{{steps.{part}.outputs.result}}}}"\n' for part in parts
    ]
    workflow = _WORKFLOW.format(steps="".join(steps), results="".join(results), runners=",".join(parts))
    write_atomically(repository / ".github" / "workflows" / "classroom.yml", workflow)
    said = [f"{repository}: the files of the assignment's template repository; students write {order.file}"]
    if order.task.hidden_sizes:
        write_atomically(order.folder / "hidden_sizes.json", json.dumps(order.task.hidden_sizes))
        said.append(f"{order.folder / 'hidden_sizes.json'}: the organisation's secret {HIDDEN_SIZES}")
    return said


# -- notebooks: Otter and nbgrader -------------------------------------------------------------------------

_PASSES = 'verdict.status in ("clean", "review")'
_JUDGE = "verdict = ptxlab.judge(kernel, task=task{})"
_TASK = 'task = Task.read("{}")'


def _otter(order: Order) -> list[str]:
    """A test file for students, and one for the autograder, which judges hidden sizes as well."""

    def case(points: float, hidden: bool) -> dict[str, Any]:
        lines = ["import ptxlab", "from ptxlab.judging import Task", _TASK.format(order.slug)]
        lines.append(_JUDGE.format("" if hidden else ", hidden=False"))
        lines.append(f'print("right" if {_PASSES} else verdict.public().reason)')
        code = "".join(f">>> {line}\n" for line in lines) + "right"
        return {"code": code, "hidden": hidden, "locked": False, "points": points}

    parts = parts_of(order.task, order.points)
    for who in ("student", "autograder"):
        cases = [
            case(points, part == "hidden")
            for part, points in parts.items()
            if part == "public" or who == "autograder"
        ]
        suite = {"cases": cases, "scored": True, "setup": "", "teardown": "", "type": "doctest"}
        test = {"name": order.slug, "points": None, "suites": [suite]}
        text = f"OK_FORMAT = True\n\ntest = {json_as_python(test)}\n"
        write_atomically(order.folder / who / "tests" / f"{order.slug}.py", text)
        order.copy_task(order.folder / who / order.slug, hidden=who == "autograder")
    return [
        f"{order.folder / 'student'}: beside the notebook, which sets kernel to a source or a file's name",
        f"{order.folder / 'autograder'}: for otter generate, with the hidden sizes",
    ]


def json_as_python(data: object) -> str:
    """Plain data as an expression of Python, on several lines."""
    import pprint

    return pprint.pformat(data, width=100, sort_dicts=False)


def role(name: str, *, points: int = 0) -> dict[str, Any]:
    """nbgrader's metadata of a cell: one to answer, or one that is locked and worth points."""
    metadata: dict[str, Any] = {
        "grade": points > 0,
        "grade_id": name,
        "locked": points > 0,
        "schema_version": 3,
        "solution": points == 0,
        "task": False,
    }
    if points:
        metadata["points"] = points
    return {"nbgrader": metadata}


#: Of a course folder: nbgrader leaves the starting cell as it stands.
NBGRADER_CONFIG = """\
# Beside source/: nbgrader leaves the starting cell as the lesson has it.
c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "ptxlab"
c.ClearSolutions.code_stub = {"python": "# Replace the ... above."}
c.ExecutePreprocessor.timeout = 120
"""


def _nbgrader(order: Order) -> list[str]:
    """An assignment in nbgrader's format: source/ for the teacher, release/ for students."""
    slug, hidden = order.slug, repr(tuple(order.task.hidden_sizes))
    half = order.points // 2 if order.task.hidden_sizes else 0
    for folder in ("source", "release"):
        answer = f'kernel = r"""\n...\n"""  # or the name of a file: "{order.file}"'
        public = ["import ptxlab", "from ptxlab.judging import Task", "", _TASK.format("task")]
        public += [_JUDGE.format(", hidden=False"), f"assert {_PASSES}, verdict.public().reason", "verdict"]
        cells = [
            _cell(f"# {order.task.name}", "markdown", "title", {}),
            _cell(answer, "code", f"answer-{slug}", role(f"answer-{slug}")),
            _cell(
                "\n".join(public), "code", f"grade-{slug}", role(f"grade-{slug}", points=order.points - half)
            ),
        ]
        if order.task.hidden_sizes:
            lines = ["# Other sizes"]
            if folder == "source":
                lines += ["### BEGIN HIDDEN TESTS", "from dataclasses import replace", ""]
                lines += [f"task = replace(task, hidden_sizes={hidden})", _JUDGE.format("")]
                lines += [f"assert {_PASSES}, verdict.public().reason", "### END HIDDEN TESTS"]
            metadata = role(f"grade-{slug}-hidden", points=half)
            cells.append(_cell("\n".join(lines), "code", f"grade-{slug}-hidden", metadata))
        kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
        notebook = {
            "cells": cells,
            "metadata": {"kernelspec": kernelspec},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        to = order.folder / folder / slug
        write_atomically(to / f"{slug}.ipynb", json.dumps(notebook, indent=1) + "\n")
        order.copy_task(to / "task", hidden=False)
    write_atomically(order.folder / "nbgrader_config.py", NBGRADER_CONFIG)
    return [
        f"{order.folder / 'source'}: with the hidden sizes, for you; nbgrader generate_assignment {slug}",
        f"{order.folder / 'release'}: to hand out",
    ]


def _cell(source: str, kind: str, name: str, metadata: dict[str, Any]) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": name, "metadata": metadata, "source": source}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


WRITERS: dict[str, Callable[[Order], list[str]]] = {
    "gradescope": _gradescope,
    "classroom": _classroom,
    "otter": _otter,
    "nbgrader": _nbgrader,
}
