"""python -m tools.homework [FOLDER]: every lesson as an nbgrader assignment.

`source/` is for the teacher: it has the model solutions between nbgrader's marks. `release/` is what
students get. Each exercise is a cell to answer, with its check and hints, and a locked cell worth one
point. `nbgrader generate_assignment` makes the same release from `source/`.

Solutions are public. `--student NAME` (as often as there are students) writes `students/NAME/` instead, in
which exercises with drawn constants have that student's: another element, another register, the same hints.
Their locked cells give the point only with the constants of that student.

An assignment keeps its progress in a file beside it: whoever runs what students hand in, by nbconvert or by
hand, keeps a record of his or her own. While nbgrader grades or validates, ptxlab writes no record at all.
"""

from __future__ import annotations

import argparse
import copy
import re
import textwrap
from pathlib import Path
from typing import Any

import nbformat

from ptxlab import lessons
from ptxlab._util.files import write_atomically
from ptxlab.cli.grader import NBGRADER_CONFIG, role
from ptxlab.course.checking import task_text
from tests.course import SOLUTIONS

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
OWN_RECORD = """\
import os

os.environ["PTXLAB_PROGRESS"] = "progress.json"  # homework keeps its progress beside this notebook
"""


def own_constants(student: str) -> str:
    """The line that says whose constants the exercises of a notebook have."""
    return f'os.environ["PTXLAB_STUDENT"] = {student!r}\n' if student else ""


def marked(exercise: lessons.Exercise, *, solved: bool) -> str:
    """The cell to answer; with the model solution between nbgrader's marks."""
    before, check = exercise.starter, f'lessons.check("{exercise.name}", {exercise.subject})'
    if not solved:
        return exercise.cell
    answer = exercise.starter.split("  #")[0].replace("...", SOLUTIONS[exercise.name], 1)
    return f"{before}\n### BEGIN SOLUTION\n{answer}\n### END SOLUTION\n{check}"


def assignment(lesson: lessons.Lesson, *, solved: bool, student: str = "") -> Any:
    """The notebook of a lesson as an assignment; with the constants of a student."""
    notebook = nbformat.read(NOTEBOOKS / f"{lesson.file}.ipynb", as_version=4)
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    cells = []
    for cell in notebook.cells:
        cells.append(copy.deepcopy(cell))
        if cell is first:
            cells[-1].source = OWN_RECORD + own_constants(student) + cell.source
        if student:
            for exercise in lesson.exercises:
                if cell.source == task_text(exercise.name, ""):
                    cells[-1].source = task_text(exercise.name, student)
        # the other lessons are not beside it
        cells[-1].source = re.sub(r"\[(`[\w-]+`)\]\([\w-]+\.ipynb\)", r"\1", cells[-1].source)
        for exercise in lesson.exercises:
            if cell.source == exercise.cell:
                name = exercise.name.replace(".", "-")
                cells[-1].source = marked(exercise, solved=solved)
                cells[-1].metadata = nbformat.from_dict(role(f"answer-{name}"))
                point = nbformat.v4.new_code_cell(
                    point_cell(exercise, student),
                    id=f"grade-{name}",
                    metadata=role(f"grade-{name}", points=1),
                )
                cells.append(point)
    notebook.cells = cells
    nbformat.validate(notebook)
    return notebook


def point_cell(exercise: lessons.Exercise, student: str = "") -> str:
    """The locked cell that gives the point; it records nothing."""
    whose = f"from ptxlab.course.checking import STUDENT\n\nassert STUDENT == {student!r}, STUDENT\n"
    return (whose if student else "") + textwrap.dedent(f"""\
        # Exercise {exercise.name}, one point
        verdict = lessons.exercise("{exercise.name}").check({exercise.subject})
        assert verdict, verdict""")


def write(folder: Path) -> list[Path]:
    """Write all lessons that have exercises, solved and unsolved."""
    written = []
    for part, solved in (("source", True), ("release", False)):
        for lesson in lessons.LESSONS:
            if lesson.exercises:
                to = folder / part / lesson.file / f"{lesson.file}.ipynb"
                write_atomically(to, nbformat.writes(assignment(lesson, solved=solved)) + "\n")
                written.append(to)
    write_atomically(folder / "nbgrader_config.py", NBGRADER_CONFIG)
    return written


def write_for(student: str, folder: Path) -> list[Path]:
    """Write all lessons that have exercises with the constants of a student, unsolved."""
    if not re.fullmatch(r"[\w.@-]+", student) or student.startswith("."):
        raise SystemExit(f"{student!r}: a student's name has letters, digits, '_', '.', '@' and '-'")
    written = []
    for lesson in lessons.LESSONS:
        if lesson.exercises:
            written.append(folder / "students" / student / lesson.file / f"{lesson.file}.ipynb")
            notebook = assignment(lesson, solved=False, student=student)
            write_atomically(written[-1], nbformat.writes(notebook) + "\n")
    return written


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.homework", description="Write every lesson as an nbgrader assignment."
    )
    parser.add_argument("folder", nargs="?", default="homework", type=Path)
    parser.add_argument("--student", action="append", default=[], help="write what this student gets")
    arguments = parser.parse_args()
    folder = arguments.folder
    for student in arguments.student:
        print(f"{len(write_for(student, folder))} lessons in {folder / 'students' / student}")
    if arguments.student:
        return
    written = write(folder)
    places = f"{folder}/source (with solutions, for you) and {folder}/release (to hand out)"
    print(f"{len(written) // 2} lessons in {places}")


if __name__ == "__main__":
    main()
