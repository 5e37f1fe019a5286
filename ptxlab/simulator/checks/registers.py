"""Registers of a running wgmma, and instructions without all of their lanes.

Which registers might be read before they are written is decided once for a function, over all its paths; only
those are watched while it runs (`DoubtfulValues`), and usually there are none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..events import Inspection, Observer, Synchronisation
from ..hazard import HazardLog, lanes_text
from ..ptx.dataflow import basic_blocks, constants, register_bits, successors
from ..ptx.syntax import Function, Immediate, Module, PtxInstruction, Register, Vector, registers_of
from ..threads import Batch, Threads
from .doubtful import Flow
from .load_uses import FunctionLoads, LoadUses

_ALL_LANES = 0xFFFFFFFF
_MASKED = {"shfl", "vote", "match", "redux", "elect", "bar"}


@dataclass
class _Plan:
    """What to do when an instruction is executed."""

    function: str
    accumulators: list[int] = field(default_factory=list)  # numbers of sets of registers that a wgmma uses
    multiplies: int = -1  # its own set
    overwrites: list[int] = field(default_factory=list)  # numbers of registers of metadata, each a set
    metadata: int = -1  # its own
    lanes: int = 0  # that must all be there
    mask: int = -1
    mask_register: int = -1  # of a mask that is computed


@dataclass
class _RegistersInFlight:
    """A set of registers of wgmma instructions: in flight since which group, and last computed when."""

    registers: frozenset[int]
    group: NDArray[np.int64]
    computed: NDArray[np.int64]
    instruction: PtxInstruction


class _Roles(NamedTuple):
    """Registers of a function that are looked at, by their numbers."""

    members: dict[int, list[int]]  # those of wgmma: the sets that each is in
    metadata: dict[int, int]  # those of wgmma.sp: the set of each
    constants: dict[int, int]  # that only ever hold one number


class RegisterPlans:
    """What to watch when instructions of a module are executed; found for each function at its first one."""

    def __init__(self, module: Module) -> None:
        self._functions = tuple(module.functions.values())
        self.owners: dict[int, Function] = {}  # of instructions, by id
        for function in module.functions.values():
            for instruction in function.instructions:
                self.owners[id(instruction)] = function
        self._plans: dict[int, _Plan | None] = {}
        self.flows: dict[int, Flow] = {}  # of instructions, by id; `DoubtfulValues` finds them
        self._found_unwritten: dict[str, set[int]] = {}  # by function
        self._loads: dict[str, FunctionLoads] = {}  # by function
        self._load_uses: dict[int, LoadUses | None] = {}  # of loads, by id
        self._lock = Lock()
        self.names: dict[tuple[str, int], str] = {}  # of registers, by function and number
        self.sets: dict[tuple[str, frozenset[int]], int] = {}  # registers of wgmma instructions

    @cached_property
    def guesses(self) -> frozenset[int]:
        """Loads, by id, of what a compare-and-swap compares: if it has changed since, the swap tells."""
        return frozenset(load for function in self._functions for load in _compared_loads(function))

    @cached_property
    def blind_updates(self) -> frozenset[int]:
        """Atomic operations, by id, whose result nobody reads: it tells nothing of the updates before."""
        blind: set[int] = set()
        for function in self._functions:
            read = {register for each in function.instructions for register in each.effects[0]}
            blind.update(
                id(each)
                for each in function.instructions
                if each.parts[0] in ("atom", "red") and read.isdisjoint(each.effects[1])
            )
        return frozenset(blind)

    def unwritten(self, name: str) -> set[int]:
        """Registers of a function that some path reads before it writes them."""
        if name not in self._found_unwritten:
            function = next(each for each in self._functions if each.name == name)
            self._found_unwritten[name] = self._unwritten(function)
        return self._found_unwritten[name]

    def load_uses(self, instruction: PtxInstruction) -> LoadUses | None:
        """Where the value of a load matters; None if that is not to be asked."""
        key = id(instruction)
        if key not in self._load_uses:
            function = self.owners[key]
            if function.name not in self._loads:
                self._loads[function.name] = FunctionLoads(function)
            self._load_uses[key] = self._loads[function.name].uses_of(instruction)
        return self._load_uses[key]

    def of(self, instruction: PtxInstruction) -> _Plan | None:
        """What to do when it is executed; None for nothing."""
        key = id(instruction)
        if key not in self._plans:
            with self._lock:  # one kernel may run in several threads
                if key not in self._plans:
                    self._add(self.owners[key])
        return self._plans[key]

    def _add(self, function: Function) -> None:
        multiplying = [each for each in function.instructions if each.parts[:2] == ("wgmma", "mma_async")]
        members: dict[int, list[int]] = {}
        metadata: dict[int, int] = {}
        for instruction in multiplying:
            for register in _wgmma_metadata(instruction):
                metadata[register] = self.sets.setdefault(
                    (function.name, frozenset({register})), len(self.sets)
                )
            registers = frozenset(_wgmma_registers(instruction))
            number = self.sets.setdefault((function.name, registers), len(self.sets))
            for register in registers:
                if number not in members.setdefault(register, []):
                    members[register].append(number)
        for each in function.registers:
            if each.index in members or each.index in metadata:
                self.names[function.name, each.index] = each.name
        roles = _Roles(members, metadata, constants(function))
        self._plans |= {id(each): self._plan(function, each, roles) for each in function.instructions}

    def _plan(self, function: Function, instruction: PtxInstruction, roles: _Roles) -> _Plan | None:
        """What to look at where an instruction is executed; None if there is nothing."""
        members, metadata, constants = roles
        parts = instruction.parts
        read, written = instruction.effects
        plan = _Plan(function.name)
        if instruction.parts[:2] == ("wgmma", "mma_async"):
            plan.multiplies = self.sets[function.name, frozenset(_wgmma_registers(instruction))]
            plan.metadata = max((metadata[register] for register in _wgmma_metadata(instruction)), default=-1)
        elif members:
            moves = parts[0] == "mov" and not isinstance(instruction.operands[1], Immediate)
            touched = {number for register in read | written for number in members.get(register, ())}
            plan.accumulators = [] if moves else sorted(touched)
            plan.overwrites = [] if moves else sorted(metadata[each] for each in written if each in metadata)
        if "aligned" in parts and parts[0] not in ("bar", "barrier", "setmaxnreg"):
            plan.lanes = 128 if parts[0] == "wgmma" else 32
        if parts[0] in _MASKED and (parts[0] != "bar" or "warp" in parts):
            operand = instruction.operands[-1]
            mask = -1
            if isinstance(operand, Immediate):
                mask = operand.value & _ALL_LANES
            elif isinstance(operand, Register) and operand.index in constants:
                mask = constants[operand.index] & _ALL_LANES
            elif isinstance(operand, Register):
                plan.mask_register = operand.index
            plan.mask = -1 if mask == _ALL_LANES else mask
        busy = plan.accumulators or plan.overwrites or plan.lanes
        needed = plan.multiplies >= 0 or plan.mask >= 0 or plan.mask_register >= 0
        return plan if busy or needed else None

    @staticmethod
    def _unwritten(function: Function) -> set[int]:
        """Registers that some path reads before it writes them."""
        instructions = function.instructions
        effects = [instruction.effects for instruction in instructions]
        starts = basic_blocks(function)
        everything = (1 << len(function.registers)) - 1
        first = register_bits(
            register.index
            for register in function.registers
            if any(register.name == parameter.name for parameter in function.parameters)
        )
        before = dict.fromkeys(starts, everything)
        if not instructions:
            return set()
        before[0] = first
        waiting = [0]
        seen: set[int] = set()
        while waiting:
            start = waiting.pop()
            seen.add(start)
            known = before[start]
            for index in range(start, starts[start]):
                if instructions[index].guard is None:
                    known |= register_bits(effects[index][1])
            for target in successors(instructions, starts[start] - 1):
                if target < len(instructions) and (
                    before[target] & known != before[target] or target not in seen
                ):
                    before[target] &= known
                    if target not in waiting:
                        waiting.append(target)
        watched: set[int] = set()
        for start, end in starts.items():
            known = before[start]
            for index in range(start, end if start in seen else start):
                watched |= {register for register in effects[index][0] if not known >> register & 1}
                if instructions[index].guard is None:
                    known |= register_bits(effects[index][1])
        written = {register for _, registers in effects for register in registers}
        users = {
            register: [one for one, (read, _) in zip(instructions, effects, strict=True) if register in read]
            for register in watched - written
        }
        return watched - {
            register for register, ones in users.items() if all(_fills(one, written) for one in ones)
        }


def _fills(instruction: PtxInstruction, written: set[int]) -> bool:
    """Whether a register that nobody writes may stand here: beside one that somebody does, in a packing mov.

    So LLVM widens a value whose upper part nobody will look at.
    """
    source = instruction.operands[-1]
    if instruction.parts[0] != "mov" or not isinstance(source, Vector):
        return False
    return any(isinstance(each, Register) and each.index in written for each in source.items)


class RegisterCheck(Observer):
    """Looks for hazards in registers, and for missing lanes."""

    def __init__(self, report: HazardLog, plans: RegisterPlans) -> None:
        self._report = report
        self._plans = plans
        self._machine: Inspection | None = None

    def begin(self, batch: Batch) -> None:
        """Nothing is written in new blocks."""
        self._batch = batch
        self._time = 0
        self._flights: dict[int, _RegistersInFlight] = {}
        self._seen_whole: dict[int, NDArray[Any]] = {}  # threads of which no lanes were missing, by how many
        self._groups = np.zeros(batch.size, dtype=np.int64)
        self._fenced = np.zeros(batch.size, dtype=np.int64)

    # -- masks -----------------------------------------------------------------------------------------------

    def attach(self, machine: Inspection) -> None:
        """Remember whose registers the masks are in."""
        self._machine = machine

    def end(self) -> None:
        """Forget them."""
        self._machine = None

    def _check_mask(self, instruction: PtxInstruction, plan: _Plan, ours: NDArray[Any]) -> None:
        """Lanes that execute an instruction whose mask, a constant or computed, does not name them."""
        masks = np.full(len(ours), plan.mask, dtype=np.int64)
        if plan.mask_register >= 0:
            values = None if self._machine is None else self._machine.reader()(plan.mask_register)
            if values is None:
                return
            masks = values[ours].astype(np.int64)
        outside = masks >> (ours & 31) & 1 == 0
        if outside.any():
            first = int(masks[outside][0])
            lanes = lanes_text([lane for lane in range(32) if first >> lane & 1]) if first else "nobody"
            self._report.add(
                "not in the mask", instruction, self._batch, ours[outside],
                f"{{who}} execute{{s}} {instruction.opcode} with a mask that names {lanes}",
            )  # fmt: skip

    # -- running ---------------------------------------------------------------------------------------------

    def executed(self, instruction: PtxInstruction, threads: Threads) -> None:
        """Look at the registers of an instruction, if they are watched."""
        plan = self._plans.of(instruction)
        if plan is None:
            return
        self._time += 1
        ours = threads.indices
        if plan.lanes and threads.index is not None:
            self._check_lanes(instruction, threads, plan.lanes)
        if plan.mask >= 0 or plan.mask_register >= 0:
            self._check_mask(instruction, plan, ours)
        for number in (*plan.accumulators, *plan.overwrites):
            self._touch(instruction, number, ours)
        if plan.multiplies >= 0:
            self._multiply(instruction, plan.multiplies, ours)
        if plan.metadata >= 0:
            flight = self._flight(plan.metadata, instruction)
            flight.instruction = instruction
            flight.group[ours] = self._groups[ours]

    def synchronised(self, event: Synchronisation) -> None:
        """Fences, groups and waits of wgmma."""
        if not event.kind.startswith("wgmma"):
            return
        self._time += 1
        if event.kind == "wgmma.fence":
            self._fenced[event.threads] = self._time
        elif event.kind == "wgmma.commit_group":
            self._groups[event.threads] += 1
        elif event.kind == "wgmma.wait_group":
            oldest = self._groups[event.threads] - int(np.asarray(event.key))
            for flight in self._flights.values():
                group = flight.group[event.threads]
                flight.group[event.threads] = np.where(group < oldest, -1, group)

    def _check_lanes(self, instruction: PtxInstruction, threads: Threads, lanes: int) -> None:
        valid = self._batch.valid
        if self._batch.size % lanes or self._seen_whole.get(lanes) is threads.index:
            return
        present = np.zeros(self._batch.size, dtype=np.bool_)
        present[threads.indices] = True
        groups = present.reshape(-1, lanes)
        some = groups.max(axis=1, keepdims=True)
        missing = np.asarray(some & valid.reshape(-1, lanes) & ~groups)
        if not missing.any():
            self._seen_whole[lanes] = threads.indices
        else:
            lacking = missing.max(axis=1)
            group = int(np.flatnonzero(lacking)[0])
            ours = threads.indices[lacking[threads.indices // lanes]]
            away = np.flatnonzero(missing[group])
            warp = int(away[0]) // 32
            names = lanes_text([int(lane) % 32 for lane in away if lane // 32 == warp])
            self._report.add(
                "lanes missing", instruction, self._batch, ours,
                f"{{who}} execute{{s}} {instruction.opcode}, but {names} of the warp do not",
            )  # fmt: skip

    def _flight(self, number: int, instruction: PtxInstruction) -> _RegistersInFlight:
        if number not in self._flights:
            _, registers = list(self._plans.sets)[number]
            group, computed = np.full(self._batch.size, -1), np.zeros(self._batch.size, dtype=np.int64)
            self._flights[number] = _RegistersInFlight(registers, group, computed, instruction)
        return self._flights[number]

    def _touch(self, instruction: PtxInstruction, number: int, ours: NDArray[Any]) -> None:
        """An ordinary instruction reads or writes registers that wgmma uses."""
        flight = self._flight(number, instruction)
        read, written = instruction.effects
        if written & flight.registers and instruction.parts[0] != "mov":
            flight.computed[ours] = self._time
        group = flight.group[ours]
        late = group >= 0
        if not late.any():
            return
        remedy = "execute wgmma.wait_group before it"
        if (group[late] >= self._groups[ours[late]]).any():
            remedy = "execute wgmma.commit_group, then wgmma.wait_group, before it"
        verb = "write{s}" if written & flight.registers else "read{s}"
        function, registers = list(self._plans.sets)[number]
        names = sorted(self._plans.names[function, each] for each in (read | written) & registers)
        where = flight.instruction.source_line
        self._report.add(
            "wgmma registers", instruction, self._batch, ours[late],
            f"{{who}} {verb} {', '.join(names)}, which the wgmma of line {where} may still be using",
            remedy=remedy, other=flight.instruction,
        )  # fmt: skip

    def _multiply(self, instruction: PtxInstruction, number: int, ours: NDArray[Any]) -> None:
        flight = self._flight(number, instruction)
        flight.instruction = instruction
        fenced = self._fenced[ours]
        never = fenced == 0
        late = flight.computed[ours] > fenced
        if never.any() or late.any():
            why = "no wgmma.fence came before" if never.any() else "registers were computed after wgmma.fence"
            self._report.add(
                "missing wgmma.fence", instruction, self._batch, ours[never | late],
                f"{{who}} execute{{s}} {'.'.join(instruction.parts[:2])}, but {why}",
            )  # fmt: skip
        flight.group[ours] = self._groups[ours]


def _compared_loads(function: Function) -> Iterator[int]:
    """The loads, by id, of values that atom.cas compares."""
    compared: set[int] = set()
    for instruction in function.instructions:
        if instruction.parts[0] == "atom" and "cas" in instruction.parts:
            compared |= {register.index for register in registers_of(instruction.operands[2])}
    if not compared:
        return
    effects = [(each, *each.effects) for each in function.instructions]
    grows = True
    while grows:
        grows = False
        for instruction, read, written in effects:
            if instruction.parts[0] == "mov" and written & compared and not read <= compared:
                compared |= read
                grows = True
    for instruction, _, written in effects:
        if instruction.parts[0] == "ld" and written & compared:
            yield id(instruction)


def _wgmma_registers(instruction: PtxInstruction) -> set[int]:
    """The accumulators of a wgmma, and A where it is in registers."""
    d, a = instruction.operands[:2]
    registers = [*registers_of(d), *(registers_of(a) if isinstance(a, Vector) else ())]
    return {register.index for register in registers}


def _wgmma_metadata(instruction: PtxInstruction) -> set[int]:
    """The register with the metadata of a sparse wgmma, which it reads while it runs: an H200 does."""
    if "sp" not in instruction.parts:
        return set()
    return {register.index for register in registers_of(instruction.operands[3])}
