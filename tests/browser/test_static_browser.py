"""The saved page from disk, with the network off: what is alive in it, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import ptxlab
from ptxlab.explorer.debugger.debugger_widget import DebuggerWidget
from ptxlab.explorer.edits import FillMatrix
from ptxlab.explorer.links import page_address
from ptxlab.explorer.page.page_values import lane_registers
from ptxlab.views import palette
from tests.browser.gestures import at_rest, enter, press, starting, type_line
from tests.sampling import some
from tools.jupyter import Shown

pytestmark = pytest.mark.browser

SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
FORMS = {
    "sparse": "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "wgmma": "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
    "scaled": SCALED,
}
AXE = Path(__file__).parents[2] / ".venv" / "front" / "node_modules" / "axe-core" / "axe.min.js"
SAID = "() => document.querySelector('.ptx-status').textContent"
MODEL = "document.querySelector('.static-view').model"


@pytest.fixture(params=some(FORMS))
def saved(request: pytest.FixtureRequest, page: Any, tmp_path: Path) -> Iterator[Any]:
    """An Explorer whose page is open in the browser; errors on the console and requests fail the test."""
    ex = ptxlab.explore(FORMS[request.param], seed=5)
    ex.view.selected = {"name": "D", "row": 1, "column": 2}
    path = ex.save_html(tmp_path / "x.html", title="Week 3 </script>")
    assert path.stat().st_size < 700_000
    complaints: list[str] = []
    asked: list[str] = []
    listen = {
        "console": lambda message: (
            complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
        "request": lambda wish: asked.append(wish.url),
    }
    for event, call in listen.items():
        page.on(event, call)
    page.context.set_offline(True)
    page.goto(path.as_uri())
    page.wait_for_selector("[data-pane=D] canvas")
    yield ex
    for event, call in listen.items():
        page.remove_listener(event, call)
    assert not complaints
    assert asked == [path.as_uri()]


def at(page: Any, name: str, row: int, column: int) -> tuple[float, float]:
    return Shown(page).middle(name, row, column)


def hexes(page: Any) -> list[str]:
    return [box.input_value() for box in page.locator(".ptx-hex[data-operand=A]").all()]


def pixels(page: Any, name: str) -> str:
    return str(
        page.evaluate("name => document.querySelector(`[data-pane=${name}] canvas`).toDataURL()", name)
    )


def test_saved(saved: Any, page: Any) -> None:
    ex, ins = saved, saved.instruction
    assert page.locator("h1").inner_text() == page.title() == "Week 3 </script>"
    assert page.locator(".ptx-mnemonic").inner_text() == ins.mnemonic
    live = page.get_by_role("link", name="Open live").get_attribute("href")
    assert live == page_address(ex.link) and (ptxlab.explore(live).D == ex.D).all()

    # hover: the lane and register that hold the cell
    operand, name = (ins.a, "stored") if ins.sparse else (ins.a, "A")
    place = operand.where(3, 5)[0]
    page.mouse.move(*at(page, name, 3, 5))
    page.wait_for_function(f"() => ({SAID})().includes('[3][5] =')")
    assert (
        f"lane {place.lane} · element a{place.element}"
        f" · register {place.register}, bits {place.high}..{place.low}" in page.evaluate(SAID)
    )

    # lanes: their registers, for all of them what the kernel would have sent
    before = hexes(page)
    assert before == [f"0x{word:08x}" for word in ex.registers["A"][0][: len(before)]]
    page.locator(".ptx-lane[data-lane='17']").click()
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Lane 17")
    assert before != hexes(page) == [f"0x{word:08x}" for word in ex.registers["A"][17][: len(before)]]
    for lane in range(3, ins.lanes, ins.lanes // 4):
        assert page.evaluate(
            f"lane => {{ {MODEL}.set('lane', lane); return {MODEL}.get('lane_registers'); }}", lane
        ) == {str(lane): lane_registers(ex.state, lane)}

    # colours, zoom, C
    looks = [pixels(page, "A")]
    for how in ("register", "value"):
        Shown(page).tool("[data-trait=colour_by]").select_option(how)
        at_rest(page)
        looks.append(pixels(page, "A"))
    assert len(set(looks)) == 3
    spaces = "all => all.map((node) => node.offsetWidth * node.offsetHeight)"  # what lacks room grows first
    before_zoom = page.locator("[data-pane] .ptx-space").evaluate_all(spaces)
    Shown(page).tool("[aria-label=nearer]").click()
    page.get_by_role("button", name="nearer").click(click_count=3)
    page.wait_for_function(
        f"before => ({spaces})([...document.querySelectorAll('[data-pane] .ptx-space')])"
        ".every((area, index) => area >= before[index] && (index || area > before[index]))",
        arg=before_zoom,
    )
    page.locator("[data-trait=zoom]").click()
    Shown(page).tool("[data-pane=C] [aria-expanded]").click()
    page.wait_for_selector("[data-pane=C] canvas")
    Shown(page).tool("[data-pane=C] [aria-expanded]").click()

    # why: the saved cell has its bits, another says what it lacks
    page.locator(".ptx-trace-fold").click()
    assert "D[1][2]" in page.locator(".ptx-trace-fold").inner_text()
    assert page.locator(".ptx-trace-cell").count() > 20
    page.mouse.click(*at(page, "D", 0, 0))
    expect(page.locator(".ptx-trace-body").first).to_contain_text("only")
    assert page.locator(".ptx-trace-cell").count() == 0
    expect(page.locator(".ptx-part-name", has_text="sum of D")).to_have_count(0)  # its bits are not saved
    if ins.n == 8:  # a small D has the dot products of all cells
        expect(page.locator(".ptx-timeline-text")).to_contain_text("D[0][0] = ")
    page.mouse.click(*at(page, "D", 1, 2))
    page.wait_for_selector(".ptx-trace-cell")
    page.get_by_role("button", name="play the instruction").click()
    page.wait_for_function("() => Number(document.querySelector('[data-testid=timeline]').dataset.at) > 1")
    page.get_by_role("button", name="pause").click()
    page.locator(".ptx-trace-fold").click()


REMEDY = "this page cannot be edited: press Open live, or open it in a notebook with"


@pytest.mark.parametrize("saved", some(FORMS), indirect=True)
def test_refused(saved: Any, page: Any) -> None:
    """Whatever is typed is refused with the way out; nothing changes."""
    state = f"() => JSON.stringify(['lane_registers', 'lane', 'trace'].map((name) => {MODEL}.get(name)))"
    mnemonic = saved.instruction.mnemonic
    remedy = f'{REMEDY} ptxlab.explore("{mnemonic}")'
    page.mouse.click(*at(page, "A", 2, 3))
    before, look = page.evaluate(state), pixels(page, "A")
    type_line(page, "1")
    expect(page.locator(".ptx-problem").first).to_have_text(remedy)
    assert (page.evaluate(state), pixels(page, "A")) == (before, look)
    page.mouse.click(*at(page, "A", 2, 3))
    expect(page.locator(".ptx-problem").first).to_have_text("")
    box = page.locator(".ptx-hex[data-operand=A]").first
    content = box.input_value()
    enter(box, "0xffffffff")
    expect(page.locator(".ptx-problem").first).to_have_text(remedy)
    assert box.input_value() == content
    page.evaluate("() => document.activeElement.blur()")


@pytest.mark.parametrize("scheme", some(["light", "dark"]))
def test_theme(browser: Any, tmp_path: Path, scheme: Any) -> None:
    """Paper and ink follow the system, also when it changes; nothing hangs over a narrow window."""
    path = ptxlab.explore(FORMS["scaled"]).save_html(tmp_path / "x.html")
    context = browser.new_context(viewport={"width": 900, "height": 900}, color_scheme=scheme, offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("[data-pane=D] canvas")
    dark = (
        "() => [getComputedStyle(document.body).backgroundColor,"
        " document.querySelector('.ptx-explorer').classList.contains('dark')]"
    )
    light, dark_paper = (f"rgb{tuple(bytes.fromhex(paper[1:]))}" for paper in palette.INTERFACE["paper"])
    papers = {"light": [light, False], "dark": [dark_paper, True]}
    other = "dark" if scheme == "light" else "light"
    assert page.evaluate(dark) == papers[scheme]
    page.emulate_media(color_scheme=other)
    page.wait_for_function(
        f"wanted => JSON.stringify(({dark})()) === JSON.stringify(wanted)", arg=papers[other]
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    assert page.locator("h1").is_hidden()
    context.close()


# -- a walk ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved_walk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A walk and its page."""
    shown = ptxlab.walk("wgmma")
    return shown, shown.save_html(tmp_path_factory.mktemp("walk") / "wgmma.html")


