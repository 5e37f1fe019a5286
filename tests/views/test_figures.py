"""Figures: Plotly and SVG get what the picture says; colours can be told apart; files are written."""

from __future__ import annotations

import base64
import itertools
import re
import struct
import sys
import threading
import xml.etree.ElementTree as ET
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import DTYPES, PtxlabError, figures, memory, views
from ptxlab.instruction import mma_instructions
from ptxlab.isa.chips import ALL_CHIPS
from ptxlab.isa.sparsity import STRUCTURES
from ptxlab.simulator.timing.stalls import MEANINGS, REASONS
from ptxlab.views import palette
from ptxlab.views.charts import bars, table
from ptxlab.views.drawing import Tint, fill, ink, paint, tint_fill, word_colour
from ptxlab.views.static_image import static_svg
from tests.cases import each, refuses
from tests.contract.mutations import call_with
from tests.contract.surface import figure_calls
from tests.sampling import EXHAUSTIVE, one_in
from tests.views.forms import B1, F16, F64, S4, SCALED, SP_S4, SP_TF32, WGMMA

LARGE = ptxlab.instruction("wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3")

TCGEN05 = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=32)


THEMES = pytest.mark.parametrize("theme", [palette.LIGHT, palette.DARK], ids=["light", "dark"])


@cache
def pictures() -> dict[str, Any]:
    return {
        "A s4": views.fragment(S4, "A"),
        "B s4": views.fragment(S4, "B", lane=5),
        "C s4": views.fragment(S4, "C"),
        "stored A s4": views.fragment(SP_S4, "A"),
        "dense A s4": views.fragment(SP_S4, "A", dense=True),
        "dense A tf32": views.fragment(SP_TF32, "A", dense=True),
        "E tf32": views.metadata(SP_TF32, np.full((16, 8), 0b1110), 1),
        "A b1": views.fragment(B1, "A"),
        "D wgmma": views.fragment(WGMMA, "D"),
        "D wgmma, folded": views.fragment(WGMMA, "D", label="elements", lane=42),
        "D wgmma, one warp": views.fragment(WGMMA, "D", warp=3),
        "A wgmma, one warp": views.fragment(WGMMA, "A", warp=1, dense=True),
        "E wgmma": views.metadata(WGMMA),
        "E wgmma, one warp": views.metadata(WGMMA, np.full((64, 16), 0b1110), warp=2),
        "E s4": views.metadata(SP_S4),
        "D wgmma n256": views.fragment(LARGE, "D", lane=77),
        "B wgmma": views.fragment(WGMMA, "B", swizzle=128),
        "scales": views.scales(SCALED),
        "lane": views.lane(S4, "A", 5, np.zeros((32, 4), np.uint32)),
        "trace f16": views.trace(
            F16.trace(np.full((16, 16), 0.1), np.full((16, 8), 3), np.full((16, 8), 2.0**-30), 0, 0)
        ),
        "trace s4": views.trace(
            S4.trace(np.full((16, 64), 7), np.full((64, 8), 7), np.full((16, 8), 2**31 - 1), 0, 0)
        ),
        "trace f64": views.trace(
            F64.trace(np.full((8, 4), 0.1), np.full((4, 8), -3), np.full((8, 8), 2.0**-300), 7, 7)
        ),
        "values s4": views.values(S4, "A", np.tile(np.arange(-8, 8), (16, 4))),
        "values sparse tf32": views.values(SP_TF32, "A", np.tile([0, -1 / 3], (16, 8)), lane=5),
        "values D wgmma, one warp": views.values(WGMMA, "D", np.arange(64 * 24).reshape(64, 24), warp=1),
        "all of a lane": views.registers(S4, 5),
        "lane f16": views.lane(F16, "A", 5, np.full((32, 4), 0xBC003C01, np.uint32)),
        "lane f32": views.registers(F16, 7),
        "lane b1": views.lane(B1, "A", 9, np.zeros((32, 1), np.uint32)),
        "descriptor": views.descriptor(0xBFFF_2EEE_3FFF_3ABC),
        "swizzle 128": views.swizzle(128, vector=5),
        "swizzle 32": views.swizzle(32),
        "banks": views.banks(memory.conflicts(np.arange(32) * 80, 16), "wavefront", counts=True),
        "tile K": views.tile(memory.Tile(16, 16, 128, swizzle=128), k=80),
        "tile MN": views.tile(memory.Tile(16, 64, 32, "MN", 64), 16, "bank"),
        "bytes read": views.bytes_read(
            memory.Descriptor(0x400, 16, 512, 128), memory.Tile(16, 16, 64, swizzle=128)
        ),
        "bytes read, bare": views.bytes_read(0x1000080040, bits=8, rows=64),
        "box": views.box(ptxlab.tensor_map(np.zeros((8, 96), np.float16), (16, 64), 128), -4, 64),
        "layout of CuTe": views.named_layout("Swizzle<3,3,3> o (8,64):(64,1)", bits=16),
        "layout of Triton": views.named_layout(
            "#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 1], instrShape = [16, 8]}>",
            (32, 16),
            lane=5,
        ),
        "swizzle bits": views.swizzle_bits(0x1234, 64),
        "tensor memory F": views.tensor_memory(TCGEN05, marked=(20, 3)),
        "tensor memory SFB": views.tensor_memory("tcgen05.mma.cta_group::2.kind::mxf4.block_scale", "SFB"),
        "tensor memory, a part": views.tensor_memory(
            TCGEN05, lanes=range(30, 40), columns=range(8), words=TCGEN05.d.pack(np.ones((64, 32)) / 3)
        ),
        "layouts A to G": views.data_paths(),
        "an SM": views.chip("wgmma", "shared memory"),
        "registers of ld": views.tensor_registers("tcgen05.ld.sync.aligned.16x32bx2.x2.b32", 37),
        "scale tile": views.scale_tile(37),
        "instruction descriptor": views.instruction_descriptor(
            "tcgen05.mma.sp.cta_group::1.kind::mxf4nvf4.block_scale.block16"
        ),
        "descriptor of tcgen05": views.descriptor(0x2010404000010040),
        "bars": bars({"N = 8": {"f32": 4, "f16": 0}, "N = 256": {"f32": 128, "f16": 64}}, "Registers"),
        "table": table(
            {"a": ["kept", "lost"], "b": ["", "two\nlines"]}, ["x", "y"], "T", shades={"lost": 0.5}
        ),
    }


