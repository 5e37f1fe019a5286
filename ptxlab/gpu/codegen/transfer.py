"""CUDA C++ source around one ldmatrix, stmatrix, movmatrix, wmma.load or wmma.store: one warp a block, memory filled for each."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...isa.operand import Operand
from ...isa.transfer import TransferForm

__all__ = ["IMAGE_BYTES", "in_shared", "name", "ptx_line", "source", "stores"]

#: Shared memory that a kernel declares; every target has as much without asking.
IMAGE_BYTES = 48 * 1024


_KERNEL = """\
// {ptx}
extern "C" __global__ void __launch_bounds__(32) {name}(
    {parameters}, int count)
{{
    const int lane = threadIdx.x;
{image}    for (long long i = blockIdx.x; i < count; i += gridDim.x) {{
{before}
        asm volatile("{line}"
                     :{outs}
                     : {ins}
                     : "memory");
{after}
    }}
}}
"""

_IMAGE = "    __shared__ __align__(128) uint4 image[{size}];\n"
_COPY = "        for (int j = lane; j < size; j += 32) {to} = {of};"
_SYNC = "        __syncwarp();"


def name(move: TransferForm) -> str:
    """Name of its kernel: the mnemonic as an identifier."""
    return re.sub(r"\W", "_", move.mnemonic)


def ptx_line(move: TransferForm) -> str:
    """The instruction with its operands, registers named as in the manual.

    >>> from ptxlab.isa.catalog.transfer import rows
    >>> ptx_line(next(rows()))
    'ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%p];'
    """
    return _line(
        move,
        {n: [f"%{n.lower()}{i}" for i in range(o.registers)] for n, o in move.operands.items()},
        "%p",
        "%stride",
    )


def _line(move: TransferForm, registers: dict[str, list[str]], address: str, stride: str) -> str:
    if move.family == "movmatrix":
        return f"{move.mnemonic} {registers['D'][0]}, {registers['A'][0]};"
    ((_, held),) = registers.items()
    parts = ["{" + ", ".join(held) + "}", f"[{address}]"]
    if stores(move):
        parts.reverse()
    return f"{move.mnemonic} {', '.join(parts + [stride] * move.wmma)};"


def stores(move: TransferForm) -> bool:
    return move.family in ("stmatrix", "wmma.store")


def in_shared(move: TransferForm) -> bool:
    """Whether the kernel keeps the memory in shared memory; generic addresses of wmma point to global memory here."""
    return move.family in ("ldmatrix", "stmatrix") or (move.space or "").startswith("shared")


def source(moves: Iterable[TransferForm]) -> str:
    """The kernels of these instructions in one source."""
    return "\n".join(_movmatrix(move) if move.family == "movmatrix" else _kernel(move) for move in moves)


def _word(operand: Operand) -> str:
    return "unsigned long long" if operand.register_bits == 64 else "unsigned int"


def _movmatrix(move: TransferForm) -> str:
    return _KERNEL.format(
        ptx=ptx_line(move),
        name=name(move),
        parameters="const unsigned int* A, unsigned int* D",
        image="",
        before="        unsigned int d;",
        line=_line(move, {"D": ["%0"], "A": ["%1"]}, "", ""),
        outs=' "=r"(d)',
        ins='"r"(A[i * 32 + lane])',
        after="        D[i * 32 + lane] = d;",
    )


def _kernel(move: TransferForm) -> str:
    operand, stores, shared = move.carried, stores(move), in_shared(move)
    held, word, width = operand.registers, _word(operand), "l" if operand.register_bits == 64 else "r"
    base = "image" if shared else f"({'result' if stores else 'memory'} + i * size)"
    at, kind = _address(move, base)
    registers = [f'"{"" if stores else "="}{width}"(r[{n}])' for n in range(held)]
    tail = [f'"{kind}"(address)', *(['"r"(stride)'] if move.wmma else [])]
    numbers = [f"%{n + stores * 1}" for n in range(held)]
    line = _line(move, {operand.name: numbers}, "%0" if stores else f"%{held}", f"%{held + 1}")
    before, after = [], []
    if shared:
        before = [_SYNC, _COPY.format(to="image[j]", of="memory[i * size + j]"), _SYNC]
    elif stores:
        before = [_COPY.format(to="result[i * size + j]", of="memory[i * size + j]"), _SYNC]
    before.append(f"        {word} r[{held}];")
    loop = f"        for (int n = 0; n < {held}; ++n) {{}};".format
    own = f"R[(i * 32 + lane) * {held} + n]"
    if stores:
        before.append(loop(f"r[n] = {own}"))
        after = [_SYNC, _COPY.format(to="result[i * size + j]", of="image[j]")] if shared else []
    else:
        after = [loop(f"{own} = r[n]")]
    before.append(f"        {at};")
    return _KERNEL.format(
        ptx=ptx_line(move),
        name=name(move),
        parameters=", ".join(_parameters(move, word)),
        image=_IMAGE.format(size=IMAGE_BYTES // 16) if shared else "",
        before="\n".join(before),
        line=line,
        outs="" if stores else " " + ", ".join(registers),
        ins=", ".join([tail[0], *registers, *tail[1:]] if stores else tail),
        after="\n".join(after),
    )


def _parameters(move: TransferForm, word: str) -> list[str]:
    stores = stores(move)
    where = ["unsigned int stride", "unsigned int offset"] if move.wmma else []
    given = ["const uint4* memory", *([] if move.wmma else ["const unsigned int* addresses"])]
    return [
        *given,
        f"const {word}* R" if stores else f"{word}* R",
        *(["uint4* result"] if stores else []),
        "int size",
        *where,
    ]


def _address(move: TransferForm, base: str) -> tuple[str, str]:
    """Declaration of the address that the lane supplies, and its constraint."""
    pointer = f"(char*){base} + {'offset' if move.wmma else 'addresses[i * 32 + lane]'}"
    if move.space is None:
        return f"const void* address = {pointer}", "l"
    if move.space == "global":
        return f"const size_t address = __cvta_generic_to_global({pointer})", "l"
    return f"const unsigned int address = (unsigned int)__cvta_generic_to_shared({pointer})", "r"
