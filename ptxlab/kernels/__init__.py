"""Whole kernels: products of large matrices, and kernels in CUDA C++ or PTX, simulated or launched."""
