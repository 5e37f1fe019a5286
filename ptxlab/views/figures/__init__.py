"""Plotly figures of fragments, matrices, metadata, block scales, registers and traces, drawn from the plain data of `ptxlab.views`.

Plotly loads at the first call; `svg`, `save(picture, "x.svg")` and `ptxlab layout --svg` draw the same pictures without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ... import views as describe
from ...errors import PtxlabError, listing
from ...isa.modifiers import Modifiers
from ...isa.operands import Operands
from ...numerics.trace import trace as trace_of
from .chart import carrier, chart, heat, picture_of
from .drawing import draw
from .svg import inline, svg

if TYPE_CHECKING:
    from ...isa.mma import MmaForm
    from ...numerics.trace import Trace
    from .. import Picture
    from ..pictures import Label

__all__ = [
    "figure",
    "fragment",
    "inline",
    "lane",
    "matrix",
    "metadata",
    "product",
    "save",
    "scales",
    "svg",
    "trace",
    "values",
]


def fragment(
    ins: MmaForm,
    operand: str = "A",
    *,
    label: Label = "auto",
    lane: int | None = None,
    warp: int | None = None,
    dense: bool = False,
    swizzle: int = 0,
) -> Any:
    """Fragment layout of an operand as the PTX manual draws it, coloured by lane; `lane` puts one lane in the focus.

    `label` is "elements" (``T0:{a0..a7}``), "registers", "lanes" or "none"; by itself it drops labels that would not fit.
    `warp` draws only the rows of one warp of a warpgroup. `dense` draws A of a sparse instruction as it is meant instead of as
    it is stored. An operand in shared memory (B of wgmma) shows its tile, with that swizzle.

    >>> import ptxlab
    >>> fragment(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "C").data[0].text[9, 3]   # what the pointer shows there
    'C[9][3]<br>lane 5, element c3<br>register 3, bits [31..0]'
    """
    return chart(
        describe.fragment(ins, operand, label=label, lane=lane, warp=warp, dense=dense, swizzle=swizzle)
    )


def metadata(
    ins: MmaForm, nibbles: ArrayLike | None = None, selector: int = 0, *, warp: int | None = None
) -> Any:
    """Which lane's which bits describe every chunk of sparse A; with nibbles, also their value and the columns they keep.

    `warp` draws only the rows of one warp of a warpgroup.

    >>> import ptxlab
    >>> metadata(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), selector=1).data[0].text[9, 3]
    'row 9, chunk 3: columns 24..31 of A<br>lane 7, bits [15..12] of E, selector 1'
    """
    return chart(describe.metadata(ins, nibbles, selector, warp=warp))


def lane(ins: MmaForm, operand: str, lane: int, registers: ArrayLike | None = None) -> Any:
    """The registers of one lane as bit fields; with registers, the bits and the values they stand for.

    >>> import ptxlab
    >>> lane(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "A", 4, [0, 0, 0, 0x00500000]).data[0].text[3, 10]
    'a29 = A[9][37]<br>lane 4, register 3, bits [23..20]<br>0101 = 5'
    """
    return chart(describe.lane(ins, operand, lane, registers))


def scales(
    ins: MmaForm, scale_a: ArrayLike | None = None, scale_b: ArrayLike | None = None, **selectors: int
) -> Any:
    """Which lane's which byte scales which block, and with scales their values; selectors are byte_id_a, thread_id_a, byte_id_b, thread_id_b.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0")
    >>> scales(ins, thread_id_a=1).data[0].text[9, 0]
    'scales A[9], k 0..31<br>lane 7, byte 0 (bits [7..0]) of scale-a-data'
    """
    return chart(describe.scales(ins, scale_a, scale_b, **selectors))


def trace(found: Trace) -> Any:
    """Why an element of D has its bits: terms as rows, powers of two as columns, lost bits grey behind the cut.

    Below the last step stand D, the exact result and what a chain of float32 FMAs gives, bits that are not the exact ones framed.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> figure = trace(ins.trace(np.full((16, 16), 0.1), np.full((16, 8), 3), None, 0, 0))
    >>> figure.layout.meta["title"]
    'D[0][0] = 4.79882812 of mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32'
    """
    return chart(describe.trace(found))


def matrix(
    values: ArrayLike,
    title: str = "",
    *,
    axes: tuple[str, str] = ("row", "column"),
    centred: bool | None = None,
) -> Any:
    """A matrix of numbers as a heat map, with the numbers in it where they fit; about zero where it has both signs.

    >>> matrix([[1, -2], [3, 4]], "D").data[0].z.tolist()
    [[1.0, -2.0], [3.0, 4.0]]
    """
    found = np.asarray(values)
    if found.ndim != 2 or found.dtype.kind not in "iufb":
        raise PtxlabError(
            f"matrix: found {found.dtype} of shape {found.shape}; it takes numbers [rows, columns]"
        )
    numbers = found.astype(np.float64)
    if centred is None:
        centred = bool((numbers < 0).any())
    return heat(numbers, title, axes, centred)


def values(ins: MmaForm, operand: str, matrix: ArrayLike | None = None, **options: Any) -> Any:
    """A matrix of an instruction with its numbers in the cells, coloured by lane; `registers=` or `codes=` in the place of the matrix.

    For sparse instructions "A" is the dense matrix, with dots for what is not stored, and "stored" the half that is. Options are those of
    `ptxlab.views.values`: `shown` ("value", "hex", "binary", "lane"), `colour` ("lane", "register", "warp", "value", "nothing"), `lane`, `warp`.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> values(ins, "A", np.tile(np.arange(-8, 8), (16, 4))).data[1].text[9, 5]   # the second band: k 32..63
    'A[9][37] = -3, code 0xd<br>lane 4, element a29<br>register 3, bits [23..20]'
    """
    return chart(describe.values(ins, operand, matrix, **options))


def product(
    ins: MmaForm,
    A: ArrayLike | None = None,
    B: ArrayLike | None = None,
    C: ArrayLike | None = None,
    **options: Any,
) -> Any:
    """A left, B above, D below B, with their numbers; without matrices, who holds what of them. For sparse A also what is stored of it.

    Options are those of `ptxlab.views.product`: `shown`, `colour` and `lane` as in `values`, and what the emulator takes.

    >>> import ptxlab
    >>> figure = product(ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"), np.ones((16, 16)), np.eye(16, 8))
    >>> [heat.name for heat in figure.data if heat.type == "heatmap"]
    ['lanes', 'B 16x8 f16', 'A 16x16 f16', 'D 16x8 f32']
    """
    return chart(describe.product(ins, A, B, C, **options))


def figure(ins: MmaForm, what: str = "product", **options: Any) -> Any:
    """The figure of what is asked for: "product", "A", "B", "C", "D", "stored", "metadata", "scales", "lane" or "trace".

    A matrix with numbers is drawn as `values` does it, without as `fragment`; of a sparse instruction "A" is the dense matrix.
    The other names stand for the functions here; "lane" takes `lane`, and `held` with the registers of its operands.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> figure(ins, "lane", lane=5).layout.meta["title"]
    'Lane 5 of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32'
    >>> figure(ins, "stored")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: no figure 'stored' of mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32; there are product, A, B, C, D, lane, trace
    """
    return chart(_picture(ins, what, options))


def _trace(
    ins: MmaForm,
    A: Any,
    B: Any,
    C: Any,
    row: int,
    col: int,
    *,
    scale_a: Any = None,
    scale_b: Any = None,
    model: str | None = None,
    **modifiers: Any,
) -> Trace:
    operands = Operands.from_matrices(ins, A, B, C, scale_a, scale_b, Modifiers.from_keywords(modifiers))
    return trace_of(operands, row, col, model=model)


def _picture(ins: MmaForm, what: str, options: dict[str, Any]) -> Picture:
    known = ["product", "A", "B", "C", "D"]
    known += ["stored", "metadata"] * ins.sparse + ["scales"] * (ins.scale_a is not None) + ["lane", "trace"]
    if what not in known:
        raise PtxlabError(f"no figure {what!r} of {ins.mnemonic}; there are {listing(known, 12)}")
    if what == "trace":
        return describe.trace(_trace(ins, **{"C": None, **options}))
    if what == "lane":
        return describe.registers(ins, **{"lane": 0, **options})
    if what == "product":
        return describe.product(ins, **options)
    if what in ("metadata", "scales"):
        return describe.metadata(ins, **options) if what == "metadata" else describe.scales(ins, **options)
    if {"matrix", "codes", "registers"} & options.keys():
        return describe.values(ins, what, **options)
    return describe.fragment(
        ins,
        "A" if what == "stored" else what,
        dense=what == "A" and ins.sparse and ins.a.layout is not None,
        **options,
    )


def save(figure: Any, path: str | Path) -> Path:
    """Write a figure, or a picture of `ptxlab.views`, as .svg, .pdf, .png or .html.

    What was drawn here is written as it is drawn: .svg needs nothing else, .pdf has lines and letters, .png has two pixels for one; the
    last two go through kaleido and Chromium, and so does a figure that was changed, or made otherwise. .html is one file that works offline.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32")
    >>> save(ptxlab.views.fragment(ins, "C"), "c.svg").read_text(encoding="utf-8")[:4]
    '<svg'
    >>> save(matrix([[1, 2]]), "d.jpeg")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: d.jpeg: a figure is written as .html, .svg, .png, .pdf, found '.jpeg'
    """
    to = Path(path)
    known, suffix = (".html", ".svg", ".png", ".pdf"), to.suffix.lower()
    if suffix not in known:
        raise PtxlabError(
            f"{to.name}: a figure is written as {listing(known)}, found {to.suffix or 'no suffix'!r}"
        )
    if not to.parent.is_dir():
        raise PtxlabError(f"{to}: the folder {to.parent} does not exist")
    picture = picture_of(figure)
    if suffix == ".svg" and picture is not None:
        to.write_text(svg(picture), encoding="utf-8")
        return to
    if suffix == ".html":
        shown = chart(picture) if picture is not None else figure
        shown.write_html(to, include_plotlyjs=True, full_html=True, config={"displaylogo": False})
        return to
    if picture is not None:
        drawing = draw(picture)
        figure = carrier(svg(picture), drawing.width, drawing.height)
    try:
        figure.write_image(to, scale=2 if suffix == ".png" else 1)
    except Exception as error:  # kaleido raises its own kinds for a missing package, a missing browser and a browser that fails
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        remedy = "it needs kaleido (pip install kaleido) and Chromium or Chrome (BROWSER_PATH names one that is not found); .html needs neither"
        raise PtxlabError(f"{to.name} could not be written ({reason}); {remedy}") from error
    return to
