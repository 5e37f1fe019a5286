"""Sub-byte wmma on the GPU: kernels in CUDA C++ with <mma.h>, and with the PTX instructions themselves.

Both take the same arguments: tiles of A, B, C and D one after another in memory, each with its own stride.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import gpu
from .._util.arguments import as_array, check_room, is_name
from ..errors import PtxlabError, listing, quoted
from ..gpu.codegen.cpp import AsmOperands
from ..gpu.codegen.ptx import AsmOperand, asm_operands, with_names
from ..gpu.launcher import Argument
from ..isa.catalog.transfer_rows import wmma_rows
from ..isa.form import Form
from ..isa.mma import Instruction
from ..isa.operand import Operand
from .fragment_forms import form
from .fragment_memory import (
    check_ldm,
    load_matrix_sync,
    pack_matrix,
    smallest_ldm,
    store_matrix_sync,
    unpack_matrix,
)
from .fragment_operations import bmma_sync, fragment, mma_sync
from .types import (
    BitOpLike,
    FormLike,
    MemoryLayoutLike,
    Tag,
    accumulator,
    col_major,
    layout_t,
    matrix_a,
    matrix_b,
    mem_row_major,
    memory_layout,
    row_major,
)

#: How to run it: on the GPU through C++ or through PTX, or in Python through the functions of this package.
Face = Literal["mirror", "cpp", "ptx"]

#: Name of the kernel in the source of each face.
NAMES = {"cpp": "wmma_cpp", "ptx": "wmma_ptx"}

_BLOCK = 128  # four warps, four tiles

_KERNEL = """\
{head}
// {title}: D = {formula}. One warp for each tile.
// A is row-major and B column-major, {per} elements in one {word}, the first in the lowest bits.
// lda, ldb and ldc count elements.
extern "C" __global__ void {name}(const {word} *A, const {word} *B, const int *C, int *D,
                                    unsigned lda, unsigned ldb, unsigned ldc, unsigned tiles)
{{
    const size_t tile = (blockIdx.x * size_t(blockDim.x) + threadIdx.x) / warpSize;
    if (tile >= tiles) return;
    A += tile * {m} * lda / {per};
    B += tile * {n} * ldb / {per};
    C += tile * {lines} * ldc;
    D += tile * {lines} * ldc;

{body}
}}
"""

_CPP = """\
{declarations}

    wmma::load_matrix_sync(a, A, lda);
    wmma::load_matrix_sync(b, B, ldb);
    wmma::load_matrix_sync(c, C, ldc, wmma::{layout});
    {call}
    wmma::store_matrix_sync(D, d, ldc, wmma::{layout});"""


def _fragments(ins: Instruction) -> tuple[fragment, fragment, fragment]:
    size = ins.m, ins.n, ins.k
    return (
        fragment(matrix_a, *size, ins.a_type, row_major),
        fragment(matrix_b, *size, ins.b_type, col_major),
        fragment(accumulator, *size, ins.c_type),
    )


def _bit_op(ins: Instruction) -> str:
    """C++'s name of its bit operation."""
    return f"bmmaBitOp{ins.bit_op.upper()}" if ins.bit_op else ""


def _kernel(ins: Instruction, name: str, head: str, body: str, layout: layout_t) -> str:
    title = f"{ins.shape} {ins.a_type}"
    if ins.bit_op:
        title += f" with {_bit_op(ins)}"
    if ins.satfinite:
        title += ", saturating"
    return _KERNEL.format(
        head=head,
        title=title,
        formula=f"popc(A {ins.bit_op} B) + C" if ins.bit_op else "A B + C",
        per=ins.a.elements_per_register,
        word=_fragments(ins)[0].storage_element_type.cpp,
        name=name,
        m=ins.m,
        n=ins.n,
        lines=ins.c.shape[layout],
        body=body,
    )


def cpp_source(
    name: FormLike,
    op: BitOpLike | None = None,
    satf: bool = False,
    *,
    layout: MemoryLayoutLike = mem_row_major,
) -> str:
    """A kernel in CUDA C++ with `nvcuda::wmma`; `layout` is that of C and D in memory.

    >>> "wmma::mma_sync(d, a, b, c, false);" in cpp_source("s4")
    True
    """
    ins, order = form(name, op, satf), memory_layout(layout)
    *declarations, call = cpp_statements(ins)
    indented = "\n".join(f"    {line}" for line in declarations)
    body = _CPP.format(declarations=indented, call=call, layout=order.name)
    return _kernel(ins, NAMES["cpp"], "#include <mma.h>\n\nusing namespace nvcuda;\n", body, order)


def cpp_statements(ins: Instruction) -> list[str]:
    """The fragments that a kernel with `nvcuda::wmma` declares, and then the call that multiplies them."""
    a, b, c = (frag.cpp for frag in _fragments(form(ins)))
    call = f"wmma::mma_sync(d, a, b, c, {str(ins.satfinite).lower()});"
    if ins.bit_op:
        operations = (f"wmma::experimental::{_bit_op(ins)}", "wmma::experimental::bmmaAccumulateOpPOPC")
        call = f"wmma::bmma_sync(d, a, b, c, {', '.join(operations)});"
    return [f"{a} a;", f"{b} b;", f"{c} c, d;", call]


