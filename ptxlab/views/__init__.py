"""Instructions, layouts and traces as things to look at: tables, pictures, Plotly figures, SVG.

Functions return plain data, which a notebook, the command line or the docs then show:

- A `Picture` of operands: `fragment`, `runs`, `values`, `product`, `lane`, `registers`, `repack`, `metadata`,
  `nibble`, `scales`, `scale_tile`, `named_layout`; of tensor memory: `tensor_memory`, `tensor_registers`,
  `data_paths`; of shared memory: `tile`, `swizzle`, `swizzle_bits`, `banks`, `bytes_read`, `box`; of bits:
  `formats`, `descriptor`, `instruction_descriptor`; of a computation: `trace`.
- A `Table`: `where`, `holds`, `layout`, `offsets`, `cute`, `tensor_layouts`, `tensor_blocks`, `counts`,
  `model_table`, `grid_table`.
- Of a profiled kernel: `timeline`, `roofline`. Of the GPU: `chip`.
- Facts: `facts`, `evidence`, `explain`, `sparse_where`, `forms`, `types`, `target_of`.
- Text: `cpp` and `source` are code, `copies_note`, `model_words` and `rule_words` are sentences.

>>> import ptxlab
>>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
>>> where(ins, "A", 9, 37).records()
[{'lane': 4, 'element': 'a29', 'register': 3, 'bits': '[23..20]'}]
>>> fragment(ins, "A").title
'A of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32'
"""

# Version 0.1.0 called a trace `TraceView`; its users still do.
from ..numerics.steps import Trace as TraceView
from .bit_field_pictures import descriptor, formats, instruction_descriptor
from .catalog_tables import counts, forms, types
from .chip_picture import chip
from .explanation import explain
from .facts import cpp, cute, evidence, facts, model_table, model_words, rule_words, target_of
from .fragment_pictures import fragment, runs, tensor_registers
from .grid import Cell, Grid, Header
from .highlight import source
from .layout_pictures import named_layout
from .location_tables import copies_note, holds, layout, offsets, sparse_where, tensor_layouts, where
from .matrix_pictures import values
from .metadata_picture import metadata, nibble
from .picture import Picture
from .product_picture import product
from .register_pictures import lane, registers, repack
from .roofline import roofline
from .scale_pictures import scale_tile, scales
from .shared_memory_pictures import banks, box, bytes_read
from .table import Table, grid_table
from .tensor_pictures import data_paths, tensor_blocks, tensor_memory
from .tile_pictures import swizzle, swizzle_bits, tile
from .timeline_picture import timeline
from .trace_picture import trace

__all__ = [
    "Cell",
    "Grid",
    "Header",
    "Picture",
    "Table",
    "TraceView",
    "banks",
    "box",
    "bytes_read",
    "chip",
    "copies_note",
    "counts",
    "cpp",
    "cute",
    "data_paths",
    "descriptor",
    "evidence",
    "explain",
    "facts",
    "formats",
    "forms",
    "fragment",
    "grid_table",
    "holds",
    "instruction_descriptor",
    "lane",
    "layout",
    "metadata",
    "model_table",
    "model_words",
    "named_layout",
    "nibble",
    "offsets",
    "product",
    "registers",
    "repack",
    "roofline",
    "rule_words",
    "runs",
    "scale_tile",
    "scales",
    "source",
    "sparse_where",
    "swizzle",
    "swizzle_bits",
    "target_of",
    "tensor_blocks",
    "tensor_layouts",
    "tensor_memory",
    "tensor_registers",
    "tile",
    "timeline",
    "trace",
    "types",
    "values",
    "where",
]
