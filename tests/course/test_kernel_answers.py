"""Kernels as different readers write them: right ones are accepted, wrong ones get a hint that fits.

They are in `kernels/`, a file for each exercise. A line `//! right: ...` begins an answer that is right, and
`//! wrong, kind: ...` one that is wrong, with the kind of its hint. What follows stands for the `...` of the
exercise, unless it is a whole function; lines such as `12: text` are an edit of a broken kernel.
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

#: What a hint of each kind speaks of.
KINDS = {
    "add": "add",
    "any": "",
    "arrival": "arriv",
    "barrier": "barrier",
    "before": "before",
    "bias": "bias",
    "block": "block",
    "bytes": "bytes",
    "column": "column",
    "commit": "commit",
    "compile": "does not compile",
    "complete": "global memory",
    "conflicts": "wavefronts",
    "diagonal": "diagonal",
    "early": "before|requests",
    "element": "holds|elements",
    "end": r"\d+ elements|[Oo]nly n says|n or n - 1|how many elements",
    "ends": "may end",
    "fence": "fence",
    "flight": "in flight",
    "group": "all four lanes",
    "halves": "halves",
    "idle": "all",
    "infinite": "infinite",
    "init": "initiali",
    "iteration": "every",
    "K": r"\bK\b",
    "lanes": "lanes",
    "mask": "lanes",
    "matrix": "8 x 8",
    "maximum": "maximum",
    "meet": "how does this warp know|those of the others",
    "numbers": "numbers",
    "often": "too often",
    "pad": "pad|multiple of 16",
    "parity": "parit",
    "place": "place",
    "product": "product",
    "race": "race|does not wait",
    "reach": "reach",
    "reading": "reading",
    "register": "[Rr]egister",
    "registers": r"p\[4\]",
    "relu": "ReLU",
    "rescaled": "rescaled",
    "row": "[Rr]ow",
    "scale": "scale",
    "size": "size",
    "stmatrix": "stmatrix",
    "stop": "multiple of 16|stop",
    "store": "stored",
    "swizzle": "swizzle|XOR",
    "threads": r"All \d+",
    "tile": "tile",
    "times": "times",
    "unwritten": "never written|nobody has written",
    "wait": r"\bwait",
    "warp": "warp",
    "weight": "weight",
    "word": "word",
}


class KernelAnswer(NamedTuple):
    """An answer to an exercise; the kind of its hint is "" if it is right."""

    kind: str
    words: str
    answer: str | dict[int, str]


def kernel_answers(name: str) -> list[KernelAnswer]:
    """The answers in the file of an exercise."""
    (path,) = (path for path in FILES if path.stem == name)
    parts = re.split(r"^//! (?:right|wrong, (\w+)): (.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
    rows = zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    return [KernelAnswer(kind or "", words, _submitted(name, text)) for kind, words, text in rows]


def _submitted(name: str, text: str) -> str | dict[int, str]:
    """What the cell holds: an edit, a whole function, or the function with the text in its body."""
    subject = lessons.exercise(name).subject
    if subject == "edit":
        parts = re.split(r"^(\d+): ", text, flags=re.M)
        return {int(line): new.rstrip("\n") for line, new in zip(parts[1::2], parts[2::2], strict=True)}
    return text if f" {subject}(" in text else completed(name, text)


def test_every_exercise_with_a_kernel_has_answers() -> None:
    written = [name for name, exercise in lessons.EXERCISES.items() if _asks_for_code(exercise.starter)]
    assert written == NAMES
    for name in NAMES:
        kinds = [answer.kind for answer in kernel_answers(name)]
        assert kinds.count("") >= 5 <= len(kinds) - kinds.count(""), name
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
    right = [answer for answer in written if not answer.kind]
    wrong = [answer for answer in written if answer.kind]
    for kind, words, submitted in [*one_in(5, right, number), *one_in(5, wrong, number)]:
        verdict = lessons.exercise(name).check(submitted)
        assert verdict.state == ("wrong" if kind else "right"), (words, verdict)
        assert UNFORESEEN not in verdict.text, (words, verdict)
        if kind:
            assert re.search(KINDS[kind], verdict.text), (words, verdict)
            assert not re.search(SECRET.get(name, "^$"), verdict.text), (words, verdict)
