"""What of the course is done, kept in a small file so that it survives the kernel."""

from __future__ import annotations

import contextlib
import html
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._util.files import data_folder, write_atomically
from .core import Verdict
from .course import LESSONS, Lesson

__all__ = ["Progress", "file", "forget", "progress", "record"]

_FRAME = "display:inline-block;width:80px;height:8px;border:1px solid #8a8a8a;border-radius:4px"
_FILL = "display:block;width:{:.0f}%;height:100%;border-radius:4px;background:#0072B2"
_WRAPS = ("white-space:nowrap", "", *4 * ("white-space:nowrap",))  # only the question may take two lines
_SIGNS = {"right": "✓", "wrong": "✗", "not yet": "·"}


def file() -> Path:
    """The file that keeps the progress; the variable PTXLAB_PROGRESS names another one.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, PTXLAB_PROGRESS="mine.json"):
    ...     print(file())
    mine.json
    """
    chosen = os.environ.get("PTXLAB_PROGRESS")
    return Path(chosen) if chosen else data_folder() / "progress.json"


def _kept() -> dict[str, dict[str, Any]]:
    """State and tries by exercise; nothing where there is no file, or none that can be read."""
    try:
        found = json.loads(file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        name: kept
        for name, kept in found.items()
        if isinstance(kept, dict)
        and kept.get("state") in ("right", "wrong")
        and isinstance(kept.get("tries"), int)
    }


def record(verdict: Verdict) -> None:
    """Keep a verdict: once right stays right. A disk that cannot be written is no error.

    >>> record(Verdict("00.1", "not yet", ""))   # changes nothing
    """
    if verdict.state == "not yet":
        return
    kept = _kept()
    before = kept.get(verdict.exercise, {"state": "wrong", "tries": 0})
    if before["state"] == "right":
        return
    kept[verdict.exercise] = {"state": verdict.state, "tries": before["tries"] + 1}
    _write(kept)


def forget() -> None:
    """Begin the course again.

    >>> forget()
    >>> progress().done
    0
    """
    _write({})


def _write(kept: dict[str, dict[str, Any]]) -> None:
    """Two notebooks at once never leave half a file; a folder that cannot be written to is no error."""
    with contextlib.suppress(OSError):
        write_atomically(file(), json.dumps(kept, indent=1, sort_keys=True))


@dataclass(frozen=True)
class Progress:
    """Exercises by lesson: done, tried, or not yet. At the end of a notebook's cell it is a table.

    >>> forget()
    >>> progress().done, "00-start-here" in repr(progress())
    (0, True)
    """

    states: dict[str, str]
    tries: dict[str, int]

    @property
    def done(self) -> int:
        """How many exercises are right."""
        return sum(state == "right" for state in self.states.values())

    def of(self, lesson: Lesson) -> str:
        """Signs of a lesson's exercises.

        >>> progress().of(LESSONS[0])
        '····'
        """
        return "".join(_SIGNS[self.states[found.name]] for found in lesson.exercises)

    def __repr__(self) -> str:
        wide = max(len(lesson.file) for lesson in LESSONS)
        lines = [f"{self.done} of {len(self.states)} exercises done"]
        for lesson in LESSONS:
            if signs := self.of(lesson):
                lines.append(
                    f"  {lesson.file:<{wide}}  {signs.count('✓'):>2}/{len(signs)}  {' '.join(signs)}"
                )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = []
        for lesson in LESSONS:
            if not (signs := self.of(lesson)):
                continue
            share = signs.count("✓") / len(signs)
            bar = f'<span style="{_FRAME}"><span style="{_FILL.format(100 * share)}"></span></span>'
            marks = " ".join(
                f'<span title="{html.escape(found.name)}: {self.states[found.name]}">{sign}</span>'
                for found, sign in zip(lesson.exercises, signs, strict=True)
            )
            link = f'<a href="{lesson.file}.ipynb">{lesson.file}</a>'
            cells = (
                link,
                html.escape(lesson.question),
                f"{lesson.minutes} min",
                f"{signs.count('✓')} of {len(signs)}",
                bar,
                marks,
            )
            rows.append(
                "<tr>"
                + "".join(
                    f'<td style="text-align:left;{wrap}">{cell}</td>'
                    for wrap, cell in zip(_WRAPS, cells, strict=True)
                )
                + "</tr>"
            )
        head = "".join(
            f'<th style="text-align:left">{word}</th>'
            for word in ("lesson", "question", "time", "done", "", "exercises")
        )
        return f"<table><caption>{self.done} of {len(self.states)} exercises done</caption><tr>{head}</tr>{''.join(rows)}</table>"


def progress() -> Progress:
    """What of the course is done.

    >>> isinstance(progress(), Progress)
    True
    """
    kept = _kept()
    names = [found.name for lesson in LESSONS for found in lesson.exercises]
    return Progress(
        {name: kept.get(name, {}).get("state", "not yet") for name in names},
        {name: kept.get(name, {}).get("tries", 0) for name in names},
    )
