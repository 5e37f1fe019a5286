"""Work on independent parts with all cores; NumPy and compiled loops release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..errors import PtxlabError

__all__ = ["spread", "threads"]

Part = TypeVar("Part")


def threads() -> int:
    """How many threads work at once: PTXLAB_THREADS, or the cores that this process may use.

    >>> threads() >= 1
    True
    """
    said = os.environ.get("PTXLAB_THREADS", "")
    if said:
        if not said.isdecimal() or int(said) == 0:
            raise PtxlabError(f"PTXLAB_THREADS: found {said!r}; it takes a number of threads, 1 or more")
        return int(said)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(work: Callable[[Part], object], parts: Iterable[Part]) -> None:
    """Do the work on every part, several at once; the first error, or an interrupt, ends it.

    >>> done = []
    >>> spread(done.append, range(5))
    >>> sorted(done)
    [0, 1, 2, 3, 4]
    """
    todo = list(parts)
    workers = min(threads(), len(todo))
    if workers <= 1:
        for part in todo:
            work(part)
        return
    pool = ThreadPoolExecutor(workers)
    try:
        for done in [pool.submit(work, part) for part in todo]:
            done.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
