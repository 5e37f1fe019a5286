"""A program for tests of `ptxlab debug --dap`: two launches of Numba."""

import numpy as np
from numba import cuda


@cuda.jit
def fill(x):
    x[cuda.threadIdx.x] = cuda.threadIdx.x


@cuda.jit
def scale(x, n):
    i = cuda.grid(1)
    if i < n:
        v = x[i] * 2
        x[i] = v + 1


x = np.zeros(64, dtype=np.float32)
print("before the launches")
fill[1, 64](x)
scale[2, 32](x, 60)
print("never printed: the debugger stops the script at its launch")
