"""The front end as one ES module, joined from the files in `front/` when first needed: no build step."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ..errors import PtxlabError

_FRONT = Path(__file__).parent / "front"
_STYLES = (
    "base",
    "toolbar",
    "picker",
    "panes",
    "panel",
    "trace",
    "memory",
    "descriptor",
    "tensor",
    "tooltip",
    "sheet",
    "edit",
    "quiz",
    "motion",
)
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE)
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)


def source(file: str) -> str:
    """A file of the front end as it is written."""
    return (_FRONT / file).read_text(encoding="utf-8")


@lru_cache
def script(first: str = "main") -> str:
    """A module joined with all that it imports, dependencies first; it exports what that module exports.

    >>> script().count("\\nexport "), "import " in script()
    (1, False)
    """
    joined: list[str] = []
    seen: list[str] = []

    def add(name: str) -> None:
        if name in seen:
            if name not in done:
                raise PtxlabError(f"front/{name}.js imports itself by way of {seen[-1]}.js")
            return
        seen.append(name)
        text = source(f"{name}.js")
        for other in _IMPORT.findall(text):
            add(other)
        done.add(name)
        code = _COMMENT.sub("", _IMPORT.sub("", text))  # comments are for those who read the files
        joined.append(re.sub(r"^export (?!default)", "", code, flags=re.MULTILINE).strip())

    done: set[str] = set()
    add(first)
    return "\n\n".join(joined) + "\n"


@lru_cache(maxsize=1)
def style() -> str:
    """The style sheet, joined from one for each part of the view.

    >>> ".ptx-explorer" in style()
    True
    """
    return "\n".join(source(f"{part}.css") for part in _STYLES)
