"""Write docs/reference/bugs.md: bugs of other people's kernels, the actions that find each, and what is said.

python -m tools.bugs
"""

from __future__ import annotations

from pathlib import Path

from ptxlab._util.files import write_atomically
from tests.simulator.bug_cases import BUGS, said, sources

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "bugs.md"

_INTRODUCTION = """# Bugs of others

Hangs and races that were reported of other people's kernels, each cut down to a few lines of our own in
`tests/kernels/bugs/bugs.cu`, and found with the [debugger](../guide/debugger.md) or with
[every schedule](../guide/schedules.md), without a GPU, in at most five actions. The last column has what the
actions say, word for word; a test runs them all. Lines are those of that file, `k` is the kernel, and `x` and
`f` are arrays of 256 integers: `x` counts up from 0, `f` is 0. `session.error.waiting` draws a hang.

`python -m tools.bugs` writes this page.

| bug, source, actions | what is said |
|---|---|
"""


def row(name: str) -> str:
    """A row of the table."""
    url, what = sources()[name]
    repository = "/".join(url.split("/")[3:5])
    actions = "<br>".join(f"`{action}`" for action in BUGS[name].typed)
    bug = f"`{name}`: {what} ([{repository}#{url.rpartition('/')[2]}]({url}))<br>{actions}"
    cells = bug, "<br>".join(said(name))
    return f"| {' | '.join(cells)} |"


def page() -> str:
    """The page's text."""
    return _INTRODUCTION + "\n".join(row(name) for name in BUGS) + "\n"


if __name__ == "__main__":
    write_atomically(PAGE, page().encode())
