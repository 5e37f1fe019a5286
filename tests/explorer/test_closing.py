"""What an Explorer opens, it closes: widgets in ipywidgets' registry, and comms to the page."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.explorer import edits
from tests.cases import refuses
from tests.sampling import EXHAUSTIVE

pytest.importorskip("anywidget")

import comm
import ipywidgets
from ipywidgets.widgets import widget as ipywidgets_widget

DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"

CHOOSE = {"type": "choose_instruction", "a_space": "register"}


def opened() -> tuple[int, int]:
    """How many widgets and comms are open."""
    return len(ipywidgets_widget._instances), len(comm.get_comm_manager().comms)


@pytest.fixture
def before() -> Iterator[tuple[int, int]]:
    """What is open before the test; the same afterwards."""
    count = opened()
    yield count
    assert opened() == count


def test_an_explorer_opens_four_widgets_and_closes_them(before: tuple[int, int]) -> None:
    ex = ptxlab.explore(DENSE)
    assert opened() == (before[0] + 4, before[1] + 4)  # the box, its view, and a layout of each
    ex.close()
    assert opened() == before
    ex.close()  # once more does no harm


@pytest.mark.slow
def test_many_cycles_leave_nothing(before: tuple[int, int]) -> None:
    for _ in range(200 if EXHAUSTIVE else 50):
        ex = ptxlab.explore(DENSE)
        ex.close()
    assert opened() == before


@pytest.mark.slow
def test_work_opens_nothing_more(before: tuple[int, int]) -> None:
    """Other instructions, the picker, exports, figures, pages and refusals."""
    ex = ptxlab.explore(DENSE)
    count = opened()
    for name in (SPARSE, DENSE):
        ex.instruction = name
        ex.page._handle_custom_msg({"type": "request_picker_index"}, [])
        ex.page._handle_custom_msg(CHOOSE | {"mnemonic": DENSE}, [])
        ex.page._handle_custom_msg({"type": "export", "format": "page"}, [])
        ex.page._handle_msg(
            {"content": {"data": {"method": "update", "state": {"layout": {"width": "1px"}}}}}
        )
        ex._handle_msg({"content": {"data": {"method": "update", "state": {"layout": {"width": "1px"}}}}})
        ex.page._handle_msg({"content": {"data": {"method": "request_state"}}})
        ex.selection = "D", 1, 2
        ex.undo()
        ex.figure()
        with pytest.raises(PtxlabError):
            ex.instruction = "tcgen05.wait::ld.sync.aligned"
    assert opened() == count
    ex.close()


def test_what_is_refused_leaves_nothing_open(before: tuple[int, int]) -> None:
    link = ptxlab.explore(DENSE)
    broken = link.link[:-20]
    link.close()
    for _ in range(20):
        for arguments in ((broken, {}), ("mma.m9", {}), (DENSE, {"A": [1]}), (DENSE, {"seed": 1.5})):
            with pytest.raises(PtxlabError):
                ptxlab.explore(arguments[0], **arguments[1])
    gc.collect()
    assert opened() == before


def test_a_link_whose_view_is_refused_leaves_nothing_open(
    before: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last thing that can be refused comes after everything was opened."""
    ex = ptxlab.explore(DENSE)
    ex.lane = 31
    link = ex.link
    ex.close()
    monkeypatch.setattr("ptxlab.explorer.session.SHAREABLE", ())
    refuses("this link sets 'lane' to 31", ptxlab.explore, link)


def test_the_memory_of_a_closed_explorer_is_freed(before: tuple[int, int]) -> None:
    ex = ptxlab.explore(DENSE)
    ex.observe(lambda change: None, "D")
    alive = [weakref.ref(ex), weakref.ref(ex.view), weakref.ref(ex.state)]
    ex.close()
    del ex
    gc.collect()
    assert [reference() for reference in alive] == [None, None, None]


def test_closing_all_widgets_closes_explorers(before: tuple[int, int]) -> None:
    explorers = [ptxlab.explore(DENSE) for _ in range(3)]
    mine = {each.model_id for ex in explorers for each in (ex, ex.page, ex.layout, ex.page.layout)}
    assert mine <= ipywidgets_widget._instances.keys()
    for ex in explorers:
        ex.page.close()  # what `Widget.close_all` does, in any order
        ex.close()


def test_a_layout_that_others_share_stays_open(before: tuple[int, int]) -> None:
    shared = ipywidgets.Layout(width="50%")
    ex = ptxlab.explore(DENSE)
    ex.layout = shared
    ex.close()
    assert shared.comm is not None
    shared.close()


def test_a_closed_explorer_still_computes(before: tuple[int, int]) -> None:
    """Code in the next cells goes on: only the page is gone."""
    ex = ptxlab.explore(DENSE, A=np.zeros((16, 64)), B=np.ones((64, 8)))
    ex.close()
    ex.A = np.ones((16, 64))
    ex.lane = 5
    ex.selection = "D", 1, 2
    ex.apply(edits.SetCell("C", 0, 0, "7"))
    ex.undo()
    assert int(ex.D[0, 0]) == 64 and ex.link.startswith("ptxlab:")
    ex.instruction = SPARSE
    assert opened() == before


