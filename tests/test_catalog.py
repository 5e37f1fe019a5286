"""The rows against the assembler, which knows every form and every target."""

from __future__ import annotations

from itertools import product

import pytest

import ptxlab
from ptxlab import TARGETS, Instruction, PtxlabError, catalog
from ptxlab.catalog import FAMILIES
from tests import assembler

ROWS = catalog()


@pytest.mark.parametrize("target", TARGETS)
def test_supports_is_what_the_assembler_says(target: str) -> None:
    """Every form, taken or refused for its target."""
    refused = assembler.refused([assembler.line(ins) for ins in ROWS], target)
    assert {ROWS[i].mnemonic for i in refused} == {ins.mnemonic for ins in ROWS if not ins.supports(target)}
    assert all(".target" in what or "for architecture" in what for what in refused.values()), "for the target, not for a misspelling"


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_103a", "sm_120a", "sm_121a"])
def test_supported_rows_assemble_to_the_end(target: str) -> None:
    rows = [ins for ins in catalog(target=target) if ins.n in (8, 24, 256)]
    rows += [ins.a_from("shared") for ins in rows if ins.lanes == 128]
    assert rows
    assert assembler.refused([assembler.line(ins) for ins in rows], target) == {}


def test_the_rows_that_the_manual_lists() -> None:
    """The forms of the five instructions, multiplied out again from the tables of PTX ISA 9.0."""
    int4, int8, fp8, sat = ("s4", "u4"), ("s8", "u8"), ("e4m3", "e5m2"), ("", ".satfinite")
    listed = {f"mma.sync.aligned.m16n8k64.row.col{s}.s32.{a}.{b}.s32" for a, b, s in product(int4, int4, sat)}
    listed |= {
        f"mma.{sp}.sync.aligned.m16n8k64.row.col{s}.s32.{a}.{b}.s32" for sp, a, b, s in product(("sp", "sp::ordered_metadata"), int4, int4, sat)
    }
    listed |= {f"mma.{sp}.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32" for sp in ("sp", "sp::ordered_metadata")}
    listed |= {
        f"mma.sync.aligned.m16n8k64.row.col.kind::{kind}.block_scale.scale_vec::{vec}.f32.e2m1.e2m1.f32.{scale}"
        for kind, vec, scale in (("mxf4", "2X", "ue8m0"), ("mxf4nvf4", "2X", "ue8m0"), ("mxf4nvf4", "4X", "ue4m3"))
    }
    listed |= {f"wmma.mma.sync.aligned.row.col.m8n8k32.s32.{ab}.{ab}.s32{s}" for ab, s in product(int4, sat)}
    listed |= {f"wmma.mma.{op}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32" for op in ("xor", "and")}
    every_n = [8 * i for i in range(1, 33)]
    integer_n = [8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256]
    listed |= {f"wgmma.mma_async.sp.sync.aligned.m64n{n}k64.{d}.{a}.{b}" for n, d, a, b in product(every_n, ("f16", "f32"), fp8, fp8)}
    listed |= {f"wgmma.mma_async.sp.sync.aligned.m64n{n}k64{s}.s32.{a}.{b}" for n, a, b, s in product(integer_n, int8, int8, sat)}
    assert listed <= {ins.mnemonic for ins in ROWS}


def test_rows_are_distinct_and_of_their_family() -> None:
    assert len({ins.mnemonic for ins in ROWS}) == len(ROWS)
    assert [ins.family for ins in ROWS] == sorted((ins.family for ins in ROWS), key=FAMILIES.index)
    assert {ins.mnemonic for family in FAMILIES for ins in catalog(family)} == {ins.mnemonic for ins in ROWS}


def test_selection() -> None:
    assert {ins.family for ins in catalog("wgmma.sp", "sm_90a")} == {"wgmma.sp"}
    assert catalog("wgmma.sp", "sm_90") == ()
    with pytest.raises(PtxlabError, match=r"^unknown family 'wgmma\.dense'; there are mma, mma\.sp, wmma, "):
        catalog("wgmma.dense")
    with pytest.raises(PtxlabError, match="^unknown target 'sm_91'; known are sm_75, .*sm_121a$"):
        catalog(target="sm_91")
    with pytest.raises(PtxlabError, match="^unknown target 'hopper'; known are "):
        ROWS[0].supports("hopper")


@pytest.mark.parametrize("ins", [ins for ins in ROWS if ins.n in (8, 24, 256)], ids=str)
def test_operands_have_the_shapes_of_the_product(ins: Instruction) -> None:
    half = 2 if ins.sparse else 1
    assert (ins.a.shape, ins.a_dense.shape, ins.b.shape) == ((ins.m, ins.k // half), (ins.m, ins.k), (ins.k, ins.n))
    assert ins.c.shape == ins.d.shape == (ins.m, ins.n)
    assert (ins.a.dtype.name, ins.b.dtype.name, ins.c.dtype.name, ins.d.dtype.name) == (ins.a_type, ins.b_type, ins.c_type, ins.d_type)
    assert (ins.e is not None) == ins.sparse == (ins.selectors != ())
    for operand in ins.operands.values():
        if operand.layout is not None:
            held = operand.lanes * operand.registers * operand.register_bits
            assert held == operand.shape[0] * operand.shape[1] * operand.dtype.bits * operand.layout.copies
            assert operand.lanes == ins.lanes == (128 if "wgmma" in ins.mnemonic else 32)


def test_selectors_are_the_manuals() -> None:
    """PTX ISA, "Sparse matrix storage": one thread of four speaks, or a pair, or all."""
    one, pair, every = (0, 1, 2, 3), (0, 1), (0,)
    manual = {
        ("m16n8k16", 16): one, ("m16n8k32", 16): pair, ("m16n8k8", 32): one, ("m16n8k16", 32): pair,
        ("m16n8k32", 8): pair, ("m16n8k64", 4): pair, ("m16n8k64", 8): every, ("m16n8k128", 4): every,
    }  # fmt: skip
    assert {(ins.shape, ins.a.dtype.bits): ins.selectors for ins in catalog("mma.sp")} == manual
    assert {ins.selectors for ins in catalog("wgmma.sp")} == {(0,)}


def test_a_wrong_row_cannot_be_built() -> None:
    with pytest.raises(PtxlabError, match=r"targets \['sm_99'\]; known are sm_75"):
        Instruction("mma", 16, 8, 64, "s32", "s4", "s4", "s32", ("sm_99",))
    with pytest.raises(PtxlabError, match="targets missing"):
        Instruction("mma", 16, 8, 64, "s32", "s4", "s4", "s32", ())
    with pytest.raises(PtxlabError, match="only wgmma takes A from shared memory"):
        catalog("mma")[0].a_from("shared")
    with pytest.raises(PtxlabError):
        Instruction("mma", 16, 8, 60, "s32", "s4", "s4", "s32", ("sm_80",))
    with pytest.raises(PtxlabError, match="has no operand 'Q'; it has A, B, C, D"):
        catalog("mma")[0].operand("Q")


def test_the_public_names_are_there() -> None:
    for name in ("instruction", "catalog", "PtxlabError", "DTYPES", "TARGETS", "Instruction"):
        assert hasattr(ptxlab, name) and name in ptxlab.__all__
