"""Registers in, registers out, bit for bit as the chip gives them, without the chip."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import arithmetic
from .errors import PtxlabError, listing
from .instruction import Instruction, Modifiers

__all__ = ["emulate"]

#: Chips that `model=` names, with the target that stands for each.
CHIPS = {"sm_90": "sm_90a", "sm_120": "sm_120a"}


def emulate(
    ins: Instruction,
    a: ArrayLike,
    b: ArrayLike,
    c: ArrayLike,
    e: ArrayLike | None = None,
    *,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    model: str | None = None,
    modifiers: Modifiers | None = None,
) -> NDArray[Any]:
    """See `Instruction.emulate`."""
    modifiers = (modifiers or Modifiers()).check(ins)
    chip = _chip(ins, model)
    given = iter(ins.registers_of(a, b, c, e, scale_a, scale_b))
    a_codes, b_codes, c_codes = ins.a.unpack_codes(next(given)), ins.b.unpack_codes(next(given)), ins.c.unpack_codes(next(given))
    positions = None
    if ins.e is not None and ins.structure is not None:
        nibbles = ins.e.unpack_codes(next(given), modifiers.selector)
        positions = ins.structure.positions(nibbles, ins.metadata_ordered)
    if not modifiers.scale_d:
        c_codes = np.zeros_like(c_codes)
    if ins.scale_a is not None and ins.scale_b is not None:
        d_codes = _block_scaled(ins, chip, a_codes, b_codes, c_codes, list(given), modifiers)
    elif ins.a.dtype.is_float:
        d_codes = _float(ins, chip, a_codes, b_codes, c_codes, positions, modifiers)
    else:
        d_codes = _integer(ins, a_codes, b_codes, c_codes, positions)
    return ins.d.pack_codes(d_codes)


def _chip(ins: Instruction, model: str | None) -> str:
    have = [chip for chip, target in CHIPS.items() if ins.supports(target)]
    if model is None:
        return have[0]
    if model not in CHIPS:
        raise PtxlabError(f"unknown model {model!r}; there are {listing(CHIPS)}")
    if model not in have:
        raise PtxlabError(f"model {model!r} lacks {ins.mnemonic}; {listing(have)} has it")
    return model


def _integer(ins: Instruction, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], positions: NDArray[Any] | None) -> NDArray[Any]:
    """Sums of products fit float32 exactly: at most 64 * 255 * 255 < 2^24."""
    left = ins.a.dtype.decode(a).astype(np.float32)
    right = ins.b.dtype.decode(b).astype(np.float32)
    if positions is not None:
        dense = np.zeros((*np.broadcast_shapes(left.shape[:-1], positions.shape[:-1]), ins.k), dtype=np.float32)
        np.put_along_axis(dense, np.broadcast_to(positions, (*dense.shape[:-1], positions.shape[-1])), left, axis=-1)
        left = dense
    total = left @ right
    if ins.bit_op == "xor":
        total = left.sum(axis=-1, keepdims=True) + right.sum(axis=-2, keepdims=True) - 2 * total
    return arithmetic.integer_add(total, c, ins.satfinite)


def _float(
    ins: Instruction, chip: str, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], positions: NDArray[Any] | None, modifiers: Modifiers
) -> NDArray[Any]:
    rule = arithmetic.model_for(chip, "tf32" if ins.a_type == "tf32" else "fp8 wgmma").fused
    flip = modifiers.imm_scale_a * modifiers.imm_scale_b < 0
    if flip:  # negating A or B negates every product
        a = a ^ ins.a.dtype.code_type(1 << (ins.a.dtype.bits - 1))
    kinds = (ins.a.dtype, ins.b.dtype, ins.c.dtype, ins.d.dtype)
    return arithmetic.fused_dot(a, b, c, kinds, rule, positions)


def _block_scaled(
    ins: Instruction, chip: str, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], scales: list[NDArray[Any]], modifiers: Modifiers
) -> NDArray[Any]:
    if ins.scale_a is None or ins.scale_b is None or ins.scale_vec is None:
        raise PtxlabError(f"{ins.mnemonic} has no block scales")
    per_lane = 4 // ins.scale_vec
    copies = [thread * per_lane + byte // ins.scale_vec for thread, byte in ((modifiers.thread_id_a, modifiers.byte_id_a), (modifiers.thread_id_b, modifiers.byte_id_b))]
    sa, sb = ins.scale_a.unpack_codes(scales[0], copies[0]), ins.scale_b.unpack_codes(scales[1], copies[1])
    rule = arithmetic.model_for(chip, "e2m1").fused
    return arithmetic.block_scaled_dot(a, b, c, sa, sb, (ins.a.dtype, ins.b.dtype, ins.c.dtype, ins.scale_a.dtype), rule)
