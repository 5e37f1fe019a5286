"""README and the hand-written documentation: short, true, and with links that lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from ptxlab.lessons import LESSONS
from tools import readme

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    readme.README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
#: What `python -m tools.site` writes beside the hand-written pages.
GENERATED = re.compile(r"(course/)?[\w-]+\.ipynb|[\w-]+\.(md|rst)")


@pytest.mark.slow
def test_readme_is_short_and_up_to_date() -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert "<!-- families -->" in text and text.count("$ ptxlab ") >= 2
    assert readme.render(text) == text, "run `make docs`"
    assert "fifteen lessons" in text and sum(bool(lesson.exercises) for lesson in LESSONS) == 15
    assert "make lab" in text and "make test" in text and "ptxlab lab" in text


def test_teaching_is_up_to_date() -> None:
    text = readme.TEACHING.read_text(encoding="utf-8")
    assert "<!-- lessons -->" in text and "<!-- hub -->" in text
    assert readme.render(text) == text, "run `make docs`"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", ["README.md", "docs/guide/python.md", "docs/index.md"])
def test_examples(page: str) -> None:
    result = doctest.testfile(str(ROOT / page), module_relative=False)
    assert result.attempted >= 3 and result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("https://") or (page.name == "index.md" and GENERATED.fullmatch(target)):
            continue
        assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
