"""The state behind the explorer, without any widget: operands in, D out, every edit whole or refused.

The truth is what the instruction reads: the registers of every lane (and, for operands in shared memory, the matrix of
their codes), so nothing typed into a register is lost, not even the bits that tf32 ignores. Matrices are views of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import gpu
from ..errors import PtxlabError, listing
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from ..isa.operand import Operand
from ..isa.operands import Operands
from ..isa.targets import GENERATIONS
from ..numerics import has
from ..numerics.emulate import emulate, model_of
from ..numerics.trace import Trace, trace
from .cells import cleared, extended, pasted
from .fills import FILLS, filled, fills_of, span_of
from .history import History, State
from .parse_cell import parse, parse_register, written
from .refusals import Broken, Refused, compressed, undefined

__all__ = ["FILLS", "GPU", "Bench", "Field", "Result", "State", "parse"]

GPU = "GPU"  # stands beside the names of chips


@dataclass(frozen=True)
class Result:
    """Codes of D by one chip and by another; None where there is none to compare with."""

    codes: NDArray[Any]
    other: NDArray[Any] | None = None

    @property
    def differ(self) -> NDArray[np.bool_]:
        """Cells where there are two and their bits are not the same."""
        return (
            np.zeros(self.codes.shape, dtype=np.bool_)
            if self.other is None
            else np.asarray(self.codes != self.other)
        )


@dataclass(frozen=True)
class Field:
    """One element inside a register of a lane."""

    element: int
    row: int
    column: int
    low: int
    bits: str
    text: str


class Bench:
    """An instruction with its operands laid out for editing.

    Matrices are named A, B, C, D and, where the instruction has them, stored (the kept half of sparse A), E (metadata),
    SFA and SFB (block scales). For sparse instructions A is the dense matrix. Registers are named by their operand.

    >>> import ptxlab
    >>> bench = Bench(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> bench.set_cell("A", 9, 37, "-3")
    >>> bench.fields("A", 4)[3][1][2]   # the third field from the top of register 3 in lane 4
    Field(element=29, row=9, column=37, low=20, bits='1101', text='-3')
    """

    def __init__(self, ins: MmaForm, seed: int = 0) -> None:
        self.ins = ins
        self.seed = seed
        self.chip = model_of(ins).chip  # whose D is shown: a chip of `chips`, or "GPU"
        self.against: str | None = None  # and with whose it is compared
        self.options: dict[str, Any] = {
            name: legal[0] for name, legal in ins.modifiers.items() if len(legal) > 1
        }
        self._random = np.random.default_rng(seed)
        self._held: dict[str, NDArray[Any]] = {}
        self._results: dict[str, NDArray[Any]] = {}
        self.history = History()
        for name, operand in ins.operands.items():
            if name != "D":
                start = (
                    np.full(operand.shape, 0b0100)
                    if name == "E"
                    else operand.dtype.encode(np.full(operand.shape, float(name in ("SFA", "SFB"))))
                )
                self._held[name] = operand.pack_codes(start)
        for name in ("A", "B"):
            self.fill(name, "random")
        self.history = History()

    # -- what there is ------------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Every matrix of this instruction."""
        sparse = ("stored", "E") if self.ins.sparse else ()
        scales = ("SFA", "SFB") if self.ins.scale_a is not None else ()
        return ("A", *sparse, "B", "C", "D", *scales)

    def operand(self, name: str) -> Operand:
        """The operand that a matrix shows."""
        if name not in self.names:
            raise PtxlabError(f"{self.ins.mnemonic} has no matrix {name!r}; it has {listing(self.names)}")
        if name == "A":
            return self.ins.a_dense
        return self.ins.a if name == "stored" else self.ins.operands[name]

    def copy_of(self, name: str) -> int:
        """Which of several holders of an element the instruction reads: the selectors say it."""
        if name == "E":
            return int(self.options.get("selector", 0))
        if name in ("SFA", "SFB"):
            letter, vec = name[-1].lower(), self.ins.scale_vec or 4
            return (
                int(self.options.get(f"thread_id_{letter}", 0)) * (4 // vec)
                + int(self.options.get(f"byte_id_{letter}", 0)) // vec
            )
        return 0

    def registers(self, name: str) -> NDArray[Any]:
        """Registers of an operand [lanes, registers]; for one in shared memory, its codes."""
        if name == "D":
            return self.ins.d.pack_codes(self.result().codes)
        if name not in self._held:
            raise PtxlabError(
                f"{self.ins.mnemonic} has no registers {name!r}; it has {listing([*self._held, 'D'])}"
            )
        return self._held[name].copy()

    def codes(self, name: str) -> NDArray[Any]:
        """Element codes of a matrix."""
        operand = self.operand(name)
        if name == "D":
            return self.result().codes
        return self._codes_in(self._held, name, operand)

    def _codes_in(self, held: dict[str, NDArray[Any]], name: str, operand: Operand) -> NDArray[Any]:
        if name == "A" and self.ins.sparse:
            return self.ins.expand(
                self._codes_in(held, "stored", self.ins.a), self._codes_in(held, "E", self.operand("E"))
            )
        return operand.unpack_codes(held["A" if name == "stored" else name], self.copy_of(name))

    def values(self, name: str) -> NDArray[Any]:
        """Values of a matrix."""
        return self.operand(name).dtype.decode(self.codes(name))

    @property
    def scales(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Values of the block scales; None where there are none."""
        return (self.values("SFA"), self.values("SFB")) if "SFA" in self.names else None

    def holder(self, name: str, row: int, column: int) -> int | None:
        """The lane whose element the instruction reads for a cell; None for one that no lane holds."""
        if name == "A" and self.ins.sparse:
            found = np.flatnonzero(self.positions()[row] == column)
            return self.holder("stored", row, int(found[0])) if found.size else None
        layout = self.operand(name).layout
        return (
            None
            if layout is None
            else int(layout.scatter(self.copy_of(name))[row, column]) // layout.elements
        )

    def positions(self) -> NDArray[np.int64]:
        """Column of dense A that every stored column stands for: [rows, stored columns]."""
        structure = self.ins.structure
        if structure is None:
            return np.broadcast_to(np.arange(self.ins.k), self.ins.a.shape)
        return structure.positions(self.codes("E"), self.ins.metadata_ordered)

    def fields(self, name: str, lane: int) -> list[tuple[str, list[Field]]]:
        """The registers of a lane in hex, each with its elements from the highest bits down."""
        operand = self.ins.operands[name]
        if operand.layout is None:
            return []
        operand.place(lane, 0)
        content = self.registers(name)[lane]
        held = operand.split(content[None])[0]
        values = operand.dtype.decode(held)
        rows: list[tuple[str, list[Field]]] = [
            (f"0x{int(register):0{operand.register_bits // 4}x}", []) for register in content
        ]
        for (place, row, column), code, value in zip(operand.holds(lane), held, values, strict=True):
            bits, text = f"{int(code):0{operand.dtype.bits}b}", written(value)
            rows[place.register][1].insert(0, Field(place.element, row, column, place.low, bits, text))
        return rows

    # -- the result ---------------------------------------------------------------------------------------------------

    @property
    def chips(self) -> tuple[str, ...]:
        """Chips with a model for the instruction, the one that `emulate` takes first."""
        first = model_of(self.ins).chip
        return (first, *(chip for chip in GENERATIONS if chip != first and self._models(chip)))

    def _models(self, chip: str) -> bool:
        try:
            return has(self.ins, chip) and model_of(self.ins, chip).chip == chip
        except PtxlabError:
            return False

    def result(self, chip: str | None = None, against: str | None = None) -> Result:
        """D for the present operands, by the model of a chip or by the GPU, and by another of them; those on the bench unless told."""
        chip, against = chip or self.chip, against or self.against
        return Result(self._by(chip), None if against is None else self._by(against))

    def has_result(self, chip: str) -> bool:
        """Whether D by this chip is known already, for what is on the bench now."""
        return chip in self._results

    def forget(self, chip: str) -> None:
        """Have D by this chip computed anew."""
        self._results.pop(chip, None)

    def _by(self, chip: str) -> NDArray[Any]:
        if chip not in self._results:
            self._results[chip] = self._compute(self.state, chip)
        return self._results[chip]

    def _operands(self, state: State) -> Operands:
        held = state.held
        return Operands(
            self.ins,
            held["A"],
            held["B"],
            held["C"],
            held.get("E"),
            held.get("SFA"),
            held.get("SFB"),
            Modifiers(**state.options),
        )

    def _compute(self, state: State, chip: str) -> NDArray[Any]:
        operands = self._operands(state)
        return self.ins.d.unpack_codes(gpu.run(operands) if chip == GPU else emulate(operands, model=chip))

    @property
    def model(self) -> str:
        """The chip whose model explains D; beside the GPU, the one to compare with."""
        return next(
            chip for chip in (self.chip, self.against, self.chips[0]) if chip is not None and chip != GPU
        )

    def trace(self, row: int, column: int) -> Trace:
        """Why D[row][column] has its bits, by the model of a chip."""
        return trace(self._operands(self.state), row, column, model=self.model)

    # -- edits: applied whole, or refused with the state as it was --------------------------------------------------------

    @property
    def state(self) -> State:
        """All that an edit can change."""
        return State(self._held, self.options)

    def restore(self, state: State) -> None:
        """Take a whole state, as one step."""
        held = {
            name: self.ins.operands[name].check_registers(registers).copy()
            for name, registers in state.held.items()
        }
        self.ins.check_modifiers(Modifiers(**state.options))
        self._commit(held, **state.options)

    def _commit(self, changed: dict[str, NDArray[Any]], **options: Any) -> None:
        """Take the change if the instruction takes it: legal metadata and a result. One that changes nothing is no step."""
        before, chip = self.state, self.model
        new = {
            name: registers
            for name, registers in changed.items()
            if not np.array_equal(registers, self._held[name])
        }
        options = {**before.options, **options}
        after = State(
            {**before.held, **new} if new else before.held,
            options if options != before.options else before.options,
        )
        if after.held is before.held and after.options is before.options:
            return
        self.options = after.options
        try:
            if self.ins.sparse:
                self._check_metadata(after.held)
            result = self._compute(after, chip)
        except PtxlabError:
            self.options = before.options
            raise
        self._held, self._results = after.held, {chip: result}
        self.history = self.history.after(before)

    def _check_metadata(self, held: dict[str, NDArray[Any]]) -> None:
        nibbles = self._codes_in(held, "E", self.operand("E"))
        try:
            self.ins.expand(self._codes_in(held, "stored", self.ins.a), nibbles)
        except PtxlabError as error:
            raise undefined(self.ins, nibbles, str(error)) from None

    @contextmanager
    def step(self) -> Iterator[None]:
        """All edits inside are one step; if one is refused, none of them was."""
        before, history = self.state, self.history
        try:
            yield
        except BaseException:
            self._go(before, history)
            raise
        if self.history is not history:
            self.history = history.after(before)

    def _go(self, state: State, history: History) -> None:
        if state.held is not self._held or state.options is not self.options:
            self._held, self.options, self._results = state.held, state.options, {}
        self.history = history

    def undo(self) -> bool:
        """Go back one step; False where there is none."""
        possible = bool(self.history.past)
        if possible:
            self._go(*self.history.back(self.state))
        return possible

    def redo(self) -> bool:
        """Take back an undo; False where there is none."""
        possible = bool(self.history.future)
        if possible:
            self._go(*self.history.forward(self.state))
        return possible

    def set_option(self, name: str, value: Any) -> None:
        """Set a modifier: selector, scale_d, imm_scale_a ..."""
        if name not in self.options:
            raise PtxlabError(
                f"{self.ins.mnemonic} has no choice of {name!r}; it has {listing(self.options) or 'none'}"
            )
        self.ins.check_modifiers(Modifiers(**{name: value}))
        self._commit({}, **{name: value})

    def set_registers(self, name: str, registers: ArrayLike) -> None:
        """Write all registers of an operand."""
        if name == "D":
            raise PtxlabError("D is the result: it cannot be written; write A, B or C")
        self.registers(name)
        self._commit({name: self.ins.operands[name].check_registers(registers).copy()})

    def set_register(self, name: str, lane: int, register: int, text: str) -> None:
        """Write one register of one lane from typed hexadecimal."""
        operand = self.ins.operand(name)
        place = f"{name}, lane {lane}, register {register}"
        list(operand.holds(lane, register))
        try:
            content = parse_register(text, operand.register_bits)
        except PtxlabError as error:
            raise PtxlabError(f"{place}: {error}") from None
        changed = self.registers(name)
        changed[lane, register] = content
        self.set_registers(name, changed)

    def flip(self, name: str, lane: int, register: int, bit: int) -> None:
        """Turn one bit of one register over."""
        operand = self.ins.operand(name)
        list(operand.holds(lane, register))
        if not 0 <= bit < operand.register_bits:
            raise PtxlabError(
                f"{name}, lane {lane}, register {register}: bit {bit} does not exist; bits go from 0 to {operand.register_bits - 1}"
            )
        changed = self.registers(name)
        changed[lane, register] ^= operand.register_type(1 << bit)
        self.set_registers(name, changed)

    def set_codes(self, name: str, codes: ArrayLike) -> None:
        """Write a whole matrix of codes; dense A of a sparse instruction is compressed afresh."""
        self._write(name, np.asarray(codes), fresh=True)

    def set_values(self, name: str, matrix: ArrayLike) -> None:
        """Write a whole matrix of values."""
        operand, matrix = self.operand(name), np.asarray(matrix)
        if matrix.shape != operand.shape:
            raise PtxlabError(
                f"{name}: found shape {matrix.shape}; it takes ({operand.shape[0]}, {operand.shape[1]})"
            )
        try:
            codes = operand.dtype.encode(matrix)
        except PtxlabError as error:
            raise PtxlabError(f"{name}: {error}") from None
        self.set_codes(name, codes)

    def set_cell(self, name: str, row: int, column: int, text: str) -> None:
        """Write one cell from typed text."""
        self.paste(name, row, column, text)

    def paste(
        self, name: str, row: int, column: int, text: str, row2: int | None = None, column2: int | None = None
    ) -> None:
        """Write a block of cells from tab-separated text as spreadsheets copy it, once or as often as it fits a range; empty cells stay."""
        try:
            self._write(name, *pasted(self, name, row, column, text, row2, column2))
        except Refused as error:
            if not {"\t", "\n", "\r"} & set(text):
                error.text, error.cell = text, (row, column)
            raise

    def clear(self, name: str, row: int, column: int, row2: int, column2: int) -> None:
        """Write into a range what its cells had at the start."""
        self._write(name, *cleared(self, name, row, column, row2, column2))

    def extend(
        self,
        name: str,
        row: int,
        column: int,
        row2: int,
        column2: int,
        to_row: int,
        to_column: int,
        series: bool,
    ) -> None:
        """Fill on from a range up to a row or column beyond it: numbers in equal steps go on where a series is wanted, others repeat."""
        self._write(name, *extended(self, name, row, column, row2, column2, to_row, to_column, series))

    def prune(self, offer: Broken) -> None:
        """Take an edit that broke the structure of sparse A, pruned."""
        self._write("A", offer.pruned)

    def fill(self, name: str, how: str, row: int = 0, column: int = 0) -> None:
        """Fill a matrix; sparse A keeps its structure by pruning. one-hot puts its one at `row`, `column`."""
        if how not in self.fills(name):
            raise PtxlabError(
                f"{name} cannot be filled with {how!r}; it takes {listing(self.fills(name)) or 'nothing: it is the result'}"
            )
        operand = self.operand(name)
        if name == "E" and self.ins.structure is not None:
            self.set_codes(name, self._random.choice(list(self.ins.structure.nibbles), operand.shape))
            return
        matrix = filled(operand, how, row, column, self._random)
        self.set_values(name, self.ins.prune(matrix) if name == "A" and self.ins.sparse else matrix)

    def fills(self, name: str) -> tuple[str, ...]:
        """The fills that a matrix takes."""
        return fills_of(name, self.operand(name).dtype)

    def span(self, name: str) -> tuple[int, int]:
        """Least and largest number of a random fill."""
        return span_of(self.operand(name).dtype)

    def _write(
        self, name: str, codes: NDArray[Any], typed: NDArray[np.bool_] | None = None, *, fresh: bool = False
    ) -> None:
        """Take a matrix of codes; `typed` are the cells that somebody typed."""
        operand = self.operand(name)
        if name == "D":
            raise PtxlabError("D is the result: it cannot be written; write A, B or C")
        if codes.shape != operand.shape:
            raise PtxlabError(
                f"{name}: found shape {codes.shape}; it takes ({operand.shape[0]}, {operand.shape[1]})"
            )
        if name == "A" and self.ins.sparse:
            stored, nibbles = compressed(self.ins, codes, None if fresh else self.codes("E"), typed)
            self._commit({"A": self._placed("stored", stored), "E": self._placed("E", nibbles)})
        else:
            self._commit({"A" if name == "stored" else name: self._placed(name, codes)})

    def _placed(self, name: str, codes: NDArray[Any]) -> NDArray[Any]:
        """The registers with these codes in place of a matrix: in every copy of the elements that change, and in no other."""
        operand = self.operand(name)
        fresh = operand.pack_codes(codes)
        if operand.layout is None:
            return fresh
        if operand.container:  # what stands in the padding stays
            owned = operand.join(
                np.full((operand.lanes, operand.layout.elements), (1 << operand.dtype.bits) - 1)
            )
            fresh = fresh | (self._held["A" if name == "stored" else name] & ~owned)
        if operand.layout.copies == 1:
            return fresh
        changed = self.codes(name) != codes
        held, new = operand.split(self._held[name]), operand.split(fresh)
        return operand.join(np.where(changed.reshape(-1)[operand.layout.gather], new, held))
