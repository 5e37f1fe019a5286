"""What the reader writes: called for a limited time, and read into plain data before anything is compared.

An answer can be anything that Python has: an endless iterator, a list that contains itself, an object that
claims to be equal to everything. `plain` turns it into numbers, texts, lists and arrays, so that the checks
compare values that cannot deceive them; `within_time_limit` ends a function whose loop never ends.
"""

from __future__ import annotations

import contextlib
import contextvars
import operator
import re
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import quoted
from ..question import Unanswered

#: Seconds that the reader's own code may take in one check; a right answer takes a fraction of one.
TIME_LIMIT = 10.0

_MAX_PARTS = 1 << 16  # numbers in one answer: the longest that is right has a few hundred
_DEEPEST = 16  # lists inside lists
_LONGEST_ERROR = 200  # letters of what a function raised

Result = TypeVar("Result")


class WrongForm(Exception):
    """The answer does not have the required form; the message says which form that is."""


class Unreadable:
    """Stands for an object that is neither a number nor a text nor a collection of them."""

    def __init__(self, value: object) -> None:
        self._text = quoted(value)

    def __repr__(self) -> str:
        return self._text


# -- answers as plain data -----------------------------------------------------------------------------------


def plain(value: object) -> object:
    """The value with nothing of the reader's own types in it: numbers, texts, arrays, and lists of them.

    Functions stay, to be called. Iterators become lists; anything else becomes `Unreadable`.

    >>> plain((np.int8(3), {"a": iter([1, 2])}))
    (3, {'a': [1, 2]})
    >>> plain(object)
    <class 'object'>
    """
    with readers_time():
        return _AnswerReader().plain(value, 0)


class _AnswerReader:
    """Reads one answer, and counts its parts."""

    def __init__(self) -> None:
        self._parts = 0

    def plain(self, value: object, depth: int) -> object:
        if value is ...:
            raise Unanswered
        self._count(1)
        if depth > _DEEPEST:
            raise WrongForm("The answer has lists inside lists without end; give plain numbers in one list.")
        if isinstance(value, int | float | str | bytes | complex):
            return _builtin(value)
        if isinstance(value, Decimal):
            return _from_decimal(value)
        if value is None or type(value) is Fraction or callable(value):
            return value
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value, depth)
        if isinstance(value, dict | list | tuple | set | frozenset):
            return self._collection(value, depth)
        return self._object(value, depth)

    def _count(self, parts: int) -> None:
        self._parts += parts
        if self._parts > _MAX_PARTS:
            raise WrongForm(f"The answer has more than {_MAX_PARTS:,} parts, far more than any right one.")

    def _list(self, values: Iterable[object], depth: int) -> list[object]:
        return [self.plain(value, depth + 1) for value in values]

    def _collection(
        self, value: dict[Any, Any] | list[Any] | tuple[Any, ...] | set[Any] | frozenset[Any], depth: int
    ) -> object:
        """A collection of Python's own kinds; the methods of a subclass are not called."""
        if isinstance(value, dict):
            keys = self._list(dict.keys(value), depth)
            return dict(zip(keys, self._list(dict.values(value), depth), strict=True))
        if isinstance(value, list):
            return self._list(list.__iter__(value), depth)
        if isinstance(value, tuple):
            return tuple(self._list(tuple.__iter__(value), depth))
        iterator = set.__iter__(value) if isinstance(value, set) else frozenset.__iter__(value)
        return frozenset(self._list(iterator, depth))

    def _array(self, value: object, depth: int) -> object:
        if np.ma.is_masked(value):
            raise WrongForm("The answer is an array with masked elements; fill them first.")
        array = np.asarray(value)
        self._count(array.size)
        kind = array.dtype.kind
        if kind in "OUS":
            return self.plain(array.tolist(), depth)
        if (kind == "V" and array.dtype.type is not np.void) or array.dtype == np.longdouble:
            array = array.astype(np.float64)  # a type of ml_dtypes, or one that Python does not have
        if array.dtype.kind not in "biufc":
            return Unreadable(array)
        return array.item() if array.ndim == 0 else array.copy()

    def _object(self, value: object, depth: int) -> object:
        """An object by what it offers: an array, a whole number, a number, or an iterator."""
        kind = type(value)
        with _refused_as_raised():
            if hasattr(kind, "__array__"):
                return self._array(np.asarray(value), depth)
            if hasattr(kind, "__index__"):
                return _builtin(operator.index(value))  # type: ignore[arg-type]
            if hasattr(kind, "__float__"):
                return _builtin(float(value))  # type: ignore[arg-type]
            if isinstance(value, Iterable):
                return self._list(value, depth)
        return Unreadable(value)


