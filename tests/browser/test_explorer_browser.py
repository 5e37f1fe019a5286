"""The Explorer in JupyterLab and Chromium, by keyboard and mouse: the screen and Python agree."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import ptxlab
from ptxlab.explorer.links import PAGE
from tests.browser.gestures import at_rest, enter, press, starting
from tests.sampling import EXHAUSTIVE, every_third, one_in, some
from tools.bare_page import BareBook, BarePage
from tools.jupyter import Shown, until

pytestmark = pytest.mark.browser

#: Two frames later: what watches sizes has seen the new ones, and all is drawn.
DRAWN = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"

DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
K16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
F16 = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"
SPARSE_S4 = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
WIDE = "wgmma.mma_async.sp.sync.aligned.m64n256k64.s32.s8.s8"


class Screen(Shown):
    """The explorer on the page."""

    def register(self, operand: str, index: int) -> Any:
        return self.page.locator(f".ptx-hex[data-operand={operand}][data-register='{index}']")

    def problem(self, part: str) -> str:
        expect(self.page.locator(".ptx-problem").first).to_contain_text(part)
        return str(self.page.locator(".ptx-problem").inner_text())


@pytest.fixture
def page(own_page: Any) -> Any:
    return own_page


@pytest.fixture
def book(bare: BarePage, page: Any) -> BareBook:
    """A notebook whose first cell shows an explorer; its second is free for Python."""
    opened = bare.open(
        page, "explorer", [f"import numpy as np, ptxlab\nex = ptxlab.explore({DENSE!r})\nex", "pass"]
    )
    opened.run(0)
    return opened


@pytest.fixture
def python(book: Any) -> Iterator[Any]:
    """Runs code in the next notebook cell and gives what it prints."""
    return lambda code: book.run(1, code)


@pytest.fixture
def screen(book: Any, page: Any) -> Screen:
    return Screen(page)


def start(python: Any, page: Any, mnemonic: str, b: str) -> None:
    python(
        f"ex.instruction = {mnemonic!r}; ex.view.zoom = 100"
        f"; ex.C = np.zeros(ex.C.shape); ex.B = {b}; ex.A = np.zeros(ex.A.shape)"
    )
    expect(page.locator(".ptx-mnemonic").first).to_have_text(mnemonic)


def test_dense(screen: Screen, python: Any, page: Any) -> None:
    start(python, page, DENSE, "np.ones((64, 8))")
    place = ptxlab.instruction(DENSE).a.where(9, 37)[0]
    assert (place.lane, place.register) == (4, 3)

    # a cell of A, typed: the register of its lane, D on the screen, both in Python
    screen.type("A", 9, 37, "-3")
    screen.reads("A", 9, 37, -3)
    text = screen.hover("A", 9, 37)
    assert (
        text == f"A[9][37] = -3 · lane 4 · element a{place.element}"
        f" · register 3, bits {place.high}..{place.low} · code 0xd"
    )
    expected = f"0x{0xD << place.low:08x}"
    expect(screen.register("A", 3)).to_have_value(expected)
    assert page.locator(".ptx-lane[aria-pressed=true]").inner_text() == "4"
    screen.reads("D", 9, 0, -3)
    assert (
        python('print(ex.A[9, 37], hex(ex.registers["A"][4, 3]), ex.D[9, 0])')
        == f"-3 {hex(0xD << place.low)} -3"
    )

    # a register, typed: eight cells of A and D follow
    enter(screen.register("A", 3), "0x11111111")
    screen.reads("A", 9, 36, 1)
    screen.reads("D", 9, 0, 8)
    assert python('print(ex.A[9].sum(), hex(ex.registers["A"][4, 3]), ex.D[9, 0])') == "8 0x11111111 8"

    # one bit of it, and one element of it
    page.locator("[data-operand=A] .ptx-register").nth(3).locator("[data-bit='0']").click()
    expect(screen.register("A", 3)).to_have_value("0x11111110")
    value = page.locator("[data-operand=A] .ptx-field[data-element=a25] .ptx-value")
    enter(value, "7")
    expect(screen.register("A", 3)).to_have_value("0x11111170")

    # another lane
    page.locator(".ptx-lane[data-lane='31']").click()
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Lane 31")
    expect(screen.register("A", 3)).to_have_value("0x00000000")


def test_paste_and_refusal(screen: Screen, python: Any, page: Any) -> None:
    start(python, page, DENSE, "np.ones((64, 8))")
    screen.click("A", 0, 0)
    page.evaluate("() => navigator.clipboard.writeText('1\\t2\\t3\\r\\n4\\t5\\t6\\r\\n')")
    page.keyboard.press("Control+v")
    screen.reads("A", 1, 2, 6)
    screen.reads("D", 0, 0, 6)

    # refused: the sentence, the old value, and nothing else lost
    screen.type("A", 0, 1, "9")
    assert screen.problem("A[0][1]") == "A[0][1]: found 9; s4 holds -8..7"
    screen.reads("A", 0, 1, 2)
    enter(screen.register("A", 0), "0xyz")
    assert "hexadecimal" in screen.problem("register 0")

    # C, shown on demand; an edit that is taken ends the complaint
    screen.tool("[data-pane=C] [aria-expanded]").click()
    page.wait_for_selector("[data-pane=C] canvas")
    screen.type("C", 0, 0, "100")
    screen.reads("D", 0, 0, 106)
    assert page.locator(".ptx-problem").inner_text() == ""
    screen.tool("[data-pane=C] [aria-expanded]").click()

    # what Python writes shows on the screen
    assert (
        python("print(ex.A[0:2, 0:3].tolist(), ex.C[0, 0], ex.D[0, 0]); ex.A = np.full((16, 64), 2)")
        == "[[1, 2, 3], [4, 5, 6]] 100 106"
    )
    screen.reads("A", 15, 63, 2)
    screen.reads("D", 0, 0, 228)


def test_keyboard(screen: Screen, python: Any, page: Any) -> None:
    start(python, page, DENSE, "np.ones((64, 8))")
    screen.click("A", 2, 5)
    for key in (
        "1",
        "Tab",
        "2",
        "Tab",
        "3",
        "Enter",
        "ArrowLeft",
        "4",
        "Enter",
        "ArrowUp",
        "ArrowLeft",
        "5",
        "Escape",
        "Enter",
        "6",
        "Enter",
    ):
        page.keyboard.press(key)
    screen.reads("A", 3, 5, 6)
    assert python("print(ex.A[2:4, 5:8].tolist())") == "[[1, 2, 3], [6, 4, 0]]"
    screen.click("A", 2, 5)
    press(page, "Shift+ArrowDown", "Shift+ArrowRight", "Control+c")
    assert page.evaluate("() => navigator.clipboard.readText()").splitlines() == ["1\t2", "6\t4"]
    page.keyboard.press("Delete")
    screen.reads("A", 3, 6, 0)
    assert python("print(ex.A[2:4, 5:8].tolist())") == "[[0, 0, 3], [0, 0, 0]]"


def test_sparse(screen: Screen, python: Any, page: Any) -> None:
    start(python, page, SPARSE, "np.ones((16, 8))")
    screen.type("A", 3, 5, "1.5")
    screen.reads("A", 3, 5, 1.5)
    screen.reads("stored", 3, 2, 1.5)
    screen.reads("E", 3, 2, "0b1110")
    assert "compressed at [3][2]" in screen.hover("A", 3, 5)
    assert "not stored: nibble 0b1110" in screen.hover("A", 3, 4)
    screen.type("A", 3, 4, "2")
    assert (
        screen.problem("row 3")
        == "A: row 3, columns 4..5: 2 of the 2 values are non-zero; 1:2 sparsity keeps at most 1"
    )
    screen.reads("A", 3, 4, 0)
    screen.type("E", 3, 2, "0b0000")
    assert "legal are 0b0100, 0b1110" in screen.problem("metadata of row 3, chunk 2")
    screen.type("E", 3, 2, "0b0100")
    screen.reads("A", 3, 4, 1.5)
    screen.reads("D", 3, 0, 1.5)
    text = python('print(ex.A[3, 4:6], bin(ex.metadata[3, 2]), ex.D[3, 0], ex.registers["E"].shape)')
    assert text == "[1.5 0. ] 0b100 1.5 (32, 1)"


def test_toolbar(screen: Screen, python: Any, page: Any) -> None:
    """Fill, undo, modifiers, chips and the look, from the toolbar above the picture."""
    start(python, page, "mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "np.ones((64, 8))")
    toolbar = page.locator(".ptx-toolbar")
    screen.click("B", 3, 2)
    assert toolbar.locator("[data-tool=fill]").input_value() == "B"
    screen.tool("[data-tool=pattern]").select_option("one-hot")
    screen.tool("[data-tool=go]").click()
    screen.reads("B", 3, 2, 1)
    assert python("print(ex.B.sum(), ex.B[3, 2])") == "1 1"
    toolbar.get_by_label("Undo").click()
    screen.reads("B", 4, 2, 1)
    screen.tool("[data-option=selector]").select_option("1")
    expect(page.locator("[data-option=selector]").first).to_have_value("1")
    assert python("print(ex.B.sum(), ex.state.options['selector'])") == "512 1"
    screen.tool("[data-tool=against]").select_option("sm_80 Ampere")
    page.wait_for_selector(".ptx-caption em[title='sm_90 and sm_80 agree']:text('all agree')")
    screen.tool("[data-trait=label]").select_option("hex code")
    screen.tool("[data-pane=C] [aria-expanded]").click()
    page.wait_for_selector("[data-pane=C]")
    page.wait_for_selector("button[data-trait=zoom]:text('%')", state="attached")  # near enough
    python("ex.view.zoom = 100")
    screen.tool("[aria-label=nearer]").click()
    page.wait_for_selector("button[data-trait=zoom]:text('125 %')", state="attached")
    assert python("print(ex.view.label, ex.view.show_c, ex.view.zoom, ex.against)") == "hex True 125 sm_80"
    assert toolbar.locator("[data-tool=gpu]").is_disabled() is not ptxlab.gpu.available()
    python("ex.view.label, ex.view.show_c, ex.view.zoom, ex.against = 'value', False, 100, None")


def test_find_a_difference(screen: Screen, python: Any, page: Any) -> None:
    """Two actions: another chip to compare with, and the button that finds inputs on which they differ."""
    start(python, page, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "np.ones((16, 8))")
    screen.tool("[data-tool=against]").select_option("sm_80 Ampere")
    find = page.locator("[data-tool=find]")
    find.click()
    page.wait_for_selector(".ptx-caption em.bad:text('1 of 1 differs')")
    page.wait_for_selector(".ptx-notice:text('sm_90 and sm_80 differ in 1 cell of D')")
    page.keyboard.press("Control+z")  # the focus is still in the Explorer
    page.wait_for_selector(".ptx-caption em:text('all agree')")
    python("ex.redo()")
    page.wait_for_selector(".ptx-caption em.bad:text('1 of 1 differs')")
    row, column = python("print(ex.selection['row'], ex.selection['column'])").split()
    assert python(f"print(ex.differ.sum(), ex.differ[{row}, {column}])") == "1 True"
    assert f"D[{row}][{column}]" in page.locator(".ptx-status").text_content()
    python("ex.undo()")
    page.wait_for_selector(".ptx-caption em:text('all agree')")
    assert python("print(ex.B.sum(), 'differ' in ex.view.notice)") == "128.0 False"
    screen.tool("[data-tool=against]").select_option("sm_100 Blackwell")
    page.wait_for_selector(".ptx-caption em[title='sm_90 and sm_100 agree']")
    for _ in range(2):  # the same answer once more
        find.click()
        page.wait_for_selector(".ptx-notice:text('use the same rule for this instruction')")
        page.wait_for_selector("[data-tool=find][aria-disabled=false]:text('find a difference')")
    python("ex.against = None")


def test_exports(screen: Screen, python: Any, page: Any, tmp_path: Path) -> None:
    """The bar's buttons copy code and link, and save the page."""
    start(python, page, DENSE, "np.ones((64, 8))")
    for export_format in ("code", "link"):
        screen.tool(f"[data-export={export_format}]").click()
        page.wait_for_selector(f"[data-export={export_format}]:text('copied')")
        copied = page.evaluate("() => navigator.clipboard.readText()")
        if export_format == "link":
            assert copied.startswith(f"{PAGE}#ptxlab:")
            assert ptxlab.explore(copied).instruction.mnemonic == DENSE
        else:
            compile(copied, "copied", "exec")
            assert DENSE in copied
    with page.expect_download() as download:
        screen.tool("[data-export=page]").click()
    download.value.save_as(tmp_path / "page.html")
    assert download.value.suggested_filename == f"{DENSE}.html"
    assert "ptxlab.explore" in (tmp_path / "page.html").read_text(encoding="utf-8")


