"""Calls with one argument replaced: by something hostile, or by a variant of what belongs there."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import random
import re
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ptxlab import PtxlabError

from . import hostile

SECONDS = 10  # that a call may take
_TOKENS = re.compile(r"[\w.%:$]+|\S|\s+")
_MAX_LETTERS = 700  # of a message: a sentence with a list of what would be right
_MAX_REPEATED = 80  # letters of the input in a message


@dataclass(frozen=True)
class Call:
    """A valid call: `make` gives the function and fresh arguments, positional ones under their names."""

    name: str
    make: Callable[[], tuple[Callable[..., Any], dict[str, Any]]]
    only: tuple[str, ...] = ()  # the arguments to replace; () is all
    skip: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """What broke the contract."""

    call: str
    argument: str
    value: str
    problem: str
    where: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.call}({self.argument}={self.value}): {self.problem} {self.where}"


class _TimeOut(BaseException):
    """Not an `Exception`, so that nothing on the way takes it for an answer."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop what takes longer, where signals can."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise _TimeOut

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def variants(value: Any) -> list[hostile.Value]:
    """What almost belongs there: an array of the same shape in every other type, and so on."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iufb":
        return []
    array: np.ndarray[Any, Any] = value
    ones = np.ones(array.shape)
    odd: list[hostile.Value] = [
        ("big-endian", lambda: array.astype(array.dtype.newbyteorder(">"))),
        ("masked", lambda: np.ma.masked_equal(array, array.ravel()[0] if array.size else 0)),
        ("unmasked", lambda: np.ma.array(array)),
        ("matrix", lambda: array.view(np.matrix) if array.ndim == 2 else array.view(np.recarray)),
        ("objects of it", lambda: array.astype(object)),
        ("strings of it", lambda: array.astype("U8")),
        ("complex of it", lambda: array.astype(complex)),
        ("dates of it", lambda: np.zeros(array.shape, dtype="M8[s]")),
        ("bools of it", lambda: array.astype(bool)),
        ("halves of it", lambda: ones / 2),
        ("nan of it", lambda: ones * np.nan),
        ("infinity of it", lambda: ones * np.inf),
        ("huge floats", lambda: ones * 1e300),
        ("longdouble", lambda: ones.astype(np.longdouble)),
        ("uint64", lambda: np.full(array.shape, 2**64 - 1, dtype=np.uint64)),
        ("int64", lambda: np.full(array.shape, -(2**63), dtype=np.int64)),
        ("minus one", lambda: np.full(array.shape, -1)),
        ("records", lambda: np.zeros(array.shape, dtype="i4,i4")),
        ("Fortran", lambda: np.asfortranarray(array)),
        ("strided", lambda: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array),
        ("read-only", lambda: np.broadcast_to(array, array.shape)),
        ("lists", array.tolist),
        ("transposed", lambda: array.T),
        ("cut", lambda: array[..., :-1] if array.ndim else array),
        ("one axis less", lambda: array[0] if array.ndim and len(array) else array),
        ("batch", lambda: np.stack([array, array])),
        ("batch of none", lambda: array[None][:0]),
        ("batch of 3 x 1", lambda: np.broadcast_to(array, (3, 1, *array.shape))),
        ("huge batch", lambda: np.broadcast_to(array, (1 << 40, *array.shape))),
    ]
    return odd


def damaged(text: str, choice: random.Random, odd: Sequence[str]) -> str:
    """A text with one to three places damaged; `odd` are words that may come in."""
    tokens = _TOKENS.findall(text)
    for _ in range(choice.choice((1, 1, 1, 2, 3))):
        at, other = choice.randrange(len(tokens)), choice.randrange(len(tokens))
        kind = choice.randrange(9)
        if kind == 0:
            tokens = list("".join(tokens)[: choice.randrange(len("".join(tokens)) + 1)]) or [""]
        elif kind == 1:
            del tokens[at : at + choice.randrange(1, 9)]
            tokens = tokens or [""]
        elif kind == 2:
            tokens[at:at] = tokens[other : other + choice.randrange(1, 20)]
        elif kind in (3, 4):
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 5:
            tokens[at] = tokens[other]
        elif kind == 6:
            letters = list(tokens[at])
            letters[choice.randrange(len(letters) + 1) : 1] = chr(choice.randrange(32, 127))
            tokens[at] = "".join(letters)
        else:
            tokens[at] = choice.choice(odd)
    return "".join(tokens)


def _arguments(function: Callable[..., Any], arguments: dict[str, Any]) -> list[str]:
    """Names of all arguments, those left out included."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return list(arguments)
    named = [
        parameter.name
        for parameter in parameters
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    return list(dict.fromkeys([*arguments, *named]))


def call_with(function: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call with arguments by name; ``*`` has those that have none."""
    named = {name: value for name, value in arguments.items() if not name.startswith("*")}
    unnamed = [value for name, value in arguments.items() if name.startswith("*")]
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    for parameter in parameters:
        if parameter.kind is parameter.POSITIONAL_ONLY and parameter.name in named:
            unnamed.append(named.pop(parameter.name))
    answer = function(*unnamed, **named)
    if inspect.isgenerator(answer):
        return list(itertools.islice(answer, 1000))
    return answer


def _check_message(error: PtxlabError, value: str) -> str:
    """What is wrong with a message, or nothing."""
    message = str(error)
    if len(message.splitlines()) != 1:
        return f"message of {len(message.splitlines())} lines: {message[:200]!r}"
    if not 10 <= len(message) <= _MAX_LETTERS:
        return f"message of {len(message)} letters: {message[:200]!r}"
    if _MAX_REPEATED // len(hostile.MARK) * hostile.MARK in message:
        return f"message repeats too much: {message[:200]!r}"
    return ""


def attempt(call: Call, argument: str, label: str, make_value: Callable[[], Any]) -> Failure | None:
    """Make the call with this one argument; the failure, if it is one."""
    problem, where = "", ""
    function, arguments = call.make()
    with warnings.catch_warnings(action="ignore"):
        arguments[argument] = make_value()
    try:
        with time_limit(SECONDS):
            call_with(function, arguments)
    except PtxlabError as error:
        problem = _check_message(error, label)
    except _TimeOut as error:
        problem, where = f"takes more than {SECONDS} s", _place(error)
    except BaseException as error:
        problem, where = f"{type(error).__name__}: {_text(error)[:120]}", _place(error)
    return Failure(call.name, argument, label, problem, where) if problem else None


def _text(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())
    except Exception:
        return "?"


def _place(error: BaseException) -> str:
    """The last lines of ptxlab on the way, innermost first."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/ptxlab/" in frame.filename]
    return " < ".join(f"{frame.filename.rsplit('/ptxlab/', 1)[1]}:{frame.lineno}" for frame in frames[:-4:-1])


def fuzz(calls: Sequence[Call], count: int, seed: int) -> Iterator[tuple[Call, str, str, Failure | None]]:
    """So many calls, the same for a seed: (call, argument, value, failure)."""
    choice = random.Random(seed)
    names = []
    for call in calls:
        function, arguments = call.make()
        chosen = call.only or tuple(_arguments(function, arguments))
        names.append([name for name in chosen if name not in call.skip])
    for number in range(count):
        index = number % len(calls) if number < len(calls) else choice.randrange(len(calls))
        call = calls[index]
        if not names[index]:
            continue
        argument = choice.choice(names[index])
        own = variants(call.make()[1].get(argument))
        values = own if own and choice.random() < 0.5 else hostile.VALUES
        label, make_value = choice.choice(values)
        yield call, argument, label, attempt(call, argument, label, make_value)
