"""The Python text that the lines of a kernel belong to."""

from __future__ import annotations

import linecache
from typing import Any


def python_text(function: Any) -> str | None:
    """The file, or the cell of a notebook, in which a function stands; None if it is not at hand."""
    code = getattr(function, "__code__", None)
    return None if code is None else "".join(linecache.getlines(code.co_filename)) or None


def python_source(function: Any, ptx: str) -> str | None:
    """The same; None if the PTX names no lines."""
    return python_text(function) if "\t.loc" in ptx else None


def generated_lines(framework: str) -> str:
    """What reports add where no line of Python is known."""
    return f"lines are those of the CUDA C++ that {framework} made, which names none of Python"
