"""Which exercises are done: kept in a small file, so that it survives the kernel."""

from __future__ import annotations

import contextlib
import html
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from .._util.files import data_folder, write_atomically
from .checking import Verdict
from .syllabus import LESSONS, Lesson

__all__ = ["Progress", "forget", "progress", "progress_file", "record"]

_FRAME = "display:inline-block;width:80px;height:8px;border:1px solid #8a8a8a;border-radius:4px"
_FILL = "display:block;width:{:.0f}%;height:100%;border-radius:4px;background:#0072B2"
_ONE_LINE = "white-space:nowrap"
#: The columns of the table, with their style: only the question may take two lines.
_COLUMNS = (
    ("lesson", _ONE_LINE),
    ("question", ""),
    ("time", _ONE_LINE),
    ("done", _ONE_LINE),
    ("", _ONE_LINE),
    ("exercises", _ONE_LINE),
)
_SIGNS = {"right": "✓", "wrong": "✗", "not yet": "·"}


class _Entry(TypedDict):
    """What the file says about one exercise."""

    state: str
    tries: int


def progress_file() -> Path:
    """The file that holds the progress; the environment variable PTXLAB_PROGRESS names another one.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, PTXLAB_PROGRESS="mine.json"):
    ...     print(progress_file())
    mine.json
    """
    chosen = os.environ.get("PTXLAB_PROGRESS")
    return Path(chosen) if chosen else data_folder() / "progress.json"


def _read() -> dict[str, _Entry]:
    """State and tries by exercise; nothing if there is no file, or none that can be read."""
    try:
        content = json.loads(progress_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    entries = {}
    for name, entry in content.items():
        if not isinstance(entry, dict):
            continue
        state, tries = entry.get("state"), entry.get("tries")
        if state in ("right", "wrong") and isinstance(tries, int):
            entries[name] = _Entry(state=state, tries=tries)
    return entries


def _write(entries: dict[str, _Entry]) -> None:
    """Write the file; if the disk cannot be written, the course goes on without it."""
    with contextlib.suppress(OSError):
        write_atomically(progress_file(), json.dumps(entries, indent=1, sort_keys=True))


def record(verdict: Verdict) -> None:
    """Record a verdict. An exercise that was right once stays right."""
    if verdict.state == "not yet":
        return
    entries = _read()
    before = entries.get(verdict.exercise, _Entry(state="wrong", tries=0))
    if before["state"] == "right":
        return
    entries[verdict.exercise] = _Entry(state=verdict.state, tries=before["tries"] + 1)
    _write(entries)


def forget() -> None:
    """Start the course again."""
    _write({})


@dataclass(frozen=True)
class Progress:
    """Exercises by lesson: right, wrong, or not yet. A notebook shows it as a table.

    >>> forget()
    >>> print(str(progress()).splitlines()[1])
      00-start-here                 0/4  · · · ·
    """

    states: dict[str, str]
    tries: dict[str, int]

    @property
    def done(self) -> int:
        """How many exercises are right."""
        return sum(state == "right" for state in self.states.values())

    def signs(self, lesson: Lesson) -> str:
        """One sign for each exercise of a lesson: ✓ right, ✗ wrong, · not yet."""
        return "".join(_SIGNS[self.states[exercise.name]] for exercise in lesson.exercises)

    def __repr__(self) -> str:
        width = max(len(lesson.file) for lesson in LESSONS)
        lines = [f"{self.done} of {len(self.states)} exercises done"]
        for lesson in LESSONS:
            signs = self.signs(lesson)
            if signs:
                count = f"{signs.count('✓'):>2}/{len(signs)}"
                lines.append(f"  {lesson.file:<{width}}  {count}  {' '.join(signs)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "".join(f'<th style="text-align:left">{name}</th>' for name, _ in _COLUMNS)
        rows = "".join(self._html_row(lesson) for lesson in LESSONS if lesson.exercises)
        caption = f"{self.done} of {len(self.states)} exercises done"
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{rows}</table>"

    def _html_row(self, lesson: Lesson) -> str:
        signs = self.signs(lesson)
        right = signs.count("✓")
        fill = _FILL.format(100 * right / len(signs))
        marks = " ".join(
            f'<span title="{html.escape(exercise.name)}: {self.states[exercise.name]}">{sign}</span>'
            for exercise, sign in zip(lesson.exercises, signs, strict=True)
        )
        contents = (
            f'<a href="{lesson.file}.ipynb">{lesson.file}</a>',
            html.escape(lesson.question),
            f"{lesson.minutes} min",
            f"{right} of {len(signs)}",
            f'<span style="{_FRAME}"><span style="{fill}"></span></span>',
            marks,
        )
        cells = "".join(
            f'<td style="text-align:left;{style}">{content}</td>'
            for (_, style), content in zip(_COLUMNS, contents, strict=True)
        )
        return f"<tr>{cells}</tr>"


def progress() -> Progress:
    """Which exercises of the course are done."""
    entries = _read()
    names = [exercise.name for lesson in LESSONS for exercise in lesson.exercises]
    states = {name: entries[name]["state"] if name in entries else "not yet" for name in names}
    tries = {name: entries[name]["tries"] if name in entries else 0 for name in names}
    return Progress(states, tries)
