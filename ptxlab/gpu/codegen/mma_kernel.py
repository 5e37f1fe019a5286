"""The kernel around one mma, mma.sp, wmma or wgmma.

A warp has its operands in registers; a warpgroup has B, and perhaps A, in shared memory behind descriptors.
"""

from __future__ import annotations

from ...isa.mma import Instruction
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...memory import Tile
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

_WARPGROUP = """\
// {mnemonic}
// {title}
// One warpgroup (128 threads) runs one instruction; the grid walks through `count` independent ones.
extern "C" __global__ void __launch_bounds__(128) {name}(
    {parameters}, int count)
{{
    const int lane = threadIdx.x;
{shared}
    for (long long i = blockIdx.x; i < count; i += gridDim.x) {{
        __syncthreads();
{fills}
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // wgmma reads through the async proxy
        __syncthreads();
{loads}
        asm volatile(
            "{{\\n"
            ".reg .pred scale_d;\\n"
            "setp.ne.b32 scale_d, {scale_d}, 0;\\n"
            "wgmma.fence.sync.aligned;\\n"
            "{line}\\n"
            "wgmma.commit_group.sync.aligned;\\n"
            "wgmma.wait_group.sync.aligned 0;\\n"
            "}}"
            : {outputs}
            : {inputs}
            : "memory");
{stores}
    }}
}}
"""


def warp_source(ins: Instruction, modifiers: Modifiers) -> str:
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


def warpgroup_source(ins: Instruction, modifiers: Modifiers) -> str:
    """The kernel of wgmma. Tiles are filled from row-major codes; imm-trans makes them MN-major."""
    ins.check_modifiers(modifiers)
    operands = cpp.AsmOperands()
    operands.add_registers(ins.d, sign="+")
    transposed = {"A": modifiers.imm_trans_a, "B": modifiers.imm_trans_b}
    loads, shared, fills = [], [], []
    for operand in ins.inputs.values():
        name = operand.name.lower()
        if operand.space == "shared":
            tile = Tile.of(operand, modifiers.swizzle, transposed[operand.name])
            alignment = max(tile.alignment, 128)
            shared.append(f"    __shared__ __align__({alignment}) unsigned char {name}_tile[{tile.size}];")
            fills.append(_fill(operand, tile))
            address = f"((unsigned long long)__cvta_generic_to_shared({name}_tile) >> 4)"
            fields = f"0x{tile.descriptor():x}ull"
            loads.append(f"        const unsigned long long {name}_desc = {address} | {fields};")
            operands.add(f"{name}_desc", "l", [f"{name}_desc"])
            continue
        loads.append(cpp.pointer(operand))
        if operand.name == "C":  # the accumulator comes in and goes out in the same registers
            loads.append(f"        unsigned int d[{ins.d.registers}];")
            loads.append(f"        for (int r = 0; r < {ins.d.registers}; ++r) d[r] = c[r];")
            continue
        operands.add_registers(operand)
    operands.add("scale_d", "r", [str(int(modifiers.scale_d))])
    return _WARPGROUP.format(
        mnemonic=ins.mnemonic,
        title=cpp.title(ins),
        name=cpp.NAME,
        parameters=cpp.parameters(ins),
        shared="\n".join(shared),
        fills="\n".join(fills),
        loads="\n".join(loads),
        scale_d=operands.names["scale_d"][0],
        line=with_names(ins, modifiers, operands.names),
        outputs=", ".join(operands.outputs),
        inputs=", ".join(operands.inputs),
        stores=cpp.stores(ins),
    )


def _fill(operand: Operand, tile: Tile) -> str:
    """Copy a row-major matrix of codes from global memory into its tile.

    Single bits are a byte each in global memory and eight to a byte in the tile.
    """
    name = operand.name.lower()
    by_rows = operand.axes[0] == "m"
    cells = tile.rows * tile.k
    per_byte = max(8 // tile.bits, 1)  # elements in a byte of the tile
    along = tile.k // per_byte
    row, k = (f"j / {along}", f"j % {along}") if by_rows else (f"j % {tile.rows}", f"j / {tile.rows}")
    if per_byte > 1:
        k += f" * {per_byte}"
    const = "" if tile.swizzle else "const "
    lines = [
        f"for (int j = threadIdx.x; j < {tile.rows * along}; j += 128) {{",
        f"    const int row = {row}, k = {k};",
        f"    {const}int at = {cpp.byte_offset(tile)};",
        *cpp.swizzling(tile),
    ]
    if per_byte > 1:
        place = f"row * {tile.k} + k + bit" if by_rows else f"(k + bit) * {tile.rows} + row"
        bit = f"{operand.name}[i * {cells} + {place}] << bit"
        lines.append("    unsigned int codes = 0;")
        lines.append(f"    for (int bit = 0; bit < {per_byte}; ++bit) codes |= {bit};")
        lines.append(f"    {name}_tile[at] = codes;")
    else:
        element = f"*({cpp.code_word(operand)}*)({name}_tile + at)"
        if tile.bits == 8:
            element = f"{name}_tile[at]"
        lines.append(f"    {element} = {operand.name}[i * {cells} + j];")
    return "\n".join(f"        {line}" for line in [*lines, "}"])
