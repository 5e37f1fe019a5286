"""Lines of the source for instructions that a compiler moved, and so left without one."""

from __future__ import annotations

from dataclasses import replace

from .dataflow import successors
from .syntax import PtxInstruction, SourceLocation

_MAX_SEARCHED = 1000  # instructions among which the use of a result is searched for


def in_lines_of_use(instructions: tuple[PtxInstruction, ...]) -> tuple[PtxInstruction, ...]:
    """Instructions that NVRTC moved to another branch have line 0: give them the line that uses their result.

    If nothing uses it, as with stores, they keep line 0. A `trap` gets the line from which threads come.
    """

    def location(instruction: PtxInstruction) -> SourceLocation | None:
        place = instruction.location
        if place is None or place.line:
            return place
        nearest = _last_before if instruction.parts[0] == "trap" else _first_use
        return nearest(instructions, instruction.index) or place

    return tuple(
        instruction
        if (place := location(instruction)) is instruction.location
        else replace(instruction, location=place)
        for instruction in instructions
    )


def _last_before(instructions: tuple[PtxInstruction, ...], index: int) -> SourceLocation | None:
    """The location of the nearest instruction with a line on a way to one; None if there is none."""
    before: dict[int, list[int]] = {}
    for place in range(len(instructions)):
        for target in successors(instructions, place):
            before.setdefault(target, []).append(place)
    visited = {index}
    behind = [index]
    for here in behind:  # grows
        location = instructions[here].location
        if location is not None and location.line:
            return location
        behind += (fresh := [place for place in before.get(here, ()) if place not in visited])
        visited.update(fresh)
    return None


def _first_use(instructions: tuple[PtxInstruction, ...], index: int) -> SourceLocation | None:
    """The location of the nearest instruction that reads the result of one; None if there is none."""
    results = instructions[index].effects[1]
    visited: set[int] = set()
    ahead = [index] if results else []
    for here in ahead:  # grows
        if len(ahead) > _MAX_SEARCHED:
            break
        for place in successors(instructions, here):
            if place in visited or place >= len(instructions):
                continue
            visited.add(place)
            read, written = instructions[place].effects
            location = instructions[place].location
            if location is not None and location.line and not results.isdisjoint(read):
                return location
            if results.isdisjoint(written):
                ahead.append(place)
    return None