#: Of a kind that is there already, at another size.
MORE = (
    "D wgmma",
    "D wgmma n256",
    "E wgmma",
    "A wgmma, one warp",
    "values D wgmma, one warp",
    "C s4",
    "lane b1",
    "tensor memory SFB",
)


def shown() -> list[Any]:
    return [picture for name, picture in pictures().items() if EXHAUSTIVE or name not in MORE]


def some_shown(step: int) -> Callable[[], Sequence[Any]]:
    """One in so many of them, where a picture takes long."""
    return lambda: one_in(step, shown())


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a notebook is given to show."""
    display, renderers = pytest.importorskip("IPython.display"), pytest.importorskip("plotly.io").renderers
    monkeypatch.setattr(renderers, "default", "plotly_mimetype")
    shown: list[Any] = []
    monkeypatch.setattr(display, "display", lambda *what, **_: shown.extend(what))
    return shown


#: Hues of the bits of a trace; what is lost or rounded off is grey.
ROLES = {
    "kept": "sky",
    "lost": "grey",
    "rounded": "grey",
    "sum": "orange",
    "result": "green",
    "exponent": "yellow",
    "odd": "purple",
}


NO_LANE = "#EFEFEF"  # a cell that belongs to no lane, or to one that is not read


def labels(picture: views.Picture) -> list[str]:
    """The texts of the cells as they are drawn; the bits of a float are written field by field."""
    texts: list[str] = []
    for cell in (cell for panel in picture.drawing().panels for cell in panel.grid.cells):
        bits = [field.text for field in cell.fields if field.text]
        for line in filter(None, cell.lines):
            texts += bits if bits and line == " ".join(bits) else [line]
    return texts


def title_lines(picture: views.Picture) -> list[str]:
    """The lines of the title; a long one is broken."""
    return [word.text for word in picture.drawing().words if word.role == "title"]


@each("picture", some_shown(4), ids=lambda picture: picture.title)
@pytest.mark.slow
def test_plotly_gets_the_colours_hover_texts_and_labels_of_the_picture(picture: views.Picture) -> None:
    figure = figures.chart(picture)
    heat = [trace for trace in figure.data if trace.type == "heatmap"]
    bands = [panel.grid for panel in picture.drawing().panels]
    assert len(heat) == len(bands) >= len(picture.grids)
    tints = {tint_fill(tint) for tint in picture.drawing().tints}
    assert len(figure.data) <= len(heat) + 4 + len(tints)
    assert not figure.layout.shapes
    for grid, trace in zip(bands, heat, strict=True):
        shown = [colour for _, colour in trace.colorscale][::2]
        for cell in grid.cells:
            colour = shown[int(trace.z[cell.row][cell.column])]
            if cell.role:
                hue = dict(palette.HUES).get(ROLES.get(cell.role, ""), palette.PAPER)
                assert colour in [palette.mix(hue, strength) for strength in (0.62, 0.34, 0.16)]
            elif cell.heat is not None:
                hue = dict(palette.HUES)["vermilion" if cell.heat > 0 else "blue"]
                assert colour == palette.mix(hue, 0.82 * round(16 * abs(cell.heat)) / 16)
            elif cell.state != "dim":
                assert colour == (NO_LANE if cell.lane is None else palette.LANES[cell.lane % 32])
        assert [str(text).replace("<br>", "\n") for text in np.ravel(trace.text)] == list(grid.hover.ravel())
        assert len(trace.x) == grid.shape[1] + 1
        assert len(trace.y) == grid.shape[0] + 1
    words = [text.removeprefix("<b>").removesuffix("</b>") for text in figure.data[-1].text]
    assert "".join(words[: len(title_lines(picture))]) == picture.title
    assert sorted(set(labels(picture))) == sorted(set(words) & set(labels(picture)))


@each("picture", shown, ids=lambda picture: picture.title)
@pytest.mark.slow
def test_labels_fit_their_cells_and_the_picture_a_page(picture: views.Picture) -> None:
    drawing = picture.drawing()
    # 53 bits and a margin cannot be folded.
    assert drawing.width <= (1000 if picture is pictures()["trace f64"] else 848)
    assert all(word.size >= 11 for word in drawing.words)
    for panel in drawing.panels:
        for cell in panel.grid.cells:
            _, _, width, height = panel.box(cell)
            assert all(len(line) * panel.size * 0.6 < width for line in cell.lines)
            assert len(cell.lines) * panel.size < height
        assert panel.x[-1] <= drawing.width
        assert panel.y[-1] <= drawing.height
    for word in drawing.words:
        wide = (
            len(word.text)
            * word.size
            * (0.6 if word.mono else 0.55)
            * {"start": 1, "middle": 0.5, "end": 0}[word.anchor]
        )
        assert 0 <= word.x <= word.x + wide <= drawing.width, word.text
        assert 0 <= word.y <= drawing.height


@each("picture", shown, ids=lambda picture: picture.title)
@pytest.mark.slow
def test_every_place_note_and_column_is_drawn_once(picture: views.Picture) -> None:
    """Cells tile their grids, the notes are written whole, and a folded grid has its columns in order."""
    words, panels = picture.drawing().words, iter(picture.drawing().panels)
    assert "".join(title_lines(picture)) == picture.title
    lines = [word.text for word in words if word.role == "note"]
    assert " ".join(lines).replace(";", "").split() == picture.subtitle.replace(";", "").split()
    for grid in (*picture.grids, *picture.keys):
        covered = np.zeros(grid.hover.shape, dtype=int)
        for cell in grid.cells:
            covered[cell.row : cell.row + cell.height, cell.column : cell.column + cell.width] += 1
        assert grid.shape == grid.hover.shape and (covered == 1).all()
        bands = []
        while sum(band.shape[1] for band in bands) < grid.shape[1]:
            bands.append(next(panels).grid)
        assert (np.concatenate([band.hover for band in bands], axis=1) == grid.hover).all()
        assert [head.text for band in bands for head in band.columns] == [head.text for head in grid.columns]
        assert all(band.rows == grid.rows for band in bands)
    assert next(panels, None) is None


# -- warps -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [8, 256])
@pytest.mark.parametrize("name", ["A", "C", "D"])
@pytest.mark.slow
def test_a_warpgroups_operand_names_the_warp_and_the_threads_of_its_rows(n: int, name: str) -> None:
    """Beside the rows of each warp stands who holds them, as the layout says; svg and Plotly write it."""
    ins = ptxlab.instruction(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16")
    operand = ins.operand(name)
    assert operand.layout is not None
    lane_of = {
        (int(row), int(column)): lane
        for lane, elements in enumerate(operand.layout.coords())
        for row, column in elements
    }
    picture = views.fragment(ins, name)
    (grid,) = picture.grids
    assert [head.lines[0] for head in grid.row_groups] == [f"warp {warp}" for warp in range(4)]
    texts = [word.text for word in picture.drawing().words]
    written = figures.fragment(ins, name).data[-1].text
    for head in grid.row_groups:
        rows = range(head.start, head.start + head.size)
        held = {lane for (row, _), lane in lane_of.items() if row in rows}
        assert head.lines[1] == f"threads {min(held)}..{max(held)}" and len(held) == 32
        assert set(head.lines) <= set(texts)
        assert set(head.lines) <= set(written)
    if not grid.labelled:
        assert "row m: lanes 4 (m % 8) to 4 (m % 8) + 3 of its warp" in picture.notes
        assert all(lane % 32 // 4 == row % 8 for (row, _), lane in lane_of.items())


def test_warps_are_named_left_of_the_rows_and_touch_nothing() -> None:
    for picture in (pictures()["D wgmma"], pictures()["D wgmma, folded"], pictures()["E wgmma"]):
        drawing = picture.drawing()
        for panel in drawing.panels:
            rows = {head.text for head in panel.grid.rows}
            x0, y0, y1 = float(panel.x[0]), float(panel.y[0]), float(panel.y[-1])
            beside = [word for word in drawing.words if word.role == "header" and y0 <= word.y <= y1]
            inner = min(w.x - 0.62 * w.size * len(w.text) for w in beside if w.text in rows and w.x < x0)
            warps = [word for word in beside if word.text.startswith(("warp", "threads"))]
            assert len(warps) == 8
            assert all(word.x - 0.62 * word.size * len(word.text) >= 0 for word in warps)
            assert all(word.x < inner for word in warps)
    (grid,) = views.fragment(WGMMA, "D", warp=2).grids
    assert not grid.row_groups  # a note names the only one
    assert not views.fragment(S4, "A").grids[0].row_groups
    values = views.values(WGMMA, "D", np.zeros((64, 24))).grids[0]
    assert [head.text for head in values.row_groups] == [
        head.text for head in pictures()["D wgmma"].grids[0].row_groups
    ]


# -- titles ----------------------------------------------------------------------------------------------


@each("picture", some_shown(12), ids=lambda picture: picture.title)
def test_pictures_without_title_show_their_grids_alone(picture: views.Picture, tmp_path: Path) -> None:
    plain = picture.with_title(False)
    whole, bare = picture.drawing(), plain.drawing()
    assert {word.role for word in bare.words}.isdisjoint({"title", "note"})
    assert Counter(word.text for word in bare.words) == Counter(
        word.text for word in whole.words if word.role not in ("title", "note")
    )
    assert bare.height < whole.height and bare.width <= whole.width
    assert 0 <= min(word.y - word.size / 2 for word in bare.words) < 40  # a line of column heads may be empty
    document = figures.svg(picture, title=False)
    texts = [text.text for text in ET.fromstring(document).iter("{http://www.w3.org/2000/svg}text")]
    assert not {picture.title, picture.subtitle, *picture.notes} & set(texts)
    figure = figures.chart(picture, title=False)
    assert figure.layout.height == bare.height
    assert not {f"<b>{picture.title}</b>", *picture.notes} & set(figure.data[-1].text)
    assert figures.save(figure, tmp_path / "x.svg").read_text(encoding="utf-8") == document


@pytest.mark.slow
def test_every_figure_can_go_without_its_title() -> None:
    trace = F16.trace(np.ones((16, 16)), np.ones((16, 8)), None, 3, 4)
    others = tuple(
        f"figures.{name}" for name in ("svg", "save", "matrix", "throughput", "roofline", "timeline")
    )
    drawn = [call.make() for call in figure_calls() if call.name.startswith("figures.")
             and not call.name.startswith(others)]  # fmt: skip  # they have no such title
    drawn += [(F16.figure, {"what": what}) for what in ("product", "A", "B", "C", "D", "lane")]
    drawn += [(trace.figure, {}), (TCGEN05.figure, {"what": "descriptor"})]
    drawn += [(F16.explore().figure, {"what": "D"})]
    for function, arguments in drawn:
        whole, bare = (call_with(function, arguments | {"title": title}) for title in (True, False))
        title = whole.layout.meta["title"]
        start = f"<b>{title[:40]}"  # a long one has two lines
        has_title = [any(start in text for text in figure.data[-1].text) for figure in (whole, bare)]
        assert has_title == [True, False]
        assert bare.layout.height < whole.layout.height
    for call in figure_calls():
        if call.name.startswith(("figures.roofline", "figures.timeline")):
            function, arguments = call.make()
            whole, bare = (call_with(function, arguments | {"title": title}) for title in (True, False))
            assert whole.layout.title.text and not bare.layout.title.text
    whole, bare = figures.matrix(np.eye(3), "D"), figures.matrix(np.eye(3), title=False)
    assert whole.layout.title.text == "<b>D</b>" and not bare.layout.title.text
    assert bare.layout.height < whole.layout.height
    refuses("title", figures.fragment, F16, "C", title="mine")


def test_what_is_wide_is_folded_below_one_another() -> None:
    first, second = pictures()["D wgmma, folded"].drawing().panels
    assert first.y[-1] < second.y[0]
    assert first.grid.shape[1] + second.grid.shape[1] == 24
    high, low = pictures()["lane b1"].drawing().panels  # the two halves of a register of 32 elements
    assert high.grid.shape[1] == low.grid.shape[1] == 16
    (whole,) = pictures()["A s4"].drawing().panels  # two lines in each cell rather than small ones
    assert whole.grid.at(9, 37).lines == ("T4:", "{a24..a31}")


def test_no_part_of_what_is_folded_is_a_sliver() -> None:
    """The bits of a trace that is a little too wide are not cut off behind their signs."""
    ins = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16", n=8)
    scales = {"scale_a": np.full((128, 4), 64), "scale_b": np.full((4, 8), 128)}
    trace = ins.trace(np.full((128, 64), 0.5), np.ones((64, 8)), None, 0, 0, **scales)
    assert [panel.grid.shape[1] for panel in views.trace(trace).drawing().panels] == [42, 32]


@each("picture", shown, ids=lambda picture: picture.title)
@pytest.mark.slow
def test_svg_is_well_formed_and_says_the_same(picture: views.Picture) -> None:
    root = ET.fromstring(figures.svg(picture))
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in root.iter(f"{space}text")]
    assert all(texts.count(line) == 1 for line in title_lines(picture))
    assert Counter(labels(picture)) <= Counter(texts)
    titles = [title.text for title in root.iter(f"{space}title")]
    assert titles[0] == picture.title
    assert Counter(titles[1:]) == Counter(
        grid.hover[cell.row, cell.column]
        for grid in (*picture.grids, *picture.keys)
        for cell in grid.cells
        if cell.role != "blank"
    )


def test_the_bits_of_a_trace_can_be_read_on_their_colours() -> None:
    cells = [
        cell
        for name, picture in pictures().items()
        if name.startswith("trace")
        for grid in picture.grids
        for cell in grid.cells
    ]
    roles = {"sign", "kept", "lost", "sum", "rounded", "result", "exact", "other", "exponent", "blank"}
    assert {cell.role for cell in cells} >= roles
    assert min(palette.contrast(ink(cell), fill(cell)) for cell in cells) >= 4.5


def test_the_cut_is_a_line_that_svg_and_plotly_draw() -> None:
    picture = pictures()["trace f16"]
    (panel, *_), grid = picture.drawing().panels, picture.grids[0]
    (at, first, stop), *_ = grid.column_rules
    x, top, bottom = (float(edge) for edge in (panel.x[at], panel.y[first], panel.y[stop]))
    assert f'd="M{x:g} {top:g}V{bottom:g}"' in figures.svg(picture)
    lines = [
        trace for trace in figures.chart(picture).data if trace.type == "scatter" and trace.mode == "lines"
    ]
    assert any({(x, top), (x, bottom)} <= set(zip(line.x, line.y, strict=True)) for line in lines)


def test_public_figures() -> None:
    trace = F16.trace(np.ones((16, 16)), np.ones((16, 8)), None, 3, 4)
    assert trace.figure().layout.meta == figures.trace(trace).layout.meta
    assert figures.fragment(S4, "B").layout.meta["title"] == f"B of {S4.mnemonic}"
    assert figures.metadata(SP_S4, selector=1).layout.meta["subtitle"].endswith("selector 1")
    assert "warp 2: threads 64..95, rows 32..47" in figures.metadata(WGMMA, warp=2).layout.meta["subtitle"]
    assert np.shape(figures.fragment(WGMMA, "A", warp=2).data[0].z) == (16, 32)
    assert figures.lane(S4, "A", 3).layout.meta["title"].startswith("A in lane 3")
    assert figures.scales(SCALED, thread_id_b=2).data[2].name.endswith("thread-id 2")


@pytest.mark.parametrize(
    ("shape", "lettered"), [((16, 8), True), ((16, 24), True), ((16, 64), False), ((64, 256), False)]
)
def test_a_matrix_without_an_instruction_is_drawn(
    shape: tuple[int, int], lettered: bool, rng: np.random.Generator
) -> None:
    values = rng.integers(-9, 9, shape)
    figure = figures.matrix(values, "D")
    assert figure.layout.width <= 1000
    (trace,) = figure.data
    assert (np.asarray(trace.z) == values).all()
    assert (trace.texttemplate is not None) == lettered
    assert trace.zmid == 0
    assert figures.matrix(np.abs(values)).data[0].zmid is None
    refuses("it takes numbers", figures.matrix, values[0])


@pytest.mark.parametrize(
    "make", [lambda: figures.fragment(S4, "C"), lambda: figures.matrix([[1, -2]])], ids=["fragment", "matrix"]
)
def test_a_notebook_gets_a_style_for_dark_themes_that_touches_no_other_figure(
    make: Any, displayed: list[Any]
) -> None:
    """The style asks for a class that Plotly makes of a trace's `uid`; only what is shown has it."""
    figure = make()
    figure._ipython_display_()
    (own,) = set(re.findall(r":has\(\.trace(\w+)\)", displayed[0].data))
    shown = displayed[1]["application/vnd.plotly.v1+json"]
    assert [trace["uid"] for trace in shown["data"] if trace.get("uid")] == [own]
    assert not any(trace.uid for trace in figure.data)


