"""The kernels of `benchmarks.interpreters` in Numba."""
# mypy: ignore-errors

import math

import numba
from numba import cuda

THREADS = 64
_TILE = 16


@cuda.jit
def product(a, b, out):
    left = cuda.shared.array((_TILE, _TILE), numba.float32)
    right = cuda.shared.array((_TILE, _TILE), numba.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = numba.float32(0)
    for start in range(0, a.shape[1], _TILE):
        left[y, x] = a[row, start + x]
        right[y, x] = b[start + y, column]
        cuda.syncthreads()
        for k in range(_TILE):
            total += left[y, k] * right[k, x]
        cuda.syncthreads()
    out[row, column] = total


@cuda.jit
def softmax(x, out):
    shared = cuda.shared.array(THREADS, numba.float32)
    row, me = cuda.blockIdx.x, cuda.threadIdx.x
    largest = x[row, me]
    for column in range(me, x.shape[1], THREADS):
        largest = max(largest, x[row, column])
    shared[me] = largest
    cuda.syncthreads()
    for other in range(THREADS):
        largest = max(largest, shared[other])
    cuda.syncthreads()
    total = numba.float32(0)
    for column in range(me, x.shape[1], THREADS):
        total += math.exp(x[row, column] - largest)
    shared[me] = total
    cuda.syncthreads()
    total = numba.float32(0)
    for other in range(THREADS):
        total += shared[other]
    for column in range(me, x.shape[1], THREADS):
        out[row, column] = math.exp(x[row, column] - largest) / total
