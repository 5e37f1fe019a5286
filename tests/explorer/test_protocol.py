"""What travels between Python and a page: matrices whole once, then what changed; one list of messages."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptxlab
import ptxlab.explorer.edits
from ptxlab import PtxlabError
from ptxlab.explorer.debugger import debugger
from ptxlab.explorer.edits import Edit, FillMatrix, FlipBit, SetCell, SetCodes, SetRegisters, SetValues
from ptxlab.explorer.page.page_model import delta
from ptxlab.explorer.session import MESSAGES, decode_message, typescript

pytest.importorskip("anywidget")
from ipywidgets.widgets.widget import _put_buffers, _remove_buffers

from tests.cases import each, refuses

SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
KINDS = {
    "dense": "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "sparse": "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
    "scaled": SCALED,
    "f64": "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
    "quads": "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    "wide": "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
    "wide sparse": "wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3",
}
FRONT = Path(ptxlab.__file__).parent / "explorer" / "front"
LARGE = ("A", "stored", "B", "C", "D", "E", "SFA", "SFB", "lane_registers")


def patched(old: Any, change: dict[str, Any]) -> Any:
    """What front/common/deltas.js does, byte by byte."""
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

    def __init__(self, page: Any) -> None:
        self.page, self.lost, self.bytes, self.deaf = page, 0, 0, False
        self.known = copy.deepcopy(page.get_state())
        page._send = self.take

    def take(self, message: dict[str, Any], buffers: Any = ()) -> None:
        if self.deaf or message["method"] != "update":
            return
        self.bytes += len(json.dumps(message)) + sum(len(buffer) for buffer in buffers)
        state = json.loads(json.dumps(message["state"]))
        _put_buffers(state, message["buffer_paths"], [bytes(buffer) for buffer in buffers])
        for name, sent in state.items():
            if isinstance(sent, dict) and "since" in sent:
                if sent["since"] != self.known[name]["version"]:
                    self.lost += 1
                    continue
                sent = {**patched(self.known[name], sent), "version": sent["version"]}
            self.known[name] = sent
        if self.lost:
            self.lost = 0
            self.page._handle_custom_msg({"type": "resend_matrices"}, [])

    def has_it_all(self) -> bool:
        for name in LARGE:
            shown = {key: part for key, part in self.known[name].items() if key != "version"}
            if shown != getattr(self.page._session.page_model, name):
                return False
        return True


def edits(ex: Any) -> list[Any]:
    """Edits of one cell, of many, of registers, of what is shown."""
    state = ex.state
    rows, columns = ex.A.shape
    found = [
        lambda: ex.apply(SetCell("A", 0, 0, "1")),
        lambda: ex.apply(SetCell("A", rows - 1, columns - 1, "0")),
        lambda: ex.apply(FillMatrix("B", "ones")),
        lambda: ex.apply(SetCell("C", 1, 2, "1")),
        lambda: setattr(ex, "lane", 5),
        ex.undo,
        ex.undo,
        ex.redo,
        lambda: ex.apply(FillMatrix("A", "random")),
        lambda: ex.apply(FlipBit("C", 5, 0, 3)),
        lambda: setattr(ex, "chip", state.chip_choice.models[-1]),
        lambda: setattr(ex, "against", state.chip_choice.models[0]),
        lambda: ex.apply(SetCell("B", 0, 0, "1")),
        lambda: setattr(ex, "against", None),
    ]
    if "E" in state.operation.names:
        found.append(lambda: ex.apply(SetValues("A", np.eye(rows, columns))))  # other nibbles
    if "SFA" in state.operation.names:
        found.append(lambda: ex.apply(SetCell("SFA", 3, 1, "2")))
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_has_what_python_has(kind: str) -> None:
    ex = ptxlab.explore(KINDS[kind])
    ex.A = np.zeros(ex.A.shape)
    page = Page(ex.page)
    for step, edit in enumerate(edits(ex)):
        edit()
        assert page.has_it_all(), step
    ex.instruction = KINDS["dense"] if kind != "dense" else KINDS["sparse"]
    assert page.has_it_all()
    ex.apply(SetCell("A", 2, 2, "3"))
    assert page.has_it_all()


@pytest.mark.parametrize(
    ("kind", "most"),
    [("dense", 3_000), ("sparse", 4_000), ("f64", 2_500), ("wide", 20_000), ("wide sparse", 20_000)],
)
def test_one_cell_is_few_bytes(kind: str, most: int) -> None:
    ex = ptxlab.explore(KINDS[kind])
    ex.A, ex.C = np.zeros(ex.A.shape), np.zeros(ex.C.shape)
    page = Page(ex.page)
    ex.apply(SetCell("A", 0, 0, "1"))
    assert page.has_it_all() and 0 < page.bytes < most
    state, _, buffers = _remove_buffers(ex.view.get_state(LARGE))
    assert page.bytes < (len(json.dumps(state)) + sum(len(buffer) for buffer in buffers)) / 2


def test_a_page_that_missed_a_message_asks_for_the_whole() -> None:
    ex = ptxlab.explore(KINDS["sparse"])
    page = Page(ex.page)
    page.deaf = True
    ex.apply(SetCell("B", 0, 0, "3"))
    page.deaf = False
    assert not page.has_it_all()
    ex.apply(SetCell("B", 0, 1, "3"))
    assert page.has_it_all()


def test_a_page_that_opens_later_gets_it_all() -> None:
    ex = ptxlab.explore(KINDS["dense"])
    first = Page(ex.page)
    ex.apply(SetCell("A", 0, 0, "3"))
    state = ex.view.get_state()
    assert not any("since" in state[name] for name in LARGE)
    assert all({**getattr(ex.view, name), "version": state[name]["version"]} == state[name] for name in LARGE)
    second = Page(ex.page)  # from here on it listens, and its state has the stamps of the first
    ex.apply(SetCell("A", 0, 0, "4"))
    assert second.has_it_all() and second.bytes < 5_000
    assert first.known["A"]["version"] == second.known["A"]["version"] - 1


def test_a_page_that_writes_the_result_gets_it_back_whole() -> None:
    ex = ptxlab.explore(KINDS["dense"])
    page = Page(ex.page)
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
    found = delta(old, new)
    assert found is not None and patched(old, found) == new
    assert delta(old, old) == {"parts": {}}
    assert delta(old, {"raw": raw}) is None


# -- one list of messages ---------------------------------------------------------------------------------


def sent_types(debugger: bool = False) -> set[str]:
    """The types of all messages in the JavaScript of the Explorer, or of the debugger and its page."""
    theirs = {*FRONT.glob("debugger/*.js"), FRONT / "kernel_page.js"}
    paths = theirs if debugger else {*FRONT.rglob("*.js")} - theirs
    source = "\n".join(path.read_text(encoding="utf-8") for path in sorted(paths))
    in_choices = re.findall(r'type: \w+\.shiftKey[^?]*\? "(\w+)" : "(\w+)"', source)
    return {*re.findall(r'\btype: "([a-z_]+_[a-z_]+|undo|redo|paste|export)"', source), *sum(in_choices, ())}


def test_the_page_sends_exactly_the_messages_of_the_list() -> None:
    assert sent_types() == set(MESSAGES)


def test_the_debugger_sends_messages_of_its_own() -> None:
    sent = sent_types(debugger=True)
    assert sent == {name for name in debugger.MESSAGES if "_" in name}


def test_the_types_of_messages_are_written_from_the_list() -> None:
    path = FRONT / "messages.d.ts"
    assert path.read_text(encoding="utf-8") == typescript(), "run python -m tools.explorer_messages"


def test_every_edit_of_the_page_and_no_other_can_be_decoded() -> None:
    """Edits that take arrays come from Python only."""
    edits = {
        member
        for member in vars(ptxlab.explorer.edits).values()
        if isinstance(member, type) and issubclass(member, Edit)
    }
    from_python = {Edit, SetValues, SetCodes, SetRegisters}
    assert edits - from_python == {message for message in MESSAGES.values() if issubclass(message, Edit)}


EXAMPLES: dict[str, dict[str, Any]] = {
    "set_cell": {"name": "A", "row": 1, "column": 2, "text": "1"},
    "paste": {"name": "A", "row": 1, "column": 2, "text": "1\t2", "row2": 3, "column2": 4},
    "clear_cells": {"name": "A", "row": 1, "column": 2, "row2": 3, "column2": 4},
    "extend_cells": {
        "name": "A", "row": 1, "column": 2, "row2": 1, "column2": 2,
        "to_row": 5, "to_column": 2, "series": True,
    },
    "fill_matrix": {"name": "B", "pattern": "ones", "row": 0, "column": 0},
    "prune_chunks": {},
    "dismiss_refusal": {},
    "set_register": {"name": "A", "lane": 3, "register": 1, "text": "0x1"},
    "flip_bit": {"name": "A", "lane": 3, "register": 1, "bit": 31},
    "set_word": {"address": 16, "size": 4, "text": "0x1"},
    "set_option": {"name": "selector", "value": 1},
    "set_mask": {"name": "disable_output_lane", "text": "0..15, 32"},
    "set_chips": {"chip": "sm_90", "against": None},
    "choose_instruction": {"mnemonic": KINDS["dense"], "a_space": "register"},
    "set_descriptor": {"text": "0x8400010"},
    "set_descriptor_field": {"name": "n", "text": "64"},
    "set_transfer": {"name": "shape", "text": "16x64b"},
    "undo": {},
    "redo": {},
    "request_picker_index": {},
    "run_on_gpu": {},
    "find_difference": {},
    "export": {"format": "code"},
    "resend_matrices": {},
    "show_memory": {"name": "A", "by": "ldmatrix", "major": "row", "pitch": 128, "swizzle": 64,
                    "descriptor": "0x1", "layout": "(16,16):(16,1)"},
    "set_memory_field": {"name": "stride", "text": "512"},
    "hide_memory": {},
    "show_load": {"shape": "16x256b", "count": 4, "lane": 16, "column": 8, "pack": True},
    "start_quiz": {},
    "answer_question": {"text": "lane 4 register 3"},
    "skip_question": {},
    "next_question": {},
    "stop_quiz": {},
}  # fmt: skip


OPTIONAL = {
    "paste": ("row2", "column2"),
    "show_memory": ("by", "major", "pitch", "swizzle", "descriptor", "layout"),
    "show_load": ("count", "lane", "column", "pack"),
}


@each("kind", EXAMPLES)
def test_messages_are_decoded_and_malformed_ones_refused(kind: str) -> None:
    """Each field is there and of its type; a missing, wrong or unknown one is named in one sentence."""
    fields = EXAMPLES[kind]
    message = decode_message({"type": kind, **fields})
    assert type(message) is MESSAGES[kind] and vars(message) == fields
    with pytest.raises(PtxlabError, match=f"message {kind}: unknown field 'extra'"):
        decode_message({"type": kind, **fields, "extra": 1})
    for name, value in fields.items():
        for wrong in (1.5, [1], {"a": 1}, "x" if isinstance(value, int) else 7):
            with pytest.raises(PtxlabError, match=f"message {kind}: {name}( of|:| is) .*(takes|not)"):
                decode_message({"type": kind, **fields, name: wrong})
        without = {field: fields[field] for field in fields if field != name}
        if name not in OPTIONAL.get(kind, ()):
            refuses(f"message {kind}: {name} is missing", decode_message, {"type": kind, **without})
    assert EXAMPLES.keys() == MESSAGES.keys()


@pytest.mark.parametrize(
    "message", [None, 5, "undo", [], {}, {"type": 5}, {"type": "restore"}, {"type": "apply"}]
)
def test_what_is_no_message_is_refused(message: Any) -> None:
    refuses("message", decode_message, message)
