"""A machine that runs warps one by one, in the order that a schedule says.

An agent is a warp, or an asynchronous copy that was issued: it takes place when it is chosen. A turn of a
warp begins where it stands and ends behind its next visible instruction, such as an atomic operation or a
wait. Diverged lanes of a warp take the order of `Machine`: those with the lowest program counter first.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .launch_threads import Batch, Threads
from .machine import Frame, Launch, Machine, MachineStep, _Waiting
from .ptx.syntax import Immediate, PtxInstruction
from .schedule import Agent, Stops
from .spinning import Probe

if TYPE_CHECKING:
    from .module_image import ModuleImage

_STRONG = frozenset({"relaxed", "acquire", "release", "volatile", "mmio"})
_WAITS = {
    ("cp", "async", "wait_group"): "cp.async",
    ("cp", "async", "wait_all"): "cp.async",
    ("cp", "async", "bulk", "wait_group"): "bulk",
}
_COMMITS = {"cp.async.commit_group": "cp.async", "cp.async.bulk.commit_group": "bulk"}
_MAX_TURNS = 200  # of one agent in a row, while others could go on


def is_copy(instruction: PtxInstruction) -> bool:
    """Whether it starts something that takes place later: an asynchronous copy, reduction or arrival."""
    parts = instruction.parts
    if parts[:2] == ("cp", "async") or parts[:3] == ("cp", "reduce", "async"):
        return not {"wait_group", "wait_all", "commit_group", "prefetch"} & set(parts[2:4]) and (
            "mbarrier" not in parts[2:3] or "noinc" in parts
        )
    return parts[:2] in (("st", "async"), ("red", "async")) and len(instruction.operands) > 2


def visible_instructions(image: ModuleImage) -> Stops:
    """Instructions by which warps synchronise, or may: those behind which every turn ends."""
    return frozenset(
        (name, instruction.index)
        for name, function in image.module.functions.items()
        for instruction in function.instructions
        if _is_visible(instruction)
    )


def _is_visible(instruction: PtxInstruction) -> bool:
    parts = instruction.parts
    if is_copy(instruction) or parts[:3] in _WAITS or parts[:4] in _WAITS:
        return True
    if parts[0] in ("ld", "st"):
        return bool(_STRONG & set(parts))
    if parts[0] == "mbarrier":
        return parts[1] not in ("init", "inval", "pending_count")
    if parts[0] in ("bar", "barrier"):
        return parts[1] != "warp"
    return parts[0] in ("atom", "red", "setmaxnreg", "wgmma")


@dataclass(frozen=True)
class Copy:
    """A copy that was issued: its registers as they were then."""

    frame: Frame
    step: MachineStep
    threads: Threads
    family: str  # of the groups that it is in: "cp.async", "bulk", or none, with an mbarrier
    groups: NDArray[np.int64]  # that each lane had committed before
    after: frozenset[Agent]  # copies that take place before it


class _IssuedFrame(Frame):
    """The registers of a call as they were when a copy was issued."""

    def __init__(self, frame: Frame) -> None:
        self.__dict__.update(frame.__dict__)
        self._registers = list(frame._registers)
        self._parts = [None if part is None else copy(part) for part in frame._parts]
        self._owned, frame._owned = bytearray(len(frame._owned)), bytearray(len(frame._owned))
        self._cache = {}


class Listener:
    """Hears of turns; it may choose whose is next."""

    def choose(self, agents: Sequence[Agent]) -> Agent | None:
        """The agent whose turn is next, one of these; None leaves it to the machine."""
        return None

    def begin_turn(self, machine: ScheduledMachine, agent: Agent) -> None:
        """A turn begins."""

    def end_turn(self, machine: ScheduledMachine, agent: Agent, blocked: bool) -> None:
        """A turn has ended; `blocked` if the agent could not go on at all."""

    def issued(self, agent: Agent, copies: Copy) -> None:
        """The agent whose turn it is has issued a copy."""

    def spun(self, agent: Agent, since: int) -> None:
        """What an agent has done from its turn number `since` on repeats without end, and has no effect."""

    def met(self, agents: Sequence[Agent]) -> None:
        """Warps execute an instruction together, in the turn of the last of them."""


class ScheduledMachine(Machine):
    """All blocks of a launch, as a schedule or a listener chooses; in the end, the lowest agent goes on."""

    def __init__(
        self,
        launch: Launch,
        batch: Batch,
        stops: Stops,
        schedule: Sequence[Agent],
        listener: Listener | None = None,
        runs: bool = False,
    ) -> None:
        super().__init__(launch, batch)
        self._visible: dict[str, frozenset[int]] = {}
        for name, index in stops:
            self._visible[name] = self._visible.get(name, frozenset()) | {index}
        self._schedule, self._runs = tuple(schedule), runs
        self._step = 0  # of a schedule of runs
        self._listener = Listener() if listener is None else listener
        self._agent: Agent | None = None
        self._last_agent: Agent | None = None
        self._in_a_row = 0
        self.turn = 0  # how many turns have ended, without those that were blocked
        self._is_over = False  # the agent has executed a visible instruction in this turn
        self._turn_clock = 0
        self._slept = False
        #: Copies that have not taken place, and how many each warp has issued.
        self._copies: dict[Agent, Copy] = {}
        self._issued: dict[int, int] = {}
        self._committed = {family: np.zeros(batch.size, dtype=np.int64) for family in set(_COMMITS.values())}
        #: By warp: its probe with the turn in which that began, and whether it has polled.
        self.probes: dict[Agent, tuple[Probe | None, int, bool]] = {}
        self._probe_turn = 0
        module = launch.entry.function
        self._defers_async = not any(
            instruction.parts[:3] == ("cp", "async", "mbarrier") and "noinc" not in instruction.parts
            for instruction in module.instructions
        )

    # -- whose turn it is ------------------------------------------------------------------------------------

    def _choose(self) -> bool:
        """Go on with the turn, or begin the next."""
        while True:
            if self._spinning and self.memory.writes != self._seen_writes:
                self._wake_spinning()
            if self._agent is not None:
                current = self._take(self._agent)
                if current is not None:
                    self.current = current
                    return True
                self._end_turn(self._agent)
            self._wake()
            agents = self.agents()
            if not agents and not self._release_partial_arrivals():
                return False
            if agents:
                self._begin_turn(self._next(agents))

    def _next(self, agents: list[Agent]) -> Agent:
        while self._runs and self._step < len(self._schedule):
            if self._schedule[self._step] in agents:
                return self._schedule[self._step]
            self._step += 1
        if not self._runs and self.turn < len(self._schedule) and self._schedule[self.turn] in agents:
            return self._schedule[self.turn]
        chosen = self._listener.choose(agents)
        return self.usual(agents) if chosen is None else chosen

    def usual(self, agents: Sequence[Agent]) -> Agent:
        """Copies first, as they were issued; then who had the last turn, then the lowest."""
        copies = [agent for agent in agents if len(agent) > 1]
        if copies:
            return copies[0]
        last = self._last_agent
        if last is None or self._in_a_row < _MAX_TURNS:
            return last if last is not None and last in agents else min(agents)
        return min([agent for agent in agents if agent > last] or agents)

    def agents(self) -> list[Agent]:
        """Who may have the next turn: copies as they were issued, then warps."""
        lowest: dict[Agent, _Waiting] = {}
        for position in sorted(self._pending):
            waiting = self._pending[position]
            for warp in _warps(waiting.threads):
                lowest.setdefault((warp,), waiting)
        ready = [agent for agent, issued in self._copies.items() if not issued.after & self._copies.keys()]
        for agent, waiting in sorted(lowest.items(), key=lambda item: item[0]):
            ours = waiting.threads.where(waiting.threads.indices >> 5 == agent[0])
            if not self._awaits_copies(waiting, ours):
                ready.append(agent)
        return ready

    def _awaits_copies(self, waiting: _Waiting, threads: Threads) -> bool:
        """Whether threads stand at a wait for copies that have not taken place."""
        if not self._copies or waiting.index >= len(waiting.frame.program.steps):
            return False
        instruction = waiting.step.instruction
        parts = instruction.parts
        if parts[:3] not in _WAITS and parts[:4] not in _WAITS:
            return False
        return any(self.is_awaited(instruction, threads, issued) for issued in self._copies.values())

    def is_awaited(self, instruction: PtxInstruction, threads: Threads, issued: Copy) -> bool:
        """Whether threads that wait for groups of copies wait for this one."""
        family = _WAITS.get(instruction.parts[:3]) or _WAITS[instruction.parts[:4]]
        if issued.family != family:
            return False
        ours = np.isin(issued.threads.indices, threads.indices)
        if "wait_all" in instruction.parts:
            return bool(ours.any())
        operand = instruction.operands[0] if instruction.operands else None
        count = operand.value if isinstance(operand, Immediate) else 0
        committed = self._committed[family][issued.threads.indices]
        return bool((ours & (issued.groups < committed - count)).any())

    def _begin_turn(self, agent: Agent) -> None:
        self._agent, self._is_over, self._slept = agent, False, False
        self._turn_clock = self.clock
        self._in_a_row = self._in_a_row + 1 if agent == self._last_agent else 1
        self._probe, self._probe_turn, self.polled = self.probes.get(agent, (None, 0, False))
        self.memory.probe = self._probe
        self._listener.begin_turn(self, agent)

    def _end_turn(self, agent: Agent) -> None:
        blocked = self._slept and self.clock == self._turn_clock + 1
        if len(agent) == 1:
            self.probes[agent] = self._probe, self._probe_turn, self.polled
        self._probe = self.memory.probe = None
        self._listener.end_turn(self, agent, blocked)
        self._agent, self._last_agent = None, agent
        self.turn += not blocked

    def _take(self, agent: Agent) -> _Waiting | None:
        """What an agent executes next in its turn; None if that is over."""
        if self._is_over:
            return None
        if len(agent) > 1:
            self._is_over = True
            issued = self._copies.pop(agent)
            return _Waiting(issued.frame, issued.step.instruction.index, issued.threads)
        for position in sorted(self._pending):
            waiting = self._pending[position]
            ours = waiting.threads.where(waiting.threads.indices >> 5 == agent[0])
            if not ours.count:
                continue
            if self._awaits_copies(waiting, ours):
                return None
            self._is_over = waiting.index in self._visible.get(waiting.frame.program.function.name, ())
            del self._pending[position]
            rest = waiting.threads.without(ours) if ours.count < waiting.threads.count else None
            if rest is not None:
                self._pending[position] = _Waiting(waiting.frame, waiting.index, rest)
            return _Waiting(waiting.frame, waiting.index, ours)
        return None

    # -- what differs from a machine without a schedule ------------------------------------------------------

    def _reconvergence_index(self, frame: Frame, index: int) -> int:
        """Where threads stop: where others of their warp are, before visible instructions and behind them."""
        depth, agent = len(frame.position), self._agent
        visible = self._visible.get(frame.program.function.name, frozenset())
        if index in visible:
            return index + 1
        stops = [stop for stop in visible if stop > index]
        for position, waiting in self._pending.items():
            if position[:depth] != frame.position or len(position) <= depth:
                continue
            reached = position[depth] if len(position) == depth + 1 else position[depth] + 1
            if reached > index and agent is not None and agent[0] in _warps(waiting.threads):
                stops.append(reached)
        return min(stops, default=-1)

    def _advance(self, frame: Frame, index: int, threads: Threads) -> None:
        if not isinstance(frame, _IssuedFrame):
            super()._advance(frame, index, threads)
            return
        self.frame = frame
        self.clock += 1
        super()._execute(frame.program.steps[index], frame, threads)

    def _execute(self, step: MachineStep, frame: Frame, threads: Threads) -> None:
        agent = self._agent
        if agent is not None and is_copy(step.instruction) and self._defers(step.instruction):
            self._issue(step, frame, threads, agent)
            return
        warps = _warps(threads)
        if len(warps) > 1:
            self._listener.met([(warp,) for warp in warps])
        super()._execute(step, frame, threads)

    def _defers(self, instruction: PtxInstruction) -> bool:
        return self._defers_async or "bulk" in instruction.parts or instruction.parts[0] != "cp"

    def _issue(self, step: MachineStep, frame: Frame, threads: Threads, agent: Agent) -> None:
        """A copy is issued: it takes place in a turn of its own."""
        parts, warp = step.instruction.parts, agent[0]
        number = self._issued.get(warp, 0)
        self._issued[warp] = number + 1
        family = "bulk" if "bulk" in parts else "cp.async"
        after: frozenset[Agent] = frozenset()
        if parts[:3] == ("cp", "async", "mbarrier"):  # arrives when the copies of its threads are done
            earlier = (item for item in self._copies.items() if item[1].family == "cp.async")
            lanes = threads.indices
            after = frozenset(name for name, item in earlier if np.isin(item.threads.indices, lanes).any())
        if parts[0] != "cp" or any(part.startswith("mbarrier") for part in parts):
            family, groups = "", np.zeros(threads.count, dtype=np.int64)
        else:
            groups = self._committed[family][threads.indices]
        issued = Copy(_IssuedFrame(frame), step, threads, family, groups, after)
        self._copies[warp, number] = issued
        self._listener.issued((warp, number), issued)

    def synchronised(
        self,
        instruction: PtxInstruction,
        kind: str,
        threads: Threads,
        key: int | NDArray[Any] = 0,
        *,
        completed: bool = False,
    ) -> None:
        """See `Machine`; threads may commit a group of copies."""
        if kind in _COMMITS:
            self._committed[_COMMITS[kind]][threads.indices] += 1
        super().synchronised(instruction, kind, threads, key, completed=completed)

    def sleep(self, frame: Frame, index: int, threads: Threads) -> None:
        """See `Machine`."""
        self._slept = True
        super().sleep(frame, index, threads)

    def _repeated_iteration(self, frame: Frame, origin: int, threads: Threads) -> Probe | None:
        """See `Machine`; every warp has a probe of its own."""
        probe, self._probe, self.memory.probe = self._probe, None, None
        agent = self._agent
        of_this_loop = probe is not None and probe.frame is frame and probe.origin == origin
        if probe is not None and of_this_loop and probe.is_of(threads) and probe.is_repeated():
            if agent is not None:
                self._listener.spun(agent, self._probe_turn)
            return probe
        self._probe = self.memory.probe = Probe(frame, origin, threads, self.clock)
        self._probe_turn = self.turn
        return None

    def live_probes(self) -> list[Probe]:
        """See `Machine`."""
        return super().live_probes() + [probe for probe, *_ in self.probes.values() if probe is not None]

    def name_of(self, agent: Agent) -> str:
        """What an agent is called in words."""
        block, warp = divmod(agent[0] * 32, self.batch.block_lanes)
        coordinates = self.batch.grid.block_of(int(self.batch.numbers[block]))
        name = f"warp {warp // 32}"
        if self.batch.count > 1:
            name = f"block {coordinates}, {name}"
        return name if len(agent) == 1 else f"copy {agent[1] + 1} of {name}"


def _warps(threads: Threads) -> list[int]:
    indices = threads.indices
    first, last = int(indices[0]) >> 5, int(indices[-1]) >> 5
    return [first] if first == last else np.unique(indices >> 5).tolist()
