"""The engine: it runs the threads of a kernel, those with the lowest program counter first.

Threads at the same instruction execute it together. They diverge at a branch on which they disagree, and
reconverge where their program counters meet, since threads that lag behind run first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from .barriers import Barriers, BypassingLanes, ClusterBarriers, RegisterPool
from .deferred import MatrixQueue
from .device_memory import Memory, TensorMemory, TileRead
from .events import BufferAccess, MatrixInputs, Observer, Synchronisation, TensorAccess
from .hazard import HazardError, Violation, hazard_of, lanes_text, threads_text
from .launch_threads import Batch, LaunchGrid, Threads
from .ptx.syntax import Function, PtxInstruction, plain_name
from .register_file import RegisterFile, SpecialRegisters
from .spinning import Probe
from .waiting import Awaited, BarrierEvent, StuckThreads, Waiting, who_waits

if TYPE_CHECKING:
    from ..memory import TensorMap
    from .resident_blocks import ResidentBlocks

#: Backward branches that threads may take before other threads get a turn, in case the loop waits for them.
_MAX_SPINS = 20_000
#: A backward branch counts as this many if the loop polls: it has an atomic operation or a volatile load.
_SPINS_OF_POLL = 1000
_TICK_INSTRUCTIONS = 4096  # instructions between two updates of the progress bar
_MAX_CALLS = 1024  # depth of the call stack
_MAX_FRAME_BYTES = 1 << 30  # registers of all functions on the call stack
_MAX_CACHED_FRAMES = 1024  # frames that are kept for the next call
_MAX_BARRIER_EVENTS = 128  # the last ones at mbarriers, which are kept for `HazardError.waiting`
_MAX_TURNS = 256  # of threads that spin, before blocks begin that would still wait on a chip
_MAX_FAILURES = 10  # after this many failed probes of a loop, only one iteration in 1,024 is probed

#: Where threads are: the call instructions and functions on their stack, down to the next instruction.
_Position = tuple[int, ...]
Execute = Callable[["Machine", "Frame", Threads], None]


@dataclass(slots=True)
class MachineStep:
    """A decoded instruction with either `execute`, or `control`, which also schedules the threads."""

    instruction: PtxInstruction
    execute: Execute | None = None
    control: Execute | None = None
    guard: int | None = None  # the predicate's register
    negated: bool = False
    convergent_lanes: int = 0  # lanes that execute it together: 32 of a warp, 128 of a warpgroup
    membermask: Callable[[Machine, Frame, Threads], NDArray[Any]] | None = None
    awaited: Callable[[Machine, Frame, Threads], Awaited] | None = None  # what threads wait for
    effect: bool = False  # whether it may change more than registers


@dataclass(frozen=True)
class Program:
    """A function, decoded: its steps, its registers' types, and where its variables are in local memory."""

    function: Function
    steps: tuple[MachineStep, ...]
    types: tuple[np.dtype[Any], ...]
    local: dict[str, int]
    local_size: int

    def register(self, name: str) -> int:
        """The number of a register, by its name."""
        return next(register.index for register in self.function.registers if register.name == name)


class Frame(RegisterFile):
    """A call of a function: registers and local memory of all threads in it."""

    def __init__(self, program: Program, position: _Position, base: int, parent: Frame | None = None) -> None:
        super().__init__(program.types)
        self.program = program
        self.position = position
        self.base = base  # of its local memory
        self.parent = parent
        self.children: dict[tuple[int, str], Frame] = {}
        self.stack: NDArray[np.int64] | None = None  # bytes that `alloca` has taken, for each thread
        self.stack_size = 0  # the largest stack so far
        self.carry: NDArray[Any] | None = None
        self.results: tuple[str, ...] = ()
        self.thread_count = 0  # threads that have entered and not returned
        #: Bytes of the registers of all callers.
        self.caller_bytes: int = 0 if parent is None else parent.caller_bytes + parent.nbytes

    @property
    def end(self) -> int:
        """Where the local variables end; `alloca` takes memory from there on."""
        return self.base + self.program.local_size


#: Writes the result of a `bar.red` from the true predicates and the threads of each thread's block.
Reduction = Callable[[Frame, Threads, NDArray[Any], NDArray[Any]], None]


