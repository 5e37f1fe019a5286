"""A launch whose histories are asked for, and the fingerprints of what it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._util.arguments import as_int, is_a, is_name
from ...errors import PtxlabError, counted, listing, quoted
from ...isa.targets import GENERATIONS
from ...memory import TensorMap
from ...memory.tensor_maps import MapPointer
from ..hazard import Hazard, HazardLog
from ..launch_arguments import Pointer, as_launch, values_of
from ..simulate import Setup, simulate
from .histories import Histories, InputArray, Note, Record

if TYPE_CHECKING:
    from ..kernel import Kernel
    from ..module_image import ModuleImage


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
        """What equal fingerprints prove: "all inputs", "this path" (data decides) or "no run" (chance does)."""
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
        trees = f"{counted(self.fingerprints.size, 'element')} of argument {self.output}, {counted(count, 'tree')}"
        reasons = [note.text for note in self.notes] + [str(hazard) for hazard in self.hazards]
        scope = {
            "all inputs": "equal fingerprints mean equal bits for all inputs",
            "this path": f"a certificate for this input's path only: {listing(reasons, 3)}",
            "no run": f"no certificate, two runs may differ: {listing(reasons, 3)}",
        }[self.scope]
        return f"{self.title}: {trees}; {scope}"


class Run:
    """A launch to compare with others, by the trees of what it writes; it runs on the simulator.

    Arguments as of `Kernel.simulate`; arrays stay as they are. `output` is the number of the argument that is
    compared, from 1, or the array itself; it may be left out if the kernel writes only one. Elements of the
    arguments in `rows`, ``{number: length}``, are known by their place in a row of that length: two rows with
    the same tree then have the same fingerprint.

    >>> import numpy as np, ptxlab
    >>> text = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] += x[threadIdx.x]; }'
    >>> run = ptxlab.Run(ptxlab.kernel(text), 1, 32, np.ones(32, np.float32), rows={1: 1})
    >>> run.reduction()
    twice: 32 elements of argument 1, 1 tree; equal fingerprints mean equal bits for all inputs
    """

    def __init__(
        self,
        kernel: Kernel,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments: object,
        output: object = None,
        rows: Mapping[int, int] | None = None,
        shared: int = 0,
        cluster: int | tuple[int, ...] | None = None,
        model: str | None = None,
    ) -> None:
        from ..kernel import Kernel

        if not isinstance(kernel, Kernel):
            raise PtxlabError(f"kernel={quoted(kernel)}: ptxlab.kernel makes one")
        if model is not None and not is_name(model, GENERATIONS):
            raise PtxlabError(f"model={quoted(model)}: there are {listing(GENERATIONS)}")
        if rows is not None and not is_a(rows, dict):
            raise PtxlabError(f"rows={quoted(rows)}: it takes {{number of an argument: length of its rows}}")
        self.kernel, self.arguments, self.model = kernel, arguments, model
        self.shape = as_launch(kernel.function, grid, block, shared, cluster)
        image, setup = kernel._prepared(self.shape, arguments)
        self._image: ModuleImage = image
        self._setup: Setup = replace(setup, model=model)
        self.arrays: dict[str, NDArray[Any]] = {}
        for name, value in values_of(setup.arguments):
            if isinstance(value, Pointer):
                self.arrays[name] = value.memory
            elif isinstance(value, TensorMap | MapPointer):
                tensor = value if isinstance(value, TensorMap) else value.tensor
                if isinstance(tensor.array, np.ndarray):
                    self.arrays[name] = tensor.array
        self.rows = {as_int(key, "rows"): as_int(length, "rows") for key, length in (rows or {}).items()}
        for number, length in self.rows.items():
            if str(number) not in self.arrays or length < 1:
                raise PtxlabError(f"rows={{{number}: {length}}}: argument {number} is no array with such rows")
        self._output = None if output is None else self._as_output(output)
        self._reduction: Reduction | None = None

    def _as_output(self, output: object) -> str:
        if is_a(output, np.ndarray):
            names = [name for name, array in self.arrays.items() if np.shares_memory(array, output)]
        else:
            names = [str(as_int(output, "output"))]
        if not names or names[0] not in self.arrays:
            raise PtxlabError(
                f"output={quoted(output)}: it is the number of an argument, from 1, or the array itself; arrays "
                f"are {listing(list(self.arrays))}"
            )
        return names[0]

    def _traced(
        self, names: Mapping[str, str], records: list[Record] | None = None, check: bool = False
    ) -> tuple[Histories, dict[str, NDArray[Any]], tuple[Hazard, ...]]:
        """Run with histories: the observer, all arrays as the launch leaves them, and races."""
        from ..kernel import restored

        arrays: dict[int, InputArray] = {}
        for name, array in self.arrays.items():
            size = array.itemsize if array.itemsize in (1, 2, 4, 8) else 1
            row = self.rows.get(int(name)) if name.isdecimal() else None
            known = InputArray(names.get(name, name), size, array.nbytes // size, row)
            arrays.setdefault(array.ctypes.data, known)
        histories = Histories(self._image, arrays, self.model, records)
        kernel, image = self.kernel, self._image
        variables = tuple(image.shared_variables(self.shape.shared))
        report = HazardLog(kernel.source, False, variables, kernel.source is kernel.ptx, kernel.language, "")
        setup = replace(self._setup, report=report if check else None)
        setup = replace(setup, resident_blocks=kernel._resident_blocks(self.shape, image))
        with restored(setup.arguments):
            simulate(image, setup, [histories], show=False)
            after = {name: array.copy() for name, array in self.arrays.items()}
        races = tuple(hazard for hazard in report.hazards if hazard.kind in ("race", "narrow scope"))
        return histories, after, races if check else ()

    def reduction(self, *, check: bool = False, names: Mapping[str, str] | None = None) -> Reduction:
        """The fingerprints of the output; `check` looks for races, too. `names` are other names of arguments."""
        if self._reduction is not None and not check and names is None:
            return self._reduction
        histories, after, races = self._traced(names or {})
        if check:
            races = self._traced(names or {}, check=True)[2]
        output = self._output or self._only_output(histories)
        array = self.arrays[output]
        prints = histories.fingerprints(array.ctypes.data, after[output])
        notes = tuple(histories.notes.values())
        reduction = Reduction(self.kernel.title, output, prints, after[output], notes, races)
        if names is None:
            self._reduction = reduction
        return reduction

    def _only_output(self, histories: Histories) -> str:
        written = [name for name, array in self.arrays.items() if array.ctypes.data in histories.written]
        if len(written) != 1:
            found = f"arguments {listing(written)}" if written else "none of its arrays"
            raise PtxlabError(f"{self.kernel.title} writes {found}: say which one counts, output=number")
        self._output = written[0]
        return written[0]
