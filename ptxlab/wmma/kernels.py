"""Both faces on the GPU: CUDA C++ with <mma.h>, and CUDA C++ with the PTX triple wmma.load, wmma.mma, wmma.store.

Both kernels take the same arguments: tiles of A, B, C and D one after another in memory, each with its own stride.
"""

from __future__ import annotations

import re
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import gpu
from ..errors import PtxlabError, listing
from ..gpu.launcher import Argument
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from .buffers import line_up, load_matrix_sync, pack_matrix, store_matrix_sync, unpack_matrix
from .fragments import (
    accumulator,
    bmmaBitOp,
    col_major,
    fragment,
    layout_t,
    matrix_a,
    matrix_b,
    mem_row_major,
    memory_layout,
    row,
    row_major,
)
from .operations import bmma_sync, mma_sync

__all__ = ["NAMES", "cpp_source", "ptx_lines", "ptx_triple", "run", "run_buffers"]

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
    {a} a;
    {b} b;
    {c} c, d;

    wmma::load_matrix_sync(a, A, lda);
    wmma::load_matrix_sync(b, B, ldb);
    wmma::load_matrix_sync(c, C, ldc, wmma::{layout});
    {call}
    wmma::store_matrix_sync(D, d, ldc, wmma::{layout});"""


def _fragments(ins: MmaForm) -> tuple[fragment, fragment, fragment]:
    size = ins.m, ins.n, ins.k
    a, b = fragment(matrix_a, *size, ins.a_type, row_major), fragment(matrix_b, *size, ins.b_type, col_major)
    return a, b, fragment(accumulator, *size, ins.c_type)


def _bit_op(ins: MmaForm) -> str:
    return f"bmmaBitOp{ins.bit_op.upper()}" if ins.bit_op else ""


def _kernel(ins: MmaForm, name: str, head: str, body: str, layout: layout_t) -> str:
    return _KERNEL.format(
        head=head,
        title=f"{ins.shape} {ins.a_type}"
        + (f" with {_bit_op(ins)}" if ins.bit_op else "")
        + (", saturating" if ins.satfinite else ""),
        formula=f"popc(A {ins.bit_op} B) + C" if ins.bit_op else "A B + C",
        per=ins.a.elements_per_register,
        word=_fragments(ins)[0].storage_element_type.cpp,
        name=name,
        m=ins.m,
        n=ins.n,
        lines=ins.c.shape[layout],
        body=body,
    )


def cpp_source(ins_or_type: Any, op: Any = None, satf: bool = False, *, layout: Any = mem_row_major) -> str:
    """A kernel in CUDA C++ with `nvcuda::wmma`; `layout` is that of C and D in memory.

    >>> "wmma::mma_sync(d, a, b, c, false);" in cpp_source("s4")
    True
    """
    ins, layout = row(ins_or_type, op, satf), memory_layout(layout)
    a, b, c = (frag.cpp for frag in _fragments(ins))
    call = f"wmma::bmma_sync(d, a, b, c, wmma::experimental::{_bit_op(ins)}, wmma::experimental::bmmaAccumulateOpPOPC);"
    if not ins.bit_op:
        call = f"wmma::mma_sync(d, a, b, c, {str(ins.satfinite).lower()});"
    body = _CPP.format(a=a, b=b, c=c, call=call, layout=layout.name)
    return _kernel(ins, NAMES["cpp"], "#include <mma.h>\n\nusing namespace nvcuda;\n", body, layout)


def ptx_lines(
    ins_or_type: Any, op: Any = None, satf: bool = False, *, layout: Any = mem_row_major
) -> dict[str, str]:
    """The five PTX instructions in their order: three loads, the wmma.mma and the store, registers named as in the manual.

    >>> ptx_lines("s4")["load.a"]
    'wmma.load.a.sync.aligned.row.m8n8k32.s4 {%a0}, [%pA], %lda;'
    """
    ins, layout = row(ins_or_type, op, satf), memory_layout(layout)
    order = "col" if layout else "row"
    a, b, c, d = (_registers(operand) for operand in (ins.a, ins.b, ins.c, ins.d))
    stem = "sync.aligned"
    return {
        "load.a": f"wmma.load.a.{stem}.row.{ins.shape}.{ins.a_type} {a}, [%pA], %lda;",
        "load.b": f"wmma.load.b.{stem}.col.{ins.shape}.{ins.b_type} {b}, [%pB], %ldb;",
        "load.c": f"wmma.load.c.{stem}.{order}.{ins.shape}.{ins.c_type} {c}, [%pC], %ldc;",
        "mma": f"{ins.mnemonic} {d}, {a}, {b}, {c};",
        "store.d": f"wmma.store.d.{stem}.{order}.{ins.shape}.{ins.d_type} [%pD], {d}, %ldc;",
    }


def _registers(operand: Operand) -> str:
    return "{" + ", ".join(f"%{operand.name.lower()}{i}" for i in range(operand.registers)) + "}"


def ptx_triple(ins_or_type: Any, op: Any = None, satf: bool = False, *, layout: Any = mem_row_major) -> str:
    """A kernel with the PTX instructions themselves, inline: loads and the store go to memory, each with its stride.

    >>> ptx_triple("s4").count("asm volatile")   # three loads, the wmma.mma, the store
    5
    """
    ins, layout = row(ins_or_type, op, satf), memory_layout(layout)
    declared = ", ".join(
        f"{operand.name.lower()}[{operand.registers}]" for operand in (ins.a, ins.b, ins.c, ins.d)
    )
    body = [f"    unsigned {declared};", ""]
    body += [_asm(line) for line in ptx_lines(ins, layout=layout).values()]
    return _kernel(ins, NAMES["ptx"], "", "\n".join(body), layout).lstrip()


def _asm(line: str) -> str:
    """One instruction as an asm statement, its operands numbered as they stand in the line."""
    names = re.findall(r"%\w+", line)
    written = 0 if line.startswith("wmma.store") else len(re.findall(r"%\w+", line[: line.index("}")]))
    operands = [_cpp_operand(name) for name in names]
    for number, name in enumerate(names):
        line = line.replace(name, f"%{number}", 1)
    parts = [
        ", ".join(f'"={kind}"({text})' for kind, text in operands[:written]),
        ", ".join(f'"{kind}"({text})' for kind, text in operands[written:]),
    ]
    if not line.startswith("wmma.mma"):
        parts.append('"memory"')
    return f'    asm volatile("{line}"\n                 : {" : ".join(parts)});'.replace(":  :", "::")


def _cpp_operand(name: str) -> tuple[str, str]:
    """Constraint and C++ expression: %pA is the pointer A, %lda the stride lda, %a0 the register a[0]."""
    if name.startswith("%p"):
        return "l", name[2:]
    return "r", name[1:] if name.startswith("%ld") else f"{name[1]}[{name[2:]}]"


# -- running ----------------------------------------------------------------------------------------------------------


def run(
    ins_or_type: Any,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    *,
    op: Any = None,
    satf: bool = False,
    face: Face = "cpp",
    lda: int | None = None,
    ldb: int | None = None,
    ldc: int | None = None,
    layout: Any = mem_row_major,
) -> NDArray[Any]:
    """Matrices of values [..., rows, columns] through memory: packed with these strides, run, unpacked.

    `face` is "cpp" or "ptx" on the GPU, or "mirror": `load_matrix_sync`, `mma_sync` and `store_matrix_sync` of this package.

    >>> run("s4", np.full((8, 32), -2), np.full((32, 8), 3), face="mirror")[0, :3]
    array([-192, -192, -192], dtype=int32)
    """
    ins = row(ins_or_type, op, satf)
    layout = memory_layout(layout)
    C = np.zeros(ins.c.shape, dtype=np.int32) if C is None else C
    given = [operand.check_matrix(matrix) for operand, matrix in ((ins.a, A), (ins.b, B), (ins.c, C))]
    try:
        batch = np.broadcast_shapes(*(matrix.shape[:-2] for matrix in given))
    except ValueError:
        raise PtxlabError(
            f"A, B and C have batches {listing(matrix.shape[:-2] for matrix in given)}, which do not broadcast"
        ) from None
    tiles = [
        np.broadcast_to(matrix, batch + matrix.shape[-2:]).reshape(-1, *matrix.shape[-2:]) for matrix in given
    ]
    orders = (row_major, col_major, layout)
    strides = [
        line_up(op.shape[axis], op.dtype) if ld is None else ld
        for op, axis, ld in zip(_inputs(ins), _along(layout), (lda, ldb, ldc), strict=True)
    ]
    a, b, c = (
        pack_matrix(tile, op.dtype, ld, order)
        for tile, op, ld, order in zip(tiles, _inputs(ins), strides, orders, strict=True)
    )
    d = run_buffers(ins, a, b, c, *strides, face=face, layout=layout)
    return unpack_matrix(d, ins.d.shape, ins.d_type, strides[2], layout).reshape(*batch, *ins.d.shape)


def _inputs(ins: MmaForm) -> tuple[Operand, Operand, Operand]:
    return ins.a, ins.b, ins.c


def _along(layout: layout_t) -> tuple[int, int, int]:
    """The axis of A, B and C that runs along a line of memory."""
    return 1, 0, 1 - layout


def run_buffers(
    ins_or_type: Any,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    lda: int,
    ldb: int,
    ldc: int,
    *,
    op: Any = None,
    satf: bool = False,
    face: Face = "cpp",
    layout: Any = mem_row_major,
) -> NDArray[Any]:
    """Buffers [tiles, words] as they lie in memory -> the buffer of D; what lies between its lines is undefined.

    >>> a, b = pack_matrix(np.full((8, 32), -2), "s4"), pack_matrix(np.full((32, 8), 3), "s4", layout="col_major")
    >>> run_buffers("s4", a[None], b[None], np.zeros((1, 64), dtype=np.int32), 32, 32, 8, face="mirror")[0, :3]
    array([-192, -192, -192], dtype=int32)
    """
    ins, layout = row(ins_or_type, op, satf), memory_layout(layout)
    if face not in get_args(Face):
        raise PtxlabError(f"face={face!r}: there are {listing(get_args(Face))}")
    for name, buffer, op_, axis, ld in zip(
        "abc", (a, b, c), _inputs(ins), _along(layout), (lda, ldb, ldc), strict=True
    ):
        right = len(a), op_.shape[1 - axis] * ld // op_.elements_per_register
        if buffer.shape != right or buffer.dtype.itemsize != 4:
            raise PtxlabError(
                f"{name}: found {buffer.dtype} of shape {buffer.shape}; tiles with this stride take 32-bit words of shape {right}"
            )
    strides, d = (lda, ldb, ldc), np.zeros_like(c)
    if face == "mirror":
        for tile in range(len(a)):
            _mirror(ins, (a[tile], b[tile], c[tile], d[tile]), strides, layout)
    elif len(a):
        _launch(ins, face, [a, b, c], d, strides, layout)
    return d


def _mirror(
    ins: MmaForm, tile: tuple[NDArray[Any], ...], strides: tuple[int, int, int], layout: layout_t
) -> None:
    a, b, c = _fragments(ins)
    load_matrix_sync(a, tile[0], strides[0])
    load_matrix_sync(b, tile[1], strides[1])
    load_matrix_sync(c, tile[2], strides[2], layout)
    if ins.bit_op:
        bmma_sync(c, a, b, c, bmmaBitOp[_bit_op(ins)])
    else:
        mma_sync(c, a, b, c, ins.satfinite)
    store_matrix_sync(tile[3], c, strides[2], layout)


def _launch(
    ins: MmaForm,
    face: str,
    inputs: list[NDArray[Any]],
    d: NDArray[Any],
    strides: tuple[int, int, int],
    layout: layout_t,
) -> None:
    if not gpu.available(ins):
        raise PtxlabError(f"{gpu.status(ins)}; face='mirror' runs here")
    source = (cpp_source if face == "cpp" else ptx_triple)(ins, layout=layout)
    tiles = len(d)
    arguments: list[Argument] = [*inputs, gpu.Out(d)]
    arguments += [np.uint32(number) for number in (*strides, tiles)]
    gpu.launch(
        source, NAMES[face], arguments, grid=-(-tiles * 32 // _BLOCK), block=_BLOCK, include_mma=face == "cpp"
    )
