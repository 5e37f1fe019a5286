"""Two products of matrices in Triton: a block for each tile, and persistent blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import ptxlab

_N, _TILE, _STEP, _BLOCKS = 256, 64, 32, 5


@triton.jit
def _tile(A, B, C, tile, N: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr):  # type: ignore[no-untyped-def, untyped-decorator]
    rows = tile // (N // TILE) * TILE + tl.arange(0, TILE)
    columns = tile % (N // TILE) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, N, STEP):
        inner = k + tl.arange(0, STEP)
        a = tl.load(A + rows[:, None] * N + inner[None, :])
        b = tl.load(B + inner[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(C + rows[:, None] * N + columns[None, :], total)


@triton.jit
def _plain(A, B, C, N: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr):  # type: ignore[no-untyped-def, untyped-decorator]
    _tile(A, B, C, tl.program_id(0), N, TILE, STEP)


@triton.jit
def _persistent(A, B, C, N: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr):  # type: ignore[no-untyped-def, untyped-decorator]
    for tile in range(tl.program_id(0), (N // TILE) * (N // TILE), tl.num_programs(0)):
        _tile(A, B, C, tile, N, TILE, STEP)


def _launch(function: Any, blocks: int, step: int, A: Any, B: Any) -> tuple[Any, ...]:
    """Kernel, grid, block, shared memory, arguments and C."""
    signature = {
        "A": "*fp16",
        "B": "*fp16",
        "C": "*fp32",
        "N": "constexpr",
        "TILE": "constexpr",
        "STEP": "constexpr",
    }
    constants = {"N": _N, "TILE": _TILE, "STEP": step}
    compiled = triton.compile(ASTSource(function, signature, constants), target=GPUTarget("cuda", 90, 32))
    kernel = ptxlab.kernel(compiled.asm["ptx"], compiled.metadata.name)
    C = np.zeros((_N, _N), np.float32)
    hidden = [0] * (len(kernel.function.parameters) - 3)  # pointers to scratch memory
    block, shared = 32 * compiled.metadata.num_warps, compiled.metadata.shared
    return kernel, blocks, block, shared, (A.copy(), B.copy(), C, *hidden), C


def plain(A: Any, B: Any, step: int = _STEP) -> tuple[Any, ...]:
    """A block for each tile of C; `step` is how much of K a block multiplies at a time."""
    return _launch(_plain, (_N // _TILE) ** 2, step, A, B)


def persistent(A: Any, B: Any, step: int = _STEP) -> tuple[Any, ...]:
    """Five blocks that compute tile after tile."""
    return _launch(_persistent, _BLOCKS, step, A, B)
