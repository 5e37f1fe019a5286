"""Traits of the Explorer without values of their own: read from what it shows, written by edits, observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import is_name
from ..errors import PtxlabError
from .edits import Edit, SetRegisters
from .quiz import Score
from .serialise import is_same

#: Matrices that people read and assign, and the Explorer's trait of each.
MATRIX_TRAITS = {
    "A": "A",
    "B": "B",
    "C": "C",
    "D": "D",
    "E": "metadata",
    "SFA": "scale_a",
    "SFB": "scale_b",
}


class ReadOnlyTrait(PtxlabError, AttributeError):
    """A trait that can be read and observed, but not assigned."""


class StateTrait(traitlets.TraitType[Any, Any]):
    """A trait that one function reads from the Explorer, and another one assigns."""

    def __init__(self, read: Callable[[Any], Any], write: Callable[[Any, Any], None], doc: str) -> None:
        super().__init__(help=doc)
        self.__doc__ = doc
        self._read, self._write = read, write

    def subclass_init(self, cls: type[Any]) -> None:
        """There is no default to prepare."""

    def get(self, obj: Any, cls: type[Any] | None = None) -> Any:
        return self._read(obj)

    def set(self, obj: Any, value: Any) -> None:
        self._write(obj, value)


class HasRegisters(Protocol):
    """What has registers by operand."""

    @property
    def register_names(self) -> Sequence[str]: ...

    def registers(self, name: str) -> NDArray[Any]: ...


class Registers(Mapping[str, NDArray[Any]]):
    """``ex.registers["A"]``: uint32 [lanes, registers], to read and to assign."""

    def __init__(self, shown: Callable[[], HasRegisters], apply: Callable[[Edit], None]) -> None:
        self._shown, self._apply = shown, apply

    def __getitem__(self, name: str) -> NDArray[Any]:
        return read_only(self._shown().registers(name))

    def __setitem__(self, name: str, registers: ArrayLike) -> None:
        self._apply(SetRegisters(name, registers))

    def __contains__(self, name: object) -> bool:
        return is_name(name, self._shown().register_names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._shown().register_names)

    def __len__(self) -> int:
        return len(self._shown().register_names)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that cannot be written, so that ``ex.A[0, 0] = 1`` fails instead of changing nothing."""
    array = array.copy()
    array.flags.writeable = False
    return array


class Observers:
    """Notifies whoever observes the traits of an Explorer of the old and the new value of what changed."""

    def __init__(self, owner: traitlets.HasTraits, registers: Registers) -> None:
        self._owner, self._registers = owner, registers
        self._last: dict[str, Any] = {"selection": {}, "quiz_score": Score()}
        self._last_registers: Mapping[str, NDArray[Any]] | None = None

    def notify(self, name: str, new: Any) -> None:
        """Say what a trait is now; the first time there is nothing that it differs from."""
        is_first, old = name not in self._last, self._last.get(name)
        self._last[name] = new
        if not is_first and not _equal_bits(old, new):
            self._notify(name, old, new)

    def notify_registers(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """The same of the registers; arrays of operands are never written, so the same array is no change."""
        before, self._last_registers = self._last_registers, arrays
        if before is not None and not is_same(tuple(arrays.values()), tuple(before.values())):
            old = {operand: read_only(registers) for operand, registers in before.items()}
            self._notify("registers", old, self._registers)

    def _notify(self, name: str, old: Any, new: Any) -> None:
        change = traitlets.Bunch(name=name, old=old, new=new, owner=self._owner, type="change")
        self._owner.notify_change(change)


def _equal_bits(one: Any, other: Any) -> bool:
    """Whether two values of a trait are the same, bit for bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        same_type = one.shape == other.shape and one.dtype == other.dtype
        return same_type and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other
