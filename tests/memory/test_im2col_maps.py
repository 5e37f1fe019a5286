"""Pixels of im2col maps that are none are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptxlab import PtxlabError
from ptxlab.memory import im2col_map
from tests.cases import each


@each(
    "start", [(), 3, (1, 1, 0, -1, -1), (1, 1, 0, -1, -1, 0.5), (1, 1, 0, 99, -1, 0), (999, 1, 0, -1, -1, 0)]
)
def test_pixels_that_are_none(start: Any) -> None:
    column = im2col_map(np.zeros((1, 6, 6, 16), np.uint8), 4, 16, lower=(-1, -1), upper=(-1, -1))
    assert column.pixels((1, 1, 0, -1, -1, 0))[0].shape == (4, 3)
    with pytest.raises(PtxlabError):
        column.pixels(start)
