"""What instructions do: modules by kind, whose builders make steps of the machine from them.

A new opcode begins here, with a builder in one of these modules (`@builds`) or, for arithmetic, a row of
`ptxlab.numerics.scalar.opcode_table`. It also needs a row of `ptxlab.isa.availability` and, unless
`ptxlab.numerics.scalar` has it, its place in those sets of `ptx/opcode_sets.py` whose sentence is true of it.
"""

from . import (
    arithmetic_builders,
    asynchronous,
    control,
    loads,
    matrices,
    mbarrier_builders,
    tcgen05_builders,
    tensor_copies,
    warps,
    wgmma_builders,
)

__all__ = [
    "arithmetic_builders", "asynchronous", "control", "loads", "matrices", "mbarrier_builders",
    "tcgen05_builders", "tensor_copies", "warps", "wgmma_builders",
]  # fmt: skip
