"""Cells edited as in a spreadsheet, by mouse and keyboard: fill handle, blocks, arrow keys, refused edits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.gestures import at_rest
from tools.bare_page import BareBook, BarePage
from tools.jupyter import Shown

pytestmark = pytest.mark.browser
ARTIFACTS = Path(__file__).parents[2] / "artifacts" / "browser"

DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
CODE = f"""import numpy as np, ptxlab
ex = ptxlab.explore({DENSE!r})
def start(name):
    ex.instruction = name
    ex.A, ex.B, ex.C = np.zeros(ex.A.shape), np.ones(ex.B.shape), np.zeros(ex.C.shape)
ex"""


@pytest.fixture(scope="module")
def book(bare: BarePage, page: Any) -> BareBook:
    opened = bare.open(page, "edit", [CODE, "pass"])
    opened.run(0)
    return opened


class Sheet(Shown):
    """The explorer as a spreadsheet; `python` runs code in the next cell of the notebook."""

    def __init__(self, book: BareBook) -> None:
        super().__init__(book.page)
        self.book = book

    def start(self, mnemonic: str) -> None:
        self.python(f"start({mnemonic!r})")
        expect(self.page.locator(".ptx-mnemonic").first).to_have_text(mnemonic)
        at_rest(self.page)

    def python(self, code: str) -> str:
        return self.book.run(1, code)

    def block(self, rows: str, columns: str) -> Any:
        """Values of a part of A, read in Python."""
        return eval(self.python(f"print(ex.A[{rows}, {columns}].tolist())"), {"nan": float("nan")})

    def choose(self, name: str, row: int, column: int, row2: int, column2: int) -> None:
        self.click(name, row, column)
        self.page.keyboard.down("Shift")
        self.click(name, row2, column2)
        self.page.keyboard.up("Shift")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def paste(self, text: str) -> None:
        self.page.evaluate("text => navigator.clipboard.writeText(text)", text)
        self.press("Control+v")

    def clipboard(self) -> str:
        return str(self.page.evaluate("() => navigator.clipboard.readText()"))

    def drag(self, name: str, row: int, column: int, *, ctrl: bool = False, keep: bool = False) -> None:
        """Drag the handle to a cell."""
        box = self.handle.bounding_box()
        self.page.mouse.move(box["x"] + 4, box["y"] + 4)
        self.page.mouse.down()
        x, y = self.middle(name, row, column)
        self.page.mouse.move((x + box["x"]) / 2, (y + box["y"]) / 2)
        if ctrl:
            self.page.keyboard.down("Control")
        self.page.mouse.move(x, y)
        if not keep:
            self.drop(ctrl=ctrl)

    def drop(self, *, ctrl: bool = False) -> None:
        self.page.mouse.up()
        if ctrl:
            self.page.keyboard.up("Control")

    def picture(self, name: str) -> None:
        """Keep what the explorer looks like now, with PTXLAB_PICTURES=1."""
        if os.environ.get("PTXLAB_PICTURES"):
            ARTIFACTS.mkdir(parents=True, exist_ok=True)
            self.root.screenshot(path=str(ARTIFACTS / f"{name}.png"))

    @property
    def handle(self) -> Any:
        return self.root.locator(".ptx-handle:visible")

    @property
    def refusal(self) -> Any:
        return self.root.locator(".ptx-refusal")

    def refusal_text(self) -> str:
        self.refusal.wait_for(timeout=10_000)
        return str(self.refusal.inner_text())


@pytest.fixture
def sheet(book: BareBook) -> Sheet:
    return Sheet(book)


def test_handle(sheet: Sheet) -> None:
    """Dragged down, right, up and left; copies, patterns, series, and Ctrl that turns it round."""
    sheet.start(DENSE)
    sheet.click("A", 1, 1)
    sheet.paste("1\t2\n3\t5")
    sheet.reads("A", 2, 2, 5)
    sheet.choose("A", 1, 1, 2, 1)
    sheet.drag("A", 4, 1, keep=True)
    sheet.picture("edit_handle")
    text = sheet.status.text_content()
    assert text.startswith("fill A[1..4][1]: continue A[1..2][1] if its steps are equal")
    assert "with Ctrl" in text
    sheet.drop()
    sheet.reads("A", 4, 1, 7)
    assert sheet.block(":6", "1") == [0, 1, 3, 5, 7, 0]
    sheet.choose("A", 1, 1, 2, 2)
    sheet.drag("A", 1, 7, ctrl=True)
    sheet.reads("A", 2, 7, 3)
    assert sheet.block("1:3", "1:9") == [[1, 2, 1, 2, 1, 2, 1, 0], [3, 5, 3, 5, 3, 5, 3, 0]]

    # one cell is copied; with Ctrl it counts on; both also backwards
    sheet.type("A", 10, 20, "4")
    sheet.click("A", 10, 20)
    sheet.drag("A", 8, 20)
    sheet.reads("A", 8, 20, 4)
    sheet.click("A", 10, 20)
    sheet.drag("A", 10, 17, ctrl=True)
    sheet.reads("A", 10, 17, 1)
    assert sheet.block("10", "16:21") == [0, 1, 2, 3, 4]
    assert sheet.block("7:11", "20") == [0, 4, 4, 4]

    # one step to undo; Escape while dragging changes nothing; a series that s4 cannot hold neither
    sheet.click("A", 10, 20)
    sheet.press("Control+z")
    sheet.reads("A", 10, 17, 0)
    sheet.click("A", 10, 20)
    sheet.drag("A", 14, 20, keep=True)
    sheet.press("Escape")
    sheet.drop()
    sheet.choose("A", 3, 1, 4, 1)
    sheet.drag("A", 8, 1)
    assert "A[5][1]: the series reaches 9; s4 holds -8..7" in sheet.refusal_text()
    sheet.press("Escape")
    sheet.refusal.wait_for(state="detached")
    assert sheet.block("4:15", "1") == [7, *[0] * 10] and sheet.block("11:", "20") == [0] * 5


def test_handle_clicked_twice_fills_down(sheet: Sheet) -> None:
    sheet.start(DENSE)
    sheet.click("A", 12, 5)
    sheet.paste("-1\n-2")
    sheet.reads("A", 13, 5, -2)
    sheet.choose("A", 12, 5, 13, 5)
    sheet.handle.dblclick()
    sheet.reads("A", 15, 5, -4)
    assert sheet.block("10:", "5") == [0, 0, -1, -2, -3, -4]
    assert not sheet.root.locator(".ptx-cell.editing").count()
    sheet.click("D", 3, 3)
    assert not sheet.handle.count()


def test_fill_by_keyboard(sheet: Sheet) -> None:
    """Ctrl+D and Ctrl+R, over a range and from the neighbour."""
    sheet.start(DENSE)
    sheet.click("A", 2, 2)
    sheet.paste("1\t2\t3")
    sheet.choose("A", 2, 2, 5, 4)
    sheet.press("Control+d")
    sheet.reads("A", 5, 4, 3)
    sheet.choose("A", 4, 4, 5, 7)
    sheet.press("Control+r")
    sheet.reads("A", 5, 7, 3)
    assert sheet.block("1:7", "1:9") == [
        [0] * 8, [0, 1, 2, 3, 0, 0, 0, 0], [0, 1, 2, 3, 0, 0, 0, 0], [0, 1, 2, 3, 3, 3, 3, 0],
        [0, 1, 2, 3, 3, 3, 3, 0], [0] * 8,
    ]  # fmt: skip
    sheet.click("A", 6, 3)
    sheet.press("Control+d")
    sheet.reads("A", 6, 3, 2)
    sheet.click("A", 6, 4)
    sheet.press("Control+r")
    sheet.reads("A", 6, 4, 2)


def test_blocks(sheet: Sheet) -> None:
    """Cut, paste, a value over a range, a block repeated; what LibreOffice and Excel put on the clipboard."""
    sheet.start(DENSE)
    sheet.click("A", 0, 0)
    sheet.paste('1\t"2"\r\n3\t4\r\n')
    sheet.reads("A", 1, 1, 4)
    sheet.choose("A", 0, 0, 1, 1)
    sheet.press("Control+x")
    assert sheet.clipboard().splitlines() == ["1\t2", "3\t4"]
    sheet.reads("A", 1, 1, 0)
    sheet.choose("A", 4, 4, 7, 9)
    sheet.press("Control+v")
    sheet.reads("A", 7, 9, 4)
    assert sheet.block("3:9", "4:10") == [[0] * 6, [1, 2] * 3, [3, 4] * 3, [1, 2] * 3, [3, 4] * 3, [0] * 6]
    sheet.choose("A", 5, 5, 6, 6)
    sheet.paste("-7")
    sheet.reads("A", 6, 6, -7)
    assert sheet.block("4:8", "4:8") == [[1, 2, 1, 2], [3, -7, -7, 4], [1, -7, -7, 2], [3, 4, 3, 4]]

    # all of it, copied and cleared
    sheet.click("A", 9, 9)
    sheet.press("Control+a", "Control+c", "Delete")
    assert [line.count("\t") for line in sheet.clipboard().splitlines()] == [63] * 16
    sheet.reads("A", 4, 4, 0)
    assert sheet.block(":", ":") == [[0] * 64] * 16
    sheet.click("A", 0, 0)
    sheet.paste(sheet.clipboard())
    sheet.reads("A", 6, 6, -7)

    # a decimal comma is refused with a sentence
    sheet.click("A", 0, 0)
    sheet.paste("1,5")
    assert "found '1,5'; s4 takes a number such as 1, with a point and no comma" in sheet.refusal_text()
    sheet.press("Escape")


def test_keys_that_move(sheet: Sheet) -> None:
    sheet.start(DENSE)
    sheet.click("B", 3, 3)

    def at(row: int, column: int) -> None:
        sheet.page.wait_for_function(
            "start => document.activeElement.getAttribute('aria-label')?.startsWith(start)",
            arg=f"B[{row}][{column}] ",
        )

    for keys, row, column in [
        ("Control+ArrowDown", 63, 3), ("Control+ArrowRight", 63, 7), ("Control+Home", 0, 0),
        ("Control+End", 63, 7), ("Home", 63, 0),
        ("Control+ArrowUp", 0, 0), ("End", 0, 7), ("Control+ArrowLeft", 0, 0),
    ]:  # fmt: skip
        sheet.press(keys)
        at(row, column)
    sheet.press("PageDown")
    label = sheet.page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    moved = int(label.split("[")[1].split("]")[0])
    assert 4 <= moved <= 63
    sheet.press("PageUp")
    at(0, 0)

    # Tab leaves the matrix and Shift+Tab comes back; while something is typed it goes to the next cell
    sheet.press("1", "Tab")
    at(0, 1)
    sheet.press("Tab")
    assert not sheet.page.evaluate("() => document.activeElement.matches('[data-matrix=B]')")
    sheet.press("Shift+Tab")
    at(0, 1)


def test_old_news_of_the_selection_moves_nothing(sheet: Sheet) -> None:
    """Enter moved on, of which Python hears later; an echo of what was selected before comes first."""
    sheet.start(DENSE)
    sheet.click("A", 4, 0)
    label = sheet.page.evaluate(
        """async () => {
          const input = document.activeElement;
          input.value = "1";
          input.dispatchEvent(new Event("input"));
          input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
          const state = { selected: { name: "A", row: 4, column: 0 } };
          await window.fromPython([{ method: "update", state, paths: [], buffers: [] }]);
          return document.activeElement.getAttribute("aria-label");
        }"""
    )
    assert label.startswith("A[5][0] ")
    sheet.press("2", "Enter")
    sheet.reads("A", 5, 0, "2")
    assert sheet.block("4:6", "0") == [1, 2]


def test_refusal_by_mouse(sheet: Sheet) -> None:
    """Three in a chunk of four: refused at the chunk, pruned on demand, undone in one step."""
    sheet.start(SPARSE)
    sheet.click("A", 3, 8)
    sheet.paste("2\t3")
    sheet.reads("A", 3, 9, 3)
    sheet.type("A", 3, 10, "1.5")
    text = sheet.refusal_text()
    assert text.startswith(
        "A: row 3, columns 8..11: 3 of the 4 values are non-zero; 2:4 sparsity keeps at most 2"
    )
    assert "2 3 1.5 0 → 0 3 1.5 0" in text
    sheet.picture("edit_refusal")
    alert = sheet.root.locator(".ptx-problem[role=alert]")
    assert "row 3, columns 8..11" in alert.inner_text() and alert.bounding_box()["width"] <= 1
    assert sheet.refusal.get_by_role("button").all_inner_texts() == [
        "Prune this chunk",
        "Edit again",
        "Discard",
    ]

    # it stands clear of its chunk, inside the view
    box, root = sheet.refusal.bounding_box(), sheet.root.bounding_box()
    _, y = sheet.middle("A", 3, 10)
    assert (
        box["y"] + box["height"] < y
        and box["x"] >= root["x"]
        and box["x"] + box["width"] <= root["x"] + root["width"]
        and box["y"] >= root["y"]
    )

    sheet.refusal.get_by_role("button", name="Prune this chunk").click()
    sheet.refusal.wait_for(state="detached")
    sheet.reads("A", 3, 10, 1.5)
    sheet.reads("D", 3, 0, 4.5)
    assert sheet.block("3", "8:12") == [0, 3, 1.5, 0]
    sheet.click("A", 3, 10)
    sheet.press("Control+z")
    sheet.reads("A", 3, 8, 2)
    assert sheet.block("3", "8:12") == [2, 3, 0, 0]

    # typed again instead
    sheet.type("A", 3, 10, "1.25")
    sheet.refusal.get_by_role("button", name="Edit again").click()
    editor = sheet.root.locator(".ptx-cell.editing")
    assert editor.input_value() == "1.25"
    sheet.press("0", "Enter")
    sheet.refusal.wait_for(state="detached")
    assert sheet.block("3", "8:12") == [2, 3, 0, 0]


def test_refusal_by_keyboard(sheet: Sheet) -> None:
    """Tab leads from the cell to the buttons, Escape keeps what was; an edit elsewhere ends it too."""
    sheet.start(SPARSE)
    sheet.click("A", 0, 0)
    sheet.paste("1\t2\t3\t4\t5\t6\t7\t8")
    assert "and 1 more chunk)" in sheet.refusal_text()
    sheet.picture("edit_refusal_several")
    assert sheet.page.evaluate("() => document.activeElement.matches('[data-matrix=A]')")
    sheet.press("Tab")
    assert sheet.page.evaluate("() => document.activeElement.textContent") == "Prune all 2 chunks"
    sheet.press("Enter")
    sheet.refusal.wait_for(state="detached")
    assert sheet.page.evaluate("() => document.activeElement.matches('[data-matrix=A]')")
    sheet.reads("A", 0, 7, 8)
    assert sheet.block("0", ":8") == [0, 0, 3, 4, 0, 0, 7, 8]

    for end in (
        lambda: sheet.press("Escape"),
        lambda: sheet.press("Tab", "Escape"),
        lambda: sheet.press("Tab", "Tab", "Tab", "Enter"),
        lambda: sheet.type("B", 0, 0, "2"),
    ):
        sheet.type("A", 0, 0, "9")
        sheet.refusal_text()
        end()
        sheet.refusal.wait_for(state="detached")
    assert sheet.block("0", ":8") == [0, 0, 3, 4, 0, 0, 7, 8]


def test_refusal_of_a_fill_and_of_metadata(sheet: Sheet) -> None:
    sheet.start(SPARSE)
    sheet.type("A", 5, 0, "2")
    sheet.click("A", 5, 0)
    sheet.drag("A", 5, 5, ctrl=True)
    assert "row 5, columns 0..3" in sheet.refusal_text()
    sheet.refusal.get_by_role("button", name="Prune this chunk").click()
    sheet.reads("A", 5, 5, 7)
    assert sheet.block("5", ":8") == [0, 0, 4, 5, 6, 7, 0, 0]
    sheet.root.locator("[data-pane=stored]").scroll_into_view_if_needed()
    box = sheet.root.evaluate("root => root.cellRect('E', 5, 2)")
    sheet.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    sheet.page.keyboard.type("0b0000")
    sheet.press("Enter")
    assert "metadata of row 5, chunk 2: nibble 0b0000 is undefined" in sheet.refusal_text()
    sheet.picture("edit_refusal_metadata")
    assert sheet.refusal.get_by_role("button").all_inner_texts() == ["Edit again", "Discard"]
    sheet.press("Escape")
    sheet.refusal.wait_for(state="detached")


def test_the_tip_does_not_cover_what_was_pasted(sheet: Sheet) -> None:
    sheet.start(DENSE)
    sheet.click("A", 0, 0)
    tip = sheet.root.locator(".ptx-tooltip.on")
    expect(tip).to_have_count(1)
    sheet.paste("1\t2\n3\t5")
    expect(tip).to_have_count(0, timeout=5_000)
