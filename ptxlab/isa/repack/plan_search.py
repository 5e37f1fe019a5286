"""Finds the steps of a plan.

Each lane first converts and packs what one other lane needs into words, so that it takes few shuffles; then
words change lanes, one per lane and shuffle; then `prmt` puts the bytes in order. Bytes that stay in their
lane are never shuffled. Where two elements of 4 bits that share a byte go to different places, everything is
counted in halves of a byte instead: `prmt` gathers the lower and the upper halves of a register separately,
and they are merged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxlabError
from ..dtypes import DType
from .plan_steps import (
    Convert,
    Merge,
    Part,
    Permute,
    PlanStep,
    Rename,
    Select,
    Shift,
    Shuffle,
    registers_read,
)


class Task(NamedTuple):
    """What to move: the lane and slot from which every slot of the target comes, and its type."""

    title: str
    lanes: NDArray[np.int64]  # [lanes, slots]
    slots: NDArray[np.int64]
    moved_bits: int  # of an element while it moves between lanes
    conversion: tuple[DType, DType] | None
    converts_first: bool
    per_register: int  # elements in a register of the source
    shift: int
    converted_bits: int = 0  # of a converted element in a register


class _Edge(NamedTuple):
    """A word of one lane that another lane needs."""

    lane: int
    word: int
    target: int


#: Register and byte (or half of a byte) in which each byte (or half) of a register lies, [lanes][bytes].
_Places: TypeAlias = list[list[tuple[str, int]]]
Word: TypeAlias = tuple[int, ...]  # the units in it, the lowest first

_HALF = 4  # bits of half a byte
_LOWER_HALVES = 0x0F0F0F0F


class Planner:
    """Finds the steps for lanes 0 to `period` - 1; the others do the same."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.steps: list[PlanStep] = []
        self.period = _period(task.lanes, task.slots)
        self.from_lane = task.lanes[: self.period]
        self.from_slot = task.slots[: self.period]
        #: Bits of a unit, which is what is moved as a whole: 8, or 4 where bytes are split.
        self.grain = _HALF if self._splits_bytes() else 8
        self.per_word = 32 // self.grain
        #: What a unit is made of: (its slots, which byte of the element).
        self.units: list[tuple[tuple[int, ...], int]] = []
        self.byte_lane, self.byte_unit = self._bytes()
        #: For each unit, the lanes that need it from each lane.
        self.readers: dict[int, list[set[int]]] = {}
        #: For each unit, the places of the target that are made of it, as (byte or half, lane).
        self.goals: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for target, (lanes, units) in enumerate(zip(self.byte_lane, self.byte_unit, strict=True)):
            for at, (lane, unit) in enumerate(zip(lanes.tolist(), units.tolist(), strict=True)):
                self.goals[unit].append((at, target))
                readers = self.readers.setdefault(unit, [set() for _ in range(self.period)])
                readers[lane].add(target)
        #: Where a lane finds a unit: (lane that had it, unit) -> {lane that reads it: (register, byte)}.
        self.places: dict[tuple[int, int], dict[int, tuple[str, int]]] = defaultdict(dict)
        #: Registers made by selects, by the register that each lane takes.
        self.selected: dict[tuple[str, ...], str] = {}
        #: Registers made by shifts, by source and bits to the left.
        self.shifted: dict[tuple[str, int], str] = {}

    # -- bytes -----------------------------------------------------------------------------------------------

    def _splits_bytes(self) -> bool:
        """Whether elements that share a byte of the target come from different bytes or lanes."""
        per_byte = 8 // self.task.moved_bits
        if per_byte < 2:
            return False
        lanes = self.from_lane.reshape(self.period, -1, per_byte)
        slots = self.from_slot.reshape(self.period, -1, per_byte)
        together = (lanes == lanes[..., :1]).all()
        if self.task.conversion is None:
            together &= (np.diff(slots, axis=-1) == 1).all() and not (slots[..., 0] % per_byte).any()
        if not together and self.task.moved_bits != _HALF:
            raise PtxlabError(
                f"{self.task.title}: single bits that share a byte would part, and shuffles and permutes "
                "move whole bytes; go through shared memory"
            )
        return not together

    def _bytes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lane and unit that every byte (or half) of the target comes from, [period, bytes]."""
        bits = self.task.moved_bits
        per_unit, per_element = max(1, self.grain // bits), max(1, bits // self.grain)
        lanes = self.from_lane.reshape(self.period, -1, per_unit)
        slots = self.from_slot.reshape(self.period, -1, per_unit)
        groups, inverse = np.unique(slots.reshape(-1, per_unit), axis=0, return_inverse=True)
        self.units = [(tuple(group), byte) for group in groups.tolist() for byte in range(per_element)]
        units = inverse.reshape(self.period, -1, 1) * per_element + np.arange(per_element)
        lane = np.repeat(lanes[..., 0], per_element, axis=1)
        return lane, units.reshape(self.period, -1)

    def _home(self, unit: int) -> tuple[str, int]:
        """Register and byte (or half) of the source that hold a unit before any step."""
        (slot, *_), byte = self.units[unit]
        at = slot * self.task.moved_bits // self.grain + byte
        return f"in{at // self.per_word}", at % self.per_word

    def _stays(self, unit: int) -> bool:
        return all(readers <= {lane} for lane, readers in enumerate(self.readers[unit]))

    def _goal(self, unit: int) -> tuple[int, int]:
        """The first place of the target made of this unit, as a sort key."""
        return self.goals[unit][0]

    # -- from the source to words ----------------------------------------------------------------------------

    def run(self) -> tuple[PlanStep, ...]:
        """The steps, in order."""
        words = self._packed() if self.task.converts_first else self._words_of_registers()
        travelling = []
        for name, units in words:
            if all(self._stays(unit) for unit in units if unit >= 0):
                for position, unit in enumerate(units):
                    if unit >= 0:
                        for lane in range(self.period):
                            self.places[lane, unit][lane] = name, position
            else:
                travelling.append((name, units))
        for group in self._groups(travelling):
            self._exchange(group)
        self._assemble()
        return _tidy(self.steps)

    def _alike(self, units: Iterable[int]) -> list[list[int]]:
        """Units by the lanes that need them, each list in the order of the target's bytes."""
        groups: dict[object, list[int]] = defaultdict(list)
        for unit in sorted(units, key=self._goal):
            readers = tuple(tuple(sorted(lanes)) for lanes in self.readers[unit])
            register = self._goal(unit)[0] // self.per_word if self._stays(unit) else -1
            groups[register, readers].append(unit)
        return list(groups.values())

    def _packed(self) -> list[tuple[str, Word]]:
        """Words of converted elements."""
        conversion = self.task.conversion
        assert conversion is not None
        words: list[tuple[str, Word]] = []
        per_element = max(1, self.task.moved_bits // self.grain)
        per_register = self.task.per_register
        for group in self._alike(self.readers):
            for start in range(0, len(group), self.per_word):
                units = tuple(group[start : start + self.per_word])
                name = f"w{len(words)}"
                slots = [slot for unit in units[::per_element] for slot in self.units[unit][0]]
                parts = tuple(Part(f"in{slot // per_register}", slot % per_register) for slot in slots)
                self.steps.append(Convert(name, parts, *conversion, self.task.converted_bits))
                words.append((name, units))
        return words

    def _words_of_registers(self) -> list[tuple[str, Word]]:
        """Registers whose bytes all go to the same lanes, and words gathered from the others."""
        by_register: dict[str, dict[int, int]] = defaultdict(dict)
        for unit in sorted(self.readers):
            register, byte = self._home(unit)
            by_register[register][byte] = unit
        words: list[tuple[str, Word]] = []
        loose: list[int] = []
        for register, units in by_register.items():
            destinations = {str(self.readers[unit]) for unit in units.values()}
            if len(destinations) == 1 or all(self._stays(unit) for unit in units.values()):
                words.append((register, tuple(units.get(at, -1) for at in range(self.per_word))))
            else:
                for unit in units.values():
                    if self._stays(unit):
                        for lane in range(self.period):
                            self.places[lane, unit][lane] = self._home(unit)
                    else:
                        loose.append(unit)
        gathered = 0
        for group in self._alike(loose):
            for start in range(0, len(group), self.per_word):
                word = tuple(group[start : start + self.per_word])
                name = f"w{gathered}"
                gathered += 1
                self._arrange(name, [[self._home(unit) for unit in word]])
                words.append((name, word))
        return words

    # -- between lanes ---------------------------------------------------------------------------------------

    def _groups(self, words: list[tuple[str, Word]]) -> list[list[tuple[str, Word]]]:
        """Words grouped by the registers that they feed; one group if that takes fewer shuffles."""
        if not words:
            return []
        members = list(range(len(words)))  # the group of each word
        owner: dict[int, int] = {}  # register of the target -> group
        for index, (_, units) in enumerate(words):
            registers = {at // self.per_word for unit in units if unit >= 0 for at, _ in self.goals[unit]}
            for register in registers:
                other = owner.setdefault(register, members[index])
                if other != members[index]:
                    old = members[index]
                    members = [other if group == old else group for group in members]
                    owner = {key: other if group == old else group for key, group in owner.items()}
        by_group: dict[int, list[tuple[str, Word]]] = {number: [] for number in sorted({*members})}
        for word, number in zip(words, members, strict=True):
            by_group[number].append(word)
        groups = list(by_group.values())
        shuffles = sum(len(self._rounds(group)[0]) for group in groups)
        return groups if shuffles <= len(self._rounds(words)[0]) else [words]

    def _rounds(self, words: list[tuple[str, Word]]) -> tuple[list[list[_Edge]], bool]:
        """The edges of each shuffle, and whether words that stay in their lane are shuffled too."""
        edges = [
            _Edge(lane, word, target)
            for word, (_, units) in enumerate(words)
            for lane in range(self.period)
            for target in sorted(set().union(*(self.readers[unit][lane] for unit in units if unit >= 0)))
        ]
        rounds = _coloured(edges)
        moving = _coloured([edge for edge in edges if edge.lane != edge.target])
        return (moving, False) if len(moving) < len(rounds) else (rounds, True)

    def _keep(self, words: list[tuple[str, Word]]) -> None:
        """Select words that lanes keep for themselves, in as few registers as the busiest lane needs."""
        kept_words = [
            [
                word
                for word, (_, units) in enumerate(words)
                if any(unit >= 0 and lane in self.readers[unit][lane] for unit in units)
            ]
            for lane in range(self.period)
        ]
        for number in range(max(map(len, kept_words))):
            kept = {
                lane: lane_words[number]
                for lane, lane_words in enumerate(kept_words)
                if number < len(lane_words)
            }
            source = self._selected(words, kept, f"k{sum(isinstance(step, Select) for step in self.steps)}")
            for lane, word in kept.items():
                for position, unit in enumerate(words[word][1]):
                    if unit >= 0 and lane in self.readers[unit][lane]:
                        self.places[lane, unit][lane] = source, position

    def _selected(self, words: list[tuple[str, Word]], chosen: dict[int, int], name: str) -> str:
        """The register in which each of these lanes has the word it chose."""
        usual = Counter(chosen.values()).most_common(1)[0][0]
        used = sorted({*chosen.values()})
        if len(used) == 1:
            return words[usual][0]
        choices = tuple(used.index(chosen.get(lane, usual)) for lane in range(self.period))
        self.steps.append(Select(name, tuple(words[word][0] for word in used), choices))
        return name

    def _exchange(self, words: list[tuple[str, Word]]) -> None:
        rounds, includes_staying = self._rounds(words)
        if not includes_staying:
            self._keep(words)
        for edges in rounds:
            number = sum(isinstance(step, Shuffle) for step in self.steps)
            source = self._selected(words, {edge.lane: edge.word for edge in edges}, f"x{number}")
            lanes = {edge.target: edge.lane for edge in edges}
            received = f"y{number}"
            self.steps.append(
                Shuffle(received, source, tuple(lanes.get(lane, lane) for lane in range(self.period)))
            )
            for edge in edges:
                for position, unit in enumerate(words[edge.word][1]):
                    if unit >= 0 and edge.target in self.readers[unit][edge.lane]:
                        self.places[edge.lane, unit][edge.target] = received, position

    # -- from words to the target ----------------------------------------------------------------------------

    def _assemble(self) -> None:
        shift = self.task.shift
        stem = "out" if self.task.converts_first or self.task.conversion is None else "m"
        size = self.byte_unit.shape[1]
        registers = []
        for start in range(0, size, self.per_word):
            registers.append(
                [
                    [
                        self.places[int(self.byte_lane[lane, at]), int(self.byte_unit[lane, at])][lane]
                        for at in range(start, min(start + self.per_word, size))
                    ]
                    for lane in range(self.period)
                ]
            )
        registers = [self._of_two(places) for places in registers]
        if self.grain == 8:
            for first in range(0, len(registers), 2):
                registers[first : first + 2] = self._merged(registers[first : first + 2])
        for number, places in enumerate(registers):
            name = f"{stem}{number}"
            self._arrange(f"z{number}" if shift else name, places)
            if shift:
                self.steps.append(Shift(name, f"z{number}", shift))
        if stem == "m" and self.task.conversion is not None:  # wider elements are converted after they arrive
            per_register = 32 // self.task.moved_bits
            for slot in range(self.from_slot.shape[1]):
                part = Part(f"m{slot // per_register}", slot % per_register)
                conversion = *self.task.conversion, self.task.converted_bits
                self.steps.append(Convert(f"out{slot}", (part,), *conversion))

    def _of_two(self, places: _Places) -> _Places:
        """The same register from two selected ones, if each lane needs two, but not all the same two."""
        used = [list(dict.fromkeys(name for name, _ in lane)) for lane in places]
        names = sorted({name for lane in used for name in lane})
        if len(names) < 3 or {*map(len, used)} != {2}:
            return places
        picked = []
        for which in range(2):
            table = tuple(lane[which] for lane in used)
            if table not in self.selected:
                sources = tuple(sorted({*table}))
                self.selected[table] = sources[0]
                if len(sources) > 1:
                    self.selected[table] = f"v{len(self.selected)}"
                    choices = tuple(sources.index(name) for name in table)
                    self.steps.append(Select(self.selected[table], sources, choices))
            picked.append(self.selected[table])
        return [
            [(picked[names.index(name)], byte) for name, byte in lane]
            for lane, names in zip(places, used, strict=True)
        ]

    def _merged(self, registers: list[_Places]) -> list[_Places]:
        """Two registers made of bytes of three or four others, which are first gathered in pairs.

        That takes four permutes instead of six.
        """
        names = list(dict.fromkeys(name for places in registers for lane in places for name, _ in lane))
        if len(registers) < 2 or len(names) not in (3, 4):
            return registers
        for pair in (names[:2], names[2:]):
            if len(pair) < 2:
                continue
            needed = [
                list(
                    dict.fromkeys(place for places in registers for place in places[lane] if place[0] in pair)
                )
                for lane in range(self.period)
            ]
            if max(map(len, needed)) > 4 or len({*map(len, needed)}) > 1:
                return registers
            merged = self._temporary()
            self._permute(merged, needed)
            registers = [
                [
                    [
                        (merged, needed[lane].index(place)) if place[0] in pair else place
                        for place in places[lane]
                    ]
                    for lane in range(self.period)
                ]
                for places in registers
            ]
        return registers

    def _temporary(self) -> str:
        return f"t{sum(isinstance(step, Permute) for step in self.steps)}"

    def _arrange(self, target: str, places: _Places) -> None:
        """A register whose bytes, or halves of bytes, lie in these registers, [lanes][bytes or halves]."""
        if self.grain == 8:
            self._permute(target, places)
            return
        whole = _whole_bytes(places)
        if whole is not None:
            self._permute(target, whole)
            return
        # Of the halves that prmt gathers as bytes, `Merge` keeps the lower or the upper ones.
        merges = sum(isinstance(step, Merge) for step in self.steps)
        parts = [f"n{2 * merges}", f"n{2 * merges + 1}"]
        for upper in range(2):
            halves = [
                [
                    (name if at % 2 == upper else self._moved_half(name, upper), at // 2)
                    for name, at in lane[upper::2]
                ]
                for lane in places
            ]
            self._permute(parts[upper], halves)
        self.steps.append(Merge(target, parts[0], parts[1], _LOWER_HALVES))

    def _moved_half(self, name: str, upper: int) -> str:
        """A register with the halves of its bytes moved up, or down."""
        key = name, _HALF if upper else -_HALF
        if key not in self.shifted:
            self.shifted[key] = f"s{len(self.shifted)}"
            self.steps.append(Shift(self.shifted[key], *key))
        return self.shifted[key]

    def _permute(self, target: str, places: _Places) -> None:
        """A register whose bytes lie in these registers, [lanes][bytes]."""
        names = list(dict.fromkeys(name for lane in places for name, _ in lane))
        if len(names) == 1 and all(byte == at for lane in places for at, (_, byte) in enumerate(lane)):
            self.steps.append(Rename(target, names[0]))
            return
        first, settled = names[0], {names[0]}
        for number, second in enumerate(names[1:] or names):
            selectors = []
            for lane in places:
                selector = 0
                for at in range(4):
                    name, byte = lane[at] if at < len(lane) else (first, at)
                    if number == 0 and name in settled:
                        selector |= byte << 4 * at
                    elif name == second:
                        selector |= byte + 4 << 4 * at
                    else:
                        selector |= at << 4 * at
                selectors.append(selector)
            last = number == len(names[1:] or names) - 1
            result = target if last else self._temporary()
            self.steps.append(Permute(result, first, second, tuple(selectors)))
            first = result


def _whole_bytes(places: _Places) -> _Places | None:
    """The same register by bytes, where the two halves of each byte lie together and in order."""
    rows = []
    for lane in places:
        pairs = list(zip(lane[::2], lane[1::2], strict=len(lane) % 2 == 0))
        if len(lane) % 2 or any(
            low[0] != high[0] or low[1] % 2 or high[1] != low[1] + 1 for low, high in pairs
        ):
            return None
        rows.append([(name, at // 2) for (name, at), _ in pairs])
    return rows


def _period(lanes: NDArray[np.int64], slots: NDArray[np.int64]) -> int:
    """The smallest number of lanes, a power of two, that exchange among themselves and repeat."""
    total = len(lanes)
    period = 1
    while period < total:
        blocks = lanes.reshape(total // period, period, -1)
        inside = blocks - np.arange(0, total, period)[:, None, None]
        same_slots = slots.reshape(blocks.shape)
        closed = (inside >= 0).all() and (inside < period).all()
        if closed and (inside == inside[0]).all() and (same_slots == same_slots[0]).all():
            return period
        period *= 2
    return total


def _coloured(edges: Sequence[_Edge]) -> list[list[_Edge]]:
    """Edges by shuffle: in each a lane sends one word and receives one.

    First come, first served; where that takes more shuffles than the busiest lane has words, edges are
    exchanged along alternating paths, which never does (König).
    """
    rounds: list[list[_Edge]] = []
    receivers: list[set[int]] = []  # of each round
    senders: list[dict[int, int]] = []  # lane -> the word that it sends
    for edge in sorted(edges, key=lambda candidate: (candidate.target, candidate.lane, candidate.word)):
        for colour, words in enumerate(senders):
            if edge.target not in receivers[colour] and words.get(edge.lane, edge.word) == edge.word:
                break
        else:
            colour = len(rounds)
            rounds.append([])
            receivers.append(set())
            senders.append({})
        rounds[colour].append(edge)
        receivers[colour].add(edge.target)
        senders[colour][edge.lane] = edge.word
    sent = Counter(edge.lane for edge in edges)
    received = Counter(edge.target for edge in edges)
    most = max([*sent.values(), *received.values()], default=0)
    return rounds if len(rounds) <= most else _recoloured(edges, most)


def _recoloured(edges: Sequence[_Edge], colours: int) -> list[list[_Edge]]:
    sender: dict[tuple[int, int], _Edge] = {}  # (lane, colour) -> edge
    receiver: dict[tuple[int, int], _Edge] = {}
    for edge in edges:
        free = next(colour for colour in range(colours) if (edge.lane, colour) not in sender)
        other = next(colour for colour in range(colours) if (edge.target, colour) not in receiver)
        # Free both ends of `free`: along the path of edges that are `free` and `other` in turn, swap the two.
        path: list[tuple[_Edge, int]] = []
        lane, colour, at_receiver = edge.target, free, True
        while True:
            following = (receiver if at_receiver else sender).get((lane, colour))
            if following is None:
                break
            path.append((following, colour))
            lane = following.lane if at_receiver else following.target
            colour = other if colour == free else free
            at_receiver = not at_receiver
        for old, colour in path:
            del sender[old.lane, colour], receiver[old.target, colour]
        for old, colour in path:
            swapped = other if colour == free else free
            sender[old.lane, swapped] = receiver[old.target, swapped] = old
        sender[edge.lane, free] = receiver[edge.target, free] = edge
    rounds: list[list[_Edge]] = [[] for _ in range(colours)]
    for (_, colour), edge in sender.items():
        rounds[colour].append(edge)
    return rounds


def _tidy(steps: list[PlanStep]) -> tuple[PlanStep, ...]:
    """Drop renames of results: the step that computes a result names it directly."""
    uses = Counter(name for step in steps for name in registers_read(step))
    renamed = {
        step.source: step.target
        for step in steps
        if isinstance(step, Rename) and not step.source.startswith("in") and uses[step.source] == 1
    }
    kept = [step for step in steps if not (isinstance(step, Rename) and step.source in renamed)]
    return tuple(replace(step, target=renamed.get(step.target, step.target)) for step in kept)
