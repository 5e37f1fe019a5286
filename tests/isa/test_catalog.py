"""The catalogue against the assemblers, oldest and newest, which know every form and every target."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

import ptxlab
from ptxlab import TARGETS, Instruction, catalog, instruction
from ptxlab.instruction import mma_instructions, register_instructions
from ptxlab.isa.catalog import FAMILIES, REGISTER_FAMILIES, mma_forms, tcgen05_forms, transfer_forms
from ptxlab.isa.layout import Layout
from ptxlab.isa.targets import NEWEST, TARGET_VERSIONS, PtxVersion
from ptxlab.isa.transfer import Transfer
from tests import assembler
from tests.cases import each, refuses
from tests.isa.test_transfer import line as transfer_line
from tests.sampling import every_third, one_in

INSTRUCTIONS = mma_instructions()
CATALOG = register_instructions()
NVF4_4X = "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0"


ON_TARGETS = [(compiler, target) for compiler in assembler.COMPILERS for target in compiler.targets]


@pytest.mark.slow
@each("compiler, target", ON_TARGETS, ids=lambda case: f"{case[0]} {case[1]}")
def test_supports_is_what_the_assembler_says(compiler: assembler.Compiler, target: str) -> None:
    """The forms that its PTX ISA has, taken or refused for its target; neighbouring targets share them."""
    number = compiler.targets.index(target)
    products = one_in(12, [ins for ins in INSTRUCTIONS if compiler.knows(ins)], number)
    transfers = every_third([form for form in transfer_forms() if compiler.knows(form)], number)
    known = [*products, *transfers]
    refused = assembler.refused([form_line(form) for form in known], target, compiler)
    assert {known[i].mnemonic for i in refused} == {ins.mnemonic for ins in known if not ins.supports(target)}
    assert all(".target" in what or "for architecture" in what for what in refused.values()), (
        "for the target, not for a misspelling"
    )


@pytest.mark.parametrize("ins", [ins for ins in CATALOG if not assembler.OLDEST.knows(ins)], ids=str)
def test_the_oldest_assembler_lacks_what_came_later(ins: Instruction | Transfer) -> None:
    for target in (ins.targets[0], ins.targets[-1]):
        assert assembler.refused([form_line(ins)], target, assembler.OLDEST)


@pytest.mark.slow
@each(
    "compiler, target",
    [
        *product([assembler.OLDEST], ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a"]),
        *product([assembler.OLDEST], ["sm_103a", "sm_120a", "sm_121a"]),
        *product([assembler.NEWEST], ["sm_75", "sm_90a", "sm_107f", "sm_120a"]),
    ],
    ids=str,
)
def test_supported_rows_assemble_to_the_end(compiler: assembler.Compiler, target: str) -> None:
    forms = [ins for ins in mma_instructions(target=target) if ins.lanes == 32 or ins.n in (8, 24, 256)]
    forms += [ins.a_from("shared") for ins in forms if ins.lanes == 128]
    known = one_in(12, [ins for ins in forms if compiler.knows(ins)], compiler.targets.index(target))
    assert known
    assert assembler.refused([assembler.line(ins) for ins in known], target, compiler) == {}


# -- versions of the PTX ISA -----------------------------------------------------------------------------


#: Versions at which some form or target came, and those one below, which lack it.
VERSIONS = [
    *(PtxVersion(6, minor) for minor in (3, 4, 5)),
    *(PtxVersion(7, minor) for minor in (0, 1, 7, 8)),
    *(PtxVersion(8, minor) for minor in range(9)),
    *(PtxVersion(9, minor) for minor in (0, 1, 3, 4)),
]
#: Between them they have every form as soon as PTX has it.
EARLY = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a")
#: A line that no version takes, at the end: the assembler has read all lines before it.
NEVER = (
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {f0, f1, f2, f3}, {a0, a1}, {b0}, {f0, f1, f2, f3};"
)


@lru_cache(maxsize=None)
def form_line(form: Instruction | Transfer) -> str:
    return assembler.line(form) if isinstance(form, Instruction) else transfer_line(form)


def home(form: Instruction | Transfer) -> str:
    """The first target of EARLY for which the form needs no later version than its own."""
    return next(
        target
        for target in EARLY
        if form.supports(target) and form.ptx_version_for(target) == form.ptx_version
    )


@pytest.mark.slow
@pytest.mark.parametrize("target", EARLY)
def test_a_form_needs_the_version_that_it_names(target: str) -> None:
    """At every version of PTX the newest assembler refuses exactly the forms that name a later one."""
    every = [*CATALOG, *(form.in_space(space) for form in transfer_forms() for space in form.spaces)]
    forms = [form for form in every if home(form) == target]
    lines = [form_line(form) for form in forms]
    newest = max(form.ptx_version for form in forms)
    for version in VERSIONS:
        if version < TARGET_VERSIONS[target] or version > newest:
            continue
        refused = assembler.refused([*lines, NEVER], target, assembler.NEWEST, version)
        assert refused.pop(len(lines))
        later = {form.mnemonic for form in forms if form.ptx_version > version}
        if (target, str(version)) == ("sm_100a", "8.6"):  # kind:: came with 8.7; FP8 here passes before
            later -= {form.mnemonic for form in forms if ".kind::f8f6f4.f32" in form.mnemonic}
        assert {forms[i].mnemonic for i in refused} == later, version
        assert all("PTX ISA .version" in what for what in refused.values()), version


def test_every_version_is_judged() -> None:
    assert {form.ptx_version for form in CATALOG} <= set(VERSIONS)
    assert {home(form) for form in CATALOG} == set(EARLY)
    assert max(form.ptx_version for form in CATALOG) == assembler.NEWEST.ptx_version == NEWEST


def before(version: PtxVersion) -> PtxVersion:
    """The version of PTX before this one."""
    if version.minor > 0:
        return PtxVersion(version.major, version.minor - 1)
    return {7: PtxVersion(6, 5), 8: PtxVersion(7, 8), 9: PtxVersion(8, 8)}[version.major]


@each("target", TARGETS)
@pytest.mark.slow
def test_a_target_needs_the_version_that_it_names(target: str) -> None:
    since = TARGET_VERSIONS[target]
    assert assembler.refused([], target, assembler.NEWEST, since) == {}
    assert assembler.refused([], target, assembler.NEWEST, before(since))


def test_the_newest_assembler_has_no_other_targets() -> None:
    """From its help: what follows -arch."""
    help_text = subprocess.run(
        [assembler.ptxas(), "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert set(re.findall(r"'(sm_\d+[af]?)'", help_text)) == set(TARGETS)


def test_versions_of_some_forms() -> None:
    """As the manual's "PTX ISA Notes" have them."""
    for text, version in (
        ("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "6.4"),
        ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "7.1"),
        ("wgmma.mma_async.sp.sync.aligned.m64n8k64.s32.s8.u8", "8.4"),
        ("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32", "8.7"),
        (f"mma.sync.aligned.m16n8k64.row.col.{NVF4_4X}", "9.1"),
        (f"mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.{NVF4_4X}", "9.1"),
        ("ldmatrix.sync.aligned.m8n16.x2.shared::cta.s8.s4", "9.4"),
        ("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16", "7.8"),
    ):
        assert str(instruction(text).ptx_version) == version
    ins = instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    for target, version in (("sm_80", "7.0"), ("sm_90a", "8.0"), ("sm_107a", "9.4")):
        assert str(ins.ptx_version_for(target)) == version
    refuses(r"^sm_75 lacks mma\..*; targets that have it: sm_80, sm_86, ", ins.ptx_version_for, "sm_75")


