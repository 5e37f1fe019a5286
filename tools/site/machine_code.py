"""What each chip runs for every form, native or emulated: the page made from tools/data/sass.txt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ptxlab import Instruction
from ptxlab._util.files import write_atomically
from ptxlab.instruction import register_instructions
from ptxlab.isa.catalog import REGISTER_FAMILIES
from ptxlab.isa.targets import generation
from ptxlab.isa.tcgen05 import MMA_FAMILIES, TRANSFER_FAMILIES

from ..record.sass import (
    TARGETS,
    TENSOR_TARGETS,
    UNPRINTED,
    Key,
    Run,
    compiler,
    folded,
    is_newer,
    newer_compiler,
    read,
)
from .groups import AnyInstruction, Group, groups, qualifiers
from .markdown import Page, badge, code, definitions, link, slug, table

__all__ = ["FINDINGS", "Finding", "fact", "page", "write"]

_WORDS = {
    "native": "one tensor-core instruction (or one that moves matrices), with no arithmetic around it",
    "split": "several tensor-core instructions, with no arithmetic around them",
    "emulated": "arithmetic in ordinary instructions, around tensor-core instructions or without any",
    "plain": "ordinary loads and stores (`wmma.load` and `wmma.store`, for which no chip has an instruction)",
}


class Finding(NamedTuple):
    """Something unexpected, and forms that show it, each with some targets."""

    text: str
    examples: tuple[tuple[str, tuple[str, ...]], ...]


#: The sentences are checked in tests/gpu/test_record_sass.py; what is shown under them comes from the record.
FINDINGS = (
    Finding(
        "FP8 `mma` came with Ada and is back on RTX Blackwell. Hopper and sm_100a accept it and emulate "
        "it: FP8 becomes f16, two HMMA start from zero, and ordinary additions add C. On these two chips "
        "FP8 belongs to `wgmma` and to `tcgen05.mma`.",
        (("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", ("sm_89", "sm_90a", "sm_100a", "sm_120a")),),
    ),
    Finding(
        "4-bit `mma` ends with Ada. From Hopper on, elements are unpacked to 8 bits, and signs make that "
        "expensive: s4 with s4 takes eight times as many ordinary instructions as u4 with u4.",
        (
            ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", ("sm_89", "sm_90a")),
            ("mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32", ("sm_89", "sm_90a")),
        ),
    ),
    Finding(
        "Single bits: Hopper lacks `.xor` and makes it from two `.and`. Neither Blackwell has BMMA at all: "
        "bits become bytes, and matrices are transposed on the way (MOVM).",
        (("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", ("sm_80", "sm_90a", "sm_100a")),),
    ),
    Finding(
        "`mma.m8n8k4` with f16, Volta's own shape, has had no tensor-core instruction since Ampere: lanes "
        "exchange registers and multiply in f32. On Turing it runs in steps.",
        (("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", ("sm_75", "sm_80", "sm_90a")),),
    ),
    Finding(
        "For f16 and integers both Blackwells first put the metadata of a plain `.sp` in order, with "
        "shuffles; `.sp::ordered_metadata` is native. 4-bit integers, and FP8 on sm_100a, pay for the "
        "order in either spelling. bf16 and tf32, and FP8 on sm_120a, are native in both.",
        (
            ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ("sm_90a", "sm_100a", "sm_120a")),
            ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ("sm_100a",)),
            ("mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", ("sm_100a",)),
            ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", ("sm_90a", "sm_100a")),
        ),
    ),
    Finding(
        "f64 with 16 rows is native only on Hopper. Both Blackwells split it into pieces of m8n8k4.",
        (("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", ("sm_90a", "sm_100a")),),
    ),
    Finding(
        "m8n8k16 with 8-bit integers is one instruction everywhere, but on both Blackwells it is the one "
        "for 16 rows, half of which are idle.",
        (("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", ("sm_90a", "sm_100a")),),
    ),
    Finding(
        "`wmma` with tf32 goes in steps of four products, although `mma` with m16n8k8 takes eight at once: "
        "the two round differently.",
        (
            ("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", ("sm_90a",)),
            ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", ("sm_90a",)),
        ),
    ),
    Finding(
        "Where C and D of `wmma` differ in type, conversions surround the products: from Turing on, no "
        "tensor-core instruction that `wmma` becomes has accumulators of two types.",
        (("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32", ("sm_75", "sm_90a")),),
    ),
    Finding(
        "`kind::f8f6f4` is accepted for sm_100a with FP8 and emulated there, like FP8 without it; on "
        "sm_120a all its types are native.",
        (("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32", ("sm_100a", "sm_120a")),),
    ),
)


@lru_cache(maxsize=1)
def _record() -> dict[Key, Run]:
    return read()


def write(folder: Path) -> None:
    write_atomically(folder / "machine-code.md", str(page()))


def page() -> Page:
    runs = _record()
    forms = register_instructions()
    kernels = sum(not mnemonic.startswith("tcgen05") for mnemonic, _ in runs)
    out = Page("What the chip runs")
    out.add(
        "A PTX instruction promises a result, not a circuit: the compiler may implement it with one "
        "tensor-core instruction, with several, or with ordinary arithmetic. This is what CUDA "
        f"{compiler()} does with each of the {len(forms):,} forms whose matrices are in registers (CUDA "
        f"{newer_compiler()} with the {sum(map(is_newer, forms))} that came later), read from the machine "
        f"code of {kernels:,} kernels; that needs no GPU. `ptxlab sass INSTRUCTION --all` says the same of "
        "one form, and `ptxlab sass INSTRUCTION` prints the machine code itself.",
        definitions((badge(how), words) for how, words in _WORDS.items()),
        "One target stands for each generation: sm_86, sm_87 and sm_88 run what `sm_80` runs, sm_103a and "
        "sm_110a what `sm_100a` runs, sm_121a what `sm_120a` runs. CUDA 13.4 makes the same tensor-core "
        "instructions for sm_107a (Rubin) as for `sm_100a`.",
    )
    _summary(out, runs)
    _findings(out, runs)
    for family in REGISTER_FAMILIES:
        _family(out, family, runs)
    _tensor_memory(out)
    return out


def _tensor_memory(out: Page) -> None:
    """Instructions that work in tensor memory, as the record folds them."""
    out.heading(2, code("tcgen05"), _label("tcgen05"))
    out.add(
        "One instruction each: UTCHMMA multiplies f16, bf16 and tf32, UTCQMMA types of 8, 6 and 4 bits, "
        "UTCIMMA integers, UTCOMMA packed 4-bit types; LDTM and STTM move registers, UTCCP copies shared "
        "memory. `16x32bx2` takes two. {x,y} means either; N is the count. The code of sm_107a is CUDA "
        f"{newer_compiler()}'s. What allocates tensor memory is a routine around UTCATOMSWS.",
    )
    for family in (*MMA_FAMILIES, *TRANSFER_FAMILIES):
        rows = [
            (code(spelling), *(texts.get(target, "-").replace("native: 1 ", "") for target in TENSOR_TARGETS))
            for spelling, texts in folded(f"{family}.")
            if family != "tcgen05.mma" or not spelling.startswith(("tcgen05.mma.sp", "tcgen05.mma.ws"))
            if family != "tcgen05.mma.ws" or not spelling.startswith("tcgen05.mma.ws.sp")
        ]
        out.add(table((code(family), *TENSOR_TARGETS), rows))


def _summary(out: Page, runs: Mapping[Key, Run]) -> None:
    out.heading(2, "In numbers")
    rows = []
    for family in REGISTER_FAMILIES:
        cells = []
        for target in TARGETS:
            counts = Counter(runs[ins.mnemonic, target].how for ins in register_instructions(family, target))
            cells.append("<br>".join(f"{counts[how]} {how}" for how in _WORDS if counts[how]) or "-")
        rows.append((link(code(family), f"#{_label(family)}"), *cells))
    out.add(table(("forms of", *map(_column, TARGETS)), rows))


def _label(family: str) -> str:
    return slug(f"machine code {family}")


def _column(target: str) -> str:
    return f"{target}<br>{generation(target)}"


def _findings(out: Page, runs: Mapping[Key, Run]) -> None:
    out.heading(2, "What one would not expect")
    for finding in FINDINGS:
        lines = [f"- {finding.text}", ""]
        for form, targets in finding.examples:
            lines += [f"  {code(form)}", ""]
            lines += [f"  - {target} {_evidence(runs[form, target])}" for target in targets]
            lines.append("")
        out.add("\n".join(lines))


def _evidence(run: Run) -> str:
    counts = str(run).partition(":")[2].strip(" |")
    if not run.tensor:
        return f"{badge(run.how)} no tensor-core instruction; {counts}"
    return f"{badge(run.how)} {counts.replace('|', 'and')}"


# -- tables --------------------------------------------------------------------------------------------------


def fact(group: Group) -> str:
    """One line for the page of the family: on which targets its forms are native, split or emulated."""
    runs = _record()
    targets: dict[str, list[str]] = {}
    for target in TARGETS:
        ways = {runs[ins.mnemonic, target].how for ins in group.forms if ins.supports(target)}
        if ways:
            targets.setdefault(" or ".join(sorted(ways, key=list(_WORDS).index)), []).append(target)
    words = "; ".join(f"{how} on {', '.join(names)}" for how, names in targets.items())
    return f"{words} ({link('what the chip runs', f'#{_label(group.family)}')})"


def _family(out: Page, family: str, runs: Mapping[Key, Run]) -> None:
    forms = register_instructions(family)
    targets = [target for target in TARGETS if any(ins.supports(target) for ins in forms)]
    out.heading(2, code(family), _label(family))
    rows = []
    for group in groups(family, forms):
        tokens = qualifiers(group, forms)
        shape = link(code(group.shape), f"#{group.label}")
        if group.sizes:
            shape += f"<br>N = {group.sizes[0]} to {group.sizes[-1]}"
        for members in _alike(group, targets, runs):
            cells = []
            for target in targets:
                known = [(ins, runs[ins.mnemonic, target]) for ins in members if ins.supports(target)]
                cells.append(_cell(known) if known else "-")
            rows.append((shape, _description(members, group, tokens), *cells))
            shape = ""
    types = "A, B → D" if isinstance(forms[0], Instruction) else "type"
    out.add(table(("shape", types, *map(_column, targets)), rows))


def _alike(group: Group, targets: Sequence[str], runs: Mapping[Key, Run]) -> list[list[AnyInstruction]]:
    """The forms of a group, those together that run alike on every target."""
    members: dict[tuple[object, ...], list[AnyInstruction]] = {}
    for ins in group.forms:
        key = tuple(_kind(ins, runs.get((ins.mnemonic, target))) for target in targets)
        members.setdefault(key, []).append(ins)
    return list(members.values())


def _kind(ins: AnyInstruction, run: Run | None) -> object:
    """What forms in one row have in common: how they run, and their opcodes without what repeats the form."""
    return None if run is None else (run.how, tuple(sorted(_bare(ins, run).items())))


def _bare(ins: AnyInstruction, run: Run) -> Counter[str]:
    """Opcodes without the form's types, saturation and rounding, with N for its N; steps count together."""
    counts: Counter[str] = Counter()
    for opcode, count in run.tensor:
        if isinstance(ins, Instruction):
            opcode = re.sub(r"\.(?:SAT|RZ|RM|RP)$|\.STEP\d$", "", opcode).replace(f"64x{ins.n}x", "64xNx")
            if ins.a.dtype.bits <= 8:
                opcode = re.sub(rf"\.{ins.a_type.upper()}\.{ins.b_type.upper()}(?=\.|$)", "", opcode)
        counts[opcode] += count
    return counts


