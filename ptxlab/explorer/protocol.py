"""Messages from the page to Python: edits, and requests that change no operands.

`MESSAGES` is the one list of them; front/messages.d.ts is written from it
(`python -m tools.explorer_messages`), and a test holds the two equal. `set_cell` on the wire is
`SetCell` here.
"""

from __future__ import annotations

import re
import types
import typing
from dataclasses import Field, dataclass, fields
from typing import Any, Literal

from ..errors import PtxlabError, listing, quoted
from . import edits


@dataclass(frozen=True)
class Request(edits.Message):
    """What the page asks the widget for; it changes no operands."""


@dataclass(frozen=True)
class RequestPickerIndex(Request):
    """Send the instructions that the picker lists."""


@dataclass(frozen=True)
class RunOnGpu(Request):
    """Run the instruction on the GPU and compare D with the model."""


@dataclass(frozen=True)
class FindDifference(Request):
    """Take operands on which the two chips that are compared differ, and select the first cell that does."""


@dataclass(frozen=True)
class Export(Request):
    """Send the state as Python code, as a link, or as a page."""

    format: Literal["code", "link", "page"]


@dataclass(frozen=True)
class ResendMatrices(Request):
    """Send matrices and registers whole: the page missed a change."""


@dataclass(frozen=True)
class ShowMemory(Request):
    """Show a matrix in shared memory, laid out and moved like this; what is left out is as usual."""

    name: edits.MatrixName
    by: str | None = None
    major: str | None = None
    pitch: int | None = None
    swizzle: int | None = None
    descriptor: str | None = None
    layout: str | None = None


@dataclass(frozen=True)
class SetMemoryField(Request):
    """Write one field of the matrix descriptor of the tile that is shown, as the field shows its value."""

    name: str
    text: str


@dataclass(frozen=True)
class HideMemory(Request):
    """Show no memory."""


@dataclass(frozen=True)
class ShowLoad(Request):
    """Show the registers of a thread after this tcgen05.ld; what is left out is as usual."""

    shape: str
    count: int | None = None
    lane: int | None = None
    column: int | None = None
    pack: bool | None = None


@dataclass(frozen=True)
class StartQuiz(Request):
    """Ask random questions about the instruction."""


@dataclass(frozen=True)
class AnswerQuestion(Request):
    """An answer to the question of the quiz: what was typed, or the name of what was clicked."""

    text: str


@dataclass(frozen=True)
class SkipQuestion(Request):
    """Show the answer; the question does not count."""


@dataclass(frozen=True)
class NextQuestion(Request):
    """Ask the next question."""


@dataclass(frozen=True)
class StopQuiz(Request):
    """End the quiz; its score stays."""


#: Every message that the page may send, by the type it carries.
MESSAGES: dict[str, type[edits.Edit | Request]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", message.__name__).lower(): message
    for message in (
        edits.SetCell, edits.Paste, edits.ClearCells, edits.ExtendCells, edits.FillMatrix, edits.PruneChunks,
        edits.DismissRefusal, edits.SetRegister, edits.FlipBit, edits.SetWord, edits.SetOption,
        edits.SetMask, edits.SetChips, edits.ChooseInstruction, edits.SetDescriptor, edits.SetDescriptorField,
        edits.SetMove, edits.Undo, edits.Redo,
        RequestPickerIndex, RunOnGpu, FindDifference, Export, ResendMatrices, ShowMemory, SetMemoryField,
        HideMemory, ShowLoad,
        StartQuiz, AnswerQuestion, SkipQuestion, NextQuestion, StopQuiz,
    )
}  # fmt: skip

_LONGEST_TEXT = 1 << 21  # letters of what was typed or pasted: several times the largest matrix
_LONGEST_NAME = 1 << 12  # letters of everything else
_LARGEST_NUMBER = 1 << 31


