"""Tensor memory by pointer and typing: words, what tcgen05.ld and .st move, masks, questions."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

import ptxlab
from tests.browser.gestures import enter, press, starting, type_line
from tests.browser.lanes import (
    TENSOR,
    Lanes,
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


def test_tensor_memory_is_pointed_at_edited_and_loaded(screen: Lanes, page: Any) -> None:
    screen.python(
        f"ex.instruction = ptxlab.instruction({TENSOR!r}, m=64, n=32).a_from('tensor')\n"
        "ex.A, ex.B = np.arange(1024).reshape(64, 16) % 9, np.eye(16, 32)"
    )
    shows(page, ".ptx-tensor .ptx-memory-summary", "layout F: D in 16 of every 32 lanes, 32 columns")

    # from a cell to its word, and from a word to its cell; what no matrix uses is free
    assert "tensor memory: lane 33, column 5, bits 31..0" in screen.point("D", 17, 5)
    page.mouse.move(*word_at(page, 35, 38))
    screen.says(f"A[19][13] = {(19 * 16 + 13) % 9} · tensor memory: lane 35, column 38, bits 31..16")
    page.mouse.move(*word_at(page, 20, 3))
    shows(page, ".ptx-tooltip span", "free: layout F does not use this lane for D")

    # a word of A is changed like a cell, that of D is not
    page.mouse.click(*word_at(page, 35, 38))
    type_line(page, "0x44004200")
    screen.reads("A", 19, 12, 3)
    screen.reads("D", 19, 13, 4)
    page.keyboard.press("Control+z")
    screen.reads("A", 19, 12, (19 * 16 + 12) % 9)

    # the registers of a thread: of the word that was chosen, and by another load
    shows(page, ".ptx-thread-mnemonic", "tcgen05.ld.sync.aligned.32x32b.x32.b32")
    page.mouse.click(*word_at(page, 35, 7))
    expect(page.locator(".ptx-thread .ptx-number").first).to_have_value("35")
    page.locator(".ptx-thread [data-option=shape]").select_option("16x256b")
    shows(page, ".ptx-thread-mnemonic", "tcgen05.ld.sync.aligned.16x256b.x4.b32")
    number = page.get_by_test_id("thread-number")
    enter(number, "38")
    shows(page, "[data-register='2'] .ptx-thread-cell", "D[25][4]")  # row 8 below that of register 0
    loaded = 'ptxlab.instruction(ex.view.load["mnemonic"]).emulate(ex.registers["D"])[38, 2]'
    shows(page, "[data-register='2'] .ptx-thread-hex", f"0x{int(screen.python(f'print({loaded})')):08x}")

    # a field of the descriptor: what is wrong stays where it was typed; what is right changes the form
    field = page.get_by_label("n of the descriptor")
    enter(field, "100")
    shows(page, ".ptx-problem", "n=100: the descriptor takes multiples of 8 up to 256")
    assert field.input_value() == "100"
    field.press("Escape")
    enter(field, "16")
    expect(page.locator(".ptx-shape").first).to_have_text(starting("m64n16k16"))
    page.get_by_test_id("instruction-descriptor").locator("[data-bit='13']").click()  # negates A
    screen.reads("D", 1, 1, -(17 % 9))
    press(page, "Control+z", "Control+z")
    expect(page.locator(".ptx-shape").first).to_have_text(starting("m64n32k16"))

    # so does one of the matrix descriptor, by which B is read from shared memory
    page.locator("[data-memory=B]").click()
    field = page.get_by_label("stride of the matrix descriptor")
    enter(field, "128")
    shows(page, ".ptx-problem", "B[0][8] and B[8][0] would both be read from byte 0x80")
    assert field.input_value() == "128"
    field.press("Escape")
    page.get_by_test_id("matrix-descriptor").locator("[data-bit='6']").click()  # 0x400 further
    page.wait_for_function(
        "() => document.querySelector('.ptx-memory-word').ariaLabel.startsWith('byte 0x400')"
    )
    page.locator("[data-memory=B]").click()
    page.wait_for_selector(".ptx-memory", state="hidden")

    # zoomed in it shows numbers and scrolls; it closes and opens
    page.get_by_role("button", name="larger words").click()
    page.keyboard.press("Alt+t")
    page.wait_for_selector(".ptx-tensor", state="hidden")
    page.locator("[data-tensor=D]").click()
    page.wait_for_selector(".ptx-tensor", state="visible")


def test_words_that_are_moved_lead_to_each_other(screen: Lanes, page: Any) -> None:
    """tcgen05.st by mouse, keyboard and lists: from a register to its word, and back."""
    name = "tcgen05.st.sync.aligned.16x64b.x2.b32"
    screen.python(f"ex.instruction = {name!r}")
    shows(page, ".ptx-mnemonic", name)
    lane, column = ptxlab.instruction(name).locate(thread=37, register=1)
    page.mouse.move(*word_at(page, 37, 1))  # registers are on the left, tensor memory is on the right
    screen.says(f"r1 of thread 37 = 0x00250001 · goes to T[{lane}][{column}]")
    page.mouse.click(*word_at(page, 37, 1))
    type_line(page, "0xcafe")
    page.mouse.move(*word_at(page, 128 + lane, column))
    screen.says(
        f"T[{lane}][{column}] = 0x0000cafe · lane {lane}, column {column} · comes from r1 of thread 37"
    )
    shows(page, "[data-register='1'] .ptx-thread-cell", f"→ T[{lane}][{column}]")
    page.mouse.click(*word_at(page, 5, 1))
    page.mouse.move(2, 2)
    page.keyboard.press("ArrowRight")  # past the edge
    screen.says("T[5][0] = 0x00140000 · lane 5, column 0 · comes from r0 of thread 20")
    number = page.get_by_test_id("thread-number")
    enter(number, "37")
    shows(page, "[data-register='1'] .ptx-thread-hex", "0x0000cafe")
    page.get_by_role("button", name="Undo (Ctrl+Z)").click()
    shows(page, "[data-register='1'] .ptx-thread-hex", "0x00250001")

    page.locator("[data-transfer=shape]").select_option("16x256b")
    shows(page, ".ptx-mnemonic", "tcgen05.st.sync.aligned.16x256b.x2.b32")
    field = page.locator("[data-transfer=column]")
    enter(field, "20")
    shows(page, ".ptx-problem", "it begins in column 0 to 16")
    page.keyboard.press("Escape")


def test_masks_and_questions_of_tensor_memory(screen: Lanes, page: Any) -> None:
    screen.python(f"ex.instruction = ptxlab.instruction({TENSOR!r}, m=64, n=32)\nex.C = np.full((64, 32), 7)")
    mask = screen.tool("[data-option=disable_output_lane]")
    enter(mask, "0..15")
    screen.reads("D", 3, 5, 7)
    assert "disable-output-lane: it keeps what D held before" in screen.point("D", 3, 5)
    enter(mask, "0..128")
    shows(page, ".ptx-problem", "type lanes from 0 to 127")
    assert mask.input_value() == "0..15"

    # a question hides tensor memory, and its verdict is seen there
    screen.python('ex.quiz(["word D[20][3]"])')
    page.wait_for_selector(".ptx-tensor", state="hidden")
    answer = page.locator(".ptx-quiz-answer")
    assert answer.get_attribute("placeholder") == "lane … column …"
    enter(answer, "lane 36, column 3")
    shows(page, ".ptx-quiz-result", "Right. D[20][3] is in lane 36, column 3")
    page.wait_for_selector(".ptx-tensor", state="visible")
