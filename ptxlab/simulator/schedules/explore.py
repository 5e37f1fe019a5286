"""Every schedule of a launch: those that differ in the order of a conflict, each once.

Stateless exploration with dynamic partial-order reduction: the launch runs again and again; each run says
which pairs of turns race (`conflicts.py`), and a later run turns such a pair around. Source sets and sleep
sets leave out runs that differ from an earlier one only in turns that commute, so that every run that comes
to its end is a class of its own (a Mazurkiewicz trace). C. Flanagan, P. Godefroid, "Dynamic Partial-Order
Reduction for Model Checking Software", POPL 2005; P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas, "Optimal
Dynamic Partial Order Reduction", POPL 2014.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, listing
from ...memory import TensorMap
from ...memory.tensor_maps import MapPointer
from ..hazard import Hazard, HazardError
from ..launch_arguments import Pointer, restored, values_of
from ..module_image import ModuleImage
from ..schedule import Agent, Schedule, Step
from ..scheduled_machine import ScheduledMachine, visible_instructions
from ..simulate import BlockRun, Setup, as_bytes, simulate
from .conflicts import Footprint, Trace

_MAX_TURNS = 20_000  # of a run
_MAX_LANES = 1 << 15  # of a launch
_MAX_SHRINKS = 60  # runs that make a witness shorter


@dataclass(frozen=True)
class Schedules:
    """What the schedules of a launch do: exactly one of `proof`, `witness` and `bound` is there.

    `classes` is how many were run that differ in the order of a conflict. `limits` says what the exploration
    leaves out.
    """

    title: str
    classes: int
    proof: str = ""
    witness: Schedule | None = None
    bound: str = ""
    hazards: tuple[Hazard, ...] = ()
    limits: tuple[str, ...] = ()
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.proof)

    def json(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "title": self.title,
            "classes": self.classes,
            "proof": self.proof,
            "witness": None if self.witness is None else self.witness.json(),
            "bound": self.bound,
            "hazards": [str(hazard) for hazard in self.hazards],
            "limits": list(self.limits),
        }

    def __str__(self) -> str:
        parts = [self.proof or self.bound] if self.witness is None else [str(self.witness)]
        parts += [f"hazard: {hazard}" for hazard in self.hazards]
        return f"{self.title}: " + "\n".join([*parts, *(f"not explored: {limit}" for limit in self.limits)])

    __repr__ = __str__


@dataclass
class Outcome:
    """How a run has ended: the bytes of its arrays, or an error."""

    digest: bytes
    arrays: dict[str, NDArray[Any]]
    error: PtxlabError | None = None

    @property
    def hangs(self) -> bool:
        return (
            isinstance(self.error, HazardError)
            and self.error.hazard is not None
            and self.error.hazard.kind == "deadlock"
        )


@dataclass
class _Node:
    """A state of the exploration, between two turns."""

    agent: Agent
    backtrack: set[Agent]
    sleep: dict[Agent, Footprint]
    blocked: set[Agent] = field(default_factory=set)


class _RedundantError(Exception):
    """All that could come next belongs to a class that was run before."""


class _OutOfTime(Exception):
    """The time is over, and so many branches are left."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left


class _Chooser(Trace):
    """Chooses the turns of one run: those of the stack, then new ones, which it adds to the stack."""

    def __init__(
        self, visible: frozenset[int], unread: frozenset[int], stack: list[_Node], deadline: float
    ) -> None:
        super().__init__(visible, unread)
        self._stack = stack
        self._replayed = len(stack)
        self._deadline = deadline

    def choose(self, agents: Sequence[Agent]) -> Agent | None:
        """See `Listener`."""
        machine = self._machine
        assert machine is not None
        turn = self.turn
        if time.perf_counter() > self._deadline or turn > _MAX_TURNS:
            raise _OutOfTime(1 + sum(len(node.backtrack - node.sleep.keys()) for node in self._stack[1:]))
        if turn < len(self._stack):
            node = self._stack[turn]
            if node.agent in agents and node.agent not in node.blocked:
                return node.agent
            # what was to come next cannot: the others are all to be tried
            node.backtrack |= set(agents)
        else:
            sleep: dict[Agent, Footprint] = {}
            if turn:
                last, footprint = self._stack[turn - 1], self.footprints[turn - 1]
                sleep = {
                    agent: other
                    for agent, other in last.sleep.items()
                    if agent != last.agent and not other.conflicts(footprint)
                }
            node = _Node((), set(), sleep)
            self._stack.append(node)
        awake = [agent for agent in agents if agent not in node.sleep and agent not in node.blocked]
        if not awake:
            if any(agent in node.sleep for agent in agents):
                self._stack.pop()
                raise _RedundantError
            awake = [agent for agent in agents if agent not in node.blocked] or list(agents)
        node.agent = machine.usual(awake)
        node.backtrack.add(node.agent)
        return node.agent

    def end_turn(self, machine: ScheduledMachine, agent: Agent, blocked: bool) -> None:
        """See `Listener`."""
        super().end_turn(machine, agent, blocked)
        turn = len(self.past) - (not blocked)
        if blocked:
            if turn < len(self._stack):
                self._stack[turn].blocked.add(agent)
            return
        if turn >= self._replayed - 1:
            for earlier in self.races[turn]:
                self._turn_around(earlier, turn)

    def _turn_around(self, earlier: int, later: int) -> None:
        """Let a run come in which the later of two turns that race is before the other."""
        after = [turn for turn in range(earlier + 1, later) if not self.past[turn] >> earlier & 1] + [later]
        chosen = sum(1 << turn for turn in after)
        first = [self.agents[turn] for turn in after if not self.past[turn] & chosen]
        node = self._stack[earlier]
        if not node.backtrack & set(first):
            node.backtrack.add(self.agents[later] if self.agents[later] in first else first[0])


