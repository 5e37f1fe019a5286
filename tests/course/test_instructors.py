"""The page for instructors: every lesson has its questions and the wrong answers that checks know."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ptxlab import lessons
from ptxlab.course import exercises
from ptxlab.course.syllabus import module_name

pytest.importorskip("nbformat")

from tools.site import instructors

LESSONS = [lesson for lesson in lessons.LESSONS if lesson.number]
ROOT = Path(__file__).parents[2]


def test_every_lesson_has_a_section_with_questions_and_hints() -> None:
    sections = re.split(r"^## ", str(instructors.page()), flags=re.M)[1:]
    assert len(sections) == len(LESSONS)
    for lesson, section in zip(LESSONS, sections, strict=True):
        assert section.startswith(f"Lesson {lesson.number}: {lesson.question}")
        assert f"{lesson.minutes} minutes, {len(lesson.exercises)} exercises" in section
        assert all(goal in section for goal in lesson.goals)
        assert "**Where to stop, and what to ask**" in section, lesson.file
        assert re.search(rf"^- {lesson.number}\.\d: [A-Z`]", section, re.M), lesson.file


def test_questions_are_of_the_notebook_and_not_of_exercises() -> None:
    for lesson in LESSONS[:6]:
        text = (instructors.NOTEBOOKS / f"{lesson.file}.ipynb").read_text(encoding="utf-8")
        tasks = "\n".join(exercise.task for exercise in lesson.exercises)
        for heading, question in instructors.questions(lesson):
            assert question.endswith("?") and question not in tasks
            assert heading == "At the beginning" or heading in text.replace('\\"', '"')


def test_hints_are_of_existing_exercises_and_are_what_the_source_says() -> None:
    count = 0
    for lesson in LESSONS:
        names = {exercise.name for exercise in lesson.exercises}
        file = Path(exercises.__file__).with_name(f"{module_name(lesson.slug)}.py")
        constants = {
            node.value
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant)
        }
        found = instructors.hints(lesson)
        assert {name for name, _ in found} <= names
        assert {hint for _, hint in found} <= constants
        count += len(found)
    assert count > 300


def test_the_kit_counts_what_progress_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of Python in docs/pilot.md, run over the files of two students."""
    (script,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "pilot.md").read_text("utf-8"), re.S)
    folder = tmp_path / "progress"
    folder.mkdir()
    for number, state in enumerate(("right", "wrong")):
        entry = f'{{"00.1": {{"state": "{state}", "tries": {number + 2}}}}}'
        (folder / f"{number}.json").write_text(entry)
    exec(script.replace('Path("progress")', f"Path({str(folder)!r})"), {})
    assert capsys.readouterr().out == "00.1 1 right, 5 tries\n"
