"""Code of which assemblers are known to make another value than PTX says: so far a rotate of 64 bits."""

from __future__ import annotations

import numpy as np

from ..events import Inspection, Observer
from ..hazard import HazardLog, Violation
from ..ptx.syntax import PtxInstruction, Register
from ..threads import Batch, Threads
from .plans import ModulePlans


class AssembledCheck(Observer):
    """Compares both values of a sum that becomes a rotate, wherever it is executed."""

    def __init__(self, report: HazardLog, plans: ModulePlans) -> None:
        self._report = report
        self._rotations = plans.rotations

    def attach(self, machine: Inspection) -> None:
        """Keep the machine, whose registers hold the operands."""
        self._machine = machine

    def begin(self, batch: Batch) -> None:
        """Blocks start."""
        self._batch = batch

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Report threads whose result is another one on a chip."""
        rotation = self._rotations.get(id(instruction))
        if rotation is None:
            return
        read = self._machine.reader()
        operands = [read(each.index) for each in instruction.operands[1:3] if isinstance(each, Register)]
        first, second = (each[threads.indices] for each in operands if each is not None)
        plain = first + second if instruction.parts[0] == "add" else first - second
        rotated = rotation.rotated(first, second)
        wrong = np.flatnonzero(plain != rotated)
        if len(wrong):
            place = int(wrong[0])
            self._report.add(self._batch, Violation(
                "the assembler's rotate", instruction, threads.indices[wrong],
                f"{{who}} execute{{s}} {instruction.opcode} of two shifts, which ptxas of CUDA 12.0 to 13.2 "
                f"turns into a rotate: PTX says 0x{int(plain[place]):x}, its code gives "
                f"0x{int(rotated[place]):x}",
            ))  # fmt: skip