def _cell(known: Sequence[tuple[AnyInstruction, Run]]) -> str:
    """What one target runs for forms that run alike."""
    ins, run = known[0]
    one_opcode = len({other.tensor for _, other in known}) == 1 and len(run.tensor) == 1
    counts = dict(run.tensor) if one_opcode else _bare(ins, run)
    tensor = " + ".join(
        f"{count} that nvdisasm does not print" if opcode == UNPRINTED else f"{count} {code(opcode)}"
        for opcode, count in counts.items()
    )
    others = sorted({other.others for _, other in known})
    spread = str(others[0]) if len(others) == 1 else f"{others[0]} to {others[-1]}"
    words = [badge(run.how), tensor]
    if others != [0]:
        words.append(f"+ {spread} others" if tensor else f"{spread} others, no tensor core")
    return " ".join(word for word in words if word)


def _description(members: Sequence[AnyInstruction], group: Group, tokens: Sequence[str]) -> str:
    """Types, and the qualifiers that distinguish these forms from the others of the group."""
    own = [
        code(f".{token}")
        for token in tokens
        if all(_has(ins, token) for ins in members) and not all(_has(ins, token) for ins in group.forms)
    ]
    count = "1 form" if len(members) == 1 else f"{len(members)} forms"
    return f"{_types(members, group)}<br>{', '.join([count, *own])}"


