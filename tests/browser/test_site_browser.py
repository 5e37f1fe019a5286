"""The documentation site, built without executing the notebooks, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_accessible_browser import AXE, complaints
from tests.sampling import EXHAUSTIVE
from tools.check_links import broken_links

pytestmark = [pytest.mark.browser, pytest.mark.slow]

VIEWPORT = {"width": 1280, "height": 1400}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every page, most without figures and code (`make exhaustive`: with); a warning is an error."""
    from tools.site.build import build  # imports much

    folder = tmp_path_factory.mktemp("site")
    for place in ("try", "lite/notebooks"):
        (folder / place).mkdir(parents=True)
        (folder / place / "index.html").write_text("<!doctype html><title>tools.web builds it</title>")
    assert build(folder, execute=False, brief=not EXHAUSTIVE, web=True) == 0
    return folder


@pytest.fixture
def visit(address: str, page: Any) -> Iterator[Any]:
    """Open a page of the site by its name; afterwards no error was logged, and no request went elsewhere."""
    requests: list[str] = []
    messages: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(f"{message.type}: {message.text}"))

    def opened(name: str) -> Any:
        page.goto(address + name)
        return page

    yield opened
    assert requests and all(url.startswith((address, "data:", "blob:")) for url in requests)
    assert not [message for message in messages if message.startswith("error")]


def test_links_lead_somewhere(site: Path) -> None:
    assert broken_links(site) == []


def test_pages_run_no_script_that_they_did_not_bring(site: Path) -> None:
    """A policy stands in every page before anything else; `visit` sees that no page breaks its own."""
    for path in (site / "index.html", site / "search.html", *(site / "reference").glob("*.html")):
        head = path.read_text(encoding="utf-8").partition("<head>")[2].lstrip()
        policy = re.match(r'<meta http-equiv="Content-Security-Policy" content="([^"]+)">', head)
        assert policy is not None, path
        (scripts,) = re.findall(r"script-src ([^;]+);", policy[1])
        assert set(re.sub(r"'sha256-[\w+/=]+'", "", scripts).split()) == {"'self'"}, scripts


def test_start_page(visit: Any) -> None:
    page = visit("index.html")
    assert page.locator("h1").inner_text().startswith("ptxlab")
    page.locator(".ptx-sixteen .ptx-slider").press("End")
    assert "two chips, two answers" in page.locator(".ptx-sixteen-caption").inner_text()
    assert page.get_by_role("link", name="Start lesson 00 here").get_attribute("href").startswith("lite/")
    page.set_viewport_size({"width": 390, "height": 844})
    button = page.get_by_role("button", name="Answer").bounding_box()
    assert button["x"] + button["width"] <= 390
    page.set_viewport_size(VIEWPORT)
    if AXE.exists():
        for theme in ("dark", "light"):
            page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
            assert complaints(page, "html", contrast=True) == []
    page.get_by_role("textbox", name="Ask").fill("A[9][37] of mma.m16n8k64.s4")
    page.get_by_role("button", name="Answer").click()
    page.wait_for_url("**/try/index.html?ask=A%5B9%5D%5B37%5D+of+mma.m16n8k64.s4")
    page = visit("index.html")
    page.locator("a", has_text="Course").first.click()
    page.wait_for_url("**/course/index.html")


def test_a_lesson(visit: Any) -> None:
    page = visit("course/00-start-here.html")
    assert "one product, two speeds" in page.locator("h1").inner_text()
    assert any("lessons.check" in text for text in page.locator(".cell_input").all_inner_texts())
    assert not page.get_by_text("kernel.install").count(), "the cell that prepares the kernel is hidden"
    page.get_by_role("link", name="01 Fifty-eight pictures, one rule").first.click()
    page.wait_for_url("**/course/01-fragments.html")


def test_a_reference_page_follows_the_theme(visit: Any) -> None:
    page = visit("reference/mma.html")
    opcode = page.locator(".highlight-ptx .k").first
    assert opcode.text_content() == "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
    edit = page.get_by_role("link", name="Edit this in the Explorer").first
    assert edit.get_attribute("href") == f"../try/index.html?ins={opcode.text_content()}"
    cell = page.locator(".ptx-picture svg rect title", has_text="lane 5, element").first
    assert "register" in str(cell.text_content())
    paper = page.locator(".ptx-picture svg > rect").first
    light = paper.evaluate("paper => getComputedStyle(paper).fill")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert light == "rgb(255, 255, 255)"
    assert paper.evaluate("paper => getComputedStyle(paper).fill") != light
    assert page.evaluate("document.body.dataset.jpThemeLight") == "false"
    page.set_viewport_size({"width": 600, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    page.set_viewport_size(VIEWPORT)


def test_search(visit: Any) -> None:
    page = visit("search.html?q=m16n8k64+selector")
    page.locator("#search-results li a[href*='reference/mma-sp.html']").first.wait_for()
