"""The scene's plan, without a browser: which matrices show their numbers in which room, for all products."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

import ptxlab
from ptxlab.explorer import bundle
from ptxlab.explorer.page.page_model import MATRICES
from ptxlab.explorer.session import PageSession
from ptxlab.isa.mma import Instruction
from tests.sampling import one_in

#: What JupyterLab leaves at 1280x800 and 1440x900 with its file browser, full screens, and a phone.
LOW, USUAL, PHONE = (848, 626), (1008, 720), (374, 780)
WIDTHS = [(width, 640) for width in range(600, 1500, 60)]
ROOMS = [LOW, USUAL, PHONE, *WIDTHS]
#: What is above the matrices in any of them.
BAR = 44
#: From nothing to numbers. Rounded ones are worth registers beside the scene.
SHOWN = [("none",), ("code",), ("rounded", "whole")]

_STUBS = """
import { readFileSync } from "node:fs";
globalThis.window = globalThis;
globalThis.matchMedia = () => ({ matches: false });
"""
_PLANS = """
const bytes = (text) => new DataView(Uint8Array.from(Buffer.from(text, "base64")).buffer);
const revived = (key, value) => (value?.base64 === undefined ? value : bytes(value.base64));
const ROOM = { legend: 0, side: 0, timeline: 70, isExplaining: false, mayGrow: true };
const { states, rooms } = JSON.parse(readFileSync(0, "utf8"), revived);
console.log(JSON.stringify(states.map((state) => {
  const model = { get: (name) => ({ label: "value", colour_by: "lane", ...state })[name] };
  const content = new Content(model, {}, new QuizState());
  content.instruction = state.instruction;
  content.read();
  content.label = "value";
  content.measure();
  return rooms.map(([width, view]) => {
    const plan = planScene(content, { ...ROOM, width, view });
    const kinds = Object.fromEntries(["A", "B", "D"].map((name) => [name, kindIn(content, plan, name)]));
    return { ...kinds, ...plan, letters: content.labelSize(content.matrices.D).letters };
  });
})));
"""


class Planned(NamedTuple):
    """A product, and its plan by the room."""

    form: Instruction
    rooms: dict[tuple[int, int], dict[str, Any]]


def _plain(value: object) -> object:
    """A value of the page with its bytes as text."""
    match value:
        case dict():
            return {key: _plain(part) for key, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case bytes() | bytearray() | memoryview():
            return {"base64": base64.b64encode(bytes(value)).decode()}
    return value


def _state(form: Instruction) -> dict[str, object]:
    model = PageSession(form).page_model
    return {name: _plain(getattr(model, name)) for name in ("instruction", "load", *MATRICES)}


def _products() -> list[Instruction]:
    """One product for each combination of shape and types, which is all that its numbers depend on."""
    found: dict[object, Instruction] = {}
    for form in ptxlab.catalog():
        if isinstance(form, Instruction):
            types = [operand.dtype.name for operand in (form.a, form.b, form.d)]
            found.setdefault((form.sparse, form.m, form.n, form.k, *types), form)
    return list(found.values())


def _is_small(form: Instruction) -> bool:
    return max(form.m, form.n, form.k) <= 16


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> list[Planned]:
    """The plan of each product in every room."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed; the browser tests look at some of them")
    products = _products()
    large = [form for form in products if not _is_small(form)]
    forms = [*filter(_is_small, products), *one_in(40, large)]
    script = tmp_path_factory.mktemp("scene") / "plans.mjs"
    script.write_text(_STUBS + bundle.script().replace("export default", "void") + _PLANS, encoding="utf-8")
    rooms = [(width, height - BAR) for width, height in ROOMS]
    done = subprocess.run(
        [node, str(script)],
        input=json.dumps({"states": [_state(form) for form in forms], "rooms": rooms}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return [
        Planned(form, dict(zip(ROOMS, of_form, strict=True)))
        for form, of_form in zip(forms, told, strict=True)
    ]


def _level(kind: str) -> int:
    return next(level for level, kinds in enumerate(SHOWN) if kind in kinds)


def test_small_products_show_every_number_in_a_low_window(plans: list[Planned]) -> None:
    small = [planned for planned in plans if _is_small(planned.form)]
    assert len(small) > 30
    for form, rooms in small:
        for name in "ABD":
            assert _level(rooms[LOW][name]) == 2, (form.mnemonic, name)


def test_d_shows_its_numbers_wherever_they_have_room(plans: list[Planned]) -> None:
    """Room for the smallest digits in D, with a fifth of the width for A; on a phone D has all of it."""
    seen = 0
    for form, rooms in plans:
        for room, wide in ((USUAL, 0.78 * (USUAL[0] - 428 - 84)), (PHONE, PHONE[0] - 38)):
            products = form.mma_count
            needed = products * form.n * (rooms[room]["letters"] * 11 * 0.602 + 4) + 8 * products
            if needed <= wide and products * form.m <= 32:
                seen += 1
                assert rooms[room]["D"] == "whole", (form.mnemonic, room)
    assert seen > 60


def test_a_phone_shows_numbers_of_a_row_of_a_and_of_a_column_of_b(plans: list[Planned]) -> None:
    for form, rooms in plans:
        assert rooms[PHONE]["A"] == rooms[PHONE]["B"] == "whole", form.mnemonic
        assert rooms[PHONE]["form"] == "tab"


def test_rows_of_numbers_are_high_enough(plans: list[Planned]) -> None:
    for form, rooms in plans:
        for room, plan in rooms.items():
            if plan["D"] != "none" and form.m <= 16:
                assert plan["whole"]["rowA"] >= (24 if room == PHONE else 16), (form.mnemonic, room)


def test_more_room_never_shows_less(plans: list[Planned]) -> None:
    """Only D, which comes first, may gain its numbers where A still has them."""
    for form, rooms in plans:
        for narrow, wide in pairwise(WIDTHS):
            before, after = ([_level(rooms[room][name]) for name in "DAB"] for room in (narrow, wide))
            assert after >= before, (form.mnemonic, narrow, wide)


def test_registers_stand_beside_the_scene(plans: list[Planned]) -> None:
    """With their bits in a wide one; below where that shows numbers which else had no room."""
    for form, rooms in plans:
        assert all(width >= 1000 for (width, _), plan in rooms.items() if plan["form"] == "bits")
        if _is_small(form) and form.mma_count == 1 and form.n <= 8:
            assert rooms[USUAL]["form"] in ("bits", "values"), form.mnemonic
