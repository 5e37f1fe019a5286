"""One warp runs one instruction, mma, mma.sp or wmma, its operands in registers."""

from __future__ import annotations

from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from . import cpp
from .ptx import with_names

_WARP = """\
// {mnemonic}
// {title}
// One warp runs one instruction; block and grid walk through `count` independent ones.
extern "C" __global__ void {name}(
    {parameters}, int count)
{{
    const int lane = threadIdx.x % 32;
    const int warps = gridDim.x * (blockDim.x / 32);
    for (long long i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < count; i += warps) {{
{loads}
        {word} d[{registers}];
        asm volatile(
            "{line}"
            : {outputs}
            : {inputs});
{stores}
    }}
}}
"""


def warp_source(ins: MmaForm, modifiers: Modifiers) -> str:
    """The kernel of a warp-level instruction."""
    operands = cpp.AsmOperands()
    operands.add_registers(ins.d, sign="=")
    for operand in ins.inputs.values():
        operands.add_registers(operand)
    return _WARP.format(
        mnemonic=ins.mnemonic,
        title=cpp.title(ins),
        name=cpp.NAME,
        parameters=cpp.parameters(ins),
        loads="\n".join(cpp.pointer(operand) for operand in ins.inputs.values()),
        word=cpp.register_word(ins.d),
        registers=ins.d.registers,
        line=with_names(ins, modifiers, operands.names),
        outputs=", ".join(operands.outputs),
        inputs=", ".join(operands.inputs),
        stores=cpp.stores(ins),
    )
