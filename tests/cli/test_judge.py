"""`ptxlab judge`: a file, the folder of a task, an exit status; and JSON in the forms that are published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ptxlab.cli import main

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema comes with the lab")
ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "tests" / "judging" / "kernels"

_TASK = """
sizes = [33, 257]
hidden_sizes = [1000]
inputs = "given"
seeds = 1
"""
_REFERENCE = """
import numpy as np

def arguments(size, seed):
    x, y = np.random.default_rng(seed).normal(size=(2, size)).astype(np.float32)
    return {"a": np.float32(2), "x": x, "y": y, "z": np.zeros(size, np.float32), "n": size}

def reference(a, x, y):
    return a * x + y
"""


def _schema(name: str) -> Any:
    return json.loads((ROOT / "docs" / "reference" / f"{name}.schema.json").read_text())


@pytest.fixture
def task(tmp_path: Path) -> str:
    folder = tmp_path / "saxpy"
    folder.mkdir()
    (folder / "task.toml").write_text(_TASK)
    (folder / "reference.py").write_text(_REFERENCE)
    return str(folder)


@pytest.mark.needs("cuda.core")
def test_judge(task: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", str(KERNELS / "saxpy.cu"), "--task", task, "--public"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("✓ saxpy is clean: ") and "sizes 33, 257\n" in out
    assert main(["judge", str(KERNELS / "cheat_known_size.cu"), "--task", task, "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    jsonschema.validate(facts, _schema("verdict"))
    assert facts["status"] == "wrong" and "a hidden size" in facts["reason"]


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("task.toml", "sizes = 3, 4", "Expected newline"),
        ("task.toml", "size = [3]", "found size"),
        ("task.toml", "sizes = []", "no sizes"),
        ("reference.py", "x = 1", "no function reference"),
    ],
)
def test_a_task_that_is_none(
    task: str, file: str, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (Path(task) / file).write_text(text)
    assert main(["judge", str(KERNELS / "saxpy.cu"), "--task", task]) == 1
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1


@pytest.mark.needs("cuda.core")
def test_check_has_a_verdict_and_a_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    source = (KERNELS / "sum_race.cu").read_text()
    Path("script.py").write_text(
        f"import numpy as np, ptxlab\nkernel = ptxlab.kernel('''{source}''')\n"
        "kernel.launch(1, 64, np.ones(64, np.float32), np.zeros(1, np.float32), 64)\n"
    )
    assert main(["check", "script.py", "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    jsonschema.validate(facts, _schema("check"))
    assert facts["verdict"]["status"] == "hazard" and "line 5" in facts["verdict"]["reason"]
