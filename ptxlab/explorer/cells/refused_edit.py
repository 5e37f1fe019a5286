"""Refused edits: where, why, and what to do instead; most break the structure of sparse A."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ...isa.operation import Operation
from ...isa.product_form import ProductForm
from ...isa.sparsity import Structure
from .parse_cell import format_value


class RefusedEdit(PtxlabError):
    """A refused edit with the cells at fault, each as (row, first column, last column).

    >>> RefusedEdit("A[0][1]: found 9; s4 holds -8..7", "A", [(0, 1, 1)], "9").serialised["cells"]
    [[0, 1, 1]]
    """

    def __init__(
        self, sentence: str, name: str, cells: Iterable[tuple[int, int, int]], text: str = ""
    ) -> None:
        super().__init__(sentence)
        self.name = name
        self.cells = [(int(row), int(first), int(last)) for row, first, last in cells]
        self.text = text  # as typed into one cell,
        self.typed_at: tuple[int, ...] = ()  # and the row and column of that cell

    @property
    def serialised(self) -> dict[str, Any]:
        """What the page shows at the cells: the sentence, and a remedy."""
        return {
            "name": self.name,
            "sentence": str(self),
            "cells": [list(cell) for cell in self.cells],
            "text": self.text,
            "typed_at": list(self.typed_at),
            "prune": "",
            "preview": "",
        }


class BrokenStructure(RefusedEdit):
    """An edit that breaks the structure of sparse A, with the edited codes, pruned."""

    def __init__(
        self,
        sentence: str,
        cells: Iterable[tuple[int, int, int]],
        pruned: NDArray[Any],
        preview: str,
    ) -> None:
        super().__init__(sentence, "A", cells)
        self.pruned, self.preview = pruned, preview

    @property
    def serialised(self) -> dict[str, Any]:
        """Adds the text of the button that prunes, and a preview of the first pruned chunk."""
        count = len(self.cells)
        button = "Prune this chunk" if count == 1 else f"Prune all {count} chunks"
        return {**super().serialised, "prune": button, "preview": self.preview}


def prune_broken_chunks(
    ins: ProductForm, codes: NDArray[Any], typed: NDArray[np.bool_] | None = None
) -> NDArray[Any]:
    """Codes of dense A with every chunk that breaks the structure pruned; other chunks stay.

    Pruning keeps typed cells first, then the largest groups, as `ins.prune` chooses them.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> values = np.zeros((16, 16))
    >>> values[0, :4] = 1, 5, 0, 7
    >>> typed = np.zeros((16, 16), dtype=bool)
    >>> typed[0, 0] = True
    >>> ins.a.dtype.decode(prune_broken_chunks(ins, ins.a.dtype.encode(values), typed))[0, :4].tolist()
    [1.0, 0.0, 0.0, 7.0]
    """
    structure = ins.structure
    if structure is None:
        return codes
    values = ins.a.dtype.decode(codes).astype(np.float64)
    by_group = (codes.shape[0], -1, structure.groups, structure.group)
    preferred = np.zeros(values.shape, dtype=np.bool_)
    if typed is not None:
        preferred = typed & (values != 0)
    weight = structure.weights(values)
    order = np.lexsort((-weight, ~preferred.reshape(by_group).any(axis=-1)), axis=-1)
    kept = np.zeros(weight.shape, dtype=np.bool_)
    np.put_along_axis(kept, order[..., : structure.keep], True, axis=-1)
    kept |= ~structure.violations(values)[..., None]
    kept_elements = np.repeat(kept, structure.group, axis=-1).reshape(codes.shape)
    return np.where(kept_elements, codes, codes.dtype.type(0))


def _broken_structure(
    ins: ProductForm, structure: Structure, codes: NDArray[Any], typed: NDArray[np.bool_] | None, what: str
) -> BrokenStructure:
    """The refusal of codes of dense A that break its structure."""
    dtype, width = ins.a.dtype, structure.chunk
    broken = np.argwhere(structure.violations(dtype.decode(codes)))
    cells = [(row, chunk * width, chunk * width + width - 1) for row, chunk in broken]
    pruned = prune_broken_chunks(ins, codes, typed)
    row, first, last = cells[0]
    before, after = (
        " ".join(format_value(value) for value in dtype.decode(matrix[row, first : last + 1]))
        for matrix in (codes, pruned)
    )
    return BrokenStructure(f"A: {what}", cells, pruned, f"{before} → {after}")


def with_codes(
    operation: Operation,
    name: str,
    codes: NDArray[Any],
    *,
    typed: NDArray[np.bool_] | None = None,
    keep_metadata: bool = True,
) -> Operation:
    """The operation with another matrix; codes that break the structure of sparse A are a `BrokenStructure`.

    `typed` marks the cells that were typed, which pruning would keep first.
    """
    try:
        return operation.with_codes(name, codes, keep_metadata=keep_metadata)
    except PtxlabError as error:
        ins, structure = operation.ins, operation.ins.structure
        if name != "A" or structure is None or codes.shape != ins.a_dense.shape:
            raise
        if not structure.violations(ins.a.dtype.decode(ins.a_dense.check_codes(codes))).any():
            raise
        raise _broken_structure(ins, structure, codes, typed, str(error)) from None


def undefined_metadata(ins: ProductForm, nibbles: NDArray[Any], sentence: str) -> RefusedEdit:
    """The refusal of metadata with undefined nibbles."""
    undefined = np.argwhere(~np.isin(nibbles, list(ins.nibbles)))
    return RefusedEdit(sentence, "E", [(row, chunk, chunk) for row, chunk in undefined])
