"""What can be chosen of tcgen05.ld, .st, .cp and .shift: the parts of their names, and their forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ..errors import PtxlabError, listing, quoted
from ..isa.catalog import tcgen05_forms
from ..isa.tcgen05 import Tcgen05Transfer


def operation(form: Tcgen05Transfer) -> str:
    """What tcgen05.ld does besides loading: ``red.max.f32``; "" for nothing.

    >>> import ptxlab
    >>> operation(ptxlab.instruction("tcgen05.ld.red.sync.aligned.32x32b.x2.max.abs.f32"))
    'red.max.abs.f32'
    """
    if not form.reduction:
        return ""
    flags = [("red", form.reduces), ("spcompress", form.compresses), (form.reduction, True),
             ("abs", form.absolute), ("NaN", form.nan), (form.type, True)]  # fmt: skip
    return ".".join(word for word, there in flags if there)


#: What can be chosen of a form, by the family: a name, and how it is read from a form.
_PARTS: dict[str, dict[str, Callable[[Tcgen05Transfer], str]]] = {
    "tcgen05.ld": {
        "shape": lambda form: form.shape,
        "count": lambda form: f"x{form.count}",
        "pack": lambda form: "pack::16b" if form.pack else "",
        "operation": operation,
    },
    "tcgen05.st": {
        "shape": lambda form: form.shape,
        "count": lambda form: f"x{form.count}",
        "unpack": lambda form: "unpack::16b" if form.pack else "",
    },
    "tcgen05.cp": {
        "cta_group": lambda form: f"cta_group::{form.cta_group}",
        "shape": lambda form: form.shape,
        "multicast": lambda form: form.multicast,
        "source": lambda form: f"b8x16.{form.source}" if form.source else "",
    },
    "tcgen05.shift": {"cta_group": lambda form: f"cta_group::{form.cta_group}"},
}


@lru_cache(maxsize=4)
def _forms(family: str) -> tuple[Tcgen05Transfer, ...]:
    return tuple(form for form in tcgen05_forms(family) if isinstance(form, Tcgen05Transfer))


def choices(form: Tcgen05Transfer) -> dict[str, list[str]]:
    """What can be chosen of an instruction, and the texts of each choice; "" is to leave it out.

    >>> import ptxlab
    >>> choices(ptxlab.instruction("tcgen05.cp.cta_group::1.64x128b.warpx2::02_13"))["multicast"]
    ['', 'warpx2::02_13', 'warpx2::01_23', 'warpx4']
    """
    forms = _forms(form.family)
    return {name: list(dict.fromkeys(map(read, forms))) for name, read in _PARTS[form.family].items()}


def part_names(form: Tcgen05Transfer) -> list[str]:
    """The names of what can be chosen."""
    return list(_PARTS[form.family])


def part_of(form: Tcgen05Transfer, name: str) -> str:
    """What is chosen."""
    return _PARTS[form.family][name](form)


def with_part(form: Tcgen05Transfer, name: str, text: str) -> Tcgen05Transfer:
    """The form with another choice; of those that have it, the one that keeps most of the others.

    >>> import ptxlab
    >>> with_part(ptxlab.instruction("tcgen05.ld.sync.aligned.32x32b.x128.b32"), "shape", "16x256b").mnemonic
    'tcgen05.ld.sync.aligned.16x256b.x32.b32'
    """
    parts = _PARTS[form.family]
    candidates = [each for each in _forms(form.family) if parts[name](each) == text]
    if not candidates:
        there = listing([word for word in choices(form)[name] if word], 30)
        raise PtxlabError(f"{name} {quoted(text)}: {form.family} has {there}")

    def likeness(each: Tcgen05Transfer) -> tuple[int, float]:
        same = sum(read(each) == read(form) for other, read in parts.items() if other not in (name, "count"))
        ratio = max(each.count, form.count) / min(each.count, form.count)
        return same, -ratio

    return max(candidates, key=likeness)
