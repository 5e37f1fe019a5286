"""A kernel in a browser tab: takes CUDA C++ or PTX and arguments as JSON, and returns what the page shows."""

from __future__ import annotations

import copy
import json
import re
import time
from typing import Any

import numpy as np

from ..errors import PtxlabError
from ..explorer.kernel_steps import first_state, step_state
from ..explorer.session import PageSession
from ..explorer.worker import Encoded, encode
from ..gpu.clang_in_tab import NotFetched, Report, find_clang
from ..simulator import Result
from ..simulator.cuda_source import compile_cuda, has_compiler
from ..simulator.kernel import Kernel, build_kernel
from ..simulator.ptx.syntax import kernel_names
from ..views.kernel_listings import ptx_listing
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
        self._result: Result | None = None
        self._explorer: PageSession | None = None

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
            for parameter, kind in zip(_parameter_names(kernel), kernel.parameters, strict=True)
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
                "ptx": {"lines": listing.text.split("\n"), "sources": listing.lines},
                "compiler": kernel.compiler,
                "seconds": time.perf_counter() - start,
            }
        return [encode(described)]

    def simulate(self, request: str) -> list[Encoded]:
        """Run a launch: the state of the player, changes of the arrays, hazards and notes by line."""
        try:
            simulated = self._simulated(json.loads(request))
        except PtxlabError as error:
            return [encode({"method": "simulated", **_problem(error)})]
        return [encode({"method": "simulated", **simulated, "problem": ""})]

    def step(self, number: str) -> list[Encoded]:
        """Another step of the warp that was followed."""
        assert self._result is not None, "the page has simulated before it shows steps"
        steps = [] if self._result.trace is None else self._result.trace.steps
        index = min(max(int(number), 0), len(steps) - 1)
        return [encode({"method": "stepped", "state": step_state(self._result, index)})]

    def explore(self, request: str) -> list[Encoded]:
        """Open what a matrix instruction of the launch read, by its number among those of the warp."""
        assert self._result is not None, "the page has simulated before it explores"
        fields = json.loads(request)
        operands = self._result.operands(warp=fields["warp"], index=fields["index"])
        self._explorer = PageSession(operands.ins, operands=operands)
        return [encode({"method": "explored", "state": self._explorer.page_model.get_state()})]

    def handle(self, message: str) -> list[Encoded]:
        """The answers to a message of the Explorer that `explore` opened, marked as the Explorer's."""
        assert self._explorer is not None, "the page has opened an Explorer"
        answers = self._explorer.handle(json.loads(message))
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
        shared, warp = (_whole(fields[name], name) for name in ("shared", "warp"))
        grid, block = launch_sizes(fields["grid"], "grid"), launch_sizes(fields["block"], "block")
        result = kernel.simulate(
            grid, block, *values, shared=shared, trace=True if warp == 0 else warp, limit=LIMIT, show=False
        )
        self._result = result
        shown = "line" if kernel.compiler else "ptx_line"  # PTX may name lines of another source
        return {
            "state": first_state(result),
            "arrays": array_changes(before, values),
            "hazards": [
                {"line": getattr(hazard, shown), "text": hazard.sentence} for hazard in result.hazards
            ],
            "notes": [
                {"line": getattr(note, shown), "text": f"{note.sentence} ({note.evidence})"}
                for note in result.notes
            ],
            "matrices": result.matrix_instructions(warp),
            "warp": warp,
        }


def _parameter_names(kernel: Kernel) -> list[str]:
    """The names of the parameters: those of C++ where its text shows them, otherwise PTX's.

    >>> source = "__global__ void f(const float* x, int n) { if (n) *const_cast<float*>(x) = 1; }"
    >>> _parameter_names(build_kernel(source))
    ['x', 'n']
    """
    in_ptx = [parameter.name for parameter in kernel.function.parameters]
    pattern = rf"\b{re.escape(kernel.title)}\s*\(([^(){{}};]*)\)\s*\{{"
    signature = re.search(pattern, re.sub(r"//.*|/\*.*?\*/", "", kernel.source)) if kernel.compiler else None
    if signature is None:
        return in_ptx
    names = [
        name
        for parameter in signature[1].split(",")
        for name in re.findall(r"(\w+)\s*(?:\[\w*\]\s*)*$", parameter)
    ]
    return names if len(names) == len(in_ptx) else in_ptx


def _problem(error: PtxlabError) -> dict[str, object]:
    """An error in a sentence, and the line that it names, or 0."""
    sentence = one_line(str(error))
    line = _LINE.search(sentence)
    return {"problem": sentence, "line": int(line[1] or line[2]) if line else 0}


def _whole(value: object, name: str) -> int:
    if not re.fullmatch(r"\s*\d{1,9}\s*", str(value)):
        raise PtxlabError(f"{name} {value!r}: it takes a whole number")
    return int(str(value))
