"""Instructions that move data, in the Explorer: what they read, and where each part of it goes.

An instruction reads A and leaves D; C is the previous content of the target, where part of that stays.
`tensor_transfer.py` has the instructions of tensor memory, `matrix_transfer.py` ldmatrix and its kin.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._util.arguments import as_array, as_index, is_name
from ...errors import PtxlabError, error_prefix, listing, quoted
from ...isa.dtypes import DType
from ...isa.operation import AnyOperation
from ...isa.tcgen05.tcgen05_form import element_type
from ...isa.tensor_operand import LANES
from ..cells.parse_cell import parse, parse_register
from .fills import pattern_values, random_range
from .forms import AnyTransfer

Codes = NDArray[Any]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class TransferSide:
    """What an instruction reads or writes: its letter, its title, and the names of its rows and columns.

    `when` is "before" or "after" where source and target are the same memory.
    """

    label: str
    title: str
    axes: tuple[str, str]
    when: str = ""

    @property
    def in_registers(self) -> bool:
        return self.axes[1] == "register"


#: The fills that a transfer takes.
PATTERNS = ("addresses", "counting", "random", "one-hot", "zeros")

#: The types that untyped bits can be read as, by their number.
READ_AS: dict[int, tuple[str, ...]] = {
    32: ("b32", "f32", "s32"),
    16: ("b16", "f16", "bf16"),
    8: ("b8", "u8", "s8", "e4m3", "e5m2"),
    6: ("b6", "e2m3", "e3m2"),
    4: ("b4", "e2m1"),
}


@dataclass(frozen=True, eq=False, repr=False)
class TransferDocument(AnyOperation):
    """An instruction that moves data, where it accesses memory, and all that it reads; immutable.

    >>> import ptxlab
    >>> from ptxlab.explorer.documents.start import first_transfer
    >>> transfer = first_transfer(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32"))
    >>> [hex(word) for word in transfer.result[37]]   # words start as their own addresses: lane, column
    ['0x210002', '0x210003', '0x290002', '0x290003']
    """

    shows_lanes = False
    keeps_target: ClassVar[bool] = False  # whether part of the target stays as it was: that is C
    location_names: ClassVar[tuple[str, ...]]

    ins: AnyTransfer
    a: Codes
    c: Codes | None
    location: tuple[int | None, ...]  # where it accesses memory, one number for each of `location_names`
    element: str  # the type that A, C and D are read as
    seed: int = 0  # of the random words that it started with

    # -- as a document of the Explorer --------------------------------------------------------------------

    def check(self) -> None:
        """Refuse words that do not fit the location."""
        _ = self.result

    @property
    def chips(self) -> tuple[str, str | None]:
        return "", None

    @property
    def available(self) -> tuple[str, ...]:
        return ()

    @property
    def has_result(self) -> bool:
        return True

    def explains(self, row: int, column: int) -> bool:
        return False  # nothing is computed

    # -- A, C and D ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def source_and_target(self) -> tuple[TransferSide, TransferSide]:
        """What A is, and what D is."""

    @property
    def sides(self) -> dict[str, TransferSide]:
        """What A, C and D are."""
        source, target = self.source_and_target
        previous = {"C": target} if self.keeps_target else {}
        return {"A": source, **previous, "D": target}

    @property
    def names(self) -> tuple[str, ...]:
        """A, C where there is one, and D."""
        return tuple(self.sides)

    @property
    def register_names(self) -> tuple[str, ...]:
        return self.names

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of what can be edited: all but D."""
        return self.names[:-1]

    @property
    def arrays(self) -> dict[str, Codes]:
        """What can be edited, by name."""
        return {"A": self.a} if self.c is None else {"A": self.a, "C": self.c}

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of A, C and D."""
        shapes = {name: self.codes(name).shape for name in self.names}
        return {name: (rows, columns) for name, (rows, columns) in shapes.items()}

    @property
    def settings(self) -> tuple[object, ...]:
        """Everything but words: the instruction, where it accesses memory, and how words are read."""
        return (self.ins, self.location, self.element)

    @property
    def elements(self) -> tuple[str, ...]:
        """The types that words can be read as."""
        return READ_AS[32]

    def dtype(self, name: str) -> DType:
        """The type that A, C or D is read as."""
        return element_type(self.element)

    @property
    def threads(self) -> int:
        """The threads that execute it together."""
        return LANES

    @property
    def matrix_in_registers(self) -> str:
        """The first of A, C and D that is in registers, or ""."""
        return next((name for name, side in self.sides.items() if side.in_registers), "")

    def codes(self, name: str) -> Codes:
        """The words or elements of A, C or D."""
        if not is_name(name, self.names):
            described = [
                f"{matrix} ({side.title.lower()}{' before' if matrix == 'C' else ''})"
                for matrix, side in self.sides.items()
            ]
            raise PtxlabError(f"{self.ins.mnemonic} has no {quoted(name)}; it has {listing(described)}")
        return self.result if name == "D" else self.arrays[name]

    def values(self, name: str) -> NDArray[Any]:
        return self.dtype(name).decode(self.codes(name))

    def registers(self, name: str) -> Codes:
        """A, C or D as whole registers where it is in registers, else its codes."""
        return self.codes(name)

    # -- what it does -------------------------------------------------------------------------------------

    @cached_property
    def result(self) -> Codes:
        """The codes of D."""
        return self._result()

    @abstractmethod
    def _result(self) -> Codes: ...

    @cached_property
    def source_cells(self) -> NDArray[np.int32]:
        """The cells of A that each cell of D comes from, as flat indices: [cells of D, 1 or 2].

        -1 is none: the cell keeps its previous content, or it is metadata.

        >>> import ptxlab
        >>> from ptxlab.explorer.documents.start import first_transfer
        >>> transfer = first_transfer(ptxlab.instruction("tcgen05.shift.cta_group::1.down"))
        >>> transfer.source_cells.reshape(128, 32)[29:33, :2].tolist()   # lane 31 keeps its words
        [[960, 961], [992, 993], [-1, -1], [-1, -1]]
        """
        return self._source_cells().reshape(self.result.size, -1).astype(np.int32)

    @abstractmethod
    def _source_cells(self) -> Indices: ...

    def column_names(self, name: str) -> list[str]:
        """The names of the columns of A, C or D; empty where they are numbered."""
        return []

    def groups(self, name: str) -> dict[str, int]:
        """How many columns of A, C or D share a register (group), or how many rows are a matrix (band)."""
        return {}

    def thread_maps(self, name: str) -> dict[str, Indices]:
        """For each cell the thread that holds it in a register, before or after; {} where none does."""
        return {}

    def thread_of(self, name: str, row: int, column: int) -> int | None:
        """The thread that holds a cell in a register, before or after; None where none does.

        >>> import ptxlab
        >>> from ptxlab.explorer.documents.start import first_transfer
        >>> first_transfer(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")).thread_of("A", 41, 3)
        37
        """
        maps = self.thread_maps(name)
        thread = int(maps["lane"][row * self.shapes[name][1] + column]) if maps else -1
        return None if thread < 0 else thread

    # -- the same with something changed ------------------------------------------------------------------

    def with_cell(self, name: str, row: int, column: int, text: str) -> Self:
        """With one word or element as it was typed."""
        codes, side = self._writable(name).copy(), self.sides[name]
        where = f"{side.label}: "
        row = as_index(row, side.axes[0], codes.shape[0], where)
        column = as_index(column, side.axes[1], codes.shape[1], where)
        dtype, word = self.dtype(name), text.strip().lower()
        with error_prefix(f"{side.label}[{row}][{column}]"):
            is_bits = dtype.kind == "bits" or word.startswith(("0x", "0b"))
            codes[row, column] = parse_register(text, dtype.bits) if is_bits else parse(dtype, text)
        return self.with_codes(name, codes)

    def _writable(self, name: str) -> Codes:
        codes = self.codes(name)
        if name == "D":
            raise PtxlabError(
                f"D is what {self.ins.mnemonic} leaves and cannot be changed; change "
                f"{' or '.join(self.inputs)}"
            )
        return codes

    def with_codes(self, name: str, codes: NDArray[Any]) -> Self:
        """With all words or elements of A or C."""
        before = self._writable(name)
        if codes.shape != before.shape:
            raise PtxlabError(f"{name}: found shape {quoted(codes.shape)}; it takes {before.shape}")
        bits = self.dtype(name).bits
        is_integer = codes.dtype.kind in "iu"
        if not is_integer or not -(1 << bits - 1) <= int(codes.min()) <= int(codes.max()) < 1 << bits:
            raise PtxlabError(f"{name}: found {codes.dtype}; it takes {bits}-bit unsigned integers")
        codes = codes.astype(before.dtype) & before.dtype.type((1 << bits) - 1)
        if np.array_equal(codes, before):
            return self
        return replace(self, a=codes) if name == "A" else replace(self, c=codes)

    def with_values(self, name: str, values: NDArray[Any]) -> Self:
        return self.with_codes(name, self.dtype(name).encode(values))

    def with_registers(self, name: str, registers: ArrayLike) -> Self:
        """With all words of A or C; elements in registers are given by those registers."""
        return self.with_codes(name, as_array(registers, name))

    def with_register(self, name: str, thread: int, register: int, text: str) -> Self:
        """With one register, or word of memory, as it was typed."""
        return self.with_cell(name, thread, register, text)

    def with_element(self, element: str) -> Self:
        """With the same words read as another type."""
        if not is_name(element, self.elements):
            raise PtxlabError(f"element {quoted(element)}: words are read as {listing(self.elements)}")
        return replace(self, element=element) if element != self.element else self

    def with_location(self, *location: int | None) -> Self:
        """With accesses elsewhere in memory."""
        location = self._check_location(*location)
        return replace(self, location=location) if location != self.location else self

    @abstractmethod
    def _check_location(self, *location: int | None) -> tuple[int | None, ...]:
        """The location in its canonical form, or a refusal that says which there are."""

    # -- fills --------------------------------------------------------------------------------------------

    def filled(
        self, name: str, pattern: str, random: np.random.Generator, row: int = 0, column: int = 0
    ) -> Self:
        """The same with A or C filled; one-hot puts its 1 at `row`, `column`."""
        if not is_name(name, self.inputs):
            raise PtxlabError(f"{quoted(name)} cannot be filled; fill {listing(self.inputs)}")
        if not is_name(pattern, PATTERNS):
            raise PtxlabError(f"unknown fill {quoted(pattern)}; there are {listing(PATTERNS)}")
        dtype, codes = self.dtype(name), self.codes(name)
        if pattern == "addresses":
            return self.with_codes(name, self._addresses(name))
        if pattern == "random" and dtype.kind == "bits":
            return self.with_codes(name, random.integers(0, 1 << dtype.bits, codes.shape, dtype=codes.dtype))
        limits = (-99, 99) if dtype.bits == 32 else random_range(dtype)
        if pattern == "one-hot":
            row = as_index(row, "row", codes.shape[0])
            column = as_index(column, "column", codes.shape[1])
        values = pattern_values(dtype, self.shapes[name], pattern, random, limits, row, column)
        return self.with_codes(name, dtype.encode(values).astype(codes.dtype))

    def _addresses(self, name: str) -> Codes:
        """Words that state where they are: the row in the upper half, the column in the lower."""
        codes = self.codes(name)
        rows, columns = (np.arange(size, dtype=codes.dtype) for size in codes.shape)
        half = codes.dtype.type(self.dtype(name).bits // 2)
        return np.asarray(rows[:, None] << half | columns)
