"""Registers whose values come later: matrix instructions are computed together, while threads go on.

An `mma` of all warps is put aside until another one needs its D, or until somebody reads that. All that came
before, with the same opcode, none of which needs the others, are computed in one call, where that is worth it
in a thread of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._util.threads import leave_a_core, thread_count
from ...errors import PtxlabError
from ...isa.mma import MmaForm
from ...isa.modifiers import Modifiers
from ...isa.operands import Operands
from ...numerics.emulate import emulate, model_of

__all__ = ["Deferred", "MatrixQueue", "RegisterOperands", "Values", "WarpgroupOperands", "values_of"]

_MOST_TOGETHER = 16  # matrix instructions that are computed in one call
_BYTES_TOGETHER = 16 << 20  # of their registers
_WORTH_A_THREAD = 1 << 20  # products of numbers
_AHEAD = 4  # calls that may wait for the thread


class Deferred:
    """What a register of all threads will hold; it is computed when somebody reads it."""

    __slots__ = ("_compute",)

    def __init__(self, compute: Callable[[], NDArray[Any]]) -> None:
        self._compute = compute

    def get(self) -> NDArray[Any]:
        """The values."""
        return self._compute()


#: A register of all threads.
Values: TypeAlias = NDArray[Any] | Deferred


def values_of(register: Values) -> NDArray[Any]:
    """The values, computed now if they were not yet."""
    return register.get() if isinstance(register, Deferred) else register


@dataclass(slots=True)
class RegisterOperands:
    """What a matrix instruction reads in all warps: its registers, each over all threads, by operand."""

    ins: MmaForm
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
        return sum(len(each) for each in self.registers.values()) * 4 * self.threads

    def computed(self) -> RegisterOperands:
        """The same with nothing left to be computed."""
        registers: dict[str, list[Values]] = {
            name: [values_of(register) for register in those] for name, those in self.registers.items()
        }
        return RegisterOperands(self.ins, self.modifiers, registers, self.threads)

    def item(self, index: int) -> Operands:
        """Those of one warp, [lanes, registers]."""
        lanes = slice(32 * index, 32 * index + 32)
        arrays = {
            name: np.stack([values_of(register)[lanes] for register in those], axis=-1)
            for name, those in self.registers.items()
        }
        return Operands(self.ins, modifiers=self.modifiers, **arrays)


@dataclass(frozen=True)
class WarpgroupOperands:
    """What a wgmma reads in some warpgroups: C as registers or still to come, A, B and metadata."""

    ins: MmaForm
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

    def computed(self) -> Operands:
        """The same with nothing left to be computed."""
        c = self.c.result() if isinstance(self.c, Future) else self.c
        return Operands(self.ins, modifiers=self.modifiers, c=c, **self.arrays)

    def item(self, index: int) -> Operands:
        """Those of one warpgroup."""
        return self.computed().item(index)


class _Group:
    """Matrix instructions with the same opcode, none of which needs the others."""

    def __init__(self, queue: MatrixQueue, operands: RegisterOperands) -> None:
        self.ins, self.modifiers, self.threads = operands.ins, operands.modifiers, operands.threads
        self.items: list[dict[str, list[Values]]] = []
        self.is_closed = False
        self.future: Future[NDArray[Any]] = Future()
        self._queue = queue
        self._d: NDArray[Any] | None = None
        self._most = max(1, min(_MOST_TOGETHER, _BYTES_TOGETHER // operands.nbytes))

    @property
    def is_full(self) -> bool:
        """Whether no more are to be added."""
        return len(self.items) == self._most

    @property
    def products(self) -> int:
        """How many numbers are multiplied."""
        return len(self.items) * (self.threads // 32) * self.ins.m * self.ins.n * self.ins.k

    def add(self, operands: RegisterOperands) -> list[Deferred]:
        """One more; gives the registers of its D."""
        self.items.append(operands.registers)
        item = len(self.items) - 1
        return [_Result(self, item, number) for number in range(self.ins.d.registers)]

    def d(self) -> NDArray[Any]:
        """Registers of D, [registers, instructions, threads]."""
        if self._d is None:
            self._queue.close(self)
            self._d = self.future.result()
        return self._d

    def compute(self, model: str | None, scratch: _Scratch) -> NDArray[Any]:
        """The same, computed now."""
        arrays = {}
        for name in self.items[0]:
            rows = self._gathered(name, scratch)
            arrays[name] = rows.reshape(len(rows), -1, 32).transpose(1, 2, 0)
        with np.errstate(all="ignore"):
            d = emulate(Operands(self.ins, modifiers=self.modifiers, **arrays), model=model)
        rows = np.ascontiguousarray(d.transpose(2, 0, 1)).reshape(-1, len(self.items), self.threads)
        self.items = []
        return rows

    def _gathered(self, name: str, scratch: _Scratch) -> NDArray[Any]:
        """Registers of an operand, [registers, instructions, threads]."""
        columns = [operands[name] for operands in self.items]
        first = columns[0][0]
        if isinstance(first, _Result) and first.group.is_all(columns):
            return first.group.d()
        array = scratch.array(name, (len(columns[0]), len(columns), self.threads))
        for item, column in enumerate(columns):
            for number, register in enumerate(column):
                array[number, item] = values_of(register)
        return array

    def is_all(self, columns: list[list[Values]]) -> bool:
        """Whether these registers of each instruction are D of this group: accumulators of a loop."""
        d = self.d()
        return d.shape[:2] == (len(columns[0]), len(columns)) and all(
            isinstance(register, _Result) and register.is_at(self, item, number)
            for item, column in enumerate(columns)
            for number, register in enumerate(column)
        )


class _Result(Deferred):
    """A register of D of a matrix instruction."""

    __slots__ = ("group", "item", "number")

    def __init__(self, group: _Group, item: int, number: int) -> None:
        self.group, self.item, self.number = group, item, number

    def is_at(self, group: _Group, item: int, number: int) -> bool:
        """Whether it is this register of D of this instruction of a group."""
        return self.group is group and self.item == item and self.number == number

    def get(self) -> NDArray[Any]:
        """The values."""
        return self.group.d()[self.number, self.item]  # type: ignore[no-any-return]


def _quiet(operands: WarpgroupOperands, model: str | None) -> NDArray[Any]:
    """D, without NumPy's warnings of infinities, which each thread has its own setting for."""
    with np.errstate(all="ignore"):
        return emulate(operands.computed(), model=model)


