"""Figures of tcgen05 beside those of other families: values, products, scales, lanes, runs."""

from __future__ import annotations

import inspect
import itertools
import re
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, figures, views
from ptxlab.isa.tensor_operand import LANES
from ptxlab.memory.tcgen05_tiles import shared_places
from ptxlab.views.figure_arguments import product_operand
from tests.cases import each, refuses
from tests.views.forms import panels_lie_apart

F16 = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=128, n=256)
SCALED = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", n=16)
LOAD = ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")
SPCOMPRESS = "tcgen05.ld.spcompress.sync.aligned.32x32b.x8.max.sp::2:4.f32.b2"
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("mma.cta_group::1.kind::f16", {"m": 64, "n": 24}, "D"),
    ("mma.cta_group::2.kind::f16", {"m": 128, "n": 64}, "D"),
    ("mma.cta_group::2.kind::f16", {"m": 256, "n": 32}, "D"),
    ("mma.ws.cta_group::1.kind::f16", {"m": 64, "n": 64}, "D"),
    ("mma.ws.cta_group::1.kind::f16", {"m": 32, "n": 64, "d": "f16"}, "C"),
    ("mma.cta_group::1.kind::f8f6f4", {"m": 64, "n": 8, "a": "e3m2"}, "A"),
    ("mma.ws.cta_group::1.kind::f16", {"m": 64, "n": 64}, "A"),
    ("mma.cta_group::1.kind::mxf4.block_scale", {"n": 40, "scale_a_id": 2}, "SFA"),
    ("mma.cta_group::2.kind::mxf8f6f4.block_scale", {"m": 256, "n": 64}, "SFB"),
]


def instruction(name: str, parts: dict[str, Any]) -> Any:
    return ptxlab.instruction(f"tcgen05.{name}", **parts).a_from("tensor")


def places(text: str) -> set[tuple[int, int]]:
    """Lanes, counted over both CTAs, and the column that a tooltip names."""
    cta = re.search(r"CTA (\d)", text)
    lanes = [int(lane) for lane in re.search(r"lanes? ([\d, ]+)", text)[1].strip(", ").split(", ")]
    firsts = (0, LANES) if "both CTAs" in text else (LANES * int(cta[1]) if cta else 0,)
    column = int(re.search(r"column (\d+)", text)[1])
    return {(first + lane, column) for first in firsts for lane in lanes}


