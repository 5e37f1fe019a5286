"""Fragments of dense mma against the manual's formulas, written down again section by section.

PTX ISA, "Matrix Fragments for mma.m8n8k4" to "mma.m16n8k256". g is groupID, t is threadID_in_group, i the
element.
"""

from __future__ import annotations

from collections.abc import Callable

from ptxlab import Instruction
from ptxlab.instruction import mma_instructions
from tests.cases import each

Place = Callable[[int, int, int], tuple[int, int]]


def below(i: int, *starts: int, width: int) -> int:
    """0 for the elements that the manual puts into row groupID, 8 for the others."""
    return 0 if any(start <= i < start + width for start in starts) else 8


#: (shape, bits of an element) -> formulas of A and B.
SECTIONS: dict[tuple[str, int], tuple[Place, Place]] = {
    ("m8n8k4", 64): (lambda g, t, i: (g, t), lambda g, t, i: (t, g)),
    ("m16n8k4", 64): (lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g)),
    ("m16n8k8", 64): (
        lambda g, t, i: (g + (8 if i in (1, 3) else 0), t + (4 if i in (2, 3) else 0)),
        lambda g, t, i: (t + 4 * i, g),
    ),
    ("m16n8k16", 64): (
        lambda g, t, i: (g, i * 2 + t) if i % 2 == 0 else (g + 8, i * 2 - 2 + t),
        lambda g, t, i: (t + i * 4, g),
    ),
    ("m8n8k16", 8): (lambda g, t, i: (g, t * 4 + i), lambda g, t, i: (t * 4 + i, g)),
    ("m8n8k32", 4): (lambda g, t, i: (g, t * 8 + i), lambda g, t, i: (t * 8 + i, g)),
    ("m8n8k128", 1): (lambda g, t, i: (g, t * 32 + i), lambda g, t, i: (t * 32 + i, g)),
    ("m16n8k4", 32): (lambda g, t, i: (g + 8 * i, t), lambda g, t, i: (t, g)),
    ("m16n8k8", 16): (
        lambda g, t, i: (g + below(i, 0, width=2), t * 2 + (i & 1)),
        lambda g, t, i: (t * 2 + i, g),
    ),
    ("m16n8k8", 32): (
        lambda g, t, i: (g + (8 if i in (1, 3) else 0), t + (4 if i in (2, 3) else 0)),
        lambda g, t, i: (t + 4 * i, g),
    ),
    ("m16n8k16", 16): (
        lambda g, t, i: (g + below(i, 0, 4, width=2), t * 2 + (i & 1) + (8 if i >= 4 else 0)),
        lambda g, t, i: (t * 2 + (i & 1) + (8 if i >= 2 else 0), g),
    ),
    ("m16n8k16", 8): (
        lambda g, t, i: (g + below(i, 0, width=4), t * 4 + (i & 3)),
        lambda g, t, i: (t * 4 + i, g),
    ),
    ("m16n8k32", 4): (
        lambda g, t, i: (g + below(i, 0, width=8), t * 8 + (i & 7)),
        lambda g, t, i: (t * 8 + (i & 7), g),
    ),
    ("m16n8k32", 8): (
        lambda g, t, i: (g + below(i, 0, 8, width=4), t * 4 + (i & 3) + (16 if i >= 8 else 0)),
        lambda g, t, i: (t * 4 + (i & 3) + (16 if i >= 4 else 0), g),
    ),
    ("m16n8k64", 4): (
        lambda g, t, i: (g + below(i, 0, 16, width=8), t * 8 + (i & 7) + (32 if i >= 16 else 0)),
        lambda g, t, i: (t * 8 + (i & 7) + (32 if i >= 8 else 0), g),
    ),
    ("m16n8k128", 1): (
        lambda g, t, i: (g + below(i, 0, width=32), t * 32 + (i & 0x1F)),
        lambda g, t, i: (t * 32 + i, g),
    ),
    # the manual's A lacks "& 0x1F" where i < 64; taken literally it would leave 256 elements to nobody
    ("m16n8k256", 1): (
        lambda g, t, i: (g + below(i, 0, 64, width=32), t * 32 + (i & 0x1F) + (128 if i >= 64 else 0)),
        lambda g, t, i: (t * 32 + (i & 0x1F) + (128 if i >= 32 else 0), g),
    ),
}


