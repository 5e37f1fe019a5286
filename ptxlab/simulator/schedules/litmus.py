"""Litmus tests: which outcomes the memory consistency model of PTX allows, exactly.

A litmus test is a few threads of a few instructions each, without branches. Every candidate execution is
built: which write each read reads from, in which order the writes of a location and the `fence.sc` come.
Those that meet the axioms are the allowed ones. PTX ISA, "Memory Consistency Model"; the axioms as in Lustig,
Sahasrabuddhe, Giroux, "A Formal Analysis of the NVIDIA PTX Memory Consistency Model", ASPLOS 2019.

>>> test = litmus_test(["st.relaxed.gpu.u32 [x], 1; ld.relaxed.gpu.u32 a, [y];",
...                     "st.relaxed.gpu.u32 [y], 1; ld.relaxed.gpu.u32 b, [x];"])
>>> test.allows(a=0, b=0), test.allows(a=0, b=0, x=0)
(True, False)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from ...errors import PtxlabError, quoted

#: A thread's cluster and block.
Place = tuple[int, int]
Relation = frozenset[tuple[int, int]]
_LINE = re.compile(r"(?P<opcode>[a-z_]+(?:\.[a-z0-9_]+)*)\s*(?P<operands>[^;]*)")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_FENCES = ("sc", "acq_rel", "acquire", "release")
_MEMBARS = {"cta": "cta", "gl": "gpu", "sys": "sys"}


@dataclass(frozen=True)
class Event:
    """An instruction of a thread, or the initial write of a location (thread -1)."""

    number: int
    thread: int
    place: Place | None
    name: str  # "ld", "st", "atom", "red", "fence", "bar"
    semantics: str = "weak"
    scope: str = ""
    location: str = ""
    register: str = ""  # that it writes
    update: str = ""  # of an atomic operation: "add", "exch", ...
    values: tuple[int | str, ...] = ()  # numbers, or registers of the thread

    @property
    def reads(self) -> bool:
        """Whether it reads memory."""
        return self.name in ("ld", "atom", "red")

    @property
    def writes(self) -> bool:
        """Whether it writes memory."""
        return self.name in ("st", "atom", "red")

    def includes(self, other: Event) -> bool:
        """Whether it is strong, and its scope includes the other's thread."""
        if self.semantics == "weak" or self.place is None or other.place is None:
            return False
        same = {"cta": self.place == other.place, "cluster": self.place[0] == other.place[0]}
        return same.get(self.scope, True)


def _event(number: int, thread: int, place: Place, text: str) -> Event:
    """An instruction from its text."""
    match = _LINE.fullmatch(text.strip())
    if match is None:
        raise PtxlabError(f"litmus test: {quoted(text)} is no instruction")
    name, *parts = match["opcode"].split(".")
    operands = [operand.strip() for operand in match["operands"].split(",") if operand.strip()]
    scope = next((part for part in parts if part in _SCOPES), "")
    if name in ("fence", "membar"):
        semantics = next((part for part in parts if part in _FENCES), "acq_rel")
        if name == "membar":  # a synonym of fence.sc
            semantics, scope = "sc", next(_MEMBARS[part] for part in parts if part in _MEMBARS)
        return Event(number, thread, place, "fence", semantics, scope or "gpu")
    if name == "bar":
        return Event(number, thread, place, "bar", "bar", "cta")
    if name not in ("ld", "st", "atom", "red"):
        raise PtxlabError(f"litmus test: {quoted(text)}: ld, st, atom, red, fence, membar and bar are known")
    location = next(operand[1:-1] for operand in operands if operand.startswith("["))
    register = operands[0] if name in ("ld", "atom") else ""
    others = [operand for operand in operands if not operand.startswith("[") and operand != register]
    values = tuple(int(operand) if operand.lstrip("-").isdigit() else operand for operand in others)
    atomic = name in ("atom", "red")
    strong = next((part for part in parts if part in ("relaxed", *_FENCES)), "relaxed" if atomic else "weak")
    if "volatile" in parts:  # as relaxed, of the whole system
        strong, scope = "relaxed", "sys"
    update = next((part for part in parts if part in ("add", "inc", "exch", "cas", "max")), "")
    return Event(number, thread, place, name, strong, scope or "gpu", location, register, update, values)


def litmus_test(threads: Sequence[str], places: Sequence[Place] | None = None) -> LitmusTest:
    """A test from the text of its threads; `places` are their clusters and blocks, each its own if none."""
    places = [(number, number) for number in range(len(threads))] if places is None else list(places)
    texts = [
        (thread, place, line)
        for thread, (text, place) in enumerate(zip(threads, places, strict=True))
        for line in text.split(";")
        if line.strip()
    ]
    events = [_event(number, thread, place, line) for number, (thread, place, line) in enumerate(texts)]
    locations = sorted({event.location for event in events if event.location})
    initial = [
        Event(len(events) + number, -1, None, "st", "weak", "sys", location, values=(0,))
        for number, location in enumerate(locations)
    ]
    return LitmusTest(tuple(events), tuple(initial))


