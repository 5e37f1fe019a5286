"""The glossary: every word is introduced where it says, and the site notes its first use in a lesson."""

from __future__ import annotations

import re

import pytest

from ptxlab import lessons
from ptxlab.course.glossary import terms
from tests.cases import refuses

nbformat = pytest.importorskip("nbformat")

from tools.site import course, glossary  # noqa: E402

LESSON = {lesson.slug: lesson for lesson in lessons.LESSONS}


def test_every_word_is_in_the_lesson_that_introduces_it() -> None:
    for name, found in glossary.uses().items():
        assert terms()[name].introduced in found, name


def test_entries_name_lessons_that_exist() -> None:
    for name, term in terms().items():
        assert {term.lesson, *term.only, *term.never} <= set(LESSON), name
        assert term.means_this_in(term.introduced), name
        assert term.text.endswith(".") and "`" not in term.text and len(term.text) < 260, name
        assert 1 <= len(re.findall(r"[.;](?: |$)", term.text)) <= 3, name
    assert list(terms()) == sorted(terms(), key=str.lower)
    assert len({term.anchor for term in terms().values()}) == len(terms()) > 60


def test_a_word_has_one_sense_in_a_lesson() -> None:
    for lesson in lessons.LESSONS:
        words = [word for term in terms().values() if term.means_this_in(lesson) for word in term.words]
        assert len(words) == len(set(words)), lesson.file


def test_notes_are_at_the_first_use_alone() -> None:
    """Outside of code, links and headings; the rest of the text is as it was."""
    lesson = LESSON["shared-memory-and-banks"]
    cells = [
        "# Banks\n\nA `bank`, [banks](x.md).\n\n```\nbank\n```\n\n**Banks** hold a swizzle; a bank.",
        "Another bank, and a wavefront-like vector.",
    ]
    first, second = glossary.with_notes(cells, lesson)
    assert re.findall(r'title="[^"]*">(.*?)</a>', first) == ["Banks", "swizzle"]
    assert re.findall(r'title="[^"]*">(.*?)</a>', second) == ["vector"]
    assert [re.sub(r'<a class="term".*?>(.*?)</a>', r"\1", text) for text in (first, second)] == cells
    assert 'href="glossary.html#term-bank"' in first


def test_the_sense_of_the_lesson_is_shown() -> None:
    (shared,) = glossary.with_notes(["A vector in a lane."], LESSON["shared-memory-and-banks"])
    (plain,) = glossary.with_notes(["A vector in a lane."], LESSON["metadata-and-selector"])
    (tensor,) = glossary.with_notes(["A vector in a lane."], LESSON["tensor-memory"])
    assert "16 bytes of a row" in shared and "rows of tensor memory" not in shared
    assert "vector" in plain and 'term-vector"' not in plain
    assert "rows of tensor memory" in tensor and 'term-vector"' not in tensor


def test_lessons_on_the_site_have_notes_and_the_page_has_their_targets() -> None:
    page = str(glossary.page())
    noted = set()
    for lesson in lessons.LESSONS[:8]:
        text = "\n".join(cell.source for cell in course.prepared(lesson).cells)
        anchors = re.findall(r'href="glossary\.html#([\w-]+)"', text)
        assert len(anchors) == len(set(anchors)), lesson.file
        noted |= set(anchors)
    assert len(noted) > 30
    assert all(f"({anchor})=" in page for anchor in noted)


def test_in_a_notebook() -> None:
    entry = lessons.glossary("Banks")
    assert repr(entry).startswith("bank (lesson 04): One of the 32 columns")
    assert 'href="04-shared-memory-and-banks.ipynb"' in entry._repr_html_()
    assert [term.name for term in lessons.glossary("chunk").entries] == ["chunk"]
    assert len(lessons.glossary().entries) == len(terms())
    refuses("the glossary has no word 'swizle'; did you mean swizzle", lessons.glossary, "swizle")
    refuses("the glossary has no word 'xyz'; glossary.. shows all words", lessons.glossary, "xyz")
    refuses("name", lessons.glossary, 7)
