"""Record the predicted times of the GEMM rungs for lesson 13: python -m tools.record gemm_profiles (minutes)

A timeline for every rung, of a product small enough that its tiles begin and end within the picture, and the
predicted microseconds of the product that was measured.
"""

from __future__ import annotations

import base64
import bz2
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, fields
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab._util.files import write_atomically
from ptxlab.course import reader_kernels
from ptxlab.course.exercises import from_instruction_to_gemm as gemm_ladder
from ptxlab.gemm import Rung, ladder, rung
from ptxlab.simulator.timing.launch_profile import LaunchProfile
from ptxlab.simulator.timing.stalls import REASONS

FILE = Path(reader_kernels.__file__).parent / gemm_ladder.PROFILES_FILE


def profile(chosen: Rung, m: int, n: int, k: int) -> LaunchProfile:
    """The profile of a rung with matrices of these sizes; zeros, since time does not depend on values."""
    call = chosen.call(np.zeros((m, k), np.float16), np.zeros((k, n), np.float16))
    return chosen.kernel.profile(call.grid, call.block, *call.arguments, shared=call.shared)


def packed(made: LaunchProfile) -> dict[str, Any]:
    """A profile as JSON: its timeline as far as the picture goes, only code that is in it, no source."""
    steps = np.rint(made.timeline[made.timeline[:, 4] < gemm_ladder.CYCLES]).astype(np.int64)
    steps = steps[np.lexsort((steps[:, 4], steps[:, 0]))]
    used, steps[:, 1] = np.unique(steps[:, 1], return_inverse=True)
    steps[:, 2] = steps[:, 4] - steps[:, 2]
    steps[:, 3] = steps[:, 4] - steps[:, 3]
    columns = bz2.compress(np.diff(steps, axis=0, prepend=0).T.tobytes())
    left_out = ("source", "again")  # the text is the rung's
    record = {
        attribute.name: getattr(made, attribute.name)
        for attribute in fields(made)
        if attribute.name not in left_out
    }
    record["work"] = asdict(made.work)
    record["work"]["tensor"] = [[*types, count] for types, count in made.work.tensor.items()]
    record["code"] = [made.code[number] for number in used.tolist()]
    record["timeline"] = base64.b64encode(columns).decode()
    return record


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return asdict(value)


def _job(stages: int | None, number: int, m: int, n: int, k: int) -> dict[str, Any]:
    constants = {} if stages is None else {"stages": stages}
    return packed(profile(rung(number, None, result="f16", **constants), m, n, k))


def main() -> None:
    size = (gemm_ladder.SIZE,) * 3
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        jobs = {("profiles", row.number): (None, row.number, *gemm_ladder.SHOWN) for row in ladder()}
        jobs |= {("rates", row.number): (None, row.number, *size) for row in ladder()}
        jobs |= {("rates", f"9, {stages} stages"): (stages, 9, *size) for stages in gemm_ladder.STAGES}
        made = {name: pool.submit(_job, *arguments) for name, arguments in jobs.items()}
        record: dict[str, Any] = {"reasons": REASONS, "profiles": {}, "rates": {}}
        for (what, name), future in made.items():
            done = future.result()
            rate = round(2e-6 * gemm_ladder.SIZE**3 / done["microseconds"])
            record[what][str(name)] = done if what == "profiles" else rate
            print(what, name, f"{done['microseconds']:.1f} us", flush=True)
    sources = {str(row.number): rung(row.number, None, result="f16").source for row in ladder()}
    record["sources"] = {name: reader_kernels.digest(source) for name, source in sources.items()}
    write_atomically(FILE, bz2.compress(json.dumps(record, default=_plain).encode()))
    print(f"{FILE.stat().st_size:,} bytes")
