"""Shared-memory tiles against the ISA's canonical layouts and the bit fields of the descriptor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from ptxlab import Instruction, instruction
from ptxlab.instruction import mma_instructions
from ptxlab.memory import SWIZZLES, Descriptor, Tile, descriptor
from tests.cases import each, refuses


def _tiles() -> Iterator[Tile]:
    """K-major tiles as deep as wgmma reads them, dense and sparse, and all legal MN-major ones."""
    for bits, rows, depth, swizzle in product((1, 8, 16, 32), (8, 24, 64, 128), (32, 64), SWIZZLES):
        if not swizzle or swizzle >= depth:
            yield Tile(bits, rows, depth * 8 // bits, "K", swizzle)
    for bits, depth, swizzle, order in product((4, 8, 16, 64), (128, 256), SWIZZLES, ("MN", "K")):
        yield Tile(bits, 24, depth * 8 // bits, "K", swizzle, order)  # wider than the swizzle
    for bits, rows, k, swizzle in product((16, 32), (8, 24, 64, 128), (16, 32), SWIZZLES):
        if rows * bits // 8 % max(swizzle, 16) == 0:
            yield Tile(bits, rows, k, "MN", swizzle)
            yield Tile(bits, rows, k, "MN", swizzle, "K")


TILES = list(_tiles())
WIDE, NARROW = Tile(16, 64, 128, swizzle=128), Tile(16, 64, 32)


def decode(descriptor: int) -> tuple[int, int, int, int]:
    """Address, leading and stride byte offset, swizzle in bytes. PTX ISA, "Matrix Descriptor Format"."""
    address, leading, stride = ((descriptor >> low & 0x3FFF) << 4 for low in (0, 16, 32))
    fields = address >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | descriptor >> 62 << 62
    assert descriptor == fields, "all other bits are 0"
    return address, leading, stride, {0: 0, 1: 128, 2: 64, 3: 32}[descriptor >> 62]


def canonical(
    descriptor: int, bits: int, major: str
) -> tuple[list[tuple[int, int]], list[tuple[int, int]], int]:
    """PTX ISA, "Strides", table of canonical layouts, from nothing but what the hardware is told.

    The modes of the row and of k as (size, stride in bits), size 0 for the last one; the B of Swizzle<B,4,3>.
    """
    _, leading, stride, swizzle = decode(descriptor)
    t = 128 // bits
    lbo, sbo = 8 * leading, 8 * stride
    w = {0: 1, 32: 2, 64: 4, 128: 8}[swizzle]
    if major == "K":  # ((8,m),(T,2k)) : ((1T,SBO),(1,LBO)), swizzled ((8,m),(T,2k)) : ((wT,SBO),(1,T))
        return [(8, w * 128), (0, sbo)], [(t, bits), (0, 128 if swizzle else lbo)], w.bit_length() - 1
    if not swizzle:  # ((T,1,m),(8,k)) : ((1,T,SBO),(1T,LBO))
        return [(t, bits), (0, sbo)], [(8, 128), (0, lbo)], 0
    # ((T,w,m),(8,k)) : ((1,T,LBO),(wT,SBO))
    return [(t, bits), (w, 128), (0, lbo)], [(8, w * 128), (0, sbo)], w.bit_length() - 1


def bit_offset(index: int, modes: list[tuple[int, int]]) -> int:
    """Where an index ends up that goes through these modes, fastest first."""
    offset = 0
    for size, stride in modes:
        index, position = divmod(index, size) if size else (0, index)
        offset += position * stride
    return offset


@pytest.mark.slow
@each("tile", TILES, ids=str)
def test_canonical_layout(tile: Tile) -> None:
    expected = np.empty((tile.rows, tile.k), dtype=np.int64)
    depth = tile.k
    if tile.major == "K" and 0 < tile.swizzle < tile.row_bytes:
        depth = tile.swizzle * 8 // tile.bits  # as far as one descriptor reaches
    for start in range(0, tile.k, depth):
        descriptor = tile.descriptor(0, start)
        row_modes, k_modes, b = canonical(descriptor, tile.bits, tile.major)
        base = 8 * decode(descriptor)[0]
        for row, k in np.ndindex(tile.rows, depth):
            byte, bit = divmod(base + bit_offset(row, row_modes) + bit_offset(k, k_modes), 8)
            assert bit == k * tile.bits % 8
            # Swizzle<b,4,3>: b bits from bit 7 on are XORed into those from bit 4 on
            expected[row, start + k] = byte ^ (byte & ((1 << b) - 1) << 7) >> 3
    np.testing.assert_array_equal(tile.offsets, expected)
    offsets, elements = np.unique(expected, return_counts=True)
    assert (elements == max(8 // tile.bits, 1)).all(), "elements overlap"
    assert offsets[-1] < tile.size
    assert tile.size % tile.alignment == 0 or not tile.swizzle


@pytest.mark.parametrize(
    ("tile", "layout", "leading", "stride"),
    [
        (Tile(16, 16, 16, "MN", 0), "Swizzle<0,4,3> o ((8,1,2),(8,2)):((1,8,64),(8,128))", 128, 64),
        (Tile(16, 32, 16, "MN", 32), "Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256))", 128, 256),
        (Tile(16, 64, 16, "MN", 64), "Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512))", 256, 512),
        (Tile(32, 16, 8, "K", 32), "Swizzle<1,4,3> o ((8,2),(4,2)):((8,64),(1,4))", 4, 64),
    ],
)
def test_examples_of_the_manual(tile: Tile, layout: str, leading: int, stride: int) -> None:
    """PTX ISA, "Strides": the three MN-major examples for bf16, strides in elements; and a K-major tile."""
    assert tile.cute == layout
    assert (tile.leading, tile.stride) == (tile.bits // 8 * leading, tile.bits // 8 * stride)


@each("tile", TILES, ids=str)
def test_store_and_load(tile: Tile, rng: np.random.Generator) -> None:
    code_type = {1: "u1", 4: "u1", 8: "u1", 16: "u2", 32: "u4", 64: "u8"}[tile.bits]
    highest = (1 << tile.bits) - 1
    shape = (3, tile.rows, tile.k)
    codes = rng.integers(0, highest, shape, dtype=np.uint64, endpoint=True).astype(code_type)
    memory = tile.store(codes)
    assert memory.dtype == np.uint8 and memory.shape == (3, tile.size)
    np.testing.assert_array_equal(tile.load(memory), codes)
    row, k = tile.rows - 3, tile.k - 5
    offset = int(tile.offset(row, k))
    if tile.bits < 8:
        assert memory[1, offset] >> k * tile.bits % 8 & highest == codes[1, row, k]
    else:  # little-endian, as on the GPU
        content = memory[1, offset : offset + tile.bits // 8].tobytes()
        assert int.from_bytes(content, "little") == codes[1, row, k]


def tile_to_shape(tile: Tile, order: str) -> np.ndarray:
    """CUTLASS's tile_to_shape of a GMMA layout atom, written down again: byte offsets [rows, k].

    An atom is 8 x W elements, W those in the bytes of the swizzle (16 without); MN-major the other way round.
    """
    width = max(tile.swizzle, 16) * 8 // tile.bits
    row, k = np.arange(tile.rows)[:, None], np.arange(tile.k)[None, :]
    line, along = (row, k) if tile.major == "K" else (k, row)
    inside = line % 8 * width + along % width
    atoms = (tile.rows // 8, tile.k // width) if tile.major == "K" else (tile.rows // width, tile.k // 8)
    atom_row, atom_k = (row // 8, k // width) if tile.major == "K" else (row // width, k // 8)
    number = atom_row + atoms[0] * atom_k if order == "MN" else atom_row * atoms[1] + atom_k
    byte = (number * 8 * width + inside) * tile.bits // 8
    return byte ^ (byte & (max(tile.swizzle, 16) // 16 - 1) << 7) >> 3


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_tile_to_shape(bits: int) -> None:
    for major, swizzle, order in product(("K", "MN"), SWIZZLES, ("MN", "K")):
        tile = Tile(bits, 256 * 8 // bits, 256 * 8 // bits, major, swizzle, order)
        np.testing.assert_array_equal(tile.offsets, tile_to_shape(tile, order))


def test_descriptors_of_known_kernels() -> None:
    """fast.cu's and DeepGEMM's, as formulas: SBO 1024, 32 bytes further for each slice."""
    tile = Tile(16, 128, 64, swizzle=128)
    for k in range(0, 64, 16):
        fast = (0x8000 + 2 * k) >> 4 | 16 >> 4 << 16 | 1024 >> 4 << 32 | 1 << 62
        assert tile.descriptor(0x8000, k) == fast
    for rows, k_block, swizzle in product((64, 128, 192), (16, 64), (32, 64, 128)):
        width = swizzle // 2  # elements of M or N in an atom of an MN-major bf16 tile, one TMA box each
        tile = Tile(16, rows, k_block, "MN", swizzle, "K")
        for k in range(0, k_block, 16):
            fields = tile.slice(0x2000, k)
            assert (fields.leading, fields.stride) == (k_block * width * 2, 8 * width * 2)
            assert fields.address == 0x2000 + k * width * 2


def test_tiles_of_thunderkittens() -> None:
    """Its shared tiles (st::idx) as a formula: subtiles as wide as the widest swizzle that divides a row."""
    for size, rows, columns in product((1, 2, 4), (16, 64, 80), (32, 48, 64, 96, 256)):
        swizzle = next(width for width in (128, 64, 32, 16) if columns * size % width == 0)
        if swizzle > 16:
            wide = swizzle // size
            row, column = np.arange(rows)[:, None], np.arange(columns)
            byte = (column // wide * rows * wide + row * wide + column % wide) * size
            tile = Tile(8 * size, rows, columns, swizzle=swizzle)
            np.testing.assert_array_equal(tile.offsets, byte ^ byte % (8 * swizzle) >> 7 << 4)


def test_a_base_offset_where_the_tile_is_not_aligned_to_its_pattern() -> None:
    """PTX ISA, "Matrix Descriptor Format": (pattern start >> 7) & 7, and 0 on the pattern's boundary."""
    for swizzle, lines in ((32, 2), (64, 4), (128, 8)):
        tile = Tile(16, 64, 64, swizzle=swizzle)
        for line in range(16):
            fields = tile.slice(0x4000 + 128 * line, 16)
            assert fields.base_offset == line % lines
            where = fields.addresses(np.arange(64)[:, None], np.arange(16))
            np.testing.assert_array_equal(where, 0x4000 + 128 * line + tile.offsets[:, 16:32])


