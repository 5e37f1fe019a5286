"""A kernel read part by part: stops in its source, each with an explanation."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..errors import PtxlabError
from ..views.kernel_profile import source_html


class Stop(NamedTuple):
    """A part of a kernel: its name, what its first line contains, and what is to be seen there."""

    name: str
    first: str
    text: str


class Reading(NamedTuple):
    """A part of a source with what is to be seen there."""

    source: str
    lines: range
    text: str

    def _repr_html_(self) -> str:
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(self.text, quote=False))
        shown = source_html(self.source, part=self.lines)
        return f'<p style="max-width: 60em; line-height: 1.5; margin: 4px 0 10px">{text}</p>{shown}'


def reading(source: str, stop: int, stops: Sequence[Stop]) -> Reading:
    """A part of a kernel with its explanation: from the first line of a stop to the next.

    >>> reading("a;\\nb;\\nc;", 0, [Stop("start", "a", "It begins."), Stop("end", "c", "It ends.")]).lines
    range(1, 3)
    """
    lines = source.splitlines()
    firsts = [0]
    for part in stops:
        firsts.append(_line_with(lines, part.first, firsts[-1]))
    first, last = [*firsts[1:], len(lines)][stop : stop + 2]
    while not lines[last - 1].strip():
        last -= 1
    return Reading(source, range(first + 1, last + 1), stops[stop].text)


def _line_with(lines: list[str], text: str, start: int) -> int:
    for number in range(start, len(lines)):
        if text in lines[number]:
            return number
    raise PtxlabError(f"the kernel has no line with {text!r} from line {start + 1} on")
