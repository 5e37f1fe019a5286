"""Checks of what users pass: numbers, flags, names and arrays, or one sentence that says what is wrong.

Every public function sends its arguments through these; `what` is the argument's name in the sentence. A
plain `int`, `bool` or `str`, or an array of numbers in the machine's byte order, passes at once.
"""

from __future__ import annotations

import contextlib
import math
import operator
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, quoted

#: Kinds of NumPy's types that count as numbers: booleans, integers, floats.
_NUMBERS = "biuf"

_MAX_NAMES = 1000  # refuses absurdly long collections
_MAX_AXES = 24  # NumPy indexes at most 32; ptxlab adds some of its own


# -- scalars -------------------------------------------------------------------------------------------------


def as_int(value: object, what: str) -> int:
    """A whole number of any integer type, Python's or NumPy's, or an array without axes; not a boolean.

    >>> as_int(np.int8(3), "lane"), as_int(np.array(3), "lane")
    (3, 3)
    >>> as_int(1.5, "lane")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: lane: found 1.5; it takes a whole number
    """
    if type(value) is int:
        return value
    if not isinstance(value, bool | np.bool_):
        try:
            return operator.index(value)  # type: ignore[arg-type]
        except Exception:  # a foreign __index__ may raise anything
            pass
    raise PtxlabError(f"{what}: found {quoted(value)}; it takes a whole number")


def as_index(value: object, what: str, size: int, where: str = "") -> int:
    """A whole number from 0 to size - 1; negative numbers do not count from the end.

    >>> as_index(32, "lane", 32, "A: ")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: A: lane 32 does not exist; lanes go from 0 to 31
    """
    index = as_int(value, f"{where}{what}")
    if not 0 <= index < size:
        raise PtxlabError(f"{where}{what} {quoted(index)} does not exist; {what}s go from 0 to {size - 1}")
    return index


def set_integers(instance: object, names: Iterable[str], where: str = "") -> None:
    """Convert fields of a frozen dataclass from any integer type to `int`."""
    for name in names:
        object.__setattr__(instance, name, as_int(getattr(instance, name), f"{where}{name}"))