SHAPES = [
    DENSE,
    SPARSE_S4,
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2",
    "wgmma.mma_async.sp.sync.aligned.m64n24k64.f32.e4m3.e5m2",
    WIDE,
]


@pytest.fixture
def narrow(page: Any) -> Iterator[Any]:
    """Sets the width of the window, and sets it back afterwards."""
    before = page.viewport_size

    def resize(width: int, height: int = before["height"]) -> None:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(DRAWN)

    yield resize
    page.set_viewport_size(before)
    page.evaluate(DRAWN)


def show(python: Any, page: Any, mnemonic: str) -> None:
    python(f"ex.instruction = {mnemonic!r}; ex.view.zoom = 100")
    expect(page.locator(".ptx-mnemonic").first).to_have_text(mnemonic)
    page.evaluate(DRAWN)


def boxes(page: Any, selector: str) -> list[dict[str, float]]:
    return list(
        page.evaluate(
            "s => [...document.querySelectorAll(s)].map((node) => node.getBoundingClientRect().toJSON())",
            selector,
        )
    )


@pytest.mark.parametrize("mnemonic", SHAPES if EXHAUSTIVE else SHAPES[3:4])
def test_nothing_runs_together(screen: Screen, python: Any, page: Any, narrow: Any, mnemonic: str) -> None:
    """Headings do not touch, lanes are shown as 2 x 16 or 4 x 8, panes do not overlap."""
    show(python, page, mnemonic)
    for width in (1600, 820):
        narrow(width)
        for headings in page.evaluate("() => document.querySelector('.ptx-explorer').headings()"):
            assert headings
            ends = sorted(
                (heading["middle"] - heading["width"] / 2, heading["middle"] + heading["width"] / 2)
                for heading in headings
            )
            assert all(right + 2 <= left for (_, right), (left, _) in itertools.pairwise(ends))
        rows = [box["top"] for box in boxes(page, ".ptx-lane")]
        assert sorted(rows.count(row) for row in set(rows)) in ([16, 16], [8, 8, 8, 8])
        for button in page.locator(".ptx-lane").all()[::31]:
            assert button.evaluate("node => node.scrollWidth <= node.clientWidth")
        (a,), (b,), (d,) = (boxes(page, f"[data-pane={name}]") for name in "ABD")
        assert a["right"] <= d["left"]
        assert b["bottom"] <= d["top"]
        assert b["left"] == d["left"]


@pytest.mark.parametrize("width", some([317, 560, 400]))
@pytest.mark.parametrize("mnemonic", some([SHAPES[1], DENSE, F16]))
def test_in_little_room_the_parts_stand_below_each_other(
    screen: Screen, python: Any, page: Any, mnemonic: str, width: int
) -> None:
    """Lanes and registers are below the matrices; nothing overlaps."""
    show(python, page, mnemonic)
    screen.root.evaluate("(node, width) => { node.parentElement.style.width = `${width}px`; }", width)
    page.evaluate(DRAWN)
    tab = page.locator(".ptx-register-tab")
    tab.click()
    parts = ".ptx-mnemonic, .ptx-toolbar, .ptx-lanes, .ptx-registers, .ptx-status, [data-pane]"
    for one, other in itertools.combinations(boxes(page, parts), 2):
        beside = one["right"] <= other["left"] + 1 or other["right"] <= one["left"] + 1
        above = one["bottom"] <= other["top"] + 1 or other["bottom"] <= one["top"] + 1
        assert beside or above, (one, other)
    (lanes,), (d,) = boxes(page, ".ptx-lanes"), boxes(page, "[data-pane=D]")
    assert d["bottom"] <= lanes["top"]
    tab.click()
    screen.root.evaluate("node => { node.parentElement.style.width = ''; }")
    page.evaluate(DRAWN)


#: Whether all of these parts are in the window, and nothing of a matrix is scrolled away.
SEEN = """(parts) => parts.every((part) => {
  const { left, top, right, bottom } = document.querySelector(part).getBoundingClientRect();
  return left >= 0 && top >= 0 && right <= innerWidth + 1 && bottom <= innerHeight + 1;
}) && [...document.querySelectorAll("[data-pane] .ptx-scroller")].every(
  ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
    scrollWidth <= clientWidth + 1 && scrollHeight <= clientHeight + 1)"""


