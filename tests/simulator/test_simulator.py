"""Whole kernels without a GPU: every bit as an H200 wrote it, and what the simulator refuses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError, gpu, inputs
from ptxlab.gpu import runner
from ptxlab.gpu.standard_headers import STANDARD_HEADERS
from ptxlab.isa.chips import MAX_SHARED
from ptxlab.numerics.emulate import emulate
from ptxlab.simulator.instructions.builders import BUILDERS
from ptxlab.simulator.ptx.dataflow import basic_blocks, constants
from ptxlab.simulator.ptx.legality import types_of
from ptxlab.simulator.ptx.reader import read_ptx
from ptxlab.simulator.ptx.syntax import type_bits
from tests.assembler import NEWEST
from tests.cases import each, refuses
from tests.texts import filled, replaced
from tools.site import simulated

from .kernel_cases import CASES, FOLDER, digest, recorded

_COUNT = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry count(.param .u64 out, .param .u32 n)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .reg .pred %p1;
    mov.u32 %r1, %tid.x;
    ld.param.u32 %r2, [n];
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    setp.ge.u32 %p1, %r1, %r2;
    @%p1 bra DONE;
    { .reg .b32 %r1; mov.u32 %r1, 7; add.u32 %r3, %r1, 1; bra DONE; DONE: }
    st.global.u32 [%rd3], %r3;
DONE:
    ret;
}
"""


def _counted(body: str) -> list[int]:
    """What 32 threads store, 5 being n, with another middle in `_COUNT`."""
    start, end = _COUNT.index("    setp.ge"), _COUNT.index("DONE:\n    ret")
    out = np.zeros(32, dtype=np.uint32)
    ptxlab.kernel(_COUNT[:start] + body + _COUNT[end:]).simulate(1, 32, out, 5)
    return out.tolist()


@each("name", CASES)
@pytest.mark.slow
def test_as_recorded(name: str) -> None:
    """Every array after the kernel, in every bit, as an H200 left it; and no hazards."""
    case = CASES[name]
    golden = recorded().get(name)
    if golden is None:
        pytest.skip("not recorded yet: python -m tools.record kernels on an H200")
    arguments = case.inputs()
    assert digest(arguments) == golden["inputs"], "the inputs are not those that were recorded"
    result = case.compiled().simulate(case.grid, case.block, *arguments, shared=case.shared)
    assert digest(arguments) == golden["outputs"]
    assert result.hazards == []


@pytest.mark.gpu
def test_launch_as_recorded() -> None:
    """The same kernels on a GPU: what is recorded is of an H200."""
    if gpu.device_target() != "sm_90a":
        pytest.skip("what is recorded is of sm_90a")
    for name, golden in recorded().items():
        case = CASES[name]
        arguments = case.inputs()
        case.compiled().launch(case.grid, case.block, *arguments, shared=case.shared)
        assert digest(arguments) == golden["outputs"], name


