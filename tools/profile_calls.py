"""How many Python calls and files of ptxlab three everyday things take.

    python -m tools.profile_calls           the figures
    python -m tools.profile_calls --list    with the functions that are called most, and the files

`ins(A, B)` is the second call, so that what is cached counts once; an edited cell is a message of the page
and all that is sent back; `import ptxlab` is measured in a process of its own, beyond NumPy.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

PACKAGE = f"{Path(__file__).resolve().parents[1] / 'ptxlab'}/"
MNEMONIC = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def count_calls(function: Callable[[], object]) -> Counter[tuple[str, str]]:
    """Calls of Python functions of ptxlab, by file and function."""
    calls: Counter[tuple[str, str]] = Counter()

    def record(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            calls[code.co_filename.removeprefix(PACKAGE), code.co_qualname] += 1

    sys.setprofile(record)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def product_calls() -> Counter[tuple[str, str]]:
    """Those of `ins(A, B)`, when it is called a second time."""
    import numpy as np

    import ptxlab

    ins = ptxlab.instruction(MNEMONIC)
    A, B = np.ones((16, 16)), np.ones((16, 8))
    ins(A, B)
    return count_calls(lambda: ins(A, B))


def edit_calls() -> Counter[tuple[str, str]]:
    """Those of one edited cell, from the page's message until everything is sent back."""
    import ptxlab

    ex = ptxlab.explore(MNEMONIC)
    message = {"type": "set_cell", "name": "A", "row": 3, "column": 5}
    for text in ("1", "2"):
        ex.page._handle_custom_msg({**message, "text": text}, [])
    return count_calls(lambda: ex.page._handle_custom_msg({**message, "text": "3"}, []))


def import_seconds(repeats: int = 5) -> float:
    """The fastest of several imports of ptxlab, beyond NumPy."""
    code = (
        "import time, numpy; start = time.perf_counter(); import ptxlab; print(time.perf_counter() - start)"
    )
    command = [sys.executable, "-c", code]
    return min(float(subprocess.check_output(command, text=True)) for _ in range(repeats))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="functions that are called most, and files")
    arguments = parser.parse_args()
    for title, calls in (("ins(A, B)", product_calls()), ("an edited cell", edit_calls())):
        by_file = Counter[str]()
        for (file, _), count in calls.items():
            by_file[file] += count
        print(f"{title}: {calls.total()} calls in {len(by_file)} files")
        if arguments.list:
            print("  " + ", ".join(f"{file} {count}" for file, count in by_file.most_common()))
            for (file, function), count in calls.most_common(60):
                print(f"  {count:4} {file}: {function}")
    print(f"import ptxlab: {import_seconds():.3f} s beyond NumPy")


if __name__ == "__main__":
    main()
