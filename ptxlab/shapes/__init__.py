"""Every shape, walked: the distinct layouts of each family, one stop each, and the widget for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import PtxlabError

if TYPE_CHECKING:
    from .widget import Walk

__all__ = ["walk"]


def walk(family: str = "mma", stop: int | str = 0) -> Walk:
    """Walk through every layout of a family of instructions in a notebook, one stop each.

    Families are mma, mma.sp, block-scaled, wmma, wgmma, wgmma.sp, tcgen05 and transfer; `stop` is a number or
    an instruction.

    >>> walk("mma", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").stop.number
    11
    """
    try:
        from .widget import Walk
    except ImportError as error:
        if (error.name or "").startswith("ptxlab"):
            raise
        raise PtxlabError(
            f'the walk needs {error.name}, which is not installed: pip install "ptxlab[lab]"'
        ) from None
    return Walk(family, stop)
