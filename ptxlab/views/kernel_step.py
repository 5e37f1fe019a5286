"""One step of a traced warp, as data for a page: its line, its registers, shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, counted
from ..memory import conflicts
from ..memory.banks import WIDTHS
from ..simulator import Result, WarpTrace
from ..simulator.ptx.syntax import PtxInstruction

_MOST_REGISTERS = 24  # of an instruction that are shown
_MOST_WORDS = 1 << 14  # of shared memory: 64 KiB
#: What is known of a word of shared memory: nothing, data, and what this step does with it.
EMPTY, DATA, CHANGED, READ, WRITTEN = range(5)


@dataclass(frozen=True)
class RegisterView:
    """A register of all lanes; `role` is "read" or "written"."""

    name: str
    role: str
    values: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StepView:
    """One step: where it is, what its registers hold, the words of shared memory and what they are now."""

    number: int
    line: int  # of the source; 0 if the instruction belongs to none
    ptx_line: int
    text: str  # of the PTX
    lanes: int  # bits
    registers: tuple[RegisterView, ...]
    hidden: int  # registers that are not shown
    notes: tuple[str, ...]
    words: NDArray[np.uint32]
    states: NDArray[np.uint8]


def step_view(result: Result, number: int) -> StepView:
    """What is to be seen at a step of `result.trace`."""
    trace = result.trace
    if trace is None:
        raise PtxlabError("nothing was traced: simulate(..., trace=True) follows the first warp")
    step = trace.steps[number]
    instruction = step.instruction
    lines = result.ptx.splitlines()
    text = lines[instruction.line - 1].strip() if instruction.line <= len(lines) else instruction.opcode
    shown = [("written", register, number) for register in step.writes]
    shown += [("read", register, number - 1) for register in step.reads]
    type_name = _type_of(instruction.parts)
    registers = []
    for role, register, at in shown[:_MOST_REGISTERS]:
        values = trace.register(register.name, at) if at >= 0 else None
        registers.append(RegisterView(register.name, role, _texts(values, register.type, type_name)))
    words, states = _memory(trace, number)
    return StepView(
        number, shown_line(result, instruction), instruction.line, text, step.lanes, tuple(registers),
        max(0, len(shown) - _MOST_REGISTERS), _notes(trace, number), words, states,
    )  # fmt: skip


def _memory(trace: WarpTrace, number: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    words, known = trace.shared(number)
    states = np.where(known, DATA, EMPTY).astype(np.uint8)
    states[trace.changed(number)] = CHANGED
    for access in trace.steps[number].accesses:
        if access.space == "shared":
            steps = np.arange(0, max(access.width, 4), 4)
            places = (access.addresses[:, None] + steps) // 4
            places = places[(places >= 0) & (places < len(states))]
            states[places] = READ if access.kind == "read" else WRITTEN
    count = min(_MOST_WORDS, len(words))
    return words[:count], states[:count]


def shown_line(result: Result, instruction: PtxInstruction) -> int:
    """The line of an instruction in the source that a result shows, CUDA C++ or PTX; 0 where it has none."""
    if result.source == result.ptx:
        return instruction.line
    return 0 if instruction.source is None else instruction.source.line


def _notes(trace: WarpTrace, number: int) -> tuple[str, ...]:
    """What the accesses of a step cost."""
    step = trace.steps[number]
    notes = []
    for access in step.accesses:
        if access.space == "global" and "param" not in step.instruction.parts:
            sectors = len(np.unique(access.addresses >> 5))
            count = counted(sectors, "sector")
            notes.append(f"{access.kind}s {count} of global memory for {len(access.lanes)} lanes")
        if (
            access.space == "shared"
            and access.width in WIDTHS
            and len(np.unique(access.lanes)) == len(access.lanes)
        ):
            addresses = np.zeros(32, dtype=np.int64)
            addresses[access.lanes] = access.addresses
            active = np.zeros(32, dtype=np.bool_)
            active[access.lanes] = True
            if access.kind in ("read", "write") and (addresses % access.width == 0).all():
                loads = step.instruction.parts[0] in ("ld", "ldu")
                judged = conflicts(addresses, access.width, store=not loads, active=active)
                notes.append(f"{access.kind}s shared memory: {judged}")
    return tuple(notes)


def _type_of(parts: tuple[str, ...]) -> str:
    """The type in which the instruction's operands read best."""
    return next(
        (part for part in reversed(parts) if part in _FLOATS or (part[:1] in "su" and part[1:].isdigit())), ""
    )


_FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


def _texts(values: NDArray[Any] | None, register_type: str, type_name: str) -> tuple[str, ...]:
    """Values of the lanes: floats and signed numbers as such where the sizes agree, else hexadecimal."""
    if values is None:
        return ("",) * 32
    if values.dtype == np.bool_:
        return tuple("true" if value else "false" for value in values.tolist())
    size = values.dtype.itemsize
    name = register_type if register_type in _FLOATS else type_name
    if name in _FLOATS and np.dtype(_FLOATS[name]).itemsize == size:
        return tuple(f"{value:.6g}" for value in values.view(_FLOATS[name]).tolist())
    if type_name in (f"s{8 * size}", f"u{8 * size}") and size < 8:
        numbers = values.view(f"i{size}") if type_name[0] == "s" else values
        return tuple(str(value) for value in numbers.tolist())
    return tuple(f"{value:0{2 * size}x}" for value in values.tolist())
