"""How much longer `import ptxlab` takes than `import numpy`: medians of fresh interpreters, in turns."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

GOAL = 0.15


def seconds(statement: str) -> float:
    """Wall time of a fresh interpreter that runs this statement."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return time.perf_counter() - begin


def main() -> None:
    """Print both medians, their difference and ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    statements = ("pass", "import numpy", "import ptxlab")
    for statement in statements:  # fill the caches of bytecode and of the disk
        seconds(statement)
    times: dict[str, list[float]] = {statement: [] for statement in statements}
    for _ in range(rounds):
        for statement in statements:
            times[statement].append(seconds(statement))
    empty, numpy, ptxlab = (statistics.median(times[statement]) for statement in statements)
    print(f"python -c pass   {empty:.3f} s")
    print(f"import numpy     {numpy:.3f} s")
    print(f"import ptxlab    {ptxlab:.3f} s")
    ratio = (ptxlab - empty) / (numpy - empty)
    print(f"over numpy       {ptxlab - numpy:.3f} s (goal: at most {GOAL} s), {ratio:.2f} times import numpy")


if __name__ == "__main__":
    main()
