"""The instructions that the Explorer shows: those that multiply matrices, and those that move data."""

from __future__ import annotations

from typing import TypeAlias

from ...errors import PtxlabError
from ...isa.catalog import Product
from ...isa.form import Form
from ...isa.parse import parse_any
from ...isa.tcgen05 import TensorTransfer
from ...isa.tcgen05.tcgen05_form import CONTROL_FAMILIES
from ...isa.transfer import Transfer

AnyTransfer: TypeAlias = TensorTransfer | Transfer
Explorable: TypeAlias = Product | AnyTransfer


def explorable(ins: Form | str) -> Explorable:
    """The instruction that a text names, if the Explorer shows it: one that multiplies or moves data.

    >>> explorable("tcgen05.shift.cta_group::1.down").family
    'tcgen05.shift'
    >>> explorable("tcgen05.wait::ld.sync.aligned")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: tcgen05.wait::ld.sync.aligned waits until tcgen05.ld or ...
    """
    form = ins if isinstance(ins, Product) else parse_any(ins)
    if isinstance(form, Explorable):
        return form
    raise PtxlabError(
        f"{form.mnemonic} {CONTROL_FAMILIES[form.family]}, and touches no word of a matrix that the Explorer "
        "could show"
    )


def explorable_candidates(name: str) -> list[Explorable]:
    """The instructions that an ambiguous name may mean, as far as the Explorer shows them.

    >>> [form.mnemonic[-15:] for form in explorable_candidates("mma.m16n8k16.f16")]
    ['f16.f16.f16.f16', 'f32.f16.f16.f32']
    """
    from ...isa.refusals import candidates

    return [form for form in candidates(name) if isinstance(form, Explorable)]
