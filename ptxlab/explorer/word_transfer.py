"""tcgen05.ld, .st, .cp and .shift in the Explorer: the words that they move, and where each goes.

An instruction reads A and leaves D; C is what was where D is. Of tcgen05.ld A is tensor memory and D are
registers, of tcgen05.st it is the other way round, tcgen05.cp reads rows of shared memory, and tcgen05.shift
moves words within tensor memory. All are 32-bit words: lanes by columns, threads by registers, or rows.
A `WordTransfer` is never changed: each change gives another.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_index, as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import tcgen05_forms
from ..isa.dtypes import DType
from ..isa.tcgen05 import UNPACKED, Tcgen05Transfer
from ..isa.tcgen05.form import element_type
from ..isa.tensor_memory import COLUMNS, LANES
from ..memory import Tcgen05Descriptor
from ..numerics import tensor_memory
from .fills import check_seed
from .parse_cell import parse, parse_register

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
    >>> from ptxlab.explorer.word_transfer import first_transfer
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
    def arrays(self) -> dict[str, Words]:
        """The words that can be changed, by name."""
        return {name: self.words(name) for name in self.inputs}

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
        >>> from ptxlab.explorer.word_transfer import first_transfer
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
        >>> from ptxlab.explorer.word_transfer import first_transfer
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
        >>> from ptxlab.explorer.word_transfer import first_transfer
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


def operation(form: Tcgen05Transfer) -> str:
    """What tcgen05.ld does besides loading: ``red.max.f32``; "" for nothing.

    >>> import ptxlab
    >>> operation(ptxlab.instruction("tcgen05.ld.red.sync.aligned.32x32b.x2.max.abs.f32"))
    'red.max.abs.f32'
    """
    if not form.reduction:
        return ""
    flags = [("red", form.reduces), ("spcompress", form.compresses), (form.reduction, True),
             ("abs", form.absolute), ("NaN", form.nan), (form.type, True)]  # fmt: skip
    return ".".join(word for word, there in flags if there)


#: What can be chosen of a form, by the family: a name, and how it is read from a form.
_PARTS: dict[str, dict[str, Callable[[Tcgen05Transfer], str]]] = {
    "tcgen05.ld": {
        "shape": lambda form: form.shape,
        "count": lambda form: f"x{form.count}",
        "pack": lambda form: "pack::16b" if form.pack else "",
        "operation": operation,
    },
    "tcgen05.st": {
        "shape": lambda form: form.shape,
        "count": lambda form: f"x{form.count}",
        "unpack": lambda form: "unpack::16b" if form.pack else "",
    },
    "tcgen05.cp": {
        "cta_group": lambda form: f"cta_group::{form.cta_group}",
        "shape": lambda form: form.shape,
        "multicast": lambda form: form.multicast,
        "source": lambda form: f"b8x16.{form.source}" if form.source else "",
    },
    "tcgen05.shift": {"cta_group": lambda form: f"cta_group::{form.cta_group}"},
}


@lru_cache(maxsize=4)
def _forms(family: str) -> tuple[Tcgen05Transfer, ...]:
    return tuple(form for form in tcgen05_forms(family) if isinstance(form, Tcgen05Transfer))


def choices(form: Tcgen05Transfer) -> dict[str, list[str]]:
    """What can be chosen of an instruction, and the texts of each choice; "" is to leave it out.

    >>> import ptxlab
    >>> choices(ptxlab.instruction("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13"))["multicast"]
    ['', 'warpx2::02_13', 'warpx2::01_23', 'warpx4']
    """
    forms = _forms(form.family)
    return {name: list(dict.fromkeys(map(read, forms))) for name, read in _PARTS[form.family].items()}


def part_names(form: Tcgen05Transfer) -> list[str]:
    """The names of what can be chosen."""
    return list(_PARTS[form.family])


def part_of(form: Tcgen05Transfer, name: str) -> str:
    """What is chosen."""
    return _PARTS[form.family][name](form)


def with_part(form: Tcgen05Transfer, name: str, text: str) -> Tcgen05Transfer:
    """The form with another choice; of those that have it, the one that keeps most of the others.

    >>> import ptxlab
    >>> with_part(ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x128.b32"), "shape", "16x256b").mnemonic
    'tcgen05.ld.sync.aligned.16x256b.x32.b32'
    """
    parts = _PARTS[form.family]
    candidates = [each for each in _forms(form.family) if parts[name](each) == text]
    if not candidates:
        there = listing([word for word in choices(form)[name] if word], 30)
        raise PtxlabError(f"{name} {quoted(text)}: {form.family} has {there}")

    def likeness(each: Tcgen05Transfer) -> tuple[int, float]:
        same = sum(read(each) == read(form) for other, read in parts.items() if other not in (name, "count"))
        ratio = max(each.count, form.count) / min(each.count, form.count)
        return same, -ratio

    return max(candidates, key=likeness)


PATTERNS = ("addresses", "counting", "random", "one-hot", "zeros")
ELEMENTS = ("b32", "f32", "s32")  # how words can be read


def first_transfer(
    form: Tcgen05Transfer, address: int = 0, split: int | None = None, seed: int = 0
) -> WordTransfer:
    """What the Explorer starts with: words that are their own addresses; numbers, where they are compared."""
    number = as_int(address, "address")
    if not 0 <= number < 1 << 32:
        raise PtxlabError(f"address {quoted(number)}: it has 32 bits, the lane in the upper 16")
    kind = transfer_class(form)
    element = form.type if form.reduction and form.type in ELEMENTS else "b32"
    before = np.zeros(_shape(kind.target, form), dtype=np.uint32) if kind.keeps_words else None
    zeros = np.zeros(_shape(kind.source, form), dtype=np.uint32)
    transfer = kind(form, zeros, before, element=element)
    pattern = "random" if form.reduction else "addresses"
    words = filled(transfer, "A", pattern, np.random.default_rng(check_seed(seed)))
    return placed(replace(transfer, a=words), number >> 16, number & 0xFFFF, split)


def _shape(side: Side, form: Tcgen05Transfer) -> tuple[int, int]:
    """Rows and columns of what an instruction reads or writes."""
    if side is REGISTERS:
        return LANES, form.registers
    if side is SHARED_MEMORY:
        rows, words = replace(form, source="").tensor("T").shape
        return rows, words
    return LANES, shown_columns(form)


# -- where it begins -------------------------------------------------------------------------------------


def placed(transfer: WordTransfer, lane: int, column: int, split: int | None) -> WordTransfer:
    """The same at another address, or a refusal that says which there are."""
    form, columns = transfer.form, transfer.tensor_columns
    lane, column = as_int(lane, "lane"), as_int(column, "column")
    allowed = first_lanes(form)
    if lane not in allowed:
        where = "it begins in lane " + " or ".join(map(str, allowed))
        raise PtxlabError(f"lane {quoted(lane)}: {where}{_of_warp(form)}")
    most = most_column(form, split)
    if not 0 <= column <= most:
        raise PtxlabError(
            f"column {quoted(column)}: {form.mnemonic} takes {form.columns} of the {columns} columns shown; "
            f"it begins in column 0 to {most}"
        )
    if split is not None:
        split = as_int(split, "split")
        if form.shape != "16x32bx2":
            raise PtxlabError(f"split {quoted(split)}: only 16x32bx2 reads or writes two places")
        farthest = columns - column - form.columns // 2
        if not 0 <= split <= farthest:
            raise PtxlabError(
                f"split {quoted(split)}: the second half is 0 to {farthest} columns after the first"
            )
    return replace(transfer, lane=lane, column=column, split=split)


def first_lanes(form: Tcgen05Transfer) -> tuple[int, ...]:
    """Lanes in which an address may begin: of ld and st among each warp's 32."""
    if transfer_class(form) is ShiftTransfer:
        return (0, 32, 64, 96)
    return (0, 16) if form.threads == 32 and form.shape != "32x32b" else (0,)


def most_column(form: Tcgen05Transfer, split: int | None) -> int:
    """The last column in which it can begin."""
    taken = form.columns if split is None else form.columns // 2
    return shown_columns(form) - taken


def _of_warp(form: Tcgen05Transfer) -> str:
    return " of each warp's 32" if form.threads == 32 else ""


# -- fills ---------------------------------------------------------------------------------------------------


def filled(
    transfer: WordTransfer,
    name: str,
    pattern: str,
    random: np.random.Generator,
    row: int = 0,
    column: int = 0,
) -> Words:
    """The words of a fill; one-hot puts its 1 at `row`, `column`."""
    if not is_name(name, transfer.inputs):
        raise PtxlabError(f"{quoted(name)} cannot be filled; fill {listing(transfer.inputs)}")
    if not is_name(pattern, PATTERNS):
        raise PtxlabError(f"unknown fill {quoted(pattern)}; there are {listing(PATTERNS)}")
    shape = transfer.words(name).shape
    if pattern == "addresses":
        return _addresses(transfer, name)
    if pattern == "zeros":
        return np.zeros(shape, dtype=np.uint32)
    if pattern == "one-hot":
        words = np.zeros(shape, dtype=np.uint32)
        at = as_index(row, "row", shape[0]), as_index(column, "column", shape[1])
        words[at] = np.uint32(transfer.dtype.encode(1.0))
        return words
    if pattern == "random" and transfer.element == "b32":
        return random.integers(0, 1 << 32, shape, dtype=np.uint32)
    numbers = np.arange(shape[0] * shape[1]).reshape(shape)
    if pattern == "random":
        numbers = random.integers(-99, 100, shape)
    return transfer.dtype.encode(numbers.astype(np.float64)).astype(np.uint32)


def _addresses(transfer: WordTransfer, name: str) -> Words:
    """Words that say where they are: a row in the upper half and a column in the lower.

    Where the instruction moves halves, each half is such an address in 8 and 8 bits; of packed elements all
    are counted.
    """
    shape = transfer.words(name).shape
    rows, columns = (np.arange(size, dtype=np.uint32) for size in shape)
    if name == "A" and transfer.form.source:
        return _packed_elements(shape, UNPACKED[transfer.form.source])
    if name == "A" and transfer.form.pack:
        in_registers = transfer.registers == "A"  # then each register has the halves of two columns
        low = rows[:, None] << np.uint32(8) | (2 * columns if in_registers else columns)
        high = low + np.uint32(1) if in_registers else low
        return high << np.uint32(16) | low
    return rows[:, None] << np.uint32(16) | columns


def _packed_elements(shape: tuple[int, ...], bits: int) -> Words:
    """Rows in which the 16 elements of every 16 bytes are counted, with the padding that cp skips."""
    rows, groups = shape[0], shape[1] // 4
    elements = (np.arange(rows)[:, None] + np.arange(16 * groups)) % (1 << bits)
    ones = (elements[..., None] >> np.arange(bits) & 1).astype(np.uint8).reshape(rows, groups, 16 * bits)
    padded = np.pad(ones, ((0, 0), (0, 0), (0, 128 - 16 * bits)))
    data = np.packbits(padded, axis=-1, bitorder="little").reshape(rows, -1)
    return np.ascontiguousarray(data).view("<u4").astype(np.uint32)


# -- words -----------------------------------------------------------------------------------------------


def with_word(transfer: WordTransfer, name: str, row: int, column: int, text: str) -> WordTransfer:
    """One word as it was typed."""
    words = _writable(transfer, name).copy()
    side = transfer.sides[name]
    at = f"{side.label}: "
    row = as_index(row, side.axes[0], words.shape[0], at)
    column = as_index(column, side.axes[1], words.shape[1], at)
    try:
        words[row, column] = _word(transfer, text)
    except PtxlabError as error:
        raise PtxlabError(f"{side.label}[{row}][{column}]: {error}") from None
    return with_words(transfer, name, words)


def _word(transfer: WordTransfer, text: str) -> int:
    """A word as it is typed: bits in hexadecimal, or a number of the type that words are read as."""
    word = text.strip().lower()
    if transfer.element == "b32" or word.startswith(("0x", "0b")):
        return parse_register(text, 32)
    return parse(transfer.dtype, text)


def _writable(transfer: WordTransfer, name: str) -> Words:
    words = transfer.words(name)
    if name == "D":
        raise PtxlabError(
            f"D is what {transfer.form.mnemonic} leaves and cannot be changed; change "
            f"{' or '.join(transfer.inputs)}"
        )
    return words


def with_words(transfer: WordTransfer, name: str, words: NDArray[Any]) -> WordTransfer:
    """All words of A or C."""
    before = _writable(transfer, name)
    if words.shape != before.shape:
        raise PtxlabError(f"{name}: found shape {quoted(words.shape)}; it takes {before.shape}")
    is_integer = words.dtype.kind in "iu"
    if not is_integer or not -(1 << 31) <= int(words.min()) <= int(words.max()) < 1 << 32:
        raise PtxlabError(f"{name}: found {words.dtype}; it takes 32-bit unsigned integers")
    words = words.astype(np.uint32)
    return replace(transfer, a=words) if name == "A" else replace(transfer, c=words)


def with_element(transfer: WordTransfer, element: str) -> WordTransfer:
    """The same words read as another type; those that are compared have one already."""
    if transfer.form.reduction or not is_name(element, ELEMENTS):
        allowed = transfer.element if transfer.form.reduction else listing(ELEMENTS)
        raise PtxlabError(f"element {quoted(element)}: words are read as {allowed}")
    return replace(transfer, element=element)


def with_form(transfer: WordTransfer, form: Tcgen05Transfer, seed: int) -> WordTransfer:
    """Another instruction with the words that both have; the address stays if it can."""
    before, after = first_transfer(transfer.form, seed=seed), first_transfer(form, seed=seed)
    if type(transfer) is type(after):
        if not form.reduction:
            after = replace(after, element=transfer.element)
        if (transfer.a != before.a).any():
            after = replace(after, a=_overlaid(after.a, transfer.a))
        if transfer.before.any():
            after = replace(after, c=_overlaid(after.before, transfer.before))
    lane, column, split = transfer.lane, transfer.column, transfer.split
    for place in ((lane, column, split), (0, column, None), (0, 0, None)):
        with contextlib.suppress(PtxlabError):
            return placed(after, *place)
    return after


def _overlaid(words: Words, earlier: Words) -> Words:
    rows, columns = (min(pair) for pair in zip(words.shape, earlier.shape, strict=True))
    result = words.copy()
    result[:rows, :columns] = earlier[:rows, :columns]
    return result


def same_transfer(one: WordTransfer, other: WordTransfer) -> bool:
    """Whether two are the same, to the last word."""
    same_words = np.array_equal(one.a, other.a) and np.array_equal(one.before, other.before)
    return one.settings == other.settings and same_words
