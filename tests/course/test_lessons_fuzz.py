"""Any answer gets a verdict with a sentence, and only a right one is called right.

Seeded; PTXLAB_FUZZ=N tries N answers instead of a few hundred.
"""

from __future__ import annotations

import _thread
import decimal
import enum
import fractions
import functools
import itertools
import os
import random
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptxlab import lessons
from ptxlab.course import answers
from ptxlab.course.answers import WrongForm, plain
from ptxlab.course.checking import UNFORESEEN
from ptxlab.errors import PtxlabError
from ptxlab.lessons import EXERCISES
from tests.cases import each
from tests.course import RIGHT

TRIES = int(os.environ.get("PTXLAB_FUZZ", "100"))
MARK = "qzj"  # what long answers are made of, to find them again in a verdict
MAX_LETTERS, MAX_REPEATED, MAX_SECONDS = 900, 80, 5.0
FUNCTIONS = [name for name, exercise in EXERCISES.items() if exercise.starter.startswith("def ")]
VALUES = [name for name in EXERCISES if name not in FUNCTIONS]


# -- what a reader might write -------------------------------------------------------------------------------


class Hostile:
    """Raises at whatever is asked of it."""

    def _refuse(self, *_: object, **__: object) -> Any:
        raise RuntimeError("no")

    __eq__ = __hash__ = __repr__ = __str__ = __iter__ = __len__ = __index__ = __float__ = __array__ = _refuse
    __bool__ = __getitem__ = __int__ = __lt__ = __add__ = _refuse


class EqualsAll:
    """Claims to be equal to every number."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class EqualInt(EqualsAll, int):
    """A number that claims to be every number."""

    def __index__(self) -> int:
        raise RuntimeError("no")


class EqualFloat(EqualsAll, float):
    """A number that claims to be every number."""


class EqualArray(np.ndarray):
    """An array that claims to be equal to every other."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return np.True_


class EqualList(EqualsAll, list):  # type: ignore[type-arg]
    """A list that claims to be every list, and never ends."""

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[int]:
        return itertools.count()


