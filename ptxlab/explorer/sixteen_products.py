"""Sixteen products, one cell: an mma that one plays, drags and edits, down to the bits of one element."""

from __future__ import annotations

import json
from typing import Any

import anywidget
import numpy as np
import traitlets

from ..isa.parse import parse_product
from ..isa.targets import GENERATIONS
from ..views import trace
from ..views.static_fallback import StaticFallback
from ..views.static_image import static_image
from .bundle import script, sheets
from .page.instruction_info import adder, lane_colours

CELL = (3, 5)
_INSTRUCTION = "mma.m16n8k16.f32.f16"
#: The chips that are compared, each with a product that has it.
_CHIPS = {"sm_90": "An H200", "sm_80": "An A100"}
# Row 3 of A and column 5 of B: two large products cancel, one bit of a small one is kept by sm_90 alone.
_ROW = (3, 1024, 2, 0.125, 1.375, -1024, 0.0625, 1.625, 1, -1.25, 3, 4, 2.625, 2, 6, -3)
_COLUMN = (2, 512, -3, 0.125, 0.6875, 512, 0.0625, 0.8125, 3, 0.75, -2, 2, -2.25, -1, 1, 0)
_ALONE = [1, 3, 5, 6]  # large and small factors meet zeros everywhere else: D is short to read


def scene() -> dict[str, Any]:
    """What the page draws: the matrices, who holds D, and how each chip adds."""
    ins = parse_product(_INSTRUCTION)
    random = np.random.default_rng(16)
    A, B = (
        random.integers(-4, 5, ins.a.shape).astype(float),
        random.integers(-4, 5, ins.b.shape).astype(float),
    )
    A[:, _ALONE], B[_ALONE] = 0, 0
    A[CELL[0]], B[:, CELL[1]] = _ROW, _COLUMN
    colours = lane_colours()
    return {
        "A": A.tolist(),
        "B": B.tolist(),
        "cell": CELL,
        "lanes": [ins.d.where(row, column)[0].lane for row in range(ins.m) for column in range(ins.n)],
        "chips": [
            {**adder(ins, chip), "name": f"{name} ({GENERATIONS[chip]})"} for chip, name in _CHIPS.items()
        ],
        "colours": {"light": colours["light"], "dark": colours["dark"]},
    }


class SixteenProducts(StaticFallback, anywidget.AnyWidget):
    """D = A · B of `mma.m16n8k16` with f16, product by product, then the bits of D[3][5] on two chips.

    Any number of A and B can be changed. The page adds as the chips do; `A` and `B` are what it shows.

    >>> products = SixteenProducts()
    >>> products.A.shape, products.B.shape
    ((16, 16), (16, 8))
    """

    _esm = script("sixteen_products_widget")
    _css = sheets("timeline", "products")
    scene = traitlets.Dict().tag(sync=True)

    def __init__(self) -> None:
        super().__init__(scene=scene())

    @property
    def A(self) -> np.ndarray[Any, np.dtype[np.float16]]:
        """A, as the page shows it."""
        return np.asarray(self.scene["A"], dtype=np.float16)

    @property
    def B(self) -> np.ndarray[Any, np.dtype[np.float16]]:
        """B, as the page shows it."""
        return np.asarray(self.scene["B"], dtype=np.float16)

    def static_html(self) -> str:
        """The bits of the cell, for a saved notebook."""
        trace_of_cell = parse_product(_INSTRUCTION).trace(self.A, self.B, None, *CELL)
        return static_image(trace(trace_of_cell).drawing())


def page_part() -> str:
    """HTML of the scene in a page that loads `script("sixteen_products_page")` as a module."""
    numbers = json.dumps(scene(), separators=(",", ":")).replace("<", "\\u003c")
    return f'<div class="sixteen-products"><script type="application/json">{numbers}</script></div>'
