"""tcgen05.ld, .st, .cp and .shift in the Explorer: the words that they move, and where each goes.

An instruction reads A and leaves D; C is what was where D is. Of tcgen05.ld A is tensor memory and D are
registers, of tcgen05.st it is the other way round, tcgen05.cp reads rows of shared memory, and tcgen05.shift
moves words within tensor memory. All are 32-bit words: lanes by columns, threads by registers, or rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.dtypes import DType
from ..isa.tcgen05 import UNPACKED, Tcgen05Transfer
from ..isa.tcgen05.form import element_type
from ..isa.tensor_memory import COLUMNS, LANES
from ..memory import Tcgen05Descriptor
from ..numerics import tensor_memory

Words = NDArray[np.uint32]

_LEAST_COLUMNS = 32  # that tcgen05.alloc allocates
_CORE_ROWS, _CORE_BYTES = 8, 128  # of a core matrix in shared memory


@dataclass(frozen=True)
class Side:
    """What an instruction reads or writes: its letter, what it is, its rows and columns, and when."""

    label: str
    title: str
    axes: tuple[str, str]
    when: str = ""


TENSOR_MEMORY = Side("T", "Tensor memory", ("lane", "column"))
REGISTERS = Side("R", "Registers", ("thread", "register"))
SHARED_MEMORY = Side("S", "Shared memory", ("row", "word"))


def shown_columns(form: Tcgen05Transfer) -> int:
    """Columns of tensor memory that are shown: a power of two, as tcgen05.alloc gives, with some to spare.

    >>> import ptxlab
    >>> shown_columns(ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x32.b32"))
    64
    """
    return min(max(_LEAST_COLUMNS, 1 << form.columns.bit_length()), COLUMNS)


@dataclass(frozen=True, eq=False)
class WordTransfer(ABC):
    """An instruction, the address at which it begins in tensor memory, and all that it reads; never changed.

    >>> import ptxlab
    >>> from ptxlab.explorer.transfer_edits import first_transfer
    >>> transfer = first_transfer(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32"))
    >>> [hex(word) for word in transfer.result[37]]   # words start as their own addresses: lane, column
    ['0x210002', '0x210003', '0x290002', '0x290003']
    """

    source: ClassVar[Side]  # where words come from,
    target: ClassVar[Side]  # and where they go
    keeps_words: ClassVar[bool] = False  # whether some that were there before stay: then there is a C

    form: Tcgen05Transfer
    a: Words
    c: Words | None = None
    lane: int = 0
    column: int = 0
    split: int | None = None  # immHalfSplitoff of 16x32bx2
    element: str = "b32"

    @property
    def sides(self) -> dict[str, Side]:
        """What A, C and D are."""
        before = {"C": self.target} if self.keeps_words else {}
        return {"A": self.source, **before, "D": self.target}

    @property
    def names(self) -> tuple[str, ...]:
        """A, C where there is one, and D."""
        return tuple(self.sides)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those that can be changed: all but D."""
        return self.names[:-1]

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of A, C and D."""
        shapes = {name: self.words(name).shape for name in self.names}
        return {name: (rows, columns) for name, (rows, columns) in shapes.items()}

    @property
    def tensor_columns(self) -> int:
        """Columns of tensor memory that are shown."""
        return shown_columns(self.form)

    @property
    def address(self) -> int:
        """`taddr`: the lane in its upper 16 bits, the column in the lower."""
        return self.lane << 16 | self.column

    @property
    def dtype(self) -> DType:
        """The type that words are read as."""
        return element_type(self.element)

    @property
    def registers(self) -> str:
        """The name of what is in registers, or ""."""
        return next((name for name, side in self.sides.items() if side is REGISTERS), "")

    @property
    def before(self) -> Words:
        """What was where D is; nothing, if nothing of it stays."""
        return np.zeros((0, 0), dtype=np.uint32) if self.c is None else self.c

    @property
    def settings(self) -> tuple[object, ...]:
        """Everything but words: the instruction, its address, and how words are read."""
        return (self.form, self.lane, self.column, self.split, self.element)

    def words(self, name: str) -> Words:
        """A, C or D."""
        if not is_name(name, self.names):
            raise PtxlabError(
                f"{self.form.mnemonic} has no {quoted(name)}; it has {listing(self._described)}"
            )
        if name == "D":
            return self.result
        return self.a if name == "A" else self.before

    @property
    def _described(self) -> list[str]:
        when = {"C": " before"} if self.keeps_words else {}
        return [f"{name} ({side.title.lower()}{when.get(name, '')})" for name, side in self.sides.items()]

    # -- what it does -------------------------------------------------------------------------------------

    @cached_property
    def result(self) -> Words:
        """D."""
        return self._result()

    @abstractmethod
    def _result(self) -> Words: ...

    @cached_property
    def links(self) -> NDArray[np.int32]:
        """The words of A that each word of D comes from, by their flat indices: [words of D, 1 or 2].

        -1 is none: what stays as it was, and metadata.

        >>> import ptxlab
        >>> from ptxlab.explorer.transfer_edits import first_transfer
        >>> transfer = first_transfer(ptxlab.instruction("tcgen05.shift.cta_group::1.down"))
        >>> transfer.links.reshape(128, 32)[29:33, :2].tolist()   # the last of a warp's lanes stays
        [[960, 961], [992, 993], [-1, -1], [-1, -1]]
        """
        return self._links().reshape(self.result.size, -1).astype(np.int32)

    @abstractmethod
    def _links(self) -> NDArray[np.int64]: ...

    @property
    def column_names(self) -> list[str]:
        """The columns of D, where they have names of their own."""
        return []

    def thread_of(self, name: str, row: int, column: int) -> int | None:
        """The thread that has a word in a register, before or after; None where no thread has."""
        return None


class RegisterTransfer(WordTransfer):
    """tcgen05.ld and .st, which every thread of a warpgroup executes."""

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """The word of tensor memory of every element of a thread: [128, registers, parts]."""
        form = self.form
        if form.compresses:
            form = replace(form, reduces=False, compresses=False, reduction="", absolute=False, nan=False,
                           type="b32")  # fmt: skip
        lanes, columns = tensor_memory.places(form, self.address, self.split, self.tensor_columns)
        return (lanes * self.tensor_columns + columns).reshape(LANES, form.registers, -1)

    def thread_of(self, name: str, row: int, column: int) -> int | None:
        """The thread that has a word in a register, before or after; None where no thread has.

        >>> import ptxlab
        >>> from ptxlab.explorer.transfer_edits import first_transfer
        >>> first_transfer(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")).thread_of("A", 41, 3)
        37
        """
        if name == self.registers:
            return row
        threads = np.argwhere(self.slots == row * self.tensor_columns + column)
        return int(threads[0, 0]) if threads.size else None


class LoadTransfer(RegisterTransfer):
    """tcgen05.ld: tensor memory to registers, with what it reduces or keeps of them."""

    source, target = TENSOR_MEMORY, REGISTERS

    @cached_property
    def _loaded(self) -> list[Words]:
        """What it leaves, by kind: metadata, registers, the reduction."""
        form, at = self.form, self.address
        if form.compresses:
            parts = tensor_memory.compress(form, self.a, at)
        elif form.reduces:
            parts = tensor_memory.reduce(form, self.a, at, self.split)
        else:
            parts = (tensor_memory.load(form, self.a, at, self.split),)
        return [part if part.ndim == 2 else part[:, None] for part in parts]

    def _result(self) -> Words:
        return np.concatenate(self._loaded, axis=-1)

    @property
    def column_names(self) -> list[str]:
        """The registers of a thread."""
        counts = [part.shape[-1] for part in self._loaded]
        letters = ("mdata", "cdata", "redval") if self.form.compresses else ("r", "redval")
        return [
            letter if letter == "redval" else f"{letter}{number}"
            for letter, count in zip(letters, counts, strict=False)
            for number in range(count)
        ]

    def _links(self) -> NDArray[np.int64]:
        slots = self.slots
        if not (self.form.reduces or self.form.compresses):
            return slots
        flat, parts = slots[..., 0], list[NDArray[np.int64]]()
        loaded = self.a.reshape(-1)[flat]
        if self.form.compresses:
            metadata, kept = self._loaded[:2]
            numbers = np.arange(kept.shape[-1])
            indices = metadata[:, numbers // 16] >> (2 * (numbers % 16)).astype(np.uint32) & np.uint32(3)
            parts = [np.full(metadata.shape, -1), np.take_along_axis(flat, numbers // 2 * 4 + indices, -1)]
        else:
            parts = [flat]
        if self.form.reduces:  # the first of those that it is equal to; none of a NaN that is another's
            mask = np.uint32(0x7FFFFFFF if self.form.absolute else 0xFFFFFFFF)
            equal = loaded & mask == self._loaded[-1] & mask
            chosen = np.take_along_axis(flat, equal.argmax(axis=-1)[:, None], -1)
            parts.append(np.where(equal.any(axis=-1, keepdims=True), chosen, -1))
        return np.concatenate(parts, axis=-1)


class StoreTransfer(RegisterTransfer):
    """tcgen05.st: registers to tensor memory."""

    source, target, keeps_words = REGISTERS, TENSOR_MEMORY, True

    def _result(self) -> Words:
        return tensor_memory.store(self.form, self.a, self.before, self.address, self.split)

    def _links(self) -> NDArray[np.int64]:
        links = np.full(self.result.size, -1)
        registers = np.arange(self.a.size).reshape(*self.a.shape, 1)
        links[self.slots] = np.broadcast_to(registers, self.slots.shape)
        return links


class CopyTransfer(WordTransfer):
    """tcgen05.cp: rows of shared memory to tensor memory."""

    source, target, keeps_words = SHARED_MEMORY, TENSOR_MEMORY, True

    @property
    def descriptor(self) -> Tcgen05Descriptor:
        """How it finds its rows here: core matrices of 8 rows of 16 bytes, one after the other.

        >>> import ptxlab
        >>> from ptxlab.explorer.transfer_edits import first_transfer
        >>> transfer = first_transfer(ptxlab.instruction("tcgen05.cp.cta_group::1.128x256b"))
        >>> transfer.descriptor.leading, hex(transfer.byte_addresses[9, 5])   # second 16 bytes of rows, row 9
        (2048, '0x894')
        """
        groups = -(-self.a.shape[0] // _CORE_ROWS)
        return Tcgen05Descriptor(address=0, leading=_CORE_BYTES * groups, stride=_CORE_BYTES)

    @property
    def byte_addresses(self) -> NDArray[np.int64]:
        """Where the words that it reads are in shared memory."""
        rows, words = self.a.shape
        return self.descriptor.addresses(np.arange(rows)[:, None], np.arange(words), bits=32)

    def _result(self) -> Words:
        return tensor_memory.copy_rows(self.form, self.a, self.before, self.address)

    def _links(self) -> NDArray[np.int64]:
        """Where elements become bytes, a word has some of one or two words of its 16 bytes."""
        bits = UNPACKED.get(self.form.source, 8)
        word = np.arange(self.a.shape[1])
        first, last = (4 * bits * (word % 4)) // 32, (4 * bits * (word % 4 + 1) - 1) // 32
        index = np.arange(self.a.size).reshape(self.a.shape)
        base = index - word % 4
        plain = replace(self.form, source="")
        nothing = np.full(self.result.shape, 0xFFFFFFFF, dtype=np.uint32)
        placed = tensor_memory.copy_rows(plain, index, nothing, self.address).reshape(-1).astype(np.int64)
        there = placed != 0xFFFFFFFF
        both = np.stack([(base + first).reshape(-1), (base + last).reshape(-1)], axis=-1)
        links = np.where(there[:, None], both[np.where(there, placed, 0)], -1)
        if not self.form.source:
            return links[:, :1]
        links[links[:, 0] == links[:, 1], 1] = -1
        return links


class ShiftTransfer(WordTransfer):
    """tcgen05.shift: 32 lanes of tensor memory, each to the lane before."""

    source, target = replace(TENSOR_MEMORY, when="before"), replace(TENSOR_MEMORY, label="T'", when="after")

    def _result(self) -> Words:
        return tensor_memory.shift(self.form, self.a, self.address)

    def _links(self) -> NDArray[np.int64]:
        links = np.full(self.a.shape, -1)
        before = np.arange(self.a.size).reshape(self.a.shape)
        columns = slice(self.column, self.column + self.form.columns)
        links[self.lane : self.lane + 31, columns] = before[self.lane + 1 : self.lane + 32, columns]
        return links


_CLASSES: dict[str, type[WordTransfer]] = {
    "tcgen05.ld": LoadTransfer,
    "tcgen05.st": StoreTransfer,
    "tcgen05.cp": CopyTransfer,
    "tcgen05.shift": ShiftTransfer,
}


def transfer_class(form: Tcgen05Transfer) -> type[WordTransfer]:
    """What the Explorer shows of an instruction."""
    return _CLASSES[form.family]
