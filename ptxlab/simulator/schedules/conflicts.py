"""Which turns of a run depend on each other, and which of these pairs another schedule could turn around.

Two turns depend on each other if one of them writes bytes that the other reads or writes, or if they change
the phase of a barrier or mbarrier; reads commute, and so do arrivals in one phase, integer reductions of one
kind without a result, and stores of equal values. What a turn depends on happens before it, transitively. A
pair is a race if nothing else orders it.

Sets of turns are integers: bit n is turn n.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..device_memory import cluster_places
from ..events import Access, Observer, Synchronisation
from ..ptx.syntax import PtxInstruction
from ..schedule import Agent
from ..scheduled_machine import Copy, Listener, ScheduledMachine

if TYPE_CHECKING:
    from ..events import Inspection

_COMMUTING = frozenset({"add", "and", "or", "xor", "min", "max"})
_INTEGERS = ("u", "s", "b")
#: Accesses that do not commute with others of their kind, but for stores of equal values.
_ORDERED = ("write", "update")


def bits_of(turns: int) -> Iterator[int]:
    """The turns of a set, the last first.

    >>> list(bits_of(0b1010))
    [3, 1]
    """
    while turns:
        last = turns.bit_length() - 1
        yield last
        turns ^= 1 << last


@dataclass(frozen=True, eq=False)
class ByteAccess:
    """Bytes of a buffer that an instruction accesses: reads, writes, or a kind that commutes with itself."""

    place: int  # where the buffer begins; -1 is shared memory
    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    kind: str
    instruction: PtxInstruction

    def conflicts(self, other: ByteAccess) -> bool:
        """Whether their order may matter."""
        if self.place != other.place or (self.kind == other.kind and self.kind not in _ORDERED):
            return False
        return bool(np.isin(self.offsets, other.offsets).any())


@dataclass(frozen=True)
class BarrierUse:
    """What a turn does at a barrier or mbarrier."""

    key: tuple[object, ...]
    kind: Literal["arrive", "expect", "wait"]
    completes: bool = False

    def conflicts(self, other: BarrierUse) -> bool:
        """Whether their order may matter."""
        if self.key != other.key or self.kind == other.kind == "wait":
            return False
        return self.completes or other.completes or "expect" in (self.kind, other.kind)


@dataclass
class Footprint:
    """What a turn's visible instruction does, as far as others can tell."""

    accesses: list[ByteAccess] = field(default_factory=list)
    barriers: list[BarrierUse] = field(default_factory=list)

    def conflicts(self, other: Footprint) -> bool:
        """Whether the order of two turns may matter."""
        return any(a.conflicts(b) for a in self.barriers for b in other.barriers) or any(
            a.conflicts(b) for a in self.accesses for b in other.accesses
        )


class _Shadow:
    """For each byte of a buffer: the last group of turns that accessed it alike, and the group before."""

    def __init__(self, size: int) -> None:
        self.current, self.before = np.zeros((2, size), dtype=np.int32)


@dataclass
class _Phase:
    """The turns that used a barrier: those of this phase, those of the phase before, and waits for that."""

    arrivals: int = 0
    expects: int = 0
    previous: int = 0
    waits: int = 0


