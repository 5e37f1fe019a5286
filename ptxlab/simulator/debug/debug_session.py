"""Stepping through a launch, forwards and backwards, and asking what is where.

A position is the number of instructions that the simulator has executed, each for all threads that were at it
together. The state before position p is the same however one comes there: snapshots are kept at spaced
positions, and the instructions after the nearest one are executed again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from time import perf_counter
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from ..._util.arguments import as_flag, as_int, as_text
from ..._util.display import Displayed, display
from ...errors import PtxlabError, counted, lines_of, listing, quoted
from ...isa.operation import Operation
from ..device_memory import SHARED_START
from ..events import Observer
from ..instructions.mbarrier_builders import BarrierState, why_invalid
from ..launch_arguments import Pointer, values_of
from ..launch_threads import Threads
from ..machine import Frame
from ..ptx.dataflow import branch_targets
from ..ptx.syntax import Function, PtxInstruction
from ..result import Products, Result
from ..simulate import KEPT_BYTES, BlockRun, as_bytes
from .origins import Origin, Target, trace
from .snapshots import Pages, Snapshot

if TYPE_CHECKING:
    from ..kernel import Kernel
    from ..module_image import ModuleImage
    from ..simulate import Setup

_SPACING = 0.03  # seconds of execution between two snapshots
_MEMORY = 1 << 30  # bytes of all snapshots; beyond that, those far from where one is are thinned out
_WAITS = ("try_wait", "test_wait")
#: What Python and NumPy know a register's type as.
_DTYPES = {"f32": "f4", "f64": "f8", "s8": "i1", "s16": "i2", "s32": "i4", "s64": "i8", "f16": "f2"}


@dataclass(frozen=True)
class WarpState:
    """Lanes of a warp that are at the same instruction, and what they wait for, if they do.

    `instruction` is None once they have ended, or as long as their block has not begun.
    """

    block: tuple[int, int, int]
    warp: int  # of the launch, block by block
    lanes: tuple[int, ...]
    state: Literal["next", "ready", "waits", "ended", "not begun"]
    instruction: PtxInstruction | None = None
    waits_for: str = ""

    @property
    def line(self) -> int:
        """Its line of the source, 0 without one."""
        return 0 if self.instruction is None else self.instruction.source_line


@dataclass(frozen=True)
class Mbarrier:
    """An mbarrier in shared memory: the parity of its phase, arrivals and bytes that it still expects."""

    address: int  # within the shared memory of its block
    phase: int
    pending: int
    expected: int
    bytes: int
    valid: bool = True


@dataclass
class Breakpoint:
    """A line at which to stop, in one warp or in any, if a condition holds."""

    line: int
    warp: int | None
    when: str | Callable[[DebugSession], object] | None
    instructions: dict[str, frozenset[int]]  # by function
    ptx: bool = False  # whether the line is one of the PTX

    def holds(self, session: DebugSession) -> bool:
        """Whether the threads that go on next are to stop here."""
        current = session._machine.current
        if current is None:
            return False
        function = current.frame.program.function.name
        if current.index not in self.instructions.get(function, ()):
            return False
        if self.warp is not None and self.warp not in session.next_warps:
            return False
        if self.when is None:
            return True
        value: Any = self.when(session) if callable(self.when) else session.evaluate(self.when)
        return bool(np.any(value))


@dataclass
class Watch:
    """A value: where it changes, the launch stops; with `nan`, where it becomes not a number."""

    name: str
    read: Callable[[DebugSession], Any]
    nan: bool
    last: Any = None

    def value(self, session: DebugSession) -> Any:
        """The bytes, or whether there is a NaN; None where there is no such warp now."""
        try:
            values = self.read(session)
        except PtxlabError:
            return None
        if values is None:  # a register that was not written yet
            return False if self.nan else b""
        array = np.asarray(values)
        return bool(np.isnan(array.astype(np.float64)).any()) if self.nan else array.tobytes()

    def changed(self, session: DebugSession) -> bool:
        """Whether it has changed since the last time."""
        before, self.last = self.last, self.value(session)
        if before is None or self.last is None:
            return False
        return bool(self.last and not before) if self.nan else bool(before != self.last)


_Parameters = ParamSpec("_Parameters")
_Slices = Callable[Concatenate["DebugSession", _Parameters], Iterator[None]]
_MOTIONS: dict[str, Callable[..., Iterator[None]]] = {}  # by name


def _motion(slices: _Slices[_Parameters]) -> Callable[Concatenate[DebugSession, _Parameters], DebugSession]:
    """A method that moves, from one that does so in slices."""
    _MOTIONS[slices.__name__] = slices

    @wraps(slices)
    def move(
        session: DebugSession, /, *arguments: _Parameters.args, **options: _Parameters.kwargs
    ) -> DebugSession:
        for _ in slices(session, *arguments, **options):
            pass
        return session

    return move


class DebugSession(Displayed):
    """A launch that one steps through. `Kernel.debug` makes it; a notebook shows it as a debugger.

    The arrays of the launch are its memory: they hold what they hold at this position. `stopped` says why the
    last motion ended, `error` is the error with which the launch ends, once it was reached.
    """

    def __init__(self, kernel: Kernel, image: ModuleImage, setup: Setup) -> None:
        self.kernel = kernel
        self.title = kernel.title
        self.source = kernel.source
        self.grid = setup.grid
        self.breakpoints: list[Breakpoint] = []
        self.watches: list[Watch] = []
        self.stopped = "begin"
        self.error: PtxlabError | None = None
        self.length: int | None = None  # positions of the launch, once its end was reached
        self._image = image
        self._arguments = [
            (name, value.memory) for name, value in values_of(setup.arguments) if isinstance(value, Pointer)
        ]
        self._most_bytes = _MEMORY
        self._run = BlockRun(image, setup, counts=False)
        self._run.launch.last_block = self.grid.block_count
        machine = self._run.next_machine()
        if machine is None:
            raise PtxlabError(f"{kernel.title}: the launch has no blocks")
        self._machine = machine
        self._machine.start()
        self._machine.go_on(0)
        self._base = 0
        self._seconds = 0.0
        self._rate = 2000.0  # instructions in a second
        self._pages = Pages()
        self._snapshots: list[Snapshot] = []
        self._snap()

    # -- where it is -----------------------------------------------------------------------------------------

    @property
    def position(self) -> int:
        """How many instructions have been executed."""
        return self._base + self._machine.clock

    @property
    def ended(self) -> bool:
        """Whether all threads have ended, or cannot go on."""
        return self.length == self.position

    @property
    def instruction(self) -> PtxInstruction | None:
        """The instruction that is executed next; None at the end."""
        current = self._machine.current
        if current is None or current.index >= len(current.frame.program.steps):
            return None
        return current.step.instruction

    @property
    def line(self) -> int:
        """The line of the source that is executed next; 0 at the end."""
        return 0 if self.instruction is None else self.instruction.source_line

    @property
    def next_warps(self) -> tuple[int, ...]:
        """The warps that execute the next instruction, by their numbers in the launch."""
        current = self._machine.current
        if current is None:
            return ()
        return tuple(self._number(warp) for warp in np.unique(current.threads.indices >> 5).tolist())

    @property
    def memory(self) -> int:
        """Bytes that the snapshots take."""
        arrays = {id(values): values for snapshot in self._snapshots for values in snapshot.registers()}
        return self._pages.nbytes + sum(getattr(values, "nbytes", 0) for values in arrays.values())

    @property
    def output(self) -> str:
        """What the kernel has printed so far."""
        return "".join(self._run.output.texts)

    @property
    def where(self) -> str:
        """The next instruction and the warps that execute it, in words."""
        of = "" if self.length is None else f" of {self.length}"
        if self.instruction is None:
            return f"position {self.position}{of}: the end" + (f"; {self.error}" if self.error else "")
        warps = self.next_warps
        names = f"warp {warps[0]}" if len(warps) == 1 else f"{len(warps)} warps from {warps[0]}"
        return f"position {self.position}{of}: {self.instruction.where} ({self.instruction.opcode}), {names}"

    def __repr__(self) -> str:
        return f"<{self.title}, {self.where}; {self.stopped}>"

    def _ipython_display_(self) -> None:
        """Show the debugger, if the packages for notebooks are installed."""
        try:
            widget = display(self, "debugger")
        except PtxlabError:
            raise NotImplementedError from None  # IPython then uses `_repr_html_`
        widget._ipython_display_()

    def listing(self, around: int = 3) -> str:
        """The lines of the source around the next one, which an arrow marks."""
        lines, line = lines_of(self.source), self.line
        numbers = range(max(1, line - around), min(len(lines), line + around) + 1)
        return "\n".join(
            f"{'>' if number == line else ' '} {number:4} {lines[number - 1]}" for number in numbers
        )

    # -- motion ----------------------------------------------------------------------------------------------

    def in_slices(self, motion: str, *arguments: Any, **options: Any) -> Iterator[None]:
        """A motion in slices of some 10 ms, after each of which one may look how far it is, or leave it.

        >>> import numpy as np, ptxlab
        >>> session = ptxlab.kernel("__global__ void f(int* x) { *x += 1; }").debug(1, 32, np.zeros(1, "i4"))
        >>> slices = session.in_slices("run")
        >>> len(list(slices)) > 0, session.stopped
        (True, 'the end')
        """
        return _MOTIONS[motion](self, *arguments, **options)

    @_motion
    def go(self, position: int) -> Iterator[None]:
        """Go to a position, forwards or backwards; one beyond the end is the end."""
        target = as_int(position, "position")
        if target < 0:
            raise PtxlabError(f"position={quoted(target)}: positions are counted from 0 on")
        yield from self._going_to(target)
        self.stopped = "the end" if self.ended else "position"

    @_motion
    def step(
        self, count: int = 1, *, line: bool = False, warp: int | None = None, over: bool = False
    ) -> Iterator[None]:
        """Execute the next instruction, or so many; with `line`, to the next line of a warp.

        `warp` is the first of those that are next, if it is left out. With `over`, the lines of functions
        that it calls do not count.
        """
        return self._steps(count, line, warp, over, forwards=True)

    @_motion
    def back(
        self, count: int = 1, *, line: bool = False, warp: int | None = None, over: bool = False
    ) -> Iterator[None]:
        """Go back by an instruction, or by so many; with `line`, to the line before of a warp."""
        return self._steps(count, line, warp, over, forwards=False)

    @_motion
    def step_out(self, *, warp: int | None = None) -> Iterator[None]:
        """Run until a warp returns from the function in which it is, or ends."""
        chosen = self._warp_in_question(warp)
        depth = len(self.calls(chosen))

        def has_returned(session: DebugSession) -> bool:
            return chosen in session.next_warps and session._depth < depth

        yield from self._seek(has_returned, None, forwards=True)
        self._arrived("return")

    def _steps(
        self, count: int, line: bool, warp: int | None, over: bool, *, forwards: bool
    ) -> Iterator[None]:
        number = as_int(count, "count")
        if number < 1:
            raise PtxlabError(f"count={quoted(number)}: it is 1 or more")
        if not as_flag(line, "line"):
            yield from self.in_slices("go", max(self.position + (number if forwards else -number), 0))
            return
        chosen, is_over = self._warp_in_question(warp), as_flag(over, "over")
        for _ in range(number):
            before, depth = self._line_of(chosen), len(self.calls(chosen)) if is_over else 1 << 30

            def at_other_line(session: DebugSession, before: int = before, depth: int = depth) -> bool:
                is_other = chosen in session.next_warps and session.line not in (0, before)
                return is_other and session._depth <= depth

            yield from self._seek(at_other_line, None, forwards=forwards)
        self._arrived("line")

    @_motion
    def step_barrier(self) -> Iterator[None]:
        """Run to the next barrier, or wait at an mbarrier, of any warp."""
        return self._to_barrier(forwards=True)

    @_motion
    def back_barrier(self) -> Iterator[None]:
        """Go back to the last barrier, or wait at an mbarrier, of any warp."""
        return self._to_barrier(forwards=False)

    def _to_barrier(self, *, forwards: bool) -> Iterator[None]:
        stops = self._instructions(
            lambda instruction: (
                instruction.parts[0] in ("bar", "barrier")
                or (instruction.parts[0] == "mbarrier" and instruction.parts[1] in _WAITS)
            )
        )
        yield from self._seek(_always, stops, forwards=forwards)
        self._arrived("barrier")

    @_motion
    def run(self) -> Iterator[None]:
        """Run to the next breakpoint, to where a watched value changes, or to the end."""
        return self._to_breakpoint(forwards=True)

    @_motion
    def run_back(self) -> Iterator[None]:
        """Go back to the last breakpoint, to where a watched value changes, or to the beginning."""
        return self._to_breakpoint(forwards=False)

    def _to_breakpoint(self, *, forwards: bool) -> Iterator[None]:
        why = ""

        def stops_here(session: DebugSession) -> bool:
            nonlocal why
            reasons = [f"{watch.name} has changed" for watch in self.watches if watch.changed(session)]
            reasons += [
                f"breakpoint at line {point.line}" for point in self.breakpoints if point.holds(session)
            ]
            if reasons:
                why = reasons[0]
            return bool(reasons)

        stops: dict[str, frozenset[int]] = {}
        for point in self.breakpoints:
            for name, indices in point.instructions.items():
                stops[name] = stops.get(name, frozenset()) | indices
        yield from self._seek(stops_here, None if self.watches else stops, forwards=forwards)
        self._arrived(why or "begin")

    @_motion
    def run_to(self, line: int, *, warp: int | None = None, ptx: bool = False) -> Iterator[None]:
        """Run to the next time a line of the source, or of the `ptx`, runs, in one warp or in any."""
        point = self._breakpoint(line, None, warp, ptx)
        yield from self._seek(point.holds, point.instructions, forwards=True)
        self._arrived(f"line {point.line}")

    @_motion
    def back_to(self, line: int, *, warp: int | None = None, ptx: bool = False) -> Iterator[None]:
        """Go back to the last time a line of the source, or of the `ptx`, ran, in one warp or in any."""
        point = self._breakpoint(line, None, warp, ptx)
        yield from self._seek(point.holds, point.instructions, forwards=False)
        self._arrived(f"line {point.line}")

    def look_ahead(self, seconds: float = float("inf")) -> int | None:
        """Find the `length` of the launch, or None if it takes longer; the position stays."""
        here, begun = self.position, perf_counter()
        if self.length is None:
            self._restore(self._snapshots[-1])
            for _ in self._advance(1 << 62, {}):
                if perf_counter() - begun > seconds:
                    break
            if self.length is None:
                self._snap()
            self.go_to(here)
        return self.length

    def breakpoint(
        self,
        line: int,
        when: str | Callable[[DebugSession], object] | None = None,
        *,
        warp: int | None = None,
        ptx: bool = False,
    ) -> Breakpoint:
        """Let `run` stop before a line of the source, or of the `ptx`.

        `when` is a function of the session, or an expression of Python such as ``"r1 > 3"``: registers have
        their names without the percent sign, each an array over the threads that are next.
        """
        point = self._breakpoint(line, when, warp, ptx)
        self.breakpoints.append(point)
        return point

    def watch(
        self,
        array: object = None,
        index: Any = ...,
        *,
        register: str | None = None,
        warp: int = 0,
        nan: bool = False,
    ) -> Watch:
        """Let `run` stop behind an instruction that changes elements of an array, or a register of a warp.

        `array` is an argument or its number, or a function of the session that gives a value. With `nan` it
        stops where a value becomes not a number.
        """
        is_nan = as_flag(nan, "nan")
        if register is not None:
            name, number = as_text(register, "register"), self._checked_warp(warp)
            self._check_register(name)
            watch = Watch(
                f"{name} of warp {number}", lambda session: session.registers(number).get(name), is_nan
            )
        elif callable(array):
            read: Callable[[DebugSession], Any] = array
            watch = Watch("the watched value", read, is_nan)
        else:
            memory = self._array(array)
            try:
                memory[index]
            except (IndexError, TypeError, ValueError):
                raise PtxlabError(
                    f"index={quoted(index)}: the array is {memory.dtype}{list(memory.shape)}"
                ) from None
            watch = Watch(f"element {quoted(index)}", lambda session: memory[index], is_nan)
        self.watches.append(watch)
        return watch

    def _breakpoint(self, line: object, when: Any, warp: object, ptx: object) -> Breakpoint:
        number, is_ptx = as_int(line, "line"), as_flag(ptx, "ptx")

        def lines_of_instruction(instruction: PtxInstruction) -> tuple[int | None, ...]:
            return (instruction.line,) if is_ptx else (instruction.source_line, instruction.call_line)

        found = self._instructions(lambda instruction: number in lines_of_instruction(instruction))
        if not found:
            lines = sorted(
                {lines_of_instruction(item)[0] or 0 for item in self._image.module.instructions} - {0}
            )
            raise PtxlabError(f"line={quoted(number)}: it has no instructions; lines {listing(lines)} have")
        first = {
            name: frozenset(i for i in indices if i - 1 not in indices or i in self._loop_heads(name))
            for name, indices in found.items()
        }
        if isinstance(when, str):
            try:
                compile(when, "when", "eval")
            except (SyntaxError, ValueError):
                raise PtxlabError(f"when={quoted(when)}: it is no expression of Python") from None
        elif when is not None and not callable(when):
            raise PtxlabError(f"when={quoted(when)}: it takes a function or an expression as text")
        place = None if warp is None else self._checked_warp(warp)
        return Breakpoint(number, place, when, first, is_ptx)

    def evaluate(
        self, expression: str, *, warp: int | None = None, names: Mapping[str, Any] | None = None
    ) -> Any:
        """An expression of Python on registers, without their percent signs, and on `arrays`, `session`.

        Registers are those of the threads that come next, or of a `warp`. `names` are further ones.
        """
        names = {**(names or {}), "np": np, "session": self, "arrays": self.arrays, "line": self.line}
        current = self._machine.current
        if warp is not None:
            names |= {_python_name(name): values for name, values in self.registers(warp).items()}
        elif current is not None:
            for register in current.frame.program.function.registers:
                values = current.frame.register(register.index)
                if values is None:  # not written yet
                    values = np.zeros(current.threads.batch.size, current.frame.program.types[register.index])
                shown = _typed(current.threads.take(values), register.type)
                names[_python_name(register.name)] = shown
        try:
            return eval(as_text(expression, "expression"), {"__builtins__": __builtins__}, names)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise PtxlabError(f"{quoted(expression)} cannot be computed here: {quoted(reason)}") from None

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the launch at this position, read-only, by the number of their argument."""
        views = {}
        for name, memory in self._arguments:
            views[name] = memory.view()
            views[name].flags.writeable = False
        return views

    @property
    def warps(self) -> list[WarpState]:
        """Every warp of the blocks that run together now: where it stands, and what it waits for."""
        machine, batch = self._machine, self._machine.batch
        states: list[WarpState] = []
        seen = np.zeros(batch.size, dtype=np.bool_)

        def add(threads: Threads, state: Any, instruction: PtxInstruction | None, why: str = "") -> None:
            fresh = threads.indices[~seen[threads.indices]]
            seen[threads.indices] = True
            for warp in np.unique(fresh >> 5).tolist():
                lanes = tuple((fresh[fresh >> 5 == warp] & 31).tolist())
                block = batch.grid.block_of(int(batch.numbers[warp * 32 // batch.block_lanes]))
                states.append(WarpState(block, self._number(warp), lanes, state, instruction, why))

        if machine.current is not None:
            add(machine.current.threads, "next", self.instruction)
        for stuck in machine._stuck():
            add(stuck.threads, "waits", stuck.instruction, stuck.awaited(stuck.threads).name)
        for waiting in (*machine._partial_arrivals.values(), *machine._pending.values()):
            steps = waiting.frame.program.steps
            add(
                waiting.threads,
                "ready",
                steps[waiting.index].instruction if waiting.index < len(steps) else None,
            )
        rest = np.flatnonzero(~seen & batch.valid)
        is_alive = batch.alive[rest]
        add(Threads(batch, rest[~is_alive]), "ended", None)
        add(Threads(batch, rest[is_alive]), "not begun", None)
        return sorted(states, key=lambda state: (state.warp, state.lanes))

    def registers(self, warp: int = 0) -> dict[str, NDArray[Any]]:
        """The registers of a warp that have been written, by their names in the PTX: 32 lanes each.

        They are those of the function in which the warp is.
        """
        place = self._place(warp)
        frame = self._frame_of(place)
        values: dict[str, NDArray[Any]] = {}
        for register in frame.program.function.registers:
            content = frame.register(register.index)
            if content is not None:
                values[register.name] = _typed(content[32 * place : 32 * place + 32].copy(), register.type)
        return values

    def shared(self, block: int = 0) -> NDArray[np.uint8]:
        """The shared memory of a block, as bytes; address 0 is the first that the kernel may use."""
        return self._machine.shared_of(self._block_place(block))[SHARED_START:].copy()

    def tensor_memory(self, block: int = 0) -> NDArray[np.uint32]:
        """The words of a block's tensor memory, [lanes, columns]."""
        place = self._block_place(block)
        if self._machine.tensor_memory is None:
            raise PtxlabError("no instruction has used tensor memory so far")
        return np.array(self._machine.tensor_memory.words[place])

    def mbarriers(self, block: int = 0) -> list[Mbarrier]:
        """The mbarriers that a block has initialised: phase, and arrivals and bytes still expected."""
        place = self._block_place(block)
        memory = self._machine.shared_of(place)
        found = []
        for owner, address in sorted(self._machine.mbarriers):
            if owner == place:
                word = memory[address : address + 8].copy().view(np.uint64)
                pending, expected, tx, phase = (int(part[0]) for part in BarrierState.of(word))
                valid = not why_invalid(int(word[0]))
                found.append(Mbarrier(address - SHARED_START, phase, pending, expected, tx, valid))
        return found

    def operands(self, warp: int = 0) -> Operation:
        """What the matrix instruction reads that a warp executes next, as `result.operands` gives it."""
        number, position = self._checked_warp(warp), self.position
        instruction = self.instruction
        if instruction is None or number not in self.next_warps:
            raise PtxlabError(
                f"warp {number} does not execute the next instruction; step to one that it does"
            )
        products = Products(KEPT_BYTES)
        self.observed((products,), position + 1)
        products.end()
        operation = Result(_products=products).operands(warp=number) if products.items else None
        self.go_to(position)
        if operation is None:
            raise PtxlabError(f"{instruction.opcode} at {instruction.where} is no matrix instruction")
        return operation

    # -- where values come from ------------------------------------------------------------------------------

    def who_wrote(
        self,
        array: object = None,
        index: Any = 0,
        *,
        register: str | None = None,
        warp: int = 0,
        lane: int = 0,
        most: int = 100,
    ) -> Origin:
        """Who wrote an element of an array last, or a register of a lane, and from what.

        It goes back to the arguments, through registers, memory, shuffles and `mma`, for at most `most`
        instructions.
        """
        limit = as_int(most, "most")
        if limit < 1:
            raise PtxlabError(f"most={quoted(limit)}: it is 1 or more")
        if register is not None:
            name, place, number = as_text(register, "register"), self._place(warp), as_int(lane, "lane")
            self._check_register(name)
            if not 0 <= number < 32:
                raise PtxlabError(f"lane={quoted(number)}: lanes are 0 to 31")
            frame = self._frame_of(place)
            found = [r.index for r in frame.program.function.registers if r.name == name]
            if not found:
                raise PtxlabError(f"register={quoted(name)}: the function in which warp {warp} is has none")
            origin = Origin(f"{name} of warp {warp}, lane {number}")
            target = Target(self.position, origin, frame, found[0], 32 * place + number)
        else:
            view = self._array(array)
            try:
                flat = int(np.arange(view.size).reshape(view.shape)[index])
            except (IndexError, TypeError, ValueError):
                raise PtxlabError(
                    f"index={quoted(index)}: it names one element of {view.dtype}{list(view.shape)}"
                ) from None
            steps = zip(np.unravel_index(flat, view.shape), view.strides, strict=True)
            address = view.ctypes.data + sum(int(i) * step for i, step in steps)
            memory = next(memory for _, memory in self._arguments if np.may_share_memory(memory, view))
            first = address - memory.ctypes.data
            origin, data = Origin(f"element {quoted(index)}"), as_bytes(memory)
            target = Target(self.position, origin, data=data, first=first, last=first + view.itemsize)
        trace(self, [target], limit)
        return origin

    def who_wrote_shared(self, byte: int, size: int = 4, block: int = 0, *, most: int = 100) -> Origin:
        """Who wrote so many bytes of a block's shared memory last, and from what."""
        first, length, place = as_int(byte, "byte"), as_int(size, "size"), self._block_place(block)
        memory = self._machine.memory
        if not (first >= 0 and length > 0 and first + length + SHARED_START <= memory.shared_size):
            most_bytes = memory.shared_size - SHARED_START
            raise PtxlabError(f"byte={quoted(first)}: shared memory has {most_bytes} bytes, from 0 on")
        origin = Origin(f"shared memory, bytes from {first}")
        start = SHARED_START + first + place * memory.shared_pitch
        target = Target(self.position, origin, data=memory.shared, first=start, last=start + length)
        trace(self, [target], as_int(most, "most"))
        return origin

    def follow(self, origin: Origin, most: int = 1) -> Origin:
        """Go on where an origin was not followed further, for at most so many instructions."""
        if origin.rest is not None:
            target, origin.rest, origin.note = origin.rest, None, ""
            trace(self, [target], as_int(most, "most"))
        return origin

    def first_nan(self) -> Origin | None:
        """Go behind the first instruction that gives a NaN, and say from what; None if there is none."""
        return self._first(np.isnan)

    def first_infinity(self) -> Origin | None:
        """Go behind the first instruction that gives an infinity, and say from what; or None."""
        return self._first(np.isinf)

    def first_difference(self, array: object, reference: Any) -> Origin | None:
        """At the end, who wrote the first element that differs from a reference; None if none does."""
        view = self._array(array)
        expected = np.asarray(reference)
        if expected.shape != view.shape:
            raise PtxlabError(
                f"reference: found the shape {list(expected.shape)}; the array has {list(view.shape)}"
            )
        self.go_to(1 << 62)
        same = (view == expected) | ((view != view) & (expected != expected))
        places = np.argwhere(~same)
        return self.who_wrote(array, tuple(places[0].tolist())) if len(places) else None

    def _first(self, is_special: Callable[[NDArray[Any]], NDArray[Any]]) -> Origin | None:
        """Go behind the first instruction with a special result, from the beginning on."""
        here = self.position
        self.go_to(0)
        while not self.ended:
            current, instruction = self._machine.current, self.instruction
            self._forwards(self.position + 1, {})
            if current is None or instruction is None:
                continue
            for register in instruction.registers[1]:
                dtype = _float_type(instruction, register.type)
                if dtype is None:
                    continue
                values = np.ascontiguousarray(current.frame.read(register.index, current.threads))
                special = is_special(values.view(dtype).reshape(len(values), -1).astype(np.float64)).any(
                    axis=1
                )
                if special.any():
                    thread = int(current.threads.indices[np.flatnonzero(special)[0]])
                    name = f"{register.name} of warp {self._number(thread >> 5)}, lane {thread & 31}"
                    origin = Origin(name)
                    trace(self, [Target(self.position, origin, current.frame, register.index, thread)], 100)
                    return origin
        self.go_to(here)
        return None

    # -- inside ----------------------------------------------------------------------------------------------

    def go_to(self, target: int) -> None:
        """Be at a position, from the nearest snapshot before it."""
        for _ in self._going_to(target):
            pass

    def _going_to(self, target: int) -> Iterator[None]:
        snapshot = self._snapshots[self.snapshot_before(target)]
        if not snapshot.position <= self.position <= target:
            self._restore(snapshot)
        yield from self._advance(target, {})

    def snapshot_before(self, position: int) -> int:
        """The number of the last snapshot that is not behind a position."""
        return bisect_right([snapshot.position for snapshot in self._snapshots], position) - 1

    def _restore(self, snapshot: Snapshot) -> None:
        self._machine = snapshot.restore(self._pages)
        self._observe(())
        self._base, self._seconds = snapshot.base, snapshot.seconds

    def rewind(self, number: int) -> tuple[int, int]:
        """Go back to a snapshot: its position, and the instructions of the batches before."""
        self._restore(self._snapshots[number])
        return self.position, self._base

    def title_of(self, data: NDArray[np.uint8]) -> str:
        """What messages call an array."""
        for buffer in self._machine.memory.buffers:
            if buffer.data.ctypes.data == data.ctypes.data and buffer.size == data.size:
                return buffer.title
        return "memory of the threads"

    def _forwards(self, target: int, stops: dict[str, frozenset[int]]) -> None:
        """Execute up to a position, to an instruction of `stops`, or to the end."""
        for _ in self._advance(target, stops):
            pass

    def _advance(self, target: int, stops: dict[str, frozenset[int]]) -> Iterator[None]:
        """The same in slices. An interrupt goes back to the snapshot before: instructions end whole."""
        while self.position < target and not self.ended:
            before = self._snapshots[self.snapshot_before(self.position)]
            if self._seconds - before.seconds >= _SPACING and self.position > before.position:
                self._snap()
            first, begun = self.position, perf_counter()
            pause = min(target, first + max(1, int(self._rate * _SPACING / 4)))
            machine = self._machine
            machine.stops = stops
            try:
                with np.errstate(all="ignore"):
                    runs = machine.go_on(pause - self._base)
                    if not runs:
                        self._next_batch()
            except PtxlabError as error:
                self._fail(error)
                return
            except KeyboardInterrupt:
                self._restore(self._snapshots[self.snapshot_before(first)])
                self.stopped = "interrupted"
                raise
            spent = perf_counter() - begun
            self._seconds += spent
            self._rate = 0.5 * self._rate + 0.5 * (self.position - first) / max(spent, 1e-6)
            current = self._machine.current
            if current is not None and current.index in stops.get(current.frame.program.function.name, ()):
                return
            yield

    def _next_batch(self) -> None:
        """All threads of a batch have ended: the next one begins, or the launch has ended."""
        position = self.position
        machine = self._run.next_machine()
        if machine is None:
            self.length = position
            return
        machine.observe(self._machine.observers)
        machine.memory.observers = self._machine.observers
        self._base, self._machine = position, machine
        machine.start()
        machine.go_on(0)
        self._snap()  # memory of a batch is its own

    def _fail(self, error: PtxlabError) -> None:
        """The launch ends with an error: stay before the instruction that makes it."""
        self.error = error
        if self._machine.current is None and not self._machine._pending and not self._machine.frame:
            self.length = self.position
            return
        failing = self.position
        is_stuck = getattr(getattr(error, "hazard", None), "kind", "") == "deadlock"
        if not is_stuck:
            failing -= 1
            self._restore(self._snapshots[self.snapshot_before(failing)])
            self.length = None
            self._forwards(failing, {})
        self.length = failing

    def _snap(self) -> None:
        snapshot = Snapshot.take(
            self._machine, self._pages, self.position, self._base, self._seconds, self._run.output
        )
        place = self.snapshot_before(self.position) + 1
        if place and self._snapshots[place - 1].position == self.position:
            self._snapshots[place - 1] = snapshot
            return
        self._snapshots.insert(place, snapshot)
        if len(self._snapshots) % 8 == 0 and self.memory > self._most_bytes:
            self._thin_out()

    def _thin_out(self) -> None:
        """Drop snapshots until half of the memory is left: the farther from here, the fewer stay."""
        while len(self._snapshots) > 4 and self.memory > self._most_bytes // 2:
            times = np.array([snapshot.seconds for snapshot in self._snapshots])
            gaps = times[2:] - times[:-2]
            distance = np.abs(times[1:-1] - self._seconds) + _SPACING
            order = np.argsort(gaps / distance)[: max(1, len(gaps) // 8)] + 1
            self._snapshots = [
                snapshot
                for number, snapshot in enumerate(self._snapshots)
                if number not in set(order.tolist())
            ]
            self._pages.keep(slots for snapshot in self._snapshots for _, slots in snapshot.contents)

    def _seek(
        self,
        holds: Callable[[DebugSession], bool],
        stops: dict[str, frozenset[int]] | None,
        *,
        forwards: bool,
    ) -> Iterator[None]:
        """Go on to the next position at which something holds, or back to the last one.

        It is asked at the instructions of `stops` only; with None, at each. Without such a position it goes
        to the end, or to the beginning.
        """
        origin = self.position
        if forwards:
            self._reset_watches()
            yield from self._next(holds, stops, None)
            return
        number = self.snapshot_before(max(origin - 1, 0))
        last = origin
        while number >= 0:
            snapshot = self._snapshots[number]
            begin = snapshot.position
            self._restore(snapshot)
            self._reset_watches()
            found = begin if begin < origin and self._at(stops) and holds(self) else -1
            while (yield from self._next(holds, stops, last)):
                found = self.position
            if found >= 0:
                yield from self._going_to(found)
                return
            last = begin
            number = self.snapshot_before(begin - 1) if begin else -1
        yield from self._going_to(0)

    def _next(
        self,
        holds: Callable[[DebugSession], bool],
        stops: dict[str, frozenset[int]] | None,
        end: int | None,
    ) -> Generator[None, None, bool]:
        """Go on to the next position before `end` at which something holds; whether there is one."""
        while not self.ended:
            most = self.position + 1 if stops is None else 1 << 62
            yield from self._advance(most if end is None else min(most, end), stops or {})
            if end is not None and self.position >= end:
                return False
            if self._at(stops) and holds(self):
                return True
            yield  # what is asked at each turn of a loop may never hold
        return False

    def _at(self, stops: dict[str, frozenset[int]] | None) -> bool:
        current = self._machine.current
        if stops is None:
            return True
        return current is not None and current.index in stops.get(current.frame.program.function.name, ())

    def _reset_watches(self) -> None:
        for watch in self.watches:
            watch.last = watch.value(self)

    def _arrived(self, why: str) -> None:
        self.stopped = why
        if self.ended:
            self.stopped = "the end" if self.error is None else f"error: {self.error}"
        elif self.position == 0:
            self.stopped = "begin"

    def observed(self, observers: tuple[Observer, ...], target: int) -> None:
        """Execute up to a position, and tell observers of it."""
        self._observe(observers)
        try:
            for observer in observers:
                observer.attach(self._machine)
                observer.begin(self._machine.batch)
            self._forwards(target, {})
        finally:
            self._observe(())

    def _observe(self, observers: tuple[Observer, ...]) -> None:
        self._machine.observe(observers)
        self._machine.memory.observers = observers

    def _instructions(self, chosen: Callable[[PtxInstruction], bool]) -> dict[str, frozenset[int]]:
        """Instructions by function, by their indices."""
        found = {
            name: frozenset(i.index for i in function.instructions if chosen(i))
            for name, function in self._image.module.functions.items()
        }
        return {name: indices for name, indices in found.items() if indices}

    def _loop_heads(self, function: str) -> set[int]:
        """Instructions to which later ones branch back: a line may begin there that goes on from above."""
        instructions = self._image.module.functions[function].instructions
        return {target for item in instructions for target in branch_targets(item) if target <= item.index}

    # -- warps and blocks ------------------------------------------------------------------------------------

    def _number(self, place: int) -> int:
        """The number in the launch of a warp of the batch."""
        block, within = divmod(place, self._machine.batch.block_lanes // 32)
        return int(self._machine.batch.numbers[block]) * self.grid.warps + within

    def _checked_warp(self, warp: object) -> int:
        number, count = as_int(warp, "warp"), self.grid.warps * self.grid.block_count
        if not 0 <= number < count:
            raise PtxlabError(f"warp={quoted(number)}: the launch has {counted(count, 'warp')}, from 0 on")
        return number

    def _place(self, warp: object) -> int:
        """Where a warp of the launch is in the batch."""
        block, within = divmod(self._checked_warp(warp), self.grid.warps)
        return self._block_place(block) * (self._machine.batch.block_lanes // 32) + within

    def _block_place(self, block: object) -> int:
        number = as_int(block, "block")
        if not 0 <= number < self.grid.block_count:
            raise PtxlabError(
                f"block={quoted(number)}: the launch has {counted(self.grid.block_count, 'block')}, from 0 on"
            )
        places = np.flatnonzero(self._machine.batch.numbers == number)
        if not len(places):
            numbers = self._machine.batch.numbers
            raise PtxlabError(
                f"block {number} does not run at position {self.position}: blocks {numbers.min()} to "
                f"{numbers.max()} do"
            )
        return int(places[0])

    def _frame_of(self, place: int) -> Frame:
        """The call in which a warp is."""
        machine = self._machine
        waiting = [machine.current, *machine._converging.values(), *machine._pending.values()]
        waiting += [other for other, _ in (*machine._sleeping, *machine._spinning)]
        found = [(item.frame, item.threads) for item in waiting if item is not None]
        found += [(frame, threads) for (frame, _), _, threads in machine.barriers.waiting()]
        for frame, threads in found:
            if (threads.indices >> 5 == place).any():
                return frame
        return machine.entry_frame

    @property
    def _depth(self) -> int:
        """How many calls deep the next instruction is; 1 in the kernel itself."""
        current = self._machine.current
        return 0 if current is None else len(_calls(current.frame, current.index))

    def calls(self, warp: int = 0) -> list[tuple[Function, int]]:
        """The functions in which a warp is, the innermost first, each with an index of its instructions.

        It is the instruction that comes next, and in callers the call. A warp that has ended, or not begun,
        is in none.
        """
        self._place(warp)
        stood = [state for state in self.warps if state.warp == warp and state.instruction is not None]
        stood.sort(key=lambda state: state.state != "next")
        if not stood or stood[0].instruction is None:
            return []
        return _calls(self._frame_of(self._place(warp)), stood[0].instruction.index)

    def function_of(self, warp: int = 0) -> Function:
        """The function in which a warp is."""
        return self._frame_of(self._place(warp)).program.function

    def _warp_in_question(self, warp: int | None) -> int:
        if warp is not None:
            return self._checked_warp(warp)
        return self.next_warps[0] if self.next_warps else 0

    def _line_of(self, warp: int) -> int:
        """The line at which a warp is."""
        return next((state.line for state in self.warps if state.warp == warp), 0)

    def _check_register(self, name: str) -> None:
        names = [
            register.name
            for function in self._image.module.functions.values()
            for register in function.registers
        ]
        if name not in names:
            raise PtxlabError(f"register={quoted(name)}: there are {listing(dict.fromkeys(names))}")

    def _array(self, array: object) -> NDArray[Any]:
        """An argument, by its number or as itself."""
        for name, memory in self._arguments:
            if isinstance(array, np.ndarray):
                if memory is array or np.may_share_memory(memory, array):
                    return memory if memory is array else array
            elif str(array) == name:
                return memory
        names = listing(name for name, _ in self._arguments)
        raise PtxlabError(f"array={quoted(array)}: it is no array of this launch; arguments {names} are")


def _calls(frame: Frame, index: int) -> list[tuple[Function, int]]:
    """A call and its callers, each with the index of where it is."""
    calls = [(frame.program.function, index)]
    while frame.parent is not None:
        calls.append((frame.parent.program.function, frame.position[-2]))
        frame = frame.parent
    return calls


def _float_type(instruction: PtxInstruction, kind: str) -> np.dtype[Any] | None:
    """The type of a result, if it is a float: that of the register, or that of the opcode for two halves."""
    if kind in ("f32", "f64"):
        return np.dtype(_DTYPES[kind])
    name = instruction.parts[-1]
    if instruction.is_arithmetic and name in ("f16", "f16x2"):
        return np.dtype(np.float16)
    if instruction.is_arithmetic and name in ("bf16", "bf16x2"):
        brain: np.dtype[Any] = np.dtype(bfloat16)
        return brain
    return None


def _python_name(register: str) -> str:
    """What expressions call a register."""
    return register.lstrip("%").replace("$", "_")


def _always(session: DebugSession) -> bool:
    return True


def _typed(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """Values of a register in its own type."""
    dtype = np.dtype(_DTYPES.get(kind, values.dtype))
    return values.view(dtype) if dtype.itemsize == values.dtype.itemsize else values
