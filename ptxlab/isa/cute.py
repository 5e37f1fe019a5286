"""CuTe's layouts: ``shape:stride``, read, evaluated, composed and inverted as far as fragments need it.

A layout takes an index apart into digits, the leftmost one fastest, multiplies each by its stride and adds
them up. CUTLASS, media/docs/cpp/cute/01_layout.md and 02_layout_algebra.md; the names are those of CuTe.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int, as_text
from ..errors import PtxlabError, quoted

IntTuple: TypeAlias = "int | tuple[IntTuple, ...]"
_Index = TypeVar("_Index", int, NDArray[np.int64])

_MAX_LENGTH = 400  # characters of a layout's text
_MAX_DEPTH = 16  # tuples inside tuples
_MAX_SIZE = 1 << 20  # indices of a layout
_MAX_STRIDE = 1 << 40


@dataclass(frozen=True)
class CuteLayout:
    """A function from an index, or from an index for each mode, to an offset.

    >>> c = CuteLayout.read("((4,8),(2,2)):((32,1),(16,8))")    # (T32,V4) -> (M16,N8)
    >>> c(22, 3)                                # lane 22 is (2, 5), value 3 is (1, 1)
    93
    >>> str(CuteLayout.read("(16,8):(8,1)").compose(c))         # in a row-major matrix
    '((4,8),(2,2)):((2,8),(1,64))'
    """

    shape: IntTuple
    stride: IntTuple

    def __post_init__(self) -> None:
        try:
            _int_tuple(self.shape), _int_tuple(self.stride)
        except ValueError:
            layout = quoted((self.shape, self.stride))
            raise PtxlabError(
                f"layout {layout}: shape and stride are whole numbers or nested tuples of them, as in "
                "((4, 8), 2) and ((8, 1), 32)"
            ) from None
        if not _congruent(self.shape, self.stride):
            raise PtxlabError(
                f"layout {quoted(str(self))}: shape and stride have different forms; each size needs one "
                "stride, as in ((4,8),2):((8,1),32)"
            )
        if any(size < 1 for size, _ in self.modes) or self.size > _MAX_SIZE:
            raise PtxlabError(f"layout {quoted(str(self))}: sizes are at least 1, and together at most 2^20")
        if any(abs(stride) > _MAX_STRIDE for _, stride in self.modes):
            raise PtxlabError(f"layout {quoted(str(self))}: strides are at most 2^40")

    @classmethod
    def read(cls, text: str) -> CuteLayout:
        """The layout that CuTe prints, or its C++ type writes, with or without underscores.

        >>> CuteLayout.read("((_4,_8),_2):((_16,_1),_8)").stride
        ((16, 1), 8)
        """
        compact = re.sub(r"[\s_]", "", as_text(text, "layout"))
        shape, colon, stride = compact.partition(":")
        if not colon or len(compact) > _MAX_LENGTH or not re.fullmatch(r"[\d(),]+:[\d(),]+", compact):
            raise PtxlabError(
                f"layout {quoted(text)}: it is written shape:stride, as in ((4,8),2):((8,1),32)"
            )
        try:
            sizes, strides = (_int_tuple(ast.literal_eval(part)) for part in (shape, stride))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise PtxlabError(
                f"layout {quoted(text)}: shape and stride are whole numbers in balanced parentheses"
            ) from None
        return cls(sizes, strides)

    @cached_property
    def modes(self) -> tuple[tuple[int, int], ...]:
        """Every size with its stride, fastest first, without the nesting.

        >>> CuteLayout.read("((4,8),2):((16,1),8)").modes
        ((4, 16), (8, 1), (2, 8))
        """
        return tuple(zip(_leaves(self.shape), _leaves(self.stride), strict=True))

    @property
    def size(self) -> int:
        """How many indices it takes."""
        return prod(size for size, _ in self.modes)

    def __call__(self, *index: int) -> int:
        """The offset of one index, or of one for each of the outermost modes."""
        numbers = [as_int(number, "index") for number in index]
        if len(numbers) == 1:
            return _offset(numbers[0], self.shape, self.stride)
        if not (isinstance(self.shape, tuple) and isinstance(self.stride, tuple)) or len(numbers) != len(
            self.shape
        ):
            raise PtxlabError(f"layout {self}: it takes one index, or one for each of its outermost modes")
        parts = zip(numbers, self.shape, self.stride, strict=True)
        return sum(_offset(number, shape, stride) for number, shape, stride in parts)

    def offsets(self) -> NDArray[np.int64]:
        """The offset of every index, in an array of the outermost modes' sizes.

        >>> CuteLayout.read("((2,2),3):((1,6),2)").offsets()
        array([[ 0,  2,  4],
               [ 1,  3,  5],
               [ 6,  8, 10],
               [ 7,  9, 11]])
        """
        flat = np.zeros(1, dtype=np.int64)
        for size, stride in self.modes:
            flat = (np.arange(size)[:, None] * stride + flat).ravel()
        shape = self.shape if isinstance(self.shape, tuple) else (self.shape,)
        sizes = [prod(_leaves(part)) for part in shape]
        return flat.reshape(sizes[::-1]).T

    def coalesce(self) -> CuteLayout:
        """The same function of one index with as few modes as possible.

        >>> str(CuteLayout.read("(2,(1,4)):(1,(7,2))").coalesce())
        '8:1'
        """
        return _flat(coalesced(self.modes))

    def compose(self, inner: CuteLayout) -> CuteLayout:
        """``self(inner(index))`` as one layout, in the form of `inner`.

        It composes one mode of `inner` after the other. An error says where no layout of this form has these
        offsets: where modes of `inner` overlap, or reach beyond this layout.

        >>> str(CuteLayout.read("(16,8):(256,1)").compose(CuteLayout.read("(2,4):(16,1)")))
        '(2,4):(1,256)'
        """
        outer = coalesced(self.modes) or [(1, 0)]

        def composed(shape: IntTuple, stride: IntTuple) -> tuple[IntTuple, IntTuple]:
            if isinstance(shape, tuple) and isinstance(stride, tuple):
                parts = [composed(*part) for part in zip(shape, stride, strict=True)]
                return tuple(part[0] for part in parts), tuple(part[1] for part in parts)
            (size,), (step,) = _leaves(shape), _leaves(stride)
            layout = _flat(_compose_mode(outer, size, step, f"{self} after {inner}"))
            return layout.shape, layout.stride

        layout = CuteLayout(*composed(inner.shape, inner.stride))
        offsets = _offset(inner.offsets().ravel(), self.shape, self.stride)
        if (layout.offsets().ravel() != offsets).any():
            raise PtxlabError(
                f"{self} after {inner}: composed mode by mode, the layout has other offsets; the modes "
                f"of the inner layout must not overlap, and its offsets must be below {self.size}"
            )
        return layout

    def right_inverse(self) -> CuteLayout:
        """From an offset back to the index, of a layout that reaches every offset once.

        >>> str(CuteLayout.read("((4,8),(2,2)):((32,1),(16,8))").right_inverse())
        '(8,2,2,4):(4,64,32,1)'
        """
        indices, index = [], 1
        for size, stride in self.modes:
            if size > 1:
                indices.append((stride, size, index))
            index *= size
        reached = 1
        for stride, size, _ in sorted(indices):
            if stride != reached:
                raise PtxlabError(
                    f"layout {self}: it has no inverse, as it does not reach every offset from 0 to "
                    f"{self.size - 1} once"
                )
            reached *= size
        return _flat([(size, index) for _, size, index in sorted(indices)])

    def __str__(self) -> str:
        return f"{_text(self.shape)}:{_text(self.stride)}"


def _leaves(shape: IntTuple) -> Iterator[int]:
    if isinstance(shape, int):
        yield shape
    else:
        for part in shape:
            yield from _leaves(part)


def _congruent(shape: IntTuple, stride: IntTuple) -> bool:
    if isinstance(shape, int) or isinstance(stride, int):
        return isinstance(shape, int) and isinstance(stride, int)
    return len(shape) == len(stride) > 0 and all(map(_congruent, shape, stride))


def _int_tuple(value: object, depth: int = 0) -> IntTuple:
    if isinstance(value, tuple) and depth < _MAX_DEPTH:
        return tuple(_int_tuple(part, depth + 1) for part in value)
    if type(value) is not int:
        raise ValueError
    return value


def _text(shape: IntTuple) -> str:
    return str(shape) if isinstance(shape, int) else f"({','.join(map(_text, shape))})"


def cute_text(*outermost: Sequence[tuple[int, int]]) -> str:
    """``shape:stride`` of a layout whose outermost modes consist of these (size, stride).

    >>> cute_text([(4, 32), (8, 1)], [(2, 16)], [])
    '((4,8),2,1):((32,1),16,0)'
    """
    parts = [_flat_tuples(modes) for modes in outermost]
    return f"{_text(tuple(shape for shape, _ in parts))}:{_text(tuple(stride for _, stride in parts))}"


def _offset(index: _Index, shape: IntTuple, stride: IntTuple) -> _Index:
    *modes, (_, last) = zip(_leaves(shape), _leaves(stride), strict=True)
    # CuTe's last mode is unbounded.
    offset = index // prod(size for size, _ in modes) * last
    below = 1
    for size, step in modes:
        offset = offset + index // below % size * step
        below *= size
    return offset


def _flat_tuples(modes: Sequence[tuple[int, int]]) -> tuple[IntTuple, IntTuple]:
    """Shape and stride of modes without nesting; one mode has plain numbers."""
    if len(modes) < 2:
        return modes[0] if modes else (1, 0)
    return tuple(size for size, _ in modes), tuple(stride for _, stride in modes)


def _flat(modes: Sequence[tuple[int, int]]) -> CuteLayout:
    return CuteLayout(*_flat_tuples(modes))


def coalesced(modes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Drop modes of size 1, and merge a mode with the next if that continues its stride.

    >>> coalesced([(2, 1), (1, 7), (4, 2)])
    [(8, 1)]
    """
    merged: list[tuple[int, int]] = []
    for size, stride in modes:
        if size == 1:
            continue
        if merged and merged[-1][0] * merged[-1][1] == stride:
            merged[-1] = (merged[-1][0] * size, merged[-1][1])
        else:
            merged.append((size, stride))
    return merged


def _compose_mode(
    outer: Sequence[tuple[int, int]], size: int, stride: int, where: str
) -> list[tuple[int, int]]:
    """One mode of the inner layout: skip `stride` offsets of the outer one, then count `size` of them."""
    if stride == 0 or size == 1:
        return [(size, 0)]
    composed: list[tuple[int, int]] = []
    for extent, step in outer[:-1]:
        if stride >= extent:
            if stride % extent:
                raise PtxlabError(f"{where}: stride {stride} does not divide by the size {extent}")
            stride //= extent
            continue
        taken = min(-(-extent // stride), size)
        if extent % stride or size % taken:
            raise PtxlabError(f"{where}: {size} steps of {stride} do not fit into the size {extent}")
        composed.append((taken, step * stride))
        size, stride = size // taken, 1
        if size == 1:
            return coalesced(composed)
    composed.append((size, outer[-1][1] * stride))
    return coalesced(composed)
