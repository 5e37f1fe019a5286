"""Lesson 26: tensor memory: allocation, addresses, the layouts of D, and loads; its pictures."""

from __future__ import annotations

from dataclasses import replace

from ...instruction import instruction
from ...isa.tcgen05 import TensorTransfer
from ...isa.tensor_operand import COLUMNS, LANES, accessible_lanes
from ...tcgen05_instruction import TensorInstruction
from ...views import Header, Picture, tensor_memory, tensor_registers
from ...views.charts import bars
from ...views.colour_keys import VECTOR_HUES
from ...views.grid import Entry, uniform_grid
from ...views.labels import index_range
from ..answers import whole_number_set, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when

WARP = 32
_CELL_COLUMNS = 32  # of tensor memory, in the picture of what is allocated
MAX_REGISTERS = 255

#: Sizes of D, from one that a warpgroup holds easily to one that is far too large for it.
TILES = {f"{m} x {n}": (m, n) for m, n in ((64, 64), (64, 128), (64, 256), (128, 256), (256, 256))}

#: Loads of eight columns each.
LOADS = ("32x32b.x8", "16x64b.x4", "16x128b.x2", "16x256b.x1", "16x32bx2.x4")


def mma_form(mnemonic: str, descriptor: int | None = None, **parts: object) -> TensorInstruction:
    """A form of tcgen05.mma with an instruction descriptor, or with parts of one."""
    form = instruction(mnemonic, descriptor=descriptor, **parts)
    assert isinstance(form, TensorInstruction)
    return form


def load_form(shape: str) -> TensorTransfer:
    """The tcgen05.ld of a shape and count."""
    form = instruction(f"tcgen05.ld.sync.aligned.{shape}.b32")
    assert isinstance(form, TensorTransfer)
    return form


# -- what the lesson shows -----------------------------------------------------------------------------------


def sums(tile: str) -> Picture:
    """How many registers D takes in each thread, by the number of threads that share it; with tcgen05, none.

    >>> [cell.text for cell in sums("128 x 256").grids[0].cells if cell.lines]
    ['256: too many', '128', '64', '0']
    """
    m, n = TILES[tile]
    values = {f"wgmma, {threads} threads": float(m * n / threads) for threads in (128, 256, 512)}
    values["tcgen05"] = 0.0

    def text(number: float) -> str:
        return f"{number:.0f}{': too many' if number > MAX_REGISTERS else ''}"

    notes = (
        f"a thread has at most {MAX_REGISTERS} registers, and needs some of them for other things",
        f"with tcgen05, D takes {max(m // LANES, 1) * n} of the {COLUMNS} columns of tensor memory",
    )
    title = f"Registers of each thread for D of {m} x {n}, f32"
    return bars(values, title, notes, text=text, most=512)


def addresses(lane: int, column: int) -> str:
    """A tensor-memory address: the lane in the upper 16 bits, the column in the lower.

    >>> addresses(64, 32)
    '0x00400020'
    """
    return f"0x{lane << 16 | column:08x}"


