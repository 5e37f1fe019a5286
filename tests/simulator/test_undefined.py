"""What PTX and C++ leave undefined: mbarriers outside of their lives, one array for another, part of a
warpgroup, blocks that never begin, code in whose place the compiler puts a trap.
"""

from __future__ import annotations

import re
from copy import copy
from functools import cache

import numpy as np
import pytest

import ptxlab
from ptxlab import PtxlabError
from ptxlab.simulator import Hazard, HazardError
from ptxlab.simulator.kernel import Kernel
from tests.assembler import COMPILERS, Compiler
from tests.cases import each
from tests.texts import filled, replaced

_HEAD = """\
#define INIT(n) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(b), "r"(n) : "memory");
#define INVAL asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(b) : "memory");
#define ARRIVE asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(b) : "memory");
#define DROP asm volatile("mbarrier.arrive_drop.shared::cta.b64 _, [%0];" :: "r"(b) : "memory");
#define MANY asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 40;" :: "r"(b) : "memory");
#define EXPECT asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 64;" :: "r"(b) : "memory");
#define FENCE asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#define WAIT(parity) asm volatile("{ .reg .pred p;\\nW: mbarrier.try_wait.parity.shared::cta.b64 p, [%0]," \\
    " %1; @!p bra W; }" :: "r"(b), "n"(parity) : "memory");
#define BULK(to, size) asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" \\
    " [%0], [%1], %3, [%2];" \\
    :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(x), "r"(b), "n"(size) : "memory");
#define ASYNC(to, size) asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" \\
    :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(x), "n"(size) : "memory");
#define ASYNC_WAIT asm volatile("cp.async.wait_all;" ::: "memory");
#define RESIZE(how) asm volatile("setmaxnreg." #how ".sync.aligned.u32 40;" ::: "memory");
#define ALL __syncthreads();
typedef unsigned long long u64;
__constant__ int table[4];
__device__ void twice(int* x) { x[threadIdx.x] *= 2; }
__device__ __noinline__ int get(int* p, int i) { return p[i]; }
"""
#: Before the body of each kernel.
_BEGIN = """extern "C" __global__ void k{}(int* x) {{ const int t = threadIdx.x;
extern __shared__ __align__(128) int dynamic[];
__shared__ __align__(128) u64 s[64]; __shared__ __align__(128) int u[64], v[64];
const unsigned b = (unsigned)__cvta_generic_to_shared(s + 4);
"""

