"""Which exercises are done, and when questions come back: a small file, so that it survives the kernel."""

from __future__ import annotations

import atexit
import contextlib
import html
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from .._util.files import data_folder, locked, path_from_environment, read_text_file, reason, write_atomically
from ..errors import PtxlabError, quoted
from ..question import Verdict
from ..views.palette import HUES, RULE
from .syllabus import LESSONS, Lesson

_FRAME = f"display:inline-block;width:80px;height:8px;border:1px solid {RULE};border-radius:4px"
_FILL = "display:block;width:{:.0f}%;height:100%;border-radius:4px;background:" + HUES["blue"]
_ONE_LINE = "white-space:nowrap"
#: The columns of the table, with their style: only the question may take two lines.
_COLUMNS = (
    ("lesson", _ONE_LINE),
    ("question", ""),
    ("estimate", _ONE_LINE),
    ("done", _ONE_LINE),
    ("", _ONE_LINE),
    ("exercises", _ONE_LINE),
)
_SIGNS = {"right": "✓", "wrong": "✗", "not yet": "·"}


#: What the file says about one exercise, or about one question of a review: its `state` and `tries`, of a
#: question that comes back its `box` and the day on which it is `due`, and what a later version may add.
Entry: TypeAlias = "dict[str, Any]"
#: Lessons that had other numbers before the course was renumbered, with their exercises in the same order.
_LESSONS_MOVED = {
    "02": "03", "03": "02", "07": "09", "08": "10", "09": "11", "10": "12", "11": "13", "12": "14",
    "13": "15", "14": "16", "15": "17",
}  # fmt: skip
#: The exercises by their names before that, with the names that they have now; None for those that are gone.
_MOVED: dict[str, str | None] = {
    **{f"{old}.{at}": f"{new}.{at}" for old, new in _LESSONS_MOVED.items() for at in range(1, 10)},
    **{f"22.{at}": f"22.{at + 1}" for at in range(1, 9)},
    "05.4": "06.1", "05.5": "06.2", "05.6": "06.3", "05.7": "05.4",
    "06.1": "07.1", "06.2": "07.2", "06.3": "07.3", "06.4": "07.4", "06.5": "06.4", "06.6": "08.4",
    "06.7": "15.3", "13.3": "15.4", "13.4": "15.5", "13.5": "15.6", "13.6": "15.7", "13.7": "15.8",
    "13.8": "15.9", "16.1": None, "16.2": "18.1", "16.3": None, "16.4": None, "16.5": "18.2",
    "17.1": "18.3", "17.2": "18.4", "17.3": "18.5", "17.4": None, "17.5": None,
    "18.1": "18.6", "18.2": None, "18.3": None, "18.4": None, "18.5": "18.7", "18.6": "18.8",
    "18.7": "18.9", "19.4": None, "19.5": "19.4",
}  # fmt: skip
#: What an entry says that has its name now, if the same name meant another exercise before.
_NUMBERING = 2
#: What changes the entries, and returns whether it did.
Change = Callable[[dict[str, Entry]], bool]
#: Changes that could not be written yet, by file; the next write includes them.
_unwritten: dict[Path, list[Change]] = {}
#: The record of a process that keeps none on disk.
_in_memory: dict[str, Entry] = {}
_at_hand: list[Lesson] = []  # the lesson of the last answer that was checked here; [] if there was none
_printed: set[str] = set()


def progress_file() -> Path:
    """The file that holds the progress; the environment variable PTXLAB_PROGRESS names another one.

    >>> from unittest import mock
    >>> with mock.patch.dict(os.environ, PTXLAB_PROGRESS="mine.json"):
    ...     print(progress_file())
    mine.json
    """
    chosen = path_from_environment("PTXLAB_PROGRESS")
    return data_folder() / "progress.json" if chosen is None else chosen


def _keeps_no_file() -> bool:
    """Whether the record lasts only as long as the process.

    That is so while nbgrader grades or validates, since it runs a student's notebook in the teacher's
    account, and with PTXLAB_PROGRESS=/dev/null.
    """
    return bool(os.environ.get("NBGRADER_EXECUTION")) or os.environ.get("PTXLAB_PROGRESS") == os.devnull


def read(path: Path, required: bool = False) -> dict[str, Entry]:
    """State and tries by exercise; nothing if there is no file. One that cannot be read is an error.

    Exercises that were recorded before the course was renumbered get the names that they have now. Those
    that the course has no longer are left out.
    """
    try:
        content = json.loads(read_text_file(path))
    except FileNotFoundError:
        if required:
            raise PtxlabError(f"{path}: there is no such file") from None
        return {}
    except OSError as error:
        raise PtxlabError(
            f"{path}: your progress could not be read ({reason(error)}); "
            "the file is left as it is, and nothing is recorded"
        ) from None
    except (ValueError, RecursionError):
        raise _damaged(path, "it is not JSON text") from None
    if not isinstance(content, dict):
        raise _damaged(path, f"found {type(content).__name__} where exercises by name belong")
    entries: dict[str, Entry] = {}
    for recorded, value in content.items():
        entry = _entry(path, recorded, value)
        name = recorded if "numbering" in entry else _MOVED.get(recorded, recorded)
        if name is not None and (name not in entries or entry["state"] == "right"):
            entries[name] = _numbered(name, entry)
    return entries


def _numbered(name: str, entry: Entry) -> Entry:
    return {**entry, "numbering": _NUMBERING} if name in _MOVED else entry


