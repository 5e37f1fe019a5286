"""The Explorer on one screen of JupyterLab: A, B, D and the registers of a lane are seen at once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browser.gestures import at_rest
from tests.sampling import some
from tools.jupyter import Book, Shown

pytestmark = pytest.mark.browser

FORMS = ("mma.m16n8k16.f32.f16", "mma.m16n8k64.s4", "mma.sp.m16n8k64.s4")
#: The window in CSS pixels (1440 x 900 at a browser zoom of 150 % has 960 x 600), and the file browser.
WINDOWS = {
    "1440x900": (1440, 900, True),
    "1024x768": (1024, 768, False),
    "zoom 150 %": (960, 600, False),
    "zoom 125 %": (1152, 720, True),
    "1440x900, file browser closed": (1440, 900, False),
    "1920x1080": (1920, 1080, True),
    "zoom 80 %": (1800, 1125, True),
}
PARTS = (".ptx-lanes", ".ptx-registers", "[data-pane=A]", "[data-pane=B]", "[data-pane=D]")

VIEW = ".jp-WindowedPanel-outer"
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(scope="module")
def page(lab_page: Any) -> Any:
    return lab_page


@pytest.fixture(scope="module")
def book(lab: Any, page: Any) -> Book:
    cells = ["import ptxlab", *(f"ptxlab.explore({name!r})" for name in FORMS)]
    opened: Book = lab.open_next(page, "fit", cells)
    for index in range(len(cells)):
        opened.run(index)
    return opened


def file_browser(page: Any, shown: bool) -> None:
    browser = page.locator(".jp-FileBrowser")
    if browser.is_visible() != shown:
        page.keyboard.press("Control+b")
        expect(browser).to_be_visible(visible=shown)


@pytest.mark.parametrize("window", some(WINDOWS, 2))
def test_everything_that_belongs_together_is_seen_at_once(book: Book, page: Any, window: str) -> None:
    width, height, files = WINDOWS[window]
    page.set_viewport_size({"width": width, "height": height})
    file_browser(page, files)
    at_rest(page)
    for index, name in enumerate(FORMS):
        explorer = page.locator(".ptx-explorer").nth(index)
        explorer.evaluate("node => node.scrollIntoView({ block: 'start' })")
        at_rest(page)
        view = page.locator(VIEW).first.bounding_box()
        beside = explorer.locator(".ptx-stage:not(.ptx-narrow)").count()  # else registers are below the scene
        row = explorer.evaluate("root => root.cellRect('D', 0, 0).height")
        assert row >= 16, name  # for which alone it may be higher than the view
        bottom = view["y"] + view["height"] + 1 if row > 16.01 else float("inf")
        for part in PARTS if beside else PARTS[2:]:
            box = explorer.locator(part).first.bounding_box()
            assert view["y"] - 1 <= box["y"], (name, part)
            assert box["y"] + box["height"] <= bottom, (name, part)
            assert box["x"] + box["width"] <= view["x"] + view["width"], (name, part)
        assert explorer.locator("[data-tool=play]").bounding_box()["y"] < view["y"] + 80, name
        for pane in "ABD":  # and all of each: nothing scrolls inside
            scroller = explorer.locator(f"[data-pane={pane}] .ptx-scroller")
            inside, shown = scroller.evaluate(
                "node => [[node.scrollWidth, node.scrollHeight], [node.clientWidth, node.clientHeight]]"
            )
            assert inside == shown, (name, pane)


def test_a_quiz_leaves_everything_on_the_screen(book: Book, page: Any) -> None:
    """The bar takes the toolbar's place; A, B, D and registers are seen, explanation included."""
    page.set_viewport_size({"width": 1440, "height": 900})
    file_browser(page, True)
    for index, name in some(reversed(list(enumerate(FORMS)))):
        explorer = page.locator(".ptx-explorer").nth(index)
        explorer.evaluate("node => node.scrollIntoView({ block: 'start' })")
        Shown(page, index).tool(".ptx-quiz-start").click()
        explorer.locator(".ptx-quiz-text").wait_for()
        for answered in (False, True):
            if answered:
                explorer.get_by_role("button", name="Skip").click()
                explorer.get_by_role("button", name="Next").wait_for()
            at_rest(page)
            explorer.evaluate("node => node.scrollIntoView({ block: 'start' })")
            at_rest(page)
            view = page.locator(VIEW).first.bounding_box()
            for part in (".ptx-quiz", *PARTS):
                box = explorer.locator(part).first.bounding_box()
                assert view["y"] - 1 <= box["y"], (name, part, answered)
                assert box["y"] + box["height"] <= view["y"] + view["height"] + 1, (name, part, answered)
        explorer.get_by_role("button", name="Stop").click()
        explorer.locator(".ptx-toolbar").wait_for()


def test_the_first_screen_of_the_course(lab: Any, page: Any) -> None:
    """In lesson 00 the Explorer's task, the matrices with D's digits and the registers are on one screen."""
    page.set_viewport_size({"width": 1440, "height": 900})
    shutil.copy(NOTEBOOKS / "00-start-here.ipynb", lab.notebooks)
    lab.show_next(page, "00-start-here")
    file_browser(page, True)
    page.locator(".jp-Notebook .jp-Cell").first.click()
    cells = nbformat.read(NOTEBOOKS / "00-start-here.ipynb", 4).cells
    for _ in range(1 + next(at for at, cell in enumerate(cells) if "ptxlab.explore(" in cell.source)):
        page.keyboard.press("Shift+Enter")
    explorer = page.locator(".ptx-explorer")
    explorer.locator("[data-pane=D] canvas").first.wait_for()
    view = page.locator(VIEW).first
    page.get_by_role("heading", name="Where is the matrix?").evaluate("node => node.scrollIntoView()")
    at_rest(page)
    bottom = view.bounding_box()["y"] + view.bounding_box()["height"]
    heading = page.get_by_role("heading", name="Where is the matrix?").bounding_box()
    assert heading["y"] >= view.bounding_box()["y"] - 1
    for part in ("[data-pane=A]", "[data-pane=B]", "[data-pane=D]", ".ptx-hex[data-operand=D] >> nth=-1"):
        box = explorer.locator(part).last.bounding_box()
        assert box["y"] + box["height"] <= bottom, part
    shown = Shown(page)
    register = explorer.locator(".ptx-hex[data-operand=A]")
    before, digits_of_lane_0 = shown.hover("D", 3, 0), register.input_value()
    another = "([node, digits]) => node.value !== digits"
    shown.click("A", 3, 5)
    explorer.get_by_text("Lane 13", exact=True).wait_for()
    page.wait_for_function(another, arg=[register.element_handle(), digits_of_lane_0])
    digits = register.input_value()
    shown.type("A", 3, 5, "99")
    page.wait_for_function(another, arg=[register.element_handle(), digits])
    changed = [old != new for old, new in zip(digits, register.input_value(), strict=True)]
    assert changed == [index in (6, 7) for index in range(10)]  # 0x, then the bytes of columns 7, 6, 5, 4
    assert shown.hover("D", 3, 0) != before
