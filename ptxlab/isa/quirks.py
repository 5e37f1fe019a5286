"""What the assemblers of CUDA 13.0 to 13.4 accept although no PTX ISA has it, and what they emit.

ptxlab refuses all of it.

Found by assembling more than ten million lines around the catalogue; the machine code is what nvdisasm shows
of kernels that store the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .targets import SM_75, SM_80, SM_90, SM_90A, SM_100A, SM_107, TARGETS, TCGEN05

#: The first and the last release of CUDA whose assembler was tried.
_FIRST, _LAST = "13.0", "13.4"


@dataclass(frozen=True)
class Quirk:
    """One class of spellings that the assembler accepts and the manual does not have.

    >>> counts = next(row for row in QUIRKS if "m8n8.x8" in row.example)
    >>> right = "ldmatrix.sync.aligned.m8n8.x1.b16"
    >>> counts.fault_of("ldmatrix.sync.aligned.m8n8.x8.b16", {right: right}.get)
    ('.x8 is not a valid count', 'ldmatrix.sync.aligned.m8n8.x1.b16')
    """

    title: str
    fault: str  # what is wrong; \1, \2 are the pattern's groups
    emits: str  # what the assembler makes of it
    why: str  # why it is refused here
    targets: tuple[str, ...]
    example: str  # a whole line of PTX
    pattern: str | None = None  # a regular expression over the mnemonic; None where other code decides
    replacement: str | None = None  # for what the pattern matches; the result must be legal
    prefixes: tuple[str, ...] = ("",)  # how the mnemonic may begin
    since: str = _FIRST  # the first and the last release of CUDA whose assembler takes it
    until: str = _LAST

    def fault_of(self, name: str, legal: Callable[[str], str | None]) -> tuple[str, str | None] | None:
        """What is wrong with a spelling, and the legal one it stands for; None if this quirk does not apply.

        `legal` gives the legal spelling of the same qualifiers, whatever their order.
        """
        for fault, spelling in self.corrections(name):
            correction = None if spelling is None else legal(spelling)
            if spelling is None or correction is not None:
                return fault, correction
        return None

    def corrections(self, name: str) -> Iterator[tuple[str, str | None]]:
        """What this quirk finds wrong with a spelling, and the spelling without it, if there is one."""
        if self.pattern is None or not name.startswith(self.prefixes):
            return
        for match in re.finditer(self.pattern, name):
            spelling = None
            if self.replacement is not None:
                spelling = name[: match.start()] + match.expand(self.replacement) + name[match.end() :]
            yield match.expand(self.fault), spelling

    @property
    def target_words(self) -> str:
        """The targets in words: ``sm_80 and later``."""
        first, last = (TARGETS.index(end) for end in (self.targets[0], self.targets[-1]))
        if len(self.targets) == 1:
            return self.targets[0]
        if self.targets == SM_100A:
            return "every a- and f-target since sm_100a"
        if self.targets == (*SM_90A, *SM_100A):
            return "every a- and f-target since sm_90a"
        if len(self.targets) == 2 or self.targets != TARGETS[first : last + 1]:
            return ", ".join(self.targets)
        if last + 1 < len(TARGETS):
            return f"{self.targets[0]} to {self.targets[-1]}"
        return "every target" if first == 0 else f"{self.targets[0]} and later"

    @property
    def release_words(self) -> str:
        """The releases of CUDA in words: ``13.0 only``, ``13.0 to 13.4``, ``since 13.4``."""
        if self.since == self.until:
            return f"since {self.since}" if self.until == _LAST else f"{self.since} only"
        return f"{self.since} to {self.until}"

    @property
    def where(self) -> str:
        """Targets, and the releases of CUDA unless they are all: ``sm_75 to sm_89, CUDA 13.0 only``."""
        if (self.since, self.until) == (_FIRST, _LAST):
            return self.target_words
        return f"{self.target_words}, CUDA {self.release_words}"


def _vector(letter: str, count: int) -> str:
    return "{" + ", ".join(f"{letter}{i}" for i in range(count)) + "}"


def _line(mnemonic: str, *operands: str | int) -> str:
    """A line of PTX; a number stands for that many registers of D (named as C's), A, B and C in turn."""
    letters = iter("cabc")
    texts = [_vector(next(letters), text) if isinstance(text, int) else text for text in operands]
    return f"{mnemonic} {', '.join(texts)};"


_ORDERS = r"(?:row|col)\.(?:row|col)"
_F16_SHAPES = "m16n16k16|m8n32k16|m32n8k16"
_FP8 = r"e(?:4m3|5m2)"
_EMITS_NOTHING = "emits nothing at all: D keeps what it held"
_DROPPED = "drops it: the code is that of the spelling without"
_TCGEN05_EXCEPT_CP = tuple(
    f"tcgen05.{word}"
    for word in ("mma", "ld", "st", "shift", "alloc", "dealloc", "relinquish", "commit", "fence", "wait")
)
#: Kinds of other instructions that the assembler accepts for FP8 mma: pattern, title, targets, first release.
_FOREIGN_KINDS = (
    (
        "mxf8f6f4|mxf4|mxf4nvf4|f8f6f4",
        "a block-scaled `kind::` without `.block_scale` over FP8; `kind::f8f6f4` at m16n8k16",
        SM_100A,
        _FIRST,
    ),
    ("i8", "`kind::i8` (of tcgen05.mma) over FP8", ("sm_100a", "sm_110a"), _FIRST),
    ("f16|tf32", "`kind::f16`, `kind::tf32` (of tcgen05.mma) over FP8", TCGEN05, _FIRST),
    ("ti16", "`kind::ti16` (of tcgen05.mma) over FP8", SM_107, "13.4"),
)

#: Every class that has a pattern; the assembler emits the same for all targets that have the legal form.
QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        title="`mma.m8n8k4` with bf16 or tf32",
        pattern=rf"^mma\.sync\.aligned\.m8n8k4\.{_ORDERS}\.f32\.(bf16|tf32)\.\1\.f32$",
        fault=r"m8n8k4 has no \1 form",
        emits=_EMITS_NOTHING,
        why="the four quad-pair products exist for f16 only",
        targets=SM_80,
        example=_line("mma.sync.aligned.m8n8k4.row.col.f32.bf16.bf16.f32", 8, 2, 2, 8),
    ),
    Quirk(
        title="`wmma` f64 at m16n16k16 or m16n16k8",
        pattern=rf"^wmma\.mma\.sync\.aligned\.{_ORDERS}\.(m16n16k16|m16n16k8)(?:\.r[nzmp])?\.f64\.f64\.f64\.f64$",
        fault=r"\1 has no f64 form",
        emits=_EMITS_NOTHING,
        why="f64 comes in m8n8k4 only",
        targets=SM_80,
        example=_line("wmma.mma.sync.aligned.row.col.m16n16k16.f64.f64.f64.f64", *[_vector("w", 8)] * 4),
    ),
    Quirk(
        title="`wmma` s8 or u8 with accumulators u32, at m16n16k16 or m32n8k16",
        pattern=r"(?<=^wmma\.mma\.sync\.aligned\.)(.*\.(?:m16n16k16|m32n8k16)\.s32\.([su]8)\.\2)\.u32",
        replacement=r"\1.s32",
        fault="C is s32, not u32",
        emits=_EMITS_NOTHING,
        why="integer accumulators are s32",
        targets=SM_75,
        example=_line("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.u32", 8, 2, 2, 8),
        until="13.0",
    ),
    Quirk(
        title="`wmma` s4 or u4 at the shapes of f16, tf32 and f64",
        pattern=rf"^wmma\.mma(?:\.(?:xor|and|or))?\.sync\.aligned\.{_ORDERS}\.({_F16_SHAPES}|m8n8k4|m16n16k8)\.s32\.([su]4)\.\2\.s32(?:\.satfinite)?$",
        fault=r"\1 has no \2 form",
        emits="emits one IMMA.8832 over the first registers; the other registers of D keep what they held",
        why="4-bit types come in m8n8k32 only; number of registers, layouts and bit operation go unchecked",
        targets=tuple(target for target in SM_75 if target not in SM_90),
        example=_line("wmma.mma.sync.aligned.row.col.m16n16k16.s32.s4.s4.s32", 8, 2, 2, 8),
        until="13.0",
    ),
    Quirk(
        title="`wmma` b1 at those shapes, with a bit operation but no `.popc`",
        pattern=rf"^wmma\.mma\.(?:xor|and)\.sync\.aligned\.{_ORDERS}\.({_F16_SHAPES}|m8n8k4|m16n16k8)\.s32\.b1\.b1\.s32$",
        fault=r"\1 has no b1 form, and .popc is missing",
        emits="emits the code of m8n8k128 (BMMA.88128.AND.POPC, or IMMA on single bits) for some registers",
        why="b1 comes in m8n8k128 only",
        targets=SM_90,
        example=_line("wmma.mma.xor.sync.aligned.row.col.m16n16k16.s32.b1.b1.s32", 8, 1, 1, 8),
        until="13.0",
    ),
    Quirk(
        title="`wmma.load.c` and `wmma.store.d` of f32 at m8n8k32 or m8n8k128",
        pattern=r"(?<=^wmma\.)((?:load\.c|store\.d)\..*m8n8k(?:32|128).*)\.f32$",
        replacement=r"\1.s32",
        fault="the accumulators of this shape are s32, not f32",
        emits="emits the plain loads or stores of s32",
        why="no instruction takes such a fragment",
        targets=SM_75,
        example=_line("wmma.load.c.sync.aligned.row.m8n8k32.f32", 2, "[da]", "e"),
    ),
    Quirk(
        title="4-bit `mma` with a bit operation",
        pattern=r"^(?=.*\.[su]4\.)(?!.*satfinite)(.*?)\.(xor|and|or)(?:\.popc)?(?=\.|$)",
        replacement=r"\1",
        prefixes=("mma.sync", "mma.xor", "mma.and", "mma.or"),
        fault=r".\2 exists for b1 only",
        emits="multiplies and adds all the same, by the code of the spelling without",
        why="the result is not a population count",
        targets=SM_75,
        example=_line("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32.xor.popc", 2, 1, 1, 2),
    ),
    *(
        Quirk(
            title=title,
            pattern=rf"\.(kind::(?:{kinds}))(?=\.|$)",
            replacement="",
            prefixes=("mma.sync", "mma.kind", "mma.sp::ordered_metadata"),
            fault=r".\1 does not go with this shape and these types",
            emits="ignores it: the code is that of the plain FP8 form, without scales",
            why="the manual has no such kind here, and mxf8f6f4 or mxf4 promise scales",
            targets=targets,
            since=since,
            example=_line(
                f"mma.sync.aligned.m16n8k32.row.col.kind::{kinds.split('|')[0]}.f32.e4m3.e4m3.f32", 4, 4, 2, 4
            ),
        )
        for kinds, title, targets, since in _FOREIGN_KINDS
    ),
    Quirk(
        title="`ldmatrix` `.s8.s4` with `.x8` to `.x128`",
        pattern=r"(?<=^ldmatrix)(?=.*\.s8(?:\..*)?\.s4(?:\.|$))(.*)(\.x(?:8|16|32|64|128))(?=\.|$)",
        replacement=r"\1.x1",
        fault=r"\2 is not a valid count",
        emits="moves one matrix, as .x1 does",
        why="there are no addresses for more than four matrices of 8 rows",
        targets=(*SM_90A, *SM_100A),
        since="13.4",
        example=_line("ldmatrix.sync.aligned.m8n16.x8.s8.s4", 1, "[da]"),
    ),
    Quirk(
        title="`ldmatrix` and `stmatrix` with `.x8` to `.x128`",
        pattern=r"(?<=matrix)(.*)(\.x(?:8|16|32|64|128))(?=\.|$)",
        replacement=r"\1.x1",
        fault=r"\2 is not a valid count",
        emits="moves one matrix, as .x1 does (LDSM.16.M88, STSM.16.M88)",
        why="there are no addresses for more than four matrices of 8 rows",
        targets=SM_75,
        example=_line("ldmatrix.sync.aligned.m8n8.x8.b16", 1, "[da]"),
    ),
    Quirk(
        title="`.pred` in `ldmatrix`",
        pattern=r"\.pred(?=\.|$)",
        replacement="",
        prefixes=("ldmatrix",),
        fault=".pred does not fit here",
        emits=_DROPPED,
        why="it belongs to other instructions",
        targets=SM_75,
        since="13.4",
        example=_line("ldmatrix.sync.aligned.m8n8.x1.b16.pred", 1, "[da]"),
    ),
    Quirk(
        title="`.bf16` in `movmatrix`",
        pattern=r"\.bf16(?=\.|$)",
        replacement="",
        prefixes=("movmatrix",),
        fault=".bf16 is one type too many",
        emits=_DROPPED,
        why="the elements are .b16, whatever they mean",
        targets=SM_80,
        example="movmatrix.sync.aligned.m8n8.trans.b16.bf16 c0, a0;",
    ),
    Quirk(
        title="a packed format (`.b8x16`, `.b6x16_p32`, `.b4x16_p64`) outside `ldmatrix`",
        pattern=r"\.(b8x16|b6x16_p32|b4x16_p64)(?=\.|$)",
        replacement="",
        prefixes=("mma", "wmma", "wgmma", "stmatrix", "movmatrix"),
        fault=r".\1 exists for ldmatrix only",
        emits=_DROPPED,
        why="nothing is unpacked",
        targets=SM_75,
        example=_line("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32.b6x16_p32", 2, 1, 1, 2),
    ),
    Quirk(
        title="a packed format, or `.b2`, in `tcgen05` but for `tcgen05.cp`",
        pattern=r"\.(b8x16|b6x16_p32|b4x16_p64|b2)(?=\.|$)",
        replacement="",
        prefixes=_TCGEN05_EXCEPT_CP,
        fault=r".\1 does not fit here",
        emits=_DROPPED,
        why="nothing is unpacked or compressed: tcgen05.cp unpacks, .spcompress compresses",
        targets=TCGEN05,
        example="tcgen05.mma.cta_group::1.kind::f16.b6x16_p32 [e], da, db, sfa, p;",
    ),
    Quirk(
        title="`.row` or `.col` in `tcgen05.ld`, `.st`, `.cp`; `.b2` in `tcgen05.cp`",
        pattern=r"\.(row|col|b2)(?=\.|$)",
        replacement="",
        prefixes=("tcgen05.ld", "tcgen05.st", "tcgen05.cp"),
        fault=r".\1 does not fit here",
        emits=_DROPPED,
        why="nothing is transposed",
        targets=TCGEN05,
        example="tcgen05.cp.cta_group::1.128x256b.row [e], da;",
    ),
    Quirk(
        title="`.NaN` twice in `tcgen05.ld.red`",
        pattern=r"\.NaN(?=.*\.NaN)",
        replacement="",
        prefixes=("tcgen05.ld.red",),
        fault=".NaN is there twice",
        emits="drops it: the code is that of the spelling with one",
        why="the manual has it once",
        targets=tuple(target for target in TCGEN05 if not target.startswith("sm_100")),
        example="tcgen05.ld.red.sync.aligned.32x32b.x2.NaN.max.NaN.f32 {f0, f1}, f2, [e];",
    ),
    Quirk(
        title="`tcgen05.ld` and `.st` without `.aligned`",
        pattern=r"\.sync(?!.*\.aligned)(?<!\.aligned\.sync)",
        replacement=".sync.aligned",
        prefixes=("tcgen05.ld", "tcgen05.st"),
        fault=".aligned is missing",
        emits="makes the same code of it",
        why="the manual has no such form, and later assemblers refuse it",
        targets=TCGEN05,
        until="13.0",
        example="tcgen05.st.sync.32x32b.x1.b32 [e], {a0};",
    ),
    Quirk(
        title="`.row` or `.col` in `wgmma`, `ldmatrix`, `stmatrix`, `movmatrix`",
        pattern=r"\.(row|col)(?=\.|$)",
        replacement="",
        prefixes=("wgmma", "ldmatrix", "stmatrix", "movmatrix"),
        fault=r".\1 does not fit here",
        emits=_DROPPED,
        why="nothing is transposed: wgmma has imm-trans, ldmatrix has .trans",
        targets=SM_75,
        example=_line("ldmatrix.sync.aligned.m8n8.x1.col.b16", 1, "[da]"),
    ),
    Quirk(
        title="one type too many (b1, b2, s2, u2, s4, u4, tf32, bf16, bf16x2, in some places)",
        pattern=r"\.(b1|b2|[su]2|[su]4|tf32|bf16|bf16x2)(?=\.|$)",
        replacement="",
        prefixes=("mma", "movmatrix", "ldmatrix", "stmatrix", "wmma.load", "wmma.store"),
        fault=r".\1 is one type too many",
        emits="drops it where it happens to fit, mostly after the last type",
        why="a type that means nothing hides a mistake",
        targets=SM_75,
        example=_line("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16.s4", 4, 2, 2, 4),
    ),
    Quirk(
        title="`.v2`, `.v4`, `.v8` where so many registers stand; `.pred` in `wmma.mma`",
        pattern=r"\.(v[248]|pred)(?=\.|$)",
        replacement="",
        prefixes=("mma", "wgmma", "wmma"),
        fault=r".\1 does not fit here",
        emits="drops it where the numbers of registers happen to agree",
        why="vectors of registers follow from shape and types",
        targets=SM_75,
        example=_line("wmma.load.c.v2.sync.aligned.row.m8n8k32.s32", 2, "[da]", "e"),
    ),
)

#: Sparsity selectors are operands, not qualifiers; `Instruction.selectors` has the manual's.
SELECTORS = Quirk(
    title="selectors 2 and 3 of `mma.sp` m16n8k32 with f16 and results f32",
    fault="selector 2 does not exist: a pair of lanes supplies metadata, 0 or 1",
    emits="puts it into HMMA.SP.16832.F32 as it is (operand 0x2 or 0x3)",
    why="two lanes of four hold the metadata, so there are two choices",
    targets=SM_80,
    example="mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
    "{f0, f1, f2, f3}, {a0, a1, a2, a3}, {b0, b1, b2, b3}, {f0, f1, f2, f3}, e, 2;",
)

#: An operand too, of tcgen05.mma: `TensorInstruction.arguments` has the manual's.
SCALE_INPUT_D = Quirk(
    title="a number after `enable-input-d` of `tcgen05.mma` with `kind::i8` or `kind::ti16`",
    fault="integer kinds have no scale-input-d",
    emits="drops it: the code is that of the line without (UTCIMMA)",
    why="D is not scaled",
    targets=("sm_100a", "sm_110a"),
    example="tcgen05.mma.cta_group::1.kind::i8 [taddr], da, db, idesc, p, 3;",
)
