"""What the kernels of several frameworks are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.fixture
def arrays() -> tuple[Any, Any, Any]:
    """Two arrays of random floats to read, and one of zeros to write."""
    random = np.random.default_rng(0)
    return random.random(1000, np.float32), random.random(1000, np.float32), np.zeros(1000, np.float32)
