"""The front end as one ES module, joined from the files in `front/` when first needed: no build step."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ..errors import PtxlabError

_FRONT = Path(__file__).resolve().parent / "front"
_STYLES = (
    "base",
    "toolbar",
    "picker",
    "panes",
    "panel",
    "timeline",
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
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.[\w./]+)";\n', re.MULTILINE)


@lru_cache
def script(first: str = "main") -> str:
    """A module joined with all that it imports, dependencies first; it exports what that module exports.

    >>> script().count("\\nexport "), "import " in script()
    (1, False)
    """
    joined: dict[Path, str] = {}  # empty while a module's imports are added

    def add(path: Path) -> None:
        if path in joined:
            if not joined[path]:
                raise PtxlabError(f"front/{path.relative_to(_FRONT)} imports itself by way of other modules")
            return
        joined[path] = ""
        text = path.read_text(encoding="utf-8")
        for other in _IMPORT.findall(text):
            add((path.parent / other).resolve())
        code = _COMMENT.sub("", _IMPORT.sub("", text))  # comments are for those who read the files
        del joined[path]  # it stands after what it imports
        joined[path] = _without_indentation(
            re.sub(r"^export (?!default)", "", code, flags=re.MULTILINE).strip()
        )

    add(_FRONT / f"{first}.js")
    return "\n\n".join(joined.values()) + "\n"


def _without_indentation(code: str) -> str:
    """A twelfth less in every saved page and notebook; texts of several lines stay as they are.

    >>> _without_indentation("{\\n  a(`x\\n  y`);\\n  b();\\n}")
    '{\\na(`x\\n  y`);\\nb();\\n}'
    """
    lines, in_text = [], False
    for line in code.splitlines():
        lines.append(line if in_text else line.lstrip())
        in_text ^= line.count("`") % 2 == 1
    return "\n".join(lines)


@lru_cache
def style(*more: str) -> str:
    """The style sheet, joined from one for each part of the view, and from `more` of them.

    >>> ".ptx-explorer" in style()
    True
    """
    return "\n".join(sheet(part) for part in (*_STYLES, *more))


def sheet(name: str) -> str:
    """One style sheet."""
    return (_FRONT / "styles" / f"{name}.css").read_text(encoding="utf-8")
