"""The words of the course, each in one or two sentences: `lessons.glossary`, and the site's glossary."""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from .._util.arguments import as_text
from ..errors import PtxlabError, listing, quoted, wrapped
from ..views.palette import RULE
from .syllabus import LESSONS, Lesson

_BOX = f"border:1px solid {RULE};border-radius:6px;padding:6px 12px;margin:6px 0;max-width:44em"


@dataclass(frozen=True)
class Term:
    """A word of the course.

    >>> terms()["bank"].introduced.file
    '04-shared-memory-and-banks'
    """

    name: str
    text: str
    lesson: str  # the name of the one that introduces it
    words: tuple[str, ...]  # its forms in prose
    only: tuple[str, ...] = ()  # lessons in which its words have this sense; () for all
    never: tuple[str, ...] = ()  # lessons in which they have another

    @property
    def introduced(self) -> Lesson:
        """The lesson that introduces it."""
        return next(lesson for lesson in LESSONS if lesson.slug == self.lesson)

    @property
    def anchor(self) -> str:
        """Its address on the page of the glossary.

        >>> terms()["scale factor"].anchor
        'term-scale-factor'
        """
        return "term-" + re.sub(r"\W+", "-", self.name.lower())

    @property
    def pattern(self) -> re.Pattern[str]:
        """What finds it in prose. Capitals count in names that have any."""
        words = sorted(map(re.escape, self.words), key=len, reverse=True)
        return re.compile(rf"(?<![\w.-])(?:{'|'.join(words)})(?![\w-])", _flags(self.name))

    def means_this_in(self, lesson: Lesson) -> bool:
        """Whether its words have this sense in a lesson."""
        return lesson.slug not in self.never and (not self.only or lesson.slug in self.only)


def _flags(name: str) -> re.RegexFlag:
    return re.NOFLAG if name != name.lower() else re.IGNORECASE


@lru_cache(maxsize=1)
def terms() -> dict[str, Term]:
    """All words of the course by name, in alphabetical order."""
    text = Path(__file__).with_name("glossary.toml").read_text(encoding="utf-8")
    entries = {}
    for row in tomllib.loads(text)["term"]:
        name = row["name"]
        words = tuple(row.get("words", (name, f"{name}s")))
        scope = tuple(row.get("only", ())), tuple(row.get("never", ()))
        entries[name] = Term(name, row["text"], row["lesson"], words, *scope)
    return entries


@dataclass(frozen=True)
class Glossary:
    """Words of the course with what they mean; a notebook shows them as boxes."""

    entries: Sequence[Term]

    def __repr__(self) -> str:
        blocks = [
            wrapped(f"{term.name} (lesson {term.introduced.number}): {term.text}") for term in self.entries
        ]
        return "\n".join(blocks)

    def _repr_html_(self) -> str:
        lines = []
        for term in self.entries:
            lesson = f'<a href="{term.introduced.file}.ipynb">lesson {term.introduced.number}</a>'
            meaning = html.escape(term.text)
            lines.append(f"<p><b>{html.escape(term.name)}</b> ({lesson}): {meaning}</p>")
        return f'<div style="{_BOX}">{"".join(lines)}</div>'


def glossary(name: str | None = None) -> Glossary:
    """What a word of the course means, in every sense that it has there; without a name, all words.

    >>> glossary("lane")
    lane (lesson 00): The number of a thread within its warp, 0 to 31; also that thread itself.
    lane of tensor memory (lesson 26): One of the 128 rows of tensor memory. In lessons before it a lane
      is a thread of a warp; the two are related, since each warp reaches 32 of these lanes.
    """
    if name is None:
        return Glossary(tuple(terms().values()))
    key = as_text(name, "name").strip().lower()
    by_word: dict[str, list[Term]] = {}
    for term in terms().values():
        for word in dict.fromkeys(word.lower() for word in (term.name, *term.words)):
            by_word.setdefault(word, []).append(term)
    if key not in by_word:
        close = get_close_matches(key, by_word, 3)
        remedy = f"did you mean {listing(close)}?" if close else "glossary() shows all words"
        raise PtxlabError(f"the glossary has no word {quoted(name)}; {remedy}")
    return Glossary(tuple(by_word[key]))
