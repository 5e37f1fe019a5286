"""The explorer outside JupyterLab: Notebook 7 and Voilà show it, and an edit made there changes D."""

from __future__ import annotations

from typing import Any

import pytest

from tools.jupyter import Shown

pytestmark = pytest.mark.browser

CODE = """import numpy as np, ptxlab
A, B, C = np.zeros((16, 64)), np.ones((64, 8)), np.zeros((16, 8))
ex = ptxlab.explore("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", A=A, B=B, C=C)
ex"""


def edit(page: Any) -> None:
    shown = Shown(page)
    assert shown.drawn()
    shown.reads("D", 9, 0, 0)
    shown.type("A", 9, 37, "-3")
    shown.reads("D", 9, 0, -3)
    shown.reads("A", 9, 37, -3)
    assert shown.root.locator(".ptx-problem").inner_text() == ""


def test_notebook(lab: Any, page: Any) -> None:
    pytest.importorskip("notebook")
    book = lab.open(page, "notebook7", [CODE, "print(ex.D[9, 0])"], at="notebooks")
    book.run(0)
    edit(page)
    assert book.run(1) == "-3"
    page.locator(".ptx-explorer").scroll_into_view_if_needed()


def test_voila(lab: Any, page: Any) -> None:
    pytest.importorskip("voila")
    lab.render(page, "voila", [CODE])
    edit(page)
