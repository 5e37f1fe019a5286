"""Hand-written pages: every docs/*.md becomes a page of the site.

mistune reads the Markdown: JupyterLab brings it along (nbconvert needs it), and tables and nested lists are not worth a parser of our own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from .page import Page, plain

__all__ = ["build", "pages"]


def pages(folder: Path) -> list[Callable[[], Page]]:
    """What makes the pages of a folder's Markdown files, in the order of their names."""
    return [
        partial(build, path.stem, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.md"))
    ]


def build(name: str, text: str) -> Page:
    """The page of one Markdown text; its title is the first heading, its description the first paragraph."""
    import mistune

    page = Page(f"{name}.html", name)

    class Renderer(mistune.HTMLRenderer):
        """Headings with links to themselves, wide things that scroll, links between pages."""

        def heading(self, text: str, level: int, **attrs: Any) -> str:
            if level == 1 and not page.headings:
                page.title = plain(text)
            page.head(level, text, listed=level > 1)
            return page.parts.pop()

        def block_code(self, code: str, info: str | None = None) -> str:
            return f'<pre tabindex="0"><code>{escape(code.rstrip())}</code></pre>\n'

        def link(self, text: str, url: str, title: str | None = None) -> str:
            return str(super().link(text, re.sub(r"^([\w-]+)\.md(?=#|$)", r"\1.html", url), title))

    html = str(
        mistune.create_markdown(renderer=Renderer(escape=True), plugins=["table", "strikethrough"])(text)
    )
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace(
        "</table>", "</table></div>"
    )
    first = re.search(r"<p>(.*?)</p>", html, flags=re.S)
    page.about = plain(first[1]).replace("\n", " ") if first else ""
    for heading in page.headings:
        page.find(heading.text, page.title, heading.anchor)
    page.add(html)
    return page
