"""The page with Python in it, as `make web OFFLINE=1` builds it, served from a folder."""

from __future__ import annotations

import base64
import json
import re
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab.explorer.worker import DEFAULT
from tests.browser.gestures import at_rest, press, swipe
from tests.browser.test_accessible_browser import AXE, complaints
from tools import clang
from tools.jupyter import until as until_it_holds
from tools.site.kernel import write_explorer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: Seconds on a machine that does nothing else; tests wait longer, and print what they saw.
DRAWN, ANSWERED, EDIT = 1.0, 8.0, 0.1
PATIENCE = 240_000  # milliseconds, for a busy machine
S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
MODEL = "document.querySelector('.static-view').model"
#: How often the numbers of lines are drawn while a text comes in line by line, as from execCommand.
DRAWN_ANEW = """async (text) => {
  const [editor, numbers] = ["text", "numbers"].map((name) => document.querySelector(`.ptx-editor-${name}`));
  let drawn = 0;
  const { replaceChildren } = numbers;
  numbers.replaceChildren = (...nodes) => { drawn += 1; replaceChildren.apply(numbers, nodes); };
  for (let line = 0; line < 200; line += 1) {
    editor.value = text;
    editor.dispatchEvent(new Event("input", { bubbles: true }));
  }
  await new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
  delete numbers.replaceChildren;
  return drawn;
}"""
PAPER = """() => {
  const player = document.createElement("div");
  player.className = "ptx-profile";
  document.body.append(player);
  return getComputedStyle(player).backgroundColor;
}"""
#: Addresses of all that is kept.
KEPT = """async () => {
  const kept = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
  return kept.flat().map(({ url }) => url);
}"""
#: Forgets the compiler of an earlier run.
FORGET = """async () => {
  const names = (await caches.keys()).filter((name) => name.startsWith("ptxlab compiler"));
  await Promise.all(names.map((name) => caches.delete(name)));
}"""
OTHERS = "of another page"  # a cache, as lite/ has one at the same origin


@pytest.fixture
def tab(address: str, page: Any) -> Iterator[Any]:
    """Open the page by what its address asks for; no request goes elsewhere, and the policy is kept."""
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)

    def opened(asked: str = "") -> Any:
        page.goto("about:blank")
        page.goto(f"{address}try/{asked}")
        # Before the service worker, which waits for Python.
        page.evaluate("name => caches.open(name)", OTHERS)
        return page

    yield opened
    assert all(url.startswith((address, "about:", "data:", "blob:")) for url in requests), requests
    assert not [text for text in errors if "favicon" not in text and "404" not in text]


def until(page: Any, condition: str) -> None:
    """Wait until something holds in the page."""
    until_it_holds(lambda: page.evaluate(condition), page, condition, PATIENCE / 1e3)


def wait_for_python(page: Any) -> None:
    page.wait_for_selector("#page[data-python=ready]", timeout=PATIENCE)


def shown(page: Any, name: str) -> Any:
    """A trait of the view, as the page has it."""
    return page.evaluate(f"JSON.parse(JSON.stringify({MODEL}.get({json.dumps(name)})))")


def words(page: Any, name: str) -> list[int]:
    """The codes of a matrix that the page draws."""
    numbers = page.evaluate(
        f"(({{ buffer, byteOffset, byteLength }}) => "
        f"[...new Uint32Array(buffer.slice(byteOffset, byteOffset + byteLength))])"
        f"({MODEL}.get({json.dumps(name)}).codes)"
    )
    return [int(number) for number in numbers]


def codes(explorer: Any, name: str) -> list[int]:
    return np.frombuffer(getattr(explorer.view, name)["codes"], np.uint32).tolist()


