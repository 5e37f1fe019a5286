"""The style sheet of the debugger, for light and dark pages."""

from __future__ import annotations

from functools import lru_cache

from ...views.annotated_source import annotated_css
from ...views.kernel_listings import shade_css
from ...views.palette import DARK, DARK_PAGES, HUES, LIGHT, Theme, mix
from ..bundle import sheets

#: What the map of warps shows: the hue of a state, and how much of it is in the colour.
_STATES = {"next": ("blue", 0.75), "ready": ("sky", 0.35), "waits": ("orange", 0.6)}


def _colours(theme: Theme) -> str:
    """The colours of the lanes and of the states of warps, and of text on them."""
    fills = {f"lane{lane}": colour for lane, colour in enumerate(theme.lanes)}
    for state, (hue, strength) in _STATES.items():
        fills[state] = mix(HUES[hue], strength, theme.paper)
    fills["ended"] = mix(theme.ink, 0.14, theme.paper)
    fills["changed"] = mix(HUES["yellow"], 0.55 if theme is LIGHT else 0.3, theme.paper)
    fills["read"] = mix(HUES["green"], 0.2 if theme is LIGHT else 0.3, theme.paper)
    return " ".join(f"--{name}: {fill}; --on-{name}: {theme.text_on(fill)};" for name, fill in fills.items())


@lru_cache
def debugger_style() -> str:
    """The style sheet of the page."""
    dark = f":is({DARK_PAGES}) .ptx-debug"
    colours = f".ptx-debug {{ {_colours(LIGHT)} }}\n{dark} {{ {_colours(DARK)} }}"
    return "\n".join([annotated_css(), shade_css(".ptx-debug", " > .text"), colours, sheets("debugger")])
