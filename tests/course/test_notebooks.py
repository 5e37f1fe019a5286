"""Notebooks: they run top to bottom without a GPU, unanswered and answered, and stay stripped and thin."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from ptxlab import course, lessons
from ptxlab.course import syllabus
from ptxlab.shapes.stops import WALKS
from tests.cases import each
from tests.course import ONLY_IN_NOTEBOOKS, SOLUTIONS
from tests.sampling import every_third
from tools.address import FOLDED

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

pytestmark = pytest.mark.notebook

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "notebooks"
#: The characters for which JupyterLab has room in a window of 1280 pixels, beside its list of files; a page
#: that is 848 pixels wide shows as many.
WIDEST = 104
PLACEHOLDER = re.compile(r"\{_|\{[A-Z]{2}")  # `{_SFA_ROW}`, which was to become a number
CHECK = re.compile(r'lessons\.check\("(.*?)"')
NAMES = tuple(lesson.file for lesson in lessons.LESSONS)
SHAPES = tuple(f"shapes-{walk.replace('.', '-')}" for walk in WALKS)
PROJECTS = tuple(lesson.file for lesson in syllabus.PROJECTS)


def read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def exercises(name: str) -> list[str]:
    return [exercise for exercise in lessons.EXERCISES if exercise.startswith(name[:2])]


def answered(name: str) -> list[str]:
    """Exercises that are answered in the notebook; test_lessons.py has the same answers to most of them."""
    chosen = {*every_third(exercises(name)), *ONLY_IN_NOTEBOOKS}
    return [exercise for exercise in exercises(name) if exercise in chosen]


def test_the_notebooks_are_those_of_the_course() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*NAMES, *SHAPES, *PROJECTS}
    assert tuple(lesson.file for lesson in syllabus.SHAPES) == SHAPES
    assert list(SOLUTIONS) == list(lessons.EXERCISES)


@each("name", (*NAMES, *SHAPES, *PROJECTS))
def test_notebooks_are_valid_stripped_and_thin(name: str) -> None:
    """Valid, stripped, thin cells, plain metadata, stable ids."""
    notebook = read(name)
    nbformat.validate(notebook)
    assert notebook.nbformat == 4
    assert notebook.metadata.kernelspec.name == "python3"
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9-]+", at) for at in ids)
    assert notebook.cells[0].source.startswith("# ")
    assert notebook.cells[1].cell_type == "code"
    for cell in notebook.cells:
        assert cell.metadata == (FOLDED if cell is code(notebook)[0] else {})
        assert cell.source == cell.source.strip() != ""
    for cell in code(notebook):
        assert cell.outputs == []
        assert cell.execution_count is None
        assert len(cell.source.splitlines()) <= 12, cell.source
        assert max(map(len, cell.source.splitlines())) <= WIDEST, cell.source
        assert "assert " not in cell.source


@pytest.mark.parametrize("name", NAMES)
def test_exercises_are_those_of_the_library(name: str) -> None:
    """At least four, in order, each with a task above its starting cell."""
    if name == "atlas":
        pytest.skip("the atlas has no exercises")
    sources = [cell.source for cell in read(name).cells]
    checked = {found[1]: at for at, source in enumerate(sources) if (found := CHECK.search(source))}
    assert len(checked) >= 4 and list(checked) == exercises(name)
    for exercise, at in checked.items():
        task = sources[at - 1]
        assert task.startswith(f"### ✎ Exercise {exercise}\n\n")


@each("name", NAMES)
def test_no_text_has_a_name_where_its_value_belongs(name: str) -> None:
    """A text that was meant to be formatted would say ``{_SFA_ROW}``."""
    for cell in read(name).cells:
        assert cell.cell_type != "markdown" or not PLACEHOLDER.search(cell.source)


def test_no_hint_has_a_name_where_its_value_belongs() -> None:
    """The same for the sentences of the checks: no f is missing, no braces are doubled."""
    for file in Path(course.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert not PLACEHOLDER.search(node.value), f"{file.name}: {node.lineno}"


@each("page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda page: page.name)
def test_no_page_has_a_name_where_its_value_belongs(page: Path) -> None:
    assert not PLACEHOLDER.search(page.read_text(encoding="utf-8"))


@each("lesson", lessons.LESSONS, ids=lambda lesson: lesson.file)
def test_opens_with_a_promise_and_closes_with_what_is_next(lesson: lessons.Lesson) -> None:
    """The first cell says what readers will be able to do; the last ones, where to go on and what is done."""
    cells = read(lesson.file).cells
    assert "**After this lesson you can**" in cells[0].source and lesson.goals and lesson.minutes
    assert "?" in cells[0].source, "a lesson begins with a question"
    assert cells[-2].source.startswith("## Next\n") and cells[-1].source == "ptxlab.progress()"
    if lesson.number:
        assert cells[-3].source.startswith("## Summary\n"), "what to remember stands before what is next"
    after = lessons.LESSONS[(lessons.LESSONS.index(lesson) + 1) % len(lessons.LESSONS)]
    assert f"[`{after.file}`]({after.file}.ipynb)" in cells[-2].source
    assert "PTX ISA" in cells[-2].source


def test_a_lesson_comes_after_those_that_it_builds_on() -> None:
    before: set[str] = set()
    for lesson in lessons.LESSONS:
        assert before.issuperset(lesson.needs), lesson.file
        before.add(lesson.slug)
    parts = [part for part, _ in groupby(lesson.part for lesson in lessons.LESSONS)]
    assert len(parts) == len(set(parts)), "a part is a run of lessons"
    first_kernel = next(lesson for lesson in lessons.LESSONS if "first" in lesson.slug)
    assert sum(lesson.minutes for lesson in lessons.LESSONS if lesson.file < first_kernel.file) <= 180


@each("lesson", lessons.LESSONS, ids=lambda lesson: lesson.file)
def test_mentions_of_lessons_that_it_does_not_build_on_are_links(lesson: lessons.Lesson) -> None:
    """A reader may have taken any track: what a lesson counts on is what the map says it builds on."""
    known, todo = {lesson.number}, [lesson]
    while todo:
        needed = [lesson for lesson in lessons.LESSONS if lesson.slug in todo[-1].needs]
        todo[-1:] = needed
        known.update(lesson.number for lesson in needed)
    if lesson.number:
        prose = "\n".join(
            cell.source for cell in read(lesson.file).cells[:-2] if cell.cell_type == "markdown"
        )
        mentioned = re.findall(r"(?<!\[)[Ll]essons? (\d\d)(?: and (\d\d))?", prose)
        assert {number for pair in mentioned for number in pair if number} <= known


@each("lesson", lessons.LESSONS, ids=lambda lesson: lesson.file)
def test_says_where_in_the_gpu_it_is(lesson: lessons.Lesson) -> None:
    """The picture of an SM from lesson 00 returns once in each lesson, with parts marked."""
    pictures = [cell for cell in code(read(lesson.file)) if "figures.chip(" in cell.source]
    assert len(pictures) == bool(lesson.number)


@each("name", lessons.TRACKS)
def test_a_track_is_a_way_through_the_map(name: str) -> None:
    chosen = lessons.course_map(name)
    before: set[str] = set()
    for lesson in chosen.lessons:
        assert before.issuperset(lesson.needs)
        before.add(lesson.slug)
    page = chosen._repr_html_()
    assert "</strong> TMA" in page and "instruction to GEMM" in page
    assert page.count("dashed") == sum(bool(lesson.part) for lesson in lessons.LESSONS) - len(chosen.lessons)
    assert all(f'href="{lesson.file}.ipynb"' in page for lesson in chosen.lessons)


@each("name", NAMES)
def test_says_what_would_differ_on_a_gpu(name: str) -> None:
    notebook = read(name)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.search(r"^## .*GPU", text, re.M)
    assert "PTX ISA" in text
    assert "gpu.status(" in "\n".join(cell.source for cell in code(notebook))
    modules = "gemm_ladder|sparse_gemm|structured_sparsity|from_triton"  # their functions draw pictures
    functions = r"\bclimb|Slider|bits\.opening|bits\.parted|\.compare"
    drawn = re.compile(rf"figures\.|({modules})\.[a-z_]+\(|({functions})\(")
    assert sum(bool(drawn.search(cell.source)) for cell in code(notebook)) >= 4
    assert any("explore(" in cell.source for cell in code(notebook))


#: What sliders choose that needs no unit: names, numbers of things, and counts that say of what.
_WITHOUT_UNIT = {
    *("block", "change", "ids", "kernel", "lane", "layout", "left_out", "load", "memory", "mistake"),
    *("nibble", "operand", "order", "part", "phase", "row", "rung", "selector", "warp", "warps"),
    *("weights", "which", "chains", "rows", "stages", "step", "store", "track", "wait", "way"),
}


@each("name", NAMES)
def test_numbers_on_sliders_have_a_unit(name: str) -> None:
    for cell in code(read(name)):
        calls = ast.walk(ast.parse(cell.source)) if "Slider(" in cell.source else ()
        for call in calls:
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "Slider":
                names = {keyword.arg for keyword in call.keywords}
                has_text = "text" in names or len(call.args) == 2
                assert has_text or "unit" in names or names & _WITHOUT_UNIT, ast.unparse(call)


#: What all import, and what stays after each notebook: `%reset` need not look through it for garbage again.
BEFORE = "import gc, ptxlab, ptxlab.explorer.widget, ptxlab.lessons, plotly.graph_objects\ngc.freeze()"
RESET = "%reset -f\n__import__('gc').freeze()"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """One kernel for all notebooks: its start and what they all import take longer than most of them."""
    opened = nbclient.NotebookClient(
        nbformat.v4.new_notebook(),
        timeout=120,
        kernel_name="python3",
        store_widget_state=False,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    opened.nb.cells = [nbformat.v4.new_code_cell(BEFORE)]
    opened.execute(cleanup_kc=False)
    yield opened
    opened.nb = nbformat.v4.new_notebook()
    opened.execute()  # and so ends the kernel


@pytest.fixture(scope="module", params=(*NAMES, *SHAPES, *PROJECTS))
def executed(request: pytest.FixtureRequest, client: Any) -> Any:
    """The notebook run as it is; then, with the names that it made, its exercises with their solutions."""
    notebook = read(request.param)
    solved = []
    for cell in code(notebook):
        for exercise in answered(request.param):
            if f'check("{exercise}"' in cell.source:
                again = copy.deepcopy(cell)
                again.id = f"again-{cell.id}"
                again.source = cell.source.replace("...", SOLUTIONS[exercise], 1)
                solved.append(again)
    notebook.cells = [nbformat.v4.new_code_cell(RESET), *notebook.cells, *solved]
    client.nb = notebook
    client.execute(cleanup_kc=False)
    return request.param, notebook


def _verdicts(notebook: Any, again: bool) -> dict[str, str]:
    """The text of each verdict, by exercise."""
    texts = {}
    for cell in code(notebook):
        checked = CHECK.search(cell.source)
        if checked and cell.id.startswith("again-") == again:
            (output,) = cell.outputs
            texts[checked.group(1)] = output.data["text/plain"]
            assert output.data["text/markdown"].startswith("> **")
    return texts


@pytest.mark.slow
def test_notebooks_run_unanswered_and_solved(executed: Any) -> None:
    """No cell raised or warned; the unanswered exercises say so, the answered ones are right."""
    name, notebook = executed
    for cell in code(notebook):
        for output in cell.outputs:
            assert output.output_type != "error", (cell.source, output)
            assert output.get("name") != "stderr", (cell.source, output.text)
    before, after = _verdicts(notebook, again=False), _verdicts(notebook, again=True)
    assert list(before) == exercises(name) and list(after) == answered(name)
    assert all("not yet" in text for text in before.values()), before
    assert all(f"✓ {exercise} right" in text for exercise, text in after.items()), after


@pytest.mark.slow
def test_every_comparison_holds(executed: Any) -> None:
    """Whatever a notebook prints as a comparison is true."""
    printed = [
        output.text for cell in code(executed[1]) for output in cell.outputs if output.output_type == "stream"
    ]
    assert printed or executed[0] in (*SHAPES, *PROJECTS)
    assert not any(re.search(r"\bFalse\b", text) for text in printed)
    wide = [line for text in printed for line in text.splitlines() if len(line) > WIDEST]
    assert not wide, "JupyterLab breaks these inside words"
