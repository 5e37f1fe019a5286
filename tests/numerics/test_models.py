"""The models of all chips: complete, each with its evidence, and equal to what others recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptxlab import Instruction, inputs, instruction, models
from ptxlab.cli import main
from ptxlab.course.exercises.what_the_chip_runs import summaries
from ptxlab.instruction import mma_instruction, mma_instructions
from ptxlab.isa.chips import ALL_CHIPS
from ptxlab.isa.targets import CHIPS, GENERATIONS
from ptxlab.numerics import EmulatedThroughF16, Fused, has, model_for
from ptxlab.numerics.emulate import emulate
from ptxlab.simulator.peaks import PEAKS
from ptxlab.simulator.timing.chip_timings import CHIP_TIMINGS
from ptxlab.views import model_table, rule_words
from tests.cases import each, refuses
from tests.numerics import reference
from tests.sampling import every_third, one_in

HALF = instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
SHORT = instruction("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
QUAD = instruction("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32")
NARROW = instruction("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
BRAIN = instruction("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")


def corner(ins: Instruction, chip: str, pairs: dict[int, tuple[float, float]], c: float = 0.0) -> float:
    """D[0][0] on a chip: row 0 of A and column 0 of B hold these pairs, by their k, and zeros elsewhere."""
    A, B, C = np.zeros(ins.a.shape), np.zeros(ins.b.shape), np.zeros(ins.c.shape)
    for k, (x, y) in pairs.items():
        A[0, k], B[k, 0] = x, y
    C[0, 0] = c
    return float(ins.d.unpack(ins.emulate(ins.a.pack(A), ins.b.pack(B), ins.c.pack(C), model=chip))[0, 0])


# -- complete --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_form_that_a_chip_has_is_modelled_and_every_other_is_refused() -> None:
    used = set()
    for number, ins in enumerate(mma_instructions()):
        refusing = one_in(6, [chip for chip in GENERATIONS if not has(ins, chip)], number)
        for chip in GENERATIONS:
            if has(ins, chip):
                used.add(model_for(ins, chip))
            elif chip in refusing:
                refuses(f"model '{chip}'(: that chip lacks | has no arithmetic for )", model_for, ins, chip)
    assert used == {model for model in models() if not model.families[0].startswith("tcgen05")}


def test_a_declared_chip_has_what_it_needs() -> None:
    """What the recipe in CONTRIBUTING names, for each row of `ALL_CHIPS`."""
    modelled = {model.chip for model in models()}
    recorded = {target for _, target in summaries()}
    for name, chip in ALL_CHIPS.items():
        assert (chip.code_of or name) in modelled or not chip.has_model, f"no rule of arithmetic for {name}"
        assert 64 <= chip.shared <= 227, f"shared memory of a block on {name}"
        for card in chip.cards:
            figures = (card.sms, card.clock, card.tensor, card.fma, card.dram, card.l2_bytes)
            assert all(figures) == any(figures) == bool(card.source), f"peaks of {card.name} and their source"
    assert set(CHIPS.values()) <= recorded, "`make chips` records what a generation runs"
    assert CHIP_TIMINGS.keys() <= PEAKS.keys()


def test_models_exist_for_the_chips_that_have_an_instruction() -> None:
    assert CHIPS.keys() <= GENERATIONS.keys()
    assert all(
        has(ins, chip) == ins.supports(target)
        for ins in mma_instructions("mma")
        for chip, target in CHIPS.items()
    )
    volta = [ins for ins in mma_instructions() if has(ins, "sm_70")]
    assert {(ins.family, ins.a_type) for ins in volta} == {("mma", "f16"), ("wmma", "f16")}
    assert {ins.shape for ins in volta if ins.family == "mma"} == {"m8n8k4"}
    assert all(ins.supports("sm_75") for ins in volta)
    refuses("unknown model 'sm_60'; there are sm_70, sm_75", has, HALF, "sm_60")


def test_only_what_was_measured_has_a_count() -> None:
    assert {model.chip for model in models() if model.evidence == "measured"} == {"sm_90"}
    assert all((model.mmas >= 1000) == (model.evidence == "measured") for model in models())
    assert all(model.source and rule_words(model.rule) for model in models())
    assert {model.generation for model in models()} == {
        "Volta",
        "Turing",
        "Ampere",
        "Ada",
        "Hopper",
        "Blackwell",
        "RTX Blackwell",
    }


def test_words_follow_the_numbers() -> None:
    for model, row in zip(models(), model_table().records(), strict=True):
        words = rule_words(model.rule)
        step = model.rule.step if isinstance(model.rule, EmulatedThroughF16) else model.rule
        if isinstance(step, Fused):
            assert f"{step.fraction_bits} bits below" in words["alignment"]
            assert str(step.floor) in words["floor"]
            assert isinstance(model.rule, EmulatedThroughF16) or str(step.depth or "one") in words["steps"]
            assert ("13 fraction bits" in words["rounding"]) == (step.result_bits == 13)
        assert all(text in row["rule"] for text in words.values())
        assert row["chip"].startswith(model.chip)


def test_the_command_line_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(row["chip"], row["evidence"], row["MMAs"]) for row in listed] == [
        (model.chip, model.evidence, model.mmas) for model in models()
    ]
    assert main(["models", "--chip", "sm_89"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("sm_89 (Ada)\n")
    assert "f32 is truncated toward zero to 13 fraction bits" in printed
    assert main(["models", "--chip", "sm_1"]) == 1


# -- results of real chips, published by others ----------------------------------------------------------

#: Some of the results recorded by Khattak and Mikaitis 2025 (arXiv 2512.07004; repository MATLAB-tensor-core,
#: model_validation): codes of a row of A, a column of B, C and D, chosen to tell similar models apart.
PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text())
SHAPES = {"f16": "m16n8k8", "bf16": "m16n8k8", "tf32": "m16n8k4", "e4m3": "m16n8k32", "e5m2": "m16n8k32"}


def split(text: str, count: int) -> list[int]:
    """The codes that are written one after the other, in hexadecimal."""
    width = len(text) // count
    return [int(text[i : i + width], 16) for i in range(0, len(text), width)]


def instructions_of(case: dict[str, Any]) -> list[Instruction]:
    """The mma, and the wmma where there is one, that a published case was computed with."""
    dtype, result = case["inputs"], case["result"]
    shape = SHAPES[dtype]
    if case["chip"] == "sm_70":
        shape = "m8n8k4"
    elif case["chip"] == "sm_100" and dtype in ("f16", "bf16"):
        shape = "m16n8k16"
    mnemonics = [f"mma.sync.aligned.{shape}.row.col.{result}.{dtype}.{dtype}.{result}"]
    if dtype == "f16":
        mnemonics.append(f"wmma.mma.sync.aligned.row.col.m16n16k16.{result}.{result}")
    return [mma_instruction(mnemonic) for mnemonic in mnemonics]


def products_of(case: dict[str, Any]) -> int:
    """How many products a published case adds."""
    if case["inputs"] in ("f16", "bf16"):
        return {"sm_70": 4, "sm_100": 16}.get(case["chip"], 8)
    return 4 if case["inputs"] == "tf32" else 32


@each("case", PUBLISHED, ids=lambda case: f"{case['card']} {case['inputs']} {case['result']}")
def test_models_give_what_others_recorded(case: dict[str, Any]) -> None:
    count = products_of(case)
    for ins in instructions_of(case):
        a, b, c = (
            np.zeros((len(case["rows"]), *operand.shape), dtype=operand.dtype.code_type)
            for operand in (ins.a, ins.b, ins.c)
        )
        for i, (left, right, start, _) in enumerate(case["rows"]):
            a[i, 0, :count] = split(left, count)
            b[i, :count, 0] = split(right, count)
            c[i, 0, 0] = int(start, 16)
        d = ins.emulate(ins.a.pack_codes(a), ins.b.pack_codes(b), ins.c.pack_codes(c), model=case["chip"])
        recorded = [int(row[3], 16) for row in case["rows"]]
        assert list(map(hex, ins.d.unpack_codes(d)[:, 0, 0].tolist())) == list(map(hex, recorded))


#: Fasi et al. 2021, "Features of the accumulator" and "Rounding modes": pairs of A and B, C, and D on a V100
#: and on a T4 and an A100.
ONE_BELOW, TINY = 1 - 2**-24, 2.0**-24
PAPER: list[tuple[str, dict[int, tuple[float, float]], float, float, float]] = [
    ("one bit more in the alignment", {0: (1, 1)}, -ONE_BELOW, 2.0**-23, 2.0**-24),
    ("not normalised after a subtraction", {0: (1, 1), 1: (1, -TINY)}, -ONE_BELOW, 2.0**-23, 0.0),
    ("normalised at the end of a sum", dict.fromkeys(range(4), (1, TINY)), ONE_BELOW, 1 + 2**-23, 1 + 2**-23),
    ("halves of the last bit are lost", dict.fromkeys(range(4), (0.5, TINY)), 1.0, 1.0, 1.0),
    ("toward zero from above", {0: (1, 2), 1: (1, 3 * TINY)}, 0.0, 2.0, 2.0),
    ("toward zero from below", {0: (1, -2), 1: (1, -3 * TINY)}, 0.0, -2.0, -2.0),
    ("carries", {0: (1, 1), 1: (1, 1.5), 2: (1, 1.75), 3: (1, 1.875)}, 1.875, 8.0, 8.0),
    ("cut after the carries", dict.fromkeys(range(4), (1, 1)), 1 + 3 * 2.0**-23, 5.0, 5.0),
]


@pytest.mark.parametrize(
    ("pairs", "c", "volta", "later"), [row[1:] for row in PAPER], ids=[row[0] for row in PAPER]
)
def test_examples_of_the_paper(
    pairs: dict[int, tuple[float, float]], c: float, volta: float, later: float
) -> None:
    assert corner(QUAD, "sm_70", pairs, c) == volta
    for ins, chip in ((QUAD, "sm_75"), (SHORT, "sm_75"), (SHORT, "sm_80"), (HALF, "sm_86")):
        assert corner(ins, chip, pairs, c) == later


# -- the same inputs on two chips ------------------------------------------------------------------------

KEPT_BITS = [
    (QUAD, "sm_70", 23),
    (SHORT, "sm_75", 24),
    (HALF, "sm_80", 24),
    (HALF, "sm_86", 24),
    (HALF, "sm_89", 24),
    (HALF, "sm_90", 25),
    (HALF, "sm_100", 25),
    (HALF, "sm_120", 25),
]


@pytest.mark.parametrize(
    ("ins", "chip", "kept"), KEPT_BITS, ids=[f"{chip} {kept}" for _, chip, kept in KEPT_BITS]
)
def test_bits_kept_below_the_largest(ins: Instruction, chip: str, kept: int) -> None:
    """1 - 2^-bit is less than 1 exactly where that bit is kept; f32 then has 1 - 2^-24 at the most."""
    for bit in range(20, 28):
        d = corner(ins, chip, {0: (1, 1), 1: (2.0**-13, -(2.0 ** (13 - bit)))})
        assert d == (1 - 2.0 ** -min(bit, 24) if bit <= kept else 1.0), bit


def test_where_k_is_split() -> None:
    """2^24 + 1 + 1: a step that has both ones keeps them, a step that ends between them loses each."""
    lost, kept = 2.0**24, 2.0**24 + 2

    def with_one_at(ins: Instruction, chip: str, *positions: int) -> list[float]:
        return [corner(ins, chip, {0: (1, 1), k: (1, 1)}, lost) for k in positions]

    for chip in ("sm_80", "sm_86", "sm_89"):
        assert with_one_at(HALF, chip, 1, 7, 8, 15) == [kept, kept, lost, lost]
    for chip in ("sm_90", "sm_100"):
        assert with_one_at(HALF, chip, 1, 7, 8, 15) == [kept, kept, kept, kept]
    wmma = instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
    assert with_one_at(wmma, "sm_70", 5) == [lost]
    assert with_one_at(wmma, "sm_75", 5) == [kept]
    tf32 = instruction("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
    assert with_one_at(tf32, "sm_80", 4) == [lost]
    assert with_one_at(tf32, "sm_90", 4) == [kept]
    wmma_tf32 = instruction("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32")
    for chip in ("sm_80", "sm_90", "sm_120"):
        assert with_one_at(wmma_tf32, chip, 4) == [lost]


def test_steps_go_up_in_k() -> None:
    """C is 2^24. A 1 in the first half of K is lost beside it, before -2^24 follows in the second half.

    The other way round the 1 is kept.
    """
    one, opposite = (1, 1), (2.0**12, -(2.0**12))
    for chip, result in (("sm_80", 0.0), ("sm_90", 1.0)):
        assert corner(HALF, chip, {0: one, 8: opposite}, 2.0**24) == result
        assert corner(HALF, chip, {0: opposite, 8: one}, 2.0**24) == 1.0


def test_sparse_steps_count_stored_products() -> None:
    ins = instruction("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
    A, B, C = np.zeros((16, 32)), np.ones((32, 8)), np.full((16, 8), 2.0**24)
    A[0, [0, 12]], A[1, [0, 16]] = 1, 1
    assert ins(A, B, C, model="sm_80")[:2, 0].tolist() == [2.0**24 + 2, 2.0**24]
    assert ins(A, B, C, model="sm_90")[:2, 0].tolist() == [2.0**24 + 2] * 2


@pytest.mark.parametrize(
    ("pairs", "c", "ada", "later"),
    [
        ({0: (1, 1), 1: (2.0**-6, 2.0**-8)}, 0.0, 1.0, 1 + 2.0**-14),
        ({0: (1, 1)}, 1 + 2.0**-14, 2.0, 2 + 2.0**-14),
        ({0: (1, 1), 1: (1, 1)}, 2.0**24, 2.0**24, 2.0**24 + 2),
        ({0: (1, 1), 1: (1, 0.5)}, 2.0**24 - 1, 2.0**24 - 2**10, 2.0**24),
    ],
)
def test_fp8_on_ada_and_later(
    pairs: dict[int, tuple[float, float]], c: float, ada: float, later: float
) -> None:
    """Ada keeps 13 bits; Hopper and Blackwell compute in f16 and add C last, RTX Blackwell keeps 25 bits."""
    ins = instruction("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
    assert corner(ins, "sm_89", pairs, c) == ada
    for chip in ("sm_90", "sm_100", "sm_120"):
        assert corner(ins, chip, pairs, c) == later


@pytest.mark.parametrize("chip", ["sm_80", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_floor_of_the_exponent(chip: str) -> None:
    """2^-149 - 2^-157, and in f16 2^-25 + 2^-45: whether the small term is kept decides the last bit."""
    keeps_it = chip in ("sm_90", "sm_100", "sm_120")
    difference = {0: (2.0**-74, 2.0**-75), 1: (2.0**-78, -(2.0**-79))}
    assert corner(BRAIN, chip, difference) == (0 if keeps_it else 2.0**-149)
    above_a_tie = {0: (2.0**-12, 2.0**-13), 1: (2.0**-21, 2.0**-24)}
    assert corner(NARROW, chip, above_a_tie) == (2.0**-24 if keeps_it else 0)


# -- against the reference in exact fractions ------------------------------------------------------------

SAMPLES = [
    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f16",
    "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16",
    SHORT.mnemonic,
    NARROW.mnemonic,
    BRAIN.mnemonic,
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e4m3.f16",
    "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32",
    "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32",
    "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32",
    "mma.sp.sync.aligned.m16n8k64.row.col.f32.e5m2.e5m2.f32",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32",
    "wmma.mma.sync.aligned.row.col.m32n8k16.f32.f16",
    "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32",
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
]
ON_CHIPS = [
    (ins, chip)
    for ins in map(instruction, SAMPLES)
    for chip in GENERATIONS
    if has(ins, chip) and chip != "sm_90"
]


@pytest.mark.slow
@each("ins, chip", ON_CHIPS, ids=[f"{chip} {ins.mnemonic}" for ins, chip in ON_CHIPS])
def test_floats_equal_the_scalar_reference(ins: Instruction, chip: str) -> None:
    rule = model_for(ins, chip).rule
    for category in every_third(inputs.categories(ins), ON_CHIPS.index((ins, chip))):
        operands = inputs.make(ins, category, 1, seed=8).item(0)
        d = ins.d.unpack_codes(emulate(operands, model=chip))
        problem = reference.Problem(operands)
        for i in range(0, ins.d.shape[0], 5):
            for j in range(i % 3, ins.d.shape[1], 4):
                expected = problem.expected(rule, i, j)
                assert d[i, j] == expected, f"{category} D[{i}][{j}]: 0x{d[i, j]:x}, not 0x{expected:x}"


def test_scales_that_nobody_has_published_are_assumed() -> None:
    """4X with ue8m0 came with PTX ISA 9.1, after the published models."""
    fp4 = "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32"
    for name in ("mma.sync.aligned.m16n8k64", "mma.sp::ordered_metadata.sync.aligned.m16n8k128"):
        younger, older = (
            model_for(mma_instruction(f"{name}.row.col.{fp4}.{scale}"), "sm_120")
            for scale in ("ue8m0", "ue4m3")
        )
        assert younger.evidence == "assumed" and younger.rule == older.rule
    assert older.evidence == "assumed" and younger.scales == ("4X ue8m0",)
