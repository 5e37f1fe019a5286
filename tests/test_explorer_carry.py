"""What stays when the instruction changes: over many pairs of the catalogue, and by hand where a sentence is said."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import Instruction
from ptxlab.explorer.migrate import carried, fitted
from ptxlab.explorer.state import Bench
from ptxlab.instruction import mma_instructions
from ptxlab.isa.dtypes import DTYPES, DType, dtype

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
PAIRS = random.Random(5).sample([(one, other) for one in FORMS for other in FORMS], 160)


def bench(text: str | Instruction) -> Bench:
    return Bench(ptxlab.instruction(text))


def touched(text: str) -> Bench:
    """A bench on which A and B are no longer those that it began with."""
    made = bench(text)
    for name in ("A", "B"):
        made.fill(name, "random")
    return made


def holds(kind: DType, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Whether a type has these values, by all that it has where they are few, else by rounding there and back."""
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


def messy(ins: Instruction, seed: int) -> Bench:
    """Numbers of all sizes that the types have, C among them, the last legal modifiers, scale factors of several values."""
    made, generator = Bench(ins, seed), np.random.default_rng(seed)
    for name in ("A", "B", "C"):
        kind, shape = made.operand(name).dtype, made.operand(name).shape
        numbers = np.where(
            generator.random(shape) < 0.3,
            0,
            generator.integers(-40, 41, shape) * 2.0 ** generator.integers(-3, 3, shape),
        )
        values = kind.decode(fitted(kind, numbers))
        made.set_values(name, ins.prune(values) if name == "A" and ins.sparse else values)
    for name in ("SFA", "SFB"):
        if name in made.names:
            made.set_values(name, 2.0 ** generator.integers(-2, 3, made.operand(name).shape))
    for name in made.options:
        made.set_option(name, ins.modifiers[name][-1])
    return made


@pytest.mark.parametrize(
    ("one", "other"),
    PAIRS,
    ids=lambda ins: f"{ins.family}-{ins.shape}-{ins.d_type}.{ins.a_type}.{ins.b_type}",
)
def test_what_the_new_type_has_stays_in_the_common_block(one: Instruction, other: Instruction) -> None:
    old, new = messy(one, 1), Bench(other)
    said = carried(old, new)
    alone = (
        one.mma_count != other.mma_count
    )  # four stacked products meet a single one: the first of them counts
    for name, lines in (("A", ("m", "k")), ("B", ("k", "n")), ("C", ("m", "n"))):
        sizes = [
            tuple(getattr(ins, line) for line in lines) if alone else b.operand(name).shape
            for ins, b in ((one, old), (other, new))
        ]
        rows, columns = np.min(sizes, axis=0)
        before, after = (
            old.values(name)[:rows, :columns].astype(np.float64),
            new.values(name)[:rows, :columns].astype(np.float64),
        )
        kind = new.operand(name).dtype
        expected = kind.decode(fitted(kind, before)).astype(np.float64)
        assert (expected == before)[holds(kind, before)].all()
        if name == "A" and other.sparse:
            whole = np.zeros(new.operand("A").shape)
            whole[:rows, :columns] = expected
            expected = other.prune(whole)[:rows, :columns]
        assert np.array_equal(after, expected), name
        outside = new.values(name).astype(np.float64)
        outside[:rows, :columns] = 0
        assert not outside.any(), name
        same = np.array_equal(before, after) and old.operand(name).shape == new.operand(name).shape
        assert same != any(sentence.startswith(f"{name}:") for sentence in said), said
    for name, value in new.options.items():
        if old.options.get(name) in other.modifiers[name]:
            assert value == old.options[name]
    assert new.result().codes.shape == other.d.shape
    assert all(len(sentence) < 110 for sentence in said)


@pytest.mark.parametrize(
    "ins", FORMS[::9], ids=lambda ins: f"{ins.family}-{ins.shape}-{ins.d_type}.{ins.a_type}.{ins.b_type}"
)
def test_all_of_it_comes_back(ins: Instruction) -> None:
    """To the same instruction every bit is carried, and nothing is said."""
    old, new = messy(ins, 2), Bench(ins, 9)
    random_bits = np.random.default_rng(0)
    for name, operand in ins.operands.items():
        if operand.layout is not None and name not in ("D", "E"):
            like = old.registers(name)
            old.set_registers(
                name,
                random_bits.integers(
                    0, np.iinfo(like.dtype).max, like.shape, dtype=np.uint64, endpoint=True
                ).astype(like.dtype),
            )
    assert carried(old, new) == []
    assert new.options == old.options
    assert all(np.array_equal(new.registers(name), old.registers(name)) for name in ins.operands)


