"""Tags, enumerations and element types of `nvcuda::wmma`, by C++'s names and by PTX's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._util.arguments import is_a
from ..errors import PtxlabError, listing, quoted
from ..isa.dtypes import DType, dtype
from ..isa.mma import Instruction


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
        """Its name in C++."""
        return f"wmma::{self.name}"


matrix_a = Tag("matrix_a", "use")
matrix_b = Tag("matrix_b", "use")
accumulator = Tag("accumulator", "use")
row_major = Tag("row_major", "layout")
col_major = Tag("col_major", "layout")
USES = {tag.name: tag for tag in (matrix_a, matrix_b, accumulator)}
LAYOUTS = {tag.name: tag for tag in (row_major, col_major)}


class layout_t(IntEnum):
    """How an accumulator lies in memory; the other operands have theirs in their type.

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
        """The same type among ptxlab's element types."""
        return dtype(self.name)


class StorageType(NamedTuple):
    """What one storage element is: ``unsigned`` in C++, uint32 in NumPy."""

    cpp: str
    numpy: np.dtype[Any]


class experimental:
    """The namespace `nvcuda::wmma::experimental`."""

    class precision:
        """The sub-byte element types of C++'s `experimental::precision`.

        >>> [str(element) for element in (precision.u4, precision.s4, precision.b1)]
        ['experimental::precision::u4', 'experimental::precision::s4', 'experimental::precision::b1']
        """

        u4 = ElementType("u4", "wmma::experimental::precision::u4")
        s4 = ElementType("s4", "wmma::experimental::precision::s4")
        b1 = ElementType("b1", "wmma::experimental::precision::b1")

    class bmmaBitOp(IntEnum):
        """What b1 does instead of multiplying."""

        bmmaBitOpXOR = 1
        bmmaBitOpAND = 2

    class bmmaAccumulateOp(IntEnum):
        """How b1 adds: there is only the count of set bits."""

        bmmaAccumulateOpPOPC = 1

    bmmaBitOpXOR, bmmaBitOpAND = bmmaBitOp
    bmmaAccumulateOpPOPC = bmmaAccumulateOp.bmmaAccumulateOpPOPC


precision = experimental.precision
bmmaBitOp = experimental.bmmaBitOp
bmmaAccumulateOp = experimental.bmmaAccumulateOp
bmmaBitOpXOR, bmmaBitOpAND = bmmaBitOp
bmmaAccumulateOpPOPC = bmmaAccumulateOp.bmmaAccumulateOpPOPC

#: The element type of accumulators.
INT = ElementType("s32", "int")

#: What names an element type: C++'s tag, the PTX name, C++'s ``int``, or ptxlab's own type.
TypeLike: TypeAlias = ElementType | DType | str | type[int] | type[np.int32] | np.dtype[np.int32]
#: What names a sub-byte wmma: an instruction, its mnemonic, or the element type of A and B.
FormLike: TypeAlias = Instruction | TypeLike
#: What names a bit operation: C++'s enumerator, its number, its name, or PTX's name.
BitOpLike: TypeAlias = experimental.bmmaBitOp | int | str
MemoryLayoutLike: TypeAlias = layout_t | str

_TYPES: dict[object, ElementType] = {
    "s4": precision.s4,
    "u4": precision.u4,
    "b1": precision.b1,
    "s32": INT,
    "int": INT,
    int: INT,
    np.int32: INT,
    np.dtype(np.int32): INT,
}
_BIT_OPS = {bmmaBitOpXOR: "xor", bmmaBitOpAND: "and"}


def spelling(argument: object) -> str:
    """An argument as its author wrote it: tags and enumerators by name."""
    if isinstance(argument, Tag | ElementType | Enum):
        return argument.name
    is_short = isinstance(argument, str) and len(argument) <= 40 and argument.isprintable()
    return str(argument) if is_short else quoted(argument)


def _without_namespaces(name: str) -> str:
    """A name of C++ without the namespaces of wmma.

    >>> _without_namespaces("nvcuda::wmma::experimental::precision::s4")
    's4'
    """
    return re.sub("^(nvcuda::)?(wmma::)?(experimental::)?(precision::)?", "", name)


def element_type(argument: TypeLike) -> ElementType:
    """The element type that a tag, its PTX name or C++'s ``int`` stands for."""
    if isinstance(argument, ElementType):
        return argument
    key = argument.name if isinstance(argument, DType) else argument
    if isinstance(key, str):
        key = _without_namespaces(key)
    try:
        return _TYPES[key]
    except Exception:  # a foreign __hash__ or __eq__ may raise anything
        raise PtxlabError(
            f"type {quoted(key)}: sub-byte wmma has s4, u4 and b1 (wmma.precision) for A and B, "
            "int for accumulators"
        ) from None


def find_tag(argument: Tag | str, tags: Mapping[str, Tag], what: str) -> Tag:
    """A tag itself or by its name."""
    tag = None
    if isinstance(argument, Tag | str):
        tag = tags.get(argument.name if isinstance(argument, Tag) else _without_namespaces(argument))
    if tag is None or (isinstance(argument, Tag) and argument != tag):
        raise PtxlabError(f"{what} {spelling(argument)}: there are {listing(tags)}")
    return tag


def memory_layout(argument: MemoryLayoutLike) -> layout_t:
    """`mem_row_major` or `mem_col_major`, themselves or by name."""
    if isinstance(argument, layout_t):
        return argument
    layout = layout_t.__members__.get(_without_namespaces(argument)) if is_a(argument, str) else None
    if layout is None:
        raise PtxlabError(
            f"layout {spelling(argument)}: an accumulator lies in memory as mem_row_major or mem_col_major"
        )
    return layout


def bit_op(argument: BitOpLike) -> str:
    """PTX's name of a bit operation: "xor" or "and"."""
    if isinstance(argument, str):
        name = _without_namespaces(argument).removeprefix("bmmaBitOp").lower()
        if name in _BIT_OPS.values():
            return name
    elif type(argument) in (int, bmmaBitOp) and argument in (1, 2):
        return _BIT_OPS[bmmaBitOp(argument)]
    raise PtxlabError(f"op {spelling(argument)}: there are bmmaBitOpXOR and bmmaBitOpAND")
