"""The index of PTX 9.4, and instructions of later targets: `st.bulk`, `multimem`, stochastic rounding."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import ptxlab
from ptxlab.numerics import scalar
from ptxlab.numerics.scalar.formats import FORMATS
from ptxlab.simulator.instructions.builders import builder_of
from ptxlab.simulator.ptx.opcode_sets import NOT_SIMULATED
from ptxlab.simulator.ptx.syntax import PtxInstruction
from tests.cases import refusal
from tests.texts import replaced
from tools.record.scalar import get

_HEAD = """.version {version}
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
.reg .b16 h<9>; .reg .b32 r<9>; .reg .b64 d<9>; .reg .f32 f<9>; .reg .pred p<9>;
.shared .align 16 .b8 m[4096];
ld.param.u64 d0, [in]; ld.param.u64 d1, [out]; mov.u32 r0, %tid.x; mul.wide.u32 d2, r0, 4;
add.u64 d0, d0, d2; add.u64 d1, d1, d2; mov.u32 r1, m; mad.lo.u32 r2, r0, 4, r1;
"""


def _kernel(body: str, version: str = "9.4") -> ptxlab.simulation.Kernel:
    return ptxlab.kernel(_HEAD.format(version=version) + body + "\nret; }")


def _arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(1, 65, dtype=np.uint32), np.zeros(64, dtype=np.uint32)


# -- st.bulk: an ordinary weak store of zeros ----------------------------------------------------------------

_CLEAR = "setp.eq.u32 p0, r0, 0; @p0 st.bulk.weak.shared::cta [r1], {size}, 0; bar.sync 0;\n"
_READ = "ld.shared.u32 r3, [r2]; st.global.u32 [d1], r3;"


def test_st_bulk_clears_shared_memory() -> None:
    given, out = _arrays()
    fill = "ld.global.u32 r3, [d0]; st.shared.u32 [r2], r3; bar.sync 0;\n"
    result = _kernel(fill + _CLEAR.format(size=128) + _READ).simulate(1, 64, given, out)
    assert result.hazards == [] and out.tolist() == [0] * 32 + list(range(33, 65))
    out[:] = 7
    generic = "cvt.u64.u32 d3, r1; cvta.shared.u64 d3, d3; mov.u64 d4, 256;\n"
    body = generic + replaced(_CLEAR, ".weak.shared::cta [r1], {size}", " [d3], d4") + _READ
    assert _kernel(body).simulate(1, 64, given, out).hazards == [] and not out.any()


def test_st_bulk_takes_part_in_races_and_initialises() -> None:
    """As in TileLang#2699 and #2703, whose pass did not count it as a write."""
    given, out = _arrays()
    racy = "ld.global.u32 r3, [d0]; st.shared.u32 [r2], r3;\n" + _CLEAR.format(size=256) + _READ
    (race,) = _kernel(racy).simulate(1, 64, given, out).hazards
    assert race.kind == "race" and "lane 0 overwrites what warp 1 wrote" in race.sentence
    (unset,) = _kernel(_CLEAR.format(size=128) + _READ).simulate(1, 64, given, out).hazards
    assert unset.kind == "uninitialised memory" and unset.warp == 1
    unwaited = replaced(_CLEAR.format(size=256), " bar.sync 0;", "") + _READ
    (late,) = _kernel(unwaited).simulate(1, 64, given, out).hazards
    assert late.kind == "race"


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ("60", "60 bytes: st.bulk takes multiples of 8 up to 16777216"),
        ("16777224", "16777224 bytes: st.bulk takes multiples of 8 up to 16777216"),
        ("4104", "writes 8 bytes at 0x1400, which"),
    ],
)
def test_st_bulk_of_a_wrong_size(size: str, message: str) -> None:
    assert message in refusal(_kernel(_CLEAR.format(size=size)).simulate, 1, 64, *_arrays())


def test_st_bulk_stores_only_zeros() -> None:
    message = "st.bulk.weak.shared::cta stores zeros: its last operand is 0"
    assert message in refusal(_kernel("st.bulk.weak.shared::cta [r1], 8, 1;").simulate, 1, 64, *_arrays())