@pytest.mark.parametrize("threads", ["1", "2"])
def test_gemm_is_matmul(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real GEMM kernel gives the bits of `ptxlab.matmul`; its mma are those of the tiles.

    Also with a thread for the matrix instructions.
    """
    monkeypatch.setenv("PTXLAB_THREADS", threads)
    monkeypatch.setattr("ptxlab.simulator.deferred._THREAD_PRODUCTS", 0)
    case = CASES["gemm_mma_swizzled"]
    a, b, d, *sizes = case.inputs()
    result = case.compiled().simulate(case.grid, case.block, a, b, d, *sizes)
    # Block (1, 1): rows 64 on, columns 64 on; its second warp.
    seen = result.operands(warp=4 * 3 + 1, index=2)
    assert (seen.ins.a.unpack(seen.a) == a[64:80, :16]).all()
    assert (seen.ins.b.unpack(seen.b) == b[112:120, :16].T).all()
    expected = ptxlab.matmul(a, b.T, instruction="mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    assert np.array_equal(d.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize(
    "name",
    [
        "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32",
        "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc",
        "wgmma.mma_async.sp.sync.aligned.m64n16k32.f32.f16.f16",
        "ldmatrix.sync.aligned.m8n16.x2.b8x16.b6x16_p32",
        "wmma.load.b.sync.aligned.col.m16n16k16.s8",
    ],
)
def test_matrix_instructions(name: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """The kernel that `run` launches on a GPU, simulated, gives what `emulate` does."""
    ins: Any = ptxlab.instruction(name)
    target = next(target for target in ("sm_90a", "sm_120a") if ins.supports(target))

    def launch(source: str, name: str, arguments: list[Any], *, grid: int, block: int) -> None:
        values = [argument.array if isinstance(argument, gpu.Out) else argument for argument in arguments]
        values = [np.ascontiguousarray(value) if np.ndim(value) else value for value in values]
        ptxlab.kernel(source, name, target).simulate(grid, block, *values)

    monkeypatch.setattr(runner, "launch", launch)
    monkeypatch.setattr(runner, "check_device", lambda ins: None)
    if isinstance(ins, ptxlab.Instruction):
        operands = inputs.make(ins, "bits", count=3, seed=1)
        assert np.array_equal(runner.run(operands), emulate(operands))
    else:
        memory = rng.integers(0, 256, 2048, dtype=np.uint8)
        arrays = [memory, ins.addresses()][: len(ins.inputs)]
        assert np.array_equal(runner.run_transfer(ins, arrays), ins.emulate(*arrays))


def test_ptx_text() -> None:
    """PTX needs no compiler; names in braces hide those outside."""
    kernel = ptxlab.kernel(_COUNT)
    out = np.zeros(32, dtype=np.uint32)
    result = kernel.simulate(1, 32, out, 5)
    assert out.tolist() == [8] * 5 + [0] * 27
    assert result.counts["st.global.u32"] == 1 and kernel.parameters == ("u64", "u32")


def test_registers_do_not_share() -> None:
    """A register that was copied whole does not change when some threads write the original again."""
    body = """
    setp.lt.u32 %p1, %r1, %r2;
    mov.u32 %r2, 1;
    @%p1 mov.u32 %r2, 2;
    mov.u32 %r3, %r2;
    @%p1 mov.u32 %r2, 3;
    st.global.u32 [%rd3], %r3;
"""
    assert _counted(body) == [2] * 5 + [1] * 27


def test_registers_of_two_roles() -> None:
    """Threads that go different ways have their own parts of registers, which come together behind."""
    body = """
    setp.lt.u32 %p1, %r1, %r2;
    add.u32 %r1, %r1, 7;
    @%p1 bra FEW;
    add.u32 %r1, %r1, 1000;
    mov.u32 %r3, 5;
    bra BOTH;
FEW:
    mov.u32 %r3, %r1;
    add.u32 %r1, %r1, 100;
    setp.eq.u32 %p1, %r1, 108;
    @%p1 add.u32 %r3, %r3, 2000;
BOTH:
    add.u32 %r1, %r1, %r3;
    st.global.u32 [%rd3], %r1;
"""
    few = [2 * lane + 114 + (2000 if lane == 1 else 0) for lane in range(5)]
    assert _counted(body) == few + [lane + 1012 for lane in range(5, 32)]


def test_launch_passes_the_address_of_an_array_on_a_gpu(array_on_gpu: Any, passed: list[Any]) -> None:
    ptxlab.kernel(_COUNT).launch(1, 32, array_on_gpu, 5)
    code, name, grid, block, shared, values, stream, cooperative, cluster = passed
    assert not cooperative and cluster is None
    assert (name, grid, block, shared, stream) == ("count", (1, 1, 1), (32, 1, 1), 0, 7)
    assert b".entry count" in code
    assert values == [array_on_gpu.ADDRESS.to_bytes(8, "little"), (5).to_bytes(4, "little")]


def test_simulate_refuses_an_array_on_a_gpu(array_on_gpu: Any) -> None:
    sentence = "argument 1 of count: the array is on the GPU; simulate takes NumPy"
    with pytest.raises(PtxlabError, match=sentence):
        ptxlab.kernel(_COUNT).simulate(1, 32, array_on_gpu, 5)


def test_source_lines() -> None:
    """Instructions know their line in the PTX, and in the C++ that they come from."""
    function = read_ptx(_COUNT).functions["count"]
    assert [instruction.line for instruction in function.instructions][:2] == [10, 11]
    kernel = ptxlab.kernel('extern "C" __global__ void f(int* x) {\n\n  x[0] = 1;\n}')
    stores = [
        instruction for instruction in kernel.function.instructions if instruction.opcode.startswith("st.")
    ]
    assert [store.location.line for store in stores if store.location] == [3]


_SOURCE = """
extern "C" __global__ void say(int* x) { printf("%d: %s %.2f\\n", x[threadIdx.x], "ok", 0.5 * threadIdx.x); }
extern "C" __global__ void past(int* x, float y, int z) { x[threadIdx.x + 3] = z; }
extern "C" __global__ void stop(int* x) { if (threadIdx.x == 2) __trap(); }
extern "C" __global__ void stuck(int* x) {
    __shared__ unsigned long long bar;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(at));
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }"
                 :: "r"(at));
}
"""


def test_the_guide_lists_what_there_is() -> None:
    """The page names every instruction that has a builder, and no other."""
    page = (Path(__file__).parents[2] / "docs/guide/kernels.md").read_text(encoding="utf-8")
    section = page.partition("## What is simulated")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    named = set(re.findall(r"`([a-z0-9]+)`", "\n".join(rows)))
    assert named == {entry[0] for entry in BUILDERS}
    assert {name for _, names in simulated.GROUPS for name in names} == named


def test_too_much_static_shared_memory() -> None:
    source = (
        'extern "C" __global__ void wide(int* x) { __shared__ int s[12289]; s[x[0]] = 1; x[1] = s[x[2]]; }'
    )
    with pytest.raises(
        PtxlabError, match=r"wide declares 49156 bytes .* takes at most 49152: make it dynamic"
    ):
        ptxlab.kernel(source).simulate(1, 1, np.zeros(3, np.int32))


_ARRAY_OF_ONE_KERNEL = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry other() { ret; }
.visible .entry wide(.param .u64 x) {
.shared .align 16 .b8 s[BYTES]; .reg .b32 r;
mov.u32 r, s; st.shared.u32 [r], r;
ret; }
"""


