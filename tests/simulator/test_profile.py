"""What a simulated kernel counts: bank conflicts, sectors, bytes, multiply-adds, bounds, operands."""

from __future__ import annotations

import html
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.numerics.emulate import emulate
from ptxlab.views.highlight import KINDS, highlighted_lines, token_colours, tokens
from ptxlab.views.palette import DARK, LIGHT, contrast, mix
from ptxlab.views.source_margin import line_notes, margin
from tests.texts import filled, replaced

from .kernel_cases import CASES

_COLUMNS = """
extern "C" __global__ void columns(float* out, int pitch) {
    extern __shared__ float tile[];
    tile[threadIdx.x * pitch] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x * 8] = fmaf(tile[(threadIdx.x ^ 1) * pitch], 2.0f, 1.0f);
}
"""


@pytest.mark.parametrize(("pitch", "extra"), [(1, 0), (2, 1), (32, 31), (33, 0)])
def test_conflicts_and_sectors(pitch: int, extra: int) -> None:
    """Rows of 32 words put a column into one bank; every second word takes two wavefronts."""
    result = ptxlab.kernel(_COLUMNS).simulate(3, 64, np.zeros(512, np.float32), pitch, shared=64 * 33 * 4)
    assert result.conflicts == {line: 6 * extra for line in (4, 6) if extra}
    store = result.by_line()[6]
    assert (store.requests, store.sectors_per_request, store.multiply_adds) == (6, 32.0, 192)
    assert store.accesses == 6 and result.lines[6] == store.warps
    assert result.bytes["shared read"] == result.bytes["global write"] == 3 * 64 * 4
    assert result.work.dram == 64 * 32  # the same 64 sectors from each block


def test_bounds_of_a_gemm_are_those_counted_by_hand() -> None:
    """Sums of a GEMM that can be counted by hand."""
    case = CASES["gemm_mma_swizzled"]
    a, b, d, *sizes = case.inputs()
    result = case.compiled().simulate(case.grid, case.block, a, b, d, *sizes)
    m, n, k = d.shape[0], d.shape[1], a.shape[1]
    assert result.work.tensor == {("f16", "f32"): m * n * k}
    assert result.work.dram == a.nbytes + b.nbytes + d.nbytes
    assert not result.conflicts and result.kinds["mma"] == m * n * k // 2048
    for chip, peak in {"H200": 989.4e12, "a100": 312e12, "RTX 4090": 165.2e12}.items():
        tensor = next(bound for bound in result.bounds(chip) if bound.resource == "tensor cores")
        sms = {"H200": 132, "a100": 108, "RTX 4090": 128}[chip]
        assert tensor.seconds == pytest.approx(2 * m * n * k / peak * sms / 6)  # on 6 SMs
    with pytest.raises(PtxlabError, match="chip='B300': there are figures of H200, H100, A100"):
        result.bounds("B300")


def test_copies_count_once() -> None:
    """TMA and wgmma: bytes of boxes, and tiles that every warpgroup reads."""
    case = CASES["gemm_wgmma_tma"]
    result = case.compiled().simulate(case.grid, case.block, *case.inputs(), shared=case.shared)
    work = result.work
    assert result.bytes["global read"] == 4 * 4 * 2 * 8192 and work.dram == 131072 + 65536
    assert work.tensor == {("f16", "f32"): 128 * 128 * 256}
    assert result.kinds["wgmma.mma_async"] == 4 * 4 * 4 * 4 and "cp.async.bulk" in result.kinds


def test_executor_counts_the_same() -> None:
    """Blocks in other workers: the same counts, conflicts, footprint."""
    kernel = ptxlab.kernel(_COLUMNS)
    results = []
    with ThreadPoolExecutor(2) as pool:
        for executor in (None, pool):
            out = np.zeros(512, np.float32)
            results.append(kernel.simulate(5, 64, out, 2, shared=8192, executor=executor))
    alone, spread = results
    assert alone.conflicts == spread.conflicts and alone.counts == spread.counts
    assert alone.work == spread.work and alone.bytes == spread.bytes


@pytest.mark.parametrize("name", ["mma_f16", "mma_sparse", "wmma_gemm", "gemm_wgmma_tma"])
def test_operands_open_in_the_explorer(name: str) -> None:
    """The Explorer has the registers of that warp, and their D."""
    case = CASES[name]
    result = case.compiled().simulate(case.grid, case.block, *case.inputs(), shared=case.shared)
    seen = result.operands(index=0)
    explorer = seen.explore()
    assert np.array_equal(explorer.registers["C"], seen.c)
    d = seen.ins.d.unpack(emulate(seen))
    assert np.array_equal(explorer.D, d) and d.any()
    explorer.close()


