"""Plans from one operand's registers to another's, and the order of weights for 128-bit loads."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray

import ptxlab
from ptxlab import PtxlabError, cli, gpu, views
from ptxlab.instruction import register_instructions
from ptxlab.isa.dtypes import CONVERSIONS, convert, dtype
from ptxlab.isa.operand import Operand
from ptxlab.isa.repack import Convert, Permute, Rename, Repack, Select, Shuffle, Transpose, repack
from ptxlab.memory import weight_order
from tests.cases import each, refuses

F16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
HALF = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"
BF16 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
TF32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
E4M3 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"
E5M2 = "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"
S8 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
U8 = "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32"
S4 = "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"
U4 = "mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32"
F64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
B1 = "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc"
E2M1 = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"
NARROW = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{0}.{0}.f32"
WGMMA_E4M3 = "wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3"


def operand(name: str, which: str) -> Operand:
    return ptxlab.instruction(name).operand(which)


def random_registers(plan: Repack, seed: int = 0, count: int = 3) -> NDArray[Any]:
    """Registers of any bits: NaN, infinities and subnormals of every type are among them."""
    kind = plan.sources[0].register_type
    size = (count, plan.lanes, sum(tile.registers for tile in plan.sources))
    return np.random.default_rng(seed).integers(0, np.iinfo(kind).max, size, dtype=kind, endpoint=True)


# -- every pair of the catalogue -----------------------------------------------------------------------------


@lru_cache(maxsize=1)
def operands() -> tuple[Operand, ...]:
    """One operand for each type and layout of the catalogue, in registers."""
    kinds: dict[Any, Operand] = {}
    for form in register_instructions():
        for name, operand in form.operands.items():
            if operand.layout is not None and name in "ABCD":
                kind = operand.dtype.is_float, operand.dtype.bits
                key = (name == "D", kind, operand.layout, operand.container, operand.padding)
                kinds.setdefault(key, operand)
    return tuple(kinds.values())


@pytest.mark.slow
def test_every_accumulator_as_every_operand_of_its_shape() -> None:
    """D of one form as A, B or C of another: equal to unpacking, converting and packing."""
    tried = 0
    kinds: set[tuple[str, str]] = set()
    ways: set[object] = set()
    for source in operands():
        for target in operands():
            if source.name != "D" or source.shape != target.shape or source.lanes != target.lanes:
                continue
            types = source.dtype.name, target.dtype.name
            if types[0] != types[1] and types[1] not in CONVERSIONS.get(types[0], ()):
                with pytest.raises(PtxlabError):
                    repack(source, target)
                continue
            plan = repack(source, target)
            registers = random_registers(plan, tried, 1)
            codes = source.unpack_codes(registers)
            if types[0] != types[1]:
                codes = convert(codes, source.dtype, target.dtype)
            expected = target.pack_codes(codes)
            assert_array_equal(plan(registers), expected)
            way = (source.layout, target.layout, plan.moved_bits, target.padding)
            if way not in ways:  # the steps of others differ in conversions only, see the tests of those
                assert_array_equal(plan.follow(registers), expected)
                assert bool(plan.shuffles) == bool(plan.moved)
                assert len(plan.shuffles) - fewest_shuffles(plan) in (0, 1)  # 1 of two plans with D 32x8
            ways.add(way)
            kinds.add(types)
            tried += 1
    assert len(kinds) >= 12
    assert tried > 100


TILED: dict[str, tuple[Any, Any]] = {
    "f16": ([operand(F16, "D")] * 2, operand(F16, "A")),
    "bf16": ([operand(F16, "D")] * 2, operand(BF16, "A")),
    "f16 from f16": ([operand(HALF, "D")] * 2, operand(F16, "A")),
    "bf16 from f16": ([operand(HALF, "D")] * 2, operand(BF16, "A")),
    "tf32": (operand(TF32, "D"), operand(TF32, "A")),
    "tf32 from f16": (operand(HALF, "D"), operand(TF32, "A")),
    "f32 from f16": (operand(HALF, "D"), operand(F16, "C")),
    "e4m3": ([operand(F16, "D")] * 4, operand(E4M3, "A")),
    "e5m2": ([operand(F16, "D")] * 4, operand(E5M2, "A")),
    "e5m2 from f16": ([operand(HALF, "D")] * 4, operand(E5M2, "A")),
    "s8": ([operand(S8, "D")] * 4, operand(S8, "A")),
    "u8": ([operand(S8, "D")] * 4, operand(U8, "A")),
    "s8 from f32": ([operand(F16, "D")] * 4, operand(S8, "A")),
    "u8 from f16": ([operand(HALF, "D")] * 4, operand(U8, "A")),
    "s4": ([operand(S4, "D")] * 8, operand(S4, "A")),
    "u4 from f32": ([operand(F16, "D")] * 8, operand(U4, "A")),
    "f64": (operand(F64, "D"), [operand(F64, "A")] * 2),
    "e2m1": ([operand(F16, "D")] * 8, operand(E2M1, "A")),
    "e2m1 from f16": ([operand(HALF, "D")] * 8, operand(E2M1, "A")),
    "e2m1 in bytes": ([operand(F16, "D")] * 4, operand(NARROW.format("e2m1"), "A")),
    "e2m3 in bytes": ([operand(F16, "D")] * 4, operand(NARROW.format("e2m3"), "A")),
    "e3m2 in bytes": ([operand(HALF, "D")] * 4, operand(NARROW.format("e3m2"), "A")),
    "B of s4": ([[operand(S4, "D")]] * 4, operand(S4, "B")),
    "B of e2m1": ([[operand(F16, "D")]] * 4, operand(E2M1, "B")),
    "B": (operand(F16, "D"), operand(F16, "B")),
    "B from f16": ([[operand(HALF, "D")]] * 2, [[operand(BF16, "B")]] * 2),
    "two of B": ([[operand(F16, "D")], [operand(F16, "D")]], operand(E4M3, "B")),
    "wgmma e4m3": (operand(WGMMA_E4M3, "D"), operand(WGMMA_E4M3, "A")),
}


def by_elements(plan: Repack, registers: NDArray[Any], source: Any, target: Any) -> NDArray[Any]:
    """The registers of the target, by way of the matrix: np.block of what the tiles hold."""
    grid = source if isinstance(source, list) else [source]
    grid = grid if isinstance(grid[0], list) else [grid]
    rows, at = [], 0
    for line in grid:
        cells = []
        for tile in line:
            cells.append(tile.unpack_codes(registers[..., at : at + tile.registers]))
            at += tile.registers
        rows.append(np.concatenate(cells, axis=-1))
    codes = np.concatenate(rows, axis=-2)
    if plan.conversion is not None:
        codes = convert(codes, *plan.conversion)
    targets = target if isinstance(target, list) else [target]
    parts = np.split(codes, len(targets), axis=-2 if isinstance(targets[0], list) else -1)
    targets = [tile[0] if isinstance(tile, list) else tile for tile in targets]
    return np.concatenate([tile.pack_codes(part) for tile, part in zip(targets, parts, strict=True)], axis=-1)


@each("name", TILED)
def test_tiles_of_accumulators(name: str) -> None:
    source, target = TILED[name]
    plan = repack(source, target)
    registers = random_registers(plan)
    expected = by_elements(plan, registers, source, target)
    assert_array_equal(plan(registers), expected)
    assert_array_equal(plan.follow(registers), expected)
    if isinstance(source, list) and isinstance(source[0], Operand):
        tiles = np.split(registers, len(source), axis=-1)
        assert_array_equal(plan(*tiles), expected)


def test_batches_of_any_shape() -> None:
    """With batch axes, of arrays that are not contiguous and must not be written; also of none."""
    load = operand("ldmatrix.sync.aligned.m8n8.x4.trans.b16", "R")
    for source, target in (TILED["s4"], TILED["tf32 from f16"], ([load] * 2, [operand(S4, "B")] * 4)):
        plan = repack(source, target)
        registers = random_registers(plan, count=30).reshape(2, 5, 3, plan.lanes, -1)
        part = registers[:, ::2]
        part.flags.writeable = False
        result = plan(part)
        assert_array_equal(result, plan.follow(part))
        assert plan(part[:0]).shape == (0, *result.shape[1:])


def test_many_are_repacked_in_parts() -> None:
    """So many that threads share the work."""
    plan = repack(*TILED["wgmma e4m3"])
    registers = random_registers(plan, count=200)
    assert_array_equal(plan(registers), np.stack([plan(single) for single in registers]))


# -- as other projects do it ---------------------------------------------------------------------------------


def test_f16_needs_no_shuffle() -> None:
    """FlashAttention's convert_layout_acc_Aregs: the accumulators of two tiles, in pairs, are A."""
    plan = repack(*TILED["f16"])
    pairs = [[part.register for part in step.sources] for step in plan.steps if isinstance(step, Convert)]
    assert pairs == [["in0", "in1"], ["in2", "in3"], ["in4", "in5"], ["in6", "in7"]]
    assert [step.target for step in plan.steps] == ["out0", "out1", "out2", "out3"]
    assert (plan.moved, plan.shuffles, len(plan.steps)) == (0, (), 4)