def allocated(n: int) -> Picture:
    """How the columns of an SM are allocated if every block has two accumulators of 128 x n.

    >>> allocated(96).notes
    ('two accumulators take 192 columns, and 256 are allocated', '2 blocks fit on an SM')
    """
    needed = 2 * n
    power = max(32, 1 << (needed - 1).bit_length())
    blocks, wide = COLUMNS // power, power // _CELL_COLUMNS

    def entry(_: int, at: int) -> Entry:
        block, column = divmod(_CELL_COLUMNS * at, power)
        accumulator = column // n
        where = f"columns {index_range(_CELL_COLUMNS * at, _CELL_COLUMNS)}: block {block}"
        if accumulator >= 2:
            return Entry(("unused",), tooltip=f"{where}, allocated, but not used")
        tint = VECTOR_HUES[block % 8] * 4 + 2 * accumulator
        return Entry((f"D{accumulator}",), tint, f"{where}, accumulator {accumulator}")

    grid = replace(
        uniform_grid((1, COLUMNS // _CELL_COLUMNS), entry, ["128 lanes"], [], density="close"),
        columns=tuple(Header(wide * block, wide, (f"block {block}",)) for block in range(blocks)),
        column_rules=tuple((wide * block, 0, 1) for block in range(1, blocks)),
    )
    notes = (
        f"two accumulators take {needed} columns, and {power} are allocated",
        f"{blocks} block{'s fit' if blocks > 1 else ' fits'} on an SM",
    )
    return Picture(f"{COLUMNS} columns, a cell is {_CELL_COLUMNS} of them", notes, (grid,))


def accessible(warp: int) -> Picture:
    """All of tensor memory, with the lanes that tcgen05.ld and tcgen05.st of one warp may touch.

    >>> picture = accessible(6)
    >>> picture.notes[0], picture.grids[0].at(2, 1).text
    ('warp 6 loads and stores lanes 64..95: 6 % 4 = 2', '0x00400040')
    """
    step = 64
    shape = LANES // WARP, COLUMNS // step
    lanes = accessible_lanes(warp)

    def entry(row: int, at: int) -> Entry:
        first, column = WARP * row, step * at
        mine = first == lanes.start
        tooltip = (
            f"lanes {index_range(first, WARP)}, columns {index_range(column, step)}\n"
            f"{'for' if mine else 'not for'} tcgen05.ld and .st of warp {warp}"
        )
        text = addresses(first, column)
        return Entry((text,), VECTOR_HUES[row] * 4 + 1, tooltip, "plain" if mine else "dim")

    rows = [f"lanes {index_range(WARP * row, WARP)}" for row in range(shape[0])]
    columns = [index_range(step * at, step) for at in range(shape[1])]
    grid = uniform_grid(shape, entry, rows, columns, ("", "column"), density="close")
    notes = (
        f"warp {warp} loads and stores lanes {index_range(lanes.start, WARP)}: {warp} % 4 = {warp % 4}",
        "a cell has the address of its first word; the next column is 1 further, the next lane 0x10000",
    )
    return Picture(f"{LANES} lanes by {COLUMNS} columns of 32 bits", notes, (grid,))


#: The layouts of D in tensor memory, each with an instruction that uses it: its name, and M.
LAYOUTS = {
    "D: M = 128": ("mma.cta_group::1", 128),
    "F: M = 64": ("mma.cta_group::1", 64),
    "E: M = 64, .ws": ("mma.ws.cta_group::1", 64),
    "G: M = 32, .ws": ("mma.ws.cta_group::1", 32),
    "A: M = 256, cta_group::2": ("mma.cta_group::2", 256),
    "B: M = 128, cta_group::2": ("mma.cta_group::2", 128),
}


def data_path(layout: str) -> Picture:
    """One of the manual's layouts: which rows and columns of D are in which lanes and columns.

    >>> data_path("F: M = 64").grids[0].at(32, 0).text
    'm 16..31, n 0..127'
    """
    name, m = LAYOUTS[layout]
    picture = tensor_memory(mma_form(f"tcgen05.{name}.kind::f16", m=m, n=128), "D")
    return replace(picture, title=f"Layout {layout}")


def registers(load: str) -> Picture:
    """Which thread of warp 0 gets each word, and in which register, for a shape of tcgen05.ld.

    >>> registers("16x256b.x1").grids[0].at(9, 3).text
    'T5:{r2,r3}'
    """
    return tensor_registers(load_form(load))


# -- exercises -----------------------------------------------------------------------------------------------

_WIDTH, _DEPTH = 96, 64  # columns of an accumulator, K of A


@checks("26.1")
def _columns(answer: object) -> Sentences:
    needed, allocated, blocks = whole_numbers(answer, 3, "`(columns needed, columns allocated, blocks)`")
    right = 2 * _WIDTH + _DEPTH // 2
    power = 1 << (right - 1).bit_length()
    return {
        correct((needed, allocated, blocks) == (right, power, COLUMNS // power)): f"{right} are needed, and "
        f"{power} is the next power of two. A third block has to wait in `tcgen05.alloc` until one of the "
        "two has finished: the instruction blocks, it does not fail.",
        when(needed == _WIDTH + _DEPTH // 2): "There are two accumulators.",
        when(needed == 2 * _WIDTH + _DEPTH): "A is f16: two of its elements share a word of 32 bits.",
        when(needed == 2 * _WIDTH): "Those are the accumulators. A is also there.",
        when(needed != right): f"A row of D takes {_WIDTH} words of its lane, one for each f32; a row of A "
        "takes half as many words as it has elements.",
        when(allocated == right): "The first is right. But `tcgen05.alloc` takes only powers of two, at "
        "least 32.",
        when(allocated != power): "The first is right. Which is the next power of two?",
        otherwise: f"The first two are right. How many times do {power} columns fit into {COLUMNS}?",
    }


_WARPS, _LANE = 12, 71


@checks("26.2")
def _warps(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of warps")
    first_warp = _LANE // WARP
    expected = {warp for warp in range(_WARPS) if _LANE in accessible_lanes(warp)}
    digits = int(f"{_LANE:x}")  # its two hexadecimal digits, read as decimal ones
    return {
        correct(submitted == expected): f"`{_LANE:x}` in the upper half is lane {_LANE}, in the third "
        "32 lanes. The rank of a warp modulo 4 decides, so a kernel can let warps 4 to 7 load D without "
        "renumbering them.",
        when(not submitted): "Some warps can.",
        when(any(not 0 <= warp < _WARPS for warp in submitted)): "Some of those warps do not exist: "
        f"the block has warps 0 to {_WARPS - 1}.",
        when(submitted == set(range(_WARPS))): "No warp reaches all lanes: each has 32 of them.",
        when(submitted == {first_warp}): "That is one of them. Look at the slider again: what does warp 6 "
        "have in common with warp 2?",
        when(submitted <= {warp for warp in range(_WARPS) if warp % 4 == digits // WARP}): "The address is "
        f"hexadecimal: 0x{_LANE:x} is not {_LANE:x}.",
        when(submitted < expected): "Not all of them yet. The rank of a warp modulo 4 decides.",
        otherwise: "Upper 16 bits: the lane. Divide it by 32: that is the rank of the warp modulo 4.",
    }


_ROW, _COL = drawn("26.3", "`D[{}][{}]`", (21, 100), (25, 110), (18, 105), (30, 97), (27, 121))
_N = 128
_FORMS = (("mma.cta_group::1", 64), ("mma.ws.cta_group::1", 64), ("mma.ws.cta_group::1", 32))


@checks("26.3")
def _places(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 6, "three times lane and column")
    pairs = list(zip(submitted[::2], submitted[1::2], strict=True))
    where = [mma_form(f"tcgen05.{name}.kind::f16", m=m, n=_N).d.where(_ROW, _COL)[0] for name, m in _FORMS]
    expected = [(place.lane, place.column) for place in where]
    first, second, third = (pair == right for pair, right in zip(pairs, expected, strict=True))
    return {
        correct(first and second and third): "Three layouts, one idea: keep the lanes of all four warps "
        "busy, each with their own rows or their own columns. To check: "
        f"`half.d.where({_ROW}, {_COL})`.",
        when(pairs[0][0] == _ROW): "M = 64: row r is not in lane r. Each 32 lanes have 16 rows: in "
        "which 32 is this one?",
        when(pairs[0][0] == 2 * _ROW): "M = 64: rows do not take every second lane. 16 rows stay together, "
        "then 16 lanes are free.",
        when(not first): f"M = 64: 16 rows in each 32 lanes. Row {_ROW} is number {_ROW % 16} of "
        f"its 16; all {_N} columns are side by side.",
        when(pairs[1] == pairs[0]): "M = 64 is right. With `.ws` no lane is left free: half of the columns "
        "are below the others.",
        when(pairs[1] == (_ROW, _COL)): f"M = 64 is right. With `.ws`, columns {_N // 2} and above are "
        "in lanes 64 and above.",
        when(not second and pairs[1][0] == expected[1][0]): f"The lane is right. Columns {_N // 2} and "
        "above begin at column 0 of tensor memory again.",
        when(not second): f"M = 64 is right. With `.ws`: rows in lanes 0 to 63; columns {_N // 2} and "
        "above in lanes 64 to 127.",
        when(pairs[2] == pairs[1]): "Both with M = 64 are right. With M = 32 there are four groups of "
        "columns, a quarter each.",
        when(pairs[2][0] == expected[2][0]): f"All lanes are right. Each quarter of the {_N} columns begins "
        "at column 0 again.",
        otherwise: f"Both with M = 64 are right. With M = 32: which quarter of the {_N} columns is {_COL} "
        "in, and which one is it within that quarter?",
    }


_AT = (77, 13)


@checks("26.4")
def _threads(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 4, "twice thread and register")
    first, (thread, register) = submitted[:2], submitted[2:]
    plain, fragment = (load_form(shape).slots(*_AT)[0] for shape in ("32x32b.x64", "16x256b.x8"))
    row, column = _AT[0] % 16, _AT[1]
    expected = (plain.thread, plain.register, fragment.thread, fragment.register)
    return {
        correct(submitted == expected): "With `32x32b` a thread has a row of D to itself: good for a "
        "softmax, which needs sums over rows. With `16x256b` it has what an `mma` would have given it, so "
        "the code after it can stay as it is.",
        when(first == _AT[::-1]): "With `32x32b`: a thread has a lane, and its registers are columns, not "
        "the other way round.",
        when(first[0] == _AT[0] % WARP): "With `32x32b`: count the threads of all four warps, 0 to 127.",
        when(first != expected[:2]): "With `32x32b`: each thread has a lane of its own, and register r holds "
        "column r.",
        when(thread == fragment.thread % WARP): "The first is right. Row 77 is in warp 2, whose threads are "
        "64 to 95.",
        when(not 64 <= thread < 96): "The first is right. Lane 77 belongs to warp 2, and no other warp can "
        "load it.",
        when(thread != fragment.thread): f"The first is right. In its warp it is row {row} of 16: rows r and "
        "r + 8 belong to the same four threads, 4 (r % 8) and on, each with two neighbouring columns of "
        "eight.",
        when(register == fragment.register % 4): f"Three are right. Column {column} is not among the first "
        "eight: the next eight columns have the next four registers.",
        otherwise: "Three are right. Of four registers two are for row r, two for row r + 8; this is row "
        f"{row}, column {column % 8} of the eight columns from {column // 8 * 8} on.",
    }


_A_ROW, _A_K, _A_AT = 40, 27, 0x00100020


@checks("26.5")
def _operand(answer: object) -> Sentences:
    lane, column, low = whole_numbers(answer, 3, "`(lane, column, lowest bit)`")
    form = mma_form("tcgen05.mma.cta_group::1.kind::f8f6f4", m=64, n=64).a_from("tensor")
    (place,) = form.tensors["A"].where(_A_ROW, _A_K)
    first_lane, first_column = _A_AT >> 16, _A_AT & 0xFFFF
    expected = place.lane + first_lane, place.column + first_column, place.low
    return {
        correct((lane, column, low) == expected): "So D may also begin at lane 16, and must do so if A "
        "does: a product in the upper 16 of each 32 lanes and one in the lower 16 share columns of "
        "tensor memory. That is how M = 64 wastes nothing.",
        when(lane == place.lane): "That is its lane if A began at lane 0. The upper half of the address is "
        f"0x{first_lane:04x}.",
        when(lane in (_A_ROW, _A_ROW + first_lane)): "With M = 64 row r is not r lanes from the first: 16 "
        "rows are in each 32 lanes.",
        when(lane != expected[0]): f"Which 16 rows is row {_A_ROW} in? Each 16 rows begin 32 lanes further; "
        "A begins at lane 16.",
        when(column == place.column): f"The lane is right. A begins at column 0x{first_column:x}, not at 0.",
        when(column == first_column + _A_K): "The lane is right. Four elements of 8 bits share a column.",
        when(column != expected[1]): "The lane is right. Four elements of 8 bits share a column, and A "
        f"begins at column {first_column}.",
        otherwise: "Lane and column are right. The first of four is in bits 0 to 7.",
    }