def test_html_is_one_file_that_works_offline(tmp_path: Path) -> None:
    path = figures.save(figures.fragment(S4, "C"), tmp_path / "c.html")
    text = path.read_text(encoding="utf-8")
    assert "T31:{c2,c3}" in text
    assert len(text) > 1_000_000
    assert "<script src=" not in text.replace("'", '"')


def test_svg_of_a_figure_is_our_own_unless_the_figure_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture, figure = views.fragment(S4, "C"), figures.fragment(S4, "C")
    for what in (picture, figure):
        assert figures.save(what, tmp_path / "c.svg").read_text(encoding="utf-8") == figures.svg(picture)
    written = []
    monkeypatch.setattr(
        type(figure), "write_image", lambda self, to, scale: written.append((self, to.name, scale))
    )
    figure.update_layout(paper_bgcolor="black")
    figures.save(figure, tmp_path / "c.svg")
    figures.save(figures.matrix([[1, 2]]), tmp_path / "d.png")
    assert written[0] == (figure, "c.svg", 1) and written[1][1:] == ("d.png", 2)


def test_save_says_what_is_wrong(tmp_path: Path) -> None:
    figure = figures.fragment(S4, "C")
    with pytest.raises(PtxlabError, match=r"written as \.html, \.svg, \.png, \.pdf, found '\.gif'"):
        figures.save(figure, tmp_path / "c.gif")
    refuses("does not exist", figures.save, figure, tmp_path / "none" / "c.svg")

    class Broken:
        def write_image(self, *args: object, **options: object) -> None:
            raise RuntimeError("Chrome not found\nand more")

    with pytest.raises(
        PtxlabError, match=r"c\.png could not be written \(Chrome not found\); it needs kaleido"
    ):
        figures.save(Broken(), tmp_path / "c.png")