@dataclass
class Launch:
    """What all batches of a launch share."""

    entry: Program
    program: Callable[[str], Program]  # of a function, by name
    functions: dict[int, str]  # by address, for calls through pointers
    symbols: dict[str, int]  # addresses of module variables and functions
    memory: Memory
    observers: tuple[Observer, ...]
    tensor_maps: list[TensorMap]  # the arguments', then those that the kernel derived from them
    output: Callable[[str], None]
    model: str | None = None
    blocks_may_wait: bool = False  # blocks may wait for each other
    #: How many of them a chip runs at a time; None if it does not matter.
    resident_blocks: ResidentBlocks | None = None
    maps_by_content: dict[bytes, TensorMap] = field(default_factory=dict)
    changes_maps: bool = False  # the kernel has changed tensor maps in global memory
    cancels: bool = False  # the kernel has clusterlaunchcontrol.try_cancel
    assembled: bool = False  # values are those of the assembler's code where it is not what PTX says
    #: Blocks yet to begin, by their position in the order in which blocks run: from next to before last.
    next_block: int = 0
    last_block: int = 0

    def cancel_next(self, grid: LaunchGrid) -> tuple[int, int, int, int] | None:
        """Cancel the next cluster: its first ctaid and 1; None if every cluster has begun."""
        if self.next_block >= self.last_block:
            return None
        number = int(grid.block_numbers(self.next_block, self.next_block + 1)[0])
        self.next_block += grid.cluster_size
        wide, high, _ = grid.blocks
        return number % wide, number // wide % high, number // (wide * high), 1


@dataclass(slots=True)
class _Waiting:
    """Threads at an instruction."""

    frame: Frame
    index: int
    threads: Threads

    @property
    def step(self) -> MachineStep:
        """The instruction, ready to execute."""
        return self.frame.program.steps[self.index]


