"""The picker in a real browser, by keyboard alone and by mouse: what Python has, what data stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from ptxlab.explorer.page.picker import picker_index
from tests.browser.gestures import enter, press, starting
from tools.bare_page import BareBook, BarePage
from tools.jupyter import Shown

pytestmark = pytest.mark.browser

DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE = "mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SHARED = "wgmma.mma_async.sync.aligned.m64n24k32.s32.s8.s8"
IN_EXPLORER = "() => document.querySelector('.ptx-explorer').contains(document.activeElement)"


def everything() -> str:
    """How many there are without a search, in the picker's words."""
    return f"{picker_index()['count']:,} instructions"


class Picking:
    """The picker on the page."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.root = page.locator(".ptx-explorer")
        self.change = self.root.get_by_role("button", name="change")
        self.search = self.root.get_by_role("combobox", name="search by shape")
        self.panel = self.root.get_by_role("search", name="choose an instruction")
        self.matches = self.panel.locator(".ptx-match")
        self.count = self.panel.locator(".ptx-count")

    def open(self) -> None:
        self.change.click()
        self.ready()

    def ready(self) -> None:
        self.matches.first.wait_for()
        assert self.change.get_attribute("aria-expanded") == "true"

    def column(self, name: str) -> Any:
        return self.panel.get_by_role("listbox", name=name)

    def option(self, column: str, text: str) -> Any:
        return self.column(column).locator(f"[data-value='{text}']")

    def names(self) -> list[str]:
        return [str(node.get_attribute("data-mnemonic")) for node in self.matches.all()]

    def shows(self, mnemonic: str) -> None:
        expect(self.page.locator(".ptx-mnemonic").first).to_have_text(mnemonic)


@pytest.fixture(scope="module")
def book(bare: BarePage, page: Any) -> BareBook:
    opened = bare.open(
        page, "picker", [f"import numpy as np, ptxlab\nex = ptxlab.explore({DENSE!r})\nex", "pass"]
    )
    opened.run(0)
    page.wait_for_selector(".ptx-explorer [data-pane=A] canvas", timeout=30_000)
    return opened


@pytest.fixture
def python(book: Any) -> Any:
    return lambda code: book.run(1, code)


@pytest.fixture
def picking(book: Any, page: Any) -> Iterator[Picking]:
    opened = Picking(page)
    yield opened
    if opened.panel.is_visible():
        page.keyboard.press("Escape")


def start(python: Any, picking: Picking) -> None:
    python(
        f"ex.instruction = {DENSE!r}; ex.A = np.tile([0, 0, 3, 4, 0, 0, 5, 0], (16, 8));"
        " ex.B = np.ones((64, 8))"
    )
    picking.shows(DENSE)


@pytest.mark.parametrize(
    "field", ["[data-pane=A] .ptx-cell", ".ptx-register .ptx-hex", ".ptx-register .ptx-value"]
)
def test_a_key_opens_it_from_a_field_that_is_not_being_edited(
    picking: Picking, python: Any, page: Any, field: str
) -> None:
    start(python, picking)
    page.locator(field).first.focus()
    page.locator(field).first.evaluate("node => node.select?.()")
    before = page.locator(field).first.input_value()
    page.keyboard.press("Control+k")
    picking.ready()
    page.keyboard.press("Escape")
    assert page.locator(field).first.input_value() == before


def test_by_keyboard_alone(picking: Picking, python: Any, page: Any) -> None:
    start(python, picking)
    page.locator(".ptx-lane").first.focus()
    page.keyboard.press("Control+k")
    picking.ready()
    assert picking.search.evaluate("node => node === document.activeElement")
    assert everything() in picking.count.inner_text()
    assert picking.names()[0] == DENSE and "current" in picking.matches.first.inner_text()

    page.keyboard.type("sparse s4 m16n8k64")
    assert picking.count.inner_text() == f"12 of {everything()} match"
    assert picking.matches.first.locator("mark").all_inner_texts() == ["m16n8k64", "s4", "s4", "sparse"]
    press(page, "ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp")
    assert picking.search.get_attribute("aria-activedescendant") == picking.matches.first.get_attribute("id")
    page.keyboard.press("Enter")
    picking.shows(SPARSE)
    assert picking.panel.is_hidden() and picking.change.evaluate("node => node === document.activeElement")
    printed = python("print(ex.instruction.mnemonic, ex.A[3, :8].tolist(), int(ex.B.min()), ex.D[0, 0])")
    assert printed == f"{SPARSE} [0, 0, 3, 4, 0, 0, 5, 0] 1 96"  # 8 * (3 + 4 + 5)


def test_tcgen05_is_picked(picking: Picking, python: Any, page: Any) -> None:
    start(python, picking)
    picking.open()
    page.keyboard.type("b200 tensor pair tf32")
    name = "tcgen05.mma.cta_group::2.kind::tf32"
    assert picking.names()[0] == name
    page.keyboard.press("Enter")
    picking.shows(name)
    assert python("print(ex.instruction.mnemonic, ex.instruction.shape)") == f"{name} m256n256k8"


def test_columns_by_keyboard(picking: Picking, python: Any, page: Any) -> None:
    start(python, picking)
    picking.change.focus()
    page.keyboard.press("Enter")
    picking.ready()
    for _ in range(2):  # past the button that closes
        page.keyboard.press("Tab")
    focused = "() => document.activeElement.dataset.value"
    assert page.evaluate(focused) == "mma"
    press(page, "ArrowDown", "Enter")
    assert picking.option("family", "mma.sp").get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == "m16n8k64"
    press(page, "Space", "ArrowRight")
    assert page.evaluate(focused) == "s32.s4.s4.s32"
    page.keyboard.press("Enter")
    assert picking.count.inner_text() == f"4 of {everything()} match"
    page.keyboard.press("u")  # goes on in the search box
    assert picking.search.input_value() == "u"
    page.keyboard.press("Escape")
    assert picking.panel.is_hidden() and picking.change.evaluate("node => node === document.activeElement")


def test_columns_by_mouse(picking: Picking, python: Any, page: Any) -> None:
    start(python, picking)
    page.locator(".ptx-mnemonic").click()
    picking.ready()
    picking.option("target", "sm_75").click()
    assert picking.option("family", "wgmma").get_attribute("aria-disabled") == "true"
    assert picking.count.inner_text() == f"225 of {everything()} match"
    picking.option("target", "sm_75").click()  # a second click takes it back
    picking.option("family", "wgmma").click()
    picking.option("shape", "m64nNk32").click()
    picking.option("types", "s32.s8.s8.s32").click()
    assert picking.count.inner_text() == f"36 of {everything()} match"
    picking.option("N", "24").click()
    picking.option("A in", "shared memory").click()
    assert picking.names() == [SHARED, SHARED.replace(".s32.", ".satfinite.s32.")]
    assert picking.option("N", "40").get_attribute("aria-disabled") == "true"
    picking.matches.first.click()
    picking.shows(SHARED)
    printed = python(
        "print(ex.instruction, ex.instruction.a_space, ex.A[:17, :8].sum(), ex.A.shape,"
        " int(ex.B[:32, :8].min()), ex.D[0, 0])"
    )
    assert printed == f"{SHARED} shared 192 (64, 32) 1 48"
    picking.open()
    assert picking.matches.first.get_attribute("aria-current") == "true"
    picking.option("family", "wgmma").click()
    assert picking.option("A in", "shared memory").get_attribute("aria-selected") == "true"


def test_what_leads_nowhere_is_said(picking: Picking, python: Any, page: Any) -> None:
    start(python, picking)
    picking.open()
    help = picking.panel.locator(".ptx-picker-help")
    assert f"{picker_index()['others'][0]} more of tcgen05 have no matrices and no data" in help.inner_text()
    picking.search.fill("tcgen05.commit")
    expect(help).to_have_text(starting("tcgen05.commit has no matrices and no data"))
    picking.search.fill("")
    page.keyboard.type("banana <img src=x>")
    assert "banana" in picking.panel.locator(".ptx-picker-help").inner_text() and picking.matches.count() == 0
    assert page.locator(".ptx-explorer img").count() == 0
    page.keyboard.press("Enter")
    picking.panel.get_by_role("button", name="clear").click()
    assert picking.count.inner_text() == everything()
    assert page.evaluate(IN_EXPLORER)
    page.keyboard.press("Escape")
    assert picking.panel.is_hidden()
    assert python("print(ex.instruction)") == DENSE


def test_pasted_code_and_atoms_are_looked_up(picking: Picking, python: Any, page: Any) -> None:
    """What is no search goes to Python, which knows any spelling of the assembler and CUTLASS's atoms."""
    for text, mnemonic in [
        (
            'asm volatile("mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32 {%0}, ...;"',
            "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
        ),
        ("SM90_64x128x16_F32F16F16_SS", "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"),
    ]:
        picking.open()
        picking.search.fill(text)
        expect(picking.panel.locator(".ptx-picker-help")).to_have_text(
            starting("Press Enter to look this up")
        )
        picking.search.press("Enter")
        picking.shows(mnemonic)
    assert python("print(ex.instruction.a_space)") == "shared"
    picking.open()
    enter(picking.search, "wgmma.fence.sync.aligned;")
    expect(page.locator(".ptx-problem").first).to_contain_text("it multiplies nothing")
    python(f"ex.instruction = {DENSE!r}")
    picking.shows(DENSE)


