"""The page of the command line: the parser's own help, and answers given while the site is built."""

from __future__ import annotations

import io
import os
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from ptxlab._util.files import write_atomically
from ptxlab.cli import main

from .markdown import Page, code

__all__ = ["answer", "page", "write"]

_SHOWN, _SLACK = 24, 8  # lines of an answer that are shown, and how many more make a cut worthwhile
#: Commands that open a window, need a GPU or a compiler, or are meant for a shell.
_NOT_HERE = re.compile(r"ptxlab lab|--on |\b(check|sass|measure|simulate|profile|completion)\b|[|>]")


def write(folder: Path) -> None:
    write_atomically(folder / "command-line.md", str(page()))


def page() -> Page:
    out = Page("Command line")
    out.add(
        "One question, one answer. A terminal shows it in the colours of the lanes; a pipe gets plain text."
    )
    help_text = answer("ptxlab --help")
    out.code_block(help_text)
    for command in _commands(help_text):
        out.heading(2, code(f"ptxlab {command}"))
        own_help = answer(f"ptxlab {command} --help")
        out.code_block(own_help)
        for example, about in _examples(f"{help_text}\n{own_help}", command).items():
            if not _NOT_HERE.search(example):
                if about:
                    out.add(f"{about[0].upper()}{about[1:]}:")
                out.code_block(_shortened(f"$ {example}\n{answer(example)}"), "console")
    return out


def _commands(help_text: str) -> list[str]:
    """The commands that the help lists."""
    listed = re.search(r"^commands:\n(.*?)(?:\n\n|\Z)", help_text, flags=re.M | re.S)
    names = re.findall(r"^    (\w[\w-]*)", listed[1], flags=re.M) if listed else []
    return list(dict.fromkeys(names))


def _examples(help_text: str, command: str) -> dict[str, str]:
    """The calls of a command that a help shows, each with what it is about."""
    pairs = re.findall(r"^  (ptxlab .*?)(?: {2,}(.*))?$", help_text, flags=re.M)
    return {example: about for example, about in pairs if shlex.split(example)[1] == command}


def _shortened(text: str) -> str:
    lines = text.split("\n")
    left = len(lines) - _SHOWN
    return "\n".join([*lines[:_SHOWN], f"… {left:,} more lines"]) if left > _SLACK else text


def answer(command: str) -> str:
    """What a command prints, without colours."""
    out = io.StringIO()
    plain = {"NO_COLOR": "1", "COLUMNS": "100"}
    with patch.dict(os.environ, plain), redirect_stdout(out), redirect_stderr(out):
        main(shlex.split(command)[1:])
    return out.getvalue().rstrip()
