"""Exercises: right answers in any form are right, typical wrong ones get the hint that fits, and no hint gives the answer away."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from ptxlab import PtxlabError, lessons
from ptxlab.lessons import EXERCISES, Exercise, Verdict

BIG = 2**31 - 1


def gathered(chunk: list[int]) -> int:
    """A nibble for a chunk of eight, written down from the ISA text."""
    pairs = [p for p in range(4) if chunk[2 * p] or chunk[2 * p + 1]]
    first, second = sorted([*pairs, *(p for p in range(4) if p not in pairs)][:2])
    return first | second << 2


def spare_last(chunk: list[int]) -> int:
    """As `gathered`, but with the last free pair in a free place."""
    pairs = [p for p in range(4) if chunk[2 * p] or chunk[2 * p + 1]]
    first, second = sorted([*pairs, *(p for p in (3, 2, 1, 0) if p not in pairs)][:2])
    return second << 2 | first


def e2m1_twice(code: int) -> int:
    exponent, fraction = code >> 1 & 3, code & 1
    size = fraction if exponent == 0 else (2 + fraction) << (exponent - 1)
    return -size if code & 8 else size


#: Worked out by hand from the ISA's formulas and figures.
RIGHT: dict[str, list[Any]] = {
    "00.1": [(5, 3), [5, 3], np.array([5, 3]), (np.int64(5), np.uint8(3))],
    "00.2": [lambda row, col: row % 8 * 4 + col // 2, lambda row, col: np.int32(4 * (row & 7) + (col >> 1))],
    "00.3": [32, 32.0, np.int16(32), [32], "32"],
    "00.4": [0xF7654321, "0xF7654321", np.uint32(0xF7654321), 0xF7654321 - 2**32, np.int32(0xF7654321 - 2**32)],
    "01.1": [(4, 29), [4, 29], np.array([[4, 29]])],
    "01.2": [(3, 20, 23), [3, 20, 23]],
    "01.3": [lambda lane, i: lane // 4 + 8 * (i // 8 % 2), lambda lane, i: (lane >> 2) if (0 <= i < 8 or 16 <= i < 24) else (lane >> 2) + 8],
    "01.4": [range(48, 56), list(range(48, 56)), {*range(48, 56)}, np.arange(55, 47, -1)],
    "01.5": [(-2147483600, BIG), [np.int64(-2147483600), np.int32(BIG)]],
    "01.6": [e2m1_twice, lambda code: np.float32([0, 1, 2, 3, 4, 6, 8, 12][code % 8] * (-1) ** (code // 8))],
    "01.7": [(5, 1), [5, 1]],
    "02.1": [0b1101, 13, "0b1101", np.uint8(13)],
    "02.2": [gathered, spare_last],
    "02.3": [29, np.array(29)],
    "02.4": [[2, 3, 6, 7], {7, 6, 3, 2}, (2, 3, 6, 7), np.array([2, 3, 6, 7])],
    "02.5": [(15, 24, 27)],
    "03.1": [1 + 2**-10, np.float32(1 + 2**-10), 1.0009765625],
    "03.2": [0b1110, 14],
    "03.3": [(10, 3)],
    "03.4": [lambda lane, i: lane % 4 * 2 + (8 if i >= 2 else 0)],
    "03.5": [(9, 24, 27)],
    "04.1": [(32, 1)],
    "04.2": [[32, 64, 128], {128, 64, 32}, np.array([32, 64, 128])],
    "04.3": [(14, 13)],
    "04.4": [(88, 40)],
    "04.5": [lambda popc: 128 - 2 * popc, lambda popc: np.int64(128) - popc - popc],
    "05.1": [[8, 24, 48, 256], (256, 48, 24, 8)],
    "05.2": [(84, 5)],
    "05.3": [(128, 64)],
    "05.4": [(20, 85)],
    "05.5": [(87, 8, 11)],
    "05.6": [692],
}

#: Wrong answers with a word of the hint that fits the misconception.
WRONG: dict[str, list[tuple[Any, str]]] = {
    "00.1": [
        ((5, 1), "eight rows"),
        ((3, 5), "order"),
        ((37, 1), "32 lanes"),
        ((9, 3), "four lanes share"),
        ((5, 2), "lane is right"),
        ((1, 1), "begins again"),
    ],
    "00.2": [
        (lambda row, col: row * 4 + col // 2, "after row 7"),
        (lambda row, col: row % 8 * 4 + col % 4, "How many columns"),
        (lambda row, col: min(row, 7) * 4 + col // 2, "upper eight rows are right"),
        (lambda row, col: 0, "first cell that goes wrong"),
    ],
    "00.3": [(4, "registers"), (8, "one"), (1024, "whole matrix"), (16, "another operand"), (7, "share them out")],
    "00.4": [
        (0x1234567F, "lowest bits"),
        (0x97654321, "two's complement"),
        (0x17654321, "two's complement"),
        (0x1F7654321, "eight hexadecimal digits"),
        (0x7654321, "right-hand end"),
    ],
    "01.1": [
        ((4, 21), "eight rows higher"),
        ((4, 13), "columns 0 to 31"),
        ((4, 5), "eight rows too high"),
        ((36, 29), "32 lanes"),
        ((5, 29), "threadID_in_group"),
        ((0, 0), "groupID"),
    ],
    "01.2": [
        ((3, 8, 11), "from the top"),
        ((3, 23, 20), "lowest first"),
        ((3, 20, 24), "Almost"),
        ((1, 20, 23), "bits are right"),
        ((3, 0, 3), "register is right"),
        ((7, 0, 3), "registers 0 to 3"),
    ],
    "01.3": [
        (lambda lane, i: lane // 4, "both halves"),
        (lambda lane, i: lane // 4 + 8 * (i >= 8), "Right for a0 to a15"),
        (lambda lane, i: lane // 4 + 8 * (i >= 16), "columns"),
        (lambda lane, i: lane // 4 + 8 * (1 - i // 8 % 2), "exchanged"),
        (lambda lane, i: lane % 8 + 8 * (i // 8 % 2), "groupID is not"),
    ],
    "01.4": [(range(16, 24), "register 0"), ([48], "eight different rows"), (range(49, 57), "Off by one"), (range(8), "threadID_in_group")],
    "01.5": [
        ((BIG, -2147483600), "other way round"),
        ((BIG + 49, BIG), "does not fit"),
        ((-2147483601, BIG), "Off by one"),
        ((-2147483600, 0), "first is right"),
        ((0, BIG), "second is right"),
    ],
    "01.6": [
        (lambda code: code, "code for the value"),
        (lambda code: e2m1_twice(code) if code & 6 else code & 1 and 7, "normal numbers are right"),
        (lambda code: e2m1_twice(code & 7), "positive half"),
        (lambda code: 0, "first that is wrong"),
    ],
    "01.7": [
        ((4, 1), "eight higher"),
        ((7, 1), "thread-id-a is 1"),
        ((5, 3), "byte-id-a is 2"),
        ((5, 0), "lane is right"),
        ((9, 1), "byte is right"),
        ((0, 0), "quad"),
    ],
    "02.1": [(0b0111, "low"), (0b1010, "one bit each"), (77, "pairs"), (0b1111, "equal"), (0b0100, "other pairs"), (0b0010, "four pairs")],
    "02.2": [
        (lambda chunk: 0, "equal"),
        (lambda chunk: 99, "more than four bits"),
        (lambda chunk: (gathered(chunk) & 3) << 2 | gathered(chunk) >> 2, "descend"),
        (lambda chunk: gathered([v if chunk[i - i % 2] and chunk[i - i % 2 + 1] else 0 for i, v in enumerate(chunk)]), "one zero in it"),
        (lambda chunk: 0b0100, "does not keep all"),
    ],
    "02.3": [(13, "stored column"), (26, "Twice"), (31, "second pair"), (24, "chunk is right"), (0, "Four stored columns")],
    "02.4": [
        ([0, 1, 4, 5], "selector 0"),
        ([2, 3], "not they alone"),
        ([4, 5, 6, 7], "within every group"),
        ([1, 3, 5, 7], "odd"),
        ([2, 3, 6, 7, 10], "lanes 0 to 7"),
        ([0], "T2 and T3"),
    ],
    "02.5": [
        ((13, 24, 27), "selector is 0"),
        ((14, 24, 27), "eight higher"),
        ((15, 4, 7), "from the top"),
        ((15, 8, 11), "lane is right"),
        ((31, 24, 27), "bits are right"),
        ((45, 0, 3), "32 lanes"),
        ((0, 0, 3), "groupID"),
    ],
    "03.1": [(1 + 2**-9, "nobody rounds"), (1 + 2**-10 + 2**-11, "11 fraction bits"), (1.0, "reach down"), (2.0, "binary")],
    "03.2": [(0b0100, "first element"), (0b1011, "low bits"), (1, "halves"), (16, "four bits"), (7, "Number the four halves")],
    "03.3": [
        ((10, 2), "eight higher"),
        ((10, 1), "columns 0 to 7"),
        ((10, 0), "lane is right"),
        ((9, 3), "two"),
        ((42, 3), "share the lanes"),
        ((31, 3), "groupID"),
    ],
    "03.4": [
        (lambda lane, i: lane % 4 + (4 if i >= 2 else 0), "stored"),
        (lambda lane, i: lane % 4 * 2, "a0 is right"),
        (lambda lane, i: 99, "first wrong"),
    ],
    "03.5": [
        ((11, 24, 27), "selector is 1"),
        ((9, 8, 11), "eight higher"),
        ((8, 24, 27), "chunks 0 to 3"),
        ((9, 0, 3), "lane is right"),
        ((10, 24, 27), "value"),
        ((1, 24, 27), "bits are right"),
    ],
    "04.1": [
        ((1024, 32), "whole matrix"),
        ((1, 32), "order"),
        ((32, 32), "one by one"),
        ((32, 4), "one `unsigned`"),
        ((8, 1), "s4"),
        ((3, 3), "32 lanes"),
    ],
    "04.2": [
        ([16, 32, 48, 64, 128], "bytes"),
        ([128], "b1"),
        ([32, 64], "not they alone"),
        ([16, 32, 48, 64, 100, 128], "Not all"),
        ([256], "Choose"),
        ([48], "16 bytes"),
    ],
    "04.3": [((14, 18), "from the top"), ((14, 77), "bits 0 to 31"), ((14, 0), "lane is right"), ((3, 13), "bit is right"), ((0, 0), "share a row")],
    "04.4": [
        ((40, 88), "other way round"),
        ((128, 40), "XOR counts"),
        ((88, 128), "AND counts"),
        ((200, 200), "at most 128"),
        ((1, 2), "count the ones"),
    ],
    "04.5": [
        (lambda popc: 2 * popc - 128, "sign"),
        (lambda popc: popc, "differ"),
        (lambda popc: 128 - popc, "contribute 0"),
        (lambda popc: 100 - popc, "popc = 64"),
        (lambda popc: 64 - popc, "popc = 0"),
    ],
    "05.1": [([8, 24, 40, 48, 56, 256], "FP8"), ([48, 256], "one more kind"), ([8, 16], "Choose"), ([8, 256], "there are more"), ([40], "catalog")],
    "05.2": [
        ((20, 5), "inside its warp"),
        ((84, 7), "eight rows lower"),
        ((84, 1), "eight columns"),
        ((84, 0), "lane is right"),
        ((37, 5), "Another warp"),
        ((85, 5), "group of four"),
    ],
    "05.3": [((64, 128), "other way round"), ((512, 256), "32 lanes"), ((128, 128), "f32 is right"), ((1, 1), "128 lanes")],
    "05.4": [
        ((21, 85), "nibble decides"),
        ((42, 85), "full A"),
        ((20, 21), "inside its warp"),
        ((20, 84), "group of four"),
        ((20, 3), "stored column is right"),
        ((22, 85), "lane is right"),
        ((0, 0), "four columns wide"),
    ],
    "05.5": [
        ((23, 8, 11), "inside its warp"),
        ((86, 8, 11), "eight higher"),
        ((85, 8, 11), "eight to the left"),
        ((87, 24, 27), "lane is right"),
        ((0, 8, 11), "bits are right"),
        ((0, 0, 3), "two halves"),
    ],
    "05.6": [
        (331, "row-major"),
        (724, "in one piece"),
        (180, "second eight"),
        (564, "second one"),
        (1099, "exchanged"),
        (52, "core matrix is right"),
        (640, "Inside it"),
        (3, "Which core matrix"),
    ],
}

#: What no hint may contain: the answer, or the part of it that is not in the task.
SECRET = {
    "00.1": r"\b5\b",
    "00.3": r"\b32\b",
    "00.4": r"(?i)f7654321",
    "01.1": r"\b29\b",
    "01.2": r"\b20\b|\b23\b",
    "01.4": r"\b48\b|\b55\b",
    "01.5": r"2147483600",
    "01.7": r"lane 5\b|byte 1\b",
    "02.1": r"1101|\b13\b",
    "02.3": r"\b29\b",
    "02.5": r"\b15\b(?! share)|\b24\b|\b27\b",
    "03.1": r"1\.0009",
    "03.2": r"1110|\b14\b",
    "03.3": r"\b10\b|\ba3\b\.$",
    "03.5": r"\b9\b|\b24\b|\b27\b",
    "04.3": r"\b14\b|\b13\b",
    "04.4": r"\b88\b|\b40\b",
    "05.2": r"\b84\b|\b5\b",
    "05.4": r"\b20\b|\b85\b",
    "05.5": r"\b87\b|\b11\b",
    "05.6": r"\b692\b",
}


def test_every_exercise_is_covered() -> None:
    assert list(EXERCISES) == list(RIGHT) == list(WRONG)
    assert list(EXERCISES) == sorted(EXERCISES)


@pytest.mark.parametrize("name", EXERCISES)
def test_right_answers(name: str) -> None:
    for answer in RIGHT[name]:
        verdict = lessons.check(name, answer)
        assert verdict.state == "right", (answer, verdict)
        assert verdict
        assert len(verdict.text) > 20, "a right answer is told why it is right"


@pytest.mark.parametrize("name", EXERCISES)
def test_wrong_answers_get_the_hint_that_fits(name: str) -> None:
    said = []
    for answer, word in WRONG[name]:
        verdict = lessons.check(name, answer)
        assert verdict.state == "wrong"
        assert not verdict
        assert word in verdict.text, (answer, verdict)
        if name in SECRET:
            assert not re.search(SECRET[name], verdict.text), (answer, verdict)
        said.append(verdict.text)
    assert len(set(said)) >= 3, "hints are aimed, not the same for all"


@pytest.mark.parametrize("name", EXERCISES)
def test_unanswered(name: str) -> None:
    for answer in (..., (1, ...), [..., ...], lambda *_: ...):
        if callable(answer) and not EXERCISES[name].starter.startswith("def "):
            continue
        assert lessons.check(name, answer).state == "not yet"


@pytest.mark.parametrize("name", EXERCISES)
def test_nonsense_is_answered_with_the_form(name: str) -> None:
    for answer in (None, "many", 1.5, object(), (1, 2, 3, 4, 5, 6, 7, "x"), {"a": 1}, float("nan"), float("inf")):
        verdict = lessons.check(name, answer)
        assert verdict.state == "wrong"
        assert verdict.text


@pytest.mark.parametrize("name", EXERCISES)
def test_cell(name: str) -> None:
    exercise = EXERCISES[name]
    assert exercise.cell.count("...") == 1, "one place to fill in"
    assert exercise.cell.endswith(f'lessons.check("{name}", {exercise.subject})')
    space: dict[str, Any] = {"lessons": lessons}
    exec(exercise.starter, space)
    assert lessons.check(name, space[exercise.subject]).state == "not yet"
    assert "**" in exercise.task
    assert name in exercise.markdown


def test_functions_that_raise_or_return_nothing() -> None:
    assert "ZeroDivisionError" in lessons.check("00.2", lambda row, col: row // 0).text
    assert "return" in lessons.check("00.2", lambda row, col: None).text
    assert "TypeError" in lessons.check("00.2", lambda row: row).text


def test_verdict_renders_as_text_and_markdown() -> None:
    verdict = lessons.check("00.3", 4)
    assert repr(verdict).startswith("✗ 00.3 not quite: ")
    assert "`" not in repr(verdict)
    assert verdict._repr_markdown_().startswith("> **✗ 00.3 not quite.** ")
    assert isinstance(verdict, Verdict)
    assert isinstance(lessons.exercise("00.3"), Exercise)
    assert lessons.exercise("00.3")._repr_markdown_().startswith("### ✎ Exercise 00.3")


def test_unknown_exercise() -> None:
    with pytest.raises(PtxlabError, match=r"no exercise '09\.9'; there are 00\.1"):
        lessons.check("09.9", 1)


def test_imports_without_jupyter() -> None:
    code = (
        "import sys\n"
        "for name in ('IPython', 'ipywidgets', 'anywidget', 'traitlets', 'plotly', 'jupyter_core'): sys.modules[name] = None\n"
        "from ptxlab import lessons\n"
        "print(lessons.check('00.3', 4))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True, env={"PYTHONIOENCODING": "utf-8"}
    )
    assert done.stdout.startswith("✗ 00.3")
