"""The page for instructors: each lesson's aim, where to stop and ask, and the wrong answers that checks know.

All of it is taken from the notebooks and from the checks of their exercises.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import nbformat

from ptxlab._util.files import write_atomically
from ptxlab.course import exercises
from ptxlab.course.syllabus import module_name
from ptxlab.lessons import LESSONS, Lesson

from .markdown import Page, link

__all__ = ["hints", "page", "questions", "write"]

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
_MOST_QUESTIONS = 6  # of a lesson
_MOST_HINTS = 5
#: A sentence that ends with a question mark.
_QUESTION = re.compile(r"(?<![^\s*(])([A-Z][^.!?|\n]{18,}\?)")


def write(folder: Path) -> None:
    write_atomically(folder / "instructors.md", str(page()))


def page() -> Page:
    out = Page("For instructors")
    out.add(
        "One section for each lesson: its aim, the places where it asks something before it shows the "
        "answer, and the wrong answers that its checks know. Stop at a question, let the class answer, then "
        "run the cell. The minutes are estimates; the [pilot kit](../pilot.md) says how to send us yours."
    )
    for lesson in LESSONS:
        if not lesson.number:
            continue
        out.heading(2, f"Lesson {lesson.number}: {lesson.question}")
        count = len(lesson.exercises)
        out.add(f"{link(lesson.file, f'{lesson.file}.ipynb')}, {lesson.minutes} minutes, {count} exercises.")
        out.add(f"**Afterwards a student can** {'; '.join(lesson.goals)}.")
        asked = [f"- *{heading}*: {question}" for heading, question in questions(lesson)[:_MOST_QUESTIONS]]
        if asked:
            out.add("**Where to stop, and what to ask**")
            out.add("\n".join(asked))
        known = [f"- {name}: {hint}" for name, hint in _of_different_exercises(hints(lesson))[:_MOST_HINTS]]
        if known:
            out.add("**What students stumble over** (what the check replies)")
            out.add("\n".join(known))
    return out


def questions(lesson: Lesson) -> list[tuple[str, str]]:
    """Headings of a notebook, and the first question below each, outside of exercises."""
    notebook = nbformat.read(NOTEBOOKS / f"{lesson.file}.ipynb", as_version=4)
    heading = "At the beginning"
    found: dict[str, str] = {}
    for cell in notebook.cells[:-2]:
        if cell.cell_type != "markdown":
            continue
        title = re.search(r"^## (.*)$", cell.source, re.MULTILINE)
        heading = title[1] if title else heading
        if "### ✎" in cell.source or heading == "Summary":
            continue
        question = _QUESTION.search(re.sub(r"```.*?```|^#[^\n]*", "", cell.source, flags=re.DOTALL | re.M))
        if question:
            found.setdefault(heading, question[1].replace("**", "").replace("*", ""))
    return list(found.items())


def hints(lesson: Lesson) -> list[tuple[str, str]]:
    """Exercises of a lesson, and what their checks reply to a known wrong answer, where that is one text."""
    source = Path(exercises.__file__).with_name(f"{module_name(lesson.slug)}.py").read_text(encoding="utf-8")
    pairs = []
    for function in ast.parse(source).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        names = [
            decorator.args[0].value
            for decorator in function.decorator_list
            if isinstance(decorator, ast.Call)
            and isinstance(decorator.func, ast.Name)
            and decorator.func.id == "checks"
            and isinstance(decorator.args[0], ast.Constant)
        ]
        for node in ast.walk(function) if names else ():
            if isinstance(node, ast.Dict):
                pairs += [
                    (str(names[0]), value.value)
                    for key, value in zip(node.keys, node.values, strict=True)
                    if isinstance(key, ast.Call)
                    and isinstance(key.func, ast.Name)
                    and key.func.id == "when"
                    and isinstance(value, ast.Constant)
                    and isinstance(value.value, str)
                ]
    return pairs


def _of_different_exercises(found: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The first hint of each exercise."""
    return list({name: (name, hint) for name, hint in reversed(found)}.values())[::-1]
