"""CUDA C++ through Clang: the header, the arguments, the messages, and an H200's bits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.gpu import clang
from ptxlab.simulator import cuda_source
from tests.sampling import EXHAUSTIVE
from tests.simulator import kernel_cases

needs_clang = pytest.mark.needs("ziglang")

#: Kernels whose bits differ from those of NVRTC's, and why.
DIFFERENT = {
    "functions": "functions of the header",
    "functions_fast": "functions of the header",
    "double_functions": "functions of the header",
    "softmax": "functions of the header",
    "gelu": "functions of the header",
    "complex_products": "products fused with the other sum",
    "complex_products_fast": "products fused with the other sum",
}
#: What `make test` compiles; the exhaustive run compiles all.
SAMPLED = {
    "integers", "floats", "conversions", "halves", "module_variables", "scaled", "votes", "shuffles",
    "atomic_kinds", "neighbours", "wide_swaps", "half_products", "wide_integers", "async_pipeline",
    "producer_warp", "floats_fast",
}  # fmt: skip
_CASES = [
    case
    for case in kernel_cases.CASES.values()
    if case.file.endswith(".cu") and "-G" not in case.options and (EXHAUSTIVE or case.name in SAMPLED)
]


@needs_clang
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_kernels_give_what_an_h200_gave(case: kernel_cases.Case) -> None:
    """NVRTC's PTX ran on the GPU, Clang's runs in the simulator."""
    kernel = ptxlab.kernel(case.source(), case.kernel or case.name, "sm_90a", case.options, compiler="clang")
    assert kernel.compiler == "Clang 22" and repr(kernel).endswith("compiled by Clang 22>")
    arguments = case.inputs()
    result = kernel.simulate(case.grid, case.block, *arguments, shared=case.shared)
    assert not result.hazards
    on_the_gpu = kernel_cases.recorded()[case.name]
    if case.name in DIFFERENT:
        assert kernel_cases.digest(arguments) not in str(on_the_gpu), "DIFFERENT names a kernel that is equal"
    else:
        assert kernel_cases.digest(arguments) in str(on_the_gpu)


_TWICE = 'extern "C" __global__ void twice(float* x) {\n    x[threadIdx.x] *= 2;\n}\n'


@needs_clang
@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("__global__ void f(int* x) {\n  *x = STEP;\n}", r"ptxlab.cu\(2\): error: .*'STEP'"),
        ("\n#include <mma.h>\n", r"ptxlab.cu\(2\): error: .*no <mma.h>: write mma.sync as inline PTX"),
        (
            "\n#include <cute/tensor.hpp>\n",
            r"ptxlab.cu\(2\): error: .*: write inline PTX, or compile with NVRTC",
        ),
        ("__global__ void f(float* x) {\n  *x = tgammaf(*x);\n}", r"\(2\): error: .*no tgammaf: compute it"),
        ("__global__ void f(int* x) {\n  atomicAdd(x, x, x);\n}", r"ptxlab.cu\(2\): error: no matching"),
        ("__managed__ int x;", r"ptxlab.cu\(1\): error: .*write __device__"),
        ("void f(", r"ptxlab.cu\(1\): error: "),
    ],
)
def test_messages_have_the_line_of_the_reader(source: str, message: str) -> None:
    with pytest.raises(PtxlabError, match=message) as caught:
        ptxlab.kernel(source, compiler="clang")
    assert caught.value.__notes__[0], "the whole log is a note"


@needs_clang
def test_functions_without_device_are_for_the_device() -> None:
    source = "int twice(int x) { return 2 * x; }\n__global__ void f(int* x) { *x = twice(*x); }"
    x = np.array([21], np.int32)
    ptxlab.kernel(source, compiler="clang").simulate(1, 1, x)
    assert x == 42


@needs_clang
def test_lines_are_those_of_the_file() -> None:
    kernel = ptxlab.kernel(_TWICE, compiler="clang")
    assert kernel.source_lines <= {1, 2, 3} and 2 in kernel.source_lines
    x = np.ones(1, np.float32)
    with pytest.raises(PtxlabError) as caught:
        kernel.simulate(1, 32, x)
    assert str(caught.value).startswith("ptxlab.cu:2: ld.global")


@needs_clang
def test_a_second_compilation_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ptxlab.kernel(_TWICE, compiler="clang").ptx
    monkeypatch.setattr(clang, "_run_program", None)
    assert ptxlab.kernel(_TWICE, compiler="clang").ptx == first
    with pytest.raises(TypeError):
        ptxlab.kernel(f"{_TWICE}//", compiler="clang")


@needs_clang
def test_a_kernel_with_clusters_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its LLVM IR, which alone has the size of the clusters, goes to the back end: with the same lines."""
    commands: list[list[str]] = []
    run_program = clang._run_program

    def note(words: list[str], folder: str, target: str, file: str) -> None:
        commands.append(words)
        run_program(words, folder, target, file)

    monkeypatch.setattr(clang, "_run_program", note)
    monkeypatch.setattr(clang, "read_entry", lambda entry: None)
    plain = ptxlab.kernel(_TWICE, options=["--use_fast_math"], compiler="clang")
    source = _TWICE.replace("void", "void __cluster_dims__(2, 1, 1)")
    kernel = ptxlab.kernel(source, options=["--use_fast_math"], compiler="clang")
    assert [words.count("kernel.cu") for words in commands] == [1, 1, 0]
    assert plain.cluster == (1, 1, 1) and kernel.cluster == (2, 1, 1)
    assert kernel.source_lines == plain.source_lines > {2}


