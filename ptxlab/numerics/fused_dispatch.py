"""`fused_dot`: the fused dot product, by numba's loop or by NumPy.

Large batches go through the loop that numba compiles (`fused_numba.py`), if numba is installed; others
through `fused_numpy`, which needs only NumPy and gives the same bits. The loop leaves numbers that are not
finite, or too far from 1 for its float32 products, to `fused_numpy`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple, TypeAlias

import numpy as np

from .._util.interrupts import delayed
from .._util.progress_bar import BACKGROUND
from ..errors import PtxlabError, listing
from ..isa.dtypes import DType, dtype
from ..isa.operand import Operand
from ..isa.operation import Operation
from ..isa.product_form import ProductForm
from .fused_numpy import ABSENT, Alignment, Array, DTypes, FusedCodes, FusedStep, fused_blocks

#: Fewer products are not worth numba's loop: NumPy takes some 20 ms for them, and the first call of numba
#: takes a second to read what it has compiled.
_MIN_PRODUCTS = 1 << 19
_WAIT_SECONDS = 1.0  # for the loop at first use; if it has to be compiled, NumPy computes meanwhile
WIDE = 64  # columns from which a few MMAs are divided into smaller ones: see `divisions`
_forced_backend: str | None = None
_scratch_arrays = threading.local()  # the arrays in which a thread worked last
_starting = threading.Lock()
_compilation: threading.Thread | None = None
_is_compiled = threading.Event()


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
    global _forced_backend
    if name not in ("numpy", "numba"):
        raise PtxlabError(f"unknown backend {name!r}; there are {listing(('numpy', 'numba'))}")
    if name == "numba" and _loop() is None:
        raise PtxlabError(
            'numba is not installed, is switched off, or does not fit this NumPy: pip install "ptxlab[fast]"'
        )
    before, _forced_backend = _forced_backend, name
    try:
        yield
    finally:
        _forced_backend = before


@lru_cache(maxsize=1)
def _loop() -> ModuleType | None:
    """The module that numba compiles; None if numba is missing or does not fit this NumPy."""
    try:
        with delayed():
            from . import fused_numba
    except (ImportError, RuntimeError):
        return None
    return fused_numba


def _loops() -> ModuleType:
    """The module that numba compiles, after a check that there is one."""
    module = _loop()
    assert module is not None
    return module


def uses_loop(dtypes: DTypes, products: int, depth: int) -> bool:
    """Whether the compiled loop computes a sum of that many scalar products with K = depth.

    >>> from ptxlab.isa.dtypes import dtype
    >>> dtypes = dtype("f16"), dtype("f16"), dtype("f32"), dtype("f32")
    >>> uses_loop(dtypes, products=100, depth=16)   # too little to compile for
    False
    """
    narrow = all(float_type.bits <= 32 for float_type in dtypes)
    fits = depth <= 64 and dtypes[3].name in ("f16", "f32") and narrow
    is_large = products >= _MIN_PRODUCTS or _forced_backend == "numba"
    if not fits or not is_large or _forced_backend == "numpy" or _loop() is None:
        return False
    return _forced_backend == "numba" or _is_compiled.is_set() or _compiled_soon()


def _compiled_soon() -> bool:
    """Whether the loop can run; the first call starts a thread that compiles it or reads numba's cache.

    Compiling takes 20 s, in which NumPy computes. In a process that was forked meanwhile, NumPy always does.
    """
    global _compilation
    with _starting:
        if _compilation is None:
            _compilation = threading.Thread(target=_compile, name="numba")
            _compilation.start()
            BACKGROUND.append(_compilation_note)
            _compilation.join(_WAIT_SECONDS)
    return _is_compiled.is_set()


def _compile() -> None:
    """Let numba compile the loop, the same for all types, by computing one MMA of zeros."""
    zeros = np.zeros((1, 8, 8), dtype=np.uint16)
    f16, f32 = dtype("f16"), dtype("f32")
    step = FusedStep((f16, f16, f32, f32), Alignment(fraction_bits=25, result_bits=23, floor=-133))
    fused_codes(FusedCodes(zeros, zeros, zeros.astype(np.uint32)), step)
    _is_compiled.set()


def _compilation_note() -> str:
    compiles = _compilation is not None and _compilation.is_alive()
    return "NumPy computes while numba compiles" if compiles else ""


def fused_dot(codes: FusedCodes, step: FusedStep, c_shift: int = 0) -> Array:
    """Codes of D in one step; C and D have one type.

    Elements of A that are not stored make no products; scales are powers of two that multiply every product;
    C is multiplied by 2^-c_shift.

    >>> f16, f32 = dtype("f16"), dtype("f32")
    >>> codes = FusedCodes(f16.encode([[1, 1]]), f16.encode([[1], [1]]), f32.encode([[2**24]]))
    >>> step = FusedStep((f16, f16, f32, f32), Alignment(fraction_bits=25, result_bits=23, floor=-133))
    >>> int(f32.decode(fused_dot(codes, step))[0, 0])   # added one by one in f32, both would be lost
    16777218
    """
    batch, flat = codes.batch, codes.flat()
    rows, columns = codes.c.shape[-2:]
    products = len(flat.c) * rows * columns * codes.a.shape[-1]
    plain = flat.scales is None and not c_shift
    if plain and uses_loop(step.dtypes, products, codes.b.shape[-2]):
        d = _compiled_dot(flat, step)
    else:
        d = fused_blocks(flat, step, c_shift)
    return d.reshape(*batch, rows, columns)


def _compiled_dot(codes: FusedCodes, step: FusedStep) -> Array:
    """Codes of D for codes with one batch axis, by numba's loop, or by NumPy where the loop skips them."""
    down, across = divisions(codes)
    parts = codes.divided(down, across)
    d, special = fused_codes(parts, step)
    if special.any():
        d[special] = fused_blocks(parts.select(special), step)
    whole = d.reshape(len(codes.c), down, across, *d.shape[1:]).swapaxes(2, 3)
    return whole.reshape(codes.c.shape).astype(step.dtypes[3].code_type, copy=False)


