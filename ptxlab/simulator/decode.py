"""A module, ready to run: its variables with addresses, its functions as steps, checked as ptxas does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .._util.arguments import check_bytes
from ..errors import PtxlabError, counted, listing
from ..isa.availability import availability
from ..isa.chips import MAX_SHARED
from ..isa.parse import parse_any
from ..isa.targets import TARGETS, PtxVersion
from .checks.plans import ModulePlans
from .device_memory import GLOBAL_START, PARAM_START, RANK_SHIFT, SHARED_START
from .events import SimulatedBuffer
from .instructions import arithmetic_builders
from .instructions.builders import Context, IllegalError, builder_of, unsupported
from .instructions.loads import in_leader, is_in_leader
from .launch_threads import UNSIGNED, Threads
from .machine import Frame, Machine, MachineStep, Program
from .ptx.dataflow import branch_targets, constants, repeated
from .ptx.opcode_sets import FEWEST_OPERANDS, TYPES
from .ptx.ptxas import contractions, faults, modified_selections
from .ptx.syntax import (
    Address,
    Function,
    Module,
    Negated,
    Operand,
    Pair,
    PtxInstruction,
    Register,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
    plain_name,
    symbols_of,
    type_bits,
)
from .spinning import has_effect

_MAX_STATIC = 48 << 10  # bytes of static shared memory: ptxas refuses more
_TILE_IR = 7  # PTX ISA, ".language"
#: Bytes between two arrays or variables, so that an index past the end of one does not hit the next.
_GAP = 4096
_ALIGNMENT = 256
_CODE = 0x100_0000  # the address of the first function, for function pointers


def _aligned(address: int, alignment: int) -> int:
    return -(-address // alignment) * alignment


def address_behind(end: int) -> int:
    """Where the next array or variable in global memory begins after one that ends at `end`."""
    return _aligned(end + _GAP, _ALIGNMENT)


def variable_title(name: str) -> str:
    """What messages, and the title of its buffer, call a variable of a module."""
    return f"the variable {name}"


@dataclass
class Image:
    """A module with one of its kernels: addresses of all symbols, and functions decoded at first use."""

    module: Module
    entry: Function
    texts: tuple[str, ...] = ()  # what the module was read from
    symbols: dict[str, int] = field(default_factory=dict)
    spaces: dict[str, str] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)  # offsets of the kernel's parameters
    parameter_size: int = 0
    dynamic_start: int = SHARED_START  # where dynamic shared memory begins
    static_bytes: int = 0  # static shared memory
    next_free: int = 0  # in global memory, after all variables
    _programs: dict[str, Program] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, name in enumerate(self.module.functions):
            self.symbols[name] = _CODE + 16 * number
            self.functions[_CODE + 16 * number] = name
        for parameter in self.entry.parameters:
            offset = _aligned(self.parameter_size, parameter.align)
            self.parameters[parameter.name] = offset
            self.symbols[parameter.name] = PARAM_START + offset
            self.parameter_size = offset + parameter.size
        self.next_free = address_behind(GLOBAL_START + self.parameter_size)
        dynamic = []
        for variable in self._variables:
            if variable.space in ("global", "const"):
                self.symbols[variable.name] = self.next_free
                self.next_free = address_behind(self.next_free + variable.size)
            elif variable.space == "shared" and variable.count is None:
                dynamic.append(variable)
            elif variable.space == "shared":
                self.dynamic_start = _aligned(self.dynamic_start, variable.align)
                self.symbols[variable.name] = self.dynamic_start
                self.dynamic_start += variable.size
            self.spaces[variable.name] = variable.space
        check_bytes(self.next_free - GLOBAL_START, "the module's variables")
        static = self.static_bytes = self.dynamic_start - SHARED_START
        kernels = [function for function in self.module.functions.values() if function.entry]
        is_tile = _TILE_IR in self.entry.directives.get("language", ())  # its compiler asks for more itself
        # of several, ptxas knows which uses it
        if static > _MAX_STATIC and len(kernels) == 1 and not is_tile:
            raise PtxlabError(
                f"{plain_name(self.entry.name)} declares {static} bytes of shared memory; ptxas takes at "
                f"most {_MAX_STATIC}: make it dynamic (extern __shared__) and pass its size as shared="
            )
        if static >> RANK_SHIFT:
            raise PtxlabError(f"the module declares {static} bytes of shared memory, which no block has")
        alignment = max([16, *(variable.align for variable in dynamic)])
        self.dynamic_start = _aligned(self.dynamic_start, alignment)
        for variable in dynamic:
            self.symbols[variable.name] = self.dynamic_start

    def check_shared(self, dynamic: int) -> None:
        """Refuse a launch whose static and dynamic shared memory exceed that of a block."""
        if dynamic and self.static_bytes + dynamic > MAX_SHARED:
            raise PtxlabError(
                f"shared={dynamic}: {plain_name(self.entry.name)} declares {self.static_bytes} bytes as "
                f"well, and a block has at most {MAX_SHARED}"
            )

    @cached_property
    def plans(self) -> ModulePlans:
        """What the checks derive from its code."""
        return ModulePlans(self.module)

    @property
    def used(self) -> list[Function]:
        """The functions that the kernel may execute: itself, and those of the module that are no kernels."""
        return [each for each in self.module.functions.values() if each is self.entry or not each.entry]

    @cached_property
    def polls(self) -> bool:
        """Whether blocks may wait for others: whether they may poll global memory."""
        return any(polls(each) for function in self.used for each in function.instructions)

    @cached_property
    def spins(self) -> bool:
        """Whether blocks may spin until another writes: a loop, or a function that one may call, polls."""
        for function in self.used if self.polls else ():
            places = [each.index for each in function.instructions if polls(each)]
            if places and not function.entry:
                return True
            for branch in function.instructions:
                if any(
                    target <= place <= branch.index for target in branch_targets(branch) for place in places
                ):
                    return True
        return False

    @cached_property
    def _variables(self) -> list[Variable]:
        """Variables of the module and its functions, without shared memory that only other kernels use."""
        named = {
            symbol.name
            for function in self.used
            for instruction in function.instructions
            for operand in instruction.operands
            for symbol in symbols_of(operand)
        }
        of_module = self.module.variables.values()
        return [
            *(each for each in of_module if each.space != "shared" or each.name in named),
            *(
                each
                for function in self.module.functions.values()
                for each in function.variables
                if each.space != "shared" or function is self.entry or not function.entry
            ),
        ]

    def variables(self) -> list[SimulatedBuffer]:
        """The module's global and constant variables with their initial values."""
        return [self._buffer(each) for each in self._variables if each.space in ("global", "const")]

    def shared_variables(self, dynamic: int) -> list[tuple[str, int, int]]:
        """Names, addresses and sizes of the variables in shared memory."""
        return [
            (plain_name(each.name), self.symbols[each.name], dynamic if each.count is None else each.size)
            for each in self._variables
            if each.space == "shared"
        ]

    @property
    def shared_arrays(self) -> dict[str, tuple[int, int]]:
        """Where the variables in static shared memory begin and end, by their names in the PTX."""
        return {
            each.name: (self.symbols[each.name], self.symbols[each.name] + each.size)
            for each in self._variables
            if each.space == "shared" and each.count is not None
        }

    def _buffer(self, variable: Variable) -> SimulatedBuffer:
        data = np.zeros(variable.size, dtype=np.uint8)
        size = max(1, (type_bits(variable.type) or 8) // 8)
        for number, value in enumerate(variable.values or ()):
            if isinstance(value, Symbol):
                if value.name not in self.symbols:
                    raise PtxlabError(f"PTX line {variable.line}: there is no variable {value.name}")
                place = self.symbols[value.name] + value.offset
                lowest = (value.mask & -value.mask).bit_length() - 1
                value = (place & value.mask) >> lowest if value.mask else place
            data[number * size : (number + 1) * size] = np.frombuffer(
                (value & (1 << 8 * size) - 1).to_bytes(size, "little"), dtype=np.uint8
            )
        title = variable_title(variable.name)
        return SimulatedBuffer(
            title, self.symbols[variable.name], data, variable.space == "global", variable.space, "module"
        )

    def program(self, name: str) -> Program:
        """A function's steps."""
        if name not in self._programs:
            function = self.module.functions.get(name)
            if function is None or not function.defined:
                raise PtxlabError(
                    f"the function {name} is called, but it is not in the module; if another PTX module has "
                    "it, pass that as link=[...]"
                )
            self._programs[name] = self._decoded(function)
        return self._programs[name]

    def _decoded(self, function: Function) -> Program:
        local: dict[str, int] = {}
        size = 0
        variables = [variable for variable in function.variables if variable.space in ("local", "param")]
        if not function.entry:
            variables += [each for each in (*function.parameters, *function.returns) if each.space == "param"]
        for variable in variables:
            size = _aligned(size, max(variable.align, 1))
            local[variable.name] = size
            size += variable.size
        context = Context(
            self.module, function, self.symbols, self.spaces, local, constants(function), repeated(function)
        )
        types = [
            UNSIGNED.get(type_bits(register.type) or 32, UNSIGNED[64]) for register in function.registers
        ]
        steps = [_step(instruction, context) for instruction in function.instructions]
        fused = {} if self.module.debug else contractions(function)
        for index, sources in ({} if self.module.debug else modified_selections(function)).items():
            step = arithmetic_builders.selection(function.instructions[index], context, sources)
            steps[index] = replace(step, guard=steps[index].guard, negated=steps[index].negated)
        for index, fault in ({} if self.module.debug else faults(function)).items():
            steps[index] = arithmetic_builders.assembled(steps[index], context, fault)
        factors: dict[int, int] = {}  # product -> the first of two registers for its factors
        for product in dict.fromkeys(contraction.product for contraction in fused.values()):
            instruction = function.instructions[product]
            factors[product] = len(types)
            types += [UNSIGNED[type_bits(instruction.parts[-1]) or 32]] * 2
            steps[product] = arithmetic_builders.product(instruction, context, factors[product])
        for index, contraction in fused.items():
            step = arithmetic_builders.fused_sum(
                function.instructions[index], context, contraction, factors[contraction.product]
            )
            steps[index] = replace(step, guard=steps[index].guard, negated=steps[index].negated)
        return Program(function, tuple(steps), tuple(types), local, _aligned(size, 16))


#: Qualifiers and types of PTX 9.1 to 9.4 that are not simulated, or how they begin.
_NOT_SIMULATED = (
    "pzo", "scaled::", "s2f6x2", "ue5m3x2", "multicast::cluster::32b", "phase_type::", "override", "report",
    "mbarrier::report", "im2col_no_offs::w",
)  # fmt: skip


def polls(instruction: PtxInstruction) -> bool:
    """Whether an instruction reads global memory as one does that waits for another block."""
    parts = instruction.parts
    if parts[0] == "ld":
        reads = not {"volatile", "acquire", "relaxed"}.isdisjoint(parts)
    else:
        reads = parts[0] == "atom" and not isinstance(instruction.operands[0], Sink)
    return reads and not any(part.startswith("shared") for part in parts)


def _step(instruction: PtxInstruction, context: Context) -> MachineStep:
    """A decoded instruction; one that is not simulated is an error only if a thread reaches it.

    One that the assembler refuses is an error at once, since it makes the whole module illegal.
    """
    check_legal(instruction, context.module)
    try:
        build = builder_of(instruction.parts) or arithmetic_builders.scalar
        for part in instruction.parts if instruction.parts[0] not in ("fabric", "tcgen05") else ():
            if part.startswith(_NOT_SIMULATED):
                raise unsupported(instruction, f".{part} of {instruction.opcode}")
        step = (in_leader if is_in_leader(instruction, context.module) else build)(instruction, context)
    except IllegalError:
        raise
    except Exception as error:  # the builder does not expect these operands
        reason = error if isinstance(error, PtxlabError) else PtxlabError(
            f"{instruction.where}: {instruction.opcode} has operands that are not understood"
        )  # fmt: skip
        step = MachineStep(instruction, _refusal(reason))
    step.effect = has_effect(instruction, builder_of(instruction.parts) is None)
    guard = instruction.guard
    if guard is not None:
        register = guard.operand if isinstance(guard, Negated) else guard
        if register.type != "pred":
            fault = f"{instruction.where}: {register.name} is .{register.type}; @ takes a predicate"
            return MachineStep(instruction, _refusal(PtxlabError(fault)))
        step.guard, step.negated = register.index, isinstance(guard, Negated)
    return step


def _refusal(reason: PtxlabError) -> Any:
    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        raise PtxlabError(*reason.args)  # a new one each time: a run may add notes to it

    return execute


# -- what the assembler refuses ------------------------------------------------------------------------------

# The simulator refuses these as well, whatever the operands are: an instruction of another target or of a
# later PTX version, qualifiers in a wrong order, a type that the instruction does not have, a result that may
# not be discarded. Tests compare this with ptxas.

#: Instructions whose targets are in the catalogue, by the first part of their opcodes.
_CATALOGUED = ("mma", "wmma", "ldmatrix", "stmatrix", "movmatrix", "tcgen05")


def check_legal(instruction: PtxInstruction, module: Module) -> None:
    """Refuse an instruction that the assembler does not take in this module."""
    _check_target(instruction, module)
    fault = _order_fault(instruction) or _type_fault(instruction) or _operand_fault(instruction)
    if fault is not None:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode}: {fault}")


