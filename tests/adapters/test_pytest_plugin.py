"""pytest --ptxlab: kernels of a test run on the simulator, and their hazards fail it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.texts import replaced

pytest.importorskip("numba.cuda", reason="Numba's CUDA target is not installed (pip install numba-cuda)")
ROOT = Path(__file__).resolve().parents[2]
_TESTS = """
import numpy as np
from numba import cuda


@cuda.jit
def double(x):
    x[cuda.threadIdx.x] *= 2


@cuda.jit
def reverse(x):
    shared = cuda.shared.array(64, np.float32)
    i = cuda.threadIdx.x
    shared[i] = x[i]
    x[i] = shared[63 - i]


def test_double():
    x = np.ones(64, dtype=np.float32)
    double[1, 64](x)
    assert x.sum() == 128


def test_reverse():
    x = np.arange(64, dtype=np.float32)
    reverse[1, 64](x)
    assert x[0] == 63
"""


def _pytest(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    file = folder / "test_kernels.py"
    file.write_text(text)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "ptxlab_pytest", *options, str(file)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


def test_a_run_that_asks_for_nothing_imports_nothing(tmp_path: Path) -> None:
    test = """
import sys

def test_nothing():
    assert "ptxlab_pytest" in sys.modules and not {"ptxlab", "numpy"} & set(sys.modules)

def test_session(simulating):
    assert simulating.results == [] and "ptxlab" in sys.modules
    import numpy as np
    from numba import cuda

    @cuda.jit
    def double(x):
        x[cuda.threadIdx.x] *= 2

    double[1, 64](np.ones(64, dtype=np.float32))
    assert [launch.name for launch in simulating.results] == ["double"]
"""
    done = _pytest(tmp_path, test)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_hazard_fails_its_test(tmp_path: Path) -> None:
    done = _pytest(tmp_path, _TESTS, "--ptxlab")
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "reverse: line 16" in done.stdout and "warps 0 and 1 of block" in done.stdout


def test_a_test_that_fails_shows_its_hazards(tmp_path: Path) -> None:
    """Also in a process of pytest-xdist."""
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    text = replaced(_TESTS, "assert x[0] == 63", "assert x[0] == 64")
    done = _pytest(tmp_path, text, "--ptxlab", "-p", "xdist.plugin", "-n", "1")
    assert "1 failed, 1 passed" in done.stdout and "assert np.float32(63.0) == 64" in done.stdout, done.stdout
    assert "hazards" in done.stdout and "reverse: line 16" in done.stdout
