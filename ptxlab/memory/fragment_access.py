"""How a fragment is loaded from shared memory, or stored there: the places of its elements, and the accesses.

A matrix lies in lines (rows or columns) that are `pitch` bytes apart, swizzled or not; the registers of
every lane follow from the operand's layout. From both follow the row addresses of ldmatrix and stmatrix
("Warp-level matrix load instruction: ldmatrix"), or the address and width of every ld.shared and st.shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, listing, quoted
from ..isa.operand import Operand
from .banks import BANKS, WIDTHS, Conflicts, conflicts, row_conflicts
from .descriptors import Descriptor
from .swizzle import SWIZZLES, SharedLayout, swizzled
from .tile import Tile

#: Which index is contiguous: the columns of a row, or the rows of a column.
Major = Literal["row", "column"]

_WARP = 32
_LINE = 4 * BANKS  # bytes of all banks
_WORD = 4
_MAX_BYTES = 1 << 18


@dataclass(frozen=True, eq=False)
class Placement:
    """Where every element of a matrix is in shared memory: its byte, and its lowest bit there.

    `bits` are those of an element in memory; `size` counts bytes, whole lines of 128.

    >>> import ptxlab
    >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").a
    >>> place_lines(a, "row", pitch=128, swizzle=128).offsets[:3, 0].tolist()   # one chunk further each
    [0, 144, 288]
    """

    offsets: NDArray[np.int64]
    low: NDArray[np.int64]
    bits: int

    @cached_property
    def size(self) -> int:
        """Bytes of shared memory, whole lines of 128."""
        end = int(self.offsets.max()) + max(self.bits // 8, 1)
        return -(-end // _LINE) * _LINE

    def store(self, codes: NDArray[Any]) -> NDArray[np.uint8]:
        """The bytes of memory that hold these codes; 0 where no element is."""
        memory = np.zeros(self.size, dtype=np.uint8)
        numbers = codes.astype(np.uint64) << self.low.astype(np.uint64)
        for byte in range(max(self.bits // 8, 1)):
            part = (numbers >> np.uint64(8 * byte) & np.uint64(0xFF)).astype(np.uint8)
            np.bitwise_or.at(memory, self.offsets + byte, part)
        return memory

    def load(self, memory: NDArray[np.uint8], element_bits: int) -> NDArray[np.uint64]:
        """The codes of `element_bits` bits that these bytes hold: the inverse of `store`."""
        numbers = np.zeros(self.offsets.shape, dtype=np.uint64)
        for byte in range(max(self.bits // 8, 1)):
            numbers |= memory[self.offsets + byte].astype(np.uint64) << np.uint64(8 * byte)
        mask = np.uint64((1 << element_bits) - 1)
        return np.asarray(numbers >> self.low.astype(np.uint64) & mask)


def place_lines(operand: Operand, major: Major, pitch: int, swizzle: int = 0) -> Placement:
    """A matrix whose rows (columns, if column-major) are `pitch` bytes apart."""
    rows, columns = (np.arange(size) for size in operand.shape)
    line, along = (rows[:, None], columns) if major == "row" else (columns, rows[:, None])
    length = operand.shape[1 if major == "row" else 0] * operand.width // 8
    count = operand.shape[0 if major == "row" else 1]
    if swizzle not in SWIZZLES:
        raise PtxlabError(f"swizzle of {quoted(swizzle)} bytes: there are {listing(sorted(SWIZZLES))}")
    if not length <= pitch or count * pitch > _MAX_BYTES:
        raise PtxlabError(
            f"pitch={quoted(pitch)}: a {major} of {operand.name} takes {length} bytes, and {count} of them "
            f"at most {_MAX_BYTES} bytes of shared memory"
        )
    bits = along * operand.width
    offsets = swizzled(line * pitch + bits // 8, swizzle)
    low = np.broadcast_to(bits % 8 + operand.padding, offsets.shape)
    return Placement(np.asarray(offsets, dtype=np.int64), np.asarray(low, dtype=np.int64), operand.width)


def place_layout(operand: Operand, layout: SharedLayout) -> Placement:
    """A matrix in a layout of CuTe: the first rows and columns of its two modes.

    >>> import ptxlab
    >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").a
    >>> tile = SharedLayout.read("Swizzle<3,3,3> o (64,64):(64,1)", bits=16)
    >>> place_layout(a, tile).offsets[:3, 0].tolist()
    [0, 144, 288]
    """
    sizes = layout.layout.offsets().shape
    text = f"layout {quoted(str(layout.layout))}"
    if len(sizes) != 2 or any(size < needed for size, needed in zip(sizes, operand.shape, strict=True)):
        raise PtxlabError(
            f"{text}: {operand.name} has {operand.shape[0]} rows and {operand.shape[1]} columns, two modes"
        )
    rows, columns = np.ogrid[: operand.shape[0], : operand.shape[1]]
    elements = layout.layout.offsets()[rows, columns]
    if elements.min() < 0 or elements.max() * operand.width // 8 >= _MAX_BYTES:
        raise PtxlabError(f"{text}: elements lie outside of {_MAX_BYTES} bytes of shared memory")
    if len(np.unique(elements)) < elements.size:
        raise PtxlabError(f"{text}: several elements of {operand.name} lie in the same place")
    low = elements * operand.width % 8 + operand.padding
    return Placement(layout.address(rows, columns), low, operand.width)


def place_tile(operand: Operand, tile: Tile, descriptor: Descriptor | None = None) -> Placement:
    """A matrix that wgmma or tcgen05 reads from shared memory: a tile at 0, or at a descriptor's address."""
    offsets = _tile_offsets(tile, descriptor)
    low = np.broadcast_to(np.arange(tile.k) * tile.bits % 8, offsets.shape)
    if operand.axes[0] == "m":
        return Placement(offsets, low, tile.bits)
    return Placement(offsets.T, low.T, tile.bits)


