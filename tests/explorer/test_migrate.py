"""What stays when another instruction is chosen: many pairs of the catalogue, and notices by hand."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import Instruction
from ptxlab.explorer.edits import FillMatrix, SetCell, SetCodes, SetOption, SetRegisters, SetValues
from ptxlab.explorer.migrate import migrate_operands, nearest_codes
from ptxlab.explorer.state import ExplorerState
from ptxlab.instruction import mma_instructions
from ptxlab.isa.dtypes import DTYPES, DType, dtype
from tests.cases import each
from tests.sampling import EXHAUSTIVE
from tests.texts import replaced

DENSE = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
BYTES = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
ANY_ORDER = "mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
HALF = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
QUADS = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32"
MXF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
NVF4 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
WIDE = "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16"

#: One form of every family, shape, types and kind: of those with many N a narrow and a wide one.
FORMS = [
    *{
        (i.family, i.m, i.k, i.a_type, i.b_type, i.d_type, i.c_type, i.kind, i.scale_vec, i.ordered): i
        for i in mma_instructions()
        if i.n <= 32
    }.values(),
    ptxlab.instruction(WIDE).a_from("shared"),
    ptxlab.instruction("wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16").a_from("shared"),
]
FAMILIES = sorted({ins.family for ins in FORMS})


def chosen(family: str, purpose: str) -> list[Instruction]:
    """A few forms of a family, by a hash of their names: a new row of the catalogue replaces at most one."""

    def digest(ins: Instruction) -> bytes:
        return hashlib.sha256(f"{purpose} {ins}".encode()).digest()

    return sorted((ins for ins in FORMS if ins.family == family), key=digest)[: 26 if EXHAUSTIVE else 3]


#: Some pairs of every two families, in both directions.
PAIRS = [
    pair
    for one in FAMILIES
    for other in FAMILIES
    for pair in zip(chosen(one, f"to {other}"), chosen(other, f"from {one}"), strict=False)
]


def state_of(text: str | Instruction) -> ExplorerState:
    return ExplorerState(ptxlab.instruction(text))


def touched(text: str) -> ExplorerState:
    """An Explorer state in which A and B are no longer those that it began with."""
    made = state_of(text)
    for name in ("A", "B"):
        FillMatrix(name, "random").apply(made)
    return made


def holds(kind: DType, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Whether a type has these values: by looking at all of its values, or by rounding there and back."""
    wide = values.astype(np.float64)
    if kind.bits <= 16:
        with np.errstate(invalid="ignore"):
            every = kind.decode(np.arange(1 << kind.bits)).astype(np.float64)
        return np.isin(wide, every[~np.isnan(every)])
    if kind.name == "s32":
        return (wide == np.rint(wide)) & (abs(wide) < 2**31)
    if kind.name == "tf32":
        return wide.astype(np.float32).view(np.uint32) & 0x1FFF == 0
    return wide.astype({"f32": np.float32, "f64": np.float64}[kind.name]).astype(np.float64) == wide


def messy(ins: Instruction, seed: int) -> ExplorerState:
    """Numbers of all sizes, also in C, the last legal modifiers, different scale factors."""
    made, generator = ExplorerState(ins, seed), np.random.default_rng(seed)
    for name in ("A", "B", "C"):
        kind, shape = made.operation.operand(name).dtype, made.operation.operand(name).shape
        numbers = np.where(
            generator.random(shape) < 0.3,
            0,
            generator.integers(-40, 41, shape) * 2.0 ** generator.integers(-3, 3, shape),
        )
        values = kind.decode(nearest_codes(kind, numbers))
        SetValues(name, ins.prune(values) if name == "A" and ins.sparse else values).apply(made)
    for name in ("SFA", "SFB"):
        if name in made.operation.names:
            SetValues(name, 2.0 ** generator.integers(-2, 3, made.operation.operand(name).shape)).apply(made)
    for name in made.options:
        SetOption(name, ins.modifiers[name][-1]).apply(made)
    return made


@each("one, other", PAIRS, ids=lambda pair: f"{pair[0].mnemonic} {pair[1].mnemonic}")
@pytest.mark.slow
def test_what_the_new_type_has_stays_in_the_common_block(one: Instruction, other: Instruction) -> None:
    old, new = messy(one, 1), ExplorerState(other)
    notices = migrate_operands(old, new)
    # Four stacked products meet a single one: the first of them counts.
    alone = one.mma_count != other.mma_count
    for name, lines in (("A", ("m", "k")), ("B", ("k", "n")), ("C", ("m", "n"))):
        sizes = [
            tuple(getattr(ins, line) for line in lines) if alone else state.operation.operand(name).shape
            for ins, state in ((one, old), (other, new))
        ]
        rows, columns = np.min(sizes, axis=0)
        before, after = (
            old.values(name)[:rows, :columns].astype(np.float64),
            new.values(name)[:rows, :columns].astype(np.float64),
        )
        kind = new.operation.operand(name).dtype
        expected = kind.decode(nearest_codes(kind, before)).astype(np.float64)
        assert (expected == before)[holds(kind, before)].all()
        if name == "A" and other.sparse:
            whole = np.zeros(new.operation.operand("A").shape)
            whole[:rows, :columns] = expected
            expected = other.prune(whole)[:rows, :columns]
        assert np.array_equal(after, expected), name
        outside = new.values(name).astype(np.float64)
        outside[:rows, :columns] = 0
        assert not outside.any(), name
        same = (
            np.array_equal(before, after)
            and old.operation.operand(name).shape == new.operation.operand(name).shape
        )
        assert same != any(sentence.startswith(f"{name}:") for sentence in notices), notices
    for name, value in new.options.items():
        if old.options.get(name) in other.modifiers[name]:
            assert value == old.options[name]
    assert new.comparison().codes.shape == other.d.shape
    assert all(len(sentence) < 110 for sentence in notices)


