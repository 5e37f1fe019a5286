"""An instruction that multiplies, in the Explorer: its operands, and the chips that compute D."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import gpu
from ..._util.arguments import as_flag, as_index, as_int, is_name
from ...errors import PtxlabError, error_prefix, listing, quoted
from ...isa.catalog import Product
from ...isa.modifiers import Modifiers
from ...isa.operand import MatrixOperand, Operand
from ...isa.operation import Operation
from ...isa.product_form import ProductForm
from ...isa.targets import GENERATIONS
from ...isa.tcgen05 import TensorInstruction
from ...isa.tensor_operand import LANES
from ...numerics import has
from ...numerics.emulate import codes_of_d, model_of
from ...numerics.models import why_no_model
from ...numerics.trace import disabled_lane
from ..cells.cell_blocks import CellRange, cell_range, paste_cells
from ..cells.parse_cell import parse_cells, parse_register
from ..cells.refused_edit import RefusedEdit, undefined_metadata, with_codes
from . import fills
from .masks import option_names

GPU = "GPU"  # listed beside the names of chips
NO_CHIP = ""  # in place of a chip where there is no model: D stays empty


@dataclass(frozen=True)
class ChipComparison:
    """The codes of D by one chip, and by a second one if there is one to compare with."""

    codes: NDArray[Any]
    other: NDArray[Any] | None = None

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Cells whose bits are not the same; all False without a second result."""
        if self.other is None:
            return np.zeros(self.codes.shape, dtype=np.bool_)
        return np.asarray(self.codes != self.other)


class ChipChoice:
    """The chip whose D is shown, and the one that it is compared with; another choice is another object.

    >>> import ptxlab
    >>> choice = ChipChoice(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> choice.chip, choice.against
    ('sm_90', None)
    >>> choice.checked("sm_80", against="sm_90")
    ('sm_80', 'sm_90')
    """

    def __init__(self, ins: ProductForm) -> None:
        self.ins = ins
        self.why_no_model = why_no_model(ins)  # "" if a model computes D; without one only a GPU does
        self.models: tuple[str, ...] = () if self.why_no_model else _chips_with_models(ins)
        self.first = self.models[0] if self.models else NO_CHIP  # the chip that `emulate` uses by default
        self.chip = self.first  # whose D is shown: one of `available`, or NO_CHIP
        self.against: str | None = None
        self.empty = np.zeros(ins.d.shape, dtype=ins.d.dtype.code_type)  # D without a model

    @property
    def has_result(self) -> bool:
        """Whether there is a D to show."""
        return self.chip != NO_CHIP

    @cached_property
    def available(self) -> tuple[str, ...]:
        """What can compute D: the models, and the GPU if it has the instruction, as the driver said once."""
        return (*self.models, GPU) if gpu.available(self.ins) else self.models

    @property
    def model(self) -> str:
        """The chip whose model explains D, also where D is the GPU's; or NO_CHIP."""
        if self.chip != GPU:
            return self.chip
        return self.first if self.against in (None, GPU) else str(self.against)

    @property
    def compared_models(self) -> tuple[str, str] | None:
        """The two chips whose models are compared; None where there is one model, or the GPU is involved."""
        if self.against is None or GPU in (self.chip, self.against) or self.chip == self.against:
            return None
        return self.chip, self.against

    def checked(self, chip: str, against: str | None = None) -> tuple[str, str | None]:
        """The names of two chips that there are; the second may be None."""
        for name in (chip,) if against is None else (chip, against):
            if not (self.why_no_model and name == NO_CHIP):
                self.check_chip(name, self.available)
        return chip, against

    def check_available(self) -> None:
        """Refuse the choice of a GPU, as a link may make it, where there is none."""
        chips = self.available
        if self.chip not in (*chips, self.first) or self.against not in (None, *chips):
            raise PtxlabError("there is no GPU: D is computed by the emulator")

    def check_chip(self, chip: object, chips: tuple[str, ...]) -> None:
        """Refuse any other chip than these."""
        if is_name(chip, chips):
            return
        if self.why_no_model:
            raise PtxlabError(f"{self.ins.mnemonic} {self.ins.shape}: {self.why_no_model}")
        raise PtxlabError(f"found chip {quoted(chip)}; {self.ins.mnemonic} takes {listing(chips)}")


def _chips_with_models(ins: ProductForm) -> tuple[str, ...]:
    """The chips with a model, the default one of `emulate` first."""
    first = model_of(ins).chip
    return (first, *(chip for chip in GENERATIONS if chip != first and _has_model(ins, chip)))


def _has_model(ins: ProductForm, chip: str) -> bool:
    try:
        return has(ins, chip) and model_of(ins, chip).chip == chip
    except PtxlabError:
        return False


