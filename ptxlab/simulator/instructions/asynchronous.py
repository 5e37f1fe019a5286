"""Instructions that copy while threads go on: `cp.async`, bulk copies, TMA; and `clusterlaunchcontrol`.

PTX ISA, "Data Movement and Conversion Instructions: Asynchronous copy" and "Parallel Synchronization and
Communication Instructions: clusterlaunchcontrol".

A copy takes place when it is issued, and its completion is signalled at once: a kernel that waits correctly
cannot tell the difference. Observers are notified of copies and waits, so that missing waits are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...memory import Im2colMap, TensorMap
from ..device_memory import SHARED_START, in_block
from ..hazard import threads_text
from ..launch_threads import Threads
from ..machine import Frame, Machine, MachineStep
from ..ptx.syntax import Address, Immediate, PtxInstruction, Register, type_bits
from .builders import Context, builds, unsupported
from .control import undefined
from .loads import REDUCTIONS, atomic_update, combination, combined, plain_store
from .mbarrier_builders import BarrierChange, barrier_place, read_masks, update_barriers, update_in_blocks
from .operands import Read, address, announced, items_of, reader, readers, writer
from .tensor_copies import Boxes, load_boxes, map_at, store_boxes

_BULK_UNIT = 16  # bytes: sizes and addresses of bulk copies are multiples of it
_MAX_ELEMENTS = 1 << 20  # of bulk copies in one access
_GATHERED_ROWS = 4  # of tile::gather4 and tile::scatter4

# -- cp.async ------------------------------------------------------------------------------------------------


@builds("cp.async")
def _copy(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`cp.async` of 4, 8 or 16 bytes."""
    target, source, size, *others = instruction.operands
    place, origin = address(target, instruction, context), address(source, instruction, context)
    if not isinstance(size, Immediate) or size.value not in (4, 8, 16):
        raise unsupported(instruction)
    width = size.value
    chosen: Read | None = None  # how many bytes are read, the others become 0; or whether none are
    if others and not any(part.endswith("cache_hint") for part in instruction.parts):
        is_predicate = isinstance(others[0], Register) and others[0].type == "pred"
        chosen = reader(others[0], 1 if is_predicate else 32, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        memory = machine.memory
        targets, sources = place(machine, frame, threads), origin(machine, frame, threads)
        if chosen is None:
            words = memory.load(instruction, "global", threads, sources, 32, width // 4)
        else:
            words = load_part(machine, threads, sources, chosen(machine, frame, threads))
        memory.store(instruction, "shared", threads, targets, words)

    def load_part(
        machine: Machine, threads: Threads, sources: NDArray[Any], part: NDArray[Any]
    ) -> list[NDArray[Any]]:
        """The words of a copy that may read fewer bytes than it writes; if none, any address is fine."""
        size = np.where(part, 0, width) if part.dtype == np.bool_ else part.astype(np.int64)
        beyond = size > width
        if beyond.any():
            which = int(np.flatnonzero(beyond)[0])
            thread = threads.batch.name(int(threads.indices[which]))
            raise undefined(
                instruction, threads.where(beyond),
                f"{instruction.where}: {instruction.opcode}: {thread} reads {size[which]} bytes "
                f"and copies {width}: src-size is at most cp-size",
                remedy=f"a src-size of at most {width}",
            )  # fmt: skip
        machine.memory.check_aligned(instruction, "read", threads, sources, size, width)
        words = [np.zeros(threads.count, dtype=np.uint32) for _ in range(width // 4)]
        whole = size == width
        if whole.any():
            ours = threads.where(whole)
            loaded = machine.memory.load(instruction, "global", ours, sources[whole], 32, width // 4)
            for word, values in zip(words, loaded, strict=True):
                word[whole] = values
        for byte in range(int(size[~whole].max(initial=0))):
            reads = ~whole & (size > byte)
            word_bytes = words[byte // 4].view(np.uint8).reshape(-1, 4)
            readers = threads.where(reads)
            (values,) = machine.memory.load(instruction, "global", readers, sources[reads] + byte, 8)
            word_bytes[reads, byte % 4] = values
        return words

    return MachineStep(instruction, execute)


_GROUPS = (
    "cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all", "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group",
)  # fmt: skip


@builds(*_GROUPS)
def _commit_or_wait(instruction: PtxInstruction, context: Context) -> MachineStep:
    operand = instruction.operands[0] if instruction.operands else Immediate(0)
    count = operand.value if isinstance(operand, Immediate) else 0
    kind = ".".join(part for part in instruction.parts if part != "read")
    if kind not in _GROUPS:  # it has an unknown qualifier
        raise unsupported(instruction)
    return announced(instruction, kind, count)


@builds("cp.async.mbarrier")
def _copy_arrives(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`cp.async.mbarrier.arrive`: the thread's copies are done, so it arrives at once."""
    place = barrier_place(instruction.operands[0], instruction, context)
    counted = "noinc" in instruction.parts

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        places = place(machine, frame, threads)
        machine.synchronised(instruction, "cp.async.mbarrier.arrive", threads, places)
        if counted:  # otherwise the pending count goes up by one, and down again
            one = np.ones(threads.count, dtype=np.int64)
            update_barriers(machine, instruction, threads, places, BarrierChange.arrive(one))

    return MachineStep(instruction, execute)


# -- bulk copies and TMA -------------------------------------------------------------------------------------


def _spaces(instruction: PtxInstruction) -> list[str]:
    """Destination and source."""
    names = {"shared::cluster": "shared", "shared::cta": "shared", "global": "global"}
    return [names[part] for part in instruction.parts if part in names]


@dataclass(frozen=True)
class _BulkElements:
    """What bulk copies of several threads consist of: a source and a destination for each element."""

    copiers: Threads
    sizes: NDArray[np.int64]  # in bytes, of each copier's copy
    copier: NDArray[np.intp]  # for each element: which of the copiers copies it
    threads: Threads  # for each element: the thread that copies it
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]


def _bulk_elements(
    instruction: PtxInstruction, context: Context, width: int
) -> Callable[[Machine, Frame, Threads], Iterator[_BulkElements]]:
    """Reads the operands of bulk copies, checks them, and cuts the copies into elements of `width` bytes.

    If there are many elements, some threads come after the others, so that no access is too large.
    """
    target, source, size, *_ = instruction.operands
    places, origins = address(target, instruction, context), address(source, instruction, context)
    length = reader(size, 32, instruction, context)
    change = "atomic" if "reduce" in instruction.parts else "write"

    def elements(machine: Machine, frame: Frame, threads: Threads) -> Iterator[_BulkElements]:
        sizes = length(machine, frame, threads).astype(np.int64)
        wrong = sizes % _BULK_UNIT != 0
        if wrong.any():
            which = int(np.flatnonzero(wrong)[0])
            thread = threads.batch.name(int(threads.indices[which]))
            raise undefined(
                instruction, threads.where(wrong),
                f"{instruction.where}: {instruction.opcode}: {thread} copies {sizes[which]} bytes, which is "
                f"not a multiple of {_BULK_UNIT}",
                remedy=f"a size that is a multiple of {_BULK_UNIT}",
            )  # fmt: skip
        shared = machine.memory.shared_size - SHARED_START
        if int(sizes.max()) > shared:
            raise PtxlabError(f"{int(sizes.max())} bytes: the block has {shared} bytes of shared memory")
        starts = origins(machine, frame, threads).astype(np.int64)
        ends = places(machine, frame, threads).astype(np.int64)
        machine.memory.check_aligned(instruction, "read", threads, starts, sizes, _BULK_UNIT)
        machine.memory.check_aligned(instruction, change, threads, ends, sizes, _BULK_UNIT)
        counts = (sizes // width).astype(np.intp)  # np.repeat takes np.intp, of 32 bits in a browser
        if int(counts.sum()) > _MAX_ELEMENTS and threads.count > 1:
            half = np.arange(threads.count) < threads.count // 2
            yield from elements(machine, frame, threads.where(half))
            yield from elements(machine, frame, threads.where(~half))
            return
        copier = np.repeat(np.arange(threads.count), counts)
        steps = width * (np.arange(len(copier)) - np.repeat(np.cumsum(counts) - counts, counts))
        repeated = Threads.listed(threads.batch, threads.indices[copier])
        yield _BulkElements(threads, sizes, copier, repeated, starts[copier] + steps, ends[copier] + steps)

    return elements


@builds("cp.async.bulk")
def _bulk_copy(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`cp.async.bulk` of a row of bytes."""
    others = instruction.operands[3:]
    to, origin = _spaces(instruction)
    elements = _bulk_elements(instruction, context, _BULK_UNIT)
    barrier = _bulk_barrier(instruction, context)
    mask = None
    if "multicast::cluster" in instruction.parts:
        mask = reader(others[1], 16, instruction, context)
    chosen_bytes = reader(others[-1], 16, instruction, context) if "cp_mask" in instruction.parts else None

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        for part in elements(machine, frame, threads):
            words = machine.memory.load(
                instruction, origin, part.threads, part.sources, 32, _BULK_UNIT // 4, "async"
            )
            masks = read_masks(mask, machine, frame, part.copiers)
            if chosen_bytes is not None:
                content = np.stack(words, axis=-1).view(np.uint8)
                bits_of_mask = chosen_bytes(machine, frame, part.copiers)[part.copier]
                for byte in range(_BULK_UNIT):
                    chosen = bits_of_mask >> np.uint16(byte) & 1 != 0
                    writers = Threads.listed(threads.batch, part.threads.indices[chosen])
                    values = [content[chosen, byte]]
                    machine.memory.store(
                        instruction, to, writers, part.targets[chosen] + byte, values, "async"
                    )
            elif masks is None:
                machine.memory.store(instruction, to, part.threads, part.targets, words, "async")
            else:
                for rank in range(machine.batch.grid.cluster_size):
                    chosen = masks[part.copier] >> rank & 1 != 0
                    writers = Threads.listed(threads.batch, part.threads.indices[chosen])
                    values = [word[chosen] for word in words]
                    targets = in_block(part.targets[chosen], rank)
                    machine.memory.store(instruction, to, writers, targets, values, "async")
            if barrier is not None:
                change = BarrierChange.receive(part.sizes)
                places = barrier(machine, frame, part.copiers)
                update_in_blocks(machine, instruction, part.copiers, places, change, masks)

    return MachineStep(instruction, execute)


@builds("cp.reduce.async.bulk")
def _bulk_reduction(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`cp.reduce.async.bulk`: an atomic operation for each element of a row."""
    type_name = instruction.parts[-1]
    bits = type_bits(type_name) or 32
    to, origin = _spaces(instruction)
    elements = _bulk_elements(instruction, context, bits // 8)
    barrier = _bulk_barrier(instruction, context)
    kind = next(part for part in instruction.parts if part in REDUCTIONS)
    combine = combination(instruction, kind, type_name, to)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        for part in elements(machine, frame, threads):
            words = machine.memory.load(instruction, origin, part.threads, part.sources, bits, 1, "async")
            update = combined(combine, words)
            machine.memory.update(instruction, to, part.threads, part.targets, bits, update)
            if barrier is not None:
                change = BarrierChange.receive(part.sizes)
                places = barrier(machine, frame, part.copiers)
                update_barriers(machine, instruction, part.copiers, places, change)

    return MachineStep(instruction, execute)


def _bulk_barrier(instruction: PtxInstruction, context: Context) -> Read | None:
    """The mbarrier that a bulk copy signals, if it has one."""
    if any(part.startswith("mbarrier") for part in instruction.parts):
        return address(instruction.operands[3], instruction, context)
    return None


@builds("cp.async.bulk.tensor", "cp.reduce.async.bulk.tensor")
def _tensor_copy(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`cp.async.bulk.tensor`: boxes that a tensor map describes."""
    to, _ = _spaces(instruction)
    parts = instruction.parts
    is_im2col = any(part in ("im2col", "im2col_no_offs") for part in parts)
    gathered_rows = (
        _GATHERED_ROWS if any(part in ("tile::gather4", "tile::scatter4") for part in parts) else 0
    )
    if any(part.startswith("im2col::") for part in parts):
        raise unsupported(instruction)
    loads = to == "shared"
    first, second, *others = instruction.operands
    tensor_operand, shared_operand = (second, first) if loads else (first, second)
    if not isinstance(tensor_operand, Address) or tensor_operand.coordinates is None:
        raise unsupported(instruction)
    map_place = address(tensor_operand, instruction, context)
    coordinates = readers(tensor_operand.coordinates.items, 32, instruction, context)
    box_place = address(shared_operand, instruction, context)
    barrier = address(others[0], instruction, context) if loads else None
    offsets: tuple[Read, ...] = ()
    if is_im2col and loads:
        vector = others.pop(1)
        offsets = readers(items_of(vector), 16, instruction, context)
    mask = None
    if "multicast::cluster" in parts:
        mask = reader(others[1], 16, instruction, context)
    reduction = next((part for part in parts if part in REDUCTIONS), "")

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        used = map_place(machine, frame, threads)
        if machine.launch.changes_maps:
            machine.synchronised(instruction, "tensormap.use", threads, used)
        places, which = np.unique(used, return_inverse=True)
        tensors = [map_at(machine.launch, place) for place in places.tolist()]
        corners = np.stack([read(machine, frame, threads) for read in coordinates], axis=-1).view(np.int32)
        for tensor in tensors:
            _check_mode(tensor, corners.shape[1], is_im2col, gathered_rows)
        starts = corners[:, ::-1].astype(np.int64)
        if is_im2col:
            shifts = np.zeros((threads.count, starts.shape[1] - 2), dtype=np.int64)
            for axis, read in enumerate(reversed(offsets)):
                shifts[:, axis] = read(machine, frame, threads)
            starts = np.concatenate([shifts, starts], axis=1)
        boxes = Boxes(tensors, which, starts, box_place(machine, frame, threads), gathered_rows)
        sizes = np.array([tensor.expect_tx for tensor in tensors], dtype=np.int64)[which] * max(
            gathered_rows, 1
        )
        masks = read_masks(mask, machine, frame, threads)
        if not loads:
            store_boxes(machine.memory, instruction, threads, boxes, reduction)
        elif masks is None:
            load_boxes(machine.memory, instruction, threads, boxes)
        else:
            number, rank = np.nonzero(masks[:, None] >> np.arange(machine.batch.grid.cluster_size) & 1)
            copies = boxes.select(number)
            copies = replace(copies, addresses=in_block(copies.addresses, rank))
            some = Threads.listed(threads.batch, threads.indices[number])
            load_boxes(machine.memory, instruction, some, copies)
        if barrier is not None:
            change = BarrierChange.receive(sizes)
            update_in_blocks(machine, instruction, threads, barrier(machine, frame, threads), change, masks)

    return MachineStep(instruction, execute)


def _check_mode(tensor: TensorMap, coordinates: int, is_im2col: bool, gathered_rows: int) -> None:
    """Refuse a tensor map that the instruction does not take."""
    if is_im2col != isinstance(tensor, Im2colMap):
        kind, other = ("tiled", "im2col") if is_im2col else ("of im2col", "tiled")
        raise PtxlabError(f"the tensor map is {kind}, and the instruction takes one that is {other}")
    if gathered_rows and (tensor.rank != 2 or tensor.box[0] != 1):
        raise PtxlabError(
            f"the tensor map has a box of {tensor.box}; tile::gather4 and tile::scatter4 take two axes, and "
            "a box of one row"
        )
    if not gathered_rows and tensor.rank != coordinates:
        raise PtxlabError(f"the tensor map has {tensor.rank} axes")


@builds("st.async", "red.async")
def _store_async(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`st.async` and `red.async`: to a block of the cluster; an mbarrier there counts the bytes.

    Without an mbarrier they are strong ones to global memory, which release.
    """
    if len(instruction.operands) == 2:
        return (plain_store if instruction.parts[0] == "st" else atomic_update)(instruction, context)
    target, source, barrier = instruction.operands
    bits = type_bits(instruction.parts[-1]) or 32
    place, signal = address(target, instruction, context), address(barrier, instruction, context)
    reads = readers(items_of(source), bits, instruction, context)
    combine = None
    if instruction.parts[0] == "red":
        kind = next(part for part in instruction.parts if part in REDUCTIONS)
        combine = combination(instruction, kind, instruction.parts[-1], "shared")

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        values = [read(machine, frame, threads) for read in reads]
        places = place(machine, frame, threads)
        if combine is None:
            machine.memory.store(instruction, "shared", threads, places, values, "async")
        else:
            update = combined(combine, values)
            machine.memory.update(instruction, "shared", threads, places, bits, update)
        sizes = np.full(threads.count, bits // 8 * len(values), dtype=np.int64)
        update_barriers(
            machine, instruction, threads, signal(machine, frame, threads), BarrierChange.receive(sizes)
        )

    return MachineStep(instruction, execute)


# -- clusterlaunchcontrol ------------------------------------------------------------------------------------

#: A response, opaque to programs: the first ctaid of the cluster that was cancelled, and whether one was.
_NONE_LEFT = (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)


@builds("clusterlaunchcontrol.try_cancel")
def _try_cancel(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`try_cancel`: the next cluster of the grid does not begin; the requesting block takes over its work."""
    response, barrier = (barrier_place(operand, instruction, context) for operand in instruction.operands)
    multicast = "multicast::cluster::all" in instruction.parts

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        after_failure = np.flatnonzero(machine.none_left_to_cancel[threads.blocks])
        if len(after_failure):
            thread = threads_text(machine.batch, threads.indices[after_failure[:1]])
            raise PtxlabError(
                f"{thread} asks again after its block has seen a request fail: that is undefined"
            )
        grid = machine.batch.grid
        responses = [machine.launch.cancel_next(grid) or _NONE_LEFT for _ in range(threads.count)]
        words = list(np.array(responses, dtype=np.uint32).T.copy())
        places, signals = response(machine, frame, threads), barrier(machine, frame, threads)
        masks = None
        if multicast:
            for rank in range(grid.cluster_size):
                machine.memory.store(instruction, "shared", threads, in_block(places, rank), words, "async")
            masks = np.full(threads.count, (1 << grid.cluster_size) - 1)
        else:
            machine.memory.store(instruction, "shared", threads, places, words, "async")
        change = BarrierChange.receive(np.full(threads.count, 4 * len(words), dtype=np.int64))
        update_in_blocks(machine, instruction, threads, signals, change, masks)

    return MachineStep(instruction, execute)


@builds("clusterlaunchcontrol.query_cancel")
def _query_cancel(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`query_cancel`: what a response says."""
    destination, source = instruction.operands
    read = reader(source, 128, instruction, context)
    is_query = "is_canceled" in instruction.parts
    axes = [part[-1] for part in instruction.parts if part.startswith("get_first_ctaid::")]
    axis = "xyz".index(axes[0]) if axes else 0
    writes = [writer(item, instruction) for item in items_of(destination)]

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        words = read(machine, frame, threads).copy().view(np.uint32).reshape(-1, 4)
        if is_query:
            canceled = words[:, 3] != 0
            machine.none_left_to_cancel[threads.blocks[~canceled]] = True
            writes[0](frame, threads, canceled)
            return
        for number, write in enumerate(writes):
            write(frame, threads, words[:, axis + number].copy())

    return MachineStep(instruction, execute)
