"""What a notebook gets of a figure: Plotly's own, and a style by which it follows a dark theme. Imports Plotly."""

from __future__ import annotations

import plotly.graph_objects as go

__all__ = ["Chart"]

# Plotly takes colours only as numbers, so a figure cannot ask for those of the page. Where that is dark, lightness is turned over and hues are kept,
# paper lets the page through, and so do the cells, by as much as text on the strongest of them needs to be read.
_OURS = "ptxlab"  # the `uid` of a trace that shows nothing; Plotly makes a class of it, and the style leaves other figures of the page alone
_THEMES = (
    '[data-jp-theme-light="false"], .vscode-dark, [theme="dark"]'  # JupyterLab and Notebook 7, VS Code, Colab
)
_RULES = {
    "svg-container": "filter: invert(0.95) hue-rotate(180deg)",
    "main-svg": "background: transparent !important",
    "bg": "fill-opacity: 0 !important",
    "heatmaplayer image": "opacity: 0.65 !important",
}
_DARK = "".join(
    f":is({_THEMES}) .js-plotly-plot:has(.trace{_OURS}) .{part} {{ {rule}; }}\n"
    for part, rule in _RULES.items()
)


class Chart(go.Figure):  # type: ignore[misc]
    """A Plotly figure that is dark where the notebook is.

    >>> Chart(layout={"width": 300}).layout.width
    300
    """

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        display(HTML(f"<style>{_DARK}</style>"))  # type: ignore[no-untyped-call]
        shown = go.Figure(self)
        shown.add_trace(
            go.Scatter(x=[None], y=[None], mode="lines", hoverinfo="skip", showlegend=False, uid=_OURS)
        )
        shown._ipython_display_()
