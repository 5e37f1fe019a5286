"""Registers in, registers out, bit for bit as the chip gives them, without the chip."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import arithmetic
from .errors import PtxlabError
from .instruction import Instruction, Modifiers
from .parallel import part_of, spread

__all__ = ["chip_of", "emulate", "scales_of"]

#: Products that a thread works on at once: few enough to stay in its cache, and a large batch takes no more memory than a small one.
_AT_ONCE = {"exact": 1 << 23, "rounded": 1 << 20}


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
    """See `Instruction.emulate`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> ones = np.full((32, 4), 0x11111111), np.full((32, 2), 0x11111111)
    >>> emulate(ins, *ones, np.zeros((32, 4), dtype=np.uint32))[5]
    array([64, 64, 64, 64], dtype=uint32)
    """
    modifiers = (modifiers or Modifiers()).check(ins)
    rule = chip_of(ins, model).rule
    given = ins.registers_of(a, b, c, e, scale_a, scale_b)
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in given))
    count = int(np.prod(batch, dtype=np.int64))
    out = np.empty((count, ins.d.lanes, ins.d.registers), dtype=ins.d.register_type)
    step = max(1, _AT_ONCE["exact" if rule == "exact" else "rounded"] // (ins.d.shape[0] * ins.d.shape[1] * ins.k))

    def work(first: int) -> None:
        part = slice(first, min(first + step, count))
        out[part] = _emulate(ins, rule, [part_of(x, batch, part) for x in given], modifiers)

    spread(work, range(0, count, step))
    return out.reshape(*batch, *out.shape[1:])


def _emulate(ins: Instruction, rule: arithmetic.Rule, registers: list[NDArray[Any]], modifiers: Modifiers) -> NDArray[Any]:
    """One part of a batch [count, lanes, registers]."""
    given = iter(registers)
    a_registers, b_registers, c_codes = next(given), next(given), ins.c.unpack_codes(next(given))
    nibbles = ins.e.unpack_codes(next(given), modifiers.selector) if ins.e is not None else None
    if not modifiers.scale_d:
        c_codes = np.zeros_like(c_codes)
    if rule == "exact":
        return ins.d.pack_codes(_integer(ins, a_registers, b_registers, c_codes, nibbles))
    a_codes, b_codes = ins.a.unpack_codes(a_registers), ins.b.unpack_codes(b_registers)
    if modifiers.imm_scale_a * modifiers.imm_scale_b < 0:  # negating A or B negates every product
        a_codes = a_codes ^ ins.a.dtype.code_type(1 << (ins.a.dtype.bits - 1))
    scales = scales_of(ins, list(given), modifiers)
    if ins.products > 1:
        a_codes, b_codes, c_codes = _apart(a_codes), np.swapaxes(_apart(np.swapaxes(b_codes, -1, -2)), -1, -2), _apart(c_codes)
    d_codes = _float(ins, rule, a_codes, b_codes, c_codes, nibbles, scales)
    return ins.d.pack_codes(d_codes.reshape(*d_codes.shape[:-3], *ins.d.shape) if ins.products > 1 else d_codes)


def _apart(stacked: NDArray[Any]) -> NDArray[Any]:
    """Four matrices below each other -> an axis of four before the matrix."""
    return stacked.reshape(*stacked.shape[:-2], 4, stacked.shape[-2] // 4, stacked.shape[-1])


def _float(
    ins: Instruction,
    rule: arithmetic.Rule,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    nibbles: NDArray[Any] | None,
    scales: tuple[NDArray[Any], NDArray[Any]] | None,
) -> NDArray[Any]:
    """Codes of D, by the rule."""
    kinds = (ins.a.dtype, ins.b.dtype, ins.c.dtype, ins.d.dtype)
    if isinstance(rule, arithmetic.Chain):
        return arithmetic.chained_dot(a, b, c, ins.rounding, rule.nans)
    if isinstance(rule, arithmetic.Scalar):
        return arithmetic.scalar_dot(a, b, c, kinds, rule)
    stored = None
    upper = np.arange(a.shape[-1]) // 2 % 2 == 1  # of the two pairs of 8-bit elements in a register
    if ins.structure is not None and nibbles is not None:
        there = np.broadcast_to(np.where(upper, np.uint8(2), np.uint8(1)), a.shape)
        a, marks = (ins.structure.expand(x, nibbles, ins.metadata_ordered) for x in (a, there))
        stored, upper = marks > 0, marks == 2
    if scales is not None and ins.scale_a is not None and ins.a_type == "e2m1" and ins.kind != "mxf8f6f4" and isinstance(rule, arithmetic.Fused):
        return arithmetic.block_scaled_dot(a, b, c, *scales, (*kinds[:3], ins.scale_a.dtype), rule, 32 if ins.sparse else 16)
    if isinstance(rule, arithmetic.ByWay):
        return arithmetic.dot_by_way(a, b, c, kinds, rule, upper, stored)
    if isinstance(rule, arithmetic.Fused):
        return arithmetic.fused_dot(a, b, c, kinds, rule, stored, scales)
    raise PtxlabError(f"{ins.mnemonic}: no float arithmetic by the rule {rule!r}")


def chip_of(ins: Instruction, model: str | None = None) -> arithmetic.Model:
    """The model that `emulate` uses: that of the named chip, or sm_90's, or that of a chip that has the instruction.

    >>> import ptxlab
    >>> model = chip_of(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> model.chip, model.evidence
    ('sm_90', 'measured')
    """
    if model is None:
        have = [chip for chip, target in arithmetic.CHIPS.items() if ins.supports(target)]
        model = next((chip for chip in ("sm_90", "sm_120") if chip in have), have[0])
    return arithmetic.model_for(ins, model)


def _integer(ins: Instruction, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], nibbles: NDArray[Any] | None) -> NDArray[Any]:
    """Sums of products fit float32 exactly: at most 64 * 255 * 255 < 2^24."""
    right = ins.b.unpack_as(b, np.float32)
    if ins.structure is not None and nibbles is not None:
        left = ins.structure.expand(ins.a.unpack_as(a, ins.a.dtype.value_type), nibbles, ins.metadata_ordered).astype(np.float32)
    else:
        left = ins.a.unpack_as(a, np.float32)
    total = left @ right
    if ins.bit_op == "xor":
        total = left.sum(axis=-1, keepdims=True) + right.sum(axis=-2, keepdims=True) - 2 * total
    return arithmetic.integer_add(total, c, ins.satfinite)


def scales_of(ins: Instruction, registers: list[NDArray[Any]], modifiers: Modifiers) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Codes of the block scales that the modifiers choose; None without block scales.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0")
    >>> ones = [operand.pack(np.ones(operand.shape)) for operand in (ins.scale_a, ins.scale_b)]
    >>> hex(scales_of(ins, ones, Modifiers())[0][0, 0])
    '0x7f'
    """
    if ins.scale_a is None or ins.scale_b is None or ins.scale_vec is None:
        return None
    chosen = (modifiers.thread_id_a, modifiers.byte_id_a), (modifiers.thread_id_b, modifiers.byte_id_b)
    copies = [thread * (4 // ins.scale_vec) + byte // ins.scale_vec for thread, byte in chosen]
    return ins.scale_a.unpack_codes(registers[0], copies[0]), ins.scale_b.unpack_codes(registers[1], copies[1])
