"""Rows of tcgen05: every mnemonic without collector hints, each with its plainest descriptor.

Targets are those that ptxas of CUDA 13.4 accepts, as `python -m tools.record tcgen05` finds out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Literal

from ..instruction_descriptor import KINDS, InstructionDescriptor, shapes_of
from ..targets import SM_107, TCGEN05
from ..tcgen05 import (
    CONTROL_FAMILIES,
    COPY_SHAPES,
    LOAD_SHAPES,
    MAX_REGISTERS,
    MMA_FAMILIES,
    AnyTcgen05,
    TensorControl,
    TensorInstruction,
    TensorTransfer,
)

ARCH_TARGETS = tuple(target for target in TCGEN05 if target.endswith("a"))  # sm_100a, ...: one chip
I8 = ("sm_100a", "sm_110a")
SCALE_INPUT_D = tuple(target for target in TCGEN05 if not target.startswith("sm_110"))
REDUCTION = tuple(target for target in TCGEN05 if not target.startswith("sm_100"))

#: The qualifiers for how many elements share a scale; without one it is block32.
_SCALE_VECTORS: dict[str, tuple[str, ...]] = {
    "mxf8f6f4": ("", "scale_vec::1X", "block32"),
    "mxf4": ("", "scale_vec::2X", "block32"),
    "mxf4nvf4": ("scale_vec::2X", "block32", "scale_vec::4X", "block16"),
}
_GROUPS: tuple[Literal[1, 2], ...] = (1, 2)


def forms(family: str, target: str | None) -> Iterator[AnyTcgen05]:
    """The forms of a family, or only those of a target, with its descriptors."""
    for row in _rows(family):
        if target is None:
            yield row
        elif target in row.targets:
            yield row.for_target(target) if isinstance(row, TensorInstruction) else row


@lru_cache(maxsize=None)
def _rows(family: str) -> tuple[AnyTcgen05, ...]:
    if family in MMA_FAMILIES:
        return tuple(multiplies(family))
    return tuple(controls(family) if family in CONTROL_FAMILIES else transfers(family))


def multiplies(family: str) -> Iterator[TensorInstruction]:
    """Forms of tcgen05.mma, .mma.sp, .mma.ws or .mma.ws.sp.

    >>> sum(1 for _ in multiplies("tcgen05.mma")), next(multiplies("tcgen05.mma.ws.sp"))
    (46, <tcgen05.mma.ws.sp.cta_group::1.kind::f16 m128n128k32.f32.f16.f16>)
    """
    ws, sparse = ".ws" in family, family.endswith(".sp")
    for kind, cta_group in product(KINDS, _GROUPS):
        shapes = shapes_of(kind, sparse, ws, cta_group)
        if not shapes:
            continue
        traits = KINDS[kind]
        scale = "ue8m0" if traits.scaled else ""
        largest = max((rows for rows in shapes if rows.k == shapes[0].k), key=lambda rows: max(rows.m))
        descriptor = InstructionDescriptor(kind, max(largest.m), max(largest.n), sparse=sparse, scale=scale)
        form = TensorInstruction(
            family,
            kind,
            cta_group,
            {"i8": I8, "ti16": SM_107}.get(kind, TCGEN05),
            descriptor,
            scale_input_d=SCALE_INPUT_D if kind in ("f16", "tf32") and not ws else (),
        )
        if traits.scaled:
            yield from _scaled(form)
            continue
        yield form
        if not ws:
            yield replace(form, ashift=True, a_space="tensor")
        if kind == "f8f6f4" and family == "tcgen05.mma":
            yield _decompressing(form)


def _decompressing(form: TensorInstruction) -> TensorInstruction:
    return replace(form, decompress=True, targets=SM_107, descriptor=replace(form.descriptor, k=64))


def _scaled(form: TensorInstruction) -> Iterator[TensorInstruction]:
    for vector in _SCALE_VECTORS[form.kind]:
        by_chip = vector.startswith("scale_vec") or (form.sparse and form.kind != "mxf8f6f4")
        wide = vector in ("block16", "scale_vec::4X")
        descriptor = replace(form.descriptor, scale="ue4m3") if wide else form.descriptor
        yield replace(
            form,
            scale_vector=vector,
            targets=ARCH_TARGETS if by_chip else form.targets,
            descriptor=descriptor,
        )
        if form.kind == "mxf8f6f4" and not form.sparse and not vector.startswith("scale_vec"):
            yield _decompressing(replace(form, scale_vector=vector))


def transfers(family: str) -> Iterator[TensorTransfer]:
    """Forms of tcgen05.ld, .st, .cp or .shift.

    >>> [sum(1 for _ in transfers(family)) for family in ("tcgen05.ld", "tcgen05.st", "tcgen05.cp")]
    [314, 74, 36]
    """
    if family == "tcgen05.shift":
        for group in _GROUPS:
            yield TensorTransfer("tcgen05.shift", ARCH_TARGETS, "31x256b", cta_group=group)
        return
    if family == "tcgen05.cp":
        for group, shape, source in product(_GROUPS, COPY_SHAPES, ("", "b6x16_p32", "b4x16_p64")):
            for multicast in COPY_SHAPES[shape][2]:
                yield TensorTransfer(
                    "tcgen05.cp", TCGEN05, shape, cta_group=group, multicast=multicast, source=source
                )
        return
    most = {"16x128b": 64, "16x256b": 32}
    for shape, power, pack in product(LOAD_SHAPES, range(8), (False, True)):
        if 1 << power <= most.get(shape, MAX_REGISTERS):
            yield TensorTransfer(
                "tcgen05.st" if family == "tcgen05.st" else "tcgen05.ld", TCGEN05, shape, 1 << power, pack
            )
    if family == "tcgen05.ld":
        yield from _reductions()


def _reductions() -> Iterator[TensorTransfer]:
    """`.ld.red` and `.ld.spcompress`."""
    floats = product(("f32",), (False, True), (False, True))  # only these have .abs and .NaN
    flags = [*floats, ("u32", False, False), ("s32", False, False)]
    for shape, power, operation, (type_name, absolute, nan) in product(
        ("32x32b", "16x32bx2"), range(1, 8), ("min", "max"), flags
    ):
        yield TensorTransfer(
            "tcgen05.ld", REDUCTION, shape, 1 << power,
            reduction=operation, reduces=True, absolute=absolute, nan=nan, type=type_name,
        )  # fmt: skip
    for power, operation, absolute, (reduces, nan) in product(
        range(2, 8), ("min", "max"), (False, True), ((False, False), (True, False), (True, True))
    ):
        yield TensorTransfer(
            "tcgen05.ld", ("sm_107a",), "32x32b", 1 << power,
            reduction=operation, reduces=reduces, compresses=True, absolute=absolute, nan=nan, type="f32",
        )  # fmt: skip


def controls(family: str) -> Iterator[TensorControl]:
    """Forms of alloc, dealloc, relinquish_alloc_permit, commit, fence and wait.

    >>> [form.mnemonic for form in controls("tcgen05.fence")]
    ['tcgen05.fence::before_thread_sync', 'tcgen05.fence::after_thread_sync']
    """
    by_warp = ("sync", "aligned")
    groups = [f"cta_group::{group}" for group in _GROUPS]
    ownerships = ((), ("exclusive",))
    restricted = ("sync_restrict::shared::read::mma::a",)
    casts = [(), *((f"multicast::cluster{bits}",) for bits in ("", "::16b", "::32b"))]
    rows: dict[str, list[tuple[tuple[str, ...], str]]] = {
        "tcgen05.alloc": [
            ((*owner, group, *by_warp, *space, "b32"), "[dst], nCols")
            for owner, group, space in product(ownerships, groups, ((), ("shared::cta",)))
        ],
        "tcgen05.dealloc": [
            ((*owner, group, *by_warp, "b32"), "taddr, nCols") for owner, group in product(ownerships, groups)
        ],
        "tcgen05.relinquish_alloc_permit": [((group, *by_warp), "") for group in groups],
        "tcgen05.commit": [
            (
                (group, "mbarrier::arrive::one", *restriction, *space, *cast, "b64"),
                "[mbar], ctaMask" if cast else "[mbar]",
            )
            for group, restriction, space, cast in product(
                groups, ((), restricted), ((), ("shared::cluster",)), casts
            )
        ],
        "tcgen05.fence": [(("before_thread_sync",), ""), (("after_thread_sync",), "")],
        "tcgen05.wait": [(("ld", *by_warp), ""), (("st", *by_warp), "")],
    }
    for qualifiers, operands in rows[family]:
        newest = {*restricted, "multicast::cluster::32b"} & {*qualifiers}
        yield TensorControl(family, SM_107 if newest else TCGEN05, qualifiers, operands)
