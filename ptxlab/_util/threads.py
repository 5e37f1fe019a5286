"""Threads for independent parts of a task, or anybody's executor; NumPy and compiled loops release the GIL.

How many threads: the setting PTXLAB_THREADS, or the cores that this process may use. In a container these are
fewer than the machine has, by its quota (cgroups) or by its affinity.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from ..errors import PtxlabError, quoted

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Part = TypeVar("Part")
Result = TypeVar("Result")

#: Inside a task of an executor: its other workers have the other cores.
_is_task: ContextVar[bool] = ContextVar("is_task", default=False)

#: Threads that compute beside this one.
_others: ContextVar[int] = ContextVar("others", default=0)

#: Tasks that wait or run at once on an executor that does not say how many workers it has.
_WAITING = 256


# -- how many ----------------------------------------------------------------------------------------------


def thread_count() -> int:
    """How many threads work at once: PTXLAB_THREADS, or the number of cores that this process may use."""
    setting = os.environ.get("PTXLAB_THREADS", "")
    if setting:
        if not setting.isdecimal() or not setting.isascii() or int(setting[:9]) == 0:
            raise PtxlabError(
                f"PTXLAB_THREADS: found {quoted(setting)}; it takes a number of threads, 1 or more"
            )
        return max(1, int(setting[:9]) - _others.get())
    return 1 if _is_task.get() else max(1, _cores() - _others.get())


def leave_cores(count: int) -> None:
    """From now on, `thread_count` is so many less in this thread: other threads compute, too."""
    _others.set(count)


def _cores() -> int:
    """Cores that this process may use: Python's setting for all programs, affinity, and the quota."""
    setting = os.environ.get("PYTHON_CPU_COUNT", "")  # Python itself heeds it from 3.13 on
    if setting.isascii() and setting.isdecimal() and int(setting[:9]) > 0:
        return int(setting[:9])
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on; it also knows the option -X cpu_count
        cores = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, cpu_quota() or cores)


@lru_cache(maxsize=None)
def cpu_quota(
    membership: Path = Path("/proc/self/cgroup"), mount: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """Cores that the container's quota comes to, rounded up; None without a quota, or without cgroups.

    The kernel enforces the smallest quota of the group and of all groups around it.
    """
    try:
        lines = membership.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    quotas: list[float] = []
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:  # version 2
            folders = [mount, mount / "unified"]
        elif "cpu" in controllers.split(","):
            folders = [mount / "cpu", mount / "cpu,cpuacct", mount / controllers]
        else:
            continue
        group = PurePosixPath("/", path)
        for ancestor in (group, *group.parents):  # in a container the mount may begin at any of them
            for folder in folders:
                quotas += _quotas(folder / ancestor.relative_to("/"))
    return max(1, math.ceil(min(quotas))) if quotas else None


def _quotas(folder: Path) -> list[float]:
    """The quota in a folder of cgroups, in cores; [] where there is none."""
    try:
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()  # version 2
    except (OSError, ValueError):
        try:
            quota = (folder / "cpu.cfs_quota_us").read_text(encoding="ascii").strip()
            period = (folder / "cpu.cfs_period_us").read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return []
    if not quota.isdecimal() or not period.isdecimal() or int(period) == 0:  # "max", -1
        return []
    return [int(quota) / int(period)]


# -- threads -----------------------------------------------------------------------------------------------


def for_each(work: Callable[[Part], object], parts: Iterable[Part]) -> None:
    """Call `work` on every part, several at once. The first error, or an interrupt, ends it.

    >>> squares = {}
    >>> for_each(lambda number: squares.update({number: number**2}), range(5))
    >>> sorted(squares.values())
    [0, 1, 4, 9, 16]
    """
    waiting = deque(parts)
    errors: list[BaseException] = []

    def work_off() -> None:
        try:
            while waiting and not errors:
                try:
                    part = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                work(part)
        except BaseException as error:
            errors.append(error)

    others = [Thread(target=work_off, daemon=True) for _ in range(min(thread_count(), len(waiting)) - 1)]
    for thread in others:
        thread.start()
    work_off()
    for thread in others:
        while thread.is_alive():
            try:
                thread.join()
            except KeyboardInterrupt as interrupt:  # the others stop after their parts
                errors.append(interrupt)
    if errors:
        raise errors[0]


# -- executors ---------------------------------------------------------------------------------------------


def check_executor(executor: object) -> None:
    """Refuse what is not an executor: one has `submit`, as those of concurrent.futures, Dask and mpi4py do.

    >>> check_executor(4)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    ptxlab.errors.PtxlabError: executor: found 4; it takes one of concurrent.futures, such as
    ProcessPoolExecutor(), or None
    """
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise PtxlabError(
            f"executor: found {quoted(executor)}; it takes one of concurrent.futures, "
            "such as ProcessPoolExecutor(), or None"
        )


def in_order(
    executor: Executor, work: Callable[[Part], Result], parts: Iterable[Part]
) -> Generator[tuple[Part, Result], None, None]:
    """Call `work` on every part on the workers of an executor, and give parts and results in their order.

    So many tasks wait at once that no worker is idle, and no more: parts are made when there is room. Each
    task runs in one thread of its worker. When the caller closes it, also by an error or an interrupt, tasks
    that have not begun are cancelled; the executor stays as it is.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(3) as executor:
    ...     list(in_order(executor, abs, [-1, 2, -3]))
    [(-1, 1), (2, 2), (-3, 3)]
    """
    workers = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
    most = 2 * workers if isinstance(workers, int) and workers > 0 else _WAITING
    waiting: deque[tuple[Part, Future[Result]]] = deque()
    source = iter(parts)
    try:
        while True:
            while len(waiting) < most and (part := next(source, None)) is not None:
                waiting.append((part, executor.submit(_task, work, part)))
            if not waiting:
                return
            part, future = waiting[0]
            result = future.result()
            waiting.popleft()
            yield part, result
    finally:
        for _, future in waiting:
            future.cancel()


def _task(work: Callable[[Part], Result], part: Part) -> Result:
    token = _is_task.set(True)
    try:
        return work(part)
    finally:
        _is_task.reset(token)
