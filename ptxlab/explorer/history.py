"""What came before: the documents to undo and redo to, and the log of messages that made a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .documents.document import Document
from .message import Message

UNDO_LIMIT = 200  # edits that can be undone
HISTORY_BYTES = 1 << 26  # memory that the arrays of the history may take
MAX_LOGGED = 256  # messages of a log; after more, or after a longer text, a link has the arrays
MAX_LOGGED_TEXT = 1 << 12  # letters

#: The state of a generator of random numbers.
Generator = Mapping[str, Any]


class Logged(NamedTuple):
    """A message of a log, and for a fill the state of the generator that it draws from.

    The state is None where the generator goes on from the message before, which an undone fill prevents.
    """

    edit: Message
    generator: Generator | None = None


@dataclass(frozen=True)
class Log:
    """How to make a document: the messages since the opening, or since arrays were given."""

    start: Document
    messages: tuple[Logged, ...] = ()
    generator: Generator | None = None  # its state after the messages, if they lead to it

    def after(self, edit: Message, document: Document, before: Generator, now: Generator) -> Log:
        """The log after an edit that made a document, with the states of the generator before it and now."""
        logged, generator = Logged(edit), self.generator
        if now != before:
            logged, generator = Logged(edit, None if before == generator else before), now
        messages = (*self.messages, logged)
        if len(messages) > MAX_LOGGED or len(vars(edit).get("text", "")) > MAX_LOGGED_TEXT:
            return Log(document)
        return Log(self.start, messages, generator)

    @property
    def draws(self) -> bool:
        """Whether its messages draw random numbers."""
        return any(vars(edit).get("pattern") for edit, _ in self.messages)


@dataclass(frozen=True)
class UndoState:
    """A state to undo or redo to: a document, and what else belongs to its instruction."""

    document: Document
    log: Log
    random: Generator
    notices: tuple[str, ...]
    saved_view: Mapping[str, Any]


@dataclass(frozen=True)
class History:
    """Snapshots to undo and redo to, the nearest last; they share unchanged arrays."""

    past: tuple[UndoState, ...] = ()
    future: tuple[UndoState, ...] = ()

    def after(self, before: UndoState) -> History:
        """The history after an edit; beyond the limits of count and memory the oldest snapshots go."""
        snapshots = (*self.past, before)[-UNDO_LIMIT:]
        return History(snapshots[-_count_within(snapshots, HISTORY_BYTES) :])


def _count_within(snapshots: Sequence[UndoState], max_bytes: int) -> int:
    """How many of the latest snapshots fit into `max_bytes`, at least one; shared arrays count once.

    >>> import ptxlab
    >>> from ptxlab.explorer import ExplorerState
    >>> state = ExplorerState(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"))
    >>> _count_within([state.snapshot] * 9, max_bytes=2000)
    9
    """
    counted: set[int] = set()
    size = 0
    for count, snapshot in enumerate(reversed(snapshots)):
        for array in snapshot.document.arrays.values():
            if id(array) not in counted:
                counted.add(id(array))
                size += array.nbytes
        if size > max_bytes:
            return max(count, 1)
    return len(snapshots)
