"""Shared memory as it is used: the banks of one access, the bytes of a tile, the slices that wgmma reads."""

from __future__ import annotations

import numpy as np

from .._util.arguments import as_flag, as_int, is_a, is_name
from ..errors import PtxlabError, counted, quoted
from ..memory import BANKS, Conflicts, Descriptor, Tile
from .fragment_pictures import bank_key, bank_tint, core_matrix_tint
from .grid import Cell, Grid, Header, State, headers
from .labels import index_range
from .picture import Picture
from .table import Table, Value

__all__ = ["accesses", "banks", "slice_bytes", "slices", "tile"]

_LINE_BYTES = 4 * BANKS
_MOST_LINES = 128  # of shared memory, or of a tile, that a picture shows
_DEPTH_BYTES = 32  # along K, that one wgmma reads


def banks(access: Conflicts, colour: str = "lane", *, counts: bool = False) -> Picture:
    """One access as it falls on the banks: lines of 128 bytes, a column for each of the 32 banks.

    A cell is a word that lanes touch, with the lowest of them or, with ``colour="wavefront"``, with the
    wavefront in which it is served. With `counts`, a row below for each group of lanes that are served
    together says how many different words each bank delivers; the largest number is their wavefronts.

    >>> from ptxlab import memory
    >>> grid = banks(memory.conflicts(np.arange(32) * 8)).grids[0]
    >>> grid.at(0, 2).text, grid.at(1, 2).text   # lanes 1 and 17 want different words of bank 2
    ('1', '17')
    """
    if not is_a(access, Conflicts):
        raise PtxlabError(f"found {quoted(access)}; memory.conflicts(addresses) gives an access")
    if not is_name(colour, ("lane", "wavefront")):
        raise PtxlabError(f"colour={quoted(colour)}: there are lane, wavefront")
    counts = as_flag(counts, "counts")
    schedule = access.schedule
    lanes_of: dict[int, list[int]] = {}
    wavefronts_of: dict[int, list[int]] = {}
    for lane, number in np.ndindex(*access.words.shape):
        word = int(access.words[lane, number])
        if word >= 0:
            lanes_of.setdefault(word, []).append(lane)
            wavefronts_of.setdefault(word, []).append(int(schedule[lane, number]))
    lines = sorted({word // BANKS for word in lanes_of})
    if len(lines) > _MOST_LINES:
        raise PtxlabError(f"an access of {len(lines)} lines of 128 bytes: a picture shows {_MOST_LINES}")
    row_of = {line: row for row, line in enumerate(lines)}
    shape = (max(len(lines), 1), BANKS)
    hover = np.full(shape, "", dtype=object)
    cells = {(row, bank): Cell(row, bank, 1, 1, ()) for row, bank in np.ndindex(*shape)}
    for row, line in enumerate(lines):
        for bank in range(BANKS):
            hover[row, bank] = f"bytes {index_range(line * _LINE_BYTES + 4 * bank, 4)}, bank {bank}\nno lane"
    for word, lanes in lanes_of.items():
        place = row_of[word // BANKS], word % BANKS
        order = sorted(set(wavefronts_of[word]))
        text, hue = str(lanes[0]), lanes[0]
        if colour == "wavefront":
            text, hue = str(order[0]), order[0] * 4 % 32 + order[0] // 8
        cells[place] = Cell(*place, 1, 1, (text,), hue % 32)
        hover[place] = (
            f"bytes {index_range(4 * word, 4)}, bank {word % BANKS}\n"
            f"lanes {', '.join(map(str, lanes))}\nwavefront {', '.join(map(str, order))}"
        )
    names = [str(line * _LINE_BYTES) for line in lines]
    rules: tuple[int, ...] = ()
    if counts and lines:
        rules = (len(lines),)
        for heading, row_cells, texts in _bank_counts(access, len(lines)):
            names.append(heading)
            cells |= {(cell.row, cell.column): cell for cell in row_cells}
            hover = np.vstack([hover, np.array([texts], dtype=object)])
    grid = Grid(
        (max(len(names), 1), BANKS),
        tuple(cells.values()),
        hover,
        tuple(Header(row, 1, (name,)) for row, name in enumerate(names)),
        headers(BANKS, 1),
        ("byte", "bank"),
        name="banks",
        density="close",
        row_rules=rules,
    )
    number = "the lowest lane that touches it" if colour == "lane" else "the wavefront that serves it"
    notes = [str(access).removesuffix("."), f"in a word: {number}"]
    if rules:
        notes.append("last row: the words that each bank delivers")
    if len(names) > len(lines) + 1:
        notes[-1] = "last rows: the words that each bank delivers to lanes that are served together"
    return Picture("One access on the 32 banks of shared memory", tuple(notes), (grid,))


def _bank_counts(access: Conflicts, first_row: int) -> list[tuple[str, list[Cell], list[str]]]:
    """For each group of lanes: a heading, and cells and tooltips with the different words of each bank."""
    rows = []
    groups = sorted(set(access.groups[access.words[:, 0] >= 0].tolist()))
    for row, group in enumerate(groups, start=first_row):
        lanes = np.flatnonzero(access.groups == group)
        words = np.unique(access.words[lanes])
        numbers = np.bincount(words[words >= 0] % BANKS, minlength=BANKS).tolist()
        served = index_range(int(lanes[0]), len(lanes))
        cells, texts = [], []
        for bank, number in enumerate(numbers):
            heat = (number - 1) / (BANKS - 1) * 0.5 + 0.3 if number > 1 else 0.0
            cells.append(Cell(row, bank, 1, 1, (str(number),) if number else (), heat=heat))
            texts.append(f"bank {bank}, lanes {served}\n{counted(number, 'different word')}")
        rows.append(("words" if len(groups) == 1 else f"lanes {served}", cells, texts))
    return rows


def accesses(access: Conflicts) -> Table:
    """What each lane touches: its bytes, its banks, and the wavefronts that serve it.

    >>> from ptxlab import memory
    >>> accesses(memory.conflicts(np.arange(32) * 128)).records()[3]
    {'lane': 3, 'group': 0, 'bytes': '384..387', 'banks': '0', 'wavefront': '3'}
    """
    if not is_a(access, Conflicts):
        raise PtxlabError(f"found {quoted(access)}; memory.conflicts(addresses) gives an access")
    rows: list[tuple[Value, ...]] = []
    lanes: list[tuple[int | None, ...]] = []
    for lane, words in enumerate(access.words.tolist()):
        if words[0] < 0:
            continue
        served = sorted(set(access.schedule[lane].tolist()))
        places = index_range(words[0] % BANKS, len(words))
        span = index_range(4 * words[0], 4 * len(words))
        rows.append((lane, int(access.groups[lane]), span, places, ", ".join(map(str, served))))
        lanes.append((lane,))
    return Table(("lane", "group", "bytes", "banks", "wavefront"), tuple(rows), tuple(lanes))


def tile(layout: Tile, k: int | None = None, colour: str = "core matrix") -> Picture:
    """A tile in shared memory: the byte offset of every 16 bytes, and with `k` the slice that starts there.

    Lines are rows in a K-major tile, and steps of K in an MN-major one.

    >>> grid = tile(Tile(bits=16, rows=16, k=64, swizzle=128), k=16).grids[0]
    >>> grid.at(1, 2).text, grid.at(1, 2).state   # row 1, k 16..23
    ('0x00b0', 'mark')
    """
    if not is_a(layout, Tile):
        raise PtxlabError(f"found {quoted(layout)}; memory.Tile(...) is a tile")
    if not is_name(colour, ("core matrix", "bank")):
        raise PtxlabError(f"colour={quoted(colour)}: there are core matrix, bank")
    lines, length = (layout.rows, layout.k) if layout.major == "K" else (layout.k, layout.rows)
    pieces = length // layout.core_width
    if lines * pieces > 32 * _MOST_LINES:
        raise PtxlabError(f"a tile of {lines * pieces} pieces: a picture shows {32 * _MOST_LINES}")
    depth = _DEPTH_BYTES * 8 // layout.bits
    notes = [
        f"{layout.rows}x{layout.k} elements of {layout.bits} bits, {layout.major}-major, {layout.size} bytes"
    ]
    notes.append(f"LBO {layout.leading}, SBO {layout.stride} bytes")
    if k is not None:
        notes.append(
            f"outlined: what wgmma reads at k={as_int(k, 'k')}, descriptor 0x{layout.descriptor(0, k):x}"
        )
    cells, hover = [], np.full((lines, pieces), "", dtype=object)
    for line, piece in np.ndindex(lines, pieces):
        first = piece * layout.core_width
        row, along = (line, first) if layout.major == "K" else (first, line)
        offset = int(layout.offset(row, along))
        state: State = "mark" if k is not None and k <= along < k + depth else "plain"
        tint = bank_tint(offset) if colour == "bank" else core_matrix_tint(line // 8, piece)
        cells.append(Cell(line, piece, 1, 1, (f"0x{offset:04x}",), tint, state))
        inner = "k" if layout.major == "K" else "row"
        outer = "row" if layout.major == "K" else "k"
        hover[line, piece] = (
            f"{outer} {line}, {inner} {index_range(first, layout.core_width)}\n"
            f"bytes {index_range(offset, 16)}, banks {index_range(offset // 4 % BANKS, 4)}"
        )
    axes = ("row", "k") if layout.major == "K" else ("k", "row")
    grid = Grid(
        (lines, pieces),
        tuple(cells),
        hover,
        headers(lines, 1),
        tuple(Header(p, 1, (index_range(p * layout.core_width, layout.core_width),)) for p in range(pieces)),
        axes,
        name="tile",
        row_rules=tuple(range(8, lines, 8)),
    )
    keys = (bank_key(),) if colour == "bank" else ()
    return Picture("A tile in shared memory", tuple(notes), (grid,), keys=keys)


def slices(tile: Tile, address: int = 0) -> Table:
    """The descriptor of every slice of a tile at an address.

    >>> slices(Tile(bits=16, rows=64, k=32, swizzle=64), 0x400).records()[1]
    {'k': 16, 'address': '0x420', 'LBO': 16, 'SBO': 512, 'base offset': 0, 'descriptor': '0x8000002000010042'}
    """
    depth = _DEPTH_BYTES * 8 // tile.bits
    rows = []
    for k in range(0, max(tile.k - depth, 0) + 1, depth):
        part = tile.slice(address, k)
        rows.append(
            (k, f"0x{part.address:x}", part.leading, part.stride, part.base_offset, f"0x{part.code:x}")
        )
    return Table(("k", "address", "LBO", "SBO", "base offset", "descriptor"), tuple(rows))


def slice_bytes(fields: Descriptor, bits: int, rows: int, depth: int, major: str = "K") -> Table:
    """The address of every 16 bytes that wgmma reads through a descriptor, in its order.

    >>> slice_bytes(Descriptor(0x400, 16, 1024, 128), 16, 8, 16).records()[1]
    {'row': 1, 'k 0..7': '0x490', 'k 8..15': '0x480'}
    """
    core = 128 // bits
    lines, length, names = (rows, depth, ("row", "k")) if major == "K" else (depth, rows, ("k", "row"))
    starts = np.arange(0, length, core)
    line, first = np.arange(lines)[:, None], starts[None, :]
    row, along = (line, first) if major == "K" else (first, line)
    where = fields.addresses(row, along, bits=bits, major="K" if major == "K" else "MN")
    heads = (names[0], *(f"{names[1]} {index_range(int(start), core)}" for start in starts))
    body: list[tuple[Value, ...]] = []
    tints: list[tuple[int | None, ...]] = []
    for number, found in enumerate(where.tolist()):
        body.append((number, *(f"0x{byte:x}" for byte in found)))
        tints.append((None, *(byte // 16 % 8 * 4 for byte in found)))
    return Table(heads, tuple(body), tuple(tints))
