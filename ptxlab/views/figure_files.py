"""Figures and pictures as files: SVG, HTML, and through kaleido PDF and PNG."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from .._util.arguments import as_path
from .._util.files import reason, write_atomically
from ..errors import PtxlabError, listing, quoted
from .drawing import Drawing
from .line_drawing import LineDrawing
from .picture import Picture, require_plotly
from .svg import svg_document

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from .plotly_figure import NumberMatrix

_SUFFIXES = (".html", ".svg", ".png", ".pdf")
_REMEDY = (
    "it needs kaleido (pip install kaleido) and Chromium or Chrome "
    "(BROWSER_PATH names one that is not found); .html needs neither"
)


def save(figure: Picture | Figure, path: str | Path) -> Path:
    """Write a figure, or a picture of `ptxlab.views`, as .svg, .pdf, .png or .html.

    Pictures and unchanged figures of ptxlab are written as they are drawn: .svg needs nothing else, .pdf has
    lines and letters, .png has two pixels for one. .pdf and .png go through kaleido and Chromium, and so does
    the .svg of a figure that was changed or made elsewhere. .html is one file that works offline.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save(ptxlab.views.fragment(ins, "C"), f"{folder}/c.svg").read_text(encoding="utf-8")[:4]
    '<svg'
    """
    file = as_path(path, "path")
    suffix = file.suffix.lower()
    if suffix not in _SUFFIXES:
        ending = quoted(file.suffix) if file.suffix else "no suffix"
        raise PtxlabError(f"{_short(file.name)}: a figure is written as {listing(_SUFFIXES)}, found {ending}")
    if not os.path.isdir(file.parent):  # noqa: PTH112 - Path.is_dir raises where a name is too long
        raise PtxlabError(f"{_short(str(file))}: the folder {_short(str(file.parent))} does not exist")
    content = _content(figure, file)
    try:
        write_atomically(file, content)
    except OSError as error:
        raise PtxlabError(f"{_short(str(file))}: the figure could not be written ({reason(error)})") from None
    return file


def _content(figure: Picture | Figure, file: Path) -> str | bytes:
    """What the file is to hold."""
    suffix = file.suffix.lower()
    source = _source(figure)
    if suffix == ".svg" and isinstance(source, Drawing):
        return svg_document(source)
    if suffix == ".svg" and isinstance(source, LineDrawing):
        return source.svg
    if suffix == ".html":
        shown = figure.figure() if isinstance(figure, Picture) else figure
        page: str = shown.to_html(include_plotlyjs=True, full_html=True, config={"displaylogo": False})
        return page
    if not isinstance(source, Drawing):
        return _image(figure, file)
    require_plotly()
    from .plotly_figure import svg_carrier

    return _image(svg_carrier(source), file)


def _short(text: str) -> str:
    """A path for a message: as it is, or its last letters."""
    text = text if text.isprintable() else quoted(text)
    return text if len(text) <= 100 else f"...{text[-60:]}"


def _source(figure: Picture | Figure) -> Drawing | NumberMatrix | LineDrawing | None:
    """What a picture or a figure shows; None for a figure that was made elsewhere, or changed since."""
    if isinstance(figure, Picture):
        return figure.drawing()
    require_plotly()
    from .plotly_figure import Chart

    if not callable(getattr(figure, "write_image", None)):
        raise PtxlabError(
            f"found {quoted(figure)}; what is saved is a figure of Plotly or a picture of ptxlab.views"
        )
    return figure.source if isinstance(figure, Chart) and figure.unchanged else None


def _image(figure: Figure, file: Path) -> bytes:
    """The figure as kaleido draws it, in the format that the file's suffix names."""
    with tempfile.TemporaryDirectory() as folder:
        image = Path(folder) / file.name
        image.touch()
        try:
            figure.write_image(image, scale=2 if file.suffix.lower() == ".png" else 1)
        except (
            Exception
        ) as error:  # kaleido has its own for a missing package, a missing browser, one that fails
            message = str(error).strip()
            first_line = message.splitlines()[0] if message else type(error).__name__
            raise PtxlabError(f"{file.name} could not be written ({first_line}); {_REMEDY}") from error
        return image.read_bytes()
