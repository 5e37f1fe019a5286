"""Lesson 30: fragments as CuTe's and Triton's layouts; its pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, quoted
from ...instruction import mma_instruction
from ...isa.cute import CuteLayout
from ...isa.layout import Layout, Mode, fragment, tiled
from ...isa.operand import Operand
from ...views import Cell, Picture
from ...views import fragment as fragment_picture
from ...views.charts import table
from ...views.colour_keys import warp_tint
from ...views.grid import Entry, numbered_grid, uniform_grid
from ..answers import WrongForm, first_wrong, numbers, result_of, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when

HALF = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
TF32 = mma_instruction("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
S4 = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
FP8 = mma_instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
#: What the first picture shows.
OPERANDS = {"C of m16n8k16": (HALF, "C"), "A, f16": (HALF, "A"), "A of m16n8k64, s4": (S4, "A")}
#: A matrix of 16 x 8 in memory, as CuTe writes it.
MEMORIES = {
    "column-major": "(16,8):(1,16)", "row-major": "(16,8):(8,1)", "row-major, 128 columns": "(16,8):(128,1)"
}  # fmt: skip
#: Warps of a TiledMMA: down the rows, along the columns.
WARPS = {"1 x 1": (1, 1), "2 x 1": (2, 1), "1 x 2": (1, 2), "2 x 2": (2, 2), "4 x 1": (4, 1)}

_C = fragment(16, 8, 2)
_TILE = (64, 32)
_COPY = "((8,16),8):((128,1),16)"  # 128 threads, 8 elements each, of a tile of 16 x 64

_LANE, _VALUE = drawn("30.1", "value {1} of lane {0}", (22, 3), (13, 3), (26, 3), (19, 3), (30, 3))
_OF_B = drawn("30.3", "lane {} hold as value {}", (13, 2), (22, 3), (27, 2), (18, 3), (7, 2))
_PITCH = 256
_MOVED = (6, 7)  # lane and value of four C
_AT = (41, 18)  # row and column of a tile of 64 x 64, for 2 x 4 warps
_MODES = (
    ((4, 32), (8, 1)),
    ((2, 16), (2, 8)),
    ((8, 16), (2, 8), (2, 512)),
    ((4, 128), (8, 1), (4, 16)),
    ((8, 1),),
)


def cute_of(operand: Operand) -> tuple[str, str]:
    """CuTe's layout of an operand and its sizes, with B as CUTLASS has it: (N,K).

    >>> cute_of(HALF.b)
    ('((4,8),(2,2)):((16,1),(8,64))', '(T32,V4) -> (N8,K16)')
    """
    assert operand.layout is not None
    layout = operand.layout.T if operand.name == "B" else operand.layout
    axes = {"A": ("M", "K"), "B": ("N", "K")}.get(operand.name, ("M", "N"))
    sizes = ",".join(f"{axis}{size}" for axis, size in zip(axes, layout.shape, strict=True))
    return layout.cute, f"(T{layout.lanes},V{layout.elements}) -> ({sizes})"


def four_tiles() -> CuteLayout:
    """C of four m16n8 side by side, 16 x 32: the 16 values that a lane would need as A of m16n8k32.

    >>> str(four_tiles())
    '((4,8),(2,2,4)):((32,1),(16,8,128))'
    """
    return CuteLayout.read(tiled(_C, (), (16, 32)).cute)


# -- what the lesson shows -----------------------------------------------------------------------------------


def three_ways(operand: str) -> Picture:
    """The manual's formula of an operand, CuTe's layout and Triton's bases, and below them the fragment.

    >>> three_ways("C of m16n8k16").grids[0].at(1, 0).lines
    ('((4,8),(2,2)):((32,1),(16,8))', '(T32,V4) -> (M16,N8)')
    """
    form, name = OPERANDS[operand]
    shown = form.operand(name)
    assert shown.layout is not None
    bases = {
        which: ", ".join(f"({row},{column})" for row, column in vectors)
        for which, vectors in shown.layout.bases.items()
    }
    texts = {
        "PTX": [shown.layout.formula()],
        "CuTe": ["\n".join(cute_of(shown))],
        "Triton": [f"register: {bases['register']}\nlane: {bases['lane']}"],
    }
    words, (picture,) = table(texts, [""], "").grids[0], fragment_picture(form, name).grids
    return Picture(f"{name} of {form.shape}", (), (words, replace(picture, new_line=True)))


def index_sum(lane: int) -> Picture:
    """The column-major index of every element of C, and the sums that give those of a lane.

    >>> index_sum(13).notes[0]
    'lane 13 has the digits (1,3): 1 * 32 + 3 * 1 = 35'
    """
    layout = CuteLayout.read(_C.cute)
    low, high = lane % 4, lane // 4
    base = layout(lane, 0)
    notes = [f"lane {lane} has the digits ({low},{high}): {low} * 32 + {high} * 1 = {base}"]
    for value in range(1, 4):
        one, two = value % 2, value // 2
        notes.append(f"value {value}, ({one},{two}): + {one} * 16 + {two} * 8 = {layout(lane, value)}")
    index = np.arange(128).reshape(8, 16).T
    return _owned(_C, index, lane, "Index in C, counted down the columns", tuple(notes))


def in_memory(memory: str, lane: int = 13) -> Picture:
    """C in memory: the offset of every element, and the layout of memory composed with that of the lanes.

    >>> in_memory("row-major").notes[-1]
    '(16,8):(8,1) after ((4,8),(2,2)):((32,1),(16,8)) = ((4,8),(2,2)):((2,8),(1,64))'
    """
    outer, inner = CuteLayout.read(MEMORIES[memory]), CuteLayout.read(_C.cute)
    notes = (f"outlined: lane {lane}", f"{outer} after {inner} = {outer.compose(inner)}")
    return _owned(_C, outer.offsets(), lane, f"Offset in memory, {memory}", notes)


def _owned(
    layout: Layout, texts: NDArray[np.int64], lane: int, title: str, notes: tuple[str, ...]
) -> Picture:
    """A number for each element, in the colour of the lane that holds it; one lane is outlined."""
    place = layout.scatter()

    def entry(row: int, column: int) -> Entry:
        owner, value = divmod(int(place[row, column]), layout.elements)
        text = str(texts[row, column])
        tooltip = f"C[{row}][{column}]: {text}\nlane {owner}, value {value}"
        return Entry((text,), owner, tooltip, "mark" if owner == lane else "dim")

    return Picture(title, notes, (uniform_grid(layout.shape, entry, 1, 1, ("m", "n"), density="close"),))


def tiled_mma(warps: str) -> Picture:
    """A tile of C of 64 x 32, a cell for each m16n8: the warp that computes it, and the values that it gets.

    >>> tiled_mma("2 x 2").grids[0].at(1, 1).lines
    ('warp 3', 'V0..3')
    """
    layout = tiled_c(*WARPS[warps])

    def entry(row: int, column: int) -> Entry:
        thread, value = layout.locate(16 * row, 8 * column)
        text = f"warp {thread // 32}", f"V{value}..{value + 3}"
        where = f"rows {16 * row} to {16 * row + 15}, columns {8 * column} to {8 * column + 7}"
        return Entry(text, warp_tint(thread // 32), f"{where}\n{', '.join(text)}")

    rows, columns = (
        [f"{at}..{at + size - 1}" for at in range(0, end, size)]
        for end, size in zip(_TILE, (16, 8), strict=True)
    )
    grid = uniform_grid((len(rows), len(columns)), entry, rows, columns, ("m", "n"))
    notes = (layout.signature.replace("(64,32)", "(M64,N32)"), layout.cute)
    return Picture(f"C of 64 x 32 by {warps} warps of m16n8k16", notes, (grid,))


def tiled_c(down: int, along: int, shape: tuple[int, int] = _TILE) -> Layout:
    """C by a TiledMMA of m16n8 with that many warps down the rows and along the columns.

    >>> tiled_c(2, 2).cute
    '((4,8,2,2),(2,2,2,2)):((128,1,16,512),(64,8,32,1024))'
    """
    warps: tuple[Mode, ...] = ((down, 1, 0), (along, 0, 1))
    return tiled(_C, warps, shape)


def tiled_copy() -> Picture:
    """A tile of 16 x 64 f16 that 128 threads copy, 16 bytes each: the thread of each row's eight parts.

    >>> tiled_copy().grids[0].at(3, 16).text
    'T26'
    """
    layout = Layout.from_cute(_COPY, (16, 64))
    cells, hover = [], np.full(layout.shape, "", dtype=object)
    for thread in range(layout.lanes):
        row, column = layout.coords()[thread, 0].tolist()
        cells.append(Cell(row, column, 1, 8, (f"T{thread}",), thread // 32 * 8 + thread % 8))
        hover[row, column : column + 8] = f"row {row}, columns {column} to {column + 7}\nthread {thread}"
    grid = numbered_grid(cells, hover, ("m", "k"), density="close")
    heads = tuple(
        replace(head, size=8, lines=(f"{head.start}..{head.start + 7}",)) for head in grid.columns[::8]
    )
    notes = ("a cell is 8 elements of f16, 16 bytes", "threads 0 to 31, a warp, copy four whole rows")
    return Picture("A tile of 16 x 64, copied by 128 threads", notes, (replace(grid, columns=heads),))


class _Bits(NamedTuple):
    title: str
    inputs: dict[str, list[tuple[int, int]]]
    shape: tuple[int, int]


def _swizzle_bases(swizzled: bool) -> list[tuple[int, int]]:
    """Offset in a tile of 8 rows of 64 f16 -> (row, column), with the 128-byte swizzle or without one."""
    return [
        *((0, 1 << bit) for bit in range(6)),
        *((1 << bit, 8 << bit if swizzled else 0) for bit in range(3)),
    ]


def _bit_tables() -> dict[str, _Bits]:
    tables = {}
    for name, operand in (("C of m16n8k16", HALF.c), ("A with f16", HALF.a), ("A with e4m3", FP8.a)):
        assert operand.layout is not None
        bases = {dimension: list(vectors) for dimension, vectors in operand.layout.bases.items() if vectors}
        tables[name] = _Bits(name, bases, operand.shape)
    tables["tile, row-major"] = _Bits(
        "8 rows of 64 f16 in memory", {"offset": _swizzle_bases(False)}, (8, 64)
    )
    title = "The same rows with the 128-byte swizzle"
    tables["tile, swizzled"] = _Bits(title, {"offset": _swizzle_bases(True)}, (8, 64))
    return tables


def names_in_triton() -> Picture:
    """The layouts that a dump of Triton's compiler names, and what the course calls them.

    >>> names_in_triton().grids[0].at(5, 0).text
    'the bases of this lesson'
    """
    texts = {
        "#ttg.blocked": ["what a TiledCopy says", "30"],
        "#ttg.nvidia_mma": ["C and D of mma (versionMajor 2)\nor of wgmma (3)", "01, 05"],
        "#ttg.dot_op": ["A and B in registers; kWidth:\nneighbours along k in a lane", "01"],
        "#ttg.swizzled_shared": ["a tile in shared memory,\nas ldmatrix reads it", "04"],
        "#ttg.nvmma_shared": ["a tile in shared memory, as\nTMA writes and wgmma reads it", "06, 08"],
        "#ttg.linear": ["the bases of this lesson", "30"],
    }
    shown = {name: [text, f"lesson{'s' * (',' in where)} {where}"] for name, (text, where) in texts.items()}
    return table(shown, ["says", "see"], "Layouts in a dump of Triton's compiler")


#: What the picture of bits shows.
BITS = tuple(_bit_tables())


def bit_matrix(layout: str) -> Picture:
    """A linear layout as a matrix of bits: a column for each bit that goes in, a row for each that comes out.

    >>> bit_matrix("C of m16n8k16").grids[0].at(0, 1).text      # bit 1 of the register sets 8 in the row
    '1'
    """
    shown = _bit_tables()[layout]
    vectors = [
        (name, 1 << bit, vector) for name, found in shown.inputs.items() for bit, vector in enumerate(found)
    ]
    outputs = [
        (axis, name, 1 << bit)
        for axis, (name, size) in enumerate(zip(("row", "column"), shown.shape, strict=True))
        for bit in reversed(range((size - 1).bit_length()))
    ]

    def entry(row: int, column: int) -> Entry:
        axis, output, weight = outputs[row]
        name, number, vector = vectors[column]
        is_set = bool(vector[axis] & weight)
        words = f"{name} {number} goes to row {vector[0]}, column {vector[1]}"
        return Entry(
            ("1" if is_set else "",), None, f"{words}\n{output} bit {weight}", heat=0.7 if is_set else 0.0
        )

    rows = [f"{name} {weight}" for _, name, weight in outputs]
    columns = [f"{name}\n{number}\n({vector[0]},{vector[1]})" for name, number, vector in vectors]
    twice = sum(bin(row).count("1") + bin(column).count("1") > 1 for _, _, (row, column) in vectors)
    note = (
        f"{twice} bits go to two places: XOR"
        if twice
        else "one each: only the order of bits changes, and strides can say it"
    )
    grid = uniform_grid((len(outputs), len(vectors)), entry, rows, columns)
    return Picture(shown.title, ("a column is a basis: the (row,column) where that bit goes", note), (grid,))


# -- exercises -----------------------------------------------------------------------------------------------


def _read(answer: object, lanes: int, values: int) -> NDArray[np.int64]:
    """The offsets of every lane's values by the text of a layout."""
    form = 'a text such as `"((4,8),2):((8,1),32)"`'
    if not isinstance(answer, str):
        raise WrongForm(f"{quoted(answer)} is no text; the answer is {form}.")
    try:
        offsets = CuteLayout.read(answer).offsets()
    except PtxlabError as error:
        raise WrongForm(f"{error}.") from None
    if offsets.ndim != 2:
        raise WrongForm(
            f"Your layout has {offsets.ndim} outermost modes. It takes two, the lane and the value: {form}."
        )
    if offsets.shape == (values, lanes):
        raise WrongForm("The lane comes first, then the value.")
    if offsets.shape != (lanes, values):
        raise WrongForm(
            f"Your layout has {offsets.shape[0]} lanes with {offsets.shape[1]} values each; there are "
            f"{lanes}, with {values} each."
        )
    return offsets


