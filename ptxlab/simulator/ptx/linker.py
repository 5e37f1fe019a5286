"""Several PTX modules -> one `Module`, as a linker joins them. PTX ISA, "Linking Directives"."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from ...errors import PtxlabError, error_prefix, listing
from ...isa.targets import TARGETS, assembles_for
from .reader import read_ptx
from .syntax import (
    BUILT_IN,
    Address,
    Function,
    Module,
    OperandList,
    Pair,
    PtxOperand,
    SourceLocation,
    Symbol,
    Variable,
    Vector,
    outermost,
    symbols_of,
)

#: Variables that the whole module sees even where a function declares them.
_MODULE_SPACES = ("global", "const", "shared")


def joined(texts: Sequence[str]) -> str:
    """The texts one after the other; lines of linked modules are counted in this text."""
    return "\n".join(texts)


def read_modules(texts: Sequence[str]) -> Module:
    """The first module, with the functions and variables that the others define.

    `.visible` and `.weak` definitions are seen by all modules. A definition without such a directive is seen
    by its own module only, and is renamed if another module uses the name. Kernels of the other modules are
    left out.
    """
    modules = [read_ptx(texts[0])]
    for number, text in enumerate(texts[1:]):
        with error_prefix(f"link[{number}]"):
            modules.append(read_ptx(text))
        target, other = modules[0].target, modules[-1].target
        if {target, other} <= set(TARGETS) and not assembles_for(other, target):
            raise PtxlabError(
                f"link[{number}] says .target {other}, which the assembler does not take for the kernel's, "
                f"{target}"
            )
    if len(modules) == 1:
        return replace(modules[0], functions=_at_their_calls(modules[0].functions))
    owners = _owners(modules)
    functions: dict[str, Function] = {}
    variables: dict[str, Variable] = {}
    line = 0
    for number, module in enumerate(modules):
        elsewhere = {name for other in modules if other is not module for name in _names(other)}
        seen = {name for name, owner in owners.items() if owner == number}
        renames = {
            name: f"{name}'{number}"
            for name in _names(module)
            if number and name in elsewhere and name not in seen and _is_local(module, name)
        }
        for function in module.functions.values():
            keeps = function.defined and owners.get(function.name, number) == number
            if keeps and not (number and function.entry):
                moved = _moved(function, renames, line)
                functions[moved.name] = moved
        for variable in module.variables.values():
            is_dynamic = variable.space == "shared" and variable.count is None
            if is_dynamic or (variable.defined and owners.get(variable.name, number) == number):
                shifted = _renamed_variable(variable, renames, line)
                variables.setdefault(shifted.name, shifted)
        line += texts[number].count("\n") + 1
    _check_resolved(modules, functions, variables)
    declared = {name: function for module in modules for name, function in module.functions.items()}
    functions |= {name: declared[name] for name in BUILT_IN if name in declared}
    first = modules[0]
    version = max(module.version for module in modules)
    return replace(first, version=version, functions=_at_their_calls(functions), variables=variables)


def _at_their_calls(functions: dict[str, Function]) -> dict[str, Function]:
    """Functions with code from other files than the caller's placed at their first call, as if inlined."""
    inlined = {
        name: function for name, function in functions.items() if function.entry or not function.instructions
    }
    if len(inlined) == len(functions):
        return functions
    worklist = deque(inlined.values())
    while worklist:
        for call in worklist.popleft().instructions:
            if call.parts[0] != "call":
                continue
            for operand in call.operands:
                if isinstance(operand, Symbol) and operand.name in functions and operand.name not in inlined:
                    inlined[operand.name] = _called_at(functions[operand.name], call.location)
                    worklist.append(inlined[operand.name])
    return functions | inlined


def _called_at(function: Function, call: SourceLocation | None) -> Function:
    """The function with its code placed at a call in another file."""
    files = {
        outermost(instruction.location).file
        for instruction in function.instructions
        if instruction.location is not None
    }
    if call is None or files <= {outermost(call).file}:
        return function

    @cache
    def inlined(location: SourceLocation) -> SourceLocation:
        outer = location.inlined_at
        return replace(location, inlined_at=call if outer is None else inlined(outer))

    return replace(
        function,
        instructions=tuple(
            instruction
            if instruction.location is None
            else replace(instruction, location=inlined(instruction.location))
            for instruction in function.instructions
        ),
    )


