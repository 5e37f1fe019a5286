"""Layouts as CuTe and Triton write them: which thread holds an element, or which bytes of shared memory."""

from __future__ import annotations

import numpy as np

from .._util.arguments import as_int, as_shape
from ..errors import PtxlabError, quoted
from ..isa.layout import Layout
from ..isa.parse import parse_any
from ..memory import BANKS, SharedLayout
from ..memory.triton_layouts import TritonLayout, is_triton_layout
from .colour_keys import bank_key, bank_tint, lane_colour_notes
from .element_location import lane_runs
from .fragment_pictures import lane_cells
from .grid import Entry, Grid, headers, hover_texts, uniform_grid
from .labels import index_range
from .picture import Picture
from .tensor_pictures import tensor_memory

_MAX_LABELS = 512  # cells of registers with a text in them
_MAX_CELLS = 4096
_VECTOR = 16  # bytes


def named_layout(
    layout: object,
    shape: tuple[int, int] | None = None,
    *,
    bits: int | None = None,
    lane: int | None = None,
    title: bool = True,
) -> Picture:
    """A layout in other people's words as a picture, with the instruction that it belongs to.

    It takes what a dump of Triton's compiler says, ``#ttg.nvidia_mma<{...}>``, with the shape of the tensor;
    Gluon's objects, such as `NVMMASharedLayout`; and CuTe's layouts of shared memory, ``(64,64):(64,1)`` or
    ``Swizzle<3,3,3> o (64,64):(64,1)``, with the bits of an element. `lane` outlines what a thread holds.

    >>> named_layout("Swizzle<3,3,3> o (8,64):(64,1)", bits=16).grids[0].at(1, 0).text   # row 1, byte 0
    '0x0090'
    >>> text = "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"
    >>> named_layout(text, (16, 8)).title
    'C and D of mma.m16n8: #ttg.nvidia_mma for 16x8'
    """
    if isinstance(layout, SharedLayout):
        return _shared(layout, f"{layout.swizzle or 'no swizzle'}, {layout.layout}", ()).with_title(title)
    if isinstance(layout, str) and not is_triton_layout(layout):
        tile = SharedLayout.read(layout, bits)
        return _shared(tile, layout.strip(), _swizzle_notes(tile)).with_title(title)
    triton_layout = TritonLayout.read(layout)
    if triton_layout.place == "tensor":
        return _tensor(triton_layout).with_title(title)
    if shape is None:
        raise PtxlabError(
            f"{triton_layout}: the layout repeats over a tensor of any shape; say it, shape=(64, 64)"
        )
    rows, columns = as_shape(shape, "shape")
    what = (
        f"{triton_layout.role} of {triton_layout.instruction}"
        if triton_layout.instruction
        else triton_layout.role.capitalize()
    )
    heading = f"{what}: {triton_layout} for {rows}x{columns}"
    if triton_layout.place == "shared":
        tile = triton_layout.shared((rows, columns), 16 if bits is None else as_int(bits, "bits"))
        swizzle = f"{tile.swizzle} o smem_ptr[{tile.bits}b] o " if tile.swizzle else ""
        notes = (f"CuTe: {swizzle}{tile.layout}", *_swizzle_notes(tile))
        return _shared(tile, heading, notes).with_title(title)
    return _registers(triton_layout.registers((rows, columns)), heading, lane).with_title(title)


def _swizzle_notes(tile: SharedLayout) -> tuple[str, ...]:
    return () if tile.swizzle is None else (tile.swizzle.sentence,)


