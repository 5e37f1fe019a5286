"""What a simulation reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_int
from ...errors import PtxlabError, listing, quoted
from ...isa.operands import Operands
from ..ptx import Instruction
from .events import Observer
from .threads import Threads

__all__ = ["Counts", "Products", "Result"]


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


@dataclass(slots=True)
class _Product:
    """A matrix instruction of several warps or warpgroups."""

    instruction: Instruction
    operands: Operands
    warps: NDArray[np.int64]  # of the launch, the first of each group


class Products(Observer):
    """What matrix instructions read, until so many bytes are kept."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes
        self.items: list[_Product] = []
        self.complete = True

    def multiplied(self, instruction: Instruction, operands: Operands, threads: Threads) -> None:
        """Keep the operands; they are not copied."""
        size = sum(array.nbytes for array in operands.arrays.values())
        if size > self._left:
            self.complete = False
            return
        self._left -= size
        batch = threads.batch
        first = threads.indices[:: operands.ins.lanes]
        warps = batch.numbers[first // batch.block_lanes] * batch.grid.warps + first % batch.block_lanes // 32
        self.items.append(_Product(instruction, operands, warps))


@dataclass
class Result:
    """What came of a simulated launch, besides the arrays that the kernel wrote.

    `counts` says how many warps executed each opcode, `lines` the same by source line (by line of the PTX
    where the kernel is PTX); `output` is what the kernel printed.
    """

    counts: Counter[str] = field(default_factory=Counter)
    lines: Counter[int] = field(default_factory=Counter)
    output: str = ""
    _products: Products = field(default_factory=lambda: Products(0), repr=False)

    @classmethod
    def of(cls, counts: Counts, products: Products, output: str) -> Result:
        """From what was counted, kept and printed."""
        result = cls(output=output, _products=products)
        for instruction, count in counts.instructions.items():
            result.counts[instruction.opcode] += count
            result.lines[instruction.source_line] += count
        return result

    def operands(self, line: int | None = None, warp: int = 0, *, index: int = 0) -> Operands:
        """What a matrix instruction read in one warp: registers, or codes where they came from shared memory.

        Warps are counted through the launch, block by block. Of the instructions that the warp executed, or
        of those on one source line, `index` chooses: 2 is the third.

        >>> import numpy as np, ptxlab
        >>> source = '''extern "C" __global__ void f(unsigned* x) {
        ...   asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%0, %0, %0, %0}, "
        ...     "{%1, %1}, {%0, %1};" : "+r"(x[0]), "+r"(x[1]));
        ... }'''
        >>> x = np.array([0x3C003C00, 0x40004000], dtype=np.uint32)
        >>> result = ptxlab.kernel(source).simulate(1, 32, x)
        >>> seen = result.operands(warp=0, index=0)
        >>> seen.ins.b.unpack(seen.b)[0, :3]
        array([2., 2., 2.], dtype=float16)
        """
        number, place = as_int(warp, "warp"), as_int(index, "index")
        wanted = None if line is None else as_int(line, "line")
        found = []
        for product in self._products.items:
            if wanted is not None and product.instruction.source_line != wanted:
                continue
            last = product.warps + product.operands.ins.lanes // 32 - 1
            group = np.flatnonzero((product.warps <= number) & (number <= last))
            if len(group):
                found.append((product, int(group[0])))
        if 0 <= place < len(found):
            product, position = found[place]
            return product.operands.item(position)
        where = "" if wanted is None else f" on line {quoted(wanted)}"
        lines = sorted({product.instruction.source_line for product in self._products.items})
        have = f"it executed {len(found)}{where}; matrix instructions are on lines {listing(lines)}"
        if not lines:
            have = "the kernel executed none"
        if not self._products.complete:
            have += "; only the first were kept"
        raise PtxlabError(f"matrix instruction {quoted(place)} of warp {quoted(number)}: {have}")

    def __repr__(self) -> str:
        total = sum(self.counts.values())
        return f"<{total:,} instructions executed by warps, {len(self.counts)} different>"
