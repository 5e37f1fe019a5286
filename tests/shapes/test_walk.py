"""The walk through every layout: each form has one stop, each stop opens, edits, and asks what it shows."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, lessons
from ptxlab.course.record import solved
from ptxlab.explorer.edits import SetCell
from ptxlab.isa.tcgen05 import CONTROL_FAMILIES
from ptxlab.shapes.stops import WALKS, Stop, layout_key, stops
from ptxlab.shapes.widget import Walk, glance_html
from tests.cases import each
from tests.sampling import one_in

STOPS = [stop for walk in WALKS for stop in stops(walk)]
WITH_MATRICES = [stop for stop in STOPS if stop.form.family not in CONTROL_FAMILIES]


def name(stop: Stop) -> str:
    return f"{stop.walk} {stop.number} {stop.title}"


def test_every_form_has_one_stop() -> None:
    counts = Counter(form.mnemonic for stop in STOPS for form in stop.forms)
    assert counts == Counter(form.mnemonic for form in ptxlab.catalog())
    assert len({layout_key(stop.form) for stop in STOPS}) >= len({stop.title for stop in STOPS if stop.title})


@pytest.mark.parametrize("walk", WALKS)
def test_titles_and_names_tell_stops_apart(walk: str) -> None:
    assert len({stop.title for stop in stops(walk)}) == len({stop.name for stop in stops(walk)})
    assert [stop.before for stop in stops(walk)] == [None, *stops(walk)[:-1]]


@each("stop", STOPS, ids=name)
def test_a_stop_says_what_is_new(stop: Stop) -> None:
    """Elements that a sentence names are where it says."""
    assert stop.news.endswith(".") and len(stop.news) < 420
    if not stop.before:
        return
    for registers, operand, hold, low, high in re.findall(
        r"registers? (\d+)(?:\.\.\d+)? of (\w+) holds? (rows|columns) (\d+)(?:\.\.(\d+))?", stop.news
    ):
        layout = stop.in_registers[operand].layout
        assert layout is not None
        first = int(registers) * stop.in_registers[operand].elements_per_register
        held = layout.coords()[:, first:, 0 if hold == "rows" else 1]
        assert (held.min(), held.max()) == (int(low), int(high or low))
    for operand, row, column in re.findall(r"lane 1 begins with (\w+)\[(\d+)[^\]]*\]\[(\d+)", stop.news):
        layout = stop.in_registers[operand].layout
        assert layout is not None and layout.coords()[1, 0].tolist() == [int(row), int(column)]


@each("stop", STOPS, ids=name)
def test_the_question_takes_the_right_answer_and_refuses_others(stop: Stop) -> None:
    question = stop.question
    if stop.form.family in CONTROL_FAMILIES:
        assert question is None and stop.check("1, 2")
        return
    assert question is not None
    for first, second in question.answers:
        assert stop.check(f"{first}, {second}")
    (first, second), *_ = question.answers
    wrong = [(first + 1, second), (first, second + 1), (second + 7, first + 3), (first ^ 4, second)]
    wrong = [answer for answer in wrong if answer not in question.answers]
    assert len(wrong) >= 3
    for answer in wrong:
        verdict = stop.check(f"lane {answer[0]}, register {answer[1]}")
        assert verdict.state == "wrong" and verdict.text
        assert f"{first}, {second}" not in verdict.text  # a hint is no solution
    for unread in ("", "lane", "1", "1 2 3"):
        assert stop.check(unread).state == "not yet"


@pytest.mark.parametrize("walk", WALKS)
def test_stops_open_and_edit(walk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stop shows its instruction; one element is changed, and D follows or says why not."""
    monkeypatch.setenv("PTXLAB_PROGRESS", "/dev/null")
    shown = Walk(walk)
    every = one_in(6, list(range(len(shown.stops))))
    for number in every:
        shown.go(number)
        if shown.stop.form.family in CONTROL_FAMILIES:
            assert shown.explorer.view.layout.display == "none"
            continue
        ex = shown.explorer
        assert ex.instruction.mnemonic == shown.stop.form.mnemonic
        before = np.array(ex.A)
        ex.apply(SetCell("A", 0, 0, "0" if before.flat[0] else "1"))
        assert not np.array_equal(before, ex.A)
        assert ex.D.shape or ex.view.D["unknown"]


def test_progress_is_kept(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_PROGRESS", f"{tmp_path}/progress.json")
    shown = ptxlab.walk("wgmma")
    question = shown.stop.question
    assert question is not None
    first, second = question.answers[0]
    assert not shown.answer(f"{first + 1} {second}")
    assert shown.bar.shown["verdict"]["state"] == "wrong" and not shown.bar.shown["stops"][0]["done"]
    assert shown.answer(f"lane {first}, register {second}")
    assert shown.bar.shown["stops"][0]["done"] and shown.stop.name in solved()
    assert not any(state == "right" for state in lessons.progress().states.values())
    again = ptxlab.walk("wgmma", stop=1)
    assert again.bar.shown["stops"][0]["done"] and again.bar.shown["number"] == 1


def test_messages_of_the_page() -> None:
    shown = ptxlab.walk("wgmma")
    for message in (
        None,
        {},
        {"action": "go", "stop": 99},
        {"action": "answer", "text": 3},
    ):
        shown._receive(message)
    assert shown.stop.number == 0
    shown._receive({"action": "go", "stop": 2})
    assert shown.stop.number == 2 and "m64n8k16" in shown.explorer.instruction.mnemonic


def test_refusals() -> None:
    with pytest.raises(PtxlabError, match="found no walk 'mm'; there are mma, mma.sp, block-scaled"):
        ptxlab.walk("mm")
    with pytest.raises(PtxlabError, match="stop"):
        ptxlab.walk("mma", stop=99)
    with pytest.raises(PtxlabError, match="no stop with 'x'"):
        ptxlab.walk("mma", stop="x")


def test_at_a_glance() -> None:
    html = glance_html(stops("mma.sp"))
    assert html.count("<tr>") == len(stops("mma.sp")) + 1 and html.count("<img") >= 3 * len(stops("mma.sp"))
    assert ptxlab.walk("mma.sp").table._repr_html_() == html
