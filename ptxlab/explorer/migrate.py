"""What stays on the bench when the instruction changes, and what is said of the rest.

Of A, B and C the common top left block stays, with zeros around it, so that the product of what was kept is still the same.
Where both instructions have the very same operand its registers stay, to the last ignored bit. A matrix that nobody has touched since
the bench was opened is worth nothing: the new instruction has its own random one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..isa.dtypes import DType
from ..isa.mma import MmaForm
from ..isa.modifiers import Modifiers
from .history import State
from .parse_cell import reach
from .state import Bench

__all__ = ["carried", "fitted"]

Codes = NDArray[Any]


def carried(old: Bench, new: Bench, chips: Sequence[str] | None = None) -> list[str]:
    """Put on a new bench what can be kept of an old one; a short sentence for everything that is not what it was.

    `chips` are those that the new one can take D from, where they are not just its models.

    >>> import ptxlab
    >>> old = Bench(ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"))
    >>> old.set_values("A", np.full((16, 32), 9))
    >>> new = Bench(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> for said in carried(old, new)[:2]:
    ...     print(said)
    A: 512 values brought into -8..7 of s4
    A: columns 32..63 are new and zero
    >>> new.values("A")[0, 30:34].tolist()
    [7, 7, 0, 0]
    """
    said: list[str] = []
    held = dict(new.state.held)
    _keep_chips(old, new, new.chips if chips is None else chips, said)
    first = Bench(old.ins, old.seed)
    for name in ("A", "B", "C"):
        kept = _as_they_are(old, new, name)
        held |= kept or ({} if _untouched(old, first, name) else _block(old, new, name, said))
    for name in ("SFA", "SFB"):
        held |= _scales(old, new, name, said)
    new.restore(State(held, _options(old, new, said)))
    return said


def _keep_chips(old: Bench, new: Bench, chips: Sequence[str], said: list[str]) -> None:
    """Whose D is shown and compared, where somebody chose it and the new instruction has a model of it."""
    if old.chip != old.chips[0]:
        if old.chip in chips:
            new.chip = old.chip
        else:
            said.append(f"D is by {new.chip}: {old.chip} has no model of this instruction")
    if old.against in chips:
        new.against = old.against
    elif old.against is not None:
        said.append(f"D is compared with nothing: {old.against} has no model of this instruction")


# -- registers that stay ------------------------------------------------------------------------------------------------


def _as_they_are(old: Bench, new: Bench, name: str) -> dict[str, Codes]:
    """Registers of an operand that both have alike; of sparse A with its metadata, if that is legal."""
    names = ("A", "E") if name == "A" and (old.ins.sparse or new.ins.sparse) else (name,)
    ours, theirs = new.ins.operands, old.ins.operands
    if any(ours.get(each) != theirs.get(each) for each in names) or old.ins.structure != new.ins.structure:
        return {}
    if "E" in names and not _legal(new.ins, old.codes("E")).all():
        return {}
    return {each: old.state.held[each] for each in names}


def _untouched(old: Bench, first: Bench, name: str) -> bool:
    """Whether a matrix is still the one that the bench began with."""
    names = ("A", "E") if name == "A" and old.ins.sparse else (name,)
    return all(np.array_equal(old.state.held[each], first.state.held[each]) for each in names)


def _legal(ins: MmaForm, nibbles: Codes) -> NDArray[np.bool_]:
    """Which nibbles the instruction takes."""
    return np.isin(nibbles, list(ins.nibbles))


# -- matrices -------------------------------------------------------------------------------------------------------------


def _block(old: Bench, new: Bench, name: str, said: list[str]) -> dict[str, Codes]:
    """Registers of a matrix whose top left block is the old one's."""
    source, target = old.operand(name), new.operand(name)
    alone = (
        old.ins.mma_count != new.ins.mma_count
    )  # of four stacked products only the first is like the one of others
    was, room = _extent(old, name, alone), _extent(new, name, alone)
    rows, columns = min(was[0], room[0]), min(was[1], room[1])
    codes, values = old.codes(name), _wide(old.values(name))
    kept = (
        codes[:rows, :columns]
        if source.dtype == target.dtype
        else fitted(target.dtype, values[:rows, :columns])
    )
    matrix = np.zeros(target.shape, dtype=target.dtype.code_type)
    matrix[:rows, :columns] = kept
    said += _changes(name, target.dtype, values[:rows, :columns], _wide(target.dtype.decode(kept)))
    left_out = np.ones(values.shape, dtype=np.bool_)
    left_out[:rows, :columns] = False
    if (left_out & (values != 0)).any():
        said.append(f"{name}: {_lines(rows, columns, source.shape)} do not fit and are left out")
    if target.shape != (rows, columns) and (values[:rows, :columns] != 0).any():
        said.append(f"{name}: {_lines(rows, columns, target.shape)} are new and zero")
    if name == "A" and new.ins.sparse:
        return _compressed(old, new, matrix, said)
    return {name: target.pack_codes(matrix)}


def _extent(bench: Bench, name: str, alone: bool) -> tuple[int, int]:
    ins = bench.ins
    return (
        {"A": (ins.m, ins.k), "B": (ins.k, ins.n), "C": (ins.m, ins.n)}[name]
        if alone
        else bench.operand(name).shape
    )


def _lines(rows: int, columns: int, shape: tuple[int, int]) -> str:
    """``rows 16..63 and columns 8..15``, of a matrix outside of a block."""
    edges = (("rows", rows, shape[0]), ("columns", columns, shape[1]))
    return " and ".join(f"{what} {first}..{size - 1}" for what, first, size in edges if first < size)


def _compressed(old: Bench, new: Bench, codes: Codes, said: list[str]) -> dict[str, Codes]:
    """Stored half and metadata of a dense A, pruned where it breaks the structure; nibbles that can still tell it stay."""
    ins, structure, e, kind = new.ins, new.ins.structure, new.ins.e, new.ins.a.dtype
    if structure is None or e is None:
        return {}
    values = kind.decode(codes)
    lost = (values != 0) & (ins.prune(values) == 0)
    if lost.any():
        said.append(f"A: {int(lost.sum())} of {int((values != 0).sum())} values pruned to {structure.title}")
        codes = np.where(lost, codes.dtype.type(0), codes)
    stored, nibbles = structure.compress(codes, kind.decode(codes) == 0)
    if old.ins.structure == structure:
        before = old.codes("E")
        rows, chunks = min(len(before), len(nibbles)), min(before.shape[1], nibbles.shape[1])
        hint = nibbles.copy()
        there = slice(rows), slice(chunks)
        hint[there] = np.where(_legal(ins, before)[there], before[there], nibbles[there])
        taken = np.take_along_axis(codes, structure.positions(hint, ins.metadata_ordered), axis=1)
        told = (ins.expand(taken, hint) == codes).reshape(*nibbles.shape, structure.chunk).all(axis=-1)
        stored = np.where(np.repeat(told, structure.keep * structure.group, axis=1), taken, stored)
        nibbles = np.where(told, hint, nibbles)
    return {"A": ins.a.pack_codes(stored), "E": e.pack_codes(nibbles)}


# -- numbers --------------------------------------------------------------------------------------------------------------


def _wide(values: Codes) -> NDArray[np.float64]:
    """Values as float64, which holds those of every type."""
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return values.astype(np.float64)


def fitted(kind: DType, values: NDArray[np.float64]) -> Codes:
    """Codes of the nearest values that a type has: to nearest even, never beyond its largest; 0 for a NaN that it has not.

    >>> from ptxlab import dtype
    >>> dtype("s4").decode(fitted(dtype("s4"), np.array([2.5, -99, np.nan, np.inf]))).tolist()
    [2, -8, 0, 7]
    >>> dtype("e4m3").decode(fitted(dtype("e4m3"), np.array([0.3, 1e9]))).tolist()
    [0.3125, 448.0]
    """
    least, most, infinite, nans = reach(kind)
    near = np.where(np.isnan(values) & (not nans), 0.0, values)
    near = np.where(
        np.isinf(near) & infinite, near, np.where(near <= least, least, np.where(near >= most, most, near))
    )
    return kind.encode(near if kind.is_float else np.rint(near))


def _changes(
    name: str, kind: DType, before: NDArray[np.float64], after: NDArray[np.float64]
) -> Iterable[str]:
    """What became of values that a type does not have."""
    changed = ~((before == after) | (np.isnan(before) & np.isnan(after)))
    if not changed.any():
        return
    least, most, *_ = reach(kind)
    lost, beyond = np.isnan(before), (before < least) | (before > most)
    ends = f"{least:g}..{most:g}" if abs(least) < 1e4 and most < 1e4 else "the range"
    for which, what in (
        (changed & beyond, f"brought into {ends} of {kind}"),
        (changed & ~beyond & ~lost, f"rounded to {kind}"),
    ):
        if which.any():
            yield f"{name}: {_count(which)} {what}"
    if (changed & lost).any():
        yield f"{name}: {int((changed & lost).sum())} NaN became 0, {kind} has none"


def _count(which: NDArray[np.bool_]) -> str:
    count = int(which.sum())
    return f"{count} value{'s' * (count != 1)}"


# -- scale factors and modifiers ------------------------------------------------------------------------------------------


def _scales(old: Bench, new: Bench, name: str, said: list[str]) -> dict[str, Codes]:
    """Scale factors, each for the k that it scaled before."""
    before, after = old.ins.operands.get(name), new.ins.operands.get(name)
    if before is None or old.ins.scale_vec is None:
        return {}
    values = _wide(old.values(name))
    if after is None or new.ins.scale_vec is None:
        if (values != 1).any():
            said.append(f"{name}: this instruction has no block scales")
        return {}
    if before == after and old.ins.k == new.ins.k:
        return {name: old.state.held[name]}
    values = values if name == "SFA" else values.T
    fine, coarse = old.ins.k // old.ins.scale_vec, new.ins.k // new.ins.scale_vec
    first = np.arange(new.ins.scale_vec) * coarse
    there = first < old.ins.k
    chosen = np.where(there, values[:, np.where(there, first // fine, 0)], 1.0)
    codes = fitted(after.dtype, chosen)
    spread = np.repeat(values, fine, axis=1)[:, : new.ins.k]
    now = np.repeat(_wide(after.dtype.decode(codes)), coarse, axis=1)[:, : spread.shape[1]]
    wrong = (now != spread) & ~(np.isnan(now) & np.isnan(spread))
    if wrong.any():
        blocks = {(int(row), int(k) // coarse) for row, k in np.argwhere(wrong)}
        said.append(f"{name}: {len(blocks)} of {codes.size} scale factors are not what they were")
    return {name: after.pack_codes(codes if name == "SFA" else codes.T)}


def _options(old: Bench, new: Bench, said: list[str]) -> dict[str, Any]:
    """Modifiers of the same name, where the new instruction takes them."""
    kept = dict(new.options)
    for name, value in old.options.items():
        legal = new.ins.modifiers[name]
        if name in kept and value in legal:
            kept[name] = value
        elif value != getattr(Modifiers, name):
            now = kept.get(name, legal[0])
            said.append(
                f"{name.replace('_', '-')} is {str(now).lower()} again: this instruction does not take {str(value).lower()}"
            )
    return kept
