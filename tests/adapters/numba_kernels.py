"""Kernels in Numba, as people write them; lines that tests name end with a comment."""

from __future__ import annotations

import numba
from numba import cuda
from numba.cuda.random import xoroshiro128p_uniform_float32


@cuda.jit
def add(x, y, out, scale):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + scale * y[i]


@cuda.jit
def number_rows(x):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    x[i // 4, i % 4] = i


@cuda.jit
def reverse(x):  # type: ignore[no-untyped-def]
    shared = cuda.shared.array(64, numba.int32)
    i = cuda.threadIdx.x
    shared[i] = x[i]  # written
    x[i] = shared[63 - i]  # read


@cuda.jit
def several(out, z, flag, pair):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if flag:
        out[i] = out[i] * z + pair[0][i] + pair[1]


@cuda.jit
def uniform(states, out):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    out[i] = xoroshiro128p_uniform_float32(states, i)


@cuda.jit
def half_axpy(x, y, a):  # type: ignore[no-untyped-def]
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


@cuda.jit
def neighbours(x, out):  # type: ignore[no-untyped-def]
    """All blocks write, then each reads what another wrote."""
    i = cuda.grid(1)
    x[i] = i
    cuda.cg.this_grid().sync()
    out[i] = x[(i + 32) % x.size]


@cuda.jit
def whole_grid(out):  # type: ignore[no-untyped-def]
    """A grid that nobody waits for."""
    grid = cuda.cg.this_grid()
    out[0] = 0 if grid is None else 1


@cuda.jit
def first(out, value):  # type: ignore[no-untyped-def]
    out[0] = value


@cuda.jit
def fill_record(record, single):  # type: ignore[no-untyped-def]
    record.x = 1.5
    record.n = 7
    single[()] = 9


@cuda.jit
def with_empty_tuple(out, nothing):  # type: ignore[no-untyped-def]
    out[0] = len(nothing)


def scale_row(factor, row, out):  # type: ignore[no-untyped-def]
    """For `numba.guvectorize`."""
    for i in range(row.size):
        out[i] = factor * row[i]


def plus(x, y):  # type: ignore[no-untyped-def]
    """For `numba.vectorize`, and a function of the device."""
    return x + y


def refuse_negative(x):  # type: ignore[no-untyped-def]
    """For `cuda.jit` with and without `debug=True`."""
    if x[cuda.grid(1)] < 0:
        raise ValueError("a negative number")  # raised


def checked(x, i):  # type: ignore[no-untyped-def]
    """A function of the device that raises."""
    if i >= x.size:
        raise IndexError
    return x[i]