def test_source_in_a_notebook() -> None:
    """Every line of the source, with what happened there; text of the source is text."""
    source = replaced(_COLUMNS, "__syncthreads();", "__syncthreads(); // <b>&")
    result = ptxlab.kernel(source).simulate(3, 64, np.zeros(512, np.float32), 32, shared=8192)
    page = result._repr_html_()
    assert "// &lt;b&gt;&amp;" in page and "+186" in page and "On an H200 at least" in page
    assert "at least <b>700 ns</b>, the time of a launch that does nothing; of its work" in page
    without_style = re.sub(r"<[^>]*>", "", page.split('<div class="ptx-profile">')[1])
    assert "4 48 +186" in without_style and "6 72 +186 32" in without_style  # as on GitHub
    lines = margin(result)
    assert [line.profile.conflicts for line in lines] == [0, 0, 0, 186, 0, 186, 0]
    assert "192 wavefronts where 6 would do" in " ".join(line_notes(lines[3]))
    assert [line.text for line in lines] == source.splitlines()


_KERNEL = r"""
#include <cuda_fp16.h>
/* two
   lines */ extern "C" __global__ void f(const float* x) {  // "no string"
    asm volatile("bar.sync 0; // no comment");
    x[threadIdx.x] = 0x1fu + 1.5e-3f + 'c' + interior;
}"""
_PTX = r"""
.version 9.0
.visible .entry f(.param .u64 x)
{
    .reg .b32 %r<2>;  // x
    mov.u32 %r1, %tid.x;
$L__BB0_1:
    @%p1 bra $L__BB0_1;
    tcgen05.fence::before_thread_sync;
    fma.rn.f32 %f1, %f2, 0f3F800000, -7;
    ret;
}"""
_TOKENS = {  # a source and its tokens by kind
    _KERNEL: {
        "comment": ["/* two\n   lines */", '// "no string"'],
        "string": ['"C"', '"bar.sync 0; // no comment"', "'c'"],
        "builtin": ["#include", "__global__", "threadIdx"],
        "keyword": ["extern", "void", "const", "float", "asm", "volatile"],
        "number": ["0x1fu", "1.5e-3f"],
    },
    _PTX: {
        "comment": ["// x"],
        "builtin": [".version", ".visible", ".entry", ".param", ".u64", ".reg", ".b32", "%tid.x"],
        "keyword": ["mov.u32", "bra", "tcgen05.fence::before_thread_sync", "fma.rn.f32", "ret"],
        "number": ["9.0", "2", "0f3F800000", "7"],
    },
}


_SASS = """\
  /*0010*/  S2R R2, SR_TID.X ;
  /*0020*/  @!P0 LDG.E R8, [R2.64+0x800] ;
  /*00f0*/  IMMA.16864.S4.S4 R4, R4.ROW, R8.COL, R12 ;"""
_TOKENS[_SASS] = {
    "comment": ["/*0010*/", "/*0020*/", "/*00f0*/"],
    "builtin": ["SR_TID.X", "@!P0"],
    "keyword": ["S2R", "LDG.E", "IMMA.16864.S4.S4"],
    "number": ["0x800"],
}


_PYTHON = (
    '@triton.jit\ndef f(x):  # "a"\n    """It is 1."""\n    for i in range(0, 4.5e2):\n        x[i] = \'b\'\n'
)
_TOKENS[_PYTHON] = {
    "comment": ['# "a"'],
    "string": ['"""It is 1."""', "'b'"],
    "builtin": ["@triton.jit", "range"],
    "keyword": ["def", "for", "in"],
    "number": ["0", "4.5e2"],
}


@pytest.mark.parametrize("source", _TOKENS)
def test_kinds_of_tokens(source: str) -> None:
    """What is a keyword, a number, a comment; nothing is lost, and a token may go over lines."""
    found = list(tokens(source))
    assert "".join(text for _, text in found) == source
    by_kind = {kind: [text for name, text in found if name == kind] for kind in KINDS}
    assert {kind: texts for kind, texts in by_kind.items() if texts} == _TOKENS[source]
    assert [re.sub("<[^>]+>", "", line) for line in highlighted_lines(source)] == [
        html.escape(line, quote=False) for line in source.splitlines()
    ]


def test_colours_of_tokens_can_be_read() -> None:
    """On paper and on the line under the pointer, in light and dark."""
    for theme in (LIGHT, DARK):
        colours = token_colours(theme)
        assert colours.keys() == set(KINDS) and len(set(colours.values())) == len(KINDS)
        for paper in (theme.paper, mix(theme.ink, 0.06, theme.paper)):
            assert min(contrast(colour, paper) for colour in colours.values()) >= 4.5


