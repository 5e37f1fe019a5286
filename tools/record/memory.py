"""python -m tools.record memory: record how an H200 serves shared memory; no model is asked.

banks.npz: cycles of ld.shared, st.shared, ldmatrix and stmatrix over address patterns; updates.npz: those of
atomic operations and cp.async. boxes.json: digests of the bytes that TMA writes. What wgmma reads through
descriptors is checked by `tests/gpu/test_memory.py`, since it must equal the product exactly.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptxlab import gpu
from ptxlab._util.files import write_atomically
from ptxlab.gpu.compiler import compiler_version
from ptxlab.gpu.driver_tensor_maps import run_tensor_map
from ptxlab.memory import TensorMap, tensor_map

FOLDER = Path(__file__).parents[2] / "tests" / "golden"
SEED = 16
EXTRA = 256  # bytes that are recorded after a box
_LANES = 32
_REACH = 16 << 10  # bytes over which the patterns spread
_WARPS, _LOOPS, _UNROLLED = 16, 64, 16

_KERNEL = """\
extern "C" __global__ void __launch_bounds__({threads}) probe(
    const unsigned int* addresses, const unsigned int* masks, unsigned int* cycles, unsigned int* sink,
    int count)
{{
    __shared__ __align__(1024) unsigned char memory[{shared}];
    const unsigned int base = (unsigned int)__cvta_generic_to_shared(memory);
    const int lane = threadIdx.x % 32;
    for (int j = threadIdx.x; j < {shared}; j += {threads}) memory[j] = j;
    unsigned int sum = 0;
    for (int i = blockIdx.x; i < count; i += gridDim.x) {{
        const unsigned int first = base + addresses[i * 32 + lane];
        const bool active = masks[i] >> lane & 1;
        for (int round = 0; round < 2; ++round) {{
            __syncthreads();
            const long long start = clock64();
            if (active) {{
                #pragma unroll 1
                for (int loop = 0; loop < {loops}; ++loop) {{
                    const unsigned int at = first + loop % 8 * 128;  // else loads leave the loop
{accesses}
                }}
            }}
            __syncthreads();
            const long long end = clock64();
            if (round == 1 && threadIdx.x == 0) cycles[i] = (unsigned int)(end - start);
        }}
    }}
    sink[blockIdx.x * {threads} + threadIdx.x] = sum;
}}
"""


@dataclass(frozen=True)
class Access:
    """One kind of access: its name, and the bytes of a lane, or of a row."""

    name: str
    width: int
    rows: int = 0  # addresses that ldmatrix and stmatrix read

    @property
    def needs_newer_compiler(self) -> bool:
        """Whether it is `.s8.s4`, which NVRTC has since CUDA 13.4."""
        return self.rows > 0 and self.width == 8 and compiler_version() < (13, 4)

    def statement(self, offset: int) -> str:
        """The asm statement of one access, at an offset from the lane's address."""
        count = self.rows // 8 if self.rows else max(self.width // 4, 1)
        family, _, *rest = self.name.split(".")
        kind = f"{family}.sync.aligned.m8n8.x{count}{'.trans' if rest else ''}.shared.b16"
        if self.width == 8 and self.rows:
            kind = f"{family}.sync.aligned.m8n16.x{count}.shared.s8.s4"
        if not self.rows:
            vector = f".v{count}" if count > 1 else ""
            kind = f"{family}.shared{vector}.u{min(8 * self.width, 32)}"
        registers = ", ".join(f"%{number}" for number in range(count))
        if count > 1 or self.rows:
            registers = "{" + registers + "}"
        place = f"[%{count} + {offset}]"
        if family.startswith("st"):
            values = ", ".join('"r"(lane)' for _ in range(count))
            return f'asm volatile("{kind} {place}, {registers};" :: {values}, "r"(at) : "memory");'
        names = [f"r{number}" for number in range(count)]
        outputs = ", ".join(f'"=r"({name})' for name in names)
        load = f'asm volatile("{kind} {registers}, {place};" : {outputs} : "r"(at));'
        return "{ unsigned int " + f"{', '.join(names)}; {load} sum ^= {' ^ '.join(names)}; " + "}"


