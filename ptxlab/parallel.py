"""Parts of a batch, and independent parts of one piece of work on all cores: NumPy and compiled loops let go of Python's lock while they count."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import PtxlabError

__all__ = ["part_of", "spread", "threads"]

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


def part_of(registers: NDArray[Any], batch: tuple[int, ...], part: slice) -> NDArray[Any]:
    """Those of the flattened batch, of [..., lanes, registers], without a copy of all that broadcasting would repeat.

    >>> part_of(np.arange(6).reshape(3, 1, 2, 1), (3, 1000), slice(999, 1001))[..., 0].tolist()
    [[0, 1], [2, 3]]
    """
    own = registers.shape[:-2]
    if own == batch:
        return registers.reshape(-1, *registers.shape[-2:])[part]
    if not own:
        return np.broadcast_to(registers, (part.stop - part.start, *registers.shape))
    at = np.unravel_index(np.arange(part.start, part.stop), batch)[len(batch) - len(own) :]
    return np.asarray(registers[tuple(index if size > 1 else np.zeros_like(index) for index, size in zip(at, own, strict=True))])
