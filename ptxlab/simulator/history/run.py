"""A launch whose histories are asked for, and the fingerprints of what it writes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_int, is_a
from ...errors import PtxlabError, counted, listing, quoted
from ...memory import TensorMap
from ...memory.tensor_maps import MapPointer
from ..hazard import Hazard
from ..launch_arguments import Pointer, restored, values_of
from ..module_image import ModuleImage
from ..simulate import Setup, simulate
from .histories import Histories, InputArray, Note, Record, SeenValues


@dataclass(frozen=True, eq=False)
class Reduction:
    """The trees by which a launch makes the elements of an array, as fingerprints of 64 bits.

    Leaves are elements of the arguments (argument and index), and values that come from no array. Elements
    with equal `fingerprints` have equal bits whatever the arrays hold, on the chip of `model`, up to the
    payload of NaNs; unless `notes` says that data or the order of atomic operations decides. `values` is the
    array as this launch leaves it.
    """

    title: str
    output: str
    fingerprints: NDArray[np.uint64]
    values: NDArray[Any]
    notes: tuple[Note, ...]
    hazards: tuple[Hazard, ...] = ()

    @property
    def scope(self) -> str:
        """What they prove: "all inputs", "this path", where data decides, or "no run", where chance does."""
        if self.hazards or any(note.kind == "order" for note in self.notes):
            return "no run"
        return "this path" if self.notes else "all inputs"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reduction):
            return NotImplemented
        return bool(np.array_equal(self.fingerprints, other.fingerprints))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        count = len(np.unique(self.fingerprints))
        elements = counted(self.fingerprints.size, "element")
        trees = f"{elements} of argument {self.output}, {counted(count, 'tree')}"
        reasons = [note.text for note in self.notes] + [str(hazard) for hazard in self.hazards]
        scope = {
            "all inputs": "equal fingerprints mean equal bits for all inputs",
            "this path": f"a certificate for this input's path only: {listing(reasons, 3)}",
            "no run": f"no certificate, two runs may differ: {listing(reasons, 3)}",
        }[self.scope]
        return f"{self.title}: {trees}; {scope}"


def checked_rows(rows: Mapping[int, int] | None) -> dict[int, int]:
    """Lengths of rows, by the number of an argument."""
    if rows is None:
        return {}
    if not is_a(rows, dict):
        raise PtxlabError(f"rows={quoted(rows)}: it takes {{number of an argument: length of its rows}}")
    lengths = {as_int(number, "rows"): as_int(length, "rows") for number, length in rows.items()}
    if any(length < 1 for length in lengths.values()):
        raise PtxlabError(f"rows={quoted(rows)}: a row has at least one element")
    return lengths


class Run:
    """A launch to compare with others; `Kernel.run` makes one.

    `arrays` are its arrays, by the number of their argument.
    """

    def __init__(
        self, title: str, image: ModuleImage, setup: Setup, output: object, rows: Mapping[int, int] | None
    ) -> None:
        self.title, self.model = title, setup.model
        self._image, self._setup = image, setup
        self.arrays: dict[str, NDArray[Any]] = {}
        for name, value in values_of(setup.arguments):
            if isinstance(value, Pointer):
                self.arrays[name] = value.memory
            elif isinstance(value, TensorMap | MapPointer):
                tensor = value if isinstance(value, TensorMap) else value.tensor
                if isinstance(tensor.array, np.ndarray):
                    self.arrays[name] = tensor.array
        self.rows = checked_rows(rows)
        self.check_rows()
        self._output = None if output is None else self._as_output(output)
        self._reduction: Reduction | None = None

    def check_rows(self) -> None:
        """Refuse rows of what is no array."""
        for number, length in self.rows.items():
            if str(number) not in self.arrays or self.arrays[str(number)].size % length:
                raise PtxlabError(
                    f"rows={{{number}: {length}}}: argument {number} is no array with such rows"
                )

    def _as_output(self, output: object) -> str:
        if is_a(output, np.ndarray):
            names = [name for name, array in self.arrays.items() if np.shares_memory(array, output)]
        else:
            names = [str(as_int(output, "output"))]
        if not names or names[0] not in self.arrays:
            raise PtxlabError(
                f"output={quoted(output)}: it is the number of an argument, from 1, or the array itself; "
                f"arrays are {listing(list(self.arrays))}"
            )
        return names[0]

    def traced(
        self,
        names: Mapping[str, str],
        records: list[Record] | None = None,
        check: bool = False,
        seen: SeenValues | None = None,
    ) -> tuple[Histories, dict[str, NDArray[Any]], tuple[Hazard, ...]]:
        """Run with histories: the observer, all arrays as the launch leaves them, and races."""
        arrays: dict[int, InputArray] = {}
        for name, array in self.arrays.items():
            size = array.itemsize if array.itemsize in (1, 2, 4, 8) else 1
            row = self.rows.get(int(name)) if name.isdecimal() else None
            known = InputArray(names.get(name, name), size, array.nbytes // size, row)
            arrays.setdefault(array.ctypes.data, known)
        histories = Histories(self._image, arrays, self._setup.model, records, seen)
        setup = self._setup
        report = copy.deepcopy(setup.report) if check else None
        setup = replace(setup, report=report)
        with restored(setup.arguments):
            simulate(self._image, setup, [histories], show=False)
            after = {name: array.copy() for name, array in self.arrays.items()}
        hazards = [] if report is None else report.hazards
        races = tuple(hazard for hazard in hazards if hazard.kind in ("race", "narrow scope"))
        return histories, after, races

    def reduction(self, *, names: Mapping[str, str] | None = None) -> Reduction:
        """The fingerprints of the output, and races; `names` rename arguments."""
        if self._reduction is not None and not names:
            return self._reduction
        histories, after, races = self.traced(names or {}, check=True)
        output = self._output or self._only_output(histories)
        array = self.arrays[output]
        prints = histories.fingerprints(array.ctypes.data, after[output])
        notes = tuple(histories.notes.values())
        reduction = Reduction(self.title, output, prints, after[output], notes, races)
        if not names:
            self._reduction = reduction
        return reduction

    def _only_output(self, histories: Histories) -> str:
        written = [name for name, array in self.arrays.items() if array.ctypes.data in histories.written]
        if len(written) != 1:
            found = f"arguments {listing(written)}" if written else "none of its arrays"
            raise PtxlabError(f"{self.title} writes {found}: say which one counts, output=number")
        self._output = written[0]
        return written[0]