def _has(ins: AnyInstruction, token: str) -> bool:
    return f".{token}." in f"{ins.mnemonic}."


def _types(members: Sequence[AnyInstruction], group: Group) -> str:
    """``s8, u8 → s32`` where all pairs are there, ``s8 × u8`` where they are not."""
    multiplying = [ins for ins in members if isinstance(ins, Instruction)]
    if not multiplying:
        return ", ".join(name for name in group.inputs if any(_has(ins, name) for ins in members))
    pairs = list(dict.fromkeys((ins.a_type, ins.b_type) for ins in multiplying))
    left = list(dict.fromkeys(a for a, _ in pairs))
    right = {b for _, b in pairs}
    if all(a == b for a, b in pairs) or (set(left) == right and len(pairs) == len(left) * len(right)):
        inputs = ", ".join(left)
    elif len(pairs) > 4:
        inputs = f"other pairs of {', '.join(left)}"
    else:
        inputs = ", ".join(f"{a} × {b}" for a, b in pairs)
    results = dict.fromkeys(
        ins.d_type if ins.c_type == ins.d_type else f"{ins.d_type} (C {ins.c_type})" for ins in multiplying
    )
    kinds = "".join(f"kind::{kind} " for kind in dict.fromkeys(ins.kind for ins in multiplying) if kind)
    return f"{kinds}{inputs} → {', '.join(results)}"
