"""All about one instruction: what `ptxlab show` prints, as plain data."""

from __future__ import annotations

from dataclasses import dataclass

from .._util.arguments import as_flag
from ..errors import PtxlabError
from ..gpu.codegen import declarations, ptx_line, statement
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.mma import MmaForm
from ..isa.parse import parse, parse_product
from ..isa.targets import CHIPS, TARGETS, check_target
from ..isa.transfer import TransferForm
from ..numerics.emulate import model_of
from .labels import layout_note
from .models import rule_words
from .places import copies_note
from .table import Table

#: A fact is a text or a number, several of them, a table, or the values that each modifier takes.
Fact = str | int | list[str] | list[int] | dict[str, list[int]] | Table

_NO_MODEL = "no model of its arithmetic"


def facts(ins: Form | str, target: str | None = None, *, run: bool = False) -> dict[str, Fact]:
    """Everything about an instruction by topic, in the order in which one asks.

    With `run` also the machine code for `target`, where the tools to see it are installed.

    >>> import ptxlab
    >>> facts(ptxlab.instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"))["nibbles"]
    ['0b0100', '0b1110']
    """
    ins = parse(ins)
    run = as_flag(run, "run")
    if target is not None:
        check_target(target)
    topics: dict[str, Fact] = {
        "family": ins.family,
        "shape": ins.shape,
        "lanes": max(op.lanes for op in ins.operands.values()),
        "operands": _operand_table(ins),
    }
    layouts = [layout_note(ins, op) for op in ins.operands.values()]
    notes = list(dict.fromkeys(note for note in layouts if note))
    notes += [f"{op.name}: {copies}" for op in ins.operands.values() if (copies := copies_note(op))]
    if notes:
        topics["note"] = notes
    if isinstance(ins, MmaForm):
        topics |= _mma_facts(ins)
    if isinstance(ins, TransferForm):
        topics |= _memory_facts(ins)
    topics["PTX ISA"] = _version_fact(ins, target)
    topics["targets"] = list(ins.targets)
    topics["missing on"] = [name for name in TARGETS if name not in ins.targets]
    if isinstance(ins, MmaForm):
        topics["emulator"] = emulator_facts(ins) or _NO_MODEL
        topics["arithmetic"] = [str(entry) for entry in evidence(ins)] or [_NO_MODEL]
    if run:
        topics["chip runs"] = machine_code(ins, target)
    return topics | {"ptx": ptx_line(ins), **cpp(ins)}


def _version_fact(ins: Form, target: str | None) -> str:
    """The version that it needs, and what a target that was named needs beyond."""
    text = f"{ins.ptx_version} and later"
    if target is not None and ins.supports(target) and ins.ptx_version_for(target) > ins.ptx_version:
        text += f"; {target} needs {ins.ptx_version_for(target)}"
    return text


def _operand_table(ins: Form) -> Table:
    rows = []
    for op in ins.operands.values():
        size = f"{op.shape[0]}x{op.shape[1]}"
        layout = op.layout.signature if op.layout else "in shared memory"
        rows.append((op.name, size, str(op.dtype), op.registers or "-", op.lanes or "-", layout))
    return Table(("operand", "shape", "type", "registers", "lanes", "layout"), tuple(rows))


def _mma_facts(ins: MmaForm) -> dict[str, Fact]:
    """Stacked MMAs, sparsity, and what is left to choose: selectors and other modifiers."""
    topics: dict[str, Fact] = {}
    if ins.mma_count > 1:
        topics["MMAs"] = (
            f"{ins.mma_count} independent ones, stacked: quad pair q has rows {ins.m}q.. of A, C and D "
            f"and columns {ins.n}q.. of B"
        )
    if ins.structure is not None:
        unit = "values" if ins.structure.group == 1 else "pairs"
        most = f"at most {ins.structure.keep} of {ins.structure.groups} {unit} are non-zero"
        topics["sparsity"] = f"{ins.structure.title}: in every {ins.structure.chunk} columns of A {most}"
        topics["nibbles"] = [f"0b{nibble:04b}" for nibble in sorted(ins.nibbles)]
        topics["selectors"] = list(ins.selectors)
    modifiers = {
        name: [int(value) for value in values]
        for name, values in ins.modifiers.items()
        if len(values) > 1 and name != "selector"
    }
    if modifiers:
        topics["modifiers"] = modifiers
    return topics


