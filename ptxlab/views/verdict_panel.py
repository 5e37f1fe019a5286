"""A verdict on an answer, as a notebook shows it: a panel in the colour of its state."""

from __future__ import annotations

import html
import re

from ..question import Verdict, with_code
from .palette import HUES, rgb

_HUES = {"right": "green", "clean": "green", "not yet": "grey", "incomplete": "grey", "review": "orange"}


def verdict_html(verdict: Verdict) -> str:
    """The panel."""
    text = with_code(verdict.text)
    text = re.sub(r"(?<![\w*])\*(\w(?:[^*<>]*\w['’]?)?)\*(?![\w*])", r"<em>\1</em>", text)
    colour = rgb(HUES[_HUES.get(verdict.state, "vermilion")])
    style = (
        f"border-left: 4px solid rgb({colour}); background: rgba({colour}, 0.1); padding: 8px 12px; "
        "margin: 4px 0; max-width: 60em; line-height: 1.5"
    )
    lines = "".join(f"<div>{html.escape(line)}</div>" for line in verdict.details)
    below = f'<div style="font-size: 90%; opacity: 0.75; margin-top: 4px">{lines}</div>' if lines else ""
    return f'<div style="{style}"><strong>{html.escape(verdict.heading)}.</strong> {text}{below}</div>'
