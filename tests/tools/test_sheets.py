"""The cheat sheets: one page each, with lanes where the catalogue says, and as many pages in the PDF."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import ptxlab
from tests.cases import each
from tools import sheets


@each("name", sheets.SHEETS)
def test_a_sheet_is_one_page_of_a4(name: str) -> None:
    text = sheets.SHEETS[name]().svg()  # which refuses what is longer
    root = ElementTree.fromstring(text)
    assert (root.get("width"), root.get("height")) == ("210mm", "297mm")
    assert len(root.findall("{*}svg")) >= 2, "pictures"
    for picture in root.findall("{*}svg"):
        assert float(picture.get("x", 0)) + float(picture.get("width", 0)) <= sheets.WIDTH - sheets.MARGIN + 1
        assert float(picture.get("y", 0)) + float(picture.get("height", 0)) <= sheets.HEIGHT
    columns = [float(x) for x in re.findall(r"<text x='([\d.]+)'", text)]
    assert min(columns) >= sheets.MARGIN


def test_fragments_are_those_of_the_catalogue() -> None:
    text = sheets.dense_fragments().svg()
    form = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    assert isinstance(form, ptxlab.Instruction)
    picture = text[text.index("<title>A of mma") : text.index("<title>B of mma")]
    shown = re.findall(r"<title>A\[(\d+)\]\[(\d+)\]\nlane (\d+)", picture)
    assert len(shown) >= 128
    for row, col, lane in shown:
        assert form.a.where(int(row), int(col))[0].lane == int(lane)


def test_a_page_that_is_too_long_is_refused() -> None:
    page = sheets.Page("Long", "")
    page.table([("code", "words")] * 90)
    with pytest.raises(ValueError, match="Long: 1.* of 1123 pixels are used; it is one page"):
        page.svg()


@pytest.mark.browser
def test_the_pdf_has_every_page(tmp_path: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sheets.write(tmp_path)]
    sheets.pdf(texts, tmp_path / "sheets.pdf")
    content = (tmp_path / "sheets.pdf").read_bytes()
    assert len(re.findall(rb"/Type ?/Page\b", content)) == len(sheets.SHEETS)
