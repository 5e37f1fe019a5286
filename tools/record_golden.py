"""python -m tools.record_golden [FOLDER]: record what an H200 gives. Nothing here looks at the emulator."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab import Instruction, gpu
from ptxlab._util.files import write_atomically
from ptxlab.gpu import codegen as kernel
from ptxlab.isa.modifiers import Modifiers

from .golden import FOLDER, SAMPLES, SEED, cases, digest, further, groups, load, narrowed, variants


def _compile(job: tuple[str, str]) -> None:
    gpu.compile(*job)


def compile_all(chosen: Iterable[list[Instruction]]) -> None:
    """Fill the kernel cache for these groups, on all cores: most of a first run is compiling."""
    target = gpu.device_target()
    jobs = [
        (kernel.source(ins, Modifiers(selector=selector)), target)
        for group in chosen
        for form in group
        for _, ins, selector in variants(form)
    ]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        list(pool.map(_compile, jobs, chunksize=8))


def known() -> tuple[dict[str, dict[str, list[str]]], dict[str, Any]]:
    """What is recorded already and is not recorded again; to record everything, remove the files."""
    if not (FOLDER / "digests.json").exists():
        return {}, {}
    digests, samples = load()
    return digests, dict(samples)


def main() -> None:
    print(gpu.status(), file=sys.stderr)
    if gpu.device_target() != "sm_90a":
        sys.exit("golden vectors are those of sm_90a")
    digests, samples = known()
    missing = [group for group in groups().values() if not all(ins.mnemonic in digests for ins in group)]
    compile_all(missing)
    for group in missing:
        for category, selector, operands in cases(group, SEED):
            for ins in group:
                parts = narrowed(operands, group[-1], ins)
                for name, form, chosen in variants(ins):
                    if chosen != selector:
                        continue
                    part = parts[form.a_space]
                    d = form.run(part.a, part.b, part.c, part.e, selector=selector)
                    digests.setdefault(form.mnemonic, {}).setdefault(name, []).append(digest(d))
                    if form.lanes == 32 or (form.n == 8 and name == "register"):
                        samples[f"{form.mnemonic}|{name}|{category}"] = d[:SAMPLES]
        print(f"{group[0].mnemonic}: {len(group)} forms", file=sys.stderr, flush=True)
    for ins in (ins for group in groups().values() for ins in group if "extra" not in digests[ins.mnemonic]):
        corners = [digest(ins.run(part.a, part.b, part.c, part.e)) for _, part in further(ins)]
        if corners:
            digests[ins.mnemonic]["extra"] = corners
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    lines = [
        f"{json.dumps(name)}: {json.dumps(rows, separators=(',', ':'))}" for name, rows in digests.items()
    ]
    write_atomically(folder / "digests.json", "{\n" + ",\n".join(lines) + "\n}\n")
    archive = io.BytesIO()
    np.savez_compressed(archive, **samples)
    write_atomically(folder / "samples.npz", archive.getvalue())


if __name__ == "__main__":
    main()
