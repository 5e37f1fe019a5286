"""Whole kernels: products of large matrices, computed as a kernel computes them."""