@pytest.fixture
def walk(page: Any, saved_walk: tuple[Any, Path]) -> Iterator[Any]:
    """A walk whose page is open in the browser, without a network; nothing is complained of."""
    shown, path = saved_walk
    complaints: list[str] = []
    listen = lambda message: complaints.append(message.text) if message.type == "error" else None  # noqa: E731
    page.on("console", listen)
    page.context.set_offline(True)
    page.goto(path.as_uri())
    page.wait_for_selector("[data-pane=D] canvas")
    yield shown
    page.remove_listener("console", listen)
    assert not complaints


def is_at(page: Any, shown: Any, number: int) -> None:
    """The bar, the Explorer, the formulas and the address are those of a stop."""
    expect(page.locator(".ptx-walk .head strong")).to_have_text(shown.stops[number].title)
    expect(page.locator(".ptx-mnemonic")).to_have_text(shown.stops[number].form.mnemonic)
    expect(page.locator(".ptx-walk .news p")).to_have_text(shown.stops[number].what_changed)
    expect(page.locator(".ptx-walk-fragments figure")).to_have_count(len(shown.stops[number].formulas))


def test_a_saved_walk(walk: Any, page: Any) -> None:
    """Previous, next, arrow keys, the map and addresses lead to stops; one Explorer shows them all."""
    is_at(page, walk, 0)
    page.evaluate("() => { window.first = document.querySelector('.ptx-explorer'); }")
    page.get_by_role("button", name="next stop").click()
    is_at(page, walk, 1)
    page.keyboard.press("ArrowRight")
    is_at(page, walk, 2)
    page.keyboard.press("ArrowLeft")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("ArrowLeft")
    is_at(page, walk, 0)
    page.get_by_role("button", name="4: ").click()
    is_at(page, walk, 3)
    assert page.url.endswith("#walk-wgmma-4")
    page.evaluate("() => { location.hash = '#walk-wgmma-6'; }")
    is_at(page, walk, 5)
    assert page.get_by_role("button", name="next stop").is_disabled()
    page.evaluate("() => { location.hash = '#walk-mma-2'; }")  # of another walk
    page.evaluate("() => { location.hash = '#100%'; }")  # no address of a stop, nor of anything escaped
    is_at(page, walk, 5)
    page.get_by_role("button", name="all layouts at a glance").click()
    page.locator(".glance .dot").nth(1).click()
    is_at(page, walk, 1)
    assert page.locator(".glance img").first.evaluate("image => image.naturalWidth") > 1
    assert page.evaluate("() => window.first === document.querySelector('.ptx-explorer')")
    page.reload()
    is_at(page, walk, 1)

    # the lanes are those of this stop; an edit is refused with the way out
    page.locator(".ptx-lane[data-lane='17']").click()
    expect(page.locator(".ptx-lane-title b").first).to_contain_text("17")
    walk.go(1)
    before = hexes(page)
    assert before == [f"0x{word:08x}" for word in walk.explorer.registers["A"][17][: len(before)]]
    page.mouse.click(*at(page, "A", 2, 3))
    type_line(page, "1")
    remedy = f'{REMEDY} ptxlab.walk("wgmma", 1)'
    expect(page.locator(".ptx-problem").first).to_have_text(remedy)


