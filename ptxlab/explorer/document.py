"""What the Explorer edits: an instruction with what it reads, as one immutable value.

`ProductDocument` (product_document.py) multiplies, `TransferOperation` (transfer.py) moves data: which of them
opens, the instruction decides. The rest of the Explorer asks the protocol below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .forms import Explorable

if TYPE_CHECKING:
    from .edits import Edit
    from .product_document import ProductDocument
    from .transfer import TransferOperation


class Document(ABC):
    """An instruction with what it reads. An edit makes another document, and leaves this one as it is.

    >>> import ptxlab
    >>> from ptxlab.explorer import ExplorerState
    >>> from ptxlab.explorer.edits import SetCell
    >>> document = ExplorerState(ptxlab.instruction("ldmatrix.sync.aligned.m8n8.x1.b16")).document
    >>> edited = document.apply(SetCell("A", 3, 1, "0xbeef"), np.random.default_rng(0))
    >>> hex(document.codes("D")[12, 1]), hex(edited.codes("D")[12, 1])
    ('0x301', '0xbeef')
    """

    ins: Explorable
    shows_lanes: ClassVar[bool]  # whether the page shows the registers of chosen lanes

    def apply(self, edit: Edit, random: np.random.Generator) -> Document:
        """This document after an edit, or a refusal; a fill may draw random numbers."""
        return edit.edited(self, random)

    @abstractmethod
    def check_edit(self, edit: Edit) -> None:
        """Refuse an edit of the other kind of document."""

    @abstractmethod
    def check(self) -> None:
        """Refuse content from which no D can be computed."""

    @abstractmethod
    def reverted(self, earlier: Document) -> Document:
        """An earlier document of the same instruction, shown as this one is."""

    # -- the two kinds ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def product(self) -> ProductDocument:
        """This document, if its instruction multiplies; a refusal otherwise."""

    @property
    @abstractmethod
    def transfer(self) -> TransferOperation:
        """This document, if its instruction moves data; a refusal otherwise."""

    # -- what there is ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """What can be edited, by name: registers, words, or codes."""

    @property
    @abstractmethod
    def settings(self) -> tuple[object, ...]:
        """Everything but the arrays: the instruction, and its modifiers or where it begins."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of all matrices, D included."""

    @property
    @abstractmethod
    def register_names(self) -> tuple[str, ...]:
        """The names that `registers` takes."""

    @property
    @abstractmethod
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        """Rows and columns of every matrix."""

    @property
    @abstractmethod
    def threads(self) -> int:
        """The threads whose registers are shown: a warp or a warpgroup; for tcgen05.mma, one in each CTA."""

    @property
    @abstractmethod
    def chips(self) -> tuple[str, str | None]:
        """The chip whose D is shown and the one it is compared with; transfers are the same on all chips."""

    @property
    @abstractmethod
    def available(self) -> tuple[str, ...]:
        """What can compute D: the chips with a model, and the GPU if it has the instruction."""

    @property
    @abstractmethod
    def has_result(self) -> bool:
        """Whether there is a D to show."""

    @abstractmethod
    def codes(self, name: str) -> NDArray[Any]:
        """Element codes of a matrix, D included."""

    @abstractmethod
    def values(self, name: str) -> NDArray[Any]:
        """Values of a matrix, D included; for metadata its nibbles."""

    @abstractmethod
    def registers(self, name: str) -> NDArray[Any]:
        """Registers [lanes, registers], words of tensor memory [lanes, columns], or codes of other memory."""

    @abstractmethod
    def thread_of(self, name: str, row: int, column: int) -> int | None:
        """The thread that holds a cell in a register; None where none does."""

    @abstractmethod
    def explains(self, row: int, column: int) -> bool:
        """Whether a trace exists: there is a model, and the instruction writes the cell."""

    # -- the same with something changed ------------------------------------------------------------------

    @abstractmethod
    def with_cell(self, name: str, row: int, column: int, text: str) -> Self:
        """With one cell as it was typed."""

    @abstractmethod
    def with_register(self, name: str, thread: int, register: int, text: str) -> Self:
        """With one register, or word of memory, from typed hexadecimal."""

    @abstractmethod
    def with_registers(self, name: str, registers: ArrayLike) -> Self:
        """With all registers of an operand."""

    @abstractmethod
    def with_codes(self, name: str, codes: NDArray[Any]) -> Self:
        """With a whole matrix of codes; the dense A of a sparse instruction is compressed again."""

    @abstractmethod
    def with_values(self, name: str, values: NDArray[Any]) -> Self:
        """With a whole matrix of values; the dense A of a sparse instruction is compressed again."""

    @abstractmethod
    def filled(
        self, name: str, pattern: str, random: np.random.Generator, row: int = 0, column: int = 0
    ) -> Self:
        """With a matrix filled; one-hot puts its 1 at `row`, `column`."""
