"""A progress bar for long tasks: tqdm's, as a widget in a notebook and as text on a terminal.

Without tqdm, one line counts. Nothing is shown where nobody looks (standard error is not a terminal), nor
in the first half second.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from .arguments import as_flag

_DELAY = 0.5  # seconds before a bar shows at all
_PACE = 0.1  # seconds between two updates of the counter


class _Tick(Protocol):
    """What `bar` returns: call it with how many more are done, and optionally a note on the current step."""

    def __call__(self, count: int = 1, /, note: str | None = None) -> None: ...


class _Line(Protocol):
    """What `bar` uses of tqdm; `_Counter` has the same."""

    def set_description_str(self, desc: str, refresh: bool = True) -> None: ...

    def update(self, n: int) -> object: ...

    def close(self) -> None: ...


@contextlib.contextmanager
def bar(total: int, unit: str, *, show: bool | None = None) -> Iterator[_Tick]:
    """A progress bar over `total` units. It closes when the block ends, also on an error or an interrupt.

    With `show=None` it appears in notebooks and terminals only; False hides it, True shows it at once.

    >>> with bar(10_000, "MMAs", show=False) as tick:
    ...     for _ in range(10):
    ...         tick(1000, note="moderate inputs")
    """
    if show is not None:
        show = as_flag(show, "show")
    notebook = _in_notebook()
    if show is None:
        show = notebook or (sys.stderr is not None and sys.stderr.isatty())
        delay = _DELAY
    else:
        delay = 0.0
    line = None
    if show and (sys.stderr is not None or notebook):
        with contextlib.suppress(OSError, ValueError):  # a terminal that has gone is no reason to stop
            line = _line(total, unit, delay, notebook)
    if line is None:
        yield lambda count=1, /, note=None: None
        return

    def tick(count: int = 1, /, note: str | None = None) -> None:
        with contextlib.suppress(OSError, ValueError):
            if note is not None:
                line.set_description_str(note, refresh=False)
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


def _line(total: int, unit: str, delay: float, notebook: bool) -> _Line:
    """tqdm's bar for a notebook or a terminal, or a counter without tqdm.

    `tqdm.auto` would choose between the two as well, but it warns where ipywidgets is missing.
    """
    if importlib.util.find_spec("tqdm") is None:
        return _Counter(total, unit, delay)
    widget = notebook and importlib.util.find_spec("ipywidgets") is not None
    make: Callable[..., _Line] = importlib.import_module("tqdm.notebook" if widget else "tqdm.std").tqdm
    return make(total=total, unit=f" {unit}", unit_scale=True, delay=delay, file=sys.stderr)


class _Counter:
    """One line that counts, with the methods of tqdm that `bar` calls."""

    def __init__(self, total: int, unit: str, delay: float) -> None:
        self._total = total
        self._unit = unit
        self._done = 0
        self._note = ""
        self._width = 0  # of the line on the terminal; 0 before the first
        self._next = time.monotonic() + delay

    def set_description_str(self, desc: str, refresh: bool = True) -> None:
        self._note = desc

    def update(self, n: int) -> None:
        self._done += n
        if time.monotonic() >= self._next:
            self._write()

    def _write(self) -> None:
        text = f"{self._done:,} of {self._total:,} {self._unit}"
        if self._total:
            text += f" ({100 * self._done // self._total} %)"
        if self._note:
            text += f"  {self._note}"
        sys.stderr.write(f"\r{text.ljust(self._width)}")
        sys.stderr.flush()
        self._width = len(text)
        self._next = time.monotonic() + _PACE

    def close(self) -> None:
        if self._width:
            self._write()
            sys.stderr.write("\n")
            sys.stderr.flush()
