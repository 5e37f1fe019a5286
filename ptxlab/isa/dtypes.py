"""Element types: how many bits, which values, and the codes that stand for them.

A *code* is the bit pattern of one element as an unsigned integer; a *value* is what it means. Every type of
PTX's matrix instructions is one entry of `DTYPES`; the arithmetic of the narrow floats is that of ml_dtypes.

Conversions give the bits of PTX's `cvt`. Floats round to nearest even. f16 and bf16
overflow to infinity (cvt.rn); floats of 8 bits and fewer saturate, infinity included (cvt.rn.satfinite);
integers saturate, NaN becomes 0 (cvt.rni.sat). Otherwise a NaN becomes the canonical NaN of its type, or, in
e2m1, e2m3 and e3m2, which have none, the largest value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Literal, SupportsFloat

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, is_a
from ..errors import PtxlabError, listing, quoted

Codes = NDArray[Any]
Values = NDArray[Any]

_CODE_TYPES: dict[int, type[np.unsignedinteger[Any]]] = {
    8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64,
}  # fmt: skip


@dataclass(frozen=True)
class DType:
    """One element type in PTX's spelling.

    >>> dtype("s4").encode([-1, 7])
    array([15,  7], dtype=uint8)
    >>> dtype("e4m3").decode([0x38, 0x7E])
    array([  1., 448.], dtype=float32)
    >>> dtype("e4m3").numpy_type.__name__, dtype("f16").numpy_type
    ('float8_e4m3fn', <class 'numpy.float16'>)
    """

    name: str
    bits: int
    kind: Literal["int", "float", "bits"]
    signed: bool
    value_type: type[np.generic] = field(repr=False)
    exponent_bits: int = 0
    fraction_bits: int = 0
    note: str = ""
    #: The NumPy or ml_dtypes type whose values have these codes as their bits; None for s4, u4, tf32, bits.
    numpy_type: type[np.generic] | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return self.name

    @cached_property
    def code_type(self) -> type[np.unsignedinteger[Any]]:
        """The NumPy type that holds one code.

        >>> dtype("s4").code_type, dtype("f64").code_type
        (<class 'numpy.uint8'>, <class 'numpy.uint64'>)
        """
        return _CODE_TYPES[max(8, self.bits)]

    @cached_property
    def is_float(self) -> bool:
        """Whether its values are floating point.

        >>> dtype("tf32").is_float, dtype("s4").is_float
        (True, False)
        """
        return self.kind == "float"

    @cached_property
    def bias(self) -> int:
        """Exponent bias of a float type.

        >>> dtype("f16").bias, dtype("e4m3").bias
        (15, 7)
        """
        if not self.exponent_bits:
            raise PtxlabError(f"{self.name} has no exponent, so it has no bias")
        return (1 << (self.exponent_bits - 1)) - 1

    @cached_property
    def ignored_bits(self) -> int:
        """Low bits of the code that the hardware does not read (13 for tf32).

        >>> dtype("tf32").ignored_bits
        13
        """
        return (
            self.bits - (self.signed + self.exponent_bits + self.fraction_bits) if self.name == "tf32" else 0
        )

    @property
    def minimum(self) -> int:
        """Smallest integer value; only for integer types.

        >>> dtype("s4").minimum
        -8
        """
        self._needs_integers()
        if self.name == "s1z4m11":
            return -2047
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def maximum(self) -> int:
        """Largest integer value; only for integer types.

        >>> dtype("s4").maximum
        7
        """
        self._needs_integers()
        if self.name == "s1z4m11":
            return 2047
        return (1 << (self.bits - self.signed)) - 1

    def _needs_integers(self) -> None:
        if self.is_float:
            raise PtxlabError(
                f"{self.name} holds floats: only integer types have a smallest and largest integer"
            )

    @cached_property
    def _table(self) -> Values:
        """Values of all codes, for types of at most 16 bits."""
        codes = np.arange(1 << self.bits, dtype=np.uint32)
        if self.name == "ue5m3":
            return _ue5m3_values()
        if self.name == "s1z4m11":
            magnitude = (codes & 0x7FF).astype(np.int16)
            return np.where(codes >> 15, -magnitude, magnitude)
        if self.kind != "float":
            wide = codes.astype(np.int64)
            return np.where(wide > self.maximum, wide - (1 << self.bits), wide).astype(self.value_type)
        raw = codes.astype(self.code_type)
        if self.name == "ue4m3":  # e4m3 without its sign bit, which the hardware ignores
            raw &= np.uint8(0x7F)
        with np.errstate(invalid="ignore"):
            return np.asarray(raw.view(self.numpy_type or self.value_type).astype(self.value_type))

    def decode(self, codes: ArrayLike) -> Values:
        """Values that these codes, integers, stand for. Bits above the element's own are ignored.

        >>> dtype("s4").decode([7, 8, 15])
        array([ 7, -8, -1], dtype=int8)
        """
        codes = as_array(codes, f"codes of {self.name}")
        if codes.dtype.kind not in "iu":
            raise PtxlabError(
                f"codes of {self.name}: they are integers, found {codes.dtype}; encode takes values"
            )
        return self.decode_array(codes)

    def decode_array(self, codes: Codes) -> Values:
        """Like `decode`, for codes already checked."""
        if self.bits <= 16:
            if codes.dtype != self.code_type or self.bits < 8:
                codes = codes.astype(np.uint32) & np.uint32((1 << self.bits) - 1)
            return np.asarray(np.take(self._table, codes))  # several times as fast as self._table[codes]
        raw = np.ascontiguousarray(codes, dtype=self.code_type)
        if self.ignored_bits:
            raw = raw & self.code_type(~((1 << self.ignored_bits) - 1) & 0xFFFFFFFF)
        return raw.view(self.value_type).reshape(codes.shape)

    def encode(self, values: ArrayLike) -> Codes:
        """Codes of these values: floats round to nearest even, integers out of range are refused.

        >>> [hex(code) for code in dtype("f16").encode([1, 65504, 65520])]   # the last rounds to infinity
        ['0x3c00', '0x7bff', '0x7c00']
        """
        return self.encode_array(as_array(values, self.name))

    def encode_array(self, values: Values) -> Codes:
        """Like `encode`, for an array already checked."""
        return self._encode_float(values) if self.kind == "float" else self._encode_integer(values)

    def _encode_integer(self, values: Values) -> Codes:
        if values.dtype.kind not in "iub":
            if values.dtype != np.longdouble:  # it may have more bits
                values = values.astype(np.float64)
            not_whole = ~np.isfinite(values) | (values != np.rint(values))
            if not_whole.any():
                raise PtxlabError(
                    f"{_place(not_whole)}found {_text(values[not_whole][0])}; {self.name} holds whole "
                    f"numbers {self.minimum}..{self.maximum}"
                )
        bad = (values < self.minimum) | (values > self.maximum)
        if bad.any():
            raise PtxlabError(
                f"{_place(bad)}found {_text(values[bad][0])}; {self.name} holds "
                f"{self.minimum}..{self.maximum}"
            )
        whole = values.astype(np.int64)
        if self.name == "s1z4m11":
            whole = np.abs(whole) | (whole < 0).astype(np.int64) << 15
        return (whole & ((1 << self.bits) - 1)).astype(self.code_type)

    def _encode_float(self, values: Values) -> Codes:
        with np.errstate(all="ignore"):
            wide = _as_float64(values, to_odd=self.bits < 64)
        if not self.signed:
            bad = np.signbit(wide) & ~np.isnan(wide) & ((wide != 0) | (self.name == "ue8m0"))
            if self.name == "ue8m0":
                bad |= wide == 0
            if bad.any():
                range_text = {
                    "ue8m0": "powers of two from 2^-127 to 2^127",
                    "ue5m3": "0..114688, no sign",
                }.get(self.name, "0..448, no sign")
                raise PtxlabError(f"{_place(bad)}found {_text(wide[bad][0])}; {self.name} holds {range_text}")
        if self.name in _WITHOUT_NAN and np.isnan(wide).any():
            raise PtxlabError(
                f"{_place(np.isnan(wide))}found nan; {self.name} has no NaN, it holds "
                f"{_WITHOUT_NAN[self.name]} and their negatives"
            )
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if self.name == "tf32":
                return _round_tf32(wide).view(np.uint32).reshape(values.shape)
            if self.name == "ue8m0":
                return _round_ue8m0(wide)
            if self.name == "ue5m3":
                return _round_ue5m3(wide)
            exact = self.numpy_type in (np.float16, np.float32, np.float64)
            number = (wide if exact else _round_to_odd(wide)).astype(self.numpy_type)
        return np.ascontiguousarray(number).view(self.code_type).reshape(values.shape)


def _as_float64(values: Values, to_odd: bool) -> NDArray[np.float64]:
    """The values as float64, rounded to nearest even, or to odd so that the next rounding is exact.

    Only integers of more than 53 bits and long doubles lose bits. Rounding to odd sets the last bit where
    something is lost.
    """
    wide = values.astype(np.float64)
    if not to_odd or values.dtype.itemsize < 8 or values.dtype == np.float64:
        return wide
    if values.dtype.kind in "iu":
        large = np.abs(wide) >= 2.0**53
        if large.any():
            magnitude = np.where(wide < 0, -values, values).astype(np.uint64)
            lost = (magnitude & np.uint64(0x7FF)) != 0
            rounded = np.ldexp(((magnitude >> np.uint64(11)) | lost).astype(np.float64), 11)
            wide = np.where(large, np.copysign(rounded, wide), wide)
    elif values.dtype.kind == "f":
        lost = np.isfinite(wide) & (wide.astype(values.dtype) != values)
        even = (np.ascontiguousarray(wide).view(np.uint64).reshape(wide.shape) & np.uint64(1)) == 0
        neighbour = np.nextafter(wide, np.where(values > wide, np.inf, -np.inf))
        wide = np.where(lost & even, neighbour, wide)
    return np.asarray(wide)


def _round_ue8m0(wide: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Nearest power of two, halfway upwards; ml_dtypes rounds everything above 2^-127 up to 2^-126."""
    half, exponent = np.frexp(wide)  # wide = half * 2^exponent, half in [0.5, 1)
    code = np.maximum(exponent + 126 + (half >= 0.75), 0)
    return np.where(np.isfinite(wide) & (code < 255), code, 255).astype(np.uint8)


