"""A whole product with any dense instruction: D = A B + C, each tile of D by one warp or warpgroup.

Lanes gather their elements from the matrices, which may have any strides; steps along K are ascending, and D
of one is C of the next. Warps share no tiles, so this is the kernel for instructions without a faster one.
"""

from __future__ import annotations

from functools import lru_cache

from ...isa.layout import Layout
from ...isa.mma import Instruction
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...memory import Tile
from . import cpp
from .cpp import byte_offset
from .ptx import with_names

#: Name of the kernel.
PRODUCT = "ptxlab_product"

_SOURCE = """\
// {mnemonic}
// {title}
// D = A B + C. {who} computes a tile of D after the other; rows and columns are any steps apart.
template <typename Word> struct Matrix {{
    const Word* data;
    long long row_step, column_step;  // in elements
    int rows, columns;
    __device__ unsigned long long at(int row, int column) const
    {{
        if (row >= rows || column >= columns) return 0;
        return data[row * row_step + column * column_step];
    }}
}};
{round}
extern "C" __global__ void __launch_bounds__(128) {name}(
    {parameters}, {result}* D)
{{
    const int lane = threadIdx.x % {lanes};
    const int tile_rows = (A.rows + {rows} - 1) / {rows}, tile_columns = (B.columns + {n} - 1) / {n};
    const long long tiles = (long long)tile_rows * tile_columns;
    const int apart = gridDim.x * (blockDim.x / {lanes});
{shared}
    for (long long tile = blockIdx.x * (blockDim.x / {lanes}) + threadIdx.x / {lanes}; tile < tiles;
         tile += apart) {{
        const int row = tile / tile_columns * {rows}, column = tile % tile_columns * {n};
        {word} d[{registers}] = {{}};
        if (C.data) {{
{start}
        }}
        for (int step = 0; step * {k} < A.columns; ++step) {{
{loads}
{multiply}
        }}
{stores}
    }}
}}
"""

#: tf32 is float32 rounded to 10 bits of fraction, to nearest even; infinity and NaN stay.
_ROUND = """\
__device__ unsigned long long rounded(unsigned int bits)
{
    if ((bits & 0x7F800000) == 0x7F800000) return bits;
    return (bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFFu;
}
"""


@lru_cache(maxsize=256)
def product_source(ins: Instruction) -> str:
    """The kernel of a dense instruction; its name is `PRODUCT`.

    It takes A, B, C and scales as structs `Matrix`, and the address of D, [rows of A, columns of B].

    >>> import ptxlab
    >>> text = product_source(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> "Matrix<unsigned short> A, Matrix<unsigned short> B, Matrix<unsigned int> C" in text
    True
    """
    draft = _Draft(ins)
    for operand in ins.inputs.values():
        draft.add(operand)
    parameters = ", ".join(f"Matrix<{_word(operand)}> {operand.name}" for operand in ins.inputs.values())
    return _SOURCE.format(
        mnemonic=ins.mnemonic,
        title=cpp.title(ins),
        who="A warpgroup" if ins.lanes == 128 else "A warp",
        round=_ROUND if "tf32" in (ins.a.dtype.name, ins.b.dtype.name) else "",
        name=PRODUCT,
        parameters=parameters,
        result=_word(ins.d),
        lanes=ins.lanes,
        rows=ins.d.shape[0],
        n=ins.n,
        k=ins.k,
        shared="\n".join(draft.shared),
        word=cpp.register_word(ins.d),
        registers=ins.d.registers,
        start=_indented(_elements(ins.c, "d", "C.at(row + {row}, column + {column})"), 12),
        loads=_indented("\n".join(draft.statements()), 12),
        multiply=_indented(draft.multiply(), 12),
        stores=_indented(_stores(ins), 8),
    )


class _Draft:
    """A kernel under construction: the loads of a step's operands, and the operands of its asm statement."""

    def __init__(self, ins: Instruction) -> None:
        self.ins = ins
        self.is_wgmma = ins.family.startswith("wgmma")
        self.shared: list[str] = []  # declarations of tiles in shared memory
        self.loads: list[str] = []
        self.asm = cpp.AsmOperands()
        self.asm.add_registers(ins.d, *(("d", "+") if self.is_wgmma else ("e", "=")))

    def add(self, operand: Operand) -> None:
        """Add an operand, loaded in every step; C is D of the step before, in registers."""
        if operand.name == "C":
            if not self.is_wgmma:  # C of wgmma is D
                self.asm.add_registers(operand, "d")
        elif operand.space == "shared":
            self._add_tile(operand)
        else:
            name = operand.name.lower()
            self.asm.add_registers(operand)
            self.loads.append(f"{cpp.register_word(operand)} {name}[{operand.registers}] = {{}};")
            self.loads.append(_gather(self.ins, operand))

    def _add_tile(self, operand: Operand) -> None:
        """Add an operand as a tile in shared memory, with its descriptor."""
        name, tile = operand.name.lower(), Tile.of(operand)
        self.shared.append(f"    __shared__ __align__(1024) unsigned char {name}_tile[{tile.size}];")
        self.loads.append(_fill(self.ins, operand, tile))
        self.loads.append(
            f"const unsigned long long {name}_desc = (unsigned long long)__cvta_generic_to_shared("
            f"{name}_tile) >> 4 | 0x{tile.descriptor():x}ull;"
        )
        self.asm.add(f"{name}_desc", "l", [f"{name}_desc"])

    def statements(self) -> list[str]:
        """The code before the asm statement; all threads fill the tiles, and all read them."""
        if not self.shared:
            return self.loads
        fence = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'
        return ["__syncthreads();", *self.loads, fence, "__syncthreads();"]

    def multiply(self) -> str:
        """The asm statement, and the code after it."""
        d, asm = self.ins.d, self.asm
        line = with_names(self.ins, Modifiers(), asm.names)
        outputs = ", ".join(asm.outputs)
        if not self.is_wgmma:
            return (
                f"{cpp.register_word(d)} e[{d.registers}];\n"
                f'asm volatile("{line}"\n    : {outputs}\n    : {", ".join(asm.inputs)});\n'
                f"for (int r = 0; r < {d.registers}; ++r) d[r] = e[r];"
            )
        asm.add("scale_d", "r", ["1"])
        return (
            'asm volatile("{\\n.reg .pred scale_d;\\n"\n'
            f'    "setp.ne.b32 scale_d, {asm.names["scale_d"][0]}, 0;\\nwgmma.fence.sync.aligned;\\n"\n'
            f'    "{line}\\n"\n'
            '    "wgmma.commit_group.sync.aligned;\\nwgmma.wait_group.sync.aligned 0;\\n}"\n'
            f'    : {outputs}\n    : {", ".join(asm.inputs)} : "memory");'
        )


