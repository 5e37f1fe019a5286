"""Undo and redo: the states of a bench before and after the present one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

__all__ = ["STEPS", "History", "State"]

STEPS = 200  # that can be undone


@dataclass(frozen=True)
class State:
    """What an edit replaces. Its arrays are never written, so that states share those that did not change."""

    held: dict[str, NDArray[Any]]
    options: dict[str, Any]


@dataclass(frozen=True)
class History:
    """States to go back and forward to, the nearest last.

    >>> one, two = State({}, {"selector": 0}), State({}, {"selector": 1})
    >>> back, history = History().after(one).back(two)
    >>> back is one, len(history.past), history.forward(one)[0] is two
    (True, 0, True)
    """

    past: tuple[State, ...] = ()
    future: tuple[State, ...] = ()

    def after(self, before: State) -> History:
        """The history once a step has led away from a state."""
        return History((*self.past, before)[-STEPS:])

    def back(self, now: State) -> tuple[State, History]:
        """The state before, and the history there."""
        return self.past[-1], History(self.past[:-1], (*self.future, now))

    def forward(self, now: State) -> tuple[State, History]:
        """The state that an undo left, and the history there."""
        return self.future[-1], History((*self.past, now), self.future[:-1])
