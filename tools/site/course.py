"""The course as a book: the notebooks, prepared for execution in the site, and their table of contents."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat

from ptxlab._util.files import write_atomically
from ptxlab.course.syllabus import PROJECTS, SHAPES
from ptxlab.lessons import LESSONS, Lesson

from ..address import address, is_published
from . import glossary, instructors
from .markdown import link, table

__all__ = ["contents", "prepared", "write"]

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


_MARK = "% The course in this tab stands here in a site with lite/ (make web).\n"
_IN_THIS_TAB = """\
```{raw} html
<p class="ways-on"><a class="way-on" href="../lite/notebooks/index.html?path=00-start-here.ipynb">
Start lesson 00 in this tab</a></p>
```

There is nothing to install: JupyterLite loads Python once, some 30 MB, and keeps it. Exercises are checked
there, Explorers are live, and kernels in CUDA C++ compile (the compiler, 23 MB, comes with the first). Your
progress stays in the browser, in `progress.json` among the notebooks.
"""


def write(folder: Path, *, brief: bool = False, web: bool = False) -> None:
    """Write every notebook, and the list of lessons that the course's first page includes.

    `brief` leaves the code out of all but the first; with `web`, each has a link to itself in JupyterLite.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for index, lesson in enumerate((*LESSONS, *PROJECTS, *SHAPES)):
        notebook = prepared(lesson, web=web)
        if brief and index:
            notebook.cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
        nbformat.write(notebook, folder / f"{lesson.file}.ipynb")
    write_atomically(folder / "contents.txt", contents())
    index = folder / "index.md"
    if index.exists():
        text = index.read_text(encoding="utf-8")
        assert _MARK in text, "docs/course/index.md lacks the comment for the course in a tab"
        write_atomically(index, text.replace(_MARK, _IN_THIS_TAB if web else ""))
    glossary.write(folder)
    instructors.write(folder)


def prepared(lesson: Lesson, *, web: bool = False) -> nbformat.NotebookNode:
    """The notebook with a hidden cell that shows figures and Explorers without a kernel.

    Below the title are links to places where it can be run; the cell that installs ptxlab on Colab becomes a
    plain import. The first use of each word of the glossary has a note.
    """
    notebook = nbformat.read(NOTEBOOKS / f"{lesson.file}.ipynb", as_version=4)
    prose = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    for cell, text in zip(prose, glossary.with_notes([cell.source for cell in prose], lesson), strict=True):
        cell.source = text
    heading, _, text = notebook.cells[0].source.partition("\n")
    notebook.cells[0].source = f"{heading}\n\n{_run_it(lesson, web)}\n{text}"
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    if first.source.endswith("import ptxlab"):  # with how to install it
        first.source = "import ptxlab"
    hook = nbformat.v4.new_code_cell(
        f'from tools.site import kernel\n\nkernel.install("{lesson.file}")',
        id="site-kernel",
        metadata={"tags": ["remove-cell"]},
    )
    notebook.cells.insert(1, hook)  # after the title, which Sphinx wants first
    return nbformat.NotebookNode(notebook)


def _run_it(lesson: Lesson, web: bool) -> str:
    """Links to places where the notebook can be run."""
    repository = address().removeprefix("https://github.com/")
    file = f"notebooks/{lesson.file}.ipynb"
    colab = link("Colab", f"https://colab.research.google.com/github/{repository}/blob/main/{file}")
    binder = link("Binder", f"https://mybinder.org/v2/gh/{repository}/HEAD?urlpath=lab/tree/{file}")
    tab = (
        f'<a href="../lite/notebooks/index.html?path={lesson.file}.ipynb">in this browser</a>, '
        if web
        else ""
    )
    places = f"`ptxlab lab`, {colab} or {binder}" if is_published() else "`make lab` in a clone"
    where = f"Run it yourself: {tab}{places}."
    if web:
        return (
            f"{where} An Explorer on this page wakes when you type into it: Python, some 15 MB, loads then."
        )
    return f"{where} The Explorers on this page are copies to point at; to type into them, run the lesson."


def contents() -> str:
    """The lessons of each part of the course as a table, with the tree that puts them beside every page."""
    blocks = []
    for part in dict.fromkeys(lesson.part for lesson in LESSONS if lesson.part):
        lessons = [lesson for lesson in LESSONS if lesson.part == part]
        entries = [f"{lesson.number} {title(lesson)} <{lesson.file}>" for lesson in lessons]
        blocks += [f"## {part}", _table(lessons), _tree(part, entries)]
    blocks.append(_tree("Projects", [lesson.file for lesson in PROJECTS]))
    others = [lesson for lesson in (*LESSONS, *SHAPES) if not lesson.number]
    blocks.append(_tree("To look things up", [lesson.file for lesson in others]))
    return "\n\n".join(blocks) + "\n"


def _table(lessons: list[Lesson]) -> str:
    rows = [
        (
            lesson.number,
            link(title(lesson), f"{lesson.file}.ipynb"),
            "; ".join(lesson.goals),
            str(lesson.minutes),
            str(len(lesson.exercises)),
        )
        for lesson in lessons
    ]
    return table(
        ("", "lesson", "afterwards you can", "minutes (estimate)", "exercises"), rows, numbers=(3, 4)
    )


def _tree(caption: str, entries: list[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```"])


def title(lesson: Lesson) -> str:
    """The first heading of a notebook."""
    notebook = nbformat.read(NOTEBOOKS / f"{lesson.file}.ipynb", as_version=4)
    heading = re.match(r"# (.*)", notebook.cells[0].source)
    return heading[1] if heading else lesson.file
