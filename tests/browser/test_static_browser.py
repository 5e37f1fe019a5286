"""The saved page from disk, with the network off: what is alive in it, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ptxlab
from ptxlab.explorer.protocol import lane_registers
from tools.jupyter import Shown

pytestmark = pytest.mark.browser

SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
FORMS = {
    "sparse": "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "wgmma": "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
    "scaled": SCALED,
}
SAID = "() => document.querySelector('.ptx-status').innerText"
MODEL = "document.querySelector('.static-view').model"


@pytest.fixture(params=FORMS)
def saved(request: pytest.FixtureRequest, page: Any, tmp_path: Path) -> Iterator[Any]:
    """An Explorer whose page is open in the browser; errors on the console and requests fail the test."""
    ex = ptxlab.explore(FORMS[request.param], seed=5)
    ex.view.selected = {"name": "D", "row": 1, "column": 2}
    path = ex.save_html(tmp_path / "x.html", title="Week 3 </script>")
    assert path.stat().st_size < 500_000
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
    page.wait_for_function("() => document.querySelector('.ptx-lane-title b').innerText === 'Lane 17'")
    assert before != hexes(page) == [f"0x{word:08x}" for word in ex.registers["A"][17][: len(before)]]
    for lane in range(3, ins.lanes, ins.lanes // 4):
        assert page.evaluate(
            f"lane => {{ {MODEL}.set('lane', lane); return {MODEL}.get('lane_registers'); }}", lane
        ) == {str(lane): lane_registers(ex.state, lane)}

    # colours, zoom, C
    looks = [pixels(page, "A")]
    for how in ("register", "value"):
        Shown(page).tool("[data-trait=colour_by]").select_option(how)
        page.wait_for_timeout(50)
        looks.append(pixels(page, "A"))
    assert len(set(looks)) == 3
    wide = page.locator("[data-pane=D] .ptx-space").evaluate("node => node.offsetWidth")
    page.get_by_label("larger cells").click(click_count=4)
    page.wait_for_function(
        "wide => document.querySelector('[data-pane=D] .ptx-space').offsetWidth > wide", arg=wide
    )
    page.locator("[data-trait=zoom]").click()
    Shown(page).tool("button[data-trait=show_c]").click()
    page.wait_for_selector("[data-pane=C] canvas")
    Shown(page).tool("button[data-trait=show_c]").click()

    # why: the saved cell has its bits, another says what it lacks
    page.locator(".ptx-trace-fold").click()
    assert "D[1][2]" in page.locator(".ptx-trace-fold").inner_text()
    assert page.locator(".ptx-trace-cell").count() > 20
    page.mouse.click(*at(page, "D", 0, 0))
    page.wait_for_function("() => document.querySelector('.ptx-trace-body').innerText.includes('only')")
    assert page.locator(".ptx-trace-cell").count() == 0
    assert page.locator("[data-testid=stepper]").is_visible() == (ins.n == 8), (
        "dot products of all cells of a small D"
    )
    page.mouse.click(*at(page, "D", 1, 2))
    page.wait_for_selector(".ptx-trace-cell")
    page.get_by_role("button", name="play the dot product").click()
    page.wait_for_function("() => Number(document.querySelector('[data-testid=stepper]').dataset.at) > 1")
    page.get_by_role("button", name="pause").click()
    page.locator(".ptx-trace-fold").click()


def test_refused(saved: Any, page: Any) -> None:
    """Whatever is typed is refused with the way out; nothing changes."""
    state = f"() => JSON.stringify(['lane_registers', 'lane', 'trace'].map((name) => {MODEL}.get(name)))"
    mnemonic = saved.instruction.mnemonic
    remedy = f'this page cannot be edited: open it in a notebook with ptxlab.explore("{mnemonic}")'
    page.mouse.click(*at(page, "A", 2, 3))
    before, look = page.evaluate(state), pixels(page, "A")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "problem => document.querySelector('.ptx-problem').innerText === problem", arg=remedy
    )
    assert (page.evaluate(state), pixels(page, "A")) == (before, look)
    page.mouse.click(*at(page, "A", 2, 3))
    page.wait_for_function("() => document.querySelector('.ptx-problem').innerText === ''")
    box = page.locator(".ptx-hex[data-operand=A]").first
    content = box.input_value()
    box.fill("0xffffffff")
    box.press("Enter")
    page.wait_for_function(
        "problem => document.querySelector('.ptx-problem').innerText === problem", arg=remedy
    )
    assert box.input_value() == content
    page.evaluate("() => document.activeElement.blur()")


@pytest.mark.parametrize("scheme", ["light", "dark"])
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
    papers = {"light": ["rgb(255, 255, 255)", False], "dark": ["rgb(22, 24, 27)", True]}
    other = "dark" if scheme == "light" else "light"
    assert page.evaluate(dark) == papers[scheme]
    page.emulate_media(color_scheme=other)
    page.wait_for_function(
        f"wanted => JSON.stringify(({dark})()) === JSON.stringify(wanted)", arg=papers[other]
    )
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "the page scrolls sideways"
    assert page.locator("h1").is_hidden()
    context.close()
