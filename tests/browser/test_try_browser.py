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
from tools import npm, web

pytestmark = [pytest.mark.browser, pytest.mark.slow]

#: Seconds on a machine that does nothing else; tests wait longer, and print what they saw.
DRAWN, ANSWERED, EDIT = 1.0, 8.0, 0.1
PATIENCE = 240_000  # milliseconds, for a busy machine
MODEL = "document.querySelector('.static-view').model"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    try:
        address = web.bring_pyodide(folder)
    except npm.Missing as missing:
        pytest.skip(str(missing))
    sizes = web.build(folder, address)
    assert sum(sizes.values()) <= web.MOST_BYTES, sizes
    return folder


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
        return page

    yield opened
    assert all(url.startswith((address, "about:", "data:", "blob:")) for url in requests), requests
    assert not [text for text in errors if "favicon" not in text and "404" not in text]


def until(page: Any, condition: str) -> None:
    """Wait until something holds; Playwright's own way needs eval, which the page's policy forbids."""
    end = time.monotonic() + PATIENCE / 1e3
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(10)


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


def test_drawn_at_once_and_edits_typed_meanwhile_are_kept(tab: Any) -> None:
    page = tab()
    until(page, "Boolean(document.querySelector('.ptx-explorer')?.cellRect?.('A', 0, 0))")
    drawn = page.evaluate("performance.now() / 1000")
    assert shown(page, "instruction")["mnemonic"] == DEFAULT
    expected = ptxlab.explore(DEFAULT)
    assert words(page, "D") == codes(expected, "D")  # the page brought it
    assert page.get_attribute("#page", "data-python") is None
    rect = page.evaluate("document.querySelector('.ptx-explorer').cellRect('A', 0, 0)")
    page.mouse.click(rect["x"] + rect["width"] / 2, rect["y"] + rect["height"] / 2)
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    assert "1 of your edits" in page.inner_text(".try-progress")
    wait_for_python(page)
    answered = page.evaluate("performance.now() / 1000")
    values = expected.A.copy()
    values[0, 0] = 7
    expected.A = values
    assert words(page, "D") == codes(expected, "D")
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
    """The short name first; then, in the tab that shows it, a link that an Explorer in a notebook copied."""
    page = tab("?ins=mma.m16n8k16.f16")
    assert page.is_hidden(".ptx-explorer")  # not an instruction that nobody asked for
    wait_for_python(page)
    first = ptxlab.explore("mma.m16n8k16.f16")
    assert shown(page, "candidates") == first.view.candidates
    assert shown(page, "instruction")["mnemonic"] == first.instruction.mnemonic
    page.evaluate(f"new Promise((done) => {{ {MODEL}.on('msg:custom', (answer) => {{ "
                  "window.copied = answer.text; done(); }); "
                  f"{MODEL}.send({{ type: 'export', format: 'link' }}); }})")  # fmt: skip
    copied = page.evaluate("window.copied")
    assert copied.startswith(page.evaluate("location.origin") + "/try/#ptxlab:")
    assert codes(ptxlab.explore(copied), "D") == words(page, "D")

    ex = ptxlab.explore("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", seed=5)
    ex.lane, ex.against = 9, None
    page = tab("#" + ex.link)
    wait_for_python(page)
    assert shown(page, "instruction")["mnemonic"] == ex.instruction.mnemonic and shown(page, "lane") == 9
    for name in ("A", "B", "D", "E"):
        assert words(page, name) == codes(ex, name)


HOSTILE = "<img src=x onerror=\"window.hit=1\"><script>window.hit=1</script>';window.hit=1;'"


def packed(link: dict[str, Any]) -> str:
    """A link as the Explorer packs it, with anything in it."""
    word = base64.urlsafe_b64encode(zlib.compress(json.dumps(link).encode() + b"\n"))
    return "#ptxlab:b" + word.decode().rstrip("=")


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (f"?ins={HOSTILE}", "'<img' is not a matrix"),
        (packed({"instruction": HOSTILE}), "this link"),
        (packed({"instruction": DEFAULT, "look": {"label": HOSTILE}}), "this link"),
    ],
    ids=["name", "link", "link with a label"],
)
def test_what_an_address_says_is_neither_executed_nor_put_in_as_html(
    tab: Any, asked: str, problem: str
) -> None:
    page = tab(asked)
    wait_for_python(page)
    assert shown(page, "problem").startswith(problem)
    assert shown(page, "instruction")["mnemonic"] == DEFAULT
    assert page.evaluate("window.hit === undefined && !document.querySelector('img[src=x]')")
