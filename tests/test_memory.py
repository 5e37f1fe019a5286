"""Shared-memory tiles against the ISA's canonical layouts, evaluated anew, and the descriptor's bit fields."""

from __future__ import annotations

import numpy as np
import pytest

from ptxlab import PtxlabError, instruction
from ptxlab.memory import SWIZZLES, Tile

TILES = [Tile(rows, width, swizzle) for rows in (8, 24, 64) for width in (32, 64) for swizzle in SWIZZLES if not swizzle or swizzle >= width]


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_canonical_layout(tile: Tile) -> None:
    """PTX ISA, "Canonical Layouts", K-major, T = 16 one-byte elements: ((8,m),(T,2k)) : ((1T,SBO),(1,LBO)) without swizzle,
    ((8,m),(T,2k)) : ((W/16 T,SBO),(1,T)) with a swizzle of W bytes, then Swizzle<log2(W/16),4,3>."""
    pieces = max(tile.swizzle // 16, 1)
    step = 16 if tile.swizzle else tile.leading
    for row in range(tile.rows):
        for byte in range(tile.row_bytes):
            at = row % 8 * 16 * pieces + row // 8 * tile.stride + byte % 16 + byte // 16 * step
            if tile.swizzle:  # Swizzle<B,4,3>: B bits at position 7 are XORed into those at position 4
                at ^= (at & ((pieces - 1) << 7)) >> 3
            assert tile.offset(row, byte) == at
    assert len(np.unique(tile.offsets)) == tile.offsets.size
    assert tile.offsets.max() < tile.size


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_store_and_load(tile: Tile, rng: np.random.Generator) -> None:
    matrix = rng.integers(0, 256, (3, tile.rows, tile.row_bytes), dtype=np.uint8)
    np.testing.assert_array_equal(tile.load(tile.store(matrix)), matrix)


def test_descriptor_fields() -> None:
    """PTX ISA, "Matrix Descriptor Format"."""
    d = Tile(64, 64, 64).descriptor(0x2400)
    assert d & 0x3FFF == 0x2400 >> 4
    assert d >> 16 & 0x3FFF == 1
    assert d >> 32 & 0x3FFF == 512 >> 4
    assert d >> 49 & 7 == 0
    assert d >> 62 == 2
    plain = Tile(64, 64).descriptor(0x100)
    assert (plain >> 16 & 0x3FFF, plain >> 32 & 0x3FFF, plain >> 62) == (128 >> 4, 512 >> 4, 0)


def test_tiles_of_operands() -> None:
    ins = instruction("wgmma.mma_async.sp.sync.aligned.m64n24k64.s32.s8.u8")
    assert Tile.of(ins.b) == Tile(24, 64)
    assert Tile.of(ins.a_from("shared").a) == Tile(64, 32)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Tile(8, 64, 48), "swizzle of 48 bytes: there are 0, 32, 64, 128"),
        (lambda: Tile(7, 64), "core matrices are 8 rows of 16 bytes"),
        (lambda: Tile(8, 64, 32), "rows of 64 bytes do not fit a 32-byte swizzle"),
        (lambda: Tile(8, 64).descriptor(8), "shared-memory address 8: this tile needs a multiple of 16"),
        (lambda: Tile.of(instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").b), "operand B lives in registers"),
    ],
)
def test_refusals(make: object, sentence: str) -> None:
    with pytest.raises(PtxlabError, match=sentence):
        make()  # type: ignore[operator]