def type_into(page: Any, row: int, column: int, text: str) -> None:
    """Type into a cell of A."""
    cell = f"document.querySelector('.ptx-explorer').cellRect('A', {row}, {column})"
    rect = page.evaluate(cell)
    page.mouse.click(rect["x"] + rect["width"] / 2, rect["y"] + rect["height"] / 2)
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def test_drawn_at_once_and_edits_typed_meanwhile_are_kept(tab: Any) -> None:
    """The page computes D of a number; what it cannot compute stays in its cell until Python is there."""
    page = tab()
    until(page, "Boolean(document.querySelector('.ptx-explorer')?.cellRect?.('A', 0, 0))")
    drawn = page.evaluate("performance.now() / 1000")
    assert shown(page, "instruction")["mnemonic"] == DEFAULT
    expected = ptxlab.explore(DEFAULT)
    assert words(page, "D") == codes(expected, "D")  # the page brought it
    assert page.get_attribute("#page", "data-python") is None
    values = expected.A.copy()
    values[0, 0] = 7
    expected.A = values
    type_into(page, 0, 0, "7")
    assert words(page, "D") == codes(expected, "D")
    assert shown(page, "lane_registers")["0"] == expected.view.lane_registers["0"]
    assert "this page has computed D" in page.inner_text(".try-progress")
    type_into(page, 2, 1, "0x3c00")
    assert page.inner_text(".ptx-waiting") == "0x3c00"
    assert "1 edit waiting" in page.inner_text(".try-progress")
    assert page.get_attribute("#page", "data-python") is None
    wait_for_python(page)
    answered = page.evaluate("performance.now() / 1000")
    values[2, 1] = 1
    expected.A = values
    assert words(page, "D") == codes(expected, "D")
    assert page.locator(".ptx-waiting").count() == 0
    assert re.match(r"Python runs in this tab \(loaded in [\d.]+ s\)", page.inner_text(".try-progress"))
    times = []
    for text in ("1", "2", "3"):
        start = time.perf_counter()
        page.evaluate(
            f"(text) => new Promise((done) => {{ {MODEL}.on('change:D', done); "
            f"{MODEL}.send({{ type: 'set_cell', name: 'A', row: 2, column: 0, text }}); }})",
            text,
        )
        times.append(time.perf_counter() - start)
    values[2, 0] = 3
    expected.A = values
    assert words(page, "D") == codes(expected, "D")
    print(f"\ndrawn {drawn:.2f} s (of {DRAWN}), first edit answered {answered:.1f} s (of {ANSWERED}), "
          f"an edit {min(times) * 1e3:.0f} ms (of {EDIT * 1e3:.0f})")  # fmt: skip


def test_an_address_names_an_instruction_and_links_open_with_the_same_bits(tab: Any) -> None:
    """The short name first; then, in the same tab, a question, and a link of an Explorer in a notebook."""
    page = tab("?ins=mma.m16n8k16.f16")
    assert page.is_hidden(".ptx-explorer")  # not an instruction that nobody asked for
    wait_for_python(page)
    first = ptxlab.explore("mma.m16n8k16.f16")
    assert shown(page, "candidates") == first.view.candidates
    assert shown(page, "instruction")["mnemonic"] == first.instruction.mnemonic
    page.locator(".ptx-match").nth(1).wait_for(timeout=PATIENCE)  # the picker is open on what it may mean
    page.evaluate(f"new Promise((done) => {{ {MODEL}.on('msg:custom', (answer) => {{ "
                  "window.copied = answer.text; done(); }); "
                  f"{MODEL}.send({{ type: 'export', format: 'link' }}); }})")  # fmt: skip
    copied = page.evaluate("window.copied")
    assert copied.startswith(page.evaluate("location.origin") + "/try/#ptxlab:")
    assert codes(ptxlab.explore(copied), "D") == words(page, "D")

    ex = ptxlab.explore("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", seed=5)
    ex.lane, ex.against = 9, None
    page.evaluate("(link) => { location.hash = link; window.same = true; }", ex.link)
    until(page, f"{MODEL}.get('instruction').mnemonic === {json.dumps(ex.instruction.mnemonic)}")
    assert shown(page, "lane") == 9
    for name in ("A", "B", "D", "E"):
        assert words(page, name) == codes(ex, name)

    page.get_by_label("Ask").fill("A[9][37] of mma.m16n8k64.s4")
    page.get_by_role("button", name="Answer").click()
    page.wait_for_selector(".answer-text", timeout=PATIENCE)
    assert page.inner_text(".answer-text").split()[-4:] == ["4", "a29", "3", "[23..20]"]
    until(page, "document.querySelector('.answer-picture img').naturalWidth > 500")
    assert page.evaluate("location.search") == "?ask=A%5B9%5D%5B37%5D%20of%20mma.m16n8k64.s4"
    page.get_by_role("link", name="Open in the Explorer").click()
    until(page, f"{MODEL}.get('instruction').mnemonic === {json.dumps(S4)}")
    assert shown(page, "selected") == {"name": "A", "row": 9, "column": 37} and shown(page, "lane") == 4
    assert page.evaluate("window.same")  # Python was not loaded again


