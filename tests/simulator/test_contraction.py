"""Products that ptxas fuses into sums: what `contractions` says, and what the machine code has."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

import ptxlab
from ptxlab.simulator.ptx.ptxas import contractions
from ptxlab.simulator.ptx.reader import read_ptx
from tests.assembler import OLDEST

_DIVIDE = "{ .reg .s32 i, j; mov.b32 i,f4; mov.b32 j,f5; div.s32 i,i,j; mov.b32 f9,i; }"
#: Statements of f32 registers, of which f1 to f6 are loaded and those behind the bar are stored.
PROGRAMS = {
    "sum": "mul.f32 f7,f1,f2; add.f32 f8,f7,f3; | f8",
    "difference": "mul.f32 f7,f1,f2; sub.f32 f8,f3,f7; | f8",
    "past_a_division": f"mul.f32 f7,f1,f2; {_DIVIDE} sub.f32 f8,f3,f7; | f8 f9",
    "past_a_fence": "mul.f32 f7,f1,f2; fence.acq_rel.gpu; sub.f32 f8,f3,f7; | f8",
    "past_a_proxy_fence": "mul.f32 f7,f1,f2; fence.proxy.async; sub.f32 f8,f3,f7; | f8",
    "before_a_division": f"mul.f32 f7,f1,f2; sub.f32 f8,f3,f7; {_DIVIDE} | f8 f9",
    "every_use": "mul.f32 f7,f1,f2; add.f32 f8,f7,f3; sub.f32 f9,f7,f4; | f8 f9",
    "stored_too": "mul.f32 f7,f1,f2; add.f32 f8,f7,f3; | f7 f8",
    "not_needed": "mul.f32 f7,f1,f2; max.f32 f9,f7,f4; add.f32 f8,f7,f3; | f8",
    "first_of_two": "mul.f32 f7,f3,f4; mul.f32 f8,f1,f2; add.f32 f9,f8,f7; | f9",
    "fewer_uses": "mul.f32 f7,f1,f2; mul.f32 f8,f3,f4; add.f32 f9,f7,f8; add.f32 f10,f7,f5; | f9 f10",
    "both_twice": "mul.f32 f7,f1,f2; mul.f32 f8,f3,f4; add.f32 f9,f7,f8; sub.f32 f10,f8,f7; | f9 f10",
    "rounded": "mul.rn.f32 f7,f1,f2; add.f32 f8,f7,f3; mul.f32 f9,f4,f5; add.rn.f32 f10,f9,f3; | f8 f10",
    "flushed": "mul.ftz.f32 f7,f1,f2; add.f32 f8,f7,f3; mul.ftz.f32 f9,f4,f5; add.ftz.f32 f1,f9,f3; | f8 f1",
    "saturated": "mul.sat.f32 f7,f1,f2; add.f32 f8,f7,f3; mul.f32 f9,f4,f5; add.sat.f32 f10,f9,f3; | f8 f10",
    "negative": "mul.f32 f7,f1,f2; neg.f32 f8,f7; mov.f32 f9,f8; add.f32 f10,f9,f3; | f10",
    "twice_itself": "mul.f32 f7,f1,f2; add.f32 f8,f7,f7; | f8",
    "overwritten": "mul.f32 f7,f1,f2; add.f32 f1,f1,f5; add.f32 f8,f7,f3; | f8 f1",
    "guarded_sum": "mul.f32 f7,f1,f2; mov.f32 f8,f4; @p add.f32 f8,f7,f3; | f8",
    "guarded_product": "mov.f32 f7,f4; @p mul.f32 f7,f1,f2; add.f32 f8,f7,f3; | f8",
    "behind_a_branch": "mul.f32 f7,f1,f2; @p bra OUT; add.f32 f4,f4,f5; OUT: add.f32 f8,f7,f3; | f8 f4",
    "behind_a_barrier": "mul.f32 f7,f1,f2; bar.sync 0; add.f32 f8,f7,f3; | f8",
    "behind_a_fence": "mul.f32 f7,f1,f2; membar.gl; add.f32 f8,f7,f3; | f8",
    "in_a_line": "mul.f32 f7,f1,f2; bra.uni NEXT; NEXT: add.f32 f8,f7,f3; | f8",
    "division": "div.approx.ftz.f32 f7,f1,f2; add.ftz.f32 f8,f7,f3; | f8",
}


def _entry(name: str, program: str) -> str:
    body, _, stored = program.partition("|")
    loads = "".join(f"ld.global.f32 f{number}, [x+{4 * number}]; " for number in range(1, 7))
    stores = "".join(f"st.global.f32 [y+{4 * at}], {each}; " for at, each in enumerate(stored.split()))
    return f"""
.visible .entry {name}(.param .u64 px, .param .u64 py) {{
.reg .f32 f<12>; .reg .b64 x, y, at; .reg .b32 t; .reg .pred p;
ld.param.u64 x, [px]; ld.param.u64 y, [py]; mov.u32 t, %tid.x; mul.wide.u32 at, t, 32;
add.s64 x, x, at; add.s64 y, y, at; setp.gt.u32 p, t, 3; {loads}
{body} {stores} ret; }}"""


def _module() -> str:
    text = ".version 8.0\n.target sm_90\n.address_size 64\n"
    return text + "".join(_entry(name, program) for name, program in PROGRAMS.items())


def test_as_the_assembler_fuses() -> None:
    """As many FFMA, FMUL and FADD as the machine code has."""
    from ptxlab.gpu.sass import disassemble

    cubin = OLDEST.build(_module(), "sm_90")
    assert isinstance(cubin, bytes), cubin
    sections = re.split(r"\.section\s+\.text\.(\w+)", disassemble(cubin))
    listings = dict(zip(sections[1::2], sections[2::2], strict=True))
    for name, function in read_ptx(_module()).functions.items():
        fused = contractions(function)
        products = {contraction.product for contraction in fused.values()}
        expected = Counter({"FFMA": 0, "FMUL": 0, "FADD": 0})
        for instruction in function.instructions:
            if instruction.parts[-1] == "f32" and instruction.parts[0] in ("add", "sub"):
                expected["FFMA" if instruction.index in fused else "FADD"] += 1
            elif instruction.parts[0] == "mul" and instruction.parts[-1] == "f32":
                expected["FMUL"] += instruction.index not in products
        found = Counter(re.findall(r"\b(FFMA|FMUL|FADD)\b", listings[name]))
        assert found == +expected, name


def test_simulated() -> None:
    """c - a * b with one rounding; not with .rn, and not in code that is not optimised."""
    tiny = np.float32(2**-13)
    x = np.array([0, 1 + tiny, 1 - tiny, 1, 0, 0, 0, 0], dtype=np.float32)  # 1 - (1 + e)(1 - e) = e^2
    for text, expected in (
        (_module(), tiny * tiny),
        (_module().replace("mul.f32", "mul.rn.f32"), 0),
        (_module().replace("sm_90\n", "sm_90, debug\n"), 0),
    ):
        y = np.zeros(2, dtype=np.float32)
        ptxlab.kernel(text, "difference").simulate(1, 1, x, y)
        assert y[0] == expected