def as_flag(value: object, what: str) -> bool:
    """True or False, of Python or of NumPy, or 0 and 1.

    >>> as_flag(np.True_, "satf"), as_flag(0, "satf")
    (True, False)
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except Exception:
        number = -1
    if number not in (0, 1):
        raise PtxlabError(f"{what}: found {quoted(value)}; it takes True or False")
    return number == 1


def as_seconds(value: object, what: str) -> float:
    """A number of seconds, whole or not; not NaN.

    >>> as_seconds(np.float32(0.5), "seconds")
    0.5
    """
    seconds = math.nan
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except OverflowError:  # an integer beyond any float
            seconds = math.inf if value > 0 else -math.inf
    if math.isnan(seconds):
        raise PtxlabError(f"{what}: found {quoted(value)}; it takes a number of seconds")
    return seconds


def as_text(value: object, what: str) -> str:
    """A string; its callers ask for names.

    >>> as_text(7, "operand")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: operand: found 7; it takes a name
    """
    if not isinstance(value, str):
        raise PtxlabError(f"{what}: found {quoted(value)}; it takes a name")
    return value


def as_path(value: object, what: str) -> Path:
    """The name of a file, as a text or a path.

    >>> as_path("a.svg", "path").suffix
    '.svg'
    """
    try:
        name = os.fspath(value)  # type: ignore[call-overload]
        os.fsencode(name)  # an unpaired surrogate cannot be encoded
    except Exception:  # a foreign __fspath__ may raise anything
        name = None
    if not isinstance(name, str) or "\0" in name:
        raise PtxlabError(f"{what}: found {quoted(value)}; it takes the name of a file")
    return Path(name)


def is_name(value: object, names: Iterable[str | None]) -> bool:
    """Whether it is a string among these; anything else, an array for instance, is not compared.

    >>> is_name("K", ("K", "MN")), is_name(np.ones(3), ("K", "MN"))
    (True, False)
    """
    return isinstance(value, str) and value in names


def is_a(value: object, *kinds: type) -> bool:
    """`isinstance`, for arguments that users may pass against their annotation: mypy calls that unreachable.

    >>> is_a((1, 2), tuple, list)
    True
    """
    return isinstance(value, kinds)


def are_names(values: object, count: int) -> bool:
    """Whether it is a tuple or a list of `count` texts.

    >>> are_names(("m", "n"), 2), are_names("mn", 2)
    (True, False)
    """
    return (
        isinstance(values, tuple | list)
        and len(values) == count
        and all(isinstance(name, str) for name in values)
    )


def as_names(values: object, what: str) -> tuple[str, ...]:
    """Several names; a single text is refused, not read as its letters.

    >>> as_names(["bits", "edges"], "categories")
    ('bits', 'edges')
    """
    names: tuple[object, ...] = (None,)
    if isinstance(values, Collection) and not isinstance(values, str | bytes | np.ndarray):
        with contextlib.suppress(Exception):  # a foreign iterator may raise anything
            if len(values) <= _MAX_NAMES:
                names = tuple(values)
    texts = tuple(name for name in names if isinstance(name, str))
    if len(texts) < len(names):
        raise PtxlabError(f"{what}: found {quoted(values)}; it takes a sequence of names")
    return texts


def as_shape(value: object, what: str) -> tuple[int, int]:
    """Rows and columns, neither negative.

    >>> as_shape([16, np.int64(8)], "shape")
    (16, 8)
    """
    if isinstance(value, np.ndarray) and value.shape == (2,):
        value = value.tolist()
    if isinstance(value, tuple | list) and len(value) == 2:
        rows, columns = (as_int(size, what) for size in value)
        if min(rows, columns) >= 0:
            return rows, columns
    raise PtxlabError(f"{what}: found {quoted(value)}; it takes (rows, columns)")


# -- arrays --------------------------------------------------------------------------------------------------


def as_array(values: object, what: str) -> NDArray[Any]:
    """An array of numbers in the machine's byte order, small enough to be copied.

    Ragged and nested lists, objects, text, dates, complex numbers, records and masked elements are refused,
    since each would lose something on the way to numbers.

    >>> as_array(np.array([1, 2], dtype=">i4"), "A").dtype.isnative
    True
    >>> as_array([[1, 2], [3]], "A")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: A: found [[1, 2], [3]]; it takes an array of numbers
    """
    if type(values) is not np.ndarray:
        values = _from_anything(values, what)
    if values.dtype.kind not in _NUMBERS and not _is_small_number(values.dtype):
        _refuse_type(values, what)
    if values.ndim > _MAX_AXES:
        raise PtxlabError(f"{what}: found an array of {values.ndim} axes; it takes at most {_MAX_AXES}")
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    check_room(values.size, what)
    return values


def as_integers(values: object, what: str) -> NDArray[Any]:
    """An array of an integer type; floats are refused, even whole ones.

    >>> as_integers([1.0, 2.0], "codes")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: codes: found an array of float64; it takes whole numbers
    """
    array = as_array(values, what)
    if array.dtype.kind not in "iu":
        raise PtxlabError(f"{what}: found an array of {array.dtype}; it takes whole numbers")
    return array


def _from_anything(values: object, what: str) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            raise PtxlabError(f"{what}: found a masked array; fill its masked elements first, .filled(0)")
        return np.asarray(values.data)
    try:
        if isinstance(values, Sequence) and not isinstance(values, str | bytes):
            check_room(len(values), what)
        array = np.asarray(values)
        if array.ndim == 0 and array.dtype == object and hasattr(type(values), "__dlpack__"):
            return np.from_dlpack(values)  # type: ignore[arg-type]
        return array
    except PtxlabError:
        raise
    except MemoryError:
        raise PtxlabError(f"{what}: found an array too large for the memory of this machine") from None
    except Exception:  # ragged lists, and whatever a foreign __array__ raises
        library = type(values).__module__.partition(".")[0]
        if library in ("cupy", "torch"):
            raise PtxlabError(
                f"{what}: found an array of {library} that NumPy cannot read; pass a copy on the host (CuPy: "
                ".get(), torch: .detach().cpu())"
            ) from None
        if hasattr(type(values), "__dlpack__"):
            raise PtxlabError(
                f"{what}: found {quoted(values)}, which NumPy cannot read through DLPack; pass a copy on "
                "the host"
            ) from None
        raise PtxlabError(f"{what}: found {quoted(values)}; it takes an array of numbers") from None


def _is_small_number(dtype: np.dtype[Any]) -> bool:
    """Whether it is a type that only ml_dtypes has: bfloat16, int4."""
    return dtype.kind == "V" and dtype.type is not np.void


def _refuse_type(array: NDArray[Any], what: str) -> NoReturn:
    kind = f"an array of {quoted(str(array.dtype))[1:-1]}"
    if array.dtype.kind == "O" and array.ndim == 0:
        kind = quoted(array.item())
    elif array.dtype.kind == "O":
        kind = "an array of objects, or of numbers beyond 64 bits"
    raise PtxlabError(f"{what} needs numbers, found {kind}")


def broadcast(what: str, shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of several, by name.

    >>> broadcast("batch axes", {"A": (7, 1), "B": (3,)})
    (7, 3)
    """
    common = []
    for sizes in zip_longest(*(reversed(shape) for shape in shapes.values()), fillvalue=1):
        others = {size for size in sizes if size != 1}
        if len(others) > 1:
            shown = ", ".join(f"{name} {quoted(shape)}" for name, shape in shapes.items())
            raise PtxlabError(f"{what} do not broadcast: {shown}")
        common.append(others.pop() if others else 1)
    return tuple(reversed(common))  # np.broadcast_shapes refuses shapes whose product overflows


