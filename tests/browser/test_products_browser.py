"""Sixteen products, one cell: the page adds as the chips do, plays to its end, and takes other numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab.explorer.bundle import script, sheets
from ptxlab.explorer.page.instruction_info import adder
from ptxlab.explorer.page.page_values import lane_registers
from ptxlab.explorer.session import PageSession
from ptxlab.explorer.sixteen_products import page_part
from ptxlab.explorer.worker import DEFAULT

INS = ptxlab.instruction("mma.m16n8k16.f32.f16")
CHIPS = ("sm_90", "sm_80")
COMPUTE = """([A, B]) => {
  const { products } = document.querySelector(".sixteen-products");
  products.scene = { ...products.scene, A, B };
  products.compute();
  return products.results.map((numbers) => [...numbers]);
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    page = tmp_path_factory.mktemp("products") / "page.html"
    page.write_text(
        '<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<style>{sheets('timeline', 'products')}</style><body>{page_part()}"
        f'<script type="module">{script("sixteen_products_page")}</script>',
        encoding="utf-8",
    )
    return Path(page).as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1200, "height": 720}, reduced_motion="reduce")
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.wait_for_function("document.querySelector('.sixteen-products').products")
    yield page
    page.close()
    assert errors == []


def values(page: Any, name: str) -> np.ndarray[Any, Any]:
    shown = page.evaluate("name => document.querySelector('.sixteen-products').products.scene[name]", name)
    return np.array(shown)


@pytest.mark.parametrize("kind", ["any bits", "close", "subnormal", "sparse"])
def test_the_page_adds_as_the_chips_do(page: Any, kind: str) -> None:
    random = np.random.default_rng(0)

    def numbers(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        codes = random.integers(0, 1 << 16, shape, dtype=np.uint16)
        if kind == "subnormal":
            codes &= np.uint16(0x8FFF)
        if kind == "close":
            codes = (codes & 0x83FF) | random.integers(13, 18, shape, dtype=np.uint16) << 10
        found = codes.view(np.float16)
        if kind == "sparse":
            found = np.where(random.random(shape) < 0.8, np.float16(0), found)
        return np.where(np.isfinite(found), found, np.float16(1))

    for _ in range(4):
        A, B = numbers(INS.a.shape), numbers(INS.b.shape)
        shown = page.evaluate(COMPUTE, [A.astype(float).tolist(), B.astype(float).tolist()])
        for chip, numbers_of_chip in zip(CHIPS, shown, strict=True):
            packed = INS.a.pack(A), INS.b.pack(B), INS.c.pack(np.zeros(INS.c.shape, np.float32))
            expected = INS.d.unpack(INS.emulate(*packed, model=chip)).astype(float).ravel()
            assert np.array_equal(np.array(numbers_of_chip) + 0.0, expected + 0.0)


def test_it_plays_to_two_answers(page: Any) -> None:
    caption, slider = page.locator(".ptx-sixteen-caption"), page.locator(".ptx-slider")
    assert "32 threads" in caption.inner_text()
    slider.press("ArrowRight")
    assert caption.inner_text().startswith("Column 0 of A times row 0 of B")
    slider.press("End")
    answers = {float(INS(values(page, "A"), values(page, "B"), model=chip)[3, 5]) for chip in CHIPS}
    assert answers == {4.421875, 4.40625}
    assert "4.40625" in caption.inner_text() and "two chips, two answers" in caption.inner_text()
    slider.press("ArrowLeft")
    assert "D[3][5] = 4.421875. The exact sum is 4.44140625." in caption.inner_text()


def test_a_number_can_be_changed_and_what_is_wrong_stays(page: Any) -> None:
    grid = page.evaluate("document.querySelector('.sixteen-products').products.layout.grids(0).A")
    place, field = grid["place"], page.locator(".ptx-sixteen-field")
    x, y = place["x"] + 2.5 * grid["width"], place["y"] + 7.5 * grid["height"]
    page.locator("canvas").click(position={"x": x, "y": y})
    assert field.get_attribute("aria-label") == "A[7][2]"
    field.fill("7e9")
    field.press("Enter")
    assert field.input_value() == "7e9" and "65504" in field.get_attribute("title")
    field.fill("-1.3")
    field.press("Enter")
    page.wait_for_selector(".ptx-sixteen[data-computed='8']")
    A = values(page, "A")
    assert A[7, 2] == float(np.float16(-1.3))
    shown = page.evaluate("[...document.querySelector('.sixteen-products').products.results[0]]")
    assert np.array_equal(np.array(shown).reshape(16, 8), INS(A, values(page, "B"), model="sm_90"))
    assert field.is_hidden()


def test_a_factor_of_the_cell_can_be_changed(page: Any) -> None:
    page.locator(".ptx-slider").press("End")
    assert "Change a factor" in page.locator(".ptx-sixteen-caption").inner_text()
    place = page.evaluate("document.querySelector('.sixteen-products').products.layout.closeUp")
    page.locator("canvas").click(position={"x": place["x"] + 8, "y": place["y"] + 22 + 3.5 * 15})
    field = page.locator(".ptx-sixteen-field")
    assert field.get_attribute("aria-label") == "A[3][3]"
    field.fill("0")
    field.press("Enter")
    page.wait_for_function("document.querySelector('.ptx-sixteen').dataset.computed")
    assert "the same bits this time" in page.locator(".ptx-sixteen-caption").inner_text()


def test_it_fits_a_phone(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 780})
    page.wait_for_selector(".ptx-sixteen.narrow")
    for step in ("Home", "End"):
        page.locator(".ptx-slider").press(step)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    play = page.get_by_role("button", name="play the multiplication").bounding_box()
    assert play["height"] >= 24 and play["y"] < 300