#: Texts and buttons of these parts that stick out of the window, of their pane, or lie on one another.
STRAY = """(parts) => {
  const seen = (node) => node.checkVisibility({ visibilityProperty: true }) && node.offsetWidth;
  const nodes = parts.flatMap((part) => [...document.querySelectorAll(part)]).filter(seen);
  const boxes = nodes.map((node) => [node, node.getBoundingClientRect()]);
  const stray = [];
  for (const [node, box] of boxes) {
    const pane = node.closest("[data-pane]")?.getBoundingClientRect();
    if (box.left < -1 || box.right > innerWidth + 1) stray.push(["window", node.textContent]);
    if (pane && box.right > pane.right + 4) stray.push(["pane", node.textContent]);
    for (const [other, its] of boxes)
      if (node !== other && !node.contains(other) && !other.contains(node) && box.left + 1 < its.right &&
          its.left + 1 < box.right && box.top + 1 < its.bottom && its.top + 1 < box.bottom)
        stray.push([node.textContent, other.textContent]);
  }
  return stray;
}"""
TCGEN05 = "tcgen05.mma.cta_group::1.kind::f16"
WGMMA = "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"
B1 = "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc"


@pytest.mark.parametrize(("number", "size"), [*enumerate([(1440, 900), (1024, 768), (390, 844)])])
def test_words_and_buttons_stand_apart(
    screen: Screen, python: Any, page: Any, narrow: Any, number: int, size: tuple[int, int]
) -> None:
    """Captions, lanes, tools and legends: none sticks out, none lies on another, none is cut."""
    narrow(*size)
    parts = [".ptx-caption > *", ".ptx-lane", ".ptx-header > *", ".ptx-formula", ".ptx-legends > *"]
    parts += [".ptx-toolbar > .ptx-tool-group > *", ".ptx-status-text", ".ptx-descriptor-head > *"]
    parts += [".ptx-fields"]
    play = [".ptx-timeline > *", ".ptx-part-name"]  # on a phone it is stuck over what scrolls
    for mnemonic in every_third((K16, SPARSE_S4, B1, WGMMA, TCGEN05), number):
        show(python, page, mnemonic)
        python("ex.view.selected = {'name': 'D', 'row': 3, 'column': 5}")
        page.locator("[data-tool=why]").wait_for()
        page.evaluate(DRAWN)
        for together in [parts, play] if number == 2 else [parts + play]:
            assert page.evaluate(STRAY, together) == [], mnemonic
        tops = page.locator(".ptx-pin:visible").evaluate_all("all => all.map((node) => node.offsetTop)")
        assert len(set(tops)) <= 1, (mnemonic, "pin and fly")
        cut = [".ptx-lane", ".ptx-descriptor-head > span", ".ptx-mnemonic"]
        for part in cut:
            assert all(
                page.locator(part).evaluate_all(
                    "all => all.map((node) => node.scrollWidth <= node.clientWidth + 1)"
                )
            ), (mnemonic, part)
        assert page.locator(".ptx-legends").is_visible()
    python("ex.view.selected = {}")


def test_sparse_cells_have_a_legend(screen: Screen, python: Any, page: Any, narrow: Any) -> None:
    """Where compressed A takes the corner, what faint cells are is said below the scene."""
    narrow(1440, 900)
    show(python, page, SPARSE_S4)
    python("A = np.zeros((16, 64)); A[:, 0::8] = A[:, 1::8] = -5; ex.A = A")
    legend = page.locator(".ptx-legends")
    expect(legend).to_contain_text("faint: not stored; compressed A has the others")
    assert page.evaluate(SEEN, [".ptx-legends", ".ptx-timeline", ".ptx-trace-fold", "[data-pane=D]"])
    narrow(1024, 768)  # where nibbles have no room for their bits
    expect(legend).to_contain_text("marks: the quarters a nibble keeps")


def test_a_filled_c_is_seen(screen: Screen, python: Any, page: Any, narrow: Any, written: Any) -> None:
    """C stands left of B as soon as it is not zero; A, B and D keep their digits; zeros fold it again."""
    narrow(1440, 900)
    show(python, page, K16)
    python(
        "ex.view.selected = {}; ex.A = np.ones((16, 16)); ex.B = np.ones((16, 8)); ex.C = np.zeros((16, 8))"
    )
    expect(page.locator("[data-pane=C]")).to_contain_text("= 0")
    screen.tool("[data-tool=fill]").select_option("C")
    screen.tool("[data-tool=pattern]").select_option("counting")
    written()
    screen.tool("[data-tool=go]").click()
    screen.reads("C", 3, 5, 29)
    page.evaluate(DRAWN)
    assert {"1", "29", "45"} <= written()  # of A and B, C, D
    assert page.evaluate(SEEN, [f"[data-pane={name}]" for name in "ABCD"])
    (a,), (b,), (c,), (d,) = (boxes(page, f"[data-pane={name}]") for name in "ABCD")
    assert c["right"] <= b["left"] and c["bottom"] <= a["top"] and a["right"] <= d["left"]
    python("ex.C = np.zeros((16, 8))")
    expect(page.locator("[data-pane=C]")).to_contain_text("= 0")


def test_who_makes_a_cell_of_d_is_on_one_screen(screen: Screen, python: Any, page: Any, narrow: Any) -> None:
    """A click on D[3][5]: its row, its column, the lanes, the sentence and the timeline are seen together."""
    narrow(1110, 790)  # of JupyterLab's window of 1440x900
    for mnemonic in (DENSE, K16):
        show(python, page, mnemonic)
        screen.click("D", 3, 5)
        page.mouse.move(2, 2)
        expect(page.locator(".ptx-status").first).to_contain_text("row 3 of A is in lanes 12..15")
        expect(page.locator(".ptx-status").first).to_contain_text("column 5 of B is in lanes 20..23")
        expect(page.locator(".ptx-lane.contributes")).to_have_count(8)
        parts = [f"[data-pane={name}]" for name in "ABD"]
        assert page.evaluate(SEEN, [*parts, ".ptx-lanes", ".ptx-status", ".ptx-timeline", ".ptx-trace-fold"])


def test_full_screen(screen: Screen, python: Any, page: Any, narrow: Any) -> None:
    """No column is cut, with registers and the timeline beside and below."""
    narrow(1440, 900)
    show(python, page, SPARSE_S4)
    screen.tool(".ptx-full-screen").click()
    page.wait_for_function("() => document.fullscreenElement?.matches('.ptx-explorer')")
    page.evaluate(DRAWN)
    box = screen.root.bounding_box()
    assert [box["width"], box["height"]] == page.evaluate("() => [innerWidth, innerHeight]")
    panes = [f"[data-pane={name}]" for name in ("A", "stored", "B", "D")]
    assert page.evaluate(SEEN, [*panes, ".ptx-registers", ".ptx-timeline"])
    page.evaluate("() => document.exitFullscreen()")
    page.wait_for_function("() => !document.fullscreenElement")


def test_the_camera(screen: Screen, python: Any, page: Any, narrow: Any, written: Any) -> None:
    """From all of the scene over digits to single bits; the map and the panes' edges say where."""
    narrow(1200, 900)
    show(python, page, DENSE)
    python("ex.A = np.full((16, 64), -3); ex.view.zoom = 100")
    page.evaluate(DRAWN)
    for pane in ("A", "B", "D"):  # nothing scrolls
        sizes = "node => [node.scrollWidth - node.clientWidth, node.scrollHeight - node.clientHeight]"
        assert max(page.locator(f"[data-pane={pane}] .ptx-scroller").evaluate(sizes)) <= 1
    assert page.locator(".ptx-map").is_hidden()
    written()
    python("ex.view.zoom = 101")
    page.evaluate(DRAWN)
    assert "-3" not in (seen := written()) and "0·a0" not in seen  # nothing stands for them
    whole = screen.rect("D", 0, 0)
    screen.click("A", 9, 37)
    page.keyboard.press("Enter")  # digits first, then the cell
    page.wait_for_selector("button[data-trait=zoom]:text('%')", state="attached")
    page.evaluate(DRAWN)
    assert page.locator(".ptx-map").is_visible()
    assert "-3" in written() and not page.locator("input.ptx-cell.editing").count()
    box = screen.rect("A", 9, 37)
    assert box["width"] >= 2 * 11 * 0.6 and box["height"] >= 16
    for side in ("width", "height"):  # only k lacked room
        assert abs(screen.rect("D", 0, 0)[side] - whole[side]) <= 1.5
    frame = page.locator("[data-pane=A] .ptx-scroller").bounding_box()
    assert frame["x"] <= box["x"] and box["x"] + box["width"] <= frame["x"] + frame["width"]
    page.keyboard.press("Enter")
    page.locator("input.ptx-cell.editing").wait_for()
    page.keyboard.press("Escape")
    written()
    screen.tool("[aria-label=nearer]").click()
    page.get_by_role("button", name="nearer").click(click_count=8)
    page.wait_for_selector("button[data-trait=zoom]:text('400 %')", state="attached")
    page.evaluate(DRAWN)
    assert any(text.startswith("lane 4") for text in written())
    page.get_by_role("button", name="see all of it").click()
    page.wait_for_selector("button[data-trait=zoom]:text('whole')", state="attached")


