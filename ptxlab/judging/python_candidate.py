"""A candidate in Python: its function is called for every case, and its launches run on the simulator."""

from __future__ import annotations

import contextlib
import runpy
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PtxlabError
from ..simulation import simulating
from ..simulator import HazardError, Result
from ..simulator.kernel import Kernel
from ..simulator.result import LimitError
from .launches import Report, facts_of, stopped
from .packed import pack, unpack
from .readers import SEED
from .recordings import recorded
from .tensors import as_array, as_tensor, on_cpu


def run_python(settings: dict[str, Any], folder: Path, report: Report) -> None:
    """Call the candidate with the inputs of every case; what it returns goes to files."""
    file = folder / "files" / "candidate.py"
    for name, text in settings["modules"].items():
        file.with_name(Path(name).name).write_text(text, encoding="utf-8")
    file.write_text(on_cpu(settings["python"]) if settings["torch"] else settings["python"], encoding="utf-8")
    sys.path.insert(0, str(file.parent))
    launched: list[dict[str, Any]] = []
    recordings: list[dict[str, Any]] = []
    original = Kernel.simulate

    def simulate(kernel: Kernel, grid: Any, block: Any, *arguments: Any, **options: Any) -> Result:
        file = folder / f"launch-{len(recordings)}"
        recordings.append(recorded(kernel, grid, block, arguments, options, file))
        result = original(kernel, grid, block, *arguments, **options)
        launched.append(facts_of(kernel, result))
        return result

    def launch(
        kernel: Kernel, grid: Any, block: Any, *arguments: Any, stream: Any = None, **options: Any
    ) -> None:
        kernel.simulate(grid, block, *arguments, **options)

    setattr(Kernel, "simulate", simulate)  # noqa: B010  # mypy refuses the assignment of a method
    setattr(Kernel, "launch", launch)  # noqa: B010
    stack = contextlib.ExitStack()
    with contextlib.suppress(PtxlabError):
        stack.enter_context(simulating())
    if settings["torch"]:
        vars(import_module("torch.utils.cpp_extension"))["load_inline"] = _refuse_extension
    try:
        entry = _entry(runpy.run_path(str(file), run_name="candidate"), settings)
    except _NotSimulated as error:
        report.write("unseen", str(error))
        report.write("ended", "")
        return
    except BaseException as error:
        traceback.print_exc()
        report.write("refused", _sentence(error))
        return
    for number, job in enumerate(settings["launches"]):
        report.write("begun", number)
        launched.clear()
        first = len(recordings)
        facts = _called(entry, settings, job, folder, number)
        for index in range(first, len(recordings)):
            report.write("recorded", {"number": number, "file": index} | recordings[index])
        report.write("launch", _joined(launched) | facts | {"number": number, "launches": len(launched)})
    report.write("ended", "")


def _sentence(error: BaseException) -> str:
    """What a candidate raised, in one line; its output has the rest."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first[:500]}"


class _NotSimulated(Exception):
    pass


def _refuse_extension(*arguments: Any, **options: Any) -> Any:
    raise _NotSimulated(
        "it compiles code of the host with load_inline, which is not simulated: launch the kernel with "
        "ptxlab.kernel(source).launch(...), or judge it as a .cu file"
    )


def _entry(names: dict[str, Any], settings: dict[str, Any]) -> Callable[..., Any]:
    """The function that is called for each case, with the inputs and a seed."""
    defined = names.get(settings["entry"])
    if not callable(defined):
        raise PtxlabError(f"the candidate defines no {settings['entry']}")
    if not isinstance(defined, type):
        return lambda inputs, seed: defined(inputs[0] if settings["alone"] else inputs)

    def construct(inputs: tuple[Any, ...], seed: int) -> Any:
        if settings["torch"]:
            import_module("torch").manual_seed(SEED)
        return defined(*settings["initial"])(*inputs)

    return construct


def _called(
    entry: Callable[..., Any],
    settings: dict[str, Any],
    job: dict[str, Any],
    folder: Path,
    number: int,
) -> dict[str, Any]:
    arguments = unpack(job["arguments"], folder / f"in-{number}")
    inputs = tuple(
        as_tensor(value) if settings["torch"] else value
        for name, value in arguments.items()
        if name not in job["outputs"]
    )
    try:
        given = entry(inputs, job["seed"])
        results = tuple(given) if isinstance(given, tuple | list) else (given,)
        named = {str(index): np.atleast_1d(as_array(result)) for index, result in enumerate(results)}
    except LimitError as error:
        return {"hang": str(error)}
    except HazardError as error:
        return stopped(error)
    except MemoryError:
        return {"error": "it needs more memory than it may use"}
    except BaseException as error:
        traceback.print_exc()
        return {"error": _sentence(error)}
    return {"arguments": pack(named, folder / f"out-{number}")}


def _joined(launched: list[dict[str, Any]]) -> dict[str, Any]:
    """What several launches found."""
    arithmetic = {opcode: known for facts in launched for opcode, known in facts["arithmetic"].items()}
    return {
        "findings": [finding for facts in launched for finding in facts["findings"]],
        "arithmetic": arithmetic,
        "opcodes": sorted({opcode for facts in launched for opcode in facts["opcodes"]}),
        "clocks": any(facts["clocks"] for facts in launched),
    }