@each("ins", FORMS[::9], ids=lambda ins: f"{ins.family}-{ins.shape}-{ins.d_type}.{ins.a_type}.{ins.b_type}")
@pytest.mark.slow
def test_all_of_it_comes_back(ins: Instruction) -> None:
    """To the same instruction every bit is carried, and nothing is noticed."""
    old, new = messy(ins, 2), ExplorerState(ins, 9)
    random_bits = np.random.default_rng(0)
    for name, operand in ins.operands.items():
        if operand.layout is not None and name not in ("D", "E"):
            like = old.registers(name)
            SetRegisters(
                name,
                random_bits.integers(
                    0, np.iinfo(like.dtype).max, like.shape, dtype=np.uint64, endpoint=True
                ).astype(like.dtype),
            ).apply(old)
    assert migrate_operands(old, new) == []
    assert new.options == old.options
    assert all(np.array_equal(new.registers(name), old.registers(name)) for name in ins.operands)


# -- numbers ---------------------------------------------------------------------------------------------


@each("kind", [kind for kind in DTYPES.values() if kind.bits <= 16], ids=str)
def test_the_nearest_number(kind: DType) -> None:
    """No value of the type is nearer, by looking at all of them."""
    with np.errstate(invalid="ignore"):
        every = kind.decode(np.arange(1 << kind.bits)).astype(np.float64)
    finite = np.unique(every[np.isfinite(every)])
    values = np.concatenate(
        [np.random.default_rng(0).normal(0, scale, 60) for scale in (1e-6, 0.1, 3, 200, 1e5, 1e39)]
    )
    found = kind.decode(nearest_codes(kind, values)).astype(np.float64)
    low = finite[np.clip(np.searchsorted(finite, values, "right") - 1, 0, None)]
    high = finite[np.clip(np.searchsorted(finite, values), None, len(finite) - 1)]
    if kind.name == "ue8m0":  # its neighbours are powers of two
        assert ((found == low) | (found == high)).all()
    else:
        assert np.array_equal(abs(found - values), np.minimum(abs(low - values), abs(high - values)))
    ends = kind.decode(nearest_codes(kind, np.array([np.inf, np.nan]))).astype(np.float64)
    assert ends[0] == (np.inf if np.isinf(every).any() else finite[-1])
    assert np.isnan(ends[1]) if np.isnan(every).any() else ends[1] == 0


def test_wide_types_do_not_overflow() -> None:
    for name, most in (
        ("f32", float(np.finfo(np.float32).max)),
        ("tf32", (2 - 2**-10) * 2.0**127),
        ("s32", 2**31 - 1),
    ):
        assert dtype(name).decode(nearest_codes(dtype(name), np.array([1e300]))).astype(np.float64)[0] == most


# -- what is noticed -------------------------------------------------------------------------------------


def test_smaller_integers() -> None:
    old, new = state_of(BYTES), state_of(DENSE)
    SetValues("A", np.full((16, 32), 9)).apply(old)
    SetValues("B", np.eye(32, 8)).apply(old)
    assert migrate_operands(old, new) == [
        "A: 512 values clamped to -8..7 (s4)",
        "A: columns 32..63 are new and zero",
        "B: rows 32..63 are new and zero",
    ]
    assert new.values("A")[:, :32].min() == 7 and not new.values("A")[:, 32:].any()
    assert np.array_equal(new.values("D"), 7 * np.ones((16, 8)))


def test_floats_are_rounded_and_nan_becomes_zero() -> None:
    old, new = state_of(HALF), state_of("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32")
    matrix = np.zeros((16, 16))
    matrix[0, :5] = 1.5, 1.7, 90, np.nan, -np.inf
    SetValues("A", matrix).apply(old)
    SetValues("B", np.zeros((16, 8))).apply(old)
    assert migrate_operands(old, new) == [
        "A: 2 values clamped to -6..6 (e2m1)", "A: 1 value rounded to e2m1",
        "A: 1 NaN became 0 because e2m1 has no NaN", "A: columns 16..31 are new and zero",
    ]  # fmt: skip
    assert new.values("A")[0, :5].tolist() == [1.5, 1.5, 6, 0, -6]


