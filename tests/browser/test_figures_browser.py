"""Figures as PDF and PNG, which kaleido draws with Chromium."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

import ptxlab
from ptxlab import figures, views

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
