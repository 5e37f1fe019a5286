"""Instructions that the tests draw: one of every kind of layout."""

import itertools
from typing import Any

import ptxlab
from ptxlab.instruction import mma_instructions

S4 = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
SP_S4 = ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
SP_TF32 = ptxlab.instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
B1 = ptxlab.instruction("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32")
WGMMA = ptxlab.instruction("wgmma.mma_async.sp.sync.aligned.m64n24k64.f32.e4m3.e4m3")
F16 = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
F64 = ptxlab.instruction("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64")
QUADS = ptxlab.instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")
#: With block scales, by kind and scale_vec.
EVERY_SCALED = {(ins.kind, ins.scale_vec): ins for ins in mma_instructions("mma") if ins.scale_vec}
SCALED = next(ins for (_, scale_vec), ins in EVERY_SCALED.items() if scale_vec == 4)


def panels_lie_apart(drawing: Any) -> bool:
    """Whether no two panels of a drawing overlap."""
    boxes = [(panel.x[0], panel.y[0], panel.x[-1], panel.y[-1]) for panel in drawing.panels]
    pairs = itertools.combinations(boxes, 2)
    return all(a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1] for a, b in pairs)
