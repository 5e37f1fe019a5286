"""README and the hand-written documentation: short, true, and with links that lead somewhere."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

import pytest

from ptxlab.lessons import LESSONS
from tests.cases import each
from tools import address, explorer_picture, publication, readme

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    readme.README,
    *(
        ROOT / f"{name}.md"
        for name in ("AGENTS", "CONTRIBUTING", "CHANGELOG", "CODE_OF_CONDUCT", "SECURITY", "SKILL")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def as_published(page: Path, published: bool) -> str:
    """The text of a page before anything is published, or after."""
    repository = address.address()
    site = address.urls(repository)["Documentation"]
    text, file = page.read_text(encoding="utf-8"), page.relative_to(ROOT).as_posix()
    return publication.rendered(file, text, published=published, repository=repository, site=site)


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
        assert "Thirty-three lessons" in (ROOT / page).read_text(encoding="utf-8")
    assert "thirty-three lessons" in text and sum(bool(lesson.exercises) for lesson in LESSONS) == 33
    assert "make lab" in text and "make test" in text and "ptxlab lab" in text


@each("published", [False, True])
def test_readme_begins_with_the_page_and_a_picture_that_moves(published: bool) -> None:
    """Above the fold: how to open the page in a tab, and a session on it that every visitor can load."""
    first = as_published(readme.README, published)[:900]
    workflow = (ROOT / ".github" / "workflows" / "docs.yml").read_text(encoding="utf-8")
    assert "run: make web" in workflow  # `make docs` has no try/
    assert ("/try/)" if published else "`make try`") in first
    assert f"](docs/{explorer_picture.FILM.name})" in first
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
        assert len(readme.SYLLABI[name]) == 10 and taught == {
            lesson.slug for lesson in LESSONS if lesson.number
        }


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
        max(
            rows[lesson.file]["peak"]
            for lesson in LESSONS
            if (lesson.slug in readme.WITH_COMPILER) == compiles
        )
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
def test_examples_of_pages_are_true(page: str) -> None:
    if ">>> import numba" in (ROOT / page).read_text(encoding="utf-8"):
        pytest.importorskip("numba")
    result = doctest.testfile(str(ROOT / page), module_relative=False)
    assert result.attempted >= 3 and result.failed == 0


#: What exists only once it is published, or is asked for there.
ELSEWHERE = re.compile(
    r"https?://[\w.-]*github\.io/\S*|https://github\.com/ptxlab/\S*|colab\.research\.google|mybinder\.org"
    r'|pip install (?:-\S+ )*\\?"?ptxlab\b|uvx ptxlab|ptxlab @ git\+|github\.com/ptxlab/ptxlab'
)


def _links(page: Path, text: str) -> list[str]:
    """The targets of a page's links, without those that lead to other sites; files that it links to exist."""
    others = []
    text = re.sub(r"```.*?```", "", text, flags=re.S)  # k[grid](x) is no link
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if target.startswith(ON_GITHUB):
            assert (ROOT / target.removeprefix(ON_GITHUB)).exists(), f"{page.relative_to(ROOT)}: {target}"
        if target.startswith("https://"):
            others.append(target)
        elif page.name != "index.md" or not GENERATED.fullmatch(target):
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
    return others


@each("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Before anything is published: files of the clone, and places that exist without ptxlab."""
    text = as_published(page, published=False)
    own = address.urls(address.address())["Documentation"], address.address()
    for target in _links(page, text):
        assert not target.startswith(own), f"{page.relative_to(ROOT)}: nobody has published {target}"
    _links(page, as_published(page, published=True))


@each("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_nothing_unpublished_is_offered(page: Path) -> None:
    """No package of an index, no site, no repository that nobody holds yet; `CHANGELOG.md` is history."""
    if page.name == "CHANGELOG.md":
        return
    assert ELSEWHERE.findall(as_published(page, published=False)) == []


def test_the_published_readme_offers_all_of_it() -> None:
    offered = "\n".join(ELSEWHERE.findall(as_published(readme.README, published=True)))
    for place in ("github.io", "colab", "mybinder", "pip install", "uvx ptxlab"):
        assert place in offered


@each("file", sorted(publication.PASSAGES))
def test_both_texts_turn_into_each_other(file: str) -> None:
    text = as_published(ROOT / file, address.is_published())
    assert text == (ROOT / file).read_text(encoding="utf-8"), "run `python -m tools.address`"
    repository = address.address()
    addresses = {"repository": repository, "site": address.urls(repository)["Documentation"]}
    one = publication.rendered(file, text, published=True, **addresses)
    other = publication.rendered(file, one, published=False, **addresses)
    assert one != other and publication.rendered(file, other, published=True, **addresses) == one
    with pytest.raises(ValueError, match="where once is right"):
        publication.rendered(file, "", published=True, **addresses)


def test_what_readme_says_of_interpreters_was_measured() -> None:
    """A fifth or less of the time of Triton's interpreter, a tenth or less of that of Numba's simulator."""
    text = readme.README.read_text(encoding="utf-8")
    assert "a fifth or less" in text and "a tenth or less" in text
    rows = json.loads((ROOT / "benchmarks" / "results.json").read_text())["interpreters"]["rows"]
    assert len(rows) == 4
    for row in rows:
        (other,) = (row[name] for name in row if name not in ("kernel", "ptxlab"))
        assert other / row["ptxlab"] >= (5 if row["kernel"].startswith("triton") else 10), row
