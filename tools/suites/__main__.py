"""Run the kernels of published suites on the simulator, and compare what it says with what the suite says.

python -m tools.suites --gpuverify PATH --indigo PATH --ours [--clean] [--only WORDS] [--to FILE]

Each PATH is a copy of the suite; nothing is fetched. What differs from the suite is printed; `--to` keeps all
runs in a file, `--since` prints what is not as in such a file, and `--record` writes the page of such files,
docs/reference/suites.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ptxlab
from ptxlab._util.files import write_atomically

from . import gpuverify, indigo, ours, page, samples, scor
from .runs import Run

_SAMPLES = dict(zip(("sanitizer", "faial", "simulee"), samples.SAMPLES, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser("python -m tools.suites", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--ours", action="store_true", help="the kernels of this project that are right")
    for name in ("gpuverify", "scor", "indigo", *_SAMPLES):
        parser.add_argument(f"--{name}", type=Path, metavar="PATH", help="a copy of the suite")
    parser.add_argument(
        "--graphs", default=",".join(indigo.GRAPHS), help="graphs for Indigo's codes, by commas"
    )
    parser.add_argument("--clean", action="store_true", help="only what the suites call right")
    parser.add_argument("--only", default="", metavar="WORDS", help="only kernels with this in their name")
    parser.add_argument("--to", type=Path, metavar="FILE", help="keep every run there, as JSON")
    parser.add_argument("--since", type=Path, metavar="FILE", help="print what differs from these runs")
    parser.add_argument("--record", type=Path, nargs="+", metavar="FILE", help="write the page of these runs")
    options = parser.parse_args()
    if options.record:
        kept = [row for file in options.record for row in json.loads(file.read_text(encoding="utf-8"))]
        page.record(kept, _version())
        return
    rows = []
    for run in _runs(options):
        rows.append(run.as_row())
        if not options.since and (run.notes or run.verdict not in ("clean", "found")):
            _show(rows[-1])
    if options.to:
        write_atomically(options.to, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    if options.since:
        _compare(json.loads(options.since.read_text(encoding="utf-8")), rows)
    for (suite, verdict), count in sorted(Counter((row["suite"], row["verdict"]) for row in rows).items()):
        print(f"{suite}: {count} {verdict}")


def _version() -> str:
    """That of this checkout: the package's, and its commit."""
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return f"{ptxlab.__version__} ({commit})" if commit else ptxlab.__version__


def _runs(options: argparse.Namespace) -> Iterator[Run]:
    if options.ours:
        yield from ours.runs(options.only)
    if options.gpuverify:
        yield from gpuverify.runs(options.gpuverify, options.only, options.clean)
    if options.scor:
        yield from scor.runs(options.scor, options.only, options.clean)
    for option, suite in _SAMPLES.items():
        if folder := getattr(options, option):
            yield from samples.runs(suite, folder, options.only, options.clean)
    if options.indigo:
        yield from indigo.runs(options.indigo, options.only, tuple(options.graphs.split(",")), options.clean)


def _show(row: dict[str, Any]) -> None:
    claim = f" ({row['bug']})" if row["bug"] else ""
    print(f"{row['suite']} {row['name']}: {row['verdict']}{claim}", flush=True)
    for sentence in (*row.get("hazards", ()), *row.get("notes", ()), *filter(None, [row.get("refusal")])):
        print(f"    {sentence}")


def _compare(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    """Kernels whose verdict, kinds of hazards or number of notes are not what they were."""

    def said(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["verdict"], row.get("kinds", []), len(row.get("notes", ()))

    earlier = {(row["suite"], row["name"]): row for row in before}
    for row in after:
        old = earlier.get((row["suite"], row["name"]))
        if old is None or said(old) != said(row):
            print(f"\nwas {old['verdict'] if old else 'not run'} {(old or {}).get('kinds', '')}, now:")
            _show(row)


if __name__ == "__main__":
    main()
