"""A picture with a slider above it that redraws it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import ipywidgets

from ..errors import PtxlabError


class _Drawn(Protocol):
    """What a notebook shows as HTML: a picture, or a text."""

    def _repr_html_(self) -> str: ...


class Slider(ipywidgets.VBox):  # type: ignore[misc]
    """Choose a value by mouse or keyboard, and see the picture of it.

    Where no kernel runs, `_repr_html_` has the picture of the first value.

    >>> from ptxlab import views
    >>> slider = Slider(views.nibble, nibble=[0b0100, 0b1110])
    >>> slider.value = 0b1110
    >>> "Nibble 0b1110" in slider._repr_html_()
    True
    """

    def __init__(
        self, draw: Callable[..., _Drawn], text: Callable[[Any], str] = str, **choices: Iterable[Any]
    ) -> None:
        if len(choices) != 1:
            raise PtxlabError("Slider: name one argument of the picture and its values, e.g. selector=(0, 1)")
        ((self._name, values),) = choices.items()
        self._draw = draw
        options = [(text(value), value) for value in values]
        self._choice = ipywidgets.SelectionSlider(
            options=options, description=self._name, layout={"width": "420px"}
        )
        self._shown = ipywidgets.HTML(self._repr_html_())
        self._choice.observe(self._redraw, "value")
        super().__init__([self._choice, self._shown])

    @property
    def value(self) -> Any:
        """What is chosen; assign another value to show its picture."""
        return self._choice.value

    @value.setter
    def value(self, value: Any) -> None:
        self._choice.value = value

    def _redraw(self, _change: Any) -> None:
        self._shown.value = self._repr_html_()

    def _repr_html_(self) -> str:
        return self._draw(**{self._name: self._choice.value})._repr_html_()
