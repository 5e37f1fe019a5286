"""Fragments of `nvcuda::wmma` and what a warp does with them: `fill_fragment`, `mma_sync`, `bmma_sync`.

A fragment's layout is that of the PTX instruction's operand, and the arithmetic is the instruction's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int, is_a
from ..errors import PtxlabError, counted, listing, quoted
from ..isa.mma import Instruction
from ..isa.operand import Operand
from ..isa.operation import Operation
from ..numerics.emulate import emulate
from .fragment_forms import form, forms
from .types import (
    INT,
    LAYOUTS,
    USES,
    BitOpLike,
    ElementType,
    StorageType,
    Tag,
    TypeLike,
    accumulator,
    bmmaAccumulateOp,
    bmmaAccumulateOpPOPC,
    bmmaBitOpXOR,
    col_major,
    element_type,
    find_tag,
    matrix_a,
    matrix_b,
    precision,
    row_major,
    spelling,
)

#: C++ leaves a fragment undefined; here every storage element holds this until something is written.
UNDEFINED = 0xDEADBEEF


class fragment:
    """One warp's share of a matrix: `x[lane]` is what a thread sees as ``frag.x``.

    >>> a = fragment(matrix_a, 8, 8, 128, precision.b1, row_major)
    >>> a.num_elements, a.num_storage_elements, a.storage_element_type.cpp
    (32, 1, 'unsigned')
    """

    def __init__(
        self, use: Tag | str, m: int, n: int, k: int, type: TypeLike, layout: Tag | str | None = None
    ) -> None:
        self.use = find_tag(use, USES, "use")
        self.element_type = element_type(type)
        self.m, self.n, self.k = as_int(m, "m"), as_int(n, "n"), as_int(k, "k")
        self.layout = None if layout is None else find_tag(layout, LAYOUTS, "layout")
        ins = self._form()
        self._check_layout()
        self.operand: Operand = {matrix_a: ins.a, matrix_b: ins.b, accumulator: ins.c}[self.use]
        self._registers = np.full((self.operand.lanes, self.operand.registers), UNDEFINED, dtype=np.uint32)

    def _form(self) -> Instruction:
        """Any instruction of this shape and type: all of them share their fragments."""
        element, shape = self.element_type, self.shape
        if (self.use is accumulator) != (element is INT):
            right = "int" if self.use is accumulator else "s4, u4 or b1"
            raise PtxlabError(f"{self.use} of {element}: sub-byte wmma has {self.use} of {right}")
        of_type = [ins for ins in forms() if element.name in (ins.a_type, ins.c_type)]
        for ins in of_type:
            if ins.shape == shape:
                return ins
        shapes = listing(dict.fromkeys(ins.shape for ins in of_type))
        raise PtxlabError(f"{shape} has no {element.name} form; {element.name} comes in {shapes}")

    def _check_layout(self) -> None:
        right = {matrix_a: row_major, matrix_b: col_major, accumulator: None}[self.use]
        if right is None and self.layout is not None:
            raise PtxlabError(
                f"accumulator with {self.layout}: its type has no layout; "
                "load and store take mem_row_major or mem_col_major"
            )
        if self.layout != right:
            declared = f"{self.use} of {self.element_type.name} with {self.layout or 'no layout'}"
            raise PtxlabError(
                f"{declared}: it must be {right}; sub-byte A is always row_major and B always col_major"
            )

    @property
    def shape(self) -> str:
        """``m8n8k32``."""
        return f"m{quoted(self.m)}n{quoted(self.n)}k{quoted(self.k)}"

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
        if self.operand.dtype.signed:
            return StorageType("int", np.dtype(np.int32))
        return StorageType("unsigned", np.dtype(np.uint32))

    @property
    def x(self) -> NDArray[Any]:
        """Storage elements of all lanes, [32, num_storage_elements]; writable, as in C++."""
        return self._registers.view(self.storage_element_type.numpy)

    @x.setter
    def x(self, values: ArrayLike) -> None:
        words = as_array(values, f"x of {self}")
        if words.dtype.kind not in "iu" or words.shape not in (self.x.shape, ()):
            right = f"{self.storage_element_type.cpp} of shape {self.x.shape}"
            raise PtxlabError(f"x of {self}: found {words.dtype} of shape {words.shape}; it takes {right}")
        storage = np.iinfo(self.storage_element_type.numpy)
        outside = (words < np.iinfo(np.int32).min) | (words > np.iinfo(np.uint32).max)
        if outside.any():
            raise PtxlabError(
                f"x of {self}: found {words[outside][0]}; {self.storage_element_type.cpp} holds "
                f"{storage.min}..{storage.max}"
            )
        self._registers[...] = (words.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)

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
        """Whether all registers hold the marker of what was never loaded, filled or written."""
        return bool((self._registers == UNDEFINED).all())

    @property
    def cpp(self) -> str:
        """The type in C++."""
        parts = [self.use.cpp, str(self.m), str(self.n), str(self.k), self.element_type.cpp]
        if self.layout is not None:
            parts.append(self.layout.cpp)
        return f"wmma::fragment<{', '.join(parts)}>"

    def __repr__(self) -> str:
        return self.cpp.replace("wmma::", "")


def check_fragment(frag: fragment, where: str) -> None:
    """Refuse anything but a fragment."""
    if not isinstance(frag, fragment):
        raise PtxlabError(f"{where}: found {type(frag).__name__} where a wmma.fragment belongs")


def fill_fragment(frag: fragment, value: float) -> None:
    """Give every element the same value.

    C++ keeps the low bits of a value that does not fit; here it is an error.

    >>> a = fragment(matrix_a, 8, 8, 32, precision.s4, "row_major")
    >>> fill_fragment(a, -1)
    >>> hex(a.registers[0, 0])
    '0xffffffff'
    """
    check_fragment(frag, "fill_fragment")
    number = as_array(value, "fill_fragment: value")
    if number.ndim:
        raise PtxlabError(
            f"fill_fragment: found an array of shape {number.shape}; "
            "it takes one value, load_matrix_sync takes a matrix"
        )
    try:
        code = frag.operand.dtype.encode(number)
    except PtxlabError as error:
        raise PtxlabError(f"fill_fragment: {error}{_truncation(frag, value)}") from None
    frag.registers[...] = frag.operand.pack_codes(np.broadcast_to(code, frag.operand.shape))


def _truncation(frag: fragment, value: float) -> str:
    """What C++ would keep of a value that does not fit."""
    if not isinstance(value, int | np.integer):
        return ""
    dtype = frag.operand.dtype
    low = dtype.decode(np.uint32(int(value) & (2**dtype.bits - 1)))
    return f" (C++ would keep its low {counted(dtype.bits, 'bit')}: {low})"


def mma_sync(
    d: fragment, a: fragment, b: fragment, c: fragment, satf: bool = False, *, target: str = "sm_90"
) -> None:
    """D = A B + C for s4 and u4. Sums wrap at 32 bits, or saturate with `satf`.

    `target` is the chip that the code is compiled for.

    >>> a = fragment(matrix_a, 8, 8, 32, "s4", "row_major")
    >>> b = fragment(matrix_b, 8, 8, 32, "s4", "col_major")
    >>> c = fragment(accumulator, 8, 8, 32, int)
    >>> for frag, value in ((a, 2), (b, 3), (c, 100)):
    ...     fill_fragment(frag, value)
    >>> mma_sync(c, a, b, c)
    >>> c.matrix[0, :3]
    array([292, 292, 292], dtype=int32)
    """
    element = _check("mma_sync", d, a, b, c)
    if element is precision.b1:
        raise PtxlabError("mma_sync: found b1; single bits take bmma_sync, with bmmaBitOpXOR or bmmaBitOpAND")
    _execute(form(element, satf=satf), target, d, a, b, c, "mma_sync")


def bmma_sync(
    d: fragment,
    a: fragment,
    b: fragment,
    c: fragment,
    op: BitOpLike = bmmaBitOpXOR,
    accumulate: bmmaAccumulateOp | int | str = bmmaAccumulateOpPOPC,
    *,
    target: str = "sm_90",
) -> None:
    """D = popc(A op B) + C for b1: 128-bit rows of A with 128-bit columns of B.

    `target` is the chip that the code is compiled for.

    >>> a = fragment(matrix_a, 8, 8, 128, "b1", "row_major")
    >>> b = fragment(matrix_b, 8, 8, 128, "b1", "col_major")
    >>> c = fragment(accumulator, 8, 8, 128, int)
    >>> for frag, value in ((a, 1), (b, 0), (c, 0)):
    ...     fill_fragment(frag, value)
    >>> bmma_sync(c, a, b, c, bmmaBitOpXOR)
    >>> c.matrix[0, :3]
    array([128, 128, 128], dtype=int32)
    """
    element = _check("bmma_sync", d, a, b, c)
    if element is not precision.b1:
        raise PtxlabError(f"bmma_sync: found {element.name}; it takes b1, s4 and u4 take mma_sync")
    popc = bmmaAccumulateOpPOPC
    if not is_a(accumulate, int, str) or accumulate not in (popc, popc.name):
        raise PtxlabError(
            f"bmma_sync: accumulate={spelling(accumulate)}; "
            "the accumulate operation is always bmmaAccumulateOpPOPC"
        )
    _execute(form(element, op), target, d, a, b, c, "bmma_sync")


def _check(where: str, d: fragment, a: fragment, b: fragment, c: fragment) -> ElementType:
    """The element type of A and B, once all four fragments fit each other."""
    uses = {"d": accumulator, "a": matrix_a, "b": matrix_b, "c": accumulator}
    for (name, use), frag in zip(uses.items(), (d, a, b, c), strict=True):
        if not isinstance(frag, fragment):
            raise PtxlabError(
                f"{where}: {name} is {type(frag).__name__}; it must be a wmma.fragment with use {use}"
            )
        if frag.use is not use:
            raise PtxlabError(f"{where}: {name} is {frag}; its use must be {use}")
    if a.element_type is not b.element_type:
        raise PtxlabError(
            f"{where}: a is {a.element_type.name} and b is {b.element_type.name}; "
            "wmma takes no mixed types, both must be the same"
        )
    for name, frag in (("d", d), ("c", c)):
        if frag.shape != a.shape:
            raise PtxlabError(
                f"{where}: {name} is {frag.shape} and a is {a.shape}; all fragments must have one shape"
            )
    for name, frag in (("a", a), ("b", b), ("c", c)):
        if frag.undefined:
            raise PtxlabError(
                f"{where}: {name} was never filled or loaded, C++ leaves it undefined; "
                "call fill_fragment or load_matrix_sync first"
            )
    return a.element_type


def _execute(
    ins: Instruction, target: str, d: fragment, a: fragment, b: fragment, c: fragment, where: str
) -> None:
    if not ins.supports(target):
        name = f"bmmaBitOp{ins.bit_op.upper()}" if ins.bit_op else ins.a_type
        raise PtxlabError(f"{where}: {target} has no {name}; it needs {ins.targets[0]} or higher")
    d.registers[...] = emulate(Operation.of(ins, a.registers, b.registers, c.registers))
