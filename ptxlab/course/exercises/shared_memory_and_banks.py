"""Lesson 04: banks of shared memory, padding and swizzles, ldmatrix; its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...gemm.matmul import matmul
from ...instruction import Transfer, instruction
from ...memory import SWIZZLES, conflicts
from ...memory.swizzle import swizzled
from ...views import Cell, Grid, Picture, banks
from ...views.charts import bars, table
from ...views.grid import numbered_grid
from ...views.labels import index_range
from ..answers import whole_numbers, whole_result_of
from ..checking import Sentences, checks, correct, drawn, otherwise, when
from ..reader_kernels import compiled, normal_numbers, simulated, where
from .your_first_tensor_core_kernel import INS, LDMATRIX, LOAD, MMA, STORE, TILED


def transfer(name: str) -> Transfer:
    """ldmatrix or stmatrix by its mnemonic."""
    form = instruction(name)
    assert isinstance(form, Transfer)
    return form


ONE = transfer("ldmatrix.sync.aligned.m8n8.x1.shared.b16")
TRANSPOSED = transfer("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16")
FOUR = transfer("ldmatrix.sync.aligned.m8n8.x4.shared.b16")

_LANES = np.arange(32)
_ROW = 128  # bytes: 64 elements of f16
_VECTOR = 16  # bytes that ldmatrix reads of a row
_SIDE = 8  # rows of a matrix of ldmatrix, and its columns

#: Cycles of an H200, from `tests/golden/banks.npz`: ldmatrix.x4 by the distance of its rows in bytes.
CYCLES_BY_PITCH = {64: 16.0, 80: 4.0, 96: 8.0, 112: 4.0, 128: 32.0, 144: 4.0, 192: 16.0, 256: 32.0, 272: 4.0}
#: Likewise: all 32 lanes at one address, by the bytes that a lane loads or stores.
CYCLES_AT_ONE_ADDRESS = {
    4: {"load": 1.0, "store": 1.0},
    8: {"load": 1.0, "store": 2.0},
    16: {"load": 2.0, "store": 4.0},
}

_STRIDES = (20, 24, 48)
_ADDRESS = 400
_BYTES = 32
_SIZES = (192, 80, 256, 64)  # bytes of the rows of four tiles
_ROWS = 16
_NARROW = 64  # bytes of a row
#: Row and column of A; of a matrix in memory.
_AT = drawn("04.5", "`A[{}][{}]`", (11, 13), (9, 14), (12, 11), (14, 9), (10, 15), (13, 12))
_TRANSPOSED_AT = drawn("04.7", "row {}, column {} of memory", (6, 2), (4, 3), (2, 5), (6, 1), (4, 6), (2, 7))
_PITCHES = (32, 80, 144)


# -- what the lesson shows -----------------------------------------------------------------------------------


def eight_rows(pitch: int) -> Picture:
    """The eight rows that ldmatrix.x1 reads, `pitch` bytes apart, on the banks.

    >>> eight_rows(144).notes[0]
    '1 wavefront, no conflicts'
    """
    access = ONE.conflicts(ONE.addresses(stride=pitch))
    return replace(
        banks(access, "wavefront", counts=True), title=f"Eight rows of 16 bytes, {pitch} bytes apart"
    )


def strided(stride: int) -> Picture:
    """A warp whose lane i loads 4 bytes at byte `stride` * i.

    >>> strided(8).notes[0].partition(":")[0]
    '2 wavefronts where 1 would do'
    """
    title = f"Lane i loads 4 bytes at byte {stride} * i"
    return replace(banks(conflicts(_LANES * stride), counts=True), title=title)


def swizzled_rows(swizzle: int) -> Picture:
    """The same vector of eight rows of 128 bytes, read by ldmatrix.x1 under a swizzle, 0 for none.

    >>> swizzled_rows(64).notes[0].partition(":")[0]
    '2 wavefronts where 1 would do'
    """
    access = ONE.conflicts(swizzled(ONE.addresses(2 * _VECTOR, _ROW), swizzle))
    name = f"{swizzle}-byte swizzle" if swizzle else "no swizzle"
    return replace(
        banks(access, "wavefront", counts=True),
        title=f"Vector 2 of eight rows, {_ROW} bytes apart, with {name}",
    )


def cycles_by_pitch() -> Picture:
    """How long an H200 takes for ldmatrix.x4, by the pitch of the tile.

    >>> [cell.text for cell in cycles_by_pitch().grids[0].cells if cell.lines][:3]
    ['16', '4', '8']
    """
    values = {f"{pitch} bytes": cycles for pitch, cycles in CYCLES_BY_PITCH.items()}
    notes = ("by the pitch of the tile", "they equal ptxlab's count of wavefronts")
    return bars(values, "Cycles of ldmatrix.x4, measured on an H200", notes)


def cycles_at_one_address() -> Picture:
    """How long an H200 takes if all lanes have the same address, by the bytes of a lane.

    >>> [cell.text for cell in cycles_at_one_address().grids[0].cells if cell.lines]
    ['1', '1', '1', '2', '2', '4']
    """
    values = {f"{width} bytes": dict(cycles) for width, cycles in CYCLES_AT_ONE_ADDRESS.items()}
    notes = ("by the bytes of a lane", "stores follow the rule, wide loads take half as long")
    return bars(values, "Cycles with all 32 lanes at one address, measured on an H200", notes)


def rows_of_a() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The row of A, and its first column, whose address each lane gives to ldmatrix.x4.

    >>> rows, columns = rows_of_a()
    >>> int(rows[27]), int(columns[27])
    (11, 8)
    """
    lanes = np.array(FOUR.address_lanes)
    matrix, row = lanes[:, 1], lanes[:, 2]
    return row + matrix % 2 * _SIDE, matrix // 2 * _SIDE


