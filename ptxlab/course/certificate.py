"""A page that says which exercises of the course a reader has solved: `lessons.certificate`."""

from __future__ import annotations

import hashlib
import html
import json
import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import NamedTuple

from .._util.arguments import as_path, as_text
from .._util.files import reason, write_atomically
from .._version import __version__
from ..errors import PtxlabError, listing, quoted
from ..views.palette import EDGE, HUES
from .progress_record import read, recorded
from .syllabus import EXERCISES, LESSONS, Lesson

_LONGEST_NAME = 80
_STYLE = """\
.ptxlab-certificate { box-sizing: border-box; max-width: 180mm; padding: 12mm 14mm; margin: 0 auto;
  border: 2px solid currentColor; font: 14px/1.45 Helvetica, Arial, sans-serif; }
.ptxlab-certificate h1 { font-size: 15px; font-weight: 400; letter-spacing: .12em; text-transform: uppercase;
  margin: 0 0 12mm; }
.ptxlab-certificate .name { font-size: 34px; line-height: 1.2; margin: 0 0 3mm; overflow-wrap: anywhere; }
.ptxlab-certificate .sum { font-size: 17px; margin: 0 0 9mm; }
.ptxlab-certificate table { width: 100%; border-collapse: collapse; margin: 0 0 8mm; font-size: inherit; }
.ptxlab-certificate tr { background: none !important; }
.ptxlab-certificate th, .ptxlab-certificate td { text-align: left !important; font-weight: 400;
  padding: 5px 8px 5px 0; border-bottom: 1px solid EDGE; white-space: nowrap; }
.ptxlab-certificate td.bar { width: 40%; padding-right: 0; }
.ptxlab-certificate svg { display: block; width: 100%; height: 10px; }
.ptxlab-certificate small { display: block; font-size: 12px; margin-top: 3mm; }
.ptxlab-certificate code { background: none !important;
  font: 15px/1 "DejaVu Sans Mono", Menlo, Consolas, monospace; }
""".replace("EDGE", EDGE)
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
@page {{ size: A4; margin: 14mm; }}
:root {{ color-scheme: light dark; }}
body {{ margin: 14mm 4mm; background: Canvas; color: CanvasText; }}
@media print {{ :root {{ color-scheme: light; }} body {{ margin: 0; }} }}
</style>
</head>
<body>
{certificate}
</body>
</html>
"""


class _Row(NamedTuple):
    """A part of the course with its exercises."""

    part: str
    solved: int
    exercises: int
    minutes: float  # of the lessons, as far as their exercises are solved


@dataclass(frozen=True)
class Certificate:
    """What a reader has solved, as a page to print. `lessons.certificate` gives it.

    `code` is a hash of the name, the day, the version and the exercises that are solved.
    """

    name: str
    day: date
    solved: frozenset[str]  # names of exercises

    @property
    def code(self) -> str:
        """Twelve hexadecimal digits that follow from the other data.

        >>> len(Certificate("Ada", date(2026, 11, 19), frozenset({"00.1"})).code.split("-"))
        3
        """
        text = json.dumps([self.name, self.day.isoformat(), __version__, sorted(self.solved)])
        digits = hashlib.sha256(text.encode()).hexdigest()[:12]
        return "-".join(digits[start : start + 4] for start in (0, 4, 8))

    @property
    def minutes(self) -> float:
        """The authors' estimate for what is solved: of each lesson as much as of its exercises."""
        return sum(row.minutes for row in self._rows)

    @property
    def missing(self) -> dict[str, tuple[str, ...]]:
        """The exercises that are still open, by lesson.

        >>> done = frozenset(EXERCISES) - {"00.3"}
        >>> Certificate("Ada", date(2026, 11, 19), done).missing
        {'00-start-here': ('00.3',)}
        """
        open_ones = {
            lesson.file: tuple(entry.name for entry in lesson.exercises if entry.name not in self.solved)
            for lesson in LESSONS
        }
        return {file: names for file, names in open_ones.items() if names}

    @property
    def _rows(self) -> list[_Row]:
        parts: dict[str, list[Lesson]] = {}
        for lesson in LESSONS:
            if lesson.exercises:
                parts.setdefault(lesson.part, []).append(lesson)
        return [
            _Row(
                part,
                sum(map(self._solved_of, lessons)),
                sum(len(lesson.exercises) for lesson in lessons),
                sum(lesson.minutes * self._solved_of(lesson) / len(lesson.exercises) for lesson in lessons),
            )
            for part, lessons in parts.items()
        ]

    def _solved_of(self, lesson: Lesson) -> int:
        return sum(exercise.name in self.solved for exercise in lesson.exercises)

    @property
    def _sum(self) -> str:
        hours = f"{self.minutes / 60:.1f}".removesuffix(".0")
        unit = "hour" if hours == "1" else "hours"
        return (
            f"has solved {len(self.solved)} of the {len(EXERCISES)} exercises of the ptxlab course: "
            f"about {hours} {unit} of work by its authors' estimate."
        )

    @property
    def _open(self) -> str:
        if not self.missing:
            return "The whole course is solved; nothing is missing."
        lessons = [f"{file[:2]} ({len(names)})" for file, names in self.missing.items()]
        return f"Still open, by lesson: {listing(lessons, len(lessons))}."

    def __repr__(self) -> str:
        width = max(len(row.part) for row in self._rows)
        rows = [f"  {row.part:<{width}}  {row.solved:>2} of {row.exercises}" for row in self._rows]
        lines = (f"{self.name} {self._sum}", *rows, self._open, f"{self.day}, code {self.code}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th scope='row'>{html.escape(row.part)}</th><td>{row.solved} of {row.exercises}</td>"
            f"<td class='bar'>{_bar(row.solved / row.exercises)}</td></tr>"
            for row in self._rows
        )
        return (
            f"<style>{_STYLE}</style><article class='ptxlab-certificate'>"
            "<h1>ptxlab: tensor-core instructions</h1>"
            f"<p class='name'>{html.escape(self.name)}</p><p class='sum'>{html.escape(self._sum)}</p>"
            f"<table>{rows}</table><p>{html.escape(self._open)}</p>"
            f"<p>{self.day.day} {self.day:%B %Y} · ptxlab {__version__} · code <code>{self.code}</code></p>"
            "<small>The checks of the course judged the answers, on the reader's own computer. The code is a "
            "hash of this page's data: a teacher who has the reader's progress file can compute it again. It "
            "is no proof: nobody watched, and the file can be edited.</small></article>"
        )

    def save(self, path: str | Path) -> Path:
        """Write the page: one HTML file without scripts, which prints on one sheet of A4."""
        target = as_path(path, "path")
        if target.suffix.lower() not in (".html", ".htm"):
            raise PtxlabError(f"path: found {quoted(target.name)}; the certificate is written as .html")
        title = html.escape(f"{self.name}: ptxlab, {len(self.solved)} of {len(EXERCISES)} exercises")
        try:
            write_atomically(target, _PAGE.format(title=title, certificate=self._repr_html_()))
        except OSError as error:
            raise PtxlabError(f"{target}: the page could not be written ({reason(error)})") from None
        return target


