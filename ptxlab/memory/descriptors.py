"""The 64-bit matrix descriptors that tell wgmma and tcgen05 where a tile is and how it is laid out.

PTX ISA, "Matrix Descriptor Format":

    bits 0-13    start address              in units of 16 bytes
    bits 16-29   leading dimension offset   in units of 16 bytes
    bits 32-45   stride dimension offset    in units of 16 bytes
    bits 49-51   base offset                0 if the swizzle pattern starts where addresses repeat it
    bits 62-63   swizzle                    see `SWIZZLES`

PTX ISA 9.4, "Shared memory descriptor" of tcgen05, which differs in these:

    bits 0-14    start address              in units of 16 bytes
    bits 16-30   leading dimension          its offset, or the address of a second part, in units of 16 bytes
    bits 46-48   version                    1
    bit  52      leading dimension mode     0: offset, 1: address
    bits 61-63   swizzle                    see `TCGEN05_SWIZZLES`
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_flag, as_int, as_integers, broadcast, check_room, is_name, set_integers
from ..errors import PtxlabError, listing, quoted
from ..isa.instruction_descriptor import BitField
from ..isa.tcgen05 import TensorInstruction
from .swizzle import SWIZZLES, swizzled

_SWIZZLE_OF_CODE = {code: swizzle for swizzle, code in SWIZZLES.items()}

#: Swizzle width and size of the chunks that it moves, in bytes -> its code in bits 61-63 of tcgen05's.
TCGEN05_SWIZZLES: dict[tuple[int, int], int] = {
    (0, 16): 0,
    (128, 32): 1,
    (128, 16): 2,
    (64, 16): 4,
    (32, 16): 6,
}
_TCGEN05_SWIZZLE_OF_CODE = {code: swizzle for swizzle, code in TCGEN05_SWIZZLES.items()}

#: Fields whose codes count units of 16 bytes.
_IN_UNITS_OF_16 = ("address", "leading", "stride")

#: Most elements along an axis; no wgmma reads more.
_MAX_ELEMENTS = 1 << 10
_MAX_INDEX = 1 << 32


@dataclass(frozen=True)
class Descriptor:
    """A matrix descriptor, its quantities in bytes; `code` has the 64 bits. Print it for a sentence.

    `leading` and `stride` are the leading and the stride dimension byte offset (LBO and SBO), `base_offset`
    counts 128-byte rows.

    >>> print(Descriptor(address=0x400, leading=16, stride=1024, swizzle=128))
    wgmma reads from 0x400 with a 128-byte swizzle; leading dimension offset (LBO) 16, stride dimension \
