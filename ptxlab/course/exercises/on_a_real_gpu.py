"""Lesson 24: a kernel from Python, comparing bits, and finding layouts by probing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import gpu
from ...gpu.codegen import statement
from ...instruction import mma_instruction
from ...isa.operand import Operand
from ..answers import WrongForm, as_table, result_of, whole_numbers, whole_result_of
from ..checking import Sentences, checks, correct, otherwise, when

INS = mma_instruction("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
F16 = mma_instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
S4 = mma_instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
MMAS, THREADS = 1000, 128
ROW, COL = 9, 5


# -- machines with undocumented layouts ----------------------------------------------------------------------


class OtherMachine:
    """Multiplies registers like mma.m16n8k32 with s8, but one of its fragments has another layout.

    >>> strange, c = OtherMachine("D", seed=1), np.zeros((32, 4), dtype=np.uint32)
    >>> bool((strange(np.zeros((32, 4), dtype=np.uint32), np.zeros((32, 2), dtype=np.uint32), c) == c).all())
    True
    """

    def __init__(self, which: str, seed: int) -> None:
        self._which = which
        self._order = _mixed(INS.operand(which), seed)

    def __call__(self, a: ArrayLike, b: ArrayLike, c: ArrayLike) -> NDArray[Any]:
        """D from A, B and C, on the GPU if there is one; any batch axes."""
        multiply = INS.run if gpu.available(INS) else INS.emulate
        if self._which == "A":
            return multiply(self._usual(INS.a, a), b, c)
        d = multiply(a, b, self._usual(INS.c, c))
        codes = INS.d.unpack_codes(d)
        return INS.d.join(codes[..., self._order[..., 0], self._order[..., 1]])

    def __repr__(self) -> str:
        return f"<a machine with another layout of {self._which}>"

    def _usual(self, operand: Operand, registers: ArrayLike) -> NDArray[Any]:
        """The registers rearranged into the instruction's own layout."""
        elements = operand.split(operand.check_registers(registers))
        codes = np.zeros((*elements.shape[:-2], *operand.shape), dtype=elements.dtype)
        codes[..., self._order[..., 0], self._order[..., 1]] = elements
        return operand.pack_codes(codes)


def _mixed(operand: Operand, seed: int) -> NDArray[np.int64]:
    """Row and column of every lane and element: the bits of their numbers, permuted and partly XORed."""
    rows, columns = operand.shape
    bits = (rows * columns).bit_length() - 1
    rng = np.random.default_rng(seed)
    slots = np.arange(rows * columns)
    parts = [slots >> int(at) & 1 for at in rng.permutation(bits)]
    for at in range(1, bits, 2):
        parts[at] = parts[at] ^ parts[at - 1]
    cells = sum((part << at for at, part in enumerate(parts)), np.zeros_like(slots))
    coords = np.stack(np.divmod(cells, columns), axis=-1)
    return coords.reshape(operand.lanes, -1, 2)


def mystery() -> OtherMachine:
    """The machine of the exercises: only its B, C and D have the layouts in the manual.

    >>> mystery()
    <a machine with another layout of A>
    """
    return OtherMachine("A", seed=28)


# -- exercises -----------------------------------------------------------------------------------------------


@checks("24.1")
def _operand_number(answer: object) -> Sentences:
    text = answer.strip().removeprefix("%") if isinstance(answer, str) else answer
    (submitted,) = whole_numbers(text, 1, "the number of an operand: 7 for %7")
    d, a, b = F16.d.registers, F16.a.registers, F16.b.registers
    expected = d + a + 1
    right = f"%{expected}" in statement(F16)
    return {
        correct(right and submitted == expected): f"%0 to %{d - 1} are D, the next {a} are A, and then come "
        f"the {b} registers of B.",
        when(submitted == expected + 1): "The numbers begin with %0, not with %1.",
        when(submitted == a + 1): "Operands that are written come first: D also has numbers.",
        when(submitted == expected - 1): "That is `b[0]`: b is counted from 0.",
        when(submitted in range(d, d + a)): "That is one of A. The order is D, A, B, C, as in PTX.",
        when(submitted in range(d + a + b, d + a + b + F16.c.registers)): "C comes last: the order is D, A, "
        "B, C, as in PTX.",
        when(submitted == 1): "That is its number within B. All registers of D and A come before it.",
        otherwise: "Count the registers from 0: first D, then A, then B, each with as many registers as its "
        "type and shape need.",
    }