#: Bodies of kernels: the line and the sentence of the hazard; line 0 if there is none.
_LIVES: dict[str, tuple[int, str]] = {
    "if (t == 0) INIT(64)\nALL ARRIVE WAIT(0)": (0, ""),
    # Lanes of one warp may initialise an mbarrier together.
    "if (t < 32) INIT(64)\nALL ARRIVE WAIT(0)": (0, ""),
    "if (t < 32) INIT(64 + t / 31)": (1, "lane 31 initialises .* with another count than other lanes"),
    "INIT(64)\nALL ARRIVE WAIT(0)": (1, "warp 1, lanes 0-31 initialise .* and so do lanes of other warps"),
    "if (t == 0) INIT(64)\nALL if (t == 32) INIT(64)": (2, "initialised, and which nobody has invalidated"),
    "if (t == 0) { INIT(1) INVAL\nINIT(64) }\nALL ARRIVE WAIT(0)": (0, ""),
    "if (t == 0) { INIT(64)\nINIT(64) }": (2, "initialises the mbarrier at shared bytes 32..39 of s"),
    # It is there even when nobody is expected any more.
    "if (t == 0) INIT(64)\nALL DROP WAIT(0) ALL if (t == 0) INVAL": (0, ""),
    "if (t == 0) INIT(64)\nALL DROP WAIT(0) ALL\nARRIVE": (3, "more arrivals than its phase expects"),
    # What its bytes are before it begins and after it has ended does not matter.
    "s[t] = 0; ALL if (t == 0) INIT(64)\nALL ARRIVE WAIT(0) ALL if (t == 0) INVAL ALL s[t] = t;": (0, ""),
    "if (t == 0) INIT(64)\nALL s[t] = 1;": (
        2, "lane 4 writes shared bytes 32..39 of s, where the mbarrier that",
    ),
    "if (t == 0) INIT(64)\nALL x[t] = s[4];": (2, "lanes 0-31 read shared bytes 32..39 of s"),
    "if (t == 0) INIT(64)\nALL atomicAdd(s + 4 + t / 32, 1ull);": (
        2, "lanes 0-31 update shared bytes 32..39",
    ),
    "if (t == 0) INIT(64)\nALL if (t < 32) ((int4*)s)[t] = make_int4(t, t, t, t);": (
        2, "lane 2 writes .* 32..47",
    ),
    "if (t == 0) { INIT(1) const unsigned c = b + 64; { const unsigned b = c; INIT(1) FENCE EXPECT\n"
    "BULK(s, 64) } }": (2, "writes shared bytes 32..47 of s, where"),
    "s[t] = t; ALL\nARRIVE": (2, "which was never initialised, or was overwritten"),
    # An arrival where no mbarrier is ends the simulation, a wait does not.
    "ARRIVE": (1, "uses the mbarrier s .* which was never initialised"),
    "if (t == 0) EXPECT": (1, "which was never initialised"),
    "WAIT(1)": (1, "wait for the mbarrier at .* which was never initialised"),
    "if (t == 0) { INIT(64) INVAL }\nALL ARRIVE": (2, "which was invalidated"),
    "if (t == 0) { INIT(64) INVAL }\nALL WAIT(0)": (2, "which was invalidated"),
    "s[t] = ~0ull >> 1; ALL\nARRIVE": (2, "arrive at the mbarrier .* which was never initialised"),
    "if (t == 0) INIT(32)\nALL if (t == 0) MANY": (2, "more arrivals than its phase expects"),
}  # fmt: skip
_ARRAYS: dict[str, tuple[int, str]] = {
    "u[t] = t; ALL v[t] = u[63 - t]; ALL x[t] = v[63 - t];": (0, ""),
    "u[t] = t; v[t] = t; ALL\nu[t + 1] = 3; ALL x[t] = u[t] + v[t];": (
        2, "lane 31 writes 4 bytes at byte 256 of u, which has 256 bytes, in v",
    ),
    "v[t] = 0; u[t] = 0; ALL\nx[t] = v[t - 1] + u[t];": (2, "reads 4 bytes at the byte 4 before v"),
    "u[t] = t; v[t] = t; ALL for (int i = 1; i < 9; ++i) x[t] += u[(t + i - 1) % 64] + v[63 - t];": (0, ""),
    # What is loaded there counts if it matters.
    "v[t] = 1; u[t] = 2; ALL int w = *(volatile int*)(v + t - 1);\n"
    "x[t] = (x[99] > 99 ? w : 0) + u[t];": (0, ""),
    "v[t] = 1; u[t] = 2; ALL int w = *(volatile int*)(v + t - 1);\n"
    "x[t] = (x[99] > 9 ? w : 0) + u[t];": (
        1, "lane 0 reads 4 bytes at the byte 4 before v, .*, and line .* hands it back",
    ),
    # The address is computed from the name of either.
    "int* p = x[0] ? u : v; p[t] = t; ALL x[t] = p[63 - t];": (0, ""),
    "int* p = x[9] ? u : v; int* q = x[9] ? v : u; for (int i = 0; i < x[3]; ++i) {\n"
    "p[t] = t; ALL x[t] = p[63 - t]; ALL int* o = p; p = q; q = o; }": (0, ""),
    "int* p = x[9] ? u : (int*)s; p[t] = t; ALL\np[64 + t * (x[9] > 0)] = 2;": (2, "bytes at byte 256 of u"),
    "unsigned a = (unsigned)__cvta_generic_to_shared(u) + 4 * t; int r = 0; u[t] = t; ALL\n"
    "asm volatile(\"ld.shared.s32 %0, [%1 + 4];\" : \"=r\"(r) : \"r\"(a) : \"memory\"); x[t] = r;": (
        2, "byte 256 of u",
    ),
    "u[t] = t; v[t] = t; ALL atomicAdd(&u[x[t + 32] & 127], 1);": (
        1, "lanes 0-31 update 4 bytes at byte 256 of u",
    ),
    "u[t] = t; v[t] = t; ALL if (t == 0) { ASYNC(u + 60, 16) ASYNC_WAIT } ALL x[t] = u[t] + v[t];": (0, ""),
    "u[t] = t; v[t] = t; ALL if (t == 0) {\nASYNC(u + 64, 16) ASYNC_WAIT } ALL x[t] = u[t] + v[t];": (
        2, "lane 0 writes 16 bytes at byte 256 of u",
    ),
    "v[t] = t; ALL if (t == 0) { INIT(1) FENCE EXPECT\nBULK(u, 512) } ALL WAIT(0) ALL x[t] = u[t] + v[t];": (
        2, "lane 0 writes 16 bytes at byte 256 of u, which has 256 bytes, in v",
    ),
    # Nobody says which array a pointer from elsewhere is for, nor how long dynamic memory is.
    "u[t] = t; v[t] = t; ALL x[t] = get(u, t + 1) + get(v, 63 - t);": (0, ""),
    "u[t] = t; v[t] = t; ALL long d = (char*)v - (char*)u; x[t] = *(int*)((char*)u + d + 4 * t);": (0, ""),
    "dynamic[t] = t; ALL dynamic[t + 64] = dynamic[63 - t];": (0, ""),
}  # fmt: skip
_WARPGROUPS: dict[str, tuple[int, str]] = {
    "RESIZE(dec) x[t] = 1;": (0, ""),
    "if (t >= 32)\nRESIZE(dec)": (
        2, "warps? .*execute setmaxnreg.dec.sync.aligned.u32, but warp 0 of the same",
    ),
    # CUTLASS has one for each warp's role.
    "if (t < 32) RESIZE(dec) else RESIZE(dec)": (0, ""),
    "RESIZE(dec)\nif (t < 64) RESIZE(inc)": (
        2, "setmaxnreg.inc.sync.aligned.u32, but warps 2, 3 of the same",
    ),
}  # fmt: skip
_TRAPS: dict[str, tuple[int, str]] = {
    "int* p = nullptr; if (t == 0) {\nx[1] = 1;\n*p = 1; }": (3, "thread .0, 0, 0. .* comes to a trap in k"),
    "void (*f)(int*) = t % 2 ? (void (*)(int*))5 : twice;\nf(x);": (
        2, "a call of 0x5, which is not a function, by",
    ),
    # Of these nothing is left but the branch that leads there.
    "void (*f)(int*) = nullptr; if (x[t] > 3)\nf(x);": (1, "comes to an end of k.* without a return"),
    "if (t == 9)\n__builtin_unreachable();\nx[1] = 2;": (1, "no defined behaviour, such as a call through"),
    "if (t == 999)\n__builtin_unreachable();\nx[1] = 2;": (0, ""),
    # The line is that of the branch from which threads come.
    "x[1] = 1;\nif (x[3] > 2)\natomicAdd(&table[1], 3);\nx[2] = 1;": (
        2, "such as an access through a null pointer",
    ),
}  # fmt: skip


