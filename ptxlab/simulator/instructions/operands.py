"""Operands of instructions as functions that read or write them for a set of threads."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.availability import accepted, fits
from ..launch_threads import UNSIGNED, Threads
from ..machine import Frame, Machine, MachineStep
from ..ptx.syntax import (
    Address,
    Immediate,
    Negated,
    Pair,
    PtxInstruction,
    PtxOperand,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
    type_bits,
)
from .builders import Context, IllegalError, unsupported

Read = Callable[[Machine, Frame, Threads], NDArray[Any]]
Write = Callable[[Frame, Threads, NDArray[Any]], None]


#: Instructions whose registers may be wider than their type; values are truncated or extended (PTX ISA,
#: "Operand Size Exceeding Instruction-Type Size").
_WIDER = frozenset({"cvt", "ld", "ldu", "st"})


def reader(
    operand: PtxOperand, bits: int, instruction: PtxInstruction, context: Context, letters: str | None = None
) -> Read:
    """A function that reads an operand as `bits` bits; a wider register is truncated if PTX allows that.

    `letters` are those of `isa.availability.accepted`, if they do not follow from the instruction's type.
    """
    if isinstance(operand, Register):
        check_type(operand, instruction, letters)
        _check_width(operand, bits, instruction)
        return _register_reader(operand, bits)
    if isinstance(operand, Negated):
        _check_width(operand.operand, bits, instruction)
        negated = operand.operand.index
        return lambda machine, frame, threads: ~frame.read(negated, threads)
    if isinstance(operand, Immediate):
        _check_immediate(operand, bits, instruction)
        value = _immediate_bits(operand, bits)
        dtype = UNSIGNED[bits]
        return lambda machine, frame, threads: threads.constant(value, dtype)
    if isinstance(operand, Special):
        if instruction.parts[0] not in ("mov", "cvt"):
            raise PtxlabError(
                f"{instruction.where}: {instruction.opcode} takes no special register; move {operand.name} "
                "into a register of its own with mov"
            )
        name = operand.name
        dtype = UNSIGNED[bits]

        def special(machine: Machine, frame: Frame, threads: Threads) -> NDArray[Any]:
            values = threads.take(machine.special(name))
            return values if values.dtype == dtype else values.astype(dtype)

        return special
    if isinstance(operand, Symbol):
        return _symbol_reader(operand, bits, instruction, context)
    raise PtxlabError(f"{instruction.where}: {instruction.opcode} does not take this kind of operand")


#: Instructions whose operands have the type that their opcode ends with.
_OF_LAST_TYPE = frozenset({"ld", "ldu", "st", "atom", "red", "mov", "selp"})
_KINDS = {"bsu": "an integer", "bf": "a float", "b": "a register of bits (.b16, .b32, .b64)"}


def _letters(instruction: PtxInstruction) -> str:
    """The kinds of registers that an instruction takes unless an operand says otherwise."""
    if instruction.parts[0] in _OF_LAST_TYPE:
        in_vectors = not {"v2", "v4", "v8"}.isdisjoint(instruction.parts)  # ptxas does not check these
        return accepted("b32" if in_vectors else instruction.parts[-1])
    types = [part for part in instruction.parts[1:] if type_bits(part) is not None]
    return accepted("s32") if types and all(part[0] in "su" for part in types) else accepted("b32")


def check_type(register: Register, instruction: PtxInstruction, letters: str | None = None) -> None:
    """Refuse a register of a type that the operand does not take (PTX ISA, "Operand Type Checking Rules")."""
    letters = _letters(instruction) if letters is None else letters
    if not fits(register.type, letters):
        kind = _KINDS[letters]
        raise IllegalError(
            f"{instruction.where}: {instruction.opcode} takes {kind} here, and {register.name} is "
            f".{register.type}"
        )


#: Instructions whose constants are of their type, or of their last one.
_TYPED_CONSTANTS = frozenset({
    "abs", "add", "and", "atom", "bfe", "bfi", "bfind", "brev", "clz", "copysign", "cos", "cvt", "div", "ex2",
    "fma", "lg2", "lop3", "mad", "max", "min", "mov", "mul", "neg", "not", "or", "popc", "prmt", "rcp", "red",
    "redux", "rem", "rsqrt", "sad", "selp", "set", "setp", "shf", "shfl", "shl", "shr", "sin", "slct", "sqrt",
    "st", "sub", "tanh", "testp", "xor",
})  # fmt: skip


def _check_immediate(immediate: Immediate, bits: int, instruction: PtxInstruction) -> None:
    """Floats have a decimal point or begin with 0f or 0d, integers do not (PTX ISA, "Constants")."""
    parts = instruction.parts
    if parts[0] not in _TYPED_CONSTANTS or bits == 1:
        return
    types = [part for part in parts[1:] if type_bits(part) is not None]
    if parts[0] in ("cvt", "set"):
        types = types[-1:]
    elif parts[0] == "redux" and immediate is instruction.operands[-1]:
        types = ["b32"]  # the mask, also of floats
    if not types:
        return
    if immediate.type == "int":
        takes = any(part[0] in "bsu" and not part.startswith("bf") for part in types)
    else:
        bit_type = "b32" if immediate.type == "f32" else "b64"
        takes = any(part in ("f32", "f64", bit_type) for part in types) or "v2" in parts or "v4" in parts
    if takes:
        return
    found, expected = "a whole number", "a float such as 1.0 or 0f3F800000"
    if immediate.type != "int":
        found, expected = "a float", "a whole number"
    if all(part.startswith(("f16", "bf")) for part in types):
        expected = "a register"
    raise PtxlabError(f"{instruction.where}: {instruction.opcode}: found {found} where {expected} belongs")


def _check_width(register: Register, bits: int, instruction: PtxInstruction) -> None:
    width = type_bits(register.type)
    may_be_wider = instruction.parts[0] in _WIDER and width is not None and width >= bits > 1
    if bits == 8 and "bf16" in instruction.parts:  # ptxas takes these only from registers of 8 bits
        may_be_wider = False
    if width != bits and not may_be_wider:
        raise _width_error(register, bits, instruction)


def _width_error(register: Register, bits: int, instruction: PtxInstruction) -> PtxlabError:
    width = "of type .pred" if bits == 1 else f"of {bits} bits"
    return PtxlabError(
        f"{instruction.where}: {instruction.opcode} takes a register {width} here, and {register.name} is "
        f".{register.type}"
    )


def bits_of(dtype: np.dtype[Any]) -> int:
    """Bits of a register whose values have this type."""
    return 1 if dtype == np.bool_ else 8 * dtype.itemsize


def _register_reader(operand: Register, bits: int) -> Read:
    index = operand.index
    if type_bits(operand.type) in (bits, 1):
        return lambda machine, frame, threads: frame.read(index, threads)
    dtype = UNSIGNED[bits]
    return lambda machine, frame, threads: frame.read(index, threads).astype(dtype)


def _symbol_reader(operand: Symbol, bits: int, instruction: PtxInstruction, context: Context) -> Read:
    dtype = UNSIGNED[bits]
    if instruction.parts[0] != "mov" and instruction.parts[0] in _TYPED_CONSTANTS:
        raise PtxlabError(
            f"{instruction.where}: {instruction.opcode} takes no variable; move the address of "
            f"{operand.name} into a register with mov"
        )
    if operand.name in context.local:
        offset = context.local[operand.name] + operand.offset
        return lambda machine, frame, threads: threads.constant(frame.base + offset, dtype)
    value = as_symbol(operand, instruction, context) & (1 << bits) - 1
    return lambda machine, frame, threads: threads.constant(value, dtype)


def as_symbol(operand: Symbol, instruction: PtxInstruction, context: Context) -> int:
    """The address of a symbol in its own space."""
    if operand.name not in context.symbols:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode}: there is no variable {operand.name}")
    return context.symbols[operand.name] + operand.offset


def _immediate_bits(immediate: Immediate, bits: int) -> int:
    if bits == 1:
        return int(immediate.value != 0)
    if (immediate.type == "decimal" and bits != 64) or (immediate.type == "f64" and bits == 32):
        value = struct.unpack("<d", struct.pack("<Q", immediate.value))[0]
        return int.from_bytes(struct.pack("<f" if bits == 32 else "<e", value), "little")
    if immediate.type == "f32" and bits == 64:
        value = struct.unpack("<f", struct.pack("<I", immediate.value))[0]
        return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    return immediate.value & (1 << bits) - 1


def readers(
    operands: Sequence[PtxOperand],
    bits: int,
    instruction: PtxInstruction,
    context: Context,
    letters: str | None = None,
) -> tuple[Read, ...]:
    """Readers of several operands of equal width."""
    return tuple(reader(operand, bits, instruction, context, letters) for operand in operands)


def _as_address(number: int) -> int:
    """A 64-bit number as int64 represents it."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def address(operand: PtxOperand, instruction: PtxInstruction, context: Context) -> Read:
    """A function that reads the address of ``[base + offset]``, as int64."""
    if not isinstance(operand, Address):
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes an address in brackets")
    base = operand.base
    offset = _as_address(operand.offset)
    if isinstance(base, Symbol) and base.name in context.local:
        offset += context.local[base.name]
        return lambda machine, frame, threads: threads.constant(frame.base + offset, np.dtype(np.int64))
    if isinstance(base, Symbol | Immediate):
        start = as_symbol(base, instruction, context) if isinstance(base, Symbol) else base.value
        fixed = _as_address(offset + start)
        return lambda machine, frame, threads: threads.constant(fixed, np.dtype(np.int64))
    if base.type[0] not in "bsu":
        raise PtxlabError(f"{instruction.where}: {base.name} is .{base.type}; an address is an integer")
    index = base.index

    def place(values: NDArray[Any]) -> NDArray[Any]:
        places = values.astype(np.int64)
        return places + offset if offset else places

    def read(machine: Machine, frame: Frame, threads: Threads) -> NDArray[Any]:
        return place(frame.read(index, threads))

    def read_cached(machine: Machine, frame: Frame, threads: Threads) -> NDArray[Any]:
        return frame.apply((index, offset), place, threads, frame.read(index, threads))

    return read_cached if instruction.index in context.repeated else read


