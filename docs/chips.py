"""The page of what the chips run: native or emulated, for every form on every generation, from the record in runs.txt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any, NamedTuple

from ptxlab import Instruction, catalog
from ptxlab.isa.catalog import FAMILIES
from ptxlab.isa.targets import CHIPS, GENERATIONS
from tools.record_sass import TARGETS, Key, Run, compiler, read

from .groups import Form, Group, groups, qualifiers
from .page import Page, code, facts, link, slug, table

__all__ = ["FINDINGS", "Finding", "anchor", "build", "fact"]

FILE = "chips.html"

_WORDS = {
    "native": "one tensor-core instruction (or one that moves matrices), and nothing that computes around it",
    "split": "several tensor-core instructions, and nothing that computes around them",
    "emulated": "arithmetic in ordinary instructions, around tensor-core instructions or without any",
    "plain": "ordinary loads and stores; of wmma.load and wmma.store, which no chip has",
}
_NAMES = {target: GENERATIONS[chip] for chip, target in CHIPS.items()}


class Finding(NamedTuple):
    """What one would not expect, and forms that show it, each with some targets."""

    said: str
    shown: tuple[tuple[str, tuple[str, ...]], ...]


#: In words; what is shown under them comes from the record.
FINDINGS = (
    Finding(
        "FP8 mma came with Ada and is back on RTX Blackwell. Hopper and sm_100a take it and emulate it: FP8 becomes f16, two HMMA begin at zero, "
        "and C is added by ordinary additions. On these two FP8 belongs to wgmma and to tcgen05.mma.",
        (("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", ("sm_89", "sm_90a", "sm_100a", "sm_120a")),),
    ),
    Finding(
        "4-bit mma ends with Ada. Since Hopper elements are unpacked to 8 bits, and signs are what costs: s4 with s4 takes eight times the "
        "ordinary instructions of u4 with u4.",
        (
            ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", ("sm_89", "sm_90a")),
            ("mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32", ("sm_89", "sm_90a")),
        ),
    ),
    Finding(
        "Single bits: Hopper lacks .xor and makes it of two .and. Both Blackwells have no BMMA at all: bits become bytes, and matrices are "
        "transposed on the way (MOVM).",
        (("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", ("sm_80", "sm_90a", "sm_100a")),),
    ),
    Finding(
        "mma.m8n8k4 with f16, Volta's own shape, has no tensor-core instruction since Ampere: lanes exchange registers and multiply in f32. "
        "On Turing it runs in steps.",
        (("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", ("sm_75", "sm_80", "sm_90a")),),
    ),
    Finding(
        "With f16 and integers both Blackwells put the metadata of a plain .sp in order first, with shuffles; .sp::ordered_metadata is native. "
        "4-bit integers, and FP8 on sm_100a, pay for the order in either spelling. bf16 and tf32, and FP8 on sm_120a, are native in both.",
        (
            ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ("sm_90a", "sm_100a", "sm_120a")),
            ("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", ("sm_100a",)),
            ("mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32", ("sm_100a",)),
            ("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", ("sm_90a", "sm_100a")),
        ),
    ),
    Finding(
        "f64 with 16 rows is Hopper's alone. Both Blackwells cut it into pieces of m8n8k4.",
        (("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", ("sm_90a", "sm_100a")),),
    ),
    Finding(
        "m8n8k16 with 8-bit integers is one instruction everywhere, but on both Blackwells it is that of 16 rows, half of them idle.",
        (("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", ("sm_90a", "sm_100a")),),
    ),
    Finding(
        "wmma with tf32 goes in steps of four products, though mma with m16n8k8 takes eight in one: the two round differently.",
        (
            ("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", ("sm_90a",)),
            ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", ("sm_90a",)),
        ),
    ),
    Finding(
        "Where C and D of wmma differ in type, conversions stand around the products: since Turing no tensor-core instruction that wmma becomes "
        "has accumulators of two types.",
        (("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32", ("sm_75", "sm_90a")),),
    ),
    Finding(
        "kind::f8f6f4 is taken for sm_100a with FP8, and emulated there as FP8 without it; on sm_120a all its types are native.",
        (("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32", ("sm_100a", "sm_120a")),),
    ),
)


@lru_cache(maxsize=1)
def _record() -> dict[Key, Run]:
    return read()


def build() -> Page:
    page = Page(
        FILE,
        "What the chip runs",
        "Native or emulated? Every form on every generation, as CUDA's compiler translates it.",
    )
    page.head(1, "What the chip runs", listed=False)
    runs = _record()
    page.add(
        "<p>A PTX instruction is a promise, not a circuit: the compiler may keep it with one instruction of the tensor core, with several, or with "
        f"ordinary arithmetic. Here is what CUDA {compiler()} does with each of the {len(catalog()):,} forms, "
        f"read from the machine code of {len(runs):,} kernels; no GPU is needed for that. "
        f"{code('ptxlab sass INSTRUCTION --all')} says the same of one form, and {code('ptxlab sass INSTRUCTION')} "
        "shows the machine code itself.</p>",
        facts((_badge(how), escape(said)) for how, said in _WORDS.items()),
        f"<p>One target stands for each generation: sm_86, sm_87 and sm_88 run what {code('sm_80')} runs, sm_103a and sm_110a what {code('sm_100a')}, "
        f"sm_121a what {code('sm_120a')}.</p>",
    )
    _summary(page, runs)
    _findings(page, runs)
    for family in FAMILIES:
        _family(page, family, runs)
    return page


def _badge(how: str) -> str:
    return f'<span class="badge {how}">{how}</span>'


def _summary(page: Page, runs: Mapping[Key, Run]) -> None:
    page.head(2, "In numbers")
    rows = []
    for family in FAMILIES:
        cells = []
        for target in TARGETS:
            count = Counter(runs[ins.mnemonic, target].how for ins in catalog(family, target))
            cells.append("<br>".join(f"{count[how]} {how}" for how in _WORDS if count[how]) or "-")
        rows.append((link(code(family), f"#{slug(family)}"), *cells))
    page.add(table(("forms of", *map(_head, TARGETS)), rows, label="Forms by family and target"))


def _head(target: str) -> str:
    return f"{target}<br><small>{_NAMES[target]}</small>"


def _findings(page: Page, runs: Mapping[Key, Run]) -> None:
    page.head(2, "What one would not expect")
    items = []
    for said, shown in FINDINGS:
        lines = [
            line
            for form, targets in shown
            for line in (code(form), *(_evidence(target, runs[form, target]) for target in targets))
        ]
        items.append(f'<li>{escape(said)}<p class="used">{"<br>".join(lines)}</p></li>')
    page.add(f"<ul>{''.join(items)}</ul>")


def _evidence(target: str, run: Run) -> str:
    counts = (
        str(run).partition(":")[2]
        if run.tensor
        else f"no tensor-core instruction{str(run).partition(':')[2]}"
    )
    return f"{target} {_badge(run.how)} {escape(counts.strip())}"


# -- the tables -------------------------------------------------------------------------------------------------------------


def anchor(family: str, group: Group) -> str:
    """The id of a group's rows."""
    return slug(f"{family} {group.anchor}")


