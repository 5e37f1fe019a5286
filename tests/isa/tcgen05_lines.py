"""Lines of tcgen05 for the assembler: every combination of qualifiers and operands, far more than are legal.

Written from the manual's syntax blocks alone, without the catalogue. `python -m tools.record tcgen05` records
which targets take them; `tests/isa/test_tcgen05.py` compares the catalogue with the record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from tests.assembler import Compiler

KINDS = ("f16", "tf32", "f8f6f4", "i8", "ti16", "mxf8f6f4", "mxf4", "mxf4nvf4")
VECTORS = ("", "scale_vec::1X", "scale_vec::2X", "scale_vec::4X", "block16", "block32")
OPERATIONS = ("", "fill", "use", "lastuse", "discard")
#: A buffer of B, or, of .ws, one of four.
BUFFERS = ("", *(f"b::{word}" for word in OPERATIONS[1:]), *(f"b{i}::{OPERATIONS[1 + i]}" for i in range(4)))
COUNTS = tuple(f"x{1 << power}" for power in range(8))
LOADS = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1, "16x32bx2": 1}

HEAD = """\
.version {version}
.target {target}
.address_size 64
.visible .entry k() {{ .reg .b32 r<260>, taddr, ta, sa, sb, me, idesc, m<9>;
.reg .b64 da, db, zc, mb; .reg .b16 mask; .reg .pred p;
"""
#: A line that no target takes: the assembler has read all lines before it.
NEVER = "tcgen05.ld.sync.aligned.32x32b.x2.f32 {r0, r1}, [taddr];"


class Line(NamedTuple):
    """A line of PTX, and what it says."""

    mnemonic: str
    operands: str
    a: str = ""  # shared, tensor: where A of tcgen05.mma is
    lanes: int = 0  # registers of disable-output-lane
    scale: bool = False  # scale-input-d
    zero: bool = False  # zero-column-mask-desc
    fits: bool = True  # whether the operands are as many as the manual says

    @property
    def text(self) -> str:
        return f"{self.mnemonic} {self.operands};"


def _registers(count: int, first: int = 0) -> str:
    return "{" + ", ".join(f"r{i}" for i in range(first, first + count)) + "}"


def _mma(
    ws: int, sp: int, cta: int, kind: str, scaled: bool, vector: str = "", a: str = "shared", *,
    shift: int = 0, of_a: str = "", of_b: str = "", unpack: int = 0, lanes: int = 0, scale: int = 0,
    zero: int = 0,
) -> Line:  # fmt: skip
    words = ["tcgen05.mma", *(["ws"] * ws), *(["sp"] * sp), f"cta_group::{cta}", f"kind::{kind}"]
    words += ["block_scale"] * scaled + ["decompress::lut::b"] * unpack + [vector] * bool(vector)
    words += ["ashift"] * shift + [f"collector::a::{of_a}"] * bool(of_a) + [f"collector::{of_b}"] * bool(of_b)
    operands = ["[taddr]", "da" if a == "shared" else "[ta]", "db", *(["[me]"] * (sp + unpack)), "idesc"]
    operands += ["[sa]", "[sb]"] * scaled
    operands += ["{" + ", ".join(f"m{i}" for i in range(lanes)) + "}"] * bool(lanes)
    operands += ["p", *(["3"] * scale), *(["zc"] * zero)]
    return Line(".".join(words), ", ".join(operands), a, lanes, bool(scale), bool(zero))


def _multiplies() -> Iterator[Line]:
    both, spaces = (0, 1), ("shared", "tensor")
    heads = list(product(both, both, (1, 2), KINDS))
    for (ws, sp, cta, kind), scaled, vector, a in product(heads, both, VECTORS, spaces):
        yield _mma(ws, sp, cta, kind, bool(scaled), vector, a)
    for (ws, sp, cta, kind), a in product(heads, spaces):
        scaled = kind.startswith("mx")
        vector = "block32" if kind == "mxf4nvf4" else ""
        for shift, of_a, of_b in product(both, OPERATIONS, BUFFERS):
            if shift or of_a or of_b:
                yield _mma(ws, sp, cta, kind, scaled, vector, a, shift=shift, of_a=of_a, of_b=of_b)
        for shift, lanes, scale, zero in product(both, (0, 4, 8), both, both):
            if lanes or scale or zero:
                yield _mma(
                    ws, sp, cta, kind, scaled, vector, a, shift=shift, lanes=lanes, scale=scale, zero=zero
                )
        for other, of_a, of_b, lanes in product(VECTORS, ("", "fill"), ("", "b::use"), (0, 4 * cta)):
            yield _mma(ws, sp, cta, kind, scaled, other, a, of_a=of_a, of_b=of_b, unpack=1, lanes=lanes)


def _moves() -> Iterator[Line]:
    for shape, count in product(LOADS, COUNTS):
        registers = LOADS[shape] * int(count[1:])
        if registers > 256:
            continue
        split = ", 16" if shape == "16x32bx2" else ""
        for word, wrong in product(("", "pack::16b", "unpack::16b"), (False, True)):
            words = ["sync", "aligned", shape, count, *([word] if word else []), "b32"]
            data = _registers(registers // 2 if wrong and registers > 1 else registers + wrong)
            yield Line(".".join(["tcgen05.ld", *words]), f"{data}, [taddr]{split}", fits=not wrong)
            yield Line(".".join(["tcgen05.st", *words]), f"[taddr]{split}, {data}", fits=not wrong)
        unsplit = "" if split else ", 16"
        words = ["sync", "aligned", shape, count, "b32"]
        yield Line(".".join(["tcgen05.ld", *words]), f"{_registers(registers)}, [taddr]{unsplit}", fits=False)
        for operation, absolute, nan, kind in product(
            ("", "min", "max"), ("", "abs"), ("", "NaN"), ("f32", "u32", "s32", "b32")
        ):
            words = ["tcgen05.ld.red", "sync", "aligned", shape, count, operation, absolute, nan, kind]
            operands = f"{_registers(registers)}, r259, [taddr]{split}"
            yield Line(".".join(word for word in words if word), operands)
    for red, count, operation, absolute, nan in product(
        ("", "red"), COUNTS, ("min", "max"), ("", "abs"), ("", "NaN")
    ):
        number = int(count[1:])
        words = ["tcgen05.ld", red, "spcompress", "sync", "aligned", "32x32b", count, operation, "sp::2:4"]
        words += [absolute, nan, "f32", "b2"]
        data = f"{_registers(-(-number // 32))}, {_registers(max(number // 2, 1), 8)}"
        operands = f"{data}, r259, [taddr]" if red else f"{data}, [taddr]"
        yield Line(".".join(word for word in words if word), operands)
    shapes = ("128x256b", "4x256b", "128x128b", "64x128b", "32x128b")
    casts = ("", "warpx2::02_13", "warpx2::01_23", "warpx4")
    formats = ("", "b8x16.b6x16_p32", "b8x16.b4x16_p64", "b8x16", "b6x16_p32.b8x16")
    for cta, shape, cast, unpacked in product((1, 2), shapes, casts, formats):
        words = [f"tcgen05.cp.cta_group::{cta}", shape, cast, unpacked]
        yield Line(".".join(word for word in words if word), "[taddr], da")
    for words_of_shift in ("cta_group::1.down", "cta_group::2.down", "cta_group::1", "down"):
        yield Line(f"tcgen05.shift.{words_of_shift}", "[taddr]")


def _controls() -> Iterator[Line]:
    for group in ("cta_group::1.", "cta_group::2.", ""):
        for space, columns in product(
            ("", ".shared::cta", ".shared", ".shared::cluster"), ("r1", "32", "512", "48")
        ):
            yield Line(
                f"tcgen05.alloc.{group}sync.aligned{space}.b32",
                f"[{'r0' if space else 'da'}], {columns}",
                fits=columns != "48",
            )
        for space, columns in product(("", ".shared::cta"), ("r1", "32", "96", "512", "48")):
            yield Line(
                f"tcgen05.alloc.exclusive.{group}sync.aligned{space}.b32",
                f"[{'r0' if space else 'da'}], {columns}",
                fits=columns != "48",
            )
        for columns in ("r1", "96", "16"):
            yield Line(
                f"tcgen05.dealloc.exclusive.{group}sync.aligned.b32",
                f"taddr, {columns}",
                fits=columns != "16",
            )
        for columns in ("r1", "64", "16"):
            yield Line(f"tcgen05.dealloc.{group}sync.aligned.b32", f"taddr, {columns}", fits=columns != "16")
        yield Line(f"tcgen05.relinquish_alloc_permit.{group}sync.aligned", "")
        spaces = ("", ".shared::cluster", ".shared::cta")
        casts = {
            "": "",
            ".multicast::cluster": "mask",
            ".multicast::cluster::16b": "mask",
            ".multicast::cluster::32b": "r1",
        }
        for space, cast, mask, limit in product(
            spaces, casts, ("", "mask", "r1"), ("", ".sync_restrict::shared::read::mma::a")
        ):
            yield Line(
                f"tcgen05.commit.{group}mbarrier::arrive::one{limit}{space}{cast}.b64",
                f"[{'r0' if space else 'mb'}]{', ' + mask if mask else ''}",
                fits=casts[cast] == mask,
            )
    for word in ("fence::before_thread_sync", "fence::after_thread_sync", "wait::ld.sync.aligned"):
        yield Line(f"tcgen05.{word}", "")
    for word in ("wait::st.sync.aligned", "wait::st", "wait::ld.sync", "wait.sync.aligned"):
        yield Line(f"tcgen05.{word}", "")


@lru_cache(maxsize=1)
def lines() -> tuple[Line, ...]:
    """Every line, in a fixed order."""
    return (*_multiplies(), *_moves(), *_controls())


def taken(asked: list[Line], target: str, compiler: Compiler) -> list[bool]:
    """Whether the assembler takes each of these lines for a target.

    `sp::2:4` is a syntax error before PTX 9.4, at which an assembler stops reading.
    """
    head = HEAD.format(target=target, version=compiler.ptx_version)
    unknown = "sp::2:4" if compiler.ptx_version < (9, 4) else "no such line"
    body = "\n".join([*(NEVER if unknown in line.text else line.text for line in asked), NEVER])
    log = compiler.assemble(f"{head}{body}\nret; }}\n", target) or ""
    first = head.count("\n") + 1
    refused = {int(number) - first for number in re.findall(r"line (\d+); error", log)}
    if len(asked) not in refused:
        raise AssertionError(f"the assembler stopped before the last line:\n{log[-500:]}")
    return [index not in refused for index in range(len(asked))]
