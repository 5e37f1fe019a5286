"""ldmatrix and its kin in the Explorer: elements between rows of memory and the registers of a warp."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._util.arguments import as_index, as_int
from ...errors import PtxlabError, error_prefix, quoted
from ...isa.dtypes import DType
from ...isa.operand import Operand
from ...isa.tcgen05.tcgen05_form import element_type
from ...isa.transfer import Transfer
from ...numerics.emulate_transfer import emulate, pack_row, unpack_row
from ..cells.parse_cell import parse_register
from .transfer_document import READ_AS, Codes, Indices, TransferDocument, TransferSide


def register_maps(operand: Operand, lane: Indices, element: Indices) -> dict[str, Indices]:
    """For elements by their lane and their number there: also the register, and the lowest bit in it."""
    places = [operand.place(0, index) for index in range(int(element.max()) + 1)]
    return {
        "lane": lane,
        "element_map": element,
        "register_map": np.array([place.register for place in places])[element],
        "low": np.array([place.low for place in places])[element],
    }


class MatrixTransfer(TransferDocument):
    """ldmatrix, stmatrix, movmatrix, wmma.load and wmma.store.

    The location is the stride of the rows: in bytes, or for wmma in elements. Row r of ldmatrix and stmatrix
    is at the address that lane r supplies.

    >>> import ptxlab
    >>> from ptxlab.explorer.documents.start import first_transfer
    >>> transfer = first_transfer(ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.trans.b16"))
    >>> [hex(code) for code in transfer.result[21]]   # a byte for the row, a byte for the column
    ['0x205', '0x305']
    """

    location_names = ("stride",)
    ins: Transfer

    @property
    def stores(self) -> bool:
        """Whether it writes memory."""
        return self.ins.family in ("stmatrix", "wmma.store")

    @property
    def has_memory(self) -> bool:
        """Whether it reads or writes memory: movmatrix does neither."""
        return self.ins.family != "movmatrix"

    @property
    def source_and_target(self) -> tuple[TransferSide, TransferSide]:
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
        """The types that elements can be read as: only the declared one, unless they are untyped bits."""
        declared = self.ins.register_operand.dtype
        only = (declared.name,)
        return READ_AS.get(declared.bits, only) if declared.kind == "bits" else only

    def dtype(self, name: str) -> DType:
        if self.ins.signed and name == "A":
            return element_type("s4")
        declared = self.ins.register_operand.dtype
        return declared if self.element == declared.name else element_type(self.element)

    def groups(self, name: str) -> dict[str, int]:
        if self.sides[name].in_registers:
            return {"group": self.ins.register_operand.elements_per_register}
        return {"band": self.ins.lines[0] // self.ins.count}

    def registers(self, name: str) -> Codes:
        codes = self.codes(name)
        return self.ins.register_operand.join(codes) if self.sides[name].in_registers else codes

    def with_registers(self, name: str, registers: ArrayLike) -> Self:
        if name in self.inputs and self.sides[name].in_registers:
            operand = self.ins.register_operand
            return self.with_codes(name, operand.split(operand.check_registers(registers)))
        return super().with_registers(name, registers)

    def with_register(self, name: str, thread: int, register: int, text: str) -> Self:
        if name not in self.inputs or not self.sides[name].in_registers:
            return super().with_register(name, thread, register, text)
        registers, operand = self.registers(name).copy(), self.ins.register_operand
        thread = as_index(thread, "lane", registers.shape[0], "R: ")
        register = as_index(register, "register", registers.shape[1], "R: ")
        with error_prefix(f"R, lane {thread}, register {register}"):
            registers[thread, register] = parse_register(text, operand.register_bits)
        return self.with_registers(name, registers)

    # -- memory -------------------------------------------------------------------------------------------

    @property
    def stride(self) -> int:
        """From one row to the next: bytes, or for wmma elements."""
        return self.location[0] or self.packed_stride

    @property
    def packed_stride(self) -> int:
        """The stride of rows without a gap."""
        return self.ins.lines[1] if self.ins.wmma else self.ins.row_bytes

    @property
    def offered_strides(self) -> tuple[int, ...]:
        """Strides to choose from: without a gap, with one, and those of wider matrices."""
        packed = self.packed_stride
        gap = 8 * self.ins.alignment // self.ins.register_operand.dtype.bits if self.ins.wmma else packed
        return packed, packed + gap, 4 * packed, 8 * packed, 8 * packed + gap

    def _check_location(self, *location: int | None) -> tuple[int | None, ...]:
        (stride,) = location
        if stride is None:
            return (None,)
        stride = as_int(stride, "stride")
        self.ins.addresses(stride=stride)  # refuses a stride that the instruction does not take
        unit = self.packed_stride
        if not self.ins.wmma and (stride < unit or stride % unit):
            raise PtxlabError(f"stride {quoted(stride)}: rows of {unit} bytes are a multiple of {unit} apart")
        if stride > 1 << 12:
            raise PtxlabError(f"stride {quoted(stride)}: the Explorer shows rows that are up to 4096 apart")
        return (None if stride == unit else stride,)

    @property
    def addresses(self) -> Indices:
        """The byte at which each row begins."""
        return self.ins.addresses(stride=self.stride)[: self.ins.lines[0]]

    @property
    def byte_addresses(self) -> Indices:
        """The byte of memory that each element begins in."""
        return self.addresses[:, None] + np.arange(self.ins.lines[1]) * self.ins.memory_bits // 8

    @property
    def row_bytes(self) -> Indices:
        """Indices of the bytes of each row that hold elements."""
        return self.addresses[:, None] + np.arange(self.ins.lines[1] * self.ins.memory_bits // 8)

    @property
    def memory(self) -> NDArray[np.uint8]:
        """The bytes that it reads, or zeros that it overwrites."""
        row = self.ins.lines[1] * self.ins.memory_bits // 8 if self.ins.wmma else self.ins.row_bytes
        memory = np.zeros(int(self.addresses[-1]) + row, dtype=np.uint8)
        if not self.stores:
            memory[self.row_bytes] = pack_row(self.a, self.ins.memory_bits)
        return memory

    # -- what it does -------------------------------------------------------------------------------------

    def _result(self) -> Codes:
        ins, operand = self.ins, self.ins.register_operand
        arguments = {"registers": operand.join(self.a)} if self.stores or not self.has_memory else {}
        if self.has_memory:
            arguments["memory"] = self.memory
        if "addresses" in ins.inputs:
            arguments["addresses"] = ins.addresses(stride=self.stride)
        result = emulate(ins, [arguments[name] for name in ins.inputs], self.stride if ins.wmma else None, 0)
        if not self.stores:
            return operand.split(result)
        rows = unpack_row(result[self.row_bytes], ins.memory_bits, ins.lines[1])
        return rows.astype(operand.dtype.code_type)

    def _source_cells(self) -> Indices:
        layout = self.ins.register_operand.layout
        assert layout is not None
        registers = layout.scatter()  # [rows, columns] of the matrix
        is_transposed = self.ins.layout == "col"
        if self.stores:
            return registers.T if is_transposed else registers
        if not self.has_memory:
            return registers.T.reshape(-1)[layout.gather]
        memory = np.arange(int(np.prod(self.ins.lines))).reshape(self.ins.lines)
        return (memory.T if is_transposed else memory).reshape(-1)[layout.gather]

    def column_names(self, name: str) -> list[str]:
        """The bits of registers: ``r0[15:0]``, or ``r0`` where an element fills a register."""
        if not self.sides[name].in_registers:
            return []
        operand, count = self.ins.register_operand, self.codes(name).shape[1]
        if operand.elements_per_register == 1:
            return [f"r{number}" for number in range(count)]
        places = (operand.place(0, element) for element in range(count))
        return [f"r{place.register}[{place.high}:{place.low}]" for place in places]

    def thread_maps(self, name: str) -> dict[str, Indices]:
        """For each element the lane that holds it, in which register, and from which bit on."""
        rows, columns = self.codes(name).shape
        cells = np.arange(rows * columns)
        if not self.sides[name].in_registers:
            if self.stores:
                cells = self.source_cells[:, 0]
            else:  # the first of several copies
                first = np.arange(self.source_cells.size)[::-1]
                cells[self.source_cells[first, 0]] = first
            columns = self.a.shape[1] if self.stores else self.result.shape[1]
        lane, element = np.divmod(cells, columns)
        return register_maps(self.ins.register_operand, lane, element)

    def _addresses(self, name: str) -> Codes:
        """Elements too narrow for an address count up."""
        codes, bits = self.codes(name), self.dtype(name).bits
        if bits < 16:
            return (np.arange(codes.size) % (1 << bits)).astype(codes.dtype).reshape(codes.shape)
        return super()._addresses(name)
