"""python -m benchmarks.measure: `ptxlab.measure` beside probes written by hand, in one run on a GPU.

A probe is PTX that shares nothing with ptxlab's kernels: operands are random bits made by the kernel itself,
tiles are not swizzled, and warpgroups never wait for their last wgmma. The ratio says how much of what the
probe reaches `ptxlab.measure` finds; each is the better of three runs that alternate.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import ptxlab
from ptxlab.gpu.cuda_python import load
from ptxlab.gpu.device import check_device
from ptxlab.gpu.measure import build, measure_built, timer, warm_up
from ptxlab.gpu.sensors import driver_version

from .__main__ import keep

GOAL = 0.98  # of what the probe reaches
_SECONDS = 0.03
_ROUNDS = 3
_UNROLLED = 32
_TILE_BYTES = 64 << 10
_MASK = {"f16": 0xBFFFBFFF, "e4m3": 0xBFBFBFBF, "s8": 0xFFFFFFFF}  # no infinities and NaNs

#: Instruction, and threads of a block.
PROBES: dict[str, tuple[str, int]] = {
    "mma f16": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 512),
    "wgmma f16": ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", 256),
    "wgmma e4m3": ("wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3", 256),
    "wgmma s8": ("wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8", 256),
    "wgmma.sp f16": ("wgmma.mma_async.sp.sync.aligned.m64n128k32.f32.f16.f16", 256),
    "wgmma.sp e4m3": ("wgmma.mma_async.sp.sync.aligned.m64n128k64.f32.e4m3.e4m3", 256),
    "wgmma.sp s8": ("wgmma.mma_async.sp.sync.aligned.m64n128k64.s32.s8.s8", 256),
    "wgmma.sp f16 n256": ("wgmma.mma_async.sp.sync.aligned.m64n256k32.f32.f16.f16", 256),
    "wgmma.sp e4m3 n256": ("wgmma.mma_async.sp.sync.aligned.m64n256k64.f32.e4m3.e4m3", 256),
    "wgmma.sp s8 n256": ("wgmma.mma_async.sp.sync.aligned.m64n256k64.s32.s8.s8", 256),
}

_FRAME = """\
.version 8.5
.target sm_90a
.address_size 64
{shared}
.visible .entry probe(.param .u64 out, .param .u32 turns)
{{
    .reg .pred %more, %scale;
    .reg .b32 %turn, %turns, %lane, %x, %at, %e, %r<{registers}>;
    .reg .b64 %out;
    ld.param.u64 %out, [out];
    ld.param.u32 %turns, [turns];
    mov.u32 %lane, %tid.x;
    mul.lo.u32 %x, %lane, 2654435761;
    mov.u32 %e, {metadata};
    setp.eq.u32 %scale, %lane, %lane;
{before}
    mov.u32 %turn, 0;
loop:
{body}
    add.u32 %turn, %turn, 1;
    setp.lt.u32 %more, %turn, %turns;
    @%more bra loop;
{after}
    ret;
}}
"""

_FILL = """\
    shl.b32 %at, %lane, 2;
    mov.u32 %turn, tile;
    add.u32 %at, %at, %turn;
    add.u32 %turn, %turn, {size};
