"""The class of messages, which a page, a link or a program sends: decoded and checked where they come in.

The edits among them are in `edits.py`; `session.MESSAGES` lists all that a page can send.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from .._util.arguments import as_int
from ..errors import PtxlabError, error_prefix, listing, quoted

_PLAIN_TYPES = {int, bool, str, types.NoneType}


@dataclass(frozen=True)
class Message:
    """What a page or a program asks for. Integer fields accept any integer type and refuse others.

    >>> from ptxlab.explorer.edits import FlipBit
    >>> FlipBit("A", np.int64(4), np.array(3), bit=20)
    FlipBit(name='A', lane=4, register=3, bit=20)
    >>> FlipBit("A", 4, 3, bit=2.5)
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: bit of FlipBit: found 2.5; it takes a whole number
    """

    _types: ClassVar[Mapping[str, Any]]  # of its fields, by name
    _checked_fields: ClassVar[Mapping[str, Any]]  # the types of its integers, flags and texts

    def __init_subclass__(cls) -> None:
        cls._types = typing.get_type_hints(cls)
        cls._checked_fields = {
            name: hint
            for name, hint in cls._types.items()
            if typing.get_origin(hint) is not ClassVar
            and (typing.get_origin(hint) is Literal or set(typing.get_args(hint) or (hint,)) <= _PLAIN_TYPES)
        }

    def __post_init__(self) -> None:
        for name, hint in self._checked_fields.items():
            checked = _as_type(getattr(self, name), hint, f"{name} of {type(self).__name__}")
            object.__setattr__(self, name, checked)


def _as_type(value: object, hint: Any, what: str) -> object:
    """The value converted to the type of a field, or a refusal."""
    if typing.get_origin(hint) is Literal:
        words = typing.get_args(hint)
        if isinstance(value, str) and value in words:
            return value
        raise PtxlabError(f"{what}: found {quoted(value)}; it takes {' or '.join(map(repr, words))}")
    allowed = typing.get_args(hint) or (hint,)
    if value is None and types.NoneType in allowed:
        return None
    if str in allowed:
        if isinstance(value, str):
            return value
        raise PtxlabError(f"{what}: found {quoted(value)}; it takes a text")
    if bool in allowed and isinstance(value, bool | np.bool_):
        return bool(value)
    if int not in allowed:
        raise PtxlabError(f"{what}: found {quoted(value)}; it takes True or False")
    return as_int(value, what)


M = TypeVar("M", bound=Message)


def message_name(kind: type[Message]) -> str:
    """The name of a kind of message on the wire.

    >>> from ptxlab.explorer.edits import SetCell
    >>> message_name(SetCell)
    'set_cell'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


_MAX_TEXT = 1 << 21  # characters typed or pasted: several times the largest matrix
_MAX_NAME = 1 << 12  # characters of any other text
_MAX_NUMBER = 1 << 31


def decode(message: object, kinds: Mapping[str, type[M]]) -> M:
    """The message of one of these kinds, by their names, or a `PtxlabError` that says what is wrong.

    >>> from ptxlab.explorer.edits import FlipBit
    >>> flip = {"type": "flip_bit", "name": "A", "lane": 4, "register": 3, "bit": 20}
    >>> decode(flip, {"flip_bit": FlipBit})
    FlipBit(name='A', lane=4, register=3, bit=20)
    >>> decode({**flip, "lane": "4"}, {"flip_bit": FlipBit})
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: message flip_bit: lane of FlipBit: found '4'; it takes a whole number
    """
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise PtxlabError("the page sent no message: a message is an object with a type")
    kind = message["type"]
    if kind not in kinds:
        raise PtxlabError(f"unknown message {quoted(kind)}; the page sends {listing(kinds, 30)}")
    field_of = {field.name: field for field in fields(kinds[kind])}
    content = {name: value for name, value in message.items() if name != "type"}
    unknown = [name for name in content if name not in field_of]
    if unknown:
        allowed = listing(field_of) or "no fields"
        raise PtxlabError(f"message {kind}: unknown field {quoted(unknown[0])}; it takes {allowed}")
    hints = kinds[kind]._types
    missing = [
        name for name, field in field_of.items() if name not in content and not is_optional(field, hints)
    ]
    if missing:
        raise PtxlabError(f"message {kind}: {missing[0]} is missing")
    for name, value in content.items():
        if isinstance(value, int) and abs(value) > _MAX_NUMBER:
            raise PtxlabError(f"message {kind}: {name} is {quoted(value)}; it takes at most {_MAX_NUMBER}")
        if isinstance(value, str):
            _check_text(value, f"message {kind}: {name}", _MAX_TEXT if name == "text" else _MAX_NAME)
    with error_prefix(f"message {kind}"):
        return kinds[kind](**content)


def _check_text(text: str, what: str, longest: int) -> None:
    if len(text) > longest:
        raise PtxlabError(f"{what} has {len(text)} letters; it takes {longest}")
    if not text.isascii() and re.search(r"[\ud800-\udfff]", text):
        raise PtxlabError(f"{what} is not valid text: it has half a surrogate pair")


def is_optional(field: Field[Any], hints: Mapping[str, Any]) -> bool:
    """Whether a message may leave a field out: its default must be None."""
    return field.default is None and types.NoneType in typing.get_args(hints[field.name])
