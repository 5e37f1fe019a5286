"""What an instruction's opcode says about its accesses to memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

_STRONG = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}


@dataclass(frozen=True)
class Traits:
    """What an instruction's opcode says about its accesses."""

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
    releases = "release" in parts or "acq_rel" in parts
    acquires = "acquire" in parts or "acq_rel" in parts
    bypasses_l1 = strong or not {"cg", "cv", "cp"}.isdisjoint(parts)
    return Traits(
        strong,
        "volatile" in parts,
        releases,
        acquires,
        "nc" in parts,
        group,
        completes_on_mbarrier,
        "cta" in parts,
        bypasses_l1,
    )


@cache
def is_local_only(opcode: str) -> bool:
    """Whether an H200 loses updates of this atomic in another block's shared memory."""
    parts = opcode.split(".")
    if "async" in parts:
        return False
    wide = parts[-1] in ("u64", "s64", "b64") and not {"min", "max", "and", "or", "xor"}.isdisjoint(parts)
    return wide or parts[-1] in ("f16x2", "bf16x2")
