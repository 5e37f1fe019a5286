"""Hunts with planted faults: each is found, reduced to the smallest case, and written as a test."""

from __future__ import annotations

import doctest
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ptxlab import DTYPES, Instruction, gpu, inputs, instruction
from ptxlab.cli import main as ptxlab_command
from ptxlab.differences.case import complexity, simpler_codes
from ptxlab.instruction import mma_instructions
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.operation import Operation
from ptxlab.numerics import EmulatedThroughF16, FmaChain, FmaGroups, Fused, Model
from ptxlab.numerics import emulate as emulator
from tests.cases import each, refuses
from tests.tools.hunt_worker import work
from tools import hunt_all
from tools.hunt import _plan, configurations, hunt
from tools.hunt.__main__ import main
from tools.hunt.report import Report

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
M8N8K4 = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
TF32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
F64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
Faulty = Callable[..., Any]


def emulate(operands: Operation) -> Any:
    return emulator.emulate(operands)


# -- faults ----------------------------------------------------------------------------------------------


def other_rule(change: Callable[[Any], Any]) -> Faulty:
    """A machine whose arithmetic is that of the model with one number changed."""
    real_model = emulator.find_model

    def changed_model(ins: Instruction, chip: str) -> Model:
        real = real_model(ins, chip)
        return replace(real, rule=change(real.rule))

    def faulty(operands: Operation) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(emulator, "find_model", changed_model)
            return emulate(operands)

    return faulty


def one_bit_less(rule: Any) -> Any:
    if isinstance(rule, EmulatedThroughF16):
        return replace(rule, step=one_bit_less(rule.step))
    assert isinstance(rule, Fused)
    return replace(rule, fraction_bits=rule.fraction_bits - 1)


def other_scalar(rule: Any) -> Any:
    assert isinstance(rule, FmaGroups)
    return replace(rule, from_zero=not rule.from_zero)


def other_nans(rule: Any) -> Any:
    assert isinstance(rule, FmaChain)
    return replace(rule, nans="abc")


def no_subnormals(operands: Operation) -> Any:
    """Subnormal elements of A count as zero."""
    a = operands.ins.a
    dtype, codes = a.dtype, a.unpack_codes(operands.a)
    exponents = codes.astype(np.int64) >> (dtype.ignored_bits + dtype.fraction_bits)
    is_subnormal = exponents & ((1 << dtype.exponent_bits) - 1) == 0
    flushed = np.where(is_subnormal, 0, codes).astype(dtype.code_type)
    return emulate(replace(operands, a=a.pack_codes(flushed)))


def minus_zero(operands: Operation) -> Any:
    """A zero result takes the sign of C."""
    d = emulate(operands)
    return np.where((d == 0) & (operands.c == 0x80000000), 0x80000000, d).astype(np.uint32)


def no_clamp(operands: Operation) -> Any:
    """.satfinite is lost."""
    return emulate(replace(operands, ins=replace(operands.ins, satfinite=False)))


def wrong_nibble(operands: Operation) -> Any:
    """The last chunk of every row is read with the nibble of the first."""
    e = operands.ins.e
    nibbles = e.unpack_codes(operands.e, operands.modifiers.selector)
    nibbles[..., -1] = nibbles[..., 0]
    return emulate(replace(operands, e=e.pack_codes(nibbles)))


def wrong_lanes(operands: Operation) -> Any:
    """The selector is ignored: metadata come from other lanes, whose registers hold random bits."""
    ins = operands.ins
    nibbles = ins.e.unpack_codes(operands.e, 0)
    nibbles = np.where(np.isin(nibbles, list(ins.structure.nibbles)), nibbles, 0b1110)
    return emulate(replace(operands, e=ins.e.pack_codes(nibbles)))


def second_copy(operands: Operation) -> Any:
    """WMMA's f16 fragments hold A twice: the second copy is read instead of the first."""
    a = operands.ins.a
    return emulate(replace(operands, a=a.pack_codes(a.unpack_codes(operands.a, 1))))


def no_negation(operands: Operation) -> Any:
    """imm-scale-a is ignored."""
    return emulate(replace(operands, modifiers=replace(operands.modifiers, imm_scale_a=1)))


