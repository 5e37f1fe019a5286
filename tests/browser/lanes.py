"""The Explorer as tests of lanes and memory use it: pointing, registers of lanes, bytes and words."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.browser.gestures import at_rest, starting
from tools.bare_page import BareBook, BarePage
from tools.jupyter import PANES, Shown

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
QUAD = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
TENSOR = "tcgen05.mma.cta_group::1.kind::f16"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
CODE = f"""import numpy as np, ptxlab
from ptxlab.explorer.edits import SetOption
ex = ptxlab.explore({F16!r})
ex"""
LIT = """([pane, x, y]) => {
  const canvas = document.querySelectorAll(`.ptx-explorer [data-pane=${pane}] canvas`)[1];
  const box = canvas.getBoundingClientRect();
  const ratio = canvas.width / box.width;
  const [left, top] = [Math.round((x - box.left) * ratio), Math.round((y - box.top) * ratio)];
  const [red, , , opacity] = canvas.getContext("2d").getImageData(left, top, 1, 1).data;
  return opacity ? (red < 250 ? "lit" : "dimmed") : "";
}"""
#: Bytes of A of m16n8k16 with a pitch of 128.
SIZE = 2048


class Lanes(Shown):
    """The explorer, its lanes and their registers."""

    def __init__(self, page: Any, book: BareBook | None = None) -> None:
        super().__init__(page)
        self.book = book

    def python(self, code: str) -> str:
        assert self.book is not None
        return self.book.run(1, code)

    def start(self, mnemonic: str) -> None:
        self.python(f"ex.instruction = {mnemonic!r}; ex.lanes = [0]; ex.B = np.ones(ex.B.shape)")
        expect(self.page.locator(".ptx-mnemonic").first).to_have_text(mnemonic)
        at_rest(self.page)

    def point(self, name: str, row: int, column: int) -> list[str]:
        """Point at a cell; the facts that the Explorer gives of it."""
        return self.hover(name, row, column).split(" · ")

    def says(self, start: str) -> None:
        expect(self.status).to_have_text(starting(start))

    def shade(self, name: str, row: int, column: int) -> str:
        """What lies over a cell: "lit", "dimmed" or ""."""
        box = self.rect(name, row, column)
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        return str(self.page.evaluate(LIT, [PANES.get(name, name), *middle]))

    def lit(self, name: str, row: int, column: int) -> bool:
        """Whether a cell is shaded, as one that belongs to what is pointed at."""
        return self.shade(name, row, column) == "lit"

    def lane(self, lane: int) -> Any:
        return self.root.locator(f".ptx-lane[data-lane='{lane}']")

    def columns(self, *lanes: int) -> None:
        """Wait until the registers of these lanes stand side by side, in this order."""
        self.page.wait_for_function(
            "lanes => { const heads = [...document.querySelectorAll('.ptx-side:first-child .ptx-side-lane')];"
            " return heads.map((node) => node.textContent).join() === lanes; }",
            arg=",".join(f"lane {lane}" for lane in lanes),
        )

    def hex(self, operand: str, register: int, lane: int) -> Any:
        return self.root.locator(
            f".ptx-hex[data-operand={operand}][data-register='{register}'][data-lane='{lane}']"
        )

    def holds(self, operand: str, register: int, lane: int, text: str) -> None:
        expect(self.hex(operand, register, lane)).to_have_value(text)


def open_book(bare: BarePage, page: Any) -> BareBook:
    """The Explorer `ex` on a page of its own; cell 1 takes Python."""
    opened = bare.open(page, "lanes", [CODE, "pass"])
    opened.run(0)
    return opened


def start_screen(book: BareBook, page: Any) -> Lanes:
    """The page with a product, whatever the test before has left."""
    book.run(1, f"ex.instruction = {F16!r}")
    page.wait_for_selector("[data-pane=D]", state="visible")
    return Lanes(page, book)


def shows(page: Any, selector: str, text: str) -> None:
    page.wait_for_function(
        "([selector, text]) => document.querySelector(selector)?.textContent.includes(text)",
        arg=[selector, text],
    )


def byte_at(page: Any, address: int) -> tuple[float, float]:
    """The middle of a byte in the memory view."""
    area = page.locator(".ptx-memory .ptx-scroller").bounding_box()
    lines = page.locator(".ptx-memory .ptx-space").bounding_box()
    high = lines["height"] * 128 / SIZE
    return (
        area["x"] + lines["width"] * (address % 128 + 0.5) / 128,
        area["y"] + high * (address // 128 + 0.5),
    )


def word_at(page: Any, lane: int, column: int) -> tuple[float, float]:
    """The middle of a word of tensor memory."""
    box = page.evaluate(
        "([lane, column]) => document.querySelector('.ptx-explorer').wordRect(lane, column)", [lane, column]
    )
    return box["x"] + box["width"] / 4, box["y"] + box["height"] / 2