def test_fp8_is_exchanged_as_in_flash_attention() -> None:
    """FlashAttention 3's permute_Aregs_fp8, its formula written down again: one shuffle for each register."""
    plan = repack(*TILED["wgmma e4m3"])
    assert (plan.moved, plan.elements, len(plan.shuffles)) == (1536, 2048, 4)
    assert plan.counts == {"convert": 4, "select": 4, "shuffle": 4, "permute": 4}
    values = np.random.default_rng(0).normal(0, 100, (128, 16)).astype(np.float32)
    words = values.astype(ml_dtypes.float8_e4m3fn).view(np.uint32)  # four neighbours of a lane to a word
    quad = np.arange(128) % 4
    outer = (quad == 0) | (quad == 3)
    expected = np.empty((128, 4), dtype=np.uint32)
    for half in range(2):
        upper, lower = words[:, 2 * half], words[:, 2 * half + 1]
        first = np.where(outer, upper, lower)
        second = np.where(outer, lower, upper)
        from_lane = np.arange(128) // 4 * 4 + np.array([0, 3, 1, 2])[quad]
        first, second = first[from_lane], second[from_lane ^ 1]
        both = np.stack([first, second], axis=1).view(np.uint8)
        for output, selectors in enumerate(((0x5410, 0x1054), (0x7632, 0x3276))):
            selector = np.where(outer, *selectors)
            picks = selector[:, None] >> np.array([0, 4, 8, 12]) & 7
            expected[:, 2 * half + output] = np.take_along_axis(both, picks, axis=1).view(np.uint32)[:, 0]
    assert_array_equal(plan(values.view(np.uint32)), expected)


