"""Arithmetic, logic, comparison and conversion: `ptxlab.numerics.scalar` on the registers of all threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.availability import accepted
from ...numerics.scalar import names, operation
from ...numerics.scalar.approximations import DIVISIONS, division, division_factors
from ..launch_threads import UNSIGNED, Threads
from ..machine import Frame, Machine, MachineStep
from ..ptx.opcode_sets import NOT_SIMULATED
from ..ptx.ptxas import Contraction, Modified, Rotation, SignFill
from ..ptx.syntax import Pair, PtxInstruction, PtxOperand, Register, Vector, type_bits
from .builders import BUILDERS, Context, IllegalError, builds, unsupported
from .operands import Read, Write, bits_of, check_type, pair_of, reader, readers, writer, writers

_WITH_CARRY = ("addc", "subc", "madc")


def scalar(instruction: PtxInstruction, context: Context) -> MachineStep:
    """An instruction of `ptxlab.numerics.scalar`."""
    scalar_operation = operation(instruction.opcode)
    if scalar_operation is None:
        name = instruction.parts[0]
        if name in {*names(), *(parts[0] for parts in BUILDERS), *NOT_SIMULATED}:
            raise unsupported(instruction)
        raise IllegalError(f"{instruction.where}: PTX has no instruction {name}")
    destination, *sources = instruction.operands
    parts = instruction.parts
    if "rs" in parts and isinstance(sources[0], Vector):
        sources[:1] = sources[0].items
    carries = "cc" in parts or parts[0] in _WITH_CARRY
    least = len(scalar_operation.sources) - scalar_operation.optional - (parts[0] in _WITH_CARRY)
    if not least <= len(sources) <= len(scalar_operation.sources):
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes {least} sources")
    count = len(scalar_operation.results)
    if isinstance(destination, Pair) and count == 1:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} has one result, found two")
    for operands, types in (
        (pair_of(destination), scalar_operation.registers[:count]),
        (sources, scalar_operation.registers[count:]),
    ):
        for operand, type_name in zip(operands, types, strict=False):
            if isinstance(operand, Register):
                check_type(operand, instruction, accepted(type_name))
    reads = tuple(
        _reader(source, bits_of(dtype), instruction, context)
        for source, dtype in zip(sources, scalar_operation.sources, strict=False)
    )
    function = scalar_operation.function
    if instruction.opcode in DIVISIONS and context.is_constant(sources[1]):
        function = division(instruction.opcode, constant=True)
    if carries:
        return _with_carry(instruction, function, reads, writer(destination, instruction))
    if isinstance(destination, Pair) or len(scalar_operation.results) > 1:
        return _two_results(instruction, function, reads, destination)
    kind = next((part for part in parts[1:] if type_bits(part) is not None), "")
    write = writer(destination, instruction, kind.startswith("s"))
    return _plain(instruction, context, function, reads, write)


def _plain(
    instruction: PtxInstruction,
    context: Context,
    function: Callable[..., NDArray[Any]],
    reads: tuple[Read, ...],
    write: Write,
) -> MachineStep:
    """A function of registers."""
    index = instruction.index

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        write(frame, threads, function(*[read(machine, frame, threads) for read in reads]))

    def execute_cached(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = [read(machine, frame, threads) for read in reads]
        write(frame, threads, frame.apply(index, function, threads, *values))

    return MachineStep(instruction, execute_cached if index in context.repeated else execute)


# -- products that are fused into sums -----------------------------------------------------------------------

_SIGNS = {"f16": 0x8000, "bf16": 0x8000, "f16x2": 0x8000_8000, "bf16x2": 0x8000_8000,
          "f32": 1 << 31, "f64": 1 << 63}  # fmt: skip


def product(instruction: PtxInstruction, context: Context, place: int) -> MachineStep:
    """A product; its factors are kept in registers `place` and `place + 1` for the sums it is fused into."""
    destination, *sources = instruction.operands
    bits = type_bits(instruction.parts[-1]) or 32
    left, right = readers(sources, bits, instruction, context)
    write = writer(destination, instruction)
    scalar_operation = operation(instruction.opcode)
    if scalar_operation is None:
        raise unsupported(instruction)
    multiply, factors = scalar_operation.function, None
    if instruction.opcode in DIVISIONS:
        constant = context.is_constant(sources[1])
        multiply = division(instruction.opcode, constant)
        factors = division_factors(instruction.opcode, constant)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        a, b = left(machine, frame, threads), right(machine, frame, threads)
        write(frame, threads, multiply(a, b))
        if factors is not None:
            a, b = factors(a, b)
        frame.write(place, threads, a)
        frame.write(place + 1, threads, b)

    return MachineStep(instruction, execute)


def fused_sum(
    instruction: PtxInstruction, context: Context, contraction: Contraction, place: int
) -> MachineStep:
    """An `add` or `sub` that ptxas turns into an `fma`, with the factors that `product` has kept."""
    destination, *sources = instruction.operands
    name, *qualifiers = instruction.parts
    bits = type_bits(qualifiers[-1]) or 32
    addend = reader(sources[1 - contraction.position], bits, instruction, context)
    write = writer(destination, instruction)
    scalar_operation = operation(".".join(["fma", "rn", *qualifiers]))
    if scalar_operation is None:
        raise unsupported(instruction)
    function = scalar_operation.function
    sign, zero = UNSIGNED[bits].type(_SIGNS[qualifiers[-1]]), UNSIGNED[bits].type(0)
    subtracts_product = name == "sub" and contraction.position == 1
    product_sign = sign if contraction.negative != subtracts_product else zero
    addend_sign = sign if name == "sub" and contraction.position == 0 else zero

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        a, b = frame.read(place, threads), frame.read(place + 1, threads)
        c = addend(machine, frame, threads)
        write(frame, threads, function(a ^ product_sign, b, c ^ addend_sign))

    return MachineStep(instruction, execute)


def assembled(step: MachineStep, context: Context, fault: Rotation | SignFill) -> MachineStep:
    """An instruction that assemblers get wrong: with `assembled=True` it gives what their code gives."""
    instruction, execute_ptx = step.instruction, step.execute
    destination, *sources = instruction.operands
    count, bits = (2, 64) if isinstance(fault, Rotation) else (1, 32)
    reads = readers(sources[:count], bits, instruction, context)
    write = writer(destination, instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        operands = [read(machine, frame, threads) for read in reads]
        if execute_ptx is not None:
            execute_ptx(machine, frame, threads)  # the carry is that of the sum
        if machine.launch.assembled:
            write(frame, threads, fault.computed(*operands))

    return replace(step, execute=execute)


def _two_results(
    instruction: PtxInstruction,
    function: Callable[..., Any],
    reads: tuple[Read, ...],
    destination: PtxOperand,
) -> MachineStep:
    """``p|q``; the second may be left out."""
    write_first, write_second = (writer(item, instruction) for item in pair_of(destination))

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        first, second = function(*[read(machine, frame, threads) for read in reads])
        write_first(frame, threads, first)
        write_second(frame, threads, second)

    return MachineStep(instruction, execute)


def _reader(operand: PtxOperand, bits: int, instruction: PtxInstruction, context: Context) -> Read:
    """As `reader`; a vector operand is one register of the joined width."""
    if isinstance(operand, Vector):
        return _joined(operand, bits, instruction, context)
    return reader(operand, bits, instruction, context)


def _with_carry(
    instruction: PtxInstruction, function: Callable[..., Any], reads: tuple[Read, ...], write: Write
) -> MachineStep:
    carry_in, carry_out = instruction.parts[0] in _WITH_CARRY, "cc" in instruction.parts
    # The flag is the adder's: a subtraction that borrows leaves 0. Code that follows `sub.cc` with `addc`
    # relies on that.
    subtracts = instruction.parts[0].startswith("sub")

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = [read(machine, frame, threads) for read in reads]
        if frame.carry is None:
            frame.carry = np.zeros(machine.batch.size, dtype=np.bool_)
        if carry_in:
            values.append(threads.take(frame.carry) ^ subtracts)
        result = function(*values)
        if isinstance(result, tuple):
            result, carry = result
            if carry_out:
                frame.carry = frame.carry.copy()
                frame.carry[threads.indices] = carry ^ subtracts
        write(frame, threads, result)

    return MachineStep(instruction, execute)


# -- mov -----------------------------------------------------------------------------------------------------


def _joined(operand: Vector, bits: int, instruction: PtxInstruction, context: Context) -> Read:
    """Registers of a vector as one of `bits` bits, the first in the lowest bits."""
    widths = [type_bits(item.type) or 0 for item in operand.items if isinstance(item, Register)]
    width = next((width for width in widths if width), 0)
    if not width:
        raise unsupported(instruction, f"{instruction.opcode} of constants")
    total = width * len(operand.items)
    if total != bits:
        raise PtxlabError(
            f"{instruction.where}: {instruction.opcode} takes {bits} bits here, found registers of {total}"
        )
    if total not in UNSIGNED:
        raise unsupported(instruction, f"a register of {total} bits")
    dtype = UNSIGNED[total]
    reads = tuple(reader(item, width, instruction, context) for item in operand.items)

    def read(machine: Machine, frame: Frame, threads: Threads) -> NDArray[Any]:
        values = np.stack([source(machine, frame, threads) for source in reads], axis=-1)
        return values.view(dtype)[:, 0]

    return read


@builds("mov")
def _mov(instruction: PtxInstruction, context: Context) -> MachineStep:
    destination, source = instruction.operands
    bits = type_bits(instruction.parts[-1])
    if bits is None:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} lacks a type, such as .u32")
    read = _reader(source, bits, instruction, context)
    writes = writers(destination, instruction)
    if not isinstance(destination, Vector):
        (write,) = writes

        def copy(machine: Machine, frame: Frame, threads: Threads) -> None:
            write(frame, threads, read(machine, frame, threads))

        return MachineStep(instruction, copy)
    width = bits // len(writes)
    if width not in UNSIGNED:
        raise unsupported(instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = np.ascontiguousarray(read(machine, frame, threads)).view(UNSIGNED[width])
        for number, write in enumerate(writes):
            write(frame, threads, values[number :: len(writes)].copy())

    return MachineStep(instruction, execute)


@builds("selp")
def selection(
    instruction: PtxInstruction,
    context: Context,
    modified: tuple[Modified | None, Modified | None] = (None, None),
) -> MachineStep:
    """A `selp`; one of f32 may change the signs of its sources itself, so that a NaN keeps its bits."""
    destination, *operands, predicate = instruction.operands
    first, second = (
        _modified(source, operand, instruction, context)
        for operand, source in zip(operands, modified, strict=True)
    )
    holds = reader(predicate, 1, instruction, context)
    return _plain(instruction, context, np.where, (holds, first, second), writer(destination, instruction))


def _modified(
    source: Modified | None, operand: PtxOperand, instruction: PtxInstruction, context: Context
) -> Read:
    if source is None:
        return reader(operand, type_bits(instruction.parts[-1]) or 32, instruction, context)
    read = reader(source.register, 32, instruction, context)
    sign = np.uint32(1 << 31)
    if source.kind == "neg":
        return lambda machine, frame, threads: read(machine, frame, threads) ^ sign
    return lambda machine, frame, threads: read(machine, frame, threads) & ~sign


_PREDICATE_LOGIC: dict[str, Callable[..., NDArray[Any]]] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not, "mov": np.copy,
}  # fmt: skip


@builds(*(f"{name}.pred" for name in _PREDICATE_LOGIC))
def _predicate_logic(instruction: PtxInstruction, context: Context) -> MachineStep:
    destination, *sources = instruction.operands
    function = _PREDICATE_LOGIC[instruction.parts[0]]
    reads = readers(sources, 1, instruction, context)
    if len(reads) != (1 if instruction.parts[0] in ("not", "mov") else 2):
        raise ValueError(instruction.opcode)
    return _plain(instruction, context, function, reads, writer(destination, instruction))
