"""Docstrings as HTML: paragraphs, `names`, lists and examples."""

from __future__ import annotations

import inspect
import re
from html import escape

from .page import code, pre

__all__ = ["prose"]


def prose(text: str) -> str:
    """The HTML of a docstring."""
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(text))
    return "\n".join(_block(block) for block in blocks if block.strip())


def _block(block: str) -> str:
    lines = block.split("\n")
    if lines[0].startswith(">>>"):
        return pre(block, "Example")
    example = next((at for at, line in enumerate(lines) if line.startswith(">>>")), None)
    if example:
        return _block("\n".join(lines[:example])) + "\n" + _block("\n".join(lines[example:]))
    if all(line.startswith(" ") for line in lines):
        return pre(inspect.cleandoc("\n" + block))
    return f"<p>{_inline(' '.join(line.strip() for line in lines))}</p>"


def _inline(text: str) -> str:
    parts = re.split(r"``(.+?)``|`([^`]+)`", text)
    return "".join(escape(part) if at % 3 == 0 else code(part) for at, part in enumerate(parts) if part)
