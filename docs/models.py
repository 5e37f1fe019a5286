"""The page of the arithmetic: what every chip does with sums and rounding, and how that is known."""

from __future__ import annotations

import dataclasses
import inspect
import math
from html import escape

import numpy as np

import ptxlab
from ptxlab import numerics as arithmetic
from ptxlab.isa.catalog import FAMILIES
from ptxlab.views import model_table

from .docstrings import prose
from .family import family_file
from .page import Page, code, link, slug, table

__all__ = ["build"]

_EVIDENCE = {
    "measured": "held to recorded results of a real GPU, raw registers in and out, without tolerance",
    "published": "taken from a paper or from the manual, which is named",
    "assumed": "neither; taken over from the nearest architecture",
}


def build() -> Page:
    page = Page(
        "models.html",
        "Models of the arithmetic",
        "What every chip does with sums and rounding, and how that is known.",
    )
    page.head(1, "Models of the arithmetic", listed=False)
    page.add(
        "<p>Integer and bit instructions are exact, wrapped or clamped. For floating point the PTX ISA leaves the order of additions and the rounding "
        "open; ptxlab states them for every chip as a row of data, and says how it is known.</p>"
    )
    page.head(2, "Evidence")
    page.add(
        '<dl class="facts">'
        + "".join(f"<div><dt>{_badge(name)}</dt><dd>{said}</dd></div>" for name, said in _EVIDENCE.items())
        + "</dl>"
    )
    page.head(2, "All models")
    chips = dict.fromkeys(model.chip for model in ptxlab.models())
    for chip in chips:
        anchor = page.head(3, f"{code(chip)} <small>{arithmetic.GENERATIONS[chip]}</small>", short=chip)
        page.find(chip, "model of the arithmetic", anchor)
        told = zip(ptxlab.models(), model_table().records(), strict=True)
        rows = [_row(model, said["only"]) for model, said in told if model.chip == chip]
        page.add(
            table(
                ("A and B", "families", "only", "rule", "evidence", "source"), rows, label=f"Models of {chip}"
            )
        )
    _example(page)
    page.head(2, "The rules")
    for kind in _rules():
        page.head(3, escape(kind.__name__), page.anchor(f"rule-{slug(kind.__name__)}"))
        page.add(prose(inspect.getdoc(kind) or ""))
    return page


def _example(page: Page) -> None:
    """One sum in which the alignment shows, computed with every model that has it."""
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    chips = [chip for chip in arithmetic.CHIPS if arithmetic.has(ins, chip)]
    page.head(2, "A sum in which it shows")
    page.add(
        f"<p>{code(ins.mnemonic)}: a row of A holds one product of 1 and eight products of 2<sup>-j</sup>; C is 0. The exact sum fits f32 in every line. "
        "Products are cut before they are added, so that small ones vanish beside a large one even where together they would count:</p>"
    )
    rows = []
    for small in range(22, 27):
        A, B = np.zeros(ins.a.shape), np.zeros(ins.b.shape)
        A[0, 0] = B[0, 0] = 1.0
        A[0, 1:9], B[1:9, 0] = 2.0**-13, 2.0 ** (13 - small)
        exact = float((A @ B)[0, 0])
        given = [float(ins(A, B, model=chip)[0, 0]) for chip in chips]
        rows.append((str(small), _beyond_one(exact), *(_beyond_one(value) for value in given)))
    page.add(
        table(
            (
                "j",
                "exact sum",
                *(f"D on {code(chip)}<br><small>{arithmetic.GENERATIONS[chip]}</small>" for chip in chips),
            ),
            rows,
            numbers=(0,),
            label="Eight small products beside a one",
        )
    )


def _beyond_one(value: float) -> str:
    """``1 + 2^-20``, or ``1``."""
    if value == 1:
        return "1"
    mantissa, exponent = math.frexp(value - 1)
    factor = f"{2 * mantissa:g}·" if mantissa != 0.5 else ""
    return f'<span class="number">1 + {factor}2<sup>{exponent - 1}</sup></span>'


def _rules() -> list[type]:
    """The kinds of rule that models have, with those inside others."""
    found: dict[type, None] = {}
    todo: list[object] = [model.rule for model in ptxlab.models()]
    while todo:
        rule = todo.pop(0)
        if dataclasses.is_dataclass(rule):
            found[type(rule)] = None
            todo += vars(rule).values()
    return list(found)


def _badge(evidence: str) -> str:
    return f'<span class="badge {escape(evidence)}">{escape(evidence)}</span>'


def _row(model: arithmetic.Model, only: str) -> tuple[str, ...]:
    families = ", ".join(
        link(code(family), family_file(family)) if family in FAMILIES else code(family)
        for family in model.families
    )
    count = f"<br><small>{model.mmas:,} MMAs a form</small>" if model.mmas else ""
    return (
        escape(", ".join(model.inputs)),
        families,
        escape(only),
        _rule(model.rule),
        _badge(model.evidence) + count,
        escape(model.source),
    )


def _rule(rule: object) -> str:
    """A rule and its parameters; a rule within a rule in parentheses."""
    if not dataclasses.is_dataclass(rule):
        return escape(str(rule))
    name = type(rule).__name__
    values = [
        f"{key.replace('_', ' ')} {_rule(value)}" for key, value in vars(rule).items() if value is not None
    ]
    inside = f" ({', '.join(values)})" if values else ""
    return f"{link(escape(name), f'#rule-{slug(name)}')}{inside}"
