"""Targets and versions of PTX of instructions that are not matrix instructions, against the assembler."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.isa.availability import ROWS, Availability, availability
from ptxlab.isa.targets import TARGET_VERSIONS, TARGETS
from ptxlab.isa.versions import CUDA_RELEASES, PtxVersion
from tests.assembler import NEWEST
from tests.availability_lines import HEAD, lines, scalar_lines
from tests.sampling import EXHAUSTIVE

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


def test_targets_and_versions_are_those_of_the_assembler() -> None:
    texts = [line for line, _ in _cases()]
    targets = [frozenset(known.targets) for _, known in _cases()]
    wrong = []
    for target, version in _questions():
        taken = _taken(texts, target, version)
        for (line, known), having, takes in zip(_cases(), targets, taken, strict=True):
            if takes != (target in having and known.version(target) <= version):
                wrong.append(f"{target}, PTX {version}: {line}: the assembler says {takes}")
    assert wrong == []


def test_every_row_has_a_line() -> None:
    found = {row for _, known in _cases() for row in known.rows}
    assert [row.what for row in ROWS if row not in found] == []


_TEXT = """.version {version}
.target {target}
.address_size 64
.visible .entry k() {{
.reg .b32 r<4>; .reg .b64 d<4>; .reg .pred p<2>; .shared .b8 memory[64];
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
]  # fmt: skip


@pytest.mark.parametrize(("target", "version", "line", "message"), _REFUSED)
def test_a_kernel_of_another_target_is_refused(target: str, version: str, line: str, message: str) -> None:
    """Before it runs, whether a thread reaches the line or not: the assembler refuses the module."""
    kernel = ptxlab.kernel(_TEXT.format(target=target, version=version, line=f"ret; {line};"))
    with pytest.raises(PtxlabError) as refusal:
        kernel.simulate(1, 32)
    assert str(refusal.value) == f"PTX line 6: {message}"


def test_what_the_target_has_runs() -> None:
    out = np.zeros(32, dtype=np.uint32)
    text = _TEXT.replace("k()", "k(.param .u64 out)").format(
        target="sm_90",
        version="8.0",
        line="mov.u32 r0, %cluster_ctarank; cp.async.wait_all; elect.sync r1|p0, -1;",
    )
    assert ptxlab.kernel(text).simulate(1, 32, out).hazards == []
