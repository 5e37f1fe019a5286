"""Plotly figures of tensor-core instructions: fragments, matrices, metadata, scales, registers and traces.

from ptxlab import figures, instruction

ins = instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
figures.fragment(ins, "A", lane=5)                           # which lane holds what of A
figures.save(figures.fragment(ins, "A"), "fragment-a.svg")   # also .pdf, .png, .html
"""

from __future__ import annotations

from .views.figures import (
    chart,
    figure,
    formats,
    fragment,
    lane,
    matrix,
    metadata,
    product,
    save,
    scales,
    svg,
    trace,
    values,
)

__all__ = [
    "chart",
    "figure",
    "formats",
    "fragment",
    "lane",
    "matrix",
    "metadata",
    "product",
    "save",
    "scales",
    "svg",
    "trace",
    "values",
]
