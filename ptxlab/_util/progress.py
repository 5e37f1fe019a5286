"""A progress bar for what takes long: tqdm's, as a widget in a notebook and as text on a terminal; a counter where tqdm is missing.

Nothing is shown where nobody looks (standard error is no terminal), nor in the first half second.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
import time
from collections.abc import Iterator
from typing import Any, Protocol

__all__ = ["Tick", "bar"]

_DELAY = 0.5  # seconds before a bar shows at all
_PACE = 0.1  # seconds between two lines of the counter


class Tick(Protocol):
    """What `bar` gives: call it with how many are done more, and perhaps with a word on what is being done now.

    >>> def work(tick: Tick) -> None:
    ...     tick(2, "the second half")
    >>> with bar(2, "things") as tick:
    ...     work(tick)
    """

    def __call__(self, count: int = 1, /, note: str | None = None) -> None: ...


@contextlib.contextmanager
def bar(total: int, unit: str, *, show: bool | None = None) -> Iterator[Tick]:
    """A bar over `total` of something, to be moved by calling what it gives; it closes whatever happens inside.

    `show`: None decides by itself, False is silent, True shows it at once, wherever standard error goes.

    >>> with bar(10_000, "MMAs", show=False) as tick:
    ...     for _ in range(10):
    ...         tick(1000)
    """
    notebook = _in_notebook()
    if show is None:
        show = notebook or (sys.stderr is not None and sys.stderr.isatty())
        delay = _DELAY
    else:
        delay = 0.0
    if not show:
        yield lambda count=1, /, note=None: None
        return
    drawn = _tqdm(notebook)
    line: Any = (
        _Counter(total, unit, delay)
        if drawn is None
        else drawn(total=total, unit=f" {unit}", unit_scale=True, delay=delay, file=sys.stderr)
    )

    def tick(count: int = 1, /, note: str | None = None) -> None:
        if note is not None:
            line.set_description_str(note, refresh=False)
        line.update(count)

    try:
        yield tick
    finally:
        line.close()


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this: only it has loaded IPython with a shell of that kind."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return type(shell).__name__ in ("ZMQInteractiveShell", "Shell")  # the latter is Colab's


def _tqdm(notebook: bool) -> Any:
    """tqdm's class for this place; None without tqdm. `tqdm.auto` would choose as well, but warns about what it does not find."""
    if importlib.util.find_spec("tqdm") is None:
        return None
    if notebook and importlib.util.find_spec("ipywidgets") is not None:
        return importlib.import_module("tqdm.notebook").tqdm
    return importlib.import_module("tqdm.std").tqdm


class _Counter:
    """One line that counts, with as much of tqdm's face as `bar` needs."""

    def __init__(self, total: int, unit: str, delay: float) -> None:
        self._total, self._unit, self._done, self._note, self._written = total, unit, 0, "", 0
        self._next = time.monotonic() + delay

    def set_description_str(self, note: str, refresh: bool = True) -> None:
        self._note = note

    def update(self, count: int) -> None:
        self._done += count
        if time.monotonic() >= self._next:
            self._write()

    def _write(self) -> None:
        share = f" ({100 * self._done // self._total} %)" if self._total else ""
        said = f"{self._done:,} of {self._total:,} {self._unit}{share}{'  ' * bool(self._note)}{self._note}"
        sys.stderr.write(f"\r{said.ljust(self._written)}")
        sys.stderr.flush()
        self._written, self._next = len(said), time.monotonic() + _PACE

    def close(self) -> None:
        if self._written:
            self._write()
            sys.stderr.write("\n")
            sys.stderr.flush()
