"""The reference site in a real browser, from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from docs.build import build

pytestmark = pytest.mark.browser


def test_the_site_from_disk(browser: Any, tmp_path: Path) -> None:
    """Search by keyboard, from a file, with every request counted; then a lane that lights up, in a narrow window in the dark."""
    build(tmp_path, ["mma"], say=lambda line: None)
    context = browser.new_context(viewport={"width": 600, "height": 900}, color_scheme="dark")
    page = context.new_page()
    asked: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((tmp_path / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("m16n8k64 s4 mma")
    assert (
        page.locator("#hits a code").first.inner_text() == "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
    )
    page.keyboard.press("Enter")
    page.wait_for_url("**/mma.html#m16n8k64-s4-u4")
    cell = page.locator("figure svg g[data-t='5'] rect").first
    cell.scroll_into_view_if_needed()
    cell.hover()
    assert page.locator("figure svg.lit g.here").first.get_attribute("data-t") == "5"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 27)"
    context.close()
    assert asked and all(url.startswith("file:") for url in asked)
    assert not wrong
