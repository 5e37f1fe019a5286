"""Where an element is: in a register of a lane, in a column of tensor memory, in a byte of shared memory.

Each kind of place says itself in `words`, and in the `cells` of a table; both ask its operand how it names
what holds its elements.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

#: What a table says of a place, by heading.
Cells: TypeAlias = dict[str, int | str]


def bit_span(low: int, high: int) -> str:
    """Bits, the highest first: ``7..4``, or ``7`` for a single bit."""
    return str(high) if low == high else f"{high}..{low}"


def bit_range(low: int, high: int) -> str:
    """The same in brackets, as in PTX: ``[7..4]``, or ``[7]``."""
    return f"[{bit_span(low, high)}]"


class Named(Protocol):
    """What a place asks its operand: its name, what holds its elements, and how many CTAs do."""

    @property
    def name(self) -> str: ...
    @property
    def holder(self) -> str: ...
    @property
    def ctas(self) -> int: ...


class Place(NamedTuple):
    """Where one element sits: lane, element index, register, and its lowest and highest bit there.

    >>> import ptxlab
    >>> a = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32").a
    >>> a.where(9, 37)
    [Place(lane=4, element=29, register=3, low=20, high=23)]
    >>> a.where(9, 37)[0].words(a)
    'lane 4, register 3, bits [23..20]'
    """

    lane: int
    element: int
    register: int
    low: int
    high: int

    @property
    def word(self) -> int:
        """The register."""
        return self.register

    @property
    def bits(self) -> str:
        """``[23..20]``."""
        return bit_range(self.low, self.high)

    def words(self, operand: Named) -> str:
        """``lane 4, register 3, bits [23..20]``; of a warpgroup ``thread 100, ...``."""
        return f"{operand.holder} {self.lane}, register {self.register}, bits {self.bits}"

    def cells(self, operand: Named) -> Cells:
        """What a table says."""
        element = f"{operand.name.lower()}{self.element}"
        return {"lane": self.lane, "element": element, "register": self.register, "bits": self.bits}


class Slot(NamedTuple):
    """The register of a thread, and its bits, that hold a word of tensor memory or half of one.

    >>> Slot(thread=37, register=0, low=0, high=31).words()
    'thread 37, register 0, bits [31..0]'
    """

    thread: int
    register: int
    low: int
    high: int

    def words(self) -> str:
        """``thread 37, register 0, bits [31..0]``."""
        return f"thread {self.thread}, register {self.register}, bits {bit_range(self.low, self.high)}"

    def cells(self) -> Cells:
        """What a table says."""
        bits = bit_range(self.low, self.high)
        return {"thread": self.thread, "warp": self.thread // 32, "register": self.register, "bits": bits}


class TensorPlace(NamedTuple):
    """Where an element lies: the CTA of the pair, lane, column, and its lowest and highest bit there.

    >>> place = TensorPlace(cta=0, lane=67, column=2, low=0, high=31)
    >>> place.address   # lane in the upper 16 bits
    4390914
    """

    cta: int
    lane: int
    column: int
    low: int
    high: int

    @property
    def word(self) -> int:
        """The column."""
        return self.column

    @property
    def address(self) -> int:
        """The tensor-memory address of its word, counted from that of the matrix."""
        return self.lane << 16 | self.column

    @property
    def bits(self) -> str:
        """``[31..0]``."""
        return bit_range(self.low, self.high)

    def words(self, operand: Named) -> str:
        """``lane 67, column 2, bits [31..0]``; in a pair of CTAs with the CTA before it."""
        cta = f"CTA {self.cta}, " if operand.ctas > 1 else ""
        return f"{cta}lane {self.lane}, column {self.column}, bits {self.bits}"

    def cells(self, operand: Named) -> Cells:
        """What a table says."""
        return {
            "cta": self.cta,
            "lane": self.lane,
            "column": self.column,
            "bits": self.bits,
            "address": f"0x{self.address:08x}",
        }


class SharedPlace(NamedTuple):
    """Where an element is in the shared memory of a CTA; `byte` counts from the start of the tile.

    A tile is divided into core matrices of 8 rows of 16 bytes: `core`, the `row` in it, the byte `in_row`.

    >>> place = SharedPlace(cta=0, byte=65, low=4, high=7, core=0, row=4, in_row=1, swizzle=0)
    >>> list(place.cells().items())[:3]
    [('byte offset', 65), ('core matrix', 0), ('row in it', 4)]
    """

    cta: int
    byte: int
    low: int
    high: int  # from 8 on in the bytes that follow
    core: int
    row: int
    in_row: int
    swizzle: int

    def cells(self) -> Cells:
        """What a table says; bits only if the element does not fill whole bytes."""
        cells: Cells = {
            "byte offset": self.byte,
            "core matrix": self.core,
            "row in it": self.row,
            "byte in its row": self.in_row,
            "swizzle": self.swizzle,
        }
        if self.low == 0 and self.high % 8 == 7:
            return cells
        return cells | {"bits": bit_range(self.low, self.high)}
