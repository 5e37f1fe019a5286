"""python -m tools.record hunts REPORT...: record how many MMAs of each form were compared on an H200.

The reports are those of tools.hunt_all and tools.hunt_wgmma.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptxlab._util.files import write_atomically

from .golden import FOLDER

FILE = FOLDER / "hunted.json"


def entries(report: dict[str, Any]) -> dict[str, list[int]]:
    """Mnemonic -> [MMAs, seed] of one report; a difference or a failure ends the program."""
    compared = {}
    for name, row in report.get("forms", report).items():
        wrong = {
            key: row[key] for key in ("error", "differences", "differing", "emulate_differs") if row.get(key)
        }
        if wrong:
            sys.exit(f"{name}: {wrong}")
        compared[name] = [row["mmas"], row.get("seed", report.get("seed"))]
    return compared


def main(reports: Sequence[Path]) -> None:
    runs: dict[str, list[list[int]]] = {}
    for path in reports:
        for name, entry in entries(json.loads(path.read_text())).items():
            runs.setdefault(name, []).append(entry)
    lines = [
        f"{json.dumps(name)}: {json.dumps(rows, separators=(',', ':'))}"
        for name, rows in sorted(runs.items())
    ]
    write_atomically(FILE, "{\n" + ",\n".join(lines) + "\n}\n")
    counts = [sum(row[0] for row in rows) for rows in runs.values()]
    print(f"{len(runs)} forms, {sum(counts):,} MMAs, at least {min(counts):,} each")
