"""A simulated kernel with a slider through time: the line, registers and shared memory of one warp."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from ..simulator import Result
from ..views.annotated_source import annotated_html
from ..views.static_fallback import StaticFallback
from .bundle import script
from .kernel_steps import first_state, player_style, step_state


class KernelPlayer(StaticFallback, anywidget.AnyWidget):
    """The annotated source, and every step of the traced warp; `step` selects the one shown.

    >>> import numpy as np, ptxlab
    >>> source = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    >>> result = ptxlab.kernel(source).simulate(1, 32, np.arange(32, dtype=np.float32), trace=True)
    >>> player = KernelPlayer(result)
    >>> opcodes = [step.instruction.opcode for step in result.trace.steps]
    >>> player.step = opcodes.index("st.global.f32")
    >>> player.shown["registers"][-1]["values"][:3]
    ['0', '2', '4']
    """

    _esm = script("kernel_player")
    _css = player_style()
    page = traitlets.Unicode().tag(sync=True)
    title = traitlets.Unicode().tag(sync=True)
    count = traitlets.Int().tag(sync=True)
    step = traitlets.Int().tag(sync=True)
    lines = traitlets.List(traitlets.Int()).tag(sync=True)  # the source line of every step
    shown = traitlets.Dict().tag(sync=True)
    words = traitlets.Bytes().tag(sync=True)  # of shared memory, as uint32
    states = traitlets.Bytes().tag(sync=True)  # a byte for each word: EMPTY, DATA, CHANGED, READ or WRITTEN

    def __init__(self, result: Result) -> None:
        self._result = result
        super().__init__(**first_state(result))
        self.observe(self._on_step_change, "step")

    def _on_step_change(self, change: Any) -> None:
        number = min(max(int(change["new"]), 0), self.count - 1)
        with self.hold_sync():
            for name, value in step_state(self._result, number).items():
                setattr(self, name, value)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Accept only `step` from the front end: `page` is HTML that other pages show."""
        super().set_state({name: value for name, value in sync_data.items() if name == "step"})

    def static_html(self) -> str:
        """The annotated source, which a saved notebook shows where no kernel runs."""
        return annotated_html(self._result)