def cures() -> Picture:
    """A tile of 64 x 64 f16 as it is, padded and swizzled: what each costs.

    >>> cures().grids[0].at(1, 0).text
    '9216 bytes'
    """
    rows, first = rows_of_a()
    columns = ["the tile takes", "ldmatrix.x4 takes", "a vector begins at", "wgmma reads it\n(lesson 06)"]
    texts = {}
    for name, pitch, swizzle in (
        (f"rows of {_ROW} bytes", _ROW, 0),
        ("padded by 16 bytes", _ROW + 16, 0),
        (f"{_ROW}-byte swizzle", _ROW, _ROW),
    ):
        wavefronts = FOUR.conflicts(swizzled(rows * pitch + 2 * first, swizzle)).wavefronts
        vector = "(vector ^ row % 8)" if swizzle else "vector"
        texts[name] = [
            f"{64 * pitch} bytes",
            f"{wavefronts} wavefronts",
            f"row * {pitch} +\n{vector} * {_VECTOR}",
            "yes" if swizzle else "no",
        ]
    shades = {"32 wavefronts": 0.6, "9216 bytes": 0.6, "no": 0.6, "yes": -0.4, "4 wavefronts": -0.4}
    return table(texts, columns, "Two cures for a tile of 64 x 64 f16", shades=shades)


def lanes_of_ldmatrix(lane: int) -> Picture:
    """A of m16n8k16 through ldmatrix.x4: the row whose address a lane gives, and the elements that it gets.

    >>> before, after = lanes_of_ldmatrix(13).grids
    >>> before.at(13, 0).text, after.at(3, 2).text
    ('T13', 'T13:r0')
    """
    places = zip(*(indices.tolist() for indices in rows_of_a()), strict=True)
    parts = [Cell(row, column, 1, _SIDE, (f"T{giver}",), giver) for giver, (row, column) in enumerate(places)]
    rows = _grid((_ROWS, _ROWS), parts, "the lane that supplies the address", lane)
    parts = []
    for holder, register, row, column in _registers(FOUR):
        matrix = row // _SIDE
        row, column = row % _SIDE + matrix % 2 * _SIDE, column + matrix // 2 * _SIDE
        parts.append(Cell(row, column, 1, 2, (f"T{holder}:r{register}",), holder))
    elements = _grid((_ROWS, _ROWS), parts, "the lane that gets the elements, and its register", lane)
    notes = (f"outlined: lane {lane}", "r0 to r3 are the four registers that the instruction writes")
    grids = (replace(rows, axes=("m", "k")), replace(elements, axes=("m", "k")))
    return Picture("A of m16n8k16, loaded by one ldmatrix.x4", notes, grids)


