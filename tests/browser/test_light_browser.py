"""What lights up: the bits of a cell, headings, changes, contributing lanes; and the box that takes names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ptxlab
from tools.jupyter import Shown

pytestmark = pytest.mark.browser

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
LARGE = "wgmma.mma_async.sync.aligned.m64n256k16.f16.f16.f16"
LIT_FIELDS = """nodes => nodes.map((node) => {
  const block = node.closest(".ptx-block").dataset.operand;
  return `${block} ${node.closest(".ptx-register").querySelector(".ptx-hex").dataset.lane} ${node.title}`;
})"""
#: The pixels of the canvas with the marks around a point of a pane's frame.
DARK_AT = """([pane, x, y]) => {
  const canvas = document.querySelectorAll(`.ptx-explorer [data-pane=${pane}] canvas`)[1];
  const ratio = canvas.width / canvas.getBoundingClientRect().width;
  const context = canvas.getContext("2d");
  const { data } = context.getImageData((x - 3) * ratio, (y - 3) * ratio, 6 * ratio, 6 * ratio);
  return data.some((value, index) => index % 4 === 3 && value === 255);
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("light")


class Light(Shown):
    """A saved page of the Explorer, and what is lit on it."""

    def lit(self) -> list[str]:
        return list(self.root.locator(".ptx-field.lit").evaluate_all(LIT_FIELDS))

    def heading(self, pane: str, *, row: int | None = None, column: int | None = None) -> bool:
        """Whether the heading of a row or a column is lit."""
        cell = self.rect(pane, row or 0, column or 0)
        frame = self.root.locator(f"[data-pane={pane}] .ptx-frame").bounding_box()
        assert frame is not None
        at = (18, cell["y"] - frame["y"] + min(cell["height"], 12) / 2)
        if row is None:
            at = (cell["x"] - frame["x"] + min(cell["width"], 40) / 2, 8)
        return bool(self.page.evaluate(DARK_AT, [pane, *at]))


def saved(page: Any, folder: Path, name: str, lanes: list[int] | None = None) -> Light:
    explorer = ptxlab.explore(name)
    explorer.lanes = lanes or [0]
    page.goto(explorer.save_html(folder / "page.html").as_uri())
    return Light(page)


def lane_title(page: Any) -> str:
    return str(page.locator(".ptx-lane-title b").inner_text())


@pytest.mark.parametrize("size", [(1280, 1400), (1180, 640)])
def test_pointing_at_a_cell_lights_its_bits(page: Any, folder: Path, size: tuple[int, int]) -> None:
    """In full and in cards; of each lane that is shown; and nothing where the lane is not."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    screen = saved(page, folder, SPARSE, [6])
    assert page.locator(".ptx-cards").count() == (1 if size[1] < 1000 else 0)
    ins = ptxlab.instruction(SPARSE)
    place, row, column = list(ins.a.holds(6, 1))[2]
    screen.hover("stored", row, column)
    assert screen.lit() == [f"A 6 a{place.element} is compressed A[{row}][{column}]"]
    place, row, column = next(iter(ins.d.holds(6, 3)))
    screen.hover("D", row, column)
    assert screen.lit() == [f"D 6 d{place.element} is D[{row}][{column}]"]
    other = next(column for column in range(8) if ins.d.where(row, column)[0].lane != 6)
    screen.hover("D", row, other)
    assert screen.lit() == []
    page.locator("[data-element=d1]").first.hover()  # and back: bits light their cell
    assert screen.status.inner_text().startswith("D[")
    assert len(screen.lit()) == 1
    page.mouse.move(2, 2)
    assert screen.lit() == []


def test_bits_of_several_lanes(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 1400})
    screen = saved(page, folder, SPARSE, [0, 4, 5])
    ins = ptxlab.instruction(SPARSE)
    place, row, column = next(iter(ins.d.holds(5, 0)))
    screen.hover("D", row, column)
    assert screen.lit() == [f"D 5 d{place.element} is D[{row}][{column}]"]
    copies = {place.lane for place in ins.operands["E"].where(1, 2)} & {0, 4, 5}
    screen.hover("E", 1, 2)
    assert {int(text.split()[1]) for text in screen.lit()} == copies != set()


def test_registers_follow_the_selection(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    screen = saved(page, folder, LARGE)
    (place,) = ptxlab.instruction(LARGE).d.where(40, 200)
    assert place.register == 51
    pane = page.locator("[data-pane=D] .ptx-scroller")
    pane.evaluate("node => { node.scrollTop = node.scrollHeight; }")
    screen.click("D", 40, 200)
    page.wait_for_function(
        "lane => document.querySelector('.ptx-lane-title b').innerText === lane", arg=f"Lane {place.lane}"
    )
    here = page.locator(".ptx-field.here")
    assert here.count() == 1
    assert here.get_attribute("title") == f"d{place.element} is D[40][200]"
    hexes = page.locator("[data-operand=D] .ptx-hex").evaluate_all(
        "nodes => nodes.map((node) => Number(node.dataset.register))"
    )
    assert place.register in hexes

    # whoever turns the page stays there, until another cell is selected
    page.get_by_label("later registers of D").click()
    assert page.locator(".ptx-field.here").count() == 0
    page.mouse.move(2, 2)
    assert page.locator(".ptx-field.here").count() == 0
    page.locator("[data-pane=D] .ptx-cell").focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(".ptx-field.here")


def test_headings_of_the_pointed_row_and_column(page: Any, folder: Path) -> None:
    page.set_viewport_size({"width": 1280, "height": 1400})
    screen = saved(page, folder, F16)
    assert not screen.heading("D", row=9)
    screen.hover("D", 9, 3)
    assert screen.heading("D", row=9) and screen.heading("D", column=3)
    assert not screen.heading("D", row=8) and not screen.heading("D", column=4)
    assert screen.heading("A", row=9) and not screen.heading("A", column=3)  # its factors
    assert screen.heading("B", column=3) and not screen.heading("B", row=9)
    screen.hover("A", 2, 15)
    assert screen.heading("A", row=2) and screen.heading("A", column=15)
    assert not screen.heading("D", row=9) and not screen.heading("B", column=3)
    page.mouse.move(2, 2)
    assert not screen.heading("A", row=2)
