"""Streams of machine instructions: what each warp issues, from the PTX instructions that it came to."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...gpu.records import measured
from ...isa.product_form import ProductForm
from ..ptx.dataflow import basic_blocks
from ..ptx.syntax import Immediate, Module, PtxInstruction
from .code import MachineCode, MachineInstruction
from .record import Recorder, Touch
from .replay import (
    BARRIER,
    BRANCH,
    BULK,
    BULK_STORE,
    COMMIT,
    COPY,
    EVENT,
    EXIT,
    LOAD,
    MBARRIER,
    PLAIN,
    SHARED,
    STORE,
    WAIT,
    WGMMA,
)  # fmt: skip
from .units import Clockwork, pipe_of

_SHAPE = re.compile(r"GMMA\.64x(\d+)x")
_KINDS = {
    **dict.fromkeys(["LDS", "STS", "LDSM", "STSM", "ATOMS"], SHARED),
    **dict.fromkeys(["LDG", "LD", "LDL", "ATOMG", "ATOM"], LOAD),
    **dict.fromkeys(["STG", "ST", "STL", "RED", "REDG"], STORE),
    **dict.fromkeys(["LDGSTS"], COPY),
    **dict.fromkeys(["UTMALDG", "UBLKCP"], BULK),
    **dict.fromkeys(["UTMASTG", "UTMAREDG", "UBLKRED"], BULK_STORE),
    **dict.fromkeys(["HGMMA", "IGMMA", "BGMMA", "QGMMA"], WGMMA),
    **dict.fromkeys(["BAR", "SYNCS", "UCGABAR_ARV", "UCGABAR_WAIT", "ARRIVES"], EVENT),
    "EXIT": EXIT,
}
#: Instructions of the PTX that matter even where no machine instruction stands for them: kind, group.
_GROUPS = {
    "cp.async.commit_group": (COMMIT, 0),
    "cp.async.wait_group": (WAIT, 0),
    "cp.async.wait_all": (WAIT, 0),
    "wgmma.commit_group": (COMMIT, 1),
    "wgmma.wait_group": (WAIT, 1),
    "cp.async.bulk.commit_group": (COMMIT, 2),
    "cp.async.bulk.wait_group": (WAIT, 2),
}
#: Instructions of the PTX of which the machine has one as well: of several, the others are copies.
_ONE_FOR_ONE = frozenset({"ex2", "fma", "lg2", "mma", "shfl", "tanh"})
_EVENTS = ("bar", "barrier", "mbarrier")


@dataclass(frozen=True)
class Streams:
    """Everything that `replay` reads, and the instruction behind each row of `op`."""

    op: NDArray[np.float64]
    origins: tuple[int, ...]  # the PTX instruction of each row of `op`, by its number; -1 for none
    opcodes: tuple[str, ...]
    stream: NDArray[np.int32]
    bounds: NDArray[np.int64]
    touch: NDArray[np.float64]
    links: NDArray[np.int64]
    linked: NDArray[np.int32]
    events: NDArray[np.int32]


class Expansion:
    """How PTX instructions become machine instructions."""

    def __init__(
        self, module: Module, code: MachineCode, forms: dict[int, ProductForm], chip: Clockwork
    ) -> None:
        self.instructions: list[PtxInstruction] = list(module.instructions)
        self.chip = chip
        self.forms = forms
        self.rows: list[list[float]] = []
        self.origins: list[int] = []
        self.opcodes: list[str] = []
        self._block: dict[int, int] = {}  # number of an instruction -> the first of its basic block
        self._ends: dict[int, int] = {}
        self.nothing = self._add([EXIT, BRANCH, 1, 1, 1, 7, 7, 0, 0, 0, 0], -1, "EXIT")
        base = 0
        for function in module.functions.values():
            for start, end in basic_blocks(function).items():
                self._ends[base + start] = base + end
                self._block.update(dict.fromkeys(range(base + start, base + end), base + start))
            base += len(function.instructions)
        by_block: dict[int, list[MachineInstruction]] = defaultdict(list)
        for each in code.instructions:
            if 0 <= each.origin < len(self.instructions):
                by_block[self._block[each.origin]].append(each)
        #: For each basic block its copies: lists of (row, PTX instruction whose touch it takes, or -1).
        self.copies: dict[int, list[list[tuple[int, int, int]]]] = {}
        for start, end in self._ends.items():
            self.copies[start] = self._copies(start, end, by_block.get(start, []))

    def _copies(
        self, start: int, end: int, code: list[MachineInstruction]
    ) -> list[list[tuple[int, int, int]]]:
        """A block's machine instructions in their order, for each copy that the assembler made of it."""
        times = Counter((each.origin, each.opcode) for each in code)
        idle = {(each.origin, each.opcode) for each in code if each.idle}
        anchors: dict[int, int] = {}
        for (origin, opcode), count in times.items():
            if (origin, opcode) in idle:
                continue
            if opcode.partition(".")[0] in _KINDS or self.instructions[origin].parts[0] in _ONE_FOR_ONE:
                anchors[origin] = max(count, anchors.get(origin, 0))
        unrolled = min(anchors.values(), default=1)
        seen: Counter[tuple[int, str]] = Counter()
        copies: list[list[tuple[int, int, int]]] = [[] for _ in range(unrolled)]
        taken: set[tuple[int, int]] = set()
        for each in code:
            key = each.origin, each.opcode
            copy = min(seen[key] * unrolled // times[key], unrolled - 1)
            seen[key] += 1
            concerned = -1
            if each.name in _KINDS and not each.idle and (copy, each.origin) not in taken:
                concerned = each.origin
                taken.add((copy, each.origin))
            copies[copy].append((self._row(each), each.origin, concerned))
        for each_copy in copies:  # what has no machine instruction and matters
            there = {origin for _, origin, concerned in each_copy if concerned >= 0 or self._is_group(origin)}
            for number in range(start, end):
                if number in there or not self._matters(number):
                    continue
                place = next(
                    (i for i, (_, origin, _) in enumerate(each_copy) if origin > number), len(each_copy)
                )
                each_copy.insert(place, (self._pseudo(number), number, number))
        return copies

    def _group_of(self, number: int) -> tuple[int, int] | None:
        parts = self.instructions[number].parts
        return next(
            (_GROUPS[name] for size in (4, 3, 2) if (name := ".".join(parts[:size])) in _GROUPS), None
        )

    def _is_group(self, number: int) -> bool:
        return self._group_of(number) is not None

    def _matters(self, number: int) -> bool:
        instruction = self.instructions[number]
        if self._is_group(number):
            return True
        parts = instruction.parts
        if parts[:3] == ("cp", "async", "mbarrier"):
            return True
        return parts[0] in _EVENTS and parts[:2] not in (("bar", "warp"), ("mbarrier", "init"))

    def _pseudo(self, number: int) -> int:
        """A row for a PTX instruction without a machine instruction of its own."""
        row = [EVENT, BRANCH, 0, 2, 1, 7, 7, 0, self._event_kind(number), 0, 0]
        group = self._group_of(number)
        if group is not None:
            row[0], row[8], row[9] = group[0], group[1], self._left(number)
        elif self.instructions[number].parts[:3] == ("cp", "async", "mbarrier"):
            row[9] = 1
        return self._add([float(each) for each in row], number, self.instructions[number].opcode)

    def _left(self, number: int) -> int:
        """Groups that a wait leaves under way; -1 for all, committed or not."""
        instruction = self.instructions[number]
        operand = instruction.operands[0] if instruction.operands else None
        return operand.value if isinstance(operand, Immediate) else -1

    def _event_kind(self, number: int) -> int:
        return MBARRIER if self.instructions[number].parts[0] in ("mbarrier", "cp") else BARRIER

    def _row(self, each: MachineInstruction) -> int:
        pipe = pipe_of(each.opcode)
        kind = PLAIN if each.idle else _KINDS.get(each.name, PLAIN)
        parts = self.instructions[each.origin].parts
        if each.name == "UBLKCP":
            kind = BULK if "mbarrier::complete_tx::bytes" in parts else BULK_STORE
        interval, latency, group, count, slow = pipe.interval, pipe.latency, 0, 0, 0
        form = self._form(each)
        if (form is not None and each.name in ("HMMA", "IMMA", "BMMA", "DMMA", "QMMA")) or kind == WGMMA:
            interval, latency = self._product(form, kind == WGMMA, interval, latency)
        if kind == LOAD:
            latency, slow = self.chip.l1_latency, 1
        elif kind == EVENT:
            group, latency = self._event_kind(each.origin), 12
        found = self._group_of(each.origin)
        if found is not None and each.name in ("LDGDEPBAR", "DEPBAR", "WARPGROUP", "UTMACMDFLUSH"):
            kind, group = found
            count = self._left(each.origin) if kind == WAIT else 0
        row = [
            kind,
            pipe.unit,
            interval,
            latency,
            each.stall,
            each.writes,
            each.reads,
            each.waits,
            group,
            count,
            slow,
        ]
        return self._add([float(value) for value in row], each.origin, each.opcode)

    def _form(self, each: MachineInstruction) -> ProductForm | None:
        """What a matrix instruction multiplies: that of its line, or else one of its shape."""
        form = self.forms.get(each.origin)
        shape = _SHAPE.search(each.opcode)
        if form is None and shape is not None:
            n = int(shape[1])
            form = next((known for known in self.forms.values() if known.n == n), None)
        return form

    def _product(
        self, form: ProductForm | None, warpgroup: bool, interval: float, latency: float
    ) -> tuple[float, float]:
        """Cycles of a matrix instruction in its sub-partition, and until its result is there; as measured."""
        record = measured(chip=self.chip.name)
        if form is None:
            return interval, latency
        found = record.get(form)
        if found is None:
            return interval, latency
        return found.cycles * (1 if warpgroup else 4) / form.mma_count, found.latency or latency

    def _add(self, row: list[float], origin: int, opcode: str) -> int:
        self.rows.append(row)
        self.origins.append(origin)
        self.opcodes.append(opcode)
        return len(self.rows) - 1

    def stream(self, runs: list[list[int]]) -> list[tuple[int, int]]:
        """(row, PTX instruction whose touch it takes, or -1) of what a warp issues."""
        result: list[tuple[int, int]] = []
        visits: Counter[int] = Counter()
        for first, last in self._pieces(runs):
            block = self._block[first]
            copies = self.copies[block]
            copy = copies[visits[block] % len(copies)]
            if last == self._ends[block]:
                visits[block] += 1
            if first == block and last == self._ends[block]:
                result += [(row, concerned) for row, _, concerned in copy]
            else:
                result += [(row, concerned) for row, origin, concerned in copy if first <= origin < last]
        return result

    def _pieces(self, runs: list[list[int]]) -> list[tuple[int, int]]:
        """Parts of basic blocks that follow each other: first instruction, behind the last."""
        pieces: list[tuple[int, int]] = []
        first = previous = -1
        for run in runs:
            for number in run:
                if number != previous + 1 or number in self._ends or first < 0:
                    if first >= 0:
                        pieces.append((first, previous + 1))
                    first = number
                previous = number
        if first >= 0:
            pieces.append((first, previous + 1))
        return pieces


def streams(expansion: Expansion, recorder: Recorder, warps: list[list[int]], past_l1: L1) -> Streams:
    """The streams of the warps of each sampled cluster, and what they concern."""
    stream: list[tuple[int, int]] = []
    bounds: list[tuple[int, int]] = []
    touches: list[Touch] = []
    for cluster in warps:
        for warp in cluster:
            first = len(stream)
            taken: Counter[int] = Counter()
            for row, number in expansion.stream(recorder.streams.get(warp, [])):
                about = -1
                if number >= 0:
                    known = recorder.touches.get((warp, number), [])
                    if taken[number] < len(known):
                        about = len(touches)
                        touches.append(known[taken[number]])
                    taken[number] += 1
                stream.append((row, about))
            if len(stream) == first:
                stream.append((expansion.nothing, -1))
            bounds.append((first, len(stream)))
    touch = np.zeros((max(len(touches), 1), 4))
    links = np.zeros((max(len(touches), 1), 4), dtype=np.int64)
    linked: list[int] = []
    for number, each in enumerate(touches):
        touch[number] = each.wavefronts, *past_l1.cost(each)
        middle = len(linked) + len(each.signals)
        links[number] = len(linked), middle, middle, middle + len(each.waits)
        linked += [*each.signals, *each.waits]
    counts = np.array([recorder.signals or [0]] * len(warps), dtype=np.int32)
    return Streams(
        np.array(expansion.rows),
        tuple(expansion.origins),
        tuple(expansion.opcodes),
        np.array(stream, dtype=np.int32),
        np.array(bounds, dtype=np.int64),
        touch,
        links,
        np.array([*linked, 0], dtype=np.int32),
        counts,
    )


class L1:
    """Which sectors an SM has to fetch from L2, how long L2 takes for them, and which come from DRAM.

    DRAM hands over two sectors at a time.
    """

    def __init__(self, chip: Clockwork, size: int, from_dram: float, shared: float) -> None:
        self._chip = chip
        self._room = max(size // 32, 1)
        self._cached: OrderedDict[int, None] = OrderedDict()
        self._seen: set[tuple[bool, int]] = set()
        self._from_dram = from_dram  # of what an SM is the first to touch
        self._shared = shared  # how much less L2 takes for what several SMs ask for

    def cost(self, touch: Touch) -> tuple[float, float, float]:
        """Sectors that L1 takes as long for, cycles of L2 if all SMs ask for as much, sectors from DRAM."""
        if not touch.sectors:
            return 0.0, 0.0, 0.0
        sectors = np.concatenate(touch.sectors).tolist()
        writes = touch.kind == "write"
        if touch.box_bytes:
            fresh = 0
            for box in sectors:
                if (writes, box) not in self._seen:
                    self._seen.add((writes, box))
                    fresh += touch.box_bytes // 32
            count = len(sectors) * touch.box_bytes / 32
            rate = self._chip.full_store * 4 if writes else self._line * self._shared
            return count, count / 4 * rate, fresh * self._from_dram
        past: list[int] = []
        fresh = 0
        for sector in sectors:
            if touch.cached:
                if sector in self._cached:
                    self._cached.move_to_end(sector)
                    continue
                self._cached[sector] = None
                if len(self._cached) > self._room:
                    self._cached.popitem(last=False)
            past.append(sector)
            pair = writes, sector >> 1
            if pair not in self._seen:
                self._seen.add(pair)
                fresh += 2
        lines = len({sector >> 2 for sector in past})
        chip = self._chip
        if touch.kind == "read":
            cycles = (chip.load_sector * len(past) + chip.load_line * lines) * self._shared
        else:
            whole = touch.bytes >= 32 * len(sectors)
            each = chip.full_store if whole and writes else chip.store_sector
            cycles = each * len(past) + (0 if whole and writes else chip.store_line) * lines
        looked_up = len({sector >> 2 for sector in sectors})  # lines, one a cycle
        return float(max(len(sectors), 4 * looked_up)), cycles, fresh * self._from_dram

    @property
    def _line(self) -> float:
        return 4 * self._chip.load_sector + self._chip.load_line
