"""Launches as they began, so that one can be stepped through afterwards: `ptxlab.simulating(debug=True)`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import PtxlabError, quoted

if TYPE_CHECKING:
    from .debug import DebugSession

_MAX_BYTES = 1 << 30  # of arrays that are kept
_OPEN: list[LaunchRecord] = []  # the records that launches go to


class RecordedLaunch(NamedTuple):
    """A launch that begins: how to step through it, its grid and block, and arrays as they were before."""

    debug_kernel: Callable[..., DebugSession]
    names: tuple[str, str]  # of the kernel: in the source, and in the PTX
    shape: tuple[Any, Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def kept(self) -> RecordedLaunch:
        """The same launch with copies of its arrays."""
        return self._replace(arguments=copy.deepcopy(self.arguments))

    def debug(self) -> DebugSession:
        """Step through it on arrays of its own."""
        return self.debug_kernel(*self.shape, *copy.deepcopy(self.arguments), **self.options)


class LaunchRecord:
    """The launches since it was opened, up to 1 GiB of arrays."""

    def __init__(self) -> None:
        self.count = 0
        self._kept: list[RecordedLaunch] = []
        self._bytes = 0

    def open(self) -> None:
        """Record launches from now on."""
        _OPEN.append(self)

    def close(self) -> None:
        """Record no more launches."""
        if self in _OPEN:
            _OPEN.remove(self)

    def add(self, launch: RecordedLaunch) -> None:
        """Keep a launch with copies of its arrays, if there is room."""
        self.count += 1
        self._bytes += sum(array.nbytes for array in launch.arguments if isinstance(array, np.ndarray))
        if self._bytes <= _MAX_BYTES:
            self._kept.append(launch.kept())

    def debug(self, index: int) -> DebugSession:
        """Step through a launch on arrays of its own."""
        if not -self.count <= index < self.count:
            raise PtxlabError(f"launch {quoted(index)}: there were {self.count}, counted from 0 on")
        if index % self.count >= len(self._kept):
            raise PtxlabError(f"launch {index} was not kept: arrays of those before it take more than 1 GiB")
        return self._kept[index % self.count].debug()


def record(launch: RecordedLaunch) -> None:
    """Tell the open records of a launch that begins."""
    for launches in _OPEN:
        launches.add(launch)
