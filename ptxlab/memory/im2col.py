"""Tensor maps of convolutions: the arguments of cuTensorMapEncodeIm2col, and the pixels that TMA gathers.

CUDA driver API, "Tensor Map Object Management"; PTX ISA, "Im2col mode". A copy takes a number of
pixels, row by row through a bounding box, and a number of channels of each. The box has the positions of the
filter's corner; the instruction's offsets choose an element of the filter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_array, as_int, is_a
from ..errors import PtxlabError, quoted
from .array_interface import gpu_layout
from .tensor_maps import TensorMap, tensor_map

_FEWEST_AXES, _MAX_AXES = 3, 5
_MAX_PIXELS, _MAX_CHANNELS = 1024, 256
#: Bits of a corner of the bounding box, with its sign, and of an offset, by axes of the array.
_CORNER_BITS = {3: 16, 4: 8, 5: 5}


@dataclass(frozen=True, eq=False)
class Im2colMap(TensorMap):
    """A tensor map whose copies are columns of pixels; `im2col_map` makes one.

    `box` has the pixels of a copy and the channels of each. `lower` and `upper` are the corners of the
    bounding box, in the array's order of axes without the first and the last, counted from the first and the
    last pixel. The start of `load` and `image` has the offsets first, then the first pixel and channel.

    >>> picture = np.arange(6 * 6 * 16, dtype=np.uint8).reshape(1, 6, 6, 16)
    >>> column = im2col_map(picture, 4, 16, lower=(-1, -1), upper=(-1, -1))   # a filter of 3 by 3, padded
    >>> content, written = column.image(1, 1, 0, -1, -1, 0)       # its middle, from the first corner on
    >>> content.reshape(4, 16)[:, 0].tolist()
    [0, 16, 32, 48]
    >>> im2col_map(np.zeros((1, 8, 8, 16), np.float16), 8, 16, (0, 0), (0, 0)).supports("sm_80")
    False
    """

    lower: tuple[int, ...] = ()
    upper: tuple[int, ...] = ()

    @property
    def copied(self) -> tuple[int, ...]:
        """Pixels and channels that arrive."""
        return self.box

    def check_start(self, start: tuple[object, ...]) -> tuple[int, ...]:
        """Offsets, then the coordinates of the first pixel and channel, as numbers, or an error."""
        if not is_a(start, tuple, list) or len(start) != self.axes + len(self.lower):
            raise PtxlabError(
                f"start {quoted(start)}: it has {len(self.lower)} offsets and {self.axes} coordinates, in "
                "the array's order of axes"
            )
        offsets = [as_int(number, "offset") for number in start[: len(self.lower)]]
        most = (1 << _CORNER_BITS[self.axes]) - 1
        if any(not 0 <= offset <= most for offset in offsets):
            raise PtxlabError(
                f"offsets {quoted(tuple(offsets))}: an array of {self.axes} axes has 0 to {most}"
            )
        first = TensorMap.check_start(self, tuple(start[len(self.lower) :]))
        for axis, (at, low, high) in enumerate(zip(first[1:-1], self.lower, self._last, strict=True), 1):
            if not low <= at <= high:
                raise PtxlabError(
                    f"start {at} of axis {axis}: the bounding box has {low} to {high}; others are illegal "
                    "instructions on an H200"
                )
        return (*offsets, *first)

    @property
    def _last(self) -> tuple[int, ...]:
        """The last pixels of the bounding box."""
        return tuple(size - 1 + corner for size, corner in zip(self.shape[1:-1], self.upper, strict=True))

    def pixels(self, start: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Indices of the array's pixels [pixels, axes - 1] of a copy, and which lie inside of it.

        `start` is as `load` takes it.
        """
        spatial = len(self.lower)
        start = self.check_start(start)
        offsets, first = start[:spatial], start[spatial:-1]
        steps = self.element_strides[1:-1]
        last = self._last
        position, indices = list(first), []
        for _ in range(self.box[0]):
            shifted = (pixel + offset for pixel, offset in zip(position[1:], offsets, strict=True))
            indices.append([position[0], *shifted])
            for axis in reversed(range(spatial)):
                position[1 + axis] += steps[axis]
                if position[1 + axis] <= last[axis]:
                    break
                position[1 + axis] = self.lower[axis]
            else:
                position[0] += 1
        places = np.array(indices, dtype=np.int64)
        inside = (places >= 0) & (places < np.array(self.shape[:-1]))
        return places, np.asarray(inside.all(axis=1))

    def _gathered(self, starts: tuple[int, ...]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The channels of a column of pixels, and which lie inside of the array."""
        places, inside = self.pixels(starts)
        channels = starts[-1] + np.arange(self.box[1])
        within = inside[:, None] & (channels >= 0) & (channels < self.shape[-1])
        indices = [
            np.clip(axis, 0, size - 1)[:, None] for axis, size in zip(places.T, self.shape, strict=False)
        ]
        return self.array[(*indices, np.clip(channels, 0, self.shape[-1] - 1)[None])], within

    def inside(self, start: tuple[int, ...]) -> int:
        """Elements of a copy that lie inside of the array."""
        _, inside = self.pixels(start)
        channels = start[-1] + np.arange(self.box[1])
        return int(inside.sum()) * int(((channels >= 0) & (channels < self.shape[-1])).sum())


def im2col_map(
    array: object,
    pixels: int,
    channels: int,
    lower: tuple[int, ...],
    upper: tuple[int, ...],
    swizzle: int | str = 0,
    *,
    element_strides: tuple[int, ...] | None = None,
    fill: str = "zero",
    l2_promotion: int = 0,
    data_type: str | None = None,
) -> Im2colMap:
    """A tensor map of the pictures of a convolution, an array (N, H, W, C), (N, W, C) or (N, D, H, W, C).

    A copy takes `pixels` pixels, row by row through the bounding box, and of each `channels` channels. The
    box goes from `lower` to `upper`, counted from the first and from the last pixel of each spatial axis:
    for a filter of 3 by 3 with padding 1, (-1, -1) and (-1, -1). `element_strides` are the convolution's; the
    rest is as `tensor_map` takes it.

    >>> pictures = np.zeros((8, 14, 14, 64), dtype=np.float16)
    >>> column = im2col_map(pictures, pixels=128, channels=64, lower=(-1, -1), upper=(-1, -1), swizzle=128)
    >>> column.expect_tx, column.copied
    (16384, (128, 64))
    """
    count, depth = as_int(pixels, "pixels"), as_int(channels, "channels")
    if not 1 <= count <= _MAX_PIXELS:
        raise PtxlabError(f"pixels={quoted(count)}: TMA takes 1 to {_MAX_PIXELS}")
    if not 1 <= depth <= _MAX_CHANNELS:
        raise PtxlabError(f"channels={quoted(depth)}: TMA takes 1 to {_MAX_CHANNELS}")
    layout = gpu_layout(array)
    axes = as_array(array, "array").ndim if layout is None else len(layout.shape)
    if not _FEWEST_AXES <= axes <= _MAX_AXES:
        raise PtxlabError(f"array of {axes} axes: im2col takes {_FEWEST_AXES} to {_MAX_AXES}")
    plain = tensor_map(
        array,
        (*(1,) * (axes - 1), depth),
        swizzle,
        element_strides=element_strides,
        fill=fill,
        l2_promotion=l2_promotion,
        data_type=data_type,
    )
    corners = [_as_corner(corner, name, axes) for corner, name in ((lower, "lower"), (upper, "upper"))]
    first, last = corners
    for axis, (size, low, high) in enumerate(zip(plain.shape[1:-1], first, last, strict=True), 1):
        if size - 1 + high < low:
            raise PtxlabError(f"lower={first}, upper={last}: the bounding box has no pixel along axis {axis}")
    return Im2colMap(
        plain.array, (count, depth), plain.swizzle, plain.element_strides, plain.fill, plain.l2_promotion,
        plain.data_type, plain.swizzle_mode, plain.interleave, plain.layout, first, last,
    )  # fmt: skip


def _as_corner(corner: object, name: str, axes: int) -> tuple[int, ...]:
    if not isinstance(corner, tuple | list) or len(corner) != axes - 2:
        raise PtxlabError(f"{name}={quoted(corner)}: it takes {axes - 2} numbers, one for each spatial axis")
    numbers = tuple(as_int(number, name) for number in corner)
    most = 1 << _CORNER_BITS[axes] - 1
    if any(not -most <= number < most for number in numbers):
        raise PtxlabError(
            f"{name}={quoted(numbers)}: an array of {axes} axes has corners of {-most} to {most - 1}"
        )
    return numbers
