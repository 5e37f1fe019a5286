"""Constant expressions of PTX, as NVIDIA's assemblers evaluate them.

The table is what nvJitLink of CUDA 13.0 and ptxas of CUDA 13.4 make of its expressions, recorded for
machines without them. Random expressions are compared with both; for more of them:

    PTXLAB_FUZZ=10000 pytest tests/simulator/test_constants.py -k random
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.simulator.ptx.reader import read_ptx
from tests import assembler
from tests.cases import each

COUNT = int(os.environ.get("PTXLAB_FUZZ", "2000"))
#: Expressions with the 64 bits that both assemblers store, as a signed number.
RECORDED = {
    # one unsigned operand makes the other one unsigned
    "-1/2U": 2**63 - 1,
    "(.u64)-1/2": 2**63 - 1,
    "(0-1U)/2": 2**63 - 1,
    "-8/(.u64)3": 0x5555555555555552,
    "2*-3U/2": 2**63 - 3,
    "-1/2": 0,
    "-7/2": -3,
    "(.s64)0xFFFFFFFFFFFFFFFF/2": 0,
    "(.s64)~0/2": 0,
    "(-1 > 0U) ? 5 : 7": 5,
    "-1 < 0U": 0,
    "-1 == 0xFFFFFFFFFFFFFFFF": 1,
    "(-1 & -1U)/2": 2**63 - 1,
    "(-1 & -1)/2": 0,
    "(-1 | 1) >> 1": -1,
    "(1U ^ -2) >> 1": 2**63 - 1,
    # remainders and complements are unsigned, truth values are signed
    "-8 % 3": 2,
    "(-5) % (-3)": -5,
    "((5 % 3) - 4)/2": 2**63 - 1,
    "~0U/3": 0x5555555555555555,
    "~0/3": 0x5555555555555555,
    "-~0/2": 0,
    "~WARP_SZ/3": 0x555555555555554A,
    "((1U < 2U) - 3)/2": -1,
    "((!1U) - 3)/2": -1,
    "((1U || 2U) - 3)/2": -1,
    # a shift has the type of what is shifted, and takes six bits of the other
    "(0U-1)>>1": 2**63 - 1,
    "1<<63>>63": -1,
    "1U<<63>>63": 1,
    "(1U<2)<<63>>63": -1,
    "-1>>1U": -1,
    "1<<65": 2,
    "1<<-1": -(2**63),
    "((1<<1U)-4)/2": -1,
    # a choice has the type of what it chooses
    "(0 ? 2U : -4)/2": -2,
    "((0 ? -4 : 2U) - 3)/2": 2**63 - 1,
    # 64 bits, unsigned where an .s64 does not hold the number
    "9223372036854775808/2": 2**62,
    "-9223372036854775808>>1": 2**62,
    "(9223372036854775807+1)/2": -(2**62),
    "0x7FFFFFFFFFFFFFFF+1 > 0": 0,
    "(18446744073709551626-20)/2": -5,
    "01777777777777777777777/2": 2**63 - 1,
    # precedence, and numbers of other kinds
    "1|2^3&4": 3,
    "10 % 4*3": 6,
    "1?2:1?3:4": 2,
    "1+0?2:3": 2,
    "5 > 3 > 1": 0,
    "WARP_SZ-33": -1,
    "- -1 + !-1": 1,
    "(1.5<2.5)+1": 2,
    "2.0*0.5 == 1.0": 1,
}


def _module(expressions: list[str], type_name: str = "s64") -> str:
    head = ".version 9.0\n.target sm_90a\n.address_size 64\n"
    return (
        f"{head}.visible .global .{type_name} x[{len(expressions)}] = {{\n" + ",\n".join(expressions) + "};\n"
    )


def _values(expressions: list[str], type_name: str = "s64") -> list[int]:
    """What the simulator stores, as unsigned numbers."""
    values = read_ptx(_module(expressions, type_name)).variables["x"].values or ()
    return [value for value in values if isinstance(value, int)]


def _assembled(compiler: assembler.Compiler, expressions: list[str], type_name: str = "s64") -> list[int]:
    cubin = compiler.build(_module(expressions, type_name), "sm_90a")
    assert isinstance(cubin, bytes), cubin
    dtype = np.dtype(f"<u{int(type_name[1:]) // 8}")
    return [int(value) for value in np.frombuffer(assembler.section(cubin, ".nv.global.init"), dtype)]


def test_recorded_expressions() -> None:
    values = np.array(_values(list(RECORDED)), np.uint64).astype(np.int64)
    assert dict(zip(RECORDED, values.tolist(), strict=True)) == RECORDED


@each("compiler", assembler.COMPILERS)
def test_the_record_is_the_assemblers(compiler: assembler.Compiler) -> None:
    values = np.array(_assembled(compiler, list(RECORDED)), np.uint64).astype(np.int64)
    assert dict(zip(RECORDED, values.tolist(), strict=True)) == RECORDED


_LITERALS = (
    *("0", "1", "2", "3", "7", "63", "64", "65", "0U", "1U", "3U", "63U", "0777", "0b1011", "WARP_SZ"),
    *("0x7fffffffffffffff", "0x8000000000000000", "0xffffffffffffffff", "9223372036854775808", "4294967295"),
    *("18446744073709551615", "18446744073709551626"),
)
_BINARY = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "==", "!=", "<", ">", "<=", ">=", "&&", "||")


def _expression(choice: random.Random, depth: int) -> str:
    """A random constant expression; what it divides by may be 0."""
    kind = choice.random()
    if depth == 0 or kind < 0.12:
        number = str(choice.getrandbits(choice.choice((8, 32, 63, 64))))
        return choice.choice((*_LITERALS, number, number + "U"))
    if kind < 0.3:
        return choice.choice(("-", "- ", "~", "!", "+", "(.u64)", "(.s64)")) + _expression(choice, depth - 1)
    if kind < 0.5:
        return f"({_expression(choice, depth - 1)})"
    if kind < 0.58:
        return (
            " ? ".join(_expression(choice, depth - 1) for _ in range(2))
            + f" : {_expression(choice, depth - 1)}"
        )
    if kind < 0.61:
        sign, comparison = choice.choice("+-*"), choice.choice(("<", ">=", "==", "!="))
        return f"(-1.5 {sign} {choice.choice(('.25', '1e3'))} {comparison} {choice.choice(('0.0', '-1.25'))})"
    sign = choice.choice(_BINARY)
    return f"{_expression(choice, depth - 1)} {sign} {_expression(choice, depth - 1)}"


def _real(choice: random.Random, depth: int) -> str:
    """A random expression of floats."""
    kind = choice.random()
    if depth == 0 or kind < 0.2:
        return choice.choice(
            ("1.5", "0.1", "1e3", ".25", "7.", "1e-300", "1e300", "0d3FB999999999999A", "1e-20")
        )
    if kind < 0.5:
        return choice.choice(("-{}", "({})")).format(_real(choice, depth - 1))
    return f"{_real(choice, depth - 1)} {choice.choice('+-*/')} {_real(choice, depth - 1)}"


def _divides_by_0(expression: str, type_name: str) -> bool:
    """Whether the simulator refuses it for that; the assembler, which refuses it as well, stops there."""
    try:
        _values([expression], type_name)
    except PtxlabError as error:
        return "a constant that does not divide by 0" in str(error)
    return False


@each("compiler", assembler.COMPILERS)
def test_random_expressions(compiler: assembler.Compiler) -> None:
    choice = random.Random(49)
    for generate, type_names, count in ((_expression, ("s64",), COUNT), (_real, ("f64", "f32"), COUNT // 10)):
        generated = [generate(choice, choice.randint(1, 5)) for _ in range(count)]
        expressions = [expression for expression in generated if not _divides_by_0(expression, type_names[0])]
        assert len(expressions) > 0.9 * count
        for type_name in type_names:
            stored = _values(expressions, type_name)
            assembled = _assembled(compiler, expressions, type_name)
            rows = zip(expressions, stored, assembled, strict=True)
            assert [row for row in rows if row[1] != row[2]] == []


REFUSED = {
    "1.5 + 2": "found '2' where a number of the same kind as the other one of + (2.0 is a float) belongs",
    "1.5 && 1": "where a whole number, which && takes, belongs",
    "1.5 % 2.0": "where a whole number, which % takes, belongs",
    "!1.5": "where a whole number, which ! takes, belongs",
    "(.s64)1.5": "found '1.5' where a whole number, which a cast takes, belongs",
    "1.5 ? 2 : 3": "where a whole number, which ? takes, belongs",
    "1 ? 1.5 : 2.5": "where a whole number, which ? takes, belongs",
    "(.u32)5": "found '.u32' where a cast to .s64 or .u64 belongs",
    "1 < < 2": "found '<' where a constant belongs",
    "0 ? 1/0 : 5": "a constant that does not divide by 0",
}


@each("expression, sentence", list(REFUSED.items()))
def test_what_is_refused(expression: str, sentence: str) -> None:
    with pytest.raises(PtxlabError) as error:
        _values([expression])
    assert sentence in str(error.value)


def test_assemblers_refuse_it_as_well() -> None:
    for expression in REFUSED:
        assert assembler.NEWEST.assemble(_module([expression]), "sm_90a") is not None, expression


def test_a_quotient_of_65_bits() -> None:
    """Both assemblers crash at it."""
    with pytest.raises(PtxlabError, match="found '1' where a constant whose quotient has 64 bits belongs"):
        _values(["(1<<63)/-1"])
    assert _values(["(1<<63)/-1U"]) == [0]


def test_in_instructions() -> None:
    """As operands, offsets and indices; floats in initialisers of .b32 and .f32."""
    text = (
        ".version 8.5\n.target sm_90a\n.address_size 64\n"
        ".global .b32 g[4] = {1.5, 0d3FF8000000000000, WARP_SZ, 40};\n.global .f32 h = 0d3FF8000000000000;\n"
        ".entry k(.param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<2>;\n"
        "ld.param.u64 %rd1, [out]; mov.u32 %r1, (0U-1)>>33; mov.u64 %rd2, g+12;\n"
        "ld.global.u32 %r2, [%rd2 + (0U-8)]; ld.global.u32 %r3, g[-8 % 3]; ld.global.u32 %r4, [g];\n"
        "ld.global.u32 %r5, [g+4]; ld.global.u32 %r6, [h];\n"
        "st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4}; st.global.v2.u32 [%rd1+16], {%r5, %r6}; ret; }\n"
    )
    out = np.zeros(8, np.uint32)
    ptxlab.kernel(text).simulate(1, 1, out)
    half_more = int(np.float32(1.5).view(np.uint32))
    assert out.tolist() == [0x7FFFFFFF, half_more, 32, half_more, half_more, half_more, 0, 0]