@each("tile", [t for t in TILES if t.bits in (8, 16, 32) and t.k * t.bits >= 256], ids=str)
def test_a_descriptor_reads_its_slice(tile: Tile, rng: np.random.Generator) -> None:
    depth = 256 // tile.bits
    memory = rng.integers(0, 256, 0x800 + tile.size, dtype=np.uint8)
    for k in range(0, tile.k - depth + 1, depth):
        fields = descriptor(tile.descriptor(0x800, k))
        where = fields.addresses(
            np.arange(tile.rows)[:, None], np.arange(depth), bits=tile.bits, major=tile.major
        )
        np.testing.assert_array_equal(where, 0x800 + tile.offsets[:, k : k + depth])
        codes = fields.load(memory, min(tile.rows, 64), depth, bits=tile.bits, major=tile.major)
        np.testing.assert_array_equal(codes, tile.load(memory[0x800:])[:64, k : k + depth])
        assert not tile.judge(fields, k, address=0x800).problems


def test_decoding_is_the_inverse_of_encoding(rng: np.random.Generator) -> None:
    for _ in range(200):
        address, leading, stride = (int(x) * 16 for x in rng.integers(0, 1 << 14, 3))
        fields = Descriptor(address, leading, stride, int(rng.choice([*SWIZZLES])), int(rng.integers(8)))
        assert descriptor(fields.code) == fields == descriptor(int(np.uint64(fields.code)))
    sentence = str(descriptor(0x4000004000010040))
    assert sentence == (
        "wgmma reads from 0x400 with a 128-byte swizzle; leading dimension offset (LBO) 16, stride dimension "
        "offset (SBO) 1024 bytes."
    )
    for code, message in (
        (1 << 64, "it has 64 bits"),
        (-1, "it has 64 bits"),
        (1 << 14, "bit 14 is 1, but belongs to no field"),
        (1 << 47 | 1, "bit 47 is 1"),
    ):
        refuses(message, descriptor, code)


