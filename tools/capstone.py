"""python -m tools.capstone FILE: the points of a capstone that a simulation can give.

The task: kernel 3 of lesson 15 with a sliding window. Query i sees the `WINDOW` keys up to its own place.
FILE is the whole source; `python -m tools.capstone FILE --start` writes the one to begin with. `WINDOW` is
defined before its first line. No GPU is needed. docs/teaching.md has the points that a reader gives.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

import ptxlab
from ptxlab._util.files import write_atomically
from ptxlab.course.exercises import attention as lesson
from ptxlab.gemm import attention
from ptxlab.gemm.attention_kernel import Attention
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
    return _kernel().source


def _kernel() -> Attention:
    return attention(3, **lesson.SMALL[3])


def grade(source: str) -> list[Point]:
    """Simulate a kernel with several windows, and give points."""
    Q, K, V = lesson.problem()
    everything = len(Q)
    try:
        runs = {
            window: lesson.launched(_kernel(), f"#define WINDOW {window}\n{source}", Q, K, V)
            for window in (*_WINDOWS, everything)
        }
    except ptxlab.PtxlabError as error:
        return [Point(part, 0, f"it does not compile, or stops: {error}") for part in POINTS]
    errors = {window: np.abs(runs[window][0] - lesson.exact(Q, K, V, window=window)) for window in _WINDOWS}
    wrong = [window for window, error in errors.items() if not error.max() < _TOLERANCE]  # NaN is wrong, too
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


def _products(result: Simulation) -> int:
    return sum(count for name, count in result.counts.items() if name.startswith("mma."))


def _needed(window: int, sequence: int) -> int:
    """mma instructions of the tiles that some query of a block sees: two products, for each of four warps."""
    queries, keys, head = 64, lesson.SMALL[3]["block_n"], lesson.SMALL[3]["head"]
    per_tile = 4 * 2 * (keys // 8) * (head // 16)
    tiles = sum(
        (first + queries - 1) // keys - max(0, first - window + 1) // keys + 1
        for first in range(0, sequence, queries)
    )
    return per_tile * tiles


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.capstone", description="Simulate a capstone of lesson 15, and give points."
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
