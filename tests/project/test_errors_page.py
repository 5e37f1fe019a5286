"""docs/guide/errors.md: each message of ptxlab and of the compilers is what its cause gives."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, memory
from ptxlab.course.exercises import what_goes_wrong_asynchronously
from ptxlab.gpu import compiler, device
from ptxlab.lessons import LESSONS
from tests.assembler import ptxas
from tests.cases import refusal

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "errors.md").read_text(encoding="utf-8")
KERNEL = 'extern "C" __global__ void '
COPY = f"{KERNEL}copy(float* y, const float* x, int n) {{ if (threadIdx.x < n) y[n] = x[threadIdx.x]; }}"
MBARRIER = f"""\
__device__ unsigned at(const void* p) {{ return (unsigned)__cvta_generic_to_shared(p); }}
{KERNEL}wait(float* y) {{
  __shared__ alignas(8) unsigned long long bar;
"""
INIT = """\
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 33;" :: "r"(at(&bar)));
  __syncthreads();
"""
ARRIVE = """\
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(at(&bar)) : "memory");
"""
TRY_WAIT = """\
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra W; }"
               :: "r"(at(&bar)) : "memory");
"""
WGMMA = r"""
#define FENCE asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory")
#define WGMMA(d) asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;" \
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }" \
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b) : "memory")
typedef unsigned long long u64;
"""
STORE = "for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = d[i];"


def entries(section: str) -> dict[str, str]:
    """The entries of a section by their headings."""
    (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
    parts = re.split(r"^### (.*)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def message(text: str) -> str:
    """The message of an entry."""
    (found,) = re.findall(r"```text\n(.*?)\n```", text, flags=re.S)
    return str(found)


def numbers() -> np.ndarray:
    return np.zeros(256, np.float32)


def simulated(source: str, block: int, *arguments: Any, **options: Any) -> str:
    """The first hazard of a kernel, or the error that ends it."""
    kernel = ptxlab.kernel(source, target="sm_90a")
    try:
        return str(kernel.simulate(1, block, *arguments, **options).hazards[0])
    except PtxlabError as error:
        return str(error)


def of_lesson(number: int) -> str:
    """What is said about a broken kernel of lesson 11."""
    try:
        return str(what_goes_wrong_asynchronously.broken(number).simulate().hazards[0])
    except PtxlabError as error:
        return str(error)


def shared(body: str, threads: int) -> str:
    return simulated(f"{KERNEL}k(float* y) {{\n  __shared__ float s[64];\n{body}\n}}", threads, numbers())


SIMULATED: dict[str, Callable[[], str]] = {
    "A barrier is missing": lambda: shared(
        "  s[threadIdx.x] = threadIdx.x;\n  y[threadIdx.x] = s[63 - threadIdx.x];", 64
    ),
    "Shared memory was never written": lambda: shared(
        "  if (threadIdx.x < 32) s[threadIdx.x] = 1;\n  __syncthreads();\n  y[threadIdx.x] = s[threadIdx.x];",
        64,
    ),
    "Outside of an array": lambda: simulated(
        f"{KERNEL}past(float* y) {{\n  y[threadIdx.x + 1] = 1;\n}}", 256, numbers()
    ),
    "Dynamic shared memory of 0 bytes": lambda: simulated(
        f"{KERNEL}k(float* y) {{\n  extern __shared__ float s[];\n  s[threadIdx.x] = 1;\n"
        "  y[threadIdx.x] = s[threadIdx.x];\n}",
        32,
        numbers(),
    ),
    "A misaligned access": lambda: simulated(
        f"{KERNEL}wide(float* y) {{\n  float4* p = (float4*)(y + threadIdx.x);\n"
        "  *p = make_float4(1, 2, 3, 4);\n}",
        256,
        numbers(),
    ),
    "A copy that nobody waited for": lambda: simulated(
        f"#define AT(p) (unsigned)__cvta_generic_to_shared(p)\n{KERNEL}early(float* y, const float* x) {{\n"
        "  __shared__ float s[32];\n  int i = threadIdx.x;\n"
        '  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(AT(s + i)), "l"(x + i) : "memory");'
        "\n  y[i] = s[i];\n}",
        32,
        numbers(),
        numbers(),
    ),
    "A missing proxy fence": lambda: of_lesson(1),
    "Registers of a wgmma, read too early": lambda: of_lesson(2),
    "wgmma.fence is missing": lambda: of_lesson(3),
    "Hang in try_wait: an arrival is missing": lambda: simulated(
        f"{MBARRIER}{INIT}{ARRIVE}{TRY_WAIT}}}", 32, numbers()
    ),
    "Hang in try_wait: bytes are missing": lambda: of_lesson(5),
    "mbarrier was never initialised": lambda: simulated(f"\n{MBARRIER}{ARRIVE}}}", 32, numbers()),
    "Hang at a barrier that not all threads reach": lambda: simulated(
        f'{KERNEL}half(float* y) {{\n  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;");\n'
        "  y[threadIdx.x] = 1;\n}",
        64,
        numbers(),
    ),
    "Hang in a loop that waits for a flag": lambda: simulated(
        f"{KERNEL}forever(volatile int* y) {{\n  while (y[0] == 0) {{ }}\n}}", 32, np.zeros(4, np.int32)
    ),
}


def launched(source: str, block: int, *arguments: Any, **options: Any) -> str:
    return refusal(ptxlab.kernel(source).simulate, 1, block, *arguments, **options)


def no_clang() -> str:
    """The refusal where Clang is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "ziglang", None)
        return refusal(ptxlab.kernel, COPY, compiler="clang")


