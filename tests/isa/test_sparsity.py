"""Structured sparsity: the round trip, the manual's nibbles, the nearest matrix by trying every choice."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray

from ptxlab import PtxlabError, instruction
from ptxlab.isa.sparsity import STRUCTURES
from tests.cases import refusal, refuses

#: PTX ISA, "Sparse matrix storage": width of a chunk, elements of a group, groups kept, legal nibbles.
MANUAL = {
    "2:4": (4, 1, 2, {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110}),
    "1:2": (2, 1, 1, {0b0100, 0b1110}),
    "4:8": (8, 2, 2, {0b0100, 0b1000, 0b1001, 0b1100, 0b1101, 0b1110}),
}
SPARSE = instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
NAMES = pytest.mark.parametrize("name", MANUAL)


@st.composite
def structured(draw: st.DrawFn, name: str) -> NDArray[Any]:
    """A matrix with the structure, often with fewer non-zeros than allowed, over any batch axes."""
    chunk, group, keep, _ = MANUAL[name]
    batch = draw(st.sampled_from([(), (), (2,), (2, 1, 3), (0,)]))
    rows, chunks = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    dtype = draw(st.sampled_from([np.int8, np.float32, np.uint8]))
    shape = (*batch, rows, chunks, chunk // group, group)
    values = draw(npst.arrays(dtype, shape, elements=st.integers(0, 7)))
    kept = np.zeros(values.shape[:-1], dtype=bool)
    for index in np.ndindex(*values.shape[:-2]):
        for kept_group in draw(st.sampled_from(list(combinations(range(chunk // group), keep)))):
            kept[(*index, kept_group)] = True
    return (values * kept[..., None]).astype(values.dtype).reshape(*batch, rows, chunks * chunk)


def by_hand(name: str, stored: NDArray[Any], nibbles: NDArray[Any]) -> NDArray[Any]:
    """Expansion of one matrix, one chunk at a time, as the manual's figures 112 to 115 show it."""
    chunk, group, keep, _ = MANUAL[name]
    dense = np.zeros((stored.shape[0], nibbles.shape[1] * chunk), dtype=stored.dtype)
    for row, position in product(range(stored.shape[0]), range(nibbles.shape[1])):
        nibble = int(nibbles[row, position])
        indices = [{0b0100: 0, 0b1110: 1}[nibble]] if name == "1:2" else [nibble & 3, nibble >> 2]
        for slot, index in enumerate(indices):
            target = position * chunk + index * group
            source = (position * keep + slot) * group
            dense[row, target : target + group] = stored[row, source : source + group]
    return dense


