"""Targets and versions of PTX of instructions that are not matrix instructions, against the assembler."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest

import ptxlab
from ptxlab import Instruction, PtxlabError
from ptxlab.isa.availability import ROWS, Availability, accepted, availability, matrix_registers
from ptxlab.isa.targets import CUDA_RELEASES, TARGET_VERSIONS, TARGETS, PtxVersion, assembles_for
from ptxlab.numerics.scalar import operation
from tests.assembler import NEWEST
from tests.assembler import line as assembler_line
from tests.cases import refusal, refuses
from tests.isa.availability_lines import HEAD, lines, scalar_lines
from tests.sampling import EXHAUSTIVE, one_in

#: Versions of PTX that only an assembler knows, before CUDA 12.
_OLD_VERSIONS = (*((6, minor) for minor in (3, 4, 5)), *((7, minor) for minor in range(9)))
#: Targets that differ, and those of well-known products.
_ASKED = (
    "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103a", "sm_107a",
    "sm_110a", "sm_120", "sm_120a",
)  # fmt: skip
_NEVER = "mov.u32 r0, p0"  # a line that no assembler takes, behind all others


def _features(line: str) -> tuple[str, list[str]]:
    """The opcode of a line, and what else a row may ask for."""
    opcode, _, text = line.partition(" ")
    operands = re.sub(r"[\[{][^\]]*?[\]}]+", "_", text).split(", ") if text else []
    predicate = ["/pred"] if re.fullmatch(r"p\d", operands[-1] if operands else "") else []
    return opcode, [f"/{len(operands)}", *re.findall(r"%\w+", text), *predicate]


@lru_cache(maxsize=1)
def _cases() -> tuple[tuple[str, Availability], ...]:
    return tuple((line, availability(*_features(line))) for line in (*lines(), *scalar_lines()))


def _taken(texts: list[str], target: str, version: PtxVersion) -> list[bool]:
    """Which lines the assembler takes; at some faults it stops reading, so that they are left out."""
    head = HEAD.format(target=target, version=version)
    if version < (8, 3):
        head = head.replace(".reg .b128 q<9>;", "")
    start = head.count("\n") + 1
    refused: set[int] = set()
    while True:
        text = head + ";\n".join("brkpt" if i in refused else line for i, line in enumerate(texts))
        log = NEWEST.assemble(f"{text};\n{_NEVER};\nret; }}\n", target) or ""
        found = re.findall(r"line (\d+); (error|fatal)", log)
        complaints = {int(line) - start: kind for line, kind in found}
        refused |= complaints.keys()
        if len(texts) in complaints:
            return [i not in refused for i in range(len(texts))]
        assert "fatal" in complaints.values(), log


def _questions() -> list[tuple[str, PtxVersion]]:
    """Targets with the newest PTX, and two with others; `make exhaustive` asks for all."""
    versions = [PtxVersion(*version) for version in (*_OLD_VERSIONS, *sorted(set(CUDA_RELEASES.values())))]
    every = [
        (target, version) for target in TARGETS for version in versions if version >= TARGET_VERSIONS[target]
    ]
    if EXHAUSTIVE:
        return every
    return [
        (target, version)
        for target, version in every
        if (target in _ASKED and version == NEWEST.ptx_version)
        or (target in ("sm_80", "sm_90a") and version.minor % 4 == 0)
    ]


@pytest.mark.slow
def test_targets_and_versions_are_those_of_the_assembler() -> None:
    plain, scalar = _cases()[: len(lines())], _cases()[len(lines()) :]
    cases = [*plain, *one_in(4, scalar)]
    texts = [line for line, _ in cases]
    targets = [frozenset(known.targets) for _, known in cases]
    wrong = []
    for target, version in _questions():
        taken = _taken(texts, target, version)
        for (line, known), having, takes in zip(cases, targets, taken, strict=True):
            if takes != (target in having and known.version(target) <= version):
                wrong.append(f"{target}, PTX {version}: {line}: the assembler says {takes}")
    assert wrong == []


@pytest.mark.slow
def test_every_row_has_a_line() -> None:
    found = {row for _, known in _cases() for row in known.rows}
    assert [row.pattern for row in ROWS if row not in found] == []


# -- types of registers --------------------------------------------------------------------------------------

#: Registers of each type, by the letter that the type begins with, and those of the lines by their widths.
_TYPES = {"b": ".b16 h .b32 r .b64 d", "s": ".s16 h .s32 r .s64 d", "u": ".u16 h .u32 r .u64 d",
          "f": ".f16 h .f32 r .f64 d"}  # fmt: skip
_REGISTERS = " ".join(
    f".reg {kind} {letter}{name}<140>;"
    for letter, types in _TYPES.items()
    for kind, name in zip(types.split()[::2], types.split()[1::2], strict=True)
)
_TYPED_HEAD = (
    HEAD.partition("\n.reg")[0].partition(" .reg")[0] + f" {_REGISTERS} .reg .pred p<9>; .reg .b8 y<9>;\n"
)


def _accepting(cases: list[tuple[str, tuple[str, ...]]], target: str) -> list[str]:
    """Which letters the assembler takes for the one operand that each text leaves open as ``@``."""
    texts = [text.replace("@", letter) for text, letters in cases for letter in letters]
    head = _TYPED_HEAD.format(target=target, version=NEWEST.ptx_version)
    log = NEWEST.assemble(head + ";\n".join([*texts, "mov.u32 br0, p0"]) + ";\nret; }\n", target) or ""
    refused = {int(line) - head.count("\n") - 1 for line in re.findall(r"line (\d+); error", log)}
    assert len(texts) in refused, log[-300:]
    takes = iter(number not in refused for number in range(len(texts)))
    return ["".join(letter for letter in letters if next(takes)) for _, letters in cases]


@pytest.mark.slow
def test_types_of_registers_are_those_of_the_assembler() -> None:
    cases, expected = [], []
    for line in one_in(9, [line for line in scalar_lines() if " y" not in line]):
        opcode = line.split(" ")[0]
        known = operation(opcode)
        if known is None or "sm_120a" not in availability(*_features(line)).targets:
            continue
        places = list(re.finditer(r"(?<=[ |])[hrdp]\d", line))
        registers = [*known.registers[: line.count("|") + 1], *known.registers[len(known.results) :]]
        for place, type_name in zip(places, registers, strict=False):
            if place[0][0] == "p":
                continue
            before, after = (re.sub(r"\b([hrd])(\d)", r"b\1\2", text)
                             for text in (line[: place.start()], line[place.end() :]))  # fmt: skip
            cases.append((f"{before}@{place[0]}{after}", tuple("bsuf")))
            expected.append((line, place[0], accepted(type_name)))
    answers = _accepting(cases, "sm_120a")
    wrong = [(*case, answer) for case, answer in zip(expected, answers, strict=True) if case[2] != answer]
    assert wrong == []


def test_types_of_matrix_registers_are_those_of_the_assembler() -> None:
    """One form of each combination of family and types."""
    for target in ("sm_90a", "sm_120a"):
        forms = {}
        for form in ptxlab.catalog(target=target):
            if isinstance(form, Instruction) and form.lanes in (32, 128) and form.n <= 64:
                key = (form.family, form.d_type, form.a_type, form.c_type, form.scale_a is None, form.a_space)
                forms.setdefault(key, form)
        cases, expected = [], []
        for form in forms.values():
            opcode, _, line = assembler_line(form).partition(" ")
            names = ("d", "a") if form.family.startswith("wgmma") else ("d", "a", "b", "c")
            groups = list(re.finditer(r"\{[^}]*\}", line))
            for group, name in zip(groups, names, strict=False):
                parts = [line[: group.start()], line[group.start() : group.end()], line[group.end() :]]
                parts = [_as_typed(part, "@" if number == 1 else "b") for number, part in enumerate(parts)]
                cases.append((f"{opcode} {''.join(parts)}".rstrip(";"), tuple("bsuf")))
                expected.append((form.mnemonic, name, matrix_registers(form, name)))
        answers = _accepting(cases, target)
        wrong = [(*case, answer) for case, answer in zip(expected, answers, strict=True) if case[2] != answer]
        assert wrong == []
        assert len(cases) > 100


def _as_typed(text: str, letter: str) -> str:
    """Registers of `tests.assembler.line` as those of a type."""
    named = re.sub(r"\b[abcf](\d+)\b", rf"{letter}r\1", text)
    named = re.sub(r"\bw(\d+)\b", rf"{letter}d\1", named)
    named = re.sub(r"\b(da|db)\b", "bd0", named)
    return re.sub(r"\bp\b", "p0", re.sub(r"\b(e|sfa|sfb)\b", "br0", named))


_TEXT = """.version {version}
.target {target}
.address_size 64
.visible .entry k() {{
.reg .b32 r<4>; .reg .f32 f<4>; .reg .b64 d<4>; .reg .pred p<2>; .shared .b8 memory[64];
{line}
ret; }}"""


_LACKS = "the kernel is for {}, which lacks {}; targets that have it: {}"
_TCGEN05 = "sm_100a, sm_100f, sm_103a, sm_103f, ... (4 more)"
_REFUSED = [
    ("sm_75", "9.0", "cp.async.wait_all", _LACKS.format("sm_75", "cp.async.wait_all", "sm_80 and later")),
    (
        "sm_90", "8.0", "wgmma.fence.sync.aligned",
        _LACKS.format("sm_90", "wgmma.fence.sync.aligned", "sm_90a"),
    ),
    (
        "sm_80", "7.0", "@p0 ld.global.L2::cache_hint.u32 r0, [d0], d1",
        "the module is in PTX 7.0, and ld.global.L2::cache_hint.u32 came with PTX 7.4: state .version 7.4 or "
        "later",
    ),
    (
        "sm_80", "8.0", "mov.u32 r0, %cluster_ctarank",
        _LACKS.format("sm_80", "mov.u32 of %cluster_ctarank", "sm_90 and later"),
    ),
    (
        "sm_90a", "8.6", "tcgen05.wait::ld.sync.aligned",
        _LACKS.format("sm_90a", "tcgen05.wait::ld.sync.aligned", _TCGEN05),
    ),
    (
        "sm_80", "8.0", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
        "{r0, r0, r0, r0}, {r0, r0, r0, r0}, {r0, r0}, {r0, r0, r0, r0}",
        _LACKS.format("sm_80", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_89 and later"),
    ),
    (
        "sm_90", "8.0", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{f0, f1, f2, f3}, {f0, f0, f0, f0}, {r0, r0}, {f0, f1, f2, f3}",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 takes a register of bits (.b16, .b32, .b64) here, "
        "and f0 is .f32",
    ),
    ("sm_90", "8.0", "popc.b32 f0, r0", "popc.b32 takes an integer here, and f0 is .f32"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "version", "line", "message"), _REFUSED)
def test_a_kernel_of_another_target_is_refused(target: str, version: str, line: str, message: str) -> None:
    """Before it runs, whether a thread reaches the line or not: the assembler refuses the module."""
    kernel = ptxlab.kernel(_TEXT.format(target=target, version=version, line=f"ret; {line};"))
    assert refusal(kernel.simulate, 1, 32) == f"PTX line 6: {message}"


def test_ptx_of_one_target_for_another() -> None:
    pairs = [("sm_80", "sm_75"), ("sm_80", "sm_90"), ("sm_90a", "sm_100a"), ("sm_100f", "sm_103"),
             ("sm_100f", "sm_120f"), ("sm_103f", "sm_100f")]  # fmt: skip
    for own, target in pairs:
        text = _TEXT.format(target=own, version=NEWEST.ptx_version, line="")
        assert (NEWEST.assemble(text, target) is None) == assembles_for(own, target), (own, target)
    with pytest.raises(
        PtxlabError, match="target='sm_75': the PTX says .target sm_80, which the assembler does"
    ):
        ptxlab.kernel(_TEXT.format(target="sm_80", version="8.0", line=""), target="sm_75")
    old = _TEXT.format(target="sm_89", version="7.7", line="")
    assert NEWEST.assemble(old, "sm_89") is not None
    refuses("says .version 7.7, and its target sm_89 came with PTX 7.8: state", ptxlab.kernel, old)


def test_what_the_target_has_runs() -> None:
    out = np.zeros(32, dtype=np.uint32)
    text = _TEXT.replace("k()", "k(.param .u64 out)").format(
        target="sm_90",
        version="8.0",
        line="mov.u32 r0, %cluster_ctarank; cp.async.wait_all; elect.sync r1|p0, -1;",
    )
    assert ptxlab.kernel(text).simulate(1, 32, out).hazards == []
