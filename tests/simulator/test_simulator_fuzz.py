"""Damaged PTX and hostile arguments: the simulator answers, or refuses them in one sentence.

A seeded fuzz damages kernels. A few seconds of it run here; for more:

    PTXLAB_FUZZ=20000 pytest tests/simulator/test_simulator_fuzz.py -k damaged_kernels
"""

from __future__ import annotations

import gc
import os
import random
import sys
import tracemalloc
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from typing import Any, NoReturn

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gemm
from ptxlab.memory import im2col_map
from ptxlab.simulator import distributed
from ptxlab.simulator.instructions import control
from ptxlab.views.highlight import language_of
from tests.cases import each
from tests.contract.mutations import Call, attempt, damaged
from tests.texts import filled, replaced

COUNT = int(os.environ.get("PTXLAB_FUZZ", "300"))

HEAD = ".version 8.6\n.target sm_90a\n.address_size 64\n"
REGISTERS = ".reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<9>; .reg .pred %p<4>;\n"


def ptx(body: str, parameters: str = ".param .u64 a", before: str = "", directives: str = "") -> str:
    """A kernel with registers of every kind."""
    return f"{HEAD}{before}.visible .entry k({parameters}) {directives} {{\n{REGISTERS}{body}\nret;\n}}\n"


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


_PUT = ptx("ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;"
           "st.global.u32 [%d1], %r1;")  # fmt: skip


@each("kind", [np.matrix, np.ma.MaskedArray, np.recarray])
def test_arrays_of_other_classes_are_memory(kind: type[Any]) -> None:
    values = np.zeros((4, 8), np.uint32)
    ptxlab.kernel(_PUT).simulate(1, 32, values.view(kind))
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
        ptxlab.kernel(_PUT).simulate(grid, 32, np.zeros(32, np.uint32), limit=100, show=False)
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


def test_a_simulation_that_has_ended_leaves_no_garbage() -> None:
    """Its memory would stay until Python collects: a notebook's kernel would grow to twice its size."""
    kernel = ptxlab.kernel(_PUT)
    out = np.zeros(32, np.uint32)
    kernel.simulate(1, 32, out, show=False)
    gc.collect()
    gc.disable()
    try:
        kernel.simulate(1, 32, out, show=False)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_memory_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr("ptxlab.simulator.simulate.Machine", refuse)
    with pytest.raises(PtxlabError, match="k: the simulation needs more memory than there is"):
        ptxlab.kernel(_PUT).simulate(1, 32, np.zeros(32, np.uint32))


# -- threads and executors -----------------------------------------------------------------------------------

#: out[8 * block + i] = first[i] + sum of the block's numbers: a parameter of another place for each launch,
#: shared memory, a barrier, an atomic.
_SHARED_SUM = ptx(
    ".shared .align 4 .b8 s[4]; ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; mov.u32 %r1, %tid.x;"
    "mov.u32 %r2, %ctaid.x; mul.wide.u32 %d3, %r1, 4; add.u64 %d2, %d2, %d3; ld.global.u32 %r3, [%d2];"
    "setp.ne.u32 %p1, %r1, 0; mov.u32 %r4, s; @%p1 bra L; st.shared.u32 [%r4], %r2; L: bar.sync 0;"
    "red.shared.add.u32 [%r4], %r3; bar.sync 0; ld.shared.u32 %r5, [%r4]; add.u32 %r5, %r5, %r3;"
    "shl.b32 %r2, %r2, 5; add.u32 %r2, %r2, %r1; mul.wide.u32 %d3, %r2, 4; add.u64 %d1, %d1, %d3;"
    "st.global.u32 [%d1], %r5;",
    ".param .u64 a, .param .u64 b",
)


