"""How data is shown: for each class who draws it, loaded when somebody looks.

Kernels, results, traces, operations and verdicts are data: they import nothing that draws or opens a widget.
Their methods ask here, and functions in the packages above answer.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: Class -> what is asked of it -> the function that answers, by module and name.
DISPLAYS = {
    "Comparison": {"html": "ptxlab.views.comparison_trees:comparison_html"},
    "Kernel": {"html": "ptxlab.views.annotated_source:kernel_html"},
    "DebugSession": {
        "debugger": "ptxlab.explorer:open_debugger",
        "html": "ptxlab.views.annotated_source:session_html",
    },
    "HazardError": {"traceback": "ptxlab.views.waiting_picture:traceback_lines"},
    "LaunchProfile": {
        "html": "ptxlab.views.predicted_time:launch_html",
        "text": "ptxlab.views.predicted_time:profile_text",
    },
    "Operation": {"explore": "ptxlab.explorer:explore_operands"},
    "Result": {"html": "ptxlab.views.annotated_source:annotated_html"},
    "Review": {"widget": "ptxlab.course.review_widget:ReviewWidget"},
    "Trace": {
        "html": "ptxlab.views.trace_picture:trace_html",
        "picture": "ptxlab.views.trace_picture:trace",
        "text": "ptxlab.views.trace_text:text",
    },
    "Verdict": {"html": "ptxlab.views.verdict_panel:verdict_html"},
}


def display(data: object, asked: str, **options: Any) -> Any:
    """What the function for the class of `data`, or for a base class, makes of it.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32")
    >>> trace = ins.trace([[2] * 16] * 8, [[3] * 8] * 16, None, 0, 0)
    >>> display(trace, "text") == str(trace)
    True
    """
    places = (DISPLAYS.get(base.__name__, {}).get(asked) for base in type(data).__mro__)
    module, _, function = next(place for place in places if place).partition(":")
    return getattr(import_module(module), function)(data, **options)


class Displayed:
    """Data that a notebook shows as `DISPLAYS` says."""

    def _repr_html_(self) -> str | None:
        page: str | None = display(self, "html")
        return page
