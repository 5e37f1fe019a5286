"""Scales and metadata as libraries store them, against their formulas written down again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ptxlab import memory
from ptxlab.instruction import Instruction, mma_instructions
from ptxlab.isa.sparsity import STRUCTURES
from tests.cases import each, refuses


@pytest.mark.parametrize(("rows", "columns"), [(128, 4), (1, 1), (300, 10), (256, 16)])
def test_scales_as_torch_arranges_them(rows: int, columns: int, rng: np.random.Generator) -> None:
    """By reshaping and swapping axes of padded blocks, as torchao's to_blocked does."""
    scales = rng.integers(1, 256, (2, rows, columns), dtype=np.uint8)
    high, wide = -(-rows // 128), -(-columns // 4)
    padded = np.zeros((2, high * 128, wide * 4), dtype=np.uint8)
    padded[:, :rows, :columns] = scales
    blocks = padded.reshape(2, high, 128, wide, 4).swapaxes(2, 3)
    expected = blocks.reshape(2, -1, 4, 32, 4).swapaxes(2, 3).reshape(2, -1)
    np.testing.assert_array_equal(memory.tile_scales(scales), expected)
    np.testing.assert_array_equal(memory.untile_scales(expected, rows, columns), scales)


def test_scales_by_cublas_formula() -> None:
    """cuBLAS, "1D Block Scaling Factors Layout": offset = (outer % 32) * 16 + (outer / 32) * 4 + inner."""
    for outer in range(128):
        for inner in range(4):
            assert memory.scale_offset(outer, inner, 4) == (outer % 32) * 16 + (outer // 32) * 4 + inner
    assert memory.scale_offset(128, 4, 8) == 3 * 512


def gathered(plain: np.ndarray, k: int) -> np.ndarray:
    """The order that PyTorch gathers words in, from its offsets: 8 rows, each with its neighbours' words."""
    m, words = plain.shape
    if plain.itemsize == 4:
        lanes, together, neighbours = 4, 16, [0, k // 4, 1, k // 4 + 1]
    else:
        lanes, together = 8, 32
        neighbours = [0, k // 2, 1, k // 2 + 1, k, 3 * k // 2, k + 1, 3 * k // 2 + 1]
    order = [
        2 * pair + group * together * words + row * words + neighbour
        for pair in range(words // 2)
        for group in range(m // together)
        for row in range(8)
        for neighbour in neighbours
    ]
    assert len(order) == m * words and lanes == len(neighbours)
    return plain.reshape(-1)[order].reshape(m, words)


@pytest.mark.parametrize(("bits", "chunks"), [(16, 8), (16, 32), (8, 16), (8, 32)])
def test_metadata_as_torch_reorders_it(bits: int, chunks: int, rng: np.random.Generator) -> None:
    nibbles = rng.integers(0, 16, (64, chunks), dtype=np.uint8)
    count = 4 if bits == 16 else 8
    plain = sum(
        nibbles.reshape(64, -1, count)[..., i].astype(np.uint32) << 4 * i for i in range(count)
    ).astype(np.uint16 if bits == 16 else np.uint32)
    expected = gathered(plain, 4 * chunks)
    stored = memory.reorder_metadata(nibbles, bits)
    assert stored.dtype == (np.int16 if bits == 16 else np.int32)
    np.testing.assert_array_equal(stored.view(plain.dtype), expected)
    np.testing.assert_array_equal(memory.restore_metadata(stored), nibbles)


SPARSE = [
    ins
    for ins in mma_instructions("mma.sp")
    if ins.structure in (STRUCTURES["2:4"], STRUCTURES["1:2"]) and ins.a.dtype.bits >= 8
]


def test_metadata_in_registers(rng: np.random.Generator) -> None:
    """A whole pruned matrix: registers from what PyTorch stores are those of every tile by itself."""
    assert len(SPARSE) > 20
    for ins in SPARSE[::5]:
        _check_registers(ins, rng)


def _check_registers(ins: Instruction, rng: np.random.Generator) -> None:
    assert ins.e is not None
    bits = ins.a.dtype.bits
    rows, chunks = ins.e.shape
    nibbles = rng.choice([*ins.nibbles], (32 * (rows // 16), 16 * chunks)).astype(np.uint8)
    registers = memory.metadata_registers(ins, memory.reorder_metadata(nibbles, bits))
    tile = nibbles[rows : 2 * rows, 3 * chunks : 4 * chunks]
    np.testing.assert_array_equal(registers[1, 3], ins.e.pack_codes(tile))
    again = memory.metadata_from_registers(ins, registers)
    np.testing.assert_array_equal(memory.restore_metadata(again), nibbles)


REFUSED = [
    (lambda: memory.tile_scales(np.ones(4, dtype=np.uint8)), r"they are \[..., rows, columns\]"),
    (lambda: memory.tile_scales(np.ones((4, 4))), "scales of float64: ue8m0 and ue4m3 take one byte"),
    (lambda: memory.untile_scales(np.ones(4, dtype=np.uint8), 4, 4), r"take \[..., 512\] bytes"),
    (lambda: memory.scale_offset(0, 4, 4), "column 4: it goes from 0 to 3"),
    (lambda: memory.scale_offset(-1, 0, 4), "row -1"),
    (
        lambda: memory.reorder_metadata(np.ones((16, 8), dtype=int)),
        "rows a multiple of 32 and chunks one of 8",
    ),
    (lambda: memory.reorder_metadata(np.full((32, 8), 16)), "found 16; they go from 0 to 15"),
    (lambda: memory.reorder_metadata(np.ones((32, 8), dtype=int), 64), "elements of 4, 8, 16 or 32 bits"),
    (lambda: memory.restore_metadata(np.ones((32, 2), dtype=np.int64)), "metadata of int64: it is int16"),
    (lambda: memory.restore_metadata(np.ones((32, 3), dtype=np.int16)), "words an even number"),
    (
        lambda: memory.metadata_registers(DENSE, np.ones((32, 2), dtype=np.int16)),
        "is dense: it has no metadata",
    ),
]


@each("make, sentence", REFUSED)
def test_refusals_say_what_is_wrong(make: Callable[[], object], sentence: str) -> None:
    refuses(sentence, make)


DENSE = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