def test_a_browser_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kaleido waits for ever for one that died while it was starting."""
    go_on = threading.Event()

    class Silent:
        def write_image(self, *args: object, **options: object) -> None:
            go_on.wait()

    monkeypatch.setattr(figures, "_PATIENCE", 0.05)
    with pytest.raises(PtxlabError, match=r"c\.png could not be written: the browser did not answer"):
        figures.save(Silent(), tmp_path / "c.png")
    go_on.set()
    assert list(tmp_path.iterdir()) == []


def test_without_plotly_a_sentence_and_the_svg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    refuses(r'figures need plotly.*pip install "ptxlab\[lab\]"', figures.fragment, S4, "A")
    assert figures.svg(views.fragment(S4, "A")).startswith("<svg")


def test_charts_and_timelines_are_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`svg`, `chart` and `save` take them as well, and SVG needs no Plotly."""
    source = 'extern "C" __global__ void f(float* x) { x[threadIdx.x] = x[threadIdx.x] * 2 + 1; }'
    profile = ptxlab.kernel(source).profile(1, 64, np.ones(64, np.float32))
    pictures = views.roofline(profile), views.timeline(profile)
    for picture in pictures:
        assert figures.chart(picture, title=False) == picture.with_title(False).figure()
        page = figures.save(picture, tmp_path / "x.html").read_text(encoding="utf-8")
        assert picture.title.split("/")[0] in page and "plotly" in page
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    for picture in pictures:
        assert picture.title in figures.svg(picture)
        assert figures.svg(picture, title=False) == picture.with_title(False).svg() != picture.svg()
        assert figures.save(picture, tmp_path / "x.svg").read_text(encoding="utf-8") == picture.svg()
        refuses("figures need plotly", figures.save, picture, tmp_path / "x.html")


