"""Fragment layouts against the formulas of the PTX ISA, written down again, and against CuTe's notation."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptxlab import Instruction, PtxlabError, instruction
from ptxlab.instruction import mma_instructions
from ptxlab.isa.catalog import register_forms
from ptxlab.isa.layout import Layout, Mode, fragment
from tests.cases import each, refusal, refuses

DENSE = [ins for ins in mma_instructions("mma") if ins.shape == "m16n8k64"]
SPARSE_4 = [ins for ins in mma_instructions("mma.sp") if ins.shape == "m16n8k64" and ins.a.width == 4]
SPARSE_TF32 = instruction("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
WMMA_4 = [ins for ins in mma_instructions("wmma") if ins.shape == "m8n8k32"]
WMMA_1 = [ins for ins in mma_instructions("wmma") if ins.shape == "m8n8k128"]
WGMMA = [ins for ins in mma_instructions("wgmma.sp") if ins.shape.endswith("k64")]
_DISTINCT = {
    operand.layout
    for ins in register_forms()
    for operand in (*ins.operands.values(), getattr(ins, "a_dense", None))
    if operand and operand.layout
}
LAYOUTS = sorted(_DISTINCT, key=lambda layout: (layout.signature, layout.cute))

Formula = Callable[[int, int], tuple[int, int]]


def assert_layout(layout: Layout | None, formula: Formula) -> None:
    """Every element of every lane is where the formula (lane, i) -> (row, col) says."""
    assert layout is not None
    coords = layout.coords()
    assert coords.shape == (layout.lanes, layout.elements, 2)
    wrong = [
        (lane, i)
        for lane in range(layout.lanes)
        for i in range(layout.elements)
        if tuple(coords[lane, i].tolist()) != formula(lane, i)
    ]
    assert not wrong, f"(lane, element) {wrong[:4]}"


# -- PTX ISA, "Matrix Fragments for mma.m8n8k4" to "mma.m16n8k256" -----------------------------------------
# g is groupID, t is threadID_in_group, i the element.


Place = Callable[[int, int, int], tuple[int, int]]


def below(i: int, *starts: int, width: int) -> int:
    """0 for the elements that the manual puts into row groupID, 8 for the others."""
    return 0 if any(start <= i < start + width for start in starts) else 8


#: (shape, bits of an element) -> formulas of A and B.
SECTIONS: dict[tuple[str, int], tuple[Place, Place]] = {
    ("m8n8k4", 64): (lambda g, t, i: (g, t), lambda g, t, i: (t, g)),
    ("m16n8k4", 64): (lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g)),
    ("m16n8k8", 64): (
        lambda g, t, i: (g + (8 if i in (1, 3) else 0), t + (4 if i in (2, 3) else 0)),
        lambda g, t, i: (t + 4 * i, g),
    ),
    ("m16n8k16", 64): (
        lambda g, t, i: (g, i * 2 + t) if i % 2 == 0 else (g + 8, i * 2 - 2 + t),
        lambda g, t, i: (t + i * 4, g),
    ),
    ("m8n8k16", 8): (lambda g, t, i: (g, t * 4 + i), lambda g, t, i: (t * 4 + i, g)),
    ("m8n8k32", 4): (lambda g, t, i: (g, t * 8 + i), lambda g, t, i: (t * 8 + i, g)),
    ("m8n8k128", 1): (lambda g, t, i: (g, t * 32 + i), lambda g, t, i: (t * 32 + i, g)),
    ("m16n8k4", 32): (lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g)),
    ("m16n8k8", 16): (
        lambda g, t, i: (g + below(i, 0, width=2), t * 2 + (i & 1)),
        lambda g, t, i: (t * 2 + i, g),
    ),
    ("m16n8k8", 32): (
        lambda g, t, i: (g + (8 if i in (1, 3) else 0), t + (4 if i in (2, 3) else 0)),
        lambda g, t, i: (t + 4 * i, g),
    ),
    ("m16n8k16", 16): (
        lambda g, t, i: (g + below(i, 0, 4, width=2), t * 2 + (i & 1) + (8 if i >= 4 else 0)),
        lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    ),
    ("m16n8k16", 8): (
        lambda g, t, i: (g + below(i, 0, width=4), t * 4 + (i & 3)),
        lambda g, t, i: (t * 4 + i, g),
    ),
    ("m16n8k32", 4): (
        lambda g, t, i: (g + below(i, 0, width=8), t * 8 + (i & 7)),
        lambda g, t, i: (t * 8 + (i & 7), g),
    ),
    ("m16n8k32", 8): (
        lambda g, t, i: (g + below(i, 0, 8, width=4), t * 4 + (i & 3) + (16 if i >= 8 else 0)),
        lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
    ),
    ("m16n8k64", 4): (
        lambda g, t, i: (g + below(i, 0, 16, width=8), t * 8 + (i & 7) + (32 if i >= 16 else 0)),
        lambda g, t, i: (t * 8 + (i & 7) + (32 if i >= 8 else 0), g),
    ),
    ("m16n8k128", 1): (
        lambda g, t, i: (g + below(i, 0, width=32), t * 32 + (i & 0x1F)),
        lambda g, t, i: (t * 32 + i, g),
    ),
    # the manual's A lacks "& 0x1F" where i < 64; taken literally it would leave 256 elements to nobody
    ("m16n8k256", 1): (
        lambda g, t, i: (g + below(i, 0, 64, width=32), t * 32 + (i & 0x1F) + (128 if i >= 64 else 0)),
        lambda g, t, i: (t * 32 + (i & 0x1F) + (128 if i >= 32 else 0), g),
    ),
}


def accumulator(g: int, t: int, i: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


def by_lane(place: Place) -> Formula:
    return lambda lane, i: place(lane >> 2, lane % 4, i)


DENSE_FORMS = [ins for ins in mma_instructions("mma") if not ins.satfinite and ins.mma_count == 1]
QUAD_PAIRS = [ins for ins in mma_instructions("mma") if ins.mma_count > 1]


def bits(ins: Instruction) -> int:
    """Of an element in its register: kind::f8f6f4 and kind::mxf8f6f4 give every element a byte."""
    return 8 if "f8f6f4" in ins.mnemonic else ins.a.dtype.bits


def test_every_dense_shape_has_its_section() -> None:
    assert {(ins.shape, bits(ins)) for ins in DENSE_FORMS} == set(SECTIONS)


@each("ins", DENSE_FORMS, ids=str)
def test_fragments_are_the_manuals(ins: Instruction) -> None:
    a, b = SECTIONS[ins.shape, bits(ins)]
    for operand, formula in ((ins.a, a), (ins.b, b), (ins.c, accumulator), (ins.d, accumulator)):
        assert_layout(operand.layout, by_lane(formula))


# -- "Matrix Fragments for mma.m8n8k4 with .f16 floating point type" -------------------------------------

QUAD_PAIR: dict[tuple[str, str], Callable[[int, int], tuple[int, int]]] = {
    ("A", "row"): lambda lane, i: ((lane % 4 if lane < 16 else lane % 4 + 4), i),
    ("A", "col"): lambda lane, i: ((i % 4 if lane < 16 else i % 4 + 4), lane % 4),
    ("B", "row"): lambda lane, i: (lane % 4, (i if lane < 16 else i + 4)),
    ("B", "col"): lambda lane, i: (i, (lane % 4 if lane < 16 else lane % 4 + 4)),
    ("C", "f16"): lambda lane, i: ((lane % 4 if lane < 16 else lane % 4 + 4), i),
    ("C", "f32"): lambda lane, i: (
        (lane & 0b1) + (i & 0b10) + (0 if lane < 16 else 4),
        (i & 0b100) + (lane & 0b10) + (i & 0b1),
    ),
}
COMPUTATIONS = [
    (*range(4), *range(16, 20)),
    (*range(4, 8), *range(20, 24)),
    (*range(8, 12), *range(24, 28)),
    (*range(12, 16), *range(28, 32)),
]


@each("ins", QUAD_PAIRS, ids=str)
def test_quad_pairs_are_the_manuals(ins: Instruction) -> None:
    """The four computations' matrices are stacked: below each other, B's side by side."""
    forms = {"A": ins.a_layout, "B": ins.b_layout, "C": ins.c_type, "D": ins.d_type}
    for name, form in forms.items():
        operand = ins.operand(name)
        coords = operand.coords()
        for number, lanes in enumerate(COMPUTATIONS):
            for lane in lanes:
                for i, place in enumerate(coords[lane].tolist()):
                    row, column = QUAD_PAIR[name.replace("D", "C"), form](lane, i)
                    stacked = [row, column + 8 * number] if name == "B" else [row + 8 * number, column]
                    assert place == stacked, (name, lane, i)


def test_elements_in_8_bit_containers() -> None:
    """The manual: e2m1 in the central 4 bits of a byte, e3m2 and e2m3 in the lower 6; mxf4 needs no byte."""
    places = {}
    for ins in mma_instructions("mma"):
        if ins.kind is not None:
            place = ins.a.place(0, 1)
            places.setdefault((ins.kind, ins.a_type), set()).add((place.register, place.low, place.high))
    in_a_byte = {
        "e4m3": (0, 8, 15),
        "e5m2": (0, 8, 15),
        "e3m2": (0, 8, 13),
        "e2m3": (0, 8, 13),
        "e2m1": (0, 10, 13),
    }
    expected = {(kind, name): {place} for kind in ("f8f6f4", "mxf8f6f4") for name, place in in_a_byte.items()}
    expected |= {("mxf4", "e2m1"): {(0, 4, 7)}, ("mxf4nvf4", "e2m1"): {(0, 4, 7)}}
    assert places == expected


def test_the_modes_that_the_design_prints() -> None:
    ins = instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    a, b, c = ins.a.layout, ins.b.layout, ins.c.layout
    assert a and b and c
    assert (a.lane, a.element) == (((4, 0, 8), (8, 1, 0)), ((8, 0, 1), (2, 8, 0), (2, 0, 32)))
    assert (b.lane, b.element) == (((4, 8, 0), (8, 0, 1)), ((8, 1, 0), (2, 32, 0)))
    assert (c.lane, c.element) == (((4, 0, 2), (8, 1, 0)), ((2, 0, 1), (2, 8, 0)))
    signatures = ["(T32,V32) -> (16,64)", "(T32,V16) -> (64,8)", "(T32,V4) -> (16,8)"]
    assert [layout.signature for layout in (a, b, c)] == signatures


# -- sparse A: "Matrix Fragments for sparse mma.m16n8k64 with .u4/.s4", "... m16n8k16 with .tf32" ---------


@each("ins", SPARSE_4, ids=str)
def test_sparse_m16n8k64(ins: Instruction) -> None:
    """The compressed half, and the 16 columns [firstcol..lastcol] that each register of a lane covers."""
    assert (ins.a.registers, ins.a.layout.elements) == (2, 16)
    stored, dense = ins.a.layout.coords(), ins.a_dense.layout.coords()
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        first = thread * 16
        for i in range(16):
            assert stored[lane, i, 0] == (group if 0 <= i < 8 else group + 8)
            assert first <= 2 * stored[lane, i, 1] <= first + 15
        for register, row in ((0, group), (1, group + 8)):
            in_register = dense[lane, 16 * register : 16 * register + 16]
            assert in_register.tolist() == [[row, col] for col in range(first, first + 16)]
    assert_layout(ins.b.layout, by_lane(SECTIONS["m16n8k64", 4][1]))
    assert_layout(ins.c.layout, by_lane(accumulator))


def test_sparse_m16n8k16_tf32() -> None:
    ins = SPARSE_TF32
    assert ins.a.layout and ins.a_dense.layout and ins.a.registers == 4
    stored, dense = ins.a.layout.coords(), ins.a_dense.layout.coords()
    for lane in range(32):
        group, thread = lane >> 2, lane % 4
        for i in range(4):
            row = group if i in (0, 2) else group + 8
            first = thread * 2 if i in (0, 1) else thread * 2 + 8
            assert stored[lane, i].tolist() == [row, first // 2], "one of two neighbours is stored"
            assert dense[lane, 2 * i : 2 * i + 2].tolist() == [[row, first], [row, first + 1]]
    assert_layout(ins.b.layout, lambda lane, i: (lane % 4 + 4 * i, lane >> 2))  # Figure 124
    assert_layout(ins.c.layout, by_lane(accumulator))


@pytest.mark.parametrize("ins", [SPARSE_4[0], SPARSE_TF32], ids=str)
def test_the_selector_picks_thread_pairs(ins: Instruction) -> None:
    """PTX ISA, "Sparse matrix storage": selector 0 means threads T0 and T1 of four, 1 means T2 and T3."""
    for copy in ins.selectors:
        lanes = ins.e.layout.scatter(copy) // ins.e.layout.elements
        for group in range(8):
            first = 4 * group + 2 * copy
            assert set(lanes[[group, group + 8]].ravel().tolist()) == {first, first + 1}


# -- "Matrix Fragments for mma.m8n8k32" and "... mma.m8n8k128" -------------------------------------------


@each("ins", [*WMMA_4, *WMMA_1], ids=str)
def test_sub_byte_8x8(ins: Instruction) -> None:
    a, b = SECTIONS[ins.shape, ins.a.dtype.bits]
    assert (ins.a.registers, ins.b.registers, ins.c.registers) == (1, 1, 2)
    for operand, formula in ((ins.a, a), (ins.b, b), (ins.c, accumulator)):
        assert_layout(operand.layout, by_lane(formula))


# -- wgmma: "Register Fragments and Shared Memory Matrix Layouts" (figures) -------------------------------


@each("n", range(8, 257, 8))
def test_wgmma_accumulator(n: int) -> None:
    """Each of the four warps has 16 rows, laid out as in mma's 16x8, eight columns after eight columns."""
    ins = next(ins for ins in WGMMA if ins.n == n)

    def formula(lane: int, i: int) -> tuple[int, int]:
        row, column = accumulator(lane % 32 >> 2, lane % 4, i % 4)
        return 16 * (lane // 32) + row, 8 * (i // 4) + column

    assert_layout(ins.d.layout, formula)


def test_wgmma_stored_a() -> None:
    """Four registers of four 8-bit elements: rows g and g + 8, columns 4t.. and 16 + 4t.. (Figure 179)."""
    for ins in WGMMA[:8]:
        assert ins.a.registers == 4
        assert_layout(
            ins.a.layout,
            lambda lane, i: (
                16 * (lane // 32) + lane % 32 // 4 + 8 * (i // 4 % 2),
                4 * (lane % 4) + i % 4 + 16 * (i // 8),
            ),
        )
        assert (ins.b.layout, ins.b.space, ins.b.registers) == (None, "shared", 0)


# -- block scales: "Block Scaling for mma.sync" ----------------------------------------------------------


@each("ins", [ins for ins in mma_instructions("mma") if ins.scale_vec], ids=str)
def test_block_scales_sit_in_the_lanes_and_bytes_that_can_be_selected(ins: Instruction) -> None:
    vec, starts = ins.scale_vec, {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}[ins.scale_vec]
    for row in range(16):
        for block in range(vec):
            holders = set(ins.scale_a.layout.holders(row, block))
            assert holders == {
                (4 * (row % 8) + row // 8 + 2 * thread_id, byte_id + block)
                for thread_id in (0, 1)
                for byte_id in starts
            }
    for column in range(8):
        for block in range(vec):
            holders = set(ins.scale_b.layout.holders(block, column))
            assert holders == {
                (4 * column + thread_id, byte_id + block) for thread_id in range(4) for byte_id in starts
            }


# -- CuTe ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def _parts(text: str) -> tuple[Any, Any]:
    shape, stride = (ast.literal_eval(part) for part in text.split(":"))
    return shape, stride


@lru_cache(maxsize=None)
def _size(shape: int | tuple[int, ...]) -> int:
    return int(np.prod(shape))


def cute(text: str, *indices: int) -> int:
    """CuTe's rule for `shape:stride`: the leftmost part of a shape runs fastest, each by its own stride."""
    shape, stride = _parts(text)

    def offset(index: int, shape: Any, stride: Any) -> int:
        if isinstance(shape, int):
            return index * int(stride)
        total = 0
        for part, step in zip(shape, stride, strict=True):
            size = _size(part)
            total += offset(index % size, part, step)
            index //= size
        return total

    return sum(offset(index, part, step) for index, part, step in zip(indices, shape, stride, strict=True))


@each("layout", LAYOUTS, ids=lambda layout: layout.cute)
@pytest.mark.slow
def test_the_cute_string_means_the_same(layout: Layout) -> None:
    coords = layout.coords()
    lanes = range(layout.lanes) if layout.lanes == 32 else range(0, layout.lanes, 13)
    for lane in lanes:
        for element in range(layout.elements):
            row, column = coords[lane, element].tolist()
            assert cute(layout.cute, lane, element) == row + layout.shape[0] * column


def test_the_cute_strings_of_cutlass() -> None:
    """CUTLASS, mma_traits_sm80.hpp (SM80_16x8x64_S32S4S4S32_TN) and mma_traits_sm90_gmma.hpp."""
    dense, wgmma = DENSE[0], next(ins for ins in WGMMA if ins.n == 16)
    assert dense.a.layout and dense.b.layout and dense.c.layout and wgmma.d.layout and wgmma.a.layout
    assert dense.a.layout.cute == "((4,8),(8,2,2)):((128,1),(16,8,512))"
    assert dense.b.layout.T.cute == "((4,8),(8,2)):((64,1),(8,256))"
    assert dense.c.layout.cute == "((4,8),(2,2)):((32,1),(16,8))"
    assert wgmma.d.layout.cute == "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))"
    assert wgmma.a.layout.cute == "((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))"


# -- the inverse -----------------------------------------------------------------------------------------


@given(st.data())
def test_locate_is_the_inverse(data: st.DataObject) -> None:
    layout = data.draw(st.sampled_from(LAYOUTS))
    row, col = (data.draw(st.integers(0, size - 1)) for size in layout.shape)
    coords = layout.coords()
    holders = [tuple(place) for place in np.argwhere((coords == (row, col)).all(axis=-1)).tolist()]
    assert layout.holders(row, col) == holders and len(holders) == layout.copies
    assert layout.locate(row, col) == holders[0]
    for copy, (lane, element) in enumerate(holders):
        assert divmod(int(layout.scatter(copy)[row, col]), layout.elements) == (lane, element)


def test_coords_are_the_callers_own() -> None:
    layout = fragment(16, 8, 2)
    layout.coords()[:] = -1
    assert layout.coords().min() == 0


@pytest.mark.parametrize(
    ("row", "col", "sentence"),
    [
        (16, 0, "row 16: the matrix is 16x8, so rows go from 0 to 15"),
        (-1, 0, "row -1: the matrix is 16x8, so rows go from 0 to 15"),
        (0, 8, "column 8: the matrix is 16x8, so columns go from 0 to 7"),
    ],
)
def test_outside_the_matrix(row: int, col: int, sentence: str) -> None:
    for ask in (fragment(16, 8, 2).locate, fragment(16, 8, 2).holders):
        assert refusal(ask, row, col) == sentence


def test_a_copy_that_is_not_there() -> None:
    refuses(
        "^copy 1: every element is held 1 times, so copy goes from 0 to 0$", fragment(16, 8, 2).scatter, 1
    )


# -- wrong declarations ----------------------------------------------------------------------------------


@given(st.data())
def test_a_wrong_declaration_names_the_element(data: st.DataObject) -> None:
    """With one step of a mode changed, some element is outside, missing or held twice: the error names it."""
    small = [layout for layout in LAYOUTS if layout.lanes * layout.elements <= 2048]
    layout = data.draw(st.sampled_from(small))
    changed = [list(mode) for mode in layout.lane + layout.element]
    number, step = data.draw(st.integers(0, len(changed) - 1)), data.draw(st.integers(1, 2))
    changed[number][step] += data.draw(st.sampled_from([-1, 1, 2, 3]))
    modes: list[Mode] = [(size, row, column) for size, row, column in changed]
    lane_modes, element_modes = tuple(modes[: len(layout.lane)]), tuple(modes[len(layout.lane) :])
    counts = np.zeros(layout.shape, dtype=int)
    outside = []
    for lane, element in np.ndindex(layout.lanes, layout.elements):
        lane_place, element_place = place_of(lane, lane_modes), place_of(element, element_modes)
        row, column = lane_place[0] + element_place[0], lane_place[1] + element_place[1]
        if 0 <= row < layout.shape[0] and 0 <= column < layout.shape[1]:
            counts[row, column] += 1
        else:
            outside.append((lane, element, row, column))
    copies = int(np.prod([size for size, row_step, column_step in modes if row_step == column_step == 0]))
    if not outside and (counts == copies).all():
        Layout(layout.shape, lane_modes, element_modes)  # another permutation, or one more broadcast
        return
    with pytest.raises(PtxlabError) as error:
        Layout(layout.shape, lane_modes, element_modes)
    message = str(error.value)
    beyond = re.search(r"lane (\d+), element (\d+) falls on row (-?\d+), column (-?\d+), outside", message)
    if beyond:
        assert tuple(int(number) for number in beyond.groups()) in outside
    else:
        held = re.search(r"row (\d+), column (\d+) is held (\d+) times, its broadcasts allow (\d+)$", message)
        assert held and not outside
        row, column, times, allowed = (int(number) for number in held.groups())
        assert (counts[row, column], copies) == (times, allowed) and times != allowed


def place_of(index: int, modes: tuple[Mode, ...]) -> tuple[int, int]:
    """Row and column to which an index moves through these modes, fastest first."""
    row = column = 0
    for size, row_step, column_step in modes:
        index, digit = divmod(index, size)
        row, column = row + digit * row_step, column + digit * column_step
    return row, column


def test_wrong_declarations_in_words() -> None:
    good = fragment(16, 8, 2)
    for shape, element, sentence in (
        ((16, 8), ((2, 0, 1), (2, 16, 0)), "lane 0, element 2 falls on row 16, column 0, outside the matrix"),
        ((16, 8), ((2, 0, 1), (2, 1, 0)), "row 1, column 0 is held 2 times, its broadcasts allow 1"),
        ((16, 16), good.element, "row 0, column 8 is held 0 times, its broadcasts allow 1"),
    ):
        assert refusal(Layout, shape, good.lane, element) == f"layout of {shape[0]}x{shape[1]}: {sentence}"


@pytest.mark.slow
def test_transposing_twice_is_the_same() -> None:
    for layout in LAYOUTS:
        assert layout == layout.T.T
        assert layout.T.coords()[..., ::-1].tolist() == layout.coords().tolist()


FORMULAS = {
    operand.layout: f"{ins.mnemonic} {name}"
    for ins in register_forms()
    for name, operand in ins.operands.items()
    if operand.layout
}


@each("layout", FORMULAS, ids=FORMULAS.values())
def test_the_generated_formula_means_the_same(layout: Layout) -> None:
    """The text is run as Python for every lane and element."""
    lane, i = np.meshgrid(np.arange(layout.lanes), np.arange(layout.elements), indexing="ij")
    names: dict[str, object] = {"lane" if layout.lanes <= 32 else "thread": lane, "i": i}
    for line in layout.formula().splitlines():
        name, expression = line.split(" = ")
        names[name.strip()] = eval(expression, {}, names)
    zero = np.zeros_like(lane)
    assert np.array_equal(np.stack([names["row"] + zero, names["col"] + zero], axis=-1), layout.coords())


def test_the_formula_reads_like_the_manuals() -> None:
    """PTX ISA, "Matrix Fragments for mma.m16n8k64"."""
    ins = instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    assert ins.a.layout is not None
    assert ins.a.layout.formula().splitlines() == [
        "groupID           = lane >> 2",
        "threadID_in_group = lane & 0x3",
        "row = groupID + (((i >> 3) & 0x1) * 8)",
        "col = (threadID_in_group * 8) + (i & 0x7) + ((i >> 4) * 32)",
    ]
