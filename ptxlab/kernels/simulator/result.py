"""What a simulation reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..ptx import Instruction
from .events import Observer
from .threads import Threads

__all__ = ["Counts", "Result"]


class Counts(Observer):
    """How many warps executed each instruction."""

    def __init__(self) -> None:
        self._counts: dict[int, list[int]] = {}
        self._instructions: dict[int, Instruction] = {}

    def executed(self, instruction: Instruction, threads: Threads) -> None:
        """Count an instruction once for each warp."""
        key = id(instruction)
        if key not in self._counts:
            self._counts[key] = [0, 0]
            self._instructions[key] = instruction
        count = self._counts[key]
        count[0] += threads.warps
        count[1] += threads.count

    @property
    def instructions(self) -> dict[Instruction, int]:
        """Warps that executed each instruction."""
        return {self._instructions[key]: count for key, (count, _) in self._counts.items()}


@dataclass
class Result:
    """What came of a simulated launch, besides the arrays that the kernel wrote.

    `counts` says how many warps executed each opcode, `lines` the same by source line; `output` is what the
    kernel printed.
    """

    counts: Counter[str] = field(default_factory=Counter)
    lines: Counter[int] = field(default_factory=Counter)
    output: str = ""

    @classmethod
    def of(cls, counts: Counts, output: str) -> Result:
        """From what was counted and printed."""
        result = cls(output=output)
        for instruction, count in counts.instructions.items():
            result.counts[instruction.opcode] += count
            line = instruction.line if instruction.location is None else instruction.location.line
            result.lines[line] += count
        return result

    def __repr__(self) -> str:
        total = sum(self.counts.values())
        return f"<{total:,} instructions executed by warps, {len(self.counts)} different>"
