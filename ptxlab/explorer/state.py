"""The state of the Explorer, without a widget: the operation, the undo history, and who computes D."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Never

import numpy as np
from numpy.typing import NDArray

from .. import gpu
from .._util.arguments import as_flag, as_int, is_name
from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import Product
from ..isa.modifiers import Modifiers
from ..isa.operation import Operation
from ..isa.product_form import ProductForm
from ..isa.targets import GENERATIONS
from ..isa.tcgen05 import Tcgen05Mma
from ..isa.tensor_memory import LANES
from ..numerics import has
from ..numerics.emulate import codes_of_d, model_of
from ..numerics.models import why_no_model
from ..numerics.steps import Trace
from ..numerics.trace import disabled_lane, trace
from .fills import check_seed, filled
from .forms import Explorable, explorable
from .masks import option_names
from .refusals import RefusedEdit, undefined_metadata
from .start import FIRST_DRAWS, first_operation, first_transfer
from .transfer import TransferOperation

UNDO_LIMIT = 200  # edits that can be undone
HISTORY_BYTES = 1 << 26  # memory that the arrays of the history may take

_OF_PRODUCTS = ("ins", "operation", "chip_choice")  # attributes that a state with a transfer lacks
GPU = "GPU"  # listed beside the names of chips
NO_CHIP = ""  # in place of a chip where there is no model: D stays empty


@dataclass(frozen=True)
class Comparison:
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
    """The chip whose D is shown, and the one that it is compared with.

    >>> import ptxlab
    >>> choice = ChipChoice(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> choice.chip, choice.against
    ('sm_90', None)
    >>> choice.choose("sm_80", against="sm_90")
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

    def choose(self, chip: str, against: str | None = None) -> None:
        """Show D of a chip, or of "GPU", and compare it with another."""
        for name in (chip,) if against is None else (chip, against):
            if not (self.why_no_model and name == NO_CHIP):
                self.check_chip(name, self.available)
        self.chip, self.against = chip, against

    def check_chip(self, chip: object, chips: tuple[str, ...]) -> None:
        """Refuse any other chip than these."""
        if is_name(chip, chips):
            return
        if self.why_no_model:
            raise PtxlabError(f"{self.ins.mnemonic} {self.ins.shape}: {self.why_no_model}")
        raise PtxlabError(f"found chip {quoted(chip)}; {self.ins.mnemonic} takes {listing(chips)}")

    def reset_chips(self) -> None:
        """Show D of the first model, compared with nothing."""
        self.chip, self.against = self.first, None


def _chips_with_models(ins: ProductForm) -> tuple[str, ...]:
    """The chips with a model, the default one of `emulate` first."""
    first = model_of(ins).chip
    return (first, *(chip for chip in GENERATIONS if chip != first and _has_model(ins, chip)))


def _has_model(ins: ProductForm, chip: str) -> bool:
    try:
        return has(ins, chip) and model_of(ins, chip).chip == chip
    except PtxlabError:
        return False


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


@dataclass(frozen=True)
class Snapshot:
    """A state to undo or redo to: an operation, and what else belongs to its instruction."""

    operation: Operation | TransferOperation
    chip: str
    against: str | None
    random: Mapping[str, Any]  # the state of the generator
    draws: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]
    saved_view: Mapping[str, Any]


@dataclass(frozen=True)
class History:
    """Snapshots to undo and redo to, the nearest last; they share unchanged arrays."""

    past: tuple[Snapshot, ...] = ()
    future: tuple[Snapshot, ...] = ()

    def after(self, before: Snapshot) -> History:
        """The history after an edit; beyond the limits of count and memory the oldest snapshots go."""
        snapshots = (*self.past, before)[-UNDO_LIMIT:]
        return History(snapshots[-_count_within(snapshots, HISTORY_BYTES) :])


def _count_within(snapshots: Sequence[Snapshot], max_bytes: int) -> int:
    """How many of the latest snapshots fit into `max_bytes`, at least one; shared arrays count once.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> _count_within([state.snapshot] * 9, max_bytes=2000)
    9
    """
    counted: set[int] = set()
    size = 0
    for count, snapshot in enumerate(reversed(snapshots)):
        for array in snapshot.operation.arrays.values():
            if id(array) not in counted:
                counted.add(id(array))
                size += array.nbytes
        if size > max_bytes:
            return max(count, 1)
    return len(snapshots)


