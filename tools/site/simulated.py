"""The page of the simulator: its instructions, from its own tables, and the chips that bound a time."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from ptxlab._util.files import write_atomically
from ptxlab.isa.availability import ROWS, Requirement
from ptxlab.isa.catalog import REGISTER_FAMILIES, register_forms
from ptxlab.isa.targets import TARGETS
from ptxlab.numerics.scalar import opcodes
from ptxlab.simulator.instructions import (
    arithmetic_builders,
    asynchronous,
    control,
    loads,
    matrices,
    mbarrier_builders,
    tcgen05_builders,
    tensor_copies,
    warps,
    wgmma_builders,
)
from ptxlab.simulator.instructions.builders import BUILDERS
from ptxlab.simulator.peaks import PEAKS
from ptxlab.simulator.ptx.syntax import type_bits

from .markdown import Page, code, table

__all__ = ["GROUPS", "page", "write"]

#: What instructions do, and the modules of the simulator that build them.
_MODULES = {
    "memory and addresses": (loads,),
    "control, barriers, fences": (control,),
    "within a warp": (warps,),
    "matrices": (matrices, wgmma_builders),
    "tensor memory": (tcgen05_builders,),
    "asynchronous copies": (asynchronous, mbarrier_builders),
    "tensor maps": (tensor_copies,),
    "registers, and parts of them": (arithmetic_builders,),
}
GROUPS = tuple(
    (
        title,
        {
            entry[0]
            for entry, builder in BUILDERS.items()
            if builder.__module__ in {module.__name__ for module in modules}
        },
    )
    for title, modules in _MODULES.items()
)


def write(folder: Path) -> None:
    write_atomically(folder / "simulated.md", str(page()))


def _named(row: Requirement) -> str:
    if row.supported == TARGETS:
        return "all"
    return " ".join(map(code, row.supported))


def page() -> Page:
    out = Page("Instructions of the simulator")
    out.add(
        "What `ptxlab.kernel(...).simulate(...)` runs, from the simulator's own tables. Anything else is an "
        "error that names the instruction and its source line, when a thread reaches it. "
        "{doc}`/guide/kernels` shows how to use it."
    )
    out.heading(2, "Scalar instructions")
    names: dict[str, list[str]] = defaultdict(list)
    for opcode in opcodes():
        names[opcode.split(".")[0]].append(opcode)
    out.add(
        f"{sum(len(group) for group in names.values()):,} opcodes of {len(names)} instructions, in every bit "
        "as an H200 computes them; {doc}`approximations` has those that approximate."
    )
    rows = []
    for name, spellings in sorted(names.items()):
        parts = [part for spelling in spellings for part in spelling.split(".")[1:]]
        types = [part for part in dict.fromkeys(parts) if type_bits(part) is not None]
        others = [part for part in dict.fromkeys(parts) if type_bits(part) is None]
        rows.append(
            (code(name), " ".join(map(code, types)), " ".join(map(code, others)), str(len(spellings)))
        )
    out.add(table(("instruction", "types", "modifiers", "opcodes"), rows, numbers=(3,)))
    out.heading(2, "All others")
    listed = [(title, " ".join(map(code, sorted(names)))) for title, names in GROUPS]
    out.add(table(("", "instructions"), listed))
    out.heading(2, "Matrix instructions")
    out.add("Every form of the catalogue that runs on sm_75 to sm_90a:")
    forms = [(code(family), str(len(register_forms(family, "sm_90a")))) for family in REGISTER_FAMILIES]
    out.add(table(("family", "forms for sm_90a"), [row for row in forms if row[1] != "0"], numbers=(1,)))
    out.heading(2, "Targets and versions of PTX")
    out.add(
        "A kernel with an instruction that its target or its `.version` lacks is refused before it runs, as "
        "the assembler refuses it. Matrix instructions have their targets in the catalogue; for all others "
        "these rows hold, compared with the assembler for every instruction and modifier. What no row names, "
        "each target has."
    )
    required = [
        (
            code(row.pattern.replace("|", " \u2223 ")),
            code(row.supported[0]) + " and later" if row.supported[0] == row.targets else _named(row),
            "" if row.version == (0, 0) else f"{row.version[0]}.{row.version[1]}",
        )
        for row in ROWS
    ]
    out.add(table(("instruction and parts", "targets", "PTX"), required))
    out.heading(2, "Chips that bound the time of a kernel")
    out.add(
        "`result.bounds(chip)` divides what a kernel does by these published peaks: dense operations per "
        "second of the tensor cores (a multiply-add is two), bytes per second of DRAM, and 128 bytes per "
        "clock and SM of shared memory."
    )
    chips = [
        (
            chip.name, str(chip.sms), f"{chip.clock / 1e9:.2f} GHz",
            f"{chip.tensor.get('f16', chip.tensor.get('f16>f32', 0)):,.0f} TFLOPS",
            f"{chip.dram / 1e12:.2f} TB/s", chip.source,
        )
        for chip in PEAKS.values()
    ]  # fmt: skip
    out.add(table(("chip", "SMs", "clock", "f16 with f32 sums", "DRAM", "source"), chips))
    return out