@pytest.mark.parametrize(
    ("option", "flags"),
    [
        ("-DTILE=64", ["-D", "TILE=64"]),
        ("--fmad=false", ["-ffp-contract=off"]),
        ("--std=c++20", ["-std=c++20"]),
        ("--ftz=true", ["-D", "PTXLAB_FTZ"]),
        ("--prec-div=false", ["-mllvm", "-nvptx-prec-divf32=1"]),
        ("-lineinfo", []),
    ],
)
def test_options_of_nvrtc(option: str, flags: list[str]) -> None:
    given = clang.arguments("sm_90a", [option])
    assert all(flag in given for flag in flags)
    assert (given == clang.arguments("sm_90a")) == (not flags)


@pytest.mark.parametrize("option", ["-G", "--maxrregcount=32", "-o", "TILE=64", "--std=c++98", "--fmad=no"])
def test_other_options_are_refused(option: str) -> None:
    with pytest.raises(PtxlabError, match=r"^options: found .*; Clang takes -D"):
        clang.arguments("sm_90a", [option])


def test_the_compiler_is_named_or_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise PtxlabError("it is missing")

    monkeypatch.setattr("ptxlab.gpu.compiler.compiler_version", lambda: (13, 0))
    monkeypatch.setattr("ptxlab.gpu.clang.clang_version", lambda: "22")
    assert cuda_source.find_compiler() == "nvrtc" and cuda_source.find_compiler("clang") == "clang"
    with pytest.raises(PtxlabError, match=r"^compiler='gcc': it is 'nvrtc', 'clang' or None$"):
        ptxlab.kernel(_TWICE, compiler="gcc")
    monkeypatch.setattr("ptxlab.gpu.compiler.compiler_version", missing)
    assert cuda_source.find_compiler() == "clang"
    with pytest.raises(PtxlabError, match=r"^compiler='nvrtc': it is missing$"):
        cuda_source.find_compiler("nvrtc")
    monkeypatch.setattr("ptxlab.gpu.clang.clang_version", missing)
    assert not cuda_source.has_compiler()
    with pytest.raises(PtxlabError, match=r"^compiler='clang': it is missing$"):
        cuda_source.find_compiler("clang")


@pytest.fixture
def tab() -> Iterator[list[list[str]]]:
    """A compiler as a browser's tab has it, which notes how it was called."""
    calls = []

    def compile(arguments: list[str], files: Mapping[str, str]) -> str:
        calls.append(arguments)
        assert "kernel.cu" in files and "headers/cuda_fp16.h" in files
        if "unknown" in files["kernel.cu"]:
            raise PtxlabError("ptxlab.cu:1:5: error: unknown type name 'unknown'")
        return f"; IR of {len(files['kernel.cu'])} characters"

    clang.use_tab_compiler(compile)
    yield calls
    clang.use_tab_compiler(None)


def test_a_tab_compiles_to_llvm_ir(tab: list[list[str]]) -> None:
    ptx, _ = clang.compile_ptx(_TWICE, "sm_90a", translate=lambda ir, target: f"{target}: {ir}")
    assert ptx.startswith("sm_90a: ; IR of ")
    (arguments,) = tab
    assert arguments[0] == "-cc1" and arguments[-4:] == ["-emit-llvm", "kernel.cu", "-o", "kernel.ll"]
    with pytest.raises(PtxlabError, match=r"ptxlab.cu\(1\): error: unknown type name 'unknown'\n"):
        clang.compile_ptx("unknown x;", "sm_90a", translate=lambda ir, target: ir)


@needs_clang
@pytest.mark.slow
def test_without_any_package_of_nvidia(tmp_path: Path) -> None:
    """Where `cuda` cannot be imported, `ptxlab.kernel` compiles with Clang by itself."""
    script = (
        "import sys; sys.modules['cuda'] = None\n"
        "import numpy as np, ptxlab\n"
        f"kernel = ptxlab.kernel({_TWICE!r})\n"
        "x = np.arange(32, dtype=np.float32)\n"
        "kernel.simulate(1, 32, x)\n"
        "assert (x == 2 * np.arange(32)).all()\n"
        "print(kernel)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "<kernel twice(u64) for sm_90a, compiled by Clang 22>\n"
