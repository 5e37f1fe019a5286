"""Edits of a text that a test makes: one that would change nothing, or more than was meant, is an error."""

from __future__ import annotations

import re
from typing import AnyStr


def replaced(text: AnyStr, old: AnyStr | re.Pattern[AnyStr], new: AnyStr, count: int = 1) -> AnyStr:
    """The text with all that is `old`, or matches it, replaced; it occurs exactly `count` times."""
    if isinstance(old, re.Pattern):
        result, found = old.subn(new, text)
    else:
        result, found = text.replace(old, new), text.count(old)
    assert found == count, f"{old!r} occurs {found} times, not {count}, in {text[:400]!r} …"
    return result


def filled(template: str, **parts: str) -> str:
    """The template with each word that is the name of a part replaced by it; the template has all of them."""
    words = re.compile(rf"\b({'|'.join(parts)})\b")
    missing = parts.keys() - set(words.findall(template))
    assert not missing, f"nothing to fill in for {', '.join(sorted(missing))}, in {template[:400]!r} …"
    return words.sub(lambda word: parts[word[0]], template)
