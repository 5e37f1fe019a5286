"""Registers whose values are computed later: matrix instructions are batched while threads go on.

An `mma` of all warps is deferred until another one needs its D, or until D is read. Then all deferred
instructions with the same opcode that do not depend on each other are computed together, in a thread of
their own if they are large enough. When that thread has fallen behind, it computes several iterations of a
loop in one call: D of one is C of the next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._util.threads import leave_cores, thread_count
from ..errors import PtxlabError
from ..isa.mma import Instruction
from ..isa.modifiers import Modifiers
from ..isa.operation import Operation
from ..numerics.emulate import accumulate, model_of

_MAX_GROUP = 16  # matrix instructions in a group
_MAX_GROUP_BYTES = 16 << 20  # of their registers
_THREAD_PRODUCTS = 1 << 20  # multiplications that are worth a thread
_MAX_BYTES_AHEAD = 64 << 20  # registers that may wait for the thread
_MAX_ITERATIONS = 4  # that are computed in one call, so that it does not take long


class Deferred:
    """The values of a register in all threads, computed when they are read."""

    __slots__ = ()

    def get(self) -> NDArray[Any]:
        """The values."""
        raise NotImplementedError


#: A register of all threads.
Values: TypeAlias = NDArray[Any] | Deferred


def values_of(register: Values) -> NDArray[Any]:
    """The values of a register, computed now if they are deferred."""
    return register.get() if isinstance(register, Deferred) else register


@dataclass(slots=True)
class RegisterOperands:
    """What a matrix instruction reads in all warps: its registers, each over all threads, by operand."""

    ins: Instruction
    modifiers: Modifiers
    registers: dict[str, list[Values]]
    threads: int

    @property
    def count(self) -> int:
        """How many warps."""
        return self.threads // 32

    @property
    def nbytes(self) -> int:
        """Bytes of all registers."""
        return sum(len(values) for values in self.registers.values()) * 4 * self.threads

    def computed(self) -> RegisterOperands:
        """The same without deferred registers."""
        registers: dict[str, list[Values]] = {
            name: [values_of(register) for register in operand] for name, operand in self.registers.items()
        }
        return RegisterOperands(self.ins, self.modifiers, registers, self.threads)

    def item(self, index: int) -> Operation:
        """The operands of one warp, [lanes, registers]."""
        lanes = slice(32 * index, 32 * index + 32)
        arrays = {
            name: np.stack([values_of(register)[lanes] for register in operand], axis=-1)
            for name, operand in self.registers.items()
        }
        return Operation(self.ins, modifiers=self.modifiers, **arrays)


@dataclass(frozen=True)
class WarpgroupOperands:
    """What a wgmma reads in some warpgroups: C as registers, perhaps not computed yet, A, B and metadata."""

    ins: Instruction
    modifiers: Modifiers
    arrays: dict[str, NDArray[Any]]
    c: NDArray[Any] | Future[NDArray[Any]]

    @property
    def count(self) -> int:
        """How many warpgroups."""
        return len(self.arrays["b"])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        size = self.count * self.ins.c.lanes * self.ins.c.registers * self.ins.c.register_bits // 8
        return size + sum(array.nbytes for array in self.arrays.values())

    def computed(self) -> Operation:
        """The same with C computed."""
        c = self.c.result() if isinstance(self.c, Future) else self.c
        return Operation(self.ins, modifiers=self.modifiers, c=c, **self.arrays)

    def item(self, index: int) -> Operation:
        """The operands of one warpgroup."""
        return self.computed().item(index)


class _TaskFuture(Future[NDArray[Any]]):
    """D of a task; while the simulation waits for it, the queue's thread may use all cores."""

    def __init__(self, queue: MatrixQueue) -> None:
        super().__init__()
        self._queue = queue

    def result(self, timeout: float | None = None) -> NDArray[Any]:
        """See `Future.result`."""
        if not self.done():
            self._queue.catch_up()
        if self.done():
            return super().result()
        self._queue.is_awaited = True
        try:
            return super().result(timeout)
        finally:
            self._queue.is_awaited = False


