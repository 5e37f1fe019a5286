"""Ctrl+C in the command `ptxlab`, also where Python would print a traceback: as it starts and as it ends.

While the command runs, an interrupt is a KeyboardInterrupt, as everywhere in Python. While its modules load,
after that first interrupt, and when everything is done, it ends the process at once with status 130, which is
what shells expect. Only a process that is the command itself is treated so.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STATUS = 130  # 128 + SIGINT


def _is_command() -> bool:
    """Whether this process was started as `ptxlab` or as `python -m ptxlab`."""
    program = "".join(getattr(sys, "argv", [])[:1])
    if program == "-m":  # what Python puts there until it has loaded the module
        words = sys.orig_argv
        return "-mptxlab" in words or ("-m", "ptxlab") in itertools.pairwise(words)
    name = program.replace("\\", "/").rpartition("/")[2]
    return name in ("ptxlab", "ptxlab.exe", "ptxlab-script.py")


def raise_once() -> None:
    """From now on the first interrupt is a KeyboardInterrupt; the next one ends the process."""

    def handler(number: int, frame: object) -> None:
        end_quietly()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler)
    sys.unraisablehook = _unraisable


def end_quietly() -> None:
    """From now on an interrupt ends the process silently."""
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(STATUS))


@contextmanager
def delayed() -> Iterator[None]:
    """Delay an interrupt to the end of the block: a package that is half imported stays unusable.

    >>> with delayed():
    ...     import numpy
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    arrived: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if arrived:
            handler(arrived[0], None)


def _unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    """An interrupt that arrives in a destructor or a callback, from which Python cannot raise it."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        os._exit(STATUS)
    sys.__unraisablehook__(unraisable)


# `ptxlab/__init__.py` imports this module first, before those that take time.
if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    end_quietly()