def test_questions_of_a_saved_walk(walk: Any, page: Any) -> None:
    """The page says of every answer what Python says, and remembers right ones."""
    for number, stop in enumerate(walk.stops[:3]):
        (first, second), *_ = stop.question.answers
        page.evaluate("stop => { location.hash = `#walk-wgmma-${stop}`; }", number + 1)
        is_at(page, walk, number)
        box = page.locator(".ptx-walk .question input")
        for answer in (
            "lane",
            f"{first + 1}, {second}",
            f"{first} {second + 1}",
            f"{second}, {first}",
            "999999999999 7",
            f"lane {first}, register {second}",
        ):
            box.fill(answer)
            box.press("Enter")
            verdict = stop.check(answer)
            sign = {"right": "✓", "wrong": "✗", "not yet": "…"}[verdict.state]
            expect(page.locator(".ptx-walk .verdict")).to_have_text(f"{sign} {verdict.text}")
    page.reload()
    expect(page.locator(".ptx-walk .count")).to_have_text("wgmma: stop 3 of 6, 3 answered")
    page.evaluate("() => localStorage.clear()")
    if AXE.exists():
        page.evaluate(AXE.read_text(encoding="utf-8"))  # which the policy of the page would not load
        axe = page.evaluate("async () => await axe.run('.ptx-walk, .ptx-walk-fragments')")
        assert len(axe["passes"]) > 5 and not axe["violations"], axe["violations"]


# -- the timeline of lesson 05 -----------------------------------------------------------------------------

TIMELINE = """<!doctype html><html lang="en"><head><title>t</title><style>{css}</style></head><body>
<main id="place"></main><script type="module">
{script}
const widget = {{ render }};
let shown = {shown};
const model = {{
  get: () => shown, on: (event, call) => {{ model.changed = call; }}, off: () => {{}},
  send: async (message) => {{ shown = await window.answer(message); model.changed(); }},
}};
widget.render({{ model, el: document.getElementById("place") }});
</script></body></html>"""


def test_the_fences_of_the_timeline_can_be_moved(page: Any, tmp_path: Path) -> None:
    """By buttons, by keyboard and by dragging; Python answers, as it does in a notebook."""
    from ptxlab.course.timeline_widget import TimelineWidget

    widget = TimelineWidget()

    def answer(message: Any) -> Any:
        widget.change(message)
        return widget.shown

    page = page.context.new_page()  # a function is exposed once in a page
    page.expose_function("answer", answer)
    script = widget._esm.replace("export default { render };", "")
    path = tmp_path / "timeline.html"
    path.write_text(
        TIMELINE.format(css=widget._css, script=script, shown=json.dumps(widget.shown)), encoding="utf-8"
    )
    page.goto(path.as_uri())
    verdict = page.locator(".ptx-wgmma-timeline .verdict")
    assert verdict.inner_text().startswith("✓ Defined")
    if AXE.exists():  # what `python -m tools.check_javascript` installs
        page.add_script_tag(path=str(AXE))
        axe = page.evaluate("async () => await axe.run('.ptx-wgmma-timeline')")
        assert len(axe["passes"]) > 5 and not axe["violations"], axe["violations"]

    # left out and put back by buttons
    page.get_by_role("button", name="leave out wgmma.fence").click()
    expect(page.locator(".verdict").first).to_contain_text("No wgmma.fence")
    expect(page.locator(".run.undefined")).to_have_count(2)  # at the product, and where d is read
    page.get_by_role("button", name="put back wgmma.fence").click()
    expect(page.locator(".verdict").first).to_have_text(starting("✓"))

    # moved by keyboard, twice: the button keeps the focus
    left = page.get_by_role("button", name="move left wgmma.commit_group")
    left.focus()
    left.press("Enter")
    expect(page.locator(".verdict").first).to_contain_text("empty group")
    expect(page.locator(":focus")).to_have_attribute("title", "move left wgmma.commit_group")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.querySelectorAll('.step')[4].innerText.startsWith('wgmma.\\ncommit')"
    )
    page.get_by_role("button", name="reset the program").click()
    expect(page.locator(".verdict").first).to_have_text(starting("✓"))

    # dragged: the wait to the end, where it waits too late
    wait, last = page.locator(".step.movable").last.bounding_box(), page.locator(".step").last.bounding_box()
    page.mouse.move(wait["x"] + 20, wait["y"] + 20)
    page.mouse.down()
    page.mouse.move(last["x"] + last["width"] - 4, wait["y"] + 20, steps=6)
    expect(page.locator(".step.after")).to_have_count(1)
    page.mouse.up()
    expect(page.locator(".verdict").first).to_contain_text("after the read")
    assert widget.program[-1] == "wgmma.wait_group 0"
    page.close()


