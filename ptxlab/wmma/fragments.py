"""Tags and fragments of `nvcuda::wmma`. A fragment's layout is that of the PTX instruction's operand, stated nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError, listing
from ..isa.catalog import mma_forms
from ..isa.dtypes import DType, dtype
from ..isa.mma import MmaForm
from ..isa.operand import Operand
from ..isa.parse import parse_mma

__all__ = ["ElementType", "StorageType", "Tag", "experimental", "fragment", "layout_t", "row", "said"]


@dataclass(frozen=True)
class Tag:
    """One of the empty structs that C++ passes as template arguments: ``matrix_a``, ``row_major``.

    >>> str(matrix_a), matrix_a.cpp, matrix_a.kind
    ('matrix_a', 'wmma::matrix_a', 'use')
    """

    name: str
    kind: str

    def __str__(self) -> str:
        return self.name

    @property
    def cpp(self) -> str:
        return f"wmma::{self.name}"


matrix_a, matrix_b, accumulator = (Tag(name, "use") for name in ("matrix_a", "matrix_b", "accumulator"))
row_major, col_major = (Tag(name, "layout") for name in ("row_major", "col_major"))
_USES = {tag.name: tag for tag in (matrix_a, matrix_b, accumulator)}
_LAYOUTS = {tag.name: tag for tag in (row_major, col_major)}


class layout_t(IntEnum):
    """How an accumulator lies in memory; the other operands carry theirs in their type.

    >>> layout_t.mem_col_major.name, int(layout_t.mem_col_major)
    ('mem_col_major', 1)
    """

    mem_row_major = 0
    mem_col_major = 1


mem_row_major, mem_col_major = layout_t


@dataclass(frozen=True)
class ElementType:
    """Element type of a fragment: its PTX name and its C++ spelling.

    >>> precision.s4.name, precision.s4.cpp, precision.s4.dtype.bits
    ('s4', 'wmma::experimental::precision::s4', 4)
    """

    name: str
    cpp: str

    def __str__(self) -> str:
        return self.cpp.removeprefix("wmma::")

    @property
    def dtype(self) -> DType:
        return dtype(self.name)


class StorageType(NamedTuple):
    """What one storage element is: ``unsigned`` in C++, uint32 in NumPy.

    >>> fragment(matrix_a, 8, 8, 32, precision.s4, row_major).storage_element_type
    StorageType(cpp='int', numpy=dtype('int32'))
    """

    cpp: str
    numpy: np.dtype[Any]


class experimental:
    """The namespace `nvcuda::wmma::experimental`.

    >>> experimental.precision.b1 is precision.b1
    True
    """

    class precision:
        """The sub-byte element types, as C++ has them in `experimental::precision`.

        >>> [str(kind) for kind in (precision.u4, precision.s4, precision.b1)]
        ['experimental::precision::u4', 'experimental::precision::s4', 'experimental::precision::b1']
        """

        u4 = ElementType("u4", "wmma::experimental::precision::u4")
        s4 = ElementType("s4", "wmma::experimental::precision::s4")
        b1 = ElementType("b1", "wmma::experimental::precision::b1")

    class bmmaBitOp(IntEnum):
        """What b1 does instead of multiplying.

        >>> [op.name for op in bmmaBitOp]
        ['bmmaBitOpXOR', 'bmmaBitOpAND']
        """

        bmmaBitOpXOR = 1
        bmmaBitOpAND = 2

    class bmmaAccumulateOp(IntEnum):
        """How b1 adds: there is only the count of set bits.

        >>> [op.name for op in bmmaAccumulateOp]
        ['bmmaAccumulateOpPOPC']
        """

        bmmaAccumulateOpPOPC = 1

    bmmaBitOpXOR, bmmaBitOpAND = bmmaBitOp
    bmmaAccumulateOpPOPC = bmmaAccumulateOp.bmmaAccumulateOpPOPC


precision = experimental.precision
bmmaBitOp, bmmaAccumulateOp = experimental.bmmaBitOp, experimental.bmmaAccumulateOp
bmmaBitOpXOR, bmmaBitOpAND = bmmaBitOp
bmmaAccumulateOpPOPC = bmmaAccumulateOp.bmmaAccumulateOpPOPC

_INT = ElementType("s32", "int")
_SUB_BYTE = {kind.name: kind for kind in (precision.s4, precision.u4, precision.b1)}
_TYPES: dict[Any, ElementType] = {
    **_SUB_BYTE,
    "s32": _INT,
    "int": _INT,
    int: _INT,
    np.int32: _INT,
    np.dtype(np.int32): _INT,
}

#: C++ leaves a fragment undefined; here every storage element holds this until something is written.
UNDEFINED = 0xDEADBEEF


def said(given: Any) -> str:
    """An argument as its author wrote it: enumerators by name."""
    return str(getattr(given, "name", given))


def element_type(given: Any) -> ElementType:
    """The element type that a tag, its PTX name or C++'s ``int`` stands for."""
    if isinstance(given, ElementType):
        return given
    if isinstance(given, DType):
        given = given.name
    try:
        return _TYPES[given]
    except (KeyError, TypeError):
        raise PtxlabError(
            f"type {given!r}: sub-byte wmma has s4, u4 and b1 (wmma.precision) for A and B, int for accumulators"
        ) from None


