"""Instructions of which assemblers are known to make code that computes another value than PTX says."""

from __future__ import annotations

import numpy as np

from ..events import Inspection, Observer
from ..hazard import HazardLog, Violation
from ..launch_threads import Batch, Threads
from ..ptx.ptxas import SignFill
from ..ptx.syntax import PtxInstruction, Register
from .module_plans import ModulePlans


class AssemblerFaults(Observer):
    """Compares both values of such instructions wherever they are executed."""

    def __init__(self, report: HazardLog, plans: ModulePlans) -> None:
        self._report = report
        self._faults = plans.faults

    def attach(self, machine: Inspection) -> None:
        """Keep the machine, whose registers hold the operands."""
        self._machine = machine

    def begin(self, batch: Batch) -> None:
        """Blocks start."""
        self._batch = batch

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Report threads whose result is another one on a chip."""
        fault = self._faults.get(id(instruction))
        if fault is None:
            return
        read = self._machine.reader()
        values = [
            read(operand.index) for operand in instruction.operands[1:3] if isinstance(operand, Register)
        ]
        operands = [value[threads.indices] for value in values if value is not None]
        if isinstance(fault, SignFill):  # its other register holds the position
            operands = operands[:1]
        expected = fault.expected(instruction.parts[0], *operands)
        computed = fault.computed(*operands)
        wrong = np.flatnonzero(expected != computed)
        if len(wrong):
            place = int(wrong[0])
            self._report.add(self._batch, Violation(
                "the assembler's code", instruction, threads.indices[wrong],
                f"{{who}} execute{{s}} {instruction.opcode} {fault.words}: PTX says "
                f"0x{int(expected[place]):x}, its code gives 0x{int(computed[place]):x}",
                remedy=f"{fault.remedy}; the simulation has PTX's value, and the chip's with assembled=True",
            ))  # fmt: skip
