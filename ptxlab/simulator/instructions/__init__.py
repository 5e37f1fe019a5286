"""What instructions do: modules by kind, whose builders make steps of the machine from them."""

from . import (
    arithmetic_builders,
    asynchronous,
    control,
    loads,
    matrices,
    mbarrier_builders,
    tcgen05_builders,
    tma,
    warps,
    wgmma_builders,
)

__all__ = [
    "arithmetic_builders", "asynchronous", "control", "loads", "matrices", "mbarrier_builders",
    "tcgen05_builders", "tma", "warps", "wgmma_builders",
]  # fmt: skip
