"""Plans for registers, on arrays: what `ptxlab.repack(...)(registers)` does.

A plan's effect is a conversion of elements and one rearrangement, so nothing is done step by step: elements
are converted, packed, and moved in as large pieces as go together, a part of the batch at a time, in threads.
With numba each of these is one loop; without it, a few passes of NumPy.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._util.threads import for_each
from ..isa.convert import LARGEST, NAN, convert
from ..isa.dtypes import DType
from ..isa.repack import RepackPlan, WordMoves
from .compiled import call, wants_numba

__all__ = ["PlanRun", "convert_words"]

Array = NDArray[Any]

_PART = 1 << 17  # registers worked on at a time
_TOGETHER = 4096  # registers that `repack_loop.move` works on at once
_WORTH_THREADS = 1 << 18  # registers from which threads are worth being started
_INFINITE = 0x7F800000


@lru_cache(maxsize=1)
def _loop() -> Any:
    """The module that numba compiles."""
    from . import repack_loop

    return repack_loop


class _Order(NamedTuple):
    """`WordMoves` as `repack_loop.move` and `move_once` take them."""

    size: int
    table: Array
    offsets: Array
    inside: Array
    exchanges: Array
    last: Array | None  # None: one exchange brings all words where they belong
    last_offsets: Array
    part: int

    @classmethod
    def of(cls, moves: WordMoves) -> _Order | None:
        """None where the loops do not take them: words are too few to be exchanged eight at a time."""
        size = len(moves.first)
        inside = (0, 0, 0)
        exchanges = list(moves.exchanges)
        if exchanges and not exchanges[0].run:
            inside = exchanges.pop(0)
        part = min((each.run for each in exchanges if each.run), default=0)
        if part < 8 or not exchanges[0].run:
            return None
        comes_from = (moves.last[:, None] * moves.run + np.arange(moves.run)).ravel()
        goes_to = np.argsort(comes_from)
        # in the buffer each part is followed by those of other MMAs
        place = np.arange(size) // part * (part * max(1, _TOGETHER // size)) + np.arange(size) % part
        by_eight = moves.run >= 8 and exchanges[-1].run > 0
        last, offsets = None, np.zeros(0)
        to = place
        if len(exchanges) == 1 and by_eight:
            to = goes_to
        elif by_eight:
            last = _exchanged(place // 2, goes_to // 2, exchanges[-1].run)
        else:
            last, offsets = place[comes_from][::8, None], place[comes_from][:8]
        return cls(
            size,
            _exchanged(moves.first, to // 2, exchanges[0].run).astype(np.uint64),
            moves.first[:8].astype(np.uint64),
            np.array(inside, dtype=np.int64),
            np.array(exchanges, dtype=np.int64),
            None if last is None else last.astype(np.uint64),
            offsets.astype(np.uint64),
            part,
        )


def _exchanged(comes_from: Array, goes_to: Array, run: int) -> Array:
    """Where eight words that are exchanged with eight others come from, those others, and where both go."""
    eight = np.arange(0, len(comes_from), 8)
    low = eight[eight // run % 2 == 0]
    return np.stack([comes_from[low], comes_from[low + run], goes_to[low], goes_to[low + run]], axis=1)


class PlanRun:
    """What a plan does with words [count, n] of its source's registers.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> plan = ptxlab.repack([ins.d, ins.d], ins.a)
    >>> words = np.ones((1, 32 * 8), dtype=np.float32).view(np.uint32)
    >>> hex(PlanRun(plan)(words)[0, 0])
    '0x3c003c00'
    """

    def __init__(self, plan: RepackPlan) -> None:
        self.conversion, self.converts_first = plan.conversion, plan.converts_first
        self.moved_bits, self.shift = plan.moved_bits, plan.shift
        self.source_bits, self.target_bits = plan.source_side.bits, plan.target_side.bits
        self.target_words = plan.elements * self.target_bits // 32
        index, size = plan.pieces
        self.piece_bits = size * self.moved_bits
        #: Pieces to take, in order; None where all stay in their places.
        self.index = None
        if plan.source_side.cells.size != index.size * size or (index != np.arange(index.size)).any():
            self.index = index
        self.moves = plan.word_moves

    def __call__(self, words: Array) -> Array:
        """Words of the target's registers, [count, m]."""
        if self.conversion is None and self.index is None and not self.shift:
            return words.copy()
        out = np.empty((len(words), self.target_words), dtype=np.uint32)
        with_numba = wants_numba(words.size)
        rows = max(1, _PART // words.shape[1])

        def work(first: int) -> None:
            self._part(words[first : first + rows], out[first : first + rows], with_numba)

        parts = range(0, len(words), rows)
        if words.size < _WORTH_THREADS:
            for first in parts:
                work(first)
        else:
            for_each(work, parts)
        return out

    def _part(self, words: Array, out: Array, with_numba: bool) -> None:
        moves, bits = self.index is not None, (self.source_bits, self.target_bits)
        if self.conversion is None:
            self._move(words, out, with_numba)
        elif self.converts_first:
            converted = out
            if moves:
                size = words.shape[1] * 32 // self.source_bits * self.target_bits // 32
                converted = np.empty((len(words), size), dtype=np.uint32)
            convert_words(words, converted, self.conversion, bits, with_numba)
            if moves:
                self._move(converted, out, with_numba)
        else:
            moved = words
            if moves:
                size = out.shape[1] * self.source_bits // self.target_bits
                moved = np.empty((len(words), size), dtype=np.uint32)
                self._move(words, moved, with_numba)
            convert_words(moved, out, self.conversion, bits, with_numba)
        if self.shift:
            out <<= np.uint32(self.shift)

    # -- moves -----------------------------------------------------------------------------------------------

    def _move(self, words: Array, out: Array, with_numba: bool) -> None:
        """Elements change places, bit for bit."""
        index, bits = self.index, self.piece_bits
        if index is None:
            out[:] = words
        elif bits < 32 and with_numba and self._order is not None:
            _move_compiled(words.reshape(-1), self._order, out.reshape(-1).view(np.uint64))
        elif bits >= 8 and with_numba:
            call(_loop(), "gather", words.view(f"u{bits // 8}"), self._places, out.view(f"u{bits // 8}"))
        elif bits < 16 and self.moves is not None:
            _moved(words, self.moves, out)
        elif bits < 8:
            codes = np.take(_split(words, self.moved_bits), index, axis=-1, mode="clip")
            _join(codes, self.moved_bits, out)
        else:  # the index is ours: no need to check it
            np.take(words.view(f"u{bits // 8}"), index, axis=-1, mode="clip", out=out.view(f"u{bits // 8}"))

    @cached_property
    def _order(self) -> _Order | None:
        return None if self.moves is None else _Order.of(self.moves)

    @cached_property
    def _places(self) -> Array:
        assert self.index is not None
        return self.index.astype(np.uint32)


def convert_words(
    words: Array, out: Array, conversion: tuple[DType, DType], bits: tuple[int, int], with_numba: bool
) -> None:
    """Elements become elements of another type, each in its place; `bits` they take up, and in the end.

    >>> from ptxlab.isa.dtypes import dtype
    >>> words, out = np.array([1, 127, 1000, -1]).astype(np.uint32), np.empty(1, dtype=np.uint32)
    >>> convert_words(words, out, (dtype("s32"), dtype("s8")), (32, 8), with_numba=False)
    >>> hex(out[0])
    '0xff7f7f01'
    """
    if with_numba and _convert_compiled(words.reshape(-1), out.reshape(-1), conversion, bits[1]):
        return
    _join(convert(_split(words, bits[0]), *conversion), bits[1], out)


# -- with NumPy ----------------------------------------------------------------------------------------------


def _moved(words: Array, moves: WordMoves, out: Array) -> None:
    """`WordMoves` on words [count, n].

    What is exchanged with each other is put into arrays of its own, so that NumPy's loops are long.
    """
    count, size = words.shape
    piece = min((each.run for each in moves.exchanges if each.run), default=size)
    parts = np.empty((size // piece, count, piece), dtype=np.uint32)
    for number, part in enumerate(parts):
        np.take(words, moves.first[number * piece : (number + 1) * piece], axis=-1, mode="clip", out=part)
    changed = np.empty((count, piece), dtype=np.uint32)
    for distance, mask, run in moves.exchanges:
        by, kept = np.uint32(distance), np.uint32(mask)
        for number, second in enumerate(parts):
            apart = run // piece
            if number & apart == 0 and apart:
                continue
            first = parts[number - apart]
            np.right_shift(first, by, out=changed)
            changed ^= second
            changed &= kept
            second ^= changed
            changed <<= by
            first ^= changed
    runs = parts.swapaxes(0, 1).reshape(count, -1, moves.run)
    np.take(runs, moves.last, axis=1, mode="clip", out=out.reshape(runs.shape))


def _split(words: Array, bits: int) -> Array:
    """Words -> codes of `bits` bits, the lowest first."""
    if bits >= 8:
        return words.view(f"u{bits // 8}")
    if bits == 4:
        pairs = words.view(np.uint8).astype(np.uint16)
        pairs |= pairs << np.uint16(4)
        pairs &= np.uint16(0x0F0F)
        return pairs.view(np.uint8)
    shifts = np.arange(0, 32, bits, dtype=np.uint32)
    codes = (words[..., None] >> shifts & np.uint32((1 << bits) - 1)).astype(np.uint8)
    return codes.reshape(*words.shape[:-1], words.shape[-1] * len(shifts))


def _join(codes: Array, bits: int, out: Array) -> None:
    """Codes -> words, the first lowest."""
    if bits >= 8:
        out.view(f"u{bits // 8}")[:] = codes
    elif bits == 4:
        pairs = np.ascontiguousarray(codes).view(np.uint16)
        np.copyto(out.view(np.uint8), pairs | pairs >> np.uint16(4), casting="unsafe")
    else:
        per_byte = 8 // bits
        shifts = np.arange(0, 8, bits, dtype=np.uint8)
        parts = codes.reshape(*codes.shape[:-1], codes.shape[-1] // per_byte, per_byte) << shifts
        np.bitwise_or.reduce(parts, axis=-1, out=out.view(np.uint8))


# -- with numba ----------------------------------------------------------------------------------------------


def _move_compiled(words: Array, order: _Order, pairs: Array) -> None:
    """Words, flat, in another order, as pairs."""
    first = words, order.size, order.table, order.offsets, order.inside
    if order.last is None:
        call(_loop(), "move_once", *first, order.exchanges[0], order.size // 2, pairs)
        return
    buffer = np.empty(max(1, _TOGETHER // order.size) * order.size, dtype=np.uint32)
    last = order.last, order.last_offsets, order.part
    call(_loop(), "move", *first, order.exchanges, *last, buffer, pairs)


def _convert_compiled(words: Array, out: Array, conversion: tuple[DType, DType], bits: int) -> bool:
    """`convert` on words, packed; False where numba has no loop for it."""
    source, target = conversion
    if target.bits == 32:
        return False
    loop = _loop()
    if source.bits == 16:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            words = words.view(np.float16).astype(np.float32).view(np.uint32)
    codes = out.view(f"u{bits // 8}") if bits >= 8 else np.empty(len(words), dtype=np.uint8)
    mask = np.uint32((1 << target.bits) - 1)
    if source.name == "s32":
        lowest, highest = np.int32(target.minimum), np.int32(target.maximum)
        call(loop, "clamp", words.view(np.int32), lowest, highest, mask, codes)
    elif not target.is_float:
        least, most = np.float32(target.minimum), np.float32(target.maximum)
        call(loop, "whole_numbers", words.view(np.float32), least, most, mask, codes)
    elif target.name == "f16" and loop.HAS_F16:
        call(loop, "halves", words.view(np.float32), codes)
    else:
        call(loop, "narrow", words, *_narrowing(target), codes)
    if bits < 8:
        call(loop, "join_halves", codes.view(np.uint16), out.view(np.uint8))
    return True


@lru_cache(maxsize=None)
def _narrowing(target: DType) -> tuple[np.uint32, ...]:
    """What `repack_loop.narrow` is told of a type."""
    fraction, bias = target.fraction_bits, target.bias
    most = _INFINITE
    if target.name == "f16":
        most = 127 + 16 << 23  # its infinity
    elif target.name in LARGEST:
        most = int(np.float32(LARGEST[target.name]).view(np.uint32))
    numbers = (
        most,
        128 - bias << 23,
        127 - bias << 23,
        23 - fraction,
        151 - bias - fraction << 23,
        target.bits - 1,
        NAN[target.name],
    )
    return tuple(np.uint32(number) for number in numbers)
