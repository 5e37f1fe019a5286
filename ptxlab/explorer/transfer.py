"""Instructions that move words or elements, in the Explorer: what they read, and where each part of it goes.

An instruction reads A and leaves D; C is what was where D is, if some of it stays. Of tcgen05.ld A is tensor
memory and D are registers, of tcgen05.st it is the other way round, tcgen05.cp reads rows of shared memory,
and tcgen05.shift moves words within tensor memory: all of them 32-bit words. ldmatrix, stmatrix, movmatrix,
wmma.load and wmma.store move elements between rows of memory and the registers of a warp.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_index, as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import tcgen05_forms, transfer_forms
from ..isa.dtypes import DType
from ..isa.operation import AnyOperation
from ..isa.tcgen05 import UNPACKED, Tcgen05Transfer
from ..isa.tcgen05.form import element_type
from ..isa.tensor_memory import COLUMNS, LANES
from ..isa.transfer import TransferForm
from ..memory import Tcgen05Descriptor
from ..numerics import tcgen05_transfer
from ..numerics.transfer import emulate, pack_row, unpack_row
from .fills import check_seed, random_range
from .parse_cell import parse, parse_register

AnyTransfer: TypeAlias = Tcgen05Transfer | TransferForm
Codes = NDArray[Any]
Links = NDArray[np.int64]

_MIN_COLUMNS = 32  # that tcgen05.alloc allocates
_CORE_ROWS, _CORE_BYTES = 8, 128  # of a core matrix in shared memory


@dataclass(frozen=True)
class TransferSide:
    """What an instruction reads or writes: its letter, what it is, its rows and columns, and when."""

    label: str
    title: str
    axes: tuple[str, str]
    when: str = ""


TENSOR_MEMORY = TransferSide("T", "Tensor memory", ("lane", "column"))
REGISTERS = TransferSide("R", "Registers", ("thread", "register"))
SHARED_MEMORY = TransferSide("S", "Shared memory", ("row", "word"))


PATTERNS = ("addresses", "counting", "random", "one-hot", "zeros")

#: How bits without a type can be read, by their number.
_READ_AS: dict[int, tuple[str, ...]] = {
    32: ("b32", "f32", "s32"),
    16: ("b16", "f16", "bf16"),
    8: ("b8", "u8", "s8", "e4m3", "e5m2"),
    6: ("b6", "e2m3", "e3m2"),
    4: ("b4", "e2m1"),
}


@dataclass(frozen=True, eq=False, repr=False)
class TransferOperation(AnyOperation):
    """An instruction that moves something, where it begins in memory, and all that it reads; never changed.

    >>> import ptxlab
    >>> transfer = first_transfer(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32"))
    >>> [hex(word) for word in transfer.result[37]]   # words start as their own addresses: lane, column
    ['0x210002', '0x210003', '0x290002', '0x290003']
    """

    keeps_words: ClassVar[bool] = False  # whether some that were there before stay: then there is a C
    at_names: ClassVar[tuple[str, ...]]

    ins: AnyTransfer
    a: Codes
    c: Codes | None
    at: tuple[int | None, ...]  # where it begins
    element: str  # the type that A, C and D are read as

    # -- what there is ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def ends(self) -> tuple[TransferSide, TransferSide]:
        """Where words come from, and where they go."""

    @property
    def sides(self) -> dict[str, TransferSide]:
        """What A, C and D are."""
        source, target = self.ends
        before = {"C": target} if self.keeps_words else {}
        return {"A": source, **before, "D": target}

    @property
    def names(self) -> tuple[str, ...]:
        """A, C where there is one, and D."""
        return tuple(self.sides)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Those that can be changed: all but D."""
        return self.names[:-1]

    @property
    def arrays(self) -> dict[str, Codes]:
        """What can be changed, by name."""
        return {"A": self.a} if self.c is None else {"A": self.a, "C": self.c}

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        """Rows and columns of A, C and D."""
        shapes = {name: self.codes(name).shape for name in self.names}
        return {name: (rows, columns) for name, (rows, columns) in shapes.items()}

    @property
    def settings(self) -> tuple[object, ...]:
        """Everything but words: the instruction, where it begins, and how words are read."""
        return (self.ins, self.at, self.element)

    @property
    def elements(self) -> tuple[str, ...]:
        """The types that words can be read as."""
        return _READ_AS[32]

    def dtype(self, name: str) -> DType:
        """The type that A, C or D is read as."""
        return element_type(self.element)

    @property
    def threads(self) -> int:
        """The threads that execute it together."""
        return LANES

    @property
    def in_registers(self) -> str:
        """The name of what is in registers, or ""."""
        return next((name for name, side in self.sides.items() if side.axes[1] == "register"), "")

    def codes(self, name: str) -> Codes:
        """The words or elements of A, C or D."""
        if not is_name(name, self.names):
            when = {"C": " before"}
            described = [
                f"{each} ({side.title.lower()}{when.get(each, '')})" for each, side in self.sides.items()
            ]
            raise PtxlabError(f"{self.ins.mnemonic} has no {quoted(name)}; it has {listing(described)}")
        return self.result if name == "D" else self.arrays[name]

    def registers(self, name: str) -> Codes:
        """A, C or D as words, where they are in registers."""
        return self.codes(name)

    # -- what it does -------------------------------------------------------------------------------------

    @cached_property
    def result(self) -> Codes:
        """D."""
        return self._result()

    @abstractmethod
    def _result(self) -> Codes: ...

    @cached_property
    def links(self) -> NDArray[np.int32]:
        """The cells of A that each cell of D comes from, by their flat indices: [cells of D, 1 or 2].

        -1 is none: what stays as it was, and metadata.

        >>> import ptxlab
        >>> transfer = first_transfer(ptxlab.instruction("tcgen05.shift.cta_group::1.down"))
        >>> transfer.links.reshape(128, 32)[29:33, :2].tolist()   # the last of a warp's lanes stays
        [[960, 961], [992, 993], [-1, -1], [-1, -1]]
        """
        return self._links().reshape(self.result.size, -1).astype(np.int32)

    @abstractmethod
    def _links(self) -> Links: ...

    def column_names(self, name: str) -> list[str]:
        """The columns of A, C or D, where they have names of their own."""
        return []

    def groups(self, name: str) -> dict[str, int]:
        """Columns of A, C or D that share a register (group), rows of one matrix (band); {} for neither."""
        return {}

    def thread_maps(self, name: str) -> dict[str, Links]:
        """Of each cell: the thread that has it in a register, before or after; nothing where none has."""
        return {}

    def thread_of(self, name: str, row: int, column: int) -> int | None:
        """The thread that has a cell in a register, before or after; None where no thread has.

        >>> import ptxlab
        >>> first_transfer(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")).thread_of("A", 41, 3)
        37
        """
        maps = self.thread_maps(name)
        thread = int(maps["lane"][row * self.shapes[name][1] + column]) if maps else -1
        return None if thread < 0 else thread

    # -- changed: each gives another ----------------------------------------------------------------------

    def with_cell(self, name: str, row: int, column: int, text: str) -> Self:
        """One word or element as it was typed."""
        codes, side = self._writable(name).copy(), self.sides[name]
        at = f"{side.label}: "
        row = as_index(row, side.axes[0], codes.shape[0], at)
        column = as_index(column, side.axes[1], codes.shape[1], at)
        dtype, word = self.dtype(name), text.strip().lower()
        try:
            is_bits = dtype.kind == "bits" or word.startswith(("0x", "0b"))
            codes[row, column] = parse_register(text, dtype.bits) if is_bits else parse(dtype, text)
        except PtxlabError as error:
            raise PtxlabError(f"{side.label}[{row}][{column}]: {error}") from None
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
        """All words or elements of A or C."""
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

    def with_registers(self, name: str, registers: ArrayLike) -> Self:
        """All words of A or C; of elements in registers, those registers."""
        return self.with_codes(name, as_array(registers, name))

    def with_register(self, name: str, thread: int, register: int, text: str) -> Self:
        """One register, or word of memory, as it was typed."""
        return self.with_cell(name, thread, register, text)

    def with_element(self, element: str) -> Self:
        """The same words read as another type; those that are compared have one already."""
        if not is_name(element, self.elements):
            raise PtxlabError(f"element {quoted(element)}: words are read as {listing(self.elements)}")
        return replace(self, element=element) if element != self.element else self

    def placed(self, *at: int | None) -> Self:
        """The same at another address, or a refusal that says which there are."""
        at = self._checked(*at)
        return replace(self, at=at) if at != self.at else self

    @abstractmethod
    def _checked(self, *at: int | None) -> tuple[int | None, ...]: ...

    def with_choice(self, name: str, text: str, seed: int) -> TransferOperation:
        """Another part of the instruction, or of where it begins, as it was chosen or typed."""
        if name in self.at_names:
            is_left_out = name == "split" and not text
            at = dict(zip(self.at_names, self.at, strict=True))
            return self.placed(*(at | {name: None if is_left_out else _number(name, text)}).values())
        if name == "element":
            return self.with_element(text)
        parts = PARTS[self.ins.family]
        if not is_name(name, parts):
            names = listing([*parts, *self.at_names, "element"])
            raise PtxlabError(f"{self.ins.mnemonic} has no {quoted(name)} to choose; it has {names}")
        return self.with_form(with_part(self.ins, name, text), seed)

    def with_form(self, ins: AnyTransfer, seed: int) -> TransferOperation:
        """Another instruction with the words that both have; the address stays if it can."""
        if ins == self.ins:
            return self
        before, after = first_transfer(self.ins, seed=seed), first_transfer(ins, seed=seed)
        if self.ins.family == ins.family and self.a.dtype == after.a.dtype:
            if self.element in after.elements:
                after = after.with_element(self.element)
            for name, codes in self.arrays.items():
                if (codes != before.codes(name)).any():
                    after = after.with_codes(name, _overlaid(after.codes(name), codes, after.dtype(name)))
        if self.at_names != after.at_names:
            return after
        attempts = [self.at, (0, self.at[1], None)] if len(self.at) == 3 else [self.at]
        for at in attempts:
            with contextlib.suppress(PtxlabError):
                return after.placed(*at)
        return after

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
        numbers = np.zeros(codes.shape)
        if pattern == "one-hot":
            at = as_index(row, "row", codes.shape[0]), as_index(column, "column", codes.shape[1])
            numbers[at] = 1
        elif pattern == "random":
            low, high = (-99, 99) if dtype.bits == 32 else random_range(dtype)
            numbers += random.integers(low, high + 1, codes.shape)
        elif pattern == "counting":
            limit = 1 << (dtype.fraction_bits + 1) if dtype.is_float else dtype.maximum + 1
            numbers += np.arange(codes.size).reshape(codes.shape) % limit
        return self.with_codes(name, dtype.encode(numbers).astype(codes.dtype))

    def _addresses(self, name: str) -> Codes:
        """Words that say where they are: a row in the upper half and a column in the lower."""
        codes = self.codes(name)
        rows, columns = (np.arange(size, dtype=codes.dtype) for size in codes.shape)
        half = codes.dtype.type(self.dtype(name).bits // 2)
        return np.asarray(rows[:, None] << half | columns)


def _overlaid(codes: Codes, earlier: Codes, dtype: DType) -> Codes:
    rows, columns = (min(pair) for pair in zip(codes.shape, earlier.shape, strict=True))
    result = codes.copy()
    result[:rows, :columns] = earlier[:rows, :columns] & codes.dtype.type((1 << dtype.bits) - 1)
    return result


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 6:
        raise PtxlabError(f"{name} {quoted(text)}: it is a whole number")
    return int(text)


# -- tensor memory ---------------------------------------------------------------------------------------


def shown_columns(ins: Tcgen05Transfer) -> int:
    """Columns of tensor memory that are shown: a power of two, as tcgen05.alloc gives, with some to spare.

    >>> import ptxlab
    >>> shown_columns(ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x32.b32"))
    64
    """
    return min(max(_MIN_COLUMNS, 1 << ins.columns.bit_length()), COLUMNS)


class TensorMemoryTransfer(TransferOperation):
    """Words to or from tensor memory; `at` is the lane and column of taddr, and immHalfSplitoff."""

    at_names = ("lane", "column", "split")

    ins: Tcgen05Transfer

    @property
    def lane(self) -> int:
        """The lane of taddr."""
        return self.at[0] or 0

    @property
    def column(self) -> int:
        """The column of taddr."""
        return self.at[1] or 0

    @property
    def split(self) -> int | None:
        """immHalfSplitoff of 16x32bx2, if it is not the usual one."""
        return self.at[2]

    @property
    def address(self) -> int:
        """`taddr`: the lane in its upper 16 bits, the column in the lower."""
        return self.lane << 16 | self.column

    @property
    def tensor_columns(self) -> int:
        """Columns of tensor memory that are shown."""
        return shown_columns(self.ins)

    @property
    def before(self) -> Codes:
        """What was where D is; nothing, if nothing of it stays."""
        return np.zeros((0, 0), dtype=np.uint32) if self.c is None else self.c

    @property
    def elements(self) -> tuple[str, ...]:
        """The types that words can be read as; those that are compared have one."""
        return (self.element,) if self.ins.reduction else super().elements

    @property
    def first_lanes(self) -> tuple[int, ...]:
        """Lanes in which an address may begin."""
        return (0,)

    def most_column(self, split: int | None) -> int:
        """The last column in which it can begin."""
        return self.tensor_columns - (self.ins.columns if split is None else self.ins.columns // 2)

    def _checked(self, *at: int | None) -> tuple[int | None, ...]:
        ins, columns = self.ins, self.tensor_columns
        lane, column, split = as_int(at[0], "lane"), as_int(at[1], "column"), at[2]
        if lane not in self.first_lanes:
            where = "it begins in lane " + " or ".join(map(str, self.first_lanes))
            of_warp = " of each warp's 32" if ins.threads == 32 else ""
            raise PtxlabError(f"lane {quoted(lane)}: {where}{of_warp}")
        most = self.most_column(split)
        if not 0 <= column <= most:
            raise PtxlabError(
                f"column {quoted(column)}: {ins.mnemonic} takes {ins.columns} of the {columns} columns "
                f"shown; it begins in column 0 to {most}"
            )
        if split is not None:
            split = as_int(split, "split")
            if ins.shape != "16x32bx2":
                raise PtxlabError(f"split {quoted(split)}: only 16x32bx2 reads or writes two places")
            farthest = columns - column - ins.columns // 2
            if not 0 <= split <= farthest:
                raise PtxlabError(
                    f"split {quoted(split)}: the second half is 0 to {farthest} columns after the first"
                )
        return lane, column, split

    def _addresses(self, name: str) -> Codes:
        """Where the instruction moves halves, each is such an address in 8 and 8 bits; of packed elements all
        are counted."""
        if name == "A" and self.ins.source:
            return _packed_elements(self.a.shape, UNPACKED[self.ins.source])
        if name == "A" and self.ins.pack:
            rows, columns = (np.arange(size, dtype=np.uint32) for size in self.a.shape)
            in_registers = self.in_registers == "A"  # then each register has the halves of two columns
            low = rows[:, None] << np.uint32(8) | (2 * columns if in_registers else columns)
            high = low + np.uint32(1) if in_registers else low
            return high << np.uint32(16) | low
        return super()._addresses(name)


def _packed_elements(shape: tuple[int, ...], bits: int) -> Codes:
    """Rows in which the 16 elements of every 16 bytes are counted, with the padding that cp skips."""
    rows, groups = shape[0], shape[1] // 4
    elements = (np.arange(rows)[:, None] + np.arange(16 * groups)) % (1 << bits)
    ones = (elements[..., None] >> np.arange(bits) & 1).astype(np.uint8).reshape(rows, groups, 16 * bits)
    padded = np.pad(ones, ((0, 0), (0, 0), (0, 128 - 16 * bits)))
    data = np.packbits(padded, axis=-1, bitorder="little").reshape(rows, -1)
    return np.ascontiguousarray(data).view("<u4").astype(np.uint32)


class RegisterTransfer(TensorMemoryTransfer):
    """tcgen05.ld and .st, which every thread of a warpgroup executes."""

    @property
    def first_lanes(self) -> tuple[int, ...]:
        """Among each warp's 32."""
        return (0,) if self.ins.shape == "32x32b" else (0, 16)

    @cached_property
    def slots(self) -> Links:
        """The word of tensor memory of every element of a thread: [128, registers, parts]."""
        ins = self.ins
        if ins.compresses:
            ins = replace(ins, reduces=False, compresses=False, reduction="", absolute=False, nan=False,
                          type="b32")  # fmt: skip
        lanes, columns = tcgen05_transfer.places(ins, self.address, self.split, self.tensor_columns)
        return (lanes * self.tensor_columns + columns).reshape(LANES, ins.registers, -1)

    def thread_maps(self, name: str) -> dict[str, Links]:
        """Of each word: the thread and the register that go with it; -1 for none."""
        rows, columns = self.codes(name).shape
        if name == self.in_registers:
            thread, register = np.divmod(np.arange(rows * columns), columns)
        else:
            thread, register = np.full(rows * columns, -1), np.full(rows * columns, -1)
            thread[self.slots] = np.arange(LANES)[:, None, None]
            register[self.slots] = np.arange(self.slots.shape[1])[:, None]
        return {"lane": thread, "element_map": register, "register_map": register, "low": 0 * thread}


class LoadTransfer(RegisterTransfer):
    """tcgen05.ld: tensor memory to registers, with what it reduces or keeps of them."""

    ends = (TENSOR_MEMORY, REGISTERS)

    @cached_property
    def _loaded(self) -> list[Codes]:
        """What it leaves, by kind: metadata, registers, the reduction."""
        loaded = tcgen05_transfer.load(self.ins, self.a, self.address, self.split)
        parts = loaded if isinstance(loaded, tuple) else (loaded,)
        return [part if part.ndim == 2 else part[:, None] for part in parts]

    def _result(self) -> Codes:
        return np.concatenate(self._loaded, axis=-1)

    def column_names(self, name: str) -> list[str]:
        """The registers of a thread."""
        if name != "D":
            return []
        counts = [part.shape[-1] for part in self._loaded]
        letters = ("mdata", "cdata", "redval") if self.ins.compresses else ("r", "redval")
        return [
            letter if letter == "redval" else f"{letter}{number}"
            for letter, count in zip(letters, counts, strict=False)
            for number in range(count)
        ]

    def _links(self) -> Links:
        slots = self.slots
        if not (self.ins.reduces or self.ins.compresses):
            return slots
        flat, parts = slots[..., 0], list[Links]()
        loaded = self.a.reshape(-1)[flat]
        if self.ins.compresses:
            metadata, kept = self._loaded[:2]
            numbers = np.arange(kept.shape[-1])
            indices = metadata[:, numbers // 16] >> (2 * (numbers % 16)).astype(np.uint32) & np.uint32(3)
            parts = [np.full(metadata.shape, -1), np.take_along_axis(flat, numbers // 2 * 4 + indices, -1)]
        else:
            parts = [flat]
        if self.ins.reduces:  # the first of those that it is equal to; none of a NaN that is another's
            mask = np.uint32(0x7FFFFFFF if self.ins.absolute else 0xFFFFFFFF)
            equal = loaded & mask == self._loaded[-1] & mask
            chosen = np.take_along_axis(flat, equal.argmax(axis=-1)[:, None], -1)
            parts.append(np.where(equal.any(axis=-1, keepdims=True), chosen, -1))
        return np.concatenate(parts, axis=-1)


class StoreTransfer(RegisterTransfer):
    """tcgen05.st: registers to tensor memory."""

    ends, keeps_words = (REGISTERS, TENSOR_MEMORY), True

    def _result(self) -> Codes:
        return tcgen05_transfer.store(self.ins, self.a, self.before, self.address, self.split)

    def _links(self) -> Links:
        links = np.full(self.result.size, -1)
        registers = np.arange(self.a.size).reshape(*self.a.shape, 1)
        links[self.slots] = np.broadcast_to(registers, self.slots.shape)
        return links


class CopyTransfer(TensorMemoryTransfer):
    """tcgen05.cp: rows of shared memory to tensor memory."""

    ends, keeps_words = (SHARED_MEMORY, TENSOR_MEMORY), True

    @property
    def descriptor(self) -> Tcgen05Descriptor:
        """How it finds its rows here: core matrices of 8 rows of 16 bytes, one after the other.

        >>> import ptxlab
        >>> transfer = first_transfer(ptxlab.instruction("tcgen05.cp.cta_group::1.128x256b"))
        >>> transfer.descriptor.leading, hex(transfer.byte_addresses[9, 5])   # second 16 bytes of rows, row 9
        (2048, '0x894')
        """
        groups = -(-self.a.shape[0] // _CORE_ROWS)
        return Tcgen05Descriptor(address=0, leading=_CORE_BYTES * groups, stride=_CORE_BYTES)

    @property
    def byte_addresses(self) -> Links:
        """Where the words that it reads are in shared memory."""
        rows, words = self.a.shape
        return self.descriptor.addresses(np.arange(rows)[:, None], np.arange(words), bits=32)

    def _result(self) -> Codes:
        return tcgen05_transfer.copy_rows(self.ins, self.a, self.before, self.address)

    def _links(self) -> Links:
        """Where elements become bytes, a word has some of one or two words of its 16 bytes."""
        bits = UNPACKED.get(self.ins.source, 8)
        word = np.arange(self.a.shape[1])
        first, last = (4 * bits * (word % 4)) // 32, (4 * bits * (word % 4 + 1) - 1) // 32
        index = np.arange(self.a.size).reshape(self.a.shape)
        base = index - word % 4
        plain = replace(self.ins, source="")
        nothing = np.full(self.result.shape, 0xFFFFFFFF, dtype=np.uint32)
        placed = tcgen05_transfer.copy_rows(plain, index, nothing, self.address).reshape(-1).astype(np.int64)
        there = placed != 0xFFFFFFFF
        both = np.stack([(base + first).reshape(-1), (base + last).reshape(-1)], axis=-1)
        links = np.where(there[:, None], both[np.where(there, placed, 0)], -1)
        if not self.ins.source:
            return links[:, :1]
        links[links[:, 0] == links[:, 1], 1] = -1
        return links


class ShiftTransfer(TensorMemoryTransfer):
    """tcgen05.shift: 32 lanes of tensor memory, each to the lane before."""

    ends = (replace(TENSOR_MEMORY, when="before"), replace(TENSOR_MEMORY, label="T'", when="after"))
    first_lanes = (0, 32, 64, 96)

    def _result(self) -> Codes:
        return tcgen05_transfer.shift(self.ins, self.a, self.address)

    def _links(self) -> Links:
        links = np.full(self.a.shape, -1)
        before = np.arange(self.a.size).reshape(self.a.shape)
        columns = slice(self.column, self.column + self.ins.columns)
        links[self.lane : self.lane + 31, columns] = before[self.lane + 1 : self.lane + 32, columns]
        return links


# -- rows of memory and the registers of a warp --------------------------------------------------------------


class MatrixTransfer(TransferOperation):
    """ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store: elements of rows of memory, and of registers.

    `at` is the stride of the rows: bytes, or elements of wmma. Row r of ldmatrix and stmatrix is at the
    address that lane r supplies.

    >>> import ptxlab
    >>> transfer = first_transfer(ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.trans.b16"))
    >>> [hex(code) for code in transfer.result[21]]   # a byte for the row, a byte for the column
    ['0x205', '0x305']
    """

    at_names = ("stride",)
    ins: TransferForm

    @property
    def stores(self) -> bool:
        """Whether it writes memory."""
        return self.ins.family in ("stmatrix", "wmma.store")

    @property
    def has_memory(self) -> bool:
        """Whether it reads or writes memory; movmatrix stays in registers."""
        return self.ins.family != "movmatrix"

    @property
    def ends(self) -> tuple[TransferSide, TransferSide]:
        """Memory and registers, in the order of the instruction."""
        registers = TransferSide("R", "Registers", ("lane", "register"))
        if not self.has_memory:
            return replace(registers, when="before"), replace(registers, label="R'", when="after")
        title = "Memory" if self.ins.wmma and not self.ins.space else "Shared memory"
        if self.ins.space == "global":
            title = "Global memory"
        axes = ("column", "row") if self.ins.layout == "col" else ("row", "element")
        memory = TransferSide(title[0], title, axes)
        return (registers, memory) if self.stores else (memory, registers)

    @property
    def threads(self) -> int:
        return self.ins.lanes

    @property
    def elements(self) -> tuple[str, ...]:
        """Bits without a type can be read as several; the types of wmma are its own."""
        declared = self.ins.register_operand.dtype
        own = (declared.name,)
        return _READ_AS.get(declared.bits, own) if declared.kind == "bits" else own

    def dtype(self, name: str) -> DType:
        if self.ins.signed and name == "A":
            return element_type("s4")
        declared = self.ins.register_operand.dtype
        return declared if self.element == declared.name else element_type(self.element)

    def groups(self, name: str) -> dict[str, int]:
        if self.sides[name].axes[1] == "register":
            return {"group": self.ins.register_operand.elements_per_register}
        return {"band": self.ins.lines[0] // self.ins.count}

    def registers(self, name: str) -> Codes:
        codes = self.codes(name)
        in_registers = self.sides[name].axes[1] == "register"
        return self.ins.register_operand.join(codes) if in_registers else codes

    def with_registers(self, name: str, registers: ArrayLike) -> Self:
        if name in self.inputs and self.sides[name].axes[1] == "register":
            operand = self.ins.register_operand
            return self.with_codes(name, operand.split(operand.check_registers(registers)))
        return super().with_registers(name, registers)

    def with_register(self, name: str, thread: int, register: int, text: str) -> Self:
        if name not in self.inputs or self.sides[name].axes[1] != "register":
            return super().with_register(name, thread, register, text)
        registers, operand = self.registers(name).copy(), self.ins.register_operand
        thread = as_index(thread, "lane", registers.shape[0], "R: ")
        register = as_index(register, "register", registers.shape[1], "R: ")
        try:
            registers[thread, register] = parse_register(text, operand.register_bits)
        except PtxlabError as error:
            raise PtxlabError(f"R, lane {thread}, register {register}: {error}") from None
        return self.with_registers(name, registers)

    # -- memory -------------------------------------------------------------------------------------------

    @property
    def stride(self) -> int:
        """Bytes from one row to the next; elements of wmma."""
        return self.at[0] or self.usual_stride

    @property
    def usual_stride(self) -> int:
        """That of rows without a gap."""
        return self.ins.lines[1] if self.ins.wmma else self.ins.row_bytes

    @property
    def strides(self) -> tuple[int, ...]:
        """Some to choose from: without a gap, with one, and those of wider matrices."""
        usual = self.usual_stride
        gap = 8 * self.ins.alignment // self.ins.register_operand.dtype.bits if self.ins.wmma else usual
        return usual, usual + gap, 4 * usual, 8 * usual, 8 * usual + gap

    def _checked(self, *at: int | None) -> tuple[int | None, ...]:
        (stride,) = at
        if stride is None:
            return (None,)
        stride = as_int(stride, "stride")
        self.ins.addresses(stride=stride)  # or a refusal
        unit = self.usual_stride
        if not self.ins.wmma and (stride < unit or stride % unit):
            raise PtxlabError(f"stride {quoted(stride)}: rows of {unit} bytes are a multiple of {unit} apart")
        if stride > 1 << 12:
            raise PtxlabError(f"stride {quoted(stride)}: the Explorer shows rows that are up to 4096 apart")
        return (None if stride == unit else stride,)

    @property
    def addresses(self) -> Links:
        """The byte at which each row begins."""
        return self.ins.addresses(stride=self.stride)[: self.ins.lines[0]]

    @property
    def byte_addresses(self) -> Links:
        """Where the elements are in memory; those of less than a byte share one."""
        return self.addresses[:, None] + np.arange(self.ins.lines[1]) * self.ins.memory_bits // 8

    @property
    def row_bytes(self) -> Links:
        """Indices of the bytes of each row that hold elements."""
        return self.addresses[:, None] + np.arange(self.ins.lines[1] * self.ins.memory_bits // 8)

    @property
    def memory(self) -> NDArray[np.uint8]:
        """The bytes that it reads, or zeros that it writes over."""
        row = self.ins.lines[1] * self.ins.memory_bits // 8 if self.ins.wmma else self.ins.row_bytes
        memory = np.zeros(int(self.addresses[-1]) + row, dtype=np.uint8)
        if not self.stores:
            memory[self.row_bytes] = pack_row(self.a, self.ins.memory_bits)
        return memory

    # -- what it does -------------------------------------------------------------------------------------

    def _result(self) -> Codes:
        ins, operand = self.ins, self.ins.register_operand
        given = {"registers": operand.join(self.a)} if self.stores or not self.has_memory else {}
        if self.has_memory:
            given["memory"] = self.memory
        if "addresses" in ins.inputs:
            given["addresses"] = ins.addresses(stride=self.stride)
        left = emulate(ins, [given[name] for name in ins.inputs], self.stride if ins.wmma else None, 0)
        if not self.stores:
            return operand.split(left)
        rows = unpack_row(left[self.row_bytes], ins.memory_bits, ins.lines[1])
        return rows.astype(operand.dtype.code_type)

    @property
    def _memory_of_matrix(self) -> Links:
        """The cell of memory of each element of the matrix: [rows, columns]."""
        lines = np.arange(int(np.prod(self.ins.lines))).reshape(self.ins.lines)
        return lines.T if self.ins.layout == "col" else lines

    def _links(self) -> Links:
        layout = self.ins.register_operand.layout
        assert layout is not None
        held = layout.scatter()
        if self.stores:
            return held.T if self.ins.layout == "col" else held
        source = self._memory_of_matrix if self.has_memory else held.T
        return source.reshape(-1)[layout.gather]

    def column_names(self, name: str) -> list[str]:
        """The bits of registers: ``r0[15:0]``, or ``r0`` where an element fills one."""
        if self.sides[name].axes[1] != "register":
            return []
        operand, count = self.ins.register_operand, self.codes(name).shape[1]
        if operand.elements_per_register == 1:
            return [f"r{number}" for number in range(count)]
        places = (operand.place(0, element) for element in range(count))
        return [f"r{place.register}[{place.high}:{place.low}]" for place in places]

    def thread_maps(self, name: str) -> dict[str, Links]:
        """Of each element: the lane that has it, in which register, and from which bit on."""
        rows, columns = self.codes(name).shape
        cells = np.arange(rows * columns)
        if self.sides[name].axes[1] != "register":
            if self.stores:
                cells = self.links[:, 0]
            else:  # the first of several copies
                first = np.arange(self.links.size)[::-1]
                cells[self.links[first, 0]] = first
            columns = self.a.shape[1] if self.stores else self.result.shape[1]
        lane, element = np.divmod(cells, columns)
        operand = self.ins.register_operand
        places = [operand.place(0, each) for each in range(columns)]
        return {
            "lane": lane,
            "element_map": element,
            "register_map": np.array([place.register for place in places])[element],
            "low": np.array([place.low for place in places])[element],
        }

    def _addresses(self, name: str) -> Codes:
        """In half a byte no place fits: then elements are counted."""
        codes, bits = self.codes(name), self.dtype(name).bits
        if bits < 16:
            return (np.arange(codes.size) % (1 << bits)).astype(codes.dtype).reshape(codes.shape)
        return super()._addresses(name)


_CLASSES: dict[str, type[TensorMemoryTransfer]] = {
    "tcgen05.ld": LoadTransfer,
    "tcgen05.st": StoreTransfer,
    "tcgen05.cp": CopyTransfer,
    "tcgen05.shift": ShiftTransfer,
}


def first_transfer(
    ins: AnyTransfer, address: int = 0, split: int | None = None, seed: int = 0
) -> TransferOperation:
    """What the Explorer starts with: words that are their own addresses; numbers, where they are compared."""
    number = as_int(address, "address")
    if not 0 <= number < 1 << 32:
        raise PtxlabError(f"address {quoted(number)}: it has 32 bits, the lane in the upper 16")
    random = np.random.default_rng(check_seed(seed))
    if isinstance(ins, TransferForm):
        operand = ins.register_operand
        shape = ins.lines
        if "registers" in ins.inputs and operand.layout is not None:
            shape = (ins.lanes, operand.layout.elements)
        zeros = np.zeros(shape, operand.dtype.code_type)
        matrix = MatrixTransfer(ins, zeros, None, (None,), operand.dtype.name)
        if operand.dtype.bits == 1:
            return matrix.filled("A", "random", random)
        return matrix.filled("A", "addresses" if operand.dtype.kind == "bits" else "counting", random)
    kind = _CLASSES[ins.family]
    element = ins.type if ins.reduction and ins.type in _READ_AS[32] else "b32"
    empty = kind(ins, np.zeros((0, 0), dtype=np.uint32), None, (0, 0, None), element)
    source, target = (np.zeros(_shape(side, ins), dtype=np.uint32) for side in empty.ends)
    transfer = replace(empty, a=source, c=target if kind.keeps_words else None)
    transfer = transfer.filled("A", "random" if ins.reduction else "addresses", random)
    return transfer.placed(number >> 16, number & 0xFFFF, split)


def _shape(side: TransferSide, ins: Tcgen05Transfer) -> tuple[int, int]:
    """Rows and columns of what an instruction reads or writes."""
    if side is REGISTERS:
        return LANES, ins.registers
    if side is SHARED_MEMORY:
        rows, words = replace(ins, source="").tensor("T").shape
        return rows, words
    return LANES, shown_columns(ins)


# -- what can be chosen of an instruction ----------------------------------------------------------------


def operation(ins: Tcgen05Transfer) -> str:
    """What tcgen05.ld does besides loading: ``red.max.f32``; "" for nothing.

    >>> import ptxlab
    >>> operation(ptxlab.instruction("tcgen05.ld.red.sync.aligned.32x32b.x2.max.abs.f32"))
    'red.max.abs.f32'
    """
    if not ins.reduction:
        return ""
    flags = [("red", ins.reduces), ("spcompress", ins.compresses), (ins.reduction, True),
             ("abs", ins.absolute), ("NaN", ins.nan), (ins.type, True)]  # fmt: skip
    return ".".join(word for word, there in flags if there)


_SHAPE: dict[str, Callable[[Any], str]] = {"shape": lambda ins: ins.shape}
_COUNT: dict[str, Callable[[Any], str]] = {"count": lambda ins: f"x{ins.count}"}
_CTA_GROUP: dict[str, Callable[[Any], str]] = {"cta_group": lambda ins: f"cta_group::{ins.cta_group}"}
_ROWS: dict[str, Callable[[Any], str]] = {
    **_SHAPE,
    **_COUNT,
    "trans": lambda ins: "trans" if ins.trans else "",
    "type": lambda ins: ins.mnemonic.rsplit(f"{ins.space}." if ins.space else ".", 1)[-1],
}
_FRAGMENT: dict[str, Callable[[Any], str]] = {
    "matrix": lambda ins: ins.matrix,
    "layout": lambda ins: ins.layout,
    **_SHAPE,
    "type": lambda ins: ins.type,
}
#: What can be chosen of a form, by the family: a name, and how it is read from a form.
PARTS: dict[str, Mapping[str, Callable[[Any], str]]] = {
    "tcgen05.ld": {
        **_SHAPE,
        **_COUNT,
        "pack": lambda ins: "pack::16b" if ins.pack else "",
        "operation": operation,
    },
    "tcgen05.st": {**_SHAPE, **_COUNT, "unpack": lambda ins: "unpack::16b" if ins.pack else ""},
    "tcgen05.cp": {
        **_CTA_GROUP,
        **_SHAPE,
        "multicast": lambda ins: ins.multicast,
        "source": lambda ins: f"b8x16.{ins.source}" if ins.source else "",
    },
    "tcgen05.shift": _CTA_GROUP,
    "ldmatrix": _ROWS,
    "stmatrix": _ROWS,
    "movmatrix": {},
    "wmma.load": _FRAGMENT,
    "wmma.store": _FRAGMENT,
}


@lru_cache(maxsize=None)
def _forms(family: str) -> tuple[AnyTransfer, ...]:
    if family.startswith("tcgen05"):
        return tuple(form for form in tcgen05_forms(family) if isinstance(form, Tcgen05Transfer))
    return transfer_forms(family)


def choices(ins: AnyTransfer) -> dict[str, list[str]]:
    """What can be chosen of an instruction, and the texts of each choice; "" is to leave it out.

    >>> import ptxlab
    >>> choices(ptxlab.instruction("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13"))["multicast"]
    ['', 'warpx2::02_13', 'warpx2::01_23', 'warpx4']
    """
    forms = _forms(ins.family)
    return {name: list(dict.fromkeys(map(read, forms))) for name, read in PARTS[ins.family].items()}


def with_part(ins: AnyTransfer, name: str, text: str) -> AnyTransfer:
    """The form with another choice; of those that have it, the one that keeps most of the others.

    >>> import ptxlab
    >>> with_part(ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x128.b32"), "shape", "16x256b").mnemonic
    'tcgen05.ld.sync.aligned.16x256b.x32.b32'
    """
    parts = PARTS[ins.family]
    candidates = [each for each in _forms(ins.family) if parts[name](each) == text]
    if not candidates:
        there = listing([word for word in choices(ins)[name] if word], 30)
        raise PtxlabError(f"{name} {quoted(text)}: {ins.family} has {there}")

    def likeness(each: AnyTransfer) -> tuple[int, float]:
        same = sum(read(each) == read(ins) for other, read in parts.items() if other not in (name, "count"))
        ratio = max(each.count, ins.count) / min(each.count, ins.count)
        return same, -ratio

    best = max(candidates, key=likeness)
    if isinstance(best, TransferForm) and isinstance(ins, TransferForm):
        return best.in_space(ins.space)
    return best
