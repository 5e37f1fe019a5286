"""Inputs that find faults: small integers, wide ranges, special values; and garbage for outputs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

KINDS = ("as given", "integers", "a wide range", "tiny values", "special values")


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether a type is of floating point, also those of ml_dtypes.

    >>> import ml_dtypes
    >>> is_float(np.dtype(ml_dtypes.bfloat16)), is_float(np.dtype(np.int32))
    (True, False)
    """
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def poisoned(array: NDArray[Any]) -> NDArray[Any]:
    """An array of the same form with garbage: NaN, or large numbers where there is none."""
    byte = 0xFF if is_float(array.dtype) else 0xA5
    return np.full(array.nbytes, byte, np.uint8).view(array.dtype).reshape(array.shape)


def varied(array: NDArray[Any], kind: str, seed: int, nan: bool = False) -> NDArray[Any]:
    """An input with other values of the same signs; arrays of integers stay as they are.

    Of small integers every order of summation has the same sum, so nothing hides behind a bound. With `nan`,
    NaN and infinity are among the special values.
    """
    if not is_float(array.dtype) or not array.size or kind not in KINDS[1:]:
        return array
    rng = np.random.default_rng([seed, array.size])
    values = array.astype(np.float64)
    if kind == "integers":
        return np.clip(np.rint(4 * values), -8, 8).astype(array.dtype)
    info: Any = ml_dtypes.finfo(array.dtype)  # type: ignore[no-untyped-call]
    if kind == "a wide range":
        reach = min(int(info.maxexp) // 4, 12)
        return (values * 2.0 ** rng.integers(-reach, reach + 1, array.shape)).astype(array.dtype)
    if kind == "tiny values":
        return (values * 2.0 ** -min(-int(info.minexp) // 4, 20)).astype(array.dtype)
    special = np.array([0.0, -0.0, float(info.smallest_subnormal), float(info.tiny)])
    if nan:
        special = np.append(special, [np.nan, np.inf])
    chosen = rng.random(array.shape) < 0.2
    signs = np.where(values < 0, -1.0, 1.0)
    return np.where(chosen, signs * rng.choice(special, array.shape), values).astype(array.dtype)
