"""The front end as one module, joined from the small ones in `front/` when it is first wanted: no build step, nothing generated to keep."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from ..errors import PtxlabError

__all__ = ["script", "style"]

_FRONT = Path(__file__).parent / "front"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)


@lru_cache(maxsize=1)
def script() -> str:
    """All modules in one, each after those that it imports; it exports what main.js exports.

    >>> script().count("export "), "import " in script()
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
        text = (_FRONT / f"{name}.js").read_text(encoding="utf-8")
        for other in _IMPORT.findall(text):
            add(other)
        done.add(name)
        joined.append(re.sub(r"^export (?!default)", "", _IMPORT.sub("", text), flags=re.MULTILINE).strip())

    done: set[str] = set()
    add("main")
    return "\n\n".join(joined) + "\n"


@lru_cache(maxsize=1)
def style() -> str:
    """The style sheet.

    >>> ".ptx-explorer" in style()
    True
    """
    return (_FRONT / "explorer.css").read_text(encoding="utf-8")