# -- multimem: with one device, the plain instruction --------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "first", "step"),
    [
        (
            "multimem.ld_reduce.relaxed.gpu.global.add.u32 r3, [d0]; multimem.st.weak.global.u32 [d1], r3;",
            1,
            1,
        ),
        ("multimem.ld_reduce.add.acc::f32.f16x2 r3, [d0]; multimem.st.f16x2 [d1], r3;", 1, 1),
        ("multimem.red.add.u32 [d1], 5; multimem.red.release.gpu.global.add.u32 [d1], 2;", 7, 0),
        ("multimem.st.async.release.sys.u32 [d1], 9; multimem.red.async.release.gpu.add.u32 [d1], 1;", 10, 0),
        ("st.async.release.gpu.global.u32 [d1], 3; red.async.release.gpu.global.add.u32 [d1], r0;", 3, 1),
    ],
)
def test_multimem_on_one_device(body: str, first: int, step: int) -> None:
    given, out = _arrays()
    assert _kernel(body).simulate(1, 64, given, out).hazards == []
    assert out.tolist() == [first + step * lane for lane in range(64)]


def test_multimem_accesses_take_part_in_races() -> None:
    body = "ld.param.u64 d1, [out]; ld.param.u64 d0, [in];\n"
    plain = _kernel(body + "multimem.st.u32 [d1], r0;").simulate(1, 64, *_arrays())
    assert [hazard.kind for hazard in plain.hazards] == ["race"]
    reduced = _kernel(body + "multimem.red.add.u32 [d1], 1;").simulate(1, 64, *(arrays := _arrays()))
    assert reduced.hazards == [] and arrays[1][0] == 64
    read = _kernel("mov.u32 r3, 1;\nmultimem.ld_reduce.and.b32 r3, [d0]; st.global.u32 [d0+4], r3;")
    assert [hazard.kind for hazard in read.simulate(1, 63, *_arrays()).hazards] == ["race"]


@pytest.mark.parametrize("name", ["multimem.cp.async.bulk", "cp.async.bulk"])
def test_bulk_copies_of_some_bytes(name: str) -> None:
    """`.cp_mask`: the bytes of each 16 whose bits are set."""
    body = f"""st.shared.u32 [r2], -1; fence.proxy.async; bar.sync 0;
    setp.eq.u32 p0, r0, 0; mov.b16 h0, 0x8003;
    @p0 {name}.global.shared::cta.bulk_group.cp_mask [d1], [r1], 256, h0;
    @p0 cp.async.bulk.commit_group; @p0 cp.async.bulk.wait_group 0;"""
    given, out = _arrays()
    assert _kernel(body).simulate(1, 64, given, out).hazards == []
    assert out.reshape(-1, 4).tolist() == [[0x0000FFFF, 0, 0, 0xFF000000]] * 16
    reduce = replaced(body, "cp.async.bulk.global", "cp.reduce.async.bulk.global")
    reduce = replaced(reduce, ".cp_mask", ".add.u32")
    assert _kernel(replaced(reduce, ", h0", "")).simulate(1, 64, given, out).hazards == []
    assert out[:4].tolist() == [0xFFFE, 0xFFFFFFFF, 0xFFFFFFFF, 0xFEFFFFFF]
    unfenced = _kernel(replaced(body, "fence.proxy.async;", "")).simulate(1, 64, given, out)
    assert [hazard.kind for hazard in unfenced.hazards] == ["missing proxy fence"]


# -- stochastic rounding -------------------------------------------------------------------------------------


def _rounded(name: str, value: float, random: int, bits: int) -> int:
    """A value's code in exact arithmetic: a carry of random bits and those cut off rounds up."""
    form = FORMATS[name]
    magnitude = abs(Fraction(value))
    exponent = max(-form.bias + 1, int(np.frexp(abs(value))[1]) - 1) if value else 0
    unit = Fraction(2) ** (exponent - form.fraction)
    steps = magnitude // unit
    up = (magnitude / unit - steps) * 2**bits // 1 + random >= 2**bits
    rounded = (steps + up) * unit
    largest = Fraction(float(form.decode(np.array([form.largest], form.dtype))[0]))
    code = int(form.encode(np.float64([float(min(rounded, largest))]))[0])
    return code | (form.sign if value < 0 else 0)


