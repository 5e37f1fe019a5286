"""What nobody should pass, and somebody will."""

from __future__ import annotations

import datetime
import decimal
import fractions
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import ptxlab
from ptxlab import wmma
from ptxlab.isa.modifiers import Modifiers

#: What long inputs are made of: a message may repeat some sixty letters of it.
MARK = "qzj"
LONG = 20_000 * MARK

Value = tuple[str, Callable[[], Any]]


class _Refuses:
    """Raises at whatever Python asks of it; its own kind of error, so that nobody expects it."""

    class Trouble(Exception):
        pass

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise _Refuses.Trouble("no\nanswer")

    __repr__ = __str__ = __index__ = __int__ = __float__ = __array__ = __len__ = _refuse  # type: ignore[assignment]
    __iter__ = __bool__ = __getitem__ = __fspath__ = __lt__ = __gt__ = __le__ = __ge__ = _refuse  # type: ignore[assignment]
    __eq__ = __hash__ = _refuse  # type: ignore[assignment]


class _SpeaksAtLength:
    """Its repr goes over many lines."""

    def __repr__(self) -> str:
        return f"line\n{LONG}\nline"


class _Ambiguous:
    """Compares like an array: what comes out is no truth value."""

    def __eq__(self, other: object) -> Any:
        return np.array([True, False])

    __hash__ = None  # type: ignore[assignment]


class _Index:
    """An index of a type of its own: as good as an int."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __index__(self) -> int:
        return self._value


class _IndexOfText:
    def __index__(self) -> Any:
        return "1"


class _ArrayOfText:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array("text")


class _Subclass(np.ndarray):  # type: ignore[type-arg]
    """An array of somebody else's kind."""


class _Text(str):
    """A text with a repr that fails."""

    def __repr__(self) -> str:
        raise ValueError("no repr")


def _itself() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


def _nested(depth: int) -> list[Any]:
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]
    return deep


def _endless() -> Any:
    while True:
        yield 0


def _mma() -> Any:
    return ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")


_NUMPY_SCALARS = (
    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16,
    np.float32, np.float64, np.longdouble, np.complex64, np.complex128,
)  # fmt: skip

NUMBERS: tuple[Value, ...] = (
    *((str(value), lambda value=value: value) for value in (
        None, True, False, 0, 1, -1, 2, 3, 5, 7, 8, 16, 31, 32, 100, 128, 255, 256, 2**31 - 1, 2**31, 2**32,
        2**63 - 1, 2**63, 2**64, -(2**63), 0.0, -0.0, 1.0, 1.5, -1.9, 1e300, float("nan"), float("inf"),
        float("-inf"), 1j, 2 + 0j, ...,
    )),
    ("10**400", lambda: 10**400),
    ("-10**5000", lambda: -(10**5000)),
    *((kind.__name__, lambda kind=kind: kind(1)) for kind in _NUMPY_SCALARS),
    ("np.str_", lambda: np.str_("1")),
    ("np.bytes_", lambda: np.bytes_(b"1")),
    ("np.datetime64", lambda: np.datetime64("2026-01-01")),
    ("np.timedelta64", lambda: np.timedelta64(1, "s")),
    ("np.void", lambda: np.void(b"\1")),
    ("Fraction", lambda: fractions.Fraction(1, 1)),
    ("Decimal", lambda: decimal.Decimal(1)),
    ("date", lambda: datetime.date(2026, 1, 1)),
    ("index", lambda: _Index(1)),
    ("index of 2**70", lambda: _Index(2**70)),
    ("index of text", _IndexOfText),
    ("0-d int", lambda: np.array(1)),
    ("0-d float", lambda: np.array(1.0)),
    ("[1]", lambda: np.array([1])),
)  # fmt: skip

TEXTS: tuple[Value, ...] = (
    *((ascii(value), lambda value=value: value) for value in (
        "", " ", "\n", "a", "A", "a ", "K", "1", "-1", "\N{ARABIC-INDIC DIGIT THREE}", "\N{SUPERSCRIPT TWO}",
        "1.5", "0x10", "nan", "None", "\0", "\ud800", "{0}", "%s", "%d%n", "<b>", "../..", "sahred", "sm_90a",
        "sm_90A", "sm_101", "s4", "S4", ".f16", "f17", "emulator", "cuda", "row_major", "2:4", "lanes",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "ldmatrix.sync.aligned.m8n8.x1.b16",
        "mma.sync.aligned.m16n8k17.row.col.f32.f16.f16.f32", b"", b"sm_90a", b"\xff" * 9, bytearray(b"A"),
    )),
    ("long", lambda: LONG),
    ("long bytes", lambda: LONG.encode()),
    ("many lines", lambda: 999 * "line\n"),
    ("text without repr", lambda: _Text("sm_90a")),
)  # fmt: skip