def ptx_lines(
    name: FormLike,
    op: BitOpLike | None = None,
    satf: bool = False,
    *,
    layout: MemoryLayoutLike = mem_row_major,
) -> dict[str, str]:
    """The five PTX instructions in their order: three loads, the wmma.mma and the store.

    Registers are named as in the manual.

    >>> ptx_lines("s4")["load.a"]
    'wmma.load.a.sync.aligned.row.m8n8k32.s4 {%a0}, [%pA], %lda;'
    """
    steps = _steps(form(name, op, satf), memory_layout(layout))
    return {key: step.ptx for key, step in steps.items()}


def ptx_triple(
    name: FormLike,
    op: BitOpLike | None = None,
    satf: bool = False,
    *,
    layout: MemoryLayoutLike = mem_row_major,
) -> str:
    """A kernel with the PTX instructions inline: loads and the store access memory, each with its stride.

    >>> ptx_triple("s4").count("asm volatile")   # three loads, the wmma.mma, the store
    5
    """
    ins, order = form(name, op, satf), memory_layout(layout)
    arrays = [f"{operand.name.lower()}[{operand.registers}]" for operand in (ins.a, ins.b, ins.c, ins.d)]
    body = [f"    unsigned {', '.join(arrays)};", "", *(step.asm for step in _steps(ins, order).values())]
    return _kernel(ins, NAMES["ptx"], "", "\n".join(body), order).lstrip()


class _Step(NamedTuple):
    """One instruction of the kernel, and the kernel's parameters that it takes as address and stride."""

    form: Form
    pointer: str = ""
    stride: str = ""

    def _names(self, operand: AsmOperand) -> tuple[str, ...]:
        """What C++ calls the registers of an operand: a[0], a[1]; A for its address, lda for its stride."""
        return {"p": (self.pointer,), "stride": (self.stride,)}.get(operand.name, operand.registers)

    @property
    def ptx(self) -> str:
        """The instruction, registers named as in the manual: %a0; %pA is its address, %lda its stride."""
        names = {operand.name: operand.ptx_names for operand in asm_operands(self.form)}
        return with_names(
            self.form, None, names | {"p": [f"%p{self.pointer}"], "stride": [f"%{self.stride}"]}
        )

    @property
    def asm(self) -> str:
        """The instruction as an asm statement."""
        operands = AsmOperands()
        for operand in asm_operands(self.form):
            sign = "=" if operand.written else ""
            operands.add(operand.name, f"{sign}{operand.constraint}", self._names(operand))
        clauses = f": {', '.join(operands.outputs)} : " if operands.outputs else ":: "
        clauses += ", ".join(operands.inputs)
        if self.pointer:
            clauses += ' : "memory"'
        line = with_names(self.form, None, operands.names)
        return f'    asm volatile("{line}"\n                 {clauses});'


def _steps(ins: Instruction, layout: layout_t) -> dict[str, _Step]:
    """The instructions of the kernel in their order."""
    transfers = {(transfer.matrix, transfer.layout): transfer for transfer in wmma_rows([ins])}
    order: Literal["row", "col"] = "col" if layout else "row"
    return {
        "load.a": _Step(transfers["a", "row"], "A", "lda"),
        "load.b": _Step(transfers["b", "col"], "B", "ldb"),
        "load.c": _Step(transfers["c", order], "C", "ldc"),
        "mma": _Step(ins),
        "store.d": _Step(transfers["d", order], "D", "ldc"),
    }


# -- running -------------------------------------------------------------------------------------------------


class _Stored(NamedTuple):
    """How A, B or C lies in memory."""

    operand: Operand
    layout: Tag | layout_t
    ldm: int
    line_count: int

    @property
    def words(self) -> int:
        """32-bit words of one tile."""
        return self.line_count * self.ldm // self.operand.elements_per_register


def _inputs(
    ins: Instruction, layout: layout_t, ldms: tuple[int | None, int | None, int | None]
) -> list[_Stored]:
    """A, B and C with their layouts and strides; a stride of None is the smallest."""
    operands = (ins.a, ins.b, ins.c)
    layouts: tuple[Tag | layout_t, ...] = (row_major, col_major, layout)
    line_axes = (0, 1, int(layout))  # the axis of each that counts its lines of memory
    inputs = []
    for operand, order, axis, ldm in zip(operands, layouts, line_axes, ldms, strict=True):
        length = operand.shape[1 - axis]
        if ldm is None:
            ldm = smallest_ldm(length, operand.dtype)
        ldm = check_ldm(ldm, operand.dtype, length, operand.name)
        inputs.append(_Stored(operand, order, ldm, operand.shape[axis]))
    return inputs