# -- targets and versions ------------------------------------------------------------------------------------


def _check_target(instruction: PtxInstruction, module: Module) -> None:
    """Refuse an instruction that the module's target, or its version of PTX, lacks."""
    if module.target not in TARGETS:
        return
    name, targets, version = _catalogued(instruction) or _tabulated(instruction, module.target)
    if module.target not in targets:
        raise PtxlabError(
            f"{instruction.where}: the kernel is for {module.target}, which lacks {name}; targets that have "
            f"it: {_span(targets)}"
        )
    if version > PtxVersion(*module.version):
        raise PtxlabError(
            f"{instruction.where}: the module is in PTX {PtxVersion(*module.version)}, and {name} came with "
            f"PTX {version}: state .version {version} or later"
        )


def _span(targets: tuple[str, ...]) -> str:
    """A list of targets, in words."""
    later = TARGETS[TARGETS.index(targets[0]) :] if targets else ()
    return f"{targets[0]} and later" if targets == later else listing(targets, 4)


def _catalogued(instruction: PtxInstruction) -> tuple[str, tuple[str, ...], PtxVersion] | None:
    parts = instruction.parts
    if parts[0] not in _CATALOGUED and parts[:2] != ("wgmma", "mma_async"):
        return None
    try:
        form = parse_any(instruction.opcode)
    except PtxlabError:  # the instruction's builder explains it
        return None
    return form.mnemonic, form.targets, form.ptx_version