def _tile_offsets(tile: Tile, descriptor: Descriptor | None) -> NDArray[np.int64]:
    if descriptor is None:
        return tile.offsets
    rows, depth = np.arange(tile.rows)[:, None], np.arange(tile.k)
    return descriptor.addresses(rows, depth, bits=tile.bits, major=tile.major)


@dataclass(frozen=True, eq=False)
class FragmentAccess:
    """One warp-wide access: the registers of a warp that it loads or stores, and its bank conflicts.

    `first` and `count` are the elements of each lane; `addresses` are those that lanes supply, [lanes].
    """

    name: str
    warp: int
    first: int
    count: int
    addresses: NDArray[np.int64]
    conflicts: Conflicts
    is_matrix: bool

    @property
    def lanes(self) -> NDArray[np.int64]:
        """The lanes of the warp, as the operand counts them."""
        return np.arange(_WARP) + _WARP * self.warp


def _lane_bits(operand: Operand, placement: Placement) -> NDArray[np.int64]:
    """The first bit of every element of every lane in memory, padding included, [lanes, elements]."""
    coords = operand.coords()
    bits = placement.offsets * 8 + placement.low - operand.padding
    return np.asarray(bits[coords[..., 0], coords[..., 1]])


def _distinct(starts: NDArray[np.int64]) -> list[int]:
    """Indices of the distinct pieces of [pieces, ...]: copies are not fetched again."""
    _, first = np.unique(starts.reshape(len(starts), -1), axis=0, return_index=True)
    return sorted(int(index) for index in first)


