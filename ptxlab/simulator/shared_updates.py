"""Atomic updates of global memory by blocks in different processes, put together afterwards.

Additions of whole numbers, minima, maxima and bitwise operations give the same whatever comes first, if
nobody looks at the memory in between. Others are refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from .events import Access, Observer
from .memory import Buffer
from .ptx.syntax import Function, Instruction, Module, registers_of

_TYPES = {f"{kind}{bits}": f"{'i' if kind == 's' else 'u'}{bits // 8}" for kind in "usb" for bits in (32, 64)}


class Update(NamedTuple):
    """What is done to the elements of an array: "add", "min", ..., and NumPy's name of their type."""

    operation: str
    type_name: str

    def difference(
        self, old: NDArray[np.uint8], new: NDArray[np.uint8]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Which elements changed, and as bytes what another process needs to do the same to its own.

        >>> before, after = (np.array(values, np.uint32).view(np.uint8) for values in ([5, 6], [5, 9]))
        >>> places, change = Update("add", "u4").difference(before, after)
        >>> places.tolist(), change.view(np.uint32).tolist()
        ([1], [3])
        """
        before, after = self._elements(old), self._elements(new)
        places = np.flatnonzero(before != after)
        change = after[places]
        if self.operation == "add":
            change = change - before[places]
        elif self.operation == "xor":
            change = change ^ before[places]
        return places, change.view(np.uint8)

    def apply(self, array: NDArray[np.uint8], places: NDArray[np.int64], change: NDArray[np.uint8]) -> None:
        """Do to an array what `difference` says."""
        elements = self._elements(array)
        operations = {
            "add": np.add,
            "xor": np.bitwise_xor,
            "and": np.bitwise_and,
            "or": np.bitwise_or,
            "min": np.minimum,
            "max": np.maximum,
        }
        elements[places] = operations[self.operation](elements[places], change.view(self.type_name))

    def _elements(self, content: NDArray[np.uint8]) -> NDArray[Any]:
        size = np.dtype(self.type_name).itemsize
        return content[: len(content) // size * size].view(self.type_name)


class Updates(Observer):
    """Hears which arrays blocks update atomically, and which they read or write otherwise.

    `updated` and `plain` have them by their number in `arrays`.
    """

    def __init__(self, module: Module) -> None:
        self.updated: dict[int, Update] = {}
        self.plain: set[int] = set()
        self._functions = module.functions.values()
        self._numbers: dict[int, int] = {}
        self._known: dict[int, Update | None] = {}

    def watch(self, buffers: Sequence[Buffer], arrays: Sequence[NDArray[np.uint8]]) -> None:
        """Where the arrays are in the simulated memory."""
        starts = {array.ctypes.data: number for number, array in enumerate(arrays)}
        for buffer in buffers:
            if buffer.data.ctypes.data in starts:
                self._numbers[id(buffer.data)] = starts[buffer.data.ctypes.data]

    def accessed(self, access: Access) -> None:
        """Look at one access."""
        if access.space != "global":
            return
        for piece in access.pieces:
            number = self._numbers.get(id(piece.data))
            if access.kind != "atomic":
                if number is not None:
                    self.plain.add(number)
                continue
            update = self._update(access.instruction)
            if number is None or update is None or self.updated.setdefault(number, update) != update:
                raise PtxlabError(
                    f"{access.instruction.where}: {access.instruction.opcode} updates memory that blocks "
                    "share, and its result or the order counts; blocks of an executor cannot do that: "
                    "simulate this kernel without one"
                )

    def _update(self, instruction: Instruction) -> Update | None:
        key = id(instruction)
        if key not in self._known:
            self._known[key] = self._classified(instruction)
        return self._known[key]

    def _classified(self, instruction: Instruction) -> Update | None:
        parts = instruction.parts
        operation = next((part for part in parts if part in ("add", "min", "max", "and", "or", "xor")), None)
        if operation is None or parts[-1] not in _TYPES or "async" in parts:
            return None
        if parts[0] == "atom" and not self._is_unused(instruction):
            return None
        return Update(operation, _TYPES[parts[-1]])

    def _is_unused(self, instruction: Instruction) -> bool:
        """Whether nobody reads what the instruction returns."""
        for function in self._functions:
            if any(each is instruction for each in function.instructions):
                counts = _register_counts(function)
                return all(counts[each.index] == 1 for each in registers_of(instruction.operands[0]))
        return False


def check_plain(updated: dict[int, Update], plain: set[int]) -> None:
    """Refuse arrays that some blocks update atomically and others read or write."""
    if updated.keys() & plain:
        raise PtxlabError(
            "an array is updated by atomic operations and also read or written; blocks of an executor cannot "
            "see each other's updates: simulate this kernel without one"
        )


def _register_counts(function: Function) -> Counter[int]:
    """How often each register stands in the function."""
    return Counter(
        register.index
        for instruction in function.instructions
        for operand in instruction.operands
        for register in registers_of(operand)
    )
