"""The timeline as a widget: fences that can be dragged, left out and put back; Python judges the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ..errors import PtxlabError
from ..views.palette import DARK, DARK_PAGES, LIGHT, Theme, css
from ..views.static_fallback import StaticFallback
from .timeline import STATE_LANES, STEPS, WORK, ProgramTimeline, narrow_lines, runs_of, static_html

_FOLDER = Path(__file__).parent


def _colours(theme: Theme) -> str:
    """The colours of the states as variables of a style sheet."""
    rules = []
    for state, lane in STATE_LANES.items():
        fill = theme.lanes[lane]
        name = state.replace(" ", "-")
        rules += [f"--{name}: {fill};", f"--{name}-text: {theme.text_on(fill)};"]
    return " ".join(rules)


def _style() -> str:
    dark = f":is({DARK_PAGES}) .ptx-wgmma-timeline"
    sheet = css() + (_FOLDER / "timeline.css").read_text(encoding="utf-8")
    return f".ptx-wgmma-timeline {{ {_colours(LIGHT)} }}\n{dark} {{ {_colours(DARK)} }}\n{sheet}"


class TimelineWidget(StaticFallback, anywidget.AnyWidget):
    """Steps in a row, what each resource is below them, and what is undefined; `program` is what is shown.

    >>> widget = TimelineWidget()
    >>> widget.change({"action": "leave out", "step": "wgmma.fence"})
    >>> widget.timeline.problems[0].resource, "wgmma.fence" in widget.program
    ('registers of D', False)
    """

    _esm = (_FOLDER / "timeline.js").read_text(encoding="utf-8")
    _css = _style()
    shown = traitlets.Dict().tag(sync=True)

    def __init__(self) -> None:
        self.timeline = ProgramTimeline()
        super().__init__(shown=_shown(self.timeline))
        self.on_msg(lambda _, content, __: self.change(content))

    @property
    def program(self) -> tuple[str, ...]:
        """The steps as they are now."""
        return self.timeline.program

    def change(self, message: object) -> None:
        """Do what the page asks for; what cannot be done changes nothing."""
        try:
            self.timeline = _changed(self.timeline, message)
        except PtxlabError:
            self.send_state("shown")
            return
        self.shown = _shown(self.timeline)

    def static_html(self) -> str:
        """What is shown where no kernel runs."""
        return static_html()


def _changed(timeline: ProgramTimeline, message: object) -> ProgramTimeline:
    match message:
        case {"action": "move", "step": str(step), "to": int(to)} if 0 <= to <= len(timeline.program):
            return timeline.moved(step, to)
        case {"action": "leave out", "step": str(step)}:
            return timeline.without(step)
        case {"action": "put back", "step": str(step)} if step in timeline.left_out:
            return timeline.put_back(step)
        case {"action": "other wait"}:
            return timeline.other_wait()
        case {"action": "reset"}:
            return ProgramTimeline()
    raise PtxlabError("the page sent a message that the timeline does not know")


def _shown(timeline: ProgramTimeline) -> dict[str, Any]:
    """What the page draws."""
    steps = [
        {
            "name": name,
            "lines": list(narrow_lines(name)),
            "purpose": STEPS[name],
            "movable": name not in WORK,
            "wait": name.startswith("wgmma.wait_group"),
            "undefined": any(problem.step == name for problem in timeline.problems),
        }
        for name in timeline.program
    ]
    rows = [
        {
            "name": resource,
            "runs": [
                {"start": start, "width": width, "state": state.replace(" ", "-"), "text": text}
                for start, width, state, text in runs_of(resource, states)
            ],
        }
        for resource, states in timeline.rows.items()
    ]
    return {
        "steps": steps,
        "rows": rows,
        "defined": not timeline.problems,
        "verdict": timeline.verdict,
        "reasons": [problem.reason for problem in timeline.problems],
        "left_out": list(timeline.left_out),
    }
