"""PTX that Triton and Numba made of small kernels: right on the simulator, and on a GPU the same bytes.

`python -m tests.adapters.record` wrote the PTX, with Triton 3.6.0 and numba-cuda 0.30.4.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import ptxlab
from tests.cases import each

FOLDER = Path(__file__).parent / "ptx"


class Case(NamedTuple):
    """A launch: what it takes, with None for hidden pointers, and what its arguments are afterwards."""

    grid: tuple[int, ...]
    block: int
    shared: int
    arguments: Callable[[], list[Any]]
    expected: Callable[..., dict[int, Any]]  # by argument
    constants: tuple[int, ...] = ()
    tolerance: float = 0.0


def _floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _whole(*shape: int, dtype: Any = np.float16, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _numba_add() -> list[Any]:
    arrays: list[Any] = []
    for array in (_floats(1000), _floats(1000, seed=1), np.zeros(1000, np.float32)):
        arrays += [0, 0, array.size, 4, array, *array.shape, *array.strides]
    return [*arrays, 2.0]


CASES = {
    "add": Case(
        (8,),
        128,
        0,
        lambda: [_floats(1000), _floats(1000, seed=1), np.zeros(1000, np.float32), 1000, 2.0, None, None],
        lambda x, y, *_: {2: x + y * np.float32(2)},
        (128,),
    ),
    "softmax": Case(
        (4,),
        128,
        16,
        lambda: [np.zeros((4, 100), np.float32), _floats(4, 100), 100, 100, None, None],
        lambda out, x, *_: {0: _softmax(x)},
        (128,),
        1e-6,
    ),
    "matmul": Case(
        (1, 1),
        128,
        49152,
        lambda: [_whole(64, 64), _whole(64, 64, seed=1), np.zeros((64, 64), np.float32), 64, 64, None, None],
        lambda a, b, *_: {2: a.astype(np.float32) @ b.astype(np.float32)},
        (64,),
    ),
    "locked_sum": Case(
        (10,),
        128,
        16,
        lambda: [_whole(1280, dtype=np.float32), np.zeros(1, np.float32), np.zeros(1, np.int32), None, None],
        lambda x, *_: {1: x.sum(), 2: 0},
        (128,),
    ),
    "numba_add": Case((8,), 128, 0, _numba_add, lambda *given: {18: given[4] + given[11] * np.float32(2)}),
}


def _kernel(name: str) -> Any:
    return ptxlab.kernel((FOLDER / f"{name}.ptx").read_text(encoding="utf-8"))


def _simulated(name: str) -> tuple[list[Any], list[Any], Any]:
    case = CASES[name]
    before = case.arguments()
    after = copy.deepcopy(before)
    result = _kernel(name).simulate(case.grid, case.block, *after, shared=case.shared, show=False)
    return before, after, result


@each("name", sorted(CASES))
def test_results_are_right(name: str) -> None:
    """And nothing is reported that does no harm; Triton 3.6 leaves a fence out."""
    case = CASES[name]
    before, after, result = _simulated(name)
    for number, value in case.expected(*before).items():
        assert np.abs(after[number] - value).max() <= case.tolerance
    assert result.hazards == []
    assert {note.kind for note in result.notes} == (
        {"cp.async without proxy fence"} if name == "matmul" else set()
    )


def test_code_inlined_from_a_library_belongs_to_the_kernel_that_calls_it() -> None:
    """LLVM says in comments where it was inlined."""
    (function,) = _kernel("softmax").module.functions.values()
    assert {each.location.file for each in function.instructions if each.location} == {
        "triton_kernels.py",
        "standard.py",
    }
    assert {each.source.file for each in function.instructions if each.source} == {"triton_kernels.py"}
    text = (FOLDER.parent / "triton_kernels.py").read_text(encoding="utf-8").splitlines()
    shuffles = {
        text[each.source.line - 1].split("=")[0].strip()
        for each in function.instructions
        if "shfl" in each.opcode
    }
    assert shuffles == {"e", "tl.store(out_ptr + row * stride + i, e / tl.sum(e, axis"}


@pytest.mark.gpu
@each("name", sorted(CASES))
def test_a_gpu_gives_the_same_bytes(name: str) -> None:
    case = CASES[name]
    _, simulated, _ = _simulated(name)
    launched = case.arguments()
    _kernel(name).launch(case.grid, case.block, *launched, shared=case.shared)
    for one, other in zip(simulated, launched, strict=True):
        if isinstance(one, np.ndarray):
            assert one.tobytes() == other.tobytes()
