"""Golden results of an H200 (tests/golden) and the inputs they belong to: the emulator must reproduce them.

For every form that sm_90a has, `digests.json` holds a digest of all result registers for each category of
inputs, and under "extra" one for each corner case; `samples.npz` holds the first results in full, so that
a difference can be inspected. `ptxlab.verify.inputs` makes the inputs from a seed. ``python -m
tools.record_golden`` records them on the GPU.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ptxlab import Instruction
from ptxlab.instruction import mma_instructions
from ptxlab.isa.operands import Operands
from ptxlab.verify import inputs

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden"
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
) -> Iterator[tuple[str, int, Operands]]:
    """(category, selector, operands for the widest of the group), with `times` the usual number of MMAs."""
    widest = group[-1]
    for category in inputs.categories(widest) if categories is None else categories:
        for selector in dict.fromkeys(selector for _, _, selector in variants(widest)):
            yield category, selector, inputs.make(widest, category, times * count(widest), seed, selector)


def further(ins: Instruction) -> Iterator[tuple[str, Operands]]:
    """(category, operands) of the directed categories that are recorded, a few MMAs of each."""
    for category in further_categories(ins):
        yield category, inputs.make(ins, category, FEW, SEED)


def further_categories(ins: Instruction) -> tuple[str, ...]:
    """The directed categories that are recorded: those of all forms but the larger ones of wgmma."""
    return inputs.directed_categories(ins) if ins.n == 8 or ins.lanes == 32 else ()


def narrowed(operands: Operands, widest: Instruction, ins: Instruction) -> dict[str, Operands]:
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
