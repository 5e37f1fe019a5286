"""Which colour a cell has, keys to colours, and notes on how to read them; `palette.py` declares the colours.

The colour of a cell is that of a lane; registers, warps, banks and core matrices borrow the colours of lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..memory import BANKS
from .grid import Cell, Grid, Header, headers
from .labels import index_range

#: What the colours of a matrix mean; "auto" is the lane, in shared memory the core matrix, and the value
#: where there are too many cells for labels.
Colour = Literal["auto", "lane", "register", "warp", "value", "nothing", "core matrix", "bank"]
#: What the colours of an operand in shared memory mean; "auto" is the core matrix.
TileColour = Literal["auto", "core matrix", "bank"]

#: How to read the colours of lanes.
_LANE_COLOURS = "hue: lane // 4, shade: lane % 4"
#: How to read the colours of banks.
BANK_COLOURS = "hue: bank // 4, for a tile that starts at bank 0"
#: The hues of the 16-byte vectors of a row, as groups of lanes; grey, which also means empty, comes last.
VECTOR_HUES = (0, 7, 6, 4, 2, 3, 5, 1)
#: Lanes whose colours the warps borrow: blue, orange, green, purple.
WARP_TINTS = (1, 29, 25, 17)

_Index = TypeVar("_Index", int, NDArray[np.int64])


def bank_tint(offset: _Index) -> _Index:
    """The lane whose colour the 16 bytes at an offset borrow: a hue for each 4 banks."""
    return offset // 16 % 8 * 4 + 1


def core_matrix_tint(group: _Index, vector: _Index) -> _Index:
    """The lane whose colour a core matrix borrows: a hue for each 8 rows, a shade for each 16 bytes."""
    return group % 8 * 4 + vector % 4


def warp_tint(warp: int) -> int:
    """The lane whose colour a warp borrows."""
    return WARP_TINTS[warp % 4]


# -- keys -----------------------------------------------------------------------------------------------


def colour_key(title: str, texts: Sequence[str], tints: Sequence[int], tooltips: Sequence[str]) -> Grid:
    """A key to colours: a cell for each, in one row."""
    cells = tuple(
        Cell(0, column, 1, 1, (text,), tint)
        for column, (text, tint) in enumerate(zip(texts, tints, strict=True))
    )
    count = len(cells)
    hover = np.array(tooltips, dtype=object).reshape(1, count)
    rows, columns = (Header(0, 1, ()),), (Header(0, count, ()),)
    return Grid((1, count), cells, hover, rows, columns, title=title, name="key", new_line=True)


def bank_key() -> Grid:
    """The key to colours by bank.

    >>> bank_key().at(0, 7).text
    '28..31'
    """
    offsets = range(0, 4 * BANKS, 16)
    texts = [index_range(offset // 4, 4) for offset in offsets]
    return colour_key(
        "banks", texts, [bank_tint(offset) for offset in offsets], [f"banks {t}" for t in texts]
    )


def lane_key(count: int = 32, *, tensor: bool = False) -> Grid:
    """The key to the colours: 8 groups of 4 lanes; a warpgroup of 128 lanes repeats them in every warp.

    Lanes of `tensor` memory are labelled with their numbers.

    >>> lane_key().at(1, 5).text, lane_key(tensor=True).at(1, 5).text
    ('T21', '21')
    """
    prefix = "" if tensor else "T"
    cells = tuple(Cell(lane % 4, lane // 4, 1, 1, (f"{prefix}{lane}",), lane) for lane in range(32))
    texts = [f"lane {lane}: group {lane // 4}, thread {lane % 4}" for lane in range(32)]
    title = "lanes" if count == 32 else "lanes of a warp"
    if tensor:
        texts = [f"lanes {lane}, {lane + 32}, {lane + 64}, {lane + 96}" for lane in range(32)]
        title = "lanes of tensor memory"
    hover = np.array(texts, dtype=object).reshape(8, 4).T
    if tensor:
        rows, columns = (Header(0, 4, ()),), (Header(0, 8, ()),)
        return Grid((4, 8), cells, hover, rows, columns, title=title, name="lanes")
    return Grid(
        (4, 8),
        cells,
        hover,
        rows=headers(4, 1),
        columns=headers(8, 1),
        axes=("thread", "group"),
        title=title,
        name="lanes",
    )


def lanes_read(lanes: NDArray[np.int64], title: str) -> Grid:
    """The 32 lanes of a warp as 8 groups of 4, with the lanes that are read in colour.

    If several warps read the same lanes, the first warp is shown.
    """
    warps = np.unique(lanes // 32)
    first = 32 * int(warps[0])
    read = set((lanes.ravel() % 32).tolist())
    names = [f"T{first + lane}" for lane in range(32)]
    if len(warps) > 1:
        title += " in warp 0, as in every warp"
    cells = tuple(
        Cell(lane // 4, lane % 4, 1, 1, (name,), lane if lane in read else None)
        for lane, name in enumerate(names)
    )
    texts = [f"{name} is {'read' if lane in read else 'not read'}" for lane, name in enumerate(names)]
    hover = np.array(texts, dtype=object).reshape(8, 4)
    return Grid(
        (8, 4),
        cells,
        hover,
        rows=headers(8, 1),
        columns=headers(4, 1),
        axes=("group", "thread"),
        title=title,
        name="lanes",
    )


def colour_keys(colour: Colour, words: int, lanes: int, *, tensor: bool = False) -> tuple[Grid, ...]:
    """The key to colours by register, warp or bank, for `words` registers and `lanes` lanes.

    In `tensor` memory, columns take the place of registers.
    """
    if colour == "register" and words:
        noun = "columns" if tensor else "registers"
        hues = range(min(words, 8))
        numbers = [list(range(hue, words, 8)) for hue in hues]
        texts = [str(group[0]) if len(group) == 1 else f"{group[0]}, {group[1]}" for group in numbers]
        texts = [
            f"{text} ..." if len(group) > 2 else text for text, group in zip(texts, numbers, strict=True)
        ]
        tooltips = [f"{noun} {', '.join(map(str, group))}" for group in numbers]
        return (colour_key(noun, texts, [hue * 4 + 1 for hue in hues], tooltips),)
    if colour == "warp" and lanes > 32:
        warps = range(min(lanes // 32, 4))
        held = "lanes" if tensor else "threads"
        tooltips = [f"warp {warp}: {held} {32 * warp}..{32 * warp + 31}" for warp in warps]
        return (colour_key("warps", [str(warp) for warp in warps], WARP_TINTS, tooltips),)
    return (bank_key(),) if colour == "bank" else ()


# -- notes ----------------------------------------------------------------------------------------------


_NOTES: dict[Colour, tuple[str, ...]] = {
    "register": ("hue: register % 8",),
    "warp": ("blue, orange, green, purple: warps 0 to 3",),
    "core matrix": ("a colour for each core matrix of shared memory: 8 rows or columns of 16 bytes",),
    "bank": (BANK_COLOURS, "K-major, no swizzle"),
    "value": ("blue: below zero, vermilion: above",),
}
_TENSOR_NOTES: dict[Colour, tuple[str, ...]] = {
    "lane": ("hue: lane of tensor memory // 4, shade: lane % 4", "the same in every 32 lanes"),
    "register": ("hue: column of tensor memory % 8",),
    "warp": ("blue, orange, green, purple: warps 0 to 3, which may load and store there",),
}


def colour_notes(colour: Colour, lanes: int, *, tensor: bool = False) -> tuple[str, ...]:
    """How to read the colours of the lanes of a warp, a warpgroup, or tensor memory."""
    if tensor and colour in _TENSOR_NOTES:
        return _TENSOR_NOTES[colour]
    if colour == "lane":
        return lane_colour_notes(lanes)
    if colour == "warp" and lanes <= 32:
        return ()
    return _NOTES.get(colour, ())


def lane_colour_notes(lanes: int) -> tuple[str, ...]:
    """How to read the colours of lanes, in a warp or in a warpgroup."""
    if lanes > 32:
        return _LANE_COLOURS, "the lanes of every warp have the same colours"
    return (_LANE_COLOURS,)
