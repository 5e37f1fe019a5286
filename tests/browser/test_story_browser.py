"""An instruction that is played: D fills product by product, exactly; nothing shows its end before it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import ptxlab
from ptxlab.explorer.edits import SetOption, SetValues
from ptxlab.explorer.sixteen_products import scene
from tests.cases import each

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SHAPES = ("m64n8k8.f32.tf32.tf32", "m64n8k16.f32.f16.f16")
PLAY = "play the instruction"
NUMBERS = "name => document.querySelector('.ptx-explorer').numbers(name)"
EMPTY = "document.querySelector('.ptx-explorer').isEmpty('D')"
REGISTERS = "[...document.querySelectorAll('[data-operand=D] :is(.ptx-value, .ptx-hex)')].map((n) => n.value)"
BITS = "[...document.querySelectorAll('[data-operand=D] .ptx-bit')].map((node) => node.textContent).join('')"


def wide(ins: Any, name: str, random: np.random.Generator) -> Any:
    """Numbers so far apart that no float64 holds their sum."""
    shape = ins.operand(name).shape
    return random.integers(-7, 8, shape) * 2.0 ** random.integers(-60, 60, shape)


FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "integers": ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", {}),
    "f16": (F16, {}),
    "bf16, wide": ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", {"A": wide, "B": wide}),
    "f64, wide": ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", {"A": wide, "B": wide}),
    "f16 in D": ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", {}),
    "bits": ("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.xor.popc", {}),
    "sparse": ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", {}),
    "quad pairs": ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", {}),
    "wgmma": ("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16", {"imm_scale_a": -1}),
    "block scales": (
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        {"SFA": lambda ins, name, random: 2.0 ** random.integers(-3, 4, ins.operand(name).shape)},
    ),
    "tensor memory": ("tcgen05.mma.cta_group::1.kind::f16", {"scale_input_d": 2}),
}


@pytest.fixture(scope="module")
def folder_of_forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("story")


def exact_sums(ex: Any, k: int) -> list[Fraction]:
    """C and the first products of every cell, as fractions."""
    ins, modifiers = ex.instruction, ex.state.operation.modifiers
    values = {name: np.asarray(ex.state.values(name), dtype=float) for name in ex.state.operation.names}
    scale = Fraction(modifiers.imm_scale_a)
    sums = []
    for row, column in np.ndindex(ins.d.shape):
        other = ins.column_of_b(row, column)
        total = Fraction(values["C"][row, column]) / 2**modifiers.scale_input_d
        for at in range(k):
            a, b = Fraction(values["A"][row, at]), Fraction(values["B"][at, other])
            if ".xor." in ins.mnemonic:
                total += abs(a - b)
                continue
            if ins.scale_vec:
                block = at // (ins.k // ins.scale_vec)
                scale = Fraction(values["SFA"][row, block]) * Fraction(values["SFB"][block, other])
            total += scale * a * b
        sums.append(total)
    return sums


def text_of(value: Any) -> str:
    """A number as JavaScript writes it to be compared: through float."""
    return repr(float(value))


def floats(texts: list[str]) -> list[str]:
    return [text_of(text) for text in texts]


@each("name", FORMS)
def test_d_fills_with_exact_sums(page: Any, folder_of_forms: Path, name: str) -> None:
    """The cells after one and two k are what fractions give; before, D is empty, and after, what it is."""
    mnemonic, options = FORMS[name]
    random = np.random.default_rng(1)
    ex = ptxlab.explore(ptxlab.instruction(mnemonic, n=8) if "tcgen05" in mnemonic else mnemonic)
    ins = ex.instruction
    for operand, value in options.items():
        if callable(value):
            ex.apply(SetValues(operand, value(ins, operand, random)))
        else:
            ex.apply(SetOption(operand, value))
    if not options.get("A"):
        ex.C = random.integers(-3, 4, ex.C.shape)
    path = folder_of_forms / f"{name.replace(' ', '-').replace(',', '')}.html"
    ex.save_html(path)
    page.goto(path.as_uri())
    page.locator(".ptx-part-name").first.click()
    assert page.evaluate(EMPTY) and not any(page.evaluate(REGISTERS)), "nothing is computed yet"
    along, slider = (
        page.locator(".ptx-part-name", has_text="along K"),
        page.get_by_label("timeline", exact=True),
    )
    along.click()
    steps = [0] if np.any(ex.C) else []  # D begins as C
    steps += [1, 2] if ins.k <= 64 else [2, 4]
    for k in steps:
        if k != steps[0]:
            slider.press("ArrowRight")
        assert floats(page.evaluate(NUMBERS, "D")) == [text_of(total) for total in exact_sums(ex, k)], k
    page.locator(".ptx-part-name", has_text="D out").click()
    slider.press("End")
    assert floats(page.evaluate(NUMBERS, "D")) == [
        text_of(value) for value in np.asarray(ex.D, float).ravel()
    ]


# -- with motion: a clock that tests wind ------------------------------------------------------------------


@pytest.fixture
def moving(browser: Any) -> Any:
    """A page with motion, whose time stands still until a test winds it on."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="no-preference")
    page.clock.install(time=0)
    yield page
    page.close()


