"""Outputs against the reference: exactly where that is due, else within a bound that the reference gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simulator.kernel import Kernel
from .bounds import UNIT, Bounded, NoBound, rounded
from .task import Task
from .varied import is_float


@dataclass
class Expectation:
    """What the outputs should be, each with a bound; `unknown` says why there is none."""

    values: list[NDArray[Any]]
    bounds: Sequence[NDArray[Any] | None]  # None: exactly
    origin: str
    unknown: str = ""


@dataclass
class Compared:
    """One output of one launch."""

    elements: int
    equal: bool
    worst: float
    bound: str
    wrong: str = ""
    unknown: str = ""
    unbounded: int = 0  # elements that have no bound, such as a quotient by what may be 0


def expectation(
    task: Task,
    size: Any,
    arguments: Mapping[str, Any],
    outputs: Sequence[str],
    dtypes: Sequence[np.dtype[Any]],
) -> Expectation:
    """What the reference makes of the arguments, with bounds."""
    given = {
        name: value.copy() if isinstance(value, np.ndarray) else value for name, value in arguments.items()
    }
    floats = [
        value.dtype for value in given.values() if isinstance(value, np.ndarray) and is_float(value.dtype)
    ]
    is_kernel = isinstance(task.reference, Kernel)
    if is_kernel or task.tolerance is not None or not floats:
        if is_kernel:
            task.launched(size, given)
            values = [given[name] for name in outputs]
        else:
            values = [_as_array(value) for value in task.expected(given, outputs)]
        if is_kernel and floats and task.tolerance is None:
            unknown = "no bound follows from a kernel: give a function of arrays, or the task a tolerance"
            return Expectation(values, [None] * len(values), "exact", unknown)
        if task.tolerance is None:
            return Expectation(values, [None] * len(values), "exact")
        both = task.tolerance if isinstance(task.tolerance, tuple) else (task.tolerance, task.tolerance)
        with np.errstate(all="ignore"):
            bounds = [both[1] + both[0] * abs(value.astype(np.float64)) for value in values]
        return Expectation(values, bounds, f"the task's tolerance, {task.tolerance}")
    precision = task.accumulate or ("float64" if np.dtype("f8") in floats else "float32")
    tracked = {
        name: Bounded(value, 0.0, precision)
        if isinstance(value, np.ndarray) and is_float(value.dtype)
        else value
        for name, value in given.items()
    }
    try:
        results = task.expected(tracked, outputs)
    except (NoBound, TypeError, AttributeError, NotImplementedError) as error:
        values = [_as_array(value) for value in task.expected(given, outputs)]
        what = str(error) if isinstance(error, NoBound) else "what only plain arrays have"
        unknown = f"no bound follows from the reference, which uses {what}: give the task a tolerance"
        return Expectation(values, [None] * len(values), "exact", unknown)
    values, known = [], list[NDArray[Any] | None]()
    for dtype, result in zip(dtypes, results, strict=False):
        if isinstance(result, Bounded):
            stored = rounded(result, dtype)
            values.append(stored.value)
            known.append(stored.error)
        else:
            values.append(_as_array(result))
            known.append(None)
    origin = (
        f"{precision} rounding ({UNIT[precision]:.1e}) of each operation of the reference, sums in any order"
    )
    return Expectation(values, known, origin)


def _as_array(value: Any) -> NDArray[Any]:
    if hasattr(value, "detach"):  # torch's
        value = value.detach().cpu().float().numpy() if value.is_floating_point() else value.cpu().numpy()
    return np.asarray(value)


def compared(
    expected: Expectation, outputs: Sequence[tuple[str, NDArray[Any] | None, NDArray[Any]]]
) -> list[Compared]:
    """Every output: its name, what it held before the launch, and what it holds now."""
    results = []
    if len(expected.values) != len(outputs):
        text = f"the reference gives {len(expected.values)} arrays for {len(outputs)} outputs"
        return [Compared(0, False, 0.0, "", unknown=text)]
    for (name, before, after), value, bound in zip(outputs, expected.values, expected.bounds, strict=True):
        if value.size != after.size:
            text = f"the reference gives {value.shape} for {name}, which has {after.shape}"
            results.append(Compared(0, False, 0.0, "", unknown=text))
            continue
        value = value.reshape(after.shape)
        bound = None if bound is None else np.broadcast_to(bound.reshape(after.shape), after.shape)
        results.append(_one(name, before, after, value, bound, expected))
    return results


def _one(
    name: str,
    before: NDArray[Any] | None,
    after: NDArray[Any],
    value: NDArray[Any],
    bound: NDArray[Any] | None,
    expected: Expectation,
) -> Compared:
    with np.errstate(all="ignore"):
        right = value.astype(after.dtype)
        equal = np.asarray(right == after) | ((right != right) & (after != after))
        if bound is None:
            wrong, worst, origin = ~equal, 0.0, "exact"
        else:
            wide, found = value.astype(np.float64), after.astype(np.float64)
            difference = abs(found - wide)
            finite = np.isfinite(right.astype(np.float64))
            known = np.isfinite(bound)
            unbounded = finite & ~known & ~equal
            wrong = ~(equal | unbounded | (finite & known & (difference <= bound)))
            parts = np.where(equal | ~known | (bound == 0), 0.0, difference / np.where(bound == 0, 1, bound))
            worst = float(np.nan_to_num(parts, nan=0.0, posinf=0.0).max(initial=0.0))
            origin = expected.origin if np.any(bound[~equal] > 0) or np.any(bound > 0) else "exact"
    if not np.any(wrong):
        left = 0 if bound is None else int(np.count_nonzero(unbounded))
        return Compared(after.size - left, bool(np.all(equal)), worst, origin, unbounded=left)
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    where = f"{name}[{', '.join(map(str, index))}]" if index else name
    if expected.unknown:
        both = f"{where} is {_shown(after[index])}, the reference has {_shown(right[index])}"
        return Compared(after.size, False, worst, origin, unknown=f"{both}, and {expected.unknown}")
    unwritten = before is not None and after[index].tobytes() == before[index].tobytes()
    found_text = "was not written" if unwritten else f"is {_shown(after[index])}"
    allowed = ""
    if bound is not None and bound[index] > 0:
        allowed = f" give or take {bound[index]:.2g} ({expected.origin})"
    count = int(np.count_nonzero(wrong))
    text = (
        f"{where} {found_text} and should be {_shown(right[index])}{allowed}; {count} of {after.size} "
        "elements are wrong"
    )
    return Compared(after.size, False, worst, origin, wrong=text)


def _shown(value: Any) -> str:
    return f"{float(value):.9g}" if is_float(np.asarray(value).dtype) else str(value)
