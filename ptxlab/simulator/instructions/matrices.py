"""Matrix instructions of warps: all warps of the batch in one call of ptxlab's emulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.availability import matrix_registers
from ...isa.catalog import AnyForm
from ...isa.mma import Instruction
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...isa.operation import Operation
from ...isa.parse import parse_any
from ...isa.transfer import Transfer
from ...numerics.emulate import emulate
from ...numerics.emulate_transfer import loaded_registers, stored_rows
from ..deferred import RegisterOperands, Values
from ..device_memory import CHUNK, SHARED_WINDOW
from ..launch_threads import Threads
from ..machine import Frame, Machine, MachineStep
from ..ptx.syntax import Immediate, PtxInstruction, PtxOperand, Register, type_bits
from .builders import Context, builds, unsupported
from .loads import space_of
from .operands import Read, Write, address, items_of, reader, readers, writer


@builds("mma", "wmma.mma")
def _mma(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`mma`, `mma.sp`, block-scaled `mma`, `wmma.mma`."""
    form = form_as(instruction, Instruction)
    destination = instruction.operands[0]
    sources, modifiers = _sources(form, instruction)
    reads = {
        name: read_matrix(
            operand,
            form.inputs[name],
            instruction,
            context,
            matrix_registers(form, name) if name in ("a", "b", "c") else None,
        )
        for name, operand in sources.items()
    }
    writes = write_matrix(destination, form.d, instruction, matrix_registers(form, "d"))
    targets = _words(destination)
    words = {name: _words(operand) for name, operand in sources.items()}
    deferrable = len(targets) == len(writes) and all(len(words[name]) == len(reads[name]) for name in reads)

    def defer(machine: Machine, frame: Frame) -> RegisterOperands:
        """Let it be computed when its results are read."""
        zero = machine.batch.constant(0, np.dtype(np.uint32))  # for registers that were never written
        registers: dict[str, list[Values]] = {}
        for name, numbers in words.items():
            raw = (frame.raw_values(number) for number in numbers)
            registers[name] = [zero if values is None else values for values in raw]
        operands = RegisterOperands(form, modifiers, registers, machine.batch.size)
        for target, result in zip(targets, machine.matrices.add(operands), strict=True):
            frame.defer(target, result)
        return operands

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        if threads.index is None and deferrable:
            machine.multiplied(instruction, defer(machine, frame), threads)
            return
        threads = whole_groups(threads, 32)
        arrays = {
            name: gather(operand_reads, machine, frame, threads, 32, form.inputs[name].register_type)
            for name, operand_reads in reads.items()
        }
        inputs = Operation(form, modifiers=modifiers, **arrays)
        machine.multiplied(instruction, inputs, threads)
        scatter(writes, frame, threads, emulate(inputs, model=machine.launch.model))

    return MachineStep(instruction, execute, convergent_lanes=32)


def _sources(form: Instruction, instruction: PtxInstruction) -> tuple[dict[str, PtxOperand], Modifiers]:
    """What the instruction reads, by the names of the form's inputs, and its constants."""
    _, a, b, c, *others = instruction.operands
    sources = {"a": a, "b": b, "c": c}
    modifiers: dict[str, int] = {}
    if form.e is not None:
        sources["e"], selector, *others = others
        modifiers["selector"] = constant(selector, instruction)
    for name, scale in (("a", form.scale_a), ("b", form.scale_b)):
        if scale is not None:
            sources[f"scale_{name}"], ids, *others = others
            byte_id, thread_id = items_of(ids)
            modifiers[f"byte_id_{name}"] = constant(byte_id, instruction)
            modifiers[f"thread_id_{name}"] = constant(thread_id, instruction)
    if others:
        count = len(instruction.operands)
        raise PtxlabError(
            f"{instruction.where}: {instruction.opcode} takes {count - len(others)} operands, found {count}"
        )
    return sources, form.check_modifiers(Modifiers.from_keywords(dict(modifiers)))


def _words(operand: PtxOperand) -> list[int]:
    """The numbers of its 32-bit registers."""
    return [
        item.index for item in items_of(operand) if isinstance(item, Register) and type_bits(item.type) == 32
    ]


# -- ldmatrix, stmatrix, movmatrix ---------------------------------------------------------------------------