@cache
def _source() -> tuple[str, dict[str, tuple[str, int]]]:
    """All bodies as kernels of one source: for each its name, and the line before its first."""
    text, places = _HEAD, {}
    for number, body in enumerate((*_LIVES, *_ARRAYS, *_WARPGROUPS, *_TRAPS)):
        text += _BEGIN.format(number)
        places[body] = f"k{number}", text.count("\n")
        text += body + "\n}\n"
    return text, places


@cache
def _compiled() -> Kernel:
    return ptxlab.kernel(_source()[0], "k0")


def _found(body: str, threads: int, check: bool = True) -> list[Hazard]:
    """What is wrong with a kernel."""
    kernel = copy(_compiled())
    kernel.function, kernel._image = kernel.module.functions[_source()[1][body][0]], None
    try:
        values = np.arange(512, dtype=np.int32)
        return kernel.simulate(1, threads, values, shared=1024, check=check, show=False).hazards
    except HazardError as error:
        return error.hazards


def _check(body: str, threads: int, kind: str, line: int, sentence: str) -> None:
    """A kernel has one hazard of a kind, or none at all if the line is 0."""
    found = _found(body, threads)
    ours = [hazard for hazard in found if hazard.kind == kind or not line]
    assert [hazard.line - _source()[1][body][1] for hazard in ours] == ([line] if line else []), found
    assert all(re.search(sentence, hazard.sentence) for hazard in ours), found


