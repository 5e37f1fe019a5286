"""The rows: every legal form of every instruction, by family, with the targets that the assembler takes it for.

PTX ISA 9.0 (CUDA 13.0), sections "Warp-level matrix instructions" and "Asynchronous warpgroup-level matrix instructions".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from .errors import PtxlabError, listing
from .instruction import TARGETS, Instruction

__all__ = ["FAMILIES", "catalog"]

FAMILIES: tuple[str, ...] = ("mma", "mma.sp", "wmma", "wgmma.sp")


def _since(first: str) -> tuple[str, ...]:
    return TARGETS[TARGETS.index(first) :]


SM_75, SM_80, SM_89 = _since("sm_75"), _since("sm_80"), _since("sm_89")
SM_90A = ("sm_90a",)
SM_120A = ("sm_120a", "sm_120f", "sm_121a")  # the ISA names the a-targets; the assembler also takes sm_120f

INT4 = ("s4", "u4")
INT8 = ("s8", "u8")
FP8 = ("e4m3", "e5m2")
PLAIN_OR_SAT = (False, True)
SP_OR_ORDERED = (False, True)

#: Shapes (m, k) of mma, all with n = 8, and the targets that have them.
_INTEGER_MMA = (
    (INT8, {(8, 16): SM_75, (16, 16): SM_80, (16, 32): SM_80}),
    (INT4, {(8, 32): SM_75, (16, 32): SM_80, (16, 64): SM_80}),
)
_BIT_MMA = {(8, 128): SM_75, (16, 128): SM_80, (16, 256): SM_80}
#: type -> accumulators, and k with targets; C has the type of D.
_FLOAT_MMA = {
    "f16": (("f16", "f32"), {8: SM_75, 16: SM_80}),
    "bf16": (("f32",), {8: SM_80, 16: SM_80}),
    "tf32": (("f32",), {4: SM_80, 8: SM_80}),
}
_INTEGER_SP = ((INT8, (32, 64)), (INT4, (64, 128)))
_FLOAT_SP = {"f16": (("f16", "f32"), (16, 32)), "bf16": (("f32",), (16, 32)), "tf32": (("f32",), (8, 16))}

#: kind, scale_vec, scale type. ue8m0 with 4X is PTX ISA 9.1.
BLOCK_SCALES = (("mxf4", 2, "ue8m0"), ("mxf4nvf4", 2, "ue8m0"), ("mxf4nvf4", 4, "ue4m3"))

WGMMA_N = tuple(range(8, 257, 8))
WGMMA_N_INTEGER = (8, 16, 24, 32, *range(48, 257, 16))


def _mma() -> Iterator[Instruction]:
    for kind, (accumulators, shapes) in _FLOAT_MMA.items():
        for (k, targets), d in product(shapes.items(), accumulators):
            yield Instruction("mma", 16, 8, k, d, kind, kind, d, targets)
    for k, d, a, b in product((16, 32), ("f16", "f32"), FP8, FP8):
        yield Instruction("mma", 16, 8, k, d, a, b, d, SM_89)
    for types, integer_shapes in _INTEGER_MMA:
        for ((m, k), targets), a, b, sat in product(integer_shapes.items(), types, types, PLAIN_OR_SAT):
            yield Instruction("mma", m, 8, k, "s32", a, b, "s32", targets, satfinite=sat)
    for (m, k), targets in _BIT_MMA.items():
        yield Instruction("mma", m, 8, k, "s32", "b1", "b1", "s32", targets, bit_op="xor")
        yield Instruction("mma", m, 8, k, "s32", "b1", "b1", "s32", SM_80, bit_op="and")
    for block, vec, scale in BLOCK_SCALES:
        yield Instruction("mma", 16, 8, 64, "f32", "e2m1", "e2m1", "f32", SM_120A, kind=block, scale_vec=vec, scale_type=scale)


def _mma_sp() -> Iterator[Instruction]:
    for kind, (accumulators, depths) in _FLOAT_SP.items():
        for k, d, ordered in product(depths, accumulators, SP_OR_ORDERED):
            yield Instruction("mma.sp", 16, 8, k, d, kind, kind, d, SM_80, ordered=ordered)
    for ordered, a, b in product(SP_OR_ORDERED, FP8, FP8):
        yield Instruction("mma.sp", 16, 8, 64, "f32", a, b, "f32", SM_89, ordered=ordered)
    for types, depths in _INTEGER_SP:
        for k, ordered, a, b, sat in product(depths, SP_OR_ORDERED, types, types, PLAIN_OR_SAT):
            yield Instruction("mma.sp", 16, 8, k, "s32", a, b, "s32", SM_80, satfinite=sat, ordered=ordered)


def _wmma() -> Iterator[Instruction]:
    for ab, sat in product(INT4, PLAIN_OR_SAT):  # the assembler takes no mixed pairs here
        yield Instruction("wmma", 8, 8, 32, "s32", ab, ab, "s32", SM_75, satfinite=sat)
    yield Instruction("wmma", 8, 8, 128, "s32", "b1", "b1", "s32", SM_75, bit_op="xor")
    yield Instruction("wmma", 8, 8, 128, "s32", "b1", "b1", "s32", SM_80, bit_op="and")


def _wgmma_sp() -> Iterator[Instruction]:
    for n, d, a, b in product(WGMMA_N, ("f16", "f32"), FP8, FP8):
        yield Instruction("wgmma.sp", 64, n, 64, d, a, b, d, SM_90A)
    for n, a, b, sat in product(WGMMA_N_INTEGER, INT8, INT8, PLAIN_OR_SAT):
        yield Instruction("wgmma.sp", 64, n, 64, "s32", a, b, "s32", SM_90A, satfinite=sat)


_ROWS = {"mma": _mma, "mma.sp": _mma_sp, "wmma": _wmma, "wgmma.sp": _wgmma_sp}


@lru_cache(maxsize=None)
def _rows(family: str) -> tuple[Instruction, ...]:
    return tuple(_ROWS[family]())


def catalog(family: str | None = None, target: str | None = None) -> tuple[Instruction, ...]:
    """Every legal instruction, or those of one family and those that one target has.

    >>> [i.mnemonic for i in catalog("wmma", "sm_75")][-1]
    'wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32'
    """
    if family is not None and family not in _ROWS:
        raise PtxlabError(f"unknown family {family!r}; there are {listing(FAMILIES)}")
    if target is not None and target not in TARGETS:
        raise PtxlabError(f"unknown target {target!r}; known are {listing(TARGETS, 30)}")
    rows = [row for name in FAMILIES if family in (None, name) for row in _rows(name)]
    return tuple(row for row in rows if target is None or row.supports(target))
