"""Damaged PTX and hostile arguments: the simulator answers, or refuses them in one sentence.

A seeded fuzz damages kernels. A few seconds of it run here; for more:

    PTXLAB_FUZZ=20000 pytest tests/simulator/test_simulator_fuzz.py -k mutants
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from tests.cases import each

COUNT = int(os.environ.get("PTXLAB_FUZZ", "300"))

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
REGISTERS = ".reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .pred %p<4>;\n"


def ptx(body: str, parameters: str = ".param .u64 a", before: str = "", directives: str = "") -> str:
    """A kernel with registers of every kind."""
    return f"{HEAD}{before}.visible .entry k({parameters}) {directives} {{\n{REGISTERS}{body}\nret;\n}}\n"


# -- damaged PTX ---------------------------------------------------------------------------------------------


def _move(constant: str) -> str:
    return ptx(f"mov.u32 %r1, {constant};")


def _nested(opening: str, closing: str, depth: int = 5000) -> str:
    return opening * depth + "1" + closing * depth


@each(
    "text, sentence",
    [
        (_move(_nested("(", ")")), "PTX line 6: parentheses or braces are nested too deeply here"),
        (_move(_nested("1 ? ", " : 1", 20000)), "nested too deeply"),
        (_move(_nested("{", "}")), "nested too deeply"),
        (ptx("", before=f".global .b32 x[] = {_nested('{', '}')};\n"), "PTX line 4: .* nested too deeply"),
        (ptx(f"call {_nested('(', ')')}, f;"), "nested too deeply"),
        (ptx("{" * 5000 + "}" * 5000), "more than 256 blocks are inside each other here"),
        (_move("9" * 5000), "PTX line 6: found '999.*, which has 5000 digits"),
        (_move(f"1 + 0x{'f' * 999}"), "which has 1001 digits"),
        (ptx(f".loc 1 {'9' * 5000} 1"), "which has 5000 digits"),
        (_move("(.s64)(1e300 * 1e300)"), "a whole number, which ~ and casts take"),
        (ptx(".shared .b8 s[-5];"), "PTX line 6: s has -5 elements, which is no size"),
        (ptx("", before=".global .b8 s[-5];\n"), "PTX line 4: s has -5 elements"),
        (ptx("", before=".global .b8 s[1048576][1048576][2];\n"), "s has 2 elements, which is no size"),
        (ptx("", before=".global .v4 .f64 s[1099511627776];\n"), "bytes, which no memory has"),
        (ptx(".shared .align 3 .b8 s[5];"), "found '3' where a power of two belongs"),
        (ptx(".shared .align 0 .b8 s[5];"), "found '0' where a power of two belongs"),
        (ptx("", directives=".reqnctapercluster 0, 0, 0"), r"states clusters of \(0, 0, 0\) blocks"),
        (ptx("", directives=".reqnctapercluster 4, 8"), r"states clusters of \(4, 8, 1\) blocks"),
        (ptx("", ".param .u64 a, .param .u32 a"), "PTX line 4: the parameter a is there twice"),
        (ptx("call;"), "PTX line 6: call has operands that are not understood"),
        (ptx("call (%r1), (%r2);"), "call has operands that are not understood"),
        (ptx("shl.b32 %r1|%p1, %r1, 1;"), "PTX line 6: shl.b32 has one result, found two"),
        (ptx(".reg .b32 %z<-1>;"), "where a number of registers belongs"),
        (ptx("".join(f".reg .b32 %z{n}_<1048576>;" for n in range(20))), "at most 1048576 are simulated"),
        (ptx("").replace("8.6", "8.6e5"), "PTX line 1: found '8.6e5' where a version such as 8.0 belongs"),
        (ptx("/* " * 40_000), "PTX line 6: the comment that begins here does not end"),
        (ptx(".reg .b32 \N{LATIN SMALL LETTER A WITH DIAERESIS};"), "which is not PTX"),
    ],
    ids=lambda case: case[1],
)
def test_damaged_ptx(text: str, sentence: str) -> None:
    with pytest.raises(PtxlabError, match=sentence) as caught:
        ptxlab.kernel(text).simulate(1, 32, np.zeros(64, np.uint32), show=False)
    assert len(str(caught.value)) < 400


def test_constants_wrap_as_in_64_bits() -> None:
    text = ptx(
        "ld.param.u64 %d1, [a]; mov.u64 %d2, 0xffffffffffffffff * 0xffffffffffffffff + ~~-(-(6)) - !1;"
        "st.global.u64 [%d1], %d2; mov.u64 %d2, 1 + 2 * 3 << 1 | 1 == 1 ? (.s64) 2.9 : 7;"
        "st.global.u64 [%d1+8], %d2; ld.global.u32 %r1, [big]; st.global.u32 [%d1+16], %r1;",
        before=".global .f32 big = 1e300;\n",
    )
    out = np.zeros(3, np.uint64)
    ptxlab.kernel(text).simulate(1, 1, out)
    assert out.tolist() == [7, 2, 0x7F800000]


def test_comments_that_nvrtc_warns_of() -> None:
    """Each of them would put its line, with all the others, into NVRTC's log."""
    with pytest.raises(PtxlabError, match="comment unclosed|CUDA C"):
        ptxlab.kernel("/* " * 40_000)