# -- two chips -------------------------------------------------------------------------------------------

#: Colours of the cells of D in their top left corners, where the mark is; of small cells in the middle.
CORNERS = """() => {
  const explorer = document.querySelector('.ptx-explorer');
  const canvas = document.querySelector('[data-pane=D] canvas');
  const [box, ratio] = [canvas.getBoundingClientRect(), devicePixelRatio];
  const context = canvas.getContext('2d');
  return Array.from({ length: 128 }, (_, index) => {
    const { x, y, width, height } = explorer.cellRect('D', Math.floor(index / 8), index % 8);
    const small = Math.min(width, height) < 9;
    const [right, down] = small ? [width / 2 - 1, height / 2 - 1] : [0, 0]; // whole pixels from there
    const at = [(x - box.left + right) * ratio, (y - box.top + down) * ratio].map(Math.ceil);
    return [...context.getImageData(...at, 1, 1).data].slice(0, 3).join();
  });
}"""
MARK = {"light": "176,0,96", "dark": "255,122,192"}  # --ptx-bad


@pytest.mark.parametrize("scheme", some(["dark", "light"]))
def test_two_chips(browser: Any, tmp_path: Path, scheme: Any) -> None:
    """Every cell that differs has a mark, the way leads from one to the next, and why is on one screen."""
    ex = ptxlab.explore("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", seed=2)
    ex.apply(FillMatrix("A", "cancelling"), FillMatrix("B", "cancelling"))
    ex.against = "sm_80"
    cells = np.argwhere(ex.differ).tolist()
    assert 64 < len(cells) < 128
    (row, column), (next_row, next_column) = cells[0], cells[1]
    ex.selection = "D", row, column
    path = ex.save_html(tmp_path / "x.html")
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=scheme, offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("[data-pane=D] canvas")
    for zoom in (100, 50):
        page.evaluate(f"() => {{ {MODEL}.set('zoom', {zoom}) }}")
        at_rest(page)
        marked = [colour == MARK[scheme] for colour in page.evaluate(CORNERS)]
        np.testing.assert_array_equal(np.reshape(marked, (16, 8)), ex.differ)
    page.evaluate(f"() => {{ {MODEL}.set('zoom', 100) }}")

    # both values with their codes, and how many there are
    ours, theirs = (f"0x{codes[row, column]:08x}" for codes in both_codes(ex))
    page.mouse.move(*at(page, "D", row, column))
    tip = page.locator(".ptx-tooltip").inner_text()
    assert f"= {ours}" in tip and f"= {theirs}" in tip and "in the last place apart" in tip
    bits = int(ours, 16) ^ int(theirs, 16)
    assert "they differ in bit" in tip and str(bits.bit_length() - 1) in tip.split("they differ in bit")[1]
    page.mouse.move(5, 5)
    assert f"difference 1 of {len(cells)}" in page.evaluate(SAID)
    count = page.locator(".ptx-caption em")
    assert count.inner_text() == f"1 of {len(cells)} differ"

    # the way from one to the next, around the end, by button and by key
    page.get_by_role("button", name="next difference").click()
    page.wait_for_function(f"() => ({SAID})().startsWith('D[{next_row}][{next_column}] =')")
    page.keyboard.press("Shift+F8")
    page.wait_for_function(f"() => ({SAID})().startsWith('D[{row}][{column}] =')")
    page.get_by_role("button", name="previous difference").click()
    page.wait_for_function(f"() => ({SAID})().includes('difference {len(cells)} of {len(cells)}')")
    page.keyboard.press("F8")
    page.wait_for_function(f"() => ({SAID})().startsWith('D[{row}][{column}] =')")
    assert page.locator("[data-tool=find]").is_hidden()  # a page without a kernel cannot search

    # why: two columns beside each other, all of them on the screen, the step at which they part lit
    page.locator(".ptx-trace-fold").click()
    columns = page.locator(".ptx-trace-column")
    assert [text.split()[0] for text in columns.locator("h4").all_inner_texts()] == ["sm_90", "sm_80"]
    assert page.locator(".ptx-trace-lead").inner_text().startswith("They diverge at A[")
    left, right = (columns.nth(index).bounding_box() for index in range(2))
    assert left["y"] == right["y"] and left["x"] + left["width"] <= right["x"]
    for box in (left, right):
        assert box["y"] >= 0 and box["y"] + box["height"] <= 900 and box["x"] + box["width"] <= 1440
    assert columns.locator(".ptx-trace-part .ptx-trace-here").count() == 2
    fits = "columns => columns.every(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)"
    assert columns.evaluate_all(fits)
    context.close()


