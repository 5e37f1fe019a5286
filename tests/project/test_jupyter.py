"""`%load_ext ptxlab` in IPython's shell: cells of CUDA C++ and PTX, listings, completion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import pytest

from ptxlab import PtxlabError, jupyter
from ptxlab.simulator.kernel import Kernel
from tests.texts import replaced

interactiveshell = pytest.importorskip("IPython.core.interactiveshell")
completer = pytest.importorskip("IPython.core.completer")

_PTX = """%%ptx
.version 8.0
.target sm_90a
.address_size 64
.entry put(.param .u64 out)
{
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    st.global.u32 [%rd1], 7;
    ret;
}"""
_CUDA = """%%cuda -DSTEP=2
__device__ float more(float x) { return x + STEP; }
__global__ void add(float* x)
{
    x[threadIdx.x] = more(x[threadIdx.x]);
}
__global__ void sub(float* x) { x[threadIdx.x] -= STEP; }
"""


class _Proxy:
    """As those of Flask, which raise outside a request."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("outside")

    @__class__.setter
    def __class__(self, value: Any) -> None: ...


class _Holder:
    @property
    def kernel(self) -> NoReturn:
        raise RuntimeError("no kernel")


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    shell = interactiveshell.InteractiveShell.instance(colors="nocolor")
    shell.run_cell("%load_ext ptxlab")
    yield shell
    interactiveshell.InteractiveShell.clear_instance()


def refusal(shell: Any, cell: str) -> str:
    error = shell.run_cell(cell).error_in_exec
    assert isinstance(error, PtxlabError), error
    return str(error)


def complete(shell: Any, text: str) -> list[str]:
    """The text with each completion put in, as a notebook does it."""
    with completer.provisionalcompleter():
        found = list(shell.Completer.completions(text, len(text)))
    return [
        text[: completion.start] + completion.text for completion in found if completion.type == "instruction"
    ]


def test_a_cell_of_cuda_becomes_kernels(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert shell.run_cell(_CUDA).success
    assert capsys.readouterr().out.splitlines() == [
        "kernel add(u64) for sm_90a",
        "kernel sub(u64) for sm_90a",
    ]
    x = np.ones(32, dtype=np.float32)
    result = shell.user_ns["add"].simulate(1, 32, x)
    assert (x == 3).all()
    assert 5 in result.lines  # as the cell counts its lines
    shell.user_ns["sub"].simulate(1, 32, x)
    assert (x == 1).all()


def test_cells_of_ptx_complete_every_instruction(shell: Any) -> None:
    """Not those of matrices alone; in a string, which ptxlab.instruction takes, only they are offered."""
    for text, name in (
        ("  mbarrier.try", "mbarrier.try_wait"),
        ("  shf.l.wr", "shf.l.wrap.b32"),
        ("  cp.async.bulk.wait", "cp.async.bulk.wait_group"),
        ("  movmatrix.sync.aligned.m8", "movmatrix.sync.aligned.m8n8.trans.b16"),
    ):
        assert f"%%ptx\n  {name}" in complete(shell, f"%%ptx\n{text}")
    asm = '%%cuda\n__global__ void f() { asm volatile("mbarrier.try'
    assert complete(shell, asm) == [f"{asm}_wait"]
    assert complete(shell, "ptxlab.instruction('shf.l.wr") == []


def test_a_template_is_named_with_its_arguments(shell: Any) -> None:
    source = "template <int N> __global__ void put(int* x) { *x = N; }"
    assert "as in --name 'gemm<64, 64>'" in refusal(shell, f"%%cuda\n{source}")
    assert shell.run_cell(f"%%cuda --name 'put<3>' --name 'put4=put<4>' --target sm_80\n{source}").success
    for name, value in (("put", 3), ("put4", 4)):
        kernel, x = shell.user_ns[name], np.zeros(1, dtype=np.int32)
        kernel.simulate(1, 1, x)
        assert (x[0], kernel.target) == (value, "sm_80")
    clash = refusal(shell, f"%%cuda --name 'put<3>' --name 'put<4>'\n{source}")
    assert "two kernels have that name" in clash and "--name 'variable=put<4>'" in clash


def test_a_cell_of_ptx_becomes_a_kernel(shell: Any) -> None:
    assert shell.run_cell(_PTX).success
    x = np.zeros(1, dtype=np.int32)
    shell.user_ns["put"].simulate(1, 1, x)
    assert x[0] == 7


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("%%cuda\n__global__ void f(int* x)\n{\n    *x = STEP;\n}", 'cell(4): error: identifier "STEP"'),
        ("%%cuda nonsense\n__global__ void f() {}", "found 'nonsense'; it takes --target, --name and"),
        ("%%cuda --target\n__global__ void f() {}", "--target: expected one argument"),
        ("%%cuda --target sm_9\n__global__ void f() {}", "sm_9"),
        ("%%cuda --name 'f\n__global__ void f() {}", "no closing quotation"),
        ("%%cuda --name g\n__global__ void f() {}", "the source has _Z1fv"),
        ("%%cuda\n__device__ void f() {}", "there is no kernel in the cell; a kernel is a __global__"),
        ("%%ptx\nret;", "found no .version"),
        ("%%ptx -DSTEP\n.version 8.0", "found '-DSTEP'; it takes --target, --name"),
        (f"%%ptx {'1,' * 500}\n.version 8.0", "1,1,1,...; it takes --target, --name"),
        (replaced(_PTX, "ld.param", "ld,param"), "line 8"),
        ("%ptx", "name a kernel"),
        ("%ptx nobody", "'nobody' is no kernel; "),
        ("%ptx proxy", "'proxy' is no kernel; "),
        ("%ptx holder", "'holder' is no kernel; "),
        (
            f"%%cuda -D{'x' * 10_000}\n__global__ void f() {{}}",
            "has 10,002 characters, and may have 10,000",
        ),
        (
            "%%cuda -I. --time=t.csv\n__global__ void f() {}",
            "found '--time=t.csv'; they take NVRTC's options",
        ),
        ("%%cuda --create-pch=a.pch\n__global__ void f() {}", "none that writes a file"),
        ("%%cuda -D\ud800\n__global__ void f() {}", "it has characters that no compiler reads"),
    ],
)
def test_refusals_say_what_is_wrong(shell: Any, cell: str, sentence: str) -> None:
    shell.push({"proxy": _Proxy(), "holder": _Holder()})
    assert sentence in refusal(shell, cell)