def transposed() -> Picture:
    """A matrix of 8 x 8 in memory: the lane that gets each element from ldmatrix, and with .trans.

    >>> rows, plain, trans = transposed().grids
    >>> plain.at(3, 5).text, trans.at(3, 5).text
    ('T14:r0', 'T21: r0')
    """
    shape = (_SIDE, _SIDE)
    givers = [Cell(row, 0, 1, _SIDE, (f"T{giver}",), giver) for giver, _, row in ONE.address_lanes]
    grids = [_grid(shape, givers, "who gives the address")]
    parts = [Cell(row, column, 1, 2, (f"T{lane}:r0",), lane) for lane, _, row, column in _registers(ONE)]
    grids.append(_grid(shape, parts, "who gets the elements"))
    parts = [
        Cell(row, column, 2, 1, (f"T{lane}:", "r0"), lane) for lane, _, row, column in _registers(TRANSPOSED)
    ]
    grids.append(_grid(shape, parts, "who gets them with .trans"))
    notes = ("rows and columns as they are in memory", "a cell is the two elements of a register")
    return Picture("ldmatrix.x1, without and with .trans", notes, tuple(grids))


def _registers(form: Transfer) -> list[tuple[int, int, int, int]]:
    """Lane, register, and the row and column of the first of its two elements, for every register."""
    coords = form.register_operand.coords()
    return [
        (lane, register, *coords[lane, 2 * register].tolist())
        for lane in range(form.lanes)
        for register in range(form.register_operand.registers)
    ]


def _grid(shape: tuple[int, int], cells: Sequence[Cell], title: str, focus: int | None = None) -> Grid:
    """Cells that lanes hold, each with its place and lane as tooltip; all lanes but `focus` are faded."""
    hover = np.full(shape, "", dtype=object)
    for cell in cells:
        rows, columns = index_range(cell.row, cell.height), index_range(cell.column, cell.width)
        here = slice(cell.row, cell.row + cell.height), slice(cell.column, cell.column + cell.width)
        hover[here] = f"row {rows}, column {columns}\nlane {cell.lane}"
    if focus is not None:
        cells = [replace(cell, state="mark" if cell.lane == focus else "dim") for cell in cells]
    grid = numbered_grid(cells, hover, title=title, density="close")
    return replace(grid, row_rules=tuple(range(_SIDE, shape[0], _SIDE)))


# -- exercises ---------------------------------------------------------------------------------------------


