"""`tcgen05`: tensor memory of each block, 128 lanes by 512 columns, and the instructions that use it.

Like other asynchronous instructions, these take place when they are issued; a commit arrives at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, counted
from ...isa.modifiers import Modifiers
from ...isa.operand import Operand, Packing
from ...isa.operation import Operation
from ...isa.targets import SM_107
from ...isa.tcgen05 import TensorControl, TensorInstruction, TensorTransfer
from ...isa.tensor_operand import ALL_LANES, COLUMNS, LANES, TensorOperand
from ...memory.descriptors import Tcgen05Descriptor, descriptor
from ...memory.tcgen05_tiles import COLUMN_BYTES, line_bits, unpack_lookup
from ...numerics import emulate_tcgen05_transfer, has
from ...numerics.emulate import emulate
from ..device_memory import ALLOCATION_UNIT, RANK_SHIFT, TensorMemory, in_block
from ..events import TensorAccess
from ..launch_threads import Threads
from ..machine import Frame, Machine, MachineStep
from ..ptx.syntax import Address, Immediate, PtxInstruction, PtxOperand, Register, Vector
from .builders import Context, builds, unsupported
from .loads import space_of
from .matrices import form_of
from .mbarrier_builders import BarrierChange, read_masks, update_barriers
from .operands import Read, address, items_of, reader, readers, writers


def _memory(machine: Machine) -> TensorMemory:
    if machine.tensor_memory is None:
        machine.tensor_memory = TensorMemory(machine.batch.count)
    return machine.tensor_memory


@builds("tcgen05")
def _tcgen05(instruction: PtxInstruction, context: Context) -> MachineStep:
    form = form_of(instruction)
    if isinstance(form, TensorInstruction):
        return _mma(instruction, context, form)
    if isinstance(form, TensorTransfer):
        by_warp = form.family in ("tcgen05.ld", "tcgen05.st")
        return (_registers if by_warp else _issued)(instruction, context, form)
    if isinstance(form, TensorControl):
        return _CONTROLS.get(form.family, _nothing)(instruction, context)
    raise unsupported(instruction)


# -- alloc, dealloc, commit ----------------------------------------------------------------------------------


def _nothing(instruction: PtxInstruction, context: Context) -> MachineStep:
    """Fences, waits and relinquish_alloc_permit: in the simulation, everything is in order already."""
    return MachineStep(instruction, lambda machine, frame, threads: None)


def _first_lanes(threads: Threads) -> tuple[Threads, NDArray[np.intp]]:
    """The first thread of each warp, and its index among the threads."""
    first = np.flatnonzero(np.diff(threads.indices >> 5, prepend=-1))
    return Threads(threads.batch, threads.indices[first]), first


def _alloc(instruction: PtxInstruction, context: Context) -> MachineStep:
    target, count = instruction.operands
    place, columns = address(target, instruction, context), reader(count, 32, instruction, context)
    space = space_of(instruction)
    exclusive = "exclusive" in instruction.parts
    allowed = range(32, COLUMNS + 1, ALLOCATION_UNIT) if exclusive else (32, 64, 128, 256, 512)
    takes = f"32, 64, 128, 256 or {COLUMNS}, and so many must be free"
    if exclusive:
        takes = f"multiples of 32 up to {COLUMNS}, and all must be free"

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        leaders, chosen = _first_lanes(threads)
        starts = []
        wanted = columns(machine, frame, threads)[chosen]
        for block, number in zip(leaders.blocks.tolist(), wanted.tolist(), strict=True):
            if exclusive and number > COLUMNS and context.module.target in SM_107:
                raise unsupported(instruction, f"tensor memory of more than {COLUMNS} columns")
            start = _memory(machine).allocate(block, number, exclusive) if number in allowed else None
            if start is None:
                raise PtxlabError(
                    f"{instruction.where}: {instruction.opcode} asks for {number} columns; it takes {takes}"
                )
            starts.append(start)
        places = place(machine, frame, threads)[chosen]
        machine.memory.store(instruction, space, leaders, places, [np.array(starts, dtype=np.uint32)])
        machine.synchronised(instruction, "tcgen05.alloc", leaders, np.array(starts))

    return MachineStep(instruction, execute, convergent_lanes=32)


def _dealloc(instruction: PtxInstruction, context: Context) -> MachineStep:
    start, count = readers(instruction.operands, 32, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        leaders, chosen = _first_lanes(threads)
        starts, counts = (read(machine, frame, threads)[chosen] // ALLOCATION_UNIT for read in (start, count))
        taken = _memory(machine).taken
        for block, first, units in zip(leaders.blocks, starts.tolist(), counts.tolist(), strict=True):
            if not taken[block, first : first + units].all():
                raise PtxlabError(
                    f"{instruction.where}: {instruction.opcode} frees columns that nobody allocated"
                )
            taken[block, first : first + units] = False
        machine.synchronised(instruction, "tcgen05.dealloc", leaders, starts * ALLOCATION_UNIT)

    return MachineStep(instruction, execute, convergent_lanes=32)


def _commit(instruction: PtxInstruction, context: Context) -> MachineStep:
    place = address(instruction.operands[0], instruction, context)
    mask = None
    if len(instruction.operands) > 1:
        wide = "multicast::cluster::32b" in instruction.parts
        mask = reader(instruction.operands[1], 32 if wide else 16, instruction, context)
    # Without a state space the address is generic, but Triton 3.6 passes a zero-extended shared address.
    # Assumed, not measured (no Blackwell GPU was at hand): only the lower 32 bits count, which serves both.
    bits = -1 if space_of(instruction) else (1 << 32) - 1

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        places = place(machine, frame, threads) & bits
        masks = read_masks(mask, machine, frame, threads)
        if masks is None:
            _arrive(machine, instruction, threads, places)
            return
        for rank in range(machine.batch.grid.cluster_size):
            chosen = masks >> rank & 1 == 1
            if chosen.any():
                _arrive(machine, instruction, threads.where(chosen), in_block(places[chosen], rank))

    return MachineStep(instruction, execute)


_CONTROLS = {"tcgen05.alloc": _alloc, "tcgen05.dealloc": _dealloc, "tcgen05.commit": _commit}


def _arrive(machine: Machine, instruction: PtxInstruction, threads: Threads, places: NDArray[Any]) -> None:
    one = np.ones(threads.count, dtype=np.int64)
    machine.synchronised(instruction, "mbarrier.arrive", threads, places)
    update_barriers(machine, instruction, threads, places, BarrierChange.arrive(one))


# -- ld, st --------------------------------------------------------------------------------------------------


def _registers(instruction: PtxInstruction, context: Context, form: TensorTransfer) -> MachineStep:
    """`tcgen05.ld` and `.st`: each warp accesses its own 32 lanes."""
    operands = list(instruction.operands)
    loads = form.family == "tcgen05.ld"
    at = next(number for number, operand in enumerate(operands) if isinstance(operand, Address))
    place = address(operands.pop(at), instruction, context)
    split = None
    if form.shape == "16x32bx2":
        constant = operands.pop(at)
        if not isinstance(constant, Immediate):
            raise PtxlabError(f"{instruction.where}: {instruction.opcode} takes a constant after its address")
        split = constant.value
    items = [item for operand in operands for item in items_of(operand)]
    writes = [write for item in items for write in writers(item, instruction)] if loads else []
    reads = () if loads else readers(items, 32, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        leaders, chosen = _first_lanes(threads)
        places = place(machine, frame, threads)[chosen]
        stored = [read(machine, frame, threads).reshape(-1, 32) for read in reads]
        results = []
        for number, (index, block) in enumerate(zip(leaders.indices, leaders.blocks, strict=True)):
            warp = int(index - block * machine.batch.block_lanes) // 32 % 4
            address_given = int(places[number])
            start = _own_lanes(instruction, warp, address_given)
            words, warp_lanes = _memory(machine).words[block], slice(32 * warp, 32 * warp + 32)
            touched = _touched(form, start & 0xFFFF, split)
            warp_threads = threads.indices[threads.indices >> 5 == index >> 5]
            kind = "read" if loads else "write"
            lanes = (0xFFFFFFFF if form.shape == "32x32b" else 0xFFFF) << (start >> 16)
            for columns in touched:
                elsewhere = start != address_given
                access = TensorAccess(
                    instruction, kind, warp_threads, int(block), columns, lanes, elsewhere=elsewhere
                )
                machine.tensor_accessed(access)
            if loads:
                results.append(_flat(emulate_tcgen05_transfer.load(form, words, start, split))[warp_lanes])
                continue
            registers = np.zeros((LANES, len(reads)), dtype=np.uint32)
            registers[warp_lanes] = np.stack([column[number] for column in stored], axis=-1)
            words[warp_lanes] = emulate_tcgen05_transfer.store(form, registers, words, start, split)[
                warp_lanes
            ]
        for column, write in enumerate(writes):
            write(frame, threads, np.concatenate([result[:, column] for result in results]))

    return MachineStep(instruction, execute, convergent_lanes=32)


def _touched(form: TensorTransfer, first: int, split: int | None) -> list[range]:
    """The columns that ld or st accesses; 16x32bx2 has two ranges."""
    if form.shape != "16x32bx2":
        columns = form.count if form.compresses else form.columns
        return [range(first, first + columns)]
    half = form.columns // 2
    second = first + (half if split is None else split)
    return [range(first, first + half), range(second, second + half)]


def _flat(registers: NDArray[np.uint32] | tuple[NDArray[np.uint32], ...]) -> NDArray[np.uint32]:
    """Registers side by side, [128, registers]."""
    parts = registers if isinstance(registers, tuple) else (registers,)
    return np.concatenate([part if part.ndim == 2 else part[:, None] for part in parts], axis=-1)


def _own_lanes(instruction: PtxInstruction, warp: int, address: int) -> int:
    """An address with a lane of the warp itself; an address in lanes 0 to 31 means each warp's own lanes."""
    lane = address >> 16
    if lane < 32:
        return address + (32 * warp << 16)
    if lane // 32 != warp:
        raise PtxlabError(
            f"{instruction.where}: {instruction.opcode} of warp {warp} begins in lane {lane}; that warp may "
            f"touch lanes {32 * warp} to {32 * warp + 31}"
        )
    return address


