"""tcgen05.ld, .st, .cp and .shift in the Explorer: the words that they move, where each goes, and edits.

An instruction reads A and leaves D; C is what was where D is. Of tcgen05.ld A is tensor memory and D are
registers, of tcgen05.st it is the other way round, tcgen05.cp reads rows of shared memory, and tcgen05.shift
moves words within tensor memory. All are 32-bit words: lanes by columns, threads by registers, or rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_array, as_index, as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import tcgen05_forms
from ..isa.dtypes import DType
from ..isa.tcgen05 import UNPACKED, Tcgen05Transfer
from ..isa.tcgen05.form import element_type
from ..isa.tensor_memory import COLUMNS, LANES
from ..memory import Tcgen05Descriptor
from ..numerics import tensor_memory
from .edits import (
    DismissRefusal,
    Edit,
    FillMatrix,
    Redo,
    SetCell,
    SetCodes,
    SetMove,
    SetRegister,
    SetRegisters,
    SetValues,
    Undo,
)
from .parse_cell import parse, parse_register
from .state import UNDO_LIMIT, check_seed

__all__ = [
    "ELEMENTS", "PATTERNS", "Move", "MoveState", "Side", "WrapTransfer", "choices", "first_move", "operation",
]  # fmt: skip

Words = NDArray[np.uint32]

#: Gives a form the class that users hold, which only the façade above knows.
WrapTransfer = Callable[[Tcgen05Transfer], Tcgen05Transfer]

PATTERNS = ("addresses", "counting", "random", "one-hot", "zeros")
ELEMENTS = ("b32", "f32", "s32")  # how words can be read
_LEAST_COLUMNS = 32  # that tcgen05.alloc allocates
_CORE_ROWS, _CORE_BYTES = 8, 128  # of a core matrix in shared memory


@dataclass(frozen=True)
class Side:
    """What an instruction reads or writes: its letter, what it is, its rows and columns, and when."""

    label: str
    title: str
    axes: tuple[str, str]
    when: str = ""


_TENSOR = Side("T", "Tensor memory", ("lane", "column"))
_REGISTERS = Side("R", "Registers", ("thread", "register"))
_ROWS = Side("S", "Shared memory", ("row", "word"))

#: Where words come from, and where they go.
_SIDES: dict[str, tuple[Side, Side]] = {
    "tcgen05.ld": (_TENSOR, _REGISTERS),
    "tcgen05.st": (_REGISTERS, _TENSOR),
    "tcgen05.cp": (_ROWS, _TENSOR),
    "tcgen05.shift": (
        replace(_TENSOR, when="before"),
        replace(_TENSOR, label="T'", when="after"),
    ),
}


@dataclass(frozen=True, eq=False)
class Move:
    """An instruction, the address at which it begins in tensor memory, and all that it reads; never changed.

    >>> import ptxlab
    >>> move = first_move(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32"))
    >>> [hex(word) for word in move.result[37]]   # words start as their own addresses: lane, column
    ['0x210002', '0x210003', '0x290002', '0x290003']
    """

    form: Tcgen05Transfer
    a: Words
    c: Words | None = None  # where D is, before; None if nothing of it stays
    lane: int = 0
    column: int = 0
    split: int | None = None  # immHalfSplitoff of 16x32bx2
    element: str = "b32"

    @property
    def sides(self) -> dict[str, Side]:
        """What A, C and D are."""
        source, target = _SIDES[self.form.family]
        before = {} if self.c is None else {"C": target}
        return {"A": source, **before, "D": target}

    @property
    def names(self) -> tuple[str, ...]:
        """A, C where there is one, and D."""
        return tuple(self.sides)

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
        return next((name for name, side in self.sides.items() if side is _REGISTERS), "")

    @property
    def descriptor(self) -> Tcgen05Descriptor | None:
        """How tcgen05.cp finds its rows here: core matrices of 8 rows of 16 bytes, one after the other.

        >>> import ptxlab
        >>> move = first_move(ptxlab.instruction("tcgen05.cp.cta_group::1.128x256b"))
        >>> move.descriptor.leading, hex(move.byte_addresses[9, 5])   # of the second 16 bytes of rows, row 9
        (2048, '0x894')
        """
        if self.form.family != "tcgen05.cp":
            return None
        groups = -(-self.a.shape[0] // _CORE_ROWS)
        return Tcgen05Descriptor(address=0, leading=_CORE_BYTES * groups, stride=_CORE_BYTES)

    @property
    def byte_addresses(self) -> NDArray[np.int64]:
        """Where the words that tcgen05.cp reads are in shared memory."""
        if self.descriptor is None:
            raise PtxlabError(f"{self.form.mnemonic} reads no shared memory; tcgen05.cp does")
        rows, words = self.a.shape
        return self.descriptor.addresses(np.arange(rows)[:, None], np.arange(words), bits=32)

    def words(self, name: str) -> Words:
        """A, C or D."""
        if not is_name(name, self.names):
            raise PtxlabError(
                f"{self.form.mnemonic} has no {quoted(name)}; it has {listing(self._described)}"
            )
        if name == "D":
            return self.result
        return self.a if name == "A" or self.c is None else self.c

    @property
    def _described(self) -> list[str]:
        when = {"C": " before"} if self.c is not None else {}
        return [f"{name} ({side.title.lower()}{when.get(name, '')})" for name, side in self.sides.items()]

    # -- what it does ----------------------------------------------------------------------------------------

    @cached_property
    def result(self) -> Words:
        """D."""
        form, at = self.form, self.address
        if form.family == "tcgen05.shift":
            return tensor_memory.shift(form, self.a, at)
        if form.family == "tcgen05.st":
            return tensor_memory.store(form, self.a, self.words("C"), at, self.split)
        if form.family == "tcgen05.cp":
            return tensor_memory.copy_rows(form, self.a, self.words("C"), at)
        return np.concatenate(self._loaded, axis=-1)

    @cached_property
    def _loaded(self) -> list[Words]:
        """What tcgen05.ld leaves, by kind: metadata, registers, the reduction."""
        form, at = self.form, self.address
        if form.compresses:
            parts = tensor_memory.compress(form, self.a, at)
        elif form.reduces:
            parts = tensor_memory.reduce(form, self.a, at, self.split)
        else:
            parts = (tensor_memory.load(form, self.a, at, self.split),)
        return [part if part.ndim == 2 else part[:, None] for part in parts]

    @cached_property
    def column_names(self) -> list[str]:
        """The columns of D that have names of their own: of tcgen05.ld its registers; [] of the others."""
        if self.form.family != "tcgen05.ld":
            return []
        parts = [part.shape[-1] for part in self._loaded]
        letters = ("mdata", "cdata", "redval") if self.form.compresses else ("r", "redval")
        return [
            letter if letter == "redval" else f"{letter}{number}"
            for letter, count in zip(letters, parts, strict=False)
            for number in range(count)
        ]

    @cached_property
    def links(self) -> NDArray[np.int32]:
        """The words of A that each word of D comes from, by their flat indices: [words of D, 1 or 2].

        -1 is none: what stays as it was, and metadata.

        >>> import ptxlab
        >>> move = first_move(ptxlab.instruction("tcgen05.shift.cta_group::1.down"))
        >>> move.links.reshape(128, 32)[29:33, :2].tolist()   # the last of a warp's lanes stays
        [[960, 961], [992, 993], [-1, -1], [-1, -1]]
        """
        links = {
            "tcgen05.ld": self._load_links,
            "tcgen05.st": self._store_links,
            "tcgen05.cp": self._copy_links,
            "tcgen05.shift": self._shift_links,
        }[self.form.family]()
        return links.reshape(self.result.size, -1).astype(np.int32)

    @cached_property
    def slots(self) -> NDArray[np.int64]:
        """Of ld and st: the word of tensor memory of every element of a thread: [128, registers, parts]."""
        form = self.form
        if form.compresses:
            form = replace(form, reduces=False, compresses=False, reduction="", absolute=False, nan=False,
                           type="b32")  # fmt: skip
        lanes, columns = tensor_memory.places(form, self.address, self.split, self.tensor_columns)
        return (lanes * self.tensor_columns + columns).reshape(LANES, form.registers, -1)

    def thread_of(self, name: str, row: int, column: int) -> int | None:
        """The thread that has a word in a register, before or after; None where no thread has.

        >>> import ptxlab
        >>> first_move(ptxlab.instruction("tcgen05.ld.sync.aligned.16x256b.x1.b32")).thread_of("A", 41, 3)
        37
        """
        if name == self.registers:
            return row
        if not self.registers:
            return None
        threads = np.argwhere(self.slots == row * self.tensor_columns + column)
        return int(threads[0, 0]) if threads.size else None

    def _load_links(self) -> NDArray[np.int64]:
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

    def _store_links(self) -> NDArray[np.int64]:
        links = np.full(self.result.size, -1)
        registers = np.arange(self.a.size).reshape(*self.a.shape, 1)
        links[self.slots] = np.broadcast_to(registers, self.slots.shape)
        return links

    def _shift_links(self) -> NDArray[np.int64]:
        links = np.full(self.a.shape, -1)
        before = np.arange(self.a.size).reshape(self.a.shape)
        columns = slice(self.column, self.column + self.form.columns)
        links[self.lane : self.lane + 31, columns] = before[self.lane + 1 : self.lane + 32, columns]
        return links

    def _copy_links(self) -> NDArray[np.int64]:
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


def shown_columns(form: Tcgen05Transfer) -> int:
    """Columns of tensor memory that are shown: a power of two, as tcgen05.alloc gives, with some to spare.

    >>> import ptxlab
    >>> shown_columns(ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x32.b32"))
    64
    """
    return min(max(_LEAST_COLUMNS, 1 << form.columns.bit_length()), COLUMNS)


def first_move(form: Tcgen05Transfer, address: int = 0, split: int | None = None, seed: int = 0) -> Move:
    """What the Explorer starts with: words that are their own addresses; numbers, where they are compared."""
    number = as_int(address, "address")
    if not 0 <= number < 1 << 32:
        raise PtxlabError(f"address {quoted(number)}: it has 32 bits, the lane in the upper 16")
    element = "b32"
    if form.reduction:
        element = form.type if form.type in ELEMENTS else "b32"
    move = Move(form, np.zeros(_shape(form, "A"), dtype=np.uint32), _before(form), element=element)
    pattern = "random" if form.reduction else "addresses"
    move = replace(move, a=filled(move, "A", pattern, np.random.default_rng(check_seed(seed))))
    return placed(move, number >> 16, number & 0xFFFF, split)


def _shape(form: Tcgen05Transfer, name: str) -> tuple[int, int]:
    source, target = _SIDES[form.family]
    side = source if name == "A" else target
    if side is _REGISTERS:
        return LANES, form.registers
    if side is _ROWS:
        rows, words = replace(form, source="").tensor("T").shape
        return rows, words
    return LANES, shown_columns(form)


def _before(form: Tcgen05Transfer) -> Words | None:
    if form.family in ("tcgen05.ld", "tcgen05.shift"):
        return None
    return np.zeros(_shape(form, "C"), dtype=np.uint32)


def placed(move: Move, lane: int, column: int, split: int | None) -> Move:
    """The same at another address, or a refusal that says which there are."""
    form, columns = move.form, move.tensor_columns
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
    return replace(move, lane=lane, column=column, split=split)


def first_lanes(form: Tcgen05Transfer) -> tuple[int, ...]:
    """Lanes in which an address may begin: of ld and st among each warp's 32."""
    if form.family == "tcgen05.shift":
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
    move: Move, name: str, pattern: str, random: np.random.Generator, row: int = 0, column: int = 0
) -> Words:
    """The words of a fill; addresses are a row in the upper half and a column in the lower.

    Where the instruction moves halves, each half is such an address in 8 and 8 bits; of packed elements all
    are counted.
    """
    if name == "D" or not is_name(name, move.names):
        raise PtxlabError(f"{quoted(name)} cannot be filled; fill {listing(_inputs(move))}")
    if not is_name(pattern, PATTERNS):
        raise PtxlabError(f"unknown fill {quoted(pattern)}; there are {listing(PATTERNS)}")
    shape = move.words(name).shape
    rows, columns = (np.arange(size, dtype=np.uint32) for size in shape)
    if pattern == "addresses":
        if name == "A" and move.form.source:
            return _packed_elements(shape, UNPACKED[move.form.source])
        if name == "A" and move.form.pack:
            doubled = columns if move.registers == "D" else 2 * columns
            low = rows[:, None] << np.uint32(8) | doubled
            high = low if move.registers == "D" else low + np.uint32(1)
            return high << np.uint32(16) | low
        return rows[:, None] << np.uint32(16) | columns
    if pattern == "one-hot":
        words = np.zeros(shape, dtype=np.uint32)
        at = as_index(row, "row", shape[0]), as_index(column, "column", shape[1])
        words[at] = np.uint32(move.dtype.encode(1.0))
        return words
    if pattern == "zeros":
        return np.zeros(shape, dtype=np.uint32)
    if pattern == "random" and move.element == "b32":
        return random.integers(0, 1 << 32, shape, dtype=np.uint32)
    numbers = np.arange(shape[0] * shape[1]).reshape(shape)
    if pattern == "random":
        numbers = random.integers(-99, 100, shape)
    return move.dtype.encode(numbers.astype(np.float64)).astype(np.uint32)


def _packed_elements(shape: tuple[int, ...], bits: int) -> Words:
    """Rows in which the 16 elements of every 16 bytes are counted, with the padding that cp skips."""
    rows, groups = shape[0], shape[1] // 4
    elements = (np.arange(rows)[:, None] + np.arange(16 * groups)) % (1 << bits)
    ones = (elements[..., None] >> np.arange(bits) & 1).astype(np.uint8).reshape(rows, groups, 16 * bits)
    padded = np.pad(ones, ((0, 0), (0, 0), (0, 128 - 16 * bits)))
    data = np.packbits(padded, axis=-1, bitorder="little").reshape(rows, -1)
    return np.ascontiguousarray(data).view("<u4").astype(np.uint32)


def _inputs(move: Move) -> list[str]:
    return [name for name in move.names if name != "D"]


# -- another instruction of the family, and another address ------------------------------------------------


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


def with_form(move: Move, form: Tcgen05Transfer, seed: int) -> Move:
    """Another instruction with the words that both have; the address stays if it can."""
    before, after = first_move(move.form, seed=seed), first_move(form, seed=seed)
    if move.form.family == form.family and not form.reduction:
        after = replace(after, element=move.element)
    if _SIDES[move.form.family] == _SIDES[form.family]:
        if (move.a != before.a).any():
            after = replace(after, a=_overlaid(after.a, move.a))
        if move.c is not None and after.c is not None and move.c.any():
            after = replace(after, c=_overlaid(after.c, move.c))
    for lane, column, split in ((move.lane, move.column, move.split), (0, move.column, None), (0, 0, None)):
        try:
            return placed(after, lane, column, split)
        except PtxlabError:
            continue
    return after


def _overlaid(words: Words, earlier: Words) -> Words:
    rows, columns = (min(pair) for pair in zip(words.shape, earlier.shape, strict=True))
    result = words.copy()
    result[:rows, :columns] = earlier[:rows, :columns]
    return result


# -- the state -----------------------------------------------------------------------------------------------


class MoveState:
    """A move with words to edit, and an undo history; edits are made whole or refused.

    >>> import ptxlab
    >>> state = MoveState(first_move(ptxlab.instruction("tcgen05.st.sync.aligned.32x32b.x1.b32")))
    >>> state.apply([SetRegister("A", lane=5, register=0, text="0xabc")])
    >>> hex(state.move.result[5, 0]), state.undo(), hex(state.move.result[5, 0])
    ('0xabc', True, '0x50000')
    """

    def __init__(self, move: Move, seed: int = 0, wrap: WrapTransfer | None = None) -> None:
        self._wrap = wrap
        self.move = self._wrapped(move)
        self.seed = check_seed(seed)
        self.random = np.random.default_rng(self.seed)
        self.past: list[Move] = []
        self.future: list[Move] = []

    @property
    def form(self) -> Tcgen05Transfer:
        """The instruction."""
        return self.move.form

    def _wrapped(self, move: Move) -> Move:
        """The same move, its form of the class that users hold."""
        return move if self._wrap is None else replace(move, form=self._wrap(move.form))

    def apply(self, edits: Sequence[Edit]) -> None:
        """Make edits as one step to undo, or none of them."""
        if len(edits) == 1 and isinstance(edits[0], Undo):
            self.undo()
            return
        if len(edits) == 1 and isinstance(edits[0], Redo):
            self.redo()
            return
        move = self.move
        for edit in edits:
            move = self._edited(move, edit)
        self.commit(move)

    def commit(self, move: Move) -> None:
        """Take another move as one step to undo; no difference is no step."""
        if _same(move, self.move):
            return
        move = self._wrapped(move)
        _ = move.result  # or a refusal
        self.past = [*self.past, self.move][-UNDO_LIMIT:]
        self.future = []
        self.move = move

    def undo(self) -> bool:
        """Take back the last edit; False if there is none."""
        if not self.past:
            return False
        self.future.append(self.move)
        self.move = self.past.pop()
        return True

    def redo(self) -> bool:
        """Take back the last undo; False if there is none."""
        if not self.future:
            return False
        self.past.append(self.move)
        self.move = self.future.pop()
        return True

    def _edited(self, move: Move, edit: Edit) -> Move:
        if isinstance(edit, SetRegister):
            return _with_word(move, edit.name, edit.lane, edit.register, edit.text)
        if isinstance(edit, SetCell):
            return _with_word(move, edit.name, edit.row, edit.column, edit.text)
        if isinstance(edit, FillMatrix):
            words = filled(move, edit.name, edit.pattern, self.random, edit.row, edit.column)
            return _with_words(move, edit.name, words)
        if isinstance(edit, SetRegisters | SetCodes):
            array = edit.registers if isinstance(edit, SetRegisters) else edit.codes
            return _with_words(move, edit.name, as_array(array, edit.name))
        if isinstance(edit, SetValues):
            return _with_words(move, edit.name, move.dtype.encode(as_array(edit.values, edit.name)))
        if isinstance(edit, SetMove):
            return self._with_choice(move, edit.name, edit.text)
        if isinstance(edit, DismissRefusal):
            return move
        raise PtxlabError(
            f"{type(edit).__name__} is an edit of instructions that multiply; "
            f"{move.form.mnemonic} takes SetRegister, SetCell, SetValues, FillMatrix and SetMove"
        )

    def _with_choice(self, move: Move, name: str, text: str) -> Move:
        """Another part of the form, or of the address, as it was chosen or typed."""
        text = text.strip()
        if name in ("lane", "column", "split"):
            at: dict[str, Any] = {"lane": move.lane, "column": move.column, "split": move.split}
            at[name] = None if name == "split" and not text else _number(name, text)
            return placed(move, **at)
        if name == "element":
            if move.form.reduction or not is_name(text, ELEMENTS):
                allowed = move.element if move.form.reduction else listing(ELEMENTS)
                raise PtxlabError(f"element {quoted(text)}: words are read as {allowed}")
            return replace(move, element=text)
        if not is_name(name, _PARTS[move.form.family]):
            names = listing([*_PARTS[move.form.family], "lane", "column", "split", "element"])
            raise PtxlabError(f"{move.form.mnemonic} has no {quoted(name)} to choose; it has {names}")
        return with_form(move, with_part(move.form, name, text), self.seed)


def _number(name: str, text: str) -> int:
    if not text.isdecimal() or len(text) > 6:
        raise PtxlabError(f"{name} {quoted(text)}: it is a whole number")
    return int(text)


def _with_word(move: Move, name: str, row: int, column: int, text: str) -> Move:
    words = _writable(move, name).copy()
    side = move.sides[name]
    at = f"{side.label}: "
    row = as_index(row, side.axes[0], words.shape[0], at)
    column = as_index(column, side.axes[1], words.shape[1], at)
    try:
        words[row, column] = _word(move, text)
    except PtxlabError as error:
        raise PtxlabError(f"{side.label}[{row}][{column}]: {error}") from None
    return _with_words(move, name, words)


def _word(move: Move, text: str) -> int:
    """A word as it is typed: bits in hexadecimal, or a number of the type that words are read as."""
    word = text.strip().lower()
    if move.element == "b32" or word.startswith(("0x", "0b")):
        return parse_register(text, 32)
    return parse(move.dtype, text)


def _writable(move: Move, name: str) -> Words:
    words = move.words(name)
    if name == "D":
        raise PtxlabError(
            f"D is what {move.form.mnemonic} leaves and cannot be changed; change "
            f"{' or '.join(_inputs(move))}"
        )
    return words


def _with_words(move: Move, name: str, words: NDArray[Any]) -> Move:
    before = _writable(move, name)
    if words.shape != before.shape:
        raise PtxlabError(f"{name}: found shape {quoted(words.shape)}; it takes {before.shape}")
    if words.dtype.kind not in "iu" or (
        words.size and not -(1 << 31) <= int(words.min()) <= int(words.max()) < 1 << 32
    ):
        raise PtxlabError(f"{name}: found {words.dtype}; it takes 32-bit unsigned integers")
    words = words.astype(np.uint32)
    return replace(move, a=words) if name == "A" else replace(move, c=words)


def _same(one: Move, other: Move) -> bool:
    def settings(move: Move) -> Mapping[str, Any]:
        return {name: value for name, value in vars(move).items() if name in _SETTINGS}

    same_c = (one.c is None and other.c is None) or np.array_equal(one.words("C"), other.words("C"))
    return settings(one) == settings(other) and same_c and np.array_equal(one.a, other.a)


_SETTINGS = ("form", "lane", "column", "split", "element")