@checks("24.2")
def blocks(answer: object) -> Sentences:
    if isinstance(answer, float) and math.isfinite(answer):
        answer = math.ceil(answer)
    (submitted,) = whole_numbers(answer, 1, "a number of blocks")
    warps = THREADS // INS.lanes
    return {
        correct(submitted == -(-MMAS // warps)): f"{THREADS} threads are {warps} warps of {INS.lanes} "
        f"lanes, so a block does {warps} MMAs.",
        when(submitted == MMAS): "Then a block would be one warp. How many warps are 128 threads?",
        when(submitted == -(-MMAS // THREADS)): "That is one MMA for each thread. But all lanes of a warp "
        "do one MMA together.",
        when(submitted == MMAS * warps): "It is the other way round: a block has several warps, so you need "
        "fewer blocks than MMAs.",
        when(submitted == -(-MMAS // INS.lanes)): "That gives each block as many MMAs as a warp has lanes. "
        "How many warps does a block have?",
        otherwise: "A warp has 32 lanes. How many warps are in a block, and so how many MMAs does a block "
        "do?",
    }


@checks("24.3")
def different(answer: object) -> Sentences:
    form = "`different(x, y)` returns a number of elements"
    nan, other = (np.array([code], dtype=np.uint32).view(np.float32)[0] for code in (0x7FFFFFFF, 0x7FC00000))
    cases = (
        ("two equal arrays", [1.0, 2.0], [1.0, 2.0]),
        ("1 and 2 in one place", [1.0, 2.0], [1.0, 1.0]),
        ("1.25 and 1.5", [1.25, 1.0], [1.5, 1.0]),
        ("NaN and the same NaN", [nan, 1.0], [nan, 1.0]),
        ("0 and -0", [0.0, 1.0], [-0.0, 1.0]),
        ("two NaNs with different bits", [nan, 1.0], [other, 1.0]),
        ("1 and the next number after it", [1.0, 1.0], [np.nextafter(np.float32(1), np.float32(2)), 1.0]),
        ("a matrix", [[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [3.0, 4.0]]),
    )
    for name, left, right in cases:
        x, y = np.array(left, dtype=np.float32), np.array(right, dtype=np.float32)
        expected = int((x.view(np.uint32) != y.view(np.uint32)).sum())
        with np.errstate(all="ignore"):
            submitted = whole_result_of(answer, x, y, form=form)
        if submitted != expected:
            result = f"For {name} you returned {submitted}. "
            return {
                when(name.startswith("1.25") and submitted == 0): f"{result}A conversion to integers makes "
                "both of them 1. Do not convert: view the same memory as another type.",
                when(name.startswith("NaN and")): f"{result}As a *number* NaN is not equal to itself, "
                "although its bits are the same. Compare the bits.",
                when(name.startswith("0 and")): f"{result}As *numbers* they are equal, but the sign bit "
                "differs. Compare the bits.",
                when(name.startswith("two NaN")): f"{result}Both are NaN, but their bits differ, and a "
                "tensor core has its own NaN: 0x7FFFFFFF.",
                when(name.startswith("1 and the next")): f"{result}They differ in the last bit, and the "
                "last bit counts.",
                when(name == "a matrix"): f"{result}Count every element that differs: not rows, and not "
                "only whether there is one.",
                otherwise: f"{result}View the same memory as integers, `x.view(np.uint32)`, and count where "
                "they differ.",
            }
    return {
        correct(True): "A view gives you the bits as integers, which have neither NaN nor two zeros. "
        "ptxlab's tests compare in the same way."
    }


@checks("24.4")
def _design(answer: object) -> Sentences:
    form = f"`row_of_b(k)` returns {S4.n} whole numbers from -8 to 7"
    rows = [whole_numbers(result_of(answer, k, form=form), S4.n, form) for k in range(S4.k)]
    table = np.array(rows)
    same = {row: [k for k, other in enumerate(rows) if other == row] for row in rows}
    double = next((ks for ks in same.values() if len(ks) > 1), [])
    outside = next(iter(np.flatnonzero(((table < -8) | (table > 7)).any(axis=1))), None)
    empty = next((k for k in range(S4.k) if not table[k].any()), None)
    return {
        correct(not double and outside is None and empty is None): "Every k has its own row, so the "
        "non-zero row of D identifies k. With 8 columns of 16 values there is room for far more than 64.",
        when(outside is not None): f"Row {outside} has a number that `s4` (-8 to 7) cannot hold. Use more "
        "columns, with smaller numbers in each.",
        when(len(double) == S4.k): "All rows are the same: D will show that there was something, but not "
        "which k.",
        when(len(double) > 1): f"Rows {' and '.join(map(str, double[:2]))} are the same: these two k give "
        "the same result. One column alone can distinguish 16 values; let a second one count the rest.",
        otherwise: f"All rows are different, but row {empty} is all zero: its result looks like no answer.",
    }


@checks("24.5")
def _find_in_mystery(answer: object) -> Sentences:
    submitted = whole_numbers(answer, 2, "`(lane, element)`")
    order = mystery()._order
    expected = tuple(int(at) for at in np.argwhere((order == (ROW, COL)).all(axis=-1))[0])
    usual = INS.a.where(ROW, COL)[0]
    exists = 0 <= submitted[0] < INS.lanes and 0 <= submitted[1] < 16
    row, column = order[submitted].tolist() if exists else (-1, -1)  # what the slot really holds
    return {
        correct(submitted == expected): "It is in no manual, and you found it: the non-zero row of D gives "
        "the row, and its value gives the column.",
        when(submitted == (usual.lane, usual.element)): "That is where it is according to the manual. This "
        "machine does not follow the manual: probe it.",
        when(submitted == expected[::-1]): "Both numbers are right, but the lane comes first.",
        when(not exists): "Lanes go from 0 to 31, elements from 0 to 15.",
        when((row, column) == (ROW, COL - 1)): "That slot holds the column before it. B had k + 1 in row k: "
        "what do you have to subtract?",
        when(submitted[0] == expected[0]): "The lane is right, but the element is not. Did you read number "
        "16 * lane + element of the batch?",
        otherwise: f"That slot holds A[{row}][{column}]. Send the same probes to `mystery`, and look for "
        f"the slot whose result is in row {ROW} and gives column {COL}.",
    }


@checks("24.6")
def probe(answer: object) -> Sentences:
    form = "`probe(machine)` returns a table of whole numbers of shape (32, 4, 2)"
    for seed in (3, 5, 8):
        machine = OtherMachine("D", seed)
        expected, usual = machine._order.copy(), INS.d.coords()
        submitted = _table(answer, machine, form)
        wrong = np.argwhere((submitted != expected).any(axis=-1))
        if not len(wrong):
            continue
        lane, register = (int(at) for at in wrong[0])
        where = f"Lane {lane}, register {register}: "
        inside = (
            (submitted >= 0).all() and (submitted[..., 0] < INS.m).all() and (submitted[..., 1] < INS.n).all()
        )
        return {
            when((submitted == usual).all()): "That is the layout of the manual, whatever the machine does. "
            "If you numbered the elements of C: they come out where they went in, which tells you nothing. "
            "Use the product instead.",
            when((submitted == expected[..., ::-1]).all()): f"{where}row and column are exchanged.",
            when((submitted[..., 0] == expected[..., 0]).all()): f"{where}the rows are right, but the "
            "columns are not. Are all numbers in D different?",
            when((submitted[..., 1] == expected[..., 1]).all()): f"{where}the columns are right, but the "
            "rows are not. Are all numbers in D different?",
            when(inside): f"{where}you returned {tuple(submitted[lane, register].tolist())}, which another "
            "register holds. Which number is in D there, and which element does it belong to?",
            otherwise: f"{where}you returned {tuple(submitted[lane, register].tolist())}, but D has {INS.m} "
            f"rows and {INS.n} columns.",
        }
    return {
        correct(True): "One launch is enough: A and B are chosen so that D[row][column] encodes its own row "
        "and column, and each register shows which element it holds."
    }


def _table(function: object, machine: OtherMachine, form: str) -> NDArray[np.int64]:
    """The layout that a reader's function returns."""
    table = as_table(result_of(function, machine, form=form), form)
    whole = table.dtype.kind in "iu" or bool((table == np.round(table)).all())
    if table.shape != (INS.lanes, INS.d.registers, 2) or not whole:
        raise WrongForm(f"found {table.dtype} of shape {table.shape}; {form}.")
    return table.astype(np.int64)
