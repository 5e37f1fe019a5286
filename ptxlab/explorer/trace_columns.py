"""Why a cell of D has its bits, on two chips side by side."""

from __future__ import annotations

from typing import Any

from .. import views
from ..isa.targets import GENERATIONS
from ..numerics.divergence import Place, find_divergence
from ..numerics.steps import Trace
from ..views.trace_picture import row_of
from ..views.trace_text import comparisons, decimal, divergence_text
from .serialise import picture_data


def trace_columns(one: Trace, other: Trace) -> dict[str, Any]:
    """The pictures of two traces as two columns, with the step and the row at which they part.

    >>> import numpy as np, ptxlab
    >>> ins = ptxlab.instruction("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> A, B = np.zeros((16, 16)), np.ones((16, 8))
    >>> A[0, :3] = 1024, -1024, 2.0**-15
    >>> data = trace_columns(*(ins.trace(A, B, None, 0, 0, model=chip) for chip in ("sm_90", "sm_80")))
    >>> [column["parts"] for column in data["columns"]], data["columns"][1]["heading"]
    ([[0, 3], [0, 3]], 'sm_80 Ampere: 0 = 0x00000000')
    """
    divergence = find_divergence(one, other)
    places = (None, None) if divergence is None else divergence.places
    columns = [_column(trace, place) for trace, place in zip((one, other), places, strict=True)]
    cell = f"D[{one.row}][{one.col}]"
    shared = [
        f"{name}: {value}" + (f" ({remark})" if remark else "")
        for name, value, remark in comparisons(one)
        if name != "error"
    ]
    return {
        "title": f"{cell} on {one.chip} and {other.chip}",
        "lead": divergence_text(one, other, divergence),
        "notes": [*shared, columns[0].pop("legend")],
        "grids": [],
        "columns": [{name: part for name, part in column.items() if name != "legend"} for column in columns],
    }


def _column(trace: Trace, place: Place | None) -> dict[str, Any]:
    data = picture_data(views.trace(trace))
    generation = GENERATIONS.get(trace.chip, "")
    error = [f"error: {value}" for name, value, _ in comparisons(trace) if name == "error"]
    return {
        "heading": f"{trace.chip} {generation}: {decimal(trace.value)} = {trace.steps[-1].code_text}",
        "notes": error,
        "legend": data["notes"][-1],
        "grids": data["grids"],
        "parts": [] if place is None else [place.step, row_of(trace, place)],
    }
