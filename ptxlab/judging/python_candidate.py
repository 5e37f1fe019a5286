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
from .replay import recorded


def run_python(settings: dict[str, Any], folder: Path, report: Report) -> None:
    """Call the candidate with the inputs of every case; what it returns goes to files."""
    file = folder / "files" / "candidate.py"
    file.write_text(settings["python"], encoding="utf-8")
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
    try:
        entry = _entry(runpy.run_path(str(file), run_name="candidate"), settings)
    except BaseException as error:
        traceback.print_exc()
        report.write("refused", f"{type(error).__name__}: {error}")
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


def _entry(names: dict[str, Any], settings: dict[str, Any]) -> Callable[..., Any]:
    """The function that is called for each case, with the inputs and a seed."""
    defined = names.get(settings["entry"])
    if not callable(defined):
        raise PtxlabError(f"the candidate defines no {settings['entry']}")
    if not isinstance(defined, type):
        return lambda inputs, seed: defined(inputs)

    def construct(inputs: tuple[Any, ...], seed: int) -> Any:
        if settings["torch"]:
            import_module("torch").manual_seed(seed)
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
        _as_tensor(value) if settings["torch"] else value
        for name, value in arguments.items()
        if name not in job["outputs"]
    )
    try:
        given = entry(inputs, job["seed"])
        results = tuple(given) if isinstance(given, tuple | list) else (given,)
        named = {str(index): _as_array(result) for index, result in enumerate(results)}
    except LimitError as error:
        return {"hang": str(error)}
    except HazardError as error:
        return stopped(error)
    except MemoryError:
        return {"error": "it needs more memory than it may use"}
    except BaseException as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}
    return {"arguments": pack(named, folder / f"out-{number}")}


def _as_tensor(value: Any) -> Any:
    torch = import_module("torch")
    return torch.from_numpy(value) if isinstance(value, np.ndarray) and value.ndim else value


def _as_array(value: Any) -> Any:
    if hasattr(value, "detach"):  # torch's
        value = value.detach().cpu()
        value = value.float().numpy() if str(value.dtype) == "torch.bfloat16" else value.numpy()
    return np.atleast_1d(np.asarray(value))


def _joined(launched: list[dict[str, Any]]) -> dict[str, Any]:
    """What several launches found."""
    arithmetic = {opcode: known for facts in launched for opcode, known in facts["arithmetic"].items()}
    return {
        "findings": [finding for facts in launched for finding in facts["findings"]],
        "arithmetic": arithmetic,
        "opcodes": sorted({opcode for facts in launched for opcode in facts["opcodes"]}),
        "clocks": any(facts["clocks"] for facts in launched),
    }
