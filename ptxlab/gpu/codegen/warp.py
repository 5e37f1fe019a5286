"""One warp runs one instruction: mma, mma.sp and wmma, all operands in registers."""

from __future__ import annotations

from itertools import count

from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from . import text

__all__ = ["source"]

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
        {word} d[{d}];
        asm volatile(
            "{line}"
            : {outs}
            : {ins});
{stores}
    }}
}}
"""


def source(ins: MmaForm, modifiers: Modifiers) -> str:
    """The kernel of a warp-level instruction."""
    numbers = count()
    names = {"D": [f"%{next(numbers)}" for _ in range(ins.d.registers)]}
    reads = []
    for operand in text.inputs(ins):
        names[operand.name] = [f"%{next(numbers)}" for _ in range(operand.registers)]
        reads += [
            f'"{text.constraint(operand)}"({operand.name.lower()}[{r}])' for r in range(operand.registers)
        ]
    return _WARP.format(
        mnemonic=ins.mnemonic,
        title=text.title(ins),
        name=text.NAME,
        parameters=text.parameters(ins),
        loads="\n".join(text.pointer(operand) for operand in text.inputs(ins)),
        word=text.register_word(ins.d),
        d=ins.d.registers,
        line=f"{ins.mnemonic} {text.operand_list(ins, modifiers, names)};",
        outs=", ".join(f'"={text.constraint(ins.d)}"(d[{r}])' for r in range(ins.d.registers)),
        ins=", ".join(reads),
        stores=text.stores(ins),
    )
