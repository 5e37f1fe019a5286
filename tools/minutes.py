"""python -m tools.minutes [--write]: how long the lessons take, estimated by what is in their notebooks.

The first cell of a lesson says the minutes. Without --write, those that do not fit their lesson are listed;
with it, they are written. No readers were timed: docs/pilot.md says how a class can send its own figures.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from ptxlab._util.files import write_atomically
from ptxlab.lessons import LESSONS, Lesson

__all__ = ["STATED", "estimate", "notebook"]

ROOT = Path(__file__).resolve().parent.parent
STATED = re.compile(r"\(We estimate (\d+) minutes\.\)")

_WORDS_A_MINUTE = 140
#: Minutes for an exercise that is looked up or counted, for a function, and for a kernel in CUDA C++.
_LOOKED_UP, _FUNCTION, _KERNEL = 4, 7, 14
_WIDGET = 2
_SHOWS_A_WIDGET = re.compile(r"\bSlider\(|\bexplore\(|TimelineWidget\(|\bclimb\(")


def notebook(lesson: Lesson) -> Path:
    """The notebook of a lesson in this checkout."""
    return ROOT / "notebooks" / f"{lesson.file}.ipynb"


def estimate(lesson: Lesson) -> int:
    """The minutes that a student takes who reads everything and does every exercise, to five.

    >>> from ptxlab import lessons
    >>> kernels = lessons.LESSONS[2]
    >>> estimate(kernels), len(kernels.exercises)
    (75, 4)
    """
    minutes = 0.0
    for cell in json.loads(notebook(lesson).read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            prose = re.sub(r"\]\([^)]*\)", "]", source)  # without addresses
            minutes += len(re.findall(r"\w[\w'’.-]*", prose)) / _WORDS_A_MINUTE
        elif "lessons.check(" in source:
            if '"""' in source or "{...}" in source:  # a kernel, or the lines of one that are to be changed
                minutes += _KERNEL
            else:
                minutes += _FUNCTION if source.startswith("def ") else _LOOKED_UP
        elif _SHOWS_A_WIDGET.search(source):
            minutes += _WIDGET
    return 5 * round(minutes / 5)


def main() -> int:
    wrong = 0
    for lesson in LESSONS:
        if not lesson.number:
            continue
        minutes = estimate(lesson)
        text = notebook(lesson).read_text(encoding="utf-8")
        stated = STATED.search(text)
        if stated is None or int(stated[1]) == minutes:
            continue
        if "--write" in sys.argv[1:]:
            write_atomically(notebook(lesson), STATED.sub(f"(We estimate {minutes} minutes.)", text, count=1))
        else:
            wrong += 1
            print(f"{lesson.file}: its first cell says {stated[1]} minutes, and it takes about {minutes}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
