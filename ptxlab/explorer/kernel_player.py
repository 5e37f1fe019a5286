"""A simulated kernel with a slider through time: the line, the registers and shared memory of one warp."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from ..simulator import Result
from ..views.highlight import tokens
from ..views.kernel_profile import profile_css, profile_html, shown_line, step_view
from ..views.palette import DARK, DARK_PAGES, LIGHT, Theme
from ..views.static_fallback import StaticFallback
from .bundle import script, sheet


def _lanes(theme: Theme) -> str:
    """The colours of the lanes, and of text on them."""
    return " ".join(
        f"--lane{lane}: {colour}; --on-lane{lane}: {theme.text_on(colour)};"
        for lane, colour in enumerate(theme.lanes)
    )


def _style() -> str:
    lanes = f".ptx-player {{ {_lanes(LIGHT)} }}\n:is({DARK_PAGES}) .ptx-player {{ {_lanes(DARK)} }}"
    return f"{profile_css()}\n{lanes}\n{sheet('kernel_player')}"


class KernelPlayer(StaticFallback, anywidget.AnyWidget):
    """The source with its margin, and every step of the traced warp; `step` is the one that is shown.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    >>> result = ptxlab.kernel(source).simulate(1, 32, np.arange(32, dtype=np.float32), trace=True)
    >>> player = KernelPlayer(result)
    >>> opcodes = [each.instruction.opcode for each in result.trace.steps]
    >>> player.step = opcodes.index("st.global.f32")
    >>> player.shown["registers"][-1]["values"][:3]
    ['0', '2', '4']
    """

    _esm = script("kernel_player")
    _css = _style()
    page = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    count = traitlets.Int().tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    lines = traitlets.List(traitlets.Int()).tag(sync=True)  # the source line of every step
    shown = traitlets.Dict().tag(sync=True)
    words = traitlets.Bytes().tag(sync=True)
    states = traitlets.Bytes().tag(sync=True)

    def __init__(self, result: Result) -> None:
        self._result = result
        trace = result.trace
        view = step_view(result, 0)
        steps = [] if trace is None else trace.steps
        cut = "" if trace is None or trace.complete else ", the first steps"
        where = (
            "" if trace is None else f"warp {trace.warp} of block {result.grid.block_of(trace.block)}{cut}"
        )
        lines = [shown_line(result, each.instruction) for each in steps]
        super().__init__(
            page=profile_html(result, styled=False),
            title=where,
            count=len(steps),
            lines=lines,
            **_traits(view),
        )
        self.observe(self._move, "step")

    def _move(self, change: Any) -> None:
        number = min(max(int(change["new"]), 0), self.count - 1)
        with self.hold_sync():
            for name, value in _traits(step_view(self._result, number)).items():
                setattr(self, name, value)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """The page chooses the step, and nothing else: `page` is HTML that other pages show."""
        super().set_state({name: value for name, value in sync_data.items() if name == "step"})

    def static_html(self) -> str:
        """The source with its margin, which a saved notebook shows where no kernel runs."""
        return profile_html(self._result)


def _traits(view: Any) -> dict[str, Any]:
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
