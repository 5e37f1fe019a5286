"""Who waits for whom: what a launch that cannot go on says about each of its warps.

`HazardError.waiting` has it. It is put together once, when nothing can run any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .launch_threads import Batch, Threads
from .ptx.dataflow import successors
from .ptx.syntax import Function, PtxInstruction, PtxOperand, registers_of, symbols_of

Block = tuple[int, int, int]
_MAX_SHOWN = 6  # rows of the picture for one thing that is waited for
_MAX_NAMED = 64  # warps of a row that are named one by one
_MAX_GROUPS = 16  # things at one instruction that warps wait for, e.g. the barriers of as many blocks


@dataclass(frozen=True)
class Awaited:
    """What threads wait for: how many arrivals and bytes it has, and how many it expects.

    `phase` is the parity of the phase that an mbarrier is in, `parity` the one that its waiters gave.
    `block` is the block that it belongs to, `variable` its name in the PTX. `sentence` says it in words.
    """

    kind: Literal["barrier", "cluster barrier", "mbarrier", "lanes", "value", "registers"]
    name: str
    sentence: str
    block: Block | None = None
    address: int | None = None
    arrived: int | None = None
    expected: int | None = None
    bytes_arrived: int | None = None
    bytes_expected: int | None = None
    phase: int | None = None
    parity: int | None = None
    variable: str = ""

    @property
    def state(self) -> str:
        """Arrivals, bytes and phase, for the picture."""
        parts = []
        if self.phase is not None:
            waited = "" if self.parity is None else f", awaited parity {self.parity}"
            parts.append(f"in phase {self.phase}{waited}")
        if self.expected is not None:
            what = "registers" if self.kind == "registers" else "arrivals"
            parts.append(f"{self.arrived} of {self.expected} {what}")
        if self.bytes_expected or self.bytes_arrived:
            parts.append(f"{self.bytes_arrived} of {self.bytes_expected} bytes")
        return ", ".join(parts)


@dataclass(frozen=True)
class Missing:
    """Warps that have not arrived, as (block, number): where they are, and why they do not come.

    `arrives` says whether they would, once they can go on.
    """

    warps: tuple[tuple[Block, int], ...]
    state: Literal["ended", "waits", "not begun"]
    line: int
    why: str
    arrives: bool = False
    count: int = 0  # of warps, if not all are named


@dataclass(frozen=True)
class WaitingWarp:
    """One warp that waits: its lanes, where it stands, what it waits for, and who has not arrived there."""

    block: Block
    warp: int
    lanes: tuple[int, ...]
    line: int
    ptx_line: int
    where: str
    opcode: str
    awaited: Awaited
    missing: tuple[Missing, ...]
    group: int  # warps that wait for the same at the same instruction have the same number


@dataclass(frozen=True)
class Waiting:
    """All warps that wait when a launch cannot go on; printed, it is a picture.

    `cycle` has the groups that wait for each other in a ring, each for the next; it is empty without one.
    `more` is how many further warps wait, in other blocks at the same instructions.
    """

    warps: tuple[WaitingWarp, ...] = ()
    cycle: tuple[int, ...] = ()
    more: int = 0

    def __len__(self) -> int:
        return len(self.warps)

    def __iter__(self) -> Iterator[WaitingWarp]:
        return iter(self.warps)

    def __getitem__(self, number: int) -> WaitingWarp:
        return self.warps[number]

    def json(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return asdict(self)

    def __str__(self) -> str:
        groups: dict[int, list[WaitingWarp]] = {}
        for warp in self.warps:
            groups.setdefault(warp.group, []).append(warp)
        names = {
            number: warps_text([(warp.block, warp.warp) for warp in warps])
            for number, warps in groups.items()
        }
        lines = ["who waits for whom:"] if groups else []
        for number, warps in groups.items():
            first = warps[0]
            state = f" ({first.awaited.state})" if first.awaited.state else ""
            lines.append(f"  {names[number]} at {first.where} ({first.opcode})")
            lines.append(f"    wait for {first.awaited.name}{state}")
            for missing in first.missing[:_MAX_SHOWN]:
                lines.append(f"      {warps_text(missing.warps, missing.count)}: {missing.why}")
            if len(first.missing) > _MAX_SHOWN:
                lines.append(f"      ... and {len(first.missing) - _MAX_SHOWN} more places")
        if self.more:
            lines.append(f"  and {self.more} more warps of other blocks at these instructions")
        if self.cycle:
            ring = [f"{names[number]} ({groups[number][0].where})" for number in self.cycle]
            lines.append(f"  a ring: {' -> '.join([*ring, ring[0]])}")
        return "\n".join(lines)


def warps_text(warps: Sequence[tuple[Block, int]], count: int = 0) -> str:
    """Warps of a launch for a row.

    >>> warps_text([((0, 0, 0), 0), ((0, 0, 0), 1), ((0, 0, 0), 2), ((0, 0, 0), 5)])
    'block (0, 0, 0), warps 0-2, 5'
    >>> warps_text([((0, 0, 0), 0), ((1, 0, 0), 0)], 40)
    '40 warps from block (0, 0, 0), warp 0, on'
    """
    blocks = {block for block, _ in warps}
    if not warps:
        return "nobody"
    if len(blocks) > 1 or count > len(warps):
        return f"{max(count, len(warps))} warps from block {warps[0][0]}, warp {warps[0][1]}, on"
    runs: list[list[int]] = []
    for number in sorted({number for _, number in warps}):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts = [str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    noun = "warp" if len(runs) == 1 and len(runs[0]) == 1 else "warps"
    return f"block {warps[0][0]}, {noun} {', '.join(texts)}"


# -- from the state of a machine -----------------------------------------------------------------------------


class StuckThreads(NamedTuple):
    """Threads that wait at an instruction, the functions on their stack, and what some of them wait for."""

    instruction: PtxInstruction
    threads: Threads
    stack: Sequence[tuple[Function, int]]  # each function, and the instruction at which they are in it
    awaited: Callable[[Threads], Awaited]


class BarrierEvent(NamedTuple):
    """Arrivals and bytes at mbarriers: their blocks and addresses, and in which of them a phase ended."""

    instruction: PtxInstruction
    threads: Threads
    blocks: NDArray[np.int64]
    addresses: NDArray[np.int64]
    bytes: NDArray[Any]
    ended: NDArray[np.bool_]


def phase_bytes(events: Iterable[BarrierEvent], block: int, address: int) -> tuple[int, int]:
    """Bytes that an mbarrier's current phase expects, and those that have come, from the last events."""
    expected = arrived = 0
    for event in reversed(list(events)):
        here = (event.blocks == block) & (event.addresses == address)
        if event.ended[here].any():
            break
        change = event.bytes[here]
        expected += int(change[change > 0].sum())
        arrived -= int(change[change < 0].sum())
    return expected, arrived


