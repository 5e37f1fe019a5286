"""Edits that are refused: where, why, and what could be done instead. Dense A of a sparse instruction, which is where it happens most."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError
from ..isa.mma import MmaForm
from .parse_cell import written

__all__ = ["Broken", "Refused", "compressed", "keeping", "undefined"]


class Refused(PtxlabError):
    """A refused edit, with the cells at fault: each (row, first column, last column).

    >>> Refused("A[0][1]: found 9; s4 holds -8..7", "A", [(0, 1, 1)], "9").offer["spots"]
    [[0, 1, 1]]
    """

    def __init__(
        self, sentence: str, name: str, spots: Iterable[tuple[int, int, int]], text: str = ""
    ) -> None:
        super().__init__(sentence)
        self.name = name
        self.spots = [tuple(int(index) for index in spot) for spot in spots]
        self.text = text  # as it was typed into one cell,
        self.cell: tuple[int, ...] = ()  # and into which

    @property
    def offer(self) -> dict[str, Any]:
        """What the page shows at the cells: the sentence, and what can be done."""
        spots = [list(spot) for spot in self.spots]
        return {
            "name": self.name,
            "sentence": str(self),
            "spots": spots,
            "text": self.text,
            "cell": list(self.cell),
            "prune": "",
            "then": "",
        }


class Broken(Refused):
    """An edit that would break the structure of sparse A: the codes it would have made, and the same pruned so that the structure holds."""

    def __init__(
        self,
        sentence: str,
        spots: Iterable[tuple[int, int, int]],
        codes: NDArray[Any],
        pruned: NDArray[Any],
        then: str,
        text: str = "",
    ) -> None:
        super().__init__(sentence, "A", spots, text)
        self.codes, self.pruned, self.then = codes, pruned, then

    @property
    def offer(self) -> dict[str, Any]:
        """With the words of the button that prunes, and what pruning makes of the first chunk."""
        count = len(self.spots)
        return {
            **super().offer,
            "prune": "Prune this chunk" if count == 1 else f"Prune all {count} chunks",
            "then": self.then,
        }


def compressed(
    ins: MmaForm,
    codes: NDArray[Any],
    before: NDArray[Any] | None = None,
    typed: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Stored half and nibbles of dense A; refused where its structure breaks. Chunks that the nibbles `before` can still tell keep them."""
    structure, kind = ins.structure, ins.a.dtype
    if structure is None:
        raise PtxlabError(f"{ins.mnemonic} is dense: A is stored as it is")
    try:  # a negative zero, or a zero with ignored bits set, is kept where there is room for it
        stored, nibbles = structure.compress(codes, codes == 0)
    except PtxlabError:
        try:
            stored, nibbles = structure.compress(codes, kind.decode(codes) == 0)
        except PtxlabError as error:
            raise _broken(ins, codes, typed, str(error)) from None
    if before is None:
        return stored, nibbles
    kept = np.take_along_axis(codes, structure.positions(before, ins.metadata_ordered), axis=1)
    told = (ins.expand(kept, before) == codes).reshape(*before.shape, structure.chunk).all(axis=-1)
    width = structure.keep * structure.group
    return np.where(np.repeat(told, width, axis=1), kept, stored), np.where(told, before, nibbles)


def keeping(ins: MmaForm, codes: NDArray[Any], typed: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """Codes of dense A in which every chunk that broke the structure holds it again.

    What was typed stays first, then the largest groups, as `ins.prune` chooses them; chunks that were whole stay as they are.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> values = np.zeros((16, 16))
    >>> values[0, :4] = 1, 5, 0, 7
    >>> typed = np.zeros((16, 16), dtype=bool)
    >>> typed[0, 0] = True
    >>> ins.a.dtype.decode(keeping(ins, ins.a.dtype.encode(values), typed))[0, :4].tolist()
    [1.0, 0.0, 0.0, 7.0]
    """
    structure = ins.structure
    if structure is None:
        return codes
    values = ins.a.dtype.decode(codes).astype(np.float64)
    shape = (codes.shape[0], -1, structure.groups, structure.group)
    chosen = np.zeros(values.shape, dtype=np.bool_) if typed is None else typed & (values != 0)
    with np.errstate(over="ignore", invalid="ignore"):
        weight = (values.reshape(shape) ** 2).sum(axis=-1)
    weight = np.where(np.isnan(weight), np.inf, weight)
    order = np.lexsort((-weight, ~chosen.reshape(shape).any(axis=-1)), axis=-1)
    kept = np.zeros(weight.shape, dtype=np.bool_)
    np.put_along_axis(kept, order[..., : structure.keep], True, axis=-1)
    kept |= ~structure.violations(values)[..., None]
    return np.where(
        np.repeat(kept, structure.group, axis=-1).reshape(codes.shape), codes, codes.dtype.type(0)
    )


def _broken(ins: MmaForm, codes: NDArray[Any], typed: NDArray[np.bool_] | None, sentence: str) -> PtxlabError:
    """The refusal of a dense A that breaks the structure."""
    structure, kind = ins.structure, ins.a.dtype
    if structure is None:
        return PtxlabError(sentence)
    wide = structure.chunk
    spots = [
        (row, chunk * wide, chunk * wide + wide - 1)
        for row, chunk in np.argwhere(structure.violations(kind.decode(codes)))
    ]
    pruned = keeping(ins, codes, typed)
    row, first, last = spots[0]
    words = [
        " ".join(written(value) for value in kind.decode(made[row, first : last + 1]))
        for made in (codes, pruned)
    ]
    return Broken(f"A: {sentence}", spots, codes, pruned, f"{words[0]} → {words[1]}")


def undefined(ins: MmaForm, nibbles: NDArray[Any], sentence: str) -> PtxlabError:
    """The refusal of metadata in which some nibbles mean nothing."""
    if ins.structure is None:
        return PtxlabError(sentence)
    return Refused(
        sentence,
        "E",
        [(row, chunk, chunk) for row, chunk in np.argwhere(~np.isin(nibbles, list(ins.nibbles)))],
    )