class ArrayThatGrows:
    """Its array has more elements than anybody asked for."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.zeros(1 << 20)


class Colour(enum.IntEnum):
    RED = 10**6


def self_containing() -> list[Any]:
    values: list[Any] = [1]
    values.append(values)
    return values


def doubling() -> list[Any]:
    """Short to write, and of 2^60 numbers."""
    values: list[Any] = [1]
    for _ in range(60):
        values = [values, values]
    return values


def deep() -> list[Any]:
    values: list[Any] = [1]
    for _ in range(100_000):
        values = [values]
    return values


def object_array() -> Any:
    values = np.empty(1, dtype=object)
    values[0] = values
    return values


Point = namedtuple("Point", "lane element")

#: None of these is right anywhere; each call gives a fresh one.
WRONG_VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "text": lambda: "many",
    "no text": lambda: "",
    "long text": lambda: MARK * 9999,
    "digits": lambda: "9" * 5000,
    "hex": lambda: "0x" + "f" * 9999,
    "bytes": lambda: b"12",
    "True": lambda: True,
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5000,
    "2**64": lambda: 2**64,
    "2**63": lambda: 2**63,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-0.0": lambda: -0.0,
    "0.1": lambda: 0.1,
    "complex": lambda: 3 + 0j,
    "object": object,
    "type": lambda: int,
    "hostile": Hostile,
    "equal": EqualsAll,
    "equal int": lambda: EqualInt(987654),
    "equal float": lambda: EqualFloat(0.987654),
    "equal pair": lambda: (EqualsAll(), EqualsAll()),
    "equal list": lambda: EqualList([1, 2]),
    "equal array": lambda: np.zeros(2).view(EqualArray),
    "empty": list,
    "empty set": set,
    "empty dict": dict,
    "empty array": lambda: np.array([]),
    "array of none": lambda: np.array(None),
    "0-d": lambda: np.array(987654),
    "ragged": lambda: [[1, 2], [3]],
    "ragged objects": lambda: np.array([[1, 2], [3]], dtype=object),
    "huge array": lambda: np.zeros((3000, 3000)),
    "wide view": lambda: np.broadcast_to(np.int8(1), (1 << 40,)),
    "dates": lambda: np.array(["2020-01-01"], dtype="M8[D]"),
    "records": lambda: np.zeros(2, dtype="i4,i4"),
    "masked": lambda: np.ma.masked_array([1, 2], [True, False]),
    "big-endian": lambda: np.array([1 << 24, 7], dtype=">i4"),
    "int4": lambda: np.ones(3, ml_dtypes.int4),
    "long double": lambda: np.longdouble(0.1),
    "self": self_containing,
    "self in array": object_array,
    "doubling": doubling,
    "deep": deep,
    "count": itertools.count,
    "iter": lambda: iter(int, 1),
    "generator": lambda: (n for n in itertools.count()),
    "range": lambda: range(10**18),
    "generator that raises": lambda: (1 // n for n in (1, 0)),
    "dict": lambda: {"lane": 987654},
    "fraction": lambda: fractions.Fraction(10**400, 3),
    "decimal": lambda: decimal.Decimal("1e99999"),
    "long decimal": lambda: decimal.Decimal("1e999999999"),
    "short decimal": lambda: decimal.Decimal("1e-999999999"),
    "decimal nan": lambda: decimal.Decimal("sNaN"),
    "enum": lambda: Colour.RED,
    "named": lambda: Point(987654, 123456),
    "grows": ArrayThatGrows,
    "mixed": lambda: (1, "x", None, 2.5),
    "many": lambda: list(range(100_000)),
    "dict of ints": lambda: {10**5000: 1},
    "memoryview": lambda: memoryview(b"abc"),
    "NotImplemented": lambda: NotImplemented,
    "exception": lambda: ValueError(MARK * 999),
}


def raiser(error: BaseException) -> Callable[..., Any]:
    def function(*_: object) -> Any:
        raise error

    return function


class NoText(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def recursive(*arguments: object) -> Any:
    return recursive(*arguments)


def spoiling(*arguments: Any) -> Any:
    """Changes its arguments in place, then returns the first."""
    for argument in arguments:
        if isinstance(argument, list | np.ndarray):
            argument[:] = 0 if isinstance(argument, np.ndarray) else []
    return arguments[0]


WRONG_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "no argument": lambda: 1,
    "one argument too many": lambda a, b, c, d, e: 1,
    "raises": raiser(KeyError("x")),
    "raises at length": raiser(ValueError(f"\n{MARK * 999}\n")),
    "raises without text": raiser(NoText()),
    "exits": lambda *_: sys.exit(3),
    "interrupts": raiser(KeyboardInterrupt()),
    "ends a generator": raiser(GeneratorExit()),
    "stops": raiser(StopIteration()),
    "exhausts memory": raiser(MemoryError()),
    "recursion": recursive,
    "itself": lambda *arguments: recursive,
    "generator function": lambda *_: (yield 1),
    "spoils": spoiling,
    "partial": functools.partial(int, "x"),
    "a type": object,
    "a builtin": print,
}


@functools.lru_cache
def wrong_functions() -> dict[str, Callable[..., Any]]:
    """Functions that fail, and one for every value that is never right."""
    returning = {f"returns {name}": (lambda *_, make=make: make()) for name, make in WRONG_VALUES.items()}
    return WRONG_FUNCTIONS | returning


def problems_of(verdict: Any) -> Iterator[str]:
    """What is wrong with the verdict on an answer that is wrong."""
    if verdict.state == "right" or verdict:
        yield "was called right"
    if verdict.text.startswith(UNFORESEEN):
        yield f"was not foreseen: {verdict.text}"
    if len(verdict.text) < 12 or len(verdict.text) > MAX_LETTERS:
        yield f"got {len(verdict.text)} letters: {verdict.text:.200}"
    if verdict.text.count(MARK) * len(MARK) > MAX_REPEATED + answers._LONGEST_ERROR:
        yield f"repeats too much: {verdict.text:.500}"
    repr(verdict), verdict._repr_html_(), verdict._repr_markdown_()


def check(name: str, answer: object, shown: str) -> list[str]:
    start = time.process_time()
    try:
        problems = list(problems_of(EXERCISES[name].check(answer)))
    except BaseException as error:
        return [f"{name} of {shown}: {error!r:.300}"]
    if time.process_time() - start > MAX_SECONDS:
        problems.append(f"took {time.process_time() - start:.1f} s")
    return [f"{name} of {shown}: {problem}" for problem in problems]


@pytest.mark.slow
def test_every_hostile_answer_gets_a_sentence() -> None:
    choose = random.Random(14)
    failures = []
    for _ in range(TRIES):
        if choose.random() < 0.5:
            name, shown = choose.choice(list(EXERCISES)), choose.choice(list(WRONG_VALUES))
            answer = WRONG_VALUES[shown]()
        else:
            name, shown = choose.choice(FUNCTIONS), choose.choice(list(wrong_functions()))
            answer = wrong_functions()[shown]
        failures += check(name, answer, shown)
    assert not failures, "\n".join(failures)


# -- almost right --------------------------------------------------------------------------------------------

#: Any input that works, or is near enough, is right there.
MANY_RIGHT = {"21.5", "06.4", "12.6", "13.5"}


def changed(value: Any, choose: random.Random) -> Any:
    """The answer with one of its numbers changed."""
    if isinstance(value, dict):
        key = choose.choice(list(value))
        return {**value, key: changed(value[key], choose)}
    if isinstance(value, list | tuple) and value:
        at = choose.randrange(len(value))
        return [changed(item, choose) if i == at else item for i, item in enumerate(value)]
    if isinstance(value, frozenset):
        return changed(sorted(value, key=repr), choose)
    if isinstance(value, np.ndarray):
        return changed(value.tolist(), choose)
    if isinstance(value, str):
        return choose.choice(("x", "1", "-")) + value
    step = choose.choice((1, -1, 2, 8, 32, -32, 1 << 20, 0.5))
    return float(value) + step if isinstance(step, float) else value + step


@pytest.mark.slow
def test_an_answer_with_one_number_changed_is_wrong() -> None:
    choose = random.Random(14)
    failures = []
    for _ in range(TRIES):
        name = choose.choice([exercise for exercise in VALUES if exercise not in MANY_RIGHT])
        right = plain(choose.choice(RIGHT[name]))
        wrong = changed(right, choose)
        failures += check(name, wrong, f"{wrong!r:.100}, where {right!r:.100} is right")
    assert not failures, "\n".join(failures)


# -- code that never ends ------------------------------------------------------------------------------------


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A limit of a fraction of a second; no thread of the check is left afterwards."""
    monkeypatch.setattr(answers, "TIME_LIMIT", 0.2)
    before = threading.active_count()
    yield
    assert_threads(before)


