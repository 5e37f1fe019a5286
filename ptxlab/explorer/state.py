"""The state of the Explorer, without any widget: the operands, the undo history, and the results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._util.arguments import as_int, is_name
from ..errors import PtxlabError, quoted
from ..isa.mma import MmaForm
from ..isa.operands import Operands
from ..isa.parse import parse_mma
from ..numerics.steps import Trace
from .fills import fill_values
from .matrices import Matrices, start_code
from .refusals import RefusedEdit
from .results import Comparison, Results

__all__ = ["UNDO_LIMIT", "ExplorerState", "History", "check_seed"]

UNDO_LIMIT = 200  # edits that can be undone


@dataclass(frozen=True)
class History:
    """Operands to go back and forward to, the nearest last. States share the arrays that did not change."""

    past: tuple[Operands, ...] = ()
    future: tuple[Operands, ...] = ()

    def after(self, before: Operands) -> History:
        """The history after an edit of these operands."""
        return History((*self.past, before)[-UNDO_LIMIT:])

    def back(self, now: Operands) -> tuple[Operands, History]:
        """The operands before the last edit, and the history there."""
        return self.past[-1], History(self.past[:-1], (*self.future, now))

    def forward(self, now: Operands) -> tuple[Operands, History]:
        """The operands before the last undo, and the history there."""
        return self.future[-1], History((*self.past, now), self.future[:-1])


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

    def __init__(self, ins: MmaForm, seed: int = 0) -> None:
        ins = parse_mma(ins)
        self.seed = check_seed(seed)
        self.random = np.random.default_rng(self.seed)
        self.results = Results(ins)
        self.operands = _first_operands(ins, self.random)
        self.history = History()
        self.refusal: RefusedEdit | None = None  # of the page's last edit, if that was refused
        self.notices: tuple[str, ...] = ()  # what changed when another instruction was chosen

    # -- matrices and results -----------------------------------------------------------------------------

    @property
    def ins(self) -> MmaForm:
        """The instruction."""
        return self.operands.ins

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

    def registers(self, name: str) -> NDArray[Any]:
        """Registers of an operand [lanes, registers]; for one in shared memory, its codes."""
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

    def trace(self, row: int, column: int) -> Trace:
        """Why D[row][column] has its bits."""
        return self.results.trace(self.operands, row, column)

    # -- changes ------------------------------------------------------------------------------------------

    def commit(self, operands: Operands) -> None:
        """Take new operands as one step to undo, if their metadata is legal. No difference is no step."""
        before = self.operands
        if operands.modifiers == before.modifiers and _same_arrays(operands, before):
            return
        Matrices(operands).check_metadata()
        after = _sharing(operands, before)
        self.results.compute(after)
        self.operands, self.history = after, self.history.after(before)

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
        before, history = self.operands, self.history
        with self.all_or_nothing():
            yield
        if self.ins != before.ins:  # what came before belongs to another instruction
            self.history = History()
        elif self.history is not history:
            self.history = history.after(before)

    def undo(self) -> bool:
        """Take back the last edit; False if there is none."""
        if not self.history.past:
            return False
        self.operands, self.history = self.history.back(self.operands)
        return True

    def redo(self) -> bool:
        """Take back the last undo; False if there is none."""
        if not self.history.future:
            return False
        self.operands, self.history = self.history.forward(self.operands)
        return True

    def replace_instruction(self, other: ExplorerState, notices: tuple[str, ...] = ()) -> None:
        """Continue with the instruction, operands and chips of another state; nothing can be undone."""
        self.random, self.results, self.operands = other.random, other.results, other.operands
        self.history, self.refusal, self.notices = History(), None, notices


def check_seed(seed: object) -> int:
    """A seed of random numbers, of any integer type.

    >>> check_seed(np.int64(7))
    7
    """
    number = as_int(seed, "seed")
    if not 0 <= number < 1 << 128:
        raise PtxlabError(f"seed: found {quoted(number)}; it takes a whole number from 0 to 2^128 - 1")
    return number


def _first_operands(ins: MmaForm, random: np.random.Generator) -> Operands:
    """Random A and B, C = 0, scales 1."""
    first = {
        name: operand.pack_codes(np.full(operand.shape, start_code(operand)))
        for name, operand in ins.operands.items()
        if name != "D"
    }
    operands = Operands.of(
        ins, first["A"], first["B"], first["C"], first.get("E"), first.get("SFA"), first.get("SFB")
    )
    for name in ("A", "B"):
        matrices = Matrices(operands)
        operand = matrices.operand(name)
        values = fill_values(operand, "random", random)
        if name == "A" and ins.sparse:
            values = ins.prune(values)
        operands = matrices.with_codes(name, operand.dtype.encode(values), keep_metadata=False)
    return operands


def _same_arrays(one: Operands, other: Operands) -> bool:
    theirs = other.arrays
    return all(
        array is theirs[name] or np.array_equal(array, theirs[name]) for name, array in one.arrays.items()
    )


def _sharing(operands: Operands, before: Operands) -> Operands:
    """The same operands, with the earlier arrays where those are equal: only what changed is a new object."""
    earlier = before.arrays
    arrays = {
        name: earlier[name]
        for name, array in operands.arrays.items()
        if array is not earlier[name] and np.array_equal(array, earlier[name])
    }
    return Matrices(operands).with_arrays(arrays) if arrays else operands
