"""Plans for registers, on arrays: what `ptxlab.repack(...)(registers)` does.

A plan's effect is a conversion of elements and one rearrangement, so nothing is done step by step: elements
are converted, packed, and moved in chunks of 128 bits, a part of the batch at a time, in threads. With numba
each of these is one loop; without it, a few passes of NumPy.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.interrupts import held_back
from .._util.threads import for_each
from ..isa.convert import LARGEST, NAN, convert
from ..isa.dtypes import DType
from ..isa.repack import ChunkMoves, RepackPlan
from .compiled import call, wants_numba

Array = NDArray[Any]

_PART = 1 << 17  # registers that NumPy works on at a time: what comes of them stays in cache
_COMPILED_PART = 1 << 18  # the same of compiled loops, which leave less
_FEW_PARTS = 2  # for which no threads are started: that takes as long as one of them


@lru_cache(maxsize=1)
def _loop() -> ModuleType:
    """The module that numba compiles."""
    with held_back():
        from . import repack_loops

    return repack_loops


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
        self.moves = plan.chunk_moves

    def __call__(self, words: Array) -> Array:
        """Words of the target's registers, [count, m]."""
        if self.conversion is None and self.index is None and not self.shift:
            return words.copy()
        out = np.empty((len(words), self.target_words), dtype=np.uint32)
        with_numba = wants_numba(words.size)
        rows = max(1, (_COMPILED_PART if with_numba else _PART) // words.shape[1])

        def work(first: int) -> None:
            self._part(words[first : first + rows], out[first : first + rows], with_numba)

        parts = range(0, len(words), rows)
        if len(parts) > _FEW_PARTS:
            for_each(work, parts)
        else:
            for first in parts:
                work(first)
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
        elif self.moves is not None and (with_numba or bits < 16):
            move_words(words, out, self.moves, with_numba)
        elif bits < 8:
            codes = np.take(_split(words, self.moved_bits), index, axis=-1, mode="clip")
            _join(codes, self.moved_bits, out)
        elif with_numba:
            call(_loop(), "gather", words.view(f"u{bits // 8}"), self._places, out.view(f"u{bits // 8}"))
        else:  # the index is ours: no need to check it
            np.take(words.view(f"u{bits // 8}"), index, axis=-1, mode="clip", out=out.view(f"u{bits // 8}"))

    @cached_property
    def _places(self) -> Array:
        assert self.index is not None
        return self.index.astype(np.uint32)


def move_words(words: Array, out: Array, moves: ChunkMoves, with_numba: bool) -> None:
    """Words [count, n] change places, in chunks of 128 bits."""
    if with_numba:
        call(_loop(), "move", _flat(words), words.shape[1], *_compiled_moves(moves), out.reshape(-1))
    else:
        _move_chunks(words.reshape(-1).view("V16"), moves, out.reshape(-1).view("V16"))


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
    if with_numba and _convert_compiled(_flat(words), out.reshape(-1), conversion, bits[1]):
        return
    _join(convert(_split(words, bits[0]), *conversion), bits[1], out)


# -- with NumPy ----------------------------------------------------------------------------------------------


def _move_chunks(source: Array, moves: ChunkMoves, out: Array) -> None:
    """`ChunkMoves` on chunks of many MMAs.

    All first chunks of groups are put into one array, all second ones into another, and so on: NumPy's loops
    are long then.
    """
    first, last = _chunk_orders(moves, len(source))
    chunks = np.take(source, first, mode="clip")
    for which, bits in moves.exchanges:
        pairs = chunks.reshape(len(chunks) >> which + 1, 2, -1)
        _exchange(pairs[:, 0], pairs[:, 1], bits)
    np.take(chunks, last, mode="clip", out=out)


@lru_cache(maxsize=8)
def _chunk_orders(moves: ChunkMoves, count: int) -> tuple[Array, Array]:
    """Which of `count` chunks `_move_chunks` takes at first, [chunks of a group, groups], and in the end."""
    base = np.arange(0, count, len(moves.groups) * len(moves.loads))[:, None]
    first, target = (
        (base + moves.groups[:, side] // 4).ravel() + np.array(offsets)[:, None] // 4
        for side, offsets in enumerate((moves.loads, moves.stores))
    )
    last = np.empty(count, dtype=np.intp)
    last[target.ravel()] = np.arange(count)
    return first, last


def _exchange(first: Array, second: Array, bits: int) -> None:
    """Of pieces of chunks, the odd ones of the first change places with the even ones of the second."""
    if bits >= 16:
        odd, even = (chunks.view(f"u{bits // 8}") for chunks in (first, second))
        odd, even = odd[..., 1::2], even[..., ::2]
        kept = odd.copy()
        odd[:] = even
        even[:] = kept
        return
    u, v = first.view(np.uint64), second.view(np.uint64)
    shift, mask = np.uint64(bits), np.uint64({4: 0x0F0F0F0F0F0F0F0F, 8: 0x00FF00FF00FF00FF}[bits])
    changed = u >> shift
    changed ^= v
    changed &= mask
    v ^= changed
    changed <<= shift
    u ^= changed


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


@lru_cache(maxsize=8)
def _compiled_moves(moves: ChunkMoves) -> tuple[Array, tuple[int, ...], Array, tuple[int, ...]]:
    """`ChunkMoves` as `repack_loops.move` takes them."""
    distances = _loop().DISTANCES
    exchanges = [len(distances) * which + distances.index(bits) for which, bits in moves.exchanges]
    return moves.groups, moves.loads, np.array(exchanges, dtype=np.int64), moves.stores


def _flat(words: Array) -> Array:
    """In one axis, read-only: numba would compile for both kinds of arrays."""
    flat = words.reshape(-1).view()
    flat.flags.writeable = False
    return flat


def _convert_compiled(words: Array, out: Array, conversion: tuple[DType, DType], bits: int) -> bool:
    """`convert` on words, packed; False where numba has no loop for it."""
    source, target = conversion
    loop = _loop()
    if target.bits == 32 or (target.name == "f16" and not loop.HAS_F16):
        return False
    if source.bits == 16:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            words = _flat(words.view(np.float16).astype(np.float32).view(np.uint32))
    codes = out.view(f"u{bits // 8}") if bits >= 8 else np.empty(len(words), dtype=np.uint8)
    mask = np.uint32((1 << target.bits) - 1)
    if source.name == "s32":
        lowest, highest = np.int32(target.minimum), np.int32(target.maximum)
        call(loop, "clamp", words.view(np.int32), lowest, highest, mask, codes)
    elif not target.is_float:
        least, most = np.float32(target.minimum), np.float32(target.maximum)
        call(loop, "whole_numbers", words.view(np.float32), least, most, mask, codes)
    elif target.name == "f16":
        call(loop, "halves", words.view(np.float32), codes)
    elif target.name == "bf16":
        call(loop, "upper_halves", words, codes)
    else:
        call(loop, "narrow", words, *_narrowing(target), codes)
    if bits < 8:
        call(loop, "join_halves", codes.view(np.uint16), out.view(np.uint8))
    return True


@lru_cache(maxsize=None)
def _narrowing(target: DType) -> tuple[np.unsignedinteger[Any], ...]:
    """What `repack_loops.narrow` is told of a type."""
    return (
        np.uint32(128 - target.bias << 23),
        np.uint32(23 - target.fraction_bits),
        np.uint16(target.encode(np.array(LARGEST[target.name]))),
        np.uint32(target.bits - 1),
        np.uint16(NAN[target.name]),
    )
