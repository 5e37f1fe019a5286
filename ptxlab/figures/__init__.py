"""Plotly figures of fragments, metadata, block scales and registers, drawn from the plain data of `ptxlab.describe`.

Plotly loads at the first call; `svg` and `ptxlab layout --svg` draw the same pictures without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .. import describe
from ..errors import PtxlabError, listing
from .chart import chart, heat
from .svg import svg

if TYPE_CHECKING:
    from ..describe.pictures import Label
    from ..instruction import Instruction
    from ..trace import Trace

__all__ = ["fragment", "lane", "matrix", "metadata", "save", "scales", "svg", "trace"]


def fragment(
    ins: Instruction,
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
    return chart(describe.fragment(ins, operand, label=label, lane=lane, warp=warp, dense=dense, swizzle=swizzle))


def metadata(ins: Instruction, nibbles: ArrayLike | None = None, selector: int = 0, *, warp: int | None = None) -> Any:
    """Which lane's which bits describe every chunk of sparse A; with nibbles, also their value and the columns they keep.

    `warp` draws only the rows of one warp of a warpgroup.

    >>> import ptxlab
    >>> metadata(ptxlab.instruction("mma.sp.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), selector=1).data[0].text[9, 3]
    'row 9, chunk 3: columns 24..31 of A<br>lane 7, bits [15..12] of E, selector 1'
    """
    return chart(describe.metadata(ins, nibbles, selector, warp=warp))


def lane(ins: Instruction, operand: str, lane: int, registers: ArrayLike | None = None) -> Any:
    """The registers of one lane as bit fields; with registers, the bits and the values they stand for.

    >>> import ptxlab
    >>> lane(ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32"), "A", 4, [0, 0, 0, 0x00500000]).data[0].text[3, 10]
    'a29 = A[9][37]<br>lane 4, register 3, bits [23..20]<br>0101 = 5'
    """
    return chart(describe.lane(ins, operand, lane, registers))


def scales(ins: Instruction, **selectors: int) -> Any:
    """Which lane's which byte scales which block; selectors are byte_id_a, thread_id_a, byte_id_b, thread_id_b.

    >>> import ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0")
    >>> scales(ins, thread_id_a=1).data[0].text[9, 0]
    'scales A[9], k 0..31<br>lane 7, byte 0 (bits [7..0]) of scale-a-data'
    """
    return chart(describe.scales(ins, **selectors))


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


def matrix(values: ArrayLike, title: str = "", *, axes: tuple[str, str] = ("row", "column"), centred: bool | None = None) -> Any:
    """A matrix of numbers as a heat map, with the numbers in it where they fit; about zero where it has both signs.

    >>> matrix([[1, -2], [3, 4]], "D").data[0].z.tolist()
    [[1.0, -2.0], [3.0, 4.0]]
    """
    found = np.asarray(values)
    if found.ndim != 2 or found.dtype.kind not in "iufb":
        raise PtxlabError(f"matrix: found {found.dtype} of shape {found.shape}; it takes numbers [rows, columns]")
    numbers = found.astype(np.float64)
    if centred is None:
        centred = bool((numbers < 0).any())
    return heat(numbers, title, axes, centred)


def save(figure: Any, path: str | Path) -> Path:
    """Write a figure as .html (self-contained, works offline), .svg, .png or .pdf (these three through kaleido and Chromium).

    >>> figure = matrix([[1, 2]])
    >>> save(figure, "d.jpeg")
    Traceback (most recent call last):
        ...
    ptxlab.errors.PtxlabError: d.jpeg: a figure is written as .html, .svg, .png, .pdf, found '.jpeg'
    """
    to = Path(path)
    known = (".html", ".svg", ".png", ".pdf")
    if to.suffix.lower() not in known:
        raise PtxlabError(f"{to.name}: a figure is written as {listing(known)}, found {to.suffix or 'no suffix'!r}")
    if not to.parent.is_dir():
        raise PtxlabError(f"{to}: the folder {to.parent} does not exist")
    if to.suffix.lower() == ".html":
        figure.write_html(to, include_plotlyjs=True, full_html=True, config={"displaylogo": False})
        return to
    try:
        figure.write_image(to, scale=2 if to.suffix.lower() == ".png" else 1)
    except Exception as error:  # kaleido raises its own kinds for a missing package, a missing browser and a browser that fails
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        remedy = "it needs kaleido (pip install kaleido) and Chromium or Chrome (BROWSER_PATH names one that is not found); .html needs neither"
        raise PtxlabError(f"{to.name} could not be written ({reason}); {remedy}") from error
    return to
