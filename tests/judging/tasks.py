"""The tasks of the kernels in `tests/judging/kernels`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ptxlab.judging import Task


def _normal(size: Any, seed: int) -> Any:
    return np.random.default_rng([seed, *np.atleast_1d(size)]).normal(size=size).astype(np.float32)


def _blocks(count: int, each: int) -> int:
    return max(-(-count // each), 1)


def _saxpy(size: int, seed: int) -> dict[str, Any]:
    x, y = _normal((2, size), seed)
    return {"a": np.float32(2.5), "x": x, "y": y, "z": np.zeros(size, np.float32), "n": size}


def _sum(size: int, seed: int) -> dict[str, Any]:
    return {"x": _normal(size, seed), "result": np.zeros(1, np.float32), "n": size}


def _matmul(size: list[int], seed: int) -> dict[str, Any]:
    m, n, k = size
    a, b = _normal((m, k), seed), _normal((k, n), seed + 1)
    return {"a": a, "b": b, "c": np.zeros((m, n), np.float32), "m": m, "n": n, "k": k}


def _rows(size: list[int], seed: int) -> dict[str, Any]:
    rows, columns = size
    x = 100 * _normal((rows, columns), seed)
    return {"x": x, "y": np.zeros(rows * columns, np.float32), "rows": rows, "columns": columns}


def _histogram(size: int, seed: int) -> dict[str, Any]:
    x = np.random.default_rng(seed).integers(0, 16, size, dtype=np.int32)
    return {"x": x, "bins": np.arange(16, dtype=np.int32), "n": size}


def softmax(x: Any) -> Any:
    """The rows' softmax."""
    powers = np.exp(x - np.max(x, axis=1, keepdims=True))
    return powers / np.sum(powers, axis=1, keepdims=True)


_SIZES: dict[str, Any] = {"sizes": (1, 33, 257), "hidden_sizes": (97, 1031), "seeds": 1}
_SHAPES: dict[str, Any] = {"sizes": ((1, 1), (16, 33)), "hidden_sizes": ((37, 5),), "seeds": 1}
_SAXPY = Task("saxpy", lambda a, x, y: a * x + y, _saxpy, **_SIZES)
_SUM = Task("sum", lambda x: np.sum(x, keepdims=True), _sum, launch=lambda size: (1, 256), **_SIZES)

TASKS = {
    "saxpy": _SAXPY,
    "relu": Task(
        "relu",
        lambda x: np.maximum(x, 0),
        lambda size, seed: {"x": _normal(size, seed), "y": np.zeros(size, np.float32)},
        launch=lambda size: (1, size),
        sizes=(32, 64),
    ),
    "saxpy_in_place": replace(_SAXPY, aliases=(("z", "y"),)),
    "sum": _SUM,
    "sum_deterministic": replace(_SUM, deterministic=True),
    "matmul": Task(
        "matmul",
        lambda a, b: a @ b,
        _matmul,
        sizes=((1, 1, 1), (16, 32, 16)),
        hidden_sizes=((17, 19, 37),),
        seeds=1,
        launch=lambda size: ((_blocks(size[1], 16), _blocks(size[0], 16)), (16, 16)),
    ),
    "transpose": Task(
        "transpose",
        lambda x: np.ravel(x.T),
        _rows,
        launch=lambda size: ((_blocks(size[1], 16), _blocks(size[0], 16)), (16, 16)),
        **_SHAPES,
    ),
    "softmax": Task("softmax", lambda x: np.ravel(softmax(x)), _rows, launch=lambda size: (1, 64), **_SHAPES),
    "histogram": Task(
        "histogram",
        lambda x, bins: bins + np.bincount(x, minlength=16),
        _histogram,
        outputs=("bins",),
        updated=("bins",),
        **_SIZES,
    ),
}
