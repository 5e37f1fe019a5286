"""Every chip, declared once: its targets, its limits, its cards and what these do at most.

A chip is a row of `ALL_CHIPS`; sets of targets, peaks and limits of shared memory are computed from it.
What is more than a figure stands beside the code that reads it, one row for a chip: the rules of its
arithmetic in `ptxlab.numerics.models`, its measured times in `ptxlab.simulator.timing.chip_timings`, the
machine code that it runs in `tools/data/sass.txt` (`make chips`). Sets of targets that no rule gives, as
`SM_120A_WITHOUT_F`, are written down in `targets.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Card:
    """A card by NVIDIA's name, without "NVIDIA" and "GeForce"; with a source, also what it does at most.

    Peaks are dense and at the boost clock. `tensor` are tera-operations per second (a multiply-add is two) by
    type of A, or by type and accumulator where that matters ("f16>f32"); `fma` those of the scalar units;
    `dram` and `l2` are bytes per second, `l2` None where nothing is published; `l2_bytes` is the size of L2.
    The clock is the highest that peaks are stated at: the f16 peak of the H100 belongs to 1.83 GHz, its f32
    peak to 1.98 GHz. Shared memory gives 128 bytes per clock and SM on all of them.
    """

    name: str
    sms: int = 0
    clock: float = 0.0  # Hz
    tensor: dict[str, float] = field(default_factory=dict)
    fma: dict[str, float] = field(default_factory=dict)
    dram: float = 0.0
    l2: float | None = None
    l2_bytes: int = 0
    source: str = ""


@dataclass(frozen=True)
class Chip:
    """A chip: its generation in NVIDIA's words, and its targets with the PTX ISA that introduced each.

    `versions` has them by suffix: "" for the plain target, "a" for this chip only, "f" for its family.
    `shared` is the shared memory that a block may have, in KiB. `code_of` is the chip whose machine code
    the compiler emits for this one.
    """

    generation: str
    versions: dict[str, tuple[int, int]]
    cards: tuple[Card, ...] = ()
    code_of: str | None = None
    shared: int = 227
    has_tcgen05: bool = False
    has_model: bool = True  # whether anything is known of its arithmetic


def _named(*names: str) -> tuple[Card, ...]:
    return tuple(Card(name) for name in names)


_HOPPER_TENSOR = {
    "f16": 989.4, "bf16": 989.4, "tf32": 494.7, "e4m3": 1978.9, "e5m2": 1978.9, "s8": 1978.9, "u8": 1978.9,
    "f64": 66.9,
}  # fmt: skip
_HOPPER_FMA = {"f32": 66.9, "f16": 133.8, "bf16": 133.8, "f64": 33.5}

_A100 = Card(
    "A100", 108, 1.41e9,
    {"f16": 312, "bf16": 312, "tf32": 156, "s8": 624, "u8": 624, "s4": 1248, "u4": 1248, "f64": 19.5},
    {"f32": 19.5, "f16": 78, "bf16": 39, "f64": 9.7}, 2.039e12, 5120 * 1.41e9, 40 << 20,
    "NVIDIA A100 Tensor Core GPU Architecture; NVIDIA A100 datasheet nvidia-1758950-r4 (80 GB SXM: "
    "2,039 GB/s)",
)  # fmt: skip
_RTX_4090 = Card(
    "RTX 4090", 128, 2.52e9,
    {"f16>f16": 330.3, "f16>f32": 165.2, "bf16": 165.2, "tf32": 82.6,
     "e4m3>f32": 330.3, "e5m2>f32": 330.3, "e4m3>f16": 660.6, "e5m2>f16": 660.6,
     "s8": 660.6, "u8": 660.6, "s4": 1321.2, "u4": 1321.2},
    {"f32": 82.6, "f16": 82.6, "bf16": 82.6, "f64": 1.29}, 1.008e12, l2_bytes=72 << 20,
    source="NVIDIA Ada GPU Architecture, Appendix A",
)  # fmt: skip
_H100 = Card(
    "H100", 132, 1.98e9, _HOPPER_TENSOR, _HOPPER_FMA, 3.352e12, l2_bytes=50 << 20,
    source="NVIDIA H100 Tensor Core GPU Architecture, H100 SXM5",
)  # fmt: skip
_H200 = Card(
    "H200", 132, 1.98e9, _HOPPER_TENSOR, _HOPPER_FMA, 4.8e12, l2_bytes=50 << 20,
    source="NVIDIA H200 Tensor Core GPU datasheet (memory: 4.8 TB/s); NVIDIA H100 Tensor Core GPU "
    "Architecture (SXM5, the same chip)",
)  # fmt: skip

#: By name, in the order of their numbers. Targets: "PTX Module Directives: .target"; shared memory: CUDA C++
#: Programming Guide, "Compute Capabilities", for sm_88 and sm_107 assumed.
ALL_CHIPS = {
    "sm_70": Chip("Volta", {}, shared=96),  # no target of the newest assembler
    "sm_75": Chip("Turing", {"": (6, 3)}, _named("T4"), shared=64),
    "sm_80": Chip("Ampere", {"": (7, 0)}, (_A100,), shared=163),
    "sm_86": Chip("Ampere", {"": (7, 1)}, _named("A10", "RTX 3090"), shared=99),
    "sm_87": Chip("Ampere", {"": (7, 4)}, _named("Jetson Orin"), "sm_80", shared=163),
    "sm_88": Chip("Ampere", {"": (9, 0)}, (), "sm_80", shared=99),
    "sm_89": Chip("Ada", {"": (7, 8)}, (*_named("L4", "L40"), _RTX_4090), shared=99),
    "sm_90": Chip("Hopper", {"": (7, 8), "a": (8, 0)}, (_H100, _H200)),
    "sm_100": Chip("Blackwell", {"": (8, 6), "a": (8, 6), "f": (8, 8)}, _named("B200"), has_tcgen05=True),
    "sm_103": Chip(
        "Blackwell", {"": (8, 8), "a": (8, 8), "f": (8, 8)}, _named("B300"), "sm_100", has_tcgen05=True
    ),
    "sm_107": Chip("Rubin", {"": (9, 4), "a": (9, 4), "f": (9, 4)}, has_tcgen05=True, has_model=False),
    "sm_110": Chip(
        "Blackwell", {"": (9, 0), "a": (9, 0), "f": (9, 0)}, _named("Jetson Thor"), "sm_100", has_tcgen05=True
    ),
    "sm_120": Chip("RTX Blackwell", {"": (8, 7), "a": (8, 7), "f": (8, 8)}, _named("RTX 5090"), shared=99),
    "sm_121": Chip(
        "RTX Blackwell", {"": (8, 8), "a": (8, 8), "f": (8, 8)}, _named("DGX Spark"), "sm_120", shared=99
    ),
}

#: The most shared memory that a block has on any chip, in bytes.
MAX_SHARED = max(chip.shared for chip in ALL_CHIPS.values()) << 10
