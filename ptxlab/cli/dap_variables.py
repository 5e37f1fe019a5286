"""What a client of the Debug Adapter Protocol shows of a position: registers, arrays and memories as trees.

A variable with others below it has a reference, which is valid until the next stop. Elements of arrays are
made when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, counted, lines_of, quoted
from ..explorer.debugger.debugger import parameter_names, register_kinds, register_names, register_texts
from ..simulator.debug import DebugSession
from ..views.labels import number_text

#: Types in which shared memory is shown.
SHARED_TYPES = {"f32": "f4", "u32": "u4", "f16": "f2", "u8": "u1"}
_MAX_ROWS = 4096  # in one answer
_SHOWN = 8  # elements in the line of an array
_Row = dict[str, Any]


@dataclass(frozen=True)
class _Below:
    """What opens below a variable: all rows, or of `indexed` ones those that are asked for.

    `watched` names one of them for a data breakpoint.
    """

    make: Callable[[range], list[_Row]]
    indexed: int = 0
    watched: Callable[[str], list[Any] | None] = lambda name: None


class Variables:
    """The variables of a session, and their references since the last stop."""

    def __init__(self, session: DebugSession) -> None:
        self._session = session
        self._below: list[_Below] = []
        names = parameter_names(session.kernel)
        #: The names of arrays in the source, by the numbers of their arguments.
        self.titles = {
            key: names[int(key) - 1] if key.isdigit() and int(key) <= len(names) else key.split()[-1]
            for key in session.arrays
        }

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by their names in the source."""
        return {self.titles[key]: array for key, array in self._session.arrays.items()}

    def forget(self) -> None:
        """Forget the references of the last stop."""
        self._below = []

    def below(self, reference: int, start: int, count: int) -> list[_Row]:
        """The rows below a variable, of indexed ones so many."""
        below = self._referred(reference)
        most = min(count, _MAX_ROWS) if count > 0 else _MAX_ROWS
        rows = below.make(range(below.indexed)[max(start, 0) : max(start, 0) + most])
        if count <= 0 and below.indexed > _MAX_ROWS:
            rows.append(self.row("...", f"{counted(below.indexed - _MAX_ROWS, 'element')} more"))
        return rows

    def watched(self, reference: int, name: str) -> list[Any] | None:
        """What to watch of a row: kind, and where it is; None if it cannot be watched."""
        return self._referred(reference).watched(name)

    def _referred(self, reference: int) -> _Below:
        if not 1 <= reference <= len(self._below):
            raise PtxlabError(f"variablesReference={quoted(reference)}: it is none since the last stop")
        return self._below[reference - 1]

    def _reference(self, below: _Below) -> int:
        self._below.append(below)
        return len(self._below)

    # -- trees -----------------------------------------------------------------------------------------------

    def scopes(self, warp: int) -> list[_Row]:
        """What there is at the top for a warp."""
        session, block = self._session, warp // self._session.grid.warps
        shared, barriers = session.shared(block), session.mbarriers(block)
        below = {
            "Registers": _Below(
                lambda _: self._registers(warp), watched=lambda name: ["register", name.split()[0], warp]
            ),
            "Arrays": _Below(lambda _: self._arguments()),
            "Shared memory": _Below(lambda _: self._shared(block, shared)),
            "mbarriers": _Below(lambda _: self._mbarriers(block)),
            "Launch": _Below(lambda _: self._launch(warp)),
        }
        with suppress(PtxlabError):
            words = session.tensor_memory(block)
            below["Tensor memory"] = _Below(lambda _: [self.row("lanes x columns", words)])
        if not len(shared):
            del below["Shared memory"]
        if not barriers:
            del below["mbarriers"]
        return [
            {"name": name, "variablesReference": self._reference(rows), "expensive": False}
            for name, rows in below.items()
        ]

    def row(self, name: str, value: object, watched: list[Any] | None = None) -> _Row:
        """A variable; elements, or rows, of an array are asked for later. `watched` is where it is."""
        if not isinstance(value, np.ndarray) or not value.ndim:
            is_number = isinstance(value, np.generic | np.ndarray)
            text = number_text(value) if is_number else str(value)  # type: ignore[arg-type]
            return {"name": name, "value": text, "variablesReference": 0}

        def element(name: str) -> list[Any] | None:
            index = name.strip("[]")
            return [*watched, int(index)] if watched is not None and index.isdigit() else None

        def elements(part: range) -> list[_Row]:
            return [self.row(f"[{index}]", value[index], element(str(index))) for index in part]

        head = ", ".join(number_text(item) for item in value.reshape(-1)[:_SHOWN])
        more = ", ..." if value.size > _SHOWN else ""
        text = f"{value.dtype}{list(value.shape)}: {head}{more}"
        return self._opening(name, text, _Below(elements, len(value), element))

    def _opening(self, name: str, text: str, below: _Below) -> _Row:
        reference = self._reference(below)
        return {
            "name": name, "value": text, "variablesReference": reference, "indexedVariables": below.indexed
        }  # fmt: skip

    def _registers(self, warp: int) -> list[_Row]:
        function = self._session.function_of(warp)
        kinds, names = register_kinds(function), register_names(function, self._session.kernel)
        rows = []
        for name, values in self._session.registers(warp).items():
            texts = register_texts(values, kinds.get(name, ""))
            shown = f"{', '.join(texts[:_SHOWN])}, ..."
            if len(set(texts)) == 1:
                shown = f"{texts[0]} in all lanes"

            def lanes(part: range, texts: list[str] = texts) -> list[_Row]:
                return [self.row(f"lane {lane}", texts[lane]) for lane in part]

            title = f"{name} {names[name]}" if name in names else name
            rows.append(self._opening(title, shown, _Below(lanes, len(texts))))
        return rows

    def _arguments(self) -> list[_Row]:
        arrays = self._session.arrays
        return [self.row(self.titles[key], values, ["array", key]) for key, values in arrays.items()]

    def _shared(self, block: int, content: NDArray[np.uint8]) -> list[_Row]:
        whole = content[: len(content) // 4 * 4]
        return [
            self.row(f"as {kind}", whole.view(dtype), ["shared", block, kind])
            for kind, dtype in SHARED_TYPES.items()
        ]

    def _mbarriers(self, block: int) -> list[_Row]:
        rows = []
        for barrier in self._session.mbarriers(block):
            facts = [f"{name} {value}" for name, value in vars(barrier).items() if name != "address"]
            rows.append(self.row(f"at byte {barrier.address}", ", ".join(facts)))
        return rows

    def _launch(self, warp: int) -> list[_Row]:
        session = self._session
        facts: dict[str, object] = {"position": session.position, "stopped": session.stopped}
        if session.length is not None:
            facts["length"] = session.length
        for function, index in session.calls(warp)[:1]:
            line = function.instructions[min(index, len(function.instructions) - 1)].line
            facts["instruction"] = lines_of(session.kernel.ptx)[line - 1].strip()
        return [self.row(name, value) for name, value in facts.items()]