@dataclass
class _Group:
    """Threads that wait for the same thing at the same instruction."""

    stuck: StuckThreads
    awaited: Awaited
    warps: dict[int, list[int]] = field(default_factory=dict)  # of the batch, with their lanes
    missing: list[Missing] = field(default_factory=list)
    next: set[int] = field(default_factory=set)  # groups that would arrive, if they went on


def who_waits(
    batch: Batch,
    stuck: Sequence[StuckThreads],
    exits: Sequence[tuple[PtxInstruction | None, Threads]],
    events: Sequence[BarrierEvent],
    begun: int,
) -> Waiting:
    """All warps of a batch that wait, and why those that they wait for do not come.

    `exits` says where threads have ended, `events` what happened last at mbarriers, and `begun` how many
    blocks of the batch have begun.
    """
    groups: list[_Group] = []
    more = 0
    for threads_here in stuck:
        here, left_out = _groups_at(batch, threads_here)
        groups += here
        more += left_out
    ends: dict[int, PtxInstruction | None] = {
        warp: instruction
        for instruction, threads in exits
        for warp in np.unique(threads.indices >> 5).tolist()
    }
    addresses: dict[PtxInstruction, set[tuple[int, int]]] = {}
    for event in events:
        seen = addresses.setdefault(event.instruction, set())
        seen.update(zip(event.blocks.tolist(), event.addresses.tolist(), strict=True))
    for group in groups:
        candidates = _candidates(batch, group)
        rows = _who_also_waits(batch, group, groups, candidates, addresses)
        rows += _who_has_ended(batch, candidates, ends)
        later = range(begun * batch.block_lanes // 32, batch.size // 32)
        if group.awaited.kind == "value" and later:
            text = "have not begun; their blocks begin only when others have ended"
            rows.append(Missing(_named(batch, later), "not begun", 0, text, True, len(later)))
        group.missing = _merged(rows)
    waiting = tuple(
        WaitingWarp(
            *_place(batch, warp),
            lanes=tuple(lanes),
            line=group.stuck.instruction.source_line,
            ptx_line=group.stuck.instruction.line,
            where=group.stuck.instruction.where,
            opcode=group.stuck.instruction.opcode,
            awaited=group.awaited,
            missing=tuple(group.missing),
            group=number,
        )
        for number, group in enumerate(groups)
        for warp, lanes in sorted(group.warps.items())
    )
    return Waiting(waiting, _ring([group.next for group in groups]), more)


def _groups_at(batch: Batch, stuck: StuckThreads) -> tuple[list[_Group], int]:
    """The threads at one instruction by what they wait for, and how many warps have no place among these."""
    groups: dict[Awaited, _Group] = {}
    left_out = 0
    indices = stuck.threads.indices
    warps, starts = np.unique(indices >> 5, return_index=True)
    for warp, lanes in zip(warps.tolist(), np.split(indices, starts[1:]), strict=True):
        threads = Threads.listed(batch, lanes)
        # A set of lanes may be split over two mbarriers; the first lane stands for its warp.
        awaited = stuck.awaited(threads)
        if awaited not in groups and len(groups) == _MAX_GROUPS:
            left_out += 1
            continue
        group = groups.setdefault(awaited, _Group(stuck, awaited))
        group.warps[warp] = (threads.indices & 31).tolist()
    return list(groups.values()), left_out


def _candidates(batch: Batch, group: _Group) -> set[int]:
    """The warps that may be waited for: of the warp, the block, the cluster or the whole batch."""
    kind, first = group.awaited.kind, min(group.warps)
    if kind == "lanes":
        return set(group.warps)
    if kind == "value":
        return set(range(batch.size // 32))
    size = batch.block_lanes // 32
    if kind not in ("barrier", "registers"):
        size *= batch.grid.cluster_size
    return set(range(first // size * size, (first // size + 1) * size))


def _who_also_waits(
    batch: Batch,
    group: _Group,
    groups: Sequence[_Group],
    candidates: set[int],
    addresses: Mapping[PtxInstruction, set[tuple[int, int]]],
) -> list[Missing]:
    """Warps that wait themselves; those that would come after that are the group's `next`."""
    awaited = group.awaited
    rows: list[Missing] = []
    owner = _owner(batch, awaited)
    for number, other in enumerate(groups):
        if awaited.kind == "lanes" and other is group:
            continue
        alike = other.awaited == awaited and awaited.kind != "lanes"
        if alike and awaited.kind in ("barrier", "cluster barrier"):
            continue  # they have arrived
        warps = candidates & set(other.warps)
        comes = any(
            _arrives(function, function.instructions[index], group, owner, addresses)
            for function, start in other.stuck.stack
            for index in _ahead(function, start)
        )
        if not warps or (alike and not comes):
            continue
        what = "itself" if other is group and len(warps) == 1 else other.awaited.name
        why = f"wait at {other.stuck.instruction.where} for {what}"
        why += ", and would come after that" if comes else ", and do not come here after that"
        line = other.stuck.instruction.source_line
        rows.append(Missing(_named(batch, warps), "waits", line, why, comes, len(warps)))
        if comes:
            group.next.add(number)
    return rows


def _arrives(
    function: Function,
    instruction: PtxInstruction,
    group: _Group,
    owner: int,
    addresses: Mapping[PtxInstruction, set[tuple[int, int]]],
) -> bool:
    """Whether an instruction may be what a group waits for, by what it named before or by its variables."""
    awaited = group.awaited
    if awaited.kind == "lanes":
        return instruction is group.stuck.instruction
    if not _may_arrive(instruction, awaited):
        return False
    if awaited.kind != "mbarrier" or (owner, awaited.address) in addresses.get(instruction, ()):
        return True
    variables = _variables(function, instruction.operands)
    return not (variables and awaited.variable) or awaited.variable in variables


def _who_has_ended(
    batch: Batch, candidates: set[int], ends: Mapping[int, PtxInstruction | None]
) -> list[Missing]:
    """Warps that have ended, by the instruction at which they did."""
    ended: dict[PtxInstruction | None, set[int]] = {}
    for warp in candidates & set(ends):
        ended.setdefault(ends[warp], set()).add(warp)
    rows = []
    for instruction, warps in ended.items():
        where = "the end of the kernel" if instruction is None else instruction.where
        line = 0 if instruction is None else instruction.source_line
        rows.append(Missing(_named(batch, warps), "ended", line, f"have ended at {where}", False, len(warps)))
    return rows


def _merged(rows: Iterable[Missing]) -> list[Missing]:
    """One row for each reason: those that have ended, have not begun, and wait."""
    merged: dict[str, Missing] = {}
    for row in sorted(rows, key=lambda row: row.state):
        same = merged.get(row.why, replace(row, warps=(), count=0))
        warps = (*same.warps, *row.warps)[:_MAX_NAMED]
        merged[row.why] = replace(same, warps=warps, count=same.count + row.count)
    return list(merged.values())


def _place(batch: Batch, warp: int) -> tuple[Block, int]:
    """The block of a warp of a batch, and its number there."""
    number = int(batch.numbers[warp * 32 // batch.block_lanes])
    return batch.grid.block_of(number), warp * 32 % batch.block_lanes // 32


def _named(batch: Batch, warps: Iterable[int]) -> tuple[tuple[Block, int], ...]:
    return tuple(_place(batch, warp) for warp in sorted(warps)[:_MAX_NAMED])


def _owner(batch: Batch, awaited: Awaited) -> int:
    """The block of a batch that something belongs to."""
    blocks = [batch.grid.block_of(int(number)) for number in batch.numbers]
    return blocks.index(awaited.block) if awaited.block in blocks else 0


def _may_arrive(instruction: PtxInstruction, awaited: Awaited) -> bool:
    """Whether an instruction may be what others wait for; that of a called function may be anything."""
    parts = instruction.parts
    if parts[0] == "call":
        return True
    if awaited.kind == "barrier":
        return parts[0] in ("bar", "barrier") and "cluster" not in parts and "warp" not in parts
    if awaited.kind == "cluster barrier":
        return parts[:3] == ("barrier", "cluster", "arrive")
    if awaited.kind == "registers":
        return parts[:2] == ("setmaxnreg", "dec")
    if awaited.kind == "value":
        return parts[0] in ("st", "atom", "red") or parts[:2] == ("cp", "async")
    if parts[0] == "mbarrier":
        return parts[1].startswith(("arrive", "complete_tx"))
    return any(part.startswith("mbarrier") for part in parts)


def _variables(function: Function, operands: Iterable[PtxOperand], depth: int = 12) -> set[str]:
    """The variables whose addresses these operands are computed from, as far as that is plain to see."""
    names = {symbol.name for operand in operands for symbol in symbols_of(operand)}
    for register in {register for operand in operands for register in registers_of(operand)}:
        writers = [other for other in function.instructions if register.index in other.effects[1]]
        if len(writers) == 1 and depth:
            names |= _variables(function, writers[0].operands[1:], depth - 1)
    return names - {parameter.name for parameter in function.parameters}


def _ahead(function: Function, index: int) -> set[int]:
    """The instructions that threads may reach from one, without those that they only come back to it for."""
    reachable: set[int] = set()
    frontier = [index]
    while frontier:
        following = set(successors(function.instructions, frontier.pop())) - reachable
        following = {target for target in following if target < len(function.instructions)}
        reachable |= following
        frontier += following
    return reachable


def _ring(following: Sequence[set[int]]) -> tuple[int, ...]:
    """The shortest ring of a graph, its smallest number first; empty without one.

    A node that leads to itself is a ring only where there is no other.

    >>> _ring([{0, 1}, {2, 3}, {0}, set()]), _ring([{1}, set()]), _ring([{0}])
    ((0, 1, 2), (), (0,))
    """
    shortest: tuple[int, ...] = ()
    alone = next((number for number, others in enumerate(following) if number in others), None)
    for start in range(len(following)):
        paths: list[tuple[int, ...]] = [(start,)]
        reached: set[int] = set()
        while paths:
            path = paths.pop(0)
            if shortest and len(path) >= len(shortest):
                break
            if len(path) > 1 and start in following[path[-1]]:
                shortest = path
                break
            for number in sorted(following[path[-1]] - reached - {start}):
                reached.add(number)
                paths.append((*path, number))
    if not shortest and alone is not None:
        return (alone,)
    least = shortest.index(min(shortest)) if shortest else 0
    return shortest[least:] + shortest[:least]