@each("body", _LIVES)
def test_an_mbarrier_has_a_life(body: str) -> None:
    _check(body, 64, "mbarrier", *_LIVES[body])


def test_an_arrival_where_no_mbarrier_is_ends_every_simulation() -> None:
    (hazard,) = _found("ARRIVE", 64, check=False)
    assert (
        hazard.kind == "mbarrier" and "which was never initialised; execute mbarrier.init" in hazard.sentence
    )


@each("body", _ARRAYS)
def test_a_shared_array_does_not_run_into_the_next(body: str) -> None:
    _check(body, 64, "out of bounds", *_ARRAYS[body])


@each("body", _WARPGROUPS)
def test_setmaxnreg_is_for_all_warps_of_a_warpgroup(body: str) -> None:
    _check(body, 128, "lanes missing", *_WARPGROUPS[body])


@each("body", _TRAPS)
def test_code_without_a_meaning(body: str) -> None:
    _check(body, 128, "undefined behaviour", *_TRAPS[body])


_CONSTANT = """__constant__ int table[4];

extern "C" __global__ void fill(int* x)
{
    int* p = (int*)table;
    p[threadIdx.x] = x[0];
}
"""
_PASSED = """__constant__ int table[4];
__device__ __noinline__ void set(int* p) {
    p[threadIdx.x] = 1;
}
extern "C" __global__ void k(int* x) {
    set(x);
    set((int*)table);
}
"""
_OWN = """extern "C" __global__ void k(int* x) {
    if (x[0] == 0) __trap();
    if (x[0] == 1) asm volatile("membar.gl; trap;");
}
"""


def test_a_trap_without_a_line_has_that_of_its_function() -> None:
    """NVRTC replaces all of a kernel that writes to __constant__ memory, and states no line."""
    with pytest.raises(HazardError, match=r"ptxlab.cu:3: trap: .* in fill, which the compiler put") as error:
        ptxlab.kernel(_CONSTANT).simulate(1, 4, np.ones(4, np.int32))
    (hazard,) = error.value.hazards
    assert (hazard.kind, hazard.line, hazard.text) == (
        "undefined behaviour", 3, 'extern "C" __global__ void fill(int* x)',
    )  # fmt: skip


def test_a_write_to_constant_memory_that_the_compiler_does_not_see() -> None:
    with pytest.raises(HazardError, match="ptxlab.cu:3: .* the variable table, which is read-only") as error:
        ptxlab.kernel(_PASSED).simulate(1, 4, np.ones(4, np.int32))
    assert [hazard.kind for hazard in error.value.hazards] == ["undefined behaviour"]


@each("value, line", [(0, 2), (1, 3)])
def test_a_trap_of_the_program_is_its_own(value: int, line: int) -> None:
    with pytest.raises(PtxlabError, match=rf"ptxlab.cu:{line}: trap: thread .* stops the kernel") as error:
        ptxlab.kernel(_OWN).simulate(1, 4, np.full(4, value, np.int32))
    assert not isinstance(error.value, HazardError)


