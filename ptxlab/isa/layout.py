"""Fragment layouts: which lane holds which element of a matrix, as data.

A layout is a mixed-radix counter. A *mode* ``(size, row step, column step)`` is one digit; the lane index is
counted off by the lane modes and the element index by the element modes, fastest digit first, and each digit
moves by its steps. A mode with both steps 0 is a broadcast: the same element is held more than once.

The layouts of all operands derive from a few sizes. Almost all belong to one family (`fragment`: 8 rows of 4
lanes); the others are the quad pairs of mma.m8n8k4, sparsity metadata, block scales, and WMMA, whose
fragments the ISA leaves unspecified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from math import prod
from operator import or_
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int, as_shape
from ..errors import PtxlabError, quoted
from .cute import CuteLayout, cute_text

Mode = tuple[int, int, int]


def mode_offsets(modes: Sequence[Mode]) -> NDArray[np.int64]:
    """Row and column of every value of the counter: [product of sizes, 2]."""
    offsets = np.zeros((1, 2), dtype=np.int64)
    for size, row, column in modes:
        digit = np.arange(size)[:, None, None] * np.array([row, column])
        offsets = (digit + offsets).reshape(-1, 2)
    return offsets


def _read_only(array: NDArray[np.int64]) -> NDArray[np.int64]:
    """Protect an array that is cached: writing into it would change the layout for everybody."""
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class Layout:
    """A map (lane, element) -> (row, column) over a matrix of the given shape.

    >>> # (T32,V4) -> (M16,N8)
    >>> c = Layout((16, 8), lane=((4, 0, 2), (8, 1, 0)), element=((2, 0, 1), (2, 8, 0)))
    >>> c.coords()[5, 3].tolist()
    [9, 3]
    >>> c.locate(9, 3)
    (5, 3)
    >>> c.cute
    '((4,8),(2,2)):((32,1),(16,8))'
    """

    shape: tuple[int, int]
    lane: tuple[Mode, ...]
    element: tuple[Mode, ...]

    def __post_init__(self) -> None:
        coords = self.coords().reshape(-1, 2)
        outside = ((coords < 0) | (coords >= self.shape)).any(axis=1)
        if outside.any():
            lane, element = divmod(int(np.argmax(outside)), self.elements)
            row, column = coords[np.argmax(outside)]
            raise PtxlabError(
                f"layout of {self._size}: lane {lane}, element {element} falls on row {row}, column "
                f"{column}, outside the matrix"
            )
        counts = np.bincount(
            coords[:, 0] * self.shape[1] + coords[:, 1], minlength=self.shape[0] * self.shape[1]
        )
        wrong = counts != self.copies
        if wrong.any():
            row, column = divmod(int(np.argmax(wrong)), self.shape[1])
            raise PtxlabError(
                f"layout of {self._size}: row {row}, column {column} is held "
                f"{counts[row * self.shape[1] + column]} times, its broadcasts allow {self.copies}"
            )

    @property
    def _size(self) -> str:
        return f"{self.shape[0]}x{self.shape[1]}"

    @cached_property
    def lanes(self) -> int:
        """How many lanes take part: 32 for a warp, 128 for a warpgroup.

        >>> fragment(16, 8, 2).lanes, fragment(64, 8, 2, warps=4).lanes
        (32, 128)
        """
        return prod(size for size, _, _ in self.lane)

    @cached_property
    def elements(self) -> int:
        """How many elements one lane holds.

        >>> fragment(16, 8, 2).elements
        4
        """
        return prod(size for size, _, _ in self.element)

    @cached_property
    def copies(self) -> int:
        """How often every element is held: 1, or more where a mode broadcasts.

        >>> Layout((8, 4), lane=((4, 0, 1), (8, 1, 0)), element=((2, 0, 0),)).copies
        2
        """
        return prod(size for size, row, column in self.lane + self.element if row == column == 0)

    def coords(self) -> NDArray[np.int64]:
        """Row and column of every element of every lane: int array [lanes, elements, 2].

        >>> fragment(16, 8, 2).coords()[5].tolist()
        [[1, 2], [1, 3], [9, 2], [9, 3]]
        """
        return self._coords.copy()

    @cached_property
    def _coords(self) -> NDArray[np.int64]:
        return mode_offsets(self.lane)[:, None, :] + mode_offsets(self.element)[None, :, :]

    @cached_property
    def gather(self) -> NDArray[np.int64]:
        """Row-major index of the matrix element at each (lane, element): [lanes, elements].

        >>> fragment(16, 8, 2).gather[5]
        array([10, 11, 74, 75])
        """
        return _read_only(self._coords[..., 0] * self.shape[1] + self._coords[..., 1])

    @cached_property
    def _holders(self) -> NDArray[np.int64]:
        """Every holder of each matrix element, ascending, as lane * elements + element.

        [rows * columns, copies].
        """
        order = np.argsort(self.gather.ravel(), kind="stable")
        return _read_only(order.reshape(-1, self.copies))

    def scatter(self, copy: int = 0) -> NDArray[np.int64]:
        """The holder of each matrix element, as lane * elements + element: [rows, columns].

        `copy` counts holders by lane, then element.

        >>> divmod(int(fragment(16, 8, 2).scatter()[9, 3]), 4)   # lane 5, element 3
        (5, 3)
        """
        copy = as_int(copy, "copy")
        if not 0 <= copy < self.copies:
            raise PtxlabError(
                f"copy {quoted(copy)}: every element is held {self.copies} times, so copy goes from 0 to "
                f"{self.copies - 1}"
            )
        return self._holders[:, copy].reshape(self.shape)

    def locate(self, row: int, col: int) -> tuple[int, int]:
        """The (lane, element) that holds this row and column; the lowest lane where several do.

        >>> fragment(16, 8, 2).locate(9, 3)
        (5, 3)
        """
        return self.holders(row, col)[0]

    def holders(self, row: int, col: int) -> list[tuple[int, int]]:
        """Every (lane, element) that holds this row and column.

        >>> Layout((8, 4), lane=((4, 0, 1), (8, 1, 0)), element=((2, 0, 0),)).holders(1, 0)
        [(4, 0), (4, 1)]
        """
        row, col = as_int(row, "row"), as_int(col, "column")
        for name, index, size in (("row", row, self.shape[0]), ("column", col, self.shape[1])):
            if not 0 <= index < size:
                raise PtxlabError(
                    f"{name} {quoted(index)}: the matrix is {self._size}, so {name}s go from 0 to {size - 1}"
                )
        return [divmod(int(holder), self.elements) for holder in self._holders[row * self.shape[1] + col]]

    @cached_property
    def T(self) -> Layout:
        """The same lanes over the transposed matrix, e.g. B as CUTLASS writes it, (N,K) instead of (K,N).

        >>> fragment(8, 16, 4).T.coords()[1].tolist()   # B of m16n8k16 with s8: lane 1 holds four of column 0
        [[4, 0], [5, 0], [6, 0], [7, 0]]
        """
        lane = tuple((size, column, row) for size, row, column in self.lane)
        element = tuple((size, column, row) for size, row, column in self.element)
        return Layout((self.shape[1], self.shape[0]), lane, element)

    @property
    def cute(self) -> str:
        """The layout as CuTe's ``(lane, element) -> row + rows * column`` string.

        >>> fragment(16, 8, 2).cute
        '((4,8),(2,2)):((32,1),(16,8))'
        """
        rows = self.shape[0]
        lane, element = (
            [(size, row + rows * column) for size, row, column in modes]
            for modes in (self.lane, self.element)
        )
        return cute_text(lane, element)

    @classmethod
    def from_cute(cls, text: str, shape: tuple[int, int]) -> Layout:
        """The layout that a CuTe string over (lane, value) describes, for a matrix of this shape.

        >>> Layout.from_cute("((4,8),(2,2)):((32,1),(16,8))", (16, 8)) == fragment(16, 8, 2)
        True
        """
        layout, (rows, columns) = CuteLayout.read(text), as_shape(shape, "shape")
        if (
            not (isinstance(layout.shape, tuple) and isinstance(layout.stride, tuple))
            or len(layout.shape) != 2
        ):
            raise PtxlabError(f"layout {layout}: it has two modes, the lane and the value")
        if not 0 < rows * columns <= layout.size:
            raise PtxlabError(f"layout {layout}: it has no room for a matrix of {rows}x{columns}")
        lane, element = (
            [mode for size, stride in CuteLayout(*part).modes for mode in _split_stride(size, stride, rows)]
            for part in zip(layout.shape, layout.stride, strict=True)
        )
        return cls((rows, columns), coalesced(lane), coalesced(element))

    @property
    def bases(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Triton's linear layout: where each bit of the element's and the lane's index goes, lowest first.

        Row and column are the XOR of the bases of all bits that are set. Triton calls the element a register,
        whatever its size, and counts a warpgroup's lanes by lane and warp.

        >>> fragment(16, 8, 2).bases
        {'register': ((0, 1), (8, 0)), 'lane': ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), 'warp': ()}
        """
        for size, _, _ in self.lane + self.element:
            if size & size - 1:
                raise PtxlabError(
                    f"layout {self.cute}: the size {size} is not a power of 2, so it has no bases"
                )
        element, lane = (
            tuple(
                (row << bit, column << bit)
                for size, row, column in modes
                for bit in range(size.bit_length() - 1)
            )
            for modes in (self.element, self.lane)
        )
        return {"register": element, "lane": lane[:5], "warp": lane[5:]}

    @classmethod
    def from_bases(cls, bases: Mapping[str, Sequence[Sequence[int]]], shape: tuple[int, int]) -> Layout:
        """The layout of Triton's bases, if strides can express it: no two bases share a bit.

        >>> Layout.from_bases(fragment(16, 8, 2).bases, (16, 8)) == fragment(16, 8, 2)
        True
        """
        rows, columns = as_shape(shape, "shape")
        lane, element = (
            [mode for name in names for mode in _binary_modes(bases, name)]
            for names in (("lane", "warp"), ("register",))
        )
        if not 0 < rows * columns <= 1 << len(lane + element):
            raise PtxlabError(f"bases: they have no room for a matrix of {rows}x{columns}")
        for axis, name in ((1, "row"), (2, "column")):
            steps = [mode[axis] for mode in lane + element]
            if max(steps, default=0) >= shape[axis - 1]:
                raise PtxlabError(
                    f"bases: {name} {quoted(max(steps))} is outside the matrix of {rows}x{columns}"
                )
            if reduce(or_, steps, 0) != sum(steps):
                raise PtxlabError(
                    f"bases: two of them set the same bit of a {name}; strides add, so they cannot express "
                    "the XOR there"
                )
        return cls((rows, columns), coalesced(lane), coalesced(element))

    def formula(self) -> str:
        """Row and column in the manual's style, from the lane and the element's index i.

        Generated from the modes; a warpgroup has threads, 0 to 127.

        >>> print(fragment(16, 8, 2).formula())
        groupID           = lane >> 2
        threadID_in_group = lane & 0x3
        row = groupID + ((i >> 1) * 8)
        col = (threadID_in_group * 2) + (i & 0x1)
        """
        terms: tuple[list[str], list[str]] = ([], [])
        lane_digits = {}
        holder = "lane" if self.lanes <= 32 else "thread"
        for counter, modes in ((holder, self.lane), ("i", self.element)):
            for stride_and_size, digit, steps in _digits(counter, modes):
                if counter == holder and stride_and_size in _LANE_DIGITS and any(steps):
                    name = _LANE_DIGITS[stride_and_size]
                    lane_digits[name] = digit
                    digit = name
                for axis, step in enumerate(steps):
                    if step:
                        terms[axis].append(_term(digit, step))
        width = max(map(len, lane_digits), default=0)
        lines = [
            f"{name:<{width}} = {lane_digits[name]}" for name in _LANE_DIGITS.values() if name in lane_digits
        ]
        for name, axis_terms in zip(("row", "col"), terms, strict=True):
            lines.append(f"{name} = {' + '.join(axis_terms) or '0'}")
        return "\n".join(lines)

    @property
    def signature(self) -> str:
        """The sizes of the map, as in the comment above a CuTe atom: ``(T32,V4) -> (16,8)``.

        >>> fragment(16, 8, 2).signature
        '(T32,V4) -> (16,8)'
        """
        return f"(T{self.lanes},V{self.elements}) -> ({self.shape[0]},{self.shape[1]})"


