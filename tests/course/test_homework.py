"""Assignments for nbgrader: each exercise has a cell to answer and a locked point; solutions stay apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ptxlab import lessons
from tests.course import SOLUTIONS
from tests.sampling import some

nbformat = pytest.importorskip("nbformat")

from tools import homework  # noqa: E402

LESSONS = [lesson for lesson in lessons.LESSONS if lesson.exercises]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("homework")
    assert len(homework.write(folder)) == 2 * len(LESSONS)
    return folder


def plain(exercise: lessons.Exercise) -> str:
    """nbgrader takes letters, digits and dashes."""
    return exercise.name.replace(".", "-")


def cells(folder: Path, part: str, lesson: lessons.Lesson) -> dict[str, Any]:
    notebook = nbformat.read(folder / part / lesson.file / f"{lesson.file}.ipynb", as_version=4)
    nbformat.validate(notebook)
    marked = {cell.metadata.nbgrader.grade_id: cell for cell in notebook.cells if "nbgrader" in cell.metadata}
    assert len(marked) == sum("nbgrader" in cell.metadata for cell in notebook.cells), "two cells of one name"
    return marked


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.file)
def test_every_exercise_is_a_point(folder: Path, lesson: lessons.Lesson) -> None:
    for part in ("source", "release"):
        marked = cells(folder, part, lesson)
        assert list(marked) == [
            name
            for exercise in lesson.exercises
            for name in (f"answer-{plain(exercise)}", f"grade-{plain(exercise)}")
        ]
        for name, cell in marked.items():
            grading = cell.metadata.nbgrader
            expected = (False, True, True, 1) if name.startswith("grade") else (True, False, False, None)
            assert (grading.solution, grading.grade, grading.locked, grading.get("points")) == expected
    assert (
        homework.point_cell(lesson.exercises[0])
        == cells(folder, "release", lesson)[f"grade-{plain(lesson.exercises[0])}"].source
    )


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.file)
def test_solutions_are_kept_apart(folder: Path, lesson: lessons.Lesson) -> None:
    """The release is the source with what stands between the marks taken out, as nbgrader does it."""
    source, release = cells(folder, "source", lesson), cells(folder, "release", lesson)
    for exercise in lesson.exercises:
        solved, open_ = (
            source[f"answer-{plain(exercise)}"].source,
            release[f"answer-{plain(exercise)}"].source,
        )
        assert SOLUTIONS[exercise.name] in solved and "SOLUTION" not in open_ and open_ == exercise.cell
        taken = re.sub(r"### BEGIN SOLUTION\n.*?### END SOLUTION\n", "", solved, flags=re.S)
        assert re.sub(r"\n+", "\n", open_) == taken
        compile(solved, exercise.name, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("grader", some(["nbgrader", "by hand"]))
def test_grading_leaves_the_teachers_record_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grader: str
) -> None:
    """nbgrader sets NBGRADER_EXECUTION while it runs a notebook; who runs it by hand sets nothing."""
    nbclient = pytest.importorskip("nbclient")
    record, submitted = tmp_path / "teacher.json", tmp_path / "submitted"
    record.write_text('{"00.1": {"state": "right", "tries": 7}}')
    submitted.mkdir()
    monkeypatch.setenv("PTXLAB_PROGRESS", str(record))
    if grader == "nbgrader":
        monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    lesson = LESSONS[0]
    notebook = nbformat.read(folder / "source" / lesson.file / f"{lesson.file}.ipynb", as_version=4)
    shown = {*(homework.point_cell(exercise) for exercise in lesson.exercises), "ptxlab.progress()"}
    last = notebook.cells[-1]
    notebook.cells = [
        cell
        for cell in notebook.cells
        if cell.id in ("install", "import") or "nbgrader" in cell.metadata or cell is last
    ]
    nbclient.NotebookClient(
        notebook, timeout=120, store_widget_state=False, resources={"metadata": {"path": str(submitted)}}
    ).execute()
    assert shown <= {cell.source for cell in notebook.cells}
    assert (
        last.outputs[0]
        .data["text/plain"]
        .startswith(f"{len(lesson.exercises)} of {len(lessons.EXERCISES)} exercises")
    )
    assert record.read_text() == '{"00.1": {"state": "right", "tries": 7}}'
    assert list(tmp_path.glob("teacher*")) == [record]
    assert (submitted / "progress.json").exists() == (grader == "by hand")


@pytest.mark.slow
def test_slides_have_every_figure_of_a_lesson(tmp_path: Path) -> None:
    """Plain SVG: no colours of JupyterLab, no widgets; a slide for each, with its section and caption."""
    pytest.importorskip("plotly")
    from tools import slides

    written = slides.write("10", tmp_path, all_positions=True)
    shown = (tmp_path / "slides.md").read_text(encoding="utf-8")
    assert [path.name for path in written] == [f"{number:02d}.svg" for number in range(1, len(written) + 1)]
    assert shown.count("\n---\n\n## ") == len(written) == shown.count(".svg)") > 12 and "![]" not in shown
    assert all(f"chains {chains})" in shown for chains in range(1, 7)), "the slider has six positions"
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert ElementTree.fromstring(text).tag.endswith("svg") and "var(--" not in text
