"""Streams of machine instructions: what each warp issues, from the PTX instructions that it executed.

What is approximated is listed in the docstring of `timing/__init__.py`.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...gpu.records import Measurement, measured
from ...isa.product_form import ProductForm
from ..ptx.dataflow import basic_blocks
from ..ptx.syntax import Immediate, Module, PtxInstruction
from .chip_timings import ChipTiming, pipe_of
from .kernel_code import KernelCode, MachineInstruction
from .l2_residence import L2Residence
from .recorder import Recorder, Touch
from .replay import (
    BULK,
    BULK_COPIES,
    BULK_STORE,
    COMMIT,
    COPIES,
    COPY,
    EVENT,
    EXIT,
    LOAD,
    PLAIN,
    PRODUCTS,
    SHARED,
    STORE,
    WAIT,
    WGMMA,
    Instructions,
    SampleSteps,
    TimedInstruction,
    Touches,
    columns,
)  # fmt: skip
from .stalls import BARRIER, MBARRIER

_MMA_SHAPE = re.compile(r"MMA\b.*?\.(?:168|88)(\d+)")
_WGMMA_SHAPE = re.compile(r"GMMA(?:\.SP)?\.64x(\d+)x")
_KINDS = {
    **dict.fromkeys(["LDS", "STS", "LDSM", "STSM", "ATOMS", "SHFL", "STAS", "REDAS"], SHARED),
    **dict.fromkeys(["LDG", "LD", "LDL", "ATOMG", "ATOM"], LOAD),
    **dict.fromkeys(["STG", "ST", "STL", "RED", "REDG"], STORE),
    **dict.fromkeys(["LDGSTS"], COPY),
    **dict.fromkeys(["UTMALDG", "UBLKCP"], BULK),
    **dict.fromkeys(["UTMASTG", "UTMAREDG", "UBLKRED"], BULK_STORE),
    **dict.fromkeys(["HGMMA", "IGMMA", "BGMMA", "QGMMA"], WGMMA),
    **dict.fromkeys(["BAR", "SYNCS", "UCGABAR_ARV", "UCGABAR_WAIT", "ARRIVES"], EVENT),
    "EXIT": EXIT,
}
#: PTX instructions that `replay` needs even without a machine instruction of their own: (kind, group).
_GROUPS = {
    "cp.async.commit_group": (COMMIT, COPIES),
    "cp.async.wait_group": (WAIT, COPIES),
    "cp.async.wait_all": (WAIT, COPIES),
    "wgmma.commit_group": (COMMIT, PRODUCTS),
    "wgmma.wait_group": (WAIT, PRODUCTS),
    "cp.async.bulk.commit_group": (COMMIT, BULK_COPIES),
    "cp.async.bulk.wait_group": (WAIT, BULK_COPIES),
}
#: PTX opcodes that become one machine instruction, and a part of its name: if there are several, the
#: assembler has unrolled the loop.
_ONE_FOR_ONE = {"ex2": "MUFU", "fma": "FMA", "lg2": "MUFU", "mma": "MMA", "shfl": "SHFL", "tanh": "MUFU"}
_EVENTS = ("bar", "barrier", "mbarrier")


class _StreamStep(NamedTuple):
    """A machine instruction; `touches` is the PTX instruction whose access it performs, or -1."""

    row: int
    origin: int
    touches: int
    address: int = -1  # its own, or that of the step before it; -1 for none


@dataclass(frozen=True)
class Streams:
    """Everything that `replay` reads, and what is behind each of its machine instructions."""

    program: SampleSteps
    instructions: Instructions
    touches: Touches
    origins: tuple[int, ...]  # the PTX instruction of each machine instruction, by its number; -1 for none
    opcodes: tuple[str, ...]


@lru_cache
def _native(chip: str) -> dict[str, Measurement]:
    """Measurements of matrix instructions that are one machine instruction, by its opcode."""
    return {
        measurement.sass.split()[-1]: measurement
        for measurement in measured(chip=chip)
        if measurement.sass.startswith("native: 1 ")
    }


class Expansion:
    """How PTX instructions become machine instructions."""

    def __init__(
        self, module: Module, code: KernelCode, forms: dict[int, ProductForm], chip: ChipTiming
    ) -> None:
        """Find the machine instructions of each basic block of the PTX, but for slow paths that it calls."""
        self.instructions: list[PtxInstruction] = list(module.instructions)
        self.chip = chip
        self.forms = forms
        self.rows: list[TimedInstruction] = []
        self.origins: list[int] = []
        self.opcodes: list[str] = []
        self._block: dict[int, int] = {}  # number of an instruction -> the first of its basic block
        self._ends: dict[int, int] = {}
        self.exit_row = self._add(TimedInstruction(EXIT, interval=1, latency=1, stall=1), -1, "EXIT")
        base = 0
        for function in module.functions.values():
            for start, end in basic_blocks(function).items():
                self._ends[base + start] = base + end
                self._block.update(dict.fromkeys(range(base + start, base + end), base + start))
            base += len(function.instructions)
        self._leader = _leaders(code.instructions)
        by_block = self._code_by_block(code)
        #: For each basic block of the PTX: its versions in the machine code, each a list of unrolled copies.
        self.copies: dict[int, list[list[list[_StreamStep]]]] = {}
        #: Machine instructions that the assembler has moved out of the loop around a block.
        self.before: dict[int, list[_StreamStep]] = {}
        for start, end in self._ends.items():
            self.copies[start] = self._copies(start, end, by_block.get(start, []))
        self._unrolled = {
            block for block, versions in self.copies.items() if len(versions) > 1 or len(versions[0]) > 1
        }

    def _code_by_block(self, code: KernelCode) -> dict[int, list[MachineInstruction]]:
        """The machine instructions of each basic block of the PTX, by the first instruction of the block."""
        # calls that the PTX does not have, e.g. for the division of a subnormal number
        slow_paths = {
            self._leader[instruction.address]
            for instruction in code.instructions
            if instruction.name == "CALL" and self._opcode(instruction.origin) != "call"
        }
        by_block: dict[int, list[MachineInstruction]] = defaultdict(list)
        for instruction in code.instructions:
            has_origin = 0 <= instruction.origin < len(self.instructions)
            if has_origin and self._leader[instruction.address] not in slow_paths:
                by_block[self._block[instruction.origin]].append(instruction)
        return by_block

    def _opcode(self, number: int) -> str:
        return self.instructions[number].parts[0] if 0 <= number < len(self.instructions) else ""

    def _copies(self, start: int, end: int, code: list[MachineInstruction]) -> list[list[list[_StreamStep]]]:
        """A block's machine instructions: its versions, each with one or more copies of the block.

        The assembler unrolls loops, and adds shorter versions for the remaining iterations.
        """
        inner = max((instruction.loops for instruction in code), default=0)
        before = [
            instruction
            for instruction in code
            if instruction.loops < inner and instruction.name not in _KINDS
        ]
        versions = self._versions(code)
        if len(versions) == 1:
            copies, whole = versions[0]
            versions = [(copies, [instruction for instruction in whole if instruction not in before])]
        result = [self._version(part, copies) for copies, part in versions]
        if before:
            self.before[start] = [
                _StreamStep(self._row(instruction), instruction.origin, -1, instruction.address)
                for instruction in before
            ]
        for version in result:
            for copy in version:
                self._add_steps_without_code(copy, start, end)
        return result

    def _add_steps_without_code(self, copy: list[_StreamStep], start: int, end: int) -> None:
        """Add steps for instructions of a block that `replay` needs and that have no machine instruction."""
        present = {
            step.origin for step in copy if step.touches >= 0 or self._group_of(step.origin) is not None
        }
        committed = any(self.opcodes[step.row] == "commit" for step in copy)
        for number in range(start, end):
            if number in present or not self._is_needed(number):
                continue
            if committed and self._group_of(number) == (COMMIT, PRODUCTS):
                continue
            position = next((i for i, step in enumerate(copy) if step.origin > number), len(copy))
            address = copy[max(position - 1, 0)].address if copy else -1
            copy.insert(position, _StreamStep(self._row_without_code(number), number, number, address))

    def _anchors(self, code: list[MachineInstruction]) -> Counter[tuple[int, str]]:
        """Machine instructions that each copy of the block has once, and how often they are in the code."""
        idle = {(instruction.origin, instruction.opcode) for instruction in code if instruction.idle}
        anchors: Counter[tuple[int, str]] = Counter()
        for (origin, opcode), count in Counter(
            (instruction.origin, instruction.opcode) for instruction in code
        ).most_common():
            name = opcode.partition(".")[0]
            expected = _ONE_FOR_ONE.get(self.instructions[origin].parts[0], "-")
            if (origin, opcode) in idle or origin in {anchor for anchor, _ in anchors}:
                continue
            if self.instructions[origin].parts[0] == "wmma":  # it becomes many loads
                continue
            if (name in _KINDS and name != "EXIT") or expected in name:
                anchors[origin, opcode] = count
        return anchors

    def _versions(self, code: list[MachineInstruction]) -> list[tuple[int, list[MachineInstruction]]]:
        """The versions of a block, with the number of copies in each.

        A version is a basic block of the machine code, if each of these has whole copies; else there is one
        version with all the code.
        """
        anchors = self._anchors(code)
        parts: dict[int, list[MachineInstruction]] = defaultdict(list)
        for instruction in code:
            parts[self._leader[instruction.address]].append(instruction)
        versions = []
        for part in parts.values():
            times = Counter((instruction.origin, instruction.opcode) for instruction in part)
            if any(times[anchor] for anchor in anchors):
                versions.append((self._copy_count(anchors, times), part))
        counts = {copies for copies, _ in versions}
        if len(counts) < 2 or 0 in counts:
            return [(self._copy_count(anchors, anchors), code)]
        return sorted(versions, key=lambda version: -version[0])

    def _copy_count(self, anchors: Iterable[tuple[int, str]], times: Counter[tuple[int, str]]) -> int:
        """Copies of a block: the most frequent count of its anchors.

        Some anchors occur less often, since accesses of neighbouring iterations may be joined.
        """
        counts: Counter[int] = Counter()
        for origin, opcode in anchors:
            form, shape = self.forms.get(origin), _MMA_SHAPE.search(opcode)
            products = max(form.k // int(shape[1]), 1) if form and shape else 1  # FP8 takes two of f16
            counts[times[origin, opcode] // products] += 1
        return min(counts, key=lambda count: (-counts[count], count), default=1)

    def _version(self, code: list[MachineInstruction], unrolled: int) -> list[list[_StreamStep]]:
        times = Counter((instruction.origin, instruction.opcode) for instruction in code)
        seen: Counter[tuple[int, str]] = Counter()
        version: list[list[_StreamStep]] = [[] for _ in range(unrolled)]
        taken: set[tuple[int, int]] = set()
        for instruction in code:
            key = instruction.origin, instruction.opcode
            copy = min(seen[key] * unrolled // times[key], unrolled - 1)
            seen[key] += 1
            touches = -1
            if (
                instruction.name in _KINDS
                and not instruction.idle
                and (copy, instruction.origin) not in taken
            ):
                touches = instruction.origin
                taken.add((copy, instruction.origin))
            version[copy].append(
                _StreamStep(self._row(instruction), instruction.origin, touches, instruction.address)
            )
            if "gsb" in instruction.operands and _KINDS.get(instruction.name) == WGMMA:  # the last of a group
                commit = self._add(TimedInstruction(COMMIT, group=PRODUCTS), instruction.origin, "commit")
                version[copy].append(_StreamStep(commit, -1, -1, instruction.address))
        return version

    def _group_of(self, number: int) -> tuple[int, int] | None:
        parts = self.instructions[number].parts
        return next(
            (_GROUPS[name] for size in (4, 3, 2) if (name := ".".join(parts[:size])) in _GROUPS), None
        )

    def _is_needed(self, number: int) -> bool:
        instruction = self.instructions[number]
        if self._group_of(number) is not None:
            return True
        parts = instruction.parts
        if parts[:3] == ("cp", "async", "mbarrier"):
            return True
        return parts[0] in _EVENTS and parts[:2] not in (("bar", "warp"), ("mbarrier", "init"))

    def _row_without_code(self, number: int) -> int:
        """The row of a PTX instruction without a machine instruction of its own."""
        row = TimedInstruction(EVENT, latency=2, stall=1, group=self._event_kind(number))
        group = self._group_of(number)
        if group is not None:
            row = row._replace(kind=group[0], group=group[1], amount=self._groups_left(number))
        elif self.instructions[number].parts[:3] == ("cp", "async", "mbarrier"):
            row = row._replace(amount=1)
        return self._add(row, number, self.instructions[number].opcode)

    def _groups_left(self, number: int) -> int:
        """Groups that may still be in flight after a wait; -1 to wait for all, committed or not."""
        instruction = self.instructions[number]
        operand = instruction.operands[0] if instruction.operands else None
        return operand.value if isinstance(operand, Immediate) else -1

    def _event_kind(self, number: int) -> int:
        return MBARRIER if self.instructions[number].parts[0] in ("mbarrier", "cp") else BARRIER

    def _row(self, instruction: MachineInstruction) -> int:
        pipe = pipe_of(instruction.opcode)
        kind = PLAIN if instruction.idle else _KINDS.get(instruction.name, PLAIN)
        parts = self.instructions[instruction.origin].parts
        if instruction.name == "UBLKCP":
            kind = BULK if "mbarrier::complete_tx::bytes" in parts else BULK_STORE
        interval, latency, group, amount = pipe.interval, pipe.latency, 0, 0.0
        form = self._form(instruction)
        if (
            form is not None and instruction.name in ("HMMA", "IMMA", "BMMA", "DMMA", "QMMA")
        ) or kind == WGMMA:
            interval, latency = self._matrix_timing(
                form, kind == WGMMA, instruction.opcode, interval, latency
            )
        is_load = kind == LOAD
        if is_load:
            latency = self.chip.l1_latency
        elif kind == EVENT:
            group, latency = self._event_kind(instruction.origin), 12
        elif kind == WGMMA:
            amount = _operand_cycles(instruction)
        kind_and_group = self._group_of(instruction.origin)
        if kind_and_group is not None and instruction.name in (
            "LDGDEPBAR",
            "DEPBAR",
            "WARPGROUP",
            "UTMACMDFLUSH",
        ):
            kind, group = kind_and_group
            amount = self._groups_left(instruction.origin) if kind == WAIT else 0
        row = TimedInstruction(
            kind,
            pipe.unit,
            interval,
            latency=latency,
            stall=instruction.stall,
            writes=instruction.writes,
            reads=instruction.reads,
            waits=instruction.waits,
            group=group,
            amount=amount,
            is_long=is_load,
        )
        return self._add(row, instruction.origin, instruction.opcode)

    def _form(self, instruction: MachineInstruction) -> ProductForm | None:
        """The form of a matrix instruction: that of its PTX instruction, else one with the same N."""
        form = self.forms.get(instruction.origin)
        shape = _WGMMA_SHAPE.search(instruction.opcode)
        if form is None and shape is not None:
            n = int(shape[1])
            form = next((other for other in self.forms.values() if other.n == n), None)
        return form

    def _matrix_timing(
        self, form: ProductForm | None, warpgroup: bool, opcode: str, interval: float, latency: float
    ) -> tuple[float, float]:
        """Measured cycles that a matrix instruction occupies its tensor core, and its latency.

        An emulated form becomes several machine instructions, and was measured as a whole: each of these
        takes as long as the same opcode in a native form.
        """
        if form is None:
            return interval, latency
        measurement, count = measured(chip=self.chip.measured).get(form), form.mma_count
        if measurement is not None and not measurement.native:
            measurement, count = _native(self.chip.measured).get(opcode), 1
        if measurement is None:
            return interval, latency
        return measurement.cycles * (1 if warpgroup else 4) / count, measurement.latency or latency

    def _add(self, row: TimedInstruction, origin: int, opcode: str) -> int:
        self.rows.append(row)
        self.origins.append(origin)
        self.opcodes.append(opcode)
        return len(self.rows) - 1

    def stream(self, runs: list[list[int]]) -> list[tuple[int, int]]:
        """(row, PTX instruction whose access it performs, or -1) of what a warp issues."""
        result: list[tuple[int, int]] = []
        visits: Counter[int] = Counter()
        block_runs = self._block_runs(runs)
        left, entries = self._iterations_left(block_runs)
        current: dict[int, list[list[_StreamStep]]] = {}  # the version of a block that the warp is in
        #: By basic block of the machine code, and by address in it.
        pending: dict[int, dict[int, list[_StreamStep]]] = {}
        last_address = 0
        for number, (first, last) in enumerate(block_runs):
            block = self._block[first]
            versions, ends = self.copies[block], last == self._ends[block]
            version = current.get(block, versions[0])
            if not visits[block] and block in self._unrolled:
                fitting = (candidate for candidate in versions if len(candidate) <= left[number])
                version = current[block] = next(fitting, versions[-1])
            steps = version[visits[block] % len(version)]
            if ends:
                visits[block] = (visits[block] + 1) % len(version)
            if first != block or not ends:
                steps = [step for step in steps if first <= step.origin < last]
            elif number in entries:
                steps = [*self.before.get(block, ()), *steps]
            seen = pending.get(self._leader.get(steps[0].address, -1), {}) if steps else {}
            if steps and steps[0].address in seen:  # the warp reaches it again
                result += _in_order(pending)
                pending = {}
            for step in steps:
                last_address = last_address if step.address < 0 else step.address
                leader = self._leader.get(last_address, -1)
                is_event = self.rows[step.row].kind == EVENT
                by_address = pending.pop(leader, {}) if is_event else pending.get(leader, {})
                pending[leader] = by_address  # a barrier moves it to the end: nothing is reordered across it
                by_address.setdefault(last_address, []).append(step)
        return result + _in_order(pending)

    def _iterations_left(self, block_runs: list[tuple[int, int]]) -> tuple[dict[int, int], set[int]]:
        """For each visit to an unrolled block, the visits left before the warp leaves the loop.

        Second, the visits that are the first of a loop.
        """
        watched = self._unrolled | self.before.keys()
        if not watched:
            return {}, set()
        blocks = [self._block[first] for first, _ in block_runs]
        jumps = {(after, before) for before, after in pairwise(blocks) if after <= before}
        loops: dict[int, tuple[int, int]] = {}
        for block in watched:
            around = [(last - first, first, last) for first, last in jumps if first <= block <= last]
            loops[block] = min(around)[1:] if around else (block, block)
        left: dict[int, int] = {}
        entries: dict[int, int] = {}
        first_visits: set[int] = set()
        counts = dict.fromkeys(watched, 0)
        for number in range(len(blocks) - 1, -1, -1):
            for block, (first, last) in loops.items():
                if counts[block] and not first <= blocks[number] <= last:
                    counts[block] = 0
                    first_visits.add(entries.pop(block))
            if (block := blocks[number]) in counts:
                counts[block] += 1
                entries[block] = number
                left[number] = counts[block]
        return left, first_visits | set(entries.values())

    def _block_runs(self, runs: list[list[int]]) -> list[tuple[int, int]]:
        """Runs of consecutive instructions within basic blocks: (first, last + 1)."""
        block_runs: list[tuple[int, int]] = []
        first = previous = -1
        for run in runs:
            for number in run:
                if number != previous + 1 or number in self._ends or first < 0:
                    if first >= 0:
                        block_runs.append((first, previous + 1))
                    first = number
                previous = number
        if first >= 0:
            block_runs.append((first, previous + 1))
        return block_runs


def _leaders(instructions: Sequence[MachineInstruction]) -> dict[int, int]:
    """The first instruction of the basic block of each machine instruction, by their addresses."""
    leaders: dict[int, int] = {}
    leader = 0
    for instruction in instructions:
        leader = instruction.address if instruction.leads else leader
        leaders[instruction.address] = leader
    return leaders


def _operand_cycles(instruction: MachineInstruction) -> float:
    """Cycles of shared memory that one of the four warps of a `wgmma` takes: B has N rows of 32 bytes.

    A has 64 of them, if it is not in registers; for a sparse A the rows of B have 64 bytes.
    """
    shape = _WGMMA_SHAPE.search(instruction.opcode)
    if shape is None:
        return 0.0
    b = int(shape[1]) * (2 if ".SP" in instruction.opcode else 1)
    a = 64 if instruction.operands.partition(",")[2].lstrip().startswith("gdesc") else 0
    return (a + b) * 32 / 128 / 4


def _in_order(pending: dict[int, dict[int, list[_StreamStep]]]) -> list[tuple[int, int]]:
    """The steps by address in each basic block of the machine code, which may combine several of the PTX."""
    return [
        (step.row, step.touches)
        for block in pending.values()
        for address in sorted(block)
        for step in block[address]
    ]


def streams(expansion: Expansion, recorder: Recorder, warps: list[list[int]], caches: list[Cache]) -> Streams:
    """The streams of the warps of each sampled cluster, with their touches; `caches` are those of its SMs."""
    stream: list[tuple[int, int]] = []
    bounds: list[tuple[int, int]] = []
    touches: list[Touch] = []
    order: list[tuple[int, int, int]] = []  # step of its warp, SM of the cluster, touch
    for cluster in warps:
        for place, warp in enumerate(cluster):
            first = len(stream)
            taken: Counter[int] = Counter()
            for row, number in expansion.stream(recorder.streams.get(warp, [])):
                about = -1
                if number >= 0:
                    recorded = recorder.touches.get((warp, number), [])
                    if taken[number] < len(recorded):
                        about = len(touches)
                        touches.append(recorded[taken[number]])
                        order.append((len(stream) - first, place * len(caches) // len(cluster), about))
                    taken[number] += 1
                stream.append((row, about))
            if len(stream) == first:
                stream.append((expansion.exit_row, -1))
            bounds.append((first, len(stream)))
    step_rows, step_touches = columns(stream, int, int)
    first_step, last_step = columns(bounds, int, int)
    events = np.array([recorder.signals or [0]] * len(warps), dtype=np.int64)
    return Streams(
        SampleSteps(step_rows, step_touches, first_step, last_step, events),
        Instructions.of(expansion.rows),
        _touches(touches, order, caches),
        tuple(expansion.origins),
        tuple(expansion.opcodes),
    )


def _touches(touches: list[Touch], order: list[tuple[int, int, int]], caches: list[Cache]) -> Touches:
    """What accesses cost and which events they signal and wait for; the order is as in `streams`."""
    costs = [(0.0, 0.0, 0.0, 0.0, 0)] * len(touches)
    for _, sm, number in sorted(order):  # roughly as they happen, since warps run side by side
        costs[number] = touches[number].wavefronts, *caches[sm].cost(touches[number], number)
    linked: list[int] = []
    links: list[tuple[int, int, int]] = []
    for touch in touches:
        middle = len(linked) + len(touch.signals)
        links.append((len(linked), middle, middle + len(touch.waits)))
        linked += [*touch.signals, *touch.waits]
    wavefronts, sectors, l2, dram, source = columns(costs, float, float, float, float, int)
    signals, waits, end = columns(links, int, int, int)
    return Touches(
        wavefronts=wavefronts,
        sectors=sectors,
        l2=l2,
        dram=dram,
        source=source,
        signals=signals,
        waits=waits,
        end=end,
        linked=np.array(linked, dtype=np.int64),
    )


class _LruCache:
    """At most `room` keys, each with the touch that fetched it; the least recently used is evicted."""

    def __init__(self, room: float) -> None:
        self._room = max(int(room), 1)
        self._kept: OrderedDict[Hashable, int] = OrderedDict()

    def find(self, key: Hashable, source: int) -> int | None:
        """The touch that fetched a key; if there is none, None, and `source` is kept for it."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        self._kept[key] = source
        if len(self._kept) > self._room:
            self._kept.popitem(last=False)
        return None


