"""What the checks learn from a module's code before it runs, once for each function.

Registers: those that some path reads before it writes them, those that a running wgmma uses, and how values
pass through each instruction. Only what may go wrong is watched while the code runs; usually that is nothing.

Loads whose value does not always matter: compilers let all threads load what only one of them uses. If
another thread overwrites the bytes without a barrier, that harms only threads that use what they loaded. So
we find which registers are computed from a load, and which instructions use them: a branch, an address, a
store. A shuffle hands a value to other lanes, whose uses count as well. There is no record of a load that
surely matters (every thread that loads also uses the value before the next branch), nor of one with too many
uses to follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import NamedTuple

from ..ptx.dataflow import basic_blocks, branch_targets, constants, register_bits, successors
from ..ptx.opcode_sets import HAVE_MASK
from ..ptx.ptxas import Rotation, SignFill, faults
from ..ptx.syntax import (
    Address,
    Function,
    Immediate,
    Module,
    PtxInstruction,
    PtxOperand,
    Register,
    Vector,
    registers_of,
)

_ALL_LANES = 0xFFFFFFFF
_MAX_REGISTERS = 64  # that are computed from a load
_MAX_USES = 64


class Flow(NamedTuple):
    """How values pass through an instruction, by numbers of registers of a function."""

    function: str
    touched: frozenset[int]
    reads: tuple[int, ...]  # that its result is computed from
    writes: tuple[int, ...]
    addresses: tuple[int, ...]
    stored: tuple[int, ...]  # what goes to memory, element by element; -1 for operands that are not registers


@dataclass
class RegisterPlan:
    """What to check when an instruction is executed."""

    accumulators: list[int] = field(default_factory=list)  # numbers of sets of registers that a wgmma uses
    multiplies: int = -1  # its own set
    overwrites: list[int] = field(default_factory=list)  # numbers of registers of metadata, each a set
    metadata: int = -1  # its own
    lanes: int = 0  # so many must execute it together
    mask: int = -1
    mask_register: int = -1  # of a mask that is computed


class _Roles(NamedTuple):
    """Registers of a function that are watched, by their numbers."""

    members: dict[int, list[int]]  # those of wgmma: the sets that each is in
    metadata: dict[int, int]  # those of wgmma.sp: the set of each
    constants: dict[int, int]  # those that only ever hold one value


class LoadUses(NamedTuple):
    """What becomes of a loaded value: registers by their numbers, instructions by their ids."""

    function: str
    registers: frozenset[int]
    uses: frozenset[int]  # a thread that executes one of these uses the value
    decisions: frozenset[int]  # a thread that reaches one of these does: the value is its predicate
    lane_bits: int  # lanes whose numbers differ in these bits alone may have exchanged it


class SharedArray(NamedTuple):
    """An array in shared memory: its name in the PTX, and where it begins and ends."""

    name: str
    start: int
    end: int


class FunctionLoads:
    """The loads of a function."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._effects = [instruction.effects for instruction in function.instructions]
        self._constants = constants(function)
        self._readers: dict[int, list[int]] = {}  # of registers
        for index, (read, _) in enumerate(self._effects):
            for register in read:
                self._readers.setdefault(register, []).append(index)
        #: As `_followed`, by index of the load: a flag that is polled is asked about each time.
        self._follows: dict[int, tuple[set[int], set[int], int]] = {}
        self._ends = [0] * len(function.instructions)  # of the basic block that each instruction is in
        for start, end in basic_blocks(function).items():
            self._ends[start:end] = [end] * (end - start)

    def uses_of(self, load: PtxInstruction) -> LoadUses | None:
        """The uses of a load whose value may not matter; None if it does."""
        if load.parts[0] not in ("ld", "ldu", "ldmatrix") or self._is_used_at_once(load):
            return None
        registers, uses, lane_bits = self._followed(load)
        if len(registers) > _MAX_REGISTERS or len(uses) > _MAX_USES:
            return None
        instructions = self._function.instructions
        decisions = {index for index in uses if _is_decided(instructions[index], registers)}
        return LoadUses(
            self._function.name,
            frozenset(registers),
            frozenset(id(instructions[index]) for index in uses - decisions),
            frozenset(id(instructions[index]) for index in decisions),
            lane_bits,
        )

    def _followed(self, load: PtxInstruction) -> tuple[set[int], set[int], int]:
        """The registers computed from a load, the indices of what uses them, and `LoadUses.lane_bits`."""
        known = self._follows.get(load.index)
        if known is None:
            known = self._follows[load.index] = self._follow(load)
        return known

    def _follow(self, load: PtxInstruction) -> tuple[set[int], set[int], int]:
        registers = set(self._effects[load.index][1])
        waiting = sorted(registers)
        uses: set[int] = set()
        lane_bits = 31 if load.parts[0] == "ldmatrix" else 0  # lanes get rows that others point at
        while waiting and len(registers) <= _MAX_REGISTERS:
            for index in self._readers.get(waiting.pop(), ()):
                bits = self._lane_bits(self._function.instructions[index])
                if bits is not None:
                    lane_bits |= bits
                    fresh = self._effects[index][1] - registers
                    registers |= fresh
                    waiting += sorted(fresh)
                else:
                    uses.add(index)
        return registers, uses, lane_bits

    def is_data(self, load: PtxInstruction) -> bool:
        """Whether a volatile load gets a value to compute with: flags are polled, or only decide."""
        instructions = self._function.instructions
        registers, uses, _ = self._followed(load)
        matters = any(not _is_decided(instructions[index], registers) for index in uses)
        return matters and load.operands[1] not in self._polled

    def _is_polled(self, load: PtxInstruction) -> bool:
        """Whether a loop goes on until the value is another."""
        instructions = self._function.instructions
        registers, uses, _ = self._followed(load)
        return any(
            target <= load.index <= index and _is_decided(instructions[index], registers)
            for index in uses
            for target in branch_targets(instructions[index])
        )

    def is_flag(self, address: PtxOperand) -> bool:
        """Whether volatile loads or atomic operations look at an address only in order to decide."""
        lookers = (
            instruction
            for instruction in self._function.instructions
            if instruction.parts[0] in ("ld", "atom")
        )
        ours = [looker for looker in lookers if looker.operands[1] == address]
        return any(self._followed(load)[1] and not self.is_data(load) for load in ours)

    @cached_property
    def _polled(self) -> list[PtxOperand]:
        """The addresses of volatile loads and atomic operations that are polled: whose turn it is, say."""
        instructions = self._function.instructions
        loads = [
            instruction
            for instruction in instructions
            if instruction.parts[0] == "ld" and "volatile" in instruction.parts
        ]
        atomics = [instruction for instruction in instructions if instruction.parts[0] == "atom"]
        polled = [access for access in (*loads, *atomics) if self._is_polled(access)]
        return [access.operands[1] for access in polled]

    def is_update(self, load: PtxInstruction, store: PtxInstruction) -> bool:
        """Whether a store puts back what is computed from a load of the same address, and nobody polls it."""
        if load.parts[0] != "ld" or store.parts[0] != "st":
            return False
        source, target = load.operands[-1], store.operands[0]
        if not isinstance(source, Address) or source != target or target in self._polled:
            return False
        stored = {register.index for register in registers_of(store.operands[1])}
        return not stored.isdisjoint(self._followed(load)[0])

    @cached_property
    def updating_stores(self) -> frozenset[int]:
        """Volatile stores, by id, that put back what is computed from a load of the same address."""
        volatile = [
            instruction for instruction in self._function.instructions if "volatile" in instruction.parts
        ]
        return frozenset(
            id(store) for store in volatile if any(self.is_update(load, store) for load in volatile)
        )

    def shares_branch(self, first: PtxInstruction, last: PtxInstruction) -> bool:
        """Whether two instructions are in one `if`: a branch before them may skip both."""
        low, high = sorted([first.index, last.index])
        before = self._function.instructions[:low]
        return any(
            instruction.guard is not None and any(target > high for target in branch_targets(instruction))
            for instruction in before
        )

    def _is_used_at_once(self, load: PtxInstruction) -> bool:
        """Whether all threads that load also use the value, before they can diverge."""
        instructions: Sequence[PtxInstruction] = self._function.instructions
        registers = set(self._effects[load.index][1])
        for index in range(load.index + 1, self._ends[load.index]):
            instruction = instructions[index]
            read, written = self._effects[index]
            if read.isdisjoint(registers):
                if instruction.guard is None:
                    registers -= written
                continue
            if self._lane_bits(instruction) is not None:
                registers |= written
            elif instruction.guard in (None, load.guard) or _is_decided(instruction, registers):
                return True
        return False

    def _lane_bits(self, instruction: PtxInstruction) -> int | None:
        """The bits in which lanes differ that exchange values here; None if the instruction does more.

        Arithmetic exchanges none. A butterfly shuffle exchanges values of lanes whose numbers differ in the
        bits of its mask; other shuffles may exchange them between any lanes.
        """
        if instruction.is_arithmetic:
            return 0
        if instruction.parts[0] != "shfl":
            return None
        mask, value = instruction.operands[2], None
        if "bfly" in instruction.parts and isinstance(mask, Immediate):
            value = mask.value
        elif "bfly" in instruction.parts and isinstance(mask, Register):
            value = self._constants.get(mask.index)
        return 31 if value is None else value & 31


