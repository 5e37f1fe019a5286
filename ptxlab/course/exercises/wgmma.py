"""Lesson 05: wgmma, its warpgroup, its tiles and their descriptors, and when to wait."""

from __future__ import annotations

import numpy as np

from ...instruction import mma_instruction
from ...isa.catalog import mma_forms
from ...memory import SWIZZLES, Tile
from ...views import Picture
from ...views.charts import bars, table
from ...views.colour_keys import core_matrix_tint
from ...views.grid import Entry, uniform_grid
from ...views.labels import index_range
from ..answers import first_wrong, function_table, whole_numbers
from ..checking import Sentences, checks, correct, drawn, otherwise, when

INS = mma_instruction("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16")
WIDE = mma_instruction("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16")
FP8 = mma_instruction("wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3")
LANE = drawn("05.1", "thread {} hold", 77, 90, 45, 110, 53, 70)
A_TYPES = ("tf32", "bf16", "e5m2", "b1")
_CORE = 128  # bytes of a core matrix: 8 rows of 16
_ADDRESS = drawn("05.4", "`0x{:04x}`", 0x1400, 0x0C00, 0x1C00, 0x3400, 0x2400, 0x0800)
_CHUNKS = drawn(
    "05.5",
    "chunk {0[1]} of row {0[0]}? And chunk {1[1]} of row {1[0]}?",
    ((6, 1), (13, 3)),  # (row, chunk)
    ((4, 1), (11, 2)),
    ((2, 3), (13, 1)),
    ((6, 2), (15, 1)),
    ((5, 1), (14, 2)),
)
_SWIZZLED = Tile.of(FP8.b, 64)
#: The descriptor has the address in units of 16 bytes.
_SWIZZLED_AT = 16 * drawn("05.6", "`0x8000002000010{:03x}`", 0x2C0, 0x140, 0x340, 0x1E0, 0x260)
#: A program, line by line: two products, each in its own group, then a wait for all groups but the most
#: recent one, and a wait for all groups.
_PROGRAM = ("fence", "mma_async", "commit_group", "mma_async", "commit_group", "wait_group 1", "wait_group 0")


# -- what the lesson shows -----------------------------------------------------------------------------------


def registers_of_d() -> Picture:
    """How many registers D takes in each thread, by N.

    >>> [cell.text for cell in registers_of_d().grids[0].cells if cell.lines][-2:]
    ['128', '64']
    """
    counts = {
        f"N = {n}": {
            kind: mma_instruction(f"wgmma.mma_async.sync.aligned.m64n{n}k16.{kind}.f16.f16").d.registers
            for kind in ("f32", "f16")
        }
        for n in (8, 16, 64, 128, 256)
    }
    return bars(counts, "Registers of D in every thread", ("by the type of D",))


def types() -> Picture:
    """K and the types of D for every type of A.

    >>> types().grids[0].at(0, 0).text
    'k16'
    """
    forms: dict[str, tuple[int, set[str]]] = {}
    for form in mma_forms("wgmma"):
        forms.setdefault(form.a_type, (form.k, set()))[1].add(form.d_type)
    texts = {
        kind: [f"k{k}", " or ".join(sorted(results, reverse=True))] for kind, (k, results) in forms.items()
    }
    title = "What wgmma multiplies: m64nNkK"
    return table(texts, ["K", "D"], title, ("each row of A has 32 bytes, and A takes 4 registers",))


def core_matrices(tile: Tile) -> Picture:
    """The core matrices of a K-major tile without swizzle, with the byte at which each begins.

    >>> core_matrices(Tile.of(INS.b)).grids[0].at(1, 0).text
    'byte 256'
    """
    shape = tile.rows // 8, tile.k // tile.core_width

    def entry(group: int, k: int) -> Entry:
        offset = int(tile.offset(8 * group, k * tile.core_width))
        tooltip = f"core matrix at bytes {index_range(offset, _CORE)}"
        return Entry((f"byte {offset}",), core_matrix_tint(group, k), tooltip)

    rows = [index_range(8 * group, 8) for group in range(shape[0])]
    columns = [index_range(k * tile.core_width, tile.core_width) for k in range(shape[1])]
    notes = (
        f"one to the right: leading offset, {tile.leading} bytes",
        f"one down: stride offset, {tile.stride} bytes",
    )
    grid = uniform_grid(shape, entry, rows, columns, ("n", "k"))
    return Picture("From core matrix to core matrix", notes, (grid,))


