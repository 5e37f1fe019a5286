"""Registers in, registers out, bit for bit as the chip gives them, without the chip."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import numerics
from .._util.threads import for_each
from ..errors import PtxlabError
from ..isa.mma import MmaForm
from ..isa.operands import Operands
from ..isa.targets import CHIPS

__all__ = ["emulate", "model_of", "nibbles_of", "scales_of"]

#: Products that a thread works on at once: few enough to stay in its cache, and a large batch takes no more memory than a small one.
_AT_ONCE = {"exact": 1 << 23, "rounded": 1 << 20}


def emulate(operands: Operands, *, model: str | None = None) -> NDArray[Any]:
    """Registers of D, bit for bit as the chip `model` computes them; see `Instruction.emulate`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> ones = np.full((32, 4), 0x11111111), np.full((32, 2), 0x11111111)
    >>> emulate(Operands.of(ins, *ones, np.zeros((32, 4), dtype=np.uint32)))[5]
    array([64, 64, 64, 64], dtype=uint32)
    """
    ins = operands.ins
    rule = model_of(ins, model).rule
    count = operands.count
    out = np.empty((count, ins.d.lanes, ins.d.registers), dtype=ins.d.register_type)
    step = max(
        1, _AT_ONCE["exact" if rule == "exact" else "rounded"] // (ins.d.shape[0] * ins.d.shape[1] * ins.k)
    )

    def work(first: int) -> None:
        last = min(first + step, count)
        out[first:last] = _emulate(operands.part(first, last), rule)

    for_each(work, range(0, count, step))
    return out.reshape(*operands.batch, *out.shape[1:])


def _emulate(operands: Operands, rule: numerics.Rule) -> NDArray[Any]:
    """One part of a batch [count, lanes, registers]."""
    ins, modifiers = operands.ins, operands.modifiers
    c_codes = ins.c.unpack_codes(operands.c)
    if not modifiers.scale_d:
        c_codes = np.zeros_like(c_codes)
    nibbles = nibbles_of(operands)
    if rule == "exact":
        return ins.d.pack_codes(_integer(ins, operands.a, operands.b, c_codes, nibbles))
    a_codes, b_codes = ins.a.unpack_codes(operands.a), ins.b.unpack_codes(operands.b)
    if modifiers.imm_scale_a * modifiers.imm_scale_b < 0:  # negating A or B negates every product
        a_codes = a_codes ^ ins.a.dtype.code_type(1 << (ins.a.dtype.bits - 1))
    if ins.mma_count > 1:
        a_codes, c_codes = _apart(a_codes), _apart(c_codes)
        b_codes = np.swapaxes(_apart(np.swapaxes(b_codes, -1, -2)), -1, -2)
    d_codes = _float(ins, rule, a_codes, b_codes, c_codes, nibbles, scales_of(operands))
    if ins.mma_count > 1:
        d_codes = d_codes.reshape(*d_codes.shape[:-3], *ins.d.shape)
    return ins.d.pack_codes(d_codes)


def nibbles_of(operands: Operands) -> NDArray[Any] | None:
    """The metadata nibbles that the selector chooses; None for a dense instruction."""
    if operands.ins.e is None or operands.e is None:
        return None
    return operands.ins.e.unpack_codes(operands.e, operands.modifiers.selector)


def _apart(stacked: NDArray[Any]) -> NDArray[Any]:
    """Four matrices below each other -> an axis of four before the matrix."""
    return stacked.reshape(*stacked.shape[:-2], 4, stacked.shape[-2] // 4, stacked.shape[-1])


def _float(
    ins: MmaForm,
    rule: numerics.Rule,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    nibbles: NDArray[Any] | None,
    scales: tuple[NDArray[Any], NDArray[Any]] | None,
) -> NDArray[Any]:
    """Codes of D, by the rule."""
    kinds = (ins.a.dtype, ins.b.dtype, ins.c.dtype, ins.d.dtype)
    if isinstance(rule, numerics.Chain):
        return numerics.chained_dot(a, b, c, ins.rounding, rule.nans)
    if isinstance(rule, numerics.Scalar):
        return numerics.scalar_dot(a, b, c, kinds, rule)
    stored = None
    upper = np.arange(a.shape[-1]) // 2 % 2 == 1  # of the two pairs of 8-bit elements in a register
    if ins.structure is not None and nibbles is not None:
        there = np.broadcast_to(np.where(upper, np.uint8(2), np.uint8(1)), a.shape)
        a, marks = (ins.structure.expand(x, nibbles, ins.metadata_ordered) for x in (a, there))
        stored, upper = marks > 0, marks == 2
    if (
        scales is not None
        and ins.scale_a is not None
        and ins.a_type == "e2m1"
        and ins.kind != "mxf8f6f4"
        and isinstance(rule, numerics.Fused)
    ):
        return numerics.block_scaled_dot(
            a, b, c, *scales, (*kinds[:3], ins.scale_a.dtype), rule, 32 if ins.sparse else 16
        )
    if isinstance(rule, numerics.ByWay):
        return numerics.dot_by_way(a, b, c, kinds, rule, upper, stored)
    if isinstance(rule, numerics.Fused):
        return numerics.fused_dot(a, b, c, kinds, rule, stored, scales)
    raise PtxlabError(f"{ins.mnemonic}: no float arithmetic by the rule {rule!r}")


def model_of(ins: MmaForm, model: str | None = None) -> numerics.Model:
    """The model that `emulate` uses: that of the named chip, or sm_90's, or that of a chip that has the instruction.

    >>> import ptxlab
    >>> model = model_of(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"))
    >>> model.chip, model.evidence
    ('sm_90', 'measured')
    """
    if model is None:
        have = [chip for chip, target in CHIPS.items() if ins.supports(target)]
        model = next((chip for chip in ("sm_90", "sm_120") if chip in have), have[0])
    return numerics.model_for(ins, model)


def _integer(
    ins: MmaForm, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], nibbles: NDArray[Any] | None
) -> NDArray[Any]:
    """Sums of products fit float32 exactly: at most 64 * 255 * 255 < 2^24."""
    right = ins.b.unpack_as(b, np.float32)
    if ins.structure is not None and nibbles is not None:
        left = ins.structure.expand(
            ins.a.unpack_as(a, ins.a.dtype.value_type), nibbles, ins.metadata_ordered
        ).astype(np.float32)
    else:
        left = ins.a.unpack_as(a, np.float32)
    total = left @ right
    if ins.bit_op == "xor":
        total = left.sum(axis=-1, keepdims=True) + right.sum(axis=-2, keepdims=True) - 2 * total
    return numerics.integer_add(total, c, ins.satfinite)


def scales_of(operands: Operands) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Codes of the block scales that the modifiers choose; None without block scales.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0")
    >>> operands = Operands.from_matrices(ins, np.zeros((16, 64)), np.zeros((64, 8)))
    >>> hex(scales_of(operands)[0][0, 0])
    '0x7f'
    """
    ins, modifiers = operands.ins, operands.modifiers
    if ins.scale_vec is None or ins.scale_a is None or ins.scale_b is None:
        return None
    if operands.scale_a is None or operands.scale_b is None:
        return None
    copy_a = modifiers.thread_id_a * (4 // ins.scale_vec) + modifiers.byte_id_a // ins.scale_vec
    copy_b = modifiers.thread_id_b * (4 // ins.scale_vec) + modifiers.byte_id_b // ins.scale_vec
    return ins.scale_a.unpack_codes(operands.scale_a, copy_a), ins.scale_b.unpack_codes(
        operands.scale_b, copy_b
    )
