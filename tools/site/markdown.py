"""MyST Markdown, piece by piece."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from ptxlab.views import Picture
from ptxlab.views.svg import svg_document

__all__ = ["Page", "badge", "code", "definitions", "edit_this", "figure", "link", "slug", "table"]

_BADGES = {
    "native": "success",
    "split": "info",
    "emulated": "warning",
    "plain": "secondary",
    "measured": "success",
    "published": "info",
    "assumed": "warning",
}


class Page:
    """A page in the making: blocks of Markdown in their order."""

    def __init__(self, title: str) -> None:
        self.blocks = [f"# {title}"]

    def __str__(self) -> str:
        return "\n\n".join(self.blocks) + "\n"

    def add(self, *blocks: str) -> None:
        self.blocks += [block for block in blocks if block]

    def heading(self, level: int, title: str, label: str = "") -> None:
        """A heading; a label makes it a target of links from any page."""
        target = f"({label})=\n" if label else ""
        self.add(f"{target}{'#' * level} {title}")

    def code_block(self, text: str, language: str = "text") -> None:
        self.add(f"```{language}\n{text}\n```")

    def dropdown(self, title: str, *blocks: str) -> None:
        """Blocks that unfold at a click."""
        inside = "\n\n".join(blocks)
        colons = ":" * max(4, *(len(fence) + 1 for fence in re.findall(r"^:{4,}", inside, flags=re.M)), 0)
        self.add(f"{colons}{{dropdown}} {title}\n{inside}\n{colons}")


def code(text: object) -> str:
    return f"`{text}`"


def link(text: str, to: str) -> str:
    """A link to a page or, with #, to a label of any page."""
    return f"[{text}]({to})"


def edit_this(mnemonic: str) -> str:
    """A link of a page of the reference to the Explorer with Python in it.

    >>> edit_this("mma.sp::x")
    '<a class="edit-this" href="../try/index.html?ins=mma.sp%3A%3Ax">Edit this in the Explorer</a>'
    """
    address = f"../try/index.html?ins={quote(mnemonic)}"
    return f'<a class="edit-this" href="{address}">Edit this in the Explorer</a>'


def badge(word: str) -> str:
    """How a form runs, or how a model is known, in a colour."""
    return f"{{bdg-{_BADGES[word]}}}`{word}`"


def slug(text: str) -> str:
    """A label made of the letters and digits of a text."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table; `numbers` are the columns that are set flush right."""
    rule = ["---:" if at in numbers else "---" for at in range(len(columns))]
    lines = [columns, rule, *rows]
    return "\n".join(f"| {' | '.join(cell or ' ' for cell in line)} |" for line in lines)


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and their meanings, side by side."""
    return "\n".join(f"{name}\n: {meaning}\n" for name, meaning in pairs)


def figure(picture: Picture) -> str:
    """A picture as SVG in the page; it follows the theme, and its cells have tooltips."""
    document = svg_document(picture.drawing(), themed=True)
    svg = "\n".join(line for line in document.splitlines() if line.strip())
    return f'```{{raw}} html\n<div class="ptx-picture">{svg}</div>\n```'
