"""The record of machine code is complete, the compiler still agrees, and the arithmetic models follow it."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import ptxlab
from ptxlab import PtxlabError, gpu
from ptxlab.course.exercises import what_the_chip_runs
from ptxlab.gpu.sass import nvdisasm, sass, survey
from ptxlab.instruction import mma_instructions, register_instructions
from ptxlab.isa.dtypes import DTYPES
from ptxlab.isa.parse import parse
from ptxlab.isa.targets import CHIPS, chip_of_target
from ptxlab.numerics import EmulatedThroughF16, Exact, FmaChain, FmaGroups, Fused, model_for
from tests.sampling import EXHAUSTIVE, every_third, one_in
from tools.record import sass as runs
from tools.site import machine_code as machine_code_page

record = cache(runs.read)


def test_every_form_and_target_is_there_and_no_other() -> None:
    targets = {*CHIPS.values(), *runs.TENSOR_TARGETS}
    assert set(record()) == {(ins.mnemonic, target) for target in targets for ins in runs.forms(target)}
    assert {ins.mnemonic for ins in runs.forms()} == {mnemonic for mnemonic, _ in record()}


def test_the_file_is_what_would_be_written() -> None:
    assert runs.write(record(), runs.compiler(), runs.newer_compiler()) == runs.FILE.read_text(
        encoding="utf-8"
    )


def test_a_line_stands_for_all_its_forms() -> None:
    form = "wgmma.mma_async.sync.aligned.m64n{8..32..8,48}k32.s32.{s8,u8}.u8"
    found = runs.read(f"{form}\n  sm_90a: native: 1 IGMMA.64xNx32.A.B\n  sm_80 sm_89: emulated: | 2 FFMA\n")
    assert len(found) == 5 * 2 * 3
    native, emulated = (
        runs.Run("native", (("IGMMA.64x24x32.S8.U8", 1),)),
        runs.Run("emulated", (), (("FFMA", 2),)),
    )
    assert found["wgmma.mma_async.sync.aligned.m64n24k32.s32.s8.u8", "sm_90a"] == native
    assert found["wgmma.mma_async.sync.aligned.m64n48k32.s32.u8.u8", "sm_89"] == emulated


# -- the compiler as witness ---------------------------------------------------------------------------------


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTXLAB_CACHE", str(tmp_path))
    try:
        version = gpu.compiler_version()
        nvdisasm()
    except PtxlabError as error:
        pytest.skip(str(error))
    if f"{version[0]}.{version[1]}" != runs.compiler():
        pytest.skip(f"what is recorded is CUDA {runs.compiler()}'s, found {version[0]}.{version[1]}")


@pytest.mark.slow
def test_the_compiler_still_says_so(tools: None) -> None:
    """What is known, and a spread over the families."""
    spread = every_third(list(CHIPS.values()), 1)
    for target in CHIPS.values():
        known = [parse(name) for name, runs_on in KNOWN.items() if target in runs_on]
        if target in spread:
            every = [ptxlab.instruction(mnemonic) for mnemonic, on in record() if on == target]
            some = [ins for ins in every if not runs.is_newer(ins, target)][5 :: 83 if EXHAUSTIVE else 249]
            assert len({ins.family for ins in some}) > 1
            known += some
        for ins, found in zip(known, survey(known, target), strict=True):
            assert runs.run_of(found) == record()[ins.mnemonic, target], (ins.mnemonic, target)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "like"),
    one_in(
        2,
        [
            ("sm_86", "sm_80"),
            ("sm_87", "sm_80"),
            ("sm_110a", "sm_100a"),
            ("sm_88", "sm_80"),
            ("sm_121a", "sm_120a"),
            ("sm_103a", "sm_100a"),
        ],
    ),
)
def test_one_target_stands_for_its_generation(target: str, like: str, tools: None) -> None:
    assert chip_of_target(target) in (chip_of_target(like), "sm_86")
    rows = register_instructions(target=target)
    assert {ins.mnemonic for ins in rows} == {ins.mnemonic for ins in register_instructions(target=like)}
    some = every_third([ins for ins in rows if not runs.is_newer(ins)][::31])
    for ins, found in zip(some, survey(some, target), strict=True):
        recorded = record()[ins.mnemonic, like]
        assert found.how == recorded.how and found.tensor == dict(recorded.tensor), ins.mnemonic


def test_forms_of_a_later_ptx_isa_are_those_of_a_later_compiler() -> None:
    newer = {ins.mnemonic for ins in register_instructions() if runs.is_newer(ins)}
    assert len(newer) == 5 and (runs.compiler(), runs.newer_compiler()) == ("13.0", "13.4")
    of_ldmatrix = {
        str(record()[name, target]) for name, target in record() if name in newer and "ldm" in name
    }
    assert of_ldmatrix == {"native: 1 UNPRINTED"}


@pytest.mark.slow
def test_4_bit_mma_on_hopper_takes_some_230_instructions(tools: None) -> None:
    found = sass(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "sm_90a")
    assert 210 <= found.rest + sum(found.tensor.values()) <= 240


# -- what is said of it --------------------------------------------------------------------------------------

#: Short name -> target -> what runs, as seen on the H200 of tests/golden and for the targets of other chips.
KNOWN = {
    "mma.m8n8k32.s4": {"sm_75": "native: 1 IMMA.8832.S4.S4"},
    "mma.m16n8k64.s4": {"sm_80": "native: 1 IMMA.16864.S4.S4", "sm_90a": "emulated: 2 IMMA.16832.S8.S8 |"},
    "mma.m16n8k256.b1.and": {"sm_80": "native: 1 BMMA", "sm_90a": "native: 1 BMMA.168256.AND.POPC"},
    "mma.m16n8k256.b1.xor": {
        "sm_80": "native: 1 BMMA.168256.XOR.POPC",
        "sm_90a": "emulated: 2 BMMA.168256.AND.POPC |",
    },
    "mma.m16n8k32.f32.e4m3": {
        "sm_89": "native: 1 QMMA.16832.F32.E4M3.E4M3",
        "sm_90a": "emulated: 2 HMMA.16816.F32 | 12 F2FP + 4 FADD",
        "sm_100a": "emulated: 2 HMMA.16816.F32 |",
        "sm_120a": "native: 1 QMMA.16832.F32.E4M3.E4M3",
    },
    "mma.m16n8k32.f8f6f4.f32.e2m1.e3m2": {"sm_120a": "native: 1 QMMA.16832.F32.E2M1.E3M2"},
    "m16n8k64.mxf4": {"sm_120a": "native: 1 OMMA.SF.16864.F32.E2M1.E2M1.E8"},
    "mma.m8n8k4.f64": {"sm_80": "native: 1 DMMA.884"},
    "mma.m8n8k4.f32.f16": {"sm_80": "emulated: |", "sm_90a": "emulated: |"},
    "mma.sp.m16n8k16.tf32": {
        "sm_80": "native: 1 HMMA.SP.16816.F32.TF32",
        "sm_90a": "native: 1 HMMA.SP.16816.F32.TF32",
    },
    # Blackwell wants ascending indices: plain .sp costs what .sp::ordered_metadata does not
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32": {"sm_90a": "native:", "sm_100a": "emulated:"},
    "mma.sp::ordered_metadata.m16n8k32.f32.f16": {"sm_90a": "native:", "sm_100a": "native:"},
    "wmma.m16n16k16.f32.f16": {"sm_75": "split: 4 HMMA.1688.F32", "sm_90a": "split: 2 HMMA.16816.F32"},
    "wgmma.sp.m64n24k64.f32.e4m3": {"sm_90a": "native: 1 QGMMA.SP.64x24x64.F32.E4M3.E4M3"},
    "wgmma.m64n8k256.b1": {"sm_90a": "native: 1 BGMMA.64x8x256.AND.POPC"},
    "ldmatrix.m8n8.x4.b16": {"sm_80": "native: 1 LDSM.16.M88.4"},
    "movmatrix": {"sm_90a": "native: 1 MOVM.16.MT88"},
    "stmatrix.m8n8.x2.b16": {"sm_90a": "native: 1 STSM.16.M88.2"},
    "wmma.load.a.m16n16k16.f16": {"sm_90a": "plain"},
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_is_recorded(name: str) -> None:
    for target, said in KNOWN[name].items():
        assert str(record()[parse(name).mnemonic, target]).startswith(said), target


def test_quad_pairs_exchange_their_registers() -> None:
    """mma.m8n8k4 after Turing: shuffles and arithmetic, unless all lanes provably hold the same."""
    around = record()[parse("mma.m8n8k4.f32.f16").mnemonic, "sm_90a"].around
    assert {"SHFL", "FFMA", "HADD2"} <= {opcode.split(".")[0] for opcode, _ in around}


def _how(target: str, **wanted: Any) -> set[str]:
    """How those forms of a target run whose attributes are among the wanted ones."""
    return {
        record()[ins.mnemonic, target].how
        for ins in mma_instructions(target=target)
        if all(getattr(ins, name) in values for name, values in wanted.items())
    }


BLACKWELLS = ("sm_100a", "sm_120a")
SYNC = ("mma", "mma.sp")


def test_findings_hold_for_all_forms_that_they_speak_of() -> None:
    """The sentences of the page, each over the catalogue."""
    fp8, plain = ("e4m3", "e5m2"), (None,)
    fp8_runs = {"sm_89": "native", "sm_90a": "emulated", "sm_100a": "emulated", "sm_120a": "native"}
    for target, how in fp8_runs.items():
        assert _how(target, family=SYNC, a_type=fp8, kind=plain) == {how}, f"FP8 on {target}"
    assert _how("sm_100a", kind=("f8f6f4",)) == {"emulated"}
    assert _how("sm_120a", kind=("f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4")) == {"native"}
    for target in CHIPS.values():
        small = {"native" if target in ("sm_75", "sm_80", "sm_89") else "emulated"}
        assert _how(target, a_type=("s4", "u4")) == small, f"4 bits on {target}"
        assert _how(target, bit_op=("xor",)) == small, f"xor on {target}"
        quad_pairs = {"split" if target == "sm_75" else "emulated"}
        assert _how(target, shape=("m8n8k4",), a_type=("f16",)) == quad_pairs
    assert _how("sm_90a", bit_op=("and",)) == {"native"}
    for target in BLACKWELLS:
        assert _how(target, bit_op=("and",)) == {"emulated"}
        assert not any(
            "BMMA" in opcode for (_, on), run in record().items() if on == target for opcode, _ in run.tensor
        )
        assert _how(target, a_type=("f64",), m=(16,)) == {"split"}
        assert {
            opcode
            for ins in mma_instructions("mma", target)
            if ins.shape == "m8n8k16"
            for opcode, _ in record()[ins.mnemonic, target].tensor
        } == {f"IMMA.16816.{a}.{b}{sat}" for a in ("S8", "U8") for b in ("S8", "U8") for sat in ("", ".SAT")}
        for ordered, how in ((False, "emulated"), (True, "native")):
            sparse = {"family": ("mma.sp",), "ordered": (ordered,)}
            assert _how(target, **sparse, a_type=("f16", "s8", "u8"), kind=plain) == {how}
            assert _how(target, **sparse, a_type=("bf16", "tf32")) == {"native"}
        for ins in mma_instructions("mma.sp", target):
            if not ins.ordered and (
                ins.a_type in ("s4", "u4") or (ins.a_type in fp8 and target == "sm_100a")
            ):
                other = ins.mnemonic.replace("mma.sp", "mma.sp::ordered_metadata")
                assert record()[ins.mnemonic, target] == record()[other, target], (
                    f"{ins.mnemonic}: the order is paid for in either spelling"
                )
    assert _how("sm_90a", a_type=("f64",)) == {"native"}
    assert _how("sm_90a", family=("wgmma", "wgmma.sp")) == {"native"}
    signed, unsigned = (
        record()[f"mma.sync.aligned.m16n8k64.row.col.s32.{kind}.{kind}.s32", "sm_90a"].others
        for kind in ("s4", "u4")
    )
    assert round(signed / unsigned) == 8


def test_no_tensor_core_means_m8n8k4() -> None:
    """The only products without any tensor-core instruction."""
    lacking = {
        (mnemonic, target)
        for (mnemonic, target), run in record().items()
        if not run.tensor and run.how != "plain"
    }
    assert {ptxlab.instruction(mnemonic).shape for mnemonic, _ in lacking} == {"m8n8k4"}
    assert {target for _, target in lacking} == set(CHIPS.values()) - {"sm_75"}


def test_what_is_emulated_is_emulated_alike() -> None:
    """m8n8k4 and dense FP8 are emulated by the same float operations on all chips that emulate them."""
    floats = {"FFMA", "FADD", "FMUL", "HADD2", "F2FP"}
    for ins in mma_instructions("mma"):
        if ins.a_type in ("f16", "e4m3", "e5m2") and ins.supports("sm_90a"):
            found = [record()[ins.mnemonic, target] for target in CHIPS.values() if ins.supports(target)]
            kinds = {
                (run.tensor, frozenset(item for item in run.around if item[0] in floats))
                for run in found
                if run.how == "emulated"
            }
            assert len(kinds) <= 1, ins.mnemonic


def test_findings_name_forms_that_their_targets_have() -> None:
    for said, shown in machine_code_page.FINDINGS:
        assert said and shown
        assert all((mnemonic, target) in record() for mnemonic, targets in shown for target in targets)


# -- the model follows the machine code ----------------------------------------------------------------------


def _depth(opcode: str) -> int:
    """K of a tensor-core instruction: 16 of HMMA.16816.F32, 8 of HGMMA.64x24x8.F32.TF32."""
    found = re.search(r"\.(?:\d+x\d+x(\d+)|(?:88|168)(\d+))(?=\.|$)", opcode)
    assert found, opcode
    return int(found[1] or found[2])


@pytest.mark.parametrize("chip", CHIPS)
def test_the_model_follows_the_machine_code(chip: str) -> None:
    """What multiplies decides the rule (no tensor core, f16 in place of FP8, or the type itself).

    No step of a rule is wider than the instruction that multiplies.
    """
    target, checked = CHIPS[chip], 0
    for ins in mma_instructions(target=target):
        run = record()[ins.mnemonic, target]
        try:
            rule = model_for(ins, chip).rule
        except PtxlabError:
            assert chip != "sm_90", ins.mnemonic
            continue
        checked += 1
        units = {opcode[0] for opcode, _ in run.tensor}
        if not DTYPES[ins.a_type].is_float:
            assert isinstance(rule, Exact) and units <= {"I", "B"}, ins.mnemonic
            continue
        if not units:
            assert isinstance(rule, FmaGroups), ins.mnemonic
        elif ins.a_type == "f64":
            assert isinstance(rule, FmaChain) and units == {"D"}, ins.mnemonic
        elif ins.a.dtype.bits <= 8 and units == {"H"}:
            assert isinstance(rule, EmulatedThroughF16), ins.mnemonic
            assert [(count, _depth(opcode)) for opcode, count in run.tensor] == [(2, ins.k // 2)], (
                ins.mnemonic
            )
        else:
            assert isinstance(rule, Fused) and units <= ({"H"} if ins.a.dtype.bits > 8 else {"Q", "O"}), (
                ins.mnemonic
            )
            products_of_a_step = min(rule.depth or ins.k, ins.a.shape[1])
            assert products_of_a_step <= min(_depth(opcode) for opcode, _ in run.tensor) // (
                2 if ins.sparse else 1
            ), ins.mnemonic
    assert checked


def test_on_hopper_emulated_floats_have_a_rule_that_says_so() -> None:
    """Conversions of C or D alone are no other way to multiply: there the step stays fused."""
    seen: Counter[str] = Counter()
    for ins in mma_instructions(target="sm_90a"):
        run, rule = record()[ins.mnemonic, "sm_90a"], model_for(ins, "sm_90").rule
        if not DTYPES[ins.a_type].is_float:
            assert isinstance(rule, Exact), ins.mnemonic
            continue
        converted = (
            ins.c_type != ins.d_type
            and {opcode for opcode, _ in run.around} <= {"F2FP", "HADD2"}
            and run.tensor
        )
        emulated = run.how == "emulated" and not converted
        assert isinstance(rule, EmulatedThroughF16 | FmaGroups if emulated else Fused | FmaChain), (
            ins.mnemonic
        )
        seen[f"{run.how}{' but for C or D' if converted else ''}: {type(rule).__name__}"] += 1
    assert set(seen) == {
        "native: Fused",
        "native: FmaChain",
        "split: Fused",
        "emulated but for C or D: Fused",
        "emulated: EmulatedThroughF16",
        "emulated: FmaGroups",
    }


def test_the_lesson_shows_what_is_recorded() -> None:
    """Lesson 23 keeps a part of the record and some listings for readers without the tools."""
    shown = {key: runs.run_of(summary) for key, summary in what_the_chip_runs.summaries().items()}
    assert shown == {key: run for key, run in record().items() if key[0] in {form for form, _ in shown}}
    listings = what_the_chip_runs._listings()
    assert listings
    for form, target in listings:
        assert runs.run_of(what_the_chip_runs.recorded(form, target)) == record()[form, target]
