"""CUDA C++ source with the one moving instruction in it, and its launch: one warp a block, memory filled anew for each instruction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError
from ..operand import Operand
from .emulation import Given, check
from .move import ROW_BYTES, Move

__all__ = ["IMAGE_BYTES", "name", "ptx_line", "run", "source"]

#: Shared memory that a kernel declares; every target has as much without asking.
IMAGE_BYTES = 48 * 1024

_UNIT = 32  # bytes to which memory is filled up, so that every instruction's begins aligned
_CHUNK_BYTES = 1 << 28

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


def name(move: Move) -> str:
    """Name of its kernel: the mnemonic as an identifier."""
    return re.sub(r"\W", "_", move.mnemonic)


def ptx_line(move: Move) -> str:
    """The instruction with its operands, registers named as in the manual.

    >>> from ptxlab.catalog.moves import rows
    >>> ptx_line(next(rows()))
    'ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%p];'
    """
    return _line(move, {n: [f"%{n.lower()}{i}" for i in range(o.registers)] for n, o in move.operands.items()}, "%p", "%stride")


def _line(move: Move, registers: dict[str, list[str]], address: str, stride: str) -> str:
    if move.family == "movmatrix":
        return f"{move.mnemonic} {registers['D'][0]}, {registers['A'][0]};"
    ((_, held),) = registers.items()
    parts = ["{" + ", ".join(held) + "}", f"[{address}]"]
    if _stores(move):
        parts.reverse()
    return f"{move.mnemonic} {', '.join(parts + [stride] * move.wmma)};"


def _stores(move: Move) -> bool:
    return move.family in ("stmatrix", "wmma.store")


def _in_shared(move: Move) -> bool:
    """Whether the kernel keeps the memory in shared memory; generic addresses of wmma point to global memory here."""
    return move.family in ("ldmatrix", "stmatrix") or (move.space or "").startswith("shared")


def source(moves: Iterable[Move]) -> str:
    """The kernels of these instructions in one source."""
    return "\n".join(_movmatrix(move) if move.family == "movmatrix" else _kernel(move) for move in moves)


def _word(operand: Operand) -> str:
    return "unsigned long long" if operand.register_bits == 64 else "unsigned int"


def _movmatrix(move: Move) -> str:
    return _KERNEL.format(
        ptx=move.ptx,
        name=name(move),
        parameters="const unsigned int* A, unsigned int* D",
        image="",
        before="        unsigned int d;",
        line=_line(move, {"D": ["%0"], "A": ["%1"]}, "", ""),
        outs=' "=r"(d)',
        ins='"r"(A[i * 32 + lane])',
        after="        D[i * 32 + lane] = d;",
    )


def _kernel(move: Move) -> str:
    operand, stores, shared = move.carried, _stores(move), _in_shared(move)
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
        ptx=move.ptx,
        name=name(move),
        parameters=", ".join(_parameters(move, word)),
        image=_IMAGE.format(size=IMAGE_BYTES // 16) if shared else "",
        before="\n".join(before),
        line=line,
        outs="" if stores else " " + ", ".join(registers),
        ins=", ".join([tail[0], *registers, *tail[1:]] if stores else tail),
        after="\n".join(after),
    )


def _parameters(move: Move, word: str) -> list[str]:
    stores = _stores(move)
    where = ["unsigned int stride", "unsigned int offset"] if move.wmma else []
    given = ["const uint4* memory", *([] if move.wmma else ["const unsigned int* addresses"])]
    return [*given, f"const {word}* R" if stores else f"{word}* R", *(["uint4* result"] if stores else []), "int size", *where]


def _address(move: Move, base: str) -> tuple[str, str]:
    """Declaration of the address that the lane supplies, and its constraint."""
    pointer = f"(char*){base} + {'offset' if move.wmma else 'addresses[i * 32 + lane]'}"
    if move.space is None:
        return f"const void* address = {pointer}", "l"
    if move.space == "global":
        return f"const size_t address = __cvta_generic_to_global({pointer})", "l"
    return f"const unsigned int address = (unsigned int)__cvta_generic_to_shared({pointer})", "r"


# -- running ----------------------------------------------------------------------------------------------------------


def run(move: Move, arrays: Sequence[ArrayLike], stride: int | None, offset: int, code: str | None) -> NDArray[Any]:
    """The instruction on the GPU; see `Move.run`."""
    from .. import gpu

    if gpu.device_target() not in move.targets:
        raise PtxlabError(gpu.status(cast(Any, move)))
    given = check(move, arrays, stride, offset)
    size = -(-given.memory.shape[-1] // _UNIT) * _UNIT
    if _in_shared(move) and size > IMAGE_BYTES:
        raise PtxlabError(f"memory of {given.memory.shape[-1]} bytes: the kernel of {move.mnemonic} has {IMAGE_BYTES} bytes of shared memory")
    operand = move.carried
    addresses = _lane_addresses(move, given, arrays[1]) if move.speakers else np.zeros((given.count, 0), dtype=np.uint32)
    stores = _stores(move)
    out = np.empty((given.count, size), dtype=np.uint8) if stores else np.empty((given.count, 32, operand.registers), dtype=operand.register_type)
    step = max(1, _CHUNK_BYTES // max(size, out[:1].nbytes, 1))
    for first in range(0, given.count, step):
        part = slice(first, min(first + step, given.count))
        arguments = _arguments(move, given, addresses, part, gpu.Out(out[part]), size)
        if move.wmma:
            arguments += [np.uint32(given.stride), np.uint32(offset)]
        count = part.stop - part.start
        gpu.launch(code or move.kernel, name(move), [*arguments, np.int32(count)], grid=min(count, 4096), block=32)
    return given.stored(out[:, : given.memory.shape[-1]]) if stores else out.reshape(*given.batch, *out.shape[1:])


def _lane_addresses(move: Move, given: Given, addresses: ArrayLike) -> NDArray[np.uint32]:
    """What every lane supplies: lanes that are not heard keep an address that is one, the others repeat a lower lane's (sm_75 looks there)."""
    whole = np.broadcast_to(addresses, (*given.batch, move.lanes)).reshape(given.count, move.lanes)
    lower = whole[:, np.arange(move.lanes) % len(move.speakers)]
    valid = (whole >= 0) & (whole % ROW_BYTES == 0) & (whole + ROW_BYTES <= given.memory.shape[-1])
    return np.where(valid, whole, lower).astype(np.uint32)


def _arguments(move: Move, given: Given, addresses: NDArray[Any], part: slice, out: Any, size: int) -> list[Any]:
    """The arrays of one launch, in the order of the kernel's parameters, and the size of a memory in units of 16 bytes."""
    if move.family == "movmatrix":
        return [given.registers[part], out]
    memory = np.zeros((part.stop - part.start, size), dtype=np.uint8)
    memory[:, : given.memory.shape[-1]] = given.memory[given.of[part]]
    lanes = [] if move.wmma else [addresses[part]]
    results = [given.registers[part], out] if _stores(move) else [out]
    return [memory, *lanes, *results, np.int32(size // 16)]