class Trace(Observer, Listener):
    """The turns of one run, what each depends on, and the races between them."""

    def __init__(self, visible: frozenset[int], unread: frozenset[int] = frozenset()) -> None:
        self._unread = unread  # ids of atomic operations whose result nobody reads
        self._visible = visible  # ids of instructions behind which turns end
        self.agents: list[Agent] = []
        self.past: list[int] = []  # what happens before each turn
        self.footprints: list[Footprint] = []
        self.shown: list[PtxInstruction | None] = []  # of each turn: the visible instruction
        self.races: list[list[int]] = []  # of each turn: earlier ones with which it could change places
        #: Instructions that race in the middle of turns: turns must end behind them.
        self.hidden: dict[int, PtxInstruction] = {}
        self.pure = 0  # turns of a loop that waits
        self._inside: list[list[ByteAccess]] = []  # of each turn, what it does before its visible instruction
        self._known: dict[Agent, int] = {}
        self._now = 0
        self._is_copy = False
        self._groups: list[tuple[str, int]] = [("read", 0)]
        self._numbers: dict[tuple[str, int], int] = {("read", 0): 0}
        self._shadows: dict[int, _Shadow] = {}
        self._phases: dict[tuple[object, ...], _Phase] = {}
        self._copies: dict[Agent, Copy] = {}
        self._machine: ScheduledMachine | None = None
        self._open = False
        self._undecided: list[tuple[ByteAccess, NDArray[np.uint8]]] = []

    def attach(self, machine: Inspection) -> None:
        """See `Observer`."""
        assert isinstance(machine, ScheduledMachine)
        self._machine = machine

    # -- turns -----------------------------------------------------------------------------------------------

    def begin_turn(self, machine: ScheduledMachine, agent: Agent) -> None:
        """See `Listener`."""
        self.agents.append(agent)
        self._now = self._known.get(agent, 0)
        self.footprints.append(Footprint())
        self.shown.append(self._copies[agent].step.instruction if agent in self._copies else None)
        self.races.append([])
        self._inside.append([])
        self._is_copy = len(agent) > 1
        self._open = True

    def end_turn(self, machine: ScheduledMachine, agent: Agent, blocked: bool) -> None:
        """See `Listener`."""
        self._decide()
        self._open = False
        if blocked:
            for items in (self.agents, self.footprints, self.shown, self.races, self._inside):
                items.pop()
            return
        self.past.append(self._now)
        self._known[agent] = self._now | 1 << len(self.past) - 1

    @property
    def turn(self) -> int:
        """The number of the turn that runs."""
        return len(self.past)

    def executed(self, instruction: PtxInstruction, threads: Any) -> None:
        """See `Observer`."""
        if self._open and id(instruction) in self._visible:
            self.shown[-1] = instruction

    def issued(self, agent: Agent, copies: Copy) -> None:
        """See `Listener`."""
        self._known[agent] = self._now | 1 << self.turn
        for other in copies.after:  # an arrival that waits for copies
            self._known[agent] |= self._known[other]
        self._copies[agent] = copies

    def met(self, agents: Sequence[Agent]) -> None:
        """See `Listener`."""
        for agent in agents:
            self._now |= self._known.get(agent, 0)
        for agent in agents:
            self._known[agent] = self._now | 1 << self.turn

    def spun(self, agent: Agent, since: int) -> None:
        """See `Listener`."""
        for turn in range(since, len(self.agents)):
            if self.agents[turn] == agent:
                self.pure |= 1 << turn

    def _depends(self, turns: int, access: ByteAccess | None = None, races: bool = True) -> None:
        """The turn depends on others: those that nothing else orders before it are races."""
        turns &= (1 << self.turn) - 1
        # Pure turns come last: without them the launch would be the same, so that they hide no race.
        for turn in (*bits_of(turns & ~self._now & ~self.pure), *bits_of(turns & ~self._now & self.pure)):
            if self._now >> turn & 1:
                continue
            if races and access is not None and not self._is_visible(access, turn):
                pass
            elif races and turn not in self.races[-1] and not self.pure >> turn & 1:
                self.races[-1].append(turn)
            self._now |= self.past[turn] | 1 << turn

    def _is_visible(self, access: ByteAccess, turn: int) -> bool:
        """Whether two accesses that race end their turns; those that do not are noted."""
        visible = self._ends_turn(access.instruction)
        if not visible:
            self.hidden[id(access.instruction)] = access.instruction
        inside = [other for other in self._inside[turn] if access.conflicts(other)]
        for other in inside:
            self.hidden[id(other.instruction)] = other.instruction
        return visible and not inside

    def _ends_turn(self, instruction: PtxInstruction) -> bool:
        return self._is_copy or id(instruction) in self._visible

    # -- memory ----------------------------------------------------------------------------------------------

    def accessed(self, access: Access) -> None:
        """See `Observer`."""
        if access.space in ("local", "const", "param") or not self._open:
            return
        self._decide()
        if access.proxy == "mbarrier":
            if "test_wait" in access.instruction.parts:
                for key in self._barriers(access.threads, access.addresses):
                    phase = self._phase(key)
                    self._depends(phase.previous)
                    phase.waits |= 1 << self.turn
                    self.footprints[-1].barriers.append(BarrierUse(key, "wait"))
            return
        kind = "read" if access.kind == "mbarrier" else self._kind(access)
        for buffer_access in access.buffer_accesses:
            if buffer_access.buffer is not None and not buffer_access.buffer.writable:
                continue
            offsets = buffer_access.offsets
            if access.width > 1:
                offsets = (offsets[:, None] + np.arange(access.width)).reshape(-1)
            place = -1 if buffer_access.buffer is None else buffer_access.buffer.start
            part = ByteAccess(place, buffer_access.data, offsets, kind, access.instruction)
            if kind == "update":
                self._undecided.append((part, part.data[offsets]))
                continue
            values = None
            if kind == "write" and access.values:
                rows = np.stack(access.values, axis=-1)
                rows = rows if buffer_access.chosen is None else rows[buffer_access.chosen]
                values = np.ascontiguousarray(rows).view(np.uint8).reshape(-1)
            self._touch(part, values)
        if access.kind == "mbarrier":
            self._arrive(access)

    def _decide(self) -> None:
        """An atomic operation that has changed nothing, such as a failed compare-and-swap, is a read."""
        undecided, self._undecided = self._undecided, []
        for part, before in undecided:
            changed = not np.array_equal(part.data[part.offsets], before)
            self._touch(part if changed else replace(part, kind="read"), None)

    def _touch(self, access: ByteAccess, values: NDArray[np.uint8] | None) -> None:
        """Bytes are accessed: find what that depends on, and keep it for later turns."""
        ends = self._ends_turn(access.instruction)
        (self.footprints[-1].accesses if ends else self._inside[-1]).append(access)
        shadow = self._shadows.get(access.place)
        if shadow is None:
            shadow = self._shadows[access.place] = _Shadow(access.data.size)
        offsets, kind, this = access.offsets, access.kind, 1 << self.turn
        groups = shadow.current[offsets]
        turns, places = 0, []
        for number in np.unique(groups).tolist():
            chosen = groups == number
            there = offsets[chosen]
            other, members = self._groups[number]
            joins = other == kind and kind not in _ORDERED
            if kind == other == "write" and values is not None and len(values) == len(offsets):
                unordered = bool(members & ~self._now & ~this)
                joins = unordered and bool((access.data[there] == values[chosen]).all())
            if joins or members & self.pure:
                for before in np.unique(shadow.before[there]).tolist():
                    turns |= self._groups[before][1]
            if not joins:
                turns |= members
            places.append((there, number, joins, members))
        self._depends(turns, access)
        for there, number, joins, members in places:
            if not joins:
                shadow.before[there] = number
            shadow.current[there] = self._group(kind, members | this if joins else this)

    def _group(self, kind: str, members: int) -> int:
        key = kind, members
        if key not in self._numbers:
            self._numbers[key] = len(self._groups)
            self._groups.append(key)
        return self._numbers[key]

    # -- barriers --------------------------------------------------------------------------------------------

    def _phase(self, key: tuple[object, ...]) -> _Phase:
        return self._phases.setdefault(key, _Phase())

    def _barriers(self, threads: NDArray[Any], addresses: NDArray[Any]) -> list[tuple[object, ...]]:
        """The mbarriers at addresses of shared memory, as keys: block and address."""
        assert self._machine is not None
        batch = self._machine.batch
        blocks, places = cluster_places(
            np.asarray(addresses, np.int64), threads // batch.block_lanes, batch.grid.cluster_size
        )
        return list(
            dict.fromkeys(("mbarrier", *pair) for pair in zip(blocks.tolist(), places.tolist(), strict=True))
        )

    def _arrive(self, access: Access) -> None:
        """Arrivals and bytes at mbarriers."""
        assert self._machine is not None
        expects = access.instruction.parts[:2] == ("mbarrier", "expect_tx")
        pitch = self._machine.memory.shared_pitch
        for buffer_access in access.buffer_accesses:
            for offset in np.unique(buffer_access.offsets).tolist():
                key = ("mbarrier", offset // pitch, offset % pitch)
                phase = self._phase(key)
                self._depends(phase.previous | (phase.arrivals if expects else phase.expects))
                phase.arrivals |= 1 << self.turn
                if expects:
                    phase.expects |= 1 << self.turn
                self.footprints[-1].barriers.append(BarrierUse(key, "expect" if expects else "arrive"))

    def _complete(self, key: tuple[object, ...]) -> _Phase:
        """The turn completes a phase."""
        phase = self._phase(key)
        self._depends(phase.waits)
        phase.previous, phase.arrivals, phase.expects, phase.waits = phase.arrivals, 0, 0, 0
        self.footprints[-1].barriers.append(BarrierUse(key, "arrive", completes=True))
        return phase

    def synchronised(self, event: Synchronisation) -> None:
        """See `Observer`."""
        if not self._open:
            return
        assert self._machine is not None
        self._decide()
        batch, kind = self._machine.batch, event.kind
        warps = np.unique(event.threads >> 5).tolist()
        if kind == "mbarrier.phase":
            for key in self._barriers(event.threads, np.asarray(event.key)):
                self._complete(key)
        elif kind == "mbarrier.wait":
            for key in self._barriers(event.threads, np.asarray(event.key)):
                phase = self._phase(key)
                self._depends(phase.previous, races=False)
                phase.waits |= 1 << self.turn
                self.footprints[-1].barriers.append(BarrierUse(key, "wait"))
        elif kind == "bar":
            for block in np.unique(event.threads // batch.block_lanes).tolist():
                key = ("bar", block, event.key)
                phase = self._phase(key)
                if not event.completed:
                    self._depends(phase.previous)
                    phase.arrivals |= 1 << self.turn
                    self.footprints[-1].barriers.append(BarrierUse(key, "arrive"))
                    continue
                if phase.arrivals:
                    phase = self._complete(key)
                known = phase.previous | self._now | 1 << self.turn
                for turn in bits_of(phase.previous & ((1 << self.turn) - 1)):
                    known |= self.past[turn]
                for warp in warps:
                    self._learn((warp,), known)
        elif kind in ("barrier.cluster.arrive", "barrier.cluster.wait"):
            barriers = self._machine.cluster_barriers
            lanes = batch.block_lanes * batch.grid.cluster_size
            for cluster in np.unique(event.threads // lanes).tolist():
                arrived = int(barriers._phases[cluster])
                if event.completed:
                    ours = event.threads[event.threads // lanes == cluster]
                    phase = self._phase(("cluster", cluster, int(barriers._phase_of[ours[0]])))
                    self._depends(phase.arrivals, races=False)
                else:
                    self._phase(("cluster", cluster, arrived)).arrivals |= 1 << self.turn
        elif kind in ("cp.async.wait_group", "cp.async.wait_all", "cp.async.bulk.wait_group"):
            from ..launch_threads import Threads

            threads = Threads(batch, event.threads)
            for agent, issued in self._copies.items():
                if self._machine.is_awaited(event.instruction, threads, issued):
                    self._now |= self._known[agent] & ~(1 << self.turn)
        elif kind.startswith("setmaxnreg"):
            for block in np.unique(event.threads // batch.block_lanes).tolist():
                phase = self._phase(("registers", block))
                self._depends(phase.arrivals, races=False)
                phase.arrivals |= 1 << self.turn

    def _learn(self, agent: Agent, turns: int) -> None:
        """Turns happen before what an agent does next."""
        if agent == self.agents[-1]:
            self._now |= turns & ~(1 << self.turn)
        else:
            self._known[agent] = self._known.get(agent, 0) | turns

    def _kind(self, access: Access) -> str:
        """How an access commutes: reads with reads, integer reductions of one kind with each other."""
        if access.kind in ("read", "write"):
            return access.kind
        instruction, parts = access.instruction, access.instruction.parts
        update = next((part for part in parts if part in _COMMUTING), "")
        is_integer = parts[-1][0] in _INTEGERS and parts[-1][1:2].isdigit()
        if not update or not is_integer or (parts[0] == "atom" and id(instruction) not in self._unread):
            return "update"
        return f"{update}.{parts[-1].lstrip('usb') if update == 'add' else parts[-1]}"
