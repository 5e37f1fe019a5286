"""The parts of a transfer's mnemonic that can be chosen: shape, count, type and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from ...errors import PtxlabError, listing, quoted
from ...isa.catalog import tcgen05_transfers, transfer_forms
from ...isa.tcgen05 import TensorTransfer
from ...isa.transfer import Transfer
from .forms import AnyTransfer


def operation(ins: TensorTransfer) -> str:
    """What tcgen05.ld does besides loading: ``red.max.f32``; "" for nothing.

    >>> import ptxlab
    >>> operation(ptxlab.instruction("tcgen05.ld.red.sync.aligned.32x32b.x2.max.abs.f32"))
    'red.max.abs.f32'
    """
    if not ins.reduction:
        return ""
    flags = [("red", ins.reduces), ("spcompress", ins.compresses), (ins.reduction, True),
             ("abs", ins.absolute), ("NaN", ins.nan), (ins.type, True)]  # fmt: skip
    return ".".join(word for word, is_set in flags if is_set)


_SHAPE: dict[str, Callable[[Any], str]] = {"shape": lambda ins: ins.shape}
_COUNT: dict[str, Callable[[Any], str]] = {"count": lambda ins: f"x{ins.count}"}
_CTA_GROUP: dict[str, Callable[[Any], str]] = {"cta_group": lambda ins: f"cta_group::{ins.cta_group}"}
_ROWS: dict[str, Callable[[Any], str]] = {
    **_SHAPE,
    **_COUNT,
    "trans": lambda ins: "trans" if ins.trans else "",
    "type": lambda ins: ins.mnemonic.rsplit(f"{ins.space}." if ins.space else ".", 1)[-1],
}
_FRAGMENT: dict[str, Callable[[Any], str]] = {
    "matrix": lambda ins: ins.matrix,
    "layout": lambda ins: ins.layout,
    **_SHAPE,
    "type": lambda ins: ins.type,
}
#: The parts of a mnemonic that can be chosen, by family: a name, and a function that reads it from a form.
PARTS: dict[str, Mapping[str, Callable[[Any], str]]] = {
    "tcgen05.ld": {
        **_SHAPE,
        **_COUNT,
        "pack": lambda ins: "pack::16b" if ins.pack else "",
        "operation": operation,
    },
    "tcgen05.st": {**_SHAPE, **_COUNT, "unpack": lambda ins: "unpack::16b" if ins.pack else ""},
    "tcgen05.cp": {
        **_CTA_GROUP,
        **_SHAPE,
        "multicast": lambda ins: ins.multicast,
        "source": lambda ins: f"b8x16.{ins.source}" if ins.source else "",
    },
    "tcgen05.shift": _CTA_GROUP,
    "ldmatrix": _ROWS,
    "stmatrix": _ROWS,
    "movmatrix": {},
    "wmma.load": _FRAGMENT,
    "wmma.store": _FRAGMENT,
}


@lru_cache(maxsize=None)
def _forms(family: str) -> tuple[AnyTransfer, ...]:
    if family.startswith("tcgen05"):
        return tcgen05_transfers(family)
    return transfer_forms(family)


def choices(ins: AnyTransfer) -> dict[str, list[str]]:
    """The parts of an instruction that can be chosen, each with its choices; "" leaves it out.

    >>> import ptxlab
    >>> choices(ptxlab.instruction("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13"))["multicast"]
    ['', 'warpx2::02_13', 'warpx2::01_23', 'warpx4']
    """
    forms = _forms(ins.family)
    return {name: list(dict.fromkeys(map(read, forms))) for name, read in PARTS[ins.family].items()}


def with_part(ins: AnyTransfer, name: str, text: str) -> AnyTransfer:
    """The form with another choice of one part; among several, the one that keeps most other parts.

    >>> import ptxlab
    >>> with_part(ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x128.b32"), "shape", "16x256b").mnemonic
    'tcgen05.ld.sync.aligned.16x256b.x32.b32'
    """
    parts = PARTS[ins.family]
    candidates = [form for form in _forms(ins.family) if parts[name](form) == text]
    if not candidates:
        allowed = listing([word for word in choices(ins)[name] if word], 30)
        raise PtxlabError(f"{name} {quoted(text)}: {ins.family} has {allowed}")

    def likeness(form: AnyTransfer) -> tuple[int, float]:
        same = sum(read(form) == read(ins) for other, read in parts.items() if other not in (name, "count"))
        ratio = max(form.count, ins.count) / min(form.count, ins.count)
        return same, -ratio

    best = max(candidates, key=likeness)
    if isinstance(best, Transfer) and isinstance(ins, Transfer):
        return best.in_space(ins.space)
    return best
