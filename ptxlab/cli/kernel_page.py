"""A kernel in a browser tab: takes CUDA C++ or PTX and arguments as JSON, and returns what the page shows."""

from __future__ import annotations

import copy
import json
import re
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..explorer.debugger.debugger import Debugger, parameter_names
from ..explorer.worker import Encoded, encode
from ..gpu.clang_in_tab import NotFetched, Report, find_clang
from ..simulator import HazardError, Result
from ..simulator.cuda_source import compile_cuda, has_compiler
from ..simulator.debug import DebugSession
from ..simulator.kernel import Kernel, build_kernel
from ..simulator.ptx.syntax import kernel_names
from ..views.kernel_listings import ptx_listing
from ..views.labels import number_text
from ..views.source_margin import line_notes, margin
from .output import one_line
from .simulate_commands import array_changes, launch_sizes, parse_value

__all__ = ["KernelTab"]

LIMIT = 1_000_000  # instructions of all warps: an endless loop becomes an error
TARGET = "sm_90a"
FILE = "kernel.cu"  # what compilers call the source in messages
_ADDRESSES = ("u64", "b64", "s64")
_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_IS_PTX = re.compile(r"^\s*\.version\b", re.MULTILINE)
_LINE = re.compile(rf"{re.escape(FILE)}\((\d+)\): error: |PTX line (\d+)")
_NO_FIELD = (
    "{} is a struct or a tensor map, for which this page has no field; in Python, "
    "ptxlab.kernel(source).simulate(...) takes one"
)
CORNER = 8, 16  # rows and columns of an array beside the result
DYNAMIC_BYTES = 48 << 10  # most dynamic shared memory of a launch that does not opt in to more


class KernelTab:
    """The kernel that a page shows. Its methods take JSON and return messages, as `worker.Tab` does.

    `report` hears how much of the compiler has come, when C++ is compiled for the first time.

    >>> tab = KernelTab()
    >>> ptx = ".version 8.0 .target sm_90a .address_size 64 .entry f() { ret; }"
    >>> [(text, _)] = tab.describe(json.dumps({"source": ptx, "name": ""}))
    >>> json.loads(text)["names"]
    ['f']
    """

    def __init__(self, report: Report | None = None) -> None:
        self._report = report
        self._kernel: Kernel | None = None
        self._made_of = ("", "")  # the source and the name that the kernel was asked for by
        self._debugger: Debugger | None = None

    def describe(self, request: str) -> list[Encoded]:
        """The kernels of a source, what the chosen one takes, and the PTX that C++ was compiled to."""
        fields = json.loads(request)
        source, name = fields["source"], fields["name"]
        names: list[str] = []
        start = time.perf_counter()
        try:
            names = self._names(source)
            kernel = self._build(source, name if name in names else "".join(names[:1]))
        except PtxlabError as error:
            again = isinstance(error, NotFetched)  # which asking again may mend
            return [encode({"method": "described", "names": names, "again": again, **_problem(error)})]
        directives = kernel.function.directives
        block = directives.get("reqntid") or directives.get("maxntid") or ()
        parameters = [
            {"name": parameter, "type": kind, "array": kind in _ADDRESSES}
            for parameter, kind in zip(parameter_names(kernel), kernel.parameters, strict=True)
        ]
        variables = kernel.module.variables.values()
        is_dynamic = any(
            variable.space == "shared" and variable.linkage == "extern" for variable in variables
        )
        structs = [parameter["name"] for parameter in parameters if str(parameter["type"]).startswith("b8[")]
        described: dict[str, object] = {
            "method": "described",
            "names": names,
            "name": kernel.title if kernel.title in names else kernel.name,
            "parameters": parameters,
            "block": "x".join(str(size) for size in block),
            "shared": str(DYNAMIC_BYTES if is_dynamic else 0),
            "problem": _NO_FIELD.format(structs[0]) if structs else "",
        }
        if kernel.compiler:
            listing = ptx_listing(kernel)
            described |= {
                "ptx": {
                    "lines": listing.text.split("\n"),
                    "sources": listing.lines,
                    "numbers": listing.numbers,
                },
                "compiler": kernel.compiler,
                "seconds": time.perf_counter() - start,
            }
        return [encode(described)]

    def simulate(self, request: str) -> list[Encoded]:
        """Run a launch: hazards, notes and counts by line, and a debugger where there is something to see."""
        try:
            simulated = self._simulated(json.loads(request))
        except PtxlabError as error:
            return [encode({"method": "simulated", **_problem(error)})]
        return [encode({"method": "simulated", **simulated})]

    def debug(self, message: str) -> list[Encoded]:
        """What the debugger shows after a message of the page."""
        assert self._debugger is not None, "the page has simulated before it debugs"
        before = self._debugger.explorer
        self._debugger.handle(json.loads(message))
        answer: dict[str, object] = {"method": "debugged", "state": self._debugger.state()}
        opened = self._debugger.explorer
        if opened is not None and opened is not before:
            answer["opened"] = opened.page_model.get_state()
        return [encode(answer)]

    def handle(self, message: str) -> list[Encoded]:
        """The answers to a message of the Explorer that the debugger opened, marked as the Explorer's."""
        assert self._debugger is not None, "the page has a debugger"
        assert self._debugger.explorer is not None, "the debugger has opened an Explorer"
        answers = self._debugger.explorer.handle(json.loads(message))
        return [encode({"method": "explorer", "message": answer}) for answer in answers]

    def _names(self, source: str) -> list[str]:
        """The kernels of a source, as its language spells them."""
        if _IS_PTX.search(source):
            return _ENTRY.findall(source)
        if not has_compiler():
            raise PtxlabError(
                "this is no PTX, and this page has no compiler for CUDA C++: paste what nvcc -ptx, Triton or "
                "godbolt.org gives"
            )
        clang = find_clang()
        if clang is not None and self._report is not None:
            clang.load(self._report)
        names = kernel_names(compile_cuda(source, TARGET, file=FILE).ptx)
        if not names:
            raise PtxlabError("there is no kernel: a kernel is a __global__ function")
        return names

    def _build(self, source: str, name: str) -> Kernel:
        """The kernel, which is kept for the next request."""
        if self._kernel is None or self._made_of != (source, name):
            self._kernel = build_kernel(source, name or None, TARGET, file=FILE)
            self._made_of = source, name
        return self._kernel

    def _simulated(self, fields: dict[str, Any]) -> dict[str, Any]:
        kernel = self._build(fields["source"], fields["name"])
        rng = np.random.default_rng(0)
        values = [parse_value(str(text), rng) for text in fields["arguments"]]
        before = copy.deepcopy(values)
        shared = _whole(fields["shared"], "shared")
        grid, block = launch_sizes(fields["grid"], "grid"), launch_sizes(fields["block"], "block")
        result, problem = None, {"problem": "", "line": 0}
        try:
            result = kernel.simulate(grid, block, *values, shared=shared, limit=LIMIT, show=False)
        except HazardError as error:  # the debugger goes to where the launch ends
            problem = _problem(error)
            if error.hazard is not None:
                problem["line"] = error.hazard.line if kernel.compiler else error.hazard.ptx_line
        changes = array_changes(before, values)
        session = kernel.debug(grid, block, *before, shared=shared)
        if result is None:
            session.run()
        else:
            _go_to_first(session, result)
        self._debugger = Debugger(session)
        if session.next_warps:
            self._debugger.warp = session.next_warps[0]
        for change in changes:
            change["cells"] = _corner(values[int(change["argument"]) - 1])
        return {
            **problem,
            "state": {"program": self._debugger.program(), **self._debugger.state()},
            "arrays": changes,
            **_remarks(kernel, result),
        }


