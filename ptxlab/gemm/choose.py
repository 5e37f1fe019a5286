"""The fastest rung that gives an instruction's bits, for a GPU and a shape."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from .._util.arguments import as_flag, as_int
from ..errors import PtxlabError, quoted
from ..isa.mma import MmaForm
from ..isa.parse import parse_mma
from ..isa.targets import check_target, chip_of_target
from ..numerics import has, model_for
from ..numerics.rules import Exact
from .rung import Rung, rung
from .source import RESULTS

_STEP = 32  # bytes along K
_PROCESSORS = 132  # for which the sizes of tiles below are chosen


class _Shape(NamedTuple):
    """A choice of tiles for rung 8, and the time that a tile of it takes, relative to the others."""

    block_n: int
    stages: int
    cluster_m: int
    time: float


_SHAPES = (_Shape(256, 4, 2, 2.0), _Shape(128, 6, 2, 1.12))


def same_arithmetic(one: MmaForm, other: MmaForm, chip: str) -> bool:
    """Whether products over K in ascending steps give the same bits with both instructions on a chip.

    >>> f16 = parse_mma("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> wide = parse_mma("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16")
    >>> same_arithmetic(f16, wide, "sm_90")
    True
    >>> fp8 = parse_mma("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32")
    >>> same_arithmetic(fp8, parse_mma("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"), "sm_90")
    False
    """
    if not (has(one, chip) and has(other, chip)):
        return False
    types = [(form.a_type, form.b_type, form.c_type, form.d_type) for form in (one, other)]
    plain = not any(form.satfinite or form.sparse or form.scale_vec or form.bit_op for form in (one, other))
    if types[0] != types[1] or not plain:
        return False
    rules = [model_for(form, chip).rule for form in (one, other)]
    return rules[0] == rules[1] and (one.k == other.k or isinstance(rules[0], Exact))


def best_rung(ins: MmaForm | str, target: str, M: int, N: int, *, b_by_rows: bool = False) -> Rung | None:
    """The rung for a product of this size with the bits of `ins`; None where no rung gives them.

    `b_by_rows` says that B lies as [K, N], which rung 8 reads as it is with 16-bit types; other kernels get
    a copy of B's columns. On sm_90a it is rung 8, if wgmma has the same arithmetic; elsewhere, and for
    FP8 with `mma`, it is rung 5 with `ins` itself.

    >>> best_rung("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90a", 8192, 8192).number
    8
    >>> best_rung("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_90a", 8192, 8192).number
    5
    """
    form, target = parse_mma(ins), check_target(target)
    rows, columns = as_int(M, "M"), as_int(N, "N")
    by_rows = as_flag(b_by_rows, "b_by_rows") and form.b.dtype.bits == 16
    if min(rows, columns) < 1:
        raise PtxlabError(f"M={quoted(M)}, N={quoted(N)}: both are at least 1")
    if form.sparse or form.scale_vec or form.d_type not in RESULTS:
        return None
    if target == "sm_90a":
        wide = _warpgroup_form(form)
        if wide is not None:
            return _warpgroup_rung(wide, rows, columns, by_rows)
    if form.family == "mma" and form.shape.startswith("m16n8") and form.supports(target):
        return _rung(5, form) if form.k * form.a.dtype.bits == 8 * _STEP else None
    return None


@lru_cache(maxsize=256)
def _warpgroup_form(form: MmaForm) -> MmaForm | None:
    """The wgmma of the same arithmetic."""
    k = 8 * _STEP // form.a.dtype.bits
    types = f"{form.d_type}.{form.a_type}.{form.b_type}"
    try:
        wide = parse_mma(f"wgmma.mma_async.sync.aligned.m64n256k{k}.{types}")
    except PtxlabError:
        return None
    chip = chip_of_target("sm_90a")
    return wide if chip is not None and same_arithmetic(form, wide, chip) else None


def _warpgroup_rung(form: MmaForm, M: int, N: int, b_by_rows: bool) -> Rung:
    def time(shape: _Shape) -> float:
        high = -(-M // (128 * shape.cluster_m))
        clusters = high * -(-N // shape.block_n)
        return -(-clusters // (_PROCESSORS // shape.cluster_m)) * shape.time

    return _rung(8, form, min(_SHAPES, key=time), int(b_by_rows))


@lru_cache(maxsize=256)
def _rung(number: int, form: MmaForm, shape: _Shape | None = None, b_by_rows: int = 0) -> Rung:
    if shape is None:
        return rung(number, form)
    return rung(
        number,
        form,
        block_n=shape.block_n,
        stages=shape.stages,
        cluster_m=shape.cluster_m,
        b_by_rows=b_by_rows,
    )
