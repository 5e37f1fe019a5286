"""mbarriers: arrivals, bytes and phases. PTX ISA, "mbarrier".

An mbarrier is opaque to programs. Here its 64 bits are: arrivals still expected (20), arrivals of each phase
(20), bytes still expected (22, with sign), a one if it is valid, and the phase (1, at the top).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, counted
from ..device_memory import RANK_SHIFT, SHARED_WINDOW, cluster_places, in_block, serialised
from ..hazard import HazardError, TooManyArrivalsError, Violation, hazard_of
from ..launch_threads import Threads
from ..machine import Frame, Machine, MachineStep
from ..ptx.syntax import Address, PtxInstruction, PtxOperand, Sink, plain_name
from ..waiting import Awaited, BarrierEvent, phase_bytes
from .builders import Context, builds
from .loads import space_of
from .operands import Read, address, computed, reader, writer

_COUNT_BITS = 20
_COUNT = (1 << _COUNT_BITS) - 1
_TX_SHIFT, _TX = 40, (1 << 22) - 1
_TX_SIGN = 1 << 21
_VALID = np.uint64(1 << 62)
_PHASE = np.uint64(63)  # the position of its bit
_INVALIDATED = np.uint64(1 << _TX_SHIFT)  # what mbarrier.inval leaves


def barrier_place(operand: PtxOperand, instruction: PtxInstruction, context: Context) -> Read:
    """A function that reads the address of an mbarrier in shared memory."""
    place = address(operand, instruction, context)
    if space_of(instruction):
        return place

    def read(machine: Machine, frame: Frame, threads: Threads) -> NDArray[Any]:
        return place(machine, frame, threads) - SHARED_WINDOW

    return read


# -- what an mbarrier counts ---------------------------------------------------------------------------------


class BarrierState(NamedTuple):
    """The fields of mbarriers, an array for each field."""

    pending: NDArray[Any]  # arrivals that are still expected
    expected: NDArray[Any]  # arrivals of each phase
    bytes: NDArray[Any]  # bytes that are still expected
    phase: NDArray[Any]  # its parity

    @classmethod
    def of(cls, words: NDArray[Any]) -> BarrierState:
        """Decode mbarriers from memory."""
        signed = words.astype(np.int64)
        tx = signed >> _TX_SHIFT & _TX
        tx = np.where(tx & _TX_SIGN, tx - (_TX + 1), tx)
        phase = (words >> _PHASE).astype(np.int64)
        return cls(signed & _COUNT, signed >> _COUNT_BITS & _COUNT, tx, phase)

    @property
    def words(self) -> NDArray[Any]:
        """The mbarriers as in memory."""
        low = self.pending | self.expected << _COUNT_BITS | (self.bytes & _TX) << _TX_SHIFT
        return np.asarray(low.astype(np.uint64) | _VALID | self.phase.astype(np.uint64) << _PHASE)


class BarrierChange(NamedTuple):
    """What threads do at mbarriers: arrivals and bytes for each thread.

    Bytes are expected (positive) or have arrived (negative). With `drop`, later phases no longer expect these
    arrivals.
    """

    arrivals: NDArray[Any]
    bytes: NDArray[Any]
    drop: bool = False

    @classmethod
    def arrive(cls, count: NDArray[Any], drop: bool = False) -> BarrierChange:
        """`count` arrivals."""
        return cls(count, np.zeros_like(count), drop)

    @classmethod
    def expect(cls, count: NDArray[Any]) -> BarrierChange:
        """`count` more bytes are expected."""
        return cls(np.zeros_like(count), count)

    @classmethod
    def receive(cls, count: NDArray[Any]) -> BarrierChange:
        """`count` bytes have arrived."""
        return cls(np.zeros_like(count), -count)

    def select(self, index: NDArray[np.intp]) -> BarrierChange:
        """The change of some threads."""
        return BarrierChange(self.arrivals[index], self.bytes[index], self.drop)


_COUNT_ALL = "mbarrier.init states how many"


def _changed(words: NDArray[Any], change: BarrierChange) -> NDArray[Any]:
    """mbarriers after one change each."""
    pending, count, tx, phase = BarrierState.of(words)
    if (change.arrivals > pending).any():
        raise TooManyArrivalsError("an mbarrier gets more arrivals than its phase expects")
    pending, tx = pending - change.arrivals, tx + change.bytes
    if change.drop:
        count = count - change.arrivals
    complete = (pending == 0) & (tx == 0)
    pending = np.where(complete, count, pending)
    phase = np.where(complete, 1 - phase, phase)
    return BarrierState(pending, count, tx, phase).words


def why_invalid(word: int) -> str:
    """Why 8 bytes are no mbarrier, in words; empty if they may be one."""
    if word & int(_VALID):
        return ""
    if word == int(_INVALIDATED):
        return "was invalidated"
    return "was never initialised, or was overwritten" if word else "was never initialised"


#: What is right where no mbarrier is.
INITIALISE = "execute mbarrier.init, and a barrier of all threads that use the mbarrier, first"


def update_barriers(
    machine: Machine,
    instruction: PtxInstruction,
    threads: Threads,
    places: NDArray[Any],
    change: BarrierChange,
    wants_states: bool = False,
) -> NDArray[Any]:
    """Arrivals and bytes at mbarriers in shared memory; returns the states before if `wants_states`."""
    complete: list[NDArray[np.intp]] = []  # one thread for each barrier that has completed a phase
    change_serially = serialised(lambda words, ours: _changed(words, change.select(ours)))

    def update(
        words: NDArray[Any], which: NDArray[np.intp], ours: NDArray[np.intp]
    ) -> tuple[NDArray[Any], NDArray[Any] | None]:
        invalid = np.flatnonzero(words & _VALID == 0)
        if len(invalid):
            users = ours[which == invalid[0]]
            name = _name(machine, int(places[users[0]]))
            fault = f"{{who}} uses {name}, which {why_invalid(int(words[invalid[0]]))}"
            raise _refusal(instruction, threads, users, fault, INITIALISE)
        after, previous = _changed_together(words, which, change.select(ours)), None
        if wants_states or after is None:
            try:
                after, previous = change_serially(words, which, ours)
            except TooManyArrivalsError as error:
                refusal = _refusal(instruction, threads, ours, str(error), _COUNT_ALL)
                raise TooManyArrivalsError(str(refusal), refusal.hazard) from None
        ended = (words ^ after) >> _PHASE != 0
        if previous is not None:
            np.logical_or.at(ended, which, (words[which] ^ previous) >> _PHASE != 0)
        last = np.empty(len(words), dtype=np.intp)
        last[which] = ours
        complete.append(last[ended])
        ended_at[ours] = ended[which]
        return after, previous

    ended_at = np.zeros(threads.count, dtype=np.bool_)
    machine.barrier_changes += 1
    before = machine.memory.update(instruction, "shared", threads, places, 64, update, "mbarrier")
    blocks, addresses = cluster_places(places, threads.blocks, machine.batch.grid.cluster_size)
    machine.barrier_events.append(
        BarrierEvent(instruction, threads, blocks, addresses, change.bytes, ended_at)
    )
    ended = np.concatenate(complete) if complete else np.zeros(0, dtype=np.intp)
    if len(ended):
        completing = Threads.listed(threads.batch, threads.indices[ended])
        machine.synchronised(instruction, "mbarrier.phase", completing, places[ended], completed=True)
    return before


def _refusal(
    instruction: PtxInstruction, threads: Threads, chosen: NDArray[np.intp], fault: str, remedy: str
) -> HazardError:
    """Some threads change an mbarrier in a way that is not defined."""
    indices = threads.indices[chosen]
    fault = fault.replace("{who}", threads.batch.name(int(indices[0])))
    sentence = f"{instruction.where}: {instruction.opcode}: {fault}; {remedy}"
    violation = Violation("mbarrier", instruction, indices, sentence, remedy, space="shared")
    return HazardError(sentence, hazard_of(threads.batch, violation))


def read_masks(
    mask: Read | None, machine: Machine, frame: Frame, threads: Threads
) -> NDArray[np.int64] | None:
    """The ctaMask of each thread, if there is one; it names blocks of the cluster only."""
    if mask is None:
        return None
    masks = mask(machine, frame, threads).astype(np.int64)
    size = machine.batch.grid.cluster_size
    wrong = masks[masks >> size != 0]
    if len(wrong):
        remedy = ": pass cluster=" if size == 1 else ""
        raise PtxlabError(
            f"the mask 0x{int(wrong[0]):x} names blocks that are not there; the cluster has "
            f"{counted(size, 'block')}{remedy}"
        )
    return masks


def update_in_blocks(
    machine: Machine,
    instruction: PtxInstruction,
    threads: Threads,
    places: NDArray[Any],
    change: BarrierChange,
    masks: NDArray[Any] | None,
) -> None:
    """As `update_barriers`; with masks, at the mbarrier of each block of the cluster that the mask names.

    With .cta_group::2 it is the mbarrier of the even or odd block of that pair, depending on the address.
    """
    if masks is None:
        update_barriers(machine, instruction, threads, places, change)
        return
    pairs = "cta_group::2" in instruction.parts
    blocks = threads.indices // machine.batch.block_lanes
    owners, _ = cluster_places(np.asarray(places, np.int64), blocks, machine.batch.grid.cluster_size)
    for rank in range(machine.batch.grid.cluster_size):
        chosen = np.flatnonzero(masks >> rank & 1)
        if len(chosen):
            signalling = Threads(threads.batch, threads.indices[chosen])
            target = rank & ~1 | owners[chosen] & 1 if pairs else rank
            barriers = in_block(places[chosen], target)
            update_barriers(machine, instruction, signalling, barriers, change.select(chosen))


def _changed_together(
    words: NDArray[Any], which: NDArray[np.intp], change: BarrierChange
) -> NDArray[Any] | None:
    """mbarriers after arrivals of several threads; None if a phase may end before the last one.

    `which` is the index of each thread's barrier.
    """
    if change.bytes.any() or (change.arrivals <= 0).any():
        return None
    total = np.bincount(which, weights=change.arrivals, minlength=len(words)).astype(np.int64)
    if (total > BarrierState.of(words).pending).any():
        return None
    return _changed(words, BarrierChange.arrive(total, change.drop))


# -- instructions --------------------------------------------------------------------------------------------


@builds(
    "mbarrier.arrive", "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop", "mbarrier.arrive_drop.expect_tx",
    "mbarrier.expect_tx", "mbarrier.complete_tx",
)  # fmt: skip
def _count(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`arrive` and `arrive_drop`, which first expect bytes with `.expect_tx`; `expect_tx`, `complete_tx`."""
    expects = "expect_tx" in instruction.parts
    arrives, drop = instruction.parts[1].startswith("arrive"), instruction.parts[1] == "arrive_drop"
    operands = list(instruction.operands)
    result = operands.pop(0) if arrives and not isinstance(operands[0], Address) else Sink()
    place = barrier_place(operands.pop(0), instruction, context)
    number = reader(operands[0], 32, instruction, context) if operands or not arrives else None
    write, wants_states = writer(result, instruction), not isinstance(result, Sink)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        places = place(machine, frame, threads)
        one = np.ones(threads.count, dtype=np.int64)
        amount = one if number is None else number(machine, frame, threads).astype(np.int64)
        if expects:
            machine.synchronised(instruction, "mbarrier.expect_tx", threads, places)
        if arrives:
            machine.synchronised(instruction, "mbarrier.arrive", threads, places)
        if expects or not arrives:
            change = BarrierChange.expect(amount) if expects else BarrierChange.receive(amount)
            update_barriers(machine, instruction, threads, places, change)
        if arrives:
            change = BarrierChange.arrive(one if expects else amount, drop)
            states = update_barriers(machine, instruction, threads, places, change, wants_states)
            if wants_states:
                write(frame, threads, states)

    return MachineStep(instruction, execute)