class Explorer:
    """Runs the schedules of a launch; arrays stay as they are."""

    def __init__(self, title: str, image: ModuleImage, setup: Setup, seconds: float) -> None:
        self._title, self._image, self._setup = title, image, setup
        self._seconds = seconds
        self._stops = visible_instructions(image)
        self._arrays = arrays_of(setup)
        self.count = 0
        self._instructions = {
            (name, instruction.index): instruction
            for name, function in image.module.functions.items()
            for instruction in function.instructions
        }
        self._places = {id(instruction): place for place, instruction in self._instructions.items()}
        read = {
            (name, register)
            for (name, _), instruction in self._instructions.items()
            for register in instruction.effects[0]
        }
        #: Atomic operations whose result nobody reads.
        self._unread = frozenset(
            id(instruction)
            for (name, _), instruction in self._instructions.items()
            if instruction.parts[0] == "atom"
            and not any((name, register) in read for register in instruction.effects[1])
        )
        self._before = {name: array.copy() for name, array in self._arrays.items()}

    def explore(self) -> Schedules:
        """A proof, a witness, or a bound."""
        start = time.perf_counter()
        lanes = self._setup.grid.block_count * self._setup.grid.lanes
        if lanes > _MAX_LANES:
            bound = (
                f"nothing was explored: the launch has {lanes // 32:,} warps, more than {_MAX_LANES // 32:,}"
            )
            return Schedules(self._title, 0, bound=bound)
        left, reference, witness = 0, None, None
        with restored(self._setup.arguments):
            self._run_unscheduled()
            try:
                for trace, outcome in self.classes(start + self._seconds):
                    reference = reference or outcome
                    if outcome.digest != reference.digest or outcome.error is not None:
                        witness = self._witness(trace, outcome, reference)
                        break
            except _OutOfTime as error:
                left = error.left
        seconds, count = time.perf_counter() - start, self.count
        hazards = () if self._setup.report is None else tuple(self._setup.report.hazards)
        result = Schedules(self._title, count, hazards=hazards, limits=self._limits(), seconds=seconds)
        classes = f"{count:,} class{'' if count == 1 else 'es'} of schedules"
        if witness is not None:
            return replace(result, witness=witness)
        if left:
            bound = (
                f"no other outcome in {classes} within {seconds:.0f} seconds; at least {left} more are left"
            )
            return replace(result, bound=bound)
        if hazards:
            bound = (
                f"{classes}: same bytes, none hangs; a hazard can show in ways that no order of turns does"
            )
            return replace(result, bound=bound)
        proof = f"all {classes} of this launch: same bytes, none hangs"
        if count == 1:
            proof = "all schedules of this launch are one class: same bytes, none hangs"
        return replace(result, proof=proof)

    def _run_unscheduled(self) -> None:
        """Look for hazards as `Kernel.simulate` does."""
        with contextlib.suppress(PtxlabError):
            simulate(self._image, self._setup, (), show=False)

    def classes(self, deadline: float) -> Iterator[tuple[Trace, Outcome]]:
        """Run one schedule of each class: its turns, and how it ends. `count` says how many there were.

        Where turns race in the middle, they get shorter, and everything begins again.
        """
        stack: list[_Node] = []
        self.count = 0
        while True:
            visible = frozenset(id(self._instructions[place]) for place in self._stops)
            chooser = _Chooser(visible, self._unread, stack, deadline)
            outcome = None
            with contextlib.suppress(_RedundantError):
                outcome = self._run((), chooser)
            if chooser.hidden:
                self._stops |= {self._places[number] for number in chooser.hidden}
                stack, self.count = [], 0
                continue
            if outcome is not None:
                self.count += 1
                yield chooser, outcome
            while stack:
                node, turn = stack[-1], len(stack) - 1
                if turn < len(chooser.footprints):
                    node.sleep.setdefault(node.agent, chooser.footprints[turn])
                left = node.backtrack - node.sleep.keys() - node.blocked
                if left:
                    node.agent = min(left)
                    break
                stack.pop()
            if not stack:
                return

    def _run(self, schedule: Sequence[Agent], listener: Trace) -> Outcome:
        """Run the launch once, from the arrays as they were."""
        for name, array in self._arrays.items():
            if array.flags.writeable:
                array[...] = self._before[name]
        run = BlockRun(self._image, replace(self._setup, report=None), counts=False)
        machine = run.scheduled_machine(Schedule((), self._stops), schedule, listener)
        machine.observe((listener,))
        machine.memory.observers = (listener,)
        error = None
        try:
            with np.errstate(all="ignore"):
                machine.run()
        except PtxlabError as caught:
            error = caught
        digest = blake2b(digest_size=16)
        for array in self._arrays.values():
            digest.update(as_bytes(np.ascontiguousarray(array)).tobytes())
        digest.update(b"" if error is None else type(error).__name__.encode())
        return Outcome(digest.digest(), {name: array.copy() for name, array in self._arrays.items()}, error)

    # -- witnesses -------------------------------------------------------------------------------------------

    def _witness(self, trace: Trace, outcome: Outcome, reference: Outcome) -> Schedule:
        """The schedule of a run, made shorter."""

        def differs(other: Outcome) -> bool:
            if outcome.error is not None:
                return other.hangs == outcome.hangs and other.error is not None
            return other.error is None and other.digest != reference.digest

        agents, best = list(trace.agents), (trace, outcome)

        def attempt(shorter: list[Agent]) -> bool:
            nonlocal agents, best
            visible = frozenset(id(self._instructions[place]) for place in self._stops)
            replay = Trace(visible, self._unread)
            other = self._run(shorter, replay)
            if differs(other):
                agents, best = shorter, (replay, other)
                return True
            return False

        if outcome is not reference:
            tries, size = _MAX_SHRINKS, max(len(agents) // 2, 1)
            while size and tries:
                end = len(agents)
                while end > 0 and tries:
                    tries -= 1
                    start = max(end - size, 0)
                    attempt(agents[:start] + agents[end:])
                    end = min(start, len(agents))
                size //= 2
        trace, outcome = best
        steps = []
        for agent, instruction in zip(trace.agents, trace.shown, strict=True):
            assert trace._machine is not None
            place = (0, "", "")
            if instruction is not None:
                place = instruction.source_line, instruction.where, instruction.opcode
            steps.append(Step(agent, trace._machine.name_of(agent), *place))
        return Schedule(tuple(steps), self._stops, self._sentence(outcome, reference))

    def _sentence(self, outcome: Outcome, reference: Outcome) -> str:
        """What comes of a schedule, in words."""
        order = "in this order" if outcome.digest != reference.digest else "already in the usual order"
        if outcome.hangs:
            return f"{order} the launch hangs: {outcome.error}"
        if outcome.error is not None:
            return f"{order} the launch ends with an error: {outcome.error}"
        for name, array in outcome.arrays.items():
            other = reference.arrays[name]
            places = np.flatnonzero(_rows(array) != _rows(other))
            if len(places):
                index = np.unravel_index(int(places[0]), array.shape)
                differ = f"{len(places)} of {array.size} elements"
                place = ", ".join(str(int(number)) for number in index)
                return (
                    f"in this order argument {name}[{place}] is {array[index]}, in the usual order "
                    f"{other[index]} ({differ} differ)"
                )
        return "in this order the result is another"

    def _limits(self) -> tuple[str, ...]:
        """What the exploration leaves out, of what this kernel does."""
        opcodes = {instruction.parts[0] for instruction in self._instructions.values()}
        limits = []
        if opcodes & {"wgmma", "tcgen05"}:
            names = listing(sorted(opcodes & {"wgmma", "tcgen05"}))
            limits.append(
                f"when {names} reads and writes: it does so where it is issued; hazards name missing waits"
            )
        return tuple(limits)


def _rows(array: NDArray[Any]) -> NDArray[Any]:
    """The elements of an array as bytes, for comparison bit by bit."""
    content = np.ascontiguousarray(array)
    return content.view(np.dtype((np.void, content.itemsize))).reshape(-1)


def arrays_of(setup: Setup) -> dict[str, NDArray[Any]]:
    """The arrays of a launch, by the number of their argument; each once."""
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in values_of(setup.arguments):
        if isinstance(value, Pointer):
            array: object = value.memory
        elif isinstance(value, TensorMap | MapPointer):
            array = (value if isinstance(value, TensorMap) else value.tensor).array
        else:
            continue
        if isinstance(array, np.ndarray) and not any(array is other for other in arrays.values()):
            arrays[name] = array
    return arrays