def _builtin(value: int | float | str | bytes | complex) -> object:
    """The value as Python's own type, even if its class is a subclass that overrides operators."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int.__pos__(value)
    if isinstance(value, float):
        return float.__pos__(value)
    if isinstance(value, complex):
        return complex.__pos__(value)
    return str.__str__(value) if isinstance(value, str) else b"".join([value])


def _from_decimal(value: Decimal) -> int | float:
    """A decimal number as Python's own; one such as 1e999999999 has more digits than there is time for."""
    is_moderate = Decimal.is_finite(value) and abs(Decimal.adjusted(value)) < 30
    if is_moderate and Decimal.__int__(value) == value:
        return Decimal.__int__(value)
    return float("nan") if Decimal.is_nan(value) else Decimal.__float__(value)


@contextmanager
def _refused_as_raised() -> Iterator[None]:
    try:
        yield
    except (Unanswered, WrongForm, _Stopped, GeneratorExit):  # the last where a check was left
        raise
    except BaseException as error:  # the reader's own code may raise anything, also SystemExit
        raise WrongForm(f"The answer cannot be read: it raised {raised(error)}.") from None


def raised(error: BaseException) -> str:
    """What a reader's code raised, in one line: ``ZeroDivisionError: division by zero``."""
    try:
        text = " ".join(str(error).split())
    except BaseException:
        text = ""
    if len(text) > _LONGEST_ERROR:
        text = f"{text[: _LONGEST_ERROR - 3]}..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


# -- functions, for a limited time ---------------------------------------------------------------------------


class _Stopped(BaseException):
    """Raised inside the reader's code when its time is over; not an `Exception`, which a loop might catch."""


class _Clock:
    """How long the reader's code has run in one check; the time of the check itself does not count.

    Time that the processor gave to other programs counts a sixth: code that sleeps has to end as well.
    """

    def __init__(self) -> None:
        self._spent = 0.0
        self._since: tuple[float, float] | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        if self._since is not None:  # inside a call, an answer is read
            yield
            return
        self._since = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            self._spent += _elapsed(self._since)
            self._since = None

    @property
    def left(self) -> float:
        since = self._since
        return TIME_LIMIT - self._spent - (0.0 if since is None else _elapsed(since))


def _elapsed(since: tuple[float, float]) -> float:
    """Seconds since a time of the clock and of the processor; several threads count once."""
    passed, worked = time.monotonic() - since[0], time.process_time() - since[1]
    return min(passed, max(worked, passed / 6))


_clock: contextvars.ContextVar[_Clock | None] = contextvars.ContextVar("clock of the reader", default=None)


@contextmanager
def readers_time() -> Iterator[None]:
    """What runs inside counts as the reader's code: it has `TIME_LIMIT` seconds in one check."""
    clock = _clock.get()
    if clock is None:
        yield
    else:
        with clock.running():
            yield


def call(function: Callable[..., object], arguments: Iterable[object], about: str) -> object:
    """What a reader's function returns, as plain data; `WrongForm` if it raises, whatever that is.

    It gets copies of its arguments: what it changes in them changes nothing in the check.
    """
    copies = [_copy(argument) for argument in arguments]
    with readers_time():
        try:
            value = function(*copies)
        except _Stopped:
            raise
        except BaseException as error:  # the reader's own code may raise anything, also SystemExit
            raise WrongForm(f"{about} the function raised {raised(error)}.") from None
        return plain(value)


def _copy(argument: object) -> object:
    if isinstance(argument, np.ndarray | list):
        return argument.copy()
    return argument