def seven_for_minus_eight(operands: Operation) -> Any:
    """The lowest s4 is read as 7."""
    a = operands.ins.a
    codes = a.unpack_codes(operands.a)
    return emulate(replace(operands, a=a.pack_codes(np.where(codes == 8, 7, codes))))


def neighbour(operands: Operation) -> Any:
    """D[0][1] is wrong where D[0][0] is odd, so its own row and column alone do not show it."""
    d = operands.ins.d
    codes = d.unpack_codes(emulate(operands))
    codes[..., 0, 1] ^= codes[..., 0, 0] & 1
    return d.pack_codes(codes)


def lost_scale(operands: Operation) -> Any:
    """Block scales of A count as 1."""
    scale = operands.ins.scale_a
    ones = scale.pack_codes(np.full(scale.shape, scale.dtype.encode(1)))
    return emulate(replace(operands, scale_a=ones))


@dataclass(frozen=True)
class Planted:
    """An instruction, its fault, and what the smallest case may have: elements of A, B and C, modifiers."""

    form: str
    fault: Faulty
    elements: int
    modifiers: tuple[str, ...] = ()
    in_registers: bool = False

    def __str__(self) -> str:
        return f"{self.fault.__name__} {self.form}"


PLANTED = [
    Planted(F16, other_rule(one_bit_less), 4),
    Planted(TF32, other_rule(one_bit_less), 4),
    Planted("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", other_rule(one_bit_less), 4),
    Planted(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16",
        other_rule(lambda rule: replace(rule, fraction_bits=8)),
        4,
    ),
    Planted("wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16", other_rule(one_bit_less), 4),
    Planted("wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2", other_rule(one_bit_less), 4),
    # four products of -0, and C
    Planted(M8N8K4, other_rule(other_scalar), 5),
    Planted(F64, other_rule(other_nans), 3),
    Planted("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32", no_subnormals, 2),
    Planted("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", no_subnormals, 2),
    Planted("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64.rz", no_subnormals, 3),
    Planted(F16, minus_zero, 1),
    Planted("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32", no_clamp, 3),
    Planted("wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.u8.s8", no_clamp, 3),
    Planted("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", wrong_nibble, 2),
    Planted("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", wrong_nibble, 2),
    Planted(
        "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32",
        wrong_lanes,
        6,
        ("selector",),
        in_registers=True,
    ),
    Planted("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", second_copy, 2, in_registers=True),
    Planted("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16", no_negation, 2, ("imm_scale_a",)),
    Planted(S4, seven_for_minus_eight, 2),
    Planted("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", neighbour, 1),
    Planted(
        next(ins.mnemonic for ins in mma_instructions("mma", "sm_120a") if ins.scale_vec == 2), lost_scale, 2
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_planted_fault_is_found_and_shrunk(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    ins = instruction(planted.form)
    report = hunt(ins, mmas=6000, seed=11, runner=planted.fault)
    difference = report.difference
    assert difference is not None
    assert difference.emulator != difference.machine
    assert sum(np.count_nonzero(difference.case.codes[name]) for name in "abc") <= planted.elements
    assert set(difference.modifiers) == set(planted.modifiers)
    assert difference.case.in_registers == planted.in_registers
    assert difference.launches < 150
    assert f"D[{difference.row}][{difference.col}] differs" in str(report)
    check_test(report, planted.fault, monkeypatch)


def check_test(report: Report, fault: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    """The written test fails with the emulator as it is, and passes where it does what the machine does."""
    scope: dict[str, Any] = {}
    exec(compile(report.as_test(), "printed", "exec"), scope)
    (test,) = (value for name, value in scope.items() if name.startswith("test_"))
    with pytest.raises(AssertionError):
        test()

    def as_faulty(self: Instruction, a: Any, b: Any, c: Any, e: Any = None, **rest: Any) -> Any:
        scales = {name: rest.pop(name, None) for name in ("scale_a", "scale_b")}
        operands = Operation.of(self, a, b, c, e, **scales, modifiers=Modifiers(**rest))
        with monkeypatch.context() as patch:
            patch.undo()
            return fault(operands.part(0, 1))[0]

    monkeypatch.setattr(Instruction, "emulate", as_faulty)
    test()


def test_a_smallest_case_is_the_one_a_person_would_write() -> None:
    report = hunt(instruction(S4), mmas=2000, seed=5, runner=seven_for_minus_eight)
    assert report.difference is not None
    elements = [str(element) for element in report.difference.elements]
    assert elements == ["A[0][0] = 0x8  # -8", "B[0][0] = 0x1  # 1"]
    assert (report.difference.row, report.difference.col) == (0, 0)
    subnormal = hunt(instruction(F16), mmas=2000, seed=5, runner=no_subnormals).difference
    assert subnormal is not None
    assert {line.split("= ")[1] for line in map(str, subnormal.elements)} <= {
        f"0x{1 << bit:04x}  # {2.0 ** (bit - 24):.9g}" for bit in range(10)
    } | {"0x3c00  # 1"}


def test_a_report_has_the_trace_of_the_emulator() -> None:
    report = hunt(instruction(F16), mmas=2000, seed=5, runner=other_rule(one_bit_less))
    trace = report.trace()
    assert trace is not None and report.difference is not None
    assert trace.code == report.difference.emulator


# -- the course of a hunt --------------------------------------------------------------------------------


def test_a_seed_repeats_a_hunt_and_a_fresh_one_does_not() -> None:
    def seed_and_inputs(seed: int | None) -> tuple[int, list[bytes]]:
        inputs_of_a: list[bytes] = []

        def watching(operands: Operation) -> Any:
            inputs_of_a.append(operands.a.tobytes())
            return emulate(operands)

        return hunt(instruction(S4), mmas=100, seed=seed, runner=watching).seed, inputs_of_a

    assert seed_and_inputs(7) == seed_and_inputs(7)
    assert seed_and_inputs(7)[1] != seed_and_inputs(8)[1]
    first, second = seed_and_inputs(None), seed_and_inputs(None)
    assert first[0] != second[0] and first[1] != second[1]
    assert seed_and_inputs(first[0]) == first
    reports = [hunt(instruction(F16), mmas=3000, seed=4, runner=no_subnormals) for _ in range(2)]
    assert reports[0].as_test() == reports[1].as_test()


@pytest.mark.slow
@pytest.mark.parametrize("form", [F16, S4, "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16"])
def test_a_hunt_goes_through_all_categories_and_configurations(form: str) -> None:
    ins = instruction(form)
    categories = (*inputs.categories(ins), *inputs.directed_categories(ins))
    plan = list(_plan(ins, categories, 20_000))
    assert sum(chunk.size for chunk in plan) == 20_000
    share = {name: sum(chunk.size for chunk in plan if chunk.category == name) for name in categories}
    assert max(share.values()) - min(share.values()) < len(categories)
    assert {(chunk.category, chunk.configuration) for chunk in plan} == {
        (name, configuration) for name in categories for configuration in configurations(ins)
    }
    report = hunt(ins, mmas=300, runner=emulate)
    assert (report.found, report.mmas, report.categories) == (False, 300, categories)
    assert str(report).startswith(f"{form}: no difference in 300 MMAs")


def test_configurations_are_legal_and_spread() -> None:
    """Every value that a modifier can have is among the configurations, and both signs of A times B."""
    for ins in mma_instructions():
        if ins.lanes == 128 and ins.n not in (8, 24):
            continue
        chosen = configurations(ins)
        assert chosen[0] == (ins, Modifiers()) and len(chosen) <= max(8, len(ins.selectors))
        assert all(configuration.legal for configuration in chosen)
        used = [configuration.modifiers for configuration in chosen]
        for name, values in (ins.a_from("shared") if ins.lanes == 128 else ins).modifiers.items():
            if name != "swizzle":  # not every tile takes every swizzle
                assert {getattr(modifiers, name) for modifiers in used} == set(values), (ins, name)
        if ins.lanes == 128:
            assert {configuration.ins.a_space for configuration in chosen} == {"register", "shared"}
            assert len({modifiers.swizzle for modifiers in used}) >= 2
            if ins.a.dtype.is_float:
                assert {modifiers.imm_scale_a * modifiers.imm_scale_b for modifiers in used} == {1, -1}


def test_one_chip_against_another() -> None:
    report = hunt(instruction(S4), mmas=500, against="sm_80")
    assert not report.found and "the model of sm_80" in str(report)


def test_refusals_say_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    ins = instruction(F16)
    monkeypatch.setattr(gpu, "available", lambda ins=None: False)
    monkeypatch.setattr(gpu, "status", lambda ins=None: "no GPU here")
    for options, sentence in (
        ({}, "a hunt compares with a GPU: no GPU here; `against`"),
        ({"runner": emulate, "categories": ["bit"]}, "unknown category 'bit'; .* has bits, moderate"),
        ({"runner": emulate, "categories": []}, "unknown category"),
        ({"runner": emulate, "mmas": 0}, "mmas=0: compare at least one"),
        ({"runner": emulate, "against": "sm_90"}, "not both"),
        ({"against": "sm_1"}, "unknown model 'sm_1'"),
        ({"runner": emulate, "model": "sm_1"}, "unknown model 'sm_1'"),
    ):
        refuses(sentence, hunt, ins, **options)
    refuses("no difference was found", hunt(ins, mmas=10, runner=emulate).as_test)


def test_only_the_category_that_was_asked_for() -> None:
    report = hunt(instruction(F16), mmas=200, categories=["bits", "bits", "ties"], runner=emulate)
    assert report.categories == ("bits", "ties") and report.mmas == 200


@pytest.mark.slow
def test_time_limit() -> None:
    report = hunt(instruction(F16), mmas=10**9, runner=emulate, seconds=0.3)
    assert not report.found and 0 < report.mmas < 10**9


@pytest.mark.slow
def test_an_interrupt_stops_a_hunt_but_keeps_what_was_shrunk() -> None:
    calls = []

    def interrupted_at_the_fourth_call(operands: Operation) -> Any:
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return emulate(operands)

    with pytest.raises(KeyboardInterrupt):
        hunt(instruction(F16), mmas=20_000, runner=interrupted_at_the_fourth_call)
    calls.clear()

    def interrupted_while_shrinking(operands: Operation) -> Any:
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return no_subnormals(operands)

    report = hunt(
        instruction(F16), mmas=3000, seed=3, categories=["subnormals"], runner=interrupted_while_shrinking
    )
    assert report.difference is not None and len(calls) == 7
    assert report.difference.emulator != report.difference.machine


# -- simpler codes ---------------------------------------------------------------------------------------


@each("name", [name for name, dtype in DTYPES.items() if dtype.bits <= 8])
def test_simpler_codes_are_codes_of_the_type(name: str) -> None:
    dtype = DTYPES[name]
    for code in range(1 << dtype.bits):
        for simpler in simpler_codes(dtype, code):
            assert 0 <= simpler < 1 << dtype.bits, f"0x{code:x}"
            assert complexity(dtype, simpler) < complexity(dtype, code)


# -- the command, and many hunts at once -----------------------------------------------------------------


def test_the_command_hunts_and_reports(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = "--against sm_80 --mmas 100 --seed 3 --category bits"
    assert main(["mma.m16n8k64.s4", *options.split()]) == 0
    printed = capsys.readouterr().out
    assert "no difference in 100 MMAs between the model of sm_90 and the model of sm_80" in printed
    assert "(1 category, seed 3," in printed
    assert main(["movmatrix"]) == 1
    assert "no arithmetic to hunt in" in capsys.readouterr().err
    monkeypatch.setattr(gpu, "available", lambda ins=None: False)
    monkeypatch.setattr(gpu, "status", lambda ins=None: "no GPU here")
    assert main(["mma.m16n8k64.s4"]) == 1
    assert capsys.readouterr().err.startswith("a hunt compares with a GPU: no GPU here;")
    monkeypatch.setattr(gpu, "available", lambda ins=None: True)
    monkeypatch.setattr(gpu, "device_target", lambda: "sm_90a")
    monkeypatch.setattr(gpu, "device_name", lambda: "a GPU for the test")
    monkeypatch.setattr(gpu, "run", seven_for_minus_eight)
    assert main(["mma.m16n8k64.s4", "--mmas", "500"]) == 1
    printed = capsys.readouterr().out
    assert any(f"a GPU for the test (sm_90a)  {code}" in printed for code in ("0xfffffff9", "0x00000007"))
    assert "def test_mma_sync_aligned_m16n8k64_row_col_s32_s4_s4_s32_" in printed

    def interrupted(operands: Operation) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(gpu, "run", interrupted)
    assert main(["mma.m16n8k64.s4"]) == 130
    assert "stopped" in capsys.readouterr().err
    for words in (["hunt"], ["hunt", "--help"], ["hunt", "mma.m16n8k64.s4", "--mmas", "9"]):
        assert ptxlab_command(words) == 1
        printed = capsys.readouterr()
        assert not printed.out and "python -m tools.hunt INSTRUCTION" in printed.err


@each("module", [import_module("tools.hunt"), import_module("tools.hunt.report")])
def test_examples_of_the_hunt_are_true(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 2 and not results.failed


@pytest.mark.slow
def test_many_at_once_survive_a_failure() -> None:
    printed: list[str] = []
    names = ["one", "dies", "errs", "two"]
    results = hunt_all.hunt_all(names, 2, 60, {}, do=work, say=printed.append)
    assert results["dies"] == {"error": "the worker ended with exit code 3"}
    assert results["errs"] == {"error": "PtxlabError: out of order"}
    assert all(results[name]["mmas"] == 5 for name in ("one", "two"))
    assert len(printed) == 4
    assert hunt_all.hunt_all(["one"], 1, 0, {}, do=work) == {}
    result = hunt_all.one(S4, {"mmas": 50, "seed": 3, "seconds": 60.0, "against": "sm_80"})
    assert (result["mmas"], result["seed"], result["differences"]) == (50, 3, 0)
    assert "no difference in 50 MMAs, 5 categories, seed 3" in hunt_all._line(S4, result)
    assert len(hunt_all.forms(None, "sm_90a", every=False)) > 300
    assert len(hunt_all.forms(None, "sm_90a", every=True)) == len(mma_instructions(target="sm_90a"))


def test_many_at_once_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "device_target", lambda: "sm_90a")
    monkeypatch.setattr(
        hunt_all, "hunt_all", lambda names, *rest, **options: {name: work(name, {}) for name in names}
    )
    file = tmp_path / "report.json"
    options = ["--family", "mma.sp", "--report", str(file)]
    assert hunt_all.main([*options, "--mmas", "5"]) == 0
    assert set(json.loads(file.read_text())) == {ins.mnemonic for ins in mma_instructions("mma.sp", "sm_90a")}
    assert hunt_all.main([*options, "--mmas", "6"]) == 1, "not compared in full"
    assert "0 of " in capsys.readouterr().out


@pytest.mark.gpu
@pytest.mark.parametrize(
    "form",
    [
        F16,
        S4,
        "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
        M8N8K4,
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64",
        "wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16",
        "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2",
    ],
)
def test_the_gpu_agrees(form: str) -> None:
    ins = instruction(form)
    if not gpu.available(ins):
        pytest.skip(gpu.status(ins))
    report = hunt(ins, mmas=20_000)
    assert not report.found, f"{report}\n\n{report.as_test()}"


@each(
    "name, parts, fault, elements",
    [
        ("tcgen05.mma.cta_group::1.kind::f16", {"m": 64, "n": 8}, other_rule(one_bit_less), 5),
        ("tcgen05.mma.sp.cta_group::1.kind::f16", {"m": 64, "n": 8}, wrong_nibble, 3),
        ("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16", {"n": 8}, lost_scale, 3),
    ],
)
@pytest.mark.slow
def test_tcgen05_is_hunted_in_tensor_memory(
    name: str, parts: dict[str, Any], fault: Faulty, elements: int
) -> None:
    """Found, reduced, and written as a test that fails until the emulator gives the other code."""
    ins = instruction(name, **parts)
    report = hunt(ins, mmas=400, seed=1, runner=fault, show=False)
    assert report.found and report.difference is not None
    of_matrices = [element for element in report.difference.elements if element.operand in "ABC"]
    assert len(of_matrices) <= elements
    assert f"0x{ins.descriptor.code:08x}" in str(report) and "A in" not in str(report)
    names: dict[str, Any] = {}
    exec(report.as_test(), names)
    with pytest.raises(AssertionError):
        next(test for key, test in names.items() if key.startswith("test_"))()
    assert not hunt(ins, mmas=40, seed=1, against="sm_100", show=False).found
