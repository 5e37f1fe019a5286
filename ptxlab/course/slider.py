"""A picture with a slider above it that redraws it, and a button that plays it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import anywidget
import ipywidgets
import traitlets

from ..errors import PtxlabError
from ..views.drawing import static_image
from ..views.picture import Picture
from ..views.static_fallback import StaticFallback

_BUTTON = """
.ptx-play-values {
  width: 30px;
  height: 26px;
  margin: 3px 0;
  padding: 0;
  border: 1px solid var(--jp-border-color1, #bdbdbd);
  border-radius: 4px;
  background: var(--jp-layout-color1, #ffffff);
  color: var(--jp-ui-font-color1, #1a1a1a);
  font-size: 11px;
  cursor: pointer;
}
.ptx-play-values:hover {
  background: var(--jp-layout-color2, #eeeeee);
}
.ptx-play-values:focus-visible {
  outline: 2px solid var(--jp-brand-color1, #1565c0);
  outline-offset: 1px;
}
"""


class PlayButton(anywidget.AnyWidget):
    """A button that goes from one index to the next, `pace` milliseconds apart.

    The one of ipywidgets has no name that a screen reader could read.
    """

    _esm = (Path(__file__).parent / "play.js").read_text(encoding="utf-8")
    _css = _BUTTON
    index = traitlets.Int().tag(sync=True)
    last = traitlets.Int().tag(sync=True)
    pace = traitlets.Int(1000).tag(sync=True)


class _Drawn(Protocol):
    """What a notebook shows as HTML: a picture, or a text."""

    def _repr_html_(self) -> str: ...


class Slider(StaticFallback, ipywidgets.VBox):  # type: ignore[misc]
    """Choose a value by mouse or keyboard, and see the picture of it.

    `unit` follows the value, unless the name says what is counted ("stages 3"). Values that go step by step,
    a range or with `play`, have a button that shows one after the other.

    Where no kernel runs, a saved notebook shows the picture that was seen last.

    >>> from ptxlab import views
    >>> slider = Slider(views.nibble, nibble=[0b0100, 0b1110])
    >>> slider.value = 0b1110
    >>> "Nibble 0b1110" in slider._repr_html_()
    True
    """

    def __init__(
        self,
        draw: Callable[..., _Drawn],
        text: Callable[[Any], str] = str,
        *,
        unit: str = "",
        play: bool = False,
        **choices: Iterable[Any],
    ) -> None:
        if len(choices) != 1:
            raise PtxlabError("Slider: name one argument of the picture and its values, e.g. selector=(0, 1)")
        ((self._name, values),) = choices.items()
        self._draw = draw
        units = {1: unit.removesuffix("s")}
        options = [(f"{text(value)} {units.get(value, unit)}".rstrip(), value) for value in values]
        self._choice = ipywidgets.SelectionSlider(
            options=options, description=self._name.replace("_", " "), layout={"width": "460px"}
        )
        self._shown = ipywidgets.HTML(self._repr_html_())
        self._choice.observe(self._redraw, "value")
        row: list[ipywidgets.Widget] = [self._choice]
        if play or isinstance(values, range):
            player = PlayButton(last=len(options) - 1)
            traitlets.link((self._choice, "index"), (player, "index"))
            row.insert(0, player)
        super().__init__([ipywidgets.HBox(row), self._shown])

    @property
    def value(self) -> Any:
        """What is chosen; assign another value to show its picture."""
        return self._choice.value

    @value.setter
    def value(self, value: Any) -> None:
        self._choice.value = value

    def positions(self) -> Iterator[tuple[str, _Drawn]]:
        """Every value as the slider names it, with its picture.

        >>> from ptxlab import views
        >>> [position for position, _ in Slider(views.nibble, nibble=[0b0100, 0b1110]).positions()]
        ['nibble 4', 'nibble 14']
        """
        for label, value in self._choice.options:
            yield f"{self._choice.description} {label}", self._draw(**{self._name: value})

    def _redraw(self, _change: Any) -> None:
        self._shown.value = self._repr_html_()
        self.redraw_saved()

    def _drawn(self) -> _Drawn:
        return self._draw(**{self._name: self._choice.value})

    def _repr_html_(self) -> str:
        return self._drawn()._repr_html_()

    def static_html(self) -> str:
        """The picture that is shown, for a saved notebook."""
        drawn = self._drawn()
        return static_image(drawn.drawing()) if isinstance(drawn, Picture) else drawn._repr_html_()
