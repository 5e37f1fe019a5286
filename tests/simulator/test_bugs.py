"""Every bug of docs/reference/bugs.md is found by its actions, and what they say is what the page says."""

from __future__ import annotations

from functools import cache

import pytest

from tools.bugs import PAGE, row

from .bug_cases import BUGS, FILE, sources


@cache
def _rows() -> list[str]:
    return [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]


@pytest.mark.needs("cuda.bindings")
@pytest.mark.parametrize("name", BUGS)
def test_what_is_said_of_a_bug(name: str) -> None:
    """At most five actions, of the debugger or of every schedule."""
    assert len(BUGS[name].actions) <= 5
    assert {action.split("(")[0].split()[-1] for action in BUGS[name].typed[:1]} <= {"k.debug", "k.check"}
    assert row(name) in _rows(), "python -m tools.bugs writes the page"


def test_every_kernel_has_a_source_and_a_row() -> None:
    text = FILE.read_text(encoding="utf-8")
    kernels = text.count("\nKERNEL(") + text.count('\nextern "C"')
    assert len(sources()) == len(BUGS) == len(_rows()) == kernels >= 20
    assert len({url for url, _ in sources().values()}) == kernels, "each from another issue"
