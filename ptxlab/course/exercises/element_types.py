"""Lesson 03: element types, their bits, containers and packing."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from ...instruction import mma_instruction, mma_instructions
from ...isa.dtypes import dtype
from ...views import Picture
from ...views.charts import table
from ...views.grid import Entry, uniform_grid
from ..answers import WrongForm, number_of, numbers, whole_number_set, whole_numbers
from ..checking import Sentences, checks, correct, drawn, first_register, otherwise, when

S4 = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
PADDED = mma_instruction("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32")
REGISTER = drawn("03.1", "`0x{:08X}`", 0x80F73C91, 0x9E2B71A4, 0x5D08E3C6, 0xB47A1F29, 0xF16C83D2, 0x2CA95E07)
_MAGNITUDE, _FRACTION, _EXPONENT = drawn(
    "03.3",
    "Encode -{0} as `e4m3` by hand:** one sign bit, four exponent bits with bias 7, three fraction bits. "
    "Start from {0} = {1} · 2^{2}",
    (20, 1.25, 4),
    (24, 1.5, 4),
    (28, 1.75, 4),
    (40, 1.25, 5),
    (10, 1.25, 3),
    (12, 1.5, 3),
)
_NUMBER = -_MAGNITUDE
ADDED = drawn("03.2", "`(A B)[0][0]` is {}.", 49, 37, 64, 81, 25, 58)
_FOUR = drawn(
    "03.6",
    "{}, {}, {}, {}",
    (1, -1.5, 6, 0.5),
    (2, -0.5, 4, 1.5),
    (3, -6, 0.5, 1),
    (0.5, -3, 1.5, 4),
    (6, -1, 2, 0.5),
)
#: Powers of two between which `binades` counts numbers.
_LOWEST, _HIGHEST = -10, 10


# -- what the lesson shows -----------------------------------------------------------------------------------


def readings(byte: int) -> Picture:
    """What a byte stands for in every small type: its elements, lowest bits first.

    >>> [cell.text for cell in readings(0x3C).grids[0].cells if cell.row == 2]   # s4
    ['1100 0011', '-4, 3']
    """
    rows = {}
    for name in ("b1", "u4", "s4", "u8", "s8", "e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "ue8m0", "ue4m3"):
        kind = dtype(name)
        codes = [byte >> low & (1 << kind.bits) - 1 for low in range(0, 9 - kind.bits, kind.bits)]
        bits = " ".join(f"{code:0{kind.bits}b}" for code in codes)
        rows[name] = [bits, ", ".join(f"{value:g}" for value in kind.decode(codes).tolist())]
    return table(rows, ["elements, the lowest bits first", "numbers"], f"0x{byte:02X} in {len(rows)} types")


def seen_by_instructions(byte: int) -> Picture:
    """What seven instructions make of registers that are full of this byte: the average element of A.

    >>> "-0.5" in [cell.text for cell in seen_by_instructions(0x3C).grids[0].cells]
    True
    """
    rows = {}
    for name in ("s8", "e4m3", "e5m2", "s4", "f16", "bf16", "tf32"):
        forms = (
            instruction
            for instruction in mma_instructions("mma")
            if instruction.a_type == instruction.b_type == name
        )
        ins = next(
            candidate for candidate in forms if candidate.m == 16 and candidate.d_type in ("s32", "f32")
        )
        a = np.full((ins.lanes, ins.a.registers), 0x01010101 * byte, dtype=np.uint32)
        d = ins.emulate(a, ins.b.pack(np.ones(ins.b.shape)), ins.c.pack(np.zeros(ins.c.shape)))
        rows[name] = [f"{ins.d.unpack(d)[0, 0] / ins.k:.8g}", ins.mnemonic]
    return table(rows, ["D divided by K", "instruction"], f"A is full of 0x{byte:02X}, B of ones")


def binades(*names: str) -> Picture:
    """How many positive numbers of each type are between two powers of two, the lower one included.

    >>> [cell.text for cell in binades("e2m1").grids[0].cells if cell.text][:4]
    ['1', '2', '2', '2']
    """
    powers = range(_LOWEST, _HIGHEST)
    exponents = {}
    for name in names:
        kind = dtype(name)
        with np.errstate(invalid="ignore"):  # of NaN
            values = kind.decode(np.arange(1 << kind.bits)).astype(np.float64)
        exponents[name] = np.frexp(values[np.isfinite(values) & (values > 0)])[1] - 1

    def entry(row: int, column: int) -> Entry:
        name, power = names[row], powers[column]
        count = int((exponents[name] == power).sum())
        tooltip = f"{name}: {count} numbers from 2^{power} to 2^{power + 1}"
        if not count:
            return Entry(tooltip=tooltip)
        return Entry((str(count),), tooltip=tooltip, heat=math.log2(2 * count) / 11)

    shape, columns = (len(names), len(powers)), [str(power) for power in powers]
    grid = uniform_grid(shape, entry, names, columns, ("", "power of two"), density="close")
    notes = ("column 0: the numbers from 1 up to 2", "e5m2, f16 and bf16 go on at both sides")
    return Picture("How many numbers between two powers of two?", notes, (grid,))


# -- its exercises -------------------------------------------------------------------------------------------


@checks("03.1")
def _read_s4(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 8, "eight numbers, first element first")
    codes = S4.a.split(np.full((S4.lanes, S4.a.registers), REGISTER, dtype=np.uint32))[0, :8]
    values = tuple(dtype("s4").decode(codes).tolist())
    unsigned = tuple(codes.tolist())
    sign_and_magnitude = tuple(-int(code & 7) if code > 7 else int(code) for code in codes)
    bytewise = tuple(values[i ^ 1] for i in range(8))
    return {
        correct(submitted == values): "One hexadecimal digit is one element, read from the right. A digit "
        "of 8 or more has its top bit set and stands for that digit minus 16.",
        when(submitted == values[::-1]): "All eight are right, but you began on the left. The first element "
        "is in the lowest bits: the rightmost digit.",
        when(submitted in (unsigned, unsigned[::-1])): "Those are the numbers as `u4`. `s4` is signed: a "
        "code of 8 or more stands for a negative number.",
        when(submitted in (sign_and_magnitude, sign_and_magnitude[::-1])): "You read the top bit as a minus "
        "sign and the rest as the magnitude, as in a float. Integers are in two's complement: subtract 16 "
        "instead.",
        when(submitted == bytewise): "The two elements of each byte are exchanged: also within a byte, the "
        "low four bits come first.",
        when(any(not -8 <= number <= 7 for number in submitted)): "`s4` holds -8 to 7. A hexadecimal digit "
        "of 8 or more stands for that digit minus 16.",
        otherwise: "Take the hexadecimal digits from right to left, one for each element, and subtract 16 "
        "from those that are 8 or more.",
    }


@checks("03.2")
def overflow(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(without, with .satfinite)`")
    s32 = dtype("s32")
    wrapped = int(s32.decode((s32.maximum + ADDED) & 0xFFFFFFFF))
    expected = (wrapped, s32.maximum)
    return {
        correct(submitted == expected): "Without it the 32-bit sum wraps around; `.satfinite` stops at the "
        "largest value.",
        when(submitted == expected[::-1]): "It is the other way round: `.satfinite` stops at the end of the "
        "range.",
        when(submitted[0] == s32.maximum + ADDED): "The true sum does not fit into 32 bits. Which signed "
        "number are its lowest 32 bits?",
        when(submitted[0] == s32.minimum): "From the largest value, one step leads to the smallest. Here "
        f"{ADDED} is added.",
        when(abs(submitted[0] - wrapped) == 1): "Off by one: the step from the largest to the smallest "
        f"value is one step of the {ADDED}.",
        when(submitted[0] == wrapped): "The first is right. `.satfinite` clamps the result to the range of "
        "`s32`.",
        when(submitted[1] == s32.maximum): "The second is right. Without the clamp the sum wraps around: "
        "one above the largest value comes the smallest.",
        otherwise: "Without `.satfinite` only the lowest 32 bits of the sum are kept; with it the sum is "
        "clamped to the range of `s32`.",
    }


@checks("03.3")
def _encode_e4m3(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a byte, `0b........` or `0x..`")
    e4m3 = dtype("e4m3")
    expected = int(e4m3.encode([_NUMBER])[0])
    exponent, fraction = expected >> 3 & 15, expected & 7
    return {
        correct(submitted == expected): f"Sign 1; exponent {_EXPONENT} + {e4m3.bias} = {exponent} = "
        f"{exponent:04b}; {_FRACTION} is 1 + {fraction}/8, and only the {fraction} is stored: "
        f"{fraction:03b}.",
        when(submitted == expected & 0x7F): "Exponent and fraction are right, but that is "
        f"+{_MAGNITUDE}: the sign is the top bit.",
        when(submitted == _NUMBER): "That is the number itself; give the byte that encodes it.",
        when(submitted == int(dtype("e5m2").encode([_NUMBER])[0])): "That is the byte for `e5m2`, which has "
        "five exponent bits. `e4m3` has four, with bias 7.",
        when(submitted == _NUMBER & 0xFF): f"That is {_NUMBER} as `s8`, in two's complement. A float has "
        "a sign bit, and the rest is the magnitude.",
        when(submitted == 0x100 - (expected & 0x7F)): "A negative float is not the complement of the "
        "positive one: only the sign bit is set.",
        when(submitted == (0x80 | _EXPONENT << 3 | fraction)): "The exponent field holds the exponent "
        "*plus the bias*, so that it can also express negative exponents.",
        when(submitted & 0x87 == expected & 0x87): "Sign and fraction are right. The exponent field is "
        f"{_EXPONENT} plus the bias; the bias of `e4m3` is 7.",
        when(submitted & 0xF8 == expected & 0xF8): "Sign and exponent are right. The leading 1 of "
        f"{_FRACTION} is not stored; the fraction field counts the eighths after it.",
        otherwise: "Write the three fields one after the other: sign (1 bit), exponent plus 7 (4 bits), "
        "eighths after the leading 1 (3 bits).",
    }


@checks("03.4")
def _nan_codes(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of bytes, `[0x.., ...]`")
    e4m3 = dtype("e4m3")
    expected = frozenset(np.flatnonzero(np.isnan(e4m3.decode(np.arange(256)))).tolist())
    top = frozenset(code for code in range(256) if code >> 3 & 15 == 15)
    other = dtype("e5m2").decode(np.arange(256))
    return {
        correct(submitted == expected): "All exponent and fraction bits are set, with either sign. The "
        "other codes with the top exponent are numbers, up to 448: that is why e4m3 has no infinity.",
        when(submitted == top): "In IEEE types the whole row of the top exponent is infinity and NaN. Look "
        "at the picture: `e4m3` uses all but one cell of that row for numbers.",
        when(submitted < top and bool(submitted) and all(code & 7 == 0 for code in submitted)): "Those "
        "would be the infinities of an IEEE type. In `e4m3` they are numbers.",
        when(submitted == frozenset(np.flatnonzero(np.isnan(other)).tolist())): "Those are the NaN codes of "
        "`e5m2`. Find the grey cell in the picture of `e4m3`.",
        when(bool(submitted) and submitted < expected): "That one is NaN, but there is a second one: what "
        "values can the sign bit have?",
        when(any(not 0 <= code < 256 for code in submitted)): "A code of `e4m3` has eight bits: two "
        "hexadecimal digits after the `0x`, and no minus.",
        when(submitted & expected): "There are ordinary numbers among them. Only one cell of the picture is "
        "grey, and there are two signs.",
        otherwise: "The grey cell is in the row of the largest exponent: add 8 to the number of its row. "
        "Write its exponent and its fraction in binary, and put the sign bit in front.",
    }


def _has_infinity_or_nan(answer: object, count: int) -> bool:
    """Whether an answer of `count` numbers has some that are not finite."""
    try:
        values = np.asarray(answer, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return False
    return values.size == count and not np.isfinite(values).all()


@checks("03.5")
def e2m1(answer: object) -> Sentences:
    form = "eight numbers, code `0b0000` first"
    if _has_infinity_or_nan(answer, 8):
        raise WrongForm(
            "In `e2m1` every code is a number: there is no infinity and no NaN. Use the two formulas for "
            "all eight."
        )
    submitted = numbers(answer, form, 8)
    expected = tuple(dtype("e2m1").decode(np.arange(8)).tolist())
    wrong = [code for code in range(8) if submitted[code] != expected[code]]
    if not wrong:
        return {
            correct(True): "Those are all the magnitudes of e2m1; the other eight codes are their "
            "negatives. The steps grow: halves up to 2, then 1, then 2."
        }
    steps = {after - before for before, after in pairwise(submitted)}
    return {
        when(submitted == tuple(range(8))): "You took the code for the number. Split it into two exponent "
        "bits and one fraction bit.",
        when(submitted[2:] == expected[2:]): "The last six are right. The first two have exponent field 0: "
        "there is no hidden one, and the power of two is the same as for exponent field 1.",
        when(len(steps) == 1): "Your steps are all alike, as with integers. In a float the step doubles "
        "with each exponent.",
        when(submitted == tuple(2 * number for number in expected)): "All are twice as large as they should "
        "be. Did you subtract the bias?",
        when(submitted == tuple(number / 2 for number in expected)): "All are half of what they should be. "
        "The bias is 1, not 2.",
        when(all(submitted[code] == expected[code] for code in range(2, 8, 2))): "Among the last six, those "
        "with fraction 1 are wrong. Three fraction bits count eighths; what does one fraction bit count?",
        otherwise: f"`0b{wrong[0]:04b}` is the first that is wrong. What are its exponent field and its "
        "fraction, and which of the two formulas applies?",
    }


@checks("03.6")
def padded(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "one 32-bit number, `0x........`")
    codes = [int(code) for code in dtype("e2m1").encode(_FOUR)]
    width, padding = PADDED.a.width, PADDED.a.padding

    def laid(step: int, below: int, order: int = 1) -> int:
        return sum(code << step * i + below for i, code in enumerate(codes[::order]))

    expected = first_register(PADDED.a, codes)
    missed = [i for i in range(4) if submitted >> width * i & 0xFF != codes[i] << padding]
    names = " and ".join(str(_FOUR[i]) for i in missed)
    return {
        correct(submitted == expected): "Each code is shifted up by two, with two bits of padding below it "
        "and two above. The first element is in the lowest byte.",
        when(submitted == laid(width, 0)): "One byte for each element is right, but an `e2m1` is not at the "
        "bottom of its byte: see the figure.",
        when(submitted == laid(width, 2 * padding)): "One byte for each element is right, but an `e2m1` is "
        "not at the top of its byte: see the figure.",
        when(submitted in (laid(4, 0), laid(4, 0, -1))): "That is how `kind::mxf4` packs them, without "
        "padding. Here every element has a byte of its own.",
        when(submitted == laid(width, padding, -1)): "The bytes are right, but their order is not: the "
        "first element is in the lowest byte.",
        when(submitted == expected & ~(0b1000 << width + padding)): "The minus sign of the second number is "
        "missing: it is the top one of its *four* bits.",
        when(submitted == expected & ~(0b1000 << width + padding) | 0x80 << width): "The sign is one of the "
        "element's four bits, not the top bit of the byte: that is padding.",
        when(submitted > 0xFFFFFFFF): "A register has 32 bits: eight hexadecimal digits.",
        when(len(missed) < 3 and submitted & 0xC3C3C3C3 == 0): "Positions and order are right, but look up "
        f"{names} in the table of `e2m1` again.",
        when(len(missed) == 1): f"Three bytes are right; that of {names} is not. Its four bits have two "
        "zeros before and two after.",
        otherwise: "Encode each number as four bits (the table of `e2m1` is above), put two zeros before "
        "and two after, and write the bytes from right to left.",
    }


@checks("03.7")
def _mistaken(answer: object) -> Sentences:
    (submitted,) = numbers(answer, "one number, for example `2**-3`", 1)
    bf16, f16 = dtype("bf16"), dtype("f16")
    (code,) = f16.encode([1.0])
    expected = float(bf16.decode(code))
    field = int(code) >> bf16.fraction_bits
    return {
        correct(submitted == expected): "In bf16 the eight bits after the sign are the exponent field: "
        f"{field}, minus the bias {bf16.bias}. No error, no NaN: just a number that is 128 times too small.",
        when(submitted == 1): "The bits stay the same, but `bf16` divides them elsewhere: eight exponent "
        "bits instead of five.",
        when(submitted == float(f16.decode(bf16.encode([1.0])[0]))): "That is the opposite mistake: 1 as "
        "`bf16`, read as `f16`. Here the bits are `0x3C00`, and they are read as `bf16`.",
        when(submitted == field - bf16.bias): "That is the exponent. Which power of two is it?",
        when(submitted == field or submitted == 2.0**field): "The exponent field is right, but you still "
        "have to subtract the bias.",
        when(submitted == 2.0 ** (field - f16.bias)): "The exponent field is right, but you subtracted the "
        "bias of `f16`. Eight exponent bits have a different bias.",
        when(submitted == 2.0 ** -(field - bf16.bias)): "The magnitude of the exponent is right, but its "
        "sign is not: is the field above or below the bias?",
        otherwise: "Write 0x3C00 as 16 bits: one sign, then *eight* exponent bits, then seven fraction "
        "bits. What is the exponent field minus the bias 127?",
    }


#: Types that a decoder must get right, and the step between the codes that the check tries.
_DECODED = (("e2m1", 1), ("e2m3", 1), ("e3m2", 1), ("e4m3", 1), ("e5m2", 1), ("f16", 97), ("bf16", 97))


@checks("03.8")
def decoder(answer: object) -> Sentences:
    form = "`value(code, e, m)` returns a number"
    for name, step in _DECODED:
        kind = dtype(name)
        e, m = kind.exponent_bits, kind.fraction_bits
        codes = np.arange(0, 1 << kind.bits, step)
        finite = np.isfinite(kind.decode(codes))
        for code, expected in zip(codes[finite].tolist(), kind.decode(codes[finite]).tolist(), strict=True):
            about = f"called with ({code:#x}, {e}, {m})"
            submitted = number_of(answer, code, e, m, form=form, about=about)
            if submitted == expected:
                continue
            where = f"`value({code:#x}, {e}, {m})`, a code of {name},"
            exponent = code >> m & (1 << e) - 1
            fraction = code & (1 << m) - 1
            with_hidden_one = math.copysign(2.0**-kind.bias * (1 + fraction / 2**m), expected)
            return {
                when(submitted == -expected): f"{where} has the wrong sign. The sign is bit e + m, counted "
                "from 0.",
                when(exponent == 0 and submitted == with_hidden_one): f"{where} is wrong: its exponent "
                "field is 0, so there is no hidden one.",
                when(exponent == 0 and abs(submitted) == abs(expected) / 2): f"{where} is half of what it "
                "should be: exponent field 0 uses the same power of two as exponent field 1, so the steps "
                "stay even.",
                when(expected != 0 and submitted / expected in (2.0, 0.5)): f"{where} is wrong by a factor "
                "of two: check the bias. It is one less than a power of two.",
                when(fraction != 0): f"{where} is wrong, and it has a fraction: the fraction counts steps "
                "of 1 / 2**m.",
                otherwise: f"{where} is wrong. Cut it into fields: fraction = the low m bits, exponent = "
                "the e bits above, sign = the bit above those.",
            }
    return {
        correct(True): "One rule decodes them all. The types differ in e, in m, and in how they use the "
        "largest exponent. tf32 is the same with e = 8, m = 10."
    }
