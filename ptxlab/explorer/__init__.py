"""The face of ptxlab in a notebook: one widget, and the plain state behind it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..errors import PtxlabError
from ..isa.mma import MmaForm
from .state import Bench

if TYPE_CHECKING:
    from .explorer import Explorer

__all__ = ["Bench", "Explorer", "explore"]


def __getattr__(name: str) -> Any:
    if name != "Explorer":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return importlib.import_module(".explorer", __name__).Explorer
    except ImportError as error:
        if (error.name or "").startswith("ptxlab"):
            raise
        raise PtxlabError(
            f'the explorer needs {error.name}, which is not installed: pip install "ptxlab[lab]"'
        ) from None


def explore(ins: MmaForm | str, **options: Any) -> Explorer:
    """The widget on an instruction, or on a link that somebody sent (`ex.link`): edit matrices and registers, see D.

    `A`, `B`, `C` give its first matrices; `seed` that of its random fills.

    >>> import numpy as np
    >>> ex = explore("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", A=np.ones((16, 64)), B=np.ones((64, 8)))
    >>> int(ex.D[0, 0])
    64
    >>> bool((explore(ex.link).D == ex.D).all())
    True
    """
    widget: Explorer = __getattr__("Explorer")(ins, **options)
    return widget
