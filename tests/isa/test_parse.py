"""PTX text to instruction and back; tests/isa/test_quirks.py asks the assembler about all that is refused."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import ptxlab
from ptxlab import Instruction, PtxlabError, catalog, inputs, instruction
from ptxlab.errors import quoted
from ptxlab.instruction import mma_instruction, register_instructions
from ptxlab.isa.catalog import REGISTER_FAMILIES
from ptxlab.isa.parse import parse_all
from tests import assembler
from tests.cases import each, refusal, refuses
from tests.texts import replaced

GOLDEN = Path(__file__).parents[1] / "golden"
MMA = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
ORDERED = "ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32"
F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
LOAD = "ldmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16"
WGMMA = "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"
WGMMA_SP = "wgmma.mma_async.sp.sync.aligned"
WMMA = "wmma.mma.sync.aligned.row.col"
MX = "mma.sync.aligned.m16n8k64.row.col.kind"


@pytest.mark.parametrize("family", REGISTER_FAMILIES)
def test_round_trip(family: str) -> None:
    for ins in catalog(family):
        assert instruction(ins.mnemonic) == ins
        assert instruction(ins) is ins  # type: ignore[arg-type]


OTHER_SPELLINGS = [
    (f"{MX}::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0",
     f"{MX}::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "sm_120a"),
    (f"{WGMMA_SP}.m64n8k64.s32.s8.u8.satfinite", f"{WGMMA_SP}.m64n8k64.satfinite.s32.s8.u8", "sm_90a"),
]  # fmt: skip


@pytest.mark.parametrize(("other", "mnemonic", "target"), OTHER_SPELLINGS)
def test_other_spellings_that_the_assembler_takes(other: str, mnemonic: str, target: str) -> None:
    assert instruction(other).mnemonic == mnemonic
    operands = assembler.line(instruction(mnemonic)).split(" ", 1)[1]
    assert assembler.refused([f"{other} {operands}"], target) == {}


#: Spelling, words that the refusal must have, a legal instruction with the same operand list, a target that
#: has it (None where the assembler takes qualifiers in another order than the manual's).
ILLEGAL = [
    (f"{WMMA}.m8n8k32.s32.s4.u4.s32", ["u4"], f"{WMMA}.m8n8k32.s32.s4.s4.s32", "sm_80"),
    *(
        (f"{WGMMA_SP}.{text}", [word], f"{WGMMA_SP}.{like}.f32.e4m3.e4m3", "sm_90a")
        for text, word, like in (
            ("m64n40k64.s32.s8.s8", "m64n40k64", "m64n40k64"),
            ("m64n264k64.f32.e4m3.e4m3", "m64n264k64", "m64n256k64"),
            ("m64n8k64.f32.e4m3.s8", "s8", "m64n8k64"),
            ("m64n8k64.satfinite.f32.e4m3.e4m3", "satfinite", "m64n8k64"),
        )
    ),
    ("mma.sync.m16n8k64.row.col.s32.s4.s4.s32", ["aligned", "missing"], MMA, "sm_80"),
    ("mma.sync.aligned.m16n8k64.col.row.s32.s4.s4.s32", ["row", "m16n8k64"], MMA, "sm_80"),
    ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s5.s32", ["s5"], MMA, "sm_80"),
    ("mma.sync.aligned.m16n8k64.row.col.f32.s4.s4.s32", ["f32"], MMA, "sm_80"),
    ("mma.sync.aligned.m16n8k65.row.col.s32.s4.s4.s32", ["m16n8k65"], MMA, "sm_80"),
    ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4", ["s32", "missing"], MMA, "sm_80"),
    *(
        (
            f"{MX}::{kind}.f32.e2m1.e2m1.f32.ue4m3",
            [word],
            f"{MX}::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
            "sm_120a",
        )
        for kind, word in (
            ("mxf4.block_scale.scale_vec::4X", "mxf4"),
            ("mxf4nvf4.block_scale.scale_vec::2X", "ue4m3"),
        )
    ),
]


@each("text, words, like, target", ILLEGAL)
@pytest.mark.slow
def test_illegal_neighbours(text: str, words: list[str], like: str, target: str | None) -> None:
    message = refusal(instruction, text)
    reason = message
    if "PTX ISA" not in message:
        reason = message.split("; nearest legal")[0].replace(quoted(text), "")
    assert all(word in reason for word in words), message
    assert "\n" not in message
    operands = assembler.line(instruction(like)).split(" ", 1)[1]
    if target:
        assert assembler.refused([f"{text} {operands}"], target), "the assembler takes what is refused here"


@pytest.mark.slow
def test_the_nearest_legal_spelling_is_offered() -> None:
    for text, _, like, _ in ILLEGAL:
        message = refusal(instruction, text)
        if "nearest legal: " in message:
            nearest = message.split("nearest legal: ")[1].split(", ")
            assert {form.mnemonic for form in register_instructions()} & set(nearest), text
        if text.startswith("mma.") and "kind" not in text:
            assert like in message, text


def test_the_name_says_everything_but_where_a_is() -> None:
    ins = instruction("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e4m3")
    shared = ins.a_from("shared")
    assert isinstance(shared, Instruction)
    assert (str(shared), shared.a_space) == (str(ins), "shared")
    assert repr(shared) == f"<{ins.mnemonic}, A in shared memory>" != repr(ins)


# -- other spellings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [MMA.upper(), replaced(MMA, "m16n8k64", "M16N8K64")])
def test_case_matters_and_the_refusal_says_so(text: str) -> None:
    assert refusal(instruction, text) == f"{text!r}: PTX tells upper case from lower; this is spelt {MMA}"
    assert assembler.refused([replaced(assembler.line(mma_instruction(MMA)), MMA, text)], "sm_80")


def test_the_x_of_scale_vec_is_a_capital() -> None:
    right = f"{MX}::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
    assert refusal(instruction, replaced(right, "2X", "2x")).endswith(f"this is spelt {right}")


# -- as people write -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "text", "mnemonic"),
    [
        ("ldmatrix.sync", "aligned.x4.m8n8.shared.b16", "aligned.m8n8.x4.shared.b16"),
        ("mma.sp.sync.aligned.m16n8k64.row.col", "s32.s8.s8.s32.satfinite", "satfinite.s32.s8.s8.s32"),
        (
            "mma.sync.aligned",
            "kind::f8f6f4.m16n8k32.row.col.f32.e2m1.e3m2.f32",
            "m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32",
        ),
        ("mma.sync.aligned.m8n8k4", "row.col.rn.f64.f64.f64.f64", "row.col.f64.f64.f64.f64"),
        ("mma.sync.aligned.m8n8k4", "rz.row.col.f64.f64.f64.f64", "row.col.f64.f64.f64.f64.rz"),
        ("wgmma.mma_async.sync", "m64n128k16.f32.f16.f16", "aligned.m64n128k16.f32.f16.f16"),
        ("mma.sync", "sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", "aligned.m8n8k16.row.col.s32.s8.s8.s32"),
    ],
)
def test_the_assembler_s_spellings_have_one_mnemonic(family: str, text: str, mnemonic: str) -> None:
    """The qualifiers that follow, as they are spelt here and in the mnemonic."""
    text, mnemonic = f"{family}.{text}", f"{family}.{mnemonic}"
    form = mma_instruction(mnemonic) if "matrix" not in mnemonic else None
    assert instruction(text).mnemonic == mnemonic
    if form is not None:
        target = next(target for target in ("sm_90a", "sm_120a") if form.supports(target))
        assert assembler.refused([replaced(assembler.line(form), mnemonic, text)], target) == {}


SPELLINGS = {
    MMA: [
        f"  {MMA}\n",
        f"\t{MMA} {{%d0,%d1,%d2,%d3}}, {{%a0,%a1,%a2,%a3}}, {{%b0,%b1}}, {{%c0,%c1,%c2,%c3}};",
        f"{MMA}{{%d0}};",
        f"{MMA};",
        f"{MMA}  // accumulate",
        f"/* first */ {MMA}",
        "mma.sync.aligned.m16n8k64.row.col .s32 .s4 .s4 .s32",
        "mma.sync.aligned.m16n8k64\n    .row.col\n    .s32.s4.s4.s32 d, a, b, c;",
        f"@p {MMA} {{c0}}, {{a0}};",
        f"@!%p3 {MMA}",
        f"/* two\n   lines */ {MMA} // and one",
        f"// first\n{MMA};",
        "mma .sync .aligned .m16n8k64 .row .col .s32 .s4 .s4 .s32 {%0}, {%1}, {%2}, {%3};",
        "mma.\n  sync.\n  aligned.m16n8k64.row.col.s32.s4.s4.s32",
        "mma.m16n8k64.s4",
        "m16n8k64.s4",
    ],
    F16: [
        f'"{F16} \\n"',
        f"'{F16}'",
        f"`{F16}`,",
        f'  "{F16} "\n  "{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, ..."',
        'asm volatile(\n  "mma.sync.aligned.m16n8k16.row.col"\n  ".f32.f16.f16.f32 "\n'
        '  "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\\n\\t"\n  : "+f"(c[0]) : "r"(a[0]));',
        f"\t@%p1 {F16} {{%f1, %f2, %f3, %f4}}, {{%r1, %r2, %r3, %r4}}, {{%r5, %r6}}, {{%f1}};",
        "MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{}",
        "\ufeff" + F16.replace(".", ".\u200b"),
        replaced(F16, ".f32.", "\\\n.f32."),
        f"1. {F16} comes first.",
        f"\x1b[31m{F16}\x1b[0m",
        "%d = call { float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %a0)",
    ],
    LOAD: [
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared :: cta.b16 {%0, %1, %2, %3}, [%4 + 16];",
        f"{LOAD}[%rd1];",
    ],
    WGMMA: [
        f'asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %6, 0;\\n{WGMMA} {{%0}}, %4, %5, p;\\n}}"',
        f"wgmma.fence.sync.aligned;\n{WGMMA} {{%f0}}, %rd1, %rd2, p;\nwgmma.commit_group.sync.aligned;",
        "using Op = SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>;",
    ],
    f"{WMMA}.m16n16k16.f32.f32": [
        "wmma.mma.sync.aligned.m16n16k16.row.col.f32.f32",
        "llvm.nvvm.wmma.m16n16k16.mma.row.col.f32.f32",
    ],
    f"mma.sp::{ORDERED}": [f"mma.sp :: {ORDERED}"],
    "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32": [
        "SM80_16x8x64_S32S8S8S32_TN<SparseSel::One>"
    ],
    "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32": [
        "llvm.nvvm.mma.m16n8k32.row.col.satfinite.s8.u8"
    ],
    "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc": [
        "llvm.nvvm.mma.and.popc.m16n8k256.row.col.b1"
    ],
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64": ["llvm.nvvm.mma.m8n8k4.row.col.f64"],
    "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32": [
        "wmma.mma.xor.popc.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32"
    ],
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16": [
        "wmma.load.a.sync.aligned.m16n16k16.global.row.f16"
    ],
    "wmma.store.d.sync.aligned.row.m16n16k16.f32": ["@llvm.nvvm.wmma.m16n16k16.store.d.row.stride.f32.p0i32"],
    "ldmatrix.sync.aligned.m8n8.x4.b16": ["ldmatrix.x4"],
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16": ["llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3"],
    "stmatrix.sync.aligned.m8n8.x2.trans.b16": ["stmatrix.x2.trans"],
    "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16": ["SM90_U32x4_STSM_T<nv_bfloat162>"],
}


@each("text, mnemonic", [(text, mnemonic) for mnemonic, texts in SPELLINGS.items() for text in texts])
def test_pasted_text(text: str, mnemonic: str) -> None:
    assert instruction(text).mnemonic == mnemonic


@each(
    "operands, a_space",
    [
        ("", "register"),
        (" {%f0, %f1, %f2, %f3}, %rd1, %rd2, p, 1, 1, 0, 0;", "shared"),
        (" {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, %rd2, p, 1, 1, 0;", "register"),
        (' "\n"{%0, %1, %2, %3}, "\n" %4,"\n" %5, p, 1, 1, 0, 0;"', "shared"),
    ],
)
def test_a_pasted_wgmma_has_a_where_its_operands_say(operands: str, a_space: str) -> None:
    text = f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16{operands}"
    assert instruction(text).a_space == a_space
    assert [form.a_space for form in parse_all(f"{text}\n{text}") if isinstance(form, Instruction)] == [
        a_space
    ]


def test_a_pasted_kernel_lists_its_matrix_instructions() -> None:
    kernel = f"ldmatrix.sync.aligned.x4.m8n8.shared.b16 {{%0}}, [%1];\n{F16} a, b, c, d;\n{F16} e, f, g, h;\n"
    names = ["ldmatrix.sync.aligned.m8n8.x4.shared.b16", F16]
    assert [form.mnemonic for form in parse_all(kernel)] == names
    assert (
        refusal(instruction, kernel)
        == f"the text has 2 different matrix instructions; take one of them: {', '.join(names)}"
    )
    assert "m16n8k99" in refusal(instruction, f"{kernel}mma.sync.aligned.m16n8k99.row.col.f32.f16.f16.f32 a;")


def test_atoms_of_cutlass() -> None:
    """Each has the instruction that CUTLASS writes into its asm statement."""
    lines = (GOLDEN / "cutlass_atoms.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) > 400
    for line in lines:
        atom, ptx = line.split("\t")
        form = instruction(atom)
        assert form.mnemonic == instruction(ptx).mnemonic, atom
        if isinstance(form, Instruction) and form.lanes == 128:
            assert form.a_space == ("shared" if "_SS" in atom else "register"), atom


@pytest.mark.needs("cuda.core")
def test_functions_take_names_as_well_as_instructions() -> None:
    ones = np.ones((16, 64))
    assert (ptxlab.matmul(ones, ones.T, instruction="mma.m16n8k64.s4") == 64).all()
    assert inputs.categories("mma.m16n8k64.s4") == inputs.categories(mma_instruction(MMA))
    assert inputs.make("mma.m16n8k64.s4", "bits", 1).ins == instruction(MMA)
    assert ptxlab.explore("mma.m16n8k64.s4").instruction == instruction(MMA)
    assert ptxlab.gpu.available("mma.m16n8k64.s4") == ptxlab.gpu.available(instruction(MMA))
    with pytest.raises(PtxlabError, match="transfers a matrix; this needs one that multiplies"):
        inputs.categories("ldmatrix.sync.aligned.m8n8.x4.b16")


@each(
    "text, sentence",
    [
        (" \\n", "no instruction given"),
        ("", "no instruction given"),
        ("   // nothing", "no instruction given"),
        ("foo", "'foo' is not a matrix instruction; families are mma"),
        ("fma.rn.f32", "'fma.rn.f32' is not a matrix instruction"),
        (None, "named by its PTX text, found NoneType"),
        (7, "named by its PTX text, found int"),
        (
            replaced(MMA, "s32.s4.s4.s32", "f32.f16.f16.f32"),
            "m16n8k64 has no f16 form; f16 comes in m16n8k16, m16n8k8",
        ),
        (
            "mma.sp.sync.aligned.m16n8k8.row.col.s32.s4.s4.s32",
            "m16n8k8 has no s4 form; s4 comes in m16n8k64, m16n8k128",
        ),
        (
            f"{WGMMA_SP}.m64n40k64.s32.s8.s8",
            "m64n40k64 has no s8 form; s8 comes in m64n32k64, m64n48k64, m64n24k64",
        ),
        (f"{WMMA}.m16n16k16.s32.s4.s4.s32", "m16n16k16 has no s4 form; s4 comes in m8n8k32"),
        (f"{WGMMA_SP}.m64n264k64.f32.e4m3.e5m2", f"nearest legal: {WGMMA_SP}.m64n256k64.f32.e4m3.e5m2, "),
        ("wgmma.fence.sync.aligned", "wgmma.fence orders accesses"),
        ("wgmma.commit_group.sync.aligned;", "wgmma.commit_group closes a group"),
        ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group waits until"),
        ("SM100_TMEM_LOAD_8dp", "is a tcgen05 instruction"),
        ("SM90_TMA_LOAD_2D", "copies between global and shared memory"),
        ("SM80_16x8x99_F32F16F16F32_TN", r"is not a CUTLASS atom; .* nearest legal: mma\.sync\."),
        ("SM120_16x8x32_TN_VS<A, B, C, SF, VS>", "its template arguments have to say the types"),
        ("SM80_8x8x4_C64C64C64C64_TN", "multiplies complex numbers"),
        ("wmma::fragment<wmma::matrix_b, 16, 16, 16, half> f;", "is C\\+\\+, which ptxlab.wmma mirrors"),
        (replaced(F16, "f32.f16.f16.f32", "bf16.bf16.bf16.bf16"), "D and C of bf16 products are f32"),
        (
            f"{WMMA}.m16n16k16.f32.f16.f16.f32",
            r"names the types of D and C only, .f32.f32; nearest legal: \S+.m16n16k16.f32.f32,",
        ),
        ("llvm.nvvm.mma.m16n8k99.row.col.f64", "LLVM has no matrix intrinsic of that name"),
        ("HMMA.16816.F32", r"is machine code \(SASS\)"),
        ("cp.async.ca", "is not a matrix instruction; families are mma"),
        ("mma.sync", r"nearest legal: mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.f16\.f16\.f32"),
        ("mma.m16n8k64.s5", r"no instruction is called 'mma.m16n8k64.s5'; did you mean mma.m16n8k64.s4\?"),
        ("mma.m16n8k16", "could be any of 10 instructions"),
    ],
)
def test_refusals_say_what_it_is(text: str, sentence: str) -> None:
    refuses(sentence, instruction, text)


@pytest.mark.parametrize(
    "text",
    [
        "mma" + 40_000 * " " + "x",
        "mma" + 40_000 * ".",
        "mma" + 20_000 * ".x",
        "m16n8k65.f17.f33." + ".".join(f"f{i}" for i in range(60)),
        "m16n8k65.f17.f33.f34.f35.f36.f37.f38",
        "SM80_" + 20_000 * "1x",
        20_000 * "a::",
        "SM" + 50_000 * "1",
        50_000 * '"',
        25_000 * "/*",
        40_000 * "\\n",
    ],
    ids=lambda text: text[:12],
)
def test_long_texts_are_answered_at_once_and_briefly(text: str) -> None:
    """They take milliseconds; 21 seconds and more when the search was quadratic or exponential."""
    start = time.process_time()
    message = refusal(instruction, text)
    assert time.process_time() - start < 5
    assert len(message) < 600
