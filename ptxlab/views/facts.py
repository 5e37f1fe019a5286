"""All about one instruction, and the rules of its arithmetic in words: what `ptxlab show` prints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

from .._util.arguments import as_flag
from ..errors import PtxlabError, listing, quoted
from ..gpu.codegen import declarations, ptx_line, statement
from ..isa.catalog import Product
from ..isa.form import Form
from ..isa.instruction_descriptor import shapes_of
from ..isa.mma import Instruction
from ..isa.parse import parse, parse_any, parse_product
from ..isa.targets import CHIPS, TARGETS, check_target
from ..isa.tcgen05 import Tcgen05Form, TensorControl, TensorInstruction, TensorTransfer
from ..isa.transfer import Transfer
from ..numerics import EmulatedThroughF16, Exact, FmaChain, FmaGroups, Fused, Model, Rule, models
from ..numerics.emulate import model_of
from .labels import layout_note
from .location_tables import copies_note, tensor_layouts
from .table import Table

#: A fact is a text or a number, several of them, a table, or the values that each modifier takes.
Fact = str | int | list[str] | list[int] | dict[str, list[int]] | Table

_NO_MODEL = "no model of its arithmetic"


def facts(ins: Form | str, target: str | None = None, *, run: bool = False) -> dict[str, Fact]:
    """Everything about an instruction by topic, the basics first.

    With `run`, also the machine code for `target`, if the tools to see it are installed.

    >>> import ptxlab
    >>> facts(ptxlab.instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"))["nibbles"]
    ['0b0100', '0b1110']
    >>> facts(ptxlab.instruction("tcgen05.mma.cta_group::1.kind::tf32"))["descriptor"]
    '0x08400910: m128n256k8, A and B tf32, D f32.'
    """
    form, run = parse_any(ins), as_flag(run, "run")
    if target is not None:
        check_target(target)
    topics = _tensor_facts(form) if isinstance(form, Tcgen05Form) else _register_facts(form, target)
    if isinstance(form, Product):
        topics["emulator"] = emulator_facts(form) or _NO_MODEL
        topics["arithmetic"] = [str(entry) for entry in evidence(form)] or [_NO_MODEL]
    if run:
        topics["chip runs"] = machine_code(form, target)
    return topics | {"ptx": ptx_line(form), **cpp(form)}


def _register_facts(ins: Instruction | Transfer, target: str | None) -> dict[str, Fact]:
    """The declared facts of an instruction whose matrices are in registers or in shared memory."""
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
    topics |= _own_facts(ins)
    topics["PTX ISA"] = _version_fact(ins, target)
    topics["targets"] = list(ins.targets)
    topics["missing on"] = [name for name in TARGETS if name not in ins.targets]
    return topics


def _version_fact(ins: Form, target: str | None) -> str:
    """The PTX ISA version that it needs, and the one that the target needs if that is later."""
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


@singledispatch
def _own_facts(form: Form) -> dict[str, Fact]:
    """What is declared of one kind of forms alone."""
    return {}


@_own_facts.register(Instruction)
def _(ins: Instruction) -> dict[str, Fact]:
    """Stacked MMAs, sparsity, selectors and other modifiers."""
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


@_own_facts.register(Transfer)
def _(ins: Transfer) -> dict[str, Fact]:
    """The addresses and state spaces that a transfer takes."""
    if ins.family == "movmatrix":
        return {}
    if ins.address_lanes:
        per_matrix = len(ins.address_lanes) // (ins.address_lanes[-1].matrix + 1)
        address = (
            f"lane r of 0..{len(ins.address_lanes) - 1} gives that of row r of R, "
            f"a multiple of {ins.alignment}; {per_matrix} rows are a matrix"
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
class ChipEvidence:
    """How the arithmetic of some chips is known: measured here, published elsewhere, or assumed."""

    chips: tuple[str, ...]
    level: str
    source: str

    def __str__(self) -> str:
        return f"{', '.join(self.chips)}: {self.level} ({self.source})"


def evidence(ins: Product | str) -> list[ChipEvidence]:
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
        except PtxlabError:  # the chip lacks the instruction, or its arithmetic is unknown
            continue
        chips.setdefault((model.evidence, model.source), []).append(chip)
    return [ChipEvidence(tuple(names), level, source) for (level, source), names in chips.items()]


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
    ins = parse_any(ins)
    lines = {"c++": [declarations(ins), *statement(ins).splitlines()]}
    if isinstance(ins, Instruction) and ins.family == "wmma":
        from ..wmma.kernels import cpp_statements  # loaded at use, so that the command line starts quickly

        try:
            lines["wmma"] = cpp_statements(ins)
        except PtxlabError:  # `ptxlab.wmma` has the sub-byte types only
            return lines
    return lines


def target_of(ins: Form | str) -> str:
    """The default target: sm_90a, or sm_100a for tcgen05, or the first that has the instruction."""
    return parse_any(ins).usual_target


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


# -- arithmetic models -----------------------------------------------------------------------------------


_NAN = "0x7fffffff in f32, 0x7fff in f16"


def rule_words(rule: Rule) -> dict[str, str]:
    """An arithmetic rule in words, by topic.

    The topics are conversion, alignment, floor (of the exponent), steps (over K), rounding, zero and NaN;
    a rule has those that apply to it.

    >>> import ptxlab
    >>> ampere = next(model for model in ptxlab.models() if model.chip == "sm_80" and "bf16" in model.inputs)
    >>> rule_words(ampere.rule)["steps"]
    'steps of 8 products, k ascending; the result of one step is C of the next'
    """
    if not isinstance(rule, Rule):
        raise PtxlabError(f"found {quoted(rule)} where a rule belongs; ptxlab.models() have them")
    match rule:
        case Exact():
            return {
                "steps": "all products at once, exactly",
                "rounding": "wrapped to 32 bits, or clamped: .satfinite; "
                "of tcgen05 the descriptor's saturate bit",
            }
        case Fused():
            return _fused_words(rule)
        case EmulatedThroughF16():
            halves = "k with k mod 4 = 0 or 1, then the others"
            return {
                "conversion": "A and B are converted to f16",
                **rule_words(rule.step),
                "steps": f"two, starting from zero: {halves}; then C is added, rounded to nearest even",
            }
        case FmaGroups():
            chains = " and another over ".join(f"k {', '.join(map(str, group))}" for group in rule.groups)
            added = "it is added to C" if len(rule.groups) == 1 else "each is added to C in turn"
            return {
                "conversion": "A, B and C are converted to f32",
                "steps": f"no tensor core: a chain of fused multiply-adds over {chains}; {added}",
                "rounding": "every operation to nearest even; an f16 result is rounded once more",
                "zero": "as in IEEE 754",
                "NaN": _NAN,
            }
        case FmaChain():
            return {
                "steps": "one fused multiply-add after another, starting from C, k ascending",
                "rounding": "each operation in the rounding mode that the instruction names",
                "zero": "as in IEEE 754",
                "NaN": "keeps its payload and becomes quiet; of several, the first in the order "
                f"{', '.join(rule.nans)} counts; 0xfff8000000000000 where no input is NaN",
            }
    raise TypeError(f"{type(rule).__name__} has no words; write them in ptxlab.views.facts")


def _fused_words(rule: Fused) -> dict[str, str]:
    steps = "one step over all of K"
    if rule.depth is not None:
        steps = f"steps of {rule.depth} products, k ascending; the result of one step is C of the next"
    f32 = "f32 is truncated toward zero"
    if rule.result_bits != 23:
        f32 = f"{f32} to {rule.result_bits} fraction bits"
    below = f"{rule.fraction_bits} bits below the largest exponent"
    alignment = f"products are exact; products and C are truncated {below}"
    if rule.block is not None:
        alignment = (
            f"sums of {rule.block} products, times their two scales, are exact; they and C are truncated "
            f"{below}: C's, or that of the two scales"
        )
    return {
        "alignment": alignment,
        "floor": f"the largest exponent counts as at least {rule.floor}",
        "steps": steps,
        "rounding": f"{f32}, f16 is rounded to nearest even",
        "zero": "+0",
        "NaN": _NAN,
    }


def model_table() -> Table:
    """Every model in one row, with its evidence and the number of MMAs that were compared with a GPU.

    >>> row = model_table().records()[0]
    >>> row["chip"], row["A and B"], row["evidence"]
    ('sm_70 (Volta)', 'f16', 'published')
    """
    rows = [model_words(model) for model in models()]
    return Table(tuple(rows[0]), tuple(tuple(row.values()) for row in rows))


def model_words(model: Model) -> dict[str, str]:
    """A model in words: chip, types of A and B, families, restrictions, rule, evidence, count, source."""
    if not isinstance(model, Model):
        raise PtxlabError(f"found {quoted(model)} where a model belongs; ptxlab.models() gives them")
    return {
        "chip": f"{model.chip} ({model.generation})",
        "A and B": ", ".join(model.inputs),
        "families": ", ".join(model.families),
        "only": _restrictions(model),
        "rule": "; ".join(f"{topic}: {words}" for topic, words in rule_words(model.rule).items()),
        "evidence": model.evidence,
        "MMAs": f"{model.mmas:,}" if model.mmas else "",
        "source": model.source,
    }


def _restrictions(model: Model) -> str:
    """What the model is confined to, beyond input types and families: ``m8n8k4, D f16``."""
    lists = (
        (model.shapes, ""),
        (model.results, "D "),
        (model.accumulators, "C "),
        (model.kinds, "kind::"),
        (model.scales, "scale_vec::"),
        (model.depths, "K = "),
    )
    return ", ".join(f"{prefix}{name}" for names, prefix in lists for name in names)


# -- tcgen05 ---------------------------------------------------------------------------------------------


def _tensor_facts(form: Tcgen05Form) -> dict[str, Fact]:
    """What is declared about a form of tcgen05."""
    facts: dict[str, Fact] = {"syntax": form.syntax, **_own_facts(form)}
    if form.assumptions:
        facts["assumed"] = list(form.assumptions)
    if form.located:
        facts["operands"] = tensor_layouts(form)
    facts["targets"] = listing(form.targets, 30)
    facts["PTX ISA"] = f"{form.ptx_version} and later"
    return facts


@_own_facts.register(TensorInstruction)
def _(form: TensorInstruction) -> dict[str, Fact]:
    arguments = [
        f"{name}: {'on every target' if targets == form.targets else listing(targets, 12)}"
        for name, targets in form.arguments.items()
    ]
    return {
        "descriptor": f"0x{form.descriptor.code:08x}: {form.descriptor}",
        "shapes": _shapes(form),
        "layout": f"{form.path.name} ({form.path.source})",
        "arguments": arguments,
    }


@_own_facts.register(TensorControl)
def _(form: TensorControl) -> dict[str, Fact]:
    return {"purpose": form.purpose}


@_own_facts.register(TensorTransfer)
def _(form: TensorTransfer) -> dict[str, Fact]:
    facts: dict[str, Fact] = {"columns": str(form.columns)}
    return facts | ({"registers": f"{form.registers} of each thread"} if form.registers else {})


def _shapes(form: TensorInstruction) -> list[str]:
    lines = []
    for rows in shapes_of(form.kind, form.sparse, form.ws, form.cta_group):
        targets = [target for target in rows.targets if target in form.targets]
        if targets or not rows.targets:
            lines.append(f"{rows} ({listing(targets)} only)" if targets else str(rows))
    return lines
