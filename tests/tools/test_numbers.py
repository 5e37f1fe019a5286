"""Numbers in prose: each is that of what it is taken from, and none with a unit is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ptxlab.lessons import LESSONS
from tests.cases import each
from tools import numbers
from tools.numbers import Phrase, Section

pytestmark = pytest.mark.slow

SECTIONS = {section.page: section for section in numbers.sections()}


@each("page", SECTIONS)
def test_prose_states_what_was_measured_and_counted(page: str) -> None:
    assert numbers.differences(SECTIONS[page]) == [], "run `python -m tools.numbers --write`"


@each("slug", [lesson.slug for lesson in LESSONS])
def test_no_lesson_states_a_measured_number_that_nothing_holds(slug: str) -> None:
    assert numbers.measured_numbers(SECTIONS.get(slug, Section(slug, (), ()))) == []


def test_the_file_holds_numbers_of_most_lessons() -> None:
    held = [phrase for section in SECTIONS.values() for phrase in section.phrases if not phrase.source]
    assert len(held) > 100
    assert len(SECTIONS.keys() & {lesson.slug for lesson in LESSONS}) >= 25


def _page(folder: Path, text: str, *phrases: str) -> Section:
    """A page beside the project, with phrases."""

    class Own(Section):
        path = folder / "page.ipynb"

    cell = {"cell_type": "markdown", "id": "only", "metadata": {}, "source": text.splitlines(keepends=True)}
    Own.path.write_text(json.dumps({"cells": [cell]}, ensure_ascii=False, indent=1), encoding="utf-8")
    return Own(
        "page", (("wrong", "3 * 4"),), tuple(Phrase(at, phrase) for at, phrase in enumerate(phrases, 1))
    )


def test_a_stale_number_is_found_and_mended(tmp_path: Path) -> None:
    section = _page(
        tmp_path, 'It missed "nothing" in\n3.2 billion elements.', "in\n{large(wrong * 1e9)} elements"
    )
    stale = "numbers.txt, line 1: 'in\\n12 billion elements', but the page says 'in\\n3.2 billion elements'"
    assert numbers.differences(section) == [stale]
    numbers.write(section)
    assert numbers.differences(section) == []
    assert 'It missed "nothing" in\n12 billion elements.' in numbers.prose(section.path)


def test_a_phrase_that_is_gone_and_an_expression_that_fails_are_found(tmp_path: Path) -> None:
    assert "no such phrase" in numbers.differences(_page(tmp_path, "Other words.", "{wrong} warps"))[0]
    with pytest.raises(ValueError, match=r"line 1: missing: name 'missing' is not defined"):
        numbers.differences(_page(tmp_path, "12 warps", "{missing} warps"))


def test_part_of_a_longer_number_is_not_the_number(tmp_path: Path) -> None:
    assert numbers.differences(_page(tmp_path, "112 warps", "{wrong} warps"))
    assert numbers.differences(_page(tmp_path, "1.12 warps", "{wrong} warps"))
    assert numbers.differences(_page(tmp_path, "(12 warps)", "{wrong} warps")) == []


def test_a_number_with_a_unit_needs_a_phrase(tmp_path: Path) -> None:
    text = "It takes 24 cycles, or 13 % of 5 % 2, at N / 2 cycles and **1.5 cycles**, for 12 GB."
    found = numbers.measured_numbers(_page(tmp_path, text, "for {wrong} GB"))
    assert [len(found), "24 cycles" in found[0], "13 %" in found[1], "1.5 cycles" in found[2]] == [
        3,
        True,
        True,
        True,
    ]
