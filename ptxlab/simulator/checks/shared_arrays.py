"""Accesses to one array of shared memory that reach another.

An address that a kernel computes from the name of an array, by adding numbers, lies in that array: C++ leaves
anything else undefined. So a points-to analysis follows, through each function, which arrays a register may
point into. Only the final address counts, since compilers form others on the way. Where it cannot be known (a
pointer that was loaded or passed, a difference of two pointers, dynamic shared memory), nothing is checked.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..events import Access, Observer
from ..hazard import HazardLog, Violation
from ..instructions.loads import space_of
from ..launch_threads import Batch
from ..ptx.opcode_sets import ADDRESS_SUMS, ADDRESS_UNIONS
from ..ptx.syntax import Address, Function, PtxInstruction, PtxOperand, Register, Symbol, Vector, plain_name
from .doubtful_values import DoubtfulValues
from .module_plans import ModulePlans, SharedArray

#: What a register may hold, as bits; 0 is a number. From `_FIRST` up, each bit is an address in one array.
_LOADED = 1  # a number or an address from memory
_UNKNOWN = 2
_FIRST = 4
_VERBS = {"read": "read{s}", "write": "write{s}"}
#: Loads beyond an array are reported only if the loaded value matters.
_LOADS = ("ld", "ldu", "ldmatrix")
_ACCESSES = (*_LOADS, "st", "atom", "red", "stmatrix", "mbarrier")


class SharedArrays(Observer):
    """Looks for accesses that leave the array from whose name their address is computed."""

    def __init__(
        self,
        report: HazardLog,
        values: DoubtfulValues,
        plans: ModulePlans,
        arrays: Mapping[str, tuple[int, int]],
    ) -> None:
        self._report = report
        self._values = values
        self._plans = plans
        self._arrays = [SharedArray(name, *ends) for name, ends in arrays.items()]

    def begin(self, batch: Batch) -> None:
        """A batch starts."""
        self._batch = batch

    def accessed(self, access: Access) -> None:
        """Compare the addresses of an access with the arrays that it may be for."""
        if access.space != "shared" or not self._arrays:
            return
        if access.kind == "mbarrier" and access.instruction.parts[0] != "mbarrier":
            return  # another operand
        limits = self._plans.arrays_of.get(id(access.instruction))
        if limits is None:
            limits = self._find_limits(access.instruction)
        if not limits or access.buffer_accesses[0].notes.get("within") is limits:
            return
        addresses, width = access.addresses, access.width
        first, last = int(addresses.min()), int(addresses.max())
        if not any(array.start <= first and last <= array.end - width for array in limits):
            inside = np.zeros(len(addresses), dtype=np.bool_)
            for array in limits:
                inside |= (addresses >= array.start) & (addresses <= array.end - width)
            if not inside.all():
                self._report_outside(access, np.flatnonzero(~inside), limits)
                return
        access.buffer_accesses[0].notes["within"] = limits

    def _find_limits(self, instruction: PtxInstruction) -> tuple[SharedArray, ...]:
        """The arrays that an instruction may access; none if it is not known."""
        owner = self._plans.owners.get(id(instruction))
        if owner is not None:
            self._plans.arrays_of |= _limits(owner.function, self._arrays)
        return self._plans.arrays_of.setdefault(id(instruction), ())

    def _report_outside(
        self, access: Access, outside: NDArray[np.intp], limits: tuple[SharedArray, ...]
    ) -> None:
        start = int(access.addresses[outside[0]])
        last = start + access.width - 1
        nearest = min(limits, key=lambda array: abs(start - array.start))
        name, offset = plain_name(nearest.name), start - nearest.start
        place = f"byte {offset} of {name}" if offset >= 0 else f"the byte {-offset} before {name}"
        size = nearest.end - nearest.start
        beyond = next((array for array in self._arrays if array.start <= last and start < array.end), None)
        other = "" if beyond is None or beyond in limits else f", in {plain_name(beyond.name)}"
        violation = Violation(
            "out of bounds", access.instruction, access.threads[outside],
            f"{{who}} {_VERBS.get(access.kind, 'update{s}')} {access.width} bytes at {place}, which has "
            f"{size} bytes{other}",
            space="shared", addresses=(start, last),
        )  # fmt: skip
        if access.instruction.parts[0] in _LOADS:
            self._values.doubt(violation)
        else:
            self._report.add(self._batch, violation)


# -- which arrays an address may be in -----------------------------------------------------------------------


def _limits(function: Function, arrays: list[SharedArray]) -> dict[int, tuple[SharedArray, ...]]:
    """For each access to shared memory in a function the arrays that it is for; none if it is not known."""
    symbols = {array.name: _FIRST << number for number, array in enumerate(arrays)}
    parameters = {parameter.name for parameter in function.parameters} if function.entry else set()
    points_to = [0] * len(function.registers)
    readers: dict[int, list[PtxInstruction]] = {}
    for instruction in function.instructions:
        for register in instruction.registers[0]:
            readers.setdefault(register.index, []).append(instruction)
    worklist = list(reversed(function.instructions))
    while worklist:
        instruction = worklist.pop()
        written = instruction.registers[1]
        value = _transfer(instruction, points_to, symbols, parameters) if written else 0
        for register in written:
            if value | points_to[register.index] != points_to[register.index]:
                points_to[register.index] |= value
                worklist += readers.get(register.index, ())
    limits = {}
    for instruction in function.instructions:
        target = _target(instruction)
        value = _UNKNOWN if target is None else _operand_points_to(target.base, points_to, symbols)
        is_known = value >= _FIRST and not value & (_LOADED | _UNKNOWN)
        limits[id(instruction)] = tuple(array for array in arrays if is_known and value & symbols[array.name])
    return limits


def _target(instruction: PtxInstruction) -> Address | None:
    """The address of an access that may be to shared memory; None for other instructions."""
    parts = instruction.parts
    addresses = [operand for operand in instruction.operands if isinstance(operand, Address)]
    if parts[:2] == ("cp", "async") and "mbarrier" not in parts:
        spaces = [part.partition("::")[0] for part in parts if part.startswith(("shared", "global"))]
        if spaces.count("shared") != 1:  # between blocks
            return None
        return addresses[spaces.index("shared")]
    if parts[0] not in _ACCESSES or space_of(instruction) not in ("", "shared"):
        return None
    return addresses[0] if addresses else None


def _operand_points_to(operand: PtxOperand, points_to: list[int], symbols: dict[str, int]) -> int:
    """What an operand may hold."""
    if isinstance(operand, Register):
        return 0 if operand.type == "pred" else points_to[operand.index]
    return symbols.get(operand.name, 0) if isinstance(operand, Symbol) else 0


def _transfer(
    instruction: PtxInstruction, points_to: list[int], symbols: dict[str, int], parameters: set[str]
) -> int:
    """What the result of an instruction may hold: the transfer function of the analysis."""
    name = instruction.parts[0]
    operands = instruction.operands[1:]
    if any(isinstance(operand, Vector) for operand in instruction.operands) and name == "mov":
        values = [points_to[register.index] for register in instruction.registers[0]]
        return _UNKNOWN if any(values) else 0
    if name == "ld" and isinstance(operands[0], Address) and isinstance(operands[0].base, Symbol):
        return 0 if operands[0].base.name in parameters else _LOADED
    values = [_operand_points_to(operand, points_to, symbols) for operand in operands]
    if name == "shfl":
        return values[0]
    if name in ADDRESS_UNIONS:
        return _union(values)
    if name in ADDRESS_SUMS:
        addresses = sum(value >= _FIRST for value in values)
        return _union(values) | (_UNKNOWN if addresses > 1 else 0)
    if name == "sub":
        return values[0] | (_UNKNOWN if values[1] >= _FIRST else values[1])
    if name == "mad":
        return _scaled(values[:2]) | values[2]
    return _scaled(values) if instruction.is_arithmetic else _LOADED


def _union(values: list[int]) -> int:
    result = 0
    for value in values:
        result |= value
    return result


def _scaled(values: list[int]) -> int:
    """What becomes of values that are multiplied or shifted: a number, unless one of them is an address."""
    return _UNKNOWN if any(value & ~_LOADED for value in values) else 0
