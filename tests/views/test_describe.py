"""The data behind figures and command line, against formulas written down anew from the PTX ISA's text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

import ptxlab
from ptxlab import views
from ptxlab.instruction import mma_instruction, mma_instructions
from ptxlab.memory import Descriptor, Tcgen05Descriptor, Tile, tensor_map
from ptxlab.numerics.steps import Trace
from ptxlab.numerics.trace import trace
from ptxlab.views.charts import bars, table
from ptxlab.views.explanation import BytePlace, RegisterPlace
from ptxlab.views.labels import element_names
from tests.cases import each, refuses
from tests.sampling import one_in
from tests.texts import replaced
from tests.views.forms import B1, EVERY_SCALED, S4, SP_S4, SP_TF32, WGMMA

SCALED = list(EVERY_SCALED.values())
SPARSE = [SP_S4, ptxlab.instruction(replaced(SP_S4.mnemonic, "::ordered_metadata", "")), SP_TF32, WGMMA]

#: One instruction for every set of layouts.
ONE_EACH = list(
    {
        (i.family, i.m, i.n, i.k, i.a.dtype.bits, i.d_type, i.scale_vec): i
        for i in mma_instructions()
        if i.n in (8, 24) or i.lanes == 32 or (i.n == 256 and i.a_type == "e4m3")
    }.values()
)

Formula = Callable[[int, int], tuple[int, int]]


def a_16864(lane: int, i: int) -> tuple[int, int]:
    """PTX ISA, "Matrix Fragments for mma.m16n8k64", multiplicand A."""
    group, thread = lane >> 2, lane % 4
    row = group if 0 <= i < 8 or 16 <= i < 24 else group + 8
    return row, thread * 8 + (i & 7) + (0 if i < 16 else 32)


def b_16864(lane: int, i: int) -> tuple[int, int]:
    return (lane % 4) * 8 + (i & 7) + (0 if i < 8 else 32), lane >> 2


def c_16864(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (0 if i < 2 else 8), (lane % 4) * 2 + (i & 1)


def a_88128(lane: int, i: int) -> tuple[int, int]:
    """PTX ISA, "Matrix Fragments for mma.m8n8k128", which WMMA of the same shape follows."""
    return lane >> 2, (lane % 4) * 32 + i


def d_64n(lane: int, i: int) -> tuple[int, int]:
    """PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk32", accumulator D."""
    return (lane // 32) * 16 + (lane % 32 >> 2) + (8 if i & 2 else 0), (i // 4) * 8 + (lane % 4) * 2 + (i & 1)


FRAGMENTS = [
    (S4, "A", 32, a_16864),
    (S4, "B", 16, b_16864),
    (S4, "C", 4, c_16864),
    (S4, "D", 4, c_16864),
    (B1, "A", 32, a_88128),
    (WGMMA, "D", 12, d_64n),
]


@pytest.mark.parametrize(
    ("ins", "name", "count", "formula"), FRAGMENTS, ids=lambda v: v if isinstance(v, str) else None
)
def test_fragment_cells_are_where_the_manual_puts_them(
    ins: ptxlab.Instruction, name: str, count: int, formula: Formula
) -> None:
    (grid,) = views.fragment(ins, name, label="elements").grids
    bits = {"s4": 4, "b1": 1, "s32": 32, "f32": 32}[str(ins.operand(name).dtype)]
    prefix = name.lower()
    owner = {
        (r, c): cell
        for cell in grid.cells
        for r in range(cell.row, cell.row + cell.height)
        for c in range(cell.column, cell.column + cell.width)
    }
    for lane in range(ins.lanes):
        for i in range(count):
            row, column = formula(lane, i)
            cell = owner[row, column]
            assert cell.lane == lane
            label = re.fullmatch(rf"T(\d+):\{{{prefix}(\d+)(?:(?:,|\.\.){prefix}(\d+))?\}}", cell.text)
            assert label is not None
            assert int(label[1]) == lane
            assert int(label[2]) <= i <= int(label[3] or label[2])
            assert i - int(label[2]) == (row - cell.row) + (column - cell.column)
            low = i * bits % 32
            where = f"[{low}]" if bits == 1 else f"[{low + bits - 1}..{low}]"
            assert grid.hover[row, column].splitlines() == [
                f"{name}[{row}][{column}]",
                f"{ins.a.holder} {lane}, element {prefix}{i}",
                f"register {i * bits // 32}, bits {where}",
            ]


@each("ins", one_in(6, ONE_EACH), ids=str)
@pytest.mark.slow
def test_every_operand_has_a_picture_that_tiles_its_matrix(ins: ptxlab.Instruction) -> None:
    for name, op in ins.operands.items():
        grid = views.fragment(ins, name).grids[0]
        if op.layout is not None and name not in ("SFA", "SFB"):
            assert grid.shape == op.shape
        assert sum(cell.height * cell.width for cell in grid.cells) == grid.hover.size
        assert all(grid.hover.ravel())


@pytest.mark.slow
def test_a_large_operand_drops_its_labels_and_keeps_its_hover() -> None:
    large = ptxlab.instruction("wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3")
    (grid,) = views.fragment(large, "D").grids
    assert not grid.labelled
    assert grid.hover[9, 37].startswith("D[9][37]\nthread 6, element d19\n")
    assert views.fragment(large, "D", label="lanes").grids[0].at(9, 37).text == "T6"


def sparse_columns(ins: ptxlab.Instruction, lane: int, i: int) -> tuple[int, range]:
    """Row, and columns of dense A among which stored element a_i lies: firstcol .. lastcol of the manual."""
    group, thread = lane >> 2, lane % 4
    if ins.a_type == "s4":
        return group if i < 8 else group + 8, range(thread * 16, thread * 16 + 16)
    first = thread * 2 + (8 if i >= 2 else 0)
    return group if i in (0, 2) else group + 8, range(first, first + 2)


@pytest.mark.parametrize("ins", [SP_S4, SP_TF32], ids=str)
def test_dense_a_of_a_sparse_instruction_names_the_lane_that_stores_it(ins: ptxlab.Instruction) -> None:
    (grid,) = views.fragment(ins, "A", dense=True).grids
    assert grid.shape == (ins.m, ins.k)
    for lane in range(32):
        for i in range(16 if ins.a_type == "s4" else 4):
            row, columns = sparse_columns(ins, lane, i)
            named = [grid.at(row, column) for column in columns]
            assert {cell.lane for cell in named} == {lane}
            assert any(f"a{i}" in expanded(cell.text) for cell in named)


def expanded(label: str) -> list[str]:
    """The element names in a label: ``T0:{a4..a7}`` -> a4 a5 a6 a7."""
    prefix, numbers = "a", [int(n) for n in re.findall(r"a(\d+)", label)]
    return [f"{prefix}{n}" for n in range(numbers[0], numbers[-1] + 1)]


def test_focus_on_a_lane() -> None:
    (grid,) = views.fragment(S4, "A", lane=5).grids
    assert {cell.lane for cell in grid.cells if cell.state == "mark"} == {5}
    assert {cell.state for cell in grid.cells if cell.lane != 5} == {"dim"}


@pytest.mark.parametrize("ins", SPARSE, ids=str)
def test_metadata_labels_point_at_the_bits_that_hold_the_nibble(
    ins: ptxlab.Instruction, rng: np.random.Generator
) -> None:
    """A nibble written where the label says is read back at that row and chunk under that selector."""
    for selector in ins.selectors:
        grid = views.metadata(ins, selector=selector).grids[0]
        for cell in rng.permutation(np.array(grid.cells, dtype=object))[:24]:
            lane, high, low = (
                int(n) for n in re.fullmatch(r"T(\d+): \[(\d+)\.\.(\d+)\]", cell.text).groups()
            )
            assert high == low + 3
            registers = np.zeros((ins.lanes, 1), dtype=np.uint32)
            registers[lane, 0] = np.uint32(0xB << low)
            expected = np.zeros(ins.e.shape, dtype=np.uint8)
            expected[cell.row, cell.column] = 0xB
            assert (ins.e.unpack_codes(registers, selector) == expected).all()


@pytest.mark.parametrize("warp", range(4))
def test_one_warp_of_a_warpgroup(warp: int) -> None:
    """PTX ISA, "Register Fragments for wgmma": each of four warps has 16 rows of A and D, and 32 lanes."""
    for picture, columns in (
        (views.fragment(WGMMA, "D", warp=warp), 24),
        (views.metadata(WGMMA, warp=warp), 16),
    ):
        (grid,) = picture.grids
        assert grid.shape == (16, columns)
        assert {cell.lane for cell in grid.cells} == set(range(32 * warp, 32 * warp + 32))
        assert [head.text for head in grid.rows] == [str(row) for row in range(16 * warp, 16 * warp + 16)]
        assert grid.row_rules == ()
        threads, rows = (f"{size * warp}..{size * warp + size - 1}" for size in (32, 16))
        assert f"threads {threads}, rows {rows}" in picture.subtitle
    whole = views.fragment(WGMMA, "A", dense=True).grids[0]
    (part,) = views.fragment(WGMMA, "A", dense=True, warp=warp).grids
    assert (part.hover == whole.hover[16 * warp : 16 * warp + 16]).all()
    assert part.labelled
    assert not whole.labelled
    assert views.fragment(S4, "A", warp=0).grids[0].cells == views.fragment(S4, "A").grids[0].cells


@pytest.mark.parametrize(("ins", "columns"), [(S4, 8), (WGMMA, 24)])
def test_headings_without_labels_end_with_the_matrix(ins: ptxlab.Instruction, columns: int) -> None:
    (grid,) = views.fragment(ins, "D", label="none").grids
    assert sum(head.size for head in grid.columns) == columns
    assert grid.columns[-1].text.endswith(f"..{columns - 1}")


def test_headings_of_words_are_further_apart_than_the_words_in_them() -> None:
    names = ["chain of float32", "tensor core, sm_90", "exact"]
    words = {word.text: word for word in table({"sum": ["0", "1", "2"]}, names, "Sums").drawing().words}
    for left, right in itertools.pairwise(words[name] for name in names):
        letters = (len(left.text) + len(right.text)) / 2
        assert right.x - left.x >= (letters + 1.5) * 0.6 * left.size


def measured(ins: ptxlab.Instruction, row: int, chunk: int) -> tuple[int, int]:
    """Lane and nibble of a chunk, as measured on an H200.

    With narrow types a lane has eight chunks of a row, with tf32 four chunks of two rows.
    """
    group, lower, warp = row % 8, row // 8 % 2, row // 16
    if ins.a_type == "tf32":
        return 4 * group + chunk // 4, chunk % 4 + 4 * lower
    return 32 * warp + 4 * group + lower + 2 * (chunk // 8), chunk % 8


@pytest.mark.parametrize("ins", SPARSE, ids=str)
def test_metadata_is_where_the_chip_reads_it(ins: ptxlab.Instruction) -> None:
    grid = views.metadata(ins).grids[0]
    for cell in grid.cells:
        lane, nibble = measured(ins, cell.row, cell.column)
        assert cell.text == f"T{lane}: [{4 * nibble + 3}..{4 * nibble}]"


@pytest.mark.parametrize("ins", [SP_S4, SP_TF32], ids=str)
def test_the_selector_picks_a_thread_pair_of_every_quad(ins: ptxlab.Instruction) -> None:
    """PTX ISA, "Sparse matrix storage": a thread-pair of four threads contributes, chosen by the selector."""
    for selector in (0, 1):
        grid, quads = views.metadata(ins, selector=selector).grids
        assert {cell.lane % 4 for cell in grid.cells} == {2 * selector, 2 * selector + 1}
        assert {cell.lane for cell in quads.cells} - {None} == {cell.lane for cell in grid.cells}


def test_metadata_with_nibbles_says_what_they_keep() -> None:
    nibbles = np.full((16, 8), 0b0100)
    nibbles[3, 2] = 0b1101  # pairs 1 and 3 of columns 16..23
    cell = views.metadata(SP_S4, nibbles).grids[0].at(3, 2)
    assert cell.lines[1:] == ("0b1101", "18-19,22-23")
    halves = np.full((16, 8), 0b1110)  # the second of two
    assert views.metadata(SP_TF32, halves).grids[0].at(0, 3).lines[1:] == ("0b1110", "7")


@pytest.mark.parametrize("ins", SCALED, ids=str)
def test_scales_follow_the_byte_and_thread_selectors(ins: ptxlab.Instruction) -> None:
    """PTX ISA, "Block Scaling for mma.sync".

    thread-id-a picks a pair of each quad, thread-id-b one thread, byte-id the bytes.
    """
    vec = ins.scale_vec
    for byte in {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}[vec]:
        for thread in range(4):
            a, _, b, _ = views.scales(
                ins, byte_id_a=byte, thread_id_a=thread % 2, byte_id_b=byte, thread_id_b=thread
            ).grids
            for row, block in np.ndindex(16, vec):
                lane = 4 * (row % 8) + 2 * (thread % 2) + row // 8
                assert a.at(row, block).text == f"T{lane}: [{8 * (byte + block) + 7}..{8 * (byte + block)}]"
            for block, column in np.ndindex(vec, 8):
                assert (
                    b.at(block, column).text
                    == f"T{4 * column + thread}: [{8 * (byte + block) + 7}..{8 * (byte + block)}]"
                )


@pytest.mark.parametrize(
    ("ins", "name"),
    [
        (S4, "A"),
        (S4, "C"),
        (SP_TF32, "A"),
        (B1, "B"),
        (WGMMA, "A"),
        (next(ins for ins in SCALED if ins.kind == "mxf4"), "B"),
        (SCALED[-1], "SFA"),
    ],
)
def test_registers_of_a_lane_as_bit_fields(
    ins: ptxlab.Instruction, name: str, rng: np.random.Generator
) -> None:
    op = ins.operand(name)
    registers = rng.integers(0, 1 << 32, (op.lanes, op.registers), dtype=np.uint32)
    (grid,) = views.lane(ins, name, 6, registers).grids
    for cell in grid.cells:
        field = f"{int(registers[6, cell.row]):032b}"[cell.column : cell.column + cell.width]
        shown = next(
            line for line in cell.lines[1:] if set(line) <= set("01 ") and not line.startswith(op.name)
        ).replace(" ", "")
        assert field.endswith(shown)
        assert len(field) - len(shown) == (1 if str(op.dtype) == "ue4m3" else 0)
        element = int(cell.lines[0].removeprefix(op.name.lower()))
        assert element == cell.row * (32 // op.width) + (31 - cell.column) // op.width
    assert [head.lines[1] for head in grid.rows] == [f"0x{int(register):08x}" for register in registers[6]]
    assert views.lane(ins, name, 6, registers[6]).grids[0].cells == grid.cells


def test_bit_fields_show_values() -> None:
    A = np.zeros((16, 64), dtype=np.int64)
    A[9, 37] = -3  # lane 4, a29
    cell = views.lane(S4, "A", 4, S4.a.pack(A)).grids[0].at(3, 31 - 23)
    assert cell.lines == ("a29", "A[9][37]", "1101", "-3")


def code_at(registers: np.ndarray, lane: int, register: int, field: str) -> int:
    high, low = (int(n) for n in re.findall(r"\d+", field)) if ".." in field else (int(field[1:-1]),) * 2
    return int(registers[lane, register]) >> low & ((1 << (high - low + 1)) - 1)


@pytest.mark.parametrize("ins", SPARSE, ids=str)
def test_where_a_dense_element_goes(ins: ptxlab.Instruction, rng: np.random.Generator) -> None:
    """Compress and pack a matrix; every element is found in the bits that the answer names for its nibble."""
    full = rng.integers(1, 7, (ins.m, ins.k))
    A = ins.prune(full)
    stored, nibbles = ins.compress(A)
    registers, e = ins.a.pack(stored), ins.e.pack_codes(nibbles)
    codes = ins.a.dtype.encode(A)
    for row, column in zip(
        rng.integers(0, ins.m, 40).tolist(), rng.integers(0, ins.k, 40).tolist(), strict=True
    ):
        answer = views.sparse_where(ins, row, column)
        nibble = answer.nibble.records()[0]
        value = code_at(e, nibble["lane"], nibble["register"], nibble["bits"])
        assert value == nibbles[row, answer.chunk]
        place = next(r for r in answer.places.records() if r["nibble"] == f"0b{value:04b}")
        if place["lane"] == "-":
            assert A[row, column] == 0
        else:
            assert code_at(registers, place["lane"], place["register"], place["bits"]) == codes[row, column]


@pytest.mark.parametrize(("byte", "swizzle"), [(0, 0), (0, 64), (0, 128)])
def test_where_in_shared_memory(byte: int, swizzle: int) -> None:
    """PTX ISA, "Shared Memory Matrix Layout".

    Core matrices have 8 rows of 16 bytes; a swizzle XORs 16-byte vectors with the row.
    """
    k, n = 37, 13
    (place,) = views.where(WGMMA, "B", k, n, swizzle).records()
    if swizzle == 0:
        expected = (n // 8) * 512 + (k // 16) * 128 + (n % 8) * 16 + k % 16
    else:
        plain = n * swizzle + k
        expected = plain ^ ((plain >> 7) % (swizzle // 16)) << 4
    assert place["byte offset"] == expected + byte
    (grid,) = views.fragment(WGMMA, "B").grids
    assert grid.at(13, 2).text == f"0x{512 + 2 * 128 + 5 * 16:04x}"


@pytest.mark.parametrize(
    ("swizzle", "transposed"), [(0, False), (32, False), (0, True), (32, True), (128, True)]
)
def test_where_in_a_tile_of_halves(swizzle: int, transposed: bool, rng: np.random.Generator) -> None:
    """Store random codes; the bytes at the offset named are the element's."""
    b = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16").b
    codes = rng.integers(0, 1 << 16, b.shape, dtype=np.uint16)
    memory = Tile.of(b, swizzle, transposed).store(codes.T)
    table = views.layout(b, swizzle, transposed).records()
    assert len(table) == codes.size
    for record in table:
        at = record["byte offset"]
        assert memory[at : at + 2].view(np.uint16)[0] == codes[record["row"], record["column"]]
    assert {int(cell, 16) for row in views.offsets(b, swizzle, transposed).rows for cell in row[1:]} == {
        at // 16 * 16 for at in (record["byte offset"] for record in table)
    }


@pytest.mark.parametrize("width", [32, 64, 128])
def test_a_swizzle_is_drawn_as_bits_of_the_address_say(width: int) -> None:
    """Bits 4 up are XORed with bits 7 up (CuTe: Swizzle<B,4,3>, with B = 1, 2 or 3)."""
    mask = {32: 0b1, 64: 0b11, 128: 0b111}[width]
    plain, swizzled = views.swizzle(width, vector=1).grids
    for row, vector in itertools.product(range(8), range(width // 16)):
        address = row * width + vector * 16
        moved = address ^ (address >> 7 & mask) << 4
        for grid, place in ((plain, address), (swizzled, moved)):
            cell = grid.at(place // 128, place % 128 // 16)
            assert cell.text == f"{row}.{vector}"
            assert (cell.state == "mark") == (vector == 1)
            assert f"banks {place // 4 % 32}..{place // 4 % 32 + 3}" in grid.hover[cell.row, cell.column]
    for column in range(8):  # the vectors of a core matrix are in different banks
        vectors = [swizzled.at(line, column).text[-1] for line in range(swizzled.shape[0])]
        assert len(set(vectors)) == len(vectors)


@pytest.mark.parametrize("swizzle", [32, 64, 128])
def test_the_bytes_of_a_slice_are_drawn_as_bits_of_the_address_say(swizzle: int) -> None:
    mask = swizzle // 16 - 1
    k = 0 if swizzle == 32 else 16
    tile = Tile(16, 16, swizzle // 2, swizzle=swizzle)
    matrix, memory, fields = views.bytes_read(tile.descriptor(0x800, k), tile, k).grids
    for row, vector in itertools.product(range(16), range(swizzle // 16)):
        plain = row * swizzle + vector * 16
        place = plain ^ (plain >> 7 & mask) << 4
        cell, read = memory.at(place // 128, place % 128 // 16), vector - k // 8 in (0, 1)
        assert (cell.text, cell.state) == (f"{row}.{vector}", "plain" if read else "dim")
        assert (matrix.at(row, vector).state, matrix.at(row, vector).lane) == (cell.state, cell.lane)
    assert [cell.text for cell in fields.cells if cell.state == "mark"] == (
        [f"0x{0x80 + k // 8:x}", f"byte 0x{0x800 + 2 * k:x}"] if k else []
    )


def test_what_a_wrong_descriptor_reads_is_outlined() -> None:
    """SBO of 512 instead of 1024: rows 8 to 15 are taken from where rows 4 to 11 are."""
    tile = Tile(16, 16, 64, swizzle=128)
    picture = views.bytes_read(Descriptor(0x400, 0, 512, 128), tile, address=0x400)
    _, memory, fields = picture.grids
    marked = sorted(cell.text for cell in memory.cells if cell.state == "mark")
    assert marked == sorted(f"{row}.{vector}" for row in range(4, 12) for vector in (0, 1))
    assert [cell.text for cell in fields.cells if cell.state == "mark"] == ["0x20", "512 bytes"]
    assert "SBO must be 1024, found 512" in picture.notes
    _, memory, _ = views.bytes_read(Descriptor(0, 0, 128), rows=8).grids  # LBO 0: both vectors are one
    assert [cell.text for cell in memory.cells] == [f"{row}.0+1" for row in range(8)]


def test_a_box_is_drawn_where_tma_puts_it() -> None:
    array = np.arange(8 * 64, dtype=np.uint16).reshape(8, 64)
    tma = tensor_map(array, (8, 16), 64)
    matrix, memory = views.box(tma, 4, 16).grids
    written = tma.load(4, 16).view(np.uint16)
    for cell in memory.cells:
        first = int(written[(cell.row * 128 + cell.column * 16) // 2])
        row, column = divmod(first, 64)
        assert cell.text in ("", "0") if not first else cell.text == f"{row}.{column // 8}"
    assert {cell.text for cell in matrix.cells if cell.lane is not None} == {
        f"{row}.{vector}" for row in range(4, 8) for vector in (2, 3)
    }
    flipping = tensor_map(np.zeros((8, 32), np.float32), (8, 32), "128B_ATOM_32B_FLIP_8B")
    _, memory = views.box(flipping).grids
    assert [memory.at(1, column).text for column in range(4)] == ["1.2*", "1.3*", "1.0*", "1.1*"]


def test_the_bits_of_a_swizzled_address() -> None:
    grid = views.swizzle_bits(0x4A0, 128).grids[0]
    before, after = ("".join(grid.at(row, column).text for column in range(grid.shape[1])) for row in (0, 3))
    assert (int(before, 2), int(after, 2)) == (0x4A0, 0x4B0)
    assert [11 - 1 - cell.column for cell in grid.cells if cell.state == "mark"] == [4]


def test_a_descriptor_shows_each_bit_once_and_what_its_fields_say(rng: np.random.Generator) -> None:
    """PTX ISA, "Matrix Descriptor Format"."""
    numbers = [0, 2**64 - 1, *(int(n) for n in rng.integers(0, 2**64, 20, dtype=np.uint64))]
    for number in [number for number in numbers if number >> 46 & 7 != 1]:  # those are tcgen05's
        upper, lower = views.descriptor(number).grids
        bits = "".join(grid.at(0, column).text for grid in (upper, lower) for column in range(32))
        assert int(bits, 2) == number
        assert int(lower.at(1, 31).text, 0) == number & 0x3FFF
        assert lower.at(2, 31).text == f"byte 0x{(number & 0x3FFF) * 16:x}"
        assert lower.at(2, 10).text == f"{(number >> 16 & 0x3FFF) * 16} bytes"
        assert upper.at(2, 31).text == f"{(number >> 32 & 0x3FFF) * 16} bytes"
        assert int(upper.at(1, 13).text) == number >> 49 & 7
        assert upper.at(2, 0).text == ("none", "128 B", "64 B", "32 B")[number >> 62]
        hues = {cell.lane for grid in (upper, lower) for cell in grid.cells if cell.lane is not None}
        assert len({hue // 4 for hue in hues}) == 5  # one for each field


def test_tcgen05s_descriptor_has_the_segment_of_a_compressed_b() -> None:
    for segment in (0, 1):
        picture = views.descriptor(Tcgen05Descriptor(0x400, 128, 512, 64, segment=segment).code)
        tooltips = [str(text) for grid in picture.grids for text in grid.hover.ravel()]
        assert f"B seg, bits [53]\n{segment:#x}: {segment}" in tooltips


@each(
    "name, parts, operand",
    [
        ("tcgen05.mma.cta_group::1.kind::f16", {"m": 64, "n": 24}, "D"),
        ("tcgen05.mma.cta_group::2.kind::f16", {"m": 128, "n": 256}, "D"),
        ("tcgen05.mma.ws.cta_group::1.kind::f16", {"m": 32, "n": 64}, "D"),
        ("tcgen05.mma.sp.cta_group::1.kind::f16", {"selector": 2}, "E"),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", {"scale_a_id": 2}, "SFA"),
        ("tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale", {"n": 72}, "SFB"),
    ],
)
def test_tensor_memory_is_drawn_as_its_words_are_held(name: str, parts: dict[str, int], operand: str) -> None:
    ins = ptxlab.instruction(name, **parts)
    tensor = ins.tensor(operand)
    for cta, grid in enumerate(views.tensor_memory(ins, operand).grids):
        for place in itertools.product((0, 5, 16, 37, 127), {0, 1, grid.shape[1] - 1}):
            content, where = grid.hover[place].splitlines()
            column = int(re.search(r"columns? (\d+)", where)[1])
            held = tensor.holds(place[0], column, cta)
            if content == "free":
                bits = re.search(r"bits \[(?:\d+\.\.)?(\d+)\]", where)
                assert not any(
                    (at.cta, at.lane, at.column, at.low)
                    == (cta, place[0], column, int(bits[1]) if bits else 0)
                    for element in held
                    for at in tensor.where(*element)
                )
                continue
            row, col = (int(number) for number in re.findall(r"\[(\d+)", content))
            assert f"lane {place[0]}, " in where and (row, col) in held


def test_registers_of_tensor_memory_are_drawn_where_the_load_takes_them() -> None:
    for name in ("16x64b.x2", "16x128b.x1", "16x256b.x1", "32x32b.x4", "16x64b.x2.pack::16b"):
        load = ptxlab.instruction(f"tcgen05.ld.sync.aligned.{name}.b32")
        (grid,) = views.tensor_registers(load, warp=2).grids
        for thread, register in itertools.product((64, 77, 95), range(load.registers)):
            lane, column = load.locate(thread, register)
            assert f"thread {thread}, register {register}" in grid.hover[lane - 64, column]
    picture = views.instruction_descriptor(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16"))
    bits = "".join(cell.text for grid in picture.grids for cell in grid.cells if cell.row == 0)
    assert int(bits, 2) == 0x8400010


def test_bars_are_as_long_as_their_numbers() -> None:
    picture = bars({"a": 3, "b": 1.5, "c": 0}, "T", most=6)
    lengths = [cell.width for cell in picture.grids[0].cells if cell.lane is not None]
    assert lengths == [28, 14]


def test_layout_rows_and_holds() -> None:
    table = views.layout(S4.b)
    assert len(table.rows) == 32 * 16
    for record in table.records():
        assert (record["row"], record["column"]) == b_16864(record["lane"], record["element"])
        assert (record["register"], record["low"], record["high"]) == (
            record["element"] // 8,
            record["element"] % 8 * 4,
            record["element"] % 8 * 4 + 3,
        )
    elements = views.holds(S4, "B", 5, 1).records()
    assert [(r["k"], r["n"]) for r in elements] == [b_16864(5, i) for i in range(8, 16)]


def test_forms_count_by_family() -> None:
    instructions, counts = views.forms(element_type="tf32")
    assert {views.types(ins)[0] for ins in instructions} == {"tf32"}
    assert (counts["mma"], counts["mma.sp"], counts["wgmma"]) == (2, 4, 32)  # wgmma: one for each N
    assert sum(views.forms()[1].values()) == len(ptxlab.catalog())
    assert views.forms("mma", element_type="s32", shape="m16n8k64", sparse=False)[1] == {"mma": 8}
    assert {ins.family for ins in views.forms(sparse=True)[0]} == {
        "mma.sp", "wgmma.sp", "tcgen05.mma.sp", "tcgen05.mma.ws.sp",
    }  # fmt: skip
    assert [row[-1] for row in views.counts(views.forms("wmma")[0]).rows] == [len(ptxlab.catalog("wmma"))] * 2


@each("ins", ONE_EACH, ids=str)
def test_facts_name_every_operand_target_and_evidence(ins: ptxlab.Instruction) -> None:
    facts = views.facts(ins)
    assert [(r["operand"], r["type"], r["registers"]) for r in facts["operands"].records()] == [
        (name, str(op.dtype), op.registers or "-") for name, op in ins.operands.items()
    ]
    assert set(facts["targets"]) | set(facts["missing on"]) == set(ptxlab.TARGETS)
    assert facts["ptx"].startswith(ins.mnemonic)
    assert "asm volatile(" in facts["c++"][1]
    assert "chip runs" not in facts
    assert ("sparsity" in facts) == ins.sparse
    known = any(word in line for line in facts["arithmetic"] for word in ("measured", "published", "assumed"))
    assert known == (facts["emulator"] != "no model of its arithmetic")


def test_facts_of_a_move_say_who_gives_the_address() -> None:
    facts = views.facts(ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x2.b16"))
    assert (
        facts["address"] == "lane r of 0..15 gives that of row r of R, a multiple of 16; 8 rows are a matrix"
    )
    assert "arithmetic" not in facts
    load = views.facts(ptxlab.instruction("wmma.load.b.sync.aligned.col.m16n16k16.f16"))
    assert "16 columns of 16 elements" in load["address"]


# -- what goes into an element of D ----------------------------------------------------------------------


def fetch(
    ins: ptxlab.Instruction, name: str, codes: np.ndarray, places: Sequence[RegisterPlace | BytePlace]
) -> set[int]:
    """The contents of the bits that the answer names, in packed registers or in the stored tile."""
    op = ins.operand(name)
    if op.layout is not None:
        registers = op.pack_codes(codes)
        return {
            int(registers[p.lane, p.register]) >> p.bits[0] & ((1 << (p.bits[1] - p.bits[0] + 1)) - 1)
            for p in places
        }
    memory = Tile.of(op).store(codes.T if name == "B" else codes)
    (place,) = places
    if op.dtype.bits == 1:
        assert place.bits[0] == place.bits[1]
        return {int(memory[place.byte]) >> place.bits[0] & 1}
    return {int.from_bytes(memory[place.byte : place.byte + op.dtype.bits // 8].tobytes(), "little")}


def fits(nibble: int, pattern: str) -> bool:
    return all(digit in ("x", bit) for digit, bit in zip(pattern[2:], f"{nibble:04b}", strict=True))


@each("ins", [ins for ins in ONE_EACH if ins.n < 256], ids=str)
@pytest.mark.slow
def test_the_places_that_explain_names_hold_the_factors(
    ins: ptxlab.Instruction, rng: np.random.Generator
) -> None:
    """Random zeros and ones: what the places named hold adds up to the matrix product."""
    A = rng.integers(0, 2, ins.a_dense.shape)
    B, C = rng.integers(0, 2, ins.b.shape), rng.integers(0, 2, ins.c.shape)
    nibbles = None
    stored = A
    if ins.e is not None:
        A = ins.prune(A)
        stored, nibbles = ins.compress(A)
    row, col = int(rng.integers(ins.d.shape[0])), int(rng.integers(ins.d.shape[1]))
    explanation = views.explain(ins, row, col)
    a, b, c = (op.dtype.encode(values) for op, values in ((ins.a, stored), (ins.b, B), (ins.c, C)))
    total = 0
    seen = set()
    for term in explanation.terms:
        if nibbles is not None:
            chunk = explanation.e[term.chunk]
            place = chunk.places[0]
            assert chunk.k[0] <= term.k <= chunk.k[1]
            assert place.read_with == "selector 0"
            (nibble,) = fetch(ins, "E", nibbles, [place])
            assert nibble == nibbles[row, term.chunk]
            if not fits(nibble, term.nibble):
                continue
        (left,), (right,) = fetch(ins, "A", a, term.a), fetch(ins, "B", b, term.b)
        x, y = (
            ins.a.dtype.decode(np.uint64(left).astype(ins.a.dtype.code_type)),
            ins.b.dtype.decode(np.uint64(right).astype(ins.b.dtype.code_type)),
        )
        total += int(x) ^ int(y) if ins.bit_op == "xor" else int(x) * int(y)
        seen.add(term.k)
    assert len(seen) == ins.a.shape[1]
    # The quad pairs of mma.m8n8k4.
    columns = slice(row // 8 * 8, row // 8 * 8 + 8) if B.shape[1] > ins.n else slice(None)
    right = A[row] ^ B[:, columns][:, col] if ins.bit_op == "xor" else A[row] * B[:, columns][:, col]
    assert total == right.sum()
    (code,) = fetch(ins, "C", c, explanation.c)
    assert code == c[row, col]
    assert len(explanation.d) == 1
    described = explanation.tables()
    assert len(described["terms"].rows) >= len(explanation.terms)
    assert ("scale_a" in described) == (ins.scale_a is not None)


def test_explain_names_every_block_scale() -> None:
    ins = next(ins for ins in SCALED if ins.scale_vec == 2)
    explanation = views.explain(ins, 9, 3)
    assert [entry.k for entry in explanation.scale_a] == [(0, 31), (32, 63)]
    lanes = {place.lane for entry in explanation.scale_a for place in entry.places}
    assert lanes == {5, 7}  # row 9: lane 4 * 1 + 1, thread-id 0 and 1
    assert {place.lane for entry in explanation.scale_b for place in entry.places} == {12, 13, 14, 15}
    assert "SFA[9][k / 32]" in explanation.formula


def test_an_element_that_is_held_twice_is_explained_twice() -> None:
    ins = ptxlab.instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
    explanation = views.explain(ins, 0, 0)
    assert [place.element for place in explanation.terms[0].a] == ["a0", "a8"]
    assert len(explanation.tables()["terms"].rows) == 32
    assert views.copies_note(ins.a) == "every element is held twice: a(i) again as a(i + 8)"
    assert views.copies_note(ins.c) == ""


@each(
    "call, message",
    [
        (lambda: views.fragment(S4, "Q"), "has no operand 'Q'"),
        (lambda: views.fragment(S4, "A", dense=True), "dense=True: only A of a sparse instruction"),
        (lambda: views.fragment(S4, "A", lane=32), "lane 32 does not exist"),
        (lambda: views.fragment(S4, "A", label="x"), "label='x'"),
        (
            lambda: views.fragment(WGMMA, "D", warp=4),
            "warp=4: D is held by 128 threads, which are warps 0, 1, 2, 3",
        ),
        (lambda: views.fragment(S4, "A", warp=1), "warp=1: A is held by 32 lanes, which are warp 0"),
        (lambda: views.fragment(WGMMA, "B", warp=0), "warp=0: B of .* lives in shared memory"),
        (lambda: views.metadata(WGMMA, warp=-1), "warp=-1"),
        (lambda: views.fragment(S4, "A", swizzle=64), "nothing to swizzle"),
        (lambda: views.fragment(WGMMA, "B", swizzle=48), "swizzle of 48 bytes"),
        (lambda: views.metadata(S4), "is dense"),
        (lambda: views.metadata(SP_S4, selector=2), "selector=2"),
        (lambda: views.metadata(SP_S4, np.zeros((16, 4))), r"found shape \(16, 4\)"),
        (lambda: views.metadata(SP_S4, np.zeros((16, 8), int)), "nibble 0b0000 is undefined"),
        (lambda: views.scales(S4), "no block scales"),
        (
            lambda: views.scales(next(ins for ins in SCALED if ins.scale_vec == 2), byte_id_a=1),
            "byte_id_a=1",
        ),
        (
            lambda: views.lane(S4, "A", 0, np.zeros((32, 3), np.uint32)),
            r"found registers of shape \(32, 3\)",
        ),
        (lambda: views.sparse_where(S4, 0, 0), "is dense"),
        (lambda: views.sparse_where(SP_S4, 0, 64), "column 64: dense A is 16x64"),
        (lambda: views.where(WGMMA, "B", 64, 0), "row 64: B is 64x24"),
        (lambda: views.holds(WGMMA, "B", 0), "lives in shared memory"),
        (lambda: views.holds(S4, "B", 5, cta=7), "cta=7: B is in registers"),
        (lambda: views.where(S4, "A", 0, 0, swizzle=77), "swizzle=77: A lives in registers, without a tile"),
        (lambda: views.where(S4, "A", 0, 0, transposed=True), "transposed=True: A lives in registers"),
        (lambda: views.layout(S4.b, swizzle=32), "swizzle=32: B lives in registers"),
        (lambda: views.cute(WGMMA, "B"), "lives in shared memory"),
        (lambda: views.explain(S4, 16, 0), "row 16: the matrix is 16x8"),
        (lambda: views.explain(ptxlab.catalog("movmatrix")[0], 0, 0), "nothing is computed"),
        (lambda: views.forms(shape="m1"), "no instruction has the shape"),
        (lambda: views.where(WGMMA, "B", 0, 0, transposed=True), "transposes f16 and bf16 only"),
        (lambda: views.forms(element_type="s5"), "unknown element type"),
    ],
)
def test_bad_requests_are_refused_in_a_sentence(call: Callable[[], object], message: str) -> None:
    refuses(message, call)


def test_runs_of_element_names_are_shortened() -> None:
    assert [element_names("a", range(n)) for n in (1, 2, 3)] == ["{a0}", "{a0,a1}", "{a0..a2}"]


# -- aligned bits of a trace -----------------------------------------------------------------------------

TRACED = {
    "f16": (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        ("moderate", "exponents", "cancellation", "special", "bottom", "zeros", "overflow"),
    ),
    "f16 to f16": (
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
        ("moderate", "subnormals", "overflow"),
    ),
    "fp8": ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", ("moderate", "special")),
    "wgmma": ("wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3", ("moderate",)),
    "tf32 in two": ("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", ("moderate", "exponents")),
    "f64": (
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
        ("moderate", "exponents", "cancellation", "bits"),
    ),
    "m8n8k4": ("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16", ("moderate", "exponents")),
    "s8": ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", ("bits", "edges")),
    "b1": ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", ("bits",)),
}


def traced(name: str, category: str, seed: int) -> tuple[Trace, views.Picture]:
    ins = mma_instruction(name)
    operands = ptxlab.inputs.make(ins, category, 1, seed).item(0)
    result = trace(operands, ins.d.shape[0] - 1, 1)
    return result, views.trace(result)


def written(grid: views.Grid, row: int, low: int, roles: set[str]) -> Fraction:
    """The number that the digits of a row spell, where the cut stands before the power `low`."""
    cut = grid.column_rules[0][0]
    digits = [
        cell for cell in grid.cells if cell.row == row and cell.role in roles and cell.text in ("0", "1")
    ]
    return sum(
        (int(cell.text) * Fraction(2) ** (low + cut - 1 - cell.column) for cell in digits), Fraction(0)
    )


@pytest.mark.parametrize("form", TRACED)
@pytest.mark.slow
def test_a_trace_is_drawn_with_the_bits_that_it_has(form: str) -> None:
    name, categories = TRACED[form]
    for category, seed in itertools.product(categories, range(3)):
        result, picture = traced(name, category, seed)
        floats = result.steps[-1].dtype != "s32"
        assert len(picture.grids) == len(result.steps) + floats
        for step, grid in zip(result.steps, picture.grids, strict=False):
            assert grid.shape[1] <= 1 + 56 + 8 + 1
            if not floats:
                rows = {
                    row: "".join(
                        cell.text for cell in sorted(grid.cells, key=lambda c: c.column) if cell.row == row
                    )
                    for row in range(grid.shape[0])
                }
                assert (
                    rows[grid.shape[0] - 1] == f"{step.code:032b}"
                    and rows[0][-32:] == f"{int(step.terms[0].value) & 0xFFFFFFFF:032b}"
                )
                assert rows[grid.shape[0] - 2][-32:] == f"{int(step.total) & 0xFFFFFFFF:032b}"
            elif step.grain is not None and isinstance(step.total, Fraction):
                if sum(term.value == 0 for term in step.terms) > 2:
                    continue  # runs of zeros may share a row
                for row, term in enumerate(step.terms):
                    assert written(grid, row, step.grain, {"kept"}) == abs(term.kept)
                assert written(grid, len(step.terms), step.grain, {"sum", "rounded"}) == abs(step.total)
        if floats:
            register = "".join(cell.text for cell in picture.grids[-1].cells)
            assert int(register, 2) == result.code


def test_what_lies_far_behind_the_cut_takes_no_columns() -> None:
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32")
    A = np.zeros((16, 8))
    A[0, :2] = 2.0**100, 2.0**-100
    grid = views.trace(ins.trace(A, np.ones((8, 8)), None, 0, 0)).grids[0]
    assert grid.shape[1] < 45
    assert [cell.text for cell in grid.cells if cell.row == 2 and cell.role == "lost"] == ["from 2^-100"]
    names = [head.text.split("\N{NO-BREAK SPACE}")[0] for head in grid.rows]
    assert names[3:] == ["6", "sum", "D", "exact", "float32"]


@pytest.mark.parametrize("seed", range(6))
def test_bits_that_are_not_exact_are_marked(seed: int) -> None:
    result, picture = traced("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "moderate", seed)
    last = result.last_place
    assert last is not None and isinstance(result.value, Fraction) and isinstance(result.exact, Fraction)
    differ = int(abs(result.value) / last) ^ int(abs(result.exact) / last)
    marked = [cell for cell in picture.grids[-2].cells if cell.state == "mark" and cell.role == "result"]
    assert len(marked) == differ.bit_count()