def test_copy(picking: Picking, python: Any, page: Any) -> None:
    start(python, picking)
    Shown(page).tool(".ptx-copy-name").click()
    expect(page.locator(".ptx-copy-name")).to_have_text("copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == DENSE


def test_a_saved_page_has_no_picker(picking: Picking, python: Any, page: Any, tmp_path: Path) -> None:
    file = tmp_path / "picker.html"
    python(f"ex.save_html({str(file)!r})")
    saved = page.context.new_page()
    try:
        saved.goto(file.as_uri())
        saved.wait_for_selector("[data-pane=A] canvas")
        assert saved.locator(".ptx-copy-name").text_content() == "copy name"
        assert saved.locator(".ptx-change").count() == 0 and saved.locator(".ptx-clickable").count() == 0
        saved.locator(".ptx-mnemonic").click()
        assert saved.locator(".ptx-picker").is_hidden()
    finally:
        saved.close()


def test_nothing_is_cut_off(picking: Picking, python: Any, page: Any) -> None:
    """At half the width too: no list wider than the panel, and the picture below it."""
    start(python, picking)
    before = page.viewport_size
    try:
        for width in (before["width"], 700):
            page.set_viewport_size({"width": width, "height": before["height"]})
            page.wait_for_function("width => window.innerWidth === width", arg=width)
            picking.open()
            page.keyboard.type("wgmma")
            box, root, product = (
                page.locator(selector).bounding_box()
                for selector in (".ptx-picker", ".ptx-explorer", ".ptx-stage")
            )
            assert box["x"] >= root["x"] - 1 and box["x"] + box["width"] <= root["x"] + root["width"] + 1
            assert product["y"] >= box["y"] + box["height"]
            parts = ".ptx-picker-columns, .ptx-wgmma, .ptx-matches, .ptx-search-row"
            page.wait_for_function(
                """parts => [...document.querySelectorAll(`.ptx-picker :is(${parts})`)]
                  .every((part) => part.scrollWidth <= part.clientWidth + 1)""",
                arg=parts,
                timeout=5_000,
            )
            page.keyboard.press("Escape")
    finally:
        page.set_viewport_size(before)


def test_a_name_that_says_too_little_opens_the_picker(bare: BarePage, page: Any) -> None:
    """Its candidates are listed without taking the focus; one is chosen as always, and then it is over."""
    short, chosen = "mma.m16n8k16.f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    other = page.context.new_page()
    try:
        opened = bare.open(other, "ambiguous", [f"import ptxlab\nex = ptxlab.explore({short!r})\nex", "pass"])
        opened.run(0)
        picking = Picking(other)
        picking.ready()
        assert picking.search.input_value() == short and not other.evaluate(IN_EXPLORER)
        assert picking.names() == [chosen.replace("f32", "f16"), chosen]
        assert picking.count.inner_text() == f"2 of {everything()} match"
        assert picking.matches.first.locator("mark").all_inner_texts()[:2] == ["mma", "m16n8k16"]
        assert "'mma.m16n8k16.f16' fits 2 instructions" in picking.root.inner_text()
        picking.search.click()
        other.keyboard.press("End")
        other.keyboard.type(".bf16")  # any other text is searched for, its parts in any mnemonic
        expect(picking.count).to_have_text(f"0 of {everything()} match")
        press(other, *["Backspace"] * len(".bf16"))
        picking.matches.nth(1).click()
        picking.shows(chosen)
        expect(picking.panel).to_be_hidden()
        picking.open()
        assert picking.search.input_value() == ""
    finally:
        other.close()
