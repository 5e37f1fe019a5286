"""Try to provoke each kind of hazard on a GPU: the same kernel with and without a wait, fence or barrier.

python -m tools.probe_hazards [kind or probe ...] [--seconds 4] [--to FILE]

The file, ptxlab/simulator/hazard_probes.json if nothing else is said, is what evidence of hazards is taken
from: `python -m tools.hazards` writes the page with it. Kernels that hang or end with an error are not tried.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ptxlab
from ptxlab._util.files import write_atomically
from ptxlab.gpu.device import check_device
from ptxlab.simulator.hazard import KINDS, PROBES

FILE = Path(__file__).parents[1] / "tests" / "kernels" / "hazards" / "probes.cu"
SOURCE = FILE.read_text(encoding="utf-8")
#: Probe -> the kind of hazard that it has without what is left out.
KIND_OF = {
    "race_of_warps": "race",
    "race_of_lanes": "race",
    "overtaken_read": "race",
    "cp_async_wait": "missing wait",
    "bulk_wait": "missing wait",
    "bulk_source": "missing wait",
    "bulk_result": "missing wait",
    "bulk_proxy": "missing proxy fence",
    "bulk_overwrite": "missing proxy fence",
    "init_fence": "mbarrier.init without fence",
    "wgmma_proxy": "missing proxy fence",
    "wgmma_copied": "cp.async without proxy fence",
    "wgmma_own_rows": "own rows of A",
    "wgmma_other_rows": "race",
    "wgmma_wait": "wgmma registers",
    "wgmma_fence": "missing wgmma.fence",
    "wide_atomics": "not atomic",
    "cta_scope": "narrow scope",
    "default_scope": "narrow scope",
    "hand_back": "narrow scope",
    "hand_back_shared": "default scope",
    "flag_acquire": "race",
    "flag_acquire_emptied": "flag without acquire",
    "bulk_over_shared": "missing proxy fence",
    "volatile_warps": "race",
    "volatile_lanes": "warp-synchronous code",
    "volatile_update": "race",
    "constant_loads": "written constants",
    "two_scopes": "race",
}
_THREADS = 128
_WORDS = 65536


def left_out(probe: str) -> str:
    """What the probe leaves out, and where it would stand."""
    match = re.search(rf"PROBE\({probe}\) {{  // (.*)", SOURCE)
    assert match is not None
    return match[1]


@cache
def _compiled(fixed: bool) -> Any:
    return ptxlab.kernel(SOURCE, "race_of_warps", "sm_90a", ["-DFIXED"] if fixed else [])


def kernel(probe: str, fixed: bool) -> Any:
    """A kernel of the file; all are compiled at once."""
    made = copy(_compiled(fixed))
    made.function = made.module.functions[probe]
    made._image = None
    return made


def arguments(blocks: int, iterations: int) -> list[Any]:
    """What every probe takes; counts come first."""
    words = np.arange(_WORDS, dtype=np.uint32) * np.uint32(2654435761)
    halves = np.repeat(np.arange(1, 65, dtype=np.float16), 1024).view(np.uint32)
    return [np.zeros(2, np.uint64), words, np.zeros(blocks * _THREADS, np.uint32), halves, iterations]


def _counts(probe: str, fixed: bool, blocks: int, seconds: float) -> tuple[int, int]:
    """Wrong results, and results, of launches that take some seconds."""
    made = kernel(probe, fixed)
    given = arguments(blocks, 100)
    made.launch(blocks, _THREADS, *given)  # compiles
    iterations, end = 1000, time.perf_counter() + seconds
    given[0][:] = 0
    while time.perf_counter() < end:
        given[-1] = iterations
        start = time.perf_counter()
        made.launch(blocks, _THREADS, *given)
        if time.perf_counter() - start < seconds / 8:
            iterations *= 2
    return int(given[0][0]), int(given[0][1])


def main() -> None:
    """Run the probes, print and keep what they counted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wanted", nargs="*", metavar="kind or probe")
    parser.add_argument("--seconds", type=float, default=4, help="for each of the two kernels of a probe")
    parser.add_argument("--blocks", type=int, default=1056, help="load shows what an idle chip hides")
    parser.add_argument("--to", type=Path, default=PROBES)
    chosen = parser.parse_args()
    unknown = set(chosen.wanted) - set(KINDS) - set(KIND_OF)
    if unknown:
        parser.error(f"{sorted(unknown)}: neither a kind nor one of {', '.join(KIND_OF)}")
    rows = json.loads(chosen.to.read_text(encoding="utf-8")) if chosen.to.exists() else {}
    for probe, kind in KIND_OF.items():
        if chosen.wanted and not {probe, kind} & set(chosen.wanted):
            continue
        try:
            wrong, total = _counts(probe, False, chosen.blocks, chosen.seconds)
            fixed_wrong, fixed_total = _counts(probe, True, chosen.blocks, chosen.seconds)
        except ptxlab.PtxlabError as error:
            print(f"{probe}: {error}", flush=True)
            continue
        print(
            f"{probe}: {wrong:.3g} of {total:.3g} wrong, {fixed_wrong:.3g} of {fixed_total:.3g} with it",
            flush=True,
        )
        rows[probe] = {
            "kind": kind,
            "left out": left_out(probe),
            "on": check_device().name,
            "wrong": wrong,
            "total": total,
            "wrong with it": fixed_wrong,
            "total with it": fixed_total,
        }
        write_atomically(chosen.to, json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
