"""Attention, from two chained products in one warp to specialised warps: five kernels in CUDA C++."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._util.arguments import as_array, as_int
from ..errors import PtxlabError, listing, quoted
from ..isa.chips import MAX_SHARED
from ..isa.parse import parse_mma
from ..memory import tensor_map
from ..simulator import Result
from ..simulator.kernel import Kernel, build_kernel
from .gemm_kernel import Row
from .source import compose

_MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
_WGMMA = "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16"
_BOX = 64  # elements of a row in TMA's boxes, and rows of Q and O

#: Every kernel adds one idea to the one before.
KERNELS: tuple[Row, ...] = (
    Row(1, "two products", "accumulators of the first product become A of the second, in the same lanes",
        "attention_1_two_products.cu", "mma", MappingProxyType({"HEAD": 128, "KEYS": 64})),
    Row(2, "online softmax", "keys come in blocks, and sums made with a smaller maximum are rescaled",
        "attention_2_online_softmax.cu", "mma", MappingProxyType({"HEAD": 128, "BLOCK_N": 64})),
    Row(3, "causal mask", "blocks behind the diagonal are skipped, and those on it are masked",
        "attention_3_causal.cu", "mma", MappingProxyType({"HEAD": 128, "BLOCK_N": 64})),
    Row(4, "ring", "cp.async copies keys and values of later blocks while this one is multiplied",
        "attention_4_ring.cu", "mma",
        MappingProxyType({"HEAD": 128, "BLOCK_N": 64, "STAGES": 2, "CAUSAL": 1})),
    Row(5, "warp specialisation",
        "one warpgroup loads, two multiply with wgmma, and exponentials run beside the products",
        "attention_5_warp_specialised.cu", "wgmma",
        MappingProxyType({
            "HEAD": 128, "BLOCK_N": 128, "STAGES": 4, "CAUSAL": 1,
            "PRODUCER_REGISTERS": 24, "CONSUMER_REGISTERS": 240,
        }),
        tensor_maps=True),
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Attention:
    """One of the five kernels with its constants; `attention` makes one.

    Q, K, V and O are [heads, sequence, head dimension] in f16; a batch is more heads.

    >>> attention(5)
    <attention 5, warp specialisation: causal, head dimension 128>
    """

    row: Row
    constants: dict[str, int]

    def __repr__(self) -> str:
        mask = "causal" if self.causal else "not causal"
        return f"<attention {self.row.number}, {self.row.title}: {mask}, head dimension {self.head}>"

    @property
    def head(self) -> int:
        """The dimension of a head."""
        return self.constants["HEAD"]

    @property
    def causal(self) -> bool:
        """Whether a query sees only keys up to its own position."""
        return bool(self.constants.get("CAUSAL", self.row.number == 3))

    @property
    def queries(self) -> int:
        """Queries of a block."""
        return {1: 16, 5: 128}.get(self.row.number, 64)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return {1: 32, 5: 384}.get(self.row.number, 128)

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory of a block."""
        if self.row.number == 1:
            return 0
        tile = self.constants["BLOCK_N"] * self.head * 2
        if self.row.number == 5:
            return self.queries * self.head * 2 + self.constants["STAGES"] * (tile + 16) + 8
        return 2 * tile * self.constants.get("STAGES", 1)

    @cached_property
    def source(self) -> str:
        """The whole CUDA C++, headers included."""
        if self.row.family == "mma":
            return compose(self.row.file, parse_mma(_MMA), self.constants)
        scores, output = (parse_mma(_WGMMA.format(n=n)) for n in (self.constants["BLOCK_N"], self.head))
        return compose(self.row.file, replace(scores, a_space="shared"), self.constants, second=output)

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel, as `ptxlab.kernel` makes it."""
        return build_kernel(self.source, "attention", "sm_90a")

    def grid(self, heads: int, sequence: int) -> tuple[int, int]:
        """Blocks along x, for the queries of a head, and y, for the heads."""
        unit = math.lcm(self.queries, self.constants.get("BLOCK_N", self.constants.get("KEYS", 1)))
        keys = self.constants.get("KEYS", sequence)
        if sequence < 1 or sequence % unit or sequence != keys:
            expected = str(keys) if "KEYS" in self.constants else f"a multiple of {unit}"
            raise PtxlabError(
                f"attention {self.row.number}: found a sequence of {sequence}; it takes {expected}"
            )
        return sequence // self.queries, heads

    def arguments(self, Q: Any, K: Any, V: Any, output: Any) -> tuple[Any, ...]:
        """The arguments for arrays [heads, sequence, head dimension] of f16, in NumPy or on a GPU."""
        heads, sequence, head = Q.shape
        matrices: list[Any] = [Q, K, V, output]
        if self.row.tensor_maps:
            rows = (_BOX, self.constants["BLOCK_N"], self.constants["BLOCK_N"], _BOX)
            matrices = [
                tensor_map(
                    array.reshape(heads * sequence, head), (height, _BOX), swizzle=128, l2_promotion=256
                )
                for array, height in zip(matrices, rows, strict=True)
            ]
        return (*matrices, np.int32(sequence), np.float32(math.log2(math.e) / math.sqrt(head)))

    def simulate(
        self, Q: ArrayLike, K: ArrayLike, V: ArrayLike, **options: Any
    ) -> tuple[NDArray[np.float16], Result]:
        """O and the simulation's result; options are those of `kernel.simulate`."""
        grid, arguments, output = self._call(Q, K, V)
        return output, self.kernel.simulate(grid, self.threads, *arguments, shared=self.shared, **options)

    def __call__(self, Q: ArrayLike, K: ArrayLike, V: ArrayLike) -> NDArray[np.float16]:
        """O, computed on the GPU."""
        grid, arguments, output = self._call(Q, K, V)
        self.kernel.launch(grid, self.threads, *arguments, shared=self.shared)
        return output

    def _call(
        self, Q: ArrayLike, K: ArrayLike, V: ArrayLike
    ) -> tuple[tuple[int, int], tuple[Any, ...], NDArray[np.float16]]:
        """Grid, arguments and the array of O, for NumPy arrays."""
        arrays = [
            np.ascontiguousarray(as_array(values, name), dtype=np.float16)
            for name, values in zip("QKV", (Q, K, V), strict=True)
        ]
        shape = arrays[0].shape
        if any(array.shape != shape for array in arrays) or len(shape) != 3 or shape[2] != self.head:
            shapes = listing(str(array.shape) for array in arrays)
            raise PtxlabError(
                f"Q, K, V: found shapes {shapes}; they take one shape [heads, sequence, {self.head}]"
            )
        grid, output = self.grid(shape[0], shape[1]), np.zeros(shape, dtype=np.float16)
        return grid, self.arguments(arrays[0], arrays[1], arrays[2], output), output