#: Digits of the lane's index that the manual has a name for: (stride, size) -> name.
_LANE_DIGITS = {(4, 8): "groupID", (1, 4): "threadID_in_group", (32, 4): "warpID"}


def _digits(counter: str, modes: Sequence[Mode]) -> list[tuple[tuple[int, int], str, tuple[int, int]]]:
    """Every digit of a mixed-radix counter: ((stride, size), its expression, (row step, column step))."""
    digits, stride, total = [], 1, prod(size for size, _, _ in modes)
    for size, row, column in modes:
        digit = counter
        if stride > 1:
            power_of_two = stride & stride - 1 == 0
            digit = f"{counter} >> {stride.bit_length() - 1}" if power_of_two else f"{counter} // {stride}"
        if stride * size < total:
            power_of_two = size & size - 1 == 0
            remainder = f"& 0x{size - 1:X}" if power_of_two else f"% {size}"
            digit = f"{_parenthesized(digit)} {remainder}"
        digits.append(((stride, size), digit, (row, column)))
        stride *= size
    return digits


def index_terms(counter: str, modes: Sequence[Mode]) -> tuple[list[str], list[str]]:
    """The terms that a counter adds to the row and to the column, as the manual writes them.

    >>> index_terms("row", [(32, 1, 0), (2, 64, 0)])
    (['(row & 0x1F)', '((row >> 5) * 64)'], [])
    """
    terms: tuple[list[str], list[str]] = ([], [])
    for _, digit, steps in _digits(counter, modes):
        for axis, step in enumerate(steps):
            if step:
                terms[axis].append(_term(digit, step))
    return terms


