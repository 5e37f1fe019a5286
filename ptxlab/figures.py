"""Plotly figures of tensor-core instructions: fragments, matrices, metadata, scales, registers and traces.

>>> from ptxlab import figures, instruction
>>> ins = instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
>>> figure = figures.fragment(ins, "A", lane=5)   # the lane that holds each element of A; a notebook shows it
>>> figures.save(figure, "fragment-a.svg").name   # also .pdf, .png, .html
'fragment-a.svg'
"""

from __future__ import annotations

from .views.figure_files import save
from .views.figures import (
    banks,
    box,
    bytes_read,
    chart,
    data_paths,
    descriptor,
    figure,
    formats,
    fragment,
    instruction_descriptor,
    lane,
    matrix,
    metadata,
    nibble,
    product,
    repack,
    runs,
    scale_tile,
    scales,
    svg,
    swizzle,
    swizzle_bits,
    tensor_memory,
    tensor_registers,
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
    "data_paths",
    "descriptor",
    "figure",
    "formats",
    "fragment",
    "instruction_descriptor",
    "lane",
    "matrix",
    "metadata",
    "nibble",
    "product",
    "repack",
    "runs",
    "save",
    "scale_tile",
    "scales",
    "svg",
    "swizzle",
    "swizzle_bits",
    "tensor_memory",
    "tensor_registers",
    "throughput",
    "tile",
    "trace",
    "values",
]
