"""Graders, each made by one command and run as its service would run it, from its documented layout."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from ptxlab.cli import main
from ptxlab.judging import Task, grade

pytestmark = pytest.mark.slow

TASK = """\
name = "Double it"
outputs = ["y"]
sizes = [1, 40]
hidden_sizes = [
  64, # where the wrong kernel ends
  101,
]
inputs = "given"
seeds = 1
"""
REFERENCE = """\
import numpy as np


def arguments(size, seed):
    x = np.random.default_rng(seed).normal(size=size).astype("f4")
    return {"x": x, "y": np.zeros(size, "f4"), "n": np.int32(size)}


def reference(x):
    return x + x


def launch(size):
    return -(-size // 32), 32
"""
HEAD = """\
.version 8.0
.target sm_90a
.address_size 64
.entry twice(.param .u64 x, .param .u64 y, .param .u32 n) {
.reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %a<6>; .reg .f32 %f<3>;
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 32, %r2;
"""
BODY = """\
@%p1 bra done;
ld.param.u64 %a1, [x]; ld.param.u64 %a2, [y]; mul.wide.u32 %a3, %r3, 4;
add.u64 %a1, %a1, %a3; add.u64 %a2, %a2, %a3;
ld.global.f32 %f1, [%a1]; add.f32 %f2, %f1, %f1; st.global.f32 [%a2], %f2;
done: ret; }
"""
BOUND = "ld.param.u32 %r4, [n]; setp.ge.u32 %p1, %r3, %r4;\n"
RIGHT = HEAD + BOUND + BODY
#: It writes the first 40 elements.
WRONG = HEAD + BOUND.replace("[n];", "[n]; min.u32 %r4, %r4, 40;") + BODY


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "double"
    folder.mkdir()
    (folder / "task.toml").write_text(TASK, encoding="utf-8")
    (folder / "reference.py").write_text(REFERENCE, encoding="utf-8")
    return folder


def made(*words: str) -> None:
    assert main(["grader", "double", "-o", "out", "--points", "12", *words]) == 0


def seen_by_students(folder: Path) -> str:
    return "\n".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


def test_gradescope(task: Path, tmp_path: Path) -> None:
    """/autograder/source, /autograder/submission and /autograder/results, as its documentation has them."""
    made("--for", "gradescope")
    root = tmp_path / "autograder"
    for name in ("source", "submission", "results"):
        (root / name).mkdir(parents=True)
    with zipfile.ZipFile("out/double_it-autograder.zip") as archive:
        modes = {row.filename: row.external_attr >> 16 for row in archive.infolist()}
        archive.extractall(root / "source")
    assert modes["setup.sh"] == modes["run_autograder"] == 0o755
    setup = (root / "source" / "setup.sh").read_text()
    assert subprocess.run(["bash", "-n"], input=setup, text=True, check=False).returncode == 0
    shutil.copy(root / "source" / "run_autograder", root)
    shutil.rmtree(task)
    run = (root / "source" / "run_autograder").read_text()
    (root / "run_autograder").write_text(run.replace("kernel.cu", "kernel.ptx"))
    (root / "submission" / "kernel.ptx").write_text(WRONG)
    environment = {**os.environ, "AUTOGRADER_ROOT": str(root), "PTXLAB_PYTHON": sys.executable}
    subprocess.run(["bash", str(root / "run_autograder")], cwd=root, env=environment, check=True)
    found = json.loads((root / "results" / "results.json").read_text())
    assert set(found) == {"execution_time", "stdout_visibility", "tests"}
    assert [(row["name"], row["score"], row["max_score"], row["status"]) for row in found["tests"]] == [
        ("public sizes", 6, 6, "passed"),
        ("hidden sizes", 0, 6, "failed"),
    ]
    assert all(row["visibility"] == "visible" for row in found["tests"])
    public, hidden = (row["output"] for row in found["tests"])
    assert public == "right at the public sizes" and hidden.startswith("wrong: y[40] was not written")
    assert not re.search(r"\b(64|101)\b", hidden)
    (root / "submission" / "kernel.ptx").unlink()
    lost = grade.gradescope(root / "submission", Task.read(root / "source" / "task"), 12, "kernel.ptx", 60)
    (row,) = lost["tests"]
    assert row["score"] == 0 and "should have a file kernel.ptx; it has no such file" in row["output"]


def test_github_classroom(task: Path, tmp_path: Path) -> None:
    """The commands of the workflow, in a clean checkout of what a student has."""
    yaml = pytest.importorskip("yaml")
    made("--for", "classroom", "--file", "double.ptx")
    checkout = tmp_path / "checkout"
    shutil.copytree("out/repository", checkout)
    assert "hidden_sizes" not in seen_by_students(checkout) and "101" not in seen_by_students(checkout)
    workflow = yaml.safe_load((checkout / ".github" / "workflows" / "classroom.yml").read_text())
    steps = workflow["jobs"]["run-autograding-tests"]["steps"]
    tests = {step["id"]: step for step in steps if "id" in step}
    assert {name: step["with"]["max-score"] for name, step in tests.items()} == {"public": 6, "hidden": 6}
    assert steps[-1]["with"]["runners"] == "public,hidden"
    assert set(steps[-1]["env"]) == {"PUBLIC_RESULTS", "HIDDEN_RESULTS"}
    (secret,) = tests["hidden"]["env"]
    hidden = Path("out/hidden_sizes.json").read_text()
    assert json.loads(hidden) == [64, 101]

    def graded(part: str, kernel: str, **environment: str) -> subprocess.CompletedProcess[str]:
        (checkout / "double.ptx").write_text(kernel)
        command = re.sub(r"^python", sys.executable, tests[part]["with"]["command"])
        env = {**os.environ, **environment}
        return subprocess.run(
            command, shell=True, cwd=checkout, env=env, text=True, capture_output=True, check=False
        )

    done = graded("hidden", RIGHT, **{secret: hidden})
    assert done.returncode == 0 and done.stdout.startswith("clean: ")
    unset = graded("hidden", RIGHT)
    assert unset.returncode == 1 and f"{secret} is not set" in unset.stderr


def test_otter(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Test files in Otter's format: doctests over the names of the student's notebook."""
    made("--for", "otter")
    assert "101" not in seen_by_students(tmp_path / "out" / "student")

    monkeypatch.chdir(tmp_path / "out" / "autograder")
    tests: dict[str, dict[str, Any]] = {}
    for who in ("student", "autograder"):
        names: dict[str, Any] = {}
        exec(Path(tmp_path, "out", who, "tests", "double_it.py").read_text(), names)
        assert names["OK_FORMAT"] is True and set(names["test"]) == {"name", "points", "suites"}
        (tests[who],) = names["test"]["suites"]
    public, hidden = tests["autograder"]["cases"]
    assert tests["student"]["cases"] == [public] and tests["student"]["type"] == "doctest"
    assert set(public) == {"code", "hidden", "locked", "points"}
    assert (public["points"], public["hidden"], hidden["points"], hidden["hidden"]) == (6, False, 6, True)
    assert hidden["code"] == public["code"].replace(", hidden=False", "")
    texts: list[str] = []
    case = doctest.DocTestParser().get_doctest(hidden["code"] + "\n", {"kernel": WRONG}, "case", None, None)
    assert doctest.DocTestRunner(verbose=False).run(case, out=texts.append).failed == 1
    assert "Got:\n    y[40] was not written" in "".join(texts)


def test_nbgrader(task: Path, tmp_path: Path) -> None:
    """The cells of the teacher's notebook, with an answer, in the folder that has the task."""
    nbformat = pytest.importorskip("nbformat")
    made("--for", "nbgrader", "--file", "double.ptx")
    assert "101" not in seen_by_students(tmp_path / "out" / "release")
    both = []
    for folder in ("source", "release"):
        notebook = nbformat.read(tmp_path / "out" / folder / "double_it" / "double_it.ipynb", as_version=4)
        nbformat.validate(notebook)
        both.append(notebook.cells)
    roles = [
        [(cell.metadata.nbgrader.grade_id, cell.metadata.nbgrader.get("points")) for cell in cells[1:]]
        for cells in both
    ]
    assert (
        roles[0]
        == roles[1]
        == [("answer-double_it", None), ("grade-double_it", 6), ("grade-double_it-hidden", 6)]
    )
    hidden = both[0][3].source
    assert "### BEGIN HIDDEN TESTS\n" in hidden and "(64, 101)" in hidden
    assert re.sub(r"\n### BEGIN.*### END HIDDEN TESTS", "", hidden, flags=re.DOTALL) == both[1][3].source
    program = f"import os\nos.chdir({str(tmp_path / 'out' / 'source' / 'double_it')!r})\nkernel = {WRONG!r}\n"
    program += both[0][2].source.partition("verdict =")[0] + hidden
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, check=False)
    assert done.returncode == 1 and "AssertionError: y[40] was not written" in done.stderr


def test_what_cannot_be_asked_for(task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grader", "double", "-o", "out", "--points", "1"]) == 1
    assert "takes at least 2, one for each part" in capsys.readouterr().err
    assert main(["grader", "double", "-o", "out", "--file", "../x.cu"]) == 1
    assert "it is a name such as kernel.cu" in capsys.readouterr().err
