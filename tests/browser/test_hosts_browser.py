"""The explorer outside JupyterLab: Notebook 7 and Voilà show it, and an edit made there changes D."""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.sampling import covered_by
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


@covered_by("JupyterLab, of whose parts Notebook 7 is made")
def test_notebook(lab: Any, page: Any) -> None:
    pytest.importorskip("notebook")
    book = lab.open(page, "notebook7", [CODE, "print(ex.D[9, 0])"], at="notebooks")
    book.run(0)
    edit(page)
    assert book.run(1) == "-3"
    page.locator(".ptx-explorer").scroll_into_view_if_needed()


def test_jupyterlab_asks_for_a_token_that_only_its_user_knows(lab: Any) -> None:
    """That of these tests, on a machine that others use as well."""
    assert isinstance(lab.ask("/api/sessions"), list)
    for query in ("", *(f"?token={guess}" for guess in ("", "ptxlab", "T"))):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{lab.address}/api/sessions{query}", timeout=20)
    assert re.fullmatch(r"[0-9a-f]{48}", lab._token)
    if sys.platform == "linux":
        process = Path("/proc") / str(lab._server.pid)
        assert lab._token.encode() not in (process / "cmdline").read_bytes()
        assert (process / "environ").stat().st_mode & 0o077 == 0


@covered_by("JupyterLab, whose widget manager Voilà runs without the rest of the page")
def test_voila(lab: Any, page: Any) -> None:
    pytest.importorskip("voila")
    lab.render(page, "voila", [CODE])
    edit(page)
