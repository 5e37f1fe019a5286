"""The parser of the command line, made from the signatures of the commands.

Wrong usage is answered in one sentence, with a suggestion.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, get_args, get_origin, get_type_hints

from .._version import __version__
from ..errors import listing, quoted
from . import output
from .commands import COMMANDS, OVERVIEW, Flags
from .output import Style

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_SHOWN = 60  # characters of a word that a message repeats
_MAX_MESSAGE = 300  # characters of a message of argparse
_LONG_WORD = re.compile(rf"(\S{{{_SHOWN}}})\S+")
_DIGITS = 40  # of a number; rows, lanes, seeds and counts have fewer


def suggestion(word: str, words: Iterable[str]) -> str:
    """``; did you mean show?``, or "" if no known word is similar."""
    similar = difflib.get_close_matches(word, list(words), 3, 0.5)
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


# -- signatures --------------------------------------------------------------------------------------------


def function_of(command: str) -> Callable[..., str | int]:
    """The function of a command; `list_` has an underscore, as Python has a `list`."""
    module = import_module(f".{COMMANDS[command].module}", __package__)
    function: Callable[..., str | int] = getattr(module, command, None) or getattr(module, f"{command}_")
    return function


class _Declared(NamedTuple):
    """A parameter of a function or a dataclass that is an argument of a command.

    `notes` are those of its `Annotated`: help, name of the value, option; or `Flags`, one option for each of
    its values; or, where `type` is a dataclass, the names of its fields that count.
    """

    parameter: inspect.Parameter
    type: Any
    notes: tuple[Any, ...]

    @property
    def group(self) -> Any:
        """The dataclass whose fields are arguments, if it stands for one."""
        return self.type if isinstance(self.type, type) and is_dataclass(self.type) else None


def _declared(owner: Callable[..., Any]) -> Iterator[_Declared]:
    """The parameters of a function or a dataclass that are arguments."""
    hints = get_type_hints(owner, include_extras=True)
    for parameter in inspect.signature(owner).parameters.values():
        hint = hints[parameter.name]
        hint = next(
            (candidate for candidate in (hint, *get_args(hint)) if hasattr(candidate, "__metadata__")), hint
        )
        notes = getattr(hint, "__metadata__", ())
        if hint is not Style and parameter.kind is not parameter.VAR_POSITIONAL:
            yield _Declared(parameter, get_args(hint)[0] if notes else hint, notes)


def _takes_more(function: Callable[..., Any]) -> bool:
    """Whether a command takes words that its parser does not know."""
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    return inspect.Parameter.VAR_POSITIONAL in kinds


def add_arguments(
    parser: argparse._ActionsContainer, owner: Callable[..., Any], only: Collection[str] | None = None
) -> None:
    """Add an argument for every parameter, or for `only` these.

    A parameter before the * is a word, one behind it an option. `Annotated[int | None, "the help", "N"]` has
    the help and what it calls the value; a third text is the option, where the parameter has another name. A
    parameter whose type is a dataclass stands for its fields, in a group with its `title` if it has one.
    """
    for declared in _declared(owner):
        name, group, notes = declared.parameter.name, declared.group, declared.notes
        if group is not None:
            title = getattr(group, "title", None)
            add_arguments(parser.add_argument_group(title) if title else parser, group, *notes)
        elif isinstance(notes[0], Flags):
            flags = parser.add_mutually_exclusive_group()
            for flag, help in notes[0].help.items():
                if only is None or flag in only:
                    flags.add_argument(f"--{flag}", dest=name, action="store_const", const=flag, help=help)
        elif only is None or name in only:
            _add_argument(parser, declared.parameter, declared.type, *notes)


def _add_argument(
    parser: argparse._ActionsContainer,
    parameter: inspect.Parameter,
    kind: Any,
    help: str,
    metavar: str = "",
    option: str = "",
) -> None:
    options: dict[str, Any] = {"help": help}
    types = [kind, *get_args(kind)]  # such as `int | None`, and int
    choices = [
        choice
        for alternative in types
        if get_origin(alternative) is Literal
        for choice in get_args(alternative)
    ]
    if kind is bool:
        options["action"] = "store_true"
    elif choices:
        options["choices"] = choices
    else:
        options["metavar"] = metavar.strip("[]") or parameter.name.upper()
    if int in types:
        options["type"] = integer
    if list in [get_origin(alternative) for alternative in types]:
        options["action"] = "append"
    if metavar.startswith("["):  # the option may stand without it
        options |= {"nargs": "?", "const": ""}
    if parameter.kind is not parameter.KEYWORD_ONLY:
        may_lack = parameter.default is None
        parser.add_argument(parameter.name, nargs="?" if may_lack else None, **options)
    elif parameter.default is parameter.empty:
        parser.add_argument(f"--{parameter.name}", required=True, **options)
    else:
        name = option or f"--{parameter.name.replace('_', '-')}"
        parser.add_argument(name, dest=parameter.name, default=parameter.default, **options)


def integer(text: str) -> int:
    """A whole number as Python and C write it, decimal or hexadecimal."""
    digits = re.fullmatch(r"[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)", text.strip())
    if digits is None:
        raise argparse.ArgumentTypeError(f"invalid int value: {quoted(text)}")
    if len(digits[0]) > _DIGITS:
        raise argparse.ArgumentTypeError(f"invalid int value: {quoted(text)}, a number of {len(text)} digits")
    return int(text, 16 if "x" in text.lower() else 10)


def values(
    owner: Callable[..., Any], parsed: dict[str, Any], only: Collection[str] | None = None
) -> dict[str, Any]:
    """What the parser has found for the parameters that `add_arguments` gave to it."""
    arguments = {}
    for declared in _declared(owner):
        name, group = declared.parameter.name, declared.group
        if group is not None:
            arguments[name] = group(**values(group, parsed, *declared.notes))
        elif only is None or name in only or isinstance(declared.notes[0], Flags):
            arguments[name] = parsed[name]
    return arguments


# -- the parser --------------------------------------------------------------------------------------------


def build(names: Collection[str]) -> argparse.ArgumentParser:
    """The parser of the whole command line, which knows the arguments of these commands."""
    parser = _Parser(
        prog="ptxlab",
        description="PTX matrix instructions: which lane holds what, in which bits, and what comes out.",
        epilog=OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"ptxlab {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=_Parser)
    for name, command in COMMANDS.items():
        raw = argparse.RawDescriptionHelpFormatter
        subparser = commands.add_parser(
            name, help=command.summary, description=command.summary, formatter_class=raw
        )
        subparser.set_defaults(command=name, parser=subparser)
        if name in names:
            function = function_of(name)
            subparser.epilog = str(inspect.getdoc(function)).partition("\n\n")[2]  # its examples
            subparser.allow_abbrev = not _takes_more(function)  # or an option for others could match as one
            add_arguments(subparser, function)
    return parser


_cached_parser = lru_cache(maxsize=8)(build)


@dataclass(frozen=True)
class ParsedCommand:
    """A command, the words for others that it passes on, and its arguments by name."""

    function: Callable[..., str | int]
    words: Sequence[str]
    arguments: dict[str, Any]

    def run(self, style: Style) -> str | int:
        """Run the command: its answer, or its exit status."""
        return self.function(style, *self.words, **self.arguments)


def parse(words: Sequence[str]) -> ParsedCommand:
    """The command that the words call; leaves with SystemExit on wrong usage, as argparse does."""
    parser = _cached_parser(frozenset(COMMANDS.keys() & {*words}))
    for word in words:
        option, _, value = word.partition("=")
        if value == "--" and option.startswith("-"):  # argparse of Python 3.11 takes it for an empty list
            parser.error(f"argument {option}: expected one argument")
    args, unknown = parser.parse_known_args(_with_elements(words))
    if not hasattr(args, "command"):
        if unknown:
            _refuse(parser, unknown)
        parser.print_help()
        parser.exit()
    function = function_of(args.command)
    if unknown and not _takes_more(function):
        _refuse(args.parser, unknown)
    return ParsedCommand(function, [word for word in unknown if word != "--"], values(function, vars(args)))


def _with_elements(words: Sequence[str]) -> list[str]:
    """Split elements into words: A[9][37] becomes A 9 37."""
    command = next((word for word in words if word in COMMANDS), None)
    if command is None:
        return list(words)
    parameters = inspect.signature(function_of(command)).parameters
    if not {"instruction", "row", "column"} <= parameters.keys():
        return list(words)
    separate: list[str] = []
    for word in words:
        element = re.fullmatch(r"([A-Za-z]{1,3})\[(\d+)\]\[(\d+)\]", word)
        if element is None:
            separate.append(word)
        else:
            separate += element.groups() if "operand" in parameters else element.groups()[1:]
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
