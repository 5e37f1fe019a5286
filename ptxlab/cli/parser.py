"""The parser of the command line. Wrong usage is answered in one sentence, with a suggestion."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn

from .._version import __version__
from ..errors import listing, quoted
from . import output
from .commands import COMMANDS, OVERVIEW

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_SHOWN = 60  # characters of a word that a message repeats
_MAX_MESSAGE = 300  # characters of a message of argparse
_LONG_WORD = re.compile(rf"(\S{{{_SHOWN}}})\S+")


def suggestion(word: str, known: Iterable[str]) -> str:
    """``; did you mean show?``, or "" if no known word is similar."""
    similar = difflib.get_close_matches(word, list(known), 3, 0.5)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


class _Parser(argparse.ArgumentParser):
    """Reports wrong usage in one sentence, without the usage block, and suggests what was meant."""

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice is not None:
            choices = re.findall(r"[\w-]+", choice[2])
            argument = "command" if self.prog == "ptxlab" else message.split(":")[0].removeprefix("argument ")
            remedy = suggestion(choice[1][:_SHOWN], choices) or f"; there are {listing(choices, 20)}"
            message = f"invalid choice: {argument} {quoted(choice[1])}{remedy}"
        message = _LONG_WORD.sub(r"\1...", message)  # argparse repeats the words of the user in full
        if len(message) > _MAX_MESSAGE:
            message = f"{message[:_MAX_MESSAGE]}..."
        stop = "" if message.endswith("?") else ";"
        self.exit(2, f"{self.prog}: {message}{stop} see {self.prog} --help")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        if message:
            output.error(output.one_line(message))
        raise SystemExit(status)

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help and version; unlike argparse's method, an error of the output is not hidden."""
        output.write(message.rstrip("\n"))


def build() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = _Parser(
        prog="ptxlab",
        description="PTX matrix instructions: which lane holds what, in which bits, and what comes out.",
        epilog=OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"ptxlab {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=command.summary,
            description=command.summary,
            epilog=f"examples:\n{command.examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=name != "lab",  # or an option for jupyter lab could match as an abbreviation
        )
        subparser.set_defaults(run=command.run, command=subparser)
        command.add_arguments(subparser)
    return parser


_cached_parser = lru_cache(maxsize=1)(build)


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The arguments of one command; leaves with SystemExit on wrong usage, as argparse does.

    The result has `run`, which runs the command; options that `lab` passes on are in `jupyter_options`.
    """
    parser = _cached_parser()
    for word in words:
        option, _, value = word.partition("=")
        if value == "--" and option.startswith("-"):  # argparse of Python 3.11 takes it for an empty list
            parser.error(f"argument {option}: expected one argument")
    args, unknown = parser.parse_known_args(_with_elements(words))
    if not hasattr(args, "run"):
        if unknown:
            _refuse(parser, unknown)
        parser.print_help()
        parser.exit()
    if args.run == COMMANDS["lab"].run:
        args.jupyter_options = [word for word in unknown if word != "--"]
    elif unknown:
        _refuse(args.command, unknown)
    return args


def _with_elements(words: Sequence[str]) -> list[str]:
    """Split elements into words: A[9][37] becomes A 9 37."""
    if not words or words[0] not in ("where", "trace"):
        return list(words)
    separate: list[str] = []
    for word in words:
        element = re.fullmatch(r"([A-Za-z]{1,3})\[(\d+)\]\[(\d+)\]", word)
        if element is None:
            separate.append(word)
        else:
            separate += element.groups() if words[0] == "where" else element.groups()[1:]
    return separate


def _refuse(parser: argparse.ArgumentParser, unknown: list[str]) -> NoReturn:
    options = [option for action in parser._actions for option in action.option_strings]
    words = [word.split("=")[0][:_SHOWN] for word in unknown[:8] if word.startswith("-")]
    suggestions = [suggestion(word, options) for word in words]
    remedy = next((text for text in suggestions if text), "")
    arguments = " ".join(unknown)
    if len(arguments) > _SHOWN:
        arguments = f"{arguments[:_SHOWN]}..."
    parser.error(f"unrecognized arguments: {arguments}{remedy}")
