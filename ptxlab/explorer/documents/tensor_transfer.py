"""Instructions of tensor memory in the Explorer: tcgen05.ld, .st, .cp and .shift, which move 32-bit words."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ..._util.arguments import as_int
from ...errors import PtxlabError, quoted
from ...isa.tcgen05 import UNPACKED, TensorTransfer
from ...isa.tensor_operand import COLUMNS, LANES
from ...memory import Tcgen05Descriptor
from ...numerics import emulate_tcgen05_transfer
from .transfer_document import Codes, Indices, TransferDocument, TransferSide

_MIN_COLUMNS = 32  # the least that tcgen05.alloc allocates
_CORE_ROWS, _CORE_BYTES = 8, 128  # of a core matrix in shared memory

TENSOR_MEMORY = TransferSide("T", "Tensor memory", ("lane", "column"))
REGISTERS = TransferSide("R", "Registers", ("thread", "register"))
SHARED_MEMORY = TransferSide("S", "Shared memory", ("row", "word"))


def shown_columns(ins: TensorTransfer) -> int:
    """Columns of tensor memory to show: a power of two, as tcgen05.alloc allocates, with some to spare.

    >>> import ptxlab
    >>> shown_columns(ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x32.b32"))
    64
    """
    return min(max(_MIN_COLUMNS, 1 << ins.columns.bit_length()), COLUMNS)


class TensorMemoryTransfer(TransferDocument):
    """Words to or from tensor memory; the location is the lane and column of taddr, and immHalfSplitoff."""

    location_names = ("lane", "column", "split")

    ins: TensorTransfer

    @property
    def lane(self) -> int:
        """The lane of taddr."""
        return self.location[0] or 0

    @property
    def column(self) -> int:
        """The column of taddr."""
        return self.location[1] or 0

    @property
    def split(self) -> int | None:
        """immHalfSplitoff of 16x32bx2; None for half of the columns."""
        return self.location[2]

    @property
    def address(self) -> int:
        """`taddr`: the lane in its upper 16 bits, the column in the lower."""
        return self.lane << 16 | self.column

    @property
    def tensor_columns(self) -> int:
        """Columns of tensor memory that are shown."""
        return shown_columns(self.ins)

    @property
    def elements(self) -> tuple[str, ...]:
        """The types that words can be read as; a reduction names the only one."""
        return (self.element,) if self.ins.reduction else super().elements

    @property
    def first_lanes(self) -> tuple[int, ...]:
        """The lanes that taddr may name."""
        return (0,)

    def last_column(self, split: int | None) -> int:
        """The last column that taddr may name."""
        return self.tensor_columns - (self.ins.columns if split is None else self.ins.columns // 2)

    def _check_location(self, *location: int | None) -> tuple[int | None, ...]:
        ins, columns = self.ins, self.tensor_columns
        lane, column, split = as_int(location[0], "lane"), as_int(location[1], "column"), location[2]
        if lane not in self.first_lanes:
            where = "it begins in lane " + " or ".join(map(str, self.first_lanes))
            of_warp = " of each warp's 32" if ins.threads == 32 else ""
            raise PtxlabError(f"lane {quoted(lane)}: {where}{of_warp}")
        last = self.last_column(split)
        if not 0 <= column <= last:
            raise PtxlabError(
                f"column {quoted(column)}: {ins.mnemonic} takes {ins.columns} of the {columns} columns "
                f"shown; it begins in column 0 to {last}"
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
        """Halves of words have an address of 8 and 8 bits each, where halves are moved; elements count up."""
        if name == "A" and self.ins.source:
            return _packed_elements(self.a.shape, UNPACKED[self.ins.source])
        if name == "A" and self.ins.pack:
            rows, columns = (np.arange(size, dtype=np.uint32) for size in self.a.shape)
            in_registers = self.sides["A"].in_registers  # then each register has the halves of two columns
            low = rows[:, None] << np.uint32(8) | (2 * columns if in_registers else columns)
            high = low + np.uint32(1) if in_registers else low
            return high << np.uint32(16) | low
        return super()._addresses(name)


def _packed_elements(shape: tuple[int, ...], bits: int) -> Codes:
    """Rows whose elements count up, 16 in every 16 bytes, with the padding that cp skips."""
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
        """The lanes that taddr may name, among each warp's 32."""
        return (0,) if self.ins.shape == "32x32b" else (0, 16)

    @cached_property
    def slots(self) -> Indices:
        """The flat index of the word of tensor memory behind each register: [128, registers, parts]."""
        ins = self.ins
        if ins.compresses:
            ins = replace(ins, reduces=False, compresses=False, reduction="", absolute=False, nan=False,
                          type="b32")  # fmt: skip
        lanes, columns = emulate_tcgen05_transfer.places(ins, self.address, self.split, self.tensor_columns)
        return (lanes * self.tensor_columns + columns).reshape(LANES, ins.registers, -1)

    def thread_maps(self, name: str) -> dict[str, Indices]:
        """For each word the thread and the register that it goes to or comes from; -1 for none."""
        rows, columns = self.codes(name).shape
        if self.sides[name].in_registers:
            thread, register = np.divmod(np.arange(rows * columns), columns)
        else:
            thread, register = np.full(rows * columns, -1), np.full(rows * columns, -1)
            thread[self.slots] = np.arange(LANES)[:, None, None]
            register[self.slots] = np.arange(self.slots.shape[1])[:, None]
        return {"lane": thread, "element_map": register, "register_map": register, "low": 0 * thread}


class LoadTransfer(RegisterTransfer):
    """tcgen05.ld: tensor memory to registers, with .red their reduction, with .spcompress compressed."""

    source_and_target = (TENSOR_MEMORY, REGISTERS)

    @cached_property
    def _loaded(self) -> list[Codes]:
        """What it leaves in registers: metadata, values and the reduction, as far as it has them."""
        loaded = emulate_tcgen05_transfer.load(self.ins, self.a, self.address, self.split)
        parts = loaded if isinstance(loaded, tuple) else (loaded,)
        return [part if part.ndim == 2 else part[:, None] for part in parts]

    def _result(self) -> Codes:
        return np.concatenate(self._loaded, axis=-1)

    def column_names(self, name: str) -> list[str]:
        """The registers of a thread, as PTX names them."""
        if name != "D":
            return []
        counts = [part.shape[-1] for part in self._loaded]
        operands = ("mdata", "cdata", "redval") if self.ins.compresses else ("r", "redval")
        return [
            operand if operand == "redval" else f"{operand}{number}"
            for operand, count in zip(operands, counts, strict=False)
            for number in range(count)
        ]

    def _source_cells(self) -> Indices:
        slots = self.slots
        if not (self.ins.reduces or self.ins.compresses):
            return slots
        flat, parts = slots[..., 0], list[Indices]()
        loaded = self.a.reshape(-1)[flat]
        if self.ins.compresses:
            metadata, kept = self._loaded[:2]
            numbers = np.arange(kept.shape[-1])
            indices = metadata[:, numbers // 16] >> (2 * (numbers % 16)).astype(np.uint32) & np.uint32(3)
            parts = [np.full(metadata.shape, -1), np.take_along_axis(flat, numbers // 2 * 4 + indices, -1)]
        else:
            parts = [flat]
        if self.ins.reduces:  # the first word that equals the result; none does if that is a canonical NaN
            mask = np.uint32(0x7FFFFFFF if self.ins.absolute else 0xFFFFFFFF)
            equal = loaded & mask == self._loaded[-1] & mask
            chosen = np.take_along_axis(flat, equal.argmax(axis=-1)[:, None], -1)
            parts.append(np.where(equal.any(axis=-1, keepdims=True), chosen, -1))
        return np.concatenate(parts, axis=-1)


class StoreTransfer(RegisterTransfer):
    """tcgen05.st: registers to tensor memory."""

    source_and_target, keeps_target = (REGISTERS, TENSOR_MEMORY), True

    def _result(self) -> Codes:
        assert self.c is not None
        return emulate_tcgen05_transfer.store(self.ins, self.a, self.c, self.address, self.split)

    def _source_cells(self) -> Indices:
        cells = np.full(self.result.size, -1)
        registers = np.arange(self.a.size).reshape(*self.a.shape, 1)
        cells[self.slots] = np.broadcast_to(registers, self.slots.shape)
        return cells


class CopyTransfer(TensorMemoryTransfer):
    """tcgen05.cp: rows of shared memory to tensor memory."""

    source_and_target, keeps_target = (SHARED_MEMORY, TENSOR_MEMORY), True

    @property
    def descriptor(self) -> Tcgen05Descriptor:
        """The matrix descriptor of its rows: core matrices of 8 rows of 16 bytes, one after the other.

        >>> import ptxlab
        >>> from ptxlab.explorer.documents.start import first_transfer
        >>> transfer = first_transfer(ptxlab.instruction("tcgen05.cp.cta_group::1.128x256b"))
        >>> transfer.descriptor.leading, hex(transfer.byte_addresses[9, 5])   # second 16 bytes of rows, row 9
        (2048, '0x894')
        """
        groups = -(-self.a.shape[0] // _CORE_ROWS)
        return Tcgen05Descriptor(address=0, leading=_CORE_BYTES * groups, stride=_CORE_BYTES)

    @property
    def byte_addresses(self) -> Indices:
        """Where the words that it reads are in shared memory."""
        rows, words = self.a.shape
        return self.descriptor.addresses(np.arange(rows)[:, None], np.arange(words), bits=32)

    def _result(self) -> Codes:
        assert self.c is not None
        return emulate_tcgen05_transfer.copy_rows(self.ins, self.a, self.c, self.address)

    def _source_cells(self) -> Indices:
        """Where narrow elements become bytes, each word of D comes from one or two words of A."""
        bits = UNPACKED.get(self.ins.source, 8)
        word = np.arange(self.a.shape[1])
        first, last = (4 * bits * (word % 4)) // 32, (4 * bits * (word % 4 + 1) - 1) // 32
        index = np.arange(self.a.size).reshape(self.a.shape)
        base = index - word % 4
        plain = replace(self.ins, source="")
        unwritten = np.full(self.result.shape, 0xFFFFFFFF, dtype=np.uint32)
        copied = emulate_tcgen05_transfer.copy_rows(plain, index, unwritten, self.address)
        copied = copied.reshape(-1).astype(np.int64)
        is_written = copied != 0xFFFFFFFF
        both = np.stack([(base + first).reshape(-1), (base + last).reshape(-1)], axis=-1)
        cells = np.where(is_written[:, None], both[np.where(is_written, copied, 0)], -1)
        if not self.ins.source:
            return cells[:, :1]
        cells[cells[:, 0] == cells[:, 1], 1] = -1
        return cells


class ShiftTransfer(TensorMemoryTransfer):
    """tcgen05.shift: 32 lanes of tensor memory, each moved to the lane before it."""

    source_and_target = (
        replace(TENSOR_MEMORY, when="before"),
        replace(TENSOR_MEMORY, label="T'", when="after"),
    )
    first_lanes = (0, 32, 64, 96)

    def _result(self) -> Codes:
        return emulate_tcgen05_transfer.shift(self.ins, self.a, self.address)

    def _source_cells(self) -> Indices:
        cells = np.full(self.a.shape, -1)
        before = np.arange(self.a.size).reshape(self.a.shape)
        columns = slice(self.column, self.column + self.ins.columns)
        cells[self.lane : self.lane + 31, columns] = before[self.lane + 1 : self.lane + 32, columns]
        return cells
