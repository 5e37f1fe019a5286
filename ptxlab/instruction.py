"""Instructions, for users: `ptxlab.instruction`, the catalogue, and their classes.

An instruction is a form of the ISA (`ptxlab.isa`). Its verbs (`ptxlab.isa.verbs`) load the package that runs
or draws it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .isa.catalog import AnyForm as AnyInstruction
from .isa.catalog import catalog
from .isa.catalog import mma_forms as mma_instructions
from .isa.catalog import register_forms as register_instructions
from .isa.form import Form
from .isa.mma import Instruction
from .isa.parse import parse_any
from .isa.parse import parse_mma as mma_instruction
from .isa.transfer import Transfer
from .isa.verbs import ExecutableForm, MatrixInstruction, ShownForm

if TYPE_CHECKING:
    from .explorer import Explorer
    from .tcgen05_instruction import TensorInstruction, TensorTransfer

__all__ = [
    "AnyInstruction",
    "ExecutableForm",
    "Instruction",
    "MatrixInstruction",
    "ShownForm",
    "Transfer",
    "catalog",
    "explore",
    "instruction",
    "mma_instruction",
    "mma_instructions",
    "register_instructions",
]


def instruction(text: str | Form, *, descriptor: int | None = None, **parts: object) -> AnyInstruction:
    """The instruction of that PTX spelling; a trailing operand list and stray white space do no harm.

    The shape and the types of tcgen05.mma are in its instruction descriptor: give its parts (`m`, `n`, `a`,
    `b`, `d`, ... of `InstructionDescriptor`) or, as `descriptor`, its 32 bits. What is left out is the
    plainest.

    >>> instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32").selectors
    (0, 1)
    >>> instruction("tcgen05.mma.cta_group::1.kind::f16", m=128, n=256, a="f16", b="f16", d="f32")
    <tcgen05.mma.cta_group::1.kind::f16 m128n256k16.f32.f16.f16>
    """
    return parse_any(text, descriptor=descriptor, **parts)


def explore(
    ins: Instruction
    | Transfer
    | TensorInstruction
    | TensorTransfer
    | str = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    **options: Any,
) -> Explorer:
    """The Explorer widget on an instruction, or on a link that somebody sent (`ex.link`).

    Edit matrices and registers, see D. Without an instruction it opens on mma m16n8k16 with f16 and f32.

    `A`, `B`, `C` are its first matrices; `seed` is that of its random fills. `height` is the number of
    pixels that it may take, to leave room for something else on the screen; otherwise it takes what the
    notebook shows at once. `tools` names what stands on the bar and not in the menu, such as `["fill",
    "compare"]`. Of tcgen05.mma it takes parts of the descriptor, or all of it, as `instruction` does; of
    tcgen05.ld, .st, .cp and .shift, which read A and leave D, `address` and `split`, as `emulate` does.
    ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store read A and leave D, too: memory or registers.

    A name that says too little, such as "mma.m16n8k16.f16" or "tcgen05.mma", opens the picker with what it
    may mean; until one is chosen, `ex.instruction` is the first of these. `ptxlab.instruction` refuses it.

    >>> import numpy as np
    >>> name = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
    >>> ex = explore(name, A=np.ones((16, 64)), B=np.ones((64, 8)))
    >>> int(ex.D[0, 0])
    64
    >>> bool((explore(ex.link).D == ex.D).all())
    True
    """
    from .explorer import explore
    from .isa.instruction_descriptor import InstructionDescriptor

    names = {"descriptor", *InstructionDescriptor.__dataclass_fields__} - {"kind", "sparse"}
    parts = {name: options.pop(name) for name in names & options.keys()}
    return explore(parse_any(ins, **parts) if parts else ins, **options)
