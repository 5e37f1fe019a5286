"""Launches of a Python candidate, run again without it: in a process that its code never enters.

The candidate's own process may say anything of its launches. So each is recorded with its PTX and its
arguments, and run again elsewhere; hazards are those found there. What it returns must be what these launches
wrote, and what they read must be the inputs, or what other launches wrote: else it was computed outside.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..simulator.kernel import Kernel
from ..simulator.launch_arguments import Pointer
from .packed import pack, unpack


def recorded(
    kernel: Kernel, grid: Any, block: Any, arguments: tuple[Any, ...], options: dict[str, Any], file: Path
) -> dict[str, Any]:
    """A launch as data; its arrays, as they are before it, go to a file."""
    named: dict[str, Any] = {}
    offsets: dict[str, list[int]] = {}
    for number, argument in enumerate(arguments, 1):
        if isinstance(argument, Pointer):
            offsets[str(number)] = [argument.offset, argument.phase]
            argument = argument.memory
        if argument is None:  # a null pointer, which Triton passes for scratch memory
            argument = 0
        if not isinstance(argument, np.ndarray | np.generic | int | float):
            return {"title": kernel.title, "left": f"its argument {number}, a {type(argument).__name__}"}
        named[str(number)] = argument
    if kernel.ptx.count(".version") != 1:
        return {"title": kernel.title, "left": "several modules"}
    shape = {
        "grid": grid,
        "block": block,
        "shared": options.get("shared", 0),
        "cluster": options.get("cluster"),
    }
    return shape | {
        "title": kernel.title,
        "ptx": kernel.ptx,
        "name": kernel.name,
        "target": kernel.target,
        "arguments": pack(named, file),
        "offsets": offsets,
    }


def job_of(launch: dict[str, Any], kernel: int, limit: int | None, chip: str) -> dict[str, Any]:
    """A recorded launch as a job of `candidate.py`."""
    shape = {name: launch[name] for name in ("grid", "block", "shared", "cluster", "arguments", "offsets")}
    return shape | {"kernel": kernel, "limit": limit, "chip": chip}


def outside(
    inputs: list[NDArray[Any]],
    returned: list[NDArray[Any]],
    launches: list[tuple[dict[str, Any], dict[str, Any], Path, Path]],
) -> list[str]:
    """What was computed outside of launches; each has what was found in it, and the files of its arrays."""
    known = list(inputs)
    remarks = []
    written: list[NDArray[Any]] = []
    for launch, facts, before_file, after_file in launches:
        before, after = unpack(launch["arguments"], before_file), unpack(launch["arguments"], after_file)
        for number in facts.get("reads", ()):
            value = before.get(str(number))
            if isinstance(value, np.ndarray) and not _among(value, known):
                what = f"argument {number}, whose values were computed outside of a launch"
                remarks.append(f"{launch['title']} reads {what}")
        changed = [after[name] for name, value in before.items() if isinstance(value, np.ndarray)]
        known += changed
        written += changed
    for index, result in enumerate(returned):
        if result.size and not _among(result, written):
            which = "what it returns" if len(returned) == 1 else f"result[{index}]"
            remarks.append(f"{which} is not what its launches wrote: it was computed outside of them")
    return list(dict.fromkeys(remarks))


def _among(array: NDArray[Any], others: list[NDArray[Any]]) -> bool:
    """Whether an array holds the elements of another, or a part of them, perhaps in another order or type."""
    content = array.tobytes()
    if not content.strip(content[:1]):  # all bytes are the same: cleared
        return True
    for other in others:
        if content in other.tobytes():
            return True
        if other.size == array.size:
            with np.errstate(all="ignore"):
                same = np.array_equal(
                    np.sort(other.astype(array.dtype), None),
                    np.sort(array, None),
                    equal_nan=array.dtype.kind == "f",
                )
            if same:
                return True
    return False
