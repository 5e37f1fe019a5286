"""All about one instruction: what `ptxlab show` says, as plain data."""

from __future__ import annotations

import re
from typing import Any

from ..errors import PtxlabError
from ..gpu.codegen import ptx_line
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.targets import TARGETS
from ..isa.transfer import TransferForm
from .models import rule_words
from .tables import Table, held_again

__all__ = ["cpp", "cute", "evidence", "facts", "machine", "target_of"]


def evidence(ins: MmaForm) -> list[str]:
    """How the emulator's arithmetic is known: ``sm_90: measured (source)``, chips of one kind together.

    >>> import ptxlab
    >>> [said.split(" (")[0] for said in evidence(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")) if "sm_90" in said]
    ['sm_90: measured']
    """
    from ..isa.targets import CHIPS
    from ..numerics.emulate import model_of

    known: dict[str, list[str]] = {}
    for chip in CHIPS:
        try:
            model = model_of(ins, chip)
        except PtxlabError:  # the chip lacks the instruction, or nothing is known of its arithmetic
            continue
        known.setdefault(f"{model.evidence} ({model.source})", []).append(chip)
    return [f"{', '.join(chips)}: {said}" for said, chips in known.items()] or ["no model of its arithmetic"]


def _model(ins: MmaForm) -> list[str] | None:
    """The chip that `emulate` follows without being told, and its rule in words."""
    from ..numerics.emulate import model_of

    try:
        model = model_of(ins)
    except PtxlabError:
        return None
    return [
        f"{model.chip} ({model.evidence})",
        *(f"{name}: {said}" for name, said in rule_words(model.rule).items()),
    ]


def facts(ins: Form, target: str | None = None, *, run: bool = False) -> dict[str, Any]:
    """Everything about an instruction in words, in the order in which one asks.

    With `run` also what the machine code of `target` has for it, where the tools to see that are installed.

    >>> import ptxlab
    >>> facts(ptxlab.instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"))["nibbles"]
    ['0b0100', '0b1110']
    """
    said: dict[str, Any] = {
        "family": ins.family,
        "shape": ins.shape,
        "lanes": max(op.lanes for op in ins.operands.values()),
    }
    said["operands"] = _operands(ins)
    notes = list(dict.fromkeys(op.note for op in ins.operands.values() if op.note))
    notes += [f"{op.name}: {again}" for op in ins.operands.values() if (again := held_again(op))]
    if notes:
        said["note"] = notes
    if isinstance(ins, MmaForm):
        said |= _choices(ins)
    if isinstance(ins, TransferForm):
        said |= _memory(ins)
    said["targets"] = list(ins.targets)
    said["missing on"] = [name for name in TARGETS if name not in ins.targets]
    if isinstance(ins, MmaForm):
        said |= {"emulator": _model(ins) or "no model of its arithmetic", "arithmetic": evidence(ins)}
    if run:
        said["chip runs"] = machine(ins, target)
    return said | {"ptx": ptx_line(ins), **cpp(ins)}


def _operands(ins: Form) -> Table:
    rows = []
    for op in ins.operands.values():
        size, where = f"{op.shape[0]}x{op.shape[1]}", op.layout.signature if op.layout else "in shared memory"
        rows.append((op.name, size, str(op.dtype), op.registers or "-", op.lanes or "-", where))
    return Table(("operand", "shape", "type", "registers", "lanes", "layout"), tuple(rows))


