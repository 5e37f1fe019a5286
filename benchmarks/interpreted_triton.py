"""The kernels of `benchmarks.interpreters` in Triton."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def product(a, b, out, SIZE: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    k = tl.arange(0, STEP)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for start in range(0, SIZE, STEP):
        left = tl.load(a + rows[:, None] * SIZE + (start + k)[None, :])
        right = tl.load(b + (start + k)[:, None] * SIZE + columns[None, :])
        total += tl.dot(left, right)
    tl.store(out + rows[:, None] * SIZE + columns[None, :], total)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    start = tl.program_id(0) * columns
    row = tl.load(x + start + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + start + at, powers / tl.sum(powers, axis=0), mask=at < columns)
