"""Products that ptxas fuses and sums that it rotates: what ptxlab says, and what the machine code has."""

from __future__ import annotations

import hashlib
import re
from collections import Counter

import numpy as np
import pytest

import ptxlab
from ptxlab.simulator.ptx.ptxas import contractions, rotations, sign_fills
from ptxlab.simulator.ptx.reader import read_ptx
from tests.assembler import OLDEST
from tests.texts import replaced

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
    stores = "".join(
        f"st.global.f32 [y+{4 * at}], {register}; " for at, register in enumerate(stored.split())
    )
    return f"""
.visible .entry {name}(.param .u64 px, .param .u64 py) {{
.reg .f32 f<12>; .reg .b64 x, y, at; .reg .b32 t; .reg .pred p;
ld.param.u64 x, [px]; ld.param.u64 y, [py]; mov.u32 t, %tid.x; mul.wide.u32 at, t, 32;
add.s64 x, x, at; add.s64 y, y, at; setp.gt.u32 p, t, 3; {loads}
{body} {stores} ret; }}"""


def _module(*names: str) -> str:
    text = ".version 8.0\n.target sm_90\n.address_size 64\n"
    return text + "".join(_entry(name, PROGRAMS[name]) for name in names or PROGRAMS)


def _listings(text: str) -> dict[str, str]:
    """The machine code of each kernel, by the oldest assembler."""
    from ptxlab.gpu.sass import disassemble

    cubin = OLDEST.build(text, "sm_90")
    assert isinstance(cubin, bytes), cubin
    sections = re.split(r"\.section\s+\.text\.(\w+)", disassemble(cubin))
    return dict(zip(sections[1::2], sections[2::2], strict=True))


def test_as_the_assembler_fuses() -> None:
    """As many FFMA, FMUL and FADD as the machine code has."""
    listings = _listings(_module())
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


def test_contracted_sums_round_once() -> None:
    """c - a * b with one rounding; not with .rn, and not in code that is not optimised."""
    tiny = np.float32(2**-13)
    x = np.array([0, 1 + tiny, 1 - tiny, 1, 0, 0, 0, 0], dtype=np.float32)  # 1 - (1 + e)(1 - e) = e^2
    module = _module("difference")
    for text, expected in (
        (module, tiny * tiny),
        (replaced(module, "mul.f32", "mul.rn.f32"), 0),
        (replaced(module, "sm_90\n", "sm_90, debug\n"), 0),
    ):
        y = np.zeros(2, dtype=np.float32)
        ptxlab.kernel(text, "difference").simulate(1, 1, x, y)
        assert y[0] == expected


# -- sums of two shifts that become a rotate -----------------------------------------------------------------

_SHIFTS = "shl.b64 d1,d0,8; shr.u64 d2,d0,56; "
#: Statements of d0, which is loaded, and d3, which is stored; p is a predicate, n a number that varies.
SUMS = {
    "difference": _SHIFTS + "sub.u64 d3,d1,d2;",
    "turned_around": _SHIFTS + "sub.s64 d3,d2,d1;",
    "signed": "shl.b64 d1,d0,8; shr.s64 d2,d0,56; add.u64 d3,d2,d1;",
    "signed_difference": "shl.b64 d1,d0,33; shr.s64 d2,d0,31; sub.u64 d3,d1,d2;",
    "shr_of_bits": "shr.b64 d2,d0,1; shl.b64 d1,d0,63; sub.u64 d3,d1,d2;",
    "with_carry": _SHIFTS + "sub.cc.u64 d3,d1,d2; subc.u64 d4,0,0; st.global.u64 [y+8],d4;",
    "copies": "mov.b64 d5,d0; shl.b64 d1,d0,8; shr.u64 d2,d5,56; mov.u64 d6,d1; sub.u64 d3,d6,d2;",
    "constants_moved": "mov.u32 a,8; mov.u32 b,56; shl.b64 d1,d0,a; shr.u64 d2,d0,b; sub.u64 d3,d1,d2;",
    "guarded_sum": _SHIFTS + "mov.u64 d3,5; @p sub.u64 d3,d1,d2;",
    "other_uses": _SHIFTS + "sub.u64 d3,d1,d2; st.global.u64 [y+8],d1; st.global.u64 [y+16],d2;",
    "another_block": "shl.b64 d1,d0,8; @p bra OUT; st.global.u64 [y+8],d1; OUT: shr.u64 d2,d0,56; "
    "sub.u64 d3,d1,d2;",
    "part_of_a_sum": _SHIFTS + "sub.u64 d3,d1,d2; add.u64 d3,d3,1;",
    "true_rotate": _SHIFTS + "add.u64 d3,d1,d2;",
    "disjunction": "shl.b64 d1,d0,8; shr.s64 d2,d0,56; or.b64 d3,d1,d2;",
    "exclusive": _SHIFTS + "xor.b64 d3,d1,d2;",
    "not_64": "shl.b64 d1,d0,8; shr.u64 d2,d0,55; sub.u64 d3,d1,d2;",
    "negative": _SHIFTS + "neg.s64 d4,d2; add.u64 d3,d1,d4;",
    "product": "mul.lo.u64 d1,d0,256; shr.u64 d2,d0,56; sub.u64 d3,d1,d2;",
    "amount_that_varies": "sub.u32 a,64,n; shl.b64 d1,d0,n; shr.u64 d2,d0,a; sub.u64 d3,d1,d2;",
    "another_value": "shl.b64 d1,d0,8; add.u64 d0,d0,1; shr.u64 d2,d0,56; sub.u64 d3,d1,d2;",
    "guarded_shift": "shl.b64 d1,d0,8; mov.u64 d2,7; @p shr.u64 d2,d0,56; sub.u64 d3,d1,d2;",
    "32_bits": "cvt.u32.u64 a,d0; shl.b32 b,a,8; shr.u32 a,a,24; sub.u32 a,b,a; cvt.u64.u32 d3,a;",
}
_HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"