fill:
    mad.lo.u32 %x, %x, 1664525, 1013904223;
    shr.u32 %r0, %x, 13;
    xor.b32 %r0, %r0, %x;
    and.b32 %r0, %r0, {mask};
    st.shared.u32 [%at], %r0;
    add.u32 %at, %at, {step};
    setp.lt.u32 %more, %at, %turn;
    @%more bra fill;
    fence.proxy.async.shared::cta;
    bar.sync 0;"""


def _random(register: int, mask: int) -> list[str]:
    return [
        "    mad.lo.u32 %x, %x, 1664525, 1013904223;",
        f"    shr.u32 %r{register}, %x, 13;",
        f"    xor.b32 %r{register}, %r{register}, %x;",
        f"    and.b32 %r{register}, %r{register}, {mask};",
    ]


def _list(first: int, count: int) -> str:
    return "{" + ", ".join(f"%r{first + i}" for i in range(count)) + "}"


def mma_probe(mnemonic: str) -> tuple[str, int]:
    """PTX of mma f16 with eight accumulators, and how many instructions a turn has."""
    before, body, after = [], [], []
    for register in range(6):
        before += _random(register, _MASK["f16"])
    for chain in range(8):
        # Different from chain to chain, or the compiler would do all of them once.
        before += [f"    add.u32 %r{6 + 4 * chain + i}, %lane, {1000 * chain + i};" for i in range(4)]
        after += [f"    st.volatile.global.u32 [%out], %r{6 + 4 * chain + i};" for i in range(4)]
    for step in range(_UNROLLED):
        d = _list(6 + 4 * (step % 8), 4)
        body.append(f"    {mnemonic} {d}, {_list(0, 4)}, {_list(4, 2)}, {d};")
    text = _FRAME.format(
        shared="",
        registers=6 + 32,
        metadata=0,
        before="\n".join(before),
        body="\n".join(body),
        after="\n".join(after),
    )
    return text, _UNROLLED


def wgmma_probe(mnemonic: str, n: int, sparse: bool, threads: int) -> tuple[str, int]:
    """PTX of wgmma with A and B in shared memory, and how many instructions a turn has."""
    kind = mnemonic.rsplit(".", 1)[-1]
    count = n // 2
    row = 64 if sparse else 32  # bytes of B along K
    a_desc = 128 >> 4 << 16 | (256 >> 4) << 32
    b_desc = 128 >> 4 << 16 | (8 * row >> 4) << 32
    size = 4 * 2048 + n * row
    before = [_FILL.format(size=size, mask=_MASK[kind], step=4 * threads)]
    before += ["    .reg .b64 %base, %a<4>, %b;", "    mov.u32 %at, tile;", "    shr.u32 %at, %at, 4;"]
    before += ["    cvt.u64.u32 %base, %at;", f"    add.u64 %b, %base, {b_desc + (4 * 2048 >> 4)};"]
    before += [f"    add.u64 %a{i}, %base, {a_desc + (i * 2048 >> 4)};" for i in range(4)]
    before += [f"    mov.u32 %r{i}, 0;" for i in range(count)]
    metadata = "%e, 0, " if sparse else ""
    immediates = {"f16": ", 1, 1, 0, 0", "e4m3": ", 1, 1", "s8": ""}[kind]
    body = ["    wgmma.fence.sync.aligned;"]
    for step in range(_UNROLLED):
        operands = f"{_list(0, count)}, %a{step % 4}, %b, {metadata}%scale{immediates}"
        body.append(f"    {mnemonic} {operands};")
    body += ["    wgmma.commit_group.sync.aligned;", "    wgmma.wait_group.sync.aligned 1;"]
    after = ["    wgmma.wait_group.sync.aligned 0;"]
    after += [f"    st.volatile.global.u32 [%out], %r{i};" for i in range(count)]
    text = _FRAME.format(
        shared=f".shared .align 1024 .b8 tile[{size}];",
        registers=count,
        metadata=0x44444444 if kind != "s8" else 0xEEEE4444,
        before="\n".join(before),
        body="\n".join(body),
        after="\n".join(after),
    )
    return text, _UNROLLED


def probe(name: str) -> tuple[str, int]:
    """The PTX of a probe, and how many instructions a turn of its loop has."""
    mnemonic, threads = PROBES[name]
    ins = ptxlab.instruction(mnemonic)
    if ins.lanes == 32:
        return mma_probe(mnemonic)
    return wgmma_probe(mnemonic, ins.n, ins.sparse, threads)


def _check(result: tuple[Any, ...]) -> Any:
    if int(result[0]) != 0:
        raise ptxlab.PtxlabError(f"the probe failed: {result[0].name}")
    return result[1] if len(result) > 1 else None


class Probe:
    """A probe on the GPU."""

    def __init__(self, name: str) -> None:
        self.driver = load("cuda.bindings.driver")
        text, self.statements = probe(name)
        self.threads = PROBES[name][1]
        self.lanes = ptxlab.instruction(PROBES[name][0]).lanes
        module = _check(self.driver.cuModuleLoadData(text.encode() + b"\0"))
        self.function = _check(self.driver.cuModuleGetFunction(module, b"probe"))

    def seconds(self, turns: int) -> float:
        driver, here = self.driver, timer()
        values = [np.array([int(here.input)], np.uint64), np.array([turns], np.uint32)]
        pointers = np.array([value.ctypes.data for value in values], np.uint64)
        _check(driver.cuEventRecord(here.events[0], here.handle))
        shape = (here.multiprocessors, 1, 1, self.threads, 1, 1, 0)
        _check(driver.cuLaunchKernel(self.function, *shape, here.handle, pointers.ctypes.data, 0))
        _check(driver.cuEventRecord(here.events[1], here.handle))
        _check(driver.cuEventSynchronize(here.events[1]))
        return float(_check(driver.cuEventElapsedTime(*here.events))) / 1000

    def per_second(self) -> float:
        """Instructions a second on the whole GPU."""
        turns = 100
        self.seconds(turns)
        turns = int(turns * _SECONDS / self.seconds(turns))
        total = timer().multiprocessors * (self.threads // self.lanes) * self.statements * turns
        return total / self.seconds(turns)


def measure() -> dict[str, Any]:
    """Operations a second of both, and their ratio, by probe; and the GPU."""
    gpu = check_device(ptxlab.instruction(PROBES["wgmma f16"][0]))
    results: dict[str, Any] = {"gpu": f"{gpu.name}, driver {driver_version()}"}
    warm_up(0.5)
    for name, (mnemonic, _) in PROBES.items():
        ins = ptxlab.instruction(mnemonic)
        form = ins.a_from("shared") if ins.lanes == 128 else ins
        kernels = [build(form, gpu.target, chains) for chains in ((8, 16) if ins.lanes == 128 else (4, 8))]
        by_hand = Probe(name)
        rates = []
        for _ in range(_ROUNDS):
            ours = measure_built(kernels, gpu, seconds=_SECONDS, quick=_SECONDS / 10).best
            rates.append((by_hand.per_second(), ours.per_second))
        work = 2 * ins.m * ins.n * ins.k
        probed, found = (max(column) * work for column in zip(*rates, strict=True))
        figures = {"probe": probed / 1e12, "measure": found / 1e12, "ratio": found / probed}
        results[name] = {key: round(value, 4) for key, value in figures.items()}
        outcome = "met" if found / probed >= GOAL else "missed"
        print(
            f"  {name:22} {ours.clock:.0f} MHz  {found / 1e12:7.1f} T/s, probe {probed / 1e12:9.1f}: "
            f"{found / probed:5.0%}   goal {GOAL:.0%} {outcome}",
            flush=True,
        )
    return results


if __name__ == "__main__":
    measured = measure()
    if "--record" in sys.argv:
        keep({"measure": measured})