def assert_threads(count: int) -> None:
    """That there are so many threads, or soon will be."""
    end = time.monotonic() + 10
    while threading.active_count() > count and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() == count


def endless(*_: object) -> Any:
    while True:
        pass


def stubborn(*_: object) -> Any:
    tries = 0
    while True:
        try:
            endless()
        except BaseException:
            tries += 1
            if tries == 3:
                raise


def slow_items(*_: object) -> Iterator[int]:
    while True:
        time.sleep(0.01)
        yield 1


def endless_array(*_: object) -> Any:
    return type("Endless", (), {"__array__": endless})()


@pytest.mark.parametrize(
    "answer", [endless, stubborn, slow_items, endless_array, lambda *_: itertools.count()]
)
@pytest.mark.slow
def test_code_that_never_ends_is_stopped(answer: Any, short_limit: None) -> None:
    start = time.perf_counter()
    verdict = lessons.check("00.2", answer)
    assert verdict.state == "wrong" and time.perf_counter() - start < 20
    assert ("did not finish within 0.2 seconds and was stopped" in verdict.text) or "parts" in verdict.text


@pytest.mark.parametrize("answer", [slow_items(), endless_array()])
def test_an_answer_that_never_ends_is_stopped(answer: Any, short_limit: None) -> None:
    assert "never ends" in lessons.check("00.3", answer).text


@pytest.mark.slow
def test_code_that_waits_gets_its_verdict_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "TIME_LIMIT", 0.2)
    released = threading.Event()
    verdict = lessons.check("00.2", lambda row, col: released.wait(20))
    released.set()
    assert "still running: restart the kernel" in verdict.text


@pytest.mark.slow
def test_the_limit_is_for_the_readers_code_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that has to compile something first is no fault of the reader's."""
    monkeypatch.setattr(answers, "TIME_LIMIT", 0.2)
    assert answers.within_time_limit(lambda: time.sleep(0.4) or "done") == "done"
    with pytest.raises(WrongForm, match="did not finish"):
        answers.within_time_limit(lambda: answers.call(time.sleep, [1.6], ""))


