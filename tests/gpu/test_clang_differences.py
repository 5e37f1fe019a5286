"""The table of docs/guide/clang.md, row by row: what NVRTC and Clang make of the same sources."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import ptxlab
from ptxlab import PtxlabError
from ptxlab.gpu import clang

pytestmark = pytest.mark.needs("ziglang", "cuda.bindings")

_TABLE = re.findall(
    r"^\| ([^|]+?) \| ([^|]+?) \| ([^|]+?) \|$",
    (Path(__file__).parents[2] / "docs" / "guide" / "clang.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
ROWS = {subject: (nvrtc, by_clang) for subject, nvrtc, by_clang in _TABLE}
COMPILERS = ("nvrtc", "clang")


def _row(words: str) -> tuple[str, str]:
    """What the table says of NVRTC and of Clang in the row whose subject has these words."""
    (row,) = (row for subject, row in ROWS.items() if words in subject)
    return row


def _ptx(body: str, compiler: str) -> str:
    return ptxlab.kernel(
        f'extern "C" __global__ void f(float* x, int* n) {{\n{body}\n}}', compiler=compiler
    ).ptx


def _computed(body: str, compiler: str, *options: str) -> NDArray[np.float32]:
    """What a statement makes of 1,024 random numbers for every thread."""
    x = np.random.default_rng(1).standard_normal(1024).astype(np.float32)
    source = f"__global__ void f(float* x) {{ float* a = x + threadIdx.x * 4; {body} }}"
    ptxlab.kernel(source, options=options, compiler=compiler).simulate(1, 256, x)
    return x


def _is_refused(body: str, compiler: str, message: str) -> None:
    with pytest.raises(PtxlabError, match=message):
        _ptx(body, compiler)


def test_every_row_has_a_test() -> None:
    """A row is named by words of its subject in a call of `_row`."""
    words = re.findall(r'^    .*\b_row\("(.+?)"\)', Path(__file__).read_text(encoding="utf-8"), re.MULTILINE)
    assert [next(subject for subject in ROWS if word in subject) for word in words] == list(ROWS)


@pytest.mark.parametrize("function", ["exp", "log", "sin", "tanh"])
def test_the_page_is_right_about_functions(function: str) -> None:
    assert "one to three units" in _row("`exp`, `log`")[1]
    body = f"for (int i = 0; i < 4; ++i) a[i] = {function}f(fabsf(a[i]));"
    theirs, ours = (_computed(body, compiler) for compiler in COMPILERS)
    assert np.abs(theirs.view(np.int32).astype(np.int64) - ours.view(np.int32)).max() <= 3


def test_the_page_is_right_about_contraction() -> None:
    assert "`--fmad=false`" in _row("a sum of two products")[1]
    body = "float r = a[0] * a[2] - a[1] * a[3]; a[1] = a[0] * a[3] + a[1] * a[2]; a[0] = r;"
    nvrtc, by_clang = (_computed(body, compiler) for compiler in COMPILERS)
    assert (nvrtc != by_clang).any()
    nvrtc, by_clang = (_computed(body, compiler, "--fmad=false") for compiler in COMPILERS)
    assert (nvrtc == by_clang).all()
    assert "-ffp-contract=off" in clang.arguments("sm_90a", ["--fmad=false"])


def test_the_page_is_right_about_vectors() -> None:
    assert "an assignment always is" in _row("`float4`")[1]
    copied = _ptx("float4 v = *(float4*)x; ((float4*)x)[threadIdx.x] = v;", "clang")
    assert re.search(r"\bld\S*\.v4", copied) and re.search(r"\bst\S*\.v4", copied)
    union = "union U { float4 v; float f[4]; } a, b; a.v = *(float4*)x; b = a; *x = b.f[0];"
    _ptx(union, "nvrtc")
    _is_refused(union, "clang", r"\(2\): error: .*implicitly deleted")


def test_registers_of_ptx_in_asm() -> None:
    assert _row("a register of PTX") == ("`%laneid` or `%%laneid`", "`%%laneid`")
    body = 'asm("mov.u32 %0, %laneid;" : "=r"(*n));'
    assert "%laneid" in _ptx(body, "nvrtc")
    _is_refused(body, "clang", r"\(2\): error: invalid % escape in inline assembly")
    assert all("%laneid" in _ptx(body.replace("%l", "%%l"), compiler) for compiler in COMPILERS)


def test_the_page_is_right_about_atomics() -> None:
    nvrtc, by_clang = _row("atomic operations")
    assert "atom.global" in nvrtc and "generic" in by_clang
    ptx = {compiler: _ptx("n[1] = atomicAdd(n, 2);", compiler) for compiler in COMPILERS}
    assert re.search(r"atom\.global\S*\.add", ptx["nvrtc"])
    assert re.search(r"atom\S*\.add", ptx["clang"]) and "atom.global" not in ptx["clang"]


def test_operands_of_asm() -> None:
    assert "its bits are taken" in _row("an operand of `asm`")[1]
    _is_refused('asm("mov.b32 %0, %1;" : "=r"(*n) : "r"(*x));', "nvrtc", "does not match .* 'r'")
    added = 'asm("add.s32 %0, %1, %1;" : "=f"(a[0]) : "r"(a[1]));'
    before = _computed("a[0] = a[1];", "clang")[::4]
    assert (_computed(added, "clang")[::4].view(np.uint32) == before.view(np.uint32) * np.uint32(2)).all()


def test_special_registers_in_asm() -> None:
    assert "`%%laneid`" in _row("one `%`")[1]
    one = 'asm volatile("mov.u32 %0, %laneid;" : "=r"(*n));'
    assert "%laneid" in _ptx(one, "nvrtc")
    _is_refused(one, "clang", r"\(2\): error: .*; a special register is written with two, as in %%laneid")
    for compiler in COMPILERS:
        assert "%laneid" in _ptx(one.replace("%laneid", "%%laneid"), compiler)


def test_a_missing_semicolon() -> None:
    assert _row("a missing semicolon") == (
        "is found in the line after it",
        "is found in the line that lacks it",
    )
    _is_refused("int i = *n\nreturn;", "nvrtc", r'\(3\): error: expected a ";"')
    _is_refused("int i = *n\nreturn;", "clang", r"\(2\): error: expected ';'")


def test_wide_integers() -> None:
    assert "`--device-int128`" in _row("`__int128`")[0]
    statement = "__int128 y = *n; *n = (y * y) >> 64;"
    _is_refused(statement, "nvrtc", "--device-int128")
    assert "mul.hi" in _ptx(statement, "clang")


def test_the_page_is_right_about_options() -> None:
    options = re.findall(r"`(-+[\w-]+)`", _row("options")[1])
    values = {"-D": "-DN=1", "-U": "-UN", "-I": "-I.", "--std": "--std=c++20"}
    for option in options:
        assert clang.arguments("sm_90a", [values.get(option, option)])
    with pytest.raises(PtxlabError) as caught:
        clang.arguments("sm_90a", ["-G"])
    assert all(option in str(caught.value) for option in options), "the message names them, too"


def test_the_page_is_right_about_headers() -> None:
    names = re.findall(r"`([\w/.]+)`", _row("headers")[1])
    lines = "".join(f"#include <{name}>\n" for name in names)
    source = f"{lines}__global__ void f(__half* x, __nv_bfloat16* y, __nv_fp8_e4m3* z) {{}}"
    assert len(names) > 10 and ptxlab.kernel(source, compiler="clang").ptx


def test_what_the_header_lacks() -> None:
    assert "with what to write instead" in _row("textures, surfaces")[1]
    _ptx("cudaTextureObject_t t = *n; *x = tex1Dfetch<float>(t, 0);", "nvrtc")
    _is_refused(
        "cudaTextureObject_t t = *n;", "clang", "no cudaTextureObject_t: read through a pointer, with"
    )
    for name in ("mma.h", "cuda/atomic"):
        source = f"#include <{name}>\n__global__ void f() {{}}"
        assert ptxlab.kernel(source, compiler="nvrtc").ptx
        with pytest.raises(PtxlabError, match=rf"\(1\): error: ptxlab's header for Clang has no <{name}>: "):
            ptxlab.kernel(source, compiler="clang")


def test_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "nvJitLink" in _row("`sass()`")[1]
    source = '#line 1 "sass"\n__global__ void f(float* x) { *x = 17.0f; }'
    linked = []
    monkeypatch.setattr("ptxlab.simulator.kernel.link_modules", lambda *given: linked.append(given))
    kernel = ptxlab.kernel(source, compiler="clang")
    kernel._machine_code("sm_90a")
    assert linked == [((kernel.ptx,), "sm_90a")]
    assert ptxlab.kernel(source, compiler="nvrtc")._machine_code("sm_90a")[1:4] == b"ELF" and len(linked) == 1