def test_an_explorer_of_a_lesson_wakes_where_it_is(
    tab: Any, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a saved page until one types; then Python is loaded, and has the number that was typed."""
    monkeypatch.setenv("PTXLAB_PAGE", "../try/index.html")
    folder = site / "explorers"
    folder.mkdir(exist_ok=True)
    expected = ptxlab.explore(DEFAULT, seed=4)
    write_explorer(folder / "lesson.html", expected, wakes=True)
    page = tab("../explorers/lesson.html")
    page.wait_for_selector(".ptx-status:has-text('To change it, type')")
    assert page.evaluate(f"{MODEL}.get('toolbar').static") and not page.locator(".try-progress").count()
    type_into(page, 3, 5, "99")
    values = expected.A.copy()
    values[3, 5] = 99
    expected.A = values
    page.wait_for_selector(".try-progress:has-text('this page has computed D')")
    assert words(page, "D") == codes(expected, "D")
    assert page.evaluate("document.activeElement.closest('[data-matrix]')?.dataset.matrix") == "A"
    wait_for_python(page)
    assert "it gives the same D as this page did" in page.inner_text(".try-progress")
    assert words(page, "A") == codes(expected, "A") and words(page, "D") == codes(expected, "D")
    type_into(page, 3, 6, "98")
    values[3, 6] = 98
    expected.A = values
    until(page, f"new Float32Array({MODEL}.get('A').values.buffer)[3 * 16 + 6] === 98")
    assert words(page, "D") == codes(expected, "D")


def test_a_question_in_the_address_is_answered(tab: Any) -> None:
    """A link that is pasted into the address before Python is there is opened, too."""
    page = tab("?ask=0x4000004000010040")
    assert page.get_attribute("#page", "data-python") is None
    page.evaluate("(link) => { location.hash = link; }", ptxlab.explore(S4).link)
    page.wait_for_selector(".answer-text", timeout=PATIENCE)
    assert shown(page, "instruction")["mnemonic"] == S4
    assert "128-byte swizzle" in page.inner_text(".answer-text")
    until(page, "document.querySelector('.answer-picture img').naturalWidth > 300")
    for scheme, paper in (("light", "#FFFFFF"), ("dark", "#1C1C1C")):
        page.emulate_media(color_scheme=scheme)
        picture = "decodeURIComponent(document.querySelector('.answer-picture img').currentSrc)"
        until(page, f"{picture}.includes('{paper}')")
    is_for_everybody(page, "Run a whole kernel", "Ask", "Answer", "picture", "A[0][0]", "lane 0", "A, lane 0")
    page.set_viewport_size({"width": 390, "height": 844})
    pane = "document.querySelector('[data-pane=A] .ptx-scroller').getBoundingClientRect()"
    page.evaluate(f"scrollBy(0, {pane}.top - 400)")
    at = page.evaluate("scrollY")
    swipe(page, page.evaluate(f"{pane}.x + 60"), page.evaluate(f"{pane}.y + 60"), -200)
    until(page, f"scrollY > {at} + 100")  # one finger on a matrix scrolls the page


#: Where the focus is: its name, and whether one sees it; a cell of a matrix is drawn with a frame.
STOP = """async () => {
  await new Promise((next) => requestAnimationFrame(() => setTimeout(next))); // a matrix says its cell then
  const node = document.activeElement;
  const name = node.getAttribute("aria-label") || node.labels?.[0]?.textContent || node.textContent;
  const isSeen = getComputedStyle(node).outlineStyle !== "none" || node.matches(".ptx-cell");
  return [name.trim(), isSeen || node === document.body];
}"""


def is_for_everybody(page: Any, *names: str) -> None:
    """Tab reaches parts with these names and leaves the page; a phone shows its width; axe is content."""
    page.locator("main a").first.focus()
    press(page, "Tab", "Shift+Tab")  # who uses the keyboard sees where the focus is
    stops = [page.evaluate(STOP)]
    while not page.evaluate("document.activeElement === document.body"):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(STOP))
        assert len(stops) < 80, stops
    assert all(name and is_seen for name, is_seen in stops), stops
    reached = iter([name for name, _ in stops])
    missed = [name for name in names if not any(stop.startswith(name) for stop in reached)]
    assert not missed, (missed, stops)
    size = page.viewport_size
    page.set_viewport_size({"width": 390, "height": 844})
    until(page, "document.documentElement.scrollWidth <= 390")
    page.set_viewport_size(size)
    if not AXE.exists():
        return
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        at_rest(page)
        assert complaints(page, "html", contrast=True) == []


HOSTILE = "<img src=x onerror=\"window.hit=1\"><script>window.hit=1</script>';window.hit=1;'"


def packed(link: dict[str, Any]) -> str:
    """A link as the Explorer packs it, with anything in it."""
    word = base64.urlsafe_b64encode(zlib.compress(json.dumps(link).encode() + b"\n"))
    return "#ptxlab:b" + word.decode().rstrip("=")


UNHURT = "window.hit === undefined && !document.querySelector('img[src=x]')"


def an_address_is_neither_executed_nor_put_in_as_html(page: Any) -> None:
    """The page was opened with an instruction that is hostile; so are links, and a question."""
    assert shown(page, "problem").startswith("'<img' is not a matrix") and page.evaluate(UNHURT)
    for link in ({"instruction": HOSTILE}, {"instruction": DEFAULT, "look": {"label": HOSTILE}}):
        page.evaluate(f"(link) => {{ {MODEL}.state.problem = ''; location.hash = link; }}", packed(link))
        until(page, f"{MODEL}.get('problem').startsWith('this link')")
        assert shown(page, "instruction")["mnemonic"] == DEFAULT and page.evaluate(UNHURT)
    page.get_by_label("Ask").fill(HOSTILE)
    page.get_by_role("button", name="Answer").click()
    page.wait_for_selector(".answer-problem", timeout=PATIENCE)
    assert page.inner_text(".answer-problem").startswith("'<img' is not") and page.evaluate(UNHURT)


def test_every_page_has_a_policy(site: Path) -> None:
    pages = [path.read_text(encoding="utf-8") for path in (site / "try").glob("*.html")]
    policies = [re.findall(r'Content-Security-Policy" content="([^"]+)', text) for text in pages]
    assert len(pages) == 2 and all(
        policy.startswith("default-src 'none'") and "unsafe" not in policy for (policy,) in policies
    )


def test_a_kernel_in_cpp_is_compiled_and_simulated_in_the_tab(tab: Any, site: Path) -> None:
    """The compiler comes when it is asked for; PTX is beside its lines, and a link opens the same again."""
    page = tab("kernel.html")
    if not page.locator(".kernel-languages").is_visible():
        pytest.skip("npm cannot get the compiler")
    page.evaluate(FORGET)
    page.context.new_cdp_session(page).send("Network.clearBrowserCache")
    wait_for_python(page)
    assert "22.6 MB" in page.inner_text(".kernel-offer")
    assert not [url for url in page.evaluate(KEPT) if "/clang/" in url]
    parts, hidden = site / "try" / clang.FOLDER, site / "try" / "not here"
    parts.rename(hidden)
    page.get_by_role("button", name="Load Clang and compile").click()
    page.wait_for_selector(".kernel-ptx .answer-problem:has-text('00.bin: 404; try again')", timeout=PATIENCE)
    hidden.rename(parts)
    page.get_by_role("button", name="Try again").click()
    start = time.perf_counter()
    page.wait_for_selector(".kernel-ptx-rows", timeout=PATIENCE)
    first = time.perf_counter() - start
    page.locator(".kernel-ptx-rows > [data-line='17']").first.hover()
    until(page, "document.querySelectorAll('.ptx-editor-shown .lit').length === 1")
    assert page.inner_text(".ptx-editor-shown .lit").strip() == "asm volatile("
    colours = [
        page.evaluate("(where) => getComputedStyle(document.querySelector(where)).backgroundColor", where)
        for where in (".ptx-editor-shown .lit", ".kernel-ptx-rows .lit")
    ]
    assert colours[0] == colours[1] != "rgba(0, 0, 0, 0)"

    page.get_by_role("button", name="Simulate").click()
    page.wait_for_selector(".debug-explorer .ptx-explorer", timeout=PATIENCE)  # of the first mma
    assert "no hazards" in page.inner_text(".kernel-output")
    assert "argument 3" in page.inner_text(".kernel-output h3")
    editor = page.get_by_label("CUDA C++", exact=True)
    source = editor.input_value()
    start = time.perf_counter()
    editor.fill(source.replace("float d[4]", "flot d[4]"))
    page.wait_for_selector(".kernel-ptx .answer-problem:has-text('kernel.cu(16): error')", timeout=PATIENCE)
    print(f"\nfirst compiled after {first:.1f} s, again after {time.perf_counter() - start:.1f} s")
    assert page.inner_text(".ptx-editor-numbers .hazard b") == "16"
    names = ("C++", "Example", "Copy link", "CUDA C++", "show the line", "Grid")
    is_for_everybody(page, "The Explorer", *names)

    editor.fill(f"// {HOSTILE}\n{source}")
    page.wait_for_selector(".kernel-ptx-rows", timeout=PATIENCE)
    page.locator(".kernel-copy").click()  # the Explorer has one, too
    until(page, "location.hash.startsWith('#kernel:')")
    link = page.evaluate("location.href")
    until(page, f"({KEPT})().then((kept) => kept.filter((url) => url.includes('/clang/')).length >= 20)")
    page.goto("about:blank")
    page.goto(link)
    assert page.get_by_label("CUDA C++", exact=True).input_value() == f"// {HOSTILE}\n{source}"
    assert page.evaluate(UNHURT)
    wait_for_python(page)
    page.wait_for_selector(
        ".kernel-ptx-rows", timeout=PATIENCE
    )  # without asking: the browser has the compiler


def test_a_kernel_in_the_tab_and_everything_again_without_a_network(tab: Any, address: str) -> None:
    """Hazards in the margin and the debugger; then both pages are opened once more, offline."""
    page = tab("kernel.html")
    wait_for_python(page)
    if page.locator(".kernel-languages").is_visible():  # not where npm cannot get the compiler
        page.get_by_role("button", name="PTX").click()
    page.get_by_label("Example").select_option("Reverse an array in shared memory: a bar.sync is missing")
    page.wait_for_selector("[aria-label='argument x']", timeout=PATIENCE)
    editor = page.get_by_label("PTX", exact=True)
    editor.fill(f"{editor.input_value()}\n// {HOSTILE}")
    assert page.get_by_label("Example").input_value() == ""
    page.get_by_role("button", name="Simulate").press("Enter")
    page.wait_for_selector(".debug-words:has-text(' of 16')", timeout=PATIENCE)
    assert page.inner_text(".ptx-editor-numbers .hazard b") == "29"
    # the debugger begins at the hazard
    assert page.inner_text(".ptx-editor-shown .next").strip().startswith("ld.shared")
    assert "put bar.sync 0 between PTX line 24 and PTX line 29" in page.inner_text(".kernel-remarks")
    assert page.inner_text(".kernel-array tr").split()[:2] == ["127", "126"]
    assert page.evaluate(UNHURT)
    page.get_by_role("slider", name="position").press("Home")
    page.wait_for_selector(".debug-words:has-text('position 0 of 16')", timeout=PATIENCE)
    shares = "[...document.querySelectorAll('.heat')].map((node) => node.style.getPropertyValue('--share'))"
    assert "100%" in page.evaluate(shares)  # the page's policy forbids style attributes only
    names = ("Example", "Copy link", "PTX", "Grid", "Simulate", "line 29", "on step")
    is_for_everybody(page, "The Explorer", *names)

    triton = (Path(__file__).parents[1] / "adapters" / "ptx" / "softmax.ptx").read_text(encoding="utf-8")
    assert page.evaluate(DRAWN_ANEW, triton) == 1
    until(page, "document.querySelector('[aria-label=\"argument softmax_param_5\"]')")
    sizes = [page.get_by_label(name, exact=True).input_value() for name in ("Block", "Shared")]
    assert sizes == ["128", "49152"]
    page.get_by_role("button", name="Simulate").press("Enter")
    page.wait_for_selector(".kernel-output h2:text('no hazards')", timeout=PATIENCE)
    editor.fill(".version 8.0\n.target sm_90a\n.entry f() { mov.u32 %r1, 1; }")
    page.wait_for_selector(".kernel-launch .answer-problem:text('PTX line 3')", timeout=PATIENCE)
    page.wait_for_selector(".try-progress:has-text('works offline')", timeout=PATIENCE)
    page.context.set_offline(True)
    try:
        page.emulate_media(color_scheme="dark")
        page.reload()
        assert page.evaluate(PAPER) == "rgb(28, 28, 28)"  # of the player, on a page that opens in the dark
        page.emulate_media(color_scheme="light")
        wait_for_python(page)
        page.goto(page.url.replace("kernel.html", f"?ins={HOSTILE}"))
        wait_for_python(page)
        assert words(page, "D") == codes(ptxlab.explore(DEFAULT), "D")
        an_address_is_neither_executed_nor_put_in_as_html(page)
        assert OTHERS in page.evaluate("caches.keys()")
    finally:
        page.context.set_offline(False)
    page.goto(f"{address}try/?ask=lane 5")  # no copy of the page for each question
    assert not [url for url in page.evaluate(KEPT) if "?" in url]