NOT_THERE = (
    "address 0x420 is not where a slice at k=0 starts: it is 0 bytes into the tile, and a tile starts at a "
    "multiple of 128; it could be that of k=16"
)


@pytest.mark.parametrize(
    ("tile", "fields", "k", "address", "problems"),
    [
        (WIDE, (0x400, 0, 1024, 128), 0, None, []),
        (WIDE, (0x400, 16, 512, 128), 0, None, ["SBO must be 1024, found 512"]),
        (WIDE, (0x400, 16, 1024, 64), 0, None, ["swizzle must be 128 bytes, found 64 bytes"]),
        (WIDE, (0x420, 16, 1024, 128), 16, 0x400, []),
        (WIDE, (0x420, 16, 1024, 128), 0, None, [NOT_THERE]),
        (WIDE, (0x480, 16, 1024, 128), 0, None, ["base offset must be 1 for a tile at 0x480, found 0"]),
        (WIDE, (0x480, 16, 1024, 128), 64, 0x400, ["address must be 0x2400, found 0x480"]),
        (NARROW, (0x400, 512, 128), 0, None, ["LBO must be 128, found 512", "SBO must be 512, found 128"]),
        (Tile(16, 8, 32), (0x400, 128, 16), 0, None, []),  # one group of 8 rows: no stride
    ],
)
def test_what_is_wrong_with_a_descriptor(
    tile: Tile, fields: tuple[int, ...], k: int, address: int | None, problems: list[str]
) -> None:
    assert [*tile.judge(Descriptor(*fields).code, k, address=address).problems] == problems


