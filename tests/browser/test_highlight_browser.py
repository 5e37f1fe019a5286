"""What lights up: the bits of a cell, headings, changes, contributing lanes; and the box that takes names."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import ptxlab
from tests.browser.gestures import at_rest, enter
from tests.sampling import EXHAUSTIVE, one_in, some
from tools.bare_page import BareBook, BarePage, saved_page
from tools.jupyter import PANES, Shown

pytestmark = pytest.mark.browser

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE_FP8 = "wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3"
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
LARGE = "wgmma.mma_async.sync.aligned.m64n256k16.f16.f16.f16"
LIT_FIELDS = """nodes => nodes.map((node) => {
  const block = node.closest(".ptx-block").dataset.operand;
  return `${block} ${node.closest(".ptx-register").querySelector(".ptx-hex").dataset.lane} ${node.title}`;
})"""
#: The pixels of the canvas with the marks around a point of a pane's frame.
DARK_AT = """([pane, x, y]) => {
  const canvas = document.querySelectorAll(`.ptx-explorer [data-pane=${pane}] canvas`)[1];
  const ratio = canvas.width / canvas.getBoundingClientRect().width;
  const context = canvas.getContext("2d");
  const { data } = context.getImageData((x - 3) * ratio, (y - 3) * ratio, 6 * ratio, 6 * ratio);
  return data.some((value, index) => index % 4 === 3 && value === 255);
}"""


class Light(Shown):
    """A saved page of the Explorer, and what is lit on it."""

    def lit(self) -> list[str]:
        return list(self.root.locator(".ptx-field.lit").evaluate_all(LIT_FIELDS))

    def heading(self, pane: str, *, row: int | None = None, column: int | None = None) -> bool:
        """Whether the heading of a row or a column is lit."""
        cell = self.rect(pane, row or 0, column or 0)
        frame = self.root.locator(f"[data-pane={pane}] .ptx-frame").bounding_box()
        assert frame is not None
        at = (24, cell["y"] - frame["y"] + min(cell["height"], 40) / 2)
        if row is None:
            at = (cell["x"] - frame["x"] + min(cell["width"], 60) / 2, 8)
        return bool(self.page.evaluate(DARK_AT, [pane, *at]))


def saved(page: Any, folder: Path, name: str, lanes: list[int] | None = None) -> Light:
    page.goto(saved_page(folder, name, lanes or [0]))
    return Light(page)


def lane_title(page: Any) -> str:
    return str(page.locator(".ptx-lane-title b").inner_text())


@pytest.mark.parametrize("size", some([(1180, 640), (1280, 1400)]))
def test_pointing_at_a_cell_lights_its_bits(page: Any, folder: Path, size: tuple[int, int]) -> None:
    """Of each lane that is shown, and nothing where the lane is not."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    screen = saved(page, folder, SPARSE, [6])
    ins = ptxlab.instruction(SPARSE)
    place, row, column = list(ins.a.holds(6, 1))[2]
    screen.hover("stored", row, column)
    assert screen.lit() == [f"A 6 a{place.element} is compressed A[{row}][{column}]"]
    place, row, column = next(iter(ins.d.holds(6, 3)))
    screen.hover("D", row, column)
    assert screen.lit() == [f"D 6 d{place.element} is D[{row}][{column}]"]
    other = next(column for column in range(8) if ins.d.where(row, column)[0].lane != 6)
    screen.hover("D", row, other)
    assert screen.lit() == []
    page.locator("[data-element=d1]").first.hover()  # and back: bits light their cell
    assert screen.status.text_content().startswith("D[")
    assert len(screen.lit()) == 1
    page.mouse.move(2, 2)
    assert screen.lit() == []


