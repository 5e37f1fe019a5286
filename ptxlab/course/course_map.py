"""The course as a map: its parts, the lessons of each in order, and what each builds on."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from ..errors import listing
from ..views.palette import EDGE
from .progress_record import progress
from .syllabus import LESSONS, Lesson, lessons_of

_PART = "display:flex;flex-wrap:wrap;gap:6px;margin:2px 0 12px"
_BOX = (
    "display:block;box-sizing:border-box;width:150px;padding:5px 8px;"
    f"border:1px solid {EDGE};border-radius:5px;color:inherit;text-decoration:none;"
    "font-size:13px;line-height:1.3"
)
#: Words of file names that the map spells differently.
_SPELLINGS = {
    "gpu": "GPU", "tma": "TMA", "gemm": "GEMM", "triton": "Triton",
    "wmma": "WMMA,", "sub": "sub-byte", "byte": "types",
}  # fmt: skip
_AFTER = "display:block;font-size:11px;opacity:0.75"


@dataclass(frozen=True)
class CourseMap:
    """Lessons by part, each with those that it builds on; click one to open it.

    Lessons outside the chosen track are pale, and a tick marks those whose exercises are all done.

    >>> print(course_map("from Triton or CuTe"))   # doctest: +ELLIPSIS
    00 start-here
    01 fragments, after 00
    02 your-first-tensor-core-kernel, after 01
    ...
    """

    lessons: tuple[Lesson, ...]
    done: frozenset[str]  # names of lessons

    @property
    def minutes(self) -> int:
        """What all of them take together, by our estimates."""
        return sum(lesson.minutes for lesson in self.lessons)

    def __repr__(self) -> str:
        return "\n".join(f"{lesson.number} {lesson.slug}{_after(lesson)}" for lesson in self.lessons)

    def _repr_html_(self) -> str:
        parts = dict.fromkeys(lesson.part for lesson in LESSONS if lesson.part)
        rows = [
            f"<strong>{escape(part)}</strong><div style='{_PART}'>"
            + "".join(self._box(lesson) for lesson in LESSONS if lesson.part == part)
            + "</div>"
            for part in parts
        ]
        hours = f"{len(self.lessons)} lessons, about {self.minutes / 60:.0f} hours by our estimate"
        return f"<div>{''.join(rows)}<div>{hours}</div></div>"

    def _box(self, lesson: Lesson) -> str:
        chosen = lesson in self.lessons
        tick = " ✓" if lesson.slug in self.done else ""
        name = " ".join(_SPELLINGS.get(word, word) for word in lesson.slug.split("-"))
        look = "" if chosen else ";opacity:0.55;border-style:dashed"
        return (
            f'<a href="{lesson.file}.ipynb" title="{escape(lesson.question)}" style="{_BOX}{look}">'
            f"<strong>{lesson.number}</strong> {name}{tick}"
            f'<span style="{_AFTER}">{_after(lesson).removeprefix(", ") or "begin here"}</span></a>'
        )


def course_map(track: str = "the whole course") -> CourseMap:
    """The map of the course, or of a way through it, such as "a Hopper kernel next week"; see `TRACKS`."""
    lessons = lessons_of(track)
    record = progress()
    done = frozenset(lesson.slug for lesson in LESSONS if {*record.signs(lesson)} == {"✓"})
    return CourseMap(lessons, done)


def _after(lesson: Lesson) -> str:
    """``, after 05 and 11``."""
    numbers = sorted(required.number for required in LESSONS if required.slug in lesson.needs)
    return f", after {listing(numbers)}" if numbers else ""
