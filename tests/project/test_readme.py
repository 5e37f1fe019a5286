"""README and the hand-written documentation: short, true, and with links that lead somewhere."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

import pytest

from ptxlab.lessons import LESSONS
from tests.cases import each
from tools import address, explorer_picture, readme

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    readme.README,
    *(ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "CODE_OF_CONDUCT", "SECURITY")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
#: Links to files that are not part of the site.
ON_GITHUB = f"{address.address()}/blob/main/"
#: What `python -m tools.site` writes beside the hand-written pages.
GENERATED = re.compile(r"(course/)?[\w-]+\.ipynb|[\w-]+\.(md|rst)")


@pytest.mark.slow
def test_readme_is_short_and_up_to_date() -> None:
    text = readme.README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert "<!-- families -->" in text and text.count("$ ptxlab ") >= 2
    assert readme.render(text) == text, "run `make docs`"
    for page in ("docs/index.md", "docs/course/index.md"):
        assert "Thirty-two lessons" in (ROOT / page).read_text(encoding="utf-8")
    assert "thirty-two lessons" in text and sum(bool(lesson.exercises) for lesson in LESSONS) == 32
    assert "make lab" in text and "make test" in text and "ptxlab lab" in text


def test_readme_begins_with_the_page_and_a_picture_that_moves() -> None:
    """Above the fold: the address of the page in a tab, and a session on it that every visitor can load."""
    first = readme.README.read_text(encoding="utf-8")[:900]
    published = (ROOT / ".github" / "workflows" / "docs.yml").read_text(encoding="utf-8")
    assert "run: make web" in published  # `make docs` has no try/
    assert "/try/)" in first and f"](docs/{explorer_picture.FILM.name})" in first
    film = explorer_picture.FILM.read_bytes()
    assert film[:4] == b"RIFF" and film[8:16] == b"WEBPVP8X" and film.count(b"ANMF") > 20
    assert len(film) < 2_000_000


def test_teaching_is_up_to_date() -> None:
    text = readme.TEACHING.read_text(encoding="utf-8")
    assert "<!-- lessons -->" in text and "<!-- hub -->" in text
    assert readme.render(text) == text, "run `make docs`"


@each("name", readme.SYLLABI)
def test_a_syllabus_teaches_what_a_lesson_builds_on_first(name: str) -> None:
    by_slug = {lesson.slug: lesson for lesson in LESSONS}
    taught: set[str] = set()
    for _, slugs, _ in readme.SYLLABI[name]:
        for slug in slugs:
            assert slug not in taught and taught.issuperset(by_slug[slug].needs), slug
            taught.add(slug)
    assert f"<!-- {name} -->" in readme.TEACHING.read_text(encoding="utf-8")
    if name == "ten weeks":
        assert len(readme.SYLLABI[name]) == 10 and taught == {each.slug for each in LESSONS if each.number}


def test_the_limits_of_a_class_follow_from_the_measurement() -> None:
    """The configuration for Zero to JupyterHub has room for what the benchmark measured."""
    yaml = pytest.importorskip("yaml")
    text = readme.TEACHING.read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, flags=re.S)
    student = yaml.safe_load(block)["singleuser"]
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    rows = results["student"]["rows"]
    assert {lesson.file for lesson in LESSONS} <= rows.keys()
    server = max(run["server"] for run in results["hub"]["runs"])
    small, large = (
        max(rows[each.file]["peak"] for each in LESSONS if (each.slug in readme.WITH_COMPILER) == compiles)
        for compiles in (False, True)
    )
    megabytes = {"M": 1, "G": 1000}
    guarantee, limit = (
        int(student["memory"][name][:-1]) * megabytes[student["memory"][name][-1]]
        for name in ("guarantee", "limit")
    )
    assert server + small < 320 < guarantee
    assert max(server + large, server + 3 * small) < 700 < limit
    assert 30 * guarantee < 16_000 and 30 * student["cpu"]["guarantee"] <= 3
    assert int(student["extraEnv"]["OPENBLAS_NUM_THREADS"]) == student["cpu"]["limit"]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/guide/python.md",
        "docs/guide/kernels.md",
        "docs/index.md",
        "docs/reference/assembler-faults.md",
    ],
)
def test_examples(page: str) -> None:
    if ">>> import numba" in (ROOT / page).read_text(encoding="utf-8"):
        pytest.importorskip("numba")
    result = doctest.testfile(str(ROOT / page), module_relative=False)
    assert result.attempted >= 3 and result.failed == 0


@each("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)  # k[grid](x) is no link
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if target.startswith(ON_GITHUB):
            assert (ROOT / target.removeprefix(ON_GITHUB)).exists(), f"{page.relative_to(ROOT)}: {target}"
        if target.startswith("https://") or (page.name == "index.md" and GENERATED.fullmatch(target)):
            continue
        assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
