"""What instructions do: modules by kind, whose builders make steps of the machine from them."""

from . import arithmetic, asynchronous, control, loads, matrices, mbarriers, tcgen05, tma, warps, wgmma

__all__ = [
    "arithmetic", "asynchronous", "control", "loads", "matrices", "mbarriers", "tcgen05", "tma", "warps",
    "wgmma",
]  # fmt: skip