def swizzled_tiles() -> Picture:
    """The tile of the lesson's B under every swizzle.

    >>> swizzled_tiles().grids[0].at(3, 0).text
    '2048 bytes'
    """
    texts = {}
    for width in sorted(SWIZZLES):
        tile = Tile.of(INS.b, width)
        name = f"{width} bytes" if width else "no swizzle"
        texts[name] = [f"{tile.size} bytes", f"multiple of {tile.alignment}", f"0x{tile.descriptor():016x}"]
    columns = ["size of the tile", "it begins at a", "descriptor, at address 0"]
    return table(texts, columns, f"B of {INS.shape} under every swizzle")


_SYNCHRONISING = ("fence", "wgmma.", "__syncthreads", "b_tile + at", "D[(i")


def kernel_lines() -> str:
    """The lines of the lesson's kernel that have to stay in order.

    >>> kernel_lines().splitlines()[2]
    '__syncthreads();'
    """
    loop = INS.kernel.split("count; i +=")[1].splitlines()[2:]
    lines = [line for line in loop if any(word in line for word in _SYNCHRONISING)]
    return "\n".join(_without_quotes(line.strip()) for line in lines)


def _without_quotes(line: str) -> str:
    """A line of PTX as the assembler reads it, without its operands; a line of C++ as it is."""
    if not line.startswith('"'):
        return line
    mnemonic, operands, _ = line.strip('"').removesuffix("\\n").partition(" {")
    return f"{mnemonic} ..." if operands else mnemonic


# -- exercises ---------------------------------------------------------------------------------------------


