"""Pointer, keys and fingers on a saved page: zoom, tips, bits, the sheet of keys, taps, keys to colours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import ptxlab
from tests.browser.gestures import at_rest, press, starting, swipe
from tests.sampling import EXHAUSTIVE, some
from tools.bare_page import saved_page
from tools.jupyter import Shown

pytestmark = pytest.mark.browser

S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
LARGE = "wgmma.mma_async.sync.aligned.m64n256k16.f16.f16.f16"
MODEL = "document.querySelector('.static-view').model"
FOCUSED = """() => {
  const node = document.activeElement;
  return { pane: node.closest('[data-pane]')?.dataset.pane ?? '', bit: node.dataset.bit ?? '',
    label: node.getAttribute('aria-label') ?? '', block: node.closest('.ptx-block')?.dataset.operand ?? '' };
}"""


def saved(page: Any, folder: Path, name: str, width: int = 1440, height: int = 900, **traits: Any) -> Shown:
    page.set_viewport_size({"width": width, "height": height})
    page.goto(saved_page(folder, name, **traits))
    return Shown(page)


def tip_lines(page: Any) -> list[str]:
    return list(filter(None, page.locator(".ptx-tooltip.on > :not(canvas)").all_inner_texts()))


# -- zoom ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cell"),
    some([(S4, ("B", 40, 6)), (LARGE, ("D", 5, 200)), (F16, ("A", 15, 15))]),
)
def test_the_cell_under_the_pointer_stays_there(
    page: Any, folder: Path, name: str, cell: tuple[str, int, int]
) -> None:
    """In and back: the pointer stays on the same cell."""
    screen = saved(page, folder, name)
    screen.middle(*cell)  # in view
    box = screen.rect(*cell)
    x, y = box["x"] + 0.3 * box["width"], box["y"] + 0.6 * box["height"]
    page.mouse.move(x, y)
    page.keyboard.down("Control")
    for percent in [300, 200, 100] if EXHAUSTIVE else [150, 100]:
        while (now := page.evaluate(f"() => {MODEL}.get('zoom')")) != percent:
            page.mouse.wheel(0, -100 if now < percent else 100)
            page.wait_for_function(f"now => {MODEL}.get('zoom') !== now", arg=now)
        at_rest(page)
        box = screen.rect(*cell)
        assert -1 <= x - box["x"] <= box["width"] + 1, percent
        assert -1 <= y - box["y"] <= box["height"] + 1, percent
    page.keyboard.up("Control")


def test_buttons_and_keys_zoom_around_the_selected_cell(page: Any, folder: Path) -> None:
    screen = saved(page, folder, F16)
    screen.click("A", 9, 8)
    page.mouse.move(2, 2)
    before = screen.rect("A", 9, 8)

    def is_held() -> bool:
        """Whether the cell is near the middle of what is seen of A."""
        box, seen = screen.rect("A", 9, 8), page.locator("[data-pane=A] .ptx-scroller").bounding_box()
        return all(
            abs(box[at] + box[size] / 2 - seen[at] - seen[size] / 2) < seen[size] / 3
            for at, size in (("x", "width"), ("y", "height"))
        )

    Shown(page).tool("[aria-label=nearer]").click()
    page.wait_for_function(f"() => {MODEL}.get('zoom') === 125")
    at_rest(page)
    assert screen.rect("A", 9, 8)["width"] > before["width"] and is_held()
    page.locator("[data-pane=A] .ptx-cell").focus()
    page.keyboard.press("Alt+Equal")
    page.wait_for_function(f"() => {MODEL}.get('zoom') === 150")
    at_rest(page)
    assert is_held()
    page.keyboard.press("Alt+0")
    page.wait_for_function(f"() => {MODEL}.get('zoom') === 100")
    at_rest(page)
    after = screen.rect("A", 9, 8)
    assert all(abs(after[side] - before[side]) <= 1 for side in before)


# -- tips ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", some([(800, 500), (1440, 900), (390, 700)]))
def test_tips_turn_at_the_edges_of_the_window(page: Any, folder: Path, size: tuple[int, int]) -> None:
    """In corners of the matrices, with the lens; also where the parts around it would clip it."""
    screen = saved(page, folder, LARGE, *size)
    clip = "view => Object.assign(view.style, {overflow: 'hidden', contain: 'paint'})"
    page.locator(".static-view").evaluate(clip)
    for name, row, column in [("A", 0, 0), ("D", 0, 255), ("D", 63, 255)]:
        screen.root.evaluate(
            """(root, [name, row, column]) => {
              const pane = root.querySelector(`[data-pane=${name}] .ptx-scroller`);
              pane.scrollTo(column ? pane.scrollWidth : 0, row ? pane.scrollHeight : 0);
              const box = root.cellRect(name, row, column);
              scrollBy(0, row ? box.y + box.height - innerHeight : box.y);
            }""",
            [name, row, column],
        )
        at_rest(page)
        box = screen.rect(name, row, column)
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        tip = page.locator(".ptx-tooltip.on")
        tip.wait_for()
        at_rest(page)
        assert tip_lines(page)[0].startswith(f"{name}[{row}][{column}] = ")
        seen = tip.bounding_box()
        assert seen["x"] >= 0 and seen["x"] + seen["width"] <= size[0], (name, row, column)
        assert seen["y"] >= 0 and seen["y"] + seen["height"] <= size[1], (name, row, column)
        on_top = page.evaluate(
            """([x, y]) => {
              const tip = document.querySelector('.ptx-tooltip');
              tip.style.pointerEvents = 'auto';
              const is = tip.contains(document.elementFromPoint(x, y));
              tip.style.pointerEvents = '';
              return is;
            }""",
            [seen["x"] + seen["width"] - 3, seen["y"] + seen["height"] - 3],
        )
        assert on_top, (name, row, column)
        page.mouse.move(1, 1)


# -- keys ------------------------------------------------------------------------------------------------


def test_a_block_of_registers_is_one_stop_and_every_bit_is_in_it(page: Any, folder: Path) -> None:
    screen = saved(page, folder, S4)
    blocks = page.locator(".ptx-block").evaluate_all(
        "nodes => nodes.map((node) => node.querySelectorAll('[tabindex=\"0\"]').length)"
    )
    assert blocks == [1, 1, 1]
    page.locator(".ptx-lane[tabindex='0']").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED)["block"] == "A"
    labels = []
    for _ in range(32):  # from the hexadecimal number through all bits of register 0
        page.keyboard.press("ArrowRight")
        labels.append(page.evaluate(FOCUSED)["label"])
    assert labels == [f"bit {bit} of register 0 of A" for bit in reversed(range(32))]
    page.keyboard.press("ArrowRight")
    assert page.evaluate(FOCUSED)["bit"] == "0"
    lines = tip_lines(page)
    assert lines[0].startswith("bit 0 of register 0 of A = ") and lines[2].startswith("a0 is A[0][0] = ")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED)["label"] == "a0, A row 0 column 0"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED)["label"].endswith("of register 1 of A")
    press(page, "Control+End", "Tab")
    assert page.evaluate(FOCUSED)["block"] == "B"
    press(page, "Tab", "Tab")
    assert page.evaluate(FOCUSED)["block"] == ""
    press(page, "Shift+Tab", "Shift+Tab", "Shift+Tab")
    assert page.evaluate(FOCUSED)["label"] == "a24, A row 8 column 32"  # where it was left
    assert screen.root.locator("[data-operand=D] .ptx-bit[aria-readonly=true]").count() == 128


def test_bits_are_easy_to_hit_where_there_is_room(page: Any, folder: Path) -> None:
    saved(page, folder, S4, 1600, 1100)
    bit = page.locator("[data-operand=A] .ptx-bit[data-bit='20']").first
    box = bit.bounding_box()
    assert box["width"] >= 12 and box["height"] >= 24
    number = bit.evaluate("node => getComputedStyle(node, '::before').content")
    assert number in ("attr(data-bit)", '"20"')
    bit.hover()
    assert tip_lines(page)[0].startswith("bit 20 of register 0 of A = ")


@pytest.mark.parametrize("key", some(["?", "button"]))
def test_the_sheet_of_keys(page: Any, folder: Path, key: str) -> None:
    saved(page, folder, F16)
    cell = page.locator("[data-pane=A] .ptx-cell")
    opener = cell if key == "?" else Shown(page).tool(".ptx-help")
    opener.focus()
    page.keyboard.press("?" if key == "?" else "Enter")
    sheet = page.get_by_role("dialog", name="keys, mouse and touch")
    sheet.wait_for()
    page.set_viewport_size({"width": 1440, "height": 900})  # where all of it is seen
    assert sheet.locator(".ptx-sheet-page").evaluate("node => node.scrollHeight <= node.clientHeight")
    assert {"Everywhere", "On a cell", "In registers", "What it shows", "Mouse", "Touch"} <= set(
        sheet.locator("h3").all_inner_texts()
    )
    for turn in range(6):
        page.keyboard.press("Shift+Tab" if turn > 3 else "Tab")
        assert page.evaluate("() => Boolean(document.activeElement.closest('dialog'))")
    page.keyboard.press("Escape")
    sheet.wait_for(state="hidden")
    assert opener.evaluate("node => node === document.activeElement")
    assert cell.input_value() == ""


# -- fingers ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def phone(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    yield context.new_page()
    context.close()


def test_a_tap_shows_and_a_second_one_edits(phone: Any, folder: Path) -> None:
    phone.goto(saved_page(folder, F16))
    screen = Shown(phone)
    ins = ptxlab.instruction(F16)
    place = ins.a.where(3, 5)[0]
    phone.touchscreen.tap(*screen.middle("A", 3, 5))
    phone.wait_for_selector(".ptx-tooltip.on")
    lines = tip_lines(phone)
    assert lines[0].startswith("A[3][5] = ") and f"lane {place.lane}" in lines
    assert phone.evaluate(f"() => {MODEL}.get('selected')") == {"name": "A", "row": 3, "column": 5}
    cell = phone.locator("[data-pane=A] .ptx-cell")
    assert "editing" not in cell.get_attribute("class")
    assert cell.get_attribute("inputmode") == "none"  # no keyboard covers the tip
    phone.touchscreen.tap(*screen.middle("A", 3, 5))
    phone.wait_for_selector("[data-pane=A] .ptx-cell.editing")
    assert cell.get_attribute("inputmode") == "text"
    phone.keyboard.press("Escape")
    phone.touchscreen.tap(*screen.middle("D", 2, 1))
    expect(phone.locator(".ptx-tooltip.on b").first).to_have_text(starting("D[2][1]"))
    phone.touchscreen.tap(8, 8)  # elsewhere
    phone.wait_for_selector(".ptx-tooltip.on", state="hidden")
    assert phone.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_taps_on_bits_and_headings(phone: Any, folder: Path) -> None:
    phone.goto(saved_page(folder, S4))
    screen = Shown(phone)
    phone.locator(".ptx-register-tab").tap()
    bit = phone.locator("[data-operand=A] .ptx-bit[data-bit='20']").first
    bit.tap()
    phone.wait_for_selector(".ptx-tooltip.on")
    assert tip_lines(phone)[0].startswith("bit 20 of register 0 of A = ")
    assert phone.locator(".ptx-problem").inner_text() == ""
    bit.tap()  # would flip it; a saved page says that it cannot
    phone.wait_for_function("() => document.querySelector('.ptx-problem').innerText !== ''")
    phone.evaluate("() => scrollTo(0, 0)")  # the registers are below
    cell = screen.rect("D", 4, 0)
    phone.touchscreen.tap(cell["x"] - 10, cell["y"] + cell["height"] / 2)
    expect(phone.locator(".ptx-tooltip.on b").first).to_have_text(starting("row 4 of D is held by"))


def test_one_finger_scrolls_the_page_and_two_zoom_where_they_are(phone: Any, folder: Path) -> None:
    phone.goto(ptxlab.explore(S4).save_html(folder / "phone.html").as_uri())
    screen = Shown(phone)
    phone.locator(".ptx-register-tab").tap()
    for part in ("[data-pane=A] .ptx-scroller", ".ptx-lanes", ".ptx-fields >> nth=1", ".ptx-track"):
        box = phone.locator(part).evaluate(
            "(node) => { scrollTo(0, node.getBoundingClientRect().top + scrollY - 600);"
            " const { x, y, width, height } = node.getBoundingClientRect();"
            " return { x: x + width / 2, y: y + Math.min(height / 2, 60), at: scrollY }; }"
        )
        swipe(phone, box["x"], box["y"], 150 if box["at"] > 150 else -150)
        phone.wait_for_function("(at) => Math.abs(scrollY - at) > 80", arg=box["at"])
    # No finger that moves on selects.
    assert phone.evaluate(f"() => {MODEL}.get('selected').name ?? ''") == ""
    assert not phone.locator(".ptx-tooltip.on").count()
    phone.evaluate("() => scrollTo(0, 0)")
    x, y = screen.middle("A", 8, 32)
    fingers = phone.context.new_cdp_session(phone)
    for event, apart in (("touchStart", 20), ("touchMove", 30), ("touchMove", 40), ("touchEnd", None)):
        points = [] if apart is None else [{"x": x - apart, "y": y}, {"x": x + apart, "y": y}]
        fingers.send("Input.dispatchTouchEvent", {"type": event, "touchPoints": points})
    phone.wait_for_function(f"() => {MODEL}.get('zoom') === 200")
    phone.wait_for_function(
        "([x, y]) => {"
        "  const cell = document.querySelector('.ptx-explorer').cellRect('A', 8, 32);"
        "  return Math.hypot(cell.x + cell.width / 2 - x, cell.y + cell.height / 2 - y) < 4;"
        "}",
        arg=[x, y],
    )


# -- colours ---------------------------------------------------------------------------------------------


def legend(page: Any, pane: str) -> tuple[str, list[str]]:
    node = page.locator(f"[data-pane={pane}] .ptx-legend")
    if not node.count():
        return "", []
    return node.locator("span").first.inner_text(), node.locator(".ptx-key").all_inner_texts()


#: The colour of a cell of a pane, and of a key of its legend.
COLOUR = """([pane, x, y, key]) => {
  const canvas = document.querySelector(`[data-pane=${pane}] canvas`);
  const box = canvas.getBoundingClientRect();
  const ratio = canvas.width / box.width;
  const at = [Math.round((x - box.left) * ratio), Math.round((y - box.top) * ratio)];
  const cell = [...canvas.getContext('2d').getImageData(...at, 1, 1).data].slice(0, 3);
  const node = document.querySelectorAll(`[data-pane=${pane}] .ptx-key`)[key];
  return [cell, getComputedStyle(node).backgroundColor.match(/\\d+/g).map(Number)];
}"""


def assert_in_colour_of(screen: Shown, pane: str, row: int, column: int, key: int) -> None:
    """A cell has the colour of a key of the legend, but for what pictures of many small cells round."""
    box = screen.rect(pane, row, column)
    cell, swatch = screen.page.evaluate(COLOUR, [pane, box["x"] + 2, box["y"] + 2, key])
    apart = max(abs(x - y) for x, y in zip(cell, swatch, strict=True))
    assert apart <= 1, (row, column, cell, swatch)


def test_colours_by_register_have_a_legend(page: Any, folder: Path) -> None:
    screen = saved(page, folder, F16, colour_by="register")
    assert legend(page, "A") == ("registers", ["0", "1", "2", "3"])
    assert legend(page, "B") == ("registers", ["0", "1"])
    for row, column in ((0, 0), (8, 1), (3, 9), (15, 15)):
        register = ptxlab.instruction(F16).a.where(row, column)[0].register
        assert_in_colour_of(screen, "A", row, column, register)
    page.evaluate(f"() => {MODEL}.set('colour_by', 'lane')")
    page.wait_for_selector("[data-pane] .ptx-legend", state="detached")
    values = page.locator("[data-trait=colour_by] option").all_inner_texts()
    assert values == ["lane", "register", "value", "none"]  # one warp, nothing in shared memory


def test_operands_in_shared_memory_are_coloured(page: Any, folder: Path) -> None:
    screen = saved(page, folder, WGMMA, colour_by="core matrix")
    title, texts = legend(page, "B")
    assert (title, texts[:3]) == ("core matrices 0..7 of 16", ["0", "1", "2"])
    assert legend(page, "A") == ("", [])
    for row, column, core in ((0, 0, 0), (7, 7, 0), (8, 0, 1), (15, 5, 1), (0, 8, 2), (9, 31, 7)):
        assert_in_colour_of(screen, "B", row, column, core)
    Shown(page).tool("[data-trait=colour_by]").select_option("bank")
    expect(page.locator("[data-pane=B] .ptx-legend span").first).to_have_text("banks")
    assert legend(page, "B")[1] == [f"{bank}..{bank + 3}" for bank in range(0, 32, 4)]
    for row, column, key in ((0, 0, 0), (0, 1, 1), (3, 7, 7), (8, 0, 0), (5, 12, 4)):
        assert_in_colour_of(screen, "B", row, column, key)


def test_the_bar_is_quiet_until_tools_are_used(page: Any, folder: Path) -> None:
    """Name, play, why and a menu; "/" opens that with a field for commands and places."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(saved_page(folder, "mma.m16n8k16.f32.f16"))
    shown = Shown(page)
    on_bar = page.locator(".ptx-toolbar > [data-group]:visible")
    names = "all => all.map((node) => node.dataset.group)"
    assert on_bar.evaluate_all(names) == ["play"]
    shown.click("A", 0, 0)
    page.keyboard.press("/")
    more, field = page.locator("[data-tool=more]"), page.locator(".ptx-name")
    expect(field).to_be_focused()
    expect(more).to_have_attribute("aria-expanded", "true")
    page.keyboard.type("colour")
    expect(page.locator(".ptx-more-box > [data-group]:visible")).to_have_count(1)
    page.keyboard.press("Enter")
    colours = page.locator("[data-trait=colour_by]")
    expect(colours).to_be_focused()
    colours.select_option("register")
    expect(more).to_have_attribute("aria-expanded", "false")
    expect(colours).to_be_focused()  # where it stands now
    assert on_bar.evaluate_all(names) == ["play", "show"]
    page.keyboard.press("Escape")
    shown.click("A", 0, 0)
    page.keyboard.press("/")
    page.keyboard.type("lane 7")
    page.keyboard.press("Enter")
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Lane 7")
    expect(more).to_have_attribute("aria-expanded", "false")
    page.set_viewport_size({"width": 390, "height": 844})
    tops = page.locator(".ptx-toolbar > :visible").evaluate_all("all => all.map((node) => node.offsetTop)")
    assert max(tops) - min(tops) < 12
