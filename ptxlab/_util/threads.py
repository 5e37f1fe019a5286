"""Independent parts of a task, run in threads or on the caller's executor.

Threads help because NumPy and compiled loops release the GIL. Their number is the setting PTXLAB_THREADS, or
the number of cores that this process may use. In a container, a quota (cgroups) or an affinity may allow
fewer cores than the machine has.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePosixPath
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from ..errors import PtxlabError, quoted

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

Part = TypeVar("Part")
Result = TypeVar("Result")

#: True inside an executor task; nested code then uses one thread.
_is_task: ContextVar[bool] = ContextVar("is_task", default=False)

#: Cores that are left to other threads of ptxlab.
_reserved: ContextVar[int] = ContextVar("reserved", default=0)

#: Tasks that wait or run at the same time, for an executor that does not say how many workers it has.
_DEFAULT_QUEUE = 256


# -- how many ----------------------------------------------------------------------------------------------


def thread_count() -> int:
    """The number of threads that work at the same time: PTXLAB_THREADS, or the cores this process may use."""
    setting = os.environ.get("PTXLAB_THREADS", "")
    if setting:
        count = _positive_int(setting)
        if count is None:
            raise PtxlabError(
                f"PTXLAB_THREADS: found {quoted(setting)}; it takes a number of threads, 1 or more"
            )
        return max(1, count - _reserved.get())
    return 1 if _is_task.get() else max(1, _cores() - _reserved.get())


def leave_cores(count: int) -> None:
    """Leave `count` cores to other threads: from now on, `thread_count` gives this thread that many fewer."""
    _reserved.set(count)


def _cores() -> int:
    """Cores that this process may use: PYTHON_CPU_COUNT, or what affinity and the quota allow."""
    setting = _positive_int(os.environ.get("PYTHON_CPU_COUNT", ""))  # Python itself heeds it from 3.13 on
    if setting is not None:
        return setting
    if hasattr(os, "process_cpu_count"):  # from Python 3.13 on; it also knows the option -X cpu_count
        cores = os.process_cpu_count() or 1
    elif hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(cores, cpu_quota() or cores)


def _positive_int(text: str) -> int | None:
    """The number in a setting; None if it is not a number from 1 on. Digits after the ninth are ignored."""
    if not text.isascii() or not text.isdecimal():
        return None
    return int(text[:9]) or None


@lru_cache(maxsize=None)
def cpu_quota(
    membership: Path = Path("/proc/self/cgroup"), mount: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """The container's quota in cores, rounded up; None without a quota, or without cgroups.

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

    def drain() -> None:
        try:
            while waiting and not errors:
                try:
                    part = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                work(part)
        except BaseException as error:
            errors.append(error)

    others = [Thread(target=drain, daemon=True) for _ in range(min(thread_count(), len(waiting)) - 1)]
    for thread in others:
        thread.start()
    drain()
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
    """Call `work` on every part on the workers of an executor; yield each part with its result, in order.

    Just enough tasks are queued to keep every worker busy, and the next parts are made only when there is
    room. Each task runs in one thread of its worker. When the generator is closed, also by an error or an
    interrupt, it cancels the tasks that have not begun; it does not shut the executor down.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(3) as executor:
    ...     list(in_order(executor, abs, [-1, 2, -3]))
    [(-1, 1), (2, 2), (-3, 3)]
    """
    from concurrent.futures import BrokenExecutor  # late, since few need it

    workers = getattr(executor, "_max_workers", None) or getattr(executor, "num_workers", None)
    limit = 2 * workers if isinstance(workers, int) and workers > 0 else _DEFAULT_QUEUE
    waiting: deque[tuple[Part, Future[Result]]] = deque()
    source = iter(parts)
    try:
        while True:
            for part in islice(source, limit - len(waiting)):
                waiting.append((part, _submitted(executor, work, part)))
            if not waiting:
                return
            part, future = waiting[0]
            try:
                result = future.result()
            except BrokenExecutor as error:
                raise PtxlabError(f"executor: a worker ended before its task was done ({error})") from None
            waiting.popleft()
            yield part, result
    finally:
        for _, future in waiting:
            future.cancel()


def _submitted(executor: Executor, work: Callable[[Part], Result], part: Part) -> Future[Result]:
    try:
        return executor.submit(_task, work, part)
    except RuntimeError as error:  # it was shut down, or is broken
        raise PtxlabError(f"executor: it takes no tasks any more ({error})") from None


def _task(work: Callable[[Part], Result], part: Part) -> Result:
    token = _is_task.set(True)
    try:
        return work(part)
    finally:
        _is_task.reset(token)