_HEAD = "%%ptx\n.version 8.0\n.target sm_90a\n.address_size 64\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (".entry print() { ret; }", [".entry print() { ret; }"]),
        (".entry print() { }", [".entry print() { }"]),
        (".entry // a name\n print() { ret; }\n\n", [".entry // a name", " print() { ret; }"]),
        ("// \f \x85 \u2028\n.entry print() {\n ret;\n}", [".entry print() {", " ret;", "}"]),
        (".entry print()\r\n{\r\n ret;\r\n}\f\f", [".entry print()", "{", " ret;", "}\f\f"]),
    ],
)
def test_kernels_however_their_lines_are_written(shell: Any, text: str, shown: list[str]) -> None:
    assert shell.run_cell(_HEAD + text).success
    listings = shell.run_line_magic("ptx", "print")
    assert listings.columns[0].text.split("\n") == shown
    assert "print" in listings._repr_html_()


def test_options_with_variables_of_the_notebook(shell: Any) -> None:
    shell.run_cell("tile, line = 41001, 3")
    assert shell.run_cell("%%cuda -DTILE={tile + line}\n__global__ void f(int* x) { *x = TILE; }").success
    assert "41004" in shell.user_ns["f"].ptx


def test_many_options_are_read_in_linear_time() -> None:
    words = [f"-DA{number}={number}" for number in range(20_000)]
    assert jupyter._options("cuda", " ".join(words)).flags == words


def test_ptx_and_sass_beside_the_source(shell: Any) -> None:
    """Each line belongs to the line of the cell that it comes from; code inlined from a function to that."""
    shell.run_cell(_CUDA)
    shown = shell.run_cell("%ptx add").result
    source, ptx, sass = shown.columns
    assert (source.name, ptx.name, sass.name) == ("source", "PTX", "SASS")
    lines = shell.user_ns["add"].source.splitlines()
    assert source.text.splitlines() == lines and source.lines[-1] == len(lines)
    assert "sub" not in ptx.text and ".loc" not in ptx.text and ptx.text.endswith("}")
    for listing, opcode in ((ptx, "add.f32"), (sass, "FADD")):
        (line,) = [
            number
            for number, text in zip(listing.lines, listing.text.splitlines(), strict=True)
            if opcode in text
        ]
        assert line == 2
        assert set(listing.lines) <= {0, 2, 3, 5, 6}
    page = shown._repr_html_()
    assert page.count("<section>") == 3 and '<span class="keyword">  FADD</span>' in page
    assert "FADD" in repr(shown) and "add.f32" in repr(shown)


def test_a_kernel_of_ptx_has_two_listings(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run_cell(_PTX)
    assert [column.name for column in shell.run_cell("%ptx put").result.columns] == ["PTX", "SASS"]

    def missing(*_: object) -> str:
        raise PtxlabError("nvdisasm is not installed")

    monkeypatch.setattr(Kernel, "sass", missing)
    shown = shell.run_cell("%ptx put").result
    assert [column.name for column in shown.columns] == ["PTX"]
    assert shown.note == "SASS is missing: nvdisasm is not installed" and shown.note in shown._repr_html_()


def test_names_of_instructions_complete_inside_quotes(shell: Any) -> None:
    whole = complete(shell, 'ptxlab.instruction("mma.m16n8k64.')
    assert whole == ['ptxlab.instruction("mma.m16n8k64.s4', 'ptxlab.instruction("mma.m16n8k64.u4']
    # Too many: the next part.
    assert complete(shell, "x = 'mma.sp::ord") == ["x = 'mma.sp::ordered_metadata."]
    assert complete(shell, "x = mma.m16n8k64.") == []
    assert complete(shell, "%%ptx\n    movm") == ["%%ptx\n    movmatrix.sync.aligned.m8n8.trans.b16"]
    assert complete(shell, 'x = "nothing') == []


def test_a_cell_is_run_and_its_launch_stepped_through(shell: Any) -> None:
    """The arrays of the debugger are copies as they were before the launch."""
    assert shell.run_cell(_PTX).success
    cell = (
        "import numpy as np\nx = np.zeros(1, np.int32)\nresult = put.simulate(1, 1, x)\nput.simulate(2, 1, x)"
    )
    session = shell.run_cell_magic("ptxdebug", "", cell)
    assert shell.user_ns["x"][0] == 7 and session.position == 0 and session.arrays["1"][0] == 0
    assert session.run().arrays["1"][0] == 7 and session.grid.block_count == 1
    second = shell.run_cell_magic("ptxdebug", "-1", cell)
    assert second.grid.block_count == 2 and second.arrays["1"][0] == 7
    assert "launch 0: there were 0" in refusal(shell, "%%ptxdebug\n1 + 1")
    assert "found 'x'; it takes the number" in refusal(shell, "%%ptxdebug x\n1 + 1")
    assert "ptxlab" not in shell.find_cell_magic("debug").__module__, "IPython's own stays"
