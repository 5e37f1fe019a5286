"""Threads for independent parts of a task; NumPy and compiled loops release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..errors import PtxlabError

__all__ = ["for_each", "thread_count"]

Part = TypeVar("Part")


def thread_count() -> int:
    """How many threads work at once: PTXLAB_THREADS, or the number of cores that this process may use."""
    setting = os.environ.get("PTXLAB_THREADS", "")
    if setting:
        if not setting.isdecimal() or int(setting) == 0:
            raise PtxlabError(f"PTXLAB_THREADS: found {setting!r}; it takes a number of threads, 1 or more")
        return int(setting)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def for_each(work: Callable[[Part], object], parts: Iterable[Part]) -> None:
    """Call `work` on every part, several at once. The first error, or an interrupt, ends it.

    >>> squares = {}
    >>> for_each(lambda number: squares.update({number: number**2}), range(5))
    >>> sorted(squares.values())
    [0, 1, 4, 9, 16]
    """
    waiting = list(parts)
    workers = min(thread_count(), len(waiting))
    if workers <= 1:
        for part in waiting:
            work(part)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        for future in [pool.submit(work, part) for part in waiting]:
            future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
