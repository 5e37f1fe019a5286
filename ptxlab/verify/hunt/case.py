"""One multiplication as matrices of codes, many of them side by side, and the two that are asked what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...isa.operands import Operands
from ...memory import Tile
from .simpler import simplest_nibble

__all__ = ["Case", "Judge", "Runner", "Setting", "room"]

_PRODUCTS, _ELEMENTS = (
    1 << 24,
    1 << 22,
)  # in one go: products for the emulator, elements of A, B and C for memory

Arrays = Mapping[str, NDArray[Any]]


class Setting(NamedTuple):
    """How an instruction is run: where A is, and its modifiers."""

    ins: MmaForm
    modifiers: Modifiers

    @property
    def legal(self) -> bool:
        """Whether the instruction takes the modifiers, and its tiles the swizzle."""
        transposed = {"A": self.modifiers.imm_trans_a, "B": self.modifiers.imm_trans_b}
        try:
            self.ins.check_modifiers(self.modifiers)
            for operand in (self.ins.a, self.ins.b):
                if operand.space == "shared":
                    Tile.of(operand, self.modifiers.swizzle, transposed[operand.name])
        except PtxlabError:
            return False
        return True


#: What runs an instruction: `gpu.run`, or another that takes the same.
Runner = Callable[[Operands], NDArray[Any]]


def room(ins: MmaForm) -> int:
    """How many MMAs of it are made and compared in one go."""
    elements = sum(operand.shape[0] * operand.shape[1] for operand in ins.inputs.values())
    return max(min(_PRODUCTS // (ins.d.shape[0] * ins.n * ins.k), _ELEMENTS // elements, 8192), 1)


@dataclass(frozen=True)
class Case:
    """One MMA and the element of its D that is looked at.

    `cells` has the codes of every operand as a matrix [rows, columns]; or, where `packed`, registers [lanes, registers]: a difference
    may come of bits that no matrix has, such as those of lanes that the selector leaves out.
    """

    setting: Setting
    row: int
    col: int
    cells: Arrays
    packed: bool = False

    def column_of_b(self) -> int:
        """Column of B that meets this element."""
        return self.setting.ins.column_of_b(self.row, self.col)

    def usual(self, name: str) -> int:
        """What an operand is filled with where nothing is needed: zeros, the simplest nibbles, scales of 1."""
        ins = self.setting.ins
        operand = ins.inputs[name]
        if name == "e":
            nibble = simplest_nibble(ins)
            return int(operand.pack_codes(np.full(operand.shape, nibble))[0, 0]) if self.packed else nibble
        one = int(operand.dtype.encode(1)) if name.startswith("scale") else 0
        return int(operand.pack_codes(np.full(operand.shape, one))[0, 0]) if one and self.packed else one

    def with_cells(self, changes: Mapping[tuple[str, int, int], int]) -> Case:
        """The same with other codes in these places."""
        cells = {name: array.copy() for name, array in self.cells.items()}
        for (name, row, col), code in changes.items():
            cells[name][row, col] = code
        return replace(self, cells=cells)

    def operands(self, batch: Arrays | None = None) -> Operands:
        """What the instruction reads, of this case or of a batch of its kind."""
        cells = self.cells if batch is None else batch
        ins = self.setting.ins
        registers = {
            name: cells[name] if self.packed else operand.pack_codes(cells[name])
            for name, operand in ins.inputs.items()
        }
        return Operands(ins, **registers, modifiers=self.setting.modifiers)

    def codes_of(self, name: str) -> NDArray[Any]:
        """Codes of an operand, also where the case is packed."""
        operand, copy = self.setting.ins.inputs[name], self.setting.modifiers.selector if name == "e" else 0
        return operand.unpack_codes(self.cells[name], copy) if self.packed else self.cells[name]

    def positions(self) -> NDArray[np.int64]:
        """Which k each stored column of this row of A meets."""
        ins = self.setting.ins
        if ins.structure is None:
            return np.arange(ins.a.shape[1])
        return np.asarray(
            ins.structure.positions(self.codes_of("e")[self.row : self.row + 1], ins.metadata_ordered)[0]
        )


class Judge:
    """Asks the emulator and the runner, and counts how often."""

    def __init__(self, emulate: Runner, run: Runner) -> None:
        self._emulate, self._run = emulate, run
        self.launches = 0

    def registers(self, operands: Operands) -> tuple[NDArray[Any], NDArray[Any]]:
        """D of both, for a batch."""
        self.launches += 1
        return np.asarray(self._emulate(operands)), np.asarray(self._run(operands))

    def element(self, case: Case) -> tuple[int, int]:
        """Codes of the element, from the emulator and from the runner."""
        emulated, run = self._codes(case, {name: array[None] for name, array in case.cells.items()})
        return int(emulated[0]), int(run[0])

    def differ(self, case: Case, batch: Arrays) -> NDArray[np.bool_]:
        """For every member of a batch, whether the two still disagree about the element."""
        count, step = len(batch["c"]), room(case.setting.ins)
        parts = [
            self._codes(case, {name: array[first : first + step] for name, array in batch.items()})
            for first in range(0, count, step)
        ]
        return (
            np.concatenate([emulated != run for emulated, run in parts]) if parts else np.zeros(0, dtype=bool)
        )

    def any_of(self, cases: list[Case]) -> list[bool]:
        """The same for cases of one setting."""
        if not cases:
            return []
        batch = {name: np.stack([case.cells[name] for case in cases]) for name in cases[0].cells}
        return [bool(found) for found in self.differ(cases[0], batch)]

    def _codes(self, case: Case, batch: Arrays) -> tuple[NDArray[Any], NDArray[Any]]:
        emulated, run = self.registers(case.operands(batch))
        d = case.setting.ins.d
        return d.unpack_codes(emulated)[:, case.row, case.col], d.unpack_codes(run)[:, case.row, case.col]
