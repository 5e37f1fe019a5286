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

__all__ = ["Alignment", "backend", "call", "fused_codes", "serves", "wants_numba"]

Array = NDArray[Any]


class Alignment(NamedTuple):
    """The numbers of one fused step: see `rules.Fused`."""

    fraction_bits: int
    result_bits: int
    floor: int


#: Products from which numba is worth it: fewer take NumPy some 20 ms, and numba's first call takes seconds to
#: compile.
_WORTH = 1 << 19
_BESIDE = 128  # MMAs that vector instructions take side by side: all their values stay in cache
_WORTH_WORDS = 1 << 14  # registers from which a compiled loop is worth its call
_WORTH_LOADING = 1 << 26  # registers from which numba is worth loading
_chosen: str | None = None
_words = 0  # registers moved so far


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


def wants_numba(words: int) -> bool:
    """Whether numba should move that many registers, a matter of a few nanoseconds each.

    Loading numba takes as long as NumPy takes for many millions of them: it is loaded once so many have come.
    """
    global _words
    if _chosen is not None or words < _WORTH_WORDS:
        return _chosen == "numba"
    _words += words
    return _words >= _WORTH_LOADING and _loop() is not None


class _Codes(NamedTuple):
    """Codes a [count, M, K], b [count, K, N], c [count, M, N]; which elements of A are stored, or None."""

    a: Array
    b: Array
    c: Array
    stored: Array | None

    def of(self, which: Any) -> _Codes:
        """Those of some MMAs."""
        stored = None if self.stored is None else self.stored[which]
        return _Codes(self.a[which], self.b[which], self.c[which], stored)


class _Step(NamedTuple):
    """What a fused step does, as the loops take it."""

    dtypes: tuple[DType, DType, DType, DType]
    alignment: Alignment

    @property
    def numbers(self) -> tuple[int, int, int, bool]:
        """Bits of fraction kept in the sum, its floor, bits of fraction kept of D, whether it is rounded."""
        nearest = self.dtypes[3].name == "f16"
        kept = self.dtypes[3].fraction_bits if nearest else self.alignment.result_bits
        return self.alignment.fraction_bits, self.alignment.floor, kept, nearest


def fused_codes(
    a: Array,
    b: Array,
    c: Array,
    stored: Array | None,
    dtypes: tuple[DType, DType, DType, DType],
    alignment: Alignment,
) -> Array:
    """Codes of D for codes a [count, M, K], b [count, K, N], c [count, M, N]; see `fused.fused_dot`."""
    codes, step = _Codes(a, b, c, stored), _Step(dtypes, alignment)
    d, odd = np.empty(c.shape, dtype=np.uint32), np.ones(len(c), dtype=np.bool_)
    if alignment.fraction_bits <= 25:
        whole = len(c) - len(c) % _BESIDE
        if whole:
            d[:whole], odd[:whole] = _plain_codes(codes.of(slice(0, whole)), _BESIDE, step)
        if whole < len(c):
            d[whole:], odd[whole:] = _plain_codes(codes.of(slice(whole, None)), len(c) - whole, step)
    rest = np.flatnonzero(odd)
    if len(rest):
        d[rest] = _all_codes(codes.of(rest), step)
    return d.astype(dtypes[3].code_type, copy=False)


def _plain_codes(codes: _Codes, length: int, step: _Step) -> tuple[Array, Array]:
    """Codes of D, and for which MMAs they do not count; `loop.fill_plain` takes `length` side by side."""

    def side_by_side(x: Array) -> Array:
        blocks = x.reshape(-1, length, x.shape[1] * x.shape[2])
        return np.ascontiguousarray(blocks.transpose(0, 2, 1)).reshape(-1, *x.shape[1:], length)

    # turned before they are made wider: less to move
    a, b, c = (side_by_side(x).astype(np.uint32, copy=False) for x in (codes.a, codes.b, codes.c))
    there = np.zeros((0, 0, 0, 0), dtype=np.bool_) if codes.stored is None else side_by_side(codes.stored)
    d, odd = np.empty(c.shape, dtype=np.uint32), np.zeros((len(c), length), dtype=np.bool_)
    ignored = tuple(np.uint32(float_type.ignored_bits) for float_type in step.dtypes[:3])
    tables = tuple(_table(float_type) for float_type in step.dtypes[:3])
    call(_loop(), "fill_plain", a, b, c, there, d, ignored, tables, _form(step.dtypes[3]), *step.numbers, odd)
    return np.moveaxis(d, -1, 1).reshape(codes.c.shape), odd.reshape(-1)


def _all_codes(codes: _Codes, step: _Step) -> Array:
    """Codes of D, whatever A, B and C hold: see `loop.fill`."""
    a, b, c = (np.ascontiguousarray(x, dtype=np.uint32) for x in (codes.a, codes.b, codes.c))
    there = (
        np.zeros((0, 0, 0), dtype=np.bool_) if codes.stored is None else np.ascontiguousarray(codes.stored)
    )
    d = np.empty(c.shape, dtype=np.uint32)
    forms = tuple(_form(float_type) for float_type in step.dtypes)
    scales = tuple(_scales(float_type) for float_type in step.dtypes[:3])
    call(_loop(), "fill", a, b, c, there, d, forms, scales, *step.numbers, _powers(_loop().LOWEST))
    return d


def call(module: Any, name: str, *arguments: Any) -> None:
    """A compiled function; where numba cannot read or write what it compiled, all are compiled anew."""
    function = getattr(module, name)
    try:
        function(*arguments)
    except Exception:
        if function.stats.cache_path is None:
            raise
        _loop().compile_without_cache()
        getattr(module, name)(*arguments)


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


@lru_cache(maxsize=None)
def _table(float_type: DType) -> tuple[Array, Array]:
    """Value and exponent of every code without its ignored bits; none of f32, which has too many.

    The exponent is `loop.ODD` where float32 might not hold a product: beyond 2^50, and what is not finite.
    """
    loop = _loop()
    if float_type.name == "f32":
        return np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int16)
    exponent_bits, fraction_bits, bias, ignored, _ = _form(float_type)
    codes = np.arange(1 << float_type.bits - ignored, dtype=np.uint32)
    field = codes >> fraction_bits & (1 << exponent_bits) - 1
    exponents = np.maximum(field.astype(np.int16), 1) - np.int16(bias)
    with np.errstate(invalid="ignore", over="ignore"):
        values = float_type.decode((codes << ignored).astype(float_type.code_type)).astype(np.float32)
    exponents[values == 0] = loop.ABSENT
    odd = ~np.isfinite(values) | ((abs(exponents) > 50) & (values != 0))
    exponents[odd], values[odd] = loop.ODD, 0
    return values, exponents


@lru_cache(maxsize=1)
def _powers(lowest: int) -> Array:
    """2.0 ** lowest and on."""
    return np.ldexp(1.0, np.arange(lowest, 1024))
