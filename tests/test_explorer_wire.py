"""What travels to a page: whole once, then what changed; a page that puts it together has what Python has."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptxlab
from ptxlab.explorer.protocol import difference

pytest.importorskip("anywidget")
from ipywidgets.widgets.widget import _put_buffers, _remove_buffers

KINDS = {
    "dense": "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "sparse": "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "scaled": "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
    "f64": "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "quads": "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "wide": "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
    "wide sparse": "wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3",
}
LARGE = ("A", "stored", "B", "C", "D", "E", "SFA", "SFB", "held")


def patched(old: Any, change: dict[str, Any]) -> Any:
    """What front/delta.js does, byte by byte."""
    if "new" in change:
        return change["new"]
    if "parts" in change:
        return {**old, **{name: patched(old[name], part) for name, part in change["parts"].items()}}
    if isinstance(change["at"], list):
        return [
            change["to"][change["at"].index(index)] if index in change["at"] else item
            for index, item in enumerate(old)
        ]
    found = bytearray(old)
    for index in range(0, len(change["at"]), 4):
        place = 4 * int.from_bytes(change["at"][index : index + 4], "little")
        found[place : place + 4] = change["to"][index : index + 4]
    return bytes(found)


class Page:
    """What a browser knows of a view, from its messages alone."""

    def __init__(self, view: Any) -> None:
        self.view, self.lost, self.bytes, self.deaf = view, 0, 0, False
        self.known = copy.deepcopy(view.get_state())
        view._send = self.take

    def take(self, message: dict[str, Any], buffers: Any = ()) -> None:
        if self.deaf or message["method"] != "update":
            return
        self.bytes += len(json.dumps(message)) + sum(len(buffer) for buffer in buffers)
        state = json.loads(json.dumps(message["state"]))
        _put_buffers(state, message["buffer_paths"], [bytes(buffer) for buffer in buffers])
        for name, sent in state.items():
            if isinstance(sent, dict) and "since" in sent:
                if sent["since"] != self.known[name]["stamp"]:
                    self.lost += 1
                    continue
                sent = {**patched(self.known[name], sent), "stamp": sent["stamp"]}
            self.known[name] = sent
        if self.lost:
            self.lost = 0
            self.view._handle_custom_msg({"do": "whole"}, [])

    def has_it_all(self) -> bool:
        for name in LARGE:
            shown = {key: part for key, part in self.known[name].items() if key != "stamp"}
            if shown != getattr(self.view, name):
                return False
        return True


def edits(ex: Any) -> list[Any]:
    """Edits of one cell, of many, of registers, of what is shown."""
    bench = ex.bench
    rows, columns = ex.A.shape
    found = [
        lambda: ex.change(lambda bench: bench.set_cell("A", 0, 0, "1")),
        lambda: ex.change(lambda bench: bench.set_cell("A", rows - 1, columns - 1, "0")),
        lambda: ex.change(lambda bench: bench.fill("B", "ones")),
        lambda: ex.change(lambda bench: bench.set_cell("C", 1, 2, "1")),
        lambda: setattr(ex, "lane", 5),
        ex.undo,
        ex.undo,
        ex.redo,
        lambda: ex.change(lambda bench: bench.fill("A", "random")),
        lambda: ex.change(lambda bench: bench.flip("C", 5, 0, 3)),
        lambda: setattr(ex, "chip", bench.chips[-1]),
        lambda: setattr(ex, "against", bench.chips[0]),
        lambda: ex.change(lambda bench: bench.set_cell("B", 0, 0, "1")),
        lambda: setattr(ex, "against", None),
    ]
    if "E" in bench.names:
        found.append(
            lambda: ex.change(lambda bench: bench.set_values("A", np.eye(rows, columns)))
        )  # other nibbles
    if "SFA" in bench.names:
        found.append(lambda: ex.change(lambda bench: bench.set_cell("SFA", 3, 1, "2")))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_what_python_has(kind: str) -> None:
    ex = ptxlab.explore(KINDS[kind])
    ex.A = np.zeros(ex.A.shape)
    page = Page(ex.view)
    for step, edit in enumerate(edits(ex)):
        edit()
        assert page.has_it_all(), step
    ex.instruction = KINDS["dense"] if kind != "dense" else KINDS["sparse"]
    assert page.has_it_all()
    ex.change(lambda bench: bench.set_cell("A", 2, 2, "3"))
    assert page.has_it_all()


@pytest.mark.parametrize(
    ("kind", "most"),
    [("dense", 3_000), ("sparse", 4_000), ("f64", 2_500), ("wide", 20_000), ("wide sparse", 20_000)],
)
def test_one_cell_is_few_bytes(kind: str, most: int) -> None:
    ex = ptxlab.explore(KINDS[kind])
    ex.A, ex.C = np.zeros(ex.A.shape), np.zeros(ex.C.shape)
    page = Page(ex.view)
    ex.change(lambda bench: bench.set_cell("A", 0, 0, "1"))
    assert page.has_it_all() and 0 < page.bytes < most
    state, _, buffers = _remove_buffers(ex.view.get_state(LARGE))
    assert page.bytes < (len(json.dumps(state)) + sum(len(buffer) for buffer in buffers)) / 2


def test_a_page_that_missed_a_message_asks_for_the_whole() -> None:
    ex = ptxlab.explore(KINDS["sparse"])
    page = Page(ex.view)
    page.deaf = True
    ex.change(lambda bench: bench.set_cell("B", 0, 0, "3"))
    page.deaf = False
    assert not page.has_it_all()
    ex.change(lambda bench: bench.set_cell("B", 0, 1, "3"))
    assert page.has_it_all()


def test_a_page_that_opens_later_gets_it_all() -> None:
    ex = ptxlab.explore(KINDS["dense"])
    first = Page(ex.view)
    ex.change(lambda bench: bench.set_cell("A", 0, 0, "3"))
    state = ex.view.get_state()
    assert not any("since" in state[name] for name in LARGE)
    assert all({**getattr(ex.view, name), "stamp": state[name]["stamp"]} == state[name] for name in LARGE)
    second = Page(ex.view)  # from here on it listens, and its state has the stamps of the first
    ex.change(lambda bench: bench.set_cell("A", 0, 0, "4"))
    assert second.has_it_all() and second.bytes < 5_000
    assert first.known["A"]["stamp"] == second.known["A"]["stamp"] - 1


def test_a_page_that_writes_the_result_gets_it_back_whole() -> None:
    ex = ptxlab.explore(KINDS["dense"])
    page = Page(ex.view)
    page.known["D"] = {"values": b"", "codes": b""}
    ex.view.set_state({"D": {"values": b"", "codes": b""}})
    assert page.has_it_all()


@given(
    st.binary(min_size=0, max_size=64),
    st.dictionaries(st.integers(0, 63), st.integers(0, 255), max_size=6),
    st.lists(st.integers(0, 3), max_size=8),
    st.lists(st.integers(0, 3), max_size=8),
)
def test_difference_and_patch(raw: bytes, flips: dict[int, int], one: list[int], other: list[int]) -> None:
    changed = bytes(flips.get(index, byte) for index, byte in enumerate(raw))
    old = {"raw": raw, "list": one, "in": {"deep": raw}, "count": 1}
    new = {"raw": changed, "list": other, "in": {"deep": changed}, "count": 2}
    found = difference(old, new)
    assert found is not None and patched(old, found) == new
    assert difference(old, old) == {"parts": {}}
    assert difference(old, {"raw": raw}) is None