offset (SBO) 1024 bytes.
    """

    address: int
    leading: int
    stride: int
    swizzle: int = 0
    base_offset: int = 0

    family: ClassVar[str] = "wgmma"  # the instructions that read through it
    _owner_text: ClassVar[str] = ""
    # name, lowest bit, bits
    _fields: ClassVar[tuple[tuple[str, int, int], ...]] = (
        ("address", 0, 14), ("leading", 16, 14), ("stride", 32, 14), ("base_offset", 49, 3),
        ("swizzle", 62, 2),
    )  # fmt: skip

    def __post_init__(self) -> None:
        set_integers(self, ("address", "leading", "stride", "swizzle", "base_offset"))
        for name, _, bits in self._fields:
            number = getattr(self, name)
            if name in _IN_UNITS_OF_16 and (number % 16 or not 0 <= number < 16 << bits):
                raise PtxlabError(
                    f"{name}={quoted(number)}: a descriptor takes multiples of 16 bytes below 2^{bits + 4}"
                )
        if self.swizzle not in SWIZZLES:
            raise PtxlabError(
                f"swizzle of {quoted(self.swizzle)} bytes: there are {listing(sorted(SWIZZLES))}"
            )
        if not 0 <= self.base_offset < 8:
            raise PtxlabError(f"base_offset={quoted(self.base_offset)}: it has 3 bits, 0 to 7")

    @property
    def code(self) -> int:
        """The 64 bits.

        >>> hex(Descriptor(0x400, 128, 512, 64).code)
        '0x8000002000080040'
        """
        return sum(code << low for _, low, _, code, _ in self.bit_fields)

    @property
    def bit_fields(self) -> tuple[BitField, ...]:
        """The fields from the lowest bit up: their bits, the code there, and the value it stands for.

        >>> Descriptor(0x400, 128, 512, 64).bit_fields[-1]
        BitField(name='swizzle', low=62, bits=2, code=2, value=64)
        """
        fields = []
        for name, low, bits in self._fields:
            value = getattr(self, name)
            code = value >> 4 if name in _IN_UNITS_OF_16 else int(value)
            if name == "swizzle":
                code = self._swizzle_code
            fields.append(BitField(name, low, bits, code, value))
        return tuple(fields)

    @property
    def _swizzle_code(self) -> int:
        return SWIZZLES[self.swizzle]

    @classmethod
    def _codes(cls, number: int) -> dict[str, int]:
        """The fields of a 64-bit descriptor, quantities in bytes; refuses bits outside of the fields."""
        unused = number & ~sum((1 << bits) - 1 << low for _, low, bits in cls._fields)
        if unused:
            places = [str(low) if bits == 1 else f"{low}-{low + bits - 1}" for _, low, bits in cls._fields]
            raise PtxlabError(
                f"descriptor 0x{number:x}: bit {(unused & -unused).bit_length() - 1} is 1, but belongs to no "
                f"field{cls._owner_text}; the fields are bits {', '.join(places[:-1])} and {places[-1]}"
            )
        codes = {name: number >> low & (1 << bits) - 1 for name, low, bits in cls._fields}
        return {name: code << 4 if name in _IN_UNITS_OF_16 else code for name, code in codes.items()}

    def __index__(self) -> int:
        return self.code

    def __str__(self) -> str:
        pattern = (
            f"with a {self.swizzle}-byte swizzle{self._chunk_words}" if self.swizzle else "without swizzle"
        )
        if self.base_offset:
            pattern += f" whose pattern starts at 128-byte row {self.base_offset} (base offset)"
        return (
            f"{self.family} reads from 0x{self.address:x} {pattern}; {self._leading_words}, stride dimension "
            f"offset (SBO) {self.stride} bytes."
        )

    @property
    def _chunk_words(self) -> str:
        return ""

    @property
    def _leading_words(self) -> str:
        return f"leading dimension offset (LBO) {self.leading}"

    def tcgen05(self) -> Tcgen05Descriptor:
        """The descriptor by which tcgen05 reads the same bytes.

        >>> hex(Descriptor(0x400, 16, 1024, 128).tcgen05().code)
        '0x4000404000010040'
        """
        return Tcgen05Descriptor(self.address, self.leading, self.stride, self.swizzle, self.base_offset)

    def addresses(
        self, row: ArrayLike, k: ArrayLike, *, bits: int = 16, major: Literal["K", "MN"] = "K"
    ) -> NDArray[np.int64]:
        """The address of an element that is read: `row` along M or N, `k` from the slice's start.

        PTX ISA, "Strides", table of canonical layouts.

        >>> Descriptor(0x400, 16, 1024, 128).addresses([0, 1, 8], 0)
        array([1024, 1168, 2048])
        """
        bits = as_int(bits, "bits")
        if bits not in (1, 2, 4, 8, 16, 32, 64):
            raise PtxlabError(f"elements of {quoted(bits)} bits: there are 1, 2, 4, 8, 16, 32, 64 bits")
        if not is_name(major, ("K", "MN")):
            raise PtxlabError(f"major={quoted(major)}: a tile is 'K' or 'MN' major")
        rows, along = as_integers(row, "row"), as_integers(k, "k")
        check_room(math.prod(broadcast("row and k", {"row": rows.shape, "k": along.shape})), "row and k")
        for name, index in (("row", rows), ("k", along)):
            beyond = (index < 0) | (index > _MAX_INDEX)
            if beyond.any():
                raise PtxlabError(f"{name} {index[beyond][0]}: it goes from 0 to {_MAX_INDEX}")
        line, inner = rows.astype(np.int64), along.astype(np.int64)
        if major == "MN":
            line, inner = inner, line
        chunk, byte = inner * bits // 128, inner * bits // 8 % 16
        width = max(self.swizzle, 16)  # bytes of a row of the atom
        in_atom, atom = line % self._atom_lines * width, line // self._atom_lines
        if major == "K":
            across = chunk * (16 if self.swizzle else self.leading)
            offset = in_atom + atom * self.stride + across
        elif self.swizzle:
            chunks = width // 16
            offset = in_atom + atom * self.stride + chunk % chunks * 16 + chunk // chunks * self.leading
        else:
            offset = in_atom + atom * self.leading + chunk * self.stride
        return self._swizzled(np.asarray(self.address + offset)) + byte

    @property
    def _atom_lines(self) -> int:
        """Lines of an atom: rows of a K-major one, values of K of an MN-major one."""
        return 8

    def _swizzled(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        return swizzled(addresses, self.swizzle, self.base_offset)

    def load(
        self,
        memory: ArrayLike,
        rows: int,
        k: int,
        *,
        bits: int = 16,
        major: Literal["K", "MN"] = "K",
    ) -> NDArray[Any]:
        """The element codes [rows, k] that are read through this descriptor, right or wrong.

        `memory` is shared memory from address 0 on; wgmma and tcgen05 read 32 bytes of K.

        >>> memory = np.arange(1024, dtype=np.uint8)
        >>> Descriptor(0, 16, 1024, 128).load(memory, 8, 32, bits=8)[:3, 0]   # row 1 begins at byte 144
        array([  0, 144,  32], dtype=uint8)
        """
        content = as_integers(memory, "memory")
        if content.ndim != 1 or ((content < 0) | (content > 255)).any():
            raise PtxlabError(f"memory of shape {content.shape}: it is a list of bytes from 0 to 255")
        rows, k, bits = as_int(rows, "rows"), as_int(k, "k"), as_int(bits, "bits")
        for name, length in (("rows", rows), ("k", k)):
            if not 1 <= length <= _MAX_ELEMENTS:
                raise PtxlabError(f"{name}={quoted(length)}: there are 1 to {_MAX_ELEMENTS}")
        row, along = np.arange(rows)[:, None], np.arange(k)
        where = self.addresses(row, along, bits=bits, major=major)
        size = max(bits // 8, 1)
        if int(where.max()) + size > len(content):
            raise PtxlabError(
                f"memory of {len(content)} bytes: {self.family} reads up to byte "
                f"{int(where.max()) + size - 1}"
            )
        parts = content[where[..., None] + np.arange(size)].astype(np.uint8)
        if bits < 8:
            shift = along * bits % 8
            return np.asarray(parts[..., 0] >> shift.astype(np.uint8) & np.uint8((1 << bits) - 1))
        return np.ascontiguousarray(parts).view(f"<u{size}")[..., 0]


@dataclass(frozen=True)
class Tcgen05Descriptor(Descriptor):
    """A shared-memory descriptor of tcgen05, its quantities in bytes; `code` has the 64 bits.

    `chunk` is what a swizzle moves as a whole: 16 bytes, or 32 with one of 128 bytes. If `absolute`,
    `leading` is the address of the second part of K, for instructions that read 48 bytes of it. `segment` 1
    chooses the second 24 of the 48 bytes of a column of B that ``.decompress::lut::b`` reads.

    >>> hex(Tcgen05Descriptor(0x400, 128, 512, 64).code)
    '0x8000402000080040'
    >>> print(Tcgen05Descriptor(0x400, 1024, 512, 128, chunk=32))
    tcgen05 reads from 0x400 with a 128-byte swizzle of 32-byte chunks; leading dimension offset (LBO) 1024, \
