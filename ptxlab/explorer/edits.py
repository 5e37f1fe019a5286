"""Every edit of the Explorer's state: a frozen dataclass with `apply(state)`.

An edit is made whole, or refused with a `PtxlabError` that leaves the state as it was. `session.MESSAGES`
lists the edits that the page can send; the last few take arrays and come from Python only.

The path of an edited cell, from the page to Python and back:

     1. front/pane/pane.js            Pane.write                      what was typed, as a message `set_cell`
     2. front/app.js                  App.send                        to a comm; in a tab `LiveModel.send`
     3. notebook_page.py              NotebookPage._handle_custom_msg from the comm; in a tab `Tab.handle`
     4. session.py                    PageSession.handle              the message is decoded: `SetCell`
     5. presenter.py                  Presenter.apply                 one step to undo, or a refusal
     6. edits.py                      make_edits                      the edit is applied to the state
     7. edits.py                      SetCell.edited                  another document
     8. documents/product_document.py ProductDocument.with_cell       the text becomes the code of an element
     9. state.py                      ExplorerState.commit            the document is checked, and D computed
    10. presenter.py                  Presenter.show                  what changed goes into the page model
    11. page/render.py                render                          which values of the page changed
    12. page/page_values.py           matrix_bytes                    a matrix as bytes
    13. page/page_model.py            PageModel.send_state            only the words that changed (`delta`)
    14. notebook_page.py              NotebookPage._transport         over the comm; in a tab `encode`
    15. front/common/deltas.js        applyDeltas                     the whole matrix again
    16. front/app.js                  App.redraw                      all parts, from `Content.read` on
    17. front/pane/pane.js            Pane.draw                       the cells
    18. front/common/highlight.js     flashChanges                    what changed lights up
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._util.arguments import as_array, is_name
from ..errors import PtxlabError, error_prefix, listing, quoted
from ..isa.catalog import Product
from ..isa.mma import Instruction
from ..isa.tcgen05 import TensorInstruction
from .cells.cell_blocks import cell_range, check_writable, extend_cells, unedited
from .cells.parse_cell import parse_block, parse_register
from .cells.refused_edit import BrokenStructure, with_codes
from .documents.document import Document, as_product, as_transfer
from .documents.fills import start_code
from .documents.forms import Explorable, explorable
from .documents.masks import mask_names, parse_mask
from .documents.product_document import check_register
from .documents.transfer_document import TransferDocument
from .documents.transfer_parts import PARTS, with_part
from .message import Message
from .migrate import migrate_operands, migrate_transfer
from .page.memory_view import memory_layout
from .page.tensor_view import keep_descriptor, parse_descriptor, parse_field
from .state import ExplorerState

#: A matrix (A, stored, B, ...) or an operand with registers; the second argument is its type on the page.
MatrixName = Annotated[str, "Name"]


@dataclass(frozen=True)
class Edit(Message):
    """An edit of the state."""

    of_transfers: ClassVar[bool] = False  # whether instructions that move data take it
    logged: ClassVar[bool] = True  # whether a link has the message; else it has the arrays

    def apply(self, state: ExplorerState) -> None:
        """Make the change, or raise and leave the state as it was."""
        state.commit(self.edited(state.document, state.random), self if self.logged else None)

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        """A document after an edit that asks nothing else, or a refusal; a fill may draw random numbers."""
        raise NotImplementedError


# -- cells, as in a spreadsheet --------------------------------------------------------------------------


@dataclass(frozen=True)
class SetCell(Edit):
    """Write one cell from typed text.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> SetCell("A", 0, 1, "9").apply(state)
    Traceback (most recent call last):
        ...
    ptxlab.explorer.cells.refused_edit.RefusedEdit: A[0][1]: found 9; s4 holds -8..7
    """

    name: MatrixName
    row: int
    column: int
    text: str
    of_transfers = True

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        return document.with_cell(self.name, self.row, self.column, self.text)


@dataclass(frozen=True)
class Paste(Edit):
    """Write a block of cells from copied text; empty cells stay as they are.

    The text may come from a spreadsheet, a CSV file, a terminal, a NumPy print or a list. A range that is a
    multiple of the block in size is filled with copies of it.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> Paste("A", 0, 0, "[[1. 2.]\\n [3. nan]]").apply(state)
    >>> state.values("A")[:2, :2].tolist()
    [[1.0, 2.0], [3.0, nan]]
    """

    name: MatrixName
    row: int
    column: int
    text: str
    row2: int | None = None
    column2: int | None = None

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        product, words = as_product(document), parse_block(self.text)
        target = cell_range(product.operation, self.name, self.row, self.column, self.row2, self.column2)
        return product.with_words(self.name, target, words, self.text, (self.row, self.column))


@dataclass(frozen=True)
class ClearCells(Edit):
    """Reset a range to the value that cells start with."""

    name: MatrixName
    row: int
    column: int
    row2: int
    column2: int

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        check_writable(self.name)
        operation = as_product(document).operation
        edited = unedited(operation, self.name)
        cells = cell_range(operation, self.name, self.row, self.column, self.row2, self.column2)
        edited.codes[cells.slices] = start_code(operation.operand(self.name))
        edited.written[cells.slices] = True
        return as_product(document).with_operation(
            with_codes(operation, self.name, edited.codes, typed=edited.written)
        )


@dataclass(frozen=True)
class ExtendCells(Edit):
    """Extend a range to a row or column beyond it, as the fill handle does: by copies, or by equal steps."""

    name: MatrixName
    row: int
    column: int
    row2: int
    column2: int
    to_row: int
    to_column: int
    series: bool

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        check_writable(self.name)
        operation = as_product(document).operation
        source = cell_range(operation, self.name, self.row, self.column, self.row2, self.column2)
        edited = extend_cells(operation, self.name, source, self.to_row, self.to_column, self.series)
        return as_product(document).with_operation(
            with_codes(operation, self.name, edited.codes, typed=edited.written)
        )


@dataclass(frozen=True)
class FillMatrix(Edit):
    """Fill a whole matrix; sparse A is pruned. one-hot puts its 1 at `row`, `column`."""

    name: MatrixName
    pattern: str
    row: int = 0
    column: int = 0
    of_transfers = True

    def apply(self, state: ExplorerState) -> None:
        before = state.random.bit_generator.state
        with state.all_or_nothing():  # a fill that is refused draws no random numbers
            state.commit(self.edited(state.document, state.random), self, before)

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        return document.filled(self.name, self.pattern, random, self.row, self.column)


@dataclass(frozen=True)
class PruneChunks(Edit):
    """Make the last refused edit, pruned so that A keeps its structure."""

    def apply(self, state: ExplorerState) -> None:
        if isinstance(state.refusal, BrokenStructure):
            operation = state.operation.with_codes("A", state.refusal.pruned)
            state.commit(state.product.with_operation(operation))
        state.refusal = None


@dataclass(frozen=True)
class DismissRefusal(Edit):
    """Leave everything as it is after a refused edit."""

    of_transfers = True

    def apply(self, state: ExplorerState) -> None:
        state.refusal = None


# -- registers -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetRegister(Edit):
    """Write one register of one lane from typed hexadecimal."""

    name: MatrixName
    lane: int
    register: int
    text: str
    of_transfers = True

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        return document.with_register(self.name, self.lane, self.register, self.text)


@dataclass(frozen=True)
class FlipBit(Edit):
    """Invert one bit of one register."""

    name: MatrixName
    lane: int
    register: int
    bit: int

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        operand = as_product(document).register_operand(self.name)
        where = check_register(operand, self.lane, self.register)
        bits = 8 * operand.register_type().itemsize
        if not 0 <= self.bit < bits:
            raise PtxlabError(f"{where}: bit {quoted(self.bit)} does not exist; bits go from 0 to {bits - 1}")
        registers = document.registers(self.name)
        registers[self.lane, self.register] ^= operand.register_type(1 << self.bit)
        return document.with_registers(self.name, registers)


# -- shared memory ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetWord(Edit):
    """Write `size` bytes of the displayed shared memory from a hexadecimal text, little-endian.

    >>> import ptxlab
    >>> from ptxlab.explorer.state import MemoryRequest
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> state.memory = MemoryRequest("A", swizzle=128)
    >>> SetWord(address=144, size=4, text="0x40003c00").apply(state)   # row 1 is swizzled
    >>> state.values("A")[1, :2].tolist()
    [1.0, 2.0]
    """

    address: int
    size: int
    text: str

    def apply(self, state: ExplorerState) -> None:
        layout = memory_layout(state)
        if layout is None:
            raise PtxlabError("no memory is shown; ex.show_memory shows that of a matrix")
        if self.size not in (1, 2, 4, 8) or self.address % self.size:
            raise PtxlabError(
                f"byte {quoted(self.address)}: {quoted(self.size)} bytes cannot be written there; 1, 2, 4 or "
                "8 bytes can, at multiples of their number"
            )
        where = f"{layout.name} in shared memory, byte 0x{self.address & 0xFFFFFFFF:x}"
        placement = layout.placement
        if not 0 <= self.address < placement.size:
            raise PtxlabError(f"{where}: bytes go from 0 to 0x{placement.size - 1:x}")
        check_writable(layout.name)
        with error_prefix(where):
            content = parse_register(self.text, 8 * self.size)
        operand = state.operation.operand(layout.name)
        before = state.operation.codes(layout.name)
        memory, span = placement.store(before), slice(self.address, self.address + self.size)
        memory[span] = np.frombuffer(content.to_bytes(self.size, "little"), np.uint8)
        codes = placement.load(memory, operand.dtype.bits).astype(before.dtype)
        if (placement.store(codes)[span] != memory[span]).any():
            raise PtxlabError(f"{where}: no element of {layout.name} is there to take {quoted(self.text)}")
        operation = with_codes(state.operation, layout.name, codes, typed=codes != before)
        state.commit(state.product.with_operation(operation))


# -- modifiers, chips, the instruction -------------------------------------------------------------------


@dataclass(frozen=True)
class SetOption(Edit):
    """Set a modifier: selector, scale_d, imm_scale_a ..."""

    name: str
    value: int | bool

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        return as_product(document).with_option(self.name, self.value)


@dataclass(frozen=True)
class SetMask(Edit):
    """Set a mask of tcgen05.mma from a text: lanes of D that keep their content, or columns of B read as 0.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", n=8))
    >>> SetMask("disable_output_lane", "0..3, 16").apply(state)
    >>> state.values("D")[:4].any(), hex(state.operation.modifiers.disable_output_lane)
    (np.False_, '0x1000f')
    """

    name: str
    text: str

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        ins = as_product(document).ins
        names = mask_names(ins)
        if not isinstance(ins, TensorInstruction) or not is_name(self.name, names):
            raise PtxlabError(
                f"{ins.mnemonic} has no mask {quoted(self.name)}; it has {listing(names) or 'none'}"
            )
        return as_product(document).with_option(self.name, parse_mask(ins, self.name, self.text))


@dataclass(frozen=True)
class SetChips(Edit):
    """Choose the chip whose D is shown, and the one that it is compared with."""

    chip: str
    against: str | None

    def apply(self, state: ExplorerState) -> None:
        state.choose_chips(self.chip, self.against)


@dataclass(frozen=True)
class ChooseInstruction(Edit):
    """Switch to another instruction; matrices that fit are kept, and `state.notices` says what changed.

    Any name that `ptxlab.instruction` takes will do. "as named" leaves A of wgmma in registers, unless the
    name is a CUTLASS atom that reads it from shared memory. tcgen05.mma has A in "shared" or "tensor" memory,
    and keeps as much of its descriptor as the new kind has.
    """

    mnemonic: str
    a_space: Literal["register", "shared", "tensor", "as named"] = "as named"
    of_transfers = True

    def apply(self, state: ExplorerState) -> None:
        form = explorable(self.mnemonic)
        if isinstance(form, TensorInstruction):
            if self.a_space in ("shared", "tensor"):
                form = form.a_from("tensor" if self.a_space == "tensor" else "shared")
            if isinstance(state.form, TensorInstruction):
                form = keep_descriptor(state.form, form)
        elif (
            isinstance(form, Instruction)
            and self.a_space in ("register", "shared")
            and form.family.startswith("wgmma")
        ):
            form = form.a_from("register" if self.a_space == "register" else "shared")
        change_instruction(state, form)


@dataclass(frozen=True)
class SetDescriptor(Edit):
    """Switch to another instruction descriptor of tcgen05.mma, from its 32 bits in hexadecimal.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::f16", m=64, n=16))
    >>> SetDescriptor("0x04060010").apply(state)
    >>> state.ins.shape
    'm64n24k16'
    """

    text: str

    def apply(self, state: ExplorerState) -> None:
        change_instruction(state, parse_descriptor(_tensor_form(state), self.text))


@dataclass(frozen=True)
class SetDescriptorField(Edit):
    """Write one field of the instruction descriptor of tcgen05.mma, as the field shows its value."""

    name: str
    text: str

    def apply(self, state: ExplorerState) -> None:
        change_instruction(state, parse_field(_tensor_form(state), self.name, self.text))


@dataclass(frozen=True)
class SetTransfer(Edit):
    """Choose one part of a transfer by name: of its mnemonic, or of where it accesses memory.

    Names are "shape", "count", "pack", "operation" and other parts of the mnemonic; "lane", "column" and
    "split" of an address in tensor memory; "stride" of rows in other memory; and "element", the type that
    words are read as.

    >>> import ptxlab
    >>> ex = ptxlab.explore("tcgen05.ld.sync.aligned.32x32b.x4.b32")
    >>> ex.apply(SetTransfer("shape", "16x64b"), SetTransfer("lane", "16"))
    >>> ex.instruction.mnemonic, hex(ex.D[0, 1])
    ('tcgen05.ld.sync.aligned.16x64b.x4.b32', '0x100002')
    """

    name: str
    text: str
    of_transfers = True

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        return _with_choice(as_transfer(document), self.name, self.text.strip())


def _with_choice(transfer: TransferDocument, name: str, text: str) -> TransferDocument:
    """A transfer with another part of the instruction, or of its location, as it was chosen or typed."""
    if name == "element":
        return transfer.with_element(text)
    if name in transfer.location_names:
        location = dict(zip(transfer.location_names, transfer.location, strict=True))
        is_left_out = name == "split" and not text
        if not is_left_out and (not text.isdecimal() or len(text) > 6):
            raise PtxlabError(f"{name} {quoted(text)}: it is a whole number")
        location[name] = None if is_left_out else int(text)
        return transfer.with_location(*location.values())
    parts = PARTS[transfer.ins.family]
    if not is_name(name, parts):
        names = listing([*parts, *transfer.location_names, "element"])
        raise PtxlabError(f"{transfer.ins.mnemonic} has no {quoted(name)} to choose; it has {names}")
    return migrate_transfer(transfer, with_part(transfer.ins, name, text))


def _tensor_form(state: ExplorerState) -> TensorInstruction:
    if not isinstance(state.ins, TensorInstruction):
        raise PtxlabError(
            f"{state.ins.mnemonic} has no instruction descriptor: its mnemonic says all; tcgen05.mma has one"
        )
    return state.ins


def change_instruction(state: ExplorerState, ins: Explorable) -> None:
    """Switch to another instruction, keeping what fits it; the same instruction changes nothing."""
    if ins == state.form:
        state.refusal, state.notices = None, ()
    elif not isinstance(ins, Product) and isinstance(state.document, TransferDocument):
        state.commit(migrate_transfer(state.document, ins))
    elif not isinstance(ins, Product):
        state.replace_instruction(ExplorerState(ins, state.seed))
    else:
        other, before = ExplorerState(ins, state.seed), state.latest_product()
        notices: tuple[str, ...] = ()
        if before is not None and before.ins == ins:
            other = before
        elif before is not None:
            notices = tuple(migrate_operands(before, other))
        state.replace_instruction(other, notices)


@dataclass(frozen=True)
class Undo(Edit):
    """Undo the last edit, if there is one."""

    of_transfers = True

    def apply(self, state: ExplorerState) -> None:
        state.undo()


@dataclass(frozen=True)
class Redo(Edit):
    """Redo the last undone edit, if there is one."""

    of_transfers = True

    def apply(self, state: ExplorerState) -> None:
        state.redo()


# -- from Python only ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SetValues(Edit):
    """Write a whole matrix of values; the dense A of a sparse instruction is compressed again."""

    name: str
    values: ArrayLike
    of_transfers, logged = True, False

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        return document.with_values(self.name, as_array(self.values, self.name))


@dataclass(frozen=True, eq=False)
class SetCodes(Edit):
    """Write a whole matrix of codes; the dense A of a sparse instruction is compressed again."""

    name: str
    codes: ArrayLike
    of_transfers, logged = True, False

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        return document.with_codes(self.name, as_array(self.codes, self.name))


@dataclass(frozen=True, eq=False)
class SetRegisters(Edit):
    """Write all registers of an operand."""

    name: str
    registers: ArrayLike
    of_transfers, logged = True, False

    def edited(self, document: Document, random: np.random.Generator) -> Document:
        return document.with_registers(self.name, self.registers)


def make_edits(state: ExplorerState, edits: Sequence[Edit]) -> None:
    """Make several edits as one undo step, or none of them.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("tcgen05.st.sync.aligned.32x32b.x1.b32"))
    >>> make_edits(state, [SetRegister("A", lane=5, register=0, text="0xabc")])
    >>> hex(state.codes("D")[5, 0]), state.undo(), hex(state.codes("D")[5, 0])
    ('0xabc', True, '0x50000')
    """
    # a single Undo must not become a step itself
    with state.all_or_nothing() if len(edits) == 1 else state.one_step():
        for edit in edits:
            if isinstance(state.document, TransferDocument) and not edit.of_transfers:
                raise PtxlabError(
                    f"{type(edit).__name__} is an edit of instructions that multiply; "
                    f"{state.form.mnemonic} takes SetRegister, SetCell, SetValues, FillMatrix and SetTransfer"
                )
            edit.apply(state)
