"""The targets and the version of PTX that an instruction needs, as rows: all but matrix instructions.

PTX ISA, "Target ISA Notes" and "PTX ISA Notes" of each instruction. Where the text and the assembler differ,
the rows say what the assembler takes: `tests/isa/test_availability.py` asks it about every instruction and
modifier. Matrix instructions have their targets in the catalogue, and their versions where forms are
declared: `_INTRODUCED` of `mma.py` and `transfer.py`, `ptx_version` in `tcgen05/`.

Which types of registers an operand takes is in the PTX ISA's "Operand Type Checking Rules"; there, too, this
is what the assembler takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from .mma import Instruction
from .targets import SM_90A, SM_100A, SM_107, SM_120A, SM_120A_WITHOUT_F, TARGETS, TCGEN05, PtxVersion

_ANY, _90A, _SINCE_90A, _SINCE_100A = "", "sm_90a", "sm_90a and later a and f", "sm_100a and later a and f"
_TCGEN05, _REDUX, _BYTES, _STOCHASTIC, _MULTIMEM_FP8 = (
    "tcgen05",
    "redux.f32",
    "bytes",
    "cvt.rs",
    "multimem FP8",
)
_SPECIFIC = {
    _90A: SM_90A,
    _SINCE_90A: (*SM_90A, *SM_100A),
    _SINCE_100A: SM_100A,
    _TCGEN05: TCGEN05,
    _REDUX: tuple(target for target in TCGEN05 if not target.startswith("sm_110")),
    _BYTES: (*SM_107, *SM_120A),
    _MULTIMEM_FP8: (*TCGEN05, *SM_120A_WITHOUT_F),
    _STOCHASTIC: ("sm_100a", "sm_103a", "sm_107a"),
}


class Requirement(NamedTuple):
    """A pattern, and the targets and the version of PTX that an instruction which matches it needs.

    The first word lists instructions (`ld|st`), or is `*`. Every further word lists alternatives of which the
    instruction has at least one, or none if the word begins with `!`: `.f16.f32` (adjacent parts of the
    opcode), `.L1::*` (a prefix), `%name` (a special register), `/3` (three operands), `/pred` (the last is a
    predicate). `targets` is the first target, or a key of `_SPECIFIC`.
    """

    pattern: str
    targets: str = _ANY
    version: tuple[int, int] = (0, 0)
    only_target: str = ""  # the only target to which the version applies; all if empty

    @property
    def names(self) -> tuple[str, ...]:
        """The instructions it applies to."""
        return tuple(self.pattern.split()[0].split("|"))

    def matches(self, opcode: str, types: str, others: frozenset[str]) -> bool:
        """Whether it applies to an opcode (`.rn.f16.f32.`, types `.f16.f32.`) with these other features."""
        for word in self.pattern.split()[1:]:
            present = any(_has(part, opcode, types, others) for part in word.lstrip("!").split("|"))
            if present == word.startswith("!"):
                return False
        return True

    @property
    def supported(self) -> tuple[str, ...]:
        """The targets that have it."""
        if not self.targets:
            return TARGETS
        return _SPECIFIC.get(self.targets) or TARGETS[TARGETS.index(self.targets) :]


def _has(part: str, opcode: str, types: str, others: frozenset[str]) -> bool:
    if part[0] in "/%":
        return any(fnmatchcase(feature, part) for feature in others)
    if part.endswith("*"):
        return part.removesuffix("*") in opcode
    return f"{part}." in opcode or f"{part}." in types


ROWS: tuple[Requirement, ...] = tuple(Requirement(*row) for row in (
    # loads and stores
    ("ld|st .L1::*", _ANY, (7, 4)),
    ("ld|cp .L2::64B|.L2::128B", _ANY, (7, 4)),
    ("ld|cp .L2::256B", "sm_80", (7, 4)),
    ("* .L2::cache_hint", "sm_80", (7, 4)),
    ("ld|st .mmio", _ANY, (8, 2)),
    ("ld|st .v8|.v4.b64|.v4.u64|.v4.s64|.v4.f64", "sm_100", (8, 8)),
    ("ld|st|mov|atom .b128", _ANY, (8, 3)),
    ("* .shared::cta !.async.ca|.async.cg", _ANY, (7, 8)),
    ("* .shared::cluster|.cluster", "sm_90", (7, 8)),
    ("ld|cvta|isspacep .param::entry|.param::func", _ANY, (8, 3)),
    ("cvta|isspacep .param", _ANY, (7, 7)),
    ("st|red .async", "sm_90", (8, 1)),
    ("st|red .async .release", "sm_100", (8, 7)),
    ("st .bulk", "sm_100", (8, 6)),
    ("multimem", "sm_90", (8, 1)),
    ("multimem .acc::f32", "sm_90", (8, 2)),
    ("multimem .acc::f16|.e4m3|.e4m3x2|.e4m3x4|.e5m2|.e5m2x2|.e5m2x4", _MULTIMEM_FP8, (8, 6)),
    ("multimem .bulk", "sm_90", (9, 1)),
    ("multimem .cp_mask", "sm_100", (9, 1)),
    ("multimem .st.async|.red.async", "sm_100", (9, 3)),
    ("alloca|stacksave|stackrestore", _ANY, (7, 3)),
    # atomic operations
    ("atom .b128", "sm_90", (8, 3)),
    ("atom|red .noftz.f32", "sm_90", (9, 4)),
    ("atom|red .bf16|.bf16x2", "sm_90", (7, 8)),
    ("atom|red .v2|.v4|.v8", "sm_90", (8, 1)),
    # caches
    ("createpolicy|discard|applypriority", "sm_80", (7, 4)),
    ("prefetch .L2::*", "sm_80", (7, 4)),
    ("prefetch .tensormap", "sm_90", (8, 0)),
    # barriers and fences
    ("bar|barrier .cta", _ANY, (7, 8)),
    ("barrier .cluster .acquire|.release|.relaxed", "sm_90", (8, 0)),
    ("fence|membar .alias", _ANY, (7, 5)),
    ("fence .async|.async::generic|.mbarrier_init", "sm_90", (8, 0)),
    ("fence .tensormap::generic", "sm_90", (8, 3)),
    ("fence .acquire|.release !.tensormap::generic|.mbarrier_init", "sm_90", (8, 6)),
    ("griddepcontrol|mapa|getctarank", "sm_90", (7, 8)),
    ("setmaxnreg", _SINCE_90A, (8, 0)),
    ("clusterlaunchcontrol", "sm_100", (8, 6)),
    ("clusterlaunchcontrol .multicast::cluster::all", _SINCE_100A, (8, 6)),
    # within a warp
    ("redux", "sm_80", (7, 0)),
    ("redux .f32", _REDUX, (8, 6)),
    ("elect", "sm_90", (8, 0)),
    ("wgmma .fence|.commit_group|.wait_group", _90A, (8, 0)),
    # asynchronous copies
    ("cp", "sm_80", (7, 0)),
    ("cp /4 /pred", "sm_80", (7, 5)),
    ("cp .bulk", "sm_90", (8, 0)),
    ("cp .bulk .shared::cta.global", "sm_90", (8, 6)),
    ("cp .cp_mask", "sm_100", (8, 6)),
    ("cp .cta_group::*", _TCGEN05, (8, 6)),
    ("cp .im2col::*|.tile::scatter4", _TCGEN05, (8, 6)),
    ("cp .tile::gather4 !.shared::cta.global", _TCGEN05, (8, 6)),
    ("cp .tile::gather4 .shared::cta.global", "sm_100", (8, 6)),
    ("mbarrier", "sm_80", (7, 0)),
    ("mbarrier .parity", "sm_80", (7, 1)),
    ("mbarrier .acquire|.release|.shared::cluster", "sm_80", (8, 0)),
    ("mbarrier .expect_tx|.complete_tx", "sm_90", (8, 0)),
    ("mbarrier .try_wait", "sm_90", (7, 8)),
    ("mbarrier .relaxed", "sm_90", (8, 0)),
    ("mbarrier .arrive|.arrive_drop|.test_wait|.try_wait .relaxed", "sm_90", (8, 6)),
    ("mbarrier .arrive|.arrive_drop /3 !.noComplete", "sm_90", (7, 8)),
    ("tensormap .replace", _SINCE_90A, (8, 3)),
    ("tensormap .swizzle_atomicity", _SINCE_100A, (8, 6)),
    ("tensormap .cp_fenceproxy", "sm_90", (8, 3)),
    # special registers
    ("* %clusterid|%nclusterid|%cluster_*|%is_explicit_cluster", "sm_90", (7, 8)),
    ("* %aggr_smem_size", "sm_90", (8, 1)),
    ("* %reserved_smem_offset_*", "sm_80", (7, 6)),
    ("* %current_graph_exec", _ANY, (8, 0)),
    # integers
    ("clmad", "sm_80", (9, 3)),
    ("szext|bmsk", _ANY, (7, 6)),
    ("lop3 .and|.or|.xor", _ANY, (8, 2)),
    ("add|min|max .u16x2|.s16x2", "sm_90", (8, 0)),
    ("min|max .relu .s32|.s16x2", "sm_90", (8, 0)),
    ("add|sub|min|max|neg .u8x4|.s8x4", _BYTES, (9, 2)),
    ("add .sat .u32|.u16x2|.s16x2", _BYTES, (9, 2)),
    # floats
    ("* .relu", "sm_80", (7, 0)),
    ("fma|min|max|abs|neg .bf16|.bf16x2", "sm_80", (7, 0)),
    ("add|sub|mul|set|setp .bf16|.bf16x2", "sm_90", (7, 8)),
    ("abs .f16|.f16x2", _ANY, (6, 5)),
    ("min|max .NaN|.f16|.f16x2", "sm_80", (7, 0)),
    ("min|max .xorsign", "sm_86", (7, 2)),
    ("min|max .f32 /4", "sm_100", (8, 8)),
    ("fma .oob", "sm_90", (8, 1)),
    ("add|sub|mul|fma .f32x2|.f32.f16|.f32.bf16", "sm_100", (8, 6)),
    ("set .u16.f16|.s16.f16|.u32.f16|.s32.f16|.u32.f16x2|.s32.f16x2", _ANY, (6, 5)),
    ("ex2|tanh .bf16|.bf16x2", "sm_90", (7, 8)),
    ("tanh", "sm_75", (7, 0)),
    ("ex2 .f16|.f16x2", "sm_75", (7, 0)),
    # conversions
    ("cvt .pack", _ANY, (6, 5)),
    ("cvt .bf16.f32|.f16x2.f32|.bf16x2.f32|.tf32", "sm_80", (7, 0)),
    ("cvt .f32.bf16", "sm_80", (7, 1)),
    ("cvt .ftz .f32.bf16", "sm_90", (7, 8)),
    ("cvt .bf16 !.f32", "sm_90", (7, 8)),
    ("cvt .tf32 .rn|.rz", "sm_90", (7, 8)),
    ("cvt .tf32 .rn|.rz .satfinite", "sm_100", (8, 6)),
    ("cvt .satfinite .f16.f32|.bf16.f32|.f16x2.f32|.bf16x2.f32|.tf32.f32", _ANY, (8, 1)),
    ("cvt .e4m3x2|.e5m2x2", "sm_89", (8, 1), "sm_89"),
    ("cvt .e2m1x2|.e2m3x2|.e3m2x2|.ue8m0x2", _SINCE_100A, (8, 6)),
    ("cvt .rs", _STOCHASTIC, (8, 7)),
    ("cvt .e4m3x2.bf16x2|.e5m2x2.bf16x2", _SINCE_100A, (9, 1)),
    ("cvt .e2m1x2.f16x2|.e2m3x2.f16x2|.e3m2x2.f16x2", _SINCE_100A, (9, 1)),
    ("cvt .e2m1x2.bf16x2|.e2m3x2.bf16x2|.e3m2x2.bf16x2", _SINCE_100A, (9, 1)),
    ("cvt .bf16x2.e4m3x2|.bf16x2.e5m2x2|.bf16x2.e2m1x2|.bf16x2.e2m3x2|.bf16x2.e3m2x2", _SINCE_100A, (9, 2)),
))  # fmt: skip


class Availability(NamedTuple):
    """The rows that apply to an instruction."""

    rows: tuple[Requirement, ...]

    @property
    def targets(self) -> tuple[str, ...]:
        """Targets that have it.

        >>> availability("wgmma.fence.sync.aligned").targets
        ('sm_90a',)
        """
        return tuple(target for target in TARGETS if all(target in row.supported for row in self.rows))

    def version(self, target: str) -> PtxVersion:
        """The version of PTX that a module for a target needs; 0.0 if any that has the target will do.

        >>> str(availability("ld.global.L2::cache_hint.u32").version("sm_80"))
        '7.4'
        """
        versions = [row.version for row in self.rows if row.only_target in ("", target)]
        return PtxVersion(*max(versions, default=(0, 0)))


@lru_cache(maxsize=None)
def _rows_of(name: str) -> tuple[Requirement, ...]:
    """The rows for an instruction of that name, and those for all."""
    return tuple(row for row in ROWS if name in row.names or "*" in row.names)


_TYPE_STARTS = ("b", "s", "u", "f", "e", "tf")


def availability(opcode: str, others: Iterable[str] = ()) -> Availability:
    """What an instruction requires; `others` are `%clusterid`, `/3`, `/pred` as in `Requirement`.

    >>> availability("mov.u32", ["%clusterid.x"]).targets[0]
    'sm_90'
    """
    return _availability(opcode, frozenset(feature.partition(".")[0] for feature in others))


@lru_cache(maxsize=4096)
def _availability(opcode: str, others: frozenset[str]) -> Availability:
    name, *parts = opcode.split(".")
    types = [part for part in parts if part.startswith(_TYPE_STARTS) and any(map(str.isdigit, part))]
    dotted_parts, dotted_types = ("." + "".join(f"{part}." for part in group) for group in (parts, types))
    return Availability(
        tuple(row for row in _rows_of(name) if row.matches(dotted_parts, dotted_types, others))
    )


# -- which types of registers an operand takes ---------------------------------------------------------------


#: First letters of the types of registers that an operand takes.
_ANY_TYPE, _INTEGER_TYPES, _FLOAT_TYPES, _BIT_TYPES = "bsuf", "bsu", "bf", "b"


@lru_cache(maxsize=1024)
def accepted(type_name: str) -> str:
    """First letters of the types of registers that an operand of a PTX type takes, if it is as wide.

    >>> accepted("b32"), accepted("s32"), accepted("f32"), accepted("bf16x2")
    ('bsuf', 'bsu', 'bf', 'b')
    """
    if re.fullmatch(r"b\d+", type_name):
        return _ANY_TYPE
    if re.fullmatch(r"[su]\d+", type_name):
        return _INTEGER_TYPES
    return _FLOAT_TYPES if re.fullmatch(r"f\d+", type_name) else _BIT_TYPES


def fits(register_type: str, letters: str) -> bool:
    """Whether a register is of one of these types; packed ones such as `.f16x2` and predicates always are.

    >>> fits("f32", accepted("s32")), fits("u32", accepted("s32"))
    (False, True)
    """
    return register_type[0] in letters or "x" in register_type or register_type == "pred"


def matrix_registers(form: Instruction, operand: str) -> str:
    """First letters of the types of registers that A, B, C or D of a matrix instruction takes.

    >>> from ptxlab.isa.parse import parse_mma
    >>> form = parse_mma("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> matrix_registers(form, "a"), matrix_registers(form, "d")
    ('b', 'bf')
    """
    is_half_or_tf32 = form.a_type in ("f16", "bf16", "tf32")
    if form.a_type == "f64" or (form.family == "mma.sp" and form.a_type in ("bf16", "tf32")):
        return _ANY_TYPE
    if operand in "cd":
        type_name = form.d_type if operand == "d" else form.c_type
        if form.family == "mma.sp" and is_half_or_tf32 and type_name == "f32":
            return _ANY_TYPE
        return {"f16": _BIT_TYPES, "f32": _FLOAT_TYPES}.get(type_name, _INTEGER_TYPES)
    is_narrow_wgmma = form.family.startswith("wgmma") and "e" in form.a_type
    if is_half_or_tf32 or form.scale_a is not None or is_narrow_wgmma:
        return _BIT_TYPES
    return _INTEGER_TYPES if form.family == "wmma" else _ANY_TYPE