@pytest.mark.parametrize("name", ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "f16", "bf16"])
def test_stochastic_rounding_is_the_rule_of_the_manual(name: str) -> None:
    """PTX ISA, "cvt": sources and random bits of each, written down again."""
    rng = np.random.default_rng(5)
    form, lanes = FORMATS[name], 2 if name.endswith("16") else 4
    scale = 2.0 ** rng.integers(-form.bias - form.fraction - 20 if name != "bf16" else -126, 8, (400, lanes))
    numbers = (rng.standard_normal((400, lanes)) * scale).astype(np.float32)
    words = rng.integers(0, 1 << 32, 400, dtype=np.uint32)
    words[::7] = 0xFFFFFFFF
    op = get(f"cvt.rs.satfinite.{name}x{lanes}.f32")
    found = op(*(np.ascontiguousarray(column).view(np.uint32) for column in numbers.T), words)
    width = op.results[0].itemsize * 8 // lanes
    for row, word, result in zip(numbers.tolist(), words.tolist(), found.tolist(), strict=True):
        high, low = f"{word >> 16:016b}", f"{word & 0xFFFF:016b}"
        randoms = {
            "f16": (high[3:], low[3:]), "bf16": (high, low), "e2m1": (high[:8], low[:8], high[8:], low[8:]),
        }.get(name, (high[::-1], high, low[::-1], low))  # fmt: skip
        codes = [
            _rounded(name, value, int(bits, 2), len(bits)) for value, bits in zip(row, randoms, strict=True)
        ]
        assert result == sum(code << width * place for place, code in enumerate(codes[::-1])), (
            row,
            hex(word),
        )


def test_stochastic_rounding_in_a_kernel() -> None:
    body = """ld.global.f32 f0, [d0]; mov.u32 r4, 0x80;
    cvt.rs.satfinite.e2m1x4.f32 h0, {f0, f0, 0f40A00000, f0}, r4;
    cvt.u32.u16 r3, h0; st.global.u32 [d1], r3;"""
    given, out = np.full(64, 5, np.float32), np.zeros(64, np.uint32)
    assert _kernel(body, "8.7").simulate(1, 64, given, out).hazards == [] and set(out.tolist()) == {0x6667}
    ptx = replaced(_HEAD.format(version="8.7") + body + "\nret; }", "sm_100a", "sm_120a")
    assert "lacks cvt.rs.satfinite.e2m1x4.f32; targets that have it: sm_100a, sm_103a, sm_107a" in refusal(
        ptxlab.kernel(ptx).simulate, 1, 64, given, out
    )


# -- the index of PTX 9.4: every instruction is simulated, or refused by its name ----------------------------

#: PTX ISA 9.4, "Instructions", by its sections; what several sections have is named once.
_TEXT = """
 add sub mul mad clmad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi szext bmsk
dp4a dp2a add.cc addc sub.cc subc mad.cc madc testp copysign fma rcp rcp.approx.ftz.f64 sqrt rsqrt
rsqrt.approx.ftz.f64 sin cos lg2 ex2 tanh set setp selp slct and or xor not cnot lop3 shf shl shr mov
shfl shfl.sync prmt ld ld.global.nc ldu st st.async multimem.st.async st.bulk multimem.ld_reduce
multimem.st multimem.red prefetch prefetchu applypriority applypriority.async.bulk
applypriority.async.bulk.tensor discard createpolicy isspacep cvta cvt cvt.pack mapa getctarank cp.async
cp.async.commit_group cp.async.wait_group cp.async.wait_all cp.async.bulk cp.reduce.async.bulk
cp.async.bulk.prefetch multimem.cp.async.bulk multimem.cp.reduce.async.bulk cp.async.bulk.tensor
cp.reduce.async.bulk.tensor cp.async.bulk.prefetch.tensor cp.async.bulk.commit_group
cp.async.bulk.wait_group tensormap.replace spcompress spdecompress fabric.try_get fabric.try_put
fabric.try_red fabric.try_pullred fabric.submit fabric.wait tex tld4 txq istypep suld sust sured suq bra
brx.idx call ret exit bar barrier bar.warp.sync barrier.cluster membar fence atom red red.async
multimem.red.async vote vote.sync match.sync activemask redux.sync griddepcontrol elect.sync
mbarrier.init mbarrier.inval mbarrier.expect_tx mbarrier.complete_tx mbarrier.arrive mbarrier.arrive_drop
mbarrier.test_wait mbarrier.try_wait mbarrier.pending_count mbarrier.check_layout
cp.async.mbarrier.arrive tensormap.cp_fenceproxy clusterlaunchcontrol.try_cancel
clusterlaunchcontrol.query_cancel wmma.load wmma.store wmma.mma mma mma.sp ldmatrix stmatrix movmatrix
wgmma.mma_async wgmma.mma_async.sp wgmma.fence wgmma.commit_group wgmma.wait_group tcgen05.alloc
tcgen05.dealloc tcgen05.relinquish_alloc_permit tcgen05.ld tcgen05.ld.red tcgen05.st tcgen05.wait
tcgen05.cp tcgen05.shift tcgen05.mma tcgen05.mma.sp tcgen05.mma.ws tcgen05.mma.ws.sp tcgen05.fence
tcgen05.commit stacksave stackrestore alloca vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2
vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4 brkpt nanosleep pmevent
trap setmaxnreg
"""
_INDEX = _TEXT.split()

