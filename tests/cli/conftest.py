"""Commands in the process of the tests."""

from __future__ import annotations

import pytest

from ptxlab.cli import main


@pytest.fixture
def answer(capsys: pytest.CaptureFixture[str]):
    """Runs a command that must succeed and gives what it printed."""

    def run(*words: str) -> str:
        code = main(words)
        out, err = capsys.readouterr()
        assert (code, err) == (0, "")
        return out

    return run


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]):
    """Runs a command that must fail and gives its one sentence; code 1: no answer, code 2: wrong usage."""

    def run(*words: str, code: int = 1) -> str:
        exit_code = main(words)
        out, err = capsys.readouterr()
        assert (exit_code, out) == (code, "")
        assert err.count("\n") == 1
        return err

    return run