def tag(given: Any, kind: dict[str, Tag], what: str) -> Tag:
    """A tag itself or by its name."""
    found = given if isinstance(given, Tag) else kind.get(str(given).removeprefix("wmma::"))
    if found not in kind.values():
        raise PtxlabError(f"{what} {said(given)}: there are {listing(kind)}")
    return found  # type: ignore[return-value]


def memory_layout(given: Any) -> layout_t:
    """`mem_row_major` or `mem_col_major`, themselves or by name."""
    if isinstance(given, str) and given in layout_t.__members__:
        return layout_t[given]
    if not isinstance(given, layout_t):
        raise PtxlabError(
            f"layout {said(given)}: an accumulator lies in memory as mem_row_major or mem_col_major"
        )
    return given


def rows() -> tuple[MmaForm, ...]:
    """The sub-byte rows of the catalogue."""
    return tuple(ins for ins in mma_forms("wmma") if ins.a.dtype.bits < 8)


def row(given: Any, op: Any = None, satf: bool = False) -> MmaForm:
    """The PTX instruction that a type with its bit operation or saturation stands for; an instruction or its text stays itself.

    >>> row("b1", bmmaBitOpAND).mnemonic
    'wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32'
    """
    if isinstance(given, MmaForm) or (isinstance(given, str) and given.startswith("wmma.")):
        ins = parse_mma(given)
        if ins not in rows():
            raise PtxlabError(
                f"{ins.mnemonic} is no sub-byte wmma: those are m8n8k32 of s4 and u4, m8n8k128 of b1"
            )
        if (op is not None and bit_op(op) != ins.bit_op) or (satf and not ins.satfinite):
            raise PtxlabError(
                f"op={said(op)}, satf={satf}: {ins.mnemonic} says otherwise; leave them out where an instruction is given"
            )
        return ins
    kind = element_type(given)
    if kind is _INT:
        raise PtxlabError("type int is that of accumulators; A and B are s4, u4 or b1")
    bits = kind is precision.b1
    if not bits and op is not None:
        raise PtxlabError(f"op={said(op)}: only b1 takes a bit operation, {kind.name} multiplies")
    if bits and satf:
        raise PtxlabError("satf=True: bmma_sync has no saturation, .satfinite exists for s4 and u4 only")
    wanted = bit_op(bmmaBitOpXOR if op is None else op) if bits else None
    return next(
        ins
        for ins in rows()
        if ins.a_type == kind.name and ins.bit_op == wanted and ins.satfinite == bool(satf)
    )


def bit_op(given: Any) -> str:
    """PTX's name of a `bmmaBitOp`, given as such, as number or as name."""
    names = {bmmaBitOpXOR: "xor", bmmaBitOpAND: "and"}
    if isinstance(given, str) and given.removeprefix("bmmaBitOp").lower() in names.values():
        return given.removeprefix("bmmaBitOp").lower()
    if isinstance(given, bool) or not isinstance(given, int) or given not in list(bmmaBitOp):
        raise PtxlabError(f"op {said(given)}: there are bmmaBitOpXOR and bmmaBitOpAND")
    return names[bmmaBitOp(given)]