class _Scratch:
    """Arrays for the operands of one call, which the next one uses again."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[np.uint32]] = {}

    def array(self, name: str, shape: tuple[int, ...]) -> NDArray[np.uint32]:
        """An array with any content."""
        size = int(np.prod(shape))
        kept = self._arrays.get(name)
        if kept is None or kept.size < size:
            kept = self._arrays[name] = np.empty(size, dtype=np.uint32)
        return kept[:size].reshape(shape)


class MatrixQueue:
    """The matrix instructions of a batch of blocks that are not computed yet."""

    def __init__(self, model: str | None) -> None:
        self._model = model
        self._open: dict[MmaForm, _Group] = {}
        self._waiting: deque[Future[NDArray[Any]]] = deque()
        self._scratch, self._thread_scratch = _Scratch(), _Scratch()

    def add(self, operands: RegisterOperands) -> list[Deferred]:
        """Put a matrix instruction aside; gives the registers of its D."""
        for those in operands.registers.values():
            for number, register in enumerate(those):
                if isinstance(register, _Result):
                    self.close(register.group)  # what it needs is not computed together with it
                elif isinstance(register, Deferred):
                    those[number] = register.get()
        group = self._open.get(operands.ins)
        if group is not None and group.modifiers != operands.modifiers:
            self.close(group)
            group = None
        if group is None:
            model_of(operands.ins, self._model)  # an instruction that the chip lacks is an error here
            group = self._open[operands.ins] = _Group(self, operands)
        results = group.add(operands)
        if group.is_full:
            self.close(group)
        return results

    def close(self, group: _Group) -> None:
        """Add no more to a group: compute it, or let the thread do so after those before it."""
        if group.is_closed:
            return
        group.is_closed = True
        del self._open[group.ins]
        group.future = self._submit(group.products, lambda scratch: group.compute(self._model, scratch))

    def compute(self, operands: WarpgroupOperands) -> Future[NDArray[Any]]:
        """D of a wgmma, [warpgroups, 128, registers]."""
        model_of(operands.ins, self._model)
        products = operands.count * operands.ins.m * operands.ins.n * operands.ins.k
        return self._submit(products, lambda scratch: _quiet(operands, self._model))

    def _submit(self, products: int, compute: Callable[[_Scratch], NDArray[Any]]) -> Future[NDArray[Any]]:
        """Compute it, or let the thread do so after all that came before."""
        if products < _WORTH_A_THREAD or thread_count() == 1:
            done: Future[NDArray[Any]] = Future()
            try:
                done.set_result(compute(self._scratch))
            except PtxlabError as error:
                done.set_exception(error)  # for whoever reads a result, as from the thread
            return done
        if len(self._waiting) == _AHEAD:
            self._waiting.popleft().result()
        future = self._thread.submit(compute, self._thread_scratch)
        self._waiting.append(future)
        return future

    @cached_property
    def _thread(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, thread_name_prefix="ptxlab-matrices", initializer=leave_a_core)

    def end(self) -> None:
        """Nobody reads a result any more."""
        if "_thread" in vars(self):
            self._thread.shutdown(cancel_futures=True)