@pytest.mark.parametrize(
    ("passed", "worked", "counted"),
    [(6, 6, 6), (6, 2, 2), (6, 40, 6), (12, 0, 2)],
    ids=["alone", "beside other programs", "in eight threads", "asleep"],
)
def test_other_programs_do_not_use_the_readers_time(
    passed: float, worked: float, counted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = SimpleNamespace(monotonic=lambda: 100.0, process_time=lambda: 50.0)
    monkeypatch.setattr(answers, "time", now)
    clock = answers._Clock()
    with clock.running():
        now.monotonic, now.process_time = lambda: 100.0 + passed, lambda: 50.0 + worked
        assert clock.left == pytest.approx(answers.TIME_LIMIT - counted)
    assert clock.left == pytest.approx(answers.TIME_LIMIT - counted)


def test_in_another_thread(short_limit: None) -> None:
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.append(lessons.check("00.2", endless)))
    thread.start()
    thread.join(20)
    assert "was stopped" in verdicts[0].text


def test_an_interrupt_reaches_the_reader() -> None:
    """Ctrl+C, or the stop button of Jupyter, ends the check and the function."""
    before = threading.active_count()
    ended = threading.Event()

    def function(*_: object) -> Any:
        try:
            endless()
        finally:
            ended.set()

    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        lessons.check("00.2", function)
    timer.join()
    assert ended.wait(10) and time.perf_counter() - start < 20
    assert_threads(before)


def test_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python in a browser has none: the check works, without a limit."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert lessons.check("00.3", RIGHT["00.3"][0])
    assert "SystemExit: 3" in lessons.check("00.2", lambda *_: sys.exit(3)).text


def test_a_function_prints_where_the_cell_does(capsys: pytest.CaptureFixture[str]) -> None:
    lessons.check("00.2", lambda row, col: print("row", row))
    assert capsys.readouterr().out.startswith("row 0\n")


# -- single answers ------------------------------------------------------------------------------------------


@each(
    "name, answer, words",
    [
        ("00.3", 10**400, "far too large"),
        ("25.1", 10**400, "is not a number"),
        ("00.3", self_containing(), "lists inside lists without end"),
        ("00.3", doubling(), "lists inside lists without end"),
        ("00.3", itertools.count(), "more than 65,536 parts"),
        ("00.3", map(int, "x"), "cannot be read: it raised ValueError"),
        ("00.1", {29, 3}, "A set has no order"),
        ("00.3", np.ma.masked_array([1], [True]), "masked"),
        ("00.2", lambda: 1, "TypeError"),
        ("00.2", lambda row, col: sys.exit("bye"), "raised SystemExit: bye."),
        ("00.2", lambda row, col: 10**30, "far too large"),
        ("23.4", lambda a, b, c: [[1, 2], [3]], "not equally long"),
        ("24.6", lambda machine: [[1, 2], [3]], "not equally long"),
        ("24.6", lambda machine: None, "return"),
    ],
)
def test_what_the_sentence_says(name: str, answer: Any, words: str) -> None:
    verdict = lessons.check(name, answer)
    assert verdict.state == "wrong" and words in verdict.text, verdict


def test_a_machine_that_was_tampered_with_is_judged_as_it_was() -> None:
    from ptxlab.course.exercises.on_a_real_gpu import INS

    def probe(machine: Any) -> Any:
        machine._order[:] = INS.d.coords()
        return INS.d.coords()

    assert "layout of the manual" in lessons.check("24.6", probe).text


def test_arguments_are_copies() -> None:
    """What a function changes in its arguments changes nothing in the check."""
    seen: list[Any] = []

    def metadata(row: Any) -> int:
        seen.append(row.copy())
        row[:] = 0
        return 0

    lessons.check("18.2", metadata)
    first = [row.tolist() for row in seen]
    seen.clear()
    lessons.check("18.2", metadata)
    assert [row.tolist() for row in seen] == first and np.any(first)


@pytest.mark.parametrize("name", [None, 5, [], "9" * 5000, MARK * 999, Hostile(), 10**400, "00.1 "])
def test_no_such_exercise(name: Any) -> None:
    with pytest.raises(PtxlabError, match="there is no exercise") as error:
        lessons.check(name, 1)
    assert str(error.value).count(MARK) * len(MARK) <= MAX_REPEATED