class Cache:
    """Which sectors an SM has to fetch from L2, how long L2 takes for them, and which come from DRAM.

    DRAM delivers two sectors at a time.
    """

    def __init__(
        self, chip: ChipTiming, l1: float, l2: float, l2_residence: L2Residence, sharing: float
    ) -> None:
        """`l1`, `l2` are the SM's share of each, in bytes.

        `l2_residence` knows which of its first touches go to DRAM; L2's time for reads is multiplied by
        `sharing`, since several SMs read the same.
        """
        self._chip, self._l2_residence, self._sharing = chip, l2_residence, sharing
        self._l1, self._l2 = _LruCache(l1 / 32), _LruCache(l2 / 64)

    def cost(self, touch: Touch, number: int) -> tuple[float, float, float, int]:
        """L1's time in sectors, cycles of L2 if all SMs request as much, sectors from DRAM.

        Last, the touch that fetches what is in L1 or on its way there, -1 for none.
        """
        if not touch.sectors:
            return 0.0, 0.0, 0.0, -1
        sectors = np.concatenate(touch.sectors).tolist()
        writes = touch.kind == "write"
        if touch.box_bytes:
            missed = sum(
                self._l2_residence.from_dram(box, writes)
                for box in sectors
                if self._l2.find((writes, box), number) is None
            )
            count = len(sectors) * touch.box_bytes / 32
            rate = self._chip.full_store * 4 if writes else self._line_cycles * self._sharing
            return count, count / 4 * rate, missed * touch.box_bytes / 32, -1
        beyond_l1: list[int] = []
        fetched, from_dram = -1, 0.0
        for sector in sectors:
            if touch.cached:
                source = self._l1.find(sector, number)
                if source is not None:
                    fetched = max(fetched, source)
                    continue
            beyond_l1.append(sector)
            if self._l2.find((writes, sector >> 1), number) is None:
                from_dram += 2 * self._l2_residence.from_dram(sector, writes)
        lines = len({sector >> 2 for sector in beyond_l1})
        chip = self._chip
        if touch.kind == "read":
            cycles = (chip.load_sector * len(beyond_l1) + chip.load_line * lines) * self._sharing
        else:
            whole = touch.bytes >= 32 * len(sectors)
            sector_cost = chip.full_store if whole and writes else chip.store_sector
            cycles = sector_cost * len(beyond_l1) + (0 if whole and writes else chip.store_line) * lines
        looked_up = len({sector >> 2 for sector in sectors})  # lines, one a cycle
        return float(max(len(sectors), 4 * looked_up)), cycles, from_dram, fetched

    @property
    def _line_cycles(self) -> float:
        return 4 * self._chip.load_sector + self._chip.load_line
