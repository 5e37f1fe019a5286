"""A progress bar for long tasks: tqdm's, as a widget in a notebook and as text on a terminal.

Nothing is shown if standard error is not a terminal, nor in the first half second. A bar that a notebook did
not ask for disappears at the end, so that the notebook's output does not depend on how long the task took.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .arguments import as_flag

_DELAY = 0.5  # seconds before a bar shows at all
#: Functions that describe other work in a few words, or return ""; bars add this to their note.
BACKGROUND: list[Callable[[], str]] = []


@contextlib.contextmanager
def bar(total: int, unit: str, *, show: bool | None = None) -> Iterator[Callable[..., None]]:
    """A progress bar over `total` units. It closes when the block ends, also on an error or an interrupt.

    It yields a function; call that with the number of units done, and optionally a note on the current step.

    With `show=None` it appears in notebooks and terminals only, and a notebook keeps it only if the block did
    not finish; False hides it, True shows it at once.

    >>> with bar(10_000, "MMAs", show=False) as tick:
    ...     for _ in range(10):
    ...         tick(1000, note="moderate inputs")
    """
    notebook = _in_notebook()
    if show is None:
        show = notebook or (sys.stderr is not None and sys.stderr.isatty())
        delay, leave = _DELAY, not notebook
    else:
        show = as_flag(show, "show")
        delay, leave = 0.0, True
    line = None
    if show and (sys.stderr is not None or notebook):
        # A terminal that has gone is no reason to stop, nor is a browser tab without tqdm.
        with contextlib.suppress(OSError, ValueError, ImportError):
            line = _line(total, unit, delay, notebook, leave)
    if line is None:
        yield lambda count=1, /, note=None: None
        return

    last_note = ""

    def tick(count: int = 1, /, note: str | None = None) -> None:
        nonlocal last_note
        last_note = last_note if note is None else note
        words = [last_note, *(describe() for describe in BACKGROUND)]
        with contextlib.suppress(OSError, ValueError):
            line.set_description_str("; ".join(filter(None, words)), refresh=False)
            line.update(count)

    try:
        yield tick
    finally:
        with contextlib.suppress(OSError, ValueError):
            line.close()


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this process: only then is IPython loaded with such a shell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return type(shell).__name__ in ("ZMQInteractiveShell", "Shell")  # the latter is Colab's


def _line(total: int, unit: str, delay: float, notebook: bool, leave: bool) -> Any:
    """tqdm's bar for a notebook or a terminal.

    `tqdm.auto` would choose between the two as well, but it warns where ipywidgets is missing.
    """
    widget = notebook and importlib.util.find_spec("ipywidgets") is not None
    tqdm = importlib.import_module("tqdm.notebook" if widget else "tqdm.std").tqdm
    return tqdm(total=total, unit=f" {unit}", unit_scale=True, delay=delay, leave=leave, file=sys.stderr)