@each("module", [figures, ptxlab.inputs, ptxlab.sparsity])
def test_a_list_of_names_has_no_imports(module: ModuleType) -> None:
    """What completion offers behind `ptxlab.figures.`."""
    assert dir(module) == sorted(module.__all__)


# -- bits of floats --------------------------------------------------------------------------------------

#: Sign and exponent as the Explorer's style sheet tints them, on paper.
EXPLORER = {"sign": ("#0072B2", 0.55), "exponent": ("#E69F00", 0.55), "fraction": (palette.PAPER, 1.0)}


@pytest.mark.parametrize("name", ["f16", "bf16", "tf32", "e4m3", "e5m2", "f64"])
def test_sign_and_exponent_of_floats_are_tinted_as_in_the_explorer(name: str) -> None:
    """With registers, the bits stand on their tints; without, a strip has each field below its own bits."""
    ins = next(ins for ins in mma_instructions("mma") if str(ins.a.dtype) == name and not ins.sparse)
    number, op = ins.a.dtype, ins.a
    rng = np.random.default_rng(5)
    registers = rng.integers(0, 1 << 16, (op.lanes, op.registers), dtype=np.uint64).astype(op.register_type)
    drawing = views.lane(ins, "A", 3, registers).drawing()
    held = list(op.holds(3))
    widths = {"sign": 1, "exponent": number.exponent_bits, "fraction": number.fraction_bits}
    for field, bits in widths.items():
        words = [word for word in drawing.words if word.field == field]
        tints = [tint for tint in drawing.tints if tint.field == field and not tint.strong]
        assert len(words) == len(tints) == len(held)
        for word, tint in zip(words, tints, strict=True):
            left, top, width, height = tint.box
            assert set(word.text) <= {"0", "1"} and len(word.text) == bits
            assert left < word.x < left + width and top < word.y < top + height
            assert width > 0.6 * word.size * bits
            assert tint_fill(tint) == palette.mix(*EXPLORER[field])
    document = views.lane(ins, "A", 3, registers).svg()
    traces = figures.lane(ins, "A", 3, registers).data
    filled = {trace.fillcolor for trace in traces if trace.type == "scatter" and trace.fill}
    for field in ("sign", "exponent"):
        assert f'fill="{palette.mix(*EXPLORER[field])}" pointer-events="none"' in document
        assert palette.mix(*EXPLORER[field]) in filled
    empty = views.lane(ins, "A", 3)
    assert "blue: sign bit, orange: exponent, the rest: fraction" in empty.notes
    panels = empty.drawing()
    (panel,) = panels.panels
    pitch = float(panel.x[1] - panel.x[0])
    strips = [tint for tint in panels.tints if tint.field == "exponent"]
    for place, strip in zip((place for place, _, _ in held), strips, strict=True):
        high = op.register_bits - place.high  # the column after the sign
        assert strip.box[0] == pytest.approx(float(panel.x[high]))
        assert strip.box[2] == pytest.approx(pitch * number.exponent_bits)
        assert panel.y[place.register] < strip.box[1] < panel.y[place.register + 1]


