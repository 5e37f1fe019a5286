"""What the player of a simulated kernel shows, in a notebook or in a browser tab."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import PtxlabError, counted, lines_of
from ..memory.banks import serve
from ..simulator import Result, WarpTrace
from ..simulator.ptx.syntax import PtxInstruction, Register, registers_of
from ..simulator.traffic import bank_use
from ..views.annotated_source import annotated_css, annotated_html
from ..views.highlight import tokens
from ..views.labels import number_text
from ..views.palette import DARK, DARK_PAGES, LIGHT, Theme
from .bundle import sheets

_MAX_REGISTERS = 24  # of an instruction that are shown
_MAX_WORDS = 1 << 14  # of shared memory: 64 KiB
#: The state of a word of shared memory: never written, data, or what this step does with it.
EMPTY, DATA, CHANGED, READ, WRITTEN = range(5)


def first_state(result: Result) -> dict[str, Any]:
    """The annotated source, the steps, and the state at the first."""
    trace = result.trace
    steps = [] if trace is None else trace.steps
    cut = "" if trace is None or trace.complete else ", the first steps"
    where = "" if trace is None else f"warp {trace.warp} of block {result.grid.block_of(trace.block)}{cut}"
    return {
        "page": annotated_html(result, styled=False),
        "title": where,
        "count": len(steps),
        "lines": [_shown_line(result, step.instruction) for step in steps],
        **step_state(result, 0),
    }


def step_state(result: Result, number: int) -> dict[str, Any]:
    """One step: its instruction, the registers of every lane, and shared memory as bytes."""
    trace = result.trace
    if trace is None:
        raise PtxlabError("nothing was traced: simulate(..., trace=True) follows the first warp")
    step = trace.steps[number]
    instruction = step.instruction
    lines = lines_of(result.ptx)
    text = lines[instruction.line - 1].strip() if instruction.line <= len(lines) else instruction.opcode
    used = [("written", register, number) for register in step.writes]
    used += [("read", register, number - 1) for register in step.reads]
    type_name, packed = _type_of(instruction.parts), _packed(instruction)
    registers = []
    for role, register, at in used[:_MAX_REGISTERS]:
        values = trace.register(register.name, at) if at >= 0 else None
        reads_as = "" if register in packed else type_name
        texts = _texts(values, register.type, reads_as)
        registers.append({"name": register.name, "role": role, "values": texts})
    words, states = _memory(trace, number)
    shown = {
        "number": number,
        "line": _shown_line(result, instruction),
        "ptxLine": instruction.line,
        "text": list(tokens(text, "ptx")),
        "lanes": step.lanes,
        "registers": registers,
        "hidden": max(0, len(used) - _MAX_REGISTERS),
        "notes": _notes(trace, number),
    }
    return {"shown": shown, "words": words.tobytes(), "states": states.tobytes()}


def _memory(trace: WarpTrace, number: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    words, is_written = trace.shared(number)
    states = np.where(is_written, DATA, EMPTY).astype(np.uint8)
    states[trace.changed(number)] = CHANGED
    for access in trace.steps[number].accesses:
        if access.space == "shared":
            steps = np.arange(0, max(access.width, 4), 4)
            places = (access.addresses[:, None] + steps) // 4
            places = places[(places >= 0) & (places < len(states))]
            states[places] = READ if access.kind == "read" else WRITTEN
    count = min(_MAX_WORDS, len(words))
    return words[:count], states[:count]


def _shown_line(result: Result, instruction: PtxInstruction) -> int:
    """The line of an instruction in the source that a result shows, CUDA C++ or PTX; 0 where it has none."""
    if result.source == result.ptx:
        return instruction.line
    return 0 if instruction.source is None else instruction.source.line


def _notes(trace: WarpTrace, number: int) -> list[str]:
    """The sectors and wavefronts that the accesses of a step take."""
    step = trace.steps[number]
    notes = []
    for access in step.accesses:
        if access.space == "global" and "param" not in step.instruction.parts:
            sectors = len(np.unique(access.addresses >> 5))
            count = counted(sectors, "sector")
            notes.append(f"{access.kind}s {count} of global memory for {len(access.lanes)} lanes")
        use = bank_use(step.instruction.parts, access.kind, access.proxy, access.width)
        if access.space == "shared" and use and len(np.unique(access.lanes)) == len(access.lanes):
            addresses = np.zeros(32, dtype=np.int64)
            addresses[access.lanes] = access.addresses
            active = np.zeros(32, dtype=np.bool_)
            active[access.lanes] = True
            if (addresses % access.width == 0).all():
                verb = "updates" if access.kind == "atomic" else f"{access.kind}s"
                notes.append(f"{verb} shared memory: {serve(addresses, access.width, use.kind, active)}")
                if use.cycles > 1:
                    notes.append(f"each wavefront takes {use.cycles} cycles")
    return notes


def _type_of(parts: tuple[str, ...]) -> str:
    """The last type of a mnemonic, in which its operands read best; "" without one."""
    return next(
        (part for part in reversed(parts) if part in _FLOATS or (part[:1] in "su" and part[1:].isdigit())), ""
    )


def _packed(instruction: PtxInstruction) -> set[Register]:
    """The registers of a matrix instruction that hold several elements: all but those of D and C."""
    if not {"mma", "mma_async"}.intersection(instruction.parts):
        return set()
    others = [operand for at, operand in enumerate(instruction.operands) if at not in (0, 3)]
    return {register for operand in others for register in registers_of(operand)}


_FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16}


def _texts(values: NDArray[Any] | None, register_type: str, type_name: str) -> list[str]:
    """The values of all lanes: decimal where the type has the size of the register, else hexadecimal."""
    if values is None:
        return [""] * 32
    if values.dtype == np.bool_:
        return ["true" if value else "false" for value in values.tolist()]
    size = values.dtype.itemsize
    name = register_type if register_type in _FLOATS else type_name
    if name in _FLOATS and np.dtype(_FLOATS[name]).itemsize == size:
        return [number_text(value, 6) for value in values.view(_FLOATS[name]).tolist()]
    if type_name in (f"s{8 * size}", f"u{8 * size}") and size < 8:
        numbers = values.view(f"i{size}") if type_name[0] == "s" else values
        return [str(value) for value in numbers.tolist()]
    return [f"{value:0{2 * size}x}" for value in values.tolist()]


# -- the style sheet --------------------------------------------------------------------------------------


def _lanes(theme: Theme) -> str:
    """The colours of the lanes, and of text on them."""
    return " ".join(
        f"--lane{lane}: {colour}; --on-lane{lane}: {theme.text_on(colour)};"
        for lane, colour in enumerate(theme.lanes)
    )


def player_style() -> str:
    """The style sheet of the page."""
    lanes = f".ptx-player {{ {_lanes(LIGHT)} }}\n:is({DARK_PAGES}) .ptx-player {{ {_lanes(DARK)} }}"
    return f"{annotated_css()}\n{lanes}\n{sheets('timeline', 'kernel_player')}"
