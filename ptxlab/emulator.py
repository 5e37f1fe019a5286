"""Registers in, registers out, bit for bit as the chip gives them, without the chip."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import arithmetic
from .errors import PtxlabError, listing
from .instruction import Instruction, Modifiers

__all__ = ["chip_of", "emulate"]


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
    rule = chip_of(ins, model).rule
    given = iter(ins.registers_of(a, b, c, e, scale_a, scale_b))
    a_registers, b_registers, c_codes = next(given), next(given), ins.c.unpack_codes(next(given))
    nibbles = ins.e.unpack_codes(next(given), modifiers.selector) if ins.e is not None else None
    if not modifiers.scale_d:
        c_codes = np.zeros_like(c_codes)
    if rule == "exact":
        return ins.d.pack_codes(_integer(ins, a_registers, b_registers, c_codes, nibbles))
    a_codes, b_codes = ins.a.unpack_codes(a_registers), ins.b.unpack_codes(b_registers)
    if ins.scale_a is not None and ins.scale_b is not None and isinstance(rule, arithmetic.Fused):
        d_codes = _block_scaled(ins, rule, a_codes, b_codes, c_codes, list(given), modifiers)
    else:
        if modifiers.imm_scale_a * modifiers.imm_scale_b < 0:  # negating A or B negates every product
            a_codes = a_codes ^ ins.a.dtype.code_type(1 << (ins.a.dtype.bits - 1))
        positions = ins.structure.positions(nibbles, ins.metadata_ordered) if ins.structure and nibbles is not None else None
        kinds = (ins.a.dtype, ins.b.dtype, ins.c.dtype, ins.d.dtype)
        if isinstance(rule, arithmetic.ByWay):
            d_codes = arithmetic.dot_by_way(a_codes, b_codes, c_codes, kinds, rule, positions)
        else:
            d_codes = arithmetic.fused_dot(a_codes, b_codes, c_codes, kinds, rule, positions)
    return ins.d.pack_codes(d_codes)


def chip_of(ins: Instruction, model: str | None = None) -> arithmetic.Model:
    """The model that `emulate` uses: that of the named chip, or sm_90's, or that of the first chip that has the instruction."""
    if model is None:
        have = [chip for chip, target in arithmetic.CHIPS.items() if ins.supports(target)]
        model = "sm_90" if "sm_90" in have else have[0]
    found = arithmetic.model_for(ins.family, ins.a_type, model)
    if not ins.supports(arithmetic.CHIPS[model]):
        raise PtxlabError(f"model {model!r}: that chip lacks {ins.mnemonic}; targets that have it: {listing(ins.targets, 4)}")
    return found


def _integer(ins: Instruction, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], nibbles: NDArray[Any] | None) -> NDArray[Any]:
    """Sums of products fit float32 exactly: at most 64 * 255 * 255 < 2^24."""
    left, right = ins.a.unpack_as(a, np.float32), ins.b.unpack_as(b, np.float32)
    if ins.structure is not None and nibbles is not None:
        left = ins.structure.expand(left, nibbles, ins.metadata_ordered)
    total = left @ right
    if ins.bit_op == "xor":
        total = left.sum(axis=-1, keepdims=True) + right.sum(axis=-2, keepdims=True) - 2 * total
    return arithmetic.integer_add(total, c, ins.satfinite)


def _block_scaled(
    ins: Instruction, rule: arithmetic.Fused, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], scales: list[NDArray[Any]], modifiers: Modifiers
) -> NDArray[Any]:
    if ins.scale_a is None or ins.scale_b is None or ins.scale_vec is None:
        raise PtxlabError(f"{ins.mnemonic} has no block scales")
    chosen = (modifiers.thread_id_a, modifiers.byte_id_a), (modifiers.thread_id_b, modifiers.byte_id_b)
    copies = [thread * (4 // ins.scale_vec) + byte // ins.scale_vec for thread, byte in chosen]
    sa, sb = ins.scale_a.unpack_codes(scales[0], copies[0]), ins.scale_b.unpack_codes(scales[1], copies[1])
    return arithmetic.block_scaled_dot(a, b, c, sa, sb, (ins.a.dtype, ins.b.dtype, ins.c.dtype, ins.scale_a.dtype), rule)