def _row_addresses(form: Transfer, instruction: PtxInstruction) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Makes the addresses of rows in shared memory from those of all lanes, of which the first ones count."""
    is_generic = not space_of(instruction)

    def rows_of(places: NDArray[Any]) -> NDArray[Any]:
        rows = places.reshape(-1, 32)[:, : len(form.address_lanes)].reshape(-1)
        return rows - SHARED_WINDOW if is_generic else rows

    return rows_of


@builds("ldmatrix")
def _ldmatrix(instruction: PtxInstruction, context: Context) -> MachineStep:
    form = form_as(instruction, Transfer)
    destination, source = instruction.operands
    place = address(source, instruction, context)
    writes = write_matrix(destination, form.register_operand, instruction)
    rows_of, row_lanes = _row_addresses(form, instruction), len(form.address_lanes)
    width = form.lines[1] * form.memory_bits // 8

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        threads = whole_groups(threads, 32)
        memory = machine.memory
        starts = memory.shared_offsets(
            instruction,
            threads.first_lanes(row_lanes),
            rows_of(place(machine, frame, threads)),
            form.row_bytes,
            "read",
            alignment=form.alignment,
            proxy="generic",
        )
        rows = memory.shared[starts[:, None] + np.arange(width)].reshape(-1, row_lanes, width)
        scatter(writes, frame, threads, loaded_registers(form, rows))

    def by_matrix(starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The indices of the rows' 16-byte chunks in shared memory, matrix by matrix for all warps."""
        return (starts >> 4).reshape(-1, row_lanes // 8, 8).swapaxes(0, 1).reshape(-1)

    def fast(machine: Machine, frame: Frame, threads: Threads) -> None:
        """m8n8 of 16 bits: a register holds two neighbours in a row, or in a column with `.trans`."""
        threads = whole_groups(threads, 32)
        places = frame.apply(instruction.index, rows_of, threads, place(machine, frame, threads))
        suppliers = threads.first_lanes(row_lanes)
        memory = machine.memory
        starts = memory.shared_offsets(
            instruction, suppliers, places, 16, "read", alignment=16, proxy="generic"
        )
        chunks = frame.apply((instruction.index, "chunks"), by_matrix, threads, starts)
        rows = memory.shared.view(CHUNK)[chunks].view(np.uint32)
        if transposed:
            halves = rows.view(np.uint16).reshape(-1, 8, 8)  # [matrices and warps, rows, columns]
            rows = np.ascontiguousarray(halves.swapaxes(-1, -2)).view(np.uint32)
        for write, registers in zip(writes, rows.reshape(len(writes), -1), strict=True):
            write(frame, threads, registers)

    transposed = "trans" in instruction.parts
    plain = form.memory_bits == 16 and form.shape == "m8n8"
    return MachineStep(instruction, fast if plain else execute, convergent_lanes=32)


@builds("stmatrix")
def _stmatrix(instruction: PtxInstruction, context: Context) -> MachineStep:
    form = form_as(instruction, Transfer)
    operand = form.register_operand
    target, source = instruction.operands
    place = address(target, instruction, context)
    reads = read_matrix(source, operand, instruction, context)
    rows_of, row_lanes = _row_addresses(form, instruction), len(form.address_lanes)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        threads = whole_groups(threads, 32)
        rows = rows_of(place(machine, frame, threads))
        registers = gather(reads, machine, frame, threads, 32, operand.register_type)
        data = stored_rows(form, registers).reshape(len(rows), -1)
        starts = machine.memory.shared_offsets(
            instruction,
            threads.first_lanes(row_lanes),
            rows,
            form.row_bytes,
            "write",
            alignment=form.alignment,
            proxy="generic",
        )
        machine.memory.shared[starts[:, None] + np.arange(data.shape[1])] = data

    return MachineStep(instruction, execute, convergent_lanes=32)


@builds("movmatrix")
def _movmatrix(instruction: PtxInstruction, context: Context) -> MachineStep:
    form = form_as(instruction, Transfer)
    destination, source = instruction.operands
    reads = read_matrix(source, form.register_operand, instruction, context)
    writes = write_matrix(destination, form.operand("D"), instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        threads = whole_groups(threads, 32)
        registers = gather(reads, machine, frame, threads, 32, np.uint32)
        codes = np.swapaxes(form.register_operand.unpack_codes(registers), -1, -2)
        scatter(writes, frame, threads, form.operand("D").pack_codes(codes))

    return MachineStep(instruction, execute, convergent_lanes=32)


# -- wmma ----------------------------------------------------------------------------------------------------


@builds("wmma")
def _wmma(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`wmma.load` and `wmma.store`: every row (or column) of the matrix has its own address."""
    form, loads = form_as(instruction, Transfer), instruction.parts[1] == "load"
    operand = form.register_operand
    registers, memory_operand, *others = instruction.operands
    if not loads:
        registers, memory_operand = memory_operand, registers
    place = address(memory_operand, instruction, context)
    space = space_of(instruction)
    lines, length = form.lines
    bits = form.memory_bits
    width = length * bits // 8
    stride = reader(others[0], 32, instruction, context) if others else None
    writes = write_matrix(registers, operand, instruction) if loads else ()
    reads = () if loads else read_matrix(registers, operand, instruction, context)
    unit = 4 if width % 4 == 0 else 1

    def chunks(machine: Machine, frame: Frame, threads: Threads) -> tuple[Threads, NDArray[np.int64]]:
        """The threads that access the spans, and the addresses of the spans, [warps, lines * spans]."""
        starts = place(machine, frame, threads).reshape(-1, 32)[:, 0]
        step = np.full(len(starts), length, dtype=np.int64)
        if stride is not None:
            step = stride(machine, frame, threads).reshape(-1, 32)[:, 0].astype(np.int64)
        rows = starts[:, None] + np.arange(lines) * (step * bits // 8)[:, None]
        spans = (rows[:, :, None] + np.arange(0, width, unit)).reshape(len(starts), -1)
        first = threads.indices.reshape(-1, 32)[:, 0]
        return Threads.listed(threads.batch, np.repeat(first, spans.shape[1])), spans

    def load(machine: Machine, frame: Frame, threads: Threads) -> None:
        threads = whole_groups(threads, 32)
        accessing, spans = chunks(machine, frame, threads)
        (content,) = machine.memory.load(instruction, space, accessing, spans.reshape(-1), 8 * unit)
        rows = content.reshape(len(spans), lines, -1).view(np.uint8)
        scatter(writes, frame, threads, loaded_registers(form, rows))

    def store(machine: Machine, frame: Frame, threads: Threads) -> None:
        threads = whole_groups(threads, 32)
        accessing, spans = chunks(machine, frame, threads)
        rows = stored_rows(form, gather(reads, machine, frame, threads, 32, operand.register_type))
        content = rows.view(f"<u{unit}").reshape(-1)
        machine.memory.store(instruction, space, accessing, spans.reshape(-1), [content])

    return MachineStep(instruction, load if loads else store, convergent_lanes=32)


# -- matrices in registers: operands of matrix instructions, for whole warps ---------------------------------


_Form = TypeVar("_Form", Instruction, Transfer)


def form_as(instruction: PtxInstruction, kind: type[_Form]) -> _Form:
    """The catalogue's entry for an opcode, which has to be of this kind."""
    form = form_of(instruction)
    if not isinstance(form, kind):
        raise unsupported(instruction)
    return form


def form_of(instruction: PtxInstruction) -> AnyForm:
    """The catalogue's entry for an opcode."""
    try:
        return parse_any(instruction.opcode)
    except PtxlabError as error:
        raise PtxlabError(f"{instruction.where}: {error}") from None


def gather(
    reads: Sequence[Read], machine: Machine, frame: Frame, threads: Threads, lanes: int, dtype: Any
) -> NDArray[Any]:
    """Registers of whole warps or warpgroups: [groups, lanes, registers]."""
    columns = np.empty((threads.count, len(reads)), dtype=dtype)
    for number, read in enumerate(reads):
        columns[:, number] = read(machine, frame, threads)
    return columns.reshape(-1, lanes, len(reads))


def scatter(writes: Sequence[Write], frame: Frame, threads: Threads, registers: NDArray[Any]) -> None:
    """Write registers of whole warps or warpgroups, [groups, lanes, registers]."""
    flat = registers.reshape(threads.count, len(writes))
    for number, write in enumerate(writes):
        write(frame, threads, np.ascontiguousarray(flat[:, number]))


def whole_groups(threads: Threads, lanes: int) -> Threads:
    """The threads, padded with exited lanes so that each warp or warpgroup has all its lanes."""
    if threads.index is None or not len(threads.index):
        return threads
    groups = np.unique(threads.index // lanes)
    if len(groups) * lanes == threads.count:
        return threads
    return Threads(threads.batch, (groups[:, None] * lanes + np.arange(lanes)).reshape(-1))


def read_matrix(
    operand: PtxOperand,
    matrix: Operand,
    instruction: PtxInstruction,
    context: Context,
    letters: str | None = None,
) -> tuple[Read, ...]:
    """Functions that read the registers of a matrix; there must be as many as the catalogue states."""
    items = _checked(operand, matrix, instruction)
    return readers(items, matrix.register_bits, instruction, context, letters)


def write_matrix(
    operand: PtxOperand, matrix: Operand, instruction: PtxInstruction, letters: str | None = None
) -> tuple[Write, ...]:
    """Functions that write the registers of a matrix, as `read_matrix`."""
    return tuple(
        writer(item, instruction, letters=letters) for item in _checked(operand, matrix, instruction)
    )


def _checked(operand: PtxOperand, matrix: Operand, instruction: PtxInstruction) -> Sequence[PtxOperand]:
    items = items_of(operand)
    if len(items) != matrix.registers:
        raise PtxlabError(
            f"{instruction.where}: {instruction.opcode}: {matrix.name} takes {matrix.registers} registers, "
            f"found {len(items)}"
        )
    return items


def constant(operand: PtxOperand, instruction: PtxInstruction) -> int:
    """The value of an operand that must be a constant."""
    if not isinstance(operand, Immediate):
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes a constant here")
    return operand.value