@each("count, fits", [(60_000, True), (MAX_SHARED, True), (MAX_SHARED + 16, False), (400_000, False)])
def test_static_shared_memory_of_a_module_with_several_kernels(count: int, fits: bool) -> None:
    """ptxas takes more than 48 KiB there, up to what a block has."""
    text = filled(_ARRAY_OF_ONE_KERNEL, BYTES=str(count))
    assert (NEWEST.assemble(text, "sm_90a") is None) == fits
    kernel = ptxlab.kernel(text, "wide")
    if fits:
        assert kernel.simulate(1, 1, np.zeros(1), show=False).hazards == []
        refuses(f"shared={MAX_SHARED}: wide declares", kernel.simulate, 1, 1, np.zeros(1), shared=MAX_SHARED)
        return
    refuses(
        f"wide declares {count} bytes of shared memory, which no block has",
        kernel.simulate,
        1,
        1,
        np.zeros(1),
    )


def test_standard_headers() -> None:
    """What kernels include out of habit, all at once."""
    names = [*STANDARD_HEADERS, "cuda.h", "cuda_runtime.h", "cuda_fp8.h", "cuda/barrier"]
    source = "\n".join(f"#include <{name}>" for name in names)
    kernel = ptxlab.kernel(
        source
        + """
        extern "C" __global__ void limits(uint64_t* out) {
          static_assert(std::is_same<int64_t, signed long long>::value, "as in cuda::std");
          out[0] = UINT32_MAX; out[1] = INT_MAX; out[2] = FLT_MAX == std::numeric_limits<float>::max();
          out[3] = __float_as_uint(-INFINITY);
        }"""
    )
    out = np.zeros(4, dtype=np.uint64)
    kernel.simulate(1, 1, out)
    assert out.tolist() == [2**32 - 1, 2**31 - 1, 1, 0xFF800000]
    ptxlab.kernel('extern "C" __global__ void f(float* x) { *x = -INFINITY; }').simulate(
        1, 1, out.view(np.float32)
    )
    assert out[0] & 0xFFFFFFFF == 0xFF800000  # nvcc knows INFINITY without any header


def test_all_blocks_wait() -> None:
    """As many blocks as an H200 has multiprocessors wait for each other: all of them run together."""
    count = 132 * 256
    a, b = np.arange(count, dtype=np.int32) ** 2, np.zeros(count, dtype=np.int32)
    CASES["relaxation"].compiled().simulate(132, 256, a, b, 1, show=False, check=False)
    assert np.array_equal(b, np.roll(a, -1) - np.roll(a, 1) + 2 * a)


def test_alloca_keeps_clear_of_other_local_memory(rng: np.random.Generator) -> None:
    """`alloca` keeps clear of earlier pieces and of what called functions have in local memory."""
    text = (FOLDER / "stack.ptx").read_text(encoding="ascii")
    x, out = rng.integers(0, 1 << 32, 32, dtype=np.uint32), np.zeros(32, dtype=np.uint32)
    assert ptxlab.kernel(text).simulate(1, 32, x, out).hazards == []
    for value, result in zip(x.tolist(), out.tolist(), strict=True):
        total, count = 0, (value & 7) + 1
        for _ in range(4):
            values = []
            for _ in range(count):
                value = (value * 1664525 + 1013904223) & 0xFFFFFFFF
                values.append(value)
            total += values[0] + values[-1] + values[-1] * 31
            value = values[-1] * 31 & 0xFFFFFFFF
        assert result == total & 0xFFFFFFFF


#: What an H200 prints, and what its printf returns.
_PRINTED = """
2 | %ld %lu | -1l, 1ul | -1 1
2 | %s %s | shared, local | sh loc
5 | %a %A %.3a %a %a | 0.1, 255.5, 1.0 / 3, 0.0, -1e-310 | 0x1.999999999999ap-4 0X1.FFP+7 0x1.555p-2 0x0p+0 -0x0.012688b70e62bp-1022
4 | %F %E %f %F | 1 / 0.0, 0 / 0.0, -(0 / 0.0), -1 / 0.0 | INF -NAN -nan -INF
4 | %5.3d,%-8.4x,%#010x,%#o | 7, 0xabc, 0x1f, 8 |   007,0abc    ,0x0000001f,010
3 | %hd %hu %hx | 70000, 70000, -1 | 4464 4464 ffff
2 | %p %p | (void*)0, (void*)0xdeadbeefcafe | (nil) 0xdeadbeefcafe
1 | 100%% %s | (const char*)0 | 100% (null)
4 | %*d,%-*d, | 6, 42, 6, 42 |     42,42    ,
3 | %.0d,%x,%#x | 0, 0, 0 | ,0,0
"""  # noqa: E501