#: Makes edits on what a page opened with; answers which it made, the codes of D, and every lane's registers.
EDITED = """([state, chip, edits]) => {
  const view = (numbers) => new DataView(new Uint8Array(numbers).buffer);
  for (const name of ["A", "B", "C", "D"]) {
    const sent = state[name];
    state[name] = { values: view(sent.values), codes: view(sent.codes) };
    const info = state.instruction.matrices[name];
    for (const map of ["lane", "element_map", "register_map", "low"]) info[map] = view(info[map]);
  }
  const product = new EarlyProduct(state, chip);
  const answered = edits.map((edit) => Boolean(product.answer({ type: "set_cell", ...edit })));
  const lanes = Array.from({ length: 32 }, (_, lane) => product.registers(lane));
  return [answered, [...product.codes.D], lanes];
}"""
#: Texts that the page computes with, and texts that it leaves to Python.
EARLY = ("50", "-3", "0", "+1.5", ".1", "2e-3", "6e-8", "1234.5", "65504", " 7 ", "\u22122")
LATE = ("-0", "inf", "nan", "0x3c00", "65505", "1,5", "", "abc", "1_0")


def test_edits_before_python_are_those_of_python(page: Any) -> None:
    """A page that waits for Python gives its D and registers, bit for bit, or leaves an edit to it."""
    random = np.random.default_rng(3)
    session = PageSession(DEFAULT)
    plain = json.dumps(session.page_model.get_state(["A", "B", "C", "D", "instruction"]), default=list)
    edits = []
    for text in (*EARLY, *LATE):
        for name, rows, columns in (("A", 16, 16), ("B", 16, 8), ("C", 16, 8)):
            row, column = random.integers(rows), random.integers(columns)
            edits.append({"name": name, "row": int(row), "column": int(column), "text": text})
    fine = {"name": "C", "row": 0, "column": 0, "text": "1e-30"}
    large = {"name": "C", "row": 0, "column": 0, "text": "65505"}
    module = script("products/early_product") + "globalThis.EarlyProduct = EarlyProduct;"
    page.add_script_tag(content=module, type="module")
    given = [json.loads(plain), adder(INS, "sm_90"), [*edits, fine, large]]
    answered, codes, lanes = page.evaluate(EDITED, given)
    expected = [edit["text"] in EARLY or (edit["name"] == "C" and edit["text"] == "65505") for edit in edits]
    assert answered == [*expected, False, True]
    for edit, early in zip([*edits, fine, large], answered, strict=True):
        if early:
            session.handle({"method": "custom", "content": {"type": "set_cell", **edit}})
    assert session.page_model.problem == ""
    assert codes == np.frombuffer(session.page_model.D["codes"], np.uint32).tolist()
    for lane, registers in enumerate(lanes):
        assert registers == json.loads(json.dumps(lane_registers(session.state, lane)))


@pytest.mark.parametrize("name", ["mma.m8n8k16.s8", "mma.m16n8k64.row.col.s32.u4.s4.s32"])
def test_integers_before_python_are_those_of_python(page: Any, name: str) -> None:
    session = PageSession(name)
    plain = json.dumps(session.page_model.get_state(["A", "B", "C", "D", "instruction"]), default=list)
    texts = {"A": ("7", "-0", "+3"), "B": ("-8", "5"), "C": ("2147483647", "-2147483648")}
    late = [{"name": "A", "row": 0, "column": 0, "text": text} for text in ("1.5", "999", "0x1", "")]
    edits = [
        {"name": matrix, "row": 2, "column": column, "text": text}
        for matrix, several in texts.items()
        for column, text in enumerate(several)
    ]
    module = script("products/early_product") + "globalThis.EarlyProduct = EarlyProduct;"
    page.add_script_tag(content=module, type="module")
    answered, codes, lanes = page.evaluate(EDITED, [json.loads(plain), "exact", [*edits, *late]])
    assert answered == [True] * len(edits) + [False] * len(late)
    for edit in edits:
        session.handle({"method": "custom", "content": {"type": "set_cell", **edit}})
    assert session.page_model.problem == ""
    assert codes == np.frombuffer(session.page_model.D["codes"], np.uint32).tolist()
    for lane, registers in enumerate(lanes):
        assert registers == json.loads(json.dumps(lane_registers(session.state, lane)))