def test_bits_of_several_lanes(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 1400})
    screen = saved(page, folder, SPARSE, [0, 4, 5])
    ins = ptxlab.instruction(SPARSE)
    place, row, column = next(iter(ins.d.holds(5, 0)))
    screen.hover("D", row, column)
    assert screen.lit() == [f"D 5 d{place.element} is D[{row}][{column}]"]
    copies = {place.lane for place in ins.operands["E"].where(1, 2)} & {0, 4, 5}
    screen.hover("E", 1, 2)
    assert {int(text.split()[1]) for text in screen.lit()} == copies != set()


def test_registers_follow_the_selection(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    screen = saved(page, folder, LARGE)
    (place,) = ptxlab.instruction(LARGE).d.where(40, 200)
    assert place.register == 51
    pane = page.locator("[data-pane=D] .ptx-scroller")
    pane.evaluate("node => { node.scrollTop = node.scrollHeight; }")
    screen.click("D", 40, 200)
    assert place.lane == 64
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Thread 64: warp 2, lane 0")
    here = page.locator(".ptx-field.here")
    assert here.count() == 1
    assert here.get_attribute("title") == f"d{place.element} is D[40][200]"
    hexes = page.locator("[data-operand=D] .ptx-hex").evaluate_all(
        "nodes => nodes.map((node) => Number(node.dataset.register))"
    )
    assert place.register in hexes

    # whoever turns the page stays there, until another cell is selected
    page.get_by_label("later registers of D").click()
    assert page.locator(".ptx-field.here").count() == 0
    page.mouse.move(2, 2)
    assert page.locator(".ptx-field.here").count() == 0
    page.locator("[data-pane=D] .ptx-cell").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".ptx-field.here")


def test_headings_of_the_pointed_row_and_column(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 1400})
    screen = saved(page, folder, F16)
    assert not screen.heading("D", row=9)
    screen.hover("D", 9, 3)
    assert screen.heading("D", row=9) and screen.heading("D", column=3)
    assert not screen.heading("D", row=8) and not screen.heading("D", column=4)
    assert screen.heading("A", row=9) and not screen.heading("A", column=3)  # its factors
    assert screen.heading("B", column=3) and not screen.heading("B", row=9)
    screen.hover("A", 2, 15)
    assert screen.heading("A", row=2) and screen.heading("A", column=15)
    assert not screen.heading("D", row=9) and not screen.heading("B", column=3)
    page.mouse.move(2, 2)
    assert not screen.heading("A", row=2)


# -- what changed --

CODE = f"""import numpy as np, ptxlab
from ptxlab.explorer.edits import SetCell
ex = ptxlab.explore({F16!r})
ex.A, ex.B, ex.lanes = np.zeros((16, 16)), np.ones((16, 8)), [0]
ex"""
#: Keeps every canvas over changed cells, and every node that is lit.
WATCH = """() => {
  window.flashed = { canvases: {}, nodes: [] };
  window.watching ??= new MutationObserver((records) => {
    for (const { addedNodes, target } of records) {
      for (const node of addedNodes)
        if (node.classList?.contains("ptx-flash"))
          window.flashed.canvases[node.closest("[data-pane]").dataset.pane] = node;
      const { nodes } = window.flashed;
      if (target.classList?.contains("ptx-changed") && !nodes.includes(target)) nodes.push(target);
    }
  });
  watching.observe(document.body, { childList: true, subtree: true, attributeFilter: ["class"] });
}"""
#: The cells under the canvas that was shown over a pane: [row, column] of those that are filled.
CHANGED_CELLS = """([pane, name, rows, columns]) => {
  const canvas = window.flashed.canvases[pane];
  if (!canvas) return null;
  const root = document.querySelector(".ptx-explorer");
  const box = root.querySelector(`[data-pane=${pane}] .ptx-scroller`).getBoundingClientRect();
  const cells = [];
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1) {
      const { x, y, width, height } = root.cellRect(name, row, column);
      const at = [x + width / 2 - box.left, y + height / 2 - box.top];
      const { data } = canvas.getContext("2d").getImageData(...at, 1, 1);
      if (data[3]) cells.push([row, column]);
    }
  return cells;
}"""