def test_printf_as_recorded() -> None:
    """Formats, strings in shared and local memory, and the result."""
    rows = [line.split(" | ") for line in _PRINTED.strip().splitlines()]
    calls = "".join(
        f'x[{number}] = printf("{text}\\n", {values});' for number, (_, text, values, _) in enumerate(rows)
    )
    source = (
        'extern "C" __global__ void say(int* x) { __shared__ char shared[4]; char local[] = "loc";'
        f"local[0] += x[0]; shared[0] = 's', shared[1] = 'h', shared[2] = 0; {calls} }}"
    )
    counts = np.zeros(len(rows), dtype=np.int32)
    result = ptxlab.kernel(source).simulate(1, 1, counts, show=False)
    assert result.output.splitlines() == [printed for *_, printed in rows]
    assert counts.tolist() == [int(row[0]) for row in rows]


def test_printf_prints_what_c_prints(capsys: pytest.CaptureFixture[str]) -> None:
    result = ptxlab.kernel(_SOURCE, "say").simulate(1, 2, np.array([7, -8], dtype=np.int32))
    assert result.output == "7: ok 0.00\n-8: ok 0.50\n" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("past", (np.zeros(4, np.int32), 1.0, 2), r"ptxlab.cu:3: st.global.u32: thread \(1, 0, 0\) of block "
         r"\(0, 0, 0\) writes 4 bytes at 0x[0-9a-f]+, "
         r"which is byte 16 of argument 1 \(int32\[4\]\), 16 bytes long"),
        ("past", (np.zeros(4, np.int32), 1.0), r"past takes 3 arguments \(u64, f32, u32\), found 2"),
        ("past", (np.zeros(4, np.int32), np.int32(1), 2), "argument 2 of past: found int32; .* takes f32"),
        ("past", (np.zeros(4, np.int32), 1.0, 2.5), "argument 3 of past: found 2.5; .* a whole number"),
        ("past", (np.zeros(4, np.int32), 1.0, 1 << 32), "argument 3 of past: 4294967296 does not fit u32"),
        ("past", (np.zeros((4, 4), np.int32)[:, ::2], 1.0, 2), "not contiguous"),
        ("stop", (None,), r"ptxlab.cu:4: trap: thread \(2, 0, 0\) of block \(0, 0, 0\) stops the kernel"),
        ("stuck", (None,), r"deadlock: block .* wait at ptxlab.cu:\d+ .* expects 64 of 64 arrivals"),
        ("nothing", (), "name='nothing': the source has say, past"),
    ],
)  # fmt: skip
def test_refusals_say_what_is_wrong(name: str, arguments: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(PtxlabError, match=sentence):
        ptxlab.kernel(_SOURCE, name).simulate(1, 32, *arguments)


def test_arrays_that_share_memory() -> None:
    """Views of the same bytes are one argument, as they are on a GPU; those of some of them are refused."""
    kernel = ptxlab.kernel('extern "C" __global__ void f(int* x, int* y) { x[threadIdx.x] = 1; *y += x[5]; }')
    memory = np.zeros(64, np.int32)
    kernel.simulate(1, 1, memory[:32], memory[32:])
    kernel.simulate(1, 1, memory, memory[:].view(np.uint32))
    assert memory[0] == 1 and memory[32] == 0
    with pytest.raises(PtxlabError, match="arguments 1 and 2 of f: the arrays share a part of their memory"):
        kernel.simulate(1, 1, memory[8:], memory[:32])


def test_a_loop_that_never_ends() -> None:
    kernel = ptxlab.kernel('extern "C" __global__ void f(volatile int* x) { while (x[0] == 0) x[1] += 1; }')
    with pytest.raises(PtxlabError, match=r"ptxlab.cu:1: warps have executed 500 instructions.*larger limit"):
        kernel.simulate(1, 64, np.zeros(2, np.int32), limit=500)
    kernel.simulate(1, 64, np.ones(2, np.int32), limit=500)


_SPINNING = """
#include <cooperative_groups.h>
extern "C" __global__ void lock(int* mutex, int* count) {
  if (threadIdx.x == 0) { while (atomicCAS(mutex, 0, 1) != 0); __threadfence(); }
  __syncthreads();
  count[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); atomicExch(mutex, 0); }
}
extern "C" __global__ void ticket(int* mutex, int* count) {  // with a wait that grows, and then does not
  __shared__ int mine;
  if (threadIdx.x == 0) {
    mine = atomicAdd(mutex, 1);
    for (unsigned ns = 8; *(volatile int*)(mutex + 1) != mine; ns = ns < 256 ? 2 * ns : 256) __nanosleep(ns);
    __threadfence();
  }
  __syncthreads();
  count[threadIdx.x] += 1;
  __syncthreads();
  if (threadIdx.x == 0) { __threadfence(); *(volatile int*)(mutex + 1) = mine + 1; }
}
extern "C" __global__ void chain(volatile int* mutex, int* count) {  // in shared memory, warp by warp
  __shared__ volatile int turn;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  while (turn != 3 - threadIdx.x / 32);
  atomicAdd(count + threadIdx.x, 1);
  __syncwarp();
  if (threadIdx.x % 32 == 0) turn = turn + 1;
}
extern "C" __global__ void barriers(int* mutex, int* count) {
  for (int i = 0; i < 3; ++i) {
    atomicAdd(count + (threadIdx.x + 5 * i) % 128, 1);
    cooperative_groups::this_grid().sync();
  }
  if (blockIdx.x == 1) count[threadIdx.x] /= 3;
}
extern "C" __global__ void patient(volatile int* mutex, int* count) {  // gives up: it counts
  int tries = 0;
  while (mutex[0] == 0 && ++tries < 50);
  atomicAdd(count + threadIdx.x, tries / 50);
}
extern "C" __global__ void forever(volatile int* mutex, int* count) {
  if (threadIdx.x < 7) while (mutex[0] == 0);
  __syncthreads();
  count[threadIdx.x] = 1;
}
extern "C" __global__ void crossed(volatile int* mutex, int* count) {
  if (blockIdx.x == 0) { while (mutex[0] == 0); mutex[1] = 1; }
  else { while (mutex[1] == 0); mutex[0] = 1; }
}
"""


@pytest.mark.parametrize("name", ["lock", "ticket", "chain", "barriers", "patient"])
def test_threads_that_spin_sleep(name: str) -> None:
    """Waiting takes a few iterations, however long it takes; the same each time."""
    seen = []
    for _ in range(2):
        mutex, count = np.zeros(2, dtype=np.int32), np.zeros(128, dtype=np.int32)
        result = ptxlab.kernel(_SPINNING, name).simulate(29, 128, mutex, count, show=False)
        assert (count == 29).all() and mutex.tolist() == ([29, 29] if name == "ticket" else [0, 0])
        assert result.hazards == []
        seen.append(result.counts)
    assert seen[0] == seen[1]
    assert seen[0].total() < 60_000


@pytest.mark.gpu
def test_threads_that_spin_on_a_gpu() -> None:
    for name in ("lock", "ticket", "chain", "barriers"):
        mutex, count = np.zeros(2, dtype=np.int32), np.zeros(128, dtype=np.int32)
        ptxlab.kernel(_SPINNING, name).launch(29, 128, mutex, count)
        assert (count == 29).all(), name


def test_threads_that_spin_for_ever() -> None:
    for name, sentence in (
        ("forever", r"deadlock: block \(0, 0, 0\).* wait at ptxlab.cu:\d+ \(ld.volatile.*\) for another "
         "value than what they read again and again, which nobody writes; .*bar"),
        ("crossed", r"deadlock: .*\(ld.volatile.*which nobody writes; .*\(ld.volatile"),
    ):  # fmt: skip
        with pytest.raises(PtxlabError, match=sentence):
            ptxlab.kernel(_SPINNING, name).simulate(2, 64, np.zeros(2, np.int32), np.zeros(64, np.int32))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            ("mov.u32 %r1, %tid.x;", "mov.u32 %r9, %tid.x;"),
            "PTX line 10: %r9 is neither a declared register nor a special one",
        ),
        (("bra DONE;\n    st", "bra GONE;\n    st"), "PTX line 17: there is no label GONE"),
        (("ret;", "ret"), "PTX line 22: found '}' where an operand belongs"),
        (("add.s64 %rd3", "frob.s64 %rd3"), "PTX line 14: PTX has no instruction frob"),
        # the widths of registers, which the assembler checks
        (("add.s64 %rd3, %rd1", "add.s64 %rd3, %r1"), "takes a register of 64 bits here, and %r1 is .b32"),
        (("add.s64 %rd3", "add.s64 %r1"), "add.s64 takes a register of 64 bits here, and %r1 is .b32"),
        ((".reg .b64 %rd<4>", ".reg .f64 %rd<4>"), "ld.param.u64 takes an integer here, and %rd1 is .f64"),
        (("add.s64 %rd3", "add.s64 %p1"), "add.s64 takes a register of 64 bits here, and %p1 is .pred"),
        (
            ("[%rd3], %r3;\nDONE", "[%p1], %r3;\nDONE"),
            "%p1 is .pred; an address is an integer",
        ),
    ],
)
def test_refused_ptx(change: tuple[str, str], sentence: str) -> None:
    text = replaced(_COUNT, "bra DONE; DONE: }", "bra DONE;\n    st.global.u32 [%rd3], %r3; DONE: }")
    with pytest.raises(PtxlabError, match=re.escape(sentence)):
        ptxlab.kernel(replaced(text, *change)).simulate(1, 32, np.zeros(32, np.uint32), 5)


