"""Lanes side by side and their registers, scale factors at their blocks, four products, shared memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import ptxlab
from ptxlab import views
from ptxlab.memory import Tile
from tests.browser.gestures import enter, press, starting, type_line
from tools.bare_page import BareBook, BarePage
from tools.jupyter import PANES, Shown

pytestmark = pytest.mark.browser

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
        self.page.wait_for_timeout(200)

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


@pytest.fixture(scope="module")
def book(bare: BarePage, page: Any) -> BareBook:
    opened = bare.open(page, "lanes", [CODE, "pass"])
    opened.run(0)
    return opened


@pytest.fixture
def screen(book: BareBook, page: Any) -> Lanes:
    return Lanes(page, book)


def test_pinned_by_mouse_and_keyboard(screen: Lanes, page: Any) -> None:
    screen.start(F16)
    screen.lane(5).click()
    screen.lane(9).click(modifiers=["Control"])
    screen.columns(5, 9)
    assert screen.python("print(ex.lane, ex.lanes)") == "5 [5, 9]"
    for lane in (5, 9):
        assert screen.hex("A", 2, lane).input_value() == screen.python(
            f"print('0x%08x' % ex.registers['A'][{lane}, 2])"
        )

    # the keyboard: Space pins the lane in focus, an arrow leads on
    screen.lane(5).focus()
    press(page, " ", "ArrowRight")
    screen.columns(6, 9, 5)
    assert (
        screen.lane(9).get_attribute("aria-label") == "lane 9, pinned"
        and screen.lane(6).get_attribute("aria-label") == "lane 6"
    )
    page.wait_for_function("() => document.activeElement.dataset.lane === '6'")

    # a cell chooses its lane; the pinned stay; a heading chooses its lane
    page.mouse.click(*screen.middle("D", 0, 0))
    screen.columns(0, 9, 5)
    page.locator(".ptx-side-lane", has_text="lane 9").first.click()
    screen.columns(9, 5)
    page.get_by_role("button", name="unpin lane 5").click()
    page.wait_for_function("() => !document.querySelector('.ptx-side')")
    assert page.locator(".ptx-lane-title b").inner_text() == "Lane 9"
    page.get_by_role("button", name="unpin lane 9").click()
    expect(page.locator(".ptx-pin").first).to_have_text("pin")
    assert screen.python("print(ex.lanes, ex.view.pinned)") == "[9] []"


def test_edits_in_a_pinned_lane(screen: Lanes, page: Any) -> None:
    screen.start(F16)
    screen.python("ex.A = np.zeros((16, 16)); ex.lanes = [0, 5, 9]")
    screen.columns(0, 5, 9)
    ins = ptxlab.instruction(F16)
    box = screen.hex("A", 0, 9)
    enter(box, "0x40003c00")  # a1 = 2, a0 = 1
    screen.holds("A", 0, 9, "0x40003c00")
    (_, row, column), (_, _, after) = ins.a.holds(9, 0)
    assert (
        screen.python(f"print(ex.A[{row}, {column}], ex.A[{row}, {after}], ex.D[{row}, 0], ex.A.sum())")
        == "1.0 2.0 3.0 3.0"
    )
    screen.holds("A", 0, 5, "0x00000000")

    # an element, and a bit, of a lane that is not the chosen one
    value = page.get_by_label(f"a1, A row {row} column {after}, lane 9")
    enter(value, "-0.5")
    screen.holds("A", 0, 9, "0xb8003c00")
    page.locator("[data-operand=A] .ptx-register").nth(2).locator("[data-bit='15']").click()
    screen.holds("A", 0, 9, "0xb800bc00")
    assert screen.python("print(ex.lane, ex.A.sum())") == "0 -1.5"

    # a refusal names the lane; pointing at a field finds its cell
    enter(box, "0xyz")
    expect(page.locator(".ptx-problem").first).to_have_text(starting("A, lane 9, register 0: "))
    # what was typed stays in the field, with the sentence beside it, until Escape discards it
    assert (box.input_value(), box.get_attribute("aria-invalid")) == ("0xyz", "true")
    at, sentence = box.bounding_box(), page.locator(".ptx-problem-box").bounding_box()
    assert 0 <= sentence["x"] - at["x"] - at["width"] < 12
    assert sentence["y"] <= at["y"] + 1 and sentence["y"] + sentence["height"] > at["y"]
    assert screen.python("print(hex(ex.registers['A'][9, 0]))") == "0xb800bc00"
    box.press("Escape")
    expect(page.locator(".ptx-problem").first).to_have_text("")
    screen.holds("A", 0, 9, "0xb800bc00")
    assert box.get_attribute("aria-invalid") is None
    page.locator("[data-operand=B] .ptx-register").nth(1).locator("[data-element=b0]").hover()
    (_, row, column), *_ = ins.b.holds(5, 0)
    screen.says(f"B[{row}][{column}] = 1 · lane 5 ")
    screen.python("ex.lanes = [0]")


def test_typing_outlives_another_lane(screen: Lanes, page: Any) -> None:
    """What is typed into a register goes to the lane that it was typed for."""
    screen.start(F16)
    screen.python("ex.A = np.zeros((16, 16)); ex.lanes = [4]")
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Lane 4")
    box = page.locator(".ptx-hex[data-operand=A][data-register='1']")
    box.fill("0x12345678")
    screen.python("ex.lane = 8")
    expect(page.locator(".ptx-lane-title b").first).to_have_text("Lane 8")
    box.press("Enter")
    page.wait_for_timeout(300)
    assert screen.python('print([hex(r) for r in ex.registers["A"][[4, 8], 1]])') == "['0x12345678', '0x0']"


def test_scale_factors_at_their_blocks(screen: Lanes, page: Any) -> None:
    screen.start(SCALED)
    ins = ptxlab.instruction(SCALED)
    facts = screen.point("SFA", 3, 2)
    (place,) = [location for location in ins.operands["SFA"].where(3, 2) if location.lane == 12]
    assert facts[:4] == [
        "SFA[3][2] = 1",
        "lane 12",
        "element sfa2",
        f"register 0, bits {place.high}..{place.low}, byte 2",
    ]
    assert facts[5:] == ["scales A[3][32..47]", "one of 2 copies, read with byte-id 0, thread-id 0"]
    assert [screen.lit("A", 3, k) for k in (31, 32, 47, 48)] == [False, True, True, False] and not screen.lit(
        "A", 4, 40
    )
    first, factor, before = screen.rect("A", 3, 32), screen.rect("SFA", 3, 2), screen.rect("A", 3, 31)
    # It stands before its block.
    assert before["x"] + before["width"] <= factor["x"] < factor["x"] + factor["width"] <= first["x"] + 1

    facts = screen.point("B", 20, 5)
    assert facts[-1] == "scaled by SFB[1][5] = 1"
    assert (
        [screen.lit("B", k, 5) for k in (15, 16, 31)] == [False, True, True]
        and screen.lit("SFB", 1, 5)
        and not screen.lit("SFB", 0, 5)
    )
    factor, above = screen.rect("SFB", 1, 5), screen.rect("B", 15, 5)
    assert (
        above["y"] + above["height"] <= factor["y"]
        and factor["y"] + factor["height"] <= screen.rect("B", 16, 5)["y"]
    )

    screen.point("D", 9, 3)
    assert (
        screen.lit("SFA", 9, 0)
        and screen.lit("SFA", 9, 3)
        and screen.lit("SFB", 0, 3)
        and not screen.lit("SFA", 8, 0)
    )

    # a factor is a cell like any other
    was = float(screen.python("ex.A = np.ones((16, 64)); ex.B = np.ones((64, 8)); print(ex.D[3, 0])"))
    screen.type("SFA", 3, 2, "4")
    screen.reads("SFA", 3, 2, 4)
    assert float(screen.python("print(ex.D[3, 0])")) == was + 3 * 16

    # and part of each step of the dot product
    page.mouse.click(*screen.middle("D", 3, 0))
    page.wait_for_selector(".ptx-timeline-text:text('D[3][0] = 112 from C')")  # Python has sent its steps
    page.get_by_label("timeline", exact=True).focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert (
        page.locator(".ptx-timeline-text").inner_text()
        == "products of k 32..47, times SFA[3][2] · SFB[2][0] (4 · 1) = 64, sum so far 96"
    )


def test_four_products(screen: Lanes, page: Any) -> None:
    screen.start(QUAD)
    assert screen.point("D", 17, 3)[-1] == "quad pair 2, lanes 8..11, 24..27"
    assert [screen.lit("B", 0, column) for column in (3, 11, 19, 27)] == [False, False, True, False]
    assert [screen.lit("A", row, 0) for row in (1, 9, 17, 25)] == [False, False, True, False]
    for row in (1, 9, 17, 25):  # where its row of A and its column of B meet
        cell, a, b = screen.rect("D", row, 3), screen.rect("A", row, 0), screen.rect("B", 0, row // 8 * 8 + 3)
        assert (
            abs(cell["x"] - b["x"]) < 1
            and abs(cell["width"] - b["width"]) < 1
            and abs(cell["y"] - a["y"]) < 1
        )
    screen.python("ex.A = np.zeros((32, 4)); ex.B = np.tile(np.arange(32), (4, 1))")
    screen.type("A", 17, 2, "1")
    screen.reads("D", 17, 3, 19)
    page.mouse.click(*screen.middle("D", 25, 1))
    page.mouse.move(5, 5)
    page.keyboard.press("Shift+Space")
    screen.says("row 25 of D is held by lanes 13, 15")
    assert page.evaluate(
        "() => { const root = document.querySelector('.ptx-explorer');"
        " return root.scrollWidth <= root.clientWidth; }"
    )


def test_places_in_shared_memory(screen: Lanes, page: Any) -> None:
    screen.start(WGMMA)
    ins = ptxlab.instruction(WGMMA)
    for transposed in (0, 1):
        screen.python(f"ex.apply(SetOption('imm_trans_b', {transposed}))")
        for row, column in ((0, 0), (3, 9), (15, 63)):
            (place,) = views.where(ins, "B", row, column, transposed=bool(transposed)).records()
            byte = place["byte offset"]
            core = f"core matrix {place['core matrix']}, row {place['row in it']}"
            expected = f"in shared memory, byte {byte} (0x{byte:03x}) · {core}"
            screen.point("B", row, column)
            screen.says(
                f"B[{row}][{column}] = 1 · {expected} · {'MN' if transposed else 'K'}-major, no swizzle"
            )

    # who holds a row: lanes of a warp among four
    _, y = screen.middle("D", 37, 0)
    page.mouse.move(page.locator("[data-pane=D] .ptx-scroller").bounding_box()["x"] - 10, y)
    lanes = sorted({place.lane for column in range(64) for place in ins.d.where(37, column)})
    assert len(lanes) == 4
    screen.says(f"row 37 of D is held by threads {lanes[0]}..{lanes[-1]}")
    assert page.locator(".ptx-warp.holds").all_inner_texts() == ["warp 2"]


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


SIZE = 2048  # bytes of A of m16n8k16 with a pitch of 128


def test_memory_is_pointed_at_edited_and_played(screen: Lanes, page: Any) -> None:
    screen.start(F16)
    screen.python("ex.A = np.arange(256).reshape(16, 16)")
    page.get_by_role("button", name="A in shared memory").click()
    shows(page, ".ptx-memory-summary", "32 wavefronts where 4 would do: take pitch 144 or swizzle 128")

    # from a cell to its byte, and from a byte to its cell
    facts = screen.point("A", 9, 5)
    assert "byte 0x48a, bank 2 of shared memory" in facts and "wavefront 10 of 32" in facts
    tile = Tile(bits=16, rows=16, k=64, swizzle=128)
    page.locator(".ptx-memory select[data-option=swizzle]").select_option(label="128 bytes")
    shows(page, ".ptx-memory-summary", "4 wavefronts, no conflicts")
    address = int(tile.offset(9, 5))
    page.mouse.move(*byte_at(page, address))
    screen.says("A[9][5] = 149 · lane 6 ")
    assert f"byte 0x{address:03x}, bank {address % 128 // 4} of shared memory" in screen.status.text_content()
    page.mouse.move(*byte_at(page, 1 << 7 | 64))
    shows(page, ".ptx-tooltip b", "byte 0x0c0, bank 16")

    # a word is changed like a cell, and undone
    page.mouse.click(*byte_at(page, address))
    type_line(page, "0x40003c00")
    screen.reads("A", 9, 5, 2)
    screen.reads("A", 9, 4, 1)
    page.keyboard.press("Control+z")
    screen.reads("A", 9, 5, 149)

    # wavefront by wavefront, to the registers, to the mma
    page.get_by_label("timeline", exact=True).focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    shows(
        page,
        ".ptx-timeline-text",
        "wavefront 2 of 4: rows 0..7 of matrix 1, whose addresses lanes 8..15 supply; banks 0..31",
    )
    page.mouse.move(5, 5)
    assert [screen.shade("A", row, 3) for row in (7, 8, 15)] == ["dimmed", "", ""]
    assert page.locator(".ptx-lane.holds").count() == 32
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    shows(page, ".ptx-timeline-text", f"{F16} reads A from the registers of every lane: D = A·B + C")
    page.keyboard.press("Escape")

    # what Python refuses is said beside the field; the button closes the view
    page.locator(".ptx-memory [data-option=pitch]").fill("40")
    page.keyboard.press("Enter")
    shows(page, ".ptx-problem", "multiples of 16 bytes apart, from 32 to 1024")
    page.get_by_role("button", name="close the memory view").click()
    page.wait_for_selector(".ptx-memory", state="hidden")
    assert screen.python("print(ex.view.memory)") == "{}"


def test_memory_of_wgmma_by_keyboard(screen: Lanes, page: Any) -> None:
    screen.start(WGMMA)
    page.locator("[data-matrix=B]").focus()
    page.keyboard.press("Alt+m")
    shows(page, ".ptx-memory-summary", "16 core matrices of 128 bytes")
    page.locator(".ptx-memory select[data-option=major]").select_option(label="N-major")
    page.locator(".ptx-memory select[data-option=swizzle]").select_option(label="128 bytes")
    shows(page, ".ptx-memory-text", "Swizzle<3,4,3>")
    word = page.get_by_test_id("word")
    word.focus()
    press(page, "ArrowDown", "ArrowRight")
    offset = Tile.of(ptxlab.instruction(WGMMA).b, 128, transposed=True).offsets.T
    row, column = next(zip(*np.nonzero(offset == 132), strict=True))
    page.wait_for_function(
        "words => words.every((each) => document.querySelector('.ptx-memory-word').ariaLabel.includes(each))",
        arg=["byte 0x084, bank 1 · 0x3c003c00", f"B[{row}][{column}] = 1 "],
    )
    type_line(page, "0x40000000")
    screen.reads("B", int(row), int(column), 0)
    page.keyboard.press("Alt+m")  # and the focus is back on the cells
    page.wait_for_selector(".ptx-memory", state="hidden")
    assert page.evaluate("document.activeElement.dataset.matrix") == "B"
    screen.python("ex.apply(SetOption('imm_trans_b', 0))")


def word_at(page: Any, lane: int, column: int) -> tuple[float, float]:
    """The middle of a word of tensor memory."""
    box = page.evaluate(
        "([lane, column]) => document.querySelector('.ptx-explorer').wordRect(lane, column)", [lane, column]
    )
    return box["x"] + box["width"] / 4, box["y"] + box["height"] / 2


def test_tensor_memory_is_pointed_at_edited_and_loaded(screen: Lanes, page: Any) -> None:
    screen.python(
        f"ex.instruction = ptxlab.instruction({TENSOR!r}, m=64, n=32).a_from('tensor')\n"
        "ex.A, ex.B = np.arange(1024).reshape(64, 16) % 9, np.eye(16, 32)"
    )
    shows(page, ".ptx-tensor .ptx-memory-summary", "layout F: D in 16 of every 32 lanes, 32 columns")

    # from a cell to its word, and from a word to its cell; what no matrix uses is free
    assert "tensor memory: lane 33, column 5, bits 31..0" in screen.point("D", 17, 5)
    page.mouse.move(*word_at(page, 35, 38))
    screen.says(f"A[19][13] = {(19 * 16 + 13) % 9} · tensor memory: lane 35, column 38, bits 31..16")
    page.mouse.move(*word_at(page, 20, 3))
    shows(page, ".ptx-tooltip span", "free: layout F does not use this lane for D")

    # a word of A is changed like a cell, that of D is not
    page.mouse.click(*word_at(page, 35, 38))
    type_line(page, "0x44004200")
    screen.reads("A", 19, 12, 3)
    screen.reads("D", 19, 13, 4)
    page.keyboard.press("Control+z")
    screen.reads("A", 19, 12, (19 * 16 + 12) % 9)

    # the registers of a thread: of the word that was chosen, and by another load
    shows(page, ".ptx-thread-mnemonic", "tcgen05.ld.sync.aligned.32x32b.x32.b32")
    page.mouse.click(*word_at(page, 35, 7))
    expect(page.locator(".ptx-thread .ptx-number").first).to_have_value("35")
    page.locator(".ptx-thread [data-option=shape]").select_option("16x256b")
    shows(page, ".ptx-thread-mnemonic", "tcgen05.ld.sync.aligned.16x256b.x4.b32")
    number = page.get_by_test_id("thread-number")
    enter(number, "38")
    shows(page, "[data-register='2'] .ptx-thread-cell", "D[25][4]")  # row 8 below that of register 0
    loaded = 'ptxlab.instruction(ex.view.load["mnemonic"]).emulate(ex.registers["D"])[38, 2]'
    shows(page, "[data-register='2'] .ptx-thread-hex", f"0x{int(screen.python(f'print({loaded})')):08x}")

    # a field of the descriptor: what is wrong stays where it was typed; what is right changes the form
    field = page.get_by_label("n of the descriptor")
    enter(field, "100")
    shows(page, ".ptx-problem", "n=100: the descriptor takes multiples of 8 up to 256")
    assert field.input_value() == "100"
    field.press("Escape")
    enter(field, "16")
    expect(page.locator(".ptx-shape").first).to_have_text(starting("m64n16k16"))
    page.get_by_test_id("instruction-descriptor").locator("[data-bit='13']").click()  # negates A
    screen.reads("D", 1, 1, -(17 % 9))
    press(page, "Control+z", "Control+z")
    expect(page.locator(".ptx-shape").first).to_have_text(starting("m64n32k16"))

    # so does one of the matrix descriptor, by which B is read from shared memory
    page.locator("[data-memory=B]").click()
    field = page.get_by_label("stride of the matrix descriptor")
    enter(field, "128")
    shows(page, ".ptx-problem", "B[0][8] and B[8][0] would both be read from byte 0x80")
    assert field.input_value() == "128"
    field.press("Escape")
    page.get_by_test_id("matrix-descriptor").locator("[data-bit='6']").click()  # 0x400 further
    page.wait_for_function(
        "() => document.querySelector('.ptx-memory-word').ariaLabel.startsWith('byte 0x400')"
    )
    page.locator("[data-memory=B]").click()
    page.wait_for_selector(".ptx-memory", state="hidden")

    # zoomed in it shows numbers and scrolls; it closes and opens
    page.get_by_role("button", name="larger words").click()
    page.keyboard.press("Alt+t")
    page.wait_for_selector(".ptx-tensor", state="hidden")
    page.locator("[data-tensor=D]").click()
    page.wait_for_selector(".ptx-tensor", state="visible")


def test_words_that_are_moved_lead_to_each_other(screen: Lanes, page: Any) -> None:
    """tcgen05.st by mouse, keyboard and lists: from a register to its word, and back."""
    name = "tcgen05.st.sync.aligned.16x64b.x2.b32"
    screen.python(f"ex.instruction = {name!r}")
    shows(page, ".ptx-mnemonic", name)
    lane, column = ptxlab.instruction(name).locate(thread=37, register=1)
    page.mouse.move(*word_at(page, 37, 1))  # registers are on the left, tensor memory is on the right
    screen.says(f"r1 of thread 37 = 0x00250001 · goes to T[{lane}][{column}]")
    page.mouse.click(*word_at(page, 37, 1))
    type_line(page, "0xcafe")
    page.mouse.move(*word_at(page, 128 + lane, column))
    screen.says(
        f"T[{lane}][{column}] = 0x0000cafe · lane {lane}, column {column} · comes from r1 of thread 37"
    )
    shows(page, "[data-register='1'] .ptx-thread-cell", f"→ T[{lane}][{column}]")
    page.mouse.click(*word_at(page, 5, 1))
    page.mouse.move(2, 2)
    page.keyboard.press("ArrowRight")  # past the edge
    screen.says("T[5][0] = 0x00140000 · lane 5, column 0 · comes from r0 of thread 20")
    number = page.get_by_test_id("thread-number")
    enter(number, "37")
    shows(page, "[data-register='1'] .ptx-thread-hex", "0x0000cafe")
    page.get_by_role("button", name="Undo (Ctrl+Z)").click()
    shows(page, "[data-register='1'] .ptx-thread-hex", "0x00250001")

    page.locator("[data-transfer=shape]").select_option("16x256b")
    shows(page, ".ptx-mnemonic", "tcgen05.st.sync.aligned.16x256b.x2.b32")
    field = page.locator("[data-transfer=column]")
    enter(field, "20")
    shows(page, ".ptx-problem", "it begins in column 0 to 16")
    page.keyboard.press("Escape")
    screen.python("ex.undo(); ex.undo()")  # back to what multiplied
    page.wait_for_selector("[data-pane=D]", state="visible")


def test_elements_of_ldmatrix_are_typed_and_followed(screen: Lanes, page: Any) -> None:
    """Rows of shared memory are on the left, the registers of a warp on the right; a change leads to both."""
    name = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
    screen.python(f"ex.instruction = {name!r}")
    shows(page, ".ptx-mnemonic", name)
    # both grids share what the registers leave of the width, and the second has room for its headings
    (last, _), (first, _) = word_at(page, 0, 7), word_at(page, 128, 0)
    wide = last - word_at(page, 0, 6)[0]
    box = page.locator(".ptx-tensor .ptx-scroller").bounding_box()
    assert wide >= min(63, box["width"] / 18) and first - last - wide > 36
    page.mouse.click(*word_at(page, 9, 3))
    type_line(page, "beef")
    page.mouse.move(*word_at(page, 128 + 5, 3))
    screen.says("r1[31:16] of lane 5 = 0xbeef · comes from S[9][3]")
    page.mouse.move(*word_at(page, 9, 3))
    screen.says(
        "S[9][3] = 0xbeef · row 9, element 3 · byte 150 (0x096) · lane 9 supplies the address of its row · "
        "goes to r1[31:16] of lane 5"
    )
    enter(page.get_by_test_id("thread-number"), "5")
    shows(page, "[data-register='1'] .ptx-thread-hex", "0xbeef0902")
    page.locator("[data-transfer=stride]").select_option("128")
    shows(page, ".ptx-tensor .ptx-memory-summary", "32 wavefronts")
    page.locator("[data-transfer=trans]").select_option("trans")
    shows(page, ".ptx-mnemonic", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16")
    screen.python("[ex.undo() for _ in range(4)]")
    page.wait_for_selector("[data-pane=D]", state="visible")


def test_places_of_sparse_elements(screen: Lanes, page: Any) -> None:
    screen.start(SPARSE)
    screen.python("A = np.zeros((16, 64)); A[3, [10, 11, 14, 15]] = 1, 2, 3, 4; ex.A = A")
    ins = ptxlab.instruction(SPARSE)
    (nibble,) = [place for copy, place in enumerate(ins.operands["E"].where(3, 1)) if copy == 0]
    where = f"lane {nibble.lane}, register {nibble.register}, bits {nibble.high}..{nibble.low}"
    assert screen.point("A", 3, 14)[-1] == f"nibble 0b1101 in {where}"
    assert screen.point("A", 3, 9)[1:] == [
        "not stored: nibble 0b1101 keeps other columns of chunk 1",
        f"the nibble is in {where}",
    ]
    facts = screen.point("E", 3, 1)
    assert (
        facts[1:4]
        == [
            "keeps columns 10, 11, 14, 15 of chunk 1",
            "11|01: pairs 3 and 1 of chunk 1, columns 14, 15 and 10, 11",
            f"lane {nibble.lane}",
        ]
        and facts[-1] == "one of 2 copies, read with selector 0"
    )
    _, y = screen.middle("stored", 3, 0)
    page.mouse.move(page.locator("[data-pane=stored] .ptx-scroller").bounding_box()["x"] - 10, y)
    lanes = sorted({place.lane for column in range(32) for place in ins.a.where(3, column)})
    screen.says(f"row 3 of compressed A is held by lanes {lanes[0]}..{lanes[-1]}")


def test_masks_and_questions_of_tensor_memory(screen: Lanes, page: Any) -> None:
    screen.python(f"ex.instruction = ptxlab.instruction({TENSOR!r}, m=64, n=32)\nex.C = np.full((64, 32), 7)")
    mask = page.locator("[data-option=disable_output_lane]")
    enter(mask, "0..15")
    screen.reads("D", 3, 5, 7)
    assert "disable-output-lane: it keeps what D held before" in screen.point("D", 3, 5)
    enter(mask, "0..128")
    shows(page, ".ptx-problem", "type lanes from 0 to 127")
    assert mask.input_value() == "0..15"

    # a question hides tensor memory, and its verdict is seen there
    screen.python('ex.quiz(["word D[20][3]"])')
    page.wait_for_selector(".ptx-tensor", state="hidden")
    answer = page.locator(".ptx-quiz-answer")
    assert answer.get_attribute("placeholder") == "lane … column …"
    enter(answer, "lane 36, column 3")
    shows(page, ".ptx-quiz-result", "Right. D[20][3] is in lane 36, column 3")
    page.wait_for_selector(".ptx-tensor", state="visible")


def test_a_saved_page_pins_too(page: Any, tmp_path: Path) -> None:
    ex = ptxlab.explore(F16)
    ex.show_memory("A", swizzle=128)
    ex.lanes = [3, 7]
    page.goto(ex.save_html(tmp_path / "lanes.html").as_uri())
    screen = Lanes(page)
    screen.columns(3, 7)
    screen.lane(20).click(modifiers=["Control"])
    screen.columns(3, 7, 20)
    for lane in (3, 7, 20):
        screen.holds("B", 1, lane, f"0x{ex.registers['B'][lane, 1]:08x}")

    # memory in the layout it was saved in: to point at and to play, not to lay out anew
    page.mouse.move(*byte_at(page, int(Tile(16, 16, 64, swizzle=128).offset(9, 5))))
    screen.says("A[9][5] = ")
    assert page.locator(".ptx-memory [data-option=pitch]").is_disabled()
    page.get_by_role("button", name="play the instruction").click()
    shows(page, ".ptx-timeline-text", "wavefront 1 of 4")
    page.locator("[data-memory=B]").click()
    shows(page, ".ptx-memory-bar b", "B in shared memory")
