"""Scalar instructions against digests of what an H200 gave, and their opcodes against the assembler."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ptxlab import PtxlabError
from ptxlab.numerics.scalar import opcodes, operation
from ptxlab.numerics.scalar.opcode import expand
from ptxlab.numerics.scalar.opcode_table import ROWS
from tests.assembler import NEWEST, OLDEST
from tests.cases import refuses
from tests.texts import replaced
from tools.record import scalar as record_scalar
from tools.record.scalar import SAMPLE, arguments, digest, get, results, supported, wide


@pytest.mark.slow
def test_every_result_is_that_of_an_h200() -> None:
    recorded = json.loads(record_scalar.FILE.read_text(encoding="ascii"))
    different = []
    for key, expected in recorded.items():
        opcode, _, table = key.partition(" ")
        op = get(opcode)
        computed = results(op, arguments(op, SAMPLE, int(table or "0", 16)))
        if digest(wide(op, computed)) != expected:
            different.append(key)
    assert different == []
    assert {key.split()[0] for key in recorded} == {word for word in opcodes() if supported(get(word))}


@pytest.mark.slow
def test_the_assembler_takes_one_opcode_of_every_row() -> None:
    entries: dict[str, list[str]] = {"sm_90a": [], "sm_120f": [], "sm_100a": []}
    for row in ROWS:
        op = get(list(expand(row.pattern))[-1])
        newer = "sm_100a" if ".rs." in op.opcode else "sm_120f"
        texts = entries["sm_90a" if supported(op) else newer]
        texts.append(record_scalar.entry(op, f"k{len(texts)}", 0x96))
    assert len(entries["sm_90a"]) > 150 and len(entries["sm_120f"]) > 10 and len(entries["sm_100a"]) == 2
    assert OLDEST.assemble(record_scalar.module(entries["sm_90a"], "sm_90a"), "sm_90a") is None
    for target in ("sm_120f", "sm_100a"):
        newest = replaced(record_scalar.module(entries[target], target), ".version 9.0", ".version 9.4")
        assert NEWEST.assemble(newest, target) is None


@pytest.mark.parametrize(
    ("opcode", "sources", "expected"),
    [
        ("mul.hi.s64", [np.uint64(1 << 63), np.uint64(3)], (1 << 64) - 2),
        ("mad.wide.u16", [np.uint16(0xFFFF), np.uint16(0xFFFF), np.uint32(1)], 0xFFFE0002),
        ("clmad.hi.u64", [np.uint64(3 << 62), np.uint64(6), np.uint64(8)], 0b1010),
        ("add.sat.s8x4", [np.uint32(0x7F80FF01), np.uint32(0x01FF0101)], 0x7F800002),
        ("bfe.s32", [np.uint32(0x00F0), np.uint32(4), np.uint32(4)], 0xFFFFFFFF),
        ("prmt.b32.f4e", [np.uint32(0x03020100), np.uint32(0x07060504), np.uint32(1)], 0x04030201),
        ("fma.rn.f32x2", [np.uint64(0x3F80000040000000)] * 3, 0x4000000040C00000),
        ("cvt.rn.satfinite.e2m1x2.f32", [np.uint32(0x41100000), np.uint32(0xBF400000)], 0x7A),
        # 1 + 2^-10 - 2^-23: the 13 bits that f16 lacks are ones, and 1 more carries
        ("cvt.rs.f16x2.f32", [np.uint32(0x3F801FFF), np.uint32(0xBF801FFF), np.uint32(1 << 16)], 0x3C01BC00),
        (
            "cvt.rs.bf16x2.f32",
            [np.uint32(0x7F7F8000), np.uint32(0x3F808000), np.uint32(0x80007FFF)],
            0x7F803F80,
        ),
        # 1.0625 is half of a step of e4m3 above 1; two sources share a half, which the first reads reversed
        ("cvt.rs.satfinite.e4m3x4.f32", [*[np.uint32(0x3F880000)] * 4, np.uint32(0x80000001)], 0x38393938),
        ("cvt.rs.satfinite.e2m3x4.f32", [*[np.uint32(0x3F880000)] * 4, np.uint32(0x80000001)], 0x08090908),
        ("cvt.rs.satfinite.e2m1x4.f32", [*[np.uint32(0xC0A00000)] * 4, np.uint32(0x80007F80)], 0xFEEF),
        (
            "cvt.rs.relu.satfinite.e5m2x4.f32",
            [np.uint32(word) for word in (0xC0A00000, 0x7F800000, 0x7FC00000, 0x00000001, 0xFFFFFFFF)],
            0x007B7F00,
        ),
        ("add.rn.f32.bf16", [np.uint16(0x3F80), np.uint32(0x40000000)], 0x40400000),
        ("max.abs.f32", [np.uint32(0xC0400000), np.uint32(0x40000000), np.uint32(0x3F800000)], 0x40400000),
    ],
)
def test_by_hand(opcode: str, sources: list[Any], expected: int) -> None:
    """Also what an H200 does not have."""
    op = get(opcode)
    result = op(*sources)
    assert (int(result), result.dtype) == (expected, op.results[0])


@pytest.mark.slow
def test_arrays_of_any_shape_are_left_alone() -> None:
    op = get("fma.rn.ftz.f32")
    a, b = np.full((3, 1, 4), 0x3F800000, np.uint32), np.full((2, 1), 1, np.uint32)
    a.flags.writeable = b.flags.writeable = False
    assert op(a, b, a).shape == (3, 2, 4)
    for opcode in opcodes():
        op = get(opcode)
        computed = results(op, [np.empty((0, 2), dtype) for dtype in op.sources])
        assert [part.dtype for part in computed] == list(op.results[: len(computed)])
        assert {part.shape for part in computed} == {(0, 2)}


def test_modifiers_may_stand_in_any_order() -> None:
    assert operation("fma.f32.ftz.rn") == operation("fma.rn.ftz.f32")  # ptxas takes modifiers in any order
    assert operation("ld.global.u32") is None and operation("mma") is None
    refuses("'add.rx.f32': no instruction is spelled so; similar ones are ", operation, "add.rx.f32")
    add = get("add.u32")
    refuses("add.u32: it takes 2 sources, not 1", add, np.uint32([1]))
    with pytest.raises(PtxlabError, match="its sources are arrays of uint32, uint32, not of uint32, int64"):
        add(np.uint32([1]), np.int64([1]))