ACCESSES = (
    *(Access(f"{kind}.{8 * width}", width) for kind in ("ld", "st") for width in (1, 2, 4, 8, 16)),
    *(Access(f"{kind}.x{count}", 16, 8 * count) for kind in ("ldmatrix", "stmatrix") for count in (1, 2, 4)),
    *(
        Access(f"{kind}.x{count}.trans", 16, 8 * count)
        for kind in ("ldmatrix", "stmatrix")
        for count in (1, 2, 4)
    ),
    *(Access(f"ldmatrix.x{count}.s8.s4", 8, 8 * count) for count in (1, 2, 4)),
)


@dataclass(frozen=True)
class Updating(Access):
    """An atomic operation, or a copy of cp.async from neighbouring 16 bytes of global memory."""

    def statement(self, offset: int) -> str:
        """The asm statement of one access, at an offset from the lane's address."""
        kind, _, operation = self.name.partition(".")
        if kind == "cp":
            text = f"cp.{operation} [%0 + {offset}], [%1], {self.width};"
            return f'asm volatile("{text}" :: "r"(at), "l"((const char*)addresses + lane * 16) : "memory");'
        word, letter = ("unsigned long long", "l") if self.width == 8 else ("unsigned int", "r")
        values = ", %3" if operation.startswith("cas") else ""
        text = f"atom.shared.{operation} %0, [%1 + {offset}], %2{values};"
        inputs = f'"r"(at), "{letter}"(({word})lane), "{letter}"(({word})7)'
        return (
            f'{{ {word} r; asm volatile("{text}" : "={letter}"(r) : {inputs} : "memory"); '
            "sum ^= (unsigned int)r; }"
        )


UPDATES = (
    Updating("atom.add.u32", 4),
    Updating("atom.max.s32", 4),
    Updating("atom.exch.b32", 4),
    Updating("atom.cas.b32", 4),
    Updating("atom.cas.b64", 8),
    Updating("atom.exch.b64", 8),
    Updating("cp.async.ca.shared.global", 16),
)


def source(access: Access) -> str:
    """A kernel that times an access in a saturated memory pipe: 16 warps, offsets of whole lines."""
    lines = [access.statement(128 * number) for number in range(_UNROLLED)]
    if access.name.startswith("cp."):
        lines.append('asm volatile("cp.async.wait_all;" ::: "memory");')
    return _KERNEL.format(
        threads=32 * _WARPS,
        shared=_REACH + 128 * (_UNROLLED + 8),
        loops=_LOOPS,
        accesses="\n".join(f"                    {line}" for line in lines),
    )


