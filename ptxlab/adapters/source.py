"""The Python text that the lines of a kernel belong to."""

from __future__ import annotations

import linecache
from typing import Any


def python_source(function: Any, ptx: str) -> str | None:
    """The file, or the cell of a notebook, in which a function stands; None if the PTX names no lines."""
    code = getattr(function, "__code__", None)
    if code is None or "\t.loc" not in ptx:
        return None
    return "".join(linecache.getlines(code.co_filename)) or None