def test_one_kernel_in_several_threads() -> None:
    """State of a run belongs to the run: threads change places after every few instructions of Python."""
    kernel = ptxlab.kernel(_SHARED_SUM)

    def run(number: int) -> bool:
        longer = np.arange(32 << number % 8, dtype=np.uint32) * number  # later arrays have another address
        numbers = longer[:32]
        out = np.zeros((2 + number % 3, 32), np.uint32)
        result = kernel.simulate(len(out), 32, out, longer, show=False)
        blocks = np.arange(len(out), dtype=np.uint32)[:, None]
        return not result.hazards and bool((out == numbers + numbers.sum() + blocks).all())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(run, range(40)))
        with ThreadPoolExecutor(4) as pool:
            out = np.zeros((64, 32), np.uint32)
            ones = np.ones(32, np.uint32)
            kernel.simulate(64, 32, out, ones, show=False, executor=pool)
            assert (out == 33 + np.arange(64, dtype=np.uint32)[:, None]).all()
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.slow
def test_a_worker_that_dies_leaves_arrays_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    work = distributed._run_task

    def second_fails(task: Any) -> Any:
        done.append(task.first)
        if task.first:
            raise BrokenExecutor("it is gone")
        return work(task)

    monkeypatch.setattr(distributed, "_run_task", second_fails)
    out = np.zeros(64, np.uint32)
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(PtxlabError, match="executor: a worker ended before its task was done"):
            ptxlab.kernel(_PUT).simulate(8, 32, out, executor=pool)
        assert len(done) > 1 and not out.any()
    with pytest.raises(PtxlabError, match="executor: it takes no tasks any more"):
        ptxlab.kernel(_PUT).simulate(8, 32, out, executor=pool)


# -- other doors ---------------------------------------------------------------------------------------------


@each("sizes", [(0, 8), (8, -1), (1.5, 8), (8, None), (8, 8, 0), ("8", 8)])
def test_grids_of_products_that_are_none(sizes: tuple[Any, ...]) -> None:
    with pytest.raises(PtxlabError, match="each is at least 1|it takes a whole number"):
        gemm.rung(1).grid(*sizes)


@each(
    "start", [(), 3, (1, 1, 0, -1, -1), (1, 1, 0, -1, -1, 0.5), (1, 1, 0, 99, -1, 0), (999, 1, 0, -1, -1, 0)]
)
def test_pixels_that_are_none(start: Any) -> None:
    column = im2col_map(np.zeros((1, 6, 6, 16), np.uint8), 4, 16, lower=(-1, -1), upper=(-1, -1))
    assert column.pixels((1, 1, 0, -1, -1, 0))[0].shape == (4, 3)
    with pytest.raises(PtxlabError):
        column.pixels(start)


# -- the fuzz ------------------------------------------------------------------------------------------------

