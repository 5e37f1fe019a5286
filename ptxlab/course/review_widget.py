"""A review as a widget: a question, a field for the answer, and the verdict."""

from __future__ import annotations

from typing import Any

import ipywidgets

from ..question import Verdict
from ..views.static_fallback import StaticFallback
from ..views.verdict_panel import verdict_html
from .review import Review


class ReviewWidget(StaticFallback, ipywidgets.VBox):  # type: ignore[misc]
    """The questions of a review in turn. Enter answers, and then goes on to the next question."""

    def __init__(self, review: Review) -> None:
        self.review = review
        self._verdict: Verdict | None = None  # on the answer to the question that is shown
        self.asked = ipywidgets.HTML()
        self.field = ipywidgets.Text(description="Answer", placeholder="a number, a word or a name")
        self.button = ipywidgets.Button(button_style="primary")
        self.judged = ipywidgets.HTML()
        super().__init__([self.asked, ipywidgets.HBox([self.field, self.button]), self.judged])
        self.button.on_click(lambda _: self.go_on())
        self.field.on_msg(self._receive)
        self._ask()

    def _receive(self, _widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, dict) and content.get("event") == "submit":
            self.go_on()

    def go_on(self) -> None:
        """Answer the question, or go on to the next one."""
        if self._verdict is not None:
            self._ask()
            return
        verdict = self.review.answer(self.field.value)
        self.judged.value = verdict_html(verdict)
        if verdict.state != "not yet":
            self._verdict = verdict
            self.button.description = "Next" if self.review.question else "Finish"

    def _ask(self) -> None:
        self._verdict = None
        self.asked.value = self.review._repr_html_()
        self.field.value = self.judged.value = ""
        self.button.description = "Answer"
        if not self.review.question:
            self.children = [self.asked]
        self.redraw_saved()

    def static_html(self) -> str:
        """The question, for a saved notebook."""
        return self.review._repr_html_()
