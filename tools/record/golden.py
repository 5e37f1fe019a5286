"""Golden results of an H200 (tests/golden) and the inputs they belong to: the emulator must reproduce them.

For every form that sm_90a has, `digests.json` holds a digest of all result registers for each category of
inputs, and under "extra" one for each corner case; `samples.npz` holds the first results in full, so that
a difference can be inspected. `ptxlab.inputs` makes the inputs from a seed. ``python -m
tools.record golden`` records them on the GPU.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab import Instruction, gpu, inputs
from ptxlab._util.files import write_atomically
from ptxlab.gpu import codegen as kernel
from ptxlab.instruction import mma_instructions
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.operation import Operation

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "golden"
SEED = 2026
SAMPLES = 1  # results of each category that are kept in full
FEW = 16  # MMAs of the larger forms of wgmma, of which one has up to 16,384 elements of D


def count(ins: Instruction) -> int:
    """MMAs of each category: at least 1,000 for a form, but only a few for wgmma with N = 16 and more."""
    return FEW if ins.n > 8 and ins.lanes == 128 else -(-1000 // len(inputs.categories(ins)))


def groups() -> dict[str, list[Instruction]]:
    """Forms of the sm_90a catalogue that share their inputs.

    The forms of wgmma with N = 16 and more read columns of the widest one, which comes last. WMMA's layouts
    in memory make no difference in registers.
    """
    forms: dict[str, list[Instruction]] = {}
    for ins in mma_instructions(target="sm_90a"):
        key = ins.mnemonic
        if ins.lanes == 128 and ins.n > 8:
            key = key.replace(f"n{ins.n}k", "nNk")
        elif ins.family == "wmma":
            key = key.replace(f".{ins.a_layout}.{ins.b_layout}", "")
        forms.setdefault(key, []).append(ins)
    return forms


def variants(ins: Instruction) -> Iterator[tuple[str, Instruction, int]]:
    """(name, instruction, selector): both places of A for wgmma, each selector for the others.

    tests/gpu/test_instructions.py has the second selector of wgmma.
    """
    if ins.lanes == 128:
        for space in ("register", "shared"):
            yield space, ins.a_from(space), 0
    else:
        for selector in ins.selectors or (0,):
            yield str(selector), ins, selector


def cases(
    group: list[Instruction], seed: int, times: int = 1, categories: Sequence[str] | None = None
) -> Iterator[tuple[str, int, Operation]]:
    """(category, selector, operands for the widest of the group), with `times` the usual number of MMAs."""
    widest = group[-1]
    for category in inputs.categories(widest) if categories is None else categories:
        for selector in dict.fromkeys(selector for _, _, selector in variants(widest)):
            yield category, selector, inputs.make(widest, category, times * count(widest), seed, selector)


def further(ins: Instruction) -> Iterator[tuple[str, Operation]]:
    """(category, operands) of the directed categories that are recorded, a few MMAs of each."""
    for category in further_categories(ins):
        yield category, inputs.make(ins, category, FEW, SEED)


def further_categories(ins: Instruction) -> tuple[str, ...]:
    """The directed categories that are recorded: those of all forms but the larger ones of wgmma."""
    return inputs.directed_categories(ins) if ins.n == 8 or ins.lanes == 32 else ()


def narrowed(operands: Operation, widest: Instruction, ins: Instruction) -> dict[str, Operation]:
    """The same inputs for a form with fewer columns, by the place of A."""
    if ins.n != widest.n:
        c = ins.c.pack_codes(widest.c.unpack_codes(operands.c)[..., : ins.n])
        operands = replace(operands, b=operands.b[..., : ins.n], c=c)
    in_registers = in_shared = replace(operands, ins=ins)
    if ins.lanes == 128:
        codes = ins.a.unpack_codes(operands.a)
        in_shared = replace(in_registers, ins=ins.a_from("shared"), a=codes)
    return {"register": in_registers, "shared": in_shared}


def digest(registers: np.ndarray[Any, Any]) -> str:
    """A short digest of registers, the same on machines of either byte order."""
    little_endian = np.ascontiguousarray(registers, dtype=f"<u{registers.dtype.itemsize}")
    return hashlib.sha256(little_endian.tobytes()).hexdigest()[:16]


def load() -> tuple[dict[str, dict[str, list[str]]], Any]:
    return json.loads((FOLDER / "digests.json").read_text()), np.load(FOLDER / "samples.npz")


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


def main(folder: Path = FOLDER) -> None:
    """Record what an H200 gives. Nothing here looks at the emulator."""
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
    lines = [
        f"{json.dumps(name)}: {json.dumps(rows, separators=(',', ':'))}" for name, rows in digests.items()
    ]
    write_atomically(folder / "digests.json", "{\n" + ",\n".join(lines) + "\n}\n")
    archive = io.BytesIO()
    np.savez_compressed(archive, **samples)
    write_atomically(folder / "samples.npz", archive.getvalue())
