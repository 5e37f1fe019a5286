"""Random codes of A, B, C and the block scales, for the categories that golden results are recorded for.

Integers
    bits        every bit random
    extremes    A and B are the smallest and largest value, 0, 1 or -1; C is near an end of s32
    halves      the products of the first half of K oppose those of the second, C is near an end of s32:
                a sum that is clamped on the way differs from one that is clamped once
    edges       random A and B, C within reach of an end of s32

Floats
    bits          every bit random, NaN and infinities included
    moderate      numbers around 1
    exponents     every exponent
    subnormals    mostly subnormal
    cancellation  products that cancel each other, exactly or nearly
    special       some infinities, NaN and zeros of both signs among numbers of every exponent
    bottom        products around and far below the smallest result
    zeros         zeros beside huge and tiny factors
    overflow      sums around the largest result
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ..isa.dtypes import DType
from ..isa.operand import MatrixOperand
from ..isa.product_form import ProductForm

INTEGER = ("bits", "extremes", "halves", "edges")
FLOAT = (
    "bits", "moderate", "exponents", "subnormals", "cancellation", "special", "bottom", "zeros", "overflow",
)  # fmt: skip

#: Their largest exponent field is an ordinary one, with no infinities (and at most one NaN) in it.
_WITHOUT_INFINITY = ("e4m3", "e3m2", "e2m3", "e2m1")


def multiplicand(
    stream: RandomStream, ins: ProductForm, operand: MatrixOperand, category: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Codes of A or B, K last."""
    if operand.dtype.is_float:
        return _float_multiplicand(stream, operand, category, shape)
    return integer_multiplicand(stream, operand, category, shape)


