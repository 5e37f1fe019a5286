"""python -m tools.capstone FILE: the points of a capstone that a simulation can give.

The task: kernel 3 of lesson 13 with a sliding window. Query i sees the `WINDOW` keys up to its own place.
FILE is the whole source; `python -m tools.capstone FILE --start` writes the one to begin with. `WINDOW` is
defined before its first line. No GPU is needed. docs/teaching.md has the points that a reader gives.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import ptxlab
from ptxlab._util.files import write_atomically
from ptxlab.course.exercises import attention as lesson
from ptxlab.gemm import attention
from ptxlab.simulation import Simulation

__all__ = ["POINTS", "Point", "grade"]

#: What each part of the rubric is worth; those of a reader are in docs/teaching.md.
POINTS = {
    "numbers": 20,  # O is near float64, for windows that are a multiple of a tile and for others
    "hazards": 15,  # the simulator finds none
    "bits": 10,  # with a window that holds everything, every bit is kernel 3's
    "counts": 15,  # tiles outside of the window are skipped
}
_WINDOWS = (32, 20, 70)
_TOLERANCE = 4e-3  # O of normal numbers, with P rounded to f16


class Point(NamedTuple):
    """What a part of the rubric gives, and why."""

    part: str
    points: int
    reason: str


def start() -> str:
    """What students begin with: kernel 3."""
    return attention(3, **lesson.SMALL[3]).source


def grade(source: str) -> list[Point]:
    """Simulate a kernel with several windows, and give points."""
    Q, K, V = lesson.problem()
    everything = len(Q)
    try:
        runs = {window: _run(source, window) for window in (*_WINDOWS, everything)}
    except ptxlab.PtxlabError as error:
        return [Point(part, 0, f"it does not compile, or stops: {error}") for part in POINTS]
    wrong = [
        window
        for window in _WINDOWS
        if not np.abs(runs[window][0] - _exact(Q, K, V, window)).max() < _TOLERANCE  # NaN is wrong, too
    ]
    hazards = [str(hazard) for _, result in runs.values() for hazard in result.hazards]
    different = int((runs[everything][0].view(np.uint16) != lesson.unchanged(3).view(np.uint16)).sum())
    executed = {window: _products(runs[window][1]) for window in _WINDOWS}
    many = [window for window in _WINDOWS if executed[window] != _needed(window, everything)]
    found = {
        "numbers": f"O is wrong with WINDOW = {', '.join(map(str, wrong))}" if wrong else "",
        "hazards": hazards[0] if hazards else "",
        "bits": f"{different} elements of O differ from kernel 3's" if different else "",
        "counts": "; ".join(
            f"WINDOW = {window}: {executed[window]} mma, {_needed(window, everything)} are needed"
            for window in many
        ),
    }
    return [Point(part, 0 if found[part] else most, found[part] or "right") for part, most in POINTS.items()]


def _run(source: str, window: int) -> tuple[NDArray[Any], Simulation]:
    made = attention(3, **lesson.SMALL[3])
    q, k, v = (array[None] for array in lesson.problem())
    output = np.full(q.shape, np.nan, np.float16)
    arguments = made.arguments(q, k, v, output)
    kernel = ptxlab.kernel(f"#define WINDOW {window}\n{source}")
    result = kernel.simulate(
        made.grid(1, q.shape[1]), made.threads, *arguments, shared=made.shared, show=False, limit=200_000
    )
    return output[0], result


def _exact(Q: NDArray[Any], K: NDArray[Any], V: NDArray[Any], window: int) -> NDArray[Any]:
    """Attention through a sliding window, in float64."""
    q, k, v = (array.astype(np.float64) for array in (Q, K, V))
    before = np.arange(len(q))[:, None] - np.arange(len(k))
    scores = np.where((before >= 0) & (before < window), q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True) @ v)


def _products(result: Simulation) -> int:
    return sum(count for name, count in result.counts.items() if name.startswith("mma."))


def _needed(window: int, sequence: int) -> int:
    """mma instructions of the tiles that some query of a block sees: two products, for each of four warps."""
    queries, keys, head = 64, lesson.SMALL[3]["block_n"], lesson.SMALL[3]["head"]
    each = 4 * 2 * (keys // 8) * (head // 16)
    tiles = sum(
        (first + queries - 1) // keys - max(0, first - window + 1) // keys + 1
        for first in range(0, sequence, queries)
    )
    return each * tiles


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.capstone", description="Simulate a capstone of lesson 13, and give points."
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--start", action="store_true", help="write what students begin with to FILE")
    arguments = parser.parse_args()
    if arguments.start:
        write_atomically(arguments.file, start())
        return
    points = grade(arguments.file.read_text(encoding="utf-8"))
    for point in points:
        print(f"{point.points:3} of {POINTS[point.part]:2}  {point.part}: {point.reason}")
    print(f"{sum(point.points for point in points):3} of {sum(POINTS.values())}")


if __name__ == "__main__":
    main()