def opened(page: Any, path: Path) -> Any:
    page.goto(path.as_uri())
    page.wait_for_selector(".ptx-explorer .ptx-part-name, .ptx-walk .dot")
    page.clock.pause_at(3_600_000)
    return page


@pytest.fixture(scope="module")
def cancelling(folder_of_forms: Path) -> Path:
    """The numbers of the opening scene: D[3][5] is exactly 4.44140625, and 4.421875 on sm_90."""
    numbers, ex = scene(), ptxlab.explore(F16)
    ex.A, ex.B, ex.against = np.array(numbers["A"]), np.array(numbers["B"]), "sm_80"
    ex.selection = ("D", 3, 5)
    return Path(ex.save_html(folder_of_forms / "cancelling.html"))


def test_nothing_shows_the_end_before_it(moving: Any, cancelling: Path) -> None:
    """While it plays, cells and registers have the sums so far; D's own number comes with its rounding."""
    page = opened(moving, cancelling)
    page.evaluate(
        "() => { const { model } = document.querySelector('.static-view'); model.set('lane', 14); }"
    )
    page.locator(".ptx-part-name").first.click()
    page.get_by_role("button", name=PLAY).click()
    last = page.locator(".ptx-part-name.now")
    sums, parts = [], []
    for _ in range(400):
        page.clock.run_for(150)
        part, number = last.inner_text(), page.evaluate(NUMBERS, "D")[3 * 8 + 5]
        shown = page.evaluate(REGISTERS)
        if part not in parts:
            parts.append(part)
        if part == "round":
            assert number == "4.421875" and "4.421875" in shown
            break
        assert number != "4.421875" and "4.421875" not in shown, part
        if part == "along K" and (not sums or sums[-1] != number):
            sums.append(number)
    else:
        pytest.fail(f"it stays at {parts}")
    products = np.array(scene()["A"])[3] * np.array(scene()["B"])[:, 5]
    expected = [text_of(total) for total in np.cumsum([0, *products])]
    assert floats(sums) == [text for at, text in enumerate(expected) if not at or text != expected[at - 1]]
    assert parts == ["A", "B", "along K", "sum of D[3][5]", "round"]


def test_products_are_on_their_way_and_the_camera_dives(moving: Any, cancelling: Path) -> None:
    page = opened(moving, cancelling)
    slider, story = page.get_by_label("timeline", exact=True), page.locator(".ptx-story")
    page.locator(".ptx-part-name", has_text="along K").click()
    expect(story).to_have_count(0)
    slider.press("ArrowRight")
    page.clock.run_for(200)
    expect(story).to_be_visible()
    assert page.evaluate(NUMBERS, "D")[3 * 8 + 5] == "6"  # the products of k = 1 have not sunk
    page.clock.run_for(1000)
    expect(story).to_have_count(0)
    assert page.evaluate(NUMBERS, "D")[3 * 8 + 5] == "524294"
    page.locator(".ptx-part-name", has_text="chips part").click()
    page.clock.run_for(1000)
    expect(story).to_be_visible()
    assert page.locator("[data-pane=A]").is_hidden() and page.locator("[data-pane=B]").is_visible()
    blinks = []
    for _ in range(2):
        blinks.append(story.screenshot())
        page.clock.run_for(420)
    assert blinks[0] != blinks[1], "the bit that differs blinks"
    page.keyboard.press("Escape")
    expect(story).to_have_count(0)
    assert page.locator("[data-pane=A]").is_visible()


