"""What a matrix can be filled with.

The last three patterns are for floats, whose sums chips do not all compute in the same way:

normal          the standard normal distribution, rounded to the type
wide exponents  exponents all over the type's range, but near enough in each sum that alignment cuts bits off
cancelling      large products that cancel, which exposes what was cut off small ones (fill A and B)
"""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_int, is_name
from ...errors import PtxlabError, listing, quoted
from ...isa.dtypes import DType
from ...isa.operand import MatrixOperand
from ...isa.operation import Operation
from ..cells.parse_cell import value_range

PATTERNS: tuple[str, ...] = ("zeros", "ones", "identity", "counting", "random", "one-hot", "normal")
_WIDE, _CANCELLING = "wide exponents", "cancelling"  # of floats only
_SCALES = ("SFA", "SFB")
_RUN = 8  # equal rows of B, so that products cancel whichever of them sparse metadata selects
_GAP = 8  # powers of two between the cancelling numbers and the largest small one


_FIRST_NIBBLE = 0b0100  # legal for every structure, which 0 is not


def check_seed(seed: object) -> int:
    """A seed of random numbers, of any integer type.

    >>> check_seed(np.int64(7))
    7
    """
    number = as_int(seed, "seed")
    if not 0 <= number < 1 << 128:
        raise PtxlabError(f"seed: found {quoted(number)}; it takes a whole number from 0 to 2^128 - 1")
    return number


def start_code(operand: MatrixOperand) -> int:
    """The code that cells start with and that clearing restores: 0, or 1 for block scales."""
    if operand.name == "E":
        return _FIRST_NIBBLE
    return int(operand.dtype.encode(1.0 if operand.name in _SCALES else 0.0))


def patterns(name: str, dtype: DType) -> tuple[str, ...]:
    """The patterns that a matrix takes: none for D; metadata has no zeros; ue8m0 holds powers of two only.

    >>> from ptxlab import dtype
    >>> patterns("E", dtype("b4")), patterns("D", dtype("s32"))
    (('random',), ())
    >>> patterns("A", dtype("f16"))[6:], patterns("A", dtype("s8"))[6:], patterns("C", dtype("f32"))[6:]
    (('normal', 'wide exponents', 'cancelling'), ('normal',), ('normal', 'wide exponents'))
    """
    if name == "D":
        return ()
    if name == "E":
        return ("random",)
    if dtype.name == "ue8m0":
        return ("ones", "counting", "random", "normal", _WIDE)
    if dtype.kind == "bits":
        return PATTERNS[:-1]
    if not dtype.is_float:
        return PATTERNS
    return (*PATTERNS, _WIDE) if name == "C" or name in _SCALES else (*PATTERNS, _WIDE, _CANCELLING)


def _why_not(name: str, dtype: DType, pattern: object) -> str:
    """Why a matrix does not take a pattern that others take, or ""."""
    if not is_name(pattern, ("normal", _WIDE, _CANCELLING)) or name in ("D", "E"):
        return ""
    if pattern == _CANCELLING and name == "C":
        return ": C is one term of each sum, and it is the products of A and B that cancel"
    if pattern == _CANCELLING and name in _SCALES:
        return ": scale factors are positive, so nothing cancels"
    if pattern == _WIDE and not dtype.is_float:
        return f": {dtype} has no exponent"
    if pattern == _CANCELLING:
        return f": sums of {dtype} are exact on every chip, so nothing is cut off"
    return f": {dtype} holds only 0 and 1"


def random_range(dtype: DType) -> tuple[int, int]:
    """Smallest and largest number of a random fill.

    >>> from ptxlab import dtype
    >>> random_range(dtype("s4")), random_range(dtype("u8"))
    ((-8, 7), (0, 9))
    """
    low, high = (-3, 3) if dtype.is_float else (max(dtype.minimum, -9), min(dtype.maximum, 9))
    return low if dtype.signed else 0, high


