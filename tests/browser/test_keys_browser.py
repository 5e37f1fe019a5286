"""Keys of JupyterLab while the Explorer has the focus: those that edit nothing are the notebook's."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tools.jupyter import Shown

pytestmark = pytest.mark.browser

NAME = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def test_keys_of_the_notebook(lab: Any, lab_page: Any) -> None:
    """In the Explorer, Ctrl+Enter and Shift+Enter run the cell, Ctrl+S saves, Escape gives the focus back."""
    page = lab_page
    book = lab.open_next(page, "keys", [f"import ptxlab\nptxlab.explore({NAME!r})", "print('ran', 6 * 7)"])
    book.run(0)
    shown = Shown(page)
    shown.type("A", 3, 5, "1.5")
    shown.click("A", 3, 5)
    page.keyboard.press("Control+s")
    page.wait_for_function("() => !document.querySelector('.jp-mod-dirty')")
    cell = page.locator(".jp-Cell").first
    prompt = cell.locator(".jp-InputPrompt")
    count = prompt.inner_text()
    page.keyboard.press("Control+Enter")  # the cell runs again, and the notebook stays there
    expect(prompt).to_have_text(re.compile(r"\[\d+\]"))
    expect(prompt).not_to_have_text(count)
    expect(cell).to_have_class(re.compile("jp-mod-active"))
    shown = Shown(page)
    shown.click("A", 3, 5)
    page.keyboard.type("2")
    page.keyboard.press("Shift+Enter")  # what was typed is kept, and the cell runs
    expect(page.locator(".jp-Cell").nth(1)).to_have_class(re.compile("jp-mod-active"))
    page.keyboard.press("Shift+Enter")
    page.get_by_text("ran 42").wait_for()
    Shown(page).click("A", 0, 0)
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.activeElement.closest('.ptx-explorer')")
