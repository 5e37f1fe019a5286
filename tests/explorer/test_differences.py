"""Chips that differ: the fills that show it, the search for inputs, and where two traces part."""

from __future__ import annotations

import itertools
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.differences.search import find_difference as search
from ptxlab.explorer.documents.fills import patterns
from ptxlab.explorer.documents.product_document import ChipChoice
from ptxlab.explorer.edits import FillMatrix, SetChips, SetOption
from ptxlab.explorer.page.trace_data import find_difference
from ptxlab.explorer.state import ExplorerState
from ptxlab.instruction import register_instructions
from ptxlab.numerics.emulate import model_of
from ptxlab.numerics.steps import Trace
from ptxlab.numerics.trace import find_divergence
from tests.cases import each, refuses
from tests.sampling import one_in

HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
FP8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
SPARSE = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
SPARSE_FP8 = "mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32"
S8 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
QUADS = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::{}.f32.e2m1.e2m1.f32.{}"
FLOAT_FILLS = ("normal", "wide exponents", "cancelling")


def mma_instructions() -> list[Any]:
    return [ins for ins in register_instructions() if hasattr(ins, "d")]


#: A form of every family, K and types, of each `.kind`.
FORMS = list({
    (ins.family, ins.k, ins.a_type, ins.b_type, ins.d_type, ins.c_type, ins.kind, ins.scale_type): ins
    for ins in sorted(mma_instructions(), key=lambda ins: -ins.n)
}.values())  # fmt: skip
FLOATS = list({
    (ins.family.startswith("wgmma"), ins.sparse, ins.a_type, ins.d_type, ins.kind, ins.scale_type): ins
    for ins in FORMS
    if ins.a.dtype.is_float
}.values())  # fmt: skip


def filled(mnemonic: str, pattern: str, seed: int = 3) -> ExplorerState:
    state = ExplorerState(ptxlab.instruction(mnemonic), seed)
    for name in ("A", "B"):
        FillMatrix(name, pattern).apply(state)
    return state


