"""One warp runs one instruction: mma, mma.sp and wmma, all operands in registers."""

from __future__ import annotations

from itertools import count

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


def source(ins: MmaForm, modifiers: Modifiers) -> str:
    """The kernel of a warp-level instruction."""
    numbers = count()
    names = {"d": [f"%{next(numbers)}" for _ in range(ins.d.registers)]}
    inputs = []
    for operand in ins.inputs.values():
        name = operand.name.lower()
        names[name] = [f"%{next(numbers)}" for _ in range(operand.registers)]
        inputs += [f'"{cpp.constraint(operand)}"({name}[{r}])' for r in range(operand.registers)]
    return _WARP.format(
        mnemonic=ins.mnemonic,
        title=cpp.title(ins),
        name=cpp.NAME,
        parameters=cpp.parameters(ins),
        loads="\n".join(cpp.pointer(operand) for operand in ins.inputs.values()),
        word=cpp.register_word(ins.d),
        registers=ins.d.registers,
        line=with_names(ins, modifiers, names),
        outputs=", ".join(f'"={cpp.constraint(ins.d)}"(d[{r}])' for r in range(ins.d.registers)),
        inputs=", ".join(inputs),
        stores=cpp.stores(ins),
    )