def _owners(modules: Sequence[Module]) -> dict[str, int]:
    """Which module's definition of a name counts for all of them."""
    owners: dict[str, int] = {}
    strong: dict[str, int] = {}
    for number, module in enumerate(modules):
        for item in _items(module):
            is_linked_kernel = isinstance(item, Function) and item.entry and number > 0
            if not item.defined or not item.linkage or is_linked_kernel:
                continue
            owners.setdefault(item.name, number)
            if item.linkage == "visible":
                if item.name in strong:
                    first, second = (_title(position) for position in (strong[item.name], number))
                    raise PtxlabError(f"{item.name} is defined twice: in {first} and in {second}")
                owners[item.name] = strong[item.name] = number
    return owners


def _items(module: Module) -> list[Function | Variable]:
    return [*module.functions.values(), *module.variables.values()]


def _title(number: int) -> str:
    return f"link[{number - 1}]" if number else "the source"


def _names(module: Module) -> Iterator[str]:
    """All names with module scope."""
    yield from module.functions
    yield from module.variables
    for function in module.functions.values():
        for variable in function.variables:
            if variable.space in _MODULE_SPACES:
                yield variable.name


def _is_local(module: Module, name: str) -> bool:
    """Whether only its own module sees a name."""
    item = module.functions.get(name) or module.variables.get(name)
    if isinstance(item, Function):
        return item.defined and not item.linkage
    return item is None or not (item.linkage or item.count is None)


def _moved(function: Function, renames: Mapping[str, str], line: int) -> Function:
    """The function with renamed symbols, and with its lines after those of earlier modules."""
    declared = {variable.name for variable in (*function.returns, *function.parameters, *function.variables)}
    module_names = {variable.name for variable in function.variables if variable.space in _MODULE_SPACES}
    names = {old: new for old, new in renames.items() if old not in declared or old in module_names}
    instructions = tuple(
        replace(
            instruction,
            operands=tuple(_renamed(item, names) for item in instruction.operands),
            line=instruction.line + line,
        )
        for instruction in function.instructions
    )
    return replace(
        function,
        name=renames.get(function.name, function.name),
        variables=tuple(_renamed_variable(variable, names, line) for variable in function.variables),
        instructions=instructions,
    )


def _renamed_variable(variable: Variable, names: Mapping[str, str], line: int) -> Variable:
    values = variable.values
    if values is not None:
        values = tuple(
            replace(value, name=names.get(value.name, value.name)) if isinstance(value, Symbol) else value
            for value in values
        )
    name = names.get(variable.name, variable.name)
    return replace(variable, name=name, values=values, line=variable.line + line)


def _renamed(operand: PtxOperand, names: Mapping[str, str]) -> PtxOperand:
    if not names:
        return operand
    if isinstance(operand, Symbol):
        return replace(operand, name=names.get(operand.name, operand.name))
    if isinstance(operand, Address) and isinstance(operand.base, Symbol):
        return replace(
            operand, base=replace(operand.base, name=names.get(operand.base.name, operand.base.name))
        )
    if isinstance(operand, Vector | OperandList):
        return replace(operand, items=tuple(_renamed(item, names) for item in operand.items))
    if isinstance(operand, Pair):
        return Pair(_renamed(operand.first, names), _renamed(operand.second, names))
    return operand


def _check_resolved(
    modules: Sequence[Module], functions: Mapping[str, Function], variables: Mapping[str, Variable]
) -> None:
    """Refuse names that are used and declared but not defined."""
    declared = {item.name for module in modules for item in _items(module) if not item.defined}
    used = {
        symbol.name
        for function in functions.values()
        for instruction in function.instructions
        for operand in instruction.operands
        for symbol in symbols_of(operand)
    }
    missing = sorted((used & declared).difference(functions, variables, BUILT_IN))
    if missing:
        raise PtxlabError(
            f"no module defines {listing(missing)}: link= takes the PTX modules that do, where it is .visible"
        )