def _is_decided(instruction: PtxInstruction, registers: set[int]) -> bool:
    """Whether its predicate is one of the registers."""
    return any(register.index in registers for register in registers_of(instruction.guard))


class FunctionPlans:
    """What is known of a function, computed at first use."""

    def __init__(self, function: Function) -> None:
        self.function = function

    @cached_property
    def unwritten(self) -> set[int]:
        """Registers that some path reads before it writes them."""
        instructions = self.function.instructions
        effects = [instruction.effects for instruction in instructions]
        starts = basic_blocks(self.function)
        everything = (1 << len(self.function.registers)) - 1
        first = register_bits(
            register.index
            for register in self.function.registers
            if any(register.name == parameter.name for parameter in self.function.parameters)
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
        readers = {
            register: [
                instruction
                for instruction, (read, _) in zip(instructions, effects, strict=True)
                if register in read
            ]
            for register in watched - written
        }
        return watched - {
            register
            for register, those in readers.items()
            if all(_fills(reader, written) for reader in those)
        }

    @cached_property
    def masked(self) -> set[int]:
        """Registers that only `and` with a constant writes: `or` combines such bit-fields."""
        masked: set[int] = set()
        others: set[int] = set()
        for instruction in self.function.instructions:
            written = instruction.effects[1]
            if instruction.parts[0] == "and" and any(
                isinstance(operand, Immediate) for operand in instruction.operands
            ):
                masked |= written
            else:
                others |= written
        return masked - others

    @cached_property
    def loads(self) -> FunctionLoads:
        """Its loads."""
        return FunctionLoads(self.function)


class ModulePlans:
    """What to watch when instructions of a module are executed; computed at first use."""

    def __init__(self, module: Module) -> None:
        self.functions = {name: FunctionPlans(function) for name, function in module.functions.items()}
        self.owners: dict[int, FunctionPlans] = {}  # of instructions, by id
        for plans in self.functions.values():
            for instruction in plans.function.instructions:
                self.owners[id(instruction)] = plans
        self._plans: dict[int, RegisterPlan | None] = {}
        self._flows: dict[int, Flow] = {}
        self._regions: dict[int, tuple[PtxInstruction, ...]] = {}
        self._load_uses: dict[int, LoadUses | None] = {}
        self._lock = Lock()
        self.arrays_of: dict[int, tuple[SharedArray, ...]] = {}  # that instructions access, as far as known
        self._unoptimised = module.debug
        self.names: dict[tuple[str, int], str] = {}  # of registers, by function and number
        self.sets: dict[tuple[str, frozenset[int]], int] = {}  # registers of wgmma instructions

    @cached_property
    def guesses(self) -> frozenset[int]:
        """Loads, by id, of what a compare-and-swap compares: if the value is stale, the swap fails."""
        return frozenset(
            load for plans in self.functions.values() for load in _compared_loads(plans.function)
        )

    @cached_property
    def faults(self) -> dict[int, Rotation | SignFill]:
        """The instructions, by id, that assemblers get wrong; none where they do not optimise."""
        functions = () if self._unoptimised else tuple(plans.function for plans in self.functions.values())
        return {
            id(function.instructions[index]): fault
            for function in functions
            for index, fault in faults(function).items()
        }

    @cached_property
    def blind_updates(self) -> frozenset[int]:
        """Atomic operations, by id, whose results nobody reads: they learn nothing of earlier updates."""
        blind: set[int] = set()
        for plans in self.functions.values():
            instructions = plans.function.instructions
            read = {register for instruction in instructions for register in instruction.effects[0]}
            blind.update(
                id(instruction)
                for instruction in instructions
                if instruction.parts[0] in ("atom", "red") and read.isdisjoint(instruction.effects[1])
            )
        return frozenset(blind)

    def flow(self, instruction: PtxInstruction) -> Flow:
        """How values pass through it."""
        key = id(instruction)
        flow = self._flows.get(key)
        if flow is None:
            flow = self._flows[key] = _flow_of(instruction, self.owners[key].function.name)
        return flow

    def branch_region(self, branch: PtxInstruction) -> tuple[PtxInstruction, ...]:
        """What a branch chooses from, if it only computes registers: ``if (x) y = 1; else y = 2;``."""
        key = id(branch)
        if key not in self._regions:
            self._regions[key] = _branch_region(self.owners[key].function, branch)
        return self._regions[key]

    def load_uses(self, instruction: PtxInstruction) -> LoadUses | None:
        """Where the value of a load is used; None if it surely matters, or has too many uses."""
        key = id(instruction)
        if key not in self._load_uses:
            self._load_uses[key] = self.owners[key].loads.uses_of(instruction)
        return self._load_uses[key]

    def is_data(self, instruction: PtxInstruction) -> bool:
        """Whether a volatile load or store is of more than a flag, which is polled or tested."""
        loads = self.owners[id(instruction)].loads
        if instruction.parts[0] == "st":
            return not loads.is_flag(instruction.operands[0])
        return instruction.parts[0] == "ld" and loads.is_data(instruction)

    def are_update(self, one: PtxInstruction, other: PtxInstruction) -> bool:
        """Whether two instructions are the load and the store of one update, or both its store."""
        loads = self.owners[id(one)].loads
        if self.owners[id(other)].loads is not loads:
            return False
        if one is other:
            return any(
                loads.is_update(instruction, one)
                for instruction in self.owners[id(one)].function.instructions
            )
        return loads.is_update(one, other) or loads.is_update(other, one)

    @cached_property
    def has_flags(self) -> bool:
        """Whether blocks may hand something over by flags: there is a fence, or a release."""
        functions = (plans.function for plans in self.functions.values())
        opcodes = {instruction.opcode for function in functions for instruction in function.instructions}
        parts = {part for opcode in opcodes for part in opcode.split(".")}
        return not parts.isdisjoint({"fence", "membar", "release", "acq_rel"})

    @cached_property
    def stores_volatile(self) -> bool:
        """Whether anything is stored to volatile memory."""
        functions = (plans.function for plans in self.functions.values())
        return any(
            instruction.parts[0] == "st" and "volatile" in instruction.parts
            for function in functions
            for instruction in function.instructions
        )

    def may_overwrite_count(self, one: PtxInstruction, other: PtxInstruction) -> bool:
        """Whether one is a volatile store, and the other an atomic operation that is no lock and no flag."""
        if other.parts[0] == "st":
            one, other = other, one
        if one.parts[0] != "st" or "volatile" not in one.parts or other.parts[0] not in ("atom", "red"):
            return False
        loads = self.owners[id(other)].loads
        if "cas" in other.parts or loads.is_flag(other.operands[-2]):
            return False
        return id(other) in self.blind_updates or loads.is_data(other)

    def updates(self, store: PtxInstruction) -> bool:
        """Whether a volatile store puts back what is computed from what was there."""
        return id(store) in self.owners[id(store)].loads.updating_stores

    def share_branch(self, one: PtxInstruction, other: PtxInstruction) -> bool:
        """Whether two instructions are in one `if` of a function."""
        owner = self.owners[id(one)]
        return self.owners[id(other)] is owner and owner.loads.shares_branch(one, other)

    def of(self, instruction: PtxInstruction) -> RegisterPlan | None:
        """What to check when it is executed; None for nothing."""
        key = id(instruction)
        if key not in self._plans:
            with self._lock:  # one kernel may run in several threads
                if key not in self._plans:
                    self._add(self.owners[key].function)
        return self._plans[key]

    def _add(self, function: Function) -> None:
        multiplying = [
            instruction
            for instruction in function.instructions
            if instruction.parts[:2] == ("wgmma", "mma_async")
        ]
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
        for declared in function.registers:
            if declared.index in members or declared.index in metadata:
                self.names[function.name, declared.index] = declared.name
        roles = _Roles(members, metadata, constants(function))
        self._plans |= {
            id(instruction): self._plan(function, instruction, roles) for instruction in function.instructions
        }

    def _plan(self, function: Function, instruction: PtxInstruction, roles: _Roles) -> RegisterPlan | None:
        """See `of`."""
        members, metadata, constants = roles
        parts = instruction.parts
        read, written = instruction.effects
        plan = RegisterPlan()
        if instruction.parts[:2] == ("wgmma", "mma_async"):
            plan.multiplies = self.sets[function.name, frozenset(_wgmma_registers(instruction))]
            plan.metadata = max((metadata[register] for register in _wgmma_metadata(instruction)), default=-1)
        elif members:
            moves = parts[0] == "mov" and not isinstance(instruction.operands[1], Immediate)
            touched = {number for register in read | written for number in members.get(register, ())}
            plan.accumulators = [] if moves else sorted(touched)
            plan.overwrites = (
                [] if moves else sorted(metadata[index] for index in written if index in metadata)
            )
        if "aligned" in parts and parts[0] not in ("bar", "barrier", "setmaxnreg"):
            plan.lanes = 128 if parts[0] == "wgmma" else 32
        if parts[0] in HAVE_MASK and (parts[0] != "bar" or "warp" in parts):
            operand = instruction.operands[-1]
            mask = -1
            if isinstance(operand, Immediate):
                mask = operand.value & _ALL_LANES
            elif isinstance(operand, Register) and operand.index in constants:
                mask = constants[operand.index] & _ALL_LANES
            elif isinstance(operand, Register):
                plan.mask_register = operand.index
            plan.mask = -1 if mask == _ALL_LANES else mask
        return None if plan == RegisterPlan() else plan


# -- analysis of a function's code ---------------------------------------------------------------------------


def _flow_of(instruction: PtxInstruction, function: str) -> Flow:
    """How values pass through an instruction."""
    name = instruction.parts[0]
    read, written = instruction.registers
    addresses = [
        register.index
        for operand in instruction.operands
        if isinstance(operand, Address)
        for register in registers_of(operand)
    ]
    stored: list[int] = []
    if name == "st" and "bulk" in instruction.parts:
        stored = [-1]  # zeros
    elif name in ("st", "stmatrix"):
        items = getattr(instruction.operands[1], "items", (instruction.operands[1],))
        stored = [item.index if isinstance(item, Register) else -1 for item in items]
    elif name in ("atom", "red"):
        values = [operand for operand in instruction.operands if not isinstance(operand, Address)]
        values = values if name == "red" else values[1:]
        stored = [register.index for operand in values for register in registers_of(operand)]
    reads = [register.index for register in read if register.index not in (*addresses, *stored)]
    writes = tuple(register.index for register in written)
    if name == "wgmma" and instruction.parts[1] == "mma_async":
        scale = [register.index for register in registers_of(instruction.guard)]
        reads = [register for register in reads if register not in scale]
    touched = frozenset((*reads, *writes, *addresses, *stored))
    return Flow(function, touched, tuple(reads), writes, tuple(addresses), tuple(stored))


def _branch_region(function: Function, branch: PtxInstruction) -> tuple[PtxInstruction, ...]:
    """The instructions that a branch skips, or chooses from, if they are arithmetic alone; () if not.

    No other branch leads into them: it is an `if` without `else`, or two arms that join again.
    """
    body, begin, end = function.instructions, branch.index + 1, _target(branch)
    if not begin < end < len(body):
        return ()
    meet = _target(body[end - 1]) if body[end - 1].guard is None else -1
    arms = [(begin, end - 1), (end, meet)] if meet > end else [(begin, end)]
    region = tuple(instruction for first, last in arms for instruction in body[first:last])
    inside = {instruction.index for first, last in arms for instruction in body[first + 1 : last]}
    entered = any(not inside.isdisjoint(branch_targets(instruction)) for instruction in body)
    fine = region and not entered and all(instruction.is_arithmetic for instruction in region)
    return region if fine else ()


def _target(instruction: PtxInstruction) -> int:
    """The index that `bra` leads to; -1 for other instructions."""
    return branch_targets(instruction)[0] if instruction.parts[0] == "bra" else -1


def _fills(instruction: PtxInstruction, written: set[int]) -> bool:
    """Whether an instruction is a packing mov with a written register: an unwritten one only fills it.

    LLVM widens a value in this way if its upper part is never used.
    """
    source = instruction.operands[-1]
    if instruction.parts[0] != "mov" or not isinstance(source, Vector):
        return False
    return any(isinstance(item, Register) and item.index in written for item in source.items)


def _compared_loads(function: Function) -> Iterator[int]:
    """The loads, by id, of values that atom.cas compares."""
    compared: set[int] = set()
    for instruction in function.instructions:
        if instruction.parts[0] == "atom" and "cas" in instruction.parts:
            compared |= {register.index for register in registers_of(instruction.operands[2])}
    if not compared:
        return
    effects = [(instruction, *instruction.effects) for instruction in function.instructions]
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
    """The register with the metadata of a sparse wgmma, which an H200 reads while the wgmma runs."""
    if "sp" not in instruction.parts:
        return set()
    return {register.index for register in registers_of(instruction.operands[3])}