@builds("mbarrier.init", "mbarrier.inval")
def _init(instruction: PtxInstruction, context: Context) -> MachineStep:
    place = barrier_place(instruction.operands[0], instruction, context)
    number = None
    if instruction.parts[1] == "init":
        number = reader(instruction.operands[1], 32, instruction, context)

    def execute(machine: Machine, frame: Frame, threads: Threads) -> None:
        places = place(machine, frame, threads)
        count = np.zeros(threads.count, dtype=np.int64)
        if number is not None:
            count = number(machine, frame, threads).astype(np.int64)
        machine.barrier_changes += 1
        machine.synchronised(instruction, f"mbarrier.{instruction.parts[1]}", threads, places)
        blocks, addresses = cluster_places(places, threads.blocks, machine.batch.grid.cluster_size)
        machine.mbarriers.update(zip(blocks.tolist(), addresses.tolist(), strict=True))
        states = BarrierState(count, count, 0 * count, 0 * count).words
        if number is None:
            states[:] = _INVALIDATED
        machine.memory.store(instruction, "shared", threads, places, [states])

    return MachineStep(instruction, execute)


@builds("mbarrier.pending_count")
def _pending_count(instruction: PtxInstruction, context: Context) -> MachineStep:
    def pending(machine: Machine, threads: Threads, states: NDArray[Any]) -> NDArray[Any]:
        return (states & np.uint64(_COUNT)).astype(np.uint32)

    return computed(instruction, context, (64,), pending)


