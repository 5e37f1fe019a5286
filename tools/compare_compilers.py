"""python -m tools.compare_compilers [LESSON ...]: what the notebooks launch, compiled by NVRTC and by Clang.

Runs the cells of notebooks. Every kernel in CUDA C++ that a cell simulates is simulated twice more, on copies
of its arguments. Prints launches whose arrays or kinds of hazards differ, and how many are equal.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import lru_cache
from io import StringIO
from typing import Any
from unittest import mock

import numpy as np
from IPython.core.interactiveshell import InteractiveShell

import ptxlab
from ptxlab.simulator.kernel import Kernel

from .npm import ROOT
from .record.lesson_kernels import parts_and_sources

NOTEBOOKS = ROOT / "notebooks"


@lru_cache(maxsize=None)
def compiled(source: str, target: str, compiler: str) -> Kernel:
    """A kernel of a lesson; some show only their own part of what is compiled."""
    wholes = [text for text in parts_and_sources()[1] if source.strip() in text]
    return ptxlab.kernel(min(wholes, key=len, default=source), None, target, compiler=compiler)


def arrays_of(arguments: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays among arguments, also those in structs and behind tensor maps."""
    for argument in arguments:
        if isinstance(argument, np.ndarray) and argument.ndim:
            yield argument
        elif hasattr(argument, "box"):
            yield argument.array
        elif isinstance(argument, tuple | list):
            yield from arrays_of(argument)


class Comparison:
    """Launches that were compared, and differences in words."""

    def __init__(self) -> None:
        self.equal = 0
        self.differences: list[str] = []
        self.cell = ""
        self._simulate = Kernel.simulate

    def simulate(self, kernel: Kernel, grid: Any, block: Any, *arguments: Any, **options: Any) -> Any:
        """In place of `Kernel.simulate`."""
        if "__global__" in (kernel.source or ""):
            plain = {name: value for name, value in options.items() if name in ("shared", "cluster")}
            one, other = (
                self._outcome(kernel, compiler, grid, block, arguments, plain)
                for compiler in ("nvrtc", "clang")
            )
            if one == other:
                self.equal += 1
            else:
                self.differences.append(f"{self.cell}, {kernel.name}: {one[1]} and {other[1]}")
        return self._simulate(kernel, grid, block, *arguments, **options)

    def _outcome(
        self, kernel: Kernel, compiler: str, grid: Any, block: Any, arguments: Any, options: dict[str, Any]
    ) -> tuple[list[bytes], str]:
        """The bytes of all arrays, and the hazards or the error."""
        copies = copy.deepcopy(arguments)
        try:
            own = compiled(kernel.source, kernel.target, compiler)
            hazards = self._simulate(own, grid, block, *copies, **options).hazards
            words = ", ".join(sorted({hazard.kind for hazard in hazards})) or "no hazard"
        except ptxlab.PtxlabError as error:
            words = type(error).__name__ if hasattr(error, "hazards") else str(error)
        return [array.tobytes() for array in arrays_of(copies)], words


def main() -> int:
    lessons = sys.argv[1:] or sorted(path.stem for path in NOTEBOOKS.glob("[0-9]*.ipynb"))
    seen, shell = Comparison(), InteractiveShell.instance()
    os.chdir(NOTEBOOKS)
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.dict(os.environ, PTXLAB_PROGRESS=f"{folder}/progress.json"),
        mock.patch.object(Kernel, "simulate", lambda *given, **options: seen.simulate(*given, **options)),
    ):
        for lesson in lessons:
            shell.reset(new_session=True)
            cells = json.loads((NOTEBOOKS / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
            for number, cell in enumerate(cells):
                source = "".join(cell["source"])
                if cell["cell_type"] == "code":
                    seen.cell = f"{lesson}, cell {number}"
                    with redirect_stdout(StringIO()):
                        shell.run_cell("import ptxlab" if "%pip" in source else source).raise_error()
            print(f"{lesson}: {seen.equal} equal, {len(seen.differences)} different", flush=True)
    print(*seen.differences, sep="\n")
    return bool(seen.differences)


if __name__ == "__main__":
    sys.exit(main())
