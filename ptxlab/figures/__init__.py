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

__all__ = ["fragment", "lane", "matrix", "metadata", "save", "scales", "svg"]


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
    """
    return chart(describe.fragment(ins, operand, label=label, lane=lane, warp=warp, dense=dense, swizzle=swizzle))


def metadata(ins: Instruction, nibbles: ArrayLike | None = None, selector: int = 0, *, warp: int | None = None) -> Any:
    """Which lane's which bits describe every chunk of sparse A; with nibbles, also their value and the columns they keep.

    `warp` draws only the rows of one warp of a warpgroup.
    """
    return chart(describe.metadata(ins, nibbles, selector, warp=warp))


def lane(ins: Instruction, operand: str, lane: int, registers: ArrayLike | None = None) -> Any:
    """The registers of one lane as bit fields; with registers, the bits and the values they stand for."""
    return chart(describe.lane(ins, operand, lane, registers))


def scales(ins: Instruction, **selectors: int) -> Any:
    """Which lane's which byte scales which block; selectors are byte_id_a, thread_id_a, byte_id_b, thread_id_b."""
    return chart(describe.scales(ins, **selectors))


def matrix(values: ArrayLike, title: str = "", *, axes: tuple[str, str] = ("row", "column"), centred: bool | None = None) -> Any:
    """A matrix of numbers as a heat map, with the numbers in it where they fit; about zero where it has both signs."""
    found = np.asarray(values)
    if found.ndim != 2 or found.dtype.kind not in "iufb":
        raise PtxlabError(f"matrix: found {found.dtype} of shape {found.shape}; it takes numbers [rows, columns]")
    numbers = found.astype(np.float64)
    if centred is None:
        centred = bool((numbers < 0).any())
    return heat(numbers, title, axes, centred)


def save(figure: Any, path: str | Path) -> Path:
    """Write a figure as .html (self-contained, works offline), .svg, .png or .pdf (these three through kaleido and Chromium)."""
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
