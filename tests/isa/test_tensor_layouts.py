"""Fragments against the atoms of CUTLASS, as the package tensor-layouts has transcribed them."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

import numpy as np
import pytest

from ptxlab import Instruction, PtxlabError, instruction
from ptxlab.isa.layout import Layout
from tests.cases import each

tensor_layouts = pytest.importorskip("tensor_layouts", reason="tensor-layouts is not installed")


@cache
def atoms() -> dict[str, Any]:
    """CUTLASS's atoms by name, of which one warp or warpgroup computes one product."""
    return {
        atom.name: atom for atom in mma_atoms() if atom.ptx and atom.thr_id is None and _is_known(atom.ptx)
    }


def mma_atoms() -> list[Any]:
    from tensor_layouts import atoms_nv

    return [atom for atom in vars(atoms_nv).values() if type(atom).__name__ == "MMAAtom"]


def _is_known(ptx: str) -> bool:
    """tcgen05 is not, nor is what CUTLASS builds from several instructions."""
    try:
        instruction(ptx)
    except PtxlabError:
        return False
    return True


#: Its strides reach 160 of the 256 elements of B; the manual's formula reaches all, and ours equals it.
MALFORMED = ("SM80_16x8x32_S32S4S4S32_TN", "B")


def same(ours: Layout, theirs: Any) -> bool:
    converted = tensor_layouts.Layout(*(ast.literal_eval(part) for part in ours.cute.split(":")))
    return all(converted(lane, i) == theirs(lane, i) for lane, i in np.ndindex(ours.lanes, ours.elements))


@pytest.mark.slow
def test_there_are_atoms_to_compare_with() -> None:
    families = {instruction(atom.ptx).family for atom in atoms().values()}
    assert len(atoms()) >= 20 and "mma" in families


@pytest.mark.slow
@each("name", atoms)
def test_fragments_are_those_of_cutlass(name: str) -> None:
    atom: Any = atoms()[name]
    ins = instruction(atom.ptx)
    assert isinstance(ins, Instruction)
    ins = ins.a_from("shared") if name.endswith("_SS") else ins
    b = ins.b.layout.T if ins.b.layout is not None else None
    for operand, layout, theirs in (
        ("A", ins.a.layout, atom.a_layout),
        ("B", b, atom.b_layout),
        ("C", ins.c.layout, atom.c_layout),
    ):
        if (name, operand) == MALFORMED:
            reached = {theirs(lane, i) for lane in range(32) for i in range(8)}
            assert len(reached) < 256, "it has been corrected: compare it"
        elif layout is not None:
            assert same(layout, theirs), f"{operand}: {layout.cute}, there {theirs}"


def quad_pair_atoms() -> list[Any]:
    return [atom for atom in mma_atoms() if "m8n8k4" in atom.ptx and "f16" in atom.ptx]


@pytest.mark.parametrize("atom", quad_pair_atoms(), ids=lambda atom: str(atom.name))
def test_quad_pairs_are_those_of_cutlass(atom: Any) -> None:
    """The atom has the eight lanes of the first quad pair; of our stacked matrices that is the first."""
    ins = instruction(atom.ptx)
    for operand, theirs in ((ins.a, atom.a_layout), (ins.b, atom.b_layout), (ins.c, atom.c_layout)):
        coords = operand.coords()
        for thread in range(8):
            for i in range(coords.shape[1]):
                row, column = coords[atom.thr_id(thread), i].tolist()
                expected = column + 8 * row if operand.name == "B" else row + 8 * column
                assert theirs(thread, i) == expected, (operand.name, thread, i)