class Changing(Light):
    """The Explorer in a notebook, and what is lit after a change."""

    def __init__(self, page: Any, book: BareBook) -> None:
        super().__init__(page)
        self.book = book

    def python(self, code: str) -> str:
        return self.book.run(1, code)

    def watch(self) -> None:
        """Forget what was lit; wait until nothing is any more."""
        self.page.wait_for_function("() => !document.querySelector('.ptx-flash, .ptx-changed, .ptx-fading')")
        self.page.evaluate(WATCH)

    def changed(self, name: str, rows: int, columns: int) -> list[list[int]] | None:
        arguments = [PANES.get(name, name), name, rows, columns]
        return self.page.evaluate(CHANGED_CELLS, arguments)  # type: ignore[no-any-return]

    def bits(self) -> list[str]:
        """The bits that were lit: operand and bit in its register."""
        found = """() => flashed.nodes.filter((node) => node.matches(".ptx-bit"))
            .map((node) => `${node.closest(".ptx-block").dataset.operand} ${node.dataset.bit}`)"""
        return sorted(self.page.evaluate(found))


@pytest.fixture(scope="module")
def book(bare: BarePage, page: Any) -> BareBook:
    page.set_viewport_size({"width": 1280, "height": 1400})
    page.emulate_media(reduced_motion="no-preference")
    opened = bare.open(page, "light", [CODE, "pass"])
    opened.run(0)
    return opened


def living(page: Any) -> dict[str, int]:
    """Nodes, attached or not, and listeners that outlive a garbage collection."""
    session = page.context.new_cdp_session(page)
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    counters = session.send("Memory.getDOMCounters")
    session.detach()
    return {"nodes": counters["nodes"], "listeners": counters["jsEventListeners"]}


def test_edits_leave_nothing_behind(book: BareBook, page: Any) -> None:
    """Before the other tests of changes, which keep what was lit."""
    screen = Changing(page, book)
    living_after = []
    for number in (20, 60) if EXHAUSTIVE else (6, 18):
        for edit in range(number):
            screen.python(f"ex.apply(SetCell('A', 0, 0, '{(edit + 1) % 2}'))")
            page.wait_for_function("() => document.querySelector('[data-pane=D] .ptx-flash') !== null")
        page.wait_for_function("() => !document.querySelector('.ptx-flash, .ptx-changed, .ptx-fading')")
        living_after.append(living(page))
    before, after = living_after
    assert after["nodes"] - before["nodes"] < 100 and after["listeners"] - before["listeners"] < 50


def test_what_changed_is_lit(book: BareBook, page: Any) -> None:
    page.set_viewport_size({"width": 1280, "height": 1400})
    screen = Changing(page, book)
    screen.watch()
    screen.type("A", 0, 1, "1")
    row = [[0, column] for column in range(8)]
    page.wait_for_function("() => flashed.canvases.D")
    assert screen.changed("A", 16, 16) == [[0, 1]]
    assert screen.changed("D", 16, 8) == row
    assert screen.changed("B", 16, 8) is None
    one = 0x3C00 << 16  # of A: f16, in the upper half
    bits = [f"A {bit}" for bit in range(32) if one >> bit & 1]
    bits += [f"D {bit}" for bit in range(32) if 0x3F800000 >> bit & 1] * 2  # d0 and d1 become 1
    assert screen.bits() == sorted(bits)

    # undo, with the pointer on a cell of D: its tip has the new value, and is lit
    screen.hover("D", 0, 1)
    screen.watch()
    page.locator("[data-pane=A] .ptx-cell").focus()
    page.keyboard.press("Control+z")
    expect(page.locator(".ptx-tooltip b").first).to_have_text("D[0][1] = 0")
    page.wait_for_function("() => flashed.canvases.A && flashed.canvases.D")
    assert screen.changed("A", 16, 16) == [[0, 1]] and screen.changed("D", 16, 8) == row
    tips = "() => flashed.nodes.filter((node) => node.closest('.ptx-tooltip')).map((b) => b.textContent)"
    assert page.evaluate(tips)[0] == "D[0][1] = 0"
    page.wait_for_function("() => !document.querySelector('.ptx-flash')", timeout=3000)

    # all of A; another lane changes no bits
    screen.watch()
    screen.python("ex.A = np.ones((16, 16))")
    page.wait_for_function("() => flashed.canvases.A")
    assert len(screen.changed("A", 16, 16) or []) == 256
    screen.watch()
    screen.root.locator(".ptx-lane[data-lane='9']").click()
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Lane 9")
    assert screen.bits() == [] and page.evaluate("() => Object.keys(flashed.canvases)") == []


