"""Arguments of launches as plain bytes with a description, for files that two processes share. No pickles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401 - its types have names for NumPy
import numpy as np
from numpy.typing import NDArray


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
    data = file.read_bytes()
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
