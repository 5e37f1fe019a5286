"""The page of the glossary, and the links to it from the first use of each word in a lesson."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import nbformat

from ptxlab._util.files import write_atomically
from ptxlab.course.glossary import Term, terms
from ptxlab.lessons import LESSONS, Lesson

from .markdown import Page, link

__all__ = ["page", "uses", "with_notes", "write"]

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
#: Passages of Markdown in which no word gets a note: code, headings, links, formulas, HTML.
_KEPT = re.compile(
    r"^```.*?^```|`+[^`]*`+|^#[^\n]*|!?\[[^\]]*\]\([^)]*\)|\$[^$\n]+\$|<[^>\n]+>", re.MULTILINE | re.DOTALL
)


def write(folder: Path) -> None:
    write_atomically(folder / "glossary.md", str(page()))


def page() -> Page:
    """Every word with its meaning, the lesson that introduces it, and the others that use it."""
    out = Page("Glossary")
    out.add(
        "The words of the course. In each lesson on this site the first use of a word shows its meaning when "
        'you point at it; in a notebook `lessons.glossary("bank")` shows it.'
    )
    letter = ""
    for term in sorted(terms().values(), key=lambda term: term.name.lower()):
        if term.name[0].upper() != letter:
            letter = term.name[0].upper()
            out.heading(2, letter)
        lessons = [link(lesson.number, f"{lesson.file}.ipynb") for lesson in uses()[term.name]]
        introduced = link(f"lesson {term.introduced.number}", f"{term.introduced.file}.ipynb")
        out.add(f"({term.anchor})=\n**{term.name}**: {term.text}")
        out.add(f"Introduced in {introduced}; used in {', '.join(lessons)}.")
    return out


@lru_cache(maxsize=1)
def uses() -> dict[str, list[Lesson]]:
    """By word, the lessons whose prose uses it, in order."""
    lessons_of: dict[str, list[Lesson]] = {name: [] for name in terms()}
    for lesson in LESSONS:
        notebook = nbformat.read(NOTEBOOKS / f"{lesson.file}.ipynb", as_version=4)
        prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        for term in terms().values():
            if lesson.number and term.means_this_in(lesson) and term.pattern.search(prose):
                lessons_of[term.name].append(lesson)
    return lessons_of


def with_notes(cells: Sequence[str], lesson: Lesson) -> list[str]:
    """Markdown cells of a lesson in which the first use of each word links to the glossary, with a note."""
    todo = [term for term in terms().values() if term.means_this_in(lesson)]
    todo.sort(key=lambda term: -max(map(len, term.words)))  # "tensor memory" before "memory"
    texts = []
    for cell in cells:
        for term in list(todo):
            cell, is_found = _with_note(cell, term)
            if is_found:
                todo.remove(term)
        texts.append(cell)
    return texts


def _with_note(cell: str, term: Term) -> tuple[str, bool]:
    """The cell with a note at the first use of a word, if it has one outside of what is kept."""
    kept = [match.span() for match in _KEPT.finditer(cell)]
    if "<a class=" in cell:  # the texts of notes that are already there
        kept += [match.span() for match in re.finditer(r"<a class=.*?</a>", cell)]
    for match in term.pattern.finditer(cell):
        if any(start <= match.start() < end for start, end in kept):
            continue
        note = html.escape(term.text, quote=True)
        linked = f'<a class="term" href="glossary.html#{term.anchor}" title="{note}">{match[0]}</a>'
        return cell[: match.start()] + linked + cell[match.end() :], True
    return cell, False