def test_registers_follow_typing_and_the_selector(book: BareBook, page: Any) -> None:
    """Enter goes to the next cell, and the edited lane stays; metadata is that of the lanes that are read."""
    page.set_viewport_size({"width": 1280, "height": 1400})
    screen = Changing(page, book)
    screen.type("A", 1, 2, "5.5")
    page.mouse.move(2, 2)
    expect(page.locator(".ptx-status").first).to_contain_text("A[2][2] = ")
    page.wait_for_timeout(500)
    assert page.locator(".ptx-lane-title b").first.inner_text() == "Lane 5"
    screen.python(f"ex.instruction = {SPARSE!r}; ex.lane = 0")
    expect(page.locator("[data-operand=E] .ptx-where")).to_have_text("E[0][7..0]")
    Shown(page).tool("[data-option=selector]").select_option(label="1")
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Lane 2")
    expect(page.locator("[data-operand=E] .ptx-where")).to_have_text("E[0][7..0]")


def test_keys_in_registers_and_the_quiz(book: BareBook, page: Any) -> None:
    """D says why it cannot be typed into, Space leaves the arrows alone, and Escape leaves the quiz."""
    screen = Changing(page, book)
    screen.python(f"ex.instruction = {F16!r}")
    field = page.locator("[data-operand=D] .ptx-hex").first
    assert field.get_attribute("title") == "D is the result and cannot be changed"
    value = page.locator("[data-operand=A] .ptx-value").first
    value.focus()
    before = value.input_value()
    page.keyboard.press("Space")
    assert value.input_value() == before
    page.keyboard.press("ArrowDown")
    assert not value.evaluate("node => node === document.activeElement")
    Shown(page).tool(".ptx-quiz-start").click()
    expect(page.locator(".ptx-quiz")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".ptx-quiz")).to_be_hidden()


def test_another_instruction_is_no_change(book: BareBook, page: Any) -> None:
    screen = Changing(page, book)
    screen.watch()
    screen.python(f"ex.instruction = {SPARSE!r}")
    page.wait_for_selector("[data-pane=stored]")
    page.wait_for_timeout(300)
    assert page.evaluate("() => [Object.keys(flashed.canvases), flashed.nodes.length]") == [[], 0]
    screen.python("A = np.zeros((16, 64)); A[3, [10, 11]] = 1; ex.A = A; ex.B = np.ones((64, 8))")
    page.wait_for_timeout(800)
    screen.watch()
    screen.type("A", 3, 14, "2")
    page.wait_for_function("() => flashed.canvases.stored")
    assert screen.changed("D", 16, 8) == [[3, column] for column in range(8)]
    assert [3, 1] in (screen.changed("E", 16, 8) or [])
    screen.python(f"ex.instruction = {F16!r}")
    page.wait_for_function("() => !document.querySelector('[data-pane=stored]')")


def test_less_motion(book: BareBook, page: Any) -> None:
    screen = Changing(page, book)
    page.emulate_media(reduced_motion="reduce")
    screen.python("ex.A, ex.B, ex.lanes = np.zeros((16, 16)), np.ones((16, 8)), [0]")
    screen.watch()
    screen.type("A", 0, 0, "1")
    page.wait_for_selector("[data-pane=D] .ptx-flash")
    moving = "root => root.getAnimations({ subtree: true }).length"
    assert screen.root.evaluate(moving) == 0
    assert page.locator(".ptx-bit.ptx-changed").count() > 0
    page.wait_for_function(
        "() => !document.querySelector('.ptx-flash, .ptx-changed, .ptx-fading')", timeout=5000
    )
    page.emulate_media(reduced_motion="no-preference")


