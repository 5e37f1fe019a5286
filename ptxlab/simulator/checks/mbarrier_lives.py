"""The life of mbarriers: `mbarrier.init` makes one of 8 bytes of shared memory, `mbarrier.inval` ends it.

In between, PTX leaves undefined what another `mbarrier.init` does there, and what comes of reading or writing
these bytes as data; before and after, what an arrival or a wait does. PTX ISA, "mbarrier", "Lifecycle".

Lanes of one warp may initialise an mbarrier together, with the same count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..events import Access, BufferAccess, Observer
from ..hazard import HazardLog, Violation, line_text
from ..instructions.mbarrier_builders import INITIALISE, why_invalid
from ..launch_threads import Batch
from ..ptx.syntax import PtxInstruction

_NONE, _INVALIDATED, _VALID = 0, 1, 2  # from `_VALID` on: by which of the instructions it was initialised
_KIND = "mbarrier"
_VERBS = {"read": "read{s}", "write": "write{s}"}
_ONCE = "let one thread initialise it, once; mbarrier.inval comes before it is initialised again"


class MbarrierLives(Observer):
    """Looks for mbarriers that are used before or after their life, begun twice, or overwritten."""

    def __init__(self, report: HazardLog) -> None:
        self._report = report

    def begin(self, batch: Batch) -> None:
        """New blocks have no mbarriers."""
        self._batch = batch
        self._lives = np.zeros(0, dtype=np.uint8)  # of each 8 bytes of the blocks' shared memory
        self._valid = np.zeros(0, dtype=np.int64)  # which of them are mbarriers, sorted
        self._changes = 0
        self._numbers: dict[int, int] = {}  # of instructions that initialise mbarriers, by id
        self._inits: dict[int, PtxInstruction] = {}  # by that number

    def accessed(self, access: Access) -> None:
        """Threads use shared memory: as mbarriers or as data."""
        if access.space != "shared":
            return
        parts = access.instruction.parts
        for buffer_access in access.buffer_accesses:
            if parts[0] == "mbarrier" and parts[1] in ("init", "inval"):
                self._change(access, buffer_access)
            elif access.kind == "mbarrier" or access.proxy == "mbarrier":
                self._check_use(access, buffer_access)
            elif len(self._valid):
                self._check_data(access, buffer_access)

    # -- the life of one -------------------------------------------------------------------------------------

    def _change(self, access: Access, buffer_access: BufferAccess) -> None:
        """Threads initialise or invalidate mbarriers."""
        if not len(self._lives):
            self._lives = np.zeros(buffer_access.data.size >> 3, dtype=np.uint8)
        words, instruction = buffer_access.offsets >> 3, access.instruction
        before = self._lives[words]
        if instruction.parts[1] == "inval":
            self._check_use(access, buffer_access)
            self._lives[words] = _INVALIDATED
        else:
            again = np.flatnonzero(before >= _VALID)
            if len(again):
                other = self._init_of(int(before[again[0]]))
                self._report_init(
                    access,
                    buffer_access,
                    again,
                    f", which {line_text(other)} initialised, and which nobody has invalidated",
                    other,
                )
            else:
                self._check_together(access, buffer_access, words)
            number = self._numbers.setdefault(id(instruction), min(len(self._inits), 255 - _VALID))
            self._inits[number] = instruction
            self._lives[words] = _VALID + number
        candidates = np.union1d(self._valid, words)
        self._valid = candidates[self._lives[candidates] >= _VALID]
        self._changes += 1

    def _init_of(self, life: int) -> PtxInstruction:
        return self._inits[life - _VALID]

    def _check_together(self, access: Access, buffer_access: BufferAccess, words: NDArray[np.int64]) -> None:
        """Report mbarriers that several warps, or lanes with several counts, initialise at once."""
        distinct, which = np.unique(words, return_inverse=True)
        if len(distinct) == len(words):
            return
        for values, what in (
            (buffer_access.threads >> 5, ", and so do lanes of other warps"),
            (np.asarray(access.values[0]), " with another count than other lanes"),
        ):
            first = np.zeros(len(distinct), dtype=values.dtype)
            first[which[::-1]] = values[::-1]
            others = np.flatnonzero(values != first[which])
            if len(others):
                self._report_init(access, buffer_access, others, what, None)
                return

    def _report_init(
        self,
        access: Access,
        buffer_access: BufferAccess,
        chosen: NDArray[np.intp],
        what: str,
        other: PtxInstruction | None,
    ) -> None:
        name, place = self._named(buffer_access, int(chosen[0]), access.width)
        self._report.add(self._batch, Violation(
            _KIND, access.instruction, buffer_access.threads[chosen],
            f"{{who}} initialise{{s}} the mbarrier at {name}{what}",
            remedy=_ONCE, other=other, space="shared", addresses=place,
        ))  # fmt: skip

    # -- uses ------------------------------------------------------------------------------------------------

    def _check_use(self, access: Access, buffer_access: BufferAccess) -> None:
        """Report arrivals and waits where no mbarrier is."""
        words = buffer_access.offsets >> 3
        lives = self._lives[words] if len(self._lives) else np.zeros(len(words), dtype=np.uint8)
        absent = np.flatnonzero(lives < _VALID)
        if not len(absent):
            return
        if access.kind == "mbarrier" and any(
            map(why_invalid, buffer_access.data.view(np.uint64)[words].tolist())
        ):
            return  # this ends the simulation, with a sentence of its own
        first = int(absent[0])
        name, place = self._named(buffer_access, first, access.width)
        verb = {"mbarrier": "arrive{s} at", "write": "invalidate{s}"}.get(access.kind, "wait{s} for")
        state = "was invalidated" if lives[first] == _INVALIDATED else "was never initialised"
        self._report.add(self._batch, Violation(
            _KIND, access.instruction, buffer_access.threads[absent],
            f"{{who}} {verb} the mbarrier at {name}, which {state}",
            remedy=INITIALISE, space="shared", addresses=place,
        ))  # fmt: skip

    def _check_data(self, access: Access, buffer_access: BufferAccess) -> None:
        """Report mbarriers that are read or written as data."""
        if buffer_access.notes.get(_KIND) == self._changes:
            return
        width, first = access.width, buffer_access.offsets >> 3
        if width <= 8:  # aligned
            hit = self._lives[first] >= _VALID
        else:
            following = np.append(self._valid, len(self._lives))[np.searchsorted(self._valid, first)]
            hit = following <= buffer_access.offsets + width - 1 >> 3
        if not hit.any():
            buffer_access.notes[_KIND] = self._changes
            return
        chosen = np.flatnonzero(hit)
        name, place = self._named(buffer_access, int(chosen[0]), width)
        word = self._valid[np.searchsorted(self._valid, first[chosen[0]])]
        other = self._init_of(int(self._lives[word]))
        self._report.add(self._batch, Violation(
            _KIND, access.instruction, buffer_access.threads[chosen],
            f"{{who}} {_VERBS.get(access.kind, 'update{s}')} {name}, where the mbarrier that "
            f"{line_text(other)} initialised is valid",
            remedy="use other bytes, or execute mbarrier.inval first, when nobody uses it any more",
            other=other, space="shared", addresses=place,
        ))  # fmt: skip

    def _named(self, buffer_access: BufferAccess, position: int, width: int) -> tuple[str, tuple[int, int]]:
        """The bytes that a thread uses in its block, in words and as addresses."""
        start = int(buffer_access.offsets[position]) % (buffer_access.data.size // self._batch.count)
        return self._report.shared_bytes(start, start + width - 1), (start, start + width - 1)
