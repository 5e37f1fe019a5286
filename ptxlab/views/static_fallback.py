"""Widgets in a saved notebook: the picture that is seen where their kernel does not run."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any
from uuid import uuid4

import ipywidgets
from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

from .palette import DARK_PAGES

# JupyterLab shows a widget whose kernel is gone as "Error displaying widget: model not found", whatever else
# is in that output. So the picture is an output of its own, after that of the widget. Each is told apart by
# the widget's id. While the widget is anywhere on the page, the picture is not shown; when it is not, what
# JupyterLab shows instead is not. A widget that is being opened has a second to appear before its picture
# does. GitHub removes the style and shows the image.
PAUSE = 2.0  # seconds without a change before a picture is drawn again: it would delay the next edit
_OUTPUT = ".jp-OutputArea-child"
_STYLE = f"""\
body:has(.ptx-live-ID) :is(.ptx-saved-ID, {_OUTPUT}:has(.ptx-saved-ID)) {{ display: none; }}
{_OUTPUT}:not(:has(.ptx-live-ID)):has(+ {_OUTPUT} .ptx-saved-ID) {{ display: none; }}
.lm-Widget .ptx-saved-ID {{ overflow: hidden; animation: ptx-saved 1ms 1s backwards; }}
@keyframes ptx-saved {{ from {{ max-height: 0; opacity: 0; }} }}
:is({DARK_PAGES}) .ptx-saved-ID > img {{ filter: invert(0.95) hue-rotate(180deg); }}
"""


def in_kernel() -> bool:
    """Whether what is displayed goes to a notebook, rather than to a terminal."""
    return getattr(get_ipython(), "kernel", None) is not None


class StaticFallback(ipywidgets.DOMWidget):  # type: ignore[misc]
    """A widget that a saved notebook shows without its kernel, as the HTML that `static_html` gives."""

    _saved: tuple[DisplayHandle, ...] = ()  # the pictures in the notebook
    _redrawing: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **traits: Any) -> None:
        # The class comes with the widget: sent after it, it was sometimes missing on pages that were busy.
        name = uuid4().hex
        super().__init__(*arguments, **{"model_id": name, "_dom_classes": (f"ptx-live-{name}",), **traits})

    def static_html(self) -> str:
        """What is shown without a kernel; "" for nothing."""
        raise NotImplementedError

    def _widget_bundle(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        bundle = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return dict(data), dict(metadata)

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data, metadata = self._widget_bundle(**options)
        page = self.static_html()
        return {**data, **({"text/html": page} if page else {})}, metadata

    def _ipython_display_(self) -> None:
        """Show the widget and, as a second output, the picture."""
        if not in_kernel():
            raise NotImplementedError  # IPython goes on with `_repr_mimebundle_`
        data, metadata = self._widget_bundle()
        data["text/plain"] = f"{type(self).__name__}: run this cell to use it"
        display(data, metadata=metadata, raw=True)
        page = self.static_html()
        if page:
            handle = display(_output(self.model_id, page), raw=True, display_id=True)
            self._saved = (*self._saved, handle)

    def redraw_saved(self) -> None:
        """Draw the pictures again after a change, once nothing else changes for a while."""
        if self._redrawing is not None:
            self._redrawing.cancel()
        with contextlib.suppress(RuntimeError):  # outside of a notebook nothing would call back
            if self._saved:
                self._redrawing = asyncio.get_running_loop().call_later(PAUSE, self._update_saved)

    def _update_saved(self) -> None:
        page = self.static_html()
        for handle in self._saved:
            handle.update(_output(self.model_id, page), raw=True)

    def close(self) -> None:
        """Close the widget, and take its picture out of the notebook."""
        saved, self._saved = self._saved, ()
        self.redraw_saved()  # no more
        for handle in saved:
            handle.update(_output(self.model_id, ""), raw=True)
        super().close()


def _output(model_id: str, page: str) -> dict[str, str]:
    style = _STYLE.replace("-ID", f"-{model_id}")
    framed = f'<style>{style}</style><div class="ptx-saved-{model_id}">{page}</div>'
    return {"text/html": framed, "text/plain": ""}
