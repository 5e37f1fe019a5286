"""The table of PTX's scalar instructions: opcodes as the manual lists them, operands, and what computes them.

Adding an instruction is adding a row. `.approx` instructions are not here: they have tables of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

from . import comparison, convert, floating, integer, video
from .opcode import OpcodeRow

_INTEGERS = "(.u16|.u32|.u64|.s16|.s32|.s64)"
_SIGNED = "(.s16|.s32|.s64)"
_32_64 = "(.u32|.u64|.s32|.s64)"
_BITS = "(.b16|.b32|.b64)"
_ROUND = "(.rn|.rz|.rm|.rp)"
_ROUND_MAYBE = "{.rn|.rz|.rm|.rp}"
_F16 = "(.f16|.f16x2)"
_BF16 = "(.bf16|.bf16x2)"

_INTEGER = (
    OpcodeRow(f"(add|sub){_INTEGERS}", "t t", "t", integer.elementwise),
    OpcodeRow("(add|sub).sat.s32", "t t", "t", integer.elementwise),
    OpcodeRow("add(.u16x2|.s16x2)", "t t", "t", integer.elementwise),
    OpcodeRow("(add|sub){.sat}(.u8x4|.s8x4)", "t t", "t", integer.elementwise),
    OpcodeRow("add.sat(.u32|.u16x2|.s16x2)", "t t", "t", integer.elementwise),
    OpcodeRow(f"mul(.lo|.hi){_INTEGERS}", "t t", "t", integer.multiply),
    OpcodeRow("mul.wide(.u16|.u32|.s16|.s32)", "t t", "w", integer.multiply),
    OpcodeRow(f"mad(.lo|.hi){_INTEGERS}", "t t t", "t", integer.multiply),
    OpcodeRow("mad.wide(.u16|.u32|.s16|.s32)", "t t w", "w", integer.multiply),
    OpcodeRow("mad.hi.sat.s32", "t t t", "t", integer.multiply),
    OpcodeRow("mul24(.lo|.hi)(.u32|.s32)", "t t", "t", integer.multiply_24),
    OpcodeRow("mad24(.lo|.hi)(.u32|.s32)", "t t t", "t", integer.multiply_24),
    OpcodeRow("mad24.hi.sat.s32", "t t t", "t", integer.multiply_24),
    OpcodeRow(f"sad{_INTEGERS}", "t t t", "t", integer.elementwise),
    OpcodeRow(f"(div|rem){_INTEGERS}", "t t", "t", integer.divide),
    OpcodeRow(f"(abs|neg){_SIGNED}", "t", "t", integer.elementwise),
    OpcodeRow(f"(min|max){_INTEGERS}", "t t", "t", integer.elementwise),
    OpcodeRow("(min|max)(.u16x2|.s16x2|.u8x4|.s8x4)", "t t", "t", integer.elementwise),
    OpcodeRow("(min|max).relu(.s16x2|.s32|.s8x4)", "t t", "t", integer.elementwise),
    OpcodeRow("neg.s8x4", "t", "t", integer.elementwise),
    OpcodeRow("clmad(.lo|.hi).u64", "t t t", "t", integer.carryless),
    OpcodeRow("(popc|clz)(.b32|.b64)", "t", "i", integer.count),
    OpcodeRow(f"bfind{{.shiftamt}}{_32_64}", "t", "i", integer.count),
    OpcodeRow("fns.b32", "t b32 b32", "b32", integer.nth_set_bit),
    OpcodeRow("brev(.b32|.b64)", "t", "t", integer.brev),
    OpcodeRow(f"bfe{_32_64}", "t i i", "t", integer.extract),
    OpcodeRow("bfi(.b32|.b64)", "t t i i", "t", integer.insert),
    OpcodeRow("szext(.clamp|.wrap)(.u32|.s32)", "t i", "t", integer.szext),
    OpcodeRow("bmsk(.clamp|.wrap).b32", "i i", "i", integer.bmsk),
    OpcodeRow("dp4a(.u32|.s32)(.u32|.s32)", "i i i", "i", integer.dot),
    OpcodeRow("dp2a(.lo|.hi)(.u32|.s32)(.u32|.s32)", "i i i", "i", integer.dot),
    OpcodeRow(f"(add|sub).cc{_32_64}", "t t", "t p", integer.add_carry),
    OpcodeRow(f"(addc|subc){_32_64}", "t t p", "t", integer.add_carry),
    OpcodeRow(f"(addc|subc).cc{_32_64}", "t t p", "t p", integer.add_carry),
    OpcodeRow(f"mad(.lo|.hi).cc{_32_64}", "t t t", "t p", integer.add_carry),
    OpcodeRow(f"madc(.lo|.hi){_32_64}", "t t t p", "t", integer.add_carry),
    OpcodeRow(f"madc(.lo|.hi).cc{_32_64}", "t t t p", "t p", integer.add_carry),
)

_LOGIC = (
    OpcodeRow("(and|or|xor)(.b16|.b32|.b64|.pred)", "t t", "t", integer.bitwise),
    OpcodeRow("not(.b16|.b32|.b64|.pred)", "t", "t", integer.bitwise),
    OpcodeRow(f"cnot{_BITS}", "t", "t", integer.bitwise),
    OpcodeRow("lop3.b32", "t t t b32", "t", integer.lop3),
    OpcodeRow("lop3(.and|.or).b32", "t t t b32 p", "t p", integer.lop3),
    OpcodeRow(f"shl{_BITS}", "t i", "t", integer.shift),
    OpcodeRow("shr(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64)", "t i", "t", integer.shift),
    OpcodeRow("shf(.l|.r)(.clamp|.wrap).b32", "t t i", "t", integer.funnel_shift),
    OpcodeRow("prmt.b32{.f4e|.b4e|.rc8|.ecl|.ecr|.rc16}", "t t b32", "t", integer.byte_permute),
)

_FLOAT = (
    OpcodeRow(f"(add|sub|mul){_ROUND_MAYBE}{{.ftz}}{{.sat}}.f32", "t t", "t", floating.arithmetic),
    OpcodeRow(f"(add|sub|mul){_ROUND_MAYBE}{{.ftz}}.f32x2", "t t", "t", floating.arithmetic),
    OpcodeRow(f"(add|sub|mul){_ROUND_MAYBE}.f64", "t t", "t", floating.arithmetic),
    OpcodeRow(f"(add|sub|mul){{.rn}}{{.ftz}}{{.sat}}{_F16}", "t t", "t", floating.arithmetic),
    OpcodeRow(f"(add|sub|mul){{.rn}}{_BF16}", "t t", "t", floating.arithmetic),
    OpcodeRow(f"(add|sub){_ROUND_MAYBE}{{.sat}}.f32(.f16|.bf16)", "t f32", "d", floating.arithmetic),
    OpcodeRow(f"fma{_ROUND}{{.sat}}.f32(.f16|.bf16)", "t t f32", "d", floating.arithmetic),
    OpcodeRow(f"(fma|mad){_ROUND}{{.ftz}}{{.sat}}.f32", "t t t", "t", floating.arithmetic),
    OpcodeRow(f"fma{_ROUND}{{.ftz}}.f32x2", "t t t", "t", floating.arithmetic),
    OpcodeRow(f"(fma|mad){_ROUND}.f64", "t t t", "t", floating.arithmetic),
    OpcodeRow(f"fma.rn{{.ftz}}{{.sat|.relu}}{_F16}", "t t t", "t", floating.arithmetic),
    OpcodeRow(f"fma.rn{{.oob}}{{.relu}}{_BF16}", "t t t", "t", floating.arithmetic),
    OpcodeRow(f"fma.rn.oob{{.sat|.relu}}{_F16}", "t t t", "t", floating.arithmetic),
    OpcodeRow(f"div{_ROUND}{{.ftz}}.f32", "t t", "t", floating.arithmetic),
    OpcodeRow(f"div{_ROUND}.f64", "t t", "t", floating.arithmetic),
    OpcodeRow(f"(rcp|sqrt){_ROUND}{{.ftz}}.f32", "t", "t", floating.arithmetic),
    OpcodeRow(f"(rcp|sqrt){_ROUND}.f64", "t", "t", floating.arithmetic),
    OpcodeRow("(min|max){.ftz}{.NaN}.f32", "t t t?", "t", floating.extremum),
    OpcodeRow("(min|max){.ftz}{.NaN}.abs.f32", "t t t", "t", floating.extremum),
    OpcodeRow("(min|max){.ftz}{.NaN}.xorsign.abs.f32", "t t", "t", floating.extremum),
    OpcodeRow(f"(min|max){{.ftz}}{{.NaN}}{{.xorsign.abs}}{_F16}", "t t", "t", floating.extremum),
    OpcodeRow(f"(min|max){{.NaN}}{{.xorsign.abs}}{_BF16}", "t t", "t", floating.extremum),
    OpcodeRow("(min|max).f64", "t t", "t", floating.extremum),
    OpcodeRow("(abs|neg){.ftz}(.f32|.f16|.f16x2)", "t", "t", floating.sign_change),
    OpcodeRow("(abs|neg)(.f64|.bf16|.bf16x2)", "t", "t", floating.sign_change),
    OpcodeRow("copysign(.f32|.f64)", "t t", "t", floating.copy_sign),
    OpcodeRow(
        "testp(.finite|.infinite|.number|.notanumber|.normal|.subnormal)(.f32|.f64)",
        "t",
        "p",
        floating.test_property,
    ),
)


def _comparisons() -> Iterator[OpcodeRow]:
    """set and setp: the relations depend on the type, and a Boolean operator brings a source."""
    numbers = "|".join(f".{name}" for name in comparison.NUMBERS)
    ordered = "|".join(f".{name}" for name in comparison.ORDERED)
    all_sources = (
        ("(.eq|.ne)", _BITS),
        (f"({ordered})", _SIGNED),
        (f"({ordered}|.lo|.ls|.hi|.hs)", "(.u16|.u32|.u64)"),
        (f"({numbers})", ".f64"),
    )
    for sources, combine in (("t t", ""), ("t t p", "(.and|.or|.xor)")):
        for relation, types in all_sources:
            yield OpcodeRow(f"setp{relation}{combine}{types}", sources, "p p", comparison.set_predicate)
            yield OpcodeRow(
                f"set{relation}{combine}(.u32|.s32|.f32){types}", sources, "d", comparison.set_value
            )
            yield OpcodeRow(f"set{relation}{combine}(.f16|.bf16){types}", sources, "d", comparison.set_value)
        head = f"({numbers}){combine}"
        yield OpcodeRow(f"setp{head}{{.ftz}}(.f32|.f16|.f16x2)", sources, "p p", comparison.set_predicate)
        yield OpcodeRow(f"setp{head}(.bf16|.bf16x2)", sources, "p p", comparison.set_predicate)
        yield OpcodeRow(f"set{head}{{.ftz}}(.u32|.s32|.f32|.f16).f32", sources, "d", comparison.set_value)
        yield OpcodeRow(f"set{head}.bf16(.f32|.f16)", sources, "d", comparison.set_value)
        yield OpcodeRow(
            f"set{head}{{.ftz}}(.f16|.u16|.s16|.u32|.s32).f16", sources, "d", comparison.set_value
        )
        yield OpcodeRow(f"set{head}(.bf16|.u16|.s16|.u32|.s32).bf16", sources, "d", comparison.set_value)
        yield OpcodeRow(f"set{head}{{.ftz}}(.f16x2|.u32|.s32).f16x2", sources, "d", comparison.set_value)
        yield OpcodeRow(f"set{head}(.bf16x2|.u32|.s32).bf16x2", sources, "d", comparison.set_value)


_SELECTION = (
    OpcodeRow("mov(.pred|.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)", "t", "t", comparison.copy),
    OpcodeRow(
        "selp(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64)", "t t p", "t", comparison.select
    ),
    OpcodeRow(
        "slct(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).s32",
        "d d t",
        "d",
        comparison.select_by_sign,
    ),
    OpcodeRow(
        "slct{.ftz}(.b16|.b32|.b64|.u16|.u32|.u64|.s16|.s32|.s64|.f32|.f64).f32",
        "d d t",
        "d",
        comparison.select_by_sign,
    ),
)

_2 = "(.u32|.s32)(.u32|.s32)"
_VIDEO = (
    OpcodeRow(
        f"(vadd|vsub|vavrg|vabsdiff|vmin|vmax)(2|4)(.u32|.s32){_2}{{.sat|.add}}",
        "i i i",
        "i",
        video.simd,
    ),
    OpcodeRow(f"vset(2|4){_2}(.eq|.ne|.lt|.le|.gt|.ge){{.add}}", "i i i", "i", video.simd),
)

_ALL_INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
_WHOLE = "(.rni|.rzi|.rmi|.rpi)"


def _holds(target: str, source: str) -> bool:
    """Whether an integer type has every value of another, so that .sat has nothing to do."""
    wider = int(target[1:]) >= int(source[1:])
    if target[0] == source[0]:
        return wider
    return source[0] == "u" and int(target[1:]) > int(source[1:])


def _conversions() -> Iterator[OpcodeRow]:
    """Rows of cvt: between integers, then with floats, then packed ones. PTX ISA, "cvt"."""
    whole = "(" + "|".join(f".{name}" for name in _ALL_INTEGERS) + ")"
    for target in _ALL_INTEGERS:
        for source in _ALL_INTEGERS:
            saturate = "" if _holds(target, source) else "{.sat}"
            yield OpcodeRow(f"cvt{saturate}.{target}.{source}", "t", "d", convert.convert)
    patterns = (
        f"cvt{_WHOLE}{{.ftz}}{{.sat}}{whole}.f32",
        f"cvt{_WHOLE}{{.sat}}{whole}(.f16|.f64)",
        f"cvt{_WHOLE}{whole}.bf16",
        f"cvt{_ROUND}{{.ftz}}{{.sat}}.f32{whole}",
        f"cvt{_ROUND}{{.sat}}(.f16|.f64){whole}",
        f"cvt{_ROUND}.bf16{whole}",
        # from float to float: wider, the same with whole numbers, narrower
        "cvt{.ftz}{.sat}(.f32.f16|.f64.f32|.f32.f32)",
        "cvt{.sat}(.f64.f16|.f16.f16|.f64.f64)",
        # ptxas takes a rounding where bf16 becomes wider, and none where it becomes f16
        f"cvt{_ROUND_MAYBE}{{.ftz}}.f32.bf16",
        f"cvt{_ROUND_MAYBE}(.f64.bf16|.bf16.f16|.f16.bf16)",
        "cvt.bf16.bf16",
        f"cvt{_WHOLE}{{.ftz}}{{.sat}}.f32.f32",
        f"cvt{_WHOLE}{{.sat}}(.f16.f16|.f64.f64)",
        f"cvt{_WHOLE}.bf16.bf16",
        f"cvt{_ROUND}{{.ftz}}{{.sat}}(.f16.f32|.f32.f64)",
        f"cvt{_ROUND}{{.sat}}.f16.f64",
        f"cvt{_ROUND}.bf16.f64",
        f"cvt{_ROUND}{{.ftz}}.bf16.f32",
        "cvt(.rn|.rz).relu.f16.f32",
        "cvt(.rn|.rz){.relu}.satfinite.f16.f32",
        "cvt(.rn|.rz).relu.bf16.f32",
        "cvt(.rn|.rz){.relu}.satfinite.bf16.f32",
        "cvt.rna{.satfinite}.tf32.f32",
        "cvt(.rn|.rz){.relu}{.satfinite}.tf32.f32",
    )
    for pattern in patterns:
        yield OpcodeRow(pattern, "t", "d", convert.convert)
    small = "(.e4m3x2|.e5m2x2|.e2m1x2|.e2m3x2|.e3m2x2)"
    yield OpcodeRow("cvt(.rn|.rz){.relu}{.satfinite}(.f16x2|.bf16x2).f32", "t t", "d", convert.convert)
    yield OpcodeRow(f"cvt.rn{{.relu}}.satfinite{small}.f32", "t t", "d", convert.convert)
    yield OpcodeRow(f"cvt.rn{{.relu}}.satfinite{small}(.f16x2|.bf16x2)", "t", "d", convert.convert)
    yield OpcodeRow(f"cvt.rn{{.relu}}.f16x2{small}", "t", "d", convert.convert)
    yield OpcodeRow(f"cvt.rn{{.relu}}{{.satfinite}}.bf16x2{small}", "t", "d", convert.convert)
    yield OpcodeRow("cvt.rs{.relu}{.satfinite}(.f16x2|.bf16x2).f32", "t t b32", "d", convert.convert)
    four = small.replace("x2", "x4")
    yield OpcodeRow(f"cvt.rs{{.relu}}.satfinite{four}.f32", "t t t t b32", "d", convert.convert)
    yield OpcodeRow("cvt(.rz|.rp){.satfinite}.ue8m0x2.f32", "t t", "d", convert.convert)
    yield OpcodeRow("cvt(.rz|.rp){.satfinite}.ue8m0x2.bf16x2", "t", "d", convert.convert)
    yield OpcodeRow("cvt.rn.bf16x2.ue8m0x2", "t", "d", convert.convert)
    yield OpcodeRow("cvt.pack.sat(.u16|.s16).s32", "i i", "i", convert.convert_pack)
    yield OpcodeRow("cvt.pack.sat(.u2|.s2|.u4|.s4|.u8|.s8).s32.b32", "i i b32", "i", convert.convert_pack)


#: Every row, with one opcode name in its pattern.
ROWS: tuple[OpcodeRow, ...] = (
    *_INTEGER,
    *_LOGIC,
    *_FLOAT,
    *_comparisons(),
    *_SELECTION,
    *_VIDEO,
    *_conversions(),
)