class _Group:
    """Warp-level instructions with the same opcode that do not depend on each other, and their future D."""

    def __init__(self, queue: MatrixQueue, operands: RegisterOperands) -> None:
        self.future = _TaskFuture(queue)
        self.ins, self.modifiers, self.threads = operands.ins, operands.modifiers, operands.threads
        self.items: list[dict[str, list[Values]]] = []
        self.count = 0
        self.is_closed = False
        self._queue = queue
        self._d: NDArray[Any] | None = None
        self._size = operands.nbytes
        self._max_count = max(1, min(_MAX_GROUP, _MAX_GROUP_BYTES // operands.nbytes))

    @property
    def is_full(self) -> bool:
        """Whether no more instructions may be added."""
        return self.count == self._max_count

    @property
    def products(self) -> int:
        """The number of multiplications."""
        return self.count * (self.threads // 32) * self.ins.m * self.ins.n * self.ins.k

    @property
    def nbytes(self) -> int:
        """Bytes of what they read."""
        return self.count * self._size

    def add(self, operands: RegisterOperands) -> list[Deferred]:
        """Add an instruction; returns the registers of its D."""
        self.items.append(operands.registers)
        self.count += 1
        return [_Result(self, self.count - 1, number) for number in range(self.ins.d.registers)]

    def d(self) -> NDArray[Any]:
        """Registers of D, [registers, instructions, threads]."""
        if self._d is None:
            self._queue.close(self)
            self._d = self.future.result()
        return self._d

    def continues(self, before: _Task) -> bool:
        """Whether C is D of the task before, and no other operand is still to be computed."""
        if not isinstance(before, _Group) or (self.ins, self.modifiers) != (before.ins, before.modifiers):
            return False
        return before.is_all([registers["c"] for registers in self.items]) and not any(
            isinstance(register, _Result) and not register.group.future.done()
            for registers in self.items
            for name, operand in registers.items()
            for register in operand
            if name != "c"
        )

    def compute(self, others: Sequence[_Task], model: str | None) -> NDArray[Any]:
        """D of this task and of others, each of which continues the one before it.

        It is [tasks, registers, instructions, threads].
        """
        groups = [self, *(group for group in others if isinstance(group, _Group))]
        arrays = {}
        for name in self.items[0]:
            rows = self._initial_c() if name == "c" else self._gathered(name, groups)
            arrays[name] = np.moveaxis(rows.reshape(*rows.shape[:-2], -1, 32), -3, -1)
        with np.errstate(all="ignore"):
            d = accumulate(Operation(self.ins, modifiers=self.modifiers, **arrays), model=model)
        rows = np.ascontiguousarray(np.moveaxis(d, -1, 1))
        for group in groups:
            group.items = []
        return rows.reshape(len(groups), rows.shape[1], -1, self.threads)

    def _gathered(self, name: str, groups: Sequence[_Group]) -> NDArray[Any]:
        """Registers of an operand, [tasks, registers, instructions, threads]."""
        columns = [[operands[name] for operands in group.items] for group in groups]
        shape = len(columns), len(columns[0][0]), len(columns[0]), self.threads
        array = np.empty(shape, dtype=np.uint32)
        for rows, operands in zip(array, columns, strict=True):
            _fill(rows, operands)
        return array

    def _initial_c(self) -> NDArray[Any]:
        """Registers of C, [registers, instructions, threads]."""
        columns = [operands["c"] for operands in self.items]
        first = columns[0][0]
        if isinstance(first, _Result) and first.group.is_all(columns):
            return first.group.d()
        array = np.empty((len(columns[0]), len(columns), self.threads), dtype=np.uint32)
        _fill(array, columns)
        return array

    def is_all(self, columns: list[list[Values]]) -> bool:
        """Whether these registers of each instruction are D of this group: accumulators of a loop."""
        return (self.ins.d.registers, self.count) == (len(columns[0]), len(columns)) and all(
            isinstance(register, _Result) and register.is_at(self, item, number)
            for item, column in enumerate(columns)
            for number, register in enumerate(column)
        )


def _fill(array: NDArray[Any], columns: list[list[Values]]) -> None:
    """Set registers [registers, instructions, threads] to those of each instruction."""
    for item, column in enumerate(columns):
        for number, register in enumerate(column):
            array[number, item] = values_of(register)


class _Result(Deferred):
    """A register of D of a matrix instruction."""

    __slots__ = ("group", "item", "number")

    def __init__(self, group: _Group, item: int, number: int) -> None:
        self.group, self.item, self.number = group, item, number

    def is_at(self, group: _Group, item: int, number: int) -> bool:
        """Whether it is register `number` of D of instruction `item` of a group."""
        return self.group is group and self.item == item and self.number == number

    def get(self) -> NDArray[Any]:
        """The values."""
        return self.group.d()[self.number, self.item]  # type: ignore[no-any-return]


class _Warpgroups:
    """A wgmma of some warpgroups, and its future D."""

    def __init__(self, queue: MatrixQueue, operands: WarpgroupOperands) -> None:
        self.future = _TaskFuture(queue)
        self.operands = operands

    @property
    def products(self) -> int:
        """The number of multiplications."""
        ins = self.operands.ins
        return self.operands.count * ins.m * ins.n * ins.k

    @property
    def nbytes(self) -> int:
        """Bytes of what they read."""
        return self.operands.nbytes

    def continues(self, before: _Task) -> bool:
        """Whether C is D of the task before."""
        if not isinstance(before, _Warpgroups) or self.operands.c is not before.future:
            return False
        ours, theirs = self.operands, before.operands
        return (ours.ins, ours.modifiers, ours.count) == (theirs.ins, theirs.modifiers, theirs.count)

    def compute(self, others: Sequence[_Task], model: str | None) -> NDArray[Any]:
        """D of this task and of others, as in `_Group`: [tasks, warpgroups, 128, registers]."""
        tasks = [self.operands, *(task.operands for task in others if isinstance(task, _Warpgroups))]
        first = self.operands.computed()
        arrays = {name: np.stack([task.arrays[name] for task in tasks]) for name in self.operands.arrays}
        with np.errstate(all="ignore"):
            return accumulate(
                Operation(first.ins, modifiers=first.modifiers, c=first.c, **arrays), model=model
            )


#: Matrix instructions that are computed together.
_Task: TypeAlias = _Group | _Warpgroups


def _next_tasks(waiting: deque[_Task]) -> list[_Task]:
    """Take the oldest task, and those that continue it."""
    tasks: list[_Task] = []
    while waiting and len(tasks) < _MAX_ITERATIONS and (not tasks or waiting[0].continues(tasks[-1])):
        tasks.append(waiting.popleft())
    return tasks


def _fail(tasks: Sequence[_Task], error: BaseException) -> None:
    """Let the error be raised where a result is read."""
    for task in tasks:
        task.future.set_exception(error)


class MatrixQueue:
    """The deferred matrix instructions of a batch of blocks."""

    def __init__(self, model: str | None) -> None:
        self._model = model
        self._open: dict[Instruction, _Group] = {}
        self._waiting: deque[_Task] = deque()  # for the thread
        self._postponed: deque[_Task] = deque()  # if there is no thread
        self._ahead: deque[tuple[_Task, int]] = deque()  # tasks that may not be computed yet, and their bytes
        self._bytes_ahead = 0
        self.is_awaited = False  # the simulation waits for a result

    def add(self, operands: RegisterOperands) -> list[Deferred]:
        """Defer a matrix instruction; returns the registers of its D."""
        for registers in operands.registers.values():
            for number, register in enumerate(registers):
                if isinstance(register, _Result):
                    self.close(register.group)  # it cannot be in the group whose D it reads
                elif isinstance(register, Deferred):
                    registers[number] = register.get()
        group = self._open.get(operands.ins)
        if group is not None and group.modifiers != operands.modifiers:
            self.close(group)
            group = None
        if group is None:
            model_of(operands.ins, self._model)  # an error if the chip lacks the instruction
            group = self._open[operands.ins] = _Group(self, operands)
        results = group.add(operands)
        if group.is_full:
            self.close(group)
        return results

    def close(self, group: _Group) -> None:
        """Close a group: compute it, or let the thread do so after those before it."""
        if group.is_closed:
            return
        group.is_closed = True
        del self._open[group.ins]
        self._submit(group)

    def compute(self, operands: WarpgroupOperands) -> Future[NDArray[Any]]:
        """D of a wgmma, [warpgroups, 128, registers]."""
        model_of(operands.ins, self._model)
        task = _Warpgroups(self, operands)
        self._submit(task)
        return task.future

    def _submit(self, task: _Task) -> None:
        """Compute a task, or let the thread do so after all earlier ones."""
        if thread_count() == 1 and not self._ahead:  # there is no thread: the next task may continue it
            self._postponed.append(task)
            if len(self._postponed) == _MAX_ITERATIONS:
                self.catch_up()
            return
        if task.products < _THREAD_PRODUCTS:
            self._run([task])
            return
        size = task.nbytes
        while self._ahead and self._bytes_ahead + size > _MAX_BYTES_AHEAD:
            oldest, oldest_size = self._ahead.popleft()
            self._bytes_ahead -= oldest_size
            oldest.future.result()
        self._ahead.append((task, size))
        self._bytes_ahead += size
        self._waiting.append(task)
        self._thread.submit(self._work)

    def catch_up(self) -> None:
        """Compute the postponed tasks, if there is no thread for them."""
        while self._postponed:
            self._run(_next_tasks(self._postponed))

    def _work(self) -> None:
        """In the thread: compute the oldest task, and those that continue it."""
        tasks = _next_tasks(self._waiting)
        if not tasks:
            return  # it was computed together with the one before it
        leave_cores(0 if self.is_awaited else 1)
        try:
            self._run(tasks)
        except BaseException as error:  # the executor would drop it
            _fail(tasks, error)

    def _run(self, tasks: list[_Task]) -> None:
        """Compute tasks, each of which continues the one before it."""
        try:
            results = tasks[0].compute(tasks[1:], self._model)
        except PtxlabError as error:
            _fail(tasks, error)
            return
        for task, result in zip(tasks, results, strict=True):
            task.future.set_result(result)

    @cached_property
    def _thread(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, thread_name_prefix="ptxlab-matrices")

    def end(self) -> None:
        """Stop the thread: no result is read any more."""
        if "_thread" in vars(self):
            self._thread.shutdown(cancel_futures=True)