def test_bits_of_integers_are_not_tinted_and_every_tint_has_the_hue_of_the_explorer() -> None:
    for name in ("lane", "lane b1", "all of a lane"):
        assert not pictures()[name].drawing().tints
        assert not any("exponent" in note for note in pictures()[name].notes)
    sheet = (Path(ptxlab.__file__).parent / "explorer" / "front" / "styles" / "panel.css").read_text(
        encoding="utf-8"
    )
    for role in ("sign", "exponent"):
        colour, part = EXPLORER[role]
        hue = next(name for name, value in palette.HUES.items() if value == colour)
        rule = (
            rf"\.ptx-bit\.{role} \{{\s*background: color-mix\(in srgb, var\(--ptx-{hue}\) {100 * part:.0f}%"
        )
        assert re.search(rule, sheet), role


@THEMES
@pytest.mark.parametrize("strong", [False, True], ids=["bits", "strip"])
def test_tints_can_be_read_and_told_apart(theme: palette.Theme, strong: bool) -> None:
    fills = {
        field: tint_fill(Tint((0, 0, 1, 1), field, strong), theme)
        for field in ("sign", "exponent", "fraction")
    }
    for sight in SIGHT:
        seen = [lab(colour, sight) for colour in fills.values()]
        closest = min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))
        assert closest > 3 * JUST_NOTICEABLE, sight
    if not strong:
        assert min(palette.contrast(theme.ink, colour) for colour in fills.values()) >= 4.5
        assert palette.contrast(theme.dim, theme.paper) >= 4.5


# -- dark pages ------------------------------------------------------------------------------------------


@each("picture", shown, ids=lambda picture: picture.title)
@pytest.mark.slow
def test_every_label_can_be_read_in_the_dark(picture: views.Picture) -> None:
    """4.5 to 1 (WCAG 2, level AA), on cells and on the darkest and lightest of dark pages."""
    for word in picture.drawing().words:
        colour = word_colour(word, palette.DARK)
        backgrounds = ["#111111", palette.DARK.paper, "#383838"]  # JupyterLab's, the Explorer's, Colab's
        if word.on is not None and paint(word.on, palette.DARK)[1]:
            backgrounds = [fill(word.on, palette.DARK)]
        assert min(palette.contrast(colour, background) for background in backgrounds) >= 4.5, word.text


def test_lanes_have_the_colours_of_the_explorer_in_the_dark() -> None:
    colours = F16.explore().view.instruction["colours"]
    for theme, pairs in ((palette.LIGHT, colours["light"]), (palette.DARK, colours["dark"])):
        assert [background for background, _ in pairs] == list(theme.lanes)
    faint = [palette.contrast(*pair) for pair in colours["dark"] if pair[1] == "#000000"]
    assert faint and min(faint) >= 6  # black on a dark page looks fainter than it measures


@each("picture", some_shown(6), ids=lambda picture: picture.title)
def test_a_notebook_gets_each_picture_in_both_themes(picture: views.Picture) -> None:
    """SVG: every colour of a cell has a class, and the style sheet has its dark colour."""
    page = picture._repr_html_()
    root = ET.fromstring(page)
    space = "{http://www.w3.org/2000/svg}"
    (sheet,) = [node.text or "" for node in root.iter(f"{space}style")]
    rules = dict(re.findall(r"svg \.(ptxlab-dark-\w+) \{ fill: (#\w+); \}", sheet))
    assert rules and '[data-jp-theme-light="false"]' in sheet
    used = {node.get("class") for node in root.iter() if node.get("class")}
    assert used == set(rules)
    cells = [
        cell
        for grid in picture.grids
        for cell in grid.cells
        if cell.lane is not None and cell.state == "plain"
    ]
    assert {fill(cell, palette.DARK) for cell in cells} <= set(rules.values())
    assert "<style>" not in picture.svg()


@each("picture", some_shown(6), ids=lambda picture: picture.title)
def test_a_static_picture_has_the_colours_and_words_of_the_picture(picture: views.Picture) -> None:
    """One pixel of a PNG for every place of a grid; every word is in it, some letter by letter."""
    drawing = picture.drawing()
    root = ET.fromstring(static_svg(drawing))
    space = "{http://www.w3.org/2000/svg}"
    images = [image.attrib for image in root.iter(f"{space}image")]
    for panel, image in zip(drawing.panels, images, strict=True):
        file = base64.b64decode(image["href"].split(",")[1])
        start, size = file.index(b"PLTE"), struct.unpack(">II", file[16:24])
        colours = file[start + 4 : file.index(b"IDAT") - 8]
        lines = zlib.decompress(file[file.index(b"IDAT") + 4 : -16])
        assert size == panel.grid.shape[::-1]
        for cell in panel.grid.cells:
            number = lines[cell.row * (size[0] + 1) + 1 + cell.column]
            expected = "#FFFFFF" if cell.role == "blank" else fill(cell)
            assert colours[3 * number : 3 * number + 3].hex() == expected[1:].lower()
    drawn = Counter("".join(root.itertext()))
    assert drawn == Counter("".join(word.text for word in drawing.words))