_WHOLE = {
    "words": ptx(
        "mov.u32 %r1, %tid.x; ld.param.u64 %d1, [a]; cvta.to.global.u64 %d1, %d1; mul.wide.u32 %d2, %r1, 4;\n"
        "add.s64 %d3, %d1, %d2; ld.global.u32 %r2, [%d3]; setp.lt.and.u32 %p1|%p2, %r2, 7, !%p3;\n"
        "@%p1 bra L; shl.b32 %r3, %r2, 3; lop3.b32 %r4, %r2, %r3, 5, 0xE8; bra M;\n"
        "L: shfl.sync.bfly.b32 %r3|%p1, %r2, 1, 0x1f, -1; vote.sync.ballot.b32 %r4, %p1, -1;\n"
        "M: atom.global.add.u32 %r5, [%d1+64], %r4; red.global.max.s32 [%d1], -5; cvt.rn.f32.u32 %f1, %r5;\n"
        "fma.rn.f32 %f2, %f1, 0f3F800000, 1.5; st.global.v2.f32 [%d1+32], {%f1, %f2}; bar.sync 0, 32;"
    ),
    "copies": ptx(
        ".shared .align 128 .b8 s[2048]; .shared .align 8 .b64 m; mov.u32 %r1, s; mov.u32 %r2, m;\n"
        "ld.param.u64 %d1, [a]; mov.u32 %r3, %tid.x; setp.ne.u32 %p1, %r3, 0; @%p1 bra W;\n"
        "mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared.b64 %d2, [%r2], 64;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], 64, [%r2];\n"
        "W: bar.sync 0; L: mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0; @!%p2 bra L;\n"
        "ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r1+16]; cp.async.ca.shared.global [%r1+64], [%d1], 16;\n"
        "cp.async.commit_group; cp.async.wait_group 0; fence.proxy.async; st.shared.b32 [%r1], %r4;"
    ),
    "matrices": ptx(
        ".shared .align 128 .b8 s[32768]; mov.u32 %r1, s; ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
        "{%r2,%r3,%r4,%r5}, [%r1];\nmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, "
        "{%r2,%r3,%r4,%r5}, {%r6,%r7}, {%f1,%f2,%f3,%f4};\nmov.u64 %d1, 0x4000004000010040;\n"
        "wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,%f4}, "
        "%d1, %d1, 1, 1, 1, 0, 0;\nwgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
    ),
    "calls": ptx(
        "ld.param.u64 %d1, [a]; { .param .b32 p; .param .b32 q; st.param.b32 [p], 3; call.uni (q), f, (p);\n"
        "ld.param.b32 %r1, [q]; } .local .align 8 .b8 x[16]; st.local.u32 [x+4], %r1;\n"
        "ld.const.u32 %r2, [c]; mov.u64 %d2, t; ld.global.u64 %d3, [%d2]; st.global.u32 [%d3], %r2;\n"
        "t0: .branchtargets A, B; brx.idx %r3, t0; A: B: st.global.u32 [%d1], %r2;",
        before=".const .align 4 .u32 c[2] = {1 + 2 * 3, 0xFF};\n.global .u64 t[1] = {g};\n.global .u32 g;\n"
        ".func (.param .b32 r) f (.param .b32 n) { .reg .b32 %r<3>; ld.param.b32 %r1, [n];\n"
        "mad.lo.s32 %r2, %r1, %r1, -1; st.param.b32 [r], %r2; ret; }\n",
    ),
}
_ODD = (
    *("", ";", "{", "}", "(", ")", "[", "]", ",", "|", "!", "@", "-", "_", "0", "1", "-1", "-16", "7", "0x"),
    *("4294967295", "99999999999999999999", "0f7FC00000", "1e400", "%p1", "%r99", "%tid.x", "%nsmid", "%f1"),
    *("%d1", "%r1|%p1", "{%r1, %r2}", "[%d1]", "[%r1+-8]", "[a]", "s", "f", "c", "c[9]", "!%p1", "_|%p1"),
    *('"text"', "/*", "//", "\0", "\N{GREEK SMALL LETTER ALPHA}", ".b8", ".f64", ".pred", ".v4", ".align"),
    *(".reg", "ret", "call", "trap", "WARP_SZ"),
)  # fmt: skip


def _run_mutant(text: str) -> None:
    kernel = ptxlab.kernel(text, "k")
    memory = np.zeros(512, np.uint64)
    values: list[Any] = [memory if kind in ("u64", "b64", "s64") else 1 for kind in kernel.parameters]
    try:
        kernel.simulate(1, 128, *values, limit=2000, show=False)
    except PtxlabError as error:
        if "the simulator fails at it" in str(error):  # the net below; the sentence belongs where it is wrong
            raise AssertionError(str(error)) from error.__cause__
        raise


def test_whole_kernels_run() -> None:
    for text in _WHOLE.values():
        _run_mutant(text)


def test_damaged_kernels_run_or_are_refused() -> None:
    choice = random.Random(35)
    names = list(_WHOLE)
    failures = []
    for number in range(COUNT):
        name = choice.choice(names)
        text = damaged(_WHOLE[name], choice, _ODD)
        call = Call(f"{name} {number}", lambda text=text: (_run_mutant, {"text": text}))
        if "\n.version" in f"\n{text}":  # others are CUDA C++
            failures.append(attempt(call, "text", "mutant", lambda text=text: text))
    assert [str(failure) for failure in failures if failure] == []
