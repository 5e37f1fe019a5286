"""Lessons 26 and 27: where D is in tensor memory, and the product that one thread issues."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...errors import PtxlabError
from ...instruction import instruction
from ...isa.instruction_descriptor import InstructionDescriptor, ZeroColumnMask
from ...isa.tcgen05 import Tcgen05Mma, Tcgen05Transfer
from ...isa.tensor_memory import COLUMNS, LANES, accessible_lanes
from ...views import Cell, Grid, Header, Picture, tensor_memory, tensor_registers
from ...views.charts import bars, table
from ...views.colours import CHUNK_HUES
from ...views.grid import Entry, uniform_grid
from ...views.labels import index_range
from ..answers import WrongForm, whole_number_set, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when
from ..reader_kernels import ExplainedPart, explained_part

WARP = 32
_CELL_COLUMNS = 32  # of tensor memory, in the picture of what is allocated
MAX_REGISTERS = 255

#: Sizes of D, from one that a warpgroup holds easily to one that is far too large for it.
TILES = {f"{m} x {n}": (m, n) for m, n in ((64, 64), (64, 128), (64, 256), (128, 256), (256, 256))}

#: Loads of eight columns each.
LOADS = ("32x32b.x8", "16x64b.x4", "16x128b.x2", "16x256b.x1", "16x32bx2.x4")


def mma_form(text: str, descriptor: int | None = None, **parts: object) -> Tcgen05Mma:
    """A form of tcgen05.mma, by what follows `tcgen05.`."""
    form = instruction(f"tcgen05.{text}", descriptor=descriptor, **parts)
    assert isinstance(form, Tcgen05Mma)
    return form


def load_form(shape: str) -> Tcgen05Transfer:
    """The tcgen05.ld of a shape and count."""
    form = instruction(f"tcgen05.ld.sync.aligned.{shape}.b32")
    assert isinstance(form, Tcgen05Transfer)
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
        tint = CHUNK_HUES[block % 8] * 4 + 2 * accumulator
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
        return Entry((text,), CHUNK_HUES[row] * 4 + 1, tooltip, "plain" if mine else "dim")

    rows = [f"lanes {index_range(WARP * row, WARP)}" for row in range(shape[0])]
    columns = [index_range(step * at, step) for at in range(shape[1])]
    grid = uniform_grid(shape, entry, rows, columns, ("", "column"), density="close")
    notes = (
        f"warp {warp} loads and stores lanes {index_range(lanes.start, WARP)}: {warp} % 4 = {warp % 4}",
        "a cell has the address of its first word; the next column is 1 further, the next lane 0x10000",
    )
    return Picture(f"{LANES} lanes by {COLUMNS} columns of 32 bits", notes, (grid,))


def issuers() -> Picture:
    """Who issues each instruction, and how one knows that it is done.

    >>> issuers().grids[0].at(1, 0).text
    'one thread'
    """
    rows = {
        "alloc, dealloc": ["one warp", "when the warp goes on"],
        "mma, cp": ["one thread", "commit, then wait at an mbarrier"],
        "commit": ["the thread that issued them", "arrives at the mbarrier when they are complete"],
        "ld, st": ["each warp, its own 32 lanes", "wait::ld, wait::st"],
    }
    notes = ("PTX ISA, Issue Granularity", "with cta_group::2: one thread of a pair of CTAs issues mma")
    return table(rows, ["who issues it", "how you know that it is done"], "tcgen05 by issuer", notes)


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
    picture = tensor_memory(mma_form(f"{name}.kind::f16", m=m, n=128), "D")
    return replace(picture, title=f"Layout {layout}")


def registers(load: str) -> Picture:
    """Which thread of warp 0 gets each word, and in which register, for a shape of tcgen05.ld.

    >>> registers("16x256b.x1").grids[0].at(9, 3).text
    'T5:{r2,r3}'
    """
    return tensor_registers(load_form(load))


def masked(skip: int) -> Picture:
    """The columns of B that a zero-column mask makes count as zeros, for each M of .ws.

    >>> masked(3).notes[0]
    '0x0003028000000000: 4 columns of B as they are and 3 as zeros, in turn'
    """
    mask = ZeroColumnMask(use=4, skip=skip)
    n = 64
    rows = (128, 64, 32)
    zeros = [mask.zeros(m, n) for m in rows]

    def entry(row: int, column: int) -> Entry:
        meaning = "counts as zero" if zeros[row][column] else "as it is"
        tooltip = f"M = {rows[row]}, column {column}: {meaning}"
        return Entry((), None if zeros[row][column] else 2, tooltip)

    names = [f"M = {m}" for m in rows]
    grid = uniform_grid((3, n), entry, names, 8, ("", "column of B"), density="close")
    grid = replace(grid, column_rules=((32, 1, 2), *((at, 2, 3) for at in (16, 32, 48))))
    notes = (
        f"0x{mask.code:016x}: {str(mask).rstrip('.')}",
        "grey columns count as zeros; with M = 64 and 32 the runs start again in each half or quarter",
    )
    return Picture("A mask in runs", notes, (grid,))


_WHO = ("warp 0", "one thread", "tensor core", "all warps")

#: The steps of a kernel around tcgen05.mma, in order: who takes the step, and what happens without it.
STEPS = {
    "alloc": ("warp 0", "There is no address: D would be in memory that belongs to another block."),
    "st.shared": ("all warps", "A and B are not there."),
    "fence.proxy": (
        "all warps",
        "The tensor core reads shared memory through another path, the async proxy, and may see what was "
        "there before.",
    ),
    "barrier": ("all warps", "One thread issues the product before the others have stored A and B."),
    "mma": ("one thread", "D keeps what it held before."),
    "commit": ("one thread", "Nothing arrives at the mbarrier, and the block waits forever."),
    "try_wait": ("all warps", "The product is not complete when D is loaded: some of its sums are missing."),
    "fence::after": (
        "all warps",
        "tcgen05.ld is itself asynchronous: without the fence it may run before the wait.",
    ),
    "ld": ("all warps", "D stays in tensor memory, where no other instruction can read it."),
    "wait::ld": ("all warps", "The registers may be read before they are filled."),
    "dealloc": (
        "warp 0",
        "The manual requires it: while the columns are allocated, a later block waits for them in alloc.",
    ),
}


def without(left_out: str) -> Picture:
    """The steps of a kernel, and what happens if the step `left_out` is missing; "nothing" leaves none out.

    >>> without("commit").notes[0]
    'without commit: Nothing arrives at the mbarrier, and the block waits forever'
    """
    shape = len(STEPS), len(_WHO)
    cells, hover = [], np.full(shape, "", dtype=object)
    for row, who in np.ndindex(*shape):
        name = list(STEPS)[row]
        issued = _WHO[who] == STEPS[name][0]
        text = name if issued else ""
        if who == _WHO.index("tensor core") and name in ("commit", "try_wait"):
            text = "D += A B"
        if not text:
            cells.append(Cell(row, who, 1, 1, (), role="blank"))
            continue
        gone = name == left_out and issued
        words = f"no {text}" if gone else text
        cells.append(Cell(row, who, 1, 1, (words,), CHUNK_HUES[who] * 4 + 1, "mark" if gone else "plain"))
        hover[row, who] = f"{_WHO[who]}: {text}"
    grid = Grid(
        shape, tuple(cells), hover,
        tuple(Header(row, 1, (str(row + 1),)) for row in range(shape[0])),
        tuple(Header(at, 1, (who,)) for at, who in enumerate(_WHO)),
        ("step", ""), density="close",
    )  # fmt: skip
    notes: tuple[str, ...] = ("each step comes after the one above it",)
    if left_out in STEPS:
        notes = (f"without {left_out}: {STEPS[left_out][1].rstrip('.')}",)
    return Picture("From alloc to dealloc", notes, (grid,))


# -- the kernel, part by part --------------------------------------------------------------------------------

#: The parts of the kernel of a tcgen05.mma: (name, a text in its first line): what to notice there.
STOPS = {
    ("what there is", 'extern "C"'): "128 threads, a warpgroup: one warp for each 32 lanes. In "
    "shared memory there are A, B, a word for an address, and an mbarrier.",
    ("alloc", "// Allocate"): "All threads of warp 0 execute `alloc`, which writes the address to shared "
    "memory. Then the block declares that it will not allocate again, so other blocks on the SM need not "
    "wait for it.",
    ("hand over", "// One arrival"): "The mbarrier expects one arrival, that of `commit`. After the barrier "
    "of the block all threads may read the address. The two fences order what happens in tensor memory "
    "before and after it.",
    ("where things are", "own_lanes ="): "Each warp adds its own lanes to an address. Both descriptors are a "
    "constant, without a swizzle, and the address of the tile in units of 16 bytes. Then a loop begins, "
    "with one product in each iteration.",
    ("A and B", "// A and B"): "Threads store core matrices, 8 rows of 16 bytes. The fence hands them over "
    "to the async proxy, through which the tensor core reads.",
    ("C", "// C to tensor memory"): "D = A B + C, where C is what is in the place of D beforehand. Each "
    "thread stores its lane, column by column, and waits for its stores (`wait::st`); after the barrier all "
    "of C is there.",
    ("mma", "// One thread"): "`elected` picks one thread of warp 0. It has everything: the address of D, "
    "two descriptors of shared memory, the instruction descriptor, and whether to add C. `commit` follows "
    "at once.",
    ("wait", "wait(barrier"): "All threads wait. An mbarrier counts phases, whose parity changes from one "
    "product to the next.",
    ("D", "// D to"): "Each thread loads its lane, and `load` waits (`wait::ld`) after each `ld`. That is "
    "simple, and slow: a real kernel loads 32 or more columns at once and waits for all of them.",
    ("dealloc", "if (warp == 0)"): "When all threads have loaded, warp 0 frees the columns.",
}
PARTS = [name for name, _ in STOPS]


def part(source: str, stop: str) -> ExplainedPart:
    """A part of the kernel of a tcgen05.mma, with its explanation.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    >>> sum(len(part(ins.kernel, stop).lines) for stop in PARTS)
    76
    """
    return explained_part(source, stop, STOPS)


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
        when(needed == 2 * _WIDTH): "Those are the accumulators. A is there too.",
        when(needed != right): f"A row of D takes {_WIDTH} words of its lane, one for each f32; a row of A "
        "takes half as many words as it has elements.",
        when(allocated == right): "The first is right. But `tcgen05.alloc` takes only powers of two from 32 "
        "on.",
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
    where = [mma_form(f"{name}.kind::f16", m=m, n=_N).d.where(_ROW, _COL)[0] for name, m in _FORMS]
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
        when(pairs[1] == (_ROW, _COL)): f"M = 64 is right. With `.ws`, columns {_N // 2} and on are in "
        "lanes 64 and on.",
        when(not second and pairs[1][0] == expected[1][0]): f"The lane is right. Columns {_N // 2} and on "
        "begin at column 0 of tensor memory again.",
        when(not second): f"M = 64 is right. With `.ws`: rows in lanes 0 to 63; columns from {_N // 2} on "
        "in lanes 64 to 127.",
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
    one, r_one, two, r_two = whole_numbers(answer, 4, "twice thread and register")
    plain, fragment = (load_form(shape).slots(*_AT)[0] for shape in ("32x32b.x64", "16x256b.x8"))
    row, column = _AT[0] % 16, _AT[1]
    is_right = (one, r_one, two, r_two) == (plain.thread, plain.register, fragment.thread, fragment.register)
    return {
        correct(is_right): "With `32x32b` a thread has a row of D to itself: good for a softmax, which "
        "needs sums over rows. With `16x256b` it has what an `mma` would have given it, so the code after "
        "it can stay as it is.",
        when((one, r_one) == (_AT[1], _AT[0])): "With `32x32b`: a thread has a lane, and its registers are "
        "columns, not the other way round.",
        when(one == _AT[0] % WARP): "With `32x32b`: count the threads of all four warps, 0 to 127.",
        when((one, r_one) != (plain.thread, plain.register)): "With `32x32b`: each thread has a lane of its "
        "own, and register r holds column r.",
        when(two == fragment.thread % WARP): "The first is right. Row 77 is in warp 2, whose threads are 64 "
        "to 95.",
        when(not 64 <= two < 96): "The first is right. Lane 77 belongs to warp 2, and no other warp can "
        "load it.",
        when(two != fragment.thread): f"The first is right. In its warp it is row {row} of 16: rows r and r "
        "+ 8 belong to the same four threads, 4 (r % 8) and on, each with two neighbouring columns of eight.",
        when(r_two == fragment.register % 4): f"Three are right. Column {column} is not among the first "
        "eight: the next eight columns have the next four registers.",
        otherwise: "Three are right. Of four registers two are for row r, two for row r + 8; this is row "
        f"{row}, column {column % 8} of the eight columns from {column // 8 * 8} on.",
    }


_A_ROW, _A_K, _A_AT = 40, 27, 0x00100020


@checks("26.5")
def _operand(answer: object) -> Sentences:
    lane, column, low = whole_numbers(answer, 3, "`(lane, column, lowest bit)`")
    form = mma_form("mma.cta_group::1.kind::f8f6f4", m=64, n=64).a_from("tensor")
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


_WANTED = InstructionDescriptor("f16", m=128, n=160, a="bf16", b="bf16", d="f32")


def _decoded(number: int) -> tuple[InstructionDescriptor, str]:
    """The fields of a reader's descriptor, and what is wrong with its bits if they are not a descriptor."""
    try:
        return InstructionDescriptor.decode(number, "f16"), ""
    except PtxlabError as error:
        return _WANTED, f"That is not a descriptor of `kind::f16`: {error}."