def test_a_notebook_gets_each_figure_in_both_themes(displayed: list[Any]) -> None:
    """Plotly: light traces before the marker, dark and unseen ones after it; heat maps in turn."""
    figure = figures.fragment(F16, "C", lane=5)
    figure._ipython_display_()
    traces = displayed[1]["application/vnd.plotly.v1+json"]["data"]
    light, dark = [trace for trace in traces if trace["type"] == "heatmap"]
    assert "opacity" not in light and dark["opacity"] == 0
    assert {colour for _, colour in dark["colorscale"]} == {
        fill(cell, palette.DARK) for cell in views.fragment(F16, "C", lane=5).grids[0].cells
    }
    lines = [trace for trace in traces if trace["type"] == "scatter"]
    (marker,) = [i for i, trace in enumerate(lines) if trace.get("uid")]
    assert len(lines) == 2 * marker + 1
    assert not any("opacity" in trace for trace in lines[:marker])
    assert all(trace["opacity"] == 0 and trace["hoverinfo"] == "skip" for trace in lines[marker + 1 :])
    assert lines[-1]["text"] == lines[marker - 1]["text"]
    figure.update_layout(paper_bgcolor="black")  # a figure that was changed has only its own colours
    figure._ipython_display_()
    assert len(displayed[3]["application/vnd.plotly.v1+json"]["data"]) == len(figure.data) + 1
    assert "invert" in displayed[2].data and "invert" not in displayed[0].data


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: figures.fragment(F16, "C"), "T31:{c2,c3}"),
        (lambda: figures.matrix([[1.25, -200], [np.nan, 4]], "D"), "-200"),
        (lambda: figures.matrix(np.arange(96 * 64).reshape(96, 64)), "16..31"),
        (lambda: figures.throughput(), "Throughput of wgmma"),
    ],
    ids=["fragment", "matrix", "heat map", "lines"],
)
def test_a_figure_leaves_an_image_in_the_notebook(make: Any, words: str, displayed: list[Any]) -> None:
    """For GitHub and others that do not draw Plotly's figures; there is none of a changed one."""
    figure = make()
    figure._ipython_display_()
    bundle = displayed[1]
    assert (
        set(bundle) == {"application/vnd.plotly.v1+json", "text/html"} and len(bundle["text/html"]) < 60_000
    )
    svg = base64.b64decode(bundle["text/html"].split(";base64,")[1].rstrip('">')).decode()
    assert words in "".join(ET.fromstring(svg).itertext())
    figure.update_layout(paper_bgcolor="black")
    figure._ipython_display_()
    assert "text/html" not in displayed[3]


@pytest.mark.parametrize("values", [[[1, -2], [3, 4]], [[1, 2], [3, 4]]], ids=["centred", "positive"])
def test_a_matrix_of_numbers_is_drawn_in_both_themes(values: list[list[int]], displayed: list[Any]) -> None:
    """Numbers can be read on every colour of the dark scale, which lies unseen below the light one."""
    figure = figures.matrix(values, "D")
    figure._ipython_display_()
    dark, light, _ = displayed[1]["application/vnd.plotly.v1+json"]["data"]
    assert dark["opacity"] == 0 and dark["hoverinfo"] == "skip" and "opacity" not in light
    assert not dark["colorbar"]["showticklabels"] and "texttemplate" not in dark
    colours = [colour for _, colour in dark["colorscale"]]
    assert min(palette.contrast(palette.DARK.ink, colour) for colour in colours) >= 4.5
    assert not set(colours) & {colour for _, colour in light["colorscale"]}
    figure.update_traces(zmax=9)
    figure._ipython_display_()
    assert "invert" in displayed[2].data and "invert" not in displayed[0].data


# -- colours ---------------------------------------------------------------------------------------------

#: Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
SIGHT = {
    "full": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


#: Difference in CIE L*a*b* that people just see (Mahy et al. 1994). The closest pair, 3.0, is yellow's two
#: strongest shades under tritanopia.
JUST_NOTICEABLE = 2.3


def lab(colour: str, sight: str) -> np.ndarray:
    """CIE L*a*b* of a colour as it is seen."""
    value = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.asarray(SIGHT[sight]) @ linear, 0, 1)
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    x = to_xyz @ seen / np.array([0.95047, 1, 1.08883])
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@THEMES
@pytest.mark.parametrize("sight", SIGHT)
def test_neighbouring_groups_and_shades_can_be_told_apart(sight: str, theme: palette.Theme) -> None:
    assert len(set(theme.lanes)) == 32
    seen = [lab(colour, sight) for colour in theme.lanes]
    for lane in range(32):
        below = (lane + 4) % 32
        assert np.linalg.norm(seen[lane] - seen[below]) > 5 * JUST_NOTICEABLE, f"lanes {lane} and {below}"
        if lane % 4 < 3:
            beside = np.linalg.norm(seen[lane] - seen[lane + 1])
            assert beside > JUST_NOTICEABLE, f"lanes {lane} and {lane + 1}"


@pytest.mark.parametrize("sight", SIGHT)
def test_what_warps_wait_for_can_be_told_apart(sight: str) -> None:
    """Waits with something to do about them; "not selected", "start" and "drain" cost nothing."""
    costly = [
        colour for name, colour in palette.STALLS.items() if name not in ("not selected", "start", "drain")
    ]
    seen = [lab(colour, sight) for colour in costly]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 4 * JUST_NOTICEABLE


@THEMES
@pytest.mark.parametrize("sight", SIGHT)
def test_signs_and_sizes_of_a_map_of_values_can_be_told_apart(sight: str, theme: palette.Theme) -> None:
    seen = [lab(fill(views.Cell(0, 0, 1, 1, (), heat=i / 16), theme), sight) for i in range(-16, 17)]
    if theme is palette.LIGHT:
        pairs = itertools.combinations((seen[8], seen[16], seen[24]), 2)  # -0.5, 0 and 0.5
        assert min(np.linalg.norm(a - b) for a, b in pairs) > 5 * JUST_NOTICEABLE
    # also in grey: the darker the larger, on a dark page the lighter
    grows = np.diff([colour[0] for colour in seen]) * (1 if theme is palette.LIGHT else -1)
    assert (grows[:16] > 0).all() and (grows[16:] < 0).all()


def test_text_is_readable_on_every_colour() -> None:
    heats = [fill(views.Cell(0, 0, 1, 1, (), heat=i / 16)) for i in range(-16, 17)]
    for colour in (*palette.LANES, *heats, NO_LANE, palette.PAPER):
        assert palette.contrast(palette.LIGHT.text_on(colour), colour) >= 4.5
    assert palette.contrast(palette.DIM, NO_LANE) >= 4.5
    assert palette.contrast("#000000", "#FFFFFF") == pytest.approx(21)