# -- the rows --------------------------------------------------------------------------------------------


def test_rows_are_distinct_and_of_their_family() -> None:
    assert len({ins.mnemonic for ins in CATALOG}) == len(CATALOG)
    every = catalog()
    assert [ins.family for ins in every] == sorted((ins.family for ins in every), key=FAMILIES.index)
    assert tuple(ins for family in FAMILIES for ins in catalog(family)) == every
    assert tuple(ins for family in REGISTER_FAMILIES for ins in catalog(family)) == CATALOG
    assert (*CATALOG, *catalog("tcgen05")) == every and len({ins.mnemonic for ins in every}) == len(every)
    assert CATALOG[: len(INSTRUCTIONS)] == INSTRUCTIONS and all(
        isinstance(move, Transfer) for move in CATALOG[len(INSTRUCTIONS) :]
    )


def test_the_catalogue_selects_by_family_and_target() -> None:
    assert {ins.family for ins in catalog("wgmma.sp", "sm_90a")} == {"wgmma.sp"}
    assert catalog("wgmma.sp", "sm_90") == ()
    refuses(r"^unknown family 'wgmma\.dense'; there are mma, mma\.sp, wmma, wgmma, ", catalog, "wgmma.dense")
    for forms in (mma_forms, transfer_forms, tcgen05_forms):
        refuses("^unknown family 'foo'; there are mma, ", forms, "foo")
        refuses("^unknown target 'sm_91'; known are ", forms, None, "sm_91")
    assert mma_forms("ldmatrix") == transfer_forms("mma") == tcgen05_forms("mma") == ()
    refuses("^unknown target 'sm_91'; known are sm_75, .*sm_121f$", catalog, target="sm_91")
    refuses("^unknown target 'hopper'; known are ", INSTRUCTIONS[0].supports, "hopper")


