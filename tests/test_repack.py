"""Plans from one operand's registers to another's, and the order of weights for 128-bit loads."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import ptxlab
from ptxlab import PtxlabError, cli, gpu, views
from ptxlab.gpu.repack import Repack, repack
from ptxlab.isa.convert import CONVERSIONS, convert
from ptxlab.isa.dtypes import dtype
from ptxlab.isa.operand import Operand
from ptxlab.isa.repack import Convert, Permute, Rename, Select, Shuffle
from ptxlab.memory import weight_order

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
    for form in ptxlab.catalog():
        for name, each in form.operands.items():
            if each.layout is not None and name in "ABCD":
                key = (name == "D", each.dtype.name, each.layout, each.container, each.padding)
                kinds.setdefault(key, each)
    return tuple(kinds.values())


def _parts(source: Operand, target: Operand) -> bool:
    """Whether two elements of a byte of the target lie in different lanes of the source."""
    lanes = {(row, col): lane for lane in range(32) for _, row, col in source.holds(lane)}
    homes = np.array([[lanes[row, col] for _, row, col in target.holds(lane)] for lane in range(32)])
    return bool((homes[:, ::2] != homes[:, 1::2]).any())


def test_every_accumulator_as_every_operand_of_its_shape() -> None:
    """D of one form as A, B or C of another: equal to unpacking, converting and packing."""
    tried = 0
    kinds: set[tuple[str, str]] = set()
    for source in operands():
        for target in operands():
            if source.name != "D" or source.shape != target.shape or source.lanes != target.lanes:
                continue
            types = source.dtype.name, target.dtype.name
            if target.container or (types[0] != types[1] and types[1] not in CONVERSIONS.get(types[0], ())):
                with pytest.raises(PtxlabError):
                    repack(source, target)
                continue
            if target.dtype.bits == 4 and _parts(source, target):
                with pytest.raises(PtxlabError, match="share a byte would part"):
                    repack(source, target)
                continue
            plan = repack(source, target)
            registers = random_registers(plan, tried, 1)
            codes = source.unpack_codes(registers)
            if types[0] != types[1]:
                codes = convert(codes, source.dtype, target.dtype)
            expected = target.pack_codes(codes)
            np.testing.assert_array_equal(plan(registers), expected)
            np.testing.assert_array_equal(plan.follow(registers), expected)
            assert bool(plan.shuffles) == bool(plan.moved)
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
    "B": (operand(F16, "D"), operand(F16, "B")),
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
    parts = np.split(codes, len(targets), axis=-1)
    return np.concatenate([tile.pack_codes(part) for tile, part in zip(targets, parts, strict=True)], axis=-1)


@pytest.mark.parametrize("name", TILED)
def test_tiles_of_accumulators(name: str) -> None:
    source, target = TILED[name]
    plan = repack(source, target)
    registers = random_registers(plan)
    expected = by_elements(plan, registers, source, target)
    np.testing.assert_array_equal(plan(registers), expected)
    np.testing.assert_array_equal(plan.follow(registers), expected)
    if isinstance(source, list) and isinstance(source[0], Operand):
        each = np.split(registers, len(source), axis=-1)
        np.testing.assert_array_equal(plan(*each), expected)


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
    np.testing.assert_array_equal(plan(values.view(np.uint32)), expected)


@pytest.mark.parametrize("name", TILED)
def test_there_are_no_fewer_shuffles(name: str) -> None:
    """A shuffle brings a lane four bytes of one other lane: as many as the lane that needs most."""
    plan = repack(*TILED[name])
    lanes, _ = plan.origins
    pairs = np.zeros((plan.lanes, plan.lanes), dtype=int)  # bits that each lane needs from each
    np.add.at(pairs, (np.arange(plan.lanes)[:, None], lanes), plan.moved_bits)
    np.fill_diagonal(pairs, 0)
    words = -(-pairs // 32)
    assert len(plan.shuffles) == max(words.sum(axis=0).max(), words.sum(axis=1).max())


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
        np.testing.assert_array_equal(codes, clipped.astype(kind).view(np.uint8))


def test_finite_values_convert_as_they_are_encoded() -> None:
    """Values that need no saturation: as `DType.encode` rounds them."""
    values = np.random.default_rng(0).normal(0, 3, 10_000).astype(np.float32)
    for name in ("f16", "bf16", "tf32", "e4m3", "e5m2"):
        codes = convert(values.view(np.uint32), dtype("f32"), dtype(name))
        np.testing.assert_array_equal(codes, dtype(name).encode(values))


# -- ldmatrix and stmatrix -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [F16, BF16, TF32, E4M3, S8, S4,
                                  "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc"])  # fmt: skip
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


def test_bytes_loaded_with_trans_find_their_lanes() -> None:
    """ldmatrix.trans moves pairs of bytes: rows of memory along N, two tiles of B beside each other."""
    load = operand("ldmatrix.sync.aligned.m8n8.x4.trans.b16", "R")
    b = operand(S8, "B")
    plan = repack(load, [b, b])
    matrix = np.random.default_rng(0).integers(0, 256, (32, 16), dtype=np.uint8)
    registers = load.pack_codes(np.ascontiguousarray(matrix).view(np.uint16))
    expected = np.concatenate([b.pack_codes(matrix[:, :8]), b.pack_codes(matrix[:, 8:])], axis=-1)
    np.testing.assert_array_equal(plan(registers), expected)
    np.testing.assert_array_equal(plan.follow(registers), expected)
    assert len(plan.shuffles) == 4


def test_unpacked_elements_are_shifted() -> None:
    """ldmatrix puts 4 bits at the bottom of their byte; kind::f8f6f4 reads them 2 bits up."""
    load = operand("ldmatrix.sync.aligned.m8n16.x4.b8x16.b4x16_p64", "R")
    ins = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32"
    a = operand(ins, "A")
    plan = repack(load, a)
    assert plan.shift == 2
    codes = np.random.default_rng(0).integers(0, 16, load.shape, dtype=np.uint8)
    matrix = np.block([[codes[:8], codes[16:24]], [codes[8:16], codes[24:]]])
    registers = load.pack_codes(codes)
    np.testing.assert_array_equal(plan(registers), a.pack_codes(matrix))
    np.testing.assert_array_equal(plan.follow(registers), a.pack_codes(matrix))


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


@pytest.mark.parametrize("name", TILED)
def test_source_compiles(name: str) -> None:
    plan = repack(*TILED[name])
    targets = ["sm_90a"] if plan.targets[0].dtype.name in ("e4m3", "e5m2") else ["sm_80", "sm_90a"]
    for target in targets:
        assert gpu.compile(kernel(plan), target)[1:4] == b"ELF"


@pytest.mark.gpu
@pytest.mark.parametrize("name", TILED)
def test_gpu_gives_the_same_registers(name: str) -> None:
    plan = repack(*TILED[name])
    registers = random_registers(plan, count=64)
    if plan.sources[0].dtype.name == "f32":  # half of them in the range that converts to something
        values = np.random.default_rng(1).normal(0, 60, registers[::2].shape).astype(np.float32)
        registers[::2] = values.view(np.uint32)
    expected = plan(registers)
    out = np.zeros(expected.shape, dtype=expected.dtype)
    gpu.launch(kernel(plan), "lanes", [registers, gpu.Out(out)], grid=len(registers), block=plan.lanes)
    np.testing.assert_array_equal(out, expected)


# -- what is refused, and what is said -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (operand(F16, "D"), operand(F16, "A"), r"2 side by side would be: repack\(\[d, d\], ...\)"),
        (operand(F16, "D"), operand(E4M3, "B"), r"2 below each other would be: repack\(\[\[d\], \[d\]\]"),
        (operand(WGMMA_E4M3, "D"), operand(WGMMA_E4M3, "B"), "lies in shared memory"),
        (operand(WGMMA_E4M3, "D"), operand(F16, "A"), "128 lanes"),
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
    with pytest.raises(PtxlabError, match=message):
        repack(source, target)


def test_elements_that_share_a_byte_do_not_part() -> None:
    load = operand("ldmatrix.sync.aligned.m8n8.x4.trans.b16", "R")
    with pytest.raises(PtxlabError, match="elements of 4 bits that share a byte would part"):
        repack([load] * 2, [operand(S4, "B")] * 4)


def test_registers_of_the_wrong_shape() -> None:
    plan = repack(*TILED["f16"])
    with pytest.raises(PtxlabError, match=r"it takes \[..., 32 lanes, 8 registers\], those of 2 tiles"):
        plan(np.zeros((32, 4), dtype=np.uint32))
    with pytest.raises(PtxlabError, match="found registers of shape nothing"):
        plan()


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
    with pytest.raises(PtxlabError, match="gives a plan"):
        views.repack("plan")  # type: ignore[arg-type]


def test_pictures_of_all_plans() -> None:
    for name, (source, target) in TILED.items():
        assert views.repack(repack(source, target)).svg().startswith("<svg"), name


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["repack", "wgmma.m64n32k32.f32.e4m3:D", "wgmma.m64n32k32.f32.e4m3:A"]) == 0
    text = capsys.readouterr().out
    assert "1536 of 2048 elements change lanes; 4 converts, 4 selects, 4 shuffles, 4 permutes" in text
    assert cli.main(["repack", "mma.m16n8k16.f32.f16", "mma.m16n8k16.f32.f16", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["moved"], facts["elements"], len(facts["source"]), facts["counts"]) == (
        0,
        256,
        2,
        {"convert": 4},
    )
    assert facts["steps"][0]["sources"] == [["in0", 0], ["in1", 0]]
    assert cli.main(["repack", "mma.m16n8k16.f32.f16", "mma.m16n8k16.f32.f16", "--cuda"]) == 0
    assert capsys.readouterr().out.rstrip() == repack(*TILED["f16"]).source.rstrip()
    assert cli.main(["repack", "ldmatrix.sync.aligned.m8n8.x4.trans.b16", "mma.m16n8k32.s8:B"]) == 0
    assert "2 of B 32x8 s8" in capsys.readouterr().out
    assert cli.main(["repack", "mma.m16n8k8.tf32", "mma.m16n8k8.tf32", "--svg"]) == 0
    assert capsys.readouterr().out.startswith("<svg")
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
    np.testing.assert_array_equal(order.order, row * 64 + column)


def test_marlins_order_of_a_whole_layer() -> None:
    """Marlin's Layer.pack: 16x16 tiles of W beside each other, permuted by 1,024; K outermost."""
    weights = np.random.default_rng(0).integers(0, 16, (64, 256), dtype=np.uint8)
    tile = weight_order(operand(F16, "B"), (16, 64), bits=4, interleave=FAST_DEQUANTISATION)
    expected = weights.reshape(4, 16, 4, 64).swapaxes(1, 2).reshape(-1, 1024)[:, tile.order].ravel()
    order = weight_order(operand(F16, "B"), weights.shape, bits=4, interleave=FAST_DEQUANTISATION)
    np.testing.assert_array_equal(order.store(weights), expected)
    np.testing.assert_array_equal(order.restore(expected), weights)