#: Those that are not simulated, with a line of each.
_REFUSED = {
    "tex": "tex.2d.v4.f32.f32 {f0, f1, f2, f3}, [T, {f4, f5}]",
    "tld4": "tld4.r.2d.v4.f32.f32 {f0, f1, f2, f3}, [T, {f4, f5}]",
    "txq": "txq.width.b32 r3, [T]",
    "istypep": "istypep.texref p0, d1",
    "suld": "suld.b.1d.b32.trap {r3}, [S, {r4}]",
    "sust": "sust.b.1d.b32.trap [S, {r4}], {r3}",
    "sured": "sured.b.add.1d.u32.trap [S, {r4}], r3",
    "suq": "suq.width.b32 r3, [S]",
    "fabric.try_get": "fabric.try_get.async.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric"
    ".relaxed.sys.b128 [r0], [r1, d1], 256, [r2]",
    "fabric.try_put": "fabric.try_put.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric"
    ".relaxed.sys.b128 [r1, d1], [r0], 256, [r2]",
    "fabric.try_red": "fabric.try_red.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric"
    ".relaxed.sys.add.u32 [r1, d1], [r0], 256, [r2]",
    "fabric.try_pullred": "fabric.try_pullred.async.multimem.shared::cta.mbarrier::complete_tx::bytes"
    ".mbarrier::report::fabric.relaxed.sys.add.f32.sync [r0], [r1, d1], 256, [r2], 0xFFFFFFFF",
    "fabric.submit": "fabric.submit",
    "fabric.wait": "fabric.wait.sync_restrict::reads",
    "spcompress": "spcompress.b8.b2.sp::2:4.x1 {r0}, {r1}, {r2, r3}, r4",
    "spdecompress": "spdecompress.b8.b2.sp::2:4.x1 {r2, r3}, {r0}, {r1}",
    "mbarrier.check_layout": "mbarrier.check_layout.layout::v1.shared::cta.b64 p0, [r1]",
    "shfl": "shfl.idx.b32 r3, r1, 0, 31",
    "vadd": "vadd.u32.s32.u32.sat.min r3, r1.b0, r2.h1, r4",
    "vsub": "vsub.s32.u32.u32 r3.b1, r1, r2, r4",
    "vabsdiff": "vabsdiff.u32.u32.u32.add r3, r1, r2, r4",
    "vmin": "vmin.u32.u32.u32 r3, r1, 7",
    "vmax": "vmax.u32.u32.u32 r3, r1, r2",
    "vshl": "vshl.u32.u32.u32.clamp r3, r1, r2",
    "vshr": "vshr.s32.u32.u32.wrap r3, r1, r2",
    "vmad": "vmad.s32.s32.s32.shr7 r3, -r1.h0, r2, r4",
    "vset": "vset.u32.s32.lt r3, r1, r2",
    "vote": "vote.all.pred p0, p1",
}


def test_every_instruction_of_ptx_is_simulated_or_refused() -> None:
    assert len(_INDEX) == len(set(_INDEX))
    for name in _INDEX:
        parts = PtxInstruction(0, name, (), 1).parts
        built = builder_of(parts) is not None or parts[0] in scalar.names()
        assert built or name in _REFUSED, name
    assert _REFUSED.keys() <= set(_INDEX)
    assert {name.partition(".")[0] for name in _INDEX} >= NOT_SIMULATED