def accumulator(g: int, t: int, i: int) -> tuple[int, int]:
    return (g if i < 2 else g + 8), t * 2 + (i & 1)


DENSE = [ins for ins in mma_instructions("mma") if not ins.satfinite and ins.mma_count == 1]
QUAD_PAIRS = [ins for ins in mma_instructions("mma") if ins.mma_count > 1]


def bits(ins: Instruction) -> int:
    """Of an element in its register: kind::f8f6f4 and kind::mxf8f6f4 give every element a byte."""
    return 8 if "f8f6f4" in ins.mnemonic else ins.a.dtype.bits


def test_every_dense_shape_has_its_section() -> None:
    assert {(ins.shape, bits(ins)) for ins in DENSE} == set(SECTIONS)


@each("ins", DENSE, ids=str)
def test_fragments_are_the_manuals(ins: Instruction) -> None:
    a, b = SECTIONS[ins.shape, bits(ins)]
    for operand, formula in ((ins.a, a), (ins.b, b), (ins.c, accumulator), (ins.d, accumulator)):
        assert operand.layout is not None
        stated = operand.layout.coords().tolist()
        assert stated == [
            [list(formula(lane >> 2, lane % 4, i)) for i in range(operand.layout.elements)]
            for lane in range(32)
        ]


# -- "Matrix Fragments for mma.m8n8k4 with .f16 floating point type" -------------------------------------

QUAD_PAIR: dict[tuple[str, str], Callable[[int, int], tuple[int, int]]] = {
    ("A", "row"): lambda lane, i: ((lane % 4 if lane < 16 else lane % 4 + 4), i),
    ("A", "col"): lambda lane, i: ((i % 4 if lane < 16 else i % 4 + 4), lane % 4),
    ("B", "row"): lambda lane, i: (lane % 4, (i if lane < 16 else i + 4)),
    ("B", "col"): lambda lane, i: (i, (lane % 4 if lane < 16 else lane % 4 + 4)),
    ("C", "f16"): lambda lane, i: ((lane % 4 if lane < 16 else lane % 4 + 4), i),
    ("C", "f32"): lambda lane, i: (
        (lane & 0b1) + (i & 0b10) + (0 if lane < 16 else 4),
        (i & 0b100) + (lane & 0b10) + (i & 0b1),
    ),
}
COMPUTATIONS = [
    (*range(4), *range(16, 20)),
    (*range(4, 8), *range(20, 24)),
    (*range(8, 12), *range(24, 28)),
    (*range(12, 16), *range(28, 32)),
]


@each("ins", QUAD_PAIRS, ids=str)
def test_quad_pairs_are_the_manuals(ins: Instruction) -> None:
    """The four computations' matrices are stacked: below each other, B's side by side."""
    forms = {"A": ins.a_layout, "B": ins.b_layout, "C": ins.c_type, "D": ins.d_type}
    for name, form in forms.items():
        operand = ins.operand(name)
        coords = operand.coords()
        for number, lanes in enumerate(COMPUTATIONS):
            for lane in lanes:
                for i, place in enumerate(coords[lane].tolist()):
                    row, column = QUAD_PAIR[name.replace("D", "C"), form](lane, i)
                    stacked = [row, column + 8 * number] if name == "B" else [row + 8 * number, column]
                    assert place == stacked, (name, lane, i)


def test_elements_in_8_bit_containers() -> None:
    """The manual: e2m1 in the central 4 bits of a byte, e3m2 and e2m3 in the lower 6; mxf4 needs no byte."""
    places = {}
    for ins in mma_instructions("mma"):
        if ins.kind is not None:
            place = ins.a.place(0, 1)
            places.setdefault((ins.kind, ins.a_type), set()).add((place.register, place.low, place.high))
    in_a_byte = {
        "e4m3": (0, 8, 15),
        "e5m2": (0, 8, 15),
        "e3m2": (0, 8, 13),
        "e2m3": (0, 8, 13),
        "e2m1": (0, 10, 13),
    }
    expected = {(kind, name): {place} for kind in ("f8f6f4", "mxf8f6f4") for name, place in in_a_byte.items()}
    expected |= {("mxf4", "e2m1"): {(0, 4, 7)}, ("mxf4nvf4", "e2m1"): {(0, 4, 7)}}
    assert places == expected