@builds("mbarrier.test_wait", "mbarrier.try_wait")
def _wait(instruction: PtxInstruction, context: Context) -> MachineStep:
    """`try_wait` sleeps until the phase is complete; `test_wait` tests and goes on."""
    parts = instruction.parts
    destination, target, phase, *_ = instruction.operands
    place = barrier_place(target, instruction, context)
    is_parity = "parity" in parts
    expected = reader(phase, 32 if is_parity else 64, instruction, context)
    write = writer(destination, instruction)
    sleeps = "try_wait" in parts

    def done(machine: Machine, frame: Frame, threads: Threads) -> NDArray[np.bool_]:
        places = place(machine, frame, threads)
        (states,) = machine.memory.load(instruction, "shared", threads, places, 64, 1, "mbarrier")
        phases = expected(machine, frame, threads)
        parity = (phases & phases.dtype.type(1)).astype(np.uint64) if is_parity else phases >> _PHASE
        return np.asarray(states >> _PHASE != parity)

    def control(machine: Machine, frame: Frame, active: Threads) -> None:
        if not active.count:
            return
        complete = done(machine, frame, active)
        going_on, sleeping = active, None
        if sleeps and not complete.all():
            going_on, sleeping = active.where(complete), active.where(~complete)
            complete = complete[complete]
        if going_on.count:
            write(frame, going_on, complete)
            passed = going_on.where(complete)
            if passed.count:
                places = place(machine, frame, passed)
                machine.synchronised(instruction, "mbarrier.wait", passed, places, completed=True)
            machine.schedule(frame, instruction.index + 1, going_on)
            if not complete.all():
                machine.give_way()
        if sleeping is not None:
            machine.sleep(frame, instruction.index, sleeping)

    def awaited(machine: Machine, frame: Frame, threads: Threads) -> Awaited:
        first = Threads.listed(threads.batch, threads.indices[:1])
        at, phases = int(place(machine, frame, first)[0]), expected(machine, frame, first)
        parity = int(phases[0]) & 1 if is_parity else int(phases[0] >> _PHASE)
        return _awaited(machine, first, at, parity)

    return MachineStep(instruction, control=control, awaited=awaited)