# -- instructions that one thread issues ---------------------------------------------------------------------


@dataclass(frozen=True)
class _Issue:
    """One thread that issues an asynchronous instruction, for its block or for both CTAs of a pair."""

    machine: Machine
    instruction: PtxInstruction
    thread: Threads
    cta_group: int

    @cached_property
    def blocks(self) -> list[tuple[int, int]]:
        """The blocks that work together, counted in the batch, and their ranks in the cluster."""
        block, size = int(self.thread.blocks[0]), self.machine.batch.grid.cluster_size
        rank = block % size
        if self.cta_group < 2:
            return [(block, rank)]
        if size % 2:
            raise PtxlabError(
                f"{self.instruction.where}: {self.instruction.opcode} needs a CTA pair; the clusters of this "
                f"launch have {counted(size, 'block')}: pass cluster=2"
            )
        first = rank - rank % 2
        return [(block - rank % 2, first), (block - rank % 2 + 1, first + 1)]

    def load(self, places: NDArray[Any], bits: int, rank: int) -> NDArray[Any]:
        """Elements of the shared memory of a block of the cluster, read through the async proxy."""
        machine, thread = self.machine, self.thread
        if machine.batch.grid.cluster_size > 1:
            places = places + (rank + 1 << RANK_SHIFT)
        readers = Threads.listed(thread.batch, np.repeat(thread.indices, places.size))
        addresses = places.reshape(-1)
        (content,) = machine.memory.load(self.instruction, "shared", readers, addresses, bits, 1, "async")
        return content

    def notify(self, kind: str, columns: range, lanes: int = ALL_LANES) -> None:
        """Tell the observers what is read or written in the tensor memory of the blocks."""
        for block, _ in self.blocks:
            self.machine.tensor_accessed(
                TensorAccess(
                    self.instruction, kind, self.thread.indices, block, columns, lanes, asynchronous=True
                )
            )


