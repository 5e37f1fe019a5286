"""Random programs of PTX in the simulator and in a plain interpreter: registers and memory are the same.

A few run here; for more: PTXLAB_FUZZ=20000 pytest tests/simulator/test_plain_interpreter.py
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import ptxlab
from tests.simulator import plain_interpreter

COUNT = int(os.environ.get("PTXLAB_FUZZ", "25"))
THREADS = 40  # a whole warp and a part of one
_R, _D, _F, _P = (
    [f"%{kind}{number}" for number in range(count)]
    for kind, count in (("r", 8), ("d", 4), ("f", 5), ("p", 3))
)
#: Instructions by the registers that they write and read; a letter stands for a register of its kind or a
#: constant, ! for a divisor, which is not 0 or -1, and a number for a constant below it.
_FORMS = [
    "add.{i} r r r",
    "sub.{i} r r r",
    "mul.lo.{i} r r r",
    "mul.hi.{i} r r r",
    "mad.lo.{i} r r r r",
    "mad.hi.{i} r r r r",
    "add.{l} d d d",
    "sub.{l} d d d",
    "mul.lo.{l} d d d",
    "mul.hi.{l} d d d",
    "mad.lo.{l} d d d d",
    "mul.wide.{i} d r r",
    "mad.wide.{i} d r r d",
    "div.{i} r r !",
    "rem.{i} r r !",
    "and.b32 r r r",
    "or.b32 r r r",
    "xor.b32 r r r",
    "not.b32 r r",
    "and.b64 d d d",
    "xor.b64 d d d",
    "not.b64 d d",
    "and.pred p P P",
    "or.pred p P P",
    "xor.pred p P P",
    "not.pred p P",
    "shl.b32 r r 40",
    "shr.u32 r r 40",
    "shr.s32 r r 40",
    "shl.b32 r r r",
    "shr.s32 r r r",
    "shl.b64 d d 80",
    "shr.s64 d d 80",
    "shr.u64 d d r",
    "min.{i} r r r",
    "max.{i} r r r",
    "min.{l} d d d",
    "max.{l} d d d",
    "abs.s32 r r",
    "neg.s32 r r",
    "abs.s64 d d",
    "neg.s64 d d",
    "popc.b32 r r",
    "popc.b64 r d",
    "clz.b32 r r",
    "clz.b64 r d",
    "brev.b32 r r",
    "brev.b64 d d",
    "bfe.{i} r r 40 40",
    "bfe.{i} r r r r",
    "bfe.{l} d d 80 80",
    "bfi.b32 r r r 40 40",
    "bfi.b32 r r r r r",
    "prmt.b32 r r r r",
    "lop3.b32 r r r r 256",
    "selp.b32 r r r P",
    "selp.b64 d d d P",
    "setp.{c}.{i} p r r",
    "setp.{c}.{l} p d d",
    "setp.{c}.f32 p f f",
    "mov.b32 r r",
    "mov.b32 f r",
    "mov.b32 r F",
    "mov.b64 d d",
    "cvt.s64.s32 d r",
    "cvt.u64.u32 d r",
    "cvt.u32.u64 r d",
    "cvt.s32.s8 r r",
    "cvt.u32.u8 r r",
    "cvt.s32.s16 r r",
    "cvt.u32.u16 r r",
    "cvt.rn.f32.{i} f r",
    "cvt.rn.f32.{l} f d",
    "cvt.rzi.{i}.f32 r F",
    "cvt.rzi.{l}.f32 d F",
    "add.f32 f f f",
    "add.rn.f32 f f f",
    "sub.rn.f32 f f f",
    "mul.rn.f32 f f f",
    "fma.rn.f32 f f f f",
    "fma.rn.f32 f f f f",
    "min.f32 f f f",
    "max.f32 f f f",
    "neg.f32 f f",
    "abs.f32 f f",
]
_INTEGERS = (0, 1, -1, 2, 7, 31, 32, 255, 0x7FFFFFFF, -0x80000000, 0x55555555)
_FLOATS = (
    0,
    0x80000000,
    0x3F800000,
    0xBF800000,
    0x7F800000,
    0x7FC00000,
    1,
    0x807FFFFF,
    0x7F7FFFFF,
    0x4F000000,
)


def _operand(rng: random.Random, kind: str) -> str:
    if kind.isdigit():
        return str(rng.randrange(int(kind)))
    if kind == "!":
        return str(rng.choice((1, 2, 3, 10, 0x7FFFFFFF, rng.randrange(1, 1 << 31))))
    if kind in "rd" and rng.random() < 0.2:
        return str(rng.choice((*_INTEGERS, rng.randrange(-(1 << 31), 1 << 31))))
    if kind == "f" and rng.random() < 0.2:
        return f"0f{rng.choice((*_FLOATS, rng.getrandbits(32))):08X}"
    return rng.choice({"r": _R, "d": _D, "f": _F, "p": _P}[kind.lower()])


def _instruction(rng: random.Random) -> str:
    name, target, *sources = rng.choice(_FORMS).split()
    chosen = {"i": rng.choice(("s32", "u32")), "l": rng.choice(("s64", "u64"))}
    name = name.format(c=rng.choice(("eq", "ne", "lt", "le", "gt", "ge")), **chosen)
    guard = f"@{rng.choice(('', '!'))}{rng.choice(_P)} " if rng.random() < 0.15 else ""
    operands = [_operand(rng, target.upper() if target in "rdf" else target)]
    operands += [_operand(rng, kind) for kind in sources]
    return f"{guard}{name} {', '.join(operands)};"


def _program(rng: random.Random) -> str:
    """Segments of instructions and forward branches; in between, threads exchange values in shared memory."""
    lines: list[str] = []
    for segment in range(rng.randrange(1, 4)):
        waiting: list[tuple[int, str]] = []  # labels, and before which instruction they stand
        for place in range(count := rng.randrange(5, 25)):
            lines += [f"{label}:" for where, label in waiting if where == place]
            if rng.random() < 0.1:
                label = f"L{segment}_{place}"
                waiting.append((rng.randrange(place + 1, count + 1), label))
                lines.append(f"@{rng.choice(('', '!'))}{rng.choice(_P)} bra {label};")
            lines.append(_instruction(rng))
        lines += [f"{label}:" for where, label in waiting if where == count]
        reads = rng.choice(_R)
        lines += [
            f"st.shared.b32 [%r8], {rng.choice(_R)};", "bar.sync 0;",
            f"xor.b32 %r9, %r8, {4 * rng.randrange(8)};",
            f"ld.shared.{rng.choice(('b32', 'u8', 's8', 'u16', 's16'))} {reads}, [%r9];", "bar.sync 0;",
        ]  # fmt: skip
    return "\n".join(lines)


def _kernel(rng: random.Random) -> tuple[str, str]:
    """The PTX of a program, and the lines that the plain interpreter runs."""
    loads = "\n".join(
        f"ld.global.b{64 if name[1] == 'd' else 32} {name}, [%d8+{8 * place}];"
        for place, name in enumerate(_R + _D + _F)
    )
    shared = "mov.u32 %r8, tile;\nmad.lo.u32 %r8, %tid.x, 4, %r8;"
    start = f"{loads}\n{shared}\nsetp.lt.s32 %p0, %r0, %r1;\nsetp.eq.s32 %p1, %r2, %r2;"
    body = f"{start}\nsetp.gt.u32 %p2, %r3, %r4;\n{_program(rng)}"
    stores = "\n".join(
        f"st.global.b{64 if name[1] == 'd' else 32} [%d9+{8 * place}], {name};"
        for place, name in enumerate(_R + _D + _F)
    )
    stores += "".join(f"\nselp.b32 %r9, 1, 0, {name};\nst.global.b32 [%d9+{8 * place}], %r9;"
                      for place, name in enumerate(_P, len(_R + _D + _F)))  # fmt: skip
    text = (
        ".version 8.6\n.target sm_90a\n.address_size 64\n.entry k(.param .u64 input, .param .u64 output) {\n"
        f".shared .align 128 .b8 tile[{4 * THREADS + 32}];\n"
        ".reg .b32 %r<11>; .reg .b64 %d<12>; .reg .f32 %f<5>; .reg .pred %p<3>;\n"
        "ld.param.u64 %d10, [input];\nld.param.u64 %d11, [output];\nmov.u32 %r10, %tid.x;\n"
        "mad.wide.u32 %d8, %r10, 160, %d10;\nmad.wide.u32 %d9, %r10, 160, %d11;\n"
        f"{body.replace('%tid.x', '%r10')}\n{stores}\nret;\n}}\n"
    )
    return text, body


def test_random_programs() -> None:
    for seed in range(COUNT):
        rng = random.Random(seed)
        text, body = _kernel(rng)
        inputs = np.array(
            [[rng.choice((*_INTEGERS, *_FLOATS, rng.getrandbits(64))) & (1 << 64) - 1 for _ in range(20)]
             for _ in range(THREADS)], np.uint64,
        )  # fmt: skip
        outputs = np.zeros_like(inputs)
        ptxlab.kernel(text).simulate(1, THREADS, inputs, outputs)
        memory = {"global": bytearray(inputs.tobytes()), "shared": bytearray(4 * THREADS + 32)}
        expected = np.zeros_like(inputs)
        for thread, registers in enumerate(plain_interpreter.run(body, THREADS, memory, 160)):
            expected[thread, : len(_R + _D + _F + _P)] = [registers[name] for name in _R + _D + _F + _P]
        different = np.argwhere(outputs != expected)
        if len(different):
            thread, column = map(int, different[0])
            name = (_R + _D + _F + _P)[column]
            pytest.fail(
                f"seed {seed}: {name} of thread {thread} is {int(outputs[thread, column]):#x}, in the plain "
                f"interpreter {int(expected[thread, column]):#x}\n{text}"
            )
