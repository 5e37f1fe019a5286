"""The Explorer by keyboard and by screen reader: every control, visible focus, names, in both themes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import ptxlab
from tests.browser.gestures import enter, press, starting, type_line
from tests.sampling import EXHAUSTIVE, some
from tools.bare_page import BareBook, BarePage
from tools.jupyter import Shown

pytestmark = pytest.mark.browser

# What `python -m tools.check_javascript` installs.
AXE = Path(__file__).parents[2] / ".venv" / "front" / "node_modules" / "axe-core" / "axe.min.js"
DENSE = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
TENSOR = "tcgen05.mma.cta_group::1.kind::f16"
FORMS = {
    "dense": DENSE,
    "sparse": "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "scaled": SCALED,
    "wgmma": "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16",
}
FOCUS = """() => {
  const node = document.activeElement;
  const style = getComputedStyle(node);
  const name = node.getAttribute('aria-label') || node.textContent || node.title;
  const pane = node.closest('[data-pane]')?.dataset.pane;
  const part = node.closest('.ptx-header, .ptx-toolbar, .ptx-panel, .ptx-timeline, .ptx-trace');
  return { inside: Boolean(node.closest('.ptx-explorer')), tag: node.tagName, name: name.trim(),
    ring: style.outlineStyle !== 'none' || node.matches('.ptx-cell'),
    part: pane ? `pane ${pane}` : part?.className ?? '' };
}"""


@pytest.fixture(scope="module")
def book(bare: BarePage, page: Any) -> BareBook:
    opened = bare.open(
        page, "accessible", [f"import numpy as np, ptxlab\nex = ptxlab.explore({DENSE!r})\nex", "pass"]
    )
    opened.run(0)
    page.wait_for_selector(".ptx-explorer [data-pane=A] canvas", timeout=30_000)
    return opened


#: JupyterLab hides the page for less than a frame while it puts another theme into it.
SWITCH = """async ([light, text]) => {
  const rules = Object.assign(document.createElement('style'), { id: 'dark', textContent: text });
  const place = document.querySelector('.ptx-explorer').parentElement;
  place.style.display = 'none';
  document.getElementById('dark')?.remove();
  document.head.append(rules);
  document.body.dataset.jpThemeLight = light;
  for (let i = 0; i < 3; i += 1) await Promise.resolve();
  place.style.display = '';
}"""
#: Whether the cells of D are drawn in the colours of that theme.
SHADE = """dark => {
  const canvas = document.querySelector('[data-pane=D] canvas');
  const { data } = canvas.getContext('2d').getImageData(30, 30, 60, 60);
  const seen = data.filter((_, i) => i % 4 < 3 && data[i - i % 4 + 3] > 200);
  return seen.length > 0 && (seen.reduce((sum, value) => sum + value, 0) / seen.length < 128) === dark;
}"""


@pytest.fixture
def dark(page: Any) -> Iterator[Any]:
    """Switch to the colours and the mark of JupyterLab's dark theme, and back afterwards."""

    def switch(light: str, rules: str) -> None:
        page.evaluate(SWITCH, [light, rules])
        page.wait_for_function(
            "dark => document.querySelector('.ptx-explorer').classList.contains('dark') === dark",
            arg=light == "false",
        )
        page.wait_for_function(SHADE, arg=light == "false")

    yield lambda: switch(
        "false",
        ":root { --jp-layout-color0: #111111 !important;"
        " --jp-ui-font-color1: rgb(255 255 255 / 87%) !important; } body { background: #111111; }",
    )
    switch("true", "")


#: axe-core over a part of the page; of bits that look alike it is shown one, of the picker's lines eight.
COMPLAINTS = """async ([part, contrast]) => {
  const looks = new Set();
  const repeated = [...document.querySelectorAll('.ptx-bit, .ptx-trace-cell')].filter((node) => {
    const { color, backgroundColor, fontSize } = getComputedStyle(node);
    const names = [...node.attributes].map(({ name }) => name);
    const look = [node.tagName, node.className, ...names, color, backgroundColor, fontSize].join();
    return looks.size === looks.add(look).size;
  });
  repeated.push(...document.querySelectorAll('.ptx-match:nth-of-type(n+9)'));
  repeated.forEach((node) => node.setAttribute('data-repeated', ''));
  const options = { rules: { 'color-contrast': { enabled: contrast } }, resultTypes: ['violations'] };
  const context = { include: [[part]], exclude: [['[data-repeated]']] };
  const found = await axe.run(context, { ...options, selectors: false, preload: false });
  repeated.forEach((node) => node.removeAttribute('data-repeated'));
  const excerpts = (nodes) => nodes.map(({ html }) => html.slice(0, 160)).join(' | ');
  return [found.passes.length, found.violations.map(({ id, nodes }) => `${id}: ${excerpts(nodes)}`)];
}"""