def fill_values(
    operand: MatrixOperand,
    pattern: str,
    random: np.random.Generator,
    row: int = 0,
    column: int = 0,
    result: DType | None = None,
) -> NDArray[Any]:
    """The values of a fill; one-hot has its 1 at `row`, `column`. Sums stay in the range of `result`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> fill_values(ins.b, "counting", np.random.default_rng(0))[0].tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    dtype, shape = operand.dtype, operand.shape
    if pattern == "normal":
        return _normal(dtype, random.standard_normal(shape))
    if pattern == _WIDE:
        return _wide_exponents(operand, random, dtype if result is None else result)
    if pattern == _CANCELLING:
        return _cancelling(operand, random, dtype if result is None else result)
    if pattern == "identity":
        return np.eye(*shape)
    if dtype.name == "ue8m0" and pattern == "random":
        return np.asarray(2.0 ** random.integers(-1, 3, shape))
    if dtype.name == "ue8m0" and pattern == "counting":
        return 2.0 ** (np.arange(shape[0] * shape[1]).reshape(shape) % 4)
    return pattern_values(dtype, shape, pattern, random, random_range(dtype), row, column)


def pattern_values(
    dtype: DType,
    shape: tuple[int, int],
    pattern: str,
    random: np.random.Generator,
    limits: tuple[int, int],
    row: int,
    column: int,
) -> NDArray[np.float64]:
    """The values of a fill that products and transfers share; random ones are between the limits."""
    if pattern == "random":
        return random.integers(limits[0], limits[1] + 1, shape).astype(np.float64)
    values = np.ones(shape) if pattern == "ones" else np.zeros(shape)
    if pattern == "one-hot":
        values[row % shape[0], column % shape[1]] = 1
    elif pattern == "counting":
        limit = 1 << (dtype.fraction_bits + 1) if dtype.is_float else dtype.maximum + 1
        values += np.arange(values.size).reshape(shape) % limit
    return values


# -- floats on which chips differ --------------------------------------------------------------------------


def _normal(dtype: DType, numbers: NDArray[np.float64]) -> NDArray[Any]:
    """Normally distributed numbers that a type can hold.

    The standard deviation of integers is a third of the largest, unsigned numbers are magnitudes, scale
    factors of ue8m0 have normally distributed exponents, and no scale factor is 0.
    """
    if dtype.name == "ue8m0":
        return np.asarray(2.0 ** np.rint(numbers))
    if dtype.is_float:
        return numbers if dtype.signed else np.maximum(np.abs(numbers), 2.0 ** (1 - dtype.bias))
    low, high = random_range(dtype)
    numbers = np.rint(numbers * max(high / 3, 1))
    return np.clip(numbers if dtype.signed else np.abs(numbers), low, high)


def _wide_exponents(operand: MatrixOperand, random: np.random.Generator, result: DType) -> NDArray[Any]:
    """Numbers with exponents around a centre for each row of A or column of B, within alignment's reach.

    Exponents spread over the type's range, but the terms of each sum overlap. C and scales lie around 1.
    """
    dtype, shape = operand.dtype, operand.shape
    reach = (result.fraction_bits + 5) // 2
    if operand.name in _SCALES:
        exponents = random.integers(-6, 8, shape)
        powers = 2.0**exponents
        return np.asarray(powers if dtype.name == "ue8m0" else powers * (1 + random.random(shape)))
    if operand.name == "C":
        exponents = random.integers(max(1 - dtype.bias, -2 * reach), min(dtype.bias - 4, 2 * reach), shape)
        return _floats(dtype, random, exponents)
    low, high = _exponent_range(operand, result)
    reach = min(reach, (high - low) // 2)
    one_each = (shape[0], 1) if _is_a(operand) else (1, shape[1])
    centres = random.integers(low + reach, high - reach + 1, one_each)
    offsets = random.integers(-reach, reach + 1, shape)
    return _floats(dtype, random, centres + offsets)


def _cancelling(operand: MatrixOperand, random: np.random.Generator, result: DType) -> NDArray[Any]:
    """Rows of A hold x and -x among far smaller numbers; runs of rows of B are equal, so that x b - x b = 0.

    Eight columns of A are x, small, -x, small and four small ones. Each kind of structured sparsity keeps
    both x and -x, or neither.
    """
    dtype, shape = operand.dtype, operand.shape
    if not _is_a(operand):
        runs = _floats(dtype, random, np.zeros((-(-shape[0] // _RUN), shape[1]), dtype=np.int64))
        return np.repeat(runs, _RUN, axis=0)[: shape[0]]
    low, high = _exponent_range(operand, result)
    top = min(high - 1, 8)
    small = max(low, top - _GAP)
    exponents = random.integers(max(low, small - result.fraction_bits), small + 1, shape)
    k = np.arange(shape[1])
    exponents[:, k % 8 == 0] = top
    values = _floats(dtype, random, exponents)
    values[:, k % 8 == 2] = -values[:, k % 8 == 0]
    return values


def _is_a(operand: MatrixOperand) -> bool:
    """Whether sums run along the rows of an operand: A, dense or compressed."""
    return operand.name == "A"


def _exponent_range(operand: MatrixOperand, result: DType) -> tuple[int, int]:
    """The range of exponents of factors whose products and their sums `result` can hold."""
    dtype = operand.dtype
    depth = operand.shape[1] if _is_a(operand) else operand.shape[0]
    # a product of two significands is below 4, and compressed A has at least half of the columns
    spare = 2 + (2 * depth - 1).bit_length()
    low, high = 1 - dtype.bias - dtype.fraction_bits, frexp(value_range(dtype).most)[1] - 1
    return max(low, -((result.bias - 1) // 2)), min(high, (result.bias - spare) // 2)


def _floats(dtype: DType, random: np.random.Generator, exponents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Random signs and fractions with these exponents."""
    sizes = np.ldexp(1 + random.random(exponents.shape), exponents)
    values = np.where(random.random(exponents.shape) < 0.5, -sizes, sizes)
    return np.clip(values, -value_range(dtype).most, value_range(dtype).most)


def filled(
    operation: Operation, name: str, pattern: str, random: np.random.Generator, row: int = 0, column: int = 0
) -> Operation:
    """The operation with a matrix filled; sparse A is pruned and compressed again.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> operation = Operation.from_matrices(ins, np.zeros((16, 64)), np.zeros((64, 8)))
    >>> filled(operation, "B", "ones", np.random.default_rng(0)).codes("B").sum()
    np.uint64(512)
    """
    ins, operand = operation.ins, operation.operand(name)
    pattern_names = patterns(name, operand.dtype)
    if not is_name(pattern, pattern_names):
        allowed = listing(pattern_names) or "nothing: it is the result"
        reason = _why_not(name, operand.dtype, pattern)
        raise PtxlabError(f"{name} cannot be filled with {quoted(pattern)}{reason}; it takes {allowed}")
    if name == "E" and ins.structure is not None:
        nibbles = random.choice(list(ins.structure.nibbles), operand.shape)
        return operation.with_codes(name, nibbles, keep_metadata=False)
    values = fill_values(operand, pattern, random, row, column, ins.d.dtype)
    if name == "A" and ins.sparse:
        values = ins.prune(values)
    return operation.with_codes(name, operand.dtype.encode(values), keep_metadata=False)