# -- fills -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", FLOAT_FILLS)
@pytest.mark.slow
def test_every_float_type_takes_the_fills_and_nothing_overflows(pattern: str) -> None:
    """A, B and, where it takes it, C and scale factors: finite numbers of the type, and a finite D."""
    types = set()
    for ins in FLOATS:
        state = ExplorerState(ins, seed=1)
        types |= {ins.a_type, ins.b_type}
        for name in state.operation.names:
            if pattern in patterns(name, state.operation.operand(name).dtype):
                FillMatrix(name, pattern).apply(state)
                values = state.values(name).astype(float)
                assert np.isfinite(values).all() and np.count_nonzero(values), (ins.mnemonic, name)
        assert pattern in patterns("A", ins.a.dtype) and pattern in patterns("B", ins.b.dtype)
        assert np.isfinite(state.values("D").astype(float)).all(), ins.mnemonic
    assert types == {"f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}


def test_normal_numbers_are_normal() -> None:
    values = np.concatenate([filled(HALF, "normal", seed).values("A").ravel() for seed in range(20)])
    assert abs(values.mean()) < 0.05 and abs(values.std() - 1) < 0.05
    assert abs((np.abs(values) < 1).mean() - 0.683) < 0.02


def test_wide_exponents_reach_over_the_range_of_the_type() -> None:
    """Those of bf16 over half of the range in which products fit f32; in a row only as alignment reaches."""
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
    state = filled(ins.mnemonic, "wide exponents")
    exponents = np.frexp(state.values("A").astype(float))[1]
    assert np.ptp(exponents) > 60 and np.ptp(exponents, axis=1).max() <= 29
    fp8 = np.frexp(filled(FP8, "wide exponents").values("A").astype(float))[1]
    assert (fp8.min(), fp8.max()) == (-8, 9)  # from the smallest subnormal of e4m3 to its largest numbers


@pytest.mark.parametrize("mnemonic", [HALF, FP8, SPARSE, SPARSE_FP8, QUADS])
def test_cancelling_products_cancel(mnemonic: str) -> None:
    """The sums are far smaller than the largest products: those cancel, also after pruning."""
    state = filled(mnemonic, "cancelling")
    A, B = (state.values(name).astype(float) for name in "AB")
    largest = np.abs(A).max(axis=1) * np.abs(B).max()
    assert (np.abs(state.values("D").astype(float)).max(axis=1) < largest / 4).all()


@each("mnemonic", [HALF, FP8, SPARSE, SPARSE_FP8, QUADS])
@each("pattern", FLOAT_FILLS)
def test_the_fills_show_that_chips_differ(mnemonic: str, pattern: str) -> None:
    state = filled(mnemonic, pattern)
    counts = [
        int(state.comparison(one, other).differ.sum())
        for one, other in itertools.combinations(state.chip_choice.models, 2)
        if model_of(state.ins, one).rule != model_of(state.ins, other).rule
    ]
    assert max(counts) > 16


def test_scale_factors_are_positive_and_spread() -> None:
    for form, scale_type in (("4X", "ue4m3"), ("2X", "ue8m0")):
        state = ExplorerState(ptxlab.instruction(SCALED.format(form, scale_type)))
        for name, pattern in itertools.product(("SFA", "SFB"), ("normal", "wide exponents")):
            FillMatrix(name, pattern).apply(state)
            values = state.values(name).astype(float)
            assert (values > 0).all() and len(np.unique(values)) > 3


def test_integers_take_the_normal_fill_only_and_say_why() -> None:
    state = filled(S8, "normal")
    assert set(np.unique(state.values("A"))) <= set(range(-9, 10)) and state.values("A").std() > 2
    for name, pattern, reason in (
        ("A", "wide exponents", "s8 has no exponent"),
        ("B", "cancelling", "sums of s8 are exact on every chip"),
        ("C", "cancelling", "C is one term of each sum"),
    ):
        with pytest.raises(PtxlabError, match=reason) as error:
            FillMatrix(name, pattern).apply(state)
        assert "it takes zeros, ones" in str(error.value)
    bits = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc"))
    with pytest.raises(PtxlabError, match="b1 holds only 0 and 1"):
        FillMatrix("A", "normal").apply(bits)
    scaled = ExplorerState(ptxlab.instruction(SCALED.format("4X", "ue4m3")))
    with pytest.raises(PtxlabError, match="scale factors are positive"):
        FillMatrix("SFA", "cancelling").apply(scaled)


@pytest.mark.parametrize("mnemonic", [HALF, SPARSE_FP8, SCALED.format("4X", "ue4m3")])
def test_a_link_names_these_fills_too(mnemonic: str) -> None:
    ex = ptxlab.explore(mnemonic, seed=9)
    plain = len(ex.link)
    for name, pattern in (("B", "cancelling"), ("A", "wide exponents"), ("C", "normal"), ("A", "cancelling")):
        ex.apply(FillMatrix(name, pattern))
    again = ptxlab.explore(ex.link)
    assert len(ex.link) < plain + 120 and again.link == ex.link
    for name in ex.state.operation.arrays:
        np.testing.assert_array_equal(again.registers[name], ex.registers[name])


# -- the search ------------------------------------------------------------------------------------------


def pairs() -> list[Any]:
    """One pair of chips for every two rules that chips follow for the same form."""
    chosen: dict[tuple[Any, ...], Any] = {}
    for ins in FORMS:
        for one, other in itertools.combinations(ChipChoice(ins).models, 2):
            rules = frozenset((model_of(ins, one).rule, model_of(ins, other).rule))
            kind = (rules, ins.family, ins.a_type, ins.d_type) if len(rules) > 1 else (rules, ins.family)
            chosen.setdefault(kind, (ins, one, other))
    return list(chosen.values())


@each("ins, one, other", one_in(12, pairs()), ids=str)
@pytest.mark.slow
def test_two_chips_differ_or_follow_one_rule(ins: Any, one: str, other: str) -> None:
    state = ExplorerState(ins)
    SetChips(one, other).apply(state)
    before, history = state.operation, len(state.history.past)
    assert not state.comparison().differ.any()
    same = model_of(ins, one).rule == model_of(ins, other).rule
    finding = find_difference(state, seconds=5)
    assert bool(finding) is not same
    if same:
        assert str(finding) == f"{one} and {other} use the same rule for this instruction: they always agree"
        assert state.operation is before
        return
    differ = state.comparison().differ
    assert finding.cell == tuple(np.argwhere(differ)[0]) and finding.sentence.startswith(f"{one} and {other}")
    assert state.operation.modifiers == before.modifiers and len(state.history.past) == history + 1
    used = sum(np.count_nonzero(state.values(name)) for name in ("A", "B", "C"))
    assert used < 40  # a small case
    traces = [state.trace(*finding.cell, chip) for chip in (one, other)]
    assert all_lost(traces[0]) != all_lost(traces[1]) and find_divergence(*traces) is not None
    assert state.undo() and state.operation is before


def all_lost(trace: Trace) -> Fraction:
    """What terms and results lose, all together."""
    return sum(
        (sum((term.lost for term in step.terms), -(step.change or Fraction(0))) for step in trace.steps),
        Fraction(0),
    )


@pytest.mark.slow
def test_the_search_ends_in_time_and_is_the_same_for_a_seed() -> None:
    ins = ptxlab.instruction(HALF)
    start = time.monotonic()
    report = search(ins, "sm_80", "sm_86", seconds=0.2)  # one rule: nothing to find
    assert report.case is None and report.mmas > 0 and time.monotonic() - start < 2
    cases = [search(ins, "sm_90", "sm_80", seconds=30, seed=4).case for _ in range(2)]
    assert cases[0] is not None and cases[1] is not None
    codes = [{name: codes.tobytes() for name, codes in case.codes.items()} for case in cases if case]
    assert codes[0] == codes[1]
    assert sum(len(cases[0].changed_cells(name)) for name in cases[0].codes) < 8
    hasty = search(ins, "sm_90", "sm_80", seconds=1e-9, seed=4)
    assert hasty.case is None and hasty.mmas == 0


def test_find_from_python_and_from_the_page() -> None:
    ex = ptxlab.explore(HALF)
    refuses("D is compared with nothing; choose a chip to compare sm_90 with", ex.find_difference)
    refuses("seconds", ex.find_difference, seconds="soon")
    ex.against = "sm_90"
    assert not ex.find_difference() and "compared with itself" in ex.view.notice
    ex.against, before = "sm_80", ex.A
    ex.selection = "A", 3, 3
    answers: list[Any] = []
    ex.view.send = lambda content, buffers=None: answers.append(content)
    ex.page._handle_custom_msg({"type": "find_difference"}, None)
    assert answers == [{"searched": True}] and ex.view.problem == ""
    assert ex.differ.sum() == 1 and ex.view.notice.startswith("sm_90 and sm_80 differ in 1 cell of D: D[")
    assert ex.selection["name"] == "D" and ex.differ[ex.selection["row"], ex.selection["column"]]
    assert len(ex.link) < 600  # the longer, the less of its second a busy machine had to make it small
    found = ex.A
    assert ex.find_difference().sentence.startswith("sm_90 and sm_80 already differ in 1 cell")
    np.testing.assert_array_equal(ex.A, found)
    ex.undo()
    np.testing.assert_array_equal(ex.A, before)
    assert ex.view.notice == "" and not ex.differ.any()
    ex.against = None
    ex.page._handle_custom_msg({"type": "find_difference"}, None)
    assert ex.view.problem.startswith("D is compared with nothing") and answers[-1] == {"searched": True}


def test_modifiers_stay() -> None:
    state = ExplorerState(ptxlab.instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    SetOption("selector", 1).apply(state)
    SetChips("sm_90", "sm_80").apply(state)
    assert find_difference(state, seconds=5)
    assert state.options["selector"] == 1 and state.comparison().differ.any()


# -- why, side by side -----------------------------------------------------------------------------------


def test_the_page_gets_both_chips_and_the_place_at_which_they_part() -> None:
    ex = ptxlab.explore(HALF)
    A = np.zeros((16, 16))
    A[2, :3] = 1024, -1024, 2.0**-15
    ex.A, ex.B, ex.against, ex.selection = A, np.ones((16, 8)), "sm_80", ("D", 2, 5)
    ex.view.tracing = True
    trace = ex.view.trace
    assert trace["lead"].startswith(
        "They diverge at A[2][2] B[2][5]: sm_90 keeps all of 3.05175781e-05, sm_80 cuts"
    )
    hopper, ampere = trace["columns"]
    assert hopper["heading"] == "sm_90 Hopper: 3.0517578e-05 = 0x38000000"
    assert ampere["heading"] == "sm_80 Ampere: 0 = 0x00000000"
    assert hopper["parts"] == ampere["parts"] == [0, 3] and trace["grids"] == []
    for column in (hopper, ampere):
        step, row = column["parts"]
        assert dict(column["grids"][step]["rows"])[row].startswith("A[2][2]\N{NO-BREAK SPACE}B[2][5]")
    assert [len(column["grids"]) for column in (hopper, ampere)] == [2, 3]  # with the register of D
    ex.against = None
    assert "columns" not in ex.view.trace and ex.view.trace["grids"]


def test_what_is_rounded_between_two_steps_parts_two_chips() -> None:
    """f16 sums: Ampere rounds after eight products, Hopper after all sixteen."""
    ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
    A, B = np.zeros((16, 16)), np.ones((16, 8))
    A[0, [0, 1, 8]] = 2048, 1, 1  # 2049 is a tie in f16
    hopper, ampere = (ins.trace(A, B, None, 0, 0, model=chip) for chip in ("sm_90", "sm_80"))
    assert (hopper.value, ampere.value) == (2050, 2048)
    divergence = find_divergence(hopper, ampere)
    assert divergence is not None and divergence.owner == 1
    assert (divergence.places[1].step, divergence.places[1].result, divergence.places[0].step) == (0, True, 0)
    from ptxlab.views.trace_text import divergence_text

    words = divergence_text(hopper, ampere, divergence)
    assert words == (
        "They diverge where sm_80 has added k 0..7 and the sum is rounded to nearest even: 2049 becomes 2048"
    )


def test_chips_of_one_rule_never_part() -> None:
    state = filled(HALF, "wide exponents")
    for row, column in ((0, 0), (9, 5)):
        assert find_divergence(state.trace(row, column, "sm_80"), state.trace(row, column, "sm_86")) is None


@pytest.mark.parametrize("mnemonic", [HALF, FP8, SPARSE_FP8, QUADS])
@pytest.mark.slow
def test_traces_that_differ_part_somewhere(mnemonic: str) -> None:
    state = filled(mnemonic, "wide exponents")
    for one, other in itertools.combinations(state.chip_choice.models, 2):
        for row, column in np.argwhere(state.comparison(one, other).differ)[:3].tolist():
            traces = [state.trace(row, column, chip) for chip in (one, other)]
            divergence = find_divergence(*traces)
            assert divergence is not None
            for trace, place in zip(traces, divergence.places, strict=True):
                assert 0 <= place.step < len(trace.steps)
            mirrored = find_divergence(*reversed(traces))
            assert mirrored is not None and mirrored.places == divergence.places[::-1]


def test_chips_that_agree_lose_what_there_is_to_lose() -> None:
    """Nothing of small whole numbers, nothing of an infinity; what is below the cut of both."""
    from ptxlab.numerics.trace import find_divergence
    from ptxlab.views.trace_text import divergence_text

    ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    for values, words in {
        (1, 2, 3): "lose no bits and agree",
        (np.inf, 1, 1): "lose no bits and agree",
        (1024, 0, 2.0**-20): "lose the same bits",
    }.items():
        A = np.zeros((16, 16))
        A[0, :3] = values
        traces = [ins.trace(A, np.ones((16, 8)), None, 0, 0, model=chip) for chip in ("sm_90", "sm_80")]
        assert divergence_text(*traces, find_divergence(*traces)) == f"sm_90 and sm_80 {words}"
