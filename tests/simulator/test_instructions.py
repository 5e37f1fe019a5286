"""Instructions of later targets: `st.bulk`, `multimem`, stochastic rounding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import ptxlab
from ptxlab.numerics.scalar.formats import FORMATS
from tests.cases import refusal
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
    body = generic + _CLEAR.replace(".weak.shared::cta [r1], {size}", " [d3], d4") + _READ
    assert _kernel(body).simulate(1, 64, given, out).hazards == [] and not out.any()


def test_st_bulk_takes_part_in_races_and_initialises() -> None:
    """As in TileLang#2699 and #2703, whose pass did not count it as a write."""
    given, out = _arrays()
    racy = "ld.global.u32 r3, [d0]; st.shared.u32 [r2], r3;\n" + _CLEAR.format(size=256) + _READ
    (race,) = _kernel(racy).simulate(1, 64, given, out).hazards
    assert race.kind == "race" and "lane 0 overwrites what warp 1 wrote" in race.sentence
    (unset,) = _kernel(_CLEAR.format(size=128) + _READ).simulate(1, 64, given, out).hazards
    assert unset.kind == "uninitialised memory" and unset.warp == 1
    unwaited = _CLEAR.format(size=256).replace(" bar.sync 0;", "") + _READ
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
    assert [each.kind for each in plain.hazards] == ["race"]
    reduced = _kernel(body + "multimem.red.add.u32 [d1], 1;").simulate(1, 64, *(arrays := _arrays()))
    assert reduced.hazards == [] and arrays[1][0] == 64
    read = _kernel("mov.u32 r3, 1;\nmultimem.ld_reduce.and.b32 r3, [d0]; st.global.u32 [d0+4], r3;")
    assert [each.kind for each in read.simulate(1, 63, *_arrays()).hazards] == ["race"]


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
    reduce = body.replace("cp.async.bulk.global", "cp.reduce.async.bulk.global").replace(
        ".cp_mask", ".add.u32"
    )
    assert _kernel(reduce.replace(", h0", "")).simulate(1, 64, given, out).hazards == []
    assert out[:4].tolist() == [0xFFFE, 0xFFFFFFFF, 0xFFFFFFFF, 0xFEFFFFFF]
    unfenced = _kernel(body.replace("fence.proxy.async;", "")).simulate(1, 64, given, out)
    assert [each.kind for each in unfenced.hazards] == ["missing proxy fence"]


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
    ptx = (_HEAD.format(version="8.7") + body + "\nret; }").replace("sm_100a", "sm_120a")
    assert "lacks cvt.rs.satfinite.e2m1x4.f32; targets that have it: sm_100a, sm_103a, sm_107a" in refusal(
        ptxlab.kernel(ptx).simulate, 1, 64, given, out
    )