@checks("27.1")
def _build(answer: object) -> Sentences:
    (number,) = whole_numbers(answer, 1, "one number of 32 bits")
    fields, refusal = _decoded(number)
    m, n = _WANTED.m, _WANTED.n
    types = _WANTED.code & 0xFFFF
    return {
        correct(number == _WANTED.code): f"{n} / 8 = {n // 8} from bit 17 on, {m} / 16 = {m // 16} from bit "
        "24 on, and a 1 for each of the three types, at bits 4, 7 and 10. A kernel usually has it as a "
        "constant.",
        when(number == types | n << 17 | m << 24): "M and N are not stored as they are: units of 16, and of "
        "8.",
        when(number == types | n // 8 << 17 | m // 16 << 23): "Bit 23 is not used: M begins at bit 24.",
        when(number == types | n // 8 << 17 | m // 8 << 24): "M counts units of 16; only N counts units of "
        "8.",
        when(number == types | n // 16 << 17 | m // 16 << 24): "N counts units of 8; only M counts units of "
        "16.",
        when(refusal): refusal,
        when(fields.m != m): f"It says M = {fields.m}. Bits 24 to 28 hold M / 16.",
        when(fields.n != n): f"M is right. It says N = {fields.n}. Bits 17 to 22 hold N / 8.",
        when((fields.a, fields.b) != ("bf16", "bf16")): "The shape is right. The types "
        "of A (bits 7 to 9) and B (bits 10 to 12) are not: what is the code of bf16?",
        when(fields.d != "f32"): "Shape and the types of A and B are right. D would be "
        "f16: look at bits 4 and 5.",
        otherwise: "Shape and types are right, but some other bit is 1: transpose, negate or saturate.",
    }


_MEANT = InstructionDescriptor("f16", m=128, n=192, a="bf16", b="bf16", d="f32")
_SLIPPED = _MEANT.code & ~(31 << 24) | _MEANT.m // 16 << 23


@checks("27.2")
def _repair(answer: object) -> Sentences:
    (number,) = whole_numbers(answer, 1, "one number of 32 bits")
    fields, refusal = _decoded(number)
    slipped = InstructionDescriptor.decode(_SLIPPED, "f16")
    return {
        correct(number == _MEANT.code): f"It said M = {slipped.m}: 128 / 16 had been shifted by 23 bits "
        "instead of 24. That is a legal product, with layout F, so nothing complains. The pattern of the "
        "lanes gives it away.",
        when(number == _SLIPPED): "That is the descriptor that the kernel has.",
        when(refusal): refusal,
        when(fields.m == slipped.m): f"Its M is still {slipped.m}. M / 16 belongs in bits 24 to 28.",
        when(fields.m == 256): "M = 256 is for two CTAs. M / 16 belongs in bits 24 to 28.",
        when(fields.m != _MEANT.m): f"It says M = {fields.m}. M / 16 belongs in bits 24 to 28.",
        when(fields.n != _MEANT.n): f"M is right now, but it says N = {fields.n}. Leave N as it was.",
        otherwise: "M and N are right. Leave the lower 16 bits as they were: the types, and no other flag.",
    }


#: The steps in the order in which the exercise numbers them.
_SHUFFLED = (
    "ld", "commit", "alloc", "fence.proxy", "dealloc",
    "try_wait", "mma", "wait::ld", "st.shared", "fence::after",
)  # fmt: skip
#: (earlier step, later step, why); a wrong order is told the first of these rules that it breaks.
_ORDER_RULES = (
    ("alloc", "mma", "D needs a place before a product can go there"),
    ("st.shared", "fence.proxy", "the fence makes the stores *before* it visible to the tensor core"),
    ("fence.proxy", "mma", "without the fence before it, the product may read old contents of shared memory"),
    ("mma", "commit", "`commit` covers what its thread has issued before it"),
    ("commit", "try_wait", "nothing arrives at the mbarrier before `commit` is issued"),
    ("try_wait", "ld", "the product is complete only when the wait is over"),
    ("try_wait", "fence::after", "this fence comes after the wait, and orders what follows"),
    ("fence::after", "ld", "`ld` is asynchronous: the fence keeps it after the wait"),
    ("ld", "wait::ld", "`wait::ld` waits for loads that have already been issued"),
    ("wait::ld", "dealloc", "tensor memory may be freed only when D has been loaded"),
)


@checks("27.3")
def _order(answer: object) -> Sentences:
    order = whole_numbers(answer, len(_SHUFFLED), "a list of the numbers 0 to 9")
    if sorted(order) != list(range(len(_SHUFFLED))):
        raise WrongForm(f"{list(order)}: every number from 0 to 9 appears once in an order.")
    place = {_SHUFFLED[number]: at for at, number in enumerate(order)}
    broken = [
        f"You have number {_SHUFFLED.index(later)} before number {_SHUFFLED.index(earlier)}, but {why}."
        for earlier, later, why in _ORDER_RULES
        if place[earlier] > place[later]
    ]
    return {
        correct(not broken): "Three of them are easily forgotten, since a kernel often gives the right "
        "numbers without them: the fence for the async proxy, the fence after the wait, and `wait::ld`. "
        "`dealloc` is easily forgotten, too; then expect the next blocks to hang in `alloc`.",
        when(order == tuple(range(len(_SHUFFLED)))): "That is the order in the list. What comes first, and "
        "what comes last?",
        otherwise: broken[0] if broken else "",
    }


class _ProductAndLoad(NamedTuple):
    """A kernel's product and a load of its D, with the thread and register that the exercise asks about."""

    mnemonic: str
    descriptor: int
    d: int  # address of D
    load: str
    address: int  # of the load
    thread: int
    register: int

    def element(self) -> tuple[int, int]:
        """Row and column of D in that register."""
        lane, column = load_form(self.load).locate(self.thread, self.register, self.address)
        form = mma_form(self.mnemonic, self.descriptor)
        ((row, col),) = form.d.holds(lane - (self.d >> 16), column - (self.d & 0xFFFF))
        return row, col


_KERNELS = (
    _ProductAndLoad("mma.cta_group::1.kind::f16", 0x8100490, 0x40, "32x32b.x16", 0x60, 77, 5),
    _ProductAndLoad("mma.cta_group::1.kind::f16", 0x4100490, 0x100080, "16x256b.x4", 0x1000A0, 58, 9),
    _ProductAndLoad("mma.ws.cta_group::1.kind::f16", 0x2200490, 0x20, "32x32b.x32", 0x20, 70, 11),
)


@checks("27.4")
def _capstone(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 6, "three times row and column")
    pairs = list(zip(submitted[::2], submitted[1::2], strict=True))
    first, second, third = (each.element() for each in _KERNELS)
    _, halves, quarters = _KERNELS
    m64, ws = (mma_form(each.mnemonic, each.descriptor) for each in (halves, quarters))
    lane, _ = load_form(halves.load).locate(halves.thread, halves.register, halves.address)
    return {
        correct(pairs == [first, second, third]): "That is all there is between a Blackwell tensor core and "
        "a thread. Every GEMM epilogue does this arithmetic, usually hidden in a CuTe layout.",
        when(pairs[0][1] == first[1] - 32): "The first kernel: the load begins 0x20 columns after the start "
        "of D, and they count.",
        when(pairs[0][1] == first[1] + 0x40): "The first kernel: that is the column of tensor memory. D "
        "begins at column 0x40.",
        when(pairs[0] != first): "The first kernel: M = 128, so lanes are rows; `32x32b`, so threads are "
        "lanes and registers are columns from 0x60 on, while D begins at 0x40.",
        when(pairs[1][0] == lane): "The first is right. The second kernel: that is the lane. M = 64, and D "
        "begins at lane 16.",
        when(pairs[1][0] != second[0]): "The first is right. The second kernel: the load gives the lane. M "
        f"= {m64.m}: subtract the 16 lanes at which D begins; then each 32 lanes have 16 rows.",
        when(pairs[1][1] == second[1] - 32): "The row is right. The second kernel's load begins 0x20 "
        "columns after the start of D.",
        when(pairs[1] != second): "The row is right. The second kernel: four registers for every eight "
        "columns, two of them neighbours in the same row.",
        when(pairs[2][0] == quarters.thread): f"Two are right. The third kernel: M = {ws.m}, so there is no "
        f"row {quarters.thread}. The lanes beyond hold other columns of the same rows.",
        when(pairs[2][0] != third[0]): f"Two are right. The third kernel: M = {ws.m}; each 32 lanes "
        "have all rows.",
        when(pairs[2][1] == quarters.register): "Two are right, and the row. Which group of columns is in "
        "these 32 lanes?",
        otherwise: f"Two are right, and the row. N = {ws.n}: each 32 lanes have a quarter of the columns.",
    }
