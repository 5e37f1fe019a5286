"""Exercises whose readers write kernels give the same verdicts where Clang is the compiler.

`test_kernel_answers.py` checks other answers to each of them with both compilers.
"""

from __future__ import annotations

from typing import Any

import pytest

from ptxlab.course import answers
from ptxlab.lessons import EXERCISES
from ptxlab.simulator import cuda_source
from tests.course import RIGHT, WRONG
from tests.course.test_kernel_answers import NAMES
from tests.sampling import EXHAUSTIVE, one_in

pytestmark = [pytest.mark.needs("ziglang"), pytest.mark.slow]

#: Hints that quote the compiler, or that depend on what it makes of a variable that is never written.
OTHER_WORDS = {
    ("02.1", "expected a"),
    ("10.1", "expected a"),
    ("11.1", "undefined"),
    ("11.3", "expected a"),
    ("15.2", "expected a"),
    ("15.5", "never written"),
}


@pytest.fixture(autouse=True)
def compiled_by(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Clang compiles; which compiler made each kernel."""
    compilers = []
    compile_cuda = cuda_source.compile_cuda

    def compile_noted(*arguments: Any) -> cuda_source.CompiledSource:
        compiled = compile_cuda(*arguments)
        compilers.append(compiled.compiler)
        return compiled

    monkeypatch.setattr(answers, "TIME_LIMIT", 100)  # the machine may be busy
    monkeypatch.setattr(cuda_source, "find_compiler", lambda name=None: "clang")
    monkeypatch.setattr("ptxlab.simulator.kernel.compile_cuda", compile_noted)
    return compilers


@pytest.mark.parametrize("name", one_in(3, NAMES))
def test_right_answers_are_right(name: str, compiled_by: list[str]) -> None:
    for answer in RIGHT[name] if EXHAUSTIVE else RIGHT[name][:1]:
        verdict = EXERCISES[name].check(answer)
        assert verdict.state == "right", (answer, verdict)
    assert set(compiled_by) <= {"Clang 22"}


@pytest.mark.parametrize("name", one_in(3, NAMES))
def test_wrong_answers_get_the_hint_that_fits(name: str) -> None:
    for answer, word in WRONG[name] if EXHAUSTIVE else WRONG[name][::5]:
        verdict = EXERCISES[name].check(answer)
        assert verdict.state == "wrong"
        assert word in verdict.text or (name, word) in OTHER_WORDS, (answer, verdict)


def test_a_variable_that_some_lanes_never_write_takes_no_branch_away() -> None:
    """A shuffle hands it on, and nobody looks at it; Clang could conclude that every lane took the branch."""
    for answer in RIGHT["10.5"]:
        verdict = EXERCISES["10.5"].check(answer)
        assert verdict.state == "right", (answer, verdict)


def test_kernels_are_compiled(compiled_by: list[str]) -> None:
    assert EXERCISES["02.1"].check(RIGHT["02.1"][0]) and compiled_by == ["Clang 22"]
