"""The first page: what ptxlab is, its families, and the way to everything else."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ptxlab import catalog

from .family import FamilyPage
from .figure import figure, lanes
from .groups import targets
from .page import Page, code, link, listed, pre, table

__all__ = ["build"]


def build(families: Sequence[FamilyPage], others: Sequence[Page]) -> Page:
    page = Page(
        "index.html",
        "Start",
        "What a tensor core really does with your registers: every PTX matrix instruction, lane by lane.",
        "ptxlab",
    )
    total = len(catalog())
    page.add('<div class="hero">')
    page.head(1, "What does a tensor core really do with your registers?", page.anchor("start"), listed=False)
    page.add(
        f"<p>ptxlab knows {total:,} forms of PTX's matrix instructions: where each is legal, which lane holds which element in which bits, "
        "the kernel around it, and what comes out, bit for bit. No GPU is needed; where there is one, the same registers run there.</p>",
        "<p>This reference is made from its catalogue. Search above for any spelling or part of one "
        f"({code('m16n8k64 s4')}, {code('wgmma e4m3')}, {code('sm_120a')}), or start with a family.</p></div>",
    )
    page.head(2, "Instructions")
    rows = []
    for it in families:
        shapes = ", ".join(
            code(shape) for shape in dict.fromkeys(group.shape for group in it.groups) if shape
        )
        kinds = ", ".join(dict.fromkeys(kind for group in it.groups for kind in group.inputs))
        on = targets(list(dict.fromkeys(target for ins in it.forms for target in ins.targets)))
        rows.append(
            (link(code(it.family), it.page.file), shapes, escape(kinds), str(len(it.forms)), escape(on))
        )
    rows.append(("", "", "", f"<strong>{sum(len(it.forms) for it in families)}</strong>", ""))
    page.add(
        table(("family", "shapes", "element types", "forms", "targets"), rows, numbers=(3,), label="Families")
    )
    page.head(2, "Pages")
    page.add(listed(f"{link(escape(other.title), other.file)}: {escape(other.about)}" for other in others))
    page.head(2, "How to read the figures")
    page.add(
        "<p>A figure is a matrix. Every cell is a run of neighbouring elements that one lane holds: <code>T5:{a0..a7}</code> are elements 0 to 7 "
        "of operand A in lane 5. The colour says the lane: lanes 0 to 3 are one group and one hue, their shades are the threads of the group. "
        "Point at a cell to see its register and bits, and all that its lane holds.</p>",
        figure(lanes()),
    )
    page.head(2, "Try it")
    page.add(
        pre("make lab                                  # an environment and JupyterLab on the notebooks\n"
            "ptxlab where mma.m16n8k64.s4 A 9 37       # which lane holds A[9][37], and in which bits\n"
            "ptxlab run mma.m16n8k64.s4                # run it, no GPU needed"),
        '<figure><img src="explorer.png" alt="The explorer: A, B and D as a product, coloured by lane, with the registers of the chosen lane">'
        "<figcaption>ptxlab.explore(instruction) in a notebook.</figcaption></figure>",
    )  # fmt: skip
    return page