stride dimension offset (SBO) 512 bytes.
    """

    chunk: int = 16
    absolute: bool = False
    segment: Literal[0, 1] = 0

    family: ClassVar[str] = "tcgen05"
    version: ClassVar[int] = 1
    _owner_text: ClassVar[str] = " of tcgen05's"
    _fields: ClassVar[tuple[tuple[str, int, int], ...]] = (
        ("address", 0, 15), ("leading", 16, 15), ("stride", 32, 14), ("version", 46, 3),
        ("base_offset", 49, 3), ("absolute", 52, 1), ("segment", 53, 1), ("swizzle", 61, 3),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        set_integers(self, ("chunk", "segment"))
        if self.segment not in (0, 1):
            raise PtxlabError(f"segment={quoted(self.segment)}: a compressed column of B has 0 and 1")
        object.__setattr__(self, "absolute", as_flag(self.absolute, "absolute"))
        if (self.swizzle, self.chunk) not in TCGEN05_SWIZZLES:
            raise PtxlabError(
                f"chunk={quoted(self.chunk)}: a swizzle of {self.swizzle} bytes moves chunks of "
                f"{'16 or 32' if self.swizzle == 128 else '16'} bytes"
            )

    @property
    def _swizzle_code(self) -> int:
        return TCGEN05_SWIZZLES[self.swizzle, self.chunk]

    def tcgen05(self) -> Tcgen05Descriptor:
        """The same descriptor."""
        return self

    @property
    def _chunk_words(self) -> str:
        return " of 32-byte chunks" if self.chunk == 32 else ""

    def __str__(self) -> str:
        text = super().__str__()
        if self.segment:
            return f"{text[:-1]}; of a compressed column of B it uses the second 24 bytes."
        return text

    @property
    def _leading_words(self) -> str:
        if self.absolute:
            return f"the rest of K is at 0x{self.leading:x}"
        return super()._leading_words

    @property
    def _atom_lines(self) -> int:
        return 4 if self.chunk == 32 else 8

    def _swizzled(self, addresses: NDArray[np.int64]) -> NDArray[np.int64]:
        return swizzled(addresses, self.swizzle, self.base_offset, self.chunk)

    def addresses(
        self, row: ArrayLike, k: ArrayLike, *, bits: int = 16, major: Literal["K", "MN"] = "K"
    ) -> NDArray[np.int64]:
        """The address of an element that tcgen05 reads: `row` along M or N, `k` from the slice's start.

        Chunks of 32 bytes follow CUTLASS (`Layout_MN_SW128_32B_Atom`): 128-byte rows of M or N, four values
        of K to an atom. If `absolute`, K continues at `leading` where a 128-byte row ends, as in CUTLASS's
        kernels for sm_103.

        >>> Tcgen05Descriptor(0, 1024, 512, 128, chunk=32).addresses([0, 8], [[1], [4]], bits=32, major="MN")
        array([[160, 128],
               [512, 544]])
        """
        if self.chunk == 32 and is_name(major, ("K",)):
            raise PtxlabError("chunk=32: the PTX ISA has a layout of such a swizzle for MN-major tiles only")
        first = super().addresses(row, k, bits=bits, major=major)
        if not self.absolute:
            return first
        if not is_name(major, ("K",)) or (self.swizzle, self.chunk) != (128, 16):
            raise PtxlabError(
                "absolute=True: the tile is K-major, with a swizzle of 128 bytes in chunks of 16"
            )
        count = (128 - self.address % 128) * 8 // bits  # elements up to the end of a 128-byte row
        along = as_integers(k, "k").astype(np.int64)
        rest = replace(self, address=self.leading, absolute=False)
        beyond = rest.addresses(row, np.maximum(along - count, 0), bits=bits)
        return np.where(np.broadcast_to(along, first.shape) < count, first, beyond)

    def faults(self, form: TensorInstruction, operand: str, target: str | None = None) -> tuple[str, ...]:
        """What is wrong with it for A or B of a tcgen05.mma, in sentences; () if nothing is.

        >>> import ptxlab
        >>> tf32 = ptxlab.instruction("tcgen05.mma.cta_group::1.kind::tf32", transpose_b=True)
        >>> Tcgen05Descriptor(0, 16, 1024, 128).faults(tf32, "B")
        ('B is transposed, with elements of 32 bits: the swizzle is of 128 bytes in chunks of 32',)
        """
        if not isinstance(form, TensorInstruction):
            raise PtxlabError(f"found {quoted(form)}; ptxlab.instruction('tcgen05.mma...') gives such a form")
        if not is_name(operand, ("A", "B")):
            raise PtxlabError(f"operand {quoted(operand)}: A and B have descriptors")
        return tuple(self._faults(form, operand, target))

    def _faults(self, form: TensorInstruction, operand: str, target: str | None) -> Iterator[str]:
        matrix = form.a if operand == "A" else form.b
        if operand == "A" and form.a_space == "tensor":
            yield "A is in tensor memory: it has an address there, and no descriptor"
            return
        transposed = form.descriptor.transpose_a if operand == "A" else form.descriptor.transpose_b
        wide = matrix.dtype.bits == 32
        if transposed and wide and self.chunk != 32:
            yield (
                f"{operand} is transposed, with elements of 32 bits: the swizzle is of 128 bytes in chunks "
                f"of 32"
            )
        if transposed and not wide and self.chunk == 32:
            bits = matrix.dtype.bits
            yield f"{operand} is transposed, with elements of {bits} bits: chunks are of 16 bytes"
        if self.absolute:
            if form.k // (2 if form.sparse else 1) * matrix.dtype.bits != 48 * 8:
                yield "the leading dimension is an address: only a read of 48 bytes of K takes one"
            if (self.swizzle, self.chunk) != (128, 16) or transposed or self.base_offset:
                yield (
                    "the leading dimension is an address: the swizzle is of 128 bytes in chunks of 16, "
                    "K-major, with base offset 0"
                )
            if target is not None and target not in ("sm_103a", "sm_107a"):
                yield f"the leading dimension is an address, which {target} does not take"
        if self.segment and (operand == "A" or not form.decompress):
            yield f"segment {self.segment}: only the B of .decompress::lut::b has one"
        if self.base_offset and not self.swizzle:
            yield f"base offset {self.base_offset} without a swizzle"


def descriptor(code: int, *, family: Literal["wgmma", "tcgen05"] | None = None) -> Descriptor:
    """The fields of a 64-bit matrix descriptor of wgmma, or of tcgen05, if bits 46-48 are 1.

    >>> descriptor(0x4000004000010040)
    Descriptor(address=1024, leading=16, stride=1024, swizzle=128, base_offset=0)
    >>> descriptor(0x4000404000010040).family
    'tcgen05'
    """
    number = as_int(code, "descriptor")
    if not 0 <= number < 1 << 64:
        raise PtxlabError(
            f"descriptor {quoted(number)}: it has 64 bits, so it is at most 0x{(1 << 64) - 1:x}"
        )
    if family is not None and not is_name(family, ("wgmma", "tcgen05")):
        raise PtxlabError(f"family={quoted(family)}: wgmma and tcgen05 have matrix descriptors")
    version = number >> 46 & 7
    if family != "tcgen05" and (family is not None or version != Tcgen05Descriptor.version):
        codes = Descriptor._codes(number)
        return Descriptor(**codes | {"swizzle": _SWIZZLE_OF_CODE[codes["swizzle"]]})
    if version != Tcgen05Descriptor.version:
        raise PtxlabError(f"descriptor 0x{number:x}: bits 46-48 are {version}; for tcgen05 they are 1")
    codes = Tcgen05Descriptor._codes(number)
    if codes["swizzle"] not in _TCGEN05_SWIZZLE_OF_CODE:
        raise PtxlabError(
            f"descriptor 0x{number:x}: swizzle code {codes['swizzle']} means nothing; there are "
            f"{listing(map(str, _TCGEN05_SWIZZLE_OF_CODE))}"
        )
    codes["swizzle"], chunk = _TCGEN05_SWIZZLE_OF_CODE[codes["swizzle"]]
    absolute, segment = bool(codes.pop("absolute")), codes.pop("segment")
    del codes["version"]
    return Tcgen05Descriptor(**codes, chunk=chunk, absolute=absolute, segment=1 if segment else 0)


def encode_descriptor(address: int, leading: int, stride: int, swizzle: int, base_offset: int = 0) -> int:
    """The descriptor of a tile, from quantities in bytes.

    >>> hex(encode_descriptor(0x400, leading=128, stride=512, swizzle=64))
    '0x8000002000080040'
    """
    return Descriptor(address, leading, stride, swizzle, base_offset).code