def _tabulated(instruction: PtxInstruction, target: str) -> tuple[str, tuple[str, ...], PtxVersion]:
    features = {f"/{len(instruction.operands)}"}
    for operand in instruction.operands:
        features.update(_special(operand))
    last = instruction.operands[-1] if instruction.operands else None
    if isinstance(last, Negated) or (isinstance(last, Register) and last.type == "pred"):
        features.add("/pred")
    return _look_up(instruction.opcode, frozenset(features), target)


@lru_cache(maxsize=4096)
def _look_up(opcode: str, features: frozenset[str], target: str) -> tuple[str, tuple[str, ...], PtxVersion]:
    entry = availability(opcode, features)
    special = sorted(each for each in features if each.startswith("%"))
    plain_entry = availability(opcode, features.difference(special))
    name = opcode if entry == plain_entry else f"{opcode} of {listing(special)}"
    return name, entry.targets, entry.version(target)


def _special(operand: Operand) -> Iterator[str]:
    if isinstance(operand, Special):
        yield operand.name
    elif isinstance(operand, Vector):
        for item in operand.items:
            yield from _special(item)
    elif isinstance(operand, Address) and operand.coordinates is not None:
        yield from _special(operand.coordinates)


# -- the order of qualifiers ---------------------------------------------------------------------------------