# -- what is refused before it is stored ---------------------------------------------------------------------


def test_a_batch_is_no_state() -> None:
    ex = ptxlab.explore(DENSE)
    before = {name: ex.registers[name] for name in "ABC"}
    with pytest.raises(PtxlabError, match=r"A: found shape \(2, 32, 4\); the Explorer shows one instruction"):
        ex.registers["A"] = np.zeros((2, 32, 4), np.uint32)
    with pytest.raises(PtxlabError, match="one instruction"):
        ex.registers = {"B": before["B"], "A": np.zeros((1, 32, 4), np.uint32)}
    for name, registers in before.items():
        np.testing.assert_array_equal(ex.registers[name], registers)
    ex.A = np.zeros((16, 64))
    assert not ex.D.any()


@pytest.mark.parametrize("seed", [7, np.int64(7), np.uint8(7), np.array(7)])
def test_seeds_of_any_integer_type(seed: Any) -> None:
    ex = ptxlab.explore(DENSE, seed=seed)
    np.testing.assert_array_equal(ex.A, ptxlab.explore(DENSE, seed=7).A)
    np.testing.assert_array_equal(ptxlab.explore(ex.link).A, ex.A)


@pytest.mark.parametrize("seed", [1.5, "7", None, True, -1, [7], np.array([7]), 1 << 128, [10**400]])
def test_other_seeds_are_refused(seed: Any) -> None:
    refuses(r"^seed: found .*; it takes a whole number", ptxlab.explore, DENSE, seed=seed)


@pytest.mark.parametrize("kind", [int, np.int64, np.uint8, np.array])
def test_options_of_any_integer_type(kind: Any) -> None:
    ex = ptxlab.explore(SPARSE)
    ex.apply(edits.SetOption("selector", kind(1)))
    assert type(ex.state.options["selector"]) is int
    assert ptxlab.explore(ex.link).state.options == {"selector": 1}
    wgmma = ptxlab.explore("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")
    wgmma.apply(edits.SetOption("scale_d", kind(0)))
    assert wgmma.state.options["scale_d"] is False
    for wrong in (1.0, "1", None, [1], 7):
        with pytest.raises(PtxlabError, match="selector|SetOption"):
            ex.apply(edits.SetOption("selector", wrong))
    assert ex.state.options == {"selector": 1}


def test_lanes_and_selections_of_any_integer_type() -> None:
    ex = ptxlab.explore(DENSE)
    ex.lane = np.int16(5)
    ex.selection = "D", np.uint8(9), np.array(3)
    ex.lanes = np.array([1, 2])
    assert ex.lanes == [1, 2] and ex.selection == {"name": "D", "row": 9, "column": 3}
    ex.apply(edits.FlipBit("A", np.int64(4), np.int64(3), np.array(2)))


def test_explore_without_an_instruction_opens_a_good_first_one() -> None:
    """f16 with f32, small whole numbers in A and B, the same each time."""
    ex, again = ptxlab.explore(), ptxlab.explore()
    assert ex.instruction.mnemonic == "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    assert isinstance(ex.instruction, ptxlab.Instruction)
    for matrix in (ex.A, ex.B):
        assert matrix.any() and (matrix == np.rint(matrix)).all() and np.abs(matrix).max() < 10
    np.testing.assert_array_equal(ex.D, ex.A.astype(float) @ ex.B.astype(float))
    np.testing.assert_array_equal(ex.D, again.D)
    assert not (ptxlab.explore(seed=3).A == ex.A).all() and (ptxlab.explore(A=np.ones((16, 16))).A == 1).all()
    ex.close()
    again.close()


def test_several_edits_with_another_instruction_are_one_step_or_none() -> None:
    ex = ptxlab.explore(DENSE)
    ex.C = np.ones((16, 8))
    before, random_state = ex.D, ex.state.random.bit_generator.state
    with pytest.raises(PtxlabError):
        ex.apply(
            edits.ChooseInstruction(SPARSE), edits.FillMatrix("B", "random"), edits.SetCell("A", 99, 0, "1")
        )
    assert ex.instruction.mnemonic == DENSE and ex.state.random.bit_generator.state == random_state
    np.testing.assert_array_equal(ex.D, before)
    ex.undo()
    assert not ex.C.any()
    ex.apply(edits.ChooseInstruction(SPARSE), edits.FillMatrix("B", "ones"))
    assert ex.instruction.mnemonic == SPARSE and (ex.B == 1).all()
    ex.undo()  # both at once, back to the other instruction
    assert ex.instruction.mnemonic == DENSE
    np.testing.assert_array_equal(ex.D, ptxlab.explore(DENSE).D)
    ex.redo()
    assert ex.instruction.mnemonic == SPARSE and (ex.B == 1).all()
