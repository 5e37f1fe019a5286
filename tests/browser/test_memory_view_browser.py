"""Shared memory by pointer, keyboard and typing: bytes of matrices, and rows that ldmatrix reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import views
from ptxlab.memory import Tile
from tests.browser.gestures import enter, press, type_line
from tests.browser.lanes import (
    F16,
    WGMMA,
    Lanes,
    byte_at,
    open_book,
    shows,
    start_screen,
    word_at,
)
from tools.bare_page import BareBook, BarePage

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def book(bare: BarePage, page: Any) -> BareBook:
    return open_book(bare, page)


@pytest.fixture
def screen(book: BareBook, page: Any) -> Lanes:
    return start_screen(book, page)


def test_places_in_shared_memory(screen: Lanes, page: Any) -> None:
    screen.start(WGMMA)
    ins = ptxlab.instruction(WGMMA)
    for transposed in (0, 1):
        screen.python(f"ex.apply(SetOption('imm_trans_b', {transposed}))")
        for row, column in ((0, 0), (3, 9), (15, 63)):
            (place,) = views.where(ins, "B", row, column, transposed=bool(transposed)).records()
            byte = place["byte offset"]
            core = f"core matrix {place['core matrix']}, row {place['row in it']}"
            expected = f"in shared memory, byte {byte} (0x{byte:03x}) · {core}"
            screen.point("B", row, column)
            screen.says(
                f"B[{row}][{column}] = 1 · {expected} · {'MN' if transposed else 'K'}-major, no swizzle"
            )

    # who holds a row: lanes of a warp among four
    _, y = screen.middle("D", 37, 0)
    page.mouse.move(page.locator("[data-pane=D] .ptx-scroller").bounding_box()["x"] - 10, y)
    lanes = sorted({place.lane for column in range(64) for place in ins.d.where(37, column)})
    assert len(lanes) == 4
    screen.says(f"row 37 of D is held by threads {lanes[0]}..{lanes[-1]}")
    assert page.locator(".ptx-warp.holds").all_inner_texts() == ["warp 2"]


def test_memory_is_pointed_at_edited_and_played(screen: Lanes, page: Any) -> None:
    screen.start(F16)
    screen.python("ex.A = np.arange(256).reshape(16, 16)")
    page.get_by_role("button", name="A in shared memory").click()
    shows(page, ".ptx-memory-summary", "32 wavefronts where 4 would do: take pitch 144 or swizzle 128")

    # from a cell to its byte, and from a byte to its cell
    facts = screen.point("A", 9, 5)
    assert "byte 0x48a, bank 2 of shared memory" in facts and "wavefront 10 of 32" in facts
    tile = Tile(bits=16, rows=16, k=64, swizzle=128)
    page.locator(".ptx-memory select[data-option=swizzle]").select_option(label="128 bytes")
    shows(page, ".ptx-memory-summary", "4 wavefronts, no conflicts")
    address = int(tile.offset(9, 5))
    page.mouse.move(*byte_at(page, address))
    screen.says("A[9][5] = 149 · lane 6 ")
    assert f"byte 0x{address:03x}, bank {address % 128 // 4} of shared memory" in screen.status.text_content()
    page.mouse.move(*byte_at(page, 1 << 7 | 64))
    shows(page, ".ptx-tooltip b", "byte 0x0c0, bank 16")

    # a word is changed like a cell, and undone
    page.mouse.click(*byte_at(page, address))
    type_line(page, "0x40003c00")
    screen.reads("A", 9, 5, 2)
    screen.reads("A", 9, 4, 1)
    page.keyboard.press("Control+z")
    screen.reads("A", 9, 5, 149)

    # wavefront by wavefront, to the registers, to the mma
    page.get_by_label("timeline", exact=True).focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    shows(
        page,
        ".ptx-timeline-text",
        "wavefront 2 of 4: rows 0..7 of matrix 1, whose addresses lanes 8..15 supply; banks 0..31",
    )
    page.mouse.move(5, 5)
    assert [screen.shade("A", row, 3) for row in (7, 8, 15)] == ["dimmed", "", ""]
    assert page.locator(".ptx-lane.holds").count() == 32
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    shows(page, ".ptx-timeline-text", f"{F16} reads A from the registers of every lane: D = A·B + C")
    page.keyboard.press("Escape")

    # what Python refuses is said beside the field; the button closes the view
    page.locator(".ptx-memory [data-option=pitch]").fill("40")
    page.keyboard.press("Enter")
    shows(page, ".ptx-problem", "multiples of 16 bytes apart, from 32 to 1024")
    page.get_by_role("button", name="close the memory view").click()
    page.wait_for_selector(".ptx-memory", state="hidden")
    assert screen.python("print(ex.view.memory)") == "{}"


def test_memory_of_wgmma_by_keyboard(screen: Lanes, page: Any) -> None:
    screen.start(WGMMA)
    page.locator("[data-matrix=B]").focus()
    page.keyboard.press("Alt+m")
    shows(page, ".ptx-memory-summary", "16 core matrices of 128 bytes")
    page.locator(".ptx-memory select[data-option=major]").select_option(label="N-major")
    page.locator(".ptx-memory select[data-option=swizzle]").select_option(label="128 bytes")
    shows(page, ".ptx-memory-text", "Swizzle<3,4,3>")
    word = page.get_by_test_id("word")
    word.focus()
    press(page, "ArrowDown", "ArrowRight")
    offset = Tile.of(ptxlab.instruction(WGMMA).b, 128, transposed=True).offsets.T
    row, column = next(zip(*np.nonzero(offset == 132), strict=True))
    page.wait_for_function(
        "words => words.every((each) => document.querySelector('.ptx-memory-word').ariaLabel.includes(each))",
        arg=["byte 0x084, bank 1 · 0x3c003c00", f"B[{row}][{column}] = 1 "],
    )
    type_line(page, "0x40000000")
    screen.reads("B", int(row), int(column), 0)
    page.keyboard.press("Alt+m")  # and the focus is back on the cells
    page.wait_for_selector(".ptx-memory", state="hidden")
    assert page.evaluate("document.activeElement.dataset.matrix") == "B"
    screen.python("ex.apply(SetOption('imm_trans_b', 0))")


def test_elements_of_ldmatrix_are_typed_and_followed(screen: Lanes, page: Any) -> None:
    """Rows of shared memory are on the left, the registers of a warp on the right; a change leads to both."""
    name = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
    screen.python(f"ex.instruction = {name!r}")
    shows(page, ".ptx-mnemonic", name)
    # both grids share what the registers leave of the width, and the second has room for its headings
    (last, _), (first, _) = word_at(page, 0, 7), word_at(page, 128, 0)
    wide = last - word_at(page, 0, 6)[0]
    box = page.locator(".ptx-tensor .ptx-scroller").bounding_box()
    assert wide >= min(63, box["width"] / 18) and first - last - wide > 36
    page.mouse.click(*word_at(page, 9, 3))
    type_line(page, "beef")
    page.mouse.move(*word_at(page, 128 + 5, 3))
    screen.says("r1[31:16] of lane 5 = 0xbeef · comes from S[9][3]")
    page.mouse.move(*word_at(page, 9, 3))
    screen.says(
        "S[9][3] = 0xbeef · row 9, element 3 · byte 150 (0x096) · lane 9 supplies the address of its row · "
        "goes to r1[31:16] of lane 5"
    )
    enter(page.get_by_test_id("thread-number"), "5")
    shows(page, "[data-register='1'] .ptx-thread-hex", "0xbeef0902")
    page.locator("[data-transfer=stride]").select_option("128")
    shows(page, ".ptx-tensor .ptx-memory-summary", "32 wavefronts")
    page.locator("[data-transfer=trans]").select_option("trans")
    shows(page, ".ptx-mnemonic", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