#: Qualifiers that must follow the name of an instruction directly; ptxas takes others in any order.
_FIRST_QUALIFIERS = {
    "bar": ("sync", "arrive", "red", "warp", "cta"),
    "cp": ("async", "reduce"),
    "cvta": ("to",),
    "div": ("full",),
    **dict.fromkeys(("mad", "mul", "madc", "mad24", "mul24"), ("lo", "hi", "wide")),
    "shf": ("l", "r"),
}


def _order_fault(instruction: PtxInstruction) -> str | None:
    name, *qualifiers = instruction.parts
    first = _FIRST_QUALIFIERS.get(name, ())
    for position, qualifier in enumerate(qualifiers):
        if qualifier in first and qualifiers[0] not in first:
            return f".{qualifier} belongs directly behind {name}"
        if name == "bar" and qualifier == "aligned" and position:
            return "bar is always aligned and takes no .aligned, which barrier does"
    return None


# -- types ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def types_of(parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """The types that ptxas takes for an instruction, given as the parts of an opcode; None if unknown here.

    >>> types_of(("atom", "global", "inc", "u32"))
    ('u32',)
    """
    if {"async", "bulk", "multimem"} & set(parts) or (
        parts[0] in ("atom", "red") and not {"v2", "v4", "v8"}.isdisjoint(parts)
    ):
        return None  # these have other types
    same_name = [entry for entry in TYPES if entry.split(".")[0] == parts[0]]
    entries = [entry for entry in same_name if set(entry.split(".")) <= set(parts)]
    return tuple(TYPES[max(entries, key=len)].split()) if entries else None


def _type_fault(instruction: PtxInstruction) -> str | None:
    type_name, types = instruction.parts[-1], types_of(instruction.parts)
    if types is None or type_name in types or type_bits(type_name) is None:
        return None
    return f"found .{type_name}; it takes {listing(f'.{name}' for name in types)}"


# -- missing operands and discarded results ------------------------------------------------------------------


#: The fewest operands of instructions that checks inspect even where no thread executes them.


def _operand_fault(instruction: PtxInstruction) -> str | None:
    """Operands that are missing, or ``_`` in place of a result."""
    count, fewest = len(instruction.operands), FEWEST_OPERANDS.get(instruction.parts[0], 0)
    if count < fewest:
        return f"it has at least {counted(fewest, 'operand')}, found {count or 'none'}"
    result = instruction.operands[0] if instruction.operands else None
    if isinstance(result, Vector) and result.items:
        all_discarded = all(isinstance(item, Sink) for item in result.items)
        return "at least one of its results must be a register, not _" if all_discarded else None
    first, second = (result.first, result.second) if isinstance(result, Pair) else (result, None)
    if isinstance(first, Sink) and (isinstance(second, Sink) or not _may_discard(instruction)):
        return "its result is a register, not _"
    if isinstance(second, Sink) and instruction.parts[0] in ("elect", "lop3"):
        return "its second result is a predicate, not _"
    return None


def _may_discard(instruction: PtxInstruction) -> bool:
    """Whether the result, or the first of two, may be ``_``."""
    name, *qualifiers = instruction.parts
    if name == "elect":
        return isinstance(instruction.operands[0], Pair)
    if name == "match":
        return "all" in qualifiers
    if name == "mbarrier":
        return qualifiers[:1] in (["arrive"], ["arrive_drop"])
    return name in ("atom", "lop3", "setp")