def test_tiles_as_in_llama_cpp() -> None:
    """Its mma.cuh (tile::get_i, get_j, get_half2, get_transposed) as formulas: lane t, 32-bit element l."""
    t, l = np.ogrid[:32, :8]  # noqa: E741
    scores = np.random.default_rng(0).normal(size=(16, 16)).astype(np.float32)
    # tile<16, 16, float>, two accumulators side by side; get_half2 packs neighbours: tile<16, 8, half2>, A
    held = scores[l // 2 % 2 * 8 + t // 4, l // 4 * 8 + t % 4 * 2 + l % 2]
    expected = held.astype(np.float16).view(np.uint32)
    pairs = scores.astype(np.float16).view(np.uint32)  # [16, 8] of half2
    assert_array_equal(expected, pairs[l[:, :4] % 2 * 8 + t // 4, l[:, :4] // 2 * 4 + t % 4])
    assert_array_equal(repack(*TILED["f16"])(held.view(np.uint32)), expected)
    # tile<16, 4, half2>, an accumulator of f16; get_transposed makes tile<8, 8, half2> of it, the next B:
    # row i of that is column i of D, movmatrix by movmatrix
    halves = scores[:, :8].astype(np.float16)
    accumulator = halves.view(np.uint32)[l[:, :2] * 8 + t // 4, t % 4]
    transposed = np.ascontiguousarray(halves.T).view(np.uint32)[t // 4, l[:, :2] * 4 + t % 4]
    plan = repack(operand(HALF, "D"), operand(F16, "B"))
    assert_array_equal(plan(accumulator), transposed)
    assert plan.steps == (Transpose("out0", "in0"), Transpose("out1", "in1"))
    movmatrix = ptxlab.instruction("movmatrix.sync.aligned.m8n8.trans.b16")
    assert isinstance(movmatrix, ptxlab.Transfer)
    assert_array_equal(movmatrix.emulate(accumulator[:, 1:]), plan.follow(accumulator)[:, 1:])
    # tile<16, 8, int>, s8 by four: what ldmatrix.x4 gives is A of m16n8k32
    words = np.random.default_rng(1).integers(0, 1 << 32, (16, 8), dtype=np.uint32)
    rows = np.concatenate([words[:8, :4], words[8:, :4], words[:8, 4:], words[8:, 4:]])  # as lanes address
    load = operand("ldmatrix.sync.aligned.m8n8.x4.b16", "R")
    registers = load.pack_codes(np.ascontiguousarray(rows).view(np.uint16))
    loaded = words[l[:, :4] % 2 * 8 + t // 4, l[:, :4] // 2 * 4 + t % 4]
    assert_array_equal(repack(load, operand(S8, "A"))(registers), loaded)


@pytest.mark.parametrize("pieces", [16, 64, 128])
def test_slices_of_a_warpgroups_accumulator(pieces: int) -> None:
    """FlashAttention 3's convert_layout_acc_Aregs: (2, 2, N/8) is ((2, 2, 2), N/16), lane by lane."""
    accumulator = operand(f"wgmma.mma_async.sync.aligned.m64n{pieces}k16.f32.f16.f16", "D")
    a = operand("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16", "A")
    plan = repack(accumulator, [a] * (pieces // 16))
    values = np.random.default_rng(0).normal(size=(128, pieces // 2)).astype(np.float32)
    assert (plan.moved, plan.counts) == (0, {"convert": pieces // 4})
    assert_array_equal(plan(values.view(np.uint32)), values.astype(np.float16).view(np.uint32))


def fewest_shuffles(plan: Repack) -> int:
    """No plan has fewer: a shuffle brings a lane 32 bits, of what it wants from lanes that another has met.

    Before the first shuffle each lane has met itself, after each one at most twice as many as before.
    """
    lanes, slots = plan.origins
    wanted = np.zeros((plan.lanes, plan.lanes), dtype=int)  # bits that each lane wants of each
    keys = (np.arange(plan.lanes)[:, None] * plan.lanes + lanes) * (slots.max() + 1) + slots
    pairs = np.unique(keys) // (slots.max() + 1)  # each element once, however often a lane holds it
    np.add.at(wanted, np.divmod(pairs, plan.lanes), plan.moved_bits)
    np.fill_diagonal(wanted, 0)
    missing, most, count = wanted.sum(axis=1), wanted.max(axis=1), 0
    while (missing > 0).any():
        missing = missing - np.minimum(most << count, 32)
        count += 1
    return count


@each("name", TILED)
def test_there_are_no_fewer_shuffles(name: str) -> None:
    plan = repack(*TILED[name])
    assert len(plan.shuffles) == fewest_shuffles(plan)


# -- conversions ---------------------------------------------------------------------------------------------


def test_conversions_of_special_values() -> None:
    """PTX ISA, "cvt": what overflows, what saturates, and what becomes of NaN."""
    values = np.array(
        [np.inf, -np.inf, np.nan, -np.nan, 65519, 65520, 1e9, -0.0, 2.5, 3.5, -128.5], np.float32
    )
    f32 = dtype("f32")
    codes = values.view(np.uint32)
    expected = {
        "f16": [0x7C00, 0xFC00, 0x7FFF, 0x7FFF, 0x7BFF, 0x7C00, 0x7C00, 0x8000, 0x4100, 0x4300, 0xD804],
        "e4m3": [0x7E, 0xFE, 0x7F, 0x7F, 0x7E, 0x7E, 0x7E, 0x80, 0x42, 0x46, 0xF0],
        "e5m2": [0x7B, 0xFB, 0x7F, 0x7F, 0x7B, 0x7B, 0x7B, 0x80, 0x41, 0x43, 0xD8],
        "s8": [127, 0x80, 0, 0, 127, 127, 127, 0, 2, 4, 0x80],
        "u8": [255, 0, 0, 0, 255, 255, 255, 0, 2, 4, 0],
        "s4": [7, 8, 0, 0, 7, 7, 7, 0, 2, 4, 8],
    }
    for name, result in expected.items():
        assert convert(codes, f32, dtype(name)).tolist() == result, name
    assert convert(codes, f32, dtype("tf32"))[:3].tolist() == [0x7F800000, 0xFF800000, 0x7FFFFFFF]


def test_tf32_rounds_to_nearest_even() -> None:
    bits = np.array([0x3F801000, 0x3F803000, 0x3F801001, 0x7F7FFFFF, 0x00001000, 0xFFFFFFFF], np.uint32)
    result = convert(bits, dtype("f32"), dtype("tf32"))
    assert [hex(code) for code in result] == [
        "0x3f800000", "0x3f804000", "0x3f802000", "0x7f800000", "0x0", "0x7fffffff",
    ]  # fmt: skip


def test_fp8_rounds_once() -> None:
    """Around every value of FP8 and halfway between: as ml_dtypes rounds what float64 holds exactly."""
    for name, kind in (("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)):
        values = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32)
        finite = np.unique(values[np.isfinite(values)])
        points = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2])
        around = np.stack(
            [np.nextafter(points, np.float32(-1e9)), points, np.nextafter(points, np.float32(1e9))]
        )
        clipped = np.clip(around, finite[0], finite[-1])
        codes = convert(around.view(np.uint32), dtype("f32"), dtype(name))
        assert_array_equal(codes, clipped.astype(kind).view(np.uint8))


@pytest.mark.parametrize(("name", "exponent", "fraction"), [("e2m1", 2, 1), ("e2m3", 2, 3), ("e3m2", 3, 2)])
def test_the_nearest_of_few_values(name: str, exponent: int, fraction: int) -> None:
    """All values from their fields: the nearest wins, of two the even code; the largest for more and NaN."""
    code = np.arange(1 << exponent + fraction)
    high, low = code >> fraction, code & (1 << fraction) - 1
    bias = (1 << exponent - 1) - 1
    values = np.ldexp(low + (high > 0) * 2.0**fraction, np.maximum(high, 1) - bias - fraction)
    between = (values[1:] + values[:-1]) / 2
    points = np.concatenate([values, between, [values[-1] * 1.01, 1e9, np.inf, 2.0**-149]]).astype(np.float32)
    points = np.concatenate(
        [points, np.nextafter(points, np.float32(0)), np.nextafter(points, np.float32(9e9))]
    )
    distance = np.abs(points[:, None].astype(np.float64).clip(max=99) - values)
    closest = distance == distance.min(axis=1, keepdims=True)
    nearest = np.argmax(2 * closest + (code % 2 == 0), axis=1)
    sign = 1 << exponent + fraction
    exact = points.clip(max=2**15).astype(np.float16) == points
    for source, which in (("f32", slice(None)), ("f16", exact)):
        some, expected = points[which], nearest[which]
        codes = dtype(source).encode(np.concatenate([some, -some, [np.nan, -np.nan]]))
        result = convert(codes, dtype(source), dtype(name))
        assert_array_equal(result, [*expected, *(expected | sign), sign - 1, sign - 1])


def test_finite_values_convert_as_they_are_encoded() -> None:
    """Values that need no saturation: as `DType.encode` rounds them."""
    values = np.random.default_rng(0).normal(0, 3, 10_000).astype(np.float32)
    for name in ("f16", "bf16", "tf32", "e4m3", "e5m2"):
        codes = convert(values.view(np.uint32), dtype("f32"), dtype(name))
        assert_array_equal(codes, dtype(name).encode(values))


# -- ldmatrix and stmatrix -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [F16, BF16, TF32, E4M3, S8, S4, B1])
def test_ldmatrix_gives_fragments_of_every_type(name: str) -> None:
    """Rows of memory along K, matrices along M first: registers are A and B as they come."""
    r4, r2 = (operand(f"ldmatrix.sync.aligned.m8n8.x{count}.b16", "R") for count in (4, 2))
    for source, target in ((r4, operand(name, "A")), (r2, operand(name, "B"))):
        plan = repack(source, target)
        assert all(isinstance(step, Rename) for step in plan.steps)
        assert [(step.target, step.source) for step in plan.steps if isinstance(step, Rename)] == [
            (f"out{index}", f"in{index}") for index in range(target.registers)
        ]


def test_ldmatrix_trans_gives_f16_and_stmatrix_takes_it() -> None:
    trans = operand("ldmatrix.sync.aligned.m8n8.x2.trans.b16", "R")
    assert not repack(trans, operand(F16, "B")).counts
    store = operand("stmatrix.sync.aligned.m8n8.x2.b16", "R")
    assert not repack(operand(HALF, "D"), store).counts


LOADS = ("m8n8.x4.b16", "m8n8.x1.trans.b16", "m16n16.x1.trans.b8", "m8n16.x4.b8x16.b6x16_p32",
         "m8n16.x2.b8x16.b4x16_p64", "m16n16.x1.trans.b8x16.b4x16_p64", "m8n16.x4.s8.s4")  # fmt: skip


@lru_cache(maxsize=1)
def loaded_operands() -> tuple[Operand, ...]:
    """A and B of mma, one for each type and place in registers; of the shapes the last of the catalogue."""
    kinds: dict[Any, Operand] = {}
    for form in register_instructions():
        if form.family == "mma" and form.shape != "m8n8k4":
            kinds.update({(name, form.operand(name).dtype, form.operand(name).width): form.operand(name)
                          for name in "AB"})  # fmt: skip
    return tuple(kinds.values())


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.slow
def test_ldmatrix_for_operands_of_every_type(name: str) -> None:
    """Rows of memory along K, with .trans across it; matrices follow each other across K, then along it."""
    form = ptxlab.instruction(f"ldmatrix.sync.aligned.{name}")
    load, trans = form.operand("R"), ".trans" in name
    height, width = load.shape[0] // form.count, load.shape[1]
    unpacks = load.container or load.dtype.name == "s8"
    tried, ways = set(), set()
    for target in loaded_operands():
        if unpacks and (target.dtype.bits, target.width) != (load.dtype.bits, 8):
            continue
        if load.dtype.name == "s8" and target.dtype.name != "s8":
            continue
        if target.dtype.name == "b1" and trans:
            continue
        chunk = 16 if unpacks else 128 // target.width  # elements of a matrix along a row of memory
        across = np.lcm(target.shape[target.name == "B"], chunk if trans else height)
        along = np.lcm(target.shape[target.name == "A"], height if trans else chunk) * form.count
        shape = (across, along) if target.name == "A" else (along, across)
        codes = np.random.default_rng(0).integers(0, 1 << min(target.dtype.bits, 62), shape)
        memory = codes if (target.name == "A") != trans else codes.T
        if not unpacks:
            shifts = np.arange(target.width, dtype=np.uint64)
            wide = (memory << target.padding).astype(np.uint64)[..., None] >> shifts
            bits = (wide & np.uint64(1)).astype(np.uint8).reshape(len(memory), -1)
            memory = np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little"))
            memory = memory.view(f"u{load.dtype.bits // 8}") if load.dtype.bits > 8 else memory
        grid = memory.reshape(len(memory) // height, height, -1, width).swapaxes(1, 2)
        order = grid if trans else grid.swapaxes(0, 1)
        stacked = order.reshape(-1, *load.shape)
        registers = np.concatenate(list(load.pack_codes(stacked)), axis=-1)
        tiles = codes.reshape(shape[0] // target.shape[0], target.shape[0], -1, target.shape[1])
        packed = target.pack_codes(tiles.swapaxes(1, 2).astype(target.dtype.code_type))
        plan = repack([load] * len(stacked), [[target] * packed.shape[1]] * packed.shape[0])
        expected = np.concatenate(list(packed.reshape(-1, *packed.shape[2:])), axis=-1)
        assert_array_equal(plan(registers), expected)
        if (target.name, target.width) not in ways:
            assert_array_equal(plan.follow(registers), expected)
        ways.add((target.name, target.width))
        tried.add((target.name, target.dtype.name))
    assert len(tried) >= (2 if unpacks else 24), tried


def test_bytes_loaded_with_trans_take_few_shuffles() -> None:
    """ldmatrix.trans moves pairs of bytes: rows of memory along N, two tiles of B beside each other."""
    load = operand("ldmatrix.sync.aligned.m8n8.x4.trans.b16", "R")
    assert len(repack(load, [operand(S8, "B")] * 2).shuffles) == 4


def test_fragments_that_hold_elements_twice_can_be_stored() -> None:
    a = operand("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "A")
    store = operand("stmatrix.sync.aligned.m8n8.x4.b16", "R")
    codes = np.random.default_rng(0).integers(0, 1 << 16, (16, 16), dtype=np.uint16)
    rows = np.concatenate([codes[:8, :8], codes[8:, :8], codes[:8, 8:], codes[8:, 8:]])
    assert a.registers == 2 * store.registers
    assert_array_equal(repack(a, store)(a.pack_codes(codes)), store.pack_codes(rows))
    assert_array_equal(repack(store, a)(store.pack_codes(rows)), a.pack_codes(codes))


def test_a_warp_of_a_warpgroup_holds_what_mma_does() -> None:
    """What the refusal of 128 threads beside 32 says."""
    for name, small in ((WGMMA_E4M3, E4M3), ("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", F16)):
        wide, narrow = operand(name, "A").coords(), operand(small, "A").coords()
        d = operand(small, "D").coords()
        for warp in range(4):
            assert_array_equal(wide[32 * warp : 32 * warp + 32] - [16 * warp, 0], narrow)
            part = operand(name, "D").coords()[32 * warp : 32 * warp + 32, :4] - [16 * warp, 0]
            assert_array_equal(part, d)


def test_unpacked_elements_are_shifted() -> None:
    """ldmatrix puts 4 bits at the bottom of their byte; kind::f8f6f4 reads them 2 bits up."""
    load = operand("ldmatrix.sync.aligned.m8n16.x4.b8x16.b4x16_p64", "R")
    a = operand(NARROW.format("e2m1"), "A")
    plan = repack(load, a)
    assert plan.shift == 2
    codes = np.random.default_rng(0).integers(0, 16, load.shape, dtype=np.uint8)
    matrix = np.block([[codes[:8], codes[16:24]], [codes[8:16], codes[24:]]])
    registers = load.pack_codes(codes)
    assert_array_equal(plan(registers), a.pack_codes(matrix))
    assert_array_equal(plan.follow(registers), a.pack_codes(matrix))


# -- CUDA C++ ------------------------------------------------------------------------------------------------


def kernel(plan: Repack) -> str:
    """A kernel in which every lane repacks its registers; a warp each for 32 lanes, four for 128."""
    sizes = [
        sum(tile.registers * tile.register_bits // 32 for tile in side)
        for side in (plan.sources, plan.targets)
    ]
    return plan.source + (
        'extern "C" __global__ void lanes(const unsigned* from, unsigned* to)\n'
        "{\n"
        f"    unsigned in[{sizes[0]}], out[{sizes[1]}];\n"
        "    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"    for (int i = 0; i < {sizes[0]}; ++i) in[i] = from[thread * {sizes[0]} + i];\n"
        "    repack(in, out);\n"
        f"    for (int i = 0; i < {sizes[1]}; ++i) to[thread * {sizes[1]} + i] = out[i];\n"
        "}\n"
    )


def oldest_target(plan: Repack) -> str:
    """The first target whose `cvt` makes the type: PTX ISA, "cvt", Target ISA Notes."""
    kind = plan.targets[0].dtype.name if plan.conversion else ""
    if kind in ("e2m1", "e2m3", "e3m2"):
        return "sm_100a"
    return "sm_89" if kind in ("e4m3", "e5m2") else "sm_80"


@each("name", TILED)
@pytest.mark.needs("cuda.core")
def test_source_compiles(name: str) -> None:
    plan = repack(*TILED[name])
    first = oldest_target(plan)
    for target in (first, "sm_120a" if first == "sm_100a" else "sm_90a"):
        assert gpu.compile(kernel(plan), target)[1:4] == b"ELF"


@pytest.mark.gpu
@each("name", TILED)
def test_gpu_gives_the_same_registers(name: str) -> None:
    plan = repack(*TILED[name])
    if oldest_target(plan) == "sm_100a" and int(gpu.device_target().removeprefix("sm_").rstrip("af")) < 100:
        pytest.skip("cvt to e2m1, e2m3 and e3m2 came with sm_100a")
    registers = random_registers(plan, count=64)
    if plan.sources[0].dtype.name == "f32":  # half of them in the range that converts to something
        values = np.random.default_rng(1).normal(0, 60, registers[::2].shape).astype(np.float32)
        registers[::2] = values.view(np.uint32)
    expected = plan(registers)
    out = np.zeros(expected.shape, dtype=expected.dtype)
    gpu.launch(kernel(plan), "lanes", [registers, gpu.Out(out)], grid=len(registers), block=plan.lanes)
    assert_array_equal(out, expected)


# -- what is refused, and what is said -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (operand(F16, "D"), operand(F16, "A"), r"2 side by side would be: repack\(\[d, d\], ...\)"),
        (operand(F16, "D"), operand(E4M3, "B"), r"2 below each other would be: repack\(\[\[d\], \[d\]\]"),
        (operand(WGMMA_E4M3, "D"), operand(WGMMA_E4M3, "B"), "lies in shared memory"),
        (operand(WGMMA_E4M3, "D"), operand(F16, "A"), "128 threads hold the source .* 32 lanes hold"),
        ([operand(S8, "D")] * 2, operand(F16, "A"), "D holds s32, A holds f16: no conversion"),
        (operand(F64, "D"), operand(F16, "A"), "no conversion; f64 stays as it is"),
        ([operand(F16, "D"), operand(HALF, "D")], operand(F16, "A"), "tiles of one matrix have one type"),
        ([[operand(F16, "D")] * 2, [operand(F16, "D")]], operand(F16, "A"), "rows of tiles have one width"),
        ([], operand(F16, "A"), "as np.block has them"),
        ("D", operand(F16, "A"), "found 'D'; it is an operand"),
        (operand("ldmatrix.sync.aligned.m8n8.x2.b16", "R"), operand(F16, "A"), "do not make up A"),
    ],
)  # fmt: skip
def test_what_cannot_be_repacked(source: Any, target: Any, message: str) -> None:
    refuses(message, repack, source, target)


def test_bits_that_share_a_byte_do_not_part() -> None:
    load = operand("ldmatrix.sync.aligned.m8n8.x4.trans.b16", "R")
    b1 = operand(B1, "B")
    refuses("single bits that share a byte would part", repack, [load] * 8, [b1] * 16)


def test_registers_of_the_wrong_shape() -> None:
    plan = repack(*TILED["f16"])
    with pytest.raises(PtxlabError, match=r"it takes \[..., 32 lanes, 8 registers\], those of 2 tiles"):
        plan(np.zeros((32, 4), dtype=np.uint32))
    refuses("found registers of shape nothing", plan)


def test_a_plan_says_what_it_does() -> None:
    plan = repack(*TILED["wgmma e4m3"])
    lines = str(plan).splitlines()
    assert lines[0] == "D 64x32 f32 -> A 64x32 e4m3: 1536 of 2048 elements change lanes"
    assert lines[6] == "  y0 = shfl.idx(x0, lane [0, 2, 1, 3][lane % 4])"
    assert lines[-4] == "  out0 = prmt(y0, y1, [0x5410, 0x5410, 0x1054, 0x1054][lane % 4])"
    assert "<pre>" in plan._repr_html_()
    assert {type(step) for step in plan.steps} == {Convert, Select, Shuffle, Permute}


def test_picture_of_a_plan() -> None:
    """Every element twice: where it is before, and after; what changes its lane is outlined."""
    plan = repack(*TILED["wgmma e4m3"])
    before, after = views.repack(plan).grids
    assert before.shape == after.shape == (16, 32)  # the first warp
    outlined = 0
    for row, column in np.ndindex(16, 32):
        (source,), (target,) = (side.where(row, column) for side in (plan.sources[0], plan.targets[0]))
        cells = before.at(row, column), after.at(row, column)
        assert cells[0].lines[0] == f"T{source.lane}"
        assert f"in{source.register}" in cells[0].lines[1].split(",")
        assert cells[1].lines == (f"T{target.lane}", f"out{target.register}")
        assert [cell.lane for cell in cells] == [source.lane, source.lane]
        outlined += cells[1].state == "mark"
    assert outlined == plan.moved // 4
    refuses("gives a plan", views.repack, "plan")


def test_pictures_of_plans() -> None:
    for name in ("f16", "s8", "f64", "e2m1", "two of B"):
        assert views.repack(repack(*TILED[name])).svg().startswith("<svg"), name


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    def answer(words: str) -> str:
        assert cli.main(["repack", *words.split()]) == 0
        return capsys.readouterr().out

    changed = "1536 of 2048 elements change lanes; 4 converts, 4 selects, 4 shuffles, 4 permutes"
    assert changed in answer("wgmma.m64n32k32.f32.e4m3:D wgmma.m64n32k32.f32.e4m3:A")
    facts = json.loads(answer("mma.m16n8k16.f32.f16 mma.m16n8k16.f32.f16 --json"))
    assert (facts["moved"], facts["elements"], len(facts["source"])) == (0, 256, 2)
    assert facts["counts"] == {"convert": 4} and facts["steps"][0]["sources"] == [["in0", 0], ["in1", 0]]
    cuda = answer("mma.m16n8k16.f32.f16 mma.m16n8k16.f32.f16 --cuda")
    assert cuda.rstrip() == repack(*TILED["f16"]).source.rstrip()
    load = "ldmatrix.sync.aligned.m8n8.x4.trans.b16"
    assert "2 tiles of B 32x8 s8" in answer(f"{load} mma.m16n8k32.s8:B")
    assert "2 tiles of R 32x8 b16 -> 4 tiles of B 64x8 s4" in answer(f"{load} mma.m16n8k64.s4:B")
    assert answer("mma.m16n8k8.tf32 mma.m16n8k8.tf32 --svg").startswith("<svg")
    assert cli.main(["repack", "mma.m16n8k32.s8", "mma.m16n8k16.f32.f16"]) == 1
    assert "no conversion" in capsys.readouterr().err


# -- weights -------------------------------------------------------------------------------------------------

FAST_DEQUANTISATION = (0, 2, 4, 6, 1, 3, 5, 7)


def test_marlins_order() -> None:
    """Marlin's _get_perms as a formula: place -> lane, 16x16 tile, then B's elements of two 8-wide halves."""
    place = np.arange(1024)
    lane, tile, element = place // 32, place // 8 % 4, np.array(FAST_DEQUANTISATION)[place % 8]
    row = 2 * (lane % 4) + element % 2 + element % 4 // 2 * 8
    column = lane // 4 + element // 4 * 8 + 16 * tile
    order = weight_order(operand(F16, "B"), (16, 64), bits=4, interleave=FAST_DEQUANTISATION)
    assert_array_equal(order.order, row * 64 + column)


def test_marlins_order_of_a_whole_layer() -> None:
    """Marlin's Layer.pack: 16x16 tiles of W beside each other, permuted by 1,024; K outermost."""
    weights = np.random.default_rng(0).integers(0, 16, (64, 256), dtype=np.uint8)
    tile = weight_order(operand(F16, "B"), (16, 64), bits=4, interleave=FAST_DEQUANTISATION)
    expected = weights.reshape(4, 16, 4, 64).swapaxes(1, 2).reshape(-1, 1024)[:, tile.order].ravel()
    order = weight_order(operand(F16, "B"), weights.shape, bits=4, interleave=FAST_DEQUANTISATION)
    assert_array_equal(order.store(weights), expected)
    assert_array_equal(order.restore(expected), weights)


def test_sparse_marlins_order() -> None:
    """Sparse-Marlin's _get_perms_NT: A of mma.sp; tile j has rows j, j + 4, ..., halves 32 rows apart."""
    place = np.arange(1024)
    lane, tile, element = place // 32, place // 8 % 4, np.array(FAST_DEQUANTISATION)[place % 8]
    k = 2 * (lane % 4) + element % 2 + element % 4 // 2 * 8
    m = 4 * (lane // 4) + tile + 32 * (element // 4)
    sparse = operand("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "A")
    order = weight_order(sparse, (64, 16), bits=4, interleave=(0, 4, 2, 6, 1, 5, 3, 7), tiles="strided")
    assert_array_equal(order.order, m * 16 + k)


@each("name, which", [(F16, "A"), (F16, "B"), (S8, "A"), (S8, "B"), (S4, "A"),
                                             (TF32, "A"), (WGMMA_E4M3, "A"), (F64, "A"), (E2M1, "B"),
                                             (NARROW.format("e3m2"), "B"), (B1, "A"), (B1, "B")])  # fmt: skip
def test_loads_hold_fragments(name: str, which: str) -> None:
    """What a lane loads, 128 bits at a time, are its registers of tile after tile."""
    target = operand(name, which)
    across = 0 if which == "A" else 1
    factor = np.ones(2, dtype=int) * 2
    factor[across] = 8
    shape = tuple((np.array(target.shape) * factor).tolist())
    order = weight_order(target, shape)
    assert_array_equal(np.sort(order.order), np.arange(shape[0] * shape[1]))
    assert_array_equal(order.order[order.places], np.arange(len(order.order)))
    codes = np.random.default_rng(0).integers(0, 1 << min(target.dtype.bits, 30), shape)
    codes = codes.astype(target.dtype.code_type)
    rows, columns = target.shape
    axes = (2, 0, 1, 3) if across == 0 else (0, 2, 1, 3)
    tiles = codes.reshape(factor[0], rows, factor[1], columns).transpose(axes)
    registers = target.pack_codes(tiles.reshape(-1, rows, columns))  # [tiles, lanes, registers]
    loaded = np.take(codes.ravel(), order.loads)  # [loads, lanes, elements]
    packed = target.join(loaded).swapaxes(0, 1).reshape(target.lanes, -1)
    assert_array_equal(packed, registers.swapaxes(0, 1).reshape(target.lanes, -1))


def test_orders_that_do_not_exist() -> None:
    b = operand(F16, "B")
    for arguments, message in (
        ({"shape": (15, 64)}, "whole tiles of"),
        ({"shape": (16, 8), "bits": 4}, "columns come in multiples of 64"),
        ({"shape": (16, 64), "bits": 3}, "bits=3"),
        ({"shape": (16, 64), "interleave": (0, 2)}, "interleave="),
        ({"shape": (16, 64), "tiles": "diagonal"}, "tiles='diagonal'"),
    ):
        refuses(message, weight_order, b, **arguments)
    refuses("shared memory", weight_order, operand(WGMMA_E4M3, "B"), (32, 32))
    order = weight_order(b, (16, 64), bits=4)
    refuses("this order is one of", order.store, np.zeros((16, 32)))
    refuses("this order has", order.restore, np.zeros(7))


def test_equal_plans_are_equal_and_cannot_be_changed() -> None:
    ins = ptxlab.instruction(F16)
    plan = ptxlab.repack([ins.d, ins.d], ins.a)
    assert len({plan, ptxlab.repack([ins.d, ins.d], ins.a), ptxlab.repack(ins.d, ins.d)}) == 2
    with pytest.raises(AttributeError):
        plan.steps = ()