def _word(operand: Operand) -> str:
    """The C++ type of an element of the matrix: an unsigned integer of its size."""
    if operand.dtype.bits == 64:
        return "unsigned long long"
    return cpp.code_word(operand)


def _lane_offsets(layout: Layout, lane: str) -> tuple[str, str]:
    """Row and column of a lane's first element, as C++ expressions."""
    terms: tuple[list[str], list[str]] = ([], [])
    below = 1
    for size, *steps in layout.lane:
        digit = f"{lane} / {below} % {size}" if below > 1 else f"{lane} % {size}"
        for term, step in zip(terms, steps, strict=True):
            if step and size > 1:
                term.append(f"{digit} * {step}")
        below *= size
    row, column = (" + ".join(term) or "0" for term in terms)
    return row, column


def _elements(operand: Operand, registers: str, element: str) -> str:
    """Statements that put all of a lane's elements into their places in the registers."""
    layout = operand.layout
    assert layout is not None
    row, column = _lane_offsets(layout, "lane")
    lines = [f"const int lane_row = {row}, lane_column = {column};"]
    word = cpp.register_word(operand)
    per_register = operand.elements_per_register
    for number, (down, across) in enumerate(layout.coords()[0].tolist()):
        value = element.format(row=f"lane_row + {down}", column=f"lane_column + {across}")
        if operand.dtype.bits < 8:
            value = f"({value} & {(1 << operand.dtype.bits) - 1})"
        shift = number % per_register * operand.width + operand.padding
        lines.append(f"{registers}[{number // per_register}] |= ({word}){value} << {shift};")
    return "{\n" + _indented("\n".join(lines), 4) + "\n}"


def _gather(ins: Instruction, operand: Operand) -> str:
    """Statements that load a lane's registers of A, B or scales for this step."""
    return _elements(operand, operand.name.lower(), _element(ins, operand))


def _element(ins: Instruction, operand: Operand) -> str:
    """A template for the element {row}, {column} of this step's tile of an operand."""
    if operand.name in ("A", "SFA"):
        place = f"row + {{row}}, step * {operand.shape[1]} + {{column}}"
    else:
        column = f"({{column}}) % {ins.n}" if operand.shape[1] > ins.n else "{column}"
        place = f"step * {operand.shape[0]} + {{row}}, column + {column}"
    value = f"{operand.name}.at({place})"
    if operand.name in ("SFA", "SFB"):  # 1 if they are left out
        value = f"({operand.name}.data ? {value} : {int(operand.dtype.encode(1))})"
    return f"rounded({value})" if operand.dtype.name == "tf32" else value


def _fill(ins: Instruction, operand: Operand, tile: Tile) -> str:
    """Statements that fill a tile in shared memory."""
    name = operand.name.lower()
    by_rows = operand.name == "A"
    per_byte = max(8 // tile.bits, 1)  # elements in a byte of the tile
    along = tile.k // per_byte
    place = {"row": "r", "column": "k"} if by_rows else {"row": "k", "column": "r"}
    lines = [
        f"for (int j = threadIdx.x; j < {tile.rows * along}; j += 128) {{",
        f"    const int r = j / {along}, at = {byte_offset(tile, 'r', f'(j % {along} * {per_byte})')};",
    ]
    element = _element(ins, operand)
    if per_byte > 1:
        lines.append("    unsigned int codes = 0;")
        lines.append(f"    for (int bit = 0; bit < {per_byte}; ++bit) {{")
        lines.append(f"        const int k = j % {along} * {per_byte} + bit;")
        lines.append(f"        codes |= ({element.format(**place)} & 1) << bit;")
        lines.append("    }")
        lines.append(f"    {name}_tile[at] = codes;")
    else:
        lines.append(f"    const int k = j % {along};")
        lines.append(f"    *({_word(operand)}*)({name}_tile + at) = {element.format(**place)};")
    return "\n".join([*lines, "}"])


def _stores(ins: Instruction) -> str:
    """Statements that store a lane's elements of D."""
    operand = ins.d
    layout = operand.layout
    assert layout is not None
    row, column = _lane_offsets(layout, "lane")
    per_register = operand.elements_per_register
    lines = [f"const int lane_row = row + {row}, lane_column = column + {column};"]
    for number, (down, across) in enumerate(layout.coords()[0].tolist()):
        inside = f"lane_row + {down} < A.rows && lane_column + {across} < B.columns"
        at = f"(long long)(lane_row + {down}) * B.columns + lane_column + {across}"
        shift = number % per_register * operand.width
        lines.append(f"if ({inside}) D[{at}] = d[{number // per_register}] >> {shift};")
    return "\n".join(lines)


def _indented(text: str, spaces: int) -> str:
    return "\n".join(" " * spaces + line for line in text.split("\n"))