def _memory_facts(ins: TransferForm) -> dict[str, Fact]:
    """What a transfer asks of memory."""
    if ins.family == "movmatrix":
        return {}
    if ins.address_lanes:
        each = len(ins.address_lanes) // (ins.address_lanes[-1].matrix + 1)
        address = (
            f"lane r of 0..{len(ins.address_lanes) - 1} gives that of row r of R, "
            f"a multiple of {ins.alignment}; {each} rows are a matrix"
        )
    else:
        count, length = ins.lines
        line = "row" if ins.layout == "row" else "column"
        address = (
            f"one for all lanes, a multiple of {ins.alignment}: {count} {line}s of {length} elements; "
            f"the stride counts elements from {line} to {line}"
        )
    return {"address": address, "spaces": ["generic", *ins.spaces], "manual": ins.section}


# -- arithmetic ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """How the arithmetic of some chips is known: measured here, published elsewhere, or assumed."""

    chips: tuple[str, ...]
    level: str
    source: str

    def __str__(self) -> str:
        return f"{', '.join(self.chips)}: {self.level} ({self.source})"


def evidence(ins: Product | str) -> list[Evidence]:
    """How the emulator's arithmetic is known, chips with the same evidence together.

    >>> import ptxlab
    >>> entries = evidence(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> [entry.level for entry in entries if "sm_90" in entry.chips]
    ['measured']
    """
    ins = parse_product(ins)
    chips: dict[tuple[str, str], list[str]] = {}
    for chip in CHIPS:
        try:
            model = model_of(ins, chip)
        except PtxlabError:  # the chip lacks the instruction, or nothing is known of its arithmetic
            continue
        chips.setdefault((model.evidence, model.source), []).append(chip)
    return [Evidence(tuple(names), level, source) for (level, source), names in chips.items()]


def emulator_facts(ins: Product) -> list[str]:
    """The chip that `emulate` follows by default, and its rule in words."""
    try:
        model = model_of(ins)
    except PtxlabError:
        return []
    words = rule_words(model.rule)
    return [f"{model.chip} ({model.evidence})", *(f"{topic}: {text}" for topic, text in words.items())]


# -- other notations -------------------------------------------------------------------------------------


def cute(ins: Form | str, name: str | None = None) -> Table:
    """CuTe's ``shape:stride`` string of every operand, or of one: lane and element -> row + rows * column.

    >>> import ptxlab
    >>> cute(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C").rows
    (('C', '((4,8),(2,2)):((32,1),(16,8))', '(T32,V4) -> (16,8)'),)
    """
    ins = parse(ins)
    operands = [ins.operand(name)] if name is not None else list(ins.operands.values())
    rows = []
    for op in operands:
        if op.layout is not None:
            rows.append((op.name, op.layout.cute, op.layout.signature))
        elif name is None:
            rows.append((op.name, "-", "in shared memory"))
        else:
            raise PtxlabError(
                f"{op.name} of {ins.mnemonic} lives in shared memory: it has no map from lanes; "
                "`ptxlab layout` shows its tile"
            )
    return Table(("operand", "cute", "map"), tuple(rows))


def cpp(ins: Form | str) -> dict[str, list[str]]:
    """The instruction in CUDA C++: as an asm statement and, where `nvcuda::wmma` has it, as its call.

    >>> import ptxlab
    >>> cpp(ptxlab.instruction("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32"))["wmma"][0]
    'wmma::fragment<wmma::matrix_a, 8, 8, 128, wmma::experimental::precision::b1, wmma::row_major> a;'
    """
    ins = parse(ins)
    lines = {"c++": [declarations(ins), *statement(ins).splitlines()]}
    if isinstance(ins, MmaForm) and ins.family == "wmma":
        from ..wmma.kernels import cpp_statements  # loaded at use, so that the command line starts quickly

        try:
            lines["wmma"] = cpp_statements(ins)
        except PtxlabError:  # `ptxlab.wmma` has the sub-byte types only
            return lines
    return lines


def target_of(ins: Form | str) -> str:
    """The target to look at when none is named: sm_90a, or the first that has the instruction."""
    ins = parse(ins)
    return "sm_90a" if ins.supports("sm_90a") else ins.targets[0]


def machine_code(ins: Form, target: str | None = None) -> str:
    """The machine code for a target in one line, or what to install to see it.

    >>> import ptxlab
    >>> machine_code(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "sm_75")
    'sm_75: nothing, it lacks the instruction'
    """
    from ..gpu.sass import sass  # loaded at use, so that the command line starts quickly

    target = target or target_of(ins)
    if not ins.supports(target):
        return f"{target}: nothing, it lacks the instruction"
    try:
        return f"{target}, {sass(ins, target)}"
    except PtxlabError as error:
        return f"{target}: {error}"