#: The colours of two cells on the canvas of the flight, near their upper left corner, where no digit is.
FLOWN = """(cells) => {
  const canvas = document.querySelector(".ptx-scene-flight");
  const { left, top } = canvas.getBoundingClientRect();
  const pixel = ({ x, y }) => canvas.getContext("2d").getImageData(x + 9 - left, y + 6 - top, 1, 1).data;
  return cells.map((cell) => Array.from(pixel(cell)).slice(0, 3).reduce((sum, value) => sum + value));
}"""


def test_the_camera_flies(screen: Screen, python: Any, page: Any) -> None:
    """Half-way all but the row and the column of the selected cell is dimmed; without motion it cuts."""
    show(python, page, F16)
    screen.click("A", 0, 0)
    flying = page.locator(".ptx-flying")
    python("ex.view.zoom = 200")
    assert not flying.count()
    page.emulate_media(reduced_motion="no-preference")
    python("ex.view.zoom = 100")
    page.wait_for_selector(".ptx-flying")
    page.wait_for_selector(".ptx-scene:not(.ptx-flying)")
    page.evaluate("() => { window.clock = performance.now; performance.now = () => 0; }")
    python("ex.view.zoom = 105")  # all cells are about where they were
    page.evaluate("() => { performance.now = () => 160; }")
    page.evaluate(DRAWN)
    lit, dimmed = page.evaluate(FLOWN, [screen.rect("A", 0, 1), screen.rect("A", 8, 1)])  # both of lane 0
    assert flying.count() and dimmed > lit + 60
    page.evaluate("() => { performance.now = window.clock; }")
    page.wait_for_selector(".ptx-scene:not(.ptx-flying)")
    page.emulate_media(reduced_motion="reduce")
    python("ex.view.zoom = 100")


def test_why_a_cell_of_d_has_its_bits(screen: Screen, python: Any, page: Any) -> None:
    """Choose a cell of D, unfold the panel by keyboard, read the bits; they follow when A is edited."""
    start(python, page, F16, "np.ones((8, 8))")
    python("A = np.zeros((16, 8)); A[0, :2] = 1024, 2.0**-16; ex.A = A")
    fold, body = page.locator(".ptx-trace-fold"), page.locator(".ptx-trace-body")
    assert fold.inner_text() == "▸ Why these bits? Select a cell of D"
    screen.click("D", 0, 0)
    expect(fold).to_have_text("▸ Why D[0][0] = 1024 has these bits")
    assert body.is_hidden() and fold.get_attribute("aria-expanded") == "false"
    fold.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".ptx-trace-cell.lost")
    # 2^-16 stands below the cut at 2^-15.
    assert page.locator(".ptx-trace-cell.lost").all_inner_texts() == ["1"]
    assert "0x44800000" in body.inner_text() and fold.get_attribute("aria-expanded") == "true"

    # the cut is a line between the last kept bit and the lost one
    boxes = [page.locator(which).first.bounding_box() for which in (".ptx-trace-cut", ".ptx-trace-cell.lost")]
    assert abs(boxes[0]["x"] - boxes[1]["x"]) <= 3

    # pointing at another cell of D changes nothing; an edit of A does
    before = body.inner_text()
    screen.hover("D", 5, 5)
    assert body.inner_text() == before
    screen.type("A", 0, 1, "1")
    expect(fold).to_have_text(starting("▾ Why D[0][0] = 1025 "))
    page.wait_for_function("node => !node.querySelector('.lost')", arg=body.element_handle())

    # the largest instruction, in a narrow column: nothing hangs over its edge
    start(python, page, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", "np.ones((16, 256))")
    python("ex.layout.width = '700px'; ex.A = np.full((64, 16), 0.1)")
    screen.click("D", 1, 2)
    page.wait_for_function("node => node.querySelectorAll('.kept').length > 100", arg=body.element_handle())
    assert page.evaluate(
        "() => { const body = document.querySelector('.ptx-trace-body');"
        " return body.scrollWidth <= body.clientWidth + 1; }"
    )
    python("ex.layout.width = None; ex.view.tracing = False")


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("mma.m16n8k16.f32.f16", 1.01),
        ("mma.m16n8k64.s4", 1),
    ],
)
def test_why_leaves_the_matrices_on_the_screen(
    screen: Screen, python: Any, page: Any, narrow: Any, name: str, factor: float
) -> None:
    """The sum stands beside A, B and D, as wide as the registers; a second click on "why?" closes it."""
    narrow(1110, 790)  # of JupyterLab's window of 1440x900
    show(python, page, ptxlab.instruction(name).mnemonic)
    python("rows, k = ex.A.shape; A = np.arange(rows * k).reshape(rows, k) % 7 - 3")
    python(f"ex.A = A * {factor}; ex.B = ex.A[:8].T")
    screen.click("D", 3, 5)
    page.mouse.move(2, 2)
    page.locator("[data-tool=why]").click()
    body = page.locator(".ptx-beside > .ptx-trace-body")
    body.locator(".ptx-trace-cell").first.wait_for()
    assert page.evaluate("() => scrollY") == 0
    assert page.evaluate(SEEN, ["[data-pane=A]", "[data-pane=B]", "[data-pane=D]", ".ptx-timeline"])
    assert body.evaluate("node => node.scrollWidth <= node.clientWidth + 1")
    page.get_by_label("timeline", exact=True).focus()
    press(page, *["ArrowRight"] * 4)  # to a product: its row, or that of it and others, is lit
    expect(body.locator(".ptx-trace-label.now")).to_have_count(1)
    assert body.locator(".ptx-trace-label.now").inner_text().startswith("A[3][")
    page.keyboard.press("Escape")
    page.locator("[data-tool=why]").click()
    body.wait_for(state="detached")


def test_a_far_cell_is_told_in_full(screen: Screen, python: Any, page: Any, narrow: Any) -> None:
    """Its sentence is cut by nothing, the map covers none of it, registers stay in their rows."""
    narrow(1110, 790)
    show(python, page, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")
    enter(screen.tool(".ptx-name"), "D[40][200]")
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Thread 64: warp 2, lane 0")
    page.mouse.move(2, 2)
    page.locator(".ptx-map").wait_for()
    expect(page.locator(".ptx-status")).to_contain_text("column 200 of B is in shared memory")
    expect(page.locator(".ptx-status")).to_contain_text("register 102, bits 31..0")
    text = page.locator(".ptx-status-text")
    assert text.evaluate("node => node.scrollHeight <= node.clientHeight + 2")
    (status,), (of_map,) = boxes(page, ".ptx-status-text"), boxes(page, ".ptx-map")
    assert status["top"] >= of_map["bottom"]
    cards, pager = (
        boxes(page, "[data-operand=D] .ptx-register"),
        boxes(page, "[data-operand=D] .ptx-block-head > *"),
    )
    assert len(cards) == 4 and len({card["left"] for card in cards}) == 1
    assert max(part["top"] for part in pager) < min(part["bottom"] for part in pager)  # in one line
    assert page.evaluate("cards => cards.every(({ bottom }) => bottom <= innerHeight)", cards)
    python("ex.view.zoom = 100")


# -- the picture: labels, the dot product, the lens, rows and their lanes --------------------------------

#: Instructions with what is opened beside the scene, for the table of the smallest text.
VIEWS = {
    "mma f16": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", ""),
    "mma s4": (DENSE, ""),
    "mma.sp s4": (SPARSE_S4, ""),
    "mma f64": ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", ""),
    "mma block scale": (SHAPES[2], ""),
    "wgmma f16 n256": ("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", ""),
    "wgmma.sp fp8 n8": ("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3", ""),
    "tcgen05.mma": ("tcgen05.mma.cta_group::1.kind::f16", ""),
    "tcgen05.mma, its memory": ("tcgen05.mma.cta_group::1.kind::f16", "tensor"),
    "mma f16, shared memory": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "memory"),
    "ldmatrix": ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", ""),
}
SIZES = ((1440, 900), (1920, 1080), (1024, 768), (700, 900), (390, 844))

