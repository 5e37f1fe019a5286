"""The fused dot product as one loop that numba compiles, for large batches where numba is installed.

It gives the same bits as `fused_sum`, which needs only NumPy. Here, too, every term is a float64 that holds
it exactly; infinities and NaN are found with bit masks over k instead of sums.
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

from .._util.interrupts import held_back
from ..errors import PtxlabError, listing
from ..isa.dtypes import DType
from ..isa.operand import Operand
from ..isa.operation import Operation
from ..isa.product_form import ProductForm
from .fused_step import Array, DTypes, FusedCodes, FusedStep

#: Products from which numba is worth it: fewer take NumPy some 20 ms, and numba's first call takes seconds to
#: compile.
_WORTH = 1 << 19
WIDE = 64  # columns from which they stand side by side, instead of MMAs
_MOST_FRACTION_BITS = 25  # so that integers of 32 bits hold sums of some products
_chosen: str | None = None
_kept = threading.local()  # the arrays that a thread worked in last


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
        raise PtxlabError(
            'numba is not installed, is switched off, or does not fit this NumPy: pip install "ptxlab[fast]"'
        )
    before, _chosen = _chosen, name
    try:
        yield
    finally:
        _chosen = before


@lru_cache(maxsize=1)
def _loop() -> ModuleType | None:
    """The module that numba compiles; None where numba is missing or does not fit this NumPy."""
    try:
        with held_back():
            from . import fused_loops
    except (ImportError, RuntimeError):
        return None
    return fused_loops


def _loops() -> ModuleType:
    """The module that numba compiles, where it is known to be there."""
    module = _loop()
    assert module is not None
    return module


def serves(dtypes: DTypes, products: int, depth: int) -> bool:
    """Whether the compiled loop takes a product of that many scalar products with K = depth.

    >>> from ptxlab.isa.dtypes import dtype
    >>> dtypes = dtype("f16"), dtype("f16"), dtype("f32"), dtype("f32")
    >>> serves(dtypes, products=100, depth=16)   # too little to compile for
    False
    """
    narrow = all(float_type.bits <= 32 for float_type in dtypes)
    fits = depth <= 64 and dtypes[3].name in ("f16", "f32") and narrow
    return fits and (_chosen == "numba" or (_chosen is None and products >= _WORTH)) and _loop() is not None


def fused_codes(codes: FusedCodes, step: FusedStep) -> Array:
    """Codes of D for codes with one batch axis, without scales; see `fused_sum.fused_dot`."""
    count, rows, columns = codes.c.shape
    if codes.stored is None and columns < WIDE <= rows and count < WIDE:  # few columns, many rows
        a, b, c = (np.swapaxes(x, 1, 2) for x in (codes.a, codes.b, codes.c))
        a_type, b_type, c_type, d_type = step.dtypes
        swapped_step = step._replace(dtypes=(b_type, a_type, c_type, d_type))
        return np.swapaxes(fused_codes(FusedCodes(b, a, c), swapped_step), 1, 2)
    d, special = np.empty(codes.c.shape, dtype=np.uint32), np.ones(count, dtype=np.bool_)
    if step.alignment.fraction_bits <= _MOST_FRACTION_BITS:
        d, special = _plain_codes(codes, step)
    rest = np.flatnonzero(special)
    if len(rest):
        d[rest] = _all_codes(codes.select(rest), step)
    return d.astype(step.dtypes[3].code_type, copy=False)


def fused_registers(operands: Operation, step: FusedStep) -> tuple[Array, Array]:
    """Registers of D [count, lanes, registers], and which of the MMAs are not computed.

    Operands are dense, without block scales, and their arrays have one batch axis. If A and B have turns in
    front, [turns, count, lanes, registers], so has D, and D of one turn is C of the next.
    """
    ins = operands.mma
    count = len(operands.c)
    turns = operands.a.shape[:-3]
    d = new_registers(operands.c, ins.d.registers, turns)
    if step.alignment.fraction_bits > _MOST_FRACTION_BITS:
        return d, np.arange(count)
    c = operands.c if operands.modifiers.scale_d else np.zeros_like(operands.c)
    inputs = _register_words(operands.a), _register_words(operands.b), _register_words(c)
    tables = _register_tables(ins, step.dtypes)
    special = _plain_words(inputs, _register_words(d), count, tables, step, math.prod(turns))
    return d, np.flatnonzero(special)


def new_registers(like: Array, number: int, turns: tuple[int, ...] = ()) -> Array:
    """Registers [*turns, count, lanes, number] to be filled.

    They are in memory as those of `like`: see `has_lanes_together`.

    >>> new_registers(np.zeros((4, 10, 32), dtype=np.uint32).transpose(1, 2, 0), 2).strides
    (128, 4, 1280)
    """
    count, lanes, _ = like.shape
    if has_lanes_together(like):
        return np.moveaxis(np.empty((*turns, number, count, lanes), dtype=np.uint32), -3, -1)
    return np.empty((*turns, count, lanes, number), dtype=np.uint32)


def has_lanes_together(registers: Array) -> bool:
    """Whether a register of all lanes lies together in memory, and then the next register.

    Usually those of a lane do. A simulated kernel has registers of all its threads.
    """
    if registers.ndim not in (3, 4) or registers.flags.c_contiguous or registers.dtype.itemsize != 4:
        return False
    of_one_turn = registers if registers.ndim == 3 else registers[0]
    return bool(of_one_turn[:, :, 0].flags.c_contiguous)


@lru_cache(maxsize=None)
def _register_tables(ins: ProductForm, dtypes: DTypes) -> _Tables:
    of_a, of_b, of_c, of_d = (_Words.of_operand(operand) for operand in (ins.a, ins.b, ins.c, ins.d))
    return _tables((of_a, of_b, of_c, of_d), (*ins.d.shape, ins.k), dtypes)


def _plain_codes(codes: FusedCodes, step: FusedStep) -> tuple[Array, Array]:
    """Codes of D, and for which MMAs they do not count."""
    if codes.c.shape[2] >= WIDE:
        return _wide_codes(codes, step)
    a, b, c = (_Placed.of(_as_words(x)) for x in (codes.a, codes.b, codes.c))
    rows, columns = codes.c.shape[1:]
    depth = codes.a.shape[2]
    words = [_Words.of_codes(x[0].shape, x.itemsize) for x in (codes.a, codes.b, codes.c)]
    result = _Words.of_codes((rows, columns), 4)
    d = np.empty((len(codes.c), rows * columns), dtype=np.uint32)
    tables = _tables((words[0], words[1], words[2], result), (rows, columns, depth), step.dtypes)
    special = _plain_words((a, b, c), _Placed.of(d), len(d), tables, step)
    return d.reshape(codes.c.shape), special


def _wide_codes(codes: FusedCodes, step: FusedStep) -> tuple[Array, Array]:
    """The same for many columns: see `fused_loops.fill_wide`."""
    group = _loops().GROUP
    count, rows, columns = codes.c.shape
    shape = _up(rows, 8), _up(columns, group), _up(codes.a.shape[2], 8)
    a = _padded(codes.a, (shape[0], shape[2]))
    b = _padded(codes.b, (shape[2], shape[1]))
    c = _padded(codes.c, shape[:2])
    d, special = np.empty((count, *shape[:2]), dtype=np.uint32), np.zeros(count, dtype=np.uint8)
    forms = tuple(_decode_form(float_type) for float_type in step.dtypes[:3])
    limits = tuple(_limits(float_type, which < 2) for which, float_type in enumerate(step.dtypes[:3]))
    sizes = shape[0] * shape[2], shape[1] * shape[2], 4 * group
    groups, k = np.divmod(np.arange(sizes[1] // group), shape[2])
    starts = np.arange(sizes[0] // group) * group, k * shape[1] + groups * group, np.arange(4) * shape[1]
    sources = tuple(
        np.stack([start, np.full_like(start, 32 - float_type.bits)], axis=-1)
        for start, float_type in zip(starts, step.dtypes, strict=False)
    )
    arrays = _scratch(sizes, (0, 0, 0), 4 * group)
    numbers = _numbers(step)
    call(
        _loops(), "fill_wide", a, b, c, d.reshape(-1), sources, shape, forms, limits, numbers, arrays, special
    )
    return d[:, :rows, :columns], special > 0


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _padded(codes: Array, shape: tuple[int, ...]) -> Array:
    """Codes [count, ...] as uint32, with zeros up to a shape, flat."""
    if codes.shape[1:] != shape:
        padded = np.zeros((len(codes), *shape), dtype=np.uint32)
        padded[:, : codes.shape[1], : codes.shape[2]] = codes
        codes = padded
    return _flat(codes.astype(np.uint32, copy=False))


def _flat(codes: Array) -> Array:
    """In one axis, read-only: numba would compile for both kinds of arrays."""
    flat = np.ascontiguousarray(codes).reshape(-1).view()
    flat.flags.writeable = False
    return flat


def _scratch(sizes: tuple[int, int, int], words: tuple[int, int, int], codes: int) -> tuple[object, ...]:
    """Arrays in which `fused_loops.fill_plain` works, of this thread; it leaves what is zero there zero.

    Values of A, B and C in these sizes, the same as bits, and their exponents; words of A, B and C, the same
    and codes read-only, codes, and what belongs to a block.
    """
    loop = _loops()
    key = (loop.GROUP, sizes, words, codes)
    if getattr(_kept, "key", None) == key:
        kept: tuple[object, ...] = _kept.arrays
        return kept
    block = 4 * loop.GROUP
    values = tuple(np.zeros(size, dtype=np.float32) for size in sizes)
    rows = tuple(np.empty(size, dtype=np.uint32) for size in words)
    results = np.empty(codes, dtype=np.uint32)
    arrays = (
        values,
        tuple(each.view(np.uint32) for each in values),
        tuple(np.full(size, loop.ABSENT, dtype=np.int16) for size in sizes),
        (
            rows,
            tuple(_flat(each) for each in (*rows, results)),
            results,
            np.empty(block, dtype=np.float32),
            np.empty(block, dtype=np.int16),
            np.empty(block, dtype=np.int32),
            np.empty(block, dtype=np.float64),
            np.zeros(loop.GROUP, dtype=np.uint16),
            np.empty(loop.GROUP, dtype=np.uint8),
        ),
    )
    _kept.key, _kept.arrays = key, arrays
    return arrays


def _numbers(step: FusedStep) -> tuple[int, int, int, bool, int]:
    """And how many products an integer of 32 bits holds the sum of."""
    return *step.numbers, 1 << 29 - step.alignment.fraction_bits


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
    """Where a matrix is in 32-bit words: which element each part of a word is, and the lowest bits of parts.

    Elements are row * columns + column; -1 for none.
    """

    cells: Array  # [words, parts]
    bits: tuple[int, ...]  # of each part
    shape: tuple[int, int]

    @classmethod
    @lru_cache(maxsize=None)
    def of_codes(cls, shape: tuple[int, int], size: int) -> _Words:
        """Codes of `size` bytes, one after the other."""
        parts = 4 // size
        cells = np.arange(-(-shape[0] * shape[1] // parts) * parts)
        cells[shape[0] * shape[1] :] = -1
        return cls(cells.reshape(-1, parts), tuple(range(0, 32, 8 * size)), shape)

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
        return cls(np.where(first, cells, -1).reshape(-1, parts), bits, operand.shape)


class _Order(NamedTuple):
    """Where word w of each MMA is: that of MMA i at i * step + w % apart * distance + w // apart.

    `size` words follow each other; those of the next turn are `turns` words further on.
    """

    step: int
    apart: int
    distance: int
    size: int
    turns: int = 0

    @property
    def words(self) -> int:
        """Words of an MMA."""
        return self.apart * self.size


class _Placed(NamedTuple):
    """Words of MMAs, flat, and their order."""

    words: Array
    order: _Order

    @classmethod
    def of(cls, words: Array) -> _Placed:
        """From contiguous words [count, n], or [turns, count, n]."""
        count, size = words.shape[-2:]
        return cls(words.reshape(-1), _Order(size, 1, 0, size, count * size))


def _register_words(registers: Array) -> _Placed:
    """Registers as they are in memory, if that is one of the orders that loops take; otherwise copied."""
    if not has_lanes_together(registers):
        words = _as_words(registers.reshape(-1, *registers.shape[-2:]))
        return _Placed.of(words.reshape(*registers.shape[:-2], -1))
    count, lanes, number = registers.shape[-3:]
    distance = registers.strides[-1] // 4
    size = (number - 1) * distance + count * lanes
    between = 0
    if registers.ndim == 4:
        between = registers.strides[0] // 4
        size += (len(registers) - 1) * between
    flat = np.lib.stride_tricks.as_strided(registers, (size,), (4,)).view(np.uint32)
    return _Placed(flat, _Order(lanes, number, distance, lanes, between))


def _plain_words(
    inputs: tuple[_Placed, _Placed, _Placed],
    d: _Placed,
    count: int,
    tables: _Tables,
    step: FusedStep,
    turns: int = 1,
) -> Array:
    """Fill words of D for words of A, B and C; for which MMAs they do not count.

    See `fused_loops.fill_plain`.
    """
    special = np.zeros(count, dtype=np.uint8)
    group = _loops().GROUP
    rows, columns, depth = tables.shape
    a, b, c = inputs
    arrays = _scratch(
        (2 * depth * group, columns * depth * group, 4 * group),
        (a.order.words * group, b.order.words * group, c.order.words * group),
        rows * columns * group,
    )
    call(
        _loops(),
        "fill_plain",
        _flat(a.words),
        _flat(b.words),
        _flat(c.words),
        d.words,
        turns,
        tuple(tuple(each.order) for each in (a, b, c, d)),
        tables.sources,
        tables.places,
        tables.shape,
        tables.forms,
        tables.limits,
        _numbers(step),
        arrays,
        special,
    )
    return special > 0


#: How far back an exponent goes, which bits belong to it, a factor, the lowest exponent, whether it is long.
_DecodeForm: TypeAlias = tuple[np.int32, np.uint32, np.float32, int, bool]


class _Tables(NamedTuple):
    """What `fused_loops.fill_plain` is told of the types and places of A, B, C and D."""

    sources: tuple[Array, Array, Array, Array]
    places: Array
    shape: tuple[int, int, int]
    forms: tuple[_DecodeForm, _DecodeForm, _DecodeForm, Array]
    limits: tuple[tuple[int, int], ...]


@lru_cache(maxsize=None)
def _tables(
    words: tuple[_Words, _Words, _Words, _Words],
    shape: tuple[int, int, int],
    dtypes: DTypes,
) -> _Tables:
    """What `fused_loops.fill_plain` is told: M and N are even, K is a multiple of 8."""
    _, columns, depth = shape
    even = _up(shape[0], 2), _up(columns, 2), _up(depth, 8)
    cells_a, cells_b, cells_c, cells_d = (each.cells for each in words)
    places = (
        np.where(cells_a < 0, -1, cells_a // depth * even[2] + cells_a % depth),
        np.where(cells_b < 0, -1, cells_b % columns * even[2] + cells_b // columns),
        _in_blocks(cells_c, columns),
    )
    sizes = even[0] * even[2], even[1] * even[2], even[0] * even[1]
    a, b, c = (
        _sources(place, each.bits, float_type.bits, size)
        for place, each, float_type, size in zip(places, words, dtypes, sizes, strict=False)
    )
    forms = [_decode_form(float_type) for float_type in dtypes[:3]]
    limits = [_limits(float_type, which < 2) for which, float_type in enumerate(dtypes[:3])]
    return _Tables(
        (a, b, c, _sources(np.arange(sizes[2])[:, None], (0,), dtypes[3].bits, sizes[2])),
        _in_blocks(cells_d, columns),
        even,
        (forms[0], forms[1], forms[2], np.array(words[3].bits, dtype=np.uint32)),
        (limits[0], limits[1], limits[2]),
    )


def _sources(places: Array, bits: tuple[int, ...], width: int, size: int) -> Array:
    """For each place, where its word is [words, GROUP] and how far its element is moved to the left."""
    sources = np.full((size, 2), -1, dtype=np.int64)
    word, part = np.nonzero(places >= 0)
    sources[places[word, part], 0] = word * _loops().GROUP
    sources[places[word, part], 1] = 32 - width - np.array(bits)[part]
    return sources


def _in_blocks(cells: Array, columns: int) -> Array:
    """Places of elements, blocks of two rows and two columns one after the other."""
    row, column = np.divmod(cells, columns)
    block = row // 2 * (_up(columns, 2) // 2) + column // 2
    return np.where(cells < 0, -1, 4 * block + row % 2 * 2 + column % 2)


def _decode_form(float_type: DType) -> _DecodeForm:
    """How `fused_loops._decode` opens elements of a type."""
    exponent_bits, fraction_bits, bias = float_type.exponent_bits, float_type.fraction_bits, float_type.bias
    kept = (1 << exponent_bits + fraction_bits) - 1 << 23 - fraction_bits | 1 << 31
    return (
        np.int32(8 - exponent_bits),
        np.uint32(kept),
        np.float32(2.0 ** (127 - bias)),
        1 - bias,
        fraction_bits > 7 and exponent_bits == 8,
    )


def _limits(float_type: DType, is_factor: bool) -> tuple[int, int]:
    """The lowest exponent of what is not special, and the least special value, as peaks of `_decode` have it.

    Special are numbers that are not finite, and factors whose products float32 might not hold: from 2^51 on,
    and below 2^-50.
    """
    exponent_bits, fraction_bits, bias, _, top_field = _form(float_type)
    lowest, highest = 1 - bias, (1 << exponent_bits) - 1 - bias  # of what has that field
    least = 2.0 ** (highest + 1)
    if top_field == 2:
        least = 2.0**highest
    elif top_field == 1:
        least = (2.0 - 2.0**-fraction_bits) * 2.0**highest
    if is_factor and exponent_bits == 8:
        lowest, least = -50, 2.0**51
    with np.errstate(over="ignore"):
        return lowest, int(np.float32(least).view(np.uint32) >> 15)


def _all_codes(codes: FusedCodes, step: FusedStep) -> Array:
    """Codes of D, whatever A, B and C hold: see `fused_loops.fill`."""
    a, b, c = (np.ascontiguousarray(x, dtype=np.uint32) for x in (codes.a, codes.b, codes.c))
    stored = np.zeros((0, 0, 0), dtype=np.bool_)  # all are
    if codes.stored is not None:
        stored = np.ascontiguousarray(codes.stored)
    d = np.empty(c.shape, dtype=np.uint32)
    forms = tuple(_form(float_type) for float_type in step.dtypes)
    scales = tuple(_scales(float_type) for float_type in step.dtypes[:3])
    call(_loops(), "fill", a, b, c, stored, d, forms, scales, *step.numbers, _powers(_loops().LOWEST))
    return d


def call(module: ModuleType, name: str, *arguments: object) -> None:
    """A compiled function; where numba cannot read or write what it compiled, all are compiled anew."""
    function = getattr(module, name)
    try:
        function(*arguments)
    except Exception:
        if function.stats.cache_path is None:
            raise
        _loops().compile_without_cache()
        getattr(module, name)(*arguments)


def _form(float_type: DType) -> tuple[int, int, int, int, int]:
    """Exponent bits, fraction bits, bias, ignored low bits, and what the highest exponent field is for.

    That is 2 for infinities and NaN, 1 for numbers and one NaN, 0 for numbers alone.
    """
    top_field = {"e4m3": 1, "e2m1": 0, "e2m3": 0, "e3m2": 0}.get(float_type.name, 2)
    return (
        float_type.exponent_bits,
        float_type.fraction_bits,
        float_type.bias,
        float_type.ignored_bits,
        top_field,
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
