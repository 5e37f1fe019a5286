"""Figures as PDF and PNG, which kaleido draws with Chromium."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import ptxlab
from ptxlab import figures, views
from ptxlab.views import highlight
from ptxlab.views.predicted_time import launch_html
from tools.jupyter import Book

pytestmark = pytest.mark.browser


def test_pdf_has_one_page_of_lines_and_letters_and_png_two_pixels_for_one(
    tmp_path: Path, chromium_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium_path)
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    drawing = views.fragment(ins, "C").drawing()
    page = figures.save(figures.fragment(ins, "C"), tmp_path / "c.pdf").read_bytes()
    assert (
        len(re.findall(rb"/Type /Page\b", page)) == 1
        and b"/Subtype /Image" not in page
        and b"/ToUnicode" in page
    )
    (box,) = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", page)
    assert [float(points) / 0.75 for points in box] == pytest.approx([drawing.width, drawing.height], abs=1)
    image = figures.save(views.fragment(ins, "C"), tmp_path / "c.png").read_bytes()
    assert image.startswith(b"\x89PNG") and struct.unpack(">II", image[16:24]) == (
        2 * drawing.width,
        2 * drawing.height,
    )


#: Opacity of heat maps (light and dark in turn) and of other traces, as they are seen.
SEEN = """() => {
  const figure = document.querySelector('.js-plotly-plot');
  const opacity = (node) => Number(getComputedStyle(node).opacity);
  return {
    maps: [...figure.querySelectorAll('.heatmaplayer image')].map(opacity),
    lines: [...figure.querySelectorAll('.scatterlayer .trace')].map(opacity),
  };
}"""


def test_a_timeline_answers_the_pointer(page: Any, tmp_path: Path) -> None:
    """Pointing names warp, stall, line and cycles; dragging zooms; a click lights the listed line."""
    source = """extern "C" __global__ void f(float* x) {
    float y = x[threadIdx.x];
    for (int i = 0; i < 40; i++) y = y * 2 + 1;
    x[threadIdx.x] = y;
}"""
    profile = ptxlab.kernel(source).profile(1, 64, np.ones(64, np.float32))
    picture = views.timeline(profile)
    listing, drawn = launch_html(profile), picture._repr_html_()
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{drawn}{listing}", encoding="utf-8")
    page.goto(path.as_uri())
    data = picture.hover_data()
    longest = max(data["stripes"], key=lambda stripe: stripe[2] - stripe[1])
    warp, start, end, reason, row = longest
    line = data["code"][str(row)][2]
    scale = (data["right"] - data["left"]) / (data["end"] - data["start"])
    box = page.locator(".ptx-over-time svg").first.bounding_box()

    def place(cycle: float) -> tuple[float, float]:
        down = data["top"] + (warp + 0.5) * data["height"]
        return box["x"] + data["left"] + (cycle - data["start"]) * scale, box["y"] + down

    page.mouse.move(*place((start + end) / 2))
    words = page.inner_text(".ptx-over-time-tip")
    assert words.startswith(data["reasons"][reason][0]) and f"line {line}: " in words
    assert f"warp {warp}, cycles {start:,} to {end:,}" in words
    page.mouse.click(*place((start + end) / 2))
    assert page.inner_text(".ptx-over-time .line").startswith(f"line {line}: ")
    assert page.locator(".ptx-launch .row.lit").get_attribute("data-line") == str(line)
    page.mouse.move(*place(start))
    page.mouse.down()
    page.mouse.move(*place(end))
    page.mouse.up()
    labels = page.locator(".ptx-over-time .ticks text")
    shown = [int(text.replace(",", "")) for text in labels.all_text_contents()]
    assert start - 1 <= min(shown) and max(shown) <= end + 1
    page.locator(".ptx-over-time svg").first.press("0")
    assert labels.first.text_content() == "0"


_SOURCES = '''import ptxlab
plain = """A text in Python: int i;"""  # it's no kernel
kernel = ptxlab.kernel(r"""
extern "C" __global__ void f(int* x) {  // adds
    x[threadIdx.x] += 1;
}""")
kernel'''
#: Texts in cells that have the colour of a kind of token.
COLOURED = """kind => [...CSS.highlights.get(`ptxlab-${kind}`) ?? []].map((each) => {
  const range = new Range();
  range.setStart(each.startContainer, each.startOffset);
  range.setEnd(each.endContainer, each.endOffset);
  return range.toString();
})"""


@pytest.fixture(scope="module")
def page(lab_page: Any) -> Any:
    return lab_page


@pytest.fixture(scope="module")
def book(lab: Any, page: Any) -> Book:
    opened: Book = lab.open_next(
        page,
        "figures",
        [
            "import numpy as np, ptxlab\n"
            "ins = ptxlab.instruction('mma.m16n8k16.f32.f16')\n"
            "ptxlab.figures.lane(ins, 'A', 5, ins.a.pack(np.ones((16, 16))))",
            "from ptxlab import views\n"
            "from ptxlab.course.slider import Slider\n"
            "Slider(views.nibble, '0b{:04b}'.format, nibble=[0b0100, 0b1001, 0b1110])",
            _SOURCES,
            "%load_ext ptxlab",
            "%%cuda -DSTEP=2\n__device__ int g(int i) { return i; }  // it's a cell",
        ],
    )
    return opened


def test_a_figure_in_a_dark_notebook_has_the_dark_colours(book: Book, page: Any) -> None:
    """In JupyterLab: the light traces give way to the dark ones, and pointing still tells the cell."""
    book.run(0)
    page.wait_for_selector(".js-plotly-plot .scatterlayer .trace", timeout=60_000)
    page.wait_for_selector(".js-plotly-plot .heatmaplayer image", state="attached", timeout=30_000)
    page.wait_for_function(
        "() => document.querySelectorAll('.js-plotly-plot .heatmaplayer image').length == 2"
    )
    light = page.evaluate(SEEN)
    assert light["maps"] == [1, 0]
    half = len(light["lines"]) // 2
    assert light["lines"][:half] == [1] * half and light["lines"][half + 1 :] == [0] * half
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    try:
        dark = page.evaluate(SEEN)
        assert dark["maps"] == [0, 1]
        assert dark["lines"][:half] == [0] * half and dark["lines"][half + 1 :] == [1] * half
        box = page.locator(".js-plotly-plot").bounding_box()
        page.mouse.move(box["x"] + 150, box["y"] + 130)
        page.wait_for_selector(".js-plotly-plot .hoverlayer .hovertext")
        assert "lane 5, register 0" in str(page.locator(".js-plotly-plot .hoverlayer").text_content())
    finally:
        page.evaluate("document.body.dataset.jpThemeLight = 'true'")


def test_a_slider_is_the_bar_of_the_timeline(book: Book, page: Any) -> None:
    """By keyboard, by names, played, dragged; the picture before fades; the notebook keeps its keys."""
    book.run(1)
    picture = page.locator(".ptx-picture-stack > :not(.before) svg[role=img]")
    picture.wait_for()

    def shows(nibble: str) -> None:
        expect(picture).to_have_attribute("aria-label", f"Nibble {nibble}, 2:4")
        expect(page.locator(".ptx-pictures .ptx-timeline-text")).to_have_text(f"nibble {nibble}")
        expect(page.locator(".ptx-pictures .ptx-part-name.now")).to_have_text(nibble)

    shows("0b0100")
    slider = page.get_by_role("slider", name="nibble")
    slider.press("ArrowRight")
    shows("0b1001")
    expect(page.locator(".ptx-picture-stack > .before")).to_have_count(0)
    assert picture.locator("polyline").count() == 4
    page.get_by_role("button", name="play the pictures").click()
    shows("0b1110")
    page.get_by_role("button", name="play the pictures").click()  # from the start
    shows("0b0100")
    page.get_by_role("button", name="pause").click()
    page.locator(".ptx-part-name", has_text="0b1110").click()
    shows("0b1110")
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    shows("0b1001")
    slider.press("Escape")
    page.wait_for_function("() => !document.activeElement.closest('.ptx-pictures')")


def test_sources_in_cells_are_highlighted(book: Book, page: Any) -> None:
    """Once an output with a listing is there; while a cell is edited; not in other strings."""
    book.run(2)
    page.wait_for_selector(".ptx-profile span.builtin")
    page.wait_for_function(f"({COLOURED})('keyword').length > 0")
    assert page.evaluate(COLOURED, "keyword")[:3] == ["extern", "void", "int"]
    assert page.evaluate(COLOURED, "builtin")[:2] == ["__global__", "threadIdx"]
    assert page.evaluate(COLOURED, "comment")[0] == "// adds"
    line = page.locator(".cm-line", has_text="threadIdx")
    line.click()
    page.keyboard.press("End")
    page.keyboard.type(" return;")
    page.wait_for_function(f"({COLOURED})('keyword').includes('return')")


def test_a_cell_of_cuda_is_highlighted(book: Book, page: Any) -> None:
    """Once the extension is loaded; the quote in its comment begins no string of Python."""
    book.run(3)
    page.wait_for_function(f"({COLOURED})('builtin').includes('__device__')")
    assert "// it's a cell" in page.evaluate(COLOURED, "comment")
    assert not any("STEP" in text for text in page.evaluate(COLOURED, "source"))


def test_a_page_finds_the_tokens_that_python_finds(page: Any) -> None:
    """The patterns mean the same in both languages."""
    find = """([pattern, text]) => [...text.matchAll(new RegExp(pattern, 'gm'))].map((match) =>
      [Object.keys(match.groups).find((kind) => match.groups[kind] !== undefined), match[0]])"""
    sources = [path.read_text() for path in Path(ptxlab.__file__).parent.rglob("*.cu")]
    sources += [ptxlab.kernel('extern "C" __global__ void f(float* x) { *x = sinf(*x); }').ptx]
    for source in sources:
        found = page.evaluate(find, [highlight.script_pattern(highlight.language_of(source)), source])
        assert [tuple(token) for token in found] == [token for token in highlight.tokens(source) if token[0]]
