"""Assignments for nbgrader: each exercise has a cell to answer and a locked point; solutions stay apart."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ptxlab import lessons
from ptxlab.course.checking import task_text
from tests.course import SOLUTIONS
from tests.sampling import some

nbformat = pytest.importorskip("nbformat")

from tests.texts import replaced  # noqa: E402
from tools import capstone, exam, homework  # noqa: E402
from tools.readme import TEACHING  # noqa: E402

LESSONS = [lesson for lesson in lessons.LESSONS if lesson.exercises]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("homework")
    assert len(homework.write(folder)) == 2 * len(LESSONS)
    return folder


def plain(exercise: lessons.Exercise) -> str:
    """nbgrader takes letters, digits and dashes."""
    return exercise.name.replace(".", "-")


@cache
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


def test_a_student_gets_constants_of_his_or_her_own(tmp_path: Path) -> None:
    """In the tasks, in the first cell and in the locked cells; all other cells are those of the release."""
    assert len(homework.write_for("ada", tmp_path)) == len(LESSONS)
    lesson = LESSONS[1]
    own = nbformat.read(tmp_path / "students" / "ada" / lesson.file / f"{lesson.file}.ipynb", as_version=4)
    release = homework.assignment(lesson, solved=False)
    changed = [
        mine for mine, other in zip(own.cells, release.cells, strict=True) if mine.source != other.source
    ]
    assert "os.environ[\"PTXLAB_STUDENT\"] = 'ada'\n" in changed[0].source
    tasks = [cell.source for cell in changed if cell.cell_type == "markdown"]
    assert tasks == [task_text(name, "ada") for name in ("01.1", "01.2", "01.4", "01.8")]
    locked = [cell.source for cell in changed[1:] if cell.cell_type == "code"]
    assert locked == [homework.point_cell(exercise, "ada") for exercise in lesson.exercises]
    assert all("assert STUDENT == 'ada'" in source for source in locked)
    with pytest.raises(SystemExit, match="name has letters"):
        homework.write_for("../ada", tmp_path)


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
        if cell.id in ("install", "speed") or "nbgrader" in cell.metadata or cell is last
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

    written = slides.write("12", tmp_path, all_positions=True)
    shown = (tmp_path / "slides.md").read_text(encoding="utf-8")
    assert [path.name for path in written] == [f"{number:02d}.svg" for number in range(1, len(written) + 1)]
    assert shown.count("\n---\n\n## ") == len(written) == shown.count(".svg)") > 12 and "![]" not in shown
    assert all(f"chains {chains})" in shown for chains in range(1, 7)), "the slider has six positions"
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert ElementTree.fromstring(text).tag.endswith("svg") and "var(--" not in text


def _fragment(ask: str) -> str:
    """Places by the formulas of the PTX ISA, of 16-row fragments and of B."""
    shape = re.search(r"m(\d+)n(\d+)k(\d+).*?col\.(?:satfinite\.)?(\w+)\.(\w+)\.(\w+)", ask)
    at = re.search(r"`([ABD])\[(\d+)\]\[(\d+)\]`", ask)
    assert shape and at
    row, col = int(at[2]), int(at[3])
    types = {"D": shape[4], "A": shape[5], "B": shape[6]}
    bits = int(re.sub(r"e\dm\d", "8", types[at[1]]).removeprefix("bf").lstrip("suf"))
    run = 32 // bits
    if at[1] == "B":
        row, col = col, row
    if at[1] == "D":
        group, thread, element = row % 8, col // 2, col % 2 + 2 * (row // 8)
    else:
        group, thread = row % 8, col // run % 4
        halves = 2 if shape[1] == "16" and at[1] == "A" else 1
        element = col % run + run * (row // 8 + halves * (col // (4 * run)))
    low = element * bits % 32
    return f"lane {4 * group + thread}, register {element * bits // 32}, bits {low} to {low + bits - 1}"


def _numbers(ask: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", ask)]


def _wavefronts(ask: str) -> int:
    """How many different words the most wanted bank has to deliver."""
    (step,) = re.findall(r"byte (\d+) \*", ask)
    words = {lane * int(step) // 4 for lane in range(32)}
    return max(Counter(word % 32 for word in words).values())


def _swizzled(ask: str) -> int:
    """CUTLASS: Swizzle<B,4,3> of the byte address."""
    _, _, columns, width, row, k = _numbers(ask)
    offset = row * 2 * columns + 2 * k
    return offset ^ (offset >> 3 & width - 16)


def _warpgroup(ask: str) -> str:
    row, col = _numbers(ask)[-2:]
    thread = row // 16 * 32 + row % 8 * 4 + col % 8 // 2
    return f"thread {thread}, register {col // 8 * 4 + row % 16 // 8 * 2 + col % 2}"


def _tensor_memory(ask: str) -> str:
    m, n = (int(digits) for digits in re.findall(r"[MN] = (\d+)", ask))
    row, col = _numbers(ask)[-2:]
    if ".ws" in ask:
        return f"lane {row + col // (n * m // 128) * m}, column {col % (n * m // 128)}"
    return f"lane {row if m == 128 else row // 16 * 32 + row % 16}, column {col}"


def _float(ask: str) -> str:
    """Sign, exponent and fraction of a code, put together by hand."""
    code, exponent_bits, fraction_bits = re.findall(r"0b(\d+)` as `e(\d)m(\d)", ask)[0]
    e, m = int(exponent_bits), int(fraction_bits)
    exponent, fraction = int(code[1 : 1 + e], 2), int(code[1 + e :], 2) / 2**m
    power = 2.0 ** (max(exponent, 1) - 2 ** (e - 1) + 1)
    return f"{(-1) ** int(code[0]) * (fraction + (exponent > 0)) * power:.17g}"


def _metadata(ask: str) -> str:
    (row,) = re.findall(r"\[(.*?)\]", ask)
    kept = [i % 4 for i, value in enumerate(row.split(", ")) if value != "0"]
    return f"`0x{sum(index << 2 * i for i, index in enumerate(kept)):04X}`"


#: Answers by another way than the exam's.
BY_HAND = {
    "fragment_place": _fragment,
    "decode": _float,
    "wavefronts": _wavefronts,
    "swizzled_offset": _swizzled,
    "warpgroup_place": _warpgroup,
    "tensor_memory_place": _tensor_memory,
    "nibbles": _metadata,
}


@pytest.mark.parametrize("seed", range(1, 9))
def test_the_answers_of_an_exam_are_right(seed: int) -> None:
    asked = exam.exam(seed)
    assert len(asked) == 30 == len({question.text for question in asked})
    assert [question.part for question in asked] == [
        part for part, (count, _) in exam.PARTS.items() for _ in range(count)
    ]
    assert exam.PARTS.keys() == {lesson.part for lesson in LESSONS}
    for question in asked:
        by_hand = BY_HAND.get(question.kind)
        if question.kind == "decode":
            assert float(question.answer) == float(_float(question.text)), question
        elif by_hand is not None:
            assert question.answer == str(by_hand(question.text)), question


def test_an_exam_is_drawn_by_its_seed() -> None:
    assert exam.exam(1) == exam.exam(1)
    first, second = ({question.text for question in exam.exam(seed)} for seed in (1, 2))
    assert len(first & second) <= 3, "some kinds have few questions"
    questions, answers = (exam.sheet(1, answers=answers) for answers in (False, True))
    assert questions.count("\n\n## ") == answers.count("\n\n## ") == len(exam.PARTS)
    assert "\n30. " in questions and "\n30. " in answers


def sliding_window() -> str:
    """A solution of the capstone: kernel 3 with a window."""
    source = capstone.start()
    for before, after in (
        (
            "factor[row] = exp2_approx(__fmul_rn(__fsub_rn(before, largest[row]), scale));",
            "factor[row] = largest[row] == NONE ? 1.f : "
            "exp2_approx(__fmul_rn(__fsub_rn(before, largest[row]), scale));",
        ),
        (
            "exponentiate(s, row, largest[row], scale)",
            "exponentiate(s, row, largest[row] == NONE ? 0.f : largest[row], scale)",
        ),
        (
            "if (key + i / 4 * 8 + i % 2 > query + i / 2 % 2 * 8) s[i] = NONE;",
            "if (const int before = query + i / 2 % 2 * 8 - (key + i / 4 * 8 + i % 2); "
            "before < 0 || before >= WINDOW) s[i] = NONE;",
        ),
        (
            "for (int key = 0; key < end; key += BLOCK_N) {",
            "for (int key = max(0, (int)blockIdx.x * QUERIES - WINDOW + 1) / BLOCK_N * BLOCK_N; key < end; "
            "key += BLOCK_N) {",
        ),
        ("if (key + BLOCK_N > blockIdx.x * QUERIES) mask_causal", "mask_causal"),
    ):
        assert source.count(before) == 1, before
        source = source.replace(before, after)
    return source


@pytest.mark.slow
def test_the_capstone_is_graded_by_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solution has all points, with every window; each mistake loses those of its part, with one."""
    pytest.importorskip("cuda.core")
    right = sliding_window()
    guard = "largest[row] == NONE ? 0.f : largest[row]"
    first = "max(0, (int)blockIdx.x * QUERIES - WINDOW + 1) / BLOCK_N * BLOCK_N"
    last = "        __syncthreads();  // nobody reads the block before any more\n"
    assert guard in right and first in right and last in right
    for source, lost in (
        (right, set()),
        (replaced(right, guard, "largest[row]"), {"numbers"}),
        (replaced(right, first, "0"), {"counts"}),
        (replaced(right, last, ""), {"hazards"}),
        (capstone.start(), {"numbers", "counts"}),
        ("no kernel", set(capstone.POINTS)),
    ):
        points = capstone.grade(source)
        assert {point.part for point in points if not point.points} == lost, points
        monkeypatch.setattr(capstone, "_WINDOWS", some(capstone._WINDOWS))
    assert f"{sum(capstone.POINTS.values())} points" in TEACHING.read_text(encoding="utf-8")
