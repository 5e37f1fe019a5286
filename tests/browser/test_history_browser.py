"""Ctrl+Z in a real browser: after Fill and the picker, in every part of the Explorer, not while typing."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.gestures import press, type_line
from tools.bare_page import BareBook, BarePage
from tools.jupyter import Shown

pytestmark = pytest.mark.browser

HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE_FP8 = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32"


class History(Shown):
    """The Explorer on the page, and what Python has."""

    def __init__(self, book: Any, page: Any) -> None:
        super().__init__(page)
        self.book = book

    def python(self, code: str) -> str:
        return str(self.book.run(1, code))

    def can(self, tool: str, enabled: bool) -> None:
        """Wait until Undo or Redo is enabled or not: Python has answered."""
        self.page.wait_for_function(
            "([tool, enabled]) => enabled"
            " === !document.querySelector(`.ptx-toolbar [aria-label^='${tool}']`).disabled",
            arg=[tool, enabled],
            timeout=10_000,
        )

    def shows(self, mnemonic: str) -> None:
        expect(self.page.locator(".ptx-mnemonic").first).to_have_text(mnemonic)

    def fill(self, pattern: str) -> None:
        self.tool("[data-tool=pattern]").select_option(pattern)
        self.tool("[data-tool=go]").click()
        self.can("Undo", True)


@pytest.fixture(scope="module")
def book(bare: BarePage, page: Any) -> BareBook:
    code = f"import numpy as np, ptxlab\nex = ptxlab.explore({HALF!r})\nex"
    return bare.open(page, "history", [code, "pass"])


@pytest.fixture
def screen(book: Any, page: Any) -> History:
    """The Explorer as it starts."""
    book.run(0)
    page.wait_for_selector(".ptx-explorer [data-pane=A] canvas", timeout=30_000)
    opened = History(book, page)
    opened.can("Undo", False)
    return opened


def test_keys_undo_a_fill_wherever_the_focus_is(screen: History, page: Any) -> None:
    """On the Fill button, on a list, on a lane, in a register, on nothing at all; and Ctrl+Y goes forward."""
    screen.fill("ones")
    for selector in (
        "[data-tool=go]", "[data-tool=pattern]", ".ptx-lane[tabindex='0']", ".ptx-toolbar [data-trait=zoom]",
        "[data-pane=B] .ptx-cell", ".ptx-register .ptx-hex",
    ):  # fmt: skip
        screen.root.locator(selector).first.focus()
        page.keyboard.press("Control+z")
        screen.can("Undo", False)
        page.keyboard.press("Control+y")
        screen.can("Redo", False)
    page.keyboard.press("Control+z")
    screen.can("Undo", False)
    page.keyboard.press("Control+Shift+Z")
    screen.can("Redo", False)
    page.keyboard.press("Meta+z")
    screen.can("Undo", False)
    screen.root.locator(".ptx-beside").click(position={"x": 2, "y": 2})
    page.keyboard.press("Control+y")
    screen.can("Redo", False)
    screen.root.locator(".ptx-toolbar [aria-label^='Undo']").click()  # which is then disabled,
    screen.can("Undo", False)
    page.keyboard.press("Control+y")  # but the Explorer keeps the focus
    screen.can("Redo", False)
    page.keyboard.press("Control+z")
    screen.can("Undo", False)
    assert screen.python(f"print((ex.A == ptxlab.explore({HALF!r}).A).all())") == "True"


def test_keys_undo_the_choice_of_an_instruction(screen: History, page: Any) -> None:
    """f16 with its values and its selection comes back, step by step, and goes forward again."""
    screen.click("A", 9, 13)
    type_line(page, "0.25")
    screen.can("Undo", True)
    screen.fill("counting")
    before = screen.python("print(ex.A.tobytes().hex(), ex.lane, ex.selection)")
    screen.root.get_by_role("button", name="change").click()
    search = screen.root.get_by_role("combobox", name="search by shape")
    search.fill(SPARSE_FP8)
    screen.root.locator(".ptx-match").first.wait_for()
    page.keyboard.press("Control+z")  # of the search, not of the matrices
    search.fill(SPARSE_FP8)
    page.keyboard.press("Enter")
    screen.shows(SPARSE_FP8)
    page.keyboard.press("Control+z")
    screen.shows(HALF)
    assert screen.python("print(ex.A.tobytes().hex(), ex.lane, ex.selection)") == before
    screen.click("D", 0, 0)
    page.keyboard.press("Control+y")
    screen.shows(SPARSE_FP8)
    page.keyboard.press("Control+z")
    screen.shows(HALF)
    press(page, "Control+z", "Control+z")
    screen.can("Undo", False)
    assert screen.python(f"print((ex.A == ptxlab.explore({HALF!r}).A).all())") == "True"


def test_a_text_that_is_typed_has_its_own_undo(screen: History, page: Any) -> None:
    """Until it is committed: in a cell and in a register."""
    screen.fill("ones")
    screen.click("A", 0, 0)
    page.keyboard.type("7")
    press(page, "Control+z", "Escape")
    register = screen.root.locator(".ptx-register .ptx-hex").first
    register.focus()
    page.keyboard.type("0x3c003c00")
    press(page, "Control+z", "Escape")
    assert screen.python("print((ex.A == 1).all(), ex.view.toolbar['redo'])") == "True False"
    register.focus()
    type_line(page, "0x40004000")
    expect(page.locator(".ptx-register .ptx-hex").first).to_have_value("0x40004000")
    page.keyboard.press("Control+z")
    screen.can("Redo", True)
    assert screen.python("print((ex.A == 1).all())") == "True"