def _bar(part: float) -> str:
    frame = "x='.5' y='.5' width='99' height='9' fill='none' stroke='currentColor' stroke-opacity='.5'"
    return (
        "<svg viewBox='0 0 100 10' preserveAspectRatio='none' aria-hidden='true'>"
        f"<rect width='{100 * part:.1f}' height='10' fill='{HUES['blue']}'/>"
        f"<rect {frame} vector-effect='non-scaling-stroke'/></svg>"
    )


def certificate(name: str, *, day: str | None = None, file: str | Path | None = None) -> Certificate:
    """What you have solved so far, as a page with your name; `save` writes it.

    A teacher checks one with the student's progress file and the day on the page:
    ``lessons.certificate("Ada Lovelace", day="2026-11-19", file="ada.json").code`` gives the same code. This
    shows that page and file belong together, not who solved the exercises.

    >>> from ptxlab import lessons
    >>> lessons.forget()
    >>> lessons.certificate("Ada Lovelace")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: no exercise is solved yet, and a certificate needs one; begin with lesson 00
    """
    words = " ".join(as_text(name, "name").split())
    if not 0 < len(words) <= _LONGEST_NAME or not words.isprintable():
        raise PtxlabError(f"name: found {quoted(name)}; it has 1 to {_LONGEST_NAME} letters")
    entries = recorded() if file is None else read(as_path(file, "file"), required=True)
    solved = frozenset(name for name in EXERCISES if entries.get(name, {}).get("state") == "right")
    if not solved:
        raise PtxlabError("no exercise is solved yet, and a certificate needs one; begin with lesson 00")
    return Certificate(words, date.today() if day is None else _day(day), solved)


def _day(text: str) -> date:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", as_text(text, "day"), re.ASCII):
        try:
            return date.fromisoformat(text)
        except ValueError:
            pass
    raise PtxlabError(f"day: found {quoted(text)}; it is written as 2026-11-19")
