"""CUDA C++ source with the one PTX instruction in it: lanes load their registers, the instruction runs, lanes store theirs."""

from __future__ import annotations

from .errors import PtxlabError
from .instruction import Instruction, Modifiers
from .memory import Tile
from .operand import Operand

__all__ = ["NAME", "inputs", "ptx_line", "source"]

#: Name of the kernel in every generated source.
NAME = "ptxlab_mma"

_WARP = """\
// {mnemonic}
// {title}
// One warp runs one instruction; block and grid walk through `count` independent ones.
extern "C" __global__ void {name}(
    {parameters},
    unsigned int* D, int count)
{{
    const int lane = threadIdx.x % 32;
    const int warps = gridDim.x * (blockDim.x / 32);
    for (long long i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < count; i += warps) {{
{loads}
        unsigned int d[{d}];
        asm volatile(
            "{line}"
            : {outs}
            : {ins});
{stores}
    }}
}}
"""

_WARPGROUP = """\
// {mnemonic}
// {title}
// One warpgroup (128 lanes) runs one instruction; the grid walks through `count` independent ones.
extern "C" __global__ void __launch_bounds__(128) {name}(
    {parameters},
    unsigned int* D, int count)
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
            : {outs}
            : {ins}
            : "memory");
{stores}
    }}
}}
"""


def inputs(ins: Instruction) -> list[Operand]:
    """The operands that a kernel reads, in the order of its parameters."""
    return [operand for name, operand in ins.operands.items() if name != "D"]


def _list(names: list[str]) -> str:
    return "{" + ", ".join(names) + "}"


def _operand_list(ins: Instruction, modifiers: Modifiers, names: dict[str, list[str]]) -> str:
    """The operands of the instruction in the ISA's order, from the names of their registers."""
    if ins.family.startswith("wgmma"):
        a = names["A"][0] if ins.a_space == "shared" else _list(names["A"])
        parts = [_list(names["D"]), a, names["B"][0]]
        if ins.sparse:
            parts += [names["E"][0], str(modifiers.selector)]
        parts.append("scale_d")
        if ins.a.dtype.is_float:
            parts += [str(modifiers.imm_scale_a), str(modifiers.imm_scale_b)]
        return ", ".join(parts)
    parts = [_list(names[operand]) for operand in "DABC"]
    if ins.sparse:
        parts += [names["E"][0], str(modifiers.selector)]
    if ins.scale_vec:
        parts += [names["SFA"][0], f"{{{modifiers.byte_id_a}, {modifiers.thread_id_a}}}"]
        parts += [names["SFB"][0], f"{{{modifiers.byte_id_b}, {modifiers.thread_id_b}}}"]
    return ", ".join(parts)


def ptx_line(ins: Instruction, modifiers: Modifiers | None = None) -> str:
    """The instruction with its operands, registers named as in the manual.

    >>> import ptxlab
    >>> ptx_line(ptxlab.instruction("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"))
    'wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {%d0, %d1}, {%a0}, {%b0}, {%c0, %c1};'
    """
    single = {"E": ["%e"], "SFA": ["%sfa"], "SFB": ["%sfb"]}
    names = {n: single.get(n) or [f"%{n.lower()}{i}" for i in range(o.registers)] or [f"%{n.lower()}_desc"] for n, o in ins.operands.items()}
    return f"{ins.mnemonic} {_operand_list(ins, (modifiers or Modifiers()).check(ins), names)};"


def source(ins: Instruction, modifiers: Modifiers | None = None, swizzle: int = 0) -> str:
    """The kernel: arrays of registers in, array of registers out, one launch for a whole batch.

    Selectors and immediate scales are constants of the instruction, so they are part of the source.
    """
    modifiers = (modifiers or Modifiers()).check(ins)
    if ins.family.startswith("wgmma"):
        return _warpgroup(ins, modifiers, swizzle)
    if swizzle:
        raise PtxlabError(f"swizzle={swizzle}: {ins.mnemonic} takes its operands from registers, there is nothing to swizzle")
    numbers = iter(range(1000))
    names, outs = {"D": [f"%{next(numbers)}" for _ in range(ins.d.registers)]}, [f'"=r"(d[{r}])' for r in range(ins.d.registers)]
    reads = []
    for operand in inputs(ins):
        names[operand.name] = [f"%{next(numbers)}" for _ in range(operand.registers)]
        reads += [f'"r"({operand.name.lower()}[{r}])' for r in range(operand.registers)]
    return _WARP.format(
        mnemonic=ins.mnemonic,
        title=_title(ins),
        name=NAME,
        parameters=_parameters(ins),
        loads="\n".join(_pointer(operand) for operand in inputs(ins)),
        d=ins.d.registers,
        line=f"{ins.mnemonic} {_operand_list(ins, modifiers, names)};",
        outs=", ".join(outs),
        ins=", ".join(reads),
        stores=_stores(ins),
    )


