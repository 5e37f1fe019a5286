"""What is kept when another instruction is chosen, and a notice for everything that is not.

A, B and C keep their common top left block, with zeros around it, so that the product of what was kept stays
the same. An operand that both instructions have keeps its registers, including ignored bits. A matrix that
was never edited is not kept: the new instruction starts with its own random one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, counted, error_of
from ..isa.catalog import Product
from ..isa.dtypes import DType
from ..isa.modifiers import Modifiers
from ..isa.operand import MatrixOperand
from .cells.parse_cell import value_range
from .documents.forms import AnyTransfer
from .documents.masks import option_names
from .documents.product_document import with_option
from .documents.start import first_transfer
from .documents.transfer_document import TransferDocument
from .state import ExplorerState

Array = NDArray[Any]


def migrate_operands(old: ExplorerState, new: ExplorerState) -> list[str]:
    """Copy what fits from an old state into a new one; returns a short notice for everything that changed.

    >>> import ptxlab
    >>> from ptxlab.explorer.edits import SetValues
    >>> old = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"))
    >>> SetValues("A", np.full((16, 32), 9)).apply(old)
    >>> new = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> for notice in migrate_operands(old, new)[:2]:
    ...     print(notice)
    A: 512 values clamped to -8..7 (s4)
    A: columns 32..63 are new and zero
    >>> new.values("A")[0, 30:34].tolist()
    [7, 7, 0, 0]
    """
    notices: list[str] = []
    _keep_chips(old, new, notices)
    arrays: dict[str, Array] = {}
    untouched = ExplorerState(old.ins, old.seed)
    for name in ("A", "B", "C"):
        kept = _same_registers(old, new, name)
        if not kept and not _is_untouched(old, untouched, name):
            kept = _common_block(old, new, name, notices)
        arrays |= kept
    for name in ("SFA", "SFB"):
        arrays |= _scales(old, new, name, notices)
    modifiers = _modifiers(old, new, notices)
    operation = new.operation.with_arrays(arrays).with_modifiers(**vars(modifiers))
    new.commit(new.product.with_operation(operation))
    return notices


def migrate_transfer(transfer: TransferDocument, ins: AnyTransfer) -> TransferDocument:
    """Another transfer with the edited words that both have; the location stays if the new one takes it."""
    if ins == transfer.ins:
        return transfer
    untouched, new = (first_transfer(form, seed=transfer.seed) for form in (transfer.ins, ins))
    if transfer.ins.family == ins.family and transfer.a.dtype == new.a.dtype:
        if transfer.element in new.elements:
            new = new.with_element(transfer.element)
        for name, codes in transfer.arrays.items():
            if (codes != untouched.codes(name)).any():
                new = new.with_codes(name, _overlaid(new.codes(name), codes, new.dtype(name)))
    if transfer.location_names != new.location_names:
        return new
    attempts = [transfer.location]
    if len(transfer.location) == 3:
        attempts.append((0, transfer.location[1], None))
    for location in attempts:
        with contextlib.suppress(PtxlabError):
            return new.with_location(*location)
    return new


def _overlaid(codes: Array, earlier: Array, dtype: DType) -> Array:
    """Codes whose common top left block is that of earlier ones."""
    rows, columns = (min(pair) for pair in zip(codes.shape, earlier.shape, strict=True))
    result = codes.copy()
    result[:rows, :columns] = earlier[:rows, :columns] & codes.dtype.type((1 << dtype.bits) - 1)
    return result


def _keep_chips(old: ExplorerState, new: ExplorerState, notices: list[str]) -> None:
    """Keep the chosen chips for which the new instruction has a model."""
    if new.chip_choice.why_no_model:
        notices.append(f"D is empty: {new.chip_choice.why_no_model}")
        return
    chip, against = new.chip_choice.chip, None
    available = new.chip_choice.available
    if old.chip_choice.chip != old.chip_choice.first:
        if old.chip_choice.chip in available:
            chip = old.chip_choice.chip
        else:
            notices.append(
                f"D is computed by {chip}: there is no {old.chip_choice.chip} model of this instruction"
            )
    if old.chip_choice.against in available:
        against = old.chip_choice.against
    elif old.chip_choice.against is not None:
        notices.append(
            f"D is no longer compared: there is no {old.chip_choice.against} model of this instruction"
        )
    new.choose_chips(chip, against)


# -- registers that stay ---------------------------------------------------------------------------------


def _same_registers(old: ExplorerState, new: ExplorerState, name: str) -> dict[str, Array]:
    """Registers of an operand that both instructions have; those of sparse A include legal metadata."""
    sparse = old.ins.sparse or new.ins.sparse
    names = ("A", "E") if name == "A" and sparse else (name,)
    new_inputs, old_inputs = _inputs(new.ins), _inputs(old.ins)
    if (
        any(new_inputs.get(matrix) != old_inputs.get(matrix) for matrix in names)
        or old.ins.structure != new.ins.structure
    ):
        return {}
    if "E" in names and not _is_legal(new.ins, old.codes("E")).all():
        return {}
    arrays = old.operation.arrays
    return {matrix: arrays[matrix] for matrix in names}


def _inputs(ins: Product) -> dict[str, MatrixOperand]:
    """The operands that an instruction reads, by name."""
    return {operand.name: operand for operand in ins.inputs.values()}


def _is_untouched(old: ExplorerState, untouched: ExplorerState, name: str) -> bool:
    """Whether a matrix is still the one that the state started with."""
    names = ("A", "E") if name == "A" and old.ins.sparse else (name,)
    arrays, first = old.operation.arrays, untouched.operation.arrays
    return all(np.array_equal(arrays[matrix], first[matrix]) for matrix in names)


def _is_legal(ins: Product, nibbles: Array) -> NDArray[np.bool_]:
    """Which nibbles the instruction takes."""
    return np.isin(nibbles, list(ins.nibbles))


# -- matrices --------------------------------------------------------------------------------------------


def _common_block(old: ExplorerState, new: ExplorerState, name: str, notices: list[str]) -> dict[str, Array]:
    """Registers of a matrix with the top left block of the old one."""
    source, target = old.operation.operand(name), new.operation.operand(name)
    # Of four stacked products only the first corresponds to the one product of other instructions.
    first_product_only = old.ins.mma_count != new.ins.mma_count
    old_size, new_size = (_size(state, name, first_product_only) for state in (old, new))
    rows, columns = min(old_size[0], new_size[0]), min(old_size[1], new_size[1])
    block = slice(rows), slice(columns)
    codes, values = old.codes(name), _as_float64(old.values(name))
    kept = codes[block] if source.dtype == target.dtype else nearest_codes(target.dtype, values[block])
    matrix = np.zeros(target.shape, dtype=target.dtype.code_type)
    matrix[block] = kept
    notices += _value_changes(name, target.dtype, values[block], _as_float64(target.dtype.decode(kept)))
    outside = np.ones(values.shape, dtype=np.bool_)
    outside[block] = False
    if (outside & (values != 0)).any():
        notices.append(f"{name}: {_outside(rows, columns, source.shape)} do not fit and were dropped")
    if target.shape != (rows, columns) and (values[block] != 0).any():
        notices.append(f"{name}: {_outside(rows, columns, target.shape)} are new and zero")
    if name == "A" and new.ins.sparse:
        return _compressed(old, new, matrix, notices)
    return {name: target.pack_codes(matrix)}


def _size(state: ExplorerState, name: str, first_product_only: bool) -> tuple[int, int]:
    ins = state.ins
    if not first_product_only:
        return state.operation.operand(name).shape
    return {"A": (ins.m, ins.k), "B": (ins.k, ins.n), "C": (ins.m, ins.n)}[name]


def _outside(rows: int, columns: int, shape: tuple[int, int]) -> str:
    """``rows 16..63 and columns 8..15``: the part of a matrix outside a block."""
    edges = (("rows", rows, shape[0]), ("columns", columns, shape[1]))
    return " and ".join(f"{axis} {first}..{size - 1}" for axis, first, size in edges if first < size)


def _compressed(old: ExplorerState, new: ExplorerState, codes: Array, notices: list[str]) -> dict[str, Array]:
    """Compressed A and metadata, pruned where the structure breaks; nibbles that still fit are kept."""
    ins, structure, e, dtype = new.ins, new.ins.structure, new.ins.e, new.ins.a.dtype
    if structure is None or e is None:
        return {}
    values = dtype.decode(codes)
    pruned = (values != 0) & (ins.prune(values) == 0)
    if pruned.any():
        count = int((values != 0).sum())
        notices.append(f"A: {int(pruned.sum())} of {count} values pruned to {structure.title} sparsity")
        codes = np.where(pruned, codes.dtype.type(0), codes)
    stored, nibbles = structure.compress(codes, dtype.decode(codes) == 0)
    if old.ins.structure == structure:
        before = old.codes("E")
        common = slice(min(len(before), len(nibbles))), slice(min(before.shape[1], nibbles.shape[1]))
        wanted = nibbles.copy()
        wanted[common] = np.where(_is_legal(ins, before)[common], before[common], nibbles[common])
        taken = np.take_along_axis(codes, structure.positions(wanted, ins.metadata_ordered), axis=1)
        equal = ins.expand(taken, wanted) == codes
        described = equal.reshape(*nibbles.shape, structure.chunk).all(axis=-1)
        stored = np.where(np.repeat(described, structure.keep * structure.group, axis=1), taken, stored)
        nibbles = np.where(described, wanted, nibbles)
    return {"A": ins.a.pack_codes(stored), "E": e.pack_codes(nibbles)}


# -- numbers ---------------------------------------------------------------------------------------------


def _as_float64(values: Array) -> NDArray[np.float64]:
    """Values as float64, which holds those of every type."""
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return values.astype(np.float64)


def nearest_codes(dtype: DType, values: NDArray[np.float64]) -> Array:
    """The codes of the nearest values of a type: ties to even, clamped, and 0 for NaN where it has none.

    >>> from ptxlab import dtype
    >>> dtype("s4").decode(nearest_codes(dtype("s4"), np.array([2.5, -99, np.nan, np.inf]))).tolist()
    [2, -8, 0, 7]
    >>> dtype("e4m3").decode(nearest_codes(dtype("e4m3"), np.array([0.3, 1e9]))).tolist()
    [0.3125, 448.0]
    """
    least, most, infinite, nan = value_range(dtype)
    nearest = values if nan else np.where(np.isnan(values), 0.0, values)
    clamped = np.where(nearest <= least, least, np.where(nearest >= most, most, nearest))
    if infinite:
        clamped = np.where(np.isinf(nearest), nearest, clamped)
    return dtype.encode(clamped if dtype.is_float else np.rint(clamped))


def _value_changes(
    name: str, dtype: DType, before: NDArray[np.float64], after: NDArray[np.float64]
) -> Iterable[str]:
    """What became of values that a type cannot hold."""
    changed = ~((before == after) | (np.isnan(before) & np.isnan(after)))
    if not changed.any():
        return
    least, most, *_ = value_range(dtype)
    lost_nan, out_of_range = np.isnan(before), (before < least) | (before > most)
    limits = f"{least:g}..{most:g} ({dtype})" if abs(least) < 1e4 and most < 1e4 else f"the range of {dtype}"
    clamped = int((changed & out_of_range).sum())
    rounded = int((changed & ~out_of_range & ~lost_nan).sum())
    nans = int((changed & lost_nan).sum())
    if clamped:
        yield f"{name}: {counted(clamped, 'value')} clamped to {limits}"
    if rounded:
        yield f"{name}: {counted(rounded, 'value')} rounded to {dtype}"
    if nans:
        yield f"{name}: {nans} NaN became 0 because {dtype} has no NaN"


# -- scale factors and modifiers -------------------------------------------------------------------------


def _scales(old: ExplorerState, new: ExplorerState, name: str, notices: list[str]) -> dict[str, Array]:
    """Scale factors at the rows, columns and k that they scaled before; new ones are 1."""
    before, after = _inputs(old.ins).get(name), _inputs(new.ins).get(name)
    if before is None or old.ins.scale_vec is None:
        return {}
    values = _as_float64(old.values(name))
    if after is None or new.ins.scale_vec is None:
        if (values != 1).any():
            notices.append(f"{name}: dropped, this instruction has no block scales")
        return {}
    if before == after and old.ins.k == new.ins.k:
        return {name: old.operation.arrays[name]}
    values = values if name == "SFA" else values.T
    lines = after.shape[0] if name == "SFA" else after.shape[1]
    values = np.pad(values[:lines], ((0, max(0, lines - len(values))), (0, 0)), constant_values=1.0)
    old_block, new_block = old.ins.k // old.ins.scale_vec, new.ins.k // new.ins.scale_vec
    first_k = np.arange(new.ins.scale_vec) * new_block
    inside = first_k < old.ins.k
    chosen = np.where(inside, values[:, np.where(inside, first_k // old_block, 0)], 1.0)
    codes = nearest_codes(after.dtype, chosen)
    scales_before = np.repeat(values, old_block, axis=1)[:, : new.ins.k]
    scales_after = np.repeat(_as_float64(after.dtype.decode(codes)), new_block, axis=1)
    scales_after = scales_after[:, : scales_before.shape[1]]
    changed = (scales_after != scales_before) & ~(np.isnan(scales_after) & np.isnan(scales_before))
    if changed.any():
        blocks = {(int(row), int(k) // new_block) for row, k in np.argwhere(changed)}
        notices.append(f"{name}: {len(blocks)} of {codes.size} scale factors changed")
    return {name: after.pack_codes(codes if name == "SFA" else codes.T)}


def _modifiers(old: ExplorerState, new: ExplorerState, notices: list[str]) -> Modifiers:
    """The old modifiers that the new instruction takes."""
    kept = {}
    legal, offered = new.ins.modifiers, option_names(new.ins)
    for name, value in old.options.items():
        if name in legal:
            fits = value in legal[name]
        else:
            fits = not error_of(with_option, new.operation, name, value)
        if name in offered and fits:
            kept[name] = value
        elif value != getattr(Modifiers, name):
            default = getattr(new.operation.modifiers, name)
            notices.append(
                f"{name.replace('_', '-')} is back to {str(default).lower()}: "
                f"this instruction does not take {str(value).lower()}"
            )
    return replace(new.operation.modifiers, **kept)
