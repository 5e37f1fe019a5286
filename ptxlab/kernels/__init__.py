"""Whole kernels: products of large matrices, computed in the order of a real kernel."""
