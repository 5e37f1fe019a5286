"""Record the predicted times of the GEMM rungs for the project (minutes)."""

from __future__ import annotations

import json
from pathlib import Path

from ptxlab._util.files import write_atomically
from ptxlab.course import gemm_project
from ptxlab.gemm import ladder, rung

from .gemm_profiles import profile

FILE = Path(gemm_project.__file__).with_name(gemm_project.RUNGS_FILE)


def main() -> None:
    times = {}
    for row in ladder():
        predicted = profile(rung(row.number, None, result="f16"), *gemm_project.SIZES)
        times[str(row.number)] = round(predicted.microseconds, 1)
        print(row.number, f"{predicted.microseconds:.1f} us", flush=True)
    record = {"sizes": gemm_project.SIZES, "microseconds": times}
    write_atomically(FILE, json.dumps(record, indent=1) + "\n")
