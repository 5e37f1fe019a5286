"""Matrix instructions: all warps of the batch in one call of ptxlab's own emulators."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand as MatrixOperand
from ...isa.operands import Operands
from ...isa.parse import parse
from ...isa.registers import matrix_registers
from ...isa.transfer import TransferForm
from ...memory.descriptors import descriptor
from ...numerics.emulate import emulate
from ..ptx import Immediate, Instruction, Operand, Register, Vector, type_bits
from .deferred import Deferred, RegisterOperands, Values, WarpgroupOperands, values_of
from .loads import space_of
from .machine import Frame, Machine, Step
from .memory import CHUNK, SHARED_WINDOW, TileRead
from .operands import Builder, Context, Read, Write, address, reader, readers, unsupported, writer
from .threads import Threads

__all__ = ["BUILDERS"]

_WIDEST_PIECE = 128  # bytes of a tile that observers hear of as one access
_MOST_TILE_READS = 64  # whose addresses are kept


def _items(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def _form(instruction: Instruction) -> MmaForm | TransferForm:
    """The instruction of the ISA."""
    try:
        return parse(instruction.opcode)
    except PtxlabError as error:
        raise PtxlabError(f"{instruction.where}: {error}") from None


def _gather(
    reads: Sequence[Read], machine: Machine, frame: Frame, threads: Threads, lanes: int, dtype: Any
) -> NDArray[Any]:
    """Registers of whole warps or warpgroups: [groups, lanes, registers]."""
    columns = np.empty((threads.count, len(reads)), dtype=dtype)
    for number, read in enumerate(reads):
        columns[:, number] = read(machine, frame, threads)
    return columns.reshape(-1, lanes, len(reads))


def _scatter(writes: Sequence[Write], frame: Frame, threads: Threads, registers: NDArray[Any]) -> None:
    flat = registers.reshape(threads.count, len(writes))
    for number, write in enumerate(writes):
        write(frame, threads, np.ascontiguousarray(flat[:, number]))


def _complete(threads: Threads, lanes: int) -> Threads:
    """The threads, padded with lanes that have ended so that each warp or warpgroup has all of its lanes."""
    if threads.index is None or not len(threads.index):
        return threads
    groups = np.unique(threads.index // lanes)
    if len(groups) * lanes == threads.count:
        return threads
    return Threads(threads.batch, (groups[:, None] * lanes + np.arange(lanes)).reshape(-1))


def _read_matrix(
    operand: Operand,
    matrix: MatrixOperand,
    instruction: Instruction,
    context: Context,
    letters: str | None = None,
) -> tuple[Read, ...]:
    items = _checked(operand, matrix, instruction)
    return readers(items, matrix.register_bits, instruction, context, letters)


def _write_matrix(
    operand: Operand, matrix: MatrixOperand, instruction: Instruction, letters: str | None = None
) -> tuple[Write, ...]:
    return tuple(
        writer(item, instruction, letters=letters) for item in _checked(operand, matrix, instruction)
    )


def _checked(operand: Operand, matrix: MatrixOperand, instruction: Instruction) -> Sequence[Operand]:
    items = _items(operand)
    if len(items) != matrix.registers:
        raise PtxlabError(
            f"{instruction.where}: {instruction.opcode}: {matrix.name} takes {matrix.registers} registers, "
            f"found {len(items)}"
        )
    return items


def _mma(instruction: Instruction, context: Context) -> Step:
    """`mma`, `mma.sp`, block-scaled `mma`, `wmma.mma`."""
    form = _form(instruction)
    if not isinstance(form, MmaForm):
        raise unsupported(instruction)
    d, a, b, c, *others = instruction.operands
    reads = {
        name: _read_matrix(operand, form.inputs[name], instruction, context, matrix_registers(form, name))
        for name, operand in (("a", a), ("b", b), ("c", c))
    }
    operands = {"a": a, "b": b, "c": c}
    types: dict[str, Any] = {name: form.inputs[name].register_type for name in reads}
    writes = _write_matrix(d, form.d, instruction, matrix_registers(form, "d"))
    modifiers: dict[str, int] = {}
    if form.e is not None:
        metadata, selector, *others = others
        operands["e"] = metadata
        reads["e"] = readers(_items(metadata), 32, instruction, context)
        types["e"] = np.dtype(np.uint32)
        modifiers["selector"] = _constant(selector, instruction)
    for name, scale in (("a", form.scale_a), ("b", form.scale_b)):
        if scale is not None:
            data, ids, *others = others
            operands[f"scale_{name}"] = data
            reads[f"scale_{name}"] = readers(_items(data), 32, instruction, context)
            types[f"scale_{name}"] = np.dtype(np.uint32)
            byte_id, thread_id = _items(ids)
            modifiers[f"byte_id_{name}"] = _constant(byte_id, instruction)
            modifiers[f"thread_id_{name}"] = _constant(thread_id, instruction)
    if others:
        count = len(instruction.operands)
        raise PtxlabError(
            f"{instruction.where}: {instruction.opcode} takes {count - len(others)} operands, found {count}"
        )
    checked = form.check_modifiers(Modifiers.from_keywords(dict(modifiers)))

    targets = _words(d)
    sources = {name: _words(operand) for name, operand in operands.items()}
    deferrable = len(targets) == form.d.registers and all(
        len(sources[name]) == len(those) for name, those in reads.items()
    )

    def defer(machine: Machine, frame: Frame) -> RegisterOperands:
        """Let it be computed when somebody reads its results."""
        held = {name: [frame.held(register) for register in those] for name, those in sources.items()}
        zero = machine.batch.constant(0, np.dtype(np.uint32))  # what nobody wrote
        registers = {name: [zero if each is None else each for each in those] for name, those in held.items()}
        multiplied = RegisterOperands(form, checked, registers, machine.batch.size)
        for target, result in zip(targets, machine.matrices.add(multiplied), strict=True):
            frame.defer(target, result)
        return multiplied

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        if threads.index is None and deferrable:
            machine.multiplied(instruction, defer(machine, frame), threads)
            return
        threads = _complete(threads, 32)
        arrays = {
            name: _gather(those, machine, frame, threads, 32, types[name]) for name, those in reads.items()
        }
        inputs = Operands(form, modifiers=checked, **arrays)
        machine.multiplied(instruction, inputs, threads)
        _scatter(writes, frame, threads, emulate(inputs, model=machine.launch.model))

    return Step(instruction, execute, together=32)


def _words(operand: Operand) -> list[int]:
    """Its registers of 32 bits, by their numbers."""
    return [
        each.index for each in _items(operand) if isinstance(each, Register) and type_bits(each.type) == 32
    ]


def _constant(operand: Operand, instruction: Instruction) -> int:
    if not isinstance(operand, Immediate):
        raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes a constant here")
    return operand.value


# -- ldmatrix, stmatrix, movmatrix ---------------------------------------------------------------------------


def _codes(rows: NDArray[np.uint8], bits: int, count: int) -> NDArray[Any]:
    """The first `count` elements of rows of bytes; the first is in the lowest bits."""
    if bits >= 8:
        return rows.view(f"<u{bits // 8}")[..., :count]
    single = np.unpackbits(rows, axis=-1, bitorder="little")[..., : count * bits]
    weights = (1 << np.arange(bits)).astype(np.uint8)
    return np.asarray(single.reshape(*rows.shape[:-1], count, bits) @ weights)


def _ldmatrix(instruction: Instruction, context: Context) -> Step:
    form = _form(instruction)
    if not isinstance(form, TransferForm):
        raise unsupported(instruction)
    operand = form.register_operand
    destination, source = instruction.operands
    place = address(source, instruction, context)
    writes = _write_matrix(destination, operand, instruction)
    generic = not space_of(instruction)
    row_lanes = len(form.address_lanes)
    length = form.lines[1]
    width = length * form.memory_bits // 8

    def rows_of(places: NDArray[Any]) -> NDArray[Any]:
        """The addresses of rows, of those of all lanes."""
        rows = places.reshape(-1, 32)[:, :row_lanes].reshape(-1)
        return rows - SHARED_WINDOW if generic else rows

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        threads = _complete(threads, 32)
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
        codes = _codes(rows, form.memory_bits, length).astype(operand.dtype.code_type)
        if form.layout == "col":
            codes = np.swapaxes(codes, -1, -2)
        if form.signed:
            codes |= (codes >> (form.memory_bits - 1)) * 0xF0
        _scatter(writes, frame, threads, operand.pack_codes(codes))

    def by_matrix(starts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which 16 bytes of shared memory the rows are: those of all warps for each matrix."""
        return (starts >> 4).reshape(-1, row_lanes // 8, 8).swapaxes(0, 1).reshape(-1)

    def fast(machine: Machine, frame: Frame, threads: Threads) -> None:
        """m8n8 of 16 bits: a register holds two neighbours of a row, or of a column."""
        threads = _complete(threads, 32)
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
    return Step(instruction, fast if plain else execute, together=32)


def _stmatrix(instruction: Instruction, context: Context) -> Step:
    form = _form(instruction)
    if not isinstance(form, TransferForm):
        raise unsupported(instruction)
    operand = form.register_operand
    target, source = instruction.operands
    place = address(target, instruction, context)
    reads = _read_matrix(source, operand, instruction, context)
    generic = not space_of(instruction)
    row_lanes = len(form.address_lanes)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        threads = _complete(threads, 32)
        places = place(machine, frame, threads).reshape(-1, 32)[:, :row_lanes].reshape(-1)
        suppliers = Threads(threads.batch, threads.indices.reshape(-1, 32)[:, :row_lanes].reshape(-1))
        registers = _gather(reads, machine, frame, threads, 32, operand.register_type)
        codes = operand.unpack_codes(registers)
        if form.layout == "col":
            codes = np.swapaxes(codes, -1, -2)
        data = np.ascontiguousarray(codes.astype(f"<u{operand.dtype.bits // 8}")).view(np.uint8)
        data = data.reshape(len(places), -1)
        starts = machine.memory.shared_offsets(
            instruction,
            suppliers,
            places - SHARED_WINDOW if generic else places,
            form.row_bytes,
            "write",
            alignment=form.alignment,
            proxy="generic",
        )
        machine.memory.shared[starts[:, None] + np.arange(data.shape[1])] = data

    return Step(instruction, execute, together=32)


def _movmatrix(instruction: Instruction, context: Context) -> Step:
    form = _form(instruction)
    if not isinstance(form, TransferForm):
        raise unsupported(instruction)
    destination, source = instruction.operands
    reads = _read_matrix(source, form.register_operand, instruction, context)
    writes = _write_matrix(destination, form.operand("D"), instruction)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        threads = _complete(threads, 32)
        registers = _gather(reads, machine, frame, threads, 32, np.uint32)
        codes = np.swapaxes(form.register_operand.unpack_codes(registers), -1, -2)
        _scatter(writes, frame, threads, form.operand("D").pack_codes(codes))

    return Step(instruction, execute, together=32)


# -- wmma ----------------------------------------------------------------------------------------------------


def _wmma(instruction: Instruction, context: Context) -> Step:
    kind = instruction.parts[1]
    if kind == "mma":
        return _mma(instruction, context)
    form = _form(instruction)
    if not isinstance(form, TransferForm):
        raise unsupported(instruction)
    return _wmma_transfer(instruction, context, form, kind == "load")


def _wmma_transfer(instruction: Instruction, context: Context, form: TransferForm, loads: bool) -> Step:
    """`wmma.load` and `wmma.store`: every row (or column) of the matrix lies at its own address."""
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
    writes = _write_matrix(registers, operand, instruction) if loads else ()
    reads = () if loads else _read_matrix(registers, operand, instruction, context)
    unit = 4 if width % 4 == 0 else 1

    def chunks(machine: Machine, frame: Frame, threads: Threads) -> tuple[Threads, NDArray[np.int64]]:
        """Addresses [warps, lines * pieces] of all pieces, and the threads that stand for them."""
        starts = place(machine, frame, threads).reshape(-1, 32)[:, 0]
        step = np.full(len(starts), length, dtype=np.int64)
        if stride is not None:
            step = stride(machine, frame, threads).reshape(-1, 32)[:, 0].astype(np.int64)
        rows = starts[:, None] + np.arange(lines) * (step * bits // 8)[:, None]
        pieces = (rows[:, :, None] + np.arange(0, width, unit)).reshape(len(starts), -1)
        first = threads.indices.reshape(-1, 32)[:, 0]
        those = Threads.listed(threads.batch, np.repeat(first, pieces.shape[1]))
        return those, pieces

    def load(machine: Machine, frame: Frame, threads: Threads) -> None:
        threads = _complete(threads, 32)
        those, pieces = chunks(machine, frame, threads)
        (content,) = machine.memory.load(instruction, space, those, pieces.reshape(-1), 8 * unit)
        rows = content.reshape(len(pieces), lines, -1).view(np.uint8)
        codes = _codes(rows, bits, length)
        if form.layout == "col":
            codes = np.swapaxes(codes, -1, -2)
        _scatter(writes, frame, threads, operand.pack_codes(codes.astype(operand.dtype.code_type)))

    def store(machine: Machine, frame: Frame, threads: Threads) -> None:
        threads = _complete(threads, 32)
        those, pieces = chunks(machine, frame, threads)
        codes = operand.unpack_codes(_gather(reads, machine, frame, threads, 32, operand.register_type))
        if form.layout == "col":
            codes = np.swapaxes(codes, -1, -2)
        content = np.ascontiguousarray(codes.astype(f"<u{bits // 8}")).view(f"<u{unit}").reshape(-1)
        machine.memory.store(instruction, space, those, pieces.reshape(-1), [content])

    return Step(instruction, load if loads else store, together=32)


# -- wgmma ---------------------------------------------------------------------------------------------------


def _wgmma(instruction: Instruction, context: Context) -> Step:
    if instruction.parts[1] != "mma_async":
        kind = ".".join(instruction.parts[:2])
        count = 0
        if instruction.operands:
            count = _constant(instruction.operands[0], instruction)

        def reached(machine: Machine, frame: Frame, threads: Threads) -> None:
            machine.synchronised(instruction, kind, threads, count)

        return Step(instruction, reached)
    form = _form(instruction)
    if not isinstance(form, MmaForm):
        raise unsupported(instruction)
    d, a, b, *others = instruction.operands
    from_registers = isinstance(a, Vector)
    form = form.a_from("register" if from_registers else "shared")
    letters = matrix_registers(form, "d")
    accumulator = _read_matrix(d, form.d, instruction, context, letters)
    writes = _write_matrix(d, form.d, instruction, letters)
    a_reads: tuple[Read, ...] = ()
    if from_registers:
        a_reads = _read_matrix(a, form.a, instruction, context, matrix_registers(form, "a"))
    metadata: tuple[Read, ...] = ()
    modifiers: dict[str, int] = {}
    if form.e is not None:
        e, selector, *others = others
        metadata = readers(_items(e), 32, instruction, context)
        modifiers["selector"] = _constant(selector, instruction)
    scale_d = reader(others.pop(0), 1, instruction, context) if others else None
    numbers = [_constant(operand, instruction) for operand in others]
    floats = not form.a_type.startswith(("s", "u", "b1"))
    names = ["imm_scale_a", "imm_scale_b"] if floats else []
    if len(numbers) > len(names):
        names += ["imm_trans_b"] if from_registers else ["imm_trans_a", "imm_trans_b"]
    if len(numbers) != len(names) and numbers:
        raise PtxlabError(f"{instruction.where}: {instruction.opcode}: {len(numbers)} constants at its end")
    modifiers |= dict(zip(names, numbers, strict=False))
    trans_a, trans_b = bool(modifiers.pop("imm_trans_a", 0)), bool(modifiers.pop("imm_trans_b", 0))

    in_shared = {"a": (a, _InShared(form.a, trans_a, 1)), "b": (b, _InShared(form.b, trans_b, 0))}
    if from_registers:
        del in_shared["a"]
    tiles = {
        name: (reader(place, 64, instruction, context), tile) for name, (place, tile) in in_shared.items()
    }
    overwrites, accumulates = (
        form.check_modifiers(Modifiers.from_keywords({**modifiers, "scale_d": scale}))
        for scale in (False, True)
    )
    targets = tuple(each.index for each in _items(d) if isinstance(each, Register))
    stays = len(targets) == len(writes) and form.d.register_type == np.uint32

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        def registers(reads: Sequence[Read], dtype: Any) -> NDArray[Any]:
            return _gather(reads, machine, frame, threads, 128, dtype)

        held = _Accumulators.of(frame, targets, threads)
        c = registers(accumulator, form.d.register_type) if held is None else held.values
        arrays: dict[str, NDArray[Any]] = {}
        if a_reads:
            arrays["a"] = registers(a_reads, form.a.register_type)
        for name, (read, tile) in tiles.items():
            codes = read(machine, frame, threads).reshape(-1, 128)[:, 0]
            arrays[name] = tile.read(machine, instruction, name, threads, codes)
        if metadata:
            arrays["e"] = registers(metadata, np.uint32)
        flags = np.ones(1, dtype=np.bool_)
        if scale_d is not None:
            flags = scale_d(machine, frame, threads).reshape(-1, 128)[:, 0]
        if flags.all() or not flags.any():
            operands = WarpgroupOperands(form, accumulates if flags[0] else overwrites, arrays, c)
            machine.multiplied(instruction, operands, threads)
            result = machine.matrices.compute(operands)
        else:
            result = Future()
            result.set_result(np.empty((len(flags), 128, form.d.registers), dtype=form.d.register_type))
            for flag, checked in ((False, overwrites), (True, accumulates)):
                ours = flags == flag
                some = WarpgroupOperands(form, checked, arrays, c).computed().select(np.flatnonzero(ours))
                machine.multiplied(instruction, some, threads.where(np.repeat(ours, 128)))
                result.result()[ours] = emulate(some, model=machine.launch.model)
        if stays:
            _Accumulators.keep(frame, targets, threads, result, held)
        else:
            _scatter(writes, frame, threads, result.result())

    return Step(instruction, execute, together=128)


@dataclass(frozen=True)
class _Accumulators:
    """What a wgmma wrote, as it is: [warpgroups, 128, registers].

    The next wgmma takes it from here; a register is made of it when something else reads or writes that.
    """

    targets: tuple[int, ...]
    threads: Threads
    values: Future[NDArray[Any]]
    before: Sequence[Values | None]  # what the registers held, for the other threads

    @classmethod
    def of(cls, frame: Frame, targets: tuple[int, ...], threads: Threads) -> _Accumulators | None:
        """These registers of these threads, if they are still as a wgmma wrote them."""
        held = [frame.held(target) for target in targets]
        first = held[0] if held else None
        if not isinstance(first, _Accumulator):
            return None
        together = first.together
        if together.targets != targets or not threads.is_same(together.threads):
            return None
        if not all(isinstance(each, _Accumulator) and each.together is together for each in held):
            return None
        return together

    @classmethod
    def keep(
        cls,
        frame: Frame,
        targets: tuple[int, ...],
        threads: Threads,
        values: Future[NDArray[Any]],
        held: _Accumulators | None,
    ) -> None:
        """Let registers be what a wgmma wrote, after what they `held`."""
        before = [frame.held(target) for target in targets] if held is None else held.before
        together = cls(targets, threads, values, before)
        for number, target in enumerate(targets):
            frame.defer(target, _Accumulator(together, number))


class _Accumulator(Deferred):
    """One register of several that a wgmma wrote."""

    __slots__ = ("_number", "together")

    def __init__(self, together: _Accumulators, number: int) -> None:
        self.together, self._number = together, number

    def get(self) -> NDArray[Any]:
        """The values."""
        threads = self.together.threads
        column = self.together.values.result().reshape(threads.count, -1)[:, self._number]
        if threads.index is None:
            return np.ascontiguousarray(column)
        before = self.together.before[self._number]
        target = np.zeros(threads.batch.size, column.dtype) if before is None else values_of(before).copy()
        threads.put(target, column)
        return target


@dataclass(frozen=True)
class _InShared:
    """An operand that is a tile in shared memory; K is one of its axes."""

    operand: MatrixOperand
    transposed: bool
    k_axis: int

    @property
    def inner(self) -> int:
        """The axis whose neighbours are neighbours in memory."""
        return 1 - self.k_axis if self.transposed else self.k_axis

    def read(
        self, machine: Machine, instruction: Instruction, name: str, threads: Threads, codes: NDArray[Any]
    ) -> NDArray[Any]:
        """The codes of the tile of each warpgroup, [warpgroups, rows, columns], from their descriptors."""
        if (codes == codes[0]).all():
            return self._read_same(machine, instruction, name, threads, int(codes[0]))
        result = np.empty((len(codes), *self.operand.shape), self.code_type)
        for code in np.unique(codes).tolist():
            ours = codes == code
            some = threads.where(np.repeat(ours, 128))
            result[ours] = self._read_same(machine, instruction, name, some, code)
        return result

    def _read_same(
        self, machine: Machine, instruction: Instruction, name: str, threads: Threads, code: int
    ) -> NDArray[Any]:
        """The same if all have one descriptor; a loop mostly reads the same places again."""
        key = id(instruction), name, code
        known = machine.tile_reads.get(key)
        if known is None or not known.threads.is_same(threads):
            known = TileRead.of(threads, *_tile_places(self, code))
            if key in machine.tile_reads or len(machine.tile_reads) < _MOST_TILE_READS:
                machine.tile_reads[key] = known
        memory, width = machine.memory, known.width
        offsets = memory.shared_offsets(
            instruction, known.readers, known.addresses, width, "read", alignment=width, operand=(name, code)
        )
        return self._matrices(memory.shared.view(CHUNK)[known.chunks_at(offsets)].view(np.uint8))

    @property
    def code_type(self) -> Any:
        """The type of its codes."""
        return self.operand.dtype.code_type

    def chunks(self, code: int) -> NDArray[np.int64]:
        """Addresses of the chunks of 16 bytes of the tile that a descriptor names, the inner axis first."""
        bits, shape = self.operand.dtype.bits, self.operand.shape
        outer = np.arange(shape[1 - self.inner])[:, None]
        along = np.arange(0, shape[self.inner], 8 * CHUNK.itemsize // bits)
        row, k = (along, outer) if self.transposed else (outer, along)  # rows are along M or N
        tile = descriptor(code, family="wgmma")
        return tile.addresses(row, k, bits=bits, major="MN" if self.transposed else "K").reshape(-1)

    def _matrices(self, content: NDArray[np.uint8]) -> NDArray[Any]:
        """The codes of tiles from the bytes of their chunks."""
        bits = self.operand.dtype.bits
        codes = _codes(content, bits, content.shape[1] * 8 // bits).astype(self.code_type, copy=False)
        rows, columns = self.operand.shape
        if self.inner == 1:
            return codes.reshape(-1, rows, columns)
        return np.ascontiguousarray(np.swapaxes(codes.reshape(-1, columns, rows), 1, 2))


@lru_cache(maxsize=256)
def _tile_places(tile: _InShared, code: int) -> tuple[NDArray[np.int64], int, NDArray[np.int64]]:
    """Where a tile lies in the shared memory of a block.

    Gives addresses of what it takes, in pieces of some bytes, how many these are, and its chunks.
    """
    chunks = tile.chunks(code)
    starts, width = np.unique(chunks), CHUNK.itemsize
    while width < _WIDEST_PIECE and len(starts) % 2 == 0:
        if (starts[::2] % (2 * width)).any() or (starts[1::2] - starts[::2] != width).any():
            break  # they are not all halves of wider pieces
        starts, width = starts[::2], 2 * width
    return starts, width, chunks


BUILDERS: dict[str, Builder] = {
    "mma": _mma,
    "wmma": _wmma,
    "wgmma": _wgmma,
    "ldmatrix": _ldmatrix,
    "stmatrix": _stmatrix,
    "movmatrix": _movmatrix,
}
