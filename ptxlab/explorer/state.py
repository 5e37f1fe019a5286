"""The state of the Explorer, without any widget: what is shown, the undo history, and who computes D."""

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

_OF_PRODUCTS = ("ins", "operation", "chip_choice")  # attributes of a state whose instruction multiplies
GPU = "GPU"  # listed beside the names of chips
NOBODY = ""  # in place of a chip: no model is known, and D stays empty


@dataclass(frozen=True)
class Comparison:
    """Codes of D by one chip and by another; None where there is nothing to compare with."""

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
        self.first = self.models[0] if self.models else NOBODY  # the chip that `emulate` takes
        self.chip = self.first  # whose D is shown: one of `available`, or NOBODY
        self.against: str | None = None
        self.empty = np.zeros(ins.d.shape, dtype=ins.d.dtype.code_type)  # where nobody computes D

    @property
    def is_known(self) -> bool:
        """Whether there is a D to show."""
        return self.chip != NOBODY

    @cached_property
    def available(self) -> tuple[str, ...]:
        """What can compute D: the models, and the GPU if it has the instruction; the driver is asked once."""
        return (*self.models, GPU) if gpu.available(self.ins) else self.models

    @property
    def model(self) -> str:
        """The chip whose model explains D; where the GPU is shown, the one it is compared with; or NOBODY."""
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
            if not (self.why_no_model and name == NOBODY):
                self.check_chip(name, self.available)
        self.chip, self.against = chip, against

    def check_chip(self, chip: object, chips: tuple[str, ...]) -> None:
        """Refuse a chip that is not one of these."""
        if is_name(chip, chips):
            return
        if self.why_no_model:
            raise PtxlabError(f"{self.ins.mnemonic} {self.ins.shape}: {self.why_no_model}")
        raise PtxlabError(f"found chip {quoted(chip)}; {self.ins.mnemonic} takes {listing(chips)}")

    def reset_chips(self) -> None:
        """Show D of the first model, compared with nothing."""
        self.chip, self.against = self.first, None


def _chips_with_models(ins: ProductForm) -> tuple[str, ...]:
    """The chip that `emulate` takes, then the others."""
    first = model_of(ins).chip
    return (first, *(chip for chip in GENERATIONS if chip != first and _has_model(ins, chip)))


def _has_model(ins: ProductForm, chip: str) -> bool:
    try:
        return has(ins, chip) and model_of(ins, chip).chip == chip
    except PtxlabError:
        return False


@dataclass(frozen=True)
class MemoryRequest:
    """The matrix that is shown in shared memory, and how it lies there; None means the default."""

    name: str
    by: str | None = None  # the instruction that moves it: ldmatrix, ld.shared, wgmma, wmma.load ...
    major: str | None = None  # which index is contiguous: that of a "row", or that of a "column"
    pitch: int | None = None  # bytes from one row or column to the next
    swizzle: int | None = None
    descriptor: str | None = None  # of a tile of wgmma or tcgen05.mma, in hexadecimal, instead of those above
    layout: str | None = None  # of CuTe, "Swizzle<3,3,3> o (16,64):(64,1)", instead of major, pitch, swizzle


@dataclass(frozen=True)
class LoadRequest:
    """The tcgen05.ld whose registers are shown beside tensor memory; None means the default."""

    shape: str = "32x32b"
    count: int | None = None  # how often the shape is repeated
    lane: int = 0  # at which it begins, of each warp's 32
    column: int = 0
    pack: bool = False  # .pack::16b


@dataclass(frozen=True)
class Snapshot:
    """A state to go back or forward to: an operation, and what belongs to its instruction beside it."""

    operation: Operation | TransferOperation
    chip: str
    against: str | None
    random: Mapping[str, Any]  # the state of the generator
    draws: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]
    look: Mapping[str, Any]


@dataclass(frozen=True)
class History:
    """Snapshots to go back and forward to, the nearest last. They share the arrays that did not change."""

    past: tuple[Snapshot, ...] = ()
    future: tuple[Snapshot, ...] = ()

    def after(self, before: Snapshot) -> History:
        """The history after an edit; the oldest snapshots go if there are too many or they take too much."""
        snapshots = (*self.past, before)[-UNDO_LIMIT:]
        return History(snapshots[-_count_within(snapshots, HISTORY_BYTES) :])


