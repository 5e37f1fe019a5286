"""One warpgroup runs one instruction: wgmma, with B and perhaps A in shared memory behind descriptors."""

from __future__ import annotations

from itertools import count

from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...memory import Digits, Tile
from . import text

__all__ = ["source"]

_WARPGROUP = """\
// {mnemonic}
// {title}
// One warpgroup (128 lanes) runs one instruction; the grid walks through `count` independent ones.
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
            : {outs}
            : {ins}
            : "memory");
{stores}
    }}
}}
"""


def source(ins: MmaForm, modifiers: Modifiers) -> str:
    """The kernel of wgmma: tiles are filled from row-major matrices of codes, MN-major where imm-trans says so."""
    numbers = count()
    names = {"D": [f"%{next(numbers)}" for _ in range(ins.d.registers)]}
    transposed = {"A": modifiers.imm_trans_a, "B": modifiers.imm_trans_b}
    loads, reads, shared, fills = [], [], [], []
    for operand in text.inputs(ins):
        low = operand.name.lower()
        if operand.space == "shared":
            tile = Tile.of(operand, modifiers.swizzle, transposed[operand.name])
            shared.append(
                f"    __shared__ __align__({max(tile.alignment, 128)}) unsigned char {low}_tile[{tile.size}];"
            )
            fills.append(_fill(operand, tile))
            base = f"((unsigned long long)__cvta_generic_to_shared({low}_tile) >> 4)"
            loads.append(
                f"        const unsigned long long {low}_desc = {base} | 0x{tile.descriptor():x}ull;"
            )
            names[operand.name] = [f"%{next(numbers)}"]
            reads.append(f'"l"({low}_desc)')
            continue
        loads.append(text.pointer(operand))
        if operand.name == "C":  # the accumulator comes in and goes out in the same registers
            loads.append(
                f"        unsigned int d[{ins.d.registers}];\n        for (int r = 0; r < {ins.d.registers}; ++r) d[r] = c[r];"
            )
            continue
        names[operand.name] = [f"%{next(numbers)}" for _ in range(operand.registers)]
        reads += [f'"r"({low}[{r}])' for r in range(operand.registers)]
    return _WARPGROUP.format(
        mnemonic=ins.mnemonic,
        title=text.title(ins),
        name=text.NAME,
        parameters=text.parameters(ins),
        shared="\n".join(shared),
        fills="\n".join(fills),
        loads="\n".join(loads),
        scale_d=f"%{next(numbers)}",
        line=f"{ins.mnemonic} {text.operand_list(ins, modifiers, names)};",
        outs=", ".join(f'"+r"(d[{r}])' for r in range(ins.d.registers)),
        ins=", ".join([*reads, f'"r"({int(modifiers.scale_d)})']),
        stores=text.stores(ins),
    )


def _terms(index: str, digits: Digits) -> list[str]:
    """An index through its digits as C++ terms: ``row % 8 * 16``, ``row / 8 * 512``."""
    terms, below = [], 1
    used = [digit for digit in digits if digit[0] > 1]
    for number, (size, step) in enumerate(used):
        digit = index if below == 1 else f"{index} / {below}"
        rest = f" % {size}" if number < len(used) - 1 else ""
        terms.append(f"{digit}{rest}{f' * {step}' if step != 1 else ''}")
        below *= size
    return terms


def _fill(operand: Operand, tile: Tile) -> str:
    """Copy a row-major matrix of codes from global memory into its tile; single bits, a byte each there, eight to a byte here."""
    low, first = operand.name.lower(), operand.axes[0] == "m"
    cells = tile.rows * tile.k
    together = max(8 // tile.bits, 1)
    along = tile.k // together
    row, k = (f"j / {along}", f"j % {along}") if first else (f"j % {tile.rows}", f"j / {tile.rows}")
    rows, ks = tile.digits
    at = " + ".join(_terms("row", rows) + _terms("k", ks))
    if tile.bits != 8:
        at = f"({at}) * {tile.bits // 8}" if tile.bits > 8 else f"({at}) / {together}"
    lines = [
        f"for (int j = threadIdx.x; j < {tile.rows * along}; j += 128) {{",
        f"    const int row = {row}, k = {k}{f' * {together}' if together > 1 else ''};",
        f"    {'' if tile.swizzle else 'const '}int at = {at};",
    ]
    if tile.swizzle:
        lines.append(f"    at ^= (at >> 7 & {tile.swizzle // 16 - 1}) << 4;")
    if together > 1:
        place = f"row * {tile.k} + k + bit" if first else f"(k + bit) * {tile.rows} + row"
        lines.append("    unsigned int codes = 0;")
        lines.append(
            f"    for (int bit = 0; bit < {together}; ++bit) codes |= {operand.name}[i * {cells} + {place}] << bit;"
        )
        lines.append(f"    {low}_tile[at] = codes;")
    else:
        there = f"{low}_tile[at]" if tile.bits == 8 else f"*({text.code_word(operand)}*)({low}_tile + at)"
        lines.append(f"    {there} = {operand.name}[i * {cells} + j];")
    return "\n".join(f"        {line}" for line in [*lines, "}"])