def _choices(ins: MmaForm) -> dict[str, Any]:
    """What is left to choose: sparsity, selectors, modifiers."""
    said: dict[str, Any] = {}
    if ins.mma_count > 1:
        said["products"] = (
            f"{ins.mma_count}, stacked: rows {ins.m}q.. of A, C and D and columns {ins.n}q.. of B are those of quad pair q"
        )
    if ins.structure is not None:
        unit = {1: "values", 2: "pairs"}[ins.structure.group]
        most = f"at most {ins.structure.keep} of {ins.structure.groups} {unit} are non-zero"
        said["sparsity"] = f"{ins.structure.title}: in every {ins.structure.chunk} columns of A {most}"
        said["nibbles"] = [f"0b{nibble:04b}" for nibble in sorted(ins.nibbles)]
        said["selectors"] = list(ins.selectors)
    free = {name: values for name, values in ins.modifiers.items() if len(values) > 1 and name != "selector"}
    if free:
        said["modifiers"] = {
            name: [int(v) if isinstance(v, bool) else v for v in values] for name, values in free.items()
        }
    return said


def _memory(ins: TransferForm) -> dict[str, Any]:
    """What an instruction that moves a matrix asks of memory."""
    if ins.family == "movmatrix":
        return {}
    if ins.address_lanes:
        each = len(ins.address_lanes) // (ins.address_lanes[-1].matrix + 1)
        gives = f"lane r of 0..{len(ins.address_lanes) - 1} gives that of row r of R, a multiple of {ins.alignment}; {each} rows are a matrix"
    else:
        count, length = ins.lines
        line = "row" if ins.layout == "row" else "column"
        gives = f"one for all lanes, a multiple of {ins.alignment}: {count} {line}s of {length} elements; the stride counts elements from {line} to {line}"
    return {"address": gives, "spaces": ["generic", *ins.spaces], "manual": ins.section}


def cute(ins: Form, name: str | None = None) -> Table:
    """CuTe's ``shape:stride`` string of every operand, or of one: lane and element -> row + rows * column.

    >>> import ptxlab
    >>> cute(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C").rows
    (('C', '((4,8),(2,2)):((32,1),(16,8))', '(T32,V4) -> (16,8)'),)
    """
    found = [ins.operand(name)] if name else list(ins.operands.values())
    if name and found[0].layout is None:
        raise PtxlabError(
            f"{found[0].name} of {ins.mnemonic} lives in shared memory: it has no map from lanes; `ptxlab layout` shows its tile"
        )
    rows = (
        (op.name, op.layout.cute, op.layout.signature) if op.layout else (op.name, "-", "in shared memory")
        for op in found
    )
    return Table(("operand", "cute", "map"), tuple(rows))


def cpp(ins: Form) -> dict[str, list[str]]:
    """The instruction in CUDA C++: as an asm statement, and where `nvcuda::wmma` has it as its call.

    >>> import ptxlab
    >>> cpp(ptxlab.instruction("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"))["wmma"][0]
    'wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> a;'
    """
    from ..gpu.codegen import declarations, statement

    said = {"c++": [declarations(ins), *statement(ins).splitlines()]}
    if isinstance(ins, MmaForm) and ins.family == "wmma":
        from ..wmma import cpp_source

        try:
            source = cpp_source(ins)
        except PtxlabError:  # the mirror does not have every type
            return said
        said["wmma"] = [
            line.strip()
            for line in source.splitlines()
            if re.match(r"\s+wmma::(fragment|b?mma_sync)\b", line)
        ]
    return said


def target_of(ins: Form) -> str:
    """The target to look at when none is named: sm_90a, or the first that has the instruction.

    >>> import ptxlab
    >>> target_of(ptxlab.instruction("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"))
    'sm_90a'
    """
    return "sm_90a" if ins.supports("sm_90a") else ins.targets[0]


def machine(ins: Form, target: str | None = None) -> str:
    """What the machine code for a target has in the instruction's place, or what to install to see it: one line.

    >>> import ptxlab
    >>> machine(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "sm_75")
    'sm_75: nothing, it lacks the instruction'
    """
    from ..gpu.sass import sass

    target = target or target_of(ins)
    if not ins.supports(target):
        return f"{target}: nothing, it lacks the instruction"
    try:
        return f"{target}, {sass(ins, target)}"
    except PtxlabError as error:
        return f"{target}: {str(error).splitlines()[0]}"
