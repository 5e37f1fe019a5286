"""The state of the Explorer, without any widget: the operands, the undo history, and the results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int, is_name
from ..errors import PtxlabError, quoted
from ..isa.catalog import Product
from ..isa.operation import Operation
from ..numerics.steps import Trace
from .fills import filled
from .matrices import Matrices, as_product, start_code
from .refusals import RefusedEdit, multiplication
from .results import Comparison, Results

FIRST_DRAWS: tuple[tuple[str, str], ...] = (
    ("A", "random"),
    ("B", "random"),
)  # the fills that a state starts with

UNDO_LIMIT = 200  # edits that can be undone,
HISTORY_BYTES = 1 << 26  # and the memory that their arrays may take


@dataclass(frozen=True)
class MemoryRequest:
    """The matrix that is shown in shared memory, and how it lies there; None for what is usual."""

    name: str
    by: str | None = None  # the instruction that moves it: ldmatrix, ld.shared, wgmma, wmma.load ...
    major: str | None = None  # which index is contiguous: that of a "row", or that of a "column"
    pitch: int | None = None  # bytes from one row or column to the next
    swizzle: int | None = None
    descriptor: str | None = None  # of a tile of wgmma or tcgen05.mma, in hexadecimal, which says all


@dataclass(frozen=True)
class LoadRequest:
    """The tcgen05.ld whose registers are shown beside tensor memory; None for what is usual."""

    shape: str = "32x32b"
    count: int | None = None  # how often the shape is repeated
    lane: int = 0  # at which it begins, of each warp's 32
    column: int = 0
    pack: bool = False  # .pack::16b


@dataclass(frozen=True)
class Settings:
    """What belongs to an instruction beside its operands, and comes back with it."""

    chip: str
    against: str | None
    random: Mapping[str, Any]  # the state of the generator
    draws: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]
    look: Mapping[str, Any]


@dataclass(frozen=True)
class Step:
    """A state to go back or forward to."""

    operands: Operation
    settings: Settings


@dataclass(frozen=True)
class History:
    """Steps to go back and forward to, the nearest last. They share the arrays that did not change."""

    past_steps: tuple[Step, ...] = ()
    future_steps: tuple[Step, ...] = ()

    @property
    def past(self) -> tuple[Operation, ...]:
        """The operands to go back to."""
        return tuple(step.operands for step in self.past_steps)

    @property
    def future(self) -> tuple[Operation, ...]:
        """The operands to go forward to."""
        return tuple(step.operands for step in self.future_steps)

    def after(self, before: Step) -> History:
        """The history after an edit; the oldest steps go if there are too many or they take too much."""
        steps = (*self.past_steps, before)[-UNDO_LIMIT:]
        return History(steps[-_count_within(steps, HISTORY_BYTES) :])

    def back(self, now: Step) -> tuple[Step, History]:
        """The step before the last edit, and the history there."""
        return self.past_steps[-1], History(self.past_steps[:-1], (*self.future_steps, now))

    def forward(self, now: Step) -> tuple[Step, History]:
        """The step before the last undo, and the history there."""
        return self.future_steps[-1], History((*self.past_steps, now), self.future_steps[:-1])


def _count_within(steps: Sequence[Step], most_bytes: int) -> int:
    """How many of the latest steps take at most so much memory, and at least one. A shared array counts once.

    >>> import ptxlab
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> _count_within([state.step] * 9, most_bytes=2000)
    9
    """
    counted: set[int] = set()
    size = 0
    for count, step in enumerate(reversed(steps)):
        for array in step.operands.arrays.values():
            if id(array) not in counted:
                counted.add(id(array))
                size += array.nbytes
        if size > most_bytes:
            return max(count, 1)
    return len(steps)


class ExplorerState:
    """An instruction with operands to edit, and D. Edits (`ptxlab.explorer.edits`) are made whole or refused.

    >>> import ptxlab
    >>> from ptxlab.explorer.edits import SetCell
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> SetCell("A", 9, 37, "-3").apply(state)
    >>> hex(state.registers("A")[4, 3] >> 20 & 0xF), state.values("A")[9, 37]   # four bits in lane 4
    ('0xd', np.int8(-3))
    >>> state.undo()
    True
    """

    def __init__(self, ins: Product, seed: int = 0) -> None:
        ins = multiplication(ins)
        self.seed = check_seed(seed)
        self.random = np.random.default_rng(self.seed)
        self.draws = FIRST_DRAWS  # fills that took random numbers since the seed, for links
        self.results = Results(ins)
        self.operands = _first_operands(ins, self.random)
        self.history = History()
        self.look: Mapping[str, Any] = {}  # lane and selection, kept here for whoever shows the state
        self.refusal: RefusedEdit | None = None  # of the page's last edit, if that was refused
        self.notices: tuple[str, ...] = ()  # what changed when another instruction was chosen
        self.memory: MemoryRequest | None = None  # what the memory view shows
        self.load = LoadRequest()  # the load that the view of tensor memory shows

    # -- matrices and results -----------------------------------------------------------------------------

    @property
    def ins(self) -> Product:
        """The instruction."""
        return as_product(self.operands.ins)

    @property
    def matrices(self) -> Matrices:
        """The operands as matrices."""
        return Matrices(self.operands)

    def codes(self, name: str) -> NDArray[Any]:
        """Element codes of a matrix, D included."""
        is_result = is_name(name, ("D",))
        return self.results.codes(self.operands) if is_result else self.matrices.codes(name)

    def values(self, name: str) -> NDArray[Any]:
        """Values of a matrix, D included."""
        return self.matrices.operand(name).dtype.decode(self.codes(name))

    def column_of_b(self, row: int, column: int) -> int:
        """The column of B that goes into a cell of D."""
        return self.ins.column_of_b(row, column) + self.operands.modifiers.column_shift

    def registers(self, name: str) -> NDArray[Any]:
        """Registers of an operand [lanes, registers], or words of tensor memory [lanes, columns].

        For an operand in shared memory, its codes.
        """
        arrays = self.operands.arrays
        if not is_name(name, (*arrays, "D")):
            raise PtxlabError(
                f"{self.ins.mnemonic} has no registers {quoted(name)}; it has {', '.join([*arrays, 'D'])}"
            )
        if name == "D":
            return self.ins.d.pack_codes(self.codes("D"))
        return arrays[name].copy()

    def comparison(self, chip: str | None = None, against: str | None = None) -> Comparison:
        """D by the chosen chip and by the one it is compared with, or by others."""
        return self.results.comparison(self.operands, chip, against)

    def trace(self, row: int, column: int, chip: str | None = None) -> Trace:
        """Why D[row][column] has its bits."""
        return self.results.trace(self.operands, row, column, chip)

    # -- changes ------------------------------------------------------------------------------------------

    def filled(self, name: str, pattern: str, row: int = 0, column: int = 0) -> Operation:
        """The operands with a matrix filled. If that takes random numbers, `draws` remembers it."""
        before = self.random.bit_generator.state
        operands = filled(self.matrices, name, pattern, self.random, row, column)
        if self.random.bit_generator.state != before:
            self.draws = (*self.draws, (name, pattern))
        return operands

    def commit(self, operands: Operation) -> None:
        """Take new operands as one step to undo, if something differs and their metadata is legal."""
        before = self.operands
        if operands.modifiers == before.modifiers and _same_arrays(operands, before):
            return
        Matrices(operands).check_metadata()
        after = _sharing(operands, before)
        self.results.compute(after)
        self.history = self.history.after(self.step)
        self.operands = after

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """If anything inside is refused, put back everything: operands, history, chips, random numbers."""
        attributes, chips = dict(vars(self)), (self.results.chip, self.results.against)
        random_state = self.random.bit_generator.state
        try:
            yield
        except BaseException:
            vars(self).update(attributes)
            self.results.chip, self.results.against = chips
            self.random.bit_generator.state = random_state
            raise

    @contextmanager
    def one_step(self) -> Iterator[None]:
        """Make all edits inside one step to undo; if one is refused, none is made."""
        before, history = self.step, self.history
        with self.all_or_nothing():
            yield
        if self.history is not history:
            self.history = history.after(before)

    @property
    def step(self) -> Step:
        """What can be gone back to: the operands, and what belongs to the instruction beside them."""
        results = self.results
        random_state = self.random.bit_generator.state
        return Step(
            self.operands,
            Settings(results.chip, results.against, random_state, self.draws, self.notices, self.look),
        )

    def undo(self) -> bool:
        """Take back the last edit, or the last change of the instruction; False if there is none."""
        if not self.history.past_steps:
            return False
        step, self.history = self.history.back(self.step)
        self._go_to(step)
        return True

    def redo(self) -> bool:
        """Take back the last undo; False if there is none."""
        if not self.history.future_steps:
            return False
        step, self.history = self.history.forward(self.step)
        self._go_to(step)
        return True

    def _go_to(self, step: Step) -> None:
        """Take the operands of a step; those of another instruction come with its chips and all the rest."""
        changes_instruction = step.operands.ins != self.ins
        self.operands = step.operands
        if not changes_instruction:
            return
        settings = step.settings
        self.results = Results(self.ins)
        self.results.chip, self.results.against = settings.chip, settings.against
        self.random = np.random.default_rng()
        self.random.bit_generator.state = settings.random
        self.draws, self.notices, self.look = settings.draws, settings.notices, settings.look
        self.refusal = None

    def replace_instruction(self, other: ExplorerState, notices: tuple[str, ...] = ()) -> None:
        """Continue with the instruction, operands and chips of another state, as one step to undo."""
        self.history = self.history.after(self.step)
        self.random, self.draws, self.results = other.random, other.draws, other.results
        self.operands, self.refusal, self.notices, self.look = other.operands, None, notices, {}


def check_seed(seed: object) -> int:
    """A seed of random numbers, of any integer type.

    >>> check_seed(np.int64(7))
    7
    """
    number = as_int(seed, "seed")
    if not 0 <= number < 1 << 128:
        raise PtxlabError(f"seed: found {quoted(number)}; it takes a whole number from 0 to 2^128 - 1")
    return number


def _first_operands(ins: Product, random: np.random.Generator) -> Operation:
    """Random A and B, C = 0, scales 1."""
    first = {
        operand.name: operand.pack_codes(np.full(operand.shape, start_code(operand)))
        for operand in ins.inputs.values()
    }
    operands = Operation.of(
        ins, first["A"], first["B"], first["C"], first.get("E"), first.get("SFA"), first.get("SFB")
    )
    for name, pattern in FIRST_DRAWS:
        operands = filled(Matrices(operands), name, pattern, random)
    return operands


def _same_arrays(one: Operation, other: Operation) -> bool:
    theirs = other.arrays
    return all(
        array is theirs[name] or np.array_equal(array, theirs[name]) for name, array in one.arrays.items()
    )


def _sharing(operands: Operation, before: Operation) -> Operation:
    """The same operands, with the earlier arrays where those are equal: only what changed is a new object."""
    earlier = before.arrays
    arrays = {
        name: earlier[name]
        for name, array in operands.arrays.items()
        if array is not earlier[name] and np.array_equal(array, earlier[name])
    }
    return Matrices(operands).with_arrays(arrays) if arrays else operands