def decode_message(message: object) -> edits.Edit | Request:
    """The edit or request that a page sent, or a `PtxlabError` that says what is wrong with it.

    >>> decode_message({"type": "flip_bit", "name": "A", "lane": 4, "register": 3, "bit": 20})
    FlipBit(name='A', lane=4, register=3, bit=20)
    >>> decode_message({"type": "flip_bit", "name": "A", "lane": "4", "register": 3, "bit": 20})
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: message flip_bit: lane of FlipBit: found '4'; it takes a whole number
    """
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise PtxlabError("the page sent no message: a message is an object with a type")
    kind = message["type"]
    if kind not in MESSAGES:
        raise PtxlabError(f"unknown message {quoted(kind)}; the page sends {listing(MESSAGES, 30)}")
    known = {field.name: field for field in fields(MESSAGES[kind])}
    content = {name: value for name, value in message.items() if name != "type"}
    unknown = [name for name in content if name not in known]
    if unknown:
        allowed = listing(known) or "no fields"
        raise PtxlabError(f"message {kind}: unknown field {quoted(unknown[0])}; it takes {allowed}")
    hints = typing.get_type_hints(MESSAGES[kind])
    missing = [
        name for name, field in known.items() if name not in content and not _is_optional(field, hints)
    ]
    if missing:
        raise PtxlabError(f"message {kind}: {missing[0]} is missing")
    for name, value in content.items():
        if isinstance(value, int) and abs(value) > _LARGEST_NUMBER:
            raise PtxlabError(
                f"message {kind}: {name} is {quoted(value)}; it takes at most {_LARGEST_NUMBER}"
            )
        if isinstance(value, str):
            _check_text(value, f"message {kind}: {name}", _LONGEST_TEXT if name == "text" else _LONGEST_NAME)
    try:
        return MESSAGES[kind](**content)
    except PtxlabError as error:
        raise PtxlabError(f"message {kind}: {error}") from None


def _check_text(text: str, what: str, longest: int) -> None:
    if len(text) > longest:
        raise PtxlabError(f"{what} has {len(text)} letters; it takes {longest}")
    if not text.isascii() and re.search(r"[\ud800-\udfff]", text):
        raise PtxlabError(f"{what} is not valid text: it has half a surrogate pair")


def _is_optional(field: Field[Any], hints: dict[str, Any]) -> bool:
    """Whether a message may leave a field out: only what has None as its default."""
    return field.default is None and types.NoneType in typing.get_args(hints[field.name])


_TYPESCRIPT = {int: "number", str: "string", bool: "boolean", types.NoneType: "null"}


def typescript() -> str:
    """front/messages.d.ts: a type for every message, for the checker of the JavaScript.

    >>> print(typescript().splitlines()[-1])
      | { type: "stop_quiz" };
    """
    lines = [
        "// Messages from the page to Python. Written from ptxlab/explorer/protocol.py (MESSAGES) by",
        "// python -m tools.explorer_messages; do not edit.",
        "",
        "type Message =",
    ]
    for kind, message in MESSAGES.items():
        hints = typing.get_type_hints(message, include_extras=True)
        members = [f'type: "{kind}"', *(_member(field, hints) for field in fields(message))]
        line = f"  | {{ {'; '.join(members)} }}"
        if len(line) > 108:
            line = "\n".join(["  | {", *(f"      {member};" for member in members), "    }"])
        lines.append(line)
    return "\n".join(lines) + ";\n"


def _member(field: Field[Any], hints: dict[str, Any]) -> str:
    name, hint = field.name, hints[field.name]
    if _is_optional(field, hints):
        name += "?"
    if typing.get_origin(hint) is typing.Annotated:
        return f"{name}: {hint.__metadata__[0]}"
    if typing.get_origin(hint) is Literal:
        return f"{name}: " + " | ".join(f'"{value}"' for value in typing.get_args(hint))
    return f"{name}: " + " | ".join(_TYPESCRIPT[each] for each in typing.get_args(hint) or (hint,))
