"""The minutes that lessons state: those of their words, exercises and widgets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptxlab import lessons
from ptxlab.lessons import LESSONS, Lesson
from tests.cases import each
from tools import minutes

NUMBERED = [lesson for lesson in LESSONS if lesson.number]


@each("lesson", NUMBERED, ids=lambda lesson: lesson.file)
def test_a_lesson_states_what_it_takes(lesson: Lesson) -> None:
    assert lesson.minutes == minutes.estimate(lesson), "run `python -m tools.minutes --write`"


def test_what_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """700 words are five minutes; then an exercise of each kind, a widget, and code that counts nothing."""
    lesson = lessons.LESSONS[1]
    cells = [("markdown", "word " * 699 + "[word](an/address/of/many-words.ipynb)"), ("code", "x = 1")]

    def estimated() -> int:
        content = {"cells": [{"cell_type": kind, "source": [source]} for kind, source in cells]}
        (tmp_path / "notebook.ipynb").write_text(json.dumps(content))
        return minutes.estimate(lesson)

    monkeypatch.setattr(minutes, "notebook", lambda lesson: tmp_path / "notebook.ipynb")
    assert estimated() == 5
    cells += [("code", 'answer = ...\nlessons.check("01.1", answer)')] * 5
    assert estimated() == 25
    cells += [("code", 'def f(x):\n    return ...\nlessons.check("01.2", f)')] * 5
    assert estimated() == 60
    cells.append(("code", 'text = r"""\n...\n"""\nlessons.check("01.3", text)'))
    cells.append(("code", 'edit = {...}  # {line: its new text}\nlessons.check("01.4", edit)'))
    assert estimated() == 90  # 88
    cells += [("code", "Slider(f, x=range(3))"), ("code", "ex = ptxlab.explore(ins)")] * 3
    assert estimated() == 100


def test_the_course_takes_about_thirty_hours() -> None:
    """As README and the page for teachers say."""
    hours = sum(lesson.minutes for lesson in LESSONS) / 60
    assert round(hours) in (29, 30, 31)
    page = (minutes.ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    assert f"**{hours:.1f} hours**" in page