# -- blocks that wait for others, on an H200 with its 132 SMs ------------------------------------------------

_WAITING = """extern "C" __global__ void k(int* flags) {
    const int block = blockIdx.x, last = gridDim.x - 1;
    if (threadIdx.x == 0) {
        if (CONDITION) while (*(volatile int*)(flags + WHICH) == 0) {}
        __threadfence();
        *(volatile int*)(flags + block) = 1;
    }
    __syncthreads();
}
"""
_MEET = """extern "C" __global__ void k(int* count) {
    if (threadIdx.x == 0) {
        atomicAdd(count, 1);
        for (unsigned ns = 8; *(volatile int*)count < gridDim.x; ns = min(2 * ns, 256)) __nanosleep(ns);
    }
    __syncthreads();
}
"""
_PERSISTENT = """extern "C" __global__ void k(int* next) {
    __shared__ int tile;
    do {
        __syncthreads();
        if (threadIdx.x == 0) tile = atomicAdd(next, 1);
        __syncthreads();
    } while (tile < 400);
}
"""


_BEFORE = filled(_WAITING, CONDITION="block", WHICH="block - 1")
_FOR_LAST = filled(_WAITING, WHICH="last")


@each(
    "source, blocks, shared, waiting",
    [
        (_MEET, 132, 200, 0),
        (_MEET, 133, 200, 1),
        (_MEET, 400, 1, 0),
        (_BEFORE, 140, 200, 0),
        (filled(_FOR_LAST, CONDITION="block < last"), 140, 200, 8),
        # Others end, and the last begins.
        (filled(_FOR_LAST, CONDITION="block < 99"), 140, 200, 0),
        (_PERSISTENT, 140, 200, 0),
    ],
)
def test_blocks_that_wait_for_one_that_has_no_place(
    source: str, blocks: int, shared: int, waiting: int
) -> None:
    values = np.zeros(blocks, np.int32)
    kernel = ptxlab.kernel(source)
    if not waiting:
        assert kernel.simulate(blocks, 64, values, shared=shared << 10, show=False).hazards == []
        return
    sentence = (
        rf"an H200 runs 132 blocks .*bound by shared memory.* {waiting} of {blocks} blocks begin only when"
    )
    with pytest.raises(HazardError, match=sentence) as error:
        kernel.simulate(blocks, 64, values, shared=shared << 10, show=False)
    assert error.value.hazards[-1].kind == "deadlock"
    assert error.value.hazards[-1].remedy == "launch at most 132 blocks"


def test_registers_bound_the_blocks_that_run_at_a_time() -> None:
    """As many as the assembler says are counted, where blocks wait for each other."""
    many = ptxlab.kernel(replaced(_MEET, "__global__", "__global__ __launch_bounds__(1024)"))
    assert many.simulate(264, 1024, np.zeros(1, np.int32), show=False).hazards == []
    with pytest.raises(HazardError, match=r"runs 264 blocks .* \(2 on each of 132 SMs, bound by \w+\)"):
        many.simulate(265, 1024, np.zeros(1, np.int32), show=False)


# -- sizes and addresses of asynchronous copies --------------------------------------------------------------

_REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [d], [s], SIZE;"
_REDUCE_HALVES = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 [d], [s], SIZE;"
_STORE = "cp.async.bulk.global.shared::cta.bulk_group [d], [s], SIZE;"
_PARTIAL = "cp.async.cg.shared.global [s], [d], 16, SIZE;"
_PARTIAL_8 = "cp.async.ca.shared.global [s], [d], 8, SIZE;"
_WHOLE = "cp.async.ca.shared.global [s], [d], SIZE, 4;"


