"""What an instruction's opcode says about its accesses to memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

_STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}
_NOT_IN_L1 = {"cg", "cv"}  # "Cache Operators": cached in L2 alone, and fetched again


@dataclass(frozen=True)
class Traits:
    """What checks ask of an opcode; the rest is in the access itself."""

    strong: bool  # in the sense of PTX's memory model
    volatile: bool
    releases: bool
    acquires: bool
    constant: bool  # `.nc`: nobody writes what it reads
    group: str  # whose `wait_group` completes it: "cp.async", "cp.async.bulk", "wgmma" or ""
    completes_on_mbarrier: bool
    cta_scope: bool  # `.cta`: it is for threads of the same block
    bypasses_l1: bool  # it asks L2, which all SMs share


@cache
def traits_of(opcode: str) -> Traits:
    """The traits of an opcode."""
    parts = opcode.removeprefix("multimem.").split(".")
    completes_on_mbarrier = any(part.startswith("mbarrier::complete_tx") for part in parts)
    group = ""
    if parts[0] == "wgmma":
        group = "wgmma"
    elif parts[0] == "cp" and not completes_on_mbarrier:
        group = "cp.async.bulk" if "bulk" in parts else "cp.async"
    strong = not _STRONG.isdisjoint(parts) or parts[0] in ("atom", "red")
    if parts[0] == "mbarrier":
        strong = parts[1] not in ("init", "inval")
    is_bulk_copy = parts[0] == "cp" and "bulk" in parts  # the TMA has no L1; cp.async.ca reads through it
    return Traits(
        strong=strong,
        volatile="volatile" in parts,
        releases="release" in parts or "acq_rel" in parts,
        acquires="acquire" in parts or "acq_rel" in parts,
        constant="nc" in parts,
        group=group,
        completes_on_mbarrier=completes_on_mbarrier,
        cta_scope="cta" in parts,
        bypasses_l1=strong or is_bulk_copy or not _NOT_IN_L1.isdisjoint(parts),
    )


@cache
def loses_remote_updates(opcode: str) -> bool:
    """Whether an H200 loses updates of this atomic in another block's shared memory."""
    parts = opcode.split(".")
    if "async" in parts:
        return False
    wide = parts[-1] in ("u64", "s64", "b64") and not {"min", "max", "and", "or", "xor"}.isdisjoint(parts)
    return wide or parts[-1] in ("f16x2", "bf16x2")
