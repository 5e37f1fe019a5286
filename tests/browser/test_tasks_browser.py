"""Twenty tasks of a new user at 1440x900: in JupyterLab with the file browser open, and in a browser tab.

The tab has Python in it and no Jupyter. `make exhaustive` does all in both. `make test` does them in a bare
page, and `make browser` does in JupyterLab those that no other test in a bare page does.

Each is done in as few actions as its budget says, and what it concerns is on the screen afterwards. An action
is a click, a key, a turn of the wheel, pointing somewhere, a choice in a list, or a text typed with the Enter
that ends it.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import ptxlab
from tests.browser.gestures import at_rest, starting
from tests.sampling import covered_by
from tools.bare_page import BareBook, BarePage
from tools.jupyter import PANES, Book, Shown, until

pytestmark = pytest.mark.browser

S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE_S4 = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE_FP8 = "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3"
LARGE = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
SIZE = {"width": 1440, "height": 900}
#: A link to what a page shows, as its Explorer copies it.
LINK = """() => new Promise((done) => {
  const { model } = document.querySelector(".static-view");
  model.on("msg:custom", (answer) => answer.export === "link" && done(answer.text));
  model.send({ type: "export", format: "link" });
})"""
FOCUSED = "(name) => document.activeElement?.closest('[data-pane]')?.dataset.pane === name"


class Notebook:
    """An Explorer in a notebook of JupyterLab."""

    def __init__(self, page: Any, book: Book) -> None:
        self.page, self.book = page, book

    def start(self, mnemonic: str, more: str) -> None:
        self.book.run(0, f"import numpy as np, ptxlab\nex = ptxlab.explore({mnemonic!r}, seed=1)\n{more}\nex")

    def python(self, code: str) -> str:
        return self.book.run(1, code)

    def view(self) -> dict[str, float]:
        return dict(self.page.locator(".jp-WindowedPanel-outer").first.bounding_box())

    def set_theme(self, name: str) -> int:
        """Choose a theme; returns how many actions that took."""
        labels = ("Settings", "Theme", f"JupyterLab {name.title()}")
        for label in labels:
            self.page.locator(".lm-MenuBar-item, .lm-Menu-item", has_text=label).first.click()
        return len(labels)


class Tab:
    """An Explorer in the page that has Python in it; links carry all there is, both ways."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.shown = page, ""
        page.set_viewport_size(SIZE)
        page.goto(f"{address}try/")
        page.wait_for_selector("#page[data-python=ready]", timeout=240_000)

    def start(self, mnemonic: str, more: str) -> None:
        names = {"np": np, "ex": ptxlab.explore(mnemonic, seed=1)}
        exec(more, names)
        link = names["ex"].link
        if link == self.shown:  # what was done there since is to go
            self._open(ptxlab.explore(F16).link)
        self._open(link)

    def _open(self, link: str) -> None:
        self.page.evaluate(
            "link => { document.querySelector('.ptx-explorer').id = 'old'; location.hash = link; }", link
        )
        self.page.wait_for_selector(".ptx-explorer:not(#old)")
        self.shown = link

    def python(self, code: str) -> str:
        link = self.page.evaluate(LINK)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, {"np": np, "ex": ptxlab.explore(link)})
        return printed.getvalue().strip()

    def view(self) -> dict[str, float]:
        return {"x": 0, "y": 0, **SIZE}

    def set_theme(self, name: str) -> int:
        """Choose a theme, which is the system's; returns how many actions that took."""
        self.page.emulate_media(color_scheme=name)
        return 1


class Bare:
    """An Explorer alone on its page."""

    def __init__(self, page: Any, book: BareBook) -> None:
        self.page, self.book = page, book
        page.set_viewport_size(SIZE)

    def start(self, mnemonic: str, more: str) -> None:
        self.page.evaluate("document.getElementById('widget').replaceChildren()")
        self.book.run(0, f"import numpy as np, ptxlab\nex = ptxlab.explore({mnemonic!r}, seed=1)\n{more}\nex")

    def python(self, code: str) -> str:
        return self.book.run(1, code)

    def view(self) -> dict[str, float]:
        return {"x": 0, "y": 0, **SIZE}


Host = Notebook | Tab | Bare


