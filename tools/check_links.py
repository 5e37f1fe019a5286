"""python -m tools.check_links FOLDER: find links, anchors and files of a site that do not exist, offline."""

from __future__ import annotations

import argparse
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["broken_links"]

#: Attributes by which a page loads a file, by tag.
_LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "form": "action"}

#: Drawings have no links, and are most of a page.
_DRAWING = re.compile("<svg.*?</svg>", re.DOTALL)


class _Page(HTMLParser):
    """The anchors of a page, its links, and the files that it loads."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(_DRAWING.sub("", text))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif _LOADS.get(tag) in values and values.get("rel") != "canonical":
            self.loads.append(values[_LOADS[tag]])

    def lacks(self, anchor: str) -> bool:
        """Whether there is no such anchor; what is packed in a page that was saved, its script unpacks."""
        return anchor not in self.anchors and "saved" not in self.anchors


def broken_links(folder: Path) -> list[str]:
    """One sentence for each missing link, anchor or file, and each file that is loaded from elsewhere."""
    templates = folder / "_static"  # the theme's; no pages
    paths = [path for path in sorted(folder.rglob("*.html")) if templates not in path.parents]
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in paths}
    problems = []
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for target in page.loads:
            if urlsplit(target).scheme not in ("", "data") or target.startswith("//"):
                problems.append(f"{name} loads {target} from elsewhere")
        for target in dict.fromkeys([*page.links, *page.loads]):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file():
                problems.append(f"{name} links to {target}, which does not exist")
            elif parts.fragment and file in pages and pages[file].lacks(unquote(parts.fragment)):
                problems.append(f"{name} links to {target}, which has no such anchor")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.check_links", description=__doc__)
    parser.add_argument("folder", type=Path)
    problems = broken_links(parser.parse_args().folder)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