class ExplorerState:
    """An operation to edit, and its D. Edits (`ptxlab.explorer.edits`) are made whole or refused.

    `shown` is the operation, of any kind. If its instruction multiplies, it is also `operation`, with `ins`
    and `chip_choice`, and `transfer` is None; if it moves data, it is `transfer`, and those are missing.

    >>> import ptxlab
    >>> from ptxlab.explorer.edits import SetCell
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> SetCell("A", 9, 37, "-3").apply(state)
    >>> hex(state.registers("A")[4, 3] >> 20 & 0xF), state.values("A")[9, 37]   # four bits in lane 4
    ('0xd', np.int8(-3))
    >>> state.undo()
    True
    """

    form: Explorable  # the instruction, of any kind
    ins: Product
    operation: Operation
    chip_choice: ChipChoice

    def __init__(self, ins: Explorable, seed: int = 0) -> None:
        form = explorable(ins)
        self.seed = check_seed(seed)
        self.random = np.random.default_rng(self.seed)
        self.draws: tuple[tuple[str, str], ...] = ()  # fills that drew random numbers, for links
        if isinstance(form, Product):
            self.draws = FIRST_DRAWS
            self.show(first_operation(form, self.random))
        else:
            self.show(first_transfer(form, seed=self.seed))
        self.history = History()
        self.saved_view: Mapping[str, Any] = {}  # chosen lanes and cells, stored for undo by the presenter
        self.refusal: RefusedEdit | None = None  # of the page's last edit, if it was refused
        self.notices: tuple[str, ...] = ()  # what changed when another instruction was chosen
        self.memory: MemoryRequest | None = None  # the memory view, or None
        self.load = LoadRequest()  # beside the view of tensor memory

    def show(self, operation: Operation | TransferOperation) -> None:
        """Replace the operation; another instruction gets its own choice of chips."""
        self.shown = operation
        if isinstance(operation, Operation):
            self.transfer: TransferOperation | None = None
            self.operation = operation
            if vars(self).get("ins") != operation.ins:
                ins = operation.ins
                if TYPE_CHECKING:
                    assert isinstance(ins, Product)
                self.ins = self.form = ins
                self.chip_choice = ChipChoice(ins)
        else:
            self.transfer, self.form = operation, operation.ins
            for name in _OF_PRODUCTS:
                vars(self).pop(name, None)

    def __getattr__(self, name: str) -> Never:
        if name in _OF_PRODUCTS:
            raise PtxlabError(
                f"{self.form.mnemonic} moves words and computes nothing; "
                "this is for instructions that multiply"
            )
        raise AttributeError(f"the state of the Explorer has no {name}")

    @property
    def threads(self) -> int:
        """The threads whose registers are shown: a warp or a warpgroup; for tcgen05.mma, one in each CTA.

        >>> import ptxlab
        >>> ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16")).threads
        256
        """
        if self.transfer is not None:
            return self.transfer.threads
        return LANES * self.ins.cta_group if isinstance(self.ins, Tcgen05Mma) else self.ins.lanes

    @property
    def chips(self) -> tuple[str, str | None]:
        """The chip whose D is shown and the one it is compared with; transfers are the same on all chips."""
        if self.transfer is not None:
            return NO_CHIP, None
        return self.chip_choice.chip, self.chip_choice.against

    # -- matrices, and D ----------------------------------------------------------------------------------

    def codes(self, name: str) -> NDArray[Any]:
        """Element codes of a matrix, D included."""
        return self.result() if is_name(name, ("D",)) else self.operation.codes(name)

    def values(self, name: str) -> NDArray[Any]:
        """Values of a matrix, D included."""
        if is_name(name, ("D",)):
            return self.ins.d.dtype.decode_array(self.result())
        return self.operation.matrix(name)

    @property
    def options(self) -> dict[str, Any]:
        """The values of the modifiers that can be chosen."""
        return {name: getattr(self.operation.modifiers, name) for name in option_names(self.ins)}

    def column_of_b(self, row: int, column: int) -> int:
        """The column of B that goes into a cell of D."""
        return self.ins.column_of_b(row, column) + self.operation.modifiers.column_shift

    def registers(self, name: str) -> NDArray[Any]:
        """Registers of an operand [lanes, registers], or words of tensor memory [lanes, columns].

        For an operand in shared memory, its codes.
        """
        if self.transfer is not None:
            return self.transfer.registers(name)
        arrays = self.operation.arrays
        if is_name(name, ("D",)):
            return self.ins.d.to_registers(self.result())
        if not is_name(name, arrays):
            names = ", ".join([*arrays, "D"])
            raise PtxlabError(f"{self.ins.mnemonic} has no registers {quoted(name)}; it has {names}")
        return arrays[name].copy()

    @property
    def register_names(self) -> tuple[str, ...]:
        """The operands that `registers` takes: A, B, C, D, and E, SFA, SFB where they exist."""
        if self.transfer is not None:
            return self.transfer.names
        names = tuple(self.operation.arrays)
        return (*names[:3], "D", *names[3:])

    def result(self, chip: str | None = None) -> NDArray[Any]:
        """The codes of D by a chip, computed once per operation."""
        chip, operation = self.chip_choice.chip if chip is None else chip, self.operation
        if not is_name(chip, operation.results):
            self.chip_choice.check_chip(chip, (*self.chip_choice.models, GPU))
            if chip != GPU:
                return codes_of_d(operation, chip)
            operation.results[GPU] = self.ins.d.unpack_codes(gpu.run(operation))
        return operation.results[chip]

    def comparison(self, chip: str | None = None, against: str | None = None) -> Comparison:
        """D by the chosen chip and by the one it is compared with, or by others."""
        against = self.chip_choice.against if against is None else against
        if not self.chip_choice.has_result and chip is None:
            return Comparison(self.chip_choice.empty)
        return Comparison(self.result(chip), None if against is None else self.result(against))

    def trace(self, row: int, column: int, chip: str | None = None) -> Trace:
        """Why D[row][column] has its bits, by the model of a chip."""
        model = self.chip_choice.model
        if model == NO_CHIP:
            raise PtxlabError(f"{self.ins.mnemonic} {self.ins.shape}: {self.chip_choice.why_no_model}")
        return trace(self.operation, row, column, model=model if chip is None else chip)

    def explains(self, row: int, column: int) -> bool:
        """Whether a trace exists: there is a model, and the instruction writes the cell."""
        return self.chip_choice.model != NO_CHIP and disabled_lane(self.operation, row, column) is None

    # -- changes ------------------------------------------------------------------------------------------

    def filled(self, name: str, pattern: str, row: int = 0, column: int = 0) -> Operation:
        """The product with a matrix filled; `draws` records a fill that draws random numbers."""
        before = self.random.bit_generator.state
        operation = filled(self.operation, name, pattern, self.random, row, column)
        if self.random.bit_generator.state != before:
            self.draws = (*self.draws, (name, pattern))
        return operation

    def commit(self, operation: Operation | TransferOperation) -> None:
        """Replace the operation as one undo step, unless nothing changed; illegal metadata is refused."""
        if operation is self.shown:
            return
        if isinstance(operation, TransferOperation):
            _ = operation.result  # raises PtxlabError if the edit is illegal
        else:
            if self.ins.sparse:
                _check_metadata(operation)
            if (model := self.chip_choice.model) != NO_CHIP:
                codes_of_d(operation, model)  # raises PtxlabError if the edit is illegal
        self.history = self.history.after(self.snapshot)
        self.show(operation)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """If anything inside is refused, restore everything: operation, history, chips, random generator."""
        attributes, chips, generator = dict(vars(self)), self.chips, self.random.bit_generator
        random = generator.state
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(attributes)
            if self.transfer is None:
                self.chip_choice.chip, self.chip_choice.against = chips
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
    def snapshot(self) -> Snapshot:
        """A snapshot of this state."""
        random = self.random.bit_generator.state
        return Snapshot(self.shown, *self.chips, random, self.draws, self.notices, self.saved_view)

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

    def _restore(self, snapshot: Snapshot) -> None:
        """Restore the operation of a snapshot and, if its instruction differs, chips and everything else."""
        is_same_instruction = snapshot.operation.ins == self.form
        self.show(snapshot.operation)
        if is_same_instruction:
            # The generator is not reset: filling again after an undo gives other numbers. `draws` keeps the
            # undone fill, since a link must draw its numbers before it gets to later ones (`Fill.kept`).
            return
        if self.transfer is None:
            self.chip_choice.chip, self.chip_choice.against = snapshot.chip, snapshot.against
        self.random = np.random.default_rng()
        self.random.bit_generator.state = snapshot.random
        self.draws, self.notices, self.saved_view = snapshot.draws, snapshot.notices, snapshot.saved_view
        self.refusal = None

    def replace_instruction(self, other: ExplorerState, notices: tuple[str, ...] = ()) -> None:
        """Take over the instruction, operation and chips of another state, as one undo step."""
        self.history = self.history.after(self.snapshot)
        self.random, self.draws = other.random, other.draws
        self.show(other.shown)
        if self.transfer is None:
            self.chip_choice = other.chip_choice
        self.refusal, self.notices, self.saved_view = None, notices, {}

    def latest_product(self) -> ExplorerState | None:
        """This state, or the last in the history whose instruction multiplies, if any."""
        if self.transfer is None:
            return self
        past = [each for each in self.history.past if isinstance(each.operation, Operation)]
        if not past:
            return None
        before = ExplorerState(self.form, self.seed)
        before._restore(past[-1])
        return before


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
