"""Pictures with numbers: each at the lane that holds it, the matrix product, the same from the Explorer."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import ptxlab
from ptxlab import Instruction, PtxlabError, figures, memory, views
from ptxlab.views import palette
from ptxlab.views.drawing import fill
from ptxlab.views.labels import number_text
from tests.cases import each, refuses
from tests.views.forms import B1, F16, F64, QUADS, S4, SCALED, SP_S4, SP_TF32, WGMMA, panels_lie_apart

ALL = [S4, SP_S4, SP_TF32, F16, QUADS, F64, B1, WGMMA, SCALED]
MATRICES = [
    (ins, name) for ins in ALL for name in ("A", "stored", "B", "C", "D") if ins.sparse or name != "stored"
]


def matrix(ins: Instruction, name: str, rng: np.random.Generator) -> np.ndarray:
    operands = {"stored": ins.a, "A": ins.a_dense}
    op = operands[name] if name in operands else ins.operand(name)
    low, high = (-3, 4) if op.dtype.is_float else (max(op.dtype.minimum, -8), min(op.dtype.maximum, 7) + 1)
    values = rng.integers(low, high, op.shape)
    return ins.prune(values) if ins.sparse and name == "A" else values


def factors(ins: Instruction, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return matrix(ins, "A", rng), matrix(ins, "B", rng)


@each(
    "ins, name",
    MATRICES,
    ids=lambda case: f"{case[0].shape}{case[0].family} {case[1]}",
)
@pytest.mark.slow
def test_every_number_stands_at_the_lane_that_holds_it(
    ins: Instruction, name: str, rng: np.random.Generator
) -> None:
    values = matrix(ins, name, rng)
    (grid,) = views.values(ins, name, values, colour="lane").grids
    stored = ins.a if name in ("A", "stored") else ins.operand(name)
    columns = {}
    if ins.structure is not None and name == "A":  # where each of dense A is stored
        positions = ins.structure.positions(ins.compress(values)[1])
        columns = {(row, int(dense)): at for row in range(ins.m) for at, dense in enumerate(positions[row])}
    cells = {(cell.row, cell.column): cell for cell in grid.cells}
    for row, column in [(0, 0), (1, 3), *(tuple(at) for at in rng.integers(0, values.shape, (40, 2)))]:
        cell, hover = cells[row, column], grid.hover[row, column]
        title = "compressed A" if name == "stored" else name
        assert hover.startswith(f"{title}[{row}][{column}] = {values[row, column]}, code 0x")
        if stored.layout is None:
            assert cell.lane is None and "in shared memory" in hover
        elif ins.sparse and name == "A" and (row, column) not in columns:
            assert cell.lane is None and "not stored" in hover and not values[row, column]
            assert cell.text in ("·", "")
        else:
            place = stored.where(row, columns.get((row, column), column))[0]
            assert cell.lane == place.lane
            element = f"{stored.name.lower()}{place.element}"
            where = f"{stored.holder} {place.lane}, element {element}\nregister {place.register}, bits ["
            assert where in hover
            assert cell.text in (str(values[row, column]), "")


def test_what_stands_in_the_cells_and_what_the_colours_say(rng: np.random.Generator) -> None:
    values = matrix(F16, "A", rng)
    (hexadecimal,) = views.values(F16, "A", values, shown="hex").grids
    assert hexadecimal.at(3, 5).text == f"{np.float16(values[3, 5]).view(np.uint16):04x}"
    (binary,) = views.values(S4, "B", np.full(S4.b.shape, -3), shown="binary").grids
    assert binary.at(7, 7).text == "1101"
    (holders,) = views.values(F16, "A", values, shown="lane", colour="register").grids
    assert holders.at(9, 3).text == "T5:a3"
    lanes = [holders.at(row, column).lane for row, column in ((0, 0), (8, 0), (0, 8), (8, 8))]
    assert lanes == [1, 5, 9, 13]  # registers 0 to 3: a hue each
    (warps,) = views.values(WGMMA, "D", np.zeros((64, 24)), colour="warp").grids
    assert (
        len({warps.at(row, 0).lane for row in (0, 16, 32, 48)}) == 4
        and warps.at(0, 0).lane == warps.at(15, 23).lane
    )
    (heated,) = views.values(F64, "C", [[-4, 0, 2, 1, 0, 0, 0, 0]] * 8, colour="value").grids
    assert [heated.at(0, column).heat for column in range(4)] == [-1, 0, 0.5, 0.25]
    (plain,) = views.values(F16, "A", values, colour="nothing").grids
    assert {(cell.lane, cell.heat) for cell in plain.cells} == {(None, 0.0)}


def test_registers_and_codes_show_the_same_as_their_matrix(rng: np.random.Generator) -> None:
    values = matrix(SP_S4, "A", rng)
    stored, nibbles = SP_S4.compress(values)
    whole = views.values(SP_S4, "A", values)
    for same in (
        {"codes": SP_S4.a.dtype.encode(values)},
        {"registers": SP_S4.a.pack(stored), "nibbles": nibbles},
    ):
        again = views.values(SP_S4, "A", **same)
        assert again.grids[0].cells == whole.grids[0].cells and again.subtitle == whole.subtitle
    assert (
        views.values(SP_S4, "stored", registers=SP_S4.a.pack(stored)).grids[0].cells
        == views.values(SP_S4, "stored", stored).grids[0].cells
    )
    assert views.values(SP_S4, "E", nibbles).title == views.metadata(SP_S4, nibbles).title


def test_the_rows_say_in_words_which_lanes_hold_them(rng: np.random.Generator) -> None:
    (a,) = views.values(F16, "A", matrix(F16, "A", rng)).grids
    (b,) = views.values(F16, "B", matrix(F16, "B", rng)).grids
    assert a.rows[9].text.split("\N{NO-BREAK SPACE}") == ["T4..7", "", "9"]
    assert b.columns[3].lines == ("3", "T12", "..15")
    (c,) = views.values(QUADS, "C", np.zeros((32, 8))).grids
    assert c.rows[17].text == "T9,11\N{NO-BREAK SPACE}17"


def test_marked_cells_a_lane_in_the_focus_and_one_warp() -> None:
    zeros = np.zeros((64, 24))
    marked = zeros.astype(bool)
    marked[20, 3] = True
    (grid,) = views.values(WGMMA, "D", zeros, warp=1, marked=marked).grids
    assert grid.shape == (16, 24)
    assert [(cell.row, cell.column) for cell in grid.cells if cell.state == "mark"] == [(4, 3)]
    (grid,) = views.values(WGMMA, "D", zeros, lane=42).grids
    assert {cell.lane for cell in grid.cells if cell.state == "mark"} == {42}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"matrix": np.zeros((16, 32))}, r"A: found shape \(16, 32\); it takes \[..., 16, 64\]"),
        ({}, "values of A: found nothing; it takes one of matrix, codes, registers"),
        (
            {"matrix": np.zeros((16, 64)), "shown": "octal"},
            "shown='octal': it is one of value, hex, binary, lane",
        ),
        (
            {"matrix": np.zeros((16, 64)), "colour": "blue"},
            "colour='blue': it is one of auto, lane, register",
        ),
        ({"matrix": np.zeros((16, 64)), "lane": 32}, "lane 32 does not exist"),
        ({"matrix": np.ones((16, 64))}, "4 of the 4 pairs are non-zero"),
        (
            {"registers": np.zeros((32, 2), np.uint32)},
            "hold its stored half: ask for 'stored', or give the nibbles too",
        ),
        ({"matrix": np.zeros((16, 64)), "marked": [[True]]}, r"marked: found shape \(1, 1\)"),
    ],
)
def test_values_say_what_is_wrong(options: dict[str, object], message: str) -> None:
    refuses(message, views.values, SP_S4, "A", **options)


# -- the product -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ins", [S4, SP_S4, SP_TF32, F16, SCALED], ids=lambda ins: ins.shape + ins.family)
def test_the_product_shows_what_is_multiplied_and_what_comes_out(
    ins: Instruction, rng: np.random.Generator
) -> None:
    A, B = factors(ins, rng)
    grids = {grid.name: grid for grid in views.product(ins, A, B).grids}
    assert grids["D"].spot == (1, 1) and grids["B"].spot == (0, 1) and grids["A"].spot == (1, 0)
    exact = A @ B
    for row, column in np.ndindex(exact.shape):
        assert grids["D"].at(row, column).text == str(exact[row, column])
    for row, column in rng.integers(0, B.shape, (20, 2)):
        assert grids["B"].at(row, column).text == str(B[row, column])
    if ins.sparse:
        stored, nibbles = ins.compress(A)
        for row, column in rng.integers(
            0, stored.shape, (20, 2)
        ):  # two columns of dense A wide: chunk stands over chunk
            assert grids["compressed A"].at(row, 2 * column).text == str(stored[row, column])
        width = ins.k // nibbles.shape[1]
        assert [grids["E"].at(0, chunk * width).text for chunk in range(ins.k // width)] == [
            f"{nibble:04b}" for nibble in nibbles[0]
        ]
    if ins.scale_a is not None:
        assert grids["SFA"].at(3, 17).text == "1" and grids["SFB"].shape == B.shape


@pytest.mark.parametrize(
    "ins", [S4, SP_TF32, QUADS, SCALED, WGMMA, B1], ids=lambda ins: ins.shape + ins.family
)
def test_rows_and_columns_of_the_product_stand_in_line(ins: Instruction, rng: np.random.Generator) -> None:
    drawing = views.product(ins, *factors(ins, rng), np.zeros(ins.c.shape)).drawing()
    at = {panel.grid.name: panel for panel in drawing.panels}
    assert (at["A"].y == at["D"].y).all() and (at["C"].y == at["D"].y).all()
    assert (at["B"].x == at["D"].x).all()
    assert at["B"].y[-1] < at["D"].y[0] and at["A"].x[-1] < at["D"].x[0] < at["D"].x[-1] < at["C"].x[0]
    if ins.sparse:
        assert (at["compressed A"].x == at["A"].x).all() and (at["E"].x == at["A"].x).all()
        assert at["compressed A"].y[-1] < at["E"].y[0] < at["E"].y[-1] < at["A"].y[0]
    assert panels_lie_apart(drawing)
    for word in drawing.words:
        wide = len(word.text) * word.size * (0.6 if word.mono else 0.55)
        left = word.x - wide * {"start": 0, "middle": 0.5, "end": 1}[word.anchor]
        assert left >= 0 and left + wide <= drawing.width and 0 <= word.y <= drawing.height, word.text


def test_four_products_stand_on_a_diagonal(rng: np.random.Generator) -> None:
    A, B = factors(QUADS, rng)
    d = next(grid for grid in views.product(QUADS, A, B).grids if grid.name == "D")
    assert d.shape == (32, 32)
    for i in range(4):
        block = slice(8 * i, 8 * i + 8)
        exact = A[block] @ B[:, block]
        assert [[d.at(8 * i + row, 8 * i + column).text for column in range(8)] for row in range(8)] == [
            [str(value) for value in row] for row in exact
        ]
        assert d.at(8 * i, (8 * i + 8) % 32).role == "blank"


def test_the_product_without_numbers_says_who_holds_what() -> None:
    grids = {grid.name: grid for grid in views.product(SP_S4, lane=5).grids}
    assert grids["A"].at(9, 37).text == "T6:{a8..a11}" and grids["D"].at(9, 3).text == "T5:{d2,d3}"
    assert grids["lanes"].at(1, 1).text == "T5"
    assert {cell.text.split(":")[0] for cell in grids["B"].cells if cell.state == "mark"} == {"T5"}
    shared = views.product(ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")).grids
    assert [cell.text for grid in shared for cell in grid.cells if "shared" in cell.text] == [
        "B: in shared memory"
    ]


@pytest.mark.slow
def test_what_is_too_large_for_letters_is_a_map_of_its_values(rng: np.random.Generator) -> None:
    picture = views.product(WGMMA, *factors(WGMMA, rng))
    assert not any(grid.labelled for grid in picture.grids) and "vermilion: above" in picture.subtitle
    root = ET.fromstring(figures.svg(picture))
    space = "{http://www.w3.org/2000/svg}"
    fills = Counter(path.get("fill") for path in root.iter(f"{space}path") if path.get("fill"))
    # A path for each colour of a matrix, not a rectangle for each element.
    assert 10 < sum(fills.values()) <= 5 * 34
    heat = figures.chart(picture).data[0]
    assert heat.text[0, 0].startswith("compressed A[0][0] = ")
    # Holders one by one have no room.
    assert views.product(S4, *factors(S4, rng), shown="lane").subtitle == views.product(S4).subtitle


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [(np.zeros((16, 64)), None, "found only A"), (None, np.zeros((64, 8)), "found only B")],
)
def test_a_product_needs_both_factors(A: np.ndarray | None, B: np.ndarray | None, message: str) -> None:
    refuses(message, views.product, S4, A, B)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.int32(-2147483648), "-2147483648"),
        (0.1, "0.1"),
        (-1 / 3, "-0.3333"),
        (1e-20, "1e-20"),
        (float("nan"), "nan"),
        (-np.inf, "-inf"),
        (2.5, "2.5"),
        (1234.5, "1234.5"),
        (-999.96, "-1000.0"),
        (2.00001, "2.0"),
        (0.99999, "1.0"),
        (12345678.5, "1.235e7"),
        (10000001.0, "1.0e7"),
        (1.00001e-9, "1.0e-9"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    """And a fraction that is rounded away leaves a trace."""
    assert number_text(value) == text


# -- keys to colours, and shared memory ------------------------------------------------------------------


def coloured(key: views.Grid) -> dict[str, str]:
    """Text and colour of each cell of a key."""
    return {cell.text: fill(cell) for cell in key.cells}


def test_colours_by_register_and_by_warp_have_a_key() -> None:
    picture = views.values(F16, "A", np.ones((16, 16)), colour="register")
    (key,) = picture.keys
    shown = coloured(key)
    assert list(shown) == ["0", "1", "2", "3"] and len(set(shown.values())) == 4
    for lane in range(32):
        for place, row, column in F16.a.holds(lane):
            assert fill(picture.grids[0].at(row, column)) == shown[str(place.register)]
    (key,) = views.values(WGMMA, "D", np.zeros((64, 24)), colour="register").keys
    assert [cell.text for cell in key.cells] == ["0, 8", "1, 9", "2, 10", "3, 11", "4", "5", "6", "7"]
    warps = views.values(WGMMA, "D", np.zeros((64, 24)), colour="warp")
    shown = coloured(warps.keys[0])
    assert all(fill(warps.grids[0].at(row, 3)) == shown[str(row // 16)] for row in range(64))
    for colour in ("lane", "value", "nothing"):
        assert not views.values(F16, "A", np.ones((16, 16)), colour=colour).keys
    product = views.product(F16, np.ones((16, 16)), np.ones((16, 8)), colour="register")
    assert product.grids[0].title == "registers"
    texts = [word.text for word in picture.with_title(False).drawing().words]
    assert {"registers", "0", "3"} <= set(texts)  # a figure without notes keeps its key
    assert "<b>registers</b>" in picture.figure().data[-1].text


@pytest.mark.parametrize("swizzle", [0, 64, 128])
def test_a_tile_in_shared_memory_is_coloured_by_core_matrix_or_by_bank(swizzle: int) -> None:
    ins = ptxlab.instruction("wgmma.mma_async.sp.sync.aligned.m64n24k64.f32.e4m3.e4m3")
    tile = memory.Tile.of(ins.b, swizzle)
    banks = views.fragment(ins, "B", swizzle=swizzle, colour="bank")
    (key,) = banks.keys
    shown = coloured(key)
    assert len(set(shown.values())) == 8 and "hue: bank // 4" in banks.subtitle
    (grid,) = banks.grids
    for n, piece in np.ndindex(24, 4):
        first = int(tile.offset(n, 16 * piece)) % 128 // 4
        assert fill(grid.at(n, piece)) == shown[f"{first}..{first + 3}"]
        assert f"banks {first}..{first + 3}" in grid.hover[n, piece]
    cores = views.fragment(ins, "B", swizzle=swizzle)
    assert cores.svg() == views.fragment(ins, "B", swizzle=swizzle, colour="core matrix").svg()
    assert not cores.keys
    (grid,) = cores.grids
    of = {(n, piece): fill(grid.at(n, piece)) for n, piece in np.ndindex(24, 4)}
    assert len(set(of.values())) == 12
    assert all(colour == of[n // 8 * 8, piece] for (n, piece), colour in of.items())
    assert [(head.start, head.text) for head in grid.row_groups] == [
        (0, "core matrices 0..3"), (8, "core matrices 4..7"), (16, "core matrices 8..11"),
    ]  # fmt: skip


def test_numbers_in_shared_memory_are_coloured_by_core_matrix_or_by_bank() -> None:
    ins = ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n24k16.f32.f16.f16")
    tile, B = memory.Tile.of(ins.b), np.ones((16, 24))
    picture = views.values(ins, "B", B, colour="bank")
    shown = coloured(picture.keys[0])
    cores = views.values(ins, "B", B).grids[0]
    for k, n in np.ndindex(16, 24):
        first = int(tile.offset(n, k // 8 * 8)) % 128 // 4
        assert fill(picture.grids[0].at(k, n)) == shown[f"{first}..{first + 3}"]
        assert fill(cores.at(k, n)) == fill(cores.at(k // 8 * 8, n // 8 * 8))
    assert len({fill(cell) for cell in cores.cells}) == 6
    assert ins.figure("B", colour="bank").data[-2].type == "scatter"
    for draw in (
        lambda: views.values(F16, "A", np.ones((16, 16)), colour="bank"),
        lambda: views.fragment(F16, "A", colour="bank"),
        lambda: views.product(F16, colour="core matrix"),
    ):
        refuses("lives in registers.*core matrices and banks are of shared memory", draw)
    refuses("colour='lane': it is one of auto, core matrix, bank", views.fragment, ins, "B", colour="lane")


# -- on pages --------------------------------------------------------------------------------------------


def test_a_picture_in_a_notebook_takes_paper_and_ink_from_the_theme_and_a_file_does_not() -> None:
    trace = F16.trace(np.full((16, 16), 0.1), np.full((16, 8), 3), np.full((16, 8), 2.0**-30), 0, 0)
    for shown, text in (
        (trace._repr_html_(), trace.svg()),
        (views.fragment(S4, "A")._repr_html_(), figures.svg(views.fragment(S4, "A"))),
    ):
        assert (
            f'fill="var(--jp-layout-color0, {palette.PAPER})"' in shown
            and f'stroke="var(--jp-content-font-color0, {palette.INK})"' in shown
        )
        assert "var(" not in text
        root = ET.fromstring(shown)
        words = [
            word
            for word in root.iter("{http://www.w3.org/2000/svg}text")
            if word.get("fill", "").startswith("#")
        ]
        # On cells of full colour only.
        assert {word.get("fill") for word in words} <= {
            palette.INK,
            palette.PAPER,
            palette.mix(palette.INK, 0.78),
        }


@pytest.mark.parametrize(
    ("what", "options", "title"),
    [
        ("product", {}, SP_S4.mnemonic),
        ("A", {}, f"A of {SP_S4.mnemonic}"),
        ("A", {"matrix": np.zeros((16, 64))}, f"A of {SP_S4.mnemonic}"),
        ("stored", {"lane": 3}, f"A of {SP_S4.mnemonic}"),
        ("stored", {"matrix": np.zeros((16, 32))}, f"Compressed A of {SP_S4.mnemonic}"),
        ("metadata", {"selector": 1}, f"Metadata E of {SP_S4.mnemonic}"),
        ("lane", {"lane": 7}, f"Lane 7 of {SP_S4.mnemonic}"),
        (
            "trace",
            {"A": np.zeros((16, 64)), "B": np.zeros((64, 8)), "row": 2, "col": 1},
            f"D[2][1] = 0 of {SP_S4.mnemonic}",
        ),
    ],
)
def test_an_instruction_draws_what_is_asked_for(what: str, options: dict[str, object], title: str) -> None:
    assert SP_S4.figure(what, **options).layout.meta["title"] == title


def test_an_instruction_says_what_it_can_draw() -> None:
    with pytest.raises(
        PtxlabError,
        match=r"no figure 'E' of .*; there are product, A, B, C, D, stored, metadata, lane, trace",
    ):
        SP_S4.figure("E")
    assert SCALED.figure("scales", thread_id_a=1).layout.meta["title"].startswith("Block scales")


def test_scales_and_registers_show_their_values(rng: np.random.Generator) -> None:
    scales = 2.0 ** rng.integers(-2, 3, SCALED.scale_a.shape)
    grid = views.scales(SCALED, scales).grids[0]
    assert all(
        float(grid.at(row, column).lines[-1]) == scales[row, column]
        for row, column in np.ndindex(scales.shape)
    )
    values = matrix(S4, "A", rng)
    grids = {grid.name: grid for grid in views.registers(S4, 9, {"A": S4.a.pack(values)}).grids}
    for place, row, column in S4.a.holds(9):
        assert grids["A"].at(place.register, 31 - place.high).lines[-1] == str(values[row, column])
    long = views.registers(ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"), 3)
    assert long.title.startswith("Thread 3 of wgmma")
    assert all(grid.shape[0] <= 8 for grid in long.grids) and "B: in shared memory" in long.subtitle
    assert [grid.title for grid in long.grids][-1] == "D: 128 registers, the first 8 shown"


# -- from the explorer -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ins", [SP_S4, SCALED, QUADS, WGMMA], ids=lambda ins: ins.shape + ins.family)
@pytest.mark.slow
def test_everything_in_the_explorer_can_be_drawn(ins: Instruction) -> None:
    pytest.importorskip("anywidget")
    from ptxlab.explorer.saving.export import figure_names, picture
    from ptxlab.explorer.state import ExplorerState

    state = ExplorerState(ins)
    for what in figure_names(state):
        drawn = picture(state, what, chosen_lane=5, cell=(1, 2))
        assert drawn.grids and ins.mnemonic in drawn.title
    names = {name for name in state.operation.names if name not in ("E", "SFA", "SFB")}
    for name in names:
        (grid,) = picture(state, name).grids
        values = state.values(name)
        assert all(
            f" = {number_text(values[at], 9)}, code" in grid.hover[at]
            for at in ((0, 0), (3, 2), (values.shape[0] - 1, values.shape[1] - 1))
        )


@pytest.mark.slow
def test_the_explorer_draws_what_is_chosen_as_it_is_shown() -> None:
    pytest.importorskip("anywidget")
    ex = ptxlab.explore(SP_S4)
    assert ex.figure().layout.meta["title"] == SP_S4.mnemonic
    ex.selection = "E", 3, 1
    assert ex.figure().layout.meta["title"].startswith("Metadata E of")
    ex.view.label = "hex"
    assert "codes in hexadecimal" in ex.figure("B").layout.meta["subtitle"]
    ex.lane = 9
    assert ex.figure("lane").layout.meta["title"].startswith("Lane 9 of")
    ex.selection = "D", 4, 2
    assert ex.figure("trace").layout.meta["title"].startswith("D[4][2] = ")
    refuses("no figure 'F'; there are product, A, stored, metadata, B, C, D, lane, trace", ex.figure, "F")


def test_cells_that_differ_between_two_chips_are_outlined() -> None:
    pytest.importorskip("anywidget")
    from ptxlab.explorer.edits import SetValues
    from ptxlab.explorer.saving.export import picture
    from ptxlab.explorer.state import ExplorerState

    state = ExplorerState(F16)
    SetValues("A", np.full((16, 16), 0.1)).apply(state)
    SetValues("B", np.full((16, 8), 0.1)).apply(state)
    SetValues("C", np.full((16, 8), 1000)).apply(state)
    state.chip_choice.against = "sm_80"
    assert state.comparison().differ.any()
    for what in ("D", "product"):
        (grid,) = (grid for grid in picture(state, what).grids if grid.name == "D")
        marked = np.zeros(grid.shape, dtype=bool)
        for cell in grid.cells:
            marked[cell.row, cell.column] = cell.state == "mark"
        assert (marked == state.comparison().differ).all()


def test_a_part_of_a_grid_has_only_its_own_rules() -> None:
    (grid,) = views.values(WGMMA, "D", np.zeros((64, 24))).grids
    part = replace(grid, column_rules=((8, 0, 64), (16, 0, 10))).part(range(16, 32), range(4, 24))
    assert part.column_rules == ((4, 0, 16),)


def test_a_part_of_a_grid_has_only_its_own_boxes() -> None:
    (grid,) = views.values(WGMMA, "D", np.zeros((64, 24))).grids
    part = replace(grid, boxes=((0, 0, 8, 24), (16, 8, 40, 8))).part(range(16, 32), range(4, 24))
    assert part.boxes == ((0, 4, 16, 8),)
