"""The state of the Explorer, without a widget: the document, its history, and what is shown beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..isa.catalog import Product
from ..isa.operation import Operation
from ..numerics.steps import Trace
from ..numerics.trace import trace
from .cells.refused_edit import RefusedEdit
from .documents.document import Document, as_product, as_transfer
from .documents.fills import check_seed
from .documents.forms import Explorable, explorable
from .documents.product_document import NO_CHIP, ChipChoice, ChipComparison, ProductDocument
from .documents.start import first_document
from .documents.transfer_document import TransferDocument
from .history import Generator, History, Log, UndoState
from .message import Message


@dataclass(frozen=True)
class MemoryRequest:
    """The matrix to show in shared memory, and its layout there; None means the default."""

    name: str
    by: str | None = None  # the instruction that moves it: ldmatrix, ld.shared, wgmma, wmma.load ...
    major: str | None = None  # which index is contiguous: that of a "row", or that of a "column"
    pitch: int | None = None  # bytes from one row or column to the next
    swizzle: int | None = None
    descriptor: str | None = None  # matrix descriptor in hexadecimal, instead of the fields above
    #: CuTe's notation, "Swizzle<3,3,3> o (16,64):(64,1)", instead of major, pitch, swizzle.
    layout: str | None = None


@dataclass(frozen=True)
class LoadRequest:
    """The tcgen05.ld to show beside tensor memory; None means the default."""

    shape: str = "32x32b"
    count: int | None = None  # how often the shape is repeated
    lane: int = 0  # where it begins, among each warp's 32
    column: int = 0
    pack: bool = False  # .pack::16b


class ExplorerState:
    """A document to edit, with its history. Edits (`ptxlab.explorer.edits`) are made whole or refused.

    What only one of the two kinds of documents has (`ins`, `operation` and `chip_choice` of a product,
    `transfer`) is refused for the other.

    >>> import ptxlab
    >>> from ptxlab.explorer.edits import SetCell
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> SetCell("A", 9, 37, "-3").apply(state)
    >>> hex(state.registers("A")[4, 3] >> 20 & 0xF), state.values("A")[9, 37]   # four bits in lane 4
    ('0xd', np.int8(-3))
    >>> state.undo()
    True
    """

    def __init__(self, ins: Explorable, seed: int = 0) -> None:
        form = explorable(ins)
        self.seed = check_seed(seed)
        self.random = np.random.default_rng(self.seed)
        self.open(first_document(form, self.seed, self.random))
        self.history = History()
        self.saved_view: Mapping[str, Any] = {}  # chosen lanes and cells, stored for undo by the presenter
        self.refusal: RefusedEdit | None = None  # of the page's last edit, if it was refused
        self.notices: tuple[str, ...] = ()  # what changed when another instruction was chosen
        self.memory: MemoryRequest | None = None  # the memory view, or None
        self.load = LoadRequest()  # beside the view of tensor memory

    def open(self, document: Document) -> None:
        """Show a document that no edit made."""
        self.document, self.log = document, Log(document, generator=self.random.bit_generator.state)

    # -- the document -------------------------------------------------------------------------------------

    @property
    def form(self) -> Explorable:
        """The instruction, of any kind."""
        return self.document.ins

    @property
    def product(self) -> ProductDocument:
        """The document, if its instruction multiplies."""
        return as_product(self.document)

    @property
    def ins(self) -> Product:
        """The instruction, if it multiplies."""
        return self.product.ins

    @property
    def operation(self) -> Operation:
        """The instruction with its operands, if it multiplies."""
        return self.product.operation

    @property
    def chip_choice(self) -> ChipChoice:
        """The chips whose D is shown, if the instruction multiplies."""
        return self.product.chip_choice

    @property
    def transfer(self) -> TransferDocument:
        """The document, if its instruction moves data."""
        return as_transfer(self.document)

    @property
    def threads(self) -> int:
        """The threads whose registers are shown: a warp or a warpgroup; for tcgen05.mma, one in each CTA.

        >>> import ptxlab
        >>> ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16")).threads
        256
        """
        return self.document.threads

    @property
    def chips(self) -> tuple[str, str | None]:
        """The chip whose D is shown and the one it is compared with; transfers are the same on all chips."""
        return self.document.chips

    def codes(self, name: str) -> NDArray[Any]:
        """Element codes of a matrix, D included."""
        return self.document.codes(name)

    def values(self, name: str) -> NDArray[Any]:
        """Values of a matrix, D included; for metadata its nibbles."""
        return self.document.values(name)

    def registers(self, name: str) -> NDArray[Any]:
        """Registers of an operand [lanes, registers], or words of tensor memory [lanes, columns].

        For an operand in shared memory, its codes.
        """
        return self.document.registers(name)

    @property
    def register_names(self) -> tuple[str, ...]:
        """The operands that `registers` takes: A, B, C, D, and E, SFA, SFB where they exist."""
        return self.document.register_names

    @property
    def options(self) -> dict[str, Any]:
        """The values of the modifiers that can be chosen."""
        return self.product.options

    def column_of_b(self, row: int, column: int) -> int:
        """The column of B that goes into a cell of D."""
        return self.ins.column_of_b(row, column) + self.operation.modifiers.column_shift

    def result(self, chip: str | None = None) -> NDArray[Any]:
        """The codes of D by a chip, computed once per operation."""
        return self.product.result(chip)

    def comparison(self, chip: str | None = None, against: str | None = None) -> ChipComparison:
        """D by the chosen chip and by the one it is compared with, or by others."""
        return self.product.comparison(chip, against)

    def trace(self, row: int, column: int, chip: str | None = None) -> Trace:
        """Why D[row][column] has its bits, by the model of a chip."""
        model = self.chip_choice.model
        if model == NO_CHIP:
            raise PtxlabError(f"{self.ins.mnemonic} {self.ins.shape}: {self.chip_choice.why_no_model}")
        return trace(self.operation, row, column, model=model if chip is None else chip)

    def explains(self, row: int, column: int) -> bool:
        """Whether a trace exists: there is a model, and the instruction writes the cell."""
        return self.document.explains(row, column)

    # -- changes ------------------------------------------------------------------------------------------

    def commit(
        self, document: Document, message: Message | None = None, before: Generator | None = None
    ) -> None:
        """Replace the document as one undo step, unless nothing changed.

        The log goes on with the message that made it; without one it begins anew. `before` is the state of
        the generator before a fill.
        """
        if document is self.document:
            return
        document.check()
        snapshot = self.snapshot
        self.history = self.history.after(snapshot)
        self.document = document
        if message is None:
            self.log = Log(document)
        else:
            now = snapshot.random
            self.log = self.log.after(message, document, now if before is None else before, now)

    def choose_chips(self, chip: str, against: str | None = None) -> None:
        """Show D of a chip, or of "GPU", and compare it with another; this is no step to undo."""
        self.show_chips(*self.chip_choice.checked(chip, against))

    def show_chips(self, chip: str, against: str | None = None) -> None:
        """The same for chips that may be missing here: a link names the GPU of another machine."""
        self.document = self.product.with_chips(chip, against)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """If anything inside is refused, restore everything: document, history, random generator."""
        attributes, generator = dict(vars(self)), self.random.bit_generator
        random = generator.state
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(attributes)
            generator.state = random
            raise

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """Make all edits inside one step to undo; if one is refused, none is made."""
        before, history = self.snapshot, self.history
        with self.all_or_nothing():
            yield
        if self.history is not history:
            self.history = history.after(before)

    @property
    def snapshot(self) -> UndoState:
        """A snapshot of this state."""
        random = self.random.bit_generator.state
        return UndoState(self.document, self.log, random, self.notices, self.saved_view)

    def undo(self) -> bool:
        """Undo the last edit or change of the instruction; False if there is none."""
        past, future = self.history.past, self.history.future
        if not past:
            return False
        self.history = History(past[:-1], (*future, self.snapshot))
        self._restore(past[-1])
        return True

    def redo(self) -> bool:
        """Redo what was undone last; False if there is nothing."""
        past, future = self.history.past, self.history.future
        if not future:
            return False
        self.history = History((*past, self.snapshot), future[:-1])
        self._restore(future[-1])
        return True

    def _restore(self, snapshot: UndoState) -> None:
        """Restore the document of a snapshot and, if its instruction differs, everything else."""
        before, self.log = self.document, snapshot.log
        if snapshot.document.ins == self.form:
            # The generator is not reset: filling again after an undo gives other numbers.
            self.document = snapshot.document
            if isinstance(before, ProductDocument):
                self.document = before.with_operation(self.operation)  # the chips stay
            return
        self.document = snapshot.document
        self.random = np.random.default_rng()
        self.random.bit_generator.state = snapshot.random
        self.notices, self.saved_view = snapshot.notices, snapshot.saved_view
        self.refusal = None

    def replace_instruction(self, other: ExplorerState, notices: tuple[str, ...] = ()) -> None:
        """Take over the document of another state as one undo step."""
        self.history = self.history.after(self.snapshot)
        self.document, self.log, self.random = other.document, other.log, other.random
        self.refusal, self.notices, self.saved_view = None, notices, {}

    def latest_product(self) -> ExplorerState | None:
        """This state, or the last in the history, if its instruction multiplies."""
        if isinstance(self.document, ProductDocument):
            return self
        past = [state for state in self.history.past if isinstance(state.document, ProductDocument)]
        if not past:
            return None
        before = ExplorerState(self.form, self.seed)
        before._restore(past[-1])
        return before