@each("ins", [ins for ins in INSTRUCTIONS if ins.n in (8, 24, 256)], ids=str)
def test_operands_have_the_shapes_of_the_product(ins: Instruction) -> None:
    stored_k = ins.k // 2 if ins.sparse else ins.k
    products = 4 if ".m8n8k4" in ins.mnemonic and ".f16.f16." in ins.mnemonic else 1
    assert ins.a.shape == (products * ins.m, stored_k)
    assert ins.a_dense.shape == (products * ins.m, ins.k)
    assert ins.b.shape == (ins.k, products * ins.n)
    assert ins.c.shape == ins.d.shape == (products * ins.m, ins.n)
    types = [operand.dtype.name for operand in (ins.a, ins.b, ins.c, ins.d)]
    assert types == [ins.a_type, ins.b_type, ins.c_type, ins.d_type]
    assert (ins.e is not None) == ins.sparse == (ins.selectors != ())
    for operand in ins.operands.values():
        if operand.layout is not None:
            bits = operand.lanes * operand.registers * operand.register_bits
            assert bits == operand.shape[0] * operand.shape[1] * operand.width * operand.layout.copies
            assert operand.lanes == ins.lanes == (128 if "wgmma" in ins.mnemonic else 32)


def test_selectors_are_the_manuals() -> None:
    """PTX ISA, "Sparse matrix storage": one thread of four supplies metadata, or a pair, or all."""
    one, pair, all_four = (0, 1, 2, 3), (0, 1), (0,)
    manual = {
        ("m16n8k16", 16): one,
        ("m16n8k32", 16): pair,
        ("m16n8k8", 32): one,
        ("m16n8k16", 32): pair,
        ("m16n8k32", 8): pair,
        ("m16n8k64", 4): pair,
        ("m16n8k64", 8): all_four,
        ("m16n8k128", 4): all_four,
    }
    assert {(ins.shape, ins.a.width, ins.selectors) for ins in mma_instructions("mma.sp")} == {
        (shape, width, selectors) for (shape, width), selectors in manual.items()
    }
    by_depth = {(16, pair), (32, pair), (64, all_four)}
    assert {(ins.k, ins.selectors) for ins in mma_instructions("wgmma.sp")} == by_depth


def spelled(template: str, **choices: Iterable[object]) -> list[str]:
    """The template with every combination of the choices."""
    return [
        template.format(**dict(zip(choices, values, strict=True))) for values in product(*choices.values())
    ]


