"""Sets of targets that rows name."""

from __future__ import annotations

from ..instruction import TARGETS

__all__ = ["SM_75", "SM_80", "SM_89", "SM_90", "SM_90A", "SM_100A", "SM_120A", "SM_120A_ALONE"]


def _since(first: str) -> tuple[str, ...]:
    return TARGETS[TARGETS.index(first) :]


SM_75, SM_80, SM_89, SM_90 = (_since(first) for first in ("sm_75", "sm_80", "sm_89", "sm_90"))
SM_90A = ("sm_90a",)
SM_100A = ("sm_100a", "sm_100f", "sm_103a", "sm_110a", "sm_120a", "sm_120f", "sm_121a")
SM_120A = ("sm_120a", "sm_120f", "sm_121a")  # the ISA names the a-targets; the assembler also takes sm_120f
SM_120A_ALONE = ("sm_120a", "sm_121a")