def fact(family: str, group: Group) -> str:
    """One line for the page of the family: on which targets its forms are native, split, emulated."""
    runs = _record()
    said: dict[str, list[str]] = {}
    for target in TARGETS:
        hows = dict.fromkeys(runs[ins.mnemonic, target].how for ins in group.forms if ins.supports(target))
        if hows:
            said.setdefault(" or ".join(sorted(hows, key=list(_WORDS).index)), []).append(target)
    listed = "; ".join(f"{how} on {', '.join(on)}" for how, on in said.items())
    return f"{listed} ({link('what the chip runs', f'{FILE}#{anchor(family, group)}')})"


def _family(page: Page, family: str, runs: Mapping[Key, Run]) -> None:
    forms = catalog(family)
    targets = [target for target in TARGETS if any(ins.supports(target) for ins in forms)]
    page.head(2, code(family))
    bodies = []
    for group in groups(forms):
        rows = _rows(group, targets, runs)
        tokens = qualifiers(group, forms)
        shape = link(code(group.shape or family), f"{slug(family)}.html#{group.anchor}")
        many = f"<br><small>N = {group.sizes[0]} to {group.sizes[-1]}</small>" if group.sizes else ""
        first = f'<th scope="rowgroup" rowspan="{len(rows)}">{shape}{many}</th>'
        lines = [
            f"<tr>{first if at == 0 else ''}<td>{_label(members, group, tokens)}</td>{cells}</tr>"
            for at, (members, cells) in enumerate(rows)
        ]
        bodies.append(f'<tbody id="{page.anchor(anchor(family, group))}">\n{chr(10).join(lines)}\n</tbody>')
    types = "A, B → D" if isinstance(forms[0], Instruction) else "type"
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("shape", types, *map(_head, targets)))
    page.add(
        f'<div class="scroll" tabindex="0" role="region" aria-label="What chips run for {escape(family)}"><table class="runs"><thead><tr>{heads}</tr>'
        f"</thead>\n{chr(10).join(bodies)}\n</table></div>"
    )


