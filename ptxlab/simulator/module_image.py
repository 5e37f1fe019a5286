"""A module, ready to run: its variables with addresses, its functions as steps, checked as ptxas does."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._util.arguments import check_bytes
from ..errors import PtxlabError
from ..isa.chips import MAX_SHARED
from .checks.module_plans import ModulePlans
from .device_memory import GLOBAL_START, PARAM_START, SHARED_START
from .events import SimulatedBuffer
from .instructions import arithmetic_builders
from .instructions.builders import Builder, Context, IllegalError, builder_of, unsupported
from .instructions.loads import in_leader, is_in_leader
from .launch_threads import UNSIGNED, Threads
from .machine import Frame, Machine, MachineStep, Program
from .ptx.dataflow import branch_targets, constants, repeated
from .ptx.legality import check_legal
from .ptx.ptxas import contractions, faults, modified_selections
from .ptx.syntax import (
    Function,
    Module,
    Negated,
    PtxInstruction,
    Sink,
    Symbol,
    Variable,
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
class ModuleImage:
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
        """Lay out code, parameters and variables, and give each symbol its address."""
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
        # with several kernels, ptxas counts only what each of them uses
        if static > _MAX_STATIC and len(kernels) == 1 and not is_tile:
            raise PtxlabError(
                f"{plain_name(self.entry.name)} declares {static} bytes of shared memory; ptxas takes at "
                f"most {_MAX_STATIC}: make it dynamic (extern __shared__) and pass its size as shared="
            )
        if static > MAX_SHARED:
            raise PtxlabError(
                f"{plain_name(self.entry.name)} declares {static} bytes of shared memory, which no "
                f"block has: there are at most {MAX_SHARED}"
            )
        alignment = max([16, *(variable.align for variable in dynamic)])
        self.dynamic_start = _aligned(self.dynamic_start, alignment)
        for variable in dynamic:
            self.symbols[variable.name] = self.dynamic_start

    def check_shared(self, dynamic: int) -> None:
        """Refuse a launch whose static and dynamic shared memory exceed that of a block."""
        if self.static_bytes + dynamic > MAX_SHARED:
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
        return [
            function
            for function in self.module.functions.values()
            if function is self.entry or not function.entry
        ]

    @cached_property
    def polls(self) -> bool:
        """Whether blocks may wait for others: whether they may poll global memory."""
        return any(polls(instruction) for function in self.used for instruction in function.instructions)

    @cached_property
    def spins(self) -> bool:
        """Whether blocks may spin until another writes: a loop, or a function that one may call, polls."""
        if not self.polls:
            return False
        for function in self.used:
            places = [instruction.index for instruction in function.instructions if polls(instruction)]
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
            *(variable for variable in of_module if variable.space != "shared" or variable.name in named),
            *(
                variable
                for function in self.module.functions.values()
                for variable in function.variables
                if variable.space != "shared" or function is self.entry or not function.entry
            ),
        ]

    def variables(self) -> list[SimulatedBuffer]:
        """The module's global and constant variables with their initial values."""
        return [
            self._buffer(variable) for variable in self._variables if variable.space in ("global", "const")
        ]

    def shared_variables(self, dynamic: int) -> list[tuple[str, int, int]]:
        """Names, addresses and sizes of the variables in shared memory."""
        return [
            (
                plain_name(variable.name),
                self.symbols[variable.name],
                dynamic if variable.count is None else variable.size,
            )
            for variable in self._variables
            if variable.space == "shared"
        ]

    @property
    def shared_arrays(self) -> dict[str, tuple[int, int]]:
        """Where the variables in static shared memory begin and end, by their names in the PTX."""
        return {
            variable.name: (self.symbols[variable.name], self.symbols[variable.name] + variable.size)
            for variable in self._variables
            if variable.space == "shared" and variable.count is not None
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
        """A function with a step for each instruction, and the layout of its local memory."""
        local: dict[str, int] = {}
        size = 0
        variables = [variable for variable in function.variables if variable.space in ("local", "param")]
        if not function.entry:
            variables += [
                parameter
                for parameter in (*function.parameters, *function.returns)
                if parameter.space == "param"
            ]
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
        builders: dict[int, Builder] = {}  # of instructions that ptxas changes
        if not self.module.debug:
            for index, sources in modified_selections(function).items():
                builders[index] = partial(arithmetic_builders.selection, modified=sources)
            fused = contractions(function)
            factors: dict[int, int] = {}  # product -> the first of two registers for its factors
            for product in dict.fromkeys(contraction.product for contraction in fused.values()):
                factors[product] = len(types)
                types += [UNSIGNED[type_bits(function.instructions[product].parts[-1]) or 32]] * 2
                builders[product] = partial(arithmetic_builders.product, place=factors[product])
            for index, contraction in fused.items():
                builders[index] = partial(
                    arithmetic_builders.fused_sum, contraction=contraction, place=factors[contraction.product]
                )
        steps = [
            _step(instruction, context, builders.get(index))
            for index, instruction in enumerate(function.instructions)
        ]
        if not self.module.debug:
            for index, miscompiled in faults(function).items():
                steps[index] = arithmetic_builders.assembled(steps[index], context, miscompiled)
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


def _step(instruction: PtxInstruction, context: Context, special: Builder | None) -> MachineStep:
    """A decoded instruction, by its `special` builder if it has one.

    One that is not simulated is an error only if a thread reaches it. One that the assembler refuses is an
    error at once, since it makes the whole module illegal.
    """
    check_legal(instruction, context.module)
    try:
        build = special or builder_of(instruction.parts) or arithmetic_builders.scalar
        if instruction.parts[0] not in ("fabric", "tcgen05"):
            for part in instruction.parts:
                if part.startswith(_NOT_SIMULATED):
                    raise unsupported(instruction, f".{part} of {instruction.opcode}")
        step = (in_leader if is_in_leader(instruction, context.module) else build)(instruction, context)
    except IllegalError:
        raise
    except Exception as error:  # builders take operands apart as PTX has them, and these are others
        reason = error if isinstance(error, PtxlabError) else PtxlabError(
            f"{instruction.where}: {instruction.opcode} has operands that are not understood"
        )  # fmt: skip
        step = MachineStep(instruction, _raising(reason))
    step.effect = has_effect(instruction, builder_of(instruction.parts) is None)
    guard = instruction.guard
    if guard is not None:
        register = guard.operand if isinstance(guard, Negated) else guard
        if register.type != "pred":
            fault = f"{instruction.where}: {register.name} is .{register.type}; @ takes a predicate"
            return MachineStep(instruction, _raising(PtxlabError(fault)))
        step.guard, step.negated = register.index, isinstance(guard, Negated)
    return step


def _raising(reason: PtxlabError) -> Any:
    """What a step executes that is an error if a thread reaches it."""

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        raise PtxlabError(*reason.args)  # a new one each time: a run may add notes to it

    return execute