@checks("04.1")
def _wavefronts_of_loads(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 4, "four numbers of wavefronts")
    loads = (*(_LANES * stride for stride in _STRIDES), np.full(32, _ADDRESS))
    expected = tuple(int(conflicts(load).wavefronts) for load in loads)
    in_bytes = tuple(int(np.gcd(stride, _ROW)) for stride in _STRIDES)
    words = [stride // 4 for stride in _STRIDES]
    return {
        correct(submitted == expected): f"The strides are {words[0]}, {words[1]} and {words[2]} words. An "
        "odd stride visits all banks before it comes back to the first one; each factor of 2 in it halves "
        "the number of banks that are used. And if all lanes want the same word, it is delivered once.",
        when(submitted[3] == 32): "Look at the last load: the lanes want the *same* word of a bank, and "
        "share it. Only different words of one bank collide.",
        when(submitted[:3] == in_bytes): "You counted banks of one byte. A bank is 4 bytes wide, so first "
        "turn the strides into words.",
        when(submitted[:3] == tuple(32 // count for count in expected[:3])): "Those are the numbers of "
        "banks that the lanes touch. How many words does each of them have to deliver?",
        when(submitted[0] != expected[0]): f"Look at the first load: {_STRIDES[0]} bytes are {words[0]} "
        f"words, so lane i is at bank {words[0]} * i % 32. When do two lanes come to the same bank?",
        when(submitted[1] != expected[1]): f"The first is right. For the second, write down {words[1]} * i "
        "% 32 until the numbers repeat: which lane is the first that comes back to bank 0?",
        when(submitted[2] != expected[2]): f"The first two are right. For the third, write down {words[2]} "
        "* i % 32 until the numbers repeat, and count the lanes of bank 0.",
        otherwise: "The first three are right. In the fourth, how many different words are wanted?",
    }


@checks("04.2")
def _wavefronts_of_wide_loads(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "three numbers of wavefronts")
    loads = (_LANES * _BYTES, _LANES // 8 * 16, _LANES % 8 * 16)
    expected = tuple(int(conflicts(load, 16).wavefronts) for load in loads)
    return {
        correct(submitted == expected): "In the first, lanes 0 and 4 of every eight want the same four "
        "banks, and there are four times eight lanes. In the second, neighbours share their address, so "
        "lanes are served 16 at a time. In the third, neighbours differ: the same 128 bytes are delivered "
        "four times.",
        when(submitted[1:] == (1, 1)): "All the bytes of the last two would fit into one wavefront. But a "
        "wavefront carries 128 bytes *to the lanes*: how many lanes is that, at 16 bytes each?",
        when(submitted[0] * 4 == expected[0]): "The first is right for the first eight lanes. The others "
        "wait for their turn.",
        when(submitted[0] in (1, 4)): "Look at the first load: which banks do lanes 0, 1, 2, 3 and 4 read? "
        "Four banks each.",
        when(submitted[0] != expected[0]): "Look at the first load, and at its first eight lanes: how many "
        "different words does bank 0 deliver? Then there are three more groups of eight.",
        when(submitted[1] == 4): "The first is right. In the second load, compare the addresses of lanes i "
        "and i ^ 1: this is the exception.",
        when(submitted[1] == 1): "The first is right. In the second load, twice as many lanes are served at "
        "a time as usual. How many is that, and how many wavefronts do 32 lanes take?",
        when(submitted[1] == expected[1] and submitted[2] == expected[1]): "The first two are right. In the "
        "third load, do lanes i and i ^ 1 share an address? Do i and i ^ 2?",
        when(submitted[1] == expected[1] and submitted[2] == 1): "The first two are right. In the third, "
        "lanes 0 and 8 share an address, but they are not served together.",
        otherwise: "The first is right. For the other two, ask: how many lanes are served at a time, and "
        "how many wavefronts does that make for 32 lanes?",
    }


@checks("04.3")
def _pitches(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 4, "four numbers of bytes")
    expected = tuple(next(filter(_free, range(size, size + _ROW, 16))) for size in _SIZES)
    padded = tuple(size + 16 for size in _SIZES)
    in_elements = submitted in (
        tuple(size // 2 for size in expected),
        (*(e // 2 for e in expected[:3]), expected[3]),
    )
    return {
        correct(submitted == expected): "Eight rows use all banks if the pitch is an odd number of 16-byte "
        "vectors: then the rows begin at eight different places of a 128-byte row. Rows of 80 bytes are "
        "five vectors, and need no padding.",
        when(submitted == _SIZES): "Without padding only one of the four has no conflicts. Count the "
        "16-byte vectors of a row: an even number comes back to the same banks too early.",
        when(submitted == padded): "None of them has conflicts, but one needs no padding at all. Which row "
        "is already an odd number of vectors?",
        when(in_elements): "Those are elements. An element of f16 has two bytes.",
        when(any(pitch % 16 for pitch in submitted)): "A pitch has to be a multiple of 16 bytes, since "
        "ldmatrix takes no other addresses: one word of padding, which is enough for loads of 4 bytes, is "
        "not possible here.",
        when(any(pitch < size for pitch, size in zip(submitted, _SIZES, strict=True))): "A pitch cannot be "
        "smaller than the row, or the next row would overwrite its end.",
        when(all(_free(pitch) for pitch in submitted)): "All four are without conflicts, but not all are "
        "the smallest possible.",
        otherwise: f"Look at {next((pitch for pitch in submitted if not _free(pitch)), 0)}: at which of the "
        "eight 16-byte places of a 128-byte row does each of the rows 0 to 7 begin? No two may be "
        "equal.",
    }


def _free(pitch: int) -> bool:
    """Whether ldmatrix has no conflicts with rows that are `pitch` bytes apart."""
    return (
        pitch % 16 == 0 and 0 < pitch < 1 << 12 and ONE.conflicts(ONE.addresses(stride=pitch)).wavefronts == 1
    )


@checks("04.4")
def _wavefronts_by_swizzle(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 4, "four numbers of wavefronts")
    expected = _by_swizzle(_NARROW)
    return {
        correct(submitted == expected): f"Two rows of {_NARROW} bytes share a 128-byte row, so they begin at "
        "two places of it, and the XOR with its number doubles the places with every bit. Two bits are "
        "enough: that is why a row as wide as the swizzle has no conflicts.",
        when(submitted == _by_swizzle(_ROW)): f"Those are the numbers for rows of {_ROW} bytes. Here the "
        "rows are shorter, and two of them share a 128-byte row.",
        when(submitted[0] == 8): f"Without a swizzle: row r begins at byte {_NARROW} * r. Do all rows begin "
        "at the same place of a 128-byte row?",
        when(submitted[0] != expected[0]): f"Without a swizzle: the rows begin at byte {_NARROW} * r, at "
        "two places of a 128-byte row. How many rows at each of them?",
        when(submitted[1] != expected[1]): "Without a swizzle, right. The 32-byte swizzle XORs one bit: "
        "what is in even 128-byte rows stays, what is in odd ones moves by one place. How many different "
        "places is that?",
        when(submitted[2] != expected[2]): "The first two are right. The 64-byte swizzle XORs two bits of "
        "the number of the 128-byte row, and there are four such rows. How many different places do the "
        "eight rows of the tile have now?",
        otherwise: "The first three are right. The 128-byte swizzle XORs one more bit. But the four "
        "128-byte rows are numbered 0 to 3: what is in that bit?",
    }


def _by_swizzle(pitch: int) -> tuple[int, ...]:
    """Wavefronts of ldmatrix.x1 for rows that are `pitch` bytes apart, under every swizzle."""
    rows = ONE.addresses(stride=pitch)
    return tuple(int(ONE.conflicts(swizzled(rows, width)).wavefronts) for width in sorted(SWIZZLES))


@checks("04.5")
def _lanes(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(lane that supplies, lane that gets, register)`")
    row, column = _AT
    matrix = row // _SIDE + column // _SIDE * 2
    gives, gets = matrix * _SIDE + row % _SIDE, row % _SIDE * 4 + column % _SIDE // 2
    expected = (gives, gets, matrix)
    return {
        correct(submitted == expected): f"It is in the lower right matrix, number {matrix}, so its row is "
        f"that of lane 8 * {matrix} + {row % _SIDE}. In each matrix four lanes share a row, two elements "
        f"each, and matrix {matrix} goes to register {matrix}: for the mma, the same lane and register as "
        "always.",
        when(submitted == (gets, gives, matrix)): "The two lanes are swapped. The lane that supplies an "
        "address is not the one that gets the data.",
        when(submitted[0] == row): "Lanes 0 to 15 supply the addresses of the *left* half, columns 0 to 7. "
        "This element is further right.",
        when(submitted[0] == row % _SIDE): "That lane supplies the address of a row of matrix 0. In which "
        "of the four matrices is this element?",
        when(submitted[0] == gets): "You named one lane for both. Lanes supply addresses row by row: eight "
        "lanes for each matrix.",
        when(submitted[0] != gives): "Find the matrix first: 0 is top left, 1 below it, 2 and 3 to the "
        "right. Lane 8 * matrix + row supplies the address, where row counts inside the matrix.",
        when(submitted[1] == gives): "The first lane is right. But the data goes elsewhere: every lane gets "
        "two elements of each matrix.",
        when(submitted[1] == row * 4 + column % _SIDE // 2): "The first lane is right. For the second, "
        "count the rows inside the matrix, 0 to 7.",
        when(submitted[1] != gets): "The first lane is right. In each matrix the lane that gets an element "
        "is 4 * row + column // 2, counted inside the matrix.",
        when(submitted[2] == 2 * matrix + column % 2): "Both lanes are right. You counted elements; a "
        "register holds two of them.",
        otherwise: "Both lanes are right. Each of the four matrices fills one register.",
    }


@checks("04.6")
def _address(answer: object) -> Sentences:
    form = "`address(lane, pitch)` returns a number of bytes"
    addresses = np.array(
        [[whole_result_of(answer, lane, pitch, form=form) for lane in range(32)] for pitch in _PITCHES]
    )
    lane, pitch = _LANES, np.array(_PITCHES)[:, None]
    expected = lane % 16 * pitch + lane // 16 * _VECTOR
    at = next((int(number) for number in np.argwhere((addresses != expected).any(axis=0))[:1, 0]), 0)
    return {
        correct((addresses == expected).all()): "Lanes 0 to 15 go down the left half, lanes 16 to 31 down "
        "the right half, 8 elements or 16 bytes further. With this order the registers are those of the "
        "mma, and nothing has to be moved.",
        when((addresses == lane % 8 * pitch + lane // 16 * 8 * pitch + lane // 8 % 2 * _VECTOR).all()): "You "
        "swap matrices 1 and 2: lanes 8 to 15 have to go *down*, since register 1 of A holds rows 8 to 15. "
        "(For B, which has no such order, some kernels use yours.)",
        when((addresses == lane % 8 * pitch + lane // 8 * _VECTOR).all()): "This reads four matrices side by "
        "side, 8 rows and 32 columns. A has 16 rows.",
        when((addresses == lane * pitch).all()): "This reads 32 rows of the tile. A has 16, with two "
        "matrices side by side.",
        when((addresses == lane % 16 * pitch + lane // 16 * 8).all()): "The rows are right. But addresses "
        "are bytes, and 8 elements of f16 are more than 8 bytes.",
        when((addresses == (lane % 16 * pitch + lane // 16 * 8) * 2).all()): "The pitch is in bytes "
        "already; only the columns count as elements.",
        when((addresses == lane % 16 * pitch).all()): "The left half is right. Lanes 16 to 31 supply the "
        "rows of the right half.",
        when((addresses[:, :8] == expected[:, :8]).all()): f"Right for matrix 0. Look at lane {at}: which "
        "matrix is its row in, and where does that matrix begin?",
        otherwise: f"Look at lane {at}: find its matrix, lane // 8, and its row there, lane % 8.",
    }


@checks("04.7")
def _transposed_place(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, half)`")
    row, column = _TRANSPOSED_AT
    right, plain = (form.register_operand.where(row, column)[0] for form in (TRANSPOSED, ONE))
    expected = (right.lane, right.low // 16)
    return {
        correct(submitted == expected): f"Column {column} of memory becomes row {column} of what the lanes "
        f"get: lanes {4 * column} to {4 * column + 3}, two rows of memory each. Row {row} is even, so it is "
        "in the lower half.",
        when(submitted == (plain.lane, plain.low // 16)): "That is right without `.trans`. With it, a lane "
        "gets two elements of a *column*.",
        when(submitted[0] == row): "That lane supplies the address of the row. Which lane gets the element?",
        when(submitted[0] == right.lane and submitted[1] not in (0, 1)): "The lane is right. A register has "
        "two halves: 0 or 1.",
        when(submitted[0] == right.lane): "The lane is right. It gets two rows of memory: which of them "
        "comes first, and so is in the lower half?",
        when(submitted[0] == column * 4): "The four lanes are right. Each of them gets two rows of memory: "
        "which has this one?",
        when(submitted[0] // 4 == column): "The group of four lanes is right. Each of them gets two rows of "
        "memory.",
        when(submitted[0] == column * 8 + row): "That counts elements. A lane gets two of them.",
        otherwise: "In the picture on the right, go to this row and this column.",
    }


@checks("04.8")
def _place(answer: object) -> Sentences:
    kernel = compiled(answer, "place", MMA + LOAD + STORE + LDMATRIX, TILED)
    A, B, D = normal_numbers((16, 64), 5), normal_numbers((64, 8), 6), np.full((16, 8), np.nan, np.float32)
    advice = (
        "A vector begins at a multiple of 16, and the tile ends after 2048 bytes: there is no room to pad."
    )
    result = simulated(kernel, (1, 1), 32, (A, np.ascontiguousarray(B.T), D), advice)
    wrong = matmul(A, B, instruction=INS) != D
    excess = sum(result.conflicts.values())
    reads = sum(
        executed.moved.conflicts for executed in result.profile if executed.instruction.parts[0] == "ldmatrix"
    )
    return {
        correct(not wrong.any() and not excess and not result.hazards): "The same vector of eight "
        "neighbouring rows is now at eight different places of a 128-byte row, and so are the eight vectors "
        "of a row. No byte is wasted, and every `ldmatrix` takes four wavefronts.",
        when(wrong.any()): f"{where(wrong)}. Do two vectors go to the same place? Every one of the 128 needs "
        "its own.",
        when(
            excess and not reads
        ): f"D is right, and `ldmatrix` has no conflicts. But the stores that fill the tile take "
        f"{excess} wavefronts more than needed: eight lanes store the eight vectors of one *row*. Which of "
        "them are in the same banks?",
        when(excess == 112): "D is right, but nothing is gained: there are still 112 wavefronts too "
        "many. The same vector of eight neighbouring rows is still in the same four banks.",
        when(excess == 48): "D is right and more than half of the conflicts are gone, but some rows of "
        "every eight still share a place. How many different numbers does your formula combine with the "
        "vector?",
        otherwise: f"D is right, but shared memory takes {excess} wavefronts more than needed. Which of "
        "rows 0 to 7 have vector 0 at the same place in their row?",
    }