def writer(
    operand: PtxOperand, instruction: PtxInstruction, signed: bool = False, letters: str | None = None
) -> Write:
    """A function that writes a result into a register; a narrower result is extended if PTX allows that."""
    if isinstance(operand, Sink):
        return lambda frame, threads, values: None
    if not isinstance(operand, Register):
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes a register for its result")
    check_type(operand, instruction, letters)
    index = operand.index
    bits = type_bits(operand.type) or 32
    if bits not in UNSIGNED:
        raise unsupported(instruction, f"a register of {bits} bits")
    dtype = UNSIGNED[bits]
    extends = instruction.parts[0] in _WIDER and bits > 1

    def write(frame: Frame, threads: Threads, values: NDArray[Any]) -> None:
        if values.dtype != dtype:
            width = bits_of(values.dtype)
            if width != bits and not (extends and 1 < width < bits):
                raise _width_error(operand, width, instruction)
            values = _extended(values, dtype, signed)
        frame.write(index, threads, values)

    return write


def _extended(values: NDArray[Any], dtype: np.dtype[Any], signed: bool) -> NDArray[Any]:
    if signed and values.dtype.itemsize < dtype.itemsize:
        narrow = np.dtype(f"i{values.dtype.itemsize}")
        return values.view(narrow).astype(f"i{dtype.itemsize}").view(dtype)
    return values.astype(dtype)


