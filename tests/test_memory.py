"""Shared-memory tiles against the ISA's canonical layouts and the bit fields of the descriptor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from ptxlab import Instruction, PtxlabError, instruction
from ptxlab.instruction import mma_instructions
from ptxlab.memory import SWIZZLES, Tile


def _tiles() -> Iterator[Tile]:
    """K-major tiles as deep as wgmma reads them, dense and sparse, and all legal MN-major ones."""
    for bits, rows, depth, swizzle in product((1, 8, 16, 32), (8, 24, 64, 128), (32, 64), SWIZZLES):
        if not swizzle or swizzle >= depth:
            yield Tile(bits, rows, depth * 8 // bits, "K", swizzle)
    for bits, rows, k, swizzle in product((16, 32), (8, 24, 64, 128), (16, 32), SWIZZLES):
        if rows * bits // 8 % max(swizzle, 16) == 0:
            yield Tile(bits, rows, k, "MN", swizzle)


TILES = list(_tiles())


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
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_canonical_layout(tile: Tile) -> None:
    row_modes, k_modes, b = canonical(tile.descriptor(), tile.bits, tile.major)
    expected = np.empty((tile.rows, tile.k), dtype=np.int64)
    for row, k in np.ndindex(expected.shape):
        byte, bit = divmod(bit_offset(row, row_modes) + bit_offset(k, k_modes), 8)
        assert bit == (k % 8 if tile.bits == 1 else 0)
        # Swizzle<b,4,3>: b bits from bit 7 on are XORed into those from bit 4 on
        expected[row, k] = byte ^ (byte & ((1 << b) - 1) << 7) >> 3
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
    ],
)
def test_examples_of_the_manual(tile: Tile, layout: str, leading: int, stride: int) -> None:
    """PTX ISA, "Strides": the three MN-major examples for bf16, strides in elements."""
    assert tile.cute == layout
    assert (tile.leading, tile.stride) == (2 * leading, 2 * stride)


def test_cute_string_of_a_swizzled_k_major_tile() -> None:
    assert Tile(32, 16, 8, "K", 32).cute == "Swizzle<1,4,3> o ((8,2),(4,2)):((8,64),(1,4))"


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_store_and_load(tile: Tile, rng: np.random.Generator) -> None:
    code_type = {1: "u1", 8: "u1", 16: "u2", 32: "u4"}[tile.bits]
    codes = rng.integers(0, 1 << tile.bits, (3, tile.rows, tile.k), dtype=np.uint64).astype(code_type)
    memory = tile.store(codes)
    assert memory.dtype == np.uint8 and memory.shape == (3, tile.size)
    np.testing.assert_array_equal(tile.load(memory), codes)
    row, k = tile.rows - 3, tile.k - 5
    offset = int(tile.offset(row, k))
    if tile.bits == 1:
        assert memory[1, offset] >> k % 8 & 1 == codes[1, row, k]
    else:  # little-endian, as on the GPU
        content = memory[1, offset : offset + tile.bits // 8].tobytes()
        assert int.from_bytes(content, "little") == codes[1, row, k]


def test_descriptor_fields() -> None:
    """PTX ISA, "Matrix Descriptor Format"."""
    d = Tile(8, 64, 64, swizzle=64).descriptor(0x2400)
    assert d & 0x3FFF == 0x2400 >> 4
    assert d >> 16 & 0x3FFF == 1
    assert d >> 32 & 0x3FFF == 512 >> 4
    assert d >> 49 & 7 == 0
    assert d >> 62 == 2
    plain = Tile(8, 64, 64).descriptor(0x100)
    assert (plain >> 16 & 0x3FFF, plain >> 32 & 0x3FFF, plain >> 62) == (128 >> 4, 512 >> 4, 0)


def test_tiles_of_operands() -> None:
    sparse = instruction("wgmma.mma_async.sp.sync.aligned.m64n24k64.s32.s8.u8")
    assert Tile.of(sparse.b) == Tile(8, 24, 64)
    assert Tile.of(sparse.a_from("shared").a) == Tile(8, 64, 32)
    dense = instruction("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16").a_from("shared")
    assert Tile.of(dense.b, 128, transposed=True) == Tile(16, 128, 16, "MN", 128)
    assert Tile.of(dense.a, 32) == Tile(16, 64, 16, "K", 32)


WGMMA = [ins for family in ("wgmma", "wgmma.sp") for ins in mma_instructions(family) if ins.n in (8, 256)]


@pytest.mark.parametrize("ins", WGMMA, ids=str)
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


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Tile(8, 8, 64, swizzle=48), "swizzle of 48 bytes: there are 0, 32, 64, 128"),
        (lambda: Tile(8, 8, 64, "M"), "major='M': a tile is 'K' or 'MN' major"),
        (lambda: Tile(4, 8, 64), "elements of 4 bits: wgmma reads 1, 8, 16, 32 bits"),
        (lambda: Tile(8, 7, 64), "core matrices are 8 rows of 16 bytes"),
        (lambda: Tile(16, 8, 4), "core matrices are 8 rows of 16 bytes"),
        (lambda: Tile(16, 8, 32, swizzle=32), "rows of 64 bytes do not fit a 32-byte swizzle"),
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
            lambda: Tile(8, 8, 64).load(np.zeros(64)),
            r"memory of shape \(64,\): this tile takes \[..., 512\] bytes",
        ),
        (
            lambda: Tile.of(instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").b),
            "operand B is in registers",
        ),
    ],
)
def test_refusals(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(PtxlabError, match=sentence):
        make()
