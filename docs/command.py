"""The page of the command line: the parser's own help, and answers given while the site is built."""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from html import escape
from unittest.mock import patch

from ptxlab.cli import main

from .page import Page, code, pre

__all__ = ["ask", "build"]

_SHOWN, _SLACK = 24, 8  # lines of an answer that are shown, and so many more before it is worth a cut
_NOT_HERE = re.compile(
    r"ptxlab lab|--on |\bsass\b|completion|[|>]"
)  # what opens a window, needs a GPU, or is meant for a shell


def build() -> Page:
    page = Page(
        "command.html",
        "Command line",
        "The ten-second answer: the ptxlab command, its options and its answers.",
    )
    page.head(1, "Command line", listed=False)
    page.add(
        "<p>One question, one answer. On a terminal it comes in the colours of the lanes; in a pipe it is plain.</p>"
    )
    text = ask("ptxlab --help")
    page.head(2, code("ptxlab"))
    page.add(pre(text, "Help of ptxlab"))
    for name in dict.fromkeys(_commands(text)):
        anchor = page.head(2, code(f"ptxlab {name}"))
        page.find(f"ptxlab {name}", "command", anchor)
        own = ask(f"ptxlab {name} --help")
        page.add(pre(own, f"Help of ptxlab {name}"))
        examples = {
            command: about
            for command, about in [*_examples(text), *_examples(own)]
            if shlex.split(command)[1] == name
        }
        for command, about in examples.items():
            if not _NOT_HERE.search(command):
                page.add(
                    f'<p class="used">{escape(about[:1].upper() + about[1:])}:</p>' if about else "",
                    _answer(command),
                )
    return page


def _commands(text: str) -> list[str]:
    """The commands that the help lists."""
    listed = re.search(r"^commands:\n(.*?)(?:\n\n|\Z)", text, flags=re.M | re.S)
    return re.findall(r"^    (\w[\w-]*)", listed[1], flags=re.M) if listed else []


def _examples(text: str) -> list[tuple[str, str]]:
    """The commands that a help shows, each with what it is about."""
    return re.findall(r"^  (ptxlab .*?)(?: {2,}(.*))?$", text, flags=re.M)


def _answer(command: str) -> str:
    lines = ask(command).split("\n")
    left = len(lines) - _SHOWN
    more = f"\n… {left:,} more lines" if left > _SLACK else ""
    return pre("\n".join([f"$ {command}", *(lines[:_SHOWN] if more else lines)]) + more, command)


@contextmanager
def _plain() -> Iterator[None]:
    """No colours, and help as wide as a page."""
    with patch.dict(os.environ, {"NO_COLOR": "1", "COLUMNS": "100"}):
        yield


def ask(command: str) -> str:
    """What a command prints, found in this process."""
    out = io.StringIO()
    with _plain(), redirect_stdout(out), redirect_stderr(out):
        main(shlex.split(command)[1:])
    return out.getvalue().rstrip()
