"""What is on the bench as traits, read and written there and observed like any other; and what a page may ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from ..errors import PtxlabError

if TYPE_CHECKING:
    from .explorer import Explorer
    from .state import Bench

__all__ = ["Live", "Registers", "edit_of", "equal", "frozen", "matrix", "place"]

#: What the page may ask for: the name of the bench's or the explorer's method, and the types of what goes with it.
_MAYBE = (int, type(None))
_RANGE = {"name": str, "row": int, "column": int, "row2": int, "column2": int}
_EDITS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "paste": {"name": str, "row": int, "column": int, "text": str, "row2": _MAYBE, "column2": _MAYBE},
    "clear": {**_RANGE},
    "extend": {**_RANGE, "to_row": int, "to_column": int, "series": bool},
    "prune": {},
    "drop": {},
    "set_register": {"name": str, "lane": int, "register": int, "text": str},
    "flip": {"name": str, "lane": int, "register": int, "bit": int},
    "undo": {},
    "redo": {},
    "fill": {"name": str, "how": str, "row": int, "column": int},
    "option": {"name": str, "place": int},
    "chips": {"chip": str, "against": str},
    "choose": {"mnemonic": str, "space": str},
    "catalogue": {},
    "gpu": {},
    "export": {"what": str},
}
_LONGEST = 1 << 21  # letters in one message: several times the largest matrix


def edit_of(message: Any) -> tuple[str, list[Any]] | None:
    """The edit that a message of the page asks for, or None where it makes no sense.

    >>> edit_of({"do": "flip", "name": "A", "lane": 4, "register": 3, "bit": 20})
    ('flip', ['A', 4, 3, 20])
    >>> edit_of({"do": "flip", "name": "A", "lane": "4"})
    """
    if not isinstance(message, dict) or not isinstance(message.get("do"), str) or message["do"] not in _EDITS:
        return None
    fields = _EDITS[message["do"]]
    given = [message.get(name) for name in fields]
    if any(
        type(value) not in (kind if isinstance(kind, tuple) else (kind,))
        for value, kind in zip(given, fields.values(), strict=True)
    ):
        return None
    long = any(
        len(value) > _LONGEST if isinstance(value, str) else abs(value) > 1 << 31
        for value in given
        if value is not None
    )
    return None if long else (message["do"], given)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that cannot be written, so that ``ex.A[0, 0] = 1`` fails instead of changing nothing."""
    array = array.copy()
    array.flags.writeable = False
    return array


def equal(one: Any, other: Any) -> bool:
    """Whether two values of a trait are the same, to the bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()
    return type(one) is type(other) and one == other


class Live(traitlets.TraitType[Any, Any]):
    """A trait that keeps no value of its own: the bench has it."""

    def __init__(
        self, read: Callable[[Any], Any], write: Callable[[Any, Any], None] | None, doc: str
    ) -> None:
        super().__init__(help=doc)
        self.__doc__ = doc
        self._read, self._write = read, write

    def subclass_init(self, cls: type[Any]) -> None:
        """No default to prepare."""

    def get(self, obj: Any, cls: type[Any] | None = None) -> Any:
        return self._read(obj)

    def set(self, obj: Any, value: Any) -> None:
        if self._write is None:
            raise AttributeError(f"{self.name} is the result: it cannot be written")
        self._write(obj, value)


def matrix(name: str, doc: str) -> Live:
    """A matrix of the bench by its values; metadata by its nibbles."""

    def read(ex: Explorer) -> NDArray[Any]:
        return frozen(ex.bench.codes(name) if name == "E" else ex.bench.values(name))

    def write(ex: Explorer, given: ArrayLike) -> None:
        ex.change(lambda bench: bench.set_values(name, given))

    return Live(read, None if name == "D" else write, doc)


class Registers(Mapping[str, NDArray[Any]]):
    """``ex.registers["A"]``: read and write, uint32 [lanes, registers]."""

    def __init__(self, owner: Explorer) -> None:
        self._owner = owner

    def __getitem__(self, name: str) -> NDArray[Any]:
        return frozen(self._owner.bench.registers(name))

    def __setitem__(self, name: str, registers: ArrayLike) -> None:
        self._owner.change(lambda bench: bench.set_registers(name, registers))

    def write(self, given: Mapping[str, ArrayLike]) -> None:
        """Write those of several operands, as one step."""

        def edit(bench: Bench) -> None:
            for name, registers in given.items():
                bench.set_registers(name, registers)

        self._owner.change(edit)

    def __iter__(self) -> Iterator[str]:
        return iter(self._owner.instruction.operands)

    def __len__(self) -> int:
        return len(self._owner.instruction.operands)


def place(given: Any, shapes: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """A cell as the view has it, from ``("D", 9, 3)`` or ``{"name": "D", "row": 9, "column": 3}``; ``{}`` or None is no cell."""
    if given is None or (isinstance(given, Mapping) and not given):
        return {}
    right = 'it takes a cell such as ("D", 9, 3), or None'
    if isinstance(given, Mapping):
        given = [given.get("name"), given.get("row"), given.get("column")]
    if not isinstance(given, list | tuple) or len(given) != 3:
        raise PtxlabError(f"selection: found {given!r:.80}; {right}")
    name, row, column = given
    whole = all(
        isinstance(index, int | np.integer) and not isinstance(index, bool) for index in (row, column)
    )
    if not isinstance(name, str) or not whole:
        raise PtxlabError(f"selection: found {given!r:.80}; {right}")
    if name not in shapes:
        raise PtxlabError(f"selection: there is no matrix {name!r:.40}; there are {', '.join(shapes)}")
    rows, columns = shapes[name]
    if not (0 <= row < rows and 0 <= column < columns):
        raise PtxlabError(f"selection: {name}[{row}][{column}] does not exist; {name} is {rows}x{columns}")
    return {"name": name, "row": int(row), "column": int(column)}