def test_sparse_marlins_order() -> None:
    """Sparse-Marlin's _get_perms_NT: A of mma.sp; tile j has rows j, j + 4, ..., halves 32 rows apart."""
    place = np.arange(1024)
    lane, tile, element = place // 32, place // 8 % 4, np.array(FAST_DEQUANTISATION)[place % 8]
    k = 2 * (lane % 4) + element % 2 + element % 4 // 2 * 8
    m = 4 * (lane // 4) + tile + 32 * (element // 4)
    sparse = operand("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "A")
    order = weight_order(sparse, (64, 16), bits=4, interleave=(0, 4, 2, 6, 1, 5, 3, 7), tiles="strided")
    np.testing.assert_array_equal(order.order, m * 16 + k)


@pytest.mark.parametrize(("name", "which"), [(F16, "A"), (F16, "B"), (S8, "A"), (S8, "B"), (S4, "A"),
                                             (TF32, "A"), (WGMMA_E4M3, "A"), (F64, "A")])  # fmt: skip
def test_loads_hold_fragments(name: str, which: str) -> None:
    """What a lane loads, 128 bits at a time, are its registers of tile after tile."""
    target = operand(name, which)
    across = 0 if which == "A" else 1
    factor = np.ones(2, dtype=int) * 2
    factor[across] = 8
    shape = tuple((np.array(target.shape) * factor).tolist())
    order = weight_order(target, shape)
    np.testing.assert_array_equal(np.sort(order.order), np.arange(shape[0] * shape[1]))
    np.testing.assert_array_equal(order.order[order.places], np.arange(len(order.order)))
    codes = (
        np.random.default_rng(0)
        .integers(0, 1 << min(target.dtype.bits, 30), shape)
        .astype(target.dtype.code_type)
    )
    rows, columns = target.shape
    tiles = codes.reshape(factor[0], rows, factor[1], columns).transpose(
        (2, 0, 1, 3) if across == 0 else (0, 2, 1, 3)
    )
    registers = target.pack_codes(tiles.reshape(-1, rows, columns))  # [tiles, lanes, registers]
    loaded = np.take(codes.ravel(), order.loads)  # [loads, lanes, elements]
    packed = target.join(loaded).swapaxes(0, 1).reshape(target.lanes, -1)
    np.testing.assert_array_equal(packed, registers.swapaxes(0, 1).reshape(target.lanes, -1))


def test_orders_that_do_not_exist() -> None:
    b = operand(F16, "B")
    for arguments, message in (
        ({"shape": (15, 64)}, "whole tiles of"),
        ({"shape": (16, 8), "bits": 4}, "columns come in multiples of 64"),
        ({"shape": (16, 64), "bits": 3}, "bits=3"),
        ({"shape": (16, 64), "interleave": (0, 2)}, "interleave="),
        ({"shape": (16, 64), "tiles": "diagonal"}, "tiles='diagonal'"),
    ):
        with pytest.raises(PtxlabError, match=message):
            weight_order(b, **arguments)  # type: ignore[arg-type]
    with pytest.raises(PtxlabError, match="shared memory"):
        weight_order(operand(WGMMA_E4M3, "B"), (32, 32))
    order = weight_order(b, (16, 64), bits=4)
    with pytest.raises(PtxlabError, match="this order is one of"):
        order.store(np.zeros((16, 32)))
    with pytest.raises(PtxlabError, match="this order has"):
        order.restore(np.zeros(7))
