"""What travels to a real page: edits before it is shown, two views, a page that is loaded again."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tools.jupyter import Shown

pytestmark = pytest.mark.browser

DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
START = f"""import numpy as np, ptxlab
from ptxlab.explorer.edits import SetCell
ex = ptxlab.explore({DENSE!r})
ex.A, ex.B, ex.C = np.zeros((16, 64)), np.ones((64, 8)), np.zeros((16, 8))
for value in "123": ex.apply(SetCell("A", 0, 0, value))
ex"""


@pytest.fixture(scope="module")
def page(lab_page: Any) -> Any:
    return lab_page


def test_differences_and_a_lost_connection(lab: Any, page: Any) -> None:
    book = lab.open_next(page, "protocol", [START, "pass", "pass"])
    book.run(0)
    first = Shown(page)
    first.reads("D", 0, 0, 3)  # three differences came before the page had loaded what puts them together
    first.type("A", 0, 1, "4")
    first.reads("D", 0, 7, 7)
    book.run(2, "ex")
    second = Shown(page, 1)
    second.reads("D", 0, 5, 7)  # it reads what the first was sent
    second.type("A", 1, 0, "5")
    second.reads("D", 1, 1, 5)
    first.reads("D", 1, 2, 5)
    book.run(1, 'ex.apply(SetCell("A", 15, 63, "-8"))')
    second.reads("D", 15, 7, -8)
    first.reads("D", 15, 0, -8)

    def is_saved(answer: Any) -> bool:
        return answer.request.method == "PUT" and "protocol.ipynb" in answer.url

    with page.expect_response(is_saved):
        page.locator("[data-jp-item-name=save] :is(jp-button, button)").first.click()

    # the page is loaded again, as a document alone
    lines: list[Any] = []

    def through(line: Any) -> None:
        lines.append(line)
        line.connect_to_server()

    page.route_web_socket(re.compile("/channels"), through)
    book = lab.show(page, "protocol")
    again = Shown(page)
    again.reads("D", 15, 6, -8)
    again.type("A", 1, 0, "6")
    again.reads("D", 1, 0, 6)
    assert book.run(1, "print(ex.D[:, 0].tolist())") == str([7, 6, *[0] * 13, -8])

    # the connection breaks, Python changes A, JupyterLab connects again: the page has it
    change = 'lambda: ex.apply(SetCell("A", 2, 0, "6"))'
    book.run(1, f"import asyncio; asyncio.get_event_loop().call_later(2, {change})")
    before = len(lines)
    for line in lines:
        line.close()
    again.reads("D", 2, 0, 6, seconds=30)
    assert len(lines) > before, "the line was never opened again"
    again.type("A", 3, 0, "7")
    again.reads("D", 3, 0, 7)
    assert book.run(1, "print(ex.D[2, 0], ex.D[3, 0])") == "6 7"
