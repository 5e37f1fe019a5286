"""The walk through every layout: the stops of each family, made from the catalogue, and their widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import needs_lab

if TYPE_CHECKING:
    from .walk_widget import Walk

__all__ = ["walk"]


def walk(family: str = "mma", stop: int | str = 0) -> Walk:
    """Walk through every layout of a family of instructions in a notebook, one stop each.

    Families are mma, mma.sp, block-scaled, wmma, wgmma, wgmma.sp, tcgen05 and transfer; `stop` is a number or
    an instruction.

    >>> walk("mma", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").stop.number
    11
    """
    with needs_lab("the walk"):
        from .walk_widget import Walk
    return Walk(family, stop)