def lane_accesses(operand: Operand, placement: Placement, *, store: bool = False) -> list[FragmentAccess]:
    """Every lane reads (writes) its own elements, as many at a time as are contiguous, at most 16 bytes.

    >>> import ptxlab
    >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").a
    >>> [access.name for access in lane_accesses(a, place_lines(a, "row", 128))]
    ['ld.shared.b32', 'ld.shared.b32', 'ld.shared.b32', 'ld.shared.b32']
    """
    bits = _lane_bits(operand, placement)
    elements = bits.shape[1]
    per_chunk = 0
    for width in WIDTHS:
        count = width * 8 // operand.width
        if not count or elements % count:
            continue
        chunks = bits.reshape(len(bits), -1, count)
        contiguous = (chunks - chunks[..., :1] == np.arange(count) * operand.width).all()
        if contiguous and not (chunks[..., 0] % (8 * width)).any():
            per_chunk = count
    if not per_chunk:
        raise PtxlabError(
            f"{operand.name} is {operand.dtype}: a lane's elements are not neighbours in memory, and no load "
            "takes less than a byte"
        )
    width = per_chunk * operand.width // 8
    starts = bits.reshape(len(bits), -1, per_chunk)[..., 0] // 8
    name = _plain_name(operand, width, store)
    accesses = []
    for warp, chunk in product(range(operand.lanes // _WARP), _distinct(starts.T)):
        addresses = starts[warp * _WARP : (warp + 1) * _WARP, chunk]
        served = conflicts(addresses, width, store=store)
        accesses.append(FragmentAccess(name, warp, chunk * per_chunk, per_chunk, addresses, served, False))
    return accesses


def _plain_name(operand: Operand, width: int, store: bool) -> str:
    verb = "st" if store else "ld"
    register_bytes = operand.register_bits // 8
    if width <= register_bytes:
        return f"{verb}.shared.b{8 * width}"
    return f"{verb}.shared.v{width // register_bytes}.b{8 * register_bytes}"


def matrix_accesses(operand: Operand, placement: Placement, *, store: bool = False) -> list[FragmentAccess]:
    """The ldmatrix (stmatrix) instructions that load (store) the registers, up to four at a time.

    >>> import ptxlab
    >>> b = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").b
    >>> [access.name for access in matrix_accesses(b, place_lines(b, "row", 128))]   # N-major
    ['ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16']
    """
    verb = "stmatrix" if store else "ldmatrix"
    if operand.register_bits != 32:
        raise PtxlabError(f"{operand.name} is {operand.dtype}: {verb} moves elements of 16 bits")
    bits = _lane_bits(operand, placement)
    words = bits.reshape(len(bits), operand.registers, operand.elements_per_register)
    rows, trans = _matrix_rows(words, operand.width), ""
    if rows is None and operand.width == 16:
        rows, trans = _transposed_rows(words), ".trans"
    if rows is None:
        raise PtxlabError(
            f"{operand.name} is {operand.dtype}: {verb} moves rows of 16 bytes, four bytes of each to a lane "
            "(16-bit elements also transposed), and its registers want others"
        )
    accesses = []
    for warp in range(operand.lanes // _WARP):
        warp_rows = rows[warp]
        registers = _distinct(warp_rows)
        while registers:
            loaded = registers[: next(size for size in (4, 2, 1) if size <= len(registers))]
            registers = registers[len(loaded) :]
            addresses = warp_rows[loaded].reshape(-1)
            accesses.append(
                FragmentAccess(
                    f"{verb}.sync.aligned.m8n8.x{len(loaded)}{trans}.shared.b16",
                    warp,
                    loaded[0] * operand.elements_per_register,
                    len(loaded) * operand.elements_per_register,
                    addresses,
                    row_conflicts(np.resize(addresses, _WARP), len(addresses)),
                    True,
                )
            )
    return accesses


def _matrix_rows(words: NDArray[np.int64], width: int) -> NDArray[np.int64] | None:
    """Addresses of the rows, [warps, registers, 8], if four lanes hold the 16 bytes of each."""
    lanes, registers, per_register = words.shape
    contiguous = (words - words[..., :1] == np.arange(per_register) * width).all()
    quads = words[..., 0].reshape(lanes // _WARP, 8, 4, registers)
    steps = quads - quads[:, :, :1] == (np.arange(4) * 32)[:, None]
    if not contiguous or not steps.all() or (quads[:, :, 0] % 128).any():
        return None
    return np.asarray(np.moveaxis(quads[:, :, 0] // 8, 2, 1))


def _transposed_rows(words: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The same for .trans: lane l holds column l // 4 of the rows 2 (l % 4) and the next."""
    lanes, registers, _ = words.shape
    # warp, column, two rows, register, one of the rows
    by_row = words.reshape(lanes // _WARP, 8, 4, registers, 2)
    rows = by_row[:, 0].transpose(0, 2, 1, 3).reshape(lanes // _WARP, registers, 8)
    steps = by_row - by_row[:, :1] == (np.arange(8) * 16)[:, None, None, None]
    if not steps.all() or (rows % 128).any():
        return None
    return np.asarray(rows // 8)


def core_matrix_access(tile: Tile, descriptor: Descriptor | None = None) -> Conflicts:
    """How wgmma reads a tile, core matrix by core matrix: the "lanes" are the eight rows of 16 bytes of each.

    A chunk of 32 bytes counts as two such rows.

    >>> core_matrix_access(Tile(bits=16, rows=64, k=16, swizzle=32)).wavefronts   # 16 core matrices
    16
    """
    width, offsets = tile.core_width, _tile_offsets(tile, descriptor)
    if tile.major == "K":
        starts = offsets[:, ::width].reshape(tile.rows // 8, 8, -1).transpose(2, 0, 1)
    elif tile.chunk == 32:
        starts = offsets[::width].reshape(-1, 2, tile.k // 4, 4).transpose(2, 0, 1, 3).reshape(-1, 1, 8)
    else:
        starts = offsets[::width].reshape(-1, tile.k // 8, 8).transpose(1, 0, 2)
    rows = starts.reshape(-1)
    words = rows[:, None] // _WORD + np.arange(4)
    return Conflicts(words, np.arange(rows.size) // 8)