@pytest.mark.parametrize("name", STRUCTURES)
def test_arrows_of_a_nibble_lead_where_expand_puts_the_stored_elements(name: str) -> None:
    """The columns that the arrows reach are those of `Structure.positions`, in the order they are stored."""
    structure = STRUCTURES[name]
    for code in structure.unordered:
        picture = views.nibble(code, name, chunk=1)
        kept = structure.positions([[code, code]], ordered=False)
        reached = [arrow.end.lines[1] for arrow in picture.arrows[:2]]
        stored = [arrow.end.lines[1] for arrow in picture.arrows[2:]]
        assert reached == stored
        columns = [column for text in reached for column in _columns_of(text)]
        assert list(dict.fromkeys(columns)) == kept[0, structure.chunk // 2 :].tolist()
        (panel,) = picture.drawing().panels
        for arrow, points in zip(picture.arrows, picture.drawing().arrows, strict=True):
            (x0, y0), (x1, y1) = points[:2]
            left, top, width, height = panel.box(arrow.start)
            assert (x0, y0) == (left + width / 2, top + height + 3)
            left, top, width, _ = panel.box(arrow.end)
            assert (x1, y1) == (left + width / 2, top - 3)
        assert picture.svg().count("<polyline") == 4
    refuses("nibble 0 names no two parts", views.nibble, 0, name)
    refuses("there is no structure '3:4'", views.nibble, 4, "3:4")


def _columns_of(text: str) -> list[int]:
    """The columns that "columns 10..11" or "column 3, low" name."""
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    return list(range(numbers[0], numbers[-1] + 1))


def test_runs_are_as_long_as_a_register_has_room() -> None:
    names = (
        "mma.m16n8k256.b1.and",
        "mma.m16n8k64.s4",
        "mma.m16n8k32.s8",
        "mma.m16n8k16.f32.f16",
        "mma.m16n8k8.tf32",
    )
    (grid,) = views.runs(*names).grids
    for row, bits in enumerate((1, 4, 8, 16, 32)):
        cells = [cell for cell in grid.cells if cell.row == row and cell.role != "blank"]
        assert {cell.width for cell in cells} == {32 // bits}
        assert [cell.lane for cell in cells] == [place % 4 for place in range(len(cells))]
    refuses("found 0 instructions", views.runs)
    refuses("no B in lanes .* figures.fragment draws B in shared memory", views.runs, WGMMA, operand="B")


def test_bit_fields_of_every_element_type() -> None:
    """Sign, exponent, fraction and ignored bits of a type fill its bits, the lowest at the right."""
    (grid,) = views.formats(*DTYPES).grids
    for row, number in enumerate(DTYPES.values()):
        cells = [cell for cell in grid.cells if cell.row == row and cell.role != "blank"]
        assert sum(cell.width for cell in cells) == number.bits
        assert cells[-1].column + cells[-1].width == 64
        widths = {cell.role: cell.width for cell in cells}
        if number.is_float:
            assert widths.get("exponent field", 0) == number.exponent_bits
            assert widths.get("exact", 0) == number.fraction_bits
        assert (cells[0].role == "sign field") == number.signed
    shown = {cell.role: fill(cell) for cell in grid.cells}
    for field in ("sign", "exponent"):  # in the colours of the bits in a register
        assert shown[f"{field} field"] == palette.mix(*EXPLORER[field])
    assert grid.hover[list(DTYPES).index("e5m2"), 64 - 7] == "e5m2 bit 6\nexponent, 5 bits, bias 15"
    refuses("name at least one element type", figures.formats)
    refuses("unknown element type 'f17'", figures.formats, "f16", "f17")


@pytest.mark.slow
def test_figures_take_names() -> None:
    name = "mma.sp.m16n8k32.f32.f16"
    ins = ptxlab.instruction(name)
    for draw in (figures.fragment, figures.metadata, figures.product, figures.figure):
        assert draw(name).to_json() == draw(ins).to_json()
    assert figures.lane(name, "A", 3).to_json() == figures.lane(ins, "A", 3).to_json()


def test_metadata_of_tcgen05_are_in_tensor_memory() -> None:
    ins = ptxlab.instruction("tcgen05.mma.sp.cta_group::1.kind::f16", n=16)
    figure = figures.metadata(ins, np.full((128, 8), 0b1110))
    assert figure.data[0].text[32, 0] == "E[32][0] = 14<br>lane 32, column 0, bits [3..0]"
    (grid,) = views.metadata(ins, np.full((128, 8), 0b1110), selector=1, warp=1).grids
    assert grid.at(3, 5).lines == ("43: [7..4]", "1110: 22,23")
    assert grid.hover[3, 5].splitlines()[1] == "lane 43, column 1, bits [7..4]"
    refuses("is dense: it has no metadata", figures.metadata, "tcgen05.mma.cta_group::1.kind::f16")


def test_colours_are_declared_in_the_palette() -> None:
    """Style sheets take theirs from `palette.css`; only black is black anywhere."""
    colour = re.compile(r"#[0-9a-fA-F]{6}\b(?!')|rgba?\([1-9]")
    package = Path(palette.__file__).parents[1]
    files = [path for kind in ("py", "js", "css") for path in package.rglob(f"*.{kind}")]
    found = {
        f"{path.relative_to(package)}: {literal}"
        for path in files
        if path.name != "palette.py"
        for literal in colour.findall(path.read_text(encoding="utf-8"))
        if literal not in ("#000000", "rgb(1")
    }
    assert len(files) > 400 and not found


def test_every_stall_has_a_colour() -> None:
    assert palette.STALLS.keys() == MEANINGS.keys()
    assert len(set(palette.STALLS.values())) == len(REASONS) == len(MEANINGS)


def test_the_picture_of_an_sm_says_what_is_declared_of_the_h200() -> None:
    card = next(card for chip in ALL_CHIPS.values() for card in chip.cards if card.name == "H200")
    texts = " ".join(cell.text for cell in views.chip().grids[0].cells)
    assert f"for all {card.sms} SMs" in texts and f"{card.l2_bytes >> 20} MB" in texts
    assert f"{card.dram / 1e12:g} TB/s" in texts and f"{ALL_CHIPS['sm_90'].shared} KB in 32 banks" in texts


def test_a_lesson_marks_parts_of_the_sm_by_name() -> None:
    with pytest.raises(PtxlabError, match=r"'wmma' is no part of the picture; there are warps, "):
        views.chip("wmma")
    marked = [cell.text for cell in views.chip("tensor cores").grids[0].cells if cell.state == "mark"]
    assert marked == ["tensor core A x B + D"] * 4
