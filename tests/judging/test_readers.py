"""Tasks in the formats of others, small ones of our own, and candidates for them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.judging import Task
from ptxlab.judging.handout import device_code
from ptxlab.judging.recordings import recorded
from tests.judging.test_grader import RIGHT, WRONG

TASK_YML = """\
# name: double-py
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "reference.py", "source": "reference.py"}
  - {"name": "eval.py", "source": "../eval.py"}

lang: "py"
description: |
  Double it.
config:
  main: "eval.py"
tests:
  - {"size": 100, "seed": 4242}
  - {"size": 7, "seed": 5236}
benchmarks:
  - {"size": 100000000, "seed": 54352}
"""
GPU_MODE = {
    "double_py/task.yml": TASK_YML,
    "double_py/task.py": "input_t = output_t = object\n",
    "utils.py": """\
import numpy as np


def match(data, output, expected):
    if np.array_equal(output, expected):
        return True, ""
    return False, f"mismatch found! {(output != expected).sum()} of {output.size}"
""",
    "double_py/reference.py": """\
from task import input_t, output_t
from utils import match
import numpy as np


def ref_kernel(data: input_t) -> output_t:
    x, y = data
    y[...] = 2 * x
    return y


def generate_input(size: int, seed: int) -> input_t:
    x = np.random.default_rng(seed).normal(size=size).astype("f4")
    return x, np.empty(size, "f4")


def check_implementation(data, output):
    return match(data, output, ref_kernel(data))
""",
}
PROBLEM = """\
import numpy as np


class Model:
    def __init__(self, factor):
        self.factor = np.float32(factor)

    def __call__(self, x):
        return self.factor * x


batch_size = 2048 * 2
height = width = 512
shape = (batch_size, 3)


def get_inputs():
    assert height == width
    return [np.random.rand(*shape).astype("f4")]


def get_init_inputs():
    return [2.0]
"""
#: A submission and a model that launch a kernel of ptxlab.
SUBMISSION = """\
from task import input_t, output_t
import numpy as np
import ptxlab

kernel = ptxlab.kernel({kernel!r})


def custom_kernel(data: input_t) -> output_t:
    x, y = data
    kernel.launch(-(-x.size // 32), 32, x, y, np.int32(x.size))
    return y
"""
MODEL_NEW = """\
import numpy as np
import ptxlab

kernel = ptxlab.kernel({kernel!r})


class ModelNew:
    def __init__(self, factor):
        assert factor == 2.0

    def __call__(self, x):
        y = np.zeros_like(x)
        kernel.launch(-(-x.size // 32), 32, x, y, np.int32(x.size))
        return y
"""


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.needs("yaml")
def test_a_task_of_gpu_mode(tmp_path: Path) -> None:
    folder = written(tmp_path, GPU_MODE) / "double_py"
    modules = {*sys.modules}
    task = Task.read(folder)
    assert not {"utils", "task"} & ({*sys.modules} - modules)
    assert (task.name, task.language, task.entry) == ("double_py", "python", "custom_kernel")
    assert task.sizes == ({"size": 7, "seed": 5236}, {"size": 100, "seed": 4242})
    x, y = task.arguments_of(task.sizes[0], 0).values()
    assert np.array_equal(x, np.random.default_rng(5236).normal(size=7).astype("f4"))
    assert task.check is not None
    assert task.check([x, y], [2 * x]) == "" and "7 of 7" in task.check([x, y], [x])
    right = ptxlab.judge(_file(tmp_path, SUBMISSION.format(kernel=RIGHT)), task=task)
    assert (right.status, right.evidence.cases[0].bound) == ("clean", "the task's own check")


def _file(folder: Path, text: str) -> Path:
    file = folder / "submission.py"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_problem_of_kernelbench(tmp_path: Path) -> None:
    file = written(tmp_path, {"1_Double.py": PROBLEM}) / "1_Double.py"
    task = Task.read(file)
    assert (task.name, task.entry, task.initial, task.sizes) == ("1_Double", "ModelNew", (2.0,), (64,))
    (x,) = task.arguments_of(64, 0).values()
    assert x.shape == (64, 3)
    wrong = ptxlab.judge(_file(tmp_path, MODEL_NEW.format(kernel=WRONG)), task=task)
    assert wrong.status == "wrong" and "result[0][13, 1] is 0 and should be" in wrong.reason
    assert "reduced" in wrong.evidence.unseen[0]


HANDOUT = """\
#include <stdio.h>
#include <cuda_fp16.h>
#include "CycleTimer.h"
#define CHECK(x) \\
  if (x) { printf("}"); }
struct Pair { int a, b; };
__constant__ Pair pairs[4] = {{1, 2}};
const int N = 4 /* { */;
float gigabytes(int bytes) { return bytes / 1e9f; }
static int counter = 0;
extern float other(float);
template <typename T>
__device__ T twice(T x) { return x + x; }
extern "C" __global__ void
k(int* y) { y[threadIdx.x] = twice(pairs[0].a); /* } */ }
void host(int n) { k<<<1, N>>>(nullptr); }
int main(int, char**) { printf("{"); CHECK(counter); return 0; }
"""
KEPT = """\

#include <cuda_fp16.h>

#define CHECK(x) \\
  if (x) { printf("}"); }
struct Pair { int a, b; };
__constant__ Pair pairs[4] = {{1, 2}};
const int N = 4 /* { */;



template <typename T>
__device__ T twice(T x) { return x + x; }
extern "C" __global__ void
k(int* y) { y[threadIdx.x] = twice(pairs[0].a); /* } */ }


"""


def test_the_kernels_of_a_file_with_code_of_the_host() -> None:
    assert device_code(HANDOUT) == KEPT


def test_a_launch_with_a_null_pointer_can_be_run_again(tmp_path: Path) -> None:
    """Triton passes some."""
    arguments = (np.ones(1, np.float32), None, np.int32(1))
    assert "left" not in recorded(ptxlab.kernel(RIGHT), 1, 32, arguments, {}, tmp_path / "launch")


@pytest.mark.needs("yaml")
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path, GPU_MODE) / "double_py"

    def refused(path: Path, **files: str) -> str:
        written(folder, {name.replace("_", "."): text for name, text in files.items()})
        with pytest.raises(PtxlabError) as caught:
            Task.read(path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    monkeypatch.setitem(sys.modules, "torch", None)
    assert "needs torch, which is not installed: pip install torch" in refused(
        folder, reference_py="import torch\n"
    )
    assert "defines no generate_input" in refused(folder, reference_py="x = 1\n")
    assert "ZeroDivisionError" in refused(folder, reference_py="1 / 0\n")
    assert "lacks files or tests" in refused(folder, task_yml="files: []\n")
    huge = written(tmp_path, {"huge.py": PROBLEM.replace("*shape", "10**6")}) / "huge.py"
    assert "its inputs have 1,000,000 elements" in refused(huge)
    bare: dict[str, Any] = {"bare.py": "def get_inputs(): return []\n"}
    assert "defines no Model" in refused(written(tmp_path, bare) / "bare.py")