class User(Shown):
    """A user, whose actions are counted."""

    def __init__(self, host: Host) -> None:
        super().__init__(host.page)
        self.host, self.actions = host, 0

    def python(self, code: str) -> str:
        """What code with the Explorer as `ex` prints; no action of the task."""
        printed = self.host.python(code)
        self.root.evaluate("node => node.scrollIntoView({ block: 'start' })")
        return printed

    def start(self, mnemonic: str, more: str = "") -> None:
        """A new Explorer, at the top of the view."""
        self.host.start(mnemonic, more)
        self.root.locator("[data-pane=D] canvas").first.wait_for()
        self.says(".ptx-mnemonic", mnemonic)
        self.root.evaluate("node => node.scrollIntoView({ block: 'start' })")
        self.page.mouse.move(2, 2)
        at_rest(self.page)
        self.actions = 0

    def point(self, name: str, row: int, column: int) -> str:
        self.actions += 1
        return self.hover(name, row, column)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.actions += 1
            self.page.keyboard.press(key)

    def write(self, text: str) -> None:
        self.actions += 1
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def click(self, name: str, row: int, column: int, **how: Any) -> None:
        self.actions += 1
        super().click(name, row, column, **how)

    def tool(self, selector: str) -> Any:
        """A tool; to open the menu, if it is there, is an action."""
        shown = self.root.locator(selector).first
        if shown.is_visible():
            return shown
        self.actions += 1
        return super().tool(selector)

    def push(self, selector: str) -> None:
        self.actions += 1
        self.tool(selector).click()

    def pick(self, words: str) -> None:
        """Another instruction: open the picker, search."""
        self.actions += 1
        self.root.get_by_role("button", name="change").click()
        self.root.locator(".ptx-match").first.wait_for()
        self.write(words)

    def choose(self, selector: str, option: str) -> None:
        self.actions += 1
        self.tool(selector).select_option(label=option)

    def says(self, selector: str, text: str) -> None:
        """Wait until a part of the Explorer says this."""
        found = (
            "([selector, text]) => [...document.querySelectorAll(`.ptx-explorer ${selector}`)]"
            ".some((node) => (node.matches('input') ? node.value : node.textContent).includes(text))"
        )
        until(lambda: self.page.evaluate(found, [selector, text]), self.page, f"{selector} says {text}")

    def sees(self, *selectors: str) -> None:
        """These parts are wholly in the view."""
        view = self.host.view()
        for selector in selectors:
            box = self.root.locator(selector).first.bounding_box()
            assert box is not None, selector
            assert view["y"] - 1 <= box["y"], selector
            assert box["y"] + box["height"] <= view["y"] + view["height"] + 1, selector
            assert view["x"] <= box["x"] and box["x"] + box["width"] <= view["x"] + view["width"], selector

    def sees_cell(self, name: str, row: int, column: int) -> None:
        """This cell is in the view of its pane, which is in the view itself."""
        pane = f"[data-pane={PANES.get(name, name)}]"
        self.sees(pane)
        box, frame = self.rect(name, row, column), self.root.locator(f"{pane} .ptx-scroller").bounding_box()
        assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
        assert frame["y"] <= box["y"] and box["y"] + box["height"] <= frame["y"] + frame["height"] + 1


@pytest.fixture(scope="module")
def notebook(lab: Any, lab_page: Any) -> Notebook:
    lab_page.set_viewport_size(SIZE)
    book: Book = lab.open_next(lab_page, "tasks", ["import ptxlab; ptxlab.explore()", "pass"])
    if not lab_page.locator(".jp-FileBrowser").is_visible():
        lab_page.keyboard.press("Control+b")
    book.run(0)
    return Notebook(lab_page, book)


@pytest.fixture(scope="module")
def tab(address: str, tab_page: Any) -> Tab:
    return Tab(tab_page, address)


@pytest.fixture(scope="module")
def alone(bare: BarePage, tab_page: Any) -> Bare:
    opened = bare.open(tab_page, "tasks", ["import ptxlab; ptxlab.explore()", "pass"])
    opened.run(0)
    return Bare(tab_page, opened)


@pytest.fixture(scope="module")
def host(request: pytest.FixtureRequest) -> Host:
    opened: Host = request.getfixturevalue(request.param)
    return opened


@pytest.fixture(scope="module")
def page(host: Host) -> Any:
    return host.page


@pytest.fixture
def user(host: Host) -> User:
    return User(host)