class Machine:
    """One batch of blocks."""

    def __init__(self, launch: Launch, batch: Batch, tick: Callable[[int], None] | None = None) -> None:
        self.launch = launch
        self.batch = batch
        self.memory = launch.memory
        self.observe(launch.observers)
        self.barriers: Barriers[tuple[Frame, PtxInstruction]] = Barriers(batch)
        #: What `bar.red` does with its result, by line of the PTX.
        self.reductions: dict[int, Reduction] = {}
        self.frame: Frame | None = None  # the one that executes now
        self.matrices = MatrixQueue(launch.model)
        self.tile_reads: dict[tuple[int, str, int], TileRead] = {}  # by instruction, operand and descriptor
        self.clock = 0
        #: Whether threads have read, since the last backward branch, what others may write: then a loop that
        #: repeats itself may be one that waits.
        self.polled = False
        self.barrier_changes = 0  # of mbarriers and cluster barriers: threads that wait for one try again
        #: Where threads have ended, and what happened last at mbarriers: for `HazardError.waiting`.
        self.exits: list[tuple[PtxInstruction | None, Threads]] = []
        self.mbarriers: set[tuple[int, int]] = set()  # by block of the batch and address
        self.barrier_events: deque[BarrierEvent] = deque(maxlen=_MAX_BARRIER_EVENTS)
        self.tensor_memory: TensorMemory | None = None  # of all blocks, made by the first tcgen05
        #: Blocks that have been told that there is no cluster left to cancel.
        self.none_left_to_cancel = np.zeros(batch.count, dtype=np.bool_)
        self.cluster_barriers = ClusterBarriers(batch)
        self.register_pool = RegisterPool(batch, launch.entry.function)
        self._special = SpecialRegisters(batch, launch.memory)
        self._pending: dict[_Position, _Waiting] = {}
        self._converging: dict[_Position, _Waiting] = {}
        self._sleeping: list[tuple[_Waiting, int]] = []
        #: Threads at a barrier whose warps have not arrived with all lanes, and barriers that accept that.
        self._partial_arrivals: dict[_Position, _Waiting] = {}
        self._partial_allowed: set[_Position] = set()
        self._bypassing = BypassingLanes(batch)
        self._spins = 0
        self._probe: Probe | None = None
        self._spinning: list[tuple[_Waiting, Probe]] = []
        self._seen_writes = 0
        #: Backward branches of polling loops: how often they were taken, and how often a probe failed.
        self._visits: dict[_Position, tuple[int, int]] = {}
        self._turn = 0
        self._tick = tick
        self._reported = 0
        self._frames = 0  # created so far
        self._begun = batch.count  # blocks that have begun
        self._turns = 0  # that spinning threads have given to others

        #: Threads that go on next, and instructions of functions before which it pauses: see `go_on`.
        self.current: _Waiting | None = None
        self.stops: dict[str, frozenset[int]] = {}
        self._pause: int | None = None

    def observe(self, observers: tuple[Observer, ...]) -> None:
        """Let these observers hear of everything from now on."""
        self.observers = observers
        #: Observers of every instruction, and of every guard.
        self._listeners = [
            observer for observer in observers if type(observer).executed is not Observer.executed
        ]
        self._guard_listeners = [
            observer for observer in observers if type(observer).guarded is not Observer.guarded
        ]

    # -- running ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run all threads to their end."""
        try:
            self.start()
            self.go_on()
        except HazardError as error:
            if error.hazard is not None and error.hazard.kind == "mbarrier":
                error.wait(self._who_waits(self._stuck()))
            raise
        finally:
            self.matrices.end()

    def start(self) -> None:
        """Make everything ready for the first instruction."""
        self.memory.begin(self.batch.count, self.batch.size)
        for observer in self.observers:
            observer.attach(self)
            observer.begin(self.batch)
        entry = self.launch.entry
        self.memory.reserve_local(entry.local_size)
        self.entry_frame, resident_blocks = Frame(entry, (), 0), self.launch.resident_blocks
        count = self.batch.count if resident_blocks is None else resident_blocks.least
        self._begin(self.entry_frame, count)

    def go_on(self, pause: int | None = None) -> bool:
        """Run all threads to their end, or until the clock is `pause`; whether some are left to run.

        A machine that is paused also stops where threads come to one of the instructions in `stops`. The
        threads that run next are then in `current`: going on, it does exactly what it does without a pause.
        """
        self._pause = pause
        has_moved = False
        while True:
            if self.current is None and not self._choose():
                break
            current = self.current
            if current is not None and pause is not None:
                at_stop = current.index in self.stops.get(current.frame.program.function.name, ())
                if self.clock >= pause or (has_moved and at_stop):
                    return True
            has_moved = True
            self.current = None
            if current is not None:
                self._advance(current.frame, current.index, current.threads)
        self._check_stuck()
        for observer in self.observers:
            observer.end()
        return False

    def _choose(self) -> bool:
        """Choose the threads that run next; whether there are any."""
        frame = self.entry_frame
        if self._spinning and self.memory.writes != self._seen_writes:
            self._wake_spinning()
        if not (self._pending or self._wake() or self._begin_next(frame) or self._release_partial_arrivals()):
            return False
        position = min(self._pending)
        if self._spins > _MAX_SPINS and self._begun < self.batch.count:
            self._turns += 1
            if self._turns > _MAX_TURNS:  # what they wait for may never be found out
                self._begin(frame, self.batch.count)
            if len(self._pending) == 1:
                self._spins = 0
        if self._spins > _MAX_SPINS and len(self._pending) > 1:
            positions = sorted(self._pending)
            self._turn = (self._turn + 1) % len(positions)
            position = positions[self._turn]
            self._spins = 0
        self.current = self._pending.pop(position)
        return True

    def _next_pause(self, frame: Frame, index: int, stop: int) -> int:
        """The instruction before which to pause, or `stop`, where others are pending, if that is first."""
        end = index + (self._pause or 0) - self.clock
        stops = self.stops.get(frame.program.function.name, ())
        end = min((other for other in stops if index < other < end), default=end)
        return stop if index < stop <= end else end

    def _begin(self, frame: Frame, count: int) -> None:
        """Let the first `count` blocks of the batch begin, without those that have begun."""
        count = min(count, self.batch.count)
        threads = self.batch.all()
        if count < self.batch.count:
            threads = threads.where(threads.blocks < count)
        if self._begun < self.batch.count:
            threads = threads.where(threads.blocks >= self._begun)
        self._begun = count
        self.schedule(frame, 0, threads)

    def _begin_next(self, frame: Frame) -> bool:
        """Let the blocks begin that now have a place on the chip; whether there are any."""
        resident_blocks, begun = self.launch.resident_blocks, self._begun
        if resident_blocks is None or begun == self.batch.count:
            return False
        size = self.batch.grid.cluster_size
        alive = self.batch.alive.reshape(-1, size * self.batch.block_lanes)[: begun // size].any(axis=1)
        ended = begun - int(np.count_nonzero(alive)) * size
        if resident_blocks.least + ended > begun:
            self._begin(frame, resident_blocks.least + ended)
        elif self._spinning and resident_blocks.most + ended > begun:
            self._begin(frame, resident_blocks.most + ended)
        return self._begun > begun

    def _advance(self, frame: Frame, index: int, threads: Threads) -> None:
        """Run threads until they diverge, wait, exit or meet others."""
        self.frame = frame
        steps = frame.program.steps
        stop = self._reconvergence_index(frame, index)
        end = stop if self._pause is None else self._next_pause(frame, index, stop)
        listeners, probe = self._listeners, self._probe
        try:
            while index != end:
                if index >= len(steps):
                    self._check_end(frame, threads)
                    self.finish(frame, threads)
                    return
                step = steps[index]
                active = threads
                if step.guard is not None:
                    for observer in self._guard_listeners:
                        observer.guarded(step.instruction, threads)
                    holds = frame.read(step.guard, threads)
                    if step.negated:
                        holds = ~holds
                    if not holds.all():
                        active = threads.where(holds)
                self.clock += 1
                if step.convergent_lanes and active.count and not active.is_whole(step.convergent_lanes):
                    self._converge(frame, step, threads, active)
                    return
                if active.count:
                    for observer in listeners:
                        observer.executed(step.instruction, active)
                    if probe is not None and step.effect:
                        probe.affect(active.indices)
                if step.control is not None:
                    if active is not threads:
                        self.schedule(frame, index + 1, threads.without(active))
                    step.control(self, frame, active)
                    return
                if active.count:
                    self._execute(step, frame, active)
                index += 1
        except PtxlabError:
            raise
        except _INTERNAL_ERRORS as error:  # raised by `control` or by an observer
            raise _internal_error(steps[min(index, len(steps) - 1)].instruction, error) from error
        if end == stop:
            self.schedule(frame, index, threads)
        else:
            self.current = _Waiting(frame, index, threads)

    def _execute(self, step: MachineStep, frame: Frame, threads: Threads) -> None:
        """Execute an instruction; an error message begins with its line."""
        try:
            if step.execute is not None:
                step.execute(self, frame, threads)
        except HazardError:
            raise
        except _INTERNAL_ERRORS as error:
            instruction = step.instruction
            if not isinstance(error, PtxlabError):
                raise _internal_error(instruction, error) from error
            if str(error).startswith(instruction.where):
                raise
            raise PtxlabError(f"{instruction.where}: {instruction.opcode}: {error}") from None

    def _reconvergence_index(self, frame: Frame, index: int) -> int:
        """The next instruction of this frame at which other threads are pending; -1 if there is none."""
        depth = len(frame.position)
        stop = -1
        for position in self._pending:
            if position[:depth] != frame.position or len(position) <= depth:
                continue
            reached = position[depth] if len(position) == depth + 1 else position[depth] + 1
            if reached > index and (stop < 0 or reached < stop):
                stop = reached
        return stop

    def schedule(self, frame: Frame, index: int, threads: Threads) -> None:
        """Let threads go on at an instruction, together with those already pending there."""
        if not threads.count:
            return
        position = (*frame.position, index)
        others = self._pending.get(position)
        if others is not None:
            threads = Threads.union([others.threads, threads])
        self._pending[position] = _Waiting(frame, index, threads)
        if self._tick is not None and self.clock - self._reported >= _TICK_INSTRUCTIONS:
            self._tick(self.clock - self._reported)
            self._reported = self.clock

    def branch(self, frame: Frame, origin: int, target: int, threads: Threads) -> None:
        """Let threads go on at a label."""
        if target <= origin:
            polled, self.polled = self.polled, False
            self._spins += _SPINS_OF_POLL if polled else 1
            if polled and (probe := self._repeated_iteration(frame, origin, threads)) is not None:
                self._spinning.append((_Waiting(frame, target, threads), probe))
                return
        self.schedule(frame, target, threads)

    def _check_end(self, frame: Frame, threads: Threads) -> None:
        """Refuse the end of a function where the compiler left out what follows."""
        function = frame.program.function
        if function.open_end is not None and threads.count:
            sentence = (
                f"{function.open_end.where}: {self.batch.name(int(threads.indices[0]))} comes to an end of "
                f"{plain_name(function.name)} without a return, behind which the compiler left out code that "
                "has no defined behaviour, such as a call through a null pointer"
            )
            violation = Violation("undefined behaviour", function.open_end, threads.indices, sentence)
            raise HazardError(sentence, hazard_of(self.batch, violation))

    def finish(self, frame: Frame, threads: Threads, instruction: PtxInstruction | None = None) -> None:
        """Threads return from a function; at the end of the kernel they exit."""
        parent = frame.parent
        if parent is None:
            self.exit(threads, instruction)
            return
        for variable, result in zip(frame.program.function.returns, frame.results, strict=True):
            if variable.space == "reg":
                values = frame.read(frame.program.register(variable.name), threads)
            else:
                source = frame.base + frame.program.local[variable.name]
                values = self.memory.local_bytes(threads, source, variable.size)
            self.memory.set_local(threads, parent.base + parent.program.local[result], values)
        frame.thread_count -= threads.count
        if self._frames > _MAX_CACHED_FRAMES and not frame.thread_count:
            frame.children = {}
        self.schedule(parent, frame.position[-2] + 1, threads)

    def count_frame(self, frame: Frame, instruction: PtxInstruction, name: str) -> None:
        """Count a new frame; a call stack that is too deep is an error."""
        self._frames += 1
        depth = len(frame.position) // 2 + 1
        if depth > _MAX_CALLS or frame.caller_bytes > _MAX_FRAME_BYTES:
            raise PtxlabError(
                f"{instruction.where}: {instruction.opcode}: {depth} functions call each other and none "
                f"returns, which is too deep; does {plain_name(name)} call itself without end?"
            )

    def exit(self, threads: Threads, instruction: PtxInstruction | None = None) -> None:
        """Threads exit; barriers no longer wait for them."""
        self.exits.append((instruction, threads))
        if self._bypassing:
            self._report_bypassing(threads)
        if self._partial_arrivals:
            self._arrive_without_exited(threads)
        self.batch.alive[threads.indices] = False
        if self.register_pool.ended(threads):
            self.barrier_changes += 1  # others may wait for these registers
        self._release(self.barriers.released())
        self.barrier_changes += self.cluster_barriers.complete()
        for position, waiting in list(self._converging.items()):
            del self._converging[position]
            self.schedule(waiting.frame, waiting.index, waiting.threads)

    def give_way(self) -> None:
        """Threads give way to others."""
        self._spins = _MAX_SPINS + 1

    # -- waiting ---------------------------------------------------------------------------------------------

    def _converge(self, frame: Frame, step: MachineStep, threads: Threads, active: Threads) -> None:
        """Execute for the warps or warpgroups whose members have all arrived; the others wait."""
        index = step.instruction.index
        if active is not threads:
            self.schedule(frame, index + 1, threads.without(active))
        position = (*frame.position, index)
        others = self._converging.pop(position, None)
        if others is not None:
            active = Threads.union([others.threads, active])
        lanes = step.convergent_lanes
        present = active.words()
        alive = np.packbits(self.batch.alive, bitorder="little").view("<u4").astype(np.uint32)
        group = active.indices // lanes
        if step.membermask is not None:
            members = step.membermask(self, frame, active).astype(np.uint32)
            ready = members & alive[group] & ~present[group] == 0
        else:
            missing = (alive & ~present).reshape(-1, lanes // 32)
            ready = ~np.any(missing, axis=1)[group]
        if ready.any():
            ready_threads = active.where(ready)
            for observer in self._listeners:
                observer.executed(step.instruction, ready_threads)
            if self._probe is not None and step.effect:
                self._probe.affect(ready_threads.indices)
            self._execute(step, frame, ready_threads)
            self.schedule(frame, index + 1, ready_threads)
        if not ready.all():
            self._converging[position] = _Waiting(frame, index, active.where(~ready))
            if step.membermask is not None:
                awaited = np.zeros(len(alive), dtype=np.uint32)
                np.bitwise_or.at(awaited, group[~ready], members[~ready])
                self._note_bypassing(position, frame.program.function, index, awaited & alive & ~present)

    def whole_warps(self, frame: Frame, instruction: PtxInstruction, threads: Threads) -> Threads:
        """The threads at a barrier whose warps are complete; the others wait for their lanes, as in hardware.

        Once nothing else can run, those lanes will never arrive, and incomplete warps go on without them.
        """
        position = (*frame.position, instruction.index)
        others = self._partial_arrivals.pop(position, None)
        if others is not None:
            threads = Threads.union([others.threads, threads])
        if position in self._partial_allowed or threads.is_whole(32):
            self._partial_allowed.discard(position)
            return threads
        alive = np.packbits(self.batch.alive, bitorder="little").view("<u4")
        missing = alive & ~threads.words()
        whole = (missing == 0)[threads.indices >> 5]
        self._partial_arrivals[position] = _Waiting(frame, instruction.index, threads.where(~whole))
        missing = np.where(threads.words() > 0, missing, 0)
        self._note_bypassing(position, frame.program.function, instruction.index, missing)
        return threads.where(whole)

    def _note_bypassing(
        self, position: _Position, function: Function, index: int, missing: NDArray[Any]
    ) -> None:
        """Note which of the lanes that are missing here, a word for each warp, have already passed by."""
        words = np.ascontiguousarray(missing, dtype="<u4")
        lanes = np.unpackbits(words.view(np.uint8), bitorder="little").view(np.bool_)
        for other_position, waiting in self._pending.items():
            if len(other_position) == len(position) and other_position[:-1] == position[:-1]:
                missing_there = waiting.threads.where(lanes[waiting.threads.indices])
                self._bypassing.note(position, function, index, waiting.index, missing_there)

    def _report_bypassing(self, ended: Threads) -> None:
        """Report threads that exit after passing by a place where others of their warp wait for them."""
        for position, lanes in self._bypassing.pop(ended):
            waiting = self._partial_arrivals.get(position) or self._converging.get(position)
            if waiting is None:
                self._bypassing.forget(position)
                continue
            words = np.packbits(lanes, bitorder="little").view("<u4")[waiting.threads.indices >> 5]
            if words.any():
                instruction = waiting.step.instruction
                self.synchronised(
                    instruction, "passed by", waiting.threads.where(words > 0), words[words > 0]
                )

    def _release_partial_arrivals(self) -> bool:
        """Let incomplete warps that wait at barriers go on; whether there were any."""
        arrivals, self._partial_arrivals = self._partial_arrivals, {}
        self._partial_allowed.update(arrivals)
        for waiting in arrivals.values():
            self.schedule(waiting.frame, waiting.index, waiting.threads)
        return bool(arrivals)

    def _arrive_without_exited(self, threads: Threads) -> None:
        """Threads exit; the rest of their warps, which waits at a barrier with a count, arrives without them.

        A barrier for all threads of the block does not count exited threads.
        """
        for position, waiting in list(self._partial_arrivals.items()):
            step = waiting.step
            alone = np.isin(waiting.threads.indices >> 5, threads.indices >> 5)
            if step.control is None or len(step.instruction.operands) < 2 or not alone.any():
                continue
            del self._partial_arrivals[position]
            self._partial_allowed.add(position)
            arriving = waiting.threads.where(alone)
            step.control(self, waiting.frame, arriving)
            if not alone.all():
                rest = waiting.threads.where(~alone)
                self._partial_arrivals[position] = _Waiting(waiting.frame, waiting.index, rest)

    def arrive(
        self,
        frame: Frame,
        instruction: PtxInstruction,
        threads: Threads,
        barrier: NDArray[Any],
        count: NDArray[Any] | None,
        waits: bool,
    ) -> None:
        """Threads reach a barrier of their block; those that wait go on when it is complete."""
        same = bool((barrier == barrier[0]).all())
        for number in barrier[:1] if same else np.unique(barrier):
            ours = threads if same else threads.where(barrier == number)
            expected = None
            if count is not None:
                expected = count if ours is threads else count[barrier == number]
            self.synchronised(instruction, "bar", ours, int(number))
            resume = (frame, instruction)
            self._release(self.barriers.arrive(int(number), ours, expected, waits, resume))
            if not waits:
                self.schedule(frame, instruction.index + 1, ours)

    def _release(self, released: Iterable[tuple[tuple[Frame, PtxInstruction], int, Threads]]) -> None:
        for (frame, instruction), number, threads in released:
            finish = self.reductions.get(instruction.line)
            if finish is not None:
                blocks = threads.blocks
                votes, totals = self.barriers.last_votes, self.barriers.last_totals
                finish(frame, threads, votes[blocks, number], totals[blocks, number])
            self.synchronised(instruction, "bar", threads, number, completed=True)
            self.schedule(frame, instruction.index + 1, threads)

    def sleep(self, frame: Frame, index: int, threads: Threads) -> None:
        """Threads wait for a change of an mbarrier or a cluster, and then execute the instruction again."""
        self._sleeping.append((_Waiting(frame, index, threads), self.barrier_changes))

    def _wake(self) -> bool:
        """Let threads that wait for an mbarrier or a cluster try again, if any has changed."""
        sleeping, self._sleeping = self._sleeping, []
        for waiting, seen in sleeping:
            if seen < self.barrier_changes:
                self.schedule(waiting.frame, waiting.index, waiting.threads)
            else:
                self._sleeping.append((waiting, seen))
        return bool(self._pending)

    def _repeated_iteration(self, frame: Frame, origin: int, threads: Threads) -> Probe | None:
        """The probe of an iteration that repeats without end, if threads at a backward branch are in one."""
        probe = self._probe
        position = (*frame.position, origin)
        visits, failures = self._visits.get(position, (0, 0))
        if probe is not None and probe.frame is frame and probe.origin == origin:
            self._probe = self.memory.probe = None
            if probe.is_of(threads) and probe.is_repeated():
                self._visits[position] = 0, 0
                return probe
            failures += 1
        self._visits[position] = visits + 1, failures
        if self._probe is None or self.clock - self._probe.clock > _TICK_INSTRUCTIONS:
            # The more often probes of this loop have failed, the less often it is probed.
            is_due = visits % (1 << min(failures, _MAX_FAILURES)) == 0
            self._probe = self.memory.probe = Probe(frame, origin, threads, self.clock) if is_due else None
        return None

    def live_probes(self) -> list[Probe]:
        """The probes of loops that spin, or may."""
        return [probe for _, probe in self._spinning] + ([] if self._probe is None else [self._probe])

    def _wake_spinning(self) -> None:
        """Let spinning threads go on, if something that they read has changed."""
        self._seen_writes = self.memory.writes
        spinning, self._spinning = self._spinning, []
        for waiting, probe in spinning:
            if probe.is_outdated():
                self.schedule(waiting.frame, waiting.index, waiting.threads)
            else:
                self._spinning.append((waiting, probe))

    def _stuck(self) -> list[StuckThreads]:
        """Threads that wait, and what they wait for."""
        stuck = []
        for waiting in self._converging.values():
            stuck.append(self._stuck_at(waiting, partial(self._missing_lanes, waiting)))
        for waiting, _ in self._sleeping:
            awaited = waiting.step.awaited
            if awaited is not None:
                stuck.append(self._stuck_at(waiting, partial(awaited, self, waiting.frame)))
        for waiting, probe in self._spinning:
            at = _Waiting(waiting.frame, probe.instruction.index, waiting.threads)
            awaited = at.step.awaited  # of mbarrier.test_wait
            why = partial(self._unwritten_value, probe)
            stuck.append(self._stuck_at(at, partial(awaited, self, at.frame) if awaited else why))
        for (frame, instruction), number, threads in self.barriers.waiting():
            at = _Waiting(frame, instruction.index, threads)
            stuck.append(self._stuck_at(at, partial(self._missing_threads, number)))
        return stuck

    def _stuck_at(self, waiting: _Waiting, awaited: Callable[[Threads], Awaited]) -> StuckThreads:
        """Waiting threads, with the functions that they are in."""
        stack = [(waiting.frame.program.function, waiting.index)]
        frame = waiting.frame
        while frame.parent is not None:
            stack.append((frame.parent.program.function, frame.position[-2]))
            frame = frame.parent
        return StuckThreads(waiting.step.instruction, waiting.threads, stack, awaited)

    def _who_waits(self, stuck: list[StuckThreads]) -> Waiting:
        return who_waits(self.batch, stuck, self.exits, tuple(self.barrier_events), self._begun)

    def _check_stuck(self) -> None:
        """Report a deadlock if threads still wait."""
        stuck = self._stuck()
        if not stuck:
            return
        waits = "; ".join(
            f"{threads_text(self.batch, threads.indices, 2)}: wait at {instruction.where} "
            f"({instruction.opcode}) {awaited(threads).sentence}"
            for instruction, threads, _, awaited in stuck[:4]
        )
        instruction, threads, *_ = stuck[0]
        sentence, remedy = f"deadlock: {waits}{self._cluster_hint()}", ""
        resident_blocks = self.launch.resident_blocks
        if resident_blocks is not None and self._spinning and self._begun < self.batch.count:
            later = self.batch.count - self._begun + self.launch.last_block - self.launch.next_block
            remedy = f"launch at most {resident_blocks.most} blocks"
            sentence += (
                f"; {resident_blocks}, and {later} of {self.batch.grid.block_count} blocks begin only when "
                f"others have ended: {remedy}"
            )
        violation = Violation("deadlock", instruction, threads.indices, sentence, remedy)
        error = HazardError(sentence, hazard_of(self.batch, violation))
        error.wait(self._who_waits(stuck))
        raise error

    def _cluster_hint(self) -> str:
        """A hint if a kernel for clusters was launched without clusters."""
        for instruction in self.launch.entry.function.instructions:
            for_clusters = instruction.parts[0] == "mapa" or "multicast::cluster" in instruction.parts
            if for_clusters and self.batch.grid.cluster_size == 1:
                where = f"{instruction.where} ({instruction.opcode})"
                return f"; {where} is for clusters, and this launch has none: pass cluster="
        return ""

    def _missing_lanes(self, waiting: _Waiting, threads: Threads) -> Awaited:
        """Which lanes of the first warp have not arrived."""
        warp = int(threads.indices[0]) >> 5
        lanes = np.arange(warp * 32, warp * 32 + 32)
        arrived = np.isin(lanes, waiting.threads.indices)
        missing = lanes_text((lanes[~arrived & self.batch.alive[lanes]] & 31).tolist())
        expected = int(np.count_nonzero(self.batch.alive[lanes]))
        sentence = f"for {missing} of the warp, which do not come"
        count = int(np.count_nonzero(arrived))
        block = self._block_of(threads)
        return Awaited("lanes", f"{missing} of the warp", sentence, block, arrived=count, expected=expected)

    def _unwritten_value(self, probe: Probe, threads: Threads) -> Awaited:
        """What threads read again and again."""
        sentence = "for another value than what they read again and again, which nobody writes"
        if self._begun < self.batch.grid.block_count:
            sentence += f" among the {self._begun} blocks that run at a time"
        data, offset, content = probe.last_read
        name = "shared memory" if data is self.memory.shared else "memory"
        if data is self.memory.shared:
            offset %= self.memory.shared.size // self.batch.count
        for buffer in self.memory.buffers:
            if buffer.data is data:
                name = buffer.title
        number = int.from_bytes(content.tobytes(), "little")
        name = f"another value than {number} at byte {offset} of {name}"
        return Awaited("value", name, sentence, address=offset)

    def _missing_threads(self, number: int, threads: Threads) -> Awaited:
        """Which threads of the first block that waits have not reached a barrier."""
        block = int(threads.blocks[0])
        arrived, expected = self.barriers.state(block, number)
        first = block * self.batch.block_lanes
        lanes = np.arange(first, first + self.batch.block_lanes)
        waiting = [group.indices for _, which, group in self.barriers.waiting() if which == number]
        absent = lanes[self.batch.valid[lanes] & ~np.isin(lanes, np.concatenate(waiting))]
        exited = absent[~self.batch.alive[absent]]
        text = f"for barrier {number}, which {arrived} of {expected} threads have reached"
        if len(exited):
            text += f"; ended without it: {threads_text(self.batch, exited, 2)}"
        running = absent[self.batch.alive[absent]]
        if len(running):
            text += f"; missing: {threads_text(self.batch, running, 2)}"
        name, block_name = f"barrier {number}", self._block_of(threads)
        return Awaited("barrier", name, text, block_name, arrived=arrived, expected=expected)

    def _block_of(self, threads: Threads) -> tuple[int, int, int]:
        """The block of the first of these threads."""
        return self.batch.grid.block_of(int(self.batch.numbers[threads.indices[0] // self.batch.block_lanes]))

    # -- what observers may inspect --------------------------------------------------------------------------

    def reader(self) -> Callable[[int], NDArray[Any] | None]:
        """A function from a register's index in the function being executed to its values in all threads."""
        frame = self.frame
        return lambda index: None if frame is None else frame.register(index)

    def shared_of(self, block: int) -> NDArray[Any]:
        """The shared memory of a block of the batch, which begins with the bytes reserved for the system."""
        return self.memory.shared.reshape(self.batch.count, -1)[block, : self.memory.shared_size]

    # -- events ----------------------------------------------------------------------------------------------

    def synchronised(
        self,
        instruction: PtxInstruction,
        kind: str,
        threads: Threads,
        key: int | NDArray[Any] = 0,
        *,
        completed: bool = False,
    ) -> None:
        """Tell the observers of a barrier, fence or wait."""
        for observer in self.observers:
            observer.synchronised(Synchronisation(instruction, kind, threads.indices, key, completed))

    def printed(self, instruction: PtxInstruction, buffer_access: BufferAccess) -> None:
        """Tell the observers which bytes a thread prints."""
        for observer in self.observers:
            observer.printed(instruction, buffer_access)

    def multiplied(self, instruction: PtxInstruction, operands: MatrixInputs, threads: Threads) -> None:
        """Tell the observers what a matrix instruction reads."""
        for observer in self.observers:
            observer.multiplied(instruction, operands, threads)

    def tensor_accessed(self, access: TensorAccess) -> None:
        """Tell the observers what is read or written in tensor memory."""
        for observer in self.observers:
            observer.tensor_accessed(access)

    # -- special registers -----------------------------------------------------------------------------------

    def special(self, name: str) -> NDArray[Any]:
        """A special register, over the batch."""
        return self._special.read(name, self.clock)


#: What Python and NumPy raise when an instruction has operands that its step does not expect.
_INTERNAL_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, StopIteration, TypeError, ValueError,
)  # fmt: skip


def _internal_error(instruction: PtxInstruction, error: Exception) -> PtxlabError:
    """An error inside the simulator as a sentence."""
    text = " ".join(f"{type(error).__name__}: {error}".split())[:120]
    return PtxlabError(
        f"{instruction.where}: {instruction.opcode}: the simulator fails at it ({text}): either the "
        "assembler takes no such operands, or this is to be reported"
    )