def both_codes(ex: Any) -> tuple[Any, Any]:
    comparison = ex.state.comparison()
    return comparison.codes, comparison.other


# -- the quiz and motion, which need no kernel ------------------------------------------------------------

RESULT = "() => document.querySelector('.ptx-quiz-result').innerText"


def open_page(page: Any, ex: Any, path: Path) -> Shown:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(ex.save_html(path).as_uri())
    return Shown(page)


def background(page: Any, name: str, row: int, column: int) -> list[int]:
    """The colour of a cell, near its corner."""
    found = page.evaluate(
        """([name, row, column]) => {
          const rect = document.querySelector('.ptx-explorer').cellRect(name, row, column);
          const canvas = document.querySelector(`[data-pane=${name}] canvas`);
          const box = canvas.getBoundingClientRect();
          const scale = canvas.width / box.width;
          const [x, y] = [(rect.x - box.left + 2.5) * scale, (rect.y - box.top + 2.5) * scale];
          return [...canvas.getContext('2d').getImageData(x, y, 1, 1).data];
        }""",
        [name, row, column],
    )
    return list(found)


def test_quiz(page: Any, tmp_path: Path) -> None:
    """Asked, answered by pointing and typing, explained and counted; nothing gives the answer away."""
    ex = ptxlab.explore(FORMS["sparse"], seed=5)
    ex.quiz(["where D[9][3]", "holds lane 14 d3", "nibble A[9][37]", "metadata E[0] chunk 1", "code B[0][0]"])
    shown = open_page(page, ex, tmp_path / "quiz.html")
    assert background(page, "D", 0, 0) != background(page, "D", 8, 4)
    Shown(page).tool(".ptx-quiz-start").click()
    bar = page.get_by_test_id("quiz")
    bar.get_by_text("Which lane, and which of its registers, holds D[9][3]?").wait_for()

    # no colours of lanes, no words about lanes, no bits or values in registers, no editing
    assert background(page, "D", 0, 0) == background(page, "D", 8, 4)
    page.mouse.move(*shown.middle("D", 9, 3))
    page.wait_for_function(f"() => ({SAID})() === 'D[9][3]'")
    assert page.locator(".ptx-tooltip").inner_text().strip() == "D[9][3]"
    assert page.locator(".ptx-lane.holds, .ptx-lane.contributes, .ptx-field.lit").count() == 0
    for hidden in (".ptx-bits", ".ptx-hex", ".ptx-value", ".ptx-where", ".ptx-timeline"):
        assert not page.locator(hidden).first.is_visible(), hidden
    chosen = page.locator(".ptx-lane[aria-pressed=true]").inner_text()
    page.mouse.click(*shown.middle("D", 9, 3))
    page.keyboard.press("Control+z")
    assert page.locator(".ptx-lane[aria-pressed=true]").inner_text() == chosen
    assert page.locator(".ptx-name").is_disabled()

    # by pointing at the register of a lane
    page.locator(".ptx-lane[data-lane='5']").click()
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Lane 5")
    page.locator(".ptx-block[data-operand=D] .ptx-register").nth(3).click()
    page.wait_for_function(f"() => ({RESULT})().startsWith('Right. D[9][3] is d3 of lane 5')")
    assert background(page, "D", 0, 0) != background(page, "D", 8, 4)
    assert page.locator(".ptx-field.here").get_attribute("data-element") == "d3"
    assert bar.get_by_text("1 of 1 right").is_visible()

    # Enter goes on; a wrong cell is explained, and the right one lit with its lane
    page.keyboard.press("Enter")
    bar.get_by_text("Which cell of D does lane 14 hold as d3?").wait_for()
    page.wait_for_function("() => document.querySelector('.ptx-field.asked')?.dataset.element === 'd3'")
    page.mouse.click(*shown.middle("D", 3, 5))
    page.wait_for_function(f"() => ({RESULT})().startsWith('No. D[11][5] is d3 of lane 14')")
    assert bar.get_by_text("1 of 2 right").is_visible()
    assert page.evaluate(SAID).startswith("D[11][5] =")

    # the cell by keyboard
    bar.get_by_role("button", name="Next").click()
    bar.get_by_text("Which nibble of the metadata decides").wait_for()
    page.locator("[data-pane=stored] .ptx-cell").focus()
    page.evaluate(f"{MODEL}.set('selected', {{ name: 'E', row: 9, column: 3 }})")
    press(page, "ArrowRight", "Enter")
    page.wait_for_function(f"() => ({RESULT})().startsWith('Right. Column 37 is in chunk 4')")

    # typed: what is no answer does not count
    bar.get_by_role("button", name="Next").click()
    nibble = int(ex.metadata[0, 1])
    assert page.evaluate("() => document.activeElement.className") == "ptx-quiz-answer"
    type_line(page, "columns")
    page.wait_for_function("() => document.querySelector('.ptx-quiz-answer').ariaInvalid === 'true'")
    page.locator(".ptx-quiz-answer").fill(f"{nibble:04b}")
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => ({RESULT})().startsWith('Right. ')")
    page.keyboard.press("Enter")
    bar.get_by_role("button", name="Skip").click()
    page.wait_for_function(f"() => ({RESULT})().startsWith('Skipped. B[0][0] = ')")
    bar.get_by_role("button", name="Finish").click()
    bar.get_by_text("Quiz finished: 3 of 4 right.").wait_for()
    bar.get_by_role("button", name="Close").click()
    assert not bar.is_visible() and page.locator(".ptx-toolbar").is_visible()


