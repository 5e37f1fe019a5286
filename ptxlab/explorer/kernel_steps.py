"""What the page of a simulated kernel shows, for a notebook's widget and for a browser tab alike."""

from __future__ import annotations

from typing import Any

from ..simulator import Result
from ..views.highlight import tokens
from ..views.kernel_profile import profile_css, profile_html, shown_line, step_view
from ..views.palette import DARK, DARK_PAGES, LIGHT, Theme
from .bundle import sheet


def first_state(result: Result) -> dict[str, Any]:
    """The annotated source, which steps there are, and the first of them."""
    trace = result.trace
    steps = [] if trace is None else trace.steps
    cut = "" if trace is None or trace.complete else ", the first steps"
    where = "" if trace is None else f"warp {trace.warp} of block {result.grid.block_of(trace.block)}{cut}"
    return {
        "page": profile_html(result, styled=False),
        "title": where,
        "count": len(steps),
        "lines": [shown_line(result, each.instruction) for each in steps],
        **step_state(result, 0),
    }


def step_state(result: Result, number: int) -> dict[str, Any]:
    """One step: its instruction, the registers of every lane, and shared memory as bytes."""
    view = step_view(result, number)
    registers = [
        {"name": each.name, "role": each.role, "values": list(each.values)} for each in view.registers
    ]
    shown = {
        "number": view.number,
        "line": view.line,
        "ptxLine": view.ptx_line,
        "text": list(tokens(view.text, "ptx")),
        "lanes": view.lanes,
        "registers": registers,
        "hidden": view.hidden,
        "notes": list(view.notes),
    }
    return {"shown": shown, "words": view.words.tobytes(), "states": view.states.tobytes()}


def _lanes(theme: Theme) -> str:
    """The colours of the lanes, and of text on them."""
    return " ".join(
        f"--lane{lane}: {colour}; --on-lane{lane}: {theme.text_on(colour)};"
        for lane, colour in enumerate(theme.lanes)
    )


def player_style() -> str:
    """The style sheet of the page."""
    lanes = f".ptx-player {{ {_lanes(LIGHT)} }}\n:is({DARK_PAGES}) .ptx-player {{ {_lanes(DARK)} }}"
    return f"{profile_css()}\n{lanes}\n{sheet('timeline')}\n{sheet('kernel_player')}"