def hosts(*names: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("host", names, indirect=True, scope="module")


TAB = pytest.param("tab", marks=covered_by("the same alone on a page, and test_try_browser.py in a tab"))


def everywhere(in_lab: str = "") -> pytest.MarkDecorator:
    """Marks a task that is done alone on a page, in a tab, and in JupyterLab unless others show the same."""
    lab = pytest.param("notebook", marks=covered_by(in_lab)) if in_lab else "notebook"
    return hosts(lab, TAB, "alone")


@pytest.fixture
def task(user: User) -> Callable[[int], None]:
    """Says that a task is done, and in how many actions at most."""

    def done(budget: int) -> None:
        assert user.actions <= budget
        user.actions = 0

    return done


LANE = (".ptx-lanes", ".ptx-registers")
ALL = ("[data-pane=A]", "[data-pane=B]", "[data-pane=D]", *LANE)


@everywhere()
def test_1_2_3_a_cell_of_a(user: User, task: Callable[[int], None], page: Any) -> None:
    user.start(S4, "ex.B = np.ones((64, 8)); ex.A = np.zeros((16, 64))")
    assert " · lane 4 · " in user.point("A", 9, 37)  # 1: its lane
    user.sees(*ALL)
    assert page.locator(".ptx-tooltip").is_visible()
    task(3)
    user.click("A", 9, 37)  # 2: change it
    user.write("-3")
    task(3)
    user.says(".ptx-hex", "0x00d00000")  # 3: see D change
    page.wait_for_selector("[data-pane=D] .ptx-flash", state="attached")
    user.reads("D", 9, 5, -3)
    user.sees(*ALL)


@everywhere(in_lab="test_lanes_that_contribute, in a bare page")
def test_4_who_makes_a_cell_of_d(user: User, task: Callable[[int], None], page: Any) -> None:
    user.start(S4)
    user.click("D", 3, 5)
    user.says(".ptx-status", "row 3 of A is in lanes 12..15 · column 5 of B is in lanes 20..23")
    assert page.locator(".ptx-lane.contributes").count() == 8
    user.sees(*ALL, ".ptx-status")
    task(3)


@everywhere(in_lab="test_lanes_browser.py and test_an_error_stands_beside_its_field, in a bare page")
def test_5_6_a_register_and_a_bit(user: User, task: Callable[[int], None], page: Any) -> None:
    user.start(S4)
    box = ".ptx-hex[data-operand=A]"
    places = {pane: user.root.locator(f"[data-pane={pane}]").bounding_box() for pane in "ABD"}
    user.push(box)
    user.write("0x12345678")
    user.says(box, "0x12345678")
    task(3)
    assert user.python("print(hex(ex.registers['A'][0, 0]))") == "0x12345678"
    assert places == {pane: user.root.locator(f"[data-pane={pane}]").bounding_box() for pane in "ABD"}
    user.sees(*ALL)
    user.push("[data-operand=A] [data-bit='0']")
    user.says(box, "0x12345679")
    user.sees(*ALL)
    task(3)
    user.push(box)  # what cannot be is said beside the field, and nothing moves
    user.write("0xyz")
    user.says(".ptx-explorer, [role=alert]", "hexadecimal")
    assert places == {pane: user.root.locator(f"[data-pane={pane}]").bounding_box() for pane in "ABD"}


@everywhere(in_lab="test_paste_and_refusal, test_toolbar and test_history_browser.py, in a bare page")
def test_7_8_9_paste_fill_undo(user: User, task: Callable[[int], None], page: Any) -> None:
    user.start(S4)
    block = np.arange(128).reshape(16, 8) % 7
    page.evaluate("text => navigator.clipboard.writeText(text)", repr(block))
    user.click("B", 0, 0)
    user.press("Control+v")
    task(3)
    assert user.python("print(ex.B[:16].tolist())") == str(block.tolist())
    user.choose("[data-tool=pattern]", "identity")
    user.push("[data-tool=go]")
    task(3)
    user.reads("B", 3, 3, 1)
    user.sees(*ALL)
    user.press("Control+z")
    task(1)
    user.reads("B", 3, 3, int(block[3, 3]))


@everywhere(in_lab="test_find_a_difference, in a bare page")
def test_10_chips_that_differ(user: User, task: Callable[[int], None], page: Any) -> None:
    user.start(F16)
    user.choose("[data-tool=against]", "sm_80 Ampere")
    user.push("[data-tool=find]")
    user.says(".ptx-differences", "differ")
    user.sees(*ALL)
    task(3)


@everywhere(in_lab="test_picker_browser.py and test_sparse, in a bare page")
def test_11_to_13_sparse(user: User, task: Callable[[int], None], page: Any) -> None:
    user.start(F16, "ex.A = np.arange(256).reshape(16, 16) % 8")
    user.pick("sparse fp8 wgmma m64n8k64 f32.e4m3.e4m3")
    user.says(".ptx-mnemonic", SPARSE_FP8)
    task(3)
    user.sees(".ptx-mnemonic", *LANE)
    user.press("Control+z")
    user.says(".ptx-mnemonic", F16)
    assert user.python("print(ex.A[1].tolist())") == str((np.arange(16.0) % 8).tolist())

    user.start(SPARSE_S4)
    user.choose("[data-option=selector]", "1")  # 12
    task(3)
    until(lambda: user.python("print(ex.state.options['selector'])") == "1", page, "the selector")
    text = user.point("A", 9, 37)  # 13: its nibble
    assert "nibble" in text
    user.sees("[data-pane=A]", "[data-pane=stored]")
    task(3)


@everywhere(in_lab="test_why_a_cell_of_d_has_its_bits, in a bare page")
def test_14_why_these_bits(user: User, task: Callable[[int], None], page: Any) -> None:
    user.start(F16)
    user.click("D", 3, 5)
    user.push("[data-tool=why]")
    page.wait_for_selector(".ptx-trace-body")
    at_rest(page)
    view = user.host.view()
    body = page.locator(".ptx-trace-body").bounding_box()
    assert body["y"] < view["y"] + view["height"] - 200, "the beginning of the answer is in view"
    task(3)


@everywhere(in_lab="test_the_cell_under_the_pointer_stays_there, in a bare page")
def test_15_zoom(user: User, task: Callable[[int], None], page: Any) -> None:
    user.start(S4)
    user.hover("A", 9, 37)
    x, y = user.middle("A", 9, 37)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -240)
    page.keyboard.up("Control")
    user.actions += 1
    at_rest(page)
    page.mouse.move(x + 1, y)
    expect(user.status).to_have_text(starting("A[9][37] = "))
    user.sees_cell("A", 9, 37)
    task(3)