@each("name, parts, operand", CASES)
def test_every_number_stands_where_tensor_memory_has_it(
    name: str, parts: dict[str, Any], operand: str
) -> None:
    ins = instruction(name, parts)
    op = product_operand(ins, operand)
    values = np.arange(op.shape[0] * op.shape[1]).reshape(op.shape) % 2 + 1
    rows, columns = (range(max(size // 2 - 5, 0), size // 2 + 1) for size in op.shape)
    (grid,) = views.values(ins, operand, values, rows=rows, columns=columns).grids
    (again,) = views.values(ins, operand, registers=op.pack(values), rows=rows, columns=columns).grids
    assert again.cells == grid.cells
    for row, column in itertools.product(rows, columns):
        at = row - rows.start, column - columns.start
        assert grid.at(*at).text == str(values[row, column])
        held = {(place.cta * LANES + place.lane, place.column) for place in op.where(row, column)}
        assert places(grid.hover[at].splitlines()[1]) == held
        low, bits = op.where(row, column)[0].low, re.search(r"bits \[(?:\d+\.\.)?(\d+)\]", grid.hover[at])
        assert low == (int(bits[1]) if bits else 0)
        assert grid.at(*at).lane in {lane for lane, _ in held}


@pytest.mark.slow
def test_a_product_shows_a_part_with_numbers_and_the_whole_as_heat(rng: np.random.Generator) -> None:
    A, B = rng.integers(-3, 4, (128, 16)), rng.integers(-3, 4, (16, 256))
    part = views.product(F16, A, B, element=(37, 130), rows=range(32, 40), columns=range(128, 136))
    grids = {grid.name: grid for grid in part.grids}
    exact = A @ B
    for row, column in np.ndindex(8, 8):
        assert grids["D"].at(row, column).text == str(exact[32 + row, 128 + column])
        assert grids["B"].at(row, column).text == str(B[row, 128 + column])
    assert grids["A"].outlines == ((5, 0, 1, 16),) and grids["B"].outlines == ((0, 2, 16, 1),)
    assert grids["D"].outlines == ((5, 2, 1, 1),) and "outlined: D[37][130]" in part.subtitle
    whole = views.product(F16, A, B, np.ones((128, 256)), element=(37, 130))
    drawing = whole.drawing()
    assert drawing.width <= 1440 and drawing.height <= 1200
    assert not any(grid.labelled for grid in whole.grids)
    at = {panel.grid.name: panel for panel in drawing.panels}
    assert (at["A"].y == at["D"].y).all() and (at["C"].x == at["D"].x).all() and at["C"].y[0] > at["D"].y[-1]
    d = next(grid for grid in whole.grids if grid.name == "D")
    assert d.hover[37, 130].splitlines()[1] == "lane 37, column 130"


@pytest.mark.slow
def test_what_belongs_to_a_stands_beside_it_where_a_is_tall(rng: np.random.Generator) -> None:
    ins = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::mxf8f6f4.block_scale", m=128, n=64)
    A, B = ins.prune(rng.integers(-3, 4, (128, ins.k))), rng.integers(-3, 4, (ins.k, 64))
    drawing = views.product(ins, A, B).drawing()
    at = {panel.grid.name: panel for panel in drawing.panels}
    for name in ("SFA", "E", "compressed A"):
        assert (at[name].y == at["A"].y).all() and at[name].x[-1] < at["A"].x[0]
    assert at["SFB"].y[-1] < at["B"].y[0] and (at["SFB"].x == at["B"].x).all()
    assert panels_lie_apart(drawing)


@each("name, parts", [case[:2] for case in CASES if case[2] in ("C", "D")])
def test_the_product_without_numbers_names_the_blocks_of_tensor_memory(
    name: str, parts: dict[str, Any]
) -> None:
    ins = instruction(name, parts)
    d = next(grid for grid in views.product(ins).grids if grid.name == "D")
    for cell in d.cells:
        first = ins.d.where(cell.row, cell.column)[0]
        last = ins.d.where(cell.row + cell.height - 1, cell.column + cell.width - 1)[0]
        numbers = [int(number) for number in re.findall(r"\d+", cell.text)]
        corner = [first.lane, last.lane, first.column, last.column]
        assert numbers == ([first.cta, *corner] if ins.d.ctas == 2 else corner)
        assert first.lane // 32 == last.lane // 32 and first.cta == last.cta


def test_scales_are_drawn_where_they_are(rng: np.random.Generator) -> None:
    for name, parts in ((case[0], case[1]) for case in CASES if "block_scale" in case[0]):
        ins = instruction(name, parts)
        grids = {grid.title.partition(":")[0]: grid for grid in views.scales(ins).grids}
        for operand in (ins.scale_a, ins.scale_b):
            grid, transposed = grids[operand.name], operand.name == "SFB"
            for row, column in rng.integers(0, operand.shape, (12, 2)).tolist():
                line, block = (column, row) if transposed else (row, column)
                unit = 2 if max(operand.shape) > LANES else 1
                at = (block, line // unit) if transposed else (line // unit, block)
                place = operand.where(row, column)[0]
                numbers = [int(number) for number in re.findall(r"\d+", grid.at(*at).text)]
                assert numbers[-3:] == [place.column, place.high, place.low]
    one = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf4.block_scale", n=64)
    values = 2.0 ** rng.integers(-2, 3, (128, 2))
    part = views.scales(one, values, rows=range(40, 44), columns=range(2)).grids[0]
    assert part.at(1, 1).lines[-1] == f"{values[41, 1]:g}" and part.at(1, 1).text.startswith(
        "lane 9, column 1"
    )
    refuses(r"ids are in the descriptor.*with_descriptor\(scale_a_id", views.scales, one, byte_id_a=2)


def test_a_thread_after_a_load_and_a_lane_of_tensor_memory(rng: np.random.Generator) -> None:
    for name in ("16x64b.x2", "16x256b.x2", "32x32b.x4", "16x64b.x2.pack::16b"):
        load = ptxlab.instruction(f"tcgen05.ld.sync.aligned.{name}.b32")
        for thread in (0, 37, 127):
            (grid,) = views.lane(load, "R", thread).grids
            for register in range(load.registers):
                lane, column = load.locate(thread, register)
                assert grid.at(register, 31).text == f"lane {lane}, column {column}"
    small = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=8)
    values = rng.integers(-9, 9, (64, 8))
    (grid,) = views.lane(LOAD, small.d, 37, LOAD.emulate(small.d.pack(values))).grids
    assert grid.at(1, 0).lines[0] == "D[17][3]" and grid.at(1, 0).lines[-1] == str(values[17, 3])
    assert grid.at(3, 0).lines[:2] == ("D[25][3]", "lane 41, column 3")
    (grid,) = views.lane(small, "D", 36, small.d.pack(values), columns=range(4, 8)).grids
    assert [grid.at(at, 0).lines[-1] for at in range(4)] == [str(value) for value in values[20, 4:]]
    ins = instruction("mma.cta_group::1.kind::f8f6f4", {"m": 64, "n": 8, "a": "e3m2"})
    (grid,) = views.lane(ins, "A", 36).grids
    for word, low in itertools.product(range(grid.shape[0]), range(0, 32, 8)):
        row, column = ins.a.holds(36, word)[low // 8]
        place = ins.a.where(row, column)[0]
        assert grid.at(word, 31 - place.low).text == f"A[{row}][{column}]"
    titles = [grid.title for grid in views.registers(instruction(*CASES[7][:2]), 5).grids]
    assert titles[1] == "D: 40 columns, the first 8 shown" and titles[2].startswith("SFA")


def test_runs_of_rows_in_tensor_memory_and_of_loads() -> None:
    ws = [ptxlab.instruction("tcgen05.mma.ws.cta_group::1.kind::f16", m=m, n=256) for m in (64, 32)]
    (grid,) = views.runs(F16, *ws, operand="D").grids
    texts = [[cell.text for cell in grid.cells if cell.row == row] for row in range(3)]
    assert texts == [["lane 0"], ["lane 0", "lane 64"], ["lane 0", "lane 32", "lane 64", "lane 96"]]
    loads = ("tcgen05.ld.sync.aligned.32x32b.x8.b32", "tcgen05.ld.sync.aligned.16x256b.x1.b32")
    (grid,) = views.runs(*loads).grids
    assert [cell.width for cell in grid.cells] == [8, 2, 2, 2, 2]
    sparse = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16", m=128, n=64).a_from("tensor")
    a = next(grid for grid in views.product(sparse).grids if grid.name == "A")
    ws = ptxlab.instruction("tcgen05.mma.ws.sp.cta_group::1.kind::f16", m=64, n=64).a_from("tensor")
    dense = ws.prune(np.ones((64, 32)))
    (grid,) = views.values(ws, "A", dense).grids
    assert {text.splitlines()[1] for text in grid.hover[5, dense[5] != 0][:2]} == {
        f"lanes 5, 69, column 0, bits [{bits}]" for bits in ("15..0", "31..16")
    }
    assert a.title == "compressed A 128x16 f16" and a.at(40, 0).text == "lanes 32..63 columns 0..7"


@each(
    "call, message",
    [
        (lambda: figures.runs(F16), "operand='D' draws D, and figures.fragment its A in shared memory"),
        (lambda: figures.lane(F16, "B", 3), "is in shared memory, .* figures.fragment draws it there"),
        (lambda: figures.product(LOAD), "no matrices; figures.tensor_registers and figures.lane draw"),
        (lambda: figures.values("ldmatrix.sync.aligned.m8n8.x1.shared.b16", "A"), "figures.fragment draws R"),
        (lambda: figures.scales("tcgen05.cp.cta_group::1.128x256b"), "figures.tensor_memory draws T"),
        (
            lambda: figures.lane(SPCOMPRESS, "R", 0),
            "no registers with a place each; .* ins.emulate.words. gives",
        ),
        (lambda: figures.tensor_memory(LOAD), "figures.tensor_registers and figures.lane draw"),
        (lambda: figures.lane("tcgen05.shift.cta_group::1.down", "R", 0), "figures.tensor_memory draws what"),
        (
            lambda: figures.values(F16, "D", np.zeros((128, 256)), rows=range(5, 200)),
            "rows=range.5, 200.: it is a range of 0 to 128",
        ),
        (lambda: figures.product(F16, element=(3, 256)), "column 256"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_names_the_figure_that_does(call: Any, message: str) -> None:
    refuses(message, call)


def test_a_marked_element_is_outlined_in_its_block_of_tensor_memory() -> None:
    picture = views.tensor_memory(SCALED, "SFA", marked=(45, 1))
    (grid,) = picture.grids
    assert grid.outlines == tuple((13 + 32 * warp, 4 * 1 + 1, 1, 1) for warp in range(4))
    assert grid.at(13, 5).text == "m 32..63 block 0..1" and grid.shape == (128, 16)
    assert "outlined: SFA[45][1] in lanes 13, 45, 77, 109, column 1, bits [15..8]" in picture.subtitle
    pair = ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16", m=256, n=32)
    grids = {grid.name: grid for grid in views.product(pair, np.ones((256, 16)), np.ones((16, 32))).grids}
    assert grids["B"].hover[3, 16].endswith("in shared memory of CTA 1")
    assert grids["B"].column_rules == ((16, 0, 16),) and grids["A"].row_rules == (128,)
    assert [head.text for head in grids["A"].row_groups] == ["CTA 0", "CTA 1"]


@each(
    "name, parts",
    [
        ("mma.cta_group::1.kind::f8f6f4", {"a": "e2m1", "b": "e2m3", "n": 8}),  # padded
        ("mma.cta_group::1.kind::mxf8f6f4.block_scale", {"a": "e2m3", "k": 64, "n": 8}),
        ("mma.cta_group::2.kind::f16", {"n": 64}),
    ],
)
def test_tiles_hold_narrow_elements_and_those_of_one_cta(name: str, parts: dict[str, Any]) -> None:
    ins = ptxlab.instruction(f"tcgen05.{name}", **parts)
    for operand, lines in ((ins.a, ins.m), (ins.b, ins.n)):
        grid = ins.figure(operand.name).source.panels[0].grid
        assert grid.shape[0] == lines // ins.cta_group
        values = views.values(ins, operand.name, np.zeros(operand.shape), rows=range(4), columns=range(4))
        assert values.grids[0].at(0, 0).lane is not None
        for row, k in ((0, 0), (3, 13), (1, ins.k - 1)):
            place = shared_places(operand, *((row, k) if operand is ins.a else (k, row)))[-1]
            piece = next(text for text in grid.hover[row] if f"bytes {place.byte // 16 * 16}.." in text)
            first, last = map(int, re.findall(r"k (\d+)\.\.(\d+)", piece)[0])
            assert first <= k <= last


def test_figures_by_name_and_their_parameters() -> None:
    assert SCALED.figure("scales").layout.meta["title"].startswith("Block scales of")
    assert SCALED.figure("lane", lane=37).layout.meta["title"].startswith("Lane 37 of tensor memory")
    assert SCALED.figure("product").layout.meta["title"].endswith("m128n16k64")
    values = SCALED.figure("D", matrix=np.ones((128, 16)))
    assert values.data[0].text[5, 3].startswith("D[5][3] = 1, code")
    assert LOAD.figure("lane", lane=37).layout.meta["title"].startswith("Registers in thread 37")
    refuses("no figure 'metadata' .* there are product, A, B, C, D, scales", SCALED.figure, "metadata")
    with pytest.raises(PtxlabError, match="no figure 'D' of ldmatrix.* there are R, lane"):
        ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.shared.b16").figure("D")
    for name in ("tensor_memory", "values", "product", "scales", "lane", "runs"):
        drawn, viewed = (getattr(module, name) for module in (figures, views))
        assert inspect.signature(drawn).parameters == inspect.signature(viewed).parameters
        assert drawn.__name__ == name
