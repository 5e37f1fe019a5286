"""Kernels in Triton, as people write them; lines that tests name end with a comment."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    tl.store(out_ptr + i, x + y * scale, mask=mask)


@triton.jit
def softmax(out_ptr, in_ptr, stride, columns, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * stride + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, N, K, TILE: tl.constexpr):  # type: ignore[no-untyped-def]
    m = tl.program_id(0) * TILE + tl.arange(0, TILE)
    n = tl.program_id(1) * TILE + tl.arange(0, TILE)
    k = tl.arange(0, TILE)
    c = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, K, TILE):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :])
        c = tl.dot(a, b, c)
    tl.store(c_ptr + m[:, None] * N + n[None, :], c)


@triton.jit
def locked_sum(x_ptr, sum_ptr, lock_ptr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + i), axis=0)
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(sum_ptr, tl.load(sum_ptr) + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def doubled(x_ptr, i):  # type: ignore[no-untyped-def]
    return 2 * tl.load(x_ptr + i)  # in the helper


@triton.jit
def reverse(x_ptr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, i)  # written
    x = doubled(x_ptr, BLOCK - 1 - i)  # read
    tl.store(x_ptr + BLOCK + i, x)


@triton.jit
def scaled(x_ptr, factor_ptr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(factor_ptr) * tl.load(x_ptr + i))


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, 2 * tl.load(x_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def tile_of(tensor, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
    tile = tensor.load([ROWS, 0])
    i = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out_ptr + i, tile)


@triton.jit
def tile_made(x_ptr, out_ptr, rows, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]
    tensor = tl.make_tensor_descriptor(x_ptr, [rows, COLUMNS], [COLUMNS, 1], [ROWS, COLUMNS])
    tile_of(tensor, out_ptr, ROWS, COLUMNS)


@triton.jit
def several(out_ptr, half: tl.float16, pair, flag):  # type: ignore[no-untyped-def]
    tl.store(out_ptr, half)
    tl.store(pair[0], pair[1])
    if flag:
        tl.store(out_ptr + 1, 7.0)