# -- numbers ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in DTYPES.values() if kind.bits <= 16], ids=str)
def test_the_nearest_number(kind: DType) -> None:
    """No value of the type is nearer, by looking at all of them."""
    with np.errstate(invalid="ignore"):
        every = kind.decode(np.arange(1 << kind.bits)).astype(np.float64)
    finite = np.unique(every[np.isfinite(every)])
    values = np.concatenate(
        [np.random.default_rng(0).normal(0, scale, 60) for scale in (1e-6, 0.1, 3, 200, 1e5, 1e39)]
    )
    found = kind.decode(fitted(kind, values)).astype(np.float64)
    low = finite[np.clip(np.searchsorted(finite, values, "right") - 1, 0, None)]
    high = finite[np.clip(np.searchsorted(finite, values), None, len(finite) - 1)]
    if kind.name == "ue8m0":  # its neighbours are powers of two
        assert ((found == low) | (found == high)).all()
    else:
        assert np.array_equal(abs(found - values), np.minimum(abs(low - values), abs(high - values)))
    ends = kind.decode(fitted(kind, np.array([np.inf, np.nan]))).astype(np.float64)
    assert ends[0] == (np.inf if np.isinf(every).any() else finite[-1])
    assert np.isnan(ends[1]) if np.isnan(every).any() else ends[1] == 0


def test_wide_types_do_not_overflow() -> None:
    for name, most in (
        ("f32", float(np.finfo(np.float32).max)),
        ("tf32", (2 - 2**-10) * 2.0**127),
        ("s32", 2**31 - 1),
    ):
        assert dtype(name).decode(fitted(dtype(name), np.array([1e300]))).astype(np.float64)[0] == most


# -- what is said -----------------------------------------------------------------------------------------------------------


def test_smaller_integers() -> None:
    old, new = bench(BYTES), bench(DENSE)
    old.set_values("A", np.full((16, 32), 9))
    old.set_values("B", np.eye(32, 8))
    assert carried(old, new) == [
        "A: 512 values brought into -8..7 of s4",
        "A: columns 32..63 are new and zero",
        "B: rows 32..63 are new and zero",
    ]
    assert new.values("A")[:, :32].min() == 7 and not new.values("A")[:, 32:].any()
    assert np.array_equal(new.values("D"), 7 * np.ones((16, 8)))


def test_floats_are_rounded_and_nan_becomes_zero() -> None:
    old, new = bench(HALF), bench("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32")
    matrix = np.zeros((16, 16))
    matrix[0, :5] = 1.5, 1.7, 90, np.nan, -np.inf
    old.set_values("A", matrix)
    old.set_values("B", np.zeros((16, 8)))
    assert carried(old, new) == [
        "A: 2 values brought into -6..6 of e2m1", "A: 1 value rounded to e2m1", "A: 1 NaN became 0, e2m1 has none", "A: columns 16..31 are new and zero",
    ]  # fmt: skip
    assert new.values("A")[0, :5].tolist() == [1.5, 1.5, 6, 0, -6]


def test_dense_to_sparse_is_pruned() -> None:
    old, new = bench(DENSE), bench(SPARSE)
    old.set_values("A", np.tile([1, 2, 3, 4, 0, 0, 5, 0], (16, 8)))
    assert carried(old, new) == ["A: 256 of 640 values pruned to 4:8 pair-wise"]
    assert new.values("A")[3, :8].tolist() == [0, 0, 3, 4, 0, 0, 5, 0]
    assert np.array_equal(new.values("B"), old.values("B"))


