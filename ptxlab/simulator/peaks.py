"""Published peaks of chips, and the least time that a kernel takes with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import PtxlabError, listing, quoted


@dataclass(frozen=True)
class Chip:
    """A chip as its maker describes it: dense peaks at the boost clock.

    `tensor` are tera-operations per second (a multiply-add is two) by type of A, or by type and accumulator
    where that matters ("f16>f32"); `fma` those of the scalar units; `dram` and `l2` are bytes per second,
    `l2` None where nothing is published. Shared memory gives 128 bytes per clock and SM on all of them.
    """

    name: str
    sms: int
    clock: float  # Hz
    tensor: dict[str, float]
    fma: dict[str, float]
    dram: float
    source: str
    l2: float | None = None


_HOPPER_TENSOR = {
    "f16": 989.4, "bf16": 989.4, "tf32": 494.7, "e4m3": 1978.9, "e5m2": 1978.9, "s8": 1978.9, "u8": 1978.9,
    "f64": 66.9,
}  # fmt: skip
_HOPPER_FMA = {"f32": 66.9, "f16": 133.8, "bf16": 133.8, "f64": 33.5}
_ADA_8 = {"e4m3>f32": 330.3, "e5m2>f32": 330.3, "e4m3>f16": 660.6, "e5m2>f16": 660.6}

#: Peaks by name of the chip. The clock is the highest that peaks are stated at: the f16 peak of the H100
#: belongs to 1.83 GHz, its f32 peak to 1.98 GHz.
PEAKS = {
    chip.name: chip
    for chip in (
        Chip(
            "H200", 132, 1.98e9, _HOPPER_TENSOR, _HOPPER_FMA, 4.8e12,
            "NVIDIA H200 Tensor Core GPU datasheet (memory: 4.8 TB/s); NVIDIA H100 Tensor Core GPU "
            "Architecture (SXM5, the same chip)",
        ),
        Chip(
            "H100", 132, 1.98e9, _HOPPER_TENSOR, _HOPPER_FMA, 3.352e12,
            "NVIDIA H100 Tensor Core GPU Architecture, H100 SXM5",
        ),
        Chip(
            "A100", 108, 1.41e9,
            {"f16": 312, "bf16": 312, "tf32": 156, "s8": 624, "u8": 624, "s4": 1248, "u4": 1248, "f64": 19.5},
            {"f32": 19.5, "f16": 78, "bf16": 39, "f64": 9.7}, 2.039e12,
            "NVIDIA A100 Tensor Core GPU Architecture; NVIDIA A100 datasheet nvidia-1758950-r4 (80 GB SXM: "
            "2,039 GB/s)", l2=5120 * 1.41e9,
        ),
        Chip(
            "RTX 4090", 128, 2.52e9,
            {"f16>f16": 330.3, "f16>f32": 165.2, "bf16": 165.2, "tf32": 82.6, **_ADA_8, "s8": 660.6,
             "u8": 660.6, "s4": 1321.2, "u4": 1321.2},
            {"f32": 82.6, "f16": 82.6, "bf16": 82.6, "f64": 1.29}, 1.008e12,
            "NVIDIA Ada GPU Architecture, Appendix A",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Work:
    """What a launch does that takes time on any chip.

    `tensor` are multiply-adds by type of A and accumulator, without those by the zeros of sparse matrices;
    `fma` are scalar ones by type; `wavefronts` are those of shared memory; `l2` and `dram` are the fewest
    bytes that go there: each byte of DRAM once, and through L2 what L1 cannot hold.
    """

    blocks: int = 1
    tensor: dict[tuple[str, str], int] = field(default_factory=dict)
    fma: dict[str, int] = field(default_factory=dict)
    wavefronts: int = 0
    l2: int = 0
    dram: int = 0


class Bound(NamedTuple):
    """One resource of a chip: how much of it the kernel uses, and how long that takes at least."""

    resource: str  # "tensor cores", "fma", "shared memory", "L2", "DRAM"
    seconds: float
    amount: int
    unit: str  # "multiply-adds", "wavefronts", "bytes"
    rate: float  # of that unit per second


def find_chip(name: object) -> Chip:
    """A chip by its name; case and spaces do not matter.

    >>> find_chip("rtx4090").sms
    128
    """
    if isinstance(name, str):
        wanted = name.lower().replace(" ", "")
        for chip in PEAKS.values():
            if chip.name.lower().replace(" ", "") == wanted:
                return chip
    raise PtxlabError(f"chip={quoted(name)}: there are figures of {listing(PEAKS)}")


def bounds(work: Work, chip: Chip) -> tuple[Bound, ...]:
    """The least time on each resource, longest first; types that the chip has no figure for are left out.

    >>> work = Work(blocks=1024, tensor={("f16", "f32"): 2**33}, dram=2**25)
    >>> [(bound.resource, round(bound.seconds * 1e6, 1)) for bound in bounds(work, find_chip("H100"))]
    [('tensor cores', 17.4), ('DRAM', 10.0)]
    """
    share = min(work.blocks, chip.sms) / chip.sms  # a block runs on one SM
    tensor = [
        (chip.tensor.get(f"{operand}>{accumulator}", chip.tensor.get(operand)), count)
        for (operand, accumulator), count in work.tensor.items()
    ]
    fma = [(chip.fma.get(operand), count) for operand, count in work.fma.items()]
    bounds = []
    for unit, products in (("tensor cores", tensor), ("fma", fma)):
        known = [(peak, count) for peak, count in products if peak is not None]
        seconds = sum(count / (peak * 5e11 * share) for peak, count in known)
        total = sum(count for _, count in known)
        bounds.append(Bound(unit, seconds, total, "multiply-adds", total / seconds if seconds else 0.0))
    rate = chip.clock * chip.sms * share
    bounds.append(Bound("shared memory", work.wavefronts / rate, work.wavefronts, "wavefronts", rate))
    if chip.l2 is not None:
        bounds.append(Bound("L2", work.l2 / chip.l2, work.l2, "bytes", chip.l2))
    bounds.append(Bound("DRAM", work.dram / chip.dram, work.dram, "bytes", chip.dram))
    return tuple(sorted((bound for bound in bounds if bound.amount), key=lambda bound: -bound.seconds))
