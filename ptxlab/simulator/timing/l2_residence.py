"""What L2 keeps from one launch to the next: which part of what is touched first comes from DRAM.

Launches are assumed to follow each other, as in a loop that is timed. What else is approximated is listed in
the docstring of `timing/__init__.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..events import SimulatedBuffer
from .chip_timings import ChipTiming
from .recorder import Recorder, Touch, map_of_box

_PAIR, _LINE = 64, 128  # bytes: DRAM delivers two sectors, L2 keeps lines of four
_OTHER = -1  # memory that is no array: local memory, the heap


@dataclass
class _Use:
    """How the clusters of a sample use an array in one way, reading or writing."""

    first_touches: int = 0  # bytes, of all clusters
    pairs: set[int] = field(default_factory=set)  # that any cluster touches
    lines: set[int] = field(default_factory=set)
    boxes: dict[int, int] = field(default_factory=dict)  # bytes of each
    first: bool = True  # whether L2 evicts it first

    def bytes(self, unit: int) -> int:
        """What the sample touches, in whole pairs of sectors or lines."""
        return unit * len(self.pairs if unit == _PAIR else self.lines) + sum(self.boxes.values())


class L2Residence:
    """For each array, the fraction of a cluster's first touches that DRAM serves.

    `sharing` is how many clusters share a byte.
    """

    def __init__(
        self,
        buffers: Sequence[SimulatedBuffer],
        recorder: Recorder,
        cluster_of: dict[int, int],
        clusters: int,
        chip: ChipTiming,
    ) -> None:
        arrays = [buffer for buffer in buffers if buffer.space == "global" and buffer.owner != "runtime"]
        arrays.sort(key=lambda array: array.start)
        self._arrays, self._starts = arrays, [array.start for array in arrays]
        self._sizes = [array.size for array in arrays]
        #: The array behind each tensor map.
        self._mapped: list[int] = []
        for tensor in recorder.maps:
            self._mapped.append(self._array_of_map(tensor.array))
        samples = len(set(cluster_of.values()))
        uses = self._uses(recorder, cluster_of)
        self._parts = self._from_dram(uses, samples, clusters, chip)
        touched = sum(use.first_touches for use in uses.values()) / samples
        everything = sum(self._sizes)
        self.sharing = touched * clusters / everything if touched and everything else 1.0

    def from_dram(self, key: int, writes: bool) -> float:
        """The fraction of first touches of what a sector or a box is in that goes to DRAM."""
        return self._parts.get((self._array_of(key), writes), 0.0)

    def _array_of_map(self, array: object) -> int:
        """The array that a tensor map describes: one of the launch's, or another one."""
        if isinstance(array, np.ndarray):
            address = array.__array_interface__["data"][0]
            for number, buffer in enumerate(self._arrays):
                start = buffer.data.__array_interface__["data"][0]
                if start <= address < start + buffer.size:
                    return number
        self._sizes.append(getattr(array, "nbytes", 0))
        return len(self._sizes) - 1

    def _array_of(self, key: int) -> int:
        number = map_of_box(key)
        if number is not None:
            return self._mapped[number]
        index = bisect_right(self._starts, key << 5) - 1
        if index < 0 or key << 5 >= self._starts[index] + self._sizes[index]:
            return _OTHER
        return index

    def _uses(self, recorder: Recorder, cluster_of: dict[int, int]) -> dict[tuple[int, bool], _Use]:
        """How each array is used: by its number, and whether it is written."""
        seen: set[tuple[int, bool, int]] = set()
        uses: dict[tuple[int, bool], _Use] = defaultdict(_Use)
        for (warp, _), touches in recorder.touches.items():
            if warp in cluster_of:
                for touch in touches:
                    for sectors in touch.sectors:
                        self._add(uses, seen, cluster_of[warp], touch, sectors.tolist())
        return uses

    def _add(
        self,
        uses: dict[tuple[int, bool], _Use],
        seen: set[tuple[int, bool, int]],
        cluster: int,
        touch: Touch,
        sectors: list[int],
    ) -> None:
        writes = touch.kind == "write"
        for key in sectors:
            unit = key if touch.box_bytes else key >> 1
            if (cluster, writes, unit) in seen:
                continue
            seen.add((cluster, writes, unit))
            array = self._array_of(key)
            if array == _OTHER:
                continue
            use = uses[array, writes]
            use.first = use.first and touch.first
            use.first_touches += touch.box_bytes or _PAIR
            if touch.box_bytes:
                use.boxes[key] = touch.box_bytes
            else:
                use.pairs.add(unit)
                use.lines.add(key >> 2)

    def _from_dram(
        self, uses: dict[tuple[int, bool], _Use], samples: int, clusters: int, chip: ChipTiming
    ) -> dict[tuple[int, bool], float]:
        """The fraction by array and kind of use.

        What L2 evicts first takes little room there, and does not push out the rest.
        """
        distinct: dict[tuple[int, bool], float] = {}
        room: dict[int, float] = defaultdict(float)
        for (array, writes), use in uses.items():
            alike = samples > 1 and use.bytes(_PAIR) * samples == use.first_touches
            scale = 1.0 if alike else clusters / samples
            distinct[array, writes] = min(scale * use.bytes(_PAIR), self._sizes[array])
            room[array] = max(room[array], min(scale * use.bytes(_LINE), self._sizes[array]))
        first = {
            array for array in room if all(use.first for (other, _), use in uses.items() if other == array)
        }
        kept = sum(size for array, size in room.items() if array not in first)
        passing = sum(size for array, size in room.items() if array in first)
        written = sum(distinct[key] for key in distinct if key[1] and key[0] not in first)
        limits = chip.l2_mixed if written > 0.1 * kept else chip.l2_reads
        missing = {False: _ramp(kept / chip.l2, limits), True: _ramp(passing / chip.l2, chip.l2_first)}
        return {
            (array, writes): missing[array in first]
            * min(1.0, distinct[array, writes] * samples / (use.first_touches * clusters))
            for (array, writes), use in uses.items()
        }


def _ramp(value: float, limits: tuple[float, float]) -> float:
    """0 up to the first limit, 1 from the second.

    >>> _ramp(0.75, (0.5, 1.0))
    0.5
    """
    low, high = limits
    return min(max((value - low) / (high - low), 0.0), 1.0)