_LINES = """
.version 8.5
.target sm_90a
.address_size 64
.global .align 16 .b32 g[4] = {10, 20, 30, 40};
.global .u64 pointers[2] = {g, generic(g) + 2 * 4};
.global .u8 low[2] = {0xFF(g), 0xFF00(g)};
.const .u32 numbers[2] = {1, 2};
.entry k(.param .u64 out) {
  .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .b16 %h<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out]; cvta.to.global.u64 %rd1, %rd1; mov.u32 %r1, 5; mov.u32 %r2, 0; mov.f32 %f1, 1.0;
  LINE
  st.global.u32 [%rd1], %r2; ret; }
"""


def test_spellings_that_the_assembler_takes() -> None:
    """Constant expressions, elements of arrays, qualifiers in other orders; values as C has them."""
    bits = {value: int(np.float32(value).view(np.uint32)) for value in (0.5, 3.5, -1.5)}
    lines = {
        "mov.u32 %r2, (1<<4)+3*2-(~0&7);": 15,
        "mov.u32 %r2, 5>3 ? 20 : 10;": 20,
        "mov.u32 %r2, WARP_SZ*2 + !0;": 65,
        "mov.u32 %r2, (.s64)-7/2 + 0b101;": 2,
        "mov.f32 %f2, 1.5 + 2.0; mov.b32 %r2, %f2;": bits[3.5],
        "mov.f32 %f2, -(1.5); mov.b32 %r2, %f2;": bits[-1.5],
        "mov.f32 %f2, .5; mov.b32 %r2, %f2;": bits[0.5],
        "ld.global.b32 %r2, [g+2*4];": 30,
        "ld.global.b32 %r2, [g+(12)+-4];": 30,
        "ld.global.b32 %r2, g[3];": 40,
        "mov.u64 %rd2, g[1]; ld.global.b32 %r2, [%rd2+4*1];": 30,
        "ld.u32.global %r2, [g];": 10,
        "add .u32 %r2, %r1, 1;": 6,
        "st.u32.global.cs [g], 7; ld.global.u32.volatile %r2, [g];": 7,
        "ld.global.u64 %rd2, [pointers+8]; ld.u32 %r2, [%rd2];": 30,
        "ld.global.u16 %h1, [low]; mov.u64 %rd2, g; cvt.u16.u64 %h2, %rd2; sub.u16 %h1, %h1, %h2;"
        "cvt.u32.u16 %r2, %h1;": 0,
        "redux.add.sync.s32 %r2, %r1, -1;": 160,
        "mov.u32 %r3, %laneid; shfl.up.sync.b32 %r2, %r3, 31, 0, -1;"
        "shfl.sync.idx.b32 %r2, %r2, 31, 31, -1;": 0,
        "mov.u32 %r3, %laneid; setp.lt.u32 %p0, %r3, 3; vote.ballot.sync.b32 %r2, %p0, -1;": 7,
        "mov.u32 %r3, %laneid; setp.gt.u32 %p0, %r3, 3; vote.any.sync.pred %p1, %p0, -1;"
        "selp.u32 %r2, 1, 0, %p1;": 1,
        "mov.u32 %r3, %laneid; setp.eq.u32 %p0, %r3, 5; selp.u32 %r3, 1, 0, %p0;"
        "match.sync.b32.any %r2, %r3, -1; shfl.idx.sync.b32 %r2, %r2, 5, 31, -1;": 32,
        # as on an H200: a selection changes the sign of a NaN, neg does not; constants are not global memory
        "mov.f32 %f2, 0f7FC00001; neg.f32 %f3, %f2; mov.b32 %r2, %f3;": 0x7FFFFFFF,
        "setp.eq.u32 %p1, %r1, 5; mov.f32 %f2, 0f7FC00001; neg.f32 %f3, %f2; selp.f32 %f3, %f3, %f1, %p1;"
        "mov.b32 %r2, %f3;": 0xFFC00001,
        "setp.ne.u32 %p1, %r1, 5; mov.f32 %f2, 0fFFC00001; abs.f32 %f3, %f2; selp.f32 %f3, %f1, %f3, %p1;"
        "mov.b32 %r2, %f3;": 0x7FC00001,
        "mov.u64 %rd2, numbers; cvta.const.u64 %rd2, %rd2; isspacep.const %p0, %rd2;"
        "isspacep.global %p1, %rd2; selp.u32 %r2, 1, 0, %p0; @%p1 add.u32 %r2, %r2, 2;": 1,
        "red.global.v2.f32.add [%rd1+8], {%f1, 2.5}; ld.global.u32 %r2, [%rd1+12];": 0x42A00000,
    }
    for line, value in lines.items():
        out = np.zeros(8, np.uint32)
        ptxlab.kernel(filled(_LINES, LINE=line)).simulate(1, 32, out, check=False)
        assert out[0] == value, line