def _sum_entry(name: str, body: str) -> str:
    return f""".visible .entry {name}(.param .u64 px, .param .u64 py, .param .u32 pn) {{
.reg .b64 x, y, d<9>; .reg .b32 a, b, n; .reg .pred p;
ld.param.u64 x, [px]; ld.param.u64 y, [py]; ld.param.u32 n, [pn]; setp.eq.u32 p, n, 8; ld.global.u64 d0, [x];
{body} st.global.u64 [y], d3; ret; }}
"""


def test_sums_that_the_assembler_rotates() -> None:
    """Where there is a rotate too many in the machine code, and no addition is left."""
    module = _HEAD + "".join(_sum_entry(f"k_{name}", body) for name, body in SUMS.items())
    listings = _listings(module)
    for name, function in read_ptx(module).functions.items():
        rotates = re.search(r"SHF\.L\.W", listings[name]) is not None
        assert bool(rotations(function)) == (rotates and name != "k_true_rotate"), name


def test_both_values_of_a_rotated_sum() -> None:
    """A note has PTX's value and the chip's; `assembled=True` goes on with the chip's, and -G has none."""
    text = _HEAD + _sum_entry("k", SUMS["with_carry"])
    for assembled, expected in ((False, 0x23456789ABCDEE0F), (True, 0x23456789ABCDEFF1)):
        x, y = np.array([0xF123456789ABCDEF], np.uint64), np.zeros(2, np.uint64)
        result = ptxlab.kernel(text).simulate(1, 1, x, y, 8, assembled=assembled)
        (note,) = result.notes
        assert (int(y[0]), int(y[1]), result.hazards) == (expected, 0, [])
        assert note.kind == "the assembler's code" and note.evidence.startswith("measured: H200")
        assert "PTX says 0x23456789abcdee0f, its code gives 0x23456789abcdeff1" in note.sentence
    debug = ptxlab.kernel(replaced(text, "sm_90", "sm_90, debug"))
    assert debug.simulate(1, 1, x, y, 8, assembled=True).notes == [] and int(y[0]) == 0x23456789ABCDEE0F
    x[0] = 1 << 40  # nothing is shifted out: all agree
    assert ptxlab.kernel(text).simulate(1, 1, x, y, 8).notes == []


#: What an H200 gave for `_every_amount`, by ptxas of CUDA 12.9, 13.0 and 13.2 at -O3; and by that of 13.0
#: at -O0, of 13.3 and of 13.4.
_ROTATED, _PLAIN = "2d34a6783bfb0aa24b82edcc6a73293e", "56b965d753db2b1c933dcca652857086"