def _offsets(text: str) -> NDArray[np.int64]:
    return CuteLayout.read(text).offsets()


def _is(submitted: NDArray[np.int64], text: str) -> bool:
    other = _offsets(text)
    return submitted.shape == other.shape and bool((submitted == other).all())


@checks("30.1")
def _index_of_c(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(index, row, column)`")
    index = CuteLayout.read(_C.cute)(_LANE, _VALUE)
    column, row = divmod(index, 16)
    at_zero, slow = CuteLayout.read(_C.cute)(_LANE, 0), _LANE // 8 * 32 + _LANE % 8 + 24
    return {
        correct(submitted == (index, row, column)): f"Lane {_LANE} is ({_LANE % 4},{_LANE // 4}), value "
        f"{_VALUE} is (1,1), and each column adds 16 to the index. Lesson 01 has the same place: groupID "
        f"{_LANE // 4} plus 8, and 2 * threadID_in_group + 1.",
        when(submitted == (index, column, row)): "All three numbers are right, but the row comes before the "
        "column.",
        when(submitted[0] == index and submitted[1:] == divmod(index, 8)): "The index is right. But it "
        "counts down the columns, which have 16 elements; you divided by the 8 columns.",
        when(submitted[0] == index): "The index is right. A column has 16 elements: which column is it in, "
        "and how far down?",
        when(submitted[0] == at_zero): f"That is the index of value 0. Add the two digits of value {_VALUE}.",
        when(submitted[0] == slow): "You took the lane apart with its last digit fastest. In CuTe the "
        "leftmost digit is the fastest: lane % 4 comes first.",
        when(submitted[0] == index - 8 or submitted[0] == index - 16): f"Nearly: value {_VALUE} has two "
        "digits that are not 0.",
        otherwise: "Take the lane apart: lane % 4 and lane // 4. Then the value: value % 2 and value // 2. "
        "Multiply each of the four digits by its stride, and add.",
    }


@checks("30.2")
def _a_with_tf32(answer: object) -> Sentences:
    submitted = _read(answer, 32, 4)
    expected = _offsets(cute_of(TF32.a)[0])
    where = first_wrong(submitted, expected, "lane {}, value {}")
    return {
        correct(not where): "Each lane holds single elements: a digit of the lane goes along k, column by "
        "column, and the values go eight rows down, then four columns to the right. CUTLASS has the same "
        "in `SM80_16x8x8_F32TF32TF32F32_TN`.",
        when(_is(submitted, _C.cute)): "That is C, whose lanes hold two neighbours. A `tf32` fills its "
        "register: where in the picture is a1 of lane 0?",
        when(_is(submitted, "((4,8),(2,2)):((16,1),(64,8))")): "The lanes are right. You go right before "
        "you go down: where is a1 of lane 0, and where is a2?",
        when(_is(submitted, "((4,8),(2,2)):((1,8),(64,4))")): "Those strides count along the rows. The "
        "index goes *down the columns*: the next column is 16 further.",
        when(_is(submitted, "((8,4),(2,2)):((1,16),(8,64))")): "The values are right, but your lanes 0 to 7 "
        "go down the rows. The leftmost digit is the fastest: where is lane 1?",
        when(
            _is(submitted, "((4,8),(2,2)):((8,1),(4,32))") or _is(submitted, "((4,8),(2,2)):((8,1),(8,32))")
        ): "You counted columns of 8. A has 16 rows.",
        when((submitted[:, 0] == expected[:, 0]).all()): "Value 0 is right in every lane. Follow lane 0 "
        f"through the picture from a0 to a3; the first that is wrong is {where}.",
        when((submitted[0] == expected[0]).all()): "Lane 0 is right. Now go from lane 0 to lane 1, and "
        f"from lane 0 to lane 4; the first that is wrong is {where}.",
        otherwise: f"The first that is wrong is {where}. For each digit ask: how many rows and columns "
        "further is one more of it? A row is 1, a column 16.",
    }


@checks("30.3")
def _element_of_b(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(k, n)`")
    lane, value = _OF_B
    assert HALF.b.layout is not None
    k, n = HALF.b.layout.coords()[lane, value].tolist()
    index = n + 8 * k
    return {
        correct(submitted == (k, n)): f"The index is {index}, and here a column of the map has 8 elements, "
        "because its rows are N. The text alone does not say so; its comment, `(T32,V4) -> (N8,K16)`, does.",
        when(submitted == (n, k)): "Both are right, but `B[k][n]` has k first. CUTLASS's B is (N,K), and "
        "ours (K,N): that is the trap.",
        when(submitted in ((index // 16, index % 16), (index % 16, index // 16))): f"The index is {index}, "
        "but you divided it as for A with 16 rows. Here the rows are N: 8 of them.",
        otherwise: f"First the index: lane {lane} has the digits ({lane % 4},{lane // 4}), value {value} has "
        f"({value % 2},{value // 2}). Then divide it by the size that runs fastest: N8.",
    }


@checks("30.4")
def _in_a_wide_matrix(answer: object) -> Sentences:
    submitted = _read(answer, 32, 4)
    inner = CuteLayout.read(_C.cute)

    def after(memory: str) -> NDArray[np.int64]:
        return CuteLayout.read(memory).compose(inner).offsets()

    expected = after(f"(16,8):({_PITCH},1)")
    where = first_wrong(submitted, expected, "lane {}, value {}")
    return {
        correct(not where): "The stride of value 1 is 1: two neighbours in memory, so one 8-byte store takes "
        "both. Value 2 is eight rows further down.",
        when(_is(submitted, _C.cute)): "That is C before the composition: an index, not an offset in memory.",
        when((submitted == after("(16,8):(8,1)")).all()): "That would be a matrix of 8 columns. In this one "
        f"a row begins {_PITCH} elements after the row above.",
        when((submitted == 4 * expected).all()): "You counted bytes. CuTe counts elements.",
        when((submitted == after(f"(16,8):(1,{_PITCH})")).all()): "That is a column-major matrix. In a "
        "row-major one the next column is 1 further.",
        when((submitted[:, :2] == expected[:, :2]).all()): "Values 0 and 1 are right. Value 2 is *eight* "
        "rows down.",
        when((submitted[:, 0] == expected[:, 0]).all()): "The lanes are right. Where does value 1 go: how "
        "many rows, how many columns?",
        otherwise: f"The first that is wrong is {where}. Ask of each stride how many rows and columns it was "
        f"(16 is one column, 8 is eight rows), then write {_PITCH} * rows + columns.",
    }


@checks("30.5")
def _moved(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, value)`")
    assert FP8.a.layout is not None
    composed = CuteLayout.read(FP8.a.layout.cute).right_inverse().compose(four_tiles())
    index = composed(*_MOVED)
    value, lane = divmod(index, 32)
    row, column = divmod(four_tiles()(*_MOVED), 16)[::-1]
    return {
        correct(submitted == (lane, value)): f"It is element ({row},{column}) in both. It has to change its "
        "lane, which takes a shuffle. With `f16` the same composition is the identity: the D of one product "
        "is the A of the next as it is.",
        when(submitted == (value, lane)): "Both are right, but the lane comes first.",
        when(submitted == _MOVED): "There it would not move at all. Put its digits into the last layout that "
        "is printed.",
        when(submitted[0] == lane): "The lane is right. The value is what is left of the index, divided by "
        "32.",
        when(submitted == tuple(divmod(index, 16)[::-1])): "The result counts lanes first, and there are 32.",
        when(submitted[1] == value): "The value is right. The lane is index % 32.",
        otherwise: f"Take lane {_MOVED[0]} apart by ((2,2),8), and value {_MOVED[1]} by (2,2,(2,2)): three "
        "and four digits. Multiply them by the strides, and add; the sum is lane + 32 * value.",
    }


@checks("30.6")
def _in_a_tiled_mma(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(thread, value)`")
    row, column = _AT
    thread, value = tiled_c(2, 4, (64, 64)).locate(row, column)
    warp, lane = divmod(thread, 32)
    triton = tiled(_C, ((2, 1, 0), (4, 0, 1)), (64, 64), "columns first").locate(row, column)[1]
    by_columns = 32 * (warp % 2 * 4 + warp // 2) + lane
    blocks = 32 * (row // 32 + 2 * (column // 16)) + lane
    return {
        correct(submitted == (thread, value)): f"Row {row} is in the third m16 from above, which is warp row "
        f"0 again, and column {column} in warp column 2: warp 0 + 2 * 2. The lane and the value inside m16n8 "
        "are lesson 01's, and each further m16 adds 4 to the value.",
        when(submitted == (value, thread)): "Both are right, but the thread comes first.",
        when(submitted[0] == by_columns): "You counted the warps along n first. The leftmost digit is the "
        "fastest: (2,4) counts down the rows first.",
        when(submitted[0] == blocks): "You gave each warp one block of neighbouring rows. A TiledMMA puts "
        "its warps side by side first, then begins again.",
        when(submitted[0] == lane): "That is the lane in its warp. Which warp is it, and how many threads "
        "come before?",
        when(submitted == (thread, triton)): "The thread is right. That is the value in Triton's order, "
        "along n first; CuTe goes down the rows first.",
        when(submitted == (thread, value % 4)): "The thread is right, and so is the value inside m16n8. How "
        "many m16n8 of this warp come before?",
        when(submitted[0] == thread): "The thread is right. Each m16n8 takes four values: first the "
        "values of the upper one, then the values of the one below it.",
        when(submitted[1] == value): "The value is right. The thread is 32 * warp + lane.",
        otherwise: f"Which m16n8 is it: row {row} // 16, column {column} // 8? The two numbers modulo 2 and "
        "modulo 4 are the warp's place; what is left says how often the warps have begun again.",
    }


@checks("30.7")
def _copied(answer: object) -> Sentences:
    submitted = _read(answer, 64, 8)
    expected = _offsets("((2,32),8):((256,1),32)")
    where = first_wrong(submitted, expected, "thread {}, value {}")
    return {
        correct(not where): "Two threads share a row, so the first digit has size 2, and its step goes 8 "
        "columns on: 8 * 32. It is the notation of an `mma`, though no tensor core takes part.",
        when((submitted == np.arange(512).reshape(64, 8)).all()): "That is where the data is in a row-major "
        "array: thread * 8 + value. The map goes to (M,K), whose index runs down the columns.",
        when(_is(submitted, "((32,2),8):((1,256),32)")): "Your threads 0 to 31 go down the rows, so that "
        "neighbours load from different rows. Threads 0 and 1 are to share row 0.",
        when(_is(submitted, "((2,32),8):((32,1),64)")): "Your threads take every second column. A thread "
        "loads 16 bytes at once, so its 8 values are neighbours.",
        when(_is(submitted, "((2,32),8):((128,1),16)")): "Those strides are for 16 rows. This tile has 32: "
        "the next column is 32 further.",
        when((submitted[:2] == expected[:2]).all()): "The first row is right. Where does thread 2 begin?",
        when((submitted[0] == expected[0]).all()): "Thread 0 is right. Where does thread 1 begin, and where "
        "thread 2?",
        otherwise: f"The first that is wrong is {where}. A row is 1, a column is 32; the values of a thread "
        "are neighbours in a row.",
    }


@checks("30.8")
def _bases_of_modes(answer: object) -> Sentences:
    form = "`bases(modes)` returns a list of numbers"
    submitted, expected = [], []
    for modes in _MODES:
        submitted.append(numbers(result_of(answer, list(modes), form=form), form))
        expected.append(
            tuple(stride << bit for size, stride in modes for bit in range(size.bit_length() - 1))
        )
    wrong = next(
        (at for at, (mine, right) in enumerate(zip(submitted, expected, strict=True)) if mine != right), None
    )
    shown = ":".join(f"({','.join(str(mode[at]) for mode in _MODES[wrong or 0])})" for at in (0, 1))

    strides = [tuple(stride for _, stride in modes) for modes in _MODES]
    steps = [tuple(stride * i for size, stride in modes for i in range(1, size)) for modes in _MODES]
    numbered = [
        tuple(stride * (i + 1) for size, stride in modes for i in range(size.bit_length() - 1))
        for modes in _MODES
    ]
    return {
        correct(wrong is None): "A digit of size 8 is three bits, worth 1, 2 and 4 strides. So every layout "
        "whose sizes are powers of 2 has bases.",
        when(submitted == strides): "That is one number for each mode. A mode of size 8 is three bits: 1, 2 "
        "and 4 of its steps.",
        when(submitted == steps): "Those are all steps of each digit. A basis is where *one bit* goes: 1, 2, "
        "4, ... steps.",
        when(submitted == numbered): "Bit 2 is worth four steps, not three.",
        when(submitted == [basis[::-1] for basis in expected]): "All are right, but in the wrong order: the "
        "lowest bit comes first, as the leftmost mode does.",
        when(
            all(sorted(mine) == sorted(right) for mine, right in zip(submitted, expected, strict=True))
        ): "The numbers are right, but not in this order: the leftmost mode has the lowest bits.",
        otherwise: f"For {shown} it returns {quoted(list(submitted[wrong or 0][:12]))}. How many bits has a "
        "digit of that size, and how many strides is each worth?",
    }


@checks("30.9")
def _from_triton(answer: object) -> Sentences:
    submitted = _read(answer, 32, 16)
    expected = _offsets(cute_of(FP8.a)[0])
    where = first_wrong(submitted, expected, "lane {}, value {}")
    return {
        correct(not where): "It is A of `mma.m16n8k32` with 8-bit elements, four of which share a register "
        "of 32 bits: Triton's *register* counts elements.",
        when(_is(submitted, "((4,8),(4,2,2)):((4,32),(1,256,16))")): "Those strides are for a row-major "
        "matrix, 32 * row + column. CuTe's index here is row + 16 * column.",
        when(_is(submitted, "((4,8),(4,2,2)):((4,1),(1,8,16))")): "A column counts 16 in the index; you "
        "took the numbers as they are.",
        when(_is(submitted, "((4,8),(2,2,2,2)):((64,1),(16,8,32,256))")): "The lanes are right. The bits of "
        "the register keep their order: (0,2) comes before (8,0).",
        when((submitted[:, 0] == expected[:, 0]).all()): "The lanes are right. The first that is wrong is "
        f"{where}; the bases of the register are the strides of its bits, in their order.",
        when((submitted[0] == expected[0]).all()): "The values are right. The first that is wrong is "
        f"{where}: which bit of the lane is it?",
        otherwise: f"The first that is wrong is {where}. Write each basis as row + 16 * column; bases that "
        "double from one to the next join into one mode.",
    }
