"""Tensor maps: what cuTensorMapEncodeTiled is told, and where TMA puts the elements of a box.

CUDA driver API, "Tensor Map Object Management"; PTX ISA, "Tensors" and "Swizzling Modes". TMA copies a box of
a tensor into shared memory with cp.async.bulk.tensor, row by row, and swizzles the addresses: rows follow
each other without gaps, or, with a swizzle, as far apart as it is wide. All of this is compared with what an
H200 writes, see `tests/golden/boxes.json`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_array, as_int, check_room, is_name
from ..errors import PtxlabError, listing, quoted
from .descriptors import SWIZZLES, swizzled
from .tile import Tile

__all__ = ["TensorMap", "tensor_map"]

#: NumPy's types -> those of CUtensorMapDataType, without their prefix. TMA does not look at values, so that
#: types it has no name for pass as integers of their size.
_DATA_TYPES: dict[str, str] = {
    "int8": "UINT8",
    "uint8": "UINT8",
    "int16": "UINT16",
    "uint16": "UINT16",
    "int32": "INT32",
    "uint32": "UINT32",
    "int64": "INT64",
    "uint64": "UINT64",
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "float32": "FLOAT32",
    "float64": "FLOAT64",
    "float8_e4m3fn": "UINT8",
    "float8_e5m2": "UINT8",
    "float8_e8m0fnu": "UINT8",
}

_MOST_AXES = 5
_MOST_BOX = 256  # elements along an axis of the box
_MOST_ELEMENT_STRIDE = 8
#: What `fill="nan"` puts into every 16 bits outside the array, on an H200.
_NAN = 0x7FF7
_FILLS = ("zero", "nan")
#: Bytes that one miss of the L2 cache fetches: CU_TENSOR_MAP_L2_PROMOTION_..., 0 for none.
_PROMOTIONS = (0, 64, 128, 256)
#: What the address of a box in shared memory is a multiple of (PTX ISA, cp.async.bulk.tensor).
_BOX_ALIGNMENT = 128


@dataclass(frozen=True, eq=False)
class TensorMap:
    """A row-major array, the box that one copy takes of it, and the swizzle; `tensor_map` makes one.

    Axes are in the array's order, the contiguous one last; the driver's own order is the reverse, and
    `dimensions`, `strides`, `box_dimensions` and `element_stride_dimensions` have it.

    >>> tensor = np.arange(64 * 128, dtype=np.uint16).reshape(64, 128)
    >>> tma = tensor_map(tensor, box=(64, 64), swizzle=128)
    >>> tma.dimensions, tma.strides, tma.box_dimensions, tma.data_type
    ((128, 64), (256,), (64, 64), 'UINT16')
    >>> tma.offset(1, 0)   # row 1 of the box begins one chunk into its line of 128 bytes
    array(144)
    """

    array: NDArray[Any] = field(repr=False)
    box: tuple[int, ...]
    swizzle: int
    element_strides: tuple[int, ...]
    fill: str = "zero"
    l2_promotion: int = 0

    # -- what the driver takes -------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.array.ndim

    @property
    def data_type(self) -> str:
        """The element type, as the driver names it: what follows ``CU_TENSOR_MAP_DATA_TYPE_``."""
        return _DATA_TYPES[self.array.dtype.name]

    @property
    def dimensions(self) -> tuple[int, ...]:
        """globalDim: elements along each axis, the contiguous one first."""
        return self.array.shape[::-1]

    @property
    def strides(self) -> tuple[int, ...]:
        """globalStrides: bytes from one element to the next along each axis but the first."""
        return self.array.strides[-2::-1]

    @property
    def box_dimensions(self) -> tuple[int, ...]:
        """boxDim: elements of the box along each axis, the contiguous one first."""
        return self.box[::-1]

    @property
    def element_stride_dimensions(self) -> tuple[int, ...]:
        """elementStrides: every how manieth element is copied, the contiguous axis first."""
        return self.element_strides[::-1]

    # -- the box in shared memory ----------------------------------------------------------------------------

    @property
    def copied(self) -> tuple[int, ...]:
        """Elements that arrive along each axis: fewer than the box has where the element stride is not 1."""
        return tuple(-(-size // step) for size, step in zip(self.box, self.element_strides, strict=True))

    @property
    def expect_tx(self) -> int:
        """Bytes that one copy transfers, also beyond the array's edge: what the mbarrier waits for."""
        return math.prod(self.copied) * self.array.itemsize

    @property
    def pitch(self) -> int:
        """Bytes from one row of the box to the next: with a swizzle its width, however short the row is."""
        return self.swizzle or self.copied[-1] * self.array.itemsize

    @property
    def size(self) -> int:
        """Bytes of shared memory that the box takes, with what a short row leaves unused."""
        return math.prod(self.copied[:-1]) * self.pitch

    @property
    def alignment(self) -> int:
        """What the box's address is best a multiple of: there the swizzle pattern starts with the box."""
        return max(8 * self.swizzle, _BOX_ALIGNMENT)

    def offset(self, *index: int | NDArray[Any], address: int = 0) -> NDArray[np.int64]:
        """Bytes from the start of the box to where TMA puts the element at this index of the box.

        `address` is where the box is in shared memory: the swizzle goes by addresses.

        >>> tma = tensor_map(np.zeros((8, 32), dtype=np.float32), box=(8, 8), swizzle=32)
        >>> tma.offset(np.arange(8), 0)   # rows of 32 bytes; from the fifth on their halves are swapped
        array([  0,  32,  64,  96, 144, 176, 208, 240])
        """
        if len(index) != self.rank:
            raise PtxlabError(f"index {quoted(index)}: the box has {self.rank} axes")
        address = self.as_address(address)
        row: NDArray[np.int64] = np.zeros((), dtype=np.int64)
        along = row
        for axis, (positions, size) in enumerate(zip(index, self.copied, strict=True)):
            indices = as_array(positions, f"index of axis {axis}")
            if indices.dtype.kind not in "iu" or (indices < 0).any() or (indices >= size).any():
                raise PtxlabError(
                    f"index {quoted(positions)} of axis {axis}: whole numbers from 0 to {size - 1} are in "
                    "the box"
                )
            if axis:
                row = row * self.copied[axis - 1] + along
            along = indices.astype(np.int64)
        plain = row * self.pitch + along * self.array.itemsize
        return np.asarray(swizzled(plain + address, self.swizzle) - address)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The offset of every element of the box, for an address that is a multiple of `alignment`."""
        offsets = self.offset(*np.ogrid[tuple(slice(size) for size in self.copied)])
        offsets.flags.writeable = False  # it is kept for the next call
        return offsets

    def load(self, *start: int, address: int = 0) -> NDArray[np.uint8]:
        """The bytes that TMA writes for the box that starts at this element of the array.

        What lies outside the array arrives as 0 or, with ``fill="nan"``, as 0x7FF7 in every 16 bits, a NaN of
        each type (so on an H200; the manual does not say); `start` may be negative. The result, [size],
        begins at the box's address; bytes that TMA leaves as they are, those between short rows, are 0.

        >>> tma = tensor_map(np.arange(64, dtype=np.uint8).reshape(2, 32), box=(2, 32), swizzle=32)
        >>> tma.load(1, 0)[[0, 31, 32]]
        array([32, 63,  0], dtype=uint8)
        """
        if len(start) != self.rank:
            raise PtxlabError(f"start {quoted(start)}: the array has {self.rank} axes")
        address = self.as_address(address)
        inside = np.ones((), dtype=np.bool_)
        indices = []
        for axis, (first, count, step, length) in enumerate(
            zip(start, self.copied, self.element_strides, self.array.shape, strict=True)
        ):
            first = as_int(first, f"start of axis {axis}")
            if not -(1 << 31) <= first < 1 << 31:
                raise PtxlabError(f"start {quoted(first)} of axis {axis}: coordinates have 32 bits")
            if axis == self.rank - 1 and first * self.array.itemsize % 16:
                raise PtxlabError(
                    f"start {first} of axis {axis}: along the last axis a box begins at a multiple of 16 "
                    f"bytes, {16 // self.array.itemsize} elements of {self.array.dtype}; an H200 stops "
                    "at others"
                )
            positions = first + np.arange(count) * step
            indices.append(np.clip(positions, 0, length - 1))
            inside = inside[..., None] & ((positions >= 0) & (positions < length))
        elements = np.ascontiguousarray(self.array[np.ix_(*indices)])
        content = elements.view(np.uint8).reshape(-1, self.array.itemsize)
        outside = np.zeros(self.array.itemsize, dtype=np.uint8)
        if self.fill == "nan":
            outside = np.resize(np.array([_NAN], dtype="<u2").view(np.uint8), self.array.itemsize)
        content = np.where(inside.reshape(-1, 1), content, outside)
        offsets = self.offset(*np.ogrid[tuple(slice(size) for size in self.copied)], address=address)
        memory = np.zeros(self.size, dtype=np.uint8)
        memory[offsets.reshape(-1, 1) + np.arange(self.array.itemsize)] = content
        return memory

    def as_address(self, address: object) -> int:
        """An address that TMA writes to, or an error that says which those are."""
        number = as_int(address, "address")
        if number % _BOX_ALIGNMENT or not 0 <= number < 1 << 18:
            raise PtxlabError(
                f"address {quoted(number)}: TMA writes to multiples of {_BOX_ALIGNMENT} below 2^18"
            )
        return number

    def tile(self, major: str = "K") -> Tile:
        """The tile that wgmma reads where TMA has put a box of two axes: rows by K, or K by rows for "MN".

        >>> tma = tensor_map(np.zeros((64, 128), dtype=np.float16), box=(64, 64), swizzle=128)
        >>> hex(tma.tile().descriptor(0x400, k=16))
        '0x4000004000010042'
        """
        if not is_name(major, ("K", "MN")):
            raise PtxlabError(f"major={quoted(major)}: a tile is 'K' or 'MN' major")
        if self.rank != 2:
            raise PtxlabError(f"a box of {self.rank} axes: a tile has two")
        lines, inner = self.copied
        width = inner * self.array.itemsize
        if width != max(self.swizzle, 16) and not (self.swizzle and major == "K"):
            raise PtxlabError(
                f"rows of {width} bytes: wgmma reads a box whose rows are as wide as the swizzle, "
                f"{max(self.swizzle, 16)} bytes"
            )
        bits = 8 * self.array.itemsize
        if major == "K":
            return Tile(bits, lines, inner, "K", self.swizzle, "MN")
        return Tile(bits, inner, lines, "MN", self.swizzle, "K")


def tensor_map(
    array: object,
    box: tuple[int, ...],
    swizzle: int = 0,
    *,
    element_strides: tuple[int, ...] | None = None,
    fill: str = "zero",
    l2_promotion: int = 0,
) -> TensorMap:
    """A tensor map of a row-major array; `box` is in the array's order of axes. See `TensorMap`.

    `element_strides` copies every how manieth element along each axis; `fill` is what arrives from outside
    the array, "zero" or, of floats, "nan"; `l2_promotion` is 0, 64, 128 or 256 bytes, a matter of speed.

    >>> tensor_map(np.zeros((64, 100), dtype=np.float16), box=(64, 32))
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: array: 200 bytes from one element of axis 0 to the next; TMA takes multiples \
of 16 bytes, so pad axis 1 to a multiple of 8 elements
    """
    values = as_array(array, "array")
    _check_array(values)
    sizes = _as_sizes(box, "box", values.ndim, _MOST_BOX)
    steps = (1,) * values.ndim
    if element_strides is not None:
        steps = _as_sizes(element_strides, "element_strides", values.ndim, _MOST_ELEMENT_STRIDE)
        if steps[-1] != 1:
            raise PtxlabError(
                f"element_strides={quoted(element_strides)}: TMA copies every element of the last axis"
            )
    if as_int(swizzle, "swizzle") not in SWIZZLES:
        raise PtxlabError(f"swizzle of {quoted(swizzle)} bytes: there are {listing(sorted(SWIZZLES))}")
    inner = sizes[-1] * values.itemsize
    if inner % 16:
        raise PtxlabError(
            f"box={quoted(sizes)}: its rows are {inner} bytes of {values.dtype}; TMA takes multiples of 16"
        )
    if 0 < swizzle < inner:
        raise PtxlabError(
            f"box={quoted(sizes)}: its rows are {inner} bytes, wider than the swizzle of {int(swizzle)} "
            f"bytes; take {swizzle // values.itemsize} elements and several copies, or swizzle=0"
        )
    if not is_name(fill, _FILLS):
        raise PtxlabError(f"fill={quoted(fill)}: there are {listing(_FILLS)}")
    if fill == "nan" and "FLOAT" not in _DATA_TYPES[values.dtype.name]:
        raise PtxlabError(
            f"fill='nan' of {values.dtype}: TMA fills float16, bfloat16, float32, float64 with NaN"
        )
    if as_int(l2_promotion, "l2_promotion") not in _PROMOTIONS:
        raise PtxlabError(f"l2_promotion={quoted(l2_promotion)}: there are {listing(_PROMOTIONS)}")
    check_room(math.prod(sizes), "box")
    return TensorMap(values, sizes, int(swizzle), steps, fill, int(l2_promotion))


def _check_array(values: NDArray[Any]) -> None:
    """The rules of cuTensorMapEncodeTiled about the tensor in global memory."""
    if not 1 <= values.ndim <= _MOST_AXES:
        raise PtxlabError(f"array of {values.ndim} axes: TMA takes 1 to {_MOST_AXES}")
    if values.dtype.name not in _DATA_TYPES:
        raise PtxlabError(f"array of {values.dtype}: TMA copies {listing(_DATA_TYPES, 20)}")
    if 0 in values.shape:
        raise PtxlabError(f"array of shape {values.shape}: TMA takes no empty one")
    if max(values.shape) > 1 << 32:
        raise PtxlabError(f"array of shape {values.shape}: an axis has at most 2^32 elements")
    if values.strides[-1] != values.itemsize and values.shape[-1] > 1:
        raise PtxlabError("array: its last axis is not contiguous; TMA takes row-major arrays")
    for axis, stride in enumerate(values.strides[:-1]):
        if stride % 16:
            unit = 16 // math.gcd(values.itemsize, 16)
            raise PtxlabError(
                f"array: {stride} bytes from one element of axis {axis} to the next; TMA takes multiples of "
                f"16 bytes, so pad axis {values.ndim - 1} to a multiple of {unit} elements"
            )
        if not 0 <= stride < 1 << 40:
            raise PtxlabError(
                f"array: {stride} bytes from one element of axis {axis} to the next; TMA takes 0 to 2^40"
            )


def _as_sizes(values: object, what: str, count: int, most: int) -> tuple[int, ...]:
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.size <= 2 * _MOST_AXES:
        values = values.tolist()
    if not isinstance(values, tuple | list) or len(values) != count:
        raise PtxlabError(f"{what}={quoted(values)}: the array has {count} axes, so it takes {count} numbers")
    sizes = tuple(as_int(value, what) for value in values)
    if min(sizes) < 1 or max(sizes) > most:
        raise PtxlabError(f"{what}={quoted(sizes)}: TMA takes 1 to {most} along each axis")
    return sizes