@each("block", [1, 32, 96, 160])
def test_warpgroups_that_lack_threads(block: int) -> None:
    text = ptx(
        "mov.u64 %d1, 0; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
        "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, %d1, 1, 1, 1, 0;"
    )
    with pytest.raises(PtxlabError, match=f"of which {block % 128} threads? can execute it; it takes all"):
        ptxlab.kernel(text).simulate(1, block, np.zeros(64, np.uint32))


# -- arguments -----------------------------------------------------------------------------------------------


def _deep() -> tuple[Any, ...]:
    deep: tuple[Any, ...] = ()
    for _ in range(5000):
        deep = (deep,)
    return deep


@each(
    "kind, value, sentence",
    [
        ("f32", 10**400, "argument 1 of k: 1000.* does not fit f32"),
        ("f64", -(10**400), "does not fit f64"),
        ("u32", np.bytes_(b"abcd"), r"found \|S4; the kernel takes u32"),
        ("u64", np.datetime64(1, "s"), "found datetime64"),
        ("u64", np.complex64(1), "found complex64; the kernel takes u64"),
        ("f32", np.void(b"abcd"), r"found \|V4; the kernel takes f32"),
        ("u64", np.ma.masked_equal([1, 2], 1), "argument 1 of k: found a masked array"),
        (
            "b8[8]",
            np.broadcast_to(np.uint8(0), (1 << 50,)),
            "found 1125899906842624 bytes; .* takes 8",
        ),
        ("b8[8]", np.array([None]), "found Python objects"),
        ("b8[8]", _deep(), "more than 32 structs in each other"),
    ],
)
def test_refused_arguments(kind: str, value: Any, sentence: str) -> None:
    name, _, size = kind.partition("[")
    text = ptx("", f".param .{name} a{'[' * bool(size)}{size}")
    with pytest.raises(PtxlabError, match=sentence):
        ptxlab.kernel(text).simulate(1, 1, value)


_PUT = ptx("ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;"
           "st.global.u32 [%d1], %r1;")  # fmt: skip


@each("kind", [np.matrix, np.ma.MaskedArray, np.recarray])
def test_arrays_of_other_classes_are_memory(kind: type[Any]) -> None:
    values = np.zeros((4, 8), np.uint32)
    ptxlab.kernel(_PUT).simulate(1, 32, values.view(kind))
    assert values.ravel().tolist() == list(range(32))


def test_numbers_of_16_bits() -> None:
    text = ptx(
        "ld.param.u64 %d1, [a]; ld.param.b16 %h1, [x]; ld.param.b16 %h2, [y]; st.global.b16 [%d1], %h1;"
        "st.global.b16 [%d1+2], %h2;",
        ".param .u64 a, .param .bf16 x, .param .f16 y",
    )
    out = np.zeros(2, np.uint16)
    ptxlab.kernel(text).simulate(1, 1, out, 1.0, 1.0)
    assert out.tolist() == [0x3F80, 0x3C00]
