"""Kernels as different readers write them: right ones are accepted, wrong ones get a hint that fits.

They are in `kernels/`, a file for each exercise. A line `//! right: ...` begins an answer that is right, and
`//! wrong: ...` one that is wrong, with words of its hint in the next line, `//! hint: ...`. What follows
stands for the `...` of the exercise, unless it is a whole function; lines such as `12: text` are an edit of a
broken kernel.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

import ptxlab
from ptxlab import lessons
from ptxlab.course import answers, reader_kernels
from ptxlab.course.checking import UNFORESEEN
from ptxlab.errors import error_of
from ptxlab.simulator.cuda_source import find_compiler
from tests.cases import each
from tests.course import SECRET
from tests.course.answers import completed
from tests.sampling import one_in

TEACHING = Path(__file__).parents[2] / "docs" / "teaching.md"
FILES = sorted((Path(__file__).parent / "kernels").glob("*.cu"))
NAMES = [path.stem for path in FILES]


class KernelAnswer(NamedTuple):
    """An answer to an exercise, with words that its hint has and no other hint of the exercise has."""

    is_right: bool
    words: str
    hint: str
    answer: str | dict[int, str]


def kernel_answers(name: str) -> list[KernelAnswer]:
    """The answers in the file of an exercise."""
    (path,) = (path for path in FILES if path.stem == name)
    head = r"^//! (right|wrong): (.*)\n(?://! hint: (.*)\n)?"
    parts = re.split(head, path.read_text(encoding="utf-8"), flags=re.M)
    rows = zip(parts[1::4], parts[2::4], parts[3::4], parts[4::4], strict=True)
    return [
        KernelAnswer(verdict == "right", words, hint or "", _submitted(name, text))
        for verdict, words, hint, text in rows
    ]


def _submitted(name: str, text: str) -> str | dict[int, str]:
    """What the cell holds: an edit, a whole function, or the function with the text in its body."""
    subject = lessons.exercise(name).subject
    if subject == "edit":
        parts = re.split(r"^(\d+): ", text, flags=re.M)
        return {int(line): new.rstrip("\n") for line, new in zip(parts[1::2], parts[2::2], strict=True)}
    return text if f" {subject}(" in text else completed(name, text)


def test_every_exercise_with_a_kernel_has_answers() -> None:
    asking = [name for name, exercise in lessons.EXERCISES.items() if _asks_for_code(exercise.starter)]
    assert asking == NAMES
    for name in NAMES:
        written = kernel_answers(name)
        right = [answer for answer in written if answer.is_right]
        assert len(right) >= 5 <= len(written) - len(right), name
        assert all(bool(answer.hint) != answer.is_right for answer in written), name
    assert f"In {len(NAMES)} exercises" in TEACHING.read_text(encoding="utf-8")


def _asks_for_code(starter: str) -> bool:
    return 'r"""' in starter or "edit = {...}" in starter


@pytest.mark.slow
@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
@each("name", NAMES)
def test_kernel_answers(name: str, compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing := error_of(find_compiler, compiler):
        pytest.skip(missing)
    monkeypatch.setattr(answers, "TIME_LIMIT", 100)  # the machine may be busy
    monkeypatch.setattr(reader_kernels, "compiled_kernel", partial(ptxlab.kernel, compiler=compiler))
    number, written = NAMES.index(name), kernel_answers(name)
    right = [answer for answer in written if answer.is_right]
    wrong = [answer for answer in written if not answer.is_right]
    for is_right, words, hint, submitted in [*one_in(5, right, number), *one_in(5, wrong, number)]:
        verdict = lessons.exercise(name).check(submitted)
        assert verdict.state == ("right" if is_right else "wrong"), (words, verdict)
        assert UNFORESEEN not in verdict.text, (words, verdict)
        if not is_right:
            assert hint in verdict.text, (words, verdict)
            assert not re.search(SECRET.get(name, "^$"), verdict.text), (words, verdict)
