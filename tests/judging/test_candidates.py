"""Candidates in a process of their own: Python ones that cheat, and hostile ones; the judge stays whole."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.judging import Finding, Task

from .tasks import TASKS

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema comes with the lab")
pytestmark = pytest.mark.needs("cuda.core")


def schema(name: str) -> Any:
    """A schema that the documentation publishes."""
    path = Path(__file__).parents[2] / "docs" / "reference" / f"{name}.schema.json"
    return json.loads(path.read_text())


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="namespaces of users are Linux's")

_KERNEL = '''
import os, sys
import numpy as np, ptxlab
kernel = ptxlab.kernel("""
__global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}""")
def launched(x):
    y = np.empty_like(x)
    kernel.launch(-(-len(x) // 128), 128, x, y, len(x))
    return y
'''


def _arguments(size: int, seed: int) -> dict[str, Any]:
    return {"x": np.random.default_rng(seed).normal(size=size).astype(np.float32)}


def twice(x: Any) -> Any:
    """The reference."""
    return 2 * x


TASK = Task(
    "twice", twice, _arguments, sizes=(33,), hidden_sizes=(97,), seeds=1, inputs="given", language="python"
)

#: What a candidate does, the verdict, and words of its reason.
CHEATS = {
    "computes outside": (
        "launched(np.zeros_like(data[0])); return data[0] * np.float32(2)",
        "review",
        "not what its launches wrote",
    ),
    "reads what it computed": (
        "y = np.empty_like(data[0])\n"
        "    ptxlab.kernel('__global__ void f(float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }'\n"
        "        ).launch(1, len(y), data[0] * np.float32(2), y); return y",
        "review",
        "reads argument 1",
    ),
    "launches nothing": ("return data[0] * np.float32(2)", "incomplete", "launched nothing"),
    "is patched": (
        "np.testing.assert_allclose = np.array_equal = np.allclose = lambda *a, **k: True\n"
        "    import ptxlab.judging.outputs as c; c.compared = lambda *a: []\n"
        "    return launched(data[0]) + 1",
        "wrong",
        "should be",
    ),
    "forges a report": (
        'open(\'../report.jsonl\', \'a\').write(\'["launch", {"number": 0}]\\n["ended", ""]\\n\')\n'
        "    os._exit(0)",
        "error",
        "",
    ),
    "forges all": (
        "import json\n"
        "    rows = [{'name': '0', 'dtype': 'float32', 'shape': [n], 'offset': 0} for n in (33, 97)]\n"
        "    for number, row in enumerate(rows):\n"
        "        x = np.fromfile(f'../in-{number}', np.float32)\n"
        "        (2 * x).tofile(f'../out-{number}')\n"
        "        facts = {'number': number, 'launches': 1, 'arguments': [row], 'findings': []}\n"
        "        open('../report.jsonl', 'a').write(json.dumps(['launch', facts]) + chr(10))\n"
        "    open('../report.jsonl', 'a').write('[\"ended\", \"\"]' + chr(10)); os._exit(0)",
        "incomplete",
        "launched nothing",
    ),
    "links to a device": (
        "os.remove('../report.jsonl'); os.symlink('/dev/zero', '../report.jsonl'); os._exit(0)",
        "error",
        "cannot be read",
    ),
    "hides a hazard": (
        "ptxlab.Kernel.simulate.__globals__['Kernel'] = None\n"
        "    import ptxlab.simulator.kernel as k; k.HazardLog.hazards = property(lambda self: [])\n"
        "    y = np.empty_like(data[0])\n"
        "    ptxlab.kernel('__global__ void f(const float* x, float* y, int n) { __shared__ float s[128];'\n"
        "        'int i = threadIdx.x; if (i < n) s[i] = x[i];'\n"
        "        'if (i < n) y[i] = 2 * x[i] + (i < 32 ? 0 : s[0] - x[0]); }'\n"
        "        ).launch(1, 128, data[0], y, len(y)); return y",
        "hazard",
        "barrier",
    ),
}


def _judged(tmp_path: Path, body: str, **options: Any) -> Any:
    file = tmp_path / "submission.py"
    tempfile.tempdir = str(tmp_path)
    file.write_text(f"{_KERNEL}\ndef custom_kernel(data):\n    {body}\n")
    try:
        return ptxlab.judge(file, task=TASK, **options)
    finally:
        tempfile.tempdir = None


@pytest.mark.parametrize("name", CHEATS)
def test_python(tmp_path: Path, name: str) -> None:
    body, status, words = CHEATS[name]
    verdict = _judged(tmp_path, body)
    assert verdict.status == status, verdict
    assert words in verdict.reason


def test_a_process_that_leaves(tmp_path: Path) -> None:
    verdict = _judged(tmp_path, "os._exit(0)")
    assert verdict.status == "error"
    assert "ended with status 0" in verdict.reason


def test_endless_output(tmp_path: Path) -> None:
    verdict = _judged(tmp_path, "os.write(1, b'x' * (1 << 20)); return custom_kernel(data)")
    assert verdict.status in ("incomplete", "error")
    assert len(verdict.evidence.output) < 4000


def test_endless_time(tmp_path: Path) -> None:
    verdict = _judged(tmp_path, "while True: pass", seconds=8)
    assert verdict.status == "incomplete"
    assert "longer than 8 seconds" in verdict.reason


@pytest.mark.skipif(os.name != "posix", reason="limits of memory are POSIX's")
def test_memory(tmp_path: Path) -> None:
    verdict = _judged(tmp_path, "return np.ones(1 << 40, np.uint8)")
    assert verdict.status == "error"


@LINUX
def test_files_of_others_network_and_processes(tmp_path: Path) -> None:
    """Nothing outside of its folder is written, nobody is called, and what it forks ends with it."""
    kept = tmp_path / "kept.txt"
    kept.write_text("as it was")
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    body = f"""
    import socket
    seen = []
    for act in (lambda: os.remove({str(kept)!r}), lambda: open({str(kept)!r}, "w"),
                lambda: socket.create_connection(("127.0.0.1", {port}), 1)):
        try:
            act()
        except OSError as error:
            seen.append(type(error).__name__)
    others = [name for name in os.listdir("/proc") if name.isdigit()]
    if len(others) > 12:
        seen.append("OSError: it sees the judge")
    for _ in range(8):  # as a fork bomb begins
        if not os.fork():
            os.setsid()
            while True:
                __import__("time").sleep(1)
    print(seen)
    return launched(data[0])"""
    verdict = _judged(tmp_path, body)
    if "other files" not in verdict.evidence.confined:
        pytest.skip("this system lets users make no namespaces")
    assert kept.read_text() == "as it was"
    assert verdict.status == "clean", verdict
    assert verdict.evidence.output.count("'OSError'") == 6, verdict.evidence.output  # three in two launches
    server.close()
    assert not _running(tmp_path), "a process that it forked is left"


@LINUX
def test_a_fork_bomb(tmp_path: Path) -> None:
    body = """
    for _ in range(300):  # as long as it takes to be noticed, and no longer
        if not os.fork():
            __import__("time").sleep(60)
            os._exit(0)
    __import__("time").sleep(60)"""
    verdict = _judged(tmp_path, body, seconds=30)
    if "other files" not in verdict.evidence.confined:
        pytest.skip("this system lets users make no namespaces")
    assert verdict.status == "incomplete" and "more than 256 processes" in verdict.reason
    assert not _running(tmp_path)


def _running(folder: Path) -> list[str]:
    """Processes of this user whose working folder was that of a candidate."""
    left = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder) in str((process / "cwd").readlink()):
                left.append(process.name)
        except OSError:
            continue
    return left


def test_a_kernel_in_its_process() -> None:
    """The table's kernels run in the judge's own process; here is one as users have it, with its time."""
    source = (Path(__file__).parent / "kernels" / "sum_tree.cu").read_text()
    verdict = ptxlab.judge(source, task=TASKS["sum"], hidden=False)
    assert verdict, verdict
    assert verdict.evidence.microseconds
    assert "more time" in verdict.evidence.confined
    jsonschema.validate(json.loads(json.dumps(verdict.json())), schema("verdict"))
    over = ptxlab.judge(source, task=TASKS["sum"], seconds=0.01)
    assert over.status == "incomplete"


def test_hidden_sizes_stay_hidden() -> None:
    source = (Path(__file__).parent / "kernels" / "cheat_known_size.cu").read_text()
    verdict = ptxlab.judge(source, task=TASKS["saxpy"])
    facts = verdict.json(hidden=False)
    assert verdict.status == "wrong" and "a hidden size" in verdict.reason
    assert {case["size"] for case in facts["evidence"]["cases"]} == set(TASKS["saxpy"].sizes)
    assert facts["hidden"] and "1031" not in str(facts) + repr(verdict)
    outside = Finding("hazard", "out of bounds", "byte 4124 of x (float32[1031])", 3, ("x.cu", 3))
    case = replace(verdict.evidence.cases[-1], size=1031, hidden=True, outcome="hazard")
    evidence = replace(verdict.evidence, findings=(outside,), cases=(case,))
    hazard = replace(verdict, state="hazard", text=outside.sentence, evidence=evidence).public()
    assert hazard.reason == "line 3: out of bounds (at a hidden size)"
    assert "1031" not in str(hazard.json()) + repr(hazard) and "1 hidden size" in repr(hazard)


def test_refused() -> None:
    for candidate, task in (("nowhere.cu", TASKS["sum"]), ("__global__ void f() {}", None)):
        with pytest.raises(PtxlabError):
            ptxlab.judge(candidate, task=task)
