"""Exchanges between lanes in several stages, if that takes fewer shuffles than a single stage.

Lane and slot of an element are bits of its row and column. Where k of the lane's bits change places with k of
the slot's, a lane needs data from 2^k others. In one stage, that takes 2^k shuffles, however little each
moves; one bit at a time, as in a butterfly, half of a lane's registers move in each stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .plan_search import Planner, Task
from .plan_steps import Convert, Merge, Part, Permute, PlanStep, Rename, Select, Shift, Shuffle, Transpose

_WARP_BITS = 5
_MAX_TOGETHER = 16  # registers of the target that are always planned together
# with more registers, those of a bundle, or those that depend on each other, are planned together
_BUNDLE = 8


class PlaceBits(NamedTuple):
    """The bit of a cell's number that each bit of the lane and of the slot stands for, the lowest first."""

    lane: tuple[int, ...]
    slot: tuple[int, ...]

    @property
    def cells(self) -> NDArray[np.int64]:
        """The number of the cell at each place, [lanes, slots]."""
        return _sums(self.lane)[:, None] + _sums(self.slot)


def _sums(bits: Sequence[int]) -> NDArray[np.int64]:
    """The sum of every subset of the bits, in binary order."""
    sums = np.zeros(1, dtype=np.int64)
    for bit in bits:
        sums = np.concatenate([sums, sums + bit])
    return sums


def _place_bits(cells: NDArray[np.int64]) -> PlaceBits | None:
    """How the bits of a cell's number come from those of lane and slot.

    None if they do not, or if a cell is held twice.
    """
    lanes, slots = (size.bit_length() - 1 for size in cells.shape)
    if (1 << lanes, 1 << slots) != cells.shape:
        return None
    places = PlaceBits(
        tuple(int(cells[1 << bit, 0]) for bit in range(lanes)),
        tuple(int(cells[0, 1 << bit]) for bit in range(slots)),
    )
    different = {*places.lane, *places.slot}
    if 0 in different or len(different) < lanes + slots or not (places.cells == cells).all():
        return None
    return places


def shortest(task: Task, source: NDArray[np.int64], target: NDArray[np.int64]) -> tuple[PlanStep, ...]:
    """The steps of the shortest plan.

    If there are many registers, independent groups of them are planned separately, and equal groups once.
    """
    if task.moved_bits > 32:
        return _shortest(task, source, target)
    per_source = per_target = 32 // task.moved_bits  # slots of a register
    if task.conversion is not None:
        per_source, per_target = task.per_register, 32 // task.converted_bits
    if task.slots.shape[1] <= _MAX_TOGETHER * per_target:
        return _shortest(task, source, target)
    steps: list[PlanStep] = []
    plans: dict[tuple[bytes, bytes], tuple[PlanStep, ...]] = {}
    for number, (from_registers, to_registers) in enumerate(_components(task, per_source, per_target)):
        from_slots = _slots(from_registers, per_source)
        to_slots = _slots(to_registers, per_target)
        slots = np.searchsorted(from_slots, task.slots[:, to_slots])
        part = task._replace(lanes=task.lanes[:, to_slots], slots=slots)
        key = part.lanes.tobytes(), slots.tobytes()
        if key not in plans:
            numbers, cells = np.unique(source[:, from_slots], return_inverse=True)
            to_cells = np.searchsorted(numbers, target[:, to_slots])
            plans[key] = _shortest(part, cells.reshape(len(source), -1), to_cells)
        registers = {f"in{index}": f"in{register}" for index, register in enumerate(from_registers)}
        registers |= {f"out{index}": f"out{register}" for index, register in enumerate(to_registers)}
        steps += [_in_group(step, registers, number) for step in plans[key]]
    return tuple(steps)


def _slots(registers: Sequence[int], size: int) -> NDArray[np.int64]:
    """The slots in some registers of `size` slots each."""
    return (np.array(registers)[:, None] * size + np.arange(size)).ravel()


