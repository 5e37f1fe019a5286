"""Every exercise of the course, by name."""

from __future__ import annotations

from types import ModuleType

from .._util.arguments import is_name
from ..errors import PtxlabError, listing, quoted
from . import (
    block_scaled_tcgen05,
    block_scaling,
    descriptors,
    element_types,
    first_kernel,
    fragments,
    gemm_ladder,
    how_fast,
    machine_code,
    metadata,
    numerics,
    other_sparse,
    real_gpu,
    shared_memory,
    sparse_gemm,
    sparse_mma_s4,
    sparse_mma_tf32,
    sparse_wgmma,
    start_here,
    structured_sparsity,
    tensor_memory,
    wgmma,
    what_goes_wrong,
    wmma,
)
from .checking import Exercise

#: The module of each lesson, in the order of the notebooks.
_LESSON_MODULES = (
    start_here,
    fragments,
    element_types,
    structured_sparsity,
    metadata,
    sparse_mma_s4,
    sparse_mma_tf32,
    other_sparse,
    wmma,
    wgmma,
    sparse_wgmma,
    block_scaling,
    numerics,
    machine_code,
    real_gpu,
    shared_memory,
    descriptors,
    first_kernel,
    what_goes_wrong,
    how_fast,
    gemm_ladder,
    sparse_gemm,
    tensor_memory,
    block_scaled_tcgen05,
)


def _exercises_of(module: ModuleType) -> list[Exercise]:
    exercises = [value for value in vars(module).values() if isinstance(value, Exercise)]
    return sorted(exercises, key=lambda each: each.name)


#: Every exercise by its name, in the order of the notebooks: "01.2" is the second of lesson 01.
EXERCISES: dict[str, Exercise] = {
    each.name: each for module in _LESSON_MODULES for each in _exercises_of(module)
}


def exercise(name: str) -> Exercise:
    """The exercise of that name.

    >>> print(exercise("00.1").task)
    Look at the picture of C. **Which lane holds `C[9][3]`, and as which of its four elements?**
    """
    if not is_name(name, EXERCISES):
        raise PtxlabError(f"there is no exercise {quoted(name)}; there are {listing(EXERCISES, 40)}")
    return EXERCISES[name]