#: Every text that a canvas is given from now on, with its size on the page: a text that is squeezed into less
#: than its width counts as smaller.
MEASURE = """() => {
  window.texts = [];
  const plain = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, most = Infinity) {
    const { a, b } = this.getTransform();
    const scale = this.canvas.isConnected ? this.canvas.width / this.canvas.offsetWidth : 1;
    const squeezed = Math.min(1, most / this.measureText(text).width);
    const size = (parseFloat(/([\\d.]+)px/.exec(this.font)[1]) * Math.hypot(a, b) * squeezed) / scale;
    if (String(text).trim()) window.texts.push([size, `${text} (canvas)`]);
    return plain.call(this, text, x, y, most);
  };
  window.forget = () => { CanvasRenderingContext2D.prototype.fillText = plain; };
}"""
#: The smallest text on the page, of those and of the nodes that are seen.
SMALLEST = """() => {
  const root = document.querySelector(".ptx-explorer");
  const texts = window.texts.splice(0);
  const add = (node, text) => {
    if (!text.trim() || !node.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return;
    const scale = node.getScreenCTM?.().a ?? 1;
    const size = parseFloat(getComputedStyle(node).fontSize) * scale;
    texts.push([size, `${text.trim().slice(0, 30)} (${node.className})`]);
  };
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) add(walker.currentNode.parentElement, walker.currentNode.data);
  for (const node of root.querySelectorAll("input, select, textarea"))
    add(node, node.value || node.placeholder || "");
  return texts.reduce((least, text) => (text[0] < least[0] ? text : least), [Infinity, ""]);
}"""


def test_no_text_is_too_small(screen: Screen, python: Any, page: Any, narrow: Any) -> None:
    """From all of the scene to single bits, at every size of the window: no text is under 11 pixels."""
    page.evaluate(MEASURE)
    found: dict[tuple[str, str], tuple[float, str]] = {}
    for number, (view, (mnemonic, opened)) in enumerate(VIEWS.items()):
        show(python, page, mnemonic)
        zooms = [100, 200, 400]
        if opened:
            page.locator(f"[data-{opened}]").first.click()
        for width, height in one_in(len(SIZES), SIZES, number):
            narrow(width, height)
            texts = [page.evaluate(SMALLEST)]
            if "mma" in view:
                for zoom in zooms[1:]:
                    python(f"ex.view.zoom = {zoom}")
                    page.evaluate(DRAWN)
                    texts.append(page.evaluate(SMALLEST))
            zooms.reverse()  # the next size begins where this one ends
            found[view, f"{width}x{height}"] = tuple(min(texts))
        if opened:
            page.locator(f"[data-{opened}]").first.click()
    page.evaluate("() => window.forget()")
    python(f"ex.instruction = {DENSE!r}")
    table = "\n".join(
        f"{view:24} {size:>9}  {least:5.1f} px  {text}" for (view, size), (least, text) in found.items()
    )
    assert all(least >= 10.99 for least, _ in found.values()), f"\n{table}"


RECORD = """() => {
  window.written = [];
  const plain = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    window.written.push(String(text));
    return plain.call(this, text, ...rest);
  };
  window.forget = () => { CanvasRenderingContext2D.prototype.fillText = plain; };
}"""


@pytest.fixture
def written(page: Any) -> Iterator[Any]:
    """What is written on the canvases from now on, as a set; each call starts anew."""
    page.evaluate(RECORD)
    yield lambda: set(
        page.evaluate("() => { const found = window.written; window.written = []; return found; }")
    )
    page.evaluate("() => window.forget()")


