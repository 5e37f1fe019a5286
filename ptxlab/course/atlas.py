"""The pictures of the atlas: how many forms there are, by type, by target and by shape."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..isa.catalog import MMA_FAMILIES, REGISTER_FAMILIES, TCGEN05_FAMILIES, catalog, mma_forms, tcgen05_forms
from ..isa.instruction_descriptor import KINDS
from ..isa.targets import TARGETS
from ..isa.tcgen05 import CONTROL_FAMILIES, TensorInstruction
from ..views import Picture
from ..views.catalog_tables import counts
from ..views.charts import bars, table


def by_type() -> Picture:
    """How many forms each family that multiplies matrices in registers has, by the type of A.

    >>> by_type().grids[0].columns[0].text
    'mma'
    """
    numbers = counts([form for family in MMA_FAMILIES for form in mma_forms(family)])
    texts = {
        str(dtype): [str(row[column] or "") for row in numbers.rows]
        for column, dtype in enumerate(numbers.columns)
        if column
    }
    families = [str(row[0]) for row in numbers.rows]
    return table(texts, families, "Forms by the type of A", shades=_shades(texts), axes=("A", "family"))


def by_target() -> Picture:
    """How many forms of every family with matrices in registers each target has.

    >>> picture = by_target()
    >>> len(picture.grids[0].rows) == len(TARGETS)
    True
    """
    return _by_target(REGISTER_FAMILIES, "Forms of each family on each target")


def tensor_by_target() -> Picture:
    """How many forms each family of tcgen05 has, on every target that has any.

    >>> tensor_by_target().grids[0].rows[0].text
    'sm_100a'
    """
    families = tuple(family for family in TCGEN05_FAMILIES if family not in CONTROL_FAMILIES)
    return _by_target(families, "Forms of tcgen05 on each target", tuple(CONTROL_FAMILIES))


def _by_target(families: Sequence[str], title: str, around: Sequence[str] = ()) -> Picture:
    """Counts of families, and of some others together, on targets that have any of them."""
    texts = {}
    for target in TARGETS:
        numbers = [len(catalog(family, target)) for family in families]
        numbers += [sum(len(catalog(family, target)) for family in around)] if around else []
        if any(numbers):
            texts[target] = [str(number or "") for number in numbers]
    headings = [family.replace(".", ".\n") for family in families]
    headings += ["tcgen05.\nothers"] if around else []
    return table(texts, headings, title, shades=_shades(texts))


def by_kind() -> Picture:
    """How many shapes each kind of tcgen05.mma has, with every M, N and K, by family and CTAs.

    >>> grid = by_kind().grids[0]
    >>> {head.text: grid.at(head.start, 0).text for head in grid.rows}["f16"]   # M 64 and 128, N 8 to 256
    '64'
    """
    plain = [
        form
        for form in tcgen05_forms()
        if isinstance(form, TensorInstruction) and not form.ashift and not form.decompress
    ]
    columns = dict.fromkeys((form.family, form.cta_group) for form in plain)
    texts = {}
    for kind in KINDS:
        shapes = {(form.family, form.cta_group): form.shapes for form in plain if form.kind == kind}
        texts[kind] = [str(len(shapes.get(column, ())) or "") for column in columns]
    headings = [f"{family.removeprefix('tcgen05.')}\nCTAs: {group}" for family, group in columns]
    title = "Shapes of tcgen05.mma by kind"
    return table(texts, headings, title, shades=_shades(texts), axes=("kind", "family"))


def generations() -> Picture:
    """How many forms each generation has, added and dropped.

    >>> [group.text for group in generations().grids[0].row_groups][:2]
    ['sm_75', 'sm_80']
    """
    before: set[object] = set()
    groups = {}
    for target in ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"):
        now: set[object] = set(catalog(target=target))
        groups[target] = {"all": len(now), "new": len(now - before), "gone": len(before - now)}
        before = now
    return bars(groups, "Forms of each generation", ("new and gone: compared with the one before",))


def by_shape(family: str = "mma") -> Picture:
    """Which shapes a family has for each type of A.

    >>> grid = by_shape("mma.sp").grids[0]
    >>> {head.text: grid.at(head.start, 0).text for head in grid.rows}["tf32"]
    '✓'
    """
    shapes: dict[str, set[str]] = {}
    for form in mma_forms(family):
        shapes.setdefault(form.a_type, set()).add(form.shape)
    every = sorted({shape for some in shapes.values() for shape in some}, key=_size)
    texts = {dtype: ["✓" if shape in some else "" for shape in every] for dtype, some in shapes.items()}
    columns = [shape.replace("k", "\nk") for shape in every]
    return table(texts, columns, f"Shapes of {family} by the type of A", shades={"✓": -0.375})


def _size(shape: str) -> tuple[int, ...]:
    """``m16n8k32`` as numbers, to sort by."""
    return tuple(int(part) for part in shape.translate(str.maketrans("mnk", "   ")).split())


def _shades(texts: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Numbers from light to dark blue, by their logarithm."""
    numbers = {text for row in texts.values() for text in row if text}
    most = max(math.log2(int(text) + 1) for text in numbers)
    return {text: -0.6 * math.log2(int(text) + 1) / most for text in numbers}
