"""Plotly figures of tensor-core instructions: fragments, matrices, metadata, scales, registers and traces.

Every function takes what the function of its name in `ptxlab.views` takes, and gives the picture that it
describes as a Plotly figure, at its natural size in pixels. `title=False` leaves out the title and the notes
below it, for papers and slides with captions of their own.

>>> from ptxlab import figures, instruction
>>> ins = instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
>>> figure = figures.fragment(ins, "A", lane=5)   # the lane that holds each element of A; a notebook shows it
>>> figure.data[0].text[9, 3].split("<br>")   # the tooltip there
['A[9][3]', 'lane 5, element a3', 'register 1, bits [31..16]']
>>> figures.save(figure, "fragment-a.svg").name   # also .pdf, .png, .html
'fragment-a.svg'

Plotly loads at the first figure; `ptxlab.views`, `save(picture, "x.svg")` and `ptxlab layout --svg` draw the
same pictures without it.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
from numpy.typing import ArrayLike

from . import views
from ._util.arguments import are_names, as_array, as_flag, as_path, as_text, is_name
from ._util.files import reason, write_atomically
from .errors import PtxlabError, listing, quoted
from .isa.catalog import Product
from .isa.form import Form
from .isa.modifiers import Modifiers
from .isa.operation import Operation
from .isa.parse import parse_any
from .numerics.trace import trace as trace_operands
from .views.charts import LineChart
from .views.drawing import Drawing
from .views.matrix_pictures import numbers as number_matrix
from .views.picture import Picture, require_plotly
from .views.svg import svg_document
from .views.throughput import throughput as _throughput
from .views.tile_pictures import operand_tile
from .views.timeline_picture import Timeline

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "banks",
    "box",
    "bytes_read",
    "chart",
    "chip",
    "data_paths",
    "descriptor",
    "figure",
    "formats",
    "fragment",
    "instruction_descriptor",
    "lane",
    "matrix",
    "metadata",
    "named_layout",
    "nibble",
    "product",
    "repack",
    "roofline",
    "runs",
    "save",
    "scale_tile",
    "scales",
    "svg",
    "swizzle",
    "swizzle_bits",
    "tensor_memory",
    "tensor_registers",
    "throughput",
    "tile",
    "timeline",
    "trace",
    "values",
]

_Options = ParamSpec("_Options")
#: What functions of `ptxlab.views` draw.
AnyPicture = Picture | LineChart | Timeline


def __dir__() -> list[str]:
    return sorted(__all__)


def _figure_of(view: Callable[_Options, AnyPicture]) -> Callable[_Options, Figure]:
    @wraps(view)
    def draw(*arguments: _Options.args, **options: _Options.kwargs) -> Figure:
        return view(*arguments, **options).figure()

    described = inspect.signature(view).replace(return_annotation="Figure")
    draw.__signature__ = described  # type: ignore[attr-defined]
    return draw


banks = _figure_of(views.banks)
box = _figure_of(views.box)
bytes_read = _figure_of(views.bytes_read)
chip = _figure_of(views.chip)
data_paths = _figure_of(views.data_paths)
descriptor = _figure_of(views.descriptor)
formats = _figure_of(views.formats)
fragment = _figure_of(views.fragment)
instruction_descriptor = _figure_of(views.instruction_descriptor)
lane = _figure_of(views.lane)
metadata = _figure_of(views.metadata)
named_layout = _figure_of(views.named_layout)
nibble = _figure_of(views.nibble)
product = _figure_of(views.product)
repack = _figure_of(views.repack)
roofline = _figure_of(views.roofline)
runs = _figure_of(views.runs)
scale_tile = _figure_of(views.scale_tile)
scales = _figure_of(views.scales)
swizzle = _figure_of(views.swizzle)
swizzle_bits = _figure_of(views.swizzle_bits)
tensor_memory = _figure_of(views.tensor_memory)
tensor_registers = _figure_of(views.tensor_registers)
throughput = _figure_of(_throughput)
tile = _figure_of(views.tile)
timeline = _figure_of(views.timeline)
trace = _figure_of(views.trace)
values = _figure_of(views.values)


def chart(picture: AnyPicture, *, title: bool = True) -> Figure:
    """Any picture of `ptxlab.views` as a Plotly figure, at its natural size in pixels.

    `title=False`, here and in every other function, leaves out the title and the notes below it, for papers
    and slides with captions of their own.
    """
    return _as_picture(picture).with_title(title).figure()


def svg(picture: AnyPicture, *, title: bool = True) -> str:
    """Any picture of `ptxlab.views` as one SVG document, without Plotly."""
    return _as_picture(picture).with_title(title).svg()


def _as_picture(picture: object) -> AnyPicture:
    if not isinstance(picture, AnyPicture):
        raise PtxlabError(f"found {quoted(picture)} where a picture belongs; ptxlab.views makes them")
    return picture


_MAX_CELLS = 1 << 20  # of a heat map; a browser shows no more


def matrix(
    values: ArrayLike,
    title: str | bool = "",
    *,
    axes: tuple[str, str] = ("row", "column"),
    centred: bool | None = None,
) -> Figure:
    """A matrix of numbers as a heat map, with the numbers where they fit; centred on zero if any is negative.

    Without a `title`, or with `title=False`, it has none.

    >>> matrix([[1, -2], [3, 4]], "D").data[0].z.tolist()
    [[1.0, -2.0], [3.0, 4.0]]
    """
    array = as_array(values, "matrix")
    if array.ndim != 2 or not array.size or array.dtype.kind not in "iufb":
        raise PtxlabError(
            f"matrix: found {array.dtype} of shape {array.shape}; it takes numbers [rows, columns]"
        )
    if array.size > _MAX_CELLS:
        raise PtxlabError(f"matrix: found shape {array.shape}; a figure has room for {_MAX_CELLS} cells")
    heading = "" if title is False else as_text(title, "title")
    if not are_names(axes, 2):
        raise PtxlabError(f"axes={quoted(axes)}: they are two names, such as ('row', 'column')")
    with np.errstate(over="ignore"):  # of a longdouble
        numbers = array.astype(np.float64)
    centred = bool((numbers < 0).any()) if centred is None else as_flag(centred, "centred")
    require_plotly()
    from .views.plotly_figure import NumberMatrix, heat_map

    content = (numbers, heading, axes, centred)
    return heat_map(NumberMatrix(*content, drawing=lambda: number_matrix(*content).drawing()))


# -- figures of an instruction by name -------------------------------------------------------------------

#: Options that bring the numbers of a matrix.
_NUMBERS = {"matrix", "codes", "registers"}


def figure(ins: Form | str, what: str | None = None, *, title: bool = True, **options: Any) -> Figure:
    """The figure called "product", "A", "B", "C", "D", "stored", "metadata", "scales", "lane" or "trace".

    A matrix with numbers is drawn as `values` does it, without them as `fragment` does; of a sparse
    instruction "A" is the dense matrix. The other names stand for the functions here; "lane" takes `lane`,
    and `held`, the registers of its operands by name. `title=False` leaves out title and notes.

    Of tcgen05.mma there are the same; its matrices in tensor memory ("D", "A", "E", "SFA", "SFB") take,
    without numbers, the options of `tensor_memory`, and "descriptor" has the bits of the instruction
    descriptor. Of tcgen05.ld and .st, "R" takes those of `tensor_registers`, and "lane" draws a thread; of
    tcgen05.cp there is "T", what it writes; of ldmatrix and other transfers their fragment, and "lane".

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> figure(ins, "lane", lane=5).layout.meta["title"]
    'Lane 5 of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32'
    """
    return form_picture(ins, what, **options).with_title(title).figure()


def form_picture(ins: Form | str, what: str | None = None, **options: Any) -> Picture:
    """The picture that `figure` draws."""
    form = parse_any(ins)
    names = _names(form)
    if not names:
        raise PtxlabError(
            f"no figure of {form.mnemonic}: it has no matrices; tcgen05.mma, .ld, .st and .cp have figures"
        )
    name = what
    if name is None:
        name = "D" if "D" in form.tensors else names[0]
    if not is_name(name, names):
        raise PtxlabError(f"no figure {quoted(what)} of {form.mnemonic}; there are {listing(names, 14)}")
    view, arguments, defaults = _view(form, name, has_numbers=bool(_NUMBERS & options.keys()))
    parameters = inspect.signature(view).parameters
    allowed = [option for option in parameters if option not in {*arguments, "title", "modifiers"}]
    allowed.append("title")
    if "modifiers" in parameters:
        allowed += [modifier.name for modifier in fields(Modifiers)]
    unknown = [option for option in options if option not in allowed]
    if unknown:
        raise PtxlabError(
            f"the figure {name!r} has no option {quoted(unknown[0])}; there are {listing(allowed, 30)}"
        )
    if name == "trace":
        missing = [option for option in _TRACED if option not in options]
        if missing:
            raise PtxlabError(f"the figure {name!r} needs {listing(_TRACED)}; {missing[0]} is missing")
    drawn: Picture = view(**{**arguments, **defaults, **options})
    return drawn


def _names(form: Form) -> list[str]:
    """The names of all pictures of an instruction."""
    if not isinstance(form, Product):
        return [*form.tensors, *form.operands, "lane"] if form.operands else [*form.tensors]
    names = ["product", "A", "B", "C", "D"]
    if form.sparse:
        names += ["stored", "metadata"]
    if form.scale_a is not None:
        names.append("scales")
    names += ["lane", "trace"]
    if form.descriptor is None:
        return names
    return [*names, *(name for name in form.tensors if name not in names), "descriptor"]


#: A function that draws pictures, the arguments that a name stands for, and defaults of its options.
_View = tuple[Callable[..., Picture], Mapping[str, Any], Mapping[str, Any]]


def _view(form: Form, name: str, *, has_numbers: bool) -> _View:
    """The view that a name stands for; of one operand with its numbers, or without."""
    if not isinstance(form, Product):
        if name == "lane":
            return views.lane, {"ins": form, "operand": next(iter(form.operands))}, {"lane": 0}
        if name in form.tensors:
            return views.tensor_memory, {"ins": form, "operand": name}, {}
        if form.operand(name).holds_words:
            return views.tensor_registers, {"move": form}, {}
        return views.fragment, {"ins": form, "operand": name}, {}
    match name:
        case "product":
            return views.product, {"ins": form}, {}
        case "metadata":
            return views.metadata, {"ins": form}, {}
        case "scales":
            return views.scales, {"ins": form}, {}
        case "lane":
            return views.registers, {"ins": form}, {"lane": 0}
        case "trace":
            return _traced, {"ins": form}, {}
        case "descriptor":
            return views.instruction_descriptor, {"descriptor": form}, {}
    if has_numbers:
        return views.values, {"ins": form, "operand": name}, {}
    if form.tensors:
        operand = {"C": "D", "stored": "A"}.get(name, name)
        if operand in form.tensors:
            return views.tensor_memory, {"ins": form, "operand": operand}, {}
        return operand_tile, {"ins": form, "op": form.operands[operand]}, {}
    if name == "stored":
        return views.fragment, {"ins": form, "operand": "A"}, {}
    dense = name == "A" and form.sparse and form.a.layout is not None
    return views.fragment, {"ins": form, "operand": name}, {"dense": dense}


_TRACED = ("A", "B", "row", "col")  # options of the figure of a trace that cannot be left out


def _traced(
    ins: Product,
    A: ArrayLike,
    B: ArrayLike,
    C: ArrayLike | None = None,
    row: int = 0,
    col: int = 0,
    *,
    scale_a: ArrayLike | None = None,
    scale_b: ArrayLike | None = None,
    model: str | None = None,
    **modifiers: int | bool,
) -> Picture:
    """The trace of an element of D as a picture, of matrices as `ins.trace` takes them."""
    operands = Operation.from_matrices(ins, A, B, C, scale_a, scale_b, Modifiers.from_keywords(modifiers))
    return views.trace(trace_operands(operands, row, col, model=model))


# -- files -----------------------------------------------------------------------------------------------

_SUFFIXES = (".html", ".svg", ".png", ".pdf")
_REMEDY = (
    "it needs kaleido (pip install kaleido) and Chromium or Chrome "
    "(BROWSER_PATH names one that is not found); .html needs neither"
)


def save(figure: AnyPicture | Figure, path: str | Path) -> Path:
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


def _content(figure: AnyPicture | Figure, file: Path) -> str | bytes:
    """What the file is to hold."""
    suffix = file.suffix.lower()
    source = _source(figure)
    if suffix == ".svg" and isinstance(source, Drawing):
        return svg_document(source)
    if suffix == ".svg" and isinstance(source, LineChart | Timeline):
        return source.svg()
    if suffix == ".html":
        page: str = _plotted(figure).to_html(
            include_plotlyjs=True, full_html=True, config={"displaylogo": False}
        )
        return page
    if not isinstance(source, Drawing):
        return _image(_plotted(figure), file)
    require_plotly()
    from .views.plotly_figure import svg_carrier

    return _image(svg_carrier(source), file)


def _plotted(figure: AnyPicture | Figure) -> Figure:
    """A picture as a figure of Plotly."""
    return figure.figure() if isinstance(figure, AnyPicture) else figure


def _short(text: str) -> str:
    """A path for a message: as it is, or its last letters."""
    text = text if text.isprintable() else quoted(text)
    return text if len(text) <= 100 else f"...{text[-60:]}"


def _source(figure: AnyPicture | Figure) -> object:
    """What a picture or a figure shows; None for a figure that was made elsewhere, or changed since."""
    if isinstance(figure, Picture):
        return figure.drawing()
    if isinstance(figure, AnyPicture):
        return figure
    require_plotly()
    from .views.plotly_figure import Chart

    if not callable(getattr(figure, "write_image", None)):
        raise PtxlabError(
            f"found {quoted(figure)}; what is saved is a figure of Plotly or a picture of ptxlab.views"
        )
    return figure.source if isinstance(figure, Chart) and figure.unchanged else None


_PATIENCE = 60  # seconds; a browser that died while it was starting never answers kaleido


def _image(figure: Figure, file: Path) -> bytes:
    """The figure as kaleido draws it, in the format that the file's suffix names."""
    failures: list[Exception] = []

    def draw() -> None:
        try:
            figure.write_image(image, scale=2 if file.suffix.lower() == ".png" else 1)
        except Exception as error:  # kaleido's own: a missing package, a missing browser, one that fails
            failures.append(error)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        image = Path(folder) / file.name
        image.touch()
        drawing = threading.Thread(target=draw, daemon=True)
        drawing.start()
        drawing.join(_PATIENCE)
        if drawing.is_alive():
            raise PtxlabError(
                f"{file.name} could not be written: the browser did not answer within {_PATIENCE} seconds; "
                "try again"
            )
        for error in failures:
            message = str(error).strip()
            first_line = message.splitlines()[0] if message else type(error).__name__
            raise PtxlabError(f"{file.name} could not be written ({first_line}); {_REMEDY}") from error
        return image.read_bytes()
