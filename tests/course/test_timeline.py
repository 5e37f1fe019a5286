"""The timeline of lesson 05: what is undefined, against a walk through the program from its first step."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ptxlab import PtxlabError
from ptxlab.course.timeline import PROGRAM, STEPS, WORK, ProgramTimeline, narrow_lines, picture, static_html
from ptxlab.explorer.bundle import style

MOVABLE = [step for step in STEPS if step not in WORK]


def walk(program: tuple[str, ...]) -> set[str]:
    """What is undefined, found by executing the steps one after another."""
    wrong: set[str] = set()
    fenced = met = ordered = False  # B fenced by its writers; all threads met since; registers ordered
    written = False
    uncommitted, groups, running = 0, [0], False  # products in no group, products of each group
    for step in program:
        if step == "st.shared B":
            written = True
        elif step == "fence.proxy.async":
            fenced = written
        elif step == "bar.sync":
            met = fenced  # threads that meet before they fenced have to meet again
        elif step == "mov d":
            ordered = False
        elif step == "wgmma.fence":
            ordered = "mov d" in program[: program.index(step)]
        elif step == "wgmma.mma_async":
            uncommitted, running = 1, True
            wrong |= set() if met else {"B in shared memory"}
            wrong |= set() if ordered else {"registers of D"}
        elif step == "wgmma.commit_group":
            groups.append(uncommitted)
            uncommitted = 0
        elif step.startswith("wgmma.wait_group"):
            pending = int(step[-1])
            complete = groups if not pending else groups[:-pending]
            running = running and not sum(complete)
        elif step == "read d" and running:
            wrong.add("registers of D")
    return wrong


def programs(count: int) -> list[tuple[str, ...]]:
    """Seeded orders of the steps, with some of them left out."""
    rng = np.random.default_rng(15)
    made = []
    for _ in range(count):
        program = list(WORK)
        wait = f"wgmma.wait_group {rng.integers(2)}"
        for step in rng.permutation([step for step in MOVABLE if "wait" not in step] + [wait]).tolist():
            if rng.random() < 0.85:
                program.insert(int(rng.integers(len(program) + 1)), step)
        made.append(tuple(program))
    return made


def test_the_correct_program_and_each_step_left_out() -> None:
    timeline = ProgramTimeline()
    assert timeline.program == PROGRAM and not timeline.problems and walk(PROGRAM) == set()
    assert timeline.verdict.startswith("Defined")
    for step in PROGRAM:
        if step in WORK:
            with pytest.raises(PtxlabError, match="must be there"):
                timeline.without(step)
            continue
        without = timeline.without(step)
        assert len(without.problems) == (step != "other work")
        assert without.left_out == (step,)
        assert without.put_back(step).program == PROGRAM
        for problem in without.problems:
            assert step in PROGRAM and problem.reason in static_html()


@pytest.mark.slow
def test_any_order_is_judged_as_a_walk_through_it() -> None:
    undefined = 0
    for program in programs(3000):
        timeline = ProgramTimeline(program)
        found = {problem.resource for problem in timeline.problems}
        assert found == walk(program), program
        undefined += bool(found)
        rows = timeline.rows
        assert all(len(states) == len(program) for states in rows.values())
        assert ("undefined" in {*rows["registers of D"], *rows["B in shared memory"]}) == bool(found)
        assert (rows["registers of D"][program.index("read d")] == "result") == (not found)
    assert 2000 < undefined < 3000  # both kinds were tried


def test_a_step_moves_to_its_place() -> None:
    timeline = ProgramTimeline()
    at = PROGRAM.index("wgmma.fence")
    assert timeline.moved("wgmma.fence", at).program == PROGRAM
    assert timeline.moved("wgmma.fence", at + 1).program == PROGRAM
    assert timeline.moved("wgmma.fence", len(PROGRAM)).program[-1] == "wgmma.fence"
    assert timeline.moved("wgmma.fence", at - 1).program.index("wgmma.fence") == at - 1
    other = timeline.other_wait()
    assert "wgmma.wait_group 1" in other.program and "most recent" in other.problems[0].reason
    assert other.left_out == () and other.other_wait().program == PROGRAM
    for program in (PROGRAM[1:], (*PROGRAM, "bar.sync"), (*PROGRAM, "wgmma.wait_group 1"), ("hlt",)):
        with pytest.raises(PtxlabError, match="^program: "):
            ProgramTimeline(program)


def test_the_picture_says_what_the_timeline_says() -> None:
    timeline = ProgramTimeline(programs(1)[0])
    drawn = picture(timeline.program)
    assert all(problem.reason.removesuffix(".") in drawn.notes for problem in timeline.problems)
    (grid,) = drawn.grids
    assert [cell.text for cell in grid.cells if cell.row == 0] == [
        " ".join(narrow_lines(step)) for step in timeline.program
    ]
    assert drawn.drawing().width <= 848


@pytest.mark.parametrize(
    "message",
    [None, "move", {}, {"action": "move", "step": "mov d", "to": 0}, {"action": "move", "step": "bar.sync"},
     {"action": "move", "step": "bar.sync", "to": 99}, {"action": "put back", "step": "bar.sync"},
     {"action": "leave out", "step": ["bar.sync"]}, {"action": "stop"}],
)  # fmt: skip
def test_a_message_that_cannot_be_done_changes_nothing(message: Any) -> None:
    widget = pytest.importorskip("ptxlab.course.timeline_widget").TimelineWidget()
    before = dict(widget.shown)
    widget.change(message)
    assert widget.program == PROGRAM and widget.shown == before
    widget.change({"action": "leave out", "step": "bar.sync"})
    assert "bar.sync" not in widget.program and not widget.shown["defined"]
    widget.change({"action": "reset"})
    assert widget.program == PROGRAM and widget.shown == before


def test_a_page_without_a_kernel_gets_a_picture() -> None:
    widget = pytest.importorskip("ptxlab.course.timeline_widget").TimelineWidget()
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "<svg" in data["text/html"] and "async proxy" in data["text/html"]


def test_its_style_and_that_of_the_explorer_do_not_meet() -> None:
    """Both stand in one notebook: a class that both have would get the rules of both."""
    from ptxlab.course.timeline_widget import TimelineWidget

    def classes(sheet: str) -> set[str]:
        return set(re.findall(r"\.(ptx-[\w-]+)", sheet))

    assert classes(TimelineWidget._css) and not classes(TimelineWidget._css) & classes(style())
