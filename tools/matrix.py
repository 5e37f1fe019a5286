"""python -m tools.matrix [ROW ...]: the quick tests on each Python, with oldest packages, without some.

`make matrix` calls it. uv makes an environment for each row, and brings a Python where it can. A row whose
Python or packages cannot be had is named and not counted as failed; `--strict` counts it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.check_release import QUICK, ROOT, environment, find_uv, install

__all__ = ["ROWS", "Row", "main", "oldest", "requirements"]

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
#: What the tests without the optional parts need.
_TEST_TOOLS = ("hypothesis", "pytest>=9", "pytest-xdist")
#: Packages whose oldest version is tried.
_PINNED = ("anywidget", "ipywidgets", "ml_dtypes", "numpy", "plotly")


@dataclass(frozen=True)
class Row:
    """One environment; `without` are packages that are removed after the installation of `extra`."""

    python: str = sys.executable
    extra: str = "test"
    oldest: bool = False
    without: tuple[str, ...] = ()
    tests: tuple[str, ...] = ("tests",)


_SUPPORTED = [
    line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", line)
]
_CUDA = tuple(re.split(r"[<>=;\[ ]", line)[0] for line in PROJECT["optional-dependencies"]["cuda13"])
#: Tests of what NumPy and ml_dtypes suffice for; those that want more skip and say so.
_BARE = ("tests/isa", "tests/memory", "tests/numerics", "tests/cli", "tests/util")
ROWS = {
    **{f"python{version}": Row(version) for version in _SUPPORTED},
    "oldest": Row(_SUPPORTED[0], oldest=True),
    "no-numba": Row(without=("numba",)),
    "no-cuda": Row(without=(*_CUDA, "nvidia-cuda-nvcc"), tests=_BARE),
    "bare": Row(extra="", tests=_BARE),
}


def oldest() -> list[str]:
    """The oldest versions that pyproject.toml allows of the packages that matter most.

    >>> "numpy==2.0" in oldest()
    True
    """
    lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["lab"]]
    return [line.replace(">=", "==") for line in lines if line.partition(">=")[0] in _PINNED]


def requirements(row: Row) -> list[str]:
    """What is installed for a row, by uv, in the root of the repository.

    >>> requirements(Row(extra=""))[:2]
    ['--editable', '.']
    """
    listed = ["--editable", f".[{row.extra}]" if row.extra else "."]
    if not row.extra:
        listed += _TEST_TOOLS
    if row.oldest:
        listed += oldest()
    return listed


def _try(row: Row, folder: Path, arguments: list[str]) -> tuple[str, str]:
    """The result of a row, "passed", "failed" or "not tried", and one line about it."""
    try:
        python = environment(folder, row.python)
    except subprocess.CalledProcessError:
        return "not tried", f"there is no Python {row.python} here, and uv could not bring one"
    try:
        install(python, *requirements(row))
        if row.without:
            uv = find_uv()
            assert uv
            command = [uv, "pip", "uninstall", "--quiet", "--python", str(python), *row.without]
            subprocess.run(command, check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as problem:
        lines = str(problem.stderr or problem).strip().splitlines()
        return "not tried", next((line for line in lines if line.startswith("error")), lines[-1])
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile"]
    if row.oldest:  # ipywidgets 8.1.0 asks traitlets in a way that newer traitlets call old
        command += ["-W", "ignore::DeprecationWarning"]
    command += ["-m", f"{QUICK} and not gpu", *arguments, *row.tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines() or done.stderr.strip().splitlines()
    for line in lines:
        if line.startswith(("FAILED", "ERROR", "SUBFAILED")):
            print(f"  {line}", flush=True)
    return ("failed" if done.returncode else "passed"), lines[-1].strip("= ")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"all, or some of {', '.join(ROWS)}")
    parser.add_argument("--strict", action="store_true", help="a row that cannot be tried counts as failed")
    parser.add_argument("--pytest", default="", metavar="ARGUMENTS", help="more arguments for pytest")
    options = parser.parse_args(argv)
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"no row {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    if find_uv() is None:
        print("the matrix needs uv: pip install uv", file=sys.stderr)
        return 1
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()  # uv finds only what is on the path
    os.environ["PATH"] = os.pathsep.join([*map(str, pyenv.glob("versions/3.*/bin")), os.environ["PATH"]])
    results = {}
    for name in options.rows or ROWS:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            result, line = _try(ROWS[name], Path(folder) / name, options.pytest.split())
        results[name] = result
        print(f"{name:<12} {result:<10} {time.monotonic() - start:4.0f} s  {line}", flush=True)
    failed = "failed" in results.values() or (options.strict and "not tried" in results.values())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
