"""The front end as one ES module, joined from the files in `front/` when first needed: no build step."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ..errors import PtxlabError
from ..views.palette import css

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
#: The type of an expression, and a comment after code.
_TYPE = re.compile(r"/\*\* @[^*]*\*/ ?")
_REMARK = re.compile(r"(?<=[;,{})\]]) +// .*$")
_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.[\w./]+)";\n', re.MULTILINE)


@lru_cache
def script(first: str = "main") -> str:
    """A module joined with everything it imports, dependencies first; it keeps the exports of that module.

    >>> script().count("\\nexport "), "import " in script()
    (1, False)
    """
    return "\n\n".join(_modules(first).values()) + "\n"


def saved_page_files() -> set[Path]:
    """The files of front/ that a saved page of an Explorer is made of."""
    sheets = {_FRONT / "styles" / f"{name}.css" for name in (*_STYLES, "saved_page")}
    return sheets | _modules("saved_page").keys()


@lru_cache
def _modules(first: str) -> dict[Path, str]:
    """The code of a module and of everything it imports, dependencies first."""
    joined: dict[Path, str] = {}  # "" marks a module whose imports are still being added

    def add(path: Path) -> None:
        if path in joined:
            if not joined[path]:
                raise PtxlabError(f"front/{path.relative_to(_FRONT)} imports itself by way of other modules")
            return
        joined[path] = ""
        text = path.read_text(encoding="utf-8")
        for other in _IMPORT.findall(text):
            add((path.parent / other).resolve())
        code = _TYPE.sub("", _COMMENT.sub("", _IMPORT.sub("", text)))
        del joined[path]  # inserted again after what it imports
        joined[path] = _without_remarks(re.sub(r"^export (?!default)", "", code, flags=re.MULTILINE).strip())

    add(_FRONT / f"{first}.js")
    return joined


def _without_remarks(code: str) -> str:
    """Code without indentation and comments after it, a tenth of a saved page; template literals keep theirs.

    >>> _without_remarks('{\\n  a(`x; // y\\n  z`);\\n  b("; // c");\\n  d(); // why\\n}')
    '{\\na(`x; // y\\n  z`);\\nb("; // c");\\nd();\\n}'
    """
    lines, in_template = [], False
    for line in code.splitlines():
        before, *remark = _REMARK.split(line, maxsplit=1)
        is_remark = bool(remark) and not in_template and before.count('"') % 2 == before.count("`") % 2 == 0
        line = before if is_remark else line
        lines.append(line if in_template else line.lstrip())
        in_template ^= line.count("`") % 2 == 1
    return "\n".join(lines)


@lru_cache
def style(*more: str) -> str:
    """The style sheets of all parts of the page, and `more` of them, joined.

    >>> ".ptx-explorer" in style()
    True
    """
    return sheets(*_STYLES, *more)


def sheets(*names: str) -> str:
    """Style sheets by name, after the colours that they use."""
    folder = _FRONT / "styles"
    return css() + "\n".join((folder / f"{name}.css").read_text(encoding="utf-8") for name in names)