def test_an_instruction_that_ptx_does_not_have_is_refused_wherever_it_stands() -> None:
    """As the assembler refuses it, though no thread reaches it."""
    kernel = ptxlab.kernel(_HEAD.format(version="9.4") + "ret;\nadx.f32 f0, f0, f0;\n}")
    assert refusal(kernel.simulate, 1, 32, *_arrays()) == "PTX line 10: PTX has no instruction adx"


@pytest.mark.parametrize("name", _REFUSED)
def test_what_is_not_simulated_is_refused_by_its_name(name: str) -> None:
    """In one sentence with the line, when a thread reaches it; the guide names it."""
    head = replaced(_HEAD.format(version="9.4"), "sm_100a", "sm_107a")
    head = replaced(head, ".visible", ".global .texref T; .global .surfref S;\n.visible")
    kernel = ptxlab.kernel(f"{head}{_REFUSED[name]};\nret; }}")
    number = head.count("\n") + 1
    opcode = _REFUSED[name].split(" ")[0]
    assert refusal(kernel.simulate, 1, 32, *_arrays()) == f"PTX line {number}: {opcode} is not simulated yet"
    guide = (Path(__file__).parents[2] / "docs/guide/kernels.md").read_text(encoding="utf-8")
    section = guide.partition("## What is simulated")[2].partition("\n## ")[0]
    assert f"`{name}`" in section or f"`{name.partition('.')[0]}.*`" in section


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("cvt.rn.pzo.bf16.f32 h0, f0", "pzo"),
        ("cvt.rn.satfinite.scaled::n2::ue8m0.s2f6x2.f32 h0, f0, f1, h1", "scaled::n2::ue8m0"),
        (
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster::32b "
            "[r1], [d0], r2, [r3], r4",
            "multicast::cluster::32b",
        ),
    ],
)
def test_what_a_qualifier_asks_for_is_not_left_out_silently(line: str, part: str) -> None:
    kernel = ptxlab.kernel(replaced(_HEAD.format(version="9.4"), "sm_100a", "sm_107a") + line + ";\nret; }")
    assert f".{part} of {line.split()[0]} is not simulated yet" in refusal(kernel.simulate, 1, 32, *_arrays())


def test_sums_of_subnormal_numbers() -> None:
    """Global memory takes them as 0 in atomic sums of f32, but with `.noftz` (PTX ISA, "atom")."""
    for opcode, expected in (("red.global.add.f32", 0), ("red.global.add.noftz.f32", 3)):
        given, out = _arrays()
        out[:] = 1
        _kernel(f"mov.b32 f0, 2; {opcode} [d1], f0;").simulate(1, 64, given, out)
        assert set(out.tolist()) == {expected}


# -- tcgen05.alloc.exclusive ---------------------------------------------------------------------------------

_ALLOCATE = """{first}
tcgen05.alloc.exclusive.cta_group::1.sync.aligned.shared::cta.b32 [r1], {columns};
bar.warp.sync -1; ld.shared.u32 r3, [r1]; bar.warp.sync -1; st.global.u32 [d1], r3;
tcgen05.dealloc.exclusive.cta_group::1.sync.aligned.b32 r3, {columns};"""


@pytest.mark.parametrize("columns", [32, 96, 480, 512])
def test_exclusive_allocations_take_any_multiple_of_32(columns: int) -> None:
    given, out = _arrays()
    out[:] = 9
    body = _ALLOCATE.format(first="", columns=columns)
    assert _kernel(body + body).simulate(1, 32, given, out).hazards == [] and not out[:32].any()


@pytest.mark.parametrize(
    ("target", "columns", "first", "message"),
    [
        ("sm_100a", 100, "", "asks for 100 columns; it takes multiples of 32 up to 512, and all"),
        ("sm_100a", 576, "", "asks for 576 columns; it takes multiples of 32 up to 512"),
        ("sm_107a", 576, "", "tensor memory of more than 512 columns is not simulated yet"),
        (
            "sm_100a", 96, "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r1], 32;",
            "asks for 96 columns; it takes multiples of 32 up to 512, and all must be free",
        ),
    ],
)  # fmt: skip
def test_exclusive_allocations_that_are_refused(target: str, columns: int, first: str, message: str) -> None:
    text = replaced(_HEAD.format(version="9.4"), "sm_100a", target)
    kernel = ptxlab.kernel(text + _ALLOCATE.format(first=first, columns=columns) + "\nret; }")
    assert message in refusal(kernel.simulate, 1, 32, *_arrays())
