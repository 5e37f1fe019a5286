"""Pictures of lesson 22: what tensor memory holds, who reaches it, and what each step of a kernel is for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..instruction import instruction
from ..isa.tcgen05 import Tcgen05Mma, Tcgen05Transfer
from ..isa.tensor_memory import COLUMNS, DATA_PATHS, LANES, DataPath, accessible_lanes
from ..isa.zero_column_mask import ZeroColumnMask
from ..views import Cell, Grid, Header, Picture, tensor_registers
from ..views.charts import bars, table
from ..views.colours import PIECE_HUES
from ..views.grid import State
from ..views.labels import index_range
from .kernel_reading import Reading, Stop, reading

WARP = 32
_BLOCK = 16  # lanes that stay together in every layout
MOST_REGISTERS = 255

#: Sizes of D, from what a warpgroup holds easily to what nobody could.
TILES = ((64, 64), (64, 128), (64, 256), (128, 256), (256, 256))

#: Loads that cover eight columns each.
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


def tile_name(number: int) -> str:
    """The size of D, for the slider.

    >>> tile_name(3)
    '128 x 256'
    """
    return "{} x {}".format(*TILES[number])


def sums(tile: int) -> Picture:
    """Registers of a thread that D takes, by the number of threads that share it; and with tcgen05 none.

    >>> [cell.text for cell in sums(3).grids[0].cells if cell.lines]
    ['256: too many', '128', '64', '0']
    """
    m, n = TILES[tile]
    values = {f"wgmma, {threads} threads": float(m * n / threads) for threads in (128, 256, 512)}
    values["tcgen05"] = 0.0

    def text(number: float) -> str:
        return f"{number:.0f}{': too many' if number > MOST_REGISTERS else ''}"

    notes = (
        f"a thread has at most {MOST_REGISTERS} registers, and needs some of them for other things",
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
    """The columns of an SM, if every block has two accumulators of 128 x n.

    >>> allocated(96).notes
    ('two accumulators take 192 columns, and 256 are allocated', '2 blocks fit on an SM')
    """
    needed = 2 * n
    power = max(32, 1 << (needed - 1).bit_length())
    blocks = COLUMNS // power
    shape = 1, COLUMNS // WARP
    cells, hover = [], np.full(shape, "", dtype=object)
    for at in range(shape[1]):
        block, column = divmod(WARP * at, power)
        accumulator = column // n
        text = f"D{accumulator}" if accumulator < 2 else "unused"
        tint = PIECE_HUES[block % 8] * 4 + 2 * accumulator if accumulator < 2 else None
        cells.append(Cell(0, at, 1, 1, (text,), tint))
        use = f"accumulator {accumulator}" if accumulator < 2 else "allocated, but not used"
        hover[0, at] = f"columns {index_range(WARP * at, WARP)}: block {block}, {use}"
    heads = tuple(
        Header(power // WARP * block, power // WARP, (f"block {block}",)) for block in range(blocks)
    )
    grid = Grid(
        shape, tuple(cells), hover, (Header(0, 1, ("128 lanes",)),), heads, ("", ""), density="close",
        column_rules=tuple((power // WARP * block, 0, 1) for block in range(1, blocks)),
    )  # fmt: skip
    notes = (
        f"two accumulators take {needed} columns, and {power} are allocated",
        f"{blocks} block{'s fit' if blocks > 1 else ' fits'} on an SM",
    )
    return Picture(f"{COLUMNS} columns, a cell is {WARP} of them", notes, (grid,))


def accessible(warp: int) -> Picture:
    """All of tensor memory, with the lanes that tcgen05.ld and tcgen05.st of one warp may touch.

    >>> picture = accessible(6)
    >>> picture.notes[0], picture.grids[0].at(2, 1).text
    ('warp 6 loads and stores lanes 64..95: 6 % 4 = 2', '0x00400040')
    """
    step = 64
    shape = LANES // WARP, COLUMNS // step
    cells, hover = [], np.full(shape, "", dtype=object)
    lanes = accessible_lanes(warp)
    for row, at in np.ndindex(*shape):
        first, column = WARP * row, step * at
        mine = first == lanes.start
        state: State = "plain" if mine else "dim"
        cells.append(Cell(row, at, 1, 1, (addresses(first, column),), PIECE_HUES[row] * 4 + 1, state))
        hover[row, at] = (
            f"lanes {index_range(first, WARP)}, columns {index_range(column, step)}\n"
            f"{'for' if mine else 'not for'} tcgen05.ld and .st of warp {warp}"
        )
    grid = Grid(
        shape, tuple(cells), hover,
        tuple(Header(row, 1, (f"lanes {index_range(WARP * row, WARP)}",)) for row in range(shape[0])),
        tuple(Header(at, 1, (index_range(step * at, step),)) for at in range(shape[1])),
        ("", "column"), density="close",
    )  # fmt: skip
    notes = (
        f"warp {warp} loads and stores lanes {index_range(lanes.start, WARP)}: {warp} % 4 = {warp % 4}",
        "a cell has the address of its first word; the next column is 1 further, the next lane 0x10000",
    )
    return Picture(f"{LANES} lanes by {COLUMNS} columns of 32 bits", notes, (grid,))


def issuers() -> Picture:
    """Who issues which instruction, and how one learns that it is done.

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