def attention(number: int, **constants: int) -> Attention:
    """One of the five attention kernels; `constants` replace those of its row.

    >>> print(attention(2, head=64).row)
    2 online softmax: keys come in blocks, and sums made with a smaller maximum are rescaled
    """
    rows = {row.number: row for row in KERNELS}
    row = rows.get(as_int(number, "number"))
    if row is None:
        raise PtxlabError(f"number={quoted(number)}: there are attention kernels {listing(rows)}")
    made = Attention(row, row.with_constants(f"attention {row.number}", constants))
    units = {"HEAD": 16 if row.number == 1 else _BOX, "KEYS": 16, "BLOCK_N": 16}
    for name, value in made.constants.items():
        unit = units.get(name, 1)
        if name in units and (value < unit or value % unit):
            raise PtxlabError(f"attention {row.number}: {name.lower()}={value}; it takes multiples of {unit}")
        if name == "STAGES" and value < 2:
            raise PtxlabError(f"attention {row.number}: stages={value}; a ring has at least 2")
    if row.number == 5 and made.causal and made.constants["BLOCK_N"] != made.queries:
        raise PtxlabError(
            f"attention 5: block_n={made.constants['BLOCK_N']}; with a causal mask it takes {made.queries}, "
            "as many keys as a block has queries"
        )
    if made.shared > MAX_SHARED:
        raise PtxlabError(
            f"attention {row.number} with these constants takes {made.shared} bytes of shared memory; a "
            f"block has {MAX_SHARED}"
        )
    return made
