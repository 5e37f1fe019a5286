"""A schedule of a launch: whose turn is when."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: A warp of the launch, or a copy: the warp that has issued it, and how many it had issued before.
Agent = tuple[int, ...]
#: Instructions, by function and index.
Stops = frozenset[tuple[str, int]]
_MAX_SHOWN = 24  # rows of a schedule in words


@dataclass(frozen=True)
class Step:
    """A turn of a schedule: who, and the visible instruction that ends it, if one does."""

    agent: Agent
    name: str
    line: int  # of the source
    where: str
    opcode: str

    @property
    def short(self) -> str:
        """The first parts of the opcode."""
        return ".".join(self.opcode.split(".")[:3])


@dataclass(frozen=True)
class Schedule:
    """Whose turn is when, in a launch; `simulate` and `debug` of a kernel replay it.

    A turn of a warp ends behind an instruction of `stops`, or where it waits. With `runs`, each step is as
    many turns as the agent can have. What comes after the last step is as without a schedule.
    """

    steps: tuple[Step, ...]
    stops: Stops = field(repr=False)
    outcome: str = ""
    runs: bool = False

    @property
    def agents(self) -> tuple[Agent, ...]:
        """Whose turn is when."""
        return tuple(step.agent for step in self.steps)

    def json(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        steps = [
            {"agent": list(step.agent), "name": step.name, "line": step.line, "opcode": step.opcode}
            for step in self.steps
        ]
        return {"outcome": self.outcome, "steps": steps}

    def __str__(self) -> str:
        rows: list[tuple[str, list[Step]]] = []
        for step in self.steps:
            if not rows or rows[-1][0] != step.name:
                rows.append((step.name, []))
            rows[-1][1].append(step)
        lines = []
        for name, steps in rows[:_MAX_SHOWN]:
            places = list(dict.fromkeys(f"{step.where} ({step.short})" for step in steps if step.opcode))
            shown = places if len(places) < 4 else [places[0], "...", places[-1]]
            if not steps[-1].opcode:
                shown.append("on to where it waits or ends")
            lines.append(f"  {name}: {', '.join(shown)}")
        if len(rows) > _MAX_SHOWN:
            lines.append(f"  ... and {len(rows) - _MAX_SHOWN} more")
        return "\n".join([self.outcome, *lines])


def in_order(*agents: Agent) -> Schedule:
    """A schedule by hand: one after the other, each goes on until it waits or ends.

    >>> in_order((1,), (0,), (0, 0)).agents  # warp 1, warp 0, the first copy that warp 0 has issued
    ((1,), (0,), (0, 0))
    """
    return Schedule(tuple(Step(agent, "", 0, "", "") for agent in agents), frozenset(), runs=True)
