"""`wgmma`: products of warpgroups, with tiles in shared memory and accumulators kept as matrices."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, counted
from ...isa.availability import matrix_registers
from ...isa.mma import Instruction
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand
from ...memory.descriptors import descriptor
from ...numerics.emulate import emulate
from ...numerics.emulate_transfer import unpack_row
from ..deferred import Deferred, Values, WarpgroupOperands, values_of
from ..device_memory import CHUNK, TileRead
from ..launch_threads import Threads
from ..machine import Frame, Machine, MachineStep
from ..ptx.syntax import PtxInstruction, PtxOperand, Register, Vector
from .builders import Context, builds
from .matrices import constant, form_as, gather, read_matrix, scatter, write_matrix
from .operands import Read, announced, items_of, reader

_LANES = 128  # of a warpgroup
_WIDEST_PIECE = 128  # bytes of a tile that observers see as one access
_MAX_TILE_READS = 64  # tiles whose addresses are kept


@builds("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group")
def _group(instruction: PtxInstruction, context: Context) -> MachineStep:
    count = constant(instruction.operands[0], instruction) if instruction.operands else 0
    return announced(instruction, ".".join(instruction.parts[:2]), count)


# -- wgmma.mma_async -----------------------------------------------------------------------------------------


@builds("wgmma.mma_async")
def _mma_async(instruction: PtxInstruction, context: Context) -> MachineStep:
    """The step of a product; its operands, for example, with A in registers and f16 in D:

        wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16
            {d0, d1}, {a0, a1, a2, a3}, descriptor-b, scale-d, 1, 1, 0;

    D comes first, then A (a list of registers, or a descriptor) and B (a descriptor); of a sparse A, metadata
    and selector; then scale-d, a predicate, and constants: the signs of A and B, and whether A, if it is in
    shared memory, and B are transposed. If scale-d is 1, D is added to: it is C as well.
    """
    d, a, b, *others = instruction.operands
    in_registers = isinstance(a, Vector)
    form = form_as(instruction, Instruction).a_from("register" if in_registers else "shared")
    reads = {"c": read_matrix(d, form.d, instruction, context, matrix_registers(form, "d"))}
    if in_registers:
        reads["a"] = read_matrix(a, form.a, instruction, context, matrix_registers(form, "a"))
    modifiers: dict[str, int] = {}
    if form.e is not None:
        metadata, selector, *others = others
        reads["e"] = read_matrix(metadata, form.e, instruction, context)
        modifiers["selector"] = constant(selector, instruction)
    scale_d = reader(others.pop(0), 1, instruction, context) if others else None
    modifiers |= trailing_constants(form, others, instruction)
    trans_a, trans_b = bool(modifiers.pop("imm_trans_a", 0)), bool(modifiers.pop("imm_trans_b", 0))
    tiles = {"b": OperandTile(reader(b, 64, instruction, context), form.b, transposed=trans_b, k_axis=0)}
    if not in_registers:
        tile_of_a = OperandTile(reader(a, 64, instruction, context), form.a, transposed=trans_a, k_axis=1)
        tiles = {"a": tile_of_a, **tiles}
    overwrites, accumulates = (
        form.check_modifiers(Modifiers.from_keywords({**modifiers, "scale_d": scale}))
        for scale in (False, True)
    )
    writes = write_matrix(d, form.d, instruction, matrix_registers(form, "d"))
    targets = tuple(item.index for item in items_of(d) if isinstance(item, Register))  # registers of D
    deferrable = len(targets) == len(writes) and form.d.register_type == np.uint32

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        """Multiply in each warpgroup of these threads."""

        def registers(name: str) -> NDArray[Any]:
            return gather(reads[name], machine, frame, threads, _LANES, form.inputs[name].register_type)

        _check_whole(threads)
        accumulators = _Accumulators.of(frame, targets, threads)
        c = registers("c") if accumulators is None else accumulators.values
        arrays = {name: registers(name) for name in reads if name != "c"}
        for name, tile in tiles.items():
            arrays[name] = tile.read(machine, frame, threads, instruction, name)
        flags = np.ones(1, dtype=np.bool_)
        if scale_d is not None:
            flags = scale_d(machine, frame, threads).reshape(-1, _LANES)[:, 0]
        if flags.all() or not flags.any():
            operands = WarpgroupOperands(form, accumulates if flags[0] else overwrites, arrays, c)
            machine.multiplied(instruction, operands, threads)
            result = machine.matrices.compute(operands)
        else:
            result = with_both_scales(machine, threads, arrays, c, flags)
        if deferrable:
            _Accumulators.keep(frame, targets, threads, result, accumulators)
        else:
            scatter(writes, frame, threads, result.result())

    def with_both_scales(
        machine: Machine,
        threads: Threads,
        arrays: dict[str, NDArray[Any]],
        c: NDArray[Any] | Future[NDArray[Any]],
        flags: NDArray[np.bool_],
    ) -> Future[NDArray[Any]]:
        """The results where scale-d is 1 in some warpgroups and 0 in others."""
        values = np.empty((len(flags), _LANES, form.d.registers), dtype=form.d.register_type)
        for flag, modifiers in ((False, overwrites), (True, accumulates)):
            chosen = flags == flag
            operands = WarpgroupOperands(form, modifiers, arrays, c).computed()
            selected = operands.select(np.flatnonzero(chosen))
            machine.multiplied(instruction, selected, threads.where(np.repeat(chosen, _LANES)))
            values[chosen] = emulate(selected, model=machine.launch.model)
        result: Future[NDArray[Any]] = Future()
        result.set_result(values)
        return result

    return MachineStep(instruction, execute, convergent_lanes=_LANES)


def trailing_constants(
    form: Instruction, operands: Sequence[PtxOperand], instruction: PtxInstruction
) -> dict[str, int]:
    """The constants after scale-d: signs of A and B if they are floats, then which of them are transposed."""
    numbers = [constant(operand, instruction) for operand in operands]
    is_float = not form.a_type.startswith(("s", "u", "b1"))
    names = ["imm_scale_a", "imm_scale_b"] if is_float else []
    if len(numbers) > len(names):
        names += ["imm_trans_a", "imm_trans_b"] if form.a_space == "shared" else ["imm_trans_b"]
    if numbers and len(numbers) != len(names):
        raise PtxlabError(f"{instruction.where}: {instruction.opcode}: {len(numbers)} constants at its end")
    return dict(zip(names, numbers, strict=False))


def _check_whole(threads: Threads) -> None:
    """Refuse incomplete warpgroups: PTX ISA, "wgmma.mma_async": all threads execute it, none has exited."""
    if threads.index is None:
        return
    lanes = threads.index % _LANES
    if threads.count % _LANES or lanes[::_LANES].any() or (lanes[_LANES - 1 :: _LANES] != _LANES - 1).any():
        _, first, counts = np.unique(threads.index // _LANES, return_index=True, return_counts=True)
        some = int(np.flatnonzero(counts < _LANES)[0])
        raise PtxlabError(
            f"{threads.batch.name(int(threads.index[first[some]]))} belongs to a warpgroup of which "
            f"{counted(int(counts[some]), 'thread')} can execute it; it takes all {_LANES} (is the block no "
            f"multiple of {_LANES} threads, or have some exited?)"
        )


# -- accumulators --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Accumulators:
    """The result of a wgmma as one array, [warpgroups, 128, registers].

    The next wgmma reads it from here; it is split into registers only when something else uses one.
    """

    targets: tuple[int, ...]
    threads: Threads
    values: Future[NDArray[Any]]
    before: Sequence[Values | None]  # the registers before, for the other threads

    @classmethod
    def of(cls, frame: Frame, targets: tuple[int, ...], threads: Threads) -> _Accumulators | None:
        """These registers of these threads, if they are still as a wgmma wrote them."""
        registers = [frame.raw_values(target) for target in targets]
        first = registers[0] if registers else None
        if not isinstance(first, _Accumulator):
            return None
        whole = first.whole
        if whole.targets != targets or not threads.is_same(whole.threads):
            return None
        if not all(isinstance(register, _Accumulator) and register.whole is whole for register in registers):
            return None
        return whole

    @classmethod
    def keep(
        cls,
        frame: Frame,
        targets: tuple[int, ...],
        threads: Threads,
        values: Future[NDArray[Any]],
        previous: _Accumulators | None,
    ) -> None:
        """Set registers to the result of a wgmma; `previous` are the accumulators that it read."""
        before = [frame.raw_values(target) for target in targets] if previous is None else previous.before
        whole = cls(targets, threads, values, before)
        for number, target in enumerate(targets):
            frame.defer(target, _Accumulator(whole, number))


class _Accumulator(Deferred):
    """One register of the result of a wgmma."""

    __slots__ = ("_number", "whole")

    def __init__(self, whole: _Accumulators, number: int) -> None:
        self.whole, self._number = whole, number

    def get(self) -> NDArray[Any]:
        """The values."""
        threads = self.whole.threads
        column = self.whole.values.result().reshape(threads.count, -1)[:, self._number]
        if threads.index is None:
            return np.ascontiguousarray(column)
        before = self.whole.before[self._number]
        target = np.zeros(threads.batch.size, column.dtype) if before is None else values_of(before).copy()
        threads.put(target, column)
        return target


# -- tiles in shared memory ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class OperandTile:
    """An operand that is a tile in shared memory, named by a descriptor; K is one of its axes."""

    descriptor: Read = field(compare=False)  # the key of `tile_places` is what follows
    operand: Operand
    transposed: bool
    k_axis: int

    @property
    def inner(self) -> int:
        """The axis that is contiguous in memory."""
        return 1 - self.k_axis if self.transposed else self.k_axis

    def read(
        self, machine: Machine, frame: Frame, threads: Threads, instruction: PtxInstruction, name: str
    ) -> NDArray[Any]:
        """The codes of the tile of each warpgroup, [warpgroups, rows, columns]."""
        codes = self.descriptor(machine, frame, threads).reshape(-1, _LANES)[:, 0]
        if (codes == codes[0]).all():
            return self._read_same(machine, instruction, name, threads, int(codes[0]))
        result = np.empty((len(codes), *self.operand.shape), self.code_type)
        for code in np.unique(codes).tolist():
            chosen = codes == code
            warpgroups = threads.where(np.repeat(chosen, _LANES))
            result[chosen] = self._read_same(machine, instruction, name, warpgroups, code)
        return result

    def _read_same(
        self, machine: Machine, instruction: PtxInstruction, name: str, threads: Threads, code: int
    ) -> NDArray[Any]:
        """As `read`, where all warpgroups have the same descriptor; loops mostly read the same tile again."""
        key = id(instruction), name, code
        read = machine.tile_reads.get(key)
        if read is None or not read.threads.is_same(threads):
            read = TileRead.of(threads, *tile_places(self, code))
            if key in machine.tile_reads or len(machine.tile_reads) < _MAX_TILE_READS:
                machine.tile_reads[key] = read
        memory, width = machine.memory, read.width
        offsets = memory.shared_offsets(
            instruction, read.readers, read.addresses, width, "read", alignment=width, operand=(name, code),
            owners=read.owners,
        )  # fmt: skip
        return self._matrices(memory.shared.view(CHUNK)[read.chunks_at(offsets)].view(np.uint8))

    @property
    def code_type(self) -> Any:
        """The type of its codes."""
        return self.operand.dtype.code_type

    def chunks(self, code: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Addresses of the 16-byte chunks of the tile that a descriptor names, the inner axis first.

        Second, the warp that multiplies each chunk: that of its 16 rows of A; -1 for B, since all warps do.
        """
        bits, shape = self.operand.dtype.bits, self.operand.shape
        outer = np.arange(shape[1 - self.inner])[:, None]
        along = np.arange(0, shape[self.inner], 8 * CHUNK.itemsize // bits)
        row, k = (along, outer) if self.transposed else (outer, along)  # rows are along M or N
        tile = descriptor(code, family="wgmma")
        addresses = tile.addresses(row, k, bits=bits, major="MN" if self.transposed else "K")
        owners = row // 16 if self.k_axis == 1 else np.array(-1)
        return addresses.reshape(-1), np.broadcast_to(owners, addresses.shape).reshape(-1)

    def _matrices(self, content: NDArray[np.uint8]) -> NDArray[Any]:
        """The codes of tiles from the bytes of their chunks."""
        bits = self.operand.dtype.bits
        codes = unpack_row(content, bits, content.shape[1] * 8 // bits).astype(self.code_type, copy=False)
        rows, columns = self.operand.shape
        if self.inner == 1:
            return codes.reshape(-1, rows, columns)
        return np.ascontiguousarray(np.swapaxes(codes.reshape(-1, columns, rows), 1, 2))


@lru_cache(maxsize=256)
def tile_places(
    tile: OperandTile, code: int
) -> tuple[NDArray[np.int64], int, NDArray[np.int64], NDArray[np.int64]]:
    """Where a tile lies in the shared memory of a block.

    Returns the addresses of its spans, their bytes, the warp that multiplies each (-1 for several), and the
    addresses of its chunks.
    """
    chunks, warps = tile.chunks(code)
    starts, width = np.unique(chunks), CHUNK.itemsize
    while width < _WIDEST_PIECE and len(starts) % 2 == 0:
        if (starts[::2] % (2 * width)).any() or (starts[1::2] - starts[::2] != width).any():
            break  # not all of them are halves of wider spans
        starts, width = starts[::2], 2 * width
    spans = np.searchsorted(starts, chunks, side="right") - 1
    owners = np.empty(len(starts), np.int64)
    owners[spans] = warps
    owners[spans[owners[spans] != warps]] = -1  # rows of several warps
    return starts, width, owners, chunks
