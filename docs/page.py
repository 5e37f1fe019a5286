"""A page in the making: pieces of HTML in their order, its headings, and what the search shall find on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

__all__ = [
    "Heading",
    "Hit",
    "Page",
    "code",
    "details",
    "facts",
    "link",
    "listed",
    "plain",
    "pre",
    "slug",
    "table",
]


class Heading(NamedTuple):
    """A heading of a page: its level, the id to jump to, and its text."""

    level: int
    anchor: str
    text: str


class Hit(NamedTuple):
    """What the search finds: a name, what it is, and the id on the page."""

    name: str
    about: str
    anchor: str


@dataclass
class Page:
    """One file of the site. `title` and `about` are plain text."""

    file: str
    title: str
    about: str = ""
    group: str = "Pages"
    parts: list[str] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    _taken: set[str] = field(default_factory=set)

    def anchor(self, wanted: str) -> str:
        """An id that no other part of the page has."""
        found, count = wanted, 2
        while found in self._taken:
            found, count = f"{wanted}-{count}", count + 1
        self._taken.add(found)
        return found

    def head(self, level: int, html: str, reserved: str = "", *, listed: bool = True, short: str = "") -> str:
        """Add a heading with a link to itself, under an id that `anchor` gave or a new one. In the contents it may be `short`, or not `listed`."""
        text = plain(html)
        anchor = reserved or self.anchor(slug(text))
        if listed:
            self.headings.append(Heading(level, anchor, short or text))
        mark = f'<a class="anchor" href="#{anchor}" aria-label="Link to {escape(text)}">#</a>'
        self.parts.append(f'<h{level} id="{anchor}">{html} {mark}</h{level}>')
        return anchor

    def add(self, *parts: str) -> None:
        self.parts += parts

    def find(self, name: str, about: str, anchor: str) -> None:
        """Let the search find this."""
        self.hits.append(Hit(name, about, anchor))


def plain(html: str) -> str:
    """The text of a piece of HTML without character references other than the usual ones."""
    text = re.sub(r"<[^>]*>", "", html)
    for sign, reference in (("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;"), ("&", "&amp;")):
        text = text.replace(reference, sign)
    return text


def slug(text: str) -> str:
    """An id made of the letters and digits of a text."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def code(text: object) -> str:
    return f"<code>{escape(str(text))}</code>"


def pre(text: str, label: str = "", *, wrap: bool = False) -> str:
    """A block of code that the keyboard can scroll, or whose long lines break."""
    named = f' role="region" aria-label="{escape(label)}"' if label else ""
    return f'<pre tabindex="0"{named}{" class=wrap" if wrap else ""}><code>{escape(text)}</code></pre>'


def link(html: str, to: str) -> str:
    return f'<a href="{escape(to)}">{html}</a>'


def details(summary: str, inside: str, *, open_: bool = False) -> str:
    return f"<details{' open' * open_}><summary>{summary}</summary>\n{inside}\n</details>"


def listed(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what is said of them, side by side."""
    return (
        '<dl class="facts">'
        + "".join(f"<div><dt>{name}</dt><dd>{said}</dd></div>" for name, said in pairs)
        + "</dl>"
    )


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    label: str = "",
    style: str = "",
) -> str:
    """A table that scrolls sideways where the screen is narrow; `numbers` are the columns set flush right. Cells are HTML."""

    def cell(at: int, html: str) -> str:
        return f'<td class="n">{html}</td>' if at in numbers else f"<td>{html}</td>"

    heads = "".join(
        f'<th scope="col"{" class=n" if at in numbers else ""}>{head}</th>' for at, head in enumerate(columns)
    )
    body = "\n".join(
        "<tr>" + "".join(cell(at, html) for at, html in enumerate(row)) + "</tr>" for row in rows
    )
    named = f' aria-label="{escape(label)}"' if label else ""
    kind = f' class="{style}"' if style else ""
    return f'<div class="scroll" tabindex="0" role="region"{named}><table{kind}><thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'