@everywhere(in_lab="test_names_of_large_and_scaled_instructions, in a saved page")
def test_16_a_cell_of_a_large_instruction(user: User, task: Callable[[int], None], page: Any) -> None:
    user.start(S4)
    user.pick("m64n256k16 f32.f16.f16")
    user.says(".ptx-mnemonic", LARGE)
    user.press("/")
    user.write("D[40][200]")
    user.says(".ptx-lane-title b", "Thread 64: warp 2, lane 0")
    page.wait_for_selector(".ptx-field.here")
    user.sees_cell("D", 40, 200)
    user.sees(".ptx-field.here", *LANE)
    registers = page.locator("[data-operand=D] .ptx-hex").evaluate_all(
        "nodes => nodes.map((node) => Number(node.dataset.register))"
    )
    assert ptxlab.instruction(LARGE).d.where(40, 200)[0].register in registers
    task(4)


@everywhere(in_lab="test_exports and test_static_browser.py, in a bare page")
def test_17_18_take_it_along(user: User, task: Callable[[int], None], page: Any, tmp_path: Path) -> None:
    user.start(S4)
    user.actions += 1
    user.tool("[data-export=code]").click()
    copied = "navigator.clipboard.readText()"
    until(lambda: "ptxlab" in page.evaluate(copied), page, "Python code is in the clipboard")
    task(3)
    with page.expect_download() as download:
        user.actions += 1
        user.tool("[data-export=page]").click()
        if isinstance(user.host, Tab):
            page.wait_for_selector("[data-export=page].busy")  # it takes a second there
    download.value.save_as(tmp_path / "page.html")
    task(2)
    saved = page.context.new_page()
    saved.goto((tmp_path / "page.html").as_uri())
    assert Shown(saved).hover("A", 9, 37).startswith("A[9][37] = ")
    saved.close()


@hosts("notebook", TAB)
def test_19_dark_theme(user: User, task: Callable[[int], None], page: Any) -> None:
    user.start(S4)
    colour = "node => getComputedStyle(node).color"
    light = user.root.evaluate(colour)
    assert not isinstance(user.host, Bare)
    user.actions += user.host.set_theme("dark")
    until(lambda: user.root.evaluate(colour) != light, page, "the text has another colour")
    user.sees(*ALL)
    assert user.drawn()
    task(3)
    user.host.set_theme("light")


@everywhere(in_lab="test_from_the_start_to_an_edited_a_in_ten_keys, in a bare page")
def test_20_by_keyboard(user: User, task: Callable[[int], None], page: Any) -> None:
    """From the first control of the Explorer to A, an edit, and D read out: ten keys."""
    user.start(S4, "ex.B = np.ones((64, 8)); ex.A = np.zeros((16, 64))")
    user.root.locator("button, [tabindex='0']").first.focus()
    while not page.evaluate(FOCUSED, "A"):
        user.press("Tab")
        assert user.actions <= 8, "A is reached"
    user.press("5", "Enter")
    user.reads("D", 0, 0, 5)
    user.sees(*ALL)
    task(10)