def test_metadata_stays_where_it_can() -> None:
    """A nibble that nothing compels, and one whose order only mma.sp takes."""
    old = bench(ANY_ORDER)
    old.set_values("A", np.zeros((16, 64)))
    old.set_codes("E", np.full((16, 8), 0b1101))
    old.set_cell("A", 2, 6, "5")
    nibbles = old.codes("E")
    same = bench(ANY_ORDER.replace(".row.col.", ".row.col.satfinite."))
    assert carried(old, same) == [] and np.array_equal(same.codes("E"), nibbles)
    other = bench("mma.sp.sync.aligned.m16n8k128.row.col.s32.u4.u4.s32")
    assert not any("pruned" in sentence for sentence in carried(old, other))
    assert np.array_equal(other.codes("E")[:, :8], nibbles) and other.values("A")[2, 6] == 5

    old.set_codes("E", np.where(nibbles == 0b1101, 0b0111, nibbles))
    ordered = bench(SPARSE)
    assert carried(old, ordered) == [] and np.array_equal(ordered.values("A"), old.values("A"))


def test_the_first_of_four_products() -> None:
    old, new = touched(QUADS), bench(HALF)
    said = carried(old, new)
    assert (
        "A: rows 8..31 do not fit and are left out" in said
        and "B: columns 8..31 do not fit and are left out" in said
    )
    assert np.array_equal(new.values("D")[:8], old.values("D")[:8])
    again = bench(QUADS)
    carried(new, again)
    assert np.array_equal(again.values("D")[:8], old.values("D")[:8]) and not again.values("D")[8:].any()


def test_the_product_of_what_was_kept_is_the_same() -> None:
    old, new = touched(HALF), bench(WIDE)
    old.set_values("C", np.arange(128).reshape(16, 8))
    carried(old, new)
    assert np.array_equal(new.values("D")[:16, :8], old.values("D")) and not new.values("D")[16:].any()


def test_what_nobody_touched_is_random_again() -> None:
    """Only what was edited is carried over: beside an edited B stands the new instruction's own A."""
    old, new = bench(HALF), bench(WIDE)
    assert carried(old, new) == []
    assert all(np.array_equal(new.codes(name), bench(WIDE).codes(name)) for name in ("A", "B", "C"))
    old.set_cell("B", 0, 0, "2.5")
    carried(old, new)
    assert np.array_equal(new.codes("A"), bench(WIDE).codes("A"))
    assert np.array_equal(new.values("B")[:, :8], old.values("B")) and not new.values("B")[:, 8:].any()
    same = bench(HALF.replace("f32.f16.f16.f32", "f16.f16.f16.f16"))
    carried(bench(HALF), same)
    assert np.array_equal(same.codes("A"), bench(HALF).codes("A"))


def test_scale_factors_follow_k() -> None:
    old, new = bench(MXF4), bench(NVF4)
    old.set_values("SFA", np.tile([2.0, 4.0], (16, 1)))
    old.set_option("byte_id_a", 2)
    said = carried(old, new)
    assert new.values("SFA")[5].tolist() == [2, 2, 4, 4]
    assert said == ["byte-id-a is 0 again: this instruction does not take 2"]
    assert np.array_equal(new.values("D"), old.values("D"))

    new.set_cell("SFA", 5, 1, "8")
    back = bench(MXF4)
    assert carried(new, back) == ["SFA: 1 of 32 scale factors are not what they were"] and back.values("SFA")[
        5
    ].tolist() == [2, 4]
    assert "SFA: this instruction has no block scales" in carried(new, bench(DENSE))


def test_modifiers_and_chips() -> None:
    old, new = bench(ANY_ORDER), bench("mma.sp.sync.aligned.m16n8k128.row.col.s32.s4.s4.s32")
    old.set_option("selector", 1)
    old.chip, old.against = "sm_80", "sm_89"
    said = carried(old, new)
    assert "selector is 0 again: this instruction does not take 1" in said and (new.chip, new.against) == (
        "sm_80",
        "sm_89",
    )
    group = bench(WIDE)
    said = carried(old, group)
    assert "D is by sm_90: sm_80 has no model of this instruction" in said and group.against is None
    assert "D is compared with nothing: sm_89 has no model of this instruction" in said
    gpu = bench(ANY_ORDER)
    old.chip, old.against = "GPU", None
    carried(old, gpu, chips=("sm_90", "GPU"))
    assert gpu.chip == "GPU"