class fragment:
    """One warp's share of a matrix: `x[lane]` is what a thread sees as ``frag.x``.

    >>> a = fragment(matrix_a, 8, 8, 128, precision.b1, row_major)
    >>> a.num_elements, a.num_storage_elements, a.storage_element_type.cpp
    (32, 1, 'unsigned')
    """

    def __init__(
        self, use: Tag | str, m: int, n: int, k: int, type: Any, layout: Tag | str | None = None
    ) -> None:
        self.use = tag(use, _USES, "use")
        self.element_type = element_type(type)
        self.m, self.n, self.k = m, n, k
        self.layout = None if layout is None else tag(layout, _LAYOUTS, "layout")
        ins = self._row()
        self._check_layout()
        self.operand: Operand = {matrix_a: ins.a, matrix_b: ins.b, accumulator: ins.c}[self.use]
        self._registers = np.full((self.operand.lanes, self.operand.registers), UNDEFINED, dtype=np.uint32)

    def _row(self) -> MmaForm:
        """Any instruction of this shape and type: all of them share their fragments."""
        kind, shape = self.element_type, self.shape
        if (self.use is accumulator) != (kind is _INT):
            right = "int" if self.use is accumulator else "s4, u4 or b1"
            raise PtxlabError(f"{self.use} of {kind}: sub-byte wmma has {self.use} of {right}")
        fits = [ins for ins in rows() if kind.name in (ins.a_type, ins.c_type)]
        for ins in fits:
            if ins.shape == shape:
                return ins
        raise PtxlabError(
            f"{shape} has no {kind.name} form; {kind.name} comes in {listing(dict.fromkeys(ins.shape for ins in fits))}"
        )

    def _check_layout(self) -> None:
        right = {matrix_a: row_major, matrix_b: col_major, accumulator: None}[self.use]
        if right is None and self.layout is not None:
            raise PtxlabError(
                f"accumulator with {self.layout}: its type has no layout; load and store take mem_row_major or mem_col_major"
            )
        if self.layout is not right:
            found = f"{self.use} of {self.element_type.name} with {self.layout or 'no layout'}"
            raise PtxlabError(
                f"{found}: it must be {right}; sub-byte A is always row_major and B always col_major"
            )

    @property
    def shape(self) -> str:
        """``m8n8k32``."""
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def num_elements(self) -> int:
        """Elements that one thread holds."""
        return self.num_storage_elements * self.operand.elements_per_register

    @property
    def num_storage_elements(self) -> int:
        """Length of ``x`` in one thread: smaller than `num_elements` where elements are packed."""
        return self.operand.registers

    @property
    def storage_element_type(self) -> StorageType:
        """u4, b1 -> unsigned; s4, int -> int."""
        signed = self.operand.dtype.signed
        return StorageType("int" if signed else "unsigned", np.dtype(np.int32 if signed else np.uint32))

    @property
    def x(self) -> NDArray[Any]:
        """Storage elements of all lanes, [32, num_storage_elements]; writable, as in C++."""
        return self._registers.view(self.storage_element_type.numpy)

    @x.setter
    def x(self, values: ArrayLike) -> None:
        found = np.asarray(values)
        if found.dtype.kind not in "iu" or found.shape not in (self.x.shape, ()):
            right = f"{self.storage_element_type.cpp} of shape {self.x.shape}"
            raise PtxlabError(f"x of {self}: found {found.dtype} of shape {found.shape}; it takes {right}")
        self._registers[...] = (found.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)

    @property
    def registers(self) -> NDArray[np.uint32]:
        """The same storage as unsigned 32-bit registers, as `Instruction.emulate` takes them."""
        return self._registers

    @property
    def matrix(self) -> NDArray[Any]:
        """The values of the whole matrix that the warp holds together."""
        return self.operand.unpack(self._registers)

    @property
    def undefined(self) -> bool:
        """Whether nothing was loaded, filled or written yet."""
        return bool((self._registers == UNDEFINED).all())

    @property
    def cpp(self) -> str:
        """The type in C++."""
        parts = [self.use.cpp, str(self.m), str(self.n), str(self.k), self.element_type.cpp]
        return f"wmma::fragment<{', '.join(parts + ([self.layout.cpp] if self.layout else []))}>"

    def __repr__(self) -> str:
        return self.cpp.replace("wmma::", "")