def patterns(access: Access, count: int = 320) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Addresses [count, 32], and as bits the lanes that take part [count]."""
    rng = np.random.default_rng([SEED, *access.name.encode()])
    rows, masks = [], []
    everybody = (1 << _LANES) - 1
    for addresses, mask in _shapes(access, rng):
        rows.append(addresses * access.width % _REACH)
        masks.append(everybody if access.rows else mask)
        if len(rows) == count:
            break
    return np.array(rows, dtype=np.uint16), np.array(masks, dtype=np.uint32)


def _shapes(access: Access, rng: np.random.Generator) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Addresses in units of the access's width, without end."""
    lane = np.arange(_LANES)
    everybody = (1 << _LANES) - 1
    for stride in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 20, 24, 31, 32, 33, 64):
        yield lane * stride, everybody
    for pitch in (2, 4, 5, 8, 9, 16, 20):
        yield lane % 8 * pitch + lane // 8, everybody
        yield lane // 4 * pitch + lane % 4, everybody
        yield (lane % 8 * pitch) + ((lane // 8) ^ (lane % 8)), everybody
    while True:
        pool = int(rng.choice([1, 2, 3, 4, 6, 8, 16, 32, 64, 256, 1024]))
        slots = rng.integers(0, _REACH // access.width, pool)
        near = rng.integers(0, 64 * int(rng.integers(1, 9)), _LANES)
        mask = everybody
        if rng.random() < 0.25:
            mask = int(rng.integers(1, 1 << _LANES))
        if rng.random() < 0.05:
            mask = int(rng.choice([0x55555555, 0x33333333, 0xFFFF, 0xFF00FF, 0x1, 0xFFFF0000, 0x0F0F0F0F]))
        base = slots[rng.integers(0, pool, _LANES)] if rng.random() < 0.5 else near
        yield base, mask
        for step in (1, 2, 3, 4, 8, 16):  # lanes that share an address with their neighbour
            shared = base[lane & ~step]
            yield shared, mask
            if rng.random() < 0.5:
                broken = shared.copy()
                broken[rng.integers(0, _LANES)] = base[rng.integers(0, _LANES)]
                yield broken, mask
        first, second = rng.choice([0, 1, 2, 3, 4], 2)
        halves = np.where(lane < 16, base[lane & ~first], base[lane & ~second])
        yield halves, mask
        quarters = np.where(lane // 8 % 2, base[lane & ~first], base[lane & ~second])
        yield quarters, mask
        eights = base[(lane & ~np.where(rng.random(_LANES) < 0.5, first, second)[lane // 8 * 8])]
        yield eights, mask
        yield lane * int(rng.integers(0, 70)) + int(rng.integers(0, 64)), mask


def cycles(access: Access, addresses: NDArray[np.uint16], masks: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Cycles of one access, saturated."""
    count = len(addresses)
    out = np.zeros(count, dtype=np.uint32)
    blocks = min(count, 132)
    sink = np.zeros(blocks * 32 * _WARPS, dtype=np.uint32)
    arguments = [addresses.astype(np.uint32), masks, gpu.Out(out), gpu.Out(sink), np.int32(count)]
    gpu.launch(source(access), "probe", arguments, grid=blocks, block=32 * _WARPS)
    return np.asarray(out / (_WARPS * _LOOPS * _UNROLLED))


# -- boxes of TMA --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """One copy of TMA: the array, the box, the swizzle, where it starts and where it goes."""

    dtype: str
    shape: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    start: tuple[int, ...]
    address: int = 0
    element_strides: tuple[int, ...] | None = None
    data_type: str | None = field(default=None, repr=False)
    interleave: int = field(default=0, repr=False)

    def __str__(self) -> str:
        words = [repr(self)]
        if self.data_type:
            words.append(self.data_type)
        if self.interleave:
            words.append(f"interleave {self.interleave}")
        return " ".join(words)

    def tensor_map(self) -> TensorMap:
        """What a copy of it is told."""
        return tensor_map(
            self.array(),
            self.box,
            self.swizzle,
            element_strides=self.element_strides,
            data_type=self.data_type,
            interleave=self.interleave,
        )

    def array(self) -> NDArray[Any]:
        """Content in which every 16 bytes of an array differ from all others."""
        kind = np.dtype(self.dtype) if self.dtype != "bfloat16" else _bfloat16()
        rng = np.random.default_rng(SEED)
        size = int(np.prod(self.shape)) * kind.itemsize
        return rng.integers(0, 256, size, dtype=np.uint8).view(kind).reshape(self.shape)


def _bfloat16() -> np.dtype[Any]:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def boxes() -> Iterator[Box]:
    """Every swizzle with several boxes, element sizes, ranks, addresses, and edges of the array."""
    for swizzle in (0, 32, 64, 128):
        for dtype, size in (("uint8", 1), ("float16", 2), ("float32", 4), ("float64", 8)):
            for inner in (16, 32, 64, 128, 256):
                if swizzle and inner > swizzle:
                    continue
                if inner // size > 256:
                    continue
                box = (24, inner // size)
                yield Box(dtype, (40, 512 // size), box, swizzle, (3, 32 // size))
                if swizzle:
                    yield Box(dtype, (40, 512 // size), box, swizzle, (0, 0), 128 * (1 + inner // 32))
        inner = (swizzle or 64) // 2
        yield Box("bfloat16", (20, 128), (16, inner), swizzle, (10, 96))  # beyond the edge
        yield Box("float16", (20, 128), (16, inner), swizzle, (-5, -8))
        yield Box("uint16", (5, 12, 64), (3, 5, inner), swizzle, (1, 4, 16))
        yield Box("int32", (3, 4, 6, 32), (2, 3, 2, inner // 2), swizzle, (1, 2, 3, 4))
        yield Box("uint8", (2, 3, 4, 5, 128), (2, 2, 3, 2, 2 * inner), swizzle, (0, 1, 0, 2, 0))
        yield Box("float32", (256,), (inner // 2,), swizzle, (8,))
        yield Box("float16", (40, 128), (32, inner), swizzle, (1, 0), 0, (2, 1))
        yield Box("float16", (40, 128), (31, inner), swizzle, (2, 0), 0, (3, 1))
    for data_type in ("FLOAT32_FTZ", "TFLOAT32", "TFLOAT32_FTZ"):  # 2,048 values of any bits
        yield Box("float32", (70, 64), (64, 32), 128, (10, 0), data_type=data_type)
    for interleave, swizzle in ((16, 0), (16, 32), (16, 64), (16, 128), (32, 32)):  # N, slices, ..., W, slice
        halves, floats = interleave // 2, interleave // 4
        yield Box("float16", (3, 4, 6, 16, halves), (2, 1, 3, 8, halves), swizzle, (1, 2, 1, 3, 0),
                  interleave=interleave)  # fmt: skip
        yield Box("uint8", (2, 3, 5, 4, 32, interleave), (1, 1, 2, 3, 16, interleave), swizzle,
                  (0, 1, 4, -1, 8, 0), 384, (1, 1, 1, 2, 2, 1), interleave=interleave)  # fmt: skip
        yield Box("float32", (3, 4, 20, floats), (2, 1, 8, floats), swizzle, (2, 3, 15, 0),
                  interleave=interleave)  # fmt: skip
        doubles = interleave // 8
        yield Box("float64", (2, 2, 13, 4, doubles), (1, 1, 13, 2, doubles), swizzle, (1, 0, 0, 0, 0),
                  interleave=interleave)  # fmt: skip


def bytes_of(box: Box) -> NDArray[np.uint8]:
    """What TMA writes from the box's address on, and EXTRA bytes after it."""
    return run_tensor_map(box.tensor_map(), [box.start], address=box.address, extra=EXTRA)[0]


def digest(content: NDArray[np.uint8]) -> str:
    """Enough of SHA-256 to tell two contents apart."""
    return hashlib.sha256(content.tobytes()).hexdigest()[:16]


def record(path: Path, accesses: Sequence[Access]) -> None:
    """Cycles of these accesses, in 64ths."""
    arrays: dict[str, NDArray[Any]] = {}
    for access in accesses:
        if access.needs_newer_compiler:
            arrays[access.name] = np.load(FOLDER / path.name)[access.name]
            print(f"{access.name}: as it was, this NVRTC is too old for it")
            continue
        addresses, masks = patterns(access)
        times = cycles(access, addresses, masks)
        arrays[access.name] = np.round(times * 64).astype(np.uint16)
        print(
            f"{access.name}: {len(times)} patterns, {times.min():.2f} to {times.max():.2f} cycles", flush=True
        )
    archive = io.BytesIO()
    np.savez_compressed(archive, **arrays)
    write_atomically(path, archive.getvalue())


def main(folder: Path = FOLDER) -> None:
    print(gpu.status(), file=sys.stderr)
    if gpu.device_target() != "sm_90a":
        sys.exit("these are recorded on sm_90a")
    record(folder / "banks.npz", ACCESSES)
    record(folder / "updates.npz", UPDATES)
    digests = {str(box): digest(bytes_of(box)) for box in boxes()}
    write_atomically(folder / "boxes.json", json.dumps(digests, indent=0) + "\n")
