"""A whole PTX module around one instruction: `.version` and `.target`, loads, the instruction, stores."""

from __future__ import annotations

from itertools import count

from ...isa.form import Form
from ...isa.modifiers import Modifiers
from ...isa.tcgen05 import Tcgen05Form, Tcgen05Mma
from .asm import AsmOperand
from .ptx import asm_operands, is_issued, ptx_line

_TYPES = {"f": ".f32", "d": ".f64", "h": ".b16", "r": ".b32", "l": ".b64"}
_NAME = "ptxlab_kernel"
#: Bytes from one register of a lane to the next, and from one lane to the next.
_REGISTER_STEP = 256
_LANE_STEP = 8


def ptx_module(form: Form, target: str, modifiers: Modifiers | None = None) -> str:
    """A module that ptxas assembles for a target, with the `.version` that form and target need.

    Each lane loads its registers, 256 bytes apart, the instruction runs, and each lane stores its registers.

    >>> import ptxlab
    >>> print(ptx_module(ptxlab.instruction("movmatrix.sync.aligned.m8n8.trans.b16"), "sm_90a"))
    .version 8.0
    .target sm_90a
    .address_size 64
    <BLANKLINE>
    .visible .entry ptxlab_kernel(.param .u64 memory)
    {
        .reg .b32 %lane, %d<1>, %a<1>;
        .reg .b64 %memory;
        ld.param.u64 %memory, [memory];
        mov.u32 %lane, %tid.x;
        mad.wide.u32 %memory, %lane, 8, %memory;
        ld.global.b32 %a0, [%memory+256];
        movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;
        st.global.b32 [%memory], %d0;
        ret;
    }
    <BLANKLINE>
    """
    version = form.ptx_version_for(target)
    operands = asm_operands(form, modifiers)
    addresses = [operand for operand in operands if operand.address and operand.name != "idesc"]
    asynchronous = form.family.startswith("wgmma")
    loads, stores = [], []
    offsets = count(step=_REGISTER_STEP)
    for operand in operands:
        if isinstance(form, Tcgen05Mma) and operand.name == "idesc":
            loads.append(f"mov.b32 %idesc, 0x{form.descriptor.code:08x};")
            continue
        if operand.address:
            loads.append(f"ld.param{_TYPES[operand.constraint]} %{operand.name}, [{operand.name}];")
            continue
        for register in operand.ptx_names:
            offset = next(offsets)
            place = f"[%memory+{offset}]" if offset else "[%memory]"
            if operand.written:
                stores.append(f"st.global{_TYPES[operand.constraint]} {place}, {register};")
            if not operand.written or asynchronous:  # wgmma accumulates into what it writes
                loads.append(f"ld.global{_TYPES[operand.constraint]} {register}, {place};")
    predicate = [".reg .pred scale_d;"] if asynchronous else []
    predicate += [".reg .pred enable_input_d;"] if isinstance(form, Tcgen05Mma) else []
    predicate += [".reg .pred elected;"] if is_issued(form) else []
    lines = [
        *_declared(operands),
        *predicate,
        "ld.param.u64 %memory, [memory];",
        "mov.u32 %lane, %tid.x;",
        f"mad.wide.u32 %memory, %lane, {_LANE_STEP}, %memory;",
        *loads,
        *_instruction(form, modifiers, asynchronous),
        *stores,
        "ret;",
    ]
    parameters = [".param .u64 memory"]
    parameters += [f".param {_TYPES[operand.constraint]} {operand.name}" for operand in addresses]
    body = "\n".join(f"    {line}" for line in lines)
    return (
        f".version {version}\n.target {target}\n.address_size 64\n\n"
        f".visible .entry {_NAME}({', '.join(parameters)})\n{{\n{body}\n}}\n"
    )


def _instruction(form: Form, modifiers: Modifiers | None, asynchronous: bool) -> list[str]:
    line = ptx_line(form, modifiers)
    if isinstance(form, Tcgen05Form):
        return _tensor_instruction(form, modifiers, line)
    if not asynchronous:
        return [line]
    comparison = "eq" if modifiers is None or modifiers.scale_d else "ne"
    return [
        f"setp.{comparison}.u32 scale_d, %lane, %lane;",
        "wgmma.fence.sync.aligned;",
        line,
        "wgmma.commit_group.sync.aligned;",
        "wgmma.wait_group.sync.aligned 0;",
    ]


def _tensor_instruction(form: Tcgen05Form, modifiers: Modifiers | None, line: str) -> list[str]:
    """An instruction of tcgen05: one thread issues it, if it is not a whole warp; loads are waited for."""
    lines = []
    if isinstance(form, Tcgen05Mma):
        comparison = "eq" if modifiers is None or modifiers.enable_input_d else "ne"
        lines.append(f"setp.{comparison}.u32 enable_input_d, %lane, %lane;")
    if is_issued(form):
        return [*lines, "elect.sync _|elected, -1;", f"@elected {line}"]
    wait = {"tcgen05.ld": "ld", "tcgen05.st": "st"}.get(form.family)
    return [*lines, line, *([f"tcgen05.wait::{wait}.sync.aligned;"] if wait else [])]


def _declared(operands: list[AsmOperand]) -> list[str]:
    """``.reg .b32 %lane, %a<4>;``: registers by type, those of an operand numbered."""
    names = {".b32": ["%lane"], ".b64": ["%memory"]}
    for operand in operands:
        numbered = f"%{operand.name}" if operand.length is None else f"%{operand.name}<{operand.length}>"
        names.setdefault(_TYPES[operand.constraint], []).append(numbered)
    return [f".reg {of_type} {', '.join(each)};" for of_type, each in names.items()]
