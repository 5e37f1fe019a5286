"""Plotly figures of tensor-core instructions: fragments, matrices, metadata, scales, registers and traces.

>>> from ptxlab import figures, instruction
>>> ins = instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
>>> figure = figures.fragment(ins, "A", lane=5)   # the lane that holds each element of A; a notebook shows it
>>> figures.save(figure, "fragment-a.svg").name   # also .pdf, .png, .html
'fragment-a.svg'
"""

from __future__ import annotations

from .views.figures import (
    banks,
    box,
    bytes_read,
    chart,
    descriptor,
    figure,
    formats,
    fragment,
    lane,
    matrix,
    metadata,
    nibble,
    product,
    repack,
    runs,
    save,
    scales,
    svg,
    swizzle,
    swizzle_bits,
    throughput,
    tile,
    trace,
    values,
)

__all__ = [
    "banks",
    "box",
    "bytes_read",
    "chart",
    "descriptor",
    "figure",
    "formats",
    "fragment",
    "lane",
    "matrix",
    "metadata",
    "nibble",
    "product",
    "repack",
    "runs",
    "save",
    "scales",
    "svg",
    "swizzle",
    "swizzle_bits",
    "throughput",
    "tile",
    "trace",
    "values",
]
