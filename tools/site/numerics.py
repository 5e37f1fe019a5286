"""The page of the arithmetic: what each chip does with sums and rounding, and how that is known."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ptxlab import models
from ptxlab._util.files import write_atomically
from ptxlab.instruction import mma_instruction
from ptxlab.isa.targets import GENERATIONS
from ptxlab.numerics import has
from ptxlab.views import model_table, rule_words

from .markdown import Page, badge, code, definitions, table

__all__ = ["page", "write"]

_EVIDENCE = {
    "measured": "compared with recorded results of a real GPU, raw registers in and out, without tolerance",
    "published": "taken from a paper or from the manual, which is named",
    "assumed": "neither; taken over from the nearest architecture",
}


def write(folder: Path) -> None:
    write_atomically(folder / "numerics.md", str(page()))


def page() -> Page:
    out = Page("Arithmetic")
    out.add(
        "Integer and bit instructions are exact, wrapped or clamped. For floating point the PTX ISA leaves "
        "the order of additions and the rounding open; ptxlab states them for each chip as a row of data, "
        "and says how it is known.",
        definitions((badge(name), text) for name, text in _EVIDENCE.items()),
    )
    out.heading(2, "What an H200 does with floats")
    out.add(
        "Products are exact. Products and C are aligned to the largest exponent of the non-zero ones (at "
        "least 2^-133, or 2^-21 where a step ends in f16) and truncated toward zero: 25 bits below it for "
        "f16, bf16 and tf32, 13 bits for the FP8 of `wgmma`. Their sum is exact; it is truncated toward "
        "zero for f32, or rounded to nearest even for f16. A zero result is +0. The chip has no FP8 "
        "`mma.sync`: the compiler converts the elements to f16, runs the lower and the upper pairs of each "
        "register through two such steps that start from zero, and adds C at the end. "
        "`ptxlab/numerics/fused_plain.py` is the step in plain Python, for one element."
    )
    out.heading(2, "What a B200 does with tcgen05.mma")
    out.add(
        "The same for every floating-point kind: 25 bits below the largest exponent, in one step over all "
        "of K, FP8, FP6 and FP4 included. Scales of `kind::mxf8f6f4` are powers of two and only move the "
        "products. Of `kind::mxf4` and `kind::mxf4nvf4` 16 products are summed exactly and multiplied by "
        "their two scales; these sums and C are truncated 35 bits below the largest exponent, and the "
        "exponent of a sum is that of its scales. No Blackwell GPU was at hand: the rules are what others "
        "measured, and the 74 words of a B200 that they published are what ptxlab computes."
    )
    _example(out)
    records = model_table().records()
    for chip in dict.fromkeys(model.chip for model in models()):
        out.heading(2, f"{GENERATIONS[chip]} ({chip})")
        for model, record in zip(models(), records, strict=True):
            if model.chip == chip:
                confined = f", only {record['only']}" if record["only"] else ""
                title = f"**{', '.join(model.inputs)}** in {', '.join(map(code, model.families))}{confined}"
                compared = f", {model.mmas:,} MMAs of each form" if model.mmas else ""
                out.add(f"{title} {badge(model.evidence)}{compared}")
                out.add(definitions(rule_words(model.rule).items()))
                out.add(f"Source: {model.source}.")
    return out


def _example(out: Page) -> None:
    """A sum in which the alignment shows, computed with each model that has the instruction."""
    ins = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    chips = [chip for chip in GENERATIONS if has(ins, chip)]
    out.heading(2, "A sum that shows it")
    out.add(
        f"{code(ins.mnemonic)}: a row of A holds one product of 1 and eight products of 2^-j; C is 0. The "
        "exact sum fits f32 in every line. Products are truncated before they are added, so small ones "
        "vanish beside a large one even where together they would count:"
    )
    rows = []
    for exponent in range(22, 27):
        A, B = np.zeros(ins.a.shape), np.zeros(ins.b.shape)
        A[0, 0] = B[0, 0] = 1.0
        A[0, 1:9], B[1:9, 0] = 2.0**-13, 2.0 ** (13 - exponent)
        results = [float(ins(A, B, model=chip)[0, 0]) for chip in chips]
        exact = float((A @ B)[0, 0])
        rows.append((str(exponent), _beyond_one(exact), *map(_beyond_one, results)))
    heads = (f"D on {code(chip)}<br>{GENERATIONS[chip]}" for chip in chips)
    out.add(table(("j", "exact sum", *heads), rows, numbers=(0,)))


def _beyond_one(value: float) -> str:
    """``1 + 2^-20``, or ``1``."""
    if value == 1:
        return "1"
    mantissa, exponent = math.frexp(value - 1)
    factor = "" if mantissa == 0.5 else f"{2 * mantissa:g}·"
    return f"1 + {factor}2<sup>{exponent - 1}</sup>"
