"""Pictures that differ in one value, on the bar of the Explorer's timeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import anywidget
import traitlets

from ..errors import PtxlabError
from ..explorer.bundle import script, sheets
from ..views.picture import Picture
from ..views.static_fallback import StaticFallback
from ..views.static_image import static_image


class _Drawn(Protocol):
    """What a notebook shows as HTML: a picture, or a text."""

    def _repr_html_(self) -> str: ...


class Slider(StaticFallback, anywidget.AnyWidget):
    """Go through values by mouse, by keyboard or by playing, and see the picture of each.

    `unit` follows the value, unless the name says what is counted ("stages 3"). Where no kernel runs, a saved
    notebook shows the picture that was seen last.

    >>> from ptxlab import views
    >>> slider = Slider(views.nibble, nibble=[0b0100, 0b1110])
    >>> slider.value = 0b1110
    >>> slider.step, "Nibble 0b1110" in slider._repr_html_()
    (1, True)
    """

    _esm = script("pictures")
    _css = sheets("timeline", "pictures")
    label = traitlets.Unicode().tag(sync=True)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)  # of the steps, as the bar has them,
    captions = traitlets.List(traitlets.Unicode()).tag(sync=True)  # and with what they are of, and their unit
    step = traitlets.Int().tag(sync=True)
    shown = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        draw: Callable[..., _Drawn],
        text: Callable[[Any], str] = str,
        *,
        unit: str = "",
        **choices: Iterable[Any],
    ) -> None:
        if len(choices) != 1:
            raise PtxlabError("Slider: name one argument of the picture and its values, e.g. selector=(0, 1)")
        ((self._name, values),) = choices.items()
        self._draw = draw
        self._values = list(values)
        label, units = self._name.replace("_", " "), {1: unit.removesuffix("s")}

        def subject(value: Any) -> str:  # "stages 3", but "wait: wait_group 0"
            return f"{label}:" if isinstance(value, str) else label

        super().__init__(
            label=label,
            names=[text(value) for value in self._values],
            captions=[
                f"{subject(value)} {text(value)} {units.get(value, unit)}".rstrip() for value in self._values
            ],
            shown=self._drawn(0)._repr_html_(),
        )
        self.observe(self._redraw, "step")

    @property
    def value(self) -> Any:
        """What is chosen; assign another value to show its picture."""
        return self._values[self.step]

    @value.setter
    def value(self, value: Any) -> None:
        self.step = self._values.index(value)

    @traitlets.validate("step")
    def _existing(self, proposal: Any) -> int:
        return min(max(int(proposal["value"]), 0), len(self._values) - 1)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """The page chooses the step, and nothing else: `shown` is HTML that other pages show."""
        super().set_state({name: value for name, value in sync_data.items() if name == "step"})

    def positions(self) -> Iterator[tuple[str, _Drawn]]:
        """Every value as the bar names it, with its picture.

        >>> from ptxlab import views
        >>> [position for position, _ in Slider(views.nibble, nibble=[0b0100, 0b1110]).positions()]
        ['nibble 4', 'nibble 14']
        """
        for step, caption in enumerate(self.captions):
            yield caption, self._drawn(step)

    def _redraw(self, _change: Any) -> None:
        self.shown = self._repr_html_()
        self.redraw_saved()

    def _drawn(self, step: int) -> _Drawn:
        return self._draw(**{self._name: self._values[step]})

    def _repr_html_(self) -> str:
        return self._drawn(self.step)._repr_html_()

    def static_html(self) -> str:
        """The picture that is shown, for a saved notebook."""
        drawn = self._drawn(self.step)
        return static_image(drawn.drawing()) if isinstance(drawn, Picture) else drawn._repr_html_()