def test_the_manuals_syntax_multiplied_out() -> None:
    """Every form of the manual's syntax blocks that the assembler of PTX 9.4 has, written down again."""
    sats, rounds, f16_f32 = ("", ".satfinite"), ("", ".rz", ".rm", ".rp"), ("f16", "f32")
    fp8, f8f6f4 = ("e4m3", "e5m2"), ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
    int8, int4 = ("s8", "u8"), ("s4", "u4")
    orders = [f"{a}.{b}" for a in ("row", "col") for b in ("row", "col")]
    integers = "{s}.row.col{sat}.s32.{a}.{b}.s32"
    mma = spelled(
        "m8n8k4.{o}.{types}", o=orders, types=("f16.f16.f16.f16", "f32.f16.f16.f16", "f32.f16.f16.f32")
    )
    mma += spelled("m16n8k{k}.row.col.{d}.f16.f16.{d}", k=(8, 16), d=f16_f32)
    mma += spelled("m16n8k{k}.row.col.f32.tf32.tf32.f32", k=(4, 8))
    mma += spelled("m16n8k{k}.row.col.f32.bf16.bf16.f32", k=(8, 16))
    mma += spelled("m16n8k{k}.row.col.{d}.{a}.{b}.{d}", k=(16, 32), d=f16_f32, a=fp8, b=fp8)
    mma += spelled("m16n8k32.row.col.kind::f8f6f4.{d}.{a}.{b}.{d}", d=f16_f32, a=f8f6f4, b=f8f6f4)
    mx = spelled("kind::mxf8f6f4.block_scale.scale_vec::1X.f32.{a}.{b}.f32.ue8m0", a=f8f6f4, b=f8f6f4)
    scale_vectors = (
        ("mxf4", 2, "ue8m0"), ("mxf4nvf4", 2, "ue8m0"), ("mxf4nvf4", 4, "ue4m3"), ("mxf4nvf4", 4, "ue8m0"),
    )  # fmt: skip
    fp4 = [
        f"kind::{kind}.block_scale.scale_vec::{vec}X.f32.e2m1.e2m1.f32.{scale}"
        for kind, vec, scale in scale_vectors
    ]
    mma += [f"m16n8k32.row.col.{x}" for x in mx] + [f"m16n8k64.row.col.{x}" for x in fp4]
    f64 = ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")
    mma += spelled("{s}.row.col.f64.f64.f64.f64{r}", s=f64, r=rounds)
    mma += spelled(integers, s=("m8n8k16", "m16n8k16", "m16n8k32"), sat=sats, a=int8, b=int8)
    mma += spelled(integers, s=("m8n8k32", "m16n8k32", "m16n8k64"), sat=sats, a=int4, b=int4)
    bits = ("m8n8k128", "m16n8k128", "m16n8k256")
    mma += spelled("{s}.row.col.s32.b1.b1.s32.{op}.popc", s=bits, op=("xor", "and"))
    listed = {f"mma.sync.aligned.{form}" for form in mma}
    sp = spelled("m16n8k{k}.row.col.{d}.f16.f16.{d}", k=(16, 32), d=f16_f32)
    sp += spelled("m16n8k{k}.row.col.f32.bf16.bf16.f32", k=(16, 32))
    sp += spelled("m16n8k{k}.row.col.f32.tf32.tf32.f32", k=(8, 16))
    sp += spelled("m16n8k64.row.col.f32.{a}.{b}.f32", a=fp8, b=fp8)
    sp += spelled(integers, s=("m16n8k32", "m16n8k64"), sat=sats, a=int8, b=int8)
    sp += spelled(integers, s=("m16n8k64", "m16n8k128"), sat=sats, a=int4, b=int4)
    ordered = spelled("m16n8k64.row.col.kind::f8f6f4.{d}.{a}.{b}.{d}", d=f16_f32, a=f8f6f4, b=f8f6f4)
    # these are promised in the target notes only
    ordered += spelled("m16n8k64.row.col.f16.{a}.{b}.f16", a=fp8, b=fp8)
    ordered += [f"m16n8k64.row.col.{x}" for x in mx] + [f"m16n8k128.row.col.{x}" for x in fp4]
    listed |= {f"mma.sp.sync.aligned.{form}" for form in sp}
    listed |= {f"mma.sp::ordered_metadata.sync.aligned.{form}" for form in sp + ordered}
    large = ("m16n16k16", "m8n32k16", "m32n8k16")
    wmma = spelled("{o}.{s}.{d}.{c}", o=orders, s=large, d=f16_f32, c=f16_f32)
    wmma += spelled("{o}.{s}.s32.{t}.{t}.s32{sat}", o=orders, s=large, t=int8, sat=sats)
    wmma += spelled("{o}.{s}.f32.bf16.bf16.f32", o=orders, s=large)
    wmma += spelled("{o}.m16n16k8.f32.tf32.tf32.f32", o=orders)
    wmma += spelled("{o}.m8n8k4{r}.f64.f64.f64.f64", o=orders, r=rounds)
    wmma += spelled("row.col.m8n8k32.s32.{t}.{t}.s32{sat}", t=int4, sat=sats)
    listed |= {f"wmma.mma.sync.aligned.{form}" for form in wmma}
    listed |= {f"wmma.mma.{op}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32" for op in ("xor", "and")}
    every_n, integer_n = range(8, 257, 8), [n for n in range(8, 257, 8) if n <= 32 or n % 16 == 0]
    halves = ("f16.f16.f16", "f32.f16.f16", "f32.bf16.bf16")
    for name, depth in (("wgmma.mma_async", 1), ("wgmma.mma_async.sp", 2)):
        forms = spelled(f"m64n{{n}}k{16 * depth}.{{d}}", n=every_n, d=halves)
        forms += spelled(f"m64n{{n}}k{8 * depth}.f32.tf32.tf32", n=every_n)
        forms += spelled(f"m64n{{n}}k{32 * depth}.{{d}}.{{a}}.{{b}}", n=every_n, d=f16_f32, a=fp8, b=fp8)
        forms += spelled(
            f"m64n{{n}}k{32 * depth}{{sat}}.s32.{{a}}.{{b}}", n=integer_n, sat=sats, a=int8, b=int8
        )
        if depth == 1:
            forms += spelled("m64n{n}k256.s32.b1.b1.and.popc", n=integer_n)
        listed |= {f"{name}.sync.aligned.{form}" for form in forms}
    assert {ins.mnemonic for ins in INSTRUCTIONS} == listed


