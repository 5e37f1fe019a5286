"""CUDA C++ through Clang: the header, the arguments, the messages, and an H200's bits."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.errors import error_of
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


def test_the_guide_names_the_kernels_whose_bits_differ() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guide" / "clang.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+`) \| (.+) \|$", guide.partition("| other bits |")[2], re.MULTILINE)
    named = {name: why for names, why in rows for name in re.findall(r"`(\w+)`", names)}
    assert [name for name in named if name in DIFFERENT] == list(DIFFERENT)
    assert all(named[name] == why for name, why in DIFFERENT.items())


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
        ("__global__ void f(int* x) {\n  int i = *x\n  return;\n}", r"\(2\): error: expected ';' at end of"),
        ("void f(", r"ptxlab.cu\(1\): error: "),
    ],
)
def test_messages_have_the_line_of_the_reader(source: str, message: str) -> None:
    with pytest.raises(PtxlabError, match=message) as caught:
        ptxlab.kernel(source, compiler="clang")
    assert caught.value.__notes__[0], "the whole log is a note"


#: Typical mistakes, with words of what Clang and NVRTC say.
_MISTAKES = [
    ("x[j] = 2;", "use of undeclared identifier 'j'", 'identifier "j" is undefined'),
    ("__synchthreads();", "did you mean '__syncthreads'?", 'identifier "__synchthreads" is undefined'),
    ("int* y = x;", "of type 'int *' with an lvalue of type 'float *'", 'a value of type "float *" cannot'),
    ("__half h;", "'__half'; #include <cuda_fp16.h> declares it", "; #include <cuda_fp16.h> declares it"),
    ("cuda::make_pipeline();", "; #include <cuda/pipeline> declares", "; #include <cuda/pipeline> declares"),
    ("x[0] = std::max(x[1], x[2]);", "; CUDA has it without std::", "; CUDA has it without std::"),
    ("std::vector<int> v;", "; a kernel has no containers: use an", "; a kernel has no containers: use an"),
    ("cudaMalloc(&x, 4);", "; the host's part is Python here", "; the host's part is Python here"),
    ("x[0] = __shfl_down(x[0], 1);", "since Volta it ends in _sync", "since Volta it ends in _sync"),
    ("printf(x);", "no known conversion from 'float *' to 'const char *' for 1st", "is incompatible with"),
    ("atomicAdd((short*)x, 1);", "to 'int *' or 'unsigned int *' or", "argument types are: (short *, int)"),
    ("nvcuda::wmma::load(x);", "write mma.sync as inline PTX, or compile", "must be a class or namespace"),
    ("__shared__ float s[];", "needs an explicit size", "incomplete type"),
    ("__shared__ float s[n];", "cannot use variable-length arrays", "must have a constant value"),
]


@pytest.mark.parametrize(("statement", "by_clang", "by_nvrtc"), _MISTAKES)
def test_typical_mistakes(statement: str, by_clang: str, by_nvrtc: str) -> None:
    for compiler, words in (("clang", by_clang), ("nvrtc", by_nvrtc)):
        if error_of(cuda_source.find_compiler, compiler):
            continue
        with pytest.raises(PtxlabError) as caught:
            ptxlab.kernel(f"__global__ void f(float* x, int n) {{\n  {statement}\n}}", compiler=compiler)
        assert "ptxlab.cu(2): error: " in str(caught.value) and words in str(caught.value)


@pytest.mark.parametrize("compiler", ["clang", "nvrtc"])
def test_a_parameter_whose_type_is_not_declared(compiler: str) -> None:
    """NVRTC's first error says that __global__ does not apply."""
    if missing := error_of(cuda_source.find_compiler, compiler):
        pytest.skip(missing)
    with pytest.raises(PtxlabError, match=r"\(1\): error: .*half.*; #include <cuda_fp16.h> declares"):
        ptxlab.kernel("__global__ void f(half* x) {}", compiler=compiler)


@needs_clang
@pytest.mark.parametrize(
    ("header", "statement", "message"),
    [
        ("cuda_fp16.h", "__half2 a; __hcmadd(a, a, a);", "no __hcmadd: write it with __hfma2"),
        ("cuda_fp16.h", "__hequ2(__half2(), __half2());", "no __hequ2: compare the halves as floats"),
        ("cooperative_groups.h", "cooperative_groups::labeled_partition(1);", "use __match_any_sync"),
        ("cuda/barrier", "cuda::barrier<cuda::thread_scope_device> b;", "only with thread_scope_block"),
        ("cuda/pipeline", "cuda::pipeline<cuda::thread_scope_block> p;", "only with thread_scope_thread"),
        (
            "cuda/pipeline",
            "cuda::pipeline_shared_state<1, 2> s;",
            "use cuda::make_pipeline\\(\\) of one thread",
        ),
        ("cuda/barrier", "cuda::atomic<int> a;", "no cuda::atomic: use atomicAdd"),
        ("cstdint", "cudaTextureObject_t t;", "no cudaTextureObject_t: read through a pointer"),
        ("cstdint", "__vadd4(1, 2);", "no __vadd4: compute the parts one by one"),
    ],
)
def test_what_the_header_lacks_is_refused_by_name(header: str, statement: str, message: str) -> None:
    source = f"#include <{header}>\n__global__ void f() {{\n  {statement}\n}}"
    with pytest.raises(
        PtxlabError, match=rf"ptxlab.cu\(3\): error: ptxlab's header for Clang has .*{message}"
    ):
        ptxlab.kernel(source, compiler="clang")


@pytest.mark.parametrize("compiler", ["clang", "nvrtc"])
def test_a_template_is_named_with_its_arguments(compiler: str) -> None:
    if missing := error_of(cuda_source.find_compiler, compiler):
        pytest.skip(missing)
    source = "template <int N> __global__ void f(int* x) { *x = N; }"
    with pytest.raises(PtxlabError, match="a template becomes one when it is named with its arguments"):
        ptxlab.kernel(source, compiler=compiler)
    assert ptxlab.kernel(source, "f<64>", compiler=compiler).ptx


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

    def note(words: list[str], *rest: Any) -> None:
        commands.append(words)
        run_program(words, *rest)

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