@checks("05.1")
def _rows_of_lane(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(upper, lower)`, two row numbers")
    upper, lower = sorted({row for _, row, _ in INS.d.holds(LANE)})
    inside = LANE % 32 // 4
    return {
        correct(sorted(submitted) == [upper, lower]): f"Thread {LANE} is lane {LANE % 32} of warp "
        f"{LANE // 32}, which begins at row {LANE // 32 * 16}; its groupID is {inside}, and the other row "
        "is eight lower.",
        when(sorted(submitted) == [inside, inside + 8]): "That is right inside a warp. But which of the "
        "four warps is this thread in, and at which row does that warp begin?",
        when(sorted(submitted) == [LANE // 4, LANE // 4 + 8]): "You divided the thread number by four across "
        "all warps. But a warp has 16 rows and only eight groups of four lanes.",
        when(upper in submitted and submitted[0] != submitted[1] and upper + 1 in submitted): "The upper "
        "row is right. The other one is not the next row: the pattern of mma repeats further down.",
        when(upper in submitted): "The upper row is right. In mma, how far below is a lane's second row?",
        when(lower in submitted): "The lower row is right. How far above it is the other one?",
        when(LANE // 32 * 16 + LANE % 32 in submitted): "The warp is right. But inside it you used the lane "
        "as the row: four lanes share a row.",
        when(any(row > 63 for row in submitted)): "D has 64 rows; which of the four warps has this thread?",
        otherwise: "First find the warp (thread // 32) and its 16 rows, then the groupID inside that "
        "warp, then the row eight below.",
    }


@checks("05.2")
def lane_of(answer: object) -> Sentences:
    table = function_table(answer, INS.m, INS.n, form="`thread(row, col)` returns a thread from 0 to 127")
    expected = np.array([[INS.d.where(r, c)[0].lane for c in range(INS.n)] for r in range(INS.m)])
    first = first_wrong(table, expected, "D[{}][{}]")
    return {
        correct(not first): "There are 32 threads for every 16 rows, four for each row, and one for "
        "every two columns; after eight rows or eight columns the pattern repeats.",
        when(not (table != expected % 32).any()): "That is right inside each warp. The threads of a "
        "warpgroup are numbered through: 32 to 63 belong to the second warp.",
        when(not (table[:16] != expected[:16]).any()): f"Right for the first warp. Look at {first}: which "
        "warp has that row?",
        when(not (table[:8] != expected[:8]).any()): f"Right for the first eight rows. Look at {first}: "
        "eight rows lower, the same threads appear again.",
        when(not (table[:8, :8] != expected[:8, :8]).any()): "Right for the first eight columns. Look at "
        f"{first}: eight columns further, the same threads appear again.",
        when(table[0, :4].tolist() == [0, 1, 2, 3]): f"Look at {first}: a thread holds two adjacent columns.",
        otherwise: f"Look at {first}. Inside 16 rows and 8 columns it is the accumulator of `mma.m16n8`: "
        "groupID is the row modulo 8, and each thread has two columns.",
    }


@checks("05.3")
def depth(answer: object) -> Sentences:
    submitted = whole_numbers(answer, len(A_TYPES), f"`({', '.join(A_TYPES)})`")
    rows = {name: next(row for row in mma_forms("wgmma") if row.a_type == name) for name in A_TYPES}
    expected = tuple(row.k for row in rows.values())
    sizes = {name: row.a.dtype.bits for name, row in rows.items()}
    return {
        correct(submitted == expected): "Each row has 32 bytes, whatever the type: half the bits per "
        "element, twice the K.",
        when(submitted == expected[::-1]): "It is the other way round: the wider the element, the fewer fit "
        "into 32 bytes.",
        when(submitted == tuple(k * 2 for k in expected)): "The *sparse* form has twice the K, because it "
        "stores only half of A.",
        when(submitted[:-1] == expected[:-1]): "All but b1 are right: how many single bits are in 32 bytes?",
        when(submitted == tuple(k // 2 for k in expected)): "That is 16 bytes, half a row.",
        when(submitted[1:] == expected[1:]): "All but tf32 are right: it uses only 19 bits, but takes 32 in "
        "memory and in registers.",
        when(submitted == tuple(32 // b for b in sizes.values())): "You divided 32 *bits*. A row of A has "
        "32 bytes.",
        otherwise: "Divide the 32 bytes of a row by the size of an element. How many bits are in 32 bytes?",
    }


@checks("05.4")
def encode(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one number of 64 bits")
    leading, stride = WIDE.n // 8 * _CORE, _CORE

    def packed(address: int, lead: int, step: int) -> int:
        return address >> 4 | lead >> 4 << 16 | step >> 4 << 32

    expected = packed(_ADDRESS, leading, stride)
    start, lead, step = submitted & 0x3FFF, submitted >> 16 & 0x3FFF, submitted >> 32 & 0x3FFF
    return {
        correct(submitted == expected): f"Start 0x{start:x}, leading 0x{lead:x}, stride 0x{step:x}, all in "
        f"units of 16 bytes: the next core matrix is {leading} bytes away along k, and {stride} bytes away "
        "along n.",
        when(submitted == packed(_ADDRESS, stride, leading)): "All values are right, but the two offsets "
        "are exchanged. In a K-major tile *leading* steps along k, and *stride* steps from eight columns n "
        "to the next eight.",
        when(submitted == _ADDRESS | leading << 16 | stride << 32): "Those are bytes. Every field counts "
        "units of 16 bytes: the last hexadecimal digit is dropped.",
        when(submitted == _ADDRESS >> 4 | leading << 16 | stride << 32): "The start address is right. The "
        "two offsets are right in bytes, but they too count units of 16 bytes.",
        when(submitted == Tile.of(WIDE.b).descriptor(_ADDRESS)): "That is the order of the picture above, "
        "along k first. Here the core matrices go along n first: how far away is the neighbour along k?",
        when(submitted == _ADDRESS >> 4 | leading >> 4 << 14 | stride >> 4 << 28): "The fields have 14 "
        "bits, but they are not contiguous: they begin at bits 0, 16 and 32.",
        when(submitted >> 62 != 0): "Bits 62 and 63 are the swizzle, and there is none.",
        when(start != _ADDRESS >> 4): "Look at the lowest 14 bits: the start address, in units of 16 bytes.",
        when(lead != leading >> 4): "The start address is right. Look at bits 16 to 29: how many bytes is "
        "it from one core matrix to its neighbour along k?",
        when(step != stride >> 4): "The start address and the leading offset are right. Look at bits 32 to "
        "45: how many bytes is it from one core matrix to its neighbour along n?",
        otherwise: "The three fields are right. All other bits are 0.",
    }


@checks("05.5")
def _swizzled_place(answer: object) -> Sentences:
    submitted = whole_numbers(answer, len(_CHUNKS), "two positions, each from 0 to 3")
    tile = Tile(bits=16, rows=16, k=32, swizzle=64)
    expected = tuple(int(tile.offset(row, chunk * tile.core_width)) // 16 % 4 for row, chunk in _CHUNKS)
    return {
        correct(submitted == expected): "Each pair of rows is XORed with the same value, and after eight "
        "rows, that is 512 bytes, the pattern repeats. That is why such a tile begins at a multiple of 512.",
        when(submitted == tuple(chunk for _, chunk in _CHUNKS)): "That does not swizzle at all: every chunk "
        "stays where it was.",
        when(submitted == expected[::-1]): "The numbers are right, but in the wrong order.",
        when(submitted == tuple(chunk ^ row % 4 for row, chunk in _CHUNKS)): "Your pattern changes with "
        "every row. But two rows of 64 bytes share bits 7 and 8 of the address.",
        when(submitted == tuple(chunk ^ row // 4 % 2 for row, chunk in _CHUNKS)): "That is the 32-byte "
        "swizzle, where four rows fill 128 bytes and one bit is XORed.",
        when(submitted == tuple((chunk + row // 2) % 4 for row, chunk in _CHUNKS)): "The rows are paired "
        "correctly, but you rotated the chunks. XOR exchanges them.",
        when(any(not 0 <= place < 4 for place in submitted)): "There are only four positions, 0 to 3: only "
        "two bits of the row number are used.",
        when(submitted[0] == expected[0]): "The first is right. For the second, write row * 64 + chunk * 16 "
        "in binary and mark bits 4, 5, 7 and 8; bit 9 is not used.",
        when(submitted[1] == expected[1]): "The second is right. For the first, write row * 64 + chunk * 16 "
        "in binary and mark bits 4, 5, 7 and 8.",
        otherwise: "Write the byte address row * 64 + chunk * 16 in binary: bits 7 and 8 are XORed into "
        "bits 4 and 5, and these two are the position.",
    }


@checks("05.6")
def _read_descriptor(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 3, "`(address, stride, swizzle)`, all in bytes")
    expected = _SWIZZLED_AT, _SWIZZLED.stride, _SWIZZLED.swizzle
    code = SWIZZLES[_SWIZZLED.swizzle]
    return {
        correct(submitted == expected): f"Swizzle code {code} means {_SWIZZLED.swizzle} bytes, and the "
        f"stride is eight rows of {_SWIZZLED.swizzle} bytes. The leading offset, 1, is not used when a "
        "K-major tile is swizzled.",
        when(submitted[:2] == (_SWIZZLED_AT >> 4, _SWIZZLED.stride >> 4)): "Those are the raw fields. They "
        "count units of 16 bytes.",
        when(submitted[0] == _SWIZZLED_AT >> 4): "The address field counts units of 16 bytes.",
        when(submitted[0] != _SWIZZLED_AT): "The address is in the lowest 14 bits; remember the unit. Bit "
        "16 already belongs to the next field.",
        when(submitted[1] == _SWIZZLED.stride >> 4): "The address is right. The stride field also counts "
        "units of 16 bytes.",
        when(submitted[1] == _SWIZZLED.leading): "The address is right. But you then read the leading "
        "offset, bits 16 to 29; the stride begins at bit 32.",
        when(submitted[1] == int(f"{_SWIZZLED.stride >> 4:x}") * 16): "The address is right. The digits of "
        "the stride are hexadecimal, like the whole descriptor: what number is `0x20`?",
        when(submitted[1] != _SWIZZLED.stride): "The address is right. The stride is in bits 32 to 45, in "
        "units of 16 bytes.",
        when(submitted[2] == code): f"Address and stride are right. {code} is the code; which width does it "
        "stand for?",
        otherwise: "Address and stride are right. The swizzle code is in bits 62 and 63, and the codes do "
        "not increase with the width: look them up below the picture of the descriptor.",
    }


@checks("05.7")
def _waited(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "two line numbers")
    expected = _PROGRAM.index("wait_group 1"), _PROGRAM.index("wait_group 0")
    issued = tuple(number for number, line in enumerate(_PROGRAM) if line == "mma_async")
    return {
        correct(submitted == expected): "`wait_group 1` allows the most recent group to be pending and "
        "waits for all older ones; `wait_group 0` waits for every group.",
        when(submitted == expected[::-1]): "It is the other way round: groups are waited for in the order "
        "in which they were committed, the oldest first.",
        when(submitted == issued): "That is when the work is *issued*. The instruction is asynchronous: it "
        "returns immediately.",
        when(submitted == tuple(n + 1 for n in issued)): "`commit_group` closes a group; it does not wait "
        "for it.",
        when(submitted == (expected[1], expected[1])): "Safe, but for one of them that is not the earliest: "
        "how many groups may be pending after `wait_group 1`?",
        when(submitted == (expected[0], expected[0])): "After `wait_group 1` one group may still be "
        "pending. Which?",
        when(any(not 0 <= line < len(_PROGRAM) for line in submitted)): "The lines are numbered 0 to "
        f"{len(_PROGRAM) - 1}.",
        otherwise: "Only a `wait_group` waits. Starting a product or committing a group returns immediately.",
    }