def test_many_small_cells_have_the_colours_of_their_lanes(
    screen: Screen, python: Any, page: Any, narrow: Any
) -> None:
    """D of m64n256k16 as pixels: a lane has one colour, and its zeros are paler."""
    narrow(1440, 900)
    show(python, page, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")
    python(
        "A = np.zeros((64, 16)); A[0] = 1; ex.C = np.zeros((64, 256)); ex.B = np.ones((16, 256)); ex.A = A"
    )
    page.evaluate(DRAWN)

    def pixel(row: int, column: int) -> list[int]:
        cell = screen.rect("D", row, column)
        canvas = page.locator("[data-pane=D] canvas").first
        box = canvas.bounding_box()
        at = [cell["x"] + cell["width"] / 2 - box["x"], cell["y"] + cell["height"] / 2 - box["y"]]
        data = "(canvas, at) => [...canvas.getContext('2d').getImageData(...at.map(Math.floor), 1, 1).data]"
        return list(canvas.evaluate(data, at))

    assert pixel(0, 200) == pixel(0, 208) != pixel(0, 204)  # lanes 0 and 2
    red, green, blue, opacity = pixel(8, 200)  # of lane 0, and zero
    assert opacity < pixel(0, 200)[3] == 255
    assert max(abs(one - other) for one, other in zip((red, green, blue), pixel(0, 200), strict=False)) <= 3


def test_row_numbers_do_not_touch(screen: Screen, python: Any, page: Any, narrow: Any) -> None:
    """Those of scale factors come first, and rows are numbered where they leave room."""
    narrow(1440, 900)
    show(python, page, SHAPES[2])
    page.evaluate(
        """() => {
          window.rows = [];
          const plain = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
            if (this.textAlign === "right" && x < 32 && this.canvas.closest("[data-pane=B]"))
              window.rows.push([y, text]);
            return plain.call(this, text, x, y, ...rest);
          };
          window.forget = () => { CanvasRenderingContext2D.prototype.fillText = plain; };
        }"""
    )
    for width, height, factors in ((700, 900, {"sf0", "sf3"}), (390, 844, {"sf0"})):
        page.evaluate("() => window.rows.splice(0)")
        narrow(width, height)
        drawn = {text: y for y, text in page.evaluate("() => window.rows")}
        assert factors <= set(drawn)
        places = sorted(drawn.values())
        assert all(after - before >= 10 for before, after in itertools.pairwise(places)), drawn
    page.evaluate("() => window.forget()")


def test_bits_and_captions_do_not_cover_others_on_a_phone(
    screen: Screen, python: Any, page: Any, narrow: Any
) -> None:
    """The bits of a register stand side by side, and what a caption says ends before the next caption."""
    covered = """selector => {
      const boxes = [...document.querySelectorAll(selector)].map((node) => node.getBoundingClientRect());
      const seen = boxes.filter(({ width }) => width);
      const touch = (one, other) => one.top < other.bottom && other.top < one.bottom
        && one.left < other.right - 0.5 && other.left < one.right - 0.5;
      const covers = (one, at) => seen.slice(at + 1).some((other) => touch(one, other));
      return [seen.length, seen.filter(covers).length];
    }"""
    for mnemonic in (
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3",
        WGMMA,
    ):
        show(python, page, mnemonic)
        narrow(360, 740)
        tab = page.locator(".ptx-register-tab")
        if tab.get_attribute("aria-expanded") == "false":
            tab.click()
        tops = page.locator(".ptx-pin:visible").evaluate_all("all => all.map((node) => node.offsetTop)")
        assert len(set(tops)) == 1, (mnemonic, "pin and fly")
        for selector in (".ptx-roomy .ptx-bit", ".ptx-caption > *"):
            count, overlapping = page.evaluate(covered, selector)
            assert count and not overlapping, (mnemonic, selector, overlapping)
        # numbers of two digits are wider than bits: one of each four has its own
        numbered = """() => [...document.querySelectorAll("[data-operand=D] .ptx-bit")].slice(0, 32)
          .filter((bit) => getComputedStyle(bit, "::before").visibility === "visible")
          .map((bit) => Number(bit.dataset.bit))"""
        assert page.evaluate(numbered) == list(range(31, 0, -4)), mnemonic


def test_words_of_memory_come_near(screen: Screen, python: Any, page: Any, narrow: Any, written: Any) -> None:
    """A double click on words without digits brings them near; the wheel, keys and buttons take them back."""
    narrow(1024, 768)
    show(python, page, DENSE)
    python("ex.A = np.full((16, 64), 3); ex.hide_memory()")
    page.locator("[data-memory=A]").click()
    page.wait_for_selector(".ptx-memory", state="visible")
    scroller = page.locator(".ptx-memory .ptx-scroller")
    page.evaluate(DRAWN)
    assert "33333333" not in written()
    whole = scroller.evaluate("node => node.scrollWidth")
    scroller.dblclick(position={"x": 5, "y": 8})
    page.evaluate(DRAWN)
    assert "33333333" in written() and not page.locator(".ptx-memory-word.editing").count()
    scroller.dblclick(position={"x": 5, "y": 8})  # again: now the word is edited
    page.locator(".ptx-memory-word.editing").wait_for()
    page.keyboard.press("Escape")
    near = scroller.evaluate("node => node.scrollWidth")
    page.keyboard.press("-")
    assert whole < scroller.evaluate("node => node.scrollWidth") < near
    page.keyboard.press("Alt+Digit0")
    assert scroller.evaluate("node => node.scrollWidth") == whole
    page.keyboard.down("Control")
    page.mouse.wheel(0, -60)
    page.keyboard.up("Control")
    page.wait_for_function(
        "([node, whole]) => node.scrollWidth > whole", arg=[scroller.element_handle(), whole]
    )
    page.locator("[data-memory=A]").click()


def test_memory_in_a_low_window(screen: Screen, python: Any, page: Any, narrow: Any, written: Any) -> None:
    """The matrix whose memory is shown is seen alone, with its digits; the others are names that open theirs,
    and come back where the timeline shows them."""
    narrow(1024, 768)
    show(python, page, K16)
    python("ex.A, ex.C = np.full((16, 16), 1.5), np.zeros((16, 8)); ex.hide_memory()")

    def frames() -> str:
        page.evaluate(DRAWN)
        shown = "all => all.filter((pane) => pane.querySelector('.ptx-frame').offsetHeight)"
        return "".join(page.locator("[data-pane]").evaluate_all(f"{shown}.map((pane) => pane.dataset.pane)"))

    assert frames() == "ABD"
    written()
    page.locator("[data-memory=A]").click()
    page.wait_for_selector(".ptx-memory", state="visible")
    assert frames() == "A" and "1.5" in written()
    assert not page.locator("[data-pane=A] .ptx-numbers").count()  # which says that there are no values
    assert screen.rect("A", 15, 0)["height"] >= 13
    assert page.evaluate(SEEN, ["[data-pane=A]", "[data-pane=D] .ptx-caption", ".ptx-memory"])
    blocks = page.locator(".ptx-block:visible")
    assert blocks.evaluate_all("all => all.map((block) => block.dataset.operand)") == ["A"]
    page.get_by_role("button", name="along K").click()
    assert frames() == "ABD"
    page.keyboard.press("Escape")
    assert frames() == "A"
    page.locator("[data-memory=D]").click()
    expect(page.locator(".ptx-memory .ptx-memory-bar > b").first).to_have_text("D in shared memory")
    assert frames() == "D"
    page.get_by_role("button", name="close the memory view").click()
    page.wait_for_selector(".ptx-memory", state="hidden")
    assert frames() == "ABD"


def test_labels(screen: Screen, python: Any, page: Any, narrow: Any, written: Any) -> None:
    """Values, codes or holders stand in the cells; cells are as large as their labels need."""
    narrow(1900)
    show(python, page, F16)
    python(
        "ex.view.selected = {}; ex.A = np.full((16, 8), -1.5);"
        " ex.B = np.full((8, 8), 0.25); ex.C = np.zeros((16, 8))"
    )

    def drawn(words: set[str]) -> None:
        page.wait_for_function(
            "words => words.every((word) => window.written.includes(word))", arg=sorted(words), timeout=10_000
        )
        written()

    at_rest(page)
    written()
    pick = screen.tool("[data-trait=label]")
    pick.select_option("hex code")
    drawn({"be00", "3400", "c0400000"})  # -1.5, 0.25 and their sum -3
    high = page.evaluate("() => document.querySelector('.ptx-explorer').cellRect('D', 0, 0)")["height"]
    pick.select_option("binary")
    drawn({"10111110", "00110100", "11000000", "01000000"})
    # A byte in each line.
    assert page.evaluate("() => document.querySelector('.ptx-explorer').cellRect('D', 0, 0)")["height"] > high
    python("ex.view.zoom = 100")  # for which the camera may have come nearer
    pick.select_option("lane·element")
    ins = ptxlab.instruction(F16)
    text = set()
    for operand, letter in ((ins.a, "a"), (ins.b, "b"), (ins.d, "d")):
        places = [
            operand.where(row, column)[0]
            for row in range(operand.shape[0])
            for column in range(operand.shape[1])
        ]
        text |= {f"{place.lane}·{letter}{place.element}" for place in places}
    drawn(text)
    pick.select_option("value")
    drawn({"-1.5", "0.25", "-3"})


def test_numbers_that_are_not_whole_say_so(
    screen: Screen, python: Any, page: Any, narrow: Any, written: Any
) -> None:
    """Values without room are rounded, codes, or left out; the caption says which, and brings them near."""
    narrow(1440, 900)
    show(python, page, K16)
    python("ex.view.selected = {}; ex.A = np.ones((16, 16)); ex.B = np.ones((16, 8))")
    note = page.locator(".ptx-numbers")
    expect(note).to_have_count(0)
    python("rng = np.random.default_rng(1); ex.B = rng.normal(size=(16, 8))")
    python("ex.A = 10000 + 8 * rng.integers(-99, 99, (16, 16))")
    narrow(700, 900)
    caption = page.locator("[data-pane=A] .ptx-numbers")
    expect(caption).to_have_text("show values")
    written()
    caption.click()  # the camera comes near enough for all of them
    expect(note).to_have_count(0)
    assert any(text.startswith(("10", "9")) and len(text) >= 4 for text in written())
    python("ex.A = np.ones((16, 16)); ex.view.zoom = 100")
    expect(page.locator("[data-pane=B] .ptx-numbers")).to_have_text("rounded")
    expect(page.locator(".ptx-legends")).to_contain_text("rounded to fit")
    python("ex.B = np.ones((16, 8))")
    narrow(1440, 900)
    show(python, page, SPARSE_S4)
    python("rng = np.random.default_rng(1); ex.A = ptxlab.prune(rng.integers(-8, 8, (16, 64)), ex.state.ins)")
    python("ex.B = rng.integers(-1, 2, (64, 8))")
    expect(page.locator("[data-pane=A] .ptx-numbers")).to_have_text("hex")
    expect(page.locator(".ptx-legends")).to_contain_text("A and compressed A: codes in hexadecimal")
    expect(page.locator("[data-pane=D] .ptx-numbers")).to_have_count(0)


def test_a_long_number_leaves_the_others_as_they_are(
    screen: Screen, python: Any, page: Any, narrow: Any, written: Any
) -> None:
    """One number that is too long is shortened; all others, also beside a filled C, stay numbers."""
    show(python, page, K16)
    python("ex.view.selected = {}; ex.A = np.arange(256).reshape(16, 16) % 7 - 3; ex.B = np.eye(16, 8)")
    for size in ((1440, 900), (1024, 768)):
        narrow(*size)
        written()
        python("ex.C = np.full((16, 8), 20); A = ex.A.copy(); A[3, 5] = -30000; ex.A = A")
        expect(page.locator("[data-pane=C] canvas").first).to_be_visible()
        page.evaluate(DRAWN)
        texts = written()
        assert {"-3", "20", "17", "23"} <= texts
        assert texts & {"-3e4", "-30000", "…"} and "-30" not in texts  # shortened, never cut
        assert not page.locator(".ptx-numbers", has_text="show values").count()
        assert screen.hover("A", 3, 5).startswith("A[3][5] = -30000 ·")  # all of it
        python("A = ex.A.copy(); A[3, 5] = 1; ex.A = A; ex.C = np.zeros((16, 8))")
        # without C the quadrant left of B has words
        said = {"formula": "D = A · B", "legends": "hue: lane // 4, shade: % 4", "status": "A[3][5] = 1"}
        for part, words in said.items():
            expect(page.locator(f".ptx-corner > .ptx-{part}")).to_contain_text(words)
            (place,), (b,) = boxes(page, f".ptx-corner > .ptx-{part}"), boxes(page, "[data-pane=B]")
            assert b["top"] <= place["top"] < place["bottom"] <= b["bottom"] + 1
            assert place["right"] <= b["left"]


#: Where the numbers on cells begin and end, by pane and line.
EXTENTS = """() => {
  window.extents = [];
  const plain = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, most = Infinity) {
    const pane = this.canvas.closest?.("[data-pane]")?.dataset.pane;
    if (pane && this.textAlign === "right" && x > 36)
      window.extents.push([pane, y, x - Math.min(most, this.measureText(text).width), x]);
    return plain.call(this, text, x, y, most);
  };
  window.forget = () => { CanvasRenderingContext2D.prototype.fillText = plain; };
}"""


def test_numbers_of_neighbours_do_not_touch(screen: Screen, python: Any, page: Any, narrow: Any) -> None:
    """Cells with as many digits as they take leave some room between them, also for a frame."""
    narrow(1440, 900)
    show(python, page, K16)
    python("rng = np.random.default_rng(1); ex.view.selected = {}")
    python("ex.A = rng.integers(-9, 9, (16, 16)) / 8; ex.B = rng.integers(-9, 9, (16, 8)) / 8")
    page.evaluate(EXTENTS)
    for width in (1440, 1200, 1024):
        narrow(width, 900)
        page.evaluate("() => { window.extents = []; }")
        python("ex.view.colour_by = 'value'")  # all cells are drawn again, where they were
        page.evaluate(DRAWN)
        lines: dict[tuple[str, float], list[tuple[float, float]]] = {}
        for pane, y, start, end in page.evaluate("() => window.extents"):
            lines.setdefault((pane, y), []).append((start, end))
        assert sum(pane == "D" for pane, _ in lines) == 16, width
        for line, numbers in lines.items():
            for (_, end), (start, _) in itertools.pairwise(sorted(numbers)):
                assert start - end >= 3, (width, line)
        python("ex.view.colour_by = 'lane'")
        page.evaluate(DRAWN)
    page.evaluate("() => window.forget()")


def test_what_opens_and_closes_leaves_the_cells_as_they_were(
    screen: Screen, python: Any, page: Any, narrow: Any
) -> None:
    """The memory view, labels that need more room, a question: B has its rows and its numbers."""
    narrow(760, 900)
    show(python, page, K16)
    python("ex.view.selected = {}; ex.A = np.ones((16, 16)); ex.B = np.ones((16, 8))")
    page.evaluate(DRAWN)
    before = screen.rect("B", 0, 0)
    screen.click("D", 5, 3)  # the timeline says more of a chosen cell
    memory = page.locator("[data-memory=A]")
    for _ in range(2):
        memory.click()
        page.evaluate(DRAWN)
    assert screen.rect("B", 0, 0) == before
    python("ex.view.selected = {}")
    pick = screen.tool("[data-trait=label]")
    pick.select_option("lane·element")
    page.wait_for_selector("button[data-trait=zoom]:text('%')", state="attached")
    page.evaluate(DRAWN)
    frame = page.locator("[data-pane=B] .ptx-scroller").bounding_box()
    assert screen.rect("B", 0, 0)["y"] >= frame["y"] - 1  # it begins with the first row
    pick.select_option("value")
    page.wait_for_selector("button[data-trait=zoom]:text('whole')", state="attached")
    page.evaluate(DRAWN)
    assert screen.rect("B", 0, 0) == before
    python("quiz = ex.quiz('value D[3][4]')")
    page.locator(".ptx-quiz-text").wait_for()
    page.evaluate(DRAWN)
    assert screen.rect("B", 0, 0)["height"] >= 16.75  # from which numbers are drawn
    page.get_by_role("button", name="Stop").click()
    page.locator(".ptx-toolbar").wait_for()


def test_the_timeline_names_its_parts_in_full(python: Any, page: Any) -> None:
    """No name is cut, not even those of a sparse sum, and the slider stands below the part that it shows."""
    page.set_viewport_size({"width": 900, "height": 900})
    show(python, page, "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    python("ex.selection = 'D', 9, 3")
    names = page.locator(".ptx-part-name")
    expect(names).to_have_text(
        ["compressed A", "metadata", "B", "along K", "sum of D[9][3]", "round", "D out"]
    )
    assert (
        names.evaluate_all("nodes => nodes.filter((node) => node.scrollWidth > node.clientWidth).length") == 0
    )
    names.last.click()
    last, track = names.last.bounding_box(), page.locator(".ptx-part-names").bounding_box()
    part = int(page.get_by_label("timeline", exact=True).input_value()) / 1000
    assert part * (track["width"] - 16) + track["x"] + 8 > last["x"]

    # on a phone it stays in view with the scene
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="step back").click()
    page.evaluate("scrollTo(0, 0)")
    bar = page.locator(".ptx-timeline").bounding_box()
    assert bar["y"] + bar["height"] <= 845
    page.keyboard.press("Escape")
    page.evaluate("scrollTo(0, 0)")
    bar = page.locator(".ptx-timeline").bounding_box()
    assert bar["y"] + bar["height"] <= 845
    page.set_viewport_size({"width": 900, "height": 900})


def test_the_timeline(screen: Screen, python: Any, page: Any) -> None:
    """From the operands to D: by keyboard, by its parts, played; the place is kept and can be linked to."""
    show(python, page, F16)
    python("ex.A = np.full((16, 8), 0.5); ex.B = np.full((8, 8), 3); ex.C = np.ones((16, 8))")
    python("ex.view.lane = 0")
    strip, text = page.locator(".ptx-timeline"), page.locator(".ptx-timeline-text")
    slider = page.get_by_label("timeline", exact=True)
    expect(page.locator(".ptx-part-name")).to_have_text(["A", "B", "C", "along K", "D out"])
    slider.focus()
    press(page, "ArrowRight", "ArrowRight")
    assert text.inner_text() == (
        "A, rows 8..15, columns 0..7, is in register 1 of every lane; lane 0 holds A[8][0], A[8][1]"
    )
    assert page.locator(".ptx-lane.holds").count() == 32
    assert page.locator(".ptx-field.lit").count() == 2
    press(page, "PageUp")
    assert text.inner_text().startswith("B, rows 0..7, columns 0..7, is in register 0 of every lane")
    until(lambda: python("print(ex.view.step)").strip() == "3", page, "the step")
    along = page.locator(".ptx-part-name", has_text="along K")
    assert "for each k, column k of A times row k of B" in along.get_attribute("title")
    along.click()
    assert text.inner_text() == "every sum begins with C"
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert text.inner_text().startswith("k = 0: a column of A times a row of B, 16 × 8 products for each k")

    # a cell of D that is selected is followed from there; its sum stands in the cell and in the register
    screen.click("D", 9, 3)
    expect(text).to_have_text("k = 0: A[9][0] · B[0][3] = 0.5 · 3 = 1.5, sum so far 2.5")
    assert strip.locator(".ptx-timeline-operation").inner_text() == "fused sum"
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert text.inner_text() == "k = 1: A[9][1] · B[1][3] = 0.5 · 3 = 1.5, sum so far 4"
    assert page.evaluate("document.querySelector('.ptx-explorer').numbers('D')[9 * 8 + 3]") == "4"
    before = page.locator("[data-pane=B]").screenshot()
    page.keyboard.press("ArrowRight")
    until(lambda: page.locator("[data-pane=B]").screenshot() != before, page, "the mark moves on")
    page.keyboard.press("Escape")
    assert strip.get_attribute("data-at") == "0"
    expect(text).to_have_text("D[9][3] = 13 from C and 8 products; play or drag")

    # playing: to the end, or until it is told to pause; an edit keeps the place
    page.locator(".ptx-part-name", has_text="along K").click()
    start = int(strip.get_attribute("data-at") or 0)
    page.get_by_role("button", name="play the instruction").click()
    page.wait_for_function(f"node => Number(node.dataset.at) >= {start + 3}", arg=strip.element_handle())
    page.get_by_role("button", name="pause").click()
    at = strip.get_attribute("data-at")
    page.wait_for_timeout(1100)
    assert strip.get_attribute("data-at") == at
    earlier = text.inner_text()
    screen.type("A", 9, 0, "2")
    page.wait_for_function(
        "([node, earlier]) => node.innerText.includes('sum so far ') && node.innerText !== earlier",
        arg=[text.element_handle(), earlier],
    )
    assert strip.get_attribute("data-at") == at
    page.locator(".ptx-part-name", has_text="sum of").click()
    assert text.inner_text() == "D[9][3]: 9 terms, each a sign and a few bits"
    slider.press("ArrowRight")
    assert text.inner_text().startswith("aligned to 2^2, the largest exponent: what is below 2^-23 falls off")
    slider.press("ArrowRight")
    assert text.inner_text() == "nothing hangs over: no bit falls off"
    assert page.locator(".ptx-story").is_visible() and page.locator("[data-pane=D]").is_hidden()
    page.locator(".ptx-part-name", has_text="round").click()
    expect(text).to_have_text("D[9][3] = 17.5, exact: 0x418c0000")
    page.get_by_role("button", name="play the instruction").click()
    expect(text).to_contain_text("columns 1, 3, 5, 7, is left in register 3 of every lane", timeout=15_000)
    page.get_by_role("button", name="play the instruction").wait_for()
    assert page.locator(".ptx-story").count() == 0 and page.locator("[data-pane=D]").is_visible()


def test_the_timeline_of_two_chips(screen: Screen, python: Any, page: Any) -> None:
    """With another chip to compare with, the same element of that chip is the last of the close-up."""
    show(python, page, F16)
    python("A = np.zeros((16, 8)); A[9, :3] = 1024, -1024, 2.0**-15; ex.C = np.zeros((16, 8))")
    python("ex.A = A; ex.B = np.ones((8, 8)); ex.against = 'sm_80'")
    screen.click("D", 9, 3)
    part = page.locator(".ptx-part-name", has_text="chips part")
    part.click()
    expect(page.locator(".ptx-timeline-text")).to_contain_text("They diverge at A[9][2] B[2][3]: sm_90 keeps")
    page.keyboard.press("Escape")
    python("ex.against = None")
    expect(part).to_have_count(0)


def test_from_far_only_what_looks_different_is_drawn(screen: Screen, python: Any, page: Any) -> None:
    """Another number in the same colour is not; a zero, which is paler, is."""
    show(python, page, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")
    python("ex.A, ex.B = np.ones(ex.A.shape), np.ones(ex.B.shape)")
    screen.reads("D", 9, 5, 16)
    page.evaluate(DRAWN)
    page.evaluate("""() => {
      window.enlarged = 0;
      const { drawImage } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.drawImage = function (...given) {
        if (this.canvas.closest("[data-pane=D]") && given.length > 5) window.enlarged += 1;
        return drawImage.apply(this, given);
      };
    }""")
    before = page.locator("[data-pane=D] canvas").first.screenshot()
    python("ex.A = 2 * np.ones(ex.A.shape)")
    screen.reads("D", 9, 5, 32)
    page.evaluate(DRAWN)
    assert page.evaluate("window.enlarged") == 0
    python("ex.A = np.zeros(ex.A.shape)")
    screen.reads("D", 9, 5, 0)
    page.evaluate(DRAWN)
    assert page.evaluate("window.enlarged") > 0
    page.mouse.move(2, 2)
    assert page.locator("[data-pane=D] canvas").first.screenshot() != before


def test_the_timeline_of_a_transfer(screen: Screen, python: Any, page: Any) -> None:
    """Four lanes at a time get a row of an 8x8 matrix; the whole can be saved as a video."""
    show(python, page, "ldmatrix.sync.aligned.m8n8.x1.shared.b16")
    text = page.locator(".ptx-timeline-text")
    page.get_by_label("timeline", exact=True).focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    row_of_lanes = "r0 of lanes {} comes from S, row {row}, columns 0..7, whose address lane {row} supplies"
    assert text.inner_text() == row_of_lanes.format("12..15", row=3)
    page.keyboard.press("End")
    assert text.inner_text() == row_of_lanes.format("28..31", row=7)
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name="save the timeline as a video").click()
        expect(text).to_have_text(row_of_lanes.format("4..7", row=1))
        page.get_by_role("button", name="pause").click()  # what has been played by then is saved
    assert download.value.suggested_filename == "ldmatrix.sync.aligned.m8n8.x1.shared.b16.webm"
    with download.value.path().open("rb") as video:
        assert video.read(4) == b"\x1a\x45\xdf\xa3"  # of Matroska


def test_copying_the_mnemonic(screen: Screen, python: Any, page: Any) -> None:
    show(python, page, F16)
    screen.tool(".ptx-copy-name").click()
    expect(page.locator(".ptx-copy-name")).to_have_text("copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == F16
    page.get_by_role("button", name="copy the mnemonic").wait_for(timeout=5_000)


def test_lanes_of_a_row(screen: Screen, python: Any, page: Any) -> None:
    """Pointing at a heading outlines the lanes of its row or column; Shift and Space choose the row."""
    show(python, page, F16)
    ins = ptxlab.instruction(F16)

    def outlined() -> set[int]:
        return {
            int(lane)
            for lane in page.evaluate(
                "() => [...document.querySelectorAll('.ptx-lane.holds')].map((node) => node.dataset.lane)"
            )
        }

    x, y = screen.middle("A", 5, 0)
    left = page.locator("[data-pane=A] .ptx-scroller").bounding_box()["x"]
    page.mouse.move(left - 10, y)
    expect(page.locator(".ptx-status").first).to_have_text("row 5 of A is held by lanes 20..23")
    assert outlined() == {place.lane for column in range(8) for place in ins.a.where(5, column)}
    x, y = screen.middle("B", 0, 6)
    page.mouse.move(x, page.locator("[data-pane=B] .ptx-scroller").bounding_box()["y"] - 5)
    expect(page.locator(".ptx-status").first).to_have_text(starting("column 6 of B"))
    assert outlined() == {place.lane for row in range(8) for place in ins.b.where(row, 6)}
    screen.click("D", 12, 1)
    page.mouse.move(5, 5)
    assert outlined() == set()
    page.keyboard.press("Shift+Space")
    page.wait_for_function("() => document.querySelectorAll('.ptx-lane.holds').length > 0")
    assert outlined() == {place.lane for column in range(8) for place in ins.d.where(12, column)}
    page.keyboard.press("ArrowUp")
    assert outlined() == set()


def test_lens_and_warps(screen: Screen, python: Any, page: Any, written: Any) -> None:
    """Where cells are pixels, a lens shows those around the pointer with their labels."""
    show(python, page, "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")
    legend = page.locator(".ptx-legends > .ptx-meaning")
    expect(legend).to_have_text(["hue: lane // 4, shade: % 4", "grey: core matrices of B"])
    python(
        "ex.B = np.tile(np.arange(256) % 200, (16, 1)); A = np.zeros((64, 16)); A[:, 0] = 1;"
        " ex.A = A; ex.view.colour_by = 'warp'"
    )
    page.wait_for_function(
        "warps => warps.every((warp) => window.written.includes(warp))",
        arg=[f"warp {warp}" for warp in range(4)],
    )
    written()
    expect(legend).to_have_text(["colour: the warp that holds a cell", "grey: core matrices of B"])
    screen.hover("D", 20, 100)
    page.wait_for_selector(".ptx-tooltip.on .ptx-lens")
    assert {str(value) for value in range(97, 104)} <= written()
    picture = "() => document.querySelector('.ptx-lens').toDataURL()"
    shown = page.evaluate(picture)
    screen.hover("D", 40, 200)
    screen.hover("D", 20, 100)
    page.evaluate(DRAWN)
    assert page.evaluate(picture) == shown  # nothing is left of the cells between
    screen.hover("A", 3, 3)
    page.evaluate(
        "() => { window.changes = 0; for (const which of ['.ptx-tooltip', '.ptx-status'])"
        " new MutationObserver(() => { changes += 1; })"
        ".observe(document.querySelector(which), { childList: true, subtree: true }); }"
    )
    for matrix in "DADA":
        screen.hover(matrix, 9, 9)
        page.evaluate(DRAWN)
    # only letters change: with every node that comes or goes, a browser matches the page's styles again
    assert page.evaluate("() => changes") == 0
    screen.hover("D", 63, 255)
    tip, view = (page.locator(which).bounding_box() for which in (".ptx-tooltip", ".ptx-explorer"))
    assert tip["y"] + tip["height"] <= view["y"] + view["height"] + 1  # turned up and left at the edge
    assert tip["x"] + tip["width"] <= view["x"] + view["width"] + 1
    python("ex.view.colour_by, ex.view.zoom = 'lane', 300")
    screen.hover("D", 20, 100)
    # Its numbers can be read as they are.
    page.locator(".ptx-lens").wait_for(state="hidden")