# -- who contributes, and the stepper --


def classes(page: Any, name: str) -> set[int]:
    found = "(nodes) => nodes.map((node) => Number(node.dataset.lane))"
    return set(page.locator(f".ptx-lane.{name}").evaluate_all(found))


def test_lanes_that_contribute(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 1400})
    for name in (F16, SPARSE):
        screen = saved(page, folder, name)
        ins = ptxlab.instruction(name)
        assert classes(page, "contributes") == classes(page, "aside") == set()
        screen.click("D", 9, 3)
        page.wait_for_selector(".ptx-lane.contributes")
        columns = ins.a.shape[1]
        of_a = {place.lane for column in range(columns) for place in ins.a.where(9, column)}
        of_b = {place.lane for row in range(ins.k) for place in ins.b.where(row, 3)}
        assert classes(page, "contributes") == of_a | of_b == {4, 5, 6, 7, 12, 13, 14, 15}
        assert classes(page, "aside") == set(range(32)) - of_a - of_b
        says = "outlined: row 9 of A is in lanes 4..7 · column 3 of B is in lanes 12..15"
        assert says in screen.status.text_content()
        assert page.locator(".ptx-lane[data-lane='13']").get_attribute("title") == "holds column 3 of B"
        page.mouse.move(2, 2)
        assert says in screen.status.text_content()
        screen.click("A", 0, 0)
        page.wait_for_function("() => !document.querySelector('.ptx-lane.contributes, .ptx-lane.aside')")