def _copying(copy: str, size: str, source: int = 0, target: int = 0) -> str:
    """A kernel whose first thread copies, in shared memory from byte `source` or to byte `target` on."""
    to, origin = ("s", "d") if "cp.async.c" in copy else ("d", "s")
    copy = filled(copy, SIZE=size).replace(f"[{origin}]", f"[{origin}+{source}]")
    return f"""\
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 x, .param .u32 size) {{
.reg .b32 s, t, n; .reg .b64 d; .reg .pred p;
.shared .align 128 .b32 words[32];
ld.param.u64 d, [x]; ld.param.u32 n, [size]; mov.u32 s, words; mov.u32 t, %tid.x;
shl.b32 t, t, 2; add.u32 t, t, s; st.shared.u32 [t], 1; fence.proxy.async; bar.sync 0;
setp.ne.u32 p, t, s; @p bra E;
{copy.replace(f"[{to}]", f"[{to}+{target}]")}
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; cp.async.wait_all;
E: ret; }}
"""


@each(
    "copy, size, source, target, kind, sentence",
    [
        (_REDUCE, 32, 0, 0, "", ""),
        (_REDUCE, 0, 4, 4, "", ""),
        (_REDUCE, 20, 0, 0, "undefined behaviour", "copies 20 bytes, which is not a multiple of 16"),
        (_REDUCE_HALVES, 6, 0, 0, "undefined behaviour", "copies 6 bytes, which is not a multiple of 16"),
        (_STORE, 20, 0, 0, "undefined behaviour", "copies 20 bytes, which is not a multiple of 16"),
        (_REDUCE, 32, 4, 0, "misaligned", r"reads 32 bytes at 0x\w+, which is not a multiple of 16"),
        (_REDUCE, 32, 0, 8, "misaligned", r"updates 32 bytes at 0x\w+, which is not a multiple of 16"),
        (_STORE, 32, 0, 8, "misaligned", r"writes 32 bytes at 0x\w+, which is not a multiple of 16"),
        (_PARTIAL, 8, 0, 0, "", ""),
        (_PARTIAL, 0, 4, 0, "", ""),  # it reads nothing, and any address is fine
        (_PARTIAL, 8, 4, 0, "misaligned", r"reads 8 bytes at 0x\w+, which is not a multiple of 16"),
        (_PARTIAL_8, 4, 2, 0, "misaligned", r"reads 4 bytes at 0x\w+, which is not a multiple of 8"),
        (_PARTIAL, 32, 0, 0, "undefined behaviour", "reads 32 bytes and copies 16: src-size is at most"),
        (_PARTIAL, -1, 0, 0, "undefined behaviour", "reads 4294967295 bytes and copies 16"),
    ],
)
def test_sizes_and_addresses_of_asynchronous_copies(
    copy: str, size: int, source: int, target: int, kind: str, sentence: str
) -> None:
    """PTX ISA, "cp.async", "cp.async.bulk", "cp.reduce.async.bulk", "Addresses as Operands"."""
    kernel, values = ptxlab.kernel(_copying(copy, "n", source, target)), np.arange(64, dtype=np.uint32)
    if not kind:
        assert kernel.simulate(1, 32, values, size, show=False).hazards == []
        return
    with pytest.raises(HazardError, match=sentence) as error:
        kernel.simulate(1, 32, values, size, show=False)
    hazard = error.value.hazard
    assert hazard is not None and hazard.kind == kind and hazard.lanes == (0,) and hazard.remedy


@each("compiler", COMPILERS)
@each("copy", (_REDUCE, _REDUCE_HALVES, _STORE, _WHOLE))
@pytest.mark.slow
def test_sizes_that_are_refused_are_those_that_the_assembler_refuses(compiler: Compiler, copy: str) -> None:
    """An assembler sees sizes that are in the code."""
    values, taken = np.arange(64, dtype=np.uint32), 0
    for size in (0, 2, 4, 6, 8, 16, 20, 32):
        text = _copying(copy, str(size))
        try:
            simulated = ptxlab.kernel(text).simulate(1, 32, values, 0, show=False).hazards == []
        except PtxlabError:
            simulated = False
        assert simulated == (compiler.assemble(text, "sm_90a") is None), (size, copy)
        taken += simulated
    assert 0 < taken < 8
