"""What is wrong with a kernel that ran: hazards, each with its place, its threads and what would be right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..ptx import Instruction
from ..simulator.events import HazardError
from ..simulator.result import Hazard
from ..simulator.threads import Batch

__all__ = ["KINDS", "Hazard", "Kind", "Report", "lanes_text", "line_of", "line_text"]


@dataclass(frozen=True)
class Kind:
    """A class of hazards: what it is, what is right, and the tool of compute-sanitizer that looks for it."""

    name: str
    meaning: str
    remedy: str
    tool: str = ""


_KINDS = (
    Kind(
        "race",
        "Two threads touch the same bytes of shared or global memory, at least one of them writes, and no "
        "barrier orders them",
        "__syncthreads(), __syncwarp(), a named barrier, an mbarrier, or atomic operations",
        "racecheck",
    ),
    Kind(
        "uninitialised memory",
        "A thread reads bytes of shared or local memory that nobody has written",
        "write them first",
        "initcheck",
    ),
    Kind(
        "uninitialised register",
        "An instruction computes with a register that the thread has not written",
        "write it on every path",
    ),
    Kind(
        "missing wait",
        "Data of cp.async, of a bulk copy or of TMA is touched before the copy is known to be complete",
        "cp.async.wait_group after cp.async.commit_group, or a wait for the copy's mbarrier",
        "racecheck",
    ),
    Kind(
        "missing proxy fence",
        "A bulk copy, TMA or wgmma reads shared memory that ordinary stores wrote, without a fence between "
        "the proxies",
        "fence.proxy.async after the stores, before the barrier",
    ),
    Kind(
        "wgmma registers",
        "Registers of a wgmma are touched while it may still run",
        "wgmma.commit_group and wgmma.wait_group first",
    ),
    Kind(
        "missing wgmma.fence",
        "A wgmma uses registers that were computed after the last wgmma.fence, or there was none",
        "wgmma.fence before the first wgmma, and whenever other instructions have written its registers",
    ),
    Kind(
        "divergent barrier",
        "Lanes of a warp reach a barrier for the whole warp at different places or times",
        "let all lanes of the warp reach the same barrier, or use barrier.sync without .aligned",
        "synccheck",
    ),
    Kind(
        "lanes missing",
        "An .aligned instruction is executed without all lanes of its warp",
        "let all lanes of the warp execute it; end the kernel for none of them before",
        "synccheck",
    ),
    Kind(
        "not in the mask",
        "A lane executes a .sync instruction whose mask does not name it",
        "a mask with the bits of all lanes that execute the instruction",
        "synccheck",
    ),
)
#: The kinds of hazards, by name.
KINDS: dict[str, Kind] = {kind.name: kind for kind in _KINDS}


def line_of(instruction: Instruction) -> int:
    """The source's line of an instruction, or else the PTX's."""
    return instruction.line if instruction.location is None else instruction.location.line


def line_text(instruction: Instruction) -> str:
    """The line for a sentence."""
    return f"line {line_of(instruction)}" if instruction.location else f"PTX line {instruction.line}"


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


class Report:
    """Collects hazards: one for each kind and pair of lines, with a count; or raises the first."""

    def __init__(
        self, source: str, raises: bool = False, shared: Sequence[tuple[str, int, int]] = ()
    ) -> None:
        self._lines = source.splitlines()
        self._shared = shared  # names, addresses and sizes of variables
        self._raises = raises
        self._hazards: dict[tuple[Any, ...], Hazard] = {}

    @property
    def hazards(self) -> list[Hazard]:
        """By line."""
        return sorted(self._hazards.values(), key=lambda hazard: (hazard.line, hazard.ptx_line, hazard.kind))

    def shared_place(self, first: int, last: int) -> str:
        """Bytes of shared memory for a sentence, with the name of their variable."""
        for name, start, size in self._shared:
            if start <= first and last < start + size:
                return f"shared bytes {first - start}..{last - start} of {name}"
        return f"shared bytes {first}..{last}"

    def add(
        self,
        kind: str,
        instruction: Instruction,
        batch: Batch,
        threads: NDArray[Any],
        what: str,
        *,
        remedy: str = "",
        other: Instruction | None = None,
        space: str = "",
        addresses: tuple[int, int] | None = None,
    ) -> None:
        """A hazard of some threads (indices into the batch); `what` follows the line and who it is.

        In `what`, `{who}` becomes block, warp and lanes of the first warp that has it, `{lanes}` warp and
        lanes, `{s}` and `{es}` the ending of a verb.
        """
        key = (kind, line_of(instruction), None if other is None else line_of(other))
        known = self._hazards.get(key)
        if known is not None:
            self._hazards[key] = replace(known, count=known.count + len(threads))
            return
        first = int(threads[0])
        block = batch.grid.block_of(int(batch.numbers[first // batch.block_lanes]))
        warp = first % batch.block_lanes // 32
        lanes = tuple(int(lane) for lane in np.unique(threads[threads // 32 == first // 32] % 32))
        remedy = remedy or KINDS[kind].remedy
        words = {"{lanes}": f"warp {warp}, {lanes_text(lanes)}", "{s}": "", "{es}": ""}
        words["{who}"] = f"block {block}, {words['{lanes}']}"
        if len(lanes) == 1:
            words |= {"{s}": "s", "{es}": "es"}
        for word, text in words.items():
            what = what.replace(word, text)
        sentence = f"{line_text(instruction)}: {what}; {remedy}"
        line = line_of(instruction)
        text = ""
        if 0 < line <= len(self._lines):
            text = self._lines[line - 1].strip()
        hazard = Hazard(
            kind, sentence, line, text, instruction.line, instruction.opcode, block, warp, lanes, remedy,
            space, addresses, None if other is None else line_of(other), len(threads),
        )  # fmt: skip
        self._hazards[key] = hazard
        if self._raises:
            raise HazardError(sentence, hazard)