def _rows(group: Group, targets: Sequence[str], runs: Mapping[Key, Run]) -> list[tuple[list[Form], str]]:
    """The forms of a group that run alike on every target, with their cells; equal neighbours are one cell."""
    alike: dict[Any, list[Form]] = {}
    for ins in group.forms:
        alike.setdefault(
            tuple(_kind(ins, runs.get((ins.mnemonic, target))) for target in targets), []
        ).append(ins)
    found = []
    for members in alike.values():
        cells = [
            _cell([(ins, runs[ins.mnemonic, target]) for ins in members if (ins.mnemonic, target) in runs])
            for target in targets
        ]
        html, at = "", 0
        while at < len(cells):
            wide = next((end for end in range(at, len(cells)) if cells[end] != cells[at]), len(cells)) - at
            span = f' colspan="{wide}"' if wide > 1 else ""
            html += f"<td{span}>{cells[at]}</td>"
            at += wide
        found.append((members, html))
    return found


def _kind(ins: Form, run: Run | None) -> Any:
    """What a row has in common: how it runs, and the opcodes but for what they repeat of the form."""
    return None if run is None else (run.how, tuple(sorted(_bare(ins, run).items())))


def _bare(ins: Form, run: Run) -> Counter[str]:
    """Opcodes without the form's own types, saturation and rounding, with N for its N, and steps of one instruction together."""
    found: Counter[str] = Counter()
    for opcode, count in run.tensor:
        if isinstance(ins, Instruction):
            own = (
                rf"\.{ins.a_type.upper()}\.{ins.b_type.upper()}(?=\.|$)" if ins.a.dtype.bits <= 8 else "(?!)"
            )
            opcode = re.sub(rf"{own}|\.(?:SAT|RZ|RM|RP)$|\.STEP\d$", "", opcode).replace(
                f"64x{ins.n}x", "64xNx"
            )
        found[opcode] += count
    return found


def _cell(given: Sequence[tuple[Form, Run]]) -> str:
    if not given:
        return "-"
    whole = {run.tensor for _, run in given}
    ins, run = given[0]
    exact = len(whole) == 1 and len(run.tensor) == 1
    tensor = " + ".join(
        f"{count}&nbsp;{_code(opcode)}"
        for opcode, count in (dict(run.tensor) if exact else _bare(ins, run)).items()
    )
    counts = sorted({one.others for _, one in given})
    spread = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    others = "" if counts == [0] else f" + {spread} others" if tensor else f"{spread} others, no tensor core"
    return f"{_badge(run.how)} {tensor}{others}".rstrip()


def _code(opcode: str) -> str:
    """An opcode that may break at its dots."""
    return f"<code>{escape(opcode).replace('.', '.<wbr>')}</code>"


def _label(members: Sequence[Form], group: Group, tokens: Sequence[str]) -> str:
    """Types, and the qualifiers that tell these forms from the others of the group."""
    own = [
        token
        for token in tokens
        if all(_has(ins, token) for ins in members) and not all(_has(ins, token) for ins in group.forms)
    ]
    count = f"{len(members)} form{'s' * (len(members) > 1)}"
    return f"{escape(_types(members, group))}<br><small>{', '.join([count, *(code(f'.{token}') for token in own)])}</small>"


def _has(ins: Form, token: str) -> bool:
    return f".{token}." in f"{ins.mnemonic}."


def _types(members: Sequence[Form], group: Group) -> str:
    """``s8, u8 to s32`` where all pairs are there, ``s8 x u8`` where they are not."""
    products = [ins for ins in members if isinstance(ins, Instruction)]
    if not products:
        return ", ".join(
            dict.fromkeys(kind for kind in group.inputs if any(_has(ins, kind) for ins in members))
        )
    pairs = dict.fromkeys((ins.a_type, ins.b_type) for ins in products)
    left, right = (list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1))
    same = all(a == b for a, b in pairs) or (set(left) == set(right) and len(pairs) == len(left) * len(right))
    some = (
        f"other pairs of {', '.join(left)}" if len(pairs) > 4 else ", ".join(f"{a} × {b}" for a, b in pairs)
    )
    given = ", ".join(left) if same else some
    results = dict.fromkeys(
        ins.d_type if ins.c_type == ins.d_type else f"{ins.d_type} (C {ins.c_type})" for ins in products
    )
    kinds = "".join(f"kind::{kind} " for kind in dict.fromkeys(ins.kind for ins in products) if kind)
    return f"{kinds}{given} → {', '.join(results)}"