def _go_to_first(session: DebugSession, result: Result) -> None:
    """To the first hazard, or else bank conflict, or else matrix instruction, if there is one."""
    lines = [hazard.ptx_line for hazard in result.hazards]
    executed = [profile for profile in result.profile if profile.moved.conflicts]
    lines += sorted(profile.instruction.line for profile in executed)
    lines += [
        instruction.line
        for instruction in session.kernel.function.instructions
        if {"mma", "mma_async"}.intersection(instruction.parts)
    ]
    if lines:
        session.run_to(lines[0], ptx=True)


def _remarks(kernel: Kernel, result: Result | None) -> dict[str, Any]:
    """Hazards, notes and the margin of the source, by line."""
    if result is None:
        return {"hazards": [], "notes": [], "margin": []}
    shown = "line" if kernel.compiler else "ptx_line"  # PTX may name lines of another source
    lines = margin(result, ptx=not kernel.compiler)
    return {
        "hazards": [{"line": getattr(hazard, shown), "text": hazard.sentence} for hazard in result.hazards],
        "notes": [
            {"line": getattr(note, shown), "text": f"{note.sentence} ({note.evidence})"}
            for note in result.notes
        ],
        "margin": [
            {
                "line": line.number,
                "count": line.profile.warps,
                "share": line.share,
                "conflicts": line.profile.conflicts,
                "about": "\n".join(line_notes(line)),
            }
            for line in lines
            if line.profile.warps
        ],
    }


def _corner(array: NDArray[Any]) -> list[list[str]]:
    """The first rows and columns of an array as a matrix, for the page."""
    columns = array.shape[-1] if array.ndim > 1 else CORNER[1]
    flat = array.reshape(-1)[: CORNER[0] * max(columns, 1)]
    rows = [flat[start : start + columns] for start in range(0, flat.size, columns)]
    return [[number_text(value) for value in row[: CORNER[1]]] for row in rows]


def _problem(error: PtxlabError) -> dict[str, object]:
    """An error in a sentence, and the line that it names, or 0."""
    sentence = one_line(str(error))
    line = _LINE.search(sentence)
    return {"problem": sentence, "line": int(line[1] or line[2]) if line else 0}


def _whole(value: object, name: str) -> int:
    if not re.fullmatch(r"\s*\d{1,9}\s*", str(value)):
        raise PtxlabError(f"{name} {value!r}: it takes a whole number")
    return int(str(value))
