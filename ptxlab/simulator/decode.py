"""A module, ready to run: addresses of its variables, and its functions as steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import PtxlabError
from . import arithmetic, asynchronous, control, loads, matrices, mbarriers, tensor, tensormaps, warps, wgmma
from .legality import check_legal
from .machine import Frame, Machine, Program, Step
from .memory import GLOBAL_START, SHARED_START, Buffer
from .operands import Builder, Context, IllegalError
from .ptx import Function, Instruction, Module, Negated, Symbol, Variable, plain_name, type_bits
from .ptx.contraction import contractions
from .ptx.dataflow import constants, repeated
from .ptx.modifiers import modified_selections
from .threads import UNSIGNED, Threads

#: What makes a step of an instruction, by the first part of its opcode; all others are scalar arithmetic.
BUILDERS: dict[str, Builder] = {
    **arithmetic.BUILDERS,
    **loads.BUILDERS,
    **control.BUILDERS,
    **warps.BUILDERS,
    **matrices.BUILDERS,
    **wgmma.BUILDERS,
    **asynchronous.BUILDERS,
    **mbarriers.BUILDERS,
    **tensor.BUILDERS,
    **tensormaps.BUILDERS,
}
#: Between two arrays or variables, so that an index past the end hits nothing else.
_MOST_STATIC = 48 << 10
_GAP = 4096
_ALIGNMENT = 256
_CODE = 0x100_0000  # where functions are, for pointers to them


def _aligned(address: int, alignment: int) -> int:
    return -(-address // alignment) * alignment


@dataclass
class Image:
    """A module with one of its kernels: where everything is, and its functions, decoded at first use."""

    module: Module
    entry: Function
    text: str = ""  # what the module was read from
    symbols: dict[str, int] = field(default_factory=dict)
    spaces: dict[str, str] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)  # offsets of the kernel's
    parameter_size: int = 0
    parameter_start: int = GLOBAL_START
    static_shared: int = SHARED_START  # where dynamic shared memory begins
    shared_alignment: int = 16
    next_free: int = 0
    _programs: dict[str, Program] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, name in enumerate(self.module.functions):
            self.symbols[name] = _CODE + 16 * number
            self.functions[_CODE + 16 * number] = name
        for parameter in self.entry.parameters:
            offset = _aligned(self.parameter_size, parameter.align)
            self.parameters[parameter.name] = offset
            self.symbols[parameter.name] = self.parameter_start + offset
            self.parameter_size = offset + parameter.size
        self.next_free = _aligned(self.parameter_start + self.parameter_size + _GAP, _ALIGNMENT)
        variables = list(self.module.variables.values())
        for function in self.module.functions.values():
            for variable in function.variables:
                if variable.space != "shared" or function is self.entry or not function.entry:
                    variables.append(variable)  # other kernels' shared memory is theirs
        dynamic = []
        for variable in variables:
            if variable.space in ("global", "const"):
                self.symbols[variable.name] = self.reserve(variable.size)
            elif variable.space == "shared" and variable.count is None:
                dynamic.append(variable)
            elif variable.space == "shared":
                self.static_shared = _aligned(self.static_shared, variable.align)
                self.symbols[variable.name] = self.static_shared
                self.static_shared += variable.size
            self.spaces[variable.name] = variable.space
        static = self.static_shared - SHARED_START
        kernels = [function for function in self.module.functions.values() if function.entry]
        if static > _MOST_STATIC and len(kernels) == 1:  # which of several uses a variable, only ptxas knows
            raise PtxlabError(
                f"{plain_name(self.entry.name)} declares {static} bytes of shared memory; ptxas takes at "
                f"most {_MOST_STATIC}: make it dynamic (extern __shared__) and pass its size as shared="
            )
        self.shared_alignment = max([16, *(variable.align for variable in dynamic)])
        self.static_shared = _aligned(self.static_shared, self.shared_alignment)
        for variable in dynamic:
            self.symbols[variable.name] = self.static_shared

    def reserve(self, size: int) -> int:
        """An address for so many bytes of global memory."""
        start = self.next_free
        self.next_free = _aligned(start + size + _GAP, _ALIGNMENT)
        return start

    def variables(self) -> list[Buffer]:
        """The module's global and constant variables with their initial values."""
        buffers = []
        for variable in self.module.variables.values():
            if variable.space in ("global", "const"):
                buffers.append(self._buffer(variable))
        for function in self.module.functions.values():
            buffers += [
                self._buffer(variable)
                for variable in function.variables
                if variable.space in ("global", "const")
            ]
        return buffers

    def shared_variables(self, dynamic: int) -> list[tuple[str, int, int]]:
        """Names, addresses and sizes of the variables in shared memory."""
        functions = self.module.functions.values()
        variables = [*self.module.variables.values(), *(each for one in functions for each in one.variables)]
        return [
            (plain_name(each.name), self.symbols[each.name], dynamic if each.count is None else each.size)
            for each in variables
            if each.space == "shared" and each.name in self.symbols
        ]

    def _buffer(self, variable: Variable) -> Buffer:
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
        title = f"the variable {variable.name}"
        return Buffer(title, self.symbols[variable.name], data, variable.space == "global", variable.space)

    def program(self, name: str) -> Program:
        """A function's steps."""
        if name not in self._programs:
            function = self.module.functions.get(name)
            if function is None or not function.defined:
                raise PtxlabError(f"the function {name} is called, but it is not in the module")
            self._programs[name] = self._decoded(function)
        return self._programs[name]

    def _decoded(self, function: Function) -> Program:
        local: dict[str, int] = {}
        size = 0
        own = [variable for variable in function.variables if variable.space in ("local", "param")]
        if not function.entry:
            own += [each for each in (*function.parameters, *function.returns) if each.space == "param"]
        for variable in own:
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
            step = arithmetic.modified_selection(function.instructions[index], context, sources)
            steps[index] = replace(step, guard=steps[index].guard, negated=steps[index].negated)
        factors: dict[int, int] = {}  # product -> the first of two registers for its factors
        for product in dict.fromkeys(contraction.product for contraction in fused.values()):
            instruction = function.instructions[product]
            factors[product] = len(types)
            types += [UNSIGNED[type_bits(instruction.parts[-1]) or 32]] * 2
            steps[product] = arithmetic.product(instruction, context, factors[product])
        for index, contraction in fused.items():
            step = arithmetic.fused_sum(
                function.instructions[index], context, contraction, factors[contraction.product]
            )
            steps[index] = replace(step, guard=steps[index].guard, negated=steps[index].negated)
        return Program(function, tuple(steps), tuple(types), local, _aligned(size, 16))


def _step(instruction: Instruction, context: Context) -> Step:
    """An instruction, ready to execute; one that is not simulated is an error when a thread reaches it.

    One that the assembler refuses is an error at once, since it refuses the whole module.
    """
    check_legal(instruction, context.module)
    try:
        builder = BUILDERS.get(instruction.parts[0], arithmetic.scalar)
        step = builder(instruction, context)
    except IllegalError:
        raise
    except (PtxlabError, ValueError, IndexError) as error:
        reason = error if isinstance(error, PtxlabError) else PtxlabError(
            f"{instruction.where}: {instruction.opcode} has operands that are not understood"
        )  # fmt: skip
        step = Step(instruction, _refusal(reason))
    guard = instruction.guard
    if guard is not None:
        register = guard.operand if isinstance(guard, Negated) else guard
        if register.type != "pred":
            fault = f"{instruction.where}: {register.name} is .{register.type}; @ takes a predicate"
            return Step(instruction, _refusal(PtxlabError(fault)))
        step.guard, step.negated = register.index, isinstance(guard, Negated)
    return step


def _refusal(reason: PtxlabError) -> Any:
    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        raise reason

    return execute