def divisions(codes: FusedCodes) -> tuple[int, int]:
    """Into how many parts rows and columns are divided, so that the loop has many MMAs to work on at once.

    >>> codes = FusedCodes(np.zeros((1, 64, 16)), np.zeros((1, 16, 256)), np.zeros((1, 64, 256)))
    >>> divisions(codes)   # 64 of m32n8
    (2, 32)
    """
    count, rows, columns = codes.c.shape

    def parts(size: int, most: int) -> int:
        """The largest number of equal parts, each of 8 or more."""
        return max((count for count in range(1, min(most, size // 8) + 1) if size % count == 0), default=1)

    across = parts(columns, WIDE // max(count, 1))
    return parts(rows, WIDE // max(count * across, 1)), across


def fused_codes(codes: FusedCodes, step: FusedStep) -> tuple[Array, Array]:
    """Codes of D for codes with one batch axis, without scales, and which MMAs the loop skipped."""
    d = np.empty(codes.c.shape, dtype=np.uint32)
    inputs = codes.a, codes.b, codes.c
    words = tuple(_Words.of_codes(x.shape[1:], x.itemsize) for x in (*inputs, d))
    tables = _tables(words, (*d.shape[1:], codes.a.shape[2]), step.dtypes)
    return d, _fill([_as_words(x) for x in inputs], d.reshape(-1), tables, step)


def fused_registers(operation: Operation, step: FusedStep) -> tuple[Array, Array]:
    """Registers of D [count, lanes, registers], and which MMAs the loop skipped.

    Operands are dense, without block scales, and their arrays have one batch axis. If A and B have an axis of
    iterations in front, [iterations, count, lanes, registers], so has D, and D of one iteration is C of the
    next.
    """
    ins = operation.mma
    count = len(operation.c)
    iterations = operation.a.shape[:-3]
    d = np.empty((*iterations, count, ins.lanes, ins.d.registers), dtype=np.uint32)
    c = operation.c if operation.modifiers.scale_d else np.zeros_like(operation.c)
    inputs = [_as_words(x.reshape(-1, *x.shape[-2:])) for x in (operation.a, operation.b, c)]
    special = _fill(inputs, d.reshape(-1), _register_tables(ins, step.dtypes), step, math.prod(iterations))
    return d, np.flatnonzero(special)


@lru_cache(maxsize=None)
def _register_tables(ins: ProductForm, dtypes: DTypes) -> _Tables:
    words = tuple(_Words.of_operand(operand) for operand in (ins.a, ins.b, ins.c, ins.d))
    return _tables(words, (*ins.d.shape, ins.k), dtypes)


def _round_up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _flat(codes: Array) -> Array:
    """Flatten an array and make it read-only: numba would compile another function for writeable ones."""
    flat = np.ascontiguousarray(codes).reshape(-1).view()
    flat.flags.writeable = False
    return flat


def _scratch(sizes: tuple[int, int, int], words: tuple[int, int, int], codes: int) -> tuple[object, ...]:
    """This thread's arrays for `fused_numba.fill`, which leaves their zeros as they are.

    Values of A, B and C in these sizes, a view of their bits, and their exponents; then words of A, B and C,
    read-only views of them and of the codes, the codes, and the arrays of one block.
    """
    loop = _loops()
    key = (loop.GROUP, sizes, words, codes)
    if getattr(_scratch_arrays, "key", None) == key:
        former: tuple[object, ...] = _scratch_arrays.arrays
        return former
    block = 4 * loop.GROUP
    values = tuple(np.zeros(size, dtype=np.float32) for size in sizes)
    rows = tuple(np.empty(size, dtype=np.uint32) for size in words)
    results = np.empty(codes, dtype=np.uint32)
    arrays = (
        values,
        tuple(array.view(np.uint32) for array in values),
        tuple(np.full(size, ABSENT, dtype=np.int16) for size in sizes),
        (
            rows,
            tuple(_flat(array) for array in (*rows, results)),
            results,
            np.empty(block, dtype=np.float32),
            np.empty(block, dtype=np.int16),
            np.empty(block, dtype=np.int32),
            np.empty(block, dtype=np.float64),
            np.zeros(loop.GROUP, dtype=np.uint16),
            np.empty(loop.GROUP, dtype=np.uint8),
        ),
    )
    _scratch_arrays.key, _scratch_arrays.arrays = key, arrays
    return arrays


def _as_words(codes: Array) -> Array:
    """Codes [count, ...] as 32-bit words [count, n]; zeros fill the last one."""
    count = len(codes)
    flat = np.ascontiguousarray(codes).reshape(count, codes[:1].size)
    rest = -flat.shape[1] % (4 // flat.itemsize)
    if rest:
        flat = np.concatenate([flat, np.zeros((count, rest), dtype=flat.dtype)], axis=1)
    return flat.view(np.uint32)


@dataclass(frozen=True, eq=False)
class _Words:
    """How 32-bit words hold a matrix: the element in each part of a word, and the lowest bit of each part.

    Elements are row * columns + column; -1 for none.
    """

    cells: Array  # [words, parts]
    bits: tuple[int, ...]  # of each part

    @classmethod
    @lru_cache(maxsize=None)
    def of_codes(cls, shape: tuple[int, int], size: int) -> _Words:
        """Codes of `size` bytes, one after another."""
        parts = 4 // size
        cells = np.arange(-(-shape[0] * shape[1] // parts) * parts)
        cells[shape[0] * shape[1] :] = -1
        return cls(cells.reshape(-1, parts), tuple(range(0, 32, 8 * size)))

    @classmethod
    @lru_cache(maxsize=None)
    def of_operand(cls, operand: Operand) -> _Words:
        """Registers of an operand, or codes in shared memory."""
        if operand.layout is None:
            return cls.of_codes(operand.shape, operand.dtype.code_type().itemsize)
        parts = operand.elements_per_register
        bits = tuple(part * operand.width + operand.padding for part in range(parts))
        cells = operand.layout.gather.reshape(-1).copy()
        first = np.zeros(cells.size, dtype=np.bool_)  # the holder that `unpack_codes` reads
        first[operand.layout.scatter()] = True
        return cls(np.where(first, cells, -1).reshape(-1, parts), bits)


def _fill(inputs: list[Array], d: Array, tables: _Tables, step: FusedStep, iterations: int = 1) -> Array:
    """Fill words of D from words [MMAs, words] of A, B and C; returns which MMAs the loop skipped.

    See `fused_numba.fill`.
    """
    a, b, c = inputs
    special = np.zeros(len(c), dtype=np.uint8)
    group = _loops().GROUP
    rows, columns, depth = tables.shape
    arrays = _scratch(
        (2 * depth * group, columns * depth * group, 2 * columns * group),
        (a.shape[1] * group, b.shape[1] * group, c.shape[1] * group),
        rows * columns * group,
    )
    call(
        _loops(),
        "fill",
        _flat(a),
        _flat(b),
        _flat(c),
        d,
        iterations,
        tables.sources,
        tables.places,
        tables.shape,
        tables.forms,
        tables.limits,
        (*step.numbers, 1 << 29 - step.alignment.fraction_bits),  # products whose sum 32 bits hold
        arrays,
        special,
    )
    return special > 0


#: Shift to the right, mask of the bits that count, factor, lowest exponent: see `fused_numba._decode`.
_DecodeForm: TypeAlias = tuple[np.int32, np.uint32, np.float32, int]


class _Tables(NamedTuple):
    """Arguments of `fused_numba.fill`: the types and places of A, B, C and D."""

    sources: tuple[Array, Array, Array, Array]
    places: Array
    shape: tuple[int, int, int]
    forms: tuple[_DecodeForm | Array, ...]
    limits: tuple[tuple[int, int], ...]


@lru_cache(maxsize=None)
def _tables(words: tuple[_Words, ...], shape: tuple[int, int, int], dtypes: DTypes) -> _Tables:
    """Arguments of `fused_numba.fill`; M and N are rounded up to even numbers, K to a multiple of 8."""
    _, columns, depth = shape
    even = _round_up(shape[0], 2), _round_up(columns, 2), _round_up(depth, 8)
    cells_a, cells_b, cells_c, cells_d = (matrix.cells for matrix in words)
    places = (
        np.where(cells_a < 0, -1, cells_a // depth * even[2] + cells_a % depth),
        np.where(cells_b < 0, -1, cells_b % columns * even[2] + cells_b // columns),
        _in_blocks(cells_c, columns),
    )
    sizes = even[0] * even[2], even[1] * even[2], even[0] * even[1]
    a, b, c = (
        _sources(place, matrix.bits, float_type.bits, size)
        for place, matrix, float_type, size in zip(places, words, dtypes, sizes, strict=False)
    )
    limits = [_limits(float_type, which < 2) for which, float_type in enumerate(dtypes[:3])]
    return _Tables(
        (a, b, c, _sources(np.arange(sizes[2])[:, None], (0,), dtypes[3].bits, sizes[2])),
        _in_blocks(cells_d, columns),
        even,
        (*map(_decode_form, dtypes[:3]), np.array(words[3].bits, dtype=np.uint32)),
        (limits[0], limits[1], limits[2]),
    )


def _sources(places: Array, bits: tuple[int, ...], width: int, size: int) -> Array:
    """For each place, the index of its word in [words, GROUP] and the shift to the left of its element."""
    sources = np.full((size, 2), -1, dtype=np.int64)
    word, part = np.nonzero(places >= 0)
    sources[places[word, part], 0] = word * _loops().GROUP
    sources[places[word, part], 1] = 32 - width - np.array(bits)[part]
    return sources


def _in_blocks(cells: Array, columns: int) -> Array:
    """Places of elements if blocks of two rows and two columns follow each other."""
    row, column = np.divmod(cells, columns)
    block = row // 2 * (_round_up(columns, 2) // 2) + column // 2
    return np.where(cells < 0, -1, 4 * block + row % 2 * 2 + column % 2)


def _decode_form(float_type: DType) -> _DecodeForm:
    """How `fused_numba._decode` reads elements of a type."""
    exponent_bits, fraction_bits, bias = float_type.exponent_bits, float_type.fraction_bits, float_type.bias
    mask = (1 << exponent_bits + fraction_bits) - 1 << 23 - fraction_bits | 1 << 31
    return (
        np.int32(8 - exponent_bits),
        np.uint32(mask),
        np.float32(2.0 ** (127 - bias)),
        1 - bias,
    )


def _limits(float_type: DType, is_factor: bool) -> tuple[int, int]:
    """The lowest exponent that is not special, and the least special value as a peak of `_decode`.

    Numbers are special if they are not finite, and factors also if float32 might not hold their products:
    from 2^51 on, and below 2^-50.
    """
    exponent_bits, fraction_bits, bias = float_type.exponent_bits, float_type.fraction_bits, float_type.bias
    lowest, highest = 1 - bias, (1 << exponent_bits) - 1 - bias  # of what has that field
    least = 2.0 ** (highest + 1)
    if float_type.name == "e4m3":  # one NaN
        least = (2.0 - 2.0**-fraction_bits) * 2.0**highest
    elif float_type.name not in ("e2m1", "e2m3", "e3m2"):  # infinities and NaN
        least = 2.0**highest
    if is_factor and exponent_bits == 8:
        lowest, least = -50, 2.0**51
    with np.errstate(over="ignore"):
        return lowest, int(np.float32(least).view(np.uint32) >> 15)


def call(module: ModuleType, name: str, *arguments: object) -> None:
    """Call a compiled function; if numba cannot read or write its cache, compile all functions anew."""
    function = getattr(module, name)
    try:
        function(*arguments)
    except Exception:
        if function.stats.cache_path is None:
            raise
        _loops().compile_without_cache()
        getattr(module, name)(*arguments)