def _title(ins: Instruction) -> str:
    return "\n// ".join(operand.describe() for operand in ins.operands.values())


def _parameters(ins: Instruction) -> str:
    kinds = {"register": "unsigned int", "shared": "unsigned char"}
    return ", ".join(f"const {kinds[operand.space]}* {operand.name}" for operand in inputs(ins))


def _pointer(operand: Operand) -> str:
    return f"        const unsigned int* {operand.name.lower()} = {operand.name} + (i * {operand.lanes} + lane) * {operand.registers};"


def _stores(ins: Instruction) -> str:
    at = f"(i * {ins.lanes} + lane) * {ins.d.registers}"
    return f"        for (int r = 0; r < {ins.d.registers}; ++r) D[{at} + r] = d[r];"


def _warpgroup(ins: Instruction, modifiers: Modifiers, swizzle: int) -> str:
    numbers = iter(range(1000))
    names = {"D": [f"%{next(numbers)}" for _ in range(ins.d.registers)]}
    outs = [f'"+r"(d[{r}])' for r in range(ins.d.registers)]
    loads, reads, shared, fills = [], [], [], []
    for operand in inputs(ins):
        low = operand.name.lower()
        if operand.space == "shared":
            tile = Tile.of(operand, swizzle)
            shared.append(f"    __shared__ __align__({max(tile.alignment, 128)}) unsigned char {low}_tile[{tile.size}];")
            fills.append(_fill(operand, tile))
            base = f"((unsigned long long)__cvta_generic_to_shared({low}_tile) >> 4)"
            loads.append(f"        const unsigned long long {low}_desc = {base} | 0x{tile.descriptor():x}ull;")
            names[operand.name] = [f"%{next(numbers)}"]
            reads.append(f'"l"({low}_desc)')
            continue
        loads.append(_pointer(operand))
        if operand.name == "C":  # the accumulator comes in and goes out in the same registers
            loads.append(f"        unsigned int d[{ins.d.registers}];\n        for (int r = 0; r < {ins.d.registers}; ++r) d[r] = c[r];")
            continue
        names[operand.name] = [f"%{next(numbers)}" for _ in range(operand.registers)]
        reads += [f'"r"({low}[{r}])' for r in range(operand.registers)]
    scale_d = f"%{next(numbers)}"
    return _WARPGROUP.format(
        mnemonic=ins.mnemonic,
        title=_title(ins),
        name=NAME,
        parameters=_parameters(ins),
        shared="\n".join(shared),
        fills="\n".join(fills),
        loads="\n".join(loads),
        scale_d=scale_d,
        line=f"{ins.mnemonic} {_operand_list(ins, modifiers, names)};",
        outs=", ".join(outs),
        ins=", ".join([*reads, f'"r"({int(modifiers.scale_d)})']),
        stores=_stores(ins),
    )


def _fill(operand: Operand, tile: Tile) -> str:
    """Copy a matrix of one-byte codes, row-major in global memory, into its K-major tile."""
    rows, columns = operand.shape
    low = operand.name.lower()
    row, byte = ("j / {c}", "j % {c}") if operand.axes[0] == "m" else ("j % {c}", "j / {c}")
    if tile.swizzle:
        at = f"row / 8 * {tile.stride} + row % 8 * {tile.swizzle} + byte"
        at = f"({at}) ^ ((({at}) >> 7 & {tile.swizzle // 16 - 1}) << 4)"
    else:
        at = f"row / 8 * {tile.stride} + byte / 16 * {tile.leading} + row % 8 * 16 + byte % 16"
    return (
        f"        for (int j = threadIdx.x; j < {rows * columns}; j += 128) {{\n"
        f"            const int row = {row.format(c=columns)}, byte = {byte.format(c=columns)};\n"
        f"            {low}_tile[{at}] = {operand.name}[i * {rows * columns} + j];\n"
        f"        }}"
    )