def test_where_nothing_is_selected_it_plays_from_the_first_operand(
    moving: Any, folder_of_forms: Path
) -> None:
    """The products begin two seconds later."""
    page = opened(moving, ptxlab.explore(F16).save_html(folder_of_forms / "plain.html"))
    page.get_by_role("button", name=PLAY).click()
    now = page.locator(".ptx-part-name.now")
    assert now.inner_text() == "A" and page.evaluate(EMPTY)
    page.clock.run_for(1800)
    assert now.inner_text() == "B"
    page.clock.run_for(600)
    assert now.inner_text() == "along K" and not page.evaluate(EMPTY)


def test_less_motion_steps(page: Any, cancelling: Path) -> None:
    """Where the system asks for less motion, D is at its next sum at once, and nothing flies."""
    page.goto(cancelling.as_uri())
    page.locator(".ptx-part-name", has_text="along K").click()
    page.get_by_label("timeline", exact=True).press("ArrowRight")
    assert page.evaluate(NUMBERS, "D")[3 * 8 + 5] == "524294"
    expect(page.locator(".ptx-story")).to_have_count(0)


def test_the_wheel_scrubs_what_has_the_focus(page: Any, cancelling: Path) -> None:
    """Over the slider with the focus it goes from step to step; elsewhere the page scrolls."""
    page.goto(cancelling.as_uri())
    page.set_viewport_size({"width": 1280, "height": 500})
    bar, slider = page.locator(".ptx-explorer .ptx-timeline"), page.get_by_label("timeline", exact=True)
    page.locator(".ptx-part-name", has_text="along K").click()
    slider.scroll_into_view_if_needed()
    start = int(bar.get_attribute("data-at"))
    page.evaluate("document.activeElement.blur()")
    slider.hover()
    page.mouse.wheel(0, 80)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert int(bar.get_attribute("data-at")) == start
    slider.focus()
    slider.hover()
    page.mouse.wheel(0, 80)
    expect(bar).to_have_attribute("data-at", str(start + 2))
    assert page.evaluate(NUMBERS, "D")[3 * 8 + 5] == "524288"
    page.set_viewport_size({"width": 1280, "height": 1400})


def test_stops_of_a_walk_morph(moving: Any, folder_of_forms: Path) -> None:
    """Half-way to the next stop a lane's cells are between their places; new ones are still narrow."""
    page = opened(moving, ptxlab.walk("wgmma").save_html(folder_of_forms / "walk.html"))
    page.wait_for_selector(".ptx-explorer [data-pane=A]")
    ins, after = (ptxlab.instruction(f"wgmma.mma_async.sync.aligned.{form}") for form in SHAPES)
    (row, column), (row2, column2) = (form.a.layout.coords()[5][3].tolist() for form in (ins, after))
    at = "([row, column]) => document.querySelector('.ptx-explorer').cellRect('A', row, column)"
    groups = page.locator(".ptx-walk .group > span").all_inner_texts()
    assert groups == ["tf32", "f16", "f8f6f4", "b1"]
    before = page.evaluate(at, [row, column])
    page.get_by_role("button", name="next stop").click()
    page.wait_for_function("document.querySelector('.ptx-explorer').moving().length")
    page.clock.run_for(450)
    cells = {
        cell["key"]: cell["box"] for cell in page.evaluate("document.querySelector('.ptx-explorer').moving()")
    }
    end = page.evaluate(at, [row2, column2])
    scene_box = page.locator(".ptx-scene").bounding_box()
    travelling = cells["A lane 5 3"]
    middle = (before["width"] + end["width"]) / 2
    assert abs(travelling["width"] - middle) < 0.2 * abs(before["width"] - end["width"]) + 0.5
    x = sorted([before["x"], end["x"]])
    assert x[0] - 1 <= travelling["x"] + scene_box["x"] <= x[1] + 1 and x[1] - x[0] > 2
    new = cells["A lane 5 7"]  # it had four elements before
    assert 0 < new["width"] < 0.8 * end["width"]
    page.clock.run_for(1000)
    assert not page.evaluate("document.querySelector('.ptx-explorer').moving().length")
    expect(page.locator(".ptx-story")).to_have_count(0)
