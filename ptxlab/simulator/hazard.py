"""What is wrong with a kernel that ran: a hazard, with its place, its threads and what would be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from .ptx import Instruction
from .threads import Batch


@dataclass(frozen=True)
class Hazard:
    """Something that is wrong in a kernel, at one line; `count` is how often it was seen there.

    `line` is the source's line, or the PTX's where the kernel is PTX text; `text` is what stands there.
    Block, warp, lanes and addresses (first and last byte, in the memory that `space` names) are those of
    the first time. `other_line` is the line of the other access where two are at odds.
    """

    kind: str
    sentence: str
    line: int
    text: str
    ptx_line: int
    opcode: str
    block: tuple[int, int, int]
    warp: int
    lanes: tuple[int, ...]
    remedy: str
    space: str = ""
    addresses: tuple[int, int] | None = None
    other_line: int | None = None
    count: int = 1

    def __str__(self) -> str:
        return self.sentence


class HazardError(PtxlabError):
    """A hazard that ends the simulation; `hazard` is its record, `hazards` has those before it as well."""

    def __init__(self, sentence: str, hazard: Hazard | None = None) -> None:
        super().__init__(sentence)
        self.hazard = hazard
        self.hazards: list[Hazard] = [] if hazard is None else [hazard]

    def __reduce__(self) -> tuple[type[HazardError], tuple[str, Hazard | None]]:
        return HazardError, (str(self), self.hazard)  # from another process, with its record


def lanes_text(lanes: Sequence[int]) -> str:
    """Lanes for a sentence.

    >>> lanes_text([0, 1, 2, 3, 8])
    'lanes 0-3, 8'
    """
    ordered = sorted({int(lane) for lane in lanes})
    runs: list[list[int]] = []
    for lane in ordered:
        if runs and lane == runs[-1][-1] + 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    shown = ", ".join(texts[:4]) + (", ..." if len(texts) > 4 else "")
    return f"lane {shown}" if len(ordered) == 1 else f"lanes {shown}"


def threads_text(batch: Batch, threads: NDArray[Any], most: int = 4) -> str:
    """Threads of the batch for a sentence, warp by warp."""
    texts = []
    warps = np.unique(threads >> 5)
    for warp in warps[:most]:
        block = batch.grid.block_of(int(batch.numbers[warp * 32 // batch.block_lanes]))
        lanes = lanes_text((threads[threads >> 5 == warp] & 31).tolist())
        texts.append(f"block {block}, warp {warp * 32 % batch.block_lanes // 32}, {lanes}")
    more = f" and {len(warps) - most} more warps" if len(warps) > most else ""
    return " and ".join(texts) + more


def record(
    kind: str,
    instruction: Instruction,
    batch: Batch,
    threads: NDArray[Any],
    remedy: str,
    sentence: str = "",
    *,
    space: str = "",
    addresses: tuple[int, int] | None = None,
    other: Instruction | None = None,
) -> Hazard:
    """A hazard of threads (indices into the batch); block, warp and lanes are those of the first warp."""
    first = int(threads[0])
    return Hazard(
        kind=kind,
        sentence=sentence,
        line=instruction.source_line,
        text="",
        ptx_line=instruction.line,
        opcode=instruction.opcode,
        block=batch.grid.block_of(int(batch.numbers[first // batch.block_lanes])),
        warp=first % batch.block_lanes // 32,
        lanes=tuple(int(lane) for lane in np.unique(threads[threads // 32 == first // 32] % 32)),
        remedy=remedy,
        space=space,
        addresses=addresses,
        other_line=None if other is None else other.source_line,
        count=len(threads),
    )