class _Case(NamedTuple):
    """An instruction that stands for one of the layouts."""

    path: str
    words: str
    n: int = 128


_CASES = (
    _Case("D", "M = 128"),
    _Case("F", "M = 64"),
    _Case("E", "M = 64, .ws"),
    _Case("G", "M = 32, .ws"),
    _Case("A", "M = 256, cta_group::2"),
    _Case("B", "M = 128, cta_group::2"),
)


def layout_name(number: int) -> str:
    """The layout and when it is used, for the slider.

    >>> layout_name(1)
    'F: M = 64'
    """
    return f"{_CASES[number].path}: {_CASES[number].words}"


def data_path(layout: int) -> Picture:
    """D in blocks, beside tensor memory with the same colours: one of the manual's layouts.

    >>> picture = data_path(1)
    >>> [grid.title for grid in picture.grids], picture.grids[1].at(2, 0).text
    (['D, 64 x 128', 'tensor memory'], 'rows 16..31')
    """
    case = _CASES[layout]
    path = DATA_PATHS[case.path]
    grids = [_matrix_grid(path, case.n)]
    grids += [_memory_grid(path, case.n, cta) for cta in range(path.ctas)]
    columns = case.n // path.wide
    notes = (
        f"D of {path.m} x {case.n} takes {columns} columns of "
        f"{'half of the' if path.halves else 'all'} lanes{' in both CTAs' if path.ctas == 2 else ''}",
        "a colour is 16 rows of D" + ("; columns further right are darker" if path.wide > 1 else ""),
    )
    return Picture(f"Layout {case.path}, {case.words}", notes, tuple(grids))