OBJECTS: tuple[Value, ...] = (
    ("object", object),
    ("refuses", _Refuses),
    ("speaks at length", _SpeaksAtLength),
    ("ambiguous", _Ambiguous),
    ("array of text", _ArrayOfText),
    ("int", lambda: int),
    ("np.float32", lambda: np.float32),
    ("ndarray", lambda: np.ndarray),
    ("Instruction", lambda: ptxlab.Instruction),
    ("PtxlabError", lambda: ptxlab.PtxlabError("no")),
    ("lambda", lambda: lambda *_: None),
    ("len", lambda: len),
    ("module", lambda: np),
    ("dict", lambda: {"A": 1}),
    ("empty dict", dict),
    ("set", lambda: {1, 2}),
    ("range", lambda: range(10**15)),
    ("slice", lambda: slice(1)),
    ("endless", _endless),
    ("iterator", lambda: iter([1])),
    ("mma", _mma),
    ("sparse mma", lambda: ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")),
    ("wgmma", lambda: ptxlab.instruction("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16")),
    ("transfer", lambda: ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.b16")),
    ("operand", lambda: _mma().a),
    ("layout", lambda: _mma().a.layout),
    ("dtype", lambda: ptxlab.dtype("s8")),
    ("np.dtype", lambda: np.dtype("f4")),
    ("structure", lambda: ptxlab.sparsity.STRUCTURES["2:4"]),
    ("tile", lambda: ptxlab.memory.Tile(16, 8, 16)),
    ("modifiers", Modifiers),
    ("picture", lambda: ptxlab.views.fragment(_mma(), "C")),
    ("fragment", lambda: wmma.fragment("matrix_a", 8, 8, 32, "s4", "row_major")),
    ("tag", lambda: wmma.row_major),
    ("enum", lambda: wmma.mem_col_major),
)

ARRAYS: tuple[Value, ...] = (
    ("[]", list),
    ("()", tuple),
    ("[[]]", lambda: [[]]),
    ("[None]", lambda: [None]),
    ("['a']", lambda: ["a", "b"]),
    ("[10**400]", lambda: [10**400]),
    ("[nan]", lambda: [float("nan")]),
    ("[1, 2]", lambda: [1, 2]),
    ("[1.9]", lambda: [1.9]),
    ("[-1]", lambda: [-1]),
    ("[True]", lambda: [True]),
    ("ragged", lambda: [[1, 2], [3]]),
    ("itself", _itself),
    ("deep", lambda: _nested(500)),
    ("objects", lambda: np.array([object(), None], dtype=object)),
    ("big integers", lambda: np.full((16, 16), 10**30, dtype=object)),
    ("records", lambda: np.zeros((16, 8), dtype=[("x", "i4"), ("y", "f4")])),
    ("strings", lambda: np.full((16, 8), "a")),
    ("dates", lambda: np.zeros((16, 8), dtype="M8[s]")),
    ("durations", lambda: np.zeros((16, 8), dtype="m8[s]")),
    ("raw bytes", lambda: np.zeros((16, 8), dtype="V4")),
    ("0-d", lambda: np.zeros(())),
    ("empty", lambda: np.zeros((0, 16, 8))),
    ("5-d", lambda: np.zeros((2, 1, 1, 16, 8))),
    ("40-d", lambda: np.zeros(32 * (1,))),
    ("other shape", lambda: np.zeros((3, 5))),
    ("subclass", lambda: np.zeros((16, 8)).view(_Subclass)),
    ("huge", lambda: np.broadcast_to(np.uint32(0), (1 << 40, 32, 4))),
    ("huge matrix", lambda: np.broadcast_to(np.int8(0), (1 << 50, 16, 8))),
    ("huge vector", lambda: np.broadcast_to(np.uint8(0), (1 << 60,))),
    ("wide", lambda: np.broadcast_to(np.float64(0), (1 << 50, 1))),
)  # fmt: skip

VALUES: tuple[Value, ...] = (*NUMBERS, *TEXTS, *OBJECTS, *ARRAYS)