def no_driver() -> str:
    """The refusal where the driver's library is missing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device, "load", lambda _: None)  # cuInit of it is an error
        return refusal(device._first_gpu.__wrapped__)


MAP = np.zeros((64, 64), np.float16)
REFUSED: dict[str, Callable[[], str]] = {
    "A number of arguments": lambda: launched(COPY, 32, numbers(), numbers()),
    "A type of an argument": lambda: launched(
        f"{KERNEL}s(float* y, float a) {{ y[0] = a; }}", 32, numbers(), np.float64(2)
    ),
    "A list in place of an array": lambda: launched(COPY, 32, numbers(), [1.0, 2.0], 3),
    "An array that is not contiguous": lambda: launched(COPY, 32, numbers(), numbers()[::2], 3),
    "Too many threads for the kernel": lambda: launched(
        f"{KERNEL}__launch_bounds__(128) k(float* y) {{ y[0] = 1; }}", 256, numbers()
    ),
    "Too much shared memory": lambda: launched(COPY, 32, numbers(), numbers(), 3, shared=300_000),
    "An instruction that the target lacks": lambda: refusal(
        ptxlab.kernel(
            ".version 8.0\n.target sm_80\n.address_size 64\n"
            ".visible .entry k() { wgmma.fence.sync.aligned; ret; }"
        ).simulate,
        1,
        32,
    ),
    "Several kernels in one source": lambda: refusal(ptxlab.kernel, COPY + COPY.replace("copy", "copy2")),
    "A box that TMA does not take": lambda: refusal(ptxlab.tensor_map, MAP, (64, 512)),
    "Rows of a box are wider than the swizzle": lambda: refusal(ptxlab.tensor_map, MAP, (64, 64), swizzle=32),
    "Strides of an array for TMA": lambda: refusal(
        ptxlab.tensor_map, np.zeros((64, 60), np.float16), (8, 12)
    ),
    "An invalid descriptor": lambda: refusal(memory.descriptor, 0x4000_0040_0001_4040),
    "No such instruction": lambda: refusal(ptxlab.instruction, "mma.m16n8k17.f16"),
    "No compiler": no_clang,
    "No GPU": no_driver,
}
COMPILED: dict[str, str] = {
    "A name that is not declared": f"{KERNEL}k(float* y) {{\n  y[threadIdx.x] = z;\n}}",
    "A missing semicolon": f"{KERNEL}k(float* y) {{\n  y[threadIdx.x] = 1\n}}",
    "A header that is not there": f"#include <torch/extension.h>\n{COPY}",
}
ASSEMBLED: dict[str, tuple[str, str]] = {  # source and target
    "Instruction not supported on this target": (
        f'{KERNEL}k() {{ asm volatile("wgmma.fence.sync.aligned;"); }}',
        "sm_90",
    ),
    "A mistake in inline PTX": (
        f'{KERNEL}k(float* y) {{ asm volatile("mov.u99 %0, 1;" : "=f"(y[0])); }}',
        "sm_90a",
    ),
    "C7510: wgmma serialised at a function call": (
        f"{WGMMA}__device__ __noinline__ void w(float* d, u64 a, u64 b) {{ float e[4] = {{d[0]}}; FENCE;"
        " WGMMA(e); COMMIT; for (int i = 0; i < 4; i++) d[i] = e[i]; }\n"
        f"{KERNEL}k(float* y, u64 a, u64 b) {{ float d[4] = {{0}}; w(d, a, b); WAIT; {STORE} }}",
        "sm_90a",
    ),
    "C7519: wgmma in a branch": (
        f"{WGMMA}{KERNEL}k(float* y, u64 a, u64 b, int n) {{ float d[4] = {{0}}; FENCE;"
        f" if (n > (int)threadIdx.x) {{ WGMMA(d); }} COMMIT; WAIT; {STORE} }}",
        "sm_90a",
    ),
    "C7517: a wait was added for you": (
        f"{WGMMA}{KERNEL}k(float* y, u64 a, u64 b) {{ float d[4] = {{0}}; FENCE; WGMMA(d); COMMIT;"
        f" for (int i = 0; i < 4; i++) d[i] *= 2; WAIT; {STORE} }}",
        "sm_90a",
    ),
}
LINE = re.compile(r"(?: in)?(?: around)? line \d+(?=$| )")  # where in the PTX; compilers move it


@pytest.mark.needs("cuda.core")
@pytest.mark.parametrize("name", SIMULATED)
def test_messages_of_the_simulator(name: str) -> None:
    assert SIMULATED[name]() == message(entries("From ptxlab, while it simulates")[name])


@pytest.mark.needs("cuda.core")
@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_is_wrong(name: str) -> None:
    text = message(entries("From ptxlab, before a kernel runs")[name])
    text = text.replace('".[', '"ptxlab[')  # as `tools.address` writes it before a release
    assert REFUSED[name]() == text


@pytest.mark.needs("cuda.core")
@pytest.mark.parametrize("name", COMPILED)
def test_messages_of_nvrtc(name: str) -> None:
    text = message(entries("From the compilers")[name])
    assert refusal(ptxlab.kernel, COMPILED[name], compiler="nvrtc", target="sm_90a") == text


@pytest.mark.needs("ziglang")
@pytest.mark.parametrize("name", COMPILED)
def test_messages_of_clang(name: str) -> None:
    (text,) = re.findall(r"^Clang: `(.*?)`\.", entries("From the compilers")[name], flags=re.M)
    assert text in refusal(ptxlab.kernel, COMPILED[name], compiler="clang", target="sm_90a")


@pytest.mark.needs("cuda.core")
@pytest.mark.parametrize("name", ASSEMBLED)
def test_messages_of_ptxas(name: str, tmp_path: Path) -> None:
    source, target = ASSEMBLED[name]
    file = tmp_path / "k.ptx"
    file.write_text(compiler.compile_ptx(source, target)[0], encoding="utf-8")
    command = [ptxas(), f"-arch={target}", str(file), "-o", str(tmp_path / "k.cubin")]
    log = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    text = message(entries("From the compilers")[name])
    assert LINE.sub("", text) in LINE.sub("", log)


@pytest.mark.needs("cuda.bindings")
def test_cuda_knows_its_errors() -> None:
    from cuda.bindings import driver

    named = [name for name in entries("From CUDA") if name.startswith("CUDA_ERROR")]
    assert len(named) == 8
    assert set(named) <= set(driver.CUresult.__members__)


def test_every_message_has_a_cause_and_every_lesson_exists() -> None:
    assert list(entries("From ptxlab, while it simulates")) == list(SIMULATED)
    assert list(entries("From ptxlab, before a kernel runs")) == list(REFUSED)
    assert list(entries("From the compilers")) == [*COMPILED, *ASSEMBLED]
    named = {number for pair in re.findall(r"\bLessons? (\d\d)(?: and (\d\d))?\.", PAGE) for number in pair}
    assert len(named) > 10
    assert named <= {lesson.number for lesson in LESSONS}  # the atlas has "", as has a single lesson