def items_of(operand: PtxOperand) -> tuple[PtxOperand, ...]:
    """The elements of a vector, or the operand itself if it is not a vector."""
    return operand.items if isinstance(operand, Vector) else (operand,)


def writers(operand: PtxOperand, instruction: PtxInstruction, signed: bool = False) -> tuple[Write, ...]:
    """Writers of a vector's elements, or of a single register."""
    return tuple(writer(item, instruction, signed) for item in items_of(operand))


def pair_of(operand: PtxOperand) -> tuple[PtxOperand, PtxOperand]:
    """Both operands of ``d|p``; the second is ``_`` if there is only d."""
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())


#: Computes the results of an instruction from its sources: one array, or one for each result.
Compute = Callable[..., NDArray[Any] | tuple[NDArray[Any], ...]]


def computed(
    instruction: PtxInstruction,
    context: Context,
    bits: Sequence[int],
    compute: Compute,
    operands: Sequence[PtxOperand] | None = None,
    *,
    masked: bool = False,
) -> MachineStep:
    """A step that calls `compute` with the machine, the threads and the sources, and writes its results.

    `bits` are those of the sources; the results go to the first operand, ``d`` or ``d|p``. If `masked`, the
    last operand of the instruction is a membermask, and the lanes that it names execute together.
    """
    result, *sources = instruction.operands if operands is None else operands
    writes = [writer(item, instruction) for item in pair_of(result)]
    reads = [reader(source, size, instruction, context) for source, size in zip(sources, bits, strict=True)]

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        results = compute(machine, threads, *(read(machine, frame, threads) for read in reads))
        values = results if isinstance(results, tuple) else (results,)
        for write, value in zip(writes, values, strict=False):
            write(frame, threads, value)

    if not masked:
        return MachineStep(instruction, execute)
    members = reader(instruction.operands[-1], 32, instruction, context)
    return MachineStep(instruction, execute, convergent_lanes=32, membermask=members)


def announced(instruction: PtxInstruction, kind: str, count: int = 0) -> MachineStep:
    """A step that only notifies the observers: in the simulation, what it waits for is already done."""

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        machine.synchronised(instruction, kind, threads, count)

    return MachineStep(instruction, execute)
