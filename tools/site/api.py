"""The pages of the Python API: autodoc directives for the public names of each module that users import."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from ptxlab._util.files import write_atomically

__all__ = ["PAGES", "ApiPage", "documented", "write"]


@dataclass(frozen=True)
class ApiPage:
    """One page: its file, its title, and a module with the names to show (by default those of `__all__`)."""

    file: str
    title: str
    module: str
    names: tuple[str, ...] = ()
    modules: tuple[tuple[str, tuple[str, ...]], ...] = ()  # further modules with names


PAGES = (
    ApiPage(
        "ptxlab",
        "ptxlab",
        "ptxlab",
        ("instruction", "catalog", "matmul", "explore", "models", "progress", "dtype", "PtxlabError"),
    ),
    ApiPage(
        "kernels",
        "Whole kernels",
        "ptxlab.simulation",
        ("kernel", "simulating"),
        (
            ("ptxlab.adapters.framework_session", ("Session",)),
            ("ptxlab.simulator.kernel", ("Kernel",)),
            (
                "ptxlab.simulator",
                (
                    "Result",
                    "LineProfile",
                    "Executed",
                    "WarpTrace",
                    "TraceStep",
                    "Hazard",
                    "Observer",
                    "Access",
                    "Synchronisation",
                    "Threads",
                ),
            ),
            ("ptxlab.simulator.timing.launch_profile", ("LaunchProfile",)),
            ("ptxlab.isa.chips", ("Card",)),
            ("ptxlab.simulator.peaks", ("Bound", "Work")),
        ),
    ),
    ApiPage(
        "measure",
        "Measuring",
        "ptxlab.gpu.measure",
        ("measure",),
        (
            ("ptxlab.gpu.records", ("measured", "GpuRecord")),
            ("ptxlab.gpu.records", ("Measurement", "Point")),
            ("ptxlab.gpu.measure", ("record",)),
        ),
    ),
    ApiPage(
        "instruction",
        "Instructions",
        "ptxlab.instruction",
        ("Instruction", "Transfer"),
        (
            ("ptxlab.tcgen05_instruction", ("TensorInstruction", "TensorTransfer", "TensorControl")),
            ("ptxlab.instruction", ("MatrixInstruction", "ShownForm", "ExecutableForm")),
            ("ptxlab.isa.form", ("Form",)),
            ("ptxlab.isa.product_form", ("ProductForm",)),
            ("ptxlab.isa.tcgen05", ("Tcgen05Form",)),
            ("ptxlab.isa.instruction_descriptor", ("InstructionDescriptor",)),
            ("ptxlab.isa.zero_column_mask", ("ZeroColumnMask",)),
            ("ptxlab.isa.modifiers", ("Modifiers",)),
        ),
    ),
    ApiPage(
        "operand",
        "Operation and layouts",
        "ptxlab.isa.operand",
        ("Operand",),
        (
            ("ptxlab.isa.operand", ("MatrixOperand",)),
            ("ptxlab.isa.tensor_operand", ("TensorOperand", "TensorLayout", "TensorPlace")),
            ("ptxlab.isa.layout", ("Layout",)),
            ("ptxlab.isa.dtypes", ("DType",)),
            ("ptxlab.isa.sparsity", ("Structure",)),
            ("ptxlab.isa.operation", ("Operation",)),
        ),
    ),
    ApiPage("numerics", "Arithmetic models", "ptxlab.numerics"),
    ApiPage("figures", "Figures", "ptxlab.figures"),
    ApiPage("explorer", "Explorer", "ptxlab.explorer", ("Explorer",)),
    ApiPage("lessons", "Lessons", "ptxlab.lessons"),
    ApiPage("memory", "Shared memory", "ptxlab.memory"),
    ApiPage("gpu", "GPU", "ptxlab.gpu"),
    ApiPage("gemm", "GEMM", "ptxlab.gemm"),
    ApiPage("wmma", "nvcuda::wmma", "ptxlab.wmma"),
)


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        write_atomically(folder / f"{page.file}.rst", _page(page))


def documented(page: ApiPage) -> Iterator[tuple[str, object]]:
    """The functions and classes of a page with the names under which it shows them.

    A class inside another is shown there; constants and modules have no docstring to show.
    """
    names = page.names or tuple(_module(page.module).__all__)
    for module, some in ((page.module, names), *page.modules):
        for name in some:
            thing = getattr(_module(module), name)
            if inspect.isclass(thing) and "." in thing.__qualname__:
                continue
            if callable(thing):
                yield f"{module}.{name}", thing


def _page(page: ApiPage) -> str:
    lines = [page.title, "=" * len(page.title), ""]
    if not page.names:
        lines += [f".. automodule:: {_module(page.module).__name__}", "   :no-members:", ""]
    for name, thing in documented(page):
        if inspect.isclass(thing):
            options = ("   :members:", "   :special-members: __call__", "   :show-inheritance:")
            lines += [f".. autoclass:: {name}", *options, ""]
        else:
            lines += [f".. autofunction:: {name}", ""]
    return "\n".join(lines)


def _module(name: str) -> ModuleType:
    """The module that users import under that name; `ptxlab.figures` is one of a package below."""
    package, _, attribute = name.rpartition(".")
    module = getattr(import_module(package), attribute, None) if package else None
    return module if isinstance(module, ModuleType) else import_module(name)