def test_listings_are_highlighted() -> None:
    """A kernel, what its simulation shows, and the instruction of a step; of PTX as well."""
    kernel = ptxlab.kernel(_COLUMNS)
    result = kernel.simulate(3, 64, np.zeros(512, np.float32), 2, shared=512, trace=1)
    for page in (kernel._repr_html_(), result._repr_html_()):
        assert page is not None and '<span class="builtin">__global__</span>' in page
    page = ptxlab.kernel(kernel.ptx)._repr_html_()
    assert page is not None and "kernel columns(u64, u32) for sm_90a" in page
    assert '<span class="keyword">\tst.shared.f32</span>' in page
    shown = ptxlab.views.source("mma.sync.aligned.m8n8k4 {%d0};", "ret;")
    assert '<span class="keyword">ret</span>' in shown._repr_html_() and str(shown).endswith("\nret;")
    steps = len(result.trace.steps)
    assert repr(result.trace) == f"<{steps} steps of warp 1 of block number 0>"


def _traced(**options: Any) -> Any:
    """Three blocks of two warps."""
    return ptxlab.kernel(_COLUMNS).simulate(3, 64, np.zeros(512, np.float32), 2, shared=512, **options)


@pytest.fixture(scope="module")
def traced() -> Any:
    """The result with a trace of warp 1."""
    return _traced(trace=1)


def test_trace_of_a_warp(traced: Any) -> None:
    trace = traced.trace
    assert trace is not None and trace.complete and (trace.block, trace.warp) == (0, 1)


def test_a_warp_that_is_not_there_has_no_trace() -> None:
    with pytest.raises(PtxlabError, match="trace=6: the launch has 6 warps, from 0 on"):
        _traced(trace=6)


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """PTX text needs no compiler; for CUDA C++ a sentence says what to install."""
    ptx = ptxlab.kernel(_COLUMNS).ptx

    def missing() -> None:
        raise PtxlabError("it is not installed")

    for function in ("compiler.compiler_version", "compiler.compile_ptx", "clang.clang_version"):
        monkeypatch.setattr(f"ptxlab.gpu.{function}", missing)
    result = ptxlab.kernel(ptx).simulate(1, 64, np.zeros(512, np.float32), 32, shared=8192)
    assert sum(result.conflicts.values()) == 2 * 62
    assert all(ptx.splitlines()[line - 1].lstrip().split(".")[0] in ("ld", "st") for line in result.conflicts)
    wanted = r"needs a compiler: Clang .*ptxlab\[clang\].*ptxlab\[cuda13\].*; PTX text needs none$"
    with pytest.raises(PtxlabError, match=wanted):
        ptxlab.kernel(_COLUMNS)


_COPY = """
extern "C" __global__ void copy(const float4* in, float4* out, int size) {
  __shared__ float4 s[32];
  const unsigned to = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16 SIZE; cp.async.wait_all;"
               :: "r"(to), "l"(in + threadIdx.x), "r"(threadIdx.x < 16 ? 16 : size) : "memory");
  out[threadIdx.x] = s[threadIdx.x];
}
"""


def test_cp_async_of_part_of_its_bytes() -> None:
    """What it copies whole is one request of the warp, as without a size; the rest of a part is 0."""
    values = np.full(128, 0x01020304, dtype=np.uint32).view(np.float32)

    def moved(size: int, text: str) -> tuple[int, int, np.ndarray]:
        out = np.zeros_like(values)
        result = ptxlab.kernel(filled(_COPY, SIZE=text)).simulate(1, 32, values, out, size)
        (copy,) = (line for line in result.profile if line.instruction.opcode.startswith("cp.async.cg"))
        return copy.moved.requests, copy.moved.sectors, out

    whole = moved(16, "")
    assert whole[:2] == moved(16, ", %2")[:2] == (1, 16)
    requests, sectors, out = moved(0, ", %2")
    assert (requests, sectors) == (1, 8) and (out[:64] == values[:64]).all() and not out[64:].any()
    assert moved(6, ", %2")[2].view(np.uint8)[256:272].tolist() == [4, 3, 2, 1, 4, 3] + 10 * [0]


def test_a_long_source_that_has_not_run_is_shown() -> None:
    """At least its first 800 lines; of one that has run, what is near executed lines."""
    head = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b32 %r;\n"
    page = ptxlab.kernel(head + "mov.u32 %r, 1;\n" * 450 + "ret; }")._repr_html_()
    assert page.count("data-line=") == 456