def _entry(path: Path, name: str, entry: object) -> Entry:
    if isinstance(entry, dict):
        state, tries = entry.get("state"), entry.get("tries")
        if state in ("right", "wrong") and type(tries) is int and tries >= 0:
            return entry
    raise _damaged(path, f"{quoted(name, 20)} has no state and number of tries")


def _damaged(path: Path, what: str) -> PtxlabError:
    return PtxlabError(
        f"{path}: your progress could not be read ({what}); the file is left as it is, and nothing is "
        "recorded: repair it, or start again with lessons.forget()"
    )


def _write(path: Path, entries: dict[str, Entry]) -> None:
    write_atomically(path, json.dumps(entries, indent=1, sort_keys=True))


def _count(verdict: Verdict, entries: dict[str, Entry]) -> bool:
    """Add a verdict to the entries, and return whether it changed them. Once right stays right."""
    before = entries.get(verdict.exercise, {"state": "wrong", "tries": 0})
    if before["state"] == "right":
        return False
    entry = {**before, "state": verdict.state, "tries": before["tries"] + 1}
    entries[verdict.exercise] = _numbered(verdict.exercise, entry)
    return True


def record(verdict: Verdict) -> None:
    """Record a verdict. An exercise that was right once stays right."""
    number = verdict.exercise.partition(".")[0]
    _at_hand[:] = [lesson for lesson in LESSONS if lesson.number == number]
    if verdict.state != "not yet":
        keep(partial(_count, verdict))


def keep(change: Change) -> None:
    """Change the entries. If the file cannot be written, a sentence says so, once, and the lesson goes on."""
    if _keeps_no_file():
        change(_in_memory)
        return
    try:
        path = progress_file()
        _unwritten.setdefault(path, []).append(change)
        _record_unwritten(path)
    except PtxlabError as error:
        _print_once(str(error))
        atexit.unregister(_try_at_exit)
        atexit.register(_try_at_exit)


def _try_at_exit() -> None:
    """Try once more to write what could not be written: by now the disk may have space."""
    for path, unwritten in _unwritten.items():
        if unwritten:
            with contextlib.suppress(PtxlabError):
                _record_unwritten(path)


def _record_unwritten(path: Path) -> None:
    """Read the file, make the changes that it lacks, and write it, while no other process does so."""
    try:
        with locked(path):
            unwritten = _unwritten.get(path, [])  # none, if another thread has just forgotten all
            count = len(unwritten)
            entries = read(path)
            changed = [change(entries) for change in unwritten[:count]]
            if any(changed):
                _write(path, entries)
            del unwritten[:count]
    except OSError as error:
        raise PtxlabError(
            f"{path}: your progress could not be written ({reason(error)}); your next answer tries again"
        ) from None


def _print_once(sentence: str) -> None:
    if sentence not in _printed:
        _printed.add(sentence)
        with contextlib.suppress(OSError, ValueError, AttributeError):  # nobody may be there to read it
            print(sentence, file=sys.stderr)


def forget() -> None:
    """Start the course again."""
    _in_memory.clear()
    if _keeps_no_file():
        return
    path = progress_file()
    try:
        with locked(path):
            _unwritten.pop(path, None)
            _write(path, {})
    except OSError as error:
        raise PtxlabError(f"{path}: your progress could not be written ({reason(error)})") from None


@dataclass(frozen=True)
class Progress:
    """Exercises by lesson: right, wrong, or not yet.

    A notebook shows those of the lesson at hand, and unfolds the others.

    >>> forget()
    >>> str(progress()).splitlines()[1].split()
    ['00-start-here', '0/4', '·', '·', '·', '·']
    """

    states: dict[str, str]
    tries: dict[str, int]
    problem: str = ""  # why the record could not be read, in a sentence
    lesson: Lesson | None = None  # the one at hand

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
        if self.problem:
            lines.append(self.problem)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        this_lesson = "" if self.lesson is None else f"<table>{self._html_row(self.lesson)}</table>"
        head = "".join(f'<th style="text-align:left">{name}</th>' for name, _ in _COLUMNS)
        rows = "".join(self._html_row(lesson) for lesson in LESSONS if lesson.exercises)
        done = f"The whole course: {self.done} of {len(self.states)} exercises done"
        problem = f"<p>{html.escape(self.problem)}</p>" if self.problem else ""
        is_open = "" if this_lesson else " open"
        course = f"<summary>{done}</summary><table><tr>{head}</tr>{rows}</table>"
        return f"{this_lesson}<details{is_open}>{course}</details>{problem}"

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


def recorded() -> dict[str, Entry]:
    """The entries by name: exercises, stops of walks, and questions of reviews."""
    return dict(_in_memory) if _keeps_no_file() else read(progress_file())


def solved() -> set[str]:
    """The names of all that was answered right; nothing if the file cannot be read."""
    try:
        entries = recorded()
    except PtxlabError:
        return set()
    return {name for name, entry in entries.items() if entry["state"] == "right"}


def progress() -> Progress:
    """Which exercises of the course are done."""
    problem = ""
    entries: dict[str, Entry] = {}
    try:
        entries = recorded()
    except PtxlabError as error:
        problem = str(error)
    names = [exercise.name for lesson in LESSONS for exercise in lesson.exercises]
    states = {name: entries[name]["state"] if name in entries else "not yet" for name in names}
    tries = {name: entries[name]["tries"] if name in entries else 0 for name in names}
    return Progress(states, tries, problem, _at_hand[-1] if _at_hand else None)
