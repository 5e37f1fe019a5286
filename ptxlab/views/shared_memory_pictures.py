"""Shared memory line by line: which bytes a descriptor reads, where TMA puts a box, what a warp touches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._util.arguments import as_flag, as_int, is_a, is_name
from ..errors import PtxlabError, counted, listing, quoted
from ..memory import BANKS, Conflicts, Descriptor, TensorMap, Tile
from ..memory import descriptor as decode
from .bit_field_pictures import NAMED_FIELDS, field_grid
from .colour_keys import VECTOR_HUES
from .grid import Entry, Grid, State, uniform_grid
from .labels import index_range
from .picture import Picture
from .table import Table, Value

_VECTOR, _LINE = 16, 128  # bytes: of a row of a core matrix, of all banks
_SLICE = 32  # bytes along K that one wgmma reads
_MAX_ROWS = 64  # of a matrix or of shared memory that a picture shows
_MAX_PIECES = 24  # beside each other
_BITS = (1, 2, 4, 8, 16, 32, 64)


#: Shades of the groups of 8 rows: strong ones first, unlike what is faded.
_SHADES = (2, 3, 0, 1)


def _tint(line: int, vector: int) -> int:
    """The lane whose colour a vector has: a hue for each vector of a row, a shade for each 8 rows."""
    return VECTOR_HUES[vector % 8] * 4 + _SHADES[line // 8 % 4]


def _memory_grid(vectors: Mapping[int, Entry], title: str) -> Grid:
    """128-byte rows, only those that hold any of the vectors; a rule where lines are left out."""
    lines = sorted({address // _LINE for address in vectors})

    def entry(row: int, column: int) -> Entry:
        address = lines[row] * _LINE + column * _VECTOR
        vector = vectors.get(address, Entry(tooltip="nothing of it"))
        where = f"bytes 0x{address:x} to 0x{address + 15:x}, banks {index_range(column * 4, 4)}"
        return replace(vector, tooltip=f"{where}\n{vector.tooltip}")

    columns = _LINE // _VECTOR
    return uniform_grid(
        (len(lines), columns),
        entry,
        [f"0x{line * _LINE:x}" for line in lines],
        [f"+0x{column * _VECTOR:x}" for column in range(columns)],
        ("address", "bytes"),
        title,
        name="shared memory",
        density="close",
        row_rules=tuple(row for row in range(1, len(lines)) if lines[row] != lines[row - 1] + 1),
    )


# -- what a descriptor reads -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Slice:
    """What one wgmma takes of a matrix, in lines of 16-byte vectors: rows if K-major, else steps of K."""

    bits: int
    rows: int
    depth: int
    major: Literal["K", "MN"]

    @property
    def core(self) -> int:
        """Elements of a vector."""
        return 8 * _VECTOR // self.bits

    @property
    def shape(self) -> tuple[int, int]:
        if self.major == "K":
            return self.rows, self.depth // self.core
        return self.depth, self.rows // self.core

    def addresses(self, fields: Descriptor) -> dict[tuple[int, int], int]:
        """Where the descriptor finds each vector, by (line, vector)."""
        lines, vectors = self.shape
        line, first = np.arange(lines)[:, None], np.arange(vectors) * self.core
        row, k = (line, first) if self.major == "K" else (first, line)
        addresses = fields.addresses(row, k, bits=self.bits, major=self.major)
        return {place: int(addresses[place]) for place in np.ndindex(lines, vectors)}

    def text(self, line: int, vector: int) -> str:
        """The elements of a vector, in words."""
        span = index_range(vector * self.core, self.core)
        return f"row {line}, k {span}" if self.major == "K" else f"k {line}, rows {span}"

    @property
    def note(self) -> str:
        line = "row r" if self.major == "K" else "step k"
        return f"{line[-1]}.c is 16-byte vector c of {line}"


def bytes_read(
    descriptor: Descriptor | int,
    tile: Tile | None = None,
    k: int = 0,
    *,
    address: int | None = None,
    bits: int = 16,
    rows: int = 8,
    major: Literal["K", "MN"] = "K",
    title: bool = True,
) -> Picture:
    """Which bytes of shared memory one wgmma reads through a descriptor, and for which elements.

    With a tile, that at `address`, the slice at `k` is meant: vectors that are read by mistake are outlined.
    Without `address` the tile is where the descriptor has it. Without a tile, `bits`, `rows` and `major` say
    what is read.

    >>> tile = Tile(bits=16, rows=16, k=64, swizzle=128)
    >>> matrix, memory, fields = bytes_read(tile.descriptor(0x400, k=16), tile, k=16).grids
    >>> [memory.at(1, column).text for column in (2, 3)], memory.at(1, 2).state   # of the line at 0x480
    (['1.3', '1.2'], 'plain')
    """
    fields = descriptor if isinstance(descriptor, Descriptor) else decode(descriptor)
    if tile is None:
        return _read_anywhere(fields, bits, rows, major).with_title(title)
    if not is_a(tile, Tile):
        raise PtxlabError(f"expected a memory.Tile, found {quoted(tile)}")
    return _read_of_tile(fields, tile, as_int(k, "k"), address).with_title(title)


def _read_of_tile(fields: Descriptor, tile: Tile, k: int, address: int | None) -> Picture:
    """What is read through a descriptor where the slice of a tile at `k` is meant."""
    problems = tile.judge(fields, k, address=address).problems
    start = fields.address - int(tile.offset(0, k)) if address is None else as_int(address, "address")
    if start < 0 or start % _VECTOR:
        raise PtxlabError(f"{problems[0]}; say where the tile is, address=0x400")
    whole = _Slice(tile.bits, min(tile.rows, _MAX_ROWS), tile.k, tile.major)
    part = _Slice(tile.bits, whole.rows, min(8 * _SLICE // tile.bits, tile.k), tile.major)
    if whole.shape[0] > _MAX_ROWS or whole.shape[1] > _MAX_PIECES:
        raise PtxlabError(
            f"a tile of {whole.shape[0]} lines of {whole.shape[1]} vectors of 16 bytes: a picture shows "
            f"{_MAX_ROWS} of {_MAX_PIECES}"
        )
    down, right = (0, k // whole.core) if tile.major == "K" else (k, 0)
    read_from = {(line + down, vector + right): at for (line, vector), at in part.addresses(fields).items()}
    offsets = tile.offsets[:, :: whole.core] if tile.major == "K" else tile.offsets[:: whole.core].T
    stored = {start + int(offsets[place]): place for place in np.ndindex(*whole.shape)}
    vectors = {
        at: Entry((_name(place),), _tint(*place), whole.text(*place), "dim") for at, place in stored.items()
    }
    vectors |= {at: _read_vector(whole, place, stored.get(at)) for place, at in read_from.items()}
    notes = [whole.note, f"in colour: what wgmma reads at k={k}"]
    compared = fields
    if problems:
        notes += [*problems, "outlined: read by mistake, and the fields at fault"]
        compared = tile.slice(start, k) if start % _LINE == 0 or not tile.swizzle else fields
    elif k:
        notes.append("outlined field: it changes with k")
        compared = tile.slice(start, 0)
    if tile.rows > whole.rows:
        notes.append(f"{whole.rows} of {tile.rows} rows")
    outlined = [name for name in NAMED_FIELDS if getattr(compared, name) != getattr(fields, name)]
    if tile.major == "K" and tile.swizzle and fields.swizzle and "leading" in outlined:
        outlined.remove("leading")  # it is ignored
    matrix = _matrix_grid(whole, frozenset(read_from), "the tile")
    return _read_picture(fields, notes, matrix, vectors, outlined)


def _read_vector(whole: _Slice, place: tuple[int, int], stored: tuple[int, ...] | None) -> Entry:
    """16 bytes that are read as a place of a tile, and what is stored there: a place, or nothing of it."""
    read_as = f"read as {whole.text(*place)}"
    if stored is None:
        return Entry(("?",), None, f"no byte of the tile\n{read_as}", "mark")
    state: State = "plain" if stored == place else "mark"
    return Entry((_name(stored),), _tint(*stored), f"{whole.text(*stored)}\n{read_as}", state)


def _read_picture(
    fields: Descriptor,
    notes: list[str],
    matrix: Grid,
    vectors: Mapping[int, Entry],
    outlined: Sequence[str] = (),
) -> Picture:
    """A matrix, the lines of shared memory that hold it, and the fields of the descriptor."""
    swizzle = f"{fields.swizzle}-byte swizzle" if fields.swizzle else "no swizzle"
    return Picture(
        f"What wgmma reads through 0x{fields.code:016x}",
        tuple(notes),
        (matrix, _memory_grid(vectors, f"shared memory, {swizzle}"), field_grid(fields.code, outlined)),
    )


def _name(place: tuple[int, ...]) -> str:
    return ".".join(map(str, place))


def _read_anywhere(fields: Descriptor, bits: int, rows: int, major: Literal["K", "MN"]) -> Picture:
    """What is read through a descriptor, whatever lies there."""
    bits, rows = as_int(bits, "bits"), as_int(rows, "rows")
    if bits not in _BITS:
        raise PtxlabError(f"elements of {quoted(bits)} bits: there are {listing(_BITS)} bits")
    if not is_name(major, ("K", "MN")):
        raise PtxlabError(f"major={quoted(major)}: a tile is 'K' or 'MN' major")
    unit = 8 if major == "K" else 8 * _VECTOR // bits
    if rows % unit or not 0 < rows <= 256:
        raise PtxlabError(f"rows={quoted(rows)}: wgmma reads multiples of {unit} rows, up to 256")
    part = _Slice(bits, min(rows, _MAX_ROWS), 8 * _SLICE // bits, major)
    by_address: dict[int, list[tuple[int, int]]] = {}
    for place, address in part.addresses(fields).items():
        by_address.setdefault(address, []).append(place)
    vectors = {}
    for address, places in by_address.items():
        text = _name(places[0]) if len(places) == 1 else f"{_name(places[0])}+{len(places) - 1}"
        tooltip = "read as " + " and as ".join(part.text(*place) for place in places)
        state: State = "plain" if len(places) == 1 else "mark"
        vectors[address] = Entry((text,), _tint(*places[0]), tooltip, state)
    notes = [part.note, f"elements of {bits} bits, {major}-major"]
    if any(len(places) > 1 for places in by_address.values()):
        notes.append("outlined: read for several vectors")
    if rows > part.rows:
        notes.append(f"{part.rows} of {rows} rows")
    matrix = _matrix_grid(part, frozenset(np.ndindex(*part.shape)), "what it reads")
    return _read_picture(fields, notes, matrix, vectors)


def _matrix_grid(part: _Slice, meant: frozenset[tuple[int, ...]], title: str) -> Grid:
    """A matrix in lines of 16-byte vectors; those that are not meant are faded."""

    def entry(line: int, vector: int) -> Entry:
        state: State = "plain" if (line, vector) in meant else "dim"
        return Entry((_name((line, vector)),), _tint(line, vector), part.text(line, vector), state)

    axes = ("row", "k") if part.major == "K" else ("k", "row")
    firsts = [str(at * part.core) for at in range(part.shape[1])]
    rules = tuple(range(8, part.shape[0], 8))
    return uniform_grid(part.shape, entry, 1, firsts, axes, title, "tile", "close", rules)


# -- where TMA puts a box ----------------------------------------------------------------------------------


def box(tensor: TensorMap, row: int = 0, column: int = 0, *, title: bool = True) -> Picture:
    """A row-major matrix in global memory, the box that one TMA copy takes of it, and where its bytes arrive.

    `row` and `column` are where the box starts.

    >>> from ptxlab import tensor_map
    >>> tma = tensor_map(np.zeros((8, 96), dtype=np.float16), box=(8, 64), swizzle=128)
    >>> matrix, memory = box(tma, 0, 32).grids
    >>> matrix.at(1, 4).state, memory.at(1, 1).text   # the box starts with vector 4; row 1 is swizzled
    ('plain', '1.4')
    """
    if not is_a(tensor, TensorMap):
        raise PtxlabError(f"found {quoted(tensor)}; ptxlab.tensor_map(array, box) gives a tensor map")
    if tensor.rank != 2:
        raise PtxlabError(f"a box of {tensor.rank} axes: a picture shows two")
    if tensor.bits < 8:
        raise PtxlabError(f"a box of {tensor.data_type}: a picture shows elements of whole bytes")
    tensor.load(row, column)  # refuses starts that TMA does not take
    per_vector = _VECTOR // tensor.array.itemsize
    shape = tensor.array.shape[0], -(-tensor.array.shape[1] // per_vector)
    if max(shape[0], tensor.copied[0]) > _MAX_ROWS or shape[1] > _MAX_PIECES:
        raise PtxlabError(
            f"an array of {shape[0]} rows of {shape[1]} vectors of 16 bytes: a picture shows "
            f"{_MAX_ROWS} of {_MAX_PIECES}"
        )
    vectors, taken = _arrivals(tensor, row, column, per_vector, shape)

    def entry(line: int, vector: int) -> Entry:
        tint = taken.get((line, vector))
        copied = "not copied" if tint is None else "in the box"
        return Entry((_name((line, vector)),), tint, f"{_columns_text(line, vector, per_vector)}\n{copied}")

    firsts = [str(at * per_vector) for at in range(shape[1])]
    matrix = uniform_grid(shape, entry, 1, firsts, ("row", "column"), "global memory", "array", "close")
    swizzle = f"{tensor.swizzle}-byte swizzle" if tensor.swizzle else "no swizzle"
    if isinstance(tensor.swizzle_mode, str):
        swizzle = f"swizzle {tensor.swizzle_mode}"
    memory = replace(_memory_grid(vectors, "shared memory"), new_line=shape[1] > 12)
    rows = f"{tensor.box[1] * tensor.array.itemsize} bytes, {tensor.pitch} apart"
    notes = [
        "r.c is 16-byte vector c of row r",
        f"rows of the box: {rows}",
        f"{tensor.expect_tx} bytes arrive",
    ]
    if any(vector.tooltip.endswith(_SWAPPED) for vector in vectors.values()):
        notes.append(f"*: {_SWAPPED}")
    heading = f"TMA copies a box of {tensor.box[0]}x{tensor.box[1]}, {swizzle}"
    return Picture(heading, tuple(notes), (matrix, memory)).with_title(title)


_SWAPPED = "its halves have changed places"


def _arrivals(
    tensor: TensorMap, row: int, column: int, per_vector: int, shape: tuple[int, int]
) -> tuple[dict[int, Entry], dict[tuple[int, int], int]]:
    """What arrives at each offset of the box, and the colour of each vector of the array that is copied."""
    vectors: dict[int, Entry] = {}
    taken: dict[tuple[int, int], int] = {}
    fill = "0" if tensor.fill == "zero" else "NaN"
    for line, vector in np.ndindex(tensor.copied[0], -(-tensor.copied[1] // per_vector)):
        source = row + line * tensor.element_strides[0], column // per_vector + vector
        first = int(tensor.offsets[line, vector * per_vector])
        offset = first // _VECTOR * _VECTOR
        if not (0 <= source[0] < shape[0] and 0 <= source[1] < shape[1]):
            vectors[offset] = Entry((fill,), None, "outside the array")
            continue
        taken[source] = _tint(line, vector)
        text, tooltip = _name(source), _columns_text(*source, per_vector)
        if first != offset:
            text, tooltip = f"{text}*", f"{tooltip}\n{_SWAPPED}"
        vectors[offset] = Entry((text,), taken[source], tooltip)
    return vectors, taken


def _columns_text(row: int, vector: int, per_vector: int) -> str:
    return f"row {row}, columns {index_range(vector * per_vector, per_vector)}"


# -- one access of a warp ----------------------------------------------------------------------------------

_MAX_LINES = 128  # of shared memory that a picture of banks shows


def banks(access: Conflicts, colour: str = "lane", *, counts: bool = False, title: bool = True) -> Picture:
    """One access as it falls on the banks: 128-byte rows, a column for each of the 32 banks.

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
    touched = _touched_words(access)
    lines = sorted({word // BANKS for word in touched})
    if len(lines) > _MAX_LINES:
        raise PtxlabError(f"an access of {len(lines)} 128-byte rows: a picture shows {_MAX_LINES}")
    rows = [
        (str(line * _LINE), [_word(line * BANKS + bank, touched, colour) for bank in range(BANKS)])
        for line in lines
    ]
    number = "the lowest lane that touches it" if colour == "lane" else "the step (wavefront) that serves it"
    notes = [str(access).removesuffix("."), f"number in a cell: {number}"]
    rules: tuple[int, ...] = ()
    if counts and lines:
        rules = (len(lines),)
        delivered = _bank_counts(access)
        rows += delivered
        notes.append("last row: the words that each bank delivers")
        if len(delivered) > 1:
            notes[-1] = "last rows: the words that each bank delivers to lanes that are served together"
    grid = uniform_grid(
        (max(len(rows), 1), BANKS),
        lambda row, bank: rows[row][1][bank] if rows else Entry(),
        [heading for heading, _ in rows],
        1,
        ("byte", "bank"),
        name="banks",
        density="close",
        row_rules=rules,
    )
    return Picture("One access on the 32 banks of shared memory", tuple(notes), (grid,)).with_title(title)


def _touched_words(access: Conflicts) -> dict[int, tuple[list[int], list[int]]]:
    """The lanes that touch each word, and the wavefronts that serve it, in ascending order."""
    schedule = access.schedule
    touched: dict[int, tuple[list[int], list[int]]] = {}
    for lane, number in np.ndindex(*access.words.shape):
        word = int(access.words[lane, number])
        if word >= 0:
            lanes, wavefronts = touched.setdefault(word, ([], []))
            lanes.append(lane)
            wavefronts.append(int(schedule[lane, number]))
    return {word: (lanes, sorted(set(waves))) for word, (lanes, waves) in touched.items()}


def _word(word: int, touched: dict[int, tuple[list[int], list[int]]], colour: str) -> Entry:
    """A word: the lowest lane that touches it, or the wavefront that serves it; in its tooltip all."""
    where = f"bytes {index_range(4 * word, 4)}, bank {word % BANKS}"
    if word not in touched:
        return Entry(tooltip=f"{where}\nno lane")
    lanes, wavefronts = touched[word]
    served = f"lanes {', '.join(map(str, lanes))}\nwavefront {', '.join(map(str, wavefronts))}"
    number = tint = lanes[0]
    if colour == "wavefront":
        number = wavefronts[0]
        tint = (number * 4 % 32 + number // 8) % 32
    return Entry((str(number),), tint, f"{where}\n{served}")


def _bank_counts(access: Conflicts) -> list[tuple[str, list[Entry]]]:
    """For each group of lanes: a heading, and the number of different words of each bank."""
    rows = []
    groups = sorted(set(access.groups[access.words[:, 0] >= 0].tolist()))
    for group in groups:
        lanes = np.flatnonzero(access.groups == group)
        words = np.unique(access.words[lanes])
        served = f"lanes {index_range(int(lanes[0]), len(lanes))}"
        entries = []
        for bank, number in enumerate(np.bincount(words[words >= 0] % BANKS, minlength=BANKS).tolist()):
            heat = (number - 1) / (BANKS - 1) * 0.5 + 0.3 if number > 1 else 0.0
            tooltip = f"bank {bank}, {served}\n{counted(number, 'different word')}"
            entries.append(Entry((str(number),) if number else (), None, tooltip, heat=heat))
        rows.append(("words" if len(groups) == 1 else served, entries))
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