def test_a_masked_cell_shows_no_value(page: Any, tmp_path: Path) -> None:
    """While the value of D is asked for, its cell is the same for every value."""
    looks = []
    for value in (1, 5):
        ex = ptxlab.explore("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
        ex.A, ex.B = np.eye(16), np.full((16, 8), value)
        ex.quiz(["value D[3][5]"])
        shown = open_page(page, ex, tmp_path / f"{value}.html")
        Shown(page).tool(".ptx-quiz-start").click()
        page.get_by_text("What is D[3][5]?").wait_for()
        at_rest(page)
        looks.append(page.screenshot(clip=shown.rect("D", 3, 5)))
        assert page.screenshot(clip=shown.rect("D", 3, 4)) != looks[-1]
    assert looks[0] == looks[1]
    page.locator(".ptx-quiz-answer").fill("5.0")
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => ({RESULT})().startsWith('Right. D[3][5] = 5')")


TILES = """() => [...document.querySelectorAll('.ptx-tile')].map((tile) => {
  const { x, y, width, height } = tile.getBoundingClientRect();
  return [x + width / 2, y + height / 2, tile.textContent];
})"""


@pytest.mark.parametrize("form", some(FORMS))
def test_registers_fly_to_their_cells(page: Any, tmp_path: Path, form: str) -> None:
    """At the cells each tile is on one, or at the edge of a pane that is scrolled; then all are gone."""
    ex = ptxlab.explore(FORMS[form], seed=5)
    ex.lane = 14
    page.emulate_media(reduced_motion="no-preference")
    shown = open_page(page, ex, tmp_path / "fly.html")
    fly = page.get_by_role("button", name="fly")
    fly.click()
    page.wait_for_selector(".ptx-tile")
    assert fly.get_attribute("aria-pressed") == "true"
    # stopped where all of them have arrived
    page.evaluate(
        "() => document.getAnimations().forEach((each) => { each.pause(); each.currentTime = 1100; })"
    )
    tiles = page.evaluate(TILES)
    ins = ex.instruction
    boxes = {name: page.locator(f"[data-pane={name}] .ptx-scroller").bounding_box() for name in "AD"}
    goals = [("D", row, column) for row, column in ins.d.layout.coords()[14].tolist()]
    if not ins.sparse:
        goals += [("A", row, column) for row, column in ins.a.layout.coords()[14].tolist()]
    else:
        columns = ex.state.operation.stored_columns()
        goals += [("A", row, int(columns[row, column])) for row, column in ins.a.layout.coords()[14].tolist()]
    for name, row, column in goals:
        rect, box = shown.rect(name, row, column), boxes[name]
        x, y = rect["x"] + rect["width"] / 2, rect["y"] + rect["height"] / 2
        x = min(max(x, box["x"]), box["x"] + box["width"])
        y = min(max(y, box["y"]), box["y"] + box["height"])
        assert min(abs(x - tile[0]) + abs(y - tile[1]) for tile in tiles) < 12, (name, row, column)
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('.ptx-flight')")
    assert fly.get_attribute("aria-pressed") == "false"


def test_a_flight_ends_by_itself(page: Any, tmp_path: Path) -> None:
    page.emulate_media(reduced_motion="no-preference")
    open_page(page, ptxlab.explore(FORMS["sparse"]), tmp_path / "fly.html")
    page.get_by_role("button", name="fly").press("f")
    page.wait_for_selector(".ptx-tile")
    page.wait_for_function("() => !document.querySelector('.ptx-flight')")


def test_less_motion(page: Any, tmp_path: Path) -> None:
    """Where the system asks for it, registers and their cells are lit one after the other."""
    shown = open_page(page, ptxlab.explore(FORMS["sparse"]), tmp_path / "calm.html")
    page.emulate_media(reduced_motion="reduce")
    page.get_by_role("button", name="fly").click()
    page.wait_for_selector(".ptx-tile.still")
    assert (
        page.evaluate("() => document.querySelector('.ptx-flight').getAnimations({ subtree: true }).length")
        == 0
    )
    first = page.evaluate(TILES)
    page.wait_for_function(
        f"first => JSON.stringify(({TILES})()) !== first", arg=json.dumps(first).replace(" ", "")
    )
    page.mouse.click(*shown.middle("D", 0, 0))
    page.wait_for_function("() => !document.querySelector('.ptx-flight')")


# -- a kernel through time ---------------------------------------------------------------------------------

DEBUGGER = """<!doctype html><html lang="en"><head><title>t</title><style>{css}</style></head><body>
<main id="place"></main><script type="module">
{script}
const calls = {{}};
let traits = await window.asked();
const model = {{
  get: (name) => traits[name],
  on: (event, call) => {{ (calls[event] ??= []).push(call); }},
  off: () => {{}},
  send: (content) => {{ turn = turn.then(() => ask(content)); }},
}};
let turn = Promise.resolve();
const ask = async (content) => {{
  traits = await window.asked(content);
  for (const name of ["place", "warps", "origin"]) for (const call of calls[`change:${{name}}`] ?? []) call();
  for (const call of calls["msg:custom"] ?? []) call({{ answered: true }}, []);
}};
widget.render({{ model, el: document.getElementById("place") }});
</script></body></html>"""


def test_a_launch_is_stepped_through_both_ways(page: Any, tmp_path: Path) -> None:
    """A breakpoint in the margin, a step, who wrote a register, the scrubber, and the picture of a hang."""
    source = """extern "C" __global__ void turn(float* x) {
  __shared__ float tile[32];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[31 - threadIdx.x];
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");
}"""
    kernel = ptxlab.kernel(source)
    load = next(item for item in kernel.function.instructions if item.parts[:2] == ("ld", "shared"))
    widget = DebuggerWidget(kernel.debug(1, 32, np.arange(32, dtype=np.float32)))
    names = ("program", "place", "warps", "registers", "memory", "barriers", "points", "origin", "waiting")

    def asked(message: object = None) -> dict[str, Any]:
        if message is not None:
            widget.handle(message)
        return {name: getattr(widget, name) for name in names}

    page.expose_function("asked", asked)
    script = widget._esm.replace("export default ", "const widget = ")
    path = tmp_path / "debugger.html"
    path.write_text(DEBUGGER.format(css=widget._css, script=script), encoding="utf-8")
    page.goto(path.as_uri())
    words = page.locator(".debug-words")
    expect(words).to_contain_text("position 0 of ")
    page.get_by_label("breakpoint at line 5", exact=True).click()
    page.get_by_role("button", name="on run").click()
    expect(words).to_contain_text("breakpoint at line 5")
    expect(page.locator(".debug-line.next").first).to_contain_text("tile[31 - threadIdx.x]")
    for _ in range(8):
        page.get_by_role("button", name="on step").click()
    value = page.get_by_label(f"{load.registers[1][0].name}, lane 3: 28", exact=True)
    expect(value).to_be_visible()
    value.click()
    expect(page.locator(".debug-tree")).to_contain_text("ld.shared.f32")
    page.locator(".debug-tree .debug-move").first.click()
    expect(page.locator(".debug-tree")).to_contain_text("st.shared.f32")
    if AXE.exists():
        page.add_script_tag(path=str(AXE))
        axe = page.evaluate("async () => await axe.run('.ptx-debug')")
        assert not axe["violations"], [violation["id"] for violation in axe["violations"]]
    page.get_by_role("button", name="back run").click()
    expect(words).to_contain_text("breakpoint at line 5")
    slider = page.get_by_role("slider", name="position")
    slider.press("Home")
    expect(words).to_contain_text("position 0 of ")
    slider.press("End")
    expect(page.locator(".ptx-waiting")).to_contain_text("32 of 64 arrivals")
    widget.close()


def test_a_lesson_on_the_site_has_its_sliders(page: Any) -> None:
    """Without Python: the pictures come from a file when they are asked for; the address keeps the place."""
    from ptxlab import views
    from ptxlab.course.slider import Slider
    from ptxlab.explorer.bundle import script
    from tools.site.kernel import saved_pictures

    address = "http://127.0.0.1:1/lesson"
    nibbles = Slider(views.nibble, "0b{:04b}".format, nibble=[0b0100, 0b1001, 0b1110])
    first, _ = saved_pictures(Slider(views.nibble, nibble=[0b0100, 0b1110]), "none.json")
    second, pictures = saved_pictures(nibbles, "pictures.json")
    module = f"<script type=module>{script('saved_pictures')}</script>"
    page.route(
        address, lambda route: route.fulfill(body=f"<body>{first}{second}{module}", content_type="text/html")
    )
    page.route(
        "**/pictures.json", lambda route: route.fulfill(body=pictures, content_type="application/json")
    )
    page.goto(address)
    bar = page.locator(".ptx-pictures").nth(1)
    picture = bar.locator(".ptx-picture-stack > :not(.before) svg[role=img]")
    expect(picture).to_have_attribute("aria-label", "Nibble 0b0100, 2:4")
    bar.get_by_role("slider", name="nibble").press("End")
    expect(picture).to_have_attribute("aria-label", "Nibble 0b1110, 2:4")
    expect(bar.locator(".ptx-timeline-text")).to_have_text("nibble 0b1110")
    assert page.url == f"{address}#timeline-2=2"
    page.reload()
    expect(picture).to_have_attribute("aria-label", "Nibble 0b1110, 2:4")
    if AXE.exists():
        page.add_style_tag(content=Slider._css)
        page.add_script_tag(path=str(AXE))
        axe = page.evaluate("async () => await axe.run('.ptx-pictures')")
        assert not axe["violations"], [violation["id"] for violation in axe["violations"]]
    page.unroute_all()


TRANSFERS = {  # a cell, what is said about it, and the first register of its lane
    "ldmatrix.sync.aligned.m8n8.x4.b16": (
        ("D", 5, 3), "r1[31:16] of lane 5 = 0x0903 · comes from S[9][3]", "r00x01030102← S[1][2], S[1][3]",
    ),
    "stmatrix.sync.aligned.m8n8.x2.trans.b16": (
        ("A", 9, 1), "r0[31:16] of lane 9 = 0x0901 · goes to S[3][2]", "r00x09010900→ S[2][2], S[3][2]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFERS)
def test_a_transfer_says_where_each_element_goes(name: str, page: Any, tmp_path: Path) -> None:
    """32 rows fill the view, high enough to be read, and the registers of the lane are listed beside it."""
    ex = ptxlab.explore(name)
    ex.selection, said, first_register = TRANSFERS[name]
    page.goto(ex.save_html(tmp_path / "x.html").as_uri())
    expect(page.locator(".ptx-status")).to_have_text(said)
    expect(page.locator(".ptx-thread-register").first).to_have_text(first_register)
    canvas = page.locator(".ptx-tensor canvas").first.bounding_box()
    assert canvas["height"] > 32 * 10
    bar = page.locator(".ptx-tensor .ptx-memory-bar").bounding_box()
    assert canvas["y"] - bar["y"] - bar["height"] >= 8  # the names of both grids stand apart from the tools


def test_what_went_wrong_is_not_covered_by_the_tip(browser: Any, tmp_path: Path) -> None:
    """The page fills its window whatever room its Explorer had in a notebook, and says how to edit."""
    path = ptxlab.explore("mma.m8n8k16.s8", height=460).save_html(tmp_path / "x.html")
    page = browser.new_page(viewport={"width": 900, "height": 900})
    page.goto(path.as_uri())
    page.wait_for_selector("[data-pane=D] canvas")
    expect(page.locator(".ptx-status").first).to_contain_text("To change it, press Open live.")
    assert page.locator(".ptx-explorer").bounding_box()["height"] > 700
    page.mouse.move(*at(page, "A", 3, 5))
    page.mouse.click(*at(page, "A", 3, 5))
    type_line(page, "99")
    expect(page.locator(".ptx-problem").first).to_contain_text("cannot be edited: press Open live")
    expect(page.get_by_role("link", name="Open live")).to_be_in_viewport()
    page.wait_for_selector(".ptx-tooltip.on")
    page.wait_for_function(
        """() => {
          const [tip, box] = [".ptx-tooltip", ".ptx-problem-box"]
            .map((each) => document.querySelector(each).getBoundingClientRect());
          const isAbove = tip.bottom <= box.top || tip.top >= box.bottom;
          return isAbove || tip.right <= box.left || tip.left >= box.right;
        }""",
        timeout=5_000,
    )
    page.close()


def test_a_walk_from_stop_to_stop(page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By buttons, arrow keys and the map; a wrong answer gets a hint, a right one marks its stop."""
    monkeypatch.setenv("PTXLAB_PROGRESS", str(tmp_path / "progress.json"))
    walk = ptxlab.walk("wgmma")

    def answer(message: Any) -> Any:
        walk._receive(message)
        return walk.bar.shown

    name = f"answerOfWalk{id(walk)}"  # of this run of the test: it may be run again
    page.expose_function(name, answer)
    script = walk.bar._esm.replace("export default ", "const { render } = ")
    path = tmp_path / "walk.html"
    path.write_text(
        TIMELINE.replace("window.answer", f"window.{name}").format(
            css=walk.bar._css, script=script, shown=json.dumps(walk.bar.shown)
        ),
        encoding="utf-8",
    )
    page.goto(path.as_uri())
    title, current = page.locator(".ptx-walk strong"), page.locator(".dot[aria-current]")
    assert title.inner_text() == "m64n8k8 tf32 → f32" and page.locator(".dot").count() == 6
    if AXE.exists():
        page.add_script_tag(path=str(AXE))
        axe = page.evaluate("async () => await axe.run('.ptx-walk')")
        assert len(axe["passes"]) > 5 and not axe["violations"], axe["violations"]
    page.get_by_role("button", name="next stop").click()
    expect(title).to_have_text("m64n8k16 f16 → f32")
    page.keyboard.press("ArrowRight")  # the button keeps the focus
    expect(title).to_have_text("m64n8k16 f16 → f16")
    page.get_by_role("button", name="all layouts at a glance").click()
    assert page.locator(".glance img").count() >= 12
    page.locator(".dot").first.click()
    expect(title).to_have_text("m64n8k8 tf32 → f32")
    question = walk.stop.question
    assert question is not None
    box = page.get_by_label(question.text)
    first, second = question.answers[0]
    box.fill(f"{first}, {second + 1}")
    box.press("Enter")
    expect(page.locator(".verdict").first).to_contain_text("✗ The thread is right.")
    box.fill(f"{first}, {second}")
    page.get_by_role("button", name="check").click()
    expect(page.locator(".verdict").first).to_contain_text("✓")
    assert "done" in (current.get_attribute("class") or "")
