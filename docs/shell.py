"""The frame around every page: head, search, contents; and the style sheet and script that all pages share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from ptxlab import __version__
from ptxlab.views import palette

from .page import Page

__all__ = ["script", "style", "wrap"]

ASSETS = Path(__file__).parent / "assets"


def wrap(page: Page, pages: Sequence[Page]) -> str:
    """The whole document of one page."""
    title = "ptxlab" if page.file == "index.html" else f"{escape(page.title)} · ptxlab"
    body = "\n".join(part for part in page.parts if part)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="{escape(page.about)}">
<title>{title}</title>
<link rel="stylesheet" href="site.css">
<script src="search.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header>
<a class="brand" href="index.html">ptxlab</a>
<form role="search" id="search">
<input type="search" id="query" placeholder="Search: mma m16n8k64 s4" aria-label="Search instructions, types, commands and names"
 autocomplete="off" spellcheck="false">
<kbd aria-hidden="true">/</kbd>
<div id="found" hidden><p id="count" role="status"></p><ol id="hits"></ol></div>
</form>
<a class="jump" href="#contents">Contents</a>
</header>
<div class="sheet">
<main id="main" tabindex="-1">
{body}
</main>
<nav id="contents" aria-label="Contents">
{_contents(page, pages)}
</nav>
</div>
<footer>ptxlab {escape(__version__)}. PTX and CUDA are NVIDIA's; ptxlab is not affiliated with NVIDIA.</footer>
</body>
</html>
"""


def _contents(page: Page, pages: Sequence[Page]) -> str:
    """All pages by their groups, with the headings of this one under its name."""
    parts = []
    for group in dict.fromkeys(other.group for other in pages):
        parts.append(f'<p class="group">{escape(group)}</p><ul>')
        for other in pages:
            if other.group != group:
                continue
            here = ' aria-current="page"' if other is page else ""
            inner = _headings(page) if other is page else ""
            parts.append(f'<li><a href="{other.file}"{here}>{escape(other.title)}</a>{inner}</li>')
        parts.append("</ul>")
    return "\n".join(parts)


def _headings(page: Page) -> str:
    items = [
        f'<li class="h{level}"><a href="#{anchor}">{escape(text)}</a></li>'
        for level, anchor, text in page.headings
        if level <= 3
    ]
    return f"<ul>{''.join(items)}</ul>" if items else ""


def style() -> str:
    """The style sheet, with the colours of the lanes from the palette."""
    lanes = "\n".join(
        f".l{lane} {{ fill: {colour}; background: {colour}; }}" for lane, colour in enumerate(palette.LANES)
    )
    hues = "\n".join(f"  --{name}: {colour};" for name, colour in palette.HUES)
    inks = f"  --on-lane: {palette.INK};\n  --off-lane: {palette.PAPER};\n  --rule: {palette.RULE};"
    text = (ASSETS / "site.css").read_text(encoding="utf-8")
    return f":root {{\n{hues}\n{inks}\n}}\n{text}\n/* lanes, from ptxlab.views.palette */\n{lanes}\n"


def script(pages: Sequence[Page]) -> str:
    """The search with all it can find: [name, about, page, anchor], the last three as indices into lists."""
    abouts: dict[str, int] = {}
    anchors: dict[str, int] = {}
    rows = []
    for at, page in enumerate(pages):
        rows.append(
            [page.title, abouts.setdefault("page", len(abouts)), at, anchors.setdefault("main", len(anchors))]
        )
        for hit in page.hits:
            rows.append(
                [
                    hit.name,
                    abouts.setdefault(hit.about, len(abouts)),
                    at,
                    anchors.setdefault(hit.anchor, len(anchors)),
                ]
            )
    data = {
        "pages": [page.file for page in pages],
        "abouts": list(abouts),
        "anchors": list(anchors),
        "rows": rows,
    }
    listed = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("],[", "],\n[")
    return f"const INDEX = {listed};\n{(ASSETS / 'search.js').read_text(encoding='utf-8')}"
