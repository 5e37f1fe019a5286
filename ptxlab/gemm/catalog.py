"""The ladder as rows: each adds one idea to the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Row:
    """One rung: its idea, its file, the family of its instruction, and the constants it is compiled with.

    `constants` are defaults; `rung` takes others under the same names in lower case. Every kernel takes rows
    of A and columns of B that begin at multiples of 16 bytes; one that stores with TMA wants the same of D.
    """

    number: int
    title: str
    idea: str
    file: str
    family: str  # of the instruction
    constants: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    tensor_maps: bool = False  # A and B are passed as TMA's descriptors
    stores_with_tma: bool = False  # and D
    persistent: bool = False  # as many blocks as run at once, not as many as there are tiles

    def __str__(self) -> str:
        return f"{self.number} {self.title}: {self.idea}"

    @property
    def targets(self) -> tuple[str, ...]:
        """The oldest target that runs it."""
        return ("sm_90a",) if self.family.startswith("wgmma") else ("sm_80",)


def _row(number: int, title: str, idea: str, file: str, family: str, /, **constants: int) -> Row:
    flags = {name: bool(constants.pop(name, 0)) for name in ("tensor_maps", "stores_with_tma", "persistent")}
    return Row(number, title, idea, file, family, MappingProxyType(constants), **flags)


LADDER: tuple[Row, ...] = (
    _row(
        1,
        "one warp",
        "one warp computes one tile of D, every lane fetches its words from global memory",
        "01_one_warp.cu",
        "mma",
        BLOCK_M=16,
        BLOCK_N=8,
    ),
    _row(
        2,
        "shared memory",
        "a block copies tiles of A and B to shared memory once, and all of its warps read them there",
        "02_shared_memory.cu",
        "mma",
        BLOCK_M=64,
        BLOCK_N=64,
        WARPS_M=2,
        WARPS_N=2,
    ),
    _row(
        3,
        "ldmatrix and swizzle",
        "ldmatrix fetches whole fragments, and a swizzle keeps their rows in different banks",
        "03_ldmatrix_swizzle.cu",
        "mma",
        BLOCK_M=64,
        BLOCK_N=64,
        WARPS_M=2,
        WARPS_N=2,
    ),
    _row(
        4,
        "warp tiles",
        "warps compute 64 x 64 in registers and fetch the next fragments while they multiply",
        "04_warp_tiles.cu",
        "mma",
        BLOCK_M=128,
        BLOCK_N=128,
        WARPS_M=2,
        WARPS_N=2,
    ),
    _row(
        5,
        "cp.async",
        "cp.async copies the tiles of later steps while this one is multiplied",
        "05_cp_async.cu",
        "mma",
        BLOCK_M=128,
        BLOCK_N=128,
        WARPS_M=2,
        WARPS_N=2,
        STAGES=3,
    ),
    _row(
        6,
        "wgmma",
        "four warps together multiply tiles straight from shared memory",
        "06_wgmma.cu",
        "wgmma",
        BLOCK_M=128,
        BLOCK_N=128,
        STAGES=3,
    ),
    _row(
        7,
        "TMA",
        "TMA copies a whole tile for one thread that asks for it, and an mbarrier tells when it has come",
        "07_tma.cu",
        "wgmma",
        tensor_maps=1,
        BLOCK_M=128,
        BLOCK_N=128,
        STAGES=3,
    ),
    _row(
        8,
        "warp specialisation",
        "every warp has one job, and no block ever stops: one loads, others multiply, clusters share tiles",
        "08_warp_specialised.cu",
        "wgmma",
        tensor_maps=1,
        stores_with_tma=1,
        persistent=1,
        BLOCK_M=128,
        BLOCK_N=256,
        TILES_M=1,
        STAGES=4,
        CLUSTER_M=2,
        CLUSTER_N=1,
        GROUP=8,
        PROMOTE=0,
        B_BY_ROWS=0,
        PRODUCER_REGISTERS=40,
        CONSUMER_REGISTERS=232,
    ),
)