def _every_amount() -> str:
    """Sums of d1 = x << n, d2 = x >> 64 - n and d3, the same with the sign, for every n."""
    forms = [
        *("sub.u64 d4,d1,d2", "sub.s64 d4,d2,d1", "add.u64 d4,d1,d3", "add.u64 d4,d3,d1"),
        *("sub.u64 d4,d1,d3", "sub.u64 d4,d3,d1", "add.u64 d4,d1,d2"),
    ]
    body = ""
    for amount in range(1, 64):
        rest = 64 - amount
        body += f"shl.b64 d1,d0,{amount}; shr.u64 d2,d0,{rest}; shr.s64 d3,d0,{rest};\n"
        for number, form in enumerate(forms):
            body += f"{form}; st.global.u64 [y+{512 * (7 * amount - 7 + number)}],d4;\n"
    return f"""{_HEAD}.visible .entry k(.param .u64 px, .param .u64 py) {{
.reg .b64 x, y, at, d<9>; .reg .b32 t;
ld.param.u64 x, [px]; ld.param.u64 y, [py]; mov.u32 t, %tid.x; mul.wide.u32 at, t, 8; add.u64 x, x, at;
add.u64 y, y, at; ld.global.u64 d0, [x];
{body} ret; }}"""


def test_rotated_sums_are_those_of_an_h200() -> None:
    special = [
        *(0, 1, 2, 0xF123456789ABCDEF, 0x0123456789ABCDEF, 2**63, 2**64 - 1, 2**63 - 1),
        *(0x8000000000000001, 0xAAAAAAAAAAAAAAAA, 0x00000000FFFFFFFF, 0xFFFFFFFF00000000),
    ]
    others = np.random.default_rng(1).integers(0, 2**63, 52, dtype=np.uint64)
    x = np.concatenate([np.array(special, np.uint64), others])
    x[12:40] |= np.uint64(2**63)
    assert hashlib.sha256(x.tobytes()).hexdigest()[:16] == "ebee8860db25b4e2"
    for assembled, expected in ((True, _ROTATED), (False, _PLAIN)):
        y = np.zeros(7 * 63 * 64, np.uint64)
        result = ptxlab.kernel(_every_amount()).simulate(1, 64, x, y, assembled=assembled)
        assert hashlib.sha256(y.tobytes()).hexdigest()[:32] == expected
        assert sum(note.count for note in result.notes) == 19_311


# -- parts beyond the sign -----------------------------------------------------------------------------------

#: Statements of a, which is loaded, and d3, which is stored; n is a number that varies.
PARTS = {
    "beyond": ("bfe.s32 a, a, 40, 9;", True),
    "constants_moved": ("mov.u32 b, 186; mov.u32 c, 1; bfe.s32 a, a, b, c;", True),
    "guarded_part": ("setp.eq.u32 p, n, 8; @p bfe.s32 a, a, 255, 32;", True),
    "the_sign": ("bfe.s32 a, a, 31, 9;", False),
    "nothing": ("bfe.s32 a, a, 40, 0;", False),
    "unsigned": ("bfe.u32 a, a, 40, 9;", False),
    "position_that_varies": ("bfe.s32 a, a, n, 9;", False),
    "length_that_varies": ("bfe.s32 a, a, 40, n;", False),
}


def _part_entry(name: str, body: str) -> str:
    loads = f".reg .b32 c; ld.global.u32 a, [x]; {body} cvt.u64.u32 d3, a;"
    return _sum_entry(name, loads)


def test_parts_that_the_assembler_takes_for_minus_one() -> None:
    module = _HEAD + "".join(_part_entry(f"k_{name}", body) for name, (body, _) in PARTS.items())
    listings = _listings(module)
    for name, function in read_ptx(module).functions.items():
        wrong = "0xffffffff" in listings[name]
        assert (bool(sign_fills(function)), wrong) == (PARTS[name.removeprefix("k_")][1],) * 2, name


@pytest.mark.parametrize("name", ["beyond", "constants_moved", "guarded_part"])
def test_both_values_of_a_part_beyond_the_sign(name: str) -> None:
    """An H200 gives -1 for FuzzX's m052, where -O0 and PTX give 0."""
    kernel = ptxlab.kernel(_HEAD + _part_entry("k", PARTS[name][0]))
    for value, assembled, expected, notes in (
        (32, False, 0, 1), (32, True, 0xFFFFFFFF, 1), (1 << 31, False, 0xFFFFFFFF, 0),
    ):  # fmt: skip
        x, y = np.array([value], np.uint64), np.zeros(2, np.uint64)
        result = kernel.simulate(1, 1, x, y, 8, assembled=assembled)
        assert (int(y[0]), len(result.notes), result.hazards) == (expected, notes, [])
        for note in result.notes:
            assert "PTX says 0x0, its code gives 0xffffffff" in note.sentence
