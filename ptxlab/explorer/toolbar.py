"""What the bar above the picture offers: chips, fills, modifiers, undo; and what is chosen there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import gpu
from ..isa.targets import GENERATIONS
from .state import GPU, Bench
from .view import LOOKS

__all__ = ["tools"]


def tools(bench: Bench, chips: Sequence[str], working: str = "", took: str = "") -> dict[str, Any]:
    """All of the bar as plain data. `working` says what the GPU is doing now, `took` what its last run took.

    >>> import ptxlab
    >>> found = tools(Bench(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")), ["sm_90", "sm_80"])
    >>> found["chips"][0], found["options"][0]["options"]
    (['sm_90 Hopper', 'sm_90'], [['0', 0], ['1', 1]])
    """
    ins, there = bench.ins, GPU in chips
    return {
        "looks": [{"trait": trait, **look} for trait, look in LOOKS.items()],
        "chips": [[" ".join(word for word in (chip, GENERATIONS.get(chip)) if word), chip] for chip in chips],
        "chip": bench.chip,
        "against": bench.against or "",
        "fills": {name: list(bench.fills(name)) for name in bench.names if bench.fills(name)},
        "options": [
            _option(name, legal, bench.options[name])
            for name, legal in ins.modifiers.items()
            if name in bench.options
        ],
        "undo": bool(bench.history.past),
        "redo": bool(bench.history.future),
        "gpu": {
            "there": there,
            "says": working or (took if there and took else gpu.status(ins)),
            "busy": bool(working),
        },
    }


def _option(name: str, legal: Sequence[Any], value: Any) -> dict[str, Any]:
    """A modifier: its legal values by their place, for a page sends no values of its own."""
    return {
        "name": name,
        "said": name.replace("_", "-"),
        "options": [[str(each).lower(), place] for place, each in enumerate(legal)],
        "value": list(legal).index(value),
    }
