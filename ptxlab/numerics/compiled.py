"""The fused dot product as one loop that numba compiles, for large batches where numba is installed.

It gives the same bits as `fused_sum`, which needs only NumPy. Here, too, every term is a float64 that holds
it exactly; infinities and NaN are found with bit masks over k instead of sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, listing
from ..isa.dtypes import DType

__all__ = ["Alignment", "backend", "fused_codes", "serves"]

Array = NDArray[Any]


class Alignment(NamedTuple):
    """The numbers of one fused step: see `rules.Fused`."""

    fraction_bits: int
    result_bits: int
    floor: int


#: Products from which numba is worth it: fewer take NumPy some 20 ms, and numba's first call takes seconds to
#: compile.
_WORTH = 1 << 19
_chosen: str | None = None


@contextmanager
def backend(name: str) -> Iterator[None]:
    """Inside the block, fused sums are computed by "numpy" or by "numba", whatever their size.

    The bits are the same.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> with backend("numpy"):
    ...     float(ins(np.ones((16, 16)), np.ones((16, 8)))[0, 0])
    16.0
    """
    global _chosen
    if name not in ("numpy", "numba"):
        raise PtxlabError(f"unknown backend {name!r}; there are {listing(('numpy', 'numba'))}")
    if name == "numba" and _loop() is None:
        raise PtxlabError('numba is not installed, or does not fit this NumPy: pip install "ptxlab[fast]"')
    before, _chosen = _chosen, name
    try:
        yield
    finally:
        _chosen = before


@lru_cache(maxsize=1)
def _loop() -> Any:
    """The module that numba compiles; None where numba is missing or does not fit this NumPy."""
    try:
        from . import loop
    except (ImportError, RuntimeError):
        return None
    return loop


def serves(dtypes: tuple[DType, DType, DType, DType], products: int, depth: int) -> bool:
    """Whether the compiled loop takes a product of that many scalar products with K = depth.

    >>> from ptxlab.isa.dtypes import dtype
    >>> dtypes = dtype("f16"), dtype("f16"), dtype("f32"), dtype("f32")
    >>> serves(dtypes, products=100, depth=16)   # too little to compile for
    False
    """
    narrow = all(float_type.bits <= 32 for float_type in dtypes)
    fits = depth <= 64 and dtypes[3].name in ("f16", "f32") and narrow
    return fits and (_chosen == "numba" or (_chosen is None and products >= _WORTH)) and _loop() is not None


def fused_codes(
    a: Array,
    b: Array,
    c: Array,
    stored: Array | None,
    dtypes: tuple[DType, DType, DType, DType],
    alignment: Alignment,
) -> Array:
    """Codes of D for codes a [count, M, K], b [count, K, N], c [count, M, N]; see `fused.fused_dot`."""
    loop, d = _loop(), np.empty(c.shape, dtype=np.uint32)
    a, b, c = (np.ascontiguousarray(x, dtype=np.uint32) for x in (a, b, c))
    there = np.zeros((0, 0, 0), dtype=np.bool_) if stored is None else np.ascontiguousarray(stored)
    nearest = dtypes[3].name == "f16"
    kept = dtypes[3].fraction_bits if nearest else alignment.result_bits
    forms, scales = (
        tuple(_form(float_type) for float_type in dtypes),
        tuple(_scales(float_type) for float_type in dtypes[:3]),
    )
    numbers = alignment.fraction_bits, alignment.floor, kept, nearest, _powers(loop.LOWEST)
    arguments = a, b, c, there, d, forms, scales, *numbers
    fill = loop.fill
    try:
        fill(*arguments)
    except Exception:  # numba's, if it cannot read or write what it compiled
        if fill.stats.cache_path is None:
            raise
        loop.compile_without_cache()
        loop.fill(*arguments)
    return d.astype(dtypes[3].code_type, copy=False)


def _form(float_type: DType) -> tuple[int, int, int, int, int]:
    """Exponent bits, fraction bits, bias, ignored low bits.

    2 where the highest exponent is for infinities and NaN, 1 where one code is NaN.
    """
    special = {"e4m3": 1, "e2m1": 0, "e2m3": 0, "e3m2": 0}.get(float_type.name, 2)
    return (
        float_type.exponent_bits,
        float_type.fraction_bits,
        float_type.bias,
        float_type.ignored_bits,
        special,
    )


@lru_cache(maxsize=None)
def _scales(float_type: DType) -> Array:
    """What a significand is worth, by the exponent field; 0 where that means infinity or NaN."""
    field = np.maximum(np.arange(1 << float_type.exponent_bits), 1)
    scales = np.ldexp(1.0, field - float_type.bias - float_type.fraction_bits)
    if _form(float_type)[4] == 2:
        scales[-1] = 0.0
    return np.asarray(scales)


@lru_cache(maxsize=1)
def _powers(lowest: int) -> Array:
    """2.0 ** lowest and on."""
    return np.ldexp(1.0, np.arange(lowest, 1024))
