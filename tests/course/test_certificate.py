"""The page of what a reader has solved: its sums, what is missing, its code, and the file."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ptxlab import lessons
from ptxlab.course import certificate as module
from tests.cases import refuses


def _record(path: Path, right: list[str], wrong: list[str] | None = None) -> Path:
    entries = {name: {"state": "right", "tries": 2, "numbering": 2} for name in right}
    entries |= {name: {"state": "wrong", "tries": 1} for name in wrong or []}
    path.write_text(json.dumps({**entries, "review: bank of a byte": {"state": "right", "tries": 1}}))
    return path


class _Text(HTMLParser):
    """The tags of a page, and the text outside of its style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not {"src", "href", "onload"}.intersection(name for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] != ["style"]:
            self.text += data


def test_sums_by_part_and_what_is_missing(tmp_path: Path) -> None:
    first = lessons.LESSONS[0]
    solved = [exercise.name for exercise in first.exercises][1:]
    file = _record(tmp_path / "progress.json", solved, [first.exercises[0].name])
    certificate = lessons.certificate("  Ada \n Lovelace ", file=file)
    assert certificate.name == "Ada Lovelace" and certificate.solved == set(solved)
    assert certificate.minutes == pytest.approx(first.minutes * len(solved) / (len(solved) + 1))
    total = len(lessons.EXERCISES)
    assert f"Ada Lovelace has solved {len(solved)} of the {total} exercises" in repr(certificate)
    assert certificate.missing[first.file] == (first.exercises[0].name,)
    assert sum(map(len, certificate.missing.values())) == total - len(solved)
    parts = {lesson.part for lesson in lessons.LESSONS if lesson.exercises}
    assert all(part in certificate._repr_html_() for part in parts)


def test_the_whole_course(tmp_path: Path) -> None:
    file = _record(tmp_path / "progress.json", list(lessons.EXERCISES))
    certificate = lessons.certificate("Ada", file=file)
    minutes = sum(lesson.minutes for lesson in lessons.LESSONS if lesson.exercises)
    assert certificate.missing == {} and certificate.minutes == pytest.approx(minutes)
    assert "nothing is missing" in repr(certificate)


def test_the_code_follows_from_name_day_version_and_exercises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _record(tmp_path / "a.json", ["00.1", "00.2"])
    same = _record(tmp_path / "b.json", ["00.2", "00.1"], ["00.3"])
    other = _record(tmp_path / "c.json", ["00.1", "00.3"])
    code = lessons.certificate("Ada", day="2026-11-19", file=file).code
    assert lessons.certificate("Ada", day="2026-11-19", file=same).code == code
    others = {
        lessons.certificate("Eda", day="2026-11-19", file=file).code,
        lessons.certificate("Ada", day="2026-11-20", file=file).code,
        lessons.certificate("Ada", day="2026-11-19", file=other).code,
    }
    monkeypatch.setattr(module, "__version__", "9.9")
    others.add(lessons.certificate("Ada", day="2026-11-19", file=file).code)
    assert len(others) == 4 and code not in others


def test_the_page_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_PROGRESS", str(_record(tmp_path / "progress.json", ["00.1"])))
    certificate = lessons.certificate("<b>Ada & Bob</b>", day="2026-11-19")
    page = certificate.save(tmp_path / "certificate.html").read_text(encoding="utf-8")
    parsed = _Text(page)
    assert not {"b", "script", "link", "img", "iframe"}.intersection(parsed.tags)
    assert "<b>Ada & Bob</b>" in parsed.text and "19 November 2026" in parsed.text
    assert certificate.code in parsed.text and "It is no proof" in parsed.text
    assert "url(" not in page and "size: A4" in page and "color-scheme: light dark" in page


def test_refusals_say_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_PROGRESS", str(tmp_path / "progress.json"))
    refuses("no exercise is solved yet, .*; begin with lesson 00", lessons.certificate, "Ada")
    refuses("there is no such file", lessons.certificate, "Ada", file=tmp_path / "none.json")
    _record(tmp_path / "progress.json", ["00.1"])
    for name in ("", "   ", "A" * 81, "A\0B"):
        refuses("name: found .*; it has 1 to 80 letters", lessons.certificate, name)
    for day in ("19.11.2026", "2026-13-01", "20261119"):
        refuses("day: found .*; it is written as 2026-11-19", lessons.certificate, "Ada", day=day)
    certificate = lessons.certificate("Ada")
    refuses("the certificate is written as .html", certificate.save, tmp_path / "page.pdf")
    (tmp_path / "folder.html").mkdir()
    refuses("the page could not be written", certificate.save, tmp_path / "folder.html")
