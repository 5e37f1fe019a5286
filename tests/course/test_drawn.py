"""Constants that are drawn from a student's name: the tasks state them, and the checks and hints fit them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptxlab import lessons
from ptxlab.course.checking import DRAWN, Constants, exercise_cells, task_text
from tests.course import SOLUTIONS

ROOT = Path(__file__).parents[2]
EXERCISES = {name: constants for constants in DRAWN for name in constants.exercises}


def _register(values: tuple[int, ...]) -> int:
    return sum((value & 15) << 4 * i for i, value in enumerate(values))


def _indices(values: tuple[int, ...], group: int = 1) -> list[int]:
    """Where the two kept parts of each chunk are."""
    return [i // group % 4 for i, value in enumerate(values) if value and i % group == 0]


def _swizzled(row: int, vector: int) -> int:
    return vector ^ row // 2 % 4


E2M1 = {0.5: 1, 1: 2, 1.5: 3, 2: 4, 3: 5, 4: 6, 6: 7}


def _e2m1(values: tuple[float, ...]) -> int:
    return sum((E2M1[abs(v)] | 8 * (v < 0)) << 2 + 8 * i for i, v in enumerate(values))


def _nibbles(nibble: int) -> tuple[int, int]:
    return nibble & 3, nibble >> 2


#: The right answer for any constants, by the formulas of the PTX ISA, written down again.
ANSWERS: dict[str, Callable[..., Any]] = {
    "00.1": lambda row, col: (row % 8 * 4 + col // 2, row // 8 * 2 + col % 2),
    "00.4": lambda *values: _register(values),
    "01.1": lambda row, col: (row % 8 * 4 + col % 32 // 8, col // 32 * 16 + row // 8 * 8 + col % 8),
    "01.2": lambda row, col: (row // 8 + col // 32 * 2, col % 8 * 4, col % 8 * 4 + 3),
    "01.4": lambda lane: [32 + lane % 4 * 8 + i for i in range(8)],
    "01.8": lambda lane, i: (
        lane % 16 // 4,
        lane % 2 + (i & 2) + 4 * (lane >= 16),
        (i & 4) + (lane & 2) + (i & 1),
    ),
    "03.1": lambda word: [(word >> 4 * i & 15) - 16 * (word >> 4 * i + 3 & 1) for i in range(8)],
    "03.2": lambda added: (2**31 - 1 + added - 2**32, 2**31 - 1),
    "03.3": lambda number, fraction, exponent: 128 | exponent + 7 << 3 | int((fraction - 1) * 8),
    "03.6": lambda *values: _e2m1(values),
    "04.5": lambda row, col: (
        8 * (row // 8 + col // 8 * 2) + row % 8,
        row % 8 * 4 + col % 8 // 2,
        row // 8 + col // 8 * 2,
    ),
    "04.7": lambda row, col: (col * 4 + row // 2, row % 2),
    "05.1": lambda lane: (lane // 32 * 16 + lane % 32 // 4, lane // 32 * 16 + lane % 32 // 4 + 8),
    "06.1": lambda address: address >> 4 | 64 << 16 | 8 << 32,
    "06.2": lambda first, second: (_swizzled(*first), _swizzled(*second)),
    "06.3": lambda units: (16 * units, 512, 64),
    "07.1": lambda row, k: row * 128 + (2 * k ^ row % 8 * 16),
    "08.1": lambda width: (-(-2 * width // 16) * 8, -(-width // 16) * 16),
    "15.3": lambda lane: [lane // 4 * 4 + 0, lane // 4 * 4 + 1],
    "17.1": lambda nibble, chunk: [4 * chunk + index for index in _nibbles(nibble)],
    "17.2": lambda *row: sum(index << 2 * i for i, index in enumerate(_indices(row))),
    "17.3": lambda nibble, chunk: [8 * chunk + 2 * i + j for i in _nibbles(nibble) for j in range(2)],
    "17.4": lambda row, chunk, selector: (
        row % 8 * 4 + selector,
        16 * (row // 8) + 4 * chunk,
        16 * (row // 8) + 4 * chunk + 3,
    ),
    "17.5": lambda lane, low, _: (lane // 4 + lane % 2 * 8, low),
    "18.1": lambda stored, nibble: stored // 4 * 8 + _nibbles(nibble)[stored % 4 // 2] * 2 + stored % 2,
    "22.3": lambda *values: _register(values),
    "22.6": lambda ones: (128 - ones, ones),
    "25.1": lambda a, b, c: 32 * (a[0] * b[0] + a[1] * b[1]) + c,
    "25.2": lambda scale: (
        int(f"{scale.hex()}".split("p")[1]) + 127,
        int(scale.hex().split("p")[1]) + 7 << 3,
    ),
    "25.3": lambda row, col: (row % 8 * 4 + row // 8, col // 32),
    "26.3": lambda row, col: (
        *(row // 16 * 32 + row % 16, col),
        *(row + 64 * (col // 64), col % 64),
        *(row + 32 * (col // 32), col % 32),
    ),
    "28.3": lambda row, k: (row // 32, k // 16, *(row % 32 + 32 * i for i in range(4))),
    "30.1": lambda lane, value: (
        lane // 4 + value // 2 * 8 + 16 * (lane % 4 * 2 + value % 2),
        lane // 4 + value // 2 * 8,
        lane % 4 * 2 + value % 2,
    ),
    "30.3": lambda lane, value: (lane % 4 * 2 + value % 2 + value // 2 * 8, lane // 4),
    "31.3": lambda row, column: 128 * row + 16 * (column // 8 ^ row % 8) + 2 * (column % 8),
    "31.4": lambda row, column: (
        row // 16 * 32 + row % 8 * 4 + column % 8 // 2,
        column // 8 * 4 + row % 16 // 8 * 2 + column % 2,
    ),
}


def _answer(name: str, choice: Any) -> Any:
    return ANSWERS[name](*choice) if isinstance(choice, tuple) else ANSWERS[name](choice)


def test_constants_without_a_choice_for_students_cannot_be_declared() -> None:
    with pytest.raises(ValueError, match="01.1.*others than the notebook's"):
        Constants(("01.1",), "{}", (3,))


def test_the_page_for_teachers_counts_them() -> None:
    assert ANSWERS.keys() == EXERCISES.keys()
    assert (len(EXERCISES), len({name[:2] for name in EXERCISES})) == (36, 17)
    page = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
    assert "Thirty-six exercises in seventeen lessons" in page


@pytest.mark.parametrize("constants", DRAWN, ids=lambda constants: constants.exercises[0])
def test_a_task_states_them(constants: Constants[Any]) -> None:
    """By words that are in the task; without a student nothing changes."""
    assert len(set(constants.choices)) == len(constants.choices) >= 5
    assert constants.of("") == constants.choices[0]
    assert all(constants.of(f"student{i}") in constants.choices[1:] for i in range(20))
    for name in constants.exercises:
        before = exercise_cells(name)[0]
        assert constants.stated(constants.choices[0]) in before and task_text(name, "") == before
        after = task_text(name, "ada")
        assert constants.stated(constants.of("ada")) in after and after != before
        assert lessons.exercise(name).check(_answer(name, constants.choices[0])), "the formula is right"


#: What kernels of students say: the verdicts on right answers, and on those of the notebook's constants. The
#: name of the student is read when the course is imported: for each, it is imported anew.
_PROGRAM = """
import json, os, sys
from importlib import import_module
import ptxlab
for line in sys.stdin:
    student, answers = json.loads(line)
    os.environ["PTXLAB_STUDENT"] = student
    for name in [name for name in sys.modules if name.startswith(("ptxlab.course", "ptxlab.lessons"))]:
        del sys.modules[name]
    exercise = import_module("ptxlab.lessons").exercise
    print(json.dumps({name: [[bool(v), v.text] for v in map(exercise(name).check, both)]
                      for name, both in answers.items()}))