def within_time_limit(work: Callable[[], Result]) -> Result:
    """The result of `work`, in which the reader's code may run for `TIME_LIMIT` seconds; else `WrongForm`.

    It works in a thread, so that this one can stop waiting: on every system, in every thread, and for an
    interrupt by the reader, which ends both.
    """
    clock = _Clock()
    results: list[Result] = []
    errors: list[BaseException] = []
    done = threading.Event()  # `Thread.join` takes an interrupted thread for one that has ended (bpo-45274)

    def run() -> None:
        _clock.set(clock)
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    def run_in_thread(context: contextvars.Context) -> None:
        with contextlib.suppress(_Stopped):  # which may arrive when all is done
            context.run(run)

    context = contextvars.copy_context()
    thread = threading.Thread(target=run_in_thread, args=(context,), daemon=True)
    try:
        thread.start()
    except RuntimeError:  # Python in a browser has no threads
        context.run(run)
    else:
        try:
            while not done.wait(0.05) and clock.left > 0:
                pass
        except BaseException:  # the reader interrupts
            _stop(thread, done)
            raise
    if results:
        return results[0]
    if errors and not isinstance(errors[0], _Stopped):
        raise errors[0]
    was_stopped = _stop(thread, done)
    ending = "was stopped" if was_stopped else "is still running: restart the kernel to end it"
    raise WrongForm(
        f"Your code did not finish within {TIME_LIMIT:g} seconds and {ending}. Is there a loop, or an "
        "iterator, that never ends?"
    )


def _stop(thread: threading.Thread, done: threading.Event) -> bool:
    """Raise `_Stopped` in a thread, several times if it catches that; whether the thread has ended.

    Code that waits inside a system call, such as a long `time.sleep`, cannot be stopped.
    """
    for _ in range(10):
        if done.is_set() or not thread.is_alive():
            return True
        _raise_in(thread)
        done.wait(0.05)
    return done.is_set() or not thread.is_alive()


def _raise_in(thread: threading.Thread) -> None:
    import ctypes  # late: only code that never ends needs it

    if thread.ident is not None and hasattr(ctypes, "pythonapi"):  # CPython, as in every usual kernel
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Stopped))


# -- numbers and functions as a check wants them -------------------------------------------------------------


def _whole_number(value: object, form: str, limit: int = 1 << 64) -> int:
    """A plain value, or the only part of one, as a whole number below `limit`."""
    parts = _parts(value)
    if len(parts) == 1 and isinstance(parts[0], str):
        number = _whole_number_from_text(parts[0], form)
    else:
        try:
            (part,) = parts
            number = int(part)  # type: ignore[call-overload]  # anything else raises
            if isinstance(part, bytes) or number != part:
                raise ValueError
        except (ValueError, TypeError, OverflowError, ArithmeticError):
            raise WrongForm(f"{quoted(value)} is not a whole number; expected {form}.") from None
    if abs(number) >= limit:
        raise WrongForm(f"{quoted(value)} is far too large; expected {form}.")
    return number


def _whole_number_from_text(text: str, form: str) -> int:
    try:
        return int(text.replace("_", ""), 0)
    except ValueError:
        advice = f"expected {form}"
        named = re.fullmatch(r"[A-Za-z](\d{1,9})", text.strip())  # such as "a29"
        if named and "element" in form:
            advice = f"write {named[1]}"
        raise WrongForm(f"{quoted(text)} is not a whole number; {advice}.") from None


def _parts(answer: object) -> list[object]:
    """A plain answer as a flat list: nested collections and arrays are flattened, text stays whole."""
    if isinstance(answer, np.ndarray):
        return list(answer.ravel().tolist())
    if not isinstance(answer, dict | list | tuple | frozenset):
        return [answer]
    return [part for inner in answer for part in _parts(inner)]


def _require_order(answer: object, count: int | None, form: str) -> None:
    if isinstance(answer, frozenset) and count != 1:
        raise WrongForm(f"A set has no order; expected {form}.")


def _count(count: int, noun: str = "number") -> str:
    if count == 1:
        return f"one {noun}"
    return f"{count or 'no'} {noun}s"