# -- memory --------------------------------------------------------------------------------------------------


def check_room(count: int, what: str) -> None:
    """Refuse an array of `count` elements if two copies, at eight bytes an element, exceed the memory.

    Linux promises more memory than it has, and kills the process that uses it.

    >>> check_room(10**15, "batch")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: batch: 1e+15 elements do not fit into the memory of this machine
    """
    if count > _most_elements():
        size = f"{count:.4g}" if count < 1 << 63 else "more than 2^63"
        raise PtxlabError(f"{what}: {size} elements do not fit into the memory of this machine")


def check_bytes(size: int, what: str) -> None:
    """Refuse memory of `size` bytes if that is more than half of what the machine has.

    >>> check_bytes(10**15, "variables")
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: variables: 1000000000000000 bytes do not fit into the memory of this machine
    """
    if size > 8 * _most_elements():
        raise PtxlabError(f"{what}: {size} bytes do not fit into the memory of this machine")


@lru_cache(maxsize=1)
def _most_elements() -> int:
    """The most elements of which two copies fit the memory of the machine, the container and this process."""
    limits = [1 << 62]
    with contextlib.suppress(AttributeError, OSError, ValueError):
        limits.append(_physical_memory())
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(file).read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if text.isdecimal():
            limits.append(int(text))
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # Windows has none, and JupyterLite puts an empty one in its place
        pass
    else:
        soft, _ = getrlimit(RLIMIT_AS)
        if soft != RLIM_INFINITY:
            limits.append(soft)
    return min(limit for limit in limits if limit > 0) // 16


def _physical_memory() -> int:
    """Bytes of the machine's memory; AttributeError, OSError or ValueError if the system does not say."""
    if sys.platform == "win32":
        import ctypes

        status = (ctypes.c_uint64 * 8)(64)  # a MEMORYSTATUSEX: its own size, total memory, free memory
        if not ctypes.WinDLL("kernel32").GlobalMemoryStatusEx(ctypes.byref(status)):
            raise OSError("GlobalMemoryStatusEx failed")
        return status[1]
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
