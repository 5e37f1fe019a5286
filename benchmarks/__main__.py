"""Measure emulation and matmul and print the times; with --record keep them for the documentation."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ptxlab._util.files import write_atomically

from . import emulate, matmul

RESULTS = Path(__file__).with_name("results.json")


def processor() -> str:
    """The processor's name, where Linux tells it."""
    try:
        lines = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return platform.machine()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("Model name")), platform.machine()
    )


def versions() -> dict[str, str]:
    installed = {"python": platform.python_version()}
    for name in ("numpy", "ml_dtypes", "numba"):
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    return installed


def keep(results: dict[str, Any]) -> None:
    """Write results into the file; what other benchmarks recorded there stays."""
    recorded = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    write_atomically(RESULTS, json.dumps({**recorded, **results}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument(
        "--record",
        action="store_true",
        help=f"write {RESULTS.name}, from which `make docs` takes its figures",
    )
    args = parser.parse_args()
    machine: dict[str, Any] = {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }
    print(machine, versions())
    results = {
        "machine": machine,
        "versions": versions(),
        "emulate": emulate.measure(args.batch),
        "matmul": matmul.measure(),
    }
    if args.record:
        keep(results)


if __name__ == "__main__":
    main()
