"""How far a right result may lie from the reference: running error analysis of the reference itself.

The reference runs on `Bounded` arrays, which carry float64 values and a bound for each: how far a kernel may
be from the value if it rounds every operation to its own precision, in any order of summation. N. Higham,
Accuracy and Stability of Numerical Algorithms, chapters 3 and 4. What is exact stays exact: copies,
comparisons, and sums of integers that the precision can hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Half a unit in the last place of 1, for types that kernels compute in.
UNIT = {"float64": 2.0**-53, "float32": 2.0**-24, "tf32": 2.0**-11, "float16": 2.0**-11, "bfloat16": 2.0**-8}
#: Units in the last place by which functions err: CUDA C++ Programming Guide, "Mathematical Functions".
ULPS = {
    "exp": 2, "exp2": 2, "expm1": 1, "log": 1, "log2": 1, "log10": 2, "log1p": 1, "sin": 2, "cos": 2,
    "tan": 4, "tanh": 2, "sinh": 3, "cosh": 2, "arctan": 2, "sqrt": 1, "cbrt": 1, "reciprocal": 1,
}  # fmt: skip
_STEEPEST: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp, "exp2": lambda x: np.exp2(x) * np.log(2), "expm1": np.exp, "log": lambda x: 1 / x,
    "log2": lambda x: 1 / (x * np.log(2)), "log10": lambda x: 1 / (x * np.log(10)),
    "log1p": lambda x: 1 / (1 + x), "sin": np.ones_like, "cos": np.ones_like,
    "tan": lambda x: 1 + np.tan(x) ** 2, "tanh": np.ones_like, "sinh": np.cosh, "cosh": np.sinh,
    "arctan": np.ones_like, "sqrt": lambda x: 0.5 / np.sqrt(x), "cbrt": lambda x: 1 / (3 * np.cbrt(x) ** 2),
    "reciprocal": lambda x: 1 / x**2,
}  # fmt: skip
_EXACT = ("negative", "absolute", "fabs", "positive", "floor", "ceil", "rint", "trunc", "sign")


class NoBound(Exception):
    """The reference calls what no bound is known for."""


class Bounded:
    """An array with a bound of the error of each element; `precision` is the type that is computed in."""

    __array_priority__ = 1000

    def __init__(self, value: Any, error: Any = 0.0, precision: str = "float32") -> None:
        self.value = np.asarray(value, dtype=np.float64)
        self.error = np.broadcast_to(np.asarray(error, dtype=np.float64), self.value.shape)
        self.precision = precision

    # -- as an array -----------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def size(self) -> int:
        return self.value.size

    @property
    def T(self) -> Bounded:
        return self._like(self.value.T, self.error.T)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64 if self.precision == "float64" else np.float32)

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: Any) -> Bounded:
        index = tuple(map(_plain, index)) if isinstance(index, tuple) else _plain(index)
        return self._like(self.value[index], self.error[index])

    def __setitem__(self, index: Any, item: Any) -> None:
        other = self._as(item)
        self.value, self.error = self.value.copy(), self.error.copy()
        self.value[index], self.error[index] = other.value, other.error

    def copy(self) -> Bounded:
        return self._like(self.value.copy(), self.error.copy())

    def astype(self, dtype: Any, **_: Any) -> Bounded:
        return rounded(self, np.dtype(dtype))

    def reshape(self, *shape: Any) -> Bounded:
        return self._like(self.value.reshape(*shape), self.error.reshape(*shape))

    def ravel(self) -> Bounded:
        return self.reshape(-1)

    def transpose(self, *axes: Any) -> Bounded:
        return self._like(self.value.transpose(*axes), self.error.transpose(*axes))

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        raise NoBound("a function that is not NumPy's own")

    def __bool__(self) -> bool:
        return bool(self.value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        if method == "reduce" and name in ("add", "maximum", "minimum"):
            return _REDUCED[name](
                inputs[0], **{k: v for k, v in options.items() if k in ("axis", "keepdims")}
            )
        if method == "accumulate" and name == "add":
            return cumsum(inputs[0], options.get("axis", 0))
        if method != "__call__" or options.get("out") is not None:
            raise NoBound(f"np.{name}.{method}")
        return self._call(name, ufunc, [self._as(item) for item in inputs], options)

    def _call(self, name: str, ufunc: Any, items: list[Bounded], options: dict[str, Any]) -> Any:
        values, errors = [item.value for item in items], [item.error for item in items]
        if (
            name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
            or name[:2] == "is"
        ):
            return ufunc(*values)
        with np.errstate(all="ignore"):
            result = ufunc(*values)
            if name in _EXACT:
                return self._like(result, errors[0])
            if name in ("maximum", "minimum", "fmax", "fmin"):
                return self._like(result, np.maximum(*errors))
            if name == "matmul":
                return matmul(*items)
            if name in ("add", "subtract"):
                return self._rounded(result, errors[0] + errors[1])
            if name in ("multiply", "square"):
                (a, ea), (b, eb) = (values[0], errors[0]), (values[-1], errors[-1])
                return self._rounded(result, abs(a) * eb + abs(b) * ea + ea * eb)
            if name in ("divide", "true_divide"):
                smallest = abs(values[1]) - errors[1]
                spread = (errors[0] + abs(result) * errors[1]) / np.where(smallest > 0, smallest, 0.0)
                return self._rounded(result, np.where((errors[0] == 0) & (errors[1] == 0), 0.0, spread), 2)
            if name == "power" and items[1].size == 1 and float(values[1].flat[0]) in (2.0, 3.0, 4.0):
                product: Any = items[0]
                for _ in range(int(values[1].flat[0]) - 1):
                    product = np.multiply(product, items[0])
                return product
            if name == "power" and items[1].size == 1 and float(values[1].flat[0]) == 0.5:
                return np.sqrt(items[0])
            if name in ULPS:
                x, error = values[0], errors[0]
                steepest = np.maximum(abs(_STEEPEST[name](x - error)), abs(_STEEPEST[name](x + error)))
                return self._rounded(result, np.where(error == 0, 0.0, steepest * error), 2 * ULPS[name])
        raise NoBound(f"np.{name}")

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        name = function.__name__
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](*arguments, **options)
        if name in _MOVES:
            values, errors = (_taken(arguments, what) for what in ("value", "error"))
            return self._like(function(*values, **options), function(*errors, **options))
        raise NoBound(f"np.{name}")

    def sum(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Bounded:
        return total(self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Bounded:
        average: Bounded = mean(self, axis=axis, keepdims=keepdims)
        return average

    def max(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Bounded:
        return largest(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False, **_: Any) -> Bounded:
        return smallest(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: Any = None, **_: Any) -> NDArray[Any]:
        return np.asarray(self.value.argmax(axis))

    def dot(self, other: Any) -> Bounded:
        return matmul(self, other)

    # -- helpers ---------------------------------------------------------------------------------------------

    def _as(self, item: Any) -> Bounded:
        return item if isinstance(item, Bounded) else Bounded(item, 0.0, self.precision)

    def _like(self, value: Any, error: Any) -> Bounded:
        return Bounded(value, error, self.precision)

    def _rounded(self, value: Any, error: Any, ulps: float = 1) -> Bounded:
        """With the rounding of one operation; a product may be fused with the addition that follows it."""
        unit = UNIT[self.precision]
        exact = (error == 0) & (ulps <= 2) & _fits(value, unit)
        grown = error + ulps * unit * (abs(value) + error) + _TINY[self.precision]
        return self._like(value, np.where(exact, 0.0, grown))


#: The smallest subnormal number: what an operation may lose where results are that small.
_TINY = {
    "float64": 2.0**-1074,
    "float32": 2.0**-149,
    "tf32": 2.0**-136,
    "float16": 2.0**-24,
    "bfloat16": 2.0**-133,
}


def _fits(value: Any, unit: float) -> Any:
    """Whether a precision holds a value exactly."""
    mantissa, _ = np.frexp(np.where(np.isfinite(value), value, 0.0))
    scaled = mantissa / unit
    return (scaled == np.rint(scaled)) & (unit > 2.0**-53)


def _plain(index: Any) -> Any:
    return index.value.astype(np.intp) if isinstance(index, Bounded) else index


def _taken(arguments: Any, what: str) -> Any:
    """Arguments with their values or their errors, also inside lists."""

    def of(item: Any) -> Any:
        if isinstance(item, Bounded):
            return getattr(item, what)
        if isinstance(item, list | tuple) and any(isinstance(part, Bounded) for part in item):
            return type(item)(of(part) for part in item)
        if what == "error" and isinstance(item, float | np.ndarray) and np.asarray(item).dtype.kind == "f":
            return np.zeros_like(item)
        return item

    return [of(item) for item in arguments]


def _sum(values: Any, errors: Any, terms: Any, count: int, precision: str) -> Bounded:
    """A sum of `count` terms in any order, `terms` the sum of their magnitudes with errors.

    gamma(n) of Higham's section 4.2, with twice the unit: tensor cores truncate where others round.
    """
    unit = 2 * UNIT[precision]
    growth = count * unit / max(1 - count * unit, unit)
    return Bounded(values, errors + growth * terms + count * _TINY[precision], precision)


def _whole(value: Any, terms: Any, errors: Any, precision: str) -> Any:
    """Whether all orders of a sum give the same: integers, whose magnitudes add up to what is exact."""
    whole = np.all(np.isfinite(value)) and np.all(value == np.rint(value)) and not np.any(errors)
    return bool(whole) and bool(np.all(terms <= 1 / UNIT[precision]))


def total(item: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Bounded:
    value, error = item.value, item.error
    result = value.sum(axis=axis, keepdims=keepdims)
    terms = (abs(value) + error).sum(axis=axis, keepdims=keepdims)
    if _whole(value, terms, error, item.precision):
        return Bounded(result, 0.0, item.precision)
    count = value.size // max(np.asarray(result).size, 1)
    return _sum(result, error.sum(axis=axis, keepdims=keepdims), terms, count - 1, item.precision)


def mean(item: Any, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    summed = total(item, axis, keepdims)
    return summed / (item.size // max(summed.size, 1))


def largest(item: Bounded, axis: Any = None, keepdims: bool = False, **_: Any) -> Bounded:
    return item._like(
        item.value.max(axis=axis, keepdims=keepdims), item.error.max(axis=axis, keepdims=keepdims)
    )


def smallest(item: Bounded, axis: Any = None, keepdims: bool = False, **_: Any) -> Bounded:
    return item._like(
        item.value.min(axis=axis, keepdims=keepdims), item.error.max(axis=axis, keepdims=keepdims)
    )


def cumsum(item: Any, axis: Any = None, **_: Any) -> Bounded:
    item = item.ravel() if axis is None else item
    axis = 0 if axis is None else axis
    value, error = item.value, item.error
    terms = (abs(value) + error).cumsum(axis)
    if _whole(value, terms, error, item.precision):
        return Bounded(value.cumsum(axis), 0.0, item.precision)
    return _sum(value.cumsum(axis), error.cumsum(axis), terms, value.shape[axis], item.precision)


def matmul(one: Any, other: Any) -> Bounded:
    return _product(np.matmul if min(np.ndim(one), np.ndim(other)) else np.multiply, one, other)


def _product(function: Callable[..., Any], one: Any, other: Any) -> Bounded:
    """What is linear in both: `function(one, other)` sums products along one axis at most."""
    precision = (one if isinstance(one, Bounded) else other).precision
    a, b = (item if isinstance(item, Bounded) else Bounded(item, 0.0, precision) for item in (one, other))
    with np.errstate(all="ignore"):
        result, terms = function(a.value, b.value), function(abs(a.value) + a.error, abs(b.value) + b.error)
        whole = all(_whole(item.value, terms, item.error, precision) for item in (a, b))
        if whole:
            return Bounded(result, 0.0, precision)
        errors = terms - function(abs(a.value), abs(b.value))
        count = max(a.size * b.size // max(np.asarray(result).size, 1), 1)
        count = min(count, max(a.size, b.size))
    return _sum(result, np.maximum(errors, 0), terms, count + 1, precision)


def einsum(subscripts: str, one: Any, other: Any, **_: Any) -> Bounded:
    return _product(lambda a, b: np.einsum(subscripts, a, b), one, other)


def where(condition: Any, one: Any, other: Any) -> Bounded:
    precision = next(item.precision for item in (one, other, condition) if isinstance(item, Bounded))
    a, b = (item if isinstance(item, Bounded) else Bounded(item, 0.0, precision) for item in (one, other))
    chosen = condition.value != 0 if isinstance(condition, Bounded) else condition
    return Bounded(np.where(chosen, a.value, b.value), np.where(chosen, a.error, b.error), precision)


def clip(item: Any, low: Any, high: Any) -> Any:
    return np.minimum(np.maximum(item, low), high)


def _operator(ufunc: Any, swapped: bool = False) -> Callable[[Bounded, Any], Any]:
    def method(self: Bounded, other: Any) -> Any:
        return ufunc(other, self) if swapped else ufunc(self, other)

    return method


for _name, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "pow": np.power,
    "matmul": np.matmul,
}.items():  # fmt: skip
    setattr(Bounded, f"__{_name}__", _operator(_ufunc))
    setattr(Bounded, f"__r{_name}__", _operator(_ufunc, swapped=True))
for _name, _ufunc in {
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
    "ne": np.not_equal,
}.items():  # fmt: skip
    setattr(Bounded, f"__{_name}__", _operator(_ufunc))
setattr(Bounded, "__neg__", lambda self: np.negative(self))  # noqa: B010
setattr(Bounded, "__abs__", lambda self: np.absolute(self))  # noqa: B010

_REDUCED = {"add": total, "maximum": largest, "minimum": smallest}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": total, "mean": mean, "max": largest, "amax": largest, "min": smallest, "amin": smallest,
    "cumsum": cumsum, "dot": matmul, "einsum": einsum, "where": where, "clip": clip,
    "outer": lambda a, b: _product(np.outer, a, b),
    "convolve": lambda a, b, mode="full": _product(lambda x, y: np.convolve(x, y, mode), a, b),
    "correlate": lambda a, b, mode="valid": _product(lambda x, y: np.correlate(x, y, mode), a, b),
    "argmax": lambda item, axis=None: item.argmax(axis), "shape": lambda item: item.shape,
    "zeros_like": lambda item, **_: item._like(np.zeros(item.shape), 0.0),
    "ones_like": lambda item, **_: item._like(np.ones(item.shape), 0.0),
    "empty_like": lambda item, **_: item._like(np.zeros(item.shape), 0.0),
    "copy": lambda item, **_: item.copy(), "ndim": lambda item: item.ndim, "size": lambda item: item.size,
}  # fmt: skip
#: Functions that only move elements.
_MOVES = {
    "reshape", "ravel", "transpose", "swapaxes", "moveaxis", "concatenate", "stack", "vstack", "hstack",
    "pad", "roll", "flip", "tile", "repeat", "broadcast_to", "expand_dims", "squeeze", "take", "diagonal",
    "tril", "triu", "rot90", "atleast_2d", "sliding_window_view", "split",
}  # fmt: skip


def rounded(item: Bounded, dtype: np.dtype[Any]) -> Bounded:
    """After a conversion to the type that it is stored in."""
    if dtype.name not in UNIT:
        return Bounded(
            item.value.astype(dtype), np.where(item.error == 0, 0.0, item.error + 1), item.precision
        )
    unit = UNIT[dtype.name]
    with np.errstate(all="ignore"):
        stored = item.value.astype(dtype).astype(np.float64)
    exact = (item.error == 0) & ((stored == item.value) | (unit <= UNIT[item.precision]))
    if unit <= UNIT[item.precision]:
        return item
    grown = item.error + unit * (abs(item.value) + item.error) + _TINY[dtype.name]
    return Bounded(np.where(exact, stored, item.value), np.where(exact, 0.0, grown), item.precision)