@dataclass(frozen=True)
class LitmusTest:
    """Instructions of some threads, and the initial writes of their locations."""

    instructions: tuple[Event, ...]
    initial: tuple[Event, ...]

    def allows(self, **values: int) -> bool:
        """Whether an execution ends with these values of registers and locations."""
        return any(values.items() <= dict(outcome).items() for outcome in self.outcomes)

    @cached_property
    def outcomes(self) -> frozenset[tuple[tuple[str, int], ...]]:
        """All that registers and locations may be in the end, as sorted pairs."""
        found: set[tuple[tuple[str, int], ...]] = set()
        for execution in self._executions():
            found.update(execution)
        return frozenset(found)

    # -- candidate executions --------------------------------------------------------------------------------

    def _executions(self) -> Iterator[set[tuple[tuple[str, int], ...]]]:
        events = (*self.instructions, *self.initial)
        reads = [event for event in events if event.reads]
        writes = {
            event.location: [other for other in events if other.writes and other.location == event.location]
            for event in self.initial
        }
        choices = [[w for w in writes[read.location] if w is not read] for read in reads]
        for chosen in product(*choices):
            source = {read.number: write.number for read, write in zip(reads, chosen, strict=True)}
            values = self._values(source)
            if values is None:  # out of thin air
                continue
            for coherence, causes in self._orders(source, writes):
                if not self._meets_axioms(source, coherence, causes):
                    continue
                last = [
                    [w for w in writes[event.location] if not any(a == w.number for a, _ in coherence)]
                    for event in self.initial
                ]
                registers = {e.register: values[e.number][0] for e in events if e.register}
                yield {
                    tuple(sorted({**registers, **{w.location: values[w.number][1] for w in final}}.items()))
                    for final in product(*last)
                }

    def _values(self, source: dict[int, int]) -> dict[int, tuple[int, int]] | None:
        """What each event reads and writes; None if values depend on themselves."""
        events = {event.number: event for event in (*self.instructions, *self.initial)}
        values: dict[int, tuple[int, int]] = {}
        visiting: set[int] = set()

        def operand(event: Event, value: int | str) -> int | None:
            if isinstance(value, int):
                return value
            for other in reversed(self.instructions[: event.number]):
                if other.thread == event.thread and other.register == value:
                    return values[other.number][0] if visit(other) else None
            raise PtxlabError(f"litmus test: nothing before it writes the register {quoted(value)}")

        def visit(event: Event) -> bool:
            if event.number in values:
                return True
            if event.number in visiting:
                return False
            visiting.add(event.number)
            old = 0
            if event.reads:
                if not visit(events[source[event.number]]):
                    return False
                old = values[source[event.number]][1]
            operands = [operand(event, value) for value in event.values]
            if any(value is None for value in operands):
                return False
            values[event.number] = old, _written(event, old, [value or 0 for value in operands])
            visiting.discard(event.number)
            return True

        return values if all(visit(event) for event in events.values()) else None

    def _orders(
        self, source: dict[int, int], writes: dict[str, list[Event]]
    ) -> Iterator[tuple[Relation, Relation]]:
        """Coherence orders, each with the base causality order of an order of the `fence.sc`."""
        fences = [event for event in self.instructions if (event.name, event.semantics) == ("fence", "sc")]
        pairs = [(a, b) for a, b in combinations(fences, 2) if morally_strong(a, b)]
        synchronises = self._synchronises(source)
        for directions in product((False, True), repeat=len(pairs)):
            order = {
                (b.number, a.number) if turned else (a.number, b.number)
                for (a, b), turned in zip(pairs, directions, strict=True)
            }
            base = _closure(self._program_order | synchronises | order)
            if not _is_acyclic(order) or any((b, a) in base for a, b in order):
                continue
            for coherence in self._coherence_orders(source, writes, base):
                yield coherence, base

    def _coherence_orders(
        self, source: dict[int, int], writes: dict[str, list[Event]], base: Relation
    ) -> Iterator[Relation]:
        """Orders of the writes of each location: those that must be ordered are, others are not."""
        fixed: set[tuple[int, int]] = set()
        open_pairs: list[tuple[int, int]] = []
        causes = self._causality(source, base)
        for events in writes.values():
            for a, b in combinations(events, 2):
                first, second = (a.number, b.number), (b.number, a.number)
                if a.thread < 0 or first in causes:
                    fixed.add(first)
                if b.thread < 0 or second in causes:
                    fixed.add(second)
                if not {first, second} & fixed and morally_strong(a, b):
                    open_pairs.append(first)
        for directions in product((False, True), repeat=len(open_pairs)):
            chosen = {
                (b, a) if turned else (a, b) for (a, b), turned in zip(open_pairs, directions, strict=True)
            }
            closed = _closure(fixed | chosen)
            if not any(a == b for a, b in closed):
                yield closed

    # -- relations -------------------------------------------------------------------------------------------

    @cached_property
    def _program_order(self) -> Relation:
        return frozenset(
            (a.number, b.number) for a, b in combinations(self.instructions, 2) if a.thread == b.thread
        )

    def _observes(self, source: dict[int, int]) -> Relation:
        """Observation order: from a write to a read of it, also through atomic operations."""
        events = (*self.instructions, *self.initial)
        direct = {(w, r) for r, w in source.items() if morally_strong(events[w], events[r])}
        return _closure(direct)

    def _synchronises(self, source: dict[int, int]) -> Relation:
        """Release patterns and the acquire patterns that read from them; barriers of a block."""
        observed = self._observes(source)
        releases = [(first, write) for write in self.instructions for first in self._released_by(write)]
        acquires = [(read, last) for read in self.instructions for last in self._acquired_by(read)]
        pairs = {
            (first.number, last.number)
            for first, write in releases
            for read, last in acquires
            if (write.number, read.number) in observed and morally_strong(first, last)
        }
        barriers = [event for event in self.instructions if event.name == "bar"]
        counts = {
            event.number: sum(other.thread == event.thread for other in barriers[:position])
            for position, event in enumerate(barriers)
        }
        for a, b in product(barriers, repeat=2):
            together = a.place == b.place and counts[a.number] == counts[b.number]
            if together and a.thread != b.thread:
                pairs.add((a.number, b.number))
        return frozenset(pairs)

    def _released_by(self, write: Event) -> Iterator[Event]:
        """The first operations of the release patterns that end with a write."""
        if not write.writes or write.semantics == "weak":
            return
        for first in self.instructions[: write.number + 1]:
            if first.thread != write.thread:
                continue
            releases = first.semantics in ("release", "acq_rel", "sc")
            if releases and (first.name == "fence" or (first.writes and first.location == write.location)):
                yield first

    def _acquired_by(self, read: Event) -> Iterator[Event]:
        """The last operations of the acquire patterns that begin with a read; reductions begin none."""
        if not read.reads or read.name == "red" or read.semantics == "weak":
            return
        for last in self.instructions[read.number :]:
            if last.thread != read.thread:
                continue
            acquires = last.semantics in ("acquire", "acq_rel", "sc") and last.name != "red"
            if acquires and (last.name == "fence" or (last.reads and last.location == read.location)):
                yield last

    def _causality(self, source: dict[int, int], base: Relation) -> Relation:
        """Causality order between operations on the same location, without the initial writes."""
        events = self.instructions
        same = {(a, b) for a, b in base if events[a].location and events[a].location == events[b].location}
        observed = self._observes(source)
        return frozenset(same | {(a, c) for a, b in observed for b2, c in same if b == b2})

    # -- axioms ----------------------------------------------------------------------------------------------

    def _meets_axioms(self, source: dict[int, int], coherence: Relation, base: Relation) -> bool:
        events = (*self.instructions, *self.initial)
        causes = self._causality(source, base)
        writes = [event.number for event in events if event.writes]
        # Causality: no read from a write behind it, and none past a write before it.
        for read, write in source.items():
            if (read, write) in causes:
                return False
            if any((other, read) in causes and (write, other) in coherence for other in writes):
                return False
        # Coherence.
        for a, b in causes:
            if events[a].writes and events[b].writes and a != b and (a, b) not in coherence:
                return False
        before = {
            (read, after)
            for read, write in source.items()
            for first, after in coherence
            if first == write and after != read
        }
        # Atomicity: no write comes between what an atomic operation reads and what it writes.
        for read, after in before:
            if (
                events[read].writes
                and (after, read) in coherence
                and morally_strong(events[after], events[read])
            ):
                return False
        # Sequential consistency for each location.
        communicates = {(write, read) for read, write in source.items()} | coherence | before
        strong = {(a, b) for a, b in communicates if morally_strong(events[a], events[b])}
        ordered = {
            (a, b)
            for a, b in self._program_order
            if events[a].location and events[a].location == events[b].location
        }
        return _is_acyclic(strong | ordered)


def morally_strong(a: Event, b: Event) -> bool:
    """Whether two operations are of one thread, or strong with scopes that include each other."""
    if a.location and b.location and a.location != b.location:
        return False
    if a.thread < 0 or b.thread < 0:  # the start of a kernel synchronises with all threads
        return True
    return a.thread == b.thread or (a.includes(b) and b.includes(a))


def _written(event: Event, old: int, values: list[int]) -> int:
    """What an event writes."""
    if event.name == "ld":
        return old
    if event.update == "cas":
        return values[1] if old == values[0] else old
    results = {"add": old + sum(values), "inc": old + 1, "max": max(old, *values, 0)}
    return results.get(event.update, values[0] if values else 0)


def _closure(pairs: set[tuple[int, int]] | Relation) -> Relation:
    """The transitive closure."""
    following: dict[int, set[int]] = {}
    for a, b in pairs:
        following.setdefault(a, set()).add(b)
    for middle in list(following):
        for reached in following.values():
            if middle in reached:
                reached |= following[middle]
    return frozenset((a, b) for a, reached in following.items() for b in reached)


def _is_acyclic(pairs: set[tuple[int, int]] | Relation) -> bool:
    return not any(a == b for a, b in _closure(pairs))