def _count_within(snapshots: Sequence[Snapshot], max_bytes: int) -> int:
    """How many of the latest snapshots fit into so much memory, at least one; shared arrays count once.

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
    """An operation to edit, and D. Edits (`ptxlab.explorer.edits`) are made whole or refused.

    `shown` is the operation, of whatever instruction. One that multiplies is also `operation`, with `ins` and
    `chip_choice`; one that moves words has none of these, and is `transfer`.

    >>> import ptxlab
    >>> from ptxlab.explorer.edits import SetCell
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> SetCell("A", 9, 37, "-3").apply(state)
    >>> hex(state.registers("A")[4, 3] >> 20 & 0xF), state.values("A")[9, 37]   # four bits in lane 4
    ('0xd', np.int8(-3))
    >>> state.undo()
    True
    """

    form: Explorable  # the instruction, whatever it does
    ins: Product
    operation: Operation
    chip_choice: ChipChoice

    def __init__(self, ins: Explorable, seed: int = 0) -> None:
        form = explorable(ins)
        self.seed = check_seed(seed)
        self.random = np.random.default_rng(self.seed)
        self.draws: tuple[tuple[str, str], ...] = ()  # fills that took random numbers, for links
        if isinstance(form, Product):
            self.draws = FIRST_DRAWS
            self.show(first_operation(form, self.random))
        else:
            self.show(first_transfer(form, seed=self.seed))
        self.history = History()
        self.look: Mapping[str, Any] = {}  # lane and selection, kept here for whoever shows the state
        self.refusal: RefusedEdit | None = None  # of the page's last edit, if that was refused
        self.notices: tuple[str, ...] = ()  # what changed when another instruction was chosen
        self.memory: MemoryRequest | None = None  # what the memory view shows
        self.load = LoadRequest()  # the load that the view of tensor memory shows

    def show(self, operation: Operation | TransferOperation) -> None:
        """Show another operation; that of another instruction has a choice of chips of its own."""
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
        """The threads whose registers are shown: a warp, a warpgroup; of tcgen05.mma a warpgroup in each CTA.

        >>> import ptxlab
        >>> ExplorerState(ptxlab.instruction("tcgen05.mma.cta_group::2.kind::f16")).threads
        256
        """
        if self.transfer is not None:
            return self.transfer.threads
        return LANES * self.ins.cta_group if isinstance(self.ins, Tcgen05Mma) else self.ins.lanes

    @property
    def chips(self) -> tuple[str, str | None]:
        """Whose D is shown, and whose it is compared with; no two chips move words differently."""
        if self.transfer is not None:
            return NOBODY, None
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
        """Operands by whose names there are registers: A, B, C, D, and E, SFA, SFB where there are such."""
        if self.transfer is not None:
            return self.transfer.names
        names = tuple(self.operation.arrays)
        return (*names[:3], "D", *names[3:])

    def result(self, chip: str | None = None) -> NDArray[Any]:
        """Codes of D by a chip, computed once for an operation."""
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
        if not self.chip_choice.is_known and chip is None:
            return Comparison(self.chip_choice.empty)
        return Comparison(self.result(chip), None if against is None else self.result(against))

    def trace(self, row: int, column: int, chip: str | None = None) -> Trace:
        """Why D[row][column] has its bits, by the model of a chip."""
        model = self.chip_choice.model
        if model == NOBODY:
            raise PtxlabError(f"{self.ins.mnemonic} {self.ins.shape}: {self.chip_choice.why_no_model}")
        return trace(self.operation, row, column, model=model if chip is None else chip)

    def explains(self, row: int, column: int) -> bool:
        """Whether there is anything to explain: a model, and a lane that it writes."""
        return self.chip_choice.model != NOBODY and disabled_lane(self.operation, row, column) is None

    # -- changes ------------------------------------------------------------------------------------------

    def filled(self, name: str, pattern: str, row: int = 0, column: int = 0) -> Operation:
        """The product with a matrix filled. If that takes random numbers, `draws` remembers it."""
        before = self.random.bit_generator.state
        operation = filled(self.operation, name, pattern, self.random, row, column)
        if self.random.bit_generator.state != before:
            self.draws = (*self.draws, (name, pattern))
        return operation

    def commit(self, operation: Operation | TransferOperation) -> None:
        """Take another operation as one step to undo, if something differs and its metadata is legal."""
        if operation is self.shown:
            return
        if isinstance(operation, TransferOperation):
            _ = operation.result  # raises PtxlabError if the edit is illegal
        else:
            if self.ins.sparse:
                _check_metadata(operation)
            if (model := self.chip_choice.model) != NOBODY:
                codes_of_d(operation, model)  # raises PtxlabError if the edit is illegal
        self.history = self.history.after(self.snapshot)
        self.show(operation)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """If anything inside is refused, put back everything: operation, history, chips, random numbers."""
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
        """This state, to go back to."""
        random = self.random.bit_generator.state
        return Snapshot(self.shown, *self.chips, random, self.draws, self.notices, self.look)

    def undo(self) -> bool:
        """Take back the last edit, or the last change of the instruction; False if there is none."""
        past, future = self.history.past, self.history.future
        if not past:
            return False
        self.history = History(past[:-1], (*future, self.snapshot))
        self._go_to(past[-1])
        return True

    def redo(self) -> bool:
        """Take back the last undo; False if there is none."""
        past, future = self.history.past, self.history.future
        if not future:
            return False
        self.history = History((*past, self.snapshot), future[:-1])
        self._go_to(future[-1])
        return True

    def _go_to(self, snapshot: Snapshot) -> None:
        """Take the operation of a snapshot; another instruction comes with its chips and all the rest."""
        is_same_instruction = snapshot.operation.ins == self.form
        self.show(snapshot.operation)
        if is_same_instruction:
            # Random numbers go on: filling again after an undo gives others. `draws` keeps the fill that was
            # undone, since a link draws its numbers, too, to come to those that follow (`Fill.kept`).
            return
        if self.transfer is None:
            self.chip_choice.chip, self.chip_choice.against = snapshot.chip, snapshot.against
        self.random = np.random.default_rng()
        self.random.bit_generator.state = snapshot.random
        self.draws, self.notices, self.look = snapshot.draws, snapshot.notices, snapshot.look
        self.refusal = None

    def replace_instruction(self, other: ExplorerState, notices: tuple[str, ...] = ()) -> None:
        """Continue with the instruction, operation and chips of another state, as one step to undo."""
        self.history = self.history.after(self.snapshot)
        self.random, self.draws = other.random, other.draws
        self.show(other.shown)
        if self.transfer is None:
            self.chip_choice = other.chip_choice
        self.refusal, self.notices, self.look = None, notices, {}

    def latest_product(self) -> ExplorerState | None:
        """This state, or the last one in the history whose instruction was a matrix product, if any."""
        if self.transfer is None:
            return self
        past = [each for each in self.history.past if isinstance(each.operation, Operation)]
        if not past:
            return None
        before = ExplorerState(self.form, self.seed)
        before._go_to(past[-1])
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