def _ue5m3_values() -> NDArray[np.float32]:
    """Values of ue5m3: PTX ISA 9.4 has its fields, no infinity, and 0xff as NaN; a bias of 15 is assumed."""
    code = np.arange(256)
    exponent, fraction = code >> 3, code & 7
    significand = np.where(exponent > 0, fraction + 8.0, fraction)
    values = np.ldexp(significand, np.maximum(exponent, 1) - 15 - 3)
    values[255] = np.nan
    return np.asarray(values, dtype=np.float32)


def _round_ue5m3(wide: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Nearest value, ties to even; NaN above the largest value, as with e4m3."""
    values = _ue5m3_values().astype(np.float64)
    values[255] = 2.0**17  # where the next one would be
    upper = np.searchsorted(values, wide).clip(1, 255)
    below, above = wide - values[upper - 1], values[upper] - wide
    down = (below < above) | ((below == above) & (upper % 2 == 1))
    codes = np.where(down, upper - 1, upper)
    return np.where(np.isnan(wide), 255, codes).astype(np.uint8)


def _round_to_odd(wide: NDArray[np.float64]) -> NDArray[np.float32]:
    """float32 rounded to odd: the last bit is set where something is lost.

    ml_dtypes converts through float32; rounded like this, nothing rounds twice.
    """
    nearest = wide.astype(np.float32)
    even = (nearest.view(np.uint32) & 1) == 0
    odd = np.nextafter(nearest, np.where(wide > nearest, np.inf, -np.inf).astype(np.float32))
    return np.where(np.isfinite(nearest) & even & (nearest != wide), odd, nearest)


def _round_tf32(wide: NDArray[np.float64]) -> NDArray[np.float32]:
    """Nearest value with 10 fraction bits (ties to even), as float32.

    From float64, so that nothing rounds twice.
    """
    _, exponent = np.frexp(wide)
    step = np.ldexp(1.0, np.maximum(exponent - 1, -126) - 10)
    finite = np.isfinite(wide)
    rounded = np.where(finite, np.rint(np.where(finite, wide, 0.0) / step) * step, wide)
    return np.ascontiguousarray(rounded, dtype=np.float32)


def _place(mask: NDArray[np.bool_]) -> str:
    """Where the first True is, in words: ``row 3, column 5: ``."""
    at = [int(i) for i in np.argwhere(mask)[0]] if mask.ndim else []
    if len(at) >= 2:
        batch = f"matrix {at[:-2]}, " if len(at) > 2 else ""
        return f"{batch}row {at[-2]}, column {at[-1]}: "
    return f"element {at[0]}: " if at else ""


def _text(value: SupportsFloat) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e20 else f"{number:g}"


def _integer(name: str, bits: int, signed: bool, value: type[np.generic], note: str = "") -> DType:
    return DType(name, bits, "int", signed, value, note=note, numpy_type=value if bits >= 8 else None)


def _float(
    name: str,
    bits: int,
    fields: tuple[int, int],
    number: type[np.generic] | None,
    value: type[np.generic] = np.float32,
    *,
    signed: bool = True,
    note: str = "",
) -> DType:
    """A float type; `fields`: bits of exponent and fraction, `number`: its type in NumPy or ml_dtypes."""
    return DType(name, bits, "float", signed, value, *fields, note, number)


_TYPES = (
    DType("b1", 1, "bits", False, np.uint8, note="one bit"),
    DType("b4", 4, "bits", False, np.uint8, note="one metadata nibble: two 2-bit indices"),
    _integer("u4", 4, False, np.uint8),
    _integer("s4", 4, True, np.int8, note="two's complement"),
    _integer("u8", 8, False, np.uint8),
    _integer("s8", 8, True, np.int8, note="two's complement"),
    _integer("s32", 32, True, np.int32, note="two's complement"),
    _float("e2m1", 4, (2, 1), ml_dtypes.float4_e2m1fn, note="no infinity, no NaN"),
    _float("e2m3", 6, (2, 3), ml_dtypes.float6_e2m3fn, note="no infinity, no NaN"),
    _float("e3m2", 6, (3, 2), ml_dtypes.float6_e3m2fn, note="no infinity, no NaN"),
    _float("e4m3", 8, (4, 3), ml_dtypes.float8_e4m3fn, note="no infinity; NaN is S.1111.111"),
    _float("e5m2", 8, (5, 2), ml_dtypes.float8_e5m2),
    _float("ue8m0", 8, (8, 0), ml_dtypes.float8_e8m0fnu, signed=False,
           note="a power of two, 2^(code - 127); NaN is 255"),
    _float("ue4m3", 8, (4, 3), ml_dtypes.float8_e4m3fn, signed=False,
           note="e4m3 without a sign; the top bit is ignored"),
    _float("f16", 16, (5, 10), np.float16, np.float16),
    _float("bf16", 16, (8, 7), ml_dtypes.bfloat16, note="the upper half of a float32"),
    _float("tf32", 32, (8, 10), None, note="the upper 19 bits of a float32; the lower 13 are ignored"),
    _float("f32", 32, (8, 23), np.float32),
    _float("f64", 64, (11, 52), np.float64, np.float64),
)  # fmt: skip

#: Float types that have neither NaN nor infinity, and what they hold.
_WITHOUT_NAN = {
    "e2m1": "0, 0.5, 1, 1.5, 2, 3, 4, 6",
    "e2m3": "0, 0.125, 0.25 ... 7, 7.5",
    "e3m2": "0, 0.0625, 0.125 ... 24, 28",
}

#: Every element type by its PTX name.
DTYPES: dict[str, DType] = {t.name: t for t in _TYPES}


#: Names of the types in other languages and libraries.
_OTHER_NAMES = {
    "bit": "b1", "int4": "s4", "i4": "s4", "uint4": "u4", "int8": "s8", "i8": "s8", "char": "s8",
    "uint8": "u8", "int32": "s32", "int": "s32", "i32": "s32", "half": "f16", "fp16": "f16", "float16": "f16",
    "bfloat16": "bf16", "nv_bfloat16": "bf16", "float": "f32", "fp32": "f32", "float32": "f32",
    "double": "f64", "fp64": "f64", "float64": "f64", "fp4": "e2m1", "float8_e4m3fn": "e4m3",
    "float8_e4m3": "e4m3", "float8_e5m2": "e5m2", "float4_e2m1fn": "e2m1", "float6_e2m3fn": "e2m3",
    "float6_e3m2fn": "e3m2", "float8_e8m0fnu": "ue8m0",
}  # fmt: skip


def dtype(name: str | DType) -> DType:
    """The element type of that name.

    >>> dtype("tf32").ignored_bits
    13
    """
    if isinstance(name, DType):
        return name
    if type(name) is str and name in DTYPES:  # nearly always
        return DTYPES[name]
    element = DTYPES.get(name.removeprefix(".")) if is_a(name, str) else None
    if element is None:
        ptx_name = _OTHER_NAMES.get(name.lower().removesuffix("_t")) if is_a(name, str) else None
        remedy = f"PTX calls it {ptx_name}" if ptx_name else f"there are {listing(DTYPES, 20)}"
        raise PtxlabError(f"unknown element type {quoted(name)}; {remedy}")
    return element


# -- conversions --------------------------------------------------------------------------------------------


_INTEGER_TARGETS = ("s8", "u8", "s4", "u4")
_NARROW_TARGETS = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")

#: Types that an accumulator of each type can be converted to. Integers need a scale to become floats.
CONVERSIONS: dict[str, tuple[str, ...]] = {
    "f32": ("f16", "bf16", "tf32", *_NARROW_TARGETS, *_INTEGER_TARGETS),
    "f16": ("bf16", "tf32", "f32", *_NARROW_TARGETS, *_INTEGER_TARGETS),
    "s32": _INTEGER_TARGETS,
}

#: The code that cvt gives for any NaN.
NAN = {
    "f16": 0x7FFF, "bf16": 0x7FFF, "tf32": 0x7FFFFFFF, "f32": 0x7FFFFFFF,
    "e4m3": 0x7F, "e5m2": 0x7F, "e2m3": 0x1F, "e3m2": 0x1F, "e2m1": 0x7,
}  # fmt: skip
#: The largest finite value of each type that saturates.
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0, "e2m3": 7.5, "e3m2": 28.0, "e2m1": 6.0}


def convert(codes: NDArray[Any], source: DType, target: DType) -> NDArray[Any]:
    """Codes of one type -> codes of another, as `cvt` does it, for the pairs of CONVERSIONS.

    >>> from ptxlab.isa.dtypes import dtype
    >>> f32, e4m3 = dtype("f32"), dtype("e4m3")
    >>> [hex(code) for code in convert(f32.encode([1.0, 1e9, -np.inf, np.nan]), f32, e4m3)]
    ['0x38', '0x7e', '0xfe', '0x7f']
    """
    if source.name == "f32" and target.name in LARGEST:
        return _narrow(codes, target.name)
    if source.bits == 16:
        return np.take(_table_of_codes(source.name, target.name), codes, mode="clip")  # all are inside
    return _converted(codes, source, target)


@cache
def _table_of_codes(source: str, target: str) -> NDArray[Any]:
    """The conversion of every code of a 16-bit type."""
    return _converted(np.arange(1 << 16, dtype=np.uint16), dtype(source), dtype(target))


def _converted(codes: NDArray[Any], source: DType, target: DType) -> NDArray[Any]:
    values = source.decode(codes)
    if not target.is_float:
        return _as_integers(values, target)
    with np.errstate(invalid="ignore"):  # a signalling NaN, on processors that report it
        wide = values.astype(np.float32, copy=False)
    return _as_floats(wide, target)


def _narrow(codes: NDArray[Any], name: str) -> NDArray[np.uint8]:
    """Codes of f32 as codes of a narrow type, by a table of upper halves.

    The upper half, with its last bit set if the lower half is not 0, rounds to the same value: its 8 bits of
    significand are two more than e4m3 and its ties need.
    """
    halves = (codes >> np.uint32(16)).astype(np.uint16)
    halves |= (codes & np.uint32(0xFFFF)) != 0
    return np.take(_narrow_table(name), halves, mode="clip")


@cache
def _narrow_table(name: str) -> NDArray[np.uint8]:
    halves = np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)
    return _as_floats(halves.view(np.float32), dtype(name))


def _as_floats(wide: NDArray[np.float32], target: DType) -> NDArray[Any]:
    """Codes of the nearest values."""
    if target.name == "f16":
        return _as_halves(np.ascontiguousarray(wide).view(np.uint32).reshape(wide.shape))
    nan = np.isnan(wide)
    result: NDArray[Any]
    if target.bits == 32:
        result = np.ascontiguousarray(wide).view(np.uint32).reshape(wide.shape)
        if target.name == "tf32":
            even = (result >> np.uint32(13)) & np.uint32(1)
            with np.errstate(over="ignore"):  # of a NaN, which is replaced below
                result = (result + (np.uint32(0xFFF) + even)) & np.uint32(0xFFFFE000)
    else:
        if target.name in LARGEST:
            largest = np.float32(LARGEST[target.name])
            wide = np.clip(wide, -largest, largest)
        with np.errstate(over="ignore", invalid="ignore"):
            result = wide.astype(target.numpy_type).view(target.code_type)
    if nan.any():
        result = np.where(nan, target.code_type(NAN[target.name]), result)
    return np.asarray(result)


def _as_halves(codes: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Codes of f32 as codes of f16, to nearest even: by integer arithmetic where both are normal.

    NumPy converts one number at a time, which takes several times as long.
    """
    magnitude = codes & np.uint32(0x7FFF_FFFF)
    half = magnitude >> np.uint32(13)
    half &= np.uint32(1)  # a tie goes up if the last bit is odd
    half += magnitude
    half += np.uint32(0xC800_0FFF)  # just below one half of the last place; the bias of f16 is 112 less
    half >>= np.uint32(13)
    half |= codes >> np.uint32(16) & np.uint32(0x8000)
    result = half.astype(np.uint16)
    magnitude -= np.uint32(0x3880_0000)  # 2^-14; smaller numbers wrap around and become large
    others = magnitude >= np.uint32(0x0EFF_F000)  # from 65520 on
    if others.any():
        values = codes[others].view(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            halves = values.astype(np.float16).view(np.uint16)
        halves[np.isnan(values)] = NAN["f16"]
        result[others] = halves
    return result


def _as_integers(values: NDArray[Any], target: DType) -> NDArray[Any]:
    """Codes of the nearest whole numbers, saturated, in two's complement."""
    if values.dtype.kind == "f":
        with np.errstate(invalid="ignore"):  # a signalling NaN
            values = np.where(np.isnan(values), 0, np.rint(values))
    limits = values.dtype.type(target.minimum), values.dtype.type(target.maximum)
    whole = np.clip(values, *limits).astype(np.int8 if target.signed else np.uint8).view(np.uint8)
    return np.asarray(whole & np.uint8((1 << target.bits) - 1)) if target.bits < 8 else whole
