"""Lesson 23: what a chip runs for a PTX instruction, and the machine code in the lesson."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError, listing, quoted
from ...gpu.sass import NAME, Sass, counts_of_listing
from ...instruction import mma_instruction, mma_instructions
from ...isa.catalog import catalog
from ...isa.form import Form
from ...isa.targets import CHIPS, GENERATIONS
from ...numerics.emulate import emulate
from ...views import Picture
from ...views.charts import bars
from ...views.charts import table as text_table
from ...views.grid import Entry, uniform_grid
from ..answers import WrongForm, as_table, result_of, whole_number_set, whole_numbers
from ..checking import Sentences, checks, correct, otherwise, when
from ..reader_kernels import source_text

S4 = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
U4 = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.u4.u4.s32")
U8 = mma_instruction("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32")
WMMA = mma_instruction("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32")
LANE = 5
LOW, HIGH = 0x0F0F0F0F, 0xF0F0F0F0  # the masks of Hopper's u4
#: The shade of each kind in the table of the lesson.
_COLOURS = {"native": -0.375, "split": 0.0, "emulated": 0.375}
_NAMED = ("sm_80", "sm_90", "sm_90a", "sm_100a", "sm_120a")

#: What CUDA 13.0's compiler makes of the forms in the lesson: a part of tools/data/sass.txt, which has all.
RUNS = source_text("machine_code_summaries.txt")

#: The exercise hides the first word of these.
CLASSIFIED = (
    ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "sm_90a"),
    ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc", "sm_90a"),
    ("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "sm_100a"),
    ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "sm_100a"),
    (
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
        "sm_120a",
    ),
)


# -- what the lesson shows -----------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def summaries() -> dict[tuple[str, str], Sass]:
    """What the lesson's forms become with CUDA 13.0, by mnemonic and target.

    >>> str(summaries()["wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "sm_75"])
    'split: 4 HMMA.1688.F32'
    """
    known = {}
    for block in RUNS.strip().split("\n\n"):
        mnemonic, *lines = block.splitlines()
        for line in lines:
            targets, _, counts = line.strip().split(":")
            tensor, arithmetic = (_counted(part) for part in (f"{counts}|").split("|")[:2])
            for target in targets.split():
                known[mnemonic, target] = Sass(target, tensor, arithmetic, sum(arithmetic.values()), "")
    return known


def _counted(text: str) -> dict[str, int]:
    """``{'IMMA.16832.S8.S8': 2}`` from ``2 IMMA.16832.S8.S8``."""
    pairs = (part.split() for part in text.split("+") if part.strip())
    return {opcode: int(count) for count, opcode in pairs}


def _by_word(counts: Mapping[str, int]) -> Counter[str]:
    """The counts of opcodes by their first word."""
    words: Counter[str] = Counter()
    for opcode, count in counts.items():
        words[opcode.partition(".")[0]] += count
    return words


def recorded(ins: Form | str, target: str) -> Sass:
    """The machine code of an instruction as CUDA 13.0 made it, if its listing comes with the lesson.

    `ins.sass(target)` compiles any instruction, if the compiler is installed.

    >>> str(recorded(S4, "sm_80"))
    'native: 1 IMMA.16864.S4.S4'
    """
    listings = _listings()
    key = mma_instruction(ins).mnemonic, target
    if key not in listings:
        there = listing(" for ".join(name) for name in listings)
        raise PtxlabError(f"this lesson has no listing of {key[0]} for {target}; it has {there}")
    return counts_of_listing(f".text.{NAME}:\n{listings[key]}", target)


@lru_cache(maxsize=1)
def _listings() -> dict[tuple[str, str], str]:
    text = source_text("machine_code.txt")
    return {
        (name, target): code.rstrip()
        for name, target, code in re.findall(r"^# (\S+) (sm_\w+)\n(.*?)(?=\n\n|\Z)", text, flags=re.M | re.S)
    }


def mix(ins: Form | str, *targets: str) -> Picture:
    """How many instructions of each kind a form becomes on some targets.

    >>> [cell.text for cell in mix(S4, "sm_80").grids[0].cells if cell.lines]
    ['1']
    """
    mnemonic = mma_instruction(ins).mnemonic
    groups = {}
    for target in targets:
        summary = summaries()[mnemonic, target]
        groups[target] = dict(_by_word({**summary.tensor, **summary.arithmetic}))
    notes = ("tensor-core instructions end in MMA (CUDA 13.0)",)
    return bars(groups, f"What {_short(mnemonic)} becomes", notes)


def letters() -> Picture:
    """What the letter at the end of a target adds to the forms of the plain target, by family.

    >>> letters().grids[0].at(0, 3).text   # wgmma
    '+546'
    """
    families = ("mma", "mma.sp", "wgmma", "wgmma.sp", "tcgen05")
    texts = {}
    for target in ("sm_90a", "sm_100f", "sm_100a", "sm_120f", "sm_120a"):
        plain = target[:-1]
        more: Counter[str] = Counter(
            "tcgen05" if form.family.startswith("tcgen05") else form.family
            for form in catalog(target=target)
            if not form.supports(plain)
        )
        counts = [f"+{more[family]}" if more[family] else "" for family in families]
        others = sum(more.values()) - sum(more[family] for family in families)
        texts[target] = [str(len(catalog(target=plain))), *counts, f"+{others}" if others else ""]
    shades = {text: -0.375 for row in texts.values() for text in row[1:] if text}
    columns = ["plain target", *families, "transfers"]
    return text_table(texts, columns, "Forms that the letter of a target adds", shades=shades)


def table() -> Picture:
    """What every form of the lesson becomes on every generation.

    Blue is native, white is split, red is emulated, and grey means that the target lacks the form.

    >>> table().grids[0].at(1, 3).lines
    ('emulated', '2 IMMA + 178')
    """
    known, targets = summaries(), list(CHIPS.values())
    forms = list(dict.fromkeys(mnemonic for mnemonic, _ in known))

    def entry(row: int, column: int) -> Entry:
        form, target = forms[row], targets[column]
        summary = known.get((form, target))
        tooltip = f"{form}\n{target}: {summary or 'lacks it'}"
        if summary is None:
            return Entry(("-",), tooltip=tooltip)
        parts = [f"{count} {word}" for word, count in _by_word(summary.tensor).items()]
        if summary.arithmetic:
            parts.append(str(sum(summary.arithmetic.values())))
        return Entry((summary.how, " + ".join(parts)), tooltip=tooltip, heat=_COLOURS[summary.how])

    columns = [f"{target}\n{GENERATIONS[chip]}" for chip, target in CHIPS.items()]
    grid = uniform_grid((len(forms), len(targets)), entry, [_short(form) for form in forms], columns)
    return Picture(
        "What the chip runs",
        ("tensor-core instructions, and after the plus the number of other arithmetic ones (CUDA 13.0)",),
        (grid,),
    )


def _short(mnemonic: str) -> str:
    """``mma m16n8k64 s4``: what tells the lesson's forms apart."""
    ins = mma_instruction(mnemonic)
    words = [ins.family, ins.shape, ins.a_type, ins.bit_op or "", ins.kind or ""]
    return " ".join(word for word in words if word)


# -- reading answers -----------------------------------------------------------------------------------------


def _texts(answer: object, form: str) -> list[str]:
    """The answer as words in lower case."""
    if isinstance(answer, str):
        answer = [answer]
    if not isinstance(answer, Iterable) or isinstance(answer, dict):
        raise WrongForm(f"{quoted(answer)} is not a list of words; expected {form}.")
    words = list(answer)
    if not all(isinstance(word, str) for word in words):
        raise WrongForm(f"{quoted(answer)} is not a list of words; expected {form}.")
    return [word.strip().lower() for word in words]


@contextmanager
def _emulated() -> Iterator[set[str]]:
    """The mnemonics of the products that this thread emulates inside."""
    mnemonics: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is emulate.__code__:
            mnemonics.add(frame.f_locals["operation"].ins.mnemonic)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield mnemonics
    finally:
        sys.setprofile(before)


def _registers(function: object, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[np.uint32]:
    """The registers of D that a reader's function returns."""
    form = "`hopper(a, b, c)` returns the registers of D, an integer array of shape (32, 4)"
    value = result_of(function, a.copy(), b.copy(), c.copy(), form=form, about="called with registers")
    registers = as_table(value, form)
    if registers.dtype.kind not in "iu" or registers.shape != c.shape:
        raise WrongForm(f"found {registers.dtype} of shape {registers.shape}; {form}.")
    return (registers.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32)


# -- exercises -----------------------------------------------------------------------------------------------


@checks("23.1")
def _find_register(answer: object) -> Sentences:
    text = answer.strip().upper().removeprefix("R") if isinstance(answer, str) else answer
    (submitted,) = whole_numbers(text, 1, "the number of a register: 7 for R7")
    line = re.search(r"IMMA\S* R(\d+), R(\d+)\S*, R(\d+)\S*, R(\d+)", recorded(S4, "sm_80").listing)
    d, _, b, c = map(int, line.groups()) if line else (0, 0, 0, 0)
    return {
        correct(submitted == c + 2): f"The last operand is C, and R{c} is the first of {S4.c.registers} "
        f"consecutive registers: c0 is in R{c}, c1 in R{c + 1}, c2 in R{c + 2}.",
        when(submitted == c): "That is where C begins. The line names the first register of an operand, and "
        "the others follow.",
        when(submitted == c + 3): "One too far: the register in the listing holds c0, not c1.",
        when(submitted == c + 1): "That is c1: the register in the listing holds c0.",
        when(submitted in range(d, d + 4)): "Those registers are D (and, before the instruction, A): the "
        "first two operands. C is the last operand.",
        when(submitted in range(b, b + 2)): "Those registers are B, the third operand. C is the last "
        "operand.",
        when(submitted == 2): "That is the number within C. In the machine code an operand can start at any "
        "register; the line tells where each one begins.",
        otherwise: "The operands are in the order D, A, B, C, as in PTX, and each is named only by its "
        "first register.",
    }


@checks("23.2")
def _count_split(answer: object) -> Sentences:
    (submitted,) = whole_numbers(answer, 1, "a number of instructions")
    expected = sum(summaries()[WMMA.mnemonic, "sm_75"].tensor.values())
    return {
        correct(submitted == expected): "m16n8k8 has half of n and half of k: 2 times 2. There are "
        f"{WMMA.m * WMMA.n * WMMA.k} products, {16 * 8 * 8} in each instruction.",
        when(submitted == 2): "That halves only one dimension. Compare both n and k of 1688 with n and k of "
        "the shape.",
        when(submitted == 1): "Then m, n and k would have to match the shape. Read 1688 as m16, n8, k8.",
        when(submitted == 8): "You halved all three dimensions. m is 16 in both.",
        when(submitted == 16): "Do not count single 8 x 8 matrices: one HMMA.1688 covers m16, n8 and k8 at "
        "once.",
        otherwise: "Read 1688 as m16, n8, k8. How many such boxes fill a box of 16 x 16 x 16?",
    }


@checks("23.3")
def _masked_columns(answer: object) -> Sentences:
    submitted = whole_number_set(answer, "a list of columns from 0 to 63")
    bits_and_columns = [(place.low, col) for place, _, col in U4.a.holds(LANE, 0)]
    expected = frozenset(col for low, col in bits_and_columns if LOW >> low & 0xF)
    every = frozenset(col for _, col in bits_and_columns)
    elements = frozenset(low // 4 for low, _ in bits_and_columns if LOW >> low & 0xF)
    return {
        correct(submitted == expected): "The mask keeps the low four bits of every byte, and the first of "
        "two adjacent elements is in the low bits: the even columns. The odd ones go to the second IMMA.",
        when(submitted == every - expected): "Those are the others: they are shifted down and go to the "
        "second IMMA. In a byte the first element is in the low bits.",
        when(submitted == frozenset(sorted(every)[:4]) or submitted == frozenset(sorted(every)[4:])): "The "
        "mask does not cut the register in the middle. Look at one byte of it: which half is kept?",
        when(submitted == every): "That is all that the register holds. Half of it is masked away.",
        when(submitted == elements): "Those are the numbers of the elements in the register. At which "
        f"column does lane {LANE} begin?",
        when(bool(submitted) and submitted <= expected): "Those are right, but there are more: how many "
        "bytes does a register have, and how many elements are left in each?",
        otherwise: f"Two steps: which eight adjacent columns does lane {LANE} hold in register 0, and which "
        "of them are in the low half of a byte?",
    }


@checks("23.4")
def _emulate_u4(answer: object) -> Sentences:
    rng = np.random.default_rng(13)
    a, b = (
        rng.integers(0, 1 << 32, (32, count), dtype=np.uint32) for count in (U4.a.registers, U4.b.registers)
    )
    c, zero = rng.integers(0, 1 << 16, (32, 4), dtype=np.uint32), np.zeros((32, 4), dtype=np.uint32)
    with _emulated() as mnemonics:
        submitted = _registers(answer, a, b, c)
    expected = U4.emulate(a, b, c)
    low, high = U8.emulate(a & LOW, b & LOW, zero), U8.emulate(a >> 4 & LOW, b >> 4 & LOW, zero)
    is_right = (submitted == expected).all() and (
        _registers(answer, a ^ LOW, b, zero) == U4.emulate(a ^ LOW, b, zero)
    ).all()
    return {
        when(
            is_right and U4.mnemonic in mnemonics
        ): "The registers of D are right, but the 4-bit instruction itself computed them. A Hopper chip has "
        "none: use `u8.emulate` alone.",
        when(is_right and mnemonics != {U8.mnemonic}): "The registers of D are right, but not by "
        "`u8.emulate` alone, the only product that this exercise allows.",
        correct(is_right): "Even columns of A are multiplied by even rows of B, odd ones by odd ones. The "
        "order of k differs from the manual's, which does no harm: the order of a sum does not matter if it "
        "is exact.",
        when((submitted == low + c).all()): "Those are the products of the low halves alone. Where are the "
        "other elements?",
        when((submitted == high + c).all()): "Those are the products of the high halves alone. Where are "
        "the other elements?",
        when((submitted == low + high).all()): "All products are there, but C is not.",
        when((submitted == low + high + 2 * c).all()): "All products are there, but C was added twice: let "
        "one of the two start from zero, or pass its D to the other.",
        when((submitted == 2 * low + c).all()): "Both products use the low halves. In Python `a & mask >> "
        "4` shifts the mask, not the result: add parentheses.",
        when((submitted == low + c + U8.emulate(a & HIGH, b & HIGH, zero)).all()): "The high halves were "
        "not shifted down: an element then counts 16 times as much, and a product 256 times.",
        when((submitted == low + c + U8.emulate(a >> 4, b >> 4, zero)).all()): "After the shift a byte "
        "still has its neighbour's bits on top. Mask again.",
        when((submitted == U8.emulate(a, b, c)).all()): "That uses the registers as they are: two elements "
        "in a byte become one number. Separate them first.",
        otherwise: f"D[0][0] should be {int(U4.d.unpack(expected)[0, 0])}, found "
        f"{int(U4.d.unpack(submitted)[0, 0])}. Split A and B in the same way: once the low half of every "
        "byte, once the high half shifted down. Then compute two products, and add C once.",
    }


@checks("23.5")
def _classify(answer: object) -> Sentences:
    form = 'five words, each "native", "split" or "emulated"'
    submitted = _texts(answer, form)
    if len(submitted) != len(CLASSIFIED) or not set(submitted) <= set(_COLOURS):
        raise WrongForm(f"found {quoted(submitted)}; the answer is {form}.")
    expected = [summaries()[key].how for key in CLASSIFIED]
    wrong = [at for at, (mine, right) in enumerate(zip(submitted, expected, strict=True)) if mine != right]
    first = wrong[0] if wrong else 0
    where = f"Look at line {first + 1}: "
    return {
        correct(not wrong): "One tensor-core instruction alone is native, and several alone are split. As "
        "soon as there is ordinary arithmetic it is emulated, even around a single tensor-core instruction.",
        when(first == 3 and submitted[3] == "native"): f"{where}there is one tensor-core instruction, but "
        "also other arithmetic around it.",
        when(first == 1 and submitted[1] == "split"): f"{where}there are several, but also other "
        "instructions: what comes after the word *and*?",
        when(first == 2 and submitted[2] == "emulated"): f"{where}there is nothing but tensor-core "
        "instructions.",
        when(first == 2 and submitted[2] == "native"): f"{where}count the tensor-core instructions: one, or "
        "several?",
        when(first in (0, 4)): f"{where}there is one instruction, and nothing else.",
        otherwise: f"{where}two questions. How many tensor-core instructions are there? Is there any other "
        "arithmetic?",
    }


@checks("23.6")
def _wgmma_targets(answer: object) -> Sentences:
    submitted = set(_texts(answer, f"a list of names out of {', '.join(_NAMED)}"))
    if not submitted <= set(_NAMED):
        raise WrongForm(
            f"found {quoted(sorted(submitted - set(_NAMED)))}; the answer is a list of names out of "
            f"{', '.join(_NAMED)}."
        )
    expected = {name for name in _NAMED if mma_instructions("wgmma", name)}
    promised = "sm_90" in submitted and (expected < submitted or len(submitted) == 1)
    later = not submitted.isdisjoint({"sm_100a", "sm_120a"})
    return {
        correct(submitted == expected): "wgmma is an architecture-specific feature of Hopper: only the "
        "target with the letter a has it, and no later chip does.",
        when(promised): "The plain target of Hopper promises only what all later chips will also have. Is "
        "wgmma such a thing?",
        when(later): "The letter a means a feature of this chip alone. So the next chip need not have it.",
        when("sm_80" in submitted): "wgmma came with Hopper; sm_80 is Ampere.",
        otherwise: "One of them does: for which target are lessons 05 and 19?",
    }