@NAMES
@given(st.data())
def test_expand_undoes_compress(name: str, data: st.DataObject) -> None:
    matrix = data.draw(structured(name))
    structure = STRUCTURES[name]
    stored, nibbles = structure.compress(matrix)
    assert (stored.dtype, nibbles.dtype) == (matrix.dtype, np.uint8)
    *batch_and_rows, columns = matrix.shape
    assert stored.shape == (*batch_and_rows, columns // 2)
    assert nibbles.shape == (*batch_and_rows, columns // structure.chunk)
    assert set(np.unique(nibbles).tolist()) <= MANUAL[name][3]
    assert np.array_equal(structure.expand(stored, nibbles), matrix)
    assert not structure.violations(matrix).any() and structure.diagnose(matrix) == []
    for index in np.ndindex(*matrix.shape[:-2]):
        assert np.array_equal(by_hand(name, stored[index], nibbles[index]), matrix[index])


@NAMES
def test_nibbles_are_the_manuals(name: str) -> None:
    chunk, group, keep, legal = MANUAL[name]
    structure = STRUCTURES[name]
    assert (structure.chunk, structure.group, structure.keep) == (chunk, group, keep)
    assert set(structure.nibbles) == legal
    for nibble, groups in structure.nibbles.items():
        assert groups == ((nibble >> 3,) if name == "1:2" else (nibble & 3, nibble >> 2))


@NAMES
def test_plain_sp_takes_the_indices_in_any_order(name: str) -> None:
    structure = STRUCTURES[name]
    legal = {0b0100, 0b1110}
    if name != "1:2":
        legal = {first | second << 2 for first, second in permutations(range(4), 2)}
    assert set(structure.unordered) == legal
    stored = np.arange(1, structure.keep * structure.group + 1)[None]
    for nibble in legal:
        expanded = structure.expand(stored, [[nibble]], ordered=False)
        assert np.array_equal(expanded, by_hand(name, stored, np.array([[nibble]])))
        if nibble not in MANUAL[name][3]:
            refuses(f"nibble 0b{nibble:04b} is undefined", structure.expand, stored, [[nibble]])
    for nibble in set(range(16)) - legal:
        for ordered in (True, False):
            where = f"^metadata of row 0, chunk 0: nibble 0b{nibble:04b} is undefined"
            with pytest.raises(PtxlabError, match=f"{where} for {structure.title} sparsity; legal are 0b"):
                structure.positions([[nibble]], ordered)


def test_the_spelling_decides_about_order() -> None:
    stored, nibbles = np.arange(16 * 32).reshape(16, 32) % 7 + 1, np.full((16, 8), 0b0001)
    name = "mma.{}.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
    assert instruction(name.format("sp")).expand(stored, nibbles)[0, :4].tolist() == [3, 4, 1, 2]
    with pytest.raises(PtxlabError, match="nibble 0b0001 is undefined"):
        instruction(name.format("sp::ordered_metadata")).expand(stored, nibbles)


def test_violations_in_words() -> None:
    """Row, columns, count and rule."""
    matrix = np.zeros((16, 64), dtype=int)
    matrix[3, [8, 10, 15]] = 1
    sentence = "row 3, columns 8..15: 3 of the 4 pairs are non-zero; 4:8 pair-wise sparsity keeps at most 2"
    assert STRUCTURES["4:8"].diagnose(matrix) == [sentence]
    assert refusal(SPARSE.compress, matrix) == sentence
    assert STRUCTURES["2:4"].diagnose([[1, 1, 0, 1]]) == [
        "row 0, columns 0..3: 3 of the 4 values are non-zero; 2:4 sparsity keeps at most 2"
    ]
    assert STRUCTURES["1:2"].diagnose([[0, 1, 1, 1]]) == [
        "row 0, columns 2..3: 2 of the 2 values are non-zero; 1:2 sparsity keeps at most 1"
    ]
    first = r"^matrix \[1\], row 0, columns 0\.\.1: 2 of the 2 values are non-zero; .* \(and 1 more chunk\)$"
    refuses(first, STRUCTURES["1:2"].compress, [[[0, 1, 0, 0]], [[1, 1, 1, 1]]])


@NAMES
@given(st.data())
def test_violations_are_the_chunks_that_have_too_many(name: str, data: st.DataObject) -> None:
    chunk, group, keep, _ = MANUAL[name]
    matrix = data.draw(npst.arrays(np.int8, (2, 3, 2 * chunk), elements=st.sampled_from([0, 0, 1])))
    structure = STRUCTURES[name]
    for b, row, position in product(range(2), range(3), range(2)):
        part = matrix[b, row, position * chunk : (position + 1) * chunk]
        full = sum(any(part[i : i + group]) for i in range(0, chunk, group))
        assert structure.violations(matrix)[b, row, position] == (full > keep)
    if structure.violations(matrix).any():
        with pytest.raises(PtxlabError):
            structure.compress(matrix)


@NAMES
@given(st.data())
def test_prune_is_the_nearest_and_changes_nothing_twice(name: str, data: st.DataObject) -> None:
    chunk, size, keep, _ = MANUAL[name]
    matrix = data.draw(npst.arrays(np.int16, (2, chunk), elements=st.integers(-20, 20)))
    structure = STRUCTURES[name]
    pruned = structure.prune(matrix)
    assert pruned.dtype == matrix.dtype and not structure.violations(pruned).any()
    assert (structure.prune(pruned) == pruned).all()
    assert ((pruned == matrix) | (pruned == 0)).all()
    for row in range(2):
        groups = [tuple(range(first, first + size)) for first in range(0, chunk, size)]
        errors = [
            sum(int(matrix[row, i]) ** 2 for group in groups if group not in kept for i in group)
            for kept in combinations(groups, keep)
        ]
        assert sum((matrix[row].astype(int) - pruned[row]) ** 2) == min(errors)


def test_zero_may_be_told() -> None:
    """Codes of minus zero and of zero points are zeros that do not equal 0."""
    codes = np.array([[0x80, 1, 2, 0x80]], dtype=np.uint8)
    stored, nibbles = STRUCTURES["2:4"].compress(codes, zero=codes == 0x80)
    assert (stored.tolist(), nibbles.tolist()) == ([[1, 2]], [[0b1001]])
    refuses("4 of the 4 values", STRUCTURES["2:4"].compress, codes)


def test_shapes_that_do_not_fit() -> None:
    columns = "matrix of shape (2, 6): 2:4 sparsity needs [..., rows, columns] with columns a multiple of 4"
    assert refusal(STRUCTURES["2:4"].compress, np.zeros((2, 6))) == columns
    nibbles = "stored half of shape (2, 3) with nibbles of shape (2, 2): 2:4 needs 2 stored columns a nibble"
    assert refusal(STRUCTURES["2:4"].expand, np.zeros((2, 3)), np.full((2, 2), 4)) == nibbles
    dense = instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    assert refusal(SPARSE.compress, np.zeros((64, 16))) == "A: found shape (64, 16); it takes [..., 16, 64]"
    refuses("is dense: it has no sparsity to compress", dense.prune, np.zeros((16, 64)))


def test_every_sparse_instruction_has_the_manuals_structure() -> None:
    for text, name in (
        ("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32", "4:8"),
        ("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "1:2"),
        ("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3", "2:4"),
        ("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8", "2:4"),
    ):
        assert instruction(text).structure is STRUCTURES[name]