def accumulator(
    stream: RandomStream, ins: ProductForm, category: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Codes of C."""
    if ins.c.dtype.is_float:
        return _float_accumulator(stream, ins, category, shape)
    if category == "bits":
        return stream.below(1 << 32, shape).astype(np.uint32)
    largest_product = 255 * 255 if ins.a.dtype.bits == 8 else 15 * 15
    share = 2 if category == "edges" else 8
    distance = stream.below(max(ins.k * largest_product // share, 4), shape)
    at_maximum = stream.chance(50, shape)
    return np.where(at_maximum, 0x7FFFFFFF - distance, 0x80000000 + distance).astype(np.uint32)


def scale(stream: RandomStream, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    """Block scales: most of them around 1, some at the ends, a few NaN."""
    code_of_one = dtype.bias << dtype.fraction_bits
    near_one = stream.between(code_of_one - 24, code_of_one + 24, shape)
    is_any = stream.chance(20, shape)
    any_code = stream.below(1 << (dtype.exponent_bits + dtype.fraction_bits), shape)
    return np.clip(np.where(is_any, any_code, near_one), 0, 255).astype(np.uint8)


# -- integers --------------------------------------------------------------------------------------------


def integer_multiplicand(
    stream: RandomStream, operand: MatrixOperand, category: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Codes of A or B, K last."""
    dtype = operand.dtype
    mask = (1 << dtype.bits) - 1
    smallest, largest = dtype.minimum & mask, dtype.maximum & mask
    codes = stream.below(1 << dtype.bits, shape)
    if category == "extremes":
        codes = stream.pick(sorted({smallest, largest, 0, 1, mask}), shape)
    elif category == "halves":
        in_first_half = np.arange(shape[-1]) < shape[-1] // 2
        is_large = stream.chance(50, (*shape[:-1], 1))
        if operand.name == "A":
            is_large = is_large ^ in_first_half
        codes = np.where(stream.chance(10, shape), codes, np.where(is_large, largest, smallest))
    return codes.astype(dtype.code_type)


# -- floats ----------------------------------------------------------------------------------------------


def compose(
    dtype: DType,
    sign: NDArray[Any],
    exponent: NDArray[Any],
    fraction: NDArray[Any],
    ignored: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Codes from sign, exponent field, fraction and ignored bits; exponents are clipped to finite ones."""
    largest = (1 << dtype.exponent_bits) - 1
    if dtype.name not in _WITHOUT_INFINITY:
        largest -= 1
    exponent = np.clip(exponent, 0, largest)
    fraction = fraction & ((1 << dtype.fraction_bits) - 1)
    if dtype.name == "e4m3":  # 0b1111.111 is its NaN
        fraction = np.where((exponent == 15) & (fraction == 7), 6, fraction)
    code = (sign << dtype.exponent_bits | exponent) << dtype.fraction_bits | fraction
    code = code << dtype.ignored_bits
    if dtype.ignored_bits and ignored is not None:
        code = code | (ignored & ((1 << dtype.ignored_bits) - 1))
    return np.asarray(code.astype(dtype.code_type))


def _float_multiplicand(
    stream: RandomStream, operand: MatrixOperand, category: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Codes of a float type; the category says which exponents they have, and whether NaN is among them."""
    dtype = operand.dtype
    if category == "bits":
        return stream.codes(dtype, shape)
    bits = dtype.signed + dtype.exponent_bits + dtype.fraction_bits
    bias, top = dtype.bias, (1 << dtype.exponent_bits) - 1
    raw = stream.bits(bits + dtype.ignored_bits, shape)
    sign, fraction = raw & 1, raw >> 1 & ((1 << dtype.fraction_bits) - 1)
    ignored = raw >> (bits - 1)
    exponent = stream.between(bias - 3, bias + 3, shape)
    if category in ("exponents", "special"):
        exponent = stream.between(0, top, shape)
    elif category == "subnormals":
        exponent = np.where(stream.chance(60, shape), 0, stream.between(0, 4, shape))
    elif category == "bottom":
        exponent = _bottom_exponents(stream, dtype, shape)
    elif category == "zeros":
        is_zero = stream.chance(50, shape)
        is_huge = stream.chance(50, shape)
        huge, small = stream.between(top - 4, top, shape), stream.between(0, bias, shape)
        exponent = np.where(is_zero, 0, np.where(is_huge, huge, small))
        fraction = np.where((exponent == 0) & stream.chance(80, shape), 0, fraction)
    elif category == "overflow":
        middle = bias + (bias + 1) // 2  # the square of such a number is near the largest
        exponent = stream.between(middle - 2, middle + 2, shape)
        sign = np.where(stream.chance(85, shape), 0, sign)
    elif category == "cancellation":
        exponent = stream.between(bias - 2, bias + 2, shape)
    codes = compose(dtype, sign, exponent, fraction, ignored)
    if category == "cancellation":
        return _cancelling(stream, operand, codes)
    if category == "special":
        negative, highest = 1 << (dtype.bits - 1), (1 << dtype.bits) - 1
        infinity = top << (dtype.fraction_bits + dtype.ignored_bits)
        smallest_nan = infinity | 1 << dtype.ignored_bits
        special = [0, negative, infinity, infinity | negative, highest, smallest_nan]
        special = [code & highest for code in special]
        codes = _sprinkle(stream, dtype, codes, 4, special)
    return codes


def _bottom_exponents(stream: RandomStream, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
    """Exponent fields of factors whose product is near the smallest result; centres vary along axis 0."""
    bias = dtype.bias
    low, high = max(bias - 100, 1), max(bias - 40, 1)
    if dtype.name == "f64":
        low, high = bias - 545, bias - 500
    centre = stream.between(low, high, (shape[0], 1, 1))
    exponent = centre + stream.between(-8, 8, shape)
    return np.where(stream.chance(10, shape), 0, exponent)


def _cancelling(stream: RandomStream, operand: MatrixOperand, codes: NDArray[Any]) -> NDArray[Any]:
    """Neighbours of A are opposite and rows of B repeat in eights.

    Products then cancel whichever elements the metadata of a sparse A select.
    """
    dtype, shape = operand.dtype, codes.shape
    opposite = codes[..., 0::2] ^ dtype.code_type(1 << (dtype.bits - 1))
    lowest_bit = dtype.code_type(dtype.ignored_bits)
    off_in_a = stream.chance(15, opposite.shape).astype(dtype.code_type) << lowest_bit
    if operand.name == "A":
        codes[..., 1::2] = opposite ^ off_in_a
        return codes
    off_in_b = stream.chance(3, shape).astype(dtype.code_type) << lowest_bit
    return np.asarray(np.repeat(codes[..., 0::8], 8, axis=-1)[..., : shape[-1]] ^ off_in_b)


def _sprinkle(
    stream: RandomStream, dtype: DType, codes: NDArray[Any], percent: int, special: list[int]
) -> NDArray[Any]:
    """Some of the codes replaced by special ones."""
    replaced = stream.chance(percent, codes.shape)
    chosen = stream.pick(np.array(special, dtype=dtype.code_type), codes.shape)
    return np.where(replaced, chosen, codes).astype(dtype.code_type)


def _float_accumulator(
    stream: RandomStream, ins: ProductForm, category: str, shape: tuple[int, ...]
) -> NDArray[Any]:
    dtype = ins.c.dtype
    if category == "bits":
        return stream.codes(dtype, shape)
    raw = stream.bits(64 if dtype.bits == 64 else 40, shape)
    sign, fraction = raw & 1, raw >> 1 & ((1 << dtype.fraction_bits) - 1)
    top, bias = (1 << dtype.exponent_bits) - 1, dtype.bias
    ranges = {
        "moderate": (bias - 6, bias + 6),
        "cancellation": (bias - 30, bias + 4),
        "subnormals": (0, 3),
        "bottom": (0, 24),
        "overflow": (top - 3, top - 1),
    }
    low, high = ranges.get(category, (0, top))
    exponent = stream.between(max(low, 0), high, shape)
    if category in ("exponents", "special", "subnormals", "bottom", "zeros"):
        # half of them where the products are
        reach = ins.a.dtype.bias + ins.b.dtype.bias
        among_products = stream.between(max(bias - reach - 16, 0), min(bias + reach + 4, top - 1), shape)
        exponent = np.where(stream.chance(50, shape), among_products, exponent)
    is_zero = stream.chance(40 if category == "bottom" else 25, shape)
    exponent, fraction = np.where(is_zero, 0, exponent), np.where(is_zero, 0, fraction)
    codes = compose(dtype, sign, exponent, fraction)
    if category == "special":
        negative, highest = 1 << (dtype.bits - 1), (1 << dtype.bits) - 1
        infinity = top << dtype.fraction_bits
        special = [infinity, infinity | negative, infinity | 1, highest, 0, negative]
        codes = _sprinkle(stream, dtype, codes, 10, special)
    return codes


# -- random numbers --------------------------------------------------------------------------------------


class RandomStream:
    """Random numbers made from the raw 64-bit output of Philox.

    Every call starts a generator of its own, keyed by the stream's key and the number of the call. An array
    with a larger first axis therefore begins with the numbers of a smaller one.
    """

    def __init__(self, *key: object) -> None:
        self._key = key
        self._calls = 0

    def _words(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        """48 random bits for each element."""
        self._calls += 1
        generator = np.random.Philox(key=zlib.crc32(repr((self._calls, *self._key)).encode()))
        words = generator.random_raw(int(np.prod(shape, dtype=np.int64))).reshape(shape)
        words >>= np.uint64(16)
        return words

    def below(self, limit: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Integers 0 ... limit - 1."""
        words = self._words(shape)
        if limit & (limit - 1):
            words %= np.uint64(limit)
        else:
            words &= np.uint64(limit - 1)
        return words.view(np.int64)

    def bits(self, count: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Random bits, `count` for each element; 64 are put together from two words, since one has 48."""
        if count < 64:
            return self.below(1 << count, shape)
        return (self._words(shape) << np.uint64(32) ^ self._words(shape)).view(np.int64)

    def codes(self, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
        """Codes of an element type, every bit random."""
        return self.bits(dtype.bits, shape).astype(dtype.code_type)

    def between(self, low: int, high: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Integers low ... high, both included."""
        numbers = self.below(max(high - low + 1, 1), shape)
        numbers += low
        return numbers

    def chance(self, percent: int, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """True with this probability."""
        return self.below(100, shape) < percent

    def pick(self, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
        """Elements of `values`, each equally likely."""
        choices = np.asarray(values)
        return np.asarray(np.take(choices, self.below(len(choices), shape)))


class QuickStream(RandomStream):
    """The same from one SFC64 generator, all of whose bits are used: several times as fast.

    Its numbers depend on the shape of every array that was asked for before.
    """

    def __init__(self, *key: object) -> None:
        super().__init__(*key)
        self._generator = np.random.SFC64(zlib.crc32(repr(key).encode()))

    def _elements(self, dtype: DTypeLike, shape: tuple[int, ...]) -> NDArray[Any]:
        """Random bits as an array of this NumPy type."""
        count = int(np.prod(shape, dtype=np.int64))
        words = self._generator.random_raw(-(-count * np.dtype(dtype).itemsize // 8))
        return np.asarray(words.view(dtype)[:count].reshape(shape))

    def below(self, limit: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """See `RandomStream.below`."""
        if limit > 1 << 32:
            return (self._elements(np.uint64, shape) % np.uint64(limit)).view(np.int64)
        # a multiplication instead of a division; the bias is below 2^-24
        numbers = self._elements(np.uint32, shape).astype(np.uint64)
        numbers *= np.uint64(limit)
        numbers >>= np.uint64(32)
        return numbers.view(np.int64)

    def bits(self, count: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """See `RandomStream.bits`."""
        if count == 64:
            return np.asarray(self._elements(np.int64, shape))
        numbers = self._elements(np.uint32 if count <= 32 else np.uint64, shape).astype(np.int64)
        numbers &= (1 << count) - 1
        return numbers

    def codes(self, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
        """See `RandomStream.codes`."""
        codes = self._elements(dtype.code_type, shape)
        return np.asarray(codes & dtype.code_type((1 << dtype.bits) - 1))

    def chance(self, percent: int, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """See `RandomStream.chance`."""
        return np.asarray(self._elements(np.uint8, shape) < percent * 256 // 100)