def _tint(block: int, group: int, wide: int) -> int:
    return PIECE_HUES[block % 8] * 4 + (3 * group // max(wide - 1, 1) if wide > 1 else 1)


def _matrix_grid(path: DataPath, n: int) -> Grid:
    shape = path.m // _BLOCK, path.wide
    cells, hover = [], np.full(shape, "", dtype=object)
    for block, group in np.ndindex(*shape):
        text = index_range(_BLOCK * block, _BLOCK)
        cells.append(Cell(block, group, 1, 1, (text,), _tint(block, group, path.wide)))
        hover[block, group] = f"rows {text}, columns {index_range(group * (n // path.wide), n // path.wide)}"
    return Grid(
        shape, tuple(cells), hover,
        tuple(Header(block, 1, (index_range(_BLOCK * block, _BLOCK),)) for block in range(shape[0])),
        tuple(Header(at, 1, (index_range(at * (n // path.wide), n // path.wide),)) for at in range(shape[1])),
        ("row", "column"), title=f"D, {path.m} x {n}", density="close",
    )  # fmt: skip


def _memory_grid(path: DataPath, n: int, cta: int) -> Grid:
    per_group = n // path.wide
    first_cells: dict[int, tuple[int, int]] = {}
    places = path.result(path.m, n)
    for block, group in np.ndindex(path.m // _BLOCK, path.wide):
        lane, element = places.locate(_BLOCK * block, per_group * group)
        assert not element
        if lane // LANES == cta:
            first_cells[lane % LANES // _BLOCK] = (block, group)
    shape = LANES // _BLOCK, 1
    cells, hover = [], np.full(shape, "", dtype=object)
    for line in range(shape[0]):
        lanes = f"lanes {index_range(_BLOCK * line, _BLOCK)}"
        if line not in first_cells:
            cells.append(Cell(line, 0, 1, 1, ("not used",)))
            hover[line, 0] = f"{lanes}: not used"
            continue
        block, group = first_cells[line]
        lines = [f"rows {index_range(_BLOCK * block, _BLOCK)}"]
        span = index_range(per_group * group, per_group)
        if path.wide > 1:
            lines[0] += f", columns {span}"
        cells.append(Cell(line, 0, 1, 1, tuple(lines), _tint(block, group, path.wide)))
        hover[line, 0] = f"{lanes}: rows {index_range(_BLOCK * block, _BLOCK)}, columns {span} of D"
    return Grid(
        shape, tuple(cells), hover,
        tuple(Header(line, 1, (index_range(_BLOCK * line, _BLOCK),)) for line in range(shape[0])),
        (Header(0, 1, (index_range(0, per_group),)),),
        ("lane", "column"), title=f"tensor memory of CTA {cta}" if path.ctas == 2 else "tensor memory",
        density="close", row_rules=(2, 4, 6),
        row_groups=tuple(Header(2 * warp, 2, (f"warp {warp}",)) for warp in range(4)),
    )  # fmt: skip


def load_name(number: int) -> str:
    """The shape of a load, for the slider.

    >>> load_name(3)
    '16x256b.x1'
    """
    return LOADS[number]


def registers(load: int) -> Picture:
    """Which thread of warp 0 gets which word, by the shape of tcgen05.ld, and in which of its registers.

    >>> registers(3).grids[0].at(9, 3).text
    'T5:{r2,r3}'
    """
    return tensor_registers(load_form(LOADS[load]))


def masked(skip: int) -> Picture:
    """Columns of B that count as zeros with a zero-column mask, for each M of .ws.

    >>> masked(3).notes[0]
    '0x0003028000000000: 4 columns of B as they are and 3 as zeros, in turn'
    """
    mask = ZeroColumnMask(use=4, skip=skip)
    n = 64
    rows = (128, 64, 32)
    cells, hover = [], np.full((3, n), "", dtype=object)
    for row, m in enumerate(rows):
        for column, zero in enumerate(mask.zeros(m, n)):
            cells.append(Cell(row, column, 1, 1, (), None if zero else 2))
            hover[row, column] = f"M = {m}, column {column}: {'counts as zero' if zero else 'as it is'}"
    rules = ((32, 1, 2), *((at, 2, 3) for at in (16, 32, 48)))
    grid = Grid(
        (3, n), tuple(cells), hover,
        tuple(Header(row, 1, (f"M = {m}",)) for row, m in enumerate(rows)),
        tuple(Header(at, 8, (index_range(at, 8),)) for at in range(0, n, 8)),
        ("", "column of B"), density="close", column_rules=rules,
    )  # fmt: skip
    notes = (
        f"0x{mask.code:016x}: {str(mask).rstrip('.')}",
        "grey columns count as zeros; with M = 64 and 32 the runs start again in each half or quarter",
    )
    return Picture("A mask in runs", notes, (grid,))


class Step(NamedTuple):
    """Something that a kernel does around tcgen05.mma: who does it, and what happens if nobody does."""

    name: str
    who: int
    missing: str


_WHO = ("warp 0", "one thread", "tensor core", "all warps")

#: What a kernel does, in order.
STEPS = (
    Step("alloc", 0, "There is no address: D would be in memory that belongs to another block."),
    Step("st.shared", 3, "A and B are not there."),
    Step(
        "fence.proxy",
        3,
        "The tensor core reads shared memory through another path, the async proxy, and may see what was "
        "there before.",
    ),
    Step("barrier", 3, "One thread issues the product before the others have stored A and B."),
    Step("mma", 1, "D keeps what it held before."),
    Step("commit", 1, "Nothing arrives at the mbarrier, and the block waits forever."),
    Step("try_wait", 3, "The product is not complete when D is loaded: some of its sums are missing."),
    Step(
        "fence::after",
        3,
        "tcgen05.ld is itself asynchronous: without the fence it may run before the wait.",
    ),
    Step("ld", 3, "D stays in tensor memory, where no other instruction can read it."),
    Step("wait::ld", 3, "The registers may be read before they are filled."),
    Step(
        "dealloc",
        0,
        "The manual requires it: while the columns are allocated, a later block waits for them in alloc.",
    ),
)


def step_name(number: int) -> str:
    """What is left out, for the slider.

    >>> step_name(-1), step_name(5)
    ('nothing', 'commit')
    """
    return "nothing" if number < 0 else STEPS[number].name


def without(left_out: int) -> Picture:
    """The steps of a kernel, one of them left out, and what that does.

    >>> without(5).notes[0]
    'without commit: Nothing arrives at the mbarrier, and the block waits forever'
    """
    shape = len(STEPS), len(_WHO)
    cells, hover = [], np.full(shape, "", dtype=object)
    for row, who in np.ndindex(*shape):
        step = STEPS[row]
        text = step.name if who == step.who else ""
        if who == _WHO.index("tensor core") and step.name in ("commit", "try_wait"):
            text = "D += A B"
        if not text:
            cells.append(Cell(row, who, 1, 1, (), role="blank"))
            continue
        gone = row == left_out and who == step.who
        words = f"no {text}" if gone else text
        cells.append(Cell(row, who, 1, 1, (words,), PIECE_HUES[who] * 4 + 1, "mark" if gone else "plain"))
        hover[row, who] = f"{_WHO[who]}: {text}"
    grid = Grid(
        shape, tuple(cells), hover,
        tuple(Header(row, 1, (str(row + 1),)) for row in range(shape[0])),
        tuple(Header(at, 1, (who,)) for at, who in enumerate(_WHO)),
        ("step", ""), density="close",
    )  # fmt: skip
    notes: tuple[str, ...] = ("each step comes after the one above it",)
    if left_out >= 0:
        step = STEPS[left_out]
        notes = (f"without {step.name}: {step.missing.rstrip('.')}",)
    return Picture("From alloc to dealloc", notes, (grid,))


# -- the kernel, part by part --------------------------------------------------------------------------------

#: The parts of the kernel of a tcgen05.mma, in the order of its lines.
STOPS = (
    Stop(
        "what there is",
        'extern "C"',
        "128 threads, a warpgroup: one warp for each quarter of the lanes. In shared memory there are A, B, "
        "a word for an address, and an mbarrier.",
    ),
    Stop(
        "alloc",
        "// Allocate",
        "All threads of warp 0 execute `alloc`, which writes the address to shared memory. Then the block "
        "declares that it will not allocate again, so other blocks on the SM need not wait for it.",
    ),
    Stop(
        "hand over",
        "// One arrival",
        "The mbarrier expects one arrival, that of `commit`. After the barrier of the block all threads may "
        "read the address. The two fences order what happens in tensor memory before and after it.",
    ),
    Stop(
        "where things are",
        "own_lanes =",
        "Each warp adds its own lanes to an address. Both descriptors are a constant, without a swizzle, "
        "and the address of the tile in units of 16 bytes. Then a loop begins, with one product in each "
        "turn.",
    ),
    Stop(
        "A and B",
        "// A and B",
        "Threads store core matrices, 8 rows of 16 bytes. The fence hands them over to the async proxy, "
        "through which the tensor core reads.",
    ),
    Stop(
        "C",
        "// C to tensor memory",
        "D = A B + C, where C is what is in the place of D beforehand. Each thread stores its lane, column "
        "by column, and waits for its stores (`wait::st`); after the barrier all of C is there.",
    ),
    Stop(
        "mma",
        "// One thread",
        "`elected` picks one thread of warp 0. It has everything: the address of D, two descriptors of "
        "shared memory, the instruction descriptor, and whether to add C. `commit` follows at once.",
    ),
    Stop(
        "wait",
        "wait(barrier",
        "All threads wait. An mbarrier counts phases, whose parity changes from one product to the next.",
    ),
    Stop(
        "D",
        "// D to",
        "Each thread loads its lane, and `load` waits (`wait::ld`) after each `ld`. That is simple, and "
        "slow: a real kernel loads 32 or more columns at once and waits for all of them.",
    ),
    Stop(
        "dealloc",
        "if (warp == 0)",
        "When all threads have loaded, warp 0 frees the columns.",
    ),
)


def stop_name(number: int) -> str:
    """The name of a part of the kernel, for the slider.

    >>> stop_name(6)
    'mma'
    """
    return STOPS[number].name


def part(source: str, stop: int) -> Reading:
    """A part of the kernel of a tcgen05.mma, with its explanation.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)
    >>> sum(len(part(ins.kernel, stop).lines) for stop in range(len(STOPS)))
    76
    """
    return reading(source, stop, STOPS)