def _awaited(machine: Machine, thread: Threads, at: int, parity: int) -> Awaited:
    """What a thread waits for at the mbarrier at an address."""
    owners, addresses = cluster_places(np.array([at]), thread.blocks, machine.batch.grid.cluster_size)
    owner, address = int(owners[0]), int(addresses[0])
    word = machine.shared_of(owner)[address : address + 8].view(np.uint64)
    pending, count, tx, phase = (int(field[0]) for field in BarrierState.of(word))
    name, block = _name(machine, at), machine.batch.grid.block_of(int(machine.batch.numbers[owner]))
    if why_invalid(int(word[0])):
        return Awaited("mbarrier", name, _waited_for(name, word), block, address)
    bytes_expected, bytes_arrived = phase_bytes(machine.barrier_events, owner, address)
    bytes_expected += max(tx - (bytes_expected - bytes_arrived), 0)  # those of events that are not kept
    return Awaited(
        "mbarrier",
        name,
        sentence=_waited_for(name, word),
        block=block,
        address=address,
        arrived=count - pending,
        expected=count,
        bytes_arrived=bytes_arrived,
        bytes_expected=bytes_expected,
        phase=phase,
        parity=parity,
        variable=_variable(machine, address)[1],
    )


def _waited_for(name: str, words: NDArray[Any]) -> str:
    """What is missing at an mbarrier, in words."""
    if why := why_invalid(int(words[0])):
        return f"for {name}, which {why}"
    pending, count, expected, phase = (int(field[0]) for field in BarrierState.of(words))
    missing = []
    if pending:
        missing.append(f"{pending} of {count} arrivals")
    if expected > 0:
        missing.append(f"{expected} bytes")
    if expected < 0:
        missing.append(f"the announcement of {-expected} bytes that have come")
    if not missing:
        missing.append("the parity to change: it is complete, and the next phase has not begun")
    text = f"for {name}, whose phase (parity {phase}) still expects {' and '.join(missing)}"
    if phase == 1 and pending == count and not expected:
        text += "; nobody has arrived in it, and the phase before it is complete: is the parity right?"
    return text


def _name(machine: Machine, at: int) -> str:
    """What messages call the mbarrier at an address of shared memory."""
    at &= (1 << RANK_SHIFT) - 1
    start, name = _variable(machine, at)
    name = f" {plain_name(name)}{f' + {at - start} bytes' if at > start else ''}" if name else ""
    return f"the mbarrier{name} at shared address 0x{at:x}"


def _variable(machine: Machine, at: int) -> tuple[int, str]:
    """The last variable that begins before an address of shared memory: where it does, and its name."""
    # Parameters have a space of their own.
    parameters = {parameter.name for parameter in machine.launch.entry.function.parameters}
    before = [
        (start, name)
        for name, start in machine.launch.symbols.items()
        if start <= at and name not in parameters
    ]
    return max(before, default=(at, ""))