def complaints(page: Any, part: str = ".ptx-explorer", *, contrast: bool = False) -> list[str]:
    """What axe-core finds wrong in a part of the page; contrasts take it most of the time."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    passes, violations = page.evaluate(COMPLAINTS, [part, contrast])
    assert passes > (10 if part == ".ptx-explorer" else 3), "axe looked at nothing"
    return list(violations)


@pytest.mark.skipif(
    not AXE.exists(), reason="axe-core is installed by python -m tools.check_javascript, which needs npm"
)
@pytest.mark.parametrize("form", some(FORMS, 2))
def test_axe_has_nothing_to_say(book: Any, page: Any, dark: Any, form: str) -> None:
    """Roles, names and contrasts as axe-core checks them; with all that opens; light and dark."""
    book.run(1, f"ex.instruction = {FORMS[form]!r}; ex.view.tracing = True; ex.selection = 'D', 1, 2")
    expect(page.locator(".ptx-mnemonic").first).to_have_text(FORMS[form])
    page.wait_for_selector(".ptx-trace-cell")
    if form != "sparse":  # that one is looked at in the dark
        assert complaints(page, contrast=form == "dense") == []
    if form == "dense":  # two chips side by side
        book.run(1, "ex.against = 'sm_80'; ex.find_difference()")
        page.wait_for_selector(".ptx-trace-column")
        assert complaints(page) == []
        book.run(1, "ex.against = None; ex.undo()")
        book.run(1, "ex.quiz('where D[9][3]')")
        page.wait_for_selector(".ptx-quizzing")
        assert complaints(page) == []
        page.locator(".ptx-quiz").get_by_role("button", name="Skip").press("Enter")
        page.get_by_role("button", name="Finish").wait_for()
        assert complaints(page, ".ptx-quiz", contrast=True) == []
        book.run(1, "ex.stop_quiz()")
        page.wait_for_selector(".ptx-toolbar")
    if form != "sparse":  # one form is enough for the picker and the dark
        return
    dark()
    assert complaints(page, contrast=True) == []
    page.get_by_role("button", name="change", exact=False).first.click()
    page.locator(".ptx-match").first.wait_for()
    assert complaints(page, ".ptx-picker", contrast=True) == []
    page.keyboard.press("Escape")
    book.run(1, "ex.view.tracing = False")
    page.locator(".ptx-lane").first.focus()
    page.keyboard.press("?")
    page.wait_for_selector("dialog.ptx-sheet[open]")
    assert complaints(page, "dialog.ptx-sheet", contrast=True) == []
    page.keyboard.press("Escape")
    Shown(page).type("A", 0, 0, "seven")
    page.wait_for_selector(".ptx-problem-box .ptx-dismiss")
    assert complaints(page, ".ptx-problem-box") == []
    page.keyboard.press("Escape")


def test_tab_reaches_all_parts_and_leaves(book: Any, page: Any) -> None:
    """Tab reaches header, toolbar, lanes, registers, matrices, stepper and trace, and leads out."""
    book.run(1, f"ex.instruction = {FORMS['sparse']!r}; ex.selection = 'D', 1, 2; ex.view.tracing = False")
    expect(page.locator(".ptx-mnemonic").first).to_have_text(FORMS["sparse"])
    page.locator(".ptx-change").focus()
    seen: list[dict[str, Any]] = [page.evaluate(FOCUS)]
    for _ in range(150):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(FOCUS))
        if not seen[-1]["inside"]:
            break
    assert not seen.pop()["inside"], "the focus does not leave the explorer"
    assert len(seen) <= 20, ("a part is more than one stop", [stop["name"] for stop in seen])
    assert [stop for stop in seen if not stop["name"]] == []
    assert [stop for stop in seen if not stop["ring"]] == []
    parts = list(
        dict.fromkeys(
            stop["part"].split()[0] if "pane" not in stop["part"] else stop["part"] for stop in seen
        )
    )
    assert {
        "ptx-header",
        "ptx-toolbar",
        "ptx-panel",
        "pane A",
        "pane B",
        "pane D",
        "pane stored",
        "ptx-timeline",
        "ptx-trace",
    } <= set(parts)


def test_from_the_start_to_an_edited_a_in_ten_keys(book: Any, page: Any) -> None:
    """Tab from the first control of the Explorer to A, a number, Enter: A and D have changed."""
    python = lambda code: book.run(1, code)  # noqa: E731
    for name in (FORMS["sparse"], DENSE):
        python(
            f"ex.instruction = {name!r}; ex.A = np.zeros(ex.A.shape); ex.B = np.ones(ex.B.shape);"
            " ex.C = np.zeros(ex.C.shape); ex.selection = None"
        )
        expect(page.locator(".ptx-mnemonic").first).to_have_text(name)
        page.locator(".ptx-change").focus()
        keys = 1  # the Tab that leads into the Explorer
        while page.evaluate(FOCUS)["part"] != "pane A":
            page.keyboard.press("Tab")
            keys += 1
            assert keys <= 8
        cell = page.locator("[data-pane=A] .ptx-cell").get_attribute("aria-label")
        row, column = cell.removeprefix("A[").split("] =")[0].split("][")
        press(page, "3", "Enter")
        assert keys + 2 <= 10
        assert python(f"print(int(ex.A[{row}, {column}]), int(ex.D[{row}, 7]))") == "3 3"


def test_a_bit_is_flipped_by_keyboard(book: Any, page: Any) -> None:
    python = lambda code: book.run(1, code)  # noqa: E731
    python(f"ex.instruction = {DENSE!r}; ex.A = np.zeros((16, 16)); ex.lane = 0; ex.selection = None")
    expect(page.locator(".ptx-mnemonic").first).to_have_text(DENSE)
    page.locator("[data-operand=A] .ptx-hex").first.focus()
    press(page, "ArrowRight", "End")
    assert page.evaluate("() => document.activeElement.ariaLabel") == "bit 0 of register 0 of A"
    page.keyboard.press("Space")
    page.wait_for_function("() => document.activeElement.ariaChecked === 'true'")
    assert page.locator(".ptx-tooltip.on b").inner_text() == "bit 0 of register 0 of A = 1"
    press(page, "ArrowLeft", "1")
    page.wait_for_function("() => document.activeElement.ariaChecked === 'true'")
    page.keyboard.press("1")  # is set already
    assert python("print(ex.registers['A'][0, 0])") == "3"


def test_an_error_stands_beside_its_field(book: Any, page: Any) -> None:
    """Of a register, of a value in it, of a cell: beside the field, nothing moves, Escape clears it."""
    python = lambda code: book.run(1, code)  # noqa: E731
    python(f"ex.instruction = {DENSE!r}; ex.A = np.zeros((16, 16)); ex.lane = 0; ex.selection = None")
    expect(page.locator(".ptx-mnemonic").first).to_have_text(DENSE)
    tops = "() => [...document.querySelectorAll('.ptx-scroller')].map((n) => n.getBoundingClientRect().top)"
    sentence = page.locator(".ptx-problem")
    page.locator(".ptx-register .ptx-hex").first.focus()
    before = page.evaluate(tops)
    for selector in ("[data-operand=A] .ptx-hex", "[data-operand=B] .ptx-value"):
        field = page.locator(selector).first
        for _ in range(2):  # the same again is refused again
            enter(field, "wrong")
            expect(page.locator(".ptx-problem").first).to_contain_text("wrong")
            page.wait_for_function("node => node.ariaInvalid === 'true'", arg=field.element_handle())
            assert field.input_value() == "wrong"
            assert field.get_attribute("aria-describedby") == sentence.get_attribute("id")
            at, box = field.bounding_box(), page.locator(".ptx-problem-box").bounding_box()
            end = field.evaluate("node => node.closest('.ptx-register').getBoundingClientRect().bottom")
            assert box["y"] + box["height"] <= end + 4  # the next register stays visible
            beside = box["x"] - at["x"] - at["width"]
            assert 0 <= beside < 12 or 0 <= at["y"] - box["y"] - box["height"] < 12
            assert page.evaluate(tops) == before
            field.press("Escape")
            expect(page.locator(".ptx-problem").first).to_have_text("")
            assert field.input_value() != "wrong" and field.get_attribute("aria-invalid") is None
    page.locator("[data-pane=A] .ptx-cell").focus()
    type_line(page, "wrong")
    page.wait_for_selector(".ptx-refusal")
    assert page.evaluate(tops) == before
    page.keyboard.press("Escape")
    page.wait_for_selector(".ptx-refusal", state="detached")


def test_all_of_it_by_keyboard(book: Any, page: Any) -> None:
    """Another instruction, a number in A, a register, the trace of a cell of D, and undo: no mouse."""
    python = lambda code: book.run(1, code)  # noqa: E731
    python(
        f"ex.instruction = {DENSE!r}; ex.A = np.zeros((16, 16)); ex.B = np.ones((16, 8));"
        " ex.C = np.zeros((16, 8)); ex.view.tracing = False"
    )
    expect(page.locator(".ptx-mnemonic").first).to_have_text(DENSE)
    page.locator("[data-pane=A] .ptx-cell").focus()
    for key in ("Control+Home", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    type_line(page, "2.5")
    page.wait_for_function(
        "() => document.querySelector('[data-pane=A] .ptx-cell').ariaLabel.startsWith('A[2][2]')"
    )
    assert python("print(ex.A[1, 2], ex.D[1, 0])") == "2.5 2.5"
    place = ptxlab.instruction(DENSE).a.where(1, 2)[0]
    page.locator("[data-pane=A] .ptx-cell").focus()
    page.keyboard.press("ArrowUp")
    page.wait_for_function(
        "lane => document.querySelector('.ptx-lane[aria-pressed=true]').innerText === String(lane)",
        arg=place.lane,
    )
    box = page.locator(f".ptx-hex[data-operand=A][data-register='{place.register}']").first
    box.focus()
    type_line(page, "0x40004000")
    expect(page.locator("[data-testid=status]").first).to_have_text(starting("A[1][2] = 2 "))
    assert python("print(ex.A[1, 2], ex.A[1, 3], ex.D[1, 0])") == "2.0 2.0 4.0"
    page.locator("[data-pane=D] .ptx-cell").focus()
    press(page, "Control+Home", "ArrowDown")
    fold = "document.querySelector('.ptx-trace-fold')"
    page.wait_for_function(f"() => {fold}.innerText.includes('D[1][0] = 4')")
    page.locator(".ptx-trace-fold").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".ptx-trace-cell")
    page.locator("[data-pane=A] .ptx-cell").focus()
    page.keyboard.press("Control+z")
    assert python("print(ex.A[1, 2], ex.A[1, 3])") == "2.5 0.0"


@pytest.mark.skipif(
    not AXE.exists(), reason="axe-core is installed by python -m tools.check_javascript, which needs npm"
)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_has_nothing_to_say_of_time_and_memory(book: Any, page: Any, dark: Any, theme: str) -> None:
    """The timeline while it plays, shared memory with its descriptor, tensor memory: names and contrasts."""
    if theme == "dark":
        dark()
    book.run(1, f"ex.instruction = {DENSE!r}; ex.view.tracing = False; ex.selection = 'D', 1, 2")
    expect(page.locator(".ptx-mnemonic").first).to_have_text(DENSE)
    page.locator(".ptx-part-name", has_text="sum of").click()
    page.get_by_role("button", name="play the instruction").click()
    page.locator(".ptx-part-name.now").wait_for()
    assert complaints(page, contrast=True) == []
    page.keyboard.press("Escape")
    for name, opened in (
        ("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "memory"),
        (TENSOR, "tensor"),
    ):
        book.run(1, f"ex.instruction = {name!r}; ex.selection = None")
        expect(page.locator(".ptx-mnemonic").first).to_have_text(name)
        part = page.locator(f".ptx-{opened}")
        if not part.is_visible():
            page.locator(f"[data-{opened}]").first.click()
            part.wait_for()
        assert complaints(page, f".ptx-{opened}", contrast=True) == []
        if theme == "light" or EXHAUSTIVE:  # names are the same in the dark
            assert complaints(page) == []
    book.run(1, f"ex.instruction = {DENSE!r}")