def test_spellings_that_the_assembler_refuses() -> None:
    lines = {
        "add.f32 %f1, %f1, 1;": "found a whole number where a float such as 1.0 or 0f3F800000 belongs",
        "add.u32 %r2, %r1, 1.5;": "add.u32: found a float where a whole number belongs",
        "add.f16 %h1, %h1, 0x3c00;": "add.f16: found a whole number where a register belongs",
        "add.u32 %r2, %tid.x, 1;": "add.u32 takes no special register; move %tid.x into a register",
        "add.u64 %rd2, g, 4;": "add.u64 takes no variable; move the address of g into a register",
        "ld.global.b32 %r2, [%rd1-4];": "found '-' where '+' (a negative offset is +-4) belongs",
        "ld.global.b32 %r2, g[%r1];": "where a constant (an index in a register is not simulated) belongs",
        "ld.global.b32 %r2, [99999999999999999999];": "reads 4 bytes at 0x6bc75e2d630fffff",
        "mov %r2, 1;": "mov lacks a type, such as .u32",
        "mov.u32 %r2;": "mov.u32: it has at least 2 operands, found 1",
        "bar.red.popc.u32 %r2, 99, %p1;": "barrier 99: there are 0 to 15",
        "cp.async.trans.commit_group;": "cp.async.trans.commit_group is not simulated yet",
        "mul.u32.lo %r2, %r1, 3;": "mul.u32.lo: .lo belongs directly behind mul",
        ";": "found ';' where an instruction belongs",
        "mov.u32 %r2, 08;": "found 08; a number that begins with 0 is octal",
        "selp.f16 %h1, %h1, %h2, %p1;": "selp.f16: found .f16; it takes .b16, .b32, .b64,",
        "shfl.sync.bfly.b32 _, %r1, 1, 31, -1;": "its result is a register, not _",
        "setp.eq.u32 _|_, %r1, 5;": "its result is a register, not _",
        "elect.sync %r2|_, -1;": "its second result is a predicate, not _",
        "mov.b64 {_, _}, %rd1;": "at least one of its results must be a register, not _",
        "cvta.shared.u32 %r2, %r1;": "a generic address of 32 bits is not simulated yet",
        "bar.sync.aligned 0;": "bar is always aligned and takes no .aligned, which barrier does",
        "mov.u32 %r2, 1.5 << 2;": "found '2' where a whole number, which << takes, belongs",
        "} .global .f32 f = 1; .entry other() {": "found '1' where a float belongs",
        "} .global .u32 f[1] = {1, 2}; .entry other() {": "f has more values than elements",
        "} .alias a, b; .entry other() {": "found 'b' where a function of the module belongs",
    }
    for line, sentence in lines.items():
        with pytest.raises(PtxlabError, match=re.escape(sentence)):
            ptxlab.kernel(filled(_LINES, LINE=line), "k").simulate(1, 32, np.zeros(8, np.uint32))


