"""A kernel in a browser tab: takes PTX and arguments as JSON, and returns the trace for the player."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import numpy as np

from ..errors import PtxlabError
from ..explorer.kernel_steps import first_state, step_state
from ..explorer.worker import Encoded, encode
from ..simulator import Result
from ..simulator.kernel import Kernel, build_kernel
from .output import one_line
from .simulate_commands import array_changes, launch_sizes, parse_value

__all__ = ["KernelTab"]

LIMIT = 1_000_000  # instructions of all warps: an endless loop becomes an error
_ADDRESSES = ("u64", "b64", "s64")
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_NO_FIELD = (
    "{} is a struct or a tensor map, for which this page has no field; in Python, "
    "ptxlab.kernel(ptx).simulate(...) takes one"
)
DYNAMIC_BYTES = 48 << 10  # most dynamic shared memory of a launch that does not opt in to more


class KernelTab:
    """The kernel that a page shows. Its methods take JSON and return messages, as `worker.Tab` does.

    >>> tab = KernelTab()
    >>> [(text, _)] = tab.describe(json.dumps({"ptx": "__global__ void f() {}", "name": ""}))
    >>> json.loads(text)["problem"][:66]
    'this is no PTX; a browser has no compiler for CUDA C++: paste what'
    """

    def __init__(self) -> None:
        self._result: Result | None = None

    def describe(self, request: str) -> list[Encoded]:
        """The kernels of a text, and the parameters of the one that is chosen."""
        fields = json.loads(request)
        names = _ENTRY.findall(fields["ptx"])
        name = fields["name"] if fields["name"] in names else (names[0] if names else "")
        try:
            program = _program(fields["ptx"], name)
        except PtxlabError as error:
            return [encode({"method": "described", "names": names, "problem": one_line(str(error))})]
        directives = program.function.directives
        block = directives.get("reqntid") or directives.get("maxntid") or ()
        parameters = [
            {"name": parameter.name, "type": kind, "array": kind in _ADDRESSES}
            for parameter, kind in zip(program.function.parameters, program.parameters, strict=True)
        ]
        variables = program.module.variables.values()
        is_dynamic = any(
            variable.space == "shared" and variable.linkage == "extern" for variable in variables
        )
        structs = [parameter["name"] for parameter in parameters if str(parameter["type"]).startswith("b8[")]
        described = {
            "method": "described",
            "names": names,
            "name": program.name,
            "parameters": parameters,
            "block": "x".join(str(size) for size in block),
            "shared": str(DYNAMIC_BYTES if is_dynamic else 0),
            "problem": _NO_FIELD.format(structs[0]) if structs else "",
        }
        return [encode(described)]

    def simulate(self, request: str) -> list[Encoded]:
        """Run a launch: the state of the player, changes of the arrays, hazards and notes by line."""
        try:
            return [encode({"method": "simulated", **self._simulated(json.loads(request)), "problem": ""})]
        except PtxlabError as error:
            return [encode({"method": "simulated", "problem": one_line(str(error))})]

    def step(self, number: str) -> list[Encoded]:
        """Another step of the warp that was followed."""
        assert self._result is not None, "the page has simulated before it shows steps"
        steps = [] if self._result.trace is None else self._result.trace.steps
        index = min(max(int(number), 0), len(steps) - 1)
        return [encode({"method": "update", "state": step_state(self._result, index)})]

    def _simulated(self, fields: dict[str, Any]) -> dict[str, Any]:
        program = _program(fields["ptx"], fields["name"])
        rng = np.random.default_rng(0)
        values = [parse_value(str(text), rng) for text in fields["arguments"]]
        before = copy.deepcopy(values)
        shared, warp = (_whole(fields[name], name) for name in ("shared", "warp"))
        grid, block = launch_sizes(fields["grid"], "grid"), launch_sizes(fields["block"], "block")
        result = program.simulate(
            grid, block, *values, shared=shared, trace=True if warp == 0 else warp, limit=LIMIT, show=False
        )
        self._result = result
        return {
            "state": first_state(result),
            "arrays": array_changes(before, values),
            "hazards": [{"line": hazard.ptx_line, "text": hazard.sentence} for hazard in result.hazards],
            "notes": [
                {"line": note.ptx_line, "text": f"{note.sentence} ({note.evidence})"} for note in result.notes
            ],
        }


def _program(text: str, name: str) -> Kernel:
    if ".version" not in text:
        raise PtxlabError(
            "this is no PTX; a browser has no compiler for CUDA C++: paste what nvcc -ptx, Triton or "
            "godbolt.org gives"
        )
    return build_kernel(text, name or None)


def _whole(value: object, name: str) -> int:
    if not re.fullmatch(r"\s*\d{1,9}\s*", str(value)):
        raise PtxlabError(f"{name} {value!r}: it takes a whole number")
    return int(str(value))