# -- cp, shift -----------------------------------------------------------------------------------------------


def _issued(instruction: PtxInstruction, context: Context, form: TensorTransfer) -> MachineStep:
    """`tcgen05.cp` and `.shift`, which one thread issues, for both CTAs of a pair."""
    place = address(instruction.operands[0], instruction, context)
    code = None
    if form.family == "tcgen05.cp":
        code = reader(instruction.operands[1], 64, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        places = place(machine, frame, threads)
        codes = None if code is None else code(machine, frame, threads)
        for number in range(threads.count):
            thread = threads.where(np.arange(threads.count) == number)
            issue = _Issue(machine, instruction, thread, form.cta_group)
            first = int(places[number]) & 0xFFFF
            issue.notify("write", range(first, first + form.columns))
            for block, rank in issue.blocks:
                words = _memory(machine).words[block]
                if codes is None:
                    words[:] = emulate_tcgen05_transfer.shift(form, words, int(places[number]))
                    continue
                content = _shared_bytes(issue, form, int(codes[number]), rank)
                words[:] = emulate_tcgen05_transfer.copy(
                    form, content, int(codes[number]), words, int(places[number])
                )

    return MachineStep(instruction, execute)


def _shared_bytes(issue: _Issue, form: TensorTransfer, code: int, rank: int) -> NDArray[np.uint8]:
    """Shared memory from address 0 on; only the bytes that a copy reads are filled in."""
    rows, count = form.tensor("T").shape
    bits = form.tensor("T").width
    fields = descriptor(code, family="tcgen05")
    places = fields.addresses(np.arange(rows)[:, None], np.arange(count), bits=bits).reshape(-1)
    content = np.zeros(int(places.max()) + 64, dtype=np.uint8)
    places = np.unique(places[:, None] + np.arange(bits // 8))
    content[places] = issue.load(places, 8, rank)
    return content


# -- mma -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def _with_descriptor(form: TensorInstruction, code: int, a_space: str) -> TensorInstruction:
    whole = form.with_descriptor(code)
    return whole if whole.a_space == a_space else replace(whole, a_space=a_space)  # type: ignore[arg-type]


def _mma(instruction: PtxInstruction, context: Context, form: TensorInstruction) -> MachineStep:
    """tcgen05.mma: each thread that executes it multiplies what its descriptors and addresses name."""
    operands = list(instruction.operands)
    a_space = "tensor" if isinstance(operands[1], Address) else "shared"
    reads: dict[str, Read] = {}
    # 0 bits: an address in tensor memory
    for name, bits, is_present in (
        ("d", 0, True), ("a", 0 if a_space == "tensor" else 64, True), ("b", 64, True), ("e", 0, form.sparse),
        ("lut", 0, form.decompress), ("idesc", 32, True), ("scale_a", 0, form.scaled),
        ("scale_b", 0, form.scaled),
    ):  # fmt: skip
        if is_present:
            operand = operands.pop(0)
            if bits:
                reads[name] = reader(operand, bits, instruction, context)
            else:
                reads[name] = address(operand, instruction, context)
    lanes: tuple[Read, ...] = ()
    if operands and isinstance(operands[0], Vector):
        lanes = readers(operands[0].items, 32, instruction, context)
        operands.pop(0)
    enable = reader(operands.pop(0), 1, instruction, context) if operands else None
    zero_columns, scale = _last(operands, instruction, context, form.ws)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = {name: read(machine, frame, threads) for name, read in reads.items()}
        masks = [read(machine, frame, threads) for read in lanes]
        enabled = np.ones(threads.count, dtype=bool) if enable is None else enable(machine, frame, threads)
        zeros = None if zero_columns is None else zero_columns(machine, frame, threads)
        for number in range(threads.count):
            thread = threads.where(np.arange(threads.count) == number)
            modifiers = Modifiers(
                enable_input_d=bool(enabled[number]),
                scale_input_d=scale,
                disable_output_lane=sum(int(mask[number]) << 32 * at for at, mask in enumerate(masks)),
                zero_column_mask=0 if zeros is None else int(zeros[number]),
            )
            addresses = {name: int(array[number]) for name, array in values.items()}
            try:
                whole = _with_descriptor(form, addresses.pop("idesc"), a_space)
                issue = _Issue(machine, instruction, thread, whole.cta_group)
                _multiply(issue, whole, addresses, modifiers)
            except PtxlabError as error:
                raise PtxlabError(f"{instruction.where}: {error}") from None

    return MachineStep(instruction, execute)


def _last(
    operands: Sequence[PtxOperand], instruction: PtxInstruction, context: Context, ws: bool
) -> tuple[Read | None, int]:
    """The zero-column mask descriptor of `.ws`, 64 bits, and the number `scale-input-d` of the others."""
    zero_columns, scale = None, 0
    for operand in operands:
        if ws or isinstance(operand, Register):
            zero_columns = reader(operand, 64, instruction, context)
        elif isinstance(operand, Immediate):
            scale = operand.value
    return zero_columns, scale


def _multiply(
    issue: _Issue, form: TensorInstruction, addresses: dict[str, int], modifiers: Modifiers
) -> None:
    """One instruction: operands from tensor and shared memory, D to tensor memory."""
    machine, group = issue.machine, issue.blocks
    memory = _memory(machine).words
    arrays = {}
    first = addresses["d"] >> 16  # the lane at which D, A and metadata begin; lanes are counted from it here
    if first not in form.path.alignments:
        lanes = " or ".join(map(str, form.path.alignments))
        raise PtxlabError(f"D begins in lane {first}; that of layout {form.path.name} begins in lane {lanes}")
    for name, operand in form.inputs.items():
        at = addresses["d" if name == "c" else name]
        if isinstance(operand, TensorOperand):
            is_scale = name.startswith("scale")
            lane, lane_mask = (0, ALL_LANES) if is_scale else (first, form.path.lanes(first))
            # CUTLASS leaves the selector of scales in the upper two bits of their address.
            start = _column(operand, at & 0x3FFFFFFF if is_scale else at, lane)
            columns = slice(start, start + operand.columns)
            parts = [np.roll(memory[block, :, columns], -lane, axis=0) for block, _ in group]
            issue.notify("read", range(start, columns.stop), lane_mask)
            arrays[name] = np.concatenate(parts)[None]
        elif form.decompress and name == "b":
            arrays[name] = _looked_up(issue, form, at, addresses["lut"])[None]
        else:
            tiles = [_tile(issue, form, operand, at, rank) for _, rank in group]
            arrays[name] = np.concatenate(tiles, axis=0 if name == "a" else 1)[None]
    modifiers = replace(
        modifiers, disable_output_lane=_from_lane(modifiers.disable_output_lane, first, form.cta_group)
    )
    operands = Operation(form, modifiers=form.check_modifiers(modifiers), **arrays)
    machine.multiplied(issue.instruction, operands, issue.thread)
    model = machine.launch.model
    d = emulate(operands, model=model if model is not None and has(form, model) else None)[0]
    start = _column(form.d, addresses["d"], first)
    columns = slice(start, start + form.d.columns)
    issue.notify("write", range(start, columns.stop), form.path.lanes(first))
    for number, (block, _) in enumerate(group):
        words = np.roll(d[LANES * number : LANES * (number + 1)], first, axis=0)
        memory[block, :, columns] = words
    if form.ashift and isinstance(form.a, TensorOperand):
        start = _column(form.a, addresses["a"], first)
        issue.notify("write", range(start, start + form.a.columns))
        for block, _ in group:
            memory[block] = emulate_tcgen05_transfer.shift_rows(memory[block], start, form.a.columns)


def _from_lane(mask: int, first: int, ctas: int) -> int:
    """A mask of lanes, rotated in each CTA so that its lowest bit is lane `first`."""
    all_lanes = (1 << LANES) - 1
    parts = [mask >> LANES * cta & all_lanes for cta in range(ctas)]
    rotated = [(part >> first | part << LANES - first) & all_lanes for part in parts]
    beyond = mask >> LANES * ctas << LANES * ctas  # `check_modifiers` refuses these
    return sum(part << LANES * cta for cta, part in enumerate(rotated)) | beyond


def _column(operand: TensorOperand, at: int, first: int) -> int:
    """The column at which an operand begins; its lane must be `first`."""
    lane, column = at >> 16, at & 0xFFFF
    if lane != first or column + operand.columns > COLUMNS:
        raise PtxlabError(
            f"{operand.name} of {operand.columns} columns begins in lane {lane}, column {column}; here it "
            f"begins in lane {first}, and ends before column {COLUMNS}"
        )
    return column


def _tile(issue: _Issue, form: TensorInstruction, operand: Operand, code: int, rank: int) -> NDArray[Any]:
    """A CTA's part of A, [M, K], or of B, [K, N], read through its descriptor."""
    is_a = operand.name == "A"
    lines, k = operand.shape if is_a else operand.shape[::-1]
    rows, along = np.arange(lines // form.cta_group)[:, None], np.arange(k)[None, :]
    packing = operand.packing or Packing()
    transposed, own_bits = packing.mn_major, operand.dtype.bits
    by_bytes = own_bits == 6 or packing.padded
    bits = 8 if by_bytes else own_bits
    fields = descriptor(code, family="tcgen05")
    if by_bytes and not packing.padded:
        along = np.arange(k * own_bits // 8)[None, :]
    places = fields.addresses(rows, along, bits=bits, major="MN" if transposed else "K")
    content = issue.load(places, max(bits, 8), rank).reshape(places.shape)
    if by_bytes:
        content = content.T if transposed else content
        count = len(rows) if transposed else k
        single = np.unpackbits(content, axis=-1, bitorder="little")
        at = line_bits(operand, count)[:, None] + np.arange(own_bits)
        content = (single[:, at] << np.arange(own_bits, dtype=np.uint8)).sum(axis=-1, dtype=np.uint8)
        content = content.T if transposed else content
    elif bits < 8:
        content = content >> (along * bits % 8).astype(np.uint8) & np.uint8((1 << bits) - 1)
    codes = content.astype(operand.dtype.code_type)
    return codes if is_a else codes.T


def _looked_up(issue: _Issue, form: TensorInstruction, code: int, at: int) -> NDArray[Any]:
    """B, [K, N], from its indices in shared memory and its lookup table in tensor memory."""
    group, lane, column = issue.blocks, at >> 16, at & 0xFFFF
    if lane or column % 2 or column + 2 > COLUMNS:
        raise PtxlabError(
            f"the lookup table begins in lane {lane}, column {column}; it begins in lane 0, in an even "
            f"column before {COLUMNS}"
        )
    words = np.concatenate(
        [_memory(issue.machine).words[block, :, column : column + 2] for block, _ in group]
    )
    issue.notify("read", range(column, column + 2))
    fields = descriptor(code, family="tcgen05")
    rows = np.arange(form.n // form.cta_group)[:, None]
    places = fields.addresses(rows, np.arange(COLUMN_BYTES), bits=8)
    columns = [issue.load(places, 8, rank).reshape(places.shape) for _, rank in group]
    segment = fields.segment if isinstance(fields, Tcgen05Descriptor) else 0
    return unpack_lookup(form, np.concatenate(columns), words, segment)