#: Instructions with a type T, a result D and sources A and B of that type.
_TYPED = """
    mov.T D, A; selp.T D, A, B, p0; ld.global.T D, [d8]; ldu.global.T D, [d8]; st.shared.T [r8], A
    shfl.sync.up.T D, A, 1, 0, -1; vote.sync.any.T p1, p0, -1; vote.sync.ballot.T D, p0, -1
    match.any.sync.T r0, A, -1; redux.sync.add.T D, A, -1; redux.sync.or.T D, A, -1; activemask.T D
    cvta.to.global.T D, A; mapa.shared::cluster.T D, A, 0; getctarank.shared::cluster.T r0, A
    createpolicy.fractional.L2::evict_last.T D, 1.0; alloca.T D, 16; stacksave.T D; stackrestore.T A
    bar.red.popc.T D, 0, p0; barrier.cta.red.or.T D, 0, p0; mbarrier.init.shared.T [r8], 1
    atom.global.add.T D, [d8], A; atom.global.add.noftz.T D, [d8], A; atom.global.max.T D, [d8], A
    atom.global.xor.T D, [d8], A; atom.global.exch.T D, [d8], A; atom.global.cas.T D, [d8], A, B
    red.global.add.T [d8], A; red.global.add.noftz.T [d8], A; red.global.min.T [d8], A
    red.global.dec.T [d8], A
"""


