"""Lanes side by side and their registers, scale factors at their blocks, four products, sparse elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import ptxlab
from ptxlab.memory import Tile
from tests.browser.gestures import enter, press, starting
from tests.browser.lanes import (
    F16,
    QUAD,
    SCALED,
    SPARSE,
    Lanes,
    byte_at,
    open_book,
    shows,
    start_screen,
)
from tools.bare_page import BareBook, BarePage
from tools.jupyter import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def book(bare: BarePage, page: Any) -> BareBook:
    return open_book(bare, page)


@pytest.fixture
def screen(book: BareBook, page: Any) -> Lanes:
    return start_screen(book, page)


def test_pinned_by_mouse_and_keyboard(screen: Lanes, page: Any) -> None:
    screen.start(F16)
    screen.lane(5).click()
    screen.lane(9).click(modifiers=["Control"])
    screen.columns(5, 9)
    assert screen.python("print(ex.lane, ex.lanes)") == "5 [5, 9]"
    for lane in (5, 9):
        assert screen.hex("A", 2, lane).input_value() == screen.python(
            f"print('0x%08x' % ex.registers['A'][{lane}, 2])"
        )

    # the keyboard: Space pins the lane in focus, an arrow leads on
    screen.lane(5).focus()
    press(page, " ", "ArrowRight")
    screen.columns(6, 9, 5)
    assert (
        screen.lane(9).get_attribute("aria-label") == "lane 9, pinned"
        and screen.lane(6).get_attribute("aria-label") == "lane 6"
    )
    page.wait_for_function("() => document.activeElement.dataset.lane === '6'")

    # a cell chooses its lane; the pinned stay; a heading chooses its lane
    page.mouse.click(*screen.middle("D", 0, 0))
    screen.columns(0, 9, 5)
    page.locator(".ptx-side-lane", has_text="lane 9").first.click()
    screen.columns(9, 5)
    page.get_by_role("button", name="unpin lane 5").click()
    page.wait_for_function("() => !document.querySelector('.ptx-side')")
    assert page.locator(".ptx-lane-title b").inner_text() == "Lane 9"
    page.get_by_role("button", name="unpin lane 9").click()
    expect(page.locator(".ptx-pin").first).to_have_text("pin")
    assert screen.python("print(ex.lanes, ex.view.pinned)") == "[9] []"


def test_edits_in_a_pinned_lane(screen: Lanes, page: Any) -> None:
    screen.start(F16)
    screen.python("ex.A = np.zeros((16, 16)); ex.lanes = [0, 5, 9]")
    screen.columns(0, 5, 9)
    ins = ptxlab.instruction(F16)
    box = screen.hex("A", 0, 9)
    enter(box, "0x40003c00")  # a1 = 2, a0 = 1
    screen.holds("A", 0, 9, "0x40003c00")
    (_, row, column), (_, _, after) = ins.a.holds(9, 0)
    assert (
        screen.python(f"print(ex.A[{row}, {column}], ex.A[{row}, {after}], ex.D[{row}, 0], ex.A.sum())")
        == "1.0 2.0 3.0 3.0"
    )
    screen.holds("A", 0, 5, "0x00000000")

    # an element, and a bit, of a lane that is not the chosen one
    value = page.get_by_label(f"a1, A row {row} column {after}, lane 9")
    enter(value, "-0.5")
    screen.holds("A", 0, 9, "0xb8003c00")
    page.locator("[data-operand=A] .ptx-register").nth(2).locator("[data-bit='15']").click()
    screen.holds("A", 0, 9, "0xb800bc00")
    assert screen.python("print(ex.lane, ex.A.sum())") == "0 -1.5"

    # a refusal names the lane; pointing at a field finds its cell
    enter(box, "0xyz")
    expect(page.locator(".ptx-problem").first).to_have_text(starting("A, lane 9, register 0: "))
    # what was typed stays in the field, with the sentence beside it, until Escape discards it
    assert (box.input_value(), box.get_attribute("aria-invalid")) == ("0xyz", "true")
    at, sentence = box.bounding_box(), page.locator(".ptx-problem-box").bounding_box()
    assert 0 <= sentence["x"] - at["x"] - at["width"] < 12
    assert sentence["y"] <= at["y"] + 1 and sentence["y"] + sentence["height"] > at["y"]
    assert screen.python("print(hex(ex.registers['A'][9, 0]))") == "0xb800bc00"
    box.press("Escape")
    expect(page.locator(".ptx-problem").first).to_have_text("")
    screen.holds("A", 0, 9, "0xb800bc00")
    assert box.get_attribute("aria-invalid") is None
    page.locator("[data-operand=B] .ptx-register").nth(1).locator("[data-element=b0]").hover()
    (_, row, column), *_ = ins.b.holds(5, 0)
    screen.says(f"B[{row}][{column}] = 1 · lane 5 ")
    screen.python("ex.lanes = [0]")


def test_typing_outlives_another_lane(screen: Lanes, page: Any) -> None:
    """What is typed into a register goes to the lane that it was typed for."""
    screen.start(F16)
    screen.python("ex.A = np.zeros((16, 16)); ex.lanes = [4]")
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Lane 4")
    box = page.locator(".ptx-hex[data-operand=A][data-register='1']")
    box.fill("0x12345678")
    screen.python("ex.lane = 8")
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Lane 8")
    box.press("Enter")
    typed = 'print([hex(r) for r in ex.registers["A"][[4, 8], 1]])'
    until(lambda: screen.python(typed) == "['0x12345678', '0x0']", page, "the register of lane 4")


def test_scale_factors_at_their_blocks(screen: Lanes, page: Any) -> None:
    screen.start(SCALED)
    ins = ptxlab.instruction(SCALED)
    facts = screen.point("SFA", 3, 2)
    (place,) = [location for location in ins.operands["SFA"].where(3, 2) if location.lane == 12]
    assert facts[:4] == [
        "SFA[3][2] = 1",
        "lane 12",
        "element sfa2",
        f"register 0, bits {place.high}..{place.low}, byte 2",
    ]
    assert facts[5:] == ["scales A[3][32..47]", "one of 2 copies, read with byte-id 0, thread-id 0"]
    assert [screen.lit("A", 3, k) for k in (31, 32, 47, 48)] == [False, True, True, False] and not screen.lit(
        "A", 4, 40
    )
    first, factor, before = screen.rect("A", 3, 32), screen.rect("SFA", 3, 2), screen.rect("A", 3, 31)
    # It stands before its block.
    assert before["x"] + before["width"] <= factor["x"] < factor["x"] + factor["width"] <= first["x"] + 1

    facts = screen.point("B", 20, 5)
    assert facts[-1] == "scaled by SFB[1][5] = 1"
    assert (
        [screen.lit("B", k, 5) for k in (15, 16, 31)] == [False, True, True]
        and screen.lit("SFB", 1, 5)
        and not screen.lit("SFB", 0, 5)
    )
    factor, above = screen.rect("SFB", 1, 5), screen.rect("B", 15, 5)
    assert (
        above["y"] + above["height"] <= factor["y"]
        and factor["y"] + factor["height"] <= screen.rect("B", 16, 5)["y"]
    )

    screen.point("D", 9, 3)
    assert (
        screen.lit("SFA", 9, 0)
        and screen.lit("SFA", 9, 3)
        and screen.lit("SFB", 0, 3)
        and not screen.lit("SFA", 8, 0)
    )

    # a factor is a cell like any other
    was = float(screen.python("ex.A = np.ones((16, 64)); ex.B = np.ones((64, 8)); print(ex.D[3, 0])"))
    screen.type("SFA", 3, 2, "4")
    screen.reads("SFA", 3, 2, 4)
    assert float(screen.python("print(ex.D[3, 0])")) == was + 3 * 16

    # and part of each step of the dot product
    page.mouse.click(*screen.middle("D", 3, 0))
    page.wait_for_selector(".ptx-timeline-text:text('D[3][0] = 112 from C')")  # Python has sent its steps
    page.get_by_label("timeline", exact=True).focus()
    for _ in range(48):
        page.keyboard.press("ArrowRight")
    assert (
        page.locator(".ptx-timeline-text").inner_text()
        == "products of k 32..47, times SFA[3][2] · SFB[2][0] (4 · 1) = 64, sum so far 96"
    )


def test_four_products(screen: Lanes, page: Any) -> None:
    screen.start(QUAD)
    assert screen.point("D", 17, 3)[-1] == "quad pair 2, lanes 8..11, 24..27"
    assert [screen.lit("B", 0, column) for column in (3, 11, 19, 27)] == [False, False, True, False]
    assert [screen.lit("A", row, 0) for row in (1, 9, 17, 25)] == [False, False, True, False]
    for row in (1, 9, 17, 25):  # where its row of A and its column of B meet
        cell, a, b = screen.rect("D", row, 3), screen.rect("A", row, 0), screen.rect("B", 0, row // 8 * 8 + 3)
        assert (
            abs(cell["x"] - b["x"]) < 1
            and abs(cell["width"] - b["width"]) < 1
            and abs(cell["y"] - a["y"]) < 1
        )
    screen.python("ex.A = np.zeros((32, 4)); ex.B = np.tile(np.arange(32), (4, 1))")
    screen.type("A", 17, 2, "1")
    screen.reads("D", 17, 3, 19)
    page.mouse.click(*screen.middle("D", 25, 1))
    page.mouse.move(5, 5)
    page.keyboard.press("Shift+Space")
    screen.says("row 25 of D is held by lanes 13, 15")
    assert page.evaluate(
        "() => { const root = document.querySelector('.ptx-explorer');"
        " return root.scrollWidth <= root.clientWidth; }"
    )


def test_places_of_sparse_elements(screen: Lanes, page: Any) -> None:
    screen.start(SPARSE)
    screen.python("A = np.zeros((16, 64)); A[3, [10, 11, 14, 15]] = 1, 2, 3, 4; ex.A = A")
    ins = ptxlab.instruction(SPARSE)
    (nibble,) = [place for copy, place in enumerate(ins.operands["E"].where(3, 1)) if copy == 0]
    where = f"lane {nibble.lane}, register {nibble.register}, bits {nibble.high}..{nibble.low}"
    assert screen.point("A", 3, 14)[-1] == f"nibble 0b1101 in {where}"
    assert screen.point("A", 3, 9)[1:] == [
        "not stored: nibble 0b1101 keeps other columns of chunk 1",
        f"the nibble is in {where}",
    ]
    facts = screen.point("E", 3, 1)
    assert (
        facts[1:4]
        == [
            "keeps columns 10, 11, 14, 15 of chunk 1",
            "11|01: pairs 3 and 1 of chunk 1, columns 14, 15 and 10, 11",
            f"lane {nibble.lane}",
        ]
        and facts[-1] == "one of 2 copies, read with selector 0"
    )
    _, y = screen.middle("stored", 3, 0)
    page.mouse.move(page.locator("[data-pane=stored] .ptx-scroller").bounding_box()["x"] - 10, y)
    lanes = sorted({place.lane for column in range(32) for place in ins.a.where(3, column)})
    screen.says(f"row 3 of compressed A is held by lanes {lanes[0]}..{lanes[-1]}")


def test_a_saved_page_pins_too(page: Any, tmp_path: Path) -> None:
    ex = ptxlab.explore(F16)
    ex.show_memory("A", swizzle=128)
    ex.lanes = [3, 7]
    page.goto(ex.save_html(tmp_path / "lanes.html").as_uri())
    screen = Lanes(page)
    screen.columns(3, 7)
    screen.lane(20).click(modifiers=["Control"])
    screen.columns(3, 7, 20)
    for lane in (3, 7, 20):
        screen.holds("B", 1, lane, f"0x{ex.registers['B'][lane, 1]:08x}")

    # memory in the layout it was saved in: to point at and to play, not to lay out anew
    page.mouse.move(*byte_at(page, int(Tile(16, 16, 64, swizzle=128).offset(9, 5))))
    screen.says("A[9][5] = ")
    assert page.locator(".ptx-memory [data-option=pitch]").is_disabled()
    page.get_by_role("button", name="play the instruction").click()
    shows(page, ".ptx-timeline-text", "wavefront 1 of 4")
    page.locator("[data-memory=B]").click()
    shows(page, ".ptx-memory-bar b", "B in shared memory")
