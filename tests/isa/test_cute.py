"""Layouts in others' words: every atom of CUTLASS, Triton's bases, and the algebra against other programs."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ptxlab import Instruction, PtxlabError, Transfer, instruction
from ptxlab.isa.cute import CuteLayout
from ptxlab.isa.layout import Layout, Mode, fragment, tiled
from tests.cases import each, refuses
from tests.isa.test_layout import LAYOUTS, cute

GOLDEN = Path(__file__).parents[1] / "golden"
ATOMS = [
    line.split("\t") for line in (GOLDEN / "cutlass_layouts.tsv").read_text(encoding="utf-8").splitlines()[1:]
]


def column_major(layout: Layout) -> NDArray[np.int64]:
    coords = layout.coords()
    return np.asarray(coords[..., 0] + layout.shape[0] * coords[..., 1])


# -- CUTLASS -------------------------------------------------------------------------------------------------


@each("atom", ATOMS, ids=lambda atom: atom[0])
def test_every_atom_of_cutlass_has_our_fragments(atom: list[str]) -> None:
    name, threads, *texts = atom
    ins = instruction(name)
    assert isinstance(ins, Instruction)
    thread = CuteLayout.read(threads + ":1") if ":" not in threads else CuteLayout.read(threads)
    for operand, text in zip((ins.a, ins.b, ins.c), texts, strict=True):
        if text == "-":
            continue
        layout = operand.layout.T if operand.name == "B" and operand.layout else operand.layout
        assert layout
        lanes = [thread(i) for i in range(thread.size)]
        if len(lanes) == 8:  # a quad pair; our matrices of the four are stacked, and the first is the first
            coords = layout.coords()[lanes]
            ours = coords[..., 0] + 8 * coords[..., 1]
        else:
            ours = column_major(layout)
            assert Layout.from_cute(text, layout.shape).coords().tolist() == layout.coords().tolist()
        assert CuteLayout.read(text).offsets().tolist() == ours.tolist(), (operand.name, layout.cute)


def test_the_atoms_are_of_all_generations() -> None:
    assert {name[:4] for name, *_ in ATOMS} == {"SM70", "SM75", "SM80", "SM89", "SM90", "SM12"}


#: include/cute/atom/copy_traits_sm75.hpp: from (thread, bit of its data) to a bit of all, source and result.
COPIES = {
    "SM75_U32x1_LDSM_N": ("((8,4),128):((128,0),1)", "(32,32):(32,1)"),
    "SM75_U32x2_LDSM_N": ("((16,2),128):((128,0),1)", "(32,(32,2)):(32,(1,1024))"),
    "SM75_U32x4_LDSM_N": ("(32,128):(128,1)", "(32,(32,4)):(32,(1,1024))"),
    "SM75_U16x2_LDSM_T": ("((8,4),128):((128,0),1)", "((4,8),(16,2)):((256,16),(1,128))"),
    "SM75_U16x4_LDSM_T": ("((16,2),128):((128,0),1)", "((4,8),(16,2,2)):((256,16),(1,128,1024))"),
    "SM75_U16x8_LDSM_T": ("(32,128):(128,1)", "((4,8),(16,2,4)):((256,16),(1,128,1024))"),
}


@each("name", COPIES)
def test_the_copies_of_cutlass_are_our_ldmatrix(name: str) -> None:
    """Bits count through the rows of 128 bits of one matrix after the other."""
    transfer, (source, result) = instruction(name), map(CuteLayout.read, COPIES[name])
    assert isinstance(transfer, Transfer)
    for lane, matrix, row in transfer.address_lanes:
        assert source(lane, 0) == 128 * (8 * matrix + row)
    coords = transfer.operands["R"].coords()
    ours = 128 * coords[..., 0] + 16 * coords[..., 1]
    assert result.offsets()[:, ::16].tolist() == ours.tolist()


@each("warps", [(1, 1), (2, 2), (2, 4), (4, 1), (1, 4)])
def test_a_tiled_mma_counts_as_cute_does(warps: tuple[int, int]) -> None:
    """mma_atom.hpp, thrfrg_C: ((ThrV,(ThrM,ThrN)),(FrgV,(RestM,RestN))); thread 32 (m + M n) + lane."""
    down, along = warps
    layout = tiled(fragment(16, 8, 2), ((down, 1, 0), (along, 0, 1)), (64, 64))
    coords, atom = layout.coords(), fragment(16, 8, 2).coords()
    assert coords.shape == (32 * down * along, 4096 // (32 * down * along), 2)
    rest = 64 // (16 * down)
    for thread, value in np.ndindex(*coords.shape[:2]):
        warp, lane = divmod(thread, 32)
        outside, inside = divmod(value, 4)
        row, column = atom[lane, inside]
        row += 16 * (warp % down) + 16 * down * (outside % rest)
        column += 8 * (warp // down) + 8 * along * (outside // rest)
        assert coords[thread, value].tolist() == [row, column]


def test_warps_along_n_hold_the_same_a() -> None:
    a = tiled(fragment(16, 16, 2), ((2, 1, 0), (2, 0, 0)), (32, 16))
    assert a.copies == 2 and a.cute == "((4,8,2,2),(2,2,2)):((64,1,16,0),(32,8,256))"
    refuses("cover 32x16", tiled, fragment(16, 8, 2), ((2, 1, 0), (2, 0, 1)), (48, 16))
    refuses("down the rows or along", tiled, fragment(16, 8, 2), ((2, 1, 1),), (32, 16))


# -- Triton --------------------------------------------------------------------------------------------------

_LANE = ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0))
#: unittest/Dialect/TritonGPU/LinearLayoutConversionsTest.cpp of Triton, commit f4fca2c.
TRITON: dict[str, tuple[Layout, Any, Any, Any]] = {
    "MMAv2_16x16": (
        tiled(fragment(16, 8, 2), (), (16, 16), "columns first"),
        ((0, 1), (8, 0), (0, 8)), _LANE, (),
    ),
    "MMAv2_32x32": (
        tiled(fragment(16, 8, 2), (), (32, 32), "columns first"),
        ((0, 1), (8, 0), (0, 8), (0, 16), (16, 0)), _LANE, (),
    ),
    "MMAv3_64x16": (
        fragment(64, 16, 2, warps=4), ((0, 1), (8, 0), (0, 8)), _LANE, ((16, 0), (32, 0)),
    ),
    "MMAv3_4x2Warps, 128x64": (
        tiled(fragment(16, 32, 2), ((4, 1, 0), (2, 0, 1)), (128, 64), "columns first"),
        ((0, 1), (8, 0), (0, 8), (0, 16), (64, 0)), _LANE, ((16, 0), (32, 0), (0, 32)),
    ),
    "DotMMAv2_tile_kwidth8, A": (
        fragment(16, 64, 8),
        ((0, 1), (0, 2), (0, 4), (8, 0), (0, 32)), ((0, 8), (0, 16), (1, 0), (2, 0), (4, 0)), (),
    ),
    "DotMMAv2_tile_kwidth8, B": (
        fragment(8, 64, 8).T,
        ((1, 0), (2, 0), (4, 0), (32, 0)), ((8, 0), (16, 0), (0, 1), (0, 2), (0, 4)), (),
    ),
    "DotMMAv2_large_warp4_kwidth8, A 128x128": (
        tiled(fragment(16, 64, 8), ((4, 1, 0),), (128, 128), "columns first"),
        ((0, 1), (0, 2), (0, 4), (8, 0), (0, 32), (0, 64), (64, 0)),
        ((0, 8), (0, 16), (1, 0), (2, 0), (4, 0)), ((16, 0), (32, 0)),
    ),
    "DotMMAv2_large_warp4_kwidth8, B 128x64": (
        tiled(fragment(8, 64, 8).T, ((4, 0, 0),), (128, 64)),
        ((1, 0), (2, 0), (4, 0), (32, 0), (64, 0), (0, 8), (0, 16), (0, 32)),
        ((8, 0), (16, 0), (0, 1), (0, 2), (0, 4)), ((0, 0), (0, 0)),
    ),
}  # fmt: skip


@each("name", TRITON)
def test_bases_are_those_that_triton_tests(name: str) -> None:
    layout, register, lane, warp = TRITON[name]
    assert layout.bases == {"register": register, "lane": lane, "warp": warp}


@each("layout", LAYOUTS, ids=lambda layout: layout.cute)
def test_xor_of_the_bases_is_the_layout(layout: Layout) -> None:
    """And both ways back lead to the same layout."""
    assert (Layout.from_cute(layout.cute, layout.shape).coords() == layout.coords()).all()
    if any(size & size - 1 for size, _, _ in layout.lane + layout.element):
        refuses("not a power of 2", lambda: layout.bases)
        return
    bases = layout.bases
    lane_bases = (*bases["lane"], *bases["warp"])
    for lane in range(0, layout.lanes, 7):
        for element in range(layout.elements):
            place = [0, 0]
            for number, vectors in ((lane, lane_bases), (element, bases["register"])):
                for bit, (row, column) in enumerate(vectors):
                    if number >> bit & 1:
                        place = [place[0] ^ row, place[1] ^ column]
            assert place == layout.coords()[lane, element].tolist()
    assert (Layout.from_bases(bases, layout.shape).coords() == layout.coords()).all()


def test_strides_cannot_say_a_swizzle() -> None:
    """Row r of 8 has its 8 columns XORed with r: the bases of the row have a column, too."""
    swizzle = {"register": [(0, 1), (0, 2), (0, 4)], "lane": [(1, 1), (2, 2), (4, 4)]}
    refuses("same bit of a column", Layout.from_bases, swizzle, (8, 8))


# -- the algebra ---------------------------------------------------------------------------------------------


def _random_layouts(seed: int) -> tuple[CuteLayout, CuteLayout]:
    """One that reaches every offset once, nested by chance, and one whose offsets lie within it."""
    rng = random.Random(seed)
    sizes = [rng.choice((1, 2, 3, 4, 8)) for _ in range(rng.randint(1, 5))]
    order = rng.sample(range(len(sizes)), len(sizes))
    strides, step = [0] * len(sizes), 1
    for at in order:
        strides[at], step = step, step * sizes[at]
    cut = rng.randint(0, len(sizes) - 1)
    shape: list[Any] = [*sizes[:cut], tuple(sizes[cut:])]
    stride: list[Any] = [*strides[:cut], tuple(strides[cut:])]
    bijection = CuteLayout(tuple(shape), tuple(stride))
    modes, room = [], bijection.size - 1
    for _ in range(rng.randint(1, 4)):
        size = rng.randint(1, min(8, room + 1))
        stride_of_mode = rng.randint(0, room // max(size - 1, 1))
        modes.append((size, stride_of_mode))
        room -= (size - 1) * stride_of_mode
    (first, *rest) = modes
    inner = [first] if not rest else [first, tuple(zip(*rest, strict=True))]
    sizes_of_inner, strides_of_inner = zip(*inner, strict=True)
    return bijection, CuteLayout(sizes_of_inner, strides_of_inner)


@each("seed", range(200))
def test_inverse_and_coalesce(seed: int) -> None:
    layout, _ = _random_layouts(seed)
    indices = range(layout.size)
    inverse = layout.right_inverse()
    assert [inverse(layout(i)) for i in indices] == list(indices)
    assert [layout.coalesce()(i) for i in indices] == [layout(i) for i in indices]
    assert layout.offsets().T.ravel().tolist() == [layout(i) for i in indices]


def test_a_composition_is_right_or_refused() -> None:
    refused = 0
    for seed in range(200):
        layout, inner = _random_layouts(seed)
        try:
            composed = layout.compose(inner)
        except PtxlabError:  # no layout of this form has these offsets
            refused += 1
            continue
        assert [composed(i) for i in range(inner.size)] == [layout(inner(i)) for i in range(inner.size)], seed
    assert refused < 100


@each("layout", LAYOUTS, ids=lambda layout: layout.cute)
def test_fragments_in_memory(layout: Layout) -> None:
    """Composed with a row-major matrix, a fragment gives the place of every element of every lane."""
    rows, columns = layout.shape
    memory = CuteLayout.read(f"({rows},{columns}):({columns + 8},1)")
    composed = memory.compose(CuteLayout.read(layout.cute))
    coords = layout.coords()
    assert (composed.offsets() == coords[..., 0] * (columns + 8) + coords[..., 1]).all()
    if layout.copies == 1:
        back = CuteLayout.read(layout.cute).right_inverse()
        row, column = rows - 1, columns // 2
        element, lane = divmod(back(row + rows * column), layout.lanes)
        assert (lane, element) == layout.locate(row, column)
    assert CuteLayout.read(layout.cute)(layout.lanes - 1, 0) == cute(layout.cute, layout.lanes - 1, 0)


@each("seed", range(100))
def test_the_algebra_is_that_of_tensor_layouts(seed: int) -> None:
    other = pytest.importorskip("tensor_layouts", reason="tensor-layouts is not installed")
    layout, _ = _random_layouts(seed)
    theirs = other.Layout(*(ast.literal_eval(part) for part in str(layout).replace(")", ",)").split(":")))
    assert [theirs(i) for i in range(layout.size)] == [layout(i) for i in range(layout.size)]
    inverse, their_inverse = layout.right_inverse(), other.right_inverse(theirs)
    assert [their_inverse(i) for i in range(layout.size)] == [inverse(i) for i in range(layout.size)]


@each(
    "text,sentence",
    [
        ("(4,8)", "shape:stride"),
        ("(4,8):(1", "balanced"),
        ("(4,8):1", "different forms"),
        ("(4,8):(1,2,3)", "different forms"),
        ("(0,8):(1,2)", "at least 1"),
        ("(4096,4096):(1,4096)", "at most"),
        ("(" * 50 + "4" + ")" * 50 + ":1,", "balanced|different forms"),
        ("4:99999999999999", "strides are at most 2\\^40"),
        ("__import__('os'):1", "shape:stride"),
        ("", "shape:stride"),
    ],
)
def test_what_is_no_layout(text: str, sentence: str) -> None:
    refuses(sentence, CuteLayout.read, text)


@each("shape,stride", [("ab", "cd"), (None, None), ([2, 2], [1, 2]), (2.0, 1), (True, 1)])
def test_shape_and_stride_are_whole_numbers(shape: Any, stride: Any) -> None:
    refuses("whole numbers or nested tuples", CuteLayout, shape, stride)


def test_refusals_say_what_is_wrong() -> None:
    c = CuteLayout.read("((4,8),(2,2)):((32,1),(16,8))")
    refuses("one for each", c, 1, 2, 3)
    refuses("no inverse", CuteLayout.read("(4,8):(1,8)").right_inverse)
    refuses("do not fit", CuteLayout.read("(6,4):(1,100)").compose, CuteLayout.read("4:4"))
    refuses("does not divide", CuteLayout.read("(3,4):(1,100)").compose, CuteLayout.read("2:4"))
    overlapping = CuteLayout.read("(4,8):(8,1)"), CuteLayout.read("(4,4):(1,1)")
    refuses("must not overlap", overlapping[0].compose, overlapping[1])
    refuses("below 3", CuteLayout.read("(3,1):(1,1)").compose, CuteLayout.read("(8,2):(2,2)"))
    refuses("at most 2.40", CuteLayout.read("2:1099511627776").compose, CuteLayout.read("2:1099511627776"))
    refuses("two modes", Layout.from_cute, "32:1", (16, 8))
    refuses("outside the matrix|do not go evenly", Layout.from_cute, str(c), (8, 8))
    with pytest.raises(PtxlabError, match="held"):
        Layout.from_cute("(32,4):(1,0)", (16, 8))
    columns: tuple[Mode, ...] = ((16, 1, 0), (2, 0, 1))
    assert Layout.from_cute("(32,4):(1,32)", (16, 8)).lane == columns