def test_lanes_of_a_warpgroup_that_contribute(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    screen = saved(page, folder, LARGE)
    page.locator("[data-pane=D] .ptx-scroller").evaluate("node => { node.scrollTop = node.scrollHeight; }")
    screen.click("D", 40, 200)
    page.wait_for_selector(".ptx-lane.contributes")
    assert classes(page, "contributes") == {64, 65, 66, 67}
    assert page.locator(".ptx-warp.holds").all_inner_texts() == ["warp 2"]
    says = "row 40 of A is in threads 64..67 · column 200 of B is in shared memory"
    assert says in screen.status.text_content()
    # a lane is one of 32: those of a warpgroup are threads, in warp 0 too
    screen.click("D", 2, 1)
    page.wait_for_function(
        "() => document.querySelector('.ptx-status').textContent.includes('threads 8..11')"
    )
    assert page.locator(".ptx-lane[data-lane='8']").get_attribute("aria-label") == "thread 8"
    label = page.locator("[data-operand=D] .ptx-hex").first.get_attribute("aria-label")
    assert label.startswith("D, thread 8, register")
    assert page.locator("[data-trait=label] option").all_text_contents()[-1] == "thread·element"


#: The colour of the marks at the upper left corner of a cell: outside it, or inside at the edge of a pane.
CORNER = """([pane, name, row, column]) => {
  const root = document.querySelector(".ptx-explorer");
  const canvas = root.querySelectorAll(`[data-pane=${pane}] canvas`)[1];
  const [box, cell] = [canvas.getBoundingClientRect(), root.cellRect(name, row, column)];
  const ratio = canvas.width / box.width;
  const pixel = (by) => {
    const at = [(cell.x - box.left + by) * ratio, (cell.y - box.top + by) * ratio];
    return [...canvas.getContext("2d").getImageData(...at, 1, 1).data];
  };
  return [-3.5, 2].map(pixel).find(([, , , alpha]) => alpha === 255) ?? pixel(-3.5);
}"""
INSIDE = """([pane, row, column]) => {
  const root = document.querySelector(".ptx-explorer");
  const box = root.querySelector(`[data-pane=${pane}] .ptx-scroller`).getBoundingClientRect();
  const cell = root.cellRect(pane, row, column);
  return cell.x >= box.left - 1 && cell.x + cell.width <= box.right + 1
    && cell.y >= box.top - 1 && cell.y + cell.height <= box.bottom + 1;
}"""


def test_marks_of_the_timeline(page: Any, folder: Path) -> None:
    """They are orange, while a selection is blue, and every step scrolls its cells into view."""
    page.set_viewport_size({"width": 1100, "height": 700})
    explorer = ptxlab.explore("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    explorer.view.zoom = 400
    explorer.selection = ("D", 9, 3)
    page.goto(explorer.save_html(folder / "page.html").as_uri())
    Shown(page)
    for pane in "AB":  # there is more than what is seen
        node = page.locator(f"[data-pane={pane}] .ptx-scroller")
        assert node.evaluate("n => n.scrollWidth > n.clientWidth + 9 || n.scrollHeight > n.clientHeight + 9")
    slider = page.get_by_label("timeline", exact=True)
    slider.focus()
    for step in range(64):
        page.keyboard.press("ArrowRight")
        if step % 5 == 3:  # and the last
            at_rest(page)
            assert page.evaluate(INSIDE, ["A", 9, step]) and page.evaluate(INSIDE, ["B", step, 3]), step
    at_rest(page)
    marks = {}
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        at_rest(page)
        red, _, blue, alpha = marks[scheme] = page.evaluate(CORNER, ["A", "A", 9, 63])
        assert alpha == 255 and red > blue + 60, scheme
    page.keyboard.press("Escape")
    at_rest(page)
    assert page.evaluate(CORNER, ["A", "A", 9, 63]) != marks["light"]


# -- names --


def go_to(page: Any, text: str) -> str:
    """Type a name into the box; what is wrong with it, or nothing."""
    box = Shown(page).tool(".ptx-name")
    enter(box, text)
    at_rest(page)
    return str(page.locator(".ptx-name-problem").inner_text())


def selected(page: Any) -> tuple[str, int, int]:
    cell = page.evaluate("() => document.querySelector('.static-view').model.state.selected")
    return (cell["name"], cell["row"], cell["column"])


def test_names_of_cells_and_lanes(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    screen = saved(page, folder, SPARSE)
    ins = ptxlab.instruction(SPARSE)
    assert go_to(page, "D[9][5]") == "" and selected(page) == ("D", 9, 5)
    assert lane_title(page) == f"Lane {ins.d.where(9, 5)[0].lane}"
    assert page.evaluate("() => document.activeElement.closest('[data-pane]').dataset.pane") == "D"
    for text, cell in {
        "a [ 9 ] [ 37 ]": ("A", 9, 37),
        "b 40 3": ("B", 40, 3),
        "A(3, 2)": ("A", 3, 2),
        "compressed A[3][4]": ("stored", 3, 4),
        "e[9] CHUNK 4": ("E", 9, 4),
        "E[9][4]": ("E", 9, 4),
        "d row 2 column 7": ("D", 2, 7),
        "C[2][1]": ("C", 2, 1),
    }.items():
        assert go_to(page, text) == "", text
        assert selected(page) == cell, text
        box = screen.rect(*cell)
        assert box["y"] > 0 and box["y"] + box["height"] <= 900, text
    assert go_to(page, "Lane14") == "" and lane_title(page) == "Lane 14"
    (place, row, column), *_ = ins.d.holds(14, 3)
    assert go_to(page, "lane 14  D3") == "" and selected(page) == ("D", row, column) and place.element == 3
    assert lane_title(page) == "Lane 14" and page.locator(".ptx-field.here").count() == 1
    (_, row, column), *_ = ins.a.holds(14, 1)
    assert go_to(page, "a8") == "" and selected(page) == ("stored", row, column)
    assert go_to(page, "A[9]") == "" and selected(page) == ("A", 9, 0)
    page.mouse.move(2, 2)
    assert screen.status.text_content().startswith("row 9 of A is held by lanes")


def test_a_cell_that_is_not_stored_leads_to_its_nibble(page: Any, folder: Path) -> None:
    """Its lane is chosen, and the nibble is framed, in the register as in the matrix."""
    page.set_viewport_size({"width": 1440, "height": 900})
    saved(page, folder, SPARSE)
    nibble = ptxlab.instruction(SPARSE).operands["E"].where(9, 4)[0]
    column = next(column for column in range(32, 40) if not stored(page, 9, column))
    go_to(page, "lane 0")
    go_to(page, f"A[9][{column}]")
    assert lane_title(page) == f"Lane {nibble.lane}" == "Lane 5"
    here = page.locator(".ptx-field.here")
    assert here.count() == 1 and here.get_attribute("title") == "e4 is metadata[9][4]"


def stored(page: Any, row: int, column: int) -> bool:
    """Whether compressed A has a cell of A."""
    go_to(page, f"A[{row}][{column}]")
    return "not stored" not in str(page.locator(".ptx-status").text_content())


def test_names_that_lead_nowhere(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    saved(page, folder, SPARSE)
    go_to(page, "D[1][2]")
    for text, sentence in {
        "D[16][0]": "D has rows 0 to 15: there is no row 16.",
        "D[0][8]": "D has columns 0 to 7: there is no column 8.",
        "E[9] chunk 8": "metadata has chunks 0 to 7: there is no chunk 8.",
        "A[9] chunk 4": "Only metadata has chunks: write A[9][column].",
        "lane 32": "Lanes are 0 to 31: there is no lane 32.",
        "lane 14 d4": "Lane 14 holds d0 to d3: there is no d4.",
        "SFA[3][1]": "This instruction has no matrix SFA: it has A, compressed A, B, C, D, metadata.",
    }.items():
        assert go_to(page, text) == sentence
        assert selected(page) == ("D", 1, 2), text
    assert go_to(page, "where?").startswith(
        '"where?" is not the name of a cell or lane: write a cell such as '
    )
    assert page.locator(".ptx-name").get_attribute("aria-invalid") == "true"
    page.locator(".ptx-name").press("Escape")
    assert page.locator(".ptx-name").input_value() == ""
    assert page.locator(".ptx-name-problem").inner_text() == ""


@pytest.mark.parametrize(
    ("name", "size"), one_in(2, [*product([LARGE, SPARSE], [(1440, 900), (1024, 768), (390, 844)])])
)
def test_nothing_lies_on_what_is_said(page: Any, folder: Path, name: str, size: tuple[int, int]) -> None:
    """Far and near: the map covers neither text nor cells, and all of the text is there."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    saved(page, folder, name)
    for near in (True, False):
        go_to(page, "D[9][5]")
        page.locator("[data-pane=D] .ptx-cell").press("Alt+0" if not near else "Alt+=")
        at_rest(page)
        expect(page.locator(".ptx-map")).to_be_visible(visible=near)
        assert "register" in page.locator(".ptx-status").inner_text()
        assert not page.evaluate(CUT), (near, "the text is cut")
        covered = page.evaluate(COVERED)
        assert not covered, covered
    status = page.locator(".ptx-status")
    if "ptx-corner" not in status.evaluate("node => node.parentElement.className"):
        page.locator(".ptx-status-text").click()
        assert "ptx-opened" in str(status.get_attribute("class"))


@pytest.mark.parametrize(
    ("name", "size"),
    [
        (SPARSE, (1440, 900)),
        (SPARSE_FP8, (1920, 1080)),
        (SPARSE_FP8, (1024, 768)),  # with two lines of words beside the slider
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", (1440, 900)),
    ],
)
def test_the_timeline_is_on_the_first_screen(
    page: Any, folder: Path, name: str, size: tuple[int, int]
) -> None:
    """Also below the legend, and below the lines above a saved page; and so is the question below it."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.goto(saved_page(folder, name))
    page.wait_for_selector(":is(.ptx-frame, .ptx-memory-frame) canvas", state="attached")
    box = page.locator(".ptx-timeline" if "ldmatrix" in name else ".ptx-trace-fold").bounding_box()
    assert box["y"] + box["height"] <= size[1]


@pytest.mark.parametrize(
    "name",
    [
        SPARSE,
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "tcgen05.mma.cta_group::1.kind::f16",  # its descriptor and tensor memory stand below it
    ],
)
def test_a_scene_higher_than_the_view_is_played_and_asked_from_the_bar(
    page: Any, folder: Path, name: str
) -> None:
    """Rows of numbers need more than the view: the button below it is not on the first screen, the bar is."""
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(saved_page(folder, name))
    page.wait_for_selector(".ptx-frame canvas", state="attached")
    below = page.locator(".ptx-trace-fold").bounding_box()
    assert below["y"] + below["height"] > 768
    assert page.locator(".ptx-stage").bounding_box()["height"] <= 740
    for button in (".ptx-play-tool", ".ptx-why"):
        box = page.locator(button).bounding_box()
        assert box and box["y"] + box["height"] <= 768, button


#: Whether the text about the selected cell needs more room than it has.
CUT = """() => {
  const text = document.querySelector(".ptx-status-text");
  return text.scrollHeight > text.clientHeight + 2;
}"""
#: What the map covers.
COVERED = """() => {
  const [map, ...nodes] = [".ptx-map", ".ptx-status-text", ".ptx-formula", ".ptx-legends",
    "[data-pane] .ptx-scroller"].flatMap((each) => [...document.querySelectorAll(each)]);
  const a = map.getBoundingClientRect();
  return nodes.filter((node) => {
    const b = node.getBoundingClientRect();
    return a.width * b.width && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  }).map((node) => node.className);
}"""


def test_names_of_large_and_scaled_instructions(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    screen = saved(page, folder, LARGE)
    assert go_to(page, "d[40][200]") == "" and lane_title(page) == "Thread 64: warp 2, lane 0"
    for text in ("lane 69", "Thread 69", "warp 2 lane 5", "warp 2, lane 5"):
        assert go_to(page, "lane 0") == "" and lane_title(page) == "Thread 0: warp 0, lane 0"
        assert go_to(page, text) == "" and lane_title(page) == "Thread 69: warp 2, lane 5", text
    assert go_to(page, "warp 2 lane 32") == "A warp has lanes 0 to 31: there is no lane 32 in warp 2."
    assert go_to(page, "warp 4 lane 0") == "Threads are 0 to 127: there is no thread 128."
    assert go_to(page, "d[40][200]") == ""
    assert page.locator(".ptx-field.here").get_attribute("title") == "d102 is D[40][200]"
    assert page.evaluate(INSIDE, ["D", 40, 200])
    assert go_to(page, "lane 3 b0") == "B is in shared memory: no thread holds its elements."
    screen = saved(page, folder, SCALED)
    screen.hover("D", 9, 5)
    at_rest(page)
    wash = """column => {
      const canvas = document.querySelectorAll("[data-pane=A] canvas")[1];
      const { x, y, width, height } = document.querySelector(".ptx-explorer").cellRect("A", 9, column);
      const box = canvas.getBoundingClientRect();
      const at = [x + width / 2 - box.left, y + height / 2 - box.top].map(Math.floor);
      return [...canvas.getContext("2d").getImageData(...at, 1, 1).data];
    }"""  # of the row that is multiplied: the same before and behind the last of its scale factors
    assert page.evaluate(wash, 9) == page.evaluate(wash, 60) != [0, 0, 0, 0]
    assert go_to(page, "sfa [3] [1]") == "" and selected(page) == ("SFA", 3, 1)
    assert screen.root.locator("[data-operand=SFA] .ptx-field.here").count() == 1