"""


def _students() -> list[str]:
    """Names that together draw every choice."""
    drawn = {
        name: {(constants.exercises, constants.of(name)) for constants in DRAWN}
        for name in (f"student{number}" for number in range(300))
    }
    missing, names = set().union(*drawn.values()), []
    assert len(missing) == sum(len(constants.choices) - 1 for constants in DRAWN)
    while missing:
        names.append(max(drawn, key=lambda name: len(drawn[name] & missing)))
        missing -= drawn[names[-1]]
    return names


@pytest.mark.slow
def test_a_check_knows_the_constants_of_its_student(subtests: pytest.Subtests) -> None:
    """It accepts the answer for these constants and refuses the public solution, with a hint."""
    students = {
        student: {
            name: (_answer(name, constants.of(student)), _answer(name, constants.choices[0]))
            for name, constants in EXERCISES.items()
        }
        for student in _students()
    }
    ran = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input="".join(f"{json.dumps(row)}\n" for row in students.items()),
        env={**os.environ, "PTXLAB_PROGRESS": os.devnull, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    for (student, answers), said in zip(students.items(), ran.stdout.splitlines(), strict=True):
        with subtests.test(student):
            for name, ((right, why), (same, hint)) in json.loads(said).items():
                assert right, (name, why)
                mine, public = answers[name]
                assert same == (mine == public), (name, hint)
                assert "could not be checked" not in hint
    assert SOLUTIONS.keys() >= EXERCISES.keys()