def test_rows_are_well_formed() -> None:
    """Rows are declared by nobody else, so that they are checked here and not whenever they are built."""
    layouts: dict[object, Layout | None] = {}
    in_tensor_memory = set()
    for ins in catalog():
        assert ins.targets and {*ins.targets} <= {*TARGETS}, ins
        for operand in ins.operands.values():
            assert (operand.layout is None) == (operand.space == "shared"), ins
            if operand.layout is not None:
                assert operand.layout.shape == operand.shape and operand.lanes == ins.lanes, ins
                assert operand.layout.elements * operand.width % operand.register_bits == 0, ins
                assert operand.padding + operand.dtype.bits <= operand.width, ins
            if ins.family == "wmma":  # wmma.load and wmma.store are derived from any of these
                key = (operand.name, ins.shape, operand.dtype)
                assert layouts.setdefault(key, operand.layout) == operand.layout, ins
        for tensor in getattr(ins, "tensors", {}).values():
            assert (np.add(tensor.start, tensor.shape) <= tensor.layout.shape).all(), ins
            assert tensor.columns <= 512, ins
            in_tensor_memory.add(tensor.layout)
    for layout in in_tensor_memory:  # which forms share
        places = layout.coords()
        assert places.shape[1:3] == layout.shape, layout
        assert len(np.unique(places.reshape(-1, 2), axis=0)) == places[..., 0].size, layout


def test_what_no_row_has_is_refused() -> None:
    refuses("only wgmma takes A from shared memory", catalog("mma")[0].a_from, "shared")
    refuses("has no operand 'Q'; it has A, B, C, D", catalog("mma")[0].operand, "Q")


def test_the_public_names_are_there() -> None:
    for name in ("instruction", "catalog", "PtxlabError", "DTYPES", "TARGETS", "Instruction"):
        assert hasattr(ptxlab, name) and name in ptxlab.__all__


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("sm_101", "it is called sm_110 since CUDA 13.0"),
        ("sm_101a", "it is called sm_110a since CUDA 13.0"),
        ("compute_90a", r"did you mean sm_90a\?"),
        ("90a", r"did you mean sm_90a\?"),
        ("SM_80", r"did you mean sm_80\?"),
        ("sm_42", "known are sm_75"),
        (90, "unknown target 90; known are"),
        ([], r"unknown target \[\]"),
    ],
)
def test_targets_by_another_name_are_refused_with_the_right_one(target: str, sentence: str) -> None:
    with pytest.raises(ptxlab.PtxlabError, match=sentence):
        ptxlab.catalog(target=target)
