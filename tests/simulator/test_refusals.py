"""What a kernel cannot run with is refused in one sentence: damaged PTX, odd arguments, too large sizes."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.simulator.instructions import control
from ptxlab.views.highlight import language_of
from tests.cases import each
from tests.texts import filled, replaced

from .bare_ptx import PUT, ptx


def test_long_texts_are_read_in_linear_time() -> None:
    """Quadratic time would be minutes: what is PTX, how it is coloured, a conversion of printf."""
    blanks = "\n" * 300_000
    kernel = ptxlab.kernel(f"// {blanks}{ptx('')}")
    assert kernel.source.startswith("// ") and language_of(blanks) == "cuda"
    zeros = "%" + "0" * 300_000
    assert control._CONVERSION.sub("", zeros + "!") == zeros + "!"


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
        (_move("(.s64)(1e300 * 1e300)"), "a whole number, which a cast takes"),
        (_move("1 / 0"), "found '0' where a constant that does not divide by 0 belongs"),
        (ptx(".shared .b8 s[-5];"), "PTX line 6: s has -5 elements, which is no size"),
        (ptx("", before=".global .b8 s[-5];\n"), "PTX line 4: s has -5 elements"),
        (ptx("", before=".global .b8 s[1048576][1048576][2];\n"), "s has 2 elements, which is no size"),
        (ptx(".shared .b8 s[0];"), "PTX line 6: s has no size, which only .extern variables may leave out"),
        (ptx("", before=".global .b8 s[];\n"), "PTX line 4: s has no size"),
        (ptx("", before=".global .b8 s[] = {};\n"), "PTX line 4: s has no values between its braces"),
        (ptx(".shared .b8 s[4][0];"), "PTX line 6: s has 0 elements, which is no size"),
        (ptx("", ".param .b8 a[0]"), "a has no size, which only parameters of a .func may leave out"),
        (ptx("", before=".global .v4 .f64 s[1099511627776];\n"), "bytes, which no memory has"),
        (ptx(".shared .align 3 .b8 s[5];"), "found '3' where a power of two belongs"),
        (ptx(".shared .align 0 .b8 s[5];"), "found '0' where a power of two belongs"),
        (ptx("", directives=".reqnctapercluster 0, 0, 0"), r"states clusters of \(0, 0, 0\) blocks"),
        (ptx("", directives=".reqnctapercluster 4, 8"), r"states clusters of \(4, 8, 1\) blocks"),
        (ptx("", ".param .u64 a, .param .u32 a"), "PTX line 4: the parameter a is there twice"),
        (ptx("call;"), "PTX line 6: call has operands that are not understood"),
        (ptx("call (%r1), (%r2);"), "call has operands that are not understood"),
        (
            ptx("call.uni f, ();", before=".func (.param .b32 r) f () { ret; }\n"),
            "f returns 1 value, the call takes none",
        ),
        (ptx("add.f32 %f1, %f2, {%f1, %f2};"), "add.f32 takes 32 bits here, found registers of 64"),
        (ptx("mbarrier.arrive.b64 %d1, [%d2];"), "mbarrier.arrive.b64: thread .0, 0, 0. of block"),
        (ptx("bar.warp.sync;"), "it has at least 1 operand, found none"),
        (ptx("mov.u32 %r1;"), "PTX line 6: mov.u32: it has at least 2 operands, found 1"),
        (ptx("st.shared.b32;"), "st.shared.b32: it has at least 2 operands, found none"),
        (
            ptx("mbarrier.arrive.shared.b64 %d1, [0x7fffffff00];"),
            "of another block of a cluster; this launch has no clusters",
        ),
        (ptx("shl.b32 %r1|%p1, %r1, 1;"), "PTX line 6: shl.b32 has one result, found two"),
        (ptx(".reg .b32 %z<-1>;"), "where a number of registers belongs"),
        (ptx("".join(f".reg .b32 %z{n}_<200000>;" for n in range(20))), "at most 262144 of a function"),
        (replaced(ptx(""), "8.6", "8.6e5"), "PTX line 1: found '8.6e5' where a version such as 8.0 belongs"),
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
        "st.global.u64 [%d1], %d2; mov.u64 %d2, 1 + 2 * 3 << 1 | 1 == 1 ? (.s64) 2 : 7;"
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


@each("source", ["template<int N> __global__ void g('* x) {}", "template<int N> __global__ void g(int* x) {"])
def test_a_template_that_nvrtc_cannot_read(source: str) -> None:
    """Asked for its name, NVRTC 13.0 ends the process of the first."""
    with pytest.raises(PtxlabError, match=r"ptxlab.cu\(1\): error: (missing closing quote|closing brace)"):
        ptxlab.kernel(source, "g<4>")


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


@each("kind", [np.matrix, np.ma.MaskedArray, np.recarray])
def test_arrays_of_other_classes_are_memory(kind: type[Any]) -> None:
    values = np.zeros((4, 8), np.uint32)
    ptxlab.kernel(PUT).simulate(1, 32, values.view(kind))
    assert values.ravel().tolist() == list(range(32))


def test_one_is_not_counted_as_several() -> None:
    result = ptxlab.kernel(ptx("")).simulate(1, 1, None)
    assert repr(result) == "<1 instruction executed by warps, 1 different>"
    assert repr(ptxlab.kernel(ptx("nanosleep.u32 1;")).simulate(1, 1, None)).startswith("<2 instructions")


def test_numbers_of_16_bits() -> None:
    text = ptx(
        "ld.param.u64 %d1, [a]; ld.param.b16 %h1, [x]; ld.param.b16 %h2, [y]; st.global.b16 [%d1], %h1;"
        "st.global.b16 [%d1+2], %h2;",
        ".param .u64 a, .param .bf16 x, .param .f16 y",
    )
    out = np.zeros(2, np.uint16)
    ptxlab.kernel(text).simulate(1, 1, out, 1.0, 1.0)
    assert out.tolist() == [0x3F80, 0x3C00]


# -- memory: sizes are compared before anything is allocated -------------------------------------------------

_CALLS = ".func f() { .reg .b32 %r<9>; .local .b8 x[LOCAL]; mov.u32 %r1, 1; call.uni f, (); ret; }\n"
_BULK = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], -16, [%r2];"


@each(
    "text, sentence",
    [
        (ptx(f".shared .align 16 .b8 s[64]; mov.u32 %r1, s; {_BULK}"), "4294967280 bytes: the block"),
        (ptx("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r1], -16;"),
         "4294967280 bytes: the block has 0 bytes of shared memory"),
        (ptx("call.uni f, ();", before=filled(_CALLS, LOCAL="4")), "does f call itself without end"),
        (ptx("call.uni f, ();", before=filled(_CALLS, LOCAL="8192")), "a device function call itself"),
        (ptx(".local .b8 x[100000000];"), "local memory of 100000000 bytes .*a thread has at most 524288"),
        (ptx("mov.u64 %d1, -16; alloca.u64 %d2, %d1, 16;"), "a thread has at most 524288"),
        (ptx("mov.u64 %d1, 65536; L: alloca.u64 %d2, %d1, 16; bra L;"), "a thread has at most 524288"),
        (ptx("", before=".global .b8 x[1000000000000];\n"), "the module's variables: 1000000.* do not fit"),
        (ptx("mov.u32 %r1, x;", before=".shared .b8 x[99999999];\n.entry o() {}\n"), "which no block has"),
    ],
    ids=lambda case: case[1],
)  # fmt: skip
def test_sizes_are_compared_first(text: str, sentence: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(PtxlabError, match=sentence):
            ptxlab.kernel(text, "k").simulate(1, 32, np.zeros(64, np.uint32), show=False)
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


def _printing(text: str) -> str:
    """A kernel that prints, with -5 as its only argument."""
    content = ", ".join(str(byte) for byte in f"{text}\0".encode())
    return ptx(
        ".local .align 8 .b8 buffer[16]; mov.u64 %d2, buffer; cvta.local.u64 %d1, %d2; mov.u32 %r2, -5;"
        "st.local.u32 [%d2], %r2; st.local.u32 [%d2+4], 7; mov.u64 %d3, text; cvta.global.u64 %d4, %d3;"
        "call.uni (%r1), vprintf, (%d4, %d1);",
        before=".extern .func (.param .b32 r) vprintf (.param .b64 x, .param .b64 y);\n"
        f".global .align 1 .b8 text[] = {{{content}}};\n",
    )


@each("text", ["%999999999d", "%.999999999f", "%.99999999a", f"%{'9' * 5000}d"])
def test_printf_writes_no_more_than_somebody_reads(text: str) -> None:
    with pytest.raises(PtxlabError, match="letters; at most 65536 are printed of one argument"):
        ptxlab.kernel(_printing(text)).simulate(1, 1, None)


def test_printf_with_negative_widths(capsys: pytest.CaptureFixture[str]) -> None:
    assert ptxlab.kernel(_printing("[%*d]")).simulate(1, 1, None).output == "[7    ]"
    assert ptxlab.kernel(_printing("[%.*d]")).simulate(1, 1, None).output == "[7]"
    with pytest.raises(PtxlabError, match="printf: the kernel prints more than 33554432 letters"):
        ptxlab.kernel(_printing("%60000d" * 2)).simulate(1, 1024, None)


def test_a_grid_as_large_as_it_gets() -> None:
    grid = (2**31 - 1, 65535, 65535)
    with pytest.raises(PtxlabError, match="warps have executed 100 instructions"):
        ptxlab.kernel(PUT).simulate(grid, 32, np.zeros(32, np.uint32), limit=100, show=False)
    out = np.zeros(1, np.uint32)
    text = ptx("ld.param.u64 %d1, [a]; mov.u32 %r1, %nsmid; st.global.u32 [%d1], %r1; trap;")
    with pytest.raises(PtxlabError, match="trap"):
        ptxlab.kernel(text).simulate(grid, 1, out, show=False)
    assert out[0] == (2**31 - 1) * 65535**2 % 2**32


def test_functions_that_call_themselves() -> None:
    """A tree of calls: registers of those that have returned are not kept."""
    text = ptx(
        "ld.param.u64 %d1, [a]; call.uni (%r1), fib, (15); st.global.u32 [%d1], %r1;",
        before=""".func (.reg .b32 %out) fib (.reg .b32 %n) { .reg .b32 %r<9>; .reg .pred %p;
        mov.u32 %out, %n; setp.lt.u32 %p, %n, 2; @%p bra DONE; sub.u32 %r1, %n, 1; sub.u32 %r2, %n, 2;
        call.uni (%r3), fib, (%r1); call.uni (%r4), fib, (%r2); add.u32 %out, %r3, %r4;
        DONE: ret; }\n""",
    )
    out = np.zeros(1, np.uint32)
    tracemalloc.start()
    try:
        ptxlab.kernel(text).simulate(1, 32, out, check=False)
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()
    assert out[0] == 610