def _in_group(step: PlanStep, registers: dict[str, str], group: int) -> PlanStep:
    """A step with the registers of one of several groups that are planned separately."""
    return _with_names(step, lambda name: registers.get(name, f"{name}g{group}"))


def _components(task: Task, per_source: int, per_target: int) -> list[tuple[list[int], list[int]]]:
    """Bundles of registers of the source and those of the target that depend on them alone."""
    from_register = task.slots // per_source
    groups: list[tuple[set[int], list[int]]] = []
    for register in range(task.slots.shape[1] // per_target):
        needed = {*from_register[:, register * per_target : (register + 1) * per_target].ravel().tolist()}
        targets = [register]
        independent = []
        for sources, others in groups:
            if sources & needed:
                needed, targets = needed | sources, [*others, *targets]
            else:
                independent.append((sources, others))
        groups = [*independent, (needed, targets)]
    bundles: list[tuple[list[int], list[int]]] = []
    for needs, targets in sorted((sorted(sources), targets) for sources, targets in groups):
        if bundles and len(bundles[-1][1]) + len(targets) <= _BUNDLE:  # they may share shuffles
            before = bundles.pop()
            bundles.append((sorted(before[0] + needs), sorted(before[1] + targets)))
        else:
            bundles.append((needs, sorted(targets)))
    return bundles


def _shortest(task: Task, source: NDArray[np.int64], target: NDArray[np.int64]) -> tuple[PlanStep, ...]:
    direct = Planner(task).run()
    best, cost = direct, _cost(direct)
    transposed = _transposed(task)
    if transposed is not None and _cost(transposed) < cost:
        best, cost = transposed, _cost(transposed)
    before, after = _place_bits(source), _place_bits(target)
    if before is None or after is None:
        return best
    for route in _routes(before, after):
        steps = _composed(task, [before, *route, after])
        if _cost(steps) < cost:
            best, cost = steps, _cost(steps)
    return best


def _cost(steps: Sequence[PlanStep]) -> tuple[int, int]:
    """The cost by which plans are compared: time, then shuffles.

    A shuffle counts twice: for each clock a multiprocessor has 32 results of "warp shuffle" and 64 of "32-bit
    bitwise AND, OR, XOR", of shifts and of comparisons (CUDA C++ Programming Guide, "Arithmetic
    Instructions", from compute capability 7.x on; it does not name prmt and selp). Plans for one task have
    the same conversions. A rename is nothing.
    """
    shuffles = sum(isinstance(step, Shuffle | Transpose) for step in steps)
    return shuffles + sum(not isinstance(step, Rename) for step in steps), shuffles


def _transposed(task: Task) -> tuple[PlanStep, ...] | None:
    """One movmatrix for each register, if each of the target is a transposed matrix of the source."""
    count, slots = task.lanes.shape
    if task.moved_bits != 16 or task.shift or slots % 2 or count % 32:
        return None
    if task.conversion is not None and not task.converts_first:
        return None
    lane = np.arange(count)
    in_warp = lane % 32
    # Row r of a matrix is in lanes 4r to 4r + 3, two elements each.
    upper = in_warp // 4 % 2 == 1  # which of the two it takes of both lanes
    steps: list[PlanStep] = []
    by_slots: dict[tuple[int, int], str] = {}  # registers of the target, by the slots that they are made of
    for register in range(slots // 2):
        slots_read = task.slots[:, 2 * register : 2 * register + 2]
        low, high = int(slots_read[~upper].flat[0]), int(slots_read[upper].flat[0])
        expected = np.where(upper, high, low)[:, None]
        rows = 2 * (in_warp % 4)[:, None] + np.arange(2)
        lanes = lane[:, None] // 32 * 32 + 4 * rows + in_warp[:, None] // 8
        if (slots_read != expected).any() or (task.lanes[:, 2 * register : 2 * register + 2] != lanes).any():
            return None
        if (low, high) in by_slots:
            steps.append(Rename(f"out{register}", by_slots[low, high]))
            continue
        by_slots[low, high] = f"out{register}"
        word = f"w{register}"
        parts = tuple(
            Part(f"in{slot // task.per_register}", slot % task.per_register) for slot in (low, high)
        )
        if task.conversion is not None:
            steps.append(Convert(word, parts, *task.conversion, task.converted_bits))
        elif (low % 2, high) == (0, low + 1):
            word = f"in{low // 2}"
        else:
            places = [2 * (low % 2), 2 * (low % 2) + 1, 4 + 2 * (high % 2), 5 + 2 * (high % 2)]
            selector = sum(place << 4 * at for at, place in enumerate(places))
            steps.append(Permute(word, f"in{low // 2}", f"in{high // 2}", (selector,)))
        steps.append(Transpose(f"out{register}", word))
    return tuple(steps)


def _routes(before: PlaceBits, after: PlaceBits) -> Iterator[list[PlaceBits]]:
    """Intermediate arrangements: one bit at a time, or two stages."""
    leaving = [at for at, bit in enumerate(before.lane) if bit in after.slot and at < _WARP_BITS]
    coming = [bit for bit in before.slot if bit in after.lane]
    if not 2 <= len(leaving) == len(coming) <= 4:
        return
    # A bit moves to its final place, if the bit there leaves.
    pairs = [(at, after.lane[at]) for at in leaving if after.lane[at] in coming]
    rest = [bit for bit in coming if bit not in {bit for _, bit in pairs}]
    pairs += zip([at for at in leaving if at not in dict(pairs)], rest, strict=True)
    points = [_after_moving(before, after, pairs[:count]) for count in range(1, len(pairs))]
    yield points
    for point in points[:-1]:
        yield [point]


def _after_moving(before: PlaceBits, after: PlaceBits, pairs: Sequence[tuple[int, int]]) -> PlaceBits:
    """The arrangement after these bits have moved into the lane; the next ones are highest in the slot."""
    lane, slot = list(before.lane), list(before.slot)
    for at, bit in pairs:
        slot[slot.index(bit)] = lane[at]
        lane[at] = bit
    stay = [bit for bit in after.slot if bit in slot]
    return PlaceBits(tuple(lane), (*stay, *(bit for bit in slot if bit not in stay)))


def _composed(task: Task, points: Sequence[PlaceBits]) -> tuple[PlanStep, ...]:
    """Several planners in sequence: each takes the registers that the previous one gives."""
    steps: list[PlanStep] = []
    last = len(points) - 2
    for number in range(last + 1):
        cells = points[number].cells
        order = np.argsort(cells, axis=None)
        lanes, slots = np.divmod(order[points[number + 1].cells], cells.shape[1])
        converts = number == 0 if task.converts_first else number == last
        part = task._replace(
            lanes=lanes,
            slots=slots,
            conversion=task.conversion if converts else None,
            converts_first=task.converts_first and converts,
            shift=task.shift if number == last else 0,
        )
        steps += [_renamed(step, number, last) for step in Planner(part).run()]
    return tuple(steps)


def _renamed(step: PlanStep, number: int, last: int) -> PlanStep:
    """A step with names for its stage: registers between stages are a0, a1, ..., then b0, ..."""

    def name(register: str) -> str:
        stem, index = register.rstrip("0123456789"), register.lstrip("abcdefghijklmnopqrstuvwxyz")
        if stem == "in":
            return register if number == 0 else f"{'abcd'[number - 1]}{index}"
        if stem == "out":
            return register if number == last else f"{'abcd'[number]}{index}"
        return register if number == last else f"{stem}{index}_{number}"

    return _with_names(step, name)


def _with_names(step: PlanStep, name: Callable[[str], str]) -> PlanStep:
    """A step on registers of other names."""
    match step:
        case Convert():
            parts = tuple(Part(name(part.register), part.position) for part in step.sources)
            return replace(step, target=name(step.target), sources=parts)
        case Permute() | Merge():
            return replace(step, target=name(step.target), first=name(step.first), second=name(step.second))
        case Select():
            return replace(step, target=name(step.target), sources=tuple(map(name, step.sources)))
        case Rename() | Shuffle() | Shift() | Transpose():
            return replace(step, target=name(step.target), source=name(step.source))