def _registers(layout: Layout, heading: str, lane: int | None) -> Picture:
    """A cell for neighbours that one thread holds; where several threads hold an element, the first."""
    owners = np.zeros((2, *layout.shape), np.int64)
    places = layout.coords()
    for thread in reversed(range(layout.lanes)):
        for element in reversed(range(layout.elements)):
            owners[:, places[thread, element, 0], places[thread, element, 1]] = thread, element
    threads, elements = owners
    focus = None if lane is None else as_int(lane, "lane")
    if focus is not None and not 0 <= focus < layout.lanes:
        raise PtxlabError(f"lane={quoted(lane)}: the layout has {layout.lanes} threads, from 0 on")
    runs = lane_runs(threads, elements)
    if len(runs) > _MAX_CELLS:
        raise PtxlabError(f"a layout of {len(runs)} runs of elements: a picture shows {_MAX_CELLS}")

    def label(owner: int, first: int, count: int) -> tuple[str, ...]:
        return (f"T{owner}",) if len(runs) <= _MAX_LABELS else ()

    def tooltip(row: int, column: int) -> str:
        thread = int(threads[row, column])
        owner = f"thread {thread}: warp {thread // 32}, lane {thread % 32}"
        return f"[{row}][{column}]\n{owner}\nregister {elements[row, column]} of Triton, value of CuTe"

    steps = (1 if layout.shape[0] <= 16 else 8), (2 if layout.shape[1] <= 16 else 8)
    grid = Grid(
        layout.shape,
        lane_cells(runs, threads, elements, focus, label),
        hover_texts(layout.shape, tooltip),
        headers(layout.shape[0], steps[0]),
        headers(layout.shape[1], steps[1]),
        ("row", "column"),
        name="tensor",
        row_rules=tuple(int(row) + 1 for row in np.flatnonzero(np.diff(threads[:, 0] // 32))),
        density="tight" if len(runs) > _MAX_LABELS else "close",
    )
    copies = layout.lanes * layout.elements // (layout.shape[0] * layout.shape[1])
    notes = [f"{layout.lanes} threads with {layout.elements} elements each", f"CuTe: {layout.cute}"]
    if copies > 1:
        notes.append(f"{copies} threads hold each element; the first is shown")
    return Picture(heading, (*notes, *lane_colour_notes(layout.lanes)), (grid,))


def _shared(tile: SharedLayout, heading: str, notes: tuple[str, ...]) -> Picture:
    """The byte address of every 16 bytes of a row, or of a column where those are contiguous."""
    offsets = tile.layout.offsets()
    if offsets.ndim != 2:
        raise PtxlabError(f"layout {tile.layout}: a picture shows two modes, rows and columns")
    addresses = tile.address(*np.indices(offsets.shape))
    by_column = offsets.shape[1] == 1 or (offsets.shape[0] > 1 and offsets[1, 0] < offsets[0, 1])
    if by_column:
        addresses = addresses.T
    width = max(8 * _VECTOR // tile.bits, 1)
    lines, length = addresses.shape
    vectors = addresses[:, : length - length % width or None : width]
    if length % width or (addresses.reshape(lines, -1, width)[:, :, -1] - vectors > _VECTOR).any():
        width, vectors = 1, addresses  # no 16 bytes lie side by side
    if vectors.size > _MAX_CELLS:
        raise PtxlabError(f"a tile of {vectors.size} parts: a picture shows {_MAX_CELLS}")
    line, along = ("column", "rows") if by_column else ("row", "columns")

    def entry(at: int, vector: int) -> Entry:
        address = int(vectors[at, vector])
        size = width * tile.bits // 8
        where = f"bytes {index_range(address, max(size, 1))}, banks from {address // 4 % BANKS}"
        span = index_range(vector * width, width)
        return Entry((f"0x{address:04x}",), bank_tint(address), f"{line} {at}, {along} {span}\n{where}")

    heads = [index_range(vector * width, width) for vector in range(vectors.shape[1])]
    rules = tuple(range(8, lines, 8))
    grid = uniform_grid(
        vectors.shape, entry, 1, heads, (line, along), "byte addresses", "tile", "close", row_rules=rules
    )
    size = f"elements of {tile.bits} bits"
    return Picture(heading, (*notes, f"{size}, coloured by bank"), (grid, bank_key()))


def _tensor(triton_layout: TritonLayout) -> Picture:
    """An accumulator of tcgen05.mma, as tensor memory has it."""
    m, n = (int(triton_layout.fields[name]) for name in ("blockM", "blockN"))
    group = 2 if triton_layout.fields.get("twoCTAs") else 1
    if int(triton_layout.fields.get("colStride", 1)) != 1:
        raise PtxlabError(f"{triton_layout}: elements apart from each other (colStride) are not drawn")
    form = parse_any(f"tcgen05.mma.cta_group::{group}.kind::f16", m=m * group, n=n)
    picture = tensor_memory(form, "D")
    return Picture(
        f"{triton_layout.role[0]} of {triton_layout.instruction}: {triton_layout} of {m}x{n}",
        picture.notes,
        picture.grids,
    )
