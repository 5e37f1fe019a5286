"""What JupyterLab does to widgets: two views, another kernel, many of them, a page that is loaded again."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from playwright.sync_api import expect

import ptxlab
from tests.browser.gestures import at_rest
from tests.sampling import EXHAUSTIVE
from tools.jupyter import Book, Shown

pytestmark = pytest.mark.browser

NAME = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
CODE = f"""import numpy as np, ptxlab
from IPython.display import display
from ptxlab.explorer.edits import SetCell
def new(): return ptxlab.explore({NAME!r}, A=np.zeros((16, 16)), B=np.ones((16, 8)), C=np.zeros((16, 8)))
ex = new()
for value in "123": ex.apply(SetCell("A", 0, 0, value))
display(ex); display(ex)"""
MANY = 20 if EXHAUSTIVE else 3


@pytest.fixture(scope="module")
def page(lab_page: Any) -> Any:
    return lab_page


@pytest.fixture(scope="module")
def book(lab: Any, page: Any) -> Book:
    """A notebook that shows one explorer twice; its second cell is free for Python."""
    opened: Book = lab.open_next(page, "robust", [CODE, "pass"])
    opened.run(0)
    return opened


def count(page: Any, number: int) -> None:
    page.wait_for_function(
        "number => document.querySelectorAll('.ptx-explorer [data-pane=D]').length === number",
        arg=number,
        timeout=60_000,
        polling=100,
    )


def save(book: Book, page: Any) -> None:
    def is_saved(answer: Any) -> bool:
        return answer.request.method == "PUT" and f"{book.name}.ipynb" in answer.url

    with page.expect_response(is_saved):
        page.locator("[data-jp-item-name=save] :is(jp-button, button)").first.click()


def test_two_views_stay_in_step(book: Book, page: Any) -> None:
    count(page, 2)
    first, second = Shown(page, 0), Shown(page, 1)
    first.reads("D", 0, 0, "3")  # three differences came before the page had loaded what puts them together
    first.type("A", 3, 5, "1.5")
    second.reads("D", 3, 0, "1.5")
    second.type("A", 3, 6, "2")
    first.reads("D", 3, 0, "3.5")
    second.reads("A", 3, 5, "1.5")
    assert book.run(1, "print(ex.D[3, 0])") == "3.5"


def test_one_view_fewer(book: Book, page: Any) -> None:
    """A view that goes takes nothing from the other."""
    book.run(1, "display(ex)")
    count(page, 3)
    book.run(1, "pass")
    count(page, 2)
    shown = Shown(page)
    shown.type("A", 4, 0, "7")
    shown.reads("D", 4, 0, "7")


def test_run_again(book: Book, page: Any) -> None:
    book.run(0)
    count(page, 2)
    Shown(page, 1).reads("D", 3, 0, "0")
    Shown(page, 1).type("A", 3, 5, "4")
    Shown(page, 0).reads("D", 3, 0, "4")


def test_keys_in_the_help_stay_on_one_line(book: Book, page: Any) -> None:
    """JupyterLab floats what a list defines into a fifth of its width."""
    page.locator(".ptx-lane").first.focus()
    page.keyboard.press("?")
    page.wait_for_selector("dialog.ptx-sheet[open]")
    whole = page.viewport_size
    for width in (whole["width"], 390):
        page.set_viewport_size({"width": width, "height": whole["height"]})
        heights = page.locator(".ptx-sheet dt").evaluate_all("keys => keys.map((key) => key.clientHeight)")
        assert len(heights) > 40 and max(heights) < 20
        sizes = page.locator(".ptx-sheet-page").evaluate("sheet => [sheet.scrollWidth, sheet.clientWidth]")
        assert sizes[0] <= sizes[1]
    page.set_viewport_size(whole)
    page.keyboard.press("Escape")


def test_narrow_and_back(book: Book, page: Any) -> None:
    shown = Shown(page)
    whole = page.viewport_size
    wide = shown.root.bounding_box()["width"]
    fits = "root => root.scrollWidth <= root.clientWidth + 1"
    page.set_viewport_size({"width": 700, "height": whole["height"]})
    page.wait_for_function(
        "([root, wide]) => root.clientWidth < wide - 300", arg=[shown.root.element_handle(), wide]
    )
    at_rest(page)
    narrow = shown.root.evaluate(fits), shown.drawn()
    shown.type("A", 2, 2, "6")
    shown.reads("D", 2, 0, "6")
    page.set_viewport_size(whole)
    page.wait_for_function(
        "([root, wide]) => Math.abs(root.clientWidth - wide) < 2", arg=[shown.root.element_handle(), wide]
    )
    assert narrow == (True, True) and shown.root.evaluate(fits)
    shown.reads("D", 2, 0, "6")


@pytest.mark.parametrize("name", ["mma.m16n8k16.nothing", "ldmatrix.m8n8.x3.b16"])
def test_a_wrong_name_is_one_sentence(book: Book, page: Any, name: str) -> None:
    """No screen of traceback: the sentence says what is wrong."""
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(1)
    said = book.run(1, f"ptxlab.explore({name!r})")
    assert said.startswith("PtxlabError: ") and name.split(".")[-1] in said
    assert "Traceback" not in said and len(said.splitlines()) == 1
    assert cell.locator(".jp-OutputArea").bounding_box()["height"] < 120


def test_kernel_restart(book: Book, page: Any) -> None:
    """The page still shows what it has, an unanswered edit breaks nothing; running the cell helps."""
    Shown(page).type("A", 5, 5, "2")
    Shown(page).reads("D", 5, 0, "2")
    book.restart()
    shown = Shown(page)
    shown.reads("D", 5, 0, "2")
    shown.type("A", 5, 6, "3")
    assert shown.drawn()
    # Prompts count from 1 again; the first cell shows a new number only if another ran before it.
    book.run(1, "pass")
    book.run(0)
    count(page, 2)
    again = Shown(page, 1)
    again.reads("D", 5, 0, "0")
    again.type("A", 5, 6, "3")
    again.reads("D", 5, 0, "3")


def test_many_widgets(book: Book, page: Any) -> None:
    book.run(1, f"many = [new() for _ in range({MANY})]\nfor one in many: display(one)", 60)
    count(page, MANY + 2)
    assert all(Shown(page, index).drawn() for index in (2, MANY, MANY + 1))
    shown, other = Shown(page, MANY + 1), Shown(page, MANY)
    shown.type("A", 1, 1, "5")
    shown.reads("D", 1, 0, "5")
    other.reads("D", 1, 0, "0")
    book.run(1, "for one in many: one.close()", 60)
    count(page, 2)


SHOWN = f"""import numpy as np, ptxlab
from ptxlab import views
from ptxlab.course.slider import Slider
twice = ptxlab.kernel('extern "C" __global__ void twice(float* x) {{ x[threadIdx.x] *= 2; }}')
display(ptxlab.explore({NAME!r}))
display(twice.debug(1, 32, np.arange(32, dtype=np.float32)))
display(Slider(views.nibble, nibble=[0b0100, 0b1110]))
closed = ptxlab.explore({NAME!r})
display(closed)"""
PICTURES = "[class^=ptx-saved-]"


def test_a_saved_notebook_without_its_kernel(lab: Any, book: Book, page: Any) -> None:
    """Widgets are seen while the kernel lives, their pictures when the notebook is opened without it."""
    book.run(0, SHOWN, 60)
    count(page, 2)
    expect(page.locator(PICTURES)).to_have_count(4)
    page.wait_for_timeout(1500)  # longer than a picture waits for its widget
    assert not any(picture.is_visible() for picture in page.locator(PICTURES).all())
    book.run(1, "closed.close()")
    count(page, 1)
    assert Shown(page).drawn() and page.locator(".ptx-debug").is_visible()

    image = page.locator(f"{PICTURES} img").first
    before = image.get_attribute("src")
    Shown(page).type("A", 3, 5, "0.375")
    expect(image).not_to_have_attribute("src", before)
    save(book, page)
    book.shut_down()
    lab.reopen(page, book.name)
    pictures = page.locator(f"{PICTURES}:not(:empty)")
    expect(pictures).to_have_count(3)
    # a session's picture is a heading and the source, here of one line
    parts = (("img", 100), (".ptx-profile", 50), ("img", 100))
    for picture, (part, least) in zip(pictures.all(), parts, strict=True):
        expect(picture.locator(part)).to_be_visible()
        assert picture.bounding_box()["height"] > least
        assert picture.evaluate("node => [...node.querySelectorAll('img')].every(each => each.naturalWidth)")
    svg = base64.b64decode(page.locator(f"{PICTURES} img").first.get_attribute("src").split(",")[1])
    assert b">0.375<" in svg
    failed = page.get_by_text("model not found")
    expect(failed).to_have_count(4)  # JupyterLab says it, and nobody sees it
    assert not any(message.is_visible() for message in failed.all())

    count(page, 0)
    book.run(0, f"import ptxlab; display(ptxlab.explore({NAME!r}))", 60)
    count(page, 1)
    assert not any(picture.is_visible() for picture in page.locator(PICTURES).all())


def test_a_walk(lab: Any, book: Book, page: Any) -> None:
    """A link of its table opens a stop, arrow keys go on; without its kernel the stop is a picture."""
    stops = ptxlab.walk("wgmma").stops
    book.run(0, 'import ptxlab\nwalk = ptxlab.walk("wgmma")\ndisplay(walk, walk.table)', 60)
    title, mnemonic = page.locator(".ptx-walk .head strong"), page.locator(".ptx-mnemonic")
    expect(title).to_have_text(stops[0].title)
    page.locator("a", has_text=stops[3].title).click()
    expect(title).to_have_text(stops[3].title)
    expect(mnemonic).to_have_text(stops[3].form.mnemonic)
    expect(page.locator(".ptx-walk")).to_be_in_viewport()
    page.locator(".ptx-walk").focus()
    page.keyboard.press("ArrowLeft")
    expect(mnemonic).to_have_text(stops[2].form.mnemonic)
    expect(page.locator(".ptx-walk-fragments figure")).to_have_count(2)
    expect(page.locator(PICTURES)).to_contain_text("stop 3 of 6")
    save(book, page)
    book.shut_down()
    lab.reopen(page, book.name)
    picture = page.locator(PICTURES, has_text="stop 3 of 6")
    expect(picture).to_be_visible()
    assert picture.evaluate("node => [...node.querySelectorAll('img')].every(each => each.naturalWidth)")


def test_a_page_that_is_loaded_again_and_a_lost_connection(lab: Any, book: Book, page: Any) -> None:
    book.run(0, CODE)
    book.run(1, 'ex.apply(SetCell("A", 15, 15, "-8"))')
    Shown(page).reads("D", 15, 0, "-8")
    save(book, page)

    # the page is loaded again, as a document alone
    lines: list[Any] = []

    def through(line: Any) -> None:
        lines.append(line)
        line.connect_to_server()

    page.route_web_socket(re.compile("/channels"), through)
    lab.show(page, book.name)
    again = Shown(page)
    again.reads("D", 15, 6, "-8")
    again.type("A", 1, 0, "6")
    again.reads("D", 1, 0, "6")
    assert book.run(1, "print(ex.D[1, 0], ex.D[15, 0])") == "6.0 -8.0"

    # the connection breaks, Python changes A, JupyterLab connects again: the page has it
    change = 'lambda: ex.apply(SetCell("A", 2, 0, "6"))'
    book.run(1, f"import asyncio; asyncio.get_event_loop().call_later(2, {change})")
    before = len(lines)
    for line in lines:
        line.close()
    again.reads("D", 2, 0, "6", seconds=30)
    assert len(lines) > before, "the line was never opened again"
    again.type("A", 3, 0, "7")
    again.reads("D", 3, 0, "7")
    assert book.run(1, "print(ex.D[2, 0], ex.D[3, 0])") == "6.0 7.0"
