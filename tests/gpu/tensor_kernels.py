"""Forms of tcgen05 whose kernels are compiled: of each row of the catalogue, descriptors and arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from ptxlab.isa.catalog import tcgen05_forms
from ptxlab.isa.instruction_descriptor import KINDS, shapes_of
from ptxlab.isa.modifiers import Modifiers
from ptxlab.isa.tcgen05 import Tcgen05Form, TensorInstruction

Case = tuple[Tcgen05Form, Modifiers]
_PLAIN = Modifiers()


def cases(family: str | None = None) -> Iterator[Case]:
    """Every row; of tcgen05.mma every M and K, types, transposes, arguments, and A in either memory."""
    for form in tcgen05_forms(family, None):
        yield form, _PLAIN
        if isinstance(form, TensorInstruction) and not form.decompress:
            yield from _variants(form)


def _variants(form: TensorInstruction) -> Iterator[Case]:
    for shapes in shapes_of(form.kind, form.sparse, form.ws, form.cta_group):
        for m, n in {(m, n) for m in shapes.m for n in (shapes.n[0], shapes.n[len(shapes.n) // 2])}:
            yield from _legal(form, m=m, n=n, k=shapes.k)
    if not form.scale_vector and not form.ashift:
        row = KINDS[form.kind]
        for a, b, d in product(row.types, row.types, row.results):
            yield from _legal(form, a=a, b=b, d=d)
            if row.scaled and len(row.types) > 1:  # which packs narrow types otherwise with the larger K
                yield from _legal(form, a=a, b=b, d=d, k=form.descriptor.depths[-1])
        for flag in ("transpose_a", "transpose_b", "negate_a", "negate_b", "saturate"):
            yield from _legal(form, n=64, **{flag: True})
        yield from _legal(form, n=64, a="e2m1", b="e3m2", transpose_a=True, transpose_b=True)
        yield from ((form, modifiers) for modifiers in _arguments(form))
    if form.sparse:
        yield from _legal(form, sparsity_version=1)
    for selector in form.selectors[1:]:
        yield from _legal(form, selector=selector)
    if form.scaled:
        for identity in (1, 2, 3):
            yield from _legal(form, scale_a_id=identity)
            yield from _legal(form, scale_b_id=identity)


def _legal(form: TensorInstruction, **parts: object) -> Iterator[Case]:
    try:
        descriptor = replace(form.descriptor, **parts)  # type: ignore[arg-type]
    except ValueError:
        return
    if form.faults(descriptor):
        return
    other = replace(form, descriptor=descriptor)
    yield other, _PLAIN
    if not form.ashift:
        try:
            moved = other.a_from("tensor")
            moved.a  # noqa: B018 (refuses packed types of 6 bits)
        except ValueError:
            return
        yield moved, _PLAIN


def _arguments(form: TensorInstruction) -> Iterator[Modifiers]:
    yield Modifiers(enable_input_d=False)
    yield Modifiers(swizzle=64)
    if "disable-output-lane" in form.arguments:
        yield Modifiers(disable_output_lane=5 << 32 * form.mask_registers - 8 | 1)
    if "scale-input-d" in form.arguments:
        yield Modifiers(scale_input_d=3)
    if "zero-column-mask-desc" in form.arguments:
        yield Modifiers(zero_column_mask=0x3028000000000)