def test_dense_to_sparse_is_pruned() -> None:
    old, new = state_of(DENSE), state_of(SPARSE)
    SetValues("A", np.tile([1, 2, 3, 4, 0, 0, 5, 0], (16, 8))).apply(old)
    assert migrate_operands(old, new) == ["A: 256 of 640 values pruned to 4:8 pair-wise sparsity"]
    assert new.values("A")[3, :8].tolist() == [0, 0, 3, 4, 0, 0, 5, 0]
    assert np.array_equal(new.values("B"), old.values("B"))


def test_metadata_stays_where_it_can() -> None:
    """A nibble that nothing compels, and one whose order only mma.sp takes."""
    old = state_of(ANY_ORDER)
    SetValues("A", np.zeros((16, 64))).apply(old)
    SetCodes("E", np.full((16, 8), 0b1101)).apply(old)
    SetCell("A", 2, 6, "5").apply(old)
    nibbles = old.codes("E")
    same = state_of(replaced(ANY_ORDER, ".row.col.", ".row.col.satfinite."))
    assert migrate_operands(old, same) == [] and np.array_equal(same.codes("E"), nibbles)
    other = state_of("mma.sp.sync.aligned.m16n8k128.row.col.s32.u4.u4.s32")
    assert not any("pruned" in sentence for sentence in migrate_operands(old, other))
    assert np.array_equal(other.codes("E")[:, :8], nibbles) and other.values("A")[2, 6] == 5

    SetCodes("E", np.where(nibbles == 0b1101, 0b0111, nibbles)).apply(old)
    ordered = state_of(SPARSE)
    assert migrate_operands(old, ordered) == [] and np.array_equal(ordered.values("A"), old.values("A"))


def test_the_first_of_four_products() -> None:
    old, new = touched(QUADS), state_of(HALF)
    notices = migrate_operands(old, new)
    assert (
        "A: rows 8..31 do not fit and were dropped" in notices
        and "B: columns 8..31 do not fit and were dropped" in notices
    )
    assert np.array_equal(new.values("D")[:8], old.values("D")[:8])
    again = state_of(QUADS)
    migrate_operands(new, again)
    assert np.array_equal(again.values("D")[:8], old.values("D")[:8]) and not again.values("D")[8:].any()


def test_the_product_of_what_was_kept_is_the_same() -> None:
    old, new = touched(HALF), state_of(WIDE)
    SetValues("C", np.arange(128).reshape(16, 8)).apply(old)
    migrate_operands(old, new)
    assert np.array_equal(new.values("D")[:16, :8], old.values("D")) and not new.values("D")[16:].any()


def test_what_nobody_touched_is_random_again() -> None:
    """Only what was edited is carried over: beside an edited B stands the new instruction's own A."""
    old, new = state_of(HALF), state_of(WIDE)
    assert migrate_operands(old, new) == []
    assert all(np.array_equal(new.codes(name), state_of(WIDE).codes(name)) for name in ("A", "B", "C"))
    SetCell("B", 0, 0, "2.5").apply(old)
    migrate_operands(old, new)
    assert np.array_equal(new.codes("A"), state_of(WIDE).codes("A"))
    assert np.array_equal(new.values("B")[:, :8], old.values("B")) and not new.values("B")[:, 8:].any()
    same = state_of(replaced(HALF, "f32.f16.f16.f32", "f16.f16.f16.f16"))
    migrate_operands(state_of(HALF), same)
    assert np.array_equal(same.codes("A"), state_of(HALF).codes("A"))


def test_scale_factors_follow_k() -> None:
    old, new = state_of(MXF4), state_of(NVF4)
    SetValues("SFA", np.tile([2.0, 4.0], (16, 1))).apply(old)
    SetOption("byte_id_a", 2).apply(old)
    notices = migrate_operands(old, new)
    assert new.values("SFA")[5].tolist() == [2, 2, 4, 4]
    assert notices == ["byte-id-a is back to 0: this instruction does not take 2"]
    assert np.array_equal(new.values("D"), old.values("D"))

    SetCell("SFA", 5, 1, "8").apply(new)
    back = state_of(MXF4)
    assert migrate_operands(new, back) == ["SFA: 1 of 32 scale factors changed"]
    assert back.values("SFA")[5].tolist() == [2, 4]
    assert "SFA: dropped, this instruction has no block scales" in migrate_operands(new, state_of(DENSE))


def test_modifiers_and_chips(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = state_of(ANY_ORDER), state_of("mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32")
    SetOption("selector", 1).apply(old)
    old.chip_choice.chip, old.chip_choice.against = "sm_80", "sm_89"
    notices = migrate_operands(old, new)
    assert "selector is back to 0: this instruction does not take 1" in notices
    assert (new.chip_choice.chip, new.chip_choice.against) == ("sm_80", "sm_89")
    group = state_of(WIDE)
    notices = migrate_operands(old, group)
    assert "D is computed by sm_90: there is no sm_80 model of this instruction" in notices
    assert group.chip_choice.against is None
    assert "D is no longer compared: there is no sm_89 model of this instruction" in notices
    gpu = state_of(ANY_ORDER)
    old.chip_choice.chip, old.chip_choice.against = "GPU", None
    monkeypatch.setattr(ptxlab.gpu, "available", lambda ins=None: True)
    migrate_operands(old, gpu)
    assert gpu.chip_choice.chip == "GPU"