def whole_numbers(answer: object, count: int, form: str) -> tuple[int, ...]:
    """The answer as `count` whole numbers, from containers, arrays, NumPy numbers or text such as "0x1F"."""
    _require_order(answer, count, form)
    values = tuple(_whole_number(part, form) for part in _parts(answer))
    if len(values) != count:
        raise WrongForm(
            f"found {_count(len(values))}; the answer is {_count(count, 'whole number')}: {form}."
        )
    return values


def numbers(answer: object, form: str, count: int | None = None) -> tuple[float, ...]:
    """The answer as finite numbers, `count` of them if it is given: Python's, NumPy's, fractions, or text."""
    _require_order(answer, count, form)
    try:
        values = tuple(float(part) for part in _parts(answer))  # type: ignore[arg-type]  # anything else raises
    except (TypeError, ValueError, ArithmeticError):  # a fraction or an integer may be beyond any float
        values = (float("nan"),)
    if not np.isfinite(values).all():
        kind = "a number" if count == 1 else "a list of numbers"
        raise WrongForm(f"{quoted(answer)} is not {kind}; expected {form}.")
    if count is not None and len(values) != count:
        raise WrongForm(f"found {_count(len(values))}; the answer is {_count(count)}: {form}.")
    return values


def close_to(submitted: Iterable[float], expected: Iterable[float], within: float) -> list[bool]:
    """Which of the numbers are closer than `within` to those expected.

    >>> close_to((1.0, 2.2), (1.0, 2.0), within=0.1)
    [True, False]
    """
    return [abs(number - right) < within for number, right in zip(submitted, expected, strict=True)]


def whole_number_set(answer: object, form: str) -> frozenset[int]:
    """The answer as a set of whole numbers, in any order and from any container."""
    return frozenset(_whole_number(part, form) for part in _parts(answer))


def function_table(function: object, *sizes: int, form: str) -> NDArray[np.int64]:
    """What a reader's function returns for every combination of whole arguments below `sizes`."""
    table = np.zeros(sizes, dtype=np.int64)
    for arguments in np.ndindex(*sizes):
        table[arguments] = whole_result_of(function, *arguments, form=form)
    return table


def first_wrong(submitted: NDArray[Any], expected: NDArray[Any], form: str) -> str:
    """Where two tables differ first, by the form of an index such as "D[{}][{}]"; "" if nowhere.

    >>> first_wrong(np.arange(4).reshape(2, 2), np.array([[0, 1], [5, 3]]), "D[{}][{}]")
    'D[1][0]'
    """
    wrong = np.argwhere(submitted != expected)
    return form.format(*wrong[0]) if len(wrong) else ""


def result_of(function: object, *arguments: object, form: str, about: str = "") -> object:
    """What a reader's function returns; if it raises or returns nothing, the verdict says so.

    `about` replaces the list of arguments at the start of that message.
    """
    if not callable(function):
        raise WrongForm(f"the answer is a function: {form}.")
    about = about or f"called with ({', '.join(_shortened(str(argument)) for argument in arguments)})"
    value = call(function, arguments, about)
    if value is None:
        raise WrongForm(f"{about} the function returned nothing; is the `return` missing?")
    return value


def _shortened(text: str) -> str:
    """At most 60 letters of a text; fast for short ones, since checks make thousands of calls."""
    joined = " ".join(text.split())
    return joined if len(joined) <= 60 else textwrap.shorten(joined, 60, placeholder=" ...")


def whole_result_of(function: object, *arguments: object, form: str) -> int:
    """One whole number of at most 63 bits from a reader's function."""
    return _whole_number(result_of(function, *arguments, form=form), form, 1 << 63)


def number_of(function: object, *arguments: object, form: str, about: str = "") -> float:
    """One number from a reader's function."""
    return numbers(result_of(function, *arguments, form=form, about=about), form, 1)[0]


def as_table(value: object, form: str) -> NDArray[Any]:
    """A plain answer as an array of real numbers."""
    try:
        table = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise WrongForm(f"The rows are not equally long; {form}.") from None
    if table.dtype.kind not in "biuf":
        raise WrongForm(f"Found {quoted(value)}; {form}.")
    return table
