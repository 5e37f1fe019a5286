"""python -m tools.leaderboard FOLDER: the times of a class in the project of five GEMMs.

FOLDER has the files that `gemm_project.record` wrote, one for each reader. With `--again` every kernel is
checked once more, and a time that its source does not reach is named; that takes some ten seconds a kernel.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ptxlab.course import gemm_project

__all__ = ["main", "unproven"]

_NEAR = 1.02  # times of the same kernel by two versions of a compiler


def unproven(folder: Path) -> list[str]:
    """The recorded times that their sources do not reach when they are checked again."""
    names = []
    for entry in gemm_project.entries(folder):
        verdict = gemm_project.check(entry.step, entry.source)
        words = f"{entry.name}, step {entry.step}: {entry.microseconds} µs are recorded"
        if not verdict or verdict.microseconds is None:
            names.append(f"{words}; {verdict}")
        elif verdict.microseconds > _NEAR * entry.microseconds:
            names.append(f"{words}; its source takes {verdict.microseconds:.1f} µs")
    return names


def main() -> None:
    """Print the table; with `--again`, what could not be confirmed."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.leaderboard", description="The times of a class in the project of five GEMMs."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--again", action="store_true", help="check every kernel again")
    arguments = parser.parse_args()
    if arguments.again:
        for sentence in unproven(arguments.folder):
            print(sentence)
    print(gemm_project.leaderboard(arguments.folder))


if __name__ == "__main__":
    main()
