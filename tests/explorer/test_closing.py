"""What an Explorer opens, it closes: widgets in ipywidgets' registry, and comms to the page."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

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
    mine = {widget.model_id for ex in explorers for widget in (ex, ex.page, ex.layout, ex.page.layout)}
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