@dataclass(frozen=True, eq=False, repr=False)
class ProductDocument:
    """An instruction that multiplies, with what it reads and the chips whose D is shown; immutable.

    >>> import ptxlab
    >>> from ptxlab.explorer import ExplorerState
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> document = ExplorerState(ins).document.with_cell("A", 9, 37, "-3")
    >>> hex(document.registers("A")[4, 3] >> 20 & 0xF), document.values("A")[9, 37]   # four bits in lane 4
    ('0xd', np.int8(-3))
    """

    shows_lanes = True

    ins: Product
    operation: Operation
    chip_choice: ChipChoice

    def with_operation(self, operation: Operation) -> Self:
        """With other operands or modifiers."""
        return self if operation is self.operation else replace(self, operation=operation)

    def with_chips(self, chip: str, against: str | None) -> Self:
        """With D of a chip, compared with another."""
        choice = copy.copy(self.chip_choice)  # what it knows of the instruction goes along
        choice.chip, choice.against = chip, against
        return replace(self, chip_choice=choice)

    # -- what both documents have -------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse metadata that the sparsity does not define, and operands that the model refuses."""
        if self.ins.sparse:
            _check_metadata(self.operation)
        if (model := self.chip_choice.model) != NO_CHIP:
            codes_of_d(self.operation, model)

    @cached_property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """What can be edited, by name: registers, words, or codes."""
        return self.operation.arrays

    @property
    def settings(self) -> tuple[object, ...]:
        """Everything but the arrays: the instruction and its modifiers."""
        return self.operation.settings

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all matrices, D included."""
        return self.operation.names

    @property
    def register_names(self) -> tuple[str, ...]:
        """The operands that `registers` takes: A, B, C, D, and E, SFA, SFB where they exist."""
        names = tuple(self.operation.arrays)
        return (*names[:3], "D", *names[3:])

    @property
    def shapes(self) -> Mapping[str, tuple[int, int]]:
        """Rows and columns of every matrix."""
        return {name: self.operation.operand(name).shape for name in self.operation.names}

    @property
    def threads(self) -> int:
        """The threads whose registers are shown: a warp or a warpgroup; for tcgen05.mma, one in each CTA."""
        return LANES * self.ins.cta_group if isinstance(self.ins, TensorInstruction) else self.ins.lanes

    @property
    def chips(self) -> tuple[str, str | None]:
        """The chip whose D is shown, and the one it is compared with."""
        return self.chip_choice.chip, self.chip_choice.against

    @property
    def available(self) -> tuple[str, ...]:
        """What can compute D: the chips with a model, and the GPU if it has the instruction."""
        return self.chip_choice.available

    @property
    def has_result(self) -> bool:
        """Whether there is a D to show."""
        return self.chip_choice.has_result

    def codes(self, name: str) -> NDArray[Any]:
        """Element codes of a matrix, D included."""
        return self.result() if is_name(name, ("D",)) else self.operation.codes(name)

    def values(self, name: str) -> NDArray[Any]:
        """Values of a matrix, D included; for metadata its nibbles."""
        if is_name(name, ("D",)):
            return self.ins.d.dtype.decode_array(self.result())
        return self.operation.matrix(name)

    def registers(self, name: str) -> NDArray[Any]:
        """Registers [lanes, registers], words of tensor memory [lanes, columns], or codes elsewhere."""
        arrays = self.operation.arrays
        if is_name(name, ("D",)):
            return self.ins.d.to_registers(self.result())
        if not is_name(name, arrays):
            names = ", ".join([*arrays, "D"])
            raise PtxlabError(f"{self.ins.mnemonic} has no registers {quoted(name)}; it has {names}")
        return arrays[name].copy()

    def thread_of(self, name: str, row: int, column: int) -> int | None:
        """The thread that holds a cell in a register; None where none does."""
        return self.operation.lane_of(name, row, column)

    def explains(self, row: int, column: int) -> bool:
        """Whether a trace exists: there is a model, and the instruction writes the cell."""
        return self.chip_choice.model != NO_CHIP and disabled_lane(self.operation, row, column) is None

    # -- D ------------------------------------------------------------------------------------------------

    def result(self, chip: str | None = None) -> NDArray[Any]:
        """The codes of D by a chip, computed once per operation."""
        chip, operation = self.chip_choice.chip if chip is None else chip, self.operation
        if not is_name(chip, operation.results):
            self.chip_choice.check_chip(chip, (*self.chip_choice.models, GPU))
            if chip != GPU:
                return codes_of_d(operation, chip)
            operation.results[GPU] = self.ins.d.unpack_codes(gpu.run(operation))
        return operation.results[chip]

    def comparison(self, chip: str | None = None, against: str | None = None) -> ChipComparison:
        """D by the chosen chip and by the one it is compared with, or by others."""
        against = self.chip_choice.against if against is None else against
        if not self.chip_choice.has_result and chip is None:
            return ChipComparison(self.chip_choice.empty)
        return ChipComparison(self.result(chip), None if against is None else self.result(against))

    # -- the same with something changed ------------------------------------------------------------------

    def with_cell(self, name: str, row: int, column: int, text: str) -> Self:
        """With one cell as it was typed."""
        target = cell_range(self.operation, name, row, column)
        return self.with_words(name, target, parse_cells(text), text, (row, column))

    def with_words(
        self, name: str, target: CellRange, words: list[list[str]], text: str, typed_at: tuple[int, int]
    ) -> Self:
        """With a block of words, which were read from a text, from the first cell of a range on."""
        try:
            edited = paste_cells(self.operation, name, target, words, text)
            operation = with_codes(self.operation, name, edited.codes, typed=edited.written)
            if name == "E":
                _check_metadata(operation)
            return self.with_operation(operation)
        except RefusedEdit as error:
            if len(words) == 1 and len(words[0]) == 1:
                error.text, error.typed_at = text, typed_at
            raise

    def with_register(self, name: str, thread: int, register: int, text: str) -> Self:
        """With one register, or word of tensor memory, from typed hexadecimal."""
        operand = self.register_operand(name)
        with error_prefix(check_register(operand, thread, register)):
            content = parse_register(text, 8 * operand.register_type().itemsize)
        registers = self.registers(name)
        registers[thread, register] = content
        return self.with_registers(name, registers)

    def register_operand(self, name: str) -> MatrixOperand:
        """The operand of that name; for a sparse A, the compressed one."""
        if not is_name(name, (*self.operation.arrays, "D")):
            names = listing([*self.operation.arrays, "D"])
            raise PtxlabError(f"{self.ins.mnemonic} has no operand {quoted(name)}; it has {names}")
        return self.operation.operand("stored" if name == "A" and self.ins.sparse else name)

    def with_registers(self, name: str, registers: ArrayLike) -> Self:
        """With all registers of an operand."""
        return self.with_operation(self.operation.with_registers(name, registers))

    def with_codes(self, name: str, codes: NDArray[Any]) -> Self:
        """With a whole matrix of codes; the dense A of a sparse instruction is compressed again."""
        return self.with_operation(with_codes(self.operation, name, codes, keep_metadata=False))

    def with_values(self, name: str, values: NDArray[Any]) -> Self:
        """With a whole matrix of values; the dense A of a sparse instruction is compressed again."""
        operand = self.operation.operand(name)
        if values.shape != operand.shape:
            rows, columns = operand.shape
            raise PtxlabError(f"{name}: found shape {quoted(values.shape)}; it takes ({rows}, {columns})")
        with error_prefix(name):
            codes = operand.dtype.encode(values)
        return self.with_codes(name, codes)

    def filled(
        self, name: str, pattern: str, random: np.random.Generator, row: int = 0, column: int = 0
    ) -> Self:
        """With a matrix filled; sparse A is pruned, and one-hot puts its 1 at `row`, `column`."""
        return self.with_operation(fills.filled(self.operation, name, pattern, random, row, column))

    @property
    def options(self) -> dict[str, Any]:
        """The values of the modifiers that can be chosen."""
        return {name: getattr(self.operation.modifiers, name) for name in option_names(self.ins)}

    def with_option(self, name: str, value: Any) -> Self:
        """With another modifier: selector, scale_d, imm_scale_a ..."""
        return self.with_operation(with_option(self.operation, name, value))


def check_register(operand: MatrixOperand, lane: int, register: int) -> str:
    """A register, or a word of tensor memory, in words; refused if it does not exist."""
    if isinstance(operand, Operand):
        next(operand.holds(lane, register), None)
        return f"{operand.name}, {operand.holder} {lane}, register {register}"
    lanes, columns = operand.stored_shape
    lane = as_index(lane, "lane", lanes, f"{operand.name} in tensor memory: ")
    column = as_index(register, "column", columns, f"{operand.name} in tensor memory: ")
    return f"{operand.name} in tensor memory, lane {lane}, column {column}"


def with_option(operation: Operation, name: str, value: Any) -> Operation:
    """The operation with another modifier: selector, scale_d, imm_scale_a ..."""
    names = option_names(operation.ins)
    if not is_name(name, names):
        raise PtxlabError(
            f"{operation.ins.mnemonic} has no option {quoted(name)}; it has {listing(names) or 'none'}"
        )
    is_flag = isinstance(getattr(Modifiers, name), bool)
    return operation.with_modifiers(**{name: as_flag(value, name) if is_flag else as_int(value, name)})


def _check_metadata(operation: Operation) -> None:
    """Refuse nibbles that the sparsity of the instruction does not define."""
    try:
        operation.codes("A")
    except PtxlabError as error:
        raise undefined_metadata(operation.ins, operation.codes("E"), str(error)) from None
