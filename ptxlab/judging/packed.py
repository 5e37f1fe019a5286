"""Arguments of launches as plain bytes with a description, for files that two processes share. No pickles."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 - its types have names for NumPy
import numpy as np
from numpy.typing import NDArray

_MOST_BYTES = 4 << 30


class Garbled(Exception):
    """What a candidate's process left is not what it should be."""


@contextmanager
def from_candidate() -> Iterator[None]:
    """Around code that reads what a candidate wrote, who may have written anything."""
    try:
        yield
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        OSError,
        RecursionError,
        MemoryError,
    ) as error:
        raise Garbled(type(error).__name__) from None


def read_regular(file: Path, start: int = 0) -> bytes:
    """A candidate's file from a byte on, if it is one, and no link, no pipe and no device."""
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            raise ValueError(f"{file.name} is no file of at most {_MOST_BYTES} bytes")
        stream.seek(start)
        return stream.read()


def pack(arguments: Mapping[str, Any], file: Path) -> list[dict[str, Any]]:
    """Write the arrays of arguments one after the other into a file; the description of all arguments."""
    rows: list[dict[str, Any]] = []
    seen: dict[int, int] = {}
    offset = 0
    with file.open("wb") as stream:
        for number, (name, value) in enumerate(arguments.items()):
            row: dict[str, Any] = {"name": name}
            if isinstance(value, np.ndarray) and value.ndim and id(value) in seen:
                row["same"] = seen[id(value)]
            elif isinstance(value, np.ndarray) and value.ndim:
                seen[id(value)] = number
                row |= {"dtype": value.dtype.name, "shape": value.shape, "offset": offset}
                offset += stream.write(np.ascontiguousarray(value).tobytes())
            elif isinstance(value, np.ndarray | np.generic):
                row |= {"dtype": value.dtype.name, "bytes": value.tobytes().hex()}
            else:
                row["number"] = value
            rows.append(row)
    return rows


def unpack(rows: list[dict[str, Any]], file: Path) -> dict[str, Any]:
    """The arguments again. The file is as long as the description says, or it is an error."""
    data = read_regular(file)
    arguments: dict[str, Any] = {}
    values: list[Any] = []
    used = 0
    for row in rows:
        if "same" in row:
            value: Any = values[row["same"]]
        elif "shape" in row:
            value, end = _array(row, data)
            used = max(used, end)
        elif "bytes" in row:
            value = np.frombuffer(bytes.fromhex(row["bytes"]), dtype=np.dtype(row["dtype"]))[0]
        else:
            value = row["number"]
        values.append(value)
        arguments[row["name"]] = value
    if used != len(data):
        raise ValueError(f"{len(data)} bytes in place of {used}")
    return arguments


def _array(row: dict[str, Any], data: bytes) -> tuple[NDArray[Any], int]:
    dtype, shape = np.dtype(row["dtype"]), tuple(row["shape"])
    count = int(np.prod(shape, dtype=np.int64))
    end = row["offset"] + count * dtype.itemsize
    if end > len(data):
        raise ValueError(f"{len(data)} bytes in place of {end}")
    return np.frombuffer(data, dtype, count, row["offset"]).reshape(shape).copy(), end
