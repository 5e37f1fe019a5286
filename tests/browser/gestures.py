"""What browser tests do often: type, press keys, and wait for the start of a text."""

from __future__ import annotations

import re
from typing import Any


def press(page: Any, *keys: str) -> None:
    """Press one key after the other."""
    for key in keys:
        page.keyboard.press(key)


def type_line(page: Any, text: str) -> None:
    """Type where the focus is, then press Enter."""
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def enter(field: Any, text: str) -> None:
    """Replace the text of a field, then press Enter."""
    field.fill(text)
    field.press("Enter")


def starting(text: str) -> re.Pattern[str]:
    """Texts that start like this, for `expect`."""
    return re.compile("^" + re.escape(text))