#: Tiles of tcgen05 whose swizzle moves 32 bytes at a time.
_WIDE_CHUNKS = [
    Tile(bits, 1024 // bits * repeats, k, "MN", 128, order, 32)
    for bits in (8, 16, 32)
    for repeats in (1, 2)
    for k in (4, 8, 32)
    for order in ("MN", "K")
]


@each("tile", [*TILES, *_WIDE_CHUNKS], ids=str)
def test_cute_strings_read_back(tile: Tile) -> None:
    again = Tile.from_cute(tile.cute, tile.bits)
    np.testing.assert_array_equal(again.offsets, tile.offsets)
    assert again.chunk == tile.chunk
    assert (again.major, again.swizzle) == (tile.major, tile.swizzle) or 8 in (tile.rows, tile.k)
    assert Tile.parse(repr(tile)) == tile


@pytest.mark.parametrize(
    ("text", "tile"),
    [
        (
            "Sw<2,4,3> o smem_ptr[8b](unset) o ((_8,_8),(_64,_2)):((_64,_512),(_1,_4096))",
            Tile(8, 64, 128, swizzle=64),
        ),
        ("Sw<3,3,3> o ((_64,_2),(_8,_4)):((_1,_512),(_64,_1024))", Tile(16, 128, 32, "MN", 128)),
        ("S<1,4,3> o 0 o ((8,2),16):((16,128),1)", Tile(16, 16, 16, "K", 32)),
        ("Swizzle<0,4,3> o ((8,2),(8,2)):((8,128),(1,64))", Tile(16, 16, 16)),
        ("Sw<2,5,2> o smem_ptr[32b](unset) o (_32,_8):(_1,_32)", Tile(32, 32, 8, "MN", 128, chunk=32)),
        ("Sw<2,3,2> o (_32,_8):(_1,_32)", Tile(32, 32, 8, "MN", 128, chunk=32)),
    ],
)
def test_layouts_as_cute_prints_them(text: str, tile: Tile) -> None:
    assert Tile.from_cute(text) == tile


@each(
    "text, sentence",
    [
        ("", "a tile is spelt|bits is missing"),
        ("bits=16,rows=64", "k is missing; a tile is spelt"),
        ("bits=16,rows=64,k=x", "k takes a whole number, found 'x'"),
        ("bits=16,rows=64,k=64,swizle=128", "found 'swizle=128'; a tile is spelt"),
        ("dtype=f17,rows=64,k=64", "f17"),
        ("Sw<4,4,3> o (8,64):(64,1)", "wgmma has Swizzle<0,4,3> to Swizzle<3,4,3>"),
        ("Sw<3,5,2> o (8,64):(64,1)", "tcgen05 also Swizzle<2,5,2>"),
        ("Sw<2,6,2> o (8,64):(64,1)", "tcgen05 also Swizzle<2,5,2>"),
        ("Sw<2,5,2> o smem_ptr[32b](unset) o (32,8):(1,40)", "no tile of tcgen05 with elements of 32 bits"),
        ("(8,64,2):(64,1,512)", "a tile has two modes"),
        ("((8,(64)):(64,1)", "a tile has two modes"),
        ("((8,2),64):(64,1)", "do not go together"),
        (
            "Sw<3,4,3> o smem_ptr[16b](unset) o (8,64):(72,1)",
            "no tile of wgmma with elements of 16 bits has it",
        ),
        ("Swizzle<3,4,3> o (8,4096):(4096,1)", "no tile of wgmma"),
        ("(" * 500, "a tile has two modes"),
    ],
)
def test_texts_that_are_no_tile(text: str, sentence: str) -> None:
    refuses(sentence, Tile.parse, text)


def test_tiles_of_operands() -> None:
    sparse = instruction("wgmma.mma_async.sp.sync.aligned.m64n24k64.s32.s8.u8")
    assert Tile.of(sparse.b) == Tile(8, 24, 64)
    assert Tile.of(sparse.a_from("shared").a) == Tile(8, 64, 32)
    dense = instruction("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16").a_from("shared")
    assert Tile.of(dense.b, 128, transposed=True) == Tile(16, 128, 16, "MN", 128)
    assert Tile.of(dense.a, 32) == Tile(16, 64, 16, "K", 32)


WGMMA = [ins for family in ("wgmma", "wgmma.sp") for ins in mma_instructions(family) if ins.n in (8, 256)]


@each("ins", WGMMA, ids=str)
def test_every_form_has_its_tiles(ins: Instruction) -> None:
    """One wgmma reads 32 bytes of K, of B twice that if A is sparse; two tiles fit the 48 KiB of a kernel."""
    form = ins.a_from("shared")
    a, b = Tile.of(form.a), Tile.of(form.b)
    assert (a.rows, a.row_bytes, b.rows, b.row_bytes) == (64, 32, form.n, 64 if form.sparse else 32)
    widest = [Tile.of(operand, 128) for operand in (form.a, form.b)]
    assert sum(tile.size for tile in widest) <= 48 << 10
    for tile in widest:
        assert decode(tile.descriptor(3 << 10)) == (3 << 10, 16, 1024, 128)


B_F16 = instruction("wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16").b
B_TF32 = instruction("wgmma.mma_async.sync.aligned.m64n24k8.f32.tf32.tf32").b


REFUSED = [
    (lambda: Tile(8, 8, 64, swizzle=48), "swizzle of 48 bytes: there are 0, 32, 64, 128"),
    (lambda: Tile(8, 8, 64, "M"), "major='M': a tile is 'K' or 'MN' major"),
    (lambda: Tile(np.zeros((2,) * 18), 8, 64), "bits: found <class 'numpy.ndarray'>; it takes a whole"),
    (lambda: Descriptor(0, 16, 1024).addresses(-1, 0), "row -1: it goes from 0 to"),
    (lambda: Descriptor(0, 16, 1024).addresses(0, np.uint64(2**64 - 1)), "k 18446744073709551615: it"),
    (lambda: Tile(6, 8, 64), "elements of 6 bits: there are 1, 2, 4, 8, 16, 32, 64 bits"),
    (lambda: Tile(4, 64, 32, "MN"), "elements of 4 bits are K-major: two neighbours along K share a byte"),
    (lambda: Tile(16, 8, 64, "K", 0, "N"), "order='N': atoms follow each other along 'MN' or 'K' first"),
    (lambda: Tile(8, 7, 64), "core matrices are 8 rows of 16 bytes"),
    (lambda: Tile(16, 8, 4), "core matrices are 8 rows of 16 bytes"),
    (
        lambda: Tile.of(instruction("wgmma.sp.m64n8k32.f32.f16").b, 32),
        "rows of 64 bytes do not fit a 32-byte swizzle",
    ),
    (
        lambda: Tile(16, 8, 96, swizzle=128),
        "rows of 192 bytes with a 128-byte swizzle: .* take k=128 or a narrower swizzle",
    ),
    (lambda: WIDE.descriptor(0x400, 4), "k=4: slices of this tile start at multiples of 8 below 128"),
    (lambda: WIDE.descriptor(0x400, 128), "k=128: slices of this tile start at multiples of 8 below 128"),
    (lambda: WIDE.descriptor(0x400, 56), "k=56: wgmma reads 32 bytes of K from one swizzle atom"),
    (lambda: WIDE.descriptor(0x400, 120), "k=120: wgmma reads 32 bytes of K, 16 elements, and the tile ends"),
    (lambda: WIDE.descriptor(0x400, row=4), "row=4: slices of this tile start at multiples of 8 below 64"),
    (lambda: WIDE.descriptor(0x410), "shared-memory address 1040: this tile needs a multiple of 128"),
    (lambda: WIDE.descriptor((1 << 18) - 128, 64), "would start at 0x41f80, beyond 2\\^18"),
    (
        lambda: Tile.of(B_F16, 128, True),
        "24 elements along M or N: MN-major with a 128-byte swizzle takes multiples of 64 "
        "elements of 16 bits",
    ),
    (
        lambda: Tile(16, 4, 16, "MN"),
        "4 elements along M or N: MN-major without swizzle takes multiples of 8 elements",
    ),
    (lambda: Tile(16, 64, 12, "MN"), "K = 12: core matrices are 8 deep in K"),
    (lambda: Tile(1, 256, 256, "MN"), "single bits are K-major"),
    (lambda: Tile.of(B_TF32, 0, True), "operand B is tf32: wgmma transposes f16 and bf16 only"),
    (lambda: Tile(8, 8, 64).descriptor(8), "shared-memory address 8: this tile needs a multiple of 16"),
    (
        lambda: Tile(8, 8, 64).store(np.zeros((64, 8))),
        r"codes of shape \(64, 8\): this tile takes \[..., 8, 64\]",
    ),
    (
        lambda: Tile(1, 8, 256).store(np.full((8, 256), 2)),
        "codes of 1 bits are unsigned integers below 2\\^1",
    ),
    (lambda: Tile(8, 8, 64).store(np.zeros((8, 64))), "found others in an array of float64"),
    (
        lambda: Descriptor(0x400, 16, 1024, 128).load(np.zeros(64, np.uint8), 8, 16),
        "memory of 64 bytes: wgmma reads up to byte 2047",
    ),
    (
        lambda: Tile(8, 8, 64).load(np.zeros(64)),
        r"memory of shape \(64,\): this tile takes \[..., 512\] bytes",
    ),
    (lambda: Tile.of(instruction("mma.m16n8k64.s4").b), "operand B is in registers"),
]


@each("make, sentence", REFUSED)
def test_refusals_say_what_is_wrong(make: Callable[[], object], sentence: str) -> None:
    refuses(sentence, make)