def test_types_that_the_assembler_takes() -> None:
    """One module with every instruction of every type, and which lines ptxas objects to."""
    head = (
        ".version 9.4\n.target sm_90a\n.address_size 64\n.entry k() {\n"
        ".reg .pred p<3>; .reg .b8 c<3>; .reg .b16 h<3>; .reg .b32 r<9>; .reg .b64 d<9>; .reg .b128 q<3>;\n"
    )
    letters = {1: "p", 8: "c", 16: "h", 32: "r", 64: "d", 128: "q"}
    types = [f"{letter}{bits}" for letter in "bus" for bits in (8, 16, 32, 64)]
    types += ["pred", "b128", "f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "tf32", "e4m3x2"]
    lines = []
    for template in re.split(r";|\n", _TYPED.strip()):
        for name in types:
            register = letters[type_bits(name) or 0]
            line = template.strip().replace(".T", f".{name}")
            for number, operand in enumerate("DAB"):
                line = re.sub(rf"\b{operand}\b", f"{register}{number}", line)
            lines.append((line, name))
    log = NEWEST.assemble(head + "".join(f"{line};\n" for line, _ in lines) + "ret; }\n", "sm_90a") or ""
    refused = {int(number) - head.count("\n") - 1 for number in re.findall(r"line (\d+); error", log)}
    for index, (line, name) in enumerate(lines):
        taken = types_of(tuple(line.partition(" ")[0].split("."))) or ()
        assert (name in taken) == (index not in refused), line


_F16 = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"


@each(
    "target, ptx, sentence",
    [
        (
            "sm_75",
            f"{_F16} {{%0,%1}},{{%2,%2,%2,%2}},{{%2,%2}},{{%0,%1}};",
            "the kernel is for sm_75, which lacks",
        ),
        (
            "sm_90a",
            f"{_F16} {{%0,%1,%0,%1}},{{%2,%2,%2,%2}},{{%2,%2}},{{%0,%1}};",
            "D takes 2 registers, found 4",
        ),
        ("sm_90a", f"{_F16} {{%0,%1}},{{%2,%2,%2,%2}},{{%2,%2}},{{%0,%1}},%0;", "takes 4 operands, found 5"),
        ("sm_90a", "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0}, [%2];", "takes 2 registers, found 1"),
    ],
)
def test_inline_assembly_that_the_assembler_refuses(target: str, ptx: str, sentence: str) -> None:
    """NVRTC does not read what `asm` has; ptxas does."""
    text = f'asm volatile("{ptx}" : "+r"(x[0]), "+r"(x[1]) : "r"(x[2]));'
    kernel = ptxlab.kernel(f'extern "C" __global__ void f(unsigned* x) {{ {text} }}', target=target)
    with pytest.raises(PtxlabError, match=sentence):
        kernel.simulate(1, 32, np.zeros(32, np.uint32))


_STORE = """
struct alignas(64) TensorMap { unsigned long long opaque[16]; };
extern "C" __global__ void store(const __grid_constant__ TensorMap to, int column, int row) {
  __shared__ alignas(128) unsigned char box[1024];
  for (int i = threadIdx.x; i < 1024; i += 32) box[i] = i;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (threadIdx.x == 0)
    asm volatile("OPERATION [%0, {%1, %2}], [%3]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
      :: "l"(&to), "r"(column), "r"(row), "r"((unsigned)__cvta_generic_to_shared(box)) : "memory");
}
"""


def test_tma_stores_that_an_h200_does_not_take() -> None:
    """Each of them was an illegal instruction there; those that are simulated were not."""
    stores = filled(_STORE, OPERATION="cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group")
    adds = filled(_STORE, OPERATION="cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group")
    for source, dtype, start, sentence in (
        (stores, np.uint32, (5, 0), "along the last axis a box begins at a multiple of 16 bytes"),
        (stores, np.uint32, (0, -3), "a store that begins before the array is an illegal instruction"),
        (adds, np.uint16, (0, 0), r"illegal instruction with elements of type UINT16; .add takes UINT32"),
        (adds, np.int64, (0, 0), r"illegal instruction with elements of type INT64"),
        (adds, np.uint32, (8, 50), ""),
    ):
        array = np.ones((64, 128 // np.dtype(dtype).itemsize), dtype=dtype)
        tensor = ptxlab.tensor_map(array, (16, 64 // array.itemsize))
        if sentence:
            with pytest.raises(PtxlabError, match=sentence):
                ptxlab.kernel(source).simulate(1, 32, tensor, *start)
        else:
            ptxlab.kernel(source).simulate(1, 32, tensor, *start)
            assert array[50, 8] == 0x03020101 and array[49].tolist() == [1] * 32


def test_constants_are_registers_with_a_number_of_their_own() -> None:
    """Not those that divide one number, nor one that is written twice; a declared function has no blocks."""
    function = read_ptx(""".version 8.0
.target sm_90
.address_size 64
.func outside();
.entry k() {
  .reg .b32 %r<5>;
  mov.b64 {%r0, %r1}, 0x0000000200000001; mov.u32 %r2, 7; mov.u32 %r3, 1; mov.u32 %r3, 2; ret; }""").functions
    names = {register.index: register.name for register in function["k"].registers}
    assert {names[index]: value for index, value in constants(function["k"]).items()} == {"%r2": 7}
    assert basic_blocks(function["outside"]) == {} and basic_blocks(function["k"]) == {0: 5}
