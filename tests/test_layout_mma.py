"""Fragments of dense mma against the manual's formulas, written down again section by section.

PTX ISA, "Matrix Fragments for mma.m8n8k16" to "mma.m16n8k256". g is groupID, t is threadID_in_group, i the element.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ptxlab import Instruction, catalog

Place = Callable[[int, int, int], tuple[int, int]]


def below(i: int, *starts: int, width: int) -> int:
    """0 for the elements that the manual puts into row groupID, 8 for the others."""
    return 0 if any(start <= i < start + width for start in starts) else 8


#: (shape, bits of an element) -> formulas of A and B.
SECTIONS: dict[tuple[str, int], tuple[Place, Place]] = {
    ("m8n8k16", 8): (lambda g, t, i: (g, t * 4 + i), lambda g, t, i: (t * 4 + i, g)),
    ("m8n8k32", 4): (lambda g, t, i: (g, t * 8 + i), lambda g, t, i: (t * 8 + i, g)),
    ("m8n8k128", 1): (lambda g, t, i: (g, t * 32 + i), lambda g, t, i: (t * 32 + i, g)),
    ("m16n8k4", 32): (lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g)),
    ("m16n8k8", 16): (lambda g, t, i: (g + below(i, 0, width=2), t * 2 + (i & 1)), lambda g, t, i: (t * 2 + i, g)),
    ("m16n8k8", 32): (lambda g, t, i: (g + 8 * (i in (1, 3)), t + 4 * (i in (2, 3))), lambda g, t, i: (t + 4 * i, g)),
    ("m16n8k16", 16): (
        lambda g, t, i: (g + below(i, 0, 4, width=2), t * 2 + (i & 1) + (8 if i >= 4 else 0)),
        lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    ),
    ("m16n8k16", 8): (lambda g, t, i: (g + below(i, 0, width=4), t * 4 + (i & 3)), lambda g, t, i: (t * 4 + i, g)),
    ("m16n8k32", 4): (lambda g, t, i: (g + below(i, 0, width=8), t * 8 + (i & 7)), lambda g, t, i: (t * 8 + (i & 7), g)),
    ("m16n8k32", 8): (
        lambda g, t, i: (g + below(i, 0, 8, width=4), t * 4 + (i & 3) + (16 if i >= 8 else 0)),
        lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
    ),
    ("m16n8k64", 4): (
        lambda g, t, i: (g + below(i, 0, 16, width=8), t * 8 + (i & 7) + (32 if i >= 16 else 0)),
        lambda g, t, i: (t * 8 + (i & 7) + (32 if i >= 8 else 0), g),
    ),
    ("m16n8k128", 1): (lambda g, t, i: (g + below(i, 0, width=32), t * 32 + (i & 0x1F)), lambda g, t, i: (t * 32 + i, g)),
    # the manual's A lacks "& 0x1F" where i < 64; taken literally it would leave 256 elements to nobody
    ("m16n8k256", 1): (
        lambda g, t, i: (g + below(i, 0, 64, width=32), t * 32 + (i & 0x1F) + (128 if i >= 64 else 0)),
        lambda g, t, i: (t * 32 + (i & 0x1F) + (128 if i >= 32 else 0), g),
    ),
}


def accumulator(g: int, t: int, i: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


DENSE = [ins for ins in catalog("mma") if not ins.satfinite]


def test_every_dense_shape_has_its_section() -> None:
    assert {(ins.shape, ins.a.dtype.bits) for ins in DENSE} == set(SECTIONS)


@pytest.mark.parametrize("ins", DENSE, ids=str)
def test_fragments_are_the_manuals(ins: Instruction) -> None:
    a, b = SECTIONS[ins.shape, ins.a.dtype.bits]
    for operand, formula in ((ins.a, a), (ins.b, b), (ins.c, accumulator), (ins.d, accumulator)):
        assert operand.layout is not None
        stated = operand.layout.coords().tolist()
        assert stated == [[list(formula(lane >> 2, lane % 4, i)) for i in range(operand.layout.elements)] for lane in range(32)]
