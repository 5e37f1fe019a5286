"""Tensor maps: the arguments of cuTensorMapEncodeTiled, and where TMA puts the elements of a box.

CUDA driver API, "Tensor Map Object Management"; PTX ISA, "Tensors" and "Swizzling Modes". TMA copies a box of
a tensor into shared memory with cp.async.bulk.tensor, row by row, and swizzles the addresses: rows follow
each other without gaps, or, with a swizzle, as far apart as it is wide. All of this is compared with what an
H200 writes, see `tests/golden/boxes.json`; what only sm_100 and later have (`TensorMap.supports`) is as the
manuals say. Maps that gather the windows of a convolution are in `im2col`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_array, as_int, is_a, is_name
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.dtypes import convert, dtype
from ..isa.targets import check_target, chip_number
from .array_interface import ArrayLayout, gpu_layout
from .swizzle import TMA_SWIZZLES, TmaSwizzle
from .tile import Tile

#: NumPy's types -> those of CUtensorMapDataType, without their prefix. TMA does not look at most values, so
#: that types it has no name for pass as integers of their size.
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
#: Types that only `data_type` chooses.
_OTHER_TYPES = ("FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ")


class _Packing(NamedTuple):
    """Elements of 4 or 6 bits: 16 are packed in global memory, and take up `room` bytes in shared memory."""

    bits: int
    room: int

    @property
    def data(self) -> int:
        """Bytes of 16 elements."""
        return 2 * self.bits


#: The types whose elements are packed. ALIGN8B leaves no gaps in shared memory, ALIGN16B leaves 8 or 4 bytes.
_PACKED = {"16U4_ALIGN8B": _Packing(4, 8), "16U4_ALIGN16B": _Packing(4, 16), "16U6_ALIGN16B": _Packing(6, 16)}
_PER_CHUNK = 16  # elements
_PADDED_ROW = 128  # elements along the last axis of a box, and unit of the array's, of the types with gaps


#: Bytes of a slice of channels in interleaved layouts: CU_TENSOR_MAP_INTERLEAVE_...
INTERLEAVES = (0, 16, 32)
_FEWEST_INTERLEAVED_AXES = 3  # for the driver, without the slice

MAX_AXES = 5
#: Most bytes of one copy on an H200: its shared memory, 228 KiB.
_MAX_BYTES = 228 << 10
_MAX_BOX = 256  # elements along an axis of the box
_MAX_ELEMENT_STRIDE = 8
#: What `fill="nan"` writes into every 16 bits outside the array, on an H200.
_NAN = 0x7FF7
#: What a NaN becomes in a copy as TFLOAT32, on an H200.
_TF32_NAN = 0x7FFFE000
FILLS = ("zero", "nan")
#: Bytes that one miss of the L2 cache fetches: CU_TENSOR_MAP_L2_PROMOTION_..., 0 for none.
_PROMOTIONS = (0, 64, 128, 256)
#: The address of a box in shared memory is a multiple of this (PTX ISA, cp.async.bulk.tensor).
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
    >>> tma.offset(1, 0)   # row 1 of the box begins one chunk into its 128-byte row
    array(144)
    """

    array: Any = field(repr=False)  # of NumPy, or on a GPU
    box: tuple[int, ...]
    swizzle: int  # bytes within which chunks move
    element_strides: tuple[int, ...]
    fill: str
    l2_promotion: int
    data_type: str  # what follows CU_TENSOR_MAP_DATA_TYPE_ in the driver
    swizzle_mode: int | str
    interleave: int
    layout: ArrayLayout = field(repr=False)

    # -- arguments of the driver -----------------------------------------------------------------------------

    @property
    def axes(self) -> int:
        """Number of axes of the array, of the box and of its start."""
        return len(self.layout.shape)

    @property
    def rank(self) -> int:
        """Number of axes for the driver: without the slice of channels in interleaved layouts."""
        return self.axes - 1 if self.interleave else self.axes

    @property
    def pointer(self) -> int | None:
        """Where the array is on the GPU; None for one in the host's memory."""
        return self.layout.pointer

    @property
    def bits(self) -> int:
        """Bits of an element: 4 or 6 for the packed types, whose array has bytes."""
        packing = self._packing
        return 8 * self.layout.itemsize if packing is None else packing.bits

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis; of the packed types more than the array's bytes.

        >>> tma = tensor_map(np.zeros((8, 64), dtype=np.uint8), (8, 128), data_type="16U4_ALIGN8B")
        >>> tma.shape, tma.expect_tx
        ((8, 128), 512)
        """
        *outer, last = self.layout.shape
        return (*outer, last * 8 * self.layout.itemsize // self.bits)

    @property
    def dimensions(self) -> tuple[int, ...]:
        """globalDim: elements along each axis, the contiguous one first."""
        return self.shape[: self.rank][::-1]

    @property
    def strides(self) -> tuple[int, ...]:
        """globalStrides: bytes from one element to the next along each axis but the first."""
        return self.layout.strides[: self.rank - 1][::-1]

    @property
    def box_dimensions(self) -> tuple[int, ...]:
        """boxDim: elements of the box along each axis, the contiguous one first."""
        return self.box[: self.rank][::-1]

    @property
    def element_stride_dimensions(self) -> tuple[int, ...]:
        """elementStrides: steps from one copied element to the next, the contiguous axis first."""
        return self.element_strides[: self.rank][::-1]

    @property
    def global_alignment(self) -> int:
        """Bytes that the array's address is a multiple of: 16, or 32 with gaps or slices of 32 bytes."""
        return 32 if self._has_gaps or self.interleave == 32 else 16

    def supports(self, target: str) -> bool:
        """Whether a target copies such a box: sm_90 and later, or sm_100 and later for the newer features.

        These are elements of 4 and 6 bits, which sm_120 and sm_121 do not load, and swizzles of larger
        chunks.

        >>> tensor_map(np.zeros((8, 32), dtype=np.float32), (8, 32), "128B_ATOM_32B").supports("sm_90a")
        False
        """
        number = chip_number(check_target(target))
        if self._packing is not None:
            return 100 <= number < 120
        return number >= (90 if self._pattern.atom == 16 else 100)

    @property
    def _packing(self) -> _Packing | None:
        return _PACKED.get(self.data_type)

    @property
    def _has_gaps(self) -> bool:
        packing = self._packing
        return packing is not None and packing.room > packing.data

    @property
    def _pattern(self) -> TmaSwizzle:
        return TMA_SWIZZLES[self.swizzle_mode]

    # -- the box in shared memory ----------------------------------------------------------------------------

    @property
    def copied(self) -> tuple[int, ...]:
        """Elements that arrive along each axis: fewer than in the box if the element stride is not 1."""
        return tuple(-(-size // step) for size, step in zip(self.box, self.element_strides, strict=True))

    @property
    def expect_tx(self) -> int:
        """Bytes that one copy transfers, even beyond the array's edge: what the mbarrier waits for.

        Gaps of the packed types do not count (DeepGEMM's FP4 kernels wait for half the bytes of e4m3).
        """
        return math.prod(self.copied) * self.bits // 8

    @property
    def _row_bytes(self) -> int:
        """Bytes of a row of the box in shared memory, gaps included."""
        packing = self._packing
        if packing is None:
            return self.copied[-1] * self.layout.itemsize
        return -(-self.copied[-1] // _PER_CHUNK) * packing.room

    @property
    def pitch(self) -> int:
        """Bytes from one row of the box to the next: with a swizzle its width, however short the row is.

        Slices of interleaved layouts follow each other without gaps.
        """
        return self.interleave or self.swizzle or self._row_bytes

    @property
    def size(self) -> int:
        """Bytes of shared memory that the box takes, including what short rows leave unused."""
        size = math.prod(self.copied[:-1]) * self.pitch
        return -(-size // self.swizzle) * self.swizzle if self.swizzle else size

    @property
    def alignment(self) -> int:
        """If the box's address is a multiple of this, the swizzle pattern starts with the box."""
        return max(self._pattern.period, _BOX_ALIGNMENT)

    def _along_row(self, elements: NDArray[np.int64]) -> NDArray[np.int64]:
        """The byte of a row, before the swizzle, in which each of these elements begins."""
        packing = self._packing
        if packing is None:
            return elements * self.layout.itemsize
        return elements // _PER_CHUNK * packing.room + elements % _PER_CHUNK * packing.bits // 8

    def offset(self, *index: int | NDArray[Any], address: int = 0) -> NDArray[np.int64]:
        """Bytes from the start of the box to where TMA puts the element at this index of the box.

        `address` is where the box is in shared memory, on which the swizzle depends. For an element narrower
        than a byte this is the byte with its lowest bit.

        >>> tma = tensor_map(np.zeros((8, 32), dtype=np.float32), box=(8, 8), swizzle=32)
        >>> tma.offset(np.arange(8), 0)   # rows of 32 bytes; from the fifth on their halves are swapped
        array([  0,  32,  64,  96, 144, 176, 208, 240])
        """
        if len(index) != len(self.copied):
            raise PtxlabError(f"index {quoted(index)}: the box has {len(self.copied)} axes")
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
        return self._placed(row * self.pitch + self._along_row(along), address)

    def _placed(self, plain: NDArray[np.int64], address: int) -> NDArray[np.int64]:
        """Offsets from the start of the box, swizzled."""
        return np.asarray(self._pattern(plain + address) - address)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """The offset of every element of the box, for an address that is a multiple of `alignment`."""
        offsets = self.offset(*np.ogrid[tuple(slice(size) for size in self.copied)])
        offsets.flags.writeable = False  # it is cached
        return offsets

    def load(self, *start: int, address: int = 0) -> NDArray[np.uint8]:
        """The bytes that TMA writes for the box that starts at this element of the array.

        Elements outside the array arrive as 0 or, with ``fill="nan"``, as 0x7FF7 in every 16 bits, a NaN of
        each type (measured on an H200; the manual does not say). `start` may be negative. The result, [size],
        begins at the box's address; bytes that TMA does not write, between short rows and in gaps, are 0.

        >>> tma = tensor_map(np.arange(64, dtype=np.uint8).reshape(2, 32), box=(2, 32), swizzle=32)
        >>> tma.load(1, 0)[[0, 31, 32]]
        array([32, 63,  0], dtype=uint8)
        """
        return self.image(*start, address=address)[0]

    def image(self, *start: int, address: int = 0) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """What `load` gives, and which of the bytes TMA writes.

        >>> tma = tensor_map(np.ones((2, 64), dtype=np.uint8), box=(2, 16), swizzle=32)
        >>> content, written = tma.image(0, 0)
        >>> int(written.sum()), tma.expect_tx, tma.size
        (32, 32, 64)
        """
        starts = self.check_start(start)
        address = self.as_address(address)
        if self.pointer is not None:
            raise PtxlabError(
                "array: it is on the GPU; gpu.run_tensor_map copies boxes of it there, and a tensor_map of a "
                "NumPy array shows them here"
            )
        content = self._filled(*self._gathered(starts))
        # Along the last axis, pieces of whole bytes: an element, or 16 of those narrower than a byte.
        packing = self._packing
        piece, room = self.layout.itemsize, self.layout.itemsize
        if packing is not None:
            piece, room = packing.data, packing.room
        rows = np.arange(math.prod(self.copied[:-1]))[:, None]
        pieces = content.size // len(rows) // piece
        plain = rows * self.pitch + (np.arange(pieces)[:, None] * room + np.arange(piece)).ravel()
        places = self._placed(plain, address)
        memory = np.zeros(self.size, dtype=np.uint8)
        written = np.zeros(self.size, dtype=np.bool_)
        memory[places] = content.reshape(places.shape)
        written[places] = True
        return memory, written

    def _gathered(self, starts: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The elements of a box (bytes, if elements are packed), and which lie inside the array."""
        packing = self._packing
        inside = np.ones((), dtype=np.bool_)
        indices = []
        lines = zip(starts, self.copied, self.element_strides, self.layout.shape, strict=True)
        for axis, (first, count, step, length) in enumerate(lines):
            positions = first + np.arange(count) * step
            if packing is not None and axis == self.axes - 1:
                bytes_before = positions[::_PER_CHUNK, None] * packing.bits // 8
                positions = (bytes_before + np.arange(packing.data)).ravel()
            indices.append(np.clip(positions, 0, length - 1))
            inside = inside[..., None] & ((positions >= 0) & (positions < length))
        return self.array[np.ix_(*indices)], inside

    def _filled(self, elements: NDArray[Any], inside: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """The bytes [elements, itemsize] that arrive; elements outside the array are filled."""
        content = (
            converted(self.data_type, np.ascontiguousarray(elements))
            .view(np.uint8)
            .reshape(-1, self.layout.itemsize)
        )
        outside = np.zeros(self.layout.itemsize, dtype=np.uint8)
        if self.fill == "nan":
            outside = np.resize(np.array([_NAN], dtype="<u2").view(np.uint8), self.layout.itemsize)
        return np.where(inside.reshape(-1, 1), content, outside)

    @property
    def start_unit(self) -> int:
        """A box starts at a multiple of this many elements of the last axis: 16 bytes, or 128 elements."""
        if self.interleave:
            return 1 << 31  # slices are copied from 0
        return _PADDED_ROW if self._has_gaps else 128 // self.bits

    def check_start(self, start: tuple[object, ...]) -> tuple[int, ...]:
        """The start of a box as whole numbers; an error says where boxes may begin."""
        if not is_a(start, tuple, list) or len(start) != self.axes:
            raise PtxlabError(f"start {quoted(start)}: the array has {self.axes} axes")
        starts = tuple(as_int(first, f"start of axis {axis}") for axis, first in enumerate(start))
        for axis, first in enumerate(starts):
            if not -(1 << 31) <= first < 1 << 31:
                raise PtxlabError(f"start {quoted(first)} of axis {axis}: coordinates have 32 bits")
        unit = self.start_unit
        if self.interleave and starts[-1]:
            raise PtxlabError(
                f"start {starts[-1]} of axis {self.axes - 1}: slices of {self.interleave} bytes are copied "
                "whole, from 0"
            )
        if starts[-1] % unit:
            if self._has_gaps:
                raise PtxlabError(
                    f"start {starts[-1]} of axis {self.axes - 1}: boxes of {self.data_type} begin at "
                    f"multiples of {unit} elements along the last axis"
                )
            raise PtxlabError(
                f"start {starts[-1]} of axis {self.axes - 1}: along the last axis a box begins at a multiple "
                f"of 16 bytes, {unit} elements of {self.layout.type_name}; an H200 stops at others"
            )
        return starts

    def as_address(self, address: object) -> int:
        """The address of a box as a number; an error says where TMA writes."""
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
        if self.axes != 2:
            raise PtxlabError(f"a box of {self.axes} axes: a tile has two")
        if self._pattern.atom != 16 or self._packing is not None:
            raise PtxlabError(
                f"swizzle={quoted(self.swizzle_mode)}, {self.data_type}: wgmma reads elements of whole bytes "
                "in swizzled chunks of 16"
            )
        lines, inner = self.copied
        width = inner * self.layout.itemsize
        if width != max(self.swizzle, 16) and not (self.swizzle and major == "K"):
            raise PtxlabError(
                f"rows of {width} bytes: wgmma reads a box whose rows are as wide as the swizzle, "
                f"{max(self.swizzle, 16)} bytes"
            )
        if major == "K":
            return Tile(self.bits, lines, inner, "K", self.swizzle, "MN")
        return Tile(self.bits, inner, lines, "MN", self.swizzle, "K")


@dataclass(frozen=True)
class MapPointer:
    """A tensor map in global memory, passed to the kernel by its address."""

    tensor: TensorMap


def places_of(tensor: TensorMap, plain: NDArray[np.int64], address: int) -> NDArray[np.int64]:
    """Where bytes of a box at `address` arrive that would have these offsets without its swizzle."""
    return tensor._placed(plain, address)


def converted(data_type: str, elements: NDArray[Any]) -> NDArray[Any]:
    """Values as TMA converts them.

    An H200 rounds TFLOAT32 to nearest even, and a NaN becomes 0x7FFFE000. FTZ has no effect on loads:
    subnormals arrive unchanged.
    """
    if not data_type.startswith("TFLOAT32"):
        return elements
    codes = elements.view(np.uint32)
    rounded = convert(codes, dtype("f32"), dtype("tf32"))
    return np.where(np.isnan(codes.view(np.float32)), np.uint32(_TF32_NAN), rounded)


def tensor_map(
    array: object,
    box: tuple[int, ...],
    swizzle: int | str = 0,
    *,
    element_strides: tuple[int, ...] | None = None,
    fill: str = "zero",
    l2_promotion: int = 0,
    data_type: str | None = None,
    interleave: int = 0,
) -> TensorMap:
    """A tensor map of a row-major array; `box` is in the array's order of axes. See `TensorMap`.

    The array is NumPy's, or one on a GPU (CuPy, torch: whatever has `__cuda_array_interface__`), of which
    shape, strides, type and address are taken and nothing is copied.

    `swizzle` is 0, 32, 64 or 128 bytes, or "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B" or "128B_ATOM_64B", which
    sm_100 has. `element_strides` are the steps between copied elements along each axis; `fill` is what
    arrives from outside the array, "zero" or, of floats, "nan"; `l2_promotion` is 0, 64, 128 or 256 bytes,
    and only changes the speed.

    `data_type` follows from the array, or is another of the same size in the driver's words: "FLOAT32_FTZ",
    "TFLOAT32" (rounded on the way) or "TFLOAT32_FTZ" of float32; "16U4_ALIGN8B", "16U4_ALIGN16B" or
    "16U6_ALIGN16B" of bytes in which elements of 4 or 6 bits are packed, and then the last number of `box`
    counts elements.

    With `interleave`, 16 or 32 bytes, the last axis of the array is a slice of so many bytes of channels, the
    one before it runs along a row of pixels, and the second one counts the slices: NC/8HWC8 of float16 is an
    array (N, C / 8, H, W, 8). A copy takes whole slices, and of one number: box=(1, 1, 4, 8, 8).

    >>> tensor_map(np.zeros((64, 100), dtype=np.float16), box=(64, 32))
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: array: 200 bytes from one element of axis 0 to the next; TMA takes multiples \
of 16 bytes, so pad axis 1 to a multiple of 8 elements
    """
    layout = gpu_layout(array)
    if layout is None:
        values = as_array(array, "array")
        layout = ArrayLayout(values.shape, values.strides, values.itemsize, values.dtype.name)
        array = values
    driver_type = _as_data_type(data_type, layout)
    slices = _as_interleave(interleave, driver_type)
    _check_array(layout, driver_type, slices)
    rank = len(layout.shape)
    sizes = _as_sizes(box, "box", rank, _MAX_BOX)
    steps = _as_steps(element_strides, rank)
    mode = _as_swizzle(swizzle, driver_type)
    if slices:
        _check_slices(sizes, steps, layout, mode, slices)
    else:
        _check_row(sizes, layout, driver_type, mode)
    _check_fill(fill, driver_type, layout)
    if as_int(l2_promotion, "l2_promotion") not in _PROMOTIONS:
        raise PtxlabError(f"l2_promotion={quoted(l2_promotion)}: there are {listing(_PROMOTIONS)}")
    width = TMA_SWIZZLES[mode].width
    tensor = TensorMap(
        array,
        sizes,
        swizzle=width,
        element_strides=steps,
        fill=fill,
        l2_promotion=int(l2_promotion),
        data_type=driver_type,
        swizzle_mode=mode,
        interleave=slices,
        layout=layout,
    )
    if tensor.expect_tx > _MAX_BYTES:
        raise PtxlabError(
            f"box={quoted(sizes)}: one copy of it has {tensor.expect_tx} bytes; TMA takes at most "
            f"{_MAX_BYTES}"
        )
    return tensor


def _as_interleave(interleave: object, driver_type: str) -> int:
    """Bytes of a slice of channels; 0 for none."""
    slices = as_int(interleave, "interleave")
    if slices not in INTERLEAVES or (slices and driver_type in _PACKED):
        raise PtxlabError(
            f"interleave={quoted(interleave)} of {driver_type}: there are {listing(INTERLEAVES)}, of "
            "elements of whole bytes"
        )
    return slices


def _as_steps(element_strides: object, rank: int) -> tuple[int, ...]:
    """The element stride of each axis, 1 by default."""
    if element_strides is None:
        return (1,) * rank
    steps = _as_sizes(element_strides, "element_strides", rank, _MAX_ELEMENT_STRIDE)
    if steps[-1] != 1:
        raise PtxlabError(
            f"element_strides={quoted(element_strides)}: TMA copies every element of the last axis"
        )
    return steps


def _check_fill(fill: object, driver_type: str, layout: ArrayLayout) -> None:
    if not is_name(fill, FILLS):
        raise PtxlabError(f"fill={quoted(fill)}: there are {listing(FILLS)}")
    if fill == "nan" and ("FLOAT" not in driver_type or driver_type in _PACKED):
        raise PtxlabError(
            f"fill='nan' of {layout.type_name}: TMA fills float16, bfloat16, float32, float64 with NaN"
        )


def _as_data_type(data_type: object, layout: ArrayLayout) -> str:
    """The driver's name of the type: that of the array, or another of the same size."""
    array_type = _DATA_TYPES.get(layout.type_name)
    if data_type is None:
        if array_type is None:
            raise PtxlabError(f"array of {layout.type_name}: TMA copies {listing(_DATA_TYPES, 20)}")
        return array_type
    names = (*dict.fromkeys(_DATA_TYPES.values()), *_OTHER_TYPES, *_PACKED)
    if not is_name(data_type, names):
        raise PtxlabError(f"data_type={quoted(data_type)}: there are {listing(names, 20)}")
    name = str(data_type)
    size = as_stored(name, (_PER_CHUNK,))[0].itemsize
    if size != layout.itemsize and name in _PACKED:
        raise PtxlabError(
            f"data_type='{name}' of {layout.type_name}: elements of 4 and 6 bits are packed into bytes, "
            "an array of uint8"
        )
    if size != layout.itemsize:
        raise PtxlabError(
            f"data_type='{name}' of {layout.type_name}: it has {size} bytes an element, not {layout.itemsize}"
        )
    return name


def as_stored(data_type: str, shape: tuple[int, ...]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """NumPy's type and the shape of an array with so many elements of one of the driver's types.

    >>> as_stored("TFLOAT32_FTZ", (4, 64)), as_stored("16U4_ALIGN8B", (4, 64))
    ((dtype('float32'), (4, 64)), (dtype('uint8'), (4, 32)))
    """
    packing = _PACKED.get(data_type)
    if packing is not None:
        return np.dtype(np.uint8), (*shape[:-1], shape[-1] * packing.bits // 8)
    plain = data_type.removesuffix("_FTZ").replace("TFLOAT", "FLOAT").lower()
    return np.dtype(dtype("bf16").numpy_type if plain == "bfloat16" else plain), shape


def _as_swizzle(swizzle: object, driver_type: str) -> int | str:
    if isinstance(swizzle, str):
        if not is_name(swizzle, [name for name in TMA_SWIZZLES if isinstance(name, str)]):
            raise PtxlabError(f"swizzle={quoted(swizzle)}: there are {listing(TMA_SWIZZLES)}")
        mode: int | str = str(swizzle)
    else:
        mode = as_int(swizzle, "swizzle")
        if mode not in TMA_SWIZZLES:
            raise PtxlabError(f"swizzle of {quoted(swizzle)} bytes: there are {listing(TMA_SWIZZLES)}")
    allowed = {"16U4_ALIGN16B": (0, 128, "128B_ATOM_32B"), "16U6_ALIGN16B": (0, 128, "128B_ATOM_32B")}
    if driver_type in allowed and mode not in allowed[driver_type]:
        raise PtxlabError(
            f"swizzle={quoted(swizzle)} of {driver_type}: TMA loads it with {listing(allowed[driver_type])}"
        )
    return mode


def _check_row(sizes: tuple[int, ...], layout: ArrayLayout, driver_type: str, mode: int | str) -> None:
    """The rules about the last axis of the box."""
    packing = _PACKED.get(driver_type)
    if packing is not None and packing.room > packing.data:
        if sizes[-1] != _PADDED_ROW:
            raise PtxlabError(
                f"box={quoted(sizes)}: a row of {driver_type} has {_PADDED_ROW} elements, found {sizes[-1]}"
            )
        return
    bits = 8 * layout.itemsize if packing is None else packing.bits
    if sizes[-1] * bits % 128:
        row_text = f"{sizes[-1] * bits / 8:g} bytes of {layout.type_name if packing is None else driver_type}"
        raise PtxlabError(f"box={quoted(sizes)}: its rows are {row_text}; TMA takes multiples of 16")
    inner, width = sizes[-1] * bits // 8, TMA_SWIZZLES[mode].width
    if 0 < width < inner:
        raise PtxlabError(
            f"box={quoted(sizes)}: its rows are {inner} bytes, wider than the swizzle of {width} "
            f"bytes; take {8 * width // bits} elements and several copies, or swizzle=0"
        )


def _check_slices(
    sizes: tuple[int, ...], steps: tuple[int, ...], layout: ArrayLayout, mode: int | str, slices: int
) -> None:
    """The rules about a box of slices; of several slice numbers an H200 copies only the first."""
    if sizes[-1] != layout.shape[-1] or sizes[1] != 1 or steps[1] != 1:
        raise PtxlabError(
            f"box={quoted(sizes)}: a copy takes whole slices, {layout.shape[-1]} elements of axis "
            f"{len(sizes) - 1}, and of one number, 1 of axis 1"
        )
    if sizes[-2] * layout.itemsize % 16:
        raise PtxlabError(
            f"box={quoted(sizes)}: the driver takes multiples of {16 // layout.itemsize} slices of axis "
            f"{len(sizes) - 2}"
        )
    if slices == 32 and mode != 32:
        raise PtxlabError(f"swizzle={quoted(mode)}: slices of 32 bytes go with a swizzle of 32 bytes")


def _check_array(layout: ArrayLayout, driver_type: str, slices: int) -> None:
    """The rules of cuTensorMapEncodeTiled about the tensor in global memory."""
    shape = layout.shape
    fewest, most = (_FEWEST_INTERLEAVED_AXES + 1, MAX_AXES + 1) if slices else (1, MAX_AXES)
    if not fewest <= len(shape) <= most:
        raise PtxlabError(f"array of {len(shape)} axes: TMA takes {fewest} to {most}")
    if slices and shape[-1] * layout.itemsize != slices:
        raise PtxlabError(
            f"array of shape {shape}: its last axis has {shape[-1] * layout.itemsize} bytes, a slice {slices}"
        )
    if slices and layout.strides[-2] != slices:
        raise PtxlabError(
            f"array: {layout.strides[-2]} bytes from one slice of axis {len(shape) - 2} to the next; they "
            "follow each other without gaps"
        )
    if 0 in shape:
        raise PtxlabError(f"array of shape {shape}: TMA takes no empty one")
    packing = _PACKED.get(driver_type)
    last = shape[-1] if packing is None else shape[-1] * 8 // packing.bits
    if max(*shape, last) > 1 << 32:
        raise PtxlabError(f"array of shape {shape}: an axis has at most 2^32 elements")
    if layout.strides[-1] != layout.itemsize and shape[-1] > 1:
        raise PtxlabError("array: its last axis is not contiguous; TMA takes row-major arrays")
    unit = max(16, slices)
    if packing is not None and packing.room > packing.data:
        unit = 32
        row = _PADDED_ROW * packing.bits // 8
        if shape[-1] % row:
            raise PtxlabError(
                f"array of shape {shape}: rows of {driver_type} are multiples of {_PADDED_ROW} elements, "
                f"{row} bytes"
            )
    for axis, stride in enumerate(layout.strides[:-1]):
        if stride % unit:
            elements = unit // math.gcd(layout.itemsize, unit)
            raise PtxlabError(
                f"array: {stride} bytes from one element of axis {axis} to the next; TMA takes multiples of "
                f"{unit} bytes, so pad axis {len(shape) - 1} to a multiple of {elements} elements"
            )
        if not 0 <= stride < 1 << 40:
            raise PtxlabError(
                f"array: {stride} bytes from one element of axis {axis} to the next; TMA takes 0 to 2^40"
            )
    if layout.pointer is not None and layout.pointer % unit:
        raise PtxlabError(f"array at address {layout.pointer}: TMA takes multiples of {unit} bytes")


def _as_sizes(values: object, what: str, count: int, most: int) -> tuple[int, ...]:
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.size <= 2 * MAX_AXES:
        values = values.tolist()
    if not isinstance(values, tuple | list) or len(values) != count:
        axes = "1 axis" if count == 1 else f"{count} axes"
        raise PtxlabError(
            f"{what}={quoted(values)}: the array has {axes}, so it takes {counted(count, 'number')}"
        )
    sizes = tuple(as_int(value, what) for value in values)
    if min(sizes) < 1 or max(sizes) > most:
        raise PtxlabError(f"{what}={quoted(sizes)}: TMA takes 1 to {most} along each axis")
    return sizes
