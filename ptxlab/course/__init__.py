"""The course behind the notebooks: how answers are read and checked, the syllabus, and the reader's progress.

The exercises of `notebooks/20-sparse-gemm.ipynb` are in `exercises/sparse_gemm.py`, and so for every lesson.
Users import `ptxlab.lessons`.
"""