def _term(digit: str, step: int) -> str:
    return _parenthesized(digit) if step == 1 else f"({_parenthesized(digit)} * {step})"


def _parenthesized(digit: str) -> str:
    """The expression in parentheses, unless it is a plain name."""
    return f"({digit})" if " " in digit else digit


@lru_cache(maxsize=None)
def fragment(rows: int, columns: int, run: int, tall: int = 16, warps: int = 1) -> Layout:
    """The family that nearly all fragments belong to.

    8 rows of 4 lanes, each holding `run` neighbours of a row.

    Lanes 0..3 share row 0, lanes 4..7 row 1, and so on; what is left of the matrix repeats this 8 x 4*run
    block, first down to `tall` rows, then to the right, then further down. Each of a warpgroup's four warps
    takes 16 rows. `isa/mma.py` chooses the numbers for each instruction.

    >>> fragment(16, 64, 8).cute                                   # A of m16n8k64 with s4
    '((4,8),(8,2,2)):((128,1),(16,8,512))'
    >>> fragment(64, 8, 2, warps=4).cute                           # D of wgmma's m64n8
    '((4,8,4),(2,2)):((128,1,16),(64,8))'
    """
    tall = min(rows, tall)
    lane: list[Mode] = [(4, 0, run), (8, 1, 0), (warps, 16, 0)]
    element: list[Mode] = [
        (run, 0, 1),
        (tall // 8, 8, 0),
        (columns // (4 * run), 0, 4 * run),
        (rows // (tall * warps), tall, 0),
    ]
    return Layout((rows, columns), coalesced(lane), coalesced(element))


def _binary_modes(bases: object, name: str) -> list[Mode]:
    """The bases of a dimension as modes of size 2."""
    vectors = bases.get(name, ()) if isinstance(bases, Mapping) else None
    if not isinstance(vectors, tuple | list) or len(vectors) > 20:
        raise PtxlabError(
            f"bases {quoted(bases)}: they are lists of (row, column) for register, lane and warp"
        )
    return [(2, *as_shape(vector, f"a basis of {name}")) for vector in vectors]


def _split_stride(size: int, stride: int, rows: int) -> list[Mode]:
    """A mode of a column-major index as row and column steps; two modes where it crosses a column's end."""
    row, column = stride % rows, stride // rows
    if row and size * row > rows:
        down = -(-rows // row)
        if column or rows % row or size % down:
            raise PtxlabError(f"{size} steps of {stride} do not go evenly through columns of {rows}")
        return [(down, row, 0), (size // down, 0, 1)]
    return [(size, row, column)]


def tiled(
    atom: Layout,
    warps: Sequence[Mode],
    shape: tuple[int, int],
    rest: Literal["rows first", "columns first"] = "rows first",
) -> Layout:
    """A warp's fragment repeated, first over warps, then over what is left of a larger matrix.

    This is CuTe's TiledMMA: `warps` is its AtomLayout, modes that count in fragments, fastest first; a mode
    without steps holds the same elements again. What is left goes to further elements of the same lanes, down
    the rows first, in the order of CuTe's (V, RestM, RestN); Triton's mma layouts go along the columns first.

    >>> tiled(fragment(16, 8, 2), ((2, 1, 0), (2, 0, 1)), (64, 16)).cute
    '((4,8,2,2),(2,2,2)):((128,1,16,512),(64,8,32))'
    """
    rows, columns = atom.shape
    for _, row, column in warps:
        if row and column:
            raise PtxlabError(f"warps {quoted(warps)}: a mode goes down the rows or along the columns")
    down = rows * prod(size for size, row, _ in warps if row)
    along = columns * prod(size for size, _, column in warps if column)
    if shape[0] % down or shape[1] % along:
        raise PtxlabError(f"shape {quoted(shape)}: the warps cover {down}x{along}, which has to divide it")
    repeats: list[Mode] = [(shape[0] // down, down, 0), (shape[1] // along, 0, along)]
    lane = (*atom.lane, *((size, row * rows, column * columns) for size, row, column in warps))
    element = (*atom.element, *(repeats if rest == "rows first" else repeats[::-1]))
    return Layout(shape, coalesced(lane), coalesced(element))


def coalesced(modes: Sequence[Mode]) -> tuple[Mode, ...]:
    """Drop modes of size 1, and merge a mode with the next if that continues its steps, as CuTe does."""
    merged: list[Mode] = []
    for size, row, column in modes:
        if size == 1:
            continue
        last_size, last_row, last_column = merged[-1] if merged else (0, 0, 0)
        if merged and (row, column) == (last_size * last_row, last_size * last_column):
            merged[-1] = (last_size * size, last_row, last_column)
        else:
            merged.append((size, row, column))
    return tuple(merged)


# -- fragments of other kinds --------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def quad_pairs(name: str, order: Literal["row", "col"], wide: bool = False) -> Layout:
    """Fragments of mma.m8n8k4: four MMAs, one for each quad pair.

    Lanes 4q..4q+3 and the four lanes 16 above them form quad pair q.

    The four matrices are stacked: A, C and D below each other, B side by side. `order` is the layout of A or
    B. C and D are held by rows, except that f32 ones (`wide`) are spread over 2x2 squares.

    >>> quad_pairs("A", "row").holders(9, 2)   # row 1 of the second matrix
    [(5, 2)]
    """
    if name == "A":
        return Layout(
            (32, 4),
            ((4, 1, 0), (4, 8, 0), (2, 4, 0)) if order == "row" else ((4, 0, 1), (4, 8, 0), (2, 4, 0)),
            ((4, *_step_along(order)),),
        )
    if name == "B":
        return Layout(
            (4, 32),
            ((4, 1, 0), (4, 0, 8), (2, 0, 4)) if order == "row" else ((4, 0, 1), (4, 0, 8), (2, 0, 4)),
            ((4, *_step_along(order)),),
        )
    if wide:
        return Layout(
            (32, 8), ((2, 1, 0), (2, 0, 2), (4, 8, 0), (2, 4, 0)), ((2, 0, 1), (2, 2, 0), (2, 0, 4))
        )
    return Layout((32, 8), ((4, 1, 0), (4, 8, 0), (2, 4, 0)), ((8, 0, 1),))


def _step_along(order: str) -> tuple[int, int]:
    """Row and column step from one element in memory to the next."""
    return (0, 1) if order == "row" else (1, 0)


@lru_cache(maxsize=None)
def wmma(name: str, m: int, n: int, k: int, run: int, room: int = 0) -> Layout:
    """WMMA fragments as an H200 loads them (the ISA leaves them unspecified).

    They are those of mma, repeated for larger matrices.

    m8n32k16 is the transposed product: B is divided as A is in the other shapes. Where a lane has room for
    `room` elements and the matrix has fewer, each is held several times. Row- or column-major in memory makes
    no difference.

    >>> wmma("A", 16, 16, 16, 2, 16).holders(0, 0)   # f16: lane 0 holds it twice
    [(0, 0), (0, 8)]
    """
    transposed = m < n and n > 16
    if name in "CD":
        layout = fragment(n, m, run).T if transposed else fragment(m, n, run)
    elif name == "A":
        layout = fragment(m, k, run, 8 if transposed else 16)
    else:
        layout = fragment(n, k, run, 16 if transposed else 8).T
    copies = room // layout.elements if room else 1
    return layout if copies == 1 else Layout(layout.shape, layout.lane, (*layout.element, (copies, 0, 0)))


@lru_cache(maxsize=None)
def metadata(rows: int, chunks: int, wide: bool) -> Layout:
    """Sparsity metadata: one nibble for each row and chunk.

    With elements of 16 bits and more (`wide`) a lane holds four chunks of rows g and g + 8; with narrower
    ones it holds eight chunks of one row, and the next lane those of the row 8 below. With few chunks only
    some lanes in each group of four supply metadata; the others hold a copy, and the sparsity selector says
    which copy is read. Found on an H200 by flipping one nibble at a time (tests/gpu/test_instructions.py);
    the manual shows it in pictures.

    >>> metadata(16, 8, wide=False).holders(9, 3)   # m16n8k64 s4: selector 0 reads lane 5, selector 1 lane 7
    [(5, 3), (7, 3)]
    """
    if wide:
        metadata_lanes: list[Mode] = [(chunks // 4, 0, 4), (16 // chunks, 0, 0)]
        nibbles: tuple[Mode, ...] = ((4, 0, 1), (2, 8, 0))
    else:
        metadata_lanes = [(2, 8, 0), (chunks // 8, 0, 8), (16 // chunks, 0, 0)]
        nibbles = ((8, 0, 1),)
    lane = [*metadata_lanes, (8, 1, 0), (rows // 16, 16, 0)]
    return Layout((rows, chunks), tuple(m for m in lane if m[0] != 1), nibbles)


@lru_cache(maxsize=None)
def scales(vec: int) -> tuple[Layout, Layout]:
    """Block scales of A and B: one byte per block.

    thread-id picks among the lanes that hold copies, byte-id among the bytes. PTX ISA, "Block Scaling for
    mma.sync": lane 4g (4g + 2 with thread-id-a 1) holds the scales of row g, the next lane those of row g +
    8; lane 4g + thread-id-b holds those of column g.

    >>> a, b = scales(4)
    >>> a.holders(9, 2), b.locate(2, 3)   # thread-id-a 0 reads lane 5, thread-id-a 1 lane 7
    ([(5, 2), (7, 2)], (12, 2))
    """
    copies: tuple[Mode, ...] = ((4 // vec, 0, 0),) if vec < 4 else ()
    a_bytes: tuple[Mode, ...] = ((vec, 0, 1),) if vec > 1 else ()
    b_bytes: tuple[Mode, ...] = ((vec, 1, 0),) if vec > 1 else ()
    a = Layout((16, vec), ((2, 8, 0), (2, 0, 0), (8, 1, 0)), a_bytes + copies)
    b = Layout((vec, 8), ((4, 0, 0), (8, 0, 1)), b_bytes + copies)
    return a, b