def run(
    name: FormLike,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    *,
    op: BitOpLike | None = None,
    satf: bool = False,
    face: Face = "cpp",
    lda: int | None = None,
    ldb: int | None = None,
    ldc: int | None = None,
    layout: MemoryLayoutLike = mem_row_major,
) -> NDArray[Any]:
    """Matrices of values [..., rows, columns] through memory: packed with these strides, run, unpacked.

    `face` is "cpp" or "ptx" on the GPU, or "mirror" for this package's `load_matrix_sync`, `mma_sync` and
    `store_matrix_sync`.

    >>> run("s4", np.full((8, 32), -2), np.full((32, 8), 3), face="mirror")[0, :3]
    array([-192, -192, -192], dtype=int32)
    """
    ins, order = form(name, op, satf), memory_layout(layout)
    C = np.zeros(ins.c.shape, dtype=np.int32) if C is None else C
    inputs = _inputs(ins, order, (lda, ldb, ldc))
    matrices = [stored.operand.check_matrix(matrix) for stored, matrix in zip(inputs, (A, B, C), strict=True)]
    batches = [matrix.shape[:-2] for matrix in matrices]
    try:
        batch = np.broadcast_shapes(*batches)
    except ValueError:
        raise PtxlabError(
            f"A, B and C have batches {listing(map(quoted, batches))}, which do not broadcast"
        ) from None
    check_room(math.prod(batch) * max(stored.line_count * stored.ldm for stored in inputs), "batch")
    buffers = []
    for stored, matrix in zip(inputs, matrices, strict=True):
        tiles = np.broadcast_to(matrix, batch + matrix.shape[-2:]).reshape(-1, *matrix.shape[-2:])
        buffers.append(pack_matrix(tiles, stored.operand.dtype, stored.ldm, stored.layout))
    a, b, c = buffers
    strides = [stored.ldm for stored in inputs]
    d = run_buffers(ins, a, b, c, *strides, face=face, layout=order)
    return unpack_matrix(d, ins.d.shape, ins.d_type, strides[2], order).reshape(*batch, *ins.d.shape)


def run_buffers(
    name: FormLike,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    lda: int,
    ldb: int,
    ldc: int,
    *,
    op: BitOpLike | None = None,
    satf: bool = False,
    face: Face = "cpp",
    layout: MemoryLayoutLike = mem_row_major,
) -> NDArray[Any]:
    """Buffers [tiles, words] as they lie in memory -> the buffer of D; gaps between its lines are undefined.

    >>> a = pack_matrix(np.full((1, 8, 32), -2), "s4")
    >>> b = pack_matrix(np.full((1, 32, 8), 3), "s4", layout="col_major")
    >>> c = np.zeros((1, 64), dtype=np.int32)
    >>> run_buffers("s4", a, b, c, 32, 32, 8, face="mirror")[0, :3]
    array([-192, -192, -192], dtype=int32)
    """
    ins, order = form(name, op, satf), memory_layout(layout)
    if not is_name(face, get_args(Face)):
        raise PtxlabError(f"face={quoted(face)}: there are {listing(get_args(Face))}")
    inputs = _inputs(ins, order, (lda, ldb, ldc))
    lda, ldb, ldc = strides = (inputs[0].ldm, inputs[1].ldm, inputs[2].ldm)
    a, b, c = (
        np.ascontiguousarray(as_array(buffer, name)) for name, buffer in (("a", a), ("b", b), ("c", c))
    )
    tiles = a.shape[0] if a.ndim else 0
    for stored, buffer in zip(inputs, (a, b, c), strict=True):
        shape = tiles, stored.words
        if buffer.shape != shape or buffer.dtype.itemsize != 4 or buffer.dtype.kind not in "iu":
            raise PtxlabError(
                f"{stored.operand.name.lower()}: found {buffer.dtype} of shape {buffer.shape}; "
                f"tiles with this stride take 32-bit words of shape {shape}"
            )
    d = np.zeros_like(c)
    if face == "mirror":
        for tile in range(tiles):
            _mirror(ins, (a[tile], b[tile], c[tile], d[tile]), strides, order)
    elif tiles:
        if not gpu.available(ins):
            raise PtxlabError(f"{gpu.status(ins)}; face='mirror' runs here")
        source = (cpp_source if face == "cpp" else ptx_triple)(ins, layout=order)
        arguments: list[Argument] = [a, b, c, gpu.Out(d)]
        arguments += [np.uint32(number) for number in (*strides, tiles)]
        grid = -(-tiles * 32 // _BLOCK)
        gpu.launch(source, NAMES[face], arguments, grid=grid, block=_BLOCK, include_mma=face == "cpp")
    return d


def _mirror(
    ins: Instruction, tile: tuple[NDArray[Any], ...], strides: tuple[int, int, int], layout: layout_t
) -> None:
    a, b, c = _fragments(ins)
    load_matrix_sync(a, tile[0], strides[0])
    load_matrix_sync(b, tile[1], strides[1])
    load_matrix_sync(c, tile[2], strides[2], layout)
    if ins.bit_op:
        bmma_sync(c, a, b, c, ins.bit_op)
    else:
        mma_sync(c, a, b, c, ins.satfinite)
    store_matrix_sync(tile[3], c, strides[2], layout)
